"""The data file of a language: `<code>.json` in this folder, with the keys that `schema.json` describes.

A language is known by its base code: `pt-BR` reads `pt.json`. Files are read once. `async_load` reads them off the event
loop; the caller that asks for one that was not loaded by then waits for a file of a few kilobytes.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, datetime
from functools import cache, lru_cache
from pathlib import Path
import re
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.util.json import json_loads_object
from unicode_rbnf import RbnfEngine

from ..support.const import LOGGER
from ..support.text import fold, is_unspaced, normalized

ENGLISH = "en"
"""Known beside every language: people, models and devices fall back to it."""
EVENT_LANGUAGES = ("ru", "de", ENGLISH)
"""Their words for events are understood in every language."""

_SHORT = 3  # letters
_FOLDER = Path(__file__).parent
_NUMBERS = frozenset(
    {"spellout-numbering", *(f"spellout-cardinal{of}" for of in ("", "-masculine", "-feminine", "-neuter", "-common"))}
)
"""How a digit is said by itself: other forms are other words, as "네" is four things and a yes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoWords:
    """How a user asks to take back what was done last."""

    phrases: Sequence[str] = ()
    asides: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWords:
    """How a user asks about the agent itself; whole sentences."""

    abilities: Sequence[str] = ()
    last_action: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteringWords:
    """What makes a sentence something else than the plain command that it looks like; regular expressions."""

    anywhere: Sequence[str] = ()
    at_start: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPhrases:
    """More ways to say one of Home Assistant's intents, in the notation of its own sentences."""

    intent: str
    domains: Sequence[str]
    sentences: Sequence[str]
    slots: Mapping[str, Any] = field(default_factory=dict)
    change: Mapping[str, float] = field(default_factory=dict)
    alone: bool = False
    response: str = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpWords:
    """How a sentence goes on from the one before."""

    again: Sequence[str] = ()
    too: Sequence[str] = ()
    one: Sequence[str] = ()
    it: Sequence[str] = ()
    joins: Sequence[str] = ()
    then: Sequence[str] = ()
    both: Sequence[str] = ()
    acts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceWords:
    """Answers to the question which of several things is meant, besides parts of names and rooms."""

    ordinals: Sequence[Sequence[str]] = ()
    last: Sequence[str] = ()
    all: Sequence[str] = ()
    none: Sequence[str] = ()
    other: Sequence[str] = ()
    beside: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWords:
    """How a language says that something was done; regular expressions, `<name>` stands for one of `parts`."""

    parts: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    automations: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What says that an automation was `made`, which is also changed and deleted, or `switched`; words of who wants one
    (`wanted`), and of an answer that tells of something `new`, `from_now` on, or `not_new`; parts of words by which one is `mentioned`."""
    said: Sequence[str] = ()
    done: Sequence[str] = ()
    denials: Sequence[str] = ()
    already: Sequence[str] = ()
    not_now: Sequence[str] = ()
    earlier: Sequence[str] = ()
    earlier_at_start: Sequence[str] = ()
    requests: str = ""
    agreements: Sequence[str] = ()
    thanks: Sequence[str] = ()
    joins: Sequence[str] = ()
    states: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCallWords:
    """How a language says that a tool call is only shown; regular expressions."""

    answer: Sequence[str] = ()
    asked: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inflection:
    """How words change in a language that declines them."""

    endings: Sequence[str] = ()
    fleeting_vowels: Sequence[str] = ()
    same_sounds: Sequence[Sequence[str]] = ()
    adjective_endings: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventWords:
    """How a user asks what happened or will happen; regular expressions."""

    tasks: Sequence[str] = ()
    show: Sequence[str] = ()
    events: Sequence[str] = ()
    ahead: Sequence[str] = ()
    past: Sequence[str] = ()
    periods: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWords:
    """How what stands on a list is asked for."""

    reads: Sequence[str] = ()
    ends: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterWords:
    """What says that something is not for now; regular expressions, `<name>` stands for one of `parts`."""

    parts: Mapping[str, str] = field(default_factory=dict)
    now: Sequence[str] = ()
    asides: Sequence[str] = ()
    beside: Sequence[str] = ()
    keeps: Sequence[str] = ()
    waits: Sequence[str] = ()
    vague: Sequence[str] = ()
    span: Sequence[str] = ()
    clock: Sequence[str] = ()
    day: Sequence[str] = ()
    lasting: Sequence[str] = ()
    repeated: Sequence[str] = ()
    events: Sequence[str] = ()
    marks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unmarked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RhythmWords:
    """How it is said that something is to happen again and again; regular expressions, `<name>` stands for words of a list."""

    names: Mapping[str, str] = field(default_factory=dict)
    plurals: Mapping[str, str] = field(default_factory=dict)
    joins: Sequence[str] = ()
    named: Sequence[str] = ()
    apart: Mapping[str, str] = field(default_factory=dict)
    ranges: Sequence[str] = ()
    days: Sequence[str] = ()
    weekdays: Sequence[str] = ()
    weekends: Sequence[str] = ()
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict)
    minutes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    spans: Sequence[str] = ()
    always: Sequence[str] = ()
    whenever: Mapping[str, str] = field(default_factory=dict)
    never: Sequence[str] = ()
    states: Sequence[str] = ()
    makes: Sequence[str] = ()
    forms: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningWords:
    """How wishes for later are spoken of; from `reminds` to `resumes` they are regular expressions, words else."""

    lists: Sequence[str] = ()
    cancels: Sequence[str] = ()
    drops: Sequence[str] = ()
    lets_be: Sequence[str] = ()
    well: Sequence[str] = ()
    weak: Sequence[str] = ()
    plans: Sequence[str] = ()
    last: Sequence[str] = ()
    all: Sequence[str] = ()
    both: Sequence[str] = ()
    one_of: Sequence[str] = ()
    same_time: Sequence[str] = ()
    past: Mapping[str, str] = field(default_factory=dict)
    latest: Sequence[str] = ()
    whens: Sequence[str] = ()
    needless: Sequence[str] = ()
    keeps: Sequence[str] = ()
    nots: Sequence[str] = ()
    reminds: Sequence[str] = ()
    wakes: Sequence[str] = ()
    tells: Sequence[str] = ()
    timers: Sequence[str] = ()
    left: Sequence[str] = ()
    stops: Sequence[str] = ()
    adds: Sequence[str] = ()
    takes: Sequence[str] = ()
    pauses: Sequence[str] = ()
    resumes: Sequence[str] = ()
    moves: Sequence[str] = ()
    sets: Sequence[str] = ()
    instead: Sequence[str] = ()
    corrects: Sequence[str] = ()
    instead_of: Sequence[str] = ()
    but_at: Sequence[str] = ()
    into: Sequence[str] = ()
    by: Sequence[str] = ()
    up_to: Sequence[str] = ()
    more: Sequence[str] = ()
    same: Sequence[str] = ()
    goes_on: Sequence[str] = ()
    soonest: Sequence[str] = ()
    farthest: Sequence[str] = ()
    leaves: Sequence[str] = ()
    excepts: Sequence[str] = ()
    included: Sequence[str] = ()
    after: Sequence[str] = ()
    before: Sequence[str] = ()
    kinds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    frames: Sequence[str] = ()
    timer_words: Sequence[str] = ()
    declares: Sequence[str] = ()
    clauses: Sequence[str] = ()
    beside: Sequence[str] = ()
    thens: Sequence[str] = ()
    enclitics: Sequence[str] = ()
    stays: Mapping[str, str] = field(default_factory=dict)
    plain: Mapping[str, str] = field(default_factory=dict)
    recasts: Mapping[str, str] = field(default_factory=dict)
    rewords: Mapping[str, str] = field(default_factory=dict)
    waits: Mapping[str, str] = field(default_factory=dict)
    retold: Mapping[str, str] = field(default_factory=dict)
    wants: Mapping[str, str] = field(default_factory=dict)
    asks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonWords:
    """How a command goes on with why it is given."""

    joins: Sequence[str] = ()
    begins: Sequence[str] = ()
    keeps: Sequence[str] = ()
    remarks: Sequence[str] = ()
    reports: Sequence[str] = ()
    hence: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AsideWords:
    """What stands beside an order for later, and what does not: calls, fillers, and words that a clause has that wants something."""

    orders: Sequence[str] = ()
    joins: Sequence[str] = ()
    corrects: Sequence[str] = ()
    keeps: Sequence[str] = ()
    ends: Sequence[str] = ()
    selves: Sequence[str] = ()
    others: Sequence[str] = ()
    calls: Sequence[str] = ()
    tails: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MoodWords:
    """How it is said that a room or a sound is too bright, that it is so, and that it is to be otherwise."""

    qualities: Mapping[str, Sequence[str]] = field(default_factory=dict)
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)
    extreme: Mapping[str, Sequence[str]] = field(default_factory=dict)
    too: Sequence[str] = ()
    enough: Sequence[str] = ()
    so: Sequence[str] = ()
    negations: Sequence[str] = ()
    less: Sequence[str] = ()
    stronger: Sequence[str] = ()
    copulas: Sequence[str] = ()
    degrees: Sequence[str] = ()
    beside: Sequence[str] = ()
    wishes: Sequence[str] = ()
    asks: Sequence[str] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    things: Mapping[str, Sequence[str]] = field(default_factory=dict)
    strongly: Sequence[str] = ()
    pleasant: Sequence[str] = ()
    strong: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWords:
    """How the state of things is asked for."""

    begins: Mapping[str, Sequence[str]] = field(default_factory=dict)
    states: Mapping[str, Sequence[str]] = field(default_factory=dict)
    any: Sequence[str] = ()
    all: Sequence[str] = ()
    anything: Sequence[str] = ()
    everything: Sequence[str] = ()
    definite: Sequence[str] = ()
    beside: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseWords:
    """How it is said what has to be so in the home, or has to happen: "the washer is done", "the house is empty"."""

    states: Mapping[str, Sequence[str]] = field(default_factory=dict)
    compares: Mapping[str, Sequence[str]] = field(default_factory=dict)
    measures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    units: Mapping[str, Sequence[str]] = field(default_factory=dict)
    changes: Sequence[str] = ()
    who: Mapping[str, Sequence[str]] = field(default_factory=dict)
    joins: Mapping[str, Sequence[str]] = field(default_factory=dict)
    negations: Sequence[str] = ()
    none: Sequence[str] = ()
    doubled: Sequence[str] = ()
    any: Sequence[str] = ()
    all: Sequence[str] = ()
    leads: Sequence[str] = ()
    it: Sequence[str] = ()
    here: Sequence[str] = ()
    there: Sequence[str] = ()
    beside: Sequence[str] = ()
    things: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWords:
    """How a language says what is not worth remembering, and that something has changed; regular expressions."""

    parts: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    low_value: Sequence[str] = ()
    talk: Sequence[str] = ()
    done: Sequence[str] = ()
    states: Sequence[str] = ()
    lasting: Sequence[str] = ()
    reasons: Sequence[str] = ()
    dates: Sequence[str] = ()
    denials: Sequence[str] = ()
    questions: Sequence[str] = ()
    vague: Sequence[str] = ()
    secrets: Sequence[str] = ()
    values: Sequence[str] = ()
    instructions: Sequence[str] = ()
    requests: Sequence[str] = ()
    passing: Sequence[str] = ()
    habits: Sequence[str] = ()
    single: Sequence[str] = ()
    besides: Sequence[str] = ()
    fresh: Sequence[str] = ()
    changes: Sequence[str] = ()
    relations: Sequence[str] = ()
    negations: Sequence[str] = ()
    frames: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptWords:
    """Everything that is written into a prompt in one language. Read by the model: the same on every system."""

    history_empty: str
    user: str
    assistant: str
    system: str
    unknown_user: str
    unknown_household: str
    events: str
    events_none: str
    events_not_asked: str
    context_lines: Sequence[str]
    moment: str
    day: str

    def written(self, when: date) -> str:
        """Return a moment, or a day, as it is written in the language."""
        return when.strftime(self.moment if isinstance(when, datetime) else self.day)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageData:
    """One file; what it leaves out is empty. The schema says what each key is for."""

    quotes: Sequence[str] = ("“", "”")
    yes: Sequence[str] = ()
    yes_everywhere: Sequence[str] = ()
    no: Sequence[str] = ()
    courtesies: Sequence[str] = ()
    confirms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    asks_back: Sequence[str] = ()
    beside_no: Sequence[str] = ()
    wavers: Sequence[str] = ()
    removes: Sequence[str] = ()
    digits: Mapping[str, Sequence[str]] = field(default_factory=dict)
    several: Mapping[str, Sequence[str]] = field(default_factory=dict)
    repeats: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hesitations: Sequence[str] = ()
    pin_words: Sequence[str] = ()
    remark: str = ""
    still: Sequence[str] = ()
    again: Sequence[str] = ()
    denies: Sequence[str] = ()
    orders: Sequence[str] = ()
    commands: Sequence[CommandPhrases] = ()
    runs: Sequence[str] = ()
    harmless: Sequence[str] = ()
    prepositions: Sequence[str] = ()
    polite: Sequence[str] = ()
    lasting: Sequence[str] = ()
    units: Mapping[str, Sequence[str]] = field(default_factory=dict)
    plurals: Sequence[str] = ()
    follow_ups: FollowUpWords = FollowUpWords()
    exceptions: Sequence[str] = ()
    choices: ChoiceWords = ChoiceWords()
    alters: AlteringWords = AlteringWords()
    undo: UndoWords = UndoWords()
    asks: AskedWords = AskedWords()
    teaches: Sequence[str] = ()
    claims: ClaimWords = ClaimWords()
    shown_calls: ShownCallWords = ShownCallWords()
    everything: Sequence[str] = ()
    fillers: Sequence[str] = ()
    synonyms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    verbs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rooms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    room_words: Sequence[str] = ()
    things: Mapping[str, Sequence[str]] = field(default_factory=dict)
    inflection: Inflection = Inflection()
    events: EventWords = EventWords()
    concepts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    times: Mapping[str, Any] = field(default_factory=dict)
    questions: QuestionWords = QuestionWords()
    lists: ListWords = ListWords()
    later: LaterWords = LaterWords()
    rhythms: RhythmWords = RhythmWords()
    planning: PlanningWords = PlanningWords()
    reasons: ReasonWords = ReasonWords()
    asides: AsideWords = AsideWords()
    moods: MoodWords = MoodWords()
    clauses: ClauseWords = ClauseWords()
    memory: MemoryWords = MemoryWords()
    personal: Mapping[str, Any] = field(default_factory=dict)
    prompt: PromptWords | None = None


_EMPTY = LanguageData()
_SECTIONS: Mapping[str, type[Any]] = {
    **{row.name: type(row.default) for row in fields(LanguageData) if is_dataclass(row.default)},
    "prompt": PromptWords,
}
_BROKEN: set[str] = set()
"""Codes of the languages whose file does not fit, which was logged."""
LOADED: set[str] = set()
"""Codes of the languages whose data was read ahead."""

_LETTERS = re.compile(r"[^\W\d_]+")
LANGUAGE_CODE = re.compile(r"[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
"""What a whole text has to be to be the code of a language: it is a part of names of files."""


@lru_cache(maxsize=256)
def base_of(language: str) -> str:
    """Return the code of a language without a region: `pt` of `pt-BR`."""
    return language.replace("_", "-").partition("-")[0].casefold()


@lru_cache(maxsize=256)
def code_of(language: str) -> str:
    """Return the code whose data is used for a language: its base, or English where that has no file."""
    code = base_of(language)
    return code if code in language_codes() else ENGLISH


async def async_load(hass: HomeAssistant, *languages: str) -> None:
    """Read the data of languages in the executor, and that of English with the first of them."""
    if not LOADED or {code_of(language) for language in languages} - LOADED:

        def load() -> None:
            unit_words()
            for code in map(code_of, (ENGLISH, *languages)):
                number_words(code)
                LOADED.add(code)

        await hass.async_add_executor_job(load)


@cache
def language_codes() -> frozenset[str]:
    """Return the languages that have a file."""
    return frozenset(path.stem for path in _FOLDER.glob("*.json")) - {"schema"}


def data_of(language: str) -> LanguageData:
    """Return the data of a language; empty where it has no file."""
    code = base_of(language)
    return _kept(code) if code in language_codes() else _EMPTY


def mentions_automation(text: str, language: str) -> bool:
    """Return whether a text may tell of an automation, by parts of words; it says yes rather than no."""
    told = text.casefold()
    codes = (language, ENGLISH)  # models fall back to English in any language
    return any(word in told for code in codes for word in data_of(code).claims.automations.get("mentioned", ()))


def all_data() -> dict[str, LanguageData]:
    """Return the data of every language by its code; reads all files, and keeps none."""
    return {code: _read(code) for code in language_codes()}


def _read(code: str) -> LanguageData:
    """Return a file; empty, with one line in the log, where it does not fit: the other languages are not to be lost with it."""
    try:
        return _data_from(code)
    except (OSError, TypeError, ValueError) as err:
        if code not in _BROKEN:
            LOGGER.error("The words of the language %s cannot be read, and it is left out: %s", code, err)
        _BROKEN.add(code)
        return _EMPTY


def _data_from(code: str) -> LanguageData:
    raw = json_loads_object((_FOLDER / f"{code}.json").read_bytes())
    known: dict[str, Any] = {
        key: _SECTIONS[key](**value) if key in _SECTIONS and isinstance(value, dict) else value
        for key, value in raw.items()
        if key != "$schema"
    }
    if isinstance(commands := known.get("commands"), list):
        known["commands"] = [CommandPhrases(**command) for command in commands]
    return LanguageData(**known)


_kept = cache(_read)


@cache
def unit_words() -> Mapping[str, str]:
    """Return a regular expression for the words of all languages for each unit, by its sign. The first call reads their files.

    Words of four letters and more are found with other endings, too.
    """
    found: dict[str, set[str]] = {}
    for data in all_data().values():
        for sign, words in data.units.items():
            found.setdefault(sign, set()).update(form for word in words for form in (word, fold(word)))
    return {
        sign: "|".join(
            re.escape(word) if len(word) > _SHORT or is_unspaced(word) else rf"{re.escape(word)}\b"
            for word in sorted(words, key=len, reverse=True)
        )
        for sign, words in found.items()
    }


def prompt_words(language: str) -> PromptWords:
    """Return what prompts are filled in with; English where a language has no words for it."""
    words = data_of(language).prompt or data_of(ENGLISH).prompt
    assert words is not None  # the schema wants them of English
    return words


@lru_cache(maxsize=256)
def number_words(language: str) -> Mapping[str, int]:
    """Return the folded words for numbers, in a language and in English, written together: `thirtyfour`, `zweihundert`.

    They are 0 to 99, the whole hundreds and thousands; a word that stands for a hundred by itself is -100.
    """
    if (code := code_of(language)) != language:
        return number_words(code)
    english = {} if code == ENGLISH else number_words(ENGLISH)
    words = {word: number for word, number in english.items() if len(word) > 1}
    spelled: dict[int, set[str]] = {}
    with suppress(ValueError):  # a language without rules of its own
        engine = RbnfEngine.for_language(code)
        for number in (*range(10, 100), *range(100, 1000, 100), *range(1000, 10_000, 1000)):
            forms = engine.format_number(number).text_by_ruleset
            spelled[number] = {letters(word) for rule, word in forms.items() if rule in _NUMBERS}
            words |= dict.fromkeys(spelled[number], number)
    digits = {letters(word): int(digit) for word, digit in digit_words(code).items()}
    ones = [word for word, digit in digits.items() if digit == 1]
    hundreds = {word for word in spelled.get(100, ()) if not any(word.startswith(one) for one in ones)}
    hundreds |= {
        word.removeprefix(one)
        for one, number in digits.items()
        for word in (spelled.get(number * 100, ()) if number in (2, 3) else ())
        if word.startswith(one)
    }
    return words | dict.fromkeys((word for word in hundreds if len(word) > 2), -100) | digits


def letters(text: str) -> str:
    """Return the folded letters of a text, written together."""
    return "".join(_LETTERS.findall(fold(normalized(text))))


@lru_cache(maxsize=256)
def digit_words(language: str) -> Mapping[str, str]:
    """Return the folded words for zero to nine, in a language and in English, with the digit that each is."""
    code = code_of(language)
    data = data_of(code)
    english = {} if code == ENGLISH else digit_words(ENGLISH)
    words = {word: digit for word, digit in english.items() if len(word) > 1}  # "o" is "or" in some languages
    answers = {fold(normalized(word)) for listed in (data.yes, data.no, data.courtesies) for word in listed}
    with suppress(ValueError):  # a language without rules of its own
        engine = RbnfEngine.for_language(code)
        for digit in range(10):
            forms = engine.format_number(digit).text_by_ruleset
            said = {fold(normalized(word)) for rule, word in forms.items() if rule in _NUMBERS}
            words |= dict.fromkeys(said - answers, str(digit))
    return words | {fold(normalized(word)): digit for digit, listed in data.digits.items() for word in listed}
