"""A change of an automation: one is made, rewritten, deleted, put back, switched on or off, proposed or withdrawn."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, ClassVar, Self, cast, override

from homeassistant.auth.models import User
from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.const import ATTR_ENTITY_ID, CONF_ACTION, SERVICE_TURN_OFF, SERVICE_TURN_ON, STATE_ON
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.network import NoURLAvailableError, get_url
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType

from ...automations.check import async_depends
from ...automations.codes import has_code
from ...automations.draft import AutomationDraft, async_draft
from ...automations.file import read_text
from ...automations.probation import noted_only
from ...automations.records import AutomationRecord, records_of
from ...automations.store import automation_store
from ...automations.told import async_facts, async_sentence
from ...home.exposure import is_exposed
from ...home.judgement import Judgement, judge_sequence
from ...home.wording import MAX_NAME, cut, quoted
from ...support.const import DOMAIN
from ...support.errors import ToolError
from ...support.localize import async_text
from ...support.rows import as_row, from_row
from ...turn.plan import AUTOMATING, DESTRUCTIVE, DISARM, OPEN_DOOR, OPEN_VALVE, UNLOCK, Effect, Reach
from ...turn.proposal import ProposalStatus
from ...turn.turn import Turn
from .effect import Before, EffectKind, Fate, Moment, SubjectChange, Undoing, WayBack

CREATE = "create_automation"
UPDATE = "update_automation"
DELETE = "delete_automation"
RESTORE = "restore_automation"
ENABLE = "enable_automation"
DISABLE = "disable_automation"
PROPOSE = "propose_automation"
WITHDRAW = "withdraw_automation"
_SERVICES = (CREATE, UPDATE, DELETE, RESTORE, ENABLE, DISABLE, PROPOSE, WITHDRAW)
OPENING = frozenset({UNLOCK, DISARM, OPEN_DOOR, OPEN_VALVE})
"""Reasons for which no list of the owner spares the question, and which the answer tells again."""
_ACTING = frozenset({CREATE, UPDATE, RESTORE, ENABLE})
"""After these, the automation acts."""
_TOLD_WHOLE = (CREATE, ENABLE, PROPOSE)
"""Before these, all is told that the automation does."""
_FEW = 4  # actions, all of which are told
_TEXTS: Mapping[str, Mapping[Moment, str]] = {
    CREATE: {
        Moment.ASKED: "confirm_create_automation", Moment.PAST: "done_create_automation",
        Moment.UNDONE: "undo_create_automation",
    },
    UPDATE: {
        Moment.ASKED: "confirm_update_automation", Moment.PAST: "done_update_automation",
        Moment.UNDONE: "undo_update_automation",
    },
    DELETE: {
        Moment.ASKED: "confirm_delete_automation", Moment.PAST: "done_delete_automation",
        Moment.UNDONE: "undo_delete_automation",
    },
    RESTORE: {
        Moment.ASKED: "confirm_restore_automation", Moment.PAST: "done_restore_automation",
        Moment.UNDONE: "undo_restore_automation",
    },
    ENABLE: {
        Moment.ASKED: "confirm_enable_automation", Moment.PAST: "done_enable_automation",
        Moment.UNDONE: "undo_enable_automation",
    },
    DISABLE: {
        Moment.ASKED: "confirm_disable_automation", Moment.PAST: "done_disable_automation",
        Moment.UNDONE: "undo_disable_automation",
    },
    PROPOSE: {
        Moment.ASKED: "confirm_propose_automation", Moment.PAST: "done_propose_automation",
        Moment.UNDONE: "undo_propose_automation",
    },
    WITHDRAW: {
        Moment.ASKED: "confirm_withdraw_automation", Moment.PAST: "done_withdraw_automation",
        Moment.UNDONE: "undo_withdraw_automation",
    },
}  # fmt: skip
"""By service, the translation keys of its sentences."""
_ENDED = {
    DELETE: "automation_deleted",
    DISABLE: "automation_is_off",
    PROPOSE: "automation_proposed",
    WITHDRAW: "automation_withdrawn",
}
"""By service, the translation key of what is said once it is done."""
MAX_TEXT = 60_000  # characters of an item that the journal keeps
EDITOR = "/config/automation/edit/{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationChange(Effect):
    """One automation; `data` has its `id` and `alias`, and by service its `config`, `text` and `place`, the `expected` fingerprint.

    Besides what is kept of it: `never`, `said`, `agent_id`, `probation_days`.
    """

    kind: ClassVar[str] = "automation_change"
    domain: str = DOMAIN
    draft: AutomationDraft | None = field(default=None, compare=False, repr=False)
    """As it will act; None for a change that was read from the disk."""
    earlier: AutomationDraft | None = field(default=None, compare=False, repr=False)
    """As it is before an update."""

    @classmethod
    @override
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        service, given = str(data["service"]), dict(data["data"])
        if service not in _SERVICES or not given.get("id"):
            raise ValueError(service)
        return cls(service=service, data=given)

    @property
    def id(self) -> str:
        """The automation's id."""
        return str(self.data["id"])

    @property
    def alias(self) -> str:
        """The automation's name."""
        return str(self.data.get("alias") or self.id)

    @property
    def told_actions(self) -> frozenset[str]:
        """The actions that are told in words before a question that is read, and so need not be named in it."""
        if self.draft is None or self.service not in _TOLD_WHOLE or len(self.draft.actions) > _FEW:
            return frozenset()
        return frozenset(str(step[CONF_ACTION]) for step in self.draft.actions if CONF_ACTION in step)

    @property
    @override
    def subjects(self) -> tuple[str, ...]:
        return (f"automation:{self.id}",)


