"""Vectors of a model behind an endpoint: in batches, each text once, and never long enough to keep a turn waiting."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant

from ..errors import EmbeddingError
from ..prompt.masking import mask
from .embedding_cache import EmbeddingCache, digest_of
from .embeddings_api import EmbeddingsApi
from .health import EMBEDDING, Health, Reporter
from .numeric import async_load_numpy
from .settings import RetrievalSettings

if TYPE_CHECKING:
    from .base import Vectors
    from .embedding_cache import Vector

_OF_ITS_TIME = 0.9  # of what the caller waits: the error is to arrive before the caller gives up


class EndpointEmbedder:
    """The `Embedder` that asks; see base.py."""

    def __init__(self, hass: HomeAssistant, settings: RetrievalSettings, reporter: Reporter) -> None:
        """Ask nothing yet."""
        self._hass = hass
        self._api = EmbeddingsApi(hass, settings)
        self._masks = settings.embedding_leaves_the_house
        """Whether personal data is hidden (D-4)."""
        self._batch = max(1, settings.embedding_batch)
        self._cache = EmbeddingCache(hass, settings.embedding_model)
        self._length: int | None = None
        """Of the newest vectors."""
        self._asking: dict[tuple[str, ...], asyncio.Task[Vectors]] = {}
        """What somebody waits for, or waited for in vain, by its texts."""
        self.key = f"model {settings.embedding_model}"
        self.health = Health(EMBEDDING, self._api.title, reporter)

    async def async_embed(self, texts: Sequence[str], *, within: float | None = None) -> Vectors:
        """Return one normalised row per text. Raises `RetrievalError`."""
        await async_load_numpy(self._hass)
        if self._masks:
            texts = await self._hass.async_add_executor_job(_masked, texts)
        digests = [digest_of(text) for text in texts]
        by_digest = dict(zip(digests, texts, strict=True))
        known = {digest: vector for digest in by_digest if (vector := self._cache.get(digest)) is not None}
        if within is None and (unknown := by_digest.keys() - known.keys()):
            known |= await self._hass.async_add_executor_job(self._cache.read, unknown)
        found = await self._async_missing(by_digest, known, within)
        return _stacked([found[digest] for digest in digests])

    async def async_forget(self) -> None:
        """Ask for every text again: the endpoint may have another model under the same name by now."""
        await self._hass.async_add_executor_job(self._cache.forget)

    async def async_close(self) -> None:
        """Give up what is still on its way, and let go of the cache."""
        self.health.ended = True
        for task in self._asking.values():
            task.cancel()
        await self._hass.async_add_executor_job(self._cache.close)

    async def _async_missing(
        self, texts: dict[bytes, str], known: dict[bytes, Vector], within: float | None, *, again: bool = False
    ) -> dict[bytes, Vector]:
        """Return the vectors of all texts, those that are not known from the endpoint. Raises `EmbeddingError`.

        When the lengths differ, another model has the name by now: all are asked for once more (`again`), and only once.
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

    async def _async_batch(self, texts: Sequence[str], within: float | None) -> Vectors:
        if within is None:
            return await self._async_asked(texts, patient=True)
        # Not broken off when it takes too long: a server that has to load its model first would begin anew with each
        # question, and who asks again after that gets the answer. Entities and documents are looked for at the same time,
        # with the same words: they are asked for once.
        if (task := self._asking.get(key := tuple(texts))) is None:
            task = self._hass.async_create_background_task(
                self._async_asked(texts, patient=False), "home_agent embedding", eager_start=True
            )
            self._asking[key] = task
            task.add_done_callback(partial(self._forget, key))
        await asyncio.wait({task}, timeout=within * _OF_ITS_TIME)
        if not task.done() or task.cancelled():  # broken off with the entry
            raise EmbeddingError("embedding_timeout", endpoint=self._api.title, detail=f"{within:g}")
        return task.result()

    async def _async_asked(self, texts: Sequence[str], *, patient: bool) -> Vectors:
        """Return the vectors of one request; those of what somebody asks are kept: people ask the same again."""
        vectors = await self._api.async_embed(texts, patient=patient)
        if (length := vectors.shape[1]) != self._length:
            await self._hass.async_add_executor_job(self._cache.keep_only, length)
            self._length = length
        if not patient:
            for text, vector in zip(texts, vectors, strict=True):
                self._cache.put(digest_of(text), vector)
        return vectors

    def _forget(self, key: tuple[str, ...], task: asyncio.Task[Vectors]) -> None:
        self._asking.pop(key, None)
        if not task.cancelled():
            task.exception()  # the owner knows already


def _masked(texts: Sequence[str]) -> list[str]:
    return [mask(text) for text in texts]


def _stacked(vectors: Sequence[Vector]) -> Vectors:
    import numpy as np

    return np.stack(vectors) if vectors else np.zeros((0, 0), dtype=np.float32)
