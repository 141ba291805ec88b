"""What a sentence was understood to want, as intents: done together or not at all, and told in Home Assistant's words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import time
from typing import Any

from home_assistant_intents import ErrorKey
from homeassistant.components.conversation import AssistantContent, ToolResultContent
from homeassistant.helpers import intent, llm
from homeassistant.helpers.template import Template, TemplateState

from ..policy.confirmation import NeedsConfirmation
from ..policy.intents import Mismatch, Recognised, async_handle, mismatch_of, nothing_there, plan_of
from ..support.errors import ToolError
from ..turn.plan import Plan
from ..turn.turn import Understanding
from .coverage import LeftOut
from .intent_policy import Allowed, judge_answer, judge_intent, report, wait_along
from .refusals import async_explain_mismatch, async_name_reason, async_own_words
from .sentences import Done, Note, NotMine, Refused, Sentence, async_refuse, error_response, speech_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One intent of a sentence; "the lamp on and the fan off" has two."""

    intent: str
    slots: dict[str, Any]
    response_key: str
    words: Mapping[str, str]
    """The values of the slots as they are told."""

    @property
    def recognised(self) -> Recognised:
        """Return it as the policy judges it."""
        return Recognised(name=self.intent, slots=self.slots)


async def async_carry_out(sentence: Sentence, frames: Sequence[Frame]) -> Done | Refused | LeftOut | NotMine:
    """Do what a sentence was understood to want, all of it or nothing.

    If that leaves out something that was said, or is about nothing that the user may know of, the chat log is as it was.
    """
    touched: list[str] = []
    for frame in frames:
        try:
            plan = plan_of(sentence.hass, sentence.turn, frame.recognised)
        except ToolError:
            continue  # refused, and said why, when it is its turn
        touched += plan.targets if isinstance(plan, Plan) else ()
    if (left_out := sentence.coverage.of_action([frame.recognised for frame in frames], touched)) is not None:
        return replace(left_out, recognised=frames[-1].recognised)
    if (against := _against(sentence, frames)) is not None:
        if isinstance(against, NotMine):
            return against
        if against.is_hidden:
            is_named = "name" in against.recognised.slots
            mismatch = None if is_named else nothing_there(sentence.hass, against.recognised)
            return NotMine(recognised=against.recognised, mismatch=mismatch, refused=against)
        report(sentence, against.recognised, against.error, time.perf_counter())
        return against
    before = len(sentence.chat_log.content)
    responses: list[intent.IntentResponse] = []
    for frame in frames:
        response, problem = await _async_handle(sentence, frame)
        responses.append(response)
        if frame.intent == intent.INTENT_GET_STATE:
            left_out = problem if isinstance(problem, LeftOut) else None
        if response.error_code is not None:
            break
    refused = problem if isinstance(problem, Refused) and len(responses) == 1 else None
    if left_out is not None or (refused is not None and refused.is_hidden):
        del sentence.chat_log.content[before:]
        return left_out or NotMine(recognised=frame.recognised, refused=refused)
    if refused is not None:
        return refused
    spoken = dict.fromkeys(speech_of(response).rstrip(".") for response in responses)
    response.async_set_speech(". ".join(filter(None, spoken)))  # the last one decides whether it failed
    response.success_results = [target for each in responses for target in each.success_results]
    return Done(said=response)


def _against(sentence: Sentence, frames: Sequence[Frame]) -> Refused | NotMine | None:
    """Return what speaks against one of the frames. If one of them has to be asked about, the others wait with it."""
    asks: Refused | None = None
    for frame in frames:
        ruling = judge_intent(sentence, frame.recognised, is_covered=True)
        if isinstance(ruling, Allowed):
            ruling.drop()
            if ruling.is_other:
                return NotMine(recognised=ruling.recognised)
        elif isinstance(ruling, Refused) and isinstance(ruling.error, NeedsConfirmation):
            asks = ruling
        elif isinstance(ruling, Refused | NotMine):
            return ruling
        else:
            return NotMine(recognised=ruling.recognised)
    if asks is not None:
        for frame in frames:
            wait_along(sentence, frame.recognised)
    return asks


