"""Wishes for later as people speak of them: what is waiting, that it is to be at another time, and that it is not to be done any more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
import re

from ..support.patterns import unmarked
from ..support.text import MAX_TEXT, words_of
from .data import ENGLISH, code_of, data_of
from .later import LaterKind, without_times
from .phrases import is_asking

type Phrases = tuple[tuple[tuple[str, ...], frozenset[str]], ...]
"""Folded phrases, the longest first, each with the names of the lists that it is in."""
MAX_ASKED = 120
"""Characters of a question about a timer or an order to change something; a longer text says something else."""

_MOST_NAMED = 3
"""Words between an article and what it belongs to."""
_NAME = "(?P<name>"


class PlanningKind(Enum):
    """What a sentence wants to do with commands for later."""

    LIST = "list"
    CANCEL = "cancel"
    LEFT = "left"
    """How long a timer has."""
    STOP = "stops"
    """A timer or an alarm is to end."""
    ADD = "adds"
    TAKE = "takes"
    """A timer is to have more time, or less."""
    PAUSE = "pauses"
    RESUME = "resumes"
    """A timer is to stand still, or to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """A sentence about commands for later."""

    kind: PlanningKind
    is_all: bool = False
    is_both: bool = False  # whether it is about the two that were spoken of
    is_latest: bool = False  # whether it is about the one that was left last
    is_sure: bool = True  # whether it can mean nothing else, also where nothing is named
    is_weak: bool = False  # whether it may just as well be about something else: "remove milk"
    is_needless: bool = False  # whether it only denies a wish; what is named has to be the command as it was said
    words: tuple[str, ...] = ()
    """The folded words for what is to be cancelled; empty for the last one."""
    kinds: frozenset[str] = frozenset()
    """The kinds that it is about, by the values of `WishKind`; empty for all."""


def planning_of(text: str, language: str) -> Planning | None:
    """Return what a sentence wants to do with commands for later; English is understood in every language."""
    if len(text) > MAX_TEXT:
        return None
    said = " ".join(text.casefold().strip(" ?¿!.").split())
    for code in dict.fromkeys((code_of(language), ENGLISH)):
        if any(re.fullmatch(pattern, said) for pattern in data_of(code).planning.lists):
            return Planning(kind=PlanningKind.LIST, kinds=kinds_in(words_of(text), code)[0])
        if (found := _cancelled(text, code)) is not None:
            keeps = _has_excepts(text, code) if found.is_needless else _keeps(text, found.words, code)
            return None if keeps else found
    return None


def asked_in(text: str, language: str, *kinds: PlanningKind) -> Planning | None:
    """Return what a whole text asks of timers in one of some ways; of more or less time without its words for these."""
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


def lets_be(text: str, language: str) -> bool:
    """Return whether a text only says that all is to be as it is: "OK, never mind"."""
    if len(text) > MAX_ASKED:
        return False
    rest, said = without_phrases(words_of(text), _letting(code_of(language)))
    return not rest and "lets_be" in said


@cache
def _letting(code: str) -> Phrases:
    data = data_of(code)
    beside = (*data.planning.well, *data.courtesies, *data.yes, *data.yes_everywhere)
    return phrases_of({"lets_be": data.planning.lets_be, "beside": beside})


def names_all(text: str, language: str) -> bool:
    """Return whether a text names all of something."""
    words, said = data_of(code_of(language)).planning, f" {' '.join(words_of(text))} "
    return any(f" {' '.join(words_of(one))} " in said for one in (*words.all, *words.both))


def is_known_thing(text: str, language: str) -> bool:
    """Return whether a text is about one that there is already: "to the timer", and not "a timer"."""
    data, words = data_of(code_of(language)), {*words_of(text)}
    ones = {word for said in data.times.get("one", ()) for word in words_of(said)}
    known = {word for said in (*data.times.get("articles", ()), *data.planning.into) for word in words_of(said)}
    return words.isdisjoint(ones) and not words.isdisjoint(known)


def names_running(text: str, language: str) -> bool:
    """Return whether a text speaks of the timer that runs: "the pizza timer", and not "a timer for the pizza"."""
    data, words = data_of(code_of(language)), words_of(text)
    articles = {word for said in data.times.get("articles", ()) for word in words_of(said)}
    ones = {word for said in data.times.get("one", ()) for word in words_of(said)}
    place = next((at for at, word in enumerate(words) if kinds_in((word,), language)[0]), 0)
    front = words[max(0, place - _MOST_NAMED) : place]
    return ones.isdisjoint(words[:place]) and not articles.isdisjoint(front)


