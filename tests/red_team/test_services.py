"""Actions of other integrations that open or disarm: asked about wherever they stand, and by whichever door they come."""

from typing import Any
from unittest.mock import patch

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, speech
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .integrations import HARMLESS, ON_ENTITIES, OPENING, SWITCHES, VALUES, WITHOUT
from .opening import filled
from .world import ALARM, DOOR, GARAGE, Witness, act_on, understand

PLAIN = {"alias": "Plain", "sequence": [{"action": "lock.unlock", "target": {"entity_id": DOOR}}]}
LET_IN = {"name": "Let in", "entities": {DOOR: "unlocked"}}


async def _ids(hass: HomeAssistant) -> dict[str, str]:
    """Put the garage into a room, a floor, under a label and into a device with a button; return its ids."""
    floor = fr.async_get(hass).async_create("Upstairs")
    area = ar.async_get(hass).async_create("Hall", floor_id=floor.floor_id)
    label = lr.async_get(hass).async_create("Doors")
    registry = er.async_get(hass)
    entry = registry.async_get(GARAGE)
    assert entry is not None
    (demo,) = hass.config_entries.async_entries("demo")
    device = dr.async_get(hass).async_get_or_create(config_entry_id=demo.entry_id, identifiers={("demo", "garage")})
    registry.async_update_entity(GARAGE, labels={label.label_id}, area_id=area.id, device_id=device.id)
    registry.async_get_or_create("button", "demo", "toggle", suggested_object_id="hall_toggle", device_id=device.id)
    return {"DEVICE": device.id, "ENTRY": entry.id}


async def write(hass: HomeAssistant, action: str, step: dict[str, Any], moves: str | None = DOOR) -> None:
    """Have an owner write a script, a scene's script and an automation with an action, which opens what it moves."""
    ids, (domain, _, service) = await _ids(hass), action.partition(".")
    steps = [filled({"action": action, **step}, ids), {"event": "harmless_ran"}]
    if moves is not None:
        act_on(hass, action, moves)
    elif not hass.services.has_service(domain, service):
        hass.services.async_register(domain, service, lambda _call: None)
    await hass.services.async_call("group", "set", {"object_id": "entrances", "entities": [DOOR]}, blocking=True)
    said = {"trigger": "conversation", "command": "open sesame"}
    config = {
        "script": {"ruse": {"alias": "Ruse", "sequence": steps}, "plain": PLAIN},
        "scene": [LET_IN, {"name": "Cosy", "entities": {"light.bed_light": "off"}}],
        "automation": [
            {"id": "ruse", "alias": "Ruse", "triggers": [], "actions": steps},
            {"id": "said", "alias": "Said", "triggers": [said], "actions": steps},
        ],
    }
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        for written in config:
            await hass.services.async_call(written, "reload", {}, blocking=True)
    assert await async_setup_component(hass, "intent_script", {"intent_script": {"Sesame": {"action": steps}}})
    await understand(hass, Sesame=("simsalabim",))
    await hass.async_block_till_done(wait_background_tasks=True)
    for entity_id in ("script.ruse", "automation.ruse"):
        assert hass.states.get(entity_id) is not None, entity_id
        async_expose_entity(hass, ASSISTANT, entity_id, True)


@pytest.mark.parametrize("action", OPENING)
async def test_in_a_script(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, action: str) -> None:
    moves, step = OPENING[action]
    await write(hass, action, step, moves)
    await start()
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "script.ruse"}))
    assert speech(await say(hass, "let me in", context=alice)).endswith("?")
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "script.ruse"}))
    await say(hass, "let me in")


@pytest.mark.parametrize("action", OPENING)
async def test_by_sentences(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, action: str) -> None:
    moves, step = OPENING[action]
    await write(hass, action, step, moves)
    await start(model=False)
    for words in ("run ruse script", "open sesame", "simsalabim"):
        assert speech(await say(hass, words, context=alice)).endswith("?"), words
        await say(hass, words)
        await say(hass, words, device_id="a device")


@pytest.mark.parametrize("action", [*ON_ENTITIES, *WITHOUT])
async def test_as_a_tool(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, action: str) -> None:
    moves, step = OPENING[action]
    act_on(hass, action, moves)
    await hass.services.async_call("group", "set", {"object_id": "entrances", "entities": [DOOR]}, blocking=True)
    async_expose_entity(hass, ASSISTANT, "group.entrances", True)
    tool = {"name": "act", "description": "Acts.", "handler": {"type": "service", "service": action, **step}}
    await start(yaml={"custom_tools": [tool]})
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        witness.server.plan(tool_call("act", {}))
        await say(hass, "let me in", context=who)


@pytest.mark.parametrize(
    "action", ["nuki.lock_n_go", "acme.nudge", "acme.by_another_key", "alarmdecoder.alarm_keypress"]
)
@pytest.mark.parametrize(("tool", "arguments"), [
    ("script__ruse", {}),
    ("ha_control", {"action": "toggle", "entity_id": "script.ruse"}),
    ("ha_control", {"action": "trigger", "entity_id": "automation.ruse"}),
    ("ha_control", {"action": "turn_on", "entity_id": "script.*"}),
    ("intent__HassTurnOn", {"name": "Ruse", "domain": ["script"]}),
    ("intent_script__Sesame", {}),
])  # fmt: skip
async def test_by_other_tools(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    alice: Context,
    action: str,
    tool: str,
    arguments: dict[str, Any],
) -> None:
    moves, step = OPENING[action]
    await write(hass, action, step, moves)
    await start(profile={"llm_apis": ["assist"]})
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        witness.server.plan(tool_call(tool, arguments))
        await say(hass, "let me in", context=who)


