"""Wishes with a moment: spans, clock times, the sun; over changes of the clock, summer time, and other zones."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.policy.effects.wish_change import CANCEL_WISH, CHANGE_WISH, WISH_CHANGES, WishChange
from custom_components.home_agent.support.errors import ToolError
from custom_components.home_agent.wishes.when import SunEvent, When, moment_of
from custom_components.home_agent.wishes.wish import WishStatus

from .conftest import NOW, World


async def test_it_is_done_at_its_moment_and_gone(world: World) -> None:
    world.put("tea", world.after(90))
    await world.pass_time(89)
    assert world.ids == []
    await world.pass_time(2)
    assert world.ids == ["tea"]
    assert world.due("tea").reason == "time"
    assert world.wishes.all() == []
    await world.pass_time(3600)
    assert world.ids == ["tea"]


async def test_it_is_marked_on_the_disk_before_it_is_done(world: World) -> None:
    found: list[str] = []
    world.before = lambda wish: found.append(world.stored()[wish.id]["status"])
    world.put("tea")
    await world.pass_time(61)
    assert found == ["running"]
    assert world.stored() == {}


async def test_several_are_done_in_the_order_of_their_moments(world: World) -> None:
    for number, seconds in enumerate((50, 10, 40, 20, 30)):
        world.put(str(number), world.after(seconds))
    await world.pass_time(55)
    assert world.ids == ["1", "3", "4", "2", "0"]


async def test_many_at_once_are_done_four_at_a_time_each_once(world: World) -> None:
    world.gate.clear()
    for number in range(30):
        world.put(f"{number:02}", world.after(10))
    await world.pass_time(11)
    for _ in range(5):
        await world.pass_time(1)
    assert world.ids == ["00", "01", "02", "03"]
    assert [wish.id for wish in world.wishes.all() if wish.status is WishStatus.RUNNING] == world.ids
    world.gate.set()
    await world.pass_time(1)
    assert world.ids == [f"{number:02}" for number in range(30)]
    assert world.wishes.all() == []


async def test_what_fails_is_over_and_the_next_is_done(world: World, caplog: pytest.LogCaptureFixture) -> None:
    def fail(wish: object) -> None:
        raise RuntimeError("broken")

    world.put("one")
    world.before = fail
    await world.pass_time(61)
    assert world.wishes.all() == []
    assert "A wish could not be done" in caplog.text
    world.before = lambda _wish: None
    world.put("two")
    await world.pass_time(61)
    assert world.ids == ["two"]


async def test_one_that_never_ends_ends_after_a_while(world: World) -> None:
    world.gate.clear()
    world.put("stuck")
    await world.pass_time(61)
    assert world.ids == ["stuck"]
    await world.pass_time(901)
    assert world.wishes.all() == []


async def test_a_cancelled_one_is_not_done(world: World) -> None:
    wish = world.put("tea")
    await world.pass_time(30)
    world.wishes.drop([wish])
    await world.pass_time(60)
    assert world.ids == []


@pytest.mark.parametrize("seconds", [10, 600])
async def test_one_with_another_time_is_done_then(world: World, seconds: int) -> None:
    world.put("tea")
    await world.pass_time(5)
    world.now_with("tea", when=world.after(seconds))
    await world.pass_time(seconds - 1)
    assert world.ids == []
    await world.pass_time(2)
    assert world.ids == ["tea"]


async def test_a_change_while_it_waits_for_its_turn_wins(world: World) -> None:
    world.gate.clear()
    for number in range(6):
        world.put(str(number), world.after(10 + number))
    await world.pass_time(20)
    world.now_with("4", when=world.after(600))
    world.wishes.drop([wish for wish in world.wishes.all() if wish.id == "5"])
    world.gate.set()
    await world.pass_time(1)
    assert world.ids == ["0", "1", "2", "3"]
    await world.pass_time(600)
    assert world.ids == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("service", [CANCEL_WISH, CHANGE_WISH])
async def test_what_is_begun_is_not_cancelled_and_not_changed(world: World, service: str) -> None:
    wish = world.put("tea")
    later = replace(wish, when=world.after(600))
    world.gate.clear()
    await world.pass_time(61)
    assert world.ids == ["tea"]
    with pytest.raises(ToolError):
        await WISH_CHANGES.async_execute(world.hass, WishChange.of(service, later), "wish:tea", Context())
    world.gate.set()
    await world.pass_time(601)
    assert world.ids == ["tea"]
    assert world.wishes.all() == []


async def test_a_cancellation_at_the_moment_it_is_begun_wins_or_is_refused(world: World) -> None:
    outcomes = set()
    for steps in range(12):
        wish = world.put("tea")
        world.freezer.tick(61)
        async_fire_time_changed(world.hass)
        for _ in range(steps):
            await asyncio.sleep(0)
        try:
            await WISH_CHANGES.async_execute(world.hass, WishChange.of(CANCEL_WISH, wish), "wish:tea", Context())
            cancelled = True
        except ToolError:
            cancelled = False
        await world.settle()
        assert world.ids == ([] if cancelled else ["tea"])
        assert world.wishes.all() == []
        world.done.clear()
        outcomes.add(cancelled)
    assert outcomes == {True, False}


async def test_one_whose_user_is_asked_stays(world: World) -> None:
    world.asks = {"door"}
    world.put("door")
    await world.pass_time(61)
    [wish] = world.wishes.all()
    assert wish.status is WishStatus.ASKED
    assert world.stored()["door"]["status"] == "asked"
    await world.pass_time(3600)
    assert world.ids == ["door"]


ZONES = [
    # zone, wall time, the moment in UTC
    pytest.param("Europe/Berlin", "2027-03-28T01:59", "2027-03-28T00:59", id="Berlin, before the gap"),
    pytest.param("Europe/Berlin", "2027-03-28T02:30", "2027-03-28T01:30", id="Berlin, in the gap: 3:30"),
    pytest.param("Europe/Berlin", "2027-03-28T07:00", "2027-03-28T05:00", id="Berlin, after the gap"),
    pytest.param("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30", id="Berlin, twice: the first"),
    pytest.param("Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00", id="Berlin, after both"),
    pytest.param("America/New_York", "2027-03-14T02:15", "2027-03-14T07:15", id="New York, in the gap: 3:15"),
    pytest.param("America/New_York", "2026-11-01T01:30", "2026-11-01T05:30", id="New York, twice: the first"),
    pytest.param("America/New_York", "2026-11-01T07:00", "2026-11-01T12:00", id="New York, after both"),
    pytest.param("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:45", id="Lord Howe, in half an hour's gap: 2:45"),
    pytest.param("Australia/Lord_Howe", "2027-04-04T01:45", "2027-04-03T14:45", id="Lord Howe, half an hour twice: the first"),
    pytest.param("Asia/Kathmandu", "2026-12-24T18:00", "2026-12-24T12:15", id="Kathmandu, without summer time"),
]  # fmt: skip


@pytest.mark.parametrize(("zone", "wall", "moment"), ZONES)
async def test_the_clock_of_the_wall(world: World, zone: str, wall: str, moment: str) -> None:
    due = datetime.fromisoformat(moment).replace(tzinfo=dt_util.UTC)
    assert moment_of(wall, ZoneInfo(zone)) == due
    await world.go_to(due - timedelta(hours=20))
    await world.hass.config.async_update(time_zone=zone)
    world.put("wake", When(at=moment_of(wall, ZoneInfo(zone)), wall=wall))
    await world.go_to(due - timedelta(seconds=1))
    assert world.ids == []
    await world.go_to(due + timedelta(seconds=1))
    assert world.ids == ["wake"]
    await world.pass_time(7200)  # the second time that the clock shows it
    assert world.ids == ["wake"]


@pytest.mark.parametrize(("zone", "start"), [
    pytest.param("Europe/Berlin", "2027-03-28T00:30", id="spring"),
    pytest.param("Europe/Berlin", "2026-10-25T00:30", id="autumn"),
    pytest.param("Australia/Lord_Howe", "2026-10-03T15:10", id="half an hour"),
])  # fmt: skip
async def test_a_span_is_as_long_when_summer_time_begins_or_ends(world: World, zone: str, start: str) -> None:
    await world.hass.config.async_update(time_zone=zone)
    await world.go_to(datetime.fromisoformat(start).replace(tzinfo=dt_util.UTC))
    world.put("cake", world.after(3600))
    await world.pass_time(3599)
    assert world.ids == []
    await world.pass_time(2)
    assert world.ids == ["cake"]


async def in_zone(world: World, zone: str) -> None:
    await world.hass.config.async_update(time_zone=zone)
    await world.hass.async_block_till_done()


async def test_another_zone_moves_clock_times_and_no_spans(world: World) -> None:
    await in_zone(world, "Europe/Berlin")
    wall = "2026-11-25T07:00"
    world.put("wake", When(at=moment_of(wall, ZoneInfo("Europe/Berlin")), wall=wall))
    world.put("span", world.after(13 * 3600))
    await in_zone(world, "Europe/London")
    moments = {wish.id: wish.when.at for wish in world.wishes.all()}
    assert moments == {"wake": datetime(2026, 11, 25, 7, tzinfo=dt_util.UTC), "span": NOW + timedelta(hours=13)}
    await world.go_to(datetime(2026, 11, 25, 6, 30, tzinfo=dt_util.UTC))
    assert world.ids == []
    await world.go_to(datetime(2026, 11, 25, 7, 0, 1, tzinfo=dt_util.UTC))
    assert sorted(world.ids) == ["span", "wake"]


async def test_a_clock_time_that_has_passed_in_the_new_zone_is_late(world: World) -> None:
    await in_zone(world, "Europe/London")
    world.put("wake", When(at=datetime(2026, 11, 24, 19, tzinfo=dt_util.UTC), wall="2026-11-24T19:00"))
    await in_zone(world, "Europe/Helsinki")
    await world.settle()
    assert world.due("wake").reason == "missed"
    assert world.due("wake").late - timedelta(hours=1) < timedelta(seconds=2)


async def test_a_zone_that_was_changed_while_nothing_ran(world: World) -> None:
    await in_zone(world, "Europe/Berlin")
    wall = "2026-11-25T07:00"
    world.put("wake", When(at=moment_of(wall, ZoneInfo("Europe/Berlin")), wall=wall))
    await world.stop()
    await in_zone(world, "America/New_York")
    await world.start()
    [wish] = world.wishes.all()
    assert wish.when.at == datetime(2026, 11, 25, 12, tzinfo=dt_util.UTC)


async def test_the_sun_of_another_place(world: World) -> None:
    await world.hass.config.async_update(latitude=52.5, longitude=13.4, time_zone="Europe/Berlin")
    when = When(sun=SunEvent.SUNRISE, offset=-1800).settled(world.hass, NOW, dt_util.get_default_time_zone())
    world.put("blinds", when)
    before = when.at
    await world.hass.config.async_update(latitude=41.0, longitude=-4.0, time_zone="Europe/Madrid")
    await world.hass.async_block_till_done()
    [wish] = world.wishes.all()
    assert before is not None
    assert wish.when.at is not None
    assert timedelta(minutes=20) < wish.when.at - before < timedelta(minutes=90)
    await world.go_to(wish.when.at + timedelta(seconds=1))
    assert world.ids == ["blinds"]


@pytest.mark.parametrize("days", [1, 2, 6])
async def test_a_sunset_of_another_day_stays_on_its_day(hass: HomeAssistant, world: World, days: int) -> None:
    await hass.config.async_update(latitude=52.5, longitude=13.4, time_zone="Europe/Berlin")
    zone = dt_util.get_default_time_zone()
    first = When(sun=SunEvent.SUNSET, offset=600).settled(hass, NOW, zone).at
    assert first is not None
    later = When(sun=SunEvent.SUNSET, offset=600, at=first + timedelta(days=days)).settled(hass, NOW, zone).at
    assert later is not None
    assert abs(later - first - timedelta(days=days)) < timedelta(minutes=15)


@pytest.mark.parametrize(("offset", "minutes_before", "is_today"), [
    pytest.param(0, 30, True, id="before sunset"),
    pytest.param(-1800, 45, True, id="half an hour before, in a quarter of an hour"),
    pytest.param(-1800, 20, False, id="half an hour before has passed"),
    pytest.param(3600, -30, True, id="an hour after, in half an hour"),
])  # fmt: skip
async def test_the_next_event_of_the_sun(
    hass: HomeAssistant, world: World, offset: int, minutes_before: int, is_today: bool
) -> None:
    await hass.config.async_update(latitude=52.5, longitude=13.4, time_zone="Europe/Berlin")
    zone = dt_util.get_default_time_zone()
    sunset = When(sun=SunEvent.SUNSET).settled(hass, datetime(2026, 11, 24, 10, tzinfo=dt_util.UTC), zone).at
    assert sunset is not None
    made = sunset - timedelta(minutes=minutes_before)
    at = When(sun=SunEvent.SUNSET, offset=offset).settled(hass, made, zone).at
    assert at is not None
    wanted = sunset + timedelta(seconds=offset, days=0 if is_today else 1)
    assert at > made
    assert abs(at - wanted) < timedelta(minutes=3)


async def test_where_the_sun_does_not_set_the_moment_stays(hass: HomeAssistant, world: World) -> None:
    await hass.config.async_update(latitude=90.0, longitude=0.0)
    at = NOW + timedelta(hours=2)
    assert When(sun=SunEvent.SUNSET, at=at).settled(hass, NOW, dt_util.get_default_time_zone()).at == at


class Elapsed:
    """A clock that is never set, next to one that was: a minute is a minute."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.seconds = 1000.0
        monkeypatch.setattr("custom_components.home_agent.wishes.waiting.monotonic", lambda: self.seconds)

    async def pass_time(self, seconds: float) -> None:
        self.seconds += seconds
        await self.world.pass_time(seconds)

    async def set_clock(self, **delta: float) -> None:
        """Set the clock; it is noticed within a minute."""
        self.world.freezer.tick(timedelta(**delta))
        self.world.fires_all = timedelta(**delta) < timedelta()
        await self.pass_time(1)


