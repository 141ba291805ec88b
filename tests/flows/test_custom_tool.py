"""Tools of the owner's own in the UI: the forms write what YAML would say."""

from typing import Any

from aiohttp import web
from homeassistant.config_entries import SOURCE_RECONFIGURE, ConfigSubentryDataWithId
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.flows.custom_tool import BEHAVIOURS, CREDENTIALS, FORMS
from custom_components.home_agent.tools.custom.configuration import CONFIG_SCHEMA, keep
from custom_components.home_agent.tools.custom.definition import AUTH_SCHEMAS
from custom_components.home_agent.tools.custom.provider import HANDLERS
from tests import house
from tests.flows.forms import Result, add, change, fields, go_through, options, shown
from tests.house import set_up
from tests.tools.custom.conftest import server
from tests.tools.custom.rest_server import RestServer, answer

__all__ = ["server"]

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
BASICS = {"name": "weather", "description": "Weather.", "parameters": PARAMETERS, "behaviour": "default"}


async def send(hass: HomeAssistant, form: Result, **data: Any) -> Result:
    """Send a form and those that follow from what it chose; return what comes next."""
    return await go_through(hass.config_entries.subentries.async_configure, form, data)


def stored(entry: MockConfigEntry) -> dict[str, Any]:
    return dict(entry.get_subentries_of_type("custom_tool")[-1].data)


def subentry(handler: dict[str, Any], **more: Any) -> ConfigSubentryDataWithId:
    data = {"name": "weather", "description": "Weather.", "handler": handler} | more
    return house.subentry("custom_tool", "weather", "tool-1", data)


async def test_a_request(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await add(hass, entry, "custom_tool")
    assert shown(form) == {"behaviour": "default", "type": "rest"}
    assert options(form, "type") == list(HANDLERS)
    form = await send(hass, form, **BASICS, title=" ", type="rest", examples=["What is the weather?"])
    assert form["step_id"] == "rest"
    result = await send(
        hass, form, url="https://api.example.com/v1/{{ city }}", method="GET", headers={"X-A": "b"}, auth="bearer",
        token="abcdef", timeout=5.0, verify_ssl=False,
    )  # fmt: skip
    await hass.async_block_till_done()
    assert (result["type"], result["title"]) == (FlowResultType.CREATE_ENTRY, "weather")
    assert stored(entry) == {
        "name": "weather",
        "description": "Weather.",
        "parameters": PARAMETERS,
        "examples": ["What is the weather?"],
        "handler": {
            "type": "rest", "url": "https://api.example.com/v1/{{ city }}", "headers": {"X-A": "b"},
            "auth": {"type": "bearer", "token": "abcdef"}, "timeout": 5.0, "verify_ssl": False,
        },
    }  # fmt: skip
    assert entry.runtime_data.custom_tools.names == ["weather"]


@pytest.mark.parametrize(("kind", "sent"), [
    pytest.param("service", {"service": "light.turn_on", "target": {"area_id": "{{ city }}"}}, id="service"),
    pytest.param("template", {"template": "{{ city }}"}, id="template"),
    pytest.param("mcp", {"server_url": "https://mcp.example.com", "method": "a/b", "transport": "sse"}, id="mcp"),
])  # fmt: skip
async def test_other_kinds(hass: HomeAssistant, kind: str, sent: dict[str, Any]) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "custom_tool"), **BASICS | {"behaviour": "destructive"}, type=kind)
    assert form["step_id"] == kind
    result = await send(hass, form, **sent)
    await hass.async_block_till_done()
    assert result["type"] is FlowResultType.CREATE_ENTRY
    data = stored(entry)
    assert data["handler"] == {"type": kind} | sent
    assert (data["read_only"], data["destructive"]) == (False, True)


