"""The store that needs nothing: one file in Home Assistant's configuration."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant
from homeassistant.helpers.storage import STORAGE_DIR

from ..const import DOMAIN
from .base import Document, Match
from .embedded_file import EmbeddedFile
from .health import STORE, Health, Reporter
from .numeric import async_load_numpy

if TYPE_CHECKING:
    from .base import Vectors


def path_of(hass: HomeAssistant) -> Path:
    """Return the file."""
    return Path(hass.config.path(STORAGE_DIR, f"{DOMAIN}.documents.db"))


def delete_file(hass: HomeAssistant) -> None:
    """Delete everything that is kept here. Runs in the executor."""
    EmbeddedFile(path_of(hass)).database.delete()


class EmbeddedStore:
    """The `Store` in a file; see base.py. Cosine similarity."""

    def __init__(self, hass: HomeAssistant, reporter: Reporter) -> None:
        """Open nothing yet."""
        self._hass = hass
        self._reporter = reporter
        self._file = EmbeddedFile(path_of(hass))
        self.health = Health(STORE, self._file.database.path.name, reporter)

    async def async_open(self) -> None:
        """See whether the file can be used, and set aside what cannot. A later call opens what now fails."""
        await self._async_run(self._file.open)

    async def async_close(self) -> None:
        """Let go of the file."""
        await self._hass.async_add_executor_job(self._file.close)

    async def async_upsert(self, collection: str, documents: Sequence[Document], vectors: Vectors, key: str) -> None:
        """Add or replace documents, all of them or none."""
        if documents:
            await self._async_run(self._file.upsert, collection, documents, vectors, key, now=True)

    async def async_delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove documents."""
        if ids:
            await self._async_run(self._file.delete, collection, ids, now=True)

    async def async_digests(self, collection: str, key: str) -> dict[str, str]:
        """Return the digests of all documents by id."""
        return await self._async_run(self._file.digests, collection, key, now=True)

    async def async_documents(self, collection: str) -> list[Document]:
        """Return all documents of a collection."""
        return await self._async_run(self._file.documents, collection)

    async def async_query(self, collection: str, vector: Sequence[float], limit: int) -> list[Match] | None:
        """Return the nearest documents, nearest first."""
        return await self._async_run(self._file.query, collection, vector, limit)

    async def async_collections(self) -> dict[str, int]:
        """Return the collections with the number of their documents."""
        return await self._async_run(self._file.collections)

    async def async_drop(self, collection: str) -> None:
        """Delete a collection."""
        await self._async_run(self._file.drop, collection, now=True)

    async def _async_run[*Ts, T](self, job: Callable[[*Ts], T], *args: *Ts, now: bool = False) -> T:
        """Run a job on the file; tell the owner of what had to be set aside for it."""
        try:
            async with self.health.watched(now=now):
                await async_load_numpy(self._hass)
                return await self._hass.async_add_executor_job(job, *args)
        finally:
            await self._async_tell()

    async def _async_tell(self) -> None:
        """Tell the owner of files that had to be set aside, now or earlier: as long as they are there, so is the message."""
        database = self._file.database
        if database.has_set_aside:
            database.has_set_aside = False
            for name, reason in await self._hass.async_add_executor_job(database.set_aside):
                self._reporter.async_set_aside(name, reason)
