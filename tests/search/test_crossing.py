"""A home named in one language, asked for things in another: rooms and appliances by whatever name."""

import json
from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.home.domains import NAMED
from custom_components.home_agent.languages.vocabulary import Languages
from custom_components.home_agent.search.entity_documents import EntityDocument
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.search.ranking import Ranker

DATA: dict[str, Any] = json.loads(Path(__file__).with_name("crossing.json").read_text(encoding="utf-8"))
ENGLISH = "en"
OTHERS = sorted(set(DATA["languages"]) - {ENGLISH})
FIRST = 5
"""What was asked for has to be among so many."""

_SORTS = {
    "light": ("light", ""), "heater": ("climate", ""), "blinds": ("cover", "blind"), "fan": ("fan", ""),
    "tv": ("media_player", "tv"), "vacuum": ("vacuum", ""), "window": ("binary_sensor", "window"),
    "door": ("binary_sensor", "door"),
}  # fmt: skip
_SIX = ("kitchen", "living_room", "bedroom", "bathroom", "office", "nursery")
_WHERE = {
    "light": DATA["rooms"], "heater": _SIX, "blinds": _SIX, "window": _SIX,
    "fan": ("kitchen", "living_room", "bedroom", "bathroom", "office", "attic"), "tv": ("living_room", "bedroom"),
    "dishwasher": ("kitchen",), "washing_machine": ("bathroom",), "dryer": ("basement",), "fridge": ("kitchen",),
    "oven": ("kitchen",), "coffee_machine": ("kitchen",), "vacuum": ("living_room",), "door": ("hallway", "garage"),
    "computer": ("office",),
}  # fmt: skip


def home(language: str) -> list[EntityDocument]:
    """Return 48 entities with names of a language; the ids say nothing."""
    words = DATA["languages"][language]
    rooms = dict(zip(DATA["rooms"], words["rooms"], strict=True))
    things = dict(zip(DATA["things"], words["things"], strict=True))
    return [
        EntityDocument(
            entity_id=wanted(f"{thing}.{place}"),
            names=(things[thing],),
            area_id=place,
            area_names=(rooms[place],),
            device_class=_SORTS.get(thing, ("", ""))[1],
        )
        for thing, places in _WHERE.items()
        for place in places
    ]


def more_of_english() -> list[EntityDocument]:
    rooms, things = DATA["later"]["rooms"], DATA["later"]["things"]
    lights = [("light", key, "Light", key, name) for key, name in rooms.items()]
    names = dict(zip(DATA["rooms"], DATA["languages"][ENGLISH]["rooms"], strict=True))
    switches = [("switch", key, name, place, names[place]) for key, (name, place) in things.items()]
    return [
        EntityDocument(entity_id=f"{domain}.{key}", names=(name,), area_id=area, area_names=(place,))
        for domain, key, name, area, place in (*lights, *switches)
    ]


def wanted(item: str) -> str:
    """Return the id of what a request is about: `light.kitchen`."""
    thing, _, place = item.partition(".")
    domain = _SORTS.get(thing, ("switch", ""))[0]
    return f"{domain}.{DATA['things'].index(thing)}_{DATA['rooms'].index(place)}"


async def missed(hass: HomeAssistant, named: str, spoken: str, *, later: bool = False) -> list[str]:
    """Return the requests in `spoken` that do not find what they ask for in a home named in `named`.

    Those that were written `later` ask for what only the English home has.
    """
    hass.config.language = named
    language = await Languages(hass, NAMED).async_get(spoken)
    entities = [*home(named), *(more_of_english() if later else ())]
    requests = DATA["later"]["requests"][spoken] if later else DATA["languages"][spoken]["requests"]
    targets = DATA["later"]["wanted"] if later else map(wanted, DATA["wanted"])
    lost = []
    for text, target in zip(requests, targets, strict=True):
        # Last, so that among equals it is not found by chance.
        entities.sort(key=lambda entity: entity.entity_id == target)
        found = Ranker(entities).rank(Query(text=text, language=spoken), language)[:FIRST]
        if target not in [one.entity_id for one in found]:
            lost.append(text)
    return lost


@pytest.mark.parametrize("spoken", OTHERS)
async def test_a_request_finds_things_with_english_names(hass: HomeAssistant, spoken: str) -> None:
    assert await missed(hass, ENGLISH, spoken) == []


@pytest.mark.parametrize("named", OTHERS)
async def test_an_english_request_finds_things_with_names_of_another_language(hass: HomeAssistant, named: str) -> None:
    assert await missed(hass, named, ENGLISH) == []


@pytest.mark.parametrize("language", sorted(DATA["languages"]))
async def test_a_request_finds_things_with_names_of_its_own_language(hass: HomeAssistant, language: str) -> None:
    assert await missed(hass, language, language) == []


@pytest.mark.parametrize("spoken", OTHERS)
async def test_requests_written_after_the_words_find_nearly_as_much(hass: HomeAssistant, spoken: str) -> None:
    assert len(await missed(hass, ENGLISH, spoken, later=True)) <= 1
