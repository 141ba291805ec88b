"""What has to be so in the home, as it is said in seven languages, and the watch that comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.auth.models import User
from homeassistant.components.conversation.chat_log import ChatLog
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
from homeassistant.util.unit_system import US_CUSTOMARY_SYSTEM
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.local.clauses import ReadClause, async_read_clause
from custom_components.home_agent.local.sentences import Stage, async_hear
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.turn import Turn
from custom_components.home_agent.wishes.when import Watch
from tests.house import set_up

from . import said
from .conftest import MakeContext, limited, said_in

__all__ = ["limited"]

CLAUSES: Mapping[str, Any] = said.read("clauses.json")
"""`said`: clauses by language, with what is watched, "" where they are not understood; `names` and `areas` of the home in it."""
LANGUAGES = tuple(CLAUSES["said"])

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
    """A home with Home Agent in it, and Anna, who speaks in the living room."""

    hass: HomeAssistant
    entry: MockConfigEntry
    anna: User

    async def read(
        self,
        clause: str,
        language: str = "en",
        *,
        text: str = "",
        is_event: bool = True,
        room: str = "Living Room",
        user: User | None = None,
    ) -> ReadClause | None:
        """Return what is made of a clause of a sentence that Anna says, or another user."""
        area = ar.async_get(self.hass).async_get_area_by_name(room)
        turn = Turn(
            profile=Profile(subentry_id="p", name="Home Agent"),
            conversation_id="c",
            text=text or clause,
            language=language,
            context=Context(),
            user=user or self.anna,
            area_id=area.id if area is not None else None,
        )
        log, means = ChatLog(self.hass, turn.conversation_id), self.entry.runtime_data.means
        sentence = await async_hear(self.hass, turn, said_in(turn), log, means, Stage.NO_MODEL)
        return await async_read_clause(sentence, clause, is_event=is_event)

    async def told(self, clause: str, language: str = "en", **how: Any) -> str:
        """Return what is watched: "binary_sensor.dryer off"; "" for nothing."""
        found = await self.read(clause, language, **how)
        return told(found.watch) if found is not None else ""


def told(watch: Watch) -> str:
    """Return a watch in words; `people` are all persons of the home."""
    ids = ", ".join(watch.entity_ids).replace("person.anna, person.ben, person.mia", "people")
    flags = {"not": watch.negated, "every": watch.every, "each": watch.each}
    above, below = (f"{sign} {to:g}" if to is not None else "" for sign, to in ((">", watch.above), ("<", watch.below)))
    said_of = (name for name, is_so in flags.items() if is_so)
    return " ".join(filter(None, (ids, watch.attribute, *said_of, "|".join(watch.states), above, below)))


def add(
    hass: HomeAssistant,
    entity_id: str,
    name: str,
    state: str,
    *,
    area: str | None = None,
    exposed: bool = True,
    **attributes: Any,
) -> None:
    """Register an entity of the home."""
    domain, object_id = entity_id.split(".")
    registry = er.async_get(hass)
    registry.async_get_or_create(domain, "test", object_id, suggested_object_id=object_id, original_name=name)
    if area:
        registry.async_update_entity(entity_id, area_id=ar.async_get(hass).async_get_or_create(area).id)
    async_expose_entity(hass, ASSISTANT, entity_id, exposed)
    hass.states.async_set(entity_id, state, {"friendly_name": name, **attributes})


async def build(hass: HomeAssistant, anna: User, language: str = "en") -> Family:
    """Return the home with its names in a language."""
    hass.config.language = language
    for component in ("homeassistant", "conversation", "intent"):
        assert await async_setup_component(hass, component, {})
    names, areas = (CLAUSES[key].get(language, {}) for key in ("names", "areas"))
    for entity_id, name, area, state, attributes in HOME:
        own: dict[str, Any] = {"user_id": anna.id} if entity_id == "person.anna" else {}
        area_name = areas.get(area, area) if area else None
        add(hass, entity_id, names.get(entity_id, name), state, area=area_name, **attributes, **own)
    return Family(hass=hass, entry=await set_up(hass), anna=anna)


@pytest.fixture
async def family(hass: HomeAssistant, hass_admin_user: User) -> Family:
    """Build a family's home with English names; its user is Anna."""
    return await build(hass, hass_admin_user)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_clauses_are_understood_or_left(family: Family, language: str) -> None:
    clauses = CLAUSES["said"][language]
    assert {clause: await family.told(clause, language) for clause in clauses} == clauses