@pytest.mark.parametrize(("sent", "errors"), [
    pytest.param({"name": "Light"}, {"name": "name_taken"}, id="another has the name"),
    pytest.param({"name": "in_yaml"}, {"base": "tool_refused"}, id="YAML has the name"),
    pytest.param({"name": "no name"}, {"base": "tool_refused"}, id="no name for a tool"),
    pytest.param({"name": "ha_control"}, {"base": "tool_refused"}, id="ours"),
    pytest.param({"description": ""}, {"description": "missing"}, id="no description"),
    pytest.param({"name": " ", "description": ""}, {"name": "missing", "description": "missing"}, id="nothing"),
    pytest.param({"parameters": {"type": "string"}}, {"base": "tool_refused"}, id="no object"),
    pytest.param({"parameters": {"properties": {"key": {}}}}, {"base": "tool_refused"}, id="a secret's name"),
])  # fmt: skip
async def test_what_is_wrong_with_the_tool(hass: HomeAssistant, sent: dict[str, Any], errors: dict[str, str]) -> None:
    taken = subentry({"type": "template", "template": "a"}, name="light")
    entry = await set_up(hass, more=[{**taken, "title": "light"}])
    yaml = {"custom_tools": [{"name": "in_yaml"}], "secrets": {"key": "abcdef"}}
    keep(hass, CONFIG_SCHEMA({"home_agent": yaml}))
    form = await send(hass, await add(hass, entry, "custom_tool"), **BASICS | sent, type="rest")
    assert (form["step_id"], form["errors"]) == ("user", errors)
    if "base" in errors:
        assert form["description_placeholders"]["reason"]
    assert shown(form)["behaviour"] == "default"
    assert (await send(hass, form, **BASICS, type="rest"))["step_id"] == "rest"


@pytest.mark.parametrize(("kind", "sent", "reason"), [
    pytest.param("rest", {"url": "https://{{ city }}/"}, "host", id="host from a template"),
    pytest.param("rest", {"url": "https://a.example", "response": "{{ town }}"}, "town", id="of the response"),
    pytest.param("service", {"service": "shell_command.x"}, "shell_command", id="program"),
    pytest.param("template", {"template": "{{ town }}"}, "town", id="unknown name"),
    pytest.param("mcp", {"server_url": "mcp.example.com", "method": "a"}, "http", id="no address"),
])  # fmt: skip
async def test_invalid_handler(hass: HomeAssistant, kind: str, sent: dict[str, Any], reason: str) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "custom_tool"), **BASICS, type=kind)
    form = await send(hass, form, **sent)
    assert (form["step_id"], form["errors"]) == (kind, {"base": "tool_refused"})
    assert reason in form["description_placeholders"]["reason"]
    assert not entry.get_subentries_of_type("custom_tool")


@pytest.mark.parametrize(
    ("kind", "missing"),
    [("rest", {"url"}), ("service", {"service"}), ("template", {"template"}), ("mcp", {"server_url", "method"})],
)
async def test_what_is_missing_is_said_at_its_field(hass: HomeAssistant, kind: str, missing: set[str]) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "custom_tool"), **BASICS, type=kind)
    form = await send(hass, form)
    assert form["errors"] == dict.fromkeys(missing, "missing")
    assert not entry.get_subentries_of_type("custom_tool")


async def test_a_key_need_not_be_entered_again_after_an_error(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "custom_tool"), **BASICS, type="rest")
    sent = {"url": "https://a.example", "auth": "basic", "username": "", "password": "very-secret"}
    form = await send(hass, form, **sent)
    assert (form["step_id"], form["errors"]) == ("basic", {"username": "missing"})
    assert shown(form) == {"password": "••••••••"}
    await send(hass, form, username="me", password="••••••••")
    await hass.async_block_till_done()  # what is new is loaded
    assert stored(entry)["handler"]["auth"] == {"type": "basic", "username": "me", "password": "very-secret"}


async def test_a_key_of_a_moment_ago_goes_nowhere_else(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "custom_tool"), **BASICS, type="rest")
    oauth = {"token_url": "https://a.example/token", "client_id": "", "client_secret": "very-secret"}
    form = await send(hass, form, url="https://a.example", auth="oauth2", **oauth)
    assert (form["errors"], shown(form)["client_secret"]) == ({"client_id": "missing"}, "••••••••")
    form = await send(hass, form, **{**shown(form), "token_url": "https://evil.example/token", "client_id": "me"})
    assert (form["errors"], shown(form).get("client_secret")) == ({"client_secret": "missing"}, None)
    assert not entry.get_subentries_of_type("custom_tool")


