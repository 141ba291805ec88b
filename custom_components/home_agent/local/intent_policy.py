"""The policy in front of Home Assistant's intents: what a sentence would do may happen, waits for a yes, or is refused."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import time
from typing import Any, override

from hassil.recognize import RecognizeResult
from homeassistant.components.conversation import ChatLog, ConversationInput
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.default_agent import DefaultAgent
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import intent, llm
from homeassistant.util.json import JsonValueType
import probatio

from ..home.actions import ClosedGroup
from ..home.snapshot import HomeSnapshot
from ..languages.vocabulary import Language
from ..policy.confirmation import Call, NobodyConfirms
from ..policy.intents import (
    CHANGES_NOTHING,
    COMMAND,
    QUESTIONS,
    TIMERS,
    Mismatch,
    Recognised,
    as_said,
    async_handle,
    pinned,
    plan_of,
    plan_of_trigger,
)
from ..policy.policy import Policy, async_record
from ..policy.questions import async_not_followed
from ..policy.tool import HomeAgentTool, PendingResult
from ..policy.write import Write, async_execute
from ..support.errors import ToolError, ToolRefusal
from ..support.masking import MASK
from ..turn.plan import ActionClass, Plan
from ..turn.turn import NOT_FOLLOWED, ToolCallRecord, Turn
from .coverage import Coverage, LeftOut

TRIGGER = "trigger_sentence"
_UNKNOWN = "entity_not_found"
"""The refusal of what is not there, or not for this user."""
_HOME_WORDS = frozenset({"name", "area", "floor", "domain", "device_class", "state"})
"""Slots that hold words of the home; others may hold words of the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """What was said, by whom, where the answer goes, and who recognises it."""

    hass: HomeAssistant
    turn: Turn
    user_input: ConversationInput
    chat_log: ChatLog
    agent: DefaultAgent
    """Home Assistant's own."""
    language: Language
    """Its vocabulary."""
    home: HomeSnapshot
    """What is exposed."""


class ConfirmedIntent(HomeAgentTool):
    """An intent that waits for a yes, in the form of a tool; its arguments are its slots."""

    parameters = probatio.Schema({}, extra=probatio.ALLOW_EXTRA)
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    judges_calls = True
    stands_alone = True

    def __init__(self, recognised: Recognised) -> None:
        """Wait with one intent."""
        self.name = recognised.name
        self._recognised = recognised

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what the sentence comes to now. Raises `ToolRefusal` when it fits the home no more."""
        plan = plan_of(hass, turn, self._recognised)
        if isinstance(plan, Mismatch):
            raise ToolRefusal(plan.reason.name)
        return plan

    @override
    async def run(
        self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn
    ) -> JsonValueType | PendingResult:
        """Make the planned calls; an intent whose handler does not tell its calls is handled by it."""
        if plan.effects:
            return await async_execute(hass, plan.effects, turn.context)
        slots = {slot: {"value": value} for slot, value in pinned(self.name, args, plan).items()}
        response = await async_handle(hass, turn, self.name, slots, text=turn.text)
        if response.error_code is not None:
            raise ToolRefusal(response.error_code.value)
        return {"targets": [target.id for target in response.success_results if target.id]}


class SentenceTrigger(HomeAgentTool):
    """A sentence of an owner's for which automations wait, in the form of a tool."""

    name = TRIGGER
    parameters = probatio.Schema({})
    annotations = ConfirmedIntent.annotations
    judges_calls = True
    stands_alone = True

    def __init__(self, sentence: Sentence) -> None:
        """Take the sentence as it was said."""
        self._sentence = sentence

    async def async_matched(self) -> Mapping[str, RecognizeResult]:
        """Return which triggers it fits now, by their name."""
        found = await self._sentence.agent.async_recognize_sentence_trigger(self._sentence.user_input)
        return found.matched_triggers if found is not None else {}

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what those come to that wait for it now. Raises `ToolError` when nobody does, or the user may not."""
        matched = (await self.async_matched()).values()
        if not matched:
            raise ToolRefusal(TRIGGER)
        said = [(result.intent_sentence and result.intent_sentence.text) or "" for result in matched]
        plan = plan_of_trigger(hass, turn, said)
        self.title = plan.subject
        return replace(plan, subject=None)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Let those that wait begin; return what they want to be said, if anything."""
        manager = get_agent_manager(hass)
        begun = [
            begin(self._sentence.user_input, result)
            for name, result in (await self.async_matched()).items()
            if (begin := manager.get_trigger_callback(name)) is not None
        ]
        return {"response": next((said for said in await asyncio.gather(*begun) if said), None)}


