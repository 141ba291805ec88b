"""Wishes that wait for something in the home: it has to become so, once, as far as it can be known."""

from dataclasses import replace
from datetime import timedelta
import sys
from types import FrameType

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.wishes.when import Watch, When

from .conftest import LAMP, NOW, World, becomes

WASHER, WINDOW, SENSOR = "sensor.washer", "binary_sensor.window", "sensor.light_level"
ANNA, BEN = "person.anna", "person.ben"


async def set_states(world: World, **states: str | None) -> None:
    """Set states by entity id with two underscores; None removes one."""
    for name, state in states.items():
        entity_id = name.replace("__", ".", 1)
        if state is None:
            world.hass.states.async_remove(entity_id)
        else:
            world.hass.states.async_set(entity_id, state)
    await world.settle()


async def test_it_is_done_when_it_becomes_so(world: World) -> None:
    await set_states(world, sensor__washer="running")
    world.put("tell", becomes(WASHER, "done", "off"))
    await set_states(world, sensor__washer="spinning")
    assert world.ids == []
    await set_states(world, sensor__washer="done")
    assert world.ids == ["tell"]
    assert world.due("tell").reason == "event"
    assert world.due("tell").of == (WASHER,)
    assert world.wishes.all() == []
    await set_states(world, sensor__washer="running")
    await set_states(world, sensor__washer="done")
    assert world.ids == ["tell"]


async def test_what_is_so_already_has_to_change_first(world: World) -> None:
    await set_states(world, sensor__washer="done")
    world.put("tell", becomes(WASHER, "done"))
    await world.pass_time(60)
    await set_states(world, sensor__washer="done")
    assert world.ids == []
    await set_states(world, sensor__washer="running")
    await set_states(world, sensor__washer="done")
    assert world.ids == ["tell"]


@pytest.mark.parametrize("away", ["unavailable", "unknown", None])
async def test_what_is_not_known_is_no_change(world: World, away: str | None) -> None:
    await set_states(world, sensor__washer="done")
    world.put("tell", becomes(WASHER, "done"))
    await set_states(world, sensor__washer=away)
    await set_states(world, sensor__washer="done")
    assert world.ids == []
    await set_states(world, sensor__washer="running")
    await set_states(world, sensor__washer=away)
    assert world.ids == []
    await set_states(world, sensor__washer="done")
    assert world.ids == ["tell"]


async def test_what_is_not_so_any_more_is_no_longer_so(world: World) -> None:
    await set_states(world, binary_sensor__window="on")
    world.put("heat", becomes(WINDOW, "on", negated=True))
    await set_states(world, binary_sensor__window="unavailable")
    assert world.ids == []
    await set_states(world, binary_sensor__window="off")
    assert world.ids == ["heat"]


@pytest.mark.parametrize(("bounds", "before", "between", "then"), [
    ({"below": 10.0}, "12", "10", "9.9"),
    ({"above": 24.5}, "20", "24.5", "24.6"),
    ({"above": 5.0, "below": 10.0}, "12", "-3", "7"),
])  # fmt: skip
async def test_a_number_gets_into_a_range(
    world: World, bounds: dict[str, float], before: str, between: str, then: str
) -> None:
    await set_states(world, sensor__light_level=before)
    world.put("dark", becomes(SENSOR, **bounds))
    for state in (between, "broken", "unavailable"):
        await set_states(world, sensor__light_level=state)
    assert world.ids == []
    await set_states(world, sensor__light_level=then)
    assert world.ids == ["dark"]


async def test_an_attribute_becomes_so(world: World) -> None:
    world.hass.states.async_set("climate.bath", "heat", {"current_temperature": 19})
    world.put("bath", becomes("climate.bath", above=21.0, attribute="current_temperature"))
    world.hass.states.async_set("climate.bath", "heat", {"current_temperature": 22})
    await world.settle()
    assert world.ids == ["bath"]


async def test_each_who_comes_counts(world: World) -> None:
    await set_states(world, person__anna="home", person__ben="not_home")
    world.put("hello", becomes(ANNA, "home", more=(BEN,), each=True))
    await set_states(world, person__anna="unavailable")
    await set_states(world, person__anna="home")
    assert world.ids == []
    await set_states(world, person__ben="home")
    assert world.ids == ["hello"]
    assert world.due("hello").of == (BEN,)


async def test_who_was_at_home_counts_once_they_come_back(world: World) -> None:
    await set_states(world, person__anna="home", person__ben="home")
    world.put("hello", becomes(ANNA, "home", more=(BEN,), each=True))
    await set_states(world, person__anna="not_home")
    await set_states(world, person__anna="unknown")
    await set_states(world, person__anna="home")
    assert world.due("hello").of == (ANNA,)


async def test_of_whom_it_was_not_known_where_they_are_does_not_come(world: World) -> None:
    await set_states(world, person__anna="unknown", person__ben="not_home")
    world.put("hello", becomes(ANNA, "home", more=(BEN,), each=True))
    await set_states(world, person__anna="home")
    assert world.ids == []


