"""What a sentence was understood to want, as intents: done together or not at all, and told in Home Assistant's words."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
import time
from typing import Any

from home_assistant_intents import ErrorKey
from homeassistant.components.climate import ATTR_MAX_TEMP, ATTR_MIN_TEMP
from homeassistant.components.conversation import AssistantContent, ToolResultContent
from homeassistant.components.humidifier import ATTR_HUMIDITY, ATTR_MAX_HUMIDITY, ATTR_MIN_HUMIDITY
from homeassistant.components.humidifier.intent import INTENT_HUMIDITY
from homeassistant.components.light import ATTR_BRIGHTNESS, ATTR_MAX_COLOR_TEMP_KELVIN, ATTR_MIN_COLOR_TEMP_KELVIN
from homeassistant.const import ATTR_TEMPERATURE, STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import intent, llm
from homeassistant.helpers.template import Template, TemplateState

from ..home.actions import is_open, members
from ..home.wording import NoWordsError, async_plain_state
from ..languages.data import ENGLISH
from ..policy.confirmation import AlreadySo, NeedsConfirmation
from ..policy.intents import Mismatch, Recognised, async_handle, is_able, mismatch_of, nothing_there, plan_of
from ..support.errors import ToolError
from ..support.localize import async_text
from ..turn.plan import Plan
from ..turn.turn import Understanding
from .coverage import LeftOut
from .intent_policy import Allowed, judge_answer, judge_intent, report, wait_along
from .parts import understand
from .reading import Order, Understood
from .refusals import async_explain_mismatch, async_name_reason, async_own_words, listed
from .sentences import Done, Note, NotMine, Refused, Result, Sentence, async_refuse, error_response, speech_of, spoken

_LIGHT_SET = "HassLightSet"
_OF_SEVERAL = ("_area", "_floor", "_all")
"""Ends of the names of Home Assistant's answers about several things of a kind."""
_OF_ONE = {"open": "cover", "close": "cover", **dict.fromkeys(("light", "lights", "fan", "fans"), "default")}
"""What the rest of such a name becomes where it is about one, if not a name of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One intent of a sentence; "the lamp on and the fan off" has two."""

    intent: str
    slots: dict[str, Any]
    response_key: str
    words: Mapping[str, str]  # the values of the slots as they are told

    @property
    def recognised(self) -> Recognised:
        """Return it as the policy judges it."""
        return Recognised(name=self.intent, slots=self.slots)


