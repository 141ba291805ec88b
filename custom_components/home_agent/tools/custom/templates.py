"""The owner's templates, rendered with a model's arguments as data.

A value is never a template. Printed values are encoded for their place (encoding.py); a template with one expression alone keeps
the value's type. Secrets win over arguments of the same name. Templates are limited in size (limits.py), and read only exposed
entities, besides those that the owner wrote into them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import wraps
import math
import re
from typing import Any, cast

from homeassistant.core import HomeAssistant, State, valid_entity_id
from homeassistant.helpers.template import Template, TemplateEnvironment
from homeassistant.helpers.template.render_info import RenderInfo, render_info_cv
from homeassistant.util.json import JsonValueType
from jinja2 import (
    ChainableUndefined,
    Template as JinjaTemplate,
    TemplateSyntaxError,
    Undefined,
    meta,
    nodes,
    pass_context,
)
from jinja2.runtime import Context

from ...home.exposure import is_exposed
from ...support.encoding import Encode, plain
from ...support.errors import CustomToolError, ToolRefusal
from ...support.masking import Secrets
from ...turn.turn import current_turn
from .limits import MAX_OUTPUT, limit

SECRETS = "secrets"
MAX_WHOLE = 2**63  # larger integers become floats
_MARKS = ("{{", "{%", "{#")


@dataclass(slots=True)
class Values:
    """Arguments of one call, and the entities that its templates read."""

    arguments: Mapping[str, object]
    entities: set[str] = field(default_factory=set)
    """Entities that arguments made a template read, without those that the owner wrote into it."""
    seen: list[State] = field(default_factory=list)  # all states that templates read


class Templates:
    """Compiles and renders templates with the owner's secrets."""

    def __init__(self, hass: HomeAssistant, secrets: Secrets) -> None:
        """Set up the environment of all templates."""
        self._hass = hass
        self._secrets = secrets
        self._environment = TemplateEnvironment(hass, limited=False, strict=False, log_fn=None)
        self._environment.undefined = ChainableUndefined  # no warnings for arguments that are left out
        self._environment.finalize = self._finalize
        self._encode: Callable[[object], object] = plain
        self._source = ""  # of the template that is being rendered
        limit(self._environment)
        guard(hass, self._environment, self._is_written)
        states = self._environment.globals["states"]
        self._environment.globals["states"] = ToldStates(hass, states, self._is_written)

    @property
    def secret_values(self) -> Collection[object]:
        """Return the owner's secrets."""
        return self._secrets.values.values()

    def compile(self, source: str, names: Collection[str], at: tuple[str | int, ...]) -> Text:
        """Return a template that may use `names`. Raises `CustomToolError` with the path `at`."""
        if not any(mark in source for mark in _MARKS):
            return Text(self, source, None, native=False)
        try:
            parsed = self._environment.parse(source)
            template = self._environment.from_string(source)
        except TemplateSyntaxError as err:
            raise CustomToolError("custom_tool_template", at, detail=err.message or "") from None
        known = {*names, *self._secrets.values, SECRETS}
        unknown = meta.find_undeclared_variables(parsed) - self._environment.globals.keys()
        taken: list[nodes.Getattr | nodes.Getitem] = [*parsed.find_all(nodes.Getattr), *parsed.find_all(nodes.Getitem)]
        for node in taken:
            if isinstance(node.node, nodes.Name) and node.node.name == SECRETS:
                key = node.arg if isinstance(node, nodes.Getitem) else None
                name = (
                    node.attr if isinstance(node, nodes.Getattr) else key.value if isinstance(key, nodes.Const) else ""
                )
                if name and str(name) not in self._secrets.values:
                    unknown.add(f"{SECRETS}.{name}")
        if unknown - known:
            raise CustomToolError("custom_tool_unknown_name", at, name=min(unknown - known))
        return Text(self, source, template, native=_is_one_expression(parsed))

    def render(self, text: Text, values: Values, encode: Callable[[object], object]) -> str:
        """Return a template's output. Raises `ToolRefusal`, with secrets masked."""
        assert text.template is not None
        variables = {**values.arguments, **self._secrets.values, SECRETS: self._secrets.values}
        before, self._encode, self._source = self._encode, encode, text.source
        try:
            with self._watched(text, values):
                rendered = text.template.render(variables)
        except ToolRefusal:
            raise
        except Exception as err:  # noqa: BLE001 - the owner's template, and functions in it, can raise any error
            raise ToolRefusal(self._secrets.mask.text(f"The tool's template failed: {err}")) from None
        finally:
            self._encode = before
        if len(rendered) > MAX_OUTPUT:
            raise ToolRefusal("The output of the tool's template is too long.")
        return rendered.strip()

    def _is_written(self, text: str) -> bool:
        return _names(self._source, text)

    @pass_context  # without it Jinja would encode constants at compile time, for the last place
    def _finalize(self, _context: Context, value: object) -> object:
        return self._encode(None if isinstance(value, Undefined) else value)

    @contextmanager
    def _watched(self, text: Text, values: Values) -> Iterator[None]:
        """Keep the entities that a template reads. Raises `ToolRefusal` for some that the owner did not write into it."""
        info = RenderInfo(Template(text.source, self._hass))
        token = render_info_cv.set(info)
        try:
            yield
        finally:
            info.collecting = False
            render_info_cv.reset(token)
            states = self._hass.states
            seen = (
                states.async_all(None if info.all_states else info.domains) if info.all_states or info.domains else []
            )
            seen += [state for entity_id in info.entities if (state := states.get(entity_id)) is not None]
            values.seen += seen
            if led_to := {domain for domain in info.domains if not _names(text.source, domain)}:
                raise ToolRefusal(f"The tool's template may not list all of {', '.join(sorted(led_to))}.")
            led_to = {entity_id for entity_id in info.entities if not _names(text.source, entity_id)}
            said = str(values.arguments).casefold()  # a refusal must not name other entities than the arguments do
            unnamed = {
                entity_id for entity_id in led_to if entity_id not in said and not is_exposed(self._hass, entity_id)
            }
            values.entities |= led_to - unnamed
            if unnamed:
                raise ToolRefusal("The tool's template reads an entity that is not available.")


