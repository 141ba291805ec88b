"""One user input: the turn that came in, which never changes, the record of what becomes of it, and its answer.

Tools and the policy find the turn they belong to through `current_turn`, because Home Assistant keeps the tool objects of
a conversation's first turn (its prompt freeze) while the turn changes.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
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
from ..support.errors import DidNotRun


@dataclass(slots=True)
class Usage:
    """What the endpoint reported for a request, or for several that were added up."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Of the input tokens, those that it had in its cache and did not have to read."""
    counted_tokens: int = 0
    """Of the input tokens, those of requests for which it told how many were cached."""
    prompt_ms: int | None = None
    """Milliseconds that it took to read the prompts; None: it does not tell."""
    cached_share: int | None = None
    """Percent of the counted tokens that were cached; None: it does not tell. Of what was added up."""

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


@dataclass(slots=True)
class ModelUsage:
    """How often a model was asked for one part of a turn, and what that took."""

    requests: int = 0
    usage: Usage = field(default_factory=Usage)

    def as_dict(self) -> dict[str, int]:
        """Return `requests`, and tokens as `prompt`, `completion` and `cached`."""
        usage = self.usage
        return {
            "requests": self.requests,
            "prompt": usage.input_tokens,
            "completion": usage.output_tokens,
            "cached": usage.cached_tokens,
        }


@dataclass(slots=True)
class Routing:
    """Who was asked in a turn that a router has split."""

    router: ModelUsage = field(default_factory=ModelUsage)
    domains: dict[str, ModelUsage] = field(default_factory=dict)
    """By name, in the order of the message."""
    synthesizer: ModelUsage = field(default_factory=ModelUsage)

    @property
    def requests(self) -> int:
        """Those of the router and the domains; the synthesizer's is one of the turn itself."""
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
    """A sentence of our own: an error, or what would help."""


class Outcome(StrEnum):
    """What became of an entity that was written to (policy/write.py)."""

    REACHED = "reached"
    """It is what was asked for."""
    CHANGED = "changed"
    """It is on its way, or came to something else."""
    UNCHANGED = "unchanged"
    """Nothing of it is different from before."""
    UNAVAILABLE = "unavailable"
    """It cannot be reached, or is gone."""
    DONE = "done"
    """The call returned; a state cannot show more, or nobody looked."""
    FAILED = "failed"
    """The call raised."""


NOT_FOLLOWED = frozenset({Outcome.UNCHANGED, Outcome.UNAVAILABLE})
"""The call returned, and the home shows that nothing came of it."""


@dataclass(slots=True, kw_only=True)
class ToolCallRecord:
    """One tool call of the turn, for the response of `home_agent.process` and for events. No results, no texts."""

    tool_name: str
    parameters: dict[str, object]
    """Masked."""
    success: bool
    duration_ms: int
    error: str | None = None
    """The error class, when it failed."""


