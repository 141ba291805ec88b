"""Who is meant: names, areas and floors of the exposed home, ready to be looked up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Protocol
from weakref import WeakKeyDictionary

from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, floor_registry as fr, intent

from ..support.bounds import in_slices
from ..support.text import grams, overlap, phrase

_MIN_LIKENESS = 0.3  # of 1; below, a suggestion would only confuse
_SAME_DOMAIN = 0.1  # what the domain that was asked for adds
_SHORTLIST = 12


class NamedEntity(Protocol):
    """An exposed entity with its names."""

    @property
    def entity_id(self) -> str:
        """Its id."""

    @property
    def names(self) -> tuple[str, ...]:
        """What people call it, its name first; never empty."""

    @property
    def area_id(self) -> str | None:
        """Its own or its device's area."""


class HomeView(Protocol):
    """The exposed home at one moment; a changed home is another object."""

    @property
    def entities(self) -> Mapping[str, NamedEntity]:
        """By entity id."""


class HomeSource(Protocol):
    """Where the home is read (home.py)."""

    async def async_get(self) -> HomeView:
        """Return the home as it is now."""


@dataclass(slots=True)
class _Index:
    """Lookups of one view."""

    view: HomeView
    by_name: dict[str, list[str]] = field(default_factory=dict)
    by_area: dict[str, list[str]] = field(default_factory=dict)


# Tools are made anew for each turn; what they look up is kept as long as its home.
_INDEXES: WeakKeyDictionary[HomeSource, _Index] = WeakKeyDictionary()


class Names:
    """Looks up exposed entities of a home."""

    def __init__(self, home: HomeSource) -> None:
        """Read nothing yet."""
        self._home = home

    async def _async_index(self) -> _Index:
        """Return the lookups of the home as it is now, built in slices."""
        view = await self._home.async_get()
        index = _INDEXES.get(self._home)
        if index is None or index.view is not view:
            index = _Index(view)
            async for entity in in_slices(view.entities.values()):
                for name in {phrase(name) for name in entity.names} - {""}:
                    index.by_name.setdefault(name, []).append(entity.entity_id)
                if entity.area_id is not None:
                    index.by_area.setdefault(entity.area_id, []).append(entity.entity_id)
            _INDEXES[self._home] = index
        return index

    async def async_view(self) -> HomeView:
        """Return the exposed home."""
        return await self._home.async_get()

    async def async_named(self, text: str) -> list[str]:
        """Return the entities with this name or alias."""
        return list((await self._async_index()).by_name.get(phrase(text), ()))

    async def async_in_place(self, hass: HomeAssistant, text: str) -> list[str] | None:
        """Return the entities in the area or floor of this id, name or alias; None when there is no such place."""
        by_area = (await self._async_index()).by_area
        if (area_ids := find_place(hass, text)) is None:
            return None
        return [entity_id for area_id in area_ids for entity_id in by_area.get(area_id, ())]

    async def async_near(self, text: str) -> list[str]:
        """Return the entities whose name or id is most like the text, best first, at most a handful."""
        view = await self._home.async_get()
        domain, _, name = text.rpartition(".")
        wanted = grams(phrase(name))
        scored: list[tuple[float, str]] = []
        async for entity in in_slices(view.entities.values()):
            own_domain, _, object_id = entity.entity_id.partition(".")
            score = max(overlap(wanted, grams(phrase(label))) for label in (object_id, *entity.names))
            if score >= _MIN_LIKENESS:
                scored.append((score + _SAME_DOMAIN * (domain == own_domain), entity.entity_id))
        return [entity_id for _, entity_id in nlargest(_SHORTLIST, scored)]


def find_place(hass: HomeAssistant, text: str) -> list[str] | None:
    """Return the areas that an area's or floor's id, name or alias stands for; None when it stands for none."""
    areas = ar.async_get(hass)
    candidates = (text.strip(), text.strip().casefold().replace("_", " "))
    found = {area.id: None for name in candidates for area in intent.find_areas(name, areas)}
    for name in candidates:
        for floor in intent.find_floors(name, fr.async_get(hass)):
            found |= dict.fromkeys(area.id for area in ar.async_entries_for_floor(areas, floor.floor_id))
    return list(found) or None
