"""The values that a call sets, as people say them: "to 50 %", "to 21.5 °C"; what is left is told by its name."""

from collections.abc import Mapping, Sequence
from math import isfinite

from homeassistant.components.fan.const import DOMAIN as FAN_DOMAIN
from homeassistant.components.light.const import DOMAIN as LIGHT_DOMAIN
from homeassistant.const import ATTR_UNIT_OF_MEASUREMENT
from homeassistant.core import HomeAssistant

from ..languages.data import data_of
from ..support.localize import async_own_text, async_text
from .wording import async_joined, cut, quoted

_BYTE = 255
_SHARES: Mapping[str, tuple[str, float]] = {
    "brightness_pct": ("confirm_to_percent", 1),
    "brightness": ("confirm_to_percent", 100 / _BYTE),
    "position": ("confirm_to_percent", 1),
    "percentage": ("confirm_to_percent", 1),
    "humidity": ("confirm_to_percent", 1),
    "volume_level": ("confirm_to_volume", 100),
    "tilt_position": ("confirm_to_tilt", 1),
}
"""By the name of a parameter, the sentence for it, and by how much it is multiplied to be a percentage."""
_TURNED_ON = frozenset({LIGHT_DOMAIN, FAN_DOMAIN})
_KELVIN = "color_temp_kelvin"
_DEGREES = frozenset({"temperature", "target_temp_low", "target_temp_high"})
_VALUE = "value"
_MODES = frozenset({
    "preset_mode", "hvac_mode", "fan_mode", "swing_mode", "operation_mode", "mode", "effect", "option", "source", "sound_mode", "color_name",
})  # fmt: skip


def sets_values(verb: str, entity_ids: Sequence[str]) -> bool:
    """Return whether people call it setting something to a value: also where it is turned on with one."""
    domains = {entity_id.partition(".")[0] for entity_id in entity_ids}
    return bool(domains) and (verb == "set" or (verb == "turn_on" and domains <= _TURNED_ON))


async def async_set_to(
    hass: HomeAssistant, language: str, entity_ids: Sequence[str], values: Mapping[str, object]
) -> tuple[str, dict[str, object]]:
    """Return what values set something to, "" for none that people have words for, and those that are left."""
    said, left = list[str](), dict[str, object]()
    for key, value in values.items():
        text = await _async_value(hass, language, entity_ids, key, value)
        if text and text not in said:
            said.append(text)
        elif not text:
            left[key] = value
    return await async_joined(hass, language, said), left


async def _async_value(hass: HomeAssistant, language: str, entity_ids: Sequence[str], key: str, value: object) -> str:
    """Return what one value sets something to; "" where it is told by its name."""
    if isinstance(value, str) and value and key in _MODES:
        name = await _async_mode(hass, language, entity_ids, key, value)
        return await async_text(hass, language, "confirm_to", value=quoted(name, language))
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return ""
    if (share := _SHARES.get(key)) is not None:
        percent = value * share[1]
        return await async_text(
            hass, language, share[0], value=_number(round(percent) if share[1] != 1 else percent, language)
        )
    unit = "K" if key == _KELVIN else hass.config.units.temperature_unit if key in _DEGREES else ""
    if key == _VALUE and len(entity_ids) == 1 and (state := hass.states.get(entity_ids[0])) is not None:
        unit = cut(str(state.attributes.get(ATTR_UNIT_OF_MEASUREMENT) or ""))
    if not unit and key != _VALUE:
        return ""
    return await async_text(hass, language, "confirm_to", value=f"{_number(value, language)} {unit}".strip())


async def _async_mode(hass: HomeAssistant, language: str, entity_ids: Sequence[str], key: str, value: str) -> str:
    """Return what Home Assistant's own pages call a mode, else its name."""
    domains = {entity_id.partition(".")[0] for entity_id in entity_ids}
    if len(domains) == 1:
        [domain] = domains
        path = f"state.{value}" if key == "hvac_mode" else f"state_attributes.{key}.state.{value}"
        if found := await async_own_text(hass, language, "entity_component", domain, f"entity_component._.{path}"):
            return found
    return value


def _number(value: float, language: str) -> str:
    """Return a number as it is written in a language: "21.5", "21,5"."""
    written = str(int(value)) if float(value).is_integer() else f"{value:.6g}"
    return written if data_of(language).times.get("thousands") == "," else written.replace(".", ",")
