"""The one decision for every tool call, whoever provides the tool and whoever asks.

audit → limits → arguments → plan → permission → confirmation → the tool → envelope. Only `HomeAssistantError` may leave
a tool, and none leaves here: the model always gets a result.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
import time
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType
import probatio

from .. import events
from ..client.base import BrokenArguments
from ..const import CONF_CONFIRM_TIMEOUT, CONF_PINS, CONF_VERIFY_SECONDS, LOGGER
from ..errors import ToolError, ToolPermissionError
from ..turn import ToolCallRecord, Turn
from .audit import async_record, masked
from .carry_out import async_carry_out
from .confirmation import TIMEOUT, Call, Confirmations, NobodyConfirms
from .permission import async_check_permission, check_permission
from .plan import Plan
from .rules import Decision, Rules, Verdict, rules_from_options
from .tool import HomeAgentTool, ToolArgumentsError, ToolLimitError, ToolNotFoundError, envelope
from .unexpected import where_of
from .verify import DEFAULT_SECONDS
from .write import Journal, Writes

LIMIT_REACHED = "The limit of {limit} tool calls for one request is reached. Answer with what you know."
BROKEN_ARGUMENTS = "The arguments are not a JSON object. Nothing was done. Call the tool again with valid JSON."
TIMED_OUT = "No answer within {seconds} seconds. It is not known whether the action happened: query the state."
UNKNOWN_TOOL = "There is no tool '{name}'. Use only the tools you were given."
NOT_ALLOWED = "The user is not allowed to do this."


class Policy:
    """Checks and runs tool calls for one config entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        rules: Rules | None = None,
        confirmations: Confirmations | None = None,
        writes: Writes | None = None,
    ) -> None:
        """Take the owner's rules, who asks, and who looks after."""
        self._hass = hass
        self.rules = rules or Rules()
        self.confirmations = confirmations or Confirmations(hass)
        self.writes = writes or Writes()

    def authorize(self, turn: Turn, plan: Plan, call: Call | None = None) -> None:
        """Raise `ToolError` unless everything in the plan may happen now, for this user.

        With `call` a confirmation is asked for where one is needed (`NeedsConfirmation`); without it the plan is refused.
        """
        check_permission(self._hass, turn.user, plan)
        decision = self._decide(turn, call.tool if call else None, plan)
        if decision.action is Verdict.ASK:
            if call is None:
                raise NobodyConfirms(target=", ".join(plan.targets))
            self.confirmations.require(turn, replace(call, why=decision.why))

    def _decide(self, turn: Turn, tool: HomeAgentTool | None, plan: Plan) -> Decision:
        """Return whether to ask. Raises `ToolError` for what the owner never allows, as for what the user may not do."""
        decision = self.rules.decide(turn, tool, plan)
        if decision.action is Verdict.REFUSE:
            raise ToolPermissionError(target=decision.subject)
        return decision

    async def async_check_again(self, turn: Turn, call: Call) -> None:
        """Raise `HomeAssistantError` when a confirmed call would now be anything else than what was confirmed."""
        try:
            async with asyncio.timeout(turn.profile.tool_timeout):
                await self._async_plan(turn, call.tool, call.arguments, call.plan, call.place)
        except (probatio.Invalid, TimeoutError) as err:  # the tool takes other arguments by now, or nobody can tell
            raise ToolError("confirmation_changed") from err

    async def async_call(
        self,
        turn: Turn,
        tool: HomeAgentTool | None,
        tool_input: llm.ToolInput,
        *,
        confirmed: Plan | None = None,
    ) -> llm.ToolResult:
        """Return the envelope of a call. `tool` is None when nobody has one of that name; `confirmed` has the owner's yes."""
        started = time.perf_counter()
        name = tool_input.tool_name
        turn.calls_started += 1
        place = turn.calls_started
        events.async_tool_progress(self._hass, turn, name, "started")
        result: JsonValueType = None
        error: str | None = None
        error_type: str | None = None
        limit = asyncio.timeout(turn.profile.tool_timeout)
        try:
            self._check_limits(turn)
            async with limit:
                result = await self._async_run(turn, tool, tool_input, confirmed, place)
        except asyncio.CancelledError:  # the client is gone: what was begun still has an end
            self._report(turn, tool_input, started, None, "CancelledError")
            raise
        except Exception as err:  # noqa: BLE001 - whatever left here would end the turn without an answer
            error_type = _kind(err).__name__
            if limit.expired():
                text = tool.timed_out if tool is not None and tool.timed_out else TIMED_OUT
                error = text.format(seconds=turn.profile.tool_timeout)
            else:
                error = _sentence(name, err)
        self._report(turn, tool_input, started, result if error is None else error, error_type)
        return llm.ToolResult(data=envelope(result=result, error=error), error=error is not None)

    def _report(
        self, turn: Turn, tool_input: llm.ToolInput, started: float, result: JsonValueType, error_type: str | None
    ) -> None:
        record = ToolCallRecord(
            tool_name=tool_input.tool_name,
            parameters=masked(tool_input.tool_args),
            success=error_type is None,
            duration_ms=round((time.perf_counter() - started) * 1000),
            error=error_type,
        )
        async_record(self._hass, turn, record, result)
        status = "completed" if error_type is None else "failed"
        events.async_tool_progress(self._hass, turn, tool_input.tool_name, status)

    def _check_limits(self, turn: Turn) -> None:
        if turn.calls_left < 0:
            raise ToolLimitError(LIMIT_REACHED.format(limit=turn.profile.max_calls_per_turn))

    async def _async_run(
        self,
        turn: Turn,
        tool: HomeAgentTool | None,
        tool_input: llm.ToolInput,
        confirmed: Plan | None,
        place: int,
    ) -> JsonValueType:
        if tool is None:
            raise ToolNotFoundError(UNKNOWN_TOOL.format(name=tool_input.tool_name))
        if isinstance(tool_input.tool_args, BrokenArguments):
            raise ToolArgumentsError(BROKEN_ARGUMENTS)
        args, plan = await self._async_plan(turn, tool, tool_input.tool_args, confirmed, place)
        if plan.outside:  # before it runs: the words of an error come from outside as well
            turn.taints.add(tool.name)
        return await async_carry_out(self._hass, self.writes, turn, tool, args, plan)

    async def _async_plan(
        self, turn: Turn, tool: HomeAgentTool, arguments: dict[str, Any], confirmed: Plan | None, place: int
    ) -> tuple[dict[str, Any], Plan]:
        """Return the validated arguments and the plan, which may be carried out now."""
        args = tool.parameters(arguments)
        plan = await tool.plan(self._hass, args, turn)
        await async_check_permission(self._hass, turn.user, plan)
        decision = self._decide(turn, tool, plan)
        if confirmed is None:
            if decision.action is Verdict.ASK:
                call = Call(tool=tool, arguments=arguments, plan=plan, why=decision.why, place=place)
                self.confirmations.require(turn, call)
        elif plan != confirmed:
            raise ToolError("confirmation_changed")
        return args, plan


def _kind(err: Exception) -> type[Exception]:
    """Return the class by which the rest of the house hears of an error: ours where others say the same."""
    match err:
        case Unauthorized():
            return ToolPermissionError
        case probatio.Invalid():
            return ToolArgumentsError
    return type(err)


def _sentence(name: str, err: Exception) -> str:
    """Return what a model is told of an error; of one that nobody expects its class alone."""
    match err:
        case Unauthorized():
            return NOT_ALLOWED
        case HomeAssistantError() | probatio.Invalid():
            return str(err)
    LOGGER.error("Tool %s failed unexpectedly: %s", name, where_of(err))
    return type(err).__name__


def policy_from_options(hass: HomeAssistant, options: Mapping[str, Any], journal: Journal | None = None) -> Policy:
    """Return the policy of an entry's options; what is written is noted in the journal."""
    confirmations = Confirmations(hass, int(options.get(CONF_CONFIRM_TIMEOUT, TIMEOUT)), options.get(CONF_PINS))
    writes = Writes(seconds=float(options.get(CONF_VERIFY_SECONDS, DEFAULT_SECONDS)), journal=journal)
    return Policy(hass, rules_from_options(options), confirmations, writes)
