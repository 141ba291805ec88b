"""What is known of a value of a template before it is rendered: how long it may become, and of which kind it is.

Lengths are upper bounds; what a state or an attribute holds is taken for short.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

MOST_CHARACTERS = 1_000_000
"""Of one value."""
UNKNOWN_CHARACTERS, STATE_CHARACTERS = 500.0, 255.0
UNKNOWN_REPEATS = 10_000.0
_UNKNOWN_ITEMS, _UNKNOWN_RANGE, _LIVE_RANGE = 100.0, 100_000.0, 1_000.0
_MOST_REPEATS = 100_000.0  # of what may be a number or a list
_MOST_TEXTS = 16

TOO_LONG = "a value that grows with each step"


class GrowsTooMuch(Exception):
    """A template may take too much; the text says why."""


@dataclass(frozen=True, slots=True)
class TemplateValue:
    """What is known of a value."""

    size: float
    """Characters, of a list those of all items."""
    kind: str = ""
    """`text`, `number`, `float` or `list`; empty: any."""
    number: float | None = None
    """The largest that it may be."""
    texts: frozenset[str] | None = None
    """All texts that it may be; None if they are not known."""
    items: float = _UNKNOWN_ITEMS
    item: float = STATE_CHARACTERS
    is_live: bool = False
    """It depends on what is known only while it runs."""

    def joined(self, other: TemplateValue) -> TemplateValue:
        """Return what either may be."""
        texts = None if self.texts is None or other.texts is None else self.texts | other.texts
        return TemplateValue(
            max(self.size, other.size),
            self.kind if self.kind == other.kind else "",
            None if self.number is None or other.number is None else max(self.number, other.number),
            texts if texts is not None and len(texts) <= _MOST_TEXTS else None,
            max(self.items, other.items),
            max(self.item, other.item),
            self.is_live or other.is_live,
        )


ANY = TemplateValue(UNKNOWN_CHARACTERS, is_live=True)
NUMBER = TemplateValue(20.0, "number", is_live=True)
FLOAT = TemplateValue(24.0, "float")
FLAG = TemplateValue(5.0, "number", 1.0)


def of_constant(value: object) -> TemplateValue:
    """Return what is known of a constant."""
    match value:
        case str():
            return TemplateValue(float(len(value)), "text", None, frozenset({value}), float(len(value)), 1.0)
        case bool() | None:
            return FLAG
        case int():
            return TemplateValue(
                float(len(str(value))) if abs(value) < 10**18 else 4300.0, "number", float(min(abs(value), 10**18))
            )
        case float():
            return replace(FLOAT, number=abs(value))
    return replace(ANY, size=float(len(str(value))), is_live=False)


def of_items(found: Sequence[TemplateValue]) -> TemplateValue:
    """Return a list of items."""
    size = sum((one.size + 4 for one in found), 2.0)
    numbers = [one.number for one in found]
    number = max((one for one in numbers if one is not None), default=None) if None not in numbers else None
    longest = max((one.size for one in found), default=0.0)
    return TemplateValue(size, "list", number, None, float(len(found)), longest, any(one.is_live for one in found))


def part_of(value: TemplateValue) -> TemplateValue:
    """Return what an item of a list may be, or an attribute of anything else."""
    if value.kind == "list":
        return TemplateValue(max(value.item, 1.0), "", value.number, None, value.items, value.item, value.is_live)
    return replace(value, kind="", number=None, texts=None)


def items_of(value: TemplateValue) -> float:
    """Return how many items a list may have, or characters a text."""
    return value.size if value.kind == "text" or (value.kind != "list" and not value.is_live) else value.items


def as_text(value: TemplateValue) -> float:
    """Return how long a value is as a text; a list has signs before signs then."""
    return value.size * 4 if value.kind == "list" else value.size


def together(found: Sequence[TemplateValue]) -> TemplateValue:
    """Return texts, one behind the other."""
    texts: frozenset[str] | None = frozenset({""})
    for one in found:
        if texts is None or one.texts is None or len(texts) * len(one.texts) > _MOST_TEXTS:
            texts = None
        else:
            texts = frozenset(before + after for before in texts for after in one.texts)
    size = sum(map(as_text, found), 0.0)
    return TemplateValue(size, "text", None, texts, size, 1.0, any(one.is_live for one in found))


def sum_of(left: TemplateValue, right: TemplateValue) -> TemplateValue:
    """Return what `left + right` may be."""
    kinds = {left.kind, right.kind}
    if kinds & {"number", "float"}:
        number = None if left.number is None or right.number is None else left.number + right.number
        kind = "float" if "float" in kinds else "number"
        return TemplateValue(max(left.size, right.size) + 1, kind, number, is_live=left.is_live or right.is_live)
    if kinds == {"text"}:
        return together([left, right])
    kind = left.kind or right.kind
    found = together([left, right])
    longest = max(left.item, right.item)
    return replace(found, size=left.size + right.size, kind=kind, items=left.items + right.items, item=longest)


def product_of(left: TemplateValue, right: TemplateValue) -> TemplateValue:
    """Return what `left * right` may be. Raises `GrowsTooMuch`."""
    kinds = {left.kind, right.kind}
    is_live = left.is_live or right.is_live
    if "" in kinds and not is_live:  # made of what stands there: it may be a list or a text
        left, right = (replace(one, kind=one.kind or "list") for one in (left, right))
        kinds = {left.kind, right.kind}
    if kinds & {"text", "list"}:
        value, times = (left, right) if left.kind in ("text", "list") else (right, left)
        number = times.number
        if number is None:
            number = UNKNOWN_REPEATS if times.is_live else MOST_CHARACTERS + 1.0
        size = value.size * number
        return TemplateValue(size, value.kind, value.number, None, value.items * max(number, 1.0), value.item, is_live)
    number = None if left.number is None or right.number is None else left.number * right.number
    if "float" in kinds:
        return replace(FLOAT, number=number, is_live=is_live)
    if kinds == {"number"}:
        return TemplateValue(left.size + right.size, "number", number, is_live=is_live)
    items = left.items if left.kind == "" else right.items  # if it is a list, not a number
    for one in (left, right):
        items *= max(1.0, one.number or 1.0)
    if items > _UNKNOWN_ITEMS * _MOST_REPEATS:
        raise GrowsTooMuch(TOO_LONG)
    return TemplateValue(left.size + right.size, "", number, None, items, max(left.item, right.item), is_live)


def of_range(found: Sequence[TemplateValue]) -> TemplateValue:
    """Return the list of numbers that `range` makes of its arguments."""
    numbers = [one.number for one in found]
    is_live = any(one.is_live for one in found)
    if None in numbers or not numbers:
        largest = _LIVE_RANGE if is_live else _UNKNOWN_RANGE
    else:
        largest = min(max(one for one in numbers if one is not None), _UNKNOWN_RANGE)  # more is refused when it runs
    return TemplateValue(largest * 6 + 2, "list", largest, None, largest, 6.0, is_live)
