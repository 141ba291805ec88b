"""The form of a server: it connects, says what is wrong, and keeps keys to itself."""

import asyncio
import json
from pathlib import Path
import ssl
from typing import Any

from aiohttp import web
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.requirements import RequirementsNotFound
import pytest

from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
from custom_components.home_agent.tools.mcp import sdk
from custom_components.home_agent.tools.mcp.wire import CONNECT_TIMEOUT
from tests.client.conftest import server_certificate
from tests.flows.forms import add, change, fields, options, shown
from tests.house import set_up
from tests.tools.custom.conftest import server
from tests.tools.custom.rest_server import Answer, RestServer, answer, serve_tokens
from tests.tools.mcp.conftest import tools_of
from tests.tools.mcp.forms import access, send, stored

from .conftest import TOKEN, StartServer, is_connected, server_of, set_up_servers, until, with_key
from .mcp_server import McpServer

__all__ = ["server", "server_certificate"]


async def test_a_server_is_added(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up(hass)
    form = await add(hass, entry, "mcp_server")
    assert shown(form) == {"transport": "auto", "auth": "none", "verify_ssl": True}
    assert set(fields(form)) == {"name", "url", "auth", "transport", "verify_ssl"}
    form = await send(hass, form, **access(library, url=f" {library.url} "))
    assert form["step_id"] == "tools"
    assert options(form, "allowed_tools") == ["lend_book", "burn_books", "unsaid"]
    assert "find_book" in form["description_placeholders"]["reading"]
    assert form["description_placeholders"]["count"] == "12"
    result = await send(hass, form, allowed_tools=["unsaid", " lend_book ", "lend_book"])
    assert (result["type"], result["title"]) == (FlowResultType.CREATE_ENTRY, "Library")
    assert stored(entry) == {
        "url": library.url, "transport": "auto", "auth": "bearer", "verify_ssl": True, "token": TOKEN,
        "allowed_tools": ["lend_book", "unsaid"],
    }  # fmt: skip
    [server] = entry.runtime_data.mcp_tools.servers.values()
    await until(lambda: is_connected(server))


async def test_a_server_without_a_name_has_that_of_its_host(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "mcp_server"), **access(library, name=""))
    assert (await send(hass, form))["title"] == "127.0.0.1"


@pytest.mark.parametrize(("step", "sent", "errors"), [
    pytest.param("user", {"url": "mcp.example.com"}, {"url": "invalid_url"}, id="no address"),
    pytest.param("user", {"url": "https://me:secret@mcp.example.com"}, {"url": "invalid_url"}, id="password in it"),
    pytest.param("bearer", {"token": ""}, {"token": "missing"}, id="no key"),
    pytest.param("bearer", {"token": "wrong-key-1"}, {"base": "invalid_auth"}, id="wrong key"),
    pytest.param("user", {"auth": "none"}, {"auth": "key_needed"}, id="no key at all"),
    pytest.param("user", {"url": "http://127.0.0.1:9/mcp"}, {"base": "cannot_connect"}, id="nobody is there"),
    pytest.param("user", {"name": "library"}, {"name": "name_taken"}, id="another has the name"),
    pytest.param(
        "oauth2", {"auth": "oauth2", "token_url": "auth.example.com", "client_id": "home"},
        {"token_url": "invalid_url", "client_secret": "missing"}, id="half of OAuth",
    ),
])  # fmt: skip
async def test_what_is_wrong(
    hass: HomeAssistant, library: McpServer, step: str, sent: dict[str, Any], errors: dict[str, str]
) -> None:
    entry = await set_up(hass, more=[with_key(library)])
    form = await send(hass, await add(hass, entry, "mcp_server"), **access(library, name="Other") | sent)
    assert (form["step_id"], form["errors"]) == (step, errors)
    assert shown(form).get("token") in (None, "••••••••")
    assert ("use_anyway" in fields(form)) is bool({"base", "auth"} & errors.keys())


async def test_a_key_that_is_entered_is_used(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "mcp_server"), **access(library))
    await send(hass, form, allowed_tools=[])
    assert (stored(entry)["auth"], stored(entry)["token"]) == ("bearer", TOKEN)


