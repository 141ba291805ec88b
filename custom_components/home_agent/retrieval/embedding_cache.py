"""Vectors that were paid for once: by content and model, in memory and in a file of their own.

Nothing depends on it: whatever goes wrong with the file, the endpoint is asked again.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
import time
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant
from homeassistant.helpers.storage import STORAGE_DIR

from ..const import DOMAIN
from ..errors import StoreError
from .database import Database

if TYPE_CHECKING:
    import numpy as np

    type Vector = np.ndarray[tuple[int], np.dtype[np.float32]]

VERSION = 1
MAX_IN_MEMORY = 256  # texts: what people ask, over and over
MAX_IN_FILE = 20_000  # texts

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS vectors (model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL,
    used INTEGER NOT NULL, UNIQUE (model, digest))""",
    "CREATE INDEX IF NOT EXISTS by_use ON vectors (used)",
)


def path_of(hass: HomeAssistant) -> Path:
    """Return the file."""
    return Path(hass.config.path(STORAGE_DIR, f"{DOMAIN}.embeddings.db"))


def digest_of(text: str) -> bytes:
    """Return what a text is known by: it is not kept itself."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def delete_file(hass: HomeAssistant) -> None:
    """Delete everything that is kept here. Runs in the executor."""
    Database(path_of(hass), VERSION, _SCHEMA).delete()


class EmbeddingCache:
    """Of one model. All but `get` and `put` runs in the executor."""

    def __init__(self, hass: HomeAssistant, model: str) -> None:
        """Open nothing yet."""
        self._model = model
        self._database = Database(path_of(hass), VERSION, _SCHEMA)
        self._memory: OrderedDict[bytes, Vector] = OrderedDict()

    def get(self, digest: bytes) -> Vector | None:
        """Return a vector that is in memory."""
        if (vector := self._memory.get(digest)) is not None:
            self._memory.move_to_end(digest)
        return vector

    def put(self, digest: bytes, vector: Vector) -> None:
        """Keep a vector in memory."""
        self._memory[digest] = vector
        while len(self._memory) > MAX_IN_MEMORY:
            self._memory.popitem(last=False)

    def read(self, digests: Iterable[bytes]) -> dict[bytes, Vector]:
        """Return the vectors that are in the file."""
        import numpy as np

        found: dict[bytes, Vector] = {}
        with suppress(StoreError), self._database.reading() as connection:
            for digest in digests:
                query = "SELECT vector FROM vectors WHERE model=? AND digest=?"
                if (row := connection.execute(query, (self._model, digest)).fetchone()) is not None:
                    found[digest] = np.frombuffer(row[0], dtype="<f4").astype(np.float32)
        return found

    def write(self, vectors: Mapping[bytes, Vector], used: Iterable[bytes] = ()) -> None:
        """Keep vectors in the file, and note which of those there were used; the least recently used leave."""
        now = int(time.time())
        rows = [(self._model, digest, vector.astype("<f4").tobytes(), now) for digest, vector in vectors.items()]
        with suppress(StoreError), self._database.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)
            connection.executemany(
                "UPDATE vectors SET used=? WHERE model=? AND digest=?", [(now, self._model, digest) for digest in used]
            )
            [count] = connection.execute("SELECT count(*) FROM vectors").fetchone()
            connection.execute(
                "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY used, rowid LIMIT ?)",
                (max(0, count - MAX_IN_FILE),),
            )

    def keep_only(self, length: int) -> None:
        """Drop the vectors of another length: the endpoint makes other ones under the model's name now."""
        for digest in [digest for digest, vector in self._memory.items() if vector.size != length]:
            del self._memory[digest]
        with suppress(StoreError), self._database.writing() as connection:
            query = "DELETE FROM vectors WHERE model=? AND length(vector)!=?"
            connection.execute(query, (self._model, 4 * length))

    def forget(self) -> None:
        """Drop all vectors of the model."""
        self._memory.clear()
        with suppress(StoreError), self._database.writing() as connection:
            connection.execute("DELETE FROM vectors WHERE model=?", (self._model,))

    def close(self) -> None:
        """Let go of the file, for good."""
        self._database.ended = True
        self._database.close()
