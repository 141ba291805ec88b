"""Two agents, a command between them and a document in the instructions, in a real Home Assistant."""

import asyncio
from typing import Any

from tests.llm_server import LLMServer, text, tool_call

from .harness import Hass
from .house import add_home_agent

UNLOCK = tool_call("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})


def said(server: LLMServer) -> list[str]:
    """Return what was said in the newest request, without what the model was told of the home."""
    return [str(item["content"]).rpartition("</house>")[2].strip() for item in server.request.body["messages"][1:]]


async def test_a_command_reaches_the_other_agent_that_knows_its_document(own_hass: Hass, own_server: LLMServer) -> None:
    first = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    folder = own_hass.process.folder / "home_agent" / "docs"
    folder.mkdir(parents=True)
    (folder / "watch.md").write_text("The watchword is marzipan.")
    flow = await own_hass.subentry_flow(await own_hass.entry_id(), "profile")
    prompt: dict[str, Any] = {"system_documents": ["watch.md", "USER_GUIDE.md"]}
    commands = {"slash_commands": ["/Secure"], "command_asks": False}
    await flow.submit_agent(name="Security", llm="default", local_first=False, **prompt, **commands)
    async with asyncio.timeout(10):
        while len(await own_hass.agents()) < 2 or (await own_hass.states()).get(first) == "unavailable":
            await asyncio.sleep(0.05)
    await own_hass.expose("lock.front_door")
    own_server.plan(text("Hello."))
    begun = await own_hass.say("hello", agent=first)
    assert "marzipan" not in str(own_server.request.body)
    own_server.plan(UNLOCK)
    asked = await own_hass.say("/SECURE let me in", agent=first, conversation_id=begun.conversation_id)
    assert asked.conversation_id == begun.conversation_id
    assert asked.speech.endswith("Unlock it?")
    system = own_server.request.body["messages"][0]["content"]
    assert "## Documentation: watch.md\n\nThe watchword is marzipan." in system
    assert "## Documentation: USER_GUIDE.md\n\n# What the agent can do" in system
    assert said(own_server)[0] == "let me in"
    await own_hass.say("yes", agent=first, conversation_id=begun.conversation_id)
    await own_hass.wait_for("lock.front_door", "unlocked")
    own_server.plan(text("You said hello."))
    await own_hass.say("what did I say?", agent=first, conversation_id=begun.conversation_id)
    assert said(own_server) == ["hello", "Hello.", "what did I say?"]
    own_server.plan(text("Nobody was here."))
    run = await own_hass.run_pipeline("/secure who was here?", await own_hass.create_pipeline(first))
    progress = [event["data"].get("chat_log_delta", {}) for event in run.events if event["type"] == "intent-progress"]
    assert "".join(delta.get("content") or "" for delta in progress) == "Nobody was here."
    for words, data, who in (
        ("/secure who was here?", {"profile": first}, ("Security", "security")),
        ("who was here?", {"profile": "Security"}, ("Security", "security")),
        ("who was here?", {}, ("Home Agent", "home_agent")),
    ):
        own_server.plan(text("Nobody was here."))
        answered = await own_hass.call_for_response("home_agent.process", text=words, **data)
        assert (answered["profile"], answered["profile_id"]) == who
    listed = await own_hass.say("/help", agent=first)
    assert "- /secure: Security." in listed.speech
