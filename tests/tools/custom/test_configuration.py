"""YAML and UI in one registry: what is wrong is said with its line, and takes nothing else down."""

from pathlib import Path
from typing import Any

from homeassistant.config_entries import ConfigEntryState, ConfigSubentryDataWithId
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import Unauthorized
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import DOMAIN
from tests.house import subentry
from tests.tools.custom.conftest import Run, WriteYaml, issues
from tests.tools.custom.rest_server import RestServer

GOOD = """
    - name: good
      description: Works.
      handler:
        type: template
        template: "{{ 1 + 1 }}"
"""


def runtime(hass: HomeAssistant) -> Any:
    [entry] = hass.config_entries.async_entries(DOMAIN)
    assert entry.state is ConfigEntryState.LOADED
    return entry.runtime_data


def names(hass: HomeAssistant) -> list[str]:
    found: list[str] = runtime(hass).custom_tools.names
    return found


def yaml(tool: str, secrets: str = "") -> str:
    """Return a file with a good tool and, from line 9 on, another one."""
    lines = "\n".join(f"      {line}" for line in tool.strip("\n").splitlines())
    return f"home_agent:\n  custom_tools:{GOOD}    -\n{lines}\n  secrets: {{key: sk-very-secret, {secrets}}}\n"


BASE = "name: bad\ndescription: Bad.\n"
REST = BASE + "handler:\n  type: rest\n"

WRONG: list[Any] = [
    pytest.param("description: Bad.\nhandler: {type: template, template: a}", "9", "name", id="no name"),
    pytest.param(BASE.replace("bad", "a b") + "handler: {type: template, template: a}", "9", "a b", id="name"),
    pytest.param(BASE.replace("bad", "ha_control") + "handler: {type: template, template: a}", "9", "ha_control", id="ours"),
    pytest.param(BASE.replace("bad", "good") + "handler: {type: template, template: a}", "9", "good", id="twice"),
    pytest.param(BASE + "handler:\n  type: script\n  code: rm", "12", "script", id="script"),
    pytest.param(BASE + "handler:\n  type: python\n", "12", "python", id="python"),
    pytest.param(BASE + "handler:\n  type: sql\n", "12", "rest, service, template", id="unknown type"),
    pytest.param(BASE + "handler:\n  template: x\n", "11", "rest, service, template", id="no type"),
    pytest.param(BASE + "handlr: {type: template, template: a}", "11", "handlr", id="misspelt key"),
    pytest.param(REST + "  url: http://a.example\n  methud: GET", "14", "methud", id="misspelt key of the handler"),
    pytest.param(REST + "  url: http://a.example\n  method: FETCH", "14", "handler.method", id="method"),
    pytest.param(REST + "  url: http://a.example\n  timeout: 9999", "14", "handler.timeout", id="timeout"),
    pytest.param(REST + "  url: 'http://{{ key }}/x'", "13", "host", id="host from a template"),
    pytest.param(REST + "  url: 'http://a.example{{ key }}/x'", "13", "host", id="host with a template"),
    pytest.param(REST + "  url: 'http://a.example:{{ key }}/x'", "13", "host", id="port from a template"),
    pytest.param(REST + "  url: 'http://a.example@evil.example/x'", "13", "host", id="user in the address"),
    pytest.param(REST + "  url: ftp://a.example/x", "13", "host", id="another protocol"),
    pytest.param(REST + "  url: http://a.example/../x", "13", "host", id="dots"),
    pytest.param(REST + "  url: 'http://a.example/{{ x'", "13", "template", id="broken template"),
    pytest.param(REST + "  url: 'http://a.example/{{ x }}'", "13", "x", id="unknown name"),
    pytest.param(REST + "  url: 'http://a.example/{{ secrets.keyy }}'", "13", "secrets.keyy", id="unknown secret"),
    pytest.param(REST + "  url: http://a.example\n  headers:\n    X-A: a\n    'X{{ key }}': b", "16", "X{{ key }}", id="header name"),
    pytest.param(REST + "  url: http://a.example\n  headers:\n    Host: b", "15", "Host", id="header of ours"),
    pytest.param(REST + "  url: http://a.example\n  headers:\n    Content-Type: '{{ key }}'", "15", "Content-Type", id="type from a template"),
    pytest.param(REST + "  url: http://a.example\n  body:\n    a:\n      '{{ key }}': b", "16", "{{ key }}", id="key in a body"),
    pytest.param(REST + "  url: http://a.example\n  body: '{\"a\": {{ key }}}'", "14", "JSON", id="JSON with holes"),
    pytest.param(REST + "  url: http://a.example\n  headers: {Authorization: a}\n  auth: {type: bearer, token: b}", "15", "auth", id="two proofs"),
    pytest.param(REST + "  url: http://a.example\n  auth: {type: magic}", "14", "auth", id="unknown proof"),
    pytest.param(REST + "  url: http://a.example\n  auth:\n    type: bearer\n    token: ''", "16", "password", id="empty token"),
    pytest.param(REST + "  url: http://a.example\n  auth:\n    type: oauth2\n    token_url: x\n    client_id: a\n    client_secret: b", "16", "host", id="token server"),
    pytest.param(REST + "  url: http://a.example\n  response_path: 'a..b'", "14", "a..b", id="path"),
    pytest.param(REST + "  url: http://a.example\n  response: a\n  response_path: b", "11", "handler", id="both results"),
    pytest.param(BASE + "handler:\n  type: service\n  service: '{{ key }}'", "13", "domain", id="service from a template"),
    pytest.param(BASE + "handler:\n  type: service\n  service: shell_command.rm", "13", "shell_command", id="program"),
    pytest.param(BASE + "handler:\n  type: service\n  service: a.b\n  target: {entity: c}", "14", "entity", id="target"),
    pytest.param(BASE + "parameters:\n  type: string\nhandler: {type: template, template: a}", "11", "object", id="no object"),
    pytest.param(BASE + "parameters:\n  properties: {a: {type: wrong}}\nhandler: {type: template, template: a}", "11", "wrong", id="no schema"),
    pytest.param(BASE + "parameters:\n  properties: {a: {}}\n  required: [b]\nhandler: {type: template, template: a}", "13", "required: b", id="requires what there is not"),
    pytest.param(BASE + "parameters:\n  properties:\n    key: {}\nhandler: {type: template, template: a}", "13", "key", id="a secret's name"),
    pytest.param(BASE + "parameters:\n  properties:\n    a-b: {}\nhandler: {type: template, template: a}", "13", "a-b", id="no name for a variable"),
    pytest.param(BASE + "parameters:\n  properties:\n    secrets: {}\nhandler: {type: template, template: a}", "13", "secrets", id="all secrets"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "line", "reason"), WRONG)
