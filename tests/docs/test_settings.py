"""The settings reference says what the code says, and its examples of settings are read."""

import re

from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.flows.fields import check_template
from custom_components.home_agent.settings.portable import from_yaml, to_yaml
from custom_components.home_agent.settings.profile import SETTINGS
from custom_components.home_agent.support.const import DOMAIN
from scripts import _reference as reference

from .pages import DOCS, read, section


@pytest.mark.parametrize("page", reference.PAGES)
def test_a_page_of_the_reference_is_up_to_date(page: str) -> None:
    assert read(DOCS / "reference" / page) == reference.PAGES[page]().rstrip() + "\n", "run scripts/reference"


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_of_an_agent_is_in_the_reference_with_a_description(key: str) -> None:
    [row] = [line for line in section("reference/settings.md", "An agent").splitlines() if f"| `{key}` |" in line]
    label, _, default, _, text = (cell.strip() for cell in row.strip("|").split(" | "))
    assert label
    assert default
    assert text


def test_every_built_in_tool_is_in_the_reference() -> None:
    named = set(re.findall(r"^## (\w+)$", read(DOCS / "reference" / "tools.md"), re.MULTILINE))
    assert {"ha_control", "ha_query", "ha_undo", "teach_name", "delegate_to_service", "query_external_llm"} <= named


def test_an_agent_as_yaml() -> None:
    home = MockConfigEntry(
        domain=DOMAIN,
        subentries_data=[
            ConfigSubentryDataWithId(subentry_id=kind, subentry_type=kind, title=title, data={}, unique_id=None)
            for kind, title in (("llm", "Large model"), ("mcp_server", "Library"))
        ],
    )
    text = re.findall(r"```yaml\n(.*?)```", section("PROFILES.md", "As YAML"), re.DOTALL)[0]
    name, own, problems = from_yaml(home, text)
    assert (name, problems) == ("Technician", [])
    assert to_yaml(home, name, own, {}) == text


@pytest.mark.parametrize("name", ["ha_name", "user_name", "language", "area_id", "device_id", "profile_name"])
def test_variables_of_a_plain_template(hass: HomeAssistant, name: str) -> None:
    assert f"`{name}`" in read(DOCS / "PROMPTS.md")
    assert check_template(hass, "{{ " + name + ".missing.on_purpose }}", plain=True)
