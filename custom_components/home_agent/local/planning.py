"""What a sentence wants done at another time: read by the ordinary readers in a turn in which calls are noted instead of made."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from homeassistant.components.conversation import ChatLog
from homeassistant.helpers import intent

from ..languages.data import data_of
from ..languages.enumerations import parts_of
from ..languages.phrases import is_order
from ..languages.reminders import naming, ordered, plainly, without_words
from ..languages.spoken_numbers import words_in
from ..languages.times import numbers_in
from ..policy.confirmation import Call, LeftForLater
from ..policy.effects import KINDS
from ..policy.wishing import asks_then, step_of
from ..support.errors import ToolError
from ..support.text import words_of
from ..turn.plan import Effect
from ..turn.turn import TurnRecord, current_turn
from ..wishes.wish import Step
from .coverage import LeftOut
from .moods import async_reach
from .parts import new_in, understand
from .reading import Said
from .sentences import Done, Refused, Sentence, async_answer_of
from .things import StateOf, Things
from .understanding import Commanding

MOST_PARTS = 4
_BY_STATE = frozenset({intent.INTENT_TOGGLE, "HassSetVolumeRelative"})
"""Intents that come to something else with each state of what they are for."""
_WHILE_PLAYING = frozenset({"HassMediaPause", "HassMediaUnpause", "HassMediaNext", "HassMediaPrevious"})
"""Intents that are only for what is in a state, which it may be by then and is not now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What is to be done later."""

    text: str
    """The words that it was read from."""
    calls: tuple[Call, ...] = ()
    steps: tuple[Step, ...] = ()
    """Empty: nothing is to be done, or it is not known what."""
    refused: Refused | None = None
    """Why it may not be done, or cannot wait."""
    candidates: tuple[str, ...] = ()
    """Entity ids that may be meant alike."""
    is_answer: bool = False
    """Whether it is a question that the home can answer."""
    lacks: LeftOut | None = None
    """Values that it needs and that were not said."""

    @property
    def is_known(self) -> bool:
        """Return whether it is known what is to be done, or why it is not."""
        return bool(self.steps) or self.refused is not None or self.lacks is not None

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the entities for which something is to be done."""
        return _targets(self.calls)

    @property
    def asks(self) -> bool:
        """Return whether it needs a yes when it is done."""
        return asks_then(self.calls)


async def async_plan(sentence: Sentence, text: str) -> Planned:
    """Return what a text wants done, as it is or as it is said plainly. Nothing is done, asked or remembered."""
    planned, plain = await _async_plan_of(sentence, text), plainly(text, sentence.language.code)
    if planned.is_known or plain == text:
        return planned
    other = await _async_plan_of(sentence, plain)
    return other if other.is_known else planned


async def _async_plan_of(sentence: Sentence, text: str) -> Planned:
    """Return what a text wants done as a whole, else each of its parts; of "and the lamp too" without the "too"."""
    words = data_of(sentence.language.code).follow_ups
    parts = parts_of(text, sorted(words.joins, key=len, reverse=True))
    plain = [parts[0], *(new_in(part, words) or part for part in parts[1:])] if parts else parts
    if plain != parts and len(parts) <= MOST_PARTS:
        told = await _async_plan_of(sentence, f" {words.joins[0]} ".join(plain))
        if told.steps:
            return told
    whole = await _async_plan(sentence, text)
    if not 1 < len(parts) <= MOST_PARTS or whole.candidates or whole.is_answer:
        return whole
    first, last = [await _async_plan(sentence, part) for part in (parts[0], parts[-1])]
    is_of_all = len(_kinds(whole)) == 1 and len(whole.targets) >= len(parts)
    if whole.steps and (is_of_all or not _is_bare(sentence, last, first)):
        return whole
    found: list[Planned] = []
    for said in (parts, *_shared(parts, sentence.language.code)):
        read = [await _async_plan(sentence, part) for part in said]
        if not all(one.steps for one in read) or any(_is_bare(sentence, one, first) for one in read[1:]):
            continue
        found = found or read
        if (
            said is parts or len({frozenset(_kinds(one)) for one in read}) == 1
        ):  # one verb does the same to all, if it can
            found = read
            break
    if not found:
        return replace(whole, calls=(), steps=())
    calls, steps = (call for one in found for call in one.calls), (step for one in found for step in one.steps)
    return Planned(text=text, calls=tuple(calls), steps=tuple(steps))


async def async_does(sentence: Sentence, text: str, steps: Sequence[Step]) -> bool:
    """Return whether a text says what steps do, of what they are for: "off", "turn it off again"."""
    wanted, code = services_of(steps), sentence.language.code
    text = without_words(text, data_of(code).again)
    if not wanted or any(step.command or not step.effects for step in steps):
        return False
    if numbers_in(words_in(text), code) and any(row.get("data") for step in steps for row in step.effects):
        return False  # another value
    alone = await async_plan(replace(sentence, before=None), text)
    if not any(naming(text, "", code)) and not {item for _, item in wanted}.issuperset(alone.targets):
        return False  # it names something else
    states = [state for item in sorted({item for _, item in wanted}) if (state := sentence.hass.states.get(item))]
    for state in states:
        own = {one for one in wanted if one[1] == state.entity_id}
        said = (*naming(text, state.name, code), f"{state.name} {text}", f"{text} {state.name}")
        for each in dict.fromkeys((*said, *(other for one in said for other in ordered(one, code)))):
            if services_of((await async_plan(sentence, each)).steps) == own:
                break
        else:
            return services_of((await async_plan(sentence, text)).steps) == wanted
    return bool(states)


