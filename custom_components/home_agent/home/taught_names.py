"""Taught names: names that people of this home gave to an entity, an area or a floor.

A taught name is an alias in Home Assistant's own registries, so its sentences, the search and the model find it. Kept here is
who taught it, what waits for an administrator, what an administrator declined, and which changes of aliases the registries may
not have on the disk yet.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, override

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.storage import STORAGE_DIR
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType
from homeassistant.util.ulid import ulid_now

from ..support.kept import kept_of
from ..support.rows import as_row, from_row
from ..support.storage import Content, StoredFile
from ..support.text import phrase
from ..turn.proposal import Proposal, ProposalStatus, Proposed

AREA = "area:"
FLOOR = "floor:"
MAX_TAUGHT = 500
MAX_DECLINED = 100
"""Of more, the oldest may be proposed again."""
TAUGHT = "taught"
"""The word of this kind for a name that was approved."""
UNSAVED = "unsaved"
MAX_UNSAVED = 1_000
LOOK = timedelta(minutes=1)
"""How often it is looked whether the registries have been saved: they wait for seconds after a change, minutes after a start."""
SAVING = timedelta(seconds=10)
"""What is longer than a registry takes from collecting what it saves to its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaughtName(Proposal):
    """One name of one thing."""

    target: str
    """An entity id, `area:<id>` or `floor:<id>`."""
    name: str
    when: datetime

    def as_dict(self) -> JsonObjectType:
        """Return its form in the file and in responses, where an approved name is taught."""
        return as_row(self) | ({"status": TAUGHT} if self.status is ProposalStatus.APPROVED else {})


