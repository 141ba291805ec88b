"""What the home answers by itself, without a model: each request of a folder, in its home, and what became of the home.

Every home is set up in a Home Assistant of its own, with entities that do what services tell them; each request finds
it in the state that its own `setup` says. The same requests go to Home Assistant's own agent, in the same run.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
import gc
from inspect import signature
import logging
import multiprocessing
import random
import re
from tempfile import TemporaryDirectory
import time
from typing import Any

from homeassistant import loader
from homeassistant.auth.const import GROUP_ID_ADMIN
from homeassistant.components import conversation
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS, async_get_chat_log
from homeassistant.components.http.config import async_get_and_load_store
from homeassistant.components.intent.const import TIMER_DATA
from homeassistant.components.intent.timers import async_register_timer_handler
from homeassistant.config import async_hass_config_yaml
from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, Event, HomeAssistant, State, SupportsResponse, callback
from homeassistant.exceptions import TemplateError
from homeassistant.helpers import chat_session, device_registry as dr, frame, intent
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_test_home_assistant

from custom_components.home_agent.policy.confirmation import Resolution
from custom_components.home_agent.policy.intents import Recognised, is_able
from custom_components.home_agent.support.const import DOMAIN
from tests.ports import free_port

from . import dataset
from .devices import KINDS, PLATFORM, Device, async_add
from .house import build, put_state

OURS, STRICT, FULL = "home agent", "built in, strict", "built in"
AGENTS = (OURS, STRICT, FULL)
"""Home Agent without a model; Home Assistant's sentences alone, as in front of a model; its agent, as without one."""
RIGHT, WRONG_TARGET, WRONG_VALUE, WRONG_ANSWER = "right", "wrong target", "wrong value", "wrong answer"
ANSWERED, ASKED, HANDED_ON = "only answered", "asked back", "handed on"
LEFT_ALONE, ACTED = "left alone", "acted"
WRONG_INTENT = "wrong intent"
WRONG = frozenset({WRONG_TARGET, WRONG_VALUE, WRONG_ANSWER, WRONG_INTENT, ACTED})
_VOLATILE = frozenset(
    {"media_title", "color_mode", "hvac_action", "last_changed", "xy_color", "hs_color", "color_temp_kelvin"}
)
_COMPONENTS = (
    "conversation",
    "intent",
    "shopping_list",
    "assist_satellite",
    "weather",
    "media_player",
    "vacuum",
    "todo",
    "lawn_mower",
)
"""What is set up in every home, for its intents."""
_PROGRAMS = frozenset({"camera", "image"})
"""Domains that want programs which are not here, and have no intents."""
YES: Mapping[str, str] = {"de": "ja", "es": "sí", "fr": "oui", "it": "sì", "nl": "ja", "pl": "tak", "ru": "да"}
_SETS_LIGHT = "HassLightSet"
SEED = 14
MESSAGES = 25
"""After so many somebody else begins the next conversation; with a yes to each, fewer than an agent takes in a minute."""

_OWNED = "context" in signature(chat_session.async_get_chat_session).parameters
"""Whether a session knows its user, from Home Assistant 2026.11 on."""

PROFILE = ConfigSubentryDataWithId(
    subentry_type="profile", data={}, title="Home Agent", unique_id=None, subentry_id="profile"
)
"""An agent without a model, with default settings."""

