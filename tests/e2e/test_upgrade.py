"""A home that was set up with release 0.1.0 (commit 20c1c5e) starts with this one, and everything in it is still there.

`stored_home/` is what that release left in the configuration folder of the demo home of `house.py`: two profiles, an endpoint,
a tool, options, conversations, actions, documents, and what was learned about the model.
"""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
import json
from pathlib import Path
import re
import shutil

import pytest
from pytest_asyncio import fixture as async_fixture

from tests.llm_server import LLMServer, text, tool_call

from .harness import DOMAIN, Hass

STORED = Path(__file__).parent / "stored_home"
STORED_PORT = 18765
HOME_AGENT, BUTLER = "conversation.home_agent", "conversation.butler"
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00")


def unpack(folder: Path, port: int, stored: Path = STORED, stored_port: int = STORED_PORT) -> None:
    """Copy the stored home as if it had been left a minute ago; its endpoint listens on another port."""
    shutil.copytree(stored, folder, dirs_exist_ok=True)
    storage = folder / ".storage"
    entries = storage / "core.config_entries"
    entries.write_text(entries.read_text().replace(f":{stored_port}/", f":{port}/"))
    files = [path for path in storage.glob(f"{DOMAIN}.*") if path.suffix != ".db"]
    stamps = [datetime.fromisoformat(stamp) for path in files for stamp in TIMESTAMP.findall(path.read_text())]
    shift = datetime.now(UTC) - max(stamps) - timedelta(minutes=1)
    for path in files:
        path.write_text(
            TIMESTAMP.sub(lambda found: (datetime.fromisoformat(found[0]) + shift).isoformat(), path.read_text())
        )


@async_fixture(scope="module")
async def upgraded(endpoint: LLMServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Hass]:
    """The home of the release before, started with this one."""
    folder = tmp_path_factory.mktemp("upgraded")
    unpack(folder, endpoint.port)
    async with Hass(folder).running() as hass:
        yield hass


@async_fixture
async def hass(upgraded: Hass, endpoint: LLMServer) -> AsyncGenerator[Hass]:
    """The same; its log stays clean."""
    endpoint.requests.clear()
    yield upgraded
    endpoint.assert_done()
    upgraded.assert_clean_log()


async def test_configuration_is_kept(hass: Hass, endpoint: LLMServer) -> None:
    [entry] = await hass.entries()
    assert entry["state"] == "loaded"
    assert await hass.agents() == [BUTLER, HOME_AGENT]
    endpoint.plan(text("Good morning, captain."))
    answer = await hass.say("what should I wear?", agent=HOME_AGENT)
    assert answer.speech == "Good morning, captain."
    assert endpoint.request.headers["Authorization"] == "Bearer sk-stored-key"
    assert endpoint.request.body["model"] == "scripted"
    assert "Call me captain." in endpoint.request.body["messages"][0]["content"]
    assert "moon_phase" in {tool["function"]["name"] for tool in endpoint.request.body["tools"]}
    endpoint.plan(text("At once."))
    await hass.say("tell me a story", agent=BUTLER)
    assert "Speak like a butler." in endpoint.request.body["messages"][0]["content"]


