"""Home Assistant's own sentence recognition, in front of a model or instead of one.

Receives the input and its chat log; hands back what is said, with Home Assistant's response. Triggers of the owner's
automations come first, then the built-in sentences, each through the same policy as a tool call. The chat log holds the
intent and its result; the words of the answer are the caller's to add.
"""

from dataclasses import dataclass
import time
from typing import Any

from hassil.recognize import RecognizeResult
from homeassistant.components import conversation
from homeassistant.components.conversation import ChatLog, ConversationInput
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.default_agent import DefaultAgent
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import intent

from ..errors import ToolError
from ..safety.audit import MASK, async_record
from ..safety.plan import ActionClass, Plan
from ..safety.policy import Policy
from ..turn import ToolCallRecord, Turn
from .actions import QUESTIONS, TIMERS, Mismatch, Recognised, plan_of
from .refusals import async_explain, async_explain_mismatch, async_refuse

LEFT_TO_MODEL = frozenset({intent.INTENT_GET_STATE, intent.INTENT_RESPOND, "HassMediaSearchAndPlay"})
"""A model knows the states, has manners of its own and asks back; Home Assistant's pipeline leaves these out as well."""
TRIGGER = "trigger_sentence"

_HOUSE_WORDS = frozenset({"name", "area", "floor", "domain", "device_class", "state"})
"""Slots that hold words of the house; others may hold words of the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAnswer:
    """What the house says by itself."""

    response: intent.IntentResponse
    speech: str
    understood: bool
    """False: the sentence or a name in it is unknown."""
    needs_confirmation: bool = False


async def async_answer(
    hass: HomeAssistant,
    turn: Turn,
    user_input: ConversationInput,
    chat_log: ChatLog,
    policy: Policy,
    *,
    final: bool,
) -> LocalAnswer | None:
    """Return the answer of the house.

    With `final` there always is one: what is not understood is answered with what would help. Otherwise None leaves the
    sentence to a model, and the chat log is as it was.
    """
    if (speech := await conversation.async_handle_sentence_triggers(hass, user_input, chat_log)) is not None:
        return _triggered(hass, turn, speech)
    before = len(chat_log.content)
    gate = _Gate(hass, turn, policy, final=final)
    response = await _async_handle(hass, user_input, chat_log, gate)
    if gate.refusal is not None or response is None:
        del chat_log.content[before:]  # a model must not see a call it did not make, nobody a state they may not read
    if gate.recognised is not None and (response is not None or gate.refusal is not None):
        _record(hass, turn, gate.recognised, response, gate)
    if gate.refusal is not None:
        return _answer(await async_refuse(hass, turn, gate.refusal), refusal=gate.refusal)
    if response is not None:
        return _answer(response)
    return _answer(await _async_explain(hass, turn, user_input, gate)) if final else None


class _Gate:
    """Decides on a recognised sentence right before Home Assistant handles it, and remembers what it was.

    Home Assistant calls it between recognising and handling, without waiting in between; True keeps its hands off.
    """

    def __init__(self, hass: HomeAssistant, turn: Turn, policy: Policy, *, final: bool) -> None:
        self._hass = hass
        self._turn = turn
        self._policy = policy
        self._final = final
        self.recognised: Recognised | None = None
        self.refusal: HomeAssistantError | None = None
        self.mismatch: Mismatch | None = None
        self.started = time.perf_counter()

    def __call__(self, result: RecognizeResult) -> bool:
        """Return whether the sentence must not be handled."""
        if not self._final and result.intent.name in LEFT_TO_MODEL:
            return True
        slots = {entity.name: entity.value for entity in result.entities_list}
        self.recognised = Recognised(name=result.intent.name, slots=slots)
        self._turn.calls_started += 1
        try:
            match plan_of(self._hass, self._turn, self.recognised):
                case Mismatch() as mismatch:
                    self.mismatch = mismatch
                    return mismatch.certain
                case Plan() as plan:
                    self._policy.authorize(self._turn, plan)
        except ToolError as err:
            self.refusal = err
        return self.refusal is not None

    def check_answer(self, response: intent.IntentResponse) -> None:
        """Refuse an answer about entities that the user may not read."""
        if self.recognised is None or self.recognised.name not in QUESTIONS:
            return
        read = tuple(state.entity_id for state in (*response.matched_states, *response.unmatched_states))
        try:
            self._policy.authorize(self._turn, Plan(action=ActionClass.READ, targets=read))
        except ToolError as err:
            self.refusal = err


async def _async_handle(
    hass: HomeAssistant, user_input: ConversationInput, chat_log: ChatLog, gate: _Gate
) -> intent.IntentResponse | None:
    """Let Home Assistant recognise and handle the sentence; None when it has nothing to say to it."""
    try:
        response = await conversation.async_handle_intents(hass, user_input, chat_log, intent_filter=gate)
    except intent.IntentError:  # slots or an intent that nobody here handles
        return None
    if response is not None:
        gate.check_answer(response)
    return response


async def _async_explain(
    hass: HomeAssistant, turn: Turn, user_input: ConversationInput, gate: _Gate
) -> intent.IntentResponse:
    agent = get_agent_manager(hass).default_agent
    assert isinstance(agent, DefaultAgent)
    if gate.mismatch is not None:
        return await async_explain_mismatch(hass, agent, turn, gate.mismatch)
    return await async_explain(hass, agent, turn, user_input)


def _triggered(hass: HomeAssistant, turn: Turn, speech: str) -> LocalAnswer:
    """Return what the owner's automation says."""
    turn.calls_started += 1
    async_record(hass, turn, ToolCallRecord(tool_name=TRIGGER, parameters={}, success=True, duration_ms=0), None)
    response = intent.IntentResponse(language=turn.language)
    response.async_set_speech(speech)
    return _answer(response)


def _answer(response: intent.IntentResponse, refusal: HomeAssistantError | None = None) -> LocalAnswer:
    return LocalAnswer(
        response=response,
        speech=response.speech.get("plain", {}).get("speech") or "",
        understood=response.error_code
        not in (intent.IntentResponseErrorCode.NO_INTENT_MATCH, intent.IntentResponseErrorCode.NO_VALID_TARGETS),
        needs_confirmation=refusal is not None and refusal.translation_key == "needs_confirmation",
    )


def _record(
    hass: HomeAssistant, turn: Turn, recognised: Recognised, response: intent.IntentResponse | None, gate: _Gate
) -> None:
    """Keep what was done or refused: names and ids, no words."""
    error: str | None = type(gate.refusal).__name__ if gate.refusal else None
    done: list[str] = []
    if response is not None and error is None:
        error = response.error_code.value if response.error_code else None
        done = [target.id for target in response.success_results if target.id]
    record = ToolCallRecord(
        tool_name=recognised.name,
        parameters={name: _kept(recognised.name, name, value) for name, value in recognised.slots.items()},
        success=error is None,
        duration_ms=round((time.perf_counter() - gate.started) * 1000),
        error=error,
    )
    async_record(hass, turn, record, {"targets": done} if error is None else error)


def _kept(intent_name: str, slot: str, value: Any) -> object:
    """Return what may be kept of a slot."""
    if isinstance(value, (int, float)) or (slot in _HOUSE_WORDS and intent_name not in TIMERS):
        return value
    return MASK
