"""Every domain: what an action comes to, what is refused and what the refusal offers instead."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.home.actions import abilities, known_actions, members, service_calls
from custom_components.home_agent.home.domains import DOMAINS
from custom_components.home_agent.support.errors import ToolRefusal
from tests.entities import Put

LIGHT = {"supported_color_modes": ["color_temp", "hs"], "supported_features": 44, "effect_list": ["Rainbow", "none"],
         "min_color_temp_kelvin": 2000, "max_color_temp_kelvin": 6500}  # fmt: skip
FAN = {"supported_features": 63, "preset_modes": ["auto", "sleep"]}
COVER = {"supported_features": 255}
CLIMATE = {
    "supported_features": 1023, "hvac_modes": ["off", "heat", "cool"], "preset_modes": ["eco", "away"],
    "fan_modes": ["low", "high"], "swing_modes": ["on", "off"], "min_temp": 7, "max_temp": 35,
    "min_humidity": 30, "max_humidity": 70, "swing_horizontal_modes": ["left", "right"],
}  # fmt: skip
PLAYER = {"supported_features": 2**23 - 1, "source_list": ["TV", "Radio"], "sound_mode_list": ["Movie"]}
VACUUM = {"supported_features": 32767, "fan_speed_list": ["quiet", "turbo"]}
HUMIDIFIER = {"supported_features": 1, "available_modes": ["home", "eco"], "min_humidity": 20, "max_humidity": 80}
HEATER = {"supported_features": 15, "operation_list": ["eco", "gas"], "min_temp": 30, "max_temp": 80}
NUMBER = {"min": 0, "max": 10, "step": 1, "unit_of_measurement": "ppm"}
CHOICE = {"options": ["Home Alone", "Party"]}
SIREN = {"supported_features": 31, "available_tones": ["fire", "alarm"]}
REMOTE = {"supported_features": 4, "activity_list": ["Watch TV"]}
TODO = {"supported_features": 127}
WHEN = {"has_date": True, "has_time": True}

type Call = tuple[str, dict[str, Any]]


@pytest.mark.parametrize(("entity_id", "state", "attributes", "action", "parameters", "expected"), [
    ("light.a", "off", LIGHT, "turn_on", {}, [("turn_on", {})]),
    ("light.a", "off", LIGHT, "turn_on", {"brightness_pct": "50%"}, [("turn_on", {"brightness_pct": 50})]),
    ("light.a", "off", LIGHT, "turn_on", {"brightness": "50%"}, [("turn_on", {"brightness": 128})]),
    ("light.a", "on", LIGHT, "set_value", {"value": 30}, [("turn_on", {"brightness_pct": 30})]),
    ("light.a", "on", LIGHT, "set_brightness", {"value": 30}, [("turn_on", {"brightness": 30})]),
    ("light.a", "on", LIGHT, "set_value", {"color": "Warm_White".lower().replace("warm_", "")}, [("turn_on", {"color_name": "white"})]),
    ("light.a", "on", LIGHT, "set_value", {"color": "#ff0000"}, [("turn_on", {"rgb_color": [255, 0, 0]})]),
    ("light.a", "on", LIGHT, "set_value", {"color": [1, 2, 3]}, [("turn_on", {"rgb_color": [1, 2, 3]})]),
    ("light.a", "on", LIGHT, "set_value", {"color_temp": 370}, [("turn_on", {"color_temp_kelvin": 2702})]),
    ("light.a", "on", LIGHT, "set_value", {"kelvin": "2700 K"}, [("turn_on", {"color_temp_kelvin": 2700})]),
    ("light.a", "on", LIGHT, "set_value", {"effect": "rainbow", "transition": "2 s"}, [("turn_on", {"effect": "Rainbow", "transition": 2})]),
    ("light.a", "on", LIGHT, "turn_off", {"transition": 5}, [("turn_off", {"transition": 5})]),
    ("light.a", "on", LIGHT, "set_value", {"state": "off"}, [("turn_off", {})]),
    ("light.a", "on", LIGHT, "toggle", {}, [("toggle", {})]),
    ("light.a", "on", LIGHT, "dim", {"brightness_pct": 10, "brightness": None}, [("turn_on", {"brightness_pct": 10})]),
    ("switch.a", "on", {}, "turn_off", {}, [("turn_off", {})]),
    ("input_boolean.a", "on", {}, "toggle", {}, [("toggle", {})]),
    ("fan.a", "off", FAN, "turn_on", {"percentage": "40 %", "oscillating": "yes"}, [("turn_on", {"percentage": 40}), ("oscillate", {"oscillating": True})]),
    ("fan.a", "on", FAN, "set_value", {"speed": "medium"}, [("set_percentage", {"percentage": 66})]),
    ("fan.a", "on", FAN, "set_value", {"value": 20}, [("set_percentage", {"percentage": 20})]),
    ("fan.a", "on", FAN, "set_value", {"speed": "Sleep"}, [("set_preset_mode", {"preset_mode": "sleep"})]),
    ("fan.a", "on", FAN, "set_direction", {"direction": "Reverse"}, [("set_direction", {"direction": "reverse"})]),
    ("fan.a", "on", FAN, "increase_speed", {}, [("increase_speed", {})]),
    ("cover.a", "closed", COVER, "turn_on", {}, [("open_cover", {})]),
    ("cover.a", "open", COVER, "turn_off", {}, [("close_cover", {})]),
    ("cover.a", "open", {"supported_features": 48}, "turn_off", {}, [("close_cover_tilt", {})]),
    ("cover.a", "open", COVER, "toggle", {}, [("close_cover", {})]),
    ("cover.a", "closing", COVER, "toggle", {}, [("open_cover", {})]),
    ("cover.a", "unknown", COVER, "toggle", {}, [("toggle", {})]),
    ("cover.a", "open", COVER, "open_cover", {}, [("open_cover", {})]),
    ("cover.a", "open", COVER, "set_value", {"position": "30%", "tilt": 10}, [("set_cover_position", {"position": 30}), ("set_cover_tilt_position", {"tilt_position": 10})]),
    ("cover.a", "open", {"supported_features": 128}, "set_value", {"value": 10}, [("set_cover_tilt_position", {"tilt_position": 10})]),
    ("cover.a", "opening", COVER, "set_value", {"stop": True}, [("stop_cover", {})]),
    ("cover.a", "opening", COVER, "set_value", {"command": "stop"}, [("stop_cover", {})]),
    ("climate.a", "off", CLIMATE, "turn_on", {"temperature": "21 °C"}, [("turn_on", {}), ("set_temperature", {"temperature": 21})]),
    ("climate.a", "heat", CLIMATE, "set_value", {"temperature": 21.5, "hvac_mode": "COOL"}, [("set_hvac_mode", {"hvac_mode": "cool"}), ("set_temperature", {"temperature": 21.5})]),
    ("climate.a", "heat", CLIMATE, "set_temperature", {"temperature": "70 °F"}, [("set_temperature", {"temperature": 21.1})]),
    ("climate.a", "heat", CLIMATE, "set_value", {"value": "off"}, [("turn_off", {})]),
    ("climate.a", "heat", CLIMATE, "set_value", {"target_temp_low": 18, "target_temp_high": 22}, [("set_temperature", {"target_temp_low": 18, "target_temp_high": 22})]),
    ("climate.a", "heat", CLIMATE, "set_value", {"preset": "Eco", "fan_mode": "low", "swing": "on", "humidity": 40, "swing_horizontal_mode": "left"},
     [("set_preset_mode", {"preset_mode": "eco"}), ("set_humidity", {"humidity": 40}), ("set_fan_mode", {"fan_mode": "low"}), ("set_swing_mode", {"swing_mode": "on"}), ("set_swing_horizontal_mode", {"swing_horizontal_mode": "left"})]),
    ("climate.a", "off", {**CLIMATE, "supported_features": 1}, "turn_on", {}, [("set_hvac_mode", {"hvac_mode": "heat"})]),
    ("climate.a", "heat", {**CLIMATE, "supported_features": 1}, "turn_off", {}, [("set_hvac_mode", {"hvac_mode": "off"})]),
    ("climate.a", "heat", CLIMATE, "toggle", {}, [("turn_off", {})]),
    ("lock.a", "unlocked", {}, "turn_on", {}, [("lock", {})]),
    ("lock.a", "locked", {}, "turn_off", {"code": 1234}, [("unlock", {"code": "1234"})]),
    ("lock.a", "locked", {}, "toggle", {}, [("unlock", {})]),
    ("lock.a", "unlocked", {}, "toggle", {}, [("lock", {})]),
    ("lock.a", "locked", {}, "unlock", {}, [("unlock", {})]),
    ("lock.a", "locked", {"supported_features": 1}, "open", {}, [("open", {})]),
    ("lock.a", "locked", {}, "set_value", {"state": "unlocked"}, [("unlock", {})]),
    ("lock.a", "locked", {}, "set_value", {"state": "Open"}, [("unlock", {})]),
    ("lock.a", "unlocked", {}, "set_value", {"state": "closed"}, [("lock", {})]),
    ("lock.a", "unlocked", {}, "set_value", {"value": "locked"}, [("lock", {})]),
    ("media_player.a", "off", PLAYER, "turn_on", {"source": "tv"}, [("turn_on", {}), ("select_source", {"source": "TV"})]),
    ("media_player.a", "idle", PLAYER, "set_value", {"volume": 40}, [("volume_set", {"volume_level": 0.4})]),
    ("media_player.a", "idle", PLAYER, "set_value", {"volume": 1}, [("volume_set", {"volume_level": 0.01})]),
    ("media_player.a", "idle", PLAYER, "set_value", {"volume_level": 0.4}, [("volume_set", {"volume_level": 0.4})]),
    ("media_player.a", "idle", PLAYER, "set_value", {"volume_level": "35%"}, [("volume_set", {"volume_level": 0.35})]),
    ("media_player.a", "idle", PLAYER, "set_volume", {"value": 0.2}, [("volume_set", {"volume_level": 0.2})]),
    ("media_player.a", "playing", PLAYER, "set_value", {"command": "pause"}, [("media_pause", {})]),
    ("media_player.a", "playing", PLAYER, "media_pause", {}, [("media_pause", {})]),
    ("media_player.a", "playing", PLAYER, "set_value", {"pause": True}, [("media_pause", {})]),
    ("media_player.a", "playing", PLAYER, "set_value", {"state": "paused"}, [("media_pause", {})]),
    ("media_player.a", "playing", PLAYER, "next", {}, [("media_next_track", {})]),
    ("media_player.a", "playing", PLAYER, "mute", {}, [("volume_mute", {"is_volume_muted": True})]),
    ("media_player.a", "playing", PLAYER, "set_value", {"muted": "off", "shuffle": True, "repeat": "ALL"},
     [("volume_mute", {"is_volume_muted": False}), ("shuffle_set", {"shuffle": True}), ("repeat_set", {"repeat": "all"})]),
    ("media_player.a", "playing", PLAYER, "volume_up", {}, [("volume_up", {})]),
    ("media_player.a", "playing", {"supported_features": 1}, "turn_off", {}, [("media_pause", {})]),
    ("vacuum.a", "docked", VACUUM, "turn_on", {}, [("start", {})]),
    ("vacuum.a", "cleaning", VACUUM, "turn_off", {}, [("return_to_base", {})]),
    ("vacuum.a", "cleaning", VACUUM, "toggle", {}, [("return_to_base", {})]),
    ("vacuum.a", "cleaning", VACUUM, "set_value", {"command": "pause"}, [("pause", {})]),
    ("vacuum.a", "cleaning", VACUUM, "set_fan_speed", {"speed": "Turbo"}, [("set_fan_speed", {"fan_speed": "turbo"})]),
    ("lawn_mower.a", "docked", {"supported_features": 7}, "start", {}, [("start_mowing", {})]),
    ("lawn_mower.a", "mowing", {"supported_features": 7}, "turn_off", {}, [("dock", {})]),
    ("valve.a", "closed", {"supported_features": 15}, "turn_on", {}, [("open_valve", {})]),
    ("valve.a", "closing", {"supported_features": 15}, "toggle", {}, [("open_valve", {})]),
    ("valve.a", "unknown", {"supported_features": 15}, "toggle", {}, [("toggle", {})]),
    ("valve.a", "open", {"supported_features": 15}, "toggle", {}, [("close_valve", {})]),
    ("valve.a", "open", {"supported_features": 15}, "set_value", {"value": 0}, [("set_valve_position", {"position": 0})]),
    ("humidifier.a", "off", HUMIDIFIER, "turn_on", {"humidity": "45 %", "mode": "Eco"}, [("turn_on", {}), ("set_humidity", {"humidity": 45}), ("set_mode", {"mode": "eco"})]),
    ("water_heater.a", "gas", HEATER, "set_value", {"temperature": 55, "mode": "eco", "away": "no"},
     [("set_operation_mode", {"operation_mode": "eco"}), ("set_temperature", {"temperature": 55}), ("set_away_mode", {"away_mode": False})]),
    ("water_heater.a", "gas", HEATER, "toggle", {}, [("turn_off", {})]),
    ("number.a", "3", NUMBER, "set_value", {"value": "7 ppm"}, [("set_value", {"value": 7})]),
    ("input_number.a", "3", NUMBER, "set_value", {"value": "7,5"}, [("set_value", {"value": 7.5})]),
    ("input_number.a", "3", NUMBER, "increase", {}, [("increment", {})]),
    ("select.a", "Party", CHOICE, "set_value", {"option": "home_alone"}, [("select_option", {"option": "Home Alone"})]),
    ("input_select.a", "Party", CHOICE, "set_value", {"value": "party"}, [("select_option", {"option": "Party"})]),
    ("input_select.a", "Party", CHOICE, "next", {}, [("select_next", {})]),
    ("text.a", "", {"min": 0, "max": 10, "mode": "text"}, "set_value", {"text": "hi"}, [("set_value", {"value": "hi"})]),
    ("input_text.a", "", {}, "set_value", {"value": 12}, [("set_value", {"value": "12"})]),
    ("date.a", "unknown", {}, "set_value", {"value": "2027-01-31"}, [("set_value", {"date": "2027-01-31"})]),
    ("time.a", "unknown", {}, "set_value", {"time": "18:30"}, [("set_value", {"time": "18:30:00"})]),
    ("datetime.a", "unknown", {}, "set_value", {"value": "2027-01-31T18:30:00+00:00"}, [("set_value", {"datetime": "2027-01-31T18:30:00+00:00"})]),
    ("input_datetime.a", "x", WHEN, "set_value", {"value": "2027-01-31 18:30"}, [("set_datetime", {"datetime": "2027-01-31 18:30:00"})]),
    ("input_datetime.a", "x", {"has_time": True}, "set_value", {"value": "18:30"}, [("set_datetime", {"time": "18:30:00"})]),
    ("input_datetime.a", "x", {"has_date": True}, "set_value", {"date": "2027-01-31"}, [("set_datetime", {"date": "2027-01-31"})]),
    ("button.a", "unknown", {}, "turn_on", {}, [("press", {})]),
    ("input_button.a", "unknown", {}, "press", {}, [("press", {})]),
    ("timer.a", "idle", {}, "turn_on", {"duration": "5 minutes"}, [("start", {"duration": 300})]),
    ("timer.a", "idle", {}, "set_value", {"value": "00:01:30"}, [("start", {"duration": 90})]),
    ("timer.a", "active", {}, "turn_off", {}, [("cancel", {})]),
    ("timer.a", "active", {}, "pause", {}, [("pause", {})]),
    ("counter.a", "1", {}, "increment", {}, [("increment", {})]),
    ("counter.a", "1", {"maximum": 9}, "set_value", {"value": 9}, [("set_value", {"value": 9})]),
    ("siren.a", "off", SIREN, "turn_on", {"tone": "Fire", "duration": "10 s", "volume_level": 50}, [("turn_on", {"tone": "fire", "duration": 10, "volume_level": 0.5})]),
    ("remote.a", "off", REMOTE, "turn_on", {"activity": "watch tv"}, [("turn_on", {"activity": "Watch TV"})]),
    ("remote.a", "on", REMOTE, "set_value", {"command": "power", "device": "tv"}, [("send_command", {"command": "power", "device": "tv"})]),
    ("alarm_control_panel.a", "disarmed", {"supported_features": 63}, "turn_on", {}, [("alarm_arm_away", {})]),
    ("alarm_control_panel.a", "disarmed", {"supported_features": 1}, "turn_on", {}, [("alarm_arm_home", {})]),
    ("alarm_control_panel.a", "disarmed", {"supported_features": 63}, "turn_on", {"mode": "Night", "code": "1"}, [("alarm_arm_night", {"code": "1"})]),
    ("alarm_control_panel.a", "disarmed", {"supported_features": 63}, "set_value", {"value": "armed_home"}, [("alarm_arm_home", {})]),
    ("alarm_control_panel.a", "armed_away", {"supported_features": 63}, "turn_off", {}, [("alarm_disarm", {})]),
    ("alarm_control_panel.a", "armed_away", {"supported_features": 63}, "toggle", {}, [("alarm_disarm", {})]),
    ("scene.a", "unknown", {}, "turn_on", {"transition": 1}, [("turn_on", {"transition": 1})]),
    ("automation.a", "on", {}, "disable", {}, [("turn_off", {})]),
    ("automation.a", "on", {}, "run", {}, [("trigger", {"skip_condition": False})]),
    ("automation.a", "on", {}, "set_value", {"command": "trigger"}, [("trigger", {"skip_condition": False})]),
    ("automation.a", "on", {}, "turn_on", {"command": "start"}, [("trigger", {"skip_condition": False})]),
    ("todo.a", "1", TODO, "set_value", {"add": ["milk", "eggs"]}, [("add_item", {"item": "milk"}), ("add_item", {"item": "eggs"})]),
    ("todo.a", "1", TODO, "set_value", {"item": "milk", "due_date": "2027-01-31"}, [("add_item", {"item": "milk", "due_date": "2027-01-31"})]),
    ("todo.a", "1", TODO, "set_value", {"complete": "milk"}, [("update_item", {"item": "milk", "status": "completed"})]),
    ("todo.a", "1", TODO, "complete", {"item": "milk"}, [("update_item", {"item": "milk", "status": "completed"})]),
    ("todo.a", "1", TODO, "set_value", {"item": "milk", "status": "completed"}, [("update_item", {"status": "completed", "item": "milk"})]),
    ("todo.a", "1", TODO, "remove_item", {"item": "milk"}, [("remove_item", {"item": "milk"})]),
    ("todo.a", "1", TODO, "remove_completed_items", {}, [("remove_completed_items", {})]),
    ("todo.a", "1", TODO, "add_item", {"item": "milk", "description": "2 l"}, [("add_item", {"item": "milk", "description": "2 l"})]),
])  # fmt: skip
async def test_an_action_becomes_service_calls(
    hass: HomeAssistant,
    put: Put,
    entity_id: str,
    state: str,
    attributes: dict[str, Any],
    action: str,
    parameters: dict[str, object],
    expected: list[Call],
) -> None:
    await put(entity_id, state, **attributes)
    calls = service_calls(hass, action, entity_id, parameters)
    assert [(call.service, dict(call.data)) for call in calls] == expected
    assert {(call.domain, call.entity_ids) for call in calls} == {(entity_id.partition(".")[0], (entity_id,))}


@pytest.mark.parametrize(("entity_id", "state", "attributes", "action", "parameters", "sentence"), [
    ("light.a", "on", {"supported_color_modes": ["onoff"]}, "turn_on", {"brightness_pct": 50}, r"does not take brightness_pct with turn_on\. It can: turn_on, turn_off, toggle\.$"),
    ("light.a", "on", LIGHT, "turn_on", {"speed": 3}, r"does not take speed with turn_on\. It can: turn_on, turn_off, toggle, set_value \(brightness_pct, "),
    ("light.a", "on", LIGHT, "turn_off", {"brightness": 0}, "does not take brightness with turn_off. It takes transition, flash"),
    ("light.a", "on", LIGHT, "set_value", {}, "needs parameters"),
    ("light.a", "on", LIGHT, "set_value", {"brightness": 10, "brightness_pct": 10}, "turn_on of light.a: "),
    ("light.a", "on", LIGHT, "set_value", {"brightness_pct": 150}, "brightness_pct of light.a: 150 is out of range: it has to be at least 0 and at most 100"),
    ("light.a", "on", LIGHT, "open_cover", {}, "light.a cannot open_cover now"),
    ("light.a", "unavailable", LIGHT, "turn_on", {}, "light.a is unavailable"),
    ("sensor.a", "12", {}, "turn_on", {}, "sensor.a can only be read"),
    ("binary_sensor.a", "on", {}, "turn_off", {}, "can only be read"),
    ("media_player.a", "on", {"supported_features": 0}, "set_value", {"command": "pause"}, "media_player.a cannot media_pause now. It can do nothing now"),
    ("media_player.a", "on", PLAYER, "set_value", {"command": "explode"}, "cannot explode now.*command .*media_pause"),
    ("media_player.a", "on", PLAYER, "turn_off", {"command": "play"}, "turn_off does not go together with a command"),
    ("lock.a", "unknown", {}, "toggle", {}, "lock.a cannot toggle now"),
    ("lock.a", "locked", {}, "open", {}, "lock.a cannot open now"),
    ("climate.a", "heat", CLIMATE, "set_value", {"temperature": 60}, "at most 35 °C"),
    ("climate.a", "heat", {**CLIMATE, "supported_features": 2}, "set_value", {"temperature": 20}, "does not take temperature"),
    ("climate.a", "heat", CLIMATE, "set_value", {"hvac_mode": "dry"}, "'dry' is not one of: off, heat, cool"),
    ("climate.a", "heat", CLIMATE, "set_temperature", {}, "set_temperature needs parameters: temperature"),
    ("number.a", "3", NUMBER, "set_value", {"value": 11}, "11 is out of range: it has to be at least 0 and at most 10 ppm"),
    ("number.a", "3", NUMBER, "set_value", {"value": "loud"}, "'loud' is not a number"),
    ("number.a", "3", NUMBER, "turn_on", {}, "number.a cannot turn_on now. It can: set_value [(]value[)]"),
    ("timer.a", "active", {}, "change", {}, "change of timer.a needs duration"),
    ("timer.a", "active", {}, "pause", {"duration": 1}, "does not take duration with pause. It takes none"),
    ("alarm_control_panel.a", "unknown", {"supported_features": 63}, "toggle", {}, "cannot toggle now"),
    ("scene.a", "unknown", {}, "turn_off", {}, "scene.a cannot turn_off now"),
    ("automation.a", "off", {}, "trigger", {}, "automation.a is disabled and was not run"),
    ("automation.a", "on", {}, "trigger", {"skip_condition": True}, r"does not take skip_condition with trigger\. It takes none"),
    ("automation.a", "on", {}, "trigger", {"variables": {"a": 1}}, "does not take variables with trigger"),
    ("automation.a", "on", {}, "open", {}, r"automation.a cannot open now\. It can: turn_on, turn_off, toggle, command \(trigger\)"),
    ("automation.a", "off", {}, "open", {}, r"automation.a cannot open now\. It can: turn_on, turn_off, toggle\.$"),
    ("vacuum.a", "on", VACUUM, "send_command", {"command": "x"}, "cannot send_command"),
    ("media_player.a", "on", PLAYER, "play_media", {"media_content_id": "http://10.0.0.1"}, "cannot play_media"),
    ("todo.a", "1", {"supported_features": 1}, "set_value", {"complete": "milk"}, "does not support update_item"),
    ("todo.a", "1", TODO, "set_value", {"add": "milk", "colour": "red"}, "does not know colour"),
    ("todo.a", "1", TODO, "set_value", {"add": []}, "Name 1 to 20 items"),
    ("todo.a", "1", TODO, "set_value", {"add": [{"a": 1}]}, "is not a text"),
    ("todo.a", "1", TODO, "turn_on", {}, "todo.a cannot turn_on now"),
    ("alarm_control_panel.a", "armed_away", {"supported_features": 63}, "turn_off", {"mode": "home"}, "does not go together"),
    ("alarm_control_panel.a", "disarmed", {"supported_features": 63}, "alarm_trigger", {}, "cannot alarm_trigger"),
    ("group.a", "on", {"entity_id": []}, "turn_on", {}, "no members that can be controlled"),
    ("group.a", "on", {"entity_id": ["sensor.x"]}, "turn_on", {}, "sensor.x"),
])  # fmt: skip
async def test_what_an_entity_cannot_do_is_refused_with_what_it_can(
    hass: HomeAssistant,
    put: Put,
    entity_id: str,
    state: str,
    attributes: dict[str, Any],
    action: str,
    parameters: dict[str, object],
    sentence: str,
) -> None:
    await put(entity_id, state, **attributes)
    with pytest.raises(ToolRefusal, match=sentence):
        service_calls(hass, action, entity_id, parameters)


@pytest.mark.parametrize(
    "key", ["entity_id", "Entity_ID", "device_id", "area_id", "floor_id", "label_id", "target", "exclude"]
)
async def test_targets_inside_parameters_are_refused(hass: HomeAssistant, put: Put, key: str) -> None:
    await put("light.a", "on", **LIGHT)
    with pytest.raises(ToolRefusal, match="is not allowed inside parameters"):
        service_calls(hass, "turn_on", "light.a", {key: "all"})


async def test_abilities_are_what_the_entity_has_now(hass: HomeAssistant, put: Put) -> None:
    await put("cover.a", "open", supported_features=11)
    assert abilities(hass, "cover.a") == ["turn_on", "turn_off", "toggle", "command (stop_cover)"]
    await put("sensor.a", "1")
    assert abilities(hass, "sensor.a") == abilities(hass, "light.ghost") == []


async def test_a_service_that_is_gone_is_not_offered(hass: HomeAssistant, put: Put) -> None:
    await put("switch.a", "on")
    hass.services.async_remove("switch", "toggle")
    assert abilities(hass, "switch.a") == ["turn_on", "turn_off"]


@pytest.mark.parametrize("domain", sorted(name for name, record in DOMAINS.items() if record.actions))
async def test_every_service_in_the_table_exists_with_its_fields(hass: HomeAssistant, domain: str) -> None:
    assert await async_setup_component(hass, domain, {})
    services = set(hass.services.async_services_for_domain(domain))
    assert {action.service for action in DOMAINS[domain].actions.values()} <= services
    named = {*DOMAINS[domain].on, *DOMAINS[domain].off, *DOMAINS[domain].toggle, *DOMAINS[domain].values}
    assert named | set(DOMAINS[domain].words.values()) <= set(DOMAINS[domain].actions)


async def test_a_group_comes_to_the_calls_of_its_members(hass: HomeAssistant, put: Put) -> None:
    await put("light.a", "on", **LIGHT)
    await put("lock.a", "locked")
    await put("sensor.a", "1")
    await put("group.inner", "on", entity_id=["lock.a", "group.outer"])
    await put("group.outer", "on", entity_id=["light.a", "sensor.a", "group.inner"])
    assert members(hass, "group.outer") == ("light.a", "sensor.a", "group.inner", "lock.a")
    calls = service_calls(hass, "turn_off", "group.outer", {})
    assert [(call.domain, call.service) for call in calls] == [("light", "turn_off"), ("lock", "unlock")]


async def test_what_a_scene_touches_are_not_its_members(hass: HomeAssistant, put: Put) -> None:
    await put("scene.a", "unknown", entity_id=["lock.a"])
    assert members(hass, "scene.a") == ()


async def test_a_script_takes_the_fields_its_owner_declared(hass: HomeAssistant, put: Put) -> None:
    script = {"alias": "Say", "sequence": [], "fields": {"message": {}, "times": {}}}
    assert await async_setup_component(hass, "script", {"script": {"say": script}})
    await put("script.say", "off")
    calls = service_calls(hass, "run", "script.say", {"message": "hi", "times": 2})
    assert [dict(call.data) for call in calls] == [{"variables": {"message": "hi", "times": 2}}]
    calls = service_calls(hass, "turn_on", "script.say", {"variables": {"message": ["a", None]}})
    assert [dict(call.data) for call in calls] == [{"variables": {"message": ["a", None]}}]
    assert [dict(call.data) for call in service_calls(hass, "turn_on", "script.say", {})] == [{}]
    hass.services.async_remove("script", "turn_on")
    with pytest.raises(ToolRefusal, match="cannot turn_on now"):
        service_calls(hass, "turn_on", "script.say", {"message": "hi"})
    with pytest.raises(ToolRefusal, match=r"does not know volume\. Its parameters: message, times"):
        service_calls(hass, "turn_on", "script.say", {"volume": 1})
    with pytest.raises(ToolRefusal, match="have to be an object"):
        service_calls(hass, "turn_on", "script.say", {"variables": "x"})


def test_known_actions_are_the_four_and_the_services() -> None:
    assert {"turn_on", "turn_off", "toggle", "set_value", "open_cover", "media_pause", "unlock"} <= known_actions()
    assert "delete_everything" not in known_actions()
