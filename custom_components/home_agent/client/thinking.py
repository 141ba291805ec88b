"""Telling thinking from the answer in models that write both into one text; pure.

`<think>` and `</think>` may be split anywhere. Some chat templates write the opening tag into the prompt, so that the
answer begins inside the thinking and only the closing tag is seen.
"""

from dataclasses import dataclass

OPEN, CLOSE = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text and what it is."""

    text: str
    thinking: bool


class ThinkingSplitter:
    """Splits one answer while it flows."""

    def __init__(self, *, begins_inside: bool = False) -> None:
        """Start; `begins_inside`: hold the text back until a tag tells whether it began inside thinking."""
        self._pending = ""
        """The end of the text, where a tag may have begun."""
        self._held: list[str] = []
        """What came before it while nobody knows what it is; searched once, however long it gets."""
        self._thinking = False
        self._undecided = begins_inside
        self._answered = False
        """Whether a piece of the answer was returned, so that leading blanks are behind it."""
        self._unclosed: list[str] = []
        """Thinking since the last opening tag."""
        self.stray_close = False
        """Whether a closing tag came without an opening one."""

    @property
    def unclosed(self) -> str:
        """Thinking that was opened and not closed; empty when there is none."""
        return "".join(self._unclosed) if self._thinking else ""

    def begins_outside(self) -> None:
        """Hold nothing back: the server tells thinking from the answer by itself."""
        self._undecided = False
        self._pending = self._released() + self._pending

    def feed(self, text: str) -> list[Span]:
        """Return what is certain now."""
        if not self._pending and "<" not in text:
            return self._certain(text)
        self._pending += text
        spans: list[Span] = []
        while self._take_tag(spans):
            pass
        keep = _tag_start(self._pending, (CLOSE,) if self._thinking else (OPEN, CLOSE))
        certain, self._pending = self._pending[: len(self._pending) - keep], self._pending[-keep:] if keep else ""
        return spans + self._certain(certain)

    def finish(self) -> list[Span]:
        """Return what was held back; nothing follows."""
        self._undecided = False
        text, self._pending = self._released() + self._pending, ""
        return self._spans(text)

    def _take_tag(self, spans: list[Span]) -> bool:
        """Move everything up to the next tag into `spans`; return whether there was one."""
        close = self._pending.find(CLOSE)
        start = -1 if self._thinking else self._pending.find(OPEN)
        if start >= 0 and (close < 0 or start < close):
            before = self._released() + self._pending[:start]
            self._pending = self._pending[start + len(OPEN) :]
            self._undecided = False
            spans += self._spans(before)
            self._thinking = True
            self._unclosed.clear()
            return True
        if close < 0:
            return False
        before = self._released() + self._pending[:close]
        self._pending = self._pending[close + len(CLOSE) :]
        if not self._thinking:
            self.stray_close = True
            self._thinking = not self._answered
        self._undecided = False
        spans += self._spans(before)
        self._thinking = False
        return True

    def _certain(self, text: str) -> list[Span]:
        """Return a text without tags, or hold it while nobody knows what it is."""
        if not self._undecided:
            return self._spans(text)
        self._held.append(text)
        return []

    def _released(self) -> str:
        text = "".join(self._held)
        self._held.clear()
        return text

    def _spans(self, text: str) -> list[Span]:
        if self._thinking:
            self._unclosed.append(text)
        elif not self._answered:
            text = text.lstrip()
            self._answered = bool(text)
        return [Span(text, self._thinking)] if text else []


def _tag_start(text: str, tags: tuple[str, ...]) -> int:
    """Return how many characters at the end may be the beginning of a tag."""
    start = text.rfind("<")
    if start < 0:
        return 0
    tail = text[start:]
    return len(tail) if any(tag.startswith(tail) for tag in tags) else 0
