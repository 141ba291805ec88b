"""A template that could stop Home Assistant is refused before it is compiled; what people write is not."""

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.automations.template_costs import check_costs
from custom_components.home_agent.support.errors import ToolRefusal

TOO_MUCH = [
    "{{ 'x' * 10**9 }}",
    "{{ 10**9 * 'x' }}",
    "{{ 'x' * 1000000000 }}",
    "{{ ('x' * 9999) * 99999 }}",
    "{% set a = 'x' * 10000 %}{% set b = a * 10000 %}{% set c = b * 10000 %}{{ c }}",
    "{% set n = 1000000000 %}{{ 'x' * n }}",
    "{{ [1] * 10**8 * 10 }}",
    "{{ 9 ** 9 ** 9 }}",
    "{{ 2 ** states('sensor.a') | int }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% endfor %}",
    "{% for i in range(500) %}{% for j in range(500) %}{% for k in range(500) %}{% endfor %}{% endfor %}{% endfor %}",
    "{% for i in x recursive %}{{ loop(x) }}{% endfor %}",
    "{{ '%999999999d' | format(1) }}",
    "{{ '{:>999999999}'.format(1) }}",
    "{{ 'x' | center(999999999) }}",
    "{{ 'x'.ljust(999999999) }}",
]
FINE = [
    "{{ states('sensor.a') | float(0) * 1.8 + 32 }}",
    "{{ (states('sensor.a') | float(0)) * 60 * 60 * 24 * 7 }}",
    "{{ as_timestamp(now()) > 1700000000 }}",
    "{{ '-' * 20 }}",
    "{{ states('sensor.a') | float(0) ** 2 }}",
    "{{ 2 ** 10 }}",
    "{% for one in trigger.to_state.attributes.list %}{{ one }}{% endfor %}",
    "{% for i in range(100) %}{% for j in range(100) %}{{ i * j }}{% endfor %}{% endfor %}",
    "{{ '%.1f' | format(states('sensor.a') | float(0)) }}",
    "{{ '{:02d}:{:02d}'.format(7, 5) }}",
    "{{ states('sensor.a') | float(0) * states('sensor.b') | float(0) }}",
    "{{ states('sensor.watt') | float(0) / 1000 * 0.32 }}",
    "no template",
    "{% broken",
]


@pytest.mark.parametrize("template", TOO_MUCH)
def test_what_may_take_too_much_is_refused(template: str) -> None:
    with pytest.raises(ToolRefusal, match="more time and memory"):
        check_costs({"actions": [{"data": {"message": template}}]})


@pytest.mark.parametrize("template", FINE)
def test_what_people_write_is_taken(template: str) -> None:
    check_costs({"conditions": [template]})


async def test_it_is_refused_before_home_assistant_compiles_it(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "automation", {})
    config = {"alias": "A", "triggers": [{"trigger": "template", "value_template": "{{ 'x' * 10**9 }}"}], "actions": []}
    with pytest.raises(ToolRefusal, match="more time and memory"):
        await async_draft(hass, config)