async def async_carry_out(sentence: Sentence, frames: Sequence[Frame]) -> Done | Refused | LeftOut | NotMine:
    """Do what a sentence was understood to want, all of it or nothing.

    What is so already is told beside what is done. If that leaves out something that was said, or is about nothing that the user may
    know of, the chat log is as it was.
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
    against, already = _against(sentence, frames)
    if against is not None:
        return against if isinstance(against, NotMine) else _refused(sentence, against)
    before = len(sentence.chat_log.content)
    so = [await async_refuse(sentence.hass, sentence.turn, error) for error in already.values()]
    responses: list[intent.IntentResponse] = []
    problem: Refused | LeftOut | None = None
    for number, frame in enumerate(frames):
        if number in already:
            continue
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
    response = (responses or so)[-1]
    told = dict.fromkeys(speech_of(each).rstrip(".") for each in (*responses, *so))
    response.async_set_speech(". ".join(filter(None, told)))  # the last one decides whether it failed
    response.success_results = [target for each in (*responses, *so) for target in each.success_results]
    return Done(said=response)


def _refused(sentence: Sentence, against: Refused) -> Refused | NotMine:
    """Return a refusal; what the user may know nothing of is not there for them."""
    if against.is_hidden:
        is_named = "name" in against.recognised.slots
        mismatch = None if is_named else nothing_there(sentence.hass, against.recognised)
        return NotMine(recognised=against.recognised, mismatch=mismatch, refused=against)
    report(sentence, against.recognised, against.error, time.perf_counter())
    return against


def _against(sentence: Sentence, frames: Sequence[Frame]) -> tuple[Refused | NotMine | None, Mapping[int, AlreadySo]]:
    """Return what speaks against one of the frames, and which of several are so already, by their numbers.

    If one of them has to be asked about, the others wait with it.
    """
    asks: Refused | None = None
    already: dict[int, AlreadySo] = {}
    for number, frame in enumerate(frames):
        ruling = judge_intent(sentence, frame.recognised, is_covered=True)
        if isinstance(ruling, Allowed):
            ruling.drop()
            if ruling.is_other:
                return NotMine(recognised=ruling.recognised), {}
        elif isinstance(ruling, Refused) and isinstance(ruling.error, NeedsConfirmation):
            asks = ruling
        elif isinstance(ruling, Refused) and isinstance(ruling.error, AlreadySo) and len(frames) > 1:
            already[number] = ruling.error
        elif isinstance(ruling, Refused | NotMine):
            return ruling, {}
        else:
            return NotMine(recognised=ruling.recognised), {}
    if asks is not None:
        for number, frame in enumerate(frames):
            if number not in already:
                wait_along(sentence, frame.recognised)
    return asks, already


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
    agent_id = sentence.turn.agent_id
    call = llm.ToolInput(tool_name=frame.intent, tool_args=frame.slots, external=True)
    result = llm.ToolResult(data=llm.IntentResponseDict(response), error=response.error_code is not None)
    log = sentence.chat_log
    log.async_add_assistant_content_without_tools(AssistantContent(agent_id=agent_id, tool_calls=[call]))
    log.async_add_assistant_content_without_tools(
        ToolResultContent(agent_id=agent_id, tool_call_id=call.id, tool_name=call.tool_name, result=result)
    )


async def _async_put_in_words(sentence: Sentence, frame: Frame, response: intent.IntentResponse) -> None:
    """Let a response that has no words say Home Assistant's own sentence for what was done.

    That a humidity was set, Home Assistant says in English only.
    """
    if frame.intent == INTENT_HUMIDITY and sentence.language.base != ENGLISH:
        values = {"target": frame.words["name"], "humidity": frame.words[ATTR_HUMIDITY]}
        response.async_set_speech(
            await async_text(sentence.hass, sentence.turn.language, "local_humidity_set", **values)
        )
        return
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


async def answer_by_brain(sentence: Sentence) -> Result:
    """Do what is understood for certain."""
    started = time.perf_counter()
    return await async_do(sentence, await sentence.means.brain.async_read(understand, sentence), started)


async def async_do(sentence: Sentence, understood: Understood, started: float) -> Done | Refused | NotMine:
    """Do what was understood, all of it or nothing; `started` is a reading of `time.perf_counter`."""
    hass, turn = sentence.hass, sentence.turn
    if understood.spared:  # also all that a group among it reaches, and groups that reach any of it
        spared = frozenset(item for one in understood.spared for item in (one, *members(hass, one)))
        orders: list[Order] = []
        for order in understood.orders:
            left = [item for item in order.targets if spared.isdisjoint((item, *members(hass, item)))]
            orders += [replace(order, targets=tuple(left))] if left else []
        understood = replace(understood, orders=tuple(orders), reason="" if orders else "several")
        sentence = replace(sentence, coverage=replace(sentence.coverage, spared=spared))

    def note(reason: str = "") -> Note:
        orders = () if reason else understood.orders
        return Note(
            understanding=Understanding(
                intents=tuple(order.intent for order in orders) or understood.intents[:2],
                targets=tuple(target for order in orders for target in order.targets),
                score=round(understood.score, 2),
                declined=reason or understood.reason,
                words=understood.words,
                candidates=understood.candidates,
                is_near=understood.is_near,
                duration_ms=round((time.perf_counter() - started) * 1000),
            ),
            text=understood.text,
        )

    if not understood.orders:
        return NotMine(note=note())
    if understood.is_so:
        return Done(said=spoken(turn, await async_text(hass, turn.language, "local_nothing_on")), note=note())
    frames = [[*frames_of(sentence, order)] for order in understood.orders]
    undone = [order for order, own in zip(understood.orders, frames, strict=True) if not own]
    ends = _ends(sentence, undone)
    unable = None if ends else _unable(sentence, undone)
    if unable is not None or not (ends or any(frames)):
        return NotMine(mismatch=unable, note=note("impossible"))
    if not any(frames):
        return Done(said=spoken(turn, ". ".join(await _async_undone(sentence, undone, understood.orders))), note=note())
    found = note()
    result = await async_carry_out(sentence, [frame for own in frames for frame in own])
    if not isinstance(result, Done | Refused):  # the next one goes on from what Home Assistant's sentences made of it
        return NotMine(note=note("not_covered"))
    if isinstance(result, Done) and not result.has_failed and isinstance(result.said, intent.IntentResponse):
        more = await _async_undone(sentence, undone, understood.orders)
        result.said.async_set_speech(". ".join(filter(None, (speech_of(result.said).rstrip(" ."), *more))))
    return replace(result, note=found)


async def _async_undone(sentence: Sentence, undone: Sequence[Order], orders: Sequence[Order]) -> list[str]:
    """Return what is told of what was left out: how things are to which nothing could be done, and groups that were spared."""
    hass, language, ends = sentence.hass, sentence.turn.language, _ends(sentence, undone)
    told: list[str] = []
    for key in dict.fromkeys(ends.values()):
        names = listed([_word(sentence, "name", target) for target, end in ends.items() if end == key])
        told.append((await async_text(hass, language, key, target=names)).rstrip("."))
    others = (target for order in undone for target in order.targets if target not in ends)
    for state in map(hass.states.get, others):
        with suppress(NoWordsError):
            told += [(await async_plain_state(hass, language, state)).rstrip(".")] if state is not None else []
    left = [target for order in orders for target in order.targets if _is_left(sentence, order, target)]
    names = ", ".join(_word(sentence, "name", target) for target in dict.fromkeys(left))
    return [*told, *([await async_text(hass, language, "group_left_out", target=names)] if left else [])]


def _ends(sentence: Sentence, orders: Sequence[Order]) -> dict[str, str]:
    """Return the things of some orders that can be changed no further in the direction that was said, with the text that says so."""
    found = {target: _end_of(sentence.hass, target, order) for order in orders for target in order.targets}
    return {target: key for target, key in found.items() if key}


def _end_of(hass: HomeAssistant, entity_id: str, order: Order) -> str:
    """Return the text that says that a thing is at its highest or lowest value already; "" if it is not, or has no such value."""
    state = hass.states.get(entity_id)
    values = _changed(hass, state, order) if state is not None and order.change else None
    if state is None or values is None:
        return ""
    now = {
        "brightness": round((state.attributes.get(ATTR_BRIGHTNESS) or 0) * 100 / 255),
        ATTR_HUMIDITY: state.attributes.get(ATTR_HUMIDITY),
        ATTR_TEMPERATURE: state.attributes.get(ATTR_TEMPERATURE),
    }
    if any(values[slot] != now[slot] for slot in order.change):
        return ""
    return "local_highest" if all(change > 0 for change in order.change.values()) else "local_lowest"


def _unable(sentence: Sentence, orders: Sequence[Order]) -> Mismatch | None:
    """Return why the things cannot look as wanted; None if something else is why nothing can be done."""
    for order in orders:
        recognised = Recognised(name=order.intent, slots={"name": order.targets[0], **order.slots, **order.change})
        plan = plan_of(sentence.hass, sentence.turn, recognised)
        if isinstance(plan, Mismatch) and plan.reason is intent.MatchFailedReason.FEATURE:
            return plan
    return None


def _is_left(sentence: Sentence, order: Order, target: str) -> bool:
    """Return whether a thing is left out of many that are meant: a group that reaches what the user or the agent may not."""
    return len(order.targets) > 1 and not is_open(sentence.hass, target)


def frames_of(sentence: Sentence, order: Order) -> Iterator[Frame]:
    """Yield the intents that an order comes to: one for all its things where Home Assistant finds just those, else one for each."""
    if not order.change and len(order.targets) > 1 and (slots := _common(sentence, order)):
        yield _frame(sentence, order, slots, order.response)
        return
    # a phrase for several that is about one thing is answered like one about that
    end = next((end for end in _OF_SEVERAL if order.response.endswith(end)), "") if len(order.targets) == 1 else ""
    rest = order.response.removesuffix(end)
    answer = _OF_ONE.get(rest, rest) if end else order.response
    for entity_id in order.targets:
        state = sentence.hass.states.get(entity_id)
        if state is None or state.state == STATE_UNAVAILABLE or _is_left(sentence, order, entity_id):
            continue
        values = _changed(sentence.hass, state, order)
        if (
            values is None
            or _end_of(sentence.hass, entity_id, order)
            or not is_able(state, Recognised(name=order.intent, slots=values))
        ):
            continue
        least, most = (state.attributes.get(key) for key in (ATTR_MIN_COLOR_TEMP_KELVIN, ATTR_MAX_COLOR_TEMP_KELVIN))
        # a light would take the nearest white that it can
        is_white = order.intent == _LIGHT_SET and "temperature" in values and least and most
        if not is_white or least <= values["temperature"] <= most:
            yield _frame(sentence, order, {"name": entity_id, **values}, answer)


def _frame(sentence: Sentence, order: Order, slots: dict[str, Any], response_key: str) -> Frame:
    """Return an intent; an answer that wants a name or a class where neither was said gets the names of the things, cut short."""
    targets = [slots["name"]] if "name" in slots else order.targets
    names = listed([_word(sentence, "name", target) for target in targets])
    words = dict.fromkeys(("name", "device_class"), names)
    words |= {slot: _word(sentence, slot, value) for slot, value in slots.items()}
    return Frame(intent=order.intent, slots=slots, response_key=response_key, words=words)


def _common(sentence: Sentence, order: Order) -> dict[str, Any] | None:
    """Return slots by which Home Assistant finds just the things of an order; None if there are no such slots."""
    entities, areas = sentence.home.entities, sentence.home.areas
    domains = {target.partition(".")[0] for target in order.targets}
    places = {entities[target].area_id for target in order.targets}
    if len(domains) != 1:
        return None
    slots: dict[str, Any] = {"domain": next(iter(domains)), **order.slots}
    if len(places) == 1 and (area := areas.get(next(iter(places)) or "")) is not None:
        slots["area"] = area.names[0]
    try:
        plan = plan_of(sentence.hass, sentence.turn, Recognised(name=order.intent, slots=slots))
    except ToolError, intent.IntentError:
        return None
    return slots if isinstance(plan, Plan) and set(plan.targets) == set(order.targets) else None


def _changed(hass: HomeAssistant, state: State, order: Order) -> dict[str, Any] | None:
    """Return the values of a thing that are to be more or less than now; None if it has no such value, or is off already."""
    values = dict(order.slots)
    for slot, change in order.change.items():
        if slot == "brightness":
            now = round((state.attributes.get(ATTR_BRIGHTNESS) or 0) * 100 / 255)
            if now == 0 and change < 0:
                return None
            values[slot] = max(1, min(100, round(now + change)))  # 0 is off
        elif slot == ATTR_HUMIDITY:
            now = state.attributes.get(ATTR_HUMIDITY)
            if not isinstance(now, (int, float)):
                return None
            least, most = (state.attributes.get(key) for key in (ATTR_MIN_HUMIDITY, ATTR_MAX_HUMIDITY))
            values[slot] = int(max(least or 0, min(100 if most is None else most, now + change)))
        else:
            now = state.attributes.get(ATTR_TEMPERATURE)
            if not isinstance(now, (int, float)):
                return None
            least, most = (state.attributes.get(key) for key in (ATTR_MIN_TEMP, ATTR_MAX_TEMP))
            is_at_end = now == (most if change > 0 else least)
            step = change * (2 if hass.config.units.temperature_unit == "°F" else 1)
            values[slot] = now if is_at_end else now + step
    return values


def _word(sentence: Sentence, slot: str, value: Any) -> str:
    state = sentence.hass.states.get(value) if slot == "name" else None
    return state.name if state is not None else str(value)
