"""The memory in a real process: the next conversation's request carries what was stored; a restart keeps all."""

import json
from typing import Any

from tests.llm_server import LLMServer, text, tool_call

from .harness import Hass
from .house import add_home_agent

KEY = "The spare key hangs on the hook behind the boiler"
ASKED = "Where does the spare key hang?"


def told(server: LLMServer) -> Any:
    """Return the memories in the newest message."""
    content: str = server.request.body["messages"][-1]["content"]
    return json.loads(content.removeprefix("<house>").partition("</house>")[0]).get("memories")


async def test_what_was_stored_is_told_in_the_next_conversation_and_after_a_restart(
    own_hass: Hass, own_server: LLMServer
) -> None:
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


async def test_forgetting_several_waits_for_a_yes_and_actions_answer_in_tables(
    own_hass: Hass, own_server: LLMServer
) -> None:
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
    assert done.kind != "error"
    [row] = (await own_hass.call_for_response("home_agent.list_memories"))["memories"]
    assert (row["content"], row["owner"], row["source"]) == (coffee, "home", "service")
    found = await own_hass.call_for_response("home_agent.search_memories", query="coffee")
    assert [item["memory_id"] for item in found["memories"]] == [row["memory_id"]]
    assert await own_hass.call_for_response("home_agent.clear_memories", confirm=True) == {"deleted": 1}
    file = own_hass.process.folder / ".storage" / "home_agent.memories"
    assert json.loads(file.read_text())["data"]["memories"] == []
