"""The exposed home as data: entities with their names, areas and floors; never a state.

Read once from the registries and kept until one of them, an exposure or the set of entities changes. Reading 5,000
entities takes tens of milliseconds, so it is done in slices that give the event loop back, in the background where
possible.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
import re
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_listen_entity_updates
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import MATCH_ALL
from homeassistant.core import CALLBACK_TYPE, Event, HassJob, HomeAssistant, State, callback
from homeassistant.helpers import (
    area_registry as ar,
    entity_registry as er,
    floor_registry as fr,
    intent,
    label_registry as lr,
)
from homeassistant.helpers.device_registry import EVENT_DEVICE_REGISTRY_UPDATED
from homeassistant.helpers.event import (
    async_call_later,
    async_track_state_added_domain,
    async_track_state_removed_domain,
)

from ..support.bounds import in_slices
from ..support.const import ASSISTANT
from .domains import DOMAINS, UNKNOWN
from .exposure import is_shared_at_all

MAX_NAME = 200  # characters; one name must not take the room of all others
MAX_LOOKED_AT = 4000  # characters of a text in which names are looked for
STEM = 4  # letters by which a word is known in any form; two of a script without spaces
NAMING = 3  # a word of a name and one of the area, or two of the name
FEW = 6  # entities; where as many share the most words, none of them was named
MAX_READINGS = 2  # in a row, for one who asks, while the home keeps changing
REBUILD_DELAY = 2.0  # seconds; a restart or an import changes hundreds of entities in a row

FIRST_UNSPACED = "\u0e00"  # scripts that write no spaces are all from here on
_WORD = re.compile(r"\w+")
_ENTITY_CHANGES = {
    "aliases", "area_id", "capabilities", "device_class", "device_id", "entity_category", "entity_id", "has_entity_name",
    "labels", "name", "original_device_class", "original_name", "supported_features", "unit_of_measurement",
}  # fmt: skip
_DEVICE_CHANGES = {"area_id", "labels", "manufacturer", "model", "name", "name_by_user", "parent_device_id"}


@dataclass(frozen=True, slots=True)
class HomeEntity:
    """An exposed entity."""

    entity_id: str
    names: tuple[str, ...]
    """What people call it, as Home Assistant's own helper computes it; the first is its name. Never empty."""
    area_id: str | None

    @property
    def domain(self) -> str:
        """The part before the dot."""
        return self.entity_id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class HomeArea:
    """An area with the names of its floor."""

    area_id: str
    names: tuple[str, ...]
    floor_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HomeSnapshot:
    """The exposed home at one moment."""

    entities: Mapping[str, HomeEntity] = field(default_factory=dict)
    """By entity id; what people control most comes first, then by id."""
    areas: Mapping[str, HomeArea] = field(default_factory=dict)
    """By area id, sorted by floor level and name; areas without an exposed entity included."""
    stems: frozenset[str] = frozenset()
    """How the longest word of each name of an entity begins."""
    words: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Entity ids by how a word of their names or their kind begins."""
    places: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The same by a word of their area."""

    def named_in(self, text: str) -> list[str]:
        """Return the few entities that a text names with two words or more, those with the most; none where it is not clear.

        A word of an area counts half: it stands for all that is there.
        """
        shared: Counter[str] = Counter()
        for stem in stems_of(text[:MAX_LOOKED_AT]):
            for entity_id in self.words.get(stem, ()):
                shared[entity_id] += 2
            shared.update(self.places.get(stem, ()))
        most = max(shared.values(), default=0)
        named = sorted(entity_id for entity_id, count in shared.items() if count == most)
        return named if most >= NAMING and len(named) <= FEW else []

    def may_name_others(self, text: str, than: Collection[str]) -> bool:
        """Return whether a text may name an entity besides these, by how its words begin; it says yes rather than no."""
        names = " ".join(
            name for entity_id in than if entity_id in self.entities for name in self.entities[entity_id].names
        )
        return not self.stems.isdisjoint(stems_of(text[:MAX_LOOKED_AT]) - stems_of(names[:MAX_LOOKED_AT]))


