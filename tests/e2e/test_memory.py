"""The memory in a real process: the next conversation's request carries what was stored; a restart keeps all."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
import itertools
import json
from pathlib import Path
from typing import Any

from pytest_asyncio import fixture as async_fixture

from tests.llm_server import LLMServer, text, tool_call

from .harness import Hass
from .house import add_home_agent

KEY = "The spare key hangs on the hook behind the boiler"
ASKED = "Where does the spare key hang?"


def told(server: LLMServer) -> Any:
    """Return the memories in the newest message."""
    content: str = server.request.body["messages"][-1]["content"]
    return json.loads(content.removeprefix("<house>").partition("</house>")[0]).get("memories")


async def test_a_memory_is_told_in_the_next_conversation_and_a_restart(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    own_server.plan(tool_call("store_memory", {"content": KEY}), text("I will remember that."))
    await own_hass.say(f"Remember: {KEY}.", agent=agent)
    file = own_hass.process.folder / ".storage" / "home_agent.memories"
    assert [memory["content"] for memory in json.loads(file.read_text())["data"]["memories"]] == [KEY]
    own_server.plan(text("Behind the boiler."))
    await own_hass.say(ASKED, agent=agent)
    assert told(own_server) == [KEY]
    await own_hass.restart()
    own_server.plan(text("Behind the boiler."), text("Hello."))
    await own_hass.say(ASKED, agent=agent)
    assert told(own_server) == [KEY]
    await own_hass.say("How are you today?", agent=agent)
    assert told(own_server) is None
    assert [memory["accesses"] for memory in json.loads(file.read_text())["data"]["memories"]] != [0]


async def test_forgetting_several_needs_a_yes_and_actions_return_tables(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    other, coffee = "Anna has the other spare key", "Ben takes his coffee without sugar"
    for content in (KEY, other, coffee):
        added = await own_hass.call_for_response("home_agent.add_memory", content=content)
        assert added["outcome"] == "added"
    own_server.plan(tool_call("forget_memory", {"query": "spare key"}))
    asked = await own_hass.say("Forget about the spare keys", agent=agent)
    assert asked.speech == f"Forget “{KEY}”, “{other}”?"
    assert (await own_hass.call_for_response("home_agent.list_memories"))["count"] == 3
    done = await own_hass.say("yes", agent=agent, conversation_id=asked.conversation_id)
    assert done.speech == f"Done. I've forgotten “{KEY}”, “{other}”."
    [row] = (await own_hass.call_for_response("home_agent.list_memories"))["memories"]
    assert (row["content"], row["owner"], row["source"]) == (coffee, "home", "service")
    found = await own_hass.call_for_response("home_agent.search_memories", query="coffee")
    assert [item["memory_id"] for item in found["memories"]] == [row["memory_id"]]
    assert await own_hass.call_for_response("home_agent.clear_memories", confirm=True) == {"deleted": 1}
    file = own_hass.process.folder / ".storage" / "home_agent.memories"
    assert json.loads(file.read_text())["data"]["memories"] == []


@async_fixture
async def alone(tmp_path: Path) -> AsyncGenerator[Hass]:
    """A Home Assistant that no other test goes on with."""
    async with Hass(tmp_path).running() as hass:
        yield hass


async def test_a_kill_in_mid_write_loses_nothing_that_was_answered(alone: Hass, own_server: LLMServer) -> None:
    """Three times, while one memory after the other is stored: what an action has answered is there after the next start."""
    await add_home_agent(alone, url=own_server.base_url, model="scripted")
    await alone.wait_until_stored("home_agent", "core.config_entries")
    file = alone.process.folder / ".storage" / "home_agent.memories"
    answered: list[str] = []

    async def store() -> None:
        for count in itertools.count(len(answered)):
            content = f"Shelf {count} of the cellar holds box {count * 7} of the books"
            await alone.call_for_response("home_agent.add_memory", content=content)
            answered.append(content)

    for least in (20, 60, 100):
        storing = asyncio.create_task(store())
        async with asyncio.timeout(60):
            while len(answered) < least:
                await asyncio.sleep(0.005)
        await alone.process.kill()
        with suppress(Exception):  # whatever a connection ends with
            await storing
        stored = [memory["content"] for memory in json.loads(file.read_text())["data"]["memories"]]
        assert stored[: len(answered)] == answered
        assert len(stored) <= len(answered) + 1  # that which was under way
        answered[:] = stored
        await alone.disconnect()
        await alone.start()
        await alone.wait_for_agents(1)
        listed = await alone.call_for_response("home_agent.list_memories", limit=1000)
        assert {row["content"] for row in listed["memories"]} == set(stored)
    assert not [*file.parent.glob("home_agent.memories.*")], "nothing was set aside"


async def test_a_file_that_cannot_be_read_is_set_aside_and_reported(alone: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(alone, url=own_server.base_url, model="scripted")
    await alone.call_for_response("home_agent.add_memory", content=KEY)
    file = alone.process.folder / ".storage" / "home_agent.memories"
    assert await alone.stop() == 0
    broken = file.read_text()[:-40]
    file.write_text(broken)
    alone.allow_log("memories")
    await alone.start()
    await alone.wait_for_agents(1)
    assert (await alone.call_for_response("home_agent.list_memories"))["count"] == 0
    aside = [path for path in file.parent.glob("home_agent.memories.*") if path.read_text() == broken]
    assert len(aside) == 1
    issues = (await alone.command("repairs/list_issues"))["issues"]
    [reported] = [issue for issue in issues if "home_agent.memories" in str(issue)]
    assert reported["translation_key"] == "storage_corruption"  # Home Assistant's own words for it
    own_server.plan(text("I don't know."))
    await alone.say(ASKED, agent=agent)
    assert KEY not in own_server.request.raw.decode()
    added = await alone.call_for_response("home_agent.add_memory", content=KEY)
    assert added["outcome"] == "added"
