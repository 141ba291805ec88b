"""What people say to a home: each sentence has its effect or its answer, or nothing happens; never anything else.

`requests.json` says for each what it `wants` (states and values, or the items of a list), or what the answer has to contain; with
neither, asking back or doing nothing is right. `or`: what is wanted else. `may`: what may change as well. Sentences with `handed_on` have no answer yet, and
must not get a wrong one; those that have one by now are printed, to be tightened.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from enum import Enum
from typing import Any

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from scripts.evaluation.devices import TodoList
from scripts.evaluation.local import OURS, House, Snapshot, changes, fits
from tests.local import said

type Request = Mapping[str, Any]

REQUESTS: Mapping[str, Mapping[str, Sequence[Request]]] = said.read("requests.json")
"""By language and by what they are about."""
OF_FINDINGS = "findings"
LISTS = "todo"


class Outcome(Enum):
    """What became of a sentence."""

    RIGHT = "right"
    NOTHING = "nothing"
    WRONG = "wrong"


@pytest.fixture(params=["en", "de"])
async def house(hass: HomeAssistant, request: pytest.FixtureRequest) -> AsyncGenerator[House]:
    """The home of the sentences."""
    async for living in said.async_living(hass, request.param):
        yield living


def test_there_are_enough() -> None:
    added = [row for kinds in REQUESTS.values() for kind, rows in kinds.items() if kind != OF_FINDINGS for row in rows]
    assert len(added) >= 200


async def test_each_is_right_or_nothing_happens(house: House) -> None:
    wrong, better = [], []
    for kind, rows in REQUESTS[house.home["language"]].items():
        for row in rows:
            outcome, answer = await async_outcome(house, row)
            told = (outcome.value, kind, *row.get("before", ()), row["said"], answer)
            if outcome is Outcome.WRONG or (outcome is Outcome.NOTHING and not row.get("handed_on")):
                wrong.append(told)
            elif outcome is Outcome.RIGHT and row.get("handed_on"):
                better.append(told)
    print("answered by now:", *better, sep="\n")  # noqa: T201 - for whoever tightens the file
    assert not wrong, "\n".join(map(str, wrong))


IN_A_ROW: Mapping[str, Mapping[str, Sequence[str]]] = {
    "en": {
        "turn on the garden light and then turn it off": ["light.garden on", "light.garden off"],
        "turn off the coffee machine, then turn it on": ["switch.coffee off", "switch.coffee on"],
        "turn the coffee machine off and on again": ["switch.coffee off", "switch.coffee on"],
        "start the sprinkler, then stop it": ["switch.sprinkler on", "switch.sprinkler off"],
        # which of them is not certain, what takes its time, and what is for later
        "turn on the garden light and turn it off": [],
        "turn on the garden light and turn it off again": [],
        "turn on the bed light and the desk lamp and then turn it off again": [],
        "turn on the bed light and then turn it on again": [],
        "open the left blind and then close it": [],
        "lock the back door and then unlock it": [],
        "turn on the water valve and then turn it off": [],
        "turn on the bed light and then turn it off in ten minutes": ["light.bed on"],
        "turn on the bed light and then later turn it off": [],
        "turn on the bed light for a moment and then turn it off": [],
        "turn on the sprinkler, wait five minutes and then turn it off": ["switch.sprinkler on"],
    },
    "de": {
        "mach das Gartenlicht an und dann wieder aus": ["light.garden on", "light.garden off"],
        "mach das Gartenlicht an, dann mach es aus": ["light.garden on", "light.garden off"],
        "schalte die Kaffeemaschine aus und wieder ein": ["switch.coffee off", "switch.coffee on"],
        "mach das Gartenlicht an und aus": [],
        "mach das Gartenlicht an und in zehn Minuten wieder aus": ["light.garden on"],
        "mach das Gartenlicht an und später wieder aus": [],
        "mach das Gartenlicht kurz an und dann wieder aus": [],
        "mach das linke Rollo auf und dann wieder zu": [],
        "schalte den Rasensprenger ein, warte fünf Minuten und dann wieder aus": ["switch.sprinkler on"],
    },
}


async def test_what_is_switched_back_is_done_in_that_order_or_not_at_all(hass: HomeAssistant, house: House) -> None:
    language = house.home["language"]
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    for text, wanted in IN_A_ROW[language].items():
        house.prepare({})
        called.clear()
        await house.async_ask(OURS, {"utterance": text, "lang": language, "kind": "control"})
        done = [
            f"{event.data['service_data']['entity_id']} {event.data['service'].removeprefix('turn_')}"
            for event in called
            if event.data["domain"] == "homeassistant"
        ]
        assert done == wanted, text
        assert bool(called) is bool(wanted), text
        house.forget()


async def async_outcome(house: House, row: Request) -> tuple[Outcome, str]:
    """Return what became of a sentence, after those that came before it in its conversation, and its answer."""
    language, conversation_id = house.home["language"], None
    house.prepare({})
    for text in row.get("before", ()):
        earlier = {"utterance": text, "lang": language, "kind": "control"}
        reply, _ = await house.async_ask(OURS, earlier, conversation_id)
        conversation_id = reply.conversation_id
    before, items = house.snapshot(), items_of(house)
    house.called.clear()
    spoken = {"utterance": row["said"], "lang": language, "kind": "control"}
    reply, _ = await house.async_ask(OURS, spoken, conversation_id)
    after = house.snapshot()
    changed = changes(before, after) | {key for key, listed in items_of(house).items() if items[key] != listed}
    house.forget()
    return judged(house, row, after, changed, reply.handled, reply.said), reply.said


def judged(house: House, row: Request, after: Snapshot, changed: set[str], handled: bool, answer: str) -> Outcome:
    wants: Mapping[str, Any] = row.get("wants", {})
    domains = {entity_id.partition(".")[0] for entity_id in wants}
    repeated = {item for item in house.called - changed if item.partition(".")[0] in domains}
    if (changed | (house.called & house.rows.keys())) - wants.keys() - set(row.get("may", ())) - repeated:
        return Outcome.WRONG
    if wanted := row.get("answer"):
        if not handled or answer.endswith("?"):
            return Outcome.NOTHING
        return Outcome.RIGHT if any(text.casefold() in answer.casefold() for text in wanted) else Outcome.WRONG
    if not wants:
        return Outcome.RIGHT
    if not changed:
        return Outcome.NOTHING
    good = any(
        all(is_so(house, key, value, after) for key, value in each.items()) for each in (wants, row.get("or", wants))
    )
    return Outcome.RIGHT if good else Outcome.WRONG


def is_so(house: House, entity_id: str, wanted: Any, after: Snapshot) -> bool:
    if entity_id.startswith(LISTS):
        return sorted(map(str.casefold, items_of(house)[entity_id])) == sorted(map(str.casefold, wanted))
    state = after[entity_id]
    if not isinstance(wanted, Mapping):
        return bool(state.state == wanted)
    return all(
        fits(value, state.state if key == "state" else state.attributes.get(key)) for key, value in wanted.items()
    )


def items_of(house: House) -> dict[str, list[str]]:
    return {
        entity_id: [item.summary or "" for item in device.todo_items or () if item.status != "completed"]
        for entity_id, device in house.devices.items()
        if isinstance(device, TodoList)
    }
