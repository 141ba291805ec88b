"""What a sentence wants to be told at some time, read without the words that say when: reminded of, woken, told, called, timed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
import re

from ..support.patterns import unmarked
from ..support.text import MAX_TEXT, fold, words_of
from .clause_cuts import articles_of, orders_of
from .data import ENGLISH, code_of, data_of
from .planning import Phrases, kinds_in, phrases_of, without_phrases

_SIGNS = ",.;:!?-–—…"
_MOST_FRAME = 12  # words


class ReminderKind(StrEnum):
    """How it is to be told."""

    REMINDER = "reminder"
    """A text: "remind me to call mum"."""
    WAKE = "wake"
    TELL = "tell"
    """What was waited for, or the answer to a question: "tell me", "call me"."""
    TIMER = "timer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """What is to be told."""

    kind: ReminderKind
    text: str = ""
    """As it was said; of a timer its name. Empty where nothing is named."""
    is_said: bool = False
    """Whether the text is told as it is: "tell me that dinner is ready"; else it may be a question."""
    left: str = ""
    """Words of something else beside it: "lock the door and", "don't"; a reminder alone is not all that is wanted then."""


def reminder_in(text: str, language: str) -> Reminder | None:
    """Return what a text without its times wants to be told; None for other texts. English is understood in every language."""
    if len(text) > MAX_TEXT:
        return None
    said = " ".join(text.split()).strip(" ,.!?¿¡")
    codes = [*dict.fromkeys((code_of(language), ENGLISH))]
    return _reminder_in(said, codes) or _reminder_in(_without_courtesy(said, code_of(language)), codes)


def _without_courtesy(said: str, code: str) -> str:
    """Return a text without what makes it polite at its end: "alarm, please"."""
    for courtesy in sorted(data_of(code).courtesies, key=len, reverse=True):
        if said.casefold().endswith(f" {courtesy}"):
            return said[: -len(courtesy)].strip(" ,.!?")
    return said


def _reminder_in(said: str, codes: Sequence[str]) -> Reminder | None:
    for code in codes:
        for pattern in _timers(code):
            if (match := pattern.fullmatch(said)) is not None:
                name = match.groupdict().get("name") or ""
                left = "" if _adding(code).isdisjoint(words_of(name)) else name
                return Reminder(kind=ReminderKind.TIMER, text=timer_name(name, codes[0], code), left=left)
        if (framed := _framed(said, code)) is not None:
            return Reminder(kind=framed)
        for kind, pattern in _phrases(code):
            if (match := pattern.search(said)) is not None:
                before, after = said[: match.start()].strip(" ,.;:"), said[match.end() :].strip(" ,.;:")
                behind, front = _without_beside(after, code, kind), _without_beside(before, code, kind, in_front=True)
                front = "" if _is_frame(words_of(front), code) else front  # "I need you to"
                is_said = words_of(match[0])[-1:] in _declares(code)
                if behind and is_said and words_of(match[0])[-1:] in _clauses(code):
                    behind = f"{match[0].rsplit(maxsplit=1)[-1]} {behind}"
                if kind is ReminderKind.WAKE:
                    behind = "" if _is_frame(words_of(behind), code) else behind  # "s'il te plaît"
                    return Reminder(kind=kind, left=f"{before if front else ''} {after if behind else ''}".strip())
                if not behind and not _adding(code).isdisjoint(words_of(front)[-1:]):  # "don't remind me of that"
                    return Reminder(kind=kind, left=front)
                text = _retold(behind or front, code)
                return Reminder(kind=kind, text=text, is_said=is_said, left=before if front and behind else "")
    return None


def _framed(said: str, code: str) -> ReminderKind | None:
    """Return what an order to make a timer, an alarm or a reminder makes, where it says no more than that: "I need a new alarm"."""
    kinds, rest = kinds_in(words_of(said), code)
    return ReminderKind(next(iter(kinds))) if len(kinds) == 1 and _is_frame(rest, code) else None


def _is_frame(words: Sequence[str], code: str) -> bool:
    """Return whether words only order that something is made; also where there are none."""
    return len(words) <= _MOST_FRAME and not without_phrases(words, _frames(code))[0]


@cache
def _frames(code: str) -> Phrases:
    data = data_of(code)
    return phrases_of({"frames": [*data.planning.frames, *data.courtesies]})


def _retold(text: str, code: str) -> str:
    """Return what one is to be reminded of as it is told then."""
    for pattern, instead in _replaced(code, "retold"):
        if (match := pattern.match(text)) is not None:
            return (match.expand(instead) + text[match.end() :]).strip()
    return text


@cache
def _adding(code: str) -> frozenset[str]:
    """Return words by which something else is wanted, or not wanted: "and", "not"."""
    data = data_of(code)
    listed = map(words_of, (*data.follow_ups.joins, *data.planning.keeps))
    return frozenset(words[0] for words in listed if len(words) == 1)


def names_timer(text: str, language: str) -> bool:
    """Return whether a word for a timer or an alarm is in a text, also at the end of another: "Eiertimer"."""
    kinds = tuple(word for listed in data_of(code_of(language)).planning.timer_words for word in words_of(listed))
    return bool(kinds) and any(word.endswith(kinds) for word in words_of(text))


def says_wake(text: str, language: str) -> bool:
    """Return whether a text speaks of waking, also where it has times in it."""
    if len(text) > MAX_TEXT:
        return False
    said = _without_courtesy(" ".join(text.split()).strip(" ,.!?¿¡"), code_of(language))
    return any(kind is ReminderKind.WAKE and pattern.search(said) for kind, pattern in _phrases(code_of(language)))


def asks_across(text: str, place: int, language: str) -> bool:
    """Return whether a place is within the words that ask to be told something: behind "notify" in "notify me when it is done"."""
    phrases = _phrases(code_of(language)) if len(text) <= MAX_TEXT else ()
    found = (pattern.search(text) for _, pattern in phrases)
    return any(match.start() < place < match.end() for match in found if match is not None)


def restated(text: str, language: str) -> Iterator[str]:
    """Yield what is to be done now where something is to stay so for a while: "leave the light on" is to turn it on."""
    return _instead(text, language, "stays")


def ordered(text: str, language: str) -> Iterator[str]:
    """Yield the order for what is said to be so then: "the lamp should go off" is to turn it off."""
    return _instead(text, language, "wants")


def _instead(text: str, language: str, section: str) -> Iterator[str]:
    if len(text) > MAX_TEXT:
        return
    for pattern, instead in _replaced(code_of(language), section):
        if (match := pattern.fullmatch(text.strip(" ,.!"))) is not None:
            yield " ".join(match.expand(instead).split())


def plainly(text: str, language: str) -> str:
    """Return an order as it is said plainly, where it is said in another form: "apágame la luz", "niech się zgasi"."""
    if len(text) <= MAX_TEXT:
        for pattern, instead in _replaced(code_of(language), "plain"):
            text = pattern.sub(instead, text)
    return " ".join(text.split())


def awaited(text: str, language: str) -> str:
    """Return an order to wait and then do something with the time after which it is done: "wait five minutes and turn it off"."""
    return next(_instead(text, language, "waits"), text)


def direct(text: str, language: str) -> Iterator[str]:
    """Yield a question as it is asked, and in other words: "how warm it is" is "how warm is it"."""
    yield text
    if len(text) <= MAX_TEXT:
        for pattern, instead in _replaced(code_of(language), "asks"):
            if (match := pattern.fullmatch(text.strip(" ,.!?"))) is not None:
                yield " ".join(match.expand(instead).split())


def naming(text: str, name: str, language: str) -> Iterator[str]:
    """Yield an order with the name of what it is for, where it says "it": "turn it off", "apágala"."""
    data, words = data_of(code_of(language)), text.split()
    its = {fold(word) for word in data.follow_ups.it}
    for at, word in enumerate(words):
        said = fold(word.casefold().strip(",.!"))
        if said in its:
            yield " ".join((*words[:at], name, *words[at + 1 :]))
        for end in data.planning.enclitics:
            if said.endswith(end) and len(said) > len(end) + 1:
                yield " ".join((*words[:at], word[: len(word.rstrip(",.!")) - len(end)], name, *words[at + 1 :]))
                yield " ".join((*words[:at], said.removesuffix(end), name, *words[at + 1 :]))


def without_then(text: str, language: str) -> str:
    """Return a text without words that only lead from a time to what is to be done: "then"."""
    nothing = {fold(word.casefold()) for word in data_of(code_of(language)).planning.thens}
    return " ".join(word for word in text.split() if fold(word.casefold().strip(",")) not in nothing)


def timer_name(said: str, language: str, read_in: str = "") -> str:
    """Return the name of a timer; nothing where it is left of the order: "stick on the", "mettimi sul".

    `read_in` is the language whose words for timers were found around it.
    """
    words, code = words_of(said), code_of(language)
    if not words or read_in not in ("", code) or any(word in _ordering(code) for word in words):
        return ""
    return said.strip(" ,-") if len(words[-1]) > 1 else ""


@cache
def _ordering(code: str) -> frozenset[str]:
    """Return the words that a name of a timer does not have: articles, words that a command begins with, words beside what is told."""
    return (
        articles_of(code)
        | orders_of(code)
        | {word for each in data_of(code).planning.beside for word in words_of(each)}
    )


def without_words(text: str, words: Iterable[str]) -> str:
    """Return a text without some words or phrases."""
    for said in sorted(words, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(said)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def _without_beside(text: str, code: str, kind: ReminderKind, *, in_front: bool = False) -> str:
    """Return a text without the words around it that say nothing: "to", "that", "please"; of a question only as a whole.

    Behind what is told the last words are a part of it ("feed it", "try again"), but for courtesies and words that join.
    """
    words, data = text.split(), data_of(code)
    nothing = {words_of(each) for each in (*data.planning.beside, *data.courtesies)}
    if all(words_of(word) in nothing or not word.strip(_SIGNS) for word in words):
        return ""
    if kind is ReminderKind.TELL:
        return text
    its = {words_of(each) for each in data.follow_ups.it}
    last = nothing if in_front else {words_of(each) for each in (*data.follow_ups.joins, *data.courtesies)} - its
    while words and (words_of(words[-1]) in last or not words[-1].strip(_SIGNS)):
        words.pop()
    if kind is ReminderKind.REMINDER and not in_front:  # "the flowers" keep their article
        nothing -= {(word,) for word in articles_of(code)}
    while (
        words
        and words_of(words[0]) not in _clauses(code)
        and (words_of(words[0]) in nothing or not words[0].strip(_SIGNS))
    ):
        words.pop(0)
    front, apostrophe, rest = (words or [""])[0].replace("’", "'").partition("'")
    if apostrophe and rest and {(front.casefold(),), (f"{front.casefold()}e",)} <= nothing:  # "d'acheter"
        words[0] = rest
    return " ".join(words).strip(" ,.;:")


@cache
def _phrases(code: str) -> tuple[tuple[ReminderKind, re.Pattern[str]], ...]:
    words = data_of(code).planning
    listed = {ReminderKind.REMINDER: words.reminds, ReminderKind.WAKE: words.wakes, ReminderKind.TELL: words.tells}
    return tuple(
        (kind, _compiled(code, rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)"))
        for kind, patterns in listed.items()
        if patterns
    )


@cache
def _declares(code: str) -> frozenset[tuple[str, ...]]:
    return frozenset(map(words_of, data_of(code).planning.declares))


@cache
def _clauses(code: str) -> frozenset[tuple[str, ...]]:
    return frozenset(map(words_of, data_of(code).planning.clauses))


@cache
def _timers(code: str) -> tuple[re.Pattern[str], ...]:
    return tuple(_compiled(code, pattern) for pattern in data_of(code).planning.timers)


@cache
def _replaced(code: str, section: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    words = data_of(code).planning
    listed = {
        "stays": words.stays,
        "asks": words.asks,
        "wants": words.wants,
        "plain": words.plain,
        "waits": words.waits,
        "retold": words.retold,
    }[section]
    return tuple((_compiled(code, rf"(?<!\w)(?:{pattern})(?!\w)"), instead) for pattern, instead in listed.items())


def _compiled(code: str, pattern: str) -> re.Pattern[str]:
    return re.compile(unmarked(pattern, data_of(code).later.unmarked), re.IGNORECASE)
