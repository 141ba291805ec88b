"""Timers by talking where the device has none of Home Assistant's: they are wishes, set, asked about, changed and stopped.

What Home Assistant's own sentences say of timers is understood in all its languages; more is in the data of the language.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from homeassistant.helpers import intent
from homeassistant.util import dt as dt_util

from ..home.wording import async_more
from ..languages.changes import without
from ..languages.later import LaterKind, without_times
from ..languages.planning import (
    Planning,
    PlanningKind,
    apart_in,
    asked_in,
    delay_in,
    is_known_thing,
    kinds_in,
    names_all,
    names_running,
)
from ..languages.reminders import ReminderKind, names_timer, reminder_in, timer_name
from ..languages.said_moments import SaidMoment, moment_in
from ..policy.intents import COMMAND, TIMERS
from ..support.localize import async_text
from ..support.text import words_of
from ..wishes.when import When
from ..wishes.wish import Wish, WishKind
from .changing import async_change, delayed, moved
from .intent_policy import has_timers
from .planned import MOST_TOLD, async_ask_which, async_cancel, async_left_of
from .promises import async_promise
from .sentences import Done, NotMine, Result, Sentence, Stage, spoken
from .wishes_meant import is_said_in, just_spoken_of, known_wishes, note_told, of_kinds
from .wishing import async_by_intent, async_made, new_wish

_UNITS = {"hours": 3600, "minutes": 60, "seconds": 1}
_RINGING = frozenset({WishKind.TIMER, WishKind.WAKE})
_PAUSING = (PlanningKind.PAUSE, PlanningKind.RESUME)


async def answer_timer(sentence: Sentence) -> Result:
    """Do what is said of timers in the words of the language."""
    turn, code = sentence.turn, sentence.language.code
    if has_timers(sentence.hass, turn):
        return NotMine()
    waiting = [wish for wish in known_wishes(sentence) if wish.kind in _RINGING]
    is_about = names_timer(turn.text, code)
    if not waiting and not is_about:
        return NotMine()
    asked = asked_in(turn.text, code, *_PAUSING, PlanningKind.LEFT, PlanningKind.STOP)
    if asked is not None and asked.kind in _PAUSING:
        return await _async_paused(sentence, asked, waiting, is_about=is_about)
    if asked is not None:
        answered = await _async_asked(sentence, asked, waiting, is_about=is_about)
        if asked.kind is not PlanningKind.STOP or not isinstance(answered, NotMine):
            return answered  # else its name may be a time: "stop the timer in five minutes"
    return await _async_by_length(sentence, waiting, is_about=is_about)


async def _async_by_length(sentence: Sentence, waiting: Sequence[Wish], *, is_about: bool) -> Result:
    """Set a timer of a length that is said, set one that runs again, or give it so much more or less time."""
    turn, code = sentence.turn, sentence.language.code
    moment = moment_in(turn.text, code, dt_util.now())
    if moment is None or not moment.seconds:
        return NotMine()
    rest = without(turn.text, moment.words)
    reminder = reminder_in(rest, code) if is_about else None
    asked = asked_in(rest, code, PlanningKind.ADD, PlanningKind.TAKE)
    is_set = reminder is not None and reminder.kind is ReminderKind.TIMER
    timers = [wish for wish in waiting if wish.kind is WishKind.TIMER]
    adds = bool(delay_in(rest, code) or apart_in(rest, code))
    if reminder is not None and is_set and not reminder.left and not adds:
        is_behind = bool(kinds_in(words_of(turn.text.partition(moment.words)[0]), code)[0])
        if is_behind and names_running(rest, code) and (running := _running(sentence, reminder.text, timers)):
            return await _async_set_again(sentence, running, moment)
    if asked is not None and (not is_set or is_known_thing(rest, code)):
        meant = _called(sentence, kinds_in(asked.words, code)[1], timers)
        seconds = moment.seconds if asked.kind is PlanningKind.ADD else -moment.seconds
        if meant:
            return await _async_lengthen(sentence, meant, seconds)
        if is_set and adds:  # to a timer that does not run
            return await _async_said(sentence, "planned_none_such" if timers else "planned_no_timer")
    left = (rest, without_times(turn.text, code, LaterKind.SPAN)) if is_set and is_known_thing(rest, code) else ()
    if any(asked_in(text, code, PlanningKind.STOP) is not None for text in left):
        return await _async_said(sentence, "planned_none_such" if waiting else "planned_no_timer")
    if reminder is not None and is_set and not reminder.left:  # nothing more than a timer is wanted
        return await _async_set(sentence, timedelta(seconds=moment.seconds), reminder.text, moment)
    return NotMine()


async def answer_timer_intent(sentence: Sentence) -> Result:
    """Do what one of Home Assistant's sentences says of timers."""
    known = [each.recognised for each in sentence.earlier if isinstance(each, NotMine) and each.recognised is not None]
    found = next((each for each in known if each.name in TIMERS), None)
    if found is None or (has_timers(sentence.hass, sentence.turn) and COMMAND not in found.slots):
        return NotMine()
    if command := str(found.slots.get(COMMAND) or ""):
        return await async_by_intent(sentence, command, int(_span(found.slots).total_seconds()))
    if found.name == intent.INTENT_START_TIMER:
        name = timer_name(str(found.slots.get("name") or ""), sentence.language.code)
        return await _async_set(sentence, _span(found.slots), name, None)
    timers = [wish for wish in known_wishes(sentence) if wish.kind is WishKind.TIMER]
    named = words_of(str(found.slots.get("name") or ""))
    match found.name:
        case intent.INTENT_CANCEL_ALL_TIMERS:
            return await async_cancel(sentence, timers) if timers else await _async_said(sentence, "planned_no_timer")
        case intent.INTENT_PAUSE_TIMER | intent.INTENT_UNPAUSE_TIMER:
            does = PlanningKind.PAUSE if found.name == intent.INTENT_PAUSE_TIMER else PlanningKind.RESUME
            return await _async_paused(sentence, Planning(kind=does, words=named), timers, is_about=True)
    kinds = {intent.INTENT_TIMER_STATUS: PlanningKind.LEFT, intent.INTENT_CANCEL_TIMER: PlanningKind.STOP}
    if (kind := kinds.get(found.name)) is not None:
        return await _async_asked(sentence, Planning(kind=kind, words=named), timers, is_about=True)
    meant, seconds = _called(sentence, named, timers), int(_span(found.slots).total_seconds())
    if not meant:
        return await _async_said(sentence, "planned_no_timer")
    return await _async_lengthen(sentence, meant, seconds if found.name == intent.INTENT_INCREASE_TIMER else -seconds)


