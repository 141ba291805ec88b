"""What stands beside an order for later and wants nothing: who is spoken to, why it is wanted, what else is going on.

A text is cut into clauses. Whether one of them is only told is decided by what it does not have: no verb of an order, no time, no
condition, nothing that corrects, excepts or adds. So no clause has to be listed. What the order is for is not known here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
import re

from ..support.nearness import is_slip
from ..support.patterns import any_of
from ..support.text import MAX_TEXT, fold, words_of
from .clause_cuts import joins_of, marks_of
from .data import code_of, data_of
from .later import is_indefinite, later_in
from .moods import MoodKind, mood_of
from .phrases import is_asking, is_order
from .reasons import Introduced, parts_of, reports, without_hence

_MOST_CLAUSES = 8
_MOST_WORDS = 20  # of one clause
_SIGNS = " \t,;:.!?¿¡…–—-"
_CUTS = ",;:.!?…"
_OPENERS = ("if", "when", "unless", "until_when", "after_when")
_MOST_THEN = 4  # words of "then" with who does something
_NEAR = 4  # letters of a word that may be a mistyped time
_ESCAPED = re.compile(r"\\\w")
_LETTERS = re.compile(r"[^\W\d_]+")


def wanted_in(text: str, language: str) -> Iterator[Introduced]:
    """Yield what a text may want without clauses that want nothing, with as many clauses left in it as can be first.

    Nothing in a language without words for it.
    """
    code = code_of(language)
    if not data_of(code).asides.orders or len(text) > MAX_TEXT:
        return
    plain = without_calls(text, code)
    if plain != text.strip():
        yield Introduced(plain, ())
    parts = parts_of(plain, code, _CUTS, tuple(data_of(code).asides.joins))
    clauses = [clause for part in parts if (clause := part.strip())]
    if not 1 < len(clauses) <= _MOST_CLAUSES:
        return
    told = [_wants_nothing(clause, code) for clause in clauses]
    for left in range(1, len(clauses)):
        for front in range(left + 1):
            behind = len(clauses) - (left - front)
            if all(told[:front]) and all(told[behind:]):
                wanted = without_calls(_begun("".join(_spaced(clauses[front:behind])), code, is_first=not front), code)
                yield Introduced(wanted, tuple(_bare(clause) for clause in (*clauses[:front], *clauses[behind:])))


def without_calls(text: str, language: str) -> str:
    """Return a text without what only calls or fills in front of it and behind it: "bro", "hoor", "and that's that"."""
    code, said = code_of(language), text.strip()
    front, behind = _calls(code)
    while True:
        shorter = behind.sub("", front.sub("", said))
        if shorter == said or not words_of(shorter):
            return said
        said = shorter


def _spaced(clauses: Iterable[str]) -> Iterator[str]:
    for at, clause in enumerate(clauses):
        yield f" {clause}" if at else clause


def _bare(clause: str) -> str:
    return clause.strip(_SIGNS)


def _begun(wanted: str, code: str, *, is_first: bool) -> str:
    """Return what is wanted without the word that leads to it from what is told in front: "so"."""
    said = wanted.strip().rstrip(",;:–—- ")
    return said if is_first else without_hence(said.lstrip(_SIGNS), code)


def _wants_nothing(clause: str, code: str) -> bool:
    """Return whether a clause has nothing of an order, a time, a condition or a correction in it."""
    said, patterns = _bare(clause).casefold(), _patterns(code)
    joined = patterns.joins.match(said)
    rest = said[joined.end() :].strip() if joined else said
    words = tuple(words_of(rest))
    if not words or len(words) > _MOST_WORDS or is_asking(clause, code) or is_order(rest, code):
        return False
    if words[-1:] in joins_of(code):  # "TV off and"
        return False
    is_own = any(word in patterns.selves for word in words)  # "then I'll ...", "dann räum ich aus"
    follows = words[0] in patterns.thens and not (
        patterns.selves.isdisjoint(words[1:3]) and patterns.others.isdisjoint(words[1:_MOST_THEN])
    )
    if not follows and reports(said, code):
        return False
    if joined is None and not follows and (patterns.begins.match(said) or _opens(words, code)):
        return False
    if patterns.keeps.search(rest) or _has_order(words, patterns) or (words[-1] in patterns.ends and not is_own):
        return False
    if any(not is_indefinite(one, code) for one in later_in(rest, code)) or _is_near_time(words, code):
        return False
    mood = mood_of(rest, code)
    return mood is None or mood.kind is not MoodKind.WISH


def _has_order(words: tuple[str, ...], patterns: _AsidePatterns) -> bool:
    """Return whether a verb of an order is among words that is not what the one who speaks does: "dann hol ich die Kinder"."""
    return any(
        word in patterns.orders and patterns.selves.isdisjoint((*words[max(at - 1, 0) : at], *words[at + 1 : at + 2]))
        for at, word in enumerate(words)
    )


def _opens(words: tuple[str, ...], code: str) -> bool:
    """Return whether words begin with a condition or an event, or with what joins more to an order."""
    marks = marks_of(code)
    begins = [*(one for name in _OPENERS for one in marks.get(name, ())), *joins_of(code)]
    return any(words[: len(one)] == one for one in begins if one)


def _is_near_time(words: tuple[str, ...], code: str) -> bool:
    """Return whether a clause of few words has one that may be a mistyped time: "tomorow, ..."."""
    if len(words) > 2:
        return False
    return any(len(word) >= _NEAR and is_slip(word, time) for word in words for time in _times(code))


@cache
def _times(code: str) -> frozenset[str]:
    """Return the words of times, as they stand in the patterns for them."""
    words = data_of(code).later
    listed = (*words.parts.values(), *words.vague, *words.day, *words.clock, *words.span, *words.repeated)
    plain = (_ESCAPED.sub(" ", pattern) for pattern in listed)
    return frozenset(fold(word.casefold()) for text in plain for word in _LETTERS.findall(text) if len(word) >= _NEAR)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AsidePatterns:
    joins: re.Pattern[str]
    """Words that a reason or a consequence begins with."""
    begins: re.Pattern[str]
    """How a correction begins."""
    keeps: re.Pattern[str]
    orders: frozenset[str]
    ends: frozenset[str]
    """Last words of orders without a verb: "on"."""
    selves: frozenset[str]
    """Words for the one who speaks."""
    others: frozenset[str]
    """Words for other people, of whom it is told what they do then: "then she can see"."""
    thens: frozenset[str]


@cache
def _patterns(code: str) -> _AsidePatterns:
    data = data_of(code)
    words = data.asides
    joins = (*data.reasons.joins, *words.joins)
    orders = {word for phrase in words.orders for word in words_of(phrase)}
    ends = {words_of(state)[-1] for listed in data.questions.states.values() for state in listed if words_of(state)}
    return _AsidePatterns(
        joins=re.compile(rf"(?:{any_of(joins)})(?!\w)[\s,]*", re.IGNORECASE),
        begins=re.compile(rf"(?:{any_of(words.corrects)})(?!['’]?\w)", re.IGNORECASE),
        keeps=re.compile(rf"(?<!\w)(?:{any_of(words.keeps)})(?!\w)", re.IGNORECASE),
        orders=frozenset(orders),
        selves=frozenset(word for phrase in words.selves for word in words_of(phrase)),
        others=frozenset(word for phrase in words.others for word in words_of(phrase)),
        thens=frozenset(word for phrase in data.planning.thens for word in words_of(phrase)),
        ends=frozenset(ends | {word for phrase in words.ends for word in words_of(phrase)}),
    )


@cache
def _calls(code: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = data_of(code).asides
    front, behind = any_of(words.calls), any_of((*words.tails, *words.calls))
    return (
        re.compile(rf"^[\s¡¿]*(?:{front})(?!\w)[\s,!.:;–—-]+", re.IGNORECASE),
        re.compile(rf"[\s,¿¡]+(?:{behind})[\s,!.?]*$", re.IGNORECASE),
    )
