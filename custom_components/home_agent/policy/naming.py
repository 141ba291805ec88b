"""What a thing may be called: a name is neither what other things are called nor a command, and looks like no other name."""

from collections.abc import Iterable
from functools import partial
import unicodedata

from homeassistant.core import HomeAssistant

from ..home.actions import GROUP
from ..home.domains import DOMAINS, RUNNERS, UNKNOWN, domains_where
from ..home.judgement import judge_named
from ..home.names import NameIndex
from ..home.taught_names import AREA, FLOOR
from ..languages.data import ENGLISH, code_of
from ..languages.everywhere import kinds_in, rooms_everywhere
from ..languages.phrases import is_order, is_question
from ..languages.vocabulary import Language
from ..support.nearness import distance
from ..support.quoting import bare
from ..support.text import fold, runs

_JOINERS = "\u200c\u200d"
"""They are a part of words in some scripts."""
_ALPHABETS = frozenset({"LATIN", "CYRILLIC", "GREEK", "CHEROKEE", "ARMENIAN", "COPTIC", "GEORGIAN"})
"""Alphabets with letters that look alike: a word is written in one of them."""
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһӏνοαικρτυх01!|5",
    "aeopcyxijsdhlvoaikptuxolils",
)
_PAIRS = (("rn", "m"), ("vv", "w"))
_THINGS = frozenset({".tv", ".speaker", ".outlet"})
_STANDS_FOR = domains_where(lambda record: record.stands_for) | {GROUP}
_MISTYPED = 2  # letters
_LONG = 6  # letters of a name that can be mistyped


def has_wrong_letters(name: str) -> bool:
    """Return whether a name has something invisible in it, or a word with letters of several alphabets."""
    without = "".join(sign for sign in name if sign not in _JOINERS)
    if bare(without) != without:
        return True
    for word in without.split():
        letters = (sign for sign in word if sign.isalpha() and not sign.isascii())
        found = {unicodedata.name(sign, "").partition(" ")[0] for sign in letters} & _ALPHABETS
        if len(found | ({"LATIN"} if any(sign.isascii() and sign.isalpha() for sign in word) else set())) > 1:
            return True
    return False


def reads_like_a_command(name: str, language: str) -> bool:
    """Return whether a name asks or begins like a command, in the language or in English."""
    codes = dict.fromkeys((code_of(language), ENGLISH))
    return any(is_order(name, code) and len(name.split()) > 1 for code in codes) or any(
        is_question(name, code) for code in codes
    )


def looks_like(names: NameIndex, target: str, name: str, *, mistyped: bool) -> str | None:
    """Return another thing of the home whose name this one can be taken for, None if there is none; `mistyped`: also with a slip."""
    looks = _look(name)
    for subject, called in names.labels.items():
        for other in () if subject == target else called:
            seen = _look(other)
            is_slip = mistyped and min(len(looks), len(seen)) >= _LONG and abs(len(looks) - len(seen)) <= _MISTYPED
            if seen == looks or (is_slip and distance(seen, looks) <= _MISTYPED):
                return subject
    return None


def is_guarded(hass: HomeAssistant, target: str) -> bool:
    """Return whether what a target does needs a yes: it locks, opens, arms or starts something that does."""
    return not target.startswith((AREA, FLOOR)) and bool(judge_named(hass, (target,)).reasons)


async def async_names_another_kind(
    hass: HomeAssistant, target: str, name: str, language: Language, own_names: Iterable[str], *, guarded: bool
) -> bool:
    """Return whether a name is what things of another kind, or rooms, are called.

    What is guarded has to be called by what it is, or by a word of its own names.
    """
    words = [fold(word) for word in runs(name)]
    looks = [fold(word) for word in runs(_look(name))]
    kinds = await hass.async_add_executor_job(partial(kinds_in, words))
    kinds = {**await hass.async_add_executor_job(partial(kinds_in, looks)), **kinds}
    rooms = await hass.async_add_executor_job(rooms_everywhere)
    domain = "" if target.startswith((AREA, FLOOR)) else target.partition(".")[0]
    like = DOMAINS.get(domain, UNKNOWN).called_like
    fits = like or ((domain,) if domain else ())
    fitting = {word for word, found in kinds.items() if any(kind.startswith(fits) for kind in found)} if fits else set()
    things = {word for word, found in kinds.items() if any(_is_thing(kind) for kind in found)} - fitting
    here = {word for word in things if any(map(language.is_noun, word.split()))}  # of the language that is spoken
    if guarded and like:
        own = {fold(word) for one in own_names for word in runs(one) if len(word) > 2}
        return bool(here) or not (fitting or own.intersection(words) - rooms)
    if guarded or not domain:
        return bool(here) and not fitting and all(_says_nothing(word, here, rooms, language) for word in words)
    is_generic = all(_says_nothing(word, here, rooms, language) for word in words)
    return bool(here) and is_generic and not fitting and domain not in _STANDS_FOR | RUNNERS


def _says_nothing(word: str, things: Iterable[str], rooms: frozenset[str], language: Language) -> bool:
    return any(word in thing.split() for thing in things) or word in rooms or word in language.fillers


def _is_thing(kind: str) -> bool:
    return kind in _THINGS or not (kind.startswith(".") or DOMAINS.get(kind, UNKNOWN).says_little)


def _look(name: str) -> str:
    """Return what a name looks like in small Latin letters."""
    text = unicodedata.normalize("NFKC", name).casefold().translate(_LOOKALIKES)
    for pair, letter in _PAIRS:
        text = text.replace(pair, letter)
    return " ".join(map(fold, runs(text)))
