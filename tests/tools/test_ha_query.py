"""How something is: everything about one entity, the important about some, an overview of many."""

from datetime import UTC, datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.helpers.json import json_bytes
import pytest

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.support.errors import ToolRefusal
from custom_components.home_agent.tools.query import MAX_CHARACTERS, HaQuery
from custom_components.home_agent.turn.plan import ActionClass
from custom_components.home_agent.turn.turn import Turn
from tests.entities import Put

from .conftest import Ask


async def test_one_entity_with_everything_that_says_something(hass: HomeAssistant, query: Ask) -> None:
    entry = er.async_get(hass).async_get_or_create("climate", "t", "1", suggested_object_id="a", original_name="Heat")
    area = ar.async_get(hass).async_get_or_create("Kitchen")
    er.async_get(hass).async_update_entity(entry.entity_id, area_id=area.id)
    er.async_get(hass).async_update_entity_options(entry.entity_id, "conversation", {"should_expose": True})
    hass.states.async_set(
        "climate.a", "heat", {"temperature": 21, "icon": "x", "since": datetime(2026, 1, 1, tzinfo=UTC)}
    )
    result = await query("climate.a")
    assert result.pop("last_changed").endswith("-08:00")
    assert result == {
        "entity_id": "climate.a", "name": "Heat", "state": "heat", "area": "Kitchen",
        "attributes": {"temperature": 21, "since": "2025-12-31T16:00:00-08:00"},
    }  # fmt: skip


async def test_only_the_attributes_that_were_asked_for(query: Ask, put: Put) -> None:
    await put("light.a", "on", brightness=3, effect=None, supported_features=4)
    result = await query("light.a", attributes=["brightness", "state", "effect", "colour"])
    assert result["attributes"] == {"brightness": 3, "effect": None, "colour": None}
    assert result["note"] == "It has no colour. It has: brightness, effect."
    assert "note" not in await query("light.a", attributes=["brightness"])


async def test_an_odd_attribute_does_not_spoil_the_query(query: Ask, put: Put) -> None:
    await put("sensor.a", "1", odd={1, 2}, when=datetime(2026, 1, 1, tzinfo=UTC), nested={"a": object()})
    await put("sensor.b", "unavailable")
    result = await query("sensor.*")
    assert [row["entity_id"] for row in result["entities"]] == ["sensor.a", "sensor.b"]
    json_bytes(result)


@pytest.mark.parametrize(("state", "attributes"), [
    ("on", {"serial": 2**70}), ("on", {"serial": float("nan")}), ("on", {"title": "\ud83d"}), ("on", {"\ud83d": 1}),
    ("on", {"device_class": "\ud83d"}), ("on", {"friendly_name": "a\ud83d"}), ("\ud83d", {}),
], ids=["big", "no number", "value", "name", "key attribute", "friendly name", "state"])  # fmt: skip
@pytest.mark.parametrize("more", [{}, {"attributes": ["title", "\ud83d"]}], ids=["all", "some"])
async def test_what_no_encoder_takes_does_not_spoil_a_wildcard(
    query: Ask, put: Put, state: str, attributes: dict[str, Any], more: dict[str, Any]
) -> None:
    await put("light.odd", state, **attributes)
    await put("light.plain")
    result = await query("light.*", **more)
    assert [row["entity_id"] for row in result["entities"]] == ["light.odd", "light.plain"]
    assert json_bytes(result)


@pytest.mark.parametrize("user", [["light.mine"]], indirect=True)
async def test_a_wildcard_has_what_its_user_may_read(query: Ask, put: Put) -> None:
    for name in ("light.mine", "light.other"):
        await put(name)
    assert (await query("light.*"))["entity_id"] == "light.mine"


async def test_an_overview_takes_odd_states(query: Ask, put: Put) -> None:
    await put("sensor.odd", "\ud83d")
    for number in range(450):
        await put(f"sensor.thing_number_{number}_with_a_long_name", "x" * 20)
    assert json_bytes(await query("sensor.*"))


async def test_some_found_and_some_not(query: Ask, put: Put) -> None:
    await put("light.a")
    assert (await query("light.a, light.ghost"))["entity_id"] == "light.a"
    with pytest.raises(ToolRefusal, match=r"light\.ghost"):
        await query("light.ghost, light.spook")


async def fill(put: Put, count: int, **attributes: Any) -> None:
    for number in range(count):
        await put(f"light.l{number:04}", "on", brightness=number % 255, friendly_name=f"Light {number}", **attributes)


@pytest.mark.parametrize(("count", "attributes", "note"), [
    (5, {}, None),
    (40, {f"a{number}": "x" * 20 for number in range(10)}, "most important"),
    (80, {}, "Attributes are left out"),
    (1000, {}, "not listed"),
], ids=["all", "key", "none", "overview"])  # fmt: skip
async def test_results_fit(query: Ask, put: Put, count: int, attributes: dict[str, Any], note: str | None) -> None:
    await fill(put, count, **attributes)
    result = await query("light.*")
    assert result["count"] == count
    assert len(json_bytes(result)) <= MAX_CHARACTERS
    assert note is None or note in result["note"]
    assert ("note" in result) is (note is not None)
    assert len(result["entities"]) >= min(count, 80)


