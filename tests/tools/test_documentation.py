"""The tool that reads documents for users: who has it, what it returns, what it refuses."""

import json
from pathlib import Path
from typing import Any

from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.support.const import DOMAIN
from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call

NAME = "get_user_documentation_content"

pytestmark = pytest.mark.usefixtures("demo_house")


@pytest.fixture
def owned(hass: HomeAssistant) -> Path:
    folder = Path(hass.config.path("home_agent", "docs"))
    folder.mkdir(parents=True)
    (folder / "boiler.md").write_text("Press twice." + "x" * 13_000)
    Path(hass.config.path("secrets.yaml")).write_text("key: hunter2")
    return folder


def offered(server: LLMServer) -> dict[str, Any]:
    """Return the tool of the last request as it was offered; empty when it was not."""
    tools = server.request.body.get("tools", [])
    return next((tool["function"] for tool in tools if tool["function"]["name"] == NAME), {})


async def read(hass: HomeAssistant, server: LLMServer, **arguments: object) -> dict[str, Any]:
    """Let the model call the tool; return the envelope that it gets."""
    replies = [tool_call(NAME, dict(arguments)), text("Read.")]
    server.respond(lambda _body: replies.pop(0))
    assert speech(await say(hass, "how does the boiler work?")) == "Read."
    return dict(json.loads(server.request.body["messages"][-1]["content"]))


async def test_two_calls_read_a_long_document(hass: HomeAssistant, llm_server: LLMServer, owned: Path) -> None:
    await set_up(hass, llm_server, profile={"documentation_tool": True})
    told = await read(hass, llm_server, filename="boiler.md")
    assert told["success"]
    assert told["result"]["content"].startswith("Press twice.")
    assert (len(told["result"]["content"]), told["result"]["next_offset"]) == (12_000, 12_000)
    rest = await read(hass, llm_server, filename="boiler.md", offset="12000")
    assert (len(rest["result"]["content"]), "next_offset" in rest["result"]) == (1012, False)
    assert not (await read(hass, llm_server, filename="boiler.md", offset=13_012))["success"]
    assert "Documents: TALKING.md, USER_GUIDE.md, boiler.md." in offered(llm_server)["description"]


@pytest.mark.parametrize("name", [
    "../secrets.yaml", "../../secrets.yaml", "/etc/passwd", "link.md", "pipes/../../secrets.yaml", "secrets.yaml", " ",
])  # fmt: skip
async def test_it_reads_nothing_else(hass: HomeAssistant, llm_server: LLMServer, owned: Path, name: str) -> None:
    (owned / "link.md").symlink_to(hass.config.path("secrets.yaml"))
    await set_up(hass, llm_server, profile={"documentation_tool": True})
    told = await read(hass, llm_server, filename=name)
    assert (told["success"], told["result"]) == (False, None)
    assert told["error"].endswith("Available: TALKING.md, USER_GUIDE.md, boiler.md.")
    assert "hunter2" not in str(llm_server.request.body)


async def test_only_agents_with_it_are_offered_it(hass: HomeAssistant, llm_server: LLMServer, owned: Path) -> None:
    await set_up(hass, llm_server, profile={"system_documents": ["USER_GUIDE.md"]})
    told = await read(hass, llm_server, filename="USER_GUIDE.md")
    assert not told["success"]
    assert "There is no tool" in told["error"]
    assert offered(llm_server) == {}


async def test_it_is_not_offered_where_there_is_no_document(
    hass: HomeAssistant, llm_server: LLMServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCS_USER_DIR", str(tmp_path / "nowhere"))
    Path(hass.config.path("configuration.yaml")).write_text("")
    await set_up(hass, llm_server, profile={"documentation_tool": True})
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "hello")
    assert offered(llm_server) == {}
    folder = Path(hass.config.path("home_agent", "docs"))
    folder.mkdir(parents=True)
    (folder / "new.md").write_text("New.")
    await hass.services.async_call(DOMAIN, "reload", blocking=True)
    await say(hass, "hello")
    assert "Documents: new.md." in offered(llm_server)["description"]


async def test_the_policy_decides_on_it_as_on_any_tool(
    hass: HomeAssistant, llm_server: LLMServer, owned: Path, hass_admin_user: MockUser
) -> None:
    await set_up(hass, llm_server, profile={"documentation_tool": True, "always_ask": [NAME]})
    calls = [tool_call(NAME, {"filename": "boiler.md"}), text("Read.")]
    llm_server.respond(lambda _body: calls.pop(0))
    context = Context(user_id=hass_admin_user.id)
    result = await say(hass, "how does the boiler work?", context=context)
    assert "Press twice" not in str(llm_server.request.body)
    assert speech(result).endswith("?")
    await hass.config_entries.async_unload(hass.config_entries.async_entries(DOMAIN)[0].entry_id)


async def test_its_words_make_the_conversation_no_more_careful(
    hass: HomeAssistant, llm_server: LLMServer, owned: Path, hass_admin_user: MockUser
) -> None:
    """The owner wrote them: what is never asked about is not asked about behind them either."""
    profile = {"documentation_tool": True, "never_ask": ["lock.front_door"]}
    await set_up(hass, llm_server, profile=profile)
    calls = [
        tool_call(NAME, {"filename": "boiler.md"}),
        tool_call("ha_control", {"action": "unlock", "entity_id": "lock.front_door"}),
        text("Unlocked."),
    ]
    llm_server.respond(lambda _body: calls.pop(0))
    result = await say(hass, "read and unlock", context=Context(user_id=hass_admin_user.id))
    assert speech(result) == "Unlocked."
    assert json.loads(llm_server.request.body["messages"][-1]["content"])["success"]