async def test_who_leaves_counts(world: World) -> None:
    await set_states(world, person__anna="home", person__ben="not_home")
    world.put("bye", becomes(ANNA, "home", more=(BEN,), each=True, negated=True))
    await set_states(world, person__anna="unknown")
    assert world.ids == []
    await set_states(world, person__anna="office")
    assert world.due("bye").of == (ANNA,)


async def test_what_was_not_known_counts_with_its_first_state(world: World) -> None:
    await set_states(world, sensor__washer="unavailable")
    world.put("tell", becomes(WASHER, "done"))
    await set_states(world, sensor__washer="done")
    assert world.ids == ["tell"]


@pytest.mark.parametrize(("every", "done_after"), [(False, 1), (True, 2)])
async def test_one_of_several_or_all(world: World, every: bool, done_after: int) -> None:
    await set_states(world, light__one="off", light__two="off")
    world.put("tell", becomes("light.one", "on", more=("light.two",), every=every))
    await set_states(world, light__one="on")
    assert len(world.ids) == (done_after == 1)
    await set_states(world, light__two="on")
    assert world.ids == ["tell"]


async def test_of_two_that_wait_for_the_same_both_are_done(world: World) -> None:
    await set_states(world, sensor__washer="running")
    for wish_id in ("one", "two"):
        world.put(wish_id, becomes(WASHER, "done"))
    await set_states(world, sensor__washer="done")
    assert sorted(world.ids) == ["one", "two"]


async def test_some_time_after_it(world: World) -> None:
    await set_states(world, sensor__washer="running")
    world.put("tell", becomes(WASHER, "done", delay=600))
    await set_states(world, sensor__washer="done")
    [wish] = world.wishes.all()
    assert wish.when.at is not None
    assert timedelta(seconds=600) <= wish.when.at - NOW < timedelta(seconds=602)
    assert world.stored()["tell"]["when"]["at"] == wish.when.at.isoformat()
    await set_states(world, sensor__washer="running")
    await world.pass_time(595)
    assert world.ids == []
    await world.pass_time(10)
    assert world.ids == ["tell"]
    assert (world.due("tell").reason, world.due("tell").of) == ("event", (WASHER,))


async def test_what_has_not_happened_in_time_is_over(world: World) -> None:
    await set_states(world, sensor__washer="running")
    world.put("tell", becomes(WASHER, "done", until=NOW + timedelta(hours=2)))
    await world.pass_time(7199)
    assert world.ids == []
    await world.pass_time(2)
    assert (world.due("tell").reason, world.due("tell").of) == ("expired", (WASHER,))
    await set_states(world, sensor__washer="done")
    assert world.ids == ["tell"]


async def test_an_event_is_not_waited_for_longer_than_a_year(world: World) -> None:
    await set_states(world, sensor__washer="running")
    world.put("tell", becomes(WASHER, "done"))
    await world.pass_time(timedelta(days=367).total_seconds())
    assert world.reasons == {"tell": "expired"}


def only_if(*states: str, entity_id: str = WINDOW, negated: bool = False) -> tuple[Watch, ...]:
    return (Watch(entity_ids=(entity_id,), states=states, negated=negated),)


@pytest.mark.parametrize(("state", "reason"), [
    ("on", "time"), ("off", "unmet"), ("unavailable", "unknown"), ("unknown", "unknown"), (None, "unknown"),
])  # fmt: skip
async def test_a_condition_is_looked_at_when_it_is_due(world: World, state: str | None, reason: str) -> None:
    await set_states(world, binary_sensor__window="off" if state == "on" else "on")
    world.put("shut", When(at=NOW + timedelta(minutes=10), conditions=only_if("on")))
    await world.pass_time(300)
    await set_states(world, binary_sensor__window=state)
    await world.pass_time(301)
    due = world.due("shut")
    assert (due.reason, due.of) == (reason, () if reason == "time" else (WINDOW,))
    assert world.wishes.all() == []


async def test_an_event_whose_condition_is_not_so_is_over(world: World) -> None:
    await set_states(world, sensor__washer="running", person__anna="not_home")
    world.put("tell", becomes(WASHER, "done", conditions=only_if("home", entity_id=ANNA)))
    await set_states(world, sensor__washer="done")
    assert (world.due("tell").reason, world.due("tell").of) == ("unmet", (ANNA,))
    assert world.wishes.all() == []


async def test_all_conditions_have_to_be_so(world: World) -> None:
    await set_states(world, binary_sensor__window="on", person__anna="home")
    conditions = (*only_if("on"), *only_if("home", entity_id=ANNA, negated=True))
    world.put("shut", When(at=NOW + timedelta(minutes=10), conditions=conditions))
    await world.pass_time(601)
    assert (world.due("shut").reason, world.due("shut").of) == ("unmet", (ANNA,))