type Row = Mapping[str, Any]
"""A request as it stands in the folder."""
type Snapshot = Mapping[str, State]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What became of one request."""

    row: Row
    size: str
    """What the home was enlarged to; empty: as it is."""
    agent: str
    outcome: str
    """`RIGHT` or one of those below it."""
    confirmed: bool
    """Whether it was done after a yes."""
    said: str
    """The answer."""
    touched: tuple[str, ...]
    seconds: float
    computing: float
    """Seconds of the process: what else the machine does is not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The requests for one home in one size."""

    home: dataset.Home
    name: str
    size: str
    rows: Sequence[Row]
    agents: Sequence[str]


@dataclass(slots=True)
class Reply:
    """What an agent made of one request."""

    response: intent.IntentResponse | None
    """None: nothing."""
    seconds: float
    computing: float
    conversation_id: str | None = None
    intents: list[str] = field(default_factory=list)

    @property
    def said(self) -> str:
        """Return the answer."""
        if self.response is None:
            return ""
        return str(self.response.speech.get("plain", {}).get("speech") or "")

    @property
    def handled(self) -> bool:
        """Return whether it is more than an error."""
        return self.response is not None and self.response.response_type is not intent.IntentResponseType.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is asked; what is empty excludes nothing."""

    files: Sequence[str] = ("assist_cases", "negative_cases")
    sizes: Sequence[str] = (dataset.AS_IT_IS,)
    homes: Sequence[str] = ()
    """Parts of their names."""
    categories: Sequence[str] = ()
    """Categories, intents, or ways to name a target."""
    languages: Sequence[str] = ()
    limit: int | None = None
    """So many requests, drawn with a fixed seed."""
    agents: Sequence[str] = AGENTS
    processes: int = 1

    def takes(self, row: Row) -> bool:
        """Return whether a request is among what was asked for."""
        kinds = {row.get("category"), row.get("ref"), row.get("intent")}
        return (
            (not self.homes or any(part in row["home"] for part in self.homes))
            and (not self.categories or not kinds.isdisjoint(self.categories))
            and (not self.languages or row["lang"] in self.languages)
        )


