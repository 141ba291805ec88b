"""The integration's own sentences, in the language of the person who hears them.

Home Assistant translates an error into the language of the server; an agent answers in the language of the turn.
"""

from collections.abc import Mapping

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.translation import LOCALE_EN, async_get_translations

from .const import DOMAIN

_CATEGORY = "exceptions"


async def async_text(hass: HomeAssistant, language: str, key: str, **placeholders: str) -> str:
    """Return the sentence `key` of the translations.

    A regional variant without a file of its own (`de-AT`) falls back to its language, that one to English; the key
    itself comes back when English lacks it as well. Home Assistant caches the files.
    """
    return await _async_sentence(hass, DOMAIN, language, key, placeholders)


async def async_has_text(hass: HomeAssistant, language: str, key: str) -> bool:
    """Return whether the sentence `key` exists in the language, or in English when that is the language."""
    path = _path_of(DOMAIN, key)
    sentence, translated = await _async_find(hass, _CATEGORY, DOMAIN, language, path)
    return translated and sentence != path


async def async_error_text(hass: HomeAssistant, language: str, error: HomeAssistantError) -> str:
    """Return what an error says; errors without a translation key have only their own words."""
    if error.translation_domain is None or error.translation_key is None:
        return str(error)
    return await _async_sentence(
        hass, error.translation_domain, language, error.translation_key, error.translation_placeholders or {}
    )


async def async_own_text(
    hass: HomeAssistant, language: str, category: str, domain: str, path: str, *, translated: bool = False
) -> str | None:
    """Return a text of another integration (`services`, `entity_component`) by the path in its translations.

    None where there is none; with `translated` also where it is in English only and another language was asked for.
    """
    path = f"component.{domain}.{path}"
    text, in_language = await _async_find(hass, category, domain, language, path)
    return text if text != path and (in_language or not translated) else None


async def _async_sentence(
    hass: HomeAssistant, domain: str, language: str, key: str, placeholders: Mapping[str, str]
) -> str:
    path = _path_of(domain, key)
    sentence, _ = await _async_find(hass, _CATEGORY, domain, language, path)
    return (key if sentence == path else sentence).format_map(_Placeholders(placeholders))


def _path_of(domain: str, key: str) -> str:
    return f"component.{domain}.{_CATEGORY}.{key}.message"


async def _async_find(hass: HomeAssistant, category: str, domain: str, language: str, path: str) -> tuple[str, bool]:
    """Return a text, the path itself when there is none, and whether it is in the language asked for."""
    language = language or hass.config.language
    base = language.partition("-")[0]
    english = (await async_get_translations(hass, LOCALE_EN, category, [domain])).get(path, path)
    for candidate in dict.fromkeys((language, base)):
        text = (await async_get_translations(hass, candidate, category, [domain])).get(path, path)
        # Home Assistant lays a language over English: whatever reads like English has no translation.
        if text != english:
            return text, True
    return english, base == LOCALE_EN


class _Placeholders(dict[str, str]):
    """A translation that names a placeholder nobody filled in shows its name; it does not end the turn."""

    def __missing__(self, name: str) -> str:
        return name
