"""The shapes of retrieval: what is indexed, where it is kept, who turns text into vectors, what is found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.importlib import async_import_module
from homeassistant.requirements import async_process_requirements
from homeassistant.util.hass_dict import HassKey

from ..settings.search import Match, Metadata
from ..support.const import DOMAIN
from ..support.errors import RetrievalError
from ..support.outages import RetrievalBreaker

if TYPE_CHECKING:  # numpy is loaded where vectors are used, not with the integration
    import numpy as np

    type Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]
    """One row per text, each of length 1."""

_LOADED: HassKey[bool] = HassKey(f"{DOMAIN}_numpy")


async def async_load_numpy(hass: HomeAssistant) -> None:
    """Load numpy before vectors are first used, so that importing it takes no time from then on (decision 8).

    Raises `RetrievalError` when it cannot be had.

    Most installations have it: Home Assistant's camera needs it. Which version, Home Assistant's own constraints say.
    """
    if _LOADED in hass.data:
        return
    try:
        await async_process_requirements(hass, DOMAIN, ["numpy"], is_built_in=False)
        await async_import_module(hass, "numpy")
    except (HomeAssistantError, ImportError) as err:
        raise RetrievalError("numpy_missing", detail=type(err).__name__) from err
    hass.data[_LOADED] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text that can be found. Same id, same document: a new one replaces the old one."""

    id: str
    text: str
    metadata: Metadata = field(default_factory=dict)
    digest: str
    """Hash of text and metadata: what did not change is not embedded again."""


class Store(Protocol):
    """Where documents and their vectors are kept, in collections of one vector length each.

    Every method raises `StoreError` when the store cannot be reached or cannot be read, its subclass `StoreRefusedError`
    when the collection's vectors have another length, or when another program made it and it was to be changed.
    """

    async def async_open(self) -> None:
        """Get ready; called once, before everything else."""
        ...

    async def async_close(self) -> None:
        """Let go of files and connections. Never raises."""
        ...

    async def async_upsert(self, collection: str, documents: Sequence[Document], vectors: Vectors, key: str) -> None:
        """Add or replace documents, all of them or none. `key` names what made the vectors (`Embedder.key`).

        A collection is made with its first document; one that another key made is emptied first. The same key with another
        length of vectors is refused: what is there has to be dropped and made anew as a whole.
        """
        ...

    async def async_delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove documents; ids that are not there are ignored."""
        ...

    async def async_digests(self, collection: str, key: str) -> dict[str, str]:
        """Return the digests of all documents by id; empty when the collection is missing or of another key."""
        ...

    async def async_documents(self, collection: str) -> list[Document]:
        """Return all documents of a collection; empty when it is missing."""
        ...

    async def async_query(self, collection: str, vector: Sequence[float], limit: int) -> list[Match] | None:
        """Return the nearest documents, nearest first; None when there is no such collection."""
        ...

    async def async_collections(self) -> dict[str, int]:
        """Return the collections with the number of their documents."""
        ...

    async def async_drop(self, collection: str) -> None:
        """Delete a collection; nothing happens when it is missing."""
        ...


class Embedder(Protocol):
    """Turns text into vectors."""

    @property
    def health(self) -> RetrievalBreaker | None:
        """How it is doing; None where nothing can fail."""
        ...

    @property
    def key(self) -> str:
        """What made the vectors (kind, model); vectors of different keys are never compared."""
        ...

    async def async_embed(self, texts: Sequence[str], *, within: float | None = None) -> Vectors:
        """Return one normalised float32 row per text. Raises `RetrievalError`.

        `within` is given when a turn waits for it, in seconds: then there is one attempt, and none shortly after a failure.
        """
        ...

    async def async_forget(self) -> None:
        """Make vectors again that were made before. Never raises."""
        ...

    async def async_close(self) -> None:
        """Let go of files and connections. Never raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is looked for, and what is known about who asks."""

    text: str
    language: str = "en"
    area_id: str | None = None
    """Area of the asking device: what is there is a little more likely."""
    spoken_of: Sequence[str] = ()
    """Entity ids that this conversation was about, newest first."""
    previous: str = ""
    """What the user said before: a short follow-up ("and in the garden?") is read together with it."""
    habits: Mapping[str, float] = field(default_factory=dict)
    """How often this household acts on an entity, 0 to 1, by entity id."""
    allowed: Callable[[str], bool] | None = None
    """Whether an entity may be found; None: every one in the index."""
    limit: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An entity that a request may be about."""

    entity_id: str
    score: float
    """Higher is better; comparable within one answer only."""
    member: bool = False
    """Whether it belongs to a group that the request names, and so comes with all others of it."""


class Finder(Protocol):
    """Finds the entities that a request is about."""

    async def async_find(self, query: Query) -> list[Found]:
        """Return the best entities first, at most `query.limit`. Never raises for a store or endpoint that is away.

        All members of a group that the request names (an area, a floor, "all lights") come together.
        """
        ...
