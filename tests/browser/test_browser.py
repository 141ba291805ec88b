"""A person in front of a browser: log in, add Home Agent and set it up through its dialogs, talk to it, see the light change.

`SHOTS=docs/images scripts/test tests/browser` keeps pictures for the docs.
"""

from collections.abc import AsyncGenerator, Sequence
import json
import os
from pathlib import Path
from string import ascii_lowercase

from playwright.async_api import expect
import pytest
from pytest_asyncio import fixture as async_fixture

from custom_components.home_agent.flows.fields import TOPICS as AGENT_TOPICS
from custom_components.home_agent.flows.options import ADVANCED_TOPICS, TOPICS as GEAR_TOPICS
from tests.e2e.harness import PASSWORD, USER, Hass
from tests.e2e.house import add_home_agent, furnish
from tests.e2e.process import ROOT
from tests.embedding_server import EmbeddingServer
from tests.llama_server import llama_server, require_llama
from tests.llm_server import LLMServer, text, tool_call, unauthorized

from .frontend import FIRST_PAGE_TIMEOUT, Frontend, chromium

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium here; scripts/setup says how to get one")
TEXTS = json.loads((ROOT / "custom_components/home_agent/translations/en.json").read_text())
PRESETS = TEXTS["selector"]["preset"]["options"]
MORE = TEXTS["config_subentries"]["profile"]["step"]["more"]["menu_options"]
STARTS = TEXTS["config_subentries"]["profile"]["step"]["start"]["menu_options"]
GEAR = TEXTS["options"]["step"]
TOPICS = {**GEAR["init"]["menu_options"], **GEAR["advanced"]["menu_options"]}
REPAIR = TEXTS["issues"]["names_proposed"]
BED = "light.bed_light"
KITCHEN_ON = {"action": "turn_on", "entity_id": "light.kitchen_lights"}


@async_fixture
async def hass(tmp_path: Path) -> AsyncGenerator[Hass]:
    """A furnished Home Assistant without Home Agent."""
    async with Hass(tmp_path).running() as hass:
        await furnish(hass)
        yield hass


@async_fixture
async def llm_server() -> AsyncGenerator[LLMServer]:
    server = LLMServer(models=["qwen3:8b", "llama4:scout"])
    await server.start()
    yield server
    await server.stop()
    server.assert_done()


