"""Changing automations: who may, and what a change comes to. Administrators after their yes; others propose.

Each kind of change is planned here, whether a model calls a tool, a sentence says it, or an administrator approves it.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, override

from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
import probatio

from ..automations.check import async_problems
from ..automations.codes import has_code, has_mask
from ..automations.draft import AutomationDraft, async_draft, ordered
from ..automations.file import AutomationItem
from ..automations.guards import with_never, without_never
from ..automations.probation import acting, async_record
from ..automations.records import records_of
from ..automations.store import automation_store, name_taken
from ..automations.switched import has_switch
from ..home.exposure import is_exposed
from ..home.fingerprint import fingerprint
from ..home.judgement import judge_sequence
from ..support.encoding import one_line
from ..support.errors import ToolError, ToolPermissionError, ToolRefusal
from ..support.masking import MASK
from ..turn.plan import AUTOMATING, ActionClass, Plan
from ..turn.proposal import ProposalStatus
from ..turn.turn import Turn
from ..wishes.wishes import wishes_of
from .effects.automation_change import CREATE, DELETE, ENABLE, PROPOSE, UPDATE, AutomationChange
from .proposals import MAX_WAITING, has_room
from .write import EffectTool, async_plan_of

MAX_SAID = 500  # characters of the sentence that is kept
_TITLES = {
    CREATE: "tool_create_automation",
    DELETE: "tool_delete_automation",
    ENABLE: "tool_enable_automation",
}
"""By service, the translation key of what a change is called."""


def check_speaker(hass: HomeAssistant, turn: Turn) -> None:
    """Raise `ToolError` unless a person asks: automations and wishes make no automations."""
    wishes, above = wishes_of(hass), turn
    if turn.user is None and turn.device_id is None and turn.satellite_id is None:
        raise ToolError("automation_by_automation")
    if turn.user is None:  # no permissions of a person would hold
        raise ToolError("automation_spoken_by_nobody")
    while above is not None:
        if above.wish or wishes.has_run(above.context):
            raise ToolError("automation_by_automation")
        above = above.parent  # type: ignore[assignment]


def decides(turn: Turn) -> bool:
    """Return whether who speaks may change automations after a yes; others propose."""
    return turn.user is not None and turn.user.is_admin and turn.answerable


async def async_checked(
    hass: HomeAssistant,
    turn: Turn,
    config: Mapping[str, Any],
    automation_id: str,
    trust_events: Collection[str] = (),
) -> AutomationDraft:
    """Return a draft with nothing wrong in it. Raises `ToolRefusal` with all that is wrong.

    `trust_events` are types of events that will come although nothing here shows it.
    """

    def knows(entity_id: str) -> bool:
        return is_exposed(hass, entity_id, turn.user)

    draft = await async_draft(hass, config, automation_id)
    if problems := await async_problems(hass, draft, knows=knows, trust_events=trust_events):
        told = "\n".join(f"- {problem.path}: {problem.sentence}" for problem in problems)
        raise ToolRefusal(f"Nothing was changed. Mend this and call again:\n{told}")
    _check_control(hass, turn, draft)
    return draft


def _check_control(hass: HomeAssistant, turn: Turn, draft: AutomationDraft) -> None:
    """Raise `ToolPermissionError` where an automation would control for a user what they may not control themselves."""
    if turn.user is None or turn.user.is_admin:
        return
    for item in judge_sequence(hass, draft.actions).reach.reached:
        if is_exposed(hass, item, turn.user) and not turn.user.permissions.check_entity(item, POLICY_CONTROL):
            raise ToolPermissionError(target=item)


async def async_check_name(hass: HomeAssistant, name: str, but: str | None = None) -> None:
    """Raise `ToolRefusal` for a name that another automation has: people could not tell them apart."""
    for known in await automation_store(hass).async_automations():
        if known.id != but and known.name.casefold() == name.casefold():
            raise ToolRefusal(name_taken(name))


async def async_writable(hass: HomeAssistant, automation_id: str, name: str) -> AutomationItem:
    """Return the item of an automation in the file. Raises `ToolError` for one that is not there, or that Home Assistant does not read."""
    store = automation_store(hass)
    await store.async_check_writable()
    if (item := await store.async_item(automation_id)) is None:
        raise ToolRefusal(
            f"'{name}' is written elsewhere in the configuration, not in automations.yaml. Tell the user to edit it there; "
            "it can be enabled and disabled here."
        )
    return item


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedChange(ABC):
    """A change of one automation that is wanted."""

    service: ClassVar[str]
    approved: bool = False
    """An administrator has agreed in Repairs."""

    async def async_plan(self, hass: HomeAssistant, turn: Turn) -> Plan:
        """Return what it comes to. Raises `ToolError` where it is not allowed, or cannot be done.

        No list of the owner spares a yes for what opens, unlocks or disarms by itself.
        """
        is_decided = self.approved
        if not is_decided:
            check_speaker(hass, turn)
            is_decided = decides(turn)
        return await async_plan_of(hass, (await self.async_effect(hass, turn, is_decided=is_decided),))

    @abstractmethod
    async def async_effect(self, hass: HomeAssistant, turn: Turn, *, is_decided: bool) -> AutomationChange:
        """Return the effect. Raises `ToolError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation(WantedChange):
    """A new automation, which others than administrators propose."""

    service = CREATE
    config: Mapping[str, Any]
    never: Sequence[Any] = ()
    probation_days: int = 0
    trust_events: Collection[str] = ()

    @override
    async def async_effect(self, hass: HomeAssistant, turn: Turn, *, is_decided: bool) -> AutomationChange:
        _check_written(self.config, self.never)
        config = with_never(self.config, self.never)
        if self.probation_days and "use_blueprint" in config:
            raise ToolRefusal("An automation from a blueprint cannot be on probation.")
        if has_code(config) and (self.probation_days or not is_decided):
            raise ToolRefusal(
                "A code cannot be kept with an automation that waits. Leave the code out, or tell the user to write it in Home "
                "Assistant."
            )
        await async_check_name(hass, str(config.get("alias", "")))
        draft = await async_checked(hass, turn, config, await _async_free_id(hass, config), self.trust_events)
        assert draft.id is not None
        if is_decided:
            await automation_store(hass).async_check_writable()
        else:
            _check_proposal(hass, turn, draft.id)
        data = {
            "id": draft.id,
            "alias": draft.alias,
            "config": dict(draft.config),
            "never": [dict(item) for item in self.never],
            "probation_days": self.probation_days,
            **_told_by(turn),
        }
        return AutomationChange(service=CREATE if is_decided else PROPOSE, data=data, draft=draft)


def _check_written(config: Mapping[str, Any], never: Sequence[Any]) -> None:
    """Raise `ToolRefusal` for what was masked when it was read, and for what must never be so where that cannot be kept."""
    if has_mask(config) or has_mask(never):
        raise ToolRefusal(
            f"{MASK} stands for what is not told here. Leave that part as it is, or tell the user to edit it in Home Assistant."
        )
    if any(not isinstance(item, Mapping) for item in never):
        raise ToolRefusal("never: each is a condition, as an object: {condition: state, entity_id: ..., state: ...}.")
    if has_switch(never):
        raise ToolRefusal("never: `enabled` has no place in what must never be so. Leave it out.")
    if never and "use_blueprint" in config:
        raise ToolRefusal(
            "The conditions of an automation from a blueprint are those of the blueprint: `never` has no effect."
        )


async def _async_free_id(hass: HomeAssistant, config: Mapping[str, Any]) -> str:
    """Return an id that no automation has, the same one for the same configuration."""
    store, number = automation_store(hass), int(fingerprint(config)[:12], 16)
    used = {item.id for item in await store.async_items()} | {known.id for known in await store.async_automations()}
    while str(number) in used:
        number += 1
    return str(number)


def _check_proposal(hass: HomeAssistant, turn: Turn, automation_id: str) -> None:
    """Raise `ToolError` where a user has proposed enough, or the same was declined."""
    records = records_of(hass)
    known = records.get(automation_id)
    if known is not None and known.status is ProposalStatus.DECLINED:
        raise ToolError("automation_declined", automation=known.alias)
    if known is not None and known.status is ProposalStatus.PROPOSED:
        raise ToolError("automation_waits", automation=known.alias)
    if not has_room(records, turn.context.user_id):
        raise ToolError("automation_proposed_too_many", count=str(MAX_WAITING))


def _told_by(turn: Turn) -> dict[str, str]:
    """Return the sentence that a change came from, and the agent that makes it."""
    return {"said": one_line(turn.lineage[-1].text)[:MAX_SAID], "agent_id": turn.profile.subentry_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting(WantedChange):
    """Other parts of an automation, as it was when it was read."""

    service = UPDATE
    id: str
    alias: str
    expected: str
    """The fingerprint with which it was read."""
    parts: Mapping[str, Any]
    never: Sequence[Any] | None = None
    """None: as before."""
    trust_events: Collection[str] = ()

    @override
    async def async_effect(self, hass: HomeAssistant, turn: Turn, *, is_decided: bool) -> AutomationChange:
        _check_decided(is_decided)
        item = await async_writable(hass, self.id, self.alias)
        if not item.is_plain:
            raise ToolRefusal(
                f"'{self.alias}' has tags such as !secret, or anchors. Tell the user to edit it in Home Assistant."
            )
        if self.expected != item.fingerprint:
            raise ToolRefusal(
                "The automation is another one by now, or the hash is wrong. Read it with get_automation, then update."
            )
        record = await async_record(hass, self.id)
        is_tried = record is not None and record.is_on_probation
        before = acting(record, item.config) if record is not None and is_tried else dict(item.config)
        before.pop("id", None)
        kept = () if record is None else record.never
        never = kept if self.never is None else self.never
        _check_written({**before, **self.parts}, never)
        given_up = [item for item in kept if item not in never]
        after = with_never(without_never(ordered({**before, **self.parts}), given_up), never)
        if is_tried and (has_code(after) or "use_blueprint" in after):
            raise ToolRefusal(
                "On probation it takes neither a code nor a blueprint. Enable it first, with enable_automation."
            )
        if after == before and [*never] == [*kept]:
            raise ToolRefusal("Nothing would change. Give the parts that are to be replaced.")
        await async_check_name(hass, str(after.get("alias", "")), but=self.id)
        draft = await async_checked(hass, turn, after, self.id, self.trust_events)
        days = 0
        if record is not None and record.until is not None:
            days = record.probation_days or max(1, (record.until - record.made).days)
        data = {
            "id": self.id,
            "alias": draft.alias,
            "config": dict(draft.config),
            "expected": item.fingerprint,
            "never": [dict(one) for one in never],
            "probation_days": days,
            **_told_by(turn),
        }
        earlier = await async_draft(hass, before, self.id, is_there=True)
        return AutomationChange(service=UPDATE, data=data, draft=draft, earlier=earlier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion(WantedChange):
    """The end of an automation."""

    service = DELETE
    id: str
    alias: str
    expected: str | None = None
    """The fingerprint with which it was read; None: as it is now."""

    @override
    async def async_effect(self, hass: HomeAssistant, turn: Turn, *, is_decided: bool) -> AutomationChange:
        _check_decided(is_decided)
        item = await async_writable(hass, self.id, self.alias)
        if self.expected not in (None, item.fingerprint):
            raise ToolRefusal("The automation is another one by now. Read it with get_automation.")
        data = {"id": self.id, "alias": self.alias, "expected": item.fingerprint}
        record, draft = records_of(hass).get(self.id), None
        config = item.config if record is None or not record.is_on_probation else acting(record, item.config)
        with suppress(HomeAssistantError):  # one that is broken is deleted as well, without being told
            draft = await async_draft(hass, config, self.id, is_there=True)
        return AutomationChange(service=DELETE, data=data, draft=draft)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(WantedChange):
    """An automation is switched on or off; what it does once it is on is judged as if it were made."""

    service: str  # type: ignore[misc]
    id: str
    alias: str

    @override
    async def async_effect(self, hass: HomeAssistant, turn: Turn, *, is_decided: bool) -> AutomationChange:
        _check_decided(is_decided)
        if all(known.id != self.id for known in await automation_store(hass).async_automations()):
            raise ToolError("automation_gone", automation=self.alias)
        return AutomationChange(service=self.service, data={"id": self.id, "alias": self.alias})


def _check_decided(is_decided: bool) -> None:
    if not is_decided:
        raise ToolError("automation_administrators")


class ChangeAutomation(EffectTool):
    """A change of an automation, in the form of a tool for one sentence or approval."""

    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    stands_alone = True
    is_its_effects = False
    parameters = probatio.Schema({}, extra=probatio.REMOVE_EXTRA)

    def __init__(self, change: WantedChange, *, asks: bool = False) -> None:
        """Take the change; `asks`: whether a proposal needs a yes as well."""
        self.change, self.asks = change, asks
        self.name = change.service
        self.title_key = _TITLES[change.service]

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what the change comes to. Raises `ToolError`."""
        plan = await self.change.async_plan(hass, turn)
        if self.asks and not plan.reasons:
            plan = replace(plan, action=ActionClass.SENSITIVE, reasons=(AUTOMATING,))
        return plan
