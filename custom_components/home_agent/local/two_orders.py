"""A beginning and its end, each as an order of its own: "fan on, and off again after two hours", "lamp on at eight and at ten off again"."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from homeassistant.util import dt as dt_util

from ..languages.enumerations import cuts_of
from ..languages.later import later_in
from ..languages.planning import names_all
from ..languages.reminders import without_then
from ..languages.said_moments import says_day
from ..languages.timing import Timed, timed_in
from ..wishes.wish import Step
from .later import named_in
from .planning import async_does, async_plan
from .returning import steps_back
from .sentences import Sentence

_MOST_CUTS = 4


async def async_two_orders(sentence: Sentence, named: Sequence[str]) -> Timed | None:
    """Return a sentence of two orders, of which the second takes back the first and says when, as one that is for a while.

    What is to be done first is for now where it says no time. None for all other sentences.
    """
    text, code = sentence.turn.text, sentence.language.code
    for front, behind in islice(cuts_of(text, code), _MOST_CUTS):
        if not later_in(behind, code, named):
            continue
        begun = _timed(front, code, named, dt_util.now())
        if begun is None or not begun.rest or begun.back is not None or (begun.moment is not None and begun.moment.sun):
            continue
        start = begun.moment.at if begun.moment is not None and not says_day(behind, code, dt_util.now()) else None
        ended = _timed(behind, code, named, start or dt_util.now())
        if ended is None or not ended.rest or (ended.moment is None) == (not ended.clauses) or ended.back is not None:
            continue
        if len(ended.clauses) > 1 or any(clause.is_if or clause.negated or clause.until for clause in ended.clauses):
            continue
        is_of_all = names_all(ended.rest, code) and not names_all(begun.rest, code)
        if is_of_all or not {*named_in(sentence.saying(ended.rest))} <= {*named_in(sentence.saying(begun.rest))}:
            continue  # "turn off the TV and the radio on at ten", "fan on and at ten everything off"
        planned = await async_plan(sentence, begun.rest)
        back = steps_back(sentence.hass, planned.calls) if not any(step.command for step in planned.steps) else ()
        if back and await _async_takes_back(sentence, without_then(ended.rest, code), back):
            ends = tuple(replace(clause, until=True) for clause in ended.clauses)
            words = f"{begun.words} {ended.words}".strip()
            return replace(begun, back=ended.moment, clauses=(*begun.clauses, *ends), words=words)
    return None


async def _async_takes_back(sentence: Sentence, text: str, back: Sequence[Step]) -> bool:
    """Return whether an order says what steps do of what they are for, and alone means nothing else."""
    alone, targets = await async_plan(sentence, text), {item for step in back for item in step.targets}
    if not targets.issuperset((*alone.targets, *alone.candidates)):
        return False
    return await async_does(sentence, text, back)


def _timed(text: str, code: str, named: Sequence[str], now: datetime) -> Timed | None:
    """Return the likeliest reading of a part that is understood; of one that is for now the part itself."""
    if not later_in(text, code, named):
        return Timed(rest=text.strip(" ,.;:"))
    readings = timed_in(text, code, now, named)
    return next((one for one in readings if not (one.unread or one.forever or one.window or one.then)), None)
