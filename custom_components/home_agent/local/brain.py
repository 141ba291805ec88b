"""The local brain: what a sentence is understood to want is done as Home Assistant's intents, behind the same policy.

It comes after Home Assistant's own sentences and before any model. What it does not understand for certain is left to the next,
and the turn keeps why.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
import time
from typing import Any

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.conversation import ChatLog, UserContent
from homeassistant.components.light import (
    ATTR_BRIGHTNESS,
    ATTR_MAX_COLOR_TEMP_KELVIN,
    ATTR_MIN_COLOR_TEMP_KELVIN,
)
from homeassistant.const import ATTR_TEMPERATURE, STATE_UNAVAILABLE, UnitOfTemperature
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import intent

from ..home.actions import is_open, members
from ..home.exposure import may_know
from ..home.snapshot import HomeSnapshot
from ..languages.phrasings import phrasings_of
from ..languages.vocabulary import Language
from ..policy.intents import Mismatch, Recognised, is_able, plan_of
from ..support.bounds import in_slices
from ..support.errors import ToolError
from ..support.localize import async_text
from ..turn.plan import Plan
from ..turn.turn import Turn, Understanding
from .fuzzy import Frame, async_carry_out
from .intent_policy import IntentPolicy, Sentence
from .things import Things
from .understanding import Said, Understood, Wish, understand

_LIGHT_SET = "HassLightSet"
_MOST_BRIGHTNESS = 255
MAX_REMEMBERED = 200  # conversations
REMEMBERED = 300.0  # seconds for which a sentence goes on from the one before
_MAX_NAMES = 5  # of one answer
_LEAST = 1  # percent: less is off
_OF_SEVERAL = ("_area", "_floor", "_all")
"""Ends of the names of Home Assistant's answers about several things of a kind."""
_OF_ONE = {"open": "cover", "close": "cover", **dict.fromkeys(("light", "lights", "fan", "fans"), "default")}
"""What the rest of such a name becomes where it is about one, if not a name of itself."""


@dataclass(slots=True)
class _Kept:
    """The words of the home as it was when they were read."""

    home: HomeSnapshot
    language: Language
    things: Things


