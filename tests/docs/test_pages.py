"""Links lead somewhere, and examples are accepted by what they are for."""

import ast
from collections.abc import Iterator, Mapping
import json
from pathlib import Path
import re
from typing import Any

from homeassistant.components import logger
from homeassistant.components.automation.config import async_validate_config_item as validate_automation
from homeassistant.components.fan.const import FanEntityFeature
from homeassistant.components.script.config import async_validate_config_item as validate_script
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv
from homeassistant.setup import async_setup_component
from homeassistant.util.yaml import parse_yaml
import pytest
from pytest_homeassistant_custom_component.common import async_mock_service

from custom_components.home_agent.flows.fields import check_template
from custom_components.home_agent.home.actions import service_calls
from custom_components.home_agent.policy.tool import HomeAgentTool
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.errors import HomeAgentError
from custom_components.home_agent.tools.control import HaControl
from custom_components.home_agent.tools.memory import ForgetMemory, RecallMemory, StoreMemory
from custom_components.home_agent.tools.query import HaQuery
from tests.house import set_up

from .pages import CODE, DOCS, LINK, PAGES, ROOT, Example, anchors, examples, names, page_name, prose, read, section

STEPS = [
    example for example in examples("yaml") if not example.code.startswith((f"{DOMAIN}:", "name:", "needs:", "tools:"))
]
"""Automations, scripts and their steps; what belongs into configuration.yaml, an agent or an extension is loaded by a test of its own."""
COMPONENT = ROOT / "custom_components" / DOMAIN
CHECKED = {"yaml", "json", "jinja", "bash", "python"}
PLAIN = {"", "text"}
SET_UP = ("automation", "script", "input_number", "persistent_notification", "notify")


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_links_lead_somewhere(path: Path) -> None:
    broken = []
    for target in LINK.findall(prose(path)):
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        if not target.startswith("http") and (not found.exists() or anchor not in anchors(found)):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_code_that_is_named_exists(path: Path) -> None:
    named = {name for name in CODE.findall(prose(path)) if re.fullmatch(r"[\w/]+(\.py|/)", name)}
    assert {name for name in named if not (ROOT / name).exists() and not any(COMPONENT.rglob(name))} == set()


def test_every_example_is_of_a_kind_that_is_known() -> None:
    assert {example.language for example in examples()} <= CHECKED | PLAIN


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=page_name)
def test_every_page_is_in_an_index(path: Path) -> None:
    index = path.parent / "README.md"
    targets = [*LINK.findall(read(index)), *LINK.findall(read(DOCS / "README.md"))]
    assert path.name == "README.md" or path.name in targets


@pytest.mark.parametrize("example", examples("bash"), ids=str)
def test_scripts_that_are_named_exist(example: Example) -> None:
    for name in re.findall(r"^(scripts/\w+)", example.code, re.MULTILINE):
        assert (ROOT / name).is_file()


@pytest.mark.parametrize("example", examples("python"), ids=str)
def test_python_parses(example: Example) -> None:
    assert ast.parse(example.code)


@pytest.mark.parametrize("example", examples("jinja"), ids=str)
def test_templates_render(hass: HomeAssistant, example: Example) -> None:
    assert check_template(hass, example.code) is None


@pytest.mark.parametrize("example", examples("json"), ids=str)
def test_json_parses(example: Example) -> None:
    assert json.loads(example.code)


@pytest.mark.parametrize("example", [item for item in examples("json") if item.page == "docs/TOOLS.md"], ids=str)
def test_tool_calls_are_accepted(hass: HomeAssistant, example: Example) -> None:
    call = json.loads(example.code)
    if "success" in call:
        assert set(call) == {"success", "result", "error"}
        return
    tools: dict[str, list[type[HomeAgentTool]]] = {
        "action": [HaControl],
        "content": [StoreMemory],
        "query": [RecallMemory, ForgetMemory],
    }
    for tool in next((found for key, found in tools.items() if key in call), [HaQuery]):
        assert tool.parameters(call)


async def test_the_error_in_the_tools_page_is_what_is_said(hass: HomeAssistant) -> None:
    shown = next(json.loads(item.code) for item in examples("json") if '"success": false' in item.code)
    for service in ("turn_on", "turn_off", "toggle", "set_percentage", "increase_speed", "decrease_speed"):
        async_mock_service(hass, "fan", service)
    features = FanEntityFeature.TURN_ON | FanEntityFeature.TURN_OFF | FanEntityFeature.SET_SPEED
    hass.states.async_set("fan.bedroom", "off", {"supported_features": int(features)})
    with pytest.raises(HomeAgentError) as error:
        service_calls(hass, "turn_on", "fan.bedroom", {"brightness_pct": 40})
    assert str(error.value) == shown["error"]


