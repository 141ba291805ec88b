"""How a store or an embedding endpoint is doing: who has to know, and how long nobody asks it again."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import time
from typing import Protocol

from ..const import LOGGER
from ..errors import RetrievalError, StoreRefusedError

STORE, EMBEDDING, COLLECTION = "store", "embedding", "collection"
"""What the owner can be told of: the whole store, the embedding model, a collection that is not ours."""
FAILURES_UNTIL_TOLD = 3  # in a row
PAUSE = 20.0  # seconds after a failure in which every request fails at once: nobody waits in vain for each sentence


class Reporter(Protocol):
    """Tells the owner (issues.py)."""

    async def async_failing(self, part: str, name: str, error: RetrievalError) -> None:
        """Say that a part (`STORE`, `EMBEDDING`, `COLLECTION`) keeps failing."""
        ...

    def async_recovered(self, part: str) -> None:
        """Take that back."""
        ...

    def async_set_aside(self, kept_as: str, reason: str) -> None:
        """Say that the file of documents could not be used (`damaged`, `empty`, `newer`), and what it is called now."""
        ...


class Silent:
    """Tells nobody: somebody waits for the answer, or nobody needs it any more."""

    async def async_failing(self, part: str, name: str, error: RetrievalError) -> None:
        """Say nothing."""

    def async_recovered(self, part: str) -> None:
        """Say nothing."""

    def async_set_aside(self, kept_as: str, reason: str) -> None:
        """Say nothing."""


class Health:
    """Of one part."""

    def __init__(self, part: str, name: str, reporter: Reporter, *, logs: bool = True) -> None:
        """Start as if all were well. With `logs` the first failure in a row is a warning in the log."""
        self.name = name
        self.last_error: RetrievalError | None = None
        """None: the newest request was answered, or there was none yet."""
        self.ended = False
        """Whether it is used no longer: what is broken off at the end is no failure."""
        self._part = part
        self._reporter = reporter
        self._logs = logs
        self._failures = 0
        self._paused_until = 0.0

    @asynccontextmanager
    async def watched(self, *, now: bool = False) -> AsyncGenerator[None]:
        """Watch a request. Raises the error of the last one while that is not long ago, unless it has to be made `now`."""
        if self.last_error is not None and not now and time.monotonic() < self._paused_until:
            raise _again(self.last_error)
        try:
            yield
        except StoreRefusedError:  # it answers
            self._worked()
            raise
        except RetrievalError as err:
            await self._async_failed(err)
            raise
        self._worked()

    def _worked(self) -> None:
        if self.last_error is not None:
            LOGGER.info("%s answers again", self.name)
            self._reporter.async_recovered(self._part)
        self.last_error, self._failures = None, 0

    async def _async_failed(self, error: RetrievalError) -> None:
        if self.ended:
            return
        self.last_error = error
        self._failures += 1
        self._paused_until = time.monotonic() + PAUSE
        if self._failures == 1 and self._logs:
            LOGGER.warning("%s cannot be used: %s", self.name, error.translation_key)
        if self._failures == FAILURES_UNTIL_TOLD:
            await self._reporter.async_failing(self._part, self.name, error)


def _again(error: RetrievalError) -> RetrievalError:
    """Return an error that says the same; the same one raised twice would drag its first traceback along."""
    return type(error)(error.translation_key, **(error.translation_placeholders or {}))
