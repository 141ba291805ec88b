"""Questions, answers and the way back in a real house: over HTTP and WebSocket, by several people, across a restart."""

from collections.abc import AsyncGenerator
import json
from pathlib import Path

import pytest
from pytest_asyncio import fixture as async_fixture

from tests.llm_server import LLMServer, text, tool_call
from tests.tools.custom.rest_server import RestServer, answer

from .api import Api, ApiError
from .harness import Hass
from .house import add_home_agent, furnish

KEY = "sk-e2e-secret"
REST_KEY = "rest-key-29fa77"
WORDS = "my private reason"
TOOLS = """
home_agent:
  secrets:
    rest_key: {key}
  custom_tools:
    - name: delete_entry
      description: Deletes an entry of the diary
      parameters: {{properties: {{number: {{type: string}}}}}}
      handler:
        type: rest
        method: DELETE
        url: "{url}/diary/{{{{ number }}}}"
        auth: {{type: bearer, token: "{{{{ rest_key }}}}"}}
"""
UNLOCK = tool_call("ha_control", {"action": "turn_off", "entity_id": "lock.front_door"})
DELETE = tool_call("delete_entry", {"number": "5?all=1"})


@async_fixture(scope="module")
async def diary() -> AsyncGenerator[RestServer]:
    server = RestServer()
    await server.start()
    yield server
    await server.stop()


@async_fixture(scope="module")
async def guarded(
    endpoint: LLMServer, diary: RestServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Hass]:
    """A house whose owner wrote a tool."""
    hass = Hass(tmp_path_factory.mktemp("guarded"))
    write_tools(hass.process.folder, diary)
    async with hass.running():
        await furnish(hass)
        await add_home_agent(hass, url=endpoint.base_url, model="scripted", key=KEY)
        yield hass


@async_fixture
async def hass(guarded: Hass, endpoint: LLMServer, diary: RestServer) -> AsyncGenerator[Hass]:
    """The same, its door locked; afterwards no key and no words are in the log or in the download of diagnostics."""
    await guarded.call("lock.lock", "lock.front_door")
    endpoint.requests.clear()
    diary.asked.clear()
    yield guarded
    endpoint.assert_done()
    ours = [line for line in guarded.process.log.splitlines() if "home_agent" in line]
    seen = "\n".join(ours) + json.dumps(await guarded.get(f"/api/diagnostics/config_entry/{await guarded.entry_id()}"))
    sent = "".join(request.raw.decode() for request in endpoint.requests)
    for secret in (KEY, REST_KEY, WORDS):
        assert secret not in seen
    assert REST_KEY not in sent
    guarded.assert_clean_log()


def write_tools(folder: Path, diary: RestServer, path: str = "diary") -> None:
    """Write the owner's tool into the configuration."""
    configuration = folder / "configuration.yaml"
    before = configuration.read_text().partition("\nhome_agent:")[0]
    tools = TOOLS.format(key=REST_KEY, url=diary.url).replace("/diary/", f"/{path}/")
    configuration.write_text(before + tools)


async def guest_of(hass: Hass) -> Api:
    """Return the connection of somebody who lives here and is no administrator."""
    users = {user["name"]: user["id"] for user in await hass.command("config/auth/list")}
    if "Guest" not in users:
        created = await hass.command("config/auth/create", name="Guest", group_ids=["system-users"])
        await hass.command(
            "config/auth_provider/homeassistant/create",
            user_id=created["user"]["id"],
            username="guest",
            password="guest",
        )
    guest = Api(hass.process.url)
    await guest.log_in("guest", "guest")
    return guest


async def test_a_question_is_answered_once_by_its_user(hass: Hass, endpoint: LLMServer, diary: RestServer) -> None:
    [agent] = await hass.agents()
    endpoint.plan(DELETE)
    asked = await hass.say(f"delete it, {WORDS}", agent=agent)
    assert asked.speech == f"Run delete_entry for 127.0.0.1:{diary.port} (number: “5all=1”)?"
    guest = await guest_of(hass)
    other = await guest.say("yes", agent=agent, conversation_id=asked.conversation_id)
    assert other.kind == "error"
    assert not diary.asked
    await guest.disconnect()
    await hass.say("yes", agent=agent, conversation_id=asked.conversation_id)
    endpoint.plan(text("You are welcome."))
    await hass.say("yes", agent=agent, conversation_id=asked.conversation_id)
    assert diary.targets == ["/diary/5%3Fall%3D1"]