def _span(slots: Any) -> timedelta:
    return timedelta(seconds=sum(int(slots.get(unit) or 0) * seconds for unit, seconds in _UNITS.items()))


def _called(sentence: Sentence, named: Sequence[str], timers: Sequence[Wish]) -> list[Wish]:
    """Return the timers that are called so; without a name those that were just spoken of, else all."""
    if named:
        return [wish for wish in timers if is_said_in(sentence, named, wish)]
    if kinds_in(words_of(sentence.turn.text), sentence.language.code)[0]:  # any of them may be meant
        return [*timers]
    return just_spoken_of(sentence, timers) or [*timers]


async def _async_asked(sentence: Sentence, asked: Planning, waiting: Sequence[Wish], *, is_about: bool) -> Result:
    """Tell how long timers have, or stop one. Where no timer is named, only one that waits can be meant."""
    named = kinds_in(asked.words, sentence.language.code)[1]
    if asked.kind is PlanningKind.LEFT:
        timers = [wish for wish in waiting if wish.kind is WishKind.TIMER]
        meant = [wish for wish in timers if is_said_in(sentence, named, wish)] if named else timers
        if meant:
            return await _async_left(sentence, meant)
        is_last = sentence.stage is not Stage.BEFORE_MODEL and is_about
        return await _async_said(sentence, "planned_no_timer") if is_last else NotMine()
    waiting = of_kinds(waiting, kinds_in(words_of(sentence.turn.text), sentence.language.code)[0])
    meant = _called(sentence, named, waiting)
    if not is_about:
        meant = [wish for wish in just_spoken_of(sentence, waiting) if not named]
    if not meant:
        is_last = sentence.stage is not Stage.BEFORE_MODEL and is_about and not named
        return await _async_said(sentence, "planned_no_timer") if is_last else NotMine()
    is_one = len(meant) == 1 or names_all(sentence.turn.text, sentence.language.code)
    return await (async_cancel if is_one else async_ask_which)(sentence, meant)


