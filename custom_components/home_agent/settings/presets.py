"""Agents to start from when one is added: settings as data (presets.json), named and instructed in the language of whoever adds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
import json
from pathlib import Path
from typing import Any

from homeassistant.const import CONF_NAME
from homeassistant.core import HomeAssistant

_FILE = Path(__file__).with_name("presets.json")
_ENGLISH = "en"

PRESETS = ("home_assistant", "guest", "kids", "security", "technician", "storyteller")
"""Their keys, in the order in which they are offered."""


@dataclass(frozen=True, slots=True)
class ProfilePreset:
    """One of them."""

    name: str
    settings: Mapping[str, Any]
    """As an agent stores them; editable afterwards like those of any agent."""


async def async_preset(hass: HomeAssistant, key: str, language: str) -> ProfilePreset:
    """Return a preset by its key, in a language or its base language; in English where it has no such texts."""
    data = (await hass.async_add_executor_job(_read))[key]
    texts = data["texts"]
    said = dict(texts.get(language) or texts.get(language.partition("-")[0]) or texts[_ENGLISH])
    name = said.pop(CONF_NAME)
    return ProfilePreset(name, {**data["settings"], **{setting: text for setting, text in said.items() if text}})


@cache
def _read() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found
