"""The schemas that models see, and what is forgiven and what is not."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
import probatio
import pytest

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.policy.policy import Rules
from custom_components.home_agent.policy.tool import HomeAgentTool
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.tools.control import HaControl
from custom_components.home_agent.tools.query import HaQuery
from custom_components.home_agent.tools.registry import NativeTools, Tools
from tests.entities import Put


def test_ha_control_is_described_verbatim() -> None:
    assert HaControl.description == (
        "Control Home Assistant devices and services. Use this to turn on/off lights, adjust thermostats, lock doors, etc."
    )
    assert HaControl.wire_parameters == {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "description": "The action to perform (e.g., 'turn_on', 'turn_off', 'set_temperature')",
                "enum": ["turn_on", "turn_off", "toggle", "set_value"],
            },
            "entity_id": {"type": "string", "description": "The entity ID to control (e.g., 'light.living_room')"},
            "parameters": {
                "type": "object",
                "description": "Additional parameters for the action (e.g., brightness, temperature)",
            },
        },
        "required": ["action", "entity_id"],
    }


def test_ha_query_is_described_verbatim() -> None:
    assert HaQuery.description == (
        "Get current state and attributes of Home Assistant entities. "
        "Use this to check if lights are on, get sensor values, etc."
    )
    assert HaQuery.wire_parameters == {
        "type": "object",
        "properties": {
            "entity_id": {
                "type": "string",
                "description": "The entity ID to query (e.g., 'sensor.temperature'). Can use wildcards (e.g., 'light.*')",
            },
            "attributes": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Specific attributes to retrieve (optional, returns all if not specified)",
            },
            "history": {
                "type": "object",
                "description": "Optional: retrieve historical data",
                "properties": {
                    "duration": {"type": "string", "description": "Time range (e.g., '1h', '24h', '7d')"},
                    "aggregate": {"type": "string", "enum": ["avg", "min", "max", "sum", "count"]},
                },
            },
        },
        "required": ["entity_id"],
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"action": "turn_on", "entity_id": "light.a"}, ("turn_on", ["light.a"], {})),
        ({"action": "light.turn_on", "entity_id": ["light.a", "light.b"]}, ("turn_on", ["light.a", "light.b"], {})),
        ({"action": "Turn On", "entity_id": "light.a, light.b,light.a"}, ("turn_on", ["light.a", "light.b"], {})),
        ({"action": "open_cover", "entity_id": '["cover.a"]'}, ("open_cover", ["cover.a"], {})),
        ({"action": "set_temperature", "entity_id": "x", "temperature": 21}, ("set_temperature", ["x"], {"temperature": 21})),
        ({"action": "turn_on", "entity_id": "x", "parameters": None}, ("turn_on", ["x"], {})),
        ({"action": "turn_on", "entity_id": "x", "parameters": ""}, ("turn_on", ["x"], {})),
        ({"action": "turn_on", "entity_id": "x", "parameters": '{"brightness": 5}'}, ("turn_on", ["x"], {"brightness": 5})),
        ({"action": "turn_on", "entity_id": "x", "a": 1, "parameters": {"a": 2}}, ("turn_on", ["x"], {"a": 2})),
    ],
)  # fmt: skip
def test_control_arguments_that_are_understood(given: dict[str, Any], expected: tuple[Any, ...]) -> None:
    args = HaControl.parameters(given)
    assert (args["action"], args["entity_id"], args["parameters"]) == expected


@pytest.mark.parametrize("given", [
    {},
    [],
    {"action": "turn_on"},
    {"entity_id": "light.a"},
    {"action": "explode", "entity_id": "light.a"},
    {"action": "turn_on", "entity_id": ""},
    {"action": "turn_on", "entity_id": 5},
    {"action": "turn_on", "entity_id": [5]},
    {"action": "turn_on", "entity_id": "x" * 256},
    {"action": "turn_on", "entity_id": [f"light.{number}" for number in range(51)]},
    {"action": "turn_on", "entity_id": "[light.a"},
    {"action": "turn_on", "entity_id": "x", "parameters": "bright"},
    {"action": "turn_on", "entity_id": "x", "parameters": [1]},
    {"action": "turn_on", "entity_id": "x", "parameters": {1: 1}},
    {"action": "turn_on", "entity_id": "x", "parameters": {"a": [[[[[]]]]]}},
    {"action": "turn_on", "entity_id": "x", "area_id": "kitchen"},
    {"action": "turn_on", "entity_id": "x", "target": {"entity_id": "all"}},
])  # fmt: skip
def test_control_arguments_that_are_refused(given: Any) -> None:
    with pytest.raises(probatio.Invalid):
        HaControl.parameters(given)


@pytest.mark.parametrize(("given", "attributes", "history"), [
    ({}, [], None),
    ({"attributes": None, "history": None}, [], None),
    ({"attributes": "brightness, effect", "history": ""}, ["brightness", "effect"], None),
    ({"attributes": '["brightness"]', "history": {}}, ["brightness"], None),
    ({"attributes": ["a", " ", "a"]}, ["a"], None),
    ({"history": "24h"}, [], {"duration": "24h", "aggregate": None}),
    ({"history": '{"duration": "1h"}'}, [], {"duration": "1h", "aggregate": None}),
    ({"history": {"duration": "7d", "aggregate": "Average"}}, [], {"duration": "7d", "aggregate": "avg"}),
    ({"duration": "7d", "aggregate": "total"}, [], {"duration": "7d", "aggregate": "sum"}),
    ({"history": {"aggregate": ""}}, [], {"duration": "", "aggregate": None}),
])  # fmt: skip
def test_query_arguments_that_are_understood(given: dict[str, Any], attributes: list[str], history: Any) -> None:
    args = HaQuery.parameters({"entity_id": "x", **given})
    assert (args["attributes"], args.get("history")) == (attributes, history)


@pytest.mark.parametrize("given", [
    {"attributes": 5}, {"attributes": {"a": 1}}, {"attributes": "[broken"}, {"history": {"aggregate": "median"}},
    {"history": {"duration": ["1h"]}}, {"history": {"from": "yesterday"}}, {"history": 5}, {"limit": 5},
])  # fmt: skip
def test_query_arguments_that_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(probatio.Invalid):
        HaQuery.parameters({"entity_id": "x", **given})


@pytest.mark.parametrize("tool", [HaControl, HaQuery])
def test_schemas_can_be_shown_by_home_assistant_as_well(tool: type[HaControl | HaQuery]) -> None:
    assert probatio.to_openapi(tool.parameters, openapi_version="3.1.0")["type"] == "object"


def test_annotations_are_honest() -> None:
    assert HaQuery.annotations.read_only
    assert not HaControl.annotations.read_only
    assert HaControl.annotations.destructive
    assert not HaControl.annotations.idempotent


CONTEXT = llm.LLMContext(platform="test", context=None, language="en", assistant="conversation", device_id=None)


async def test_native_tools_in_sorted_order_and_only_when_wanted(home: Home) -> None:
    tools = Tools(NativeTools(home), offers=Rules().offers)
    assert [tool.name for tool in await tools.async_tools(Profile(), CONTEXT)] == ["ha_control", "ha_query"]
    assert await tools.async_tools(Profile(native_tools=False), CONTEXT) == []


async def test_a_model_is_told_how_an_automation_runs_only_where_one_is_exposed(home: Home, put: Put) -> None:
    tools = Tools(NativeTools(home), offers=Rules().offers)

    async def guide() -> str:
        control, _ = await tools.async_tools(Profile(), CONTEXT)
        return str(control.guide)

    await put("light.a", "on")
    plain = await guide()
    assert "utomation" not in plain
    await put("automation.a", "on")
    await home.async_get()  # as each turn does
    assert await guide() == f"{plain} Automations: turn_on enables, set_value with command trigger runs."


async def test_a_provider_that_fails_takes_no_other_down_and_names_are_unique(home: Home) -> None:
    class Failing:
        names = ("ha_wish",)
        revision = 0

        async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> list[HomeAgentTool]:
            raise HomeAssistantError("not now")

    tools = Tools(NativeTools(home), Failing(), NativeTools(home), offers=Rules().offers)
    first = await tools.async_tools(Profile(), CONTEXT)
    assert [tool.name for tool in first] == ["ha_control", "ha_query"]
    assert tools.names == ["ha_control", "ha_query", "ha_undo", "ha_wish"]  # what forms list


async def test_tools_that_the_owner_never_offers(home: Home) -> None:
    tools = Tools(NativeTools(home), offers=Rules().offers)
    offered = await tools.async_tools(Profile(never_offer=("ha_c*",)), CONTEXT)
    assert [tool.name for tool in offered] == ["ha_query"]


async def test_a_tool_refuses_to_run_outside_a_turn(hass: HomeAssistant, home: Home) -> None:
    context = llm.LLMContext(platform="test", context=None, language="en", assistant="conversation", device_id=None)
    with pytest.raises(HomeAssistantError, match="only inside a turn"):
        await HaQuery(home).async_call(hass, llm.ToolInput("ha_query", {"entity_id": "light.a"}), context)
