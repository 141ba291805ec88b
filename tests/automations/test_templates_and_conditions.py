"""Templates that read what they may not, conditions that are never true, automations that start themselves."""

from pathlib import Path
from typing import Any

from homeassistant import components
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations.kinds import TRIGGER_PLATFORMS
from custom_components.home_agent.automations.references import ACTION_KINDS, CONDITION_KINDS, TRIGGER_KINDS
from tests.automations.a_home import DOOR, HIDDEN, build_home, sentences

ROOT = Path(next(iter(components.__path__)))
REFUSED = {
    "hidden": f"{{{{ is_state('{HIDDEN}', 'on') }}}}",
    "all of a domain": "{{ states.lock | list | count > 0 }}",
    "all": "{{ states | list | count > 0 }}",
    "loop": "{% for s in states %}{{ s.state }}{% endfor %}",
    "area": "{{ area_entities('kitchen') | count > 0 }}",
    "expand": "{{ expand('group.x') | count > 0 }}",
    "people": "{{ states.person | selectattr('state', 'eq', 'home') | list | count == 0 }}",
    "item of nobody": "{{ states(repeat.item) == 'on' }}",
    "joined": "{{ is_state('switch.' ~ 'ac', 'on') }}",
    "computed": "{{ states[trigger.event.data.x] == 'on' }}",
    "by name": "{{ trigger.x | map('states') | list == ['on'] }}",
    "renamed": "{% set f = states %}{{ f('light.bed_light') == 'on' }}",
    "shadowed": "{% for states in [] %}{% endfor %}{{ states.switch.ac.state == 'on' }}",
    "imported": "{% from 'x.jinja' import y %}{{ y() }}",
    "constant": "{{ 1 == 1 }}",
    "variable": "{{ nobody > 3 }}",
    "text": "{{ states('sensor.attic') is string }}",
    "no text": "{{ states.sensor.attic.state is none }}",
    "state alone": "{{ states('light.bed_light') }}",
    "number alone": "{{ states('sensor.attic') | float(0) }}",
    "text behind or": "{{ states('input_select.mode') == 'day' or 'night' }}",
    "number": "{{ states('sensor.attic') > 20 }}",
    "state": "{{ is_state('light.bed_light', 'lit') }}",
}


@pytest.fixture
async def home(hass: HomeAssistant) -> None:
    await build_home(hass)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
async def test_template_is_refused(hass: HomeAssistant, text: str) -> None:
    told = await sentences(hass, conditions=[{"condition": "template", "value_template": text}])
    assert told.startswith("conditions[0].value_template: ")


def at(**fields: Any) -> dict[str, Any]:
    return {"condition": "time", **fields}


def number(**fields: Any) -> dict[str, Any]:
    return {"condition": "numeric_state", "entity_id": "sensor.attic", **fields}


NEVER: dict[str, list[dict[str, Any]]] = {
    "bounds": [number(above=20, below=5)],
    "two bounds": [number(above=20), number(below=5)],
    "two states": [{"condition": "state", "entity_id": "light.bed_light", "state": one} for one in ("on", "off")],
    "no weekday": [at(weekday=[])],
    "two times": [at(after="07:00:00", before="08:00:00"), at(after="09:00:00", before="10:00:00")],
    "before and after sunset": [{"condition": "sun", "before": "sunset", "after": "sunset"}],
    "longer than since the trigger": [
        {"condition": "state", "entity_id": "binary_sensor.garage_door", "state": "on", "for": "00:05:00"}
    ],
    "against the trigger": [{"condition": "state", "entity_id": "binary_sensor.garage_door", "state": "off"}],
}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("conditions", NEVER.values(), ids=NEVER)
async def test_never_true(hass: HomeAssistant, conditions: list[dict[str, Any]]) -> None:
    assert (await sentences(hass, conditions=conditions)).startswith("conditions")


@pytest.mark.usefixtures("home")
async def test_own_event_is_a_loop(hass: HomeAssistant) -> None:
    told = await sentences(hass, {"event": "mine"}, trigger={"trigger": "event", "event_type": "mine"})
    assert told == "actions[0]: It fires mine, which starts it again, without an end. Fire another event."


@pytest.mark.usefixtures("home")
async def test_fast_pattern_is_refused(hass: HomeAssistant) -> None:
    told = await sentences(hass, trigger={"trigger": "time_pattern", "seconds": "/2"})
    assert told.startswith("triggers[0].seconds: It would run every 2 s.")