def delay_in(text: str, language: str) -> int:
    """Return 1 where a text moves something to later, -1 to earlier, and 0 where it says neither."""
    said = f" {' '.join(words_of(text))} "
    for code in dict.fromkeys((code_of(language), ENGLISH)):
        words = data_of(code).planning
        for sign, listed in ((1, words.after), (-1, words.before)):
            if any(f" {' '.join(words_of(phrase))} " in said for phrase in listed):
                return sign
    return 0


def apart_in(text: str, language: str) -> int:
    """Return 1 or -1 as `delay_in` for a word for that of which the end stands apart: "take it off", "zieh … ab"."""
    words = words_of(text)
    listed = data_of(code_of(language)).planning
    for sign, phrases in ((1, listed.after), (-1, listed.before)):
        for phrase in (words_of(said) for said in phrases):
            if len(phrase) == 2 and phrase[0] in words[:2] and phrase[1] in words[words.index(phrase[0]) + 1 :]:
                return sign
    return 0


def kinds_in(words: Iterable[str], language: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the kinds of wishes that words name, and the words without those for them: "the egg timer", "Eiertimer"."""
    phrases = _kinds(code_of(language))
    rest, kinds = without_phrases(words, phrases)
    ends = sorted({phrase[0] for phrase, _ in phrases if len(phrase) == 1}, key=len, reverse=True)
    named = list[str]()
    for word in rest:
        end = next((one for one in ends if word.endswith(one)), "")
        if end:  # "pastawekker" may be a timer
            kinds |= {kind for phrase, listed in phrases if phrase[-1].endswith(end) for kind in listed}
        named.append(word.removesuffix(end))
    return frozenset(kinds), tuple(named)


@cache
def _kinds(code: str) -> Phrases:
    return phrases_of(data_of(code).planning.kinds)


def _without_last(words: tuple[str, ...], code: str) -> tuple[str, ...]:
    """Return words without those that name nothing: "that", "the"."""
    nothing = {word for text in data_of(code).planning.last for word in words_of(text)}
    return () if nothing.issuperset(words) else words


@cache
def _asking(code: str, kind: PlanningKind) -> tuple[re.Pattern[str], ...]:
    words = data_of(code).planning
    listed = {
        PlanningKind.LEFT: words.left, PlanningKind.STOP: words.stops, PlanningKind.ADD: words.adds,
        PlanningKind.TAKE: words.takes, PlanningKind.PAUSE: words.pauses, PlanningKind.RESUME: words.resumes,
    }[kind]  # fmt: skip
    named = (pattern.replace(_NAME, rf"(?<!\w){_NAME}") for pattern in listed)  # a name begins with a word
    unsigned = data_of(code).later.unmarked
    return tuple(re.compile(unmarked(pattern, unsigned), re.IGNORECASE) for pattern in named)


def without_some(text: str, language: str) -> tuple[Planning, str] | None:
    """Return how all of something is cancelled, and what is left out of it: "cancel everything but the alarm"."""
    if len(text) > MAX_ASKED:
        return None
    code = code_of(language)
    for phrase in sorted(data_of(code).planning.excepts, key=len, reverse=True):
        match = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE)
        found = _cancelled(text[: match.start()], code) if match is not None else None
        if match is not None and found is not None and found.is_all:
            return found, text[match.end() :]
    return None


def cancels_in(text: str, language: str) -> bool:
    """Return whether a text has words with which something is cancelled: "cancel", "never mind"."""
    return any(_cancelled(text, code) is not None for code in dict.fromkeys((code_of(language), ENGLISH)))


def cancels_any(text: str, language: str) -> bool:
    """Return whether a text cancels one of several and does not say which: "cancel one", "cancel one of them"."""
    for code in dict.fromkeys((code_of(language), ENGLISH)):
        data, whole = data_of(code), f" {' '.join(words_of(text))} "
        if _cancelled(text, code) and any(f" {' '.join(words_of(one))} " in whole for one in data.planning.one_of):
            return True
        words, kinds = data.planning, (said for listed in data.planning.kinds.values() for said in listed)
        phrases = phrases_of(
            {"cancels": (*words.cancels, *words.drops), "beside": (*kinds, *data.courtesies, *data.polite)}
        )
        rest, named = without_phrases(words_of(text), phrases)
        ones = {word for listed in data.times.get("one", ()) for word in words_of(listed)[:1]}
        nothing = {word for listed in words.last for word in words_of(listed)}
        front = {word for listed in words.sets for word in words_of(listed)}  # "er een"
        place = next((at for at, word in enumerate(rest) if word in ones), len(rest))
        if (
            "cancels" in named
            and rest[place:]
            and front.issuperset(rest[:place])
            and nothing.issuperset(rest[place + 1 :])
        ):
            return True
    return False


def denies(text: str, language: str) -> bool:
    """Return whether a text has a word in it with which nothing is cancelled: "don't"."""
    keeps = {words_of(said) for said in data_of(code_of(language)).planning.keeps}
    return any((word,) in keeps for word in words_of(text))


def keeps_planned(text: str, language: str) -> bool:
    """Return whether a sentence speaks of cancelling and wants something to stay: "don't cancel it"."""
    if len(text) > MAX_TEXT:
        return False
    found = ((_cancelled(text, code), code) for code in dict.fromkeys((code_of(language), ENGLISH)))
    return any(one is not None and _keeps(text, one.words, code) for one, code in found)


def _has_excepts(text: str, code: str) -> bool:
    said = f" {' '.join(words_of(text))} "
    return any(f" {' '.join(words_of(phrase))} " in said for phrase in data_of(code).planning.excepts)


def _keeps(text: str, rest: tuple[str, ...], code: str) -> bool:
    """Return whether a sentence that has a word for cancelling denies it, leaves something out or asks why.

    `rest` is what is left of it without the words for cancelling: "better not" has a "not" and cancels.
    """
    words = data_of(code).planning
    cancelling = {word for listed in (*words.cancels, *words.drops) for word in words_of(listed)}
    whole, keeps = words_of(text), {words_of(listed) for listed in words.keeps} - {()}
    phrases = [words_of(listed) for listed in (*words.cancels, *words.drops)]
    begun = [phrase for phrase in phrases if phrase and whole[: len(phrase)] == phrase]
    if begun and whole[-1:] in keeps and not any(whole[-1] in phrase for phrase in begun):  # "vergiss das nicht"
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
    rest, said = without_phrases(words, _planning_phrases(code))
    is_needless = "needless" in said and said.isdisjoint(("cancels", "drops"))
    if said.isdisjoint(("cancels", "drops", "needless", "weak")):
        return None
    return Planning(
        kind=PlanningKind.CANCEL,
        is_all=not said.isdisjoint(("all", "both")) and (not is_needless or "kinds" in said),
        is_both="both" in said,
        is_latest="latest" in said,
        is_sure=not is_needless and not said.isdisjoint(("cancels", "plans", "kinds")),
        is_needless=is_needless,
        is_weak=said.isdisjoint(("cancels", "drops", "needless", "plans", "kinds")),
        words=kinds_in(rest, code)[1],
        kinds=frozenset() if "included" in said else kinds_in(words, code)[0],
    )


def without_phrases(words: Iterable[str], phrases: Phrases) -> tuple[tuple[str, ...], set[str]]:
    """Return words without some phrases, and the names of the lists that these are in."""
    rest, said = [*words], set[str]()
    known = frozenset(rest)
    for phrase, names in phrases:
        if not known.issuperset(phrase):  # most phrases: none of their places is looked at
            continue
        at = 0
        while at <= len(rest) - len(phrase):
            if tuple(rest[at : at + len(phrase)]) == phrase:
                del rest[at : at + len(phrase)]
                said |= names
            else:
                at += 1
    return tuple(rest), said


@cache
def _planning_phrases(code: str) -> Phrases:
    words = data_of(code).planning
    lists = {
        "cancels": words.cancels, "drops": words.drops, "weak": words.weak, "plans": words.plans, "last": words.last, "all": words.all,
        "both": words.both, "latest": words.latest, "needless": words.needless, "included": words.included, "kinds": [text for kind in words.kinds.values() for text in kind],
    }  # fmt: skip
    return phrases_of(lists)


def phrases_of(lists: Mapping[str, Iterable[str]]) -> Phrases:
    """Return phrases, the longest first, each with the names of the lists that it is in."""
    names: dict[tuple[str, ...], set[str]] = {}
    for name, listed in lists.items():
        for phrase in {words_of(text) for text in listed} - {()}:
            names.setdefault(phrase, set()).add(name)
    longest = sorted(names.items(), key=lambda one: len(one[0]), reverse=True)
    return tuple((phrase, frozenset(each)) for phrase, each in longest)