@pytest.mark.parametrize("language", [*CLAUSES["names"]])
async def test_they_are_understood_in_a_home_with_names_of_the_language(
    hass: HomeAssistant, hass_admin_user: User, language: str
) -> None:
    family = await build(hass, hass_admin_user, language)
    clauses, room = CLAUSES["said"][language], CLAUSES["areas"][language]["Living Room"]
    assert {clause: await family.told(clause, language, room=room) for clause in clauses} == clauses


@pytest.mark.parametrize(
    ("sentence", "clause", "expected"),
    [
        ("remind me to empty the dryer when it's done", "it's done", "binary_sensor.dryer off"),
        ("close the garage door if it is open", "it is open", "cover.garage_door open|opening"),
        ("let Mia in when she's back", "she's back", "person.mia home"),
        (
            "turn the heater in the office off once it goes above 22 degrees in there",
            "it goes above 22 degrees in there",
            "sensor.office_temperature > 22",
        ),
        (
            "turn on the bathroom fan when humidity is over 70",
            "humidity is over 70",
            "sensor.bathroom_humidity > 70",
        ),
        ("turn on the heater when it falls below 18 degrees", "it falls below 18 degrees", ""),
        ("call me when it's done", "it's done", ""),
        ("turn the lights off when they are done", "they are done", ""),
        ("tell Anna and Ben when she's back", "she's back", ""),
    ],
)
async def test_the_rest_of_the_sentence_says_what_it_is(
    family: Family, sentence: str, clause: str, expected: str
) -> None:
    assert await family.told(clause, text=sentence) == expected


async def test_the_words_are_kept_as_they_were_said(family: Family) -> None:
    found = await family.read("  the  Washer's done ")
    assert found is not None
    assert found.words == "the Washer's done"


@pytest.mark.parametrize(
    ("clause", "event", "condition"),
    [
        ("somebody is home", "people each home", "people home"),
        ("somebody is away", "people not each home", "people not every home"),
        ("Anna or Ben is home", "person.anna, person.ben each home", "person.anna, person.ben home"),
        ("nobody is home", "people not home", "people not home"),
        ("it is 25 degrees", "sensor.living_room_temperature > 24.999", ""),
    ],
)
async def test_what_happens_differs_from_what_is_so(family: Family, clause: str, event: str, condition: str) -> None:
    assert await family.told(clause) == event
    assert await family.told(clause, is_event=False) == condition


async def test_i_am_only_known_with_a_person(hass: HomeAssistant, family: Family) -> None:
    stranger = MockUser(is_owner=True).add_to_hass(hass)
    assert await family.told("I leave") == "person.anna not home"
    assert await family.told("I leave", user=stranger) == ""
    assert await family.told("we come home", user=stranger) == ""
    assert await family.told("we leave", user=stranger) == "people not home"


@pytest.mark.parametrize("clause", ["the sauna is on", "the cellar window is open", "Granny comes home"])
async def test_what_is_hidden_is_as_unknown_as_what_is_not_there(
    hass: HomeAssistant, family: Family, clause: str
) -> None:
    assert await family.told(clause) == ""
    add(hass, "switch.sauna", "Sauna", "off", exposed=False)
    add(hass, "binary_sensor.cellar_window", "Cellar Window", "off", exposed=False, device_class="window")
    add(hass, "person.granny", "Granny", "home", exposed=False)
    await hass.async_block_till_done()
    assert await family.told(clause) == ""
    for entity_id in ("switch.sauna", "binary_sensor.cellar_window", "person.granny"):
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    await hass.async_block_till_done()
    assert await family.told(clause) != ""


