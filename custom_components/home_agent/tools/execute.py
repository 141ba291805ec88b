"""Makes planned service calls and tells what came of them."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..const import LOGGER
from ..safety.plan import ServiceCall
from ..safety.tool import ToolRefusal
from ..safety.unexpected import where_of
from ..safety.write import Made
from ..slices import in_slices
from ..turn import Effect
from .states import result_of

MAX_RESULTS = 25  # entities told one by one


async def async_execute(hass: HomeAssistant, calls: Sequence[ServiceCall], context: Context) -> Made:
    """Make the calls in their order; the result tells the new states, their outcome, and what failed with which error.

    Raises `ToolRefusal` when nothing worked.
    """
    entity_ids = tuple(dict.fromkeys(entity_id for call in calls for entity_id in call.entity_ids))
    failed = await async_make(hass, calls, context)
    if len(failed) == len(entity_ids):
        told = [f"{entity_id}: {error}" for entity_id, error in failed.items()]
        left_out = [f"{len(told) - MAX_RESULTS} more failed"] if len(told) > MAX_RESULTS else []
        raise ToolRefusal("; ".join((*told[:MAX_RESULTS], *left_out)))

    def tell(effects: Mapping[str, Effect]) -> JsonValueType:
        return _result(hass, calls, entity_ids, failed, effects)

    return Made(tell=tell, failed=failed.keys())


async def async_make(hass: HomeAssistant, calls: Iterable[ServiceCall], context: Context) -> dict[str, str]:
    """Make the calls; return what failed, entity id and error.

    One call per entity, as Home Assistant's own intents make them: an error then belongs to one of them, whatever a
    device raises. All are begun at once, but in slices: there may be thousands.
    """
    failed: dict[str, str] = {}
    done: dict[str, list[str]] = {}

    async def make(call: ServiceCall, entity_id: str) -> None:
        try:
            await hass.services.async_call(
                call.domain, call.service, dict(call.data), True, context, target={ATTR_ENTITY_ID: entity_id}
            )
        except (HomeAssistantError, probatio.Invalid) as err:
            error = str(err) or type(err).__name__
        except Exception as err:  # noqa: BLE001 - one broken device does not hide what the others did
            LOGGER.error("%s.%s of %s failed unexpectedly: %s", call.domain, call.service, entity_id, where_of(err))
            error = type(err).__name__
        else:
            done.setdefault(entity_id, []).append(call.service)
            return
        before = f" ({', '.join(done[entity_id])} was done before)" if entity_id in done else ""
        failed[entity_id] = f"{error}{before}"

    for call in calls:
        waiting = [entity_id for entity_id in call.entity_ids if entity_id not in failed]
        async with asyncio.TaskGroup() as group:
            async for entity_id in in_slices(waiting):  # begun here, so that their first steps count for the slice
                group.create_task(make(call, entity_id), eager_start=True)
    return failed


def _result(
    hass: HomeAssistant,
    calls: Iterable[ServiceCall],
    entity_ids: Sequence[str],
    failed: Mapping[str, str],
    effects: Mapping[str, Effect],
) -> JsonValueType:
    touched: dict[str, set[str]] = {}
    for call in calls:
        for entity_id in call.entity_ids:
            touched.setdefault(entity_id, set()).update(call.data)
    worked = [entity_id for entity_id in entity_ids if entity_id not in failed]
    rows = [
        _row(hass, entity_id, touched[entity_id], effects.get(entity_id, Effect.DONE))
        for entity_id in worked[:MAX_RESULTS]
    ]
    if len(entity_ids) == 1:
        return rows[0]
    result: JsonObjectType = {"count": len(worked), "entities": [*rows]}
    if len(worked) > MAX_RESULTS:
        result["note"] = f"{len(worked) - MAX_RESULTS} more were changed and are not listed."
    if failed:
        told = list(failed.items())[:MAX_RESULTS]
        result["failed"] = [{"entity_id": entity_id, "error": error} for entity_id, error in told]
    if len(failed) > MAX_RESULTS:
        result["failed_count"] = len(failed)
    return result


def _row(hass: HomeAssistant, entity_id: str, touched: Iterable[str], effect: Effect) -> JsonObjectType:
    if (state := hass.states.get(entity_id)) is None:
        return {"entity_id": entity_id, "new_state": None, "outcome": effect.value, "note": "It is gone."}
    told = result_of(state, sorted(touched))
    return {"entity_id": told.pop("entity_id"), "new_state": told.pop("new_state"), "outcome": effect.value, **told}
