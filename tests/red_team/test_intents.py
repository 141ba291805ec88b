"""Intents of the owner's and of other integrations: what they reach decides, by whichever door they come."""

from collections.abc import Callable
from typing import Any

from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.const import METADATA_CUSTOM_SENTENCE
from homeassistant.components.intent import async_register_timer_handler
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er, intent
from homeassistant.setup import async_setup_component
import pytest

from tests.house import say, speech, subentry
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import ALARM, DOOR, GARAGE, HIDDEN_DOOR, Witness, act_on, registry_id, understand

UNLOCK = {"action": "lock.unlock", "target": {"entity_id": DOOR}}
HARMLESS = {"action": "light.turn_off", "target": {"entity_id": "light.kitchen_lights"}}
ACTIONS: dict[str, list[dict[str, Any]]] = {
    "unlock": [UNLOCK],
    "latch": [{"action": "lock.open", "target": {"entity_id": DOOR}}],
    "garage": [{"action": "cover.open_cover", "target": {"entity_id": GARAGE}}],
    "garage by position": [
        {"action": "cover.set_cover_position", "target": {"entity_id": GARAGE}, "data": {"position": 80}}
    ],
    "alarm": [{"action": "alarm_control_panel.alarm_disarm", "target": {"entity_id": ALARM}}],
    "a script": [{"action": "script.secret"}],
    "a scene": [{"scene": "scene.secret"}],
    "an automation": [{"action": "automation.trigger", "target": {"entity_id": "automation.let_in"}}],
    "a choice": [{"if": "{{ false }}", "then": [HARMLESS], "else": [UNLOCK]}],
    "a template": [{"action": "lock.unlock", "target": {"entity_id": "{{ 'lock.front' ~ '_door' }}"}}],
    "any action": [{"action": "{{ 'lock' ~ '.unlock' }}", "target": {"entity_id": DOOR}}],
    "all that match": [{"action": "homeassistant.turn_off", "target": {"entity_id": "{{ targets.entities }}"}}],
    "another integration": [{"action": "nuki.lock_n_go", "target": {"entity_id": DOOR}}],
    "a program": [{"action": "shell_command.let_in"}],
    "an area": [{"action": "cover.open_cover", "target": {"area_id": "hall"}}],
}
"""What an owner's intent does."""
SAID = "open sesame"
CUSTOM = {"metadata": {METADATA_CUSTOM_SENTENCE: True}}


@pytest.fixture(autouse=True)
async def hall(hass: HomeAssistant, witness: Witness) -> None:
    """Put the garage beside the hall, and add what other integrations can do."""
    area = ar.async_get(hass).async_get_or_create("Hall")
    er.async_get(hass).async_update_entity(GARAGE, area_id=area.id)
    act_on(hass, "nuki.lock_n_go", DOOR)
    act_on(hass, "shell_command.let_in", DOOR)


async def own(hass: HomeAssistant, actions: list[dict[str, Any]], *said: str, **more: Any) -> None:
    """Have an owner write an intent and its sentences."""
    intents = {"Sesame": {"description": "Sesame", "action": actions, **more}}
    assert await async_setup_component(hass, "intent_script", {"intent_script": intents})
    await understand(hass, Sesame=said or (SAID,))


@pytest.mark.parametrize("model", [False, True], ids=["without a model", "before a model"])
@pytest.mark.parametrize("name", ACTIONS)
async def test_by_a_sentence(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str, model: bool
) -> None:
    await own(hass, ACTIONS[name])
    await start(model=model, profile={"local_first": True})
    witness.server.respond(lambda body: text("What do you mean?"))
    asked = speech(await say(hass, SAID, context=alice))
    assert asked.endswith("?") or name == "an automation"
    await say(hass, SAID)
    device = await say(hass, SAID, device_id="a device")
    await say(hass, "yes", device.conversation_id, device_id="another device")


@pytest.mark.parametrize("name", ACTIONS)
async def test_as_a_tool_of_a_model(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str
) -> None:
    await own(hass, ACTIONS[name])
    await start(profile={"llm_apis": ["assist"]})
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        witness.server.plan(tool_call("intent_script__Sesame", {}))
        await say(hass, "let me in", context=who)


@pytest.mark.parametrize("name", ["unlock", "garage", "alarm", "a script", "another integration", "a template"])
async def test_by_an_agent_that_answers_locally(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str
) -> None:
    await own(hass, ACTIONS[name])
    await start(
        profile={"delegate_to": ["profile-2"]},
        more=[subentry("profile", "Worker", "profile-2", {"local_first": True, "delegation_level": "unrestricted"})],
    )
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        witness.server.plan(tool_call("delegate_to_service", {"target_service_id": "profile-2", "user_request": SAID}))
        await say(hass, "let me in", context=who)


