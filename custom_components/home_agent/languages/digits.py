"""Digits in what was said, however they are said: "one three double four", "dreizehn vierundvierzig", "1a2a3".

They are looked for to be masked: a word too many is better than a PIN that a model hears.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
import re
import unicodedata

from ..support.text import written_digits
from .data import ENGLISH, code_of, data_of, letters, number_words

MASK = "••••"
PART = re.compile(r"\d+|[\u3007\u3400-\u9fff]|[^\W\d_\u3007\u3400-\u9fff]+")
"""A number, a word, or a sign that is a word by itself."""
_SHORT = 2  # digits of a number that "and" joins to another one, as it is written
_MOST_PARTS = 8  # words of one number below a hundred, or of one whole hundred or thousand
_MOST_JOINED = 3  # words between two numbers that say nothing: "no wait the"
_LONGEST_WORD = 80  # characters of a number in one word


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits:
    """A number in a text, written or spoken."""

    begin: int
    end: int
    value: str
    """In our digits."""
    may_be_article: bool = False
    """Whether the word is also an article or another word between digits: "een nul" is "a zero"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    numbers: Mapping[str, int]
    starts: frozenset[str]
    """What numbers and repeats begin with, of every length: any other word is none."""
    repeats: Mapping[str, int]
    """What says how often the next digit is: "double" is 2; words written together."""
    several: Mapping[str, str]
    """The digit of a word that says with a number before it how often it comes: "two zeros", "three nines"."""
    beside: frozenset[str]
    """What may stand between digits, and around them: "and", "wait"."""
    articles: frozenset[str]


@cache
def _words_of(code: str) -> _Words:
    own, english, numbers = data_of(code), data_of(ENGLISH), number_words(code)
    listed = (own, english)
    repeats = {
        letters(word): int(count)
        for data in reversed(listed)
        for count, words in data.repeats.items()
        for word in words
    }
    several = dict.fromkeys((word for word, count in repeats.items() if not count), "0")
    several |= {
        letters(word): digit for data in reversed(listed) for digit, words in data.several.items() for word in words
    }
    numbers = {**{word: int(digit) for word, digit in several.items()}, **numbers}
    repeats = {word: count for word, count in repeats.items() if count}
    beside = {
        letters(word)
        for data in listed
        for phrase in (*data.pin_words, *data.claims.joins, *data.hesitations)
        for word in phrase.split()
    }
    return _Words(
        numbers=numbers,
        starts=frozenset(word[:end] for word in (*numbers, *repeats) for end in range(1, len(word) + 1)),
        repeats=repeats,
        several=several,
        beside=frozenset(beside) - {""},
        articles=frozenset(letters(word) for data in listed for word in data.pin_words),
    )


def mask_digits(text: str, language: str, *, at_least: int) -> str:
    """Return a text with every run of so many digits, written or spoken, replaced.

    By length, not by value: a mask that appears only for the right PIN would tell which one it is.
    """
    masked: list[str] = []
    end = 0
    for run in digit_runs(text, language):
        if sum(len(group.value) for group in run) >= at_least:
            masked += [text[end : run[0].begin], MASK]
            end = run[-1].end
    return "".join([*masked, text[end:]])


def digit_runs(text: str, language: str) -> Iterator[list[Digits]]:
    """Yield the runs of neighbouring numbers, written in digits of any script or in words of the language or English.

    A number in words may be of several ("twelve hundred thirty-four"), or of one ("zwölfhundertvierunddreißig"), or of a digit
    and how often it is said ("double four", "zweimal die vier"). Words like "and", hesitations and single letters between two
    numbers do not count.
    """
    words = _words_of(code_of(language))
    parts = [*PART.finditer(text)]
    keys = [" " if match[0].isdigit() else _key(match[0]) for match in parts]
    run: list[Digits] = []
    place = joined = 0
    was_spoken = True
    while place < len(parts):
        count, values = _number_at(parts, keys, place, words)
        if count:
            first, last = parts[place], parts[place + count - 1]
            spoken = keys[place] != " "
            if run and joined and not (spoken and was_spoken) and max(len(run[-1].value), len(values[0])) > _SHORT:
                yield run
                run = []
            doubtful = count == 1 and keys[place] in words.beside
            for value in values:
                number = Digits(begin=first.start(), end=last.end(), value=value, may_be_article=doubtful)
                _extend(run, number, spoken=spoken and was_spoken)
            was_spoken = spoken
            place, joined = place + count, 0
            continue
        joined += 1
        between = keys[place] in words.beside or len(keys[place]) == 1
        if run and (not between or joined > _MOST_JOINED):
            yield run
            run = []
        place += 1
    if run:
        yield run


