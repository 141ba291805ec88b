"""Wishes of entities that are renamed, removed or replaced, and of agents that are deleted."""

from dataclasses import replace

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.home_agent.wishes.when import When
from custom_components.home_agent.wishes.wish import Wish

from .conftest import World, becomes


@pytest.fixture
def lamps(hass: HomeAssistant) -> list[str]:
    registry = er.async_get(hass)
    made = [registry.async_get_or_create("light", "test", name, suggested_object_id=name) for name in ("one", "two")]
    for entry in made:
        hass.states.async_set(entry.entity_id, "off")
    return [entry.entity_id for entry in made]


def only(world: World) -> Wish:
    [wish] = world.wishes.all()
    return wish


async def rename(world: World, old: str, new: str) -> None:
    er.async_get(world.hass).async_update_entity(old, new_entity_id=new)
    world.hass.states.async_remove(old)
    world.hass.states.async_set(new, "off")
    await world.hass.async_block_till_done()


async def test_registry_ids_are_noted(world: World, lamps: list[str]) -> None:
    world.put("tell", becomes(lamps[0], "on"), steps=(world.step(lamps[1]),))
    registry = er.async_get(world.hass)
    assert only(world).registered == {item: registry.entities[item].id for item in lamps}


async def test_a_renamed_entity_keeps_its_wishes(world: World, lamps: list[str]) -> None:
    world.put("tell", becomes(lamps[0], "on"), steps=(world.step(lamps[0]),), satellite_id=lamps[1])
    await rename(world, lamps[0], "light.new")
    await rename(world, lamps[1], "light.other")
    wish = only(world)
    assert wish.when.entity_ids == wish.targets == ("light.new",)
    assert wish.steps[0].effects[0]["entity_ids"] == ["light.new"]
    assert wish.satellite_id == "light.other"
    assert {*wish.registered} == {"light.new", "light.other"}
    world.hass.states.async_set("light.new", "on")
    await world.settle()
    assert world.ids == ["tell"]


async def test_one_that_was_renamed_while_nothing_ran(world: World, lamps: list[str]) -> None:
    world.put("tell", becomes(lamps[0], "on"))
    await world.stop()
    await rename(world, lamps[0], "light.new")
    await world.start()
    assert only(world).when.entity_ids == ("light.new",)
    world.hass.states.async_set("light.new", "on")
    await world.settle()
    assert world.ids == ["tell"]


async def test_two_that_changed_their_names_for_each_others(world: World, lamps: list[str]) -> None:
    world.put("tell", becomes(lamps[0], "on"), steps=(world.step(lamps[1]),))
    await world.stop()
    await rename(world, lamps[0], "light.aside")
    await rename(world, lamps[1], lamps[0])
    await rename(world, "light.aside", lamps[1])
    await world.start()
    assert only(world).when.entity_ids == (lamps[1],)
    assert only(world).targets == (lamps[0],)


async def test_one_whose_user_is_asked_follows_as_well(world: World, lamps: list[str]) -> None:
    world.asks = {"open"}
    world.put("open", steps=(world.step(lamps[0]),))
    await world.pass_time(61)
    await rename(world, lamps[0], "light.new")
    assert only(world).targets == ("light.new",)


@pytest.mark.parametrize("part", ["event", "condition", "target"])
async def test_a_removed_entity_ends_its_wishes(world: World, lamps: list[str], part: str) -> None:
    watch = becomes(lamps[0], "on").event
    assert watch is not None
    when = {"event": becomes(lamps[0], "on"), "condition": replace(world.after(600), conditions=(watch,))}.get(
        part, world.after(600)
    )
    world.put("tell", when, steps=(world.step(lamps[0]),) if part == "target" else ())
    world.put("other", becomes(lamps[1], "on"))
    await world.settle()
    assert world.ids == []
    er.async_get(world.hass).async_remove(lamps[0])
    await world.settle()
    assert world.ids == ["tell"]
    assert (world.due("tell").reason, world.due("tell").of) == ("gone", (lamps[0],))
    assert only(world).id == "other"


async def test_what_is_left_is_still_done(world: World, lamps: list[str]) -> None:
    world.put("off", steps=(world.step(*lamps),))
    world.put("any", becomes(lamps[0], "on", more=(lamps[1],)))
    world.put("all", becomes(lamps[0], "on", more=(lamps[1],), every=True))
    er.async_get(world.hass).async_remove(lamps[0])
    await world.settle()
    assert world.reasons == {"all": "gone"}
    left = {wish.id: wish for wish in world.wishes.all()}
    assert left["off"].targets == (lamps[1],)
    assert left["any"].when.entity_ids == (lamps[1],)
    assert [{*wish.registered} for wish in left.values()] == [{lamps[1]}, {lamps[1]}]
    await world.pass_time(61)
    assert world.reasons == {"all": "gone", "off": "time"}


async def test_of_several_steps_those_are_done_that_are_left(world: World, lamps: list[str]) -> None:
    first, second = world.step(lamps[0]), world.step(lamps[1])
    world.put("off", steps=(first, second))
    await world.stop()
    er.async_get(world.hass).async_remove(lamps[0])
    await world.start()
    assert only(world).steps == (second,)


async def test_without_its_satellite_it_is_still_done(world: World, lamps: list[str]) -> None:
    world.put("off", steps=(world.step(lamps[0]),), satellite_id=lamps[1])
    er.async_get(world.hass).async_remove(lamps[1])
    assert only(world).satellite_id is None
    await world.pass_time(61)
    assert world.reasons == {"off": "time"}


async def test_one_that_was_removed_while_nothing_ran(world: World, lamps: list[str]) -> None:
    world.put("tell", becomes(lamps[0], "on"))
    await world.stop()
    er.async_get(world.hass).async_remove(lamps[0])
    await world.start()
    await world.settle()
    assert world.reasons == {"tell": "gone"}


async def test_another_entity_with_the_same_id_is_not_the_one(world: World, lamps: list[str]) -> None:
    world.put("tell", becomes(lamps[0], "on"))
    await world.stop()
    registry = er.async_get(world.hass)
    registry.async_remove(lamps[0])
    world.hass.states.async_remove(lamps[0])
    assert registry.async_get_or_create("light", "other", "x", suggested_object_id="one").entity_id == lamps[0]
    await world.start()
    await world.settle()
    assert world.reasons == {"tell": "gone"}


async def test_the_wishes_of_a_deleted_agent_are_over(world: World) -> None:
    world.put("tell", world.after(600))
    world.agents.add("second")
    world.put("other", world.after(600), agent_id="second")
    world.agents.remove("agent")
    assert world.waiting is not None
    world.waiting.async_look_at_agents()
    await world.settle()
    assert (world.due("tell").reason, world.due("tell").of) == ("gone", ())
    assert only(world).id == "other"


async def test_an_agent_that_was_deleted_while_nothing_ran(world: World) -> None:
    world.put("tell", When(at=world.after(600).at))
    await world.stop()
    world.agents.clear()
    await world.start()
    await world.settle()
    assert world.reasons == {"tell": "gone"}
