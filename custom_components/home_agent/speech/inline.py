"""Markup within a line: emphasis, code, links, tags, entities, emoji."""

from collections.abc import Callable
import html
import re

from .symbols import INVISIBLE, PICTURE, PICTURE_STYLE, SEPARATOR, STYLED, TEXT, UNSPACED, ZERO_WIDTH_JOINER, is_word
from .writer import Gap, Writer

_LINK_LIMIT = 300  # characters; a bracket that is not closed by then is a bracket
_URL_LIMIT = 2048  # characters

_KEYCAP = (PICTURE_STYLE, "\u20e3")  # after `#` or `*`: a picture of the key
_ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_OPENERS = frozenset("([{\"'“„«‹¿¡*_~")
_URL = re.compile(r"(?:https?://|www\.)[!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~À-ɏ]{1,2000}", re.IGNORECASE)
_URL_BEGUN = re.compile(r"(?:h|ht|htt|https?|https?:|https?:/|https?://|w|ww|www|www\.)\Z", re.IGNORECASE)
_HOST = re.compile(r"(?:https?://(?=[^/])|(?!https?:))(?:[^/@?#]*@)?(?:www\.)?([^/:?#]+)", re.IGNORECASE)
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]{0,30})(?:\s[^<>\n]{0,250})?/?>")
_TAG_BEGUN = re.compile(r"</?(?:[A-Za-z][A-Za-z0-9-]{0,30}(?:\s[^<>\n]{0,250})?/?)?\Z|<!-?\Z")
_ADDRESS = re.compile(r"<((?:https?://|[\w.+-]{1,64}@)[^\s<>]{1,250})>", re.IGNORECASE)
_ADDRESS_BEGUN = re.compile(
    r"<(?:https?:/?|https?://[^\s<>]{0,250}|[\w.+-]{1,64}(?:@[^\s<>]{0,250})?)\Z", re.IGNORECASE
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_ENTITY_BEGUN = re.compile(r"&#?[A-Za-z0-9]{0,31}\Z")
_DESTINATION = re.compile(r"\s*<?[^\s<>]*>?(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^)]*\)))?\s*")
_HIDDEN_TAGS = frozenset({"think", "thinking", "thought", "script", "style"})
_BREAKING_TAGS = frozenset(
    {"br", "p", "div", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "hr"}
)

type Rule = Callable[[str, int, bool], int]
"""Gets the text, a position and whether the text ends there; returns how much it consumed, 0 to see more first."""


class Inline:
    """Reads a line from left to right; what it has consumed is decided for good."""

    def __init__(self, writer: Writer) -> None:
        """Write to `writer`."""
        self._writer = writer
        self.hidden: str | None = None
        """The text that ends what is being left out (thinking, comments)."""
        self.in_row = False
        """Whether `|` separates the cells of a table."""
        self.in_heading = False
        self._prev = ""
        self._code = 0
        self._open: set[str] = set()
        self._rules: dict[str, Rule] = {
            "\\": self._escape,
            "`": self._backticks,
            "*": self._emphasis,
            "_": self._emphasis,
            "~": self._emphasis,
            "[": self._link,
            "!": self._image,
            "<": self._tag,
            "&": self._entity,
            "|": self._pipe,
            "#": self._hash,
        }

    def start_line(self, *, new_block: bool) -> None:
        """Forget what may not reach beyond a line, and beyond a block."""
        self._prev, self._code = "", 0
        if new_block:
            self._open.clear()

    def scan(self, text: str, pos: int, final: bool) -> int:
        """Read on from `pos` to the end of the line, or as far as it can be decided; return where it stopped."""
        while pos < len(text) and text[pos] != "\n" and self.hidden is None:
            consumed = self._step(text, pos, final)
            if not consumed:
                break
            pos += consumed
            self._prev = text[pos - 1]
        return pos

    def literal(self, text: str) -> None:
        """Write a line as it stands, without pictures."""
        for word in text.split():
            for run in re.split(PICTURE, word):
                if run:
                    self._writer.text(run)
            self._writer.gap(Gap.SPACE)

    def _step(self, text: str, pos: int, final: bool) -> int:
        char = text[pos]
        if char in " \t\r\v\f":
            self._writer.gap(Gap.SPACE)
            return 1
        if (rule := self._rules.get(char)) and (not self._code or char == "`"):
            return rule(text, pos, final)
        if char in "hHwW" and (not is_word(self._prev) or UNSPACED.match(self._prev)):
            if url := _URL.match(text, pos):
                return self._url(url, final)
            if not final and _URL_BEGUN.match(text, pos):
                return 0
        if run := TEXT.match(text, pos):
            self._writer.text(run.group())
            return run.end() - pos
        return self._symbol(char, text, pos, final)

    def _symbol(self, char: str, text: str, pos: int, final: bool) -> int:
        """Leave pictures out; arrows between words are a pause."""
        if SEPARATOR.match(char):
            self._writer.gap(Gap.COMMA)
        elif PICTURE.match(char) or (char == ZERO_WIDTH_JOINER and PICTURE.match(self._prev or " ")):
            self._writer.cut()
        elif INVISIBLE.match(char):
            pass
        elif STYLED.match(char):
            follows = _peek(text, pos + 1, final)
            if follows is None:
                return 0
            if follows == PICTURE_STYLE:
                self._writer.cut()
            else:
                self._writer.text(char)
        else:
            self._writer.text(char)
        return 1

    def _escape(self, text: str, pos: int, final: bool) -> int:
        follows = _peek(text, pos + 1, final)
        if follows is None:
            return 0
        if follows in _ESCAPABLE:
            self._writer.text(follows)
            return 2
        if follows != "\n":
            self._writer.text("\\")
        return 1

    def _backticks(self, text: str, pos: int, final: bool) -> int:
        """Code is read as it stands; what opens and closes it is not."""
        length = _run(text, pos)
        follows = _peek(text, pos + length, final)
        if follows is None:
            return 0
        if self._code:
            if length == self._code:
                self._code = 0
            else:
                self._writer.text(text[pos : pos + length])
        elif length == 1 and is_word(self._prev) and is_word(follows):
            self._writer.text("'")
        else:
            self._code = length
        return length

    def _emphasis(self, text: str, pos: int, final: bool) -> int:
        """Drop a run of emphasis markers, keep what is arithmetic, a name or a footnote."""
        length = _run(text, pos)
        follows = _peek(text, pos + length, final)
        if follows is None:
            return 0
        if follows not in _KEYCAP and self._is_spoken(text[pos], length, follows):
            self._writer.text(text[pos : pos + length])
        return length

    def _is_spoken(self, marker: str, length: int, follows: str) -> bool:
        """Decide on a run of `*`, `_` or `~` between the previous and the following character."""
        before = self._prev
        if (not before or before.isspace()) and (not follows or follows.isspace()):
            return length < 3  # more than two on their own are a blank to fill in
        if marker == "~":
            return length == 1
        if is_word(before) and is_word(follows):
            if marker == "_":
                return True
            if length > 1:
                return before.isdigit() and follows.isdigit()
            return not (UNSPACED.match(before) or UNSPACED.match(follows))
        if marker == "*" and length > 1:
            return False
        return not self._opens_or_closes(marker, before, follows)

    def _opens_or_closes(self, marker: str, before: str, follows: str) -> bool:
        if (not before or before.isspace() or before in _OPENERS) and follows and not follows.isspace():
            self._open.add(marker)
            return True
        if marker in self._open and not is_word(follows):
            self._open.discard(marker)
            return True
        return False

    def _image(self, text: str, pos: int, final: bool) -> int:
        follows = _peek(text, pos + 1, final)
        if follows is None:
            return 0
        if follows == "[" and (link := self._linked(text, pos + 1, final)) != 1:
            return link and link + 1
        self._writer.text("!")
        return 1

    def _link(self, text: str, pos: int, final: bool) -> int:
        if (link := self._linked(text, pos, final)) == 1:
            self._writer.text("[")
        return link

    def _linked(self, text: str, pos: int, final: bool) -> int:
        """Write the text of a link; 1 when the bracket is only a bracket."""
        close = _closing(text, pos, "[]", _LINK_LIMIT, final)
        if close is None:
            return 0
        if close < 0:
            return 1
        label = text[pos + 1 : close]
        follows = _peek(text, close + 1, final)
        if follows is None:
            return 0
        if label.startswith("^"):
            self._writer.cut()
            return close + 1 - pos
        if follows not in ("(", "["):
            return 1
        end = _closing(text, close + 1, "()" if follows == "(" else "[]", _URL_LIMIT, final)
        if end is None:
            return 0
        if end < 0:
            end = _line_end(text, close + 1) - 1  # the answer was cut off inside the address
        if not _DESTINATION.fullmatch(text[close + 2 : end]):
            return 1
        self._nested(label)
        return end + 1 - pos

    def _nested(self, label: str) -> None:
        """Read the text of a link, which may hold emphasis or an image."""
        prev, self._prev = self._prev, ""
        self.scan(label, 0, final=True)
        self.hidden = None  # what a label leaves out ends with it
        self._prev = prev

    def _url(self, url: re.Match[str], final: bool) -> int:
        """Name the host; an address nobody can listen to is left out."""
        if url.end() == len(url.string) and not final:
            return 0
        address = url.group().rstrip(".,;:!?*_~'")
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip(".,;:!?*_~'")
        self._host(address)
        return len(address)

    def _host(self, address: str) -> None:
        if host := _HOST.match(address):
            self._writer.text(host.group(1))

    def _tag(self, text: str, pos: int, final: bool) -> int:
        """Leave HTML out, and everything inside thinking and comments."""
        if text.startswith("<!--", pos):
            self.hidden = "-->"
            return 4
        if tag := _TAG.match(text, pos):
            name = tag.group(1).lower()
            if name in _HIDDEN_TAGS and not tag.group().startswith("</"):
                self.hidden = f"</{name}>"
            if name in _BREAKING_TAGS:
                self._writer.gap(Gap.SOFT)
            return tag.end() - pos
        if address := _ADDRESS.match(text, pos):
            self._host(address.group(1)) if "://" in address.group() else self._writer.text(address.group(1))
            return address.end() - pos
        if not final and (_TAG_BEGUN.match(text, pos) or _ADDRESS_BEGUN.match(text, pos)):
            return 0
        self._writer.text("<")
        return 1

    def _entity(self, text: str, pos: int, final: bool) -> int:
        if entity := _ENTITY.match(text, pos):
            if (char := html.unescape(entity.group())).isspace():
                self._writer.gap(Gap.SPACE)
            else:
                self._writer.text(char)
            return entity.end() - pos
        if not final and _ENTITY_BEGUN.match(text, pos):
            return 0
        self._writer.text("&")
        return 1

    def _pipe(self, text: str, pos: int, final: bool) -> int:
        follows = _peek(text, pos + 1, final)
        if follows is None:
            return 0
        if self.in_row or (self._prev.isspace() and (not follows or follows.isspace())):
            self._writer.gap(Gap.COMMA)
        else:
            self._writer.text("|")
        return 1

    def _hash(self, text: str, pos: int, final: bool) -> int:
        """Keep `C#` and `#1`; leave out what closes a heading, and the keycap."""
        follows = _peek(text, pos + 1, final)
        if follows is None:
            return 0
        closes_heading = self.in_heading and not is_word(self._prev) and (not follows or follows in "# \t\r\n")
        if closes_heading or follows in _KEYCAP:
            self._writer.cut()
        else:
            self._writer.text("#")
        return 1


def _peek(text: str, pos: int, final: bool) -> str | None:
    """Return the character at `pos`, "" at the end of the text, None when it is still to come."""
    if pos < len(text):
        return text[pos]
    return "" if final else None


def _run(text: str, pos: int) -> int:
    """Return how often the character at `pos` is repeated."""
    rest = text[pos:]
    return len(rest) - len(rest.lstrip(text[pos]))


def _line_end(text: str, pos: int) -> int:
    end = text.find("\n", pos)
    return len(text) if end < 0 else end


def _closing(text: str, pos: int, pair: str, limit: int, final: bool) -> int | None:
    """Return where the bracket at `pos` closes, -1 when it does not, None when that is still open."""
    depth = 0
    end = min(_line_end(text, pos), pos + limit)
    for index in range(pos, end):
        if text[index] == pair[0]:
            depth += 1
        elif text[index] == pair[1]:
            depth -= 1
            if not depth:
                return index
    return None if end == len(text) and not final else -1
