"""Wishes by talking: a sentence that says when becomes a kept wish, or is answered with the part of it that is not understood.

Nothing of such a sentence is done at once. It is split into when and what (`languages/timing.py`); what is to be done is read by the
ordinary readers in a turn that only notes calls (`planning.py`), and clauses are looked up in the home (`clauses.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from homeassistant.components.conversation import UserContent
from homeassistant.helpers.intent import IntentResponseErrorCode
from homeassistant.util import dt as dt_util

from ..home.exposure import check_permission
from ..languages.data import data_of
from ..languages.ellipses import refers_back
from ..languages.later import later_in
from ..languages.phrases import is_question, is_remark
from ..languages.reminders import (
    Reminder,
    ReminderKind,
    direct,
    names_timer,
    naming,
    reminder_in,
    restated,
    without_then,
)
from ..languages.timing import Clause, SaidMoment, Timed, timed_in
from ..policy.confirmation import Call, NeedsConfirmation
from ..policy.intents import Recognised
from ..policy.questions import async_done
from ..policy.time_guard import put_off_before
from ..policy.wishing import MakeWish, check_asks, check_wish, registered
from ..policy.write import async_plan_of
from ..support.errors import ToolError
from ..support.localize import async_text
from ..support.text import words_of
from ..turn.turn import Answer, Understanding
from ..wishes.spoken import async_when
from ..wishes.when import SunEvent, Watch, When
from ..wishes.wish import Wish, WishKind
from .clauses import async_read_clause
from .intent_policy import has_timers
from .later import is_value_of, named_in
from .planning import Planned, async_does, async_plan, effects_of
from .refusals import explain_fields
from .returning import is_torn, steps_back
from .sentences import (
    Done,
    Note,
    NotForNow,
    NotMine,
    Refused,
    Result,
    Sentence,
    Stage,
    async_answer_of,
    error_response,
    message_number,
    speech_of,
    spoken,
)

SCRIPT = "script."
MAKES = "make_wish"
"""What the understanding of a sentence calls it that a wish came of it."""
_KINDS = {
    ReminderKind.REMINDER: WishKind.REMINDER,
    ReminderKind.WAKE: WishKind.WAKE,
    ReminderKind.TELL: WishKind.TELL,
    ReminderKind.TIMER: WishKind.TIMER,
}


_PROMISES = {
    WishKind.ACTION: "wish_made_action",
    WishKind.REMINDER: "wish_made_reminder",
    WishKind.WAKE: "wish_made_wake",
    WishKind.TELL: "wish_made_tell",
    WishKind.QUESTION: "wish_made_question",
    WishKind.TIMER: "wish_made_timer",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _What:
    """What a wish is for."""

    kind: WishKind
    words: str
    text: str = ""
    planned: Planned | None = None


class _NotUnderstood(Exception):
    """A reading of a sentence that makes no wish; the words that are not understood."""


async def answer_wish(sentence: Sentence) -> Result:
    """Make a wish of a sentence that is not for now; where that cannot be, no reader that would act now gets it."""
    turn, code = sentence.turn, sentence.language.code
    named = named_in(sentence)
    found = later_in(turn.text, code, named)
    if not found and _goes_on(sentence):
        return NotMine(put_off=NotForNow(follows=True))
    if not found or await is_value_of(sentence, searched=False):
        return NotMine()
    put_off = NotForNow()
    if is_question(turn.text, code) and reminder_in(turn.text, code) is None:
        return NotMine(put_off=put_off)
    for timed in timed_in(turn.text, code, dt_util.now(), named):
        if timed.forever or timed.unread:
            put_off = NotForNow(words=timed.forever or timed.unread, is_forever=bool(timed.forever))
            break
        try:
            result = await _async_from(sentence, timed)
        except _NotUnderstood as err:
            put_off = NotForNow(words=put_off.words or str(err))
            continue
        return result
    return NotMine() if await is_value_of(sentence, searched=True) else NotMine(put_off=put_off)


def _goes_on(sentence: Sentence) -> bool:
    """Return whether a sentence goes on from one that was for later: "also the bed light" is not for now either."""
    text, code = sentence.turn.text, sentence.language.code
    said = [content.content for content in sentence.chat_log.content if isinstance(content, UserContent)][:-1]
    if not said or not refers_back(text, code):
        return False
    named = named_in(sentence.saying(" ".join((*said, text))))
    return put_off_before(said, text, code, dt_util.now(), named) is not None


async def async_by_intent(sentence: Sentence, command: str, seconds: int) -> Result:
    """Make a wish of a command that one of Home Assistant's sentences leaves for a timer."""
    moment = SaidMoment(at=dt_util.now() + timedelta(seconds=seconds), seconds=seconds, words=sentence.turn.text)
    try:
        return await _async_from(sentence, Timed(rest=command, moment=moment, words=sentence.turn.text))
    except _NotUnderstood:
        return NotMine(put_off=NotForNow(words=sentence.turn.text))


