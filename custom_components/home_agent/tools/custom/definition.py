"""A custom tool from YAML or the form: its schema, credentials, the result of an answer, and the kind `template`."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
import re
from typing import Any, ClassVar, override

from homeassistant.const import CONF_DESCRIPTION, CONF_NAME
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio
from yarl import URL

from ...home.exposure import check_permission
from ...home.foreign import async_reader
from ...policy.tool import HomeAgentTool
from ...support.auth import Auth, ClientCredentials, OAuthClient, basic, bearer
from ...support.errors import CustomToolError, ToolRefusal
from ...support.http import Http
from ...support.masking import SecretMask, Secrets
from ...turn.plan import DESTRUCTIVE, ActionClass, Plan
from ...turn.turn import Turn
from ..mcp.server import SharedServers
from ..sanitize import bounded, is_reserved, texts_in, values_in
from .limits import longest_for
from .templates import SECRETS, Templates, Text, Values

MAX_EXAMPLES = 20
MAX_EXAMPLE = 200  # characters
SCRIPTS = frozenset({"script", "python", "shell", "command", "exec"})
"""Handler types that would run a program, which are refused."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")

SCHEMA = probatio.Schema(
    {
        probatio.Required(CONF_NAME): str,
        probatio.Required(CONF_DESCRIPTION): probatio.All(str, probatio.Length(min=1, max=2000)),
        probatio.Optional("title"): str,
        probatio.Optional("parameters"): dict,
        probatio.Optional("examples"): probatio.All(
            [probatio.All(str, str.strip, probatio.Length(min=1, max=MAX_EXAMPLE))], probatio.Length(max=MAX_EXAMPLES)
        ),
        probatio.Optional("read_only"): bool,
        probatio.Optional("destructive"): bool,
        probatio.Required("handler"): dict,
    }
)

AUTH_SCHEMAS = {
    "bearer": probatio.Schema({probatio.Required("type"): "bearer", probatio.Required("token"): str}),
    "basic": probatio.Schema(
        {probatio.Required("type"): "basic", probatio.Required("username"): str, probatio.Required("password"): str}
    ),
    "oauth2": probatio.Schema(
        {
            probatio.Required("type"): "oauth2",
            probatio.Required("token_url"): str,
            probatio.Required("client_id"): str,
            probatio.Required("client_secret"): str,
            probatio.Optional("scope", default=""): str,
            probatio.Optional("audience", default=""): str,
            probatio.Optional("credentials_in", default="header"): probatio.In(["header", "body"]),
        }
    ),
    "none": probatio.Schema({probatio.Required("type"): "none"}),
}
"""Authentication at a server: the key `auth` of a handler."""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """The fields of every custom tool."""

    name: str
    title: str
    description: str
    parameters: JsonObjectType  # JSON schema for models
    examples: tuple[str, ...] = ()  # sentences of users that need the tool
    read_only: bool | None  # the owner's word; None: the handler decides
    destructive: bool | None
    type: str
    handler: Mapping[str, Any] = field(repr=False)  # validated by its handler's schema

    @cached_property
    def version(self) -> str:
        """Return a hash that changes with any field."""
        return sha256(repr((self, self.handler)).encode(errors="replace")).hexdigest()[:16]

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the parameters, which templates may use."""
        properties = self.parameters["properties"]
        assert isinstance(properties, dict)
        return frozenset(properties)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Shared objects to build tools with."""

    secrets: Secrets
    templates: Templates
    http: Http
    servers: SharedServers


