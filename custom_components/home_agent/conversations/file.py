"""The file of the conversations, written whole or not at all. One that cannot be read is never a reason to fail."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.storage import Store, UnsupportedStorageVersionError
from homeassistant.util import dt as dt_util

from ..const import DOMAIN, LOGGER
from .base import Conversation

VERSION = 1
SAVE_DELAY = 10  # seconds


class Trouble(StrEnum):
    """Why a file cannot be used; the key of the Repairs issue that says so."""

    BROKEN = "conversations_broken"
    """It was set aside, and there is a new one."""
    NEWER = "conversations_newer"
    """A newer version of Home Agent wrote it: it stays as it is, and nothing is written."""
    UNREADABLE = "conversations_unreadable"
    """The disk does not give it: nothing is written until the next start."""


class ConversationFile:
    """Reads and writes all conversations of an entry."""

    def __init__(self, hass: HomeAssistant, entry_id: str, report: Callable[[Trouble, str], None]) -> None:
        """Take who is told of a file that cannot be used, with its name."""
        self._hass = hass
        self._store = store_of(hass, entry_id)
        self._report = report
        self._changes = self._written = 0

    async def async_load(self) -> list[Conversation]:
        """Return what was written. Never raises; JSON that is broken is set aside and reported by Home Assistant itself."""
        try:
            data = await self._store.async_load()
            return await self._hass.async_add_executor_job(_read, data) if data else []
        except UnsupportedStorageVersionError:
            self._give_up(Trouble.NEWER)
        except HomeAssistantError, OSError:
            self._give_up(Trouble.UNREADABLE)
        except Exception:  # noqa: BLE001 - JSON, but not what we write
            await self._async_set_aside()
        return []

    @callback
    def changed(self, conversations: Callable[[], Sequence[Conversation]]) -> None:
        """Write soon. `conversations` is called then, in a worker thread."""
        self._changes += 1
        self._store.async_delay_save(partial(self._data, conversations), SAVE_DELAY)

    async def async_close(self, conversations: Callable[[], Sequence[Conversation]]) -> None:
        """Write now what is not yet written."""
        if self._written != self._changes:
            await self._store.async_save(await self._hass.async_add_executor_job(self._data, conversations))

    def _data(self, conversations: Callable[[], Sequence[Conversation]]) -> dict[str, Any]:
        self._written = self._changes
        return {"conversations": [item.as_dict() for item in conversations()]}

    def _give_up(self, trouble: Trouble) -> None:
        self._store.make_read_only()
        self._tell(trouble, self._store.path)

    async def _async_set_aside(self) -> None:
        aside = f"{self._store.path}.corrupt.{dt_util.utcnow().isoformat()}"
        try:
            await self._hass.async_add_executor_job(Path(self._store.path).rename, aside)
        except OSError:
            self._give_up(Trouble.UNREADABLE)
            return
        self._tell(Trouble.BROKEN, aside)

    def _tell(self, trouble: Trouble, path: str) -> None:
        name = Path(path).name
        LOGGER.warning("Stored conversations cannot be read (%s): %s", trouble.value, name)
        self._report(trouble, name)


def store_of(hass: HomeAssistant, entry_id: str) -> Store[dict[str, Any]]:
    """Return the file of an entry."""
    return Store(
        hass,
        VERSION,
        f"{DOMAIN}.conversations.{entry_id}",
        private=True,
        atomic_writes=True,
        serialize_in_event_loop=False,
    )


def _read(data: Mapping[str, Any]) -> list[Conversation]:
    """Return the conversations; one that cannot be read is left out."""
    now = dt_util.utcnow()
    found: list[Conversation] = []
    lost = 0
    for item in data["conversations"]:
        try:
            conversation = Conversation.from_dict(item, now)
        except KeyError, TypeError, ValueError, AttributeError:
            lost += 1
            continue
        if conversation.messages:
            found.append(conversation)
    if lost:
        LOGGER.warning("%d stored conversations cannot be read and are left out", lost)
    return found
