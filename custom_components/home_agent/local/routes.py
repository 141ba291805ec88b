"""Routes that are no intents: scripts, scenes, automations, tools and agents, and which of them a sentence runs.

How well it fits each is told by words, or by vectors where an embedding model is configured. What is surely meant runs as the
model's call would, under the same policy; else the model is offered the tools of the best two, or all. Which of that happens is the
profile's setting (docs/decisions/0043).
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
import re
from secrets import token_hex
import time
from typing import Any

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.conversation import ChatLog, ConversationTraceEventType, async_conversation_trace_append
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType
import probatio

from ..client.messages import add_calls, add_result
from ..home.domains import DOMAINS, SWITCHED, UNKNOWN
from ..home.domains.script import fields_of
from ..home.exposure import is_exposed
from ..home.snapshot import HomeSnapshot
from ..languages.data import data_of
from ..languages.phrases import is_altered, is_asking
from ..languages.phrasings import phrasings_of
from ..languages.vocabulary import Language
from ..policy.policy import Policy
from ..policy.questions import async_not_followed
from ..policy.tool import HomeAgentTool
from ..search.model import async_load_numpy
from ..search.vectors import QUERY_TIMEOUT, Vectors
from ..settings.profile import Profile
from ..speech import speakable_text
from ..support.bounds import in_slices
from ..support.const import LLM_NONE, LOGGER
from ..support.errors import RetrievalError, where_of
from ..support.localize import async_error_text, async_text
from ..support.text import fold, words
from ..turn.turn import Answer, RouteChoice, Turn, Understanding, Zone, async_zone
from .declared import Argument, arguments_of_fields, arguments_of_schema
from .route_index import MAX_COMMANDS, MAX_NEAR, MAX_PHRASES, Fit, Route, RouteIndex, Utterance

MAX_ROUTES = 6000
MAX_VECTORS = 4000  # phrases that are embedded; the rest is compared by words alone
MAX_SPOKEN = 400  # characters of a result that is told
BATCH = 64  # phrases that are embedded at a time
GOES_ON = 300.0  # seconds for which a sentence goes on from the one before
MAX_BEFORE = 200  # conversations of which that is known
_FEW = 4  # words of what may be a missing value
MAX_KEPT = 12  # profiles in a language
RETRY = 60.0  # seconds after which an endpoint that failed is asked for the vectors of the routes again
_CONTROL = "ha_control"
SEMANTIC = frozenset({"semantic", "semantic_then_router"})
"""Values of the setting `routing` of profiles whose messages are compared with the routes before the model."""

type RouteSource = Callable[[Profile, HomeSnapshot, Sequence[HomeAgentTool]], Iterable[Route]]
"""Returns routes for a profile, given the exposed home and the tools that the profile has. Called when one of them changes."""


@dataclass(slots=True, kw_only=True)
class RouteMatch:
    """What a sentence means among the routes."""

    choice: RouteChoice
    target: Route | None = None  # set where it can run
    arguments: dict[str, Any] = field(default_factory=dict)
    tool: HomeAgentTool | None = None
    tools: tuple[str, ...] = ()  # names of the tools of the best two
    before: str = ""  # what was said without the values of the arguments; empty where there were none


class _SaidBefore:
    """What was said last in each conversation, as far as a sentence may go on from it."""

    def __init__(self) -> None:
        """Start without any."""
        self._said: dict[tuple[str, str | None], tuple[float, int, str]] = {}
        """By conversation and user: when, the number of the message if a value was missing in it, else 0, and what was said."""

    def note(self, turn: Turn, text: str, *, lacks_value_at: int = 0) -> None:
        """Keep what was said: without its values if a route ran with them, else with the number of the message that lacked one."""
        self._said[turn.conversation_id, turn.user.id if turn.user else None] = time.monotonic(), lacks_value_at, text
        if len(self._said) > MAX_BEFORE:
            del self._said[next(iter(self._said))]

    def going_on(self, turn: Turn, language: Language, heard: int) -> str:
        """Return a sentence that goes on ("and the scanner?") or says a missing value, with the one before; "" for others."""
        key = turn.conversation_id, turn.user.id if turn.user else None
        when, number, before = self._said.pop(key, (0.0, 0, ""))
        if not before or time.monotonic() - when > GOES_ON:
            return ""
        said = turn.text.strip(" ?.!")
        if number:
            is_value = heard == number + 1 and len(words(said)) <= _FEW
            return f"{before.strip(' .!')} {turn.text.strip(' .!')}" if is_value else ""
        for phrase in sorted(data_of(language.code).follow_ups.again, key=len, reverse=True):
            if said.casefold().startswith(f"{phrase} "):
                return f"{before} {said[len(phrase) :].strip()}"
        return ""


class RouteRegistry:
    """The routes of all profiles, and their sources; owned by the entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry: ConfigEntry[Any],
        policy: Policy,
        vectors: Vectors,
        offered: Callable[[Turn], Awaitable[Sequence[HomeAgentTool]]],
        has_examples: Callable[[], bool],
    ) -> None:
        """Take who returns the tools of a turn's profile, and whether the owner gave examples for any. Reads nothing yet."""
        self._hass, self._entry, self._policy, self._vectors, self._offered = hass, entry, policy, vectors, offered
        self.has_examples = has_examples
        self._sources: list[RouteSource] = [partial(_of_home, hass), _of_tools]
        self._kept: dict[tuple[str, str], tuple[HomeSnapshot, Sequence[HomeAgentTool], RouteIndex]] = {}
        """By subentry id of the profile and language, with what it was made from."""
        self._before = _SaidBefore()

    @callback
    def async_offer(self, source: RouteSource) -> None:
        """Add routes of another room, asked for again when the home or the tools change."""
        self._sources.append(source)
        self._kept.clear()

    @callback
    def async_use(self, vectors: Vectors) -> None:
        """Compare with the embedder of these vectors from now on."""
        self._vectors = vectors
        for _, _, index in self._kept.values():
            if index.building is not None:
                index.building.cancel()
        self._kept.clear()

    async def async_warm(self, profile: Profile, language: Language, home: HomeSnapshot) -> None:
        """Read the routes of a profile, and have their vectors made, before the first turn."""
        turn = Turn(
            profile=profile, conversation_id="", text="", language=language.code, context=Context(), rehearsal=True
        )
        if (index := await self._async_index(turn, language, home)) is not None:
            self._build(index)

    async def async_match(
        self, turn: Turn, language: Language, home: HomeSnapshot, *, owned_only: bool = False, heard: int = 0
    ) -> RouteMatch | None:
        """Return what a sentence means among the routes of its profile; None: there are none, or they are not ready.

        With `owned_only` only tools with examples count, and words alone. `heard` is how many messages the conversation has, where a
        value that was missing in the one before may be said.
        """
        if (index := await self._async_index(turn, language, home)) is None or not index.targets:
            return None
        fits: Sequence[Fit] | None = None
        said = Utterance(
            text=turn.text,
            home=await self._async_known(turn, home),
            now=dt_util.now(await async_zone(self._hass, turn.profile.timezone)),
            state_of=self._hass.states.get,
        )
        if not owned_only and self._vectors.embeds:
            self._build(index)
            if index.building is not None and index.failed_at is None and turn.profile.llm != LLM_NONE:
                _tell(turn, RouteChoice(zone=Zone.LOW, by="vectors", declined="not_ready"))
                return None
            fits = await self._async_by_vectors(index, said)
        by = "vectors" if fits is not None else "words"
        if fits is None:
            fits = await self._hass.async_add_executor_job(index.by_words, said)
        match = self._chosen(turn, index, said, fits, by, owned_only=owned_only)
        if match.target is None and (whole := self._before.going_on(turn, language, heard)):
            again = replace(said, text=whole)
            fits = await self._hass.async_add_executor_job(index.by_words, again)
            found = self._chosen(turn, index, again, fits, "words", owned_only=owned_only)
            match = found if found.target is not None else match
        # what is missing is told, and may follow; a text to be said could be any sentence
        named = match.choice.route if match.choice.declined == "arguments" and turn.profile.llm == LLM_NONE else ""
        is_script = named.startswith("script.")
        if heard and is_script and not any(one.required and one.free for one in script_fields(self._hass, named)):
            self._before.note(turn, turn.text, lacks_value_at=heard)
        _tell(turn, match.choice)
        return match

    async def async_answer(self, turn: Turn, chat_log: ChatLog, match: RouteMatch) -> Answer | None:
        """Run what a match surely means as the model's call would run; return what came of it, None if nothing is sure. Never raises."""
        if match.target is None:
            return None
        tool = match.tool
        assert tool is not None  # what can run has one
        call = llm.ToolInput(tool_name=tool.name, tool_args=match.arguments, id=f"route{token_hex(3)}", external=True)
        if not tool.is_elsewhere:  # what is said there stays there
            add_calls(chat_log, turn.agent_id, [call], known=True)
        result = await self._policy.async_call(turn, tool, call)
        if not tool.is_elsewhere:
            add_result(chat_log, turn.agent_id, call, result)
        if turn.record.request_id is not None or turn.record.planned:
            return Answer(needs_confirmation=True)
        if (err := turn.record.did_not_run) is not None:
            return Answer(text=await async_error_text(self._hass, turn.speaks, err), done=False)
        if result.error:
            return Answer(text=await async_text(self._hass, turn.speaks, "confirm_failed"), done=False)
        if match.before:
            self._before.note(turn, match.before)
        if unmoved := turn.record.not_followed([match.target.entity_id]):
            return Answer(text=await async_not_followed(self._hass, turn.speaks, unmoved))
        told = result.data["result"]
        text = "" if match.target.entity_id else _spoken(told)
        text = text or await async_text(self._hass, turn.speaks, "confirm_done")
        return Answer(text=speakable_text(text) if turn.spoken else text)

    async def _async_index(self, turn: Turn, language: Language, home: HomeSnapshot) -> RouteIndex | None:
        """Return the routes of a profile as they are now; None where numpy, which compares, cannot be had."""
        tools = await self._offered(turn)
        key = (turn.profile.subentry_id, language.code)
        kept = self._kept.pop(key, None)
        if kept is not None and kept[0] is home and kept[2].language is language and _same(kept[1], tools):
            self._kept[key] = home, tools, kept[2]
            return kept[2]
        names = {tool.name for tool in tools}
        targets: dict[str, Route] = {}
        for source in self._sources:
            for target in source(turn.profile, home, tools):
                if target.tool in names and len(targets) < MAX_ROUTES:
                    targets.setdefault(target.id, target)
        if _CONTROL in targets:
            said = await self._hass.async_add_executor_job(_commands, language.code)
            targets[_CONTROL] = replace(targets[_CONTROL], said=(*said, *targets[_CONTROL].said))
        try:
            await async_load_numpy(self._hass)
        except RetrievalError:
            return None
        index = await self._hass.async_add_executor_job(RouteIndex, [*targets.values()], language, home, tools)
        self._kept[key] = home, tools, index
        if len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        return index

    def _build(self, index: RouteIndex) -> None:
        """Have the vectors of the phrases made in the background, unless that is going on, or failed a moment ago."""
        has_some = index.building is not None or index.vectors is not None
        if not self._vectors.embeds or not index.phrases or has_some:
            return
        if index.failed_at is not None and time.monotonic() - index.failed_at < RETRY:
            return
        index.building = self._entry.async_create_background_task(
            self._hass, self._async_build(index), "home_agent vectors of routes"
        )

    async def _async_build(self, index: RouteIndex) -> None:
        """Make the vectors; those that were paid for once come from the cache of the embedder (search/embeddings.py)."""
        import numpy as np

        vectors = self._vectors
        texts = [phrase.text for phrase in index.phrases[:MAX_VECTORS]]
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        try:
            made = [await vectors.embedder.async_embed(batch) for batch in batches]
            index.vectors = np.concatenate(made) if made else None
            index.embedder = vectors.embedder
            index.failed_at = None
        except (RetrievalError, ValueError) as err:  # of another length: the model was changed meanwhile
            index.failed_at = time.monotonic()
            LOGGER.info("Routes are compared by words for now: %s", where_of(err))
        finally:
            index.building = None

    async def _async_known(self, turn: Turn, home: HomeSnapshot) -> HomeSnapshot:
        user = turn.user
        if not turn.within and (user is None or user.permissions.access_all_entities(POLICY_READ)):
            return home
        entities = {
            key: item async for key, item in in_slices(home.entities.items()) if is_exposed(self._hass, key, user)
        }
        return HomeSnapshot(entities, home.areas, home.names)

    async def _async_by_vectors(self, index: RouteIndex, said: Utterance) -> list[Fit] | None:
        """Return the targets by their vectors, None where they cannot be compared now."""
        vectors = self._vectors
        if index.vectors is None or index.embedder is not vectors.embedder:  # the owner has chosen another one since
            return None
        rests = await self._hass.async_add_executor_job(index.rests, said)
        try:
            with vectors.in_use():
                made = await vectors.embedder.async_embed(rests, within=QUERY_TIMEOUT)
        except RetrievalError:  # logged where it was raised
            return None
        if made.shape[1] != index.vectors.shape[1]:  # another model goes by the name now
            index.vectors = None
            self._build(index)
            return None
        return await self._hass.async_add_executor_job(index.by_vectors, said, rests, made)

    def _chosen(
        self, turn: Turn, index: RouteIndex, said: Utterance, fits: Sequence[Fit], by: str, *, owned_only: bool
    ) -> RouteMatch:
        profile, tools = turn.profile, index.tools
        known = [
            fit
            for fit in fits[:MAX_NEAR]
            if (not owned_only or fit.target.owned)
            and (not fit.target.entity_id or is_exposed(self._hass, fit.target.entity_id, turn.user))
        ]
        if not known:
            return RouteMatch(choice=RouteChoice(zone=Zone.LOW, by=by, declined="score"))
        first, second = _best_two(known, profile.routing_high)
        choice = RouteChoice(
            zone=Zone.HIGH,
            route=first.target.id,
            second=second.target.id if second else "",
            best=min(1.0, first.best),
            second_best=min(1.0, second.best) if second else 0.0,
            action=min(1.0, first.action),
            by=by,
        )
        if _below(first.best, profile.routing_low):
            return RouteMatch(choice=replace(choice, zone=Zone.LOW, declined="score"))
        near = dict.fromkeys((first.target.tool, *(fit.target.tool for fit in known), *tools))
        names = tuple(islice(near, 2))
        state = self._hass.states.get(first.target.entity_id) if first.target.entity_id else None
        is_away = bool(first.target.entity_id) and (state is None or state.state == STATE_UNAVAILABLE)
        far = {
            "score": _below(choice.best, profile.routing_high),
            "action": _below(choice.action, profile.routing_action),
            "gap": _below(choice.best - choice.second_best, profile.routing_gap),
        }
        reason = next((code for code, is_low in far.items() if is_low), "") or _guarded(said.text, index, first, by)
        reason = reason or ("unavailable" if is_away else "")
        arguments = None if reason else _arguments(index, first, said.text)
        if arguments is None:
            declined = replace(choice, zone=Zone.MEDIUM, declined=reason or "arguments")
            return RouteMatch(choice=declined, tools=names)
        return RouteMatch(
            choice=choice,
            target=first.target,
            arguments=arguments,
            tool=tools[first.target.tool],
            tools=names,
            before=first.rest if first.values else "",
        )


