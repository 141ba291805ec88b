"""The settings of search and documents, from the options of the entry."""

from collections.abc import Mapping
from dataclasses import dataclass, field
import re
from typing import Any, Self

from .endpoint import is_public, normalize_base_url, preset_for
from .memory import MemorySettings, of_right_type

CONF_RETRIEVAL = "retrieval"  # key of the settings within the options
EMBEDDED, CHROMA = "embedded", "chroma"
LEXICAL, ENDPOINT = "lexical", "endpoint"
OLLAMA = "ollama"

_COLLECTION = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """Store, embedding and thresholds. Field names are the stored keys."""

    store: str = EMBEDDED
    chroma_host: str = "localhost"
    chroma_port: int = 8000
    chroma_tls: bool = False
    chroma_verify_ssl: bool = True
    chroma_token: str = field(default="", repr=False)
    chroma_tenant: str = "default_tenant"
    chroma_database: str = "default_database"
    collection: str = "home_entities"  # of the entities of the home
    top_k: int = 5  # most entities that are found by vector, besides those found by words
    similarity_threshold: float = 0.2
    """Least cosine of a match. It suits models whose unrelated texts are near 0 (`scripts/eval meaning`)."""
    embedding: str = LEXICAL
    embedding_preset: str = "openai"
    embedding_url: str = "https://api.openai.com/v1"
    embedding_key: str = field(default="", repr=False)
    embedding_verify_ssl: bool = True
    embedding_model: str = "text-embedding-3-small"
    embedding_keep_alive: str = "5m"  # for Ollama: a duration, seconds, or `-1` (forever)
    embedding_batch: int = 64  # texts per request
    additional_collections: tuple[str, ...] = ()
    additional_top_k: int = 5  # most matches in all additional collections together
    additional_l2_threshold: float = 250.0
    """Greatest distance of a match in collections with L2 distance; ours use the cosine."""

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Return the settings; unknown keys are ignored, and so are values of a wrong type, which are logged."""
        known = of_right_type(cls, options, CONF_RETRIEVAL)
        names = known.get("additional_collections")
        if names is not None:
            listed = collection_names(names) if isinstance(names, str) else tuple(names)
            memories = MemorySettings.from_options(options).collection  # its readers are limited
            known["additional_collections"] = tuple(name for name in listed if name != memories)
        return cls(**known)

    @property
    def place(self) -> tuple[object, ...]:
        """Identity of the store: settings that differ in it use different stores."""
        where = (self.chroma_host, self.chroma_port, self.chroma_tenant, self.chroma_database)
        return (self.store, *(where if self.store == CHROMA else ()))

    @property
    def embeds(self) -> bool:
        """Whether there is an embedding model."""
        return self.embedding == ENDPOINT

    @property
    def embedding_leaves_the_house(self) -> bool:
        """Whether texts to embed leave the home."""
        address = normalize_base_url(self.embedding_url, self.embedding_preset)
        return preset_for(self.embedding_preset).remote or is_public(address)

    def is_near(self, match: DocumentMatch) -> bool:
        """Return whether a match is near enough, by the metric of its collection."""
        if match.similarity is not None:
            return match.similarity >= self.similarity_threshold
        return match.distance <= self.additional_l2_threshold


def collection_names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list, each once."""
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def is_collection_name(name: str) -> bool:
    """Return whether every store accepts the name: 3 to 512 of `a-z A-Z 0-9 . _ -`, with a letter or digit at both ends."""
    return _COLLECTION.fullmatch(name) is not None


type Metadata = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMatch:
    """A document found by a store."""

    id: str
    text: str
    metadata: Metadata
    distance: float  # in the metric of the collection; smaller is nearer
    similarity: float | None
    """Cosine, at most 1; None if the collection has another metric (`l2`, `ip`)."""