class House:
    """A home that works, and what is asked in it."""

    def __init__(
        self,
        hass: HomeAssistant,
        home: dataset.Home,
        profiles: Sequence[ConfigSubentryDataWithId] = (PROFILE,),
        components: Sequence[str] = (),
    ) -> None:
        """Begin with an empty Home Assistant; `profiles` are the agents, with what they need; none: it is without Home Agent.

        `components` are set up besides, with what the configuration file has for them.
        """
        self.hass = hass
        self.home = home
        self._profiles = profiles
        self._components = components
        self.rows = {row["entity_id"]: row for row in home["entities"]}
        self.devices: Mapping[str, Device] = {}
        self.called: set[str] = set()
        self._areas: Mapping[str, str] = {}
        self._satellites: dict[str | None, str] = {}
        self._entry = MockConfigEntry(domain=PLATFORM)
        self._ours = MockConfigEntry()
        self._expected: dict[str, State] = {}
        self._user_id = ""
        self._asked = 0

    async def async_begin(self) -> None:
        """Set everything up."""
        hass, home = self.hass, self.home
        hass.data.pop(loader.DATA_CUSTOM_COMPONENTS, None)
        await async_setup_component(hass, "homeassistant", {})
        wanted = (
            *(_COMPONENTS if self._profiles else ()),
            *(row["domain"] for row in home["entities"]),
            *self._components,
        )
        config = await async_hass_config_yaml(hass) if self._components else {}
        for component in dict.fromkeys(wanted):
            if component in _PROGRAMS:
                continue
            await async_setup_component(hass, component, config)
        self._entry.add_to_hass(hass)
        self._areas = build(hass, self._entry, home, living=KINDS)
        self.devices = await async_add(hass, self._entry, home["entities"])
        self._ours = MockConfigEntry(
            domain=DOMAIN, title="Home Agent", data={}, options={}, subentries_data=[*self._profiles]
        )
        if self._profiles:
            self._ours.add_to_hass(hass)
            await hass.config_entries.async_setup(self._ours.entry_id)
        await hass.async_block_till_done()
        hass.bus.async_listen(EVENT_CALL_SERVICE, self._note)
        self._expected = self.snapshot()

    @callback
    def _note(self, event: Event) -> None:
        domain, service = event.data["domain"], event.data["service"]
        if self.hass.services.supports_response(domain, service) is SupportsResponse.ONLY:
            return  # it only tells
        ids = event.data.get("service_data", {}).get("entity_id") or ()
        self.called.update({ids} if isinstance(ids, str) else ids)

    def snapshot(self) -> dict[str, State]:
        """Return the states of the home."""
        return {state.entity_id: state for state in self.hass.states.async_all() if state.entity_id in self.rows}

    def prepare(self, setup: Mapping[str, Mapping[str, Any]]) -> None:
        """Put back what the last request changed, and what this one needs."""
        now = self.snapshot()
        moved = {key for key, state in now.items() if self._expected.get(key) is not state}
        for entity_id in moved | setup.keys() & self.rows.keys():
            row, other = self.rows[entity_id], setup.get(entity_id, {})
            state, attributes = other.get("state", row["state"]), {**row["attributes"], **other.get("attributes", {})}
            if (device := self.devices.get(entity_id)) is not None:
                device.put(state, attributes)
                device.written()
            else:
                put_state(self.hass, {**row, "state": state, "attributes": attributes})
        self._expected = {key: state for key, state in self.snapshot().items() if key not in setup}
        self.called.clear()

    def satellite(self, area: str | None) -> str:
        """Return the id of a device that hears, and has timers, in an area."""
        if area not in self._satellites:
            registry = dr.async_get(self.hass)
            device = registry.async_get_or_create(
                config_entry_id=self._entry.entry_id, identifiers={(PLATFORM, f"satellite {area}")}, name="Satellite"
            )
            registry.async_update_device(device.id, area_id=self._areas.get(area or ""))
            async_register_timer_handler(self.hass, device.id, lambda *_: None)
            self._satellites[area] = device.id
        return self._satellites[area]

    @property
    def open_questions(self) -> Sequence[str]:
        """Return what a yes would now do something for, in the words that were said."""
        return [item.question for item in self._ours.runtime_data.policy.confirmations.open()]

    def forget(self) -> None:
        """Forget open questions and timers."""
        confirmations = self._ours.runtime_data.policy.confirmations
        for waiting in [*confirmations.waiting.values()]:
            confirmations.end(waiting, Resolution.CANCELLED)
        timers = self.hass.data[TIMER_DATA]
        for timer_id in list(timers.timers):
            timers.cancel_timer(timer_id)

    async def async_ask(self, agent: str, row: Row, conversation_id: str | None = None) -> tuple[Reply, bool]:
        """Return what an agent made of a request, and whether it took a yes; in a new conversation, or in this one."""
        if (built_in := get_agent_manager(self.hass).default_agent) is not None:
            built_in._intent_cache.clear()  # noqa: SLF001 - one agent must not find what another has recognised
        if not self._user_id or (conversation_id is None and self._asked >= MESSAGES):
            self._user_id = (await self.hass.auth.async_create_user("Somebody", group_ids=[GROUP_ID_ADMIN])).id
            self._asked = 0
        self._asked += 1
        context_area = row.get("context_area")
        device_id = self.satellite(context_area) if "intent" in row or context_area else None
        reply = await (self._async_strictly if agent == STRICT else self._async_say)(
            agent, row["utterance"], row["lang"], device_id, conversation_id
        )
        confirmed = False
        if agent == OURS and row["kind"] != "none" and self.open_questions:
            yes = YES.get(row["lang"], "yes")
            after = await self._async_say(agent, yes, row["lang"], device_id, reply.conversation_id)
            reply.response, confirmed = after.response, True
        await self.hass.async_block_till_done()
        return reply, confirmed

    async def _async_say(
        self, agent: str, text: str, language: str, device_id: str | None, conversation_id: str | None
    ) -> Reply:
        agent_id = "conversation.home_agent" if agent == OURS else conversation.HOME_ASSISTANT_AGENT
        began, computed = time.perf_counter(), time.process_time()
        context = Context(user_id=self._user_id)
        try:
            result = await conversation.async_converse(
                self.hass, text, conversation_id, context, language=language, agent_id=agent_id, device_id=device_id
            )
        except intent.IntentError:  # one that no integration of this home has
            return Reply(None, time.perf_counter() - began, time.process_time() - computed)
        reply = Reply(result.response, time.perf_counter() - began, time.process_time() - computed)
        reply.conversation_id = result.conversation_id
        log = self.hass.data[DATA_CHAT_LOGS].get(result.conversation_id or "")
        reply.intents = _intents(log.content if log else ())
        return reply

    async def _async_strictly(
        self, agent: str, text: str, language: str, device_id: str | None, conversation_id: str | None
    ) -> Reply:
        said = conversation.ConversationInput(
            text=text,
            context=Context(user_id=self._user_id),
            conversation_id=conversation_id,
            device_id=device_id,
            satellite_id=None,
            language=language,
            agent_id=conversation.HOME_ASSISTANT_AGENT,
        )
        whose: dict[str, Any] = {"context": said.context} if _OWNED else {}
        began, computed = time.perf_counter(), time.process_time()
        with (
            chat_session.async_get_chat_session(self.hass, conversation_id, **whose) as session,
            async_get_chat_log(self.hass, session, said) as log,
        ):
            try:
                response = await conversation.async_handle_intents(self.hass, said, log)
            except intent.IntentError, TemplateError:  # some of a language's own answers cannot be rendered
                response = None
            intents = _intents(log.content)
            if response is not None:
                speech = response.speech.get("plain", {}).get("speech") or ""
                log.async_add_assistant_content_without_tools(
                    conversation.AssistantContent(agent_id=said.agent_id, content=speech)
                )
        return Reply(response, time.perf_counter() - began, time.process_time() - computed, None, intents)


