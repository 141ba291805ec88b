"""When a wish is due, as it was said: a moment, the sun, or what happens in the home, with conditions."""

from collections.abc import Sequence
from dataclasses import replace

from homeassistant.util import dt as dt_util

from ..languages.said_moments import SaidMoment
from ..languages.timing import Clause, Timed
from ..support.text import words_of
from ..wishes.when import SunEvent, Watch, When
from .clauses import async_read_clause
from .sentences import Sentence

NOT_WHEN = "planned_not_when"
NOT_WHAT = "planned_not_what"
NOT_KNOWN = "planned_not_known"
SEVERAL = "planned_several"
TWO_WHENS = "planned_two_whens"
NO_END = "planned_no_end"
ENDS_FIRST = "planned_ends_first"
"""Sentences that say why no wish is made, and what would help."""


class NotUnderstood(Exception):
    """A reading of a sentence that makes no wish: the words that are not understood, and the sentence that says why."""

    def __init__(self, words: str, why: str = NOT_WHAT) -> None:
        """Take both."""
        super().__init__(words)
        self.words = words
        self.why = why


def end_of(timed: Timed) -> Clause | None:
    """Return the clause that ends what is done: "until the washer is done"."""
    return next((clause for clause in timed.clauses if clause.until), None)


async def async_when_of(sentence: Sentence, timed: Timed) -> When:
    """Return when a reading is due, with its conditions. Raises `NotUnderstood` with the clause that is not understood."""
    moment = timed.moment or (timed.back if timed.back is not None and timed.back.seconds else None)
    clauses = [clause for clause in timed.clauses if not clause.until]
    event: Watch | None = None
    delay = 0
    conditions: list[Watch] = []
    words: list[str] = []
    for clause in clauses:
        is_event = timed.moment is None and event is None and not clause.negated and not _follows_event(clause, clauses)
        if clause.delay and not is_event:
            raise NotUnderstood(clause.words, TWO_WHENS)
        watch = await async_watch(sentence, clause, is_event=is_event)
        words.append(within(sentence, clause.words))
        if is_event:
            event, delay = watch, clause.delay
        else:
            conditions.append(watch)
    if event is not None:
        return When(event=event, delay=delay, conditions=tuple(conditions), words=within(sentence, timed.words))
    if moment is None or (moment.sun and any(not (clause.is_if or clause.negated) for clause in clauses)):
        raise NotUnderstood(timed.words, TWO_WHENS)  # it is not known which is waited for
    when = at_moment(sentence, moment)
    return replace(when, conditions=tuple(conditions), words=", ".join(words) if words else when.words)


def within(sentence: Sentence, words: str) -> str:
    """Return words as they stand within a sentence: without the capital letter of its first word."""
    is_first = sentence.turn.text.strip().startswith(words.split(maxsplit=1)[0]) if words else False
    return words[:1].lower() + words[1:] if is_first and len(words_of(words)) > 1 else words


def _follows_event(clause: Clause, clauses: Sequence[Clause]) -> bool:
    """Return whether a condition stands beside something that happens: "when Anna arrives, if it is dark"."""
    return clause.is_if and any(not other.is_if for other in clauses)


async def async_watch(sentence: Sentence, clause: Clause, *, is_event: bool) -> Watch:
    """Return what a clause waits for or looks at. Raises `NotUnderstood`."""
    read = await async_read_clause(sentence, clause.text, is_event=is_event)
    if read is None:
        raise NotUnderstood(clause.words, NOT_KNOWN)
    return replace(read.watch, negated=read.watch.negated is not clause.negated)


def at_moment(sentence: Sentence, moment: SaidMoment) -> When:
    """Return when a moment is."""
    if not moment.sun:
        return When(at=dt_util.as_utc(moment.at), wall=moment.wall, words=moment.words)
    when = When(sun=SunEvent(moment.sun), offset=moment.offset, words=within(sentence, moment.words))
    after = max(dt_util.as_utc(moment.at), dt_util.utcnow())
    return when.settled(sentence.hass, after, dt_util.get_default_time_zone())