def _guarded(text: str, index: RouteIndex, fit: Fit, by: str) -> str:
    """Return what stands against running the nearest route, as a code; empty: nothing."""
    target = fit.target
    if target.call is None or fit.phrase is None:
        return "model"
    if fit.missing:
        return "arguments"
    said = fit.timeless or text
    code, left = index.language.code, _without(said, fit.phrase.text)
    asks = target.answers or is_altered(fit.phrase.text, code, (), asks=False)
    if is_altered(left, code, (), asks=True) or (not asks and is_altered(said, code, target.said, asks=False)):
        return "altered"
    if not asks and is_asking(text, code):
        return "question"
    if target.is_named and not index.verb_of(fit):
        return "action"
    return "words" if index.unexplained(fit, all_words=by == "words") else ""


def _tell(turn: Turn, choice: RouteChoice) -> None:
    turn.record.understanding = replace(turn.record.understanding or Understanding(), route=choice)
    async_conversation_trace_append(ConversationTraceEventType.AGENT_DETAIL, {"route": choice.as_dict()})


def _best_two(fits: Sequence[Fit], high: int) -> tuple[Fit, Fit | None]:
    """Return the nearest route and its nearest rival: what does all sorts of things is no rival of one thing that it does."""
    first = fits[0]
    if first.target.call is None:
        surely = (fit for fit in fits if fit.target.call is not None and fit.target.tool == first.target.tool)
        first = next((fit for fit in surely if not _below(fit.best, high)), first)
    rivals = (fit for fit in fits if fit.target.call is not None or fit.target.tool != first.target.tool)
    return first, next((fit for fit in rivals if fit is not first), None)


