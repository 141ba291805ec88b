"""Asks what may be away: an answer in time or none, and one line in the log for each outage."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from traceback import extract_tb

from ..const import LOGGER


class Outages:
    """Who did not answer the last time."""

    def __init__(self) -> None:
        """Start as if all were well."""
        self._away: set[str] = set()

    async def async_answer[T](self, name: str, seconds: float, answer: Awaitable[T]) -> T | None:
        """Return the answer; None when it failed or was not there within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                found = await answer
        except TimeoutError:
            self._went_away(name, f"no answer within {seconds:g} s")
            return None
        except Exception as err:  # noqa: BLE001 - one that fails must not cost the answer
            self._went_away(name, _what_and_where(err))
            return None
        if name in self._away:
            self._away.remove(name)
            LOGGER.info("%s can be told again", name)
        return found

    def _went_away(self, name: str, reason: str) -> None:
        """Log the first failure in a row."""
        if name not in self._away:
            self._away.add(name)
            LOGGER.warning("%s cannot be told for now: %s", name, reason)


def _what_and_where(error: Exception) -> str:
    """Return an error without its words, which may be what somebody said."""
    frames = extract_tb(error.__traceback__)
    return f"{type(error).__name__} in {Path(frames[-1].filename).name}, line {frames[-1].lineno}"