class Zone(StrEnum):
    """How sure it is which route a sentence means."""

    HIGH = "high"
    """It runs without a model."""
    MEDIUM = "medium"
    """One of the best two."""
    LOW = "low"
    """None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteChoice:
    """What came of comparing a sentence with the routes (local/routes.py)."""

    zone: Zone
    route: str = ""
    """The best one; empty where nothing resembles it. So the next."""
    second: str = ""
    best: float = 0.0
    """Similarities, 0 to 1: of the best one, of the second, of what is said of the best one."""
    second_best: float = 0.0
    action: float = 0.0
    by: str = ""
    """What was compared: `words`, or `vectors` of a model."""
    declined: str = ""
    """Why it did not run, as a code: `docs/LOCAL_BRAIN.md` lists them; empty where it did."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as data for events and responses."""
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
    """What the local brain made of a sentence."""

    intents: tuple[str, ...] = ()
    """What is wanted, or where that is not certain, might be."""
    targets: tuple[str, ...] = ()
    """Entity ids; empty where it declined."""
    score: float = 0.0
    """How certain that is, 0 to 1."""
    declined: str = ""
    """Why nothing was done, as a code: `docs/LOCAL_BRAIN.md` lists them; empty where it was."""
    words: str = ""
    """Words that nothing explains."""
    candidates: tuple[str, ...] = ()
    """Entity ids that might have been meant."""
    asked: bool = False
    """Whether the user was asked which of the candidates is meant, or this is the answer."""
    learned: bool = False
    """Whether it is a phrase that was learned from the model."""
    is_near: bool = False
    """Whether what was not understood may be a slip of the pen, or refers to the sentence before."""
    route: RouteChoice | None = None
    """What came of the routes; None: the sentence was not compared with them."""
    duration_ms: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as data for events and responses."""
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
    """What became of a turn so far."""

    started: float = field(default_factory=time.perf_counter)
    origin: AnswerOrigin = AnswerOrigin.MODEL
    is_order: bool = False
    """It begins like a command: what it is about need not be told again."""
    requests: int = 0
    """How often the model was asked."""
    calls_started: int = 0
    """Tool calls so far, the refused ones included."""
    calls: list[ToolCallRecord] = field(default_factory=list)
    acted: bool = False
    """Something was done; not when the home shows that nothing became of it."""
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """By entity id, of all writes so far."""
    usage: Usage = field(default_factory=Usage)
    first_token_ms: int | None = None
    """Milliseconds from the input to the first that came from a model, words, thinking or a tool call; None: nothing did."""
    used_external_llm: bool = False
    taints: set[str] = field(default_factory=set)
    """Tools whose results brought text from outside into this conversation; the session's own set."""
    request_id: str | None = None
    """The confirmation that the turn has to ask for (policy/confirmation.py)."""
    did_not_run: DidNotRun | None = None
    """What the last automation says that was to run and did not."""
    context_mode: str = ""
    """How the model is told the states of the home; empty until it is known."""
    is_announced: bool = True
    """Whether it was said that the turn has begun; not before it is known how."""
    vector_db_query: dict[str, Any] | None = None
    """What was looked up by vectors: by collection how many documents were near, and how many in all."""
    fault: Exception | None = None
    """What the answer ends with a sentence about: the model broke off, or said nothing."""
    follow_up: Callable[[str], Awaitable[Any]] | None = None
    """Returns the request that begins like the last one and has a message more behind the answer (agent/loop.py)."""
    answered_as: Profile | None = None
    """Whose words the answer is, where that is another agent than the turn's: one that a command reached after its question."""
    routing: Routing | None = None
    """Set where a router was asked."""
    shares: int = 1
    """How many agents answer side by side: together they may make as many times the calls of one."""
    understanding: Understanding | None = None
    """What the local brain made of the sentence; None: it was not asked."""
    offers: frozenset[str] | None = None
    """Names of the tools that the model is offered; None: all that the profile has."""
    events_in_prompt: bool = False
    """The instructions of this conversation were just made, and hold the events that were asked for."""

    @property
    def duration_ms(self) -> int:
        """Milliseconds since the input arrived."""
        return round((time.perf_counter() - self.started) * 1000)

    def not_followed(self, entity_ids: Iterable[str]) -> list[str]:
        """Return those entities that were written to without effect, each once."""
        return [item for item in dict.fromkeys(entity_ids) if self.outcomes.get(item) in NOT_FOLLOWED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose a conversation is: nobody else ever gets it."""

    profile_id: str
    """Subentry id of the agent."""
    user_id: str | None
    device_id: str | None
    """Only where no user is known: a voice satellite. With neither it is an automation's."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Turn:
    """One user input: who said what, where, to which profile."""

    profile: Profile
    conversation_id: str
    text: str
    language: str
    context: Context
    """Who asked; every service call carries it."""
    user: User | None = None
    """None: nobody is known (a satellite, an automation); exposure alone decides then."""
    device_id: str | None = None
    satellite_id: str | None = None
    area_id: str | None = None
    """Area of the asking device."""
    agent_id: str = ""
    """Entity id of the profile's conversation entity."""
    spoken: bool = False
    """The answer goes to a loudspeaker."""
    extra_system_prompt: str | None = None
    context_entities: Sequence[ContextEntity] | None = None
    """Entities that `home_agent.process` named instead of the profile's own list."""
    rehearsal: bool = False
    """Nobody said it: a model reads what it will be sent with the next message. Nothing is said of it."""
    direct: bool = False
    """Somebody said this; it does not come from a tool, script or automation that another turn started."""
    confirm_via: tuple[str, ...] = ()
    """Where else a confirmation may be asked for: `repairs`, `mobile_app`, notify actions."""
    parent: Turn | None = field(default=None, repr=False)
    """The turn whose tool, script or automation asks; what this one takes and brings in counts for that one as well."""
    delegated: bool = False
    """The parent's model hands its request to this profile: what the parent may not do, nobody does for it."""
    extension: str = ""
    """The extension whose tools it has instead of the profile's; the parent's router has named it."""
    place: int = 0
    """Which of those it is that answer side by side: what needs a yes is asked in their order."""
    within: tuple[Narrowing, ...] = ()
    """The parts of the home of which all are needed to know an entity: the profile's, and those of every turn that led to this
    one, by whatever way. Empty: the whole exposed home."""
    record: TurnRecord = field(default_factory=TurnRecord, repr=False)

    speaks: str = field(init=False)
    """The language of what is answered: the profile's own, or the one in which was asked."""
    translates: bool = field(init=False)
    """Whether these are two languages; the home answers its own sentences in the one in which was asked."""
    owner: Owner = field(init=False)
    """Whose the conversation of the turn is."""
    answerable: bool = field(init=False)
    """Whether anybody can be asked for a confirmation."""
    lineage: tuple[Turn, ...] = field(init=False, repr=False)
    """The turn itself and, where it is delegated, those that delegate, up to the one that somebody asked."""
    remembers: bool = field(init=False)
    """Whether its agent remembers, and every one whose turn has led to it: what a guest may not hear, nobody asks for them."""

    def __post_init__(self) -> None:
        """Say what follows from the rest."""
        user_id = self.context.user_id
        device_id = None if user_id else self.device_id or self.satellite_id
        owner = Owner(profile_id=self.profile.subentry_id, user_id=user_id, device_id=device_id)
        speaks = self.user is not None or self.device_id is not None or self.satellite_id is not None
        object.__setattr__(self, "owner", owner)  # of a frozen class of our own
        object.__setattr__(self, "speaks", self.profile.language or self.language)
        translates = bool(self.profile.language) and base_of(self.speaks) != base_of(self.language)
        object.__setattr__(self, "translates", translates)
        answerable = bool(self.confirm_via) or (self.direct and speaks)
        lineage: tuple[Turn, ...] = (self,)
        if self.delegated and self.parent is not None:
            answerable, lineage = self.parent.answerable, (self, *self.parent.lineage)
        object.__setattr__(self, "answerable", answerable)
        object.__setattr__(self, "lineage", lineage)
        remembers = self.profile.remembers and (self.parent is None or self.parent.remembers)
        object.__setattr__(self, "remembers", remembers)
        above = self.parent or current_turn.get(None)
        if self.profile.within or (above is not None and above.within):
            led_here = above.within if above is not None else ()
            within = tuple(dict.fromkeys((*self.within, *self.profile.within, *led_here)))
            object.__setattr__(self, "within", within)


current_turn: ContextVar[Turn] = ContextVar("home_agent_turn")
"""The turn whose tools are running; tasks that the chat log starts inherit it."""


@contextmanager
def running(turn: Turn) -> Generator[None]:
    """Be the current turn; in the end its tokens and where its words came from count for its parent as well.

    So does what was done, where the parent delegates.
    """
    token = current_turn.set(turn)
    try:
        yield
    finally:
        current_turn.reset(token)
        if turn.parent is not None:
            turn.parent.record.usage += turn.record.usage
            turn.parent.record.taints |= turn.record.taints
            if turn.delegated:  # what is claimed of it is judged there
                turn.parent.record.acted = turn.parent.record.acted or turn.record.acted
                turn.parent.record.outcomes.update(turn.record.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one of those who may answer says to a turn."""

    text: str = ""
    done: bool = True
    """False: it is an error in words."""
    origin: AnswerOrigin = AnswerOrigin.LOCAL
    needs_confirmation: bool = False
    """The question of the turn is asked instead of the text."""
    response: intent.IntentResponse | None = None
    """Home Assistant's own, with what it says besides the words."""
    is_in_chat_log: bool = False
    """The words stand there already."""


@dataclass(slots=True)
class TurnRequest:
    """What `home_agent.process`, or whoever delegates, asks besides Home Assistant's own input, and the turn it wants to see afterwards."""

    context_entities: Sequence[ContextEntity] | None = None
    confirm_via: tuple[str, ...] = ()
    by_name: bool = False
    """Whether the agent that answers was named: then no rule chooses another one."""
    delegated_by: Turn | None = None
    """The turn whose model hands over the request."""
    handed_on_by: Profile | None = None
    """The agent that heard a command; the one that it goes to keeps to what protects the home there."""
    delta_listener: Callable[[ChatLog, dict[str, Any]], None] | None = None
    """Who reads along there."""
    turn: Turn | None = None


current_request: ContextVar[TurnRequest | None] = ContextVar("home_agent_request", default=None)
"""Set around one turn; the turn that opens takes it, so that no turn inside it does."""


async def async_open_turn(
    hass: HomeAssistant, user_input: ConversationInput, profile: Profile, conversation_id: str
) -> Turn:
    """Return the turn of an input. `conversation_id` is the chat log's; the input's may be None or renamed."""
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
    request.turn = Turn(
        profile=profile,
        conversation_id=conversation_id,
        text=user_input.text,
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
        direct=parent is None,
        confirm_via=request.confirm_via,
        parent=parent,
        delegated=request.delegated_by is not None,
    )
    return request.turn


@callback
def area_of(hass: HomeAssistant, device_id: str | None, satellite_id: str | None) -> str | None:
    """Return the area of whoever asks: the satellite's own, else its device's."""
    if satellite_id and (entry := er.async_get(hass).async_get(satellite_id)):
        if entry.area_id:
            return entry.area_id
        device_id = entry.device_id
    if device_id and (device := dr.async_get(hass).async_get(device_id)):
        return dr.async_get_effective_area_id(hass, device)
    return None


_ZONES: dict[str, ZoneInfo | None] = {}
"""Those that were asked for, None where there is none of that name: reading one goes by way of a thread each time, which costs a turn a millisecond."""


async def async_zone(hass: HomeAssistant, wanted: str, agent: str = "") -> ZoneInfo:
    """Return the zone of a profile, else the home's, else UTC when neither is usable; what is none is logged once.

    `agent` is the name of the profile, for that; who asks first is whoever sets it up.
    """
    for name, whose, instead in (
        (wanted.strip(), f"the agent {agent}" if agent else "an agent", "the one of the home"),
        (hass.config.time_zone, "Home Assistant", "UTC"),
    ):
        if not name:
            continue
        if name not in _ZONES:
            try:
                _ZONES[name] = await dt_util.async_get_time_zone(name)
            except ValueError, OSError:  # a path is no name of a zone
                _ZONES[name] = None
            if _ZONES[name] is None:
                LOGGER.warning("There is no time zone %s, to which %s is set; %s is used", name, whose, instead)
        if (zone := _ZONES[name]) is not None:
            return zone
    return ZoneInfo("UTC")


def zone_of_turn() -> tzinfo:
    """Return the zone of the times that the model of the running turn reads and writes: the agent's own, else the home's."""
    turn = current_turn.get(None)
    return (turn and _ZONES.get(turn.profile.timezone.strip())) or dt_util.get_default_time_zone()
