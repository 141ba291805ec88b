"""A name that is taught, in a Home Assistant that really runs: proposed, approved in Repairs after a restart, said, told a model, undone."""

import asyncio
from typing import Any

from tests.llm_server import LLMServer, text, tool_call

from .api import Api
from .harness import Hass
from .house import add_home_agent

BED = "light.bed_light"


async def registered(hass: Hass, entity_id: str = BED) -> list[str | None]:
    """Return the aliases of an entity as Home Assistant's own page shows them; None stands for its own name."""
    entry = await hass.command("config/entity_registry/get", entity_id=entity_id)
    aliases: list[str | None] = entry["aliases"]
    return aliases


async def guest_of(hass: Hass) -> Api:
    """Return a user who is no administrator, logged in."""
    created = await hass.command("config/auth/create", name="Alice", group_ids=["system-users"])
    user_id = created["user"]["id"]
    await hass.command("config/auth_provider/homeassistant/create", user_id=user_id, username="alice", password="alice")
    guest = Api(hass.process.url)
    await guest.log_in("alice", "alice")
    return guest


async def issues(hass: Hass) -> list[dict[str, Any]]:
    """Return the issues about names."""
    listed = await hass.command("repairs/list_issues")
    return [issue for issue in listed["issues"] if issue["translation_key"] == "names_proposed"]


async def test_a_name_approved_after_a_restart_is_said_and_undone(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted", key="sk-e2e", model_first=False)
    guest = await guest_of(own_hass)
    before = await registered(own_hass)
    answer = await guest.say("When I say moon lamp, I mean the bed light", agent=agent)
    assert answer.speech.startswith("I've proposed to call Bed Light “moon lamp” as well.")
    await guest.disconnect()
    assert await registered(own_hass) == before
    await own_hass.restart()
    async with asyncio.timeout(20):
        while not (found := await issues(own_hass)):  # the entry may still be set up
            await asyncio.sleep(0.1)
    [issue] = found
    fix = {"handler": "home_agent", "issue_id": issue["issue_id"]}
    form = await own_hass.post("/api/repairs/issues/fix", **fix)
    assert form["description_placeholders"]["proposals"].startswith(f"- Call Bed Light ({BED}) “moon lamp” as well")
    done = await own_hass.post(f"/api/repairs/issues/fix/{form['flow_id']}", next_step_id="approve_all")
    assert done["type"] == "create_entry"
    assert await issues(own_hass) == []
    assert await registered(own_hass) == [*before, "moon lamp"]

    await own_hass.call("light.turn_off", BED)
    await own_hass.say("turn on the moon lamp", agent=agent)
    await own_hass.wait_for(BED, "on")
    assert own_server.requests == []

    own_server.plan(tool_call("ha_control", {"action": "turn_off", "entity_id": "moon lamp"}), text("It is dark."))
    await own_hass.say("I would like the moon lamp dark, and a poem", agent=agent)
    await own_hass.wait_for(BED, "off")
    assert f"{BED} = Bed Light | moon lamp" in own_server.requests[0].body["messages"][0]["content"]

    # an administrator who speaks is asked; undo takes that name away again, and leaves the other
    question = await own_hass.say("The bed light is called night owl", agent=agent)
    assert question.speech == "Call Bed Light “night owl” as well?"
    await own_hass.say("yes", agent=agent, conversation_id=question.conversation_id)
    assert await registered(own_hass) == [*before, "moon lamp", "night owl"]
    undone = await own_hass.say("undo that", agent=agent, conversation_id=question.conversation_id)
    assert undone.speech == "Bed Light is no longer called “night owl”."
    assert await registered(own_hass) == [*before, "moon lamp"]
    listed = await own_hass.call_for_response("home_agent.list_taught_names")
    assert [(row["name"], row["status"], row["present"]) for row in listed["names"]] == [("moon lamp", "taught", True)]
    await own_hass.call_for_response("home_agent.forget_taught_name", name="moon lamp")
    assert await registered(own_hass) == before
    own_hass.assert_clean_log()
