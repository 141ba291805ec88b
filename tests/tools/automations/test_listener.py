"""`test_event_listener`: triggers are tried on what was recorded, and on what is given."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.recorder import Recorder
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.support.errors import ToolError, ToolRefusal
from custom_components.home_agent.tools.automations.listener import EventListenerTrial
from custom_components.home_agent.turn.turn import Turn
from tests.entities import Put

DOOR = "binary_sensor.door"
OPENED = {"trigger": "state", "entity_id": DOOR, "to": "on"}


@pytest.fixture
def tool(home: Home) -> EventListenerTrial:
    return EventListenerTrial(home)


async def tried(hass: HomeAssistant, tool: EventListenerTrial, turn: Turn, **args: Any) -> Any:
    checked = tool.parameters(args)
    return await tool.run(hass, checked, await tool.plan(hass, checked, turn), turn)


async def lived(hass: HomeAssistant, freezer: FrozenDateTimeFactory, put: Put, *states: str) -> None:
    for state in states:
        await put(DOOR, state, level=1)
        freezer.tick(timedelta(minutes=1))
    await async_wait_recording_done(hass)


async def test_matches_of_the_last_hours(
    recorder_mock: Recorder,
    hass: HomeAssistant,
    turn: Turn,
    tool: EventListenerTrial,
    put: Put,
    freezer: FrozenDateTimeFactory,
) -> None:
    await lived(hass, freezer, put, "off", "on", "off", "on")
    found = await tried(hass, tool, turn, triggers=[OPENED], hours="3h")
    assert found["count"] == 2
    assert found["matches"][0]["variables"] == {"id": "0", "entity_id": DOOR, "from_state": "off", "to_state": "on"}


async def test_which_field_was_different(
    recorder_mock: Recorder,
    hass: HomeAssistant,
    turn: Turn,
    tool: EventListenerTrial,
    put: Put,
    freezer: FrozenDateTimeFactory,
) -> None:
    await lived(hass, freezer, put, "off", "on", "off", "on")
    found = await tried(hass, tool, turn, triggers=[{**OPENED, "to": "open"}])
    assert found["count"] == 0
    assert found["near"][0] == f"triggers[0]: {DOOR} went 'off' → 'on'; it asks for to: 'open' (2 times)."
    assert found["common_states"] == {DOOR: {"off": 2, "on": 2}}
    assert found["sample"] == {"entity_id": DOOR, "state": "on", "attributes": ["level"]}


async def test_what_held_it_back(
    recorder_mock: Recorder,
    hass: HomeAssistant,
    turn: Turn,
    tool: EventListenerTrial,
    put: Put,
    freezer: FrozenDateTimeFactory,
) -> None:
    await put("light.a", "off")
    await lived(hass, freezer, put, "off", "on")
    condition = {"condition": "state", "entity_id": "light.a", "state": "on"}
    found = await tried(hass, tool, turn, triggers=[OPENED], conditions=[condition])
    assert (found["count"], found["held_back_count"]) == (0, 1)
    assert found["held_back"][0]["by"] == "conditions[0]"
    assert found["held_back"][0]["because"] == "light.a was 'off', not 'on'"


@pytest.mark.parametrize(
    ("event", "count"),
    [
        ({"entity_id": DOOR, "from": "off", "to": "on"}, 1),
        ({"entity_id": DOOR, "old_state": {"state": "on"}, "new_state": {"state": "off"}}, 0),
    ],
)
async def test_a_given_change(
    hass: HomeAssistant, turn: Turn, tool: EventListenerTrial, put: Put, event: Mapping[str, Any], count: int
) -> None:
    await put(DOOR, "off")
    assert (await tried(hass, tool, turn, triggers=[OPENED], event=event))["count"] == count


async def test_a_given_event(hass: HomeAssistant, turn: Turn, tool: EventListenerTrial) -> None:
    trigger = {"trigger": "event", "event_type": "pressed", "event_data": {"button": 1}}
    found = await tried(
        hass, tool, turn, triggers=[trigger], event={"event_type": "pressed", "event_data": {"button": 2}}
    )
    assert found["near"] == ["triggers[0]: 'button' of pressed was '2', not '1'."]


async def test_a_change_of_something_else_is_refused(
    hass: HomeAssistant, turn: Turn, tool: EventListenerTrial, put: Put
) -> None:
    await put(DOOR, "off")
    with pytest.raises(ToolRefusal, match="needs an entity_id"):
        await tried(hass, tool, turn, triggers=[OPENED], event={"entity_id": "light.other", "to": "on"})


async def test_a_hidden_entity_is_told_like_an_unknown_one(
    recorder_mock: Recorder, hass: HomeAssistant, turn: Turn, tool: EventListenerTrial
) -> None:
    hass.states.async_set("binary_sensor.hidden", "on")
    told = [
        await tried(hass, tool, turn, triggers=[{**OPENED, "entity_id": f"binary_sensor.{name}"}])
        for name in ("hidden", "hiddem")
    ]
    kept = [{key: value for key, value in one.items() if key not in ("from", "to")} for one in told]
    assert str(kept[0]) == str(kept[1]).replace("hiddem", "hidden")


async def test_nothing_to_try_is_refused(hass: HomeAssistant, turn: Turn, tool: EventListenerTrial) -> None:
    with pytest.raises(ToolRefusal, match="Give `triggers`"):
        await tried(hass, tool, turn)


async def test_an_invalid_trigger_is_refused(hass: HomeAssistant, turn: Turn, tool: EventListenerTrial) -> None:
    with pytest.raises(ToolRefusal):
        await tried(hass, tool, turn, triggers=[{"trigger": "nothing"}])


async def test_an_automation_is_tried_by_administrators_only(
    hass: HomeAssistant, tool: EventListenerTrial, turn: Turn
) -> None:
    from tests.tools.automations.conftest import turn_of

    user = MockUser(name="Guest").add_to_hass(hass)
    with pytest.raises(ToolError):
        await tried(hass, tool, turn_of(user), id="x")
