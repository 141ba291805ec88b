"""A change of an automation: one is made, rewritten, deleted, put back, switched on or off, proposed or withdrawn."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Self, cast, override

from homeassistant.auth.models import User
from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.const import ATTR_ENTITY_ID, CONF_ACTION, SERVICE_TURN_OFF, SERVICE_TURN_ON, STATE_ON
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.json import json_bytes
from homeassistant.helpers.network import NoURLAvailableError, get_url
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, json_loads_object

from ...automations.check import async_depends, async_reached
from ...automations.codes import has_code
from ...automations.draft import AutomationDraft, async_draft
from ...automations.file import read_text
from ...automations.guards import has_guard
from ...automations.probation import acting, async_acting, async_record, noted_only
from ...automations.records import AutomationRecord, records_of
from ...automations.store import automation_store
from ...automations.told import async_facts, async_sentence
from ...automations.words import async_words
from ...home.exposure import is_exposed
from ...home.fingerprint import fingerprint
from ...home.judgement import Judgement, judge_sequence
from ...home.states import Knows
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
        known = await async_record(hass, effect.id) if effect.service == ENABLE else None
        config: Mapping[str, Any] | None
        if known is not None and known.is_on_probation:
            config = await async_acting(hass, known)
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
        """Return whether no one has rewritten, decided or, where that was done, switched it since.

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
            await automation_store(hass).async_put(
                effect.id, None, expected=effect.data.get("expected"), then=partial(records.forget, effect.id)
            )
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
        data, records, row = effect.data, records_of(hass), effect.data.get("record")
        read = cast(Mapping[str, Any], row)
        earlier = from_row(AutomationRecord, read, longest=records.longest) if row else None

        def keep() -> None:
            if earlier is None:
                if data.get("is_unknown"):
                    records.forget(effect.id)
                return
            known, kept = records.get(effect.id), earlier
            if known is not None and known.until == kept.until and known.config == kept.config:
                kept = replace(kept, noted=known.noted, noted_before=known.noted_before)  # the same probation
            records.put(kept)

        await automation_store(hass).async_put(
            effect.id,
            None,
            expected=data.get("expected"),
            text=str(data["text"]),
            place=int(data["place"]),
            within=data.get("within"),
            enabled=bool(data.get("enabled", True)),
            then=keep,
        )

    async def _async_enable(
        self, hass: HomeAssistant, effect: AutomationChange, known: AutomationRecord | None, context: Context
    ) -> None:
        """Switch an automation on; its probation is over, and what it uses counts as judged."""
        if known is None or known.status is ProposalStatus.PROPOSED:
            await _async_switch(hass, effect, context)
            return
        draft, item, config = effect.draft, None, known.config
        if known.is_on_probation:
            item = await automation_store(hass).async_item(effect.id)
            config = acting(known, None if item is None else item.config)
            draft = draft or await async_draft(hass, config, effect.id, is_there=True)
            if draft.fingerprint != fingerprint(config):  # the yes was for another text
                raise ToolError("automation_file_changed")
        depends = known.depends if draft is None else await async_depends(hass, draft)
        judged = known.fingerprint if draft is None else draft.fingerprint
        let_act = replace(known.let_act(), status=ProposalStatus.APPROVED, fingerprint=judged)

        def keep() -> None:
            now = depends if draft is None else {**depends, **async_reached(hass, draft)}
            records_of(hass).put(replace(let_act, depends=now))

        if known.is_on_probation:
            expected = None if item is None else item.fingerprint
            await automation_store(hass).async_put(effect.id, config, expected=expected, then=keep)
        else:
            await _async_switch(hass, effect, context)
            keep()

    async def _async_write(self, hass: HomeAssistant, effect: AutomationChange, context: Context) -> None:
        config, days = cast(Mapping[str, Any], effect.data["config"]), int(effect.data.get("probation_days") or 0)
        draft = effect.draft or await async_draft(hass, config, effect.id)
        written = noted_only(config) if days else config
        enabled = effect.service == CREATE or _is_on(hass, effect.id)
        until = dt_util.utcnow() + timedelta(days=days) if days else None
        records, depends = records_of(hass), await async_depends(hass, draft)
        is_ahead = bool(days) and effect.service == CREATE

        def keep(kept: Mapping[str, str]) -> None:
            record = _record_of(effect, context, ProposalStatus.APPROVED)
            if (known := records.get(effect.id)) is not None and known.status is not ProposalStatus.PROPOSED:
                record = replace(record, made=known.made, said=known.said or record.said)
            asked = dict(config) if days else {}
            records.put(replace(record, depends=kept, until=until, config=asked, fingerprint=draft.fingerprint))

        def done() -> None:
            nonlocal is_ahead
            is_ahead = False
            keep({**depends, **async_reached(hass, draft)})

        earlier = records.get(effect.id)
        if is_ahead:  # if the power goes in between, it would be there without a record, and do nothing for ever
            keep(depends)
            await records.async_flush()
        try:
            await automation_store(hass).async_put(
                effect.id,
                written,
                expected=effect.data.get("expected"),
                enabled=enabled,
                then=done,
            )
        except BaseException:
            if is_ahead:
                records.forget(effect.id)
                if earlier is not None:
                    records.put(earlier)
            raise

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
            is_on = (state.state == STATE_ON) == bool(effect.data.get("enabled", True))
            return is_on and item.text == effect.data.get("text") and _is_kept(known, effect.data.get("record"))
        config = cast(Mapping[str, Any], effect.data["config"])
        wanted = noted_only(config) if effect.data.get("probation_days") else config
        never = () if known is None else known.never
        if effect.service == UPDATE and [*never] != [*effect.data.get("never", ())]:
            return False  # its guard may be gone already, and what is kept of it not
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
            if effect.service == DELETE:  # what else stands in the file matters only to put it back
                found["within"] = item.within
        if record is None:
            found["is_unknown"] = True
        elif not has_code(record.config):
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
            "within": before.get("within"),
            "enabled": before.get("on", True),
            "expected": None if item is None else item.fingerprint,
            "record": before.get("record"),
            "is_unknown": bool(before.get("is_unknown")),
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
            told["note"] = f"On probation for {days} {'days' if days > 1 else 'day'}: its actions are only noted."
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
        facts = await async_facts(
            hass, language, effect.draft, effect.earlier, knows=knows, is_short=turn.spoken, probation_days=days
        )
        return [*facts, *await _async_given_up(hass, language, effect, knows)]

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
            key = "automation_on_probation" if days > 1 else "automation_on_probation_for_one_day"
            return await async_text(hass, language, key, automation=name, days=str(days))
        is_on = _is_on(hass, effect.id)
        key = "automation_is_on" if is_on else "automation_is_there_off"
        if effect.service == UPDATE:
            key = "automation_is_changed"
        known = records_of(hass).get(effect.id)
        if effect.service == RESTORE and known is not None and known.is_on_probation:  # it is on, and does nothing
            key = _TEXTS[RESTORE][Moment.UNDONE]
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


