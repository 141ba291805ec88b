"""What happened lately, told from a real recorder."""

from datetime import UTC, datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.setup import async_setup_component
import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.home.exposure import async_check_permission
from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.support.errors import ToolError, ToolRefusal
from custom_components.home_agent.tools.automations.recent_events import QueryRecentEvents
from custom_components.home_agent.turn.turn import Turn
from tests.entities import Put
from tests.tools.conftest import ask

from .conftest import Call, turn_of

pytestmark = pytest.mark.usefixtures("recorder_mock")

NOON = datetime(2027, 3, 10, 12, 0, 0, tzinfo=UTC)
DOOR = "binary_sensor.front_door"


@pytest.fixture(autouse=True)
def at_noon(freezer: FrozenDateTimeFactory) -> None:
    freezer.move_to(NOON)


@pytest.fixture
async def door(hass: HomeAssistant, turn: Turn, put: Put) -> str:
    registry = er.async_get(hass)
    registry.async_get_or_create("binary_sensor", "test", "door", suggested_object_id="front_door")
    registry.async_update_entity(DOOR, area_id=ar.async_get(hass).async_create("Hall").id)
    return await put(DOOR, "off", friendly_name="Front door")


@pytest.fixture
def recent(hass: HomeAssistant, home: Home, turn: Turn, freezer: FrozenDateTimeFactory) -> Call:
    """Return a function that asks one minute later what happened, as the administrator unless told otherwise."""

    async def recent(as_turn: Turn | None = None, **args: Any) -> Any:
        freezer.tick(timedelta(minutes=1))
        await hass.async_block_till_done()
        await async_wait_recording_done(hass)
        return await ask(hass, QueryRecentEvents(home), as_turn or turn, args)

    return recent


async def change(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory, state: str, context: Context | None = None, minutes: int = 10
) -> None:
    freezer.tick(timedelta(minutes=minutes))
    hass.states.async_set(DOOR, state, {"friendly_name": "Front door"}, context=context)
    await hass.async_block_till_done()


async def test_changes_are_told_newest_first_with_who_did_them(
    hass: HomeAssistant, door: str, recent: Call, freezer: FrozenDateTimeFactory, boss: MockUser
) -> None:
    await change(hass, freezer, "on")
    await change(hass, freezer, "off", Context(user_id=boss.id))
    await change(hass, freezer, "on", Context(user_id=MockUser(name="Carl").add_to_hass(hass).id))
    told = await recent(entity_id=door)
    rows = [(row["from"], row["to"], row["by"]) for row in told["events"]]
    assert rows[:3] == [
        ("off", "on", "Carl"),
        ("on", "off", "Boss (who asks now)"),
        ("off", "on", "unknown: a device, an integration, or Home Assistant itself"),
    ]
    assert told["events"][0]["time"] == "2027-03-10T04:30:00-08:00"
    assert told["events"][0]["name"] == "Front door"


async def test_an_automation_is_named_as_who_did_it(
    hass: HomeAssistant, door: str, recent: Call, put: Put, freezer: FrozenDateTimeFactory
) -> None:
    await automation(hass, exposed=True)
    hass.bus.async_fire("go", {})
    await hass.async_block_till_done()
    told = await recent(entity_id="input_boolean.lamp")
    assert told["events"][0]["by"] == "automation Evening (automation.evening)"


async def test_a_hidden_automation_is_not_named(hass: HomeAssistant, door: str, recent: Call) -> None:
    await automation(hass, exposed=False)
    hass.bus.async_fire("go", {})
    await hass.async_block_till_done()
    told = await recent(entity_id="input_boolean.lamp")
    assert told["events"][0]["by"] == "an automation"
    assert "Evening" not in str(told)