def entity_of(hass: HomeAssistant, automation_id: str) -> str | None:
    """Return the entity id of an automation, None if it is not loaded."""
    return er.async_get(hass).async_get_entity_id(AUTOMATION, AUTOMATION, automation_id)


class AutomationChangeKind(EffectKind[AutomationChange]):
    """Automations are items of Home Assistant's file; whether they are there and on is seen from their entities."""

    effect = AutomationChange
    why: ClassVar = {AUTOMATING: "confirm_why_automating"}
    insists_on = OPENING | {DESTRUCTIVE}
    activity: ClassVar = {
        f"{DOMAIN}.{CREATE}": "activity_create_automation",
        f"{DOMAIN}.{UPDATE}": "activity_update_automation",
        f"{DOMAIN}.{DELETE}": "activity_delete_automation",
        f"{DOMAIN}.{RESTORE}": "activity_restore_automation",
        f"{DOMAIN}.{ENABLE}": "activity_enable_automation",
        f"{DOMAIN}.{DISABLE}": "activity_disable_automation",
        f"{DOMAIN}.{PROPOSE}": "activity_propose_automation",
        f"{DOMAIN}.{WITHDRAW}": "activity_withdraw_automation",
    }

    @override
    def judge(self, hass: HomeAssistant, effect: AutomationChange) -> Judgement:
        """Return that it needs a yes, and what the automation may come to once it acts."""
        if effect.service in (PROPOSE, WITHDRAW):
            inside = () if effect.draft is None else judge_sequence(hass, effect.draft.actions).reach.inside
            return Judgement(reach=Reach(wary=True, inside=inside))  # who proposes is told of it, too
        found = Judgement(reasons=(AUTOMATING,), reach=Reach(wary=True))
        if effect.service in _ACTING and effect.draft is not None:
            inner = judge_sequence(hass, effect.draft.actions)
            found += replace(inner, reasons=tuple(reason for reason in inner.reasons if reason in OPENING))
        elif effect.service in _ACTING:
            found += Judgement(reasons=(DESTRUCTIVE,))  # what it does is not known
        return found

    @override
    async def async_read(self, hass: HomeAssistant, effect: AutomationChange) -> AutomationChange:
        """Return it with what it will do, where that is put back or switched on; without, where that cannot be told."""
        if effect.draft is not None or effect.service not in (RESTORE, ENABLE):
            return effect
        known = records_of(hass).get(effect.id)
        if effect.service == ENABLE and known is not None and known.is_on_probation:
            config: Mapping[str, Any] | None = known.config
        elif effect.service == ENABLE:
            config = await automation_store(hass).async_config(effect.id)
        else:
            config = await hass.async_add_executor_job(_restored, effect)
        if config is None:
            return effect
        try:
            draft = await async_draft(hass, config, effect.id, is_there=True)
        except ToolError:  # a tag stands where Home Assistant takes no text
            return effect
        return replace(effect, draft=draft, data={**effect.data, **_as_judged(effect, draft)})

    @override
    def way_back(self, asked: Undoing, subject: str, done: Sequence[SubjectChange]) -> WayBack | None:
        """Return how it is undone: by administrators only, except for what waits for them."""
        found = super().way_back(asked, subject, done)
        if found is None or asked.user is None or asked.user.is_admin:
            return found
        if all(effect.service == WITHDRAW for effect in found.effects):
            return found
        return replace(found, fate=Fate.IMPOSSIBLE, effects=())

    @override
    def is_as_left(self, effect: AutomationChange, left: Before, now: Before) -> bool:
        """Return whether nobody has rewritten, decided or, where that was done, switched it since.

        What is learned of it later says nothing: its examples, what was noted on probation, its place among others.
        """
        looked_at = {"fingerprint"} if effect.service in (CREATE, UPDATE, RESTORE) else {"fingerprint", "on"}
        if any(left.get(key) != now.get(key) for key in looked_at):
            return False
        return effect.service != PROPOSE or _status(left) == _status(now)

    @override
    async def async_execute(
        self, hass: HomeAssistant, effect: AutomationChange, subject: str, context: Context
    ) -> None:
        """Change it. Raises `ToolError` if it was changed meanwhile, or is not there afterwards; then everything is as before."""
        records, known = records_of(hass), records_of(hass).get(effect.id)
        if effect.service in (CREATE, UPDATE):
            await self._async_write(hass, effect, context)
        elif effect.service == DELETE:
            await automation_store(hass).async_put(effect.id, None, expected=effect.data.get("expected"))
            records.forget(effect.id)
        elif effect.service == RESTORE:
            await self._async_restore(hass, effect)
        elif effect.service == ENABLE:
            await self._async_enable(hass, effect, known, context)
        elif effect.service == DISABLE:
            await _async_switch(hass, effect, context)
        elif effect.service == PROPOSE:
            records.put(_record_of(effect, context, ProposalStatus.PROPOSED))
        elif known is not None and known.status is ProposalStatus.PROPOSED:
            records.forget(effect.id)
        await records.async_flush()

    async def _async_restore(self, hass: HomeAssistant, effect: AutomationChange) -> None:
        """Put an item back as it was written, where it stood."""
        data, records = effect.data, records_of(hass)
        await automation_store(hass).async_put(
            effect.id,
            None,
            expected=data.get("expected"),
            text=str(data["text"]),
            place=int(data["place"]),
            enabled=bool(data.get("enabled", True)),
        )
        if row := data.get("record"):
            records.put(from_row(AutomationRecord, cast(Mapping[str, Any], row), longest=records.longest))

    async def _async_enable(
        self, hass: HomeAssistant, effect: AutomationChange, known: AutomationRecord | None, context: Context
    ) -> None:
        """Switch an automation on; its probation is over, and what it uses counts as judged."""
        if known is None or known.status is ProposalStatus.PROPOSED:
            await _async_switch(hass, effect, context)
            return
        draft = effect.draft
        if known.is_on_probation:
            draft = draft or await async_draft(hass, known.config, effect.id, is_there=True)
            item = automation_store(hass).cached(effect.id)
            expected = None if item is None else item.fingerprint
            await automation_store(hass).async_put(effect.id, known.config, expected=expected)
        else:
            await _async_switch(hass, effect, context)
        depends = known.depends if draft is None else await async_depends(hass, draft)
        fingerprint = known.fingerprint if draft is None else draft.fingerprint
        acting = replace(known, status=ProposalStatus.APPROVED, until=None, config={}, noted=())
        records_of(hass).put(replace(acting, depends=depends, fingerprint=fingerprint))

    async def _async_write(self, hass: HomeAssistant, effect: AutomationChange, context: Context) -> None:
        config, days = cast(Mapping[str, Any], effect.data["config"]), int(effect.data.get("probation_days") or 0)
        draft = effect.draft or await async_draft(hass, config, effect.id)
        written = noted_only(config) if days else config
        enabled = effect.service == CREATE or _is_on(hass, effect.id)
        await automation_store(hass).async_put(
            effect.id, written, expected=effect.data.get("expected"), enabled=enabled
        )
        records = records_of(hass)
        record = _record_of(effect, context, ProposalStatus.APPROVED)
        if (known := records.get(effect.id)) is not None and known.status is not ProposalStatus.PROPOSED:
            said = known.said or record.said
            record = replace(record, made=known.made, said=said, never=record.never or known.never)
        until = dt_util.utcnow() + timedelta(days=days) if days else None
        depends = await async_depends(hass, draft)
        kept = dict(config) if days else {}
        records.put(replace(record, depends=depends, until=until, config=kept, fingerprint=draft.fingerprint))

    @override
    def is_so(self, hass: HomeAssistant, effect: AutomationChange, subject: str) -> bool | None:
        known = records_of(hass).get(effect.id)
        if effect.service in (PROPOSE, WITHDRAW):
            is_proposed = known is not None and known.status is ProposalStatus.PROPOSED
            return is_proposed == (effect.service == PROPOSE)
        entity_id = entity_of(hass, effect.id)
        state = hass.states.get(entity_id) if entity_id else None
        if effect.service == DELETE:
            return state is None
        if state is None:
            return False
        if effect.service == ENABLE and known is not None and known.is_on_probation:
            return False  # it is on, and does nothing
        if effect.service in (ENABLE, DISABLE):
            return (state.state == STATE_ON) == (effect.service == ENABLE)
        item = automation_store(hass).cached(effect.id)
        if item is None:
            return False
        if effect.service == RESTORE:
            return item.text == effect.data.get("text")
        config = cast(Mapping[str, Any], effect.data["config"])
        wanted = noted_only(config) if effect.data.get("probation_days") else config
        is_on = effect.service == UPDATE or state.state == STATE_ON
        return is_on and {key: value for key, value in item.config.items() if key != "id"} == wanted

    @override
    def capture(self, hass: HomeAssistant, effect: AutomationChange, subject: str) -> Before | None:
        """Return its exact text, its place in the file, whether it is on, and what was kept of it."""
        found: dict[str, Any] = {}
        entity_id = entity_of(hass, effect.id)
        if entity_id is not None and (state := hass.states.get(entity_id)) is not None:
            found["on"] = state.state == STATE_ON
        item = automation_store(hass).cached(effect.id)
        record = records_of(hass).get(effect.id)
        if item is not None:
            found |= {"place": item.place, "fingerprint": item.fingerprint}
            if len(item.text) <= MAX_TEXT and not has_code(item.config):  # the journal keeps no codes
                found["text"] = item.text
        if record is not None and not has_code(record.config):
            found["record"] = as_row(record)
        return cast(Before, found)

    @override
    def reverse(
        self, hass: HomeAssistant, effect: AutomationChange, before: Before | None
    ) -> Sequence[AutomationChange] | None:
        """Return what takes it back; None if its text was not captured."""
        kept = {key: effect.data[key] for key in ("id", "alias") if key in effect.data}
        found = before or {}
        if effect.service == PROPOSE:
            return (AutomationChange(service=WITHDRAW, data=kept),)
        was_on_probation = bool((cast(Mapping[str, Any], found.get("record") or {})).get("until"))
        if effect.service in (ENABLE, DISABLE) and not was_on_probation:
            return (AutomationChange(service=DISABLE if effect.service == ENABLE else ENABLE, data=kept),)
        if effect.service in (CREATE, RESTORE) and not found.get("fingerprint"):
            item = automation_store(hass).cached(effect.id)
            return (
                () if item is None else (AutomationChange(service=DELETE, data={**kept, "expected": item.fingerprint}),)
            )
        if before is None or "text" not in before:
            return None
        item = automation_store(hass).cached(effect.id)
        back = {
            **kept,
            "text": before["text"],
            "place": before["place"],
            "enabled": before.get("on", True),
            "expected": None if item is None else item.fingerprint,
            "record": before.get("record"),
        }
        return (AutomationChange(service=RESTORE, data=back),)

    @override
    def acts_now(self, effect: AutomationChange) -> bool:
        """Return whether an automation is deleted or switched now; in one that is made or rewritten, times belong to it."""
        return effect.service not in (CREATE, UPDATE, PROPOSE)

    @override
    def kept(self, effect: AutomationChange, entity_ids: Collection[str]) -> AutomationChange:
        """Return it without what it consists of: to undo it, its text was captured."""
        return AutomationChange(service=effect.service, data={"id": effect.id, "alias": effect.alias})

    @override
    def label(self, effect: AutomationChange, subject: str) -> str:
        return f"“{cut(effect.alias, MAX_NAME)}”"

    @override
    def told(self, hass: HomeAssistant, effect: AutomationChange) -> JsonObjectType:
        told: JsonObjectType = {"action": effect.action, "id": effect.id, "alias": effect.alias}
        entity_id = entity_of(hass, effect.id)
        if entity_id is not None and (state := hass.states.get(entity_id)) is not None:
            told |= {"entity_id": entity_id, "state": state.state, "link": link_to(hass, effect.id)}
        if days := effect.data.get("probation_days"):
            told["note"] = f"On probation for {days} days: its actions are only noted."
        if effect.service == PROPOSE:
            told["note"] = "Nothing exists yet: administrators are asked in Repairs. Tell the user."
        return told

    @override
    async def async_before(
        self, hass: HomeAssistant, turn: Turn, language: str, effect: AutomationChange
    ) -> Sequence[str]:
        """Return what the automation does and would have done, what an update changes, or what is deleted."""
        if effect.draft is None or effect.service not in (*_TOLD_WHOLE, UPDATE, DELETE):
            return ()

        def knows(entity_id: str) -> bool:
            return decides_on_all(turn.user) or is_exposed(hass, entity_id, turn.user)

        if effect.service == DELETE:
            return (await async_sentence(hass, language, effect.draft, knows=knows, is_short=turn.spoken),)
        days = int(effect.data.get("probation_days") or 0)
        return await async_facts(
            hass, language, effect.draft, effect.earlier, knows=knows, is_short=turn.spoken, probation_days=days
        )

    @override
    async def async_after(
        self, hass: HomeAssistant, turn: Turn, language: str, effect: AutomationChange
    ) -> Sequence[str]:
        """Return the id and the link, which no voice reads out."""
        if turn.spoken or effect.service not in _ACTING:
            return ()
        path = EDITOR.format(effect.id)
        said = await async_text(hass, language, "automation_where", id=effect.id, link=path)
        return (
            said.replace(f"({path})", f"({link_to(hass, effect.id)})"),
        )  # texts have no addresses in their placeholders

    @override
    async def async_describe(self, hass: HomeAssistant, language: str, effect: AutomationChange, moment: Moment) -> str:
        name = quoted(effect.alias, language)
        if moment is not Moment.DONE:
            return await async_text(hass, language, _TEXTS[effect.service][moment], automation=name)
        if effect.service not in _ACTING:
            return await async_text(hass, language, _ENDED[effect.service], automation=name)
        days = int(effect.data.get("probation_days") or 0)
        if days:
            return await async_text(hass, language, "automation_on_probation", automation=name, days=str(days))
        is_on = _is_on(hass, effect.id)
        key = "automation_is_on" if is_on else "automation_is_there_off"
        if effect.service == UPDATE:
            key = "automation_is_changed"
        said = await async_text(hass, language, key, automation=name)
        if not is_on:
            return said
        if effect.draft is not None and OPENING.intersection(judge_sequence(hass, effect.draft.actions).reasons):
            said = f"{said} {await async_text(hass, language, 'automation_opens')}"
        return said


