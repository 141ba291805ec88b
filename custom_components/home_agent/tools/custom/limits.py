"""How much the owner's templates and patterns may make, and how long, of what a model or a server says.

Everything here runs on the event loop and cannot be interrupted, a pattern least of all: what would take too long is refused
before it begins.
"""

from collections.abc import Callable, Iterable, Mapping, Sized
from functools import lru_cache, wraps
from math import comb
import operator
import re
from types import BuiltinMethodType, FunctionType
from typing import Any, cast, override

from jinja2 import nodes, pass_eval_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.filters import make_attrgetter
from jinja2.nodes import EvalContext
from jinja2.sandbox import SandboxedEnvironment
import probatio

from ...support.errors import ToolRefusal

MAX_OUTPUT = 256 * 1024  # characters; Home Assistant's own limit for a template
MAX_PART = 4 * 1024 * 1024  # characters of what a template makes on its way
MAX_BITS = 4096  # of a whole number
MAX_STEPS = 20_000_000  # of a pattern: about a fifth of a second
MAX_PATTERN = 1000  # characters; what is longer no owner wrote
MAX_FORMAT = 10_000
MAX_NESTED = 20  # characters for a pattern whose steps double with each
TOO_LARGE = "The values make the tool's template compute too much."

_WIDTH = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(?:\*|\d*\.\*|\d{6}|\d*\.\d{6})|\{[^{}]*(?:\{|:[^{}]*\d{6})")
"""In a format: a width that comes as a value, or a large one."""
_BY_NUMBER = ("batch", "center", "indent", "round", "slice")
"""Filters whose arguments, the value apart, say how much they make."""
_BY_PATTERN = (
    "match", "search", "regex_match", "regex_search", "regex_replace", "regex_findall", "regex_findall_index",
)  # fmt: skip
_METHODS = frozenset({"center", "expandtabs", "ljust", "rjust", "zfill"})
"""Methods of texts whose arguments say how much they make."""
_ESCAPED_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEAT = re.compile(r"[*+][?+]?|\{\d*,\d*\}[?+]?|(?<=\))\{\d+\}")
_IN_GROUP = re.compile(r"\(([^()]*)\)([*+]|\{)?")

type Function = Callable[..., Any]


def limit(environment: SandboxedEnvironment) -> None:
    """Have the templates of an environment raise `ToolRefusal` before they make something huge.

    A number that a model chose must neither fill the memory nor take minutes.
    """
    environment.intercepted_binops = frozenset({"+", "*", "**", "%"})
    environment.binop_table |= {"+": _plus, "*": _times, "**": _power, "%": _remainder}
    environment.concat = _concat  # type: ignore[method-assign]
    environment.code_generator_class = _Generator
    for name in (*_BY_NUMBER, "format"):
        environment.filters[name] = _limited(environment.filters[name], formats=name == "format")
    for name, check in _BY_TEXT.items():
        environment.filters[name] = _checked(environment.filters[name], check)
    environment.filters["join"] = _joining(environment.filters["join"])
    for table in (environment.filters, cast(dict[str, Any], environment.tests)):
        for name in _BY_PATTERN:
            if name in table:
                table[name] = _checked(table[name], _check_pattern)
    call = environment.call

    def limited_call(context: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(function, (BuiltinMethodType, FunctionType)):  # objects of Home Assistant's answer to any name
            method = getattr(function, "__wrapped__", function)
            if isinstance(text := getattr(method, "__self__", None), str):
                args = _checked_arguments(text, method.__name__, args, kwargs)
        return call(context, function, *args, **kwargs)

    environment.call = limited_call  # type: ignore[method-assign]  # one environment, not all of Home Assistant's


def _checked_arguments(text: str, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of a method of a text. Raises `ToolRefusal` when they make too much of it."""
    if method in _METHODS:
        _check_numbers(*args, *kwargs.values())
    elif method.startswith("format"):
        _check_format(text)
    elif method == "replace":
        _check_replace(text, *args, **kwargs)
    elif method == "translate":
        _check_size(len(text) * max((_length(value) for table in args for value in _values(table)), default=1))
    elif method == "join":
        return tuple(_joinable(text, values) for values in args)
    return args


def _limited(function: Function, *, formats: bool) -> Function:
    @wraps(function)  # with the marks that tell Jinja how to call it
    def checked(value: Any, *args: Any, **kwargs: Any) -> Any:
        if formats:
            _check_format(value)
        else:
            _check_numbers(*args, *kwargs.values())
        return function(value, *args, **kwargs)

    return checked


def _check_numbers(*values: object) -> None:
    if any(isinstance(value, (int, float)) and abs(value) > MAX_OUTPUT for value in values):
        raise ToolRefusal(TOO_LARGE)


def _check_format(text: object) -> None:
    text = str(text)
    if (len(text) > MAX_FORMAT and ("%" in text or "{" in text)) or _WIDTH.search(text):
        raise ToolRefusal(TOO_LARGE)


def _times(left: Any, right: Any) -> Any:
    for many, count in ((left, right), (right, left)):
        if isinstance(many, (str, bytes, list, tuple)) and isinstance(count, int) and len(many) * count > MAX_OUTPUT:
            raise ToolRefusal(TOO_LARGE)
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > MAX_BITS:
        raise ToolRefusal(TOO_LARGE)
    return operator.mul(left, right)


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > MAX_BITS:
        raise ToolRefusal(TOO_LARGE)
    return operator.pow(left, right)


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        _check_format(left)
    return operator.mod(left, right)


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, (str, bytes, list, tuple)) and isinstance(right, type(left)):
        _check_size(len(left) + len(right))
    return operator.add(left, right)


def _check_size(size: int) -> None:
    if size > MAX_PART:
        raise ToolRefusal(TOO_LARGE)


def _length(value: object) -> int:
    return len(value) if isinstance(value, Sized) else 1


def _values(table: object) -> Iterable[object]:
    return table.values() if isinstance(table, Mapping) else ()


def _check_replace(text: object, old: object, new: object, count: int | None = -1) -> None:
    whole, wanted, instead = str(text), str(old), str(new)
    found = whole.count(wanted)
    if count is not None and count >= 0:
        found = min(found, count)
    _check_size(len(whole) + found * (len(instead) - len(wanted)))


def _check_texts(text: object, *args: object, **kwargs: object) -> None:
    """Check a filter that may put any of its texts behind each character."""
    _check_size(
        len(str(text)) * max((len(arg) for arg in (*args, *kwargs.values()) if isinstance(arg, str)), default=1)
    )


def _concat(pieces: Iterable[str]) -> str:
    """Return what a template, a macro or a block printed, as long as there is no end of it."""
    size, taken = 0, []
    for piece in pieces:
        size += len(piece)
        _check_size(size)
        taken.append(piece)
    return "".join(taken)


def _joinable(separator: object, values: Iterable[object]) -> list[str]:
    """Return the texts that are to be joined. Raises `ToolRefusal` when they come to too much."""
    size, between, texts = 0, len(str(separator)), []
    for value in values:
        texts.append(str(value))
        size += len(texts[-1]) + between
        _check_size(size)
    return texts


def _joining(function: Function) -> Function:
    @pass_eval_context
    def joined(eval_context: EvalContext, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> Any:
        if attribute is not None:
            value = map(make_attrgetter(eval_context.environment, attribute), value)
        return function(eval_context, _joinable(d, value), d)

    return joined


def _checked(function: Function, check: Callable[..., None]) -> Function:
    """Return a filter or a test whose value and arguments are checked first."""
    beside = 1 if hasattr(function, "jinja_pass_arg") else 0  # what Jinja passes before the value

    @wraps(function)  # with the marks that tell Jinja how to call it
    def checked(*args: Any, **kwargs: Any) -> Any:
        check(*args[beside:], **kwargs)
        return function(*args, **kwargs)

    return checked


class _Generator(CodeGenerator):
    """Compiles `~` as something that ends as well."""

    @override
    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.concat(map(str, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write(")))")


def _check_pattern(value: object, find: str = "", *args: object, **kwargs: object) -> None:
    check_matched(value, str(find))
    if isinstance(replacement := kwargs.get("replace", args[0] if args else ""), str):
        _check_texts(value, replacement)


def check_matched(value: object, pattern: str) -> None:
    """Raise `ToolRefusal` when a text is too long to be compared with a pattern."""
    if isinstance(value, str) and len(value) > (longest := longest_for(pattern)):
        raise ToolRefusal(f"A text is too long for the pattern it is compared with: at most {longest} characters.")


@lru_cache(maxsize=256)
def longest_for(pattern: str) -> int:
    """Return how long a text may be for a pattern: so long that trying every way to match it ends soon.

    Each repeat may end anywhere, and where the pattern may begin anywhere, that counts as one, too. A repeated group that
    can match the same text in several ways doubles the ways with each character.
    """
    if len(pattern) > MAX_PATTERN:
        return MAX_NESTED
    plain = _ESCAPED_OR_CLASS.sub("x", pattern)
    if _is_nested(plain) and _is_ambiguous(pattern):
        return MAX_NESTED
    repeats = len(_REPEAT.findall(plain)) + (not plain.startswith(("^", "\\A")))
    longest = MAX_PART
    while comb(longest + repeats, repeats) > MAX_STEPS * max(1, repeats):
        longest = longest * 9 // 10
    return longest


def _is_nested(plain: str) -> bool:
    """Return whether a group is repeated in which there is a choice."""
    while group := _IN_GROUP.search(plain):
        inside, repeat = group.groups()
        if repeat and re.search(r"[*+?|{]", inside):
            return True
        plain = plain[: group.start()] + inside + plain[group.end(1) + 1 :]
    return False


def _is_ambiguous(pattern: str) -> bool:
    try:
        probatio.from_json_schema({"type": "string", "pattern": pattern})
    except probatio.SchemaError:
        return True
    return False


_BY_TEXT: dict[str, Callable[..., None]] = {
    "replace": _check_replace,
    "indent": _check_texts,
    "wordwrap": _check_texts,
    "urlize": _check_texts,
}
"""Filters that make more of a text the longer their other texts are."""
