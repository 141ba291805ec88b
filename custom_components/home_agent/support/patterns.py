"""Regular expressions that are made of words as people write them."""

from collections.abc import Iterable
import re

from .text import fold

_WORD = re.compile(r"\\.|\[[^\[\]]*\]|[^\W\d_]+")
"""In a pattern: what is no word, or a word."""
_SHORT = 4  # letters; shorter words are other words without their marks: "dès" and "des"
_UMLAUTS = {"ä": ("ae",), "ö": ("oe",), "ü": ("ue",)}


def any_of(phrases: Iterable[str]) -> str:
    """Return a pattern that fits each of some phrases, the longest first; one that fits nothing where there are none."""
    listed = sorted((re.escape(phrase).replace("'", "['’]") for phrase in phrases), key=len, reverse=True)
    return "|".join(listed) or "(?!)"


def unmarked(pattern: str, letters: str | None = None) -> str:
    """Return a pattern that also fits words that were typed without their marks: "pozniej", "manana", "spaeter".

    Not short ones, which are other words then. With some `letters`, only these lose their marks, and in short words too: "wyl".
    """
    has_length = "(?<" in pattern  # what stands behind something has one length
    return _WORD.sub(lambda found: _either(found[0], letters, has_length=has_length), pattern)


def _either(part: str, letters: str | None, *, has_length: bool) -> str:
    if part.isascii() or part[0] == "\\" or (letters is None and part[0] != "[" and len(part) < _SHORT):
        return part
    taken = frozenset(letter for letter in part if letter.isalpha()) if letters is None else frozenset(letters)
    if part[0] == "[":
        return f"{part[:-1]}{''.join(fold(letter) for letter in part if letter in taken and not letter.isascii())}]"
    last = part[-1:] if letters is None and part.endswith("é") else ""  # "passé" and "passe" are two words
    said = (_letter(one, has_length=has_length) if one in taken else one for one in part.removesuffix(last))
    return "".join(said) + last


def _letter(letter: str, *, has_length: bool) -> str:
    plain = fold(letter)
    if has_length:
        return f"[{letter}{plain}]" if len(plain) == 1 and plain != letter else letter
    return letter if plain == letter else f"(?:{'|'.join((letter, plain, *_UMLAUTS.get(letter, ())))})"
