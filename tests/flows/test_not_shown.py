"""Saving a page keeps what it does not show: keys of a newer release, and values that no field of it can say."""

from copy import deepcopy
from typing import Any

from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.flows.options import ADVANCED_TOPICS, TOPICS
from custom_components.home_agent.settings.profile import settings_of
from tests.flows.forms import change, more, page, resend, resend_page, shown
from tests.house import set_up, subentry
from tests.llm_server import LLMServer

NEWER: dict[str, Any] = {"newer": {"inside": [1, 2]}, "newer_empty": []}
"""What a newer release stores beside what this one knows."""
DEFAULTS = {
    "language": "de", "tool_timeout": 7, "delegate_to": ["conversation.elsewhere"], **NEWER,
    "context_entities": [{"entity_id": "light.*", "newer": 1}, {"entity_id": "lock.*", "attributes": ["a"]}],
}  # fmt: skip
OPTIONS: dict[str, Any] = {
    **NEWER,
    "default_profile_settings": DEFAULTS,
    "retrieval": {**NEWER, "top_k": 7},
    "memory": {**NEWER, "top_k": 7},
    "pins": {"unlock": "1234", "newer": "4711"},
    "agent_rules": [{"agent": "home_agent", "weekdays": ["mon"], "newer": [1]}, {"agent": "home_agent", "newer": [2]}],
}


