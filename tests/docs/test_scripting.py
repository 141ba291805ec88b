"""What agents are told of writing automations holds: each example is one that Home Assistant runs."""

import re

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
import yaml  # type: ignore[import-untyped]

from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.search.user_documents import FOR_AGENTS
from custom_components.home_agent.support.errors import ToolRefusal

TEXT = (FOR_AGENTS / "scripting.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
async def automations(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "automation", {})


@pytest.mark.usefixtures("automations")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.partition("\n")[0])
async def test_an_example_is_an_automation(hass: HomeAssistant, example: str) -> None:
    config = yaml.safe_load(example)
    draft = await async_draft(hass, config)
    assert draft.config == config
    assert all((draft.alias, draft.triggers, draft.actions))


def test_it_has_every_pattern() -> None:
    titles = [example.partition("\n")[0].removeprefix("alias: ") for example in EXAMPLES]
    assert titles == [
        "Garage door opened at night", "Bath fan by humidity", "Anna comes home", "Blinds on weekdays",
        "Bins every second Tuesday", "Morning words",
    ]  # fmt: skip


def test_it_is_short() -> None:
    assert len(TEXT) <= 6_000


@pytest.mark.usefixtures("automations")
async def test_an_rrule_is_no_trigger(hass: HomeAssistant) -> None:
    config = {
        "alias": "x", "triggers": [{"trigger": "time", "at": "07:00:00", "rrule": "FREQ=WEEKLY"}],
        "actions": [{"action": "notify.notify", "data": {"message": "x"}}],
    }  # fmt: skip
    with pytest.raises(ToolRefusal):
        await async_draft(hass, config)


@pytest.mark.parametrize(("template", "rendered"), [
    ("{{ states('sensor.missing') | float(0) }}", "0"),
    ("{{ has_value('sensor.missing') }}", "False"),
    ("{{ state_attr('light.missing', 'brightness') | default(0, true) }}", "0"),
    ("{{ trigger.to_state.state if trigger.to_state else '' }}", ""),
    ("{{ '9' > '10' }}", "True"),
    ("{{ reply.answer | default('') }}", ""),
])  # fmt: skip
def test_what_it_says_of_templates(hass: HomeAssistant, template: str, rendered: str) -> None:
    from homeassistant.helpers.template import Template

    variables = {"trigger": {"to_state": None}, "reply": {}}
    assert Template(template, hass).async_render(variables, parse_result=False).strip() in (rendered, f"{rendered}.0")