class CustomTool(HomeAgentTool):
    """A custom tool; each kind is a subclass, built from a definition."""

    schema: ClassVar[probatio.Schema]  # of the mapping `handler`, with its `type`
    judges_calls = True
    retired = False  # it was changed or removed; older conversations may still hold it

    def __init__(
        self,
        definition: Definition,
        tool_context: ToolContext,
        *,
        reads: bool = False,
        destroys: bool = False,
        idempotent: bool = False,
        open_world: bool = False,
    ) -> None:
        """Take the definition; the flags are the kind's defaults where the owner sets none. Raises `CustomToolError`."""
        read_only = reads if definition.read_only is None else definition.read_only
        destructive = destroys if definition.destructive is None else definition.destructive
        self.name = definition.name
        self.title = self.source = definition.title
        self.version = definition.version
        self.description = definition.description
        self.examples = definition.examples
        self.annotations = llm.ToolAnnotations(
            read_only=read_only and not destructive,
            destructive=destructive,
            idempotent=idempotent or read_only,
            open_world=open_world,
        )
        self.wire_parameters = definition.parameters
        self.parameters = _Arguments(definition.parameters)
        self._tool_context = tool_context

    @property
    def action(self) -> ActionClass:
        """Return the action class by the annotations."""
        if self.annotations.destructive:
            return ActionClass.SENSITIVE
        return ActionClass.READ if self.annotations.read_only else ActionClass.WRITE

    @override
    def shown(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values without secrets of the home."""
        mask = self._tool_context.secrets.mask
        return {mask.text(name): mask.json(value) for name, value in values.items()}

    async def async_retire(self) -> None:
        """Release resources: the tool was changed or removed."""
        self.retired = True

    def check_current(self) -> None:
        """Raise `ToolRefusal` if the tool was changed or removed."""
        if self.retired:
            raise ToolRefusal(f"{self.name} was changed or removed. It is not available in this conversation.")

    def plan_for(self, values: Values, action: ActionClass | None = None, **fields: Any) -> Plan:
        """Return the plan of a call, with the entities that its templates read as targets."""
        action = action or self.action
        return Plan(
            action=action,
            targets=tuple(sorted(values.entities)),
            reasons=(DESTRUCTIVE,) if action is ActionClass.SENSITIVE else (),
            **{"version": self.version, **fields},
        )

    @staticmethod
    @contextmanager
    def led_astray(values: Values) -> Iterator[None]:
        """Suppress a refusal of a template that read an entity: it must not be told before the policy has checked it."""
        try:
            yield
        except ToolRefusal:
            if not values.entities:
                raise

    @staticmethod
    def check_reached(values: Values, plan: Plan) -> None:
        """Raise `ToolRefusal` if templates read entities that are not in the plan."""
        if not values.entities.issubset(plan.targets):
            raise ToolRefusal("The entities that the tool's template reads have just changed. Try again.")


class _Arguments(probatio.Schema):
    """Arguments by the owner's JSON schema; others never reach a template."""

    def __init__(self, schema: JsonObjectType) -> None:
        """Keep the known names, and the longest text for each pattern."""
        properties = schema["properties"]
        assert isinstance(properties, dict)
        self._known = properties
        shared = _patterns({key: value for key, value in schema.items() if key != "properties"})
        self._longest = {
            name: min(map(longest_for, patterns))
            for name, value in properties.items()
            if (patterns := shared | _patterns(value))
        }
        super().__init__(probatio.from_json_schema(schema).schema)

    @override
    def __call__(self, data: Any, **kwargs: Any) -> Any:
        """Return the validated arguments; null counts as left out."""
        if not isinstance(data, Mapping):
            raise probatio.Invalid("the arguments must be an object")
        if unknown := sorted(str(key) for key in data if key not in self._known):
            known = ", ".join(self._known) or "none"
            raise probatio.Invalid(f"unknown parameters: {', '.join(unknown)}; there are: {known}")
        given = {key: _as_number(value, self._known[key]) for key, value in data.items() if value is not None}
        for key, longest in self._longest.items():
            if any(len(text) > longest for text in texts_in(given.get(key))):
                raise probatio.Invalid(f"too long for its pattern: at most {longest} characters", path=[key])
        return super().__call__(given, **kwargs)


def _patterns(schema: object) -> set[str]:
    """Return every pattern in a schema."""
    found = (item.get("pattern") for item in values_in(schema) if isinstance(item, Mapping))
    return {pattern for pattern in found if isinstance(pattern, str)}


def _as_number(value: Any, schema: Any) -> Any:
    """Return `"5"` as a number if the schema wants one: small models write numbers as text."""
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    if wanted in ("integer", "number") and isinstance(value, str):
        try:
            return int(value) if wanted == "integer" else float(value)
        except ValueError:
            return value
    return value


def definition_from_data(
    data: object, handlers: Mapping[str, type[CustomTool]], secrets: Collection[str]
) -> Definition:
    """Return the definition of a tool. Raises `CustomToolError` or `probatio.Invalid`, with the path to the error."""
    valid = SCHEMA(data)
    if not _NAME.fullmatch(valid[CONF_NAME]):
        raise CustomToolError("custom_tool_name", (CONF_NAME,), name=valid[CONF_NAME])
    if is_reserved(valid[CONF_NAME]):
        raise CustomToolError("custom_tool_reserved", (CONF_NAME,), name=valid[CONF_NAME])
    kind = str(valid["handler"].get("type", ""))
    if kind in SCRIPTS:
        raise CustomToolError("custom_tool_script", ("handler", "type"), type=kind)
    if kind not in handlers:
        known = ", ".join(sorted(handlers))
        raise CustomToolError("custom_tool_type", ("handler", "type"), type=kind or "-", types=known)
    try:
        handler = handlers[kind].schema(valid["handler"])
    except probatio.Invalid as err:
        err.prepend(["handler"])
        raise
    return Definition(
        name=str(valid[CONF_NAME]),
        title=str(valid.get("title") or valid[CONF_NAME]),
        description=str(valid[CONF_DESCRIPTION]),
        parameters=_parameters(valid.get("parameters") or {}, secrets),
        examples=tuple(map(str, valid.get("examples") or ())),
        read_only=valid.get("read_only"),
        destructive=valid.get("destructive"),
        type=kind,
        handler=handler,
    )


def _parameters(schema: Mapping[str, Any], secrets: Collection[str]) -> JsonObjectType:
    """Return the JSON schema of an object; `properties` alone are accepted as well."""
    whole: JsonObjectType = {"type": "object", "properties": {}, **_plain(schema)}
    properties = whole["properties"]
    if whole["type"] != "object" or not isinstance(properties, dict):
        raise CustomToolError("custom_tool_parameters", ("parameters",), detail="type: object, properties")
    for name in properties:
        at = ("parameters", "properties", name)
        if not _PARAMETER.fullmatch(name) or name == SECRETS:
            raise CustomToolError("custom_tool_parameter_name", at, name=name)
        if name in secrets:
            raise CustomToolError("custom_tool_shadows_secret", at, name=name)
    try:
        probatio.from_json_schema(whole)
    except probatio.SchemaError as err:
        raise CustomToolError("custom_tool_parameters", ("parameters",), detail=str(err)) from err
    required = whole.get("required")
    if missing := [str(name) for name in (required if isinstance(required, list) else ()) if name not in properties]:
        raise CustomToolError("custom_tool_parameters", ("parameters", "required"), detail=f"required: {missing[0]}")
    return whole


def _plain(value: Any) -> Any:
    """Return YAML as plain JSON: its texts, lists and mappings carry line numbers."""
    match value:
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case str():
            return str(value)
    return value


def check_host(address: str, tool_context: ToolContext, at: tuple[str, ...]) -> URL:
    """Return a URL. Raises `CustomToolError` if it is invalid, or its host is not allowed."""
    try:
        url = URL(address)
    except ValueError as err:
        raise CustomToolError("custom_tool_url", at) from err
    if not url.host or url.scheme not in ("http", "https"):
        raise CustomToolError("custom_tool_url", at)
    if not tool_context.http.egress.allows(url.host):
        raise CustomToolError("custom_tool_host", at, host=url.host)
    return url


def auth_schema(data: Any) -> Mapping[str, Any]:
    """Return validated authentication, by the schema of its type."""
    kind = data.get("type") if isinstance(data, Mapping) else None
    if kind not in AUTH_SCHEMAS:
        raise probatio.Invalid(f"type must be one of {', '.join(AUTH_SCHEMAS)}", path=["type"])
    valid: Mapping[str, Any] = AUTH_SCHEMAS[kind](data)
    return valid


def auth_from(data: Mapping[str, Any], tool_context: ToolContext) -> Auth | None:
    """Return the authentication of a handler's key `auth`, None for type `none`. Raises `CustomToolError`."""
    match data["type"]:
        case "bearer":
            return bearer(_credential(data, "token", tool_context))
        case "basic":
            return basic(_credential(data, "username", tool_context), _credential(data, "password", tool_context))
        case "oauth2":
            client = OAuthClient(
                token_url=check_host(data["token_url"], tool_context, ("handler", "auth", "token_url")),
                client_id=_credential(data, "client_id", tool_context),
                client_secret=_credential(data, "client_secret", tool_context),
                scope=data["scope"],
                audience=data["audience"],
                in_body=data["credentials_in"] == "body",
            )
            return ClientCredentials(tool_context.http, client)
    return None


def _credential(data: Mapping[str, Any], key: str, tool_context: ToolContext) -> str:
    """Return a credential, which may be a template with secrets, but not with arguments."""
    text = tool_context.templates.compile(data[key], (), ("handler", "auth", key)).text(Values({}))
    if not text or not text.isprintable():
        raise CustomToolError("custom_tool_credential", ("handler", "auth", key))
    return text


# The result of an answer: by the owner's template, by a path into it, or all of it.

RESPONSE = "response"
STATUS = "status"
OUTCOME = {probatio.Exclusive(RESPONSE, "outcome"): str, probatio.Exclusive("response_path", "outcome"): str}
"""Keys for the result in a handler."""
_STEP = re.compile(r"""\.?([\w-]+|\*)|\[(-?\d+|\*)\]|\[(?:'([^']*)'|"([^"]*)")\]""")

type Path = tuple[str | int, ...]
"""Steps of a `response_path`; `*` is each item."""


def path_from_text(text: str, at: tuple[str | int, ...]) -> Path:
    """Return the steps of `$.items[0].name`. Raises `CustomToolError`."""
    steps: list[str | int] = []
    position = 1 if text.startswith("$") else 0
    while position < len(text):
        if not (step := _STEP.match(text, position)):
            raise CustomToolError("custom_tool_response_path", at, detail=text)
        position = step.end()
        name, index, *quoted = step.groups()
        if name is not None:
            steps.append(int(name) if name.isdecimal() else name)
        elif index is not None:
            steps.append(index if index == "*" else int(index))
        else:
            steps += [item for item in quoted if item is not None]
    return tuple(steps)


def at_path(value: JsonValueType, path: Path) -> JsonValueType:
    """Return the value at a path, None if there is none."""
    for index, step in enumerate(path):
        if step == "*":
            items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
            return [at_path(item, path[index + 1 :]) for item in items]
        if isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        elif isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        else:
            return None
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultBuilder:
    """Makes the result of a tool."""

    template: Text | None = None
    path: Path = ()

    def of(
        self,
        hass: HomeAssistant,
        turn: Turn,
        args: Mapping[str, object],
        answer: JsonValueType,
        status: int,
        mask: SecretMask,
    ) -> JsonValueType:
        """Return the result, bounded and with secrets masked. Raises `ToolError`."""
        if self.template is None:
            return bounded(mask.json(at_path(answer, self.path)))
        values = Values({**args, RESPONSE: answer, STATUS: status})
        result = self.template.value(values)
        # An answer may make the template read an entity that is not in the plan.
        check_permission(hass, turn.user, Plan(action=ActionClass.READ, targets=tuple(sorted(values.entities))))
        return bounded(mask.json(result))


def outcome_from(handler: Mapping[str, Any], tool_context: ToolContext, names: Collection[str]) -> ResultBuilder:
    """Return the result builder of the keys of `OUTCOME`. Raises `CustomToolError`."""
    if RESPONSE in handler:
        at = ("handler", RESPONSE)
        return ResultBuilder(template=tool_context.templates.compile(handler[RESPONSE], {*names, RESPONSE, STATUS}, at))
    return ResultBuilder(path=path_from_text(handler.get("response_path", ""), ("handler", "response_path")))


class TemplateTool(CustomTool):
    """Computes its result with a template."""

    schema = probatio.Schema({probatio.Required("type"): "template", probatio.Required("template"): str})

    def __init__(self, definition: Definition, tool_context: ToolContext) -> None:
        """Compile the template."""
        super().__init__(definition, tool_context, reads=True, idempotent=True)
        self._template = tool_context.templates.compile(
            definition.handler["template"], definition.names, ("handler", "template")
        )

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities that the template reads."""
        self.check_current()
        values = Values(args)
        with self.led_astray(values):
            self._template.value(values)
        return self.plan_for(values)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the template's value, with secrets masked."""
        values = Values(args)
        result = self._template.value(values)
        self.check_reached(values, plan)
        reader = await async_reader(hass, turn.user)
        turn.record.taints |= {taint for state in values.seen for taint in reader.taints_of(state)}
        return bounded(self._tool_context.secrets.mask.json(result))
