"""What sends a code or may say "yes" where something listens: asked about once a text from outside has been read."""

from typing import Any
from unittest.mock import patch

from homeassistant.components.assist_satellite import AssistSatelliteEntityFeature
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, speech
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import DOOR, GARAGE, SCRIPTS, Witness, act_on, rest

TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "speak": ("tts.speak", {"data": {"media_player_entity_id": "media_player.hall", "message": "{{ a }}"}}),
    "announce": ("assist_satellite.announce", {"data": {"message": "{{ a }}"}}),
    "converse": ("assist_satellite.start_conversation", {"data": {"start_message": "{{ a }}"}}),
    "play": ("media_player.play_media", {"data": {"media_content_id": "media-source://tts/x?message={{ a }}"}}),
    "play_page": ("media_player.play_media", {"data": {"media_content_id": "{{ a }}"}}),
    "send": ("remote.send_command", {"data": {"command": "{{ a }}"}}),
    "clean": ("vacuum.send_command", {"data": {"command": "{{ a }}"}}),
    "say_it": ("script.say_it", {"data": {"words": "{{ a }}"}}),
    "play_it": ("script.play_it", {"data": {"words": "{{ a }}"}}),
}
"""Tools of the owner's that say or send what they are given."""
SAY_IT = {
    "alias": "Say it",
    "fields": {"words": {"selector": {"text": {}}}},
    "sequence": [{"action": "assist_satellite.announce", "data": {"message": "{{ words }}"}}],
}
PLAY_IT = {
    "alias": "Play it",
    "fields": {"words": {"selector": {"text": {}}}},
    "sequence": [
        {"action": "media_player.play_media", "data": {"media": {"media_content_id": "media-source://tts/{{ words }}"}}}
    ],
}
DEVICES = ("remote.tv", "vacuum.robbie", "media_player.hall")


@pytest.fixture(autouse=True)
async def devices(hass: HomeAssistant, witness: Witness) -> None:
    """Loudspeakers, satellites and remote controls, whose actions let somebody in."""
    config = {"script": {**SCRIPTS, "say_it": SAY_IT, "play_it": PLAY_IT}}
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        await hass.services.async_call("script", "reload", {}, blocking=True)
    for entity_id in ("script.say_it", "script.play_it"):
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    hass.states.async_set("remote.tv", "on", {"supported_features": 0})
    hass.states.async_set("vacuum.robbie", "docked", {"supported_features": 256})
    hass.states.async_set("media_player.hall", "idle", {"supported_features": 512})
    features = {"supported_features": int(AssistSatelliteEntityFeature.ANNOUNCE)}
    hass.states.async_set("assist_satellite.hall", "idle", features)
    for entity_id in DEVICES:
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    for domain in ("media_source", "tts", "stt", "wake_word", "assist_pipeline", "assist_satellite"):
        assert await async_setup_component(hass, domain, {})
    for action, _ in TOOLS.values():
        if not action.startswith("script."):
            act_on(hass, action, GARAGE)