async def set_up_examples(hass: HomeAssistant) -> None:
    """Set up what the examples use, as far as that is quickly done."""
    await set_up(hass)
    for domain in SET_UP:
        assert await async_setup_component(hass, domain, {})


def steps(config: object) -> Iterator[Mapping[str, Any]]:
    """Yield every step of an automation or script, however deep."""
    if isinstance(config, Mapping):
        if "action" in config:
            yield config
        for value in config.values():
            yield from steps(value)
    elif isinstance(config, list):
        for item in config:
            yield from steps(item)


@pytest.mark.parametrize("example", STEPS, ids=str)
async def test_automations_are_valid(hass: HomeAssistant, example: Example) -> None:
    await set_up_examples(hass)
    config = parse_yaml(example.code)
    assert isinstance(config, dict)
    if "logger" in config:
        logger.CONFIG_SCHEMA(config)
    elif "triggers" in config:
        item = await validate_automation(hass, "example", config)
        assert item is not None
        assert item.validation_status == "ok"
    elif "sequence" in config:
        found = await validate_script(hass, "example", config)
        assert found is not None
        assert found.validation_status == "ok"
    elif "cards" not in config:  # tests/test_dashboard.py uses that one
        cv.script_action(config)


@pytest.mark.parametrize("example", STEPS, ids=str)
async def test_actions_take_what_the_examples_give_them(hass: HomeAssistant, example: Example) -> None:
    await set_up_examples(hass)
    for step in steps(parse_yaml(example.code)):
        if "." not in step["action"]:  # what a card does when it is tapped
            step = {**step, "action": step["perform_action"]}
        domain, name = step["action"].split(".")
        if domain not in (DOMAIN, "ai_task", *SET_UP):
            continue
        schema = hass.services.async_services_for_domain(domain)[name].schema
        assert schema is not None
        data = {**step.get("data", {}), **step.get("target", {})}
        if domain == DOMAIN or "{{" not in str(data):  # elsewhere a template may stand for a number
            schema(data)


@pytest.mark.parametrize("example", [item for item in STEPS if "trigger.event.data." in item.code], ids=str)
def test_fields_of_events_in_examples_are_documented(example: Example) -> None:
    automation: Any = parse_yaml(example.code)
    [trigger] = automation["triggers"]
    fields = names(section("reference/events.md", "Events").partition("##")[0])
    fields |= names(section("reference/events.md", trigger["event_type"]))
    used = {*re.findall(r"trigger\.event\.data\.(\w+)", example.code), *trigger.get("event_data", {})}
    assert used <= fields


NOT_OURS = frozenset(
    {
        "All LLM APIs", "Automatic prefix caching", "Client credentials", "Device control", "Expose new entities", "Home Agent",
        "Loading model", "Max Concurrent Predictions", "Prefer handling commands locally", "Show details", "Submit",
        "System health", "Unified KV Cache", "Settings > Devices & services > Home Agent",
    }
)  # fmt: skip
"""Words of Home Assistant, its frontend and of model servers."""
SAID = frozenset({"Your answer counts only for this"})
"""Said by code; its test knows it. What ends in a question mark is asked, and the tests of questions have it."""
WITHOUT_LABELS = ("CHANGELOG.md", "DEVELOPMENT.md", *(path.name for path in (DOCS / "performance").glob("*.md")))
"""What is in italics there is a word of a table."""
ITALIC = re.compile(r"(?<![*\w])\*(?![*\s])([A-Z][^*\n]*(?:\n[^*\n]+)?)(?<![\s*])\*(?![*\w])")


def words_of(translations: object) -> Iterator[str]:
    """Yield every text of a file of translations."""
    if isinstance(translations, dict):
        for value in translations.values():
            yield from words_of(value)
    else:
        yield str(translations)


@pytest.mark.parametrize("path", [path for path in PAGES if path.name not in WITHOUT_LABELS], ids=page_name)
def test_labels_are_those_of_the_forms(path: Path) -> None:
    texts = {text.rstrip(".") for text in words_of(json.loads(read(COMPONENT / "translations" / "en.json")))}
    known = texts | NOT_OURS | SAID | {"Unknown", "None"}
    named = {" ".join(label.split()) for label in ITALIC.findall(CODE.sub("", prose(path))) if label[-1] != "?"}
    captions = {label for label in named if label.startswith("With a model. Without one")}
    assert named - known - captions == set()
