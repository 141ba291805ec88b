"""The built-in store: one file in Home Assistant's configuration."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import json
from pathlib import Path
import sqlite3
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant
from homeassistant.helpers.storage import STORAGE_DIR

from ..settings.search import DocumentMatch
from ..support.const import DOMAIN
from ..support.encoding import plain_text
from ..support.errors import StoreRefusedError
from ..support.issues import RetrievalIssues
from ..support.outages import STORE, RetrievalBreaker
from .database import Database
from .model import Document, async_load_numpy

if TYPE_CHECKING:
    from .model import VectorRows


VERSION = 1

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS collections (name TEXT PRIMARY KEY, key TEXT NOT NULL, dimension INTEGER NOT NULL)",
    """CREATE TABLE IF NOT EXISTS documents (collection TEXT NOT NULL, id TEXT NOT NULL, digest TEXT NOT NULL,
    text TEXT NOT NULL, metadata TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE (collection, id))""",
)
_UPSERT = """INSERT INTO documents (collection, id, digest, text, metadata, vector) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (collection, id) DO UPDATE SET digest=excluded.digest, text=excluded.text, metadata=excluded.metadata,
    vector=excluded.vector"""


@dataclass(slots=True)
class _Matrix:
    ids: list[str]
    rows: dict[str, int]  # row by id
    vectors: VectorRows


def file_of(hass: HomeAssistant) -> Database:
    """Return the file in Home Assistant's storage."""
    return Database(Path(hass.config.path(STORAGE_DIR, f"{DOMAIN}.documents.db")), VERSION, _SCHEMA)


