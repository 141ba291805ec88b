"""Text as it is compared: one normal form for every script, and its words, numbers and signs.

Words keep their marks ("für"); `fold` drops those that people leave out when they type ("fur"). Scripts that write no
spaces become characters or pairs of them. Nothing here knows a language.
"""

from collections.abc import Iterator
from dataclasses import dataclass
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
_HIDDEN = "\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
_RUN = rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])(?:[^\W_]|[{_MARKS}]))+"
_WORD = re.compile(rf"{_RUN}|[{_PICTURES}]")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_SIGNS = "%°℃℉+\\-–—−/"
_NUMBER = r"\d++(?:[.,:]\d++)*+(?![^\W\d_])"
_TOKEN = re.compile(rf"{_NUMBER}|{_RUN}|[{_SIGNS}]")
_WRITTEN = re.compile(
    rf"{_NUMBER}|(?:[^\W_]|[{_MARKS}{_HIDDEN}])++(?:['’`´](?:[^\W_]|[{_MARKS}{_HIDDEN}])++)*+|[{_SIGNS}]"
)
_VALUE = re.compile(r"(\d+(?:[.,]\d+)?)([kc]?)")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_ELISION = re.compile(r"\b([a-zà-ɏ]{1,2}|(?:d|n|s|qu)?[aeu]ll)['’`´](?=\w{3})")
_APOSTROPHE = re.compile(r"(?<=\w)['’`´](?=\w)")
_INVISIBLE = re.compile(f"[{_HIDDEN}]")
_ENGLISH_S = re.compile(r"(?<=[a-z]{2})['’]s\b")
_LETTERS = str.maketrans({
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "ı": "i", "þ": "th", "ħ": "h", "ŧ": "t",
    "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه", "ک": "ك", "ی": "ي", "ـ": "", "\u200c": "", "\u200d": "",
})  # fmt: skip
_KEEPS_MARKS = 0x0900  # from here on (India, Thailand, ...) a mark is a vowel, not an accent

CELSIUS = "°c"
DASHES = frozenset("-–—−")
_BETWEEN = DASHES | {"+", "/"}

type Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A folded word, a number or a sign of a text, and where it stands there."""

    word: str
    value: float | None = None
    """Of a number in digits."""
    unit: str = ""
    """Of a number; "k" or "°c" where the letter is written right behind it."""
    start: int = 0
    """Its first character in the text; `end` is behind the last."""
    end: int = 0

    @property
    def is_number(self) -> bool:
        """Whether it begins with a digit."""
        return self.word[0].isdigit()


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


def tokens(text: str, *, signs: bool = False) -> list[Token]:
    """Return the words, numbers and signs of units of the first `MAX_TEXT` characters of a text; `signs`: dashes, + and / as well.

    A number has its decimals and colons ("21.5", "12:30"); a letter right behind it makes both one word ("20c").
    """
    found: list[Token] = []
    for part, start, end in _parts(text[:MAX_TEXT]):
        word, value, unit = fold(part), None, ""
        if word[:1].isascii() and word[:1].isdigit() and (number := _VALUE.fullmatch(word)):
            value, unit = float(number[1].replace(",", ".")), {"k": "k", "c": CELSIUS}.get(number[2], "")
        if word and (signs or word not in _BETWEEN):
            found.append(Token(word, value, unit, start, end))
    return found


def _parts(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the normal words, numbers and signs of a text, and where they stand in it as it is written."""
    plain = normalized(text)
    if len(plain) == len(text):
        yield from ((match[0], *match.span()) for match in _TOKEN.finditer(plain))
        return
    for match in _WRITTEN.finditer(text):
        plain, start = normalized(match[0]), match.start()
        is_exact = len(plain) == len(match[0])
        for part in _TOKEN.finditer(plain):
            yield part[0], *((start + part.start(), start + part.end()) if is_exact else match.span())


def words_of(text: str) -> Words:
    """Return the folded words, numbers and signs of units of a text."""
    return tuple(word for part in _TOKEN.findall(normalized(text)) if part not in _BETWEEN and (word := fold(part)))


def runs(text: str) -> list[str]:
    """Return the words of a text, not folded, a run of a script without spaces as one; pictures are words."""
    if text.isascii() and "'" not in text and "`" not in text:
        return [word[:MAX_WORD] for word in _ASCII_WORD.findall(text[:MAX_TEXT].casefold())]
    return [run[:MAX_WORD] for run in _WORD.findall(normalized(text))]


def spoken_words(text: str) -> list[str]:
    """Return the words of a text as they follow one another, not folded: without pictures, unspaced scripts by character."""
    found: list[str] = []
    for run in runs(text):
        if run.isascii():
            found.append(run)
        elif any(map(str.isalnum, run)):
            found += run if is_unspaced(run) else (run,)
    return found


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
