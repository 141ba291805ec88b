"""What a language calls the kinds of things in a house."""

from dataclasses import dataclass

from homeassistant.core import HomeAssistant


@dataclass(frozen=True, slots=True)
class Language:
    """The words of one language."""

    code: str


NO_LANGUAGE = Language("")


class Languages:
    """Languages as they are needed; loaded in the executor, the last few kept."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start with none."""
        self._hass = hass

    async def async_get(self, code: str) -> Language:
        """Return a language; one that nobody knows has no words. Never raises."""
        return Language(code)
