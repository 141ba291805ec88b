"""Automations that start themselves or each other, events that nothing fires, blueprints and what a draft depends on."""

from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
import pytest
import yaml  # type: ignore[import-untyped]

from custom_components.home_agent.automations.check import async_depends, async_problems
from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.support.errors import ToolRefusal
from tests.automations.a_home import HIDDEN, LIGHT_ON, build_home, config, draft, knows, sentences


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
    assert told.startswith("actions[0]: It changes light.bed_light, and each change of it starts it again.")


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


LIGHT, SWITCH = "light.bed_light", "switch.decorative_lights"
TIME = {"trigger": "time", "at": "07:00:00"}
IS_ON = {"condition": "state", "entity_id": LIGHT, "state": "on"}


def call(action: str, entity_id: str, **more: Any) -> dict[str, Any]:
    return {"action": action, "target": {"entity_id": entity_id}, **more}


def changes(entity_id: str, **more: Any) -> dict[str, Any]:
    return {"trigger": "state", "entity_id": entity_id, **more}


OFF_AND_ON = (call("light.turn_off", LIGHT), call("light.turn_on", LIGHT))
LOOPS: dict[str, tuple[tuple[dict[str, Any], ...], dict[str, Any]]] = {
    "a script that fires": (({"action": "script.fires"},), {"trigger": hears("mine")}),
    "a script that is turned on": ((call("script.turn_on", "script.fires"),), {"trigger": hears("mine")}),
    "a script in a script": (({"action": "script.outer"},), {"trigger": hears("mine")}),
    "another that is triggered": ((call("automation.trigger", "automation.other"),), {"trigger": hears("answer")}),
    "three in a row": (({"event": "first"},), {"trigger": hears("third")}),
    "a condition that is always true": (({"event": "mine"},), {"trigger": hears("mine"), "conditions": ["{{ 1 == 1 }}"]}),
    "a condition that is off": (({"event": "mine"},), {"trigger": hears("mine"), "conditions": [{**IS_ON, "enabled": False}]}),
    "a condition that a template switches off": (
        ({"event": "mine"},), {"trigger": hears("mine"), "conditions": [{**IS_ON, "enabled": "{{ false }}"}]},
    ),
    "a condition of the clock": (
        ({"event": "mine"},), {"trigger": hears("mine"), "conditions": [{"condition": "time", "after": "07:00:00"}]},
    ),
    "an action that is off before it": (({"delay": 5, "enabled": False}, {"event": "mine"}), {"trigger": hears("mine")}),
    "a condition that is off before it": (({**IS_ON, "enabled": False}, {"event": "mine"}), {"trigger": hears("mine")}),
    "a branch that is always taken": (({"if": [{**IS_ON, "enabled": False}], "then": [{"event": "mine"}]},), {"trigger": hears("mine")}),
    "in a repeat": (({"repeat": {"count": 2, "sequence": [{"event": "mine"}]}},), {"trigger": hears("mine")}),
    "off and on": (OFF_AND_ON, {"trigger": changes(LIGHT)}),
    "off and on, of what goes on": (OFF_AND_ON, {"trigger": changes(LIGHT, to="on")}),
    "a button": ((call("input_button.press", "input_button.bell"),), {"trigger": changes("input_button.bell")}),
    "a counter": ((call("counter.increment", "counter.rings"),), {"trigger": changes("counter.rings")}),
    "a list": ((call("input_select.select_next", "input_select.mode"),), {"trigger": changes("input_select.mode")}),
    "a number": ((call("input_number.increment", "input_number.level"),), {"trigger": changes("input_number.level")}),
    "a scene": (({"scene": "scene.movie"},), {"trigger": changes("scene.movie")}),
    "a script that runs": (({"action": "script.greet", "data": {"who": "Tom"}},), {"trigger": changes("script.greet")}),
    "two that undo each other": ((call("switch.turn_on", SWITCH),), {"trigger": changes(SWITCH, to="off")}),
    "what it is called for": (
        (call("light.turn_on", LIGHT),), {"trigger": hears("call_service", domain="light", service="turn_on", service_data={"entity_id": [LIGHT]})},
    ),
    "a notification": (
        ({"action": "persistent_notification.create", "data": {"message": "x"}},), {"trigger": {"trigger": "persistent_notification"}},
    ),
    "a sentence": (
        ({"action": "conversation.process", "data": {"text": "go on"}},), {"trigger": {"trigger": "conversation", "command": ["go on"]}},
    ),
    "patterns together": ((), {"trigger": [{"trigger": "time_pattern", "seconds": str(second)} for second in range(0, 60, 5)]}),
    "a step and a second": ((), {"trigger": [{"trigger": "time_pattern", "seconds": one} for one in ("/10", "5")]}),
}  # fmt: skip
NO_LOOPS: dict[str, tuple[tuple[dict[str, Any], ...], dict[str, Any]]] = {
    "a state ends it": (({"event": "mine"},), {"trigger": hears("mine"), "conditions": [IS_ON]}),
    "a condition on the way": ((IS_ON, {"event": "mine"}), {"trigger": hears("mine")}),
    "a wait on the way": (({"wait_for_trigger": [changes(LIGHT)]}, {"event": "mine"}), {"trigger": hears("mine")}),
    "a condition of the other": (({"event": "guarded"},), {"trigger": hears("mine")}),
    "one that is off": (({"event": "sleeps"},), {"trigger": hears("mine")}),
    "another that is triggered as its condition wants": (
        (call("automation.trigger", "automation.guarded", data={"skip_condition": False}),), {"trigger": hears("mine")},
    ),
    "other data": (({"event": "mine", "event_data": {"a": 1}},), {"trigger": hears("mine", a=2)}),
    "off for a while": (({"delay": 60}, call("light.turn_off", LIGHT)), {"trigger": changes(LIGHT, to="on")}),
    "on once more": ((call("light.turn_on", LIGHT),), {"trigger": changes(LIGHT)}),
    "toggled, and only on counts": ((call("light.toggle", LIGHT),), {"trigger": changes(LIGHT, to="on")}),
    "another one is toggled": ((call("switch.toggle", SWITCH),), {"trigger": changes(LIGHT)}),
    "a choice": (({"choose": [{"conditions": [IS_ON], "sequence": [{"event": "mine"}]}]},), {"trigger": hears("mine")}),
    "patterns of different hours": ((), {"trigger": [{"trigger": "time_pattern", "hours": str(hour), "seconds": "/10"} for hour in range(3)]}),
    "a second one now and then": ((), {"trigger": [{"trigger": "time_pattern", "seconds": "/20"}, {"trigger": "time_pattern", "minutes": "/5"}]}),
}  # fmt: skip