async def async_wish_of(sentence: Sentence, timed: Timed) -> Wish:
    """Return the wish of one reading of a sentence, not made yet. Raises `ToolError` where it cannot wait or may not be done."""
    try:
        what, when = await _async_what(sentence, timed), await _async_when_of(sentence, timed)
    except _NotUnderstood as err:
        raise ToolError("local_not_for_later", when=str(err) or timed.words) from err
    if what.planned is not None and what.planned.refused is not None:
        raise what.planned.refused.error
    return _wish(sentence, what, when)


async def _async_from(sentence: Sentence, timed: Timed) -> Result:
    """Return what comes of one reading. Raises `_NotUnderstood`."""
    if not sentence.turn.profile.wishes:
        return await async_told(sentence, "local_not_for_later", when=timed.words)
    what = await _async_what(sentence, timed)
    what = await _async_with_then(sentence, timed, what)
    if what.planned is not None and (refused := what.planned.refused) is not None:
        return refused
    if what.planned is not None and await _async_is_argument(sentence, timed, what.planned):
        return NotMine(put_off=NotForNow())
    if what.planned is not None and (lacks := what.planned.lacks) is not None:
        said = await explain_fields(replace(sentence.saying(what.planned.text), earlier=(lacks,)))
        return said if isinstance(said, Done) and sentence.stage is Stage.NO_MODEL else NotMine(put_off=NotForNow())
    end = next((clause for clause in timed.clauses if clause.until), None)
    if what.kind is WishKind.ACTION and (timed.back is not None or end is not None):
        return await _async_for_a_while(sentence, timed, what)
    when = await _async_when_of(sentence, timed)
    wish = _wish(sentence, what, when)
    try:
        check_asks(sentence.hass, sentence.turn, what.planned.calls if what.planned is not None else ())
    except ToolError as err:
        return Refused(error=err, recognised=Recognised(name=MAKES, slots={}))
    return await async_made(sentence, [wish], await async_promise(sentence, wish))


async def _async_with_then(sentence: Sentence, timed: Timed, what: _What) -> _What:
    """Return what is to be done with what is said behind its end; that it ends is said by the end already.

    Raises `_NotUnderstood` where something else is to be done after that.
    """
    if not timed.then or what.planned is None:
        if timed.then:
            raise _NotUnderstood(timed.then)
        return what
    back = steps_back(sentence.hass, what.planned.calls)
    if await async_does(sentence, timed.then, back):
        return what
    if (await async_plan(sentence, timed.then)).is_known:
        raise _NotUnderstood(timed.then)
    joins = data_of(sentence.language.code).follow_ups.joins
    whole = await async_plan(sentence, f"{what.planned.text} {joins[0]} {timed.then}")
    if not whole.steps or any(item not in whole.targets for item in what.planned.targets):
        raise _NotUnderstood(timed.then)
    return replace(what, words=whole.text, planned=whole)


async def _async_is_argument(sentence: Sentence, timed: Timed, planned: Planned) -> bool:
    """Return whether a length is a value of a script of the owner's: "water the plants for nine minutes"."""
    runs = any(item.startswith(SCRIPT) for step in planned.steps for item in step.targets)
    if timed.back is None or not (runs or planned.lacks is not None):
        return False
    return bool((await async_plan(sentence, sentence.turn.text)).steps)


# What


