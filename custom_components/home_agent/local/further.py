"""Sentences that go on from a wish: one more like it ("and one for the eggs, eight minutes"), and wishes with a remark beside them.

One more is of the kind of the wish before, or does the same to something else. What is left of such a sentence is said back.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
import re

from homeassistant.util import dt as dt_util

from ..languages.changes import (
    SaidTime,
    as_another,
    as_one,
    beside_of,
    corrections_in,
    does_something,
    is_from_now,
    is_one_more,
    minutes_in,
    time_in,
    trimmed,
)
from ..languages.clause_cuts import orders_of
from ..languages.later import later_in, without_times
from ..languages.phrases import ReplyKind, is_order, is_question, is_remark, read_answer
from ..languages.planning import delay_in, denies, kinds_in, planning_of
from ..languages.reminders import ReminderKind, reminder_in, timer_name, without_then
from ..languages.said_moments import SaidMoment
from ..languages.spoken_numbers import words_in
from ..languages.times import numbers_in
from ..policy.intents import Recognised
from ..policy.wishing import check_asks, registered
from ..support.errors import ToolError
from ..support.text import words_of
from ..wishes.when import When
from ..wishes.wish import Wish, WishKind
from .changing import answer_changed
from .intent_policy import has_timers
from .later import named_in
from .planned import answer_planned, async_cancel
from .planning import Planned, async_plan, services_of
from .promises import async_promise
from .sentences import Done, NotForNow, NotMine, Refused, Result, Sentence
from .timers import answer_timer
from .wishes_meant import called_of, just_spoken_of, known_wishes
from .wishing import MAKES, answer_wish, async_made, new_wish

type ReadsPart = Callable[[Sentence], Awaitable[Result]]
_MOST_PARTS = 4
_LEAST_WORDS = 2  # of what is stated beside a time
_LEAST_STATED = 4  # words
_BETWEEN = re.compile(r"[,;.!?]\s+|\s[-–—]\s+")


async def answer_same(sentence: Sentence) -> Result:
    """Do to something more what was just wished, at another time or at the same: "and the lamp at ten"; it only names it."""
    turn, code = sentence.turn, sentence.language.code
    before = _before(sentence)
    if before is None or before.kind is not WishKind.ACTION or before.ends or not is_one_more(turn.text, code):
        return NotMine()
    said = time_in(as_one(turn.text, code), code, dt_util.now())
    rest = trimmed(said.rest if said is not None else turn.text, code)
    doing = {word for word in words_of(rest) if does_something(word, code)} - sentence.language.nouns
    if doing or is_question(turn.text, code) or reminder_in(rest, code) is not None:
        return NotMine()
    result = await _async_same_for(sentence, before, said, rest)
    is_named = said is not None and bool(named_in(sentence))
    return NotMine(put_off=NotForNow(words=turn.text)) if isinstance(result, NotMine) and is_named else result


def _before(sentence: Sentence) -> Wish | None:
    """Return the wish that was just spoken of, of several the one that was made last."""
    spoken_of = just_spoken_of(sentence, known_wishes(sentence))
    return max(spoken_of, key=lambda wish: wish.made, default=None)


async def answer_further(sentence: Sentence) -> Result:
    """Make one more wish like the one before: be told or woken once more."""
    turn, code = sentence.turn, sentence.language.code
    before = _before(sentence)
    if before is None or not is_one_more(turn.text, code) or is_question(turn.text, code):
        return NotMine()
    if (plain := as_another(turn.text, code)) != turn.text:
        result = await answer_wish(sentence.saying(plain))
        if not isinstance(result, NotMine):
            return result
    said = time_in(as_one(turn.text, code), code, dt_util.now())
    is_bare = said is None or not (said.is_length or later_in(turn.text, code))
    if is_bare and before.kind is WishKind.TIMER:
        said = _minutes(as_one(turn.text, code), code)
    kinds, _ = kinds_in(words_of(turn.text), code)
    if (kinds and before.kind.value not in kinds) or is_order(plain, code):
        return NotMine()
    if said is None or said.moment is None or said.moment.sun or named_in(sentence):
        return NotMine()
    match before.kind:
        case WishKind.TIMER:
            return await _async_timed(sentence, before, said, trimmed(said.rest, code))
        case WishKind.REMINDER:
            return await _async_reminded(sentence, before, said, trimmed(said.rest, code))
        case WishKind.WAKE:
            return await _async_woken(sentence, before, said, trimmed(said.rest, code))
    return NotMine()


async def _async_timed(sentence: Sentence, before: Wish, said: SaidTime, rest: str) -> Result:
    """Set one more timer."""
    name = timer_name(rest, sentence.language.code)
    if not said.is_length or has_timers(sentence.hass, sentence.turn) or (rest and not name):
        return NotMine()
    return await _async_more(sentence, new_wish(sentence, WishKind.TIMER, _named(before, rest), name, _when(said)))


async def _async_woken(sentence: Sentence, before: Wish, said: SaidTime, rest: str) -> Result:
    """Wake once more, at another time or so much later than the first time."""
    if rest or before.when.at is None:
        return NotMine()
    when, sign = _when(said), delay_in(sentence.turn.text, sentence.language.code)
    if said.is_length and sign and said.moment is not None:
        at = before.when.at + timedelta(seconds=sign * said.moment.seconds)
        wall = dt_util.as_local(at).replace(tzinfo=None).isoformat(timespec="minutes") if before.when.wall else ""
        when = replace(when, at=at, wall=wall)
    return await _async_more(sentence, new_wish(sentence, WishKind.WAKE, before.words, "", when))


def _minutes(text: str, code: str) -> SaidTime | None:
    """Return a bare number as minutes from now on, as in "one for 25", and what is said beside it."""
    words, minutes = words_in(text), minutes_in(text, code)
    token = next(iter(numbers_in(words, code)), None)
    if token is None or not minutes:
        return None
    begin, end = words[token.first].start, words[token.behind - 1].end
    at = dt_util.now() + timedelta(minutes=minutes)
    moment = SaidMoment(at=at, seconds=60 * minutes, words=text[begin:end])
    return SaidTime(moment=moment, rest=" ".join(f"{text[:begin]} {text[end:]}".split()))


async def _async_reminded(sentence: Sentence, before: Wish, said: SaidTime, rest: str) -> Result:
    """Make one more reminder: of something else, or of the same at another time."""
    code = sentence.language.code
    reminder = reminder_in(as_another(said.rest, code), code)
    if reminder is not None:
        is_same = reminder.kind is ReminderKind.REMINDER and not trimmed(reminder.text, code) and not reminder.left
        rest = before.text if is_same else ""
    elif (first := words_of(as_another(said.rest, code))[:1]) and first[0] in orders_of(code) - beside_of(code):
        return NotMine()
    if not rest:
        return NotMine()
    wish = new_wish(sentence, WishKind.REMINDER, _named(before, rest), rest, _when(said))
    return await _async_more(sentence, wish)


async def _async_same_for(sentence: Sentence, before: Wish, said: SaidTime | None, rest: str) -> Result:
    """Do to something else what a wish does, at another time or at the same."""
    when = before.when
    if said is not None and (
        said.moment is None or said.moment.sun or (said.is_length and not is_from_now(said, sentence.language.code))
    ):
        return NotMine()
    if said is not None:
        when = replace(_when(said), conditions=when.conditions)
    planned = await async_plan_for(sentence, before, rest)
    if planned is None:
        return NotMine()
    wish = new_wish(sentence, WishKind.ACTION, planned.text, "", when)
    wish = replace(wish, steps=planned.steps, asks=planned.asks)
    wish = replace(wish, registered=registered(sentence.hass, wish))
    try:
        check_asks(sentence.hass, sentence.turn, planned.calls)
    except ToolError as err:
        return Refused(error=err, recognised=Recognised(name=MAKES, slots={}))
    return await _async_more(sentence, wish)


async def answer_corrected(sentence: Sentence) -> Result:
    """Do what was just wished to something else than was said first: "no, not the lamp, the TV"."""
    code, made = sentence.language.code, just_spoken_of(sentence, known_wishes(sentence))
    before = made[0] if len(made) == 1 else None
    if before is None or before.kind is not WishKind.ACTION or before.ends:
        return NotMine()
    if later_in(sentence.turn.text, code, named_in(sentence)) or is_question(sentence.turn.text, code):
        return NotMine()
    for named in corrections_in(sentence.turn.text, code):
        planned = await async_plan_for(sentence, before, trimmed(named, code))
        if planned is None or not set(planned.targets).isdisjoint(before.targets):
            continue
        wish = replace(new_wish(sentence, WishKind.ACTION, planned.text, "", before.when), steps=planned.steps)
        wish = replace(wish, asks=planned.asks, registered=registered(sentence.hass, wish))
        try:
            check_asks(sentence.hass, sentence.turn, planned.calls)
        except ToolError as err:
            return Refused(error=err, recognised=Recognised(name=MAKES, slots={}))
        instead = await _async_more(sentence, wish)
        if isinstance(instead, Done) and not instead.has_failed:
            cancelled = await async_cancel(sentence, made)
            return instead if isinstance(cancelled, Done) else cancelled
        return instead
    return NotMine()


async def async_plan_for(sentence: Sentence, before: Wish, named: str) -> Planned | None:
    """Return what a wish does, for something else that is named; None where that is not known, or is the same."""
    wanted = {service for service, _ in services_of(before.steps)}
    if not named or not wanted or len(wanted) > 1:
        return None
    called = {word for name in called_of(sentence, before) for word in words_of(name)}
    words = before.words.split()
    places = [at for at, word in enumerate(words) if called & {*words_of(word)}]
    if not places:
        return None
    kept = words[: places[0]]
    for front in (kept, kept[:-1]):
        text = " ".join((*front, named, *words[places[-1] + 1 :]))
        planned = await async_plan(sentence, without_then(text, sentence.language.code))
        if planned.refused is not None:
            return None
        services = services_of(planned.steps)
        if services and {service for service, _ in services} == wanted and services != services_of(before.steps):
            return planned
    return None


async def _async_more(sentence: Sentence, wish: Wish) -> Result:
    return await async_made(sentence, [wish], await async_promise(sentence.hass, sentence.turn, wish))


def _when(said: SaidTime) -> When:
    assert said.moment is not None
    return When(at=dt_util.as_utc(said.moment.at), wall=said.moment.wall, words=said.moment.words)


def _named(before: Wish, text: str) -> str:
    """Return the words of a wish like the one before, for something else."""
    if before.text and before.text in before.words:
        return before.words.replace(before.text, text) if text else before.words.replace(before.text, "").strip()
    return f"{before.words} {text}".strip()


# Remarks


async def answer_beside(sentence: Sentence) -> Result:
    """Answer the part of a sentence that is about wishes, where all others only state something: "I'm free tomorrow, cancel the alarm"."""
    text, code = sentence.turn.text, sentence.language.code
    parts = [part.strip() for part in _BETWEEN.split(text.strip(" ,.!?")) if part.strip()]
    if not 1 < len(parts) <= _MOST_PARTS:
        return NotMine()
    for at, part in enumerate(parts):
        others = [other for number, other in enumerate(parts) if number != at]
        is_answer = read_answer(part, code).kind is not ReplyKind.OTHER and planning_of(part, code) is None
        if is_answer or not all(_is_beside(sentence, one) for one in others) or _is_denied(parts[at + 1 :], code):
            continue
        timed = [one for one in others if later_in(one, code)]
        if any(len(words_of(without_times(one, code))) < _LEAST_WORDS for one in timed):
            continue  # "..., tomorrow"
        makes = _wakes(part, code) or all(is_remark(one, code) or _says_nothing_of_it(one, code) for one in others)
        for read in _OF_WAITING if timed else (*_OF_WAITING, answer_timer, *(_MAKING if makes else ())):
            result = await read(sentence.saying(part))
            if not isinstance(result, NotMine):
                return result
    return NotMine()


def _wakes(text: str, code: str) -> bool:
    """Return whether a text asks to be woken: nothing beside it says how."""
    reminder = reminder_in(without_times(as_another(text, code), code), code)
    return reminder is not None and reminder.kind is ReminderKind.WAKE


def _says_nothing_of_it(text: str, code: str) -> bool:
    """Return whether a part of a sentence is long enough to state something, and has no value: "dimmed" and "at 20 percent" have one."""
    words = words_of(text)
    return len(words) >= _LEAST_STATED and not numbers_in(words_in(text), code) and not does_something(text, code)


def _is_denied(parts: Sequence[str], code: str) -> bool:
    """Return whether something is taken back by what follows it: "cancel it, no, don't"."""
    return any(denies(part, code) or read_answer(part, code).kind is not ReplyKind.OTHER for part in parts)


def _is_beside(sentence: Sentence, text: str) -> bool:
    """Return whether a part of a sentence wants nothing that could be done."""
    code = sentence.language.code
    if is_order(text, code) or is_question(text, code) or reminder_in(text, code) is not None:
        return False
    return planning_of(text, code) is None and not is_one_more(text, code) and not named_in(sentence.saying(text))


_OF_WAITING: tuple[ReadsPart, ...] = (answer_planned, answer_changed)
_MAKING: tuple[ReadsPart, ...] = (answer_wish, answer_further, answer_corrected)
"""Readers that make wishes: nothing that is said beside these may be a part of them."""
