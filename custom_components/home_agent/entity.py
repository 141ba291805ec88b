"""Base of this integration's entities: one service device per endpoint and per profile."""

from collections.abc import Iterator, Mapping

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.helpers.device_registry import DeviceEntryType, DeviceInfo
from homeassistant.helpers.entity import Entity

from .settings.endpoint import model_name
from .support.const import DOMAIN


def subentries_with[T](entry: ConfigEntry, kind: str, made: Mapping[str, T]) -> Iterator[tuple[ConfigSubentry, T]]:
    """Yield the subentries of a kind with their object in `made`, without ones added since the entry was loaded."""
    for subentry in entry.get_subentries_of_type(kind):
        if (thing := made.get(subentry.subentry_id)) is not None:
            yield subentry, thing


class HomeAgentEntity(Entity):
    """An entity named like its device."""

    _attr_has_entity_name = True
    _attr_should_poll = False

    def __init__(self, subentry: ConfigSubentry, model: str | None) -> None:
        """Initialize the entity of a subentry; `model` is the id of its model."""
        self.subentry = subentry
        self._attr_device_info = DeviceInfo(
            identifiers={(DOMAIN, subentry.subentry_id)},
            name=subentry.title,
            manufacturer="Home Agent",
            model=model_name(model) if model else None,
            entry_type=DeviceEntryType.SERVICE,
        )
