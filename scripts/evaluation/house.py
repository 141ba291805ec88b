"""A home of the folder in the registries of a Home Assistant, so that the integration reads it as it reads every home."""

from collections.abc import AsyncIterator, Container, Mapping
from contextlib import asynccontextmanager
from typing import Any

from homeassistant.components.homeassistant.const import DATA_EXPOSED_ENTITIES
from homeassistant.components.homeassistant.exposed_entities import ExposedEntities
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
)
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_test_home_assistant

from custom_components.home_agent.home.snapshot import Home, HomeSnapshot
from custom_components.home_agent.support.const import ASSISTANT

from . import dataset


@asynccontextmanager
async def async_living_in(home: dataset.Home) -> AsyncIterator[tuple[HomeAssistant, HomeSnapshot, Mapping[str, str]]]:
    """Return a Home Assistant with this home, what the integration sees of it, and its area ids by the home's own."""
    async with async_test_home_assistant() as hass:
        exposed = hass.data[DATA_EXPOSED_ENTITIES] = ExposedEntities(hass)
        await exposed.async_initialize()
        entry = MockConfigEntry(domain="evaluation")
        entry.add_to_hass(hass)
        areas = build(hass, entry, home)
        ours = MockConfigEntry(domain="home_agent")
        ours.add_to_hass(hass)
        try:
            yield hass, await Home(hass, ours).async_get(), areas
        finally:
            await hass.async_stop(force=True)


def build(
    hass: HomeAssistant, entry: MockConfigEntry, home: dataset.Home, *, living: Container[str] = ()
) -> Mapping[str, str]:
    """Put a home into the registries; return its area ids by the home's own. Entities of `living` domains get no state."""
    floors = {row["id"]: _floor(hass, row) for row in home["floors"]}
    areas = {row["id"]: _area(hass, row, floors) for row in home["areas"]}
    devices = {row["id"]: _device(hass, entry, row, areas) for row in home["devices"]}
    for row in home["entities"]:
        _register(hass, entry, row, areas, devices)
        if row["domain"] not in living:
            put_state(hass, row)
    return areas


def _floor(hass: HomeAssistant, row: Mapping[str, Any]) -> str:
    registry = fr.async_get(hass)
    if (known := registry.async_get_floor_by_name(row["name"])) is not None:
        return known.floor_id
    return registry.async_create(row["name"], aliases=set(row.get("aliases") or ())).floor_id


def _area(hass: HomeAssistant, row: Mapping[str, Any], floors: Mapping[str, str]) -> str:
    registry = ar.async_get(hass)
    if (known := registry.async_get_area_by_name(row["name"])) is not None:
        return known.id
    aliases = set(row.get("aliases") or ())
    return registry.async_create(row["name"], aliases=aliases, floor_id=floors.get(row.get("floor") or "")).id


def _device(
    hass: HomeAssistant, entry: MockConfigEntry, row: Mapping[str, Any], areas: Mapping[str, str]
) -> dr.DeviceEntry:
    registry = dr.async_get(hass)
    device = registry.async_get_or_create(
        config_entry_id=entry.entry_id,
        identifiers={("evaluation", row["id"])},
        name=row["name"],
        manufacturer=row.get("manufacturer"),
        model=row.get("model"),
    )
    return registry.async_update_device(device.id, area_id=areas.get(row.get("area") or "")) or device


def _register(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    row: Mapping[str, Any],
    areas: Mapping[str, str],
    devices: Mapping[str, dr.DeviceEntry],
) -> None:
    """Register an entity, exposed; its names are the folder's, not composed of those of device and area."""
    registry = er.async_get(hass)
    entity_id = row["entity_id"]
    device = devices.get(row.get("device") or "")
    known = registry.async_get_or_create(
        entity_id.partition(".")[0],
        "evaluation",
        entity_id,
        config_entry=entry,
        device_id=device.id if device else None,
        original_name=row["name"],
        get_initial_options=lambda: {ASSISTANT: {"should_expose": True}},
    )
    if known.entity_id != entity_id:
        registry.async_update_entity(known.entity_id, new_entity_id=entity_id)
    registry.async_update_entity(entity_id, aliases=[row["name"], *row["aliases"]])
    area_id = areas.get(row.get("area") or "")
    if device is None or device.area_id != area_id:
        registry.async_update_entity(entity_id, name=row["name"], area_id=area_id)


def put_state(hass: HomeAssistant, row: Mapping[str, Any]) -> None:
    """Set the state of an entity that nothing but the state machine knows."""
    entity_id, attributes = row["entity_id"], {**row["attributes"], "friendly_name": row["name"]}
    if row["device_class"]:
        attributes["device_class"] = row["device_class"]
    try:
        hass.states.async_set(entity_id, row["state"], attributes)
    except HomeAssistantError:  # a state that Home Assistant refuses: what is looked for is not the state
        hass.states.async_set(entity_id, "unknown", attributes)
