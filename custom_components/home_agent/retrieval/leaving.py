"""What becomes of a store that is used no longer: nothing of ours stays in it, as far as it can be reached."""

import asyncio
from collections.abc import Iterable

from homeassistant.core import HomeAssistant

from ..const import LOGGER
from ..errors import RetrievalError, StoreRefusedError
from .base import Store
from .chroma_store import ChromaStore
from .health import Silent
from .settings import CHROMA, RetrievalSettings

TIMEOUT = 10.0  # seconds for all of it: whoever changes the settings waits


async def async_leave(store: Store, title: str, collections: Iterable[str]) -> None:
    """Delete collections of ours. Never raises: what is on a server that is away stays there, and the log says so."""
    try:
        async with asyncio.timeout(TIMEOUT):
            for name in collections:
                try:
                    await store.async_drop(name)
                except StoreRefusedError:  # somebody else's
                    continue
    except RetrievalError, TimeoutError:
        LOGGER.warning("What was written to %s cannot be deleted there", title)


async def async_leave_server(hass: HomeAssistant, settings: RetrievalSettings, collections: Iterable[str]) -> None:
    """Delete what was written to the server of the settings, if there is one. Never raises."""
    if settings.store == CHROMA:
        store = ChromaStore(hass, settings, Silent())
        await async_leave(store, store.health.name, {settings.collection, *collections})
