"""Wishes in the to-do list, in the sensor and by actions: what a person sees, makes, changes and cancels without talking."""

from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
from custom_components.home_agent.wishes.wishes import wishes_of
from tests import house
from tests.house import act, build_house, say, set_up

NOW = "2026-11-24T18:00:00-08:00"  # the home's zone is US/Pacific
LIST = "todo.home_agent_planned"
NEXT = "sensor.home_agent_next_wish"


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test."""
    await build_house(hass)


@pytest.fixture
async def entry(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> MockConfigEntry:
    """Return the entry, with the list and the sensor enabled."""
    freezer.move_to(NOW)
    found = await set_up(hass)
    for entity_id in (LIST, NEXT):
        er.async_get(hass).async_update_entity(entity_id, disabled_by=None)
    await hass.config_entries.async_reload(found.entry_id)
    await hass.async_block_till_done()
    return found


@pytest.fixture
def anna(hass: HomeAssistant) -> Context:
    return house.person(hass, "Anna")


@pytest.fixture
def ben(hass: HomeAssistant) -> Context:
    return house.person(hass, "Ben")


async def do(hass: HomeAssistant, action: str, context: Context, **data: Any) -> Any:
    return await hass.services.async_call(
        "todo",
        action,
        {"entity_id": LIST, **data},
        blocking=True,
        context=context,
        return_response=action == "get_items",
    )


async def items(hass: HomeAssistant) -> list[dict[str, Any]]:
    found = await do(hass, "get_items", Context())
    listed: list[dict[str, Any]] = found[LIST]["items"]
    return listed


async def test_list_and_sensor_are_disabled_until_the_owner_wants_them(hass: HomeAssistant) -> None:
    """They show what all users plan."""
    await set_up(hass)
    for entity_id in (LIST, NEXT):
        found = er.async_get(hass).async_get(entity_id)
        assert found is not None
        assert found.disabled_by is er.RegistryEntryDisabler.INTEGRATION


async def test_what_was_said_is_an_item_with_its_time(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context
) -> None:
    await say(hass, "Turn off the ceiling lights in 20 minutes", context=anna)
    [item] = await items(hass)
    assert item["due"] == "2026-11-24T18:20:00-08:00"
    assert "ceiling lights" in item["summary"].casefold()
    assert item["status"] == "needs_action"
    listed = hass.states.get(LIST)
    assert listed is not None
    assert listed.state == "1"
    sensor = hass.states.get(NEXT)
    assert sensor is not None
    assert sensor.state == "2026-11-25T02:20:00+00:00"
    assert (sensor.attributes["wish"], sensor.attributes["kind"]) == (item["summary"], "action")
    assert sensor.attributes["count"] == 1


async def test_an_item_that_is_made_is_a_reminder_of_its_user(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context
) -> None:
    await do(hass, "add_item", anna, item="Take the cake out", due_datetime="2026-11-24 18:40:00")
    [wish] = wishes_of(hass).all()
    assert (wish.kind, wish.text, wish.user_id) == ("reminder", "Take the cake out", anna.user_id)
    assert wish.when.at == dt_util.parse_datetime("2026-11-24T18:40:00-08:00")


@pytest.mark.parametrize("data", [{}, {"due_date": "2026-11-25"}, {"due_datetime": "2026-11-24 17:00:00"}])
async def test_an_item_needs_a_time_to_come(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context, data: dict[str, str]
) -> None:
    with pytest.raises((HomeAssistantError, probatio.Invalid)):
        await do(hass, "add_item", anna, item="Take the cake out", **data)
    assert not wishes_of(hass).all()


async def test_an_automation_makes_no_item(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    with pytest.raises(HomeAssistantError, match="Only people"):
        await do(hass, "add_item", Context(), item="Cake", due_datetime="2026-11-24 18:40:00")
    assert not wishes_of(hass).all()


async def test_the_next_one_is_first(hass: HomeAssistant, entry: MockConfigEntry, anna: Context) -> None:
    for text, time in (("Late", "21:00"), ("Early", "19:00"), ("Later", "20:00")):
        await do(hass, "add_item", anna, item=text, due_datetime=f"2026-11-24 {time}:00")
    assert [item["summary"] for item in await items(hass)] == ["Early", "Later", "Late"]


@pytest.mark.parametrize("how", ["ticked off", "deleted"])
async def test_what_is_ticked_off_or_deleted_is_cancelled(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context, how: str
) -> None:
    await do(hass, "add_item", anna, item="Cake", due_datetime="2026-11-24 18:40:00")
    if how == "deleted":
        await do(hass, "remove_item", anna, item="Cake")
    else:
        await do(hass, "update_item", anna, item="Cake", status="completed")
    assert not wishes_of(hass).all()
    assert not await items(hass)
    sensor = hass.states.get(NEXT)
    assert sensor is not None
    assert sensor.state == "unknown"


async def test_an_item_gets_another_time(hass: HomeAssistant, entry: MockConfigEntry, anna: Context) -> None:
    await do(hass, "add_item", anna, item="Cake", due_datetime="2026-11-24 18:40:00")
    await do(hass, "update_item", anna, item="Cake", due_datetime="2026-11-24 19:00:00")
    [item] = await items(hass)
    assert item["due"] == "2026-11-24T19:00:00-08:00"


async def test_an_item_keeps_its_words(hass: HomeAssistant, entry: MockConfigEntry, anna: Context) -> None:
    await do(hass, "add_item", anna, item="Cake", due_datetime="2026-11-24 18:40:00")
    with pytest.raises(HomeAssistantError, match="keeps its words"):
        await do(hass, "update_item", anna, item="Cake", rename="Bread")
    assert [wish.words for wish in wishes_of(hass).all()] == ["Cake"]


@pytest.mark.parametrize("how", ["update_item", "remove_item"])
async def test_the_items_of_others_stay(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context, ben: Context, how: str
) -> None:
    await do(hass, "add_item", anna, item="Cake", due_datetime="2026-11-24 18:40:00")
    more = {"status": "completed"} if how == "update_item" else {}
    with pytest.raises(HomeAssistantError, match="belongs to someone else, and stays as it is"):
        await do(hass, how, ben, item="Cake", **more)
    assert len(wishes_of(hass).all()) == 1


# Actions


async def test_wishes_are_made_listed_changed_and_cancelled_by_actions(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context
) -> None:
    made = await act(hass, "make_wish", anna, say="Cake", **{"in": {"minutes": 40}})
    [row] = (await act(hass, "list_wishes", anna))["wishes"]
    assert row == made["wish"]
    assert (row["wish"], row["at"], row["agent"]) == ("Cake", "2026-11-24T18:40:00-08:00", "Home Agent")
    changed = await act(hass, "change_wish", anna, id=row["id"], at="2026-11-24 21:00:00")
    assert changed["wish"]["at"] == "2026-11-24T21:00:00-08:00"
    cancelled = await act(hass, "cancel_wish", anna, id=[row["id"]])
    assert [one["id"] for one in cancelled["cancelled"]] == [row["id"]]
    assert (await act(hass, "list_wishes", anna))["wishes"] == []


async def test_actions_know_only_the_callers_own(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context, ben: Context
) -> None:
    wish = (await act(hass, "make_wish", anna, say="Cake", at="2026-11-24 21:00:00"))["wish"]
    assert (await act(hass, "list_wishes", ben))["wishes"] == []
    for action, more in (("cancel_wish", {}), ("change_wish", {"at": "2026-11-24 22:00:00"})):
        with pytest.raises(ServiceValidationError, match="belongs to someone else"):
            await act(hass, action, ben, id=wish["id"], **more)
    assert len(wishes_of(hass).all()) == 1
    await act(hass, "cancel_wish", anna, id=wish["id"])
    with pytest.raises(ServiceValidationError, match="no longer planned"):
        await act(hass, "cancel_wish", ben, id=wish["id"])


async def test_an_administrator_knows_what_the_household_said(
    hass: HomeAssistant, entry: MockConfigEntry, hass_admin_user: MockUser, ben: Context
) -> None:
    await say(hass, "Turn off the ceiling lights in 20 minutes", satellite_id="assist_satellite.kitchen")
    [row] = (await act(hass, "list_wishes", Context(user_id=hass_admin_user.id)))["wishes"]
    assert row["user_id"] is None
    assert (await act(hass, "list_wishes", ben))["wishes"] == []


async def test_a_wish_by_action_needs_a_person_and_a_time(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context
) -> None:
    with pytest.raises(HomeAssistantError, match="Only people"):
        await act(hass, "make_wish", Context(), say="Cake", at="2026-11-24 21:00:00")
    with pytest.raises(ServiceValidationError, match="Please say when"):
        await act(hass, "make_wish", anna, say="Cake")
    with pytest.raises(HomeAssistantError, match="already past"):
        await act(hass, "make_wish", anna, say="Cake", at="2026-11-24 17:00:00")
    with pytest.raises(HomeAssistantError, match="366 days"):
        await act(hass, "make_wish", anna, say="Cake", **{"in": {"days": 4000}})
    assert not wishes_of(hass).all()


@pytest.mark.parametrize("said", ["", "  \t"])
async def test_a_reminder_of_nothing_is_not_too_long(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context, said: str
) -> None:
    with pytest.raises(ServiceValidationError, match="what is to be told"):
        await act(hass, "make_wish", anna, say=said, **{"in": {"minutes": 5}})
    assert not wishes_of(hass).all()


async def test_no_time_ahead_is_past(hass: HomeAssistant, entry: MockConfigEntry, anna: Context) -> None:
    with pytest.raises(ServiceValidationError, match="already past"):
        await act(hass, "make_wish", anna, say="Cake", **{"in": 0})
    assert not wishes_of(hass).all()


async def test_an_agent_that_takes_no_wishes_takes_none_by_action(hass: HomeAssistant, anna: Context) -> None:
    await set_up(hass, profile={"wishes": False})
    with pytest.raises(HomeAssistantError):
        await act(hass, "make_wish", anna, say="Cake", **{"in": {"minutes": 5}})
    assert not wishes_of(hass).all()


async def test_what_was_made_by_action_is_undone_by_talking(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context
) -> None:
    await act(hass, "make_wish", anna, say="Cake", **{"in": {"minutes": 5}})
    await say(hass, "Undo that", context=anna)
    assert not wishes_of(hass).all()


async def test_diagnostics_count_wishes_without_their_words(
    hass: HomeAssistant, entry: MockConfigEntry, anna: Context, freezer: FrozenDateTimeFactory
) -> None:
    await act(hass, "make_wish", anna, say="Buy a ring", **{"in": {"minutes": 5}})
    freezer.tick(timedelta(seconds=1))
    told = await async_get_config_entry_diagnostics(hass, entry)
    assert told["kept"]["wishes"]
    assert "ring" not in str(told).replace("string", "")