async def _async_what(sentence: Sentence, timed: Timed) -> _What:
    """Return what is to be done or told. Raises `_NotUnderstood`."""
    code = sentence.language.code
    reminder = reminder_in(timed.rest, code)
    if reminder is not None and reminder.kind is ReminderKind.WAKE and timed.moment is None:
        planned = await _async_plan_of(sentence, timed)  # "turn on the alarm when all are gone" is none
        if planned.is_known:
            return _What(kind=WishKind.ACTION, words=timed.rest, planned=planned)
        if names_timer(timed.rest, code):
            raise _NotUnderstood(timed.rest)
    if reminder is not None:
        return await _async_told_what(sentence, timed, reminder)
    if not timed.rest.strip():
        raise _NotUnderstood(timed.words)
    planned = await _async_plan_of(sentence, timed)
    if not planned.is_known and (timed.back is not None or _end(timed) is not None):
        for text in restated(timed.rest, code):
            planned = await async_plan(sentence, text)
            if planned.is_known:
                break
    if not planned.is_known or is_torn(planned.calls):
        raise _NotUnderstood(timed.rest if timed.moment is not None else timed.words)
    return _What(kind=WishKind.ACTION, words=timed.rest, planned=planned)


async def _async_plan_of(sentence: Sentence, timed: Timed) -> Planned:
    """Return what is to be done; "it" is what a clause of the sentence is about."""
    text = without_then(timed.rest, sentence.language.code)
    planned = await async_plan(sentence, text)
    if not planned.is_known and text != timed.rest:
        planned = await async_plan(sentence, timed.rest)
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


async def _async_told_what(sentence: Sentence, timed: Timed, reminder: Reminder) -> _What:
    """Return what is to be told, woken or timed."""
    turn, kind, text, code = sentence.turn, _KINDS[reminder.kind], reminder.text, sentence.language.code
    if reminder.left and not (is_remark(reminder.left, code) and await _async_is_nothing(sentence, reminder.left)):
        raise _NotUnderstood(reminder.left)  # "lock the door and", "don't"
    if kind is WishKind.TIMER and has_timers(sentence.hass, turn):
        raise _NotUnderstood(timed.words)
    if kind is WishKind.TELL and text and not reminder.is_said and timed.moment is not None:
        for asked in direct(text, code):
            if sentence.stage is not Stage.NO_MODEL or (await async_plan(sentence, asked)).is_answer:
                return _What(kind=WishKind.QUESTION, words=timed.rest, text=asked)
        raise _NotUnderstood(text)
    if kind is WishKind.TELL and not text:
        text = ", ".join(clause.text for clause in timed.clauses)
        if not text:
            raise _NotUnderstood(timed.rest)
    if kind is WishKind.TELL and text and timed.moment is not None and not timed.clauses:
        kind = WishKind.REMINDER
    if kind is WishKind.REMINDER and not text:
        text = ", ".join(clause.text for clause in timed.clauses)
        if not text:
            raise _NotUnderstood(timed.rest)
    return _What(kind=kind, words=timed.rest, text=text)


async def _async_is_nothing(sentence: Sentence, text: str) -> bool:
    """Return whether nothing is wanted by a text: "I'm having a nap"."""
    planned = await async_plan(sentence, text)
    return not planned.is_known and planned.refused is None


# When


def _end(timed: Timed) -> Clause | None:
    return next((clause for clause in timed.clauses if clause.until), None)


async def _async_when_of(sentence: Sentence, timed: Timed) -> When:
    """Return when a reading is due, with its conditions. Raises `_NotUnderstood` with the clause that is not understood."""
    moment = timed.moment or (timed.back if timed.back is not None and timed.back.seconds else None)
    clauses = [clause for clause in timed.clauses if not clause.until]
    event: Watch | None = None
    delay = 0
    conditions: list[Watch] = []
    words: list[str] = []
    for clause in clauses:
        is_event = timed.moment is None and event is None and not clause.negated and not _follows_event(clause, clauses)
        if clause.delay and not is_event:
            raise _NotUnderstood(clause.words)
        watch = await _async_watch(sentence, clause, is_event=is_event)
        words.append(_within(sentence, clause.words))
        if is_event:
            event, delay = watch, clause.delay
        else:
            conditions.append(watch)
    if event is not None:
        return When(event=event, delay=delay, conditions=tuple(conditions), words=_within(sentence, timed.words))
    if moment is None or (moment.sun and any(not (clause.is_if or clause.negated) for clause in clauses)):
        raise _NotUnderstood(timed.words)  # of two things that happen, it is not known which is waited for
    when = _at(sentence, moment)
    return replace(when, conditions=tuple(conditions), words=", ".join(words) if words else when.words)


