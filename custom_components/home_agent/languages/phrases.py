"""Whole utterances decided by tables, before any model sees them: yes and no, digits, undo.

Every word of an answer has to be a known one: yes, no, a courtesy, and a PIN where one was asked for. "Yes, and turn on the
light" is no yes but a new request, one word of refusal among the others makes the whole a no, and who asks back ("sure?")
has not said yes: that is a third kind of answer.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
import re

from ..support.text import MAX_TEXT, fold, runs, spoken_words, words_of
from .data import ENGLISH, base_of, code_of, data_of, letters, number_words
from .digits import PART, digit_runs
from .later import is_put_off

MAX_UNDO = 500  # characters; a longer text says something else
MAX_TAUGHT = 200  # characters of a sentence that gives a name
_LITTLE = 2  # letters of words that say nothing by themselves

_ASKS = re.compile(r"[?？؟⸮՞\u037e¿]")
_MARKED = re.compile(r"[?？؟][\s\"'”’»!.]*$|^[\s\"'“‘«]*¿")
_GREEK_ASKS = re.compile(r";\s*$")
_AROUND = " ,.!'\"“”„‚‘’«»"
"""What may stand around a name in a sentence."""
_APOSTROPHE = re.compile(r"['’]")
_PART_OR_NAME = re.compile(rf"{PART.pattern}|_")


class ReplyKind(Enum):
    """What an answer is."""

    YES = "yes"
    NO = "no"
    ASKS = "asks"
    """Neither: it asks back ("what?", "really?"), and gets an explanation."""
    WAVERS = "wavers"
    """Neither ("maybe"): the question is dropped, so that no later word is a yes to it."""
    OTHER = "other"
    """Something else: the question is dropped and the words are a request of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenReply:
    """What was answered."""

    kind: ReplyKind
    digits: str = ""
    """Every digit in it, spoken or written; only where a PIN was asked for."""


def read_answer(text: str, language: str, *, with_pin: bool = False, about: str = "", name: str = "") -> SpokenReply:
    """Return what an answer says. With a PIN asked for, digits alone are a yes: the PIN decides.

    `about` is what is asked (`unlock`, `open`, `disarm`) and `name` of what: a yes may repeat them, when it is one thing alone.
    """
    digits = ""
    if with_pin:
        groups = [group for run in digit_runs(text[:MAX_TEXT], language) for group in run]
        digits = "".join(group.value for group in groups)
        spans = dict.fromkeys((group.begin, group.end) for group in groups)
        words = [word for word in spoken_words(_without(text, spans)) if word not in _around_a_pin(code_of(language))]
    else:
        words = spoken_words(text)
    kinds = _kinds(words, language, about, name) if len(text) <= MAX_TEXT else None
    asks_back = is_asking(text, language)
    kind = ReplyKind.OTHER
    if kinds is not None and ReplyKind.NO in kinds:
        kind = ReplyKind.NO
    elif kinds is not None and ReplyKind.WAVERS in kinds:
        kind = ReplyKind.WAVERS
    elif kinds is not None and (digits or (ReplyKind.YES in kinds and ReplyKind.ASKS not in kinds and not asks_back)):
        kind = ReplyKind.YES
    elif (asks_back and not words) or (kinds and not {ReplyKind.ASKS, ReplyKind.YES}.isdisjoint(kinds)):
        kind = ReplyKind.ASKS
    return SpokenReply(kind=kind, digits=digits)


@cache
def _around_a_pin(code: str) -> frozenset[str]:
    """Return the words that are said around a PIN and answer nothing."""
    listed, answers = (data_of(ENGLISH), data_of(code)), _phrases_of(code).answers
    hesitations = {word for data in listed for phrase in data.hesitations for word in spoken_words(phrase)}
    return frozenset(word for data in listed for word in data.pin_words) | {
        word for word in hesitations if answers.get((word,)) in (None, ReplyKind.OTHER)
    }


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces, end = [], 0
    for begin, stop in spans:
        pieces.append(text[end:begin])
        end = stop
    return " ".join([*pieces, text[end:]])


