"""The vectors of an embedding endpoint, to see what they add: asked by the integration's own client."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from homeassistant.core import HomeAssistant
import numpy as np

from custom_components.home_agent.search.embeddings import EmbeddingsApi
from custom_components.home_agent.search.entity_documents import EntityDocument
from custom_components.home_agent.settings.search import ENDPOINT, RetrievalSettings

type Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]
type Cosines = Callable[[str], Awaitable[Sequence[tuple[str, float]]]]
"""Text to entity ids with their cosine, nearest first."""
type Near = Callable[[str, int], Awaitable[Sequence[str]]]
"""Text and limit to entity ids, nearest first."""


BATCH = 16  # texts in one request: a model on this machine has to answer within a minute


class Nearest:
    """Embeds homes and requests; what was embedded once is kept while this runs."""

    def __init__(self, url: str, model: str, threshold: float) -> None:
        """Take the endpoint, and the least cosine of what is near."""
        self._settings = RetrievalSettings(
            embedding=ENDPOINT,
            embedding_preset="custom",
            embedding_url=url,
            embedding_model=model,
            embedding_batch=BATCH,
        )
        self._threshold = threshold
        self._known: dict[str, np.ndarray[tuple[int], np.dtype[np.float32]]] = {}

    async def async_index(self, hass: HomeAssistant, documents: Iterable[EntityDocument]) -> Near:
        """Embed a home; return who finds what is near in it."""
        cosines = await self.async_cosines(hass, documents)

        async def async_near(text: str, limit: int) -> Sequence[str]:
            return [key for key, cosine in (await cosines(text))[:limit] if cosine >= self._threshold]

        return async_near

    async def async_cosines(self, hass: HomeAssistant, documents: Iterable[EntityDocument]) -> Cosines:
        """Embed a home; return who tells how near all of it is to a text."""
        texts = {document.entity_id: document.text for document in documents}
        ids, vectors = list(texts), await self._async_embed(hass, list(texts.values()))

        async def async_cosines(text: str) -> Sequence[tuple[str, float]]:
            cosine = vectors @ (await self._async_embed(hass, [text]))[0]
            return [(ids[row], float(cosine[row])) for row in np.argsort(-cosine)]

        return async_cosines

    async def _async_embed(self, hass: HomeAssistant, texts: Sequence[str]) -> Vectors:
        api = EmbeddingsApi(hass, self._settings)
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(missing), self._settings.embedding_batch):
            batch = missing[start : start + self._settings.embedding_batch]
            self._known.update(zip(batch, await api.async_embed(batch, patient=True), strict=True))
        return np.stack([self._known[text] for text in texts])
