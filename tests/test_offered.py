"""Our tools at other programs: Home Assistant's own MCP server, asked by the official SDK."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
import json
from typing import Any

from homeassistant.config_entries import SOURCE_USER
from homeassistant.core import Context, HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import llm
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import CLIENT_ID, MockConfigEntry, MockUser
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator
from yarl import URL

from custom_components.home_agent.flows.fields import selectable_apis
from custom_components.home_agent.support.auth import bearer
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.errors import McpAuthError
from custom_components.home_agent.tools.mcp.sdk import McpSession, async_connect
from custom_components.home_agent.tools.mcp.wire import Address
from tests.docs.pages import examples
from tests.house import act, build_house, set_up
from tests.tools.custom.conftest import issues

API = "home_agent-profile-1"
HIDDEN = "light.office_rgbw_lights"

type Ask = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def admin(hass: HomeAssistant) -> MockUser:
    return MockUser(name="Anna", is_owner=True).add_to_hass(hass)


@pytest.fixture
async def port(hass: HomeAssistant, hass_client_no_auth: ClientSessionGenerator, house: None) -> AsyncGenerator[int]:
    """The port of a Home Assistant with a house; the server is closed when nobody is on the way to it."""
    await build_house(hass)
    pytest.importorskip("aiohttp_sse", reason="of Home Assistant's MCP server; scripts/setup brings it")
    for component in ("http", "ai_task", "mcp_server"):  # whoever has pages has to be there before the server starts
        assert await async_setup_component(hass, component, {})
    client = await hass_client_no_auth()
    yield int(client.server.port or 0)
    for entry in hass.config_entries.async_loaded_entries(DOMAIN):  # ours may be among those who ask
        await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    await client.get("/")  # connections are taken in turn: this one is the last


async def lend(hass: HomeAssistant, **choice: Any) -> None:
    """Set Home Assistant's MCP server up through its forms; `choice` is what they are told."""
    form = await hass.config_entries.flow.async_init("mcp_server", context={"source": SOURCE_USER})
    created = await hass.config_entries.flow.async_configure(form["flow_id"], {})
    entry = created["result"]
    flows = hass.config_entries.options
    chosen = {"all_llm_apis": False, "llm_hass_api": [API], "require_admin": False, "read_only": False} | choice
    step: Any = await flows.async_init(entry.entry_id)
    while step["type"] is FlowResultType.FORM:  # one release asks in two steps, and has no read_only
        known = {str(key) for key in step["data_schema"].schema}
        sent = {key: value for key, value in chosen.items() if key in known}
        step = await flows.async_configure(step["flow_id"], sent)
    await hass.async_block_till_done()


async def token_of(hass: HomeAssistant, user: MockUser) -> str:
    refresh = await hass.auth.async_create_refresh_token(user, CLIENT_ID)
    return hass.auth.async_create_access_token(refresh)


@asynccontextmanager
async def program(
    hass: HomeAssistant, port: int, user: MockUser, path: str = "/api/mcp", transport: str = "streamable_http"
) -> AsyncGenerator[McpSession]:
    url = f"http://127.0.0.1:{port}{path}"
    address = Address(url=url, transport=transport, auth=bearer(await token_of(hass, user)))
    async with async_connect(hass, address) as session:
        yield session


