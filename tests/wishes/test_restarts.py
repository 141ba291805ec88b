"""Wishes over restarts, kills and reloads: each once, or told why not; and files that are not what was written."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
import json
from typing import Any

from homeassistant.const import EVENT_HOMEASSISTANT_STARTED
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.support.kept import kept_things
from custom_components.home_agent.wishes.when import Watch, When
from custom_components.home_agent.wishes.wish import Wish, WishKind, WishStatus
from tests.support.conftest import full_disk

from .conftest import LAMP, NOW, World, becomes

__all__ = ["full_disk"]

WASHER = "sensor.washer"
MISSING = object()


async def test_what_waits_is_done_after_a_restart(world: World) -> None:
    world.put("tea", world.after(600))
    await world.restart(after=timedelta(seconds=300))
    await world.pass_time(299)
    assert world.ids == []
    await world.pass_time(2)
    assert world.reasons == {"tea": "time"}


async def test_nothing_is_done_while_it_is_unloaded(world: World, hass: HomeAssistant) -> None:
    hass.states.async_set(WASHER, "running")
    world.put("tea", world.after(60))
    world.put("tell", becomes(WASHER, "done"))
    await world.stop()
    hass.states.async_set(WASHER, "done")
    await world.pass_time(3600)
    assert world.ids == []
    await world.start()
    await world.settle()
    assert sorted(world.ids) == ["tea", "tell"]


@pytest.mark.parametrize("kind", WishKind)
async def test_each_kind_that_was_missed_is_handed_over_with_how_late_it_is(world: World, kind: WishKind) -> None:
    world.put("tea", world.after(60), kind=kind)
    await world.restart(after=timedelta(seconds=660))
    await world.settle()
    assert world.due("tea").reason == "missed"
    assert timedelta(seconds=600) <= world.due("tea").late < timedelta(seconds=605)


async def test_a_short_restart_is_not_late(world: World) -> None:
    world.put("tea", world.after(60))
    await world.restart(after=timedelta(seconds=75))
    await world.settle()
    assert world.due("tea").reason == "time"
    assert timedelta(seconds=15) <= world.due("tea").late < timedelta(seconds=20)


async def test_what_was_missed_is_done_in_its_order(world: World) -> None:
    for number, seconds in enumerate((50, 10, 40, 20, 30)):
        world.put(str(number), world.after(seconds))
    await world.restart(after=timedelta(days=1))
    await world.settle()
    assert world.ids == ["1", "3", "4", "2", "0"]


async def test_a_missed_one_is_done_once_home_assistant_has_started(world: World, hass: HomeAssistant) -> None:
    world.put("tea", world.after(60))
    await world.kill()
    world.freezer.tick(3600)
    hass.set_state(CoreState.starting)
    await world.start()
    await world.settle()
    assert world.ids == []
    hass.set_state(CoreState.running)
    hass.bus.async_fire(EVENT_HOMEASSISTANT_STARTED)
    await world.settle()
    assert world.ids == ["tea"]


@pytest.mark.parametrize("state", [None, "unavailable"])
async def test_a_missed_one_waits_for_its_entities(world: World, hass: HomeAssistant, state: str | None) -> None:
    world.put("off", world.after(60), steps=(world.step(LAMP),))
    world.put("other", world.after(90))
    if state:
        hass.states.async_set(LAMP, state)
    await world.restart(after=timedelta(seconds=600))
    await world.pass_time(20)
    assert world.ids == ["other"]
    hass.states.async_set(LAMP, "on")
    await world.pass_time(2)
    assert world.ids == ["other", "off"]


async def test_a_missed_one_does_not_wait_for_ever(world: World) -> None:
    world.put("off", world.after(60), steps=(world.step(LAMP),), satellite_id="assist_satellite.kitchen")
    await world.restart(after=timedelta(seconds=600))
    await world.pass_time(55)
    assert world.ids == []
    await world.pass_time(7)
    assert world.ids == ["off"]


async def test_a_condition_of_a_missed_one_is_known_first(world: World, hass: HomeAssistant) -> None:
    conditions = (Watch(entity_ids=("person.anna",), states=("home",)),)
    world.put("off", replace(world.after(60), conditions=conditions))
    hass.states.async_set("person.anna", "unknown")
    await world.restart(after=timedelta(seconds=600))
    await world.pass_time(5)
    assert world.ids == []
    hass.states.async_set("person.anna", "home")
    await world.pass_time(2)
    assert world.due("off").reason == "missed"


@pytest.mark.parametrize("first", ["", "unknown", "unavailable"])
@pytest.mark.parametrize("delay", [0, 300])
async def test_what_became_so_while_home_assistant_was_off(
    world: World, hass: HomeAssistant, first: str, delay: int
) -> None:
    hass.states.async_set(WASHER, "running")
    world.put("tell", becomes(WASHER, "done", delay=delay))
    await world.kill()
    hass.states.async_remove(WASHER)
    if first:
        hass.states.async_set(WASHER, first)
    world.freezer.tick(3600)
    await world.start()
    await world.pass_time(3)
    assert world.ids == []
    hass.states.async_set(WASHER, "done")
    await world.settle()
    assert len(world.ids) == (delay == 0)
    await world.pass_time(delay + 1)
    assert world.reasons == {"tell": "event"}


async def test_what_was_so_before_did_not_become_so_while_home_assistant_was_off(
    world: World, hass: HomeAssistant
) -> None:
    hass.states.async_set(WASHER, "done")
    hass.states.async_set("person.anna", "home")
    world.put("tell", becomes(WASHER, "done"))
    world.put("hello", becomes("person.anna", "home", each=True))
    await world.restart(after=timedelta(hours=1))
    for state in ("unavailable", "done"):
        hass.states.async_set(WASHER, state)
    await world.settle()
    assert world.ids == []


async def test_that_it_can_become_so_is_kept(world: World, hass: HomeAssistant) -> None:
    hass.states.async_set(WASHER, "done")
    hass.states.async_set("person.anna", "home")
    world.put("tell", becomes(WASHER, "done"))
    world.put("hello", becomes("person.anna", "home", each=True))
    hass.states.async_set(WASHER, "running")
    hass.states.async_set("person.anna", "not_home")
    await world.pass_time(1)
    await world.kill()
    hass.states.async_set(WASHER, "done")
    hass.states.async_set("person.anna", "home")
    await world.start()
    await world.settle()
    assert world.reasons == {"hello": "event", "tell": "event"}


async def test_a_delay_that_runs_outlasts_a_kill(world: World, hass: HomeAssistant) -> None:
    hass.states.async_set(WASHER, "running")
    world.put("tell", becomes(WASHER, "done", delay=600))
    await world.settle()
    hass.states.async_set(WASHER, "done")
    await hass.async_block_till_done()  # no time passes until it is on the disk
    await world.kill()
    hass.states.async_set(WASHER, "running")
    world.freezer.tick(300)
    await world.start()
    await world.pass_time(290)
    assert world.ids == []
    await world.pass_time(15)
    assert (world.due("tell").reason, world.due("tell").of) == ("event", (WASHER,))


async def test_what_was_begun_before_a_kill_is_told_and_not_done_again(world: World) -> None:
    world.gate.clear()
    world.put("tea")
    await world.pass_time(61)
    assert world.ids == ["tea"]
    await world.kill()
    world.done.clear()
    world.gate.set()
    await world.start()
    await world.settle()
    assert world.reasons == {"tea": "interrupted"}
    await world.restart(after=timedelta(hours=1))
    await world.settle()
    assert world.ids == ["tea"]
    assert world.stored() == {}


async def test_a_reload_in_the_middle_ends_it_and_it_is_told(world: World) -> None:
    world.gate.clear()
    world.put("tea")
    world.put("next", world.after(62))
    for number in range(4):
        world.put(str(number), world.after(61))
    await world.pass_time(63)
    assert "next" not in world.ids
    await world.stop()
    assert world.stored()["tea"]["status"] == "running"
    assert world.stored()["next"]["status"] == "waiting"
    world.done.clear()
    world.gate.set()
    await world.start()
    await world.settle()
    assert world.reasons["tea"] == "interrupted"
    assert world.reasons["next"] == "time"


async def test_one_whose_user_was_asked_is_handed_over_again(world: World) -> None:
    world.asks = {"door"}
    world.put("door")
    await world.pass_time(61)
    world.done.clear()
    await world.restart(after=timedelta(minutes=5))
    await world.settle()
    assert world.reasons == {"door": "asked"}
    assert world.wishes.all() == []
    assert world.stored() == {}


async def test_what_was_interrupted_comes_in_the_order_of_its_time(world: World) -> None:
    for wish_id, seconds, status in (("late", 50, "waiting"), ("begun", 20, "running"), ("asked", 30, "asked")):
        world.put(wish_id, world.after(seconds), status=WishStatus(status))
    await world.restart(after=timedelta(seconds=120))
    await world.settle()
    assert world.ids == ["begun", "asked", "late"]


async def test_with_a_full_disk_it_is_done_once_all_the_same(
    world: World, full_disk: Callable[[], AbstractContextManager[None]]
) -> None:
    world.put("tea")
    await world.pass_time(30)
    with full_disk():
        await world.pass_time(31)
        await world.pass_time(600)
        assert world.ids == ["tea"]
        assert world.wishes.all() == []
    await world.pass_time(60)
    assert world.ids == ["tea"]
    assert world.stored() == {}


async def test_the_wishes_of_a_deleted_user_go_with_them(hass: HomeAssistant, world: World) -> None:
    user = await hass.auth.async_create_user("Ben")
    world.put("tea", user_id=user.id)
    await world.wishes.async_forget_user(user.id)
    await world.pass_time(61)
    assert world.ids == []
    assert world.stored() == {}


def row(world: World, wish_id: str) -> dict[str, Any]:
    """Return a row as it is in the file, with an event, conditions and steps."""
    watch = Watch(entity_ids=("binary_sensor.window",), states=("off",))
    when = replace(becomes(WASHER, "done", delay=5), conditions=(watch,), until=NOW + timedelta(days=3))
    return json.loads(json.dumps(world.wish(wish_id, when, steps=(world.step(LAMP),)).as_dict()))  # type: ignore[no-any-return]


ODD: list[tuple[str, object]] = [
    ("kind", "dance"), ("status", "paused"), ("kind", 3), ("id", None), ("id", ["a"]), ("made", "2026-11-24T18:00:00"),
    ("made", "9999-12-31T23:59:59+00:00"), ("made", "yesterday"), ("made", 17), ("when", None), ("when", {}), ("when", "soon"),
    ("when.delay", 10**30), ("when.delay", -5), ("when.delay", "5"), ("when.offset", -(10**15)), ("when.at", "2026-11-24T18:00:00"),
    ("when.at", "0001-01-01T00:00:00+14:00"), ("when.at", "9999-12-31T23:59:59-12:00"), ("when.at", 5),
    ("when.until", "9999-12-31T23:59:59-12:00"), ("when.wall", "0001-01-01T00:00"), ("when.wall", "noon"), ("when.wall", 7),
    ("when.sun", "moon"), ("when.event", {}), ("when.event", {"entity_ids": []}), ("when.event", "washer"), ("when.conditions", [None]),
    ("when.conditions", {"a": 1}), ("when.event", MISSING), ("steps", [{}]), ("steps", "all"), ("steps", [{"effects": ["a"], "targets": []}]),
    ("within", [{}]), ("within", 5), ("text", "x" * 20_000), ("words", {"a": 1}), ("agent_id", None), ("user_id", 7), ("registered", []),
    ("language", MISSING), ("registered", {"light.lamp": ["a"]}), ("registered", {"light.lamp": None}),
    ("steps", [{"tool": "x", "arguments": json.loads("[" * 400 + "]" * 400), "effects": [], "targets": []}]),
    ("steps", [{"tool": "x", "arguments": {"a": json.loads("[" * 400 + "]" * 400)}, "effects": [], "targets": []}]),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), ODD, ids=range(len(ODD)))
async def test_an_odd_row_costs_only_itself(world: World, field: str, value: object) -> None:
    await world.stop()
    kept_things(world.hass).forget()
    odd: dict[str, Any] = row(world, "odd")
    place, _, name = field.rpartition(".")
    target = odd[place] if place else odd
    if value is MISSING:
        del target[name]
    else:
        target[name] = value
    world.write(row(world, "one"), odd, row(world, "two"))
    await world.start()
    assert [wish.id for wish in world.wishes.all()] == ["one", "two"]
    world.hass.states.async_set(WASHER, "done")
    await world.pass_time(6)
    await world.pass_time(61)
    assert world.ids == ["one", "two"]
    assert list(world.path.parent.glob("home_agent.wishes.corrupt.*")), "a copy of what was left out is kept"


@pytest.mark.parametrize(("field", "value"), [
    ("when.delay", 3600), ("when.conditions", []), ("registered", {"light.lamp": "unknown-id"}), ("when.awaited", ["person.x"]),
    ("when.of", MISSING), ("when.awaited", MISSING), ("registered", MISSING), ("new_in_a_later_release", {"a": [1]}),
    ("when.wall", "2026-11-24T02:30"), ("steps", [{"effects": [{"entity_ids": 5}], "targets": ["light.lamp", "light.x"]}]),
])  # fmt: skip
async def test_a_row_of_another_release_is_read(world: World, field: str, value: object) -> None:
    await world.stop()
    kept_things(world.hass).forget()
    odd: dict[str, Any] = row(world, "odd")
    place, _, name = field.rpartition(".")
    target = odd[place] if place else odd
    if value is MISSING:
        del target[name]
    else:
        target[name] = value
    world.write(odd)
    await world.start()
    assert [wish.id for wish in world.wishes.all()] == ["odd"]
    er.async_get(world.hass).async_get_or_create("light", "test", "x", suggested_object_id="x")
    await world.restart()
    er.async_get(world.hass).async_remove("light.x")
    await world.pass_time(1)
    assert "odd" in [*world.ids, *(wish.id for wish in world.wishes.all())]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": 1, "key": "home_agent.wishes", "data": {"items": 5}}', "\0\0"]
)
async def test_a_broken_file_is_set_aside(world: World, content: str) -> None:
    await world.stop()
    kept_things(world.hass).forget()
    world.path.write_text(content)
    await world.start()
    world.put("tea")
    await world.pass_time(61)
    assert world.ids == ["tea"]


async def test_months_old_ones_are_all_told(world: World) -> None:
    for number in range(100):
        world.put(f"{number:03}", world.after(60 + number))
    await world.restart(after=timedelta(days=300))
    for _ in range(3):
        await world.settle()
    assert world.ids == [f"{number:03}" for number in range(100)]
    assert {due.reason.value for _, due in world.done} == {"missed"}


async def test_a_row_is_as_it_was_written(world: World) -> None:
    wish = Wish.from_dict(row(world, "one"))
    assert wish.when.until == NOW + timedelta(days=3)
    assert Wish.from_dict(json.loads(json.dumps(wish.as_dict()))) == wish
    assert wish.made.astimezone(dt_util.UTC) == wish.made


async def test_a_timer_that_is_paused_waits_over_a_restart(world: World) -> None:
    world.put("tea", When(left=60), kind=WishKind.TIMER)
    await world.pass_time(3600)
    await world.restart(after=timedelta(days=2))
    assert world.ids == []
    world.now_with("tea", when=world.after(60))
    await world.pass_time(61)
    assert world.ids == ["tea"]


@pytest.mark.parametrize("when", [{"left": -1}, {"left": 0}, {"left": 400 * 24 * 3600}, {"left": "60"}])
def test_a_row_without_a_moment_has_time_left(when: dict[str, Any]) -> None:
    data = When(left=60).as_dict() | when
    with pytest.raises((TypeError, ValueError)):
        When.from_dict(data)
