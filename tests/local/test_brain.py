"""The local brain: what is understood for certain is done without a model, everything else is left alone."""

from collections.abc import Callable, Mapping
import sys
from types import FrameType
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Event, HomeAssistant, State
from homeassistant.helpers import area_registry as ar, entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.home.domains import SWITCHED
from custom_components.home_agent.home.snapshot import HomeArea, HomeEntity, HomeSnapshot
from custom_components.home_agent.languages.phrasings import COMMANDS, phrasings_of
from custom_components.home_agent.languages.vocabulary import language_of
from custom_components.home_agent.local.parts import understand as understood
from custom_components.home_agent.local.reading import Said, Understood
from custom_components.home_agent.local.things import Things
from custom_components.home_agent.local.understanding import Commanding
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import act, say, set_up, speech
from tests.llm_server import LLMServer, error, text
from tests.local.said import read

AREAS = {
    "kitchen": "Kitchen", "living": "Living Room", "bedroom": "Bedroom", "guest": "Guest Bedroom", "terrace": "Terrace",
    "hall": "Hallway",
}  # fmt: skip
HOME: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "light.kitchen_main": ("Kitchen Main Light", "kitchen", {"brightness": 128}),
    "light.kitchen_table": ("Kitchen Table Lamp", "kitchen", {"brightness": 128}),
    "light.living": ("Reading Lamp", "living", {"brightness": 128}), "light.bed": ("Bedroom Light", "bedroom", {}),
    "light.bed_2": ("Kids Room 2 Light", "bedroom", {}), "light.terrace": ("Lanterns", "terrace", {}),
    "light.party": ("Party", "living", {}), "light.off": ("Off", "hall", {}), "light.21": ("21", "hall", {}),
    "switch.coffee": ("Coffee Machine", "kitchen", {}),
    "switch.plug_1": ("Heater Plug", "living", {"device_class": "outlet"}),
    "switch.plug_2": ("Fan Plug", "living", {"device_class": "outlet"}), "fan.living": ("Ceiling Fan", "living", {}),
    "cover.living_left": ("Left Curtain", "living", {"device_class": "curtain"}),
    "cover.living_right": ("Right Curtain", "living", {"device_class": "curtain"}),
    "cover.garage": ("Garage Door", "hall", {"device_class": "garage"}),
    "climate.living": ("Thermostat", "living", {"temperature": 20.0}),
    "media_player.living": ("Smart Speaker", "living", {"device_class": "speaker", "volume_level": 0.5}),
    "lock.front": ("Front Door", "hall", {}), "vacuum.rosie": ("Rosie", "hall", {}),
    "valve.garden": ("Lawn Sprinkler", "terrace", {}),
    "sensor.kitchen": ("Kitchen Temperature", "kitchen", {"device_class": "temperature"}),
}  # fmt: skip
STATES = {
    item: State(item, {"media_player": "playing", "climate": "heat"}.get(item.partition(".")[0], "on"), attributes)
    for item, (_, _, attributes) in HOME.items()
}


def things(
    language: str,
    more: Mapping[str, tuple[str, str]] | None = None,
    state_of: Callable[[str], State | None] = STATES.get,
) -> Things:
    """Return the words of the home above."""
    known = {item: (name, area) for item, (name, area, _) in HOME.items()} | dict(more or {})
    entities = {item: HomeEntity(item, (name,), area) for item, (name, area) in known.items()}
    areas = {item: HomeArea(item, (name,)) for item, name in AREAS.items()}
    return Things(HomeSnapshot(entities, areas), language_of(language, {}), phrasings_of(language, SWITCHED), state_of)


KNOWN = {language: things(language) for language in ("en", "de")}


def understand(sentence: str, language: str = "en", *, area_id: str | None = None) -> Understood:
    """Return what is understood in the home above."""
    return Commanding(sentence, KNOWN[language], STATES.get, area_id=area_id).understand()


