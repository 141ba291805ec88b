"""The page about extensions: its examples are loaded, what they give is what it says, and every key is in a table."""

import ast
from pathlib import Path

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from pytest_homeassistant_custom_component.common import MockUser, async_mock_service

from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from custom_components.home_agent.tools.extensions import folder
from custom_components.home_agent.tools.extensions.extensions import NO_USER
from tests.house import set_up
from tests.tools.custom.conftest import issues

from .pages import CODE, examples, rows, section

PAGE = "EXTENSIONS.md"


def of_page(language: str) -> list[str]:
    return [example.code for example in examples(language) if example.page == f"docs/{PAGE}"]


async def test_the_worked_extension(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    schema, _tree, prompt = of_page("text")
    [tools] = of_page("yaml")
    place = Path(hass.config.path("home_agent", "extensions", "Garden"))
    place.mkdir(parents=True)
    (place / "prompt.md").write_text(prompt)
    (place / "tools.yaml").write_text(tools)
    hass.states.async_set("switch.roses", "off", {"friendly_name": "Roses"})
    async_expose_entity(hass, ASSISTANT, "switch.roses", True)
    entry = await set_up(hass)
    assert issues(hass) == {}
    runtime = entry.runtime_data
    profile = runtime.profiles["profile-1"]
    assert await runtime.extensions.async_light_schema(profile, NO_USER) == schema.strip()
    found = await hass.services.async_call(
        DOMAIN,
        "execute_tool",
        {"tool_name": "GARDEN_GET_ADVICE", "parameters": {"plant": "Tomato"}},
        blocking=True,
        return_response=True,
        context=Context(user_id=hass_admin_user.id),
    )
    assert found is not None
    assert found["result"] == "daily"
    hass.states.async_set("light.desk", "off")
    async_expose_entity(hass, ASSISTANT, "light.desk", True)
    mock_called = async_mock_service(hass, "switch", "turn_on"), async_mock_service(hass, "switch", "turn_off")
    succeeded = []
    for tool, entity_id in (
        ("GARDEN_GET_STATE", "switch.roses"),
        ("GARDEN_GET_STATE", "light.desk"),
        ("GARDEN_UPDATE_WATER", "switch.roses"),
        ("GARDEN_UPDATE_STOP", "switch.roses"),
    ):
        found = await hass.services.async_call(
            DOMAIN,
            "execute_tool",
            {"tool_name": tool, "parameters": {"entity_id": entity_id}},
            blocking=True,
            return_response=True,
            context=Context(user_id=hass_admin_user.id),
        )
        assert found is not None
        succeeded.append(found["success"])
        if tool == "GARDEN_UPDATE_WATER":
            hass.states.async_set("switch.roses", "on", {"friendly_name": "Roses"})
    assert succeeded[:2] == [True, False]  # only beds are read
    assert [len(calls) for calls in mock_called] == [1, 1]


async def test_the_example_of_another_integration(hass: HomeAssistant) -> None:
    [code] = [example.code for example in examples("python") if example.page == "docs/reference/integrations.md"]
    names: dict[str, object] = {}
    exec(compile(ast.parse(code), PAGE, "exec"), names)
    offer = names["offer"]
    assert callable(offer)
    entry = await set_up(hass)
    take_back = offer(hass)
    runtime = entry.runtime_data
    profile = runtime.profiles["profile-1"]
    assert await runtime.extensions.async_light_schema(profile, NO_USER) == (
        "ChefByte — Manage kitchen inventory and meal planning for the user.\n"
        '- CHEFBYTE_GET_INVENTORY: Returns current inventory snapshot. EX: "How many gallons of milk do I have left?"'
    )
    take_back()
    assert await runtime.extensions.async_of(profile, NO_USER) == ()


def test_every_key() -> None:
    own = section(PAGE, "A folder of your own")
    documented = {key for cell, *_ in rows(own.partition("###")[0], columns=3) for key in CODE.findall(cell)}
    alias = section(PAGE, "Another name for a tool")
    documented |= {key for cell, *_ in rows(alias, columns=2) for key in CODE.findall(cell)}
    whole = folder._SCHEMA.schema
    [tool] = next(value for key, value in whole.items() if str(key) == "tools")
    assert documented | {"parameters", "title", "read_only", "destructive"} == {*map(str, whole), *map(str, tool)}
