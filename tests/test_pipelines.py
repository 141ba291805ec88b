"""Voice pipelines that answer before an assistant of ours."""

from typing import Any

from homeassistant.components.assist_pipeline import async_get_pipelines, async_update_pipeline
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.support.const import DOMAIN
from tests.house import set_up, voice

OURS = "conversation.home_agent"


pytestmark = pytest.mark.usefixtures("demo_house")


def told(hass: HomeAssistant) -> list[dict[str, Any] | None]:
    """Return what the owner is told."""
    issues = ir.async_get(hass).issues.values()
    return [dict(issue.translation_placeholders or {}) for issue in issues if issue.domain == DOMAIN]


async def use(hass: HomeAssistant, engine: str, *, prefer_local: bool) -> None:
    pipeline = async_get_pipelines(hass)[0]
    await async_update_pipeline(hass, pipeline, conversation_engine=engine, prefer_local_intents=prefer_local)
    await hass.async_block_till_done()


async def test_named_while_it_prefers_local_handling_and_we_would_answer(hass: HomeAssistant) -> None:
    pipeline = await voice(hass)
    await set_up(hass)
    assert not told(hass)
    await use(hass, OURS, prefer_local=True)
    assert told(hass) == [{"pipeline": pipeline.name, "profile": "Home Agent"}]
    await use(hass, OURS, prefer_local=False)
    assert not told(hass)
    await use(hass, "conversation.home_assistant", prefer_local=True)
    assert not told(hass)


async def test_what_was_so_before_we_were_loaded(hass: HomeAssistant) -> None:
    await voice(hass)
    entry = await set_up(hass)
    await use(hass, OURS, prefer_local=True)
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()
    assert len(told(hass)) == 1


async def test_voice_assistants_that_are_set_up_after_us(hass: HomeAssistant) -> None:
    await set_up(hass)
    await voice(hass)
    await hass.async_block_till_done()
    await use(hass, OURS, prefer_local=True)
    assert len(told(hass)) == 1


async def test_nobody_is_told_after_unloading(hass: HomeAssistant) -> None:
    entry: MockConfigEntry = await set_up(hass)
    await hass.config_entries.async_unload(entry.entry_id)
    await voice(hass)
    await hass.async_block_till_done()
    await use(hass, OURS, prefer_local=True)
    assert not told(hass)


async def test_repairs_turns_it_off(hass: HomeAssistant, hass_client: ClientSessionGenerator) -> None:
    assert await async_setup_component(hass, "repairs", {})
    pipeline = await voice(hass)
    await set_up(hass)
    await use(hass, OURS, prefer_local=True)
    (issue,) = [issue for issue in ir.async_get(hass).issues.values() if issue.domain == DOMAIN]
    assert issue.is_fixable
    client = await hass_client()
    started = await client.post("/api/repairs/issues/fix", json={"handler": DOMAIN, "issue_id": issue.issue_id})
    form = await started.json()
    assert (form["type"], form["step_id"]) == ("form", "confirm")
    assert form["description_placeholders"] == {"pipeline": pipeline.name, "profile": "Home Agent"}
    assert async_get_pipelines(hass)[0].prefer_local_intents
    fixed = await client.post(f"/api/repairs/issues/fix/{form['flow_id']}", json={})
    assert (await fixed.json())["type"] == "create_entry"
    await hass.async_block_till_done()
    assert not async_get_pipelines(hass)[0].prefer_local_intents
    assert async_get_pipelines(hass)[0].conversation_engine == OURS
    assert not told(hass)


@pytest.mark.usefixtures("house")
async def test_a_reload_leaves_no_listener_where_there_are_no_voice_assistants(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    await hass.config_entries.async_reload(entry.entry_id)
    before = dict(hass.bus.async_listeners())
    for _ in range(3):
        await hass.config_entries.async_reload(entry.entry_id)
        await hass.async_block_till_done()
    # a file of Home Assistant's own that waits to be written has one until it is, so there may be fewer
    assert {event: count for event, count in hass.bus.async_listeners().items() if count > before.get(event, 0)} == {}
