"""Diagnostic sensors of an endpoint: tokens, latency, and how much of a prompt was cached."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import override

from homeassistant.components.sensor import SensorDeviceClass, SensorEntity, SensorEntityDescription, SensorStateClass
from homeassistant.config_entries import ConfigSubentry
from homeassistant.const import PERCENTAGE, EntityCategory, UnitOfTime
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .agent.runtime import HomeAgentConfigEntry
from .client.endpoint import Endpoint, EndpointStats
from .entity import HomeAgentEntity
from .support.const import SUBENTRY_LLM

PARALLEL_UPDATES = 0
TOKENS = "tokens"


@dataclass(frozen=True, kw_only=True)
class EndpointSensorDescription(SensorEntityDescription):
    """A sensor and where its value comes from."""

    value: Callable[[EndpointStats], int | None]


def _sensor(
    key: str, value: Callable[[EndpointStats], int | None], unit: str = TOKENS, *, enabled: bool = True
) -> EndpointSensorDescription:
    return EndpointSensorDescription(
        key=key,
        translation_key=key,
        entity_category=EntityCategory.DIAGNOSTIC,
        entity_registry_enabled_default=enabled,
        device_class=SensorDeviceClass.DURATION if unit == UnitOfTime.MILLISECONDS else None,
        state_class=SensorStateClass.TOTAL_INCREASING if unit == TOKENS else SensorStateClass.MEASUREMENT,
        native_unit_of_measurement=unit,
        # Where a person did not see the sensor before; what is registered keeps its unit, and its statistics with it.
        suggested_unit_of_measurement=UnitOfTime.SECONDS if unit == UnitOfTime.MILLISECONDS else None,
        suggested_display_precision=1 if unit == UnitOfTime.MILLISECONDS else None,
        value=value,
    )


SENSORS = (
    _sensor("input_tokens", lambda stats: stats.usage.input_tokens),
    _sensor("output_tokens", lambda stats: stats.usage.output_tokens),
    _sensor("cached_tokens", lambda stats: stats.usage.cached_tokens, enabled=False),
    _sensor("cached_share", lambda stats: stats.newest.cached_share, PERCENTAGE),
    _sensor("first_token_latency", lambda stats: stats.first_delta_ms, UnitOfTime.MILLISECONDS),
    _sensor("request_duration", lambda stats: stats.duration_ms, UnitOfTime.MILLISECONDS),
)


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the sensors of each endpoint."""
    for subentry in entry.get_subentries_of_type(SUBENTRY_LLM):
        endpoint = entry.runtime_data.endpoints[subentry.subentry_id]
        async_add_entities(
            [EndpointSensor(subentry, endpoint, description) for description in SENSORS],
            config_subentry_id=subentry.subentry_id,
        )


class EndpointSensor(HomeAgentEntity, SensorEntity):
    """A number about an endpoint; token counts start again with the entry, as counters may."""

    entity_description: EndpointSensorDescription

    def __init__(self, subentry: ConfigSubentry, endpoint: Endpoint, description: EndpointSensorDescription) -> None:
        """Show one of the endpoint's numbers."""
        super().__init__(subentry, endpoint.config.model)
        self._attr_unique_id = f"{subentry.subentry_id}_{description.key}"
        self.entity_description = description
        self.endpoint = endpoint

    @override
    async def async_added_to_hass(self) -> None:
        self.async_on_remove(self.endpoint.async_listen(self.async_write_ha_state))

    @property
    @override
    def native_value(self) -> int | None:
        return self.entity_description.value(self.endpoint.stats)
