"""Sentences that go on from a wish: one more like it ("and one for the eggs, eight minutes"), and wishes with a remark beside them.

One more is of the kind of the wish before, or does the same to something else. What is left of such a sentence is said back.
"""

from dataclasses import replace
from datetime import timedelta

from homeassistant.util import dt as dt_util

from ..languages.bare_numbers import minutes_in
from ..languages.changes import (
    SaidTime,
    as_another,
    as_one,
    beside_of,
    corrections_in,
    does_something,
    is_from_now,
    is_one_more,
    says_same,
    time_in,
    trimmed,
    without_delay,
)
from ..languages.clause_cuts import orders_of
from ..languages.later import later_in
from ..languages.phrases import is_order, is_question, is_remark
from ..languages.planning import delay_in, kinds_in
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
from .intent_policy import has_timers
from .later import named_in, names_of
from .planned import async_cancel
from .planning import Planned, async_plan, services_of
from .promises import async_promise
from .sentences import Done, NotForNow, NotMine, Refused, Result, Sentence
from .wishes_meant import called_of, just_spoken_of, known_wishes, on_its_day, spoken_of_last
from .wishing import MAKES, answer_wish, async_made, new_wish

_MOST_NAMED = 3
"""Words of the name of a timer that is set without one for it."""


async def answer_same(sentence: Sentence) -> Result:
    """Do to something more what was just wished, at another time or at the same: "and the lamp at ten"; it only names it."""
    turn, code = sentence.turn, sentence.language.code
    before = spoken_of_last(sentence)
    if before is None or before.kind is not WishKind.ACTION or before.ends or not is_one_more(turn.text, code):
        return NotMine()
    said = time_in(as_one(turn.text, code), code, dt_util.now())
    rest = trimmed(said.rest if said is not None else turn.text, code)
    doing = {word for word in words_of(rest) if does_something(word, code)} - sentence.language.nouns
    if doing or is_question(turn.text, code) or reminder_in(rest, code) is not None:
        return NotMine()
    if not rest and said is not None and not said.is_length and not before.asks:
        return await _async_again(sentence, before, said)
    result = await _async_same_for(sentence, before, said, rest)
    is_named = said is not None and bool(named_in(sentence))
    return NotMine(put_off=NotForNow(words=turn.text)) if isinstance(result, NotMine) and is_named else result


async def _async_again(sentence: Sentence, before: Wish, said: SaidTime) -> Result:
    """Do the same once more, at another time: "the same again at ten"."""
    if said.moment is None or said.moment.sun or not says_same(sentence.turn.text, sentence.language.code):
        return NotMine()
    wish = new_wish(sentence, WishKind.ACTION, before.words, before.text, _when(sentence, said, before))
    wish = replace(wish, steps=before.steps)
    return await _async_more(sentence, replace(wish, registered=registered(sentence.hass, wish)))


async def answer_further(sentence: Sentence) -> Result:
    """Make one more wish like the one before: be told or woken once more."""
    turn, code = sentence.turn, sentence.language.code
    before = spoken_of_last(sentence)
    if before is None or is_question(turn.text, code):
        return NotMine()
    if not is_one_more(turn.text, code):
        return await _async_timed_too(sentence, before)
    if (plain := as_another(turn.text, code)) != turn.text:
        result = await answer_wish(sentence.saying(plain))
        if not isinstance(result, NotMine):
            return result
    said = time_in(as_one(turn.text, code), code, dt_util.now())
    is_bare = said is None or not (said.is_length or later_in(turn.text, code))
    if is_bare and before.kind is WishKind.TIMER:
        said = _minutes(as_one(turn.text, code), code)
    kinds, _ = kinds_in(words_of(turn.text), code)
    if (kinds and before.kind.value not in kinds) or (is_order(plain, code) and not says_same(turn.text, code)):
        return NotMine()
    if said is None or said.moment is None or said.moment.sun or names_of(sentence):
        return NotMine()
    match before.kind:
        case WishKind.TIMER:
            return await _async_timed(sentence, before, said, trimmed(said.rest, code))
        case WishKind.REMINDER:
            return await _async_reminded(sentence, before, said, trimmed(said.rest, code))
        case WishKind.WAKE:
            return await _async_woken(sentence, before, said, trimmed(said.rest, code))
    return NotMine()