@dataclass(frozen=True, slots=True)
class Text:
    """One template of a tool, or plain text."""

    templates: Templates
    source: str
    template: JinjaTemplate | None  # the compiled template; None for plain text
    native: bool  # it is a single expression

    def text(self, values: Values, encode: Encode = plain) -> str:
        """Return the output as text."""
        return self.templates.render(self, values, encode) if self.template else self.source

    def value(self, values: Values) -> JsonValueType:
        """Return the output as JSON; a single expression keeps its type, None if it is undefined."""
        if not self.template or not self.native:
            return self.text(values)
        printed: list[object] = []

        def keep(value: object) -> str:
            printed.append(value)
            return ""

        self.templates.render(self, values, keep)
        return as_json(printed[-1])


type Tree = Text | dict[str, Tree] | list[Tree] | int | float | bool | None
"""A value with templates at any depth."""


def compile_tree(templates: Templates, value: object, names: Collection[str], at: tuple[str | int, ...]) -> Tree:
    """Compile all texts in a value, but no keys. Raises `CustomToolError`."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return templates.compile(value, names, at)
        case Mapping():
            for key in value:
                if any(mark in str(key) for mark in _MARKS):
                    raise CustomToolError("custom_tool_template_key", (*at, key), name=str(key))
            return {str(key): compile_tree(templates, item, names, (*at, key)) for key, item in value.items()}
        case list():
            return [compile_tree(templates, item, names, (*at, index)) for index, item in enumerate(value)]
    raise CustomToolError("custom_tool_value", at, detail=type(value).__name__)


def render_tree(tree: Tree, values: Values) -> JsonValueType:
    """Return a value with its templates rendered; keys with undefined values are left out."""
    match tree:
        case Text():
            return tree.value(values)
        case dict():
            rendered = {key: (item, render_tree(item, values)) for key, item in tree.items()}
            return {key: value for key, (item, value) in rendered.items() if value is not None or item is None}
        case list():
            return [render_tree(item, values) for item in tree]
    return tree


def as_json(value: object, depth: int = 20) -> JsonValueType:
    """Return a template's value as JSON. Raises `ToolRefusal` if it is nested too deeply."""
    if not depth:
        raise ToolRefusal("A value of the tool's template is nested too deeply.")
    match value:
        case Undefined():
            return None
        case None | bool():
            return value
        case str():
            return str(value)  # a plain one, without a subclass
        case int() | float():
            if isinstance(value, int) and abs(value) < MAX_WHOLE:
                return int(value)
            try:
                return float(value) if math.isfinite(value) else None
            except OverflowError:
                return None
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return {str(key): as_json(item, depth - 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [as_json(item, depth - 1) for item in value]
    return str(value)


def _is_one_expression(parsed: nodes.Template) -> bool:
    printed = [
        child
        for output in parsed.body
        for child in (output.nodes if isinstance(output, nodes.Output) else [output])
        if not (isinstance(child, nodes.TemplateData) and not child.data.strip())
    ]
    return len(printed) == 1 and isinstance(printed[0], nodes.Expr) and not isinstance(printed[0], nodes.TemplateData)


def _names(source: str, name: str) -> bool:
    """Return whether the owner wrote an entity or a domain into a template."""
    return re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", source) is not None


# Guarded functions of templates.

_ABOUT_ONE = (
    "area_id", "area_name", "config_entry_id", "device_attr", "device_id", "device_name", "entity_name", "floor_id",
    "floor_name", "is_device_attr", "is_hidden_entity", "labels",
)  # fmt: skip
_LISTING = ("area_entities", "device_entities", "floor_entities", "integration_entities", "label_entities")
"""Functions that read registries, which hold entities that are not exposed, too."""

type TemplateFunction = Callable[..., Any]
type IsWritten = Callable[[str], bool]
"""Returns whether the owner wrote a text into the template that is being rendered."""


class ToldStates:
    """The `states` of templates: iteration yields only exposed entities, and those that the owner wrote into the template."""

    def __init__(self, hass: HomeAssistant, states: Any, is_written: IsWritten) -> None:
        """Wrap Home Assistant's own object."""
        self._hass = hass
        self._states = states
        self._is_written = is_written

    def __iter__(self) -> Iterator[Any]:
        """Yield the visible states."""
        turn = current_turn.get(None)
        user = turn.user if turn is not None else None
        for state in self._states:
            if is_exposed(self._hass, state.entity_id, user) or self._is_written(state.entity_id):
                yield state

    def __len__(self) -> int:
        """Return the number of visible states."""
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Any:
        """Return a state or the states of a domain."""
        return self._states[name]

    __getattr__ = __getitem__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value of a state."""
        return self._states(*args, **kwargs)


def guard(hass: HomeAssistant, environment: TemplateEnvironment, is_written: IsWritten) -> None:
    """Guard functions that read registries: entities in arguments count as read, lists have exposed ones only."""

    def noting(function: TemplateFunction) -> TemplateFunction:
        @wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            info = render_info_cv.get()
            if info is not None:  # as the function for states does
                ids = (text.strip().casefold() for text in _texts(args, kwargs))
                cast(set[str], info.entities).update(entity_id for entity_id in ids if valid_entity_id(entity_id))
            return function(*args, **kwargs)

        return noted

    def listing(function: TemplateFunction) -> TemplateFunction:
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
