"""What a call should lead to, and whether a state shows it."""

from typing import Any

from homeassistant.core import State
import pytest

from custom_components.home_agent.home.actions import expectation
from custom_components.home_agent.turn.plan import ServiceCall


def shows(
    entity_id: str, before: tuple[str, dict[str, Any]], service: str, data: dict[str, Any], now: Any
) -> bool | None:
    """Return whether the state after a call shows what it asked for."""
    state, attributes = now if isinstance(now, tuple) else (now, {})
    domain = entity_id.partition(".")[0]
    call = ServiceCall(domain=domain, service=service, entity_ids=(entity_id,), data=data)
    expected = expectation(State(entity_id, *before), call)
    assert expected is not None
    return expected.reached(State(entity_id, *before), State(entity_id, state, attributes))


STEPS = {"percentage": 33, "percentage_step": 33.3}
ROOM = {"current_position": 40}
CHOICES = {"options": ["a", "b", "c"]}


@pytest.mark.parametrize(("entity_id", "before", "service", "data", "reached", "not_yet"), [
    ("light.a", ("off", {}), "turn_on", {}, "on", "off"),
    ("light.a", ("on", {}), "turn_off", {"transition": 2}, "off", "on"),
    ("light.a", ("on", {}), "toggle", {"brightness_pct": 50}, "off", "on"),
    ("light.a", ("off", {}), "toggle", {}, "on", "off"),
    ("light.a", ("on", {"brightness": 10}), "turn_on", {"brightness": 0}, "off", ("on", {"brightness": 10})),
    ("light.a", ("on", {"brightness": 10}), "turn_on", {"brightness_pct": 50}, ("on", {"brightness": 126}), ("on", {"brightness": 60})),
    ("light.a", ("on", {"brightness": 100}), "turn_on", {"brightness_step": 50}, ("on", {"brightness": 150}), ("on", {"brightness": 100})),
    ("light.a", ("on", {"brightness": 250}), "turn_on", {"brightness_step_pct": 20}, ("on", {"brightness": 255}), ("on", {"brightness": 250})),
    ("light.a", ("on", {}), "turn_on", {"color_name": "red"}, ("on", {"hs_color": (2, 98)}), ("on", {"hs_color": (240, 100)})),
    ("light.a", ("on", {}), "turn_on", {"rgb_color": [255, 255, 255]}, ("on", {"hs_color": (120, 3)}), ("on", {"hs_color": (120, 60)})),
    ("light.a", ("on", {}), "turn_on", {"hs_color": [350, 90]}, ("on", {"hs_color": (2, 92)}), ("on", {"hs_color": None})),
    ("light.a", ("on", {}), "turn_on", {"xy_color": [0.7, 0.3]}, ("on", {"hs_color": (359, 100)}), ("on", {"hs_color": (90, 100)})),
    ("light.a", ("on", {}), "turn_on", {"rgbw_color": [1, 2, 3, 4]}, ("on", {"rgbw_color": (0, 0, 0, 9)}), ("on", {"rgbw_color": (1, 2, 3)})),
    ("light.a", ("on", {"color_temp_kelvin": 4000}), "turn_on", {"color_temp_kelvin": 2700}, ("on", {"color_temp_kelvin": 2703}), ("on", {"color_temp_kelvin": 3500})),
    ("light.a", ("on", {"effect": "off"}), "turn_on", {"effect": "rainbow"}, ("on", {"effect": "rainbow"}), ("on", {"effect": "off"})),
    ("switch.a", ("on", {}), "toggle", {}, "off", "on"),
    ("fan.a", ("on", STEPS), "set_percentage", {"percentage": 50}, ("on", STEPS | {"percentage": 66}), ("on", STEPS)),
    ("fan.a", ("on", STEPS), "set_percentage", {"percentage": 0}, "off", ("on", STEPS)),
    ("fan.a", ("on", STEPS), "increase_speed", {}, ("on", {"percentage": 66}), ("on", STEPS)),
    ("fan.a", ("on", {"oscillating": False}), "oscillate", {"oscillating": True}, ("on", {"oscillating": True}), ("on", {"oscillating": False})),
    ("cover.a", ("closed", {}), "open_cover", {}, "open", "closed"),
    ("cover.a", ("open", ROOM), "open_cover", {}, ("open", {"current_position": 100}), ("open", ROOM)),
    ("cover.a", ("open", ROOM), "set_cover_position", {"position": 70}, ("open", {"current_position": 69}), ("opening", {"current_position": 69})),
    ("cover.a", ("open", {"current_tilt_position": 0}), "open_cover_tilt", {}, ("open", {"current_tilt_position": 100}), ("open", {"current_tilt_position": 50})),
    ("cover.a", ("open", {}), "toggle", {}, "closed", "open"),
    ("cover.a", ("opening", {}), "toggle", {}, "closing", "opening"),
    ("cover.a", ("opening", {}), "stop_cover", {}, "open", "opening"),
    ("valve.a", ("open", {}), "close_valve", {}, "closed", "open"),
    ("lock.a", ("unlocked", {}), "lock", {}, "locked", "locking"),
    ("lock.a", ("locked", {}), "unlock", {}, "unlocked", "jammed"),
    ("alarm_control_panel.a", ("disarmed", {}), "alarm_arm_home", {}, "armed_home", "arming"),
    ("climate.a", ("heat", {"temperature": 20}), "set_temperature", {"temperature": 21.3}, ("heat", {"temperature": 21.5}), ("heat", {"temperature": 20})),
    ("climate.a", ("heat", {"temperature": 20}), "set_temperature", {"temperature": 20.5}, ("heat", {"temperature": 20.5}), ("heat", {"temperature": 20})),
    ("climate.a", ("off", {}), "set_hvac_mode", {"hvac_mode": "heat"}, "heat", "off"),
    ("climate.a", ("off", {}), "turn_on", {}, "auto", "off"),
    ("climate.a", ("heat", {"preset_mode": "eco"}), "set_preset_mode", {"preset_mode": "away"}, ("heat", {"preset_mode": "away"}), ("heat", {"preset_mode": "eco"})),
    ("water_heater.a", ("eco", {"away_mode": "off"}), "set_away_mode", {"away_mode": True}, ("eco", {"away_mode": "on"}), ("eco", {"away_mode": "off"})),
    ("media_player.a", ("paused", {}), "media_play_pause", {}, "playing", "paused"),
    ("media_player.a", ("playing", {}), "media_play_pause", {}, "idle", "playing"),
    ("media_player.a", ("on", {"volume_level": 0.2}), "volume_set", {"volume_level": 0.5}, ("on", {"volume_level": 0.49}), ("on", {"volume_level": 0.3})),
    ("media_player.a", ("on", {"volume_level": 0.2}), "volume_up", {}, ("on", {"volume_level": 0.3}), ("on", {"volume_level": 0.2})),
    ("media_player.a", ("on", {"source": "a"}), "select_source", {"source": "b"}, ("on", {"source": "b"}), ("on", {"source": "a"})),
    ("number.a", ("1.0", {}), "set_value", {"value": 7}, "7.0", "1.0"),
    ("number.a", ("1.0", {}), "set_value", {"value": 7}, "7.0", "unavailable?"),
    ("input_number.a", ("1.0", {"max": 5}), "increment", {}, "2.0", "1.0"),
    ("counter.a", ("1", {}), "set_value", {"value": 3}, "3", "1"),
    ("select.a", ("a", CHOICES), "select_option", {"option": "b"}, "b", "a"),
    ("select.a", ("a", CHOICES), "select_last", {}, "c", "b"),
    ("select.a", ("a", CHOICES), "select_next", {}, "b", "a"),
    ("input_text.a", ("x", {}), "set_value", {"value": "y"}, "y", "x"),
    ("input_datetime.a", ("2027-01-01", {}), "set_datetime", {"date": "2027-02-03"}, "2027-02-03", "2027-01-01"),
    ("input_datetime.a", ("07:00:00", {}), "set_datetime", {"time": "08:30"}, "08:30:00", "07:00:00"),
    ("datetime.a", ("unknown", {}), "set_value", {"datetime": "2027-02-03T10:00:00+00:00"}, "2027-02-03T11:00:00+01:00", "2027-02-03T10:00:00+01:00"),
    ("vacuum.a", ("docked", {}), "start", {}, "cleaning", "docked"),
    ("lawn_mower.a", ("mowing", {}), "dock", {}, "docked", "returning"),
    ("timer.a", ("idle", {}), "start", {"duration": 60}, "active", "idle"),
    ("humidifier.a", ("on", {"humidity": 40}), "set_humidity", {"humidity": 50}, ("on", {"humidity": 50}), ("on", {"humidity": 40})),
    ("remote.a", ("off", {"current_activity": None}), "turn_on", {"activity": "TV"}, ("on", {"current_activity": "TV"}), ("on", {"current_activity": "BR"})),
    ("siren.a", ("off", {}), "turn_on", {"tone": "loud"}, "on", "off"),
    ("script.a", ("on", {}), "turn_off", {}, "off", "on"),
])  # fmt: skip
def test_what_shows_it(
    entity_id: str, before: tuple[str, dict[str, Any]], service: str, data: dict[str, Any], reached: Any, not_yet: Any
) -> None:
    assert shows(entity_id, before, service, data, reached) is True
    assert shows(entity_id, before, service, data, not_yet) is False


