"""Makes the store and the embedder that the owner chose."""

from homeassistant.core import HomeAssistant

from .base import Embedder, Store
from .chroma_store import ChromaStore
from .embedded_store import EmbeddedStore
from .endpoint_embedder import EndpointEmbedder
from .health import Reporter
from .lexical_embedder import LexicalEmbedder
from .settings import CHROMA, ENDPOINT, RetrievalSettings


def make_store(hass: HomeAssistant, settings: RetrievalSettings, reporter: Reporter) -> Store:
    """Return the store; nothing is opened or asked yet."""
    if settings.store == CHROMA:
        return ChromaStore(hass, settings, reporter)
    return EmbeddedStore(hass, reporter)


def make_embedder(hass: HomeAssistant, settings: RetrievalSettings, reporter: Reporter) -> Embedder:
    """Return what makes vectors; nothing is loaded or asked yet."""
    if settings.embedding == ENDPOINT:
        return EndpointEmbedder(hass, settings, reporter)
    return LexicalEmbedder(hass)
