"""Taking back on devices of many kinds, as Home Assistant's own demonstration has them."""

from typing import Any

from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from tests import house as house_module
from tests.house import act, set_up

from .steps import ByHand, control, do, look

PLATFORMS = [
    "climate", "cover", "date", "datetime", "fan", "humidifier", "light", "lock", "media_player", "number",
    "select", "siren", "switch", "text", "time", "vacuum", "valve", "water_heater",
]  # fmt: skip


@pytest.fixture(autouse=True)
def devices(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Build the house with all of them."""
    monkeypatch.setattr(house_module, "PLATFORMS", PLATFORMS)
    request.getfixturevalue("house_with_helpers")


@pytest.mark.parametrize(("entity_id", "by_hand", "action", "parameters", "names"), [
    ("light.bed_light", ("light.turn_on", {"brightness": 90, "hs_color": [30, 80]}), "turn_off", {}, ("brightness", "hs_color")),
    ("light.bed_light", ("light.turn_on", {"brightness": 90, "color_temp_kelvin": 3000}), "set_value", {"color_name": "blue", "brightness_pct": 100}, ("brightness", "color_temp_kelvin")),
    ("light.bed_light", ("light.turn_on", {"effect": "rainbow"}), "set_value", {"effect": "off"}, ("effect",)),
    ("light.bed_light", ("light.turn_off", {}), "turn_on", {"brightness_pct": 10}, ()),
    ("switch.decorative_lights", ("switch.turn_on", {}), "toggle", {}, ()),
    ("input_number.level", ("input_number.set_value", {"value": 33}), "set_value", {"value": 70}, ()),
    ("input_select.mode", ("input_select.select_option", {"option": "day"}), "set_value", {"option": "night"}, ()),
    ("input_text.note", ("input_text.set_value", {"value": "old"}), "set_value", {"value": "new"}, ()),
    ("input_datetime.alarm", ("input_datetime.set_datetime", {"time": "06:10:00"}), "set_value", {"time": "09:00"}, ()),
    ("timer.egg", ("timer.cancel", {}), "turn_on", {}, ()),
    ("lock.front_door", ("lock.unlock", {}), "lock", {}, ()),
    ("climate.hvac", ("climate.set_temperature", {"temperature": 19}), "set_value", {"temperature": 23}, ("temperature",)),
    ("climate.hvac", ("climate.set_hvac_mode", {"hvac_mode": "cool"}), "turn_off", {}, ("temperature",)),
    ("climate.hvac", ("climate.set_fan_mode", {"fan_mode": "off"}), "set_value", {"fan_mode": "on_high"}, ("fan_mode",)),
    ("climate.ecobee", ("climate.set_temperature", {"target_temp_low": 20, "target_temp_high": 24}), "set_value", {"target_temp_low": 17, "target_temp_high": 26}, ("target_temp_low", "target_temp_high")),
    ("fan.living_room_fan", ("fan.turn_on", {"percentage": 33}), "set_value", {"percentage": 100}, ("percentage",)),
    ("fan.living_room_fan", ("fan.turn_on", {"percentage": 33}), "turn_off", {}, ("percentage",)),
    ("humidifier.humidifier", ("humidifier.set_humidity", {"humidity": 40}), "set_value", {"humidity": 60}, ("humidity",)),
    ("humidifier.hygrostat", ("humidifier.set_mode", {"mode": "home"}), "set_value", {"mode": "eco"}, ("mode",)),
    ("media_player.bedroom", ("media_player.volume_set", {"volume_level": 0.2}), "set_value", {"volume_level": 0.7}, ("volume_level",)),
    ("media_player.bedroom", ("media_player.media_play", {}), "turn_off", {}, ()),
    ("media_player.living_room", ("media_player.volume_mute", {"is_volume_muted": False}), "set_value", {"is_volume_muted": True}, ("is_volume_muted",)),
    ("number.volume", ("number.set_value", {"value": 11}), "set_value", {"value": 80}, ()),
    ("select.speed", ("select.select_option", {"option": "light_speed"}), "set_value", {"option": "ludicrous_speed"}, ()),
    ("text.text", ("text.set_value", {"value": "old"}), "set_value", {"value": "new"}, ()),
    ("date.date", ("date.set_value", {"date": "2027-01-02"}), "set_value", {"value": "2027-03-04"}, ()),
    ("time.time", ("time.set_value", {"time": "06:00:00"}), "set_value", {"value": "07:30"}, ()),
    ("water_heater.demo_water_heater", ("water_heater.set_temperature", {"temperature": 50}), "set_value", {"temperature": 55}, ("temperature",)),
    ("water_heater.demo_water_heater", ("water_heater.set_operation_mode", {"operation_mode": "eco"}), "set_value", {"operation_mode": "gas"}, ("operation_mode",)),
    ("valve.front_garden", ("valve.open_valve", {}), "turn_off", {}, ()),
    ("siren.siren", ("siren.turn_off", {}), "turn_on", {}, ()),
])  # fmt: skip
async def test_what_was_done_is_restored(
    hass: HomeAssistant,
    hass_admin_user: MockUser,
    entity_id: str,
    by_hand: ByHand,
    action: str,
    parameters: dict[str, Any],
    names: tuple[str, ...],
) -> None:
    await set_up(hass, options={"never_confirm": ["lock", "siren", "valve"]})
    await do(hass, by_hand[0], entity_id, **by_hand[1])
    await hass.async_block_till_done(wait_background_tasks=True)
    before = look(hass, entity_id, *names)
    await control(hass, hass_admin_user, action, entity_id, **parameters)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert look(hass, entity_id, *names) != before
    result = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    await hass.async_block_till_done(wait_background_tasks=True)
    assert [row["entity_id"] for row in result["restored"]] == [entity_id]
    assert set(result) == {"restored"}
    assert look(hass, entity_id, *names) == before
