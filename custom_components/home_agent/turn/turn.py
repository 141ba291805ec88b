"""One user input: the turn, which never changes, the record of its course, and its answer.

Tools and the policy find their turn through `current_turn`: Home Assistant keeps the tool objects of a conversation's first turn
(its prompt freeze) for all turns.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import tzinfo
from enum import StrEnum
import time
from typing import Any, Self
from zoneinfo import ZoneInfo

from homeassistant.auth.models import User
from homeassistant.components.conversation import ChatLog, ConversationInput
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr, entity_registry as er, intent
from homeassistant.util import dt as dt_util

from ..languages.data import LANGUAGE_CODE, LOADED, async_load, base_of, code_of
from ..settings.profile import ContextEntity, Narrowing, Profile
from ..support.const import LOGGER
from ..support.encoding import plain_text
from ..support.errors import DidNotRun


@dataclass(slots=True)
class Usage:
    """Tokens of one request or the sum of several, as the endpoint reports them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0  # input tokens from the cache
    counted_tokens: int = 0  # input tokens of the requests that tell how many were cached
    prompt_ms: int | None = None  # milliseconds to read the prompts; None if not reported
    cached_share: int | None = None
    """Percent of `counted_tokens` that were cached; None if not reported. Set by adding up."""

    def __iadd__(self, other: Usage) -> Self:
        """Add up several requests."""
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cached_tokens += other.cached_tokens
        self.counted_tokens += other.counted_tokens
        if other.prompt_ms is not None:
            self.prompt_ms = (self.prompt_ms or 0) + other.prompt_ms
        if self.counted_tokens:
            self.cached_share = round(100 * self.cached_tokens / self.counted_tokens)
        return self

    def as_dict(self) -> dict[str, int]:
        """Return the tokens as `prompt`, `completion` and `cached`."""
        return {"prompt": self.input_tokens, "completion": self.output_tokens, "cached": self.cached_tokens}


@dataclass(slots=True)
class ModelUsage:
    """Requests to a model for one part of a turn, and their tokens."""

    requests: int = 0
    usage: Usage = field(default_factory=Usage)

    def as_dict(self) -> dict[str, int]:
        """Return `requests`, and the tokens of `Usage.as_dict`."""
        return {"requests": self.requests, **self.usage.as_dict()}


@dataclass(slots=True)
class Routing:
    """The models asked in a turn that a router split."""

    router: ModelUsage = field(default_factory=ModelUsage)
    domains: dict[str, ModelUsage] = field(default_factory=dict)  # by name, in the order of the message
    synthesizer: ModelUsage = field(default_factory=ModelUsage)

    @property
    def requests(self) -> int:
        """Return the requests of router and domains; the synthesizer's counts as the turn's own."""
        return self.router.requests + sum(asked.requests for asked in self.domains.values())

    def as_dict(self) -> dict[str, Any]:
        """Return counts of requests and tokens: `router`, `domains` by name, `synthesizer`."""
        domains = {name: asked.as_dict() for name, asked in self.domains.items()}
        return {"router": self.router.as_dict(), "domains": domains, "synthesizer": self.synthesizer.as_dict()}


class AnswerOrigin(StrEnum):
    """Where an answer came from."""

    MODEL = "model"
    LOCAL = "local"
    NOTICE = "notice"
    """A fixed sentence: an error, or a hint."""


class Outcome(StrEnum):
    """Result of a write to an entity (policy/write.py)."""

    REACHED = "reached"
    """It has the requested state."""
    CHANGED = "changed"
    """It is on its way, or has another state."""
    UNCHANGED = "unchanged"
    """Its state is as before."""
    UNAVAILABLE = "unavailable"
    """It is unavailable or gone."""
    DONE = "done"
    """The call returned; no state shows its effect, or it was not verified."""
    FAILED = "failed"
    """The call raised."""


NOT_FOLLOWED = frozenset({Outcome.UNCHANGED, Outcome.UNAVAILABLE})
"""The call returned without effect."""


@dataclass(slots=True, kw_only=True)
class ToolCallRecord:
    """One tool call, for the response of `home_agent.process` and for events; without results and texts."""

    tool_name: str
    parameters: dict[str, object]  # masked
    success: bool
    duration_ms: int
    error: str | None = None  # class of the error if it failed


