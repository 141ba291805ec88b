"""The settings of the memory, from the options of the entry."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Self

from ..support.const import LOGGER

CONF_MEMORY = "memory"  # key of the settings within the options
EXTRACT_WITH_PROFILE, EXTRACT_WITH_EXTERNAL = "profile", "external"
HOME, USER = "home", "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """Switches, limits and times. Field names are the stored keys."""

    enabled: bool = True  # off: memories are neither read nor written; stored ones stay
    extraction: bool = False  # whether a model extracts memories after each answer
    extraction_llm: str = EXTRACT_WITH_PROFILE
    """`profile`: the model that answered; `external`: the agent's second model; or the subentry id of a model."""
    scope: str = HOME  # owner of new memories: the home, or the user who said it
    top_k: int = 5  # most memories that are sent with a question
    min_importance: float = 0.3  # of memories that are used, 0 to 1
    extraction_min_importance: float = 0.4  # of memories that are extracted, 0 to 1
    min_words: int = 3  # least number of words above 2 characters in an extracted memory
    learning: bool = True
    """Whether phrases that only the model understood are proposed to an administrator."""
    learning_after: int = 2
    """How often the model has to do the same for a phrase before it is proposed."""
    max_memories: int = 1000  # above it, the least useful extracted memory is deleted
    dedup_threshold: float = 0.85  # similarity from which two memories are the same, 0 to 1
    importance_decay: float = 0.0
    """Share of its importance that an extracted memory loses per day without use."""
    fact_ttl: int = 0  # days until a memory of the type expires; 0: never. also the next three
    preference_ttl: int = 0
    context_ttl: int = 14
    event_ttl: int = 365
    cleanup_interval: int = 24
    """Hours between deletions of expired memories, which are not used before either."""
    collection: str = "home_agent_memories"
    """Name of the vectors' collection in the store of documents."""

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Return the settings; unknown keys are ignored, and so are values of a wrong type, which are logged."""
        return cls(**of_right_type(cls, options, CONF_MEMORY))

    @property
    def learns_after(self) -> int:
        """`learning_after`, or 0 if learning is off."""
        return max(1, self.learning_after) if self.enabled and self.learning else 0


_TAKEN: Mapping[type, tuple[type, ...]] = {float: (int, float), tuple: (tuple, list, str)}
"""Types of stored values by the type of the default, where these are more than that one."""


@cache
def _wrong(where: str, name: str, kind: str) -> None:
    """Log a stored value of a wrong type, once."""
    LOGGER.warning("The stored setting %s.%s is no %s; its default is used", where, name, kind)


def of_right_type(settings: type[Any], options: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the stored values of a class of settings by their names, without those whose type is not that of the default."""
    stored = options.get(key)
    found: dict[str, Any] = {}
    for item in fields(settings):
        value = stored.get(item.name) if isinstance(stored, Mapping) else None
        if value is None:
            continue
        kinds = _TAKEN.get(type(item.default), (type(item.default),))
        if isinstance(value, kinds) and isinstance(value, bool) is isinstance(item.default, bool):
            found[item.name] = value
        elif isinstance(item.default, int) and isinstance(value, float) and value.is_integer():
            found[item.name] = int(value)  # number selectors return floats
        else:
            _wrong(key, item.name, type(item.default).__name__)
    return found