@pytest.mark.usefixtures("home")
async def test_repeat_without_an_end(hass: HomeAssistant) -> None:
    told = await sentences(hass, {"repeat": {"while": [], "sequence": [{"delay": 1}]}}, trigger=DOOR)
    assert told.startswith("actions[0].repeat.while: It never ends")


def test_all_kinds_of_actions_are_known() -> None:
    assert set(cv.ACTIONS_MAP.values()) == ACTION_KINDS


def test_all_conditions_are_known() -> None:
    described = {path.parent.name for path in ROOT.glob("*/conditions.yaml")}
    own = {path.parent.name for path in ROOT.glob("*/condition.py")} - described - {"device_automation"}
    assert {*cv.BUILT_IN_CONDITIONS, *own} <= CONDITION_KINDS


def test_all_triggers_are_known() -> None:
    described = {path.parent.name for path in ROOT.glob("*/triggers.yaml")}
    own = {path.parent.name for path in ROOT.glob("*/trigger.py")} - described - {"device_automation", "homeassistant"}
    raw = {path.stem for path in (ROOT / "homeassistant" / "triggers").glob("*.py")} - {"__init__"}
    assert own | raw <= TRIGGER_KINDS | TRIGGER_PLATFORMS


AGAINST_THE_SUN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "after sunset in the night": ({"trigger": "time", "at": "02:00:00"}, {"after": "sunset"}),
    "before sunrise in the evening": ({"trigger": "time", "at": "23:00:00"}, {"before": "sunrise"}),
    "before sunset at sunset": ({"trigger": "sun", "event": "sunset"}, {"before": "sunset"}),
    "after sunset at sunrise": ({"trigger": "sun", "event": "sunrise"}, {"after": "sunset"}),
}
WITH_THE_SUN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "dark in the night": ({"trigger": "time", "at": "02:00:00"}, {"after": "sunset", "before": "sunrise"}),
    "after sunset in the evening": ({"trigger": "time", "at": "19:00:00"}, {"after": "sunset"}),
    "after sunset at sunset": ({"trigger": "sun", "event": "sunset"}, {"after": "sunset"}),
    "by day at sunrise": ({"trigger": "sun", "event": "sunrise", "offset": "00:30:00"}, {"after": "sunrise", "before": "sunset"}),
    "at a time that something else knows": ({"trigger": "time", "at": ["02:00:00", "sensor.alarm"]}, {"after": "sunset"}),
}  # fmt: skip


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("trigger", "fields"), AGAINST_THE_SUN.values(), ids=AGAINST_THE_SUN)
async def test_never_so_by_the_sun(hass: HomeAssistant, trigger: dict[str, Any], fields: dict[str, Any]) -> None:
    told = await sentences(hass, trigger=trigger, conditions=[{"condition": "sun", **fields}])
    assert told.startswith("conditions: They can never be true when it is triggered")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("trigger", "fields"), WITH_THE_SUN.values(), ids=WITH_THE_SUN)
async def test_sometimes_so_by_the_sun(hass: HomeAssistant, trigger: dict[str, Any], fields: dict[str, Any]) -> None:
    hass.states.async_set("sensor.alarm", "2026-11-30T06:30:00+00:00", {"device_class": "timestamp"})
    assert await sentences(hass, trigger=trigger, conditions=[{"condition": "sun", **fields}]) == ""


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "trigger",
    [
        {"trigger": "event", "event_type": "home_agent.conversation.finished"},
        {"trigger": "state", "entity_id": "conversation.home_agent"},
    ],
    ids=["event", "state"],
)
@pytest.mark.parametrize("is_inside", [False, True], ids=["itself", "in a script"])
async def test_asking_at_what_asking_brings_about(
    hass: HomeAssistant, trigger: dict[str, Any], *, is_inside: bool
) -> None:
    ask = {"action": "conversation.process", "data": {"text": "Hello"}}
    assert await async_setup_component(hass, "conversation", {})
    hass.states.async_set("conversation.home_agent", "unknown")
    hass.config.components.add("home_agent")
    action = {"action": "script.ask"} if is_inside else ask
    told = await sentences(hass, action, trigger=trigger)
    assert "which brings it about again. Use another trigger." in told
