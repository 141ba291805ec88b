"""What the owner set about the memory, read once from the options of the entry."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

CONF_MEMORY = "memory"
"""Key of the settings within the options."""
EXTRACT_WITH_PROFILE, EXTRACT_WITH_EXTERNAL = "profile", "external"
HOME, USER = "home", "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """Switches, limits and times. The names of the fields are the keys under which they are stored."""

    enabled: bool = True
    """Off: nothing is read, written, offered to a model or asked of one. What is stored stays."""
    extraction: bool = False
    """Whether a model is asked after an answer what of it is worth keeping: it takes its time, and nobody asked to store that."""
    extraction_llm: str = EXTRACT_WITH_PROFILE
    """`profile`: the model that answered; `external`: the agent's external model; else the subentry id of a model."""
    scope: str = HOME
    """`home`: what is stored belongs to all; `user`: to the user who said it."""
    top_k: int = 5
    """How many memories are told with a question at most."""
    min_importance: float = 0.3
    """Least importance of what is told or found."""
    extraction_min_importance: float = 0.4
    """Least importance of what is extracted."""
    min_words: int = 3
    """Least number of words longer than 2 characters of what is extracted."""
    learning: bool = True
    """Whether phrases that only the model understood are proposed to be done without it; a person approves each."""
    learning_after: int = 2
    """How often the model has to do the same for a phrase before it is proposed."""
    max_memories: int = 1000
    """More are not kept: the least useful of those that were extracted goes first."""
    dedup_threshold: float = 0.85
    """Similarity from which on two memories say the same, 0 to 1."""
    importance_decay: float = 0.0
    """Share of its importance that an extracted memory loses with each day nobody used it; 0: none."""
    fact_ttl: int = 0
    """Days a fact is kept; 0: for ever. So the other three."""
    preference_ttl: int = 0
    context_ttl: int = 14
    event_ttl: int = 365
    cleanup_interval: int = 24
    """Hours between two looks for what has expired; what has is not used before either."""
    collection: str = "home_agent_memories"
    """Where the store of documents keeps the vectors, with an embedding model."""

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Return the settings; what is not stored keeps its default, keys of another version are left alone."""
        stored = options.get(CONF_MEMORY) or {}
        return cls(**{item.name: stored[item.name] for item in fields(cls) if stored.get(item.name) is not None})

    @property
    def learns_after(self) -> int:
        """How often a phrase has to be handled before it is proposed; 0: nothing is learned."""
        return max(1, self.learning_after) if self.enabled and self.learning else 0
