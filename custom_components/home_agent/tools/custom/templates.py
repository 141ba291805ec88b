"""The owner's templates, rendered with a model's arguments as data.

A value is never a template. What a template prints is encoded for its place (encoding.py); where it is nothing but one
expression and stands alone, the value keeps its type. Secrets win over arguments of the same name.
A template makes nothing huge of the arguments, and learns of nothing that is not exposed.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import wraps
import math
import re
from typing import Any, cast

from homeassistant.core import HomeAssistant, valid_entity_id
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
from ...home.states import may_be_of_others
from ...support.encoding import Encode, plain
from ...support.errors import CustomToolError, ToolRefusal
from ...support.masking import Secrets
from ...turn.turn import current_turn
from .limits import MAX_OUTPUT, limit

SECRETS = "secrets"
MAX_WHOLE = 2**63  # beyond it no whole number is sent; it becomes one of about this size
_MARKS = ("{{", "{%", "{#")


@dataclass(slots=True)
class Values:
    """What one call renders its templates with, and what the templates looked at."""

    arguments: Mapping[str, object]
    entities: set[str] = field(default_factory=set)
    """Entities that a template was led to; those that the owner wrote into it are not among them."""
    of_others: bool = False
    """A template looked at an entity of which people outside the home may have written something."""


class Templates:
    """Compiles and renders templates, which know the owner's secrets."""

    def __init__(self, hass: HomeAssistant, secrets: Secrets) -> None:
        """Take what every template knows."""
        self._hass = hass
        self._secrets = secrets
        self._environment = TemplateEnvironment(hass, limited=False, strict=False, log_fn=None)
        self._environment.undefined = ChainableUndefined  # an argument that was left out is no reason for a warning
        self._environment.finalize = self._finalize
        self._encode: Callable[[object], object] = plain
        self._source = ""
        """Of the template that is rendered now."""
        limit(self._environment)
        guard(hass, self._environment, self._is_written)
        states = self._environment.globals["states"]
        self._environment.globals["states"] = ToldStates(hass, states, self._is_written)

    @property
    def secret_values(self) -> Collection[object]:
        """The owner's secrets as they are printed."""
        return self._secrets.values.values()

    def compile(self, source: str, names: Collection[str], at: tuple[str | int, ...]) -> Text:
        """Return a template that may use `names`. Raises `CustomToolError`, whose path is `at`."""
        if not any(mark in source for mark in _MARKS):
            return Text(self, source, None, native=False)
        try:
            parsed = self._environment.parse(source)
            template = self._environment.from_string(source)
        except TemplateSyntaxError as err:
            raise CustomToolError("custom_tool_template", at, detail=err.message or "") from None
        known = {*names, *self._secrets.values, SECRETS}
        unknown = (meta.find_undeclared_variables(parsed) - self._environment.globals.keys()) | self._misspelt(parsed)
        if unknown - known:
            raise CustomToolError("custom_tool_unknown_name", at, name=min(unknown - known))
        return Text(self, source, template, native=_is_one_expression(parsed))

    def _misspelt(self, parsed: nodes.Template) -> set[str]:
        """Return what a template takes from `secrets` that is not there."""
        taken: list[nodes.Getattr | nodes.Getitem] = [*parsed.find_all(nodes.Getattr), *parsed.find_all(nodes.Getitem)]
        wanted = {
            str(name)
            for node in taken
            if isinstance(node.node, nodes.Name) and node.node.name == SECRETS and (name := _name_in(node))
        }
        return {f"{SECRETS}.{name}" for name in wanted - self._secrets.values.keys()}

    def render(self, text: Text, values: Values, encode: Callable[[object], object]) -> str:
        """Return what a template prints. Raises `ToolRefusal`, without any secret."""
        assert text.template is not None
        variables = {**values.arguments, **self._secrets.values, SECRETS: self._secrets.values}
        before, self._encode, self._source = self._encode, encode, text.source
        try:
            with self._watched(text, values):
                rendered = text.template.render(variables)
        except ToolRefusal:
            raise
        except Exception as err:  # noqa: BLE001 - a template can raise anything
            raise ToolRefusal(self._secrets.mask.text(f"The tool's template failed: {err}")) from None
        finally:
            self._encode = before
        if len(rendered) > MAX_OUTPUT:
            raise ToolRefusal("The tool's template made too long a text.")
        return rendered.strip()

    def _is_written(self, text: str) -> bool:
        return _names(self._source, text)

    @pass_context  # without it Jinja would encode constants at compile time, for the place that was last
    def _finalize(self, _context: Context, value: object) -> object:
        return self._encode(None if isinstance(value, Undefined) else value)

    @contextmanager
    def _watched(self, text: Text, values: Values) -> Iterator[None]:
        """Note which entities a template looks at without the owner having named them."""
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
            values.of_others = values.of_others or any(map(may_be_of_others, seen))
            if led_to := {domain for domain in info.domains if not _names(text.source, domain)}:
                raise ToolRefusal(f"The tool's template may not list all of {', '.join(sorted(led_to))}.")
            led_to = {entity_id for entity_id in info.entities if not _names(text.source, entity_id)}
            said = str(values.arguments).casefold()  # what nobody named must not be named by a refusal
            unnamed = {
                entity_id for entity_id in led_to if entity_id not in said and not is_exposed(self._hass, entity_id)
            }
            values.entities |= led_to - unnamed
            if unnamed:
                raise ToolRefusal("The tool's template looks at something that is not there for you.")


