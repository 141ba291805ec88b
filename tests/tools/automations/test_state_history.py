"""The history of states as rows, from a real recorder."""

from datetime import UTC, datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.recorder.models import StatisticData
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.support.errors import ToolRefusal
from custom_components.home_agent.tools.automations.state_history import DownloadStateHistory
from custom_components.home_agent.turn.turn import Turn
from tests.entities import Put
from tests.tools.conftest import ask
from tests.tools.test_history import live, statistic

from .conftest import Call

pytestmark = pytest.mark.usefixtures("recorder_mock")

START = datetime(2027, 3, 10, 12, 0, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def at_noon(freezer: FrozenDateTimeFactory) -> None:
    freezer.move_to(START)


@pytest.fixture
def past(hass: HomeAssistant, home: Home, turn: Turn) -> Call:
    async def past(**args: Any) -> Any:
        return await ask(hass, DownloadStateHistory(home), turn, args)

    return past


async def test_rows_are_times_and_states(
    hass: HomeAssistant, past: Call, put: Put, freezer: FrozenDateTimeFactory
) -> None:
    await live(hass, put, freezer, "lock.door", [(0, "locked"), (30, "unavailable"), (40, "unlocked")], 60)
    [row] = (await past(entity_id="lock.door", days=0.5))["entities"]
    assert row["rows"] == [
        ["2027-03-10T04:00:00-08:00", "locked"],
        ["2027-03-10T04:30:00-08:00", "unknown"],
        ["2027-03-10T04:40:00-08:00", "unlocked"],
    ]
    assert row["source"] == "recorder"


async def test_many_rows_are_thinned_and_that_is_told(
    hass: HomeAssistant, past: Call, put: Put, freezer: FrozenDateTimeFactory
) -> None:
    await live(hass, put, freezer, "sensor.t", [(number, str(number)) for number in range(250)], 251)
    [row] = (await past(entity_id="sensor.t", days=1))["entities"]
    assert len(row["rows"]) == 200
    assert "Thinned: 200 of 250 rows" in row["note"]


async def test_the_rows_are_shared_by_all_entities(
    hass: HomeAssistant, past: Call, put: Put, freezer: FrozenDateTimeFactory
) -> None:
    for name in ("a", "b", "c", "d"):
        await put(f"sensor.{name}", "0")
    await live(hass, put, freezer, "sensor.t", [(number, str(number)) for number in range(60)], 61)
    rows = (await past(entity_id="sensor.a,sensor.b,sensor.c,sensor.d,sensor.t"))["entities"]
    assert len(rows[-1]["rows"]) == 40


async def test_values_of_an_attribute(
    hass: HomeAssistant, past: Call, put: Put, freezer: FrozenDateTimeFactory
) -> None:
    for minute, brightness in ((0, 10), (5, 10), (10, 99)):
        await live(hass, put, freezer, "light.desk", [(minute, "on")], minute, brightness=brightness, other=minute)
    [row] = (await past(entity_id="light.desk", attribute="brightness"))["entities"]
    assert [value for _, value in row["rows"]] == ["10", "99"]


async def test_an_unknown_attribute_is_refused_with_those_there_are(past: Call, put: Put, turn: Turn) -> None:
    await put("light.desk", "on", brightness=10)
    with pytest.raises(ToolRefusal, match=r"has no attribute 'brightnes'\. It has: brightness\."):
        await past(entity_id="light.desk", attribute="brightnes")


async def test_a_secret_attribute_is_unknown(past: Call, put: Put, turn: Turn) -> None:
    await put("light.desk", "on", access_token="abc", brightness=1)
    with pytest.raises(ToolRefusal, match="has no attribute 'access_token'"):
        await past(entity_id="light.desk", attribute="access_token")


async def test_statistics_tell_what_the_recorder_has_purged(
    hass: HomeAssistant, past: Call, put: Put, freezer: FrozenDateTimeFactory
) -> None:
    await put("sensor.t", "20", unit_of_measurement="°C", state_class="measurement")
    rows = [StatisticData(start=START - timedelta(hours=hour), mean=float(hour)) for hour in range(200, 0, -1)]
    statistic(hass, "sensor.t", rows, unit="°C")
    await async_wait_recording_done(hass)
    [row] = (await past(entity_id="sensor.t", days=8))["entities"]
    assert row["source"] == "long-term statistics"
    assert row["rows"][0][1] == "192.0"
    assert len(row["rows"]) <= 200


async def test_a_period_in_the_past(hass: HomeAssistant, past: Call, put: Put, freezer: FrozenDateTimeFactory) -> None:
    await live(hass, put, freezer, "lock.door", [(0, "locked"), (30, "unlocked"), (60, "locked")], 90)
    told = await past(entity_id="lock.door", start="2027-03-10T04:10", end="2027-03-10T04:40:00-08:00")
    assert (told["from"], told["to"]) == ("2027-03-10T04:10:00-08:00", "2027-03-10T04:40:00-08:00")
    assert [state for _, state in told["entities"][0]["rows"]] == ["locked", "unlocked"]


async def test_what_is_so_now_is_not_told_of_the_past(
    hass: HomeAssistant, past: Call, put: Put, freezer: FrozenDateTimeFactory
) -> None:
    freezer.tick(timedelta(hours=5))
    await put("lock.new", "locked")
    told = await past(entity_id="lock.new", start="2027-03-10T04:10", end="2027-03-10T04:40")
    assert told["entities"][0]["note"] == "Nothing was recorded in this period."


@pytest.mark.parametrize(
    ("start", "end"), [("2027-03-12", ""), ("2027-02-01", "2027-03-01"), ("2027-03-09", "2027-03-08")]
)
async def test_a_wrong_period_is_refused(past: Call, put: Put, turn: Turn, start: str, end: str) -> None:
    await put("lock.door", "locked")
    with pytest.raises(ToolRefusal, match="at most 10 days"):
        await past(entity_id="lock.door", start=start, end=end)


async def test_days_are_bounded(past: Call, put: Put, turn: Turn) -> None:
    await put("lock.door", "locked")
    told = await past(entity_id="lock.door", days=400)
    assert datetime.fromisoformat(told["to"]) - datetime.fromisoformat(told["from"]) == timedelta(days=10)


async def test_too_many_entities_are_refused(past: Call, put: Put, turn: Turn) -> None:
    for number in range(21):
        await put(f"sensor.n{number}", "1")
    with pytest.raises(ToolRefusal, match="21 entities match; at most 20 fit"):
        await past(entity_id="sensor.*")


async def test_a_hidden_entity_is_unknown(past: Call, put: Put, turn: Turn) -> None:
    await put("lock.safe", "locked", exposed=False)
    with pytest.raises(ToolRefusal, match=r"No exposed entity matches 'lock\.safe'"):
        await past(entity_id="lock.safe")
