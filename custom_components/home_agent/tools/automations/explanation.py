"""`why_did_it_not_run` and `get_automation_stats`: what became of an automation."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
import re
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ...automations.draft import AutomationDraft, async_draft
from ...automations.known import SecretNames
from ...automations.probation import async_record
from ...automations.records import AutomationRecord, records_of
from ...automations.replay import async_replay
from ...automations.timeline import Timeline
from ...automations.traces import async_statistics, async_why_not, history_begin, made_at, told_made, told_probation
from ...automations.watched import async_entities, event_types_of
from ...home.exposure import may_tell
from ...home.parameters import read_duration
from ...home.states import json_safe, local_time
from ...policy.tool import HomeAgentTool
from ...support.errors import ToolError, ToolRefusal
from ...turn.plan import ActionClass, Plan
from ...turn.proposal import ProposalStatus
from ...turn.turn import Turn
from ..arguments import LenientSchema
from .known import Identified, async_identified, hides, shown
from .reading import READS
from .written import tidy

_CLOCK = re.compile(r"\b(\d{1,2})(?:[:.](\d{2}))(?::(\d{2}))?\b")
_WEEK = timedelta(days=7)
UNTOLD = "It looks at entities that are not exposed, so nothing is told of its triggers and conditions."
_ID = probatio.All(probatio.Coerce(str), probatio.Length(min=1, max=255))


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Take the names that models give the arguments."""
    names = {
        "automation_id": "id",
        "entity_id": "id",
        "name": "id",
        "alias": "id",
        "at": "when",
        "time": "when",
        "moment": "when",
    }
    found = {names.get(key, key): value for key, value in tidy(data).items()}
    return {key: value for key, value in found.items() if key in ("id", "when")}


def moment_of(text: str) -> datetime:
    """Return the past moment that "yesterday 22:00", "22:00", "2 hours ago" or an ISO time names. Raises `ToolRefusal`."""
    now = dt_util.now()
    text = text.strip()
    if (found := dt_util.parse_datetime(text)) is not None:
        return dt_util.as_utc(found)
    folded = text.casefold()
    if folded.endswith("ago"):
        return dt_util.as_utc(now - read_duration(folded.removesuffix("ago").strip()))
    if (clock := _CLOCK.search(folded)) is not None:
        hour, minute, second = (int(part or 0) for part in clock.groups())
        if hour < 24 and minute < 60 and second < 60:
            local = now.replace(hour=hour, minute=minute, second=second, microsecond=0)
            if "yesterday" in folded or ("today" not in folded and local > now):
                local -= timedelta(days=1)
            return dt_util.as_utc(local)
    raise ToolRefusal(
        f"'{text[:60]}' is no moment. Write for example 2026-03-01T22:00:00, yesterday 22:00 or 2 hours ago."
    )


class _AboutAutomation(HomeAgentTool):
    """A tool that looks at one automation, for administrators."""

    annotations = READS

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return a plan that touches nothing. Raises `ToolError` for an unknown one, and for others than administrators."""
        await async_identified(hass, turn, args["id"])
        return Plan(action=ActionClass.READ)


def _entity_id(hass: HomeAssistant, known: Identified) -> str:
    return er.async_get(hass).async_get_entity_id("automation", "automation", known.id) or f"automation.{known.id}"


async def _async_hiding(hass: HomeAssistant) -> Callable[[Any], Any]:
    """Return what takes the secrets of Home Assistant's configuration out of texts: what failed may name them."""
    return await hass.async_add_executor_job(SecretNames(Path(hass.config.config_dir)).hiding)


async def _async_draft(hass: HomeAssistant, known: Identified) -> AutomationDraft | None:
    """Return the automation as it would be replayed, None if it is not valid."""
    try:
        return await async_draft(
            hass, {key: value for key, value in known.config.items() if key != "id"}, known.id, is_there=True
        )
    except ToolError:
        return None


async def _async_record(hass: HomeAssistant, known: Identified) -> AutomationRecord | None:
    """Return what is kept of an automation that was made here, None of others and of what was only proposed."""
    try:
        record = await async_record(hass, known.id)
    except ToolError:  # its file cannot be read
        record = records_of(hass).get(known.id)
    is_made = record is not None and record.status not in (ProposalStatus.PROPOSED, ProposalStatus.DECLINED)
    return record if is_made else None


def _is_known(hass: HomeAssistant, turn: Turn, known: Identified, draft: AutomationDraft) -> bool:
    """Return whether who speaks may know all that an automation looks at: else why it ran or not would tell of the rest."""
    looked_at = async_entities(hass, draft)
    return not hides(hass, turn, known.config) and all(may_tell(hass, one, turn.user) for one in looked_at)


