"""What the names of actions, switches and helpers tell."""

from typing import Any

import pytest

from custom_components.home_agent.home.telling_names import guards, is_sensitive_service, only_tells, reason_of_name
from custom_components.home_agent.turn.plan import DESTRUCTIVE, DISARM, OPEN_DOOR


@pytest.mark.parametrize("action", [
    "nuki.lock_n_go", "august.unlatch", "acme.unlock_all", "acme.open_the_garage", "acme.gate_main_pulse", "acme.buzz_in",
    "acme.zone_bypass", "acme.disable_autolock", "acme.alarm_keypress", "acme.disarm_now", "acme.silence_alarm",
    "acme.siren_off", "simplisafe.remove_pin", "acme.set_user_code", "acme.add_code", "acme.update_passcode",
    "ialarm.anything", "lock_code_manager.anything", "my_garage.impulse", "doorbird.open", "esphome.garage_door_toggle",
    "webostv.command", "acme.execute", "browser_mod.javascript", "tesla_custom.api", "acme.raw", "androidtv.upload",
    "nodered.trigger", "modbus.write_register", "alert.toggle", "camera.turn_off", "logger.set_level", "zha.anything",
    f"acme.{'a' * 300}",
])  # fmt: skip
def test_an_action_that_opens_disarms_or_runs_code(action: str) -> None:
    domain, _, service = action.partition(".")
    assert is_sensitive_service(domain, service)


@pytest.mark.parametrize("action", [
    "sonos.snapshot", "sonos.update_alarm", "alarm_clock.set", "hue.activate_scene", "lifx.effect_pulse",
    "xiaomi_miio.fan_set_child_lock_on", "xiaomi_miio.vacuum_clean_zone", "roborock.get_maps", "home_connect.start_program",
    "unifiprotect.set_doorbell_message", "esphome.display_show", "mercedes.lock", "alarmo.arm", "nuki.lock",
    "matter.get_lock_users", "climate.set_hvac_mode", "cover.open_cover", "valve.open_valve", "lock.unlock", "adguard.refresh",
    "remote.send_command", "vacuum.send_command", "alarm_control_panel.alarm_trigger", "todo.get_items",
    "blockchain.update", "music_assistant.play_media",
])  # fmt: skip
def test_an_action_that_does_not_by_its_name_alone(action: str) -> None:
    domain, _, service = action.partition(".")
    assert not is_sensitive_service(domain, service)


@pytest.mark.parametrize(("domain", "found"), [
    ("ialarm", True), ("alarmo", True), ("ttlock", True), ("nuki", True), ("my_gate", True), ("bosch_alarm", True),
    ("alarm_clock", False), ("blockchain", False), ("clock", False), ("adblock", False), ("light", False), ("lock", False),
])  # fmt: skip
def test_integrations_of_locks_and_alarms(domain: str, found: bool) -> None:
    assert guards(domain) is found


@pytest.mark.parametrize(("action", "tells"), [
    ("acme.get_codes", True), ("acme.list_users", True), ("zwave_js.refresh_value", True), ("logbook.log", True),
    ("homeassistant.update_entity", True), ("acme.getaway", False), ("acme.set_code", False), ("acme.forget_code", False),
])  # fmt: skip
def test_an_action_that_only_tells(action: str, tells: bool) -> None:
    domain, _, service = action.partition(".")
    assert only_tells(domain, service) is tells


@pytest.mark.parametrize(("entity_id", "reason"), [
    ("switch.gate_relay", OPEN_DOOR), ("switch.garage_door_opener", OPEN_DOOR), ("switch.front_door_lock", OPEN_DOOR),
    ("input_boolean.garage_open", OPEN_DOOR), ("button.nuki_unlatch", OPEN_DOOR), ("switch.hoftor_impuls", OPEN_DOOR),
    ("switch.haustuer_oeffner", OPEN_DOOR), ("input_button.open_gate", OPEN_DOOR), ("select.front_door_lock_mode", OPEN_DOOR),
    ("select.alarm_mode", DISARM), ("button.silence_alarm", DISARM), ("input_boolean.mute_all_alerts", DISARM),
    ("switch.front_camera_motion_detection", DISARM), ("number.alarm_entry_delay", DISARM),
    ("button.router_factory_reset", DESTRUCTIVE), ("switch.garage_light", None), ("switch.garage", None),
    ("switch.garage_freezer", None), ("switch.garage_door_light", None), ("switch.child_lock", None),
    ("switch.washing_machine_door_lock", None), ("switch.doorbell_chime", None), ("switch.alarm_clock", None),
    ("input_boolean.alarm_clock_mute", None), ("switch.monitor", None), ("switch.motor", None), ("switch.windows_pc", None),
    ("light.gate_open", None), ("select.tv_mode", None), ("button.doorbell_identify", None),
    ("input_boolean.door_open_alert", None), ("switch.storage_heater", None),
])  # fmt: skip
def test_a_switch_or_a_helper(entity_id: str, reason: str | None) -> None:
    assert reason_of_name(entity_id, "turn_on", {}) == reason


@pytest.mark.parametrize(("data", "reason"), [
    ({"device": "gate", "command": "open"}, OPEN_DOOR), ({"command": ["garage_door_toggle"]}, OPEN_DOOR),
    ({"device": "tv", "command": "KEY_1"}, None), ({"command": "power"}, None), ({}, None),
])  # fmt: skip
def test_a_code_of_a_remote_control(data: dict[str, Any], reason: str | None) -> None:
    assert reason_of_name("remote.hall", "send_command", data) == reason
