"""What of that which a model wants remembered is not worth it: states of a moment, what was just done, talk about the talk.

The words stand in the data of each language (`memory`); what needs none holds in all of them: how sure the model is, how much
is said, questions, and what the home itself shows. Only what a model extracted goes through here, never what a user asked to
keep.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
import re

from homeassistant.core import HomeAssistant

from ..home.agreement import agrees
from ..home.mentions import async_mentioned
from ..home.snapshot import Home
from ..languages.claims import any_word, filled, told_in
from ..languages.data import MemoryWords, code_of, data_of
from ..languages.phrases import MASK
from ..settings.memory import MemorySettings
from ..support.masking import HIDDEN
from ..support.text import is_unspaced, runs
from .model import MAX_CONTENT, Draft

MEANINGFUL = 2  # characters; longer words count
_SPACED = re.compile(r"\s+")
_ASKS = ("?", "？", "؟", "⸮", "՞")
_MEASURED = re.compile(
    r"(?<![\w.,])-?\d+(?:[.,]\d+)? ?(?:°|º|℃|%|kwh?\b|w\b|watts?\b|lux\b|lx\b|ppm\b|hpa\b|degrees\b|grad\b|percent\b|prozent\b|µg|db\b)"
)
"""What a sensor shows."""
_EDGES = " .!?;:,–—-\"'«»„“”"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """The patterns of a language."""

    low_value: re.Pattern[str]
    """At the beginning."""
    questions: re.Pattern[str]
    """At the beginning."""
    talk: re.Pattern[str]
    done: re.Pattern[str]
    states: re.Pattern[str]
    lasting: re.Pattern[str]
    """What makes a state one that lasts, and an action one that is repeated."""
    reasons: re.Pattern[str]
    """What makes a state one that is meant to be; what was done once was done once, whatever for."""
    dates: re.Pattern[str]
    denials: re.Pattern[str]
    vague: re.Pattern[str]


def rejected_because(draft: Draft, settings: MemorySettings, language: str) -> str | None:
    """Return why a draft is not worth remembering; None: it is.

    `empty`, `masked`, `importance`, `question`, `low_value_prefix`, `too_few_words`, `meta_information`, `just_done`,
    `transient_state`, `negative_existence` or `vague`.
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
    words = _words_of(code_of(language))
    is_dated = words is not None and words.dates.search(text) is not None
    if words is not None and (reason := _by_words(text, words, is_dated=is_dated)):
        return reason
    return "too_few_words" if meaningful_words(text) < settings.min_words and not is_dated else None


def _by_words(text: str, words: _Words, *, is_dated: bool) -> str | None:
    """Return which of the patterns of a language a text is caught by."""
    said = text.strip(_EDGES)
    if words.questions.match(said):
        return "question"
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
    return "vague" if words.vague.search(text) else None


async def async_shown_by_home(hass: HomeAssistant, home: Home, text: str, language: str) -> bool:
    """Return whether a text says what something of the home is right now, which the home itself shows.

    Holds in every language whose words for states are known, and for numbers with a unit in all others.
    """
    for told in told_in(text[:MAX_CONTENT], language):
        if told.states or told.numbers:
            for entity_id in await async_mentioned(home, told.text):
                state = hass.states.get(entity_id)
                if state is not None and agrees(state, told.states, list(told.numbers), as_set=False) is not None:
                    return True
    return False


def meaningful_words(text: str) -> int:
    """Return how many words longer than two characters a text has; two characters count as one where none are apart."""
    return sum(len(run) // 2 if is_unspaced(run) else len(run) > MEANINGFUL for run in runs(text))


def plain(text: str) -> str:
    """Return a text as patterns read it: in lower case, with one kind of apostrophe and single spaces."""
    said = text[:MAX_CONTENT].casefold().replace("’", "'").replace("ё", "е")
    return _SPACED.sub(" ", said).strip()


@cache
def _words_of(code: str) -> _Words | None:
    words: MemoryWords = data_of(code).memory
    if not words.states:
        return None

    def anywhere(patterns: Sequence[str]) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{filled(item, words.parts)})" for item in patterns) or "(?!)")

    return _Words(
        low_value=anywhere(words.low_value),
        questions=anywhere(words.questions),
        talk=anywhere(words.talk),
        done=anywhere(words.done),
        states=anywhere(words.states),
        lasting=any_word(words.lasting),
        reasons=any_word(words.reasons),
        dates=any_word(words.dates),
        denials=any_word(words.denials),
        vague=anywhere(words.vague),
    )
