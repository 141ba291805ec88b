"""Another time for what waits, as people say it: "make it nine", "rather at eight", "ten minutes later", "push it to tomorrow"."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
import re

from ..support.text import words_of
from .data import ENGLISH, code_of, data_of
from .later import LaterKind, later_in
from .phrases import is_question
from .planning import (
    MAX_ASKED,
    Phrases,
    PlanningKind,
    apart_in,
    asked_in,
    cancels_in,
    delay_in,
    denies,
    kinds_in,
    phrases_of,
    without_phrases,
)
from .said_moments import SaidMoment, moment_in
from .spoken_numbers import words_in
from .times import dates_in, numbers_in, unit_at

_MOST_SPLITS = 16  # words from the end among which the new time is looked for
_MARKS = frozenset({"moves", "sets", "instead", "corrects"})
_CLAUSE_END = re.compile(r"[,;.!?]+(?:\s+|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidTime:
    """A time that a sentence names, and the rest of it."""

    rest: str
    moment: SaidMoment | None = None
    day: date | None = None
    """A day alone, without a time."""

    @property
    def is_length(self) -> bool:
        """Whether it is how long, and not when."""
        return self.moment is not None and self.moment.seconds > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidChange:
    """A sentence that gives a wish another time."""

    new: SaidTime
    old: SaidTime | None = None
    """The time by which it is named: "the eight o'clock one"."""
    sign: int = 0
    """1 for later by a length, -1 for earlier."""
    is_whole: bool = False
    """Whether a length is all that a timer is to have: "change the timer to eight minutes"."""
    moves: bool = False
    """Whether a word says so that can mean nothing else: "postpone"."""
    sets: bool = False
    """Whether a word says so that can only be about what was just spoken of: "make"."""
    is_instead: bool = False
    """Whether it takes the place of another wish: "rather"."""
    corrects: bool = False
    """Whether it corrects the sentence before: "no"."""
    kinds: frozenset[str] = frozenset()
    """The kinds of wishes that are named, by the values of `WishKind`."""
    words: tuple[str, ...] = ()
    """The folded words that name something."""
    rest: str = ""
    """What was said without the times and the words that say that it takes another's place."""


def change_in(text: str, language: str, now: datetime) -> SaidChange | None:
    """Return what a sentence changes; None for one that names no time, or has no words for it. English is understood in every language."""
    if len(text) > MAX_ASKED:
        return None
    for code in dict.fromkeys((code_of(language), ENGLISH)):
        said = _said(text, code)
        if (times := _times(text, language, now, is_marked=bool(said & _MARKS))) is None:
            return None
        new, old, rest = times
        if "moves" in said and old is None and _is_move_denied(text, code):
            return None
        words = words_of(rest)
        left, _ = without_phrases(words, _phrases(code))
        sign = delay_in(text, language) or _sign_beside(rest, said, language)
        if not said & _MARKS and left and not (sign and new.is_length):
            continue
        kinds, named = kinds_in(words, code)
        named, _ = without_phrases(named, _phrases(code))
        if new.moment is not None and new.is_length and "moves" in said and not is_from_now(new, language):
            clock = as_clock(new.moment, language, now) if _is_to(text, new.moment.words, code) else None
            new, sign = (SaidTime(rest=new.rest, moment=clock), 0) if clock is not None else (new, sign or 1)
        return SaidChange(
            new=new,
            old=old,
            sign=sign,
            is_whole=new.moment is not None and new.is_length and _is_up_to(text, new.moment.words, code),
            moves="moves" in said,
            sets="sets" in said,
            is_instead="instead" in said,
            corrects="corrects" in said,
            kinds=kinds,
            words=named,
            rest=without_marks(rest, code),
        )
    return None


def _sign_beside(rest: str, said: set[str], language: str) -> int:
    """Return 1 or -1 where the words beside a length add or take it: "take … off", "plus"."""
    if (sign := apart_in(rest, language)) or len(words_of(rest)) != 1 or said & {"sets", "moves"}:
        return sign
    asked = asked_in(rest, language, PlanningKind.ADD, PlanningKind.TAKE)
    return 0 if asked is None else 1 if asked.kind is PlanningKind.ADD else -1


