"""One tool of a server as a tool of the owner's own, called as a model calls it."""

import asyncio
from ipaddress import ip_address
from pathlib import Path
import ssl
from typing import Any

from cryptography import x509
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.support.errors import McpUnreachableError
from custom_components.home_agent.support.masking import MASK
from custom_components.home_agent.tools.custom.mcp import McpCallTool, named
from custom_components.home_agent.tools.custom.provider import CustomTools
from custom_components.home_agent.tools.mcp import wire
from custom_components.home_agent.tools.mcp.sdk import RemoteTool
from custom_components.home_agent.tools.mcp.server import Server
from tests.client.conftest import write_certificate
from tests.house import say, set_up, subentry
from tests.llm_server import LLMServer, tool_call
from tests.tools.custom.conftest import Run, WriteYaml, issues, write_yaml

from .conftest import NOBODY, TOKEN, StartServer, until
from .mcp_server import McpServer

__all__ = ["write_yaml"]

SECRETS = f"mcp_token: {TOKEN}"
PAGE = """
home_agent:
  secrets:
    mcp_token: !secret mcp_token
  custom_tools:
    - name: query_knowledge_base
      description: "Query external knowledge base via MCP"
      parameters:
        type: object
        properties:
          {parameter}:
            type: string
      handler:
        type: mcp
        server_url: "{url}"
        method: "{method}"
        auth:
          type: bearer
          token: "{{{{ secrets.mcp_token }}}}"
"""


def page(server: McpServer, method: str = "find_book", *more: str, parameter: str = "title", **says: Any) -> str:
    """Return the example of the specification for a real server; `more` lines for its handler, `says` for the tool."""
    text = PAGE.format(url=server.url, method=method, parameter=parameter)
    said = "".join(f"      {key}: {str(value).lower()}\n" for key, value in says.items())
    return text.replace("      handler:\n", f"{said}      handler:\n") + "".join(f"        {line}\n" for line in more)


def tools(hass: HomeAssistant) -> CustomTools:
    [entry] = hass.config_entries.async_entries("home_agent")
    found: CustomTools = entry.runtime_data.custom_tools
    return found


def connections(hass: HomeAssistant) -> list[Server]:
    return [*tools(hass)._servers._servers.values()]


async def at_home(host: str) -> list[dict[str, Any]]:
    return [{"hostname": host, "host": "127.0.0.1", "port": 0, "family": 2, "proto": 0, "flags": 0}]


