"""Text as it is compared: one normal form for every script, its words, and how alike two words are.

Words keep their marks ("für"); `fold` drops those that people leave out when they type ("fur"). Scripts that write no
spaces become pairs of characters. Nothing here knows a language.
"""

from collections.abc import Iterator
from functools import lru_cache
import re
import unicodedata

MAX_TEXT = 1000  # characters that are looked at
MAX_WORD = 40  # characters; longer ones are cut

# What belongs to a word besides \w: vowel signs and joiners, without which Hindi, Thai, Hebrew or Arabic fall apart.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u0eb1-\u0ece\u0f00-\u0fff\u1000-\u109f\u1780-\u17d3\u200c\u200d"
)
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PICTURES = "\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_TOKEN = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[\w{_MARKS}])+|[{_PICTURES}]")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_ELISION = re.compile(r"\b([a-zà-ɏ]{1,2}|(?:d|n|s|qu)?[aeu]ll)['’`´](?=\w{3})")
_APOSTROPHE = re.compile(r"(?<=\w)['’`´](?=\w)")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_ENGLISH_S = re.compile(r"(?<=[a-z]{2})['’]s\b")
_LETTERS = str.maketrans({
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "ı": "i", "þ": "th", "ħ": "h", "ŧ": "t",
    "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه", "ک": "ك", "ی": "ي", "ـ": "", "\u200c": "", "\u200d": "",
})  # fmt: skip
_KEEPS_MARKS = 0x0900  # from here on (India, Thailand, ...) a mark is a vowel, not an accent


def normalized(text: str) -> str:
    """Return the text in its normal form: one way to write each character, one case, nothing invisible, no apostrophes."""
    text = text[:MAX_TEXT].casefold()
    if text.isascii() and "'" not in text and "`" not in text:
        return text
    text = unicodedata.normalize("NFKC", text).casefold().replace("ё", "е").replace("i\u0307", "i")
    text = _ENGLISH_S.sub("s", _INVISIBLE.sub("", text))
    return _APOSTROPHE.sub("", _ELISION.sub(r"\1 ", text))


@lru_cache(maxsize=16384)
def fold(word: str) -> str:
    """Return a normal word without accents, points and harakat; Korean syllables become letters."""
    if word.isascii():
        return word
    apart = unicodedata.normalize("NFKD", word.translate(_LETTERS))
    return "".join(c for c in apart if ord(c) >= _KEEPS_MARKS or not unicodedata.combining(c)).translate(_LETTERS)


def runs(text: str) -> list[str]:
    """Return the words of a text, a run of a script without spaces as one."""
    if text.isascii() and "'" not in text and "`" not in text:
        return [word[:MAX_WORD] for word in _ASCII_WORD.findall(text[:MAX_TEXT].casefold())]
    return [run[:MAX_WORD] for run in _TOKEN.findall(normalized(text).replace("_", " "))]


def written_digits(word: str) -> str:
    """Return a number of any script in our digits, "" for what is none."""
    return "".join(str(unicodedata.digit(sign)) for sign in word) if word.isdigit() else ""


def phrase(text: str) -> str:
    """Return the words of a text with single spaces between, as names are compared."""
    return " ".join(runs(text))


def words(text: str) -> list[str]:
    """Return the words of a text as they are indexed: runs without spaces as pairs of characters."""
    return [word for run in runs(text) for word in pieces(run)]


def pieces(run: str) -> Iterator[str]:
    """Yield the word itself or, for a run of a script without spaces, its pairs of characters."""
    if is_unspaced(run) and len(run) > 2:
        yield from (run[start : start + 2] for start in range(len(run) - 1))
    else:
        yield run


def is_unspaced(run: str) -> bool:
    """Return whether a run is of a script that puts no spaces between words."""
    return bool(_IS_UNSPACED.match(run))


def grams(word: str) -> set[str]:
    """Return the character trigrams of a folded word, its two ends marked."""
    padded = f"^{word}$"
    return {padded[start : start + 3] for start in range(len(padded) - 2)} or {padded}


def likeness(one: str, other: str) -> float:
    """Return how likely two folded words mean the same, 0 to 1: the same stem, one inside the other, a slip of the pen."""
    if one == other:
        return 1.0
    if one.isdigit() or other.isdigit():
        return 0.0
    short, long = sorted((one, other), key=len)
    common = _common_start(one, other)
    rest = len(long) - common
    if common >= 3 and common == len(short) and rest <= (2 if common > 3 else 1):
        return 0.95
    if common >= 4 and rest <= 2:
        return 0.88
    if common >= 4 and rest <= 3 and len(short) - common <= 2:
        return 0.8
    if common >= 5 and common >= 0.6 * len(long):
        return 0.7
    if len(short) >= 4 and (long.endswith(short) or long.startswith(short)):
        return 0.75
    return 0.9 * shared if len(short) >= 4 and (shared := overlap(grams(one), grams(other))) >= 0.6 else 0.0


def overlap(one: set[str], other: set[str]) -> float:
    """Return how much of two sets of trigrams is common to both, 0 to 1 (Dice's coefficient)."""
    return 2 * len(one & other) / (len(one) + len(other))


def _common_start(one: str, other: str) -> int:
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))
