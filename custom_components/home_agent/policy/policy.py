"""The one decision for every tool call, from any provider and any user.

limits → arguments → plan → permission → confirmation → the tool → audit → envelope. Only `HomeAssistantError` may leave a
tool, and none leaves here: the model always gets a result.

The rules decide in this order: what the owner never offers is refused; what the owner always wants to be asked about is asked;
in a conversation that has read text from outside, all that is sensitive is asked; what the owner never wants to be asked about
is allowed; the rest goes by its class.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum
from functools import lru_cache
import time
from typing import Any, NoReturn

from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.components.conversation import ChatLog
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.helpers import llm
from homeassistant.helpers.event import async_call_later
from homeassistant.util.json import JsonValueType
import probatio

from ..client.messages import BrokenArguments, add_calls, add_result
from ..home.domains import DOMAINS
from ..home.exposure import Names, async_check_permission, check_permission
from ..home.foreign import note_read
from ..settings.profile import ALL, Profile
from ..support.const import (
    AUDIT,
    CONF_ALWAYS_CONFIRM,
    CONF_CONFIRM_TIMEOUT,
    CONF_NEVER_CONFIRM,
    CONF_NEVER_OFFER,
    CONF_PINS,
    CONF_VERIFY_SECONDS,
    LOGGER,
)
from ..support.errors import DidNotRun, HomeAgentError, ToolError, ToolPermissionError, ToolRefusal, where_of
from ..support.masking import SECRET
from ..turn import events
from ..turn.plan import DESTRUCTIVE, TAINTED, ActionClass, Plan, ServiceCall
from ..turn.turn import ToolCallRecord, Turn, current_turn
from .audit import masked_result, told
from .confirmation import TIMEOUT, AlreadySo, Call, Confirmations, LeftForLater, NobodyConfirms
from .effects import KINDS
from .effects.wish_change import MAKE_WISH
from .intents import CHANGES_NOTHING
from .pins import CodeTries, codes_in
from .time_guard import check_time
from .tool import HomeAgentTool
from .write import DEFAULT_SECONDS, NoteWrite, Writes, already_result, already_so

BROKEN_ARGUMENTS = (
    "The arguments are not a JSON object, or nested too deeply. Nothing was done. Call the tool again with valid JSON."
)
TIMED_OUT = "No answer within {seconds} seconds. It is unknown whether the action happened: query the state."
UNKNOWN = "unknown_tool"
"""What a tool that does not exist is called in the log and in events."""
MAX_NAME = 64  # characters of a tool that does not exist, when a model is told so
TOO_MANY_CODES = "Too many different codes were tried lately; no other one is accepted today. Nothing was done. Do not try again: tell the user."

type ToolSource = Callable[[Turn], Awaitable[Sequence[HomeAgentTool]]]
"""Returns the tools of the profile of a turn, as they are now."""


class ToolNotFoundError(ToolRefusal):
    """There is no tool of that name."""


class ToolArgumentsError(ToolRefusal):
    """The arguments are invalid."""


class ToolLimitError(ToolRefusal):
    """More calls than one request may make, or more codes than may be tried."""


LISTED = "always_ask"


class Verdict(IntEnum):
    """What becomes of a call; the strictest has the highest number."""

    ALLOW = 0
    ASK = 1
    REFUSE = 2


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and its reasons, most telling first: what is done (`Plan.reasons`), `always_ask`, `tainted`."""

    action: Verdict
    why: tuple[str, ...] = ()
    subject: str = ""  # what the owner's list of refusals names: an entity, a service, a tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The lists of the home: entity ids, domains, services and tools; `*` stands for anything.

    A profile adds its own. What the home always asks about, no profile can take back.
    """

    always_ask: tuple[str, ...] = ()
    never_ask: tuple[str, ...] = ()
    never_offer: tuple[str, ...] = ()

    def offers(self, profile: Profile, tool: HomeAgentTool) -> bool:
        """Return whether a model is told of a tool at all."""
        return self.allows(profile, tool.name, tool.stands_for or tool.name, tool.entity_id or tool.name)

    def allows(self, profile: Profile, *names: str) -> bool:
        """Return whether a profile has a tool that is called so."""
        if ALL not in profile.allowed_tools and _names(profile.allowed_tools, ()).first(names) is None:
            return False
        return _names(self.never_offer, profile.never_offer).first(names) is None

    def asks_for(self, profile: Profile, tool: HomeAgentTool) -> bool:
        """Return whether every call of a tool needs a yes in any conversation."""
        names = (tool.name, tool.stands_for or tool.name)
        if _names(self.always_ask, profile.always_ask).first(names) is not None:
            return True
        spared = _names(self.never_ask, profile.never_ask).first((*names, tool.entity_id or tool.name))
        return tool.always_asks and spared is None

    def decide(self, turn: Turn, tool: HomeAgentTool | None, plan: Plan) -> Decision:
        """Return what becomes of a plan. `tool` is None for a sentence that Home Assistant itself understood."""
        profile = turn.profile
        tool_name = (tool.name, tool.stands_for or tool.name) if tool else ()
        changes = plan.action is not ActionClass.READ
        is_listed = self.never_offer or profile.never_offer or self.always_ask or profile.always_ask
        touched = (*tool_name, *_touched(plan)) if changes and is_listed else tool_name
        if (refused := _names(self.never_offer, profile.never_offer).first(touched)) is not None:
            return Decision(Verdict.REFUSE, subject=refused)
        if profile.changes_within and changes:
            for part in profile.changes_within:
                if (outside := _outside(_names(part, ()), plan, tool_name)) is not None:
                    return Decision(Verdict.REFUSE, subject=outside)
        listed = _names(self.always_ask, profile.always_ask).first(touched) is not None
        sensitive = plan.action is ActionClass.SENSITIVE
        tainted = (sensitive or plan.reach.wary) and bool(turn.record.taints)
        # what opens, unlocks or disarms later is never spared: who is in the house may be another one by then
        insists = plan.insists or (changes and (turn.insists or (sensitive and bool(turn.wish))))
        if not (listed or sensitive or tainted or insists):
            return Decision(Verdict.ALLOW)
        if not (listed or tainted or insists):
            spared, actions = _names(self.never_ask, profile.never_ask), [effect.action for effect in plan.effects]
            # a plan that does not say what is sensitive is about more than the entities it names
            if spared.first(tool_name) is not None or spared.cover(plan.sensitive or actions) or spared.cover(actions):
                return Decision(Verdict.ALLOW)
        why = (
            *((plan.reasons or (DESTRUCTIVE,)) if sensitive or insists else ()),
            *((LISTED,) if listed else ()),
            *((TAINTED,) if tainted else ()),
        )
        return Decision(Verdict.ASK, why)


def rules_from_options(options: Mapping[str, object]) -> Rules:
    """Return the rules of an entry's options."""

    def listed(key: str) -> tuple[str, ...]:
        value = options.get(key)
        return tuple(str(item) for item in value) if isinstance(value, list) else ()

    return Rules(
        always_ask=listed(CONF_ALWAYS_CONFIRM),
        never_ask=listed(CONF_NEVER_CONFIRM),
        never_offer=listed(CONF_NEVER_OFFER),
    )


