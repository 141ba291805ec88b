"""Domains that are only read: calendars, events, the weather, persons, sensors, cameras."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from homeassistant.components.weather.const import WeatherEntityFeature
from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import State

from ..domain import Details, Domain, Logged
from ..records import LOCKED_UNLOCKED, OPEN_CLOSED

FORECAST = "forecast"
"""The attribute by which a forecast is asked for."""
UPCOMING = timedelta(days=7)  # of a calendar

_FORECASTS = {
    WeatherEntityFeature.FORECAST_DAILY: "daily",
    WeatherEntityFeature.FORECAST_TWICE_DAILY: "twice_daily",
    WeatherEntityFeature.FORECAST_HOURLY: "hourly",
}


def _forecast(state: State, attributes: Collection[str]) -> dict[str, Any] | None:
    features = state.attributes.get(ATTR_SUPPORTED_FEATURES) or 0
    kind = next((kind for feature, kind in _FORECASTS.items() if features & feature), None)
    return {"type": kind} if kind is not None and FORECAST in attributes else None


DOMAINS = {
    "binary_sensor": Domain(rank=14, told_as=OPEN_CLOSED | LOCKED_UNLOCKED),
    "calendar": Domain(
        details=Details("get_events", "events", lambda _state, _attributes: {"duration": {"days": UPCOMING.days}}),
        holds_text=True,
        others_write=True,
    ),
    "camera": Domain(),
    "device_tracker": Domain(is_named=False),
    "event": Domain(others_write=True, is_setting=True),
    "geo_location": Domain(others_write=True, is_named=False),
    "image": Domain(is_named=False),
    "person": Domain(rank=15, says_little=True, logged=Logged.ALWAYS),
    "sensor": Domain(says_little=True),
    "sun": Domain(is_named=False),
    "update": Domain(others_attributes=("title", "release_summary", "release_url"), is_setting=True),
    "weather": Domain(
        line=("temperature", "humidity", "wind_speed"),
        attributes=("temperature", "humidity", "wind_speed", "pressure"),
        details=Details("get_forecasts", "forecast", _forecast),
        rank=16,
    ),
    "zone": Domain(is_named=False),
}