@dataclass(frozen=True, slots=True)
class Text:
    """One template of a tool, or plain text."""

    templates: Templates
    source: str
    template: JinjaTemplate | None
    """The compiled template; None: plain text."""
    native: bool
    """It is one expression and nothing else."""

    def text(self, values: Values, encode: Encode = plain) -> str:
        """Return it as text."""
        return self.templates.render(self, values, encode) if self.template else self.source

    def value(self, values: Values) -> JsonValueType:
        """Return it as JSON: the value itself when it is one expression, None when that is not there."""
        if not self.template or not self.native:
            return self.text(values)
        printed: list[object] = []

        def keep(value: object) -> str:
            printed.append(value)
            return ""

        self.templates.render(self, values, keep)
        return as_json(printed[-1])


type Tree = Text | dict[str, Tree] | list[Tree] | int | float | bool | None
"""A value with templates in it, however deep."""


def compile_tree(templates: Templates, value: object, names: Collection[str], at: tuple[str | int, ...]) -> Tree:
    """Compile every text in a value; names of keys are the owner's alone. Raises `CustomToolError`."""
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
    """Return a value with its templates rendered; keys whose value is not there are left out."""
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
    """Return what a template made as JSON. Raises `ToolRefusal` when it is nested without end."""
    if not depth:
        raise ToolRefusal("A value of the tool's template is nested too deeply.")
    match value:
        case Undefined():
            return None
        case None | bool():
            return value
        case str():
            return str(value)  # without a class of its own around it
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


def _name_in(node: nodes.Getattr | nodes.Getitem) -> object:
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) else None


def _names(source: str, name: str) -> bool:
    """Return whether the owner wrote an entity or a domain into a template."""
    return re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", source) is not None


# What templates learn of the arguments.

_ABOUT_ONE = (
    "area_id", "area_name", "config_entry_id", "device_attr", "device_id", "device_name", "entity_name", "floor_id",
    "floor_name", "is_device_attr", "is_hidden_entity", "labels",
)  # fmt: skip
_LISTING = ("area_entities", "device_entities", "floor_entities", "integration_entities", "label_entities")
"""Functions that look into registries, which know what is not exposed as well."""

type TemplateFunction = Callable[..., Any]
type IsWritten = Callable[[str], bool]
"""Whether the owner wrote a text into the template that is rendered now."""


class ToldStates:
    """The states, as templates know them; whoever walks through all of them meets only what may be told.

    What the owner wrote is the owner's.
    """

    def __init__(self, hass: HomeAssistant, states: Any, is_written: IsWritten) -> None:
        """Take Home Assistant's own."""
        self._hass = hass
        self._states = states
        self._is_written = is_written

    def __iter__(self) -> Iterator[Any]:
        """Yield the states that are told."""
        turn = current_turn.get(None)
        user = turn.user if turn is not None else None
        for state in self._states:
            if is_exposed(self._hass, state.entity_id, user) or self._is_written(state.entity_id):
                yield state

    def __len__(self) -> int:
        """Return how many they are."""
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Any:
        """Return a state or the states of a domain."""
        return self._states[name]

    __getattr__ = __getitem__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what a state is."""
        return self._states(*args, **kwargs)


def guard(hass: HomeAssistant, environment: TemplateEnvironment, is_written: IsWritten) -> None:
    """Guard the functions that look into registries, wherever a template can call them.

    What the owner wrote is the owner's. Where an argument leads such a function, entities that it is about count as looked
    at, and of those that it lists only the exposed ones are there.
    """

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
