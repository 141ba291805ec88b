"""Complaints, remarks and orders about how a room or a sound is: "too bright in here", "it is warm", "could it be quieter".

What only tells how something is ("the bed light's on") is a remark, too. A complaint is answered with the opposite of what it names, on
what can do that, by a step. A remark changes nothing. No word may be left over: "the soup is too hot" is no command.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
import time
from typing import Any

from homeassistant.components.humidifier import HumidifierDeviceClass
from homeassistant.components.light import ATTR_BRIGHTNESS
from homeassistant.const import ATTR_DEVICE_CLASS, STATE_OFF, STATE_ON, STATE_PLAYING, STATE_UNAVAILABLE
from homeassistant.core import State
from homeassistant.helpers import intent

from ..home.domains import domains_where
from ..languages.data import data_of
from ..languages.moods import Mood, MoodKind, mood_of
from ..languages.reasons import reasons_in
from ..languages.remarks import tells
from ..policy.confirmation import NeedsConfirmation
from ..support.localize import async_text
from ..support.text import words_of
from .frames import async_do, frames_of
from .intent_policy import wait_along
from .reading import Order, Said, SentenceReading, Understood
from .reasons import async_says_why
from .sentences import Ask, Done, NotMine, Refused, Result, Sentence, Stage, spoken
from .things import StateOf, Things
from .which import async_ask_which

_FULL = 255
_WINDOW = frozenset({"cover.window", "binary_sensor.window", ".window"})
_OPENING = domains_where(lambda record: "open" in record.told_as)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """Which things a sentence about a quality may be about."""

    entity_ids: tuple[str, ...]
    is_sure: bool  # whether all of them are: the place was said, or is that of who speaks
    words: str  # the words for them and for the place


type _Steps = Callable[[Sequence[State]], Sequence[Order]]
"""Makes of things as they are what is wanted of them; nothing where they cannot do it."""


async def answer_remark(sentence: Sentence) -> Result:
    """Leave what only tells something to a model, or answer it with nothing done: no reader that acts is asked then."""
    if not tells(sentence.turn.text, sentence.language.code):
        return NotMine()
    if sentence.stage is Stage.NO_MODEL:
        return await _async_told(sentence, "local_remark")
    return NotMine(is_talk=True)


async def answer_mood(sentence: Sentence) -> Result:
    """Do the opposite of what a sentence complains of; a remark is left to a model, or answered with nothing done."""
    mood = await _async_mood(sentence)
    if mood is None or mood.kind is MoodKind.WISH:
        return NotMine()
    if mood.kind is MoodKind.COMPLAINT and mood.is_plain:
        result = await (_async_by_air if mood.wanted in _AIRED else _async_by_step)(sentence, mood)
        if isinstance(result, NotMine) and mood.also:
            result = await _async_by_step(sentence, replace(mood, wanted=mood.also))
        if not isinstance(result, NotMine):
            return result
    elif sentence.stage is Stage.NO_MODEL and mood.is_plain:
        return await _async_told(sentence, "local_remark")
    return NotMine(is_talk=True)


async def _async_mood(sentence: Sentence) -> Mood | None:
    """Return what a sentence says of a quality; what it says as a reason is left out."""
    code = sentence.language.code
    mood = mood_of(sentence.turn.text, code)
    for reasoned in reasons_in(sentence.turn.text, code) if mood is not None else ():
        first = mood_of(reasoned.command, code)
        if first is not None and first.kind is MoodKind.COMPLAINT and await async_says_why(sentence, reasoned):
            return first
    return mood


async def answer_request(sentence: Sentence) -> Result:
    """Do what a sentence orders of a quality, where it is said in other words than a command."""
    mood = mood_of(sentence.turn.text, sentence.language.code)
    if mood is None or mood.kind is not MoodKind.WISH:
        return NotMine()
    result = await (_async_by_air if mood.wanted in _AIRED else _async_by_step)(sentence, mood)
    return replace(result, is_talk=True) if isinstance(result, NotMine) else result


async def async_reach(sentence: Sentence) -> tuple[str, ...]:
    """Return the entities that a sentence may change which is about a quality; nothing for others, and where it is not sure which."""
    mood = await _async_mood(sentence)
    if mood is None or mood.kind is MoodKind.REMARK or mood.wanted in _AIRED:
        return ()
    scope = await _async_scope(sentence, mood, frozenset({_STEPS[mood.wanted][0]}))
    is_known = scope is not None and (scope.is_sure or len(scope.entity_ids) == 1)
    return scope.entity_ids if scope is not None and is_known else ()


async def _async_by_step(sentence: Sentence, mood: Mood) -> Result:
    """Change what is meant by a step, or ask which; before a model only what is certain."""
    started, words = time.perf_counter(), data_of(sentence.language.code).moods
    domain, steps = _STEPS[mood.wanted]
    scope = await _async_scope(sentence, mood, frozenset({domain}))
    if scope is None:
        return NotMine()
    is_last = sentence.stage is not Stage.BEFORE_MODEL
    states = [state for item in scope.entity_ids if (state := sentence.hass.states.get(item)) is not None]
    states = [state for state in states if state.state != STATE_UNAVAILABLE]
    orders = steps(states)
    targets = [target for order in orders for target in order.targets]
    command = f"{words.commands.get(mood.wanted, '')} {scope.words}".strip()
    if len(targets) > 1 and not scope.is_sure:
        asked = await async_ask_which(sentence.saying(command), targets) if is_last else NotMine()
        if isinstance(asked, Ask):
            return replace(asked, note=replace(asked.note, text=command))
        return await _async_told(sentence, "local_mood_where") if is_last else NotMine()
    if not targets:
        is_off = bool(states) and all(state.state != STATE_ON for state in states) and domain == "light"
        return (
            await _async_told(sentence, "local_nothing_on" if is_off else "local_mood_unable") if is_last else NotMine()
        )
    understood = Understood(
        orders=tuple(orders), intents=tuple(order.intent for order in orders), score=1.0, text=command
    )
    result = await async_do(sentence.saying(scope.words), understood, started)
    if isinstance(result, NotMine) and is_last:
        return await _async_told(sentence, "local_mood_unable")
    if isinstance(result, Done) and result.note is not None:
        return replace(result, note=replace(result.note, text=command))
    return result


async def _async_by_air(sentence: Sentence, mood: Mood) -> Result:
    """Ask whether windows are to be closed in a draught, or opened where the air is stale."""
    scope = await _async_scope(sentence, mood, _OPENING)
    if scope is None:
        return NotMine()
    closes = mood.wanted == "stuffy"
    states = [state for item in scope.entity_ids if (state := sentence.hass.states.get(item)) is not None]
    open_ones = [state for state in states if state.state in ("open", STATE_ON)]
    covers = [state for state in states if state.domain == "cover" and (state.state == "open") is closes]
    if covers and sentence.turn.answerable:
        name = intent.INTENT_TURN_OFF if closes else intent.INTENT_TURN_ON
        targets = tuple(state.entity_id for state in covers)
        order = Order(intent=name, slots={}, targets=targets, response="cover", score=1.0)
        frames = [*frames_of(sentence, order)]
        for frame in frames:
            wait_along(sentence, frame.recognised)
        if sentence.turn.record.request_id is not None:
            return Refused(error=NeedsConfirmation(), recognised=frames[-1].recognised)
    if sentence.stage is Stage.BEFORE_MODEL:
        return NotMine()
    if closes and open_ones:
        names = ", ".join(state.name for state in open_ones)
        return await _async_told(sentence, "local_windows_open", target=names)
    return await _async_told(sentence, "local_windows_closed" if closes else "local_mood_unable")


async def _async_told(sentence: Sentence, key: str, **placeholders: str) -> Done:
    return Done(said=spoken(sentence.turn, await _async_say(sentence, key, **placeholders)))


async def _async_say(sentence: Sentence, key: str, **placeholders: str) -> str:
    return await async_text(sentence.hass, sentence.turn.language, key, **placeholders)


async def _async_scope(sentence: Sentence, mood: Mood, domains: frozenset[str]) -> _Scope | None:
    """Return what a sentence may be about; None if a word of it is about something else."""
    words = data_of(sentence.language.code).moods
    listed = (words.things.get(quality, ()) for quality in _THINGS.get(mood.wanted, ()))
    aside = mood.beside.union(word for texts in listed for text in texts for word in words_of(text))
    reader = partial(_read_scope, domains=domains, aside=aside)
    return await sentence.means.brain.async_read(reader, sentence.saying(" ".join(mood.rest)))


def _read_scope(
    text: str,
    things: Things,
    state_of: StateOf,
    *,
    area_id: str | None = None,
    before: Said | None = None,
    domains: frozenset[str],
    aside: Collection[str],
) -> _Scope | None:
    return _Scoping(text, things, state_of, area_id=area_id).read(domains, aside)


class _Scoping(SentenceReading):
    """The words of a sentence that say nothing of the quality: where, and which thing."""

    def read(self, domains: frozenset[str], aside: Collection[str]) -> _Scope | None:
        """Return which things of some domains are meant; None if a word is about something else."""
        found = set(self.things.in_domains(domains))
        if domains == _OPENING:
            found = {number for number in found if self._is_window(number)}
        able, is_named, kept = frozenset(found), False, list[str]()
        for at, word in enumerate(self.words):
            if at in self.in_places:
                kept.append(word)
                continue
            if word in aside or self._says_nothing(at):
                continue
            named = able & self.things.named(word)
            named |= set() if named or at not in self.kinds else able & self.things.of_kinds(self.kinds[at])
            if not named:
                return None
            found, is_named = found & named, True
            kept.append(word)
        if self.place_spans:
            found = {number for number in found if self._is_here(number)}
        elif self.area_id:
            near = {number for number in found if self.things.things[number].entity.area_id == self.area_id}
            found = near if near or not is_named else found
        is_sure = bool(self.place_spans) or (bool(self.area_id) and not is_named)
        return _Scope(entity_ids=self._names(found), is_sure=is_sure, words=" ".join(kept))

    def _is_window(self, number: int) -> bool:
        """Return whether a thing is a window: by its class, or by its name where it has no class."""
        entity = self.things.things[number].entity
        state = self._state_of(entity.entity_id)
        if class_ := state.attributes.get(ATTR_DEVICE_CLASS) if state else None:
            return bool(class_ == "window")
        kinds = (self.language.kinds_of(word) for name in self.things.things[number].names for word in name)
        return entity.domain == "cover" and any(not _WINDOW.isdisjoint(each) for each in kinds)


def _order(name: str, states: Sequence[State], change: Mapping[str, float], **slots: Any) -> Sequence[Order]:
    targets = tuple(state.entity_id for state in states)
    response = "brightness" if "brightness" in change else "default"
    order = Order(intent=name, slots=slots, targets=targets, response=response, score=1.0, change=change)
    return (order,) if targets else ()


def _darken(states: Sequence[State]) -> Sequence[Order]:
    """Dim the lights that are on."""
    return _order(
        "HassLightSet", [state for state in states if state.attributes.get(ATTR_BRIGHTNESS)], {"brightness": -25}
    )


def _lighten(states: Sequence[State]) -> Sequence[Order]:
    """Make lights that are on brighter; where that is not possible, turn on those that are off."""
    lit = [state for state in states if state.attributes.get(ATTR_BRIGHTNESS)]
    dimmed = [state for state in lit if state.attributes[ATTR_BRIGHTNESS] < _FULL]
    off = [state for state in states if state.state == STATE_OFF]
    if dimmed or not off:
        return _order("HassLightSet", dimmed or lit, {"brightness": 25})
    return _order(intent.INTENT_TURN_ON, off, {})


def _warm(states: Sequence[State]) -> Sequence[Order]:
    """Set heating higher, and turn on what is off."""
    off = [state for state in states if state.state == STATE_OFF]
    on = [state for state in states if state not in off]
    raised = _order("HassClimateSetTemperature", on, {"temperature": 1})
    return raised or _order(intent.INTENT_TURN_ON, off, {})


def _cool(states: Sequence[State]) -> Sequence[Order]:
    on = [state for state in states if state.state != STATE_OFF]
    return _order("HassClimateSetTemperature", on, {"temperature": -1})


def _sound(step: int) -> _Steps:
    def change(states: Sequence[State]) -> Sequence[Order]:
        playing = [state for state in states if state.state == STATE_PLAYING]
        playing = playing or [state for state in states if state.state == STATE_ON]
        return _order("HassSetVolumeRelative", playing, {}, volume_step=step)

    return change


def _moisten(step: int) -> _Steps:
    """Return what sets the humidity otherwise; what is off is turned on where it works in that direction."""

    def change(states: Sequence[State]) -> Sequence[Order]:
        on = [state for state in states if state.state == STATE_ON]
        drying = HumidifierDeviceClass.DEHUMIDIFIER
        off = [state for state in states if (state.attributes.get(ATTR_DEVICE_CLASS) == drying) is (step < 0)]
        off = [state for state in off if state.state == STATE_OFF]
        return _order("HassHumidifierSetpoint", on, {"humidity": step}) or _order(intent.INTENT_TURN_ON, off, {})

    return change


_AIRED = frozenset({"draughty", "stuffy"})
_STEPS: Mapping[str, tuple[str, _Steps]] = {
    "bright": ("light", _lighten), "dark": ("light", _darken), "warm": ("climate", _warm), "cold": ("climate", _cool),
    "loud": ("media_player", _sound(10)), "quiet": ("media_player", _sound(-10)),
    "humid": ("humidifier", _moisten(5)), "dry": ("humidifier", _moisten(-5)),
}  # fmt: skip
"""By the quality that is wanted: the domain of what can change it, and how."""
_THINGS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("bright", "dark"), ("bright",)), **dict.fromkeys(("warm", "cold"), ("warm",)),
    **dict.fromkeys(("loud", "quiet"), ("loud",)), **dict.fromkeys(("humid", "dry", "draughty", "stuffy"), ("humid",)),
}  # fmt: skip
"""By the quality that is wanted: whose words for the room and the sound itself name no thing of the home."""
