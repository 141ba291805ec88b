"""What a sentence is understood to want, as Home Assistant's intents: the reader of commands in other words.

What is not understood for certain is left to the next reader, and the turn keeps why.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
import time
from typing import Any

from homeassistant.components.light import ATTR_BRIGHTNESS, ATTR_MAX_COLOR_TEMP_KELVIN, ATTR_MIN_COLOR_TEMP_KELVIN
from homeassistant.const import ATTR_TEMPERATURE, STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import intent

from ..home.actions import is_open, members
from ..policy.intents import Mismatch, Recognised, is_able, plan_of
from ..support.errors import ToolError
from ..support.localize import async_text
from ..turn.plan import Plan
from ..turn.turn import Understanding
from .frames import Frame, async_carry_out
from .parts import understand
from .reading import Understood, Wish
from .sentences import Done, Note, NotMine, Refused, Result, Sentence, speech_of, spoken

_LIGHT_SET = "HassLightSet"
_MOST_BRIGHTNESS = 255
_MAX_NAMES = 5  # of one answer
_LEAST = 1  # percent: less is off
_OF_SEVERAL = ("_area", "_floor", "_all")
"""Ends of the names of Home Assistant's answers about several things of a kind."""
_OF_ONE = {"open": "cover", "close": "cover", **dict.fromkeys(("light", "lights", "fan", "fans"), "default")}
"""What the rest of such a name becomes where it is about one, if not a name of itself."""


async def answer_by_brain(sentence: Sentence) -> Result:
    """Do what is understood for certain."""
    started = time.perf_counter()
    return await async_do(sentence, await sentence.async_read(understand), started)


async def async_do(sentence: Sentence, understood: Understood, started: float) -> Done | Refused | NotMine:
    """Do what was understood, all of it or nothing; `started` is a reading of `time.perf_counter`."""
    hass, turn = sentence.hass, sentence.turn
    if understood.spared:
        understood = _sparing(hass, understood)
        sentence = replace(sentence, coverage=replace(sentence.coverage, spared=frozenset(understood.spared)))

    def note(reason: str = "") -> Note:
        wishes = () if reason else understood.wishes
        return Note(
            understanding=Understanding(
                intents=tuple(wish.intent for wish in wishes) or understood.intents[:2],
                targets=tuple(target for wish in wishes for target in wish.targets),
                score=round(understood.score, 2),
                declined=reason or understood.reason,
                words=understood.words,
                candidates=understood.candidates,
                is_near=understood.is_near,
                duration_ms=round((time.perf_counter() - started) * 1000),
            ),
            text=understood.text,
        )

    if not understood.wishes:
        return NotMine(note=note())
    if understood.is_so:
        return Done(said=spoken(turn, await async_text(hass, turn.language, "local_nothing_on")), note=note())
    frames = [[*frames_of(sentence, wish)] for wish in understood.wishes]
    unable = _unable(sentence, [wish for wish, own in zip(understood.wishes, frames, strict=True) if not own])
    if unable is not None or not any(frames):
        return NotMine(mismatch=unable, note=note("impossible"))
    found = note()
    result = await async_carry_out(sentence, [frame for own in frames for frame in own])
    if not isinstance(result, Done | Refused):  # the next one goes on from what Home Assistant's sentences made of it
        return NotMine(note=note("not_covered"))
    left = [target for wish in understood.wishes for target in wish.targets if _is_left(sentence, wish, target)]
    if left and isinstance(result, Done) and not result.has_failed and isinstance(result.said, intent.IntentResponse):
        names = ", ".join(_word(sentence, "name", target) for target in dict.fromkeys(left))
        more = await async_text(hass, turn.language, "group_left_out", target=names)
        result.said.async_set_speech(". ".join(filter(None, (speech_of(result.said).rstrip(" ."), more))))
    return replace(result, note=found)


def _unable(sentence: Sentence, wishes: Sequence[Wish]) -> Mismatch | None:
    """Return why none of the things can look as it is wanted; None where that is not why nothing can be done."""
    for wish in wishes:
        recognised = Recognised(name=wish.intent, slots={"name": wish.targets[0], **wish.slots, **wish.change})
        plan = plan_of(sentence.hass, sentence.turn, recognised)
        if isinstance(plan, Mismatch) and plan.reason is intent.MatchFailedReason.FEATURE:
            return plan
    return None


def _sparing(hass: HomeAssistant, understood: Understood) -> Understood:
    """Return what was understood without groups that reach what is excepted, and with all that a group reaches that is."""
    spared = {item: None for one in understood.spared for item in (one, *members(hass, one))}
    wishes: list[Wish] = []
    for wish in understood.wishes:
        left = [item for item in wish.targets if item not in spared and spared.keys().isdisjoint(members(hass, item))]
        wishes += [replace(wish, targets=tuple(left))] if left else []
    return replace(understood, wishes=tuple(wishes), spared=tuple(spared), reason="" if wishes else "several")


