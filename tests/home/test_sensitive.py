"""What needs the owner's yes."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.home.judgement import judge
from custom_components.home_agent.turn.plan import DESTRUCTIVE, DISARM, OPEN_DOOR, OPEN_VALVE, UNLOCK, ServiceCall
from tests.entities import Put

GARAGE = {"device_class": "garage"}


@pytest.mark.parametrize(("entity_id", "state", "attributes", "service", "data", "reason"), [
    ("lock.a", "locked", {}, "unlock", {}, UNLOCK),
    ("lock.a", "locked", {}, "open", {}, UNLOCK),
    ("lock.a", "locked", {}, "toggle", {}, UNLOCK),
    ("lock.a", "unlocked", {}, "turn_off", {}, UNLOCK),
    ("lock.a", "unlocked", {}, "lock", {}, None),
    ("alarm_control_panel.a", "armed_away", {}, "alarm_disarm", {}, DISARM),
    ("alarm_control_panel.a", "disarmed", {}, "alarm_arm_away", {}, None),
    ("alarm_control_panel.a", "triggered", {}, "alarm_arm_away", {}, DISARM),
    ("alarm_control_panel.a", "pending", {}, "alarm_arm_vacation", {}, DISARM),
    ("alarm_control_panel.a", "triggered", {}, "turn_on", {}, DISARM),
    ("alarm_control_panel.a", "armed_away", {}, "alarm_arm_home", {}, DISARM),
    ("alarm_control_panel.a", "armed_night", {}, "alarm_arm_custom_bypass", {}, DISARM),
    ("alarm_control_panel.a", "armed_home", {}, "alarm_arm_away", {}, None),
    ("alarm_control_panel.a", "armed_away", {}, "alarm_arm_away", {}, None),
    ("alarm_control_panel.a", "arming", {"next_state": "armed_away"}, "alarm_arm_home", {}, DISARM),
    ("alarm_control_panel.a", "arming", {"next_state": "armed_home"}, "alarm_arm_away", {}, None),
    ("alarm_control_panel.a", "arming", {}, "alarm_arm_night", {}, DISARM),
    ("alarm_control_panel.a", "disarmed", {}, "alarm_arm_away", {"code": "1"}, DISARM),
    ("alarm_control_panel.a", "disarmed", {}, "alarm_arm_away", {"code": ""}, None),
    ("lock.a", "unlocked", {}, "lock", {"code": "1"}, UNLOCK),
    ("cover.a", "closed", GARAGE, "open_cover", {}, OPEN_DOOR),
    ("cover.a", "closed", {"device_class": "gate"}, "open_cover_tilt", {}, OPEN_DOOR),
    ("cover.a", "closed", {"device_class": "door"}, "turn_on", {}, OPEN_DOOR),
    ("cover.a", "closed", GARAGE, "toggle", {}, OPEN_DOOR),
    ("cover.a", "unknown", GARAGE, "toggle", {}, OPEN_DOOR),
    ("cover.a", "open", GARAGE, "toggle", {}, OPEN_DOOR),
    ("cover.a", "open", {**GARAGE, "current_position": 40}, "toggle", {}, OPEN_DOOR),
    ("cover.a", "opening", {**GARAGE, "current_position": 100}, "toggle", {}, OPEN_DOOR),
    ("cover.a", "closing", {**GARAGE, "current_position": 40}, "toggle", {}, OPEN_DOOR),
    ("cover.a", "open", {**GARAGE, "current_position": 100}, "toggle", {}, None),
    ("cover.a", "open", {**GARAGE, "current_position": 40}, "open_cover", {}, OPEN_DOOR),
    ("cover.a", "closing", GARAGE, "stop_cover", {}, None),
    ("cover.a", "open", {**GARAGE, "current_tilt_position": 40}, "toggle_cover_tilt", {}, OPEN_DOOR),
    ("cover.a", "open", {**GARAGE, "current_tilt_position": 100}, "toggle_cover_tilt", {}, None),
    ("cover.a", "open", {"device_class": "blind", "current_position": 40}, "toggle", {}, None),
    ("cover.a", "open", GARAGE, "close_cover", {}, None),
    ("cover.a", "open", GARAGE, "set_cover_position", {"position": 0}, None),
    ("cover.a", "open", GARAGE, "set_cover_position", {"position": 1}, OPEN_DOOR),
    ("cover.a", "open", GARAGE, "set_cover_position", {}, OPEN_DOOR),
    ("cover.a", "closed", {"device_class": "shutter"}, "open_cover", {}, None),
    ("valve.a", "closed", {}, "open_valve", {}, OPEN_VALVE),
    ("valve.a", "closing", {}, "stop_valve", {}, OPEN_VALVE),
    ("valve.a", "opening", {}, "stop_valve", {}, None),
    ("siren.a", "on", {}, "turn_on", {"volume_level": 0.0}, DISARM),
    ("siren.a", "on", {}, "turn_on", {"volume_level": 0.5}, None),
    ("timer.relock_kitchen_door", "active", {}, "cancel", {}, OPEN_DOOR),
    ("timer.relock_kitchen_door", "idle", {}, "start", {}, None),
    ("timer.tea", "active", {}, "cancel", {}, None),
    ("button.house_bypass_all", "unknown", {}, "press", {}, DISARM),
    ("switch.ventilation_bypass", "off", {}, "turn_on", {}, None),
    ("valve.a", "closed", {}, "toggle", {}, OPEN_VALVE),
    ("valve.a", "closed", {}, "set_valve_position", {"position": 5}, OPEN_VALVE),
    ("valve.a", "open", {"current_position": 40}, "toggle", {}, OPEN_VALVE),
    ("valve.a", "open", {"current_position": 100}, "toggle", {}, None),
    ("valve.a", "open", {}, "close_valve", {}, None),
    ("siren.a", "on", {}, "turn_off", {}, DISARM),
    ("siren.a", "unknown", {}, "toggle", {}, DISARM),
    ("siren.a", "off", {}, "toggle", {}, None),
    ("siren.a", "off", {}, "turn_on", {}, None),
    ("alarm_control_panel.a", "disarmed", {}, "alarm_trigger", {}, None),
    ("light.a", "on", {}, "turn_off", {}, None),
    ("automation.a", "on", {}, "turn_off", {}, DESTRUCTIVE),
    ("automation.a", "on", {}, "toggle", {}, DESTRUCTIVE),
    ("automation.a", "off", {}, "toggle", {}, None),
    ("automation.a", "on", {}, "turn_on", {}, None),
    ("button.a", "unknown", {"device_class": "restart"}, "press", {}, DESTRUCTIVE),
    ("button.a", "unknown", {}, "press", {}, None),
    ("todo.a", "1", {}, "remove_item", {}, DESTRUCTIVE),
    ("todo.a", "1", {}, "add_item", {}, None),
    ("remote.a", "on", {}, "send_command", {}, None),
])  # fmt: skip
async def test_judged_by_what_it_would_do_now(
    hass: HomeAssistant,
    put: Put,
    entity_id: str,
    state: str,
    attributes: dict[str, Any],
    service: str,
    data: dict[str, Any],
    reason: str | None,
) -> None:
    await put(entity_id, state, **attributes)
    call = ServiceCall(domain=entity_id.partition(".")[0], service=service, entity_ids=(entity_id,), data=data)
    assert next(iter(judge(hass, call).reasons), None) == reason


@pytest.mark.parametrize(("action", "sensitive"), [
    ("homeassistant.restart", True), ("homeassistant.stop", True), ("homeassistant.reload_all", True),
    ("homeassistant.turn_on", False), ("automation.reload", True), ("hassio.host_reboot", True),
    ("backup.create", True), ("update.install", True), ("recorder.purge_entities", True), ("recorder.disable", True),
    ("todo.remove_completed_items", True), ("notify.mobile_app_phone", True), ("notify.send_message", True),
    ("telegram_bot.send_photo", True), ("shell_command.anything", True), ("rest_command.anything", True),
    ("mqtt.publish", True), ("scene.apply", True), ("scene.turn_on", False), ("mealie.delete_mealplan", True),
    ("shop.order_pizza", True), ("matter.set_lock_credential", True), ("matter.set_lock_user", True),
    ("matter.get_lock_users", False), ("zha.set_lock_user_code", True), ("zha.permit", True),
    ("device_tracker.see", True), ("light.turn_on", False), ("vacuum.send_command", False), ("timer.restart", False),
    ("media_player.play_media", False),
])  # fmt: skip
async def test_what_stops_deletes_spends_or_reaches_people(hass: HomeAssistant, action: str, sensitive: bool) -> None:
    domain, _, service = action.partition(".")
    call = ServiceCall(domain=domain, service=service, entity_ids=())
    assert next(iter(judge(hass, call).reasons), None) == (DESTRUCTIVE if sensitive else None)


async def test_a_group_is_as_sensitive_as_its_members(hass: HomeAssistant, put: Put) -> None:
    await put("cover.garage", "closed", device_class="garage")
    await put("cover.all", "closed", entity_id=["cover.blind", "cover.garage"])
    call = ServiceCall(domain="cover", service="open_cover", entity_ids=("cover.all",))
    assert next(iter(judge(hass, call).reasons), None) == OPEN_DOOR


async def test_an_entity_without_a_state_counts_as_closed(hass: HomeAssistant) -> None:
    call = ServiceCall(domain="valve", service="toggle", entity_ids=("valve.ghost",))
    assert next(iter(judge(hass, call).reasons), None) == OPEN_VALVE
