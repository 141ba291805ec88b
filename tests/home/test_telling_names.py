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
    "google_mail.set_vacation", "fully_kiosk.start_application", "fully_kiosk.load_url",
    "nodered.trigger", "modbus.write_register", "alert.toggle", "camera.turn_off", "logger.set_level", "zha.anything",
    "rachio.start_watering", "opensprinkler.run_station", "netatmo.set_persons_home", "fritz.set_guest_wifi_password",
    "homeassistant.update_entity_id", "homeassistant.delete_area", "homematic.set_device_value", "deconz.configure",
    "cloud.remote_connect", "debugpy.start", "flo.set_sleep_mode", "teslemetry.valet_mode", "acme.open_street_door",
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
    "verisure.enable_autolock", "alarmo.clear_bypassed_sensors", "elkm1.alarm_clear_bypass", "zwave_js.refresh_value",
    "homeassistant.check_config", "homeassistant.update_entity", "roborock.start_zone_cleaning", "blockchain.update", "music_assistant.play_media",
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
    ("input_boolean.garage_open", OPEN_DOOR), ("button.intercom_open_street_door", OPEN_DOOR), ("button.nuki_unlatch", OPEN_DOOR), ("switch.hoftor_impuls", OPEN_DOOR),
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


WEAKENING = [
    "switch.alarm_system turn_off", "switch.alarm_system toggle", "switch.alarm_system set_value", "switch.house_alarm turn_off",
    "switch.alarmanlage turn_off", "switch.alarme_maison turn_off", "switch.allarme turn_off", "switch.alarma_casa turn_off",
    "switch.inbraakalarm turn_off", "switch.alarm_w_domu turn_off", "switch.smoke_siren turn_off", "switch.sirene_aussen turn_off",
    "switch.syrena turn_off", "switch.sirena turn_off", "switch.glass_break_sensor turn_off", "switch.glasbruch turn_off",
    "switch.co_detector turn_off", "switch.carbon_monoxide_detector turn_off", "switch.rauchmelder_flur turn_off",
    "switch.rookmelder turn_off", "switch.water_leak_sensor turn_off", "switch.frigate_front_detect turn_off",
    "switch.frigate_front_recordings turn_off", "switch.yard_person_detection turn_off", "switch.hof_bewegungserkennung turn_off",
    "switch.patio_deteccion_de_movimiento turn_off", "switch.security_system turn_off", "switch.einbruchschutz turn_off",
    "switch.antifurto turn_off", "switch.antivol turn_off", "switch.tamper_alert turn_off", "switch.co_detector_mute turn_on",
    "switch.smoke_alarm_silence toggle", "switch.intruder_zone_bypass turn_on", "input_boolean.alarm_enabled turn_off",
    "input_boolean.alarm_enabled toggle", "input_boolean.alarm_disabled turn_on", "input_boolean.disarm_house turn_on",
    "input_boolean.house_armed turn_off", "input_boolean.anlage_unscharf turn_on", "automation.burglar_alarm turn_off",
    "automation.smoke_alarm_siren toggle", "button.smoke_detector_hush press", "button.co_alarm_test press",
    "button.rauchmelder_stumm press", "button.siren_stop press", "input_button.disarm press", "input_button.reset_tamper_sensor press",
    "select.eufy_guard_mode select_option Disarmed", "select.eufy_guard_mode select_option Home", "select.eufy_guard_mode select_next",
    "select.security_mode select_option off", "input_select.house_alarm select_option unscharf", "input_select.burglar select_first",
    "number.alarm_exit_delay set_value 240",
]  # fmt: skip
OPENING = [
    "number.garage_door_position set_value 100", "number.garage_door_position set_value 5", "number.garage_door_position",
    "number.gate_opening set_value 20", "input_number.garage_target_position set_value 30", "input_number.garagentor_position set_value 1",
    "text.front_door_user_code_1 set_value 1234", "text.keypad_pin set_value 1234", "input_text.guest_code set_value 1",
    "input_text.alarm_code set_value 1", "number.lock_pin set_value 4", "input_number.door_code set_value 4",
    "text.zugangscode set_value 1", "switch.voordeur_openen turn_on", "switch.brama_otworz turn_on", "switch.apri_cancello turn_on",
    "switch.ouvrir_le_portail turn_on", "switch.abrir_puerta turn_on", "switch.haustur_offner turn_on", "switch.serrure turn_off",
    "button.ontgrendelen_voordeur press", "switch.deurslot turn_off",
]  # fmt: skip
CODE = ["input_text.shell_argument set_value x", "input_text.ssh_line set_value x", "text.command set_value x"]
EVERYDAY = [
    "switch.alarm_system turn_on", "input_boolean.alarm_enabled turn_on", "switch.smoke_siren turn_on", "switch.co_detector_mute turn_off",
    "input_boolean.disarmed turn_off", "automation.burglar_alarm turn_on", "automation.burglar_alarm trigger",
    "automation.morning_alarm turn_off", "automation.motion_light turn_off", "select.eufy_guard_mode select_option Away",
    "select.eufy_guard_mode select_option Night", "select.security_mode select_option Armed", "number.garage_door_position set_value 0",
    "switch.alarm_clock turn_off", "switch.sonos_alarm_14 turn_off", "switch.wake_up_alarm turn_off", "switch.wecker_alarm turn_off",
    "switch.morning_alarm turn_off", "switch.alarm_snooze turn_off", "input_boolean.school_alarm turn_off",
    "input_boolean.weekday_alarm toggle", "button.alarm_clock_stop press", "button.snooze_alarm press", "number.alarm_clock_volume set_value 1",
    "number.doorbell_volume set_value 3", "number.door_bell_volume set_value 3", "number.radiator_valve_position set_value 60",
    "number.blind_position set_value 60", "number.garage_heater_target set_value 12", "input_number.garage_humidity set_value 60",
    "switch.garage_light turn_on", "switch.garage_heater turn_on", "switch.motion_light turn_off", "switch.hallway_motion_sensor turn_off",
    "switch.alarm_light turn_off", "switch.security_lights turn_off", "switch.trv_window_detection turn_off",
    "switch.vacuum_carpet_detection turn_off", "switch.fridge_door_alarm turn_off", "switch.child_lock turn_off",
    "switch.smoke_machine turn_off",
    "switch.monday_alarm turn_off", "automation.waschmaschine_fertig_alarm turn_off", "switch.egg_timer_alarm turn_off", "switch.living_room_tv turn_off", "switch.coffee_machine toggle", "switch.tv_mute turn_on",
    "switch.guest_wifi turn_off", "switch.recording_studio_lamp turn_off", "switch.arm_chair_heater turn_off",
    "input_boolean.guest_mode turn_off", "input_boolean.vacation_mode turn_off", "input_boolean.door_open_reminder turn_off",
    "input_select.house_mode select_option Home", "select.alarm_clock_sound select_option Birds", "select.vacuum_mode select_option Quiet",
    "select.wifi_security select_option WPA3", "input_text.shopping_note set_value x", "input_text.door_sign set_value x",
    "text.wifi_password set_value x", "text.zip_code set_value x", "button.doorbell_chime press", "button.coffee_start press",
    "cover.skylight_window open_cover", "light.alarm_siren turn_off", "media_player.alarm turn_off",
]  # fmt: skip


