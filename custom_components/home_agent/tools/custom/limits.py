"""Limits on size and time of the owner's templates and patterns, which run on the event loop to their end."""

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
MAX_PART = 4 * 1024 * 1024  # characters of an intermediate value
MAX_BITS = 4096  # of an integer
MAX_STEPS = 20_000_000  # of a pattern: about a fifth of a second
MAX_PATTERN = 1000  # characters of an owner's pattern
MAX_FORMAT = 10_000
MAX_NESTED = 20  # characters for a pattern whose steps double with each character
TOO_LARGE = "The values make the tool's template compute too much."

_WIDTH = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(?:\*|\d*\.\*|\d{6}|\d*\.\d{6})|\{[^{}]*(?:\{|:[^{}]*\d{6})")
"""In a format: a width from a value, or a large one."""
_BY_NUMBER = ("batch", "center", "indent", "round", "slice")
"""Filters whose size depends on their arguments besides the value."""
_BY_TEXT = ("indent", "wordwrap", "urlize")  # filters whose size depends on their other texts
_BY_PATTERN = (
    "match", "search", "regex_match", "regex_search", "regex_replace", "regex_findall", "regex_findall_index",
)  # fmt: skip
_METHODS = frozenset({"center", "expandtabs", "ljust", "rjust", "zfill"})
"""Methods of texts whose size depends on their arguments."""
_ESCAPED_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEAT = re.compile(r"[*+][?+]?|\{\d*,\d*\}[?+]?|(?<=\))\{\d+\}")
_IN_GROUP = re.compile(r"\(([^()]*)\)([*+]|\{)?")

type Function = Callable[..., Any]


def limit(environment: SandboxedEnvironment) -> None:
    """Make the templates of an environment raise `ToolRefusal` before they create something huge or take minutes."""
    environment.intercepted_binops = frozenset({"+", "*", "**", "%"})
    environment.binop_table |= {"+": _plus, "*": _times, "**": _power, "%": _remainder}
    environment.concat = _concat  # type: ignore[method-assign]
    environment.code_generator_class = _Generator
    for names, check in ((_BY_NUMBER, _check_numbers), (("format",), _check_format), (_BY_TEXT, _check_texts)):
        for name in names:
            environment.filters[name] = _checked(environment.filters[name], check)
    environment.filters["replace"] = _checked(environment.filters["replace"], _check_replace)
    environment.filters["join"] = _joining(environment.filters["join"])
    for table in (environment.filters, cast(dict[str, Any], environment.tests)):
        for name in _BY_PATTERN:
            if name in table:
                table[name] = _checked(table[name], _check_pattern)
    call = environment.call

    def limited_call(context: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(function, (BuiltinMethodType, FunctionType)):  # Home Assistant's objects have any attribute
            method = getattr(function, "__wrapped__", function)
            if isinstance(text := getattr(method, "__self__", None), str):
                args = _checked_arguments(text, method.__name__, args, kwargs)
        return call(context, function, *args, **kwargs)

    environment.call = limited_call  # type: ignore[method-assign]  # one environment, not all of Home Assistant's


def _checked_arguments(text: str, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of a text's method. Raises `ToolRefusal` if its result would be too large."""
    if method in _METHODS:
        _check_numbers(text, *args, **kwargs)
    elif method.startswith("format"):
        _check_format(text)
    elif method == "replace":
        _check_replace(text, *args, **kwargs)
    elif method == "translate":
        values = [value for table in args if isinstance(table, Mapping) for value in table.values()]
        _check_size(len(text) * max((len(value) if isinstance(value, Sized) else 1 for value in values), default=1))
    elif method == "join":
        return tuple(_joinable(text, values) for values in args)
    return args


def _check_numbers(_value: object, *args: object, **kwargs: object) -> None:
    """Check a filter or method whose size depends on its arguments."""
    if any(isinstance(arg, (int, float)) and abs(arg) > MAX_OUTPUT for arg in (*args, *kwargs.values())):
        raise ToolRefusal(TOO_LARGE)


def _check_format(text: object, *_args: object, **_kwargs: object) -> None:
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


def _check_replace(text: object, old: object, new: object, count: int | None = -1) -> None:
    whole, wanted, instead = str(text), str(old), str(new)
    found = whole.count(wanted)
    if count is not None and count >= 0:
        found = min(found, count)
    _check_size(len(whole) + found * (len(instead) - len(wanted)))


def _check_texts(text: object, *args: object, **kwargs: object) -> None:
    """Check a filter that may add any of its texts after each character."""
    _check_size(
        len(str(text)) * max((len(arg) for arg in (*args, *kwargs.values()) if isinstance(arg, str)), default=1)
    )


def _concat(pieces: Iterable[str]) -> str:
    """Return the joined output of a template, macro or block. Raises `ToolRefusal` if it is too large."""
    size, taken = 0, []
    for piece in pieces:
        size += len(piece)
        _check_size(size)
        taken.append(piece)
    return "".join(taken)


def _joinable(separator: object, values: Iterable[object]) -> list[str]:
    """Return the texts to join. Raises `ToolRefusal` if the result would be too large."""
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
    """Return a filter or test that checks its value and arguments first."""
    beside = 1 if hasattr(function, "jinja_pass_arg") else 0  # Jinja's own argument before the value

    @wraps(function)  # with the marks that tell Jinja how to call it
    def checked(*args: Any, **kwargs: Any) -> Any:
        check(*args[beside:], **kwargs)
        return function(*args, **kwargs)

    return checked


class _Generator(CodeGenerator):
    """Compiles `~` with the limited `concat`."""

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
    """Raise `ToolRefusal` if a text is too long for a pattern."""
    if isinstance(value, str) and len(value) > (longest := longest_for(pattern)):
        raise ToolRefusal(f"A text is too long for its pattern: at most {longest} characters.")


@lru_cache(maxsize=256)
def longest_for(pattern: str) -> int:
    """Return the longest text for which trying all ways to match a pattern takes at most `MAX_STEPS`.

    Each repeat may end anywhere; a pattern that may start anywhere counts as one more. A repeated group that can match the
    same text in several ways doubles the ways with each character.
    """
    if len(pattern) > MAX_PATTERN:
        return MAX_NESTED
    plain = _ESCAPED_OR_CLASS.sub("x", pattern)
    if _is_nested(plain):
        try:
            probatio.from_json_schema({"type": "string", "pattern": pattern})
        except probatio.SchemaError:  # ambiguous
            return MAX_NESTED
    repeats = len(_REPEAT.findall(plain)) + (not plain.startswith(("^", "\\A")))
    longest = MAX_PART
    while comb(longest + repeats, repeats) > MAX_STEPS * max(1, repeats):
        longest = longest * 9 // 10
    return longest


def _is_nested(plain: str) -> bool:
    """Return whether a repeated group has a choice in it."""
    while group := _IN_GROUP.search(plain):
        inside, repeat = group.groups()
        if repeat and re.search(r"[*+?|{]", inside):
            return True
        plain = plain[: group.start()] + inside + plain[group.end(1) + 1 :]
    return False