async def test_options_still_hold(hass: Hass, endpoint: LLMServer) -> None:
    stored = json.loads((STORED / ".storage" / "core.config_entries").read_text())["data"]["entries"]
    [before] = [entry["options"] for entry in stored if entry["domain"] == DOMAIN]
    await hass.wait_until_stored("default_profile_settings", "core.config_entries")
    now = json.loads((hass.process.folder / ".storage" / "core.config_entries").read_text())["data"]["entries"]
    [after] = [entry["options"] for entry in now if entry["domain"] == DOMAIN]
    defaults = before.pop("profile_defaults")  # of all agents: they have parts since
    assert after == before | {"default_profile_settings": {"processing_config": defaults}}
    for topic, field in (
        ("safety", "always_confirm"),
        ("network", "allowed_hosts"),
        ("confirmation", "confirm_timeout"),
    ):
        flow = await hass.options_flow(await hass.entry_id())
        flow = await (await flow.choose("advanced") if topic == "network" else flow).choose(topic)
        [shown] = [item for item in flow.step["data_schema"] if item["name"] == field]
        assert before[field] in (shown.get("default"), (shown.get("description") or {}).get("suggested_value"))
    endpoint.plan(tool_call("ha_control", {"action": "turn_off", "entity_id": "lock.front_door"}))
    asked = await hass.say("let me in", agent=HOME_AGENT, conversation_id="upgraded-door")
    assert asked.raw["continue_conversation"]
    await hass.say("yes", agent=HOME_AGENT, conversation_id="upgraded-door")
    assert await hass.state("lock.front_door") == "locked"  # a yes takes the PIN that was set then
    await hass.say("yes, 739146", agent=HOME_AGENT, conversation_id="upgraded-door")
    assert await hass.state("lock.front_door") == "unlocked"
    await hass.call("lock.lock", "lock.front_door")
    endpoint.plan(tool_call("ha_control", {"action": "turn_off", "entity_id": "cover.hall_window"}))
    asked = await hass.say("my papers fly about", agent=HOME_AGENT, conversation_id="upgraded-cover")
    assert asked.raw["continue_conversation"]  # always asked about
    await hass.say("no", agent=HOME_AGENT, conversation_id="upgraded-cover")


async def test_conversations_go_on(hass: Hass, endpoint: LLMServer) -> None:
    endpoint.plan(text("Marzipan."))
    answer = await hass.say("what was it?", agent=HOME_AGENT, conversation_id="stored-kitchen")
    assert answer.speech == "Marzipan."
    sent = json.dumps(endpoint.request.body["messages"])
    for said in ("kitchen lights on, please", "The kitchen lights are on.", "remember marzipan", "Noted: marzipan."):
        assert said in sent
    assert [
        call["function"]["name"] for item in endpoint.request.body["messages"] for call in item.get("tool_calls", ())
    ] == ["ha_control"]
    endpoint.plan(text("I was well."))
    await hass.say("and now?", agent=BUTLER, conversation_id="stored-butler")
    assert "At your service, captain." in json.dumps(endpoint.request.body["messages"])


async def test_the_journal_and_its_way_back(hass: Hass) -> None:
    response = await hass.call_for_response("home_agent.list_actions")
    stored = [action for action in response["actions"] if action["conversation_id"].startswith("stored-")]
    assert [(action["words"], action["outcome"]) for action in stored] == [
        ("bedroom to 23 degrees", {"climate.hvac": "reached"}),
        ("kitchen lights on, please", {"light.kitchen_lights": "reached"}),
    ]
    kitchen = stored[1]
    await hass.call("light.turn_on", "light.kitchen_lights", brightness=180)
    await hass.call_for_response("home_agent.undo", action_id=kitchen["action_id"])
    assert await hass.state("light.kitchen_lights") == "off"
    response = await hass.call_for_response("home_agent.list_actions")
    [undone] = [action for action in response["actions"] if action["action_id"] == kitchen["action_id"]]
    assert undone["undone"]


async def test_documents_are_found(hass: Hass, endpoint: LLMServer) -> None:
    endpoint.plan(text("Tuesday."), text("125 ml."))
    await hass.say("When is the paper bin emptied?", agent=HOME_AGENT)
    assert "every second Tuesday" in endpoint.request.body["messages"][-1]["content"]
    await hass.say("How much descaler does the coffee machine need?", agent=HOME_AGENT)
    assert "125 ml of descaler" in endpoint.request.body["messages"][-1]["content"]
    removed = await hass.call_for_response("home_agent.remove_document", document="text:knowledge/Bins")
    assert removed == {"passages": 1}


async def test_what_was_learned_about_the_model(hass: Hass) -> None:
    diagnostics = await hass.get(f"/api/diagnostics/config_entry/{await hass.entry_id()}")
    assert '"context_window": 12288' in json.dumps(diagnostics["data"])