@asynccontextmanager
async def async_house(
    home: dataset.Home,
    profiles: Sequence[ConfigSubentryDataWithId] = (PROFILE,),
    async_place: Callable[[HomeAssistant], Awaitable[None]] | None = None,
    components: Sequence[str] = (),
) -> AsyncIterator[House]:
    """Return a home that works; it is gone afterwards. `async_place` says before all else where it is; the rest as in `House`."""
    with TemporaryDirectory() as folder:
        async with async_test_home_assistant(config_dir=folder) as hass:
            hass.config.skip_pip = True
            frame.async_setup(hass)
            if async_place is not None:
                await async_place(hass)
            if profiles:
                server = {"server_host": ["127.0.0.1"], "server_port": free_port()}
                await async_setup_component(hass, "http", {"http": server})
                store = await async_get_and_load_store(hass)
                if store.pending is not None:  # else Home Assistant restarts five minutes later, however these pass
                    await store.async_promote_pending()
            house = House(hass, home, profiles, components)
            try:
                await house.async_begin()
                gc.collect()
                gc.freeze()  # a collection in mid-request would walk the whole home
                yield house
            finally:
                await hass.async_stop(force=True)
                gc.unfreeze()


def measure(task: Task) -> list[Asked]:
    """Return what became of all requests for one home: the work of one process."""
    logging.disable(logging.CRITICAL)  # what fails is counted
    return asyncio.run(async_measure(task))


async def async_measure(task: Task) -> list[Asked]:
    """Return what became of all requests for one home."""
    asked: list[Asked] = []
    async with async_house(task.home) as house:
        for language in dict.fromkeys(row["lang"] for row in task.rows):
            for agent in task.agents:  # what is loaded once is loaded
                house.prepare({})
                await house.async_ask(agent, {"utterance": "what time is it", "lang": language, "kind": "none"})
        for row in task.rows:
            for agent in task.agents:
                house.prepare(row.get("setup") or {})
                before = house.snapshot()
                reply, confirmed = await house.async_ask(agent, row)
                after = house.snapshot()
                touched = tuple(sorted(_touched(house, before, after)))
                asked.append(
                    Asked(
                        row=row,
                        size=task.size,
                        agent=agent,
                        outcome=judge(row, before, after, house.called & house.rows.keys(), reply),
                        confirmed=confirmed,
                        said=reply.said,
                        touched=touched,
                        seconds=reply.seconds,
                        computing=reply.computing,
                    )
                )
                house.forget()
    return asked


