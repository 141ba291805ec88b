"""`execute_script`: actions are shown, not run."""

from typing import Any

from homeassistant.core import HomeAssistant, ServiceCall
import pytest

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.support.errors import ToolRefusal
from custom_components.home_agent.tools.automations.script_trial import ExecuteScript
from custom_components.home_agent.turn.turn import Turn
from tests.entities import Put

ACTION = {"action": "light.turn_on", "target": {"entity_id": "light.a"}}


async def tried(hass: HomeAssistant, home: Home, turn: Turn, **args: Any) -> Any:
    tool = ExecuteScript(home)
    checked = tool.parameters(args)
    return await tool.run(hass, checked, await tool.plan(hass, checked, turn), turn)


async def test_what_would_be_called(hass: HomeAssistant, home: Home, turn: Turn, put: Put) -> None:
    called: list[ServiceCall] = []
    hass.services.async_register("light", "turn_on", called.append)
    await put("light.a", "off")
    found = await tried(
        hass, home, turn, actions=[{**ACTION, "data": {"brightness": "{{ level * 2 }}"}}], variables={"level": 4}
    )
    assert found == {
        "actions": [{"path": "actions[0]", "action": "light.turn_on", "entities": ["light.a"], "data": {"brightness": 8}}],
        "called": False,
    }  # fmt: skip
    assert called == []


async def test_a_sample_trigger_is_what_templates_see(hass: HomeAssistant, home: Home, turn: Turn, put: Put) -> None:
    await put("light.a", "off")
    hass.services.async_register("light", "turn_on", lambda _: None)
    action = {**ACTION, "data": {"text": "{{ trigger.to_state.state }}"}}
    found = await tried(hass, home, turn, sequence=[action], trigger={"to_state": {"state": "open"}})
    assert found["actions"][0]["data"] == {"text": "open"}


async def test_conditions_are_tested(hass: HomeAssistant, home: Home, turn: Turn, put: Put) -> None:
    await put("light.a", "off")
    condition = {"condition": "state", "entity_id": "light.a", "state": "on"}
    found = await tried(hass, home, turn, conditions=[condition], actions=[ACTION])
    assert found["conditions"] == [
        {"path": "conditions[0]", "note": "The condition is false: it stops here (light.a was 'off', not 'on')."}
    ]


async def test_hidden_entities_do_not_exist(hass: HomeAssistant, home: Home, turn: Turn) -> None:
    hass.states.async_set("lock.hidden", "on")
    hass.services.async_register("light", "turn_on", lambda _: None)
    found = await tried(
        hass,
        home,
        turn,
        actions=[
            {
                "action": "light.turn_on",
                "data": {"text": "{{ states('lock.hidden') }}"},
                "target": {"entity_id": "lock.hidden"},
            }
        ],
    )
    [row] = found["actions"]
    assert (row["entities"], row["data"], row["note"]) == ([], {"text": "unknown"}, "lock.hidden is not known")


async def test_what_is_not_valid_is_refused(hass: HomeAssistant, home: Home, turn: Turn) -> None:
    with pytest.raises(ToolRefusal):
        await tried(hass, home, turn, actions=[{"nothing": 1}])