class Home:
    """Keeps the newest `HomeSnapshot`; owned by the config entry."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        """Start empty; the first `async_get` reads the home."""
        self._hass = hass
        self._entry = entry
        self._snapshot: HomeSnapshot | None = None
        self._passing: HomeSnapshot | None = None
        """The home of a moment ago, until it is read again: while it keeps changing."""
        self._changes = self._forgotten = 0
        self._lock = asyncio.Lock()
        self._cancel_timer: CALLBACK_TYPE | None = None
        self._listeners: list[Callable[[HomeSnapshot], None]] = []

    @callback
    def async_start(self) -> None:
        """Listen for changes until the entry is unloaded, and read the home in the background."""
        bus = self._hass.bus
        for unsubscribe in (
            async_track_state_added_domain(self._hass, MATCH_ALL, self._mark),
            async_track_state_removed_domain(self._hass, MATCH_ALL, self._mark),
            bus.async_listen(er.EVENT_ENTITY_REGISTRY_UPDATED, self._mark, event_filter=_entity_changed),
            bus.async_listen(EVENT_DEVICE_REGISTRY_UPDATED, self._mark, event_filter=_device_changed),
            bus.async_listen(ar.EVENT_AREA_REGISTRY_UPDATED, self._mark),
            bus.async_listen(fr.EVENT_FLOOR_REGISTRY_UPDATED, self._mark),
            bus.async_listen(lr.EVENT_LABEL_REGISTRY_UPDATED, self._mark),
            async_listen_entity_updates(self._hass, ASSISTANT, self._forget),
            self._stop_timer,
        ):
            self._entry.async_on_unload(unsubscribe)
        self._mark()

    @callback
    def async_listen(self, listener: Callable[[HomeSnapshot], None]) -> CALLBACK_TYPE:
        """Call `listener` with each snapshot as soon as it was read; return how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @callback
    def async_invalidate(self) -> None:
        """Read the home again before the next turn."""
        self._forget()

    async def async_get(self) -> HomeSnapshot:
        """Return the home as it is now, reading it first when something changed.

        While thousands of names change in a row it is the home as it was a moment ago: who waits for the last change waits
        for minutes. What is hidden or shown counts at once all the same.
        """
        if (known := self._snapshot or self._passing) is not None:
            return known
        async with self._lock:
            # unless somebody else read it meanwhile
            return self._snapshot or self._passing or await self._async_read()

    async def async_look_at(self, entity_id: str) -> HomeSnapshot:
        """Return the home with one entity as it is now: a name that only a state has says by no event that it changed.

        The rest of the home is read only when something about it changed.
        """
        async with self._lock:
            snapshot = self._snapshot or await self._async_read()
            if snapshot is not self._snapshot or (known := snapshot.entities.get(entity_id)) is None:
                return snapshot
            if (state := self._hass.states.get(entity_id)) is None:
                return snapshot
            new = _entity(self._hass, er.async_get(self._hass).async_get(entity_id), state)
            if new == known:
                return snapshot
            stems = snapshot.stems | {_stem(name) for name in new.names}
            self._snapshot = replace(snapshot, entities={**snapshot.entities, entity_id: new}, stems=stems)
            return self._snapshot

    async def _async_read(self) -> HomeSnapshot:
        """Read the home, again when something changed meanwhile, but not for ever: only until nothing was hidden meanwhile."""
        readings, forgotten = 0, -1
        while readings < MAX_READINGS or forgotten != self._forgotten:
            readings += 1
            changes, forgotten = self._changes, self._forgotten
            snapshot = await _async_read(self._hass)
            if changes == self._changes:
                self._snapshot, self._passing = snapshot, None
                for listener in self._listeners:
                    listener(snapshot)
                return snapshot
        self._passing = snapshot
        self._start_timer()
        return snapshot

    async def _async_read_again(self) -> None:
        async with self._lock:
            if self._snapshot is None:
                await self._async_read()

    @callback
    def _forget(self) -> None:
        self._forgotten += 1
        self._passing = None
        self._mark()

    @callback
    def _mark(self, _event: Event[Any] | None = None) -> None:
        self._changes += 1
        self._snapshot = None
        self._start_timer()

    @callback
    def _start_timer(self) -> None:
        if self._cancel_timer is None:
            job = HassJob(self._read_in_background, cancel_on_shutdown=True)
            self._cancel_timer = async_call_later(self._hass, REBUILD_DELAY, job)

    @callback
    def _read_in_background(self, _now: object) -> None:
        self._cancel_timer = self._passing = None
        self._entry.async_create_background_task(self._hass, self._async_read_again(), "home_agent read the home")

    @callback
    def _stop_timer(self) -> None:
        if self._cancel_timer is not None:
            self._cancel_timer()
            self._cancel_timer = None


