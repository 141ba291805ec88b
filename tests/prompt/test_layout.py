"""What stands where in a prompt, and what was left out: a function of its inputs, without a home around it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
import json
from typing import Any

from homeassistant.components.conversation import AssistantContent, UserContent
from homeassistant.core import State
import pytest

from custom_components.home_agent.home.snapshot import HomeEntity, HomeSnapshot
from custom_components.home_agent.languages.personal_data import mask
from custom_components.home_agent.prompt.budget import Budget
from custom_components.home_agent.prompt.home_map import HomeMap
from custom_components.home_agent.prompt.layout import (
    STATES_HEADING,
    STATES_IN_MAP_HEADING,
    Inputs,
    Layout,
    Selection,
    Size,
    layout,
    rounds_to_drop,
    states_in_instructions,
    system_message,
)
from custom_components.home_agent.prompt.providers import Block, Item
from custom_components.home_agent.prompt.request import shares
from custom_components.home_agent.settings.profile import ContextMode, Profile
from custom_components.home_agent.transcript.transcript import Instructions, Round
from custom_components.home_agent.transcript.turn_part import Baseline, KnownState, TurnPart
from custom_components.home_agent.turn.turn import Owner

BEGIN = datetime(2026, 11, 24, 9, tzinfo=UTC)
LAMP = HomeEntity("light.desk", ("Desk lamp",), None)
FAN = HomeEntity("switch.fan", ("Fan",), None)
HOME = HomeSnapshot({"light.desk": LAMP, "switch.fan": FAN}, {})
ON, OFF = State("light.desk", "on", {"brightness": 128}), State("light.desk", "off")
BUDGET = Budget(
    prompt=10_000,
    home_map=1000,
    small_map=500,
    states=4000,
    kept=100,
    found=500,
    found_later=300,
    history=2000,
    blocks=400,
)
ANNA = Owner(profile_id="p", user_id="anna", device_id=None)


def words(text: str) -> int:
    return len(text.split())


def said(number: int, question: str = "hello there", answer: str = "hello", part: str = "", **known: State) -> Round:
    """Return a round of a conversation; `known` are states that were told with it, by object id of a light."""
    told = {f"light.{name}": KnownState(state.state, state) for name, state in known.items()}
    return Round(
        question=UserContent(content=question),
        at=BEGIN + timedelta(minutes=number),
        answers=[AssistantContent(agent_id="a", content=answer)],
        part=TurnPart(text=part, told=told),
    )


NEW = Round(question=UserContent(content="and now"), at=BEGIN + timedelta(hours=1))
NOTHING = Inputs(
    budget=BUDGET,
    estimate=words,
    home=HOME,
    home_map=HomeMap("MAP", tokens=10),
    rounds=(NEW,),
    history_messages=20,
    clock="09:12",
    introduce=lambda entity_id: f"introduced {entity_id}",
)


def data(made: Layout) -> dict[str, Any]:
    """Return what the new turn part says."""
    return dict(json.loads(made.part.text.rpartition("<house>")[2].removesuffix("</house>")))


def test_with_nothing_to_tell_there_is_the_time() -> None:
    made = layout(NOTHING)
    assert made.system == "\n\n## Home\n\nMAP"
    assert made.part.text == '<house>{"time":"09:12"}</house>'
    assert (made.rounds, made.dropped, made.inputs.baseline) == ((NEW,), (), None)


def test_nothing_that_is_given_is_changed() -> None:
    earlier = said(1, desk=OFF)
    inputs = replace(
        NOTHING, rounds=(earlier, NEW), found=[LAMP], states={"light.desk": ON}, facts={"date": "Tuesday 2026-11-24"}
    )
    before = repr(inputs)
    first = layout(inputs)
    assert repr(inputs) == before
    assert layout(inputs) == first


BASELINE = Baseline(home=HOME, told={"light.desk": KnownState("on", ON)}, text='{"date":"today"}', tokens=5)
IN_MAP = replace(BASELINE, home_map="MAP WITH STATES")
INSTRUCTIONS = Instructions(owner=ANNA, text="Be kind.")


@pytest.mark.parametrize(("inputs", "system"), [
    ({"instructions": INSTRUCTIONS, "home_map": HomeMap("")}, "Be kind."),
    ({"instructions": INSTRUCTIONS, "added": "Say please."}, "Be kind.\n\n## Home\n\nMAP\n\nSay please."),
    ({"baseline": BASELINE}, f'\n\n## Home\n\nMAP\n\n{STATES_HEADING}\n\n{{"date":"today"}}'),
    (
        {"baseline": IN_MAP, "home_text": "MAP WITH STATES"},
        f'\n\n## Home\n\nMAP WITH STATES\n\n{STATES_IN_MAP_HEADING}\n\n{{"date":"today"}}',
    ),
    (
        {"baseline": replace(BASELINE, text='{"light.desk":"0171 2345678"}'), "mask": mask},
        f'\n\n## Home\n\nMAP\n\n{STATES_HEADING}\n\n{{"light.desk":"[phone]"}}',
    ),
    ({"baseline": BASELINE, "home_map": HomeMap("")}, ""),
], ids=["no home", "added by the caller", "states below", "states in the map", "masked", "states of a hidden home"])  # fmt: skip
def test_system_message(inputs: dict[str, Any], system: str) -> None:
    assert system_message(replace(NOTHING, **inputs)) == system


LONG_AGO = {"baseline": BASELINE, "states": {"light.desk": ON}}


@pytest.mark.parametrize(
    ("inputs", "states"),
    [
        (
            {"found": [LAMP], "states": {"light.desk": ON}, "mode": ContextMode.RETRIEVED},
            {"light.desk": "on brightness=50%"},
        ),
        ({"found": [LAMP], "states": {"light.desk": ON}, "mode": ContextMode.OFF}, None),
        ({"rounds": (said(1, desk=ON), NEW), "states": {"light.desk": ON}, "found": [LAMP]}, None),
        ({"rounds": (said(1, desk=ON), NEW), "states": {"light.desk": OFF}, "found": [LAMP]}, {"light.desk": "off"}),
        ({"rounds": (said(1, desk=ON), NEW), "states": {}, "home": HomeSnapshot({}, {})}, {"light.desk": "gone"}),
        ({"rounds": (said(1, desk=ON), NEW), "home": HomeSnapshot({}, {}), "told_recently": True}, None),
        (LONG_AGO, None),
        (LONG_AGO | {"found": [LAMP]}, {"light.desk": "on brightness=50%"}),
        (LONG_AGO | {"found": [LAMP], "is_order": True}, None),
        ({"baseline": BASELINE, "states": {"light.desk": OFF}}, {"light.desk": "off"}),
        ({"selection": Selection([LAMP]), "listed": {"light.desk": KnownState("on", ON)}}, {"light.desk": "on"}),
        (
            {"found": [LAMP], "states": {"light.desk": ON}, "home_map": HomeMap("MAP", full=False)},
            {"light.desk": "on brightness=50% (introduced light.desk)"},
        ),
        (
            {"found": [LAMP], "states": {"light.desk": ON}, "context_format": "natural_language"},
            ["Desk lamp (light.desk) is on, brightness=50%."],
        ),
    ],
    ids=[
        "found", "mode off", "known already", "changed", "gone", "gone a moment ago", "as the baseline says",
        "asked for", "to be switched", "changed since the baseline", "listed", "not in the map", "in words",
    ],
)  # fmt: skip
def test_states_of_a_turn(inputs: dict[str, Any], states: object) -> None:
    assert data(layout(replace(NOTHING, **inputs))).get("states") == states


def test_what_is_known_of_a_dropped_round_is_told_again() -> None:
    earlier = said(1, "long " * 3000, desk=ON)
    made = layout(replace(NOTHING, rounds=(earlier, NEW), begins=False, found=[LAMP], states={"light.desk": ON}))
    assert made.dropped == (earlier,)
    assert made.dropped_tokens >= 3000
    assert data(made)["states"] == {"light.desk": "on brightness=50%"}


@pytest.mark.parametrize(("sizes", "limits", "dropped"), [
    ([10, 10, 10], (20, 100, 100), 0), ([10, 10, 10], (5, 100, 100), 2), ([40, 40, 40], (20, 100, 200), 2),
    ([10, 10, 10], (20, 100, 25), 2), ([200], (20, 100, 100), 1), ([10], (0, 100, 100), 1), ([], (0, 0, 0), 0),
], ids=["all fit", "too many messages", "too many words", "too much told", "one alone", "no history", "none"])  # fmt: skip
def test_about_half_of_too_many_rounds_go(sizes: list[int], limits: tuple[int, int, int], dropped: int) -> None:
    assert rounds_to_drop([Size(2, size, size) for size in sizes], Size(*limits)) == dropped


def test_rounds_go_where_the_new_part_needs_their_room() -> None:
    budget = replace(BUDGET, prompt=600, states=600, kept=0)
    earlier = [said(number, "word " * 100) for number in range(3)]
    block = Block(items=[Item(key="k", data="passage " * 350)])
    inputs = replace(NOTHING, budget=budget, rounds=(*earlier, NEW), begins=False, history_messages=20)
    assert layout(inputs).dropped == ()
    made = layout(replace(inputs, blocks={"knowledge": block}))
    assert "knowledge" in data(made)
    assert len(made.rounds) < 4


@pytest.mark.parametrize(
    ("items", "told"),
    [(["a " * 30, "b " * 500, "c " * 30], 2), (["a " * 500], 0), (["known"], 0)],
    ids=["what fits", "too long", "known"],
)
def test_passages_that_are_new_and_fit(items: list[str], told: int) -> None:
    block = Block(items=[Item(key=text[:5], data=text) for text in items])
    known = replace(said(1), part=TurnPart(text="", items=["knowledge:known"]))
    made = layout(replace(NOTHING, rounds=(known, NEW), blocks={"knowledge": block}))
    assert len(data(made).get("knowledge", ())) == told
    assert len(made.part.items) == told


HEAD = TurnPart(
    text='<house>{"time":"09:12","language":"en"}</house>',
    told={"light.desk": KnownState("on", ON)},
    facts={"language": "en"},
)


@pytest.mark.parametrize(("inputs", "text"), [
    ({"facts": {"language": "en"}}, HEAD.text),
    ({"facts": {"language": "de"}}, f'{HEAD.text}\n\n<house>{{"language":"de"}}</house>'),
    (
        {"facts": {"language": "de"}, "clock": "09:13"},
        f'{HEAD.text}\n\n<house>{{"time":"09:13","language":"de"}}</house>',
    ),
    (
        {"states": {"light.desk": OFF}, "found": [LAMP]},
        f'{HEAD.text}\n\n<house>{{"states":{{"light.desk":"off"}}}}</house>',
    ),
], ids=["nothing new", "another language", "a minute later", "a change"])  # fmt: skip
def test_what_was_rehearsed_stays_and_only_news_stand_behind_it(inputs: dict[str, Any], text: str) -> None:
    assert layout(replace(NOTHING, head=HEAD, **inputs)).part.text == text


def test_what_has_no_room_is_counted() -> None:
    lamps = [HomeEntity(f"light.l{number}", (f"Lamp {number}",), None) for number in range(20)]
    home = HomeSnapshot({lamp.entity_id: lamp for lamp in lamps}, {})
    states = {lamp.entity_id: State(lamp.entity_id, "on", {"brightness": 128}) for lamp in lamps}
    made = layout(
        replace(
            NOTHING,
            mode=ContextMode.RETRIEVED,
            home=home,
            found=lamps,
            states=states,
            estimate=len,
            budget=replace(BUDGET, found=200),
        )
    )
    told = data(made)
    assert told["states_not_listed"] == 20 - len(told["states"]) > 0
    assert made.left_out.states == told["states_not_listed"]


def test_states_of_instructions_count_as_told() -> None:
    inputs = replace(
        NOTHING, selection=Selection([LAMP]), listed={"light.desk": KnownState("on", ON)}, states={"light.desk": ON}
    )
    text, told, taints = states_in_instructions(inputs)
    assert (text, list(told), taints) == ('{"light.desk":"on"}', ["light.desk"], frozenset())
    again = layout(replace(inputs, instructions=Instructions(owner=ANNA, text=text, told=told)))
    assert "states" not in data(again)


@pytest.mark.parametrize(("state", "others"), [("on", False), ("x" * 80, True)], ids=["a state", "a text"])
def test_long_texts_of_the_home_count_as_those_of_others(state: str, others: bool) -> None:
    now = State("light.desk", state)
    made = layout(replace(NOTHING, mode=ContextMode.RETRIEVED, found=[LAMP], states={"light.desk": now}))
    assert made.taints == ({"light.desk"} if others else set())


@pytest.mark.parametrize(("baseline", "instructions", "message", "room"), [
    (None, "", "hello", 9990), (BASELINE, "", "hello", 9985), (None, "word " * 500, "hello", 9590),
    (None, "", "word " * 700, 9490),
], ids=["home map", "baseline", "long instructions", "long message"])  # fmt: skip
def test_room_for_rounds_and_parts(baseline: Baseline | None, instructions: str, message: str, room: int) -> None:
    new = Round(question=UserContent(content=message), at=BEGIN)
    written = Instructions(owner=ANNA, text=instructions)
    inputs = replace(NOTHING, baseline=baseline, instructions=written, rounds=(new,))
    assert inputs.turn_room == room


@pytest.mark.parametrize(("settings", "room", "expected"), [
    ({}, 100_000, {"blocks": 800, "small_map": 1000}), ({"history_enabled": False}, 8000, {"history": 0}),
    ({}, 0, {"prompt": 512}), ({"context_max_entities": 2}, 8000, {"found": 120, "found_later": 120}),
], ids=["large", "no history", "least", "few entities"])  # fmt: skip
def test_shares_of_the_window(settings: Mapping[str, Any], room: int, expected: Mapping[str, int]) -> None:
    made = shares(Profile(name="A", **settings), room=room, fixed=300)
    assert {key: getattr(made, key) for key in expected} == expected


def test_tokens_of_the_part_are_told() -> None:
    made = layout(replace(NOTHING, rounds=(said(1), NEW), baseline=BASELINE, begins=False))
    assert made.part_tokens == words(made.part.text) > 0


def test_what_changed_since_the_baseline_is_bounded() -> None:
    ids = [f"light.thing_{number}" for number in range(130)]
    home = HomeSnapshot({one: HomeEntity(one, (one,), None) for one in ids})
    before = {one: KnownState("on", State(one, "on")) for one in ids}
    budget = shares(Profile(subentry_id="p", name="p"), room=3072, fixed=1400)

    def estimate(text: str) -> int:
        return len(text) // 4

    text = str(dict.fromkeys(ids, "on"))
    inputs = replace(
        NOTHING,
        budget=budget,
        estimate=estimate,
        home=home,
        baseline=Baseline(home=home, told=before, text=text, tokens=estimate(text)),
        states={one: State(one, "unavailable") for one in ids},
        rounds=(said(1), NEW),
    )
    assert inputs.home_map.tokens + estimate(text) <= budget.states  # a baseline that is made has its room
    made = layout(inputs)
    assert made.part_tokens <= inputs.turn_room
    assert made.left_out.changes == len(ids) - len(made.part.told) > 0
