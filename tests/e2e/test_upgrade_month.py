"""A home of commit be6c01b after some use starts with this release: what was kept, taught, learned and proposed is still there.

`stored_month/` is what that release left in the configuration folder of the demo home of `house.py`.
"""

from collections.abc import AsyncGenerator
import json
from pathlib import Path
from typing import Any

import pytest
from pytest_asyncio import fixture as async_fixture

from tests.llm_server import LLMServer, text

from .harness import DOMAIN, Hass
from .test_upgrade import hass, unpack

__all__ = ["hass"]

STORED, STORED_PORT = Path(__file__).parent / "stored_month", 34783
AGENT, BED = "conversation.home_agent", "light.bed_light"


@async_fixture(scope="module")
async def upgraded(endpoint: LLMServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Hass]:
    """The home of the release before, started with this one."""
    folder = tmp_path_factory.mktemp("month")
    unpack(folder, endpoint.port, STORED, STORED_PORT)
    async with Hass(folder).running() as hass:
        yield hass


async def issues(hass: Hass) -> dict[str, dict[str, Any]]:
    """Return what waits for an administrator, by the key of its text."""
    listed = await hass.command("repairs/list_issues")
    return {issue["translation_key"]: issue for issue in listed["issues"] if issue["domain"] == DOMAIN}


async def test_memories(hass: Hass, endpoint: LLMServer) -> None:
    listed = await hass.call_for_response("home_agent.list_memories")
    assert {(row["content"], row["source"], row["accesses"]) for row in listed["memories"]} == {
        ("Bin day is Tuesday", "service", 0),
        ("I take my coffee without sugar", "said", 0),
        ("The spare key hangs on the hook behind the boiler", "said", 1),
    }
    endpoint.plan(text("Behind the boiler."))
    await hass.say("Where does the spare key hang?", agent=AGENT)
    assert "on the hook behind the boiler" in endpoint.request.body["messages"][-1]["content"]


async def test_names_that_were_taught_or_proposed(hass: Hass) -> None:
    listed = await hass.call_for_response("home_agent.list_taught_names")
    assert {(row["name"], row["status"], row["present"]) for row in listed["names"]} == {
        ("moon lamp", "proposed", False),
        ("night owl", "taught", True),
    }
    await hass.call("light.turn_off", BED)
    await hass.say("turn on the night owl", agent=AGENT)
    await hass.wait_for(BED, "on")
    assert "names_proposed" in await issues(hass)


async def test_phrases_that_were_learned_or_proposed(hass: Hass) -> None:
    listed = await hass.call_for_response("home_agent.list_learned_phrases")
    assert {(row["text"], row["status"], row["used"]) for row in listed["phrases"]} == {
        ("Rise and shine", "proposed", 0),
        ("Make it cosy, please!", "learned", 1),
        ("I want to see what I cook", "proposed", 0),
    }
    await hass.call("light.turn_off", BED)
    await hass.say("Please make it cosy", agent=AGENT)
    await hass.wait_for(BED, "on")
    assert (await issues(hass))["phrases_proposed"]["translation_placeholders"] == {"count": "2"}


async def test_the_journal_with_a_name_that_can_be_undone(hass: Hass) -> None:
    listed = await hass.call_for_response("home_agent.list_actions")
    by_words = {action["words"]: action for action in listed["actions"]}
    assert {
        "Make it cosy, please!", "Rise and shine", "Please make it cosy", "When I say moon lamp, I mean the bed light",
        "The bed light is called night owl", "I want to see what I cook", "turn off the bed light",
    } <= by_words.keys()  # fmt: skip
    named = by_words["The bed light is called night owl"]
    await hass.call_for_response("home_agent.undo", action_id=named["action_id"])
    entry = await hass.command("config/entity_registry/get", entity_id=BED)
    assert "night owl" not in entry["aliases"]


async def test_conversations_and_documents(hass: Hass, endpoint: LLMServer) -> None:
    endpoint.plan(text("Pasta."), text("Every second Tuesday."))
    await hass.say("And what was it again?", agent=AGENT, conversation_id="stored-kitchen")
    assert "I want to see what I cook" in json.dumps(endpoint.request.body["messages"])
    await hass.say("When is the paper bin emptied, by the way?", agent=AGENT)
    assert "every second Tuesday" in endpoint.request.body["messages"][-1]["content"]