OAUTH = {
    "type": "oauth2", "token_url": "https://auth.example.com/token", "client_id": "home",
    "client_secret": "very-secret",
}  # fmt: skip
REQUEST = {"type": "rest", "url": "https://api.example.com/v1", "auth": OAUTH, "timeout": 5}


async def test_secrets_are_not_shown_and_stay(hass: HomeAssistant) -> None:
    entry = await set_up(hass, more=[subentry(REQUEST, read_only=False, destructive=False)])
    form = await change(hass, entry, "custom_tool", "tool-1")
    assert (shown(form)["name"], shown(form)["behaviour"], shown(form)["type"]) == ("weather", "write", "rest")
    form = await send(hass, form, **BASICS | {"behaviour": "write"}, type="rest")
    assert (shown(form)["auth"], shown(form)["timeout"]) == ("oauth2", 5)
    form = await send(hass, form, url="https://api.example.com/v2/{{ city }}", auth="oauth2", timeout=5)
    assert "very-secret" not in str(shown(form))
    assert (shown(form)["client_id"], shown(form)["client_secret"]) == ("home", "••••••••")
    result = await send(hass, form, token_url=OAUTH["token_url"], client_id="other")
    await hass.async_block_till_done()
    assert result["reason"] == "reconfigure_successful"
    handler = stored(entry)["handler"]
    assert handler["auth"] == OAUTH | {"client_id": "other"}
    assert handler["timeout"] == 5
    assert handler["url"].endswith("{{ city }}")


@pytest.mark.parametrize(("url", "token_url"), [
    pytest.param("https://evil.example/v1", OAUTH["token_url"], id="of the request"),
    pytest.param("https://api.example.com:8443/v1", OAUTH["token_url"], id="port"),
    pytest.param("https://api.example.com/v1", "https://evil.example/token", id="of the token"),
])  # fmt: skip
async def test_at_another_address_secrets_are_asked_for_again(hass: HomeAssistant, url: str, token_url: str) -> None:
    entry = await set_up(hass, more=[subentry(REQUEST)])
    form = await send(hass, await change(hass, entry, "custom_tool", "tool-1"), **BASICS, type="rest")
    form = await send(hass, form, url=url, auth="oauth2", token_url=token_url, client_id="home")
    assert form["errors"] == {"client_secret": "missing"}
    assert stored(entry)["handler"] == REQUEST


@pytest.mark.parametrize(("server_url", "kept"), [
    pytest.param("https://mcp.example.com/other", True, id="same server"),
    pytest.param("https://evil.example/mcp", False, id="another server"),
])  # fmt: skip
async def test_a_key_stays_at_its_mcp_server(hass: HomeAssistant, server_url: str, kept: bool) -> None:
    handler = {"type": "mcp", "server_url": "https://mcp.example.com/mcp", "method": "a"}
    entry = await set_up(hass, more=[subentry(handler | {"auth": {"type": "bearer", "token": "very-secret"}})])
    form = await send(hass, await change(hass, entry, "custom_tool", "tool-1"), **BASICS, type="mcp")
    assert shown(form)["server_url"] == handler["server_url"]
    assert "very-secret" not in str(shown(form))
    form = await send(hass, form, server_url=server_url, method="b", auth="bearer", token="")
    await hass.async_block_till_done()
    assert (form.get("reason") == "reconfigure_successful") is kept
    assert (stored(entry)["handler"]["auth"]["token"], stored(entry)["handler"]["method"]) == (
        "very-secret",
        "b" if kept else "a",
    )