@lru_cache(maxsize=8192)
def _key(word: str) -> str:
    return letters(word)


def _number_at(parts: Sequence[re.Match[str]], keys: Sequence[str], place: int, words: _Words) -> tuple[int, list[str]]:
    """Return how many words from here on are a number, and its value; of one word that is put together, its parts'."""
    key = keys[place]
    if key == " ":
        return 1, [written_digits(parts[place][0])]
    if len(key) > 1 and key[:2] not in words.starts:
        return 0, []
    if (repeated := _repeated_at(parts, keys, place, words))[0]:
        return repeated
    for count in range(_reach(keys, place, _MOST_PARTS, words), 0, -1):
        if (number := words.numbers.get("".join(keys[place : place + count]))) is not None:
            if 0 < number < 100 and place + count < len(parts) and words.numbers.get(keys[place + count]) == -100:
                return count + 1, [str(number * 100)]
            return count, [str(number)]
    if (sign := unicodedata.numeric(key, -1) if len(key) == 1 else -1) in range(11):
        return 1, [str(int(sign))]  # of any script, in any language
    found = _pieces(key[:_LONGEST_WORD], words)
    return (1, found) if found else (0, [])


def _reach(keys: Sequence[str], place: int, most: int, words: _Words) -> int:
    """Return how many words from here on, at most, can be one number or repeat, as far as their letters go."""
    together = ""
    for count, key in enumerate(keys[place : place + most]):
        together += key
        if together not in words.starts:
            return count
    return min(most, len(keys) - place)


def _pieces(key: str, words: _Words) -> list[str]:
    """Return the numbers that a word is put together of, none if it is not: "vierunddreißigzwölf"."""
    found, begin = list[str](), 0
    while begin < len(key):
        end = begin + 1
        best = 0
        while end <= len(key) and key[begin:end] in words.starts:
            if end > begin + 1 and key[begin:end] in words.numbers:
                best = end
            end += 1
        if not best:
            return []
        found.append(str(words.numbers[key[begin:best]]))
        begin = best
    return found


def _repeated_at(
    parts: Sequence[re.Match[str]], keys: Sequence[str], place: int, words: _Words
) -> tuple[int, list[str]]:
    """Return how many words from here on are a digit that is said to come several times, and it so often; (0, []) for none."""
    for count in range(_reach(keys, place, 3, words), 0, -1):
        together = "".join(keys[place : place + count])
        if (times := words.repeats.get(together)) is None:
            continue
        after = place + count
        while after < len(parts) and keys[after] in words.articles and after < place + count + 2:
            after += 1
        digit = _digit_at(parts, keys, after, words)
        return (after + 1 - place, [digit] * times) if digit else (0, [])
    key = keys[place]
    for size in range(len(key) - 2, 2, -1):  # "doppelnull", "zweimalvier"
        if (times := words.repeats.get(key[:size])) and (number := words.numbers.get(key[size:], -1)) in range(10):
            return 1, [str(number)] * times
    if (
        (number := words.numbers.get(key, -1)) in range(2, 10)
        and keys[place + 1 : place + 2]
        and (counted := words.several.get(keys[place + 1])) is not None
    ):
        return 2, [counted] * number
    return 0, []


def _digit_at(parts: Sequence[re.Match[str]], keys: Sequence[str], place: int, words: _Words) -> str:
    """Return the single digit that a word is, or ""."""
    if place >= len(parts):
        return ""
    value = written_digits(parts[place][0]) if keys[place] == " " else str(words.numbers.get(keys[place], ""))
    return value if len(value) == 1 else ""


def _extend(run: list[Digits], number: Digits, *, spoken: bool) -> None:
    """Add a number to a run: in words, what follows a whole thousand or hundred belongs to it, a hundred to what it counts."""
    if not spoken:
        run.append(number)
        return
    value = int(number.value) if len(number.value) < 5 else 10_000
    before = int(run[-1].value) if run and len(run[-1].value) < 5 else 0
    total = 0
    if value < 0:
        total = before * 100 if 0 < before < 100 else before + 100
    elif (before >= 1000 and before % 1000 == 0 and value < 1000) or (
        before >= 100 and before % 100 == 0 and value < 100
    ):
        total = before + value
    if total and before:
        run[-1] = replace(run[-1], end=number.end, value=str(total))
    else:
        run.append(replace(number, value=str(total or value) if value < 10_000 else number.value.lstrip("-")))
