"""What Home Agent has to do with other computers, in a real house: OAuth servers, a server of tools, somebody's phone."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
import json
from typing import Any

from aiohttp import web
import pytest
from pytest_asyncio import fixture as async_fixture

from tests.llm_server import LLMServer, text, tool_call
from tests.tools.custom.rest_server import RestServer, answer, echo
from tests.tools.mcp.mcp_server import McpServer

from .harness import Hass
from .house import add_home_agent, furnish

SECRET = "client-secret-5d20"
MCP_TOKEN = "library-token-81c4"
PUSH_TOKEN = "push-token-77e9"
CONFIGURATION = """
mobile_app:
home_agent:
  secrets:
    client_secret: {secret}
  custom_tools:
    - name: read_meter
      description: Reads the meter
      handler:
        type: rest
        url: "{url}/meter"
        auth: {{type: oauth2, token_url: "{url}/token", client_id: house, client_secret: "{{{{ client_secret }}}}", scope: read}}
"""
METER = "/meter"
UNLOCK = tool_call("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
PHONE = {
    "device_id": "phone-1", "device_name": "Demo Phone", "app_id": "app", "app_name": "App", "app_version": "1",
    "manufacturer": "Nobody", "model": "One", "os_name": "OS", "os_version": "1", "supports_encryption": False,
}  # fmt: skip


class Neighbour(RestServer):
    """A computer with an OAuth server, which renews its tokens, a meter behind it, and what phones get messages through."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []
        self.answers = {"/token": self._token, METER: self._meter, "/push": answer({}, 201)}
        self.answers["/library-token"] = answer({"access_token": MCP_TOKEN, "token_type": "bearer", "expires_in": 3600})

    async def _token(self, _request: web.Request) -> web.StreamResponse:
        self.given.append(f"access-token-{len(self.given)}")
        return web.json_response({"access_token": self.given[-1], "token_type": "bearer", "expires_in": 3600})

    async def _meter(self, request: web.Request) -> web.StreamResponse:
        if not self.given or request.headers.get("Authorization") != f"Bearer {self.given[-1]}":
            return web.json_response({"error": "invalid_token"}, status=401)
        return await echo(request)

    def sent_to(self, path: str) -> list[Any]:
        """Return what arrived at a path: forms of the OAuth server, JSON of the phones."""
        found = [asked for asked in self.asked if asked.target == path]
        return [asked.form if "token" in path else json.loads(asked.body or b"null") for asked in found]


@async_fixture(scope="module")
async def neighbour() -> AsyncGenerator[Neighbour]:
    """Return the other computer."""
    server = Neighbour()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpServer]:
    """Return a server of tools made with the official SDK, which wants a token."""
    server = McpServer(tmp_path_factory.mktemp("library"), token=MCP_TOKEN)
    server.start()
    yield server
    server.stop()


@async_fixture(scope="module")
async def connected(
    endpoint: LLMServer, neighbour: Neighbour, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Hass]:
    """Return a house that knows the other computer."""
    hass = Hass(tmp_path_factory.mktemp("connected"))
    with (hass.process.folder / "configuration.yaml").open("a") as configuration:
        configuration.write(CONFIGURATION.format(secret=SECRET, url=neighbour.url))
    async with hass.running():
        await furnish(hass)
        await add_home_agent(hass, url=endpoint.base_url, model="scripted")
        yield hass


@async_fixture(scope="module")
async def phone(connected: Hass, neighbour: Neighbour) -> str:
    """Register the owner's phone as the app does; return the webhook that the app talks to."""
    push = {"push_token": PUSH_TOKEN, "push_url": f"{neighbour.url}/push"}
    registered = await connected.post("/api/mobile_app/registrations", **PHONE, app_data=push)
    async with asyncio.timeout(10):
        while "mobile_app_demo_phone" not in (await connected.command("get_services")).get("notify", {}):
            await asyncio.sleep(0.05)
    webhook: str = registered["webhook_id"]
    return webhook


@async_fixture
async def hass(connected: Hass, endpoint: LLMServer, neighbour: Neighbour) -> AsyncGenerator[Hass]:
    """Return the same; afterwards nothing that proves who it is was logged or told to the model."""
    await connected.call("lock.lock", "lock.front_door")
    endpoint.requests.clear()
    neighbour.asked.clear()
    yield connected
    endpoint.assert_done()
    seen = connected.process.log + "".join(request.raw.decode() for request in endpoint.requests)
    seen += json.dumps(await connected.get(f"/api/diagnostics/config_entry/{await connected.entry_id()}"))
    assert not [secret for secret in (SECRET, MCP_TOKEN, PUSH_TOKEN, "access-token-") if secret in seen]
    connected.assert_clean_log()


