"""Vectors without a model: the words of a text and their pieces, each at a place that its letters determine.

Two texts are alike as far as they share words or parts of words. The same on every machine and in every run.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING
from zlib import crc32

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.importlib import async_import_module
from homeassistant.requirements import async_process_requirements
from homeassistant.util.hass_dict import HassKey

from ..support.const import DOMAIN
from ..support.errors import RetrievalError
from ..support.text import fold, grams, words

if TYPE_CHECKING:
    from .model import Vectors


DIMENSION = 512
AT_ONCE = 4  # texts that take too little time to be worth another thread
KEY = f"lexical 1 {DIMENSION}"
"""To be counted up whenever the same text becomes another vector."""

_PART = 0.5
"""Weight of all pieces of a word together, beside the word's own 1."""
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


class LexicalEmbedder:
    """The `Embedder` that needs nothing."""

    key = KEY
    health = None

    def __init__(self, hass: HomeAssistant) -> None:
        """Load nothing yet."""
        self._hass = hass

    async def async_embed(self, texts: Sequence[str], *, within: float | None = None) -> Vectors:
        """Return one row per text; a text without letters or digits is a row of zeros."""
        await async_load_numpy(self._hass)
        if len(texts) <= AT_ONCE:
            return vectors_of(texts)
        return await self._hass.async_add_executor_job(vectors_of, texts)

    async def async_forget(self) -> None:
        """Do nothing: nothing is kept."""

    async def async_close(self) -> None:
        """Do nothing: nothing is open."""


def vectors_of(texts: Sequence[str]) -> Vectors:
    """Return one normalised row per text."""
    import numpy as np

    vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
    for row, text in enumerate(texts):
        for feature, weight in features(text).items():
            hashed = crc32(feature.encode(errors="replace"))
            vectors[row, hashed % DIMENSION] += weight if hashed & 0x8000_0000 else -weight
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths > 0, lengths, 1)
    return vectors


def features(text: str) -> dict[str, float]:
    """Return what a text is made of, with weights: words, and groups of three characters of each."""
    found: dict[str, float] = {}
    for word, count in Counter(fold(word) for word in words(text)).items():
        weight = count**0.5  # the second time says less than the first
        found[word] = found.get(word, 0.0) + weight
        for part in (parts := sorted(grams(word))):  # sorted: in any order, sums would differ
            found[part] = found.get(part, 0.0) + weight * _PART / len(parts) ** 0.5
    return found
