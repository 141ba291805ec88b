"""What forms refuse."""

from typing import Any
from unittest.mock import ANY

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.flows.fields import check_settings, check_template, inherited, tidy


@pytest.mark.parametrize(("template", "line"), [
    pytest.param("one\ntwo {{ three", "2", id="not closed"),
    pytest.param("one\ntwo\n{% for x in y %}", "3", id="no end"),
    pytest.param("{{ 'a' | no_such_filter }}", "1", id="unknown filter"),
    pytest.param("one\n{{ 1 / 0 }}", "2", id="fails when rendered"),
    pytest.param("one\n\n{{ nobody.name.first }}", "3", id="attribute of nothing"),
])  # fmt: skip
async def test_line_of_a_broken_template(hass: HomeAssistant, template: str, line: str) -> None:
    problem = check_template(hass, template)
    assert problem
    assert problem["line"] == line
    assert problem["error"]
    assert "TemplateSyntaxError" not in problem["error"]


async def test_template_that_nobody_can_read(hass: HomeAssistant) -> None:
    assert check_template(hass, f"{{{{ {'(' * 5000}1{')' * 5000} }}}} {{user_id}}")


async def test_template_that_is_too_long_has_no_line(hass: HomeAssistant) -> None:
    problem = check_template(hass, "{{ 'x' * 300000 }}")
    assert problem
    assert problem["line"] == "?"


@pytest.mark.parametrize("template", [
    pytest.param("Just text { with } braces.", id="text"),
    pytest.param("{{ user_name.upper() }} in {{ ha_name.upper() }}", id="names"),
    pytest.param("{{ language.upper() }} {{ profile_name.upper() }} {{ area_name(area_id) }}", id="the rest"),
    pytest.param("{{ states('sun.sun') }} {{ not_a_variable }}", id="states"),
    pytest.param("{{ messageHistory.upper() }} {current_time} {{ entity_context.upper() }}", id="placeholders"),
])  # fmt: skip
async def test_templates_that_render(hass: HomeAssistant, template: str) -> None:
    assert check_template(hass, template) is None


@pytest.mark.parametrize(("settings", "finding"), [
    pytest.param({}, None, id="defaults"),
    pytest.param(
        {"context_entities": [{"entity_id": "light.*"}, {"entity_id": "*"}, {"entity_id": "a.b"}]}, None, id="good",
    ),
    pytest.param(
        {"context_entities": [{"entity_id": "kitchen light"}]}, ("entity_pattern", {"pattern": "kitchen light"}),
        id="a name is no pattern",
    ),
    pytest.param({"use_default_prompt": False}, ("custom_prompt_empty", {}), id="no instructions at all"),
    pytest.param({"use_default_prompt": False, "custom_prompt": "You are."}, None, id="own instructions"),
    pytest.param({"timezone": "Asia/Tokyo"}, None, id="time zone"),
    pytest.param({"timezone": " Etc/GMT+3 "}, None, id="time zone with a number"),
    pytest.param({"timezone": "../etc"}, ("timezone_invalid", {"zone": "../etc"}), id="no time zone"),
    pytest.param({"prompt_additions": "{{{user_id}}} {{ 1 }}"}, ("prompt_additions_invalid", ANY), id="braces"),
    pytest.param(
        {"prompt_additions": "{{ message_history.upper().x.y }}", "use_prompt_context_service": False},
        ("prompt_additions_invalid", ANY), id="a plain template knows no placeholders",
    ),
])  # fmt: skip
async def test_settings(hass: HomeAssistant, settings: dict[str, Any], finding: Any) -> None:
    assert check_settings(hass, inherited(settings)) == finding


@pytest.mark.parametrize("key", ["custom_prompt", "prompt_additions"])
async def test_settings_name_the_broken_template(hass: HomeAssistant, key: str) -> None:
    finding = check_settings(hass, inherited({key: "{{"}))
    assert finding
    assert finding[0] == f"{key}_invalid"


def test_input_is_tidied() -> None:
    rows = [{"entity_id": " Light.Kitchen ", "attributes": [" brightness ", ""]}, {"entity_id": "*", "attributes": []}]
    assert tidy({"tool_timeout": 5.0, "local_first": True, "context_entities": rows}) == {
        "tool_timeout": 5,
        "local_first": True,
        "context_entities": [{"entity_id": "light.kitchen", "attributes": ["brightness"]}, {"entity_id": "*"}],
    }
    assert isinstance(tidy({"tool_timeout": 5.0})["tool_timeout"], int)


def test_a_single_row_is_a_list() -> None:
    assert tidy({"context_entities_patterns": {"entity_id": "*"}}) == {"context_entities": [{"entity_id": "*"}]}
