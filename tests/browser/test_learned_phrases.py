"""A person in Repairs: what the model did twice is shown, chosen, done without it, undone, doubted, rejected and forgotten.

`SHOTS=docs/images scripts/test tests/browser -k phrases` keeps pictures of it.
"""

from collections.abc import AsyncGenerator, Mapping
import json
from typing import Any

from playwright.async_api import Locator, expect
import pytest
from pytest_asyncio import fixture as async_fixture

from tests.e2e.api import Api
from tests.e2e.harness import PASSWORD, USER, Hass
from tests.e2e.house import add_home_agent
from tests.e2e.process import ROOT
from tests.llm_server import LLMServer, running, text, tool_call

from .frontend import FIRST_PAGE_TIMEOUT, Frontend, chromium
from .test_browser import add_user, frontend, hass

__all__ = ["frontend", "hass"]

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium here; scripts/setup says how to get one")
ISSUES = json.loads((ROOT / "custom_components/home_agent/translations/en.json").read_text())["issues"]
PROPOSED, DOUBTED = ISSUES["phrases_proposed"], ISSUES["phrases_doubted"]
BED, KITCHEN, CEILING = "light.bed_light", "light.kitchen_lights", "light.ceiling_lights"
COSY, RISE = "Make it cosy", "Rise and shine"
LAIR = "Our lair”: turn on TV <details><summary>more</summary> **now** [x](/y)"
CALLS: Mapping[str, Mapping[str, Any]] = {
    COSY: {"action": "turn_on", "entity_id": BED, "parameters": {"brightness_pct": 30}},
    RISE: {"action": "turn_on", "entity_id": KITCHEN},
    LAIR: {"action": "turn_off", "entity_id": CEILING},
}
SHOWN = {
    COSY: f"For “{COSY}”: set Bed Light to 30 %",
    RISE: f"For “{RISE}”: turn on Kitchen Lights",
    # nothing in what was said is a tag, a link or stress
    LAIR: "For “Our lair”: turn on TV ‹details›‹summary›more‹/summary› now [x] (/y)”: turn off Ceiling Lights",
}
BEFORE = {BED: "off", KITCHEN: "off", CEILING: "on"}
MODEL = "As you like."


@async_fixture
async def llm_server() -> AsyncGenerator[LLMServer]:
    async with running() as server:
        yield server


