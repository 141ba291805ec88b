"""Conversations that survive a restart of the whole process, and a file that was cut off."""

import asyncio
from typing import Any

from tests.llm_server import LLMServer, text, tool_call

from .harness import DOMAIN, Hass
from .house import add_home_agent

KITCHEN_ON = {"action": "turn_on", "entity_id": "light.kitchen_lights"}


def words(server: LLMServer) -> list[str]:
    """Return what was said in the newest request, without what the model was told of the house."""
    said = [item for item in server.request.body["messages"][1:] if item["role"] != "tool"]
    return [f"{item['role']}: {(item['content'] or '').rpartition('</house>')[2].strip()}" for item in said]


async def profile(hass: Hass, **history: Any) -> None:
    """Change the assistant's history settings in its form."""
    [subentry] = await hass.subentries("profile")
    flow = await hass.subentry_flow(await hass.entry_id(), "profile", subentry_id=subentry["subentry_id"])
    await flow.submit_agent(name="Home Agent", llm="default", local_first=False, **history)


async def test_conversation_goes_on_after_a_restart(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    own_server.plan(tool_call("ha_control", KITCHEN_ON), text("The kitchen lights are on."), text("You asked me to."))
    first = await own_hass.say("kitchen lights on", agent=agent)
    await own_hass.restart()
    second = await own_hass.say("why?", agent=agent, conversation_id=first.conversation_id)
    assert second.conversation_id != first.conversation_id
    assert words(own_server) == [
        "user: kitchen lights on", "assistant: ", "assistant: The kitchen lights are on.", "user: why?",
    ]  # fmt: skip
    restored = own_server.request.body["messages"]
    own_server.plan(text("Bye."))
    await own_hass.say("bye", agent=agent, conversation_id=second.conversation_id)
    assert own_server.request.body["messages"][: len(restored)] == restored
    answer = await own_hass.call_for_response("home_agent.clear_history", conversation_id=second.conversation_id)
    assert answer == {"cleared": 1, "stored": 1}
    await own_hass.restart()
    own_server.plan(text("Hello."))
    await own_hass.say("hello", agent=agent, conversation_id=second.conversation_id)
    assert words(own_server) == ["user: hello"]


async def test_new_conversation_continues_where_the_user_left_off(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    await profile(own_hass, continue_conversation="user", continue_minutes=30)
    pipeline = await own_hass.create_pipeline(agent)
    own_server.plan(text("Noted."), text("Marzipan."))
    await own_hass.run_pipeline("remember marzipan", pipeline)
    await own_hass.restart()
    run = await own_hass.run_pipeline("what was it?", pipeline)
    assert run.answer.speech == "Marzipan."
    assert words(own_server) == ["user: remember marzipan", "assistant: Noted.", "user: what was it?"]


async def test_file_that_was_cut_off_is_set_aside(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    own_server.plan(text("One."), text("Two."))
    first = await own_hass.say("one", agent=agent)
    assert await own_hass.stop() == 0
    [file] = (own_hass.process.folder / ".storage").glob(f"{DOMAIN}.conversations.*")
    file.write_text(file.read_text()[:-40])
    await own_hass.start()
    for complaint in ("Could not parse JSON content", "Unrecoverable error decoding storage"):
        own_hass.allow_log(complaint)
    answer = await own_hass.say("two", agent=agent, conversation_id=first.conversation_id)
    assert answer.speech == "Two."
    assert words(own_server) == ["user: two"]
    issues = (await own_hass.command("repairs/list_issues"))["issues"]
    [issue] = [item for item in issues if item["translation_key"] == "storage_corruption"]
    aside = own_hass.process.folder / ".storage"
    assert [item.name for item in aside.glob(f"{DOMAIN}.conversations.*.corrupt.*")]
    for item in aside.glob(f"{DOMAIN}.*.corrupt.*"):
        item.unlink()
    await own_hass.command("repairs/ignore_issue", domain=issue["domain"], issue_id=issue["issue_id"], ignore=True)


async def test_settings_that_change_in_mid_answer_cost_no_word(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    own_server.plan(text("This answer takes its time.", pause=0.4), text("You asked."))
    asking = asyncio.create_task(own_hass.say("one", agent=agent, conversation_id="kitchen"))
    while not own_server.requests:
        await asyncio.sleep(0.05)
    await profile(own_hass, history_max_messages=20)
    assert (await asking).speech == "This answer takes its time."
    await own_hass.restart()
    await own_hass.say("two", agent=agent, conversation_id="kitchen")
    assert words(own_server) == ["user: one", "assistant: This answer takes its time.", "user: two"]


async def test_an_answer_that_outlives_the_integration_leaves_nothing(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    own_server.plan(text("One."), text("This answer takes its time.", pause=0.4))
    await own_hass.say("marzipan", agent=agent, conversation_id="kitchen")
    asking = asyncio.create_task(own_hass.say("more marzipan", agent=agent, conversation_id="kitchen"))
    while len(own_server.requests) < 2:
        await asyncio.sleep(0.05)
    await own_hass.remove_entry(await own_hass.entry_id())
    assert (await asking).speech == "This answer takes its time."
    assert await own_hass.stop() == 0
    assert own_hass.stored("marzipan") == []
    await own_hass.start()