async def _async_set(sentence: Sentence, span: timedelta, name: str, moment: SaidMoment | None) -> Result:
    """Set a timer."""
    if not span:
        return NotMine()
    if not sentence.turn.profile.wishes:
        return await _async_said(sentence, "local_no_timers")
    text, said = sentence.turn.text, moment or moment_in(sentence.turn.text, sentence.language.code, dt_util.now())
    words = said.words if said is not None else ""
    when = When(at=dt_util.utcnow() + span, words=words)
    wish = new_wish(sentence, WishKind.TIMER, without(text, words).strip(" ,.!") or text, name, when)
    return await async_made(sentence, [wish], await async_promise(sentence.hass, sentence.turn, wish))


def _running(sentence: Sentence, name: str, timers: Sequence[Wish]) -> list[Wish]:
    """Return the timers of a name; without one those without a name, or that were just spoken of."""
    same = [wish for wish in timers if words_of(wish.text) == words_of(name)]
    return same or (just_spoken_of(sentence, timers) if not name else [])


async def _async_set_again(sentence: Sentence, timers: Sequence[Wish], moment: SaidMoment) -> Result:
    """Give a timer that runs another length; ask which where several may be meant."""

    async def sets(answer: Sentence, wishes: Sequence[Wish]) -> Result:
        at = dt_util.utcnow() + timedelta(seconds=moment.seconds)
        return await async_change(answer, [(wish, moved(wish, at, moment.words)) for wish in wishes])

    if len(timers) > 1:
        return await async_ask_which(sentence, timers, sets, "planned_which_change")
    return await sets(sentence, timers)


async def _async_lengthen(sentence: Sentence, timers: Sequence[Wish], seconds: int) -> Result:
    """Give a timer more time, or less; ask which where several may be meant."""

    async def lengthens(answer: Sentence, wishes: Sequence[Wish]) -> Result:
        found = [(wish, delayed(answer, wish, seconds)) for wish in wishes]
        return await async_change(answer, [(wish, when) for wish, when in found if when is not None])

    if len(timers) > 1:
        return await async_ask_which(sentence, timers, lengthens, "planned_which_change")
    return await lengthens(sentence, timers)


async def _async_paused(sentence: Sentence, asked: Planning, waiting: Sequence[Wish], *, is_about: bool) -> Result:
    """Let a timer stand still, or go on. Where no timer is named, only one that was just spoken of or the only one can be meant."""
    pauses = asked.kind is PlanningKind.PAUSE
    timers = [wish for wish in waiting if wish.kind is WishKind.TIMER and bool(wish.when.left) is not pauses]
    meant = _called(sentence, kinds_in(asked.words, sentence.language.code)[1], timers)
    if not meant:
        is_last = sentence.stage is not Stage.BEFORE_MODEL and is_about
        return await _async_said(sentence, "planned_no_timer") if is_last else NotMine()
    if len(meant) > 1:
        then = partial(_async_pause, pauses=pauses)
        return await async_ask_which(sentence, meant, then, "planned_which_change") if is_about else NotMine()
    return await _async_pause(sentence, meant, pauses=pauses)


async def _async_pause(sentence: Sentence, timers: Sequence[Wish], *, pauses: bool) -> Result:
    """Let timers stand still, or go on, and say how long they have."""
    now, changes = dt_util.utcnow(), list[tuple[Wish, When]]()
    for wish in timers:
        if pauses:
            left = max(1, round(((wish.when.at or now) - now).total_seconds()))
            changes.append((wish, replace(wish.when, at=None, wall="", left=left)))
        else:
            at = now + timedelta(seconds=wish.when.left)
            changes.append((wish, replace(wish.when, at=at, left=0)))
    return await async_change(sentence, changes)


async def _async_left(sentence: Sentence, timers: Sequence[Wish]) -> Done:
    """Tell how long timers have: "4:59", with their names."""
    hass, language, told = sentence.hass, sentence.turn.language, list[str]()
    for wish in timers[:MOST_TOLD]:
        left = await async_left_of(hass, language, wish, wish.when)
        told.append(await async_text(hass, language, "planned_paused_item", left=left) if wish.when.left else left)
    note_told(sentence, timers[:MOST_TOLD])
    return await _async_said(sentence, "planned_left", items=await async_more(hass, language, told, len(timers)))


async def _async_said(sentence: Sentence, key: str, **placeholders: str) -> Done:
    return Done(
        said=spoken(sentence.turn, await async_text(sentence.hass, sentence.turn.language, key, **placeholders))
    )
