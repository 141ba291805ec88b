"""Tokens and latency of an endpoint, as the house shows them."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest

from tests.house import build_house, say, set_up
from tests.llm_server import LLMServer, text


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test."""
    await build_house(hass)


async def test_tokens_add_up_and_latency_is_the_newest(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(
        *(text("ok", usage={"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}) for _ in "ab")
    )
    await say(hass, "hello")
    await say(hass, "hello")
    values = {
        entry.unique_id.removeprefix("llm-1_"): hass.states.get(entry.entity_id)
        for entry in er.async_get(hass).entities.values()
        if entry.platform == "home_agent" and entry.domain == "sensor"
    }
    assert values["input_tokens"].state == "200"  # type: ignore[union-attr]
    assert values["output_tokens"].state == "14"  # type: ignore[union-attr]
    assert values["cached_tokens"] is None  # disabled until somebody wants it
    assert int(values["first_token_latency"].state) <= int(values["request_duration"].state)  # type: ignore[union-attr]
    assert values["input_tokens"].name.startswith("Scripted ")  # type: ignore[union-attr]
