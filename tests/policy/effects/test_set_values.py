"""What a call sets is said as people say it, in each language with its number and unit; what has no words keeps its name."""

from collections.abc import Mapping

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.policy.questions import async_deeds, async_done
from custom_components.home_agent.turn.plan import ServiceCall
from tests.house import set_up

_NAMES = {
    "light.bed": "Bed", "media_player.tv": "TV", "cover.blind": "Blind", "climate.hall": "Hall", "fan.attic": "Attic", "humidifier.bath": "Bath",
    "number.delay": "Delay", "input_select.scene": "Scene", "siren.roof": "Roof", "script.mood": "Mood",
}  # fmt: skip


@pytest.fixture(autouse=True)
async def things(hass: HomeAssistant, house: None) -> None:
    """Give each kind of thing a name, and the number a unit."""
    for entity_id, name in _NAMES.items():
        unit = {"unit_of_measurement": "min"} if entity_id.startswith("number.") else {}
        hass.states.async_set(entity_id, "on", {"friendly_name": name, **unit})
    await set_up(hass)


async def _said(hass: HomeAssistant, language: str, entity_id: str, service: str, data: Mapping[str, object]) -> str:
    call = ServiceCall(domain=entity_id.partition(".")[0], service=service, entity_ids=(entity_id,), data=dict(data))
    return await async_done(hass, language, [call])


@pytest.mark.parametrize(("language", "percent", "volume", "degrees"), [
    ("en", "set Bed to 50 %", "set TV to volume 30 %", "set Hall to 21.5 °C"),
    ("de", "Bed auf 50 % einstellen", "TV auf Lautstärke 30 % einstellen", "Hall auf 21,5 °C einstellen"),
    ("fr", "régler Bed à 50 %", "régler TV au volume 30 %", "régler Hall à 21,5 °C"),
    ("es", "ajustar Bed al 50 %", "ajustar TV al volumen 30 %", "ajustar Hall a 21,5 °C"),
    ("it", "impostare Bed al 50 %", "impostare TV al volume 30 %", "impostare Hall a 21,5 °C"),
    ("nl", "Bed op 50 % instellen", "TV op volume 30 % instellen", "Hall op 21,5 °C instellen"),
    ("pl", "ustawić: Bed na 50 %", "ustawić: TV na głośność 30 %", "ustawić: Hall na 21,5 °C"),
])  # fmt: skip
async def test_each_language_says_it(
    hass: HomeAssistant, language: str, percent: str, volume: str, degrees: str
) -> None:
    assert await _said(hass, language, "light.bed", "turn_on", {"brightness_pct": 50}) == percent
    assert await _said(hass, language, "media_player.tv", "volume_set", {"volume_level": 0.3}) == volume
    assert await _said(hass, language, "climate.hall", "set_temperature", {"temperature": 21.5}) == degrees


@pytest.mark.parametrize(("entity_id", "service", "data", "said"), [
    ("light.bed", "turn_on", {"brightness": 255}, "set Bed to 100 %"), ("light.bed", "turn_on", {"brightness": 128}, "set Bed to 50 %"),
    ("light.bed", "turn_on", {"color_temp_kelvin": 2700}, "set Bed to 2700 K"), ("light.bed", "turn_on", {"color_name": "red"}, "set Bed to “red”"),
    ("light.bed", "turn_on", {"brightness_pct": 20, "color_temp_kelvin": 2700}, "set Bed to 20 % and to 2700 K"),
    ("light.bed", "turn_on", {"brightness_pct": 20, "transition": 5}, "set Bed to 20 % (transition: 5)"),
    ("light.bed", "turn_on", {"rgb_color": [255, 0, 0]}, "turn on Bed (rgb color: 255, 0, 0)"), ("light.bed", "turn_on", {}, "turn on Bed"),
    ("light.bed", "turn_on", {"brightness_pct": "half"}, "turn on Bed (brightness pct: “half”)"), ("light.bed", "turn_on", {"brightness_pct": True}, "turn on Bed (brightness pct: True)"),
    ("cover.blind", "set_cover_position", {"position": 40}, "set Blind to 40 %"), ("cover.blind", "set_cover_tilt_position", {"tilt_position": 25}, "set Blind to a tilt of 25 %"),
    ("climate.hall", "set_hvac_mode", {"hvac_mode": "heat"}, "set Hall to “Heat”"), ("climate.hall", "set_preset_mode", {"preset_mode": "night_cave"}, "set Hall to “night_cave”"),
    ("fan.attic", "turn_on", {"percentage": 60}, "set Attic to 60 %"), ("fan.attic", "set_percentage", {"percentage": 60}, "set Attic to 60 %"),
    ("humidifier.bath", "set_humidity", {"humidity": 45}, "set Bath to 45 %"), ("number.delay", "set_value", {"value": 5.0}, "set Delay to 5 min"),
    ("input_select.scene", "select_option", {"option": "Party"}, "set Scene to “Party”"),
    ("siren.roof", "turn_on", {"volume_level": 0.5}, "turn on Roof (volume level: 0.5)"),
    ("script.mood", "turn_on", {"variables": {"temperature": 21}}, "run the script “Mood” (variables: “temperature 21”)"),
])  # fmt: skip
async def test_each_field_is_said(
    hass: HomeAssistant, entity_id: str, service: str, data: Mapping[str, object], said: str
) -> None:
    assert await _said(hass, "en", entity_id, service, data) == said


async def test_a_mode_has_the_name_of_home_assistant_s_pages(hass: HomeAssistant) -> None:
    assert (
        await _said(hass, "de", "climate.hall", "set_hvac_mode", {"hvac_mode": "heat"})
        == "Hall auf „Heizbetrieb“ einstellen"
    )


async def test_what_was_done_is_said_as_well(hass: HomeAssistant) -> None:
    call = ServiceCall(domain="light", service="turn_on", entity_ids=("light.bed",), data={"brightness_pct": 30})
    assert await async_deeds(hass, "en", [call]) == "set Bed to 30 %"