async def async_count_exposed(hass: HomeAssistant) -> int:
    """Return how many entities are exposed to assistants."""
    exposed = 0
    async for entity_id in in_slices(hass.states.async_entity_ids()):
        exposed += is_shared_at_all(hass, entity_id)
    return exposed


@callback
def _entity_changed(data: er.EventEntityRegistryUpdatedData) -> bool:
    return data["action"] != "update" or not _ENTITY_CHANGES.isdisjoint(data["changes"])


@callback
def _device_changed(data: Mapping[str, Any]) -> bool:
    return data["action"] == "update" and not _DEVICE_CHANGES.isdisjoint(data["changes"])


async def _async_read(hass: HomeAssistant) -> HomeSnapshot:
    registry = er.async_get(hass)
    entities: dict[str, HomeEntity] = {}
    async for entity_id in in_slices(sorted(hass.states.async_entity_ids(), key=_order)):
        if (state := hass.states.get(entity_id)) is None or not is_shared_at_all(hass, entity_id):
            continue
        entities[entity_id] = _entity(hass, registry.async_get(entity_id), state)
    areas = _areas(hass)
    words: dict[str, set[str]] = {}
    places: dict[str, set[str]] = {}
    async for entity in in_slices(entities.values()):
        area = areas.get(entity.area_id) if entity.area_id else None
        for found, names in ((words, (*entity.names, entity.domain)), (places, area.names if area else ())):
            for stem in stems_of(" ".join(names)):
                found.setdefault(stem, set()).add(entity.entity_id)
    stems = frozenset(_stem(name) for entity in entities.values() for name in entity.names)
    return HomeSnapshot(entities, areas, stems, words, places)


def stems_of(text: str) -> set[str]:
    """Return how the words of a text begin, and of a script without spaces all pairs of signs."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if word >= FIRST_UNSPACED:
            found.update(word[place : place + 2] for place in range(len(word)))
        else:
            found.add(word[:STEM])
    return found


def _stem(name: str) -> str:
    word = max(_WORD.findall(name.casefold()), key=len, default=name)
    return word[: 2 if word >= FIRST_UNSPACED else STEM]


def _order(entity_id: str) -> tuple[int, str]:
    return DOMAINS.get(entity_id.partition(".")[0], UNKNOWN).rank, entity_id


def _entity(hass: HomeAssistant, entry: er.RegistryEntry | None, state: State) -> HomeEntity:
    try:
        names = intent.async_get_entity_aliases(hass, entry, state=state, allow_empty=False)
    except AttributeError:  # a name that is not text: the helper strips it
        names = []
    area_id = er.async_get_effective_area_id(hass, entry) if entry else None
    known = tuple(str(name)[:MAX_NAME] for name in names if name) or (str(state.name)[:MAX_NAME],)
    return HomeEntity(state.entity_id, known, area_id)


def _areas(hass: HomeAssistant) -> dict[str, HomeArea]:
    floors = fr.async_get(hass)
    areas: list[tuple[tuple[float, str], HomeArea]] = []
    for area in ar.async_get(hass).async_list_areas():
        floor = floors.async_get_floor(area.floor_id) if area.floor_id else None
        floor_names = (floor.name, *sorted(floor.aliases)) if floor else ()
        order = (floor.level if floor and floor.level is not None else float("inf"), area.name.casefold())
        areas.append((order, HomeArea(area.id, (area.name, *sorted(area.aliases)), floor_names)))
    return {area.area_id: area for _, area in sorted(areas, key=lambda item: item[0])}
