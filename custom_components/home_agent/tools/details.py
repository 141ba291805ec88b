"""What is worth telling about an entity besides its state: list items, calendar events, a forecast, a timer's rest."""

from datetime import timedelta
from typing import Any

from homeassistant.components.weather.const import WeatherEntityFeature
from homeassistant.const import ATTR_SUPPORTED_FEATURES, STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, State
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType

from ..safety.plan import ServiceCall
from .states import json_safe

FORECAST = "forecast"
MAX_ROWS = 30  # items, events or forecasts of one entity
UPCOMING = timedelta(days=7)  # of a calendar

_FORECASTS = {
    WeatherEntityFeature.FORECAST_DAILY: "daily",
    WeatherEntityFeature.FORECAST_TWICE_DAILY: "twice_daily",
    WeatherEntityFeature.FORECAST_HOURLY: "hourly",
}
_ROWS = {"get_items": "items", "get_events": "events", "get_forecasts": "forecast"}


def detail_call(hass: HomeAssistant, state: State, attributes: list[str]) -> ServiceCall | None:
    """Return the service that knows more about this entity; a forecast is asked for by the attribute `forecast`."""
    call: tuple[str, dict[str, Any]] | None = None
    match state.domain:
        case "todo":
            call = (
                "get_items",
                {"status": ["needs_action", "completed"] if "completed" in attributes else ["needs_action"]},
            )
        case "calendar":
            call = "get_events", {"duration": {"days": UPCOMING.days}}
        case "weather" if FORECAST in attributes and (kind := _forecast_kind(state)):
            call = "get_forecasts", {"type": kind}
    if call is None or state.state == STATE_UNAVAILABLE or not hass.services.has_service(state.domain, call[0]):
        return None
    return ServiceCall(
        domain=state.domain, service=call[0], entity_ids=(state.entity_id,), data=call[1], returns_response=True
    )


def details_from_response(call: ServiceCall, response: Any) -> JsonObjectType:
    """Return the rows of a service's response under a name that says what they are."""
    name = _ROWS[call.service]
    rows = (response or {}).get(call.entity_ids[0], {}).get(name) or []
    result: JsonObjectType = {name: [json_safe(_useful(row)) for row in rows[:MAX_ROWS]]}
    return result | ({"more": len(rows) - MAX_ROWS} if len(rows) > MAX_ROWS else {})


def timer_rest(state: State) -> JsonObjectType:
    """Return how many seconds a running timer has left; its own attribute is as old as its start."""
    if state.domain != "timer" or state.state != "active":
        return {}
    ends = dt_util.parse_datetime(str(state.attributes.get("finishes_at")))
    return {} if ends is None else {"seconds_left": max(round((ends - dt_util.utcnow()).total_seconds()), 0)}


def _forecast_kind(state: State) -> str | None:
    features = state.attributes.get(ATTR_SUPPORTED_FEATURES) or 0
    return next((kind for feature, kind in _FORECASTS.items() if features & feature), None)


def _useful(row: Any) -> Any:
    return {key: value for key, value in row.items() if value not in (None, "") and key != "uid"}