@pytest.mark.parametrize(
    ("language", "clause", "expected"),
    [
        ("en", "the front garden valve opens", "valve.front_garden open|opening"),
        ("en", "the front garden is still open", "valve.front_garden open|opening"),
        ("en", "the back garden valve opens", ""),
        ("en", "the back garden valve is open", ""),
        ("en", "the backyard valve opens", "valve.garden_sprinkler open|opening"),
        ("en", "the valve in the back garden opens", ""),
        ("en", "the left garden valve opens", ""),
        ("en", "left front garden valve is open", ""),
        ("en", "the left garden valve is open", ""),
        ("en", "the side garden valve opens", ""),
        ("en", "the well valve opens", ""),
        ("en", "the reading bed light is on", ""),
        ("en", "the bed light is still on", "light.bed_light on"),
        ("en", "the bed light has been left on", "light.bed_light on"),
        ("en", "the inside bed light is on", ""),
        ("en", "the down bed light is on", ""),
        ("de", "Front Garden aufgeht", "valve.front_garden open|opening"),
        ("de", "das Ventil im hinteren Garten aufgeht", ""),
        ("de", "das Ventil im Hintergarten offen ist", "valve.garden_sprinkler open|opening"),
        ("de", "das linke Bed Light an ist", ""),
        ("de", "das ganze Bed Light an ist", ""),
        ("de", "das Bed Light noch an ist", "light.bed_light on"),
        ("fr", "la vanne du jardin de derrière est ouverte", "valve.garden_sprinkler open|opening"),
        ("es", "la válvula del jardín trasero está abierta", "valve.garden_sprinkler open|opening"),
        ("it", "la valvola del giardino sul retro è aperta", "valve.garden_sprinkler open|opening"),
    ],
)
async def test_a_word_that_tells_which_thing_is_meant_is_never_left_out(
    hass: HomeAssistant, family: Family, language: str, clause: str, expected: str
) -> None:
    add(hass, "valve.front_garden", "Front Garden", "closed")
    add(hass, "valve.back_garden", "Back Garden", "closed", exposed=False)
    await hass.async_block_till_done()
    assert await family.told(clause, language) == expected
    assert await family.told(clause, language, is_event=False) == expected


async def test_a_user_hears_of_nothing_that_they_may_not_see(
    hass: HomeAssistant, family: Family, limited: MakeContext
) -> None:
    context = limited("binary_sensor.dryer", "person.ben", read=False)
    assert context.user_id is not None
    child = await hass.auth.async_get_user(context.user_id)
    assert child is not None
    assert await family.told("the dryer is done", user=child) == "binary_sensor.dryer off"
    assert await family.told("the washing machine is done", user=child) == ""
    assert await family.told("nobody is home", user=child) == "person.ben not home"


@pytest.mark.parametrize(
    ("entities", "expected"),
    [
        (
            {"binary_sensor.sauna": ("on", {"device_class": "running"}), "switch.sauna": ("on", {})},
            "binary_sensor.sauna off",
        ),
        (
            {
                "sensor.sauna": ("run", {"options": ["run", "pause", "end"], "device_class": "enum"}),
                "switch.sauna": ("on", {}),
            },
            "sensor.sauna end",
        ),
        (
            {"sensor.sauna": ("run", {"options": ["inactive", "run", "end"], "device_class": "enum"})},
            "sensor.sauna end",
        ),
        ({"sensor.sauna": ("run", {"options": ["idle", "run"], "device_class": "enum"})}, "sensor.sauna idle"),
        ({"select.sauna": ("On", {"options": ["On", "Off"]})}, "select.sauna Off"),
        ({"switch.sauna": ("on", {})}, "switch.sauna off"),
        ({"light.sauna": ("on", {})}, ""),
        ({"sensor.sauna": ("80", {"device_class": "power", "unit_of_measurement": "W"})}, "sensor.sauna < 5"),
        (
            {
                "sensor.sauna": ("80", {"device_class": "power", "unit_of_measurement": "W"}),
                "switch.sauna": ("on", {}),
            },
            "switch.sauna off",
        ),
        ({"sensor.sauna": ("80", {"device_class": "temperature", "unit_of_measurement": "°C"})}, ""),
    ],
)
async def test_what_tells_best_that_something_is_done_is_watched(
    hass: HomeAssistant, family: Family, entities: dict[str, tuple[str, dict[str, Any]]], expected: str
) -> None:
    for entity_id, (state, attributes) in entities.items():
        add(hass, entity_id, "Sauna", state, **attributes)
    await hass.async_block_till_done()
    assert await family.told("the sauna is done") == expected


