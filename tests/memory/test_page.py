"""The pages "Memory" and "Limits of the memory" of the default settings."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
import pytest

from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.support.kept import kept_of
from tests.flows.forms import arranged, options, page, resend_page, send_page, shown
from tests.house import set_up
from tests.llm_server import LLMServer


@pytest.mark.parametrize("name", ["memory", "memory_limits"])
async def test_sent_back_untouched_it_sets_nothing(hass: HomeAssistant, name: str) -> None:
    entry = await set_up(hass)
    form = await page(hass, entry, name)
    result = await send_page(hass, form, **arranged(form, shown(form)))
    assert (result["type"], dict(entry.options)) == (FlowResultType.MENU, {})


async def test_only_what_differs_is_stored_with_what_is_unknown_here_and_it_holds(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options={"memory": {"top_k": 7, "gone": 1}})
    await resend_page(hass, await page(hass, entry, "memory"), scope="user", event_ttl=30.0)
    await resend_page(hass, await page(hass, entry, "memory_limits"), top_k=5.0, dedup_threshold=0.9)
    assert dict(entry.options) == {"memory": {"gone": 1, "scope": "user", "event_ttl": 30, "dedup_threshold": 0.9}}
    settings = kept_of(hass, Memories).settings
    assert (settings.scope, settings.top_k, settings.event_ttl) == ("user", 5, 30)


async def test_what_a_page_does_not_show_stays(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options={"memory": {"max_memories": 50}})
    await send_page(hass, await page(hass, entry, "memory"), enabled=False, scope="home")
    assert dict(entry.options) == {"memory": {"enabled": False, "max_memories": 50}}


async def test_models_to_choose_from(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    assert options(await page(hass, entry, "memory"), "extraction_llm") == ["profile", "external", "llm-1"]


@pytest.mark.parametrize(
    ("name", "error"),
    [("no name!", "collection_name"), ("home_entities", "collection_taken"), ("recipes", "collection_taken")],
)
async def test_memories_have_a_collection_of_their_own(hass: HomeAssistant, name: str, error: str) -> None:
    stored: dict[str, Any] = {"retrieval": {"additional_collections": "recipes"}}
    entry = await set_up(hass, options=stored)
    form = await resend_page(hass, await page(hass, entry, "memory_limits"), collection=name)
    assert (form["step_id"], form["errors"]) == ("memory_limits", {"base": error})
    assert dict(entry.options) == stored


async def test_no_other_page_takes_their_collection(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await page(hass, entry, "retrieval")
    sent = arranged(form, shown(form) | {"additional_collections": "recipes, home_agent_memories"})
    form = await send_page(hass, form, **sent)
    assert form["errors"] == {"base": "collection_taken"}
