"""Defaults, what an agent sets itself, and its YAML, in a real Home Assistant over its own API."""

import asyncio
from typing import Any

from tests.llm_server import LLMServer, text

from .harness import Flow, Hass
from .house import add_home_agent


async def change(hass: Hass) -> Flow:
    """Open the form of the first agent."""
    [agent, *_] = await hass.subentries("profile")
    return await hass.subentry_flow(await hass.entry_id(), "profile", subentry_id=agent["subentry_id"])


async def loaded(hass: Hass, agent: str) -> None:
    """Wait until the changed settings hold; those of memory load the integration anew."""
    await asyncio.sleep(0.3)
    async with asyncio.timeout(20):
        while (await hass.states()).get(agent) in (None, "unavailable"):
            await asyncio.sleep(0.05)


async def sent(hass: Hass, server: LLMServer, agent: str, words: str) -> str:
    """Return the instructions with which a sentence is sent."""
    server.plan(text("Fine."))
    await hass.say(words, agent=agent)
    return str(server.request.body["messages"][0]["content"])


async def test_an_agent_follows_the_defaults_or_keeps_its_own(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")

    async def defaults(**changes: Any) -> None:
        page = await (await own_hass.options_flow(await own_hass.entry_id())).choose("assistant")
        assert (await page.submit_well(**(page.shown | changes))).kind == "menu"
        await loaded(own_hass, agent)

    await defaults(prompt_additions="Call me captain.")
    assert "Call me captain." in await sent(own_hass, own_server, agent, "tell me a story")
    form = await change(own_hass)
    assert form.step["description_placeholders"]["prompt_additions_from"] == "Default of all agents"
    await form.submit_well(**(form.shown | {"prompt_additions": "Call me pirate."}))
    await loaded(own_hass, agent)
    await defaults(prompt_additions="Call me admiral.")
    assert "Call me pirate." in await sent(own_hass, own_server, agent, "tell me another story")
    form = await change(own_hass)
    assert form.step["description_placeholders"]["prompt_additions_from"].endswith(": Call me admiral.")
    shown = form.shown
    del shown["prompt_additions"]  # cleared: follows again
    await form.submit_well(**shown)
    await loaded(own_hass, agent)
    assert "Call me admiral." in await sent(own_hass, own_server, agent, "tell me a third story")


async def test_settings_travel_as_yaml(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    [model] = await own_hass.subentries("llm")
    form = await change(own_hass)
    form = await (await form.submit_well(**form.shown, more=True)).choose("yaml")
    assert form.step["step_id"] == "yaml"
    pasted = (
        f"name: Sailor\nprocessing_config:\n  llm: {model['title']}\n  prompt_additions: Ahoy!\n  local_first: false\n"
        "tools_config:\n  native_tools: false\n"
    )
    wrong = await form.submit(yaml=pasted + "  colour: red\n")
    assert (wrong.step["step_id"], wrong.step["errors"]) == ("yaml", {"yaml": "yaml_problems"})
    assert wrong.step["description_placeholders"]["problems"] == "- colour is not a setting."
    form = await wrong.submit_well(yaml=pasted)
    assert (form.step["step_id"], form.shown["prompt_additions"]) == ("reconfigure", "Ahoy!")
    await form.submit_well(**form.shown)
    await loaded(own_hass, agent)
    assert "Ahoy!" in await sent(own_hass, own_server, agent, "turn on the light")
    offered = {tool["function"]["name"] for tool in own_server.request.body.get("tools", ())}
    assert "ha_control" not in offered
    told = await own_hass.call_for_response("home_agent.get_profile", profile=agent)
    written = pasted.replace("\n", "\nprofile_id: home_agent\n", 1)  # what others call it outlives the new name
    assert told["yaml"] == written
    assert (told["origins"]["native_tools"], told["settings"]["native_tools"]) == ("profile", False)
    assert (told["settings"]["history_max_messages"], told["origins"]["history_max_messages"]) == (10, "built_in")
