"""An automation as it would be written: what was asked for, and what Home Assistant makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homeassistant.components.automation.config import AutomationConfig, async_validate_config_item
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import probatio

from ..home.fingerprint import fingerprint
from ..support.errors import ToolRefusal
from .invalid import async_told
from .template_costs import check_costs

ORDER = (
    "id", "alias", "description", "use_blueprint", "trigger_variables", "triggers", "conditions", "variables", "actions", "mode",
)  # fmt: skip
"""The order of the keys in the file; the others follow as they were given."""
_OLD_KEYS = {"trigger": "triggers", "condition": "conditions", "action": "actions"}
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
    hass: HomeAssistant, config: Mapping[str, Any], automation_id: str | None = None, *, is_there: bool = False
) -> AutomationDraft:
    """Return an automation as Home Assistant would run it. Raises `ToolRefusal`, with Home Assistant's reason, for an invalid one.

    With `is_there`, Home Assistant has this one already: what its templates cost is its owner's decision.
    """
    written = {key: value for key, value in ordered(config).items() if key != "id"}
    if not is_there:
        await hass.async_add_executor_job(check_costs, written)
    try:
        found = await async_validate_config_item(hass, NEW, {"id": automation_id or NEW, **written})
    except probatio.Invalid as err:
        raise ToolRefusal(await async_told(hass, written, err)) from err
    except HomeAssistantError as err:
        raise ToolRefusal(await async_told(hass, written, err)) from err
    if found is None:
        raise ToolRefusal("Home Assistant does not accept this automation.")
    return AutomationDraft(id=automation_id, config=written, normalized=found)
