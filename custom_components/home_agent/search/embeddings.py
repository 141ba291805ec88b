"""Vectors of texts from a model behind an endpoint, in batches and cached; a turn does not wait long for it."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from homeassistant.core import HomeAssistant
from homeassistant.helpers.storage import STORAGE_DIR
import orjson

from ..client.chat_completions import Connection, keep_alive_of, read
from ..client.error_map import ErrorMap, wait_before_retry
from ..languages.personal_data import mask
from ..settings.endpoint import EndpointConfig, normalize_base_url
from ..settings.search import OLLAMA, RetrievalSettings
from ..support.const import DOMAIN
from ..support.encoding import dump
from ..support.errors import (
    EmbeddingError,
    LLMAuthError,
    LLMCertificateError,
    LLMConnectionError,
    LLMError,
    LLMLoadingError,
    LLMModelNotFoundError,
    LLMRateLimitError,
    LLMTimeoutError,
    StoreError,
)
from ..support.issues import RetrievalIssues
from ..support.outages import EMBEDDING, RetrievalBreaker
from .database import Database
from .model import async_load_numpy

if TYPE_CHECKING:
    import numpy as np

    from .model import VectorRows

    type Vector = np.ndarray[tuple[int], np.dtype[np.float32]]

VERSION = 1
MAX_IN_MEMORY = 256  # texts: repeated questions
MAX_IN_FILE = 20_000  # texts

TIMEOUT = 60.0  # seconds of silence: a model may have to be loaded first
RETRY_DELAY = 1.0  # seconds
MAX_RETRY_DELAY = 30.0  # seconds; an endpoint that asks for more is not waited for

_OF_ITS_TIME = 0.9  # share of the caller's time after which to raise
_KEYS: dict[type[LLMError], str] = {
    LLMTimeoutError: "embedding_timeout",
    LLMLoadingError: "embedding_loading",
    LLMCertificateError: "embedding_certificate",
    LLMAuthError: "embedding_auth",
    LLMRateLimitError: "embedding_rate_limit",
    LLMModelNotFoundError: "embedding_model",
    LLMConnectionError: "embedding_unreachable",
    LLMError: "embedding_answer",
}
"""Translation keys of an endpoint's errors; subclasses come first."""

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS vectors (model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL,
    used INTEGER NOT NULL, UNIQUE (model, digest))""",
    "CREATE INDEX IF NOT EXISTS by_use ON vectors (used)",
)


def database_of(hass: HomeAssistant) -> Database:
    """Return the file in Home Assistant's storage."""
    return Database(Path(hass.config.path(STORAGE_DIR, f"{DOMAIN}.embeddings.db")), VERSION, _SCHEMA)