@pytest.mark.parametrize("words", ["yes, and turn on the kitchen lights", "yes if it is daytime"])
async def test_what_is_no_yes_is_heard_by_the_model(hass: Hass, endpoint: LLMServer, words: str) -> None:
    pipeline = await hass.create_pipeline((await hass.agents())[0])
    endpoint.plan(UNLOCK, text("All right."))
    asked = (await hass.run_pipeline("let me in", pipeline)).answer
    assert asked.raw["continue_conversation"]
    assert asked.speech == "Front Door is locked. Unlock it?"
    await hass.run_pipeline(words, pipeline, conversation_id=asked.conversation_id)
    assert endpoint.request.last_user.endswith(words)
    assert await hass.state("lock.front_door") == "locked"


async def test_yes_on_another_device_in_the_same_conversation(hass: Hass, endpoint: LLMServer) -> None:
    pipeline = await hass.create_pipeline((await hass.agents())[0])
    first, second, *_ = await hass.command("config/device_registry/list")
    endpoint.plan(UNLOCK)
    asked = (await hass.run_pipeline("let me in", pipeline, device_id=first["id"])).answer
    done = await hass.run_pipeline("yes", pipeline, conversation_id=asked.conversation_id, device_id=second["id"])
    assert done.answer.speech == "Done. Front Door is unlocked."


async def test_administrators_answer_in_repairs(hass: Hass, endpoint: LLMServer) -> None:
    endpoint.plan(UNLOCK)
    asked = await hass.call_for_response("home_agent.process", text="let me in", confirm_via=["repairs"])
    issue = f"confirmation_{asked['confirmation']}"
    guest = await guest_of(hass)
    with pytest.raises(ApiError):
        await guest.post("/api/repairs/issues/fix", handler="home_agent", issue_id=issue)
    await guest.disconnect()
    step = await hass.post("/api/repairs/issues/fix", handler="home_agent", issue_id=issue)
    assert step["description_placeholders"]["question"] == "Front Door is locked. Unlock it?"
    done = await hass.post(f"/api/repairs/issues/fix/{step['flow_id']}", next_step_id="confirm")
    assert done["type"] == "create_entry"
    assert await hass.state("lock.front_door") == "unlocked"


async def test_a_question_does_not_outlive_a_reload(hass: Hass, endpoint: LLMServer, diary: RestServer) -> None:
    [agent] = await hass.agents()
    endpoint.plan(tool_call("delete_entry", {"number": "7"}))
    asked = await hass.say("delete it", agent=agent)
    await hass.post(f"/api/config/config_entries/entry/{await hass.entry_id()}/reload")
    told = await hass.say("yes", agent=agent, conversation_id=asked.conversation_id)
    assert "That question has ended" in told.speech
    assert not diary.asked


async def test_a_yes_is_for_the_tool_as_it_was(hass: Hass, endpoint: LLMServer, diary: RestServer) -> None:
    [agent] = await hass.agents()
    diary.answers["/diary/7"] = answer({"deleted": 7})
    for path, sent in (("letters", []), ("diary", ["/diary/7"])):
        write_tools(hass.process.folder, diary)
        await hass.call("home_agent.reload")
        endpoint.plan(tool_call("delete_entry", {"number": "7"}))
        asked = await hass.say("delete it", agent=agent)
        write_tools(hass.process.folder, diary, path)
        await hass.call("home_agent.reload")
        await hass.say("yes", agent=agent, conversation_id=asked.conversation_id)
        assert diary.targets == sent
    assert diary.last.headers["Authorization"] == f"Bearer {REST_KEY}"


async def test_what_was_done_before_a_restart_is_undone_after_it(hass: Hass, endpoint: LLMServer) -> None:
    [agent] = await hass.agents()
    light = "light.ceiling_lights"  # of the demo's, which are new after a restart, one that is on then
    await hass.call("light.turn_off", light)
    endpoint.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": light}), text("They are on."))
    await hass.say("ceiling lights", agent=agent)
    await hass.restart()
    guest = await guest_of(hass)
    hass.allow_log("There is nothing to undo")
    with pytest.raises(ApiError):  # it was not theirs
        await guest.post("/api/services/home_agent/undo?return_response")
    await guest.disconnect()
    await hass.wait_for(light, "on")
    undone = await hass.call_for_response("home_agent.undo")
    assert undone["restored"][0]["entity_id"] == light
    assert await hass.state(light) == "off"