@lru_cache(maxsize=256)
def _names(home: tuple[str, ...], profile: tuple[str, ...]) -> Names:
    return Names((*home, *profile))


def _touched(plan: Plan) -> tuple[str, ...]:
    """Return the names of everything that a plan does and changes: entities and actions."""
    calls = (*plan.effects, *plan.handled)
    actions = (name for call in calls for name in KINDS[call.kind].names(call))
    called = (subject for call in calls for subject in call.subjects)
    return (*plan.targets, *actions, *called, *plan.reach.reached, *plan.reach.also)


def _outside(names: Names, plan: Plan, tool_name: Sequence[str]) -> str | None:
    """Return the first thing that a plan changes and that is not among the names; None if all are.

    An action is, by its own name or by that of every entity it is for. Without entities, the tool's name counts.
    """
    effects = [effect for effect in plan.effects if KINDS[effect.kind].changes_home]
    if plan.effects and not effects:
        return None
    calls = (*effects, *plan.handled)
    if not (calls or plan.targets or plan.reach.reached):
        return next((name for name in tool_name or (plan.subject or "",) if name not in names), None)
    by_name = {call.service for call in calls if any(name in names for name in KINDS[call.kind].names(call))}
    for call in calls:
        if call.service not in by_name and not call.entity_ids:
            return call.action
    entities = dict.fromkeys((*(item for call in calls for item in call.entity_ids), *plan.targets))
    for entity_id in entities:
        domain = entity_id.partition(".")[0]
        if entity_id not in names and not any(f"{domain}.{service}" in names for service in by_name):
            return entity_id
    return next((name for name in plan.reach.reached if name not in names), None)