class EmbeddedStore:
    """The store in a file: cosine similarity, with the vectors of queried collections in memory."""

    def __init__(self, hass: HomeAssistant, reporter: RetrievalIssues) -> None:
        """Prepare; nothing is opened."""
        self._hass = hass
        self._database = file_of(hass)
        self._matrices: dict[str, _Matrix] = {}
        self._generation = 0  # generation of the file that they were read from
        self.health = RetrievalBreaker(STORE, self._database.path.name, reporter)

    async def async_open(self) -> None:
        """Open the file; create it again if it is damaged."""

        def open_file() -> None:
            self._database.ended = False
            with self._database.reading():
                self._matrices.clear()

        await self._async_run(open_file)

    async def async_close(self) -> None:
        """Close the file and free the memory. Never raises."""

        def close() -> None:
            with self._database.lock:
                self._database.ended = True
                self._database.close()
                self._matrices.clear()

        await self._hass.async_add_executor_job(close)

    async def async_upsert(self, collection: str, documents: Sequence[Document], vectors: VectorRows, key: str) -> None:
        """Add or replace all documents or none; a collection of another key is emptied first."""
        if documents:
            await self._async_run(self._upsert, collection, documents, vectors, key, now=True)

    def _upsert(self, collection: str, documents: Sequence[Document], vectors: VectorRows, key: str) -> None:
        import numpy as np

        name, dimension = plain_text(collection), int(vectors.shape[1])
        ids = [plain_text(document.id) for document in documents]
        with self._database.lock:
            with self._database.writing() as connection:
                known = _collection(connection, name)
                if known is not None and known[0] == key and known[1] != dimension:
                    raise self._other_length(collection, known[1], dimension)
                if known is not None and known[0] != key:
                    connection.execute("DELETE FROM documents WHERE collection=?", (name,))
                    self._matrices.pop(collection, None)
                connection.execute("INSERT OR REPLACE INTO collections VALUES (?, ?, ?)", (name, key, dimension))
                connection.executemany(
                    _UPSERT,
                    [
                        (name, item, doc.digest, plain_text(doc.text), json.dumps(dict(doc.metadata)), vector.tobytes())
                        for item, doc, vector in zip(ids, documents, vectors.astype("<f4"), strict=True)
                    ],
                )
            if (matrix := self._matrices.get(collection)) is not None:
                latest = {item: row for row, item in enumerate(ids)}
                for item in latest.keys() & matrix.rows.keys():
                    matrix.vectors[matrix.rows[item]] = vectors[latest.pop(item)]
                if latest:
                    matrix.rows |= {item: len(matrix.ids) + number for number, item in enumerate(latest)}
                    matrix.ids += latest
                    matrix.vectors = np.concatenate([matrix.vectors, vectors[list(latest.values())]])

    def _other_length(self, collection: str, has: int, wanted: int) -> StoreRefusedError:
        return StoreRefusedError(store=self._database.path.name, collection=collection, detail=f"{has}, {wanted}")

    async def async_delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove documents; unknown ids are ignored."""
        if gone := [(plain_text(collection), plain_text(item)) for item in ids]:
            await self._async_remove(collection, ("DELETE FROM documents WHERE collection=? AND id=?", gone))

    async def async_drop(self, collection: str) -> None:
        """Delete a collection, if it exists."""
        name = [(plain_text(collection),)]
        await self._async_remove(
            collection,
            ("DELETE FROM documents WHERE collection=?", name),
            ("DELETE FROM collections WHERE name=?", name),
        )

    async def _async_remove(self, collection: str, *statements: tuple[str, Sequence[tuple[str, ...]]]) -> None:
        def remove() -> None:
            with self._database.lock:
                with self._database.writing() as connection:
                    for statement, rows in statements:
                        connection.executemany(statement, rows)
                self._matrices.pop(collection, None)

        await self._async_run(remove, now=True)

    async def async_digests(self, collection: str, key: str) -> dict[str, str]:
        """Return the digests of all documents by id; empty if the collection is missing or of another key."""
        name = plain_text(collection)

        def digests(connection: sqlite3.Connection) -> dict[str, str]:
            known = _collection(connection, name)
            if known is None or known[0] != key:
                return {}
            return dict(connection.execute("SELECT id, digest FROM documents WHERE collection=?", (name,)))

        return await self._async_read(digests, now=True)

    async def async_documents(self, collection: str) -> list[Document]:
        """Return all documents of a collection in the order of their addition; empty if it is missing."""
        query = "SELECT id, text, metadata, digest FROM documents WHERE collection=? ORDER BY rowid"

        def documents(connection: sqlite3.Connection) -> list[Document]:
            return [
                Document(id=item, text=text, metadata=json.loads(metadata), digest=digest)
                for item, text, metadata, digest in connection.execute(query, (plain_text(collection),))
            ]

        return await self._async_read(documents)

    async def async_collections(self) -> dict[str, int]:
        """Return the number of documents by collection."""
        query = "SELECT name, (SELECT count(*) FROM documents WHERE collection = name) FROM collections ORDER BY name"
        return await self._async_read(lambda connection: dict(connection.execute(query)))

    async def async_query(self, collection: str, vector: Sequence[float], limit: int) -> list[DocumentMatch] | None:
        """Return the nearest documents, nearest first; None if the collection is missing."""

        def nearest(connection: sqlite3.Connection) -> list[DocumentMatch] | None:
            import numpy as np

            name = plain_text(collection)
            if (known := _collection(connection, name)) is None:
                return None
            wanted = np.asarray(vector, dtype=np.float32)
            if wanted.shape != (known[1],):
                raise self._other_length(collection, known[1], wanted.size)
            matrix = self._matrix(connection, collection, known[1])
            # `@` starts threads, which on a busy machine wait for each other longer than the sum takes.
            similarities = np.einsum("ij,j->i", matrix.vectors, wanted)
            query = "SELECT text, metadata FROM documents WHERE collection=? AND id=?"
            matches: list[DocumentMatch] = []
            order = np.argsort(-similarities, kind="stable")  # of equals the first
            for row in map(int, order[: max(0, limit)]):
                item, similarity = matrix.ids[row], min(1.0, float(similarities[row]))
                # Another program may have deleted it.
                if (found := connection.execute(query, (name, item)).fetchone()) is not None:
                    text, metadata, distance = found[0], json.loads(found[1]), 1.0 - similarity
                    match = DocumentMatch(
                        id=item, text=text, metadata=metadata, distance=distance, similarity=similarity
                    )
                    matches.append(match)
            return matches

        return await self._async_read(nearest)

    def _matrix(self, connection: sqlite3.Connection, collection: str, dimension: int) -> _Matrix:
        """Return the vectors of a collection, read from the file if they are not in memory or the file is another one."""
        import numpy as np

        if self._generation != self._database.generation:
            self._matrices.clear()
            self._generation = self._database.generation
        if (matrix := self._matrices.get(collection)) is None:
            ids: list[str] = []
            packed = bytearray()
            query = "SELECT id, vector FROM documents WHERE collection=?"
            for item, vector in connection.execute(query, (plain_text(collection),)):
                if len(vector) == 4 * dimension:
                    ids.append(item)
                    packed += vector
            vectors = np.frombuffer(packed, dtype="<f4").astype(np.float32).reshape(len(ids), dimension)
            matrix = self._matrices[collection] = _Matrix(ids, {item: row for row, item in enumerate(ids)}, vectors)
        return matrix

    async def _async_read[T](self, job: Callable[[sqlite3.Connection], T], *, now: bool = False) -> T:
        def read() -> T:
            with self._database.reading() as connection:
                return job(connection)

        return await self._async_run(read, now=now)

    async def _async_run[*Ts, T](self, job: Callable[[*Ts], T], *args: *Ts, now: bool = False) -> T:
        async with self.health.watched(now=now):
            await async_load_numpy(self._hass)
            return await self._hass.async_add_executor_job(job, *args)


def _collection(connection: sqlite3.Connection, name: str) -> tuple[str, int] | None:
    query = "SELECT key, dimension FROM collections WHERE name=?"
    known: tuple[str, int] | None = connection.execute(query, (name,)).fetchone()
    return known