def says_more(text: str, language: str) -> bool:
    """Return whether words that are no answer ask for something else or tell something, as far as the tables know: "what time is it".

    A code that is said in a way that we do not know ("wan tree fore") does not.
    """
    said = text[:MAX_TEXT].strip().casefold()
    if said.startswith("/") or len(said) > MAX_UNDO or asked_of(said, language) is not None:
        return True
    if (_MARKED.search(said) or is_remark(said, language)) and not any(digit_runs(said, language)):
        return True
    words = spoken_words(said)
    return any(
        _altering(code)[1].match(said)
        or not _phrases_of(code).orders.isdisjoint(words)
        or len(_vocabulary(code).intersection(words)) > 1
        for code in dict.fromkeys((code_of(language), ENGLISH))
    )


def speaks_of_home(text: str, language: str) -> bool:
    """Return whether a text has a word for what is done in a home, or for what it is done to."""
    words, code = set(spoken_words(text)), code_of(language)
    return not words.isdisjoint(_vocabulary(code)) or not words.isdisjoint(_phrases_of(code).orders)


def says_doing(text: str, language: str) -> bool:
    """Return whether a text has a word for what is done in a home."""
    code = code_of(language)
    return not _doing(code).isdisjoint(spoken_words(text))


@cache
def _doing(code: str) -> frozenset[str]:
    data = data_of(code)
    verbs = {word for phrases in data.verbs.values() for phrase in phrases for word in spoken_words(phrase)}
    return frozenset(word for word in verbs if len(word) > _LITTLE) | _phrases_of(code).orders


@cache
def _vocabulary(code: str) -> frozenset[str]:
    """Return the words for what is done in a home, and to what."""
    data = data_of(code)
    listed = (*data.verbs.values(), *data.synonyms.values(), *data.rooms.values(), *data.things.values())
    words = {word for phrases in listed for phrase in phrases for word in spoken_words(phrase)}
    return frozenset(word for word in words if len(word) > _LITTLE and letters(word) not in number_words(code)) - {
        word for phrase in (*data.pin_words, *data.hesitations, *data.prepositions) for word in spoken_words(phrase)
    }


def is_remark(text: str, language: str) -> bool:
    """Return whether a sentence states something and asks for nothing; never in a language whose data does not say so."""
    pattern = data_of(language).remark
    return bool(pattern) and len(text) <= MAX_TEXT and re.match(pattern, text.strip().casefold()) is not None


def is_altered(text: str, language: str, understood: Iterable[str], *, asks: bool) -> bool:
    """Return whether a sentence is something else than the plain command, or question (`asks`), that it looks like.

    It may deny, except, set a condition, name another time, ask or report. Names and values that were `understood` do none of
    that. Never in a language whose data does not say how that is said.
    """
    anywhere, at_start = _altering(code_of(language))
    said = text[:MAX_TEXT].strip().casefold()
    if not asks and at_start.match(said):
        return True
    named = tuple(understood)
    return anywhere.search(_blanked(said, named)) is not None or is_put_off(said, language, named)


def is_turned_off(text: str, language: str) -> bool:
    """Return whether a text has a word for turning off, and none for sound: "spegni la TV" is not to mute it."""
    off, sound = _off_and_sound(code_of(language))
    words = set(words_of(text))
    return not words.isdisjoint(off) and words.isdisjoint(sound)


