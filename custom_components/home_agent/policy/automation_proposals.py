"""Automations that wait for an administrator in Repairs: proposals, those whose scripts were changed, those after a probation."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm

from ..automations.check import async_depends
from ..automations.draft import async_draft
from ..automations.probation import async_acting
from ..automations.records import AutomationRecord, records_of
from ..automations.store import automation_store
from ..automations.told import async_facts, async_sentence
from ..home.exposure import is_shared_at_all
from ..home.judgement import Judgement, judge_sequence
from ..home.wording import MAX_NAME, async_more, cut
from ..settings.profile import Profile
from ..support import issues
from ..support.errors import ToolError
from ..support.localize import async_error_text, async_text
from ..turn.proposal import ProposalStatus
from ..turn.turn import Turn
from .automating import ChangeAutomation, Creation, Deletion, Switch
from .effects import KINDS
from .effects.automation_change import ENABLE, OPENING
from .policy import Policy
from .proposals import ProposalKind

MAX_INSIDE = 10  # of what is done inside that is told
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
    shown: dict[str, Mapping[str, str]] = {}
    """What automations use, by id, as it was written when an administrator was shown what they do."""

    async def async_approve(rows: Sequence[AutomationRecord]) -> str | None:
        for row in rows:
            if row.id in shown and await _async_used(hass, row) != shown[row.id]:
                return await async_error_text(hass, hass.config.language, ToolError("automation_file_changed"))
        return await _async_each(hass, policy, profile, rows, _approving)

    async def async_decline(rows: Sequence[AutomationRecord]) -> None:
        await _async_each(hass, policy, profile, rows, _declining)

    def refuse(rows: Sequence[AutomationRecord]) -> None:
        records.put(*(replace(row, status=ProposalStatus.DECLINED) for row in rows))

    async def async_in_words(row: AutomationRecord) -> str:
        for known_id in shown.keys() - {known.id for known in records.rows(*_TEXTS)}:
            del shown[known_id]
        shown[row.id] = await _async_used(hass, row)
        return await _async_in_words(hass, row)

    def kind(
        key: str, status: ProposalStatus, decline: Callable[[Sequence[AutomationRecord]], Awaitable[None] | None]
    ) -> ProposalKind[AutomationRecord]:
        return ProposalKind(
            key=key, kept=records, status=status, text=async_in_words, approve=async_approve, decline=decline
        )

    return (
        kind(issues.AUTOMATIONS_PROPOSED, ProposalStatus.PROPOSED, refuse),
        kind(issues.AUTOMATIONS_CHANGED, ProposalStatus.DOUBTED, async_decline),
        kind(issues.AUTOMATIONS_TRIED, ProposalStatus.TRIED, async_decline),
    )


async def _async_config(hass: HomeAssistant, row: AutomationRecord) -> Mapping[str, Any] | None:
    """Return how an automation acts, or will; None if it is gone. Raises `ToolError` if the file cannot be read."""
    if row.is_on_probation:
        return await async_acting(hass, row)
    return row.config or await automation_store(hass).async_config(row.id)


async def _async_used(hass: HomeAssistant, row: AutomationRecord) -> Mapping[str, str]:
    """Return what an automation is and uses, each with how it is written now; nothing of one that is invalid or gone."""
    try:
        config = await _async_config(hass, row)
        draft = await async_draft(hass, config, row.id) if config is not None else None
    except HomeAssistantError:
        return {}
    return {} if draft is None else {**await async_depends(hass, draft), "": draft.fingerprint}


async def _async_opened(hass: HomeAssistant, language: str, row: AutomationRecord) -> Sequence[str]:
    """Return sentences about what an automation opens, unlocks or disarms by itself; none if it does not."""
    try:
        config = await _async_config(hass, row)
        draft = await async_draft(hass, config, row.id) if config is not None else None
    except HomeAssistantError:
        return ()
    found = Judgement() if draft is None else judge_sequence(hass, draft.actions)
    if OPENING.isdisjoint(found.reasons):
        return ()
    inside = [await KINDS[item.kind].async_describe_inside(hass, language, item, None) for item in found.reach.inside]
    told = await async_more(hass, language, [one for one in inside if one][:MAX_INSIDE], len(inside))
    name = f"“{cut(row.alias, MAX_NAME)}”"
    return (
        f"{await async_text(hass, language, 'confirm_inside', action=name, inside=told)}.",
        await async_text(hass, language, "automation_opens"),
    )


def _tried(before: int, acted: int, against: int) -> str:
    """Return the translation key for so many runs on probation, those noted and those before them."""
    if before:
        return "automation_tried_long"
    if acted == 1:
        return "automation_tried_once_against" if against else "automation_tried_once"
    return "automation_tried" if acted else "automation_tried_never"


async def _async_in_words(hass: HomeAssistant, row: AutomationRecord) -> str:
    language, user = hass.config.language, None
    if row.user_id:
        user = await hass.auth.async_get_user(row.user_id)
    who = user.name if user is not None and user.name else "?"
    against = sum(bool(item.get("against")) for item in row.noted)
    said = [
        await async_text(
            hass,
            language,
            _tried(row.noted_before, row.acted, against) if row.status is ProposalStatus.TRIED else _TEXTS[row.status],
            automation=f"“{cut(row.alias, MAX_NAME)}”",
            user=who,
            said=f"“{cut(row.said)}”",
            count=str(row.noted_before + row.acted),
            last=str(row.acted),
            against=str(against),
        )
    ]
    if row.config:
        try:
            draft = await async_draft(hass, await _async_config(hass, row) or row.config, row.id)
        except HomeAssistantError as err:
            return " ".join([*said, cut(str(err))])

        def knows(entity_id: str) -> bool:
            return is_shared_at_all(hass, entity_id)

        if row.status is ProposalStatus.TRIED:  # how often it would have run is told with what was noted
            said.append(await async_sentence(hass, language, draft, knows=knows))
        else:
            said += await async_facts(
                hass, language, draft, None, knows=knows, is_short=False, probation_days=row.probation_days
            )
    said += await _async_opened(hass, language, row)
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
    if user is not None and not user.is_active:
        user = None
    if user is None and row.status is ProposalStatus.PROPOSED:  # without a user, there would be no limits
        error = ToolError("automation_proposer_gone", automation=row.alias)
        return await async_error_text(hass, hass.config.language, error)
    turn = Turn(
        profile=profile,
        conversation_id=row.id,
        text=row.said,
        language=hass.config.language,
        context=Context(user_id=None if user is None else user.id),
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
        return ChangeAutomation(
            Creation(config=record.config, never=record.never, probation_days=record.probation_days, approved=True)
        )
    return ChangeAutomation(Switch(service=ENABLE, id=record.id, alias=record.alias, approved=True))


def _declining(record: AutomationRecord) -> ChangeAutomation:
    return ChangeAutomation(Deletion(id=record.id, alias=record.alias, approved=True))
