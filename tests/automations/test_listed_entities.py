"""A template reads no attribute that lists other entities: hidden ones may be among them, now or later."""

from jinja2 import Environment
import pytest

from custom_components.home_agent.automations.listed_entities import lists_others

LISTING = [
    "{{ state_attr('zone.home', 'persons') | join }}",
    "{{ is_state_attr('zone.home', 'persons', ['person.a']) }}",
    "{{ state_attr('group.all', 'entity_id') }}",
    "{{ 'zone.home' | state_attr('persons') }}",
    "{{ ['zone.home'] | map('state_attr', 'persons') | list }}",
    "{{ state_attr('zone.home', key) }}",
    "{{ states.zone.home.attributes.persons }}",
    "{{ states.zone.home.attributes['persons'] }}",
    "{{ states['zone.home'].attributes[key] }}",
    "{{ states.zone.home.attributes }}",
    "{{ states.zone.home.attributes | tojson }}",
    "{{ states.zone.home.attributes.items() }}",
    "{{ states.zone.home }}",
    "{{ states['zone.home'] }}",
    "{{ trigger.to_state }}",
    "{{ 'now: ' ~ trigger.to_state }}",
    "{{ trigger.to_state.attributes.persons }}",
    "{% set all = trigger.to_state.attributes %}{{ all.persons }}",
    "{{ [states.zone.home] | map(attribute='attributes.persons') | list }}",
]
FINE = [
    "{{ state_attr('light.a', 'brightness') | int(0) > 100 }}",
    "{{ trigger.to_state.attributes.current_position }}",
    "{{ trigger.to_state.state }}",
    "{{ trigger.to_state.name }} is {{ trigger.to_state.state }}",
    "{{ trigger.to_state is not none and trigger.to_state.state == 'on' }}",
    "{{ trigger.entity_id }}",
    "{{ states('zone.home') | int(0) > 0 }}",
    "{{ states.light.a.state }}",
    "{{ states.light.a.attributes.brightness }}",
    "{{ state_attr('climate.a', 'temperature') }}",
    "{{ trigger.event.data.command }}",
]


@pytest.mark.parametrize("template", LISTING)
def test_what_lists_others_is_found(template: str) -> None:
    assert lists_others(Environment(autoescape=True).parse(template))


@pytest.mark.parametrize("template", FINE)
def test_what_reads_one_thing_is_fine(template: str) -> None:
    assert not lists_others(Environment(autoescape=True).parse(template))
