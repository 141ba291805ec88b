"""Templates rendered on what may be known: hidden entities do not exist for them, and what looks into registries is not rendered."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, TemplateError
from homeassistant.helpers.script_variables import ScriptVariables
from homeassistant.helpers.template import Template
from jinja2 import TemplateError as JinjaError, meta, nodes

from ..support.encoding import plain_text
from .past import PastHome
from .template_costs import cost_fault

MAX_SECONDS = 2
MAX_RESULT = 4_000  # characters
_LOOKS_UP = (
    "area",
    "config_entry",
    "device",
    "entity",
    "floor",
    "integration",
    "is_hidden",
    "issue",
    "label",
    "translated",
)
"""In the name of a function that tells what registries have: also of what may not be known."""


class NotRendered(HomeAssistantError):
    """A template was not rendered; the text says why, for a model."""


class Rendering:
    """Renders templates of one configuration."""

    def __init__(self, hass: HomeAssistant, home: PastHome) -> None:
        """Take the home whose states templates may read."""
        self._hass = hass
        self._home = home
        self.unknown: dict[str, str] = {}
        """Variables whose values are not known, each with the reason."""

    async def async_value(self, value: Any, variables: Mapping[str, Any]) -> Any:
        """Return a value with its templates rendered. Raises `NotRendered`."""
        match value:
            case Template():
                return await self._async_render(value, variables)
            case ScriptVariables():
                return await self.async_variables(value, variables)
            case Mapping():
                return {key: await self.async_value(item, variables) for key, item in value.items()}
            case list() | tuple():
                return [await self.async_value(item, variables) for item in value]
        return value

    async def async_variables(self, value: ScriptVariables, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return variables, each rendered with those before it; one that cannot be rendered is unknown from then on."""
        found: dict[str, Any] = {}
        for name, item in value.variables.items():
            try:
                found[name] = await self.async_value(item, {**variables, **found})
                self.unknown.pop(name, None)
            except NotRendered as err:
                self.unknown[name] = str(err)
        return found

    def _check(self, template: Template) -> None:
        try:
            tree = self._home.environment.parse(template.template)
            variables = meta.find_undeclared_variables(tree)
        except JinjaError as err:
            raise NotRendered(f"it is no template: {plain_text(str(err))[:200]}") from err
        if fault := cost_fault(tree):
            raise NotRendered(fault)
        if next(tree.find_all((nodes.Import, nodes.FromImport, nodes.Include, nodes.Extends)), None) is not None:
            raise NotRendered("it reads another file of templates, which is not rendered here")
        if reason := next((self.unknown[name] for name in variables if name in self.unknown), None):
            raise NotRendered(reason)
        called = {node.name for node in tree.find_all((nodes.Filter, nodes.Test))}
        texts = {
            str(node.value) for node in tree.find_all(nodes.Const) if isinstance(node.value, str)
        }  # of map and select
        named = {node.name for node in tree.find_all(nodes.Name)}
        functions = (named | called | texts) & self._functions()
        if found := next((name for name in sorted(functions) if any(part in name for part in _LOOKS_UP)), None):
            raise NotRendered(f"it uses {found}, which looks up registries and is not rendered here")

    def _functions(self) -> set[str]:
        environment = self._home.environment
        return {*environment.globals, *environment.filters, *environment.tests}

    async def async_check_time(self, value: Any, variables: Mapping[str, Any]) -> None:
        """Raise `NotRendered` for a configuration with a template that may not be rendered, or that takes too long."""
        for template in templates_in(value):
            self._check(template)
            if await self._home.template(template.template).async_render_will_timeout(
                MAX_SECONDS, dict(variables), log_fn=_say_nothing
            ):
                raise NotRendered(f"it takes longer than {MAX_SECONDS} s")

    async def _async_render(self, template: Template, variables: Mapping[str, Any]) -> Any:
        bound = self._home.template(template.template)
        try:
            await self.async_check_time(template, variables)
            found = await self._hass.async_add_executor_job(partial(bound.async_render, dict(variables)))
        except TemplateError as err:
            raise NotRendered(f"it fails: {plain_text(str(err))[:200]}") from err
        if len(str(found)) > MAX_RESULT:
            raise NotRendered(f"its result is longer than {MAX_RESULT} characters")
        return found


def _say_nothing(_level: int, _message: str) -> None:
    """Keep what a trial of a template would log to itself."""


def templates_in(value: Any) -> Iterator[Template]:
    """Yield the templates of a configuration."""
    match value:
        case Template():
            yield value
        case ScriptVariables():
            yield from templates_in(value.variables)
        case Mapping():
            for item in value.values():
                yield from templates_in(item)
        case list() | tuple():
            for item in value:
                yield from templates_in(item)
