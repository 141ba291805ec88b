"""An automation as a model writes it: objects, JSON or YAML, with the keys of today or of earlier releases, within bounds."""

from collections.abc import Mapping
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads
import probatio
import yaml  # type: ignore[import-untyped]

from ...automations.draft import ordered
from ...support.encoding import one_line
from ...support.errors import ToolRefusal

MAX_TEXT = 50_000  # characters of all texts together
MAX_DEPTH = 24
MAX_VALUES = 4_000
MAX_NAME = 100  # characters
PARTS = (
    "triggers",
    "conditions",
    "actions",
    "variables",
    "trigger_variables",
    "use_blueprint",
    "mode",
    "max",
    "max_exceeded",
)
"""Keys that are taken; the name and the description have arguments of their own."""
_ALSO = {
    "alias": "name", "trigger": "triggers", "condition": "conditions", "action": "actions", "title": "name",
    "blueprint": "use_blueprint", "yaml": "config", "automation": "config", "sequence": "actions",
}  # fmt: skip
"""What models call arguments otherwise."""
MODES = ("single", "restart", "queued", "parallel")


_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_EVENTS = 3 * MAX_VALUES  # keys, values and what is around them, of a text


class _PlainLoader(_Loader):  # type: ignore[misc, valid-type]
    """Reads YAML as Home Assistant writes it, without tags, anchors and dates: what is no plain value stays text."""


_PlainLoader.yaml_implicit_resolvers = {
    sign: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for sign, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _check_yaml(text: str) -> None:
    """Raise `probatio.Invalid` or `yaml.YAMLError` for a text that would take long to read, or stands for more than it has.

    A few lines of aliases would stand for millions of values.
    """
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_Loader)):
        match event:
            case yaml.AliasEvent():
                raise yaml.YAMLError("aliases are not taken")
            case yaml.CollectionStartEvent():
                depth += 1
            case yaml.CollectionEndEvent():
                depth -= 1
        if depth > MAX_DEPTH or count > MAX_EVENTS:
            raise probatio.Invalid("is too long or nested too deeply")


def from_text(value: object) -> Any:
    """Return what a text holds, as JSON or YAML; anything else as it is. Raises `probatio.Invalid`. For a worker thread."""
    if not isinstance(value, str):
        return value
    if len(value) > MAX_TEXT:
        raise probatio.Invalid(f"is longer than {MAX_TEXT} characters")
    try:
        return json_loads(value)
    except JSON_DECODE_EXCEPTIONS:
        pass
    try:
        _check_yaml(value)
        return yaml.load(value, Loader=_PlainLoader)  # noqa: S506 - a safe loader with less in it
    except yaml.YAMLError as err:
        raise probatio.Invalid(f"is neither JSON nor YAML: {one_line(str(err))[:200]}") from err
    except (ValueError, RecursionError) as err:
        raise probatio.Invalid("is neither JSON nor YAML") from err


def tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments under the names that the schema has; what stands in `config` counts unless it stands beside it, too."""
    found = {_ALSO.get(str(key), str(key)): value for key, value in data.items() if value is not None}
    config = found.pop("config", None)
    if config in (None, ""):
        return found
    config = from_text(config)
    if isinstance(config, list) and len(config) == 1:
        [config] = config
    if not isinstance(config, Mapping):
        raise probatio.Invalid("config must be one automation, as an object")
    inner = {_ALSO.get(str(key), str(key)): value for key, value in config.items() if key != "id"}
    return {**inner, **found}


async def async_config(hass: HomeAssistant, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration that arguments stand for, without an id. Raises `ToolRefusal` beyond the bounds."""
    return await hass.async_add_executor_job(_config, dict(args))


def _config(args: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if name := one_line(str(args.get("name") or "")):
        if len(name) > MAX_NAME:
            raise ToolRefusal(f"The name is longer than {MAX_NAME} characters.")
        found["alias"] = name
    if (description := args.get("description")) is not None:
        found["description"] = one_line(str(description))[:MAX_TEXT]
    for key in PARTS:
        if (value := args.get(key)) in (None, ""):
            continue
        try:
            value = from_text(value) if key not in ("mode", "max_exceeded") else value
        except probatio.Invalid as err:
            raise ToolRefusal(f"{key}: {err}") from err
        if key in ("triggers", "conditions", "actions") and isinstance(value, Mapping):
            value = [value]
        found[key] = value
    check_bounds(found)
    return ordered(found)


def check_bounds(config: object) -> None:
    """Raise `ToolRefusal` for a configuration that is too long, too deep, or holds what no JSON has."""
    characters = values = 0
    waiting: list[tuple[object, int]] = [(config, 0)]
    while waiting:
        value, depth = waiting.pop()
        values += 1
        match value:
            case Mapping():
                if not all(isinstance(key, str) for key in value):
                    raise ToolRefusal(
                        "All keys of an automation are texts. Put on, off, yes and no in quotation marks."
                    )
                characters += sum(map(len, value))
                waiting += [(item, depth + 1) for item in value.values()]
            case list():
                waiting += [(item, depth + 1) for item in value]
            case str():
                characters += len(value)
            case None | bool() | int() | float():
                pass
            case _:
                raise ToolRefusal(
                    f"'{type(value).__name__}' is no value of an automation: write texts, numbers, lists and objects."
                )
        if depth > MAX_DEPTH or values > MAX_VALUES or characters > MAX_TEXT:
            raise ToolRefusal("The automation is too long or nested too deeply. Move a part into a script.")
