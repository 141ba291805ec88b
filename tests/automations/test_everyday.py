"""Automations as people write them every day: nothing is said against them."""

from typing import Any

from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
import pytest

from tests.automations.a_home import build_home, sentences

STATES: dict[str, tuple[str, dict[str, Any]]] = {
    "binary_sensor.hall_motion": ("off", {"device_class": "motion"}),
    "binary_sensor.window": ("off", {"device_class": "window"}),
    "sensor.hall_lux": ("40", {"device_class": "illuminance", "unit_of_measurement": "lx"}),
    "sensor.washer_power": ("2.1", {"device_class": "power", "unit_of_measurement": "W"}),
    "sensor.washer": ("Running", {}),
    "sensor.phone_battery": ("80", {"device_class": "battery", "unit_of_measurement": "%"}),
    "sensor.next_alarm": ("2026-11-30T06:30:00+00:00", {"device_class": "timestamp"}),
    "sensor.humidity": ("unavailable", {"device_class": "humidity", "unit_of_measurement": "%"}),
    "input_datetime.wake": ("06:30:00", {"has_time": True, "has_date": False, "hour": 6, "minute": 30, "second": 0}),
    "media_player.tv": ("off", {"supported_features": 128, "device_class": "tv"}),
    "vacuum.robot": ("docked", {"supported_features": 14204}),
    "alarm_control_panel.home": ("disarmed", {"supported_features": 3, "code_arm_required": False}),
    "calendar.bins": ("off", {}),
    "event.doorbell": ("2026-11-28T10:00:00+00:00", {"event_types": ["ring"], "event_type": "ring", "device_class": "doorbell"}),
    "weather.home": ("sunny", {"temperature": 12, "supported_features": 3}),
    "timer.bath": ("idle", {}),
    "device_tracker.phone": ("not_home", {"source_type": "gps"}),
    "camera.door": ("idle", {}),
    "zone.work": ("0", {"friendly_name": "Work", "latitude": 1.0, "longitude": 1.0, "radius": 100}),
}  # fmt: skip
MOTION = {"trigger": "state", "entity_id": "binary_sensor.hall_motion", "from": "off", "to": "on"}
NO_MOTION = {"trigger": "state", "entity_id": "binary_sensor.hall_motion", "to": "off", "for": "00:02:00"}
LIGHT = {"entity_id": "light.bed_light"}
ON, OFF = ({"action": f"light.turn_{word}", "target": LIGHT} for word in ("on", "off"))


def tell(message: str, **data: Any) -> dict[str, Any]:
    return {"action": "notify.mobile_app_phone", "data": {"message": message, **data}}


def only(template: str) -> dict[str, Any]:
    return {"condition": "template", "value_template": template}


def at(**fields: Any) -> dict[str, Any]:
    return {"trigger": "time", **fields}


@pytest.fixture(autouse=True)
async def home(hass: HomeAssistant) -> None:
    await build_home(hass)

    async def ignore(call: ServiceCall) -> None:
        """Do nothing."""

    for service in ("mobile_app_phone", "notify"):
        hass.services.async_register("notify", service, ignore)
    hass.config.components.add("mobile_app")
    hass.services.async_register("mqtt", "publish", ignore)
    hass.services.async_register("rest_command", "feed", ignore)
    for domain in (
        "vacuum",
        "alarm_control_panel",
        "timer",
        "weather",
        "media_player",
        "camera",
        "todo",
        "tts",
        "schedule",
    ):
        assert await async_setup_component(hass, domain, {domain: {}}), domain
    for entity_id, (state, attributes) in STATES.items():
        hass.states.async_set(entity_id, state, attributes)


