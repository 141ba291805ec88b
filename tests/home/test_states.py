"""States as JSON for a model."""

from datetime import UTC, date, datetime, time, timedelta
from enum import IntEnum
from typing import Any

from homeassistant.components.light.const import ColorMode
from homeassistant.core import HomeAssistant, State
from homeassistant.util.json import JsonValueType
import pytest

from custom_components.home_agent.home.states import all_attributes, chosen_attributes, json_safe, result_of


class Level(IntEnum):
    LOW = 1


class Unknown:
    def __str__(self) -> str:
        return "x" * 300


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        (float("inf"), None),
        pytest.param(2**70, None, id="a number above 64 bits"),
        pytest.param(-(10**400), None, id="a number beyond all bounds"),
        pytest.param(2**64 - 1, 2**64 - 1, id="the highest number"),
        pytest.param("a\ud83d", "a?", id="half a surrogate pair"),
        pytest.param({"b\ud83d": "é"}, {"b?": "é"}, id="half a surrogate pair in a key"),
        ("a", "a"),
        ("x" * 300, "x" * 254 + "…"),
        (ColorMode.HS, "hs"),
        (Level.LOW, 1),
        (datetime(2026, 7, 1, 12, 0, 0, 5, UTC), "2026-07-01T05:00:00-07:00"),
        (datetime(2026, 12, 1, 12, tzinfo=UTC), "2026-12-01T04:00:00-08:00"),
        (date(2026, 7, 1), "2026-07-01"),
        (time(7, 30), "07:30:00"),
        (timedelta(minutes=1), 60.0),
        pytest.param({"b", "a"}, ["a", "b"], id="set"),  # its own id would differ between processes
        ((1, [2, {"c": (3,)}]), [1, [2, {"c": "…"}]]),
        ({1: {"a": {"b": {}}}}, {"1": {"a": {"b": "…"}}}),
        (list(range(22)), [*range(20), "… 2 more"]),
        (Unknown(), "x" * 255),
    ],
    ids=str,
)
def test_json_safe(hass: HomeAssistant, value: object, expected: JsonValueType) -> None:
    assert json_safe(value) == expected


def test_big_objects_are_cut(hass: HomeAssistant) -> None:
    cut = json_safe({str(number): number for number in range(25)})
    assert isinstance(cut, dict)
    assert (len(cut), cut["…"]) == (21, "5 more")


def test_what_opens_a_camera_is_never_told() -> None:
    attributes: dict[str, Any] = {"access_token": "t", "entity_picture": "/api?token=t", "icon": "mdi:x", "brand": "B"}
    state = State("camera.a", "idle", attributes)
    assert all_attributes(state) == {"brand": "B"}
    assert chosen_attributes(state, ["access_token", "brand", "none"]) == {"brand": "B", "none": None}


def test_result_has_what_matters_and_what_was_set() -> None:
    state = State("light.a", "on", {"brightness": 128, "min_mireds": 153, "effect": None, "flash_count": 2})
    assert result_of(state, ["flash_count", "transition"]) == {
        "entity_id": "light.a",
        "new_state": "on",
        "brightness": 128,
        "flash_count": 2,
    }
