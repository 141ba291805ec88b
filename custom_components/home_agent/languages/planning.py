"""Commands for later as people speak of them: when, what is waiting, and that it is not to be done any more."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
import re

from ..support.text import MAX_TEXT, words_of
from .data import ENGLISH, code_of, data_of


class PlanningKind(Enum):
    """What a sentence wants to do with commands for later."""

    LIST = "list"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """A sentence about commands for later."""

    kind: PlanningKind
    is_all: bool = False
    is_sure: bool = True  # whether it can mean nothing else, also where nothing is named
    words: tuple[str, ...] = ()
    """The folded words for what is to be cancelled; empty for the last one."""


@dataclass(frozen=True, slots=True)
class PutOff:
    """A sentence without the words that say when."""

    text: str
    is_clock: bool  # whether they name a time of day, or a day
    when: str  # these words


def planning_of(text: str, language: str) -> Planning | None:
    """Return what a sentence wants to do with commands for later; English is understood in every language."""
    if len(text) > MAX_TEXT:
        return None
    said, words = " ".join(text.casefold().strip(" ?¿!.").split()), words_of(text)
    for code in dict.fromkeys((code_of(language), ENGLISH)):
        if any(re.fullmatch(pattern, said) for pattern in data_of(code).planning.lists):
            return Planning(kind=PlanningKind.LIST)
        if (found := _cancelled(words, code)) is not None:
            return found
    return None


def _cancelled(words: tuple[str, ...], code: str) -> Planning | None:
    known = _planning_phrases(code)
    said = {name for name, phrases in known.items() if _left(words, phrases) != words}
    if said.isdisjoint(("cancels", "drops")) and not {"weak", "plans"} <= said:
        return None
    rest = words
    for phrases in known.values():
        rest = _left(rest, phrases)
    is_sure = not said.isdisjoint(("cancels", "plans"))
    return Planning(kind=PlanningKind.CANCEL, is_all="all" in said, is_sure=is_sure, words=rest)


def _left(words: tuple[str, ...], phrases: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """Return words without some phrases."""
    kept = list(words)
    for phrase in phrases:
        at = 0
        while at <= len(kept) - len(phrase):
            if tuple(kept[at : at + len(phrase)]) == phrase:
                del kept[at : at + len(phrase)]
            else:
                at += 1
    return tuple(kept)


@cache
def _planning_phrases(code: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the phrases of a language by the name of their list, the longest first."""
    words = data_of(code).planning
    lists = {
        "cancels": words.cancels, "drops": words.drops, "weak": words.weak, "plans": words.plans, "last": words.last, "all": words.all,
    }  # fmt: skip
    return {
        name: tuple(sorted({words_of(text) for text in listed} - {()}, key=len, reverse=True))
        for name, listed in lists.items()
    }


def put_off_in(text: str, language: str) -> Iterator[PutOff]:
    """Yield a sentence without what says that it is for some time later."""
    if len(text) > MAX_TEXT:
        return
    for pattern, is_clock in _times(code_of(language)):
        if (found := pattern.search(text)) is not None:
            yield PutOff(
                " ".join(f"{text[: found.start()]} {text[found.end() :]}".strip(" ,").split()), is_clock, found[0]
            )


def is_put_off(text: str, language: str, named: Collection[str] = ()) -> bool:
    """Return whether a text says that it is for later and not when, other than in a name."""
    found = (one.when.casefold() for one in put_off_in(text, language) if not one.is_clock)
    return any(not any(when in name.casefold() for name in named) for when in found)


@cache
def _times(code: str) -> tuple[tuple[re.Pattern[str], bool], ...]:
    words = data_of(code).planning
    vague = sorted(words.vague, key=len, reverse=True)
    listed = [*((pattern, True) for pattern in words.clock), *((pattern, False) for pattern in vague)]
    return tuple((re.compile(rf"(?<!\w)(?:{one})(?!\w)", re.IGNORECASE), is_clock) for one, is_clock in listed)