async def answer_apart(sentence: Sentence) -> Result:
    """Tell or wake once more, so much earlier or later than the first time: "remind me an hour before as well"."""
    turn, code, before = sentence.turn, sentence.language.code, spoken_of_last(sentence)
    is_told = before is not None and before.kind in (WishKind.REMINDER, WishKind.WAKE) and before.when.at is not None
    if before is None or not is_told or not is_one_more(turn.text, code) or is_question(turn.text, code):
        return NotMine()
    plain = as_another(turn.text, code)
    said, sign = time_in(without_delay(plain, code), code, dt_util.now()), delay_in(plain, code)
    if said is None or said.moment is None or not said.is_length or not sign or is_from_now(said, code):
        return NotMine()
    reminder = reminder_in(said.rest, code)
    is_same = reminder is not None and reminder.kind.value == before.kind.value and not reminder.left
    if trimmed(said.rest, code) and not (is_same and reminder is not None and not trimmed(reminder.text, code)):
        return NotMine()
    wish = new_wish(sentence, before.kind, before.words, before.text, apart_from(before, sign * said.moment.seconds))
    return await _async_more(sentence, wish)


def apart_from(before: Wish, seconds: int) -> When:
    """Return when a wish with a time is due so much later, or earlier, without its conditions."""
    assert before.when.at is not None
    at = before.when.at + timedelta(seconds=seconds)
    wall = dt_util.as_local(at).replace(tzinfo=None).isoformat(timespec="minutes") if before.when.wall else ""
    return When(at=at, wall=wall, words=f"{dt_util.as_local(at):%H:%M}")


async def _async_timed(sentence: Sentence, before: Wish, said: SaidTime, rest: str) -> Result:
    """Set one more timer."""
    name = timer_name(rest, sentence.language.code)
    if not said.is_length or has_timers(sentence.hass, sentence.turn) or (rest and not name):
        return NotMine()
    return await _async_more(
        sentence, new_wish(sentence, WishKind.TIMER, _named(before, rest), name, _when(sentence, said, before))
    )


async def _async_timed_too(sentence: Sentence, before: Wish) -> Result:
    """Set one more timer directly behind one, where only its length and what it is for are said: "twenty minutes for the rice"."""
    text, code = sentence.turn.text, sentence.language.code
    said = time_in(text, code, dt_util.now()) if before.kind is WishKind.TIMER else None
    name = timer_name(trimmed(said.rest, code), code) if said is not None and said.is_length else ""
    if said is None or not name or is_from_now(said, code) or is_order(text, code) or names_of(sentence):
        return NotMine()
    words = trimmed(said.rest, code)
    running = [wish for wish in known_wishes(sentence) if wish.kind is WishKind.TIMER]
    if does_something(text, code) or delay_in(text, code) or is_remark(text, code):
        return NotMine()
    if any(words_of(wish.text) == words_of(words) for wish in running) or len(words_of(words)) > _MOST_NAMED:
        return NotMine()
    return await _async_timed(sentence, before, said, words)


async def _async_woken(sentence: Sentence, before: Wish, said: SaidTime, rest: str) -> Result:
    """Wake once more, at another time or so much later than the first time."""
    if rest or before.when.at is None:
        return NotMine()
    when, sign = _when(sentence, said, before), delay_in(sentence.turn.text, sentence.language.code)
    if said.is_length and sign and said.moment is not None:
        when = apart_from(before, sign * said.moment.seconds)
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
    elif (
        not says_same(sentence.turn.text, code)
        and (first := words_of(as_another(said.rest, code))[:1])
        and first[0] in orders_of(code) - beside_of(code)
    ):
        return NotMine()
    if not rest and says_same(sentence.turn.text, code):
        rest = before.text
    if not rest:
        return NotMine()
    wish = new_wish(sentence, WishKind.REMINDER, _named(before, rest), rest, _when(sentence, said, before))
    return await _async_more(sentence, wish)


async def _async_same_for(sentence: Sentence, before: Wish, said: SaidTime | None, rest: str) -> Result:
    """Do to something else what a wish does, at another time or at the same."""
    when, code = before.when, sentence.language.code
    is_apart = said is not None and said.is_length and not is_from_now(said, code)
    sign = delay_in(sentence.turn.text, code) if is_apart and before.when.at is not None else 0
    if said is not None and (said.moment is None or said.moment.sun or (is_apart and not sign)):
        return NotMine()
    if is_apart and said is not None and said.moment is not None:
        when, rest = apart_from(before, sign * said.moment.seconds), without_delay(rest, code)
    elif said is not None:
        when = replace(_when(sentence, said, before), conditions=when.conditions)
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


def _when(sentence: Sentence, said: SaidTime, before: Wish) -> When:
    assert said.moment is not None
    moment = on_its_day(sentence, said.moment, before)
    return When(at=dt_util.as_utc(moment.at), wall=moment.wall, words=moment.words)


def _named(before: Wish, text: str) -> str:
    """Return the words of a wish like the one before, for something else."""
    if before.text and before.text in before.words:
        return before.words.replace(before.text, text) if text else before.words.replace(before.text, "").strip()
    return f"{before.words} {text}".strip()
