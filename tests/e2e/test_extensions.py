"""Extensions in a real process: a folder of the owner's, one that is wrong, what ships, and a routed turn that needs a yes."""

import json

from tests.doors import DOORS
from tests.llm_server import LLMServer, text, tool_call

from .harness import Hass
from .house import add_home_agent
from .test_delegation import DOOR, ready

PROMPT = "Opens and locks the doors of the home.\nSay which door it was."
TOOLS = f"needs: [lock]\n{DOORS}"


async def test_a_folder_of_the_owner_is_routed_to(own_hass: Hass, own_server: LLMServer) -> None:
    folder = own_hass.process.folder / "home_agent" / "extensions"
    for name, tools in (("Doors", TOOLS), ("Wrong", "tools: !include ../../../secrets.yaml")):
        (folder / name).mkdir(parents=True)
        (folder / name / "prompt.md").write_text(PROMPT)
        (folder / name / "tools.yaml").write_text(tools)
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    found = await own_hass.call_for_response("home_agent.list_extensions")
    assert [(item["name"], item["reason"]) for item in found["refused"]] == [
        ("Wrong", "Line 1 of tools.yaml: tags (!) are not used here")
    ]
    assert {"Doors"} <= {item["name"] for item in found["extensions"] if item["offered"]}
    assert (
        "Doors — Opens and locks the doors of the home.\n"
        '- DOORS_GET_STATE: Tells which doors are locked. EX: "Is the front door locked?"\n'
        '- DOORS_UPDATE_LOCK: Locks a door. EX: "Lock the front door."\n'
        '- DOORS_ACTION_UNLOCK: Unlocks a door. EX: "Let me in."'
    ) in found["light_schema"]
    (folder / "Wrong" / "tools.yaml").write_text(TOOLS.replace("DOORS_", "WRONG_"))
    await own_hass.call("home_agent.reload")
    assert (await own_hass.call_for_response("home_agent.list_extensions"))["refused"] == []

    entry_id = await own_hass.entry_id()
    [(title, subentry_id)] = [(item["title"], item["subentry_id"]) for item in await own_hass.subentries("profile")]
    form = await own_hass.subentry_flow(entry_id, "profile", subentry_id=subentry_id)
    await form.submit_agent(name=title, local_first=False, native_tools=False, routing="router", extensions=["Doors"])
    await ready(own_hass, 1)
    own_server.plan(
        text(json.dumps([{"extension": "Doors", "intent": "unlock the front door"}])),
        tool_call("DOORS_ACTION_UNLOCK", {"entity_id": DOOR}),
    )
    answer = await own_hass.say("let me in", agent=agent)
    assert "Unlock it?" in answer.speech
    router, domain = own_server.requests[-2:]
    assert "Doors — Opens and locks" in json.dumps(router.body, ensure_ascii=False)
    assert "tools" not in router.body
    offered = [tool["function"]["name"] for tool in domain.body["tools"]]
    assert offered == ["DOORS_ACTION_UNLOCK", "DOORS_GET_STATE", "DOORS_UPDATE_LOCK"]
    assert (await own_hass.states())[DOOR] == "locked"
    await own_hass.say("yes", agent=agent, conversation_id=answer.conversation_id)
    await own_hass.wait_for(DOOR, "unlocked")
