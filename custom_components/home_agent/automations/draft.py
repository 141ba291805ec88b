"""An automation as it would be written: what was asked for, and what Home Assistant makes of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homeassistant.components.automation.config import AutomationConfig, async_validate_config_item
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import probatio
from probatio.humanize import humanize_error

from ..home.fingerprint import fingerprint
from ..support.errors import ToolRefusal
from ..support.quoting import one_line

ORDER = (
    "id", "alias", "description", "use_blueprint", "trigger_variables", "triggers", "conditions", "variables", "actions", "mode",
)  # fmt: skip
"""The order of the keys in the file; the others follow as they were given."""
_OLD_KEYS = {"trigger": "triggers", "condition": "conditions", "action": "actions"}
MAX_ERROR = 600  # characters of what Home Assistant says of an invalid configuration
NEW = "home_agent_draft"
"""The id under which a new automation is validated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationDraft:
    """One automation, validated by Home Assistant."""

    id: str | None
    """None for a new one."""
    config: Mapping[str, Any]
    """As it is written, without the id: JSON, keys in their order and in the plural."""
    normalized: AutomationConfig
    """As Home Assistant runs it: blueprints expanded, defaults filled in, templates compiled."""

    @property
    def alias(self) -> str:
        """Its name."""
        return str(self.normalized.get("alias") or self.config.get("alias") or "")

    @property
    def triggers(self) -> Sequence[Mapping[str, Any]]:
        """The triggers, normalized."""
        found: Sequence[Mapping[str, Any]] = self.normalized["triggers"]
        return found

    @property
    def conditions(self) -> Sequence[Any]:
        """The conditions, normalized; a template alone is one, too."""
        return self.normalized.get("conditions") or ()

    @property
    def actions(self) -> Sequence[Mapping[str, Any]]:
        """The actions, normalized."""
        found: Sequence[Mapping[str, Any]] = self.normalized["actions"]
        return found

    @property
    def written(self) -> Mapping[str, Any]:
        """As it is written once the inputs of a blueprint are filled in, with templates as texts."""
        raw = self.normalized.raw_config or self.config
        return {_OLD_KEYS.get(key, key): value for key, value in raw.items() if key != "id"}

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that differ as soon as it is written otherwise."""
        return fingerprint(self.config)


def ordered(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with its keys in the plural and in the order of the file."""
    plural = {_OLD_KEYS.get(str(key), str(key)): value for key, value in config.items()}
    return {key: plural[key] for key in (*(key for key in ORDER if key in plural), *plural)}


async def async_draft(
    hass: HomeAssistant, config: Mapping[str, Any], automation_id: str | None = None
) -> AutomationDraft:
    """Return an automation as Home Assistant would run it. Raises `ToolRefusal`, with Home Assistant's reason, for an invalid one."""
    written = {key: value for key, value in ordered(config).items() if key != "id"}
    try:
        found = await async_validate_config_item(hass, NEW, {"id": automation_id or NEW, **written})
    except probatio.Invalid as err:
        raise ToolRefusal(_reason(written, err)) from err
    except HomeAssistantError as err:
        raise ToolRefusal(_blueprint_reason(written, err)) from err
    if found is None:
        raise ToolRefusal("Home Assistant does not accept this automation.")
    return AutomationDraft(id=automation_id, config=written, normalized=found)


def _reason(written: Mapping[str, Any], err: probatio.Invalid) -> str:
    """Return what Home Assistant says of an invalid configuration, with the values that it means."""
    said: list[str] = []
    for one in getattr(err, "errors", None) or [err]:
        value = _value_at(written, [*getattr(one, "path", ())])
        text = humanize_error(written, one)
        if value is not None and text.endswith(". Got None"):
            text = f"{text.removesuffix('. Got None')}. Got {value!r}"
        said.append(text)
    return one_line("\n".join(sorted(said)), MAX_ERROR)


def _value_at(written: object, path: Sequence[object]) -> object:
    """Return the only value that is written under the last name of a path, which may begin at a trigger or in options; else None."""
    name = next((key for key in reversed(path) if isinstance(key, str)), None)
    found = [*_under(written, name)] if name is not None else []
    return found[0] if len(found) == 1 else None


def _under(value: object, name: str, depth: int = 20) -> Iterator[object]:
    match value:
        case Mapping() if depth:
            for key, item in value.items():
                if key == name and isinstance(item, str | int | float):
                    yield item
                yield from _under(item, name, depth - 1)
        case list() if depth:
            for item in value:
                yield from _under(item, name, depth - 1)


def _blueprint_reason(written: Mapping[str, Any], err: HomeAssistantError) -> str:
    use = written.get("use_blueprint")
    path = f"Blueprint '{use.get('path')}': " if isinstance(use, Mapping) else ""
    return one_line(f"{path}{err}", MAX_ERROR)