@pytest.mark.parametrize(
    ("language", "sentence", "intent", "slots", "targets"),
    [
        ("en", "turn on the kitchen main light", "HassTurnOn", {}, ["light.kitchen_main"]),
        ("en", "could you please switch the reading lamp off?", "HassTurnOff", {}, ["light.living"]),
        ("en", "kids room 2 light on", "HassTurnOn", {}, ["light.bed_2"]),
        ("en", "put the bedroom light at 40 percent", "HassLightSet", {"brightness": 40}, ["light.bed"]),
        ("en", "set the reading lamp to forty five percent", "HassLightSet", {"brightness": 45}, ["light.living"]),
        ("en", "make the reading lamp blue", "HassLightSet", {"color": "blue"}, ["light.living"]),
        ("en", "turn off the lights in the kitchen", "HassTurnOff", {}, ["light.kitchen_main", "light.kitchen_table"]),
        ("en", "turn off the kitchen", "HassTurnOff", {}, ["light.kitchen_main", "light.kitchen_table"]),
        (
            "en", "close the curtains in the living room", "HassTurnOff", {},
            ["cover.living_left", "cover.living_right"],
        ),
        ("en", "open the left curtain halfway", "HassSetPosition", {"position": 50}, ["cover.living_left"]),
        ("en", "turn the plugs in the living room off", "HassTurnOff", {}, ["switch.plug_1", "switch.plug_2"]),
        ("en", "pause", "HassMediaPause", {}, ["media_player.living"]),
        ("en", "next song please", "HassMediaNext", {}, ["media_player.living"]),
        ("en", "turn it up a bit louder", "HassSetVolumeRelative", {"volume_step": "up"}, ["media_player.living"]),
        ("en", "set the volume to 30%", "HassSetVolume", {"volume_level": 30}, ["media_player.living"]),
        ("en", "set the temperature to 21.5 degrees", "HassClimateSetTemperature", {"temperature": 21.5}, ["climate.living"]),
        ("en", "unlock the front door", "HassTurnOff", {}, ["lock.front"]),
        ("en", "send Rosie back to the dock", "HassVacuumReturnToBase", {}, ["vacuum.rosie"]),
        ("en", "turn on the sprinkler", "HassTurnOn", {}, ["valve.garden"]),
        ("en", "switch on Party", "HassTurnOn", {}, ["light.party"]),
        ("en", "turn off the raedign lamp", "", {}, []),
        ("en", "turn on the lihgts in the kichen", "HassTurnOn", {}, ["light.kitchen_main", "light.kitchen_table"]),
        ("de", "Mach die Reading Lamp aus", "HassTurnOff", {}, ["light.living"]),
        ("de", "Schalten Sie bitte das Licht in der Küche ein", "HassTurnOn", {}, ["light.kitchen_main", "light.kitchen_table"]),
        ("de", "Flurlicht an", "HassTurnOn", {}, ["light.21", "light.off"]),
        ("de", "Küchenlicht aus", "HassTurnOff", {}, ["light.kitchen_main", "light.kitchen_table"]),
        ("de", "Stell die Reading Lamp auf 40 Prozent", "HassLightSet", {"brightness": 40}, ["light.living"]),
        ("de", "Mach die Lanterns auf der Terrasse an", "HassTurnOn", {}, ["light.terrace"]),
        ("de", "Pausiere die Musik", "HassMediaPause", {}, ["media_player.living"]),
        ("de", "Stell die Heizung auf 21,5 Grad", "HassClimateSetTemperature", {"temperature": 21.5}, ["climate.living"]),
    ],
)  # fmt: skip
def test_understood(language: str, sentence: str, intent: str, slots: Mapping[str, Any], targets: list[str]) -> None:
    found = understand(sentence, language)
    assert [(order.intent, dict(order.slots), [*order.targets]) for order in found.orders] == (
        [(intent, slots, targets)] if intent else []
    ), found