def _arguments(index: RouteIndex, fit: Fit, text: str) -> dict[str, Any] | None:
    """Return what the tool of a route is called with, None where the tool does not take it."""
    assert fit.target.call is not None  # else guarded
    arguments = fit.target.call(fit.values, text)
    if fit.target.needs_verb:
        arguments["action"] = index.verb_of(fit)
    try:
        index.tools[fit.target.tool].parameters(dict(arguments))
    except probatio.Invalid:
        return None
    return arguments


def _below(value: float, percent: int) -> bool:
    return round(value, 4) < percent / 100


def _same(one: Sequence[HomeAgentTool], other: Sequence[HomeAgentTool]) -> bool:
    """Return whether tools have the same phrases; those of others may be made anew for each turn."""
    phrases = ([(tool.name, tool.description, *tool.examples) for tool in tools] for tools in (one, other))
    return one is other or next(phrases) == next(phrases)


def _without(text: str, phrase: str) -> str:
    """Return a text without the words of a phrase, each as often as it stands there."""
    known = Counter(fold(word) for word in words(phrase))
    left: list[str] = []
    for word in words(text):
        if known[fold(word)] > 0:
            known[fold(word)] -= 1
        else:
            left.append(word)
    return " ".join(left)


def _commands(code: str) -> tuple[str, ...]:
    """Return words by which a command to things of a home is known, of our data or of the sentences that are installed."""
    if orders := data_of(code).orders:
        return tuple(orders)
    known = phrasings_of(code, SWITCHED)
    empty = known.prepositions | known.harmless
    said = (phrase for route in known.routes for group in route.needed for phrase in sorted(group))
    told = dict.fromkeys(" ".join(word for word in phrase if word not in empty) for phrase in said)
    return tuple(islice(filter(None, told), MAX_COMMANDS))