async def test_key_is_sent(hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(page(library), secrets=SECRETS)
    assert issues(hass) == {}
    assert connections(hass) == []
    answer = await run("query_knowledge_base", title="Emil")
    assert answer == {"success": True, "result": "Found Emil: shelf 4.[31m", "error": None}
    assert library.calls == [{"name": "find_book", "title": "Emil"}]


async def test_connections_are_reused(hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, run: Run) -> None:
    other = page(library, "slow").partition("custom_tools:\n")[2].replace("query_knowledge_base", "other")
    await write_yaml(page(library) + other, secrets=SECRETS)
    await run("query_knowledge_base", title="Emil")
    [server] = connections(hass)
    await run("query_knowledge_base", title="Emil")
    await run("other")
    assert connections(hass) == [server]
    await write_yaml(page(library), secrets=SECRETS)
    assert connections(hass) == [server]
    assert server.connected
    await write_yaml(page(library, "huge"), secrets=SECRETS)
    assert connections(hass) == []
    assert not server.connected
    await run("query_knowledge_base")
    [server] = connections(hass)
    [entry] = hass.config_entries.async_entries("home_agent")
    assert await hass.config_entries.async_unload(entry.entry_id)
    assert not server.connected


async def test_outliving_call(hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(page(library, "slow", "min_interval: 0"), secrets=SECRETS)
    [entry] = hass.config_entries.async_entries("home_agent")
    shared = tools(hass)._servers
    waiting: asyncio.Future[dict[str, Any]] = asyncio.ensure_future(run("query_knowledge_base"))
    await until(lambda: bool(library.calls))
    await write_yaml(page(library), secrets=SECRETS)  # whose tool is another object
    assert not (await waiting)["success"]
    assert connections(hass) == []
    assert (await run("query_knowledge_base", title="Emil"))["success"]
    [tool] = await tools(hass).async_tools(next(iter(entry.runtime_data.profiles.values())), NOBODY)
    assert await hass.config_entries.async_unload(entry.entry_id)
    assert isinstance(tool, McpCallTool)
    with pytest.raises(McpUnreachableError):
        await tool._async_remote()
    assert not shared._servers
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("home_agent mcp")]


@pytest.mark.parametrize(("method", "says", "runs"), [
    pytest.param("find_book", {}, True, id="the server says that it reads"),
    pytest.param("lend_book", {}, False, id="the server says that it writes"),
    pytest.param("burn_books", {}, False, id="the server says both"),
    pytest.param("unsaid", {}, False, id="the server says nothing"),
    pytest.param("lend_book", {"read_only": True}, True, id="the owner says that it reads"),
    pytest.param("lend_book", {"destructive": False}, True, id="the owner says that it does no harm"),
    pytest.param("unsaid", {"read_only": False}, False, id="the owner says that it writes"),
    pytest.param("find_book", {"destructive": True}, False, id="the owner says that it can do harm"),
])  # fmt: skip
@pytest.mark.usefixtures("hass")
async def test_what_does_more_than_read_needs_a_yes(
    library: McpServer, write_yaml: WriteYaml, run: Run, method: str, says: dict[str, Any], runs: bool
) -> None:
    await write_yaml(page(library, method, **says), secrets=SECRETS)
    answer = await run("query_knowledge_base", title="Emil")
    assert answer["success"] is runs, answer
    assert bool(library.calls) is runs


async def test_a_yes_lets_it_happen(
    hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, llm_server: LLMServer
) -> None:
    await write_yaml(page(library, "lend_book", title="Library"), secrets=SECRETS, server=llm_server)
    llm_server.plan(tool_call("query_knowledge_base", {"title": "Emil"}))
    asked = await say(hass, "Lend me Emil", device_id="device")
    assert asked.continue_conversation
    assert library.calls == []
    await say(hass, "yes", asked.conversation_id, device_id="device")
    assert library.calls == [{"name": "lend_book", "title": "Emil"}]


async def test_second_call_waits(hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(page(library, "find_book", "min_interval: 3600"), secrets=SECRETS)
    assert (await run("query_knowledge_base", title="Emil"))["success"]
    assert not (await run("query_knowledge_base", title="Emil"))["success"]


@pytest.mark.parametrize(("method", "lines", "expected"), [
    pytest.param("find_book", ['arguments: {title: "{{ title }} II", limit: 2}'], "Found Emil II: shelf 4.[31m"),
    pytest.param("find_book", ['response: "{{ response[:10] }} for {{ title }}"'], "Found Emil for Emil"),
    pytest.param("catalogue", ["response_path: books[0].title"], "Emil"),
    pytest.param("catalogue", ['response: "{{ response.books | length }}"'], 2),
    pytest.param("repeats_key", [], f"Your key is {MASK}"),
    pytest.param("ha-query", [], "dotted"),
    pytest.param("cover", [], "The cover:\n[image, image/png, 3 bytes: not shown]"),
])  # fmt: skip
@pytest.mark.usefixtures("hass")
async def test_what_is_sent_and_what_comes_back(
    library: McpServer, write_yaml: WriteYaml, run: Run, method: str, lines: list[str], expected: object
) -> None:
    await write_yaml(page(library, method, *lines), secrets=SECRETS)
    answer = await run("query_knowledge_base", title="Emil")
    assert answer["success"], answer
    assert answer["result"] == expected


@pytest.mark.parametrize(("method", "lines", "error"), [
    pytest.param("burn_book", [], "has no tool burn_book.", id="unknown tool"),
    pytest.param("fails", [], "Error executing tool fails", id="it fails"),
    pytest.param("slow", ["timeout: 1", "arguments: {pause: 3}"], "did not answer within 1 seconds", id="too slow"),
    pytest.param(
        "find_book", ['arguments: {title: "{{ title * 9000 }}"}'], "The arguments are too long.", id="too long",
    ),
])  # fmt: skip
async def test_what_goes_wrong_is_told(
    hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, run: Run, method: str, lines: list[str], error: str
) -> None:
    await write_yaml(page(library, method, *lines), secrets=SECRETS)
    await run("query_knowledge_base", title="Emil")  # connects, which takes its time on a busy machine
    answer = await run("query_knowledge_base", title="Emil")
    assert not answer["success"]
    assert error in answer["error"]


async def test_long_results_are_cut(hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(page(library, "huge"), secrets=SECRETS)
    answer = await run("query_knowledge_base")
    assert len(answer["result"]["text"]) == 16_000


async def test_a_template_hides_names(hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, run: Run) -> None:
    hass.states.async_set("sensor.vault", "8841")
    async_expose_entity(hass, "conversation", "sensor.vault", False)
    await write_yaml(page(library, "find_book", 'arguments: {title: "{{ states(title) }}"}'), secrets=SECRETS)
    answer = await run("query_knowledge_base", title="sensor.vault")
    assert not answer["success"]
    assert library.calls == []


async def test_new_server(hass: HomeAssistant, start_server: StartServer, write_yaml: WriteYaml, run: Run) -> None:
    server = start_server(token=TOKEN)
    await write_yaml(page(server), secrets=SECRETS)
    assert (await run("query_knowledge_base", title="Emil"))["success"]
    server.stop()
    answer = await run("query_knowledge_base", title="Emil")
    assert "cannot be used now" in answer["error"]
    server.start()
    assert (await run("query_knowledge_base", title="Emil"))["success"]
    assert [server.connected for server in connections(hass)] == [True]


async def test_restart_between(hass: HomeAssistant, start_server: StartServer, write_yaml: WriteYaml, run: Run) -> None:
    server = start_server(token=TOKEN)
    await write_yaml(page(server), secrets=SECRETS)
    await run("query_knowledge_base", title="Emil")
    server.stop()
    server.start()
    assert (await run("query_knowledge_base", title="Lotta"))["success"]
    assert [call["title"] for call in server.calls] == ["Emil", "Lotta"]


@pytest.mark.usefixtures("impatient")
async def test_a_wrong_key(hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(page(library), secrets="mcp_token: wrong-key-1")
    answer = await run("query_knowledge_base", title="Emil")
    assert answer["error"].endswith("cannot be used now (AuthError).")
    await until(lambda: "mcp_server_failing" in issues(hass))
    assert library.calls == []


async def test_only_allowed_hosts_are_asked(hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml) -> None:
    await write_yaml(page(library), secrets=SECRETS, options={"allowed_hosts": ["api.example.com"]})
    assert "127.0.0.1" in issues(hass)["custom_yaml_tool"]["reason"]
    assert tools(hass).names == []


async def test_a_name_that_leads_into_the_house_is_refused(
    hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_yaml(page(library).replace("127.0.0.1", "mcp.example.com"), secrets=SECRETS)

    monkeypatch.setattr(tools(hass)._http.resolver, "_resolve", at_home)
    answer = await run("query_knowledge_base", title="Emil")
    assert answer["error"].endswith("leads to an address at home, which the administrator does not allow.")
    assert library.calls == []


async def test_a_name_of_the_house_leads_into_it(
    hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_yaml(page(library).replace("127.0.0.1", "localhost"), secrets=SECRETS)

    monkeypatch.setattr(tools(hass)._http.resolver, "_resolve", at_home)
    assert (await run("query_knowledge_base", title="Emil"))["success"]


@pytest.mark.parametrize(("certified", "works"), [
    pytest.param(x509.DNSName("mcp.example.com"), True, id="for the name"),
    pytest.param(x509.DNSName("other.example.com"), False, id="for another name"),
    pytest.param(x509.IPAddress(ip_address("127.0.0.1")), False, id="for the address"),
])  # fmt: skip
async def test_the_certificate_is_that_of_the_name(
    hass: HomeAssistant,
    start_server: StartServer,
    write_yaml: WriteYaml,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    certified: x509.GeneralName,
    works: bool,
) -> None:
    pem = tmp_path / "server.pem"
    write_certificate(pem, certified)
    monkeypatch.setattr(wire, "client_context", lambda: ssl.create_default_context(cafile=pem))
    server = start_server(token=TOKEN, certificate=pem)
    text = page(server).replace("127.0.0.1", "mcp.example.com")
    await write_yaml(text, secrets=SECRETS, options={"allow_private_hosts": True})
    monkeypatch.setattr(tools(hass)._http.resolver, "_resolve", at_home)
    answer = await run("query_knowledge_base", title="Emil")
    assert answer["success"] is works
    assert works or answer["error"].endswith("cannot be used now (CertificateError).")


@pytest.mark.parametrize(("old", "new", "line", "reason"), [
    pytest.param("server_url: ", "url: ", "15", "url: not a valid option", id="no address"),
    pytest.param("http://127", "ftp://127", "15", "needs a fixed address with http", id="no web address"),
    pytest.param(
        "http://127", "http://user:pass@127", "15", "needs a fixed address with http", id="password in the address",
    ),
    pytest.param("/mcp", "/{{ title }}", "15", "needs a fixed address with http", id="template in the address"),
    pytest.param("type: bearer", "type: digest", "18", "bearer", id="unknown authentication"),
    pytest.param("secrets.mcp_token", "secrets.mcp_tok", "19", "mcp_tok", id="unknown secret"),
    pytest.param('method: "', 'methods: "', "16", "methods: not a valid option", id="no tool"),
])  # fmt: skip
async def test_what_is_wrong_is_said_with_its_line(
    hass: HomeAssistant, library: McpServer, write_yaml: WriteYaml, old: str, new: str, line: str, reason: str
) -> None:
    good = "    - {name: good, description: x, handler: {type: template, template: x}}\n"
    await write_yaml(page(library).replace(old, new, 1) + good, secrets=SECRETS)
    found = issues(hass)["custom_yaml_tool"]
    assert (found["tool"], found["file"]) == ("query_knowledge_base", "configuration.yaml")
    assert reason in found["reason"]
    assert found["line"] == line
    assert tools(hass).names == ["good"]


def test_names_are_matched_with_tolerance() -> None:
    def tool(name: str) -> RemoteTool:
        return RemoteTool(name=name, title=None, description=None, schema={}, read_only=True)

    slash, snake, other = tool("knowledge/query"), tool("knowledge_query"), tool("query")
    assert named([other, snake, slash], "knowledge/query") is slash
    assert named([other, snake], "knowledge/query") is snake
    assert named([other, tool("Knowledge.Query"), snake], "knowledge/query") is None
    assert named([other], "knowledge/query") is None


async def test_a_tool_that_was_added_in_the_ui(hass: HomeAssistant, library: McpServer, run: Run) -> None:
    handler = {
        "type": "mcp", "server_url": library.url, "method": "find_book", "auth": {"type": "bearer", "token": TOKEN},
    }  # fmt: skip
    parameters = {"properties": {"title": {"type": "string"}}}
    data = {"name": "look_up", "description": "Looks up.", "parameters": parameters, "handler": handler}
    entry = await set_up(hass, more=[subentry("custom_tool", "look_up", "tool-1", data)])
    assert (await run("look_up", title="Emil"))["success"]
    [server] = connections(hass)
    assert hass.config_entries.async_remove_subentry(entry, "tool-1")
    await hass.async_block_till_done()
    assert not server.connected
    assert tools(hass).names == []
