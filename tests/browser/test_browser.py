"""A person in front of a browser: log in, add Home Agent through its dialogs, talk to it, see the light change.

`SHOTS=docs/images scripts/test tests/browser` keeps pictures for the docs.
"""

from collections.abc import AsyncGenerator
import json
import os
from pathlib import Path

from playwright.async_api import expect
import pytest
from pytest_asyncio import fixture as async_fixture

from tests.e2e.harness import PASSWORD, USER, Hass
from tests.e2e.house import furnish
from tests.e2e.process import ROOT
from tests.llm_server import LLMServer, text, tool_call

from .frontend import Frontend, chromium

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium here; scripts/setup says how to get one")
PRESETS = json.loads((ROOT / "custom_components/home_agent/translations/en.json").read_text())["selector"]["preset"][
    "options"
]
KITCHEN_ON = {"action": "turn_on", "entity_id": "light.kitchen_lights"}
FRONTENDS_OWN = (
    "Cannot access 'i' before initialization",  # ha-assist-chat, where an agent answers at once; nothing is lost by it
    "disconnected",  # a page that is left closes its socket, and what it still waited for on it is rejected
)
"""Errors that the pages of Home Assistant raise whatever integration they show."""


@async_fixture
async def hass(tmp_path: Path) -> AsyncGenerator[Hass]:
    """A furnished Home Assistant without Home Agent."""
    async with Hass(tmp_path).running() as hass:
        await furnish(hass)
        yield hass


@async_fixture
async def llm_server() -> AsyncGenerator[LLMServer]:
    """A scripted endpoint."""
    server = LLMServer(models=["qwen3:8b", "llama4:scout"])
    await server.start()
    yield server
    await server.stop()
    server.assert_done()


@async_fixture
async def frontend(hass: Hass) -> AsyncGenerator[Frontend]:
    """A browser in front of it."""
    shots = os.environ.get("SHOTS")
    async with Frontend.window(hass.url, Path(shots) if shots else None) as frontend:
        yield frontend


async def test_add_through_the_dialogs_and_talk(hass: Hass, llm_server: LLMServer, frontend: Frontend) -> None:
    await frontend.log_in(USER, PASSWORD)

    await frontend.add_integration("Home Agent")
    await frontend.choose(PRESETS["custom"])
    await frontend.shot("add-1-preset")
    assert (await frontend.submit())["step_id"] == "endpoint"
    await frontend.fill("base_url", "http://127.0.0.1:9/v1")
    assert (await frontend.submit())["errors"] == {"base": "cannot_connect"}
    await expect(frontend.dialog.locator("ha-alert")).to_be_visible()
    await frontend.fill("base_url", llm_server.base_url)
    await frontend.shot("add-2-endpoint")
    assert (await frontend.submit())["step_id"] == "model"
    await frontend.pick("Model", "qwen3:8b")
    await frontend.shot("add-3-model")
    assert (await frontend.submit())["type"] == "create_entry"
    await frontend.finish()
    await frontend.open("/config/integrations/integration/home_agent")
    await expect(frontend.page.locator("ha-config-entry-row").first).to_contain_text("Home Agent")
    await frontend.shot("integration")

    [agent] = await hass.agents()
    await hass.create_pipeline(agent)
    await expect(await frontend.more_info("light.kitchen_lights")).to_have_text("Off")
    await frontend.open_assist("Home Agent")
    llm_server.plan(
        tool_call("ha_control", KITCHEN_ON, delay=0.2), text("The **kitchen lights** are on now.", pause=0.05)
    )
    await frontend.say("It is dark in the kitchen", "The kitchen lights are on now.")
    await expect(frontend.answers.last.locator("strong")).to_have_text("kitchen lights")
    await frontend.shot("assist")
    assert await hass.state("light.kitchen_lights") == "on"
    assert not [problem for problem in frontend.problems if not problem.endswith(FRONTENDS_OWN)]

    await expect(await frontend.more_info("light.kitchen_lights")).not_to_have_text("Off")
    await frontend.shot("light")
    hass.assert_clean_log()


async def test_add_without_a_model_and_talk(hass: Hass, frontend: Frontend) -> None:
    await frontend.log_in(USER, PASSWORD)
    await frontend.add_integration("Home Agent")
    await frontend.choose(PRESETS["no_model"])
    assert (await frontend.submit())["type"] == "create_entry"
    await frontend.finish()

    [agent] = await hass.agents()
    await hass.create_pipeline(agent)
    await frontend.open_assist("Home Agent")
    await frontend.say("turn on the kitchen lights", "light")
    await hass.wait_for("light.kitchen_lights", "on")
    await frontend.say("write me a poem", "connect a model")
    assert not [problem for problem in frontend.problems if not problem.endswith(FRONTENDS_OWN)]
