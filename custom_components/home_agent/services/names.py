"""Actions of names that were taught."""

from homeassistant.const import ATTR_NAME
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, callback
from homeassistant.helpers import config_validation as cv, llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..home.exposure import may_tell
from ..home.taught_names import TaughtName, has_alias, taught_names_of, title_of
from ..policy.channels import async_put_outside
from ..policy.teaching import ForgetName
from ..support.text import phrase
from ..turn.proposal import ProposalStatus
from .call import async_register, async_turn, invalid, runtime_of

FORGET_TAUGHT_NAME_SCHEMA = probatio.Schema({probatio.Required(ATTR_NAME): cv.string})


async def _async_list_taught_names(call: ServiceCall) -> ServiceResponse:
    """Return the names that were taught, proposed and declined, newest first, as far as the caller may know of them.

    Administrators and automations see all, other users what was taught of what they may know, and what they proposed.
    """
    hass = call.hass
    user = await hass.auth.async_get_user(call.context.user_id) if call.context.user_id else None
    is_others = call.context.user_id is not None and not (user is not None and user.is_admin)
    rows: list[JsonValueType] = []
    for row in reversed(taught_names_of(hass).rows()):
        if is_others and row.user_id != call.context.user_id:
            if row.status is not ProposalStatus.APPROVED or not may_tell(hass, row.target, user):
                continue
        rows.append(_taught_name(hass, row))
    return {"names": rows}


def _taught_name(hass: HomeAssistant, row: TaughtName) -> JsonObjectType:
    """Return a row of the list: what is called what, since when and by whom, and whether its thing still has the name."""
    return {
        **row.as_dict(),
        "target_name": title_of(hass, row.target),
        "present": has_alias(hass, row.target, row.name),
    }


async def _async_forget_taught_name(call: ServiceCall) -> ServiceResponse:
    """Take a taught name away from its thing, or forget that it was proposed or declined; return what was forgotten."""
    hass, runtime = call.hass, runtime_of(call.hass)
    names, wanted = taught_names_of(hass), phrase(call.data[ATTR_NAME])
    found = [row for row in names.rows() if phrase(row.name) == wanted]
    if not found:
        raise invalid("taught_name_not_found", name=call.data[ATTR_NAME])
    forgotten: list[JsonValueType] = [_taught_name(hass, row) for row in found]
    profile = runtime.registry.default
    turn, tool = await async_turn(call, profile, call.context.id), ForgetName()
    for row in found:
        if row.status is not ProposalStatus.APPROVED:
            names.async_forget(row.target, row.name)
            continue
        arguments = {"target": row.target, "name": row.name}
        result = await runtime.policy.async_call(turn, tool, llm.ToolInput(tool_name=tool.name, tool_args=arguments))
        if result.error and turn.record.request_id is None:
            raise invalid("tool_refused", detail=str(result.data["error"]))
    if turn.record.request_id is not None:
        return await async_put_outside(hass, runtime.policy, turn)
    return {"forgotten": forgotten}


@callback
def async_register_names(hass: HomeAssistant) -> None:
    """Register them; only administrators have a name forgotten."""
    listing = ("list_taught_names", _async_list_taught_names, probatio.Schema({}), SupportsResponse.ONLY)
    forget = ("forget_taught_name", _async_forget_taught_name, FORGET_TAUGHT_NAME_SCHEMA, SupportsResponse.OPTIONAL)
    async_register(hass, [listing])
    async_register(hass, [forget], admin=True)
