"""A home to write automations for: demo lights, locks, covers and switches, climate, helpers, and what is judged of a draft there."""

from collections.abc import Mapping
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component

from custom_components.home_agent.automations.check import async_problems
from custom_components.home_agent.automations.draft import AutomationDraft, async_draft
from custom_components.home_agent.automations.problems import DraftProblem
from tests.house import build_house

HIDDEN = "switch.ac"


def knows(entity_id: str) -> bool:
    return entity_id != HIDDEN


async def build_home(hass: HomeAssistant) -> None:
    """Set up the house, automations, scripts, scenes, helpers, people and sensors."""
    await build_house(hass)
    helpers = {
        "automation": [
            {
                "id": "other",
                "alias": "Other",
                "triggers": [{"trigger": "event", "event_type": "other_event"}],
                "actions": [{"event": "answer"}],
            }
        ],
        "script": {
            "ask": {"sequence": [{"action": "conversation.process", "data": {"text": "Hello"}}]},
            "greet": {
                "fields": {
                    "who": {"required": True},
                    "loud": {"selector": {"number": {"min": 0, "max": 10}}},
                    "tone": {"selector": {"select": {"options": ["warm", "cold"]}}},
                },
                "sequence": [{"action": "light.turn_on", "target": {"entity_id": "light.bed_light"}}],
            },
        },
        "scene": [{"name": "Movie", "entities": {"light.bed_light": "off"}}],
        "input_boolean": {"guests": {"name": "Guests"}},
        "input_select": {"mode": {"options": ["day", "night"]}},
        "input_number": {"level": {"min": 0, "max": 10}},
        "counter": {"rings": {}},
        "person": [{"id": "tom", "name": "Tom"}],
        "persistent_notification": {},
        "tag": {},
    }
    for domain, config in helpers.items():
        assert await async_setup_component(hass, domain, {domain: config}), domain
    await hass.async_block_till_done()
    hass.states.async_set(
        "sensor.attic", "21.5", {"unit_of_measurement": "°C", "device_class": "temperature", "friendly_name": "Attic"}
    )
    hass.states.async_set(
        "binary_sensor.garage_door", "off", {"device_class": "garage_door", "friendly_name": "Garage door"}
    )
    hass.states.async_set(
        "climate.hall",
        "heat",
        {
            "hvac_modes": ["off", "heat"],
            "min_temp": 7,
            "max_temp": 35,
            "preset_modes": ["eco"],
            "supported_features": 401,
        },
    )
    hass.states.async_set("light.cellar", "off", {"supported_color_modes": ["onoff"], "supported_features": 0})
    hass.states.async_set("humidifier.hall", "on", {"available_modes": ["eco", "auto"], "supported_features": 1})
    hass.states.async_set("siren.roof", "off", {"available_tones": ["fire", "burglar"], "supported_features": 7})
    hass.states.async_set("climate.attic", "heat", {"hvac_modes": ["heat_cool"], "min_temp": 7, "max_temp": 35})
    hass.states.async_set("group.lamps", "off", {"entity_id": ["light.cellar", "light.bed_light"]})
    hass.states.async_set("sun.sun", "below_horizon", {"elevation": -3.5})
    hass.states.async_set(HIDDEN, "on", {"friendly_name": "AC"})
    for domain in ("climate", "humidifier", "siren"):
        await async_setup_component(hass, domain, {})


LIGHT_ON: Mapping[str, Any] = {"action": "light.turn_on", "target": {"entity_id": "light.bed_light"}}
DOOR: Mapping[str, Any] = {"trigger": "state", "entity_id": "binary_sensor.garage_door", "to": "on"}


def config(*actions: Mapping[str, Any], trigger: Any = DOOR, conditions: Any = (), **more: Any) -> dict[str, Any]:
    """Return an automation: at the garage door, with these actions, else the light goes on."""
    triggers = [trigger] if isinstance(trigger, Mapping) else [*trigger]
    found = {"alias": "Test", "triggers": triggers, "actions": [*(actions or (LIGHT_ON,))], **more}
    return {**found, "conditions": [*conditions]} if conditions else found


async def draft(hass: HomeAssistant, *actions: Any, **more: Any) -> AutomationDraft:
    return await async_draft(hass, config(*actions, **more))


async def problems(hass: HomeAssistant, *actions: Any, **more: Any) -> list[DraftProblem]:
    """Return what is wrong with an automation."""
    return await async_problems(hass, await draft(hass, *actions, **more), knows=knows)


async def sentences(hass: HomeAssistant, *actions: Any, **more: Any) -> str:
    """Return what is wrong with an automation, a line each: path, sentence."""
    return "\n".join(f"{one.path}: {one.sentence}" for one in await problems(hass, *actions, **more))
