"""What an owner's scenes, scripts and automations do is asked about like the actions themselves, however they are called."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from homeassistant.components.blueprint import BLUEPRINT_SCHEMA, Blueprint
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import CONF_ENTITY_ID
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.setup import async_setup_component
from homeassistant.util.yaml import Input
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.policy.confirmation import NOBODY
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, speech
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .opening import NESTED, SCENES, SEQUENCES, WRITTEN, filled, slug
from .world import (
    ALARM,
    AUTOMATIONS,
    DOOR,
    GARAGE,
    HIDDEN_DOOR,
    PERMITTED,
    SCENES as OTHER_SCENES,
    SCRIPTS,
    Witness,
    answers,
)

LET_IN = {"id": "let_in", "alias": "Let in now", "triggers": [], "actions": SEQUENCES["plain"]}


@pytest.fixture(autouse=True)
async def openers(hass: HomeAssistant, witness: Witness) -> None:
    """The owner's scripts, scenes and automations, exposed."""
    ids = await _mark_the_garage(hass)
    scripts = {
        **SCRIPTS,
        **{slug(name): {"alias": name, "sequence": filled(steps, ids)} for name, steps in SEQUENCES.items()},
        **{name: {"sequence": steps, "fields": {"door": {}}} for name, steps in NESTED.items()},
        "sent": {
            "alias": "Sent",
            "fields": {"cover": {"selector": {"text": {}}}},
            "sequence": [{"action": "cover.open_cover", "target": {"entity_id": "{{ cover }}"}}],
        },
    }
    automations = [*AUTOMATIONS, LET_IN]
    scenes = [*OTHER_SCENES, *({"name": name, "entities": states} for name, states in SCENES.items())]
    assert await async_setup_component(hass, "group", {"group": {"entrances": {"entities": [DOOR]}}})
    await hass.services.async_call("group", "set", {"object_id": "entrances", "entities": [DOOR]}, blocking=True)
    config = {"script": scripts, "automation": automations, "scene": scenes}
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        for domain in config:
            await hass.services.async_call(domain, "reload", {}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    for name in SEQUENCES:
        assert hass.states.get(f"script.{slug(name)}") is not None, name
        async_expose_entity(hass, ASSISTANT, f"script.{slug(name)}", True)
    for name in SCENES:
        async_expose_entity(hass, ASSISTANT, f"scene.{slug(name)}", True)
    for entity_id in ("automation.let_in_now", "script.sent", "script.given"):
        assert hass.states.get(entity_id) is not None, entity_id
        async_expose_entity(hass, ASSISTANT, entity_id, True)


async def _mark_the_garage(hass: HomeAssistant) -> dict[str, str]:
    """Put the garage into a room, a floor, under a label and into a device, a lock in front of a switch; return its ids."""
    floor = fr.async_get(hass).async_create("Upstairs")
    area = ar.async_get(hass).async_create("Hall", floor_id=floor.floor_id)
    label = lr.async_get(hass).async_create("Doors")
    registry = er.async_get(hass)
    entry = registry.async_get(GARAGE)
    assert entry is not None
    (demo,) = hass.config_entries.async_entries("demo")
    device = dr.async_get(hass).async_get_or_create(config_entry_id=demo.entry_id, identifiers={("demo", "garage")})
    registry.async_update_entity(GARAGE, labels={label.label_id}, area_id=area.id, device_id=device.id)
    strike = registry.async_get_or_create("switch", "test", "strike", suggested_object_id="strike")
    shown = MockConfigEntry(domain="switch_as_x", options={CONF_ENTITY_ID: strike.id, "target_domain": "lock"})
    shown.add_to_hass(hass)
    registry.async_get_or_create("lock", "switch_as_x", "strike", suggested_object_id="strike", config_entry=shown)
    hass.states.async_set("switch.strike", "off")
    hass.states.async_set("lock.strike", "locked")
    return {"DEVICE": device.id, "ENTRY": entry.id}


async def ask(hass: HomeAssistant, witness: Witness, person: Context, tool: str, arguments: dict[str, Any]) -> None:
    """Have the model call a tool for a person, who is asked, and for nobody, who cannot be."""
    witness.server.plan(tool_call(tool, arguments))
    assert speech(await say(hass, "let me in", context=person)).endswith("?")
    witness.server.plan(tool_call(tool, arguments))
    await say(hass, "let me in")
    assert answers(witness.server)[-1]["error"] == NOBODY


@pytest.mark.parametrize("name", SEQUENCES)
async def test_script_by_model(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str) -> None:
    await start()
    witness.server.respond(lambda body: text("I cannot do that."))
    await ask(hass, witness, alice, "ha_control", {"action": "turn_on", "entity_id": f"script.{slug(name)}"})


@pytest.mark.parametrize(("order", "name"), [
    *(("run {} script", name) for name in SEQUENCES), *(("activate {} scene", name) for name in SCENES),
])  # fmt: skip
async def test_a_script_or_scene_in_words(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, order: str, name: str
) -> None:
    await start(model=False)
    for who in (alice, Context()):
        await say(hass, order.format(name), context=who)
        said = await say(hass, f"turn on {name}", context=who)
        assert "?" in speech(said) or who is not alice


@pytest.mark.parametrize("name", SCENES)
async def test_a_scene(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str) -> None:
    await start()
    witness.server.respond(lambda body: text("I cannot do that."))
    for action in ("turn_on", "activate"):
        await ask(hass, witness, alice, "ha_control", {"action": action, "entity_id": f"scene.{slug(name)}"})


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "an intent": ("intent__HassTurnOn", {"name": "plain", "domain": ["script"]}),
    "an intent for a scene": ("intent__HassTurnOn", {"name": "Let in", "domain": ["scene"]}),
    "a toggled script": ("ha_control", {"action": "toggle", "entity_id": "script.plain"}),
    "a script with a value": (
        "ha_control", {"action": "set_value", "entity_id": "script.plain", "parameters": {"state": "on"}},
    ),
    "an enabled automation": ("ha_control", {"action": "turn_on", "entity_id": "automation.let_in_now"}),
    "a toggled automation": ("ha_control", {"action": "toggle", "entity_id": "automation.let_in_now"}),
    "several scripts": ("ha_control", {"action": "turn_on", "entity_id": ["script.harmless", "script.plain"]}),
    "any of the scripts": ("ha_control", {"action": "turn_on", "entity_id": "script.*"}),
    "any of the scenes": ("ha_control", {"action": "turn_on", "entity_id": "scene.*"}),
    "a script tool": ("script__plain", {}),
    "a script tool in a circle": ("script__in_a_circle", {}),
    "a script that is sent": (
        "ha_control", {"action": "turn_on", "entity_id": "script.sent", "parameters": {"cover": GARAGE}},
    ),
    "a script that is sent variables": (
        "ha_control",
        {"action": "turn_on", "entity_id": "script.sent", "parameters": {"variables": {"cover": [GARAGE]}}},
    ),
    "a script that is sent a list in text": (
        "ha_control", {"action": "turn_on", "entity_id": "script.sent", "parameters": {"cover": f"['{GARAGE}']"}},
    ),
    "a script tool that is sent": ("script__sent", {"cover": GARAGE}),
    "a script that is given a door": (
        "ha_control", {"action": "turn_on", "entity_id": "script.given", "parameters": {"door": DOOR}},
    ),
    "a script that is given a group": (
        "ha_control", {"action": "turn_on", "entity_id": "script.given", "parameters": {"door": "group.entrances"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("never_ask", [[], ["lock", "cover.garage"]], ids=["no rules", "never about doors"])
async def test_called_by_another_name(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, tool: str, never_ask: list[str]
) -> None:
    await start(profile={"llm_apis": ["assist"], "never_ask": never_ask if "given" not in tool else []})
    if never_ask and ("sent" in tool):
        witness.may_move.add(GARAGE)  # the garage itself is what the owner never wants to be asked about
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        witness.server.plan(tool_call(*CALLS[tool]))
        await say(hass, "let me in", context=who)


SERVICES: dict[str, dict[str, Any]] = {
    "script.plain": {},
    "script.nested_twice": {},
    "script.turn_on": {"target": {"entity_id": "script.plain"}},
    "script.toggle": {"target": {"entity_id": "script.plain"}},
    "homeassistant.turn_on": {"target": {"entity_id": "script.plain"}},
    "homeassistant.toggle": {"target": {"entity_id": "scene.let_in"}},
    "scene.turn_on": {"target": {"entity_id": "scene.let_in"}},
    "scene.apply": {"data": {"entities": {DOOR: "unlocked"}}},
    "automation.trigger": {"target": {"entity_id": "automation.let_in_now"}},
    "automation.turn_on": {"target": {"entity_id": "automation.let_in_now"}},
    "script.sent": {"data": {"cover": "{{ a }}"}},
}


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("destructive", [None, False], ids=["judged", "said to be harmless"])
async def test_an_action_of_the_owner(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, service: str, destructive: bool | None
) -> None:
    tool = {
        "name": "act",
        "description": "Acts.",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
        "handler": {"type": "service", "service": service, **SERVICES[service]},
        **({} if destructive is None else {"destructive": destructive}),
    }
    await start(yaml={"custom_tools": [tool]})
    witness.server.respond(lambda body: text("I cannot do that."))
    await ask(hass, witness, alice, "act", {"a": GARAGE})


RULES = {
    "an entity": DOOR, "a kind": "lock", "an action": "lock.unlock", "a pattern": "lock.front*",
    "a nested script": "script.plain", "a nested script by its tool": "script__plain",
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["plain", "nested", "nested twice"])
async def test_never_means_also_inside(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, rule: str, name: str
) -> None:
    await start(options={"never_offer": [RULES[rule]], "never_confirm": ["script", "lock"]})
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": f"script.{slug(name)}"}))
    asked = await say(hass, "let me in", context=alice)
    assert "?" not in speech(asked)
    await say(hass, "yes", asked.conversation_id, context=alice)


RUN = (
    "plain", "in an area", "device action", "templated target", "all templated", "own variables", "else", "parallel",
    "nested with a door", "scene", "automation", "garage toggled", "alarm off",
)  # fmt: skip
"""What automations do below: of each kind of step one, as they are read as scripts are."""


async def _automate(hass: HomeAssistant, ids: dict[str, str]) -> list[str]:
    """Have the owner's automations do what the scripts do, and one of a blueprint; return their entity ids."""
    automations = [
        {"id": f"auto_{slug(name)}", "alias": f"Auto {name}", "triggers": [], "actions": filled(SEQUENCES[name], ids)}
        for name in RUN
    ]
    target = {"entity_id": "{{ it }}"}
    own = {"variables": {"it": DOOR}, "actions": [{"action": "lock.unlock", "target": target}]}
    automations.append({"id": "auto_own", "alias": "Auto own", "triggers": [], **own})
    made = Blueprint(
        {
            "blueprint": {"name": "Let in", "domain": "automation", "input": {"door": None}},
            "triggers": [],
            "actions": [{"action": "lock.unlock", "target": {"entity_id": Input("door")}}],
        },
        expected_domain="automation",
        path="x.yaml",
        schema=BLUEPRINT_SCHEMA,
    )
    use = {"use_blueprint": {"path": "x.yaml", "input": {"door": DOOR}}}
    automations.append({"id": "auto_blueprint", "alias": "Auto blueprint", **use})
    config = {"automation": [*AUTOMATIONS, LET_IN, *automations]}
    with (
        patch("homeassistant.config.load_yaml_config_file", return_value=config),
        patch("homeassistant.components.blueprint.models.DomainBlueprints.async_get_blueprint", return_value=made),
    ):
        await hass.services.async_call("automation", "reload", {}, blocking=True)
    found = [f"automation.{slug(str(automation['alias']))}" for automation in automations]
    for entity_id in found:
        assert hass.states.get(entity_id).state == "on", entity_id  # type: ignore[union-attr]
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    return found


async def test_an_automation_by_a_model(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    ids = {entry.entity_id: entry.id for entry in er.async_get(hass).entities.values()}
    device = er.async_get(hass).async_get(GARAGE)
    assert device is not None
    automations = await _automate(hass, {"DEVICE": str(device.device_id), "ENTRY": ids[GARAGE]})
    await start(options={"throttle_turns": 1000})
    witness.server.respond(lambda body: text("I cannot do that."))
    assert len(automations) == len(RUN) + 2
    for entity_id in automations:
        await ask(hass, witness, alice, "ha_control", {"action": "trigger", "entity_id": entity_id})


@pytest.mark.parametrize("never_ask", [[], ["lock", "cover.garage"]], ids=["no rules", "never about doors"])
async def test_an_automation_by_any_words(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    alice: Context,
    person: Callable[..., Context],
    never_ask: list[str],
) -> None:
    await start(options={"throttle_turns": 1000, "never_confirm": never_ask})
    witness.server.respond(lambda body: text("I cannot do that."))
    known = "automation.let_in_now"
    guest = person("Guest", {"entities": {"entity_ids": {PERMITTED: True}}})
    calls: tuple[dict[str, Any], ...] = (
        {"action": "run", "entity_id": known},
        {"action": "set_value", "entity_id": known, "parameters": {"command": "trigger"}},
        {"action": "turn_on", "entity_id": known, "parameters": {"command": "start"}},
        {"action": "trigger", "entity_id": "automation.*"},
        {"action": "trigger", "entity_id": ["automation.morning", known]},
        {"action": "trigger", "entity_id": "Let in now"},
        {"action": "trigger", "entity_id": known, "parameters": {"skip_condition": True}},
        {"action": "trigger", "entity_id": "automation.secret"},
        {"action": "trigger", "entity_id": "all"},
    )
    for call in calls:
        for who in (alice, guest, Context()):
            witness.server.plan(tool_call("ha_control", call))
            await say(hass, "let me in", context=who)


async def test_an_automation_by_a_sentence(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    entrance = {"id": "entrance", "alias": "Entrance", "triggers": [], "actions": SEQUENCES["plain"]}
    with patch("homeassistant.config.load_yaml_config_file", return_value={"automation": [*AUTOMATIONS, entrance]}):
        await hass.services.async_call("automation", "reload", {}, blocking=True)
    async_expose_entity(hass, ASSISTANT, "automation.entrance", True)
    await start(model=False, options={"throttle_turns": 1000})
    english = "Run the automation “Entrance” (and with it: unlock Front Door)?"
    german = "Die Automation “Entrance” ausführen (und damit: Front Door entriegeln)?"
    for words, language, question in (
        ("run entrance", "en", english),
        ("trigger the entrance automation", "en", english),
        ("führe Entrance aus", "de", german),
    ):
        assert speech(await say(hass, words, context=alice, language=language)) == question
        await say(hass, words, language=language)
    await say(hass, "run secret", context=alice)


async def test_a_yes_runs_the_automation(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    condition = {"condition": "state", "entity_id": "input_boolean.home", "state": "on"}
    unlock = {"triggers": [], "actions": SEQUENCES["plain"]}
    held = {"id": "held", "alias": "Held", "conditions": [condition], **unlock}
    free = {"id": "free", "alias": "Free", **unlock}
    with patch("homeassistant.config.load_yaml_config_file", return_value={"automation": [held, free]}):
        await hass.services.async_call("automation", "reload", {}, blocking=True)
    for entity_id in ("automation.held", "automation.free"):
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    hass.states.async_set("input_boolean.home", "off")
    await start()
    witness.server.respond(lambda body: text("I cannot do that."))

    async def agree(name: str) -> str:
        witness.server.plan(tool_call("ha_control", {"action": "trigger", "entity_id": f"automation.{name}"}))
        asked = await say(hass, "open up", context=alice)
        return speech(await say(hass, "yes", asked.conversation_id, context=alice))

    assert await agree("held") == "It did not run, because its conditions are not met: Held."
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.get(DOOR).state == "locked"  # type: ignore[union-attr]
    witness.may_move.add(DOOR)
    assert await agree("free") == "Done."
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.get(DOOR).state == "unlocked"  # type: ignore[union-attr]


async def test_the_harmless_runs(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start()
    for entity_id in ("script.harmless", "scene.cosy", "automation.morning"):
        action = "trigger" if entity_id.startswith("automation") else "turn_on"
        witness.server.plan(tool_call("ha_control", {"action": action, "entity_id": entity_id}), text("Done."))
        await say(hass, "make it cosy", context=alice)
        assert answers(witness.server)[-1]["success"] is True
    await hass.async_block_till_done(wait_background_tasks=True)
    assert [event.event_type for event in witness.events].count("harmless_ran") == 2


async def test_an_owner_exempts_one_script(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start(options={"never_confirm": ["script.nested"]})
    witness.may_move.add(DOOR)
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "script.nested"}), text("Done."))
    await say(hass, "let me in", context=alice)
    assert answers(witness.server)[-1]["success"] is True
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.get(DOOR).state == "unlocked"  # type: ignore[union-attr]


async def test_a_script_changed_meanwhile(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start()
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "script.drive"}))
    asked = await say(hass, "open up", context=alice)
    script = {"drive": {"alias": "drive", "sequence": [*SEQUENCES["drive"], *SEQUENCES["plain"]]}}
    with patch("homeassistant.config.load_yaml_config_file", return_value={"script": script}):
        await hass.services.async_call("script", "reload", {}, blocking=True)
    await say(hass, "yes", asked.conversation_id, context=alice)


async def test_a_hidden_door_is_not_named(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start()
    async_expose_entity(hass, ASSISTANT, "script.secret", True)
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "script.secret"}))
    asked = speech(await say(hass, "open up", context=alice))
    assert "Kitchen Door" not in asked
    assert asked == "Run the script “Secret” (and with it: unlock something that is not exposed)?"
    assert {ALARM, HIDDEN_DOOR} & witness.may_move == set()


async def make(hass: HomeAssistant, name: str) -> str:
    """Make an entity of a template that opens something, exposed; return its id."""
    domain, config, _, _ = WRITTEN[name]
    options = {"template_type": domain, "name": "Ruse", **config}
    entry = MockConfigEntry(domain="template", title="Ruse", options=options)
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    (registered,) = er.async_entries_for_config_entry(er.async_get(hass), entry.entry_id)
    assert hass.states.get(registered.entity_id) is not None
    async_expose_entity(hass, ASSISTANT, registered.entity_id, True)
    return registered.entity_id


@pytest.mark.parametrize("name", WRITTEN)
async def test_template_model(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str) -> None:
    entity_id = await make(hass, name)
    await start()
    witness.server.respond(lambda body: text("I cannot do that."))
    await ask(hass, witness, alice, "ha_control", {**WRITTEN[name][2], "entity_id": entity_id})


@pytest.mark.parametrize("name", WRITTEN)
async def test_an_entity_of_a_template_by_a_sentence(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str
) -> None:
    await make(hass, name)
    await start(model=False)
    for who in (alice, Context()):
        await say(hass, WRITTEN[name][3].format("ruse"), context=who)
        await say(hass, WRITTEN[name][3].format("the ruse"), context=who)


BEHIND: dict[str, tuple[str, dict[str, Any]]] = {
    "by an intent": ("intent__HassTurnOn", {"name": "Ruse", "domain": ["light"]}),
    "in a list": ("ha_control", {"action": "turn_on", "entity_id": ["light.bed_light", "switch.ruse"]}),
    "among all": ("ha_control", {"action": "turn_on", "entity_id": "switch.*"}),
    "by a script": ("ha_control", {"action": "turn_on", "entity_id": "script.by_the_ruse"}),
    "by the tool of a script": ("script__by_the_ruse", {}),
    "by a script that is given it": (
        "ha_control",
        {"action": "turn_on", "entity_id": "script.relay", "parameters": {"lamp": "switch.ruse"}},
    ),
    "by a scene": ("ha_control", {"action": "turn_on", "entity_id": "scene.ruse"}),
    "by a group": ("ha_control", {"action": "turn_on", "entity_id": "group.ruses"}),
    "by a group of switches": ("ha_control", {"action": "turn_on", "entity_id": "switch.ruses"}),
    "shown as a light": ("ha_control", {"action": "turn_on", "entity_id": "light.shown"}),
    "by a media player": ("ha_control", {"action": "turn_on", "entity_id": "media_player.hall"}),
}


@pytest.mark.parametrize("by", BEHIND)
@pytest.mark.parametrize("never", [False, True], ids=["asked about", "never"])
async def test_an_entity_of_a_template_behind_another(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, by: str, never: bool
) -> None:
    await make(hass, "a switch")
    turn_on = {"action": "switch.turn_on", "target": {"entity_id": "switch.ruse"}}
    config = {
        "script": {**SCRIPTS, "by_the_ruse": {"alias": "By the ruse", "sequence": [turn_on]}},
        "scene": [{"name": "Ruse", "entities": {"switch.ruse": "on"}}],
    }
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        for domain in config:
            await hass.services.async_call(domain, "reload", {}, blocking=True)
    await hass.services.async_call("group", "set", {"object_id": "ruses", "entities": ["switch.ruse"]}, blocking=True)
    entries = (
        ("group", {"group_type": "switch", "name": "Ruses", "entities": ["switch.ruse"], "hide_members": False}),
        ("switch_as_x", {"entity_id": "switch.ruse", "target_domain": "light", "invert": False}),
    )
    for platform, options in entries:
        entry = MockConfigEntry(
            domain=platform, title="Ruses", options=options, minor_version=1 if platform == "group" else 3
        )
        entry.add_to_hass(hass)
        assert await hass.config_entries.async_setup(entry.entry_id)
    player = {"platform": "universal", "name": "Hall", "commands": {"turn_on": turn_on, "turn_off": turn_on}}
    assert await async_setup_component(hass, "media_player", {"media_player": player})
    await hass.async_block_till_done(wait_background_tasks=True)
    shown = er.async_entries_for_config_entry(er.async_get(hass), entry.entry_id)[0].entity_id
    tool, arguments = BEHIND[by]
    if arguments.get("entity_id") == "light.shown":
        arguments = {**arguments, "entity_id": shown}
    opened = (
        "script.by_the_ruse", "scene.ruse", "group.ruses", "switch.ruses", "switch.ruse", shown, "media_player.hall",
    )  # fmt: skip
    for entity_id in opened:
        assert hass.states.get(entity_id) is not None, entity_id
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    await start(profile={"llm_apis": ["assist"]}, options={"never_offer": ["lock.unlock"]} if never else {})
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        witness.server.plan(tool_call(tool, arguments))
        asked = await say(hass, "let me in", context=who)
        if never:
            await say(hass, "yes", asked.conversation_id, context=who)
        elif who is alice:
            assert speech(asked).endswith("?")


async def test_one_template_is_exempt(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    entity_id = await make(hass, "a switch")
    await start(options={"never_confirm": [entity_id]})
    witness.may_move.add(DOOR)
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": entity_id}), text("Done."))
    await say(hass, "let me in", context=alice)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.get(DOOR).state == "unlocked"  # type: ignore[union-attr]


async def test_a_harmless_template_runs(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    entity_id = await make(hass, "a switch")
    await start()
    witness.server.plan(tool_call("ha_control", {"action": "turn_off", "entity_id": entity_id}), text("Done."))
    await say(hass, "turn it off", context=alice)
    assert answers(witness.server)[-1]["success"] is True
    assert any(event.event_type == "harmless_ran" for event in witness.events)