class Zone(StrEnum):
    """Certainty of the route that a sentence means."""

    HIGH = "high"
    """The route runs without a model."""
    MEDIUM = "medium"
    """One of the best two is meant."""
    LOW = "low"
    """No route is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteChoice:
    """Result of comparing a sentence with the routes (local/routes.py)."""

    zone: Zone
    route: str = ""  # the best one; empty if nothing resembles it
    second: str = ""  # the second best one, or empty
    best: float = 0.0  # similarities, 0 to 1: of the best route, of the second, of the best one's action
    second_best: float = 0.0
    action: float = 0.0
    by: str = ""  # what was compared: `words`, or `vectors` of a model
    declined: str = ""  # code of the reason why it did not run (docs/LOCAL_BRAIN.md); empty if it did

    def as_dict(self) -> dict[str, Any]:
        """Return the data for events and responses."""
        return {
            "zone": self.zone.value,
            "route": self.route or None,
            "second": self.second or None,
            "scores": {
                "best": round(self.best, 2),
                "second": round(self.second_best, 2),
                "action": round(self.action, 2),
                "gap": round(self.best - self.second_best, 2),
            },
            "by": self.by,
            "declined": self.declined or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """The local brain's reading of a sentence."""

    intents: tuple[str, ...] = ()  # intents, or candidates if not certain
    targets: tuple[str, ...] = ()  # entity ids; empty if it declined
    score: float = 0.0  # certainty, 0 to 1
    declined: str = ""  # code of the reason why nothing was done (docs/LOCAL_BRAIN.md); empty if it was
    words: str = ""  # words that are not understood
    candidates: tuple[str, ...] = ()  # entity ids that may be meant
    asked: bool = False  # the user was asked which candidate is meant, or answers that question
    learned: bool = False
    is_near: bool = False  # what is not understood may be a typing error, or refer to the sentence before
    route: RouteChoice | None = None  # result of the routes; None if not compared with them
    duration_ms: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the data for events and responses."""
        return {
            "intents": [*self.intents],
            "targets": [*self.targets],
            "score": self.score,
            "declined": self.declined or None,
            "words": self.words or None,
            "candidates": [*self.candidates],
            "route": self.route.as_dict() if self.route is not None else None,
            "duration_ms": self.duration_ms,
            **({"asked": True} if self.asked else {}),
            **({"learned": True} if self.learned else {}),
        }


@dataclass(slots=True, kw_only=True)
class TurnRecord:
    """The course of a turn so far."""

    started: float = field(default_factory=time.perf_counter)
    heard: float | None = None
    """Time of the loop at which the person last got words of a model; before any, at which a model was first asked."""
    origin: AnswerOrigin = AnswerOrigin.MODEL
    is_order: bool = False  # the message begins like a command: the answer does not repeat what it is about
    requests: int = 0  # requests to the model
    calls_started: int = 0  # tool calls, with refused ones
    calls: list[ToolCallRecord] = field(default_factory=list)
    acted: bool = False  # something was done; False if the home shows no effect
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # of all writes, by entity id
    written: Mapping[str, Outcome] = field(default_factory=dict)  # of the last write, by subject
    changed: set[str] = field(default_factory=set)  # subjects of all that was done; "" for what has none
    usage: Usage = field(default_factory=Usage)
    first_token_ms: int | None = None
    """Milliseconds from the input to the model's first words, thinking or tool call; None without any."""
    used_external_llm: bool = False
    taints: set[str] = field(default_factory=set)
    """Tools whose results brought text from outside into this conversation; the session's own set."""
    request_id: str | None = None  # the confirmation that the turn must ask for (policy/confirmation.py)
    did_not_run: DidNotRun | None = None  # error of the last automation that should have run
    context_mode: str = ""  # how the model is told states; empty until known
    is_announced: bool = True  # the event of the turn's start was fired; not before its mode is known
    vector_db_query: dict[str, Any] | None = None
    """Counts of documents found by vectors, by collection and in all."""
    fault: Exception | None = None
    """Error that the answer's last sentence reports: the model broke off, or said nothing."""
    follow_up: Callable[[str], Awaitable[Any]] | None = None
    """Returns the last request with one more message after the answer (agent/loop.py)."""
    answered_as: Profile | None = None
    """The agent that answered, if it is not the turn's: a command can reach another one after its question."""
    routing: Routing | None = None
    shares: int = 1  # agents that answer side by side; each adds its tool calls to the limit
    understanding: Understanding | None = None  # reading of the local brain; None if not asked
    planned: list[Any] | None = None
    """Calls (policy/confirmation.py) that are noted for a wish instead of being made; None: they are made."""
    offers: frozenset[str] | None = None
    """Names of the tools that the model is offered; None: all of the profile."""
    events_in_prompt: bool = False  # the instructions were made in this turn, and hold the calendar events

    @property
    def duration_ms(self) -> int:
        """Return the milliseconds since the input arrived."""
        return round((time.perf_counter() - self.started) * 1000)

    def not_followed(self, entity_ids: Iterable[str]) -> list[str]:
        """Return the given entities that were written to without effect, each once."""
        return [item for item in dict.fromkeys(entity_ids) if self.outcomes.get(item) in NOT_FOLLOWED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Owner of a conversation, the only one who can continue it."""

    profile_id: str
    user_id: str | None
    device_id: str | None
    """A voice satellite, if no user is known. Without both, it belongs to automations."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Turn:
    """One user input: who said what, where, to which profile."""

    profile: Profile
    conversation_id: str
    text: str
    language: str
    context: Context  # who asked; every service call carries it
    user: User | None = None  # none for a satellite or an automation; exposure alone decides then
    device_id: str | None = None
    satellite_id: str | None = None
    area_id: str | None = None
    agent_id: str = ""  # entity id of the profile's conversation entity
    spoken: bool = False  # the answer goes to a loudspeaker
    extra_system_prompt: str | None = None
    context_entities: Sequence[ContextEntity] | None = None
    """Entities that `home_agent.process` named instead of the profile's own list."""
    rehearsal: bool = False  # it only lets a model read the next prompt ahead; no user input, no events
    direct: bool = False
    """A user's own message, not one of a tool, script or automation that another turn started."""
    confirm_via: tuple[str, ...] = ()
    """More channels for confirmations: `repairs`, `mobile_app`, notify actions."""
    parent: Turn | None = field(default=None, repr=False)
    """The turn whose tool, script or automation asks; this turn's tokens and taint count for it, too."""
    delegated: bool = False
    """The parent's model hands its request to this profile, which may do only what the parent may."""
    extension: str = ""
    """The extension whose tools it has instead of the profile's; chosen by the parent's router."""
    place: int = 0  # its number among turns that answer side by side; confirmations are asked in this order
    wish: str = ""  # the id of the wish that is done by it
    insists: bool = False
    """All that it changes needs the user's yes, also what lists of the owner spare."""
    only_reads: bool = False  # it may change nothing: a question that waited
    within: tuple[Narrowing, ...] = ()
    """Parts of the home that an entity must all be in: the profile's, and those of each turn that led to this one.
    Empty: the whole exposed home."""
    record: TurnRecord = field(default_factory=TurnRecord, repr=False)

    speaks: str = field(init=False)  # language of the answer: the profile's own, or the message's
    translates: bool = field(init=False)
    """Whether answer and message differ in language; Home Assistant's own sentences answer in the message's."""
    owner: Owner = field(init=False)
    answerable: bool = field(init=False)  # whether a confirmation can be asked for
    lineage: tuple[Turn, ...] = field(init=False, repr=False)
    """The turn itself and those that delegated it, up to the user's own turn."""
    remembers: bool = field(init=False)
    """Whether its agent and those of all turns that led to it have memory, so that a guest cannot ask through another agent."""

    def __post_init__(self) -> None:
        """Set the derived fields."""
        user_id = self.context.user_id
        device_id = None if user_id else self.device_id or self.satellite_id
        is_person = self.user is not None or self.device_id is not None or self.satellite_id is not None
        answerable = bool(self.confirm_via) or (self.direct and is_person)
        lineage: tuple[Turn, ...] = (self,)
        if self.delegated and self.parent is not None:
            answerable, lineage = self.parent.answerable, (self, *self.parent.lineage)
        speaks = self.profile.language or self.language
        above = self.parent or current_turn.get(None)
        led_here = above.within if above is not None else ()
        derived = {
            "owner": Owner(profile_id=self.profile.subentry_id, user_id=user_id, device_id=device_id),
            "speaks": speaks,
            "translates": bool(self.profile.language) and base_of(speaks) != base_of(self.language),
            "answerable": answerable,
            "lineage": lineage,
            "remembers": self.profile.remembers and (self.parent is None or self.parent.remembers),
        }
        if (
            above is not None and above is not self
        ):  # what a wish starts is of the wish, also without its turn as parent
            derived |= {"wish": self.wish or above.wish, "only_reads": self.only_reads or above.only_reads}
        if self.profile.within or led_here:
            derived["within"] = tuple(dict.fromkeys((*self.within, *self.profile.within, *led_here)))
        for name, value in derived.items():
            object.__setattr__(self, name, value)  # of a frozen class of our own


current_turn: ContextVar[Turn] = ContextVar("home_agent_turn")
"""The turn whose tools are running; tasks that the chat log starts inherit it."""


@contextmanager
def running(turn: Turn) -> Generator[None]:
    """Make a turn the current one; at the end, add its tokens and taint to its parent, and its outcomes if that delegated it."""
    token = current_turn.set(turn)
    try:
        yield
    finally:
        current_turn.reset(token)
        if turn.parent is not None:
            turn.parent.record.usage += turn.record.usage
            turn.parent.record.taints |= turn.record.taints
            if turn.delegated:  # the parent's answer is checked against them
                turn.parent.record.acted = turn.parent.record.acted or turn.record.acted
                turn.parent.record.outcomes.update(turn.record.outcomes)
                turn.parent.record.changed |= turn.record.changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer to a turn."""

    text: str = ""
    done: bool = True  # false if the text reports an error
    origin: AnswerOrigin = AnswerOrigin.LOCAL
    needs_confirmation: bool = False  # the turn's question is asked instead of the text
    response: intent.IntentResponse | None = None  # Home Assistant's own response, with data besides the text
    is_in_chat_log: bool = False  # the text is in the chat log already


@dataclass(slots=True)
class TurnRequest:
    """Parameters of `home_agent.process` or of a delegation that Home Assistant's input has no fields for."""

    context_entities: Sequence[ContextEntity] | None = None
    confirm_via: tuple[str, ...] = ()
    by_name: bool = False  # the agent was named, so no rule chooses another one
    delegated_by: Turn | None = None  # the turn whose model hands over the request
    handed_on_by: Profile | None = None
    """The agent that heard a slash command; its protections hold for the agent that answers."""
    delta_listener: Callable[[ChatLog, dict[str, Any]], None] | None = None
    asked_by: Turn | None = None
    """The turn of a wish whose question it is: it may only read, and no more of the home than that turn."""
    turn: Turn | None = None  # the opened turn, for the caller


current_request: ContextVar[TurnRequest | None] = ContextVar("home_agent_request", default=None)
"""Set around one turn; the first turn that opens takes it."""


async def async_open_turn(
    hass: HomeAssistant, user_input: ConversationInput, profile: Profile, conversation_id: str
) -> Turn:
    """Return the turn of an input. `conversation_id` is the chat log's; the input's may be None or renamed.

    Halves of characters in both become question marks: no file, event or response can hold them.
    """
    language = user_input.language if LANGUAGE_CODE.fullmatch(user_input.language or "") else hass.config.language
    for heard_or_said in (language, profile.language or language):
        if code_of(heard_or_said) not in LOADED:
            await async_load(hass, heard_or_said)
    user_id = user_input.context.user_id
    user = await hass.auth.async_get_user(user_id) if user_id else None
    request = current_request.get()
    if request is None or request.turn is not None:
        request = TurnRequest()
    parent = request.delegated_by or current_turn.get(None)
    from_device = user_input.device_id is not None or user_input.satellite_id is not None
    wish = request.asked_by
    request.turn = Turn(
        profile=profile,
        conversation_id=plain_text(conversation_id),
        text=plain_text(user_input.text),
        language=language,
        context=user_input.context,
        user=user,
        device_id=user_input.device_id,
        satellite_id=user_input.satellite_id,
        area_id=area_of(hass, user_input.device_id, user_input.satellite_id) if from_device else None,
        agent_id=user_input.agent_id,
        spoken=profile.speech == "always" or (profile.speech == "auto" and from_device),
        extra_system_prompt=user_input.extra_system_prompt,
        context_entities=request.context_entities,
        direct=parent is None and wish is None,
        confirm_via=request.confirm_via,
        parent=parent,
        delegated=request.delegated_by is not None,
        wish=wish.wish if wish is not None else "",
        only_reads=wish is not None,
        within=wish.within if wish is not None else (),
    )
    return request.turn


@callback
def area_of(hass: HomeAssistant, device_id: str | None, satellite_id: str | None) -> str | None:
    """Return the area of the asking device: the satellite's own, else its device's."""
    if satellite_id and (entry := er.async_get(hass).async_get(satellite_id)):
        if entry.area_id:
            return entry.area_id
        device_id = entry.device_id
    if device_id and (device := dr.async_get(hass).async_get(device_id)):
        return dr.async_get_effective_area_id(hass, device)
    return None


_ZONES: dict[str, ZoneInfo | None] = {}
"""Cache of zones by name, None if unknown: Home Assistant reads one in a thread each time, which takes a millisecond."""


async def async_zone(hass: HomeAssistant, wanted: str, agent: str = "") -> ZoneInfo:
    """Return the time zone of a profile, else the home's, else UTC. An unknown name is logged once, with the `agent`'s name."""
    for name, whose, instead in (
        (wanted.strip(), f"the agent {agent}" if agent else "an agent", "the one of the home"),
        (hass.config.time_zone, "Home Assistant", "UTC"),
    ):
        if not name:
            continue
        if name not in _ZONES:
            try:
                _ZONES[name] = await dt_util.async_get_time_zone(name)
            except ValueError, OSError:  # such as for a path
                _ZONES[name] = None
            if _ZONES[name] is None:
                LOGGER.warning("There is no time zone %s, to which %s is set; %s is used", name, whose, instead)
        if (zone := _ZONES[name]) is not None:
            return zone
    return ZoneInfo("UTC")


def zone_of_turn() -> tzinfo:
    """Return the time zone of the running turn: the agent's own, else the home's."""
    turn = current_turn.get(None)
    return (turn and _ZONES.get(turn.profile.timezone.strip())) or dt_util.get_default_time_zone()
