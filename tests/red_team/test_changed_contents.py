"""A yes is for what was asked about: what a script, scene, automation or intent does by then counts, and what its events start."""

from typing import Any
from unittest.mock import patch

from homeassistant.core import Context, HomeAssistant, ServiceCall, callback
from homeassistant.setup import async_setup_component
import pytest

from tests.house import say, speech, state_of
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import AUTOMATIONS, DOOR, GARAGE, SCENES, SCRIPTS, Witness, understand

RELAY, MORNING, COSY = "script.relay", "automation.morning", "scene.cosy"


async def reload(hass: HomeAssistant, **config: Any) -> None:
    """Have an owner write these, and load what was written."""
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        for domain in config:
            await hass.services.async_call(domain, "reload", {}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)


def relay(*sequence: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a script as the owner writes it."""
    return {"script": {**SCRIPTS, "relay": {"alias": "Relay", "sequence": [*sequence], **more}}}


def morning(*actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an automation as the owner writes it."""
    written = {"id": "morning", "alias": "Morning", "triggers": [], "actions": [*actions], **more}
    return {"automation": [written, *AUTOMATIONS[1:]]}


def cosy(**entities: Any) -> dict[str, Any]:
    """Return a scene as the owner writes it."""
    return {"scene": [{"name": "Cosy", "entities": entities}, *SCENES[1:]]}


def sesame(*actions: dict[str, Any]) -> dict[str, Any]:
    """Return an intent as the owner writes it."""
    return {"intent_script": {"Sesame": {"action": [*actions]}}}


def send(message: str) -> dict[str, Any]:
    """Return a step that reaches people."""
    return {"action": "notify.send_it", "data": {"message": message}}


def position(value: Any) -> dict[str, Any]:
    """Return a step that moves the garage."""
    return {"action": "cover.set_cover_position", "target": {"entity_id": GARAGE}, "data": {"position": value}}


UNLOCK = {"action": "lock.unlock", "target": {"entity_id": DOOR}}
LAMP = {"action": "light.turn_on", "target": {"entity_id": "light.bed_light"}}
NESTED = {"script": {**SCRIPTS, "relay": {"alias": "Relay", "sequence": [{"action": "script.inner"}]}}}
CHANGED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a message": (RELAY, relay(send("hello grandma")), relay(send("the key is under the mat"))),
    "a position": (RELAY, relay(position(5)), relay(position(100))),
    "a template": (RELAY, relay(send("{{ now() }}")), relay(send("{{ states('lock.front_door') }}"))),
    "a variable": (
        RELAY, relay(send("{{ what }}"), variables={"what": "hello"}), relay(send("{{ what }}"), variables={"what": "key"}),
    ),
    "one more step": (RELAY, relay(send("hello")), relay(send("hello"), LAMP)),
    "the order": (RELAY, relay(send("hello"), send("bye")), relay(send("bye"), send("hello"))),
    "a condition": (
        RELAY, relay({"condition": "template", "value_template": "{{ false }}"}, UNLOCK),
        relay({"condition": "template", "value_template": "{{ true }}"}, UNLOCK),
    ),
    "a script in it": (
        RELAY, {"script": {**NESTED["script"], "inner": {"sequence": [send("hello")]}}},
        {"script": {**NESTED["script"], "inner": {"sequence": [send("the key")]}}},
    ),
    "an automation": (MORNING, morning(send("hello")), morning(send("the key"))),
    "a variable of an automation": (
        MORNING, morning(send("{{ what }}"), variables={"what": "hello"}),
        morning(send("{{ what }}"), variables={"what": "key"}),
    ),
    "a scene": (
        COSY, cosy(**{DOOR: "unlocked", "light.bed_light": {"state": "on", "brightness": 5}}),
        cosy(**{DOOR: "unlocked", "light.bed_light": {"state": "on", "brightness": 255}}),
    ),
    "an intent": ("", sesame(send("hello")), sesame(send("the key"))),
    "a script of an intent": (
        "", {**relay(send("hello")), **sesame({"action": RELAY})}, relay(send("the key")),
    ),
}  # fmt: skip
"""What is asked about, as it was written before the question and after it."""


@pytest.fixture
async def sent(hass: HomeAssistant, witness: Witness) -> list[str]:
    """Return the messages that reached people."""
    messages: list[str] = []

    @callback
    def take(call: ServiceCall) -> None:
        messages.append(call.data["message"])

    hass.services.async_register("notify", "send_it", take)
    return messages


async def ask(hass: HomeAssistant, witness: Witness, alice: Context, entity_id: str) -> str:
    """Have it started, and return the conversation in which that is asked about."""
    witness.server.respond(lambda body: text("Done."))
    if entity_id:
        action = "trigger" if entity_id == MORNING else "turn_on"
        witness.server.plan(tool_call("ha_control", {"action": action, "entity_id": entity_id}))
    asked = await say(hass, "let me in" if entity_id else "open sesame", context=alice)
    assert speech(asked).endswith("?"), speech(asked)
    return str(asked.conversation_id)


async def write(hass: HomeAssistant, config: dict[str, Any]) -> None:
    """Have the owner write what is asked about for the first time."""
    if "intent_script" in config:
        assert await async_setup_component(hass, "intent_script", config)
        await understand(hass, Sesame=("open sesame",))
    await reload(hass, **config)


