"""Scripts of the owner as tools: the script is what is exposed, permitted, asked about."""

from copy import deepcopy
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ..safety.plan import ActionClass, Plan
from ..tools.broad_ids import refuse_broad_ids
from ..tools.mentioned import variables_name
from ..turn import Turn
from .result import plain_result
from .tool import ForeignTool

SCRIPT = "script"
PREFIX = f"{SCRIPT}__"


class ForeignScript(ForeignTool):
    """A tool that runs a script."""

    entity_id: str

    def __init__(self, tool: llm.Tool, instance: llm.APIInstance, name: str, guide: str | None = None) -> None:
        """Know which script it is."""
        super().__init__(tool, instance, name, guide)
        self.entity_id = f"{SCRIPT}.{tool.name.removeprefix(PREFIX)}"

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the script as the target, and what its arguments name: it may not be sent to what is not exposed."""
        self.check(hass, args, turn)
        refuse_broad_ids(hass, args)
        sensitive = self.annotations.destructive and not self.annotations.read_only
        return Plan(
            action=ActionClass.SENSITIVE if sensitive else ActionClass.WRITE,
            targets=tuple(dict.fromkeys((self.entity_id, *variables_name(hass, args)))),
            reason="destructive" if sensitive else None,
            sensitive=(self.entity_id,) if sensitive else (),
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Run the script. What it answers may come from anywhere; most answer nothing."""
        tool_input = llm.ToolInput(tool_name=self._tool.name, tool_args=deepcopy(args))
        result = plain_result(await self._tool.async_call(hass, tool_input, self._asked_by(turn)))
        answer = result.get("result") if isinstance(result, dict) else result
        if answer:
            turn.taints.add(self.name)
        return result
