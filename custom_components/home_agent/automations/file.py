"""The text of automations.yaml: which part of it is which automation, and changes to one of them that keep all other bytes.

A file is a partition. An item is its text from its dash to its last line with content, with the comments directly above it and
the blank lines above those. Other comments (set off by a blank line, at the head, at the end) belong to no item and stay.
Everything here blocks: call it in the executor.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
import math
import re
from typing import Any

from homeassistant.util.yaml import dump
import yaml  # type: ignore[import-untyped]
from yaml.constructor import SafeConstructor  # type: ignore[import-untyped]
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode  # type: ignore[import-untyped]

from ..home.fingerprint import fingerprint
from ..support.errors import ToolError
from ..support.quoting import one_line

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

MAX_BYTES = 5_000_000
MAX_ITEMS = 5_000
MAX_NODES = 50_000  # of one item, each alias counted as often as it is used
MAX_DETAIL = 300  # characters of what a parser or the system says
_BOM = "\ufeff"
_BREAK = re.compile(r"\r\n|\n|\r")
_KEPT_BREAKS = re.compile(r"[|>][0-9]?\+")
"""In the header of a block: blank lines at its end are part of the text."""
_YAML = "tag:yaml.org,2002:"
_NULL = f"{_YAML}null"
_PLAIN_TAGS = frozenset(_YAML + kind for kind in ("map", "seq", "str", "int", "float", "bool", "null", "merge"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationItem:
    """One automation of the file."""

    id: str | None
    """None if it has no id, or one that is not a text: Home Assistant's editor cannot find it, and it is not changed."""
    text: str
    """Its exact text up to its last newline, with the comments in it and directly above it."""
    config: Mapping[str, Any]
    """Plain values; what has a tag stands as its text (`!secret x`). Empty if the item is not a mapping."""
    is_plain: bool
    """It can be written anew: no tags, and no anchor or alias shared with another item."""
    place: int
    """Its number in the file."""
    fingerprint: str
    """Of the text; blank lines around it and the kind of line breaks do not matter."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Where an item is in the text."""

    lead: int
    """Where its comments, and the blank lines above them, begin."""
    dash: int
    """Where the line of its dash begins."""
    end: int
    """Behind the newline of its last line with content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationFile:
    """The text of the file, read."""

    text: str
    """Without a byte order mark."""
    has_bom: bool
    items: tuple[AutomationItem, ...]
    _spans: tuple[_Span, ...]
    _column: int
    """How many spaces are in front of each dash."""
    _empty: tuple[int, int] | None
    """Where `[]` or `null` stands instead of items."""

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return ((_BOM if self.has_bom else "") + self.text).encode()

    def item(self, automation_id: str) -> AutomationItem | None:
        """Return an automation; None if there is none with this id. Raises `ToolError` if there are two."""
        found = [item for item in self.items if item.id == automation_id]
        if len(found) > 1:
            raise ToolError("automation_file_duplicate", id=automation_id)
        return found[0] if found else None

    def with_config(self, automation_id: str, config: Mapping[str, Any]) -> AutomationFile:
        """Return the file with one automation written anew, in its place or at the end.

        Comments above it stay, those in it go. Raises `ToolError` if it cannot be written exactly.
        """
        try:
            wanted = _copy({"id": automation_id, **{key: value for key, value in config.items() if key != "id"}})
        except RecursionError:  # it contains itself
            raise ToolError("automation_file_inexact", name=automation_id) from None
        old = self.item(automation_id)
        if old is not None and not old.is_plain:
            raise ToolError("automation_file_not_plain", name=_name(old))
        if old is None and len(self.items) >= MAX_ITEMS:
            raise ToolError("automation_file_too_many", most=str(MAX_ITEMS))
        for body in _written(wanted):
            piece = _with_breaks(_indented(body, self._column), self._newline)
            try:
                changed, place = self._replaced(old, piece) if old is not None else self._inserted(piece, None)
            except ToolError:  # this way to write it does not even parse
                continue
            if changed.items[place].config == wanted and self._is_kept(changed, old, place):
                return changed
        raise ToolError("automation_file_inexact", name=_named(wanted))

    def with_text(self, automation_id: str, text: str, place: int | None) -> AutomationFile:
        """Return the file with the exact text of one automation, in place of the present one or at a number.

        Raises `ToolError` if the text is not exactly this automation.
        """
        old = self.item(automation_id)
        try:
            if old is None:
                changed, place = self._inserted(text, place)
            else:
                span = self._spans[old.place]
                changed = self._read(self.text[: span.lead] + text + self.text[span.end :])
                place = old.place
        except ToolError:
            raise ToolError("automation_file_inexact", name=automation_id) from None
        if changed.items[place].id != automation_id or not self._is_kept(changed, old, place):
            raise ToolError("automation_file_inexact", name=automation_id)
        return changed

    def without(self, automation_id: str) -> AutomationFile:
        """Return the file without one automation. Raises `ToolError` if others depend on it, or it is not there."""
        if (old := self.item(automation_id)) is None:
            raise ToolError("automation_file_gone")
        span = self._spans[old.place]
        above, below = self.text[: span.lead], self.text[span.end :]
        if len(self.items) == 1:
            above += f"{' ' * self._column}[]{self._newline}"
        elif _ends_with_comment(above) and old.place + 1 < len(self.items) and not _BREAK.match(below):
            above += self._newline  # else that comment would belong to the next one
        try:
            changed = self._read(above + below)
        except ToolError:
            raise ToolError("automation_file_not_plain", name=_name(old)) from None
        if not self._is_kept(changed, old, None):
            raise ToolError("automation_file_not_plain", name=_name(old))
        return changed

    @property
    def _newline(self) -> str:
        """The kind of line break of the file: the one of its first line."""
        found = _BREAK.search(self.text)
        return found[0] if found else "\n"

    def _read(self, text: str) -> AutomationFile:
        return _parsed(text, has_bom=self.has_bom)

    def _replaced(self, old: AutomationItem, piece: str) -> tuple[AutomationFile, int]:
        """Return the file with another body of an item, and its place; the comments above it stay."""
        span = self._spans[old.place]
        if not _ends_line(self.text[: span.end]):
            piece = piece.removesuffix(self._newline)
        return self._read(self.text[: span.dash] + piece + self.text[span.end :]), old.place

    def _inserted(self, piece: str, place: int | None) -> tuple[AutomationFile, int]:
        """Return the file with one more item, and its place: behind the last one, or where it was before."""
        count = len(self.items)
        place = count if place is None else min(max(place, 0), count)
        if place < count:
            above, below = self.text[: self._spans[place].lead], self.text[self._spans[place].lead :]
        elif count:
            above, below = self.text[: self._spans[-1].end], self.text[self._spans[-1].end :]
        else:
            above, below = self._around_nothing()
        if above and not _ends_line(above):
            above += self._newline
        return self._read(above + piece + below), place

    def _around_nothing(self) -> tuple[str, str]:
        """Return the text in front of and behind the place of a first item."""
        if self._empty is None:
            return self.text, ""
        start, end = self._empty
        above, below = self.text[:start], self.text[end:]
        line = above[_line_start(above) :]
        if not line.strip():  # it has the line for itself
            above = above.removesuffix(line)
            if found := re.match(r"[ \t]*(?:\r\n|\n|\r|\Z)", below):
                below = below[found.end() :]
        return above, below

    def _is_kept(self, changed: AutomationFile, left_out: AutomationItem | None, place: int | None) -> bool:
        """Return whether all other items are the same, in text, meaning and order."""
        before = [item for item in self.items if item is not left_out]
        after = [item for item in changed.items if item.place != place]
        return len(before) == len(after) and all(
            old.fingerprint == new.fingerprint and old.config == new.config
            for old, new in zip(before, after, strict=True)
        )


def read_text(data: bytes) -> AutomationFile:
    """Return what is in the bytes of a file. Raises `ToolError` if they are no list of automations, or too many."""
    if len(data) > MAX_BYTES:
        raise ToolError("automation_file_too_big", most=f"{MAX_BYTES // 1_000_000} MB")
    try:
        text = data.decode()
    except UnicodeDecodeError as err:
        raise ToolError("automation_file_broken", detail="UTF-8") from err
    return _parsed(text.removeprefix(_BOM), has_bom=text.startswith(_BOM))


def composed(text: str) -> Node | None:
    """Return the nodes of a YAML text, no tag of which is followed; None if it is empty. Raises `yaml.YAMLError`."""
    loader = _Loader(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def plain_value(node: Node) -> Any:
    """Return the value of a node; what has a tag stands as its text. Raises `yaml.YAMLError`."""
    return _Constructor().construct_document(node)


class _Constructor(SafeConstructor):  # type: ignore[misc]
    """Makes values of nodes, and only texts of what has a tag."""

    def as_text(self, node: Node) -> str:
        """Return what has a tag as it was written."""
        tag = node.tag.replace(_YAML, "!!")
        return f"{tag} {node.value}".strip() if isinstance(node, ScalarNode) else str(tag)

    def as_said(self, node: ScalarNode) -> str:
        """Return a date as it was written."""
        return str(node.value)


_Constructor.add_constructor(None, _Constructor.as_text)
_Constructor.add_constructor(f"{_YAML}timestamp", _Constructor.as_said)
for _kind in ("binary", "omap", "pairs", "set"):
    _Constructor.add_constructor(_YAML + _kind, _Constructor.as_text)


def _parsed(text: str, *, has_bom: bool) -> AutomationFile:
    """Return the parts of a text. Raises `ToolError` if it is no list of automations."""
    try:
        root = composed(text)
        match root:
            case None:
                return _without_items(text, None, has_bom=has_bom)
            case ScalarNode(tag=tag) if tag == _NULL:
                pass
            case SequenceNode() | MappingNode() if not root.value:
                pass
            case SequenceNode(flow_style=is_flow):
                if is_flow:
                    raise ToolError("automation_file_flow")
                return _with_items(text, root, has_bom=has_bom)
            case _:
                raise ToolError("automation_file_not_list")
        empty = (root.start_mark.index, root.end_mark.index)
        return _without_items(text, empty if empty[0] < empty[1] else None, has_bom=has_bom)
    except (yaml.YAMLError, RecursionError, ValueError) as err:
        raise ToolError("automation_file_broken", detail=_detail(err)) from None  # its trace may be as deep as the text


def _without_items(text: str, empty: tuple[int, int] | None, *, has_bom: bool) -> AutomationFile:
    return AutomationFile(text=text, has_bom=has_bom, items=(), _spans=(), _column=0, _empty=empty)


def _with_items(text: str, root: SequenceNode, *, has_bom: bool) -> AutomationFile:
    if len(root.value) > MAX_ITEMS:
        raise ToolError("automation_file_too_many", most=str(MAX_ITEMS))
    survey = _Survey(root.value)
    lines = _Lines(text)
    column = root.start_mark.index - lines.start(lines.number(root.start_mark.index))
    spans = tuple(_spans(lines, root, survey.last, column))
    items = tuple(
        _item(node, text[span.lead : span.end], place, is_plain=place not in survey.bound)
        for place, (node, span) in enumerate(zip(root.value, spans, strict=True))
    )
    return AutomationFile(text=text, has_bom=has_bom, items=items, _spans=spans, _column=column, _empty=None)


def _item(node: Node, text: str, place: int, *, is_plain: bool) -> AutomationItem:
    is_mapping = isinstance(node, MappingNode)
    has_id = is_mapping and any(
        key.value == "id" and value.tag == f"{_YAML}str" for key, value in node.value if isinstance(key, ScalarNode)
    )
    config = plain_value(node) if is_mapping else {}
    written = _BREAK.sub("\n", text.strip())
    return AutomationItem(
        id=config["id"] if has_id and isinstance(config.get("id"), str) else None, text=text, config=config,
        is_plain=is_plain and is_mapping, place=place, fingerprint=fingerprint(written),
    )  # fmt: skip


class _Survey:
    """Goes through all nodes once: who has tags or shares nodes, and which node of each item ends last."""

    def __init__(self, items: Sequence[Node]) -> None:
        """Go through the items. Raises `yaml.YAMLError` if one contains itself, or is too big with its aliases."""
        self.bound: set[int] = set()
        """The places of items that cannot be written anew."""
        self.last: list[Node] = []
        self._owners: dict[int, int] = {}
        weights: dict[int, float] = {}
        for place, item in enumerate(items):
            self.last.append(self._claim(item, place))
            if _weight(item, weights) > MAX_NODES:
                raise yaml.YAMLError(f"item {place + 1} is too big, or contains itself")

    def _claim(self, item: Node, place: int) -> Node:
        """Note whose nodes they are, and return the one that ends last."""
        last, left = item, [item]
        end = -1
        while left:
            node = left.pop()
            if (owner := self._owners.setdefault(id(node), place)) != place:
                self.bound |= {owner, place}
                continue
            if node.tag not in _PLAIN_TAGS:
                self.bound.add(place)
            if isinstance(node, ScalarNode) or node.flow_style:
                if node.end_mark.index > end:
                    last, end = node, node.end_mark.index
            left += [child for child in _children(node) if self._owners.get(id(child)) != place]
        return last


def _weight(node: Node, weights: dict[int, float]) -> float:
    """Return how many nodes are in a node, each alias counted; infinity if it contains itself."""
    if (known := weights.get(id(node))) is not None:
        return known
    weights[id(node)] = math.inf
    weights[id(node)] = total = 1 + sum(_weight(child, weights) for child in _children(node))
    return total


def _children(node: Node) -> Iterator[Node]:
    match node:
        case MappingNode(value=pairs):
            yield from chain.from_iterable(pairs)
        case SequenceNode(value=items):
            yield from items


class _Lines:
    """The lines of a text."""

    def __init__(self, text: str) -> None:
        """Find their starts."""
        self.text = text
        self._starts = [0, *(found.end() for found in _BREAK.finditer(text))]

    def number(self, index: int) -> int:
        """Return the line of a character."""
        return bisect_right(self._starts, index) - 1

    def start(self, line: int) -> int:
        """Return where a line begins; the end of the text behind the last one."""
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def line(self, number: int) -> str:
        """Return a line with its break."""
        return self.text[self.start(number) : self.start(number + 1)]

    def is_blank(self, number: int) -> bool:
        """Return whether nothing is on a line."""
        return not self.line(number).strip()

    def is_content(self, number: int) -> bool:
        """Return whether anything but a comment is on a line."""
        line = self.line(number).strip()
        return bool(line) and not line.startswith("#")


def _spans(lines: _Lines, root: SequenceNode, last: Sequence[Node], column: int) -> Iterator[_Span]:
    dashes = [_dash(lines, node.start_mark.index, column) for node in root.value]
    stop = root.end_mark.index
    behind = lines.number(stop) + (1 if stop > lines.start(lines.number(stop)) else 0)
    above = 0  # the first line that the item may have
    for dash, node, limit in zip(dashes, last, [*dashes[1:], behind], strict=True):
        end = _end(lines, node, dash, limit)
        lead = dash
        while lead > above and not lines.is_content(lead - 1) and not lines.is_blank(lead - 1):
            lead -= 1
        while lead > above and lines.is_blank(lead - 1):
            lead -= 1
        yield _Span(lines.start(lead), lines.start(dash), lines.start(end))
        above = end


def _dash(lines: _Lines, index: int, column: int) -> int:
    """Return the line of the dash of an item whose content begins at an index."""
    number = lines.number(index)
    while number >= 0:
        line = lines.line(number)
        if not line[:column].strip() and line[column : column + 1] == "-" and not line[column + 1 : column + 2].strip():
            return number
        number -= 1
    raise yaml.YAMLError("an item without a dash")


def _end(lines: _Lines, last: Node, dash: int, limit: int) -> int:
    """Return the line behind the last one with content; what looks like a comment in a text is no comment."""
    start, stop = last.start_mark.index, last.end_mark.index
    known = max(lines.number(max(stop - 1, start)), dash) + 1
    if getattr(last, "style", None) in ("|", ">") and not _KEPT_BREAKS.search(lines.line(lines.number(start))):
        while known > dash + 1 and lines.is_blank(known - 1):
            known -= 1
    for number in range(limit - 1, known - 1, -1):
        if lines.is_content(number):  # a closing bracket, an alias
            return number + 1
    return known


def _written(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text of a list with one automation: as Home Assistant writes it, and where that changes a text, without its change."""
    try:
        yield dump([config])
        yield yaml.dump([config], default_flow_style=False, allow_unicode=True, sort_keys=False, Dumper=_Dumper)
    except (yaml.YAMLError, RecursionError, UnicodeError) as err:
        raise ToolError("automation_file_inexact", name=_named(config)) from err


