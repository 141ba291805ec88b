"""Rejects memories that a model extracted but that are not worth keeping: momentary states, finished actions, small talk.

The patterns are in the data of each language (`memory`); some rules hold in all languages. What a user asked to keep is not
filtered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
import re

from homeassistant.core import HomeAssistant

from ..home.agreement import agrees
from ..home.snapshot import Home
from ..languages.claims import any_word, filled, told_in
from ..languages.data import MemoryWords, code_of, data_of
from ..languages.digits import MASK
from ..settings.memory import MemorySettings
from ..support.masking import HIDDEN
from ..support.text import is_unspaced, runs
from .record import MAX_CONTENT, Draft

MEANINGFUL = 2  # characters; longer words count
_SPACED = re.compile(r"\s+")
_ASKS = ("?", "？", "؟", "⸮", "՞")
_MEASURED = re.compile(
    r"(?<![\w.,])-?\d+(?:[.,]\d+)? ?(?:°|º|℃|%|kwh?\b|w\b|watts?\b|lux\b|lx\b|ppm\b|hpa\b|degrees\b|grad\b|percent\b|prozent\b|µg|db\b)"
)
"""What a sensor shows."""
_MARKUP = re.compile(r"</?\w{1,40}>|<\|\w{1,40}\|>|\[/?inst\]|^(?:system|assistant) ?:")
"""What a prompt is written with, and no memory."""
_VALUE = re.compile(r"\d(?:[ .-]?\d){2}")  # three digits or more: of what is called a code, it is the code
_VALUE_IN_WORD = re.compile(r"\d[^\d\s-]|[^\d\s-]\d")
_MIXED = 5  # characters with letters and digits among them, from which on they are a password of what is called one
_LONG = 20  # characters of the same, from which on they are a key under any name
_DIGITS_OF_LONG = 4
_EDGES = " .!?;:,–—-\"'«»„“”"


@dataclass(frozen=True, slots=True, kw_only=True)
class _FilterPatterns:
    low_value: re.Pattern[str]  # at the beginning
    questions: re.Pattern[str]  # at the beginning
    talk: re.Pattern[str]
    done: re.Pattern[str]
    states: re.Pattern[str]
    lasting: re.Pattern[str]  # what makes a state one that lasts, and an action one that is repeated
    reasons: re.Pattern[str]  # what makes a state one that is meant to be; a finished action stays one, with any reason
    dates: re.Pattern[str]
    denials: re.Pattern[str]
    vague: re.Pattern[str]
    secrets: re.Pattern[str]  # what a secret is called
    revealed: re.Pattern[str]  # the same with the secret behind it, at the end
    instructions: re.Pattern[str]
    requests: re.Pattern[str]  # at the beginning
    passing: re.Pattern[str]
    habits: re.Pattern[str]  # what makes a request, or what passes, one that lasts


def rejected_because(draft: Draft, settings: MemorySettings, language: str) -> str | None:
    """Return why a draft is not worth remembering; None: it is.

    `empty`, `masked`, `importance`, `question`, `secret`, `instruction`, `request`, `low_value_prefix`, `too_few_words`,
    `meta_information`, `just_done`, `transient_state`, `negative_existence` or `vague`.
    """
    text = plain(draft.content)
    if not text:
        return "empty"
    if any(sign in draft.content for sign in (*HIDDEN, MASK)):
        return "masked"
    if draft.importance < settings.extraction_min_importance:
        return "importance"
    if text.endswith(_ASKS):
        return "question"
    if _MARKUP.search(text):
        return "instruction"
    words = _words_of(code_of(language))
    if _is_secret(text, words):
        return "secret"
    is_dated = words is not None and words.dates.search(text) is not None
    if words is not None and (reason := _by_words(text, words, is_dated=is_dated)):
        return reason
    return "too_few_words" if meaningful_words(text) < settings.min_words and not is_dated else None


def _by_words(text: str, words: _FilterPatterns, *, is_dated: bool) -> str | None:
    said = text.strip(_EDGES)
    if words.instructions.search(text):
        return "instruction"
    asks, is_habit = words.requests.match(said) is not None, words.habits.search(text) is not None
    if words.questions.match(said) and not (asks and is_habit):  # "could you always speak slowly to her"
        return "question"
    if asks and not is_habit:
        return "request"
    if words.low_value.match(said):
        return "low_value_prefix"
    if words.talk.search(text):
        return "meta_information"
    if words.denials.search(text):
        return "negative_existence"
    lasts = is_dated or words.lasting.search(text) is not None
    if not lasts and words.done.search(text):
        return "just_done"
    if not lasts and not words.reasons.search(text) and (words.states.search(text) or _MEASURED.search(text)):
        return "transient_state"
    if not is_dated and not is_habit and words.passing.search(text):
        return "transient_state"
    return "vague" if words.vague.search(text) else None


def _is_secret(text: str, words: _FilterPatterns | None) -> bool:
    """Return whether a text says a password, a code or a key; that there is one, or where it is written down, is none."""
    mixed = [  # letters and digits as in no spoken word; the id of an entity is none
        word
        for run in text.split()
        if len(word := run.strip(_EDGES)) >= _MIXED
        and "." not in word
        and any(map(str.isalpha, word))
        and _VALUE_IN_WORD.search(word)
    ]
    if any(len(word) >= _LONG and sum(map(str.isdigit, word)) >= _DIGITS_OF_LONG for word in mixed):
        return True
    if words is None or not words.secrets.search(text):
        return False
    return bool(mixed or _VALUE.search(text) or words.revealed.search(text.strip(_EDGES)))


async def async_shown_by_home(hass: HomeAssistant, home: Home, text: str, language: str) -> bool:
    """Return whether a text says what something of the home is right now, which the home itself shows.

    Holds in every language whose words for states are known, and for numbers with a unit in all others.
    """
    for told in told_in(text[:MAX_CONTENT], language):
        if told.states or told.numbers:
            for entity_id in (await home.async_get()).names.mentioned_in(told.text):
                state = hass.states.get(entity_id)
                if state is not None and agrees(state, told.states, list(told.numbers), as_set=False) is not None:
                    return True
    return False


def meaningful_words(text: str) -> int:
    """Return how many words longer than two characters a text has; two characters count as one where none are apart."""
    return sum(len(run) // 2 if is_unspaced(run) else len(run) > MEANINGFUL for run in runs(text))


def plain(text: str) -> str:
    """Return a text as patterns read it: in lower case, with one kind of apostrophe and single spaces."""
    said = text[:MAX_CONTENT].lower().replace("’", "'").replace("ё", "е")
    return _SPACED.sub(" ", said).strip()


@cache
def _words_of(code: str) -> _FilterPatterns | None:
    words: MemoryWords = data_of(code).memory
    if not words.states:
        return None

    def anywhere(patterns: Sequence[str]) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{filled(item, words.parts)})" for item in patterns) or "(?!)")

    parts = ("low_value", "questions", "talk", "done", "states", "vague", "instructions", "requests", "passing")
    whole = ("lasting", "reasons", "dates", "denials", "secrets", "habits")
    return _FilterPatterns(
        **{name: anywhere(getattr(words, name)) for name in parts},
        **{name: any_word(getattr(words, name)) for name in whole},
        revealed=re.compile(
            rf"{any_word(words.secrets).pattern}(?: [^\s.,;]+){{0,4}}(?: (?:{'|'.join(words.values)})|[:=]) [^\s]+$"
        ),
    )
