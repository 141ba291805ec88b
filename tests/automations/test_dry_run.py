"""Actions are shown, not run: what would be called, on which entities, with which data."""

from collections.abc import Mapping, Sequence
from typing import Any

from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.automations.dry_run import DryCall, async_dry_run
from custom_components.home_agent.support.masking import MASK
from tests.automations.engine import Script

HIDDEN = "light.hidden"
called: list[ServiceCall] = []


@pytest.fixture(autouse=True)
async def lights(hass: HomeAssistant) -> None:
    called.clear()
    assert await async_setup_component(hass, "light", {})
    hass.services.async_register("test", "act", called.append)
    hass.states.async_set("light.a", "on", {"brightness": 100})
    hass.states.async_set("light.b", "off")
    hass.states.async_set(HIDDEN, "on")


async def dry(hass: HomeAssistant, *actions: Mapping[str, Any], **variables: Any) -> list[DryCall]:
    draft = await async_draft(hass, {"alias": "x", "triggers": [], "actions": [*actions]})
    return await async_dry_run(hass, draft, variables, knows=lambda entity_id: entity_id != HIDDEN)


def acts(**fields: Any) -> dict[str, Any]:
    return {"action": "test.act", **fields}


def actions_of(calls: Sequence[DryCall]) -> list[str]:
    return [call.path for call in calls if call.action]


async def test_nothing_is_called(hass: HomeAssistant) -> None:
    [call] = await dry(hass, acts(target={"entity_id": ["light.a", "light.b"]}, data={"level": 3}))
    await hass.async_block_till_done()
    assert (call.path, call.action, call.entity_ids, call.data) == (
        "actions[0]", "test.act", ("light.a", "light.b"), {"level": 3},
    )  # fmt: skip
    assert called == []


async def test_templates_are_rendered_with_what_is_given(hass: HomeAssistant) -> None:
    trigger = {"to_state": {"state": "open"}}
    [call] = await dry(
        hass,
        acts(data={"text": "{{ trigger.to_state.state }} {{ state_attr('light.a', 'brightness') }}"}),
        trigger=trigger,
    )
    assert call.data == {"text": "open 100"}


async def test_a_hidden_entity_is_rendered_like_an_unknown_one(hass: HomeAssistant) -> None:
    [call] = await dry(hass, acts(data={"a": "{{ states('light.hidden') }}", "b": "{{ states('light.none') }}"}))
    assert call.data == {"a": "unknown", "b": "unknown"}


async def test_a_hidden_target_is_told_like_an_unknown_one(hass: HomeAssistant) -> None:
    hidden, unknown = await dry(hass, acts(target={"entity_id": HIDDEN}), acts(target={"entity_id": "light.hiddem"}))
    assert hidden.entity_ids == unknown.entity_ids == ()
    assert hidden.note == unknown.note.replace("hiddem", "hidden")


@pytest.mark.parametrize(
    "template",
    [
        "{{ area_entities('kitchen') }}",
        "{{ 'x' | device_id }}",
        "{{ ['light.a'] | map('area_id') | list }}",
        "{{ integration_entities('demo') }}",
        "{% from 'tools.jinja' import x %}{{ x() }}",
    ],
)
async def test_what_looks_into_registries_is_not_rendered(hass: HomeAssistant, template: str) -> None:
    [call] = await dry(hass, acts(data={"text": template}))
    assert call.data == {}
    assert "is not rendered" in call.note


async def test_all_lights_of_a_template_are_those_that_may_be_known(hass: HomeAssistant) -> None:
    [call] = await dry(hass, acts(data={"text": "{{ states.light | map(attribute='entity_id') | sort | join(',') }}"}))
    assert call.data == {"text": "light.a,light.b"}


async def test_what_depends_on_a_response_is_told(hass: HomeAssistant) -> None:
    first, second = await dry(
        hass, acts(response_variable="answer"), acts(data={"text": "{{ answer.text }}", "other": "{{ 1 + 1 }}"})
    )
    assert "its response 'answer' is unknown" in first.note
    assert "'text' is not rendered: it depends on 'answer', the response of test.act" in second.note
    assert second.data == {"other": 2}


async def test_what_depends_on_the_trigger_is_told_without_one(hass: HomeAssistant) -> None:
    [call] = await dry(hass, acts(data={"text": "{{ trigger.id }}"}))
    assert "it depends on the trigger: give one" in call.note