async def test_phrases_approved_in_repairs_need_no_model(hass: Hass, llm_server: LLMServer, frontend: Frontend) -> None:
    agent = await add_home_agent(hass, url=llm_server.base_url, model="scripted", model_first=False)
    await hass.create_pipeline(agent, preferred=True)
    await add_user(hass, "alice")
    await frontend.log_in(USER, PASSWORD)

    # twice, by two persons: the same person again within a minute would count against it
    for words, call in CALLS.items():
        await as_before(hass)
        llm_server.plan(tool_call("ha_control", call), text(MODEL))
        await frontend.open_assist("Home Agent")  # only the first message of a conversation counts
        await frontend.say(words, MODEL)
    assert await statuses(hass) == dict.fromkeys(CALLS, "seen")
    alice = Api(hass.url)
    await alice.log_in("alice", "alice")
    for words, call in CALLS.items():
        await as_before(hass)
        llm_server.plan(tool_call("ha_control", call), text(MODEL))
        await alice.post("/api/conversation/process", text=words, language="en", agent_id=agent)
    await alice.disconnect()
    assert await statuses(hass) == dict.fromkeys(CALLS, "proposed")

    # all that is done stands there; what is ticked in both lists is refused; one approved, one rejected, one waits
    said = await open_repair(frontend, PROPOSED, 3)
    for line in SHOWN.values():
        await expect(said).to_contain_text(line)
    assert await said.locator("a, details, strong").count() == 0  # what was said is drawn as text
    await frontend.shot("phrases-repair")
    await frontend.choose_next(PROPOSED["fix_flow"]["step"]["init"]["menu_options"]["choose"])
    form = PROPOSED["fix_flow"]["step"]["choose"]["data"]
    await tick(frontend, form["approve"], SHOWN[COSY])
    await tick(frontend, form["reject"], SHOWN[COSY])
    assert (await frontend.submit())["errors"] == {"reject": "both"}
    await expect(frontend.dialog).to_contain_text(PROPOSED["fix_flow"]["error"]["both"])
    await tick(frontend, form["reject"], SHOWN[COSY])
    await tick(frontend, form["reject"], SHOWN[RISE])
    await frontend.shot("phrases-choose")
    assert (await frontend.submit())["reason"] == "left"
    await expect(frontend.dialog).to_contain_text(PROPOSED["fix_flow"]["abort"]["left"].format(count=1))
    assert await statuses(hass) == {COSY: "learned", RISE: "rejected", LAIR: "proposed"}

    # done at once, undone; undone again, it is taken out of use until it is approved anew
    asked = len(llm_server.requests)
    for _ in range(2):
        await as_before(hass)
        await frontend.open_assist("Home Agent")
        await frontend.say("make it cosy please!", "Done. Bed Light is on.")
        await hass.wait_for(BED, "on")
        await frontend.say("undo that", "Bed Light")
        await hass.wait_for(BED, "off")
    assert (await statuses(hass))[COSY] == "doubted"
    said = await open_repair(frontend, DOUBTED, 1)
    await expect(said).to_contain_text(SHOWN[COSY])
    await frontend.shot("phrases-doubted")
    step = await frontend.choose_next(DOUBTED["fix_flow"]["step"]["init"]["menu_options"]["approve_all"])
    assert step["type"] == "create_entry"
    await frontend.open_assist("Home Agent")
    await frontend.say("Make it cosy", "Done. Bed Light is on.")
    assert len(llm_server.requests) == asked  # nothing of all that went to the model

    # the rest is rejected, and is not proposed again
    await open_repair(frontend, PROPOSED, 1)
    step = await frontend.choose_next(PROPOSED["fix_flow"]["step"]["init"]["menu_options"]["reject_all"])
    assert step["type"] == "create_entry"
    llm_server.plan(tool_call("ha_control", CALLS[LAIR]), text(MODEL))
    await frontend.open_assist("Home Agent")
    await frontend.say(LAIR, MODEL)
    assert await statuses(hass) == {COSY: "learned", RISE: "rejected", LAIR: "rejected"}
    assert await waiting(hass) == []

    # forgotten by the action: the model is asked again
    gone = await hass.call_for_response("home_agent.forget_learned_phrase", phrase="make it cosy")
    assert [row["status"] for row in gone["forgotten"]] == ["learned"]
    llm_server.plan(text("What do you mean?"))
    await frontend.open_assist("Home Agent")
    await frontend.say(COSY, "What do you mean?")
    assert not frontend.problems
    hass.assert_clean_log()


async def as_before(hass: Hass) -> None:
    """Bring the lights into the state that every sentence starts from."""
    for entity_id, state in BEFORE.items():
        await hass.call(f"light.turn_{state}", entity_id)


async def statuses(hass: Hass) -> dict[str, str]:
    """Return what became of each phrase."""
    listed = await hass.call_for_response("home_agent.list_learned_phrases")
    return {row["text"]: row["status"] for row in listed["phrases"]}


async def waiting(hass: Hass) -> list[dict[str, Any]]:
    """Return the issues about learned phrases."""
    listed = await hass.command("repairs/list_issues")
    return [issue for issue in listed["issues"] if str(issue["translation_key"]).startswith("phrases_")]


async def open_repair(frontend: Frontend, issue: dict[str, Any], count: int) -> Locator:
    """Open an issue in Settings > Repairs; return its text."""
    await frontend.open("/config/repairs")
    await frontend.page.get_by_text(issue["title"].format(count=count)).click(timeout=FIRST_PAGE_TIMEOUT)
    await frontend.dialog.locator("step-flow-menu").wait_for(timeout=FIRST_PAGE_TIMEOUT)
    return frontend.dialog.locator("ha-markdown").first


async def tick(frontend: Frontend, label: str, line: str) -> None:
    """Tick, or untick, a line in one of the two lists."""
    group = frontend.dialog.locator("ha-selector-select", has_text=label).first
    await group.get_by_text(line, exact=True).click()
