"""New text for an automation: as Home Assistant writes it, and of one that is there, only for the keys that differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homeassistant.util.yaml import dump
import yaml  # type: ignore[import-untyped]
from yaml.nodes import MappingNode, Node, ScalarNode  # type: ignore[import-untyped]

from .nodes import PLAIN_TAGS, YAML_TAG, Lines, children, composed, content_end, plain_value

_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class NotPlainError(Exception):
    """What would be written anew has a tag, or an anchor that others need."""


def plain_copy(value: Any) -> Any:
    """Return plain values, none of which is there twice: it would be written as an alias. Other types stay, and cannot be written."""
    match value:
        case Mapping():
            return {plain_copy(key): plain_copy(item) for key, item in value.items()}
        case list() | tuple():
            return [plain_copy(item) for item in value]
        case str():
            return str.__str__(value)
    return value


def is_same(one: Any, other: Any) -> bool:
    """Return whether two plain values are written alike: 1 is not true, and not 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_same, one, other, strict=True))
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124 - not a number


def texts_of(value: Mapping[str, Any] | Sequence[Any], column: int, newline: str) -> Iterator[str]:
    """Yield the text of a list or a mapping: as Home Assistant writes it, then without a change of its that a text may suffer from.

    Raises `yaml.YAMLError`, `RecursionError` or `UnicodeError` for what YAML cannot hold.
    """
    yield _placed(dump(value), column, newline)  # type: ignore[arg-type]
    text = yaml.dump(value, default_flow_style=False, allow_unicode=True, sort_keys=False, Dumper=_Dumper)
    yield _placed(text, column, newline)


def _placed(text: str, column: int, newline: str) -> str:
    lines = (f"{' ' * column}{line}" if line.strip() else line for line in text.split("\n"))
    return newline.join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A key of an item with its value, as it is written."""

    name: Any
    value: Node
    above: str
    """Blank lines and comments behind the key before."""
    text: str
    """Whole lines; of the first key, with the dash."""


def with_keys(text: str, place: int, body: tuple[int, int], wanted: Mapping[str, Any], newline: str) -> str | None:
    """Return a new body of an item, in which only the keys that differ are written anew; None if it is not written key by key.

    `body` is where the present one begins and ends. Raises `NotPlainError`, and what `texts_of` raises.
    """
    root = composed(text)
    item = root.value[place] if root is not None else None
    if not isinstance(item, MappingNode) or item.flow_style or (parts := _parts(text, item, body)) is None:
        return None
    column = _column(text, item.value[0][0])
    there = {part.name: part for part in parts}
    order = [part.name for part in parts if part.name in wanted]
    if order[:1] != [parts[0].name]:
        return None
    before = None
    for name in wanted:
        if name not in there:
            order.insert(order.index(before) + 1 if before in order else len(order), name)
        before = name
    written = []
    for name in order:
        part = there.get(name)
        if part is not None and is_same(plain_value(part.value), wanted[name]):
            written.append(part.above + part.text)
            continue
        if part is not None and _has_tag(part.value):
            raise NotPlainError
        new = _exact({name: wanted[name]}, column, newline)
        if part is parts[0]:
            new = part.text[:column] + new[column:]
        written.append((part.above if part is not None else "") + new)
    return "".join(one if one.endswith(("\n", "\r")) else one + newline for one in written)


def _parts(text: str, item: MappingNode, body: tuple[int, int]) -> list[_Part] | None:
    """Return the keys of an item; None if they do not stand on lines of their own, once each."""
    lines = Lines(text)
    starts = [lines.number(key.start_mark.index) for key, _ in item.value]
    names = [plain_value(key) for key, _ in item.value if isinstance(key, ScalarNode) and key.tag in PLAIN_TAGS]
    heads = [
        text[lines.start(line) : key.start_mark.index].strip()
        for line, (key, _) in zip(starts, item.value, strict=True)
    ]
    is_simple = len(set(starts)) == len(starts) == len(set(names)) and not any(heads[1:]) and heads[:1] in ([""], ["-"])
    if not is_simple or any(key.tag == f"{YAML_TAG}merge" for key, _ in item.value):
        return None
    parts: list[_Part] = []
    limits = [*starts[1:], lines.number(body[1] - 1) + 1]
    above = body[0]
    for name, (key, value), start, limit in zip(names, item.value, starts, limits, strict=True):
        end = lines.start(content_end(lines, _last(key, value), start, limit))
        at = lines.start(start)
        parts.append(_Part(name=name, value=value, above=text[above:at], text=text[at:end]))
        above = end
    return parts


def _last(key: Node, value: Node) -> Node:
    """Return the node of a key and its value that ends last; what an alias names stands elsewhere."""
    here = (node for node in _all_in(value) if node.start_mark.index >= key.start_mark.index)
    ends = [node for node in here if isinstance(node, ScalarNode) or node.flow_style]
    return max(ends, key=lambda node: node.end_mark.index, default=key)


def _all_in(value: Node) -> Iterator[Node]:
    """Yield a node and all in it, each once."""
    known, left = set(), [value]
    while left:
        node = left.pop()
        if id(node) not in known:
            known.add(id(node))
            yield node
            left += children(node)


def _has_tag(value: Node) -> bool:
    """Return whether anything in a value, or in what it names by an alias, is more than its text."""
    return any(node.tag not in PLAIN_TAGS for node in _all_in(value))


def _exact(value: Mapping[str, Any], column: int, newline: str) -> str:
    """Return the text of a key and its value that means exactly this."""
    text = ""
    for text in texts_of(value, column, newline):
        found = composed(text)
        if found is not None and is_same(plain_value(found), value):
            break
    return text


def _column(text: str, node: Node) -> int:
    start: int = node.start_mark.index
    return start - max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) - 1