class IntentPolicy:
    """Decides on each intent right before it is handled, and remembers what became of the last one."""

    def __init__(self, hass: HomeAssistant, turn: Turn, policy: Policy, coverage: Coverage) -> None:
        """Decide for one turn."""
        self._hass = hass
        self._turn = turn
        self._policy = policy
        self.coverage = coverage
        self._is_covered = False
        self.recognised: Recognised | None = None
        self.refusal: ToolError | None = None
        self.mismatch: Mismatch | None = None
        self.left_out: LeftOut | None = None
        """What the sentence named last and the intent did not touch: then it was not understood."""
        self.instead: Recognised | None = None
        """What was said, where Home Assistant's intent does something else."""
        self.later: str | None = None
        """A command that came up for later, and has to be cleared first."""
        self.answers_later = False
        """Whether what is no question by its form is only answered when it is no command either."""
        self.unasked = False
        """Whether Home Assistant's sentences took it for a question, and that waits."""
        self._cleared: str | None = None
        self._write: Write | None = None

    def covers(self, intents: Sequence[Recognised]) -> bool:
        """Return whether intents together touch all that was said; they are then not looked at one by one."""
        touched: list[str] = []
        for each in intents:
            try:
                plan = plan_of(self._hass, self._turn, each)
            except ToolError:
                continue  # refused, and said why, when it is its turn
            touched += plan.targets if isinstance(plan, Plan) else ()
        self.left_out = self.coverage.of_action(intents, touched)
        self._is_covered = True
        return self.left_out is None

    def permits(self, name: str, slots: Mapping[str, Any], *, is_custom: bool = False) -> bool:
        """Return whether the intent may be handled; nothing may be awaited until then.

        With `is_custom` a user wrote its sentence, and knows what it does.
        """
        recognised = Recognised(name=name, slots=slots)
        self.recognised = as_said(self._hass, self._turn, recognised)
        self.instead = self.recognised if self.recognised is not recognised else None
        self.drop()
        self.refusal = self.mismatch = None
        try:
            plan = plan_of(self._hass, self._turn, self.recognised)
            if (command := slots.get(COMMAND)) and command != self._cleared:
                self.later = str(command)
                return False
            if isinstance(plan, Mismatch):
                self.mismatch = plan
                return not plan.certain
            if not self._is_covered and not is_custom:
                self.left_out = self.coverage.of_action([self.recognised], plan.targets)
                if self.left_out is not None:
                    return False
            self._policy.authorize(self._turn, plan, self._call(plan))
            if name not in CHANGES_NOTHING:
                self._write = Write(self._hass, self._policy.writes, self._turn, self.recognised.name, plan)
        except ToolError as err:
            self.refusal = err
        return self.refusal is None and self.instead is None

    def drop(self) -> None:
        """Forget an intent that was permitted and not handled."""
        if self._write is not None:
            self._write.drop()
            self._write = None

    @property
    def meets_unknown(self) -> bool:
        """Whether the refusal is about something of which the user may know nothing: then it is not there for them."""
        return self.refusal is not None and self.refusal.translation_key == _UNKNOWN

    @property
    def meets_group(self) -> bool:
        """Whether the refusal is about a group that reaches further, where many are meant: all others can be done without it."""
        meant = self.recognised.slots.get("name") if self.recognised is not None else None
        return isinstance(self.refusal, ClosedGroup) and meant in (None, "all")

    @property
    def finds_nothing(self) -> bool:
        """Whether the last intent was permitted; one without an answer has then found nothing that it is about."""
        others = (self.refusal, self.mismatch, self.left_out, self.later, self.instead)
        return self.recognised is not None and all(other is None for other in others)

    def clears(self, command: str, later: Recognised | None, *, final: bool) -> bool:
        """Return whether a command may be left for later; it is done then by what understands it now.

        Not what needs a yes or a value for a script, for nobody can be asked then, what only answers, for nobody hears it, nor what
        none of Home Assistant's sentences fits (`later` is None) or nothing in the home. With `final` there is a refusal that says so now.
        """
        self.refusal = self.later = None
        try:
            if later is None:
                self.refusal = ToolError("delayed_unknown", command=command) if final else None
                return False
            if later.name in CHANGES_NOTHING or later.name in TIMERS:
                self.refusal = ToolError("delayed_answer") if final else None
                return False
            if isinstance(plan := plan_of(self._hass, self._turn, later), Mismatch):
                self.recognised, self.mismatch = later, plan
                return False
            if (needs := self.coverage.of_fields([later], plan.targets)) is not None and needs.fields:
                self.recognised, self.left_out = later, needs
                return False
            self._policy.authorize(self._turn, plan)
        except NobodyConfirms as err:
            target = (err.translation_placeholders or {}).get("target", "")
            self.refusal = ToolError("confirmation_later", target=target)
        except ToolError as err:
            self.refusal = err
        else:
            self._cleared = command
        return self.refusal is None

    def wait_along(self, name: str, slots: Mapping[str, Any]) -> None:
        """Let an intent that needs no yes wait for the one that another part of its sentence needs."""
        if self.permits(name, slots):
            plan = plan_of(self._hass, self._turn, Recognised(name=name, slots=slots))
            if isinstance(plan, Plan):
                self._policy.confirmations.add(self._turn, self._call(plan))

    def _call(self, plan: Plan) -> Call:
        assert self.recognised is not None
        return Call(tool=ConfirmedIntent(self.recognised), arguments=dict(self.recognised.slots), plan=plan)

    async def async_finish(self, response: intent.IntentResponse) -> None:
        """Look what became of the intent; what the home denies of the answer is told."""
        if (write := self._write) is None:
            return
        self._write = None
        if response.error_code is not None:
            write.fail()
            if self.recognised is not None:  # why it failed is told in the words of a device
                self._turn.record.taints.add(self.recognised.name)
            return
        outcomes = await write.async_outcomes()
        if not (denied := [item for item, outcome in outcomes.items() if outcome in NOT_FOLLOWED]):
            return
        told = await async_not_followed(self._hass, self._turn.language, denied)
        if len(denied) < len(outcomes):  # the answer holds for the others
            said = str(response.speech.get("plain", {}).get("speech") or "").rstrip(" .")
            told = ". ".join(filter(None, (said, told)))
        response.async_set_speech(told)

    def check_answer(self, response: intent.IntentResponse) -> None:
        """Refuse an answer about entities that the user may not read, or about fewer than were asked about."""
        if self.recognised is None or self.recognised.name not in QUESTIONS:
            return
        read = tuple(state.entity_id for state in (*response.matched_states, *response.unmatched_states))
        try:
            self._policy.authorize(self._turn, Plan(action=ActionClass.READ, targets=read))
        except ToolError as err:
            self.refusal = err
        if self.recognised.name == intent.INTENT_GET_STATE and response.error_code is None:
            self.left_out = self.coverage.of_answer(self.recognised.slots, read)

    @callback
    def report(self, outcome: intent.IntentResponse | HomeAssistantError, started: float) -> None:
        """Record what was done or refused; `started` is a reading of `time.perf_counter`.

        The intent's name, words of the home and ids are kept; nothing of what was said.
        """
        assert self.recognised is not None
        intent_name, slots = self.recognised.name, self.recognised.slots
        error: str | None = None
        targets: list[str] = []
        if isinstance(outcome, HomeAssistantError):
            error = type(outcome).__name__
        elif outcome.error_code is not None:
            error = outcome.error_code.value
        else:
            targets = [target.id for target in outcome.success_results if target.id]
        plain = frozenset() if intent_name in TIMERS else _HOME_WORDS
        parameters = {
            slot: value if slot in plain or isinstance(value, (int, float)) else MASK for slot, value in slots.items()
        }
        result = {"targets": targets} if error is None else error
        async_report(self._hass, self._turn, intent_name, parameters, error, result, started)


@callback
def async_report(
    hass: HomeAssistant,
    turn: Turn,
    name: str,
    parameters: dict[str, object],
    error: str | None,
    result: object,
    started: float,
) -> None:
    """Record what answered a sentence: an intent, or an automation of the owner, whose actions have their own trace."""
    turn.record.calls_started += 1
    record = ToolCallRecord(
        tool_name=name,
        parameters=parameters,
        success=error is None,
        duration_ms=round((time.perf_counter() - started) * 1000),
        error=error,
    )
    async_record(hass, turn, record, result)
