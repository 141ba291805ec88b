"""What the entities of this integration share: one service device per endpoint and per profile."""

from homeassistant.config_entries import ConfigSubentry
from homeassistant.helpers.device_registry import DeviceEntryType, DeviceInfo
from homeassistant.helpers.entity import Entity

from .settings.endpoint import model_name
from .support.const import DOMAIN


class HomeAgentEntity(Entity):
    """An entity that carries the name of its device."""

    _attr_has_entity_name = True
    _attr_should_poll = False

    def __init__(self, subentry: ConfigSubentry, model: str | None) -> None:
        """Belong to a subentry; `model` is the id of its model."""
        self.subentry = subentry
        self._attr_device_info = DeviceInfo(
            identifiers={(DOMAIN, subentry.subentry_id)},
            name=subentry.title,
            manufacturer="Home Agent",
            model=model_name(model) if model else None,
            entry_type=DeviceEntryType.SERVICE,
        )