class WhyDidItNotRun(_AboutAutomation):
    """Says why an automation did not run."""

    name = "why_did_it_not_run"
    title_key = "tool_why_did_it_not_run"
    description = (
        "Find out why an automation did not run, or did not do what it should: its state, its traces and a replay of what was recorded. "
        "`when`: about when it should have run (yesterday 22:00, 2 hours ago, ISO time); without it, the last two days."
    )
    parameters = LenientSchema(
        {
            probatio.Required("id"): _ID,
            probatio.Optional("when"): probatio.All(probatio.Coerce(str), probatio.Length(max=60)),
        },
        _tidy,
    )
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object", "properties": {"id": {"type": "string"}, "when": {"type": "string"}}, "required": ["id"],
    }  # fmt: skip

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return `{id, name, findings}`, the likeliest finding first. Raises `ToolRefusal` for what is no moment."""
        known = await async_identified(hass, turn, args["id"])
        at = moment_of(args["when"]) if args.get("when") else None
        if at is not None and at > dt_util.utcnow():
            raise ToolRefusal("That moment has not come yet.")
        draft = await _async_draft(hass, known)
        is_told = draft is not None and _is_known(hass, turn, known, draft)
        record = await _async_record(hass, known)
        findings = await async_why_not(hass, _entity_id(hass, known), draft, at, record=record, tells_states=is_told)
        if draft is not None and not is_told:
            findings = [*findings, UNTOLD]
        hide = await _async_hiding(hass)
        told: list[JsonValueType] = [json_safe(shown(hass, turn, hide(finding))) for finding in findings]
        result: JsonObjectType = {"id": known.id, "name": json_safe(known.name), "findings": told}
        return result | ({"when": local_time(at)} if at is not None else {})


class GetAutomationStats(_AboutAutomation):
    """Says how often an automation ran."""

    name = "get_automation_stats"
    title_key = "tool_get_automation_stats"
    description = "How often an automation ran in the last 7 and 30 days, when last, what held it back, and errors of its last runs."
    parameters = LenientSchema({probatio.Required("id"): _ID}, _tidy)
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"],
    }  # fmt: skip

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return counts of runs, of what was held back, and of the traces by how they ended."""
        known = await async_identified(hass, turn, args["id"])
        entity_id = _entity_id(hass, known)
        found = await async_statistics(hass, entity_id, known.id)
        state = hass.states.get(entity_id)
        last = state.attributes.get("last_triggered") if state is not None else None
        result: JsonObjectType = {
            "id": known.id,
            "name": json_safe(known.name),
            "state": state.state if state is not None else "unavailable",
            "last_triggered": local_time(last) if isinstance(last, datetime) else None,
            "running_now": json_safe(state.attributes.get("current", 0)) if state is not None else 0,
            "runs": {f"last_{days}_days": count for days, count in found.runs.items()},
            "traces": dict(found.traces),
        }
        if found.last_error and not hides(hass, turn, known.config):
            hide = await _async_hiding(hass)
            result["last_error"] = json_safe(shown(hass, turn, hide(found.last_error)))
        record = await _async_record(hass, known)
        if record is not None and (told := told_probation(record)):
            result |= {"probation": told, "would_have_acted": record.noted_before + record.acted}
        begin = dt_util.utcnow() - timedelta(days=max(found.runs))
        notes: list[str] = []
        if found.reached_back is not None and found.reached_back > begin:
            notes.append(f"Recorded since {local_time(found.reached_back)} only.")
        if (made := made_at(hass, entity_id, record)) is not None and made > begin:
            notes.append(told_made(made))
        if notes:
            result["note"] = " ".join(notes)
        return result | await self._async_held(hass, known, turn, made)

    async def _async_held(
        self, hass: HomeAssistant, known: Identified, turn: Turn, made: datetime | None
    ) -> JsonObjectType:
        """Return what a replay says of the last week, since the automation was made; nothing where there is none."""
        if (draft := await _async_draft(hass, known)) is None or not _is_known(hass, turn, known, draft):
            return {}
        now = dt_util.utcnow()
        week = now - _WEEK
        begin = max(week, made or week, history_begin(hass) or week)
        try:
            timeline = await Timeline.async_recorded(
                hass, async_entities(hass, draft), begin, now, event_types=event_types_of(draft)
            )
            replay = await async_replay(hass, draft, timeline.since_known())
        except HomeAssistantError:
            return {}
        reasons = dict.fromkeys(shown(hass, turn, held.because) for held in replay.held)
        told: JsonObjectType = {
            "would_have_run": len(replay.runs),
            "held_back": len(replay.held),
            "because": [json_safe(reason) for reason in [*reasons][:3]],
        }
        if replay.since > week:
            told["since"] = local_time(replay.since)
        return {"by_replay_of_7_days": told}