def _is_left(sentence: Sentence, wish: Wish, target: str) -> bool:
    """Return whether a thing is left out of many that are meant: a group that reaches what the user or the agent may not."""
    return len(wish.targets) > 1 and not is_open(sentence.hass, target)


def frames_of(sentence: Sentence, wish: Wish) -> Iterator[Frame]:
    """Yield the intents that a wish comes to: one for all its things where Home Assistant finds just those, else one for each."""
    if not wish.change and len(wish.targets) > 1 and (slots := _common(sentence, wish)):
        yield _frame(sentence, wish, slots, wish.response)
        return
    # a phrase for several that is about one thing is answered like one about that
    end = next((end for end in _OF_SEVERAL if wish.response.endswith(end)), "") if len(wish.targets) == 1 else ""
    rest = wish.response.removesuffix(end)
    answer = _OF_ONE.get(rest, rest) if end else wish.response
    for entity_id in wish.targets:
        state = sentence.hass.states.get(entity_id)
        if state is None or state.state == STATE_UNAVAILABLE or _is_left(sentence, wish, entity_id):
            continue
        values = _changed(sentence.hass, state, wish)
        if values is not None and _is_able(state, wish, values):
            yield _frame(sentence, wish, {"name": entity_id, **values}, answer)


def _frame(sentence: Sentence, wish: Wish, slots: dict[str, Any], response_key: str) -> Frame:
    """Return an intent; an answer that wants a name or a class where neither was said gets the names of the things, cut short."""
    targets = [slots["name"]] if "name" in slots else wish.targets
    names = [_word(sentence, "name", target) for target in targets]
    listed = ", ".join([*names[:_MAX_NAMES], *(["…"] if len(names) > _MAX_NAMES else [])])
    words = dict.fromkeys(("name", "device_class"), listed)
    words |= {slot: _word(sentence, slot, value) for slot, value in slots.items()}
    return Frame(intent=wish.intent, slots=slots, response_key=response_key, words=words)


def _common(sentence: Sentence, wish: Wish) -> dict[str, Any] | None:
    """Return slots by which Home Assistant finds just the things of a wish, None where there are none."""
    entities, areas = sentence.home.entities, sentence.home.areas
    domains = {target.partition(".")[0] for target in wish.targets}
    places = {entities[target].area_id for target in wish.targets}
    if len(domains) != 1:
        return None
    slots: dict[str, Any] = {"domain": next(iter(domains)), **wish.slots}
    if len(places) == 1 and (area := areas.get(next(iter(places)) or "")) is not None:
        slots["area"] = area.names[0]
    try:
        plan = plan_of(sentence.hass, sentence.turn, Recognised(name=wish.intent, slots=slots))
    except ToolError, intent.IntentError:
        return None
    return slots if isinstance(plan, Plan) and set(plan.targets) == set(wish.targets) else None


def _changed(hass: HomeAssistant, state: State, wish: Wish) -> dict[str, Any] | None:
    """Return the values of a thing that are to be more or less than now; None where it has none, or there is no more."""
    values = dict(wish.slots)
    for slot, change in wish.change.items():
        if slot == "brightness":
            now = round((state.attributes.get(ATTR_BRIGHTNESS) or 0) * 100 / _MOST_BRIGHTNESS)
            if now == 0 and change < 0:
                return None
            values[slot] = max(_LEAST, min(100, round(now + change)))
        else:
            now = state.attributes.get(ATTR_TEMPERATURE)
            if not isinstance(now, (int, float)):
                return None
            values[slot] = now + change * (2 if hass.config.units.temperature_unit == "°F" else 1)
    return values


def _is_able(state: State, wish: Wish, values: dict[str, Any]) -> bool:
    """Return whether a thing can have such values."""
    if not is_able(state, Recognised(name=wish.intent, slots=values)):
        return False
    least, most = (state.attributes.get(key) for key in (ATTR_MIN_COLOR_TEMP_KELVIN, ATTR_MAX_COLOR_TEMP_KELVIN))
    # a light would take the nearest white that it can
    is_white = wish.intent == _LIGHT_SET and "temperature" in values and least and most
    return not is_white or bool(least <= values["temperature"] <= most)


def _word(sentence: Sentence, slot: str, value: Any) -> str:
    """Return how a value of a slot is told: an entity by its name."""
    state = sentence.hass.states.get(value) if slot == "name" else None
    return state.name if state is not None else str(value)