def correction_in(text: str, language: str, now: datetime) -> SaidChange | None:
    """Return the change of a sentence that denies or cancels one thing and then names a time: "not at nine, do it at ten"."""
    if len(text) > MAX_ASKED:
        return None
    code, text = code_of(language), _without_both(text, language)
    words = data_of(code).planning
    cuts = sorted({*words.but_at, *data_of(code).follow_ups.joins}, key=len, reverse=True)
    cut = "|".join(rf"(?<!\w){re.escape(each)}(?!\w)" for each in cuts if each)
    parts = [part.strip() for part in re.split(rf"[,;.!?]+(?:\s+|$)|{cut}", text, flags=re.IGNORECASE) if part.strip()]
    if len(parts) < 2 or _is_denied(parts[-1], language) or not any(_is_denied(part, language) for part in parts[:-1]):
        return None
    if (new := time_in(parts[-1], language, now)) is None:
        return None
    old = next((said for part in parts[:-1] if (said := time_in(part, language, now)) is not None), None)
    kinds, named = kinds_in(words_of(new.rest), code)
    named, _ = without_phrases(named, (*_phrases(code), *_leaving(code)))
    return SaidChange(
        new=new, old=old, is_instead=True, corrects=True, kinds=kinds, words=named, rest=without_marks(new.rest, code)
    )


def _is_denied(text: str, language: str) -> bool:
    return cancels_in(text, language) or denies(text, language)


def _is_move_denied(text: str, code: str) -> bool:
    """Return whether the clause that speaks of moving denies it: "verschieb es nicht auf neun"."""
    return any("moves" in _said(part, code) and denies(part, code) for part in _CLAUSE_END.split(text))


def _is_to(text: str, words: str, code: str) -> bool:
    """Return whether something is moved to what may be a length, and not by it: "naar acht uur", not "met acht uur", "acht uur later"."""
    listed = data_of(code).planning
    front = words_of(text.partition(words)[0])
    if any(front[-len(phrase) :] == phrase for phrase in map(words_of, listed.by)):
        return False
    said, moving = f" {' '.join(words_of(text))} ", {words_of(phrase) for phrase in listed.moves}
    signs = {words_of(phrase) for phrase in (*listed.after, *listed.before)} - moving
    return not any(f" {' '.join(phrase)} " in said for phrase in signs)


def _is_up_to(text: str, words: str, code: str) -> bool:
    """Return whether a length is one that something is to have: "to fifteen minutes", and not "by fifteen minutes"."""
    front, said = words_of(text.partition(words)[0]), words_of(words)
    phrases = [words_of(phrase) for phrase in data_of(code).planning.up_to]
    return any(phrase in (said[: len(phrase)], front[-len(phrase) :]) for phrase in phrases)


def time_in(text: str, language: str, now: datetime) -> SaidTime | None:
    """Return the one time that a text names."""
    plain = _without_both(text, language)
    said = _masked(plain, language)
    for one in dict.fromkeys((said, plain)):
        moment = moment_in(one, language, now)
        if moment is not None and moment.words and not _is_nothing(moment.words, language):
            return SaidTime(moment=moment, rest=without(text, moment.words))
        if moment is None and len(days := dates_in(one, language, now)) == 1:
            tokens = words_in(one)
            begin, end = tokens[days[0].first].start, tokens[days[0].behind - 1].end
            return SaidTime(day=days[0].value, rest=" ".join(f"{text[:begin]} {text[end:]}".split()))
    return None


def asked_when(text: str, language: str) -> tuple[str, ...] | None:
    """Return what a question when something will be names: "when do you wake me?"; None for other texts."""
    code = code_of(language)
    words, whens = words_of(text), _whens(code)
    rest, said = without_phrases(words, whens)
    if len(text) > MAX_ASKED or not said:
        return None
    named = without_phrases(rest, _phrases(code))[0]
    is_first = any(words[: len(phrase)] == phrase for phrase, _ in whens)
    if is_question(text, language):
        return named
    return named if is_first and named and "," not in text and not does_something(text, language) else None