async def test_an_overview_counts_and_says_how_to_narrow(query: Ask, put: Put) -> None:
    await fill(put, 600)
    await put("switch.a", "off")
    result = await query("*")
    assert result["domains"]["light"] == {"count": 600, "states": {"on": 600}}
    assert result["domains"]["switch"] == {"count": 1, "states": {"off": 1}}
    assert "Narrow it down" in result["note"]


async def test_one_entity_that_says_too_much(query: Ask, put: Put) -> None:
    await put("climate.a", "heat", temperature=20, **{f"list_{n}": ["x" * 200] * 20 for n in range(20)})
    result = await query("climate.a")
    assert (result["temperature"], "attributes" in result) == (20, False)
    assert result["note"].startswith("Not everything fits")


async def test_reading_is_planned_as_reading(hass: HomeAssistant, home: Home, turn: Turn, put: Put) -> None:
    await put("light.a")
    tool = HaQuery(home)
    plan = await tool.plan(hass, tool.parameters({"entity_id": "light.*"}), turn)
    assert (plan.action, plan.targets, plan.effects) == (ActionClass.READ, ("light.a",), ())
    hass.states.async_remove("light.a")
    with pytest.raises(ToolRefusal, match="no longer exists"):
        await tool.run(hass, tool.parameters({"entity_id": "light.*"}), plan, turn)


async def test_a_running_timer_says_how_long(query: Ask, put: Put, freezer: FrozenDateTimeFactory) -> None:
    ends = datetime.now(UTC) + timedelta(seconds=90)
    await put("timer.a", "active", finishes_at=ends.isoformat(), remaining="0:05:00")
    freezer.tick(30)
    assert (await query("timer.a"))["seconds_left"] == 60
    await put("timer.a", "active", finishes_at="soon")
    assert "seconds_left" not in await query("timer.a")


async def test_a_list_that_is_too_long_is_cut(hass: HomeAssistant, query: Ask, put: Put) -> None:
    items: list[Any] = [{"summary": f"{number} {'x' * 250}", "description": "y" * 250} for number in range(30)]

    async def get_items(call: ServiceCall) -> ServiceResponse:
        return {call.data["entity_id"]: {"items": items}}

    await put("todo.a", "30")
    hass.services.async_register("todo", "get_items", get_items, supports_response=SupportsResponse.ONLY)
    result = await query("todo.a")
    assert 5 < len(result["items"]) < 30
    assert len(json_bytes(result)) < MAX_CHARACTERS + 300


async def test_a_list_tells_its_items(hass: HomeAssistant, query: Ask, put: Put) -> None:
    items: list[Any] = [
        {"summary": f"Item {number}", "uid": str(number), "status": "needs_action", "due": None} for number in range(40)
    ]
    asked: list[Any] = []

    async def get_items(call: ServiceCall) -> ServiceResponse:
        asked.append(call.data)
        return {call.data["entity_id"]: {"items": items}}

    await put("todo.a", "40")
    hass.services.async_register("todo", "get_items", get_items, supports_response=SupportsResponse.ONLY)
    result = await query("todo.a")
    assert result["items"][0] == {"summary": "Item 0", "status": "needs_action"}
    assert (len(result["items"]), result["more"]) == (30, 10)
    await query("todo.a", attributes=["completed"])
    assert [call["status"] for call in asked] == [["needs_action"], ["needs_action", "completed"]]


@pytest.mark.parametrize("demo_platforms", [["calendar", "weather"]])
@pytest.mark.usefixtures("demo_house")
async def test_a_calendar_tells_its_events_and_weather_its_forecast(hass: HomeAssistant, query: Ask) -> None:
    result = await query("calendar.calendar_1")
    assert result["events"][0]["summary"]
    assert "forecast" not in await query("weather.demo_weather_south")
    result = await query("weather.demo_weather_south", attributes=["forecast"])
    assert {"datetime", "temperature"} <= set(result["forecast"][0])


async def test_details_are_only_fetched_for_a_few(hass: HomeAssistant, home: Home, turn: Turn, put: Put) -> None:
    tool = HaQuery(home)
    for number in range(4):
        await put(f"todo.l{number}", "1" if number else "unavailable")
    few = await tool.plan(hass, tool.parameters({"entity_id": "todo.l0, todo.l1, todo.l2"}), turn)
    many = await tool.plan(hass, tool.parameters({"entity_id": "todo.*"}), turn)
    past = await tool.plan(hass, tool.parameters({"entity_id": "todo.l1", "history": "1h"}), turn)
    assert [[call.entity_ids[0] for call in plan.effects] for plan in (few, many, past)] == [
        ["todo.l1", "todo.l2"], [], [],
    ]  # fmt: skip


async def test_without_a_recorder_there_is_no_history(query: Ask, put: Put) -> None:
    await put("sensor.a", "1")
    with pytest.raises(ToolRefusal, match="recorder of Home Assistant is not set up"):
        await query("sensor.a", history="1h")


async def test_an_automation_tells_how_it_is_run(query: Ask, put: Put) -> None:
    await put("automation.a", "on", last_triggered=None, mode="single", current=0)
    await put("automation.b", "off", last_triggered=None, mode="single", current=0)
    how = {"action": "set_value", "parameters": {"command": "trigger"}}
    assert (await query("automation.a"))["to_run"] == how
    assert "to_run" not in await query("automation.b")  # it is disabled
    rows = (await query("automation.*"))["entities"]
    assert [row.get("to_run") for row in rows] == [how, None]
