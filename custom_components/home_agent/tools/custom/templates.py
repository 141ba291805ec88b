"""The owner's templates, rendered with a model's arguments as data.

A value is never a template. Printed values are encoded for their place (encoding.py); a template with one expression alone keeps
the value's type. Secrets win over arguments of the same name. Templates are limited in size (limits.py), and in what they read of
the home (visible.py).
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
import math
import re

from homeassistant.core import HomeAssistant, State
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
from .limits import MAX_OUTPUT, limit
from .visible import guard

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
