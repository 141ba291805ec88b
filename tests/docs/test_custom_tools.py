"""The page about custom tools: every example is loaded."""

from homeassistant.core import HomeAssistant
import pytest

from tests.tools.custom.conftest import WriteYaml, issues, write_yaml

from .pages import Example, examples

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
