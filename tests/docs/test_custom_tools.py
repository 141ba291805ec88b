"""The page about tools of one's own: every example is loaded, and every key is in a table."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.tools.custom.definition import SCHEMA
from custom_components.home_agent.tools.custom.provider import HANDLERS
from tests.tools.custom.conftest import WriteYaml, issues, write_yaml

from .pages import CODE, Example, examples, rows, section

__all__ = ["write_yaml"]

PAGE = "CUSTOM_TOOLS.md"
EXAMPLES = [example for example in examples("yaml") if example.page in (f"docs/{PAGE}", "docs/MCP.md")]
SECRETS = "\n".join(
    f"{name}: abc-{name}" for name in ("weather_api_key", "heating_token", "router_password", "car_secret", "mcp_token")
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.code.split("- name: ")[1].split("\n")[0])
async def test_examples_load(hass: HomeAssistant, write_yaml: WriteYaml, example: Example) -> None:
    await write_yaml(example.code, secrets=SECRETS)
    assert issues(hass) == {}
    runtime = hass.config_entries.async_entries("home_agent")[0].runtime_data
    assert len(runtime.custom_tools.names) == example.code.count("- name:") > 0


def keys(heading: str) -> dict[str, bool]:
    """Return the keys below a heading and whether they are required."""
    found = rows(section(PAGE, heading).partition("###")[0], columns=3)
    return {key: bool(mark) for cell, mark, _ in found for key in CODE.findall(cell)}


def of_schema(schema: Any) -> dict[str, bool]:
    markers = schema.schema
    return {str(key): type(key).__name__ == "Required" for key in markers if str(key) != "type"}


@pytest.mark.parametrize(
    ("heading", "schema"),
    [
        ("What every tool has", SCHEMA),
        ("Requests: rest", HANDLERS["rest"].schema),
        ("Actions: service", HANDLERS["service"].schema),
        ("Templates: template", HANDLERS["template"].schema),
        ("Tools of MCP servers: mcp", HANDLERS["mcp"].schema),
    ],
)
def test_every_key(heading: str, schema: Any) -> None:
    assert keys(heading) == of_schema(schema)
