"""An automation made by talking in a Home Assistant that really runs: in its file, run by its engine, shown by its editor, undone."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pytest_asyncio import fixture as async_fixture

from tests.automations.model import calls
from tests.llm_server import LLMServer

from .harness import Hass
from .house import furnish
from .process import CONFIGURATION

DOOR = "cover.garage_door"
EDITOR = "/api/config/automation/config/"
FILE = """\
# Made by hand
- id: old
  alias: Old one  # stays
  triggers:
    - trigger: sun
      event: sunset
  actions: []
"""
SCRIPTS = """\
evening:
  sequence:
    - action: {action}
      target: {{entity_id: {entity}}}
morning:
  sequence:
    - action: light.turn_on
      target: {{entity_id: light.bed_light}}
"""
_ZONE = ZoneInfo("Europe/Amsterdam")


def at_night(name: str, begins: timedelta, ends: timedelta) -> dict[str, Any]:
    """Return the automation of the garage door, in a window around the time of now."""
    now = datetime.now(_ZONE)
    window = {"after": f"{now + begins:%H:%M:%S}", "before": f"{now + ends:%H:%M:%S}"}
    tells = {"message": "The garage door is open", "notification_id": name.casefold().replace(" ", "_")}
    return {
        "name": name,
        "triggers": [{"trigger": "state", "entity_id": DOOR, "to": "open"}],
        "conditions": [{"condition": "time", **window}],
        "actions": [{"action": "persistent_notification.create", "data": tells}],
    }


@async_fixture
async def server() -> AsyncGenerator[LLMServer]:
    """The endpoint."""
    server = LLMServer()
    await server.start()
    yield server
    await server.stop()


async def set_up(hass: Hass, server: LLMServer) -> str:
    """Set Home Agent up as a new user does, with the agent for automations; return the first agent."""
    flow = await (await hass.config_flow()).submit(preset="custom")
    await flow.submit_well(base_url=server.base_url)
    await flow.submit_well(model="scripted", automations=True)
    assert flow.kind == "create_entry", flow.step
    await flow.skip_check()
    agents = await hass.wait_for_agents(2)
    return next(agent for agent in agents if "automation" not in agent)


@async_fixture
async def hass(tmp_path: Path, server: LLMServer) -> AsyncGenerator[Hass]:
    """A Home Assistant with one automation that was made by hand."""
    (tmp_path / "automations.yaml").write_text(FILE)
    async with Hass(tmp_path).running() as hass:
        await furnish(hass)
        await hass.expose(DOOR)
        await hass.call("cover.close_cover", DOOR)
        await hass.wait_for(DOOR, "closed", 30)
        yield hass
        hass.assert_clean_log()


async def make(hass: Hass, server: LLMServer, agent: str, automation: dict[str, Any]) -> str:
    """Have an automation made; return the last answer."""
    server.respond(calls(("create_automation", automation)))
    asked = await hass.say("/automate tell me when the garage door opens at night", agent=agent)
    assert "Garage Door" in asked.speech, asked.speech
    assert asked.speech.endswith("?")
    answer = await hass.say("yes", agent=agent, conversation_id=asked.conversation_id)
    return answer.speech


async def notifications(hass: Hass) -> set[str]:
    return {item["notification_id"] for item in await hass.command("persistent_notification/get")}


async def test_the_garage_at_night(hass: Hass, server: LLMServer, tmp_path: Path) -> None:
    agent = await set_up(hass, server)
    hour = timedelta(hours=1)
    said = await make(hass, server, agent, at_night("Garage at night", -hour, hour))
    entities = {item["entity_id"]: item for item in await hass.command("config/entity_registry/list")}
    made = entities["automation.garage_at_night"]["unique_id"]
    assert f"/config/automation/edit/{made}" in said
    assert made in said
    await make(hass, server, agent, at_night("Garage by day", hour, 2 * hour))

    written = (tmp_path / "automations.yaml").read_text()
    assert written.startswith(FILE)
    assert (await hass.get(f"{EDITOR}{made}"))["alias"] == "Garage at night"
    await hass.call("cover.open_cover", DOOR)
    await hass.wait_for(DOOR, "open", 30)
    async with asyncio.timeout(20):
        while "garage_at_night" not in await notifications(hass):
            await asyncio.sleep(0.2)
    assert "garage_by_day" not in await notifications(hass)


async def test_undo_leaves_the_file_as_it_was(hass: Hass, server: LLMServer, tmp_path: Path) -> None:
    agent = await set_up(hass, server)
    hour = timedelta(hours=1)
    await make(hass, server, agent, at_night("Garage at night", -hour, hour))
    await asyncio.sleep(5)  # it is looked at meanwhile, and what is learned of it is kept
    asked = await hass.say("/automate undo that", agent=agent)
    await hass.say("yes", agent=agent, conversation_id=asked.conversation_id)
    assert (tmp_path / "automations.yaml").read_text() == FILE
    assert "automation.garage_at_night" not in await hass.states()


async def test_home_assistants_editor_and_two_of_ours_at_once(hass: Hass, server: LLMServer, tmp_path: Path) -> None:
    """Each of them is in the file afterwards."""
    agent = await set_up(hass, server)
    hour = timedelta(hours=1)
    asked: list[Any] = []
    for name in ("One", "Two"):
        server.respond(calls(("create_automation", at_night(name, -hour, hour))))
        asked.append(await hass.say("/automate make it", agent=agent))
    by_editor = {"alias": "By the editor", "triggers": [], "actions": []}
    await asyncio.gather(
        *(hass.say("yes", agent=agent, conversation_id=one.conversation_id) for one in asked),
        hass.post(f"{EDITOR}editor", **by_editor),
    )
    async with asyncio.timeout(20):
        while not {"automation.one", "automation.two", "automation.by_the_editor"} <= (await hass.states()).keys():
            await asyncio.sleep(0.2)
    text = (tmp_path / "automations.yaml").read_text()
    assert all(name in text for name in ("alias: One", "alias: Two", "alias: By the editor", "alias: Old one"))


async def test_a_file_that_nothing_reads_is_refused(tmp_path: Path, server: LLMServer) -> None:
    configuration = CONFIGURATION.format(name="Demo House", log_level="debug")
    (tmp_path / "configuration.yaml").write_text(
        configuration.replace("automation: !include automations.yaml", "automation:")
    )
    (tmp_path / "automations.yaml").write_text(FILE)
    async with Hass(tmp_path).running() as hass:
        await furnish(hass)
        await hass.expose(DOOR)
        agent = await set_up(hass, server)
        server.respond(calls(("create_automation", at_night("Garage", -timedelta(hours=1), timedelta(hours=1)))))
        await hass.say("/automate make it", agent=agent)
        [result] = [item["content"] for item in server.requests[-1].body["messages"] if item["role"] == "tool"]
        assert "automation: !include automations.yaml" in json.loads(result)["error"]
        assert (tmp_path / "automations.yaml").read_text() == FILE


async def test_a_package_reads_it_as_well(tmp_path: Path, server: LLMServer) -> None:
    configuration = CONFIGURATION.format(name="Demo House", log_level="debug")
    configuration = configuration.replace("automation: !include automations.yaml\n", "")
    configuration = configuration.replace("  country: NL\n", "  country: NL\n  packages: !include_dir_named packages\n")
    (tmp_path / "configuration.yaml").write_text(configuration)
    (tmp_path / "automations.yaml").write_text(FILE)
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "ours.yaml").write_text("automation ui: !include ../automations.yaml\n")
    async with Hass(tmp_path).running() as hass:
        await furnish(hass)
        await hass.expose(DOOR)
        agent = await set_up(hass, server)
        await make(hass, server, agent, at_night("Garage", -timedelta(hours=1), timedelta(hours=1)))
        assert await hass.state("automation.garage") == "on"
        assert (tmp_path / "automations.yaml").read_text().startswith(FILE)


async def test_a_script_that_was_rewritten_while_it_was_off(tmp_path: Path, server: LLMServer) -> None:
    """After the start the automation is off, and an administrator is asked; what it was made of runs on as before."""
    (tmp_path / "automations.yaml").write_text(FILE)
    (tmp_path / "scripts.yaml").write_text(SCRIPTS.format(action="light.turn_on", entity="light.bed_light"))
    async with Hass(tmp_path).running() as hass:
        await furnish(hass)
        await hass.expose(DOOR, "script.evening", "script.morning")
        agent = await set_up(hass, server)
        for name in ("evening", "morning"):
            at = {"trigger": "time", "at": "20:00:00"}
            made = {"name": f"At {name}", "triggers": [at], "actions": [{"action": f"script.{name}"}]}
            server.respond(calls(("create_automation", made)))
            asked = await hass.say("/automate make it", agent=agent)
            await hass.say("yes", agent=agent, conversation_id=asked.conversation_id)
            assert await hass.state(f"automation.at_{name}") == "on"
        assert await hass.stop() == 0
        (tmp_path / "scripts.yaml").write_text(SCRIPTS.format(action="lock.unlock", entity="lock.front_door"))
        await hass.start()
        await hass.wait_for("automation.at_evening", "off", 60)
        async with asyncio.timeout(20):
            while "automations_changed" not in await issues(hass):
                await asyncio.sleep(0.2)
        assert await hass.state("automation.at_morning") == "on"
        hass.assert_clean_log()


async def issues(hass: Hass) -> list[str]:
    """Return the keys of our Repairs issues."""
    found = (await hass.command("repairs/list_issues"))["issues"]
    return [item["translation_key"] for item in found if item["domain"] == "home_agent"]
