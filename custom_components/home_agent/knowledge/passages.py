"""Text as passages: pieces short enough to be told to a model, each with where it stands."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
import re

MAX_PASSAGE = 900  # characters; about 250 tokens of English
MAX_HEADING = 120  # characters
MAX_PASSAGES = 4000  # of one document: a book of 1,000 pages

_MAX_LINE = 500  # characters of a heading with its marks
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_LINES = re.compile(r"\n")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।؟۔])\s*")
_WORDS = re.compile(r"\s+")
_BREAKS = ((_PARAGRAPHS, "\n\n"), (_LINES, "\n"), (_SENTENCES, " "), (_WORDS, " "))
"""Where a text is broken, best place first, and what stands between two pieces put together again."""


@dataclass(frozen=True, slots=True)
class Section:
    """Text of a document under one heading, or on one page."""

    text: str
    heading: str = ""
    """The way to it: `Coffee machine > Descaling`."""
    page: int | None = None
    """Counted from 1, where the document has pages."""


def sections_of_markdown(text: str) -> Iterator[Section]:
    """Yield what stands under each heading, with the headings above it; what is code in the text stays code."""
    path: dict[int, str] = {}
    lines: list[str] = []
    fence = ""
    level = 0
    for line in _FRONT_MATTER.sub("", text, count=1).splitlines():
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        if not fence and len(line) <= _MAX_LINE and (found := _HEADING.fullmatch(line)):
            if len(found[1]) <= level or any(lines):
                yield _section(lines, path)
            lines = []
            level = len(found[1])
            path = {key: value for key, value in path.items() if key < level} | {level: found[2]}
        else:
            lines.append(line)
    yield _section(lines, path)


def _section(lines: list[str], path: Mapping[int, str]) -> Section:
    """Return what stands under a heading; the heading itself where nothing does, for it may be all that was noted."""
    if path and not any(line.strip() for line in lines):
        *above, last = path.values()
        return Section(last, _heading(above))
    return Section("\n".join(lines), _heading(path.values()))


def split(sections: Iterable[Section]) -> list[Section]:
    """Return the sections in pieces of at most `MAX_PASSAGE` characters; of endless ones the first `MAX_PASSAGES`."""
    found: list[Section] = []
    for section in sections:
        for text in pieces(section.text):
            found.append(Section(text, section.heading, section.page))
            if len(found) == MAX_PASSAGES:
                return found
    return found


def pieces(text: str, limit: int = MAX_PASSAGE) -> list[str]:
    """Return the text in as few pieces as fit the limit, broken where it hurts least."""
    return _packed(text.replace("\r\n", "\n").replace("\x00", "").strip(), limit, 0)


def _packed(text: str, limit: int, depth: int) -> list[str]:
    if len(text) <= limit:
        return [text] if text else []
    if depth == len(_BREAKS):
        return [text[start : start + limit] for start in range(0, len(text), limit)]
    pattern, joint = _BREAKS[depth]
    packed: list[str] = []
    for part in pattern.split(text):
        for piece in _packed(part.strip("\n"), limit, depth + 1):
            if packed and len(packed[-1]) + len(joint) + len(piece) <= limit:
                packed[-1] += joint + piece
            else:
                packed.append(piece)
    return packed


def _heading(path: Iterable[str]) -> str:
    return " > ".join(path)[:MAX_HEADING]
