"""The text of automations.yaml: which part of it is which automation, and changes to one of them that keep all other bytes.

A file is a partition. An item is its text from its dash to its last line with content, with the comments directly above it and
the blank lines above those, and with those directly below it that are indented deeper than its dash. Other comments (set off by a
blank line, at the head, at the end) belong to no item and stay.
Everything here blocks: call it in the executor.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
import re
from typing import Any

import yaml  # type: ignore[import-untyped]
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode  # type: ignore[import-untyped]

from ..home.fingerprint import fingerprint
from ..support.errors import ToolError
from ..support.quoting import one_line
from .nodes import BREAK, YAML_TAG, Lines, Survey, composed, content_end, plain_value
from .written import NotPlainError, is_same, plain_copy, texts_of, with_keys

MAX_BYTES = 5_000_000
MAX_ITEMS = 5_000
MAX_TRIED = 50  # places where an item may have stood
MAX_DETAIL = 300  # characters of what a parser or the system says
_BOM = "\ufeff"
_NULL = f"{YAML_TAG}null"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationItem:
    """One automation of the file."""

    id: str | None
    """None if it has no id, or one that is not a text: Home Assistant's editor cannot find it, and it is not changed."""
    text: str
    """Its exact text up to its last newline, with the comments in it, directly above it and, indented, below it."""
    config: Mapping[str, Any]
    """Plain values; what has a tag stands as its text (`!secret x`). Empty if the item is not a mapping."""
    is_plain: bool
    """It can be written anew: no tags, and no anchor or alias shared with another item."""
    place: int
    """Its number in the file."""
    fingerprint: str
    """Of the text; blank lines around it and the kind of line breaks do not matter."""
    within: str
    """The fingerprint of the whole text of the file."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Where an item is in the text."""

    lead: int
    """Where its comments, and the blank lines above them, begin."""
    dash: int
    """Where the line of its dash begins."""
    end: int
    """Behind the newline of its last line with content."""
    tail: int
    """Behind the comments below that line which are its own."""


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
        """Return the file with one automation as it is asked for, in its place or at the end.

        Only its keys that differ are written anew, so comments at the others stay. Raises `ToolError` if that cannot be done
        exactly, or a key that differs has a tag or shares an anchor.
        """
        old = self.item(automation_id)
        if old is None and len(self.items) >= MAX_ITEMS:
            raise ToolError("automation_file_too_many", most=str(MAX_ITEMS))
        try:
            wanted = plain_copy({"id": automation_id, **{key: value for key, value in config.items() if key != "id"}})
            for body in self._bodies(old, wanted):
                if (changed := self._tried(old, body, wanted)) is not None:
                    return changed
        except NotPlainError:
            raise ToolError(
                "automation_file_not_plain", name=_name(old.config if old is not None else config)
            ) from None
        except yaml.YAMLError, RecursionError, UnicodeError:
            pass
        raise ToolError("automation_file_inexact", name=_name({"id": automation_id, "alias": config.get("alias")}))

    def _bodies(self, old: AutomationItem | None, wanted: Mapping[str, Any]) -> Iterator[str]:
        """Yield ways to write an automation, the one that keeps most first. Raises `NotPlainError`."""
        if old is not None:
            span = self._spans[old.place]
            body = with_keys(self.text, old.place, (span.dash, span.end), wanted, self._newline)
            if body is not None:
                yield body
            if not old.is_plain:
                raise NotPlainError
        yield from texts_of([wanted], self._column, self._newline)

    def _tried(self, old: AutomationItem | None, body: str, wanted: Mapping[str, Any]) -> AutomationFile | None:
        """Return the file with this text; None if it does not mean what is wanted, or another item changes."""
        try:
            changed, place = self._replaced(old, body) if old is not None else self._inserted(body, None)
        except ToolError:  # this way to write it does not even parse
            return None
        is_exact = is_same(changed.items[place].config, wanted) and self._is_kept(changed, old, place)
        return changed if is_exact else None

    def with_text(self, automation_id: str, text: str, place: int | None, within: str | None = None) -> AutomationFile:
        """Return the file with the exact text of one automation, in place of the present one or at a number.

        `within` is the fingerprint of the file it stood in: where nothing else has changed since, it is that file again. Raises
        `ToolError` if the text is not exactly this automation.
        """
        old = self.item(automation_id)
        if old is None and within is not None and place is not None:
            for whole in self._around(text, place):
                if fingerprint(whole) == within:
                    return self._read(whole)
        if self.items:
            text = _shifted(text, self._column)
        try:
            if old is None:
                changed, place = self._inserted(text, place)
            else:
                span = self._spans[old.place]
                below = self.text[span.tail :]
                changed = self._read(self.text[: span.lead] + self._ended(text, below) + below)
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
        above, below = self.text[: span.lead], self.text[span.tail :]
        is_free = old.place == 0 or span.lead > self._spans[old.place - 1].tail  # what is above belongs to no item
        if len(self.items) == 1:
            above += f"{' ' * self._column}[]{self._newline}"
        elif is_free and _ends_with_comment(above) and old.place + 1 < len(self.items) and not BREAK.match(below):
            above += self._newline  # else that comment would belong to the next one
        try:
            changed = self._read(above + below)
        except ToolError:
            raise ToolError("automation_file_not_plain", name=_name(old.config)) from None
        if not self._is_kept(changed, old, None):
            raise ToolError("automation_file_not_plain", name=_name(old.config))
        return changed

    @property
    def _newline(self) -> str:
        """The kind of line break of the file: the one of its first line."""
        found = BREAK.search(self.text)
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
        count, is_new = len(self.items), place is None
        place = count if place is None else min(max(place, 0), count)
        if place < count:
            above, below = self.text[: self._spans[place].lead], self.text[self._spans[place].lead :]
        elif count:
            above, below = self.text[: self._spans[-1].tail], self.text[self._spans[-1].tail :]
        else:
            above, below = self._around_nothing()
        if above and not _ends_line(above):
            above += self._newline
        if is_new and not count and _ends_with_comment(above):
            above += self._newline  # else that comment would belong to the item, and go with it
        return self._read(above + self._ended(piece, below) + below), place

    def _around(self, piece: str, place: int) -> Iterator[str]:
        """Yield the texts that the file may have had with one more item: comments that belong to none stay around it."""
        if place > len(self.items):
            return
        start = self._spans[place - 1].tail if place else 0
        stop = self._spans[place].dash if place < len(self.items) else len(self.text)
        breaks = islice(BREAK.finditer(self.text, start, stop), MAX_TRIED)
        for at in dict.fromkeys((start, *(found.end() for found in breaks), stop)):
            above, below = self.text[:at], self.text[at:]
            yield above + piece + below
            if (added := BREAK.match(below)) is not None:  # it may have been set there when the item was deleted
                yield above + piece + below[added.end() :]

    def _ended(self, text: str, below: str) -> str:
        """Return a text that ends its line, where more follows."""
        return text + self._newline if below and not _ends_line(text) else text

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
            old.fingerprint == new.fingerprint and is_same(old.config, new.config)
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
    survey = Survey(root.value)
    lines = Lines(text)
    column = root.start_mark.index - lines.start(lines.number(root.start_mark.index))
    spans = tuple(_spans(lines, root, survey.last, column))
    within = fingerprint(text)
    items = tuple(
        _item(node, text[span.lead : span.tail], place, within, is_plain=place not in survey.bound)
        for place, (node, span) in enumerate(zip(root.value, spans, strict=True))
    )
    return AutomationFile(text=text, has_bom=has_bom, items=items, _spans=spans, _column=column, _empty=None)