def digest_of(text: str) -> bytes:
    """Return the key of a text in the cache, which holds no texts."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


@dataclass(eq=False, slots=True)
class EmbeddingCache:
    """Vectors of one model by content, in memory and, ignoring errors, in a file. Only `get` and `put` are fast."""

    _database: Database
    _model: str
    _memory: OrderedDict[bytes, Vector] = field(default_factory=OrderedDict)

    def get(self, digest: bytes) -> Vector | None:
        """Return a vector from memory, None without one."""
        if (vector := self._memory.get(digest)) is not None:
            self._memory.move_to_end(digest)
        return vector

    def put(self, digest: bytes, vector: Vector) -> None:
        """Keep a vector in memory."""
        self._memory[digest] = vector
        while len(self._memory) > MAX_IN_MEMORY:
            self._memory.popitem(last=False)

    def read(self, digests: Iterable[bytes]) -> dict[bytes, Vector]:
        """Return the vectors in the file by digest."""
        import numpy as np

        found: dict[bytes, Vector] = {}
        with suppress(StoreError), self._database.reading() as connection:
            query = "SELECT vector FROM vectors WHERE model=? AND digest=?"
            for digest in digests:
                if (row := connection.execute(query, (self._model, digest)).fetchone()) is not None:
                    found[digest] = np.frombuffer(row[0], dtype="<f4").astype(np.float32)
        return found

    def write(self, vectors: Mapping[bytes, Vector], used: Iterable[bytes] = ()) -> None:
        """Write vectors to the file, and mark others as used; the least recently used ones are deleted."""
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
        """Drop vectors of another length: another model has the name now."""
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
        """Close the file for good."""
        self._database.ended = True
        self._database.close()


class EmbeddingsApi:
    """One endpoint with one model: OpenAI's `/v1/embeddings`, which most servers have, or Ollama's own."""

    def __init__(self, hass: HomeAssistant, settings: RetrievalSettings) -> None:
        """Prepare; nothing is sent."""
        self._hass = hass
        self._settings = settings
        self._native = settings.embedding_preset == OLLAMA
        preset = "custom" if self._native else settings.embedding_preset
        base_url = normalize_base_url(settings.embedding_url, preset)
        self.title = f"{settings.embedding_model} ({urlsplit(base_url).netloc.rpartition('@')[2]})"
        if self._native:  # its OpenAI-compatible path has no keep-alive
            base_url = f"{base_url.removesuffix('/v1')}/api"
        config = EndpointConfig(
            subentry_id="",
            title=self.title,
            base_url=base_url,
            api_key=settings.embedding_key,
            model=settings.embedding_model,
            preset=preset,
            verify_ssl=settings.embedding_verify_ssl,
            idle_timeout=TIMEOUT,
        )
        self._errors = ErrorMap(self.title, settings.embedding_key)
        self._connection = Connection(hass, config, self._errors)

    async def async_embed(self, texts: Sequence[str], *, patient: bool) -> VectorRows:
        """Return one normalized row per text, from a single request. Raises `EmbeddingError`.

        With `patient`, a temporary failure is repeated once, and a model that is being loaded is waited for.
        """
        try:
            try:
                raw = await self._async_ask(texts, TIMEOUT if patient else 0)
            except LLMError as err:
                wait = wait_before_retry(err, default=RETRY_DELAY, limit=MAX_RETRY_DELAY)
                if not patient or wait is None:
                    raise
                await asyncio.sleep(wait)
                raw = await self._async_ask(texts, TIMEOUT)
        except LLMError as err:
            key = next(key for kind, key in _KEYS.items() if isinstance(err, kind))
            detail = (err.translation_placeholders or {}).get("detail", "")
            raise EmbeddingError(key, endpoint=self.title, detail=detail) from err
        try:
            return await self._hass.async_add_executor_job(_vectors, raw, len(texts))
        except (ValueError, TypeError, KeyError, AttributeError) as err:
            raise EmbeddingError("embedding_answer", endpoint=self.title, detail=str(err)[:100]) from err

    async def _async_ask(self, texts: Sequence[str], patience: float) -> bytes:
        """Return the answer's body; `patience` is the seconds to wait for a model that is being loaded. Raises `LLMError`."""
        body: dict[str, Any] = {"model": self._settings.embedding_model, "input": list(texts)}
        if self._native and (keep_alive := keep_alive_of(self._settings.embedding_keep_alive)) is not None:
            body["keep_alive"] = keep_alive
        path = "/embed" if self._native else "/embeddings"
        response = await self._connection.open(path, dump(body), patience=patience)
        try:
            async with aclosing(read(response, self._errors, seconds=TIMEOUT)) as parts:
                return b"".join([part async for part in parts])
        finally:
            await response.close()


def _vectors(raw: bytes, count: int) -> VectorRows:
    """Return the rows of an answer. Raises `ValueError` and others unless it has `count` vectors of one length."""
    import numpy as np

    answer = orjson.loads(raw)
    if (rows := answer.get("embeddings")) is None:
        rows = [item["embedding"] for item in sorted(answer["data"], key=lambda item: item.get("index", 0))]
    if len(rows) != count:
        raise ValueError(f"{len(rows)}/{count}")
    with np.errstate(over="ignore"):  # too large values become infinite, and are refused below
        vectors = np.array(rows, dtype=np.float32)
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise ValueError("lengths differ")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("NaN")
    vectors /= lengths
    return vectors


