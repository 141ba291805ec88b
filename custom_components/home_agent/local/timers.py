"""Timers by talking where the device has none of Home Assistant's: they are wishes, set, asked about, changed and stopped.

What Home Assistant's own sentences say of timers is understood in all its languages; more is in the data of the language.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from homeassistant.helpers import intent
from homeassistant.util import dt as dt_util

from ..languages.planning import Planning, PlanningKind, asked_in, names_kind
from ..languages.reminders import ReminderKind, names_timer, reminder_in, timer_name
from ..languages.said_moments import SaidMoment, moment_in
from ..policy.intents import COMMAND, TIMERS
from ..support.localize import async_text
from ..support.text import words_of
from ..wishes.when import When
from ..wishes.wish import Wish, WishKind
from .intent_policy import has_timers
from .planned import async_ask_which, async_cancel, async_change, is_said_in, just_made, known_wishes, moved
from .promises import async_promise
from .sentences import Done, NotMine, Result, Sentence, Stage, spoken
from .wishing import async_by_intent, async_made, new_wish

_UNITS = {"hours": 3600, "minutes": 60, "seconds": 1}
_RINGING = frozenset({WishKind.TIMER, WishKind.WAKE})
_MOST = 5  # timers of one sentence


async def answer_timer(sentence: Sentence) -> Result:
    """Do what is said of timers in the words of the language."""
    turn, code = sentence.turn, sentence.language.code
    if has_timers(sentence.hass, turn):
        return NotMine()
    waiting = [wish for wish in known_wishes(sentence) if wish.kind in _RINGING]
    is_about = names_timer(turn.text, code)
    if not waiting and not is_about:
        return NotMine()
    asked = asked_in(turn.text, code, PlanningKind.LEFT, PlanningKind.STOP)
    if asked is not None:
        return await _async_asked(sentence, asked, waiting, is_about=is_about)
    moment = moment_in(turn.text, code, dt_util.now())
    if moment is None or not moment.seconds:
        return NotMine()
    rest = " ".join(turn.text.replace(moment.words, " ", 1).split())
    asked = asked_in(rest, code, PlanningKind.ADD, PlanningKind.TAKE)
    timers = [wish for wish in waiting if wish.kind is WishKind.TIMER]
    meant = _called(sentence, names_kind(asked.words, code), timers) if asked is not None else []
    if asked is not None and len(meant) == 1:
        seconds = moment.seconds if asked.kind is PlanningKind.ADD else -moment.seconds
        return await _async_lengthen(sentence, meant[0], seconds)
    if is_about and (reminder := reminder_in(rest, code)) is not None and reminder.kind is ReminderKind.TIMER:
        if reminder.left:  # more than a timer is wanted
            return NotMine()
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
            return await _async_said(sentence, "planned_pause" if timers else "planned_no_timer")
    kinds = {intent.INTENT_TIMER_STATUS: PlanningKind.LEFT, intent.INTENT_CANCEL_TIMER: PlanningKind.STOP}
    if (kind := kinds.get(found.name)) is not None:
        return await _async_asked(sentence, Planning(kind=kind, words=named), timers, is_about=True)
    meant, seconds = _called(sentence, named, timers), int(_span(found.slots).total_seconds())
    if len(meant) != 1:
        return await async_ask_which(sentence, meant) if meant else await _async_said(sentence, "planned_no_timer")
    return await _async_lengthen(
        sentence, meant[0], seconds if found.name == intent.INTENT_INCREASE_TIMER else -seconds
    )


def _span(slots: Any) -> timedelta:
    return timedelta(seconds=sum(int(slots.get(unit) or 0) * seconds for unit, seconds in _UNITS.items()))


def _called(sentence: Sentence, named: Sequence[str], timers: Sequence[Wish]) -> list[Wish]:
    """Return the timers that are called so; without a name the one that was just set, else all."""
    if named:
        return [wish for wish in timers if is_said_in(sentence, named, wish)]
    return just_made(sentence, timers) or [*timers]


async def _async_asked(sentence: Sentence, asked: Planning, waiting: Sequence[Wish], *, is_about: bool) -> Result:
    """Tell how long timers have, or stop one. Where no timer is named, only one that waits can be meant."""
    named = names_kind(asked.words, sentence.language.code)
    if asked.kind is PlanningKind.LEFT:
        timers = [wish for wish in waiting if wish.kind is WishKind.TIMER]
        meant = [wish for wish in timers if is_said_in(sentence, named, wish)] if named else timers
        if meant:
            return await _async_left(sentence, meant)
        is_last = sentence.stage is not Stage.BEFORE_MODEL and is_about
        return await _async_said(sentence, "planned_no_timer") if is_last else NotMine()
    meant = _called(sentence, named, waiting)
    if not is_about:
        meant = [wish for wish in just_made(sentence, waiting) if not named]
    if not meant:
        is_last = sentence.stage is not Stage.BEFORE_MODEL and is_about and not named
        return await _async_said(sentence, "planned_no_timer") if is_last else NotMine()
    return await (async_cancel if len(meant) == 1 else async_ask_which)(sentence, meant)


async def _async_set(sentence: Sentence, span: timedelta, name: str, moment: SaidMoment | None) -> Result:
    """Set a timer."""
    if not span:
        return NotMine()
    if not sentence.turn.profile.wishes:
        return await _async_said(sentence, "local_no_timers")
    text = sentence.turn.text
    words = moment.words if moment is not None else text
    when = When(at=dt_util.utcnow() + span, words=words)
    wish = new_wish(sentence, WishKind.TIMER, text, name, when)
    return await async_made(sentence, [wish], await async_promise(sentence.hass, sentence.turn, wish))


async def _async_lengthen(sentence: Sentence, wish: Wish, seconds: int) -> Result:
    """Give a timer more time, or less."""
    at: datetime = (wish.when.at or dt_util.utcnow()) + timedelta(seconds=seconds)
    return await async_change(sentence, wish, replace(moved(wish, at, wish.when.words)))


async def _async_left(sentence: Sentence, timers: Sequence[Wish]) -> Done:
    """Tell how long timers have: "4:59", with their names."""
    now, told = dt_util.utcnow(), list[str]()
    for wish in timers[:_MOST]:
        left = max(0, round(((wish.when.at or now) - now).total_seconds()))
        minutes, seconds = divmod(left, 60)
        hours, minutes = divmod(minutes, 60)
        span = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
        told.append(f"{wish.text}: {span}" if wish.text else span)
    return await _async_said(sentence, "planned_left", items=", ".join(told))


async def _async_said(sentence: Sentence, key: str, **placeholders: str) -> Done:
    return Done(
        said=spoken(sentence.turn, await async_text(sentence.hass, sentence.turn.language, key, **placeholders))
    )
