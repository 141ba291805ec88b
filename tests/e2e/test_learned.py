"""A phrase that only the model understood, in a Home Assistant that really runs: learned, approved in Repairs, done after a restart without it."""

import asyncio
from typing import Any

from tests.llm_server import LLMServer, text, tool_call

from .harness import Hass
from .house import add_home_agent

BED = "light.bed_light"
LIT = {"action": "turn_on", "entity_id": BED, "parameters": {"brightness_pct": 30}}


async def issues(hass: Hass) -> list[dict[str, Any]]:
    """Return the issues about learned phrases."""
    listed = await hass.command("repairs/list_issues")
    return [issue for issue in listed["issues"] if issue["translation_key"].startswith("phrases_")]


async def test_a_phrase_is_learned_approved_and_done_without_the_model(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted", key="sk-e2e", model_first=False)
    page = await (await own_hass.options_flow(await own_hass.entry_id())).choose("memory")
    await page.submit_well(learning=True, learning_after=1)
    await asyncio.sleep(0.3)
    async with asyncio.timeout(10):
        while (await own_hass.states()).get(agent, "unavailable") == "unavailable":  # it is loaded anew
            await asyncio.sleep(0.05)
    for words in ("Make it cosy, please!", "Rise and shine"):
        own_server.plan(tool_call("ha_control", LIT), text("As you like."))
        await own_hass.say(words, agent=agent)
        assert [message["role"] for message in own_server.requests[-1].body["messages"]][-1] == "tool"
    [issue] = await issues(own_hass)
    assert issue["translation_placeholders"] == {"count": "2"}
    fix = {"handler": "home_agent", "issue_id": issue["issue_id"]}
    menu = await own_hass.post("/api/repairs/issues/fix", **fix)
    assert "“Make it cosy, please!”" in menu["description_placeholders"]["proposals"]
    form = await own_hass.post(f"/api/repairs/issues/fix/{menu['flow_id']}", next_step_id="choose")
    choices = form["data_schema"][0]["selector"]["select"]["options"]
    [cosy] = [one["value"] for one in choices if "cosy" in one["label"]]
    [rise] = [one["value"] for one in choices if "Rise" in one["label"]]
    done = await own_hass.post(f"/api/repairs/issues/fix/{menu['flow_id']}", approve=[cosy], reject=[rise])
    assert done["type"] == "create_entry"
    assert await issues(own_hass) == []

    asked = len(own_server.requests)
    await own_hass.restart()
    await own_hass.call("light.turn_off", BED)
    answer = await own_hass.say("Please make it cosy", agent=agent)
    assert answer.speech.startswith("Done. Bed Light is")
    await own_hass.wait_for(BED, "on")
    undone = await own_hass.say("undo that", agent=agent, conversation_id=answer.conversation_id)
    assert "Bed Light" in undone.speech
    await own_hass.wait_for(BED, "off")
    assert len(own_server.requests) == asked  # nothing of all that went to the model
    forgotten = await own_hass.call_for_response("home_agent.forget_learned_phrase", phrase="make it cosy")
    assert [(row["used"], row["status"]) for row in forgotten["forgotten"]] == [(1, "learned")]
    own_server.plan(text("What do you mean?"))
    assert (await own_hass.say("make it cosy", agent=agent)).speech == "What do you mean?"
    own_hass.assert_clean_log()
