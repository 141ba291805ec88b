"""Any tool of another integration, judged by what it says of itself."""

from copy import deepcopy
from dataclasses import replace
from typing import Any, override

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType
import probatio

from ..errors import ToolPermissionError
from ..exposure import is_narrowed
from ..safety.plan import ActionClass, Plan
from ..safety.tool import HomeAgentTool
from ..tools.mentioned import entity_ids_in
from ..turn import Turn
from .result import plain_result, shortened

RESTART = "restart"
MAX_DESCRIPTION = 2000

_RESTARTS = frozenset({"config__reload_config_entry"})
"""Tools that stop a part of the house for a moment without calling that destructive."""
_WHOLE_HOUSE = frozenset({"homeassistant__GetLiveContext"})
"""Tools that tell of everything that Home Assistant exposes, whatever the user may read and whatever is shared with us."""
_OTHERS_WORDS = frozenset({"calendar", "hassio", "system_log", "todo"})
"""Integrations whose entries hold what other people or programs wrote."""


class ForeignTool(HomeAgentTool):
    """A tool of somebody else."""

    parameters = probatio.Schema({}, extra=probatio.ALLOW_EXTRA)
    """Everything: the tool's own schema has its say in `plan`."""

    def __init__(self, tool: llm.Tool, instance: llm.APIInstance, name: str, guide: str | None = None) -> None:
        """Wrap a tool of an API under a name of its own. `guide` is what the API tells models about its tools."""
        self.name = name
        self.title = tool.title
        self.description = shortened(tool.description or "", MAX_DESCRIPTION) or None
        self.annotations = tool.annotations
        self.guide = guide
        self.wire_parameters = probatio.to_openapi(
            tool.parameters,
            custom_serializer=instance.custom_serializer or llm.selector_serializer,
            openapi_version="3.1.0",
        )
        self._tool = tool
        self._instance = instance

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return a plan without calls: what happens is known to the tool alone. Entities in the arguments are its targets."""
        self.check(hass, args, turn)
        if self.annotations.read_only:
            action = ActionClass.READ
        elif self.annotations.destructive or self._tool.name in _RESTARTS:
            action = ActionClass.SENSITIVE
        else:
            action = ActionClass.WRITE
        return Plan(
            action=action,
            targets=tuple(dict.fromkeys(entity_ids_in(hass, args))),
            reason=self._reason if action is ActionClass.SENSITIVE else None,
            subject=self.title or self.name,
            outside=self.annotations.open_world or self._tool.integration in _OTHERS_WORDS,
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Call the tool as whoever asks now. Raises `ToolRefusal` with the error it reports."""
        tool_input = llm.ToolInput(tool_name=self._tool.name, tool_args=deepcopy(args))
        return plain_result(await self._tool.async_call(hass, tool_input, self._asked_by(turn)))

    def check(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> None:
        """Refuse who may not use the API or read what the tool tells, and arguments that the tool does not take."""
        if needs_admin(self._instance.api) and (turn.user is None or not turn.user.is_admin):
            raise ToolPermissionError(target=self.name)
        if self._tool.name in _WHOLE_HOUSE and not _may_know_everything(hass, turn):
            raise ToolPermissionError(target=self.name)
        self._tool.parameters(deepcopy(args))

    @property
    def _reason(self) -> str:
        return RESTART if self._tool.name in _RESTARTS else "destructive"

    def _asked_by(self, turn: Turn) -> llm.LLMContext:
        return replace(
            self._instance.llm_context, context=turn.context, language=turn.language, device_id=turn.device_id
        )


def _may_know_everything(hass: HomeAssistant, turn: Turn) -> bool:
    """Return whether a turn may be told of everything that Home Assistant exposes."""
    return not is_narrowed(hass) and (turn.user is None or turn.user.permissions.access_all_entities(POLICY_READ))


def needs_admin(api: llm.API) -> bool:
    """Return whether only administrators may use an API; releases before 2026.11 have none of that kind."""
    return bool(getattr(api, "requires_admin", False))
