"""The first ten minutes of somebody new: add, model, check of the home, voice assistant, first sentence; in English and German.

What is pressed is counted, from the dashboard on: every button, row and choice. Typing is none.
"""

from collections.abc import AsyncGenerator
import json
import os
from pathlib import Path
import re
from typing import Any

from playwright.async_api import Locator, expect
import pytest
from pytest_asyncio import fixture as async_fixture

from tests.e2e.harness import PASSWORD, USER, Hass
from tests.e2e.house import add_home_agent, furnish
from tests.e2e.process import ROOT
from tests.llm_server import LLMServer, text, unauthorized

from .frontend import FIRST_PAGE_TIMEOUT, Frontend, chromium

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium here; scripts/setup says how to get one")
MOST_CLICKS = 10
"""Two more are the download in HACS."""
STEP = re.compile("/flow/|/issues/fix/")
NARROW, WIDE = 390, 1280  # pixels
ADD = {"en": "Add integration", "de": "Integration hinzufügen"}
SEND = {"en": "Submit", "de": "OK"}
"""Home Assistant's own words, by language."""
SENTENCE = {"en": "turn on the kitchen lights", "de": "Schalte die Kitchen Lights ein"}


def texts(language: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (ROOT / f"custom_components/home_agent/translations/{language}.json").read_text(encoding="utf-8")
    )
    return found


class Newcomer(Frontend):
    """Somebody who presses things, and counts."""

    clicks = 0

    async def click(self, target: Locator) -> None:
        await target.click(timeout=FIRST_PAGE_TIMEOUT)
        self.clicks += 1

    async def send(self, language: str) -> dict[str, Any]:
        """Send the form; return the step that follows."""

        def is_step(response: Any) -> bool:
            return response.request.method == "POST" and bool(STEP.search(response.url))

        async with self.page.expect_response(is_step, timeout=FIRST_PAGE_TIMEOUT) as sent:
            await self.click(self.dialog.get_by_role("button", name=SEND[language], exact=True))
        step: dict[str, Any] = await (await sent.value).json()
        return step


@async_fixture
async def llm_server() -> AsyncGenerator[LLMServer]:
    server = LLMServer(models=["qwen3:8b"])
    await server.start()
    yield server
    await server.stop()
    server.assert_done()


@pytest.mark.parametrize(("language", "width"), [
    ("en", WIDE),
    ("de", NARROW),
    pytest.param("en", NARROW, marks=pytest.mark.one_release),
    pytest.param("de", WIDE, marks=pytest.mark.one_release),
])  # fmt: skip
async def test_from_dashboard_to_first_answer(tmp_path: Path, llm_server: LLMServer, language: str, width: int) -> None:
    ours = texts(language)
    shots = os.environ.get("SHOTS")
    async with (
        Hass(tmp_path).running() as hass,
        Newcomer.window(hass.url, Path(shots) if shots else None, language=language, width=width) as newcomer,
    ):
        await furnish(hass)
        await hass.command("config/core/update", language=language)
        page, dialog = newcomer.page, newcomer.dialog
        await newcomer.log_in(USER, PASSWORD)

        if width == NARROW:
            await newcomer.click(page.locator("ha-menu-button").first)
        await newcomer.click(page.locator("ha-sidebar [href='/config']").first)
        await newcomer.click(page.locator("[href='/config/integrations']").first)
        await newcomer.click(page.get_by_role("button", name=ADD[language]))
        await page.locator("dialog-add-integration ha-input-search input").fill("Home Agent")
        await newcomer.click(page.locator("ha-integration-list-item", has_text="Home Agent").first)
        await newcomer.click(dialog.get_by_text(ours["selector"]["preset"]["options"]["custom"], exact=True))
        assert (await newcomer.send(language))["step_id"] == "endpoint"

        without_mistakes = newcomer.clicks
        await newcomer.fill("base_url", "http://127.0.0.1:9/v1")
        assert (await newcomer.send(language))["errors"] == {"base": "cannot_connect"}
        await newcomer.fill("base_url", llm_server.base_url)
        await newcomer.fill("api_key", "sk-wrong")
        models, llm_server.models = llm_server.models, unauthorized()
        assert (await newcomer.send(language))["errors"] == {"base": "invalid_auth"}
        await expect(dialog.locator("ha-alert")).to_be_visible()
        newcomer.clicks, llm_server.models = without_mistakes, models

        await newcomer.fill("api_key", "sk-right")
        assert (await newcomer.send(language))["step_id"] == "model"
        await expect(dialog.locator("ha-selector-select").first).to_contain_text("qwen3:8b")
        created = await newcomer.send(language)
        assert created["type"] == "create_entry"

        check = ours["options"]["step"]["check"]
        await expect(dialog).to_contain_text(check["title"])
        await expect(dialog.locator("ha-markdown").first).to_contain_text(re.compile(r"\d+: AC, "))  # no area
        await expect(dialog.locator("a[href='/config/voice-assistants/expose']")).to_be_visible()
        if (language, width) == ("en", WIDE):
            await newcomer.shot("add-4-check")
        await newcomer.fill("sentence", SENTENCE[language])
        await hass.call("light.turn_off", "light.kitchen_lights")
        answered = await newcomer.send(language)
        assert answered["step_id"] == "answer"
        await expect(dialog.locator("ha-markdown").first).to_contain_text(SENTENCE[language])
        if (language, width) == ("en", WIDE):
            await newcomer.shot("add-5-answer")
        assert await hass.state("light.kitchen_lights") == "on"
        assert newcomer.clicks <= MOST_CLICKS, newcomer.clicks

        assert (await newcomer.send(language))["type"] == "create_entry"
        await newcomer.finish()
        _, agent = await hass.agents()  # the other one is for automations
        [assistant] = (await hass.command("assist_pipeline/pipeline/list"))["pipelines"]
        assert (assistant["conversation_engine"], assistant["prefer_local_intents"]) == (agent, False)
        llm_server.plan(text("Lamps shine on."))
        await newcomer.open("/home/overview?conversation=1")  # the assistant that was there is the agent's now
        await newcomer.chat.wait_for(timeout=FIRST_PAGE_TIMEOUT)
        await newcomer.say("write a poem", "Lamps shine on.")
        assert not newcomer.problems
        hass.assert_clean_log()


async def test_repairs_lets_the_agent_answer(tmp_path: Path) -> None:
    ours = texts("en")["issues"]["pipeline_prefers_local"]
    async with Hass(tmp_path).running() as hass, Newcomer.window(hass.url) as newcomer:
        agent = await add_home_agent(hass)
        [assistant] = (await hass.command("assist_pipeline/pipeline/list"))["pipelines"]
        changed = {**assistant, "name": "Home Agent", "conversation_engine": agent, "prefer_local_intents": True}
        await hass.command("assist_pipeline/pipeline/update", pipeline_id=changed.pop("id"), **changed)
        await newcomer.log_in(USER, PASSWORD)
        await newcomer.open("/config/repairs")
        title = ours["title"].format(pipeline="Home Agent", profile="Home Agent")
        await newcomer.click(newcomer.page.get_by_text(title))
        await expect(newcomer.dialog.locator("ha-markdown").first).to_contain_text("the voice assistant Home Agent")
        assert (await newcomer.send("en"))["type"] == "create_entry"
        [assistant] = (await hass.command("assist_pipeline/pipeline/list"))["pipelines"]
        assert (assistant["conversation_engine"], assistant["prefer_local_intents"]) == (agent, False)
        assert not newcomer.problems
        hass.assert_clean_log()