def _touched(house: House, before: Snapshot, after: Snapshot) -> set[str]:
    return set(changes(before, after)) | (house.called & house.rows.keys())


def changes(before: Snapshot, after: Snapshot) -> set[str]:
    """Return the ids of entities that are not as they were."""
    return {key for key, state in after.items() if before.get(key) is not state and _differs(before.get(key), state)}


def _differs(one: State | None, other: State) -> bool:
    if one is None or one.state != other.state:
        return True
    return any(
        one.attributes.get(key) != other.attributes.get(key)
        for key in (one.attributes.keys() | other.attributes.keys()) - _VOLATILE
    )


def judge(row: Row, before: Snapshot, after: Snapshot, called: Collection[str], reply: Reply) -> str:
    """Return what became of a request, by what became of the home; `called` has the entities of all service calls.

    Right is the expected outcome and nothing else touched; a group's members that are as wanted may be told again.
    """
    changed = changes(before, after)
    touched = changed | set(called) if reply.handled else changed  # a call that was refused changed nothing
    if row["kind"] == "none":
        return ACTED if touched else LEFT_ALONE
    if "intent" in row:
        return _judge_intent(row, touched, reply)
    if row["kind"] == "query":
        if touched:
            return WRONG_TARGET
        if not reply.handled:
            return HANDED_ON
        return RIGHT if _says(reply.said, row.get("answer_any", ())) else WRONG_ANSWER
    expected = {item["entity_id"]: item for item in row["expected"]}
    if not touched:
        if not reply.handled:
            return HANDED_ON
        if reply.said.rstrip().endswith("?"):
            return ASKED
        return RIGHT if all(_is_as_wanted(item, after.get(key), True) for key, item in expected.items()) else ANSWERED
    extra = touched - expected.keys()
    if len(expected) > 1:
        extra &= changed
    if extra or expected.keys() - touched:
        return WRONG_TARGET
    return RIGHT if all(_is_as_wanted(item, after[key], False) for key, item in expected.items()) else WRONG_VALUE


def _judge_intent(row: Row, touched: Collection[str], reply: Reply) -> str:
    """Return what became of a sentence of which the intent is known, and mostly the entities.

    Small talk, which has no intent outside of the answer, and what is already as it was asked to be need no call.
    """
    if not reply.handled:  # also where the intent was recognised, and found nothing
        return WRONG_TARGET if touched else HANDED_ON
    if reply.intents and row["intent"] not in reply.intents and all(name.startswith("Hass") for name in reply.intents):
        return WRONG_INTENT
    wanted = set(row.get("expected_entity_ids") or ())
    response = reply.response
    if row["kind"] == "query":
        read = (
            {state.entity_id for state in (*response.matched_states, *response.unmatched_states)} if response else set()
        )
        same = not wanted or not read or wanted <= read or reply.said == row.get("response")
        return WRONG_TARGET if touched or not same else RIGHT
    if not wanted or not touched:
        so = {target.id for target in response.success_results} if response else set()
        is_so = bool(so) and bool(wanted) and (so <= wanted or wanted <= so)
        return RIGHT if reply.intents or is_so or row["intent"] == intent.INTENT_RESPOND else ANSWERED
    return RIGHT if set(touched) <= wanted or wanted <= set(touched) else WRONG_TARGET


def _is_as_wanted(item: Mapping[str, Any], state: State | None, strictly: bool) -> bool:
    """Return whether an entity is as a request wants it; where that is not known, not if `strictly`."""
    if state is None:
        return False
    if item.get("value_checked") is False:
        return not strictly
    if "state" in item and not fits(item["state"], state.state):
        return False
    attributes = state.attributes
    if item.get("mute_or_zero_volume"):
        return bool(attributes.get("is_volume_muted")) or attributes.get("volume_level") == 0
    return all(fits(wanted, attributes.get(key)) for key, wanted in (item.get("attributes") or {}).items())


