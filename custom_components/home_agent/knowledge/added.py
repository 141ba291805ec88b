"""What actions added to the documents, kept in Home Assistant's storage.

It outlives a reload of the entry, as an action may that adds a document: what it adds is known to whoever looks after the
documents by then.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.util.hass_dict import HassKey

from ..storage import Report, StoredFile
from .document import Entry

FILE = "knowledge"
"""What the file is called."""

type Follow = Callable[[], Awaitable[object]]


class Added:
    """The documents, and which collections of the store hold something of ours."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start with nothing read."""
        self._hass = hass
        self._file: StoredFile | None = None
        self._entries: dict[str, Entry] | None = None
        """By key; None: not read yet."""
        self.filled: set[str] = set()
        """Collections of the store that hold, or may hold, something of ours; kept, so that nothing stays that is gone."""
        self._follow: Follow | None = None
        self._changing = 0
        """How many actions are changing something that is not yet written."""

    def open(self, report: Report) -> StoredFile:
        """Return the file from now on, which is read again unless it is being changed; `report` is told of its troubles."""
        if self._file is None or not self._file.is_usable or not self._changing:
            self._entries = None
        self._file = StoredFile(self._hass, FILE, self._data, report)
        return self._file

    async def async_entries(self) -> dict[str, Entry]:
        """Return the documents by key, to be changed in place; read the first time. Never raises."""
        if self._entries is None and self._file is not None:
            found = await self._file.async_load_items("documents", Entry.from_dict)
            filled = await self._file.async_load(_collections_of) or set()
            if self._entries is None:  # nobody else read it meanwhile
                self._entries = {entry.key: entry for entry in found}
                self.filled = filled
        return self._entries if self._entries is not None else {}

    @contextmanager
    def changing(self) -> Generator[None]:
        """Keep what is known in memory, whoever opens the file meanwhile."""
        self._changing += 1
        try:
            yield
        finally:
            self._changing -= 1

    async def async_note(self, collection: str, *, filled: bool) -> None:
        """Keep in mind which collections of the store hold something of ours, until they are emptied."""
        if (collection in self.filled) is not filled:
            self.filled = self.filled ^ {collection}  # a new one: the file is written by another thread
            await self.async_write()

    async def async_write(self) -> None:
        """Write it down now."""
        if self._file is not None:
            await self._file.async_write()

    async def async_remove(self) -> None:
        """Forget everything, for ever: what an action adds that still runs is not kept."""
        if self._file is None:
            self.open(_tell_nobody)
        if self._file is not None:
            await self._file.async_remove()

    def follow(self, follow: Follow) -> None:
        """Have this called when a document was added by somebody who looks after them no longer."""
        self._follow = follow

    async def async_tell(self, by: Follow) -> None:
        """Let who looks after the documents know that something was added, unless it was done by them."""
        if self._follow is not None and self._follow != by:
            await self._follow()

    def _data(self) -> dict[str, Any]:
        documents = [asdict(entry) for entry in list((self._entries or {}).values())]
        return {"documents": documents, "collections": sorted(self.filled)}


ADDED: HassKey[Added] = HassKey("home_agent_added_documents")


def added_to(hass: HomeAssistant) -> Added:
    """Return what was added."""
    return hass.data.setdefault(ADDED, Added(hass))


async def async_filled(hass: HomeAssistant) -> set[str]:
    """Return the collections of the store that hold something of ours, as they were kept. Never raises."""
    file = StoredFile(hass, FILE, dict, _tell_nobody)
    return await file.async_load(_collections_of) or set()


async def async_remove_added(hass: HomeAssistant) -> None:
    """Forget what was added, in memory and on the disk."""
    await added_to(hass).async_remove()
    hass.data.pop(ADDED)


def _tell_nobody(_trouble: object, _name: str, _holds: bool) -> None:
    """Do nothing."""


def _collections_of(content: Mapping[str, Any]) -> set[str]:
    """Return the collections that were filled, as they were kept."""
    kept = content.get("collections")
    return {name for name in kept if isinstance(name, str)} if isinstance(kept, list) else set()