RULES: dict[str, dict[str, Any]] = {
    "never the entity": {"options": {"never_offer": [DOOR]}},
    "never the kind": {"options": {"never_offer": ["lock"]}},
    "never the action": {"options": {"never_offer": ["lock.unlock"]}},
    "never the intent": {"options": {"never_offer": ["Sesame"]}},
    "never its tool": {"options": {"never_offer": ["intent_script__Sesame"]}},
    "only lights": {"profile": {"may_change": ["light", "switch"]}},
    "a part of the home": {"profile": {"exposed_entities": ["light.bed_light", "switch.decorative_lights"]}},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("by", ["a sentence", "a tool"])
async def test_rules(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, rule: str, by: str) -> None:
    await own(hass, ACTIONS["unlock"])
    options = {"never_confirm": ["lock", "Sesame", "intent_script__Sesame"], **RULES[rule].get("options", {})}
    own_profile = {"llm_apis": ["assist"], "local_first": by == "a sentence", **RULES[rule].get("profile", {})}
    await start(options=options, profile=own_profile)
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        if by == "a tool":
            witness.server.plan(tool_call("intent_script__Sesame", {}))
        said = await say(hass, SAID, context=who)
        await say(hass, "yes", said.conversation_id, context=who)


async def test_always_asked(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await own(hass, [{"action": "light.turn_on", "target": {"entity_id": "light.bed_light"}}])
    await start(model=False, options={"always_confirm": ["light.bed_light"]})
    witness.before["light.bed_light"] = "off"
    for who in (alice, Context()):
        asked = await say(hass, SAID, context=who)
        assert speech(asked).endswith("?") or who is not alice


GUESTS: dict[str, dict[str, Any]] = {
    "one light": {"entities": {"entity_ids": {"light.bed_light": True}}},
    "reads all": {"entities": {"all": {"read": True}}},
    "nothing": {},
}


@pytest.mark.parametrize("policy", GUESTS.values(), ids=GUESTS.keys())
@pytest.mark.parametrize("name", ["unlock", "alarm", "a script", "another integration", "a program", "any action"])
async def test_of_a_guest(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    person: Callable[..., Context],
    policy: dict[str, Any],
    name: str,
) -> None:
    await own(hass, ACTIONS[name])
    await start(model=False, options={"never_confirm": ["Sesame"]})
    guest = person("Bob", policy)
    said = await say(hass, SAID, context=guest)
    await say(hass, "yes", said.conversation_id, context=guest)


async def test_of_a_guest_without_entities(
    hass: HomeAssistant, witness: Witness, start: SetUp, person: Callable[..., Context]
) -> None:
    await own(hass, [{"event": "secret_ran"}])
    await start(model=False)
    await say(hass, SAID, context=person("Bob", {"entities": {"entity_ids": {"light.bed_light": True}}}))


SLOTS: dict[str, str] = {
    "a door": DOOR, "in upper case": DOOR.upper(), "a hidden door": HIDDEN_DOOR, "in a list": f"light.bed_light, {DOOR}",
    "a group": "group.doors", "all": "all", "an area": "hall", "a registry id": "REGISTRY", "a set": f"{{'{DOOR}'}}",
}  # fmt: skip


@pytest.mark.parametrize("value", SLOTS.values(), ids=SLOTS.keys())
@pytest.mark.parametrize("target", ["entity_id", "area_id"])
@pytest.mark.parametrize("by", ["a sentence", "a tool"])
async def test_given_a_target(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, value: str, target: str, by: str
) -> None:
    value = registry_id(hass, GARAGE) if value == "REGISTRY" else value
    await hass.services.async_call("group", "set", {"object_id": "doors", "entities": [DOOR]}, blocking=True)
    opened = [{"action": action, "target": {target: "{{ what }}"}} for action in ("lock.unlock", "cover.open_cover")]
    await own(hass, opened)
    said = {"sentences": ["please open {what}"], "lists": {"what": {"wildcard": True}}, **CUSTOM}
    get_agent_manager(hass).update_config_intents({"Sesame": {"data": [said]}})
    agent = get_agent_manager(hass).default_agent
    assert agent is not None
    await agent.async_reload("en")
    await start(profile={"llm_apis": ["assist"], "local_first": by == "a sentence"})
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        if by == "a tool":
            witness.server.plan(tool_call("intent_script__Sesame", {"what": value}))
        await say(hass, f"please open {value}", context=who)


class Foreign(intent.IntentHandler):
    """A handler of another integration, which opens the door whatever was said."""

    def __init__(self, name: str = "Sesame", platforms: set[str] | None = None) -> None:
        self.intent_type = name
        self.platforms = platforms

    async def async_handle(self, intent_obj: intent.Intent) -> intent.IntentResponse:
        """Open the door, as a program may."""
        intent_obj.hass.states.async_set(DOOR, "unlocked")
        return intent_obj.create_response()


class ForeignService(intent.ServiceIntentHandler):
    """One that says that it turns on lights."""

    async def async_handle(self, intent_obj: intent.Intent) -> intent.IntentResponse:
        """Open the door instead."""
        intent_obj.hass.states.async_set(DOOR, "unlocked")
        return intent_obj.create_response()


HANDLERS: dict[str, tuple[intent.IntentHandler, str]] = {
    "a new intent": (Foreign(), SAID),
    "of a platform": (Foreign(platforms={"conversation"}), SAID),
    "with a name": (Foreign(), "sesame Bed Light"),
    "a timer's": (Foreign(intent.INTENT_CANCEL_ALL_TIMERS), "cancel all timers"),
    "a question's": (Foreign(intent.INTENT_GET_CURRENT_TIME), "what time is it"),
    "a refusal's": (Foreign(intent.INTENT_NEVERMIND), "never mind"),
    "a light's": (ForeignService("HassLightSet", "light", "turn_on"), "set bed light brightness to 20 percent"),
    "a list's": (Foreign("HassListAddItem"), "add milk to my shopping list"),
    "a broadcast's": (Foreign(intent.INTENT_BROADCAST), "broadcast hello"),
}


@pytest.mark.parametrize("name", HANDLERS)
@pytest.mark.parametrize("rule", ["no rules", "always ask", "a guest"])
async def test_handlers_of_other_integrations(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    alice: Context,
    person: Callable[..., Context],
    name: str,
    rule: str,
) -> None:
    handler, said = HANDLERS[name]
    intent.async_register(hass, handler)
    await understand(hass, Sesame=(SAID, "sesame {name}"))
    await start(
        model=False, options={"always_confirm": ["lock.*", handler.intent_type]} if rule == "always ask" else {}
    )
    who = person("Bob", {"entities": {"entity_ids": {"light.bed_light": True}}}) if rule == "a guest" else alice
    for each in (who, Context()):
        asked = await say(hass, said, context=each)
        if rule == "a guest" and each is who:
            await say(hass, "yes", asked.conversation_id, context=each)


async def test_a_yes_lets_it_run(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await own(hass, ACTIONS["unlock"])
    await start(model=False)
    witness.may_move.add(DOOR)
    asked = await say(hass, SAID, context=alice)
    assert speech(asked) == "Run Sesame (and with it: unlock Front Door)?"
    await say(hass, "yes", asked.conversation_id, context=alice)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.get(DOOR).state == "unlocked"  # type: ignore[union-attr]


async def test_the_owner_exempts_one(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await own(hass, ACTIONS["unlock"])
    await start(model=False, options={"never_confirm": ["intent_script__Sesame"]})
    witness.may_move.add(DOOR)
    await say(hass, SAID, context=alice)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.get(DOOR).state == "unlocked"  # type: ignore[union-attr]


HARMLESS_INTENTS: dict[str, list[dict[str, Any]]] = {
    "an event": [{"event": "harmless_ran"}],
    "a light": [HARMLESS, {"event": "harmless_ran"}],
    "a script": [{"action": "script.harmless"}],
    "a blind": [
        {"action": "cover.open_cover", "target": {"entity_id": "cover.kitchen_window"}}, {"event": "harmless_ran"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS_INTENTS)
async def test_the_harmless_is_not_asked_about(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str
) -> None:
    await own(hass, HARMLESS_INTENTS[name])
    await start(model=False)
    for who in (alice, Context()):
        assert not speech(await say(hass, SAID, context=who)).endswith("?")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert [event.event_type for event in witness.events].count("harmless_ran") == 2


@pytest.mark.parametrize("name", ["unlock", "garage", "a script", "a template", "another integration"])
async def test_later(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str) -> None:
    await own(hass, ACTIONS[name])
    await start(model=False)
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=hass.config_entries.async_entries("demo")[0].entry_id, identifiers={("demo", "satellite")}
    )
    async_register_timer_handler(hass, device.id, lambda _event, _timer: None)
    for who in (alice, Context()):
        await say(hass, f"{SAID} in 1 second", context=who, device_id=device.id)
        await say(hass, f"in 1 second {SAID}", context=who, device_id=device.id)