@cache
def _whens(code: str) -> Phrases:
    return phrases_of({"whens": data_of(code).planning.whens})


def leaves_so(text: str, language: str) -> bool:
    """Return whether a text without its time only says that something stays as it is, or is to: "leave it on", "rather"."""
    left, said = without_phrases(words_of(text), _leaving(code_of(language)))
    return not left and not said.isdisjoint({"leaves", "sets", "instead", "corrects"})


def names_nothing(text: str, language: str) -> bool:
    """Return whether no word of a text names something."""
    left, _ = without_phrases(words_of(text), (*_leaving(code_of(language)), *_going_on(code_of(language))))
    return not left


@cache
def _going_on(code: str) -> Phrases:
    return tuple((phrase, frozenset({name})) for name, listed in _further(code).items() for phrase in listed)


@cache
def _leaving(code: str) -> Phrases:
    data = data_of(code)
    words = data.planning
    nothing = (
        *words.last,
        *words.into,
        *words.thens,
        *data.harmless,
        *data.courtesies,
        *data.polite,
        *data.follow_ups.it,
    )
    return phrases_of(
        {
            "leaves": words.leaves,
            "sets": words.sets,
            "instead": words.instead,
            "corrects": words.corrects,
            "nothing": nothing,
        }
    )


def is_one_more(text: str, language: str) -> bool:
    """Return whether a text goes on with one more of what was before: "and ...", "another ...", "... as well"."""
    words = words_of(text)
    for name, phrases in _further(code_of(language)).items():
        for phrase in phrases:
            places = range(len(words) - len(phrase) + 1)
            if any(words[at : at + len(phrase)] == phrase and (not at or name == "anywhere") for at in places):
                return True
    return False


def past_in(text: str, language: str) -> int | None:
    """Return the minutes of a text that names them without an hour, and nothing else: "make it half past"."""
    words, code = words_of(text), code_of(language)
    for phrase, minutes in data_of(code).planning.past.items():
        said = words_of(phrase)
        for at in range(len(words) - len(said) + 1):
            if words[at : at + len(said)] == said:
                beside = (*words[:at], *words[at + len(said) :])
                return None if without_phrases(beside, (*_phrases(code), *_leaving(code)))[0] else int(minutes)
    return None


def says_same(text: str, language: str) -> bool:
    """Return whether a text wishes the same once more: "the same again"."""
    said = f" {' '.join(words_of(text))} "
    return any(f" {' '.join(words_of(one))} " in said for one in data_of(code_of(language)).planning.same)


def corrections_in(text: str, language: str) -> list[str]:
    """Return what may be named instead of something in a sentence that corrects the one before: "not the lamp, the TV"."""
    code = code_of(language)
    words = data_of(code).planning
    said = without_phrases(words_of(text), _phrases(code))[1]
    found = list[str]()
    for phrase in words.instead_of:
        if (
            match := re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE)
        ) is not None and match.start():
            found.append(text[: match.start()])
    if said.isdisjoint({"instead", "corrects"}) and not found:
        return []
    denied = {word for one in words.keeps for word in words_of(one)} | {"not"}
    parts = [without_marks(part, code) for part in re.split(r"[,;.!?]+\s*", text)]
    found += [part for part in parts if part and denied.isdisjoint(words_of(part))]
    return [without_marks(one, code) for one in found]


def as_one(text: str, language: str) -> str:
    """Return a text without "and one", "another one" in front."""
    data, text = data_of(code_of(language)), as_another(text, language)
    for phrase in sorted(
        (*data.planning.more, *data.follow_ups.one, *data.times.get("one", ())), key=len, reverse=True
    ):
        if (match := re.match(rf"{re.escape(phrase)}(?!\w)", text, re.IGNORECASE)) is not None:
            rest = text[match.end() :].strip()
            return text if unit_at(words_in(rest), 0, language) else rest
    return text


