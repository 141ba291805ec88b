"""Data of retrieval: documents, vectors, queries and found entities."""

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

if TYPE_CHECKING:  # numpy is loaded with the first vectors, not with the integration
    import numpy as np

    type VectorRows = np.ndarray[tuple[int, int], np.dtype[np.float32]]
    """One row per text, each of length 1."""

_LOADED: HassKey[bool] = HassKey(f"{DOMAIN}_numpy")


async def async_load_numpy(hass: HomeAssistant) -> None:
    """Install and import numpy, in the version that Home Assistant requires. Raises `RetrievalError` if that fails."""
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
    """An indexed text; a new one with the same id replaces it."""

    id: str
    text: str
    metadata: Metadata = field(default_factory=dict)
    digest: str  # hash of text and metadata; an unchanged document is not embedded again


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query for entities, with its context."""

    text: str
    language: str = "en"
    area_id: str | None = None  # area of the asking device, whose entities are a little more likely
    spoken_of: Sequence[str] = ()  # entity ids that this conversation was about, newest first
    previous: str = ""  # the user's previous message, for a short follow-up ("and in the garden?")
    habits: Mapping[str, float] = field(default_factory=dict)  # frequency of actions on an entity, 0 to 1, by entity id
    allowed: Callable[[str], bool] | None = None  # returns whether an entity may be found; None: all may
    limit: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntity:
    """An entity that a request may be about."""

    entity_id: str
    score: float  # higher is better; comparable within one answer only
    member: bool = False  # whether the request names its group, so that all members are found
