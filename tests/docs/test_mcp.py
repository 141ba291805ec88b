"""The page about MCP servers: every example is entered into the form, and every field of the form is in the table."""

import json
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers.translation import async_get_translations
import pytest

from custom_components.home_agent.support.const import DOMAIN
from tests.flows.forms import add
from tests.house import set_up
from tests.tools.mcp.forms import send, stored

from .pages import Example, examples

PREFIX = "component.home_agent.config_subentries.mcp_server.step."
ENTERED = [item for item in examples("json") if item.page == "docs/MCP.md" and "Address" in json.loads(item.code)]
CHOICES = ("auth", "transport")


async def labels(hass: HomeAssistant) -> dict[str, str]:
    """Return the labels of all fields by key."""
    texts = await async_get_translations(hass, "en", "config_subentries", [DOMAIN])
    found = {key.removeprefix(PREFIX): label for key, label in texts.items() if key.startswith(PREFIX)}
    return {
        key.rpartition(".")[2]: label
        for key, label in found.items()
        if ".data." in key and not key.startswith("reconfigure.")
    }


async def entered(hass: HomeAssistant, example: Example) -> dict[str, Any]:
    """Return what the form is sent when somebody enters an example."""
    keys = {label: key for key, label in (await labels(hass)).items()}
    texts = await async_get_translations(hass, "en", "selector", [DOMAIN])
    options = {
        (name, label): key.rpartition(".")[2]
        for name in CHOICES
        for key, label in texts.items()
        if f".mcp_{name}.options." in key
    }
    return {
        (key := keys[label]): options[key, value] if key in CHOICES else value
        for label, value in json.loads(example.code).items()
    }


@pytest.mark.parametrize("example", ENTERED, ids=lambda example: json.loads(example.code)["Name"])
async def test_examples_can_be_entered(hass: HomeAssistant, socket_enabled: None, example: Example) -> None:
    sent = await entered(hass, example)
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry, "mcp_server"), **sent)
    assert form["errors"] is not None
    assert form["errors"].keys() == {"base"}  # nothing is wrong but that nobody is there
    form = await send(hass, form, **sent, use_anyway=True)
    assert form["step_id"] == "tools"
    result = await send(hass, form)
    assert (result["type"], result["title"]) == (FlowResultType.CREATE_ENTRY, sent["name"])
    assert {key: value for key, value in sent.items() if key != "name"}.items() <= stored(entry).items()


def test_there_are_examples() -> None:
    assert len(ENTERED) == 3