EVERYDAY: dict[str, dict[str, Any]] = {
    "motion light that waits for no motion": {"trigger": MOTION, "mode": "restart", "actions": [
        ON, {"wait_for_trigger": [{"trigger": "state", "entity_id": "binary_sensor.hall_motion", "from": "on", "to": "off"}]}, {"delay": 120}, OFF]},
    "motion light by trigger ids": {"trigger": [{**MOTION, "id": "on"}, {**NO_MOTION, "id": "off"}], "actions": [
        {"choose": [{"conditions": [{"condition": "trigger", "id": "on"}], "sequence": [ON]}, {"conditions": "{{ trigger.id == 'off' }}", "sequence": [OFF]}]}]},
    "motion light when it is dark": {"trigger": MOTION, "conditions": [{"condition": "numeric_state", "entity_id": "sensor.hall_lux", "below": 50}]},
    "motion light at night": {"trigger": MOTION, "conditions": [{"condition": "sun", "after": "sunset", "before": "sunrise", "after_offset": "-00:30:00"}]},
    "brighter by day": {"trigger": MOTION, "actions": [{"action": "light.turn_on", "target": LIGHT, "data": {
        "brightness_pct": "{{ 20 if now().hour < 7 or now().hour >= 22 else 100 }}", "transition": 2}}]},
    "sunrise lamp over half an hour": {"trigger": at(at="06:30:00"), "actions": [{"action": "light.turn_on", "target": LIGHT, "data": {"brightness_pct": 100, "transition": 1800}}]},
    "alarm of the phone": {"trigger": at(at={"entity_id": "sensor.next_alarm", "offset": "-00:10:00"})},
    "time of a helper": {"trigger": at(at="input_datetime.wake"), "conditions": [{"condition": "time", "weekday": ["mon", "tue", "wed", "thu", "fri"]}]},
    "until the time of a helper": {"conditions": [{"condition": "time", "after": "input_datetime.wake", "before": "22:00:00"}]},
    "all day long": {"conditions": [{"condition": "time", "after": "00:00:00", "before": "00:00:00"}]},
    "washer is done": {"trigger": {"trigger": "numeric_state", "entity_id": "sensor.washer_power", "below": 5, "for": {"minutes": 3}}, "actions": [tell("Washed")]},
    "washer's own words": {"trigger": {"trigger": "state", "entity_id": "sensor.washer", "from": "Running", "to": "Finished"}, "actions": [tell("Washed")]},
    "a target by its trigger": {"trigger": [
        {"trigger": "state", "entity_id": "binary_sensor.hall_motion", "to": "on", "variables": {"lamp": "light.bed_light", "secs": 60}},
        {"trigger": "state", "entity_id": "binary_sensor.window", "to": "on", "variables": {"lamp": "light.kitchen_lights", "secs": 15}},
    ], "actions": [{"action": "light.turn_on", "target": {"entity_id": "{{ lamp }}"}}, {"delay": {"seconds": "{{ secs }}"}},
                   {"action": "light.turn_off", "target": {"entity_id": "{{ lamp }}"}}], "mode": "parallel"},
    "a target by a variable": {"trigger": {"trigger": "state", "entity_id": ["light.bed_light", "light.kitchen_lights"], "to": "on"}, "actions": [
        {"variables": {"other": "{{ 'light.bed_light' if trigger.entity_id == 'light.kitchen_lights' else 'light.kitchen_lights' }}"}},
        {"action": "light.turn_off", "target": {"entity_id": "{{ other }}"}}], "mode": "queued"},
    "number of an attribute": {"trigger": {"trigger": "numeric_state", "entity_id": "weather.home", "value_template": "{{ state.attributes.temperature }}", "above": 10}},
    "sensor that is away now": {"trigger": {"trigger": "numeric_state", "entity_id": "sensor.humidity", "above": 65}},
    "low battery": {"trigger": {"trigger": "numeric_state", "entity_id": "sensor.phone_battery", "below": 20}, "actions": [
        tell("{{ trigger.to_state.name }}: {{ trigger.to_state.state }} %", title="Battery", data={"tag": "battery", "actions": [{"action": "OK", "title": "OK"}]})]},
    "answer to a notification": {"trigger": {"trigger": "event", "event_type": "mobile_app_notification_action", "event_data": {"action": "OK"}}},
    "open window for long": {"trigger": {"trigger": "state", "entity_id": "binary_sensor.window", "to": "on", "for": "00:10:00"},
        "conditions": [{"condition": "state", "entity_id": "binary_sensor.window", "state": "on", "for": "00:05:00"}], "actions": [tell("Window")]},
    "heating off at an open window": {"trigger": {"trigger": "state", "entity_id": "binary_sensor.window", "to": "on"}, "actions": [
        {"variables": {"before": "{{ states('climate.hall') }}"}}, {"action": "climate.set_hvac_mode", "target": {"entity_id": "climate.hall"}, "data": {"hvac_mode": "off"}},
        {"wait_template": "{{ is_state('binary_sensor.window', 'off') }}", "timeout": "01:00:00"},
        {"action": "climate.set_hvac_mode", "target": {"entity_id": "climate.hall"}, "data": {"hvac_mode": "{{ before }}"}}]},
    "lamps as they were": {"trigger": MOTION, "actions": [
        {"action": "scene.create", "data": {"scene_id": "before", "snapshot_entities": ["light.bed_light"]}}, ON, {"delay": {"seconds": 5}},
        {"action": "scene.turn_on", "target": {"entity_id": "scene.before"}}]},
    "everybody is gone": {"trigger": {"trigger": "state", "entity_id": "zone.home", "to": "0", "for": "00:05:00"}, "actions": [OFF]},
    "somebody comes": {"trigger": {"trigger": "state", "entity_id": ["person.tom", "device_tracker.phone"], "to": "home"}, "conditions": [{"condition": "state", "entity_id": "sun.sun", "state": "below_horizon"}]},
    "at work": {"trigger": {"trigger": "zone", "entity_id": "device_tracker.phone", "zone": "zone.work", "event": "enter"}, "actions": [tell("At work")]},
    "tracker in a zone": {"trigger": {"trigger": "state", "entity_id": "device_tracker.phone", "to": "Work"}, "actions": [tell("At work")]},
    "doorbell event": {"trigger": {"trigger": "state", "entity_id": "event.doorbell", "not_from": ["unknown", "unavailable"]}, "conditions": [
        {"condition": "state", "entity_id": "event.doorbell", "attribute": "event_type", "state": "ring"}]},
    "picture of the door": {"actions": [{"action": "camera.snapshot", "target": {"entity_id": "camera.door"}, "data": {"filename": "/config/www/door.jpg"}}, tell("Door", data={"entity_id": "camera.door"})]},
    "bins of tomorrow": {"trigger": {"trigger": "calendar", "entity_id": "calendar.bins", "event": "start", "offset": "-12:00:00"}, "actions": [tell("{{ trigger.calendar_event.summary }}")]},
    "timer ends": {"trigger": {"trigger": "event", "event_type": "timer.finished", "event_data": {"entity_id": "timer.bath"}}, "actions": [OFF]},
    "timer starts": {"trigger": MOTION, "actions": [{"action": "timer.start", "target": {"entity_id": "timer.bath"}, "data": {"duration": "00:10:00"}}]},
    "television sound": {"trigger": at(at="20:00:00"), "actions": [{"action": "media_player.turn_on", "target": {"entity_id": "media_player.tv"}},
        {"action": "media_player.volume_set", "target": {"entity_id": "media_player.tv"}, "data": {"volume_level": 0.3}}]},
    "robot while nobody is there": {"trigger": at(at="10:00:00"), "conditions": [{"condition": "numeric_state", "entity_id": "zone.home", "below": 1}, {"condition": "state", "entity_id": "vacuum.robot", "state": "docked"}],
        "actions": [{"action": "vacuum.start", "target": {"entity_id": "vacuum.robot"}}]},
    "robot has an error": {"trigger": {"trigger": "state", "entity_id": "vacuum.robot", "to": ["error", "idle"]}, "actions": [tell("{{ states('vacuum.robot') }}")]},
    "alarm at night": {"trigger": at(at="23:00:00"), "actions": [{"action": "alarm_control_panel.alarm_arm_home", "target": {"entity_id": "alarm_control_panel.home"}}]},
    "alarm went off": {"trigger": {"trigger": "state", "entity_id": "alarm_control_panel.home", "to": "triggered"}},
    "reminder until it is closed": {"actions": [{"repeat": {"while": [{"condition": "state", "entity_id": "binary_sensor.garage_door", "state": "on"}, "{{ repeat.index <= 5 }}"],
        "sequence": [tell("Open for {{ repeat.index * 10 }} min"), {"delay": "00:10:00"}]}}]},
    "for each of some": {"actions": [{"repeat": {"for_each": [{"lamp": "light.bed_light", "level": 20}, {"lamp": "light.kitchen_lights", "level": 60}], "sequence": [
        {"action": "light.turn_on", "target": {"entity_id": "{{ repeat.item.lamp }}"}, "data": {"brightness_pct": "{{ repeat.item.level }}"}}]}}]},
    "how many are on": {"conditions": [only("{{ ['light.bed_light', 'light.kitchen_lights'] | select('is_state', 'on') | list | count > 0 }}")]},
    "which are open": {"actions": [tell("{{ ['binary_sensor.window', 'binary_sensor.garage_door'] | select('is_state', 'on') | map('state_attr', 'friendly_name') | join(', ') }}")]},
    "one lamp after another": {"variables": {"lamps": ["light.bed_light", "light.kitchen_lights"]}, "actions": [{"repeat": {"for_each": "{{ lamps }}", "sequence": [
        {"action": "light.turn_off", "target": {"entity_id": "{{ repeat.item }}"}}, {"delay": 10}]}}]},
    "how long ago": {"conditions": [only("{{ (now() - states.binary_sensor.hall_motion.last_changed).total_seconds() > 300 }}")]},
    "since it ran last": {"conditions": [only("{{ this.attributes.last_triggered is none or now() - this.attributes.last_triggered > timedelta(hours=1) }}")]},
    "not at a start": {"trigger": {"trigger": "state", "entity_id": "binary_sensor.window"}, "conditions": [only("{{ trigger.from_state is not none and trigger.from_state.state not in ['unknown', 'unavailable'] }}")]},
    "two sensors": {"trigger": {"trigger": "template", "value_template": "{{ states('sensor.attic') | float(0) > states('input_number.level') | float(0) + 2 }}"}},
    "forecast": {"trigger": at(at="07:00:00"), "actions": [{"action": "weather.get_forecasts", "target": {"entity_id": "weather.home"}, "data": {"type": "daily"}, "response_variable": "daily"},
        {"if": ["{{ daily['weather.home'].forecast[0].precipitation | float(0) > 2 }}"], "then": [tell("Umbrella")]}]},
    "message to a broker": {"actions": [{"action": "mqtt.publish", "data": {"topic": "a/b", "payload": "{{ trigger.to_state.state }}"}}]},
    "button by its event": {"trigger": {"trigger": "state", "entity_id": "light.bed_light", "attribute": "brightness"}, "actions": [tell("{{ state_attr('light.bed_light', 'brightness') }}")]},
    "everything off in a room": {"trigger": at(at="23:30:00"), "actions": [{"action": "homeassistant.turn_off", "target": {"area_id": "kitchen"}}]},
    "lights of a room by purpose": {"trigger": {"trigger": "light.turned_on", "target": {"area_id": "kitchen"}}, "actions": [tell("Light")]},
    "script of a service call": {"trigger": {"trigger": "event", "event_type": "call_service", "event_data": {"domain": "script", "service": "greet"}}},
    "toggle by a button": {"trigger": {"trigger": "state", "entity_id": "event.doorbell"}, "actions": [{"action": "light.toggle", "target": LIGHT}]},
    "at sunset unless it is late": {"trigger": {"trigger": "sun", "event": "sunset", "offset": "-00:20:00"}, "conditions": [{"condition": "time", "before": "22:00:00"}]},
    "sunset after a time": {"trigger": [{"trigger": "sun", "event": "sunset"}, at(at="17:00:00")], "conditions": [{"condition": "time", "after": "17:00:00"}, {"condition": "sun", "after": "sunset"}]},
    "season by month": {"trigger": at(at="07:00:00"), "conditions": [only("{{ now().month in [11, 12, 1, 2] }}")]},
    "guest mode": {"conditions": [{"condition": "not", "conditions": [{"condition": "state", "entity_id": "input_boolean.guests", "state": "on"}]}]},
    "house mode": {"trigger": {"trigger": "state", "entity_id": "input_select.mode", "to": "night"}, "actions": [{"parallel": [OFF, tell("Night")]}]},
}  # fmt: skip


@pytest.mark.parametrize("fields", EVERYDAY.values(), ids=EVERYDAY)
async def test_nothing_is_said(hass: HomeAssistant, fields: dict[str, Any]) -> None:
    fields = {**fields}
    assert await sentences(hass, *fields.pop("actions", ()), **fields) == ""


async def test_settings_of_a_room_are_not_switched_with_it(hass: HomeAssistant) -> None:
    registry = er.async_get(hass)
    light = next(one for one in registry.entities.values() if one.entity_id == "light.kitchen_lights")
    entry = registry.async_get_or_create("sensor", "demo", "hidden", suggested_object_id="ac")
    registry.async_update_entity(entry.entity_id, area_id=light.area_id)
    told = await sentences(hass, {"action": "homeassistant.turn_off", "target": {"area_id": "kitchen"}})
    assert told == ""