async def test_a_key_need_not_be_entered_again_after_an_error(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up(hass, more=[with_key(library)])
    form = await send(
        hass, await add(hass, entry, "mcp_server"), **access(library, name="Other", url="http://127.0.0.1:9/mcp")
    )
    assert (form["step_id"], form["errors"]) == ("user", {"base": "cannot_connect"})
    form = await send(hass, form, **access(library, name="library", url="http://127.0.0.1:9/sse"))
    assert form["errors"] == {"name": "name_taken"}
    form = await send(hass, form, name="Other", url="http://127.0.0.1:9/mcp", auth="bearer")
    assert (form["step_id"], shown(form)) == ("bearer", {"token": "••••••••"})


async def test_a_form_asks_only_for_what_the_choice_needs(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up(hass)
    asked = {}
    for auth in ("bearer", "oauth2"):
        form = await send(hass, await add(hass, entry, "mcp_server"), name="Library", url=library.url, auth=auth)
        asked[form["step_id"]] = list(fields(form))
    assert asked == {"bearer": ["token"], "oauth2": ["token_url", "client_id", "client_secret", "scope"]}
    form = await send(hass, await add(hass, entry, "mcp_server"), name="Library", url=library.url, auth="none")
    assert form["errors"] == {"auth": "key_needed"}


async def test_a_fresh_key_goes_to_its_server_only(hass: HomeAssistant, library: McpServer, server: RestServer) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "mcp_server"), **access(library, url="http://127.0.0.1:9/mcp"))
    assert form["errors"] == {"base": "cannot_connect"}
    form = await send(hass, form, **access(library, token="", url=f"{server.url}/mcp"))
    assert form["errors"] == {"token": "missing"}
    assert server.asked == []


async def test_missing_library(hass: HomeAssistant, library: McpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_arguments: object) -> None:
        raise RequirementsNotFound("mcp", ["mcp==1"])

    monkeypatch.setattr(sdk, "async_process_requirements", refuse)
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "mcp_server"), **access(library))
    assert form["errors"] == {"base": "no_sdk"}
    assert library.requests == 0


@pytest.mark.parametrize("said", [
    pytest.param(answer("", 404), id="no such page"),
    pytest.param(answer("<html>", Content_Type="text/html"), id="a page"),
    pytest.param(answer({"ok": True}), id="another JSON"),
    pytest.param(answer("<html>", 501, Content_Type="text/html"), id="a page that takes no requests"),
])  # fmt: skip
async def test_what_answers_is_no_server_of_this_kind(hass: HomeAssistant, server: RestServer, said: Answer) -> None:
    server.answers["/mcp"] = said
    entry = await set_up(hass)
    async with asyncio.timeout(CONNECT_TIMEOUT / 2):  # it is not waited for what never comes
        form = await send(hass, await add(hass, entry, "mcp_server"), url=f"{server.url}/mcp")
    assert form["errors"] == {"base": "not_mcp"}


async def test_silent_server(hass: HomeAssistant, server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    over = asyncio.Event()

    async def silence(_request: web.Request) -> web.Response:
        await over.wait()
        return web.Response()

    monkeypatch.setattr(sdk, "CONNECT_TIMEOUT", 0.5)
    server.answers["/mcp"] = silence
    form = await send(hass, await add(hass, await set_up(hass), "mcp_server"), url=f"{server.url}/mcp")
    over.set()
    assert form["errors"] == {"base": "timeout_connect"}
    assert "use_anyway" in fields(form)


async def test_a_bare_host_serves_at_the_usual_path(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up(hass)
    form = await send(
        hass, await add(hass, entry, "mcp_server"), **access(library, url=library.url.removesuffix("/mcp"))
    )
    assert form["step_id"] == "tools"


async def test_a_server_that_is_off_can_be_added(hass: HomeAssistant, socket_enabled: None) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "mcp_server"), name="Off", url="http://127.0.0.1:9/mcp")
    form = await send(hass, form, name="Off", url="http://127.0.0.1:9/mcp", use_anyway=True)
    assert form["step_id"] == "tools"
    result = await send(hass, form, allowed_tools=["typed"])
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert stored(entry)["allowed_tools"] == ["typed"]
    assert "use_anyway" not in stored(entry)


