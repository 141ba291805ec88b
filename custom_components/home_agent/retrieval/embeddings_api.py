"""Requests to an embedding endpoint: OpenAI's `/v1/embeddings`, which most servers speak, and Ollama's own."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from homeassistant.core import HomeAssistant
from openai import APIStatusError
import orjson

from ..client.base import EndpointConfig
from ..client.connection import Connection, read
from ..client.dialect import keep_alive_of
from ..client.error_map import ErrorMap, wait_before_retry
from ..client.presets import normalize_base_url
from ..client.wire import dump
from ..errors import (
    EmbeddingError,
    LLMAuthError,
    LLMCertificateError,
    LLMConnectionError,
    LLMError,
    LLMModelNotFoundError,
    LLMRateLimitError,
    LLMTimeoutError,
)
from .settings import OLLAMA, RetrievalSettings

if TYPE_CHECKING:
    from .base import Vectors

TIMEOUT = 60.0  # seconds without a sign of life: a model may have to be loaded first
RETRY_DELAY = 1.0  # seconds (D-9)
MAX_RETRY_DELAY = 30.0  # seconds that an endpoint may ask for while nobody waits

_KEYS: dict[type[LLMError], str] = {
    LLMTimeoutError: "embedding_timeout",
    LLMCertificateError: "embedding_certificate",
    LLMAuthError: "embedding_auth",
    LLMRateLimitError: "embedding_rate_limit",
    LLMModelNotFoundError: "embedding_model",
    LLMConnectionError: "embedding_unreachable",
    LLMError: "embedding_answer",
}
"""What an endpoint's errors are called here; the first that fits, so subclasses come first."""


class EmbeddingsApi:
    """One endpoint with one model."""

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

    async def async_embed(self, texts: Sequence[str], *, patient: bool) -> Vectors:
        """Return one normalised row per text, all of them in one request; with `patient`, made once more if that may help.

        Raises `EmbeddingError`.
        """
        try:
            try:
                raw = await self._async_ask(texts)
            except LLMError as err:
                wait = wait_before_retry(err, default=RETRY_DELAY, limit=MAX_RETRY_DELAY)
                if not patient or wait is None:
                    raise
                await asyncio.sleep(wait)
                raw = await self._async_ask(texts)
        except LLMError as err:
            key = next(key for kind, key in _KEYS.items() if isinstance(err, kind))
            detail = (err.translation_placeholders or {}).get("detail", "")
            raise EmbeddingError(key, endpoint=self.title, detail=detail) from err
        try:
            return await self._hass.async_add_executor_job(_vectors, raw, len(texts))
        except (ValueError, TypeError, KeyError, AttributeError) as err:
            raise EmbeddingError("embedding_answer", endpoint=self.title, detail=str(err)[:100]) from err

    async def _async_ask(self, texts: Sequence[str]) -> bytes:
        """Return the answer. Raises `LLMError`."""
        body: dict[str, Any] = {"model": self._settings.embedding_model, "input": list(texts)}
        keep_alive = keep_alive_of(self._settings.embedding_keep_alive) if self._native else None
        if keep_alive is not None:
            body["keep_alive"] = keep_alive
        try:
            response = await self._connection.post("/embed" if self._native else "/embeddings", dump(body))
        except APIStatusError as err:
            raise self._errors.from_exception(err) from err
        try:
            async with aclosing(read(response, self._errors)) as parts:
                return b"".join([part async for part in parts])
        finally:
            await response.close()


def _vectors(raw: bytes, count: int) -> Vectors:
    """Return the rows of an answer. Raises `ValueError` and its like for anything but `count` vectors of one length."""
    import numpy as np

    answer = orjson.loads(raw)
    if "embeddings" in answer:
        rows = answer["embeddings"]
    else:
        data = answer["data"]
        rows = [item["embedding"] for item in sorted(data, key=lambda item: item.get("index", 0))]
    if len(rows) != count:
        raise ValueError(f"{len(rows)}/{count}")
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused below
        vectors = np.array(rows, dtype=np.float32)
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise ValueError("lengths differ")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("NaN")
    vectors /= lengths
    return vectors