def result(endpoint: LLMServer) -> Any:
    """Return what the model was told of its call."""
    return json.loads(endpoint.request.body["messages"][-1]["content"])


async def test_a_request_with_oauth(hass: Hass, endpoint: LLMServer, neighbour: Neighbour) -> None:
    [agent] = await hass.agents()
    for _ in range(2):
        endpoint.plan(tool_call("read_meter", {}), text("It is high."))
        assert (await hass.say("read the meter", agent=agent)).speech == "It is high."
        assert result(endpoint)["success"]
    assert neighbour.sent_to("/token") == [{"grant_type": ["client_credentials"], "scope": ["read"]}]
    neighbour.given.append("revoked")  # the server forgot the token: another one is fetched
    endpoint.plan(tool_call("read_meter", {}), text("Still high."))
    assert (await hass.say("and now?", agent=agent)).speech == "Still high."
    assert len(neighbour.sent_to("/token")) == 2


async def test_an_oauth_tool_server(hass: Hass, endpoint: LLMServer, neighbour: Neighbour, library: McpServer) -> None:
    entry_id = await hass.entry_id()
    flow = await hass.subentry_flow(entry_id, "mcp_server")
    access = {"token_url": f"{neighbour.url}/library-token", "client_id": "house"}
    await flow.submit_well(name="Library", url=library.url, auth="oauth2")
    await flow.submit(**access)
    assert flow.step["errors"] == {"client_secret": "missing"}
    await flow.submit_well(client_secret=SECRET, **access)
    await flow.submit_well(allowed_tools=[])
    assert flow.kind == "create_entry", flow.step
    [server] = await hass.subentries("mcp_server")
    [profile] = await hass.subentries("profile")
    change = await hass.subentry_flow(entry_id, "profile", subentry_id=profile["subentry_id"])
    await change.submit_agent(name="Home Agent", llm="default", mcp_servers=[server["subentry_id"]])
    await offered(hass, endpoint, "find_book")
    [name] = [name for name in tools_of(endpoint) if name.endswith("find_book")]
    endpoint.plan(tool_call(name, {"title": "Emil"}), text("On shelf 4."))
    said = await hass.say("where is Emil?", agent=(await hass.agents())[0])
    assert said.speech == "On shelf 4."
    assert "shelf 4" in json.dumps(result(endpoint))
    assert library.calls == [{"name": "find_book", "title": "Emil"}]
    assert neighbour.sent_to("/library-token")[0] == {"grant_type": ["client_credentials"]}


def tools_of(endpoint: LLMServer) -> list[str]:
    """Return the names of the tools that the model was offered last."""
    return [tool["function"]["name"] for tool in endpoint.request.body["tools"]]


async def offered(hass: Hass, endpoint: LLMServer, tool: str) -> None:
    """Wait until the model is offered a tool: servers are connected to in the background."""
    async with asyncio.timeout(30):
        while True:
            endpoint.plan(text("Hello."))
            await hass.say("hello", agent=(await hass.agents())[0])
            if any(name.endswith(tool) for name in tools_of(endpoint)):
                return
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("button", ["CONFIRM", "REJECT"])
async def test_a_phone_answers(hass: Hass, endpoint: LLMServer, neighbour: Neighbour, phone: str, button: str) -> None:
    endpoint.plan(UNLOCK)
    asked = await hass.call_for_response("home_agent.process", text="open up", confirm_via=["mobile_app"])
    [notification] = neighbour.sent_to("/push")
    assert notification["message"] == asked["answer"] == "Front Door is locked. Unlock it?"
    actions = {action["action"].split("_")[2]: action["action"] for action in notification["data"]["actions"]}
    pressed = {"event_type": "mobile_app_notification_action", "event_data": {"action": actions[button]}}
    await hass.post(f"/api/webhook/{phone}", type="fire_event", data=pressed)
    await cleared(neighbour)
    await hass.wait_for("lock.front_door", "unlocked" if button == "CONFIRM" else "locked")
    assert neighbour.sent_to("/push")[-1]["message"] == "clear_notification"


async def cleared(neighbour: Neighbour) -> None:
    """Wait until the phone is told that the question has ended."""
    async with asyncio.timeout(10):
        while len(neighbour.sent_to("/push")) < 2:
            await asyncio.sleep(0.05)
