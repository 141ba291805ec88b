"""Actions of the journal: list what was done, undo it."""

from datetime import timedelta
from typing import cast

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.helpers import config_validation as cv, llm
from homeassistant.util import dt as dt_util
import probatio

from ..home.exposure import may_know
from ..policy.channels import async_put_outside
from ..policy.journal import JournalEntry, Sees
from ..policy.undo import HaUndo
from ..support.bounds import as_float
from ..support.encoding import plain_text
from ..support.errors import ToolError
from .call import CONFIRM_VIA, ServiceAction, async_may_see_all, async_turn, async_user, invalid, runtime_of

MAX_HOURS = 100_000
UNDO_SCHEMA = probatio.Schema(
    {
        probatio.Optional("action_id"): cv.string,
        probatio.Optional("conversation_id"): probatio.All(cv.string, plain_text),
        probatio.Optional("force", default=False): cv.boolean,
        **CONFIRM_VIA,
    }
)
LIST_ACTIONS_SCHEMA = probatio.Schema(
    {
        probatio.Optional("hours"): probatio.All(as_float, probatio.Range(min=0)),
        probatio.Optional("conversation_id"): probatio.All(cv.string, plain_text),
        probatio.Optional(ATTR_ENTITY_ID): probatio.All(probatio.Any(str, [str]), cv.entity_ids),
        probatio.Optional("limit", default=50): cv.positive_int,
    }
)


async def _async_undo(call: ServiceCall) -> ServiceResponse:
    """Undo one action, or the caller's last; return the result, or the question before it."""
    runtime, may_see = runtime_of(call.hass), await _async_may_see(call)
    action_id, conversation_id = call.data.get("action_id"), call.data.get("conversation_id")

    def meant(action: JournalEntry) -> bool:
        if action_id is None and conversation_id is None:
            return action.user_id == call.context.user_id
        return may_see(action) and conversation_id in (None, action.conversation_id)

    tool = HaUndo(runtime.journal, force=call.data["force"], sees=meant)
    profile = runtime.registry.default
    turn = await async_turn(call, profile, conversation_id or call.context.id)
    arguments = {"action_id": action_id} if action_id else {}
    try:
        tool.way(call.hass, arguments, turn)
    except ToolError as err:
        raise invalid(str(err.translation_key)) from err
    result = await runtime.policy.async_call(turn, tool, llm.ToolInput(tool_name=tool.name, tool_args=arguments))
    if turn.record.request_id is not None:
        return await async_put_outside(call.hass, runtime.policy, turn)
    if result.error:
        raise invalid("tool_refused", detail=str(result.data["error"]))
    return cast(ServiceResponse, result.data["result"])


async def _async_list_actions(call: ServiceCall) -> ServiceResponse:
    """Return the actions, newest first. Changes by a scene or a script are left out if the caller may not see their entities."""
    may_see = await _async_may_see(call)
    user = await async_user(call)
    hours, entity_ids = call.data.get("hours"), set(call.data.get(ATTR_ENTITY_ID, ()))
    if hours is not None and not hours <= MAX_HOURS:
        raise invalid("list_hours", most=str(MAX_HOURS))
    begin = dt_util.utcnow() - timedelta(hours=hours) if hours is not None else None

    def knows(entity_id: str) -> bool:
        return may_know(call.hass, user, entity_id)

    def concerned(action: JournalEntry) -> bool:
        found = entity_ids.intersection(action.before)
        return bool(found.difference(action.set_off)) or any(knows(entity_id) for entity_id in found)

    def wanted(action: JournalEntry) -> bool:
        return (
            may_see(action)
            and (begin is None or action.when >= begin)
            and call.data.get("conversation_id") in (None, action.conversation_id)
            and (not entity_ids or concerned(action))
        )

    found = runtime_of(call.hass).journal.newest_first(wanted)
    return {"actions": [action.as_told(knows) for action in found[: call.data["limit"]]]}


async def _async_may_see(call: ServiceCall) -> Sees:
    """Return which actions the caller may see: administrators and automations all, others their own."""
    if await async_may_see_all(call):
        return lambda action: True
    return lambda action: action.user_id == call.context.user_id


ACTIONS = (
    ServiceAction("undo", _async_undo, UNDO_SCHEMA),
    ServiceAction("list_actions", _async_list_actions, LIST_ACTIONS_SCHEMA, SupportsResponse.ONLY),
)
