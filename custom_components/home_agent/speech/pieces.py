"""How much is handed on at a time: whole words, joined so that a voice does not stutter."""

import re

from .symbols import SENTENCE_ENDS, UNSPACED

FIRST_LENGTH = 12  # characters; the first piece decides when the voice starts
LENGTH = 32  # characters
SENTENCE_LENGTH = 8  # characters; an abbreviation is not worth a piece of its own

_BOUNDARY = re.compile(f"[\\s\\S]*(?:\\s|{UNSPACED.pattern})")


class Pieces:
    """Joins text until it is worth speaking."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._held = ""
        self._wanted = FIRST_LENGTH

    def add(self, text: str, *, word_ends: bool) -> str:
        """Return the next piece, or "" to go on collecting; `word_ends` says that the last word is complete."""
        self._held += text
        end = len(self._held) if word_ends else self._last_boundary()
        piece = self._held[:end].rstrip()
        if len(piece) < (SENTENCE_LENGTH if piece[-1:] in SENTENCE_ENDS else self._wanted):
            return ""
        self._held = self._held[len(piece) :]
        self._wanted = LENGTH
        return piece

    def rest(self) -> str:
        """Return what is left and start over."""
        piece, self._held, self._wanted = self._held, "", FIRST_LENGTH
        return piece

    def _last_boundary(self) -> int:
        match = _BOUNDARY.match(self._held)
        return match.end() if match else 0
