"""The calls that bring an entity back."""

from typing import Any

from homeassistant.core import State
import pytest

from custom_components.home_agent.home.states import restoring_calls, snapshot
from custom_components.home_agent.home.tolerance import STATE


def way(entity_id: str, before: tuple[str, dict[str, Any]], now: tuple[str, dict[str, Any]]) -> Any:
    """Return the services and data that lead from now to before, of everything that differs."""
    was, is_now = snapshot(State(entity_id, *before)), State(entity_id, *now)
    names = {STATE, *was.attributes, *snapshot(is_now).attributes}
    calls = restoring_calls(was, is_now, frozenset(names))
    return None if calls is None else [(call.service, dict(call.data)) for call in calls]


SLIDER = {"supported_features": 15}
DAY = {"has_date": True, "has_time": False}
BOTH = {"has_date": True, "has_time": True}


@pytest.mark.parametrize(("entity_id", "before", "now", "calls"), [
    ("light.a", ("on", {"brightness": 9, "color_mode": "rgbw", "rgbw_color": [1, 2, 3, 4]}), ("off", {}), [("turn_on", {"brightness": 9, "rgbw_color": [1, 2, 3, 4]})]),
    ("light.a", ("on", {"brightness": 9, "color_mode": "brightness"}), ("on", {"brightness": 8, "color_mode": "brightness"}), [("turn_on", {"brightness": 9})]),
    ("light.a", ("on", {"effect": "off"}), ("on", {"effect": "x", "effect_list": ["off", "x"]}), [("turn_on", {"effect": "off"})]),
    ("light.a", ("on", {"effect": None}), ("on", {"effect": "x", "effect_list": ["x"]}), None),
    ("light.a", ("unknown", {}), ("on", {}), None),
    ("fan.a", ("on", {"percentage": 33, "preset_mode": None, "oscillating": True, "direction": "forward"}), ("off", {"percentage": 0, "oscillating": False, "direction": "reverse"}), [("turn_on", {}), ("set_percentage", {"percentage": 33}), ("oscillate", {"oscillating": True}), ("set_direction", {"direction": "forward"})]),
    ("fan.a", ("on", {"percentage": 50, "preset_mode": "auto"}), ("on", {"percentage": 100, "preset_mode": None}), [("set_preset_mode", {"preset_mode": "auto"})]),
    ("fan.a", ("off", {"percentage": 0}), ("on", {"percentage": 50}), [("turn_off", {})]),
    ("cover.a", ("open", {"current_position": 40}), ("closed", {"current_position": 0} | SLIDER), [("set_cover_position", {"position": 40})]),
    ("cover.a", ("open", {"current_tilt_position": 30}), ("open", {"current_tilt_position": 90, "supported_features": 128}), [("set_cover_tilt_position", {"tilt_position": 30})]),
    ("cover.a", ("closed", {"current_position": 0}), ("open", {"current_position": 100, "supported_features": 3}), [("close_cover", {})]),
    ("cover.a", ("open", {"current_position": 40}), ("closed", {"current_position": 0, "supported_features": 3}), None),
    ("cover.a", ("opening", {}), ("open", {}), None),
    ("cover.a", ("open", {"current_position": 40}), ("closing", {"current_position": 40} | SLIDER), [("stop_cover", {}), ("set_cover_position", {"position": 40})]),
    ("cover.a", ("open", {"current_position": 40}), ("closing", {"current_position": 30} | SLIDER), [("set_cover_position", {"position": 40})]),
    ("cover.a", ("open", {"current_position": 100}), ("closing", {"current_position": 100, "supported_features": 3}), [("open_cover", {})]),
    ("valve.a", ("open", {"current_position": 70}), ("closing", {"current_position": 70, "supported_features": 4}), [("set_valve_position", {"position": 70})]),
    ("valve.a", ("open", {}), ("closed", {}), [("open_valve", {})]),
    ("climate.a", ("heat", {"temperature": 20, "preset_mode": "none"}), ("off", {"temperature": 22, "preset_mode": "none"}), [("set_hvac_mode", {"hvac_mode": "heat"}), ("set_temperature", {"temperature": 20})]),
    ("climate.a", ("heat", {"temperature": 20, "preset_mode": "eco"}), ("heat", {"temperature": 22, "preset_mode": "none"}), [("set_preset_mode", {"preset_mode": "eco"})]),
    ("climate.a", ("heat_cool", {"target_temp_low": 18, "target_temp_high": 24}), ("heat_cool", {"target_temp_low": 20, "target_temp_high": 24}), [("set_temperature", {"target_temp_low": 18, "target_temp_high": 24})]),
    ("climate.a", ("off", {"temperature": 20}), ("off", {"temperature": 22}), [("set_temperature", {"temperature": 20})]),
    ("climate.a", ("heat", {"fan_mode": "low", "swing_mode": "on", "swing_horizontal_mode": "on", "humidity": 40}), ("heat", {"fan_mode": "high", "swing_mode": "off", "swing_horizontal_mode": "off", "humidity": 60}), [("set_humidity", {"humidity": 40}), ("set_fan_mode", {"fan_mode": "low"}), ("set_swing_mode", {"swing_mode": "on"}), ("set_swing_horizontal_mode", {"swing_horizontal_mode": "on"})]),
    ("water_heater.a", ("eco", {"operation_mode": "eco", "temperature": 50, "away_mode": "on"}), ("gas", {"operation_mode": "gas", "temperature": 60, "away_mode": "off"}), [("set_operation_mode", {"operation_mode": "eco"}), ("set_temperature", {"temperature": 50}), ("set_away_mode", {"away_mode": True})]),
    ("humidifier.a", ("on", {"humidity": 40, "mode": "auto"}), ("off", {"humidity": 50, "mode": "home"}), [("turn_on", {}), ("set_humidity", {"humidity": 40}), ("set_mode", {"mode": "auto"})]),
    ("media_player.a", ("playing", {"volume_level": 0.2, "is_volume_muted": False, "source": "TV"}), ("paused", {"volume_level": 0.5, "is_volume_muted": True, "source": "BR"}), [("media_play", {}), ("select_source", {"source": "TV"}), ("volume_set", {"volume_level": 0.2}), ("volume_mute", {"is_volume_muted": False})]),
    ("media_player.a", ("playing", {}), ("off", {}), [("turn_on", {})]),
    ("media_player.a", ("playing", {"volume_level": 1, "source": "TV"}), ("off", {"supported_features": 128 | 2048}), [("turn_on", {}), ("select_source", {"source": "TV"})]),
    ("media_player.a", ("playing", {}), ("off", {"supported_features": 256}), None),
    ("media_player.a", ("off", {"volume_level": 0.2}), ("on", {"volume_level": 0.5}), [("turn_off", {})]),
    ("alarm_control_panel.a", ("armed_home", {}), ("disarmed", {}), [("alarm_arm_home", {})]),
    ("lock.a", ("unlocked", {}), ("locked", {}), [("unlock", {})]),
    ("lock.a", ("open", {}), ("locked", {}), None),
    ("siren.a", ("off", {}), ("on", {}), [("turn_off", {})]),
    ("siren.a", ("on", {}), ("off", {}), None),
    ("timer.a", ("active", {}), ("idle", {}), None),
    ("vacuum.a", ("docked", {"fan_speed": "low"}), ("docked", {"fan_speed": "high"}), [("set_fan_speed", {"fan_speed": "low"})]),
    ("vacuum.a", ("docked", {}), ("cleaning", {"supported_features": 16}), [("return_to_base", {})]),
    ("vacuum.a", ("docked", {}), ("cleaning", {"supported_features": 8192}), None),
    ("vacuum.a", ("error", {}), ("cleaning", {}), None),
    ("lawn_mower.a", ("docked", {}), ("mowing", {"supported_features": 7}), [("dock", {})]),
    ("number.a", ("3.5", {}), ("7", {}), [("set_value", {"value": 3.5})]),
    ("text.a", ("old", {}), ("new", {}), [("set_value", {"value": "old"})]),
    ("text.a", ("12", {}), ("new", {}), [("set_value", {"value": "12"})]),
    ("date.a", ("2027-01-01", {}), ("2027-01-02", {}), [("set_value", {"date": "2027-01-01"})]),
    ("select.a", ("unknown", {}), ("b", {}), None),
    ("input_datetime.a", ("2027-01-01", DAY), ("2027-01-02", DAY), [("set_datetime", {"date": "2027-01-01"})]),
    ("input_datetime.a", ("2027-01-01 07:00:00", BOTH), ("2027-01-02 07:00:00", BOTH), [("set_datetime", {"date": "2027-01-01", "time": "07:00:00"})]),
    ("switch.a", ("on", {}), ("on", {}), []),
    ("scene.a", ("unknown", {}), ("2027-01-01T00:00:00+00:00", {}), None),
])  # fmt: skip
def test_way_back(
    entity_id: str, before: tuple[str, dict[str, Any]], now: tuple[str, dict[str, Any]], calls: Any
) -> None:
    assert way(entity_id, before, now) == calls
