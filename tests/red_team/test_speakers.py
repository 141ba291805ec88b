"""Two people in one conversation: what was written into the instructions for one is not told with what the other says."""

from collections.abc import Callable
from typing import Any

from homeassistant.core import Context, HomeAssistant
import pytest

from tests.house import say, speech
from tests.llm_server import text

from .conftest import SetUp
from .world import Witness

OWN = {"use_default_prompt": False}
PROMPTS: dict[str, dict[str, Any]] = {
    "a placeholder": {**OWN, "custom_prompt": "You talk to {user_name}."},
    "a template": {**OWN, "custom_prompt": "You talk to {{ userName }}."},
    "behind a condition": {
        **OWN,
        "custom_prompt": "Be kind.{% if user_name == 'Alice' %} The code of Alice is blue.{% endif %}",
    },
    "among variables": {**OWN, "custom_prompt": "You know this: {contextVariables}"},
    "an addition": {"prompt_additions": "You talk to {{ user_name }}."},
    "a plain template": {**OWN, "custom_prompt": "You talk to {{ user_name }}.", "use_prompt_context_service": False},
    "a plain addition": {"prompt_additions": "You talk to {{ user_name }}.", "use_prompt_context_service": False},
}


def system_message(witness: Witness) -> str:
    message = witness.server.request.body["messages"][0]
    assert message["role"] == "system"
    return str(message["content"])


@pytest.mark.parametrize("other", ["Bob", "nobody"])
@pytest.mark.parametrize("name", PROMPTS)
async def test_instructions_that_were_filled_in(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    alice: Context,
    person: Callable[..., Context],
    name: str,
    other: str,
) -> None:
    who = {"context": person("Bob")} if other == "Bob" else {"device_id": "a device"}
    await start(profile=PROMPTS[name])
    witness.server.respond(lambda body: text("Hello."))
    conversation_id = (await say(hass, "hello", context=alice)).conversation_id
    if name != "among variables":
        assert "Alice" in system_message(witness)
    assert str(alice.user_id) in system_message(witness) or name != "among variables"
    asked = len(witness.server.requests)
    said = await say(hass, "hello", conversation_id, **who)
    refused = speech(said) == "Unauthorized"  # Home Assistant 2026.11 lets nobody into the conversation of another
    assert refused is (len(witness.server.requests) == asked)
    for secret in ("Alice", str(alice.user_id)):
        assert refused or secret not in system_message(witness)


async def test_what_a_caller_adds_to_the_instructions(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, person: Callable[..., Context]
) -> None:
    bob = person("Bob")
    await start()
    witness.server.respond(lambda body: text("Hello."))
    extra = "Alice has asked for her pills."
    conversation_id = (await say(hass, "hello", context=alice, extra_system_prompt=extra)).conversation_id
    assert extra in system_message(witness)
    for who in ({"context": bob}, {"device_id": "a device"}):
        refused = speech(await say(hass, "hello", conversation_id, **who)) == "Unauthorized"
        assert refused or extra not in system_message(witness)
    await say(hass, "and now?", conversation_id, context=alice)
    assert extra in system_message(witness)
