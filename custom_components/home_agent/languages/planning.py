"""Wishes for later as people speak of them: what is waiting, that it is to be at another time, and that it is not to be done any more."""

from dataclasses import dataclass
from enum import Enum
from functools import cache
import re

from ..support.text import MAX_TEXT, unmarked, words_of
from .data import ENGLISH, code_of, data_of
from .later import LaterKind, without_times
from .phrases import is_asking

MAX_ASKED = 120
"""Characters of a question about a timer or an order to change something; a longer text says something else."""


class PlanningKind(Enum):
    """What a sentence wants to do with commands for later."""

    LIST = "list"
    CANCEL = "cancel"
    CHANGE = "changes"
    """It is to be at another time, or by so much later or earlier."""
    LEFT = "left"
    """How long a timer has."""
    STOP = "stops"
    """A timer or an alarm is to end."""
    ADD = "adds"
    TAKE = "takes"
    """A timer is to have more time, or less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """A sentence about commands for later."""

    kind: PlanningKind
    is_all: bool = False
    is_latest: bool = False  # whether it is about the one that was left last
    is_sure: bool = True  # whether it can mean nothing else, also where nothing is named
    is_needless: bool = False  # whether it only denies a wish; what is named has to be the command as it was said
    words: tuple[str, ...] = ()
    """The folded words for what is to be cancelled; empty for the last one."""


def planning_of(text: str, language: str) -> Planning | None:
    """Return what a sentence wants to do with commands for later; English is understood in every language."""
    if len(text) > MAX_TEXT:
        return None
    said = " ".join(text.casefold().strip(" ?¿!.").split())
    for code in dict.fromkeys((code_of(language), ENGLISH)):
        if any(re.fullmatch(pattern, said) for pattern in data_of(code).planning.lists):
            return Planning(kind=PlanningKind.LIST)
        if (found := _cancelled(text, code)) is not None:
            return None if not found.is_needless and _keeps(text, found.words, code) else found
    return None


def asked_in(text: str, language: str, *kinds: PlanningKind) -> Planning | None:
    """Return what a whole text asks of wishes in one of some ways; of a change and of more or less time without its words for these."""
    said = " ".join(text.split()).strip(" ,.!?¿¡")
    if len(said) > MAX_ASKED:
        return None
    for code in dict.fromkeys((code_of(language), ENGLISH)):
        for kind in kinds:
            for pattern in _asking(code, kind):
                if (match := pattern.fullmatch(said)) is not None:
                    name = (match.groupdict().get("name") or "").strip(" -,")
                    return Planning(kind=kind, words=_without_last(words_of(name), code))
    return None


def delay_in(text: str, language: str) -> int:
    """Return 1 where a text moves something to later, -1 to earlier, and 0 where it says neither."""
    said = f" {' '.join(words_of(text))} "
    for code in dict.fromkeys((code_of(language), ENGLISH)):
        words = data_of(code).planning
        for sign, listed in ((1, words.after), (-1, words.before)):
            if any(f" {' '.join(words_of(phrase))} " in said for phrase in listed):
                return sign
    return 0


def names_kind(words: tuple[str, ...], language: str) -> tuple[str, ...]:
    """Return words without those for a kind of what waits: "the reminder about the dentist"."""
    kinds = {word for text in data_of(code_of(language)).planning.reminders for word in words_of(text)}
    return tuple(word for word in words if word not in kinds)


def _without_last(words: tuple[str, ...], code: str) -> tuple[str, ...]:
    """Return words without those that name nothing: "that", "the"."""
    nothing = {word for text in data_of(code).planning.last for word in words_of(text)}
    return () if nothing.issuperset(words) else words


@cache
def _asking(code: str, kind: PlanningKind) -> tuple[re.Pattern[str], ...]:
    words = data_of(code).planning
    listed = {
        PlanningKind.CHANGE: words.changes, PlanningKind.LEFT: words.left, PlanningKind.STOP: words.stops,
        PlanningKind.ADD: words.adds, PlanningKind.TAKE: words.takes,
    }[kind]  # fmt: skip
    return tuple(re.compile(unmarked(pattern, data_of(code).later.unmarked), re.IGNORECASE) for pattern in listed)


def keeps_planned(text: str, language: str) -> bool:
    """Return whether a sentence speaks of cancelling and wants something to stay: "don't cancel it"."""
    if len(text) > MAX_TEXT:
        return False
    found = ((_cancelled(text, code), code) for code in dict.fromkeys((code_of(language), ENGLISH)))
    return any(one is not None and _keeps(text, one.words, code) for one, code in found)


def _keeps(text: str, rest: tuple[str, ...], code: str) -> bool:
    """Return whether a sentence that has a word for cancelling denies it, leaves something out or asks why.

    `rest` is what is left of it without the words for cancelling: "better not" has a "not" and cancels.
    """
    words = data_of(code).planning
    cancelling = {word for listed in (*words.cancels, *words.drops) for word in words_of(listed)}
    whole, keeps = words_of(text), {words_of(listed) for listed in words.keeps} - {()}
    if whole[0] in cancelling and whole[-1:] in keeps:  # "vergiss das nicht"
        return True
    for phrase in keeps:
        said = rest if len(phrase) == 1 or cancelling.isdisjoint(phrase) else whole
        if any(said[at : at + len(phrase)] == phrase for at in range(len(said) - len(phrase) + 1)):
            return True
    return False


def _cancelled(text: str, code: str) -> Planning | None:
    timeless = _read_cancelling(words_of(without_times(text, code, LaterKind.CLOCK, LaterKind.DAY)), code)
    if timeless is not None and timeless.is_needless:
        return None if is_asking(text, code) else timeless
    return _read_cancelling(words_of(text), code)


def _read_cancelling(words: tuple[str, ...], code: str) -> Planning | None:
    rest, said, known = list(words), set[str](), frozenset(words)
    for phrase, names in _planning_phrases(code):
        if not known.issuperset(phrase):  # most phrases: none of their places is looked at
            continue
        at = 0
        while at <= len(rest) - len(phrase):
            if tuple(rest[at : at + len(phrase)]) == phrase:
                del rest[at : at + len(phrase)]
                said |= names
            else:
                at += 1
    is_needless = "needless" in said and said.isdisjoint(("cancels", "drops"))
    if said.isdisjoint(("cancels", "drops", "needless")) and not ("weak" in said and said & {"plans", "kinds"}):
        return None
    return Planning(
        kind=PlanningKind.CANCEL,
        is_all="all" in said and not is_needless,
        is_latest="latest" in said,
        is_sure=not is_needless and not said.isdisjoint(("cancels", "plans", "kinds")),
        is_needless=is_needless,
        words=tuple(rest),
    )


@cache
def _planning_phrases(code: str) -> tuple[tuple[tuple[str, ...], frozenset[str]], ...]:
    """Return the phrases of a language, the longest first, each with the names of the lists that it is in."""
    words = data_of(code).planning
    lists = {
        "cancels": words.cancels, "drops": words.drops, "weak": words.weak, "plans": words.plans, "last": words.last, "all": words.all,
        "latest": words.latest, "needless": words.needless, "kinds": words.reminders,
    }  # fmt: skip
    names: dict[tuple[str, ...], set[str]] = {}
    for name, listed in lists.items():
        for phrase in {words_of(text) for text in listed} - {()}:
            names.setdefault(phrase, set()).add(name)
    longest = sorted(names.items(), key=lambda one: len(one[0]), reverse=True)
    return tuple((phrase, frozenset(each)) for phrase, each in longest)