async def _async_handle(sentence: Sentence, frame: Frame) -> tuple[intent.IntentResponse, Refused | LeftOut | None]:
    """Handle one intent as the default agent does, and leave it in the chat log; return also what speaks against its answer."""
    turn, started = sentence.turn, time.perf_counter()
    slots = {slot: {"value": value, "text": frame.words[slot]} for slot, value in frame.slots.items()}
    if turn.area_id:
        slots["preferred_area_id"] = {"value": turn.area_id}
    ruling = judge_intent(sentence, frame.recognised, is_covered=True)  # the part before may have changed what it does
    problem: Refused | LeftOut | None = ruling if isinstance(ruling, Refused) else None
    is_handled = False
    try:
        if not isinstance(ruling, Allowed) or ruling.is_other:
            raise intent.IntentHandleError
        response = await async_handle(sentence.hass, turn, frame.intent, slots, text=sentence.user_input.text)
        problem = judge_answer(sentence, ruling.recognised, response)
        if isinstance(problem, Refused):
            raise intent.IntentHandleError
        is_handled = True
        await _async_put_in_words(sentence, frame, response)
        await ruling.async_finish(sentence, response)
    except intent.IntentError as err:
        mismatch = ruling.mismatch if isinstance(ruling, Allowed | NotMine) else None
        response = await _async_failed(sentence, frame, problem, mismatch, err)
    finally:
        if not is_handled and isinstance(ruling, Allowed):
            ruling.drop()
    refused = problem if isinstance(problem, Refused) else None
    if refused is None or not refused.is_hidden:
        report(sentence, frame.recognised, refused.error if refused is not None else response, started)
    _note(sentence, frame, response)
    return response, problem


async def _async_failed(
    sentence: Sentence,
    frame: Frame,
    problem: Refused | LeftOut | None,
    mismatch: Mismatch | None,
    error: intent.IntentError,
) -> intent.IntentResponse:
    """Return why an intent failed: the policy's refusal, what was not found, or the reason that its handler gives."""
    if isinstance(problem, Refused):
        if not problem.is_hidden:
            return await async_refuse(sentence.hass, sentence.turn, problem.error)
        mismatch = nothing_there(sentence.hass, frame.recognised)
    elif isinstance(error, intent.MatchFailedError):
        mismatch = mismatch or mismatch_of(sentence.hass, sentence.turn, frame.recognised)
    if mismatch is not None:
        if mismatch.constraints.name:
            mismatch.constraints.name = frame.words["name"]  # the recogniser gives the id of the entity
        return await async_explain_mismatch(sentence, mismatch)
    key = error.response_key if isinstance(error, intent.IntentHandleError) else None
    speech = await async_own_words(sentence, (key or ErrorKey.HANDLE_ERROR, {}))
    response = error_response(sentence.turn, intent.IntentResponseErrorCode.FAILED_TO_HANDLE, speech)
    await async_name_reason(sentence, frame.recognised, response)
    return response


async def async_tell_states(
    sentence: Sentence, frame: Frame, response: intent.IntentResponse, targets: Sequence[str], started: float
) -> Done:
    """Return a response about states as the answer, in the words that Home Assistant has for it if it has none yet."""
    await _async_put_in_words(sentence, frame, response)
    _note(sentence, frame, response)
    report(sentence, frame.recognised, response, started)
    duration = round((time.perf_counter() - started) * 1000)
    understanding = Understanding(intents=(frame.intent,), targets=tuple(targets), score=1.0, duration_ms=duration)
    return Done(said=response, note=Note(understanding=understanding))


def _note(sentence: Sentence, frame: Frame, response: intent.IntentResponse) -> None:
    """Leave the intent and its result in the chat log."""
    agent_id = sentence.turn.agent_id
    call = llm.ToolInput(tool_name=frame.intent, tool_args=frame.slots, external=True)
    result = llm.ToolResult(data=llm.IntentResponseDict(response), error=response.error_code is not None)
    log = sentence.chat_log
    log.async_add_assistant_content_without_tools(AssistantContent(agent_id=agent_id, tool_calls=[call]))
    log.async_add_assistant_content_without_tools(
        ToolResultContent(agent_id=agent_id, tool_call_id=call.id, tool_name=call.tool_name, result=result)
    )


async def _async_put_in_words(sentence: Sentence, frame: Frame, response: intent.IntentResponse) -> None:
    """Let a response that has no words say Home Assistant's own sentence for what was done."""
    if response.speech:
        return
    intents = await sentence.agent.async_get_or_load_intents(sentence.turn.language)
    template = intents.intent_responses.get(frame.intent, {}).get(frame.response_key) if intents else None
    matched = [TemplateState(sentence.hass, state) for state in response.matched_states]
    unmatched = [TemplateState(sentence.hass, state) for state in response.unmatched_states]
    variables = {
        "slots": {**frame.words, **response.speech_slots},
        "state": next(iter((*matched, *unmatched)), None),
        "query": {"matched": matched, "unmatched": unmatched},
    }
    told = str(Template(template or "", sentence.hass).async_render(variables, parse_result=False))
    response.async_set_speech(" ".join(told.split()))
