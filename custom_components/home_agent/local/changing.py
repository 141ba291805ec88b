"""Another time for wishes that wait: "make it nine", "move the reminder to eight", "rather at half seven", "ten minutes later".

A sentence that wishes something itself takes the place of a wish only where it says so ("rather"), and where they wish the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from homeassistant.util import dt as dt_util

from ..languages.bare_numbers import like_length, minutes_in
from ..languages.changes import (
    SaidChange,
    as_another,
    as_clock,
    change_in,
    correction_in,
    is_from_now,
    is_one_more,
    leaves_so,
    names_nothing,
    past_in,
    time_in,
    without_delay,
    without_marks,
)
from ..languages.later import LaterKind, later_in
from ..languages.moments import HALF_DAY
from ..languages.phrases import is_question
from ..languages.planning import delay_in, planning_of
from ..languages.reminders import ReminderKind, reminder_in
from ..languages.said_moments import SaidMoment, moment_in
from ..languages.timing import timed_in
from ..policy.confirmation import NeedsConfirmation
from ..policy.intents import Recognised
from ..policy.wishing import ChangeWish
from ..support.errors import ToolError
from ..support.localize import async_text
from ..support.text import words_of
from ..wishes.spoken import async_when
from ..wishes.when import SunEvent, When
from ..wishes.wish import Wish, WishKind
from .clauses import async_read_clause
from .later import named_in
from .planned import async_ask_which, async_left_of
from .planning import async_does, async_plan, services_of
from .promises import async_called
from .sentences import Done, NotMine, Refused, Result, Sentence, spoken
from .wishes_meant import (
    AROUND,
    at_time,
    by_place,
    in_order,
    is_said_in,
    just_made,
    just_spoken_of,
    known_wishes,
    note_told,
    of_kinds,
)

CHANGES = "change_wish"


async def answer_changed(sentence: Sentence) -> Result:
    """Give what waits another time."""
    if not (waiting := known_wishes(sentence)):
        return NotMine()
    if (end := await _async_another_end(sentence, waiting)) is not None:
        return await async_change(sentence, [end])
    if (conditional := await _async_conditional(sentence, waiting)) is not None:
        return await async_change(sentence, [conditional])
    if (within := _within_hour(sentence, waiting)) is not None:
        return await async_change(sentence, [within])
    change = change_in(sentence.turn.text, sentence.language.code, dt_util.now())
    if planning_of(sentence.turn.text, sentence.language.code) is not None or change is None or change.words:
        change = correction_in(sentence.turn.text, sentence.language.code, dt_util.now()) or change
    if change is None or (is_one_more(sentence.turn.text, sentence.language.code) and not _is_change(sentence, change)):
        return NotMine()
    is_said = change.moves or change.sets or change.is_instead or change.corrects
    if not is_said and is_question(sentence.turn.text, sentence.language.code):
        return NotMine()  # "at nine?"
    pool = of_kinds(waiting, change.kinds)
    if change.old is not None:
        pool = at_time(sentence, pool, change.old)
    meant = await _async_meant(sentence, change, pool)
    meant = _with_end(meant) if _is_pair(meant) else meant
    if not meant:
        return NotMine()
    if len(meant) > 1 and not _is_pair(meant):

        async def moves(answer: Sentence, wishes: Sequence[Wish]) -> Result:
            return await _async_moved(answer.saying(sentence.turn.text), wishes, change)

        return await async_ask_which(sentence, meant, moves, "planned_which_change")
    return await _async_moved(sentence, meant, change)


async def _async_meant(sentence: Sentence, change: SaidChange, pool: Sequence[Wish]) -> Sequence[Wish]:
    """Return which wishes of a pool a sentence changes; none where it changes nothing."""
    spoken_of = [wish for wish in just_spoken_of(sentence, known_wishes(sentence)) if wish in pool]
    replaces = change.is_instead or (change.corrects and bool(spoken_of))
    code = sentence.language.code
    is_delay = bool(change.sign) and change.new.is_length and not is_from_now(change.new, code)
    rest = without_delay(change.rest, code) if is_delay else change.rest
    reminder = reminder_in(rest, code) if rest else None
    if reminder is not None and is_delay and not change.moves:  # "set the alarm ten minutes later"
        is_named = not reminder.left and reminder.kind is not ReminderKind.TIMER  # of these more is known elsewhere
        return _same(sentence, reminder.kind, reminder.text, pool) if is_named else ()
    if reminder is not None and not change.moves:
        return _same(sentence, reminder.kind, reminder.text, pool) if replaces else ()
    if not change.words:
        if spoken_of and not change.kinds:
            return spoken_of
        if not change.kinds and _is_of_any(sentence, change):
            return [wish for wish in pool if _may_be_meant(sentence, wish, change)]
        return pool if change.moves or change.old or ((change.sets or replaces) and change.kinds) else ()
    if placed := by_place(sentence, " ".join(change.words), in_order(sentence, pool)):
        return placed
    fits = [wish for wish in pool if is_said_in(sentence, change.words, wish)]
    if not fits or not (change.moves or replaces or change.kinds or change.old or is_delay or _says_when(sentence)):
        return ()
    steps = (await async_plan(sentence, change.rest)).steps
    if steps:  # it is a command itself
        return [wish for wish in pool if services_of(wish.steps) == services_of(steps)] if replaces else ()
    return fits


def _is_of_any(sentence: Sentence, change: SaidChange) -> bool:
    """Return whether a sentence that follows nothing may change any wish: "make it nine", as the first after a restart.

    A bare number that no clock face has may be another value: "make it 21".
    """
    if sentence.before is not None or not (change.sets or change.is_instead) or change.new.moment is None:
        return False
    bare = minutes_in(change.new.moment.words, sentence.language.code)
    return _says_when(sentence) or change.new.is_length or 0 < bare <= HALF_DAY


def _may_be_meant(sentence: Sentence, wish: Wish, change: SaidChange) -> bool:
    """Return whether a wish has a time that may be another one: a length is that of a timer, and a time of day of none."""
    if change.new.is_length:
        return wish.kind is WishKind.TIMER
    return wish.when.at is not None and not (wish.kind is WishKind.TIMER and _says_when(sentence))


def _is_change(sentence: Sentence, change: SaidChange) -> bool:
    """Return whether a sentence that may wish one more changes one: "and push it to nine"; not "wake me ten minutes later as well"."""
    if change.moves or change.is_instead:
        return True
    code = sentence.language.code
    is_told = reminder_in(without_delay(as_another(change.rest, code), code), code) is not None
    return bool(change.sign) and not change.words and not is_told


def _says_when(sentence: Sentence) -> bool:
    """Return whether words of a sentence can be nothing else than a time: no value of the thing that is named."""
    return any(
        one.kind in (LaterKind.CLOCK, LaterKind.DAY) for one in later_in(sentence.turn.text, sentence.language.code)
    )


def _same(sentence: Sentence, kind: ReminderKind, text: str, pool: Sequence[Wish]) -> list[Wish]:
    """Return the wishes for what a sentence wishes itself: to be woken, or to be reminded of the same."""
    same = of_kinds(pool, {kind.value})
    return [wish for wish in same if is_said_in(sentence, words_of(text), wish)] if text else same


# A beginning and its end


def _is_pair(wishes: Sequence[Wish]) -> bool:
    """Return whether wishes are a beginning and its end, made by one sentence."""
    if len(wishes) != 2 or wishes[0].ends == wishes[1].ends:
        return False
    one, other = wishes
    return (one.conversation_id, one.message, one.targets) == (other.conversation_id, other.message, other.targets)


def _with_end(pair: Sequence[Wish]) -> list[Wish]:
    return sorted(pair, key=lambda wish: wish.ends)


def _begun(waiting: Sequence[Wish], end: Wish) -> bool:
    """Return whether the beginning of an end waits as well."""
    return any(_is_pair((wish, end)) for wish in waiting)


def _end_of(sentence: Sentence, wish: Wish) -> Wish | None:
    """Return what ends the beginning that a wish is."""
    return next((one for one in known_wishes(sentence) if one.ends and _is_pair((wish, one))), None)


async def _async_another_end(sentence: Sentence, waiting: Sequence[Wish]) -> tuple[Wish, When] | None:
    """Return another end for what was just done for a while: "leave it on for twenty minutes", "rather until eight"."""
    ends = [wish for wish in just_spoken_of(sentence, waiting) if wish.ends]
    code = sentence.language.code
    said = time_in(sentence.turn.text, code, dt_util.now()) if len(ends) == 1 else None
    if said is None or said.moment is None or said.moment.sun or delay_in(sentence.turn.text, code):
        return None
    if _begun(waiting, ends[0]):
        return None
    rest = without_marks(said.rest, code)
    if not leaves_so(said.rest, code) and not await async_does(sentence, rest, ends[0].steps):
        return None
    if _is_bare_number(ends[0], said.moment, code):
        when = _like_before(ends[0], said.moment, code)
        return (ends[0], when) if when is not None else None
    return ends[0], moved(ends[0], said.moment.at, said.moment.words, said.moment.wall)


def _is_bare_number(wish: Wish, said: SaidMoment, code: str) -> bool:
    """Return whether a number alone stands for the length of what was made by one: no hour of the day."""
    is_length = wish.kind is WishKind.TIMER or wish.ends
    return is_length and not wish.when.wall and not said.seconds and not said.sun and not later_in(said.words, code)


def _like_before(wish: Wish, said: SaidMoment, code: str) -> When | None:
    """Return when a wish that was made by a length is due with a bare number as another one: "no, for twenty"."""
    if wish.when.wall or wish.when.at is None or said.seconds or said.sun:
        return None
    seconds = round((wish.when.at - wish.made).total_seconds())
    span = like_length(said.words, wish.when.words, seconds, code)
    return moved(wish, dt_util.utcnow() + timedelta(seconds=span), said.words) if span else None


async def _async_conditional(sentence: Sentence, waiting: Sequence[Wish]) -> tuple[Wish, When] | None:
    """Return what was just made, or told, with a condition more: "but only if Anna is at home"."""
    made = just_made(sentence, waiting) or just_spoken_of(sentence, waiting)
    text, code = sentence.turn.text, sentence.language.code
    if len(made) != 1 or not any(one.kind is LaterKind.EVENT for one in later_in(text, code)):
        return None
    for timed in timed_in(text, code, dt_util.now(), named_in(sentence)):
        clause = timed.clauses[0] if len(timed.clauses) == 1 else None
        if clause is None or not clause.is_if or clause.until or clause.delay or not names_nothing(timed.rest, code):
            continue
        if timed.moment is not None or timed.back is not None or timed.unread or timed.forever:
            continue
        read = await async_read_clause(sentence, clause.text, is_event=False)
        if read is not None:
            watch = replace(read.watch, negated=read.watch.negated is not clause.negated)
            return made[0], made[0].when.narrowed_to(watch, _to_its_end(text, clause.words))
    return None


def _to_its_end(text: str, words: str) -> str:
    """Return the words of a clause with what stands behind them, which may be its verb."""
    at = text.find(words)
    return text[at:].strip(" .,;:!?…") if at >= 0 else words


# When


def _within_hour(sentence: Sentence, waiting: Sequence[Wish]) -> tuple[Wish, When] | None:
    """Return another time within the hour of what was just spoken of: "make it half past"."""
    text, code = sentence.turn.text, sentence.language.code
    minutes, made = past_in(text, code), just_spoken_of(sentence, waiting)
    if minutes is None or delay_in(text, code) or time_in(text, code, dt_util.now()) is not None:
        return None  # "an hour and a half later"
    if len(made) != 1 or made[0].when.at is None or not made[0].when.wall or made[0].when.sun:
        return None
    old = dt_util.as_local(made[0].when.at)
    at = old.replace(minute=0) + timedelta(minutes=minutes)
    if at == old or dt_util.as_utc(at) <= dt_util.utcnow():
        return None
    return made[0], moved(made[0], at, f"{at:%H:%M}", at.replace(tzinfo=None).isoformat(timespec="minutes"))


async def _async_moved(sentence: Sentence, wishes: Sequence[Wish], change: SaidChange) -> Result:
    """Give some wishes the time that a sentence says; what ends a beginning is moved with it."""
    if _is_pair(wishes) and change.new.is_length and not change.sign and change.new.moment is not None:
        begun, end = wishes
        if begun.when.at is None:
            return NotMine()
        at = begun.when.at + timedelta(seconds=change.new.moment.seconds)
        return await async_change(sentence, [(end, moved(end, at, change.new.moment.words))])
    found: dict[str, tuple[Wish, When]] = {}
    for wish in wishes:
        if wish.id in found:
            continue
        if (when := at_another_time(sentence, wish, change)) is None:
            return NotMine()
        found[wish.id] = wish, when
        other = _end_of(sentence, wish) if not wish.ends else None
        if other is not None and other.when.at is not None and wish.when.at is not None and when.at is not None:
            at = other.when.at + (when.at - wish.when.at)
            found[other.id] = other, moved(other, at, other.when.words)
    return await async_change(sentence, [*found.values()])


def at_another_time(sentence: Sentence, wish: Wish, change: SaidChange) -> When | None:
    """Return when a wish is due at another time; None where that is not known."""
    text, code, old, said = sentence.turn.text, sentence.language.code, wish.when.at, change.new.moment
    if change.new.day is not None:
        if old is None:
            return None
        local = dt_util.as_local(old).replace(tzinfo=None)
        at = datetime.combine(change.new.day, local.time(), dt_util.get_default_time_zone())
        return moved(wish, at, f"{at:%Y-%m-%d %H:%M}", at.replace(tzinfo=None).isoformat(timespec="minutes"))
    assert said is not None
    if said.sun:
        when = When(sun=SunEvent(said.sun), offset=said.offset, words=said.words).under(wish.when)
        after = max(dt_util.as_utc(said.at), dt_util.utcnow())
        return when.settled(sentence.hass, after, dt_util.get_default_time_zone())
    if said.seconds and change.sign and not (change.is_whole and wish.kind is WishKind.TIMER):
        return delayed(sentence, wish, change.sign * said.seconds)
    if said.seconds:
        said = (as_clock(said, code, dt_util.now()) if wish.when.wall else None) or said
    if said.seconds:
        return moved(wish, said.at, said.words)
    if _is_bare_number(wish, said, code):
        like = _like_before(wish, said, code)
        if like is not None or wish.ends:
            return like
    if wish.kind is WishKind.TIMER and not later_in(said.words, code) and (minutes := minutes_in(said.words, code)):
        return moved(wish, dt_util.utcnow() + timedelta(minutes=minutes), said.words)  # "make the tea four"
    if old is not None and not any(one.kind is LaterKind.DAY for one in later_in(text, code)):
        start = max(dt_util.now(), dt_util.as_local(old) - AROUND)
        said = _read_again(said, code, start) or said
    return moved(wish, said.at, said.words, said.wall)


def _read_again(said: SaidMoment, code: str, start: datetime) -> SaidMoment | None:
    """Return a time of day as it is said at another moment."""
    found = moment_in(said.words, code, start)
    if found is not None and not found.seconds:
        return found
    return as_clock(found, code, start) if found is not None else None


def delayed(sentence: Sentence, wish: Wish, seconds: int) -> When | None:
    """Return when a wish is due so much later, or earlier: than the sun or an event as well."""
    when = wish.when
    if when.left:
        return replace(when, left=max(1, when.left + seconds))
    if when.event is not None and when.at is None:
        return replace(when, delay=when.delay + seconds) if when.delay + seconds >= 0 else None
    if when.at is None:
        return None
    if when.sun is not None:
        later = replace(when, offset=when.offset + seconds, at=when.at + timedelta(seconds=seconds))
        return replace(later, words="").settled(sentence.hass, wish.made, dt_util.get_default_time_zone())
    at = when.at + timedelta(seconds=seconds)
    return moved(wish, at, f"{dt_util.as_local(at):%H:%M}")


def moved(wish: Wish, at: datetime, words: str, wall: str = "") -> When:
    """Return when a wish is due at another moment, with its conditions; a timer that is paused has so long from then on."""
    if wish.when.left and not wall:
        return replace(wish.when, left=max(1, round((at - dt_util.utcnow()).total_seconds())), words=words)
    if not wall and wish.when.wall:
        wall = dt_util.as_local(at).replace(tzinfo=None).isoformat(timespec="seconds")
    return When(at=dt_util.as_utc(at), wall=wall, words=words).under(wish.when)


async def async_change(sentence: Sentence, changes: Sequence[tuple[Wish, When]]) -> Result:
    """Give wishes another time, and say which."""
    turn, policy = sentence.turn, sentence.means.policy
    recognised = Recognised(name=CHANGES, slots={})
    told, paused = list[str](), list[str]()
    tools = [ChangeWish(replace(wish, when=when)) for wish, when in changes]
    try:
        for tool in tools:  # all of them, or none
            await tool.plan(sentence.hass, {}, turn)
    except ToolError as err:
        return Refused(error=err, recognised=recognised)
    for tool, (wish, when) in zip(tools, changes, strict=True):
        result = await policy.async_call_by_code(turn, tool, {}, sentence.chat_log, known=False)
        if result is None:
            return Refused(error=NeedsConfirmation(), recognised=recognised)
        if result.error:
            return Done(said=spoken(turn, await async_text(sentence.hass, turn.language, "confirm_failed")))
        if when.left:
            paused.append(await async_left_of(sentence.hass, turn.language, wish, when))
            continue
        moment = await async_when(sentence.hass, turn.language, when)
        what = await async_called(sentence.hass, turn, replace(wish, when=when))
        told.append(await async_text(sentence.hass, turn.language, "planned_changed", what=what, when=moment))
    if paused:
        told.append(await async_text(sentence.hass, turn.language, "planned_paused", items=", ".join(paused)))
    note_told(sentence, [wish for wish, _ in changes])
    return Done(said=spoken(turn, " ".join(told)))
