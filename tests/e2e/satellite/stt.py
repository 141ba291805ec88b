"""What the satellite hears with: it understands what a test has it hear."""

from collections.abc import AsyncIterable

from homeassistant.components import stt
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback


async def async_setup_entry(
    hass: HomeAssistant, entry: ConfigEntry[list[str]], async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    async_add_entities([Ear(entry.runtime_data)])


class Ear(stt.SpeechToTextEntity):
    """It understands nothing of what it is sent."""

    _attr_name = "Test satellite"

    def __init__(self, heard: list[str]) -> None:
        """Understand what is in a list by then, the first of it."""
        self._heard = heard

    @property
    def supported_languages(self) -> list[str]:
        return ["en"]

    @property
    def supported_formats(self) -> list[stt.AudioFormats]:
        return [stt.AudioFormats.WAV]

    @property
    def supported_codecs(self) -> list[stt.AudioCodecs]:
        return [stt.AudioCodecs.PCM]

    @property
    def supported_bit_rates(self) -> list[stt.AudioBitRates]:
        return [stt.AudioBitRates.BITRATE_16]

    @property
    def supported_sample_rates(self) -> list[stt.AudioSampleRates]:
        return [stt.AudioSampleRates.SAMPLERATE_16000]

    @property
    def supported_channels(self) -> list[stt.AudioChannels]:
        return [stt.AudioChannels.CHANNEL_MONO]

    async def async_process_audio_stream(
        self, metadata: stt.SpeechMetadata, stream: AsyncIterable[bytes]
    ) -> stt.SpeechResult:
        """Return what was said, when the stream is over."""
        async for _ in stream:
            pass
        return stt.SpeechResult(self._heard.pop(0), stt.SpeechResultState.SUCCESS)