class Brain:
    """Understands sentences; keeps the words of the home until it changes."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Know nothing yet: the first sentence reads the home."""
        self._hass = hass
        self._kept: dict[str, _Kept] = {}
        self._said: dict[tuple[str, str | None], tuple[float, int, Said]] = {}
        """By conversation and user: when it was, the how manieth message, and what."""
        self._whole: dict[tuple[str, str | None], str] = {}
        """The same of a sentence that goes on: with what the one before it had said."""
        self.asked: set[tuple[str, str | None]] = set()
        """Those of them in which somebody was asked which one is meant."""

    def remember(self, turn: Turn, chat_log: ChatLog, about: tuple[str, ...] = ()) -> None:
        """Keep what a turn did for the next sentence of the conversation, or forget what was before: it did nothing.

        `about` is what it was done to, where nothing tells what became of it.
        """
        key = turn.conversation_id, turn.user.id if turn.user else None
        self._said.pop(key, None)
        self.asked.discard(key)
        text = self._whole.pop(key, turn.text)
        targets, known = tuple(turn.record.outcomes) or about, turn.record.understanding
        candidates = known.candidates if known is not None and known.asked else ()
        if targets or candidates:
            number = sum(isinstance(item, UserContent) for item in chat_log.content)
            self._said[key] = time.monotonic(), number, Said(text=text, targets=targets, candidates=candidates)
            if candidates:
                self.asked.add(key)
            if len(self._said) > MAX_REMEMBERED:
                oldest = next(iter(self._said))
                del self._said[oldest]
                self.asked.discard(oldest)

    def complete(self, turn: Turn, text: str) -> None:
        """Keep all of what a sentence says that goes on, for what goes on from it; "" for one that says it all."""
        key = turn.conversation_id, turn.user.id if turn.user else None
        self._whole.pop(key, None)
        if text:
            self._whole[key] = text
            if len(self._whole) > MAX_REMEMBERED:  # of turns that were cancelled before they were remembered
                del self._whole[next(iter(self._whole))]

    def before(self, sentence: Sentence) -> Said | None:
        """Return what this user said right before in this conversation, if that is not long ago and no model heard it."""
        turn = sentence.turn
        key = turn.conversation_id, turn.user.id if turn.user else None
        when, number, said = self._said.get(key, (0.0, 0, None))
        heard = sum(isinstance(item, UserContent) for item in sentence.chat_log.content)
        is_next = heard == number + 1
        return said if said is not None and is_next and time.monotonic() - when < REMEMBERED else None

    async def async_understand[T](self, sentence: Sentence, reader: Callable[..., T]) -> T:
        """Return what a reader of sentences, such as `understand`, makes of one, with the things that the user may know of."""
        turn, home, language = sentence.turn, sentence.home, sentence.language
        user, known = turn.user, home
        limited = user is not None and not user.permissions.access_all_entities(POLICY_READ)
        if limited or turn.within:  # asked here: a thread knows no running turn
            entities = {
                key: item async for key, item in in_slices(home.entities.items()) if may_know(self._hass, user, key)
            }
            known = HomeSnapshot(entities, home.areas)

        before = self.before(sentence)

        def read() -> T:
            things = self._things(home, language) if known is home else None
            if things is None:
                things = self.read(known, language)
            get, area_id = self._hass.states.get, turn.area_id
            return reader(turn.text, things, get, area_id=area_id, before=before)

        return await self._hass.async_add_executor_job(read)

    async def async_wishes(self, sentence: Sentence, candidates: Sequence[str]) -> dict[str, Wish]:
        """Return by entity id what a sentence wants of each of some things, read as if there were no others.

        A thing whose name is less than what was said is wanted the same of as another of its domain; what no wish fits is missing.
        """
        turn, home, get = sentence.turn, sentence.home, self._hass.states.get
        entities = {item: home.entities[item] for item in candidates if item in home.entities}

        def read() -> dict[str, Wish]:
            wishes: dict[str, Wish] = {}
            for item, entity in entities.items():
                things = self.read(HomeSnapshot({item: entity}, home.areas), sentence.language)
                things.may_be_any = True
                found = understand(turn.text, things, get, area_id=turn.area_id).wishes
                if len(found) == 1 and found[0].targets == (item,):
                    wishes[item] = found[0]
            for item, entity in entities.items():
                alike = next((wish for other, wish in wishes.items() if entities[other].domain == entity.domain), None)
                if item not in wishes and alike is not None:
                    wishes[item] = replace(alike, targets=(item,))
            return wishes

        return await self._hass.async_add_executor_job(read)

    def _things(self, home: HomeSnapshot, language: Language) -> Things:
        kept = self._kept.get(language.code)
        is_kept = kept is not None and kept.things.celsius is self._is_celsius
        if kept is None or not is_kept or kept.home is not home or kept.language is not language:
            things = self.read(home, language)
            kept = self._kept[language.code] = _Kept(home, language, things)
            self._kept = {code: each for code, each in self._kept.items() if each.home is home}
        return kept.things

    def read(self, home: HomeSnapshot, language: Language) -> Things:
        """Return the words of a home as it is now."""
        return Things(home, language, phrasings_of(language.code), self._hass.states.get, celsius=self._is_celsius)

    @property
    def _is_celsius(self) -> bool:
        return self._hass.config.units.temperature_unit == UnitOfTemperature.CELSIUS