def _copy(value: Any) -> Any:
    """Return plain values, of which none is there twice: those would be written as an alias. Other types stay, and are refused."""
    match value:
        case Mapping():
            return {_copy(key): _copy(item) for key, item in value.items()}
        case list() | tuple():
            return [_copy(item) for item in value]
        case str():
            return str.__str__(value)
    return value


def _indented(text: str, column: int) -> str:
    return "\n".join(f"{' ' * column}{line}" if line.strip() else line for line in text.split("\n"))


def _with_breaks(text: str, newline: str) -> str:
    return text if newline == "\n" else text.replace("\n", newline)


def _ends_line(text: str) -> bool:
    return text.endswith(("\n", "\r"))


def _line_start(text: str) -> int:
    """Return where the line begins in which a text ends."""
    return max(text.rfind("\n"), text.rfind("\r")) + 1


def _ends_with_comment(text: str) -> bool:
    """Return whether the last whole line is a comment."""
    body = text.removesuffix("\n").removesuffix("\r")
    return _ends_line(text) and body[_line_start(body) :].lstrip().startswith("#")


def _name(item: AutomationItem) -> str:
    return _named(item.config)


def _named(config: Mapping[str, Any]) -> str:
    return one_line(str(config.get("alias") or config.get("id") or "?"), 80)


def _detail(err: Exception) -> str:
    """Return what a parser says, with the line, and without the text of the file."""
    mark = getattr(err, "problem_mark", None) or getattr(err, "context_mark", None)
    said = getattr(err, "problem", None) or (str(err) if mark is None else "")
    where = f" (line {mark.line + 1})" if mark is not None else ""
    return one_line(f"{said}{where}", MAX_DETAIL)