class Policy:
    """Checks and runs tool calls for one config entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        rules: Rules | None = None,
        confirmations: Confirmations | None = None,
        writes: Writes | None = None,
        offered: ToolSource | None = None,
    ) -> None:
        """Take the owner's rules, who asks, who looks after, and what can be called when a yes comes."""
        self._hass = hass
        self.rules = rules or Rules()
        self.confirmations = confirmations or Confirmations(hass)
        self.writes = writes or Writes()
        self.offered = offered or _nothing
        self._codes = CodeTries()

    def authorize(self, turn: Turn, plan: Plan, call: Call | None = None) -> None:
        """Raise `ToolError` unless everything in the plan may happen now, for this user.

        With `call` a confirmation is asked for where one is needed (`NeedsConfirmation`), or `AlreadySo` says that there is
        nothing to ask about; without it the plan is refused.
        """
        check_permission(self._hass, turn.user, plan)
        decision = self.decide(turn, call.tool if call else None, plan)
        if turn.record.planned is not None and plan.action is not ActionClass.READ:
            if call is None:
                raise ToolError("wish_unable")
            _leave(turn, replace(call, plan=plan, why=decision.why))
        if decision.action is Verdict.ASK:
            if call is None:
                raise NobodyConfirms(target=", ".join(plan.targets))
            plan = replace(plan, already=already_so(self._hass, plan))
            if plan.is_done:
                raise AlreadySo(plan)
            self.confirmations.require(turn, replace(call, plan=plan, why=decision.why))

    def may_change(self, turn: Turn, entity_id: str) -> bool:
        """Return whether a turn may do anything with an entity, asked about or not; true for what nothing can be done with."""
        if turn.user is not None and not turn.user.permissions.check_entity(entity_id, POLICY_CONTROL):
            return False
        domain = entity_id.partition(".")[0]
        actions = DOMAINS[domain].actions.values() if domain in DOMAINS else ()
        for action in actions:
            effect = ServiceCall(domain=domain, service=action.service, entity_ids=(entity_id,), data={})
            plan = Plan(action=ActionClass.WRITE, targets=(entity_id,), effects=(effect,))
            with suppress(ToolPermissionError):
                self.decide(turn, None, plan)
                return True
        return not actions

    async def async_judge(self, turn: Turn, tool: HomeAgentTool, arguments: dict[str, Any]) -> Call:
        """Return a call with its plan as it would be made now, and why it needs a yes; nothing is done or asked.

        Raises `HomeAssistantError` or `probatio.Invalid` for what stands against it.
        """
        plan = await tool.plan(self._hass, tool.parameters(arguments), turn)
        await async_check_permission(self._hass, turn.user, plan)
        return Call(tool=tool, arguments=arguments, plan=plan, why=self.decide(turn, tool, plan).why)

    async def async_check_again(self, turn: Turn, call: Call) -> None:
        """Raise `HomeAssistantError` when a confirmed call would now be anything else than what was confirmed."""
        token = current_turn.set(turn)  # a delegated one knows less of the home than the turn that answers
        try:
            async with asyncio.timeout(turn.profile.tool_timeout):
                await self._async_plan(turn, call.tool, call.arguments, call.plan, call.place)
        except (probatio.Invalid, TimeoutError) as err:  # the tool takes other arguments by now, or does not answer
            raise ToolError("confirmation_changed") from err
        finally:
            current_turn.reset(token)

    async def async_call_by_code(
        self, turn: Turn, tool: HomeAgentTool, arguments: dict[str, Any], chat_log: ChatLog, *, known: bool
    ) -> llm.ToolResult | None:
        """Return the envelope of a call by code, None if it waits for a yes or a wish. `known`: the model has the tool and sees it."""
        call = llm.ToolInput(tool_name=tool.name, tool_args=arguments, external=True)
        result = await self.async_call(turn, tool, call)
        if turn.record.request_id is not None or turn.record.planned:
            return None
        add_calls(chat_log, turn.agent_id, [call], known=known)
        add_result(chat_log, turn.agent_id, call, result)
        return result

    async def async_call(
        self,
        turn: Turn,
        tool: HomeAgentTool | None,
        tool_input: llm.ToolInput,
        *,
        confirmed: Plan | None = None,
        by_model: bool = False,
    ) -> llm.ToolResult:
        """Return the envelope of a call: success, result, error. `tool` is None for an unknown name, `confirmed` has the yes.

        `by_model`: a model chose to make it now, which it may not where the user put it off.
        """
        hass, started = self._hass, time.perf_counter()
        name = tool.name if tool is not None else UNKNOWN  # what a model invents may be anything, also what was said
        for asking in turn.lineage:
            asking.record.calls_started += 1
        place = turn.place + turn.lineage[-1].record.calls_started
        is_made = turn.record.planned is None  # what is only noted for a wish tells no one of a call
        if is_made:
            events.async_tool_progress(hass, turn, name, "started")
        result: JsonValueType = None
        error: str | None = None
        error_type: str | None = None
        limit = asyncio.timeout(None if tool is not None and tool.is_elsewhere else turn.profile.tool_timeout)
        token = current_turn.set(turn)
        try:
            async with limit:
                result = await self._async_run(turn, tool, tool_input, confirmed, place, by_model=by_model)
        except Exception as err:  # noqa: BLE001 - an error would end the turn without an answer
            error_type, error = _told(err)
            if isinstance(err, DidNotRun):
                turn.record.did_not_run = err
            if limit.expired():
                timed_out = tool.timed_out if tool is not None and tool.timed_out else TIMED_OUT
                error = timed_out.format(seconds=turn.profile.tool_timeout)
            elif error is None:
                LOGGER.error("Tool %s failed unexpectedly: %s", name, where_of(err))
                error = error_type
        except BaseException as err:  # the client is gone: what was begun still has an end
            error_type = type(err).__name__
            raise
        finally:
            current_turn.reset(token)
            record = ToolCallRecord(
                tool_name=name,
                parameters=told(hass, tool, tool_input.tool_args),
                success=error_type is None,
                duration_ms=round((time.perf_counter() - started) * 1000),
                error=error_type,
            )
            if is_made:
                async_record(hass, turn, record, result if error is None else error)
                events.async_tool_progress(hass, turn, name, "completed" if error_type is None else "failed")
        await self.writes.async_stored()  # also what was undone, or done by a call that failed
        return llm.ToolResult(
            data={"success": error is None, "result": result, "error": error}, error=error is not None
        )

    async def _async_run(
        self,
        turn: Turn,
        tool: HomeAgentTool | None,
        tool_input: llm.ToolInput,
        confirmed: Plan | None,
        place: int,
        *,
        by_model: bool,
    ) -> JsonValueType:
        """Return the result of a call; raises what stands against it, or what the tool raises."""
        for asking in turn.lineage:
            limit = asking.profile.max_calls_per_turn * asking.record.shares
            if asking.record.calls_started > limit:
                raise ToolLimitError(
                    f"The limit of {limit} tool calls for one request is reached. Answer with what you know."
                )
        if tool is None:
            name = tool_input.tool_name[:MAX_NAME]
            raise ToolNotFoundError(f"There is no tool '{name}'. Use only the tools you were given.")
        if isinstance(tool_input.tool_args, BrokenArguments):
            raise ToolArgumentsError(BROKEN_ARGUMENTS)
        args, plan = await self._async_plan(turn, tool, tool_input.tool_args, confirmed, place, by_model=by_model)
        if plan.action is not ActionClass.READ and SECRET.search(f"{args}{plan.effects}"):
            self._refuse_codes(args, plan, note=True)
        if turn.record.planned is not None:  # what is read is read when it is time
            raise ToolError("wish_unable")
        if plan.already and plan.is_done:
            told = tool.already(self._hass, args, plan, turn)
            return already_result(self._hass, plan) if told is None else told
        if plan.outside:  # before it runs: the words of an error come from outside as well
            turn.record.taints.add(tool.name)
        result = await self.writes.async_run(self._hass, turn, tool, args, plan)
        note_read(self._hass, turn, result)
        return result

    async def _async_plan(
        self,
        turn: Turn,
        tool: HomeAgentTool,
        arguments: dict[str, Any],
        confirmed: Plan | None,
        place: int,
        *,
        by_model: bool = False,
    ) -> tuple[dict[str, Any], Plan]:
        """Return the validated arguments and the plan, which may be executed now."""
        args = tool.parameters(arguments)
        plan = await tool.plan(self._hass, args, turn)
        await async_check_permission(self._hass, turn.user, plan)
        decision = self.decide(turn, tool, plan)
        if by_model:
            keeps = turn.profile.wishes and self.rules.allows(turn.profile, MAKE_WISH)
            check_time(self._hass, turn, tool, plan, keeps=keeps)
        if turn.record.planned is not None and plan.action is not ActionClass.READ:
            _leave(turn, Call(tool=tool, arguments=arguments, plan=plan, why=decision.why, place=place))
        if plan.action is not ActionClass.READ and SECRET.search(f"{args}{plan.effects}"):
            self._refuse_codes(args, plan)
        if decision.action is Verdict.ASK or (confirmed is not None and confirmed.already):
            plan = replace(plan, already=already_so(self._hass, plan))
        if confirmed is None:
            if decision.action is Verdict.ASK and not plan.is_done:
                asked = tool.asked_as(plan)
                call = Call(tool=asked, arguments=arguments, plan=plan, why=decision.why, place=place)
                self.confirmations.require(turn, call)
        elif plan != confirmed or {*confirmed.already} - {*plan.already}:  # what was so was not asked about
            raise ToolError("confirmation_changed")
        return args, plan

    def _refuse_codes(self, args: Mapping[str, Any], plan: Plan, *, note: bool = False) -> None:
        """Raise `ToolLimitError` where a call hands on more codes than may be tried; with `note` they count as tried."""
        given = [args, *(effect.data for effect in plan.effects)]
        if not self._codes.allow({*codes_in(given)}, note=note):
            raise ToolLimitError(TOO_MANY_CODES)

    def decide(self, turn: Turn, tool: HomeAgentTool | None, plan: Plan) -> Decision:
        """Return whether to ask, by the strictest rules in the lineage. Raises `ToolError` for what the owner never allows."""
        if plan.action is not ActionClass.READ and is_only_reading(turn, tool):
            raise ToolError("wish_only_reads")
        decisions = [self.rules.decide(asking, tool, plan) for asking in turn.lineage]
        decision = max(decisions, key=lambda found: found.action)  # the turn's own of those that are as strict
        if decision.action is Verdict.REFUSE:
            target = decision.subject
            if plan.targets and target in _touched(plan) and "." in target and self._hass.states.get(target) is None:
                target = plan.targets[0]  # people do not know actions by name
            raise ToolPermissionError(target=target)
        return decision