def fits(wanted: Any, found: Any) -> bool:
    """Return whether a value is `wanted`, or `{"ne": x}`, `{"any": [..], "tol": t}`, `{"gt": x}`, `{"lt": x}`."""
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if isinstance(wanted, Mapping):
        if "ne" in wanted:
            return found is not None and found != wanted["ne"]
        if "gt" in wanted or "lt" in wanted:
            return is_number and wanted.get("lt", found + 1) > found > wanted.get("gt", found - 1)
        tolerance = wanted.get("tol", 1e-6)
        return any(
            abs(one - found) <= tolerance if is_number and isinstance(one, int | float) else str(one) == str(found)
            for one in wanted.get("any", ())
        )
    if isinstance(wanted, list):
        return list(found or ()) == wanted
    if is_number and isinstance(wanted, int | float):
        return bool(abs(wanted - found) < 1e-6)
    return str(wanted) == str(found)


def _says(answer: str, wanted: Sequence[str]) -> bool:
    text = re.sub(r"(\d)\s+([%°])", r"\1\2", answer.lower())
    return any(re.search(rf"(?<!\w){re.escape(item.lower())}(?!\w)", text) for item in wanted)


def _intents(content: Sequence[Any]) -> list[str]:
    return [call.tool_name for item in content for call in getattr(item, "tool_calls", None) or ()]


def tasks(data: dataset.Dataset, choice: Choice) -> list[Task]:
    """Return what is to be asked, home by home: the largest pieces of work first.

    Not asked is for what no light of the home can be: to turn it on and say that its brightness was set is not right.
    """
    home_of = cache(partial(data.home, flavour=dataset.AS_IT_IS))
    rows = [row for file in choice.files for row in data.rows(file) if choice.takes(row) and _can_be(home_of, row)]
    if choice.limit and len(rows) > choice.limit:
        rows = sorted(random.Random(SEED).sample(rows, choice.limit), key=lambda row: str(row["id"]))
    by_home: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        for size in choice.sizes if "intent" not in row else (dataset.AS_IT_IS,):
            if row.get("explicit") or size in (dataset.AS_IT_IS, "own0"):
                by_home[row["home"], size].append(row)
    found = [
        Task(home=data.home(name, size), name=name, size=size, rows=listed, agents=choice.agents)
        for (name, size), listed in by_home.items()
        if size in (dataset.AS_IT_IS, *data.flavours)
    ]
    return sorted(found, key=lambda task: -len(task.rows) * (len(task.home["entities"]) + 200))


def _can_be(home_of: Callable[[str], dataset.Home], row: Row) -> bool:
    """Return whether any of the lights that are wanted can look as is said; what is about anything else can be."""
    recognised = Recognised(name=row.get("intent", ""), slots=row.get("slots", {}))
    entities = home_of(row["home"])["entities"] if recognised.name == _SETS_LIGHT else ()
    wanted = [each for each in entities if each["entity_id"] in row["expected_entity_ids"]]
    states = [State(each["entity_id"], each["state"], each["attributes"]) for each in wanted]
    return not states or any(is_able(state, recognised) for state in states)


def run(data: dataset.Dataset, choice: Choice, say: Callable[[str], None]) -> list[Asked]:
    """Return what became of all requests, asked in as many processes as the choice has."""
    listed, asked = tasks(data, choice), list[Asked]()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(choice.processes, context, max_tasks_per_child=8) as pool:
        for number, future in enumerate(as_completed([pool.submit(measure, task) for task in listed])):
            done = future.result()
            asked += done
            say(f"{number + 1} of {len(listed)}: {done[0].row['home']} {done[0].size}, {len(done)} answers")
    return sorted(asked, key=lambda item: (str(item.row["id"]), item.size, AGENTS.index(item.agent)))
