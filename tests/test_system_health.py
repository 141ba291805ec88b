"""System health."""

from aiohttp import ClientTimeout
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent import system_health
from tests.house import EXPOSED, build_house, health, say, set_up
from tests.llm_server import LLMServer, text


async def test_endpoint_that_answers(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await build_house(hass)
    await set_up(hass, llm_server)
    before = await health(hass)
    assert (before["profiles"], before["exposed_entities"], before["last_success"]) == (1, len(EXPOSED), None)
    llm_server.plan(text("Good morning."))
    await say(hass, "hello")
    after = await health(hass)
    assert after["last_success"]
    assert await after["Scripted"] == await before["Scripted"] == "ok"


async def test_documents(hass: HomeAssistant) -> None:
    await set_up(hass)
    assert await (await health(hass))["documents"] == "0 (local)"
    assert (await health(hass))["memories"] == 0


async def test_store_that_is_away(hass: HomeAssistant, socket_enabled: None) -> None:
    retrieval = {"store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": 9}
    await set_up(hass, options={"retrieval": retrieval})
    assert await (await health(hass))["documents"] == {"type": "failed", "error": "unreachable"}


async def test_endpoint_that_is_away(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    await llm_server.stop()
    assert await (await health(hass))["Scripted"] == {"type": "failed", "error": "unreachable"}


async def test_silent_endpoint(hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_health, "_TIMEOUT", ClientTimeout(total=0.00001))
    await set_up(hass, llm_server)
    assert await (await health(hass))["Scripted"] == {"type": "failed", "error": "timeout"}


async def test_without_a_hub(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    await hass.config_entries.async_unload(entry.entry_id)
    assert set(await health(hass)) == {"exposed_entities"}
