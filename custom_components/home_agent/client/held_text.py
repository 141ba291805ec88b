"""Holds an answer from where a tool call may begin that the model writes as text (written_calls.py); pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import re

MAX_HELD = 8_000  # characters of a text with calls; a longer one is no call
MAX_SHOWN = 400  # characters of the text before it that are known
_UNDECIDED = 200  # characters within which something becomes a beginning, or is none

_MARKS = (
    *("<|", "<｜", "<tool", "<TOOLCALL", "<function", "<invoke", "<minimax:", "<seed:", "<longcat_tool", "<start_function"),
    *("[TOOL_CALL", "[TOOL_REQUEST", "✿FUNCTION✿"),
)  # fmt: skip
"""Beginnings that only a chat template writes."""
_WORDS = (">>>", "Action:", "call:", "functools[", "functions.", "default_api.", "print(default_api.", "<code>")
"""Beginnings at the start of a line."""
_QUOTES = "`'\"“„«‘(\\"
_LANGUAGES = frozenset({"", "json", "json5", "tool_code", "tool_call", "tool_calls", "tool", "python", "py", "xml"})
_PLACES = re.compile(r"(?:\A|(?<=\n))[ \t]*(?=\S)|[<\[]")
FENCE = re.compile(r"```([\w-]{0,20})[ \t]*(\r?\n\s*)?")
NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}")


@dataclass(slots=True)
class HeldText:
    """Lets an answer through from its first character on, and holds it from where a call may begin."""

    names: Sequence[str]  # of the offered tools, longest first
    held: str = ""
    is_holding: bool = False  # a call begins in what is held; else it may
    overflowed: bool = False
    shown: str = ""
    """The end of what was let through, `MAX_SHOWN` characters of it."""
    _starts_line: bool = True

    def feed(self, text: str) -> str:
        """Return the text that can be shown by now."""
        self.held += text
        if self.is_holding:
            if len(self.held) > MAX_HELD:
                self.overflowed = True
                self.held = self.held[:MAX_HELD]
            return ""
        for place in beginnings(self.held, self.names, starts_line=self._starts_line, before=self.shown[-1:]):
            self.is_holding = place.certain
            return self._let(place.start)
        return self._let(len(self.held))

    def _let(self, end: int) -> str:
        text, self.held = self.held[:end], self.held[end:]
        if text:
            line = text.rpartition("\n")[2]
            self._starts_line = (self._starts_line or "\n" in text) and not line.strip()
            self.shown = (self.shown + text)[-MAX_SHOWN:]
        return text


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a call begins; if not `certain`, the text ends before that can be told."""

    start: int
    certain: bool


def beginnings(text: str, names: Sequence[str], *, starts_line: bool = True, before: str = "") -> Iterator[Beginning]:
    """Yield the places at which calls begin, or may begin at the end of the text, but not behind a quotation mark."""
    seen = -1
    for found in _PLACES.finditer(text):
        at_line = found[0] not in ("<", "[") and (found.start() > 0 or starts_line)
        start = found.start() if found[0] in ("<", "[") else found.end()
        last = text[start - 1] if start else before
        if start == seen or (last and last in _QUOTES):
            continue
        if at_line:
            seen = start
        begun = _begins(text[start : start + _UNDECIDED], names, starts_line=at_line)
        if begun is not False:
            yield Beginning(start, certain=bool(begun))


def _begins(text: str, names: Sequence[str], *, starts_line: bool) -> bool | None:
    """Return whether a text begins like a call; None if that cannot be told yet."""
    if text.startswith(_MARKS):
        return True
    later = None if len(text) < _UNDECIDED else False
    if later is None and any(mark.startswith(text) for mark in _MARKS):
        return None
    if not starts_line:
        return False
    match text[0]:
        case "{" | "[":
            return _begins_in_bracket(text[0], text[1:].lstrip(), later)
        case "`":
            return _begins_in_fence(text, names, later)
    if text.startswith(_WORDS):
        return True
    if later is None and any(word.startswith(text) for word in (*_WORDS, *names)):
        return None
    if name := next((name for name in names if text.startswith(name)), ""):
        rest = text[len(name) :].lstrip(" \t\r\n:`")
        return rest.startswith(("(", "{", "<", "[", "json")) if rest else later
    return False


def _begins_in_bracket(bracket: str, rest: str, later: bool | None) -> bool | None:
    if not rest:
        return later
    if bracket == "{":
        return rest[0] in "\"'}" or rest[0].isalpha()
    if (name := NAME.match(rest)) is None:
        return rest[0] == "{"
    return later if name.end() == len(rest) else rest[name.end()] == "("


def _begins_in_fence(text: str, names: Sequence[str], later: bool | None) -> bool | None:
    if not text.startswith("```"):
        return later if "```".startswith(text) else False
    if (fence := FENCE.match(text)) is None:
        return False
    language, rest = fence[1].casefold(), text[fence.end() :]
    if language not in _LANGUAGES:
        may_be_longer = not rest and not fence[2] and any(known.startswith(language) for known in _LANGUAGES)
        return later if may_be_longer else False
    if not rest:
        return later
    if language.startswith("tool"):
        return True
    return False if rest.startswith("`") else _begins(rest, names, starts_line=True)
