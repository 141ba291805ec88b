"""Automations that start themselves or each other, events that nothing fires, blueprints and what a draft depends on."""

from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.automations.check import async_depends, async_problems
from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.support.errors import ToolRefusal
from tests.automations.a_home import HIDDEN, LIGHT_ON, build_home, draft, knows, sentences


@pytest.fixture(autouse=True)
async def home(hass: HomeAssistant) -> None:
    await build_home(hass)


def hears(event_type: str, **data: Any) -> dict[str, Any]:
    return {"trigger": "event", "event_type": event_type, **({"event_data": data} if data else {})}


async def test_two_automations_start_each_other(hass: HomeAssistant) -> None:
    told = await sentences(hass, {"event": "other_event"}, trigger=hears("answer"))
    assert told.startswith("actions[0]: It starts another automation, which starts this one again")


async def test_toggles_what_it_waits_for(hass: HomeAssistant) -> None:
    toggle = {"action": "light.toggle", "target": {"entity_id": "light.bed_light"}}
    told = await sentences(hass, toggle, trigger={"trigger": "state", "entity_id": "light.bed_light"})
    assert told.startswith("actions[0]: It toggles light.bed_light, and each change of it starts it again.")


async def test_starts_itself(hass: HomeAssistant) -> None:
    again = {"action": "automation.trigger", "target": {"entity_id": "{{ this.entity_id }}"}}
    assert "It starts itself again" in await sentences(hass, again)


async def test_event_that_only_a_condition_lets_through_is_no_loop(hass: HomeAssistant) -> None:
    condition = {"condition": "state", "entity_id": "light.bed_light", "state": "off"}
    assert await sentences(hass, {"event": "mine"}, trigger=hears("mine"), conditions=[condition]) == ""


async def test_event_that_is_said_to_come(hass: HomeAssistant) -> None:
    one = await draft(hass, trigger=hears("from_the_garden"))
    assert [problem.path for problem in await async_problems(hass, one, knows=knows)] == ["triggers[0].event_type"]
    assert await async_problems(hass, one, knows=knows, trust_events=["from_the_garden"]) == []


EVENTS_OF_ALL = {
    "call of a known entity": (hears("call_service", service_data={"entity_id": "light.bed_light"}), True),
    "entry of a known entity": (hears("logbook_entry", entity_id="light.bed_light"), True),
    "call of a hidden entity": (hears("call_service", service_data={"entity_id": HIDDEN}), False),
    "calls of a domain": (hears("call_service", domain="switch", service="turn_on"), False),
    "any call": (hears("call_service"), False),
    "any entry": (hears("logbook_entry"), False),
}


@pytest.mark.parametrize(("trigger", "is_fine"), EVENTS_OF_ALL.values(), ids=EVENTS_OF_ALL)
async def test_event_that_tells_of_all(hass: HomeAssistant, trigger: dict[str, Any], *, is_fine: bool) -> None:
    assert (await sentences(hass, trigger=trigger) == "") is is_fine


async def test_repeats_without_a_pause(hass: HomeAssistant) -> None:
    until = {"condition": "state", "entity_id": "light.bed_light", "state": "on"}
    told = await sentences(hass, {"repeat": {"until": [until], "sequence": [{"event": "again"}]}})
    assert told.startswith("actions[0].repeat.sequence: It repeats without a pause")


@pytest.mark.parametrize("path", ["../secrets.yaml", "/etc/x.yaml", "a/../../x.yaml", "no/such.yaml"])
async def test_blueprint_that_is_none(hass: HomeAssistant, path: str) -> None:

    with pytest.raises(ToolRefusal):
        await sentences(hass, use_blueprint={"path": path, "input": {}})


async def test_blueprint_is_depended_on(hass: HomeAssistant) -> None:
    file = Path(hass.config.path("blueprints", "automation", "mine", "lamp.yaml"))
    file.parent.mkdir(parents=True)
    written = (
        "blueprint:\n  name: Lamp\n  domain: automation\n  input:\n    lamp:\n      selector: {entity: {}}\n"
        "triggers:\n  - trigger: state\n    entity_id: !input lamp\n"
        "actions:\n  - action: light.turn_on\n    target: {entity_id: !input lamp}\n"
    )
    file.write_text(written)
    inputs: dict[str, Any] = {"lamp": "light.bed_light"}
    config = {"alias": "Test", "use_blueprint": {"path": "mine/lamp.yaml", "input": inputs}}
    before = await async_depends(hass, await async_draft(hass, config))
    file.write_text(written + "# changed\n")
    after = await async_depends(hass, await async_draft(hass, config))
    assert {*before} == {*after} == {"blueprint:mine/lamp.yaml"}
    assert before != after
    assert await async_problems(hass, await async_draft(hass, config), knows=knows) == []
    inputs["lmap"] = 1
    found = await async_problems(hass, await async_draft(hass, config), knows=knows)
    assert [(one.path, "lamp" in one.sentence) for one in found] == [("use_blueprint.input.lmap", True)]


async def test_group_is_depended_on(hass: HomeAssistant) -> None:
    hass.states.async_set("group.lamps", "off", {"entity_id": ["light.bed_light"]})
    call = {**LIGHT_ON, "target": {"entity_id": "group.lamps"}}
    before = await async_depends(hass, await draft(hass, call))
    hass.states.async_set("group.lamps", "off", {"entity_id": ["light.kitchen_lights"]})
    after = await async_depends(hass, await draft(hass, call))
    assert {*before} == {*after} == {"group.lamps"}
    assert before != after