def _spoken(result: JsonValueType) -> str:
    """Return a result as it can be told without a model: a text as it is, of anything else the values with their names."""

    def lines(value: JsonValueType, name: str) -> Iterator[str]:
        match value:
            case dict():
                for key, item in value.items():
                    yield from lines(item, str(key))
            case list():
                for item in value:
                    yield from lines(item, name)
            case None | "":
                return
            case bool():
                yield f"{name}: {str(value).lower()}" if name else ""
            case _:
                yield f"{name}: {value}" if name else str(value)

    if isinstance(result, str):
        return result.strip()
    text = ", ".join(filter(None, islice(lines(result, ""), 40)))
    return text if len(text) <= MAX_SPOKEN else f"{text[:MAX_SPOKEN].rsplit(' ', 1)[0]} …"


def _turn_on(entity_id: str, values: Mapping[str, Any], _text: str) -> dict[str, Any]:
    given = {"parameters": {"variables": dict(values)}} if values else {}
    return {"action": "turn_on", "entity_id": entity_id, **given}


def _of_home(
    hass: HomeAssistant, _profile: Profile, home: HomeSnapshot, _tools: Sequence[HomeAgentTool]
) -> Iterator[Route]:
    for entity in home.entities.values():
        if not DOMAINS.get(entity.domain, UNKNOWN).has_members:
            yield Route(
                id=entity.entity_id,
                tool=_CONTROL,
                said=entity.names,
                declared=partial(script_fields, hass, entity.entity_id) if entity.domain == "script" else tuple,
                entity_id=entity.entity_id,
                call=partial(_turn_on, entity.entity_id),
                is_named=True,
                needs_verb=entity.domain == "automation",
            )


def _of_tools(_profile: Profile, _home: HomeSnapshot, tools: Sequence[HomeAgentTool]) -> Iterator[Route]:
    """Yield the tools: those with examples may run, the others are what a model may need instead."""
    for tool in tools:
        described = [line for line in re.split(r"\n|(?<=[.!?])\s+", tool.description or "") if line.strip()]
        has_examples = bool(tool.examples)
        declared = arguments_of_schema(tool.wire_parameters) if has_examples else ()
        yield Route(
            id=tool.name,
            tool=tool.name,
            said=tool.examples or ((tool.example,) if tool.example else ()),
            described=described[:MAX_PHRASES],
            declared=partial(tuple, declared),
            call=(lambda values, _text: dict(values)) if has_examples else None,
            answers=bool(tool.annotations and tool.annotations.read_only),
            owned=has_examples,
            skips_home=not has_examples,
        )


def script_fields(hass: HomeAssistant, entity_id: str) -> Sequence[Argument]:
    """Return the fields of a script as its owner declares them now."""
    return arguments_of_fields(fields_of(hass, entity_id))
