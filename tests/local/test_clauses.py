"""What has to be so in the home, as it is said in seven languages, and the watch that comes of it."""

from dataclasses import dataclass
from typing import Any

from homeassistant.components.conversation.chat_log import ChatLog
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.local.clauses import ReadClause, async_read_clause
from custom_components.home_agent.local.sentences import Stage, async_hear
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import set_up
from tests.prompt.conftest import make_turn

from .conftest import said_in

HOME: list[tuple[str, str, str | None, str, dict[str, Any]]] = [
    ("light.kitchen_lights", "Kitchen Lights", "Kitchen", "off", {}),
    ("light.living_room_lights", "Living Room Lights", "Living Room", "off", {}),
    ("light.bed_light", "Bed Light", "Bedroom", "off", {}),
    ("light.office_lights", "Office Lights", "Office", "off", {}),
    ("light.entrance_lights", "Entrance Lights", "Hallway", "off", {}),
    ("light.garden_lights", "Garden Lights", "Garden", "off", {}),
    ("cover.living_room_blinds", "Living Room Blinds", "Living Room", "open", {"device_class": "blind"}),
    ("cover.kitchen_blinds", "Kitchen Blinds", "Kitchen", "open", {"device_class": "blind"}),
    ("cover.bedroom_blinds", "Bedroom Blinds", "Bedroom", "open", {"device_class": "blind"}),
    ("cover.garage_door", "Garage Door", "Garage", "closed", {"device_class": "garage"}),
    ("lock.front_door", "Front Door", "Hallway", "locked", {}),
    ("alarm_control_panel.house_alarm", "House Alarm", None, "disarmed", {}),
    ("valve.garden_sprinkler", "Garden Sprinkler", "Garden", "closed", {}),
    (
        "climate.living_room_heating",
        "Living Room Heating",
        "Living Room",
        "heat",
        {"current_temperature": 19.5, "temperature": 20},
    ),
    (
        "climate.bathroom_heating",
        "Bathroom Heating",
        "Bathroom",
        "heat",
        {"current_temperature": 21.0, "temperature": 21},
    ),
    ("fan.living_room_fan", "Living Room Fan", "Living Room", "off", {}),
    ("fan.bathroom_fan", "Bathroom Fan", "Bathroom", "off", {}),
    ("switch.coffee_machine", "Coffee Machine", "Kitchen", "off", {}),
    ("switch.heater", "Heater", "Office", "off", {}),
    ("switch.christmas_tree", "Christmas Tree", "Living Room", "off", {}),
    ("media_player.living_room_tv", "Living Room TV", "Living Room", "playing", {"device_class": "tv"}),
    ("media_player.kitchen_radio", "Kitchen Radio", "Kitchen", "off", {}),
    ("media_player.bedroom_speaker", "Bedroom Speaker", "Bedroom", "idle", {"device_class": "speaker"}),
    ("vacuum.robot", "Robot", "Living Room", "docked", {}),
    ("humidifier.bedroom_humidifier", "Bedroom Humidifier", "Bedroom", "off", {}),
    ("binary_sensor.washing_machine", "Washing Machine", "Bathroom", "on", {"device_class": "running"}),
    ("binary_sensor.dryer", "Dryer", "Bathroom", "on", {"device_class": "running"}),
    (
        "sensor.dishwasher",
        "Dishwasher",
        "Kitchen",
        "run",
        {"device_class": "enum", "options": ["ready", "run", "finished"]},
    ),
    ("binary_sensor.kitchen_window", "Kitchen Window", "Kitchen", "off", {"device_class": "window"}),
    ("binary_sensor.bedroom_window", "Bedroom Window", "Bedroom", "off", {"device_class": "window"}),
    ("binary_sensor.front_door_contact", "Front Door contact", "Hallway", "off", {"device_class": "door"}),
    (
        "sensor.outdoor_temperature",
        "Outdoor Temperature",
        None,
        "8.1",
        {"device_class": "temperature", "unit_of_measurement": "°C"},
    ),
    (
        "sensor.office_temperature",
        "Office Temperature",
        "Office",
        "20.1",
        {"device_class": "temperature", "unit_of_measurement": "°C"},
    ),
    (
        "sensor.living_room_temperature",
        "Living Room Temperature",
        "Living Room",
        "19.9",
        {"device_class": "temperature", "unit_of_measurement": "°C"},
    ),
    (
        "sensor.living_room_brightness",
        "Living Room brightness",
        "Living Room",
        "120",
        {"device_class": "illuminance", "unit_of_measurement": "lx"},
    ),
    ("binary_sensor.backyard_motion", "Backyard Motion", "Garden", "off", {"device_class": "motion"}),
    (
        "sensor.bathroom_humidity",
        "Bathroom Humidity",
        "Bathroom",
        "55",
        {"device_class": "humidity", "unit_of_measurement": "%"},
    ),
    (
        "sensor.anna_phone_battery",
        "Anna Phone Battery",
        None,
        "80",
        {"device_class": "battery", "unit_of_measurement": "%"},
    ),
    ("binary_sensor.doorbell", "Doorbell", "Hallway", "off", {"device_class": "occupancy"}),
    ("binary_sensor.mailbox", "Mailbox", None, "off", {}),
    ("person.anna", "Anna", None, "home", {}),
    ("person.ben", "Ben", None, "not_home", {}),
    ("person.mia", "Mia", None, "home", {}),
    ("scene.evening", "Evening", None, "unknown", {}),
    ("scene.movie", "Movie", None, "unknown", {}),
    ("script.good_night", "Good night", None, "off", {}),
    ("script.water_the_plants", "Water the plants", None, "off", {}),
    ("todo.shopping_list", "Shopping List", None, "3", {}),
    ("todo.family_tasks", "Family Tasks", None, "1", {}),
    ("calendar.family_calendar", "Family Calendar", None, "off", {}),
    ("weather.home", "Home", None, "cloudy", {"temperature": 8.0}),
]


