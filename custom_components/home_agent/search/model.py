"""The shapes of retrieval: what is indexed, vectors, what is looked for and what is found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.importlib import async_import_module
from homeassistant.requirements import async_process_requirements
from homeassistant.util.hass_dict import HassKey

from ..settings.search import Metadata
from ..support.const import DOMAIN
from ..support.errors import RetrievalError

if TYPE_CHECKING:  # numpy is loaded where vectors are used, not with the integration
    import numpy as np

    type VectorRows = np.ndarray[tuple[int, int], np.dtype[np.float32]]
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
class FoundEntity:
    """An entity that a request may be about."""

    entity_id: str
    score: float
    """Higher is better; comparable within one answer only."""
    member: bool = False
    """Whether it belongs to a group that the request names, and so comes with all others of it."""
