"""An automation made in the Assist dialog, seen in Home Assistant's editor, and taken back."""

from collections.abc import AsyncGenerator
import json
from pathlib import Path

from playwright.async_api import expect
import pytest
from pytest_asyncio import fixture as async_fixture

from tests.automations.home import calls
from tests.e2e.harness import PASSWORD, USER, Hass
from tests.e2e.house import furnish
from tests.e2e.process import ROOT
from tests.llm_server import LLMServer

from .frontend import FIRST_PAGE_TIMEOUT, Frontend, chromium
from .test_browser import frontend

__all__ = ["frontend"]

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium here; scripts/setup says how to get one")
TEXTS = json.loads((ROOT / "custom_components/home_agent/translations/en.json").read_text())
WITH_AUTOMATIONS = TEXTS["config"]["step"]["model"]["data"]["automations"]
DOOR = "cover.garage_door"
FILE = """\
# Made by hand
- id: old
  alias: Old one  # stays
  triggers:
    - trigger: sun
      event: sunset
  actions: []
"""
NAME = "Garage door at night"
AUTOMATION = {
    "name": NAME,
    "triggers": [{"trigger": "state", "entity_id": DOOR, "to": "open"}],
    "conditions": [{"condition": "time", "after": "21:00:00", "before": "06:00:00"}],
    "actions": [{"action": "persistent_notification.create", "data": {"message": "The garage door is open."}}],
}
SENTENCE = "Tell me when the garage door opens at night"
EDITOR = "/config/automation/edit/"


@async_fixture
async def hass(tmp_path: Path) -> AsyncGenerator[Hass]:
    """A furnished Home Assistant with one automation that was made by hand."""
    (tmp_path / "automations.yaml").write_text(FILE)
    async with Hass(tmp_path).running() as hass:
        await furnish(hass)
        await hass.expose(DOOR)
        yield hass


@async_fixture
async def llm_server() -> AsyncGenerator[LLMServer]:
    server = LLMServer()
    await server.start()
    yield server
    await server.stop()
    server.assert_done()


async def test_an_automation_is_asked_for_seen_in_the_editor_and_undone(
    hass: Hass, llm_server: LLMServer, frontend: Frontend, tmp_path: Path
) -> None:
    page = frontend.page
    await frontend.log_in(USER, PASSWORD)

    # the set-up suggests an agent for automations
    await frontend.add_integration("Home Agent")
    await frontend.choose(TEXTS["selector"]["preset"]["options"]["custom"])
    await frontend.submit()
    await frontend.fill("base_url", llm_server.base_url)
    assert (await frontend.submit())["step_id"] == "model"
    await frontend.pick("Model", "scripted")
    assert await frontend.is_on(WITH_AUTOMATIONS)
    await frontend.shot("automations-1-set-up")
    assert (await frontend.submit())["type"] == "create_entry"
    await frontend.skip_check()
    _, agent = await hass.wait_for_agents(2)
    await hass.create_pipeline(agent)

    # asked for, with what it does; there after the yes
    llm_server.respond(calls(("create_automation", AUTOMATION)))
    await frontend.open_assist("Home Agent")
    await frontend.say(f"/automate {SENTENCE}", f"Make the automation “{NAME}”")
    await expect(frontend.answers.last).to_contain_text("Garage Door")
    await expect(frontend.answers.last).to_contain_text("between 21:00 and 06:00")
    await frontend.shot("automations-2-question")
    assert (tmp_path / "automations.yaml").read_text() == FILE
    await frontend.say("yes", f"“{NAME}” is on")
    await frontend.shot("automations-3-made")
    assert await hass.state("automation.garage_door_at_night") == "on"

    # the link leads into the editor
    link = frontend.answers.last.locator(f"a[href*='{EDITOR}']")
    address = str(await link.get_attribute("href"))
    assert address.startswith(hass.url), address
    await link.click()
    await page.wait_for_url(f"{address}*")
    editor = page.locator("ha-automation-editor")
    await editor.wait_for(timeout=FIRST_PAGE_TIMEOUT)
    await expect(editor).to_contain_text(NAME, timeout=FIRST_PAGE_TIMEOUT)
    await expect(editor.locator("ha-automation-trigger-row").first).to_contain_text("Garage Door")
    await frontend.shot("automations-4-editor")
    await page.go_back()
    await frontend.page.locator("ha-automation-editor").wait_for(state="detached")

    # undone: gone from the file, the states and the editor
    await frontend.open_assist("Home Agent")
    await frontend.say("/automate undo that", f"Delete the automation “{NAME}”?")
    await frontend.say("yes", f"“{NAME}” is deleted")
    await frontend.shot("automations-5-undone")
    assert (tmp_path / "automations.yaml").read_text() == FILE
    assert "automation.garage_door_at_night" not in await hass.states()
    await frontend.open("/config/automation/dashboard")
    automations = page.locator("ha-automation-picker")
    await expect(automations).to_contain_text("Old one", timeout=FIRST_PAGE_TIMEOUT)
    await expect(automations).not_to_contain_text(NAME)
    assert not frontend.problems
    hass.assert_clean_log()
