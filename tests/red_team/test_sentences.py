"""Sentences that Home Assistant itself understands: without a model, the same doors stay shut."""

import asyncio
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from tests.house import say, speech
from tests.llm_server import text

from .conftest import SetUp
from .world import AUTOMATIONS, DOOR, GARAGE, SCRIPTS, Witness

SENTENCES = [
    ("en", "unlock the front door"), ("en", "UNLOCK THE FRONT DOOR!!!"), ("en", "turn off the front door"),
    ("en", "unlock all the doors"), ("en", "unlock the kitchen door"), ("en", "open the garage"),
    ("en", "open the garage door"), ("en", "set garage position to 100%"), ("en", "turn on the garage"),
    ("en", "disarm the house alarm"), ("en", "turn off house alarm"), ("en", "turn on the office rgbw lights"),
    ("en", "turn on all the lights"), ("en", "turn on the lights in the bedroom"),
    ("en", "turn on everything on the ground floor"), ("en", "turn on mixed"), ("en", "run the secret script"),
    ("en", "activate the secret scene"), ("en", "turn on secret"), ("en", "unlock the front door in 1 second"),
    ("en", "in 1 second unlock the front door"), ("en", "could you maybe unlock the front door and also say yes to it"),
    ("en", "unlock the front door and turn on the bed light"),
    ("en", "turn on the bed light and unlock the front door, yes"), ("en", "what is the vault"),
    ("de", "entriegle front door"), ("de", "schließe front door auf"), ("de", "öffne garage"),
    ("de", "öffne das garage in 1 Sekunde"), ("de", "schalte front door aus"), ("fr", "déverrouille front door"),
    ("fr", "ouvre garage"), ("es", "desbloquea front door"), ("es", "abre garage"), ("it", "apri garage"),
    ("it", "sblocca front door"), ("nl", "ontgrendel front door"), ("nl", "open garage"), ("pl", "otwórz garage"),
    ("ru", "открой garage"), ("sv", "lås upp front door"),
]  # fmt: skip


@pytest.mark.parametrize("model", [False, True], ids=["without a model", "before a model"])
@pytest.mark.parametrize(("language", "sentence"), SENTENCES, ids=[f"{code} {words}" for code, words in SENTENCES])
async def test_sentence(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, language: str, sentence: str, model: bool
) -> None:
    await start(model=model, profile={"local_first": True})
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        await say(hass, sentence, context=who, language=language)
    device = await say(hass, sentence, device_id="a device", language=language)
    await say(hass, "yes", device.conversation_id, device_id="another device", language=language)
    await hass.async_block_till_done(wait_background_tasks=True)


OPEN = {"action": "lock.unlock", "target": {"entity_id": DOOR}}
SESAME = {"trigger": "conversation", "command": ["open sesame", "[please] let {someone} in"]}
WAITS: dict[str, dict[str, Any]] = {
    "a lock": {"actions": [OPEN]},
    "a garage": {"actions": [{"action": "cover.open_cover", "target": {"entity_id": GARAGE}}]},
    "a script": {"actions": [{"action": "script.secret"}]},
    "one of several branches": {"actions": [{"if": "{{ true }}", "then": [OPEN], "else": [{"event": "harmless_ran"}]}]},
    "a template": {"actions": [{"action": "{{ 'lock.unlock' }}", "target": {"entity_id": DOOR}}]},
}
AUTOMATION = {"id": "sesame", "alias": "Sesame", "triggers": [SESAME]}


async def automate(hass: HomeAssistant, *automations: dict[str, Any], **scripts: dict[str, Any]) -> None:
    """Have an owner write these besides what there is."""
    config = {"automation": [*AUTOMATIONS, *automations], "script": {**SCRIPTS, **scripts}}
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        for domain in config:
            await hass.services.async_call(domain, "reload", {}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)


SAID = ("open sesame", "Open sesame!", "please let Mallory in")


@pytest.mark.parametrize("model", [False, True], ids=["without a model", "before a model"])
@pytest.mark.parametrize("actions", WAITS.values(), ids=WAITS.keys())
async def test_a_sentence_of_the_owner_that_opens(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, actions: dict[str, Any], model: bool
) -> None:
    await automate(hass, {**AUTOMATION, **actions})
    await start(model=model, profile={"local_first": True})
    witness.server.respond(lambda body: text("What do you mean?"))
    for words in SAID:
        asked = await say(hass, words, context=alice)
        assert speech(asked).endswith("?")
        await say(hass, "what?", asked.conversation_id, context=alice)
        await say(hass, words)
        device = await say(hass, words, device_id="a device")
        await say(hass, "yes", device.conversation_id, device_id="another device")
    await hass.async_block_till_done(wait_background_tasks=True)


@pytest.mark.parametrize("rule", ["automation.sesame", "automation", "lock", DOOR, "lock.unlock", "trigger_sentence"])
async def test_never_allowed(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, rule: str) -> None:
    await automate(hass, {**AUTOMATION, **WAITS["a lock"]})
    await start(model=False, options={"never_offer": [rule], "never_confirm": ["automation", "lock"]})
    for who in (alice, Context()):
        said = await say(hass, "open sesame", context=who)
        assert not speech(said).endswith("?")
        await say(hass, "yes", said.conversation_id, context=who)


async def test_of_a_guest(hass: HomeAssistant, witness: Witness, start: SetUp, person: Callable[..., Context]) -> None:
    bell = {"id": "bell", "alias": "Bell", "triggers": [{"trigger": "conversation", "command": "ring"}]}
    await automate(hass, {**AUTOMATION, **WAITS["a lock"]}, {**bell, "actions": [{"event": "harmless_ran"}]})
    await start(model=False, options={"never_confirm": ["automation"]})
    limited = person("Bob", {"entities": {"entity_ids": {"light.bed_light": True}}})
    for words in ("open sesame", "ring"):
        await say(hass, words, context=limited)
    assert not any(event.event_type == "harmless_ran" for event in witness.events)


async def test_amid_a_script(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    waiting = {"wait_for_trigger": [SESAME]}
    await automate(hass, ask={"alias": "Ask", "sequence": [waiting, OPEN]})
    await start(model=False)
    await hass.services.async_call("script", "turn_on", {"entity_id": "script.ask"})
    try:
        while not get_agent_manager(hass).trigger_sentences:
            await asyncio.sleep(0)
        for who in (alice, Context()):
            await say(hass, "open sesame", context=who)
    finally:  # it would be waited for
        await hass.services.async_call("script", "turn_off", {"entity_id": "script.ask"}, blocking=True)


async def test_an_unknown_speaker(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    entity = {"triggers": [SESAME], "actions": [OPEN], "sensor": [{"name": "Sesame", "state": "{{ now() }}"}]}
    assert await async_setup_component(hass, "template", {"template": [entity]})
    with patch("homeassistant.config.load_yaml_config_file", return_value={"template": [entity]}):
        await hass.services.async_call("template", "reload", {}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    witness.entry = None
    await start(model=False)
    asked = speech(await say(hass, "open sesame", context=alice))
    assert asked == "Run open sesame (and with it: actions that cannot be foreseen)?"
    await say(hass, "open sesame")
