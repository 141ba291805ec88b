"""Files in Home Assistant's storage: reading never raises, a file is written whole or not at all, and troubles are reported.

They hold what people said and added. So a file that cannot be used is kept, what a person was told is done is written before
it is told, and a write that failed is tried again (docs/decisions/0055-what-was-told-is-on-the-disk.md).
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path
import re
from shutil import copy2
from tempfile import gettempprefix
from typing import Any, cast

from homeassistant.const import EVENT_HOMEASSISTANT_FINAL_WRITE
from homeassistant.core import CALLBACK_TYPE, Event, HassJob, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.event import async_call_later
from homeassistant.helpers.json import json_bytes
from homeassistant.helpers.storage import STORAGE_DIR, Store, UnsupportedStorageVersionError
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from .const import DOMAIN, LOGGER
from .encoding import storable

SAVE_DELAY = 10  # seconds
BEGINNING = 512  # bytes of a file that say whose it is
RETRY_DELAY = 30  # seconds until a file that could not be written is tried again; the next change tries sooner
PATIENCE = 5  # seconds that an answer waits for the disk

type Content = dict[str, Any]
type Stamp = tuple[int, int]
type Migrate = Callable[[int, Content], Content]
"""Takes the version of an older file and its content, and returns the content in the present form. Called in a worker thread."""


class Trouble(StrEnum):
    """What is wrong with a file; the key of the Repairs issue that says so."""

    BROKEN = "file_broken"
    """It was set aside, and a new file is written."""
    NEWER = "file_newer"
    """A newer version of Home Agent wrote it: it stays as it is, and nothing is written."""
    UNREADABLE = "file_unreadable"
    """The disk cannot read it: nothing is written until the next start."""
    UNWRITABLE = "file_unwritable"
    """The disk cannot write it: it is tried again."""


type Report = Callable[[Trouble, str, bool], None]
"""Called with a trouble, the name of the file, and whether the trouble holds (True) or is over."""


class _VersionedStore(Store[Content]):
    """A store that brings the content of an older version to the present form."""

    migrate: Migrate | None = None

    async def _async_migrate_func(self, old_version: int, minor_version: int, content: Content) -> Content:
        if (
            old_version == self.version and minor_version > self.minor_version
        ):  # else it would be written without what we do not know
            raise UnsupportedStorageVersionError(self.key, old_version, self.version)
        if self.migrate is None:
            raise NotImplementedError
        return await self.hass.async_add_executor_job(self.migrate, old_version, content)


class StoredFile:
    """One file of JSON; `content` returns what is written, and is called in a worker thread."""

    def __init__(
        self,
        hass: HomeAssistant,
        name: str,
        content: Callable[[], Content],
        report: Report,
        *,
        delay: float = SAVE_DELAY,
        version: int = 1,
        migrate: Migrate | None = None,
    ) -> None:
        """Take the name after the domain; a change is written after `delay` seconds."""
        self._hass = hass
        self._store = _store_of(hass, name, version, migrate)
        self._content = content
        self._report = report
        self._delay = delay
        self._timer: CALLBACK_TYPE | None = None
        self._due = 0.0  # when the timer ends, in the time of the loop
        self._writing = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None  # the write that waits for the one that runs
        self._changes = self._written = 0
        self._is_open = True
        self._is_slow = False  # an answer waited in vain for the write that still runs
        self._is_odd = False  # it had a value that JSON cannot hold
        _unwritten(hass).pop(self._store.key, None)  # what an earlier one could not write is not written over this one
        self.is_usable = True
        """Whether it could be read; otherwise it is not written either."""
        self.is_failing = False
        """Whether the last write failed, or takes too long; it is tried again."""

    async def async_load[Found](self, read: Callable[[Content], Found]) -> Found | None:
        """Return what `read` makes of the content in a worker thread; None if there is no file, or none that can be read.

        Never raises. A file for which `read` raises is set aside. Home Assistant itself sets aside and reports broken JSON.
        """
        if not self.is_usable:  # which was reported
            return None
        try:
            if (content := await self._store.async_load()) is not None:
                return await self._hass.async_add_executor_job(read, content)
            if await self._hass.async_add_executor_job(self._stamp) is not None:
                await self._async_set_aside("nothing in it")
        except UnsupportedStorageVersionError:
            self._give_up(Trouble.NEWER)
        except HomeAssistantError, OSError:
            self._give_up(Trouble.UNREADABLE)
        except Exception as err:  # noqa: BLE001 - JSON, but not what we write
            await self._async_set_aside(type(err).__name__)  # not its text, which can be what a user said
        return None

    async def async_load_items[Item](
        self, key: str, read: Callable[[Mapping[str, Any]], Item], most: int
    ) -> list[Item]:
        """Return the items of the list under a key, of more than `most` the last ones. Never raises.

        An item for which `read` raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` is left out. A copy of the
        file is kept if any is. If all of them are left out, the file is set aside.
        """
        lost = 0

        def read_all(content: Content) -> list[Item]:
            nonlocal lost
            if not isinstance(items := content[key], list):
                raise TypeError(key)
            found: list[Item] = []
            for item in items[-most:]:
                try:
                    found.append(read(item))
                except KeyError, TypeError, ValueError, AttributeError:
                    continue
            if items and not found:
                raise ValueError(key)
            if lost := len(items) - len(found):
                LOGGER.warning("%d items of %s cannot be read and are left out", lost, self._store.key)
            return found

        items = await self.async_load(read_all) or []
        if lost and (copy := await self._hass.async_add_executor_job(self._copy)) is not None:
            self._report(Trouble.BROKEN, copy, True)
        return items

    @property
    def is_written(self) -> bool:
        """Whether every change is on the disk."""
        return self._written == self._changes

    @callback
    def async_changed(self) -> None:
        """Write after the delay; after `async_close` with the next `async_write` or `async_open`, or at the stop."""
        self._changes += 1
        if self.is_usable:
            _unwritten(self._hass)[self._store.key] = self
            if self._is_open:
                self._write_in(self._delay)

    async def async_write(self) -> bool:
        """Write now, and return whether the disk has it. Never raises for a disk that is full, and waits no longer than `PATIENCE`."""
        self._changes += 1
        return await self.async_flush()

    async def async_flush(self) -> bool:
        """Write what is not yet written, and return whether the disk has all changes up to this call.

        All who call while a write runs share the one after it.
        """
        if self._written >= (changes := self._changes):
            return True
        if not self.is_usable or self._is_slow:
            return False
        _unwritten(self._hass)[self._store.key] = self
        if self._next is None:
            self._next = self._hass.async_create_task(
                self._async_write_next(), f"write {self._store.key}", eager_start=False
            )
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(self._next)
        except TimeoutError:
            self._is_slow = True
            self._tell(True)
        return self._written >= changes

    async def async_open(self, report: Report) -> None:
        """Belong to an entry again: write what was changed since `async_close`, and report to the new entry."""
        self._report, self._is_open, self.is_failing = report, True, False
        await self.async_flush()

    async def async_close(self) -> None:
        """Write what is not yet written; what cannot be, and later changes, with `async_write` or `async_open`, or at the stop."""
        self._is_open = False
        await self.async_flush()
        self._stop_timer()

    async def async_remove(self) -> None:
        """Delete it; nothing is written any more."""
        self.is_usable = False
        async with self._writing:  # a write that runs ends first
            self._cancel()
            await self._store.async_remove()

    async def _async_write_next(self) -> None:
        """Write as soon as no other write runs."""
        async with self._writing:
            self._next = None  # what changes from now on is for another one
            await self._async_write()

    async def _async_write(self) -> None:
        """Write, and check that the disk has it: the store only logs most troubles."""
        self._stop_timer()
        if not self.is_usable:
            return
        changes = self._changes
        content, before = await self._hass.async_add_executor_job(lambda: (self._taken(), self._stamp()))
        stopping = self._hass.is_stopping  # the store writes it at the end then, or there is no time to look at it
        try:
            await self._store.async_save(content)
        except OSError as err:
            LOGGER.error("%s cannot be written: %s", self._store.key, err)
        failing = not stopping and not await self._async_is_written(content, before)
        if failing and not self._is_odd and await self._hass.async_add_executor_job(_is_odd, content):
            self._is_odd = True
            await self._async_write()
            return
        self._is_slow = False
        self._tell(failing)
        if not failing:
            self._written = changes
        if self.is_written:
            self._forget()
        elif self._is_open:
            self._write_in(RETRY_DELAY if failing else self._delay)

    def _taken(self) -> Content:
        """Return what is written now. Called in a worker thread: one value that JSON cannot hold would keep all others off the disk."""
        content = self._content()
        return cast(Content, storable(content)) if self._is_odd or self._hass.is_stopping else content

    def _tell(self, failing: bool) -> None:
        """Report that it cannot be written, or that it can again."""
        if failing != self.is_failing:
            self.is_failing = failing
            self._report(Trouble.UNWRITABLE, self._store.key, failing)

    async def _async_is_written(self, content: Content, before: Stamp | None) -> bool:
        """Return whether the disk has the content; a file that was written is another one than before."""
        if await self._hass.async_add_executor_job(self._stamp) != before:
            return True
        try:  # a file system that does not tell one from the next
            found = await _store_of(
                self._hass, self._store.key.removeprefix(f"{DOMAIN}."), self._store.version
            ).async_load()
            return found is not None and json_bytes(found) == json_bytes(content)
        except HomeAssistantError, OSError, TypeError, ValueError:
            return False

    def _stamp(self) -> Stamp | None:
        """Return what identifies the file as it was written; None if there is none."""
        try:
            found = Path(self._store.path).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _write_in(self, seconds: float) -> None:
        """Write after so many seconds, unless it is written sooner."""

        async def write(_now: datetime) -> None:
            self._timer = None
            await self.async_flush()

        due = self._hass.loop.time() + seconds
        if self._timer is None or due < self._due:
            self._stop_timer()
            self._due = due
            job = HassJob(write, f"write {self._store.key}", cancel_on_shutdown=True)
            self._timer = async_call_later(self._hass, seconds, job)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer()
            self._timer = None

    def _cancel(self) -> None:
        self._stop_timer()
        self._forget()

    def _forget(self) -> None:
        """Leave it out of the writes at the stop."""
        if _unwritten(self._hass).get(self._store.key) is self:
            del _unwritten(self._hass)[self._store.key]

    def _give_up(self, trouble: Trouble, name: str | None = None) -> None:
        """Tell of a file that cannot be read, and write none in its place unless it was set aside."""
        self.is_usable = trouble is Trouble.BROKEN
        name = name or self._store.key
        LOGGER.warning("What was stored cannot be used (%s): %s", trouble.value, name)
        self._report(trouble, name, True)

    def _copy(self) -> str | None:
        """Keep a copy of the file as it is, and return its name; None if there is no file, or no room."""
        path = Path(self._store.path)
        try:
            written = dt_util.utc_from_timestamp(path.stat().st_mtime).isoformat()
            aside = Path(f"{path}.corrupt.{written}")  # one copy, however often it is read
            if not aside.exists():
                copy2(path, aside)
        except OSError as err:
            LOGGER.warning("No copy of %s could be made: %s", self._store.key, type(err).__name__)
            return None
        return aside.name

    async def _async_set_aside(self, error: str) -> None:
        aside = f"{self._store.path}.corrupt.{dt_util.utcnow().isoformat()}"
        try:
            await self._hass.async_add_executor_job(Path(self._store.path).rename, aside)
        except OSError:
            self._give_up(Trouble.UNREADABLE)
            return
        LOGGER.debug("%s is not what was written: %s", self._store.key, error)
        self._give_up(Trouble.BROKEN, Path(aside).name)


def _is_odd(content: Content) -> bool:
    """Return whether a content has a value that JSON cannot hold. Called in a worker thread."""
    try:
        json_bytes(content)
    except TypeError, ValueError, RecursionError:
        return True
    return False


_UNWRITTEN: HassKey[dict[str, StoredFile]] = HassKey("home_agent_unwritten")


def _unwritten(hass: HomeAssistant) -> dict[str, StoredFile]:
    """Return the files, by key, that are written when Home Assistant stops: the store itself gives up what it could not write once."""
    if _UNWRITTEN not in hass.data:
        files = hass.data[_UNWRITTEN] = dict[str, StoredFile]()

        async def write_all(_event: Event) -> None:
            for file in [*files.values()]:
                await file.async_flush()

        hass.bus.async_listen_once(EVENT_HOMEASSISTANT_FINAL_WRITE, write_all)
    return hass.data[_UNWRITTEN]


async def async_sweep(hass: HomeAssistant) -> None:
    """Delete what interrupted writes of our files have left behind; to be called before any is written."""
    ours = re.compile(rb'"key"\s*:\s*"%s\.' % DOMAIN.encode())

    def sweep() -> None:
        for path in Path(hass.config.path(STORAGE_DIR)).glob(f"{gettempprefix()}*"):
            with suppress(OSError):
                with path.open("rb") as file:
                    begins = file.read(BEGINNING)
                if ours.search(begins):
                    path.unlink()

    await hass.async_add_executor_job(sweep)


def _store_of(hass: HomeAssistant, name: str, version: int, migrate: Migrate | None = None) -> _VersionedStore:
    store = _VersionedStore(
        hass, version, f"{DOMAIN}.{name}", private=True, atomic_writes=True, serialize_in_event_loop=False
    )
    store.migrate = migrate
    return store