def services_of(steps: Iterable[Step]) -> set[tuple[str, str]]:
    """Return what steps do to which entities: pairs of a service and an entity id."""
    return {(str(row["service"]), str(item)) for step in steps for row in step.effects for item in row["entity_ids"]}  # type: ignore[union-attr]


def _is_bare(sentence: Sentence, part: Planned, first: Planned) -> bool:
    """Return whether a part only names something, so that what is done to the first part is meant: "turn off the TV and the lamp"."""
    if is_order(part.text, sentence.language.code) or _kinds(part) == _kinds(first):
        return False
    names = {
        word for item in part.targets if (state := sentence.hass.states.get(item)) for word in words_of(state.name)
    }
    return words_of(part.text)[-1:] != () and words_of(part.text)[-1] in names


def _kinds(planned: Planned) -> set[str]:
    return {service for service, _ in services_of(planned.steps)}


def _shared(parts: Sequence[str], code: str) -> Iterator[Sequence[str]]:
    """Yield parts with the verb of the first and the last word of the last in all: "close the living room and kitchen blinds".

    Where several verbs are said, each one is in front of all up to the next.
    """
    first, last = parts[0].split(), parts[-1].split()
    if len(first) < 2 or not last:
        return
    if any(is_order(part, code) for part in parts[1:]):
        yield from (_carried(parts, code, count) for count in (1, 2))
        return
    ended = [*(f"{part} {last[-1]}" for part in parts[:-1]), parts[-1]]
    yield [ended[0], *(f"{first[0]} {part}" for part in ended[1:])]
    yield [parts[0], *(f"{first[0]} {part}" for part in parts[1:])]
    yield [parts[0], *(f"{first[0]} {first[1]} {part}" for part in parts[1:])]  # "turn off"
    yield ended  # "den Fernseher, das Radio und die Lampe ausschalten"


def carried(text: str, rest: str, code: str) -> Iterator[str]:
    """Yield what does to something that is only named what a command does to something else: "the TV" behind "turn off the lamp"."""
    words = text.split()
    around = [f"{words[0]} {rest} {words[-1]}"] if len(words) > 2 else []  # "mach … an"
    yield from dict.fromkeys((*(said[-1] for said in _shared((text, rest), code)), *around))


def _carried(parts: Sequence[str], code: str, count: int) -> Sequence[str]:
    """Return parts, those without a verb with the first words of the last one that has some."""
    verb, said = "", list[str]()
    for part in parts:
        is_whole = not said or is_order(part, code)
        verb = " ".join(part.split()[:count]) if is_whole else verb
        said.append(part if is_whole else f"{verb} {part}")
    return said


async def _async_plan(sentence: Sentence, text: str) -> Planned:
    said = _planning(sentence, text)
    token = current_turn.set(said.turn)
    try:
        by_state = await async_reach(said) or await said.means.brain.async_read(_reach_by_state, said)
        heard = await async_answer_of(said, lambda reader: reader.plans or reader.tells)
    finally:
        current_turn.reset(token)
    result = heard.result
    calls, known = tuple(said.turn.record.planned or ()), said.turn.record.understanding
    if isinstance(result, Refused) and not isinstance(result.error, LeftForLater):
        return Planned(text=text, refused=None if result.is_hidden else result)
    by_state = by_state or (_targets(calls) if any(call.tool.intent in _BY_STATE for call in calls) else ())
    if by_state:
        return Planned(text=text, calls=calls, steps=(Step(command=text, targets=by_state),))
    try:
        steps = tuple(map(step_of, calls))
    except ToolError as err:
        assert isinstance(result, Refused)
        return Planned(text=text, refused=replace(result, error=err))
    if not calls and heard.left_out is not None and heard.left_out.fields:
        return Planned(text=text, lacks=heard.left_out)
    several = known is not None and known.declined == "several" and not calls
    is_answer = isinstance(result, Done) and not calls and not result.has_failed
    candidates = known.candidates if known is not None and several else ()
    return Planned(text=text, calls=calls, steps=steps, candidates=candidates, is_answer=is_answer)


def _planning(sentence: Sentence, text: str) -> Sentence:
    """Return a sentence in a turn in which calls are noted, with a chat log of its own."""
    log, turn = sentence.chat_log, sentence.turn
    record = TurnRecord(planned=[], taints=turn.record.taints, context_mode=turn.record.context_mode)
    turn = replace(turn, text=text, record=record)
    user_input = replace(sentence.user_input, text=text)
    own = ChatLog(sentence.hass, log.conversation_id, content=[*log.content])
    coverage = replace(sentence.coverage, turn=turn)
    return replace(sentence, turn=turn, user_input=user_input, chat_log=own, coverage=coverage, earlier=())


def effects_of(steps: Iterable[Step]) -> list[Effect]:
    """Return the effects of steps, as they were when they were noted."""
    return [KINDS[str(row["kind"])].effect.from_dict(row) for step in steps for row in step.effects]


def _targets(calls: Iterable[Call]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for call in calls for item in call.plan.targets))


def _reach_by_state(
    text: str, things: Things, state_of: StateOf, *, area_id: str | None = None, before: Said | None = None
) -> tuple[str, ...]:
    """Return what a command may reach that comes to something else with each state: "turn everything off here", "10 % darker", "pause"."""
    command = Commanding(text, things, state_of, area_id=area_id, before=before.targets if before else ())
    found = command.everything_off(also_off=True) if command.everything else None
    if found is None:
        found = understand(text, things, state_of, area_id=area_id, before=before)
        is_while_playing = bool(found.orders) and all(order.intent in _WHILE_PLAYING for order in found.orders)
        if not is_while_playing and not any(order.change for order in found.orders):
            return ()
    return tuple(dict.fromkeys(item for order in found.orders for item in order.targets))
