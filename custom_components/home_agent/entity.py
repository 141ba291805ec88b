"""Base of this integration's entities: one service device per endpoint and per profile."""

from collections.abc import Callable, Mapping, Sequence
from typing import override

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.device_registry import DeviceEntryType, DeviceInfo
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.entity import Entity
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.util.signal_type import SignalType

from .client.endpoint import Endpoint
from .settings.endpoint import model_name
from .support.const import DOMAIN

MANUFACTURER = "Home Agent"
CHANGED: SignalType[()] = SignalType(f"{DOMAIN}_changed")
"""Sent when the settings of the loaded entry were changed, and what was made of them is in its `runtime_data`."""


def home_device(entry: ConfigEntry) -> DeviceInfo:
    """Return the device of what is about all agents."""
    return DeviceInfo(
        identifiers={(DOMAIN, entry.entry_id)},
        name=entry.title if entry.title.startswith(MANUFACTURER) else MANUFACTURER,  # it was the home's name once
        manufacturer=MANUFACTURER,
        entry_type=DeviceEntryType.SERVICE,
    )


class HomeAgentEntity(Entity):
    """An entity named like its device."""

    _attr_has_entity_name = True
    _attr_should_poll = False

    def __init__(self, subentry: ConfigSubentry) -> None:
        """Initialize the entity of a subentry."""
        self.subentry = subentry

    @property
    def model(self) -> str | None:
        """Return the id of its model."""
        return None

    @callback
    def async_look(self) -> None:
        """Take up the settings as they are now, before it is added and after each change."""
        model = self.model
        self._attr_device_info = DeviceInfo(
            identifiers={(DOMAIN, self.subentry.subentry_id)},
            name=self.subentry.title,
            manufacturer=MANUFACTURER,
            model=model_name(model) if model else None,
            entry_type=DeviceEntryType.SERVICE,
        )

    @callback
    def async_show(self) -> None:
        """Write the state, unless it is not added yet or disabled."""
        if self.registry_entry is not None and not self.registry_entry.disabled:
            self.async_write_ha_state()


class EndpointEntity(HomeAgentEntity):
    """An entity of an endpoint."""

    def __init__(self, subentry: ConfigSubentry, endpoints: Mapping[str, Endpoint]) -> None:
        """Initialize the entity of one of these endpoints, by subentry id."""
        super().__init__(subentry)
        self._endpoints = endpoints
        self.endpoint = endpoints[subentry.subentry_id]

    @property
    @override
    def model(self) -> str:
        return self.endpoint.config.model

    @callback
    @override
    def async_look(self) -> None:
        self.endpoint = self._endpoints[self.subentry.subentry_id]
        super().async_look()


@callback
def async_have_entities(
    hass: HomeAssistant,
    entry: ConfigEntry,
    kind: str,
    made: Mapping[str, object],
    make: Callable[[ConfigSubentry], Sequence[HomeAgentEntity]],
    async_add_entities: AddConfigEntryEntitiesCallback,
) -> None:
    """Have entities for each subentry of a kind that something is `made` for, now and after each change.

    Those of a changed subentry stay and look at its settings; those of a removed one are removed by Home Assistant.
    """
    known: dict[str, Sequence[HomeAgentEntity]] = {}

    @callback
    def look() -> None:
        subentries = [item for item in entry.get_subentries_of_type(kind) if item.subentry_id in made]
        for gone in known.keys() - {item.subentry_id for item in subentries}:
            del known[gone]
        for subentry in subentries:
            key = subentry.subentry_id
            is_new = key not in known
            entities = known[key] = make(subentry) if is_new else known[key]
            before = entities[0].device_info
            for entity in entities:
                entity.async_look()
            info = entities[0].device_info
            if is_new:
                async_add_entities(entities, config_subentry_id=key)
            elif info is not None and info != before:
                dr.async_get(hass).async_get_or_create(config_entry_id=entry.entry_id, config_subentry_id=key, **info)

    look()
    entry.async_on_unload(async_dispatcher_connect(hass, CHANGED, look))
