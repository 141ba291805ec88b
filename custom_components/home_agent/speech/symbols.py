"""Which characters are read aloud, which are pictures, and which end a clause."""

import re

_PICTURES = (
    "\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa"  # clocks, keyboard, player keys
    "\u25a0-\u25ff"  # geometric shapes
    "\u2600-\u266c\u2670-\u2775\u2794-\u27bf"  # symbols and dingbats; sharps, flats and circled digits stay
    "\u2b00-\u2bff"  # arrows, stars
    "\U0001f000-\U0001faff"  # emoji proper: flags, skin tones
    "\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f"  # how the character before is drawn
)
_INVISIBLE = "\x00-\x08\x0e-\x1f\x7f\u00ad\ufeff\ufffc"
# Text unless U+FE0F follows.
_STYLED = "\u2139\u2194-\u2199\u21a9\u21aa\u24c2\u3030\u303d\u3297\u3299"
_SEPARATORS = "\u2192\u21d2\u27f6\u2794\u279c\u279e\u27a1"  # arrows between two things
_UNSPACED = (  # Thai and Lao, Tibetan, Burmese, Khmer, Chinese and Japanese
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)

ZERO_WIDTH_JOINER = "\u200d"
"""Glues emoji together, and is spelling in Indic scripts."""
PICTURE_STYLE = "\ufe0f"

PICTURE = re.compile(f"[{_PICTURES}]")
INVISIBLE = re.compile(f"[{_INVISIBLE}]")
STYLED = re.compile(f"[{_STYLED}]")
SEPARATOR = re.compile(f"[{_SEPARATORS}]")
UNSPACED = re.compile(f"[{_UNSPACED}]")
"""A character of a script that puts no spaces between words."""
TEXT = re.compile(
    rf"(?:(?![{_STYLED}])[{_UNSPACED}])+"
    rf"|[^\s!-/:-@\[-`{{-~{ZERO_WIDTH_JOINER}{_INVISIBLE}{_PICTURES}{_STYLED}{_SEPARATORS}{_UNSPACED}]+"
)
"""Letters, digits and combining marks of any script: always read."""

CLAUSE_ENDS = frozenset(".!?:;,…。．！？：；，、।॥؟؛،۔-–—")
SENTENCE_ENDS = CLAUSE_ENDS - frozenset(",，、،-–—")
CLOSERS = frozenset(")]}\"'”’»«›」』）")


def is_word(char: str) -> bool:
    """Return whether a character, "" being the edge of the line, belongs to a word."""
    return char != "" and TEXT.match(char) is not None


def full_stop(after: str) -> str:
    """Return the full stop of the script `after` is written in."""
    return "。" if UNSPACED.match(after) else "."