@pytest.fixture
async def others(hass: HomeAssistant) -> None:
    """Set up other automations and scripts that the drafts may start."""
    chain = [("first", "second"), ("second", "third"), ("guarded", "mine"), ("sleeps", "mine")]
    automations: list[dict[str, Any]] = [
        {"id": heard, "alias": heard, "triggers": [hears(heard)], "actions": [{"event": fired}]}
        for heard, fired in chain
    ]
    automations[2]["conditions"] = [IS_ON]
    automations[3]["initial_state"] = False
    automations.append(
        {
            "id": "undoes",
            "alias": "undoes",
            "triggers": [changes(SWITCH, to="on")],
            "actions": [call("switch.turn_off", SWITCH)],
        }
    )
    automations.append(
        {"id": "other", "alias": "Other", "triggers": [hears("other_event")], "actions": [{"event": "answer"}]}
    )
    scripts = {"fires": {"sequence": [{"event": "mine"}]}, "outer": {"sequence": [{"action": "script.fires"}]}}
    greet = {"fields": {"who": {"required": True}}, "sequence": [dict(LIGHT_ON)]}
    assert await async_setup_component(hass, "input_button", {"input_button": {"bell": {}}})
    folder = Path(hass.config.config_dir)
    (folder / "configuration.yaml").write_text(
        yaml.safe_dump({"automation": automations, "script": {**scripts, "greet": greet}})
    )
    for domain in ("automation", "script"):
        await hass.services.async_call(domain, "reload", blocking=True)
    await hass.async_block_till_done()


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize(("actions", "more"), LOOPS.values(), ids=LOOPS)
async def test_what_starts_itself_is_refused(
    hass: HomeAssistant, actions: tuple[dict[str, Any], ...], more: dict[str, Any]
) -> None:
    told = await sentences(hass, *actions, **more)
    assert any(
        words in told for words in ("without an end", "starts it again", "more often than", "brings it about again")
    ), told


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize(("actions", "more"), NO_LOOPS.values(), ids=NO_LOOPS)
async def test_what_ends_is_taken(
    hass: HomeAssistant, actions: tuple[dict[str, Any], ...], more: dict[str, Any]
) -> None:
    assert await sentences(hass, *actions, **more) == ""


async def test_another_that_waits_by_an_id_of_the_registry_is_known_after_a_rename(hass: HomeAssistant) -> None:
    entry = er.async_get(hass).async_get(SWITCH)
    assert entry is not None
    other = {"id": "other", "alias": "Other", "triggers": [changes(entry.id)], "actions": [{"event": "mine"}]}
    (Path(hass.config.config_dir) / "configuration.yaml").write_text(yaml.safe_dump({"automation": [other]}))
    await hass.services.async_call("automation", "reload", blocking=True)
    assert "without an end" in await sentences(hass, call("switch.toggle", SWITCH), trigger=hears("mine"))
    er.async_get(hass).async_update_entity(SWITCH, new_entity_id="switch.renamed")
    await hass.async_block_till_done()
    assert "without an end" in await sentences(hass, call("switch.toggle", "switch.renamed"), trigger=hears("mine"))


async def test_one_that_triggers_itself_by_its_id(hass: HomeAssistant) -> None:
    own = config(call("automation.trigger", "automation.other"), trigger=TIME)
    found = await async_problems(hass, await async_draft(hass, own, "other"), knows=knows)
    assert [one.path for one in found] == ["actions[0]"]
    own = config({"event": "x"}, trigger=changes("automation.other"))
    found = await async_problems(hass, await async_draft(hass, own, "other"), knows=knows)
    assert "each change of it starts it again" in found[0].sentence