def as_another(text: str, language: str) -> str:
    """Return a text without words that it goes on with: "and", "as well"."""
    listed = _further(code_of(language))
    text = _less_at_ends(text, {word for phrase in listed["first"] for word in phrase}, behind=False)
    for phrase in sorted(data_of(code_of(language)).follow_ups.too, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(phrase)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def trimmed(text: str, language: str) -> str:
    """Return what a text names, without the words around it that name nothing."""
    code = code_of(language)
    nothing = {word for listed in _further(code).values() for phrase in listed for word in phrase}
    nothing |= {
        phrase[0] for phrase, names in _phrases(code) if len(phrase) == 1 and names & {"nothing", "sets", "corrects"}
    }
    data = data_of(code)
    kinds = (said for kind in data.planning.kinds.values() for said in kind)
    listed = map(words_of, (*data.times.get("one", ()), *data.planning.beside, *kinds))
    nothing |= {words[0] for words in listed if len(words) == 1}
    return _less_at_ends(text, nothing)


@cache
def beside_of(code: str) -> frozenset[str]:
    """Return the words in front of what is to be told: "that", "to"."""
    return frozenset(word for said in data_of(code).planning.beside for word in words_of(said))


def _less_at_ends(text: str, nothing: Iterable[str], *, behind: bool = True) -> str:
    listed, words = frozenset(nothing), text.split()
    while words and listed.issuperset(words_of(words[0])):
        words.pop(0)
    while behind and words and listed.issuperset(words_of(words[-1])):
        words.pop()
    return " ".join(words).strip(" ,.;:!?")


def without_delay(text: str, language: str) -> str:
    """Return a text without words that something is so much earlier or later."""
    words = data_of(code_of(language)).planning
    for phrase in sorted((*words.after, *words.before), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(phrase)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def does_something(text: str, language: str) -> bool:
    """Return whether a text says what is to be done, or how something is to be: "turn", "dim", "on"."""
    return not {*words_of(text)}.isdisjoint(_doing(code_of(language)))


@cache
def _doing(code: str) -> frozenset[str]:
    data = data_of(code)
    listed = (*data.verbs.values(), *data.clauses.states.values(), data.orders)
    return frozenset(word for phrases in listed for phrase in phrases for word in words_of(phrase))


@cache
def _further(code: str) -> dict[str, frozenset[tuple[str, ...]]]:
    data = data_of(code)
    first = frozenset(map(words_of, (*data.follow_ups.joins, *data.planning.goes_on))) - {()}
    return {
        "first": first,
        "anywhere": frozenset(map(words_of, (*data.follow_ups.too, *data.planning.more, *data.planning.same))) - {()},
    }


def as_clock(moment: SaidMoment, language: str, now: datetime) -> SaidMoment | None:
    """Return the time of day that words may also say which were read as a length: "acht uur", "huit heures"."""
    words, times = words_of(moment.words), data_of(code_of(language)).times
    clocks = {words_of(text)[-1] for text in times.get("clock", ())}
    if not words or words[-1] not in clocks or is_from_now(SaidTime(rest="", moment=moment), language):
        return None
    for at in times.get("at", ()):
        found = moment_in(f"{at} {moment.words}", language, now)
        if found is not None and not found.seconds and not found.sun:
            return found
    return None


def without(text: str, words: str) -> str:
    """Return a text without some words, also where others stand between them."""
    if words in text:
        return " ".join(text.replace(words, " ", 1).split())
    left = text
    for word in words.split():
        left = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", left, count=1)
    return " ".join(left.split())


def _times(text: str, language: str, now: datetime, *, is_marked: bool) -> tuple[SaidTime, SaidTime | None, str] | None:
    """Return the new time, the old one where it is named too, and what was said beside them."""
    words = data_of(code_of(language)).planning
    denied = {word for said in words.keeps for word in words_of(said)}
    for is_new_first, phrases in ((True, words.instead_of), (False, words.but_at)):
        for phrase in phrases:
            if (match := re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE)) is None:
                continue
            one, other = (time_in(part, language, now) for part in (text[: match.start()], text[match.end() :]))
            if one is not None and other is not None and is_new_first:
                return one, other, f"{one.rest} {other.rest}".strip()
            if one is not None and other is not None:
                return other, one, f"{_less(one.rest, denied)} {other.rest}".strip()
    whole = time_in(text, language, now)
    if whole is None or (whole.is_length and whole.rest):
        for at in data_of(code_of(language)).times.get("at", ()):  # "sept heures moins le quart"
            bare = time_in(f"{at} {without_marks(text, code_of(language))}", language, now)
            if bare is not None and not bare.rest and not bare.is_length:
                return bare, None, ""
    if whole is None and delay_in(text, language):
        apart = time_in(without_delay(text, language), language, now)
        whole = apart if apart is not None and apart.is_length else None
    if whole is not None:
        return whole, None, whole.rest
    return _split(text, language, now) if is_marked else None


def _split(text: str, language: str, now: datetime) -> tuple[SaidTime, SaidTime | None, str] | None:
    """Return the last time of a text as the new one, and one before it as the old one."""
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    best: tuple[int, SaidTime] | None = None
    for start in reversed(starts[1:][-_MOST_SPLITS:]):
        found = time_in(text[start:], language, now)
        if found is not None:
            best = start, found
        elif best is not None:
            break
    if best is None:
        return None
    start, new = best
    old = time_in(text[:start], language, now)
    if old is None:
        return new, None, f"{text[:start]} {new.rest}".strip()
    return new, old, f"{old.rest} {new.rest}".strip()


def _without_both(text: str, language: str) -> str:
    """Return a text in which "both" has no number, which would be an hour: "les deux", "tutti e due"."""
    for phrase in sorted(data_of(code_of(language)).planning.both, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(phrase)}(?!\w)", lambda one: "x" * len(one[0]), text, flags=re.IGNORECASE)
    return text


def _masked(text: str, language: str) -> str:
    """Return a text in which "one" is no number: "that one", "the nine o'clock one"."""
    data = data_of(code_of(language))
    ones = {word for said in data.follow_ups.one for word in words_of(said)}
    at = {word for said in (*data.times.get("at", ()), *data.planning.into) for word in words_of(said)}
    tokens = words_in(text)
    for place in range(1, len(tokens)):
        token, before = tokens[place], tokens[place - 1]
        if token.word not in ones or before.word in at or numbers_in([before], code_of(language)):
            continue
        if place + 1 == len(tokens) or not unit_at(tokens, place + 1, language):
            text = text[: token.start] + "x" * (token.end - token.start) + text[token.end :]
    return text


def _is_nothing(words: str, language: str) -> bool:
    """Return whether words that were read as a time name nothing: "one"."""
    nothing = {word for said in data_of(code_of(language)).planning.last for word in words_of(said)}
    return nothing.issuperset(words_of(words))


def is_from_now(said: SaidTime, language: str) -> bool:
    """Return whether a length is counted from now on: "in ten minutes"."""
    if said.moment is None:
        return False
    return any(one.kind is LaterKind.SPAN for one in later_in(said.moment.words, language)) and any(
        words_of(said.moment.words)[: len(front)] == front for front in _fronts(code_of(language))
    )


@cache
def _fronts(code: str) -> tuple[tuple[str, ...], ...]:
    return tuple(words_of(text) for text in data_of(code).later.marks.get("in_span", ()))


def _less(text: str, words: Iterable[str]) -> str:
    denied = frozenset(words)
    return " ".join(word for word in text.split() if denied.isdisjoint(words_of(word)))


def _said(text: str, code: str) -> set[str]:
    return without_phrases(words_of(text), _phrases(code))[1]


def without_marks(text: str, code: str) -> str:
    """Return a text without words that only say that it corrects something, or takes its place: "no", "rather"."""
    words = data_of(code).planning
    for said in sorted((*words.instead, *words.corrects), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(said)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split()).strip(" ,.;:!?")


@cache
def _phrases(code: str) -> Phrases:
    data = data_of(code)
    words = data.planning
    return phrases_of({
        "moves": words.moves, "sets": words.sets, "instead": words.instead, "corrects": words.corrects, "later": words.after,
        "earlier": words.before,
        "nothing": (*words.last, *words.into, *words.thens, *words.same_time, *data.again, *data.harmless, *data.courtesies, *data.polite, *data.follow_ups.joins,
                    *data.times.get("articles", ())),
    })  # fmt: skip
