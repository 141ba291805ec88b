"""What a wish is for, as a sentence without its times says it: something to do, to tell or to ask."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..home.wording import MAX_NAMES, async_more
from ..languages.data import data_of
from ..languages.later import later_in
from ..languages.phrases import begins_otherwise, is_remark, is_request
from ..languages.reasons import tells
from ..languages.reminders import (
    Reminder,
    ReminderKind,
    direct,
    names_timer,
    naming,
    ordered,
    reminder_in,
    restated,
    without_then,
)
from ..languages.timing import Timed
from ..support.text import words_of
from ..wishes.wish import WishKind
from .clauses import async_read_clause
from .intent_policy import has_timers
from .planning import Planned, async_does, async_plan
from .returning import is_torn, steps_back
from .sentences import Sentence, Stage
from .when_due import SEVERAL, NotUnderstood, end_of

_SIGNS = " ,;:.!–—-"
_SIGNED = frozenset(",;:.!–—")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wished:
    """What a wish is for."""

    kind: WishKind
    words: str
    text: str = ""
    planned: Planned | None = None
    is_kept: bool = False
    """Whether something is to stay as it may be: "leave the lamp on for ten minutes"."""
    is_whether: bool = False
    """Whether the clauses of the sentence are what is asked: "tell me at ten if the window is open"."""


_KINDS = {
    ReminderKind.REMINDER: WishKind.REMINDER,
    ReminderKind.WAKE: WishKind.WAKE,
    ReminderKind.TELL: WishKind.TELL,
    ReminderKind.TIMER: WishKind.TIMER,
}


async def async_wished(sentence: Sentence, timed: Timed) -> Wished:
    """Return what is to be done or told. Raises `NotUnderstood`."""
    code = sentence.language.code
    reminder = reminder_in(timed.rest, code)
    is_timer = reminder is not None and reminder.kind is ReminderKind.TIMER
    is_awaited = timed.moment is None and not (is_timer and timed.back is not None)  # "time the rice for ten minutes"
    if reminder is not None and is_awaited and (is_timer or reminder.kind is ReminderKind.WAKE):
        planned = await _async_plan_of(sentence, timed)  # "turn on the alarm when all are gone" is none
        if planned.is_known:
            return Wished(kind=WishKind.ACTION, words=timed.rest, planned=planned)
        if is_timer or names_timer(timed.rest, code):
            raise NotUnderstood(timed.rest)
    if reminder is not None:
        return await _async_told_what(sentence, timed, reminder)
    if not timed.rest.strip():
        raise NotUnderstood(timed.words)
    planned, is_kept = await _async_plan_of(sentence, timed), False
    if not planned.is_known and (timed.back is not None or end_of(timed) is not None):
        for text in restated(timed.rest, code):
            planned = await async_plan(sentence, text)
            if is_kept := planned.is_known:
                break
    if planned.candidates and not planned.is_known:
        raise NotUnderstood(await _async_names(sentence, planned.candidates), SEVERAL)
    if not planned.is_known or is_torn(planned.calls):
        raise NotUnderstood(timed.rest)
    return Wished(kind=WishKind.ACTION, words=timed.rest, planned=planned, is_kept=is_kept)


async def _async_names(sentence: Sentence, entity_ids: Sequence[str]) -> str:
    """Return the names of things that may be meant alike."""
    names = [known.names[0] for item in entity_ids if (known := sentence.home.entities.get(item)) is not None]
    return await async_more(sentence.hass, sentence.turn.language, names[:MAX_NAMES], len(names))


async def _async_plan_of(sentence: Sentence, timed: Timed) -> Planned:
    """Return what is to be done; "it" is what a clause of the sentence is about."""
    text = without_then(timed.rest, sentence.language.code)
    planned = await async_plan(sentence, text)
    if not planned.is_known and text != timed.rest:
        planned = await async_plan(sentence, timed.rest)
    if not planned.steps and planned.refused is None and not _asks(sentence):
        for said in ordered(text, sentence.language.code):
            if (known := await async_plan(sentence, said)).is_known:
                return known
    if planned.is_known or not timed.clauses:
        return planned
    read = await async_read_clause(sentence, timed.clauses[0].text, is_event=timed.moment is None)
    if read is None:
        return planned
    state = sentence.hass.states.get(read.watch.entity_ids[0]) if len(read.watch.entity_ids) == 1 else None
    for said in naming(text, state.name, sentence.language.code) if state is not None else ():
        if (named := await async_plan(sentence, said)).steps:
            return named
    return planned


def _asks(sentence: Sentence) -> bool:
    """Return whether a sentence begins as a question that is no request: "should it go off at ten"; not "um zehn soll es ausgehen"."""
    text, code = sentence.turn.text, sentence.language.code
    return begins_otherwise(text, code) and not is_request(text, code)


async def _async_told_what(sentence: Sentence, timed: Timed, reminder: Reminder) -> Wished:
    """Return what is to be told, woken or timed."""
    turn, kind, text = sentence.turn, _KINDS[reminder.kind], reminder.text
    if reminder.left and not await _async_is_aside(sentence, reminder.left, timed.rest):
        raise NotUnderstood(reminder.left)  # "lock the door and", "don't"
    is_length = kind is WishKind.TIMER and timed.moment is None and timed.back is not None and timed.back.seconds
    if timed.back is not None and not is_length:
        raise NotUnderstood(timed.back.words)  # what is told has no end
    if kind is WishKind.TIMER and has_timers(sentence.hass, turn):
        raise NotUnderstood(timed.words)
    if kind is WishKind.TELL and (asked := await _async_asked(sentence, timed, reminder)) is not None:
        return asked
    if not text and kind in (WishKind.TELL, WishKind.REMINDER):
        text = ", ".join(clause.text for clause in timed.clauses)
        if not text and timed.moment is not None and timed.moment.sun:
            text = timed.moment.words  # "tell me when the sun sets"
        if not text and timed.moment is None:
            raise NotUnderstood(timed.rest)
        kind = kind if text else WishKind.REMINDER  # "remind me at nine"
    if kind is WishKind.TELL and timed.moment is not None and not timed.clauses and reminder.text:
        kind = WishKind.REMINDER
    return Wished(kind=kind, words=timed.rest, text=text)


async def _async_asked(sentence: Sentence, timed: Timed, reminder: Reminder) -> Wished | None:
    """Return a question that is to be answered at a moment, None where nothing is asked. Raises `NotUnderstood`."""
    if reminder.is_said or timed.moment is None:
        return None
    if not reminder.text:
        asked = await _async_whether(sentence, timed)
        return Wished(kind=WishKind.QUESTION, words=timed.rest, text=asked, is_whether=True) if asked else None
    for asked in direct(reminder.text, sentence.language.code):
        if sentence.stage is not Stage.NO_MODEL or (await async_plan(sentence, asked)).is_answer:
            return Wished(kind=WishKind.QUESTION, words=timed.rest, text=asked)
    raise NotUnderstood(reminder.text)


async def _async_whether(sentence: Sentence, timed: Timed) -> str:
    """Return the question that is to be answered at a moment: "tell me at ten if the window is open"; empty for a condition.

    A condition stands in front of "tell me", or says that something is still so.
    """
    text, code = sentence.turn.text, sentence.language.code
    if timed.moment is None or timed.moment.sun or len(timed.clauses) != 1 or timed.daylight is not None:
        return ""
    [clause] = timed.clauses
    is_behind = text.find(clause.words) > text.find(timed.rest.split(maxsplit=1)[0])
    still = {word for phrase in data_of(code).still for word in words_of(phrase)}
    if not is_behind or not clause.is_if or clause.negated or not still.isdisjoint(words_of(clause.text)):
        return ""
    for asked in direct(clause.words, code):
        if (await async_plan(sentence, asked)).is_answer:
            return asked
    return ""


async def _async_is_aside(sentence: Sentence, left: str, rest: str) -> bool:
    """Return whether words in front of a reminder only tell something, and no time stands among them.

    A time between them and the reminder may be of either, without a sign in front of it: "I leave at eight wake me".
    """
    text, code = sentence.turn.text, sentence.language.code
    said, last, follows = (
        text.casefold(),
        left.casefold().split()[-1],
        rest.casefold().removeprefix(left.casefold()).split(),
    )
    behind = said.find(last) + len(last)
    at = said.find(follows[0].strip(_SIGNS), behind) if follows else len(text)
    for one in later_in(text, code):
        if one.begin < at and (one.begin < behind or _SIGNED.isdisjoint(text[behind : one.begin])):
            return False
    return (is_remark(left, code) or tells(left, code)) and await async_is_nothing(sentence, left)


async def async_is_nothing(sentence: Sentence, text: str) -> bool:
    """Return whether nothing is wanted by a text: "I'm having a nap"."""
    planned = await async_plan(sentence, text)
    return not planned.is_known and planned.refused is None


async def async_with_then(sentence: Sentence, timed: Timed, what: Wished) -> Wished:
    """Return what is to be done with what is said behind its end; that it ends is said by the end already.

    Raises `NotUnderstood` where something else is to be done after that.
    """
    if not timed.then or what.planned is None:
        if timed.then:
            raise NotUnderstood(timed.then)
        return what
    back = steps_back(sentence.hass, what.planned.calls)
    if await async_does(sentence, timed.then, back):
        return what
    if (await async_plan(sentence, timed.then)).is_known:
        raise NotUnderstood(timed.then)
    joins = data_of(sentence.language.code).follow_ups.joins
    whole = await async_plan(sentence, f"{what.planned.text} {joins[0]} {timed.then}")
    if not whole.steps or any(item not in whole.targets for item in what.planned.targets):
        raise NotUnderstood(timed.then)
    return replace(what, words=whole.text, planned=whole)
