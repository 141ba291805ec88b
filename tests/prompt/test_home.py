"""The home is read once, and again when something about it changes."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
import itertools

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr, label_registry as lr
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed

from custom_components.home_agent.home.snapshot import REBUILD_DELAY, Home, HomeSnapshot
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN

from .conftest import AddEntity


@pytest.fixture
async def home(hass: HomeAssistant) -> Home:
    """A home that listens; its entry is unloaded with the test."""
    entry = MockConfigEntry(domain=DOMAIN)
    entry.add_to_hass(hass)
    home = Home(hass, entry)
    home.async_start()
    entry.async_on_unload(lambda: None)
    return home


async def test_only_exposed_entities_with_a_state(hass: HomeAssistant, home: Home, add_entity: AddEntity) -> None:
    add_entity("light.desk", name="Desk lamp", area="Office")
    add_entity("light.secret", exposed=False)
    entity = (await home.async_get()).entities["light.desk"]
    assert (entity.names, entity.domain) == (("Desk lamp",), "light")
    assert list((await home.async_get()).entities) == ["light.desk"]
    home._stop_timer()


async def test_same_object_while_only_states_change(hass: HomeAssistant, home: Home, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    before = await home.async_get()
    hass.states.async_set("light.desk", "off")
    await hass.async_block_till_done()
    assert await home.async_get() is before
    home._stop_timer()


def rename(hass: HomeAssistant) -> None:
    er.async_get(hass).async_update_entity("light.desk", name="Work light")


def add_alias(hass: HomeAssistant) -> None:
    er.async_get(hass).async_update_entity("light.desk", aliases=[er.COMPUTED_NAME, "Bench"])


def hide(hass: HomeAssistant) -> None:
    async_expose_entity(hass, ASSISTANT, "light.desk", False)


def vanish(hass: HomeAssistant) -> None:
    hass.states.async_remove("light.desk")


def add_floor(hass: HomeAssistant) -> None:
    floor = fr.async_get(hass).async_create("Upstairs", level=1)
    ar.async_get(hass).async_update(ar.async_get(hass).async_get_area_by_name("Office").id, floor_id=floor.floor_id)  # type: ignore[union-attr]


@pytest.mark.parametrize("change", [rename, add_alias, hide, vanish, add_floor])
async def test_read_again_after_a_change(
    hass: HomeAssistant, home: Home, add_entity: AddEntity, change: Callable[[HomeAssistant], None]
) -> None:
    add_entity("light.desk", name="Desk lamp", area="Office")
    before = await home.async_get()
    change(hass)
    await hass.async_block_till_done()
    assert await home.async_get() != before
    home._stop_timer()


async def test_change_while_it_is_read_is_not_lost(hass: HomeAssistant, home: Home, add_entity: AddEntity) -> None:
    for number in range(3000):
        hass.states.async_set(f"light.l{number}", "on")
    reading = asyncio.ensure_future(home.async_get())
    await asyncio.sleep(0)
    add_entity("light.late")
    assert "light.late" in (await reading).entities
    home._stop_timer()


async def test_endless_changes_keep_nothing_waiting(hass: HomeAssistant, home: Home, add_entity: AddEntity) -> None:
    add_entity("light.desk", name="Desk lamp")
    for number in range(3000):
        hass.states.async_set(f"light.l{number}", "on")

    async def rename_for_ever() -> None:
        for number in itertools.count():
            er.async_get(hass).async_update_entity("light.desk", name=f"Lamp {number}")
            await asyncio.sleep(0)

    renaming = asyncio.ensure_future(rename_for_ever())
    async with asyncio.timeout(30):
        snapshot = await home.async_get()
        assert snapshot.entities["light.desk"].names[0].startswith("Lamp")
        assert await home.async_get() is snapshot
        async_expose_entity(hass, ASSISTANT, "light.l7", False)
        assert "light.l7" not in (await home.async_get()).entities
    renaming.cancel()
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=REBUILD_DELAY + 1))
    await hass.async_block_till_done(wait_background_tasks=True)
    last = er.async_get(hass).async_get("light.desk")
    assert last is not None
    assert (await home.async_get()).entities["light.desk"].names == (last.name,)
    home._stop_timer()


async def test_hidden_while_it_is_read_is_not_told(hass: HomeAssistant, home: Home, add_entity: AddEntity) -> None:
    for number in range(3000):
        hass.states.async_set(f"light.l{number:04}", "on")
    hidden = set()

    async def hide_one_after_the_other() -> None:
        for number in range(100):
            async_expose_entity(hass, ASSISTANT, f"light.l{number:04}", False)
            hidden.add(f"light.l{number:04}")
            await asyncio.sleep(0)

    hiding = asyncio.ensure_future(hide_one_after_the_other())
    snapshot = await home.async_get()
    assert hidden
    assert hidden.isdisjoint(snapshot.entities)
    await hiding
    assert hidden.isdisjoint((await home.async_get()).entities)
    home._stop_timer()


async def test_what_people_control_comes_first(hass: HomeAssistant, home: Home, add_entity: AddEntity) -> None:
    for entity_id in ("sensor.a", "update.b", "switch.c", "light.d"):
        add_entity(entity_id)
    assert list((await home.async_get()).entities) == ["light.d", "switch.c", "sensor.a", "update.b"]
    home._stop_timer()


def label_entity(hass: HomeAssistant) -> None:
    er.async_get(hass).async_update_entity("light.desk", labels={"night"})


def create_label(hass: HomeAssistant) -> None:
    lr.async_get(hass).async_create("Night")


def change_category(hass: HomeAssistant) -> None:
    er.async_get(hass).async_update_entity("light.desk", entity_category=EntityCategory.DIAGNOSTIC)


def change_features(hass: HomeAssistant) -> None:
    er.async_get(hass).async_update_entity("light.desk", supported_features=4)


@pytest.mark.parametrize("change", [rename, label_entity, create_label, change_category, change_features])
async def test_listeners_hear_of_every_new_snapshot(
    hass: HomeAssistant, home: Home, add_entity: AddEntity, change: Callable[[HomeAssistant], None]
) -> None:
    add_entity("light.desk", name="Desk lamp", area="Office")
    heard: list[HomeSnapshot] = []
    unsubscribe = home.async_listen(heard.append)
    await home.async_get()
    change(hass)
    await hass.async_block_till_done()
    assert [await home.async_get()] == heard[1:]
    unsubscribe()
    home.async_invalidate()
    await home.async_get()
    assert len(heard) == 2
    home._stop_timer()
