"""Actions of wishes: list what waits, make a reminder, change and cancel."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from homeassistant.core import ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.helpers import config_validation as cv
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType
import probatio

from ..agent.wishes_by_hand import async_cancel, async_move, async_remind, async_turn_by_hand, known_wish
from ..support.errors import ToolError
from ..wishes.wish import Wish
from ..wishes.wishes import FARTHEST, MOST_OF_USER, wishes_of
from .call import ServiceAction, async_stored, invalid, moment, runtime_of

_SHORTEST = timedelta(seconds=1)
"""What is less ahead is now, and nothing to be waited for."""
_TIME: dict[Any, Any] = {
    probatio.Exclusive("at", "time"): moment,
    probatio.Exclusive("in", "time"): cv.positive_time_period,
}
MAKE_SCHEMA = probatio.Schema({probatio.Required("say"): cv.string, **_TIME})
CHANGE_SCHEMA = probatio.Schema({probatio.Required("id"): cv.string, **_TIME})
CANCEL_SCHEMA = probatio.Schema(
    {probatio.Required("id"): probatio.All(cv.ensure_list, [cv.string], probatio.Length(min=1, max=MOST_OF_USER))}
)


async def _async_list_wishes(call: ServiceCall) -> ServiceResponse:
    """Return what waits and the caller may know of, those with a time first: their own; administrators also the household's."""
    hass, runtime = call.hass, runtime_of(call.hass)
    turn = await async_turn_by_hand(hass, runtime, call.context)
    agents = {key: profile.name for key, profile in runtime.profiles.items()}
    return {"wishes": [_row(wish, agents.get(wish.agent_id)) for wish in wishes_of(hass).known_to(turn)]}


def _row(wish: Wish, agent: str | None) -> JsonObjectType:
    """Return a wish as a row, with its time where it has one."""
    at = wish.when.at
    return {
        "id": wish.id,
        "kind": wish.kind.value,
        "wish": wish.words,
        "text": wish.text or None,
        "at": dt_util.as_local(at).isoformat(timespec="seconds") if at is not None else None,
        "when": wish.when.said,
        "entity_ids": [*wish.targets],
        "asks": wish.asks,
        "status": wish.status.value,
        "made": wish.made.isoformat(timespec="seconds"),
        "agent": agent,
        "user_id": wish.user_id,
    }


def _at(call: ServiceCall) -> datetime:
    if "in" in call.data:
        span: timedelta = call.data["in"]
        if span < _SHORTEST:
            raise invalid("wish_past")
        return dt_util.utcnow() + min(span, FARTHEST + timedelta(days=1))  # what is too far is said so
    if "at" not in call.data:
        raise invalid("wish_no_time")
    at: datetime = call.data["at"]
    return at


@contextmanager
def _refusals() -> Generator[None]:
    """Raise what stands against a change of wishes as wrong input: it is told to the caller, and not logged as an error."""
    try:
        yield
    except ToolError as err:
        raise invalid(err.translation_key or err.key, **dict(err.translation_placeholders or {})) from err


async def _async_make_wish(call: ServiceCall) -> ServiceResponse:
    """Make a reminder for the caller; return it."""
    hass, runtime = call.hass, runtime_of(call.hass)
    turn = await async_turn_by_hand(hass, runtime, call.context)
    with _refusals():
        wish = await async_remind(hass, runtime, turn, call.data["say"], _at(call))
    return await async_stored(call, {"wish": _row(wish, turn.profile.name)}, wishes_of(hass))


async def _async_change_wish(call: ServiceCall) -> ServiceResponse:
    """Give a wish another time; return it."""
    hass, runtime = call.hass, runtime_of(call.hass)
    turn = await async_turn_by_hand(hass, runtime, call.context)
    with _refusals():
        wish = await async_move(hass, runtime, turn, known_wish(hass, turn, call.data["id"]), _at(call))
    profile = runtime.profiles.get(wish.agent_id)
    return await async_stored(call, {"wish": _row(wish, profile.name if profile else None)}, wishes_of(hass))


async def _async_cancel_wish(call: ServiceCall) -> ServiceResponse:
    """Cancel wishes by their ids, all or none; return what was cancelled."""
    hass, runtime = call.hass, runtime_of(call.hass)
    turn = await async_turn_by_hand(hass, runtime, call.context)
    with _refusals():
        wishes = [known_wish(hass, turn, wish_id) for wish_id in dict.fromkeys(call.data["id"])]
        await async_cancel(runtime, turn, wishes)
    agents = {key: profile.name for key, profile in runtime.profiles.items()}
    cancelled = [_row(wish, agents.get(wish.agent_id)) for wish in wishes]
    return await async_stored(call, {"cancelled": [*cancelled]}, wishes_of(hass))


ACTIONS = (
    ServiceAction("list_wishes", _async_list_wishes, response=SupportsResponse.ONLY),
    ServiceAction("make_wish", _async_make_wish, MAKE_SCHEMA),
    ServiceAction("change_wish", _async_change_wish, CHANGE_SCHEMA),
    ServiceAction("cancel_wish", _async_cancel_wish, CANCEL_SCHEMA),
)
