"""Functions of templates that look into registries, which know what is not exposed as well.

What the owner wrote is the owner's. Where an argument leads such a function, entities that it is about count as looked at,
and of those that it lists only the exposed ones are there.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, cast

from homeassistant.core import HomeAssistant, valid_entity_id
from homeassistant.helpers.template import TemplateEnvironment
from homeassistant.helpers.template.render_info import render_info_cv

from ..safety.permission import is_exposed

_ABOUT_ONE = (
    "area_id", "area_name", "config_entry_id", "device_attr", "device_id", "device_name", "entity_name", "floor_id",
    "floor_name", "is_device_attr", "is_hidden_entity", "labels",
)  # fmt: skip
_LISTING = ("area_entities", "device_entities", "floor_entities", "integration_entities", "label_entities")

type Function = Callable[..., Any]
type IsWritten = Callable[[str], bool]
"""Whether the owner wrote a text into the template that is rendered now."""


def guard(hass: HomeAssistant, environment: TemplateEnvironment, is_written: IsWritten) -> None:
    """Put a guard around those functions, wherever a template can call them."""

    def listing(function: Function) -> Function:
        @wraps(function)  # with the marks that tell Jinja how to call it
        def listed(*args: Any, **kwargs: Any) -> Any:
            found: Iterable[str] = function(*args, **kwargs)
            if all(is_written(text) for text in _texts(args, kwargs)):
                return found
            return [entity_id for entity_id in found if is_exposed(hass, entity_id)]

        return listed

    for table in (environment.globals, environment.filters, environment.tests):
        for names, guarded in ((_ABOUT_ONE, _noting), (_LISTING, listing)):
            for name in names:
                if callable(function := table.get(name)):
                    table[name] = guarded(function)


def _noting(function: Function) -> Function:
    """Return a function that notes the entities that it is asked about, as the one for states does."""

    @wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        info = render_info_cv.get()
        if info is not None:
            ids = (text.strip().casefold() for text in _texts(args, kwargs))
            cast(set[str], info.entities).update(entity_id for entity_id in ids if valid_entity_id(entity_id))
        return function(*args, **kwargs)

    return noted


def _texts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    return [item for item in (*args, *kwargs.values()) if isinstance(item, str)]