async def automation(hass: HomeAssistant, *, exposed: bool) -> None:
    config = {
        "id": "1", "alias": "Evening", "triggers": [{"trigger": "event", "event_type": "go"}],
        "actions": [{"action": "input_boolean.turn_on", "target": {"entity_id": "input_boolean.lamp"}}],
    }  # fmt: skip
    assert await async_setup_component(hass, "input_boolean", {"input_boolean": {"lamp": {}}})
    assert await async_setup_component(hass, "automation", {"automation": [config]})
    async_expose_entity(hass, ASSISTANT, "input_boolean.lamp", True)
    async_expose_entity(hass, ASSISTANT, "automation.evening", exposed)


async def test_without_entities_automations_that_ran_are_told(hass: HomeAssistant, door: str, recent: Call) -> None:
    await automation(hass, exposed=True)
    hass.bus.async_fire("go", {})
    await hass.async_block_till_done()
    told = await recent(event_type="automation_triggered")
    assert [(row["event"], row["data"]["entity_id"]) for row in told["events"]] == [
        ("automation_triggered", "automation.evening")
    ]


async def test_a_change_of_an_attribute_alone_is_none(
    hass: HomeAssistant, door: str, recent: Call, freezer: FrozenDateTimeFactory
) -> None:
    await change(hass, freezer, "on")
    freezer.tick(60)
    hass.states.async_set(door, "on", {"friendly_name": "Front door", "battery": 3})
    told = await recent(entity_id=door)
    assert [row["to"] for row in told["events"]] == ["on", "off"]


async def test_nothing_tells_the_common_states(
    hass: HomeAssistant, door: str, recent: Call, freezer: FrozenDateTimeFactory
) -> None:
    for state in ("on", "off", "on", "off", "unavailable"):
        await change(hass, freezer, state)
    freezer.tick(timedelta(hours=30))
    told = await recent(entity_id=door, hours=24)
    assert told["events"] == []
    assert told["common_states"] == {door: ["off", "on", "unavailable"]}
    assert told["note"] == "Nothing changed in the last 24 hours. Most common states of the last 7 days:"


@pytest.mark.parametrize(("given", "hours"), [(0, 1), (500, 48), ("12h", 12), (None, 24)])
async def test_hours_are_clamped(door: str, recent: Call, given: object, hours: int) -> None:
    told = await recent(entity_id=door, hours=given)
    start, end = datetime.fromisoformat(told["from"]), datetime.fromisoformat(told["to"])
    assert end - start == timedelta(hours=hours)


@pytest.mark.parametrize(("given", "count"), [(0, 1), (3, 3), (100, 20), ("2", 2)])
async def test_the_limit_is_clamped(
    hass: HomeAssistant, door: str, recent: Call, freezer: FrozenDateTimeFactory, given: object, count: int
) -> None:
    for number in range(24):
        await change(hass, freezer, "on" if number % 2 else "open", minutes=1)
    assert len((await recent(entity_id=door, limit=given))["events"]) == count


def test_hours_that_are_no_number_are_refused(hass: HomeAssistant, home: Home) -> None:
    with pytest.raises(probatio.Invalid, match="expected a number"):
        QueryRecentEvents(home).parameters({"hours": "yesterday"})


async def test_an_unknown_entity_has_near_names(hass: HomeAssistant, door: str, recent: Call) -> None:
    with pytest.raises(ToolRefusal, match=r"Did you mean Front door \(binary_sensor.front_door\)"):
        await recent(entity_id="binary_sensor.frontdoor")


async def test_a_hidden_entity_reads_like_an_unknown_one(
    hass: HomeAssistant, door: str, recent: Call, put: Put
) -> None:
    await put("lock.safe", "locked", exposed=False)
    with pytest.raises(ToolRefusal) as hidden:
        await recent(entity_id="lock.safe")
    with pytest.raises(ToolRefusal) as unknown:
        await recent(entity_id="lock.saff")
    assert str(hidden.value).replace("safe", "saff") == str(unknown.value)


@pytest.mark.parametrize("key", ["entity_id", "area", "domain", "entities"])
async def test_what_is_meant_is_found_under_any_key(
    hass: HomeAssistant, door: str, recent: Call, freezer: FrozenDateTimeFactory, key: str
) -> None:
    await change(hass, freezer, "on")
    named = {"entity_id": door, "area": "Hall", "domain": "binary_sensor", "entities": [door]}[key]
    assert (await recent(**{key: named}))["events"][0]["to"] == "on"