async def call(session: McpSession, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; return its envelope."""
    answer = await session.async_call(name, arguments)
    envelope: dict[str, Any] = json.loads(answer.text)
    assert envelope["success"] is not answer.failed
    return envelope


async def start(hass: HomeAssistant, **fields: Any) -> MockConfigEntry:
    """Set Home Agent up, its one assistant offering its tools, and the server beside it."""
    profile = {"offer_tools": True, **fields.pop("profile", {})}
    entry = await set_up(hass, profile=profile, **fields)
    await lend(hass)
    return entry


@pytest.mark.parametrize(("path", "transport"), [
    pytest.param("/api/mcp", "streamable_http", id="streamable HTTP"),
    pytest.param(f"/api/mcp/{API}", "streamable_http", id="by its id"),
    pytest.param("/mcp_server/sse", "sse", id="SSE"),
])  # fmt: skip
async def test_exposure_switches(hass: HomeAssistant, port: int, admin: MockUser, path: str, transport: str) -> None:
    await start(hass)
    async with program(hass, port, admin, path, transport) as session:
        tools = {tool.name: tool for tool in await session.async_list_tools()}
        assert {"ha_control", "ha_query", "ha_undo"} == tools.keys()
        assert [tools[name].title for name in sorted(tools)] == ["Home control", "Home query", "Undo"]
        assert tools["ha_query"].read_only
        assert not tools["ha_control"].read_only
        assert "light.*" in str(tools["ha_query"].schema)
        answer = await call(session, "ha_control", action="turn_off", entity_id="light.ceiling_lights")
        assert answer["success"]
        assert hass.states.get("light.ceiling_lights").state == "off"  # type: ignore[union-attr]
        answer = await call(session, "ha_query", entity_id="light.*")
        assert HIDDEN not in str(answer)
        assert "light.bed_light" in str(answer)


async def test_what_is_not_exposed_does_not_exist(hass: HomeAssistant, port: int, admin: MockUser) -> None:
    await start(hass)
    before = hass.states.get(HIDDEN)
    async with program(hass, port, admin) as session:
        hidden = await call(session, "ha_control", action="toggle", entity_id=HIDDEN)
        missing = await call(session, "ha_control", action="toggle", entity_id="light.nowhere")
        read = await call(session, "ha_query", entity_id=HIDDEN)
    assert not hidden["success"]
    assert hidden["error"].startswith(f"No exposed entity matches '{HIDDEN}'. Did you mean")
    assert missing["error"].startswith("No exposed entity matches 'light.nowhere'.")
    assert not read["success"]
    assert hass.states.get(HIDDEN) == before


@pytest.mark.parametrize("options", [
    pytest.param({}, id="by itself"),
    pytest.param({"never_confirm": ["lock", "lock.front_door", "lock.unlock"]}, id="where people are not asked"),
])  # fmt: skip
async def test_nothing_is_unlocked(hass: HomeAssistant, port: int, admin: MockUser, options: dict[str, Any]) -> None:
    await start(hass, options=options)
    async with program(hass, port, admin) as session:
        answer = await call(session, "ha_control", action="turn_off", entity_id="lock.front_door")
    assert not answer["success"]
    assert hass.states.get("lock.front_door").state == "locked"  # type: ignore[union-attr]


async def test_a_person_without_permission_lends_none(hass: HomeAssistant, port: int) -> None:
    await start(hass)
    child = MockUser(name="Ben").add_to_hass(hass)
    child.mock_policy({"entities": {"entity_ids": {"light.bed_light": True, "light.kitchen_lights": {"read": True}}}})
    async with program(hass, port, child) as session:
        allowed = await call(session, "ha_control", action="turn_on", entity_id="light.bed_light")
        refused = await call(session, "ha_control", action="turn_off", entity_id="light.kitchen_lights")
        read = await call(session, "ha_query", entity_id="light.kitchen_lights")
        unread = await call(session, "ha_query", entity_id="light.ceiling_lights")
    assert [answer["success"] for answer in (allowed, refused, read, unread)] == [True, False, True, False]
    assert hass.states.get("light.kitchen_lights").state == "on"  # type: ignore[union-attr]


async def test_the_server_merges_several_collections(hass: HomeAssistant, port: int, admin: MockUser) -> None:
    await set_up(hass, profile={"offer_tools": True})
    await lend(hass, llm_hass_api=["assist", API])
    async with program(hass, port, admin) as session:
        [name] = [tool.name for tool in await session.async_list_tools() if tool.name.endswith("ha_control")]
        answer = await call(session, name, action="turn_off", entity_id="light.ceiling_lights")
        refused = await call(session, name, action="turn_off", entity_id="lock.front_door")
    assert (answer["success"], refused["success"]) == (True, False)


async def test_what_a_program_did_can_be_taken_back(hass: HomeAssistant, port: int, admin: MockUser) -> None:
    await start(hass)
    async with program(hass, port, admin) as session:
        await call(session, "ha_control", action="turn_off", entity_id="light.ceiling_lights")
        listed = await act(hass, "list_actions", Context(user_id=admin.id))
        assert (await call(session, "ha_undo"))["success"]
    [action] = listed["actions"]
    assert action["user_id"] == admin.id
    assert hass.states.get("light.ceiling_lights").state == "on"  # type: ignore[union-attr]


async def test_own_tools_go_along_and_rules_hold(hass: HomeAssistant, port: int, admin: MockUser) -> None:
    tools = [
        {
            "name": name, "description": "Says it.", "parameters": {"properties": {"what": {"type": "string"}}},
            "handler": {"type": "template", "template": "{{ what }}!"},
        }
        for name in ("shout", "whisper", "mutter")
    ]  # fmt: skip
    assert await async_setup_component(hass, "home_agent", {"home_agent": {"custom_tools": tools}})
    await start(hass, profile={"custom_tools": ["shout", "whisper"], "always_ask": ["whisper"], "native_tools": False})
    async with program(hass, port, admin) as session:
        assert [tool.name for tool in await session.async_list_tools()] == ["shout"]
        assert (await call(session, "shout", what="hello"))["result"] == "hello!"
        wrong = await call(session, "shout", loud=True)
    assert "unknown parameters: loud" in wrong["error"]


async def test_only_who_offers_is_there(hass: HomeAssistant, port: int) -> None:
    entry = await set_up(hass)
    assert API not in {api.id for api in llm.async_get_apis(hass)}
    hass.config_entries.async_update_subentry(entry, entry.subentries["profile-1"], data={"offer_tools": True})
    await hass.async_block_till_done()
    assert {api.id: api.name for api in llm.async_get_apis(hass)}[API] == "Home Agent"
    assert await hass.config_entries.async_unload(entry.entry_id)
    assert API not in {api.id for api in llm.async_get_apis(hass)}


async def test_no_assistant_of_ours_is_offered_them_again(hass: HomeAssistant, port: int) -> None:
    lends = {"offer_tools": True, "llm_apis": [API], "native_tools": False, "memory": "off", "wishes": False}
    entry = await set_up(hass, profile=lends)
    assert API not in selectable_apis(hass)
    profile = entry.runtime_data.profiles["profile-1"]
    nobody = llm.LLMContext(platform="test", context=Context(), language="en", assistant="conversation", device_id=None)
    assert await entry.runtime_data.tools.async_tools(profile, nobody) == []
    assert issues(hass)["llm_api_missing"]["apis"] == API


async def test_nobody_is_let_in_without_a_token(hass: HomeAssistant, port: int) -> None:
    await start(hass)
    address = Address(url=f"http://127.0.0.1:{port}/api/mcp", auth=bearer("wrong-token"))
    with pytest.raises(McpAuthError):
        async with async_connect(hass, address):
            pass


async def test_the_example_of_the_page(hass: HomeAssistant, port: int, admin: MockUser) -> None:
    [example] = [item.code for item in examples("json") if "mcpServers" in item.code]
    server = json.loads(example)["mcpServers"]["home"]
    assert server["headers"].keys() == {"Authorization"}
    await start(hass)
    async with program(hass, port, admin, URL(server["url"]).path) as session:
        assert (await call(session, "ha_query", entity_id="light.bed_light"))["success"]


async def test_a_tool_that_calls_itself_ends(hass: HomeAssistant, port: int, admin: MockUser) -> None:
    url, token = f"http://127.0.0.1:{port}/api/mcp", await token_of(hass, admin)
    tool = {
        "name": "again",
        "description": "Calls itself.",
        "read_only": True,
        "handler": {
            "type": "mcp", "server_url": url, "method": "again", "auth": {"type": "bearer", "token": token},
            "timeout": 2,
        },
    }  # fmt: skip
    assert await async_setup_component(hass, "home_agent", {"home_agent": {"custom_tools": [tool]}})
    await start(hass, profile={"tool_timeout": 3})
    async with program(hass, port, admin) as session:
        answer = await call(session, "again")
        assert not answer["success"]
        assert token not in answer["error"]
        assert (await call(session, "ha_query", entity_id="light.bed_light"))["success"]