async def test_a_wrong_tool_is_told_with_its_line_and_the_others_work(
    hass: HomeAssistant, write_yaml: WriteYaml, run: Run, tool: str, line: str, reason: str
) -> None:
    await write_yaml(yaml(tool))
    assert names(hass) == ["good"]
    assert (await run("good"))["result"] == 2
    found = issues(hass)
    [told] = [item for key, item in found.items() if key.startswith("custom_yaml")]
    assert (told["file"], told["line"]) == ("configuration.yaml", line)
    assert reason in told["reason"]
    assert "sk-very-secret" not in str(found)


async def test_a_wrong_tool_that_has_a_name_is_told_by_it(hass: HomeAssistant, write_yaml: WriteYaml) -> None:
    await write_yaml(yaml(BASE + "handler:\n  type: script"))
    assert issues(hass)["custom_yaml_tool"]["tool"] == "bad"
    await write_yaml(yaml("- just\n- a list"))
    assert "custom_yaml_wrong" in issues(hass)


@pytest.mark.parametrize(("text", "line"), [
    pytest.param("home_agent: 5", "?", id="a number"),
    pytest.param("home_agent:\n  custom_tools: none", "2", id="no list"),
    pytest.param("home_agent:\n  secrets: [a]", "2", id="secrets in a list"),
    pytest.param("home_agent:\n  secrets:\n    long: abcdef\n    pin: 123", "4", id="a secret too short to hide"),
    pytest.param("home_agent:\n  secrets:\n    a-b: abcdef", "3", id="a secret no template can name"),
    pytest.param("home_agent:\n  secrets:\n    a: {b: c}", "3", id="a secret that is a mapping"),
    pytest.param("home_agent:\n  secrets:\n    a: true", "3", id="a secret that is yes or no"),
    pytest.param("home_agent:\n  tools: []", "2", id="unknown key"),
])  # fmt: skip
async def test_a_wrong_section_is_told(hass: HomeAssistant, write_yaml: WriteYaml, text: str, line: str) -> None:
    await write_yaml(text)
    assert names(hass) == []
    assert issues(hass)["custom_yaml_wrong"]["line"] == line