type NameKey = tuple[str, str]
"""A thing and the words of a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasChange:
    """An alias that was added or removed in a registry, which may not have it on the disk yet."""

    target: str
    name: str
    there: bool
    when: datetime


class TaughtNames(Proposed[TaughtName]):
    """The names that were taught, proposed and declined in this home."""

    file = "taught_names"
    row = TaughtName
    items = "names"
    most_read = 2_000
    most_of: ClassVar = {ProposalStatus.DECLINED: MAX_DECLINED}

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        super().__init__(hass)
        self._unsaved: dict[NameKey, AliasChange] = {}

    @override
    def key(self, row: TaughtName | AliasChange) -> NameKey:
        return row.target, phrase(row.name)

    @override
    async def async_read(self, file: StoredFile) -> Iterable[TaughtName]:
        self._unsaved = {self.key(one): one for one in await file.async_load(_unsaved_in) or ()} | self._unsaved
        return await super().async_read(file)

    @override
    def content(self) -> Content:
        return {**super().content(), UNSAVED: [as_row(one) for one in [*self._unsaved.values()]]}

    @override
    def owner(self, row: TaughtName) -> str | None:
        return row.user_id

    @override
    def without_owner(self, row: TaughtName) -> TaughtName | None:
        """Return nothing of a proposal; names that were taught stay with their things, as names of the home."""
        return None if row.status is ProposalStatus.PROPOSED else replace(row, user_id=None)

    @callback
    def async_start(self, entry: ConfigEntry[Any]) -> None:
        """Mend aliases that a registry lost, and follow entities that get another id, until the entry is unloaded."""
        for change in [*self._unsaved.values()]:
            known = aliases_of(self._hass, change.target) is not None
            if known and has_alias(self._hass, change.target, change.name) is not change.there:
                set_alias(self._hass, change.target, change.name, there=change.there)

        @callback
        def follow(event: Event[er.EventEntityRegistryUpdatedData]) -> None:
            data = event.data
            if data["action"] == "update" and (old := data.get("old_entity_id")) is not None:
                moved = [row for row in self.rows() if row.target == old]
                self.drop(moved)
                self.put(*(replace(row, target=data["entity_id"]) for row in moved))
                for change in [one for one in self._unsaved.values() if one.target == old]:
                    del self._unsaved[self.key(change)]
                    self._note_alias(replace(change, target=data["entity_id"]))

        @callback
        def give_up(_event: Event[Any]) -> None:
            """Mend nothing that was changed back by another hand."""
            self._forget_aliases(
                one for one in self._unsaved.values() if has_alias(self._hass, one.target, one.name) is not one.there
            )

        entry.async_on_unload(self._hass.bus.async_listen(er.EVENT_ENTITY_REGISTRY_UPDATED, follow))
        for event_type in _REGISTRIES:
            entry.async_on_unload(self._hass.bus.async_listen(event_type, give_up))
        entry.async_on_unload(async_track_time_interval(self._hass, self._async_look, LOOK, cancel_on_shutdown=True))

    @callback
    def async_note_alias(self, target: str, name: str, *, there: bool) -> None:
        """Note that an alias was added or removed, to do it again where Home Assistant ends before its registry is saved."""
        self._note_alias(AliasChange(target=target, name=name, there=there, when=dt_util.utcnow()))

    def _note_alias(self, change: AliasChange) -> None:
        self._unsaved.pop(self.key(change), None)
        self._unsaved[self.key(change)] = change
        if len(self._unsaved) > MAX_UNSAVED:
            del self._unsaved[next(iter(self._unsaved))]
        self.async_touch()

    def _forget_aliases(self, changes: Iterable[AliasChange]) -> None:
        """Forget changes that need no mending any more."""
        if gone := [self.key(change) for change in changes]:
            for key in gone:
                self._unsaved.pop(key, None)
            self.async_touch()

    async def _async_look(self, _now: datetime) -> None:
        """Forget the changes that the registries have saved."""
        if not self._unsaved:
            return
        folder = Path(self._hass.config.path(STORAGE_DIR))
        saved = await self._hass.async_add_executor_job(_saved_at, folder)
        changes = [*self._unsaved.values()]
        self._forget_aliases(one for one in changes if saved[_registry_of(one.target)] > one.when + SAVING)

    def get(self, target: str, name: str) -> TaughtName | None:
        """Return what is known of a name of a thing."""
        return self._rows.get((target, phrase(name)))

    @callback
    def async_note(self, target: str, name: str, status: ProposalStatus, user_id: str | None) -> None:
        """Note the status of a name; the user who proposed it stays the one who said it."""
        known = self.get(target, name)
        if known is not None and known.status is ProposalStatus.PROPOSED:
            user_id = known.user_id
        now = dt_util.utcnow()
        row = TaughtName(id=ulid_now(), target=target, name=name, status=status, user_id=user_id, when=now)
        self.put(row, newest=True)

    @callback
    def async_forget(self, target: str, name: str) -> None:
        """Forget a name of any status; its thing keeps it."""
        if (known := self.get(target, name)) is not None:
            self.drop([known])


def _unsaved_in(content: Content) -> list[AliasChange]:
    """Return the changes of aliases in a file; a release before this one wrote none."""
    found: list[AliasChange] = []
    for item in content.get(UNSAVED) or ():
        with suppress(KeyError, TypeError, ValueError):
            found.append(from_row(AliasChange, item))
    return found[-MAX_UNSAVED:]


_REGISTRIES: Mapping[Any, str] = {
    er.EVENT_ENTITY_REGISTRY_UPDATED: er.STORAGE_KEY,
    ar.EVENT_AREA_REGISTRY_UPDATED: ar.STORAGE_KEY,
    fr.EVENT_FLOOR_REGISTRY_UPDATED: fr.STORAGE_KEY,
}
"""The files of the registries by the events of their changes."""


def _registry_of(target: str) -> str:
    """Return the file of the registry that a thing is in."""
    return ar.STORAGE_KEY if target.startswith(AREA) else fr.STORAGE_KEY if target.startswith(FLOOR) else er.STORAGE_KEY


def _saved_at(folder: Path) -> dict[str, datetime]:
    """Return when the registries were saved, by the names of their files. Called in a worker thread."""
    found = dict.fromkeys(_REGISTRIES.values(), dt_util.utc_from_timestamp(0))
    for name in found:
        with suppress(OSError):
            found[name] = dt_util.utc_from_timestamp((folder / name).stat().st_mtime)
    return found


def taught_names_of(hass: HomeAssistant) -> TaughtNames:
    """Return the taught names of this home."""
    return kept_of(hass, TaughtNames)


# The registries, which keep the names.


def title_of(hass: HomeAssistant, target: str) -> str | None:
    """Return the first name of a thing, or None if it does not exist."""
    if target.startswith(AREA):
        area = ar.async_get(hass).async_get_area(target.removeprefix(AREA))
        return area.name if area else None
    if target.startswith(FLOOR):
        floor = fr.async_get(hass).async_get_floor(target.removeprefix(FLOOR))
        return floor.name if floor else None
    state = hass.states.get(target)
    return " ".join(state.name.split()) if state else None


def aliases_of(hass: HomeAssistant, target: str) -> list[str] | None:
    """Return the aliases of a thing as the registry has them, without its own name; None: it can have none."""
    if target.startswith(AREA):
        area = ar.async_get(hass).async_get_area(target.removeprefix(AREA))
        return sorted(area.aliases) if area else None
    if target.startswith(FLOOR):
        floor = fr.async_get(hass).async_get_floor(target.removeprefix(FLOOR))
        return sorted(floor.aliases) if floor else None
    entry = er.async_get(hass).async_get(target)
    return [alias for alias in entry.aliases if isinstance(alias, str)] if entry else None


def has_alias(hass: HomeAssistant, target: str, name: str) -> bool:
    """Return whether a thing has an alias of these words."""
    return any(phrase(alias) == phrase(name) for alias in aliases_of(hass, target) or ())


@callback
def set_alias(hass: HomeAssistant, target: str, name: str, *, there: bool) -> None:
    """Add an alias, behind all others, or remove those of these words; what else stands there stays in its order.

    It is on the disk with the next write of the taught names.
    """

    def changed(aliases: Iterable[er.AliasEntry]) -> list[er.AliasEntry]:
        kept = [one for one in aliases if not (isinstance(one, str) and phrase(one) == phrase(name))]
        return [*kept, name] if there else kept

    def changed_texts(aliases: Iterable[str]) -> set[str]:
        return {one for one in changed(aliases) if isinstance(one, str)}

    if target.startswith(AREA):
        areas, area_id = ar.async_get(hass), target.removeprefix(AREA)
        if (area := areas.async_get_area(area_id)) is not None:
            areas.async_update(area_id, aliases=changed_texts(area.aliases))
    elif target.startswith(FLOOR):
        floors, floor_id = fr.async_get(hass), target.removeprefix(FLOOR)
        if (floor := floors.async_get_floor(floor_id)) is not None:
            floors.async_update(floor_id, aliases=changed_texts(floor.aliases))
    elif (entry := er.async_get(hass).async_get(target)) is not None:
        # the list holds a placeholder for the entity's own name, which is no text
        er.async_get(hass).async_update_entity(target, aliases=changed(entry.aliases))
    taught_names_of(hass).async_note_alias(target, name, there=there)
