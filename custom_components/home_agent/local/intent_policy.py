"""Home Assistant's intents behind the policy: what one would do may happen, waits for a yes, or is refused."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
import time
from typing import Any, override

from hassil.recognize import RecognizeResult
from homeassistant.components import conversation
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.const import METADATA_CUSTOM_SENTENCE
from homeassistant.components.intent.timers import async_device_supports_timers
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import intent, llm
from homeassistant.util.json import JsonValueType
import probatio

from ..home.foreign import fails_in_own_words
from ..languages.data import data_of
from ..languages.moods import MoodKind, mood_of
from ..languages.phrases import is_altered, is_asking, is_order, is_question, is_turned_off
from ..policy.confirmation import Call, LeftForLater
from ..policy.intents import (
    CHANGES_NOTHING,
    COMMAND,
    INTENT_SCRIPT,
    QUESTIONS,
    TIMERS,
    Mismatch,
    Recognised,
    as_said,
    async_handle,
    forget_timers,
    is_of_owner,
    mismatch_of,
    pinned,
    plan_of,
    plan_of_trigger,
)
from ..policy.policy import async_record
from ..policy.questions import async_not_followed
from ..policy.tool import HomeAgentTool, PendingResult
from ..policy.write import Write, async_execute
from ..support.errors import ToolError, ToolRefusal
from ..support.localize import async_text
from ..support.masking import MASK
from ..turn.plan import ActionClass, Plan
from ..turn.turn import NOT_FOLLOWED, ToolCallRecord, Turn
from .coverage import LeftOut
from .later import puts_off
from .refusals import async_name_reason
from .sentences import Done, NotMine, Refused, Result, Sentence, Stage, speech_of, spoken

TRIGGER = "trigger_sentence"
INTENT_MUTE = "HassMediaPlayerMute"
_HOME_WORDS = frozenset({"name", "area", "floor", "domain", "device_class", "state"})
"""Slots that hold words of the home; others may hold words of the user."""


class ConfirmedIntent(HomeAgentTool):
    """An intent that waits for a yes, in the form of a tool; its arguments are its slots."""

    parameters = probatio.Schema({}, extra=probatio.ALLOW_EXTRA)
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    judges_calls = True
    stands_alone = True
    is_its_effects = True

    def __init__(self, hass: HomeAssistant, recognised: Recognised) -> None:
        """Wait with one intent. The owner's own are the same as the tools that models have of them."""
        self.name = self.intent = recognised.name
        if is_of_owner(hass, recognised.name):
            self.stands_for = f"{INTENT_SCRIPT}__{recognised.name}"
        self._recognised = recognised

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what the sentence comes to now. Raises `ToolRefusal` if it no longer fits the home."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """An intent that may be handled now."""

    recognised: Recognised
    is_other: bool = False
    """Whether it does what was said, and the one that was recognised would do something else."""
    mismatch: Mismatch | None = None  # why nothing seems to fit it; its handler may know better
    write: Write | None = None  # of an intent that changes something; to be finished or dropped

    def drop(self) -> None:
        """Forget that it was to be handled."""
        if self.write is not None:
            self.write.drop()

    async def async_finish(self, sentence: Sentence, response: intent.IntentResponse) -> None:
        """Look what became of the intent; what the home denies of the answer is told."""
        if self.write is None:
            return
        turn = sentence.turn
        if response.error_code is not None:
            self.write.fail()
            if self.recognised.name not in TIMERS and not fails_in_own_words(sentence.hass, self.write.targets):
                turn.record.taints.add(self.recognised.name)  # why it failed is told in the words of a device
            return
        outcomes = await self.write.async_outcomes()
        if not (denied := [item for item, outcome in outcomes.items() if outcome in NOT_FOLLOWED]):
            return
        told = await async_not_followed(sentence.hass, turn.language, denied)
        if len(denied) < len(outcomes):  # the answer holds for the others
            told = ". ".join(filter(None, (speech_of(response).rstrip(" ."), told)))
        response.async_set_speech(told)


type Ruling = Allowed | Refused | LeftOut | NotMine


def judge_intent(sentence: Sentence, recognised: Recognised, *, is_covered: bool = False) -> Ruling:
    """Return whether the intent may be handled; nothing may be awaited until then. A yes that it needs is asked for.

    `is_covered`: the intent touches all that was said, or the owner wrote the sentence.
    """
    meant = as_said(sentence.hass, sentence.turn, recognised)
    forget_timers(sentence.hass, meant.name)
    try:
        plan = plan_of(sentence.hass, sentence.turn, meant)
        if isinstance(plan, Mismatch):
            left = NotMine(recognised=meant, mismatch=plan)
            return left if plan.certain else Allowed(recognised=meant, is_other=meant is not recognised, mismatch=plan)
        if not is_covered and (left_out := sentence.coverage.of_action([meant], plan.targets)) is not None:
            return replace(left_out, recognised=meant)
        if meant.name in CHANGES_NOTHING and sentence.turn.record.planned is not None:
            plan = replace(plan, action=ActionClass.READ)  # a question is nothing to be done later
        sentence.means.policy.authorize(sentence.turn, plan, _call(sentence.hass, meant, plan))
    except ToolError as err:
        return Refused(error=err, recognised=meant)
    changes = recognised.name not in CHANGES_NOTHING
    writes = sentence.means.policy.writes
    write = Write(sentence.hass, writes, sentence.turn, meant.name, plan) if changes else None
    return Allowed(recognised=meant, is_other=meant is not recognised, write=write)


def has_timers(hass: HomeAssistant, turn: Turn) -> bool:
    """Return whether the device of a turn keeps Home Assistant's timers."""
    return bool(turn.device_id and async_device_supports_timers(hass, turn.device_id))