def _reason(said: str, *called: str) -> str | None:
    """Return the reason of a call that is written as its entity, its service and its value."""
    entity_id, service, value = [*said.split(" ", 2), "", ""][:3]
    return reason_of_name(entity_id, service, {"option": value, "value": value} if value else {}, *called)


@pytest.mark.parametrize("said", WEAKENING)
def test_what_weakens_a_guard(said: str) -> None:
    assert _reason(said) == DISARM


@pytest.mark.parametrize("said", OPENING)
def test_what_opens_or_lets_in(said: str) -> None:
    assert _reason(said) == OPEN_DOOR


@pytest.mark.parametrize("said", CODE)
def test_a_text_that_is_run(said: str) -> None:
    assert _reason(said) == DESTRUCTIVE


@pytest.mark.parametrize("said", EVERYDAY)
def test_what_a_family_does_every_day(said: str) -> None:
    assert _reason(said) is None


@pytest.mark.parametrize(("said", "called", "reason"), [
    ("switch.shelly_4 turn_off", "Alarm system", DISARM), ("switch.shelly_4 turn_on", "Haustür-Öffner", OPEN_DOOR),
    ("switch.shelly_4 turn_off", "Überwachung", DISARM), ("switch.shelly_4 turn_off", "Detección de movimiento", DISARM),
    ("number.shelly_4 set_value 50", "Garage Door Position", OPEN_DOOR), ("switch.shelly_4 turn_off", "Morning alarm", None),
    ("switch.washer_door_lock turn_on", "Door lock", None), ("switch.alarm_system turn_off", "Morning light", DISARM),
])  # fmt: skip
def test_what_it_is_called(said: str, called: str, reason: str | None) -> None:
    assert _reason(said, called) == reason


@pytest.mark.parametrize(("data", "reason"), [
    ({"device": "gate", "command": "open"}, OPEN_DOOR), ({"command": ["garage_door_toggle"]}, OPEN_DOOR),
    ({"command": ["b64:sgYaAA=="]}, OPEN_DOOR), ({"command": "b64:1xoaAA=="}, OPEN_DOOR), ({"command": ["b64:JgBQAA=="]}, None),
    ({"device": "tv", "command": "KEY_1"}, None), ({"command": "power"}, None), ({}, None),
])  # fmt: skip
def test_a_code_of_a_remote_control(data: dict[str, Any], reason: str | None) -> None:
    assert reason_of_name("remote.hall", "send_command", data) == reason
