"""What administrators decide on: the status of a proposal, and kept rows that have one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import ClassVar, override

from ..support.kept import Kept


class ProposalStatus(StrEnum):
    """What has become of a proposal."""

    SEEN = "seen"
    """It is not proposed yet."""
    PROPOSED = "proposed"
    """It waits for an administrator."""
    APPROVED = "approved"
    DOUBTED = "doubted"
    """It was approved and did not prove itself: it waits for an administrator again."""
    TRIED = "tried"
    """Its probation is over: it waits for an administrator again."""
    DECLINED = "declined"
    """It is not proposed again."""

    @classmethod
    @override
    def _missing_(cls, value: object) -> ProposalStatus | None:
        """Read the words that kinds have of their own, in files and in the responses of actions."""
        return {"taught": cls.APPROVED, "learned": cls.APPROVED, "rejected": cls.DECLINED}.get(str(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A row that administrators decide on."""

    id: str
    status: ProposalStatus
    user_id: str | None  # the user who made it, None if unknown


class Proposed[Row: Proposal](Kept[Row]):
    """Kept rows of which each has a status."""

    most_of: ClassVar[Mapping[ProposalStatus, int]] = {}
    """How many rows of a status are kept; of more, the oldest are dropped."""

    def rows(self, *statuses: ProposalStatus) -> list[Row]:
        """Return the rows with one of the statuses, all without one."""
        return [row for row in self._rows.values() if not statuses or row.status in statuses]

    def waiting(self, status: ProposalStatus) -> list[Row]:
        """Return the rows with a status that administrators are asked about."""
        return self.rows(status)

    @override
    def surplus(self) -> Iterable[Row]:
        return chain.from_iterable(self.rows(status)[:-most] for status, most in self.most_of.items())

    @property
    @override
    def counts(self) -> dict[str, int]:
        return {status.value: len(self.rows(status)) for status in ProposalStatus}