def wait_along(sentence: Sentence, recognised: Recognised) -> None:
    """Let an intent that needs no yes wait for the one that another part of its sentence needs."""
    ruling = judge_intent(sentence, recognised, is_covered=True)
    if isinstance(ruling, Allowed):
        ruling.drop()
        plan = plan_of(sentence.hass, sentence.turn, recognised)
        if isinstance(plan, Plan) and not ruling.is_other:
            sentence.means.policy.confirmations.add(sentence.turn, _call(sentence.hass, recognised, plan))


def _call(hass: HomeAssistant, recognised: Recognised, plan: Plan) -> Call:
    return Call(tool=ConfirmedIntent(hass, recognised), arguments=dict(recognised.slots), plan=plan)


def against_reading(sentence: Sentence, recognised: Recognised, response: intent.IntentResponse) -> Refused | None:
    """Return the refusal of an answer about entities that the user may not read."""
    read = tuple(state.entity_id for state in (*response.matched_states, *response.unmatched_states))
    try:
        sentence.means.policy.authorize(sentence.turn, Plan(action=ActionClass.READ, targets=read))
    except ToolError as err:
        return Refused(error=err, recognised=recognised)
    return None


def judge_answer(
    sentence: Sentence, recognised: Recognised, response: intent.IntentResponse
) -> Refused | LeftOut | None:
    """Return what speaks against an answer: entities that the user may not read, or fewer than were asked about."""
    if recognised.name not in QUESTIONS:
        return None
    refused = against_reading(sentence, recognised, response)
    is_told = recognised.name == intent.INTENT_GET_STATE and response.error_code is None
    if not is_told or (refused is not None and refused.is_hidden):
        return refused
    read = (state.entity_id for state in (*response.matched_states, *response.unmatched_states))
    left_out = sentence.coverage.of_answer(recognised.slots, tuple(read))
    return replace(left_out, recognised=recognised) if left_out is not None else refused


@callback
def report(
    sentence: Sentence, recognised: Recognised, outcome: intent.IntentResponse | HomeAssistantError, started: float
) -> None:
    """Record what was done or refused since `started` (`time.perf_counter`): ids and words of the home, nothing of what was said.

    What was noted for a wish is neither.
    """
    if isinstance(outcome, LeftForLater):
        return
    name, error, result = recognised.name, None, None
    if isinstance(outcome, HomeAssistantError):
        error = type(outcome).__name__
    elif outcome.error_code is not None:
        error = outcome.error_code.value
    else:
        result = {"targets": [target.id for target in outcome.success_results if target.id]}
    plain = frozenset() if name in TIMERS else _HOME_WORDS
    kept = {slot for slot, value in recognised.slots.items() if slot in plain or isinstance(value, (int, float))}
    parameters = {slot: value if slot in kept else MASK for slot, value in recognised.slots.items()}
    _record(sentence, name, parameters, error, result or error, started)


