"""The exposed home as data: entities with their names, areas and floors; never a state.

Read once from the registries and kept until one of them, an exposure or the set of entities changes. Reading 5,000
entities takes tens of milliseconds, so it is done in slices that give the event loop back, in the background where
possible. Of the index of names only what has changed is made again.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_listen_entity_updates
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import MATCH_ALL
from homeassistant.core import CALLBACK_TYPE, Event, HassJob, HomeAssistant, State, callback, split_entity_id
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
from .names import Labels, NameIndex, stems_of
from .taught_names import AREA, FLOOR

MAX_NAME = 200  # characters; one name must not take the room of all others
NAMING = 3  # a word of a name and one of the area, or two of the name
FEW = 6  # entities; where as many share the most words, none of them was named
MAX_READINGS = 2  # in a row, for one who asks, while the home keeps changing
REBUILD_DELAY = 2.0  # seconds; a restart or an import changes hundreds of entities in a row

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
    floor_id: str = ""

    @property
    def floor(self) -> str:
        """What its floor is in the index of names; "" without a floor."""
        return f"{FLOOR}{self.floor_id or self.floor_names[0]}" if self.floor_names else ""


@dataclass(frozen=True)
class HomeSnapshot:
    """The exposed home at one moment."""

    entities: Mapping[str, HomeEntity] = field(default_factory=dict)
    """By entity id; what people control most comes first, then by id."""
    areas: Mapping[str, HomeArea] = field(default_factory=dict)
    """By area id, sorted by floor level and name; areas without an exposed entity included."""
    index: NameIndex | None = field(default=None, compare=False, repr=False)
    """Of these names and maybe more; None: it is made when it is needed."""

    @cached_property
    def names(self) -> NameIndex:
        """The index of names, which may have entities that are not among these."""
        return self.index or NameIndex().changed(_labels(self.entities, self.areas))

    @cached_property
    def by_area(self) -> Mapping[str, Sequence[str]]:
        """Entity ids by area."""
        found: dict[str, list[str]] = {}
        for entity in self.entities.values():
            if entity.area_id is not None:
                found.setdefault(entity.area_id, []).append(entity.entity_id)
        return found

    def areas_of(self, subject: str) -> frozenset[str]:
        """Return the ids of the areas that `area:<id>` or `floor:<id>` stands for; none for an entity."""
        area_id = subject.removeprefix(AREA)
        if area_id != subject:
            return frozenset({area_id} & self.areas.keys())
        return frozenset(key for key, area in self.areas.items() if area.floor == subject)

    def with_stem(self, stem: str) -> Iterator[str]:
        """Yield the entities that have a word in a name, or a domain, that begins so; one may come several times."""
        return (one for subjects in self.names.with_stem(stem) for one in subjects if one in self.entities)

    def named_in(self, text: str) -> list[str]:
        """Return the few entities that a text names with two words or more, those with the most; none if that is not clear.

        A word of an area counts half: it stands for all that is there.
        """
        shared: Counter[str] = Counter()
        for stem in stems_of(text):
            subjects = frozenset[str]().union(*self.names.with_stem(stem))
            for subject in subjects:
                if subject in self.entities:
                    shared[subject] += 2
                elif subject.startswith(AREA):
                    shared.update(self.by_area.get(subject.removeprefix(AREA), ()))
        most = max(shared.values(), default=0)
        named = sorted(entity_id for entity_id, count in shared.items() if count == most)
        return named if most >= NAMING and len(named) <= FEW else []

    def may_name_others(self, text: str, than: Collection[str]) -> bool:
        """Return whether a text may name an entity besides these, by the longest word of a name; it says yes rather than no."""
        own = {
            stem for one in than if one in self.entities for name in self.entities[one].names for stem in stems_of(name)
        }
        return any(
            subject in self.entities
            for stem in stems_of(text) - own
            for subjects in self.names.with_stem(stem, longest=True)
            for subject in subjects
        )


@dataclass(eq=False)
class Home:
    """Keeps the newest `HomeSnapshot`, which the first `async_get` reads; owned by the config entry."""

    _hass: HomeAssistant
    _entry: ConfigEntry[Any]
    _snapshot: HomeSnapshot | None = None
    _names: NameIndex = field(default_factory=NameIndex)
    _passing: HomeSnapshot | None = None
    """The home of a moment ago, until it is read again: while it keeps changing."""
    _changes: int = 0
    _forgotten: int = 0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _cancel_timer: CALLBACK_TYPE | None = None
    _listeners: list[Callable[[HomeSnapshot], None]] = field(default_factory=list)

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
            async_listen_entity_updates(self._hass, ASSISTANT, self.async_invalidate),
            self._stop_timer,
        ):
            self._entry.async_on_unload(unsubscribe)
        self._mark()

    @callback
    def async_listen(self, listener: Callable[[HomeSnapshot], None]) -> CALLBACK_TYPE:
        """Call `listener` with each snapshot as soon as it was read; return how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def async_get(self) -> HomeSnapshot:
        """Return the home as it is now, reading it first when something changed.

        While thousands of names change in a row it is the home as it was a moment ago: who waits for the last change waits
        for minutes. What is hidden or shown counts at once all the same.
        """
        if (known := self._snapshot or self._passing) is not None:
            return known
        async with self._lock:
            # another reader may have held the lock
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
            self._names = self._names.changed({**self._names.labels, entity_id: new.names})
            entities = {**snapshot.entities, entity_id: new}
            self._snapshot = replace(snapshot, entities=entities, index=self._names)
            return self._snapshot

    async def _async_read(self) -> HomeSnapshot:
        """Read the home, again when something changed meanwhile, but not for ever: only until nothing was hidden meanwhile."""
        readings, forgotten = 0, -1
        while readings < MAX_READINGS or forgotten != self._forgotten:
            readings += 1
            changes, forgotten = self._changes, self._forgotten
            snapshot = await self._async_look()
            if changes == self._changes:
                self._snapshot, self._passing = snapshot, None
                for listener in self._listeners:
                    listener(snapshot)
                return snapshot
        self._passing = snapshot
        self._start_timer()
        return snapshot

    async def _async_look(self) -> HomeSnapshot:
        registry = er.async_get(self._hass)
        entities: dict[str, HomeEntity] = {}
        ranks = {name: record.rank for name, record in DOMAINS.items()}
        order = sorted(
            (ranks.get(split_entity_id(one)[0], UNKNOWN.rank), one) for one in self._hass.states.async_entity_ids()
        )
        async for _, entity_id in in_slices(order):
            if (state := self._hass.states.get(entity_id)) is not None and is_shared_at_all(self._hass, entity_id):
                entities[entity_id] = _entity(self._hass, registry.async_get(entity_id), state)
        areas = _areas(self._hass)
        floors = {f"{FLOOR}{one.floor_id}": _names(one) for one in fr.async_get(self._hass).async_list_floors()}
        self._names = await self._names.async_changed({**_labels(entities, areas), **floors})
        return HomeSnapshot(entities, areas, self._names)

    @callback
    def async_invalidate(self) -> None:
        """Read the home again before the next turn."""
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
        self._entry.async_create_background_task(self._hass, self.async_get(), "home_agent read the home")

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


def _labels(entities: Mapping[str, HomeEntity], areas: Mapping[str, HomeArea]) -> Labels:
    return {
        **{entity_id: entity.names for entity_id, entity in entities.items()},
        **{f"{AREA}{area_id}": area.names for area_id, area in areas.items()},
        **{area.floor: area.floor_names for area in areas.values() if area.floor},
    }


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
        order = (floor.level if floor and floor.level is not None else float("inf"), area.name.casefold())
        floor_names, floor_id = (_names(floor), floor.floor_id) if floor else ((), "")
        areas.append((order, HomeArea(area.id, _names(area), floor_names, floor_id)))
    return {area.area_id: area for _, area in sorted(areas, key=lambda item: item[0])}


def _names(place: ar.AreaEntry | fr.FloorEntry) -> tuple[str, ...]:
    return place.name, *sorted(place.aliases)
