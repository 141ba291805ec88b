"""Puts words one after another: one space, a comma or a full stop where the layout made a pause."""

from enum import IntEnum

from .symbols import CLAUSE_ENDS, CLOSERS, UNSPACED, full_stop


class Gap(IntEnum):
    """What separates two pieces of text; the stronger wins."""

    NONE = 0
    SPACE = 1
    COMMA = 2
    """Cells of a table."""
    LINE = 3
    """Lines of code."""
    SOFT = 4
    """A line ended inside a paragraph."""
    BLOCK = 5
    """A paragraph, heading or item ended."""


class Writer:
    """Collects speakable text; what separates it is written only when something follows."""

    def __init__(self) -> None:
        """Start with nothing said."""
        self._parts: list[str] = []
        self._last = ""
        self._last_word = ""
        """The last character that is not a closing bracket or quote."""
        self._gap = Gap.NONE
        self._cut = False

    @property
    def at_gap(self) -> bool:
        """Whether the last word is complete."""
        return self._gap is not Gap.NONE

    def text(self, text: str) -> None:
        """Add text that holds no ordinary space."""
        self._parts.append(self._separator(text[0]) + text)
        self._gap, self._cut = Gap.NONE, False
        self._last = text[-1]
        self._last_word = next((char for char in reversed(text) if char not in CLOSERS), self._last_word)

    def gap(self, gap: Gap) -> None:
        """Separate what was said from what follows."""
        self._gap = max(self._gap, gap)

    def cut(self) -> None:
        """Note that something was left out here."""
        self._cut = True

    def end_block(self) -> None:
        """Close the last item or heading."""
        if self._last and not self._is_ended():
            self._gap, self._cut = Gap.NONE, False
            self.text(full_stop(self._last_word))

    def take(self) -> str:
        """Return what was written since the last call."""
        text = "".join(self._parts)
        self._parts.clear()
        return text

    def _is_ended(self) -> bool:
        return self._last_word in CLAUSE_ENDS

    def _separator(self, follows: str) -> str:
        """Return what stands between the last text and the next."""
        if not self._last:
            return ""
        match self._gap:
            case Gap.NONE:
                return " " if self._cut and self._would_merge(follows) else ""
            case Gap.SPACE:
                return "" if self._cut and follows in CLAUSE_ENDS else " "
            case Gap.COMMA:
                return " " if self._is_ended() else ", "
            case Gap.LINE:
                return "\n"
            case Gap.SOFT:
                return " " if self._is_ended() or follows.islower() else ", "
            case Gap.BLOCK:
                return "\n" if self._is_ended() else f"{full_stop(self._last_word)}\n"

    def _would_merge(self, follows: str) -> bool:
        return self._last.isalnum() and follows.isalnum() and not UNSPACED.match(self._last)