@cache
def _off_and_sound(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of our own commands for turning off, and what else those for muting have."""
    said: dict[str, set[str]] = {}
    for command in data_of(code).commands:
        is_any = command.intent != "HassTurnOff" or "switched" in command.domains
        for text in command.sentences if is_any else ():
            said.setdefault(command.intent, set()).update(words_of(re.sub(r"[()|\[\]]", " ", text)))
    off = said.get("HassTurnOff", set())
    return frozenset(off), frozenset(said.get("HassMediaPlayerMute", set()) - off)


def begins_otherwise(text: str, language: str) -> bool:
    """Return whether a text begins as a question or a report, and not as a command."""
    return _altering(code_of(language))[1].match(text[:MAX_TEXT].strip().casefold()) is not None


def _blanked(said: str, values: Iterable[str]) -> str:
    for value in values:
        if value := value.strip().casefold():
            said = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", " _ ", said)
    return said


@cache
def _altering(code: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = data_of(code).alters
    anywhere, at_start = ("|".join(listed) or "(?!)" for listed in (words.anywhere, words.at_start))
    return re.compile(rf"(?<!\w)(?:{anywhere})(?!\w)"), re.compile(rf"(?:{at_start})(?!\w)")


def asks_to_remove(text: str, language: str) -> bool:
    """Return whether a sentence says that something is to be taken off a list, not to be ticked off."""
    said = f" {' '.join(spoken_words(text))} "
    phrases = (*data_of(language).removes, *data_of(ENGLISH).removes)
    return any(f" {' '.join(words)} " in said for words in _split(phrases))


class SelfQuestion(Enum):
    """What a whole sentence asks of the agent itself."""

    UNDO = "undo"
    ABILITIES = "abilities"
    LAST_ACTION = "last_action"


def asked_of(text: str, language: str) -> SelfQuestion | None:
    """Return what the whole text asks of the agent itself, courtesies aside; None: something else, or nothing."""
    if len(text) > MAX_UNDO:
        return None
    codes, said = dict.fromkeys((code_of(language), ENGLISH)), text.casefold()
    if said.isascii() and not any(sign in said for code in codes for sign in _phrases_of(code).asked_signs):
        return None
    asides = [aside for code in codes for aside in _phrases_of(code).asides]
    words = spoken_words(text)
    place = 0
    while place < len(words):
        aside = next((aside for aside in asides if tuple(words[place : place + len(aside)]) == aside), None)
        if aside:
            del words[place : place + len(aside)]
        else:
            place += 1
    found = (_phrases_of(code).asked.get(tuple(words)) for code in codes)
    return next(filter(None, found), None)


def is_thanks(text: str, language: str) -> bool:
    """Return whether a text thanks and does nothing else; in English as well, and never where it is not known how."""
    said = text[:MAX_UNDO].strip(" .!?,").casefold()
    codes = dict.fromkeys((code_of(language), ENGLISH))
    return any(re.fullmatch(pattern, said) for code in codes for pattern in data_of(code).claims.thanks)


def taught_in(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield which thing may be given which name by the whole text, as both were written; nothing where it is a question."""
    said = " ".join(text.split())
    if len(said) > MAX_TAUGHT or _ASKS.search(said):
        return
    said = said.rstrip(" .!")
    for pattern in data_of(language).teaches:
        if (match := re.fullmatch(pattern, said, re.IGNORECASE)) is not None:
            yield match["thing"].strip(_AROUND), match["name"].strip(_AROUND)


def is_reserved(name: str, language: str) -> bool:
    """Return whether nothing can be called so: it is an answer, a command, a number or a word for everything.

    A name of several words is one where each of them is.
    """
    said = runs(name)
    if asked_of(name, language) is not None or read_answer(name, language).kind is not ReplyKind.OTHER:
        return True
    for code in dict.fromkeys((code_of(language), ENGLISH)):
        data, numbers = data_of(code), number_words(code)
        listed = (data.orders, data.everything, data.fillers, *data.verbs.values(), data.undo.phrases)
        known = {word for words in listed for phrase in words for word in runs(phrase)}
        if all(word in known or word.isdigit() or letters(word) in numbers for word in said):
            return True
    return False


def is_asking(text: str, language: str) -> bool:
    """Return whether a text has the mark of a question in it."""
    return bool(_ASKS.search(text) or (base_of(language) == "el" and _GREEK_ASKS.search(text)))


@lru_cache(maxsize=8192)
def plain_words(text: str, language: str) -> tuple[str, ...]:
    """Return the words of a text, without case, signs and what is only polite."""
    phrases, said = _phrases_of(code_of(language)), tuple(spoken_words(text))
    words: list[str] = []
    place = 0
    while place < len(said):
        nice = next((one for one in phrases.niceties if said[place : place + len(one)] == one), None)
        if nice is None:
            words.append(said[place])
        place += len(nice) if nice else 1
    return tuple(words)


def is_order(text: str, language: str, named: Iterable[str] = ()) -> bool:
    """Return whether a text begins like a command and is no question; false where the language has no words for it.

    What was `named` is no command: the "Water valve".
    """
    phrases, said = _phrases_of(code_of(language)), text[:MAX_UNDO].casefold()
    parts = (match[0] for match in _PART_OR_NAME.finditer(_blanked(said, named)))
    return next((part for part in parts if part not in phrases.polite), "") in phrases.orders and not _ASKS.search(said)


def tells_state(text: str, language: str) -> bool:
    """Return whether a text says of a kind of thing how it is, and nothing else, where the word is also what one does: "heat on"."""
    phrases = _phrases_of(code_of(language))
    rest = f" {' '.join(spoken_words(text[:MAX_UNDO]))} "
    for one in phrases.beside:
        rest = rest.replace(f" {one} ", " ")
    said = rest.split()
    return bool(said) and said[0] in phrases.doings and tuple(said[1:]) in phrases.states


@lru_cache(maxsize=256)
def is_question(text: str, language: str, named: tuple[str, ...] = ()) -> bool:
    """Return whether a text asks about something: it is marked as a question, and neither an order nor a request.

    "Kettle on?" asks; "turn the kettle on?", which a recogniser of speech may have heard, and "can you turn it on?" do not. False in
    a language without words for orders.
    """
    phrases, said = _phrases_of(code_of(language)), text[:MAX_TEXT].strip().casefold()
    if not phrases.orders or not _MARKED.search(said):
        return False
    if is_order(_ASKS.sub(" ", said), language, named) and not tells_state(said, language):
        return False
    words = tuple(spoken_words(said))
    polite = {nice for nice in phrases.niceties if len(nice) > 1}
    starts = (words[at : at + length] for at in range(2) for length in {*map(len, polite)})
    return polite.isdisjoint(starts) and not is_request(said, language)


def is_request(text: str, language: str) -> bool:
    """Return whether a text asks for something to be done: "can you turn on the light?", "machst du das Licht an?"."""
    requests = _phrases_of(code_of(language)).requests
    return requests is not None and requests.search(text.strip().casefold()) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _PhraseWords:
    answers: dict[tuple[str, ...], ReplyKind]
    beside_no: frozenset[tuple[str, ...]]
    """What may be said beside a no: "actually no"."""
    confirms: Mapping[str, frozenset[tuple[str, ...]]]
    """What a yes may repeat, by what is asked."""
    longest: int
    asked: Mapping[tuple[str, ...], SelfQuestion]
    asked_signs: frozenset[str]
    """One word of each: a text without any of them asks for something else."""
    asides: Sequence[tuple[str, ...]]
    """The longest first."""
    orders: frozenset[str]
    doings: frozenset[str]
    """Those orders that are only for things of some kind: "heat", "water", not "turn"."""
    states: frozenset[tuple[str, ...]]
    beside: Sequence[str]
    """What changes nothing about a question; the longest first."""
    polite: frozenset[str]
    niceties: Sequence[tuple[str, ...]]
    """What changes nothing about a command wherever it stands, and what only makes it polite; the longest first."""
    requests: re.Pattern[str] | None
    """Questions that are requests: "can you turn on the light?" """


@cache
def _phrases_of(code: str) -> _PhraseWords:
    """Return the phrases of a language; where one is in several tables, the refusal counts."""
    own, english = data_of(code), data_of(ENGLISH)
    data = own if own.yes else english
    answers: dict[tuple[str, ...], ReplyKind] = {}
    for kind, listed in (
        (ReplyKind.ASKS, (*english.asks_back, *own.asks_back)),
        (ReplyKind.WAVERS, (*english.wavers, *own.wavers)),
        (ReplyKind.OTHER, data.courtesies),
        (ReplyKind.YES, (*english.yes_everywhere, *data.yes)),
        (ReplyKind.NO, (*english.no, *data.no)),
    ):
        answers |= dict.fromkeys(_split(listed), kind)
    confirms = {about: frozenset(_split(listed)) for about, listed in data.confirms.items()}
    asked: dict[tuple[str, ...], SelfQuestion] = {}
    for what, listed in (
        (SelfQuestion.ABILITIES, own.asks.abilities),
        (SelfQuestion.LAST_ACTION, own.asks.last_action),
        (SelfQuestion.UNDO, own.undo.phrases),
    ):
        asked |= dict.fromkeys(_split(listed), what)
    kinds = {word for listed in (*own.verbs.values(), *own.synonyms.values()) for word in listed}
    beside_no = frozenset(_split((*english.beside_no, *own.beside_no)))
    return _PhraseWords(
        answers=answers,
        beside_no=beside_no,
        confirms=confirms,
        longest=max(map(len, (*answers, *(words for listed in confirms.values() for words in listed)))),
        asked=asked,
        asked_signs=frozenset(max(words, key=len) for words in asked if words),
        asides=sorted(_split(own.undo.asides), key=len, reverse=True),
        orders=frozenset({*own.orders, *map(fold, own.orders)}),
        doings=frozenset(own.orders) & kinds,
        states=frozenset(_split([state for listed in own.questions.states.values() for state in listed])),
        beside=sorted(
            {" ".join(words) for words in _split((*own.questions.beside, *own.questions.definite))},
            key=len,
            reverse=True,
        ),
        polite=frozenset(data.courtesies),
        niceties=sorted({*_split(own.polite), *_split({*own.courtesies} & {*own.harmless})}, key=len, reverse=True),
        requests=re.compile(own.claims.requests) if own.claims.requests else None,
    )


def _kinds(words: Sequence[str], language: str, about: str, name: str) -> set[ReplyKind] | None:
    """Return which kinds of phrases make up the words, in whichever way; None when some belong to none.

    "Yes, do it" is "yes" and "do it", although "yes do" is a phrase as well. To a question about one thing, a yes that goes on
    with a refusal ("yes, but not the back door") is a no. Beside a no, and never beside a yes alone, more may be said
    ("actually no").
    """
    phrases = _phrases_of(code_of(language))
    repeated = {*phrases.confirms.get(about, ()), *([tuple(spoken_words(name))] if name else ())}
    kinds, said = _made_of(words, phrases, repeated)
    if kinds is None:
        beside, _ = _made_of(words, phrases, repeated | phrases.beside_no)
        if beside and ReplyKind.NO in beside:
            return {ReplyKind.NO}
    return {ReplyKind.NO} if kinds is None and about and {ReplyKind.YES, ReplyKind.NO} <= said else kinds


def _made_of(
    words: Sequence[str], phrases: _PhraseWords, other: Collection[tuple[str, ...]]
) -> tuple[set[ReplyKind] | None, set[ReplyKind]]:
    """Return which kinds of phrases make up the words, None when some belong to none, and which are said at all."""
    longest = max(phrases.longest, *map(len, other)) if other else phrases.longest
    found: list[set[ReplyKind] | None] = [set(), *([None] * len(words))]
    said: set[ReplyKind] = set()
    for position, kinds in enumerate(found):
        for end in range(position + 1, min(position + longest, len(words)) + 1):
            phrase = tuple(words[position:end])
            if (kind := phrases.answers.get(phrase) or (ReplyKind.OTHER if phrase in other else None)) is not None:
                said |= {kind} if position or kind is ReplyKind.YES else set()
                if kinds is not None:
                    found[end] = {*(found[end] or ()), *kinds, kind}
    return found[-1], said


def _split(phrases: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield phrases as their words, also as they are typed in haste: "daccord", "dont"."""
    for phrase in phrases:
        yield tuple(spoken_words(phrase))
        yield tuple(spoken_words(_APOSTROPHE.sub("", phrase)))