def _within(sentence: Sentence, words: str) -> str:
    """Return words as they stand within a sentence: without the capital letter of its first word."""
    is_first = sentence.turn.text.strip().startswith(words.split(maxsplit=1)[0]) if words else False
    return words[:1].lower() + words[1:] if is_first and len(words_of(words)) > 1 else words


def _follows_event(clause: Clause, clauses: Sequence[Clause]) -> bool:
    """Return whether a condition stands beside something that happens: "when Anna arrives, if it is dark"."""
    return clause.is_if and any(not other.is_if for other in clauses)


async def _async_watch(sentence: Sentence, clause: Clause, *, is_event: bool) -> Watch:
    read = await async_read_clause(sentence, clause.text, is_event=is_event)
    if read is None:
        raise _NotUnderstood(clause.words)
    return replace(read.watch, negated=read.watch.negated is not clause.negated)


def _at(sentence: Sentence, moment: SaidMoment) -> When:
    """Return when a moment is."""
    if not moment.sun:
        return When(at=dt_util.as_utc(moment.at), wall=moment.wall, words=moment.words)
    when = When(sun=SunEvent(moment.sun), offset=moment.offset, words=_within(sentence, moment.words))
    after = max(dt_util.as_utc(moment.at), dt_util.utcnow())
    return when.settled(sentence.hass, after, dt_util.get_default_time_zone())


# Making


def _wish(sentence: Sentence, what: _What, when: When, *, ends: bool = False) -> Wish:
    planned = what.planned
    wish = new_wish(sentence, what.kind, what.words, what.text, when)
    if planned is None:
        return wish
    wish = replace(wish, steps=planned.steps, asks=planned.asks, ends=ends)
    return replace(wish, registered=registered(sentence.hass, wish))


def new_wish(sentence: Sentence, kind: WishKind, words: str, text: str, when: When) -> Wish:
    """Return a wish of who speaks, without steps."""
    wish = Wish.of(sentence.turn, kind, when, words, text, message=message_number(sentence.chat_log))
    return replace(wish, registered=registered(sentence.hass, wish))


async def async_made(sentence: Sentence, wishes: Sequence[Wish], said: str) -> Result:
    """Make wishes, and say so; or why not."""
    hass, turn, policy = sentence.hass, sentence.turn, sentence.means.policy
    recognised = Recognised(name=MAKES, slots={})
    targets = tuple(item for wish in wishes for item in wish.entity_ids)
    note = Note(understanding=Understanding(intents=(MAKES,), targets=targets, score=1.0))
    for wish in wishes:
        try:
            check_wish(hass, turn, wish)
        except ToolError as err:
            return Refused(error=err, recognised=recognised, note=note)
        result = await policy.async_call_by_code(turn, MakeWish(wish), {}, sentence.chat_log, known=False)
        if result is None:
            return Refused(error=NeedsConfirmation(), recognised=recognised, note=note)
        if result.error:
            return await async_told(sentence, "confirm_failed")
    return Done(said=spoken(turn, said), note=note)


