"""Which states an entity can have: by what it lists itself, by its integration's and its domain's translations, by the zones there are."""

from collections.abc import Mapping

from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_UNIT_OF_MEASUREMENT
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.translation import async_get_translations

from ..languages.data import ENGLISH

PLACES = ("person", "device_tracker")
_AWAY = {"away": "not_home", "not home": "not_home", "at home": "home"}
_NUMBERS = ("sensor", "number", "input_number", "counter")


def away_words() -> Mapping[str, str]:
    """Return what people write for being at home or not, and the state it is."""
    return _AWAY


async def async_possible_states(hass: HomeAssistant, state: State) -> dict[str, str]:
    """Return the states that an entity can have, by value and by their English names; empty where that is not known."""
    if state.domain in PLACES:
        zones = {zone.name.casefold(): zone.name for zone in hass.states.async_all("zone")}
        return {"home": "home", "not_home": "not_home", **_AWAY, **zones}
    options = state.attributes.get("options")
    known = {str(option).casefold(): str(option) for option in options} if isinstance(options, list | tuple) else {}
    for value, text in (await async_state_texts(hass, ENGLISH, state)).items():
        if not options or value.casefold() in known:
            known.setdefault(value.casefold(), value)
            known.setdefault(text.casefold(), value)
    if known:
        known.setdefault(state.state.casefold(), state.state)
    return known


async def async_state_texts(hass: HomeAssistant, language: str, state: State) -> dict[str, str]:
    """Return how the states of an entity are called in a language, by value: by its integration, else by its domain."""
    entry = er.async_get(hass).async_get(state.entity_id)
    kinds = dict.fromkeys((state.attributes.get(ATTR_DEVICE_CLASS) or "_", "_"))
    places = [
        ("entity_component", state.domain, f"component.{state.domain}.entity_component.{kind}.state.") for kind in kinds
    ]
    if entry is not None and entry.translation_key:
        prefix = f"component.{entry.platform}.entity.{state.domain}.{entry.translation_key}.state."
        places.insert(0, ("entity", entry.platform, prefix))
    for category, component, prefix in places:
        texts = await async_get_translations(hass, language, category, [component])
        if found := {key.removeprefix(prefix): text for key, text in texts.items() if key.startswith(prefix)}:
            return found
    return {}


def is_number(state: State) -> bool:
    """Return whether the state of an entity is a number."""
    if ATTR_UNIT_OF_MEASUREMENT in state.attributes:
        return True
    try:
        float(state.state)
    except ValueError:
        return False
    return state.domain in _NUMBERS
