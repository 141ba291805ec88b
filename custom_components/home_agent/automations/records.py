"""What is kept of the automations that were made or proposed here: the sentence, what must never happen, the proof."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, override

from homeassistant.core import HomeAssistant, callback

from ..support.kept import kept_of
from ..turn.proposal import Proposal, ProposalStatus, Proposed

MOST_PROPOSED = 50
MOST_MADE = 1_000
MOST_NOTED = 200
"""Runs of a probation that are noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationRecord(Proposal):
    """One automation; its id is that of the automation in its file."""

    alias: str
    agent_id: str
    """Subentry id of the agent that made it."""
    said: str
    """The sentence it came from."""
    made: datetime
    config: Mapping[str, Any]
    """As it was proposed, or as it will act after its probation; empty once it acts."""
    never: tuple[Mapping[str, Any], ...] = ()
    """Conditions under which it must never run."""
    depends: Mapping[str, str] = field(default_factory=dict)
    """What it uses, each with the fingerprint of how it was written when it was judged."""
    fingerprint: str = ""
    """Of how it was written when it was judged."""
    examples: tuple[Mapping[str, Any], ...] = ()
    """Pieces of the past, each with what it has to do then."""
    until: datetime | None = None
    """When its probation ends; None if it is on none."""
    noted: tuple[Mapping[str, Any], ...] = ()
    """What it would have done on probation: `at`, the calls, and `idle` where a run would have done nothing."""
    noted_before: int = 0
    """How often it would have acted before the runs that are noted still."""
    probation_days: int = 0
    """How long its probation is, or will be once it is approved."""

    @property
    def is_on_probation(self) -> bool:
        """Whether its actions are only noted."""
        return self.until is not None

    @property
    def acted(self) -> int:
        """How often it would have acted in the runs that are noted still."""
        return _acted(self.noted)

    def let_act(self) -> AutomationRecord:
        """Return it without its probation; one that is doubted for another reason stays so."""
        status = ProposalStatus.APPROVED if self.status is ProposalStatus.TRIED else self.status
        return replace(self, status=status, until=None, config={}, noted=(), noted_before=0, probation_days=0)


class AutomationRecords(Proposed[AutomationRecord]):
    """The records of this home, oldest first."""

    file = "automations"
    row = AutomationRecord
    longest: ClassVar[int] = 100_000
    most_of: ClassVar[Mapping[ProposalStatus, int]] = {
        ProposalStatus.PROPOSED: MOST_PROPOSED,
        ProposalStatus.DECLINED: MOST_PROPOSED,
        ProposalStatus.APPROVED: MOST_MADE,
    }

    @override
    def owner(self, row: AutomationRecord) -> str | None:
        return row.user_id

    @override
    def without_owner(self, row: AutomationRecord) -> AutomationRecord | None:
        """Return an automation that exists without its user; a proposal goes with its user."""
        if row.status in (ProposalStatus.PROPOSED, ProposalStatus.DECLINED):
            return None
        return replace(row, user_id=None, said="")

    def get(self, automation_id: str) -> AutomationRecord | None:
        """Return the record of an automation, None if it was not made here."""
        return self._rows.get(automation_id)

    def made_here(self) -> Sequence[AutomationRecord]:
        """Return the records of automations that exist, as far as is known."""
        return [*self._existing()]

    def _existing(self) -> Iterable[AutomationRecord]:
        return self.rows(ProposalStatus.APPROVED, ProposalStatus.DOUBTED, ProposalStatus.TRIED)

    @callback
    def note(self, automation_id: str, run: Mapping[str, Any]) -> None:
        """Note what an automation on probation would have done."""
        if (record := self.get(automation_id)) is not None and record.is_on_probation:
            noted = (*record.noted, run)
            before = record.noted_before + _acted(noted[:-MOST_NOTED])
            self.put(replace(record, noted=noted[-MOST_NOTED:], noted_before=before))

    @callback
    def forget(self, automation_id: str) -> None:
        """Drop the record of an automation that is gone."""
        if (record := self.get(automation_id)) is not None:
            self.drop([record])


def _acted(runs: Iterable[Mapping[str, Any]]) -> int:
    return sum(not run.get("idle") for run in runs)


def records_of(hass: HomeAssistant) -> AutomationRecords:
    """Return the records of this home."""
    return kept_of(hass, AutomationRecords)