@pytest.mark.parametrize("text", ["home_agent:", "home_agent: {}", "", "home_agent:\n  custom_tools:\n  secrets:"])
async def test_nothing_is_fine(hass: HomeAssistant, write_yaml: WriteYaml, text: str) -> None:
    await write_yaml(text)
    assert names(hass) == []
    assert issues(hass) == {}


async def test_tools_in_a_file_of_their_own(hass: HomeAssistant, write_yaml: WriteYaml, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(
        "- name: a\n  description: A.\n  handler:\n    type: nonsense\n", encoding="utf-8"
    )
    await write_yaml("home_agent:\n  custom_tools: !include tools.yaml\n")
    told = issues(hass)["custom_yaml_tool"]
    assert (told["file"], told["line"]) == ("tools.yaml", "4")


async def test_secrets_file(hass: HomeAssistant, server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    text = f"""
    home_agent:
      secrets:
        weather_api_key: !secret weather
      custom_tools:
        - name: check_weather
          description: Get weather forecast for a location
          handler:
            type: rest
            url: "{server.url}/v1"
            headers:
              Authorization: "Bearer {{{{ weather_api_key }}}}"
    """
    await write_yaml(text, secrets="weather: abc123456")
    assert (await run("check_weather"))["success"]
    assert server.last.headers["Authorization"] == "Bearer abc123456"


async def test_reload_reads_the_file_again(hass: HomeAssistant, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(yaml(BASE + "handler:\n  type: script"))
    [good] = await runtime(hass).custom_tools.async_tools(Profile(), None)
    await write_yaml(yaml(BASE + "handler: {type: template, template: 'Now {{ 2 }}'}"))
    assert issues(hass) == {}
    assert (await run("bad"))["result"] == "Now 2"
    assert good in await runtime(hass).custom_tools.async_tools(Profile(), None)
    await write_yaml("home_agent:")
    assert names(hass) == []


async def test_a_changed_tool_runs_in_its_new_form(hass: HomeAssistant, write_yaml: WriteYaml, make_turn: Any) -> None:
    await write_yaml(yaml(BASE + "handler: {type: template, template: old}"))
    tools = {tool.name: tool for tool in await runtime(hass).custom_tools.async_tools(Profile(), None)}
    await write_yaml(yaml(BASE + "handler: {type: template, template: new}"))
    assert (await tools["good"].plan(hass, {}, make_turn())).action == "read"
    with pytest.raises(Exception, match="changed or removed"):
        await tools["bad"].plan(hass, {}, make_turn())


async def test_a_changed_secret(hass: HomeAssistant, server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    text = f"""
    home_agent:
      secrets: {{key: !secret key}}
      custom_tools:
        - {{name: ask, description: Asks., handler: {{type: rest, url: "{server.url}", headers: {{X-A: "{{{{ key }}}}"}}}}}}
    """
    for secret in ("first-secret", "second-secret"):
        await write_yaml(text, secrets=f"key: {secret}")
        assert (await run("ask"))["success"]
        assert server.last.headers["X-A"] == secret


async def test_broken_yaml_changes_nothing(hass: HomeAssistant, write_yaml: WriteYaml, tmp_path: Path) -> None:
    await write_yaml(yaml(BASE + "handler: {type: template, template: a}"))
    (tmp_path / "configuration.yaml").write_text("home_agent: [", encoding="utf-8")
    with pytest.raises(Exception, match="configuration"):
        await hass.services.async_call(DOMAIN, "reload", blocking=True)
    assert names(hass) == ["bad", "good"]


async def test_reload_is_for_admins(hass: HomeAssistant, write_yaml: WriteYaml, hass_read_only_user: MockUser) -> None:
    await write_yaml("home_agent:")
    with pytest.raises(Unauthorized):
        await hass.services.async_call(DOMAIN, "reload", blocking=True, context=Context(user_id=hass_read_only_user.id))


def in_ui(name: str, **more: Any) -> ConfigSubentryDataWithId:
    data = {"name": name, "description": "Of the UI.", "handler": {"type": "template", "template": "ui"}} | more
    return subentry("custom_tool", name, f"tool-{name}", data)


async def test_yaml_wins_over_the_ui(hass: HomeAssistant, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(yaml(BASE + "handler: {type: template, template: yaml}"), more=[in_ui("bad"), in_ui("mine")])
    assert names(hass) == ["bad", "good", "mine"]
    assert (await run("bad"))["result"] == "yaml"
    assert (await run("mine"))["result"] == "ui"
    assert issues(hass)["custom_tool_clash"] == {"tool": "bad", "file": "configuration.yaml", "line": "9"}
    await write_yaml("home_agent:")
    assert (await run("bad"))["result"] == "ui"
    assert issues(hass) == {}


async def test_a_wrong_tool_in_yaml_keeps_its_name(hass: HomeAssistant, write_yaml: WriteYaml) -> None:
    await write_yaml(yaml(BASE + "handler: {type: script}"), more=[in_ui("bad")])
    assert names(hass) == ["good"]
    assert {"custom_tool_clash", "custom_yaml_tool"} <= set(issues(hass))


async def test_a_wrong_tool_of_the_ui_is_told(hass: HomeAssistant, write_yaml: WriteYaml) -> None:
    wrong = {"handler": {"type": "template", "template": "{{ gone_secret }}"}}
    await write_yaml("home_agent:", more=[in_ui("ui", **wrong)])
    told = issues(hass)["custom_tool_wrong"]
    assert told["tool"] == "ui"
    assert "gone_secret" in told["reason"]


@pytest.mark.parametrize(("chosen", "offered"), [
    pytest.param(None, {"bad", "good"}, id="all"),
    pytest.param(["good", "gone"], {"good"}, id="some"),
    pytest.param(["none"], set(), id="none"),
])  # fmt: skip
async def test_a_profile_chooses(
    hass: HomeAssistant, write_yaml: WriteYaml, chosen: list[str] | None, offered: set[str]
) -> None:
    profile = {} if chosen is None else {"custom_tools": chosen}
    await write_yaml(yaml(BASE + "handler: {type: template, template: a}"), profile=profile)
    data = runtime(hass)
    tools = await data.tools.async_tools(next(iter(data.profiles.values())), None)
    ours = {"change_wish", "make_wish", "store_memory", "teach_name"}
    assert {tool.name for tool in tools if not tool.name.startswith("ha_")} - ours == offered


async def test_hosts_that_are_not_allowed_are_told(hass: HomeAssistant, write_yaml: WriteYaml) -> None:
    tool = REST + "  url: https://api.example.org/v1"
    await write_yaml(yaml(tool), options={"allowed_hosts": ["*.example.com"]})
    assert "api.example.org" in issues(hass)["custom_yaml_tool"]["reason"]
    await write_yaml(yaml(tool.replace("example.org", "example.com")))
    assert names(hass) == ["bad", "good"]


async def test_issues_end_with_the_entry(hass: HomeAssistant, write_yaml: WriteYaml) -> None:
    await write_yaml(yaml(BASE + "handler: {type: script}"))
    [entry] = hass.config_entries.async_entries(DOMAIN)
    assert await hass.config_entries.async_reload(entry.entry_id)
    assert "custom_yaml_tool" in issues(hass)
    assert await hass.config_entries.async_unload(entry.entry_id)
    assert not [key for domain, key in ir.async_get(hass).issues if domain == DOMAIN]
    await hass.services.async_call(DOMAIN, "reload", blocking=True)
