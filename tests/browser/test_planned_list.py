"""A wish in front of a browser: made by talking in the dialog of Assist, seen in the to-do list, cancelled there, and gone."""

from playwright.async_api import expect
import pytest

from tests.e2e.harness import PASSWORD, USER, Hass
from tests.e2e.house import add_home_agent

from .frontend import Frontend, chromium
from .test_browser import frontend, hass

__all__ = ["frontend", "hass"]

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium here; scripts/setup says how to get one")
LIST = "todo.home_agent_planned"
WORDS = "Turn off the ceiling lights"


async def test_what_is_planned_is_seen_and_cancelled_in_the_list(hass: Hass, frontend: Frontend) -> None:
    agent = await add_home_agent(hass)
    await hass.create_pipeline(agent, preferred=True)
    await hass.command("config/entity_registry/update", entity_id=LIST, disabled_by=None)
    [entry] = await hass.entries()
    await hass.call("homeassistant.reload_config_entry", entry_id=entry["entry_id"])
    await hass.wait_for(LIST, "0")

    await frontend.log_in(USER, PASSWORD)
    await frontend.open_assist("Home Agent")
    await frontend.say(f"{WORDS} in two hours", "Ceiling Lights")
    await hass.wait_for(LIST, "1")
    await frontend.open(f"/todo?entity_id={LIST}")
    item = frontend.page.locator("hui-todo-list-card").get_by_text(WORDS)
    await expect(item).to_be_visible()
    await frontend.shot("wishes")
    await frontend.page.locator("hui-todo-list-card ha-check-list-item.editRow ha-checkbox").first.click()
    await hass.wait_for(LIST, "0")
    await expect(item).to_be_hidden()
    listed = await hass.call_for_response("home_agent.list_wishes")
    assert listed["wishes"] == []
    assert frontend.problems == []