async def _async_given_up(hass: HomeAssistant, language: str, effect: AutomationChange, knows: Knows) -> Sequence[str]:
    """Return what an update lets be that had to be kept out, where no condition that goes tells it: a person took that away."""
    known = records_of(hass).get(effect.id)
    if effect.service != UPDATE or effect.earlier is None or known is None:
        return ()
    given_up = [item for item in known.never if item not in effect.data.get("never", ())]
    untold = [item for item in given_up if not has_guard(effect.earlier.config, item)]
    if not untold:
        return ()
    draft = await async_draft(hass, {"alias": effect.alias, "triggers": [], "conditions": untold, "actions": []})
    words = await async_words(hass, language, draft, knows=knows)
    return (await async_text(hass, language, "automation_never_given_up", what="; ".join(words.conditions)),)


def _status(captured: Before) -> object:
    """Return what became of a proposal, by what was captured of it."""
    return cast(Mapping[str, Any], captured.get("record") or {}).get("status")


def _is_kept(known: AutomationRecord | None, row: object) -> bool:
    """Return whether what is kept of an automation is what was captured, besides what is learned by itself; None was not captured."""
    if row is None:
        return True
    if known is None or not isinstance(row, Mapping):
        return False
    now = json_loads_object(json_bytes(as_row(known)))
    return all(now.get(key) == row.get(key) for key in ("status", "until", "config", "never"))


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
        probation_days=int(data.get("probation_days") or 0),
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