def decides_on_all(user: User | None) -> bool:
    """Return whether a user is told of what is not exposed, too: who decides about an automation has to know what it does."""
    return user is not None and user.is_admin


def link_to(hass: HomeAssistant, automation_id: str) -> str:
    """Return where an automation is edited: at the address that is used now, or one that is known; without any, its path."""
    path = EDITOR.format(automation_id)
    for is_current in (True, False):
        with suppress(NoURLAvailableError):
            return get_url(hass, require_current_request=is_current) + path
    return path


def _status(captured: Before) -> object:
    """Return what became of a proposal, by what was captured of it."""
    return cast(Mapping[str, Any], captured.get("record") or {}).get("status")


def _restored(effect: AutomationChange) -> Mapping[str, Any] | None:
    """Return what stands in a text that is put back; None if it is another automation. Raises `ToolError`."""
    item = read_text(str(effect.data["text"]).encode()).item(effect.id)
    return None if item is None else item.config


def _as_judged(effect: AutomationChange, draft: AutomationDraft) -> dict[str, str]:
    """Return what a yes to switching on is for: the automation as it is written now."""
    return {"judged": draft.fingerprint} if effect.service == ENABLE else {}


def _is_on(hass: HomeAssistant, automation_id: str) -> bool:
    entity_id = entity_of(hass, automation_id)
    return entity_id is not None and hass.states.is_state(entity_id, STATE_ON)


def _record_of(effect: AutomationChange, context: Context, status: ProposalStatus) -> AutomationRecord:
    data = effect.data
    return AutomationRecord(
        id=effect.id,
        status=status,
        user_id=context.user_id,
        alias=effect.alias,
        agent_id=str(data.get("agent_id", "")),
        said=str(data.get("said", "")),
        made=dt_util.utcnow(),
        config=dict(cast(Mapping[str, Any], data.get("config") or {})),
        never=tuple(cast(Sequence[Mapping[str, Any]], data.get("never") or ())),
    )


async def _async_switch(hass: HomeAssistant, effect: AutomationChange, context: Context) -> None:
    """Turn an automation on or off. Raises `ToolError` if it is gone."""
    if (entity_id := entity_of(hass, effect.id)) is None:
        raise ToolError("automation_gone", automation=effect.alias)
    service = SERVICE_TURN_ON if effect.service == ENABLE else SERVICE_TURN_OFF
    await hass.services.async_call(AUTOMATION, service, {ATTR_ENTITY_ID: entity_id}, blocking=True, context=context)


AUTOMATION_CHANGES = AutomationChangeKind()