class LetterServer(EmbeddingServer):
    """An endpoint that makes vectors by counting letters."""

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return how often each letter stands in each text."""
        return [[one.casefold().count(letter) + 0.01 for letter in ascii_lowercase] for one in texts]


@async_fixture
async def embedding_server() -> AsyncGenerator[EmbeddingServer]:
    server = LetterServer()
    await server.start()
    yield server
    await server.stop()


@async_fixture
async def frontend(hass: Hass) -> AsyncGenerator[Frontend]:
    """A browser in front of it."""
    shots = os.environ.get("SHOTS")
    async with Frontend.window(hass.url, Path(shots) if shots else None) as frontend:
        yield frontend


async def test_add_through_the_dialogs_and_talk(hass: Hass, llm_server: LLMServer, frontend: Frontend) -> None:
    await frontend.log_in(USER, PASSWORD)

    await frontend.add_integration("Home Agent")
    await frontend.choose(PRESETS["custom"])
    await frontend.shot("add-1-preset")
    assert (await frontend.submit())["step_id"] == "endpoint"
    await frontend.fill("base_url", "http://192.168.1.20:11434")
    await frontend.shot("add-2-endpoint")
    await frontend.fill("base_url", "http://127.0.0.1:9/v1")
    assert (await frontend.submit())["errors"] == {"base": "cannot_connect"}
    await expect(frontend.dialog.locator("ha-alert")).to_be_visible()
    await frontend.fill("base_url", llm_server.base_url)
    assert (await frontend.submit())["step_id"] == "model"
    await frontend.pick("Model", "qwen3:8b")
    await frontend.shot("add-3-model")
    assert (await frontend.submit())["type"] == "create_entry"
    await frontend.skip_check()
    await frontend.open("/config/integrations/integration/home_agent")
    await expect(frontend.page.locator("ha-config-entry-row").first).to_contain_text("Home Agent")
    await frontend.shot("integration")

    maker, agent = await hass.agents()
    assert (maker, agent) == ("conversation.automations", "conversation.home_agent")
    await hass.create_pipeline(agent)
    await expect(await frontend.more_info("light.kitchen_lights")).to_have_text("Off")
    await frontend.open_assist("Home Agent")
    llm_server.plan(
        tool_call("ha_control", KITCHEN_ON, delay=0.2), text("The **kitchen lights** are on now.", pause=0.05)
    )
    await frontend.say("It is dark in the kitchen", "The kitchen lights are on now.")
    await expect(frontend.answers.last.locator("strong")).to_have_text("kitchen lights")
    await frontend.shot("assist")
    assert await hass.state("light.kitchen_lights") == "on"
    assert not frontend.problems

    await expect(await frontend.more_info("light.kitchen_lights")).not_to_have_text("Off")
    hass.assert_clean_log()


MODEL = TEXTS["config"]
TRIED = 150_000  # milliseconds that a very small model takes on a busy machine


async def test_add_a_model_after_a_dead_address_and_wrong_key(hass: Hass, frontend: Frontend, tmp_path: Path) -> None:
    require_llama()
    alert, key = frontend.dialog.locator("ha-alert"), frontend.dialog.locator("input[name=api_key]")
    with llama_server(tmp_path / "llama.log", key="sk-right") as server:
        await frontend.log_in(USER, PASSWORD)
        await frontend.add_integration("Home Agent")
        await frontend.choose(PRESETS["llama_cpp"])
        await frontend.submit()
        for sent, problem in (
            ({"base_url": "http://127.0.0.1:9"}, "cannot_connect"),
            ({"base_url": f"http://127.0.0.1:{server.port}"}, "key_needed"),
            ({"api_key": "sk-wrong"}, "invalid_auth"),
        ):
            for field, value in sent.items():
                await frontend.fill(field, value)
            assert (await frontend.submit())["errors"] == {"base": problem}
            await expect(alert).to_contain_text(MODEL["error"][problem])
        await expect(key).to_have_value("sk-wrong")
        await expect(frontend.dialog.get_by_text(MODEL["step"]["endpoint"]["data"]["remove_key"])).to_have_count(0)
        await frontend.fill("api_key", "sk-right")
        assert (await frontend.submit())["step_id"] == "model"
        chosen = frontend.dialog.locator("ha-selector", has_text="Model").locator("ha-picker-field").first
        await expect(chosen).to_contain_text("model")  # the only one there is
        await expect(chosen).not_to_contain_text(".gguf")
        await frontend.switch(MODEL["step"]["model"]["data"]["try_model"])
        await frontend.shot("add-3-llama")
        assert (await frontend.submit())["type"] == "progress"
        menu = frontend.dialog.locator("step-flow-menu")
        await menu.wait_for(timeout=TRIED)
        await expect(frontend.dialog).to_contain_text(MODEL["step"]["tried_no_tools"]["title"])
        await expect(frontend.dialog).to_contain_text("Tool calls: ✗")
        await frontend.shot("add-4-tested")
        assert (await frontend.choose_next(MODEL["step"]["tried_no_tools"]["menu_options"]["save"]))[
            "type"
        ] == "create_entry"
        await frontend.skip_check()
        [stored] = await hass.subentries("llm")
        assert stored["title"] == "model (127.0.0.1)"
        await expect(frontend.page.locator("home-assistant")).not_to_contain_text(".gguf")
    assert not frontend.problems


async def test_add_without_a_model_and_talk(hass: Hass, frontend: Frontend) -> None:
    await frontend.log_in(USER, PASSWORD)
    await frontend.add_integration("Home Agent")
    await frontend.choose(PRESETS["no_model"])
    assert (await frontend.submit())["type"] == "create_entry"
    await frontend.skip_check()

    [agent] = await hass.agents()
    await hass.create_pipeline(agent)
    await frontend.open_assist("Home Agent")
    await frontend.say("turn on the kitchen lights", "light")
    await hass.wait_for("light.kitchen_lights", "on")
    await frontend.say("write me a poem", "add a model")
    assert not frontend.problems


async def test_look_things_up_by_a_model_and_talk(
    hass: Hass, llm_server: LLMServer, embedding_server: EmbeddingServer, frontend: Frontend
) -> None:
    agent = await add_home_agent(hass, url=llm_server.base_url, model="qwen3:8b")
    await hass.create_pipeline(agent)
    await frontend.log_in(USER, PASSWORD)

    await frontend.advanced(TOPICS["retrieval"])
    await frontend.shot("search-and-documents")
    await frontend.select("Search method", "Words and embedding model")
    assert (await frontend.submit())["step_id"] == "embedding"
    await frontend.select("Model server", PRESETS["custom"])
    await frontend.fill("embedding_url", embedding_server.base_url)
    await frontend.fill("embedding_key", "sk-embed-1")
    await frontend.fill("embedding_model", "bge-m3")
    embedding_server.plan(unauthorized())
    assert (await frontend.submit())["errors"] == {"base": "retrieval_failed"}
    await expect(frontend.dialog.locator("ha-alert")).to_contain_text("refused the key")
    await expect(frontend.dialog.locator("input[name=embedding_key]")).to_have_value("")
    assert (await frontend.submit())["type"] == "menu"  # the key was kept
    assert embedding_server.headers[-1]["Authorization"] == "Bearer sk-embed-1"
    await frontend.choose_next(TOPICS["init"])
    await frontend.done()

    await frontend.press("Change agent")
    await frontend.more("Context sent to the model")
    await frontend.select("States", "Looked up for each question")
    await frontend.shot("agent-states")
    assert (await frontend.submit())["type"] == "menu"
    await frontend.page_of("Instructions")
    await expect(frontend.dialog.locator("ha-selector-template").last).to_contain_text(
        "You are a helpful home assistant"
    )
    assert (await frontend.save())["reason"] == "reconfigure_successful"

    llm_server.plan(text("21 degrees, quite warm."))
    await frontend.open_assist("Home Agent")
    await frontend.say("How warm is it at the Ecobee?", "21 degrees")
    told = llm_server.request.last_user
    assert '"climate.ecobee":"' in told
    assert "light.kitchen_lights" not in told
    assert any("How warm is it at the Ecobee?" in sent for sent in embedding_server.texts)

    await frontend.advanced(TOPICS["retrieval"])
    assert (await frontend.submit())["step_id"] == "embedding"
    await frontend.switch("Delete the stored key")
    assert (await frontend.submit())["type"] == "menu"
    assert "Authorization" not in embedding_server.headers[-1]
    assert not frontend.problems
    hass.assert_clean_log()


async def test_unchanged_forms_override_nothing(hass: Hass, llm_server: LLMServer, frontend: Frontend) -> None:
    await add_home_agent(hass, url=llm_server.base_url, model="qwen3:8b", model_first=False)
    await frontend.log_in(USER, PASSWORD)
    await frontend.press("Configure")
    for key in GEAR_TOPICS:
        await frontend.page_of(TOPICS[key])
        assert (await frontend.submit())["type"] == "menu", key
    await frontend.page_of(TOPICS["confirmation"])
    await frontend.fill("pin_unlock", "2468")
    assert (await frontend.submit())["type"] == "menu"
    await frontend.page_of(TOPICS["confirmation"])
    await expect(frontend.dialog.locator("input[name=pin_unlock]")).to_have_value("•" * 8)
    assert (await frontend.submit())["type"] == "menu"
    await frontend.page_of(TOPICS["safety"])
    await frontend.pick_entity("Always ask", "Ceiling Lights")
    assert (await frontend.submit())["type"] == "menu"
    await frontend.choose_next(TOPICS["advanced"])
    for key in ADVANCED_TOPICS:
        await frontend.page_of(TOPICS[key])
        assert (await frontend.submit())["type"] == "menu", key
    await frontend.choose_next(TOPICS["init"])
    await frontend.done()
    await frontend.press("Change model")
    assert (await frontend.submit())["step_id"] == "model"
    await frontend.unfold()
    assert (await frontend.submit())["reason"] == "reconfigure_successful"
    await frontend.press("Change agent")
    await frontend.switch("More settings")
    assert (await frontend.submit())["type"] == "menu"
    for key in AGENT_TOPICS:
        await frontend.page_of(MORE[key])
        assert (await frontend.submit())["type"] == "menu", key
    assert (await frontend.choose_next(MORE["save"]))["reason"] == "reconfigure_successful"
    assert not frontend.problems
    hass.assert_clean_log()
    await hass.stop()
    stored = json.loads((hass.process.folder / ".storage/core.config_entries").read_text())["data"]["entries"]
    [entry] = [entry for entry in stored if entry["domain"] == "home_agent"]
    assert entry["options"]["default_profile_settings"] == {}
    assert "retrieval" not in entry["options"]
    assert entry["options"]["pins"] == {"unlock": "2468"}
    assert entry["options"]["always_confirm"] == ["light.ceiling_lights"]
    [agent] = [item for item in entry["subentries"] if item["subentry_type"] == "profile"]
    assert agent["data"] == {}


async def test_add_a_tool_an_agent_and_a_dead_server(hass: Hass, llm_server: LLMServer, frontend: Frontend) -> None:
    await add_home_agent(hass, url=llm_server.base_url, model="qwen3:8b")
    await frontend.log_in(USER, PASSWORD)

    await frontend.press("Add tool")
    await frontend.fill("name", "month")
    await frontend.shot("tool")
    assert (await frontend.submit())["errors"] == {"description": "missing"}
    await frontend.dialog.locator("textarea").first.fill("Says which month it is.")
    await frontend.select("Type", "Template")
    assert (await frontend.submit())["step_id"] == "template"
    await frontend.dialog.locator("ha-selector-template .cm-content").click()
    await frontend.page.keyboard.insert_text("{{ now().month }}")
    assert (await frontend.submit())["type"] == "create_entry"

    await frontend.press("Add tool")
    await frontend.fill("name", "ask")
    await frontend.dialog.locator("textarea").first.fill("Asks.")
    assert (await frontend.submit())["step_id"] == "rest"  # the type that is chosen at first
    await frontend.unfold("Limits")
    assert await frontend.is_on("Verify the certificate")
    await frontend.fill("url", "https://127.0.0.1:9/")
    await frontend.switch("Verify the certificate")
    await frontend.select("Authentication", "Token")
    assert (await frontend.submit())["step_id"] == "bearer"
    await frontend.fill("token", "tok-1")
    assert (await frontend.submit())["type"] == "create_entry"
    await frontend.press("Change tool")
    assert (await frontend.submit())["step_id"] == "rest"
    await frontend.unfold("Limits")
    assert not await frontend.is_on("Verify the certificate")
    assert (await frontend.submit())["step_id"] == "bearer"
    await expect(frontend.dialog.locator("input[name=token]")).to_have_value("•" * 8)
    assert (await frontend.submit())["reason"] == "reconfigure_successful"

    await frontend.press("Add MCP server")
    await frontend.fill("name", "Library")
    await frontend.fill("url", "http://nas.local:8765/mcp")
    await frontend.shot("mcp-server")
    await frontend.fill("url", "http://127.0.0.1:9/mcp")
    assert (await frontend.submit())["errors"] == {"base": "cannot_connect"}
    await frontend.switch("Skip connection test")
    assert (await frontend.submit())["step_id"] == "tools"
    assert (await frontend.submit())["type"] == "create_entry"

    await frontend.press("Add agent")
    await frontend.page_of(STARTS["blank"])
    await frontend.fill("name", "Home Agent")
    assert (await frontend.submit())["errors"] == {"name": "name_taken"}
    await frontend.fill("name", "Butler")
    assert (await frontend.submit())["type"] == "create_entry"
    assert [subentry["title"] for subentry in await hass.subentries("custom_tool")] == ["month", "ask"]
    assert [subentry["title"] for subentry in await hass.subentries("mcp_server")] == ["Library"]
    await hass.wait_for_agents(2)
    assert not frontend.problems


async def test_a_proposed_name_is_known_once_approved(hass: Hass, llm_server: LLMServer, frontend: Frontend) -> None:
    """Alice is no administrator: what she teaches waits in Repairs; once approved, everything knows it until she takes it back."""
    agent = await add_home_agent(hass, url=llm_server.base_url, model="scripted", model_first=False)
    await hass.create_pipeline(agent, preferred=True)
    await add_user(hass, "alice")
    question = f"Call Bed Light ({BED}) “moon lamp” as well, as alice proposes?"
    async with Frontend.window(hass.url) as alice:
        await alice.log_in("alice", "alice")
        await alice.open_assist("Home Agent")
        await alice.say("When I say moon lamp, I mean the bed light", "I've proposed to call Bed Light “moon lamp”")
        assert "moon lamp" not in await aliases(hass)

        await frontend.log_in(USER, PASSWORD)
        await frontend.open("/config/repairs")
        await frontend.page.get_by_text(REPAIR["title"].format(count=1)).click(timeout=FIRST_PAGE_TIMEOUT)
        await expect(frontend.dialog.locator("ha-markdown").first).to_contain_text(question, timeout=FIRST_PAGE_TIMEOUT)
        await frontend.shot("name-repair")
        step = await frontend.choose_next(REPAIR["fix_flow"]["step"]["init"]["menu_options"]["approve_all"])
        assert step["type"] == "create_entry"
        assert "moon lamp" in await aliases(hass)

        # the home's sentences, the search and the model know it
        await hass.call("light.turn_off", BED)
        await frontend.open_assist("Home Agent")
        await frontend.say("turn on the moon lamp", "Turned on")
        await hass.wait_for(BED, "on")
        assert llm_server.requests == []
        llm_server.plan(tool_call("ha_query", {"entity_id": "moon lamp"}), text("It shines like the moon."))
        await frontend.say("Tell me a story about the moon lamp", "It shines like the moon.")
        first, second = llm_server.requests
        assert f"{BED} = Bed Light | moon lamp" in first.body["messages"][0]["content"]
        found = json.loads(second.body["messages"][-1]["content"])
        assert BED in json.dumps(found["result"])
        listed = await hass.call_for_response("home_agent.list_taught_names")
        assert [(row["name"], row["status"], row["present"]) for row in listed["names"]] == [
            ("moon lamp", "taught", True)
        ]

        await alice.say("undo that", "Bed Light is no longer called “moon lamp”.")
        assert "moon lamp" not in await aliases(hass)
        assert (await hass.call_for_response("home_agent.list_taught_names"))["names"] == []
        assert not alice.problems
    assert not frontend.problems
    hass.assert_clean_log()


async def add_user(hass: Hass, name: str) -> None:
    """Add a user who is no administrator, with their name as the password."""
    created = await hass.command("config/auth/create", name=name, group_ids=["system-users"])
    user_id = created["user"]["id"]
    await hass.command("config/auth_provider/homeassistant/create", user_id=user_id, username=name, password=name)


async def aliases(hass: Hass) -> list[str | None]:
    """Return the aliases of the bed light; None stands for its own name."""
    found: list[str | None] = (await hass.command("config/entity_registry/get", entity_id=BED))["aliases"]
    return found


async def test_two_agents_through_the_dialogs(hass: Hass, llm_server: LLMServer, frontend: Frontend) -> None:
    """One of them from a preset, the other with a command; each is talked to in Assist, and one asks before it acts."""
    first = await add_home_agent(hass, url=llm_server.base_url, model="qwen3:8b")
    await frontend.log_in(USER, PASSWORD)

    await frontend.press("Add agent")
    await frontend.shot("presets")
    await frontend.page_of(STARTS["security"])
    await expect(frontend.dialog.locator("input[name=name]")).to_have_value("Security")
    await frontend.select("Handle simple commands locally", "Off")
    assert (await frontend.submit())["type"] == "create_entry"
    await hass.wait_for_agents(2)

    await frontend.press("Add agent")
    await frontend.page_of(STARTS["storyteller"])
    await frontend.fill("name", "Bard")
    await frontend.more("Other agents")
    await frontend.add_text("Commands", "/Bard")
    assert (await frontend.save())["type"] == "create_entry"
    agents = await hass.wait_for_agents(3)
    [bard, security] = [agent for agent in agents if agent != first]
    for agent, name in ((security, "Security"), (bard, "Bard")):
        await hass.create_pipeline(agent, name)

    await frontend.open_assist("Bard")
    llm_server.plan(text("Once upon a time there was a lamp."))
    await frontend.say("Tell me of a lamp", "Once upon a time there was a lamp.")
    assert not llm_server.request.body.get("tools")

    await frontend.open_assist("Security")
    llm_server.plan(tool_call("ha_control", KITCHEN_ON))
    await frontend.say("I see nothing", "?")
    assert await hass.state("light.kitchen_lights") == "off"
    await frontend.say("yes", "Done")
    assert await hass.state("light.kitchen_lights") == "on"
    llm_server.plan(text("Once upon a time there was a key."))
    await frontend.say("/story of a key", "Once upon a time there was a key.")
    assert "of a key" in llm_server.request.last_user
    assert "You tell stories." in llm_server.request.body["messages"][0]["content"]
    assert not frontend.problems
    hass.assert_clean_log()
