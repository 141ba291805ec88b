"""Whether a template takes an amount of time and memory that is known before: one that does not could stop Home Assistant.

Home Assistant's own sandbox bounds a single range, and looks at the length of a result only once it is there.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
import re

from jinja2 import Environment, TemplateError, nodes

from ..support.errors import ToolRefusal
from ..support.quoting import one_line

MOST_REPEATED = 100_000_000
"""What the factors of all multiplications come to together: a text is repeated by them."""
MOST_STEPS = 1_000_000  # of loops in loops
_SMALL = 32  # factors below are units of time and the like
_WIDEST = 10_000  # characters that a value is filled up to
_DEEPEST = 2  # loops in loops
_LARGEST_POWER = 1_000_000
_WIDTH = re.compile(r"%[-+ #0]*\d{5,}|\{[^{}]*\d{5,}[^{}]*\}")
_WIDE = frozenset({"center", "indent", "ljust", "rjust", "wordwrap", "zfill", "truncate", "batch", "slice"})
TOO_MUCH = "it may take more time and memory than Home Assistant has"


def cost_fault(tree: nodes.Template) -> str:
    """Return why a template may take too much, for a model; "" if it does not."""
    if any(loop.recursive for loop in tree.find_all(nodes.For)):
        return f"{TOO_MUCH}: a loop that calls itself"
    if any(_power(node) is None or abs(_power(node) or 0) > _LARGEST_POWER for node in tree.find_all(nodes.Pow)):
        return f"{TOO_MUCH}: a power"
    if _repeated(tree) > MOST_REPEATED or _repeats_by_name(tree):
        return f"{TOO_MUCH}: a multiplication by a large number"
    if any(steps > MOST_STEPS or depth > _DEEPEST for steps, depth in _loops(tree, 1, 0)):
        return f"{TOO_MUCH}: loops in loops"
    if any(_is_wide(node) for node in (*tree.find_all(nodes.Filter), *tree.find_all(nodes.Call))):
        return f"{TOO_MUCH}: a value that is filled up with characters"
    texts = (str(node.value) for node in tree.find_all(nodes.Const) if isinstance(node.value, str))
    return f"{TOO_MUCH}: a value that is filled up with characters" if any(map(_WIDTH.search, texts)) else ""


def _number(node: nodes.Node | None) -> float | None:
    """Return the number that stands in a template; None for anything else, and for what is worked out from what is not known."""
    match node:
        case nodes.Const() if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return float(node.value)
        case nodes.Neg():
            found = _number(node.node)
            return None if found is None else -found
        case nodes.Pow():
            return _power(node)
        case nodes.Mul():
            left, right = _number(node.left), _number(node.right)
            return None if left is None or right is None else left * right
    return None


def _power(node: nodes.Pow) -> float | None:
    base, exponent = _number(node.left), _number(node.right)
    if exponent is None or abs(exponent) > _SMALL:
        return None
    if base is None:
        return 1.0 if abs(exponent) <= 4 else None
    try:
        return float(abs(base) ** exponent)
    except OverflowError, ZeroDivisionError:
        return None


def _repeated(tree: nodes.Template) -> float:
    """Return the product of all factors of multiplications that are numbers."""
    product = 1.0
    for node in tree.find_all(nodes.Mul):
        for side in (node.left, node.right):
            if not isinstance(side, nodes.Mul) and (number := _number(side)) is not None and abs(number) >= _SMALL:
                product *= abs(number)
    return product


def _repeats_by_name(tree: nodes.Template) -> bool:
    """Return whether a text or a list may be repeated by a large number that has a name."""
    by_name = any(_number(node.left) is None and _number(node.right) is None for node in tree.find_all(nodes.Mul))
    repeats = any(
        isinstance(side, (nodes.Const, nodes.List, nodes.Concat))
        for node in tree.find_all(nodes.Mul)
        for side in (node.left, node.right)
        if _number(side) is None
    )
    largest = max(
        (abs(found) for node in tree.find_all(nodes.Const) if (found := _number(node)) is not None), default=0
    )
    return by_name and (repeats or largest > MOST_STEPS)


def _loops(node: nodes.Node, steps: float, depth: int) -> Iterator[tuple[float, int]]:
    """Yield for each loop how many steps it takes with those around it, by what its ranges say, and how deep it is."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.For):
            own = steps * _length(child.iter)
            yield own, depth + 1
            yield from _loops(child, own, depth + 1)
        else:
            yield from _loops(child, steps, depth)


def _length(node: nodes.Node) -> float:
    """Return how many items a range has; of anything else, what a home may have."""
    for call in (node, *node.find_all(nodes.Call)) if isinstance(node, nodes.Call) else node.find_all(nodes.Call):
        if isinstance(call, nodes.Call) and isinstance(call.node, nodes.Name) and call.node.name == "range":
            numbers = [_number(one) for one in call.args]
            return (
                max((abs(one) for one in numbers if one is not None), default=100_000.0)
                if None not in numbers
                else 100_000.0
            )
    return 100.0


def _is_wide(node: nodes.Expr) -> bool:
    if not isinstance(node, (nodes.Filter, nodes.Call)):
        return False
    name = node.name if isinstance(node, nodes.Filter) else getattr(node.node, "attr", "")
    if name not in _WIDE:
        return False
    given = [*node.args, *(one.value for one in node.kwargs)]
    return any((found := _number(one)) is not None and abs(found) > _WIDEST for one in given)


_PARSER = Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"], autoescape=False, optimized=False)  # noqa: S701 - nothing is rendered


def check_costs(value: object) -> None:
    """Raise `ToolRefusal` for a written configuration with a template that may take too much.

    To be called before Home Assistant sees it: compiling a template works out what is constant in it.
    """
    waiting: list[object] = [value]
    while waiting:
        match waiting.pop():
            case str() as text if "{" in text:
                with suppress(TemplateError, RecursionError):  # Home Assistant says what is wrong with its syntax
                    if fault := cost_fault(_PARSER.parse(text)):
                        raise ToolRefusal(f"The template {one_line(text, 80)} is not taken: {fault}.")
            case Mapping() as items:
                waiting += [*items, *items.values()]
            case list() | tuple() as items:
                waiting += items
