"""What the owner's templates may do with a model's arguments: make nothing huge, and learn of nothing that is not exposed."""

from collections.abc import Callable, Iterable
from functools import wraps
import operator
import re
from types import BuiltinMethodType, FunctionType
from typing import Any, cast

from homeassistant.core import HomeAssistant, valid_entity_id
from homeassistant.helpers.template import TemplateEnvironment
from homeassistant.helpers.template.render_info import render_info_cv
from jinja2.sandbox import SandboxedEnvironment

from ...home.exposure import is_exposed
from ...support.errors import ToolRefusal

MAX_OUTPUT = 256 * 1024  # characters; Home Assistant's own limit for a template
MAX_BITS = 4096  # of a whole number
TOO_LARGE = "The values make the tool's template compute too much."

_WIDTH = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(?:\*|\d*\.\*|\d{6}|\d*\.\d{6})|\{[^{}]*(?:\{|:[^{}]*\d{6})")
"""In a format: a width that comes as a value, or a large one."""
_BY_NUMBER = ("batch", "center", "indent", "round", "slice")
"""Filters whose arguments, the value apart, say how much they make."""
_METHODS = frozenset({"center", "expandtabs", "ljust", "rjust", "zfill"})
"""The same of texts."""
_ABOUT_ONE = (
    "area_id", "area_name", "config_entry_id", "device_attr", "device_id", "device_name", "entity_name", "floor_id",
    "floor_name", "is_device_attr", "is_hidden_entity", "labels",
)  # fmt: skip
_LISTING = ("area_entities", "device_entities", "floor_entities", "integration_entities", "label_entities")
"""Functions that look into registries, which know what is not exposed as well."""

type Function = Callable[..., Any]
type IsWritten = Callable[[str], bool]
"""Whether the owner wrote a text into the template that is rendered now."""


def limit(environment: SandboxedEnvironment) -> None:
    """Have the templates of an environment raise `ToolRefusal` before they make something huge.

    A number that a model chose must neither fill the memory nor take minutes.
    """
    environment.intercepted_binops = frozenset({"*", "**", "%"})
    environment.binop_table |= {"*": _times, "**": _power, "%": _remainder}
    for name in (*_BY_NUMBER, "format"):
        environment.filters[name] = _limited(environment.filters[name], formats=name == "format")
    call = environment.call

    def limited_call(context: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(function, (BuiltinMethodType, FunctionType)):  # objects of Home Assistant's answer to any name
            method = getattr(function, "__wrapped__", function)
            if isinstance(text := getattr(method, "__self__", None), str):
                if method.__name__ in _METHODS:
                    _check_numbers(*args, *kwargs.values())
                elif method.__name__.startswith("format"):
                    _check_format(text)
        return call(context, function, *args, **kwargs)

    environment.call = limited_call  # type: ignore[method-assign]  # one environment, not all of Home Assistant's


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


def guard(hass: HomeAssistant, environment: TemplateEnvironment, is_written: IsWritten) -> None:
    """Guard the functions that look into registries, wherever a template can call them.

    What the owner wrote is the owner's. Where an argument leads such a function, entities that it is about count as looked
    at, and of those that it lists only the exposed ones are there.
    """

    def noting(function: Function) -> Function:
        @wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            info = render_info_cv.get()
            if info is not None:  # as the function for states does
                ids = (text.strip().casefold() for text in _texts(args, kwargs))
                cast(set[str], info.entities).update(entity_id for entity_id in ids if valid_entity_id(entity_id))
            return function(*args, **kwargs)

        return noted

    def listing(function: Function) -> Function:
        @wraps(function)
        def listed(*args: Any, **kwargs: Any) -> Any:
            found: Iterable[str] = function(*args, **kwargs)
            if all(is_written(text) for text in _texts(args, kwargs)):
                return found
            return [entity_id for entity_id in found if is_exposed(hass, entity_id)]

        return listed

    for table in (environment.globals, environment.filters, environment.tests):
        for names, guarded in ((_ABOUT_ONE, noting), (_LISTING, listing)):
            for name in names:
                if callable(function := table.get(name)):
                    table[name] = guarded(function)


def _texts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    return [item for item in (*args, *kwargs.values()) if isinstance(item, str)]