async def test_a_section_that_was_not_opened_stays(hass: HomeAssistant) -> None:
    entry = await set_up(hass, more=[subentry(REQUEST)])
    form = await send(hass, await change(hass, entry, "custom_tool", "tool-1"), **BASICS, type="rest")
    flows = hass.config_entries.subentries
    form = await flows.async_configure(form["flow_id"], {"url": REQUEST["url"]})
    await flows.async_configure(form["flow_id"], shown(form))
    await hass.async_block_till_done()
    assert stored(entry)["handler"] == REQUEST


async def test_another_kind_begins_anew(hass: HomeAssistant) -> None:
    entry = await set_up(hass, more=[subentry(REQUEST)])
    form = await send(hass, await change(hass, entry, "custom_tool", "tool-1"), **BASICS, type="template")
    assert shown(form) == {}
    await send(hass, form, template="{{ city }}")
    await hass.async_block_till_done()
    assert stored(entry)["handler"] == {"type": "template", "template": "{{ city }}"}


@pytest.mark.parametrize("kind", HANDLERS)
async def test_forms_have_every_key(hass: HomeAssistant, kind: str) -> None:
    asked = {key for inside in FORMS[kind].values() for key in inside}
    asked |= set(FORMS["body"][""]) if kind == "rest" else set()
    assert asked == {str(key) for key in HANDLERS[kind].schema.schema} - {"type", "params"}
    form = await send(hass, await add(hass, await set_up(hass), "custom_tool"), **BASICS, type=kind)
    assert set(fields(form)) == {key for inside in FORMS[kind].values() for key in inside}


@pytest.mark.parametrize(("kind", "holds"), [
    pytest.param("rest", {"method": "GET", "max_response_bytes": 65536}, id="request"),
    pytest.param("mcp", {"transport": "auto"}, id="tool of a server"),
])  # fmt: skip
@pytest.mark.parametrize("off", [False, True])
async def test_shown_values_are_not_stored(hass: HomeAssistant, kind: str, holds: dict[str, Any], off: bool) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "custom_tool"), **BASICS, type=kind)
    holds = {"auth": "none", "timeout": 30, "min_interval": 0, "verify_ssl": True, **holds}
    assert shown(form) == holds
    needed = {"url": "https://a.example"} if kind == "rest" else {"server_url": "https://a.example", "method": "m"}
    await send(hass, form, **{**holds, **needed, "verify_ssl": not off})
    await hass.async_block_till_done()
    tool = entry.get_subentries_of_type("custom_tool")[-1]
    assert tool.data["handler"] == {"type": kind, **needed, **({"verify_ssl": False} if off else {})}
    where: Any = {"source": SOURCE_RECONFIGURE, "subentry_id": tool.subentry_id}
    again: Result = await hass.config_entries.subentries.async_init((entry.entry_id, "custom_tool"), context=where)
    again = await send(hass, again, **BASICS, type=kind)
    assert shown(again) == {**holds, **needed, "verify_ssl": not off}


async def test_a_body_is_asked_for_where_the_method_has_one(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "custom_tool"), **BASICS, type="rest")
    form = await send(hass, form, url="https://a.example", method="POST", auth="basic")
    assert (form["step_id"], set(fields(form))) == ("body", {"body", "content_type"})
    form = await send(hass, form, body={"a": "{{ town }}"})
    assert (form["step_id"], form["errors"]) == ("body", {"base": "tool_refused"})
    form = await send(hass, form, body={"a": "{{ city }}"})
    assert (form["step_id"], set(fields(form))) == ("basic", {"username", "password"})
    result = await send(hass, form, username="me", password="very-secret")
    await hass.async_block_till_done()
    assert result["type"] is FlowResultType.CREATE_ENTRY
    handler = {"type": "rest", "url": "https://a.example", "method": "POST", "body": {"a": "{{ city }}"}}
    handler["auth"] = {"type": "basic", "username": "me", "password": "very-secret"}
    assert stored(entry)["handler"] == handler


