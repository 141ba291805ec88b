"""Entities in arguments, however they are written."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.home_agent.home.targets import entity_ids_in, variables_name


@pytest.mark.parametrize(("value", "named"), [
    pytest.param("light.a", ["light.a"], id="id"), pytest.param(" Light.A ", ["light.a"], id="any case"),
    pytest.param("light.a, lock.b", ["light.a", "lock.b"], id="commas"),
    pytest.param({"x": ["light.a", {"light.b": 1}]}, ["light.a", "light.b"], id="nested"),
    pytest.param("['light.a']", ["light.a"], id="Python"),
    pytest.param('["light.a", "light.b"]', ["light.a", "light.b"], id="JSON"),
    pytest.param("('light.a',)", ["light.a"], id="tuple"), pytest.param("{'light.a'}", ["light.a"], id="set"),
    pytest.param("'light.a'", ["light.a"], id="quoted"), pytest.param("['\\x6cight' '.a']", ["light.a"], id="escapes"),
    pytest.param('{"entity_id": "light.a"}', ["light.a"], id="object"), pytest.param("[" * 3000, [], id="no literal"),
    pytest.param("['light.a'" + " " * 20_000 + "]", [], id="long"),
    pytest.param("The light.is on", [], id="a sentence"), pytest.param("example.com", [], id="another domain"),
    pytest.param("f" * 32, [], id="no registry id"), pytest.param("42", [], id="number in a text"),
    pytest.param(42, [], id="number"), pytest.param(None, [], id="nothing"),
])  # fmt: skip
async def test_what_is_named(hass: HomeAssistant, value: Any, named: list[str]) -> None:
    assert list(entity_ids_in(hass, value)) == named


@pytest.mark.parametrize(("variables", "named"), [
    ({"lamp": "light.a"}, ["light.a"]), ({"lamp": "ALL"}, ["all"]),
    ({"lamp": ["light.a", " all "]}, ["light.a", "all"]), ({"lamp": "['all']"}, ["all"]), ({"text": "all of it"}, []),
    (5, []),
], ids=["entity", "all", "in a list", "in a text", "a sentence", "number"])  # fmt: skip
async def test_all_in_script_variables_is_no_target(hass: HomeAssistant, variables: object, named: list[str]) -> None:
    assert list(variables_name(hass, variables)) == named


async def test_domains_that_the_house_has(hass: HomeAssistant) -> None:
    hass.states.async_set("weather.home", "sunny")
    assert list(entity_ids_in(hass, ["weather.home", "weather.ghost"])) == ["weather.home", "weather.ghost"]


async def test_members_of_groups(hass: HomeAssistant) -> None:
    registry = er.async_get(hass)
    hidden = registry.async_get_or_create(
        "light", "test", "hidden", suggested_object_id="hidden", hidden_by=er.RegistryEntryHider.INTEGRATION
    )
    hass.states.async_set("light.group", "on", {"entity_id": ["light.a", hidden.entity_id]})
    assert list(entity_ids_in(hass, "light.group")) == ["light.group", "light.a"]


async def test_ids_of_the_registry(hass: HomeAssistant) -> None:
    lamp = er.async_get(hass).async_get_or_create("light", "test", "lamp", suggested_object_id="lamp")
    assert list(entity_ids_in(hass, lamp.id)) == ["light.lamp"]