@pytest.mark.parametrize(("entity_id", "before", "service", "data"), [
    ("script.a", ("off", {}), "turn_on", {}),
    ("scene.a", ("unknown", {}), "turn_on", {"transition": 1}),
    ("button.a", ("unknown", {}), "press", {}),
    ("todo.a", ("3", {}), "add_item", {"item": "milk"}),
    ("media_player.a", ("playing", {}), "media_next_track", {}),
    ("media_player.a", ("playing", {"volume_level": 1.0}), "volume_up", {}),
    ("remote.a", ("on", {}), "send_command", {"command": "up"}),
    ("select.a", ("a", {"options": ["a"]}), "select_next", {}),
    ("select.a", ("a", {}), "select_first", {}),
    ("input_number.a", ("5.0", {"max": 5}), "increment", {}),
])  # fmt: skip
def test_no_expectation(entity_id: str, before: tuple[str, dict[str, Any]], service: str, data: dict[str, Any]) -> None:
    call = ServiceCall(domain=entity_id.partition(".")[0], service=service, entity_ids=(entity_id,), data=data)
    assert expectation(State(entity_id, *before), call) is None


@pytest.mark.parametrize(("entity_id", "before", "service", "data", "now"), [
    pytest.param("cover.a", ("open", {}), "set_cover_position", {"position": 50}, "open", id="no position"),
    pytest.param("media_player.a", ("on", {}), "volume_set", {"volume_level": 0.5}, "on", id="no volume"),
    pytest.param("cover.a", ("unknown", {}), "open_cover", {}, "unknown", id="no feedback at all"),
])  # fmt: skip
def test_what_an_entity_does_not_show_is_not_held_against_it(
    entity_id: str, before: tuple[str, dict[str, Any]], service: str, data: dict[str, Any], now: str
) -> None:
    assert shows(entity_id, before, service, data, now) is None