def _item(node: Node, text: str, place: int, within: str, *, is_plain: bool) -> AutomationItem:
    is_mapping = isinstance(node, MappingNode)
    has_id = is_mapping and any(
        key.value == "id" and value.tag == f"{YAML_TAG}str" for key, value in node.value if isinstance(key, ScalarNode)
    )
    config = plain_value(node) if is_mapping else {}
    written = BREAK.sub("\n", text.strip())
    return AutomationItem(
        id=config["id"] if has_id and isinstance(config.get("id"), str) else None, text=text, config=config,
        is_plain=is_plain and is_mapping, place=place, fingerprint=fingerprint(written), within=within,
    )  # fmt: skip


def _spans(lines: Lines, root: SequenceNode, last: Sequence[Node], column: int) -> Iterator[_Span]:
    dashes = [_dash(lines, node.start_mark.index, column) for node in root.value]
    stop = root.end_mark.index
    behind = lines.number(stop) + (1 if stop > lines.start(lines.number(stop)) else 0)
    above = 0  # the first line that the item may have
    for dash, node, limit in zip(dashes, last, [*dashes[1:], behind], strict=True):
        end = content_end(lines, node, dash, limit)
        lead = dash
        while lead > above and not lines.is_content(lead - 1) and not lines.is_blank(lead - 1):
            lead -= 1
        while lead > above and lines.is_blank(lead - 1):
            lead -= 1
        above = end
        while above < limit and _is_own_comment(lines.line(above), column):
            above += 1
        yield _Span(lines.start(lead), lines.start(dash), lines.start(end), lines.start(above))


def _is_own_comment(line: str, column: int) -> bool:
    """Return whether a comment below an item belongs to it: one in the column of the dashes may be of the next item."""
    comment = line.lstrip()
    return comment.startswith("#") and len(line) - len(comment) > column


def _dash(lines: Lines, index: int, column: int) -> int:
    """Return the line of the dash of an item whose content begins at an index."""
    number = lines.number(index)
    while number >= 0:
        line = lines.line(number)
        if not line[:column].strip() and line[column : column + 1] == "-" and not line[column + 1 : column + 2].strip():
            return number
        number -= 1
    raise yaml.YAMLError("an item without a dash")


def _ends_line(text: str) -> bool:
    return text.endswith(("\n", "\r"))


def _line_start(text: str) -> int:
    """Return where the line begins in which a text ends."""
    return max(text.rfind("\n"), text.rfind("\r")) + 1


def _ends_with_comment(text: str) -> bool:
    """Return whether the last whole line is a comment."""
    body = text.removesuffix("\n").removesuffix("\r")
    return _ends_line(text) and body[_line_start(body) :].lstrip().startswith("#")


def _shifted(text: str, column: int) -> str:
    """Return the text of an item with its dash in a column; an editor may have written the others otherwise meanwhile."""
    lines = text.splitlines(keepends=True)
    now = next(
        (len(line) - len(line.lstrip(" ")) for line in lines if line.strip() and line.lstrip()[0] != "#"), column
    )
    if now < column:
        return "".join(" " * (column - now) + line if line.strip() else line for line in lines)
    return re.sub(f"(?m)^ {{1,{now - column}}}", "", text) if now > column else text


def _name(config: Mapping[str, Any]) -> str:
    return one_line(str(config.get("alias") or config.get("id") or "?"), 80)


def _detail(err: Exception) -> str:
    """Return what a parser says, with the line, and without the text of the file."""
    mark = getattr(err, "problem_mark", None) or getattr(err, "context_mark", None)
    said = getattr(err, "problem", None) or (str(err) if mark is None and not isinstance(err, ValueError) else "")
    where = f" (line {mark.line + 1})" if mark is not None else ""
    return one_line(f"{said}{where}".strip() or "YAML", MAX_DETAIL)