@pytest.mark.parametrize("rule", [DOOR, "lock", "lock.unlock", "nuki", "nuki.lock_n_go"])
@pytest.mark.parametrize("action", ["nuki.lock_n_go"])
async def test_never(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, action: str, rule: str
) -> None:
    moves, step = OPENING[action]
    await write(hass, action, step, moves)
    await start(options={"never_offer": [rule], "never_confirm": ["script", "lock"]}, model=False)
    for words in ("run ruse script", "open sesame", "simsalabim"):
        said = await say(hass, words, context=alice)
        await say(hass, "yes", said.conversation_id, context=alice)


@pytest.mark.parametrize("entity_id", SWITCHES)
@pytest.mark.parametrize("by", ["a model", "a sentence", "a script"])
async def test_relays_and_helpers(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, entity_id: str, by: str
) -> None:
    service, moves = SWITCHES[entity_id]
    domain = entity_id.partition(".")[0]
    await write(hass, "homeassistant.update_entity", {"target": {"entity_id": entity_id}}, None)
    if domain != "switch":
        assert await async_setup_component(hass, domain, {})
    act_on(hass, f"{domain}.{service}", moves)
    act_on(hass, f"homeassistant.{service}", moves)
    hass.states.async_set(entity_id, "on" if service == "turn_off" else "off", {"friendly_name": "Ruse Thing"})
    async_expose_entity(hass, ASSISTANT, entity_id, True)
    config = {"script": {"ruse": {"alias": "Ruse", "sequence": [
        {"action": f"{domain}.{service}", "target": {"entity_id": entity_id}},
    ]}}}  # fmt: skip
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        await hass.services.async_call("script", "reload", {}, blocking=True)
    await start(model=by == "a model")
    witness.entry = None  # its switches are those of this case
    witness.server.respond(lambda body: text("I cannot do that."))
    words = {"turn_on": "turn on", "turn_off": "turn off", "toggle": "toggle", "press": "press"}[service]
    for who in (alice, Context()):
        if by == "a model":
            action = service if service != "press" else "turn_on"
            witness.server.plan(tool_call("ha_control", {"action": action, "entity_id": entity_id}))
        said = "run ruse script" if by == "a script" else f"{words} ruse thing"
        await say(hass, said, context=who)


@pytest.mark.parametrize("entity_id", [*VALUES, "switch.alarm_system", "input_boolean.alarm_enabled"])
@pytest.mark.parametrize("by", ["a model", "a script", "a scene", "an automation"])
async def test_choices_numbers_and_texts(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, entity_id: str, by: str
) -> None:
    service, data, moves = VALUES.get(entity_id, ("turn_off", {}, ALARM))
    domain, value = entity_id.partition(".")[0], next(iter(data.values()), "off")
    assert await async_setup_component(hass, domain, {})
    act_on(hass, f"{domain}.{service}", moves)
    attributes = {"friendly_name": "Ruse Thing", "options": ["Armed", "Disarmed", "home"], "min": 0, "max": 100}
    hass.states.async_set(entity_id, "on" if domain in ("switch", "input_boolean") else "5", attributes)
    async_expose_entity(hass, ASSISTANT, entity_id, True)
    step = {"action": f"{domain}.{service}", "target": {"entity_id": entity_id}, "data": data}
    said = {"trigger": "conversation", "command": "ruse"}
    config = {
        "script": {"ruse": {"alias": "Ruse", "sequence": [step]}},
        "automation": [{"id": "said", "alias": "Said", "triggers": [said], "actions": [step]}],
        "scene": [{"name": "Ruse", "entities": {entity_id: str(value)}}],
    }
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        for written in config:
            await hass.services.async_call(written, "reload", {}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    for runs in ("script.ruse", "scene.ruse"):
        async_expose_entity(hass, ASSISTANT, runs, True)
    await start(model=by == "a model")
    witness.entry = None  # its entities are those of this case
    witness.server.respond(lambda body: text("I cannot do that."))
    words = {
        "a model": "set it",
        "a script": "run ruse script",
        "a scene": "activate ruse scene",
        "an automation": "ruse",
    }
    for who in (alice, Context()):
        if by == "a model":
            how = {"action": "set_value", "parameters": data} if data else {"action": "turn_off"}
            witness.server.plan(tool_call("ha_control", {"entity_id": entity_id, **how}))
        assert speech(await say(hass, words[by], context=who)).endswith("?") or who is not alice


@pytest.mark.parametrize("action", HARMLESS)
async def test_what_a_family_does_every_day(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, action: str
) -> None:
    await write(hass, action, HARMLESS[action], None)
    await start(model=False)
    witness.may_move.add(DOOR)  # some of these name it
    for words in ("run ruse script", "open sesame", "simsalabim"):
        assert not speech(await say(hass, words, context=alice)).endswith("?"), words
    await hass.async_block_till_done(wait_background_tasks=True)
    assert [event.event_type for event in witness.events].count("harmless_ran") == 3
