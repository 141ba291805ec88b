"""Automations that wait for an administrator in Repairs: proposals, those whose scripts were changed, those after a probation."""

from collections.abc import Awaitable, Callable, Sequence

from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm

from ..automations.draft import async_draft
from ..automations.records import AutomationRecord, records_of
from ..automations.told import async_facts
from ..home.exposure import is_shared_at_all
from ..home.wording import MAX_NAME, cut
from ..settings.profile import Profile
from ..support import issues
from ..support.errors import ToolError
from ..support.localize import async_error_text, async_text
from ..turn.proposal import ProposalStatus
from ..turn.turn import Turn
from .automating import ChangeAutomation, Creation, Deletion, Switch
from .effects.automation_change import ENABLE
from .policy import Policy
from .proposals import ProposalKind

_TEXTS = {
    ProposalStatus.PROPOSED: "automation_proposed_by",
    ProposalStatus.DOUBTED: "automation_doubted",
    ProposalStatus.TRIED: "automation_tried",
}
"""By status, the translation key of what administrators are asked."""


def automation_proposals(
    hass: HomeAssistant, policy: Policy, profile: Profile
) -> Sequence[ProposalKind[AutomationRecord]]:
    """Return what administrators decide on: proposals, automations whose scripts were changed, and those after a probation."""
    records = records_of(hass)

    async def async_approve(rows: Sequence[AutomationRecord]) -> str | None:
        return await _async_each(hass, policy, profile, rows, _approving)

    async def async_decline(rows: Sequence[AutomationRecord]) -> None:
        await _async_each(hass, policy, profile, rows, _declining)

    def forget(rows: Sequence[AutomationRecord]) -> None:
        records.drop(rows)

    async def async_in_words(row: AutomationRecord) -> str:
        return await _async_in_words(hass, row)

    def kind(
        key: str, status: ProposalStatus, decline: Callable[[Sequence[AutomationRecord]], Awaitable[None] | None]
    ) -> ProposalKind[AutomationRecord]:
        return ProposalKind(
            key=key, kept=records, status=status, text=async_in_words, approve=async_approve, decline=decline
        )

    return (
        kind(issues.AUTOMATIONS_PROPOSED, ProposalStatus.PROPOSED, forget),
        kind(issues.AUTOMATIONS_CHANGED, ProposalStatus.DOUBTED, async_decline),
        kind(issues.AUTOMATIONS_TRIED, ProposalStatus.TRIED, async_decline),
    )


async def _async_in_words(hass: HomeAssistant, row: AutomationRecord) -> str:
    language, user = hass.config.language, None
    if row.user_id:
        user = await hass.auth.async_get_user(row.user_id)
    who = user.name if user is not None and user.name else "?"
    acted, against = len(row.noted), sum(bool(item.get("against")) for item in row.noted)
    said = [
        await async_text(
            hass,
            language,
            _TEXTS[row.status],
            automation=f"“{cut(row.alias, MAX_NAME)}”",
            user=who,
            said=f"“{cut(row.said)}”",
            count=str(acted),
            against=str(against),
        )
    ]
    if row.config:
        try:
            draft = await async_draft(hass, row.config, row.id)
        except HomeAssistantError as err:
            return " ".join([*said, cut(str(err))])

        def knows(entity_id: str) -> bool:
            return is_shared_at_all(hass, entity_id)

        said += await async_facts(hass, language, draft, None, knows=knows, is_short=False)
    return " ".join(said)


async def _async_each(
    hass: HomeAssistant,
    policy: Policy,
    profile: Profile,
    rows: Sequence[AutomationRecord],
    chosen: Callable[[AutomationRecord], ChangeAutomation],
) -> str | None:
    """Call the tool of each record in the name of who made it, with the permissions of now; return why some failed, or None."""
    faults = [await _async_call(hass, policy, profile, row, chosen(row)) for row in rows]
    return "\n".join(filter(None, faults)) or None


async def _async_call(
    hass: HomeAssistant,
    policy: Policy,
    profile: Profile,
    row: AutomationRecord,
    tool: ChangeAutomation,
) -> str | None:
    user = await hass.auth.async_get_user(row.user_id) if row.user_id else None
    if user is None or not user.is_active:  # without a user, there would be no limits
        error = ToolError("automation_proposer_gone", automation=row.alias)
        return await async_error_text(hass, hass.config.language, error)
    turn = Turn(
        profile=profile,
        conversation_id=row.id,
        text=row.said,
        language=hass.config.language,
        context=Context(user_id=user.id),
        user=user,
    )
    try:
        plan = await tool.plan(hass, {}, turn)
    except HomeAssistantError as err:
        return await async_error_text(hass, turn.speaks, err)
    call = llm.ToolInput(tool_name=tool.name, tool_args={}, external=True)
    result = await policy.async_call(turn, tool, call, confirmed=plan)
    return str(result.data["error"]) if result.error else None


def _approving(record: AutomationRecord) -> ChangeAutomation:
    """Return what makes a proposed automation, or switches one on."""
    if record.status is ProposalStatus.PROPOSED:
        return ChangeAutomation(Creation(config=record.config, never=record.never, approved=True))
    return ChangeAutomation(Switch(service=ENABLE, id=record.id, alias=record.alias, approved=True))


def _declining(record: AutomationRecord) -> ChangeAutomation:
    return ChangeAutomation(Deletion(id=record.id, alias=record.alias, approved=True))
