"""What is said of what waits in other words: in a form that is read as it is said plainly, or with the time of what was just spoken of."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
import re

from homeassistant.util import dt as dt_util

from ..languages.changes import as_another, change_in
from ..languages.data import data_of
from ..languages.later import later_in
from ..languages.phrases import SelfQuestion, asked_of, is_order, is_question
from ..languages.recasts import reworded
from ..languages.reminders import reminder_in
from ..policy.undo import async_answer_undo
from ..policy.wishing import registered
from ..support.text import MAX_TEXT, words_of
from .changing import answer_changed, at_another_time
from .further import answer_apart, answer_further, answer_same
from .later import named_in, names_of
from .planned import answer_planned
from .promises import async_promise
from .sentences import Done, NotMine, Result, Sentence
from .timers import answer_timer
from .wishes_meant import at_same_time, just_canceled, just_rung, known_wishes
from .wishing import answer_wish, async_made, new_wish

_BETWEEN = re.compile(r"[,;.!:]+\s+|\s[-–—]\s+")
_OF_WAITING: tuple[Callable[[Sentence], Awaitable[Result]], ...] = (
    answer_planned,
    answer_changed,
    answer_timer,
    answer_further,
)
_MAKING: tuple[Callable[[Sentence], Awaitable[Result]], ...] = (
    answer_changed,
    answer_apart,
    answer_same,
    answer_wish,
    answer_further,
)


async def answer_reworded(sentence: Sentence) -> Result:
    """Answer what is said of what waits in another form."""
    if not known_wishes(sentence) and just_rung(sentence) is None:
        return NotMine()
    for plain in reworded(sentence.turn.text, sentence.language.code):
        for read in _OF_WAITING:
            result = await read(sentence.saying(plain))
            if not isinstance(result, NotMine):
                return result
    return NotMine()


async def answer_restored(sentence: Sentence) -> Result:
    """Take back that something was just canceled, or make it again for another time: "no, put it back", "do it at ten instead"."""
    text, code, cancelled = sentence.turn.text, sentence.language.code, just_canceled(sentence)
    if not cancelled or is_question(text, code):
        return NotMine()
    parts = [part for part in _BETWEEN.split(text.strip(" .!")) if part.strip()]
    if any(_undoes(part, code) for part in parts) and len(text) <= MAX_TEXT:
        others = [part for part in parts if not _undoes(part, code)]
        if any(is_order(part, code) for part in others) or later_in(text, code, named_in(sentence)):
            return NotMine()
        answer = await async_answer_undo(
            sentence.hass, sentence.means.policy, sentence.means.journal, sentence.turn, sentence.chat_log, None
        )
        return Done(said=answer)
    change = change_in(text, code, dt_util.now())
    if change is None or len(cancelled) > 1 or change.words or change.kinds or change.sign or names_of(sentence):
        return NotMine()
    if not (change.sets or change.moves or change.is_instead) or reminder_in(change.rest, code) is not None:
        return NotMine()
    [wish] = cancelled
    when = at_another_time(sentence, wish, change)
    if when is None or wish.asks or wish.ends:
        return NotMine()
    again = replace(new_wish(sentence, wish.kind, wish.words, wish.text, when), steps=wish.steps)
    again = replace(again, registered=registered(sentence.hass, again))
    return await async_made(sentence, [again], await async_promise(sentence.hass, sentence.turn, again))


def _undoes(text: str, code: str) -> bool:
    """Return whether a text takes back what was just done."""
    return any(asked_of(plain, code) is SelfQuestion.UNDO for plain in (text, *reworded(text, code)))


async def answer_at_same_time(sentence: Sentence) -> Result:
    """Read "at the same time" as the time of what was just spoken of."""
    nots = {word for said in data_of(sentence.language.code).planning.nots for word in words_of(said)}
    if (plain := at_same_time(sentence)) is None or not nots.isdisjoint(words_of(plain)):
        return NotMine()
    for said in dict.fromkeys((plain, as_another(plain, sentence.language.code))):
        for read in _MAKING:
            result = await read(sentence.saying(said))
            if not isinstance(result, NotMine):
                return result
    return NotMine()
