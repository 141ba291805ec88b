"""What is added to a running Home Assistant while an agent answers: the answer ends, and nothing else is seen of it."""

import asyncio

from tests.llm_server import LLMServer, text, tool_call

from .harness import Hass
from .house import add_home_agent

STORY = "once upon a time there was a house that went on talking"
UNLOCK = tool_call("ha_control", {"action": "turn_off", "entity_id": "lock.front_door"})


async def test_an_agent_is_added_while_another_answers(own_hass: Hass, own_server: LLMServer) -> None:
    first = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    await own_hass.expose("lock.front_door")
    own_server.plan(UNLOCK)
    asked = await own_hass.say("let me in", agent=first)
    assert asked.speech == "Front Door is locked. Unlock it?"
    tokens = {key: state for key, state in (await own_hass.states()).items() if key.endswith("_tokens")}
    assert any(state not in ("0", "unknown") for state in tokens.values())

    socket = await own_hass.socket()
    async with socket.subscribe("subscribe_events", event_type="state_changed") as changes:
        own_server.plan(text(STORY, pause=0.4))
        before = len(own_server.requests)
        story = asyncio.create_task(own_hass.say("tell me a story", agent=first))
        async with asyncio.timeout(10):
            while len(own_server.requests) == before:
                await asyncio.sleep(0.02)
        form = await own_hass.subentry_flow(await own_hass.entry_id(), "profile")
        await form.submit_well(name="Guest", local_first=False)
        [added] = set(await own_hass.wait_for_agents(2)) - {first}
        assert not story.done()
        assert (await story).speech == STORY
        own_server.plan(text("Welcome."))
        assert (await own_hass.say("hello", agent=added)).speech == "Welcome."
        seen = [changes.get_nowait()["data"] for _ in range(changes.qsize())]

    away = [event["entity_id"] for event in seen if event["new_state"] and event["new_state"]["state"] == "unavailable"]
    assert not away
    own = [event["entity_id"] for event in seen if event["entity_id"] == first]
    assert len(own) == 1, "only the message is seen at the agent that was not changed"
    assert {key: (await own_hass.states())[key] for key in tokens} != dict.fromkeys(tokens, "0")

    done = await own_hass.say("yes", agent=first, conversation_id=asked.conversation_id)
    assert done.speech == "Done. Front Door is unlocked."
    tokens = {key: state for key, state in (await own_hass.states()).items() if key.endswith("_tokens")}
    await own_hass.restart()
    await own_hass.wait_for_agents(2)
    assert {key: (await own_hass.states())[key] for key in tokens} == tokens
