"""One index of all names: what stands in a text, what is called exactly so, and what is called nearly so."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
import time

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
)
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.home.names import MAX_WORDS, NameIndex
from custom_components.home_agent.home.snapshot import Home, HomeEntity, HomeSnapshot
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN


def index_of(names: Sequence[str]) -> NameIndex:
    """Return the index of lights with these names."""
    return NameIndex().changed({f"light.n{n}": (name,) for n, name in enumerate(names)})


@pytest.mark.parametrize(("names", "text", "found"), [
    (["Kitchen light", "Light"], "The kitchen light is on.", [0]),
    (["Kitchen light", "Bed light"], "Both the bed light and the kitchen light are on", [0, 1]),
    (["Front door"], "The door is locked", []), (["TV", "Tele"], "La tele y el TV", [0, 1]),
    (["Vchodové dveře"], "u vchodových dveří", [0]), (["Autotallin ovi"], "suljin autotallin oven", [0]),
    (["Etuovi"], "lukitsin etuoven", [0]), (["Garázskapu"], "becsuktam a garázskaput", [0]),
    (["Ön kapı"], "Ön kapıyı kilitledim", [0]), (["Настольная лампа"], "я включил настольную лампу", [0]),
    (["Lampa stołowa"], "włączyłem lampę stołową", [0]), (["Küchenlicht"], "Das Kuchenlicht ist an", [0]),
    (["Straßenlampe"], "die Strassenlampe ist aus", [0]), (["寝室のライト", "テレビ"], "テレビと寝室のライトを消しました", [0, 1]),
    (["前门"], "前门已锁上", [0]), (["厨房灯", "灯"], "打开厨房灯", [0]), (["مصباح المطبخ"], "المصباح: مِصْباح المطبخ مضاء", [0]),
    (["Porte d'entrée"], "La porte d’entrée est fermée", [0]), (["💡 Lamp"], "the lamp is on", [0]),
    (["💡"], "the 💡 is on", []), (["Lamp", "Lamp"], "the lamp is on", [0, 1]),
    (["Lamp 1", "Lamp 2"], "lamp 2 is on", [1]), (["Lamp"], "", []),
])  # fmt: skip
def test_names_in_a_sentence(names: list[str], text: str, found: list[int]) -> None:
    assert sorted(index_of(names).mentioned_in(text)) == [f"light.n{n}" for n in found]


@pytest.mark.parametrize(("names", "text", "found"), [
    (["Desk lamp", "Desk"], "desk LAMP", [0]), (["Desk lamp"], "desk", []), (["Tür", "Tur"], "tür", [0]),
    (["Tür"], "tur", [0]), (["Lamp", "Lamp"], "lamp", [0, 1]), (["💡"], "💡", [0]), (["厨房灯"], "厨房灯", [0]),
    (["Kid's room"], "kids room", [0]), (["TV-Gerät"], "tv gerät", [0]), (["Lamp"], "", []), (["."], ".", []),
])  # fmt: skip
def test_what_is_called_so(names: list[str], text: str, found: list[int]) -> None:
    assert index_of(names).called(text) == [f"light.n{n}" for n in found]


@pytest.mark.parametrize(("text", "best"), [
    ("light.kitchn ligt", "light.kitchen"), ("light.kichen_light", "light.kitchen"),
    ("switch.kitchen_ligth", "switch.kitchen"), ("hall_lamp", "light.e2"), ("Deckenlampe Buro", "light.e3"),
])  # fmt: skip
def test_what_is_called_nearly_so(text: str, best: str) -> None:
    index = NameIndex().changed(
        {
            "light.kitchen": ("Kitchen light",), "switch.kitchen": ("Kitchen light",),
            "light.e2": ("Lamp in the hall",), "light.e3": ("Bürodeckenlampe",), "area:kitchen": ("Kitchen",),
        }
    )  # fmt: skip
    assert index.near(text)[0] == best


def test_what_is_nothing_like_any_name_is_near_none() -> None:
    assert index_of(["Kitchen light"]).near("zzz qqq") == []


@pytest.mark.parametrize(("said", "found"), [
    ("kichen lihgts", ["light.n0"]),
    ("kitchen lights", ["light.n0"]),
    ("lights", []),
    ("kitchens light", ["light.n0"]),
    ("kitchen lamps", []),
    ("citchen lights", []),  # the first letter is right
])  # fmt: skip
def test_names_of_several_words_that_are_mistyped(said: str, found: list[str]) -> None:
    index = index_of(["Kitchen lights", "Lights"])
    assert [subject for subject, _ in index.nearly_said(said.split())] == found


def test_a_name_without_end_is_looked_at_up_to_a_bound() -> None:
    name = " ".join(f"word{n}" for n in range(MAX_WORDS + 5))
    assert index_of([name]).called(name) == []


HOUSE: Mapping[str, Sequence[str]] = {
    "light.a": ("Kitchen lamp", "Old one"), "light.b": ("Kitchen light",), "area:kitchen": ("Kitchen",),
}  # fmt: skip


def test_an_index_that_changes_is_as_if_it_were_made_anew() -> None:
    index = NameIndex().changed(HOUSE)
    for labels in (
        {**HOUSE, "light.a": ("Reading lamp",)},
        {key: names for key, names in HOUSE.items() if key != "light.a"},
        {**HOUSE, "light.c": ("Kitchen lamp",)},
        {},
        HOUSE,
    ):
        index = index.changed(labels)
        assert index == NameIndex().changed(labels)


def test_an_index_without_a_change_stays_what_it_is() -> None:
    index = NameIndex().changed(HOUSE)
    assert index.changed(dict(HOUSE)) is index


def test_an_older_index_does_not_change() -> None:
    index = NameIndex().changed(HOUSE)
    index.changed({"light.z": ("Kitchen lamp",)})
    assert index.called("kitchen lamp") == ["light.a"]


@pytest.mark.usefixtures("no_collection")
def test_the_time_for_a_text_does_not_grow_with_the_home() -> None:
    """Ten times the home may take about twice as long."""

    def took(count: int) -> float:
        labels = {f"light.e{n}": (f"Room {n % 50} lamp {n}", f"Thing {n}") for n in range(count)}
        index = NameIndex().changed(labels)
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(20):
                index.mentioned_in("I have turned on room 7 lamp 107 for you, the thing 33 and the hall")
                index.called("room 7 lamp 107")
            best = min(best, time.perf_counter() - start)
        return best

    assert took(5000) < 5 * took(500)


MANY: Mapping[str, Sequence[str]] = {f"light.e{n}": (f"Room {n % 50} lamp {n}", f"Thing {n}") for n in range(5000)}
THOUSAND_RENAMED = {**MANY, **{f"light.e{n}": (f"Ceiling light number {n}",) for n in range(1000)}}


@pytest.mark.parametrize(("before", "after"), [({}, MANY), (MANY, THOUSAND_RENAMED)], ids=["start", "thousand renamed"])
@pytest.mark.usefixtures("no_collection")
async def test_no_change_holds_the_event_loop_for_long(
    before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]
) -> None:
    """The longest time without a turn for others is a small part of the whole."""
    index = NameIndex().changed(before)

    async def share() -> float:
        start = last = time.thread_time()
        longest, changing = 0.0, asyncio.create_task(index.async_changed(after))
        while not changing.done():
            await asyncio.sleep(0)
            longest, last = max(longest, time.thread_time() - last), time.thread_time()
        return longest / (last - start)

    assert min([await share() for _ in range(3)]) < 1 / 4


# Kept up to date by what happens in the registries.


@pytest.fixture
async def home(hass: HomeAssistant) -> AsyncIterator[Home]:
    """A home with a lamp in a kitchen on the ground floor."""
    assert await async_setup_component(hass, "homeassistant", {})
    entry = MockConfigEntry(domain=DOMAIN)
    entry.add_to_hass(hass)
    home = Home(hass, entry)
    home.async_start()
    floor = fr.async_get(hass).async_create("Ground floor", aliases={"Downstairs"})
    area = ar.async_get(hass).async_create("Kitchen", aliases={"Galley"}, floor_id=floor.floor_id)
    add(hass, "lamp", "Lamp", area.id)
    yield home
    await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done()


def add(hass: HomeAssistant, key: str, name: str, area_id: str | None = None) -> str:
    """Add an exposed light."""
    registry = er.async_get(hass)
    entity_id = registry.async_get_or_create("light", "test", key, suggested_object_id=key).entity_id
    registry.async_update_entity(entity_id, name=name, area_id=area_id)
    async_expose_entity(hass, ASSISTANT, entity_id, True)
    hass.states.async_set(entity_id, "on", {"friendly_name": name})
    return entity_id


async def called(home: Home, name: str) -> list[str]:
    """Return what is called so right now."""
    return (await home.async_get()).names.called(name)


async def test_entities_areas_and_floors_by_names_and_aliases(home: Home) -> None:
    assert await called(home, "lamp") == ["light.lamp"]
    assert await called(home, "kitchen") == await called(home, "galley") == ["area:kitchen"]
    assert await called(home, "ground floor") == await called(home, "downstairs") == ["floor:ground_floor"]


async def test_an_entity_that_is_renamed(hass: HomeAssistant, home: Home) -> None:
    await home.async_get()
    er.async_get(hass).async_update_entity("light.lamp", name="Reading light")
    hass.states.async_set("light.lamp", "on", {"friendly_name": "Reading light"})
    await hass.async_block_till_done()
    assert await called(home, "reading light") == ["light.lamp"]
    assert await called(home, "lamp") == []


async def test_an_alias_that_was_taught(hass: HomeAssistant, home: Home) -> None:
    await home.async_get()
    er.async_get(hass).async_update_entity("light.lamp", aliases=["Sunny"])
    await hass.async_block_till_done()
    assert await called(home, "sunny") == ["light.lamp"]


async def test_an_entity_that_is_removed(hass: HomeAssistant, home: Home) -> None:
    await home.async_get()
    er.async_get(hass).async_remove("light.lamp")
    hass.states.async_remove("light.lamp")
    await hass.async_block_till_done()
    assert await called(home, "lamp") == []
    assert (await home.async_get()).names.near("lamp") == []


async def test_an_entity_that_is_hidden_from_assistants(hass: HomeAssistant, home: Home) -> None:
    await home.async_get()
    async_expose_entity(hass, ASSISTANT, "light.lamp", False)
    assert await called(home, "lamp") == []


async def test_an_area_that_is_renamed(hass: HomeAssistant, home: Home) -> None:
    await home.async_get()
    ar.async_get(hass).async_update("kitchen", name="Pantry")
    await hass.async_block_till_done()
    assert await called(home, "pantry") == ["area:kitchen"]
    assert await called(home, "kitchen") == []


async def test_an_area_that_is_removed(hass: HomeAssistant, home: Home) -> None:
    await home.async_get()
    ar.async_get(hass).async_delete("kitchen")
    await hass.async_block_till_done()
    assert await called(home, "kitchen") == []


async def test_a_floor_that_gets_another_alias(hass: HomeAssistant, home: Home) -> None:
    await home.async_get()
    fr.async_get(hass).async_update("ground_floor", aliases={"Basement"})
    await hass.async_block_till_done()
    assert await called(home, "basement") == ["floor:ground_floor"]
    assert await called(home, "downstairs") == []


async def test_a_floor_without_areas(hass: HomeAssistant, home: Home) -> None:
    fr.async_get(hass).async_create("Attic")
    await hass.async_block_till_done()
    assert await called(home, "attic") == ["floor:attic"]


async def test_a_device_whose_name_is_that_of_its_entity(hass: HomeAssistant, home: Home) -> None:
    entry = hass.config_entries.async_entries(DOMAIN)[0]
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=entry.entry_id, identifiers={("test", "1")}, name="Washer"
    )
    registry = er.async_get(hass)
    entity = registry.async_get_or_create(
        "switch", "test", "washer", device_id=device.id, has_entity_name=True, original_name=None
    )
    async_expose_entity(hass, ASSISTANT, entity.entity_id, True)
    hass.states.async_set(entity.entity_id, "on", {"friendly_name": "Washer"})
    assert await called(home, "washer") == [entity.entity_id]
    dr.async_get(hass).async_update_device(device.id, name_by_user="Laundry machine")
    hass.states.async_set(entity.entity_id, "on", {"friendly_name": "Laundry machine"})
    await hass.async_block_till_done()
    assert await called(home, "laundry machine") == [entity.entity_id]
    assert await called(home, "washer") == []


async def test_namesakes_in_two_areas(hass: HomeAssistant, home: Home) -> None:
    other = ar.async_get(hass).async_create("Office")
    add(hass, "second", "Lamp", other.id)
    await hass.async_block_till_done()
    assert await called(home, "lamp") == ["light.lamp", "light.second"]
    snapshot = await home.async_get()
    assert snapshot.by_area == {"kitchen": ["light.lamp"], "office": ["light.second"]}


async def test_names_that_did_not_change_are_not_read_again(hass: HomeAssistant, home: Home) -> None:
    before = (await home.async_get()).names
    add(hass, "new", "New one")
    await hass.async_block_till_done()
    after = (await home.async_get()).names
    assert after is not before
    assert after.called("new one") == ["light.new"]
    home.async_invalidate()
    assert (await home.async_get()).names is after


def test_who_may_see_a_part_of_the_home_finds_nothing_beyond_it() -> None:
    lamp, lock = HomeEntity("light.a", ("Kitchen lamp",), None), HomeEntity("lock.b", ("Back door lock",), None)
    whole = HomeSnapshot({"light.a": lamp, "lock.b": lock})
    part = HomeSnapshot({"light.a": lamp}, {}, whole.names)
    assert whole.named_in("the back door lock") == ["lock.b"]
    assert part.named_in("the back door lock") == []
    assert whole.may_name_others("the back door lock", ["light.a"])
    assert not part.may_name_others("the back door lock", ["light.a"])
