"""When a wish is due, as it was said: a moment, the sun, or what happens in the home, with conditions."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from homeassistant.util import dt as dt_util

from ..languages.changes import is_one_more, without
from ..languages.clause_cuts import halves_of
from ..languages.repeated import says_state
from ..languages.said_moments import SaidMoment
from ..languages.timing import Clause, Timed
from ..support.text import words_of
from ..wishes.when import SunEvent, Watch, When
from .clauses import async_read_clause
from .sentences import Sentence
from .wishes_meant import on_its_day, spoken_of_last

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
    delay, stays = 0, False
    conditions: list[Watch] = []
    words: list[str] = []
    for clause in clauses:
        is_event = timed.moment is None and event is None and not clause.negated and not _follows_event(clause, clauses)
        if (clause.delay or clause.lasting) and (not is_event or (clause.delay and clause.lasting)):
            raise NotUnderstood(clause.words, TWO_WHENS)
        words.append(within(sentence, clause.words))
        if is_event:
            event, more = await _async_event(sentence, clause)
            conditions += more
            delay, stays = clause.delay or clause.lasting, bool(clause.lasting)
        else:
            conditions += await _async_conditions(sentence, clause)
    if event is not None:
        when = When(event=event, delay=delay, stays=stays, daylight=timed.daylight, conditions=tuple(conditions))
        return replace(_in_window(when, timed.window), words=within(sentence, timed.words))
    if moment is None or timed.window or (moment.sun and any(not (one.is_if or one.negated) for one in clauses)):
        raise NotUnderstood(timed.words, TWO_WHENS)  # it is not known which is waited for
    if timed.moment is not None and _may_delay(sentence.turn.text, timed.moment, clauses):
        raise NotUnderstood(timed.words, TWO_WHENS)
    before = spoken_of_last(sentence) if is_one_more(sentence.turn.text, sentence.language.code) else None
    when = at_moment(sentence, on_its_day(sentence, moment, before) if before is not None else moment)
    if not words and timed.daylight is not None:
        words = [without(within(sentence, timed.words), moment.words).strip(" ,")]
    return replace(when, daylight=timed.daylight, conditions=tuple(conditions), provided=tuple(words))


def _in_window(when: When, window: tuple[datetime, datetime] | None) -> When:
    """Return when it is due if what happens counts in some time only."""
    if window is None:
        return when
    since, until = map(dt_util.as_utc, window)
    return replace(when, since=since if since > dt_util.utcnow() else None, until=until)


async def _async_event(sentence: Sentence, clause: Clause) -> tuple[Watch, list[Watch]]:
    """Return what is waited for, and what has to be so then: "Anna comes home and no one else is there". Raises `NotUnderstood`."""
    if (read := await async_read_clause(sentence, clause.text, is_event=True)) is not None:
        return read.watch, []
    if not clause.is_if:
        for first, second in halves_of(clause.text, sentence.language.code):
            event = await async_read_clause(sentence, first, is_event=True)
            condition = await async_read_clause(sentence, second, is_event=False) if event is not None else None
            if event is not None and condition is not None:
                return event.watch, [condition.watch]
    raise NotUnderstood(clause.words, NOT_KNOWN)


async def _async_conditions(sentence: Sentence, clause: Clause) -> list[Watch]:
    """Return what has to be so, of a clause or of each of its halves. Raises `NotUnderstood`."""
    try:
        return [await async_watch(sentence, clause, is_event=False)]
    except NotUnderstood:
        for halves in halves_of(clause.text, sentence.language.code) if not clause.negated else ():
            found = [await async_read_clause(sentence, half, is_event=False) for half in halves]
            if all(found):
                return [read.watch for read in found if read is not None]
        raise


async def async_both_of(sentence: Sentence, clause: Clause) -> tuple[Watch, ...]:
    """Return what has to be so at once, of a clause both of whose halves say how something is; empty for others."""
    code = sentence.language.code
    if await async_read_clause(sentence, clause.text, is_event=True) is not None:
        return ()
    for halves in halves_of(clause.text, code):
        if all(says_state(half, code) for half in halves):
            found = [await async_read_clause(sentence, half, is_event=False) for half in halves]
            if all(found):
                return tuple(read.watch for read in found if read is not None)
    return ()


def within(sentence: Sentence, words: str) -> str:
    """Return words as they stand within a sentence: without the capital letter of its first word."""
    is_first = sentence.turn.text.strip().startswith(words.split(maxsplit=1)[0]) if words else False
    return words[:1].lower() + words[1:] if is_first and len(words_of(words)) > 1 else words


def _may_delay(text: str, moment: SaidMoment, clauses: Sequence[Clause]) -> bool:
    """Return whether a length behind something that happens may be how long after it: "when it is done, give it ten minutes"."""
    at = text.find(moment.words) if moment.seconds else -1
    return any(not (clause.is_if or clause.negated) and -1 < text.find(clause.words) < at for clause in clauses)


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
