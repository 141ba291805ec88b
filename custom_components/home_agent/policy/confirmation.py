"""The user's yes to a sensitive action: what was asked, of whom, until when, whose answer counts, and what it leads to.

A confirmation is bound to user (or device), conversation, profile, tool, arguments and the plan they came to. It is answered
by a person's words, matched by code; nothing that a model says or passes as an argument is an answer. Kept in memory only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NoReturn, override

from homeassistant.auth.models import User
from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.ulid import ulid_now

from ..languages.digits import MASK, mask_digits
from ..languages.phrases import ReplyKind, SpokenReply, read_answer, says_more
from ..settings.profile import Profile
from ..support.bounds import without_surplus
from ..support.const import DOMAIN, LOGGER
from ..support.errors import ToolError
from ..turn import events
from ..turn.plan import DESTRUCTIVE, DISARM, OPEN_DOOR, OPEN_VALVE, UNLOCK, Plan
from ..turn.turn import Turn
from .pins import Pins
from .tool import HomeAgentTool

TIMEOUT = 120  # seconds to answer, unless the owner set another time
TRIES = 3  # wrong PINs until the confirmation is dropped
REMEMBERED = timedelta(minutes=10)  # how long a late answer is told that it is late
MAX_OPEN = 50  # questions; of more, the oldest of the owner with the most is dropped
MIN_DIGITS = 4  # a PIN's least length; shorter runs of digits in other words are no attempt at one

ASKED = "The user is now being asked to confirm this. Nothing was done yet; calling again changes nothing."
NOBODY = "This needs confirmation, but no one here can confirm it. Nothing was done; do not try again."

_ABOUT = {UNLOCK: "unlock", OPEN_DOOR: "open", OPEN_VALVE: "open", DISARM: "disarm"}

type ConversationPlace = tuple[str, str]
"""Conversation id and profile."""


class NeedsConfirmation(ToolError):
    """The action waits for an answer."""

    key = "confirmation_asked"

    @override
    def __str__(self) -> str:
        """Return the sentence for the model."""
        return ASKED


class LeftForLater(NeedsConfirmation):
    """The action was noted for a wish (`TurnRecord.planned`): it waits for a time, not for an answer."""

    key = "wish_unable"  # said only where a part of a sentence cannot wait


class NobodyConfirms(ToolError):
    """The action needs an answer, and there is no one to ask."""

    key = "confirmation_nobody"

    @override
    def __str__(self) -> str:
        """Return the sentence for the model."""
        return NOBODY


class AlreadySo(ToolError):
    """All of it is so already: nothing is to be asked, and nothing to be done."""

    key = "confirm_already"

    def __init__(self, plan: Plan) -> None:
        """Take the plan that comes to nothing."""
        super().__init__()
        self.plan = plan


class Resolution(StrEnum):
    """How a confirmation ended."""

    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    """By other words, a newer question, wrong PINs, or because Home Agent was unloaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that waits."""

    tool: HomeAgentTool
    arguments: dict[str, Any]  # as the model wrote them; they are planned again when the answer comes
    plan: Plan  # what was asked about: the new plan has to equal it
    why: tuple[str, ...] = ()
    """Why it is asked about, besides what it does: a list of the owner's, words from outside."""
    place: int = 0
    """Which call of its turn it was; calls of one message are planned side by side, but asked and made in their order."""
    turn: Turn | None = None  # the delegated turn that wants it; None: the one that asks

    @property
    def reasons(self) -> tuple[str, ...]:
        """What it does that needs a yes."""
        return self.plan.reasons or (DESTRUCTIVE,)


