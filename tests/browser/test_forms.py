"""The forms as a family sees them: few fields, each with its value and where it comes from; clearing one resets it."""

from collections.abc import AsyncGenerator
import json
import os
from pathlib import Path

from playwright.async_api import expect
import pytest
from pytest_asyncio import fixture as async_fixture

from custom_components.home_agent.flows.fields import TOPICS as AGENT_TOPICS
from custom_components.home_agent.flows.options import ADVANCED_TOPICS, TOPICS
from tests.e2e.harness import PASSWORD, USER, Hass
from tests.e2e.house import add_home_agent, furnish
from tests.e2e.process import ROOT

from .frontend import Frontend, chromium

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium here; scripts/setup says how to get one")
TEXTS = json.loads((ROOT / "custom_components/home_agent/translations/en.json").read_text())
MENU = TEXTS["config_subentries"]["profile"]["step"]["more"]["menu_options"]
GEAR = {**TEXTS["options"]["step"]["init"]["menu_options"], **TEXTS["options"]["step"]["advanced"]["menu_options"]}
OWN = {
    "local_first": False, "speech": "never", "prompt_additions": "Rhyme.", "always_ask": ["light.bed_light"],
    "max_answer_tokens": 99, "language": "de", "streaming": False, "custom_tools": ["none"], "tool_timeout": 5,
}  # fmt: skip
FIRST_FORM = {
    "Handle simple commands locally": "On", "Voice or text": "Voice for voice devices, otherwise text",
    "Additional instructions": "", "Always ask": "",
}  # fmt: skip
ANSWERS = {"Maximum length of an answer": "2000", "Language": "", "Streaming": "On"}
TOOLS = {"Custom tools": "All", "Tool timeout": "30"}
"""Default values by label."""


@async_fixture
async def hass(tmp_path: Path) -> AsyncGenerator[Hass]:
    async with Hass(tmp_path).running() as hass:
        await furnish(hass)
        await add_home_agent(hass)
        yield hass


@async_fixture
async def frontend(hass: Hass) -> AsyncGenerator[Frontend]:
    shots = os.environ.get("SHOTS")
    async with Frontend.window(hass.url, Path(shots) if shots else None) as frontend:
        await frontend.log_in(USER, PASSWORD)
        yield frontend


async def test_each_form_is_short(frontend: Frontend) -> None:
    await frontend.press("Change agent")
    await frontend.shot("agent")
    assert len(await frontend.fields()) <= 10
    await frontend.switch("More settings")
    assert (await frontend.submit())["type"] == "menu"
    await frontend.shot("agent-more")
    for topic in AGENT_TOPICS:
        await frontend.page_of(MENU[topic])
        assert 0 < len(await frontend.fields()) <= 12, topic
        assert (await frontend.submit())["type"] == "menu", topic
    assert (await frontend.choose_next("Save"))["reason"] == "reconfigure_successful"
    await frontend.press("Configure")
    await frontend.shot("settings")
    for topic in TOPICS:
        await frontend.page_of(GEAR[topic])
        assert 0 < len(await frontend.fields()) <= 12, topic
        assert (await frontend.submit())["type"] == "menu", topic
    await frontend.choose_next(GEAR["advanced"])
    for topic in ADVANCED_TOPICS:
        await frontend.page_of(GEAR[topic])
        assert 0 < len(await frontend.fields()) <= 12, topic
        assert (await frontend.submit())["type"] == "menu", topic
    assert not frontend.problems


async def check_defaults(frontend: Frontend, labels: dict[str, str]) -> None:
    """Check that fields show their defaults and say that they do."""
    fields = {await field.evaluate("field => field.label"): field for field in await frontend.fields()}
    for label, value in labels.items():
        await expect(fields[label]).not_to_contain_text("Own value.")
        if not value:
            assert await fields[label].evaluate("field => field.value ?? ''") in ("", []), label
            continue
        await expect(fields[label]).to_contain_text("Built in")
        if value.isdigit():
            await expect(fields[label].locator("input")).to_have_value(value)
        else:
            await expect(fields[label]).to_contain_text(value)


async def test_a_cleared_field_has_its_default_again(hass: Hass, frontend: Frontend) -> None:
    [agent] = await hass.subentries("profile")
    form = await hass.subentry_flow(await hass.entry_id(), "profile", subentry_id=agent["subentry_id"])
    await form.submit_agent(name=agent["title"], **OWN)
    await frontend.press("Change agent")
    for label in FIRST_FORM:
        await frontend.clear(label)
    await frontend.more("Answers")
    await expect(frontend.dialog).to_contain_text("Own value. Clear it to reset it to the default: 2000")
    for label in ANSWERS:
        await frontend.clear(label)
    assert (await frontend.submit())["type"] == "menu"
    await frontend.page_of("Tools")
    for label in TOOLS:
        await frontend.clear(label)
    assert (await frontend.save())["reason"] == "reconfigure_successful"

    await frontend.press("Change agent")
    for topic, labels in ((None, FIRST_FORM), ("Answers", ANSWERS), ("Tools", TOOLS)):
        if topic == "Answers":
            await frontend.more(topic)
        elif topic:
            assert (await frontend.submit())["type"] == "menu"
            await frontend.page_of(topic)
        await check_defaults(frontend, labels)
    assert (await frontend.save())["reason"] == "reconfigure_successful"
    assert not frontend.problems
    await hass.stop()
    stored = json.loads((hass.process.folder / ".storage/core.config_entries").read_text())["data"]["entries"]
    [entry] = [entry for entry in stored if entry["domain"] == "home_agent"]
    [agent] = [item for item in entry["subentries"] if item["subentry_type"] == "profile"]
    assert agent["data"] == {}
