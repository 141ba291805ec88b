"""Two agents in a real Home Assistant, set up through the forms: one hands a request to the other over HTTP."""

import asyncio
import json

from tests.llm_server import LLMServer, text, tool_call

from .harness import Hass
from .house import add_home_agent

DOOR = "lock.front_door"


async def ready(hass: Hass, agents: int) -> list[str]:
    """Return the agents, once all of them are there again."""
    async with asyncio.timeout(10):
        while True:
            found = await hass.agents()
            states = await hass.states()
            if len(found) == agents and all(states.get(agent, "unavailable") != "unavailable" for agent in found):
                return found
            await asyncio.sleep(0.05)


async def test_one_agent_hands_a_request_to_another(own_hass: Hass, own_server: LLMServer) -> None:
    first = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    entry_id = await own_hass.entry_id()
    form = await own_hass.subentry_flow(entry_id, "profile")
    about = {"profile_id": "porter", "description": "Knows the doors.", "delegation_level": "confirm"}
    await form.submit_agent(name="Porter of the house", local_first=False, **about)
    await ready(own_hass, 2)
    profiles = {item["title"]: item["subentry_id"] for item in await own_hass.subentries("profile")}
    [(title, porter)] = [item for item in profiles.items() if item[0] == "Porter of the house"]
    [(name, subentry_id)] = [item for item in profiles.items() if item[0] != title]
    form = await own_hass.subentry_flow(entry_id, "profile", subentry_id=subentry_id)
    await form.submit_agent(name=name, local_first=False, native_tools=False, delegate_to=[porter])
    await ready(own_hass, 2)

    asked = {"target_service_id": "porter", "user_request": "Unlock the front door."}
    own_server.plan(tool_call("delegate_to_service", asked))
    answer = await own_hass.say("let me in", agent=first)
    assert answer.speech == "Let Porter of the house do this: “Unlock the front door.”?"
    told = {tool["function"]["name"]: tool["function"]["description"] for tool in own_server.request.body["tools"]}
    assert "- porter: Knows the doors." in told["delegate_to_service"]

    own_server.plan(tool_call("ha_control", {"action": "turn_off", "entity_id": DOOR}))
    answer = await own_hass.say("yes", agent=first, conversation_id=answer.conversation_id)
    assert answer.speech == "Front Door is locked. Unlock it?"
    assert own_server.request.last_user.endswith("Unlock the front door.")
    assert "let me in" not in json.dumps(own_server.request.body)
    assert (await own_hass.states())[DOOR] == "locked"
    await own_hass.say("yes", agent=first, conversation_id=answer.conversation_id)
    await own_hass.wait_for(DOOR, "unlocked")

    own_server.plan(text("You are welcome."))
    assert (await own_hass.say("thanks", agent=first, conversation_id=answer.conversation_id)).speech == (
        "You are welcome."
    )