class EndpointEmbedder:
    """Embeds texts with an endpoint and a cache."""

    def __init__(self, hass: HomeAssistant, settings: RetrievalSettings, reporter: RetrievalIssues) -> None:
        """Prepare; nothing is sent."""
        self._hass = hass
        self._api = EmbeddingsApi(hass, settings)
        self._masks = settings.embedding_leaves_the_house  # whether personal data is masked
        self._batch = max(1, settings.embedding_batch)
        self._cache = EmbeddingCache(database_of(hass), settings.embedding_model)
        self._length: int | None = None  # dimension of the newest vectors
        self._asking: dict[tuple[str, ...], asyncio.Task[VectorRows]] = {}
        """Requests of turns by their texts; they go on after a turn's time-out."""
        self.key = f"model {settings.embedding_model}"
        self.health = RetrievalBreaker(EMBEDDING, self._api.title, reporter)

    async def async_embed(self, texts: Sequence[str], *, within: float | None = None) -> VectorRows:
        """Return one normalized row per text, with one attempt if a turn waits `within` seconds. Raises `RetrievalError`."""
        await async_load_numpy(self._hass)
        import numpy as np

        if self._masks:
            texts = await self._hass.async_add_executor_job(lambda unmasked: [*map(mask, unmasked)], texts)
        digests = [digest_of(text) for text in texts]
        by_digest = dict(zip(digests, texts, strict=True))
        known = {digest: vector for digest in by_digest if (vector := self._cache.get(digest)) is not None}
        if within is None and (unknown := by_digest.keys() - known.keys()):
            known |= await self._hass.async_add_executor_job(self._cache.read, unknown)
        found = await self._async_missing(by_digest, known, within)
        return np.stack([found[digest] for digest in digests]) if digests else np.zeros((0, 0), dtype=np.float32)

    async def async_forget(self) -> None:
        """Empty the cache: another model may have the same name now."""
        await self._hass.async_add_executor_job(self._cache.forget)

    async def async_close(self) -> None:
        """Cancel pending requests, and close the cache."""
        self.health.ended = True
        for task in self._asking.values():
            task.cancel()
        await self._hass.async_add_executor_job(self._cache.close)

    async def _async_missing(
        self, texts: dict[bytes, str], known: dict[bytes, Vector], within: float | None, *, again: bool = False
    ) -> dict[bytes, Vector]:
        """Return the vectors of all texts, unknown ones from the endpoint. Raises `EmbeddingError`.

        If the lengths differ, another model has the name now: all texts are embedded `again`, once.
        """
        due = [digest for digest in texts if digest not in known]
        made: dict[bytes, Vector] = {}
        for start in range(0, len(due), self._batch):
            batch = due[start : start + self._batch]
            async with self.health.watched(now=within is None):
                vectors = await self._async_batch([texts[digest] for digest in batch], within)
            if any(vector.size != vectors.shape[1] for vector in (*known.values(), *made.values())):
                if again:
                    raise EmbeddingError("embedding_answer", endpoint=self._api.title, detail="lengths differ")
                return await self._async_missing(texts, {}, within, again=True)
            made |= zip(batch, vectors, strict=True)
            if within is None:
                await self._hass.async_add_executor_job(self._cache.write, dict(zip(batch, vectors, strict=True)))
        if within is None and known:
            await self._hass.async_add_executor_job(self._cache.write, {}, known)
        return known | made

    async def _async_batch(self, texts: Sequence[str], within: float | None) -> VectorRows:
        if within is None:
            return await self._async_asked(texts, patient=True)
        # A time-out does not cancel the request: a server that loads its model would start again with each question, and
        # the next question gets the answer. Searches for entities and documents with the same words share a request.
        if (task := self._asking.get(key := tuple(texts))) is None:
            task = self._hass.async_create_background_task(
                self._async_asked(texts, patient=False), "home_agent embedding", eager_start=True
            )
            self._asking[key] = task

            def forget(done: asyncio.Task[VectorRows]) -> None:
                self._asking.pop(key, None)
                if not done.cancelled():
                    done.exception()  # retrieved here, as it is reported already

            task.add_done_callback(forget)
        await asyncio.wait({task}, timeout=within * _OF_ITS_TIME)
        if not task.done() or task.cancelled():  # cancelled with the entry
            raise EmbeddingError("embedding_timeout", endpoint=self._api.title, detail=f"{within:g}")
        return task.result()

    async def _async_asked(self, texts: Sequence[str], *, patient: bool) -> VectorRows:
        """Return the vectors of one request; those of questions are kept in memory, as questions repeat."""
        vectors = await self._api.async_embed(texts, patient=patient)
        if (length := vectors.shape[1]) != self._length:
            await self._hass.async_add_executor_job(self._cache.keep_only, length)
            self._length = length
        if not patient:
            for text, vector in zip(texts, vectors, strict=True):
                self._cache.put(digest_of(text), vector)
        return vectors


class NoEmbedder:
    """Stands for a missing model: all documents get the same vector, as a store needs one."""

    key = "text 1"
    health = None

    def __init__(self, hass: HomeAssistant) -> None:
        """Prepare."""
        self._hass = hass

    async def async_embed(self, texts: Sequence[str], *, within: float | None = None) -> VectorRows:
        """Return one row of one number per text. Raises `RetrievalError` without numpy."""
        await async_load_numpy(self._hass)
        import numpy as np

        return np.ones((len(texts), 1), dtype=np.float32)

    async def async_forget(self) -> None:
        """Do nothing."""

    async def async_close(self) -> None:
        """Do nothing."""
