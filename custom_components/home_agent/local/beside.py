"""Wishes with a remark beside them: "I'm free tomorrow, cancel the alarm"."""

from collections.abc import Awaitable, Callable, Sequence
import re

from ..languages.changes import as_another, does_something, is_one_more
from ..languages.later import later_in, without_times
from ..languages.phrases import ReplyKind, is_order, is_question, is_remark, read_answer
from ..languages.planning import denies, planning_of
from ..languages.reminders import ReminderKind, reminder_in
from ..languages.spoken_numbers import words_in
from ..languages.times import numbers_in
from ..support.text import words_of
from .changing import answer_changed
from .further import answer_corrected, answer_further
from .later import named_in
from .planned import answer_planned
from .rewording import answer_reworded
from .sentences import NotMine, Result, Sentence
from .timers import answer_timer
from .wishing import answer_wish

type ReadsPart = Callable[[Sentence], Awaitable[Result]]
_MOST_PARTS = 4
_LEAST_WORDS = 2  # of what is stated beside a time
_LEAST_STATED = 4  # words
_BETWEEN = re.compile(r"[,;.!?]\s+|\s[-–—]\s+")


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


_OF_WAITING: tuple[ReadsPart, ...] = (answer_planned, answer_changed, answer_reworded)
_MAKING: tuple[ReadsPart, ...] = (answer_wish, answer_further, answer_corrected)
"""Readers that make wishes: nothing that is said beside these may be a part of them."""
