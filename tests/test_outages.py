"""Three failures in a row of whatever kind raise an issue, the next success solves it: the model and embeddings."""

from collections.abc import Callable
from datetime import timedelta

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components import ai_task
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.agent import model_turn
from custom_components.home_agent.client import chat_completions
from custom_components.home_agent.search import embeddings
from custom_components.home_agent.support import outages
from custom_components.home_agent.support.const import DOMAIN
from tests.embedding_server import EmbeddingServer
from tests.house import build_house, say, set_up, speech
from tests.llm_server import LLMServer, Reply, error, rate_limited, server_error, silence, text, tool_call

FAILURES = {
    "500": server_error, "402": lambda: error(402, "Insufficient credits"), "429": rate_limited, "time-out": silence,
}  # fmt: skip


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


async def test_a_loading_model_is_said_and_no_outage_until_it_never_ends(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_turn, "TALK", model_turn.Manner(patience=0))
    await set_up(hass, llm_server, llm={"context_window": 16384})
    llm_server.loading = -1
    for _ in range(5):
        result = await say(hass, "hello")
        assert result.response.error_code is not None
        assert speech(result) == "Scripted is still loading its model. Please ask again in a moment."
    assert raised(hass) == []
    assert speech(await say(hass, "hallo", language="de")).startswith("Scripted lädt noch das Modell.")
    freezer.tick(timedelta(minutes=11))
    counts = []
    for _ in range(3):
        await say(hass, "hello")
        counts.append(raised(hass))
    assert counts == [[], [], ["endpoint_loading"]]
    llm_server.loading = 0
    llm_server.plan(text("Fine."))
    assert speech(await say(hass, "hello")) == "Fine."
    assert raised(hass) == []
    llm_server.loading = -1
    for _ in range(4):  # the next time it is loaded counts anew
        await say(hass, "hello")
    assert raised(hass) == []


async def test_a_server_that_is_away_between_two_loads_counts_them_anew(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_turn, "TALK", model_turn.Manner(patience=0))
    await set_up(hass, llm_server, llm={"context_window": 16384})
    llm_server.loading = 1
    await say(hass, "hello")
    llm_server.plan(server_error(502), server_error(502))
    await say(hass, "hello")
    freezer.tick(timedelta(days=1))
    llm_server.loading = -1
    for _ in range(3):
        await say(hass, "hello")
    assert raised(hass) == []


async def test_a_turn_waits_for_a_model_that_is_being_loaded(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, llm={"context_window": 16384})
    llm_server.loading = 1
    llm_server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"}), text("It is on."))
    assert speech(await say(hass, "on")) == "It is on."
    assert len(llm_server.requests) == 2
    assert len(llm_server.refused) == 1


async def test_a_task_waits_longer(hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_turn, "TALK", model_turn.Manner(patience=0))
    assert await async_setup_component(hass, "ai_task", {})
    await set_up(hass, llm_server, llm={"context_window": 16384})
    llm_server.loading = 2
    llm_server.plan(text("Rex"))
    task = await ai_task.async_generate_data(
        hass, task_name="Dog", entity_id="ai_task.scripted", instructions="Name a dog"
    )
    assert task.data == "Rex"
    assert len(llm_server.refused) == 2


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
