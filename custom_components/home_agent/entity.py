"""What the entities of this integration share: one service device per endpoint and per profile."""

from homeassistant.config_entries import ConfigSubentry
from homeassistant.helpers.device_registry import DeviceEntryType, DeviceInfo
from homeassistant.helpers.entity import Entity

from .support.const import DOMAIN


class HomeAgentEntity(Entity):
    """An entity that carries the name of its device."""

    _attr_has_entity_name = True
    _attr_should_poll = False

    def __init__(self, subentry: ConfigSubentry, model: str | None) -> None:
        """Belong to a subentry."""
        self.subentry = subentry
        self._attr_device_info = DeviceInfo(
            identifiers={(DOMAIN, subentry.subentry_id)},
            name=subentry.title,
            manufacturer="Home Agent",
            model=model,
            entry_type=DeviceEntryType.SERVICE,
        )