async def _async_for_a_while(sentence: Sentence, timed: Timed, what: _What) -> Result:
    """Do something now, or at its time, and wish for its end. Raises `_NotUnderstood`."""
    hass, turn, planned = sentence.hass, sentence.turn, what.planned
    assert planned is not None
    back = steps_back(hass, planned.calls) if not any(step.command for step in planned.steps) else ()
    if not back:
        raise _NotUnderstood(timed.words)
    end = await _async_end_of(sentence, timed)
    ended = replace(what, planned=Planned(text=planned.text, steps=back))
    ended = replace(ended, words=await async_done(hass, turn.language, effects_of(back)))
    wish = _wish(sentence, ended, end, ends=True)
    try:
        ending = await _async_ending(sentence, wish)
        wish = replace(wish, asks=check_asks(hass, turn, [ending]))
        is_later = timed.moment is not None or any(not clause.until for clause in timed.clauses)
        check_asks(hass, turn, planned.calls if is_later else ())
        check_wish(hass, turn, wish)
    except ToolError as err:
        return Refused(error=err, recognised=Recognised(name=MAKES, slots={}))
    promise = await _async_end_promise(sentence, wish)
    if is_later:
        begun = _wish(sentence, what, await _async_when_of(sentence, replace(timed, back=None)))
        if timed.back is not None and timed.back.seconds and begun.when.at is not None:
            at = begun.when.at + timedelta(seconds=timed.back.seconds)
            wish = replace(wish, when=replace(end, at=at, wall=""))
            promise = await _async_end_promise(sentence, wish)
        elif begun.when.at is None and timed.back is not None and timed.back.seconds:
            raise _NotUnderstood(timed.back.words)
        elif begun.when.at is not None and wish.when.at is not None and wish.when.at <= begun.when.at:
            raise _NotUnderstood(timed.words)  # it would end before it begins
        return await async_made(sentence, [begun, wish], f"{await async_promise(sentence, begun)} {promise}")
    done = (await async_answer_of(sentence.saying(planned.text), lambda reader: reader.plans)).result
    if isinstance(done, Refused) and isinstance(done.error, NeedsConfirmation):
        tool = MakeWish(wish)
        sentence.means.policy.confirmations.add(
            turn, Call(tool=tool, arguments={}, plan=await tool.plan(hass, {}, turn))
        )
        return done
    if not isinstance(done, Done) or done.has_failed:
        return done if isinstance(done, Done | Refused) else NotMine(put_off=NotForNow(words=timed.words))
    made = await async_made(sentence, [wish], promise)
    if not isinstance(made, Done):
        return made
    first = done.said.text if isinstance(done.said, Answer) else speech_of(done.said)
    response = done.said.response if isinstance(done.said, Answer) and done.said.response else done.said
    said = f"{first.rstrip(' .')}. {promise}" if first else promise
    if isinstance(response, Answer):
        return Done(said=replace(response, text=said), note=done.note)
    response.async_set_speech(said)
    return Done(said=response, note=done.note)


async def _async_ending(sentence: Sentence, wish: Wish) -> Call:
    """Return what a wish does as a call that was judged as if it were made now. Raises `ToolError` for what may not be done."""
    plan = await async_plan_of(sentence.hass, effects_of(wish.steps))
    check_permission(sentence.hass, sentence.turn.user, plan)
    return Call(
        tool=MakeWish(wish), arguments={}, plan=plan, why=sentence.means.policy.decide(sentence.turn, None, plan).why
    )


async def _async_end_of(sentence: Sentence, timed: Timed) -> When:
    """Return when what is done for a while ends."""
    if timed.back is not None:
        return _at(sentence, timed.back)
    clause = _end(timed)
    assert clause is not None
    watch = await _async_watch(sentence, clause, is_event=True)
    return When(event=watch, delay=clause.delay, words=_within(sentence, clause.words))


# Words


async def async_promise(sentence: Sentence, wish: Wish) -> str:
    """Return what and when it will be, as it was understood."""
    hass, language = sentence.hass, sentence.turn.language
    when = await async_when(hass, language, wish.when)
    key, what = _PROMISES[wish.kind], wish.text
    if wish.kind is WishKind.ACTION:
        effects = effects_of(wish.steps)
        what = await async_done(hass, language, effects) if effects else wish.words
    if wish.kind is WishKind.TIMER and wish.text:
        key, what = "wish_made_timer_named", f"“{wish.text}”"
    said = await async_text(hass, language, key, when=when, what=what)
    if wish.asks:
        said = f"{said} {await async_text(hass, language, 'planned_asks')}"
    return said


async def _async_end_promise(sentence: Sentence, wish: Wish) -> str:
    hass, language = sentence.hass, sentence.turn.language
    when, effects = await async_when(hass, language, wish.when), effects_of(wish.steps)
    what = await async_done(hass, language, effects)
    said = await async_text(hass, language, "wish_made_end", when=when, what=what)
    return f"{said} {await async_text(hass, language, 'planned_asks')}" if wish.asks else said


async def async_told(sentence: Sentence, key: str, **placeholders: str) -> Done:
    """Return why nothing was done."""
    text = await async_text(sentence.hass, sentence.turn.language, key, **placeholders)
    return Done(said=error_response(sentence.turn, IntentResponseErrorCode.FAILED_TO_HANDLE, text))
