"""Three failures in a row of whatever kind raise an issue, the next success solves it: the model and embeddings."""

from collections.abc import Callable

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest

from custom_components.home_agent.client import chat_completions
from custom_components.home_agent.search import embeddings
from custom_components.home_agent.support import outages
from custom_components.home_agent.support.const import DOMAIN
from tests.embedding_server import EmbeddingServer
from tests.house import build_house, say, set_up
from tests.llm_server import LLMServer, Reply, error, rate_limited, server_error, silence, text

FAILURES = {
    "500": server_error,
    "402": lambda: error(402, "Insufficient credits"),
    "429": rate_limited,
    "time-out": silence,
}


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the house before each test; nobody waits before a request is made again."""
    for module in (chat_completions, embeddings):
        monkeypatch.setattr(module, "RETRY_DELAY", 0)
    monkeypatch.setattr(outages, "PAUSE", 0)
    monkeypatch.setattr(embeddings, "TIMEOUT", 1)
    await build_house(hass)


def raised(hass: HomeAssistant) -> list[str]:
    """Return what Repairs says."""
    return [str(issue.translation_key) for (domain, _), issue in ir.async_get(hass).issues.items() if domain == DOMAIN]


@pytest.mark.parametrize("failure", FAILURES)
async def test_model(hass: HomeAssistant, llm_server: LLMServer, failure: str) -> None:
    make: Callable[[], Reply] = FAILURES[failure]
    await set_up(hass, llm_server, llm={"idle_timeout": 0.3})
    llm_server.respond(lambda body: make())
    counts = []
    for _ in range(3):
        await say(hass, "hello")
        counts.append(len(raised(hass)))
    assert counts == [0, 0, 1]
    llm_server.respond(lambda body: text("Fine."))
    await say(hass, "hello")
    assert raised(hass) == []


@pytest.mark.parametrize("failure", FAILURES)
async def test_embeddings(
    hass: HomeAssistant, llm_server: LLMServer, embedding_server: EmbeddingServer, failure: str
) -> None:
    endpoint = {"embedding": "endpoint", "embedding_preset": "custom", "embedding_url": embedding_server.base_url}
    llm_server.respond(lambda body: text("Fine."))
    await set_up(hass, llm_server, profile={"context_mode": "retrieved"}, options={"retrieval": endpoint})
    await hass.async_block_till_done(wait_background_tasks=True)
    await say(hass, "Is the kitchen light on?")
    assert raised(hass) == []
    embedding_server.plan(*(FAILURES[failure]() for _ in range(50)))
    for number in range(6):  # some are made again within a question
        if raised(hass):
            break
        await say(hass, f"Is lamp {number} in the kitchen on?")
    assert [item for item in raised(hass) if item.startswith("embedding")] == raised(hass) != []
    embedding_server._plan.clear()
    await say(hass, "Is the window in the kitchen open?")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert raised(hass) == []