async def test_events_of_an_integration_are_told_with_their_data(hass: HomeAssistant, door: str, recent: Call) -> None:
    hass.bus.async_fire("remote_pressed", {"command": "double", "api_key": "sk-1", "args": [1, 2]})
    [row] = (await recent(event_type="remote_pressed"))["events"]
    assert row["data"] == {"command": "double", "args": [1, 2]}


async def test_their_texts_make_the_conversation_careful(
    hass: HomeAssistant, door: str, recent: Call, turn: Turn
) -> None:
    hass.bus.async_fire("remote_pressed", {"command": "double"})
    await recent(event_type="remote_pressed")
    assert turn.record.taints == {"query_recent_events"}


async def test_changes_of_a_contact_do_not(hass: HomeAssistant, door: str, recent: Call, turn: Turn) -> None:
    await recent(entity_id=door)
    assert turn.record.taints == set()


@pytest.mark.parametrize(
    "data", [{"entity_id": "lock.safe"}, {"nested": [{"what": "opened lock.safe"}]}, {"lock.safe": 1}], ids=str
)
async def test_an_event_that_names_a_hidden_entity_is_left_out(
    hass: HomeAssistant, door: str, recent: Call, put: Put, data: dict[str, Any]
) -> None:
    await put("lock.safe", "locked", exposed=False)
    hass.bus.async_fire("told", data)
    hass.bus.async_fire("told", {"entity_id": door})
    rows = (await recent(event_type="told"))["events"]
    assert [row["data"] for row in rows] == [{"entity_id": door}]


async def test_an_event_of_a_hidden_device_is_left_out(hass: HomeAssistant, door: str, recent: Call) -> None:
    entry = MockConfigEntry(domain="test")
    entry.add_to_hass(hass)
    device = dr.async_get(hass).async_get_or_create(config_entry_id=entry.entry_id, identifiers={("test", "safe")})
    hass.bus.async_fire("told", {"device_id": device.id})
    assert (await recent(event_type="told"))["events"] == []


async def test_events_of_integrations_are_for_administrators(hass: HomeAssistant, door: str, recent: Call) -> None:
    user = MockUser(name="Alice").add_to_hass(hass)
    user.mock_policy({"entities": True})
    hass.bus.async_fire("remote_pressed", {"command": "double"})
    assert (await recent(turn_of(user), event_type="remote_pressed"))["events"] == []


async def test_who_did_it_is_not_named_to_others(
    hass: HomeAssistant, door: str, recent: Call, freezer: FrozenDateTimeFactory, boss: MockUser
) -> None:
    user = MockUser(name="Alice").add_to_hass(hass)
    user.mock_policy({"entities": True})
    await change(hass, freezer, "on", Context(user_id=boss.id))
    assert (await recent(turn_of(user), entity_id=door))["events"][0]["by"] == "a person"


async def test_calls_of_actions_are_not_told(hass: HomeAssistant, door: str, recent: Call) -> None:
    with pytest.raises(ToolRefusal, match="call_service is not told"):
        await recent(event_type="call_service")


async def test_the_plan_names_what_is_read(hass: HomeAssistant, door: str, home: Home, turn: Turn, put: Put) -> None:
    tool = QueryRecentEvents(home)
    plan = await tool.plan(hass, tool.parameters({"entity_id": door}), turn)
    assert plan.targets == (door,)
    async_expose_entity(hass, ASSISTANT, door, False)
    with pytest.raises(ToolError):
        await async_check_permission(hass, turn.user, plan)


async def test_too_many_entities_are_refused(hass: HomeAssistant, door: str, recent: Call, put: Put) -> None:
    for number in range(51):
        await put(f"sensor.n{number}", "1")
    with pytest.raises(ToolRefusal, match="51 entities match; at most 50 fit"):
        await recent(entity_id="sensor.*")
