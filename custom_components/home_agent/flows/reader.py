"""The language of the person who has a form open: what the server itself puts into a form is said in it."""

from homeassistant.components.frontend.storage import async_user_store
from homeassistant.components.http import KEY_HASS_USER, current_request
from homeassistant.core import HomeAssistant
from homeassistant.generated.languages import LANGUAGES

_PROFILE = "language"
"""The item in which the frontend keeps the language that a user chose in the profile, as the value of the same key."""


async def async_reader_language(hass: HomeAssistant) -> str:
    """Return the language of the user's profile, else of the browser, as Home Assistant has it; else that of the home."""
    if (request := current_request.get()) is None:
        return hass.config.language
    wanted: list[object] = [request.headers.get("Accept-Language", "").partition(",")[0].partition(";")[0].strip()]
    if (user := request.get(KEY_HASS_USER)) is not None:
        chosen = (await async_user_store(hass, user.id)).data.get(_PROFILE)
        wanted.insert(0, chosen.get(_PROFILE) if isinstance(chosen, dict) else None)
    for tag in (item for item in wanted if isinstance(item, str)):
        for language in (tag, tag.partition("-")[0]):
            if language in LANGUAGES:
                return language
    return hass.config.language
