"""The one decision for every tool call, whoever provides the tool and whoever asks.

audit → limits → arguments → plan → permission → confirmation → the tool → envelope. Only `HomeAssistantError` may leave
a tool, and none leaves here: the model always gets a result.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
import time
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType
import probatio

from .. import events
from ..client.base import BrokenArguments
from ..const import CONF_ALWAYS_CONFIRM, CONF_CONFIRM_TIMEOUT, CONF_PINS, CONF_VERIFY_SECONDS, DOMAIN, LOGGER
from ..errors import ToolError
from ..turn import ToolCallRecord, Turn
from .audit import async_record, masked
from .carry_out import async_carry_out
from .confirmation import TIMEOUT, Call, Confirmations, NobodyConfirms
from .permission import async_check_permission, check_permission
from .plan import ActionClass, Plan
from .tool import HomeAgentTool, envelope
from .verify import DEFAULT_SECONDS
from .write import Journal, Writes

LIMIT_REACHED = "The limit of {limit} tool calls for one request is reached. Answer with what you know."
BROKEN_ARGUMENTS = "The arguments are not a JSON object. Nothing was done. Call the tool again with valid JSON."
TIMED_OUT = "No answer within {seconds} seconds. It is not known whether the action happened: query the state."
NOT_ALLOWED = "The user is not allowed to do this."


class Policy:
    """Checks and runs tool calls for one config entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        always_confirm: frozenset[str] = frozenset(),
        confirmations: Confirmations | None = None,
        writes: Writes | None = None,
    ) -> None:
        """Take the owner's list of entity ids and domains that always need confirmation, who asks, and who looks after."""
        self._hass = hass
        self._always_confirm = always_confirm
        self.confirmations = confirmations or Confirmations(hass)
        self.writes = writes or Writes()

    def authorize(self, turn: Turn, plan: Plan, call: Call | None = None) -> None:
        """Raise `ToolError` unless everything in the plan may happen now, for this user.

        With `call` a confirmation is asked for where one is needed (`NeedsConfirmation`); without it the plan is refused.
        """
        check_permission(self._hass, turn.user, plan)
        self._check_confirmation(turn, plan, call)

    def _check_confirmation(self, turn: Turn, plan: Plan, call: Call | None) -> None:
        if plan.action is ActionClass.SENSITIVE or (
            plan.action is ActionClass.WRITE and self._owner_wants_to_know(plan)
        ):
            if call is None:
                raise NobodyConfirms(target=", ".join(plan.targets))
            self.confirmations.require(turn, call)

    async def async_check_again(self, turn: Turn, call: Call) -> None:
        """Raise `HomeAssistantError` when a confirmed call would now be anything else than what was confirmed."""
        await self._async_plan(turn, call.tool, call.arguments, confirmed=call.plan)

    async def async_call(
        self,
        turn: Turn,
        tool: llm.Tool | None,
        tool_input: llm.ToolInput,
        dispatch: Callable[[], Awaitable[llm.ToolResult]],
        *,
        confirmed: Plan | None = None,
    ) -> llm.ToolResult:
        """Return the envelope of a call. `dispatch` runs a tool that is not ours, `confirmed` has the owner's yes."""
        started = time.perf_counter()
        name = tool_input.tool_name
        turn.calls_started += 1
        events.async_tool_progress(self._hass, turn, name, "started")
        result: JsonValueType = None
        error: str | None = None
        error_type: str | None = None
        try:
            self._check_limits(turn)
            async with asyncio.timeout(turn.profile.tool_timeout):
                result = await self._async_run(turn, tool, tool_input, dispatch, confirmed)
        except TimeoutError:
            error, error_type = TIMED_OUT.format(seconds=turn.profile.tool_timeout), "TimeoutError"
        except Unauthorized:
            error, error_type = NOT_ALLOWED, "Unauthorized"
        except (HomeAssistantError, probatio.Invalid) as err:
            error, error_type = str(err), type(err).__name__
        except Exception as err:  # noqa: BLE001 - anything else would end the turn without an answer
            LOGGER.exception("Tool %s failed unexpectedly", name)
            error, error_type = type(err).__name__, type(err).__name__
        duration_ms = round((time.perf_counter() - started) * 1000)
        record = ToolCallRecord(
            tool_name=name,
            parameters=masked(tool_input.tool_args),
            success=error is None,
            duration_ms=duration_ms,
            error=error_type,
        )
        async_record(self._hass, turn, record, result if error is None else error)
        events.async_tool_progress(self._hass, turn, name, "completed" if error is None else "failed")
        return llm.ToolResult(data=envelope(result=result, error=error), error=error is not None)

    def _check_limits(self, turn: Turn) -> None:
        if turn.calls_left < 0:
            raise HomeAssistantError(LIMIT_REACHED.format(limit=turn.profile.max_calls_per_turn))

    async def _async_run(
        self,
        turn: Turn,
        tool: llm.Tool | None,
        tool_input: llm.ToolInput,
        dispatch: Callable[[], Awaitable[llm.ToolResult]],
        confirmed: Plan | None,
    ) -> JsonValueType:
        if isinstance(tool_input.tool_args, BrokenArguments):
            raise HomeAssistantError(BROKEN_ARGUMENTS)
        if not isinstance(tool, HomeAgentTool):
            result = _foreign_result(await dispatch())
            turn.acted = True  # nobody here knows what it did
            return result
        args, plan = await self._async_plan(turn, tool, tool_input.tool_args, confirmed)
        return await async_carry_out(self._hass, self.writes, turn, tool, args, plan)

    async def _async_plan(
        self, turn: Turn, tool: HomeAgentTool, arguments: dict[str, Any], confirmed: Plan | None
    ) -> tuple[dict[str, Any], Plan]:
        """Return the validated arguments and the plan, which may be carried out now."""
        args = tool.parameters(arguments)
        plan = await tool.plan(self._hass, args, turn)
        await async_check_permission(self._hass, turn.user, plan)
        if confirmed is None:
            self._check_confirmation(turn, plan, Call(tool=tool, arguments=arguments, plan=plan))
        elif plan != confirmed:
            raise ToolError("confirmation_changed")
        return args, plan

    def _owner_wants_to_know(self, plan: Plan) -> bool:
        return any(
            target in self._always_confirm or target.partition(".")[0] in self._always_confirm
            for target in plan.targets
        )


def policy_from_options(hass: HomeAssistant, options: Mapping[str, Any], journal: Journal | None = None) -> Policy:
    """Return the policy of an entry's options; what is written is noted in the journal."""
    listed = options.get(CONF_ALWAYS_CONFIRM)
    confirmations = Confirmations(hass, int(options.get(CONF_CONFIRM_TIMEOUT, TIMEOUT)), options.get(CONF_PINS))
    writes = Writes(seconds=float(options.get(CONF_VERIFY_SECONDS, DEFAULT_SECONDS)), journal=journal)
    return Policy(hass, frozenset(listed) if isinstance(listed, list) else frozenset(), confirmations, writes)


def _foreign_result(result: llm.ToolResult) -> JsonValueType:
    """Return what a tool of somebody else said. Raises `ToolError` with its error."""
    if result.error:
        raise ToolError(tool=DOMAIN, detail=str(result.data))
    return result.data
