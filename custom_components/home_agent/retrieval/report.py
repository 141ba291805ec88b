"""How store and embedding are doing, for diagnostics and system health: counts and kinds of errors, no texts."""

from dataclasses import dataclass

from ..errors import RetrievalError
from .settings import ENDPOINT, RetrievalSettings
from .vectors import Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReport:
    """What is known now."""

    store: str
    """`embedded` or `chroma`."""
    embedding: str
    """`lexical`, or the model."""
    collections: dict[str, int] | None
    """Number of documents by collection; None: the store cannot be asked."""
    store_error: str | None
    """Key of the error that the store answers with, None when it works."""
    embedding_error: str | None
    """Key of the newest error of the model, None when it worked the last time, or was not asked yet."""

    @property
    def documents(self) -> int | None:
        """Number of documents in all collections."""
        return None if self.collections is None else sum(self.collections.values())


async def async_report(vectors: Vectors, settings: RetrievalSettings) -> StoreReport:
    """Ask the store, and look at how the model did."""
    collections: dict[str, int] | None = None
    error: str | None = None
    try:
        collections = await (await vectors.async_open()).async_collections()
    except RetrievalError as err:
        error = err.translation_key
    health = vectors.embedder.health
    return StoreReport(
        store=settings.store,
        embedding=settings.embedding_model if settings.embedding == ENDPOINT else settings.embedding,
        collections=collections,
        store_error=error,
        embedding_error=health.last_error.translation_key if health and health.last_error else None,
    )