@pytest.mark.parametrize(("language", "sentence", "reason"), [
    ("en", "turn on the patio light", "words"),  # there is a terrace, but it is not called so
    ("en", "turn on the garden light", "words"), ("en", "turn on the guest bedroom light", "words"),
    ("en", "turn on the kids room light", "words"), ("en", "turn on the kids room 3 light", "words"),
    ("en", "lock the back door", "words"), ("en", "turn on the plug", "several"),
    ("en", "open the curtain", "several"), ("en", "turn on the kitchen main light if it is dark", "altered"),
    ("en", "don't turn on the reading lamp", "altered"),
    ("en", "turn off everything except the reading lamp", "altered"),
    ("en", "turn on the reading lamp in ten minutes", "altered"),
    ("en", "turn on the reading lamp tomorrow", "altered"), ("en", "the reading lamp is on", "words"),
    ("en", "is the reading lamp on?", "altered"), ("en", "reading lamp on?", "question"),
    ("en", "Anna said turn on the reading lamp", "altered"),
    ("en", "turn on the reading lamp and the ghost", "words"), ("en", "turn on", "words"),
    ("en", "sing me a song", "action"), ("de", "Schalte die Reading Lamp nicht ein", "altered"),
    ("de", "Schalte die Reading Lamp morgen ein", "altered"),
    ("de", "Schalte die Reading Lamp ein, wenn es dunkel ist", "altered"),
    ("de", "Ist die Reading Lamp an?", "altered"), ("de", "Die Reading Lamp ist an", "words"),
    ("de", "Schalte alles außer der Reading Lamp aus", "altered"), ("zh", "打开客厅的灯", "script"),
])  # fmt: skip
def test_what_is_left_to_others(language: str, sentence: str, reason: str) -> None:
    KNOWN.setdefault(language, things(language))
    found = understand(sentence, language)
    assert (found.orders, found.reason) == ((), reason), found


def test_which_one_is_meant_where_it_is_asked() -> None:
    assert understand("turn on the lights", area_id="kitchen").orders[0].targets == (
        "light.kitchen_main",
        "light.kitchen_table",
    )
    assert understand("turn on the fan").orders[0].targets == ("fan.living",)
    assert understand("turn on the lights").reason == "several"
    assert understand("turn on all the lights").orders[0].targets == tuple(
        sorted(item for item in HOME if item.startswith("light."))
    )


READING = ("light.living",)
KITCHEN = ("light.kitchen_main", "light.kitchen_table")
READING_ON = [("HassTurnOn", READING)]
COFFEE_ON, COFFEE_OFF = [("HassTurnOn", ("switch.coffee",))], [("HassTurnOff", ("switch.coffee",))]
EARLIER = Said(text="turn on the reading lamp", targets=READING)
COFFEE = Said(text="turn on the coffee machine", targets=("switch.coffee",))
RIGHT = Said(text="close the right curtain", targets=("cover.living_right",))
BULB = Said(text="set the reading lamp to 40 percent", targets=READING)
FAN = Said(text="turn on the fan in the living room", targets=("fan.living",))


def wanted(sentence: str, before: Said | None = None) -> list[tuple[str, tuple[str, ...]]]:
    """Return the intents and entities of a sentence that may go on from another one."""
    found = understood(sentence, KNOWN["en"], STATES.get, before=before)
    return [(order.intent, order.targets) for order in found.orders]


@pytest.mark.parametrize(("sentence", "wishes"), [
    ("turn on the reading lamp and Party", [*READING_ON, ("HassTurnOn", ("light.party",))]),
    ("reading lamp and Party on", [*READING_ON, ("HassTurnOn", ("light.party",))]),
    ("turn the reading lamp on and the ceiling fan off", [*READING_ON, ("HassTurnOff", ("fan.living",))]),
    ("turn on the reading lamp and set it to 40 percent", [*READING_ON, ("HassLightSet", READING)]),
    ("turn on the reading lamp and 40 percent", []),
    ("turn off the reading lamp and set it to 40 percent", []),
    ("turn on both lights in the kitchen", [("HassTurnOn", KITCHEN)]),
    ("turn on both lights in the hall", []),
    ("turn on the reading lamp and the ghost", []),
    ("turn on the reading lamp and turn it off", []),
    (
        "turn on the lights in the kitchen and the bedroom",
        [("HassTurnOn", KITCHEN), ("HassTurnOn", ("light.bed", "light.bed_2"))],
    ),
    ("stop it", []),
    ("also turn on the reading lamp", READING_ON),
])  # fmt: skip
def test_several_wishes(sentence: str, wishes: list[tuple[str, tuple[str, ...]]]) -> None:
    assert wanted(sentence) == wishes