@pytest.fixture
async def elapsed(world: World, monkeypatch: pytest.MonkeyPatch) -> Elapsed:
    elapsed = Elapsed(world, monkeypatch)
    await world.stop()
    await world.start()
    return elapsed


@pytest.mark.parametrize("delta", [{"hours": 3}, {"days": 20_000}, {"hours": -3}, {"seconds": 40}])
async def test_a_span_is_as_long_when_the_clock_is_set(world: World, elapsed: Elapsed, delta: dict[str, float]) -> None:
    world.put("cake", world.after(1200))
    await elapsed.pass_time(100)
    await elapsed.set_clock(**delta)
    await elapsed.pass_time(1090)
    assert world.ids == []
    await elapsed.pass_time(10)
    assert world.ids == ["cake"]
    assert world.due("cake").late < timedelta(seconds=60)


async def test_a_span_outlasts_a_reload_before_the_clock_is_set(world: World, elapsed: Elapsed) -> None:
    world.put("cake", world.after(1200))
    await world.stop()
    await elapsed.set_clock(hours=5)
    await world.start()
    await elapsed.pass_time(1100)
    assert world.ids == []
    await elapsed.pass_time(100)
    assert world.ids == ["cake"]


async def test_what_waited_for_a_long_time_is_done_at_its_moment_after_a_start_with_a_wrong_clock(
    world: World, elapsed: Elapsed
) -> None:
    world.put("wake", world.after(7200))
    world.put("over", world.after(60))
    await world.stop()
    kept = world.stored()
    world.freezer.move_to(datetime(1970, 1, 1, 0, 1, tzinfo=dt_util.UTC))
    world.write(*kept.values())
    from custom_components.home_agent.support.kept import kept_things

    kept_things(world.hass).forget()
    await world.start()
    await elapsed.pass_time(30)
    assert world.ids == []
    world.freezer.move_to(NOW + timedelta(minutes=30))
    await elapsed.pass_time(60)
    assert world.ids == ["over"]
    assert world.due("over").reason == "missed"
    assert timedelta(minutes=29) <= world.due("over").late < timedelta(minutes=31)
    await world.go_to(NOW + timedelta(hours=2, seconds=1))
    assert world.ids == ["over", "wake"]
