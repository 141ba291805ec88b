"""The question before a sensitive action, and the answer after it: built by code, never a model's sentence.

An effect is described by its kind (policy/effects/).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import batched
import re

from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.components.lock import DOMAIN as LOCK_DOMAIN
from homeassistant.core import HomeAssistant, State
from homeassistant.util.json import JsonObjectType

from ..home.exposure import is_exposed
from ..home.foreign import PERSON
from ..home.judgement import opens
from ..home.set_values import async_set_to
from ..home.wording import (
    MAX_NAME,
    MAX_NAMES,
    TOLD_BY,
    NoWordsError,
    async_details,
    async_joined,
    async_more,
    async_phrase,
    async_plain_state,
    async_quoted,
    async_spoken,
    async_state_sentences,
    capitalised,
    cut,
    name_of,
)
from ..support.localize import async_has_text, async_own_text, async_text
from ..turn.plan import DELEGATED, EARLIER, TAINTED, Effect, Plan, ServiceCall
from ..turn.turn import Outcome, Turn
from .confirmation import Call
from .effects import KINDS
from .effects.automation_change import AutomationChange, decides_on_all
from .effects.effect import Moment
from .tool import NOT_STORED, ON_DISK
from .write import HAPPENED

_CODE = "services.unlock.fields.code.name"
_WHY = {
    "unlock": "confirm_why_access",
    "open_door": "confirm_why_access",
    "disarm": "confirm_why_access",
    "open_valve": "confirm_why_valve",
    "always_ask": "confirm_why_listed",
    DELEGATED: "confirm_why_delegated",
    EARLIER: "confirm_why_earlier",
    TAINTED: "confirm_why_tainted",
}
"""By reason, why a yes is needed, besides those that kinds of effects give; otherwise it cannot be taken back."""
MAX_INSIDE = 4
MAX_OPENING = 12  # phrases of what opens, unlocks or disarms, each of a few things
MAX_LENGTH = 900  # characters of a question that is read, as far as what is asked does not take more
LEAST_LENGTH = 200  # of what is told first
MAX_SPOKEN = 60  # words of one that is heard
LEAST_SPOKEN = 20
MAX_WORDS = 3  # of a text in quotation marks that may be a name
_QUOTED = re.compile(r"“([^“”]*)”")
_SENTENCE = re.compile(r"[.!:;,]")
_SOURCES = {"knowledge": "source_knowledge", PERSON: "source_person"}
"""By taint, what a text from outside came from, where that is neither an entity nor a tool."""


async def async_question(
    hass: HomeAssistant,
    turn: Turn,
    calls: Sequence[Call],
    *,
    with_pin: bool,
    sources: Mapping[str, str] | None = None,
) -> str:
    """Return the question in the language of the turn: what is true now, then what is asked.

    `sources` are the names that people know of tools whose results are text from outside.

    Without our translations, Home Assistant's names for states and actions are used, or English if those say too little.
    """
    if not await async_has_text(hass, turn.speaks, TOLD_BY):
        try:
            return await _async_plain_question(hass, turn.speaks, calls, with_pin=with_pin)
        except NoWordsError:
            pass
    language = await async_spoken(hass, turn.speaks)
    if len(calls) == 1 and calls[0].why == (EARLIER,) and calls[0].tool.takes_back:
        done = (await async_did(hass, language, calls[0].tool.takes_back)).rstrip(".")
        asked = await async_text(hass, language, "confirm_earlier", actions=done)
        return await _async_aloud(hass, language, asked) if turn.spoken else asked
    actions = [part for call in calls for part in await _async_parts(hass, turn, language, call)]
    text = await async_joined(hass, language, actions)
    touched = _touched(hass, calls)
    already = {entity_id for call in calls for entity_id in call.plan.already}
    states = await async_state_sentences(hass, language, touched, already)
    if len(touched) == len(states) == len(calls) == 1 and len(calls[0].plan.effects) == 1 and not calls[0].plan.inside:
        [effect] = calls[0].plan.effects
        text = await KINDS[effect.kind].async_describe_it(hass, language, effect) or text
    is_tainted = any(TAINTED in call.why for call in calls)
    goes_on = is_tainted and not states
    question = await async_text(hass, language, "confirm_question", actions=text if goes_on else capitalised(text))
    told = [
        one for call in calls for effect in _asked(call) for one in await _async_before(hass, turn, language, effect)
    ]
    said = [*states, *_fitting(told, [*states, question], spoken=turn.spoken), question]
    if is_tainted:
        said.insert(0, await _async_because(hass, language, turn, sources or {}))
    if with_pin:
        said.append(await async_text(hass, language, "confirm_pin"))
    return await _async_aloud(hass, language, " ".join(said)) if turn.spoken else " ".join(said)


def _fitting(told: Sequence[str], around: Sequence[str], *, spoken: bool) -> list[str]:
    """Return as many sentences as the question has room for beside what is said in any case; the first one is cut."""
    room = MAX_SPOKEN - _words(around) if spoken else MAX_LENGTH - len(" ".join(around))
    kept: list[str] = []
    for sentence in told:
        if not kept:
            most = max(room if len(told) == 1 else room * 2 // 3, LEAST_SPOKEN if spoken else LEAST_LENGTH)
            sentence = _cut(sentence, most, spoken=spoken)
        size = _words([sentence]) if spoken else len(sentence) + 1
        if kept and size > room:
            continue
        kept.append(sentence)
        room -= size
    return kept


def _words(texts: Iterable[str]) -> int:
    return sum(len(text.split()) for text in texts)


def _cut(sentence: str, most: int, *, spoken: bool) -> str:
    """Return the beginning of a sentence, to the end of a word."""
    if spoken:
        words = sentence.split()
        return sentence if len(words) <= most else f"{' '.join(words[:most]).rstrip(',.;:')} …"
    if len(sentence) <= most:
        return sentence
    return f"{sentence[:most].rsplit(' ', 1)[0].rstrip(',.;:')} …"


async def _async_before(hass: HomeAssistant, turn: Turn, language: str, effect: Effect) -> Sequence[str]:
    return await KINDS[effect.kind].async_before(hass, turn, language, effect)


async def _async_after(hass: HomeAssistant, turn: Turn, language: str, effect: Effect) -> Sequence[str]:
    return await KINDS[effect.kind].async_after(hass, turn, language, effect)


async def _async_because(hass: HomeAssistant, language: str, turn: Turn, sources: Mapping[str, str]) -> str:
    """Return why it is asked to be safe, with what the text from outside came from, as far as people know that by a name."""
    named: dict[str, None] = {}
    for taint in sorted(turn.record.taints):
        if (state := hass.states.get(taint)) is not None:
            named[f"“{cut(state.name, MAX_NAME)}”"] = None
        elif key := _SOURCES.get(taint):
            named[await async_text(hass, language, key)] = None
        elif source := sources.get(taint):
            named[f"“{cut(source, MAX_NAME)}”"] = None
    if not named:
        return await async_text(hass, language, "confirm_tainted")
    told = await async_more(hass, language, [*named][:MAX_NAMES], len(named))
    return await async_text(hass, language, "confirm_tainted_by", sources=told)


async def _async_aloud(hass: HomeAssistant, language: str, question: str) -> str:
    """Return a question with quotation marks that can be heard, around all that is more than a name."""
    said: list[str] = []
    for place, part in enumerate(_QUOTED.split(question)):
        if place % 2 and (len(part.split()) > MAX_WORDS or _SENTENCE.search(part)):
            part = await async_text(hass, language, "spoken_quote", text=part.rstrip(".!: "))
        elif place % 2:
            part = f"“{part}”"
        said.append(part)
    return "".join(said)


async def _async_plain_question(hass: HomeAssistant, language: str, calls: Sequence[Call], *, with_pin: bool) -> str:
    """Return a question in words of Home Assistant alone. Raises `NoWordsError` if it has none."""
    touched, effects = _touched(hass, calls), [effect for call in calls for effect in _asked(call)]
    if len(touched) > MAX_NAMES or any(TAINTED in call.why or call.plan.inside for call in calls):
        raise NoWordsError
    said = [await async_plain_state(hass, language, state) for state in touched]
    if not all(call.plan.effects for call in calls):
        raise NoWordsError
    told = [await KINDS[item.kind].async_describe_plainly(hass, language, item) for item in effects]
    said.append(f"{'; '.join(told)}?")
    if with_pin:
        said.append(f"{await async_own_text(hass, language, 'services', LOCK_DOMAIN, _CODE)}?")
    return " ".join(said)


def _asked(call: Call) -> list[Effect]:
    """Return the effects that are asked about, as people may be told of them: without subjects that are so already."""
    already = {*call.plan.already}
    left = [one for effect in call.plan.effects if (one := effect.without(already)) is not None]
    return [replace(effect, data=call.tool.shown(effect.data)) for effect in left]


async def _async_parts(hass: HomeAssistant, turn: Turn, language: str, call: Call) -> list[str]:
    """Return what a call would do, a phrase for each of its effects; the last one says what is behind them."""
    plan = call.plan
    if plan.effects:
        parts = await _async_all(hass, language, _asked(call))
    elif plan.texts and call.tool.asks_key:
        texts, subject = await async_quoted(hass, language, plan.texts), cut(plan.subject or "")
        parts = [await async_text(hass, language, call.tool.asks_key, subject=subject, texts=texts)]
    else:
        shown = call.tool.shown(_in_order(call))
        to, left = await async_set_to(hass, language, plan.targets, shown) if plan.targets else ("", shown)
        details = await async_details(hass, language, left)
        tool = await call.tool.async_title(hass, language)
        if plan.targets:
            parts = [await async_phrase(hass, language, "confirm_change", plan.targets, details, to=to)]
        elif call.tool.is_named_elsewhere:
            parts = [await async_text(hass, language, "confirm_tool", tool=f"“{cut(plan.subject or tool)}”") + details]
        elif plan.subject and plan.subject != tool:  # one of another integration is its own subject
            subject = cut(str(call.tool.shown({"subject": plan.subject})["subject"]))
            parts = [await async_text(hass, language, "confirm_subject", tool=tool, subject=subject) + details]
        else:
            parts = [await async_text(hass, language, "confirm_tool", tool=tool) + details]
    if inside := await _async_inside(hass, turn, language, plan):
        parts[-1] = await async_text(hass, language, "confirm_inside", action=parts[-1], inside=inside)
    return parts


async def _async_inside(hass: HomeAssistant, turn: Turn, language: str, plan: Plan) -> str:
    """Return what is behind a plan: all that opens, unlocks or disarms, then some of the rest, and what it goes through."""
    automating = [effect for effect in plan.effects if isinstance(effect, AutomationChange)]
    told_before = frozenset() if turn.spoken else frozenset().union(*(effect.told_actions for effect in automating))
    opening = [call for call in plan.inside if opens(hass, call)]
    others = [call for call in plan.inside if call not in opening and call.action not in told_before]
    if not opening and not others:
        return ""
    pieces = [
        replace(call, entity_ids=ids)
        for call in opening
        for ids in (batched(call.entity_ids, MAX_NAMES, strict=False) if call.entity_ids else [()])
    ]
    shown = [*pieces[:MAX_OPENING], *others[: max(0, MAX_INSIDE - len(pieces))]]
    is_all = bool(automating) and decides_on_all(turn.user)
    said = [await _async_inner(hass, turn, language, call, is_all=is_all) for call in shown]
    told = await async_more(hass, language, said, len(pieces) + len(others))
    if not automating:
        return told
    names = [
        name_of(state)
        for written in plan.reach.written
        if (state := hass.states.get(written.partition(" ")[0])) is not None
        and state.domain == AUTOMATION
        and (is_all or is_exposed(hass, state.entity_id, turn.user))
    ]
    if not names:
        return told
    through = await async_more(hass, language, names[:MAX_NAMES], len(names))
    return await async_text(hass, language, "confirm_inside_through", inside=told, names=through)


async def _async_inner(hass: HomeAssistant, turn: Turn, language: str, call: ServiceCall, *, is_all: bool) -> str:
    """Return what is done behind a plan; `is_all`: also with the names of what is not exposed."""
    if is_all and call.entity_ids:
        return await KINDS[call.kind].async_describe(hass, language, call, Moment.ASKED)
    return await KINDS[call.kind].async_describe_inside(hass, language, call, turn.user)


def _in_order(call: Call) -> dict[str, object]:
    """Return the arguments with the required ones first, as a model could put others before them."""
    schema: Mapping[str, object] = getattr(call.tool, "wire_parameters", {})
    required, properties = schema.get("required"), schema.get("properties")
    names = [*(required if isinstance(required, list) else ()), *(properties if isinstance(properties, dict) else ())]
    rank = {name: place for place, name in enumerate(dict.fromkeys(map(str, names)))}
    return dict(sorted(call.arguments.items(), key=lambda item: rank.get(item[0], len(rank))))


def _touched(hass: HomeAssistant, calls: Iterable[Call]) -> list[State]:
    """Return the entities whose states say what calls would change, or have changed, as they are now."""
    touched: dict[str, None] = {}
    for call in calls:
        effects = call.plan.effects
        if any(effect.entity_ids for effect in effects):
            touched |= dict.fromkeys(item for effect in effects for item in KINDS[effect.kind].shown(effect))
        elif all(KINDS[effect.kind].changes_states for effect in effects):
            touched |= dict.fromkeys(call.plan.targets)
    return [state for entity_id in touched if (state := hass.states.get(entity_id)) is not None]


async def _async_all(
    hass: HomeAssistant, language: str, effects: Iterable[Effect], moment: Moment = Moment.ASKED
) -> list[str]:
    return [await KINDS[effect.kind].async_describe(hass, language, effect, moment) for effect in effects]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedCall:
    """A confirmed call that succeeded."""

    call: Call
    result: JsonObjectType = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """By subject; without an entry it is not known."""

    def has_happened(self, effect: Effect) -> bool:
        """Return whether an effect came true, as far as that is known; of states the sentences tell it."""
        came = (self.outcomes.get(subject, Outcome.DONE) in HAPPENED for subject in effect.subjects)
        return KINDS[effect.kind].changes_states or all(came)

    @property
    def missed(self) -> list[Effect]:
        """The effects of which something did not come true."""
        return [effect for effect in self.call.plan.effects if not self.has_happened(effect)]


async def async_result(
    hass: HomeAssistant,
    language: str,
    key: str,
    calls: Sequence[Call],
    done: Sequence[ConfirmedCall],
    turn: Turn | None = None,
) -> str:
    """Return what is said after a yes: the sentence `key`, the states of the entities, what was named, kept or forgotten.

    `done` are the calls that succeeded; with the turn in which the yes was said, links and the like are told as well.
    """
    missed = [effect for one in done for effect in one.missed]
    if key == "confirm_done" and missed:
        is_all = len(missed) == sum(len(one.call.plan.effects) for one in done)
        key = "confirm_failed" if is_all else "confirm_partly"
    touched = _touched(hass, calls)
    has_words = await async_has_text(hass, language, key)
    if key == "confirm_done" and not has_words and 0 < len(touched) <= MAX_NAMES:
        try:
            return " ".join([await async_plain_state(hass, language, state) for state in touched])
        except NoWordsError:
            pass
    said = [await async_text(hass, language, key), await async_facts(hass, language, calls)]
    for one in done:
        happened = [*filter(one.has_happened, one.call.plan.effects)]
        said += await _async_all(hass, language, happened, Moment.DONE)
        if turn is not None:
            said += [text for item in happened for text in await _async_after(hass, turn, language, item)]
        said += [
            await async_text(hass, language, sentence, texts=await async_quoted(hass, language, texts))
            for sentence, texts in one.call.tool.done_with(one.call.plan, one.result).items()
        ]
    if any(one.result.get(ON_DISK) is False for one in done):
        said.append(await async_text(hass, language, NOT_STORED))
    if missed:
        target = ", ".join(await _async_all(hass, await async_spoken(hass, language), missed))
        said.append(await async_text(hass, language, "local_not_followed", target=target))
    return " ".join(filter(None, said))


async def async_facts(hass: HomeAssistant, language: str, calls: Iterable[Call]) -> str:
    """Return in words what the touched entities are now; "" if no entity was touched."""
    language = await async_spoken(hass, language)
    touched = _touched(hass, calls)
    sentences = await async_state_sentences(hass, language, touched)
    if len(touched) > MAX_NAMES:
        sentences.append(await async_text(hass, language, "confirm_more", count=str(len(touched) - MAX_NAMES)))
    return " ".join(sentences)


async def async_not_followed(hass: HomeAssistant, language: str, entity_ids: Sequence[str]) -> str:
    """Return what is said of entities that did not follow a command; a few by name, the others counted."""
    names = [name_of(state) for item in entity_ids if (state := hass.states.get(item)) is not None]
    told = await async_more(hass, language, names[:MAX_NAMES], len(names))
    return await async_text(hass, language, "local_not_followed", target=told)


async def async_states(hass: HomeAssistant, language: str, entity_ids: Iterable[str]) -> str:
    """Return in words what these entities are now, the first few of them."""
    known = [state for entity_id in entity_ids if (state := hass.states.get(entity_id)) is not None]
    return " ".join(await async_state_sentences(hass, await async_spoken(hass, language), known))


async def async_done(hass: HomeAssistant, language: str, effects: Sequence[Effect]) -> str:
    """Return in words what effects do: "turn off Bed Light"."""
    language = await async_spoken(hass, language)
    return await async_joined(hass, language, await _async_all(hass, language, effects))


async def async_did(hass: HomeAssistant, language: str, effects: Sequence[Effect]) -> str:
    """Return in words what effects did, as their agent says it: "I turned off Bed Light"."""
    language = await async_spoken(hass, language)
    return await async_text(hass, language, "done_by_me", actions=await async_deeds(hass, language, effects))


async def async_deeds(hass: HomeAssistant, language: str, effects: Sequence[Effect]) -> str:
    """Return in words what effects did, as a part of a sentence: "turned off Bed Light"."""
    language = await async_spoken(hass, language)
    return await async_joined(hass, language, await _async_all(hass, language, effects, Moment.PAST))


async def async_already(hass: HomeAssistant, language: str, plan: Plan) -> str:
    """Return the answer to a plan whose goal is reached already, such as "Front Door is already unlocked"."""
    said: list[str] = []
    for effect in plan.effects:
        states = [state for item in effect.entity_ids if (state := hass.states.get(item)) is not None]
        own = await KINDS[effect.kind].async_already(hass, language, effect, states)
        if own is not None:
            said += own
        elif await async_has_text(hass, language, "confirm_already"):
            said += await async_state_sentences(hass, language, states, {*plan.already})
        else:
            try:
                said += [await async_plain_state(hass, language, state) for state in states]
            except NoWordsError:
                said += await async_state_sentences(hass, await async_spoken(hass, language), states)
    return " ".join(dict.fromkeys(said))


async def async_why(hass: HomeAssistant, language: str, calls: Sequence[Call]) -> str:
    """Return why a yes is asked for: what the calls do that needs one, or that a list of the owner says so."""
    reasons = dict.fromkeys(reason for call in calls for reason in call.why or call.reasons)
    known = {**_WHY, **{reason: key for kind in KINDS.values() for reason, key in kind.why.items()}}
    keys = dict.fromkeys(known.get(reason, "confirm_why_destructive") for reason in reasons)
    return " ".join([await async_text(hass, language, key) for key in keys])