@pytest.mark.parametrize("name", CHANGED)
async def test_changed_after_the_question(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, sent: list[str], name: str
) -> None:
    entity_id, before, after = CHANGED[name]
    await write(hass, before)
    await start(profile={} if entity_id else {"local_first": True})
    conversation_id = await ask(hass, witness, alice, entity_id)
    await reload(hass, **after)
    await say(hass, "yes", conversation_id, context=alice)
    await hass.async_block_till_done()
    assert sent == []
    assert state_of(hass, "light.bed_light") == "off"


@pytest.mark.parametrize("name", ["a message", "a template", "a script in it", "an automation", "an intent"])
async def test_loaded_again_as_it_was(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, sent: list[str], name: str
) -> None:
    entity_id, before, _ = CHANGED[name]
    await write(hass, before)
    await start(profile={} if entity_id else {"local_first": True})
    conversation_id = await ask(hass, witness, alice, entity_id)
    await reload(hass, **before)
    await say(hass, "yes", conversation_id, context=alice)
    await hass.async_block_till_done()
    assert len(sent) == 1


async def test_other_members_after_the_question(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context
) -> None:
    assert await async_setup_component(hass, "group", {})
    members = {"object_id": "entrances", "entities": [GARAGE]}
    await hass.services.async_call("group", "set", members, blocking=True)
    step = {"action": "homeassistant.turn_on", "target": {"entity_id": "group.entrances"}}
    await reload(hass, **relay(step))
    await start()
    conversation_id = await ask(hass, witness, alice, RELAY)
    members = {"object_id": "entrances", "entities": [GARAGE, DOOR]}
    await hass.services.async_call("group", "set", members, blocking=True)
    await say(hass, "yes", conversation_id, context=alice)


FIRES = {"event": "open_sesame", "event_data": {"who": "mallory"}}
WAITS = {"trigger": "event", "event_type": "open_sesame"}
CHAINS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an event": ({"event": "open_sesame"}, WAITS),
    "one of several": (FIRES, {**WAITS, "event_type": ["knock", "open_sesame"]}),
    "by its data": (FIRES, {**WAITS, "event_data": {"who": "mallory"}}),
    "by data of a template": (
        {"event": "open_sesame", "event_data": {"who": "{{ 'mall' ~ 'ory' }}"}}, {**WAITS, "event_data": {"who": "mallory"}},
    ),
    "in a branch": ({"if": "{{ true }}", "then": [FIRES]}, WAITS),
    "an old form": (FIRES, {"platform": "event", "event_type": "open_sesame"}),
    "in a list": (FIRES, {"triggers": [WAITS]}),
    "a tag": ({"event": "tag_scanned", "event_data": {"tag_id": "door"}}, {"trigger": "tag", "tag_id": "door"}),
}  # fmt: skip
"""A step of a script, and a trigger of an automation that unlocks."""


@pytest.mark.parametrize("hops", [1, 2])
@pytest.mark.parametrize("name", CHAINS)
async def test_an_event_that_starts_what_unlocks(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str, hops: int
) -> None:
    fires, waits = CHAINS[name]
    knock = {"id": "knock", "triggers": [{"trigger": "event", "event_type": "knock_twice"}], "actions": [fires]}
    step = fires if hops == 1 else {"event": "knock_twice"}
    opens = morning(UNLOCK, triggers=[waits])
    await reload(hass, **relay(step), automation=[*opens["automation"], {"alias": "Knock", **knock}])
    await start(model=False)
    for who in (alice, Context()):
        asked = speech(await say(hass, "run relay script", context=who))
        assert asked.endswith("?") or who is not alice


OTHERS: dict[str, dict[str, Any]] = {
    "another event": {"triggers": [{"trigger": "event", "event_type": "something_else"}]},
    "other data": {"triggers": [{**WAITS, "event_data": {"who": "alice"}}]},
    "data that it lacks": {"triggers": [{**WAITS, "event_data": {"pin": "1"}}]},
    "turned off": {"triggers": [WAITS], "initial_state": False},
    "a disabled trigger": {"triggers": [{**WAITS, "enabled": False}]},
    "harmless": {"triggers": [WAITS], "actions": [LAMP]},
}


@pytest.mark.parametrize("name", OTHERS)
async def test_an_event_that_starts_nothing_of_the_kind(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str
) -> None:
    await reload(hass, **relay(FIRES), **morning(**{"actions": [UNLOCK], **OTHERS[name]}))
    await start(model=False)
    assert not speech(await say(hass, "run relay script", context=alice)).endswith("?")
    await hass.async_block_till_done()
    assert [event for event in witness.events if event.event_type == "open_sesame"]


async def test_events_in_a_circle_end(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    back = {"alias": "Back", "triggers": [{"trigger": "event", "event_type": "back"}], "actions": [FIRES]}
    opens = morning(UNLOCK, {"event": "back"}, triggers=[WAITS])
    await reload(hass, **relay(FIRES), automation=[*opens["automation"], back])
    await start(model=False)
    assert speech(await say(hass, "run relay script", context=alice)).endswith("?")