@dataclass(frozen=True, kw_only=True)
class Family:
    """A home with Home Agent in it, and one who speaks in the living room."""

    hass: HomeAssistant
    entry: MockConfigEntry
    user: Any

    async def read(
        self,
        clause: str,
        language: str = "en",
        *,
        text: str = "",
        is_event: bool = True,
        room: str = "living_room",
        user: Any = ...,
    ) -> ReadClause | None:
        """Return what is made of a clause of a sentence."""
        speaker = self.user if user is ... else user
        turn = make_turn.__wrapped__()(text or clause, language=language, user=speaker, area_id=room or None)  # type: ignore[attr-defined]
        log = ChatLog(self.hass, turn.conversation_id)
        means = self.entry.runtime_data.means
        sentence = await async_hear(self.hass, turn, said_in(turn), log, means, Stage.NO_MODEL)
        return await async_read_clause(sentence, clause, is_event=is_event)


def add(
    hass: HomeAssistant,
    entity_id: str,
    name: str,
    area: str | None,
    state: str,
    attributes: dict[str, Any],
    *,
    exposed: bool = True,
) -> None:
    """Register an entity of the home."""
    domain, object_id = entity_id.split(".")
    registry = er.async_get(hass)
    registry.async_get_or_create(domain, "test", object_id, suggested_object_id=object_id, original_name=name)
    if area:
        registry.async_update_entity(entity_id, area_id=ar.async_get(hass).async_get_or_create(area).id)
    async_expose_entity(hass, ASSISTANT, entity_id, exposed)
    hass.states.async_set(entity_id, state, {"friendly_name": name, **attributes})


@pytest.fixture
async def family(hass: HomeAssistant, hass_admin_user: Any) -> Family:
    """Build a family's home; its user is Anna."""
    for component in ("homeassistant", "conversation", "intent"):
        assert await async_setup_component(hass, component, {})
    for entity_id, name, area, state, attributes in HOME:
        own = {"user_id": hass_admin_user.id} if entity_id == "person.anna" else {}
        add(hass, entity_id, name, area, state, attributes | own)
    return Family(hass=hass, entry=await set_up(hass), user=hass_admin_user)


@pytest.mark.parametrize(
    ("language", "clause", "entity_id", "states"),
    [
        ("en", "the washer's done", "binary_sensor.washing_machine", ("off",)),
        ("de", "die haustür aufgeht", "binary_sensor.front_door_contact", ("on",)),
    ],
)
async def test_a_state_is_meant(
    family: Family, language: str, clause: str, entity_id: str, states: tuple[str, ...]
) -> None:
    found = await family.read(clause, language)
    assert found is not None
    assert found.watch.entity_ids == (entity_id,)
    assert found.watch.states == states
