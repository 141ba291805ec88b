"""The card of docs/EXAMPLES.md on a dashboard, in front of a browser."""

from playwright.async_api import expect
import pytest

from tests.e2e.harness import PASSWORD, USER, Hass
from tests.e2e.house import add_home_agent
from tests.test_dashboard import SENSORS, card

from .frontend import Frontend, chromium
from .test_browser import frontend, hass

__all__ = ["frontend", "hass"]

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium here; scripts/setup says how to get one")


async def test_a_question_is_answered_on_a_dashboard(hass: Hass, frontend: Frontend) -> None:
    agent = await add_home_agent(hass)
    for entity_id in SENSORS.values():
        await hass.command("config/entity_registry/update", entity_id=entity_id, disabled_by=None)
    [entry] = await hass.entries()
    await hass.call("homeassistant.reload_config_entry", entry_id=entry["entry_id"])
    await hass.command("lovelace/dashboards/create", url_path="agent-card", title="Agents", mode="storage")
    stack = {"type": "vertical-stack", "cards": card()}
    views = [{"title": "Agents", "cards": [stack]}]
    await hass.command("lovelace/config/save", url_path="agent-card", config={"views": views})

    asked = await hass.say("unlock the front door", agent=agent)
    assert asked.speech == "Front Door is locked. Unlock it?"
    page = frontend.page
    await frontend.log_in(USER, PASSWORD)
    await frontend.open("/agent-card")
    await expect(page.get_by_text("Front Door is locked. Unlock it?")).to_be_visible()
    await page.locator("hui-button-card").filter(has_text="Yes").click()
    await hass.wait_for("lock.front_door", "unlocked")
    await expect(page.get_by_text("lock.unlock")).to_be_visible()
    await expect(page.get_by_text("Front Door is locked. Unlock it?")).to_be_hidden()
    await frontend.shot("dashboard")
    assert frontend.problems == []