@pytest.mark.parametrize(("before", "sentence", "wishes"), [
    (EARLIER, "turn it off again", [("HassTurnOff", READING)]),
    (EARLIER, "make it brighter", [("HassLightSet", READING)]),
    (EARLIER, "and the kitchen?", [("HassTurnOn", KITCHEN)]), (EARLIER, "what about the ghost?", []),
    (COFFEE, "set it to 30 percent", []), (RIGHT, "and the left one", [("HassTurnOff", ("cover.living_left",))]),
    (EARLIER, "the bedroom light too", [("HassTurnOn", ("light.bed",))]),
    (EARLIER, "and the coffee machine as well", COFFEE_ON),
    (EARLIER, "same in the kitchen", [("HassTurnOn", KITCHEN)]), (BULB, "actually 60", [("HassLightSet", READING)]),
    (EARLIER, "also turn it off", [("HassTurnOff", READING)]),
    (Said(text="turn it off", targets=READING), "and the coffee machine", COFFEE_OFF),
    (Said(text="off", targets=READING), "and the coffee machine", COFFEE_OFF),
    (FAN, "and the kitchen", []),  # what is new is a fan: its lights are not meant
    (EARLIER, "the ghost too", []), (EARLIER, "and everything too", []), (EARLIER, "now 250", []),
    (RIGHT, "and the one", []), (RIGHT, "and the bedroom one", []), (RIGHT, "the ghost one too", []),
])  # fmt: skip
def test_what_goes_on(before: Said, sentence: str, wishes: list[tuple[str, tuple[str, ...]]]) -> None:
    assert wanted(sentence, before) == wishes


def test_what_goes_on_is_told_as_a_whole() -> None:
    assert understood("and off", KNOWN["en"], STATES.get, before=EARLIER).text == "off"


def test_a_side_is_no_courtesy() -> None:
    assert understand("close the right curtain").orders[0].targets == ("cover.living_right",)
    found = understood("close the left curtain and the right curtain", KNOWN["en"], STATES.get)
    assert [order.targets for order in found.orders] == [("cover.living_left",), ("cover.living_right",)]


def test_what_is_called_all_that_was_said_is_meant_before_a_part_of_it() -> None:
    """Also where a language has other phrases for lights than for switches."""
    more = {"light.garden": ("Jardim", "terrace"), "switch.garden": ("Luzes jardim", "terrace")}
    found = understood("liga as luzes do jardim", things("pt", more), STATES.get)
    assert not found.orders
    assert found.candidates == ("light.garden", "switch.garden")


def test_a_gate_is_no_lock_and_what_hangs_in_windows_is_alike() -> None:
    assert not understand("Mach das Tor im Flur auf", "de").orders
    names = {"cover.far": ("Slats", "terrace"), "cover.bed": ("Roller", "bedroom")}
    classes = {"cover.far": "shutter", "cover.bed": "blind"}
    states = STATES | {item: State(item, "open", {"device_class": class_}) for item, class_ in classes.items()}
    known = things("en", names, states.get)

    def targets(sentence: str, area_id: str | None) -> tuple[str, ...]:
        found = Commanding(sentence, known, states.get, area_id=area_id).understand()
        return found.orders[0].targets if found.orders else ()

    assert targets("close the shutter", None) == targets("close the shutter", "kitchen") == ("cover.far",)
    assert targets("close the shutter", "bedroom") == ()
    assert targets("close the slats", "bedroom") == ("cover.far",)


def test_two_of_one_name_in_two_areas() -> None:
    known = things("en", {"light.lamp_a": ("Corner Lamp", "kitchen"), "light.lamp_b": ("Corner Lamp", "bedroom")})

    def targets(sentence: str, area_id: str | None = None) -> tuple[str, ...]:
        found = Commanding(sentence, known, STATES.get, area_id=area_id).understand()
        return found.orders[0].targets if found.orders else found.candidates

    assert targets("turn on the corner lamp") == ("light.lamp_a", "light.lamp_b")
    assert targets("turn on the corner lamp in the bedroom") == ("light.lamp_b",)
    assert targets("turn on the corner lamp", "kitchen") == ("light.lamp_a",)


