"""Presets of agents: settings as data (presets.json), with names and instructions in the language of the user."""

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
"""Keys, in the order of the menu."""


@dataclass(frozen=True, slots=True)
class ProfilePreset:
    """Name and own settings of an agent."""

    name: str
    settings: Mapping[str, Any]


async def async_preset(hass: HomeAssistant, key: str, language: str) -> ProfilePreset:
    """Return a preset in a language, its base language, or English."""
    data = (await hass.async_add_executor_job(_read))[key]
    texts = data["texts"]
    said = dict(texts.get(language) or texts.get(language.partition("-")[0]) or texts[_ENGLISH])
    name = said.pop(CONF_NAME)
    return ProfilePreset(name, {**data["settings"], **{setting: text for setting, text in said.items() if text}})


@cache
def _read() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found