async def test_another_method_or_authentication_leaves_what_it_needed(hass: HomeAssistant) -> None:
    with_body = {"type": "rest", "url": "https://a.example", "method": "POST", "body": "a", "content_type": "text/csv"}
    token = {"type": "bearer", "token": "very-secret"}
    entry = await set_up(hass, more=[subentry({**with_body, "auth": token})])
    form = await send(hass, await change(hass, entry, "custom_tool", "tool-1"), **BASICS, type="rest")
    form = await send(hass, form, url="https://a.example", method="GET", auth="none")
    await hass.async_block_till_done()
    assert form["reason"] == "reconfigure_successful"
    assert stored(entry)["handler"] == {"type": "rest", "url": "https://a.example", "method": "GET"}


async def test_a_stored_body_of_a_get_is_asked_for_and_stays(hass: HomeAssistant) -> None:
    request = {"type": "rest", "url": "https://a.example", "body": {"a": "b"}}
    entry = await set_up(hass, more=[subentry(request)])
    form = await send(hass, await change(hass, entry, "custom_tool", "tool-1"), **BASICS, type="rest")
    form = await send(hass, form, url="https://a.example", method="GET")
    assert (form["step_id"], shown(form)) == ("body", {"body": {"a": "b"}})
    await send(hass, form, **shown(form))
    await hass.async_block_till_done()
    assert stored(entry)["handler"] == request


def test_ways_to_prove_who_one_is() -> None:
    assert [*HANDLERS, "body", *CREDENTIALS] == list(FORMS)
    for kind, asked in CREDENTIALS.items():
        assert set(asked) == {str(key) for key in AUTH_SCHEMAS[kind].schema} - {"type"}
    assert len(BEHAVIOURS) == 4


# A tool that only reads is tried before it is stored: a web page is nothing that a model could use.


async def page(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="<!DOCTYPE html><p>Hello.", content_type="text/html")


async def entered(hass: HomeAssistant, entry: MockConfigEntry, url: str, **more: Any) -> Result:
    """Return what follows the forms of a request to an address."""
    form = await add(hass, entry, "custom_tool")
    basics = BASICS | {"parameters": {}} | {key: more.pop(key) for key in ("behaviour", "parameters") if key in more}
    return await send(hass, await send(hass, form, **basics, type="rest"), url=url, **more)


@pytest.mark.parametrize("auth", [{}, {"auth": "bearer", "token": "abcdef"}])
async def test_a_web_page_is_said_and_saved_only_anyway(
    hass: HomeAssistant, server: RestServer, auth: dict[str, str]
) -> None:
    server.answers["/"] = page
    entry = await set_up(hass)
    form = await entered(hass, entry, f"{server.url}/", **auth)
    assert (form["type"], form["errors"]) == (FlowResultType.FORM, {"base": "web_page"})
    assert "use_anyway" in fields(form)
    assert not entry.get_subentries_of_type("custom_tool")
    again = await send(hass, form, **(auth or {"url": f"{server.url}/"}))
    assert again["errors"] == {"base": "web_page"}
    result = await send(hass, form, **(auth or {"url": f"{server.url}/"}), use_anyway=True)
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert "use_anyway" not in str(stored(entry))


@pytest.mark.parametrize(("path", "more"), [
    pytest.param("/data", {}, id="data"),
    pytest.param("/", {"method": "POST", "body": ""}, id="it may change something"),
    pytest.param("/", {"behaviour": "write"}, id="it changes something"),
    pytest.param("/{{ city }}", {"parameters": PARAMETERS | {"required": ["city"]}}, id="it needs a value"),
])  # fmt: skip
async def test_what_is_no_web_page_or_cannot_be_tried_is_saved(
    hass: HomeAssistant, server: RestServer, path: str, more: dict[str, Any]
) -> None:
    server.answers |= {"/": page, "/data": answer('{"ok": true}', content_type="application/json")}
    entry = await set_up(hass)
    result = await entered(hass, entry, f"{server.url}{path}", **more)
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert [asked.target for asked in server.asked] == (["/data"] if path == "/data" else [])


async def test_a_server_that_is_off_keeps_no_tool_from_being_saved(hass: HomeAssistant, socket_enabled: None) -> None:
    result = await entered(hass, await set_up(hass), "http://127.0.0.1:9/")
    assert result["type"] is FlowResultType.CREATE_ENTRY