def is_only_reading(turn: Turn | None, tool: HomeAgentTool | None) -> bool:
    """Return whether a turn may change nothing, or follows from one; an intent that only answers may be handled in it."""
    if tool is not None and tool.intent in CHANGES_NOTHING:
        return False
    while turn is not None and not turn.only_reads:
        turn = turn.parent
    return turn is not None


def _leave(turn: Turn, call: Call) -> NoReturn:
    """Note a call for the wish that is made of a turn, and raise `LeftForLater`: it is not made now."""
    planned = turn.record.planned
    assert planned is not None
    if all((call.tool.name, call.plan) != (other.tool.name, other.plan) for other in planned):
        planned.append(call)
    raise LeftForLater


async def _nothing(_turn: Turn) -> Sequence[HomeAgentTool]:
    return ()


def _told(err: Exception) -> tuple[str, str | None]:
    """Return the class of an error for logs, ours for a foreign one, and its text for the model; None if unexpected."""
    match err:
        case Unauthorized():
            return ToolPermissionError.__name__, "The user is not allowed to do this."
        case probatio.Invalid():
            return ToolArgumentsError.__name__, str(err)
        case HomeAssistantError():
            return type(err).__name__, str(err)
    return type(err).__name__, None


def policy_from_options(
    hass: HomeAssistant,
    options: Mapping[str, Any],
    note: NoteWrite | None = None,
    rules: Rules | None = None,
    offered: ToolSource | None = None,
    stored: Callable[[], Awaitable[object]] | None = None,
) -> Policy:
    """Return the policy of an entry's options."""
    confirmations = Confirmations(hass, int(options.get(CONF_CONFIRM_TIMEOUT, TIMEOUT)), options.get(CONF_PINS))
    writes = Writes(seconds=float(options.get(CONF_VERIFY_SECONDS, DEFAULT_SECONDS)), note=note, stored=stored)
    return Policy(hass, rules or rules_from_options(options), confirmations, writes, offered)


