"""Groups and scripts as targets: what is behind them counts as well."""

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.support.errors import ToolRefusal
from tests.entities import Put

from .conftest import Ask, MakePlan


async def test_a_group_with_something_unexposed_is_refused(hass: HomeAssistant, planned: MakePlan, put: Put) -> None:
    await put("light.secret", exposed=False)
    await put("light.open")
    for entity_id in ("group.a", "light.a"):
        await put(entity_id, "on")
        hass.states.async_set(entity_id, "on", {"entity_id": ["light.open", "light.secret"]})
        with pytest.raises(ToolRefusal, match=f"{entity_id} cannot be controlled as a whole"):
            await planned("turn_off", entity_id)


async def test_a_group_with_a_hidden_member_is_left_out(hass: HomeAssistant, planned: MakePlan, put: Put) -> None:
    await put("light.b", "off")
    await put("light.a", "off")
    await put("light.hidden", "off", exposed=False)
    hass.states.async_set("light.a", "off", {"entity_id": ["light.b", "light.hidden"]})
    plan = await planned("turn_on", "light.*")
    assert plan.targets == ("light.b",)


async def test_hidden_members_are_reached_by_their_group(hass: HomeAssistant, planned: MakePlan, put: Put) -> None:
    hidden = er.async_get(hass).async_get_or_create(
        "light", "test", "1", suggested_object_id="hidden", hidden_by=er.RegistryEntryHider.INTEGRATION
    )
    await put(hidden.entity_id, exposed=False)
    await put("light.open")
    await put("light.room")
    hass.states.async_set("light.room", "on", {"entity_id": [hidden.entity_id, "light.open"]})
    plan = await planned("turn_off", "light.room")
    assert plan.targets == ("light.room", "light.open")


async def test_a_group_is_controlled_through_its_members(hass: HomeAssistant, control: Ask, put: Put) -> None:
    assert await async_setup_component(hass, "input_boolean", {"input_boolean": {"a": None, "b": None}})
    for entity_id in ("input_boolean.a", "input_boolean.b"):
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    await put("group.both", "off")
    hass.states.async_set("group.both", "off", {"entity_id": ["input_boolean.a", "input_boolean.b"]})
    result = await control("turn_on", "group.both")
    assert [row["new_state"] for row in result["entities"]] == ["on", "on"]


@pytest.mark.parametrize(("value", "named"), [
    ("light.secret", ("light.secret",)), ("light.ghost", ("light.ghost",)),
    (["light.a, Light.Secret"], ("light.a", "light.secret")), ("hello. you", ()), ("example.com", ()),
])  # fmt: skip
async def test_entities_in_the_variables_of_a_script_are_targets(
    hass: HomeAssistant, planned: MakePlan, put: Put, value: object, named: tuple[str, ...]
) -> None:
    script = {"sequence": [], "fields": {"what": {}}}
    assert await async_setup_component(hass, "script", {"script": {"run": script}})
    async_expose_entity(hass, ASSISTANT, "script.run", True)
    await put("light.a")
    plan = await planned("turn_on", "script.run", {"what": value})
    assert plan.targets == ("script.run", *named)


@pytest.mark.parametrize("value", ["kitchen", "['kitchen']", "light.a, kitchen", ["ground"], "festive "], ids=str)
async def test_a_script_gets_no_wide_target(hass: HomeAssistant, planned: MakePlan, put: Put, value: object) -> None:
    ar.async_get(hass).async_create("Kitchen")
    fr.async_get(hass).async_create("Ground")
    lr.async_get(hass).async_create("Festive")
    script = {"sequence": [], "fields": {"what": {}}}
    assert await async_setup_component(hass, "script", {"script": {"run": script}})
    async_expose_entity(hass, ASSISTANT, "script.run", True)
    with pytest.raises(ToolRefusal, match="may stand for many entities"):
        await planned("turn_on", "script.run", {"what": value})


async def test_a_script_is_not_sent_to_a_device_or_behind_a_registry_id(hass: HomeAssistant, planned: MakePlan) -> None:
    entry = MockConfigEntry()
    entry.add_to_hass(hass)
    device = dr.async_get(hass).async_get_or_create(config_entry_id=entry.entry_id, identifiers={("test", "1")})
    light = er.async_get(hass).async_get_or_create("light", "test", "1", suggested_object_id="secret")
    script = {"sequence": [], "fields": {"what": {}}}
    assert await async_setup_component(hass, "script", {"script": {"run": script}})
    async_expose_entity(hass, ASSISTANT, "script.run", True)
    with pytest.raises(ToolRefusal, match="may stand for many entities"):
        await planned("turn_on", "script.run", {"what": device.id})
    plan = await planned("turn_on", "script.run", {"what": light.id})
    assert plan.targets == ("script.run", "light.secret")
