"""Encodes values for the place they go into (JSON, URL, header, XML, Markdown), so that they stay values there."""

from collections.abc import Callable, Mapping
import html
import json
import re
from typing import Any
import unicodedata
from urllib.parse import quote, unquote, urlencode

from homeassistant.helpers.json import json_encoder_default
import orjson

from .errors import ToolRefusal

type Encode = Callable[[object], str]
"""Returns a printed value as the text to send; raises `ToolRefusal` for a value that is not allowed there."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_WORD = re.compile(r"[\w.@+-]*")
_WORDS = re.compile(r"[\w .@+-]*")
_MOMENT = re.compile(
    r"(?<![\w:-])(?:\d{4}-\d\d-\d\d[T ])?\d\d?:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?(?![\w:-])"
)
_DOTS = frozenset({".", ".."})
_MAX_UNQUOTE = 5  # times; deeper than any server goes
MAX_TOLD = 100  # characters of a refused value
MAX_NESTING = 50  # of lists and objects in a file
_URL_SAFE = "/?=&+%:@!$'()*,;~"
"""Not quoted in the owner's part of a URL."""


def dump(value: Any) -> bytes:
    """Return JSON of any value; other types are encoded as Home Assistant does it, else as their text."""
    try:
        return orjson.dumps(value, default=_default, option=orjson.OPT_NON_STR_KEYS)
    except TypeError, orjson.JSONEncodeError:
        # Halves of surrogate pairs, numbers above 64 bits: orjson refuses them, and people do paste them.
        return json.dumps(value, default=_default, separators=(",", ":")).encode()


_INVISIBLE = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
"""Letters that no screen shows; flags of regions hold some."""
_MARKUP = re.compile(
    rf"[<＜﹤](?=[\s{_INVISIBLE}]{{0,3}}[|｜]"  # <|im_end|>, <｜User｜>
    rf"|[{_INVISIBLE}]{{0,3}}/?[^\W\d][\w.:▁{_INVISIBLE}-]{{0,60}}(?:[ =|][^<>＜＞\n]{{0,80}})?/?[>＞﹥])"  # </house>, <s>, <function=x>
    r"|\[(?=/?(?:inst|sys|gmask|smask|(?:available_|begin_|end_)?(?:tool|system|user|assistant|prompt)[a-z_]{0,30})\]|(?-i:/?g?[A-Z][A-Z_]{2,40})\]|\||e~\[)"  # [INST], [inst], [gMASK], [|system|], [e~[
    r"|\](?=~!?b[\[\]]|<\])"  # ]~b]
    r"|#(?=#{1,2} {0,2}(?:human|user|assistant|system|instruction|input|response)s?:)",
    re.IGNORECASE,
)
"""What the template of a chat puts between messages, of any family of models, and what our own parts stand in."""
_LOOKS_LIKE = {"<": "‹", "＜": "‹", "﹤": "‹", "[": "❲", "]": "❳", "#": "♯"}


def inert(text: str) -> str:
    """Return a text for a model in which nothing ends a message or a part of one, without letters that only a model can read.

    Other signs stay as they are.
    """
    return _MARKUP.sub(lambda sign: _LOOKS_LIKE[sign[0]], _TAGS.sub("", text))


def inert_json(value: Any) -> str:
    """Return JSON of any value, for a model: no text in it ends a message or the tag around it, and it reads as the same value, without letters that only a model can read."""
    text = _TAGS.sub("", dump(value).decode()).replace("<", "\\u003c").replace(">", "\\u003e")
    return _MARKUP.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def _default(value: Any) -> Any:
    try:
        return json_encoder_default(value)
    except TypeError:
        return str(value)


def plain(value: object) -> str:
    """Return the text of a value as in JSON: `true`, not `True`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def for_path(value: object) -> str:
    """Encode a part of a path so that it stays within its segment."""
    text = plain(value)
    if not text:
        raise ToolRefusal("A value that is part of the address is missing or empty.")
    if _climbs(text):
        raise ToolRefusal("A value that is part of the address must not consist of dots.")
    return _quoted(text)


def for_query(value: object) -> str:
    """Encode a part of a query or form."""
    return _quoted(plain(value))


def for_header(value: object) -> str:
    """Return a part of a header. Raises `ToolRefusal` for control characters, which could end it."""
    text = plain(value)
    if _CONTROL.search(text):
        raise ToolRefusal("A value that is part of a header may not contain line breaks or control characters.")
    return text


def for_xml(value: object) -> str:
    """Encode for XML and HTML."""
    return html.escape(plain(value))


def for_unknown(value: object, *, blanks: bool = False) -> str:
    """Return a value for an unknown format: letters, digits, `._-+@`, times, and `blanks`. Raises `ToolRefusal` for others."""
    text = plain(value)
    if not (_WORDS if blanks else _WORD).fullmatch(_MOMENT.sub("", text)):
        allowed = "letters, digits, blanks and . _ - + @" if blanks else "letters, digits and . _ - + @"
        raise ToolRefusal(f"A value may only contain {allowed} here: {text[:MAX_TOLD]!r}.")
    return text


def check_path(path: str) -> str:
    """Return a rendered path. Raises `ToolRefusal` if it climbs: values side by side can make dots, too."""
    if any(_climbs(segment) for segment in path.split("/")):
        raise ToolRefusal("The values do not make a valid address.")
    return path


def owners_text(text: str) -> str:
    """Quote blanks and letters in the owner's part of a URL; quoted ones stay."""
    return quote(text, safe=_URL_SAFE)


def query_string(parameters: Mapping[str, object]) -> str:
    """Return parameters as a query or form; a list repeats its name, None is left out."""
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        items = value if isinstance(value, list) else [value]
        pairs += [(name, plain(item)) for item in items if item is not None]
    return urlencode(pairs, quote_via=quote, safe="")