async def test_a_choice_takes_the_branch_of_its_conditions(hass: HomeAssistant) -> None:
    calls = await dry(
        hass,
        {
            "choose": [
                {"conditions": [{"condition": "state", "entity_id": "light.b", "state": "on"}], "sequence": [acts()]},
                {"conditions": "{{ is_state('light.a', 'on') }}", "sequence": [acts()]},
            ],
            "default": [acts()],
        },
    )
    assert actions_of(calls) == ["actions[0].choose[1].sequence[0]"]


async def test_then_or_else(hass: HomeAssistant) -> None:
    test = {"condition": "numeric_state", "entity_id": "light.a", "attribute": "brightness", "above": 200}
    calls = await dry(hass, {"if": [test], "then": [acts()], "else": [acts()]})
    assert actions_of(calls) == ["actions[0].else[0]"]
    assert "was '100', not above 200" in calls[0].note


async def test_a_false_condition_ends_it(hass: HomeAssistant) -> None:
    [told] = await dry(hass, {"condition": "state", "entity_id": "light.a", "state": "off"}, acts())
    assert told.note == "The condition is false: it stops here (light.a was 'on', not 'off')."


async def test_delays_and_waits_are_told(hass: HomeAssistant) -> None:
    delay, wait, call = await dry(
        hass, {"delay": "00:05:00"}, {"wait_template": "{{ is_state('light.b', 'on') }}"}, acts()
    )
    assert delay.note.startswith("It waits 0:05:00")
    assert wait.note.startswith("It waits until")
    assert call.action == "test.act"


async def test_variables_are_known_from_where_they_are_set(hass: HomeAssistant) -> None:
    [call] = await dry(hass, {"variables": {"level": "{{ 2 * base }}"}}, acts(data={"level": "{{ level }}"}), base=4)
    assert call.data == {"level": 8}


async def test_a_repetition_shows_its_first_rounds(hass: HomeAssistant) -> None:
    calls = await dry(hass, {"repeat": {"count": 20, "sequence": [acts(data={"round": "{{ repeat.index }}"})]}})
    assert calls[0].note == "It is repeated 20 times."
    assert [call.data for call in calls[1:]] == [{"round": 1}, {"round": 2}, {"round": 3}]


async def test_an_action_that_does_not_exist_is_told(hass: HomeAssistant) -> None:
    [call] = await dry(hass, {"action": "nothing.here"})
    assert call.note == "the action nothing.here does not exist now"


async def test_codes_are_masked(hass: HomeAssistant) -> None:
    [call] = await dry(hass, acts(data={"code": "1234", "deep": {"api_key": "k"}, "text": "t"}))
    assert call.data == {"code": MASK, "deep": {"api_key": MASK}, "text": "t"}


async def test_a_template_without_end_is_stopped(hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custom_components.home_agent.automations.rendering.MAX_SECONDS", 0.01)
    for module in ("template_costs", "template_growth"):
        monkeypatch.setattr(f"custom_components.home_agent.automations.{module}.MOST_WORK", 10_000_000)
    loop = "{% for a in range(900) %}{% for b in range(900) %}{% set c = a * b %}{% endfor %}{% endfor %}"
    [call] = await dry(hass, acts(data={"text": loop}))
    assert "takes longer than" in call.note


async def test_entities_of_an_area_are_those_that_may_be_known(hass: HomeAssistant) -> None:
    area = ar.async_get(hass).async_create("Kitchen")
    for name in ("lamp", "hidden"):
        hass.states.async_remove(f"light.{name}")
        entry = er.async_get(hass).async_get_or_create("light", "t", name, suggested_object_id=name)
        er.async_get(hass).async_update_entity(entry.entity_id, area_id=area.id)
        hass.states.async_set(f"light.{name}", "on")
    [call] = await dry(hass, acts(target={"area_id": area.id}))
    assert call.entity_ids == ("light.lamp",)


async def test_states_of_the_past_decide_where_they_are_given(hass: HomeAssistant) -> None:
    draft = await async_draft(
        hass,
        {"alias": "x", "triggers": [], "actions": [acts(data={"text": "{{ states('light.a') }} {{ now().year }}"})]},
    )
    past = Script(initial={"light.a": ("off", {})}, changes=[]).timeline()
    [call] = await async_dry_run(hass, draft, {}, knows=lambda _: True, states=past)
    assert call.data == {"text": "off 2026"}


async def test_what_a_template_switches_off_is_not_called(hass: HomeAssistant) -> None:
    calls = await dry(hass, {"action": "light.turn_on", "enabled": "{{ false }}"}, {"delay": 1, "enabled": "{{ x }}"})
    assert [call.note for call in calls] == [
        "It is switched off.",
        "A template decides whether it is switched on; it is shown as if it were.",
        "It waits 0:00:01; what follows is shown as if it were now.",
    ]