def lines_read(sentence: str, known: Things) -> int:
    """Return how many lines of code it takes to read a sentence in a home that is known."""
    count, before = 0, sys.gettrace()

    def note(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return note

    understood(sentence, known, STATES.get)
    sys.settrace(note)
    try:
        understood(sentence, known, STATES.get)
    finally:
        sys.settrace(before)
    return count


def test_five_thousand_things() -> None:
    sizes = (500, 5000)
    homes = [
        things("en", {f"light.far_{n}": (f"Building {n} Light", f"building_{n // 10}") for n in range(size)})
        for size in sizes
    ]
    found = Commanding("turn on building 432 light", homes[1], STATES.get).understand()
    assert found.orders[0].targets == ("light.far_432",)
    assert Commanding("turn on building 5000 light", homes[1], STATES.get).understand().orders == ()
    for sentence in (
        "turn on building 432 light", "turn on building 5000 light", "turn off the lights in the kitchen",
        "open the garage door halfway", "set the temperature to 21 degrees", "pause", "turn off the reading lamp and the fan",
        "don't turn on building 432 light", "turn on the reading lamp unless it is dark", "turn on the sauna",
    ):  # fmt: skip
        few, many = (lines_read(sentence, known) for known in homes)
        assert many <= 2 * few, (sentence, few, many)


@pytest.mark.parametrize("language", ["es", "fr", "it", "nl", "pl"])
def test_other_languages(language: str) -> None:
    """Commands in the words and the order of a language are understood; what only looks like one is not."""
    said = read("languages.json")
    areas = {area: HomeArea(area, (names[language],)) for area, names in said["areas"].items()}
    entities = {item: HomeEntity(item, (names[language],), area) for item, (area, _, names) in said["entities"].items()}
    states = {
        item: State(item, "playing" if item.startswith("media_player") else "on", attributes)
        for item, (_, attributes, _) in said["entities"].items()
    }
    known = Things(
        HomeSnapshot(entities, areas), language_of(language, {}, language), phrasings_of(language, SWITCHED), states.get
    )
    commands, others = said["sentences"][language]["commands"], said["sentences"][language]["none"]
    assert min(len(commands), len(others)) > 5
    for sentence, wanted in commands:
        found = understood(sentence, known, states.get)
        done = [[order.intent, {**order.slots, **order.change}, [*order.targets]] for order in found.orders]
        assert done == wanted, (sentence, found)
    for before, target, sentence, wanted in said["sentences"][language]["going_on"]:
        found = understood(sentence, known, states.get, before=Said(text=before, targets=(target,)))
        done = [[order.intent, {**order.slots}, [*order.targets]] for order in found.orders]
        assert done == wanted, (before, sentence, found)
    for sentence in others:
        assert not understood(sentence, known, states.get).orders, sentence


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "it", "nl", "pl", "ru", "sv", "cs", "pt"])
def test_every_language_brings_its_phrases(language: str) -> None:
    routes = phrasings_of(language, SWITCHED).routes
    assert {"HassTurnOn", "HassTurnOff", "HassLightSet"} <= {route.intent for route in routes} <= set(COMMANDS)
    assert all(route.needed or route.values for route in routes)


def reached(called: list[Event[Any]]) -> set[str]:
    """Return what the actions of devices were called for."""
    listed = (event.data["service_data"]["entity_id"] for event in called if event.data["domain"] != "homeassistant")
    return {item for items in listed for item in ([items] if isinstance(items, str) else items)}


DONE = [
    ("en", "make the ceiling lights brighter", {"light.ceiling_lights"}),
    ("en", "could you get the bed light on please", {"light.bed_light"}),
    ("en", "kitchen off", {"light.kitchen_lights"}),
    ("de", "Schalten Sie bitte Bed Light ein", {"light.bed_light"}),
]


