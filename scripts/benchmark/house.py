"""A house of any size: areas of about twelve entities, with registries, names, states, and services that change them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import random
from types import MappingProxyType
from typing import Any

from homeassistant.components.homeassistant.const import DATA_EXPOSED_ENTITIES
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, ServiceCall, callback
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
)

ROOMS = (
    "Living Room", "Kitchen", "Bedroom", "Bathroom", "Office", "Hallway", "Dining Room", "Guest Room", "Nursery", "Garage",
    "Laundry", "Pantry", "Library", "Workshop", "Attic", "Cellar", "Terrace", "Garden", "Sauna", "Studio",
)  # fmt: skip
FLOORS = ("Ground Floor", "Upper Floor", "Basement")
NEEDLE = "13.7"
"""A state that no other entity has: where it stands in a request, the model need not ask for it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One entity of an area."""

    domain: str
    device: str
    """Name of its device, behind the name of the area."""
    name: str | None
    """Name of the entity, behind that of the device; None: the entity is the device."""
    states: tuple[str, ...]
    attributes: Mapping[str, Any]


def _sensor(device: str, name: str, unit: str, *states: str) -> Kind:
    attributes = {"unit_of_measurement": unit, "device_class": name.lower(), "state_class": "measurement"}
    return Kind("sensor", device, name, states, attributes)


_LIGHT = {
    "supported_color_modes": ["color_temp"],
    "color_mode": "color_temp",
    "brightness": 180,
    "supported_features": 40,
}
_CLIMATE = {
    "hvac_modes": ["off", "heat", "auto"], "min_temp": 7, "max_temp": 30, "temperature": 20.5, "current_temperature": 20.1,
    "hvac_action": "idle", "supported_features": 385,
}  # fmt: skip
_PLAYER = {"volume_level": 0.3, "media_title": "Evening Radio", "supported_features": 152461}

AREA = (
    Kind("light", "ceiling light", None, ("on", "off"), _LIGHT),
    _sensor("climate", "Temperature", "°C", "19.5", "20.1", "21.2", "22.4", "18.9"),
    Kind("binary_sensor", "motion detector", None, ("off", "on"), {"device_class": "motion"}),
    Kind("climate", "thermostat", None, ("heat", "auto", "off"), _CLIMATE),
    Kind("switch", "socket", None, ("on", "off"), {"device_class": "outlet"}),
    _sensor("socket", "Power", "W", "0", "45", "118", "860", "1450"),
    Kind("cover", "blind", None, ("open", "closed"), {"current_position": 60, "device_class": "blind", "supported_features": 15}),
    _sensor("climate", "Humidity", "%", "41", "48", "52", "57", "63"),
    Kind("light", "reading lamp", None, ("off", "on"), {**_LIGHT, "supported_features": 44}),
    Kind("media_player", "speaker", None, ("idle", "playing", "paused"), _PLAYER),
    Kind("binary_sensor", "window", None, ("off", "on"), {"device_class": "window"}),
    Kind("fan", "fan", None, ("off", "on"), {"percentage": 33, "percentage_step": 33.3, "supported_features": 49}),
)  # fmt: skip

# Six things that change between two turns: one of each of these kinds, in another area each time.
CHANGING = (0, 1, 2, 4, 5, 7)
# Eleven that change between two conversations; with the thermometer that is asked about four of twelve are measurements.
OVER_TIME = (0, 5, 1, 2, 4, 6, 7, 8, 9, 10, 11)

SERVICES = {
    "light": {"turn_on": "on", "turn_off": "off"},
    "switch": {"turn_on": "on", "turn_off": "off"},
    "fan": {"turn_on": "on", "turn_off": "off"},
    "cover": {"open_cover": "open", "close_cover": "closed"},
}


def area_name(number: int) -> str:
    """Return the name of the area with this number: rooms of one house first, then those of its apartments."""
    apartment, room = divmod(number, len(ROOMS))
    return ROOMS[room] if apartment == 0 else f"Apartment {apartment} {ROOMS[room]}"


class House:
    """The entities of the house, and what happens to them."""

    def __init__(self, hass: HomeAssistant, size: int) -> None:
        """Keep the size, in exposed entities."""
        self.hass = hass
        self.size = size
        self.entities: list[tuple[Kind, str]] = []
        self._random = random.Random(size)
        self._round = 0

    @callback
    def build(self) -> None:
        """Fill the registries and the state machine."""
        self.hass.data[DATA_EXPOSED_ENTITIES].async_set_expose_new_entities("conversation", False)
        entry = _config_entry()
        self.hass.config_entries._entries[entry.entry_id] = entry  # noqa: SLF001 - the house needs no integration
        floors = [fr.async_get(self.hass).async_create(name) for name in FLOORS]
        for number in range(-(-self.size // len(AREA))):
            area = ar.async_get(self.hass).async_create(
                area_name(number), floor_id=floors[number % len(floors)].floor_id
            )
            for kind in AREA[: self.size - len(self.entities)]:
                self._add(entry, area, kind)
        for domain, services in SERVICES.items():
            for service, state in services.items():
                self.hass.services.async_register(domain, service, self._handler(state))

    def _add(self, entry: ConfigEntry, area: ar.AreaEntry, kind: Kind) -> None:
        name = f"{area.name} {kind.device}"
        device = dr.async_get(self.hass).async_get_or_create(
            config_entry_id=entry.entry_id, identifiers={("bench", name)}, name=name, manufacturer="Bench"
        )
        if device.area_id is None:
            dr.async_get(self.hass).async_update_device(device.id, area_id=area.id)
        friendly = f"{name} {kind.name}" if kind.name else name
        entity = er.async_get(self.hass).async_get_or_create(
            kind.domain,
            "bench",
            friendly,
            suggested_object_id=friendly,
            config_entry=entry,
            device_id=device.id,
            has_entity_name=True,
            original_name=kind.name,
            original_device_class=kind.attributes.get("device_class"),
            supported_features=kind.attributes.get("supported_features", 0),
            capabilities={
                key: kind.attributes[key] for key in ("supported_color_modes", "hvac_modes") if key in kind.attributes
            },
            unit_of_measurement=kind.attributes.get("unit_of_measurement"),
            get_initial_options=lambda: {"conversation": {"should_expose": True}},
        )
        state = self._random.choice(kind.states)
        self.hass.states.async_set(entity.entity_id, state, {**kind.attributes, "friendly_name": friendly})
        self.entities.append((kind, entity.entity_id))

    def _handler(self, state: str) -> Any:
        @callback
        def handle(call: ServiceCall) -> None:
            ids = call.data["entity_id"]
            for entity_id in [ids] if isinstance(ids, str) else ids:
                self._set(entity_id, state, call)

        return handle

    def _set(self, entity_id: str, state: str, call: ServiceCall | None = None) -> None:
        old = self.hass.states.get(entity_id)
        assert old
        self.hass.states.async_set(entity_id, state, old.attributes, context=call.context if call else None)

    @callback
    def change(self, kinds: Iterable[int] = CHANGING) -> None:
        """Change one state of each of these kinds; without them six."""
        self._round += 1
        areas = self.size // len(AREA)
        for index in kinds:
            kind, entity_id = self.entities[(self._round * 7 + index) % areas * len(AREA) + index]
            old = self.hass.states.get(entity_id)
            assert old
            self._set(entity_id, self._random.choice([state for state in kind.states if state != old.state]))

    def lamp(self) -> tuple[str, str]:
        """Return name and entity id of a light that is off now."""
        entity_id = self.entities[0][1]
        self._set(entity_id, "off")
        return f"{area_name(0)} {AREA[0].device}", entity_id

    def dark_lamp(self, number: int) -> tuple[str, str]:
        """Return name and entity id of a light that is off by itself; another area with another number."""
        areas = self.size // len(AREA)
        for area in range(number, number + areas):
            for index in (0, 8):
                entity_id = self.entities[area % areas * len(AREA) + index][1]
                if (state := self.hass.states.get(entity_id)) and state.state == "off":
                    return f"{area_name(area % areas)} {AREA[index].device}", entity_id
        return self.lamp()

    def still_fan(self, number: int) -> str:
        """Return the name of a fan, which is off now; another area with another number."""
        area = number % (self.size // len(AREA))
        self._set(self.entities[area * len(AREA) + len(AREA) - 1][1], "off")
        return f"{area_name(area)} {AREA[-1].device}"

    def hide_needle(self, needle: str = NEEDLE, offset: int = 0) -> tuple[str, str]:
        """Give the thermometer of an area in the middle of the house a state of its own; return area and entity id."""
        areas = self.size // len(AREA)
        number = (areas // 2 + offset) % areas
        entity_id = self.entities[number * len(AREA) + 1][1]
        self._set(entity_id, needle)
        return area_name(number), entity_id


def _config_entry() -> ConfigEntry:
    return ConfigEntry(
        data={},
        discovery_keys=MappingProxyType({}),
        domain="bench",
        minor_version=1,
        options={},
        source="user",
        subentries_data=(),
        title="House",
        unique_id=None,
        version=1,
    )
