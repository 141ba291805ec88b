"""The satellite; `test_satellite.listen` begins to listen, `test_satellite.hear` lets it hear a `text` and ends it.

What it said by itself, and what it asked, are its attributes `said` and `asked`. After a question it listens.
"""

import asyncio
from collections.abc import AsyncGenerator

from homeassistant.components.assist_pipeline import PipelineEvent, PipelineStage
from homeassistant.components.assist_satellite import (
    AssistSatelliteAnnouncement,
    AssistSatelliteConfiguration,
    AssistSatelliteEntity,
    AssistSatelliteEntityFeature,
)
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
        satellite.heard.clear()
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
    _attr_supported_features = AssistSatelliteEntityFeature.ANNOUNCE | AssistSatelliteEntityFeature.START_CONVERSATION
    _attr_device_info = DeviceInfo(identifiers={(DOMAIN, DOMAIN)}, name="Test satellite")

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self._attr_extra_state_attributes = {"said": [], "asked": []}

    def async_get_configuration(self) -> AssistSatelliteConfiguration:
        """Return none: it has no wake words."""
        return AssistSatelliteConfiguration([], [], 0)

    async def async_set_configuration(self, config: AssistSatelliteConfiguration) -> None:
        """Keep none."""

    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Show nothing."""

    async def async_announce(self, announcement: AssistSatelliteAnnouncement) -> None:
        """Note what it says; it has no voice."""
        self._note("said", announcement)

    async def async_start_conversation(self, start_announcement: AssistSatelliteAnnouncement) -> None:
        """Note what it asks, and listen."""
        self.heard.clear()
        self._note("asked", start_announcement)
        assert self.platform.config_entry is not None
        self.platform.config_entry.async_create_task(self.hass, self.async_listen())

    def _note(self, what: str, announcement: AssistSatelliteAnnouncement) -> None:
        notes = self._attr_extra_state_attributes
        self._attr_extra_state_attributes = {**notes, what: [*notes[what], announcement.message]}
        self.async_write_ha_state()

    async def _resolve_announcement_media_id(
        self, message: str, media_id: str | None, preannounce_media_id: str | None = None
    ) -> AssistSatelliteAnnouncement:
        """Return what is said as it is: nothing speaks here."""
        return AssistSatelliteAnnouncement(message, "", "", None, "tts")

    async def async_listen(self) -> None:
        """Listen, and let the pipeline answer what it understood."""
        await self.async_accept_pipeline_from_satellite(self._silence(), end_stage=PipelineStage.INTENT)

    async def _silence(self) -> AsyncGenerator[bytes]:
        while not self.heard.is_set():
            await asyncio.sleep(CHUNK)
            yield bytes(round(CHUNK * 16_000) * 2)
