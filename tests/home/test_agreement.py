"""Whether what is said of an entity is so."""

from typing import Any

from homeassistant.core import State
import pytest

from custom_components.home_agent.home.agreement import agrees


@pytest.mark.parametrize(("entity_id", "state", "said", "verdict"), [
    ("light.a", "on", {"on"}, True), ("light.a", "off", {"on"}, False), ("light.a", "off", {"off", "closed"}, True),
    ("light.a", "on", {"on", "off"}, None), ("light.a", "unavailable", {"on"}, None),
    ("light.a", "on", {"locked"}, None), ("media_player.a", "playing", {"on"}, True),
    ("media_player.a", "playing", {"off"}, False), ("media_player.a", "standby", {"off"}, True),
    ("media_player.a", "idle", {"on"}, True), ("climate.a", "heat", {"off"}, False),
    ("cover.a", "opening", {"open"}, True), ("cover.a", "closing", {"open"}, False),
    ("cover.a", "closed", {"closed"}, True), ("valve.a", "open", {"closed"}, False),
    ("lock.a", "locked", {"locked"}, True), ("lock.a", "unlocked", {"locked"}, False),
    ("lock.a", "locking", {"locked"}, True), ("lock.a", "unlocked", {"open"}, None),
    ("lock.a", "unlocked", {"closed"}, None), ("lock.a", "locked", {"closed", "locked"}, True),
    ("lock.a", "unlocked", {"closed", "locked"}, False), ("lock.a", "jammed", {"locked"}, None),
    ("sensor.a", "on", {"off"}, None), ("scene.a", "unknown", {"on"}, None),
])  # fmt: skip
def test_states(entity_id: str, state: str, said: set[str], verdict: bool | None) -> None:
    assert agrees(State(entity_id, state), said) is verdict


def test_what_a_sensor_of_a_door_shows() -> None:
    assert agrees(State("binary_sensor.a", "on", {"device_class": "door"}), {"closed"}) is False
    assert agrees(State("binary_sensor.a", "on", {"device_class": "motion"}), {"closed"}) is None


@pytest.mark.parametrize(("entity_id", "state", "attributes", "numbers", "verdict"), [
    ("climate.a", "heat", {"temperature": 21}, [21.0], True),
    ("climate.a", "heat", {"temperature": 19, "current_temperature": 21}, [21.0], True),
    ("climate.a", "heat", {"temperature": 19}, [21.0], False),
    ("climate.a", "heat", {"temperature": None}, [21.0], None),
    ("climate.a", "heat", {"target_temp_low": 18, "target_temp_high": 24}, [24.0], True),
    ("light.a", "on", {"brightness": 128}, [50.0], True),
    ("light.a", "on", {"brightness": 255}, [50.0], False),
    ("light.a", "off", {}, [50.0], False),
    ("media_player.a", "playing", {"volume_level": 0.3}, [30.0], True),
    ("cover.a", "open", {"current_position": 40}, [40.0], True),
    ("number.a", "7.5", {}, [7.5], True),
    ("sensor.a", "7.5", {}, [9.0], None),
    ("light.a", "on", {"brightness": 255}, [], None),
])  # fmt: skip
def test_numbers(
    entity_id: str, state: str, attributes: dict[str, Any], numbers: list[float], verdict: bool | None
) -> None:
    assert agrees(State(entity_id, state, attributes), (), numbers) is verdict


def test_a_number_that_was_asked_for_has_to_be_set() -> None:
    state = State("climate.a", "heat", {"temperature": 19, "current_temperature": 21})
    assert agrees(state, (), [21.0], as_set=True) is False
