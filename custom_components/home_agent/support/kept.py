"""Kept things: rows of one kind in memory and in one file of Home Assistant's storage, and the registry of all kinds.

A kind is a subclass of `Kept`. The registry serves all of them: set-up, a backup, a deleted user, diagnostics, the end of the
entry. A kind is registered with one line in `agent/assembly.py` (docs/decisions/0048-kept-things-and-proposals.md).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

from homeassistant.auth import EVENT_USER_REMOVED
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import CALLBACK_TYPE, Event, HomeAssistant, callback
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.json import JsonObjectType

from .bounds import without_surplus
from .const import LOGGER
from .errors import where_of
from .rows import LONGEST, as_row, from_row
from .storage import SAVE_DELAY, Content, Report, StoredFile


@dataclass(frozen=True, slots=True)
class Change[Row]:
    """One row that was added (`before` is None), changed or dropped (`after` is None)."""

    before: Row | None
    after: Row | None


type ChangeListener[Row] = Callable[[Sequence[Change[Row]]], None]
"""Called with all changes of one step."""


class Kept[Row]:
    """The rows of one kind by key, oldest first. They outlive a reload of the entry, as does a turn that may still add to them."""

    file: ClassVar[str]
    """The name of the file, and of the kind in diagnostics."""
    row: ClassVar[type[Any]]
    """The dataclass of a row, unless the kind reads and writes rows by itself."""
    items: ClassVar[str] = "items"
    """The key of the list of rows in the file."""
    of_entry: ClassVar[bool] = False
    """Whether the name of the file ends with the id of the entry."""
    version: ClassVar[int] = 1
    """Of the form of the file; an older one goes through `migrate`."""
    delay: ClassVar[float] = SAVE_DELAY
    """Seconds after which a change is written, unless `async_write` is called."""
    reads_late: ClassVar[bool] = False
    """Whether the file is read with the first `async_load` and not with the set-up."""
    most: ClassVar[int | None] = None
    """How many rows are kept; beyond that, the oldest rows go, of the owner who has most. None: no bound of this form."""
    most_read: ClassVar[int] = 50_000
    """How many rows of a file are read, the last ones: more than are ever kept were not written by us."""
    longest: ClassVar[int] = LONGEST
    """Characters of the longest text of a row; a row with a longer one is left out."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty; `async_open` reads the file."""
        self._hass = hass
        self._rows: dict[Hashable, Row] = {}
        self._file: StoredFile | None = None
        self._is_loaded = False
        self._loading: asyncio.Task[None] | None = None
        self._listeners: list[ChangeListener[Row]] = []
        self._untold: deque[Sequence[Change[Row]]] = deque()
        self.revision = 0
        """Grows with each change."""

    # What a kind says

    def key(self, row: Row) -> Hashable:
        """Return the key of a row, its id by default; a new row replaces the one with its key."""
        return cast(Hashable, getattr(row, "id"))  # noqa: B009 - rows without an id have another key

    def read(self, data: Mapping[str, Any]) -> Row:
        """Return a row of the file. Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` for invalid data."""
        return cast(Row, from_row(self.row, data, longest=self.longest))

    def written(self, row: Row) -> JsonObjectType:
        """Return the form of a row in the file, by its own `as_dict` if it has one. Called in a worker thread."""
        own: Callable[[], JsonObjectType] | None = getattr(row, "as_dict", None)
        return own() if own else as_row(row)

    def is_written(self, row: Row) -> bool:
        """Return whether a row is written; others are in memory only."""
        return True

    def owner(self, row: Row) -> str | None:
        """Return the id of the user whose row it is, None for a row of the home; a user's rows go with the user."""
        return None

    def without_owner(self, row: Row) -> Row | None:
        """Return what stays of a row whose user was deleted, None if nothing does."""
        return None

    def surplus(self) -> Iterable[Row]:
        """Return the rows that are too many or too old; they are dropped after each change."""
        if self.most is None or len(self._rows) <= self.most:
            return ()
        kept = {self.key(row) for row in without_surplus(self._rows.values(), self.most, self.owner, lambda _: 1)}
        return [row for key, row in self._rows.items() if key not in kept]

    def index(self, changes: Sequence[Change[Row]]) -> None:
        """Follow changes in what the kind derives from its rows, before `surplus` is asked and listeners are called."""

    @classmethod
    def migrate(cls, version: int, content: Content) -> Content:
        """Return the content of a file of an older version in the present form. Called in a worker thread."""
        raise NotImplementedError

    async def async_read(self, file: StoredFile) -> Iterable[Row]:
        """Return the rows of the file. Never raises."""
        return await file.async_load_items(self.items, self.read, self.most_read)

    def content(self) -> Content:
        """Return what is written. Called in a worker thread: rows are never changed, only replaced."""
        return {self.items: [self.written(row) for row in list(self._rows.values()) if self.is_written(row)]}

    @property
    def counts(self) -> Mapping[str, int]:
        """Counts for diagnostics, without contents."""
        return {"rows": len(self._rows)}

    # From set-up to removal

    async def async_open(self, entry_id: str, report: Report) -> None:
        """Belong to an entry until it is unloaded, and read the file the first time. `report` is told of its troubles.

        Later, what is in memory stays, but for a file that could not be used: that is read again. Rows of users who were deleted
        meanwhile are dropped.
        """
        if self._file is not None and self._file.is_usable:
            await self._file.async_open(report)
        else:
            self._file, self._is_loaded = self._new_file(entry_id, report), False
        if self._is_loaded:
            for user_id in await self._async_deleted_users(self._rows.values()):
                await self.async_forget_user(user_id)
        elif not self.reads_late:
            await self.async_load()

    def _new_file(self, entry_id: str, report: Report) -> StoredFile:
        name = f"{self.file}.{entry_id}" if self.of_entry else self.file
        return StoredFile(
            self._hass, name, self.content, report, delay=self.delay, version=self.version, migrate=self.migrate
        )

    async def async_load(self) -> None:
        """Read the file if that was not done yet, once for all callers, even if one stops waiting. Never raises."""
        while not self._is_loaded and self._file is not None:  # an entry that is reloaded meanwhile brings another file
            if self._loading is None or self._loading.done():
                reading = self._async_load(self._file)
                self._loading = self._hass.async_create_background_task(reading, f"home_agent {self.file}")
            await asyncio.shield(self._loading)

    async def _async_load(self, file: StoredFile) -> None:
        found = [*await self.async_read(file)]
        deleted = await self._async_deleted_users(found)
        if file is not self._file:
            return
        earlier = self._rows
        self._rows = {self.key(row): row for row in found} | earlier
        self._is_loaded = True
        read = [Change[Row](None, row) for key, row in self._rows.items() if key not in earlier]
        changes = self._settled(read)
        if len(changes) > len(read) or earlier:
            file.async_changed()
        self._tell(changes)
        if self._forget(deleted):
            await file.async_write()

    async def async_write(self) -> bool:
        """Write now, so that what was dropped is off the disk, and return whether the disk has it. Never raises for a full disk."""
        await self.async_load()
        return self._file is not None and await self._file.async_write()

    async def async_flush(self) -> bool:
        """Write what is not yet written, and return whether the disk has it: to be awaited before a person is told that it is done."""
        return self._file is not None and await self._file.async_flush()

    async def async_close(self) -> None:
        """Write what is not yet written; a turn that still runs may add rows all the same."""
        if self._file is not None:
            await self._file.async_close()

    async def async_remove(self, entry_id: str) -> None:
        """Forget everything and delete the file; what a turn adds that still runs is not kept."""
        file = self._file or self._new_file(entry_id, lambda *_: None)
        self._file = None
        self.clear()
        await file.async_remove()

    async def async_forget_user(self, user_id: str) -> None:
        """Drop the rows of a user who was deleted, and write at once."""
        await self.async_load()
        if self._forget({user_id}):
            await self.async_write()

    def _forget(self, users: Collection[str]) -> bool:
        """Drop the rows of users, and return whether there were any."""
        left = [(row, self.without_owner(row)) for row in self._rows.values() if self.owner(row) in users]
        self.drop(row for row, stays in left if stays is None)
        self.put(*(stays for _, stays in left if stays is not None))
        return bool(left)

    async def _async_deleted_users(self, rows: Iterable[Row]) -> set[str]:
        """Return the owners of rows who are not users of Home Assistant; nothing while it has no users but those of the system."""
        users = await self._hass.auth.async_get_users()
        owners = {owner for row in rows if (owner := self.owner(row)) is not None}
        return (
            owners.difference(user.id for user in users) if any(not user.system_generated for user in users) else set()
        )

    # Rows

    @property
    def is_usable(self) -> bool:
        """Whether what is added now will be on the disk."""
        return self._file is not None and self._file.is_usable

    @property
    def is_stored(self) -> bool:
        """Whether a restart keeps what was changed and written last; a write that failed is tried again."""
        return self.is_usable and self._file is not None and not self._file.is_failing

    @callback
    def async_listen(self, listener: ChangeListener[Row]) -> CALLBACK_TYPE:
        """Call the listener when the file was read and after each change; return a function that stops that."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    @callback
    def put(self, *rows: Row, newest: bool = False) -> None:
        """Add rows, or replace those with their keys: in their place, or as the newest."""
        changes: list[Change[Row]] = []
        for row in rows:
            key = self.key(row)
            changes.append(Change(self._rows.pop(key, None) if newest else self._rows.get(key), row))
            self._rows[key] = row
        self._changed(changes)

    @callback
    def drop(self, rows: Iterable[Row]) -> None:
        """Drop rows by their keys."""
        keys = [self.key(row) for row in rows]
        self._changed([Change(self._rows.pop(key), None) for key in dict.fromkeys(keys) if key in self._rows])

    @callback
    def async_touch(self) -> None:
        """Write after the delay what a kind keeps beside its rows."""
        if self._file is not None and self._is_loaded:
            self._file.async_changed()

    @callback
    def clear(self) -> None:
        """Drop all rows."""
        self.drop(self._rows.values())

    def _changed(self, changes: Sequence[Change[Row]]) -> None:
        if not changes:
            return
        changes = self._settled(changes)
        rows = (row for change in changes for row in (change.before, change.after) if row is not None)
        is_due = any(map(self.is_written, rows))
        if is_due:  # before the file was read, it is written with it
            self.async_touch()
        self._tell(changes)

    def _settled(self, changes: Sequence[Change[Row]]) -> Sequence[Change[Row]]:
        """Index changes, drop what is too much, and return the changes with those drops."""
        self.revision += 1
        self.index(changes)
        gone = [Change(self._rows.pop(self.key(row)), None) for row in [*self.surplus()]]
        self.index(gone)
        return [*changes, *gone]

    def _tell(self, changes: Sequence[Change[Row]]) -> None:
        """Call the listeners; what one of them changes is told after all have heard of the changes before."""
        self._untold.append(changes)
        if len(self._untold) > 1:
            return
        try:
            while self._untold:
                for listener in tuple(self._listeners):
                    try:
                        listener(self._untold[0])
                    except Exception as err:  # noqa: BLE001 - what others make of a change does not undo it
                        LOGGER.error("A listener to changes of %s failed: %s", self.file, where_of(err))
                self._untold.popleft()
        finally:
            self._untold.clear()


class KeptThings:
    """The kept things of this Home Assistant, by kind."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start without kinds."""
        self._hass = hass
        self._kinds: dict[type[Kept[Any]], None] = {}
        self._things: dict[type[Kept[Any]], Kept[Any]] = {}

    @callback
    def async_register(self, *kinds: type[Kept[Any]]) -> None:
        """Keep things of these kinds from the next set-up of the entry on."""
        self._kinds |= dict.fromkeys(kinds)

    def of[Thing: Kept[Any]](self, kind: type[Thing]) -> Thing:
        """Return the thing of a kind."""
        if kind not in self._things:
            self._things[kind] = kind(self._hass)
        return cast(Thing, self._things[kind])

    async def async_open(self, entry: ConfigEntry[Any], report: Report) -> None:
        """Open all; from now until the entry is unloaded, drop the rows of each user who is deleted. Then close all."""

        @callback
        def forget(event: Event[Any]) -> None:
            for kind in self._kinds:
                forgetting = self.of(kind).async_forget_user(event.data["user_id"])
                entry.async_create_task(self._hass, forgetting, f"home_agent {kind.file} of a deleted user")

        entry.async_on_unload(self._hass.bus.async_listen(EVENT_USER_REMOVED, forget))
        for kind in self._kinds:
            thing = self.of(kind)
            await thing.async_open(entry.entry_id, report)
            entry.async_on_unload(thing.async_close)

    async def async_flush(self) -> None:
        """Write what is not yet written: a backup is made."""
        for thing in [*self._things.values()]:
            await thing.async_flush()

    async def async_remove(self, entry_id: str) -> None:
        """Forget everything, in memory and on the disk; a file that cannot be deleted is logged and left."""
        left: list[str] = []
        for kind in self._kinds:
            try:
                await self.of(kind).async_remove(entry_id)
            except OSError as err:
                left.append(f"{kind.file} ({err})")
        self.forget()
        if left:
            LOGGER.error("Not all files of Home Agent could be deleted: %s", ", ".join(left))

    @callback
    def forget(self) -> None:
        """Let go of all things in memory; the next set-up reads the files, as after a restart."""
        self._things.clear()

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the counts of each thing by the name of its kind."""
        return {kind.file: dict(self.of(kind).counts) for kind in self._kinds}


_KEPT: HassKey[KeptThings] = HassKey("home_agent_kept")


def kept_things(hass: HomeAssistant) -> KeptThings:
    """Return the kept things of this Home Assistant."""
    if _KEPT not in hass.data:
        hass.data[_KEPT] = KeptThings(hass)
    return hass.data[_KEPT]


def kept_of[Thing: Kept[Any]](hass: HomeAssistant, kind: type[Thing]) -> Thing:
    """Return the kept thing of a kind."""
    return kept_things(hass).of(kind)
