"""What a template may make at most: a number that a model chose must neither fill the memory nor take minutes."""

from collections.abc import Callable
from functools import wraps
import operator
import re
from types import BuiltinMethodType, FunctionType
from typing import Any

from jinja2.sandbox import SandboxedEnvironment

from ..safety.tool import ToolRefusal

MAX_OUTPUT = 256 * 1024  # characters; Home Assistant's own limit for a template
MAX_BITS = 4096  # of a whole number
TOO_LARGE = "The values make the tool's template compute too much."

_WIDTH = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(?:\*|\d*\.\*|\d{6}|\d*\.\d{6})|\{[^{}]*(?:\{|:[^{}]*\d{6})")
"""In a format: a width that comes as a value, or a large one."""
_BY_NUMBER = ("batch", "center", "indent", "round", "slice")
"""Filters whose arguments, the value apart, say how much they make."""
_METHODS = frozenset({"center", "expandtabs", "ljust", "rjust", "zfill"})
"""The same of texts."""


def bound(environment: SandboxedEnvironment) -> None:
    """Have the templates of an environment raise `ToolRefusal` before they make something huge."""
    environment.intercepted_binops = frozenset({"*", "**", "%"})
    environment.binop_table |= {"*": _times, "**": _power, "%": _remainder}
    for name in _BY_NUMBER:
        environment.filters[name] = _bounded(environment.filters[name])
    environment.filters["format"] = _formatting(environment.filters["format"])
    call = environment.call

    def bounded_call(context: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(function, (BuiltinMethodType, FunctionType)):  # objects of Home Assistant's answer to any name
            method = getattr(function, "__wrapped__", function)
            if isinstance(text := getattr(method, "__self__", None), str):
                _check_method(text, method.__name__, *args, *kwargs.values())
        return call(context, function, *args, **kwargs)

    environment.call = bounded_call  # type: ignore[method-assign]  # one environment, not all of Home Assistant's


def _check_method(text: str, name: str, *values: object) -> None:
    if name in _METHODS:
        _check_numbers(*values)
    elif name.startswith("format"):
        _check_format(text)


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)  # with the marks that tell Jinja how to call it
    def checked(value: Any, *args: Any, **kwargs: Any) -> Any:
        _check_numbers(*args, *kwargs.values())
        return function(value, *args, **kwargs)

    return checked


def _formatting(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def checked(value: Any, *args: Any, **kwargs: Any) -> Any:
        _check_format(value)
        return function(value, *args, **kwargs)

    return checked


def _check_numbers(*values: object) -> None:
    if any(isinstance(value, (int, float)) and abs(value) > MAX_OUTPUT for value in values):
        raise ToolRefusal(TOO_LARGE)


def _check_format(text: object) -> None:
    if _WIDTH.search(str(text)):
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