@pytest.mark.parametrize("with_model", [False, True])
@pytest.mark.parametrize(("language", "sentence", "targets"), DONE)
@pytest.mark.usefixtures("demo_house")
async def test_it_is_done_without_a_model(
    hass: HomeAssistant, llm_server: LLMServer, language: str, sentence: str, targets: set[str], with_model: bool
) -> None:
    await set_up(hass, llm_server if with_model else None, profile={"local_first": True})
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    result = await say(hass, sentence, language=language)
    assert result.response.error_code is None, speech(result)
    assert reached(called) == targets
    assert not llm_server.requests


@pytest.mark.usefixtures("demo_house")
async def test_the_policy_is_asked(hass: HomeAssistant) -> None:
    await set_up(hass, options={"never_offer": ["light.bed_light"]})
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    await say(hass, "could you get the bed light on please")
    await say(hass, "unlock the front door up please")
    assert not reached(called)


@pytest.mark.usefixtures("demo_house")
async def test_it_is_told_why(hass: HomeAssistant) -> None:
    await set_up(hass)

    async def process(sentence: str) -> Mapping[str, Any]:
        understanding: Mapping[str, Any] = (await act(hass, "process", text=sentence))["understanding"]
        return understanding

    done = await process("could you get the bed light on please")
    assert (done["intents"], done["targets"], done["declined"]) == (["HassTurnOn"], ["light.bed_light"], None)
    assert done["score"] >= 0.75
    declined = await process("could you get the ghost light on please")
    assert (declined["declined"], declined["words"], declined["targets"]) == ("words", "ghost", [])


@pytest.mark.usefixtures("demo_house")
async def test_what_the_home_gets_is_known_at_once(hass: HomeAssistant) -> None:
    await set_up(hass)
    assert (await say(hass, "could you get the lagoon lamp on please")).response.error_code is not None
    entry = er.async_get(hass).async_get("light.bed_light")
    assert entry is not None
    er.async_get(hass).async_update_entity(entry.entity_id, name="Lagoon Lamp")
    await hass.async_block_till_done()
    assert (await say(hass, "could you get the lagoon lamp on please")).response.error_code is None
    async_expose_entity(hass, ASSISTANT, entry.entity_id, False)
    assert (await say(hass, "could you get the lagoon lamp off please")).response.error_code is not None
    assert ar.async_get(hass).async_get_area_by_name("Kitchen") is not None


@pytest.mark.usefixtures("demo_house")
async def test_what_others_may_not_know_of_is_not_there(hass: HomeAssistant, limited: Any) -> None:
    await set_up(hass)
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    context = limited("light.kitchen_lights")
    await say(hass, "could you get the bed light on please", context=context)
    assert not reached(called)
    await say(hass, "could you get the kitchen lights on please", context=context)
    assert reached(called) == {"light.kitchen_lights"}


@pytest.mark.parametrize("model_between", [False, True])
@pytest.mark.usefixtures("demo_house")
async def test_the_model_was_told_meanwhile(hass: HomeAssistant, llm_server: LLMServer, model_between: bool) -> None:
    """While the model is asked first, only what follows right behind a sentence that was done here goes on from it."""
    await set_up(hass, llm_server, profile={"local_first": False})

    async def async_without_model(sentence: str, conversation_id: str | None = None) -> tuple[str, str, set[str]]:
        llm_server.respond(lambda _body: error(401, "no"))
        called = async_capture_events(hass, EVENT_CALL_SERVICE)
        result = await say(hass, sentence, conversation_id)
        assert result.conversation_id is not None
        return result.conversation_id, speech(result), reached(called)

    conversation_id, _, touched = await async_without_model("could you get the bed light on please")
    assert touched == {"light.bed_light"}
    if model_between:
        llm_server.respond(lambda _body: text("The ceiling lights are nice."))
        assert "nice" in speech(await say(hass, "what about the ceiling lights?", conversation_id))
    _, said, touched = await async_without_model("make it a bit brighter", conversation_id)
    assert touched == (set() if model_between else {"light.bed_light"}), said
