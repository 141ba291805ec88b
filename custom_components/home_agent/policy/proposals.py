"""What waits for an administrator: one limit for all kinds, one issue in Repairs for each, and one flow (repairs.py).

Kinds are added while the entry is loaded: taught names (policy/teaching.py) and learned phrases (local/learned.py).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback

from ..support import issues
from ..support.localize import async_text
from ..turn.proposal import Proposal, ProposalStatus, Proposed
from .tool import NOT_STORED

MAX_WAITING = 50
"""Proposals of one kind that wait: as many as an administrator reads."""
MAX_WAITING_OF_USER = 20
"""The same of one user; all of unknown users count as one."""
OF_HOME = "home"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalKind[Row: Proposal]:
    """Proposals that one issue is about."""

    key: str  # of the issue and its texts
    kept: Proposed[Row]
    status: ProposalStatus = ProposalStatus.PROPOSED  # of the rows that wait
    text: Callable[[Row], Awaitable[str]]
    """Returns what is proposed, for an administrator, in Home Assistant's language."""
    approve: Callable[[Sequence[Row]], Awaitable[str | None]]
    """Approves rows; returns why that failed for some of them, which wait on, or None."""
    decline: Callable[[Sequence[Row]], Awaitable[None] | None]  # declines rows, so that they are not proposed again

    def waiting(self) -> list[Row]:
        """Return what waits, oldest first."""
        return self.kept.waiting(self.status)


def has_room(kept: Proposed[Any], user_id: str | None) -> bool:
    """Return whether a user may propose one more."""
    waiting = kept.rows(ProposalStatus.PROPOSED)
    return len(waiting) < MAX_WAITING and sum(row.user_id == user_id for row in waiting) < MAX_WAITING_OF_USER


class Proposals:
    """The kinds of proposals of the loaded entry, and an issue for each of which some wait."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start without kinds."""
        self._hass = hass
        self._kinds: dict[str, ProposalKind[Any]] = {}
        self._deciding = asyncio.Lock()

    @callback
    def async_add(self, kind: ProposalKind[Any]) -> CALLBACK_TYPE:
        """Ask administrators about a kind; return a function that stops that."""

        @callback
        def show(_changes: object = None) -> None:
            # The issue says how many wait: all users may list issues, and only administrators see what is proposed.
            count = len(kind.waiting())
            issues.async_set(self._hass, kind.key, OF_HOME, count > 0, data={"proposals": kind.key}, count=str(count))

        self._kinds[kind.key] = kind
        stop = kind.kept.async_listen(show)
        show()

        @callback
        def remove() -> None:
            stop()
            self._kinds.pop(kind.key, None)

        return remove

    async def async_waiting(self, key: str) -> dict[str, tuple[Proposal, str]]:
        """Return what waits with its text, by id; nothing for an unknown kind."""
        if (kind := self._kinds.get(key)) is None:
            return {}
        return {row.id: (row, await kind.text(row)) for row in kind.waiting()}

    async def async_decide(
        self, key: str, approve: Collection[Proposal], decline: Collection[Proposal]
    ) -> tuple[int, str | None]:
        """Approve and decline rows that wait as they were shown; others are left.

        Return how many were decided on, and why not all could be approved (nothing is declined then) or stored. One administrator
        after the other decides.
        """
        async with self._deciding:
            if (kind := self._kinds.get(key)) is None:  # taken out while its form was open
                return 0, None
            approved = [row for row in kind.waiting() if row in approve]
            if approved and (fault := await kind.approve(approved)):
                return len(approved), fault
            declined = [row for row in kind.waiting() if row in decline]
            if declined and (declining := kind.decline(declined)) is not None:
                await declining
            is_stored = await kind.kept.async_flush()
            fault = None if is_stored else await async_text(self._hass, self._hass.config.language, NOT_STORED)
            return len(approved) + len(declined), fault
