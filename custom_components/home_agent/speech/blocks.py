"""Markdown line by line: what a line begins with decides how it is read."""

from enum import Enum, auto
import re

from .inline import Inline
from .writer import Gap, Writer


class Kind(Enum):
    """What a line is."""

    TEXT = auto()
    HEADING = auto()
    ITEM = auto()
    ROW = auto()
    """A line of a table."""
    CODE = auto()
    """A line between fences."""
    MARK = auto()
    """A rule, a fence, an empty line: not read."""


_BULLETS = "-*+•‣◦●○▪■–—·"
_UNDECIDED = re.compile(
    r"(?:"
    r"[-*_=|:+ \t]*"  # a rule, a bullet, the line under a table's head
    r"|>|\#{1,6}|\d{1,9}(?:[.)][ \t]*)?"
    rf"|[{_BULLETS}][ \t]*(?:\[[ xX]?\]?[ \t]*)?"
    r"|`{1,2}|`{3,}[^`]*|~{1,2}|~{3,}.*"
    r")\Z"
)
_RULE = re.compile(r"(?=.*[-*_=|])[-*_=|:+ \t]*\Z|[+][ \t]*\Z")
_QUOTE = re.compile(r">(?!=)[ \t]?")
_HEADING = re.compile(r"#{1,6}(?:[ \t]+|\Z)|#{2,6}(?=\S)")
_BULLET = re.compile(rf"[{_BULLETS}](?:[ \t]+|\Z)(?:\[[ xX]\](?:[ \t]+|\Z))?")
_NUMBER = re.compile(r"(\d{1,9})[.)][ \t]+")
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_UNITS = frozenset({Kind.HEADING, Kind.ITEM, Kind.ROW})


class Cleaner:
    """Turns Markdown into text to be read aloud, as much of it as is certain."""

    def __init__(self) -> None:
        """Start at the beginning of a line."""
        self._writer = Writer()
        self._inline = Inline(self._writer)
        self._held = ""
        self._return = ""
        """A carriage return at the end, which may be the first half of a line's."""
        self._kind = self._read_as = Kind.MARK
        self._line_open = False
        self._fence = ""

    @property
    def at_gap(self) -> bool:
        """Whether the last word that came out is complete."""
        return self._writer.at_gap

    def feed(self, text: str) -> str:
        """Return what more of the text makes certain."""
        self._held += self._whole_line_ends(text)
        self._advance(final=False)
        return self._writer.take()

    def close(self) -> str:
        """Return what was held back; the text ends here."""
        self._return = ""
        self._advance(final=True)
        if self._read_as in _UNITS:
            self._writer.end_block()
        return self._writer.take()

    def _whole_line_ends(self, text: str) -> str:
        """Return the text with line feeds alone as the ends of its lines; other carriage returns are blanks."""
        text = (self._return + text).replace("\r\n", "\n")
        self._return = "\r" if text.endswith("\r") else ""
        return text.removesuffix("\r").replace("\r", " ")

    def _advance(self, *, final: bool) -> None:
        """Read as far as can be decided and keep the rest."""
        text, pos, before = self._held, 0, None
        while pos < len(text) and before != (before := (pos, self._line_open, self._inline.hidden)):
            if self._inline.hidden is not None:
                pos = self._skip_hidden(text, pos, final)
            elif not self._line_open:
                pos = self._start_line(text, pos, final)
            elif text[pos] == "\n":
                self._writer.gap(Gap.SPACE)
                self._line_open = False
                pos += 1
            else:
                pos = self._inline.scan(text, pos, final)
        self._held = text[pos:]

    def _skip_hidden(self, text: str, pos: int, final: bool) -> int:
        """Go to the end of what is left out; what could be the start of its end is kept."""
        assert self._inline.hidden is not None
        ending = self._inline.hidden
        found = text.lower().find(ending, pos)
        if found >= 0:
            self._inline.hidden = None
            return found + len(ending)
        return len(text) if final else max(pos, len(text) - len(ending) + 1)

    def _start_line(self, text: str, pos: int, final: bool) -> int:
        """Recognise a line by its beginning and return where its text starts."""
        newline = text.find("\n", pos)
        complete = final or newline >= 0
        line = text[pos : newline if newline >= 0 else len(text)]
        body = line.lstrip(" \t\r")
        if self._fence:
            return self._code_line(body, pos, len(line), complete)
        if (recognised := self._recognise(body.rstrip(" \t\r") if complete else body, complete)) is None:
            return pos
        kind, length = recognised
        self._open_line(kind, indented=len(body) < len(line))
        return pos + len(line) - len(body) + length

    def _code_line(self, body: str, pos: int, length: int, complete: bool) -> int:
        """Read a line between fences as it stands."""
        if not complete:
            return pos
        if body.rstrip().startswith(self._fence) and not body.strip().strip(self._fence[0]):
            self._fence = ""
            self._open_line(Kind.MARK)
        else:
            self._open_line(Kind.CODE)
            self._inline.literal(body)
        return pos + length

    def _recognise(self, body: str, complete: bool) -> tuple[Kind, int] | None:
        """Return what a line is and how much of it is layout, None while that is open.

        The number of an item is not layout: it is read.
        """
        kind, pos = Kind.TEXT, 0
        while True:
            rest = body[pos:]
            if not complete and _UNDECIDED.match(rest):
                return None
            if not rest or _RULE.match(rest):
                return (Kind.MARK if kind is Kind.TEXT else kind), len(body)
            if fence := _FENCE.match(rest):
                self._fence = fence.group(1) or fence.group(2)
                return Kind.MARK, len(body)
            if marker := _QUOTE.match(rest):
                pos += marker.end()
            elif marker := _BULLET.match(rest):
                kind, pos = Kind.ITEM, pos + marker.end()
            elif marker := _HEADING.match(rest):
                return Kind.HEADING, pos + marker.end()
            elif rest.startswith("|"):
                return Kind.ROW, pos + 1
            else:
                return (Kind.ITEM if _NUMBER.match(rest) else kind), pos

    def _open_line(self, kind: Kind, *, indented: bool = False) -> None:
        """Separate the line from the one before it."""
        gap = Gap.BLOCK
        if kind is Kind.TEXT and (self._kind is Kind.TEXT or (self._kind is Kind.ITEM and indented)):
            kind, gap = self._kind, Gap.SOFT
        elif kind is self._kind is Kind.CODE:
            gap = Gap.LINE
        self._kind, self._line_open = kind, True
        if kind is not Kind.MARK:
            self._read_as = kind
        self._writer.gap(gap)
        self._inline.start_line(new_block=gap is Gap.BLOCK)
        self._inline.in_row = kind is Kind.ROW
        self._inline.in_heading = kind is Kind.HEADING