def _quoted(text: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as err:  # half of a surrogate pair
        raise ToolRefusal("A value is not valid text.") from err


def _climbs(text: str) -> bool:
    """Return whether a server may read a segment `.` or `..`, even one that decodes several times."""
    for _ in range(_MAX_UNQUOTE):
        if any(part.strip() in _DOTS for part in re.split(r"[/\\;]", text)):
            return True
        if (decoded := unquote(text)) == text:
            return False
        text = decoded
    return True


def plain_text(text: str) -> str:
    """Return the text with question marks for halves of surrogate pairs, which crash ciso8601."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def one_line(text: str) -> str:
    """Return a text on one line, without characters that are not seen: controls, and marks that turn the direction of writing.

    The two joiners stay: scripts such as Persian and composed signs need them.
    """
    kept = (sign if sign in "\u200c\u200d" or unicodedata.category(sign) not in ("Cc", "Cf") else " " for sign in text)
    return " ".join(plain_text("".join(kept)).split())


def storable(value: Any, depth: int = MAX_NESTING) -> Any:
    """Return a value that a file of JSON takes.

    Halves of surrogate pairs become question marks, what is nested deeper than `depth` null. Integers of 64 bits and more and what
    has no form in JSON become text.
    """
    match value:
        case str():
            return plain_text(value)
        case None | bool() | float():
            return value
        case int():
            return value if value.bit_length() < 64 else hex(value)
        case _ if depth == 0:
            return None
        case Mapping():
            return {plain_text(str(key)): storable(item, depth - 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [storable(item, depth - 1) for item in value]
    return plain_text(str(value))


_MEDIA_TAGS = "img|image|picture|source|video|audio|track|iframe|frame|embed|object|svg|link|style|script|base|meta"
_HIDING_TAGS = "details|summary|font"
_FRONTENDS_TAGS = r"(?!ha-(?:icon|svg-icon|alert)\b)[a-z][a-z0-9]{0,30}-"
"""Elements of Home Assistant's frontend, but three that load nothing: `ha-qr-code` has a picture in it."""
_ADDRESS = r"/(?![^\s()]{0,300}?(?://|\.\.|%2e|api/webhook))[\w-][^\s()<>\\&\"'`]{0,300}"
"""An address of Home Assistant itself: nothing in it is escaped, an entity, or a way upwards, so that a browser reads it as we do."""
_PICTURE = re.compile(
    rf"\[[^\[\]()<>\\&`\n]{{0,300}}\]\({_ADDRESS}(?: \"[^\"\\&<>`\n]{{0,100}}\")?\)", re.IGNORECASE
)  # in full, for what is no picture may still be the name of one that is defined elsewhere in the text
_MEDIA = re.compile(
    rf"(?<!!)!++(?=\[)|<(?=/?(?:(?:{_MEDIA_TAGS}|{_HIDING_TAGS})\b|{_FRONTENDS_TAGS})|!--)", re.IGNORECASE
)
_LINK = re.compile(rf"\](?=[(:])(?!\({_ADDRESS}[ )])|<(?=/?a\b)", re.IGNORECASE)
_UNDECIDED = re.compile(
    r"(?:!+(?:\[[^\[\]()<>\\&`\n]{0,300}(?:\](?:\((?:/[^\s()<>\\&`]{0,301}(?: (?:\"[^\"\\&<>`\n]{0,100}\"?)?)?)?)?)?)?"
    r"|<!?-?[/a-zA-Z0-9]{0,32}|\](?:\((?:/[^\s()<>\\&`]{0,301})?)?)\Z"
)
_LONGEST = 800  # characters of undecided text


def _harmless(sign: re.Match[str]) -> str:
    """Return what stands for the start of a picture or tag; several exclamation marks are those of a sentence, and stay."""
    if sign[0] == "<":
        return "&lt;"
    if len(sign[0]) > 1:
        return f"{sign[0]} "
    return sign[0] if _PICTURE.match(sign.string, sign.end()) else ""


class ShownText:
    """Makes a text safe to show as Markdown while it arrives: no media load by themselves, no tag hides text.

    Media become links, except Home Assistant's own: a picture is requested when it is shown, and its address could hold data.
    """

    def __init__(self, *, tells_addresses: bool = False) -> None:
        """Start; with `tells_addresses` links show their address."""
        self._tells_addresses = tells_addresses
        self._held = ""

    def feed(self, text: str) -> str:
        """Return the part that is certain; "" until more arrives."""
        text, self._held = self._held + text, ""
        if found := _UNDECIDED.search(text, max(0, len(text) - _LONGEST)):
            text, self._held = text[: found.start()], text[found.start() :]
        return self._shown(text)

    def flush(self) -> str:
        """Return the held text; the next one is a new text."""
        text, self._held = self._held, ""
        return self._shown(text)

    def _shown(self, text: str) -> str:
        text = _MEDIA.sub(_harmless, text)
        return _LINK.sub(lambda sign: "&lt;" if sign[0] == "<" else "] ", text) if self._tells_addresses else text


def shown(text: str, *, tells_addresses: bool = False) -> str:
    """Return a complete text as `ShownText` does."""
    display = ShownText(tells_addresses=tells_addresses)
    return display.feed(text) + display.flush()


_DRAWN = re.compile(r"[\\`*\[\]<>#~|&@]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)


def as_markdown(text: str) -> str:
    """Return Markdown that shows exactly this text on one line, without links and markup."""
    return _DRAWN.sub(lambda sign: f"\\{sign[0]}", " ".join(text.split()))
