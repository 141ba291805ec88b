"""The owner's yes to a sensitive action: what was asked, of whom, until when, and whether an answer is theirs.

A question is bound to user (or device), conversation, profile, tool, arguments and the plan they came to. It is answered by
a person's words, matched by code; nothing that a model says or passes as an argument is an answer. Kept in memory only.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NoReturn, override

from homeassistant.auth.models import User
from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from .. import events
from ..const import LOGGER
from ..errors import ToolError
from ..turn import Turn
from .pins import Pins
from .plan import Plan
from .tool import HomeAgentTool

TIMEOUT = 120  # seconds to answer, unless the owner set another time
DELEGATION_TIMEOUT = 60
DELEGATE = "delegate"
TRIES = 3  # wrong PINs until the question is dropped
REMEMBERED = timedelta(minutes=10)  # how long a late answer is told that it is late
MAX_OPEN = 50

ASKED = "The user is now being asked to confirm this. Nothing was done yet; calling again changes nothing."
NOBODY = "This needs a confirmation, and nobody here can confirm. Nothing was done; do not try again."

type Place = tuple[str, str]
"""Conversation id and profile."""


class NeedsConfirmation(ToolError):
    """The action waits for an answer."""

    key = "confirmation_asked"

    @override
    def __str__(self) -> str:
        """Return the sentence for the model."""
        return ASKED


class NobodyConfirms(ToolError):
    """The action needs an answer, and there is nobody to ask."""

    key = "confirmation_nobody"

    @override
    def __str__(self) -> str:
        """Return the sentence for the model."""
        return NOBODY


class Outcome(StrEnum):
    """How a question ended."""

    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    """By other words, a newer question, wrong PINs, or because Home Agent was unloaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that waits."""

    tool: HomeAgentTool
    arguments: dict[str, Any]
    """As the model wrote them; they are planned again when the answer comes."""
    plan: Plan
    """What was asked about: the new plan has to equal it."""
    why: tuple[str, ...] = ()
    """Why it is asked about, besides what it does: a list of the owner's, words from outside."""
    place: int = 0
    """Which call of its turn it was; calls of one message are planned side by side, but asked and made in their order."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """What it does that needs a yes."""
        return self.plan.reasons or (self.plan.reason or "destructive",)


@dataclass(slots=True, kw_only=True)
class Request:
    """One question, for everything that one turn wanted to do."""

    id: str
    turn: Turn
    """Who asked for it, from where, in which language."""
    calls: list[Call] = field(default_factory=list)
    question: str = ""
    """As it was put; empty until then, and until then nobody can answer it."""
    expires: datetime = field(default_factory=dt_util.utcnow)
    tries_left: int = TRIES
    deciders: frozenset[str] = frozenset()
    """Users who may answer though they did not ask: the owners of the phones that an automation named."""
    told_late: bool = False
    """Somebody has answered too late and was told so."""
    stop_timer: CALLBACK_TYPE | None = None

    @property
    def place(self) -> Place:
        """Where it was asked."""
        return (self.turn.conversation_id, self.turn.profile.subentry_id)

    @property
    def asked(self) -> tuple[str | None, ...]:
        """Whose yes it waits for: a user, else a device."""
        turn = self.turn
        return (turn.context.user_id,) if turn.context.user_id else (turn.device_id, turn.satellite_id)

    @property
    def seconds(self) -> int | None:
        """How long it stands; None: as long as the owner set."""
        return DELEGATION_TIMEOUT if any(DELEGATE in call.reasons for call in self.calls) else None

    def is_of(self, turn: Turn) -> bool:
        """Return whether the words of a turn are those of whoever was asked."""
        asked = self.turn
        if not turn.direct or turn.context.user_id != asked.context.user_id:
            return False
        if asked.context.user_id is not None:
            return True
        device = (asked.device_id, asked.satellite_id)
        return any(device) and device == (turn.device_id, turn.satellite_id)

    def is_decided_by(self, user: User) -> bool:
        """Return whether a user may answer from elsewhere: who asked, or an administrator."""
        return user.is_active and (user.is_admin or user.id in {self.turn.context.user_id, *self.deciders})


type Listener = Callable[[Request, Outcome], None]


class Confirmations:
    """All open questions of the entry."""

    def __init__(self, hass: HomeAssistant, timeout: int = TIMEOUT, pins: dict[str, str] | None = None) -> None:
        """Take seconds to answer, and PINs by what they guard (`unlock`, `open_door`, ...)."""
        self._hass = hass
        self._timeout = timeout
        self.pins = Pins(pins)
        self._requests: dict[str, Request] = {}
        self._late: dict[Place, tuple[Request, datetime]] = {}
        self._listeners: list[Listener] = []

    @callback
    def async_listen(self, listener: Listener) -> None:
        """Have a listener told of every question that ends."""
        self._listeners.append(listener)

    @callback
    def require(self, turn: Turn, call: Call) -> NoReturn:
        """Note a call for the question that the turn will end with, and raise; `NobodyConfirms` if it cannot be put."""
        if not turn.answerable:
            raise NobodyConfirms(target=call.plan.subject or ", ".join(call.plan.targets) or call.tool.name)
        self.add(turn, call)
        raise NeedsConfirmation

    @callback
    def add(self, turn: Turn, call: Call) -> None:
        """Note a call without raising; each call is noted once."""
        if turn.request_id is None:
            turn.request_id = ulid_now()
            self._requests[turn.request_id] = Request(id=turn.request_id, turn=turn)
        request = self._requests[turn.request_id]
        if all((call.tool.name, call.plan) != (other.tool.name, other.plan) for other in request.calls):
            request.calls.append(call)
            request.calls.sort(key=lambda waiting: waiting.place)

    def of(self, turn: Turn) -> Request | None:
        """Return the question that a turn has to ask."""
        return self._requests.get(turn.request_id) if turn.request_id else None

    def get(self, request_id: str) -> Request | None:
        """Return an open question that was put."""
        request = self._requests.get(request_id)
        return request if request is not None and self._is_open(request) else None

    def at(self, place: Place) -> Request | None:
        """Return the open question of a conversation."""
        return next((item for item in [*self._requests.values()] if item.place == place and self._is_open(item)), None)

    @callback
    def put(self, request: Request, question: str) -> None:
        """Let a question be answered from now on, until it expires. It replaces an older one of its conversation."""
        if older := self.at(request.place):
            self.end(older, Outcome.CANCELLED)
        while len(self._requests) > MAX_OPEN:
            self.end(next(iter(self._requests.values())), Outcome.CANCELLED)
        self._late.pop(request.place, None)
        seconds = request.seconds or self._timeout
        request.question = question
        request.expires = dt_util.utcnow() + timedelta(seconds=seconds)

        @callback
        def expire(_now: datetime) -> None:
            request.stop_timer = None
            self.end(request, Outcome.EXPIRED)

        request.stop_timer = async_call_later(self._hass, seconds, HassJob(expire, cancel_on_shutdown=True))
        names = sorted({call.tool.name for call in request.calls})
        events.async_confirmation_requested(self._hass, request.turn, request.id, names, request.expires)

    @callback
    def drop(self, turn: Turn) -> None:
        """Forget a question that its turn did not come to ask."""
        request = self.of(turn)
        if request is not None and not request.question:
            del self._requests[request.id]
            turn.request_id = None

    @callback
    def end(self, request: Request, outcome: Outcome, user_id: str | None = None) -> bool:
        """Take a question away and tell how it ended; false when it had ended before, so that nothing runs twice."""
        if self._requests.pop(request.id, None) is None:
            return False
        if request.stop_timer is not None:
            request.stop_timer()
            request.stop_timer = None
        if not request.question:
            return True
        if outcome is Outcome.EXPIRED or request.tries_left <= 0:  # whatever digits come next are one more try
            self._late[request.place] = (request, dt_util.utcnow() + REMEMBERED)
        events.async_confirmation_resolved(self._hass, request.turn, request.id, outcome.value, user_id)
        for listener in self._listeners:
            listener(request, outcome)
        return True

    @callback
    def async_end_all(self) -> None:
        """Cancel everything."""
        for request in list(self._requests.values()):
            self.end(request, Outcome.CANCELLED)
        self._late.clear()

    @callback
    def late_at(self, place: Place) -> Request | None:
        """Return the question of a conversation that ended unanswered a short while ago."""
        now = dt_util.utcnow()
        self._late = {where: late for where, late in self._late.items() if late[1] > now}
        late = self._late.get(place)
        return late[0] if late else None

    @callback
    def forget_late(self, request: Request) -> None:
        """Let a late answer be new words from now on; one that was to come with a PIN is remembered for its digits."""
        request.told_late = True
        if not self.pin_for(request):
            self._late.pop(request.place, None)

    def pin_for(self, request: Request) -> str:
        """Return what has to be said with the yes: the PINs of all that is asked for, one after the other."""
        return self.pins.needed(reason for call in request.calls for reason in call.reasons)

    @callback
    def accepts_pin(self, request: Request, given: str) -> bool:
        """Return whether a PIN is right; the last wrong one ends the question."""
        if self.pins.accepts(request.asked, self.pin_for(request), given):
            return True
        request.tries_left -= 1
        if self.locks_out(request):
            LOGGER.warning("Too many wrong PINs in conversations with %s", request.turn.profile.name)
            request.tries_left = 0
        if request.tries_left <= 0:
            self.end(request, Outcome.CANCELLED)
        return False

    def locks_out(self, request: Request) -> bool:
        """Return whether whoever asked got too many PINs wrong lately; no PIN is right then."""
        return self.pins.locks_out(request.asked)

    def _is_open(self, request: Request) -> bool:
        if request.question and dt_util.utcnow() >= request.expires:
            self.end(request, Outcome.EXPIRED)
        return bool(request.question) and request.id in self._requests