def _record(
    sentence: Sentence, name: str, parameters: dict[str, object], error: str | None, result: object, started: float
) -> None:
    turn = sentence.turn
    turn.record.calls_started += 1
    record = ToolCallRecord(
        tool_name=name,
        parameters=parameters,
        success=error is None,
        duration_ms=round((time.perf_counter() - started) * 1000),
        error=error,
    )
    async_record(sentence.hass, turn, record, result)


async def answer_by_trigger(sentence: Sentence) -> Result:
    """Let an automation of the owner answer that has this sentence as its trigger, if what it does may happen."""
    hass, turn, policy = sentence.hass, sentence.turn, sentence.means.policy
    started, tool = time.perf_counter(), SentenceTrigger(sentence)
    if not await tool.async_matched():
        return NotMine()
    try:
        plan = await tool.plan(hass, {}, turn)
        policy.authorize(turn, plan, Call(tool=tool, arguments={}, plan=plan))
    except ToolError as err:
        _record(sentence, TRIGGER, {}, type(err).__name__, None, started)
        return Refused(error=err, recognised=Recognised(name=TRIGGER, slots={}))
    speech = await conversation.async_handle_sentence_triggers(hass, sentence.user_input, sentence.chat_log)
    if speech is None:
        return NotMine()
    _record(sentence, TRIGGER, {}, None, None, started)
    # what the automation did is not known here; but it is what was done last, and can be undone
    await Write(hass, policy.writes, turn, TRIGGER, plan).async_outcomes()
    return Done(said=spoken(turn, speech))


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
        """Return what the automations that wait for it come to. Raises `ToolError` if none waits, or the user may not run them."""
        matched = (await self.async_matched()).values()
        if not matched:
            raise ToolRefusal(TRIGGER)
        said = [(result.intent_sentence and result.intent_sentence.text) or "" for result in matched]
        plan = plan_of_trigger(hass, turn, said)
        self.title = plan.subject
        return replace(plan, subject=None)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Start those that wait; return what they want to be said, if anything."""
        manager = get_agent_manager(hass)
        begun = [
            begin(self._sentence.user_input, result)
            for name, result in (await self.async_matched()).items()
            if (begin := manager.get_trigger_callback(name)) is not None
        ]
        return {"response": next((said for said in await asyncio.gather(*begun) if said), None)}

    @override
    def answer(self, result: JsonValueType) -> str:
        """Return what the automation wants to be said."""
        return str(result.get("response") or "") if isinstance(result, dict) else ""


async def answer_strictly(sentence: Sentence) -> Result:
    """Handle what one of Home Assistant's sentences fits, unless it is left to a model; "all lights off" is no question."""
    text, language = sentence.turn.text, sentence.turn.language
    knows_questions = sentence.stage is not Stage.BEFORE_MODEL and bool(data_of(language).alters.at_start)
    is_statement = not is_asking(text, language) and not is_altered(text, language, (), asks=False)
    return await _async_strictly(sentence, asks_later=knows_questions and is_statement)


async def answer_strictly_as_question(sentence: Sentence) -> Result:
    """Answer what waited, as it might have been a command."""
    if not any(isinstance(each, NotMine) and each.asks_later for each in sentence.earlier):
        return NotMine()
    return await _async_strictly(sentence, asks_later=False)


async def refuse_group(sentence: Sentence) -> Result:
    """Refuse many things for a group among them that reaches further, as no reader found the others."""
    refused = next((each.refused for each in sentence.earlier if isinstance(each, NotMine) and each.refused), None)
    if refused is None or not refused.is_group:
        return NotMine()
    report(sentence, refused.recognised, refused.error, time.perf_counter())
    return refused