def lost(before: Any, after: Any) -> Any:
    """Return what is in one value and not in the other."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = {key: lost(value, after.get(key)) for key, value in before.items()}
        return {key: value for key, value in found.items() if value not in ({}, None)}
    return None if before == after else before


@pytest.mark.parametrize("step", [*TOPICS, *ADVANCED_TOPICS])
async def test_page_of_the_default_settings(hass: HomeAssistant, step: str) -> None:
    entry = await set_up(hass, options=deepcopy(OPTIONS))
    assert (await resend_page(hass, await page(hass, entry, step)))["type"] is FlowResultType.MENU
    stored = dict(entry.options) | {"default_profile_settings": settings_of(entry.options["default_profile_settings"])}
    gone = lost(OPTIONS, stored)
    shown_here = {"tools": {"delegate_to": ["conversation.elsewhere"]}}  # the field there has no such choice
    assert gone == ({"default_profile_settings": shown_here[step]} if step in shown_here else {})


async def test_row_of_context_that_was_changed(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options=deepcopy(OPTIONS))
    form = await page(hass, entry, "context")
    rows = shown(form)["context_entities_patterns"]
    assert rows == [{"entity_id": "light.*"}, {"entity_id": "lock.*", "attributes": ["a"]}]
    changed = [rows[1] | {"attributes": ["b"]}, rows[0] | {"attributes": ["c"]}]
    await resend_page(hass, form, context_entities_patterns=changed)
    assert settings_of(entry.options["default_profile_settings"])["context_entities"] == [
        changed[0], changed[1] | {"newer": 1},
    ]  # fmt: skip


async def test_rule_beside_one_that_was_changed(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options=deepcopy(OPTIONS))
    form = await page(hass, entry, "agents")
    rows = shown(form)["agent_rules"]
    assert rows == [{"agent": "home_agent", "weekdays": ["mon"]}, {"agent": "home_agent"}]
    await resend_page(hass, form, agent_rules=[rows[1], rows[0] | {"weekdays": ["tue"]}])
    assert entry.options["agent_rules"] == [OPTIONS["agent_rules"][1], {"agent": "home_agent", "weekdays": ["tue"]}]


async def test_agent(hass: HomeAssistant) -> None:
    entry = await set_up(hass, profile=DEFAULTS | {"delegate_to": []})
    rows = shown(await more(hass, await change(hass, entry), "context"))["context_entities_patterns"]
    await resend(
        hass, await change(hass, entry), tool_timeout=9, context_entities_patterns=[*rows, {"entity_id": "fan.*"}]
    )
    before = {key: value for key, value in DEFAULTS.items() if key not in ("tool_timeout", "context_entities")}
    stored = entry.subentries["profile-1"].data
    assert stored.items() >= (before | {"delegate_to": [], "tool_timeout": 9}).items()
    assert stored["context_entities"] == [*DEFAULTS["context_entities"], {"entity_id": "fan.*"}]


async def test_model(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm=NEWER)
    form = await resend(hass, await change(hass, entry, "llm", "llm-1"))
    result = await resend(hass, form, temperature=0.5)
    assert result["reason"] == "reconfigure_successful"
    assert entry.subentries["llm-1"].data.items() >= (NEWER | {"temperature": 0.5}).items()


def other(kind: str, **data: Any) -> ConfigSubentryDataWithId:
    return subentry(kind, "other", "other-1", data)


MCP_URL = "http://127.0.0.1:9/mcp"
MCP = {"url": MCP_URL, "auth": "bearer", "token": "tok-1234", "allowed_tools": ["a"]}


async def change_mcp_server(hass: HomeAssistant, entry: MockConfigEntry, url: str) -> dict[str, Any]:
    """Save the forms of a server that is off, with an address; return what is stored."""
    form = await change(hass, entry, "mcp_server", "other-1")
    for _ in range(2):
        form = await resend(hass, form, url=url)
    assert form["errors"] == {"base": "cannot_connect"}
    form = await resend(hass, await resend(hass, form, url=url, use_anyway=True))
    assert form["type"] is FlowResultType.ABORT
    return dict(entry.subentries["other-1"].data)


async def test_mcp_server(hass: HomeAssistant, socket_enabled: None) -> None:
    entry = await set_up(hass, more=[other("mcp_server", **MCP, **NEWER)])
    assert (await change_mcp_server(hass, entry, MCP_URL)).items() >= (MCP | NEWER).items()


async def test_mcp_server_elsewhere_is_sent_nothing_unknown(hass: HomeAssistant, socket_enabled: None) -> None:
    """What a newer release stored may be a secret of the server."""
    entry = await set_up(hass, more=[other("mcp_server", **MCP, **NEWER)])
    form = await change(hass, entry, "mcp_server", "other-1")
    form = await resend(hass, form, url="http://127.0.0.1:19/mcp", auth="none")
    await resend(hass, await resend(hass, form, use_anyway=True))
    assert not {"token", *NEWER} & entry.subentries["other-1"].data.keys()


TOOL = {"name": "weather", "description": "Weather.", "handler": {"type": "template", "template": "1"}}


@pytest.mark.parametrize("said", [
    {"read_only": True}, {"destructive": True}, {"read_only": False}, {"read_only": True, "destructive": True},
])  # fmt: skip
async def test_what_a_tool_does_if_no_choice_says_it(hass: HomeAssistant, said: dict[str, bool]) -> None:
    entry = await set_up(hass, more=[other("custom_tool", **TOOL, **said)])
    form = await resend(hass, await change(hass, entry, "custom_tool", "other-1"), title="New")
    assert (await resend(hass, form))["type"] is FlowResultType.ABORT
    assert dict(entry.subentries["other-1"].data) == TOOL | said | {"title": "New"}


async def test_what_a_tool_does_is_replaced_by_a_choice(hass: HomeAssistant) -> None:
    entry = await set_up(hass, more=[other("custom_tool", **TOOL, destructive=True)])
    form = await resend(hass, await change(hass, entry, "custom_tool", "other-1"), behaviour="read_only")
    await resend(hass, form)
    assert dict(entry.subentries["other-1"].data) == TOOL | {"read_only": True, "destructive": False}


async def test_tool_that_this_release_cannot_read(hass: HomeAssistant) -> None:
    """A key that is unknown here makes a tool invalid: the form says so, and nothing is lost."""
    entry = await set_up(hass, more=[other("custom_tool", **TOOL, newer=1)])
    form = await resend(hass, await change(hass, entry, "custom_tool", "other-1"))
    assert form["errors"] == {"base": "tool_refused"}
    assert "newer" in form["description_placeholders"]["reason"]
    assert dict(entry.subentries["other-1"].data) == TOOL | {"newer": 1}


async def test_credentials_of_a_tool_that_this_release_cannot_read(hass: HomeAssistant) -> None:
    auth = {"type": "bearer", "token": "abcdef", "newer": 1}
    handler = {"type": "rest", "url": "https://api.example.com/", "auth": auth}
    entry = await set_up(hass, more=[other("custom_tool", **TOOL | {"handler": handler})])
    form = await resend(hass, await resend(hass, await change(hass, entry, "custom_tool", "other-1")))
    assert form["step_id"] == "bearer"
    form = await resend(hass, form)
    assert form["errors"] == {"base": "tool_refused"}
    assert entry.subentries["other-1"].data["handler"] == handler
