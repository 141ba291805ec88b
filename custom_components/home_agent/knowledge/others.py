"""Collections that other programs fill, found by their words: where there is no embedding model to ask them with."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
import time

from homeassistant.core import HomeAssistant

from ..errors import RetrievalError
from ..retrieval.base import Document
from ..retrieval.settings import ENDPOINT, RetrievalSettings
from ..retrieval.vectors import Vectors
from .document import passage_of_others
from .passage import Passage
from .search import Skipped

MAX_DOCUMENTS = 10_000  # of one collection; they are kept in memory
AGE = 3600.0  # seconds after which a collection is read again that has as many documents as before


@dataclass(frozen=True, slots=True)
class _Read:
    when: float
    count: int
    passages: Mapping[str, Passage]


class Others:
    """What the additional collections say; read now and then."""

    def __init__(self, vectors: Vectors, settings: RetrievalSettings, skipped: Skipped) -> None:
        """Read nothing yet."""
        self._vectors = vectors
        self._settings = settings
        self._skipped = skipped
        self._read: dict[str, _Read] = {}

    @property
    def passages(self) -> dict[str, Passage]:
        """Return all of them, by id."""
        return {key: passage for read in self._read.values() for key, passage in read.passages.items()}

    async def async_refresh(self, hass: HomeAssistant, own: Collection[str]) -> bool:
        """Read what is new, besides the owner's own collections; return whether something has changed.

        What was read stays while the server is away.
        """
        names = set(self._settings.additional_collections) - set(own) - {self._settings.collection}
        if self._settings.embedding == ENDPOINT or not names:
            return False
        before = dict(self._read)
        try:
            store = await self._vectors.async_open()
            counts = await store.async_collections()
            for name in names:
                if self._has_to_be_read(name, counts):
                    documents = await store.async_documents(name)
                    passages = await hass.async_add_executor_job(_passages, name, documents)
                    self._read[name] = _Read(time.monotonic(), counts[name], passages)
        except RetrievalError:  # who raised it has told the owner
            pass
        return before != self._read

    def _has_to_be_read(self, name: str, counts: Mapping[str, int]) -> bool:
        if name not in counts or counts[name] > MAX_DOCUMENTS:
            self._read.pop(name, None)
            self._skipped.async_say(name, f"more than {MAX_DOCUMENTS} documents" if name in counts else None)
            return False
        self._skipped.async_works(name)
        known = self._read.get(name)
        return known is None or known.count != counts[name] or time.monotonic() - known.when > AGE


def _passages(collection: str, documents: Collection[Document]) -> dict[str, Passage]:
    found = (passage_of_others(collection, item.id, item.text, item.metadata) for item in documents if item.text)
    return {passage.id: passage for passage in found}
