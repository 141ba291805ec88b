"""Events of calendars between two times, from Home Assistant's own calendars."""

from datetime import datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.calendar import CalendarEvent
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.support.errors import ToolRefusal
from custom_components.home_agent.tools.automations.calendar_events import GetCalendarEvents
from custom_components.home_agent.turn.turn import Turn
from tests.prompt.calendars import Calendar, add
from tests.tools.conftest import ask

from .conftest import Call


@pytest.fixture
async def calendars(hass: HomeAssistant, freezer: FrozenDateTimeFactory, turn: Turn) -> None:
    """Three calendars with an event in March and one in April each; Secret is hidden."""
    freezer.move_to("2027-03-10T12:00:00-08:00")
    days = (datetime.fromisoformat(f"2027-{day}T10:00:00-08:00") for day in ("03-12", "04-20"))
    names = ("Family", "Work", "Secret")
    starts = [*days]
    made = [
        Calendar(
            name,
            *(
                CalendarEvent(start=start, end=start + timedelta(hours=1), summary=f"{name} {start.date()}")
                for start in starts
            ),
        )
        for name in names
    ]
    await add(hass, *made, hidden=("calendar.secret",))


@pytest.fixture
def planned(hass: HomeAssistant, home: Home, turn: Turn) -> Call:
    async def planned(**args: Any) -> Any:
        return await ask(hass, GetCalendarEvents(home), turn, args)

    return planned


def summaries(told: dict[str, Any]) -> list[str]:
    return [event["summary"] for event in told["events"]]


@pytest.mark.usefixtures("calendars")
async def test_all_exposed_calendars_of_the_next_week(planned: Call) -> None:
    assert sorted(summaries(await planned())) == ["Family 2027-03-12", "Work 2027-03-12"]


@pytest.mark.usefixtures("calendars")
async def test_a_calendar_between_two_times(planned: Call) -> None:
    told = await planned(calendar="Family", start="2027-04-01", end="2027-05-01")
    assert summaries(told) == ["Family 2027-04-20"]
    assert told["events"][0]["calendar"] == "calendar.family"
    assert datetime.fromisoformat(told["from"]) == datetime.fromisoformat("2027-04-01T00:00:00-07:00")


@pytest.mark.usefixtures("calendars")
async def test_a_hidden_calendar_is_unknown(planned: Call) -> None:
    with pytest.raises(ToolRefusal, match=r"No exposed entity matches 'calendar\.secret'"):
        await planned(entity_id="calendar.secret")


@pytest.mark.usefixtures("calendars")
@pytest.mark.parametrize("end", ["2027-06-10", "2027-03-01"])
async def test_a_period_has_at_most_60_days(planned: Call, end: str) -> None:
    with pytest.raises(ToolRefusal, match="at most 60 days"):
        await planned(start="2027-03-10", end=end)


async def test_without_a_calendar_it_says_so(planned: Call, turn: Turn) -> None:
    with pytest.raises(ToolRefusal, match=r"There is no exposed calendar\."):
        await planned()


@pytest.mark.usefixtures("calendars")
async def test_its_calls_are_checked(hass: HomeAssistant, home: Home, turn: Turn) -> None:
    tool = GetCalendarEvents(home)
    plan = await tool.plan(hass, tool.parameters({"calendars": ["Work"]}), turn)
    assert plan.targets == ("calendar.work",)
