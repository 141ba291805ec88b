"""The satellite; `test_satellite.listen` begins to listen, `test_satellite.hear` lets it hear a `text` and ends it."""

import asyncio
from collections.abc import AsyncGenerator

from homeassistant.components.assist_pipeline import PipelineEvent, PipelineStage
from homeassistant.components.assist_satellite import AssistSatelliteConfiguration, AssistSatelliteEntity
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

DOMAIN = "test_satellite"
CHUNK = 0.01  # seconds of 16,000 samples of 16 bits each


async def async_setup_entry(
    hass: HomeAssistant, entry: ConfigEntry[list[str]], async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the satellite and what drives it."""
    satellite = Satellite()
    async_add_entities([satellite])

    async def listen(_call: ServiceCall) -> None:
        entry.async_create_task(hass, satellite.async_listen())

    async def hear(call: ServiceCall) -> None:
        entry.runtime_data.append(call.data["text"])
        satellite.heard.set()

    hass.services.async_register(DOMAIN, "listen", listen)
    hass.services.async_register(DOMAIN, "hear", hear)


class Satellite(AssistSatelliteEntity):
    """It stands nowhere."""

    _attr_name = "Test satellite"
    _attr_unique_id = DOMAIN
    _attr_device_info = DeviceInfo(identifiers={(DOMAIN, DOMAIN)}, name="Test satellite")

    def __init__(self) -> None:
        self.heard = asyncio.Event()

    def async_get_configuration(self) -> AssistSatelliteConfiguration:
        """Return none: it has no wake words."""
        return AssistSatelliteConfiguration([], [], 0)

    async def async_set_configuration(self, config: AssistSatelliteConfiguration) -> None:
        """Keep none."""

    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Show nothing."""

    async def async_listen(self) -> None:
        """Listen, and let the pipeline answer what it understood."""
        self.heard.clear()
        await self.async_accept_pipeline_from_satellite(self._silence(), end_stage=PipelineStage.INTENT)

    async def _silence(self) -> AsyncGenerator[bytes]:
        while not self.heard.is_set():
            await asyncio.sleep(CHUNK)
            yield bytes(round(CHUNK * 16_000) * 2)
