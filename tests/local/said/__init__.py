"""Sentences of a home, as data; the home stands in `home.json`, with its names by language."""

from collections.abc import AsyncGenerator
import json
from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant

from scripts.evaluation.local import House

HERE = Path(__file__).parent


def read(name: str) -> Any:
    """Return what stands in a file."""
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def home(language: str, *, coloured: bool = False) -> dict[str, Any]:
    """Return the home with its names in a language, in the form of the homes of `scripts/eval`; `coloured`: all its lights are."""
    rows: dict[str, list[dict[str, Any]]] = read("home.json")
    floors = {row["id"]: row.get("floor") for row in rows["areas"]}
    named = {key: [{**row, "name": row["names"][language], "aliases": []} for row in rows[key]] for key in rows}
    for row in named["entities"]:
        row["domain"], row["floor"], row["device"] = row["entity_id"].partition(".")[0], floors.get(row["area"]), None
        if coloured and row["domain"] == "light":
            row["attributes"] = {**row["attributes"], "supported_color_modes": ["rgbw"]}
    return {"id": "home", "language": language, "devices": [], **named}


async def async_living(hass: HomeAssistant, language: str, *, coloured: bool = False) -> AsyncGenerator[House]:
    """Yield the home with entities that work and an agent without a model."""
    hass.config.language = language
    house = House(hass, home(language, coloured=coloured))
    await house.async_begin()
    yield house
