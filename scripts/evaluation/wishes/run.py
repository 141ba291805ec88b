"""Everything of a folder is said, each in a fresh state of its home, on one evening in Berlin, and judged.

A language has a Home Assistant of its own, whose clock stands still: what is due later never comes.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
import json
import logging
import multiprocessing
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import freezegun
from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.components import conversation
from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, Event, HomeAssistant, SupportsResponse, callback
from homeassistant.helpers import intent
from pytest_homeassistant_custom_component import patch_time

from custom_components.home_agent.support.const import LLM_NONE
from custom_components.home_agent.wishes.wish import Wish
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.llm_replies import JSON
from tests.llm_server import LLMServer, Reply, text, tool_call

from .. import dataset
from ..house import put_state
from ..local import PROFILE, House, async_house, changes
from .judge import Row, Scene, Turn, Verdict, judge, judge_guard, judge_plan

WISHES, GUARD, PLANS = "wishes", "guard", "plans"
KINDS = (WISHES, GUARD, PLANS)
"""What a file has, by the beginning of its name."""
ZONE = ZoneInfo("Europe/Berlin")
LATITUDE, LONGITUDE = 52.52, 13.405
NOW = datetime(2026, 11, 24, 18, 10, tzinfo=ZONE)
SPEAKER = "person.tom"
ALONE, IN_FRONT, BEHIND = "no model", "model", "after local"
"""An agent without a model; one whose model hears everything; one whose model hears what is not done locally."""
AGENTS: Mapping[str, str] = {
    ALONE: "conversation.home_agent",
    IN_FRONT: "conversation.in_front",
    BEHIND: "conversation.behind",
}
LEAST_ROWS = 100
"""Fewer are not worth another Home Assistant."""
_NOTHING = frozenset({"persistent_notification", "notify"})
"""Domains of actions that only tell."""
_HOUR = 3600  # seconds
_SPAN = 2 * _HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What became of one row with one agent."""

    row: Row
    agent: str
    group: str
    """How it says when: `group_of`."""
    verdict: Verdict
    answers: tuple[str, ...]
    waits: tuple[Mapping[str, Any], ...]
    """What waits then, in the form of what is expected."""
    done: Mapping[str, Sequence[str]]
    """What was done at once: actions by entity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is said."""

    kind: str
    files: Sequence[str] = ()
    """Names without their ending; empty: all of the kind."""
    languages: Sequence[str] = ()
    limit: int | None = None
    """So many rows of each language."""
    model: bool = False
    """Whether agents with a model that calls at once what a row says are asked as well."""
    processes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is said in one Home Assistant."""

    kind: str
    home: dataset.Home
    language: str
    rows: Sequence[Row]
    agents: Sequence[str]


def group_of(row: Row) -> str:
    """Return how a row says when: by a span, the clock, the sun, a state, somebody's presence, or both; or that it only reminds.

    A moment within two hours counts as a span, as "in an hour" and "at seven" are not told apart there.
    """
    expected = row.get("expected") or (row["after"][0] if row.get("after") else {})
    when = expected.get("when", {})
    if "class" in row:
        return str(row["class"])
    if expected.get("kind", "action") != "action":
        return "reminder"
    if "if" in when:
        return "both"
    if "event" in when:
        return "presence" if all(item.startswith("person.") for item in when["event"]) else "state"
    if "sun" in when:
        return "sun"
    if "at" not in when:
        return ""
    moment = datetime.fromisoformat(when["at"]).replace(tzinfo=ZONE)
    return "span" if (moment - NOW).total_seconds() <= _SPAN else "clock"


class _Conversations:
    """A home in which rows are said, one after another."""

    def __init__(self, house: House, server: LLMServer | None) -> None:
        self._house, self._hass, self._server = house, house.hass, server
        self._called: dict[str, list[str]] = {}
        self._elsewhere: list[str] = []
        self._hass.bus.async_listen(EVENT_CALL_SERVICE, self._note)

    @callback
    def _note(self, event: Event) -> None:
        domain, service = event.data["domain"], event.data["service"]
        if domain in _NOTHING or self._hass.services.supports_response(domain, service) is SupportsResponse.ONLY:
            return
        ids = event.data.get("service_data", {}).get("entity_id") or ()
        for entity_id in [ids] if isinstance(ids, str) else ids or [f"{domain}.{service}"]:
            self._called.setdefault(entity_id, []).append(service)

    async def async_live(self) -> None:
        """Give each person but the speaker a user."""
        for entity_id, row in self._house.rows.items():
            if row["domain"] == "person" and entity_id != SPEAKER:
                await self._async_user(row)

    async def _async_user(self, row: Row) -> str:
        user = await self._hass.auth.async_create_user(row["name"], group_ids=[GROUP_ID_USER])
        put_state(self._hass, {**row, "attributes": {**row["attributes"], "user_id": user.id}})
        return user.id

    async def async_say(self, kind: str, row: Row, agent: str) -> Said:
        """Say one row to one agent, as a new user of whom nothing is known, and judge what became of it."""
        house, hass = self._house, self._hass
        house.prepare({})
        await self.async_live()
        user_id = await self._async_user(house.rows[SPEAKER])
        scene = Scene(
            states={state.entity_id: state for state in hass.states.async_all()},
            now=NOW,
            zone=ZONE,
            latitude=LATITUDE,
            longitude=LONGITUDE,
        )
        before = house.snapshot()
        self._called.clear()
        turns = row["turns"] if kind == PLANS else [*([row["before"]] if row.get("before") else ()), row["utterance"]]
        if self._server is not None:
            self._server.requests.clear()
            self._server.respond(_calls(row) if kind == GUARD else lambda _: text("Good."))
        held, conversation_id = list[Turn](), None
        for number, turn in enumerate(turns):
            waited = wishes_of(hass).all()
            if kind == GUARD and number + 1 == len(turns):  # what was said before is not what is measured
                before = house.snapshot()
                self._called.clear()
            result = await conversation.async_converse(
                hass,
                turn,
                conversation_id,
                Context(user_id=user_id),
                language=row["lang"],
                agent_id=AGENTS[agent],
            )
            conversation_id = result.conversation_id
            await hass.async_block_till_done()
            failed = result.response.response_type is intent.IntentResponseType.ERROR
            answer = str(result.response.speech.get("plain", {}).get("speech") or "")
            waits_now = wishes_of(hass).all()
            ended = frozenset(target for wish in waits_now if wish.ends for target in wish.targets)
            declined = (failed or "?" in answer) and waited == waits_now
            held.append(Turn(answer=answer, declined=declined, ended=ended))
        touched = changes(before, house.snapshot()) | self._called.keys()
        done = {entity_id: tuple(self._called.get(entity_id, ())) for entity_id in sorted(touched)}
        wishes = wishes_of(hass).all()
        if kind == WISHES:
            verdict = judge(row["expected"], wishes, done, scene)
        elif kind == PLANS:
            verdict = judge_plan(row, wishes, done, held, scene)
        else:
            verdict = judge_guard(row, done)
        waits = tuple(_described(wish) for wish in wishes)
        wishes_of(hass).drop(wishes)
        wishes_of(hass).cancelled.clear()
        house.forget()
        await hass.async_block_till_done()
        return Said(
            row=row,
            agent=agent,
            group=group_of(row),
            verdict=verdict,
            answers=tuple(turn.answer for turn in held),
            waits=waits,
            done=done,
        )


def _calls(row: Row) -> Callable[[JSON], Reply]:
    """Return a model that does at once what a row says for later, whatever it is told; and is content with what comes of it."""
    call = row["call"]
    arguments = {"action": call["service"].rpartition(".")[2], "entity_id": call["entity_id"]}

    def respond(body: JSON) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return text("Good.")
        return tool_call("ha_control", arguments)

    return respond


def _described(wish: Wish) -> dict[str, Any]:
    """Return a wish in the form of what is expected, for people."""
    when = wish.when
    watches = [
        {key: value for key, value in watch.as_dict().items() if value or isinstance(value, float)}
        for watch in when.watches
    ]
    described: dict[str, Any] = {"kind": wish.kind.value, "words": when.words}
    if when.at is not None:
        described["at"] = when.at.astimezone(ZONE).strftime("%Y-%m-%dT%H:%M:%S")
    if when.sun is not None:
        described |= {"sun": when.sun.value, "offset": when.offset}
    if when.event is not None:
        described["event"] = watches.pop(0)
    described |= {"if": watches} if watches else {}
    described |= {"delay": when.delay} if when.delay else {}
    described |= {"targets": list(wish.targets)} if wish.targets else {}
    described |= {"text": wish.text} if wish.text else {}
    described |= {"ends": True} if wish.ends else {}
    steps = [effect.get("service") for step in wish.steps for effect in step.effects]
    steps += [step.intent or step.tool or step.command for step in wish.steps if not step.effects]
    return described | ({"steps": steps} if steps else {})


def _profiles(server: LLMServer | None) -> list[ConfigSubentryDataWithId]:
    """Return the agents: one without a model, and with a server two more."""
    if server is None:
        return [PROFILE]
    endpoint = {
        "preset": "custom",
        "base_url": server.base_url,
        "api_key": "sk-evaluation",
        "model": "scripted",
        "context_window": 16384,
        "keep_ready": False,
    }

    def subentry(kind: str, title: str, data: Mapping[str, Any]) -> ConfigSubentryDataWithId:
        return ConfigSubentryDataWithId(
            subentry_type=kind, data=dict(data), title=title, unique_id=None, subentry_id=title.replace(" ", "_")
        )

    return [
        {**PROFILE, "data": {"llm": LLM_NONE}},
        subentry("profile", "In front", {"local_first": False}),
        subentry("profile", "Behind", {}),
        subentry("llm", "Scripted", endpoint),
    ]


def measure(task: Task) -> list[Said]:
    """Return what became of some rows: the work of one process."""
    logging.disable(logging.CRITICAL)  # what fails is counted
    for name, value in (
        ("FakeDate", patch_time.HAFakeDate),
        ("FakeDatetime", patch_time.HAFakeDatetime),
        ("datetime_to_fakedatetime", patch_time.ha_datetime_to_fakedatetime),
        ("_get_module_attributes", patch_time.ha_get_module_attributes),
        ("_get_module_attributes_hash", patch_time.ha_get_module_attributes_hash),
        ("_should_use_real_time", patch_time.ha_should_use_real_time),
        ("get_current_time", patch_time.ha_get_current_time),
    ):
        setattr(freezegun.api, name, value)
    with freezegun.freeze_time(NOW, real_asyncio=True):
        return asyncio.run(async_measure(task))


async def async_measure(task: Task) -> list[Said]:
    """Return what became of some rows. The clock stands still."""

    async def async_place(hass: HomeAssistant) -> None:
        hass.config.language = task.language
        hass.config.latitude, hass.config.longitude = LATITUDE, LONGITUDE
        await hass.config.async_set_time_zone(str(ZONE))

    said: list[Said] = []
    async with AsyncExitStack() as stack:
        server = None
        if task.agents != [ALONE]:
            server = LLMServer()
            await server.start()
            stack.push_async_callback(server.stop)
        house = await stack.enter_async_context(
            async_house(task.home, profiles=_profiles(server), async_place=async_place)
        )
        conversations = _Conversations(house, server)
        for row in task.rows:
            for agent in task.agents:
                said += [await conversations.async_say(task.kind, row, agent)]
    return said


def rows_of(folder: Path, choice: Choice) -> Iterator[Row]:
    """Yield the rows of the files of a kind, or of those that are named."""
    names = choice.files or sorted(path.stem for path in folder.glob(f"{choice.kind}*.jsonl"))
    count: dict[str, int] = {}
    for name in names:
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line) if line.strip() else None
            if row is None or (choice.languages and row["lang"] not in choice.languages):
                continue
            count[row["lang"]] = count.get(row["lang"], 0) + 1
            if choice.limit is None or count[row["lang"]] <= choice.limit:
                yield row


def tasks(folder: Path, choice: Choice) -> list[Task]:
    """Return what is to be said, by language, in parts that all processes have a share of."""
    by_language: dict[str, list[Row]] = {}
    for row in rows_of(folder, choice):
        by_language.setdefault(row["lang"], []).append(row)
    agents = [*AGENTS] if choice.model else [ALONE]
    total = sum(map(len, by_language.values()))
    share = max(LEAST_ROWS // len(agents), -(-total // choice.processes))
    listed = []
    for language, rows in by_language.items():
        name = f"home-{language}.json"
        path = folder / name if (folder / name).exists() else folder.parent / name
        home: dataset.Home = json.loads(path.read_text(encoding="utf-8"))
        parts = -(-len(rows) // share)
        listed += [
            Task(kind=choice.kind, home=home, language=language, rows=rows[part::parts], agents=agents)
            for part in range(parts)
        ]
    return sorted(listed, key=lambda task: -len(task.rows))


def run(folder: Path, choice: Choice, say: Callable[[str], None]) -> list[Said]:
    """Return what became of all rows, said in as many processes as the choice has."""
    listed, said = tasks(folder, choice), list[Said]()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(choice.processes, context) as pool:
        futures = {pool.submit(measure, task): task for task in listed}
        for number, future in enumerate(as_completed(futures)):
            said += future.result()
            say(f"{number + 1} of {len(listed)}: {futures[future].language}, {len(futures[future].rows)} rows")
    return sorted(said, key=lambda item: (str(item.row["id"]), [*AGENTS].index(item.agent)))
