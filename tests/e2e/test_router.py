"""Agents that are domains, set up through the forms of a real Home Assistant: one message, split, done and answered as one."""

import asyncio
import json
from typing import Any

from tests.llm_server import LLMServer, Reply, text, tool_call
from tests.routing import ROUTER, SYNTHESIZER, part_of_turn, segments

from .harness import Hass
from .house import add_home_agent
from .test_delegation import ready

DOOR, LIGHT = "lock.front_door", "light.bed_light"
WISH = "unlock the front door and turn off the bed light"


def model(body: dict[str, Any]) -> Reply:
    """Answer each part of the turn."""
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    done = body["messages"][-1]["role"] == "tool"
    match part_of_turn(body):
        case part if part == ROUTER:
            return segments(Porter="unlock the front door", Lamps="turn off the bed light")
        case part if part == SYNTHESIZER:
            return text("The bed light is off now.")
    if "PORTER_UPDATE_CONTROL" in names and not done:
        return tool_call("PORTER_UPDATE_CONTROL", {"action": "turn_off", "entity_id": DOOR})
    if "LAMPS_UPDATE_CONTROL" in names and not done:
        return tool_call("LAMPS_UPDATE_CONTROL", {"action": "turn_off", "entity_id": LIGHT})
    return text("Done.")


async def test_a_message_is_split_among_agents(own_hass: Hass, own_server: LLMServer) -> None:
    first = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    entry_id = await own_hass.entry_id()
    for number, (name, about) in enumerate({"Porter": "Takes care of doors.", "Lamps": "Takes care of lamps."}.items()):
        form = await own_hass.subentry_flow(entry_id, "profile")
        agents = {"extension_name": name, "description": about}
        await form.submit_agent(name=f"{name} of the house", local_first=False, **agents)
        await ready(own_hass, number + 2)
    ours = {item["title"]: item["subentry_id"] for item in await own_hass.subentries("profile")}
    [(title, subentry_id)] = [item for item in ours.items() if not item[0].endswith("of the house")]
    form = await own_hass.subentry_flow(entry_id, "profile", subentry_id=subentry_id)
    routing: dict[str, Any] = {"routing": "router", "extensions": ["Porter", "Lamps"]}
    await form.submit_agent(name=title, local_first=False, **routing)
    await ready(own_hass, 3)

    own_server.respond(model)
    own_server.requests.clear()
    socket = await own_hass.socket()
    async with socket.subscribe("subscribe_events", event_type="home_agent.conversation.finished") as events:
        answer = await own_hass.call_for_response("home_agent.process", text=WISH, profile=first)
        async with asyncio.timeout(10):
            finished = (await events.get())["data"]
    assert answer["answer"] == "The bed light is off now.\n\nFront Door is locked. Unlock it?"
    assert (answer["profile"], answer["profile_id"]) == (title, finished["profile_id"]) == (title, "home_agent")
    # one of the router, those of the domains (Lamps calls a tool, the question ends Porter's), one of the synthesizer
    routing = answer["routing"]
    assert [*routing["domains"]] == ["Porter", "Lamps"]
    steps = [routing["router"], *routing["domains"].values(), routing["synthesizer"]]
    assert [step["requests"] for step in steps] == [1, 1, 2, 1]
    assert finished["model_requests"] == len(own_server.requests) == 5
    assert finished["routing"] == routing
    for kind in ("prompt", "completion"):
        assert finished["tokens_used"][kind] == answer["tokens"][kind] == sum(step[kind] for step in steps)
    assert all(step["prompt"] for step in steps)
    assert (await own_hass.states())[LIGHT] == "off"
    router, *parts, synthesizer = [request.body for request in own_server.requests]
    listed = router["messages"][0]["content"].rpartition("## Agents\n\n")[2]
    assert listed.startswith("Lamps — Takes care of lamps.\n- LAMPS_")
    assert "\n- LAMPS_UPDATE_CONTROL: " in listed
    assert "\n\nPorter — Takes care of doors.\n- " in listed
    assert "tools" not in router
    assert "tools" not in synthesizer
    for body in parts:
        names = {tool["function"]["name"].partition("_")[0] for tool in body["tools"]}
        assert len(names) == 1
        assert "unlock the front door and" in json.dumps(body)
    assert (await own_hass.states())[DOOR] == "locked"
    asked = len(own_server.requests)
    await own_hass.say("yes", agent=first, conversation_id=answer["conversation_id"])
    await own_hass.wait_for(DOOR, "unlocked")
    assert len(own_server.requests) == asked
