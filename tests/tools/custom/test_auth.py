"""How a tool proves who it is, with a real token endpoint."""

import asyncio
from base64 import b64encode
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from tests.tools.custom.conftest import Run, WriteYaml, issues, tool
from tests.tools.custom.rest_server import RestServer, answer, echo, serve_tokens

OAUTH = """
auth:
  type: oauth2
  token_url: "{url}/token"
  client_id: "home agent"
  client_secret: "{{{{ secrets.api_key }}}}"
  scope: read write
"""


def asked(server: RestServer, path: str) -> int:
    return sum(item.target == path for item in server.asked)


async def test_a_token_is_asked_for_once(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    serve_tokens(server)
    await write_yaml(tool(server, OAUTH.format(url=server.url)))
    results = await asyncio.gather(*(run("ask") for _ in range(4)))
    assert all(result["success"] for result in results)
    assert asked(server, "/token") == 1
    request = next(item for item in server.asked if item.target == "/token")
    assert request.form == {"grant_type": ["client_credentials"], "scope": ["read write"]}
    assert request.headers["Authorization"] == f"Basic {b64encode(b'home+agent:sk-very-secret').decode()}"
    assert "access-token" not in str(results)


async def test_credentials_in_the_form(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    serve_tokens(server)
    await write_yaml(tool(server, OAUTH.format(url=server.url) + "  credentials_in: body\n  audience: house\n"))
    assert (await run("ask"))["success"]
    request = next(item for item in server.asked if item.target == "/token")
    assert request.form["client_secret"] == ["sk-very-secret"]
    assert request.form["audience"] == ["house"]
    assert "Authorization" not in request.headers


async def test_a_token_at_its_end_is_renewed(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    serve_tokens(server, expires_in=30)
    await write_yaml(tool(server, OAUTH.format(url=server.url)))
    assert (await run("ask"))["success"]
    assert (await run("ask"))["success"]
    assert asked(server, "/token") == 2


async def test_a_token_that_is_refused_is_renewed_once(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    serve_tokens(server)
    await write_yaml(tool(server, "method: POST\n" + OAUTH.format(url=server.url)))
    assert (await run("ask"))["success"]
    protected, server.answers["/v1"] = server.answers["/v1"], answer({"error": "no"}, 401)
    result = await run("ask")
    assert "401 Unauthorized" in result["error"]
    assert asked(server, "/token") == 2
    assert asked(server, "/v1") == 3
    server.answers["/v1"] = protected
    assert (await run("ask"))["success"]


@pytest.mark.parametrize("given", [
    pytest.param(answer({"error": "invalid_client", "hint": "sk-very-secret"}, 400), id="refused"),
    pytest.param(answer("<html>"), id="a web page"),
    pytest.param(answer({"token": "x"}), id="no token in it"),
    pytest.param(answer({"access_token": "x\r\nX-Admin: 1"}), id="a token with line breaks"),
    pytest.param(answer(["access_token"]), id="a list"),
])  # fmt: skip
async def test_no_token(server: RestServer, write_yaml: WriteYaml, run: Run, given: Any) -> None:
    server.answers["/token"] = given
    await write_yaml(tool(server, OAUTH.format(url=server.url)))
    result = await run("ask")
    assert "gave no access token" in result["error"]
    assert "sk-very-secret" not in str(result)
    assert asked(server, "/v1") == 0


async def test_tokens_never_come_back(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    serve_tokens(server)
    await write_yaml(tool(server, OAUTH.format(url=server.url)))
    result = await run("ask")
    assert result["result"]["headers"]["Authorization"] == "Bearer **masked**"


@pytest.mark.parametrize(("auth", "header"), [
    pytest.param("{type: bearer, token: '{{ api_key }}'}", "Bearer sk-very-secret", id="bearer"),
    pytest.param(
        "{type: basic, username: me, password: pass-word}", f"Basic {b64encode(b'me:pass-word').decode()}", id="basic",
    ),
])  # fmt: skip
async def test_fixed(server: RestServer, write_yaml: WriteYaml, run: Run, auth: str, header: str) -> None:
    server.answers["/v1"] = echo
    await write_yaml(tool(server, f"auth: {auth}"))
    result = await run("ask")
    assert server.last.headers["Authorization"] == header
    assert "**masked**" in result["result"]["headers"]["Authorization"]
    assert header.split()[1] not in str(result)


async def test_one_wrong_password(hass: HomeAssistant, server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    server.answers["/v1"] = answer({}, 401)
    await write_yaml(tool(server, "auth: {type: bearer, token: abcdef}"))
    await run("ask")
    assert len(server.asked) == 1
    await run("ask")
    await run("ask")
    assert issues(hass)["service_failing"]["tool"] == "ask"


async def test_a_redirect_elsewhere_does_not_get_the_token(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    other = RestServer()
    await other.start()
    server.answers["/v1"] = answer("", 307, Location=f"{other.url}/steal")
    await write_yaml(tool(server, "auth: {type: bearer, token: abcdef}"))
    assert not (await run("ask"))["success"]
    assert not other.asked
    await other.stop()