async def _async_strictly(sentence: Sentence, *, asks_later: bool) -> Result:
    """Handle what one of Home Assistant's sentences fits; the chat log is as it was if nothing comes of it."""
    log, started = sentence.chat_log, time.perf_counter()
    before = len(log.content)
    ruling, response = await _async_handle_intents(sentence, asks_later=asks_later)
    result: Result = NotMine()
    if isinstance(ruling, Allowed):
        result = NotMine(recognised=ruling.recognised, mismatch=ruling.mismatch)
        if response is not None:
            done = Done(said=response, is_known=response.error_code is None and not ruling.is_other)
            result = judge_answer(sentence, ruling.recognised, response) or done
            await ruling.async_finish(sentence, response)
            if response.error_code is not None:
                await async_name_reason(sentence, ruling.recognised, response)
            if result is done:
                report(sentence, ruling.recognised, response, started)
        else:
            ruling.drop()
    else:
        result = ruling
    if not isinstance(result, Done):
        del log.content[before:]  # a model must not see a call it did not make, a user not a state they may not read
    if isinstance(result, Refused):
        if result.is_hidden or result.is_group:
            return NotMine(recognised=result.recognised, refused=result)
        report(sentence, result.recognised, result.error, started)
    return result


async def _async_handle_intents(sentence: Sentence, *, asks_later: bool) -> tuple[Ruling, intent.IntentResponse | None]:
    """Let Home Assistant recognise the sentence, and handle what may be handled; return how that was decided, and its response."""
    rulings: list[Ruling] = [NotMine()]
    turn, mood = sentence.turn, mood_of(sentence.turn.text, sentence.language.code)

    def keep_off(result: RecognizeResult) -> bool:
        """Decide between recognising and handling; Home Assistant waits for nothing in between."""
        name, is_custom = result.intent.name, bool((result.intent_metadata or {}).get(METADATA_CUSTOM_SENTENCE))
        waits = asks_later and name == intent.INTENT_GET_STATE
        said = tuple(entity.text_clean for entity in result.entities_list if entity.name in ("name", "area", "floor"))
        only_asks = name not in CHANGES_NOTHING and is_question(turn.text, turn.language, said)  # "kettle on?"
        is_told = mood is not None and mood.kind is not MoodKind.WISH and name not in CHANGES_NOTHING  # "it is bright"
        is_told |= name in QUESTIONS and is_order(turn.text, turn.language, said)  # "unlock the door, someone is there"
        is_told |= name not in CHANGES_NOTHING and name not in TIMERS and puts_off(sentence, result)
        is_told |= name == INTENT_MUTE and is_turned_off(turn.text, turn.language)
        is_told |= COMMAND in result.entities or (
            name in TIMERS and not has_timers(sentence.hass, turn)
        )  # these are wishes
        if waits or name in sentence.stage.value or (not is_custom and (only_asks or is_told)):
            slots = {entity.name: entity.value for entity in result.entities_list} if name in TIMERS else {}
            timer = Recognised(name=name, slots=slots) if slots or name in TIMERS else None
            rulings.append(NotMine(asks_later=waits, recognised=timer))
            return True
        recognised = Recognised(name=name, slots={entity.name: entity.value for entity in result.entities_list})
        ruling = judge_intent(sentence, recognised, is_covered=is_custom)
        rulings.append(ruling)
        return not isinstance(ruling, Allowed) or ruling.is_other

    response, is_handled = None, False
    try:
        response = await conversation.async_handle_intents(
            sentence.hass, sentence.user_input, sentence.chat_log, intent_filter=keep_off
        )
        if isinstance(other := rulings[-1], Allowed) and other.is_other and other.mismatch is None:
            slots = {slot: {"value": value} for slot, value in other.recognised.slots.items()}
            response = await async_handle(sentence.hass, turn, other.recognised.name, slots, text=turn.text)
            response.async_set_speech(await async_text(sentence.hass, turn.language, "confirm_done"))
        is_handled = True
    except intent.IntentError:
        pass  # a value that the intent does not take, or an intent that has no handler
    finally:  # also when it is cancelled: what it would have started is watched no more
        ruling = rulings[-1]
        if not is_handled and isinstance(ruling, Allowed):
            ruling.drop()
            ruling = NotMine(recognised=ruling.recognised, mismatch=ruling.mismatch)
    if response is None and isinstance(ruling, Allowed) and not ruling.is_other and ruling.mismatch is None:
        ruling.drop()
        mismatch = mismatch_of(sentence.hass, turn, ruling.recognised)
        ruling = NotMine(recognised=ruling.recognised, mismatch=mismatch)
    return ruling, response
