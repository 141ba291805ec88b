"""The index of the home: built behind set-up, current after every change, and never in the way of an answer."""

from collections.abc import Callable

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EntityCategory
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    label_registry as lr,
)
import pytest

from custom_components.home_agent.home.snapshot import HomeSnapshot
from custom_components.home_agent.search import index
from custom_components.home_agent.search.index import HomeIndex
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.support.errors import RetrievalError
from tests.house import build_house, set_up


@pytest.fixture
async def finder(hass: HomeAssistant) -> HomeIndex:
    await build_house(hass)
    entry = await set_up(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    index: HomeIndex = entry.runtime_data.finder
    return index


async def found(finder: HomeIndex, text: str, **fields: object) -> list[str]:
    return [item.entity_id for item in await finder.async_find(Query(text=text, **fields))]  # type: ignore[arg-type]


async def test_finds_what_a_request_names_among_what_is_exposed(finder: HomeIndex) -> None:
    assert (await found(finder, "turn on the bed light"))[0] == "light.bed_light"
    assert "light.office_rgbw_lights" not in await found(finder, "office rgbw lights")


async def test_is_built_in_the_background(hass: HomeAssistant) -> None:
    await build_house(hass)
    hass.set_state(CoreState.starting)
    entry = await set_up(hass)
    assert not entry.runtime_data.finder.report.ready
    hass.set_state(CoreState.running)
    hass.bus.async_fire("homeassistant_started")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert entry.runtime_data.finder.report.ready
    assert entry.runtime_data.finder.report.entities == 6


async def test_search_before_home_assistant_has_started(hass: HomeAssistant) -> None:
    await build_house(hass)
    hass.set_state(CoreState.starting)
    entry = await set_up(hass)
    assert (await found(entry.runtime_data.finder, "bed light"))[0] == "light.bed_light"


def rename(hass: HomeAssistant) -> None:
    er.async_get(hass).async_update_entity("switch.decorative_lights", name="Zeppelin")


def alias(hass: HomeAssistant) -> None:
    er.async_get(hass).async_update_entity("switch.decorative_lights", aliases=[er.COMPUTED_NAME, "Zeppelin"])


def name_device(hass: HomeAssistant) -> None:
    dr.async_get(hass).async_update_device(device_of(hass, "switch.decorative_lights"), name_by_user="Zeppelin")


def device_of(hass: HomeAssistant, entity_id: str) -> str:
    entry = er.async_get(hass).async_get(entity_id)
    assert entry
    assert entry.device_id
    return entry.device_id


def name_model(hass: HomeAssistant) -> None:
    dr.async_get(hass).async_update_device(device_of(hass, "switch.decorative_lights"), model="Zeppelin 4")


def name_maker(hass: HomeAssistant) -> None:
    dr.async_get(hass).async_update_device(device_of(hass, "switch.decorative_lights"), manufacturer="Zeppelin")


def label(hass: HomeAssistant) -> None:
    created = lr.async_get(hass).async_create("Zeppelin")
    er.async_get(hass).async_update_entity("switch.decorative_lights", labels={created.label_id})


@pytest.mark.parametrize("change", [rename, alias, name_device, name_model, name_maker, label])
async def test_change_is_found(hass: HomeAssistant, finder: HomeIndex, change: Callable[[HomeAssistant], None]) -> None:
    assert not await found(finder, "zeppelin")
    change(hass)
    await hass.async_block_till_done()
    assert (await found(finder, "zeppelin"))[0] == "switch.decorative_lights"


async def test_a_device_setting_comes_after_what_the_device_is_for(hass: HomeAssistant, finder: HomeIndex) -> None:
    first, second = (await found(finder, "lights in the bedroom"))[:2]
    er.async_get(hass).async_update_entity(first, entity_category=EntityCategory.CONFIG)
    await hass.async_block_till_done()
    assert (await found(finder, "lights in the bedroom"))[:2] == [second, first]


async def test_one_entity_is_indexed_without_reading_the_home(hass: HomeAssistant, finder: HomeIndex) -> None:
    hass.states.async_set("light.unregistered", "on", {"friendly_name": "Old name"})
    async_expose_entity(hass, ASSISTANT, "light.unregistered", True)
    await finder.async_reindex()
    entry = hass.config_entries.async_entries("home_agent")[0]
    heard: list[HomeSnapshot] = []
    entry.async_on_unload(entry.runtime_data.home.async_listen(heard.append))
    before = dict(finder._documents)
    hass.states.async_set(
        "light.unregistered", "on", {"friendly_name": "Zeppelin"}
    )  # by no registry, and so by no event
    document = await finder.async_index_entity("light.unregistered")
    assert document is not None
    assert document.names == ("Zeppelin",)
    assert heard == []
    same = [key for key, item in finder._documents.items() if before[key] is item]
    assert sorted(same) == sorted(before.keys() - {"light.unregistered"})
    assert (await found(finder, "zeppelin"))[0] == "light.unregistered"
    home: HomeSnapshot = await entry.runtime_data.home.async_get()
    assert home.entities["light.unregistered"].names == ("Zeppelin",)
    assert await finder.async_index_entity("light.office_rgbw_lights") is None


async def test_a_renamed_area_is_searchable(hass: HomeAssistant, finder: HomeIndex) -> None:
    area = ar.async_get(hass).async_get_area_by_name("Bedroom")
    assert area
    ar.async_get(hass).async_update(area.id, name="Zeppelin")
    await hass.async_block_till_done()
    assert set((await found(finder, "lights in the zeppelin"))[:2]) == {"light.bed_light", "light.ceiling_lights"}


@pytest.mark.parametrize("remove", [True, False], ids=["removed", "no longer exposed"])
async def test_what_is_gone_is_never_found(hass: HomeAssistant, finder: HomeIndex, remove: bool) -> None:
    if remove:
        er.async_get(hass).async_remove("switch.decorative_lights")
    else:
        async_expose_entity(hass, ASSISTANT, "switch.decorative_lights", False)
    await hass.async_block_till_done()
    assert "switch.decorative_lights" not in await found(finder, "decorative lights")
    assert finder.report.entities == 5


async def test_states_change_nothing(hass: HomeAssistant, finder: HomeIndex) -> None:
    await found(finder, "bed light")
    entry = hass.config_entries.async_entries("home_agent")[0]
    heard: list[HomeSnapshot] = []
    entry.async_on_unload(entry.runtime_data.home.async_listen(heard.append))
    for brightness in range(50):
        hass.states.async_set("light.bed_light", "on", {"brightness": brightness})
    await hass.async_block_till_done(wait_background_tasks=True)
    await found(finder, "bed light")
    assert heard == []


async def test_only_what_is_allowed_is_found(finder: HomeIndex) -> None:
    lights = await found(finder, "light", allowed=lambda entity_id: entity_id != "light.bed_light")
    assert "light.ceiling_lights" in lights
    assert "light.bed_light" not in lights


async def test_ten_thousand_entities(hass: HomeAssistant, finder: HomeIndex) -> None:
    registry = er.async_get(hass)
    for number in range(10_000):
        entity = registry.async_get_or_create("sensor", "test", f"s{number}", suggested_object_id=f"s{number}")
        hass.states.async_set(entity.entity_id, "1", {"friendly_name": f"Probe {number} Halle {number % 50}"})
        async_expose_entity(hass, ASSISTANT, entity.entity_id, True)
    assert (await finder.async_reindex()).added == 10_000
    assert (await found(finder, "probe 4711"))[0] == "sensor.s4711"


async def test_reindex_counts(hass: HomeAssistant, finder: HomeIndex) -> None:
    er.async_get(hass).async_update_entity("light.bed_light", name="Reading lamp")
    async_expose_entity(hass, ASSISTANT, "lock.front_door", False)
    async_expose_entity(hass, ASSISTANT, "light.office_rgbw_lights", True)
    counts = await finder.async_reindex()
    assert (counts.added, counts.updated, counts.removed, counts.unchanged) == (1, 1, 1, 4)
    counts = await finder.async_reindex(anew=True)
    assert (counts.added, counts.updated, counts.removed, counts.unchanged) == (0, 0, 0, 6)


async def test_is_it_cold_in_the_bedroom(hass: HomeAssistant, finder: HomeIndex) -> None:
    for area in ("Bedroom", "Kitchen"):
        entry = er.async_get(hass).async_get_or_create("sensor", "test", area, suggested_object_id=f"{area}_climate")
        found_area = ar.async_get(hass).async_get_area_by_name(area)
        assert found_area
        er.async_get(hass).async_update_entity(entry.entity_id, area_id=found_area.id)
        hass.states.async_set(entry.entity_id, "17.5", {"device_class": "temperature", "unit_of_measurement": "°C"})
        async_expose_entity(hass, ASSISTANT, entry.entity_id, True)
    assert (await found(finder, "Is it cold in the bedroom?"))[0] == "sensor.bedroom_climate"


async def test_without_numpy_what_is_named_is_found(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def missing(hass: HomeAssistant) -> None:
        raise RetrievalError("numpy_missing", detail="RequirementsNotFound")

    monkeypatch.setattr(index, "async_load_numpy", missing)
    await build_house(hass)
    entry = await set_up(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    er.async_get(hass).async_update_entity("light.bed_light", name="Zeppelin")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert await found(entry.runtime_data.finder, "turn on the bed light zeppelin") == ["light.bed_light"]
    assert caplog.text.count("The home cannot be indexed") == 1