async def test_a_key_stays_and_is_not_shown(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up_servers(hass, with_key(library, allowed_tools=["lend_book"]))
    form = await change(hass, entry, "mcp_server", "mcp-1")
    assert shown(form) == {
        "name": "Library", "url": library.url, "transport": "auto", "auth": "bearer", "verify_ssl": True,
    }  # fmt: skip
    form = await send(hass, form, name="Books", url=library.url, auth="bearer")
    assert shown(form) == {"token": "••••••••"}
    form = await send(hass, form, token="••••••••")
    assert shown(form) == {"allowed_tools": ["lend_book"]}
    result = await send(hass, form, allowed_tools=[])
    assert result["reason"] == "reconfigure_successful"
    assert (stored(entry)["token"], stored(entry)["allowed_tools"]) == (TOKEN, [])
    assert entry.subentries["mcp-1"].title == "Books"


async def test_a_key_goes_to_no_other_server(hass: HomeAssistant, library: McpServer, server: RestServer) -> None:
    entry = await set_up_servers(hass, with_key(library))
    form = await send(
        hass, await change(hass, entry, "mcp_server", "mcp-1"), **access(library, token="", url=f"{server.url}/mcp")
    )
    assert form["errors"] == {"token": "missing"}
    assert server.asked == []
    assert await hass.config_entries.async_unload(entry.entry_id)
    library.forget()
    server.answers["/mcp"] = answer("", 302, Location=library.url)
    form = await send(hass, form, **access(library, token="tok-of-another", url=f"{server.url}/mcp"))
    assert form["errors"]["base"] in ("cannot_connect", "not_mcp")
    assert [item.headers["Authorization"] for item in server.asked] == ["Bearer tok-of-another"] * len(server.asked)
    assert library.requests == 0


async def test_a_server_is_removed(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up_servers(hass, with_key(library))
    before = server_of(entry)
    assert await tools_of(entry)
    assert hass.config_entries.async_remove_subentry(entry, "mcp-1")
    await hass.async_block_till_done()
    assert not await tools_of(entry)
    assert entry.runtime_data.mcp_tools.servers == {}
    await until(lambda: not before.connected)


async def test_a_certificate_that_nobody_vouches_for(
    hass: HomeAssistant, start_server: StartServer, server_certificate: ssl.SSLContext, tmp_path: Path
) -> None:
    tls = start_server(token=TOKEN, certificate=tmp_path / "server.pem")
    entry = await set_up(hass, profile={"mcp_servers": []})
    form = await send(hass, await add(hass, entry, "mcp_server"), **access(tls))
    assert form["errors"] == {"base": "certificate"}
    form = await send(hass, form, **access(tls, verify_ssl=False))
    assert form["step_id"] == "tools"
    await send(hass, form)
    [found] = entry.runtime_data.mcp_tools.servers.values()
    await until(lambda: is_connected(found))


async def test_oauth(hass: HomeAssistant, start_server: StartServer, server: RestServer) -> None:
    serve_tokens(server)
    library = start_server(token="access-token-1")  # the second one that the server gives: the first is refused
    entry = await set_up(hass)
    access = {"url": library.url, "auth": "oauth2", "token_url": f"{server.url}/token", "client_id": "home"}
    form = await send(hass, await add(hass, entry, "mcp_server"), **access, client_secret="very-secret", scope="books")
    assert form["step_id"] == "tools"
    assert [item.target for item in server.asked] == ["/token", "/token"]
    assert server.last.form == {"grant_type": ["client_credentials"], "scope": ["books"]}
    result = await send(hass, form)
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert stored(entry)["client_secret"] == "very-secret"
    assert "token" not in stored(entry)


async def test_a_token_server_that_gives_none(hass: HomeAssistant, library: McpServer, server: RestServer) -> None:
    server.answers["/token"] = answer({"error": "invalid_client"}, 401)
    entry = await set_up(hass)
    access = {"url": library.url, "auth": "oauth2", "token_url": f"{server.url}/token", "client_id": "home"}
    form = await send(hass, await add(hass, entry, "mcp_server"), **access, client_secret="very-secret")
    assert form["errors"] == {"base": "invalid_auth"}


async def test_owners_servers_need_no_host(hass: HomeAssistant, start_server: StartServer, server: RestServer) -> None:
    serve_tokens(server)
    library = start_server(token="access-token-0")
    entry = await set_up(hass, options={"allowed_hosts": ["api.example.com"]})
    access = {"url": library.url, "auth": "oauth2", "token_url": f"{server.url}/token", "client_id": "home"}
    form = await send(hass, await add(hass, entry, "mcp_server"), **access, client_secret="very-secret")
    assert form["step_id"] == "tools"


async def test_diagnostics_have_no_secret(hass: HomeAssistant, library: McpServer, socket_enabled: None) -> None:
    oauth = {
        "auth": "oauth2", "token_url": "http://127.0.0.1:9/t", "client_id": "home-9", "client_secret": "very-secret",
    }  # fmt: skip
    other = {**with_key(library, 2), "data": {"url": "http://127.0.0.1:9/mcp", **oauth}}
    entry = await set_up(hass, more=[with_key(library), other])  # type: ignore[list-item]
    await until(lambda: server_of(entry).connected)
    told = json.dumps(await async_get_config_entry_diagnostics(hass, entry))
    assert '"connected": true, "tools": 12' in told
    assert not [secret for secret in (TOKEN, "very-secret", "home-9") if secret in told]
