"""A model whose window is smaller than anybody says: it refuses what is too long, and learns of it only once."""

import json
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, Reply, error, text

NAMES_THE_WINDOW = "This model's maximum context length is {} tokens. However, you requested 99999 tokens."
NAMES_NOTHING = "the prompt is too long"


@pytest.fixture(autouse=True)
async def large_house(hass: HomeAssistant, house: None) -> None:
    """Show so many lamps that all of them are more than a small window holds."""
    for number in range(300):
        hass.states.async_set(f"light.lamp_{number}", "on", {"friendly_name": f"Lamp on the shelf {number}"})
        async_expose_entity(hass, ASSISTANT, f"light.lamp_{number}", True)


def refusing(window: int, message: str) -> Any:
    """Return a model that refuses what is longer than its window, with room for an answer."""

    def answer(body: dict[str, Any]) -> Reply:
        tokens = len(json.dumps(body, ensure_ascii=False)) // 4
        return error(400, message.format(window)) if tokens > window - 256 else text("Of course. " * 20)

    return answer


@pytest.mark.parametrize("mode", ["direct", "retrieved", "both"])
@pytest.mark.parametrize("message", [NAMES_THE_WINDOW, NAMES_NOTHING], ids=["names the window", "names nothing"])
@pytest.mark.parametrize("window", [3000, 4096])
async def test_every_question_is_answered_and_few_are_refused(
    hass: HomeAssistant, llm_server: LLMServer, mode: str, message: str, window: int
) -> None:
    profile = {"context_mode": mode, "history_max_messages": 50}
    await set_up(hass, llm_server, profile=profile, llm={"context_window": 128_000})
    llm_server.respond(refusing(window, message))
    said = None
    for number in range(8):
        result = await say(hass, f"What about lamp {number}?", said)
        said = result.conversation_id
        assert speech(result).startswith("Of course.")
    await say(hass, "And in a new conversation?")
    refused = len(llm_server.requests) - 9
    assert refused <= (1 if message == NAMES_THE_WINDOW else 3)
    await say(hass, "And in one more?")
    assert len(llm_server.requests) == 9 + refused + 1


async def test_what_was_sent_with_less_stays_as_it_was_sent(hass: HomeAssistant, llm_server: LLMServer) -> None:
    profile = {"context_mode": "direct", "history_max_messages": 50}
    await set_up(hass, llm_server, profile=profile, llm={"context_window": 128_000})
    llm_server.respond(refusing(4096, NAMES_THE_WINDOW))
    said = (await say(hass, "one")).conversation_id
    await say(hass, "two", said)
    first, second = (request.body["messages"] for request in llm_server.requests[-2:])
    assert second[: len(first)] == first