THROTTLE_TURNS = 10
"""Turns per minute and profile from automations or one run of a script, unless the owner set another number."""
PEOPLE = 6
"""How many times as many one person or voice device may bring, to all profiles together; only a program exceeds that."""
WINDOW = 60  # seconds

type Notify = Callable[[HomeAssistant, Profile, bool], None]
"""Told of a profile whose turns are refused from now on, or no longer."""


class Throttle:
    """Stops automations that talk to a profile in a loop.

    A script talks in the name of the person who started it, but in one context. A program may also have a person's token, so
    more than a person can say is refused as well.
    """

    def __init__(self, hass: HomeAssistant, notify: Notify, limit: int = THROTTLE_TURNS) -> None:
        """Take who is told, and how many turns a minute may bring."""
        self._hass = hass
        self._notify = notify
        self.limit = limit
        self._turns: dict[tuple[str, str], deque[float]] = {}
        """By profile and context, and by person or device; the latest speaker is last."""
        self._refused: dict[str, float] = {}
        self._timers: dict[str, CALLBACK_TYPE] = {}

    @callback
    def admit(self, turn: Turn) -> None:
        """Return if the turn may go on. Raises `HomeAgentError` above the limit per minute, which is higher for people."""
        profile, now = turn.profile, time.monotonic()
        while self._turns:  # forget old speakers; only those are looked at
            oldest, turns = next(iter(self._turns.items()))
            if turns and turns[-1] > now - WINDOW:
                break
            del self._turns[oldest]
        speaker = turn.context.user_id or turn.device_id or turn.satellite_id
        limits = {("", speaker): self.limit * PEOPLE} if speaker else {}
        limits[(profile.subentry_id, turn.context.id if speaker else "")] = self.limit
        for key, limit in limits.items():
            turns = self._turns[key] = self._turns.pop(key, deque())
            while turns and turns[0] <= now - WINDOW:
                turns.popleft()
            if len(turns) >= limit:
                break
        else:
            for key in limits:
                self._turns[key].append(now)
            return
        if not key[0]:
            raise HomeAgentError("too_many_messages", limit=str(limit))
        self._refused[profile.subentry_id] = now
        if profile.subentry_id not in self._timers:
            LOGGER.warning(
                "An automation asks %s more than %d times a minute; until that ends, it does not answer automations",
                profile.name,
                self.limit,
            )
            self._notify(self._hass, profile, True)
            self._look_after(profile, WINDOW)
        raise HomeAgentError("automation_loop", profile=profile.name, limit=str(self.limit))

    def _look_after(self, profile: Profile, seconds: float) -> None:
        """Look later whether it is quiet."""

        @callback
        def look(_now: datetime) -> None:
            del self._timers[profile.subentry_id]
            left = self._refused[profile.subentry_id] + WINDOW - time.monotonic()
            if left > 0:
                self._look_after(profile, left)
            else:
                self._notify(self._hass, profile, False)

        self._timers[profile.subentry_id] = async_call_later(self._hass, seconds, look)

    @callback
    def stop(self) -> None:
        """Forget everything, without notifications."""
        for stop_timer in self._timers.values():
            stop_timer()
        self._timers.clear()


@callback
def async_record(hass: HomeAssistant, turn: Turn, record: ToolCallRecord, result: object) -> None:
    """Keep the call on the turn, write the audit line and fire the event; an error by its class, as its text may quote a user."""
    turn.record.calls.append(record)
    AUDIT.info(
        "Tool %s: %s in %d ms (conversation %s, user %s%s)",
        record.tool_name,
        "done" if record.success else "refused or failed",
        record.duration_ms,
        turn.conversation_id,
        turn.context.user_id,
        f", {record.error}" if record.error else "",
    )
    events.async_tool_executed(hass, turn, record, masked_result(result) if record.success else record.error)