async def test_a_state_change_that_concerns_no_wish_calls_nothing(hass: HomeAssistant, world: World) -> None:
    called: list[str] = []

    def profile(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call" and "/home_agent/wishes/" in frame.f_code.co_filename:
            called.append(frame.f_code.co_name)

    for number in range(100):
        world.put(str(number), becomes(f"sensor.washer_{number}", "done"))
    await world.settle()
    sys.setprofile(profile)
    try:
        for number in range(100):
            hass.states.async_set(LAMP, str(number))
        assert called == []
        hass.states.async_set("sensor.washer_7", "running")
        assert called
    finally:
        sys.setprofile(None)


async def test_what_has_to_last_is_due_once_it_has_lasted(world: World) -> None:
    await set_states(world, binary_sensor__window="off")
    world.put("tell", replace(becomes(WINDOW, "on", delay=600), stays=True))
    await set_states(world, binary_sensor__window="on")
    await world.pass_time(590)
    assert world.ids == []
    await world.pass_time(20)
    assert world.ids == ["tell"]


async def test_what_ends_before_it_has_lasted_is_waited_for_again(world: World) -> None:
    await set_states(world, binary_sensor__window="off")
    world.put("tell", replace(becomes(WINDOW, "on", delay=600), stays=True))
    await set_states(world, binary_sensor__window="on")
    await world.pass_time(300)
    await set_states(world, binary_sensor__window="off")
    await set_states(world, binary_sensor__window="on")
    await world.pass_time(400)
    assert world.ids == []
    await world.pass_time(210)
    assert world.ids == ["tell"]


async def test_what_is_unavailable_for_a_moment_lasts(world: World) -> None:
    await set_states(world, binary_sensor__window="off")
    world.put("tell", replace(becomes(WINDOW, "on", delay=600), stays=True))
    await set_states(world, binary_sensor__window="on")
    await set_states(world, binary_sensor__window="unavailable")
    await set_states(world, binary_sensor__window="on")
    await world.pass_time(610)
    assert world.ids == ["tell"]


async def test_what_is_so_already_lasts_from_now_on(world: World) -> None:
    await set_states(world, binary_sensor__window="on")
    world.put("tell", replace(becomes(WINDOW, "on", delay=600), stays=True))
    await world.pass_time(590)
    assert world.ids == []
    await world.pass_time(20)
    assert world.ids == ["tell"]


async def test_what_ended_while_home_agent_was_not_loaded_is_waited_for_again(world: World) -> None:
    await set_states(world, binary_sensor__window="off")
    world.put("tell", replace(becomes(WINDOW, "on", delay=600), stays=True))
    await set_states(world, binary_sensor__window="on")
    await world.stop()
    world.hass.states.async_set(WINDOW, "off")
    await world.start()
    await world.pass_time(700)
    assert world.ids == []
    await set_states(world, binary_sensor__window="on")
    await world.pass_time(610)
    assert world.ids == ["tell"]


async def test_an_event_counts_from_its_day_on(world: World) -> None:
    await set_states(world, person__anna="not_home")
    world.put("tell", replace(becomes(ANNA, "home"), since=NOW + timedelta(hours=6)))
    await set_states(world, person__anna="home")
    assert world.ids == []
    await world.pass_time(7 * 3600)
    assert world.ids == []
    await set_states(world, person__anna="not_home")
    await set_states(world, person__anna="home")
    assert world.ids == ["tell"]


async def test_a_bell_rings_with_each_new_moment(world: World) -> None:
    await set_states(world, event__bell="2026-11-24T12:00:00.000+00:00")
    world.put("tell", When(event=Watch(entity_ids=("event.bell",), after=NOW)))
    await set_states(world, event__bell="unavailable")
    await set_states(world, event__bell="2026-11-24T12:00:00.000+00:00")
    assert world.ids == []
    await set_states(world, event__bell="2026-11-24T18:05:00.000+00:00")
    assert world.ids == ["tell"]


@pytest.mark.parametrize(("kind", "ids"), [("ring", ["tell"]), ("motion", [])])
async def test_of_a_bell_with_several_events_only_its_ring_counts(world: World, kind: str, ids: list[str]) -> None:
    watch = Watch(entity_ids=("event.bell",), states=("ring",), attribute="event_type", after=NOW)
    world.put("tell", When(event=watch))
    world.hass.states.async_set("event.bell", "2026-11-24T18:05:00.000+00:00", {"event_type": kind})
    await world.settle()
    assert world.ids == ids


@pytest.mark.parametrize(("hour", "reason"), [(0, "time"), (11, "unmet")])
async def test_it_has_to_be_dark_then(world: World, hour: int, reason: str) -> None:
    await world.hass.config.async_update(latitude=52.5, longitude=13.4, time_zone="UTC")
    at = NOW.replace(hour=hour) + timedelta(days=1)
    world.put("tell", When(at=at, daylight=False))
    await world.go_to(at)
    assert world.reasons == {"tell": reason}


@pytest.mark.parametrize("row", [
    {"entity_ids": ["event.bell"], "after": "2026-11-24T12:00:00"}, {"entity_ids": ["event.bell"], "after": "0001-01-01T00:00:00+00:00"},
    {"entity_ids": ["event.bell"]},
])  # fmt: skip
def test_a_watch_of_no_sense_is_invalid(row: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Watch.from_dict(row)
