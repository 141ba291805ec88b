"""Routes in a real Home Assistant: a tool with examples run without the model, or offered to it; automations by their names."""

import json
from pathlib import Path
from typing import Any

from tests.llm_server import LLMServer, text, tool_call

from .harness import Hass
from .house import add_home_agent, furnish, reset
from .test_delegation import ready

PRINTER: dict[str, Any] = {
    "name": "printer_status",
    "description": "Tells what a printer or scanner is doing.",
    "parameters": {
        "properties": {"device": {"type": "string", "enum": ["printer", "scanner"]}},
        "required": ["device"],
    },
    "examples": ["How is the scanner doing?"],
    "type": "template",
    "behaviour": "default",
}


async def test_a_tool_with_examples_runs_without_the_model(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    entry_id = await own_hass.entry_id()
    form = await own_hass.subentry_flow(entry_id, "custom_tool")
    form = await form.submit(**PRINTER)
    await form.submit_well(template="The {{ device }} is idle.")
    await ready(own_hass, 1)
    [profile] = await own_hass.subentries("profile")
    form = await own_hass.subentry_flow(entry_id, "profile", subentry_id=profile["subentry_id"])
    await form.submit_agent(name=profile["title"], routing="semantic")
    await ready(own_hass, 1)
    own_server.respond(lambda _body: text("I am the model."))
    own_server.requests.clear()

    async def process(sentence: str) -> dict[str, Any]:
        found: dict[str, Any] = await own_hass.call_for_response("home_agent.process", text=sentence, profile=agent)
        return found

    answer = await process("how is the printer doing")
    assert (answer["answer"], answer["answered_by"]) == ("The printer is idle.", "local")
    assert answer["understanding"]["route"]["zone"] == "high"
    assert [(call["tool_name"], call["parameters"]) for call in answer["tool_calls"]] == [
        ("printer_status", {"device": "**masked**"})
    ]
    assert own_server.requests == []

    offered: dict[str, list[str]] = {}
    for sentence in ("how about the printer", "tell me a joke about cats"):
        answer = await process(sentence)
        assert answer["answer"] == "I am the model."
        tools = own_server.requests[-1].body["tools"]
        offered[answer["understanding"]["route"]["zone"]] = [tool["function"]["name"] for tool in tools]
    assert len(offered["medium"]) == 2
    assert "printer_status" in offered["medium"]
    assert {"ha_control", "ha_query", "ha_undo", "printer_status"} < {*offered["low"]}


AUTOMATIONS = """
automation homes:
  - {id: holiday, alias: Holiday, triggers: [], actions: [{action: light.turn_on, target: {entity_id: light.kitchen_lights}}]}
  - id: visit
    alias: Visit
    triggers: []
    actions: [{action: lock.unlock, target: {entity_id: lock.front_door}}]
  - id: storm
    alias: Storm
    triggers: []
    conditions: "{{ is_state('light.kitchen_lights', 'off') }}"
    actions: [{action: light.turn_off, target: {entity_id: light.bed_light}}]
"""


async def test_automations_are_run_by_name_with_and_without_a_model(tmp_path: Path, own_server: LLMServer) -> None:
    async with Hass(tmp_path).running() as hass:
        await furnish(hass)
        agent = await add_home_agent(hass)
        file = hass.process.folder / "configuration.yaml"
        file.write_text(f"{file.read_text(encoding='utf-8')}{AUTOMATIONS}", encoding="utf-8")
        await hass.restart()
        await reset(hass)
        await hass.expose(*(f"automation.{name}" for name in ("holiday", "visit", "storm")))

        # without a model
        assert (await hass.say("run holiday", agent=agent)).speech == "Done."
        await hass.wait_for("light.kitchen_lights", "on")
        undone = await hass.say("undo that", agent=agent)
        assert undone.speech == "I've put Kitchen Lights back."
        assert await hass.state("light.kitchen_lights") == "off"
        await hass.say("pon en marcha Holiday", agent=agent, language="es")
        await hass.wait_for("light.kitchen_lights", "on")
        held_back = await hass.say("start the storm automation", agent=agent)
        assert held_back.speech == "It did not run, because its conditions are not met: Storm."
        assert await hass.state("light.bed_light") == "on"
        asked = await hass.say("run visit", agent=agent)
        assert asked.speech == "Run the automation “Visit” (and with it: unlock Front Door)?"
        assert await hass.state("lock.front_door") == "locked"
        await hass.say("no", agent=agent, conversation_id=asked.conversation_id)
        await hass.call("automation.turn_off", "automation.holiday")
        disabled = await hass.say("run holiday", agent=agent)
        assert disabled.speech == "It was not run, because it is disabled: Holiday."
        await hass.say("enable holiday", agent=agent)
        assert await hass.state("automation.holiday") == "on"

        # with one
        await hass.remove_entry(await hass.entry_id())
        await reset(hass)
        agent = await add_home_agent(hass, url=own_server.base_url, model="scripted")
        own_server.requests.clear()
        run = {"action": "set_value", "entity_id": "automation.holiday", "parameters": {"command": "trigger"}}
        own_server.plan(tool_call("ha_control", run), text("The holiday automation runs."))
        assert (await hass.say("run the holiday thing", agent=agent)).speech == "The holiday automation runs."
        await hass.wait_for("light.kitchen_lights", "on")
        system = own_server.requests[0].body["messages"][0]["content"]
        assert "Automations: turn_on enables, set_value with command trigger runs." in system
        own_server.plan(
            tool_call("ha_control", {**run, "entity_id": "automation.storm"}), text("Its conditions hold it back.")
        )
        await hass.say("storm is coming", agent=agent)
        told = json.loads(own_server.requests[-1].body["messages"][-1]["content"])
        assert (told["success"], told["result"]) == (False, None)
        assert told["error"] == "automation.storm: It did not run, because its conditions are not met."
        own_server.plan(tool_call("ha_control", {**run, "entity_id": "automation.visit"}))
        asked = await hass.say("let them in", agent=agent)
        assert asked.speech == "Run the automation “Visit” (and with it: unlock Front Door)?"
        assert await hass.state("lock.front_door") == "locked"
        assert (await hass.say("yes", agent=agent, conversation_id=asked.conversation_id)).speech == "Done."
        await hass.wait_for("lock.front_door", "unlocked")
        own_server.assert_done()
        hass.assert_clean_log()