async def async_answer_by_brain(
    sentence: Sentence, permission: IntentPolicy, brain: Brain, understood: Understood | None = None
) -> intent.IntentResponse | ToolError | None:
    """Do what is understood for certain and return the answer, or the refusal; None leaves the sentence to the next.

    Nothing happens unless all of it may. `understood` is what is known of the sentence already.
    """
    started = time.perf_counter()
    turn = sentence.turn
    if understood is None:
        understood = await brain.async_understand(sentence, understand)
        brain.complete(turn, understood.text)
    if understood.spared:
        understood = _sparing(sentence.hass, understood)
        permission.coverage = replace(permission.coverage, spared=frozenset(understood.spared))
    turn.record.understanding = _told(understood, started)
    if not understood.wishes:
        return None
    if understood.is_so:
        response = intent.IntentResponse(language=turn.language)
        response.async_set_speech(await async_text(sentence.hass, turn.language, "local_nothing_on"))
        return response
    pairs = [(frame, wish) for wish in understood.wishes for frame in frames_of(sentence, wish)]
    frames = [frame for frame, _ in pairs]
    unable = _unable(sentence, [wish for wish in understood.wishes if all(wish is not other for _, other in pairs)])
    if not frames or unable is not None:
        turn.record.understanding = _told(understood, started, reason="impossible")
        permission.mismatch = permission.mismatch or unable
        return None
    words = [
        # an answer that wants a name or a class where neither was said has the things themselves
        dict.fromkeys(
            ("name", "device_class"),
            _listed(sentence, [frame.slots["name"]] if "name" in frame.slots else wish.targets),
        )
        | {slot: _word(sentence, slot, value) for slot, value in frame.slots.items()}
        for frame, wish in pairs
    ]
    before = permission.recognised, permission.refusal, permission.mismatch, permission.left_out
    answer = await async_carry_out(sentence, permission, frames, words)
    left = [target for wish in understood.wishes for target in wish.targets if _is_left(sentence, wish, target)]
    if left and isinstance(answer, intent.IntentResponse) and answer.error_code is None:
        names = ", ".join(_word(sentence, "name", target) for target in dict.fromkeys(left))
        said = str(answer.speech.get("plain", {}).get("speech") or "").rstrip(" .")
        more = await async_text(sentence.hass, turn.language, "group_left_out", target=names)
        answer.async_set_speech(". ".join(filter(None, (said, more))))
    if answer is None:  # the next one goes on from what Home Assistant's sentences made of it
        permission.recognised, permission.refusal, permission.mismatch, permission.left_out = before
        turn.record.understanding = _told(understood, started, reason="not_covered")
    return answer


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


def _told(understood: Understood, started: float, *, reason: str = "") -> Understanding:
    """Return what the turn keeps of what was understood; no word of what was said but those that were not."""
    wishes = () if reason else understood.wishes
    return Understanding(
        intents=tuple(wish.intent for wish in wishes) or understood.intents[:2],
        targets=tuple(target for wish in wishes for target in wish.targets),
        score=round(understood.score, 2),
        declined=reason or understood.reason,
        words=understood.words,
        candidates=understood.candidates,
        is_near=understood.is_near,
        duration_ms=round((time.perf_counter() - started) * 1000),
    )


def _is_left(sentence: Sentence, wish: Wish, target: str) -> bool:
    """Return whether a thing is left out of many that are meant: a group that reaches what the user or the agent may not."""
    return len(wish.targets) > 1 and not is_open(sentence.hass, target)


def frames_of(sentence: Sentence, wish: Wish) -> Iterator[Frame]:
    """Yield the intents that a wish comes to: one for all its things where Home Assistant finds just those, else one for each."""
    hass = sentence.hass
    if not wish.change and len(wish.targets) > 1 and (slots := _common(sentence, wish)):
        yield Frame(intent=wish.intent, slots=slots, response_key=wish.response)
        return
    for entity_id in wish.targets:
        state = hass.states.get(entity_id)
        if state is None or state.state == STATE_UNAVAILABLE or _is_left(sentence, wish, entity_id):
            continue
        values: dict[str, Any] | None = dict(wish.slots)
        if wish.change:
            values = _changed(hass, state, wish)
        if values is not None and _is_able(state, wish, values):
            yield Frame(intent=wish.intent, slots={"name": entity_id, **values}, response_key=_answer_of(wish))


def _answer_of(wish: Wish) -> str:
    """Return the name of the answer: where a phrase for several is about one thing, that about one."""
    end = next((end for end in _OF_SEVERAL if wish.response.endswith(end)), "")
    if not end or len(wish.targets) > 1:
        return wish.response
    rest = wish.response.removesuffix(end)
    return _OF_ONE.get(rest, rest)


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


def _listed(sentence: Sentence, targets: Sequence[str]) -> str:
    """Return the names of things, cut short where they are many."""
    names = [_word(sentence, "name", target) for target in targets]
    return ", ".join([*names[:_MAX_NAMES], *(["…"] if len(names) > _MAX_NAMES else [])])


def _word(sentence: Sentence, slot: str, value: Any) -> str:
    """Return how a value of a slot is told: an entity by its name."""
    state = sentence.hass.states.get(value) if slot == "name" else None
    return state.name if state is not None else str(value)
