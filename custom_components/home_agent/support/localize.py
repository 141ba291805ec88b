"""The integration's sentences in the language of a turn; Home Assistant translates errors into the server's language."""

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.translation import LOCALE_EN, async_get_translations

from .const import DOMAIN
from .quoting import bare

_CATEGORY = "exceptions"


async def async_text(hass: HomeAssistant, language: str, key: str, domain: str = DOMAIN, /, **placeholders: str) -> str:
    """Return the sentence `key` of an integration in the language, its base (`de` for `de-AT`) or English; else the key.

    Names, titles and values in it are shown as they are, and nothing invisible or drawn with them.
    """
    path = _path_of(domain, key)
    sentence, _ = await _async_find(hass, _CATEGORY, domain, language, path)
    told = {name: bare(str(value)) for name, value in placeholders.items()}
    return (key if sentence == path else sentence).format_map(_Placeholders(told))


async def async_has_text(hass: HomeAssistant, language: str, key: str) -> bool:
    """Return whether the sentence `key` exists in the language."""
    path = _path_of(DOMAIN, key)
    sentence, translated = await _async_find(hass, _CATEGORY, DOMAIN, language, path)
    return translated and sentence != path


async def async_error_text(hass: HomeAssistant, language: str, error: HomeAssistantError) -> str:
    """Return the translated text of an error, or its own words if it has no translation key."""
    key, domain = error.translation_key, error.translation_domain
    if domain is None or key is None:
        return str(error)
    return await async_text(hass, language, key, domain, **(error.translation_placeholders or {}))


async def async_own_text(
    hass: HomeAssistant, language: str, category: str, domain: str, path: str, *, translated: bool = False
) -> str | None:
    """Return a text of another integration by the category (`services`, `entity_component`) and path of its translations.

    None if it does not exist; with `translated` also if it exists in English only and the language is another.
    """
    path = f"component.{domain}.{path}"
    text, in_language = await _async_find(hass, category, domain, language, path)
    return text if text != path and (in_language or not translated) else None


def _path_of(domain: str, key: str) -> str:
    return f"component.{domain}.{_CATEGORY}.{key}.message"


async def _async_find(hass: HomeAssistant, category: str, domain: str, language: str, path: str) -> tuple[str, bool]:
    """Return a text, or the path itself if it does not exist, and whether it is in the given language."""
    language = language or hass.config.language
    base = language.partition("-")[0]
    english = (await async_get_translations(hass, LOCALE_EN, category, [domain])).get(path, path)
    for candidate in dict.fromkeys((language, base)):
        text = (await async_get_translations(hass, candidate, category, [domain])).get(path, path)
        # Home Assistant fills missing translations with English.
        if text != english:
            return text, True
    return english, base == LOCALE_EN


class _Placeholders(dict[str, str]):
    """Placeholders of a sentence; a missing one shows its name instead of raising."""

    def __missing__(self, name: str) -> str:
        return name
