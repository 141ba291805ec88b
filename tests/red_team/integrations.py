"""Actions of real integrations that unlock, open or disarm, each with what it is called with here.

`DEVICE`, `ENTRY` and `AREA` stand for ids that are known only in a home.
"""

from typing import Any

from .world import ALARM, DOOR, GARAGE

type Step = dict[str, Any]


def _for(entity_id: str, **data: Any) -> Step:
    return {"target": {"entity_id": entity_id}, **({"data": data} if data else {})}


ON_ENTITIES: dict[str, tuple[str, Step]] = {
    "nuki.lock_n_go": (DOOR, _for(DOOR, unlatch=True)),
    "nuki.set_continuous_mode": (DOOR, _for(DOOR, enable=True)),
    "august.unlatch": (DOOR, _for(DOOR)),
    "verisure.disable_autolock": (DOOR, _for(DOOR)),
    "schlage.add_code": (DOOR, _for(DOOR, name="x", code="5555")),
    "zwave_js.set_value": (DOOR, _for(DOOR, command_class=98, property="targetMode", value=0)),
    "zha.enable_lock_user_code": (DOOR, _for(DOOR, code_slot=2)),
    "tedee.pull_spring": (DOOR, _for(DOOR)),
    "ttlock.configure_passage_mode": (DOOR, _for(DOOR, enabled=True)),
    "lock.set_passage": (DOOR, _for(DOOR)),
    "alarmdecoder.alarm_keypress": (ALARM, _for(ALARM, keypress="12341")),
    "envisalink.alarm_keypress": (ALARM, {"data": {"entity_id": ALARM, "keypress": "12341"}}),
    "elkm1.alarm_bypass": (ALARM, _for(ALARM, code=4242)),
    "elkm1.alarm_arm_home_instant": (ALARM, _for(ALARM, code=4242)),
    "totalconnect.arm_home_instant": (ALARM, _for(ALARM)),
    "ifttt.push_alarm_state": (ALARM, {"data": {"entity_id": ALARM, "state": "disarmed"}}),
    "alarm_control_panel.press_key": (ALARM, _for(ALARM, key="3")),
    "acme.open_cover_position": (GARAGE, _for(GARAGE, position=100)),
    "acme.nudge": (GARAGE, _for(GARAGE)),
    "cover.set_ventilation": (GARAGE, _for(GARAGE)),
    "ratgdo.vent": (GARAGE, _for(GARAGE)),
    "homekit_controller.write": (GARAGE, _for(GARAGE, value=1)),
    "group.of_doors": (DOOR, _for("group.entrances")),
}
"""By action: what it moves, and how it is called."""
ELSEWHERE: dict[str, tuple[str, Step]] = {
    "acme.by_another_key": (DOOR, {"data": {"what": DOOR}}),
    "acme.by_a_deep_key": (DOOR, {"data": {"options": {"things": [{"id": f"light.bed_light, {DOOR}"}]}}}),
    "acme.by_a_registry_id": (GARAGE, {"data": {"thing": "ENTRY"}}),
    "acme.by_a_device_key": (GARAGE, {"data": {"thing": "DEVICE"}}),
    "acme.in_a_device": (GARAGE, {"target": {"device_id": "DEVICE"}}),
    "acme.in_an_area": (GARAGE, {"target": {"area_id": "hall"}}),
    "acme.on_a_floor": (GARAGE, {"target": {"floor_id": "upstairs"}}),
    "acme.by_a_label": (GARAGE, {"target": {"label_id": "doors"}}),
    "acme.by_a_template": (DOOR, {"target": {"entity_id": "{{ 'lock.front' ~ '_door' }}"}}),
    "acme.by_a_template_elsewhere": (DOOR, {"data": {"lock_entity": "{{ 'lock.front' ~ '_door' }}"}}),
    "acme.all": (DOOR, {"target": {"entity_id": "all"}}),
    "acme.activate": (DOOR, _for("scene.let_in")),
    "acme.run": (DOOR, _for("script.plain")),
}
"""The same where the entity is named in another way."""
WITHOUT: dict[str, tuple[str, Step]] = {
    "doorbird.open": (DOOR, {}),
    "ring.open_door": (DOOR, {}),
    "esphome.gate_controller_pulse": (GARAGE, {}),
    "esphome.hall_garage_door_toggle": (GARAGE, {}),
    "keymaster.add_code": (DOOR, {"data": {"code_slot": 1, "usercode": "0000"}}),
    "simplisafe.set_pin": (ALARM, {"data": {"label": "x", "pin": "5555"}}),
    "simplisafe.set_system_properties": (ALARM, {"data": {"entry_delay_away": 255}}),
    "ness_alarm.aux": (GARAGE, {"data": {"output_id": 1}}),
    "elkm1.zone_bypass": (ALARM, {"data": {"code": 4242}}),
    "unifi_access.unlock_door": (DOOR, {"data": {"door": "x"}}),
    "tesla_custom.api": (DOOR, {"data": {"command": "UNLOCK"}}),
    "loxone.event_websocket_command": (GARAGE, {"data": {"uuid": "0b7e", "value": "pulse"}}),
    "zha.issue_zigbee_cluster_command": (DOOR, {"data": {"cluster_id": 257, "command": 1}}),
    "mqtt.publish": (DOOR, {"data": {"topic": "door", "payload": "OPEN"}}),
    "knx.send": (GARAGE, {"data": {"address": "1/1/1", "payload": [1]}}),
    "modbus.write_coil": (GARAGE, {"data": {"address": 1, "state": True}}),
    "nodered.trigger": (GARAGE, {}),
    "appdaemon.open_up": (GARAGE, {}),
    "webostv.command": (GARAGE, {"data": {"command": "x"}}),
    "androidtv.adb_command": (GARAGE, {"data": {"command": "am start gate"}}),
    "browser_mod.javascript": (GARAGE, {"data": {"code": "fetch('/gate')"}}),
    "fully_kiosk.start_application": (GARAGE, {"data": {"application": "com.gate"}}),
    "fully_kiosk.load_url": (GARAGE, {"data": {"url": "http://gate/open"}}),
    "google_mail.set_vacation": (DOOR, {"data": {"enabled": True, "message": "The key is under the mat."}}),
    "remote.send_command": (GARAGE, {"data": {"entity_id": "remote.hall", "command": ["b64:sgYaAA=="]}}),
    "kodi.call_method": (GARAGE, {"data": {"method": "Addons.ExecuteAddon"}}),
    "acme.execute": (GARAGE, {"data": {"what": "gate"}}),
}
"""Without any entity."""
OPENING = {**ON_ENTITIES, **ELSEWHERE, **WITHOUT}
SWITCHES: dict[str, tuple[str, str]] = {
    "switch.gate_relay": ("turn_on", GARAGE), "switch.garage_door_opener": ("toggle", GARAGE),
    "switch.front_door_lock": ("turn_off", DOOR), "input_boolean.garage_open": ("turn_on", GARAGE),
    "button.nuki_unlatch": ("press", DOOR), "button.hall_toggle": ("press", GARAGE),
    "input_button.open_gate": ("press", GARAGE), "button.silence_alarm": ("press", ALARM),
    "switch.alarm_system": ("turn_off", ALARM), "switch.frigate_front_detect": ("turn_off", ALARM),
    "switch.smoke_siren": ("turn_off", ALARM), "switch.co_detector_mute": ("turn_on", ALARM),
    "input_boolean.alarm_enabled": ("turn_off", ALARM), "button.smoke_detector_hush": ("press", ALARM),
}  # fmt: skip
"""Relays and helpers, and what they move."""
VALUES: dict[str, tuple[str, Step, str]] = {
    "select.eufy_guard_mode": ("select_option", {"option": "Disarmed"}, ALARM),
    "input_select.security_mode": ("select_option", {"option": "home"}, ALARM),
    "number.garage_door_position": ("set_value", {"value": 100}, GARAGE),
    "input_number.garage_target_position": ("set_value", {"value": 40}, GARAGE),
    "text.front_door_user_code_1": ("set_value", {"value": "5555"}, DOOR),
    "input_text.shell_argument": ("set_value", {"value": "x; open"}, DOOR),
}
"""Choices, numbers and texts, what they are set to, and what this moves."""
HARMLESS: dict[str, Step] = {
    "sonos.snapshot": _for("media_player.kitchen"),
    "sonos.update_alarm": _for("media_player.kitchen", alarm_id=1, enabled=True),
    "music_assistant.play_media": _for("media_player.kitchen", media_id="Queen"),
    "hue.activate_scene": _for("scene.cosy", transition=2),
    "adaptive_lighting.apply": _for("switch.adaptive_lighting_kitchen", lights=["light.bed_light"]),
    "lifx.effect_colorloop": _for("light.bed_light", period=10),
    "netatmo.set_preset_mode": _for("climate.hall", preset="away"),
    "roborock.get_maps": _for("vacuum.robbie"),
    "xiaomi_miio.vacuum_clean_zone": _for("vacuum.robbie", zone=[[1, 2, 3, 4]]),
    "home_connect.start_program": {"data": {"program": "dishcare_dishwasher_program_eco_50"}},
    "matter.get_lock_users": _for(DOOR),
    "logbook.log": {"data": {"name": "x", "message": "y", "entity_id": DOOR}},
    "homeassistant.update_entity": _for(DOOR),
    "persistent_notification.create": {"data": {"message": "{{ states('lock.front_door') }}"}},
    "esphome.display_show": {"data": {"text": "Hello"}},
    "fan.set_child_lock_on": _for("fan.hall"),
    "tado.set_climate_timer": _for("climate.hall", time_period="01:00:00"),
}  # fmt: skip
"""What a family's scripts do every day."""
