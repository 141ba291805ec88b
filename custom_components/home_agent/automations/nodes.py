"""YAML as nodes with their places in the text: no tag is followed, and nothing but plain values is made of them."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
import math
import re
from typing import Any

import yaml  # type: ignore[import-untyped]
from yaml.constructor import SafeConstructor  # type: ignore[import-untyped]
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode  # type: ignore[import-untyped]

MAX_NODES = 50_000  # of one item, each alias counted as often as it is used
BREAK = re.compile(r"\r\n|\n|\r")
YAML_TAG = "tag:yaml.org,2002:"
PLAIN_TAGS = frozenset(YAML_TAG + kind for kind in ("map", "seq", "str", "int", "float", "bool", "null", "merge"))
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KEPT_BREAKS = re.compile(r"[|>][0-9]?\+")
"""In the header of a block: blank lines at its end are part of the text."""


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
        tag = node.tag.replace(YAML_TAG, "!!")
        return f"{tag} {node.value}".strip() if isinstance(node, ScalarNode) else str(tag)

    def as_said(self, node: ScalarNode) -> str:
        """Return a date as it was written."""
        return str(node.value)


_Constructor.add_constructor(None, _Constructor.as_text)
_Constructor.add_constructor(f"{YAML_TAG}timestamp", _Constructor.as_said)
for _kind in ("binary", "omap", "pairs", "set"):
    _Constructor.add_constructor(YAML_TAG + _kind, _Constructor.as_text)


class Survey:
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
            if node.tag not in PLAIN_TAGS:
                self.bound.add(place)
            if isinstance(node, ScalarNode) or node.flow_style:
                if node.end_mark.index > end:
                    last, end = node, node.end_mark.index
            left += [child for child in children(node) if self._owners.get(id(child)) != place]
        return last


def _weight(node: Node, weights: dict[int, float]) -> float:
    """Return how many nodes are in a node, each alias counted; infinity if it contains itself."""
    if (known := weights.get(id(node))) is not None:
        return known
    weights[id(node)] = math.inf
    weights[id(node)] = total = 1 + sum(_weight(child, weights) for child in children(node))
    return total


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly in a node, keys too."""
    match node:
        case MappingNode(value=pairs):
            yield from chain.from_iterable(pairs)
        case SequenceNode(value=items):
            yield from items


class Lines:
    """The lines of a text."""

    def __init__(self, text: str) -> None:
        """Find their starts."""
        self.text = text
        self._starts = [0, *(found.end() for found in BREAK.finditer(text))]

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


def content_end(lines: Lines, last: Node, first: int, limit: int) -> int:
    """Return the line behind the last one with content; what looks like a comment in a text is no comment."""
    start, stop = last.start_mark.index, last.end_mark.index
    known = max(lines.number(max(stop - 1, start)), first) + 1
    if getattr(last, "style", None) in ("|", ">") and not _KEPT_BREAKS.search(lines.line(lines.number(start))):
        while known > first + 1 and lines.is_blank(known - 1):
            known -= 1
    for number in range(limit - 1, known - 1, -1):
        if lines.is_content(number):  # a closing bracket, an alias
            return number + 1
    return known
