"""Foreign text in a sentence of our own: names, titles, items and values that others wrote.

It is shown as it is, in one direction and with nothing invisible, and is neither a link nor markup.
"""

import re
import unicodedata

MAX_MARKS = 2
"""Accents on one letter that are shown; scripts whose vowels are marks have more."""
MAX_VOWELS = 4
_FROM_INDIA = 0x0900
"""From here on (India, Thailand, ...) a mark is a vowel, not an accent."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and signs that show nothing."""
_VARIANTS = re.compile("[\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_HIDDEN = frozenset({"Cf", "Cc", "Co", "Cs", "Cn"})
_DRAWN = re.compile(r"^[ \t]{0,3}#{1,6}(?=\s)|~~|`|(?<!\w)\*{1,9}(?=\S)|(?<=\S)\*{1,9}(?!\w)", re.MULTILINE)
_TAG = re.compile(r"<(?=[a-z/!?])(?:([^<>]{1,200})>)?", re.IGNORECASE)
_LINK = re.compile(r"[:\\](?=[/\\])|(?<=www)\.|&(?=#|\w{1,40};)|\](?=[(\[:])", re.IGNORECASE)
_PLAIN = re.compile(r"[\w .,;()'’!?%°/\"“”„+=$€-]*", re.ASCII)
_ASKS_OR_QUOTES = re.compile(r"[?？؟⁇⁈⁉⸮❓❔﹖‽՞፧꘏\u037e“”„‟\"«»‹›＂〝〞〟「」『』﹁﹂❝❞]")


def bare(text: str) -> str:
    """Return a text as others wrote it, without what is invisible, turns the direction, stacks, links or draws."""
    if _PLAIN.fullmatch(text) and "www." not in text and "//" not in text:
        return text
    if not (text.isascii() and text.isprintable()):
        text = "".join(_visible(_VARIANTS.sub("", text)))
    text = _TAG.sub(lambda tag: f"‹{tag[1]}›" if tag[1] else "‹", _DRAWN.sub("", text))
    return _LINK.sub(lambda sign: f"{sign[0]} ", text)


def _visible(text: str) -> list[str]:
    """Return the characters that are shown, with as many marks on each as a language needs."""
    shown: list[str] = []
    marks = 0
    for sign in unicodedata.normalize("NFC", text):
        kind = unicodedata.category(sign)
        if (kind in _HIDDEN and sign not in "\n\t") or sign in _BLANK:
            continue
        marks = marks + 1 if kind[0] == "M" else 0
        if marks > (MAX_MARKS if ord(sign) < _FROM_INDIA else MAX_VOWELS):
            continue
        if kind in ("Zl", "Zp"):
            sign = " "
        shown.append(sign)
    return shown


def one_line(text: str, most: int) -> str:
    """Return a foreign text as one short line that neither asks nor quotes, and how many characters are left out."""
    line = _ASKS_OR_QUOTES.sub("", " ".join(bare(text).split()))
    return f"{line[:most]}… (+{len(line) - most})" if len(line) > most else line


def short_name(text: str, most: int) -> str:
    """Return a name on one short line."""
    return " ".join(bare(text).split())[:most]