async def test_parts_of_a_machine_are_not_the_machine(hass: HomeAssistant, family: Family) -> None:
    options: dict[str, Any] = {"device_class": "enum", "options": ["ready", "run", "finished"]}
    add(hass, "binary_sensor.sauna_remote", "Sauna Remote Control", "on")
    assert await family.told("the sauna is done") == ""
    add(hass, "sensor.sauna_state", "Sauna Operation State", "run", **options)
    add(hass, "sensor.sauna_machine", "Sauna Machine State", "run", device_class="enum", options=["run", "stop"])
    add(hass, "switch.sauna", "Sauna", "on")
    add(hass, "sensor.sauna_left", "Sauna Time Left", "42", device_class="duration", unit_of_measurement="min")
    await hass.async_block_till_done()
    assert await family.told("the sauna is done") == "sensor.sauna_state finished"
    assert await family.told("the sauna is off") == "switch.sauna off"


async def test_a_state_in_the_words_of_the_home_is_found(hass: HomeAssistant, family: Family) -> None:
    add(hass, "sensor.sauna", "Sauna", "Heizt")
    await hass.async_block_till_done()
    found = await family.read("die Sauna fertig ist", "de")
    assert found is not None
    assert {"fertig", "Fertig", "done", "idle"} <= {*found.watch.states}


async def test_two_alike_are_not_told_apart(hass: HomeAssistant, family: Family) -> None:
    add(hass, "binary_sensor.second_window", "Kitchen Window", "off", device_class="window")
    await hass.async_block_till_done()
    assert await family.told("the kitchen window is open") == ""
    ids = "binary_sensor.bedroom_window, binary_sensor.kitchen_window, binary_sensor.second_window"
    assert await family.told("a window is open") == f"{ids} on"


async def test_without_a_room_only_what_is_there_once_is_meant(family: Family) -> None:
    assert await family.told("the temperature is above 22", room="") == ""
    assert await family.told("the light is on", room="") == ""
    assert await family.told("it gets dark in here", room="") == ""
    assert await family.told("humidity is above 70", room="") == "sensor.bathroom_humidity > 70"


async def test_somebody_in_a_room_is_told_by_its_sensor(hass: HomeAssistant, family: Family) -> None:
    assert await family.told("nobody is in the living room") == ""
    add(hass, "binary_sensor.sofa", "Sofa", "off", area="Living Room", device_class="occupancy")
    await hass.async_block_till_done()
    assert await family.told("nobody is in the living room") == "binary_sensor.sofa not on"
    assert await family.told("somebody is in the living room") == "binary_sensor.sofa on"
    assert await family.told("nobody is in the hallway") == ""  # the bell hangs there


async def test_degrees_of_the_other_scale_are_not_compared(hass: HomeAssistant, hass_admin_user: User) -> None:
    hass.config.units = US_CUSTOMARY_SYSTEM
    family = await build(hass, hass_admin_user)
    assert await family.told("the temperature in the office falls below 18 degrees celsius") == ""
    assert await family.told("the temperature in the office falls below 18") == ""  # the sensor is set to the other one


@pytest.mark.parametrize(
    "clause", ["", "   ", "the", "is", "when " * 40, "a" * 2000, "5", "-", "🙂", "the door " * 200]
)
async def test_what_is_no_clause_is_left(family: Family, clause: str) -> None:
    assert await family.read(clause, text="turn off the heater") is None


@pytest.mark.parametrize("language", ["sv", "ja", "ru", "xx"])
async def test_a_language_without_these_words_is_left(family: Family, language: str) -> None:
    assert await family.read("Washing Machine done", language) is None
