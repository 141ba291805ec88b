"""What is said beside a wish: sentences without what only tells, calls or fills, which are read where the whole is not understood."""

from collections.abc import AsyncIterator
from itertools import islice

from homeassistant.util import dt as dt_util

from ..languages.asides import wanted_in
from ..languages.later import LaterKind, later_in
from ..languages.moods import MoodKind, mood_of
from ..languages.reasons import Introduced, Reasoned, introduced_in
from ..languages.said_moments import says_day
from ..support.text import words_of
from .reasons import async_says_why
from .sentences import Sentence
from .wished import async_is_nothing

_MOST_READ = 6  # ways to leave out what is told


async def async_without_asides(sentence: Sentence) -> AsyncIterator[Sentence]:
    """Yield a sentence without what its first and last parts only tell: "I'm having a nap, wake me in forty minutes"."""
    text, code = sentence.turn.text, sentence.language.code
    found = introduced_in(text, code)
    if found is not None and await _async_is_told(sentence, found):
        yield sentence.saying(found.wanted)
    for other in islice(wanted_in(text, code), _MOST_READ):
        is_later = any(one.kind is not LaterKind.VAGUE for one in later_in(other.wanted, code))
        if is_later and await _async_names_nothing(sentence, other):
            yield sentence.saying(other.wanted)


async def _async_is_told(sentence: Sentence, found: Introduced) -> bool:
    """Return whether the parts of a sentence that are known to tell something want nothing.

    A time or a day among these has to be said again in what is wanted: it may be meant there as well.
    """
    code = sentence.language.code
    aside = {one.kind for part in found.told for one in later_in(part, code)} - {LaterKind.VAGUE}
    own = {one.kind for one in later_in(found.wanted, code)}
    if not own or not aside <= {LaterKind.CLOCK, LaterKind.SPAN, LaterKind.DAY, LaterKind.LASTING}:
        return False
    if aside and own.isdisjoint({LaterKind.CLOCK, LaterKind.SPAN, LaterKind.EVENT}):
        return False
    if LaterKind.DAY in aside and LaterKind.SPAN not in own and not says_day(found.wanted, code, dt_util.now()):
        return False
    for part in found.told:
        mood = mood_of(part, code)
        is_mood = mood is not None and mood.kind is not MoodKind.WISH  # "I'm cold": what helps is said
        if not is_mood and not await async_is_nothing(sentence, part):
            return False
    return True


async def _async_names_nothing(sentence: Sentence, found: Introduced) -> bool:
    """Return whether clauses name nothing and no one of the home that what is wanted does not name, and nothing can be done of them."""
    wanted = set(words_of(found.wanted))
    for clause in found.told:
        if not (set(words_of(clause)) - wanted).isdisjoint(_people(sentence)):
            return False
        if not await async_says_why(sentence, Reasoned(found.wanted, clause)):
            return False
        if not await async_is_nothing(sentence, clause):
            return False
    return True


def _people(sentence: Sentence) -> frozenset[str]:
    """Return the words of the names of the people of the home."""
    people = sentence.hass.states.async_all("person")
    return frozenset(word for state in people for word in words_of(state.name))
