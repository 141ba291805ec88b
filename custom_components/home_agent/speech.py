"""Makes an answer speakable while it is written: without Markdown, emoji, links and thinking. For voice only."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from enum import Enum, IntEnum, auto
import html
import re

from homeassistant.components.conversation import AssistantContentDeltaDict

_PICTURE_CHARS = (
    "\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa"  # clocks, keyboard, player keys
    "\u25a0-\u25ff"  # geometric shapes
    "\u2600-\u266c\u2670-\u2775\u2794-\u27bf"  # symbols and dingbats; sharps, flats and circled digits stay
    "\u2b00-\u2bff"  # arrows, stars
    "\U0001f000-\U0001faff"  # emoji proper: flags, skin tones
    "\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f"  # variants of the character before
)
_INVISIBLE_CHARS = "\x00-\x08\x0e-\x1f\x7f\u00ad\ufeff\ufffc"
# Text unless U+FE0F follows.
_STYLED_CHARS = "\u2139\u2194-\u2199\u21a9\u21aa\u24c2\u3030\u303d\u3297\u3299"
_SEPARATOR_CHARS = "\u2192\u21d2\u27f6\u2794\u279c\u279e\u27a1"  # arrows between two things
_UNSPACED_CHARS = (  # Thai and Lao, Tibetan, Burmese, Khmer, Chinese and Japanese
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)

_ZERO_WIDTH_JOINER = "\u200d"  # joins emoji, and is a part of words in Indic scripts
_PICTURE_STYLE = "\ufe0f"

_PICTURE = re.compile(f"[{_PICTURE_CHARS}]")
_INVISIBLE = re.compile(f"[{_INVISIBLE_CHARS}]")
_STYLED = re.compile(f"[{_STYLED_CHARS}]")
_SEPARATOR = re.compile(f"[{_SEPARATOR_CHARS}]")
_UNSPACED = re.compile(f"[{_UNSPACED_CHARS}]")
"""A character of a script without spaces between words."""
_WORD_END = re.compile(rf"\s|(?![{_STYLED_CHARS}])[{_UNSPACED_CHARS}]")
_WHOLE_WORDS = re.compile(rf"[\s\S]*(?:{_WORD_END.pattern})")
_TEXT = re.compile(
    rf"(?:(?![{_STYLED_CHARS}])[{_UNSPACED_CHARS}])+"
    rf"|[^\s!-/:-@\[-`{{-~{_ZERO_WIDTH_JOINER}{_INVISIBLE_CHARS}{_PICTURE_CHARS}{_STYLED_CHARS}{_SEPARATOR_CHARS}{_UNSPACED_CHARS}]+"
)
"""Letters, digits and combining marks of any script: always spoken."""

_CLAUSE_ENDS = frozenset(".!?:;,…。．！？：；，、।॥؟؛،۔-–—")
_SENTENCE_ENDS = _CLAUSE_ENDS - frozenset(",，、،-–—")
_CLOSERS = frozenset(")]}\"'”’»«›」』）")

_FIRST_LENGTH = 12  # characters; the voice starts with the first piece
_LENGTH = 32  # characters
_SENTENCE_LENGTH = 8  # characters; an abbreviation is too short for a piece


def _is_word(char: str) -> bool:
    """Return whether a character belongs to a word; False for "", the edge of the line."""
    return char != "" and _TEXT.match(char) is not None


def _is_spaced_word(char: str) -> bool:
    """Return whether a character belongs to a word of a script with spaces between words."""
    return _is_word(char) and not _UNSPACED.match(char)


class Gap(IntEnum):
    """Separator of two pieces of text; the stronger wins."""

    NONE = 0
    SPACE = 1
    COMMA = 2  # cells of a table
    LINE = 3  # lines of code
    SOFT = 4  # a line ended inside a paragraph
    BLOCK = 5  # a paragraph, heading or item ended


class Writer:
    """Joins words with a space, a comma or a full stop, and returns whole words, enough for a fluent voice."""

    def __init__(self) -> None:
        """Start empty."""
        self._parts: list[str] = []
        self._wanted = _FIRST_LENGTH
        self._last = ""
        self._last_word = ""  # the last character that is not a closing bracket or quote
        self._gap = Gap.NONE
        self._cut = False

    def text(self, text: str) -> None:
        """Add text without ordinary spaces."""
        self._parts.append(self._separator(text[0]) + text)
        self._gap, self._cut = Gap.NONE, False
        self._last = text[-1]
        self._last_word = next((char for char in reversed(text) if char not in _CLOSERS), self._last_word)

    def gap(self, gap: Gap) -> None:
        """Separate the text so far from the next."""
        self._gap = max(self._gap, gap)

    def cut(self) -> None:
        """Note that text was left out here."""
        self._cut = True

    def end_block(self) -> None:
        """Close the last item or heading."""
        if self._last and self._last_word not in _CLAUSE_ENDS:
            self._parts.append(self._full_stop())

    def take(self, *, rest: bool = False) -> str:
        """Return the next piece, "" if it is too short; `rest` asks for all."""
        if not rest and self._gap is Gap.NONE and not _UNSPACED.match(self._last):
            return ""  # the last word may go on
        text = "".join(self._parts)
        wanted = _SENTENCE_LENGTH if text[-1:] in _SENTENCE_ENDS else self._wanted
        if not rest and len(text) < wanted:
            self._parts = [text]
            return ""
        self._parts, self._wanted = [], _LENGTH
        return text

    def _separator(self, follows: str) -> str:
        """Return the separator of the last text and the next."""
        if not self._last:
            return ""
        ended = self._last_word in _CLAUSE_ENDS
        match self._gap:
            case Gap.NONE:
                merges = self._last.isalnum() and follows.isalnum() and not _UNSPACED.match(self._last)
                return " " if self._cut and merges else ""
            case Gap.SPACE:
                return "" if self._cut and follows in _CLAUSE_ENDS else " "
            case Gap.COMMA:
                return " " if ended else ", "
            case Gap.LINE:
                return "\n"
            case Gap.SOFT:
                return " " if ended or follows.islower() else ", "
            case Gap.BLOCK:
                return "\n" if ended else f"{self._full_stop()}\n"

    def _full_stop(self) -> str:
        """Return the full stop of the last script."""
        return "。" if _UNSPACED.match(self._last_word) else "."


class LineKind(Enum):
    """Kind of a line."""

    TEXT = auto()
    HEADING = auto()
    ITEM = auto()
    ROW = auto()  # a line of a table
    CODE = auto()  # a line between fences
    MARK = auto()  # a rule, a fence, an empty line: not spoken


# The start of a line decides its kind.

_BULLETS = "-*+•‣◦●○▪■–—·"
_UNDECIDED = re.compile(
    r"(?:[-*_=|:+ \t]*"  # a rule, a bullet, the line under a table's head
    rf"|\#{{1,6}}[ \t]*|\d{{1,9}}(?:[.)][ \t]*)?|[{_BULLETS}][ \t]*(?:\[[ xX]?\]?[ \t]*)?|`{{3,}}[^`]*|~{{3,}}.*)\Z"
)
_RULE = re.compile(r"[:+ \t]*[-*_=|][-*_=|:+ \t]*\Z|\+[ \t]*\Z")
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_QUOTE = re.compile(r">(?!=)[ \t]?")
_BULLET = re.compile(rf"[{_BULLETS}](?:[ \t]+|\Z)(?:\[[ xX]\](?:[ \t]+|\Z))?")
_HEADING = re.compile(r"#{1,6}(?:[ \t]+|\Z)|#{2,6}(?=\S)")
_NUMBER = re.compile(r"\d{1,9}[.)][ \t]+")
_DEEPEST = 100  # nested lists and quotes; deeper ones are text

# Within a line: emphasis, code, links, tags, entities.

_LINK_LIMIT = 300  # characters; a bracket that closes later is no link
_URL_LIMIT = 2048  # characters

_KEYCAP = (_PICTURE_STYLE, "\u20e3")  # after `#` or `*`
_ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_OPENERS = frozenset("([{\"'“„«‹¿¡*_~")
_RUN = re.compile(r"(.)\1*")
_CLOSES = {"[": "]", "(": ")"}
_DESTINATION = re.compile(r"\s*<?[^\s<>]*>?(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^)]*\)))?\s*")
_CUT_OFF = re.compile(rf"[^\n]{{0,{_URL_LIMIT - 1}}}(?=\n|\Z)")
_URL = re.compile(r"(?:https?://|www\.)[!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~À-ɏ]{1,2000}", re.IGNORECASE)
_HOST = re.compile(r"(?:https?://(?=[^/])|(?!https?:))(?:[^/@?#]*@)?(?:www\.)?([^/:?#]+)", re.IGNORECASE)
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]{0,30})(?:\s[^<>\n]{0,250})?/?>")
_ADDRESS = re.compile(r"<((?:https?://|[\w.+-]{1,64}@)[^\s<>]{1,250})>", re.IGNORECASE)
_TAG_OPEN = re.compile(
    r"<(?:/?[A-Za-z][A-Za-z0-9-]{0,30}\s[^<>\n]{0,250}/?|https?://[^\s<>]{0,250}|[\w.+-]{1,64}(?:@[^\s<>]{0,250})?)\Z",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_HIDDEN_TAGS = frozenset({"think", "thinking", "thought", "script", "style"})
_BREAKING_TAGS = frozenset(
    {"br", "p", "div", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "hr"}
)


class SpeechFilter:
    """Makes one message speakable while it arrives, in whole words: the character after a sign decides its meaning."""

    def __init__(self) -> None:
        """Start a message."""
        self._start()

    def _start(self) -> None:
        self._writer = Writer()
        self._held: list[str] = []
        self._length = self._enough = 0
        """Characters held, and how many to wait for, so that long text is not read again with each word."""
        self._return = ""  # a carriage return at the end, which may be half of a line break
        self._complete = False  # whether no text follows
        self._hidden = ""  # end of the text being left out (thinking, comments)
        self._fence = ""
        self._line_open = False
        self._kind = self._read_as = LineKind.MARK
        self._prev = ""
        self._code = 0  # the number of backticks that end the code
        self._emphasised: set[str] = set()
        self._rules: dict[str, Callable[[str, int], int]] = {
            **dict.fromkeys("*_~", self._emphasis),
            **dict.fromkeys("[!", self._bracket),
            "\\": self._escape,
            "`": self._backticks,
            "<": self._tag,
            "&": self._entity,
        }
        """Take the text and a position; return the characters read, 0 to wait for more."""

    def feed(self, text: str) -> str:
        """Return the speakable text that is certain; "" until more arrives."""
        text = (self._return + text).replace("\r\n", "\n")
        self._return = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r").replace("\r", " ")
        self._held.append(text)
        self._length += len(text)
        if "\n" not in text and (self._length < self._enough or not _WORD_END.search(text)):
            return ""
        self._read()
        return self._writer.take()

    def flush(self) -> str:
        """Return the held text and start a new message."""
        self._complete = True
        self._read()
        if self._read_as in (LineKind.HEADING, LineKind.ITEM, LineKind.ROW):
            self._writer.end_block()
        text = self._writer.take(rest=True)
        self._start()
        return text

    def _read(self) -> None:
        """Read what is certain and hold the rest."""
        held = "".join(self._held)
        text, pos, before = held, 0, None
        if not self._complete:
            whole = _WHOLE_WORDS.match(held)
            text = whole.group() if whole else ""
        while pos < len(text) and before != (before := (pos, self._line_open, self._hidden)):
            if self._hidden:  # its end holds no blank, so it arrives whole
                end = re.compile(re.escape(self._hidden), re.IGNORECASE | re.ASCII).search(text, pos)
                self._hidden = "" if end else self._hidden
                pos = end.end() if end else len(text)
            elif not self._line_open:
                pos = self._start_line(text, pos)
            elif text[pos] == "\n":
                self._writer.gap(Gap.SPACE)
                self._line_open = False
                pos += 1
            else:
                pos = self._read_line(text, pos)
        self._held = [held[pos:]]
        self._length = len(held) - pos
        self._enough = 0 if pos else self._length + self._length // 8

    def _start_line(self, text: str, pos: int) -> int:
        """Recognise a line by its start and return where its text begins; `pos` until that is certain."""
        newline = text.find("\n", pos)
        end = newline if newline >= 0 else len(text)
        complete = self._complete or newline >= 0
        line = text[pos:end]
        body = line.lstrip(" \t\r")
        if not self._fence:
            recognised = self._recognise(body.rstrip(" \t\r") if complete else body, complete)
            if recognised is None:
                return pos
            kind, length = recognised
            self._open_line(kind, indented=len(body) < len(line))
            return end - len(body) + length
        if not complete:
            return pos
        if body.startswith(self._fence) and not body.strip().strip(self._fence[0]):
            self._fence = ""
            self._open_line(LineKind.MARK)
            return end
        self._open_line(LineKind.CODE)
        for word in body.split():
            for run in filter(None, _PICTURE.split(word)):
                self._writer.text(run)
            self._writer.gap(Gap.SPACE)
        return end

    def _recognise(self, body: str, complete: bool) -> tuple[LineKind, int] | None:
        """Return kind and length of a line's layout, which has no number of an item; None until that is certain."""
        kind, pos = LineKind.TEXT, 0
        for _ in range(_DEEPEST):
            rest = body[pos:]
            if not complete and _UNDECIDED.match(rest):
                return None
            if not rest or _RULE.match(rest):
                return (LineKind.MARK if kind is LineKind.TEXT else kind), len(body)
            if fence := _FENCE.match(rest):
                self._fence = fence.group(1) or fence.group(2)
                return LineKind.MARK, len(body)
            if marker := _QUOTE.match(rest):
                pos += marker.end()
            elif marker := _BULLET.match(rest):
                kind, pos = LineKind.ITEM, pos + marker.end()
            elif marker := _HEADING.match(rest):
                return LineKind.HEADING, pos + marker.end()
            elif rest.startswith("|"):
                return LineKind.ROW, pos + 1
            else:
                return (LineKind.ITEM if _NUMBER.match(rest) else kind), pos
        return kind, pos

    def _open_line(self, kind: LineKind, *, indented: bool = False) -> None:
        """Separate the line from the one before it; emphasis ends with its block, code with its line."""
        gap = Gap.BLOCK
        if kind is LineKind.TEXT and (self._kind is LineKind.TEXT or (self._kind is LineKind.ITEM and indented)):
            kind, gap = self._kind, Gap.SOFT
        elif kind is self._kind is LineKind.CODE:
            gap = Gap.LINE
        self._writer.gap(gap)
        self._kind, self._line_open = kind, True
        if kind is not LineKind.MARK:
            self._read_as = kind
        self._prev, self._code = "", 0
        if gap is Gap.BLOCK:
            self._emphasised.clear()

    def _read_line(self, text: str, pos: int) -> int:
        """Read the line as far as it is certain; return where that ends."""
        while pos < len(text) and (char := text[pos]) != "\n" and not self._hidden:
            length = 1
            if char in " \t\r\v\f":
                self._writer.gap(Gap.SPACE)
            elif (rule := self._rules.get(char)) and (not self._code or char == "`"):
                length = rule(text, pos)
            elif char in "hHwW" and (url := _URL.match(text, pos)) and not _is_spaced_word(self._prev):
                length = self._url(url.group())
            elif run := _TEXT.match(text, pos):
                self._writer.text(run.group())
                length = run.end() - pos
            else:
                self._symbol(char, text[pos + 1 : pos + 2])
            if not length:
                break
            pos += length
            self._prev = text[pos - 1]
        return pos

    def _symbol(self, char: str, follows: str) -> None:
        """Leave pictures out, and the `#` of a heading or keycap; arrows between words, and bars, are a pause."""
        separates = self._kind is LineKind.ROW or (self._prev.isspace() and (not follows or follows.isspace()))
        if (char == "|" and not self._code and separates) or _SEPARATOR.match(char):
            self._writer.gap(Gap.COMMA)
        elif (
            _PICTURE.match(char)
            or (char == _ZERO_WIDTH_JOINER and _PICTURE.match(self._prev))
            or (follows == _PICTURE_STYLE and _STYLED.match(char))
            or (char == "#" and not self._code and (follows in _KEYCAP or self._closes_heading(follows)))
        ):
            self._writer.cut()
        elif not _INVISIBLE.match(char):
            self._writer.text(char)

    def _closes_heading(self, follows: str) -> bool:
        return self._kind is LineKind.HEADING and not _is_word(self._prev) and follows in ("", *"# \t\n")

    def _escape(self, text: str, pos: int) -> int:
        follows = text[pos + 1 : pos + 2]
        if follows in _ESCAPABLE:
            self._writer.text(follows)
            return 2
        if follows != "\n":
            self._writer.text("\\")
        return 1

    def _backticks(self, text: str, pos: int) -> int:
        """Speak code as it is, without the backticks around it."""
        marks, follows = _run(text, pos)
        length = len(marks)
        if self._code and length != self._code:
            self._writer.text(marks)
        elif not self._code and length == 1 and _is_word(self._prev) and _is_word(follows):
            self._writer.text("'")
        else:
            self._code = 0 if self._code else length
        return length

    def _emphasis(self, text: str, pos: int) -> int:
        """Drop a run of `*`, `_` or `~`; keep it in arithmetic, names and footnotes."""
        marks, follows = _run(text, pos)
        if follows not in _KEYCAP and self._is_spoken(marks[0], len(marks), follows):
            self._writer.text(marks)
        return len(marks)

    def _is_spoken(self, mark: str, length: int, follows: str) -> bool:
        before = self._prev
        after_blank = not before or before.isspace()
        before_blank = not follows or follows.isspace()
        if after_blank and before_blank:
            return length < 3  # three or more alone are a blank to fill in
        if mark == "~":
            return length == 1
        if _is_word(before) and _is_word(follows):
            if mark == "_":
                return True
            if length > 1:
                return before.isdigit() and follows.isdigit()
            return _is_spaced_word(before) and _is_spaced_word(follows)
        if mark == "*" and length > 1:
            return False
        if (after_blank or before in _OPENERS) and not before_blank:
            self._emphasised.add(mark)
            return False
        if mark in self._emphasised and not _is_word(follows):
            self._emphasised.discard(mark)
            return False
        return True

    def _bracket(self, text: str, pos: int) -> int:
        """Speak the text of a link or an image; a bracket without an address, and a `!`, are spoken."""
        char = text[pos]
        start = pos + 1 if char == "!" else pos
        end = self._linked(text, start) if text[start : start + 1] == "[" else -1
        if end is None:
            return 0
        if end < 0:
            self._writer.text(char)
            return 1
        return end - pos

    def _linked(self, text: str, pos: int) -> int | None:
        """Speak the text of the link at `pos` and return where it ends; -1 if it is no link, None until that is certain."""
        close = self._closing(text, pos, _LINK_LIMIT)
        if close is None or close < 0:
            return close
        label, follows = text[pos + 1 : close], text[close + 1 : close + 2]
        if label.startswith("^"):
            self._writer.cut()
            return close + 1
        if follows not in ("(", "["):
            return -1
        end = self._closing(text, close + 1, _URL_LIMIT)
        if end is None:
            return None
        if end < 0:
            if not (cut_off := _CUT_OFF.match(text, close + 1)):
                return -1
            end = cut_off.end() - 1  # the answer or its line ends inside the address
        if not _DESTINATION.fullmatch(text[close + 2 : end]):
            return -1
        state = self._prev, self._complete
        self._prev, self._complete = "", True
        self._read_line(label, 0)  # it may hold emphasis or an image
        self._prev, self._complete = state
        self._hidden = ""  # a tag in a label ends with it
        return end + 1

    def _closing(self, text: str, pos: int, limit: int) -> int | None:
        """Return where the bracket at `pos` closes; -1 if it does not, None until that is certain."""
        opens, depth = text[pos], 0
        closes = _CLOSES[opens]
        line, newline, _ = text[pos : pos + limit].partition("\n")
        for index, char in enumerate(line[: line.rfind(closes) + 1]):
            depth += (char == opens) - (char == closes)
            if not depth:
                return pos + index
        return -1 if newline or self._complete or pos + limit <= len(text) else None

    def _url(self, address: str) -> int:
        """Speak only the host of an address."""
        address = address.rstrip(".,;:!?*_~'")
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip(".,;:!?*_~'")
        if host := _HOST.match(address):
            self._writer.text(host.group(1))
        return len(address)

    def _tag(self, text: str, pos: int) -> int:
        """Leave out tags, and all text in thinking and comments."""
        if text.startswith("<!--", pos):
            self._hidden = "-->"
            return 4
        if tag := _TAG.match(text, pos):
            name = tag.group(1).lower()
            if name in _HIDDEN_TAGS and not tag.group().startswith("</"):
                self._hidden = f"</{name}>"
            if name in _BREAKING_TAGS:
                self._writer.gap(Gap.SOFT)
            return tag.end() - pos
        if address := _ADDRESS.match(text, pos):
            host = _HOST.match(address.group(1)) if "://" in address.group() else address
            if host:
                self._writer.text(host.group(1))
            return address.end() - pos
        if not self._complete and _TAG_OPEN.match(text, pos):
            return 0
        self._writer.text("<")
        return 1

    def _entity(self, text: str, pos: int) -> int:
        entity = _ENTITY.match(text, pos)
        char = html.unescape(entity.group()) if entity else "&"
        if char.isspace():
            self._writer.gap(Gap.SPACE)
        else:
            self._writer.text(char)
        return len(entity.group()) if entity else 1


def _run(text: str, pos: int) -> tuple[str, str]:
    """Return the run of the character at `pos`, and the character after it, "" at the end."""
    run = _RUN.match(text, pos)
    assert run is not None
    return run.group(), text[run.end() : run.end() + 1]


def speakable_text(text: str) -> str:
    """Return a complete text in speakable form."""
    speech = SpeechFilter()
    return speech.feed(text) + speech.flush()


async def speakable(stream: AsyncGenerator[AssistantContentDeltaDict]) -> AsyncGenerator[AssistantContentDeltaDict]:
    """Make the content of a stream speakable. Held text comes before a call, the next message and the end."""
    speech = SpeechFilter()
    async with aclosing(stream):
        async for delta in stream:
            if "role" in delta and (text := speech.flush()):
                yield {"content": text}
            rest = delta.copy()
            content = rest.pop("content", None)
            if "role" in delta and rest:
                yield rest
                rest = AssistantContentDeltaDict()
            if content and (text := speech.feed(content)):
                yield {"content": text}
            if "tool_calls" in rest and (text := speech.flush()):
                yield {"content": text}
            if rest:
                yield rest
    if text := speech.flush():
        yield {"content": text}
