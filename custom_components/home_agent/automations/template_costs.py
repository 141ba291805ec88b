"""Whether a template takes an amount of time and memory that is known before: one that does not could stop Home Assistant.

Home Assistant's own sandbox bounds a single range, and looks at the length of a result only once it is there.
"""

from collections.abc import Iterator, Mapping
import re

from homeassistant.helpers.template import Template
from jinja2 import Environment, TemplateError, nodes

from ..support.errors import ToolRefusal
from ..support.quoting import one_line
from .template_growth import MOST_PARTS, MOST_WORK, TOO_DEEP, TOO_MANY, has_loops, parts_of, work_of
from .template_values import GrowsTooMuch

MOST_REPEATED = 100_000_000
"""What the factors of all multiplications come to together: a text is repeated by them."""
MOST_STEPS = 1_000_000  # of loops in loops
MAX_TEMPLATE = 20_000  # characters
_QUICK = 5_000  # steps
_SMALL = 32  # factors below are units of time and the like
_WIDEST = 10_000  # characters that a value is filled up to
_DEEPEST = 2  # loops in loops
_LARGEST_POWER = 1_000_000
_WIDTH = re.compile(r"%[-+ #0]*\d{5,}|\{[^{}]*\d{5,}[^{}]*\}")
_WIDE = frozenset(
    {"center", "indent", "ljust", "rjust", "wordwrap", "zfill", "truncate", "batch", "slice", "expandtabs", "to_bytes"}
)
TOO_MUCH = "it may take more time and memory than Home Assistant has"


def cost_fault(tree: nodes.Template) -> str:
    """Return why a template may take too much, for a model; "" if it does not."""
    return _cost_of(tree)[0]


def _cost_of(tree: nodes.Template) -> tuple[str, float, float]:
    """Return why a template may take too much, "" if it does not, how many steps it takes, and how many parts it has."""
    try:
        work, parts = work_of(tree), parts_of(tree)
    except GrowsTooMuch as err:
        return f"{TOO_MUCH}: {err}", 0.0, 0.0
    fault = _fault_of_numbers(tree)
    return f"{TOO_MUCH}: {fault}" if fault else "", work, parts


def _fault_of_numbers(tree: nodes.Template) -> str:
    """Return why numbers that stand in a template may take too much; "" if they do not."""
    if any(loop.recursive for loop in tree.find_all(nodes.For)):
        return "a loop that calls itself"
    if any(_power(node) is None or abs(_power(node) or 0) > _LARGEST_POWER for node in tree.find_all(nodes.Pow)):
        return "a power"
    if _repeated(tree) > MOST_REPEATED or _repeats_by_name(tree):
        return "a multiplication by a large number"
    if any(steps > MOST_STEPS or depth > _DEEPEST for steps, depth in _loops(tree, 1, 0)):
        return "loops in loops"
    if any(_is_wide(node) for node in (*tree.find_all(nodes.Filter), *tree.find_all(nodes.Call))):
        return "a value that is filled up with characters"
    texts = (str(node.value) for node in tree.find_all(nodes.Const) if isinstance(node.value, str))
    if any(map(_WIDTH.search, texts)):
        return "a value that is filled up with characters"
    return ""


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
    """Raise `ToolRefusal` for a written configuration with a template that may take too much. For a worker thread.

    To be called before Home Assistant sees it: compiling a template works out what is constant in it.
    """
    waiting: list[object] = [value]
    work = parts = 0.0
    while waiting:
        match waiting.pop():
            case str() as text if "{" in text:
                steps, length = _checked(text)
                work, parts = work + steps, parts + length
                if work > MOST_WORK or parts > MOST_PARTS:
                    raise ToolRefusal(f"The templates are not taken together: {TOO_MUCH}: {TOO_MANY}.")
            case Mapping() as items:
                waiting += [*items, *items.values()]
            case list() | tuple() as items:
                waiting += items


def _checked(text: str) -> tuple[float, float]:
    """Return how many steps a template takes and how many parts it has; of one that is none, nothing. Raises `ToolRefusal`."""
    if len(text) > MAX_TEMPLATE:
        raise ToolRefusal(f"The template {one_line(text, 80)} is too long: at most {MAX_TEMPLATE} characters.")
    try:
        fault, work, parts = _cost_of(_PARSER.parse(text))
    except RecursionError:
        fault, work, parts = f"{TOO_MUCH}: {TOO_DEEP}", 0.0, 0.0
    except TemplateError:  # Home Assistant says what is wrong with its syntax
        return 0.0, 0.0
    if fault:
        raise ToolRefusal(f"The template {one_line(text, 80)} is not taken: {fault}.")
    return work, parts


def is_quick(value: object) -> bool:
    """Return whether all templates of a written condition together take no time that anybody would notice."""
    work = 0.0
    waiting: list[object] = [value]
    while waiting:
        match waiting.pop():
            case Template() as template:
                waiting.append(template.template)
            case str() as text if "{" in text:
                try:
                    tree = _PARSER.parse(text)
                    work += work_of(tree)
                except TemplateError, RecursionError, GrowsTooMuch:
                    return False
                if work > _QUICK or has_loops(tree):
                    return False
            case Mapping() as items:
                waiting += items.values()
            case list() | tuple() as items:
                waiting += items
    return True
