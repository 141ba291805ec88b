"""`automation_vocabulary`: what a model may ask for, and whom it tells what."""

import json
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, label_registry as lr
from homeassistant.setup import async_setup_component
import probatio
import pytest

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.support.errors import ToolRefusal
from custom_components.home_agent.tools.automations.vocabulary_tool import AutomationVocabulary
from custom_components.home_agent.turn.plan import ActionClass
from custom_components.home_agent.turn.turn import Turn
from tests.entities import home, turn, user

__all__ = ["home", "turn", "user"]

pytestmark = pytest.mark.usefixtures("demo_house")


@pytest.fixture(autouse=True)
async def automations(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "automation", {})


async def ask(hass: HomeAssistant, home: Home, turn: Turn, **args: Any) -> dict[str, Any]:
    """Return what the tool answers."""
    tool = AutomationVocabulary(home)
    valid = tool.parameters(args)
    plan = await tool.plan(hass, valid, turn)
    assert plan.action is ActionClass.READ
    return dict(json.loads(json.dumps(await tool.run(hass, valid, plan, turn))))


@pytest.mark.parametrize("args", [
    pytest.param({"entity_id": "light.kitchen_lights"}, id="an id"),
    pytest.param({"entity_id": "Kitchen Lights"}, id="a name"),
    pytest.param({"entity_id": ["light.kitchen_lights"]}, id="a list"),
    pytest.param({"target": {"entity_id": "light.kitchen_lights"}}, id="a target"),
    pytest.param({"target": "light.kitchen_lights"}, id="a target as a text"),
    pytest.param({"entity": "light.kitchen_lights"}, id="another word"),
])  # fmt: skip
async def test_an_entity_is_found(hass: HomeAssistant, home: Home, turn: Turn, args: dict[str, Any]) -> None:
    told = await ask(hass, home, turn, kinds=["trigger"], **args)
    assert "conditions" not in told
    assert "light.turned_on" in [one["trigger"] for one in told["triggers"]]


async def test_a_place_is_found_by_its_name(hass: HomeAssistant, home: Home, turn: Turn) -> None:
    told = await ask(hass, home, turn, area_id="kitchen")
    area = ar.async_get(hass).async_get_area_by_name("Kitchen")
    assert area is not None
    assert told["actions"][0]["example"]["target"] == {"area_id": area.id}


async def test_a_label_is_found_by_its_name(hass: HomeAssistant, home: Home, turn: Turn) -> None:
    label = lr.async_get(hass).async_create("Night things").label_id
    er.async_get(hass).async_update_entity("light.bed_light", labels={label})
    assert (await ask(hass, home, turn, label_id="night things"))["entities"] == 1


async def test_a_device_is_found_by_its_name(hass: HomeAssistant, home: Home, turn: Turn) -> None:
    assert (await ask(hass, home, turn, device_id="Bed Light"))["entities"] == 1


async def test_what_is_not_exposed_is_unknown(hass: HomeAssistant, home: Home, turn: Turn) -> None:
    with pytest.raises(ToolRefusal, match="No exposed entity matches"):
        await ask(hass, home, turn, entity_id="lock.kitchen_door")


async def test_an_unknown_place_is_refused(hass: HomeAssistant, home: Home, turn: Turn) -> None:
    with pytest.raises(ToolRefusal, match="Nothing exposed is in the target 'attic'"):
        await ask(hass, home, turn, area_id="attic")


async def test_an_unknown_kind_is_refused(hass: HomeAssistant, home: Home, turn: Turn) -> None:
    with pytest.raises(probatio.Invalid, match="expected triggers, conditions, actions"):
        await ask(hass, home, turn, kinds=["wishes"])


async def test_without_arguments_names_are_listed(hass: HomeAssistant, home: Home, turn: Turn) -> None:
    assert "turned_on" in (await ask(hass, home, turn))["triggers"]["light"]


async def test_the_tool_is_short_in_a_prompt(home: Home) -> None:
    tool = AutomationVocabulary(home)
    assert len(tool.description) + len(json.dumps(tool.wire_parameters)) < 1300
