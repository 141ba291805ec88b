"""A time that was asked for is said in the next sentence: "please tell me at what time", "at six". A sentence that says more is no answer."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from homeassistant.util import dt as dt_util

from ..languages.changes import SaidTime, as_clock, is_from_now, names_nothing, time_in
from ..languages.data import data_of
from ..languages.later import LaterKind, later_in, without_times
from ..languages.phrases import is_question
from ..languages.timing import timed_in
from ..support.text import words_of
from .later import ASKED_WHEN, AskedWhen, answer_when, named_in
from .sentences import REMEMBERED, Done, NotForNow, NotMine, Refused, Result, Sentence, Stage, message_number
from .wishing import answer_wish

_LONG = 80  # characters of a time
_VALUES = frozenset("%°€$£")


async def answer_asked_when(sentence: Sentence) -> Result:
    """Make the wish of the sentence before, of which it was asked when, where this one is nothing but a time."""
    turn, code = sentence.turn, sentence.language.code
    asked = _asked_before(sentence)
    if asked is None or len(turn.text) > _LONG or not _VALUES.isdisjoint(turn.text) or is_question(turn.text, code):
        return NotMine()
    said = time_in(turn.text, code, dt_util.now())
    if said is None or not (said.rest == "" or names_nothing(said.rest, code)) or _names_thing(sentence):
        return NotMine()
    text = asked.text
    if any(one.kind is LaterKind.DAY for one in later_in(turn.text, code)):
        text = without_times(text, code, LaterKind.DAY)
    if said.day is not None:
        return await _async_asked_again(sentence, f"{text} {turn.text}", turn.text)
    for whole in _wholes(sentence, text, said):
        reading = next(timed_in(whole, code, dt_util.now(), named_in(sentence.saying(whole))), None)
        if reading is None or reading.moment is None or reading.back is not None or reading.unread:
            continue
        result = await answer_wish(replace(sentence.saying(whole), before=None))
        if isinstance(result, Refused) or (isinstance(result, Done) and not result.has_failed):
            return result
    return NotMine()


def _names_thing(sentence: Sentence) -> bool:
    """Return whether a sentence has the name of a thing, not only its letters: "abends" does not name Ben."""
    said = set(words_of(sentence.turn.text))
    return any(said.issuperset(words_of(name)) for name in named_in(sentence))


def _asked_before(sentence: Sentence) -> AskedWhen | None:
    """Return the sentence of which the message before this one was answered with the question when."""
    turn = sentence.turn
    asked = sentence.hass.data.get(ASKED_WHEN, {}).get(turn.conversation_id)
    if asked is None or asked.owner != (turn.user.id if turn.user is not None else None):
        return None
    is_next = asked.number == message_number(sentence.chat_log) - 1
    is_late = dt_util.utcnow() - asked.asked > timedelta(seconds=REMEMBERED)
    return asked if is_next and not is_late else None


def _wholes(sentence: Sentence, text: str, said: SaidTime) -> Iterator[str]:
    """Yield the sentence before with the time of this one, in the ways in which it may be said."""
    for time in times_of(sentence, said):
        yield f"{text} {time}"
        yield f"{time} {text}"


def times_of(sentence: Sentence, said: SaidTime) -> list[str]:
    """Return a time that a sentence says, in the ways in which it may be said within another one."""
    code = sentence.language.code
    assert said.moment is not None
    words, moment = said.moment.words, said.moment
    found = later_in(words, code)
    times = [words] if found else []
    if found and found[0].begin:  # "nine in the evening"
        times = [*(f"{at} {words}" for at in data_of(code).times.get("at", ())), words]
    is_length = said.is_length and not is_from_now(said, code)
    if is_length:
        times = []
    if not times and (not is_length or as_clock(moment, code, dt_util.now()) is not None):
        times = [f"{at} {words}" for at in data_of(code).times.get("at", ())]  # "six", "acht uur"
    return times


async def _async_asked_again(sentence: Sentence, text: str, day: str) -> Result:
    """Ask for the hour where only a day was said."""
    if sentence.stage is not Stage.NO_MODEL:
        return NotMine()
    whole = sentence.saying(text)
    return await answer_when(replace(whole, earlier=(NotMine(put_off=NotForNow(words=day)),)))
