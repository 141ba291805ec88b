"""A beginning and its end, each as an order of its own: "fan on, and off again after two hours", "lamp on at eight and at ten off again"."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from homeassistant.util import dt as dt_util

from ..languages.enumerations import cuts_of
from ..languages.later import later_in
from ..languages.reminders import without_then
from ..languages.said_moments import says_day
from ..languages.timing import Timed, timed_in
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
        planned = await async_plan(sentence, begun.rest)
        back = steps_back(sentence.hass, planned.calls) if not any(step.command for step in planned.steps) else ()
        if back and await async_does(sentence, without_then(ended.rest, code), back):
            ends = tuple(replace(clause, until=True) for clause in ended.clauses)
            words = f"{begun.words} {ended.words}".strip()
            return replace(begun, back=ended.moment, clauses=(*begun.clauses, *ends), words=words)
    return None


def _timed(text: str, code: str, named: Sequence[str], now: datetime) -> Timed | None:
    """Return the likeliest reading of a part that is understood; of one that is for now the part itself."""
    if not later_in(text, code, named):
        return Timed(rest=text.strip(" ,.;:"))
    readings = timed_in(text, code, now, named)
    return next((one for one in readings if not (one.unread or one.forever or one.window or one.then)), None)