def _owned(witness: Witness) -> dict[str, Any]:
    """Return our configuration with those tools besides one that reads a page elsewhere."""
    yaml = rest(witness)
    properties = {"a": {"type": "string"}}
    for name, (action, call) in TOOLS.items():
        handler = {"type": "service", "service": action, **call}
        yaml["custom_tools"].append(
            {
                "name": name, "description": "Acts.", "handler": handler,
                "parameters": {"type": "object", "properties": properties},
            }
        )  # fmt: skip
    return yaml


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("said", ["yes", "https://evil.example/yes.mp3"])
async def test_after_a_page(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str, said: str
) -> None:
    await start(yaml=_owned(witness))
    if (name, said) == ("play_page", "yes"):
        return  # one of the home's own media
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        witness.server.plan(tool_call("ask", {"a": "news", "b": 1}), tool_call(name, {"a": said}))
        asked = await say(hass, "what is new?", context=who)
        assert speech(asked).endswith("?") or who is not alice


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "a remote control": (
        "ha_control", {"action": "set_value", "entity_id": "remote.tv", "parameters": {"command": "KEY_1"}},
    ),
    "a broadcast": ("assist_satellite__HassBroadcast", {"message": "hello"}),
    "a stop": ("ha_control", {"action": "set_value", "entity_id": GARAGE, "parameters": {"command": "stop"}}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
async def test_by_a_tool_of_ours_after_a_page(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str
) -> None:
    attributes = {**hass.states.get(GARAGE).attributes, "supported_features": 15}  # type: ignore[union-attr]
    hass.states.async_set(GARAGE, "closing", attributes)
    await start(yaml=rest(witness), profile={"llm_apis": ["assist"]})
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        witness.server.plan(tool_call("ask", {"a": "news", "b": 1}), tool_call(*CALLS[name]))
        asked = await say(hass, "what is new?", context=who)
        assert speech(asked).endswith("?") or who is not alice
    calls = [event.data["service"] for event in witness.events if event.event_type == "call_service"]
    assert not {"announce", "send_command", "stop_cover"} & {*calls}


@pytest.mark.parametrize(("language", "message"), [
    ("en", "yes"), ("en", "Dinner is ready. Yes."), ("en", "okay, yes please"), ("en", "YES!"), ("de", "ja"),
    ("de", "Essen ist fertig, ja bitte"), ("fr", "oui"), ("de", "yes"),
])  # fmt: skip
async def test_a_broadcast_that_says_yes(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, message: str, language: str
) -> None:
    await start(profile={"llm_apis": ["assist"]})
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        witness.server.plan(tool_call("assist_satellite__HassBroadcast", {"message": message}))
        asked = await say(hass, "tell them", context=who, language=language)
        assert speech(asked).endswith("?") or who is not alice


@pytest.mark.parametrize("words", ["broadcast yes", "announce yes please"])
async def test_a_broadcast_by_a_sentence(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, words: str
) -> None:
    await start(model=False)
    for who in (alice, Context()):
        await say(hass, words, context=who)
        await say(hass, words, device_id="a device")


async def test_a_siren_that_rings(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    hass.states.async_set("siren.hall", "on", {"supported_features": 3, "friendly_name": "Hall Siren"})
    async_expose_entity(hass, ASSISTANT, "siren.hall", True)
    for service in ("siren.turn_off", "siren.toggle", "siren.turn_on"):
        act_on(hass, service, DOOR)
    await start()
    witness.server.respond(lambda body: text("I cannot do that."))
    for action in ("turn_off", "toggle"):
        for who in (alice, Context()):
            witness.server.plan(tool_call("ha_control", {"action": action, "entity_id": "siren.hall"}))
            await say(hass, "quiet", context=who)


async def test_without_a_page_nothing_is_asked(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context
) -> None:
    await start(yaml=_owned(witness))
    witness.may_move.add(GARAGE)
    for name in ("announce", "speak", "send", "play"):
        witness.server.plan(tool_call(name, {"a": "Dinner"}), text("Done."))
        assert speech(await say(hass, "dinner", context=alice)) == "Done."


async def test_what_an_owner_wrote_is_said(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    fixed = {"alias": "Dinner", "sequence": [{"action": "assist_satellite.announce", "data": {"message": "Dinner!"}}]}
    with patch("homeassistant.config.load_yaml_config_file", return_value={"script": {**SCRIPTS, "dinner": fixed}}):
        await hass.services.async_call("script", "reload", {}, blocking=True)
    async_expose_entity(hass, ASSISTANT, "script.dinner", True)
    await start(yaml=rest(witness))
    witness.may_move.add(GARAGE)
    run = tool_call("ha_control", {"action": "turn_on", "entity_id": "script.dinner"})
    witness.server.plan(tool_call("ask", {"a": "news", "b": 1}), run, text("Done."))
    assert speech(await say(hass, "what is new?", context=alice)) == "Done."


async def test_a_broadcast_of_every_day(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start(model=False)
    witness.may_move.add(GARAGE)
    assert not speech(await say(hass, "broadcast dinner is ready", context=alice)).endswith("?")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.get(GARAGE).state == "open"  # type: ignore[union-attr]