@dataclass(slots=True, kw_only=True)
class Confirmation:
    """One question, for everything that one turn wanted to do."""

    id: str
    turn: Turn
    calls: list[Call] = field(default_factory=list)
    question: str = ""  # as it was put; empty until then, and no answer counts before
    expires: datetime = field(default_factory=dt_util.utcnow)
    tries_left: int = TRIES
    deciders: frozenset[str] = frozenset()
    """Users who may answer though they did not ask: the owners of the phones that an automation named."""
    is_aloud: bool = False
    """It was said at the satellite of its turn, in no conversation that is known: what is said there next may answer it."""
    explained: bool = False  # the user has asked what this is about: that is answered once
    is_ended: bool = False  # Home Agent was set up anew, or its agent is gone: a later yes is told so
    is_gone: bool = False  # it was refused or dropped: a later yes is told that there is nothing to confirm
    told_late: bool = False  # a late answer has been told that it is late
    stop_timer: CALLBACK_TYPE | None = None

    @property
    def place(self) -> ConversationPlace:
        """Where it was asked."""
        return (self.turn.conversation_id, self.turn.profile.subentry_id)

    @property
    def asked(self) -> tuple[str | None, ...]:
        """Whose yes it waits for: a user, else a device."""
        turn = self.turn
        return (turn.context.user_id,) if turn.context.user_id else (turn.device_id, turn.satellite_id)

    def is_of(self, turn: Turn) -> bool:
        """Return whether the turn comes from the user or device that was asked."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationReply:
    """Words that answer a confirmation of their conversation."""

    confirmation: Confirmation
    answer: SpokenReply
    expired: bool = False


LATE: HassKey[dict[ConversationPlace, tuple[Confirmation, datetime]]] = HassKey(f"{DOMAIN}_late_answers")
"""What ended lately, also under an entry that was unloaded since: answers to it are told that they are late."""

type ResolutionListener = Callable[[Confirmation, Resolution], None]


class Confirmations:
    """The open confirmations of the entry."""

    def __init__(self, hass: HomeAssistant, timeout: int = TIMEOUT, pins: dict[str, str] | None = None) -> None:
        """Take seconds to answer, and PINs by what they guard (`unlock`, `open_door`, ...)."""
        self._hass = hass
        self._timeout = timeout
        self.pins = Pins(pins)
        self.waiting: dict[str, Confirmation] = {}
        self.late = hass.data.setdefault(LATE, {})
        self._listeners: list[ResolutionListener] = []
        self.is_closed = False  # whether the entry was unloaded: nothing that is asked can be answered any more

    @callback
    def async_use(self, timeout: int, pins: dict[str, str] | None) -> None:
        """Ask with these seconds from now on, and take these PINs, also for the questions that are open."""
        self._timeout = timeout
        self.pins = Pins(pins)

    @callback
    def async_follow(self, before: Mapping[str, Profile], now: Mapping[str, Profile]) -> None:
        """Have what agents asked that were changed judged by their settings of now, when the yes comes.

        Questions of removed agents end. So do those of a request that was handed on, if a changed agent took part or its limits
        came from another one: what they would be now is not known.
        """
        changed = {key for key, profile in before.items() if now.get(key) is not profile}
        for confirmation in [*self.waiting.values()] if changed else ():
            turn = confirmation.turn
            asked = [turn, *(one for call in confirmation.calls if call.turn for one in call.turn.lineage)]
            is_limited = any(one.profile is not before.get(one.profile.subentry_id) for one in asked)
            if not is_limited and changed.isdisjoint(one.profile.subentry_id for one in asked):
                continue
            key = turn.profile.subentry_id
            is_alone = not is_limited and {one.profile.subentry_id for one in asked} == {key}
            if is_alone and (profile := now.get(key)) is not None:
                confirmation.turn = replace(turn, profile=profile)
            else:
                confirmation.is_ended = True
                self.end(confirmation, Resolution.CANCELLED)

    @callback
    def async_listen(self, listener: ResolutionListener) -> None:
        """Have a listener told of every question that ends."""
        self._listeners.append(listener)

    @callback
    def require(self, turn: Turn, call: Call) -> NoReturn:
        """Note a call for the question at the end of the turn, and raise. Raises `NobodyConfirms` if there is no one to ask."""
        if not turn.answerable:
            raise NobodyConfirms(target=call.plan.subject or ", ".join(call.plan.targets) or call.tool.name)
        self.add(turn, call)
        raise NeedsConfirmation

    @callback
    def add(self, turn: Turn, call: Call) -> None:
        """Note a call without raising; each call is noted once. The outermost turn asks for what it delegated."""
        if turn.record.planned is not None:  # it is noted for a wish instead
            return
        asking = turn.lineage[-1]
        if asking.record.request_id not in self.waiting:
            asking.record.request_id = ulid_now()
            self.waiting[asking.record.request_id] = Confirmation(id=asking.record.request_id, turn=asking)
        for between in turn.lineage:
            between.record.request_id = asking.record.request_id
        if asking is not turn:
            call = replace(call, turn=turn)
        calls = self.waiting[str(asking.record.request_id)].calls
        if all((call.tool.name, call.plan) != (other.tool.name, other.plan) for other in calls):
            calls.append(call)
            calls.sort(key=lambda waiting: waiting.place)

    def of(self, turn: Turn) -> Confirmation | None:
        """Return what a turn has to ask for."""
        return self.waiting.get(turn.record.request_id) if turn.record.request_id else None

    def get(self, request_id: str) -> Confirmation | None:
        """Return an open question that was put."""
        confirmation = self.waiting.get(request_id)
        return confirmation if confirmation is not None and self._is_open(confirmation) else None

    def has_ended(self, request_id: str | None, user: User) -> bool:
        """Return whether a question that a user may answer, any without an id, was ended by a reload or a change."""
        now = dt_util.utcnow()
        return any(
            item.is_ended and until > now and request_id in (None, item.id) and item.is_decided_by(user)
            for item, until in self.late.values()
        )

    def open(self) -> list[Confirmation]:
        """Return all open questions that were put, oldest first."""
        return [item for item in [*self.waiting.values()] if self._is_open(item)]

    def at(self, place: ConversationPlace) -> Confirmation | None:
        """Return the open question of a conversation."""
        return next((item for item in [*self.waiting.values()] if item.place == place and self._is_open(item)), None)

    def others_at(self, confirmation: Confirmation) -> list[Confirmation]:
        """Return the other open questions whose answer may be heard at the satellite of one."""
        turn = confirmation.turn
        places = {turn.device_id, turn.satellite_id} - {None}
        return [
            item
            for item in self.open()
            if item is not confirmation and places & {item.turn.device_id, item.turn.satellite_id}
        ]

    def _aloud_to(self, turn: Turn) -> Confirmation | None:
        """Return the question that the satellite of a turn has asked, if what is said there can mean no other one."""
        found = [
            item
            for item in self.open()
            if item.is_aloud and item.is_of(turn) and item.turn.profile.subentry_id == turn.profile.subentry_id
        ]
        return found[0] if len(found) == 1 and not self.others_at(found[0]) else None

    def _is_open(self, confirmation: Confirmation) -> bool:
        if confirmation.question and dt_util.utcnow() >= confirmation.expires:
            self.end(confirmation, Resolution.EXPIRED)
        return bool(confirmation.question) and confirmation.id in self.waiting

    @callback
    def put(self, confirmation: Confirmation, question: str) -> None:
        """Let a question be answered from now on, until it expires. It replaces an older one of its conversation."""
        if older := self.at(confirmation.place):
            self.end(older, Resolution.CANCELLED)
        if len(self.waiting) > MAX_OPEN:
            waiting = [*self.waiting.values()]
            kept = {item.id for item in without_surplus(waiting, MAX_OPEN, lambda item: item.turn.owner, lambda _: 1)}
            for surplus in waiting:
                if surplus.id not in kept:
                    self.end(surplus, Resolution.CANCELLED)
        self.late.pop(confirmation.place, None)
        confirmation.question = question
        confirmation.expires = dt_util.utcnow() + timedelta(seconds=self._timeout)

        @callback
        def expire(_now: datetime) -> None:
            confirmation.stop_timer = None
            self.end(confirmation, Resolution.EXPIRED)

        job = HassJob(expire, cancel_on_shutdown=True)
        confirmation.stop_timer = async_call_later(self._hass, self._timeout, job)
        names = sorted({call.tool.name for call in confirmation.calls})
        events.async_confirmation_requested(self._hass, confirmation.turn, confirmation.id, names, confirmation.expires)

    @callback
    def drop(self, turn: Turn) -> None:
        """Forget what its turn did not come to ask for."""
        if (request_id := turn.record.request_id) in self.waiting and not self.waiting[request_id].question:
            del self.waiting[request_id]
            turn.record.request_id = None

    @callback
    def end(self, confirmation: Confirmation, resolution: Resolution, user_id: str | None = None) -> bool:
        """Take a question away and tell how it ended; false when it had ended before, so that nothing runs twice."""
        if self.waiting.pop(confirmation.id, None) is None:
            return False
        if confirmation.stop_timer is not None:
            confirmation.stop_timer()
            confirmation.stop_timer = None
        if not confirmation.question:
            return True
        is_late = resolution is Resolution.EXPIRED or confirmation.is_ended
        if is_late or confirmation.tries_left <= 0:  # digits that come next are one more try
            self.late[confirmation.place] = (confirmation, dt_util.utcnow() + REMEMBERED)
        elif resolution is Resolution.REJECTED or confirmation.explained:
            confirmation.is_gone = resolution is not Resolution.CONFIRMED
            if confirmation.is_gone:
                self.late[confirmation.place] = (confirmation, dt_util.utcnow() + REMEMBERED)
        turn = confirmation.turn
        events.async_confirmation_resolved(self._hass, turn, confirmation.id, resolution.value, user_id)
        for listener in self._listeners:
            listener(confirmation, resolution)
        return True

    @callback
    def async_end_all(self) -> None:
        """Cancel everything: the entry is unloaded. A yes that comes when it is loaded again is told that its question has ended."""
        self.is_closed = True
        for confirmation in list(self.waiting.values()):
            confirmation.is_ended = True
            self.end(confirmation, Resolution.CANCELLED)

    @callback
    def read(self, turn: Turn) -> tuple[Turn, ConfirmationReply | None]:
        """Return the turn without digits that could be a PIN, and the answer in its words. Other words cancel the question."""
        now = dt_util.utcnow()
        for where in [where for where, (_, until) in self.late.items() if until <= now]:
            del self.late[where]
        text, reply = self._reply_in(turn) if self.waiting or self.late else (turn.text, None)
        if self.pins.are_set:
            text = self.pins.conceal(text, turn.language)
        return turn if text == turn.text else replace(turn, text=text), reply

    def _reply_in(self, turn: Turn) -> tuple[str, ConfirmationReply | None]:
        """Return the text without digits that were said to a question, and the reply if it is one."""
        place, text = (turn.conversation_id, turn.profile.subentry_id), turn.text
        waiting = self.at(place) or self._aloud_to(turn)
        late = self.late[place][0] if waiting is None and place in self.late else None
        if (confirmation := waiting or late) is None:
            return text, None
        answer, with_pin = self._answer_in(text, turn.language, confirmation)
        asks_back = answer.kind in (ReplyKind.ASKS, ReplyKind.WAVERS)
        is_other = answer.kind is ReplyKind.OTHER or (asks_back and (late is not None or not confirmation.is_of(turn)))
        if late is not None and late.is_gone:
            self.late.pop(place, None)
            if answer.kind is not ReplyKind.YES or answer.digits:
                return mask_digits(text, turn.language, at_least=MIN_DIGITS) if with_pin else text, None
        if late is not None and late.told_late and len(answer.digits) < MIN_DIGITS:
            return text, None
        is_mine = confirmation.is_of(turn)
        if with_pin and answer.kind is ReplyKind.OTHER and not says_more(text, turn.language):
            if late is None and is_mine:  # a code in words that no table has: nothing else reads it
                return MASK, ConfirmationReply(confirmation=confirmation, answer=replace(answer, kind=ReplyKind.ASKS))
            is_other = not (answer.digits and late is not None and not late.told_late)
        if with_pin:
            text = mask_digits(text, turn.language, at_least=MIN_DIGITS if is_other else 1)
        if late is not None:
            late.told_late = True
            if not with_pin:  # one that was to come with a PIN is remembered for its digits
                self.late.pop(place, None)
        if not is_other:
            return text, ConfirmationReply(confirmation=confirmation, answer=answer, expired=late is not None)
        if late is None and answer.kind is ReplyKind.OTHER and is_mine and not confirmation.is_aloud:
            self.end(confirmation, Resolution.CANCELLED, turn.context.user_id)
        return text, None

    def _answer_in(self, text: str, language: str, confirmation: Confirmation) -> tuple[SpokenReply, bool]:
        """Return what a text answers to a question, and whether that wants a PIN."""
        about, name = self._one_thing(confirmation)
        with_pin = bool(self.pin_for(confirmation))
        return read_answer(text, language, with_pin=with_pin, about=about, name=name), with_pin

    @callback
    def is_answered(self, place: ConversationPlace, asked: tuple[str | None, ...], text: str, language: str) -> bool:
        """Return whether words in another conversation answer the question of this one. Other words of that user drop it."""
        waiting, late = self.at(place), self.late.get(place)
        confirmation = waiting or (late[0] if late is not None and late[1] > dt_util.utcnow() else None)
        if confirmation is None or confirmation.asked != asked or not any(asked):
            return False
        kind = self._answer_in(text, language, confirmation)[0].kind
        if waiting is None:
            return kind is ReplyKind.YES
        if kind is ReplyKind.OTHER:
            self.end(waiting, Resolution.CANCELLED, waiting.turn.context.user_id)
        return kind is not ReplyKind.OTHER

    def without_pin(self, text: str, language: str) -> str:
        """Return what was said without the digits that could be a PIN, by their number and not by their value."""
        if not self.pins.are_set:
            return text
        is_answer = bool(read_answer(text, language, with_pin=True).digits)
        return mask_digits(text, language, at_least=1 if is_answer else MIN_DIGITS)

    def _one_thing(self, confirmation: Confirmation) -> tuple[str, str]:
        """Return what a yes may repeat: what is done and the name of the entity; ("", "") if it is more than one thing."""
        reasons = {reason for call in confirmation.calls for reason in call.reasons}
        effects = [effect for call in confirmation.calls for effect in (*call.plan.effects, *call.plan.inside)]
        touched = {item for effect in effects for item in effect.entity_ids}
        are_entities = all(effect.subjects == effect.entity_ids for effect in effects)
        if len(reasons) != 1 or len(touched) != 1 or not are_entities:
            return "", ""
        state = self._hass.states.get(next(iter(touched)))
        return _ABOUT.get(next(iter(reasons)), ""), state.name if state is not None else ""

    def pin_for(self, confirmation: Confirmation) -> str:
        """Return what has to be said with the yes: the PINs of all that is asked for, one after the other."""
        return self.pins.needed(reason for call in confirmation.calls for reason in call.reasons)

    @callback
    def accepts_pin(self, confirmation: Confirmation, given: str) -> bool:
        """Return whether a PIN is right; the last wrong one ends the question."""
        if self.pins.accepts(confirmation.turn.context.user_id, self.pin_for(confirmation), given):
            return True
        confirmation.tries_left -= 1
        if self.locks_out(confirmation):
            LOGGER.warning("Too many wrong PINs in conversations with %s", confirmation.turn.profile.name)
            confirmation.tries_left = 0
        if confirmation.tries_left <= 0:
            self.end(confirmation, Resolution.CANCELLED)
        return False

    def locks_out(self, confirmation: Confirmation) -> bool:
        """Return whether the user who asked is locked out after too many wrong PINs."""
        return self.pins.locks_out(confirmation.turn.context.user_id)  # devices without a known user count as one
