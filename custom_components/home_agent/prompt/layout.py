"""Lays a prompt out: from all that was gathered for it (`request.py`) to what stands where, and what was left out. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import accumulate
import math
from typing import NamedTuple

from homeassistant.components.conversation import AssistantContent, ToolResultContent
from homeassistant.core import State
from homeassistant.util.json import JsonValueType

from ..client.messages import raw_estimate
from ..home.foreign import TaintsOf, taints_of_outsiders
from ..home.snapshot import HomeEntity, HomeSnapshot
from ..home.states import describe, is_prose
from ..settings.profile import ContextMode, Profile
from ..support.masking import Mask
from ..transcript.transcript import Instructions, Round
from ..transcript.turn_part import (
    BETWEEN_PARTS,
    Baseline,
    Estimate,
    KnownState,
    KnownStates,
    TurnPart,
    masked_part,
    render_states,
    render_turn_part,
)
from .budget import FIXED_STEP, LEAST_TOKENS, SPARE_TOKENS, Budget
from .home_map import HomeMap
from .providers import Block, keys_of, new_blocks

HOME_HEADING = "## Home"
STATES_IN_MAP_HEADING = '## States\n\nThose in "Home" are of some time ago; what <house> says in a message is newer.'
STATES_HEADING = "## States\n\nSome time ago; what <house> says in a message is newer."
GONE = "gone"
DETAILED = 6  # entities; a request is rarely about more
CHANGES_TOKENS = 60  # for what changed of what the model knows, where what a request is about takes all the room
ASKED = 4  # entities that a request is about and that are told again although nothing of them is different

DEFAULT_PROMPT_TOKENS = 550
TOOL_CALL_CHARS = 60  # wire overhead of one tool call
TRIM_TO = 0.5  # share of the limits that is kept when they are passed

type Attributes = Mapping[str, tuple[str, ...]]
"""The attributes that the owner chose, by entity id; without an entry those that matter for the domain."""
type Rows = Sequence[tuple[str, tuple[str, ...]]]


def instructions_tokens(profile: Profile, given: str | None, *, additions: bool = True) -> float:
    """Return how many tokens instructions take before placeholders are filled in; `given` replaces the profile's."""
    is_default = given is None and profile.use_default_prompt
    own = given if given is not None else "" if is_default else profile.custom_prompt
    tokens = raw_estimate(f"{own}{profile.prompt_additions if additions else ''}".encode("utf-8", "replace"))
    return tokens + (DEFAULT_PROMPT_TOKENS if is_default else 0)


@dataclass(frozen=True, slots=True)
class Selection:
    """The entities that are sent without being asked for; chosen once and kept until the home changes."""

    entities: Sequence[HomeEntity]
    attributes: Attributes = field(default_factory=dict)
    detailed: bool = True
    left_out: int = 0
    tokens: int = 0

    @property
    def full_tokens(self) -> int:
        """What everything would take, with what is left out; about."""
        return self.tokens * (len(self.entities) + self.left_out) // max(1, len(self.entities))


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Everything that a prompt is made of. Its functions return the same for the same arguments."""

    budget: Budget
    estimate: Estimate
    expected: float = 0  # tokens of the instructions that the budget counts already
    mode: ContextMode = ContextMode.DIRECT
    instructions: Instructions | None = None
    added: str = ""
    mask: Mask | None = None

    home: HomeSnapshot
    home_map: HomeMap = field(default_factory=lambda: HomeMap(""))
    home_text: str = ""  # the home map with the states of the baseline; empty: as it stands in `home_map`
    baseline: Baseline | None = None

    rounds: Sequence[Round] = ()
    """What may be sent of the conversation, oldest first; the last one is the new message."""
    begins: bool = True
    history_messages: int = 0
    head: TurnPart | None = None
    """What the model has read before the message was said: it stays as it is, what is new is said after it."""
    is_order: bool = False  # whether something is to be done: how the things are need not be told again then

    clock: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Date, language, user, area, what waits, and the summary of what is not sent any more; an empty one is told where it was not."""
    states: Mapping[str, State] = field(default_factory=dict)
    told_recently: bool = False
    """Whether states that the message is not about were told too short a time ago to be told again."""
    selection: Selection | None = None  # which entities are listed; None: none beyond those of the baseline
    listed: Mapping[str, KnownState] = field(default_factory=dict)
    found: Sequence[HomeEntity] = ()
    blocks: Mapping[str, Block] = field(default_factory=dict)
    rows: Rows = ()
    """The entities and attributes that the owner chose; empty: those that are exposed, and what matters for each domain."""
    context_format: str = "json"
    knows: Callable[[str], bool] | None = None
    """Whether an entity may be named in the attributes of another one; None: none may."""
    introduce: Callable[[str], str]  # returns name and area of an entity as far as its id does not say them
    taints_of: TaintsOf = taints_of_outsiders

    @property
    def room(self) -> int:
        """Tokens for rounds and turn parts: what instructions, home map and baseline leave."""
        text = self.instructions.text if self.instructions else ""
        beyond = self.estimate(f"{text}{self.added}") - self.expected - SPARE_TOKENS
        filled_in = max(0, math.ceil(beyond / FIXED_STEP)) * FIXED_STEP
        told = self.baseline.tokens if self.baseline else 0
        return self.budget.prompt - self.home_map.tokens - told - filled_in

    @property
    def turn_room(self) -> int:
        """The same, less what a long message takes."""
        said = self.rounds[-1].question.content if self.rounds else ""
        return self.room - max(0, self.estimate(said) - SPARE_TOKENS)

    @property
    def states_room(self) -> int:
        """Tokens for states that are listed in a first turn part."""
        return max(0, min(self.budget.states, self.turn_room - self.budget.kept))

    @property
    def blocks_room(self) -> int:
        """Tokens for passages, memories and events."""
        return max(0, min(self.budget.blocks, self.turn_room))


@dataclass(slots=True)
class OmittedStates:
    """What there was no room for."""

    states: int = 0
    changes: int = 0
    attributes: bool = False
    full_tokens: int = 0  # what the states would have taken, about; 0: nothing was left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What stands where in a prompt."""

    inputs: Inputs
    system: str
    rounds: Sequence[Round]
    """Those that are sent, oldest first; each stands as it was sent before. The last one is the new message."""
    part: TurnPart
    part_tokens: int
    states_told: bool = False
    taints: frozenset[str] = frozenset()
    dropped: Sequence[Round] = ()
    dropped_tokens: int = 0
    left_out: OmittedStates = field(default_factory=OmittedStates)


def layout(inputs: Inputs) -> Layout:
    """Return what stands where; about half of the rounds are dropped at once, so that the model's cache holds again."""
    estimate, budget, room = inputs.estimate, inputs.budget, inputs.turn_room
    sizes = [size_of(one, estimate) for one in inputs.rounds[:-1]]
    head, drop, sure = inputs.head, 0, _sure(inputs)
    while True:
        drop += _too_many(inputs, sizes[drop:], sure)
        sent, before = inputs.rounds[drop:], sum(size.tokens for size in sizes[drop:])
        known = known_from(sent, inputs.baseline, inputs.instructions)
        if head is not None:
            known = replace(known, entities={**known.entities, **head.told}, facts={**known.facts, **head.facts})
        later = max(0, min(budget.found_later, room - before))
        rooms = replace(budget, found=min(budget.found, inputs.states_room), found_later=later)
        states = _States(inputs, known, rooms, retells=head is None and not inputs.is_order)
        part = _turn_part(inputs, known, states, head)
        needs = estimate(part.text)
        if not before or needs <= max(sure, room - before):
            break
        sure, head = (needs if sure + needs < room else room), None
    return Layout(
        inputs=inputs,
        system=system_message(inputs),
        rounds=sent,
        part=part,
        part_tokens=needs,
        states_told=states.due,
        taints=states.taints,
        dropped=inputs.rounds[:drop],
        dropped_tokens=sum(size.tokens for size in sizes[:drop]),
        left_out=states.left_out,
    )


def first_rounds(inputs: Inputs) -> Sequence[Round]:
    """Return the rounds that are sent if the new part needs no more room than it is sure of."""
    sizes = [size_of(one, inputs.estimate) for one in inputs.rounds[:-1]]
    return inputs.rounds[_too_many(inputs, sizes, _sure(inputs)) :]


def _sure(inputs: Inputs) -> int:
    """Return the tokens that a new part has in any case."""
    return inputs.budget.found_later if inputs.mode is ContextMode.RETRIEVED else LEAST_TOKENS


def _too_many(inputs: Inputs, sizes: Sequence[Size], sure: int) -> int:
    """Return how many of the oldest rounds go, where the new part takes `sure` tokens."""
    history = inputs.budget.history
    earlier = max(0, inputs.turn_room - sure) if history else 0
    return rounds_to_drop(sizes, Size(inputs.history_messages, min(history, earlier), earlier))


def system_message(inputs: Inputs) -> str:
    """Return instructions, home map with the baseline, and what the caller of Assist added; the same bytes every turn."""
    parts = [inputs.instructions.text if inputs.instructions else ""]
    if inputs.home_map.text:
        parts.append(f"{HOME_HEADING}\n\n{inputs.home_text or inputs.home_map.text}")
        if (baseline := inputs.baseline) is not None and baseline.text:
            text = baseline.text if inputs.mask is None else masked_part(baseline.text, inputs.mask)
            parts.append(f"{STATES_IN_MAP_HEADING if baseline.home_map else STATES_HEADING}\n\n{text}")
    if inputs.added:
        parts.append(inputs.added)
    return "\n\n".join(parts)


def states_in_instructions(inputs: Inputs) -> tuple[str, Mapping[str, KnownState], frozenset[str]]:
    """Return the states for a place in the instructions: as text, as the model knows them, and the taints by what others wrote."""
    states = _States(inputs, KnownStates(), inputs.budget, retells=True)
    return render_states(states.rendered), states.told, states.taints


# Which rounds are sent.


class Size(NamedTuple):
    """How large a round is, or how large rounds may be."""

    messages: int  # what was said: user messages and answers in words; tool calls travel with their round
    words: int
    tokens: int  # the same with the turn part, which has a share of its own


def size_of(one: Round, estimate: Estimate) -> Size:
    """Return how large a round is."""
    messages, words = 1, estimate(one.question.content)
    for item in one.answers:
        if isinstance(item, ToolResultContent):
            words += estimate(str(item.result.data))
        elif isinstance(item, AssistantContent):
            if item.content:
                messages += 1
                words += estimate(item.content)
            words += sum((TOOL_CALL_CHARS + len(str(call.tool_args))) // 4 for call in item.tool_calls or ())
    return Size(messages, words, words + (estimate(one.part.text) if one.part else 0))


def rounds_to_drop(sizes: Sequence[Size], limits: Size) -> int:
    """Return how many of the oldest rounds go, given the size of each: none while all together are within the limits."""

    def passes(rest: Sequence[Size], limits: Size) -> bool:
        return any(sum(column) > most for column, most in zip(zip(*rest, strict=True), limits, strict=False))

    if not passes(sizes, limits):
        return 0
    messages = min(limits.messages, max(2, int(limits.messages * TRIM_TO)))
    kept = Size(messages, int(limits.words * TRIM_TO), int(limits.tokens * TRIM_TO))
    return next((drop for drop in range(len(sizes)) if not passes(sizes[drop:], kept)), len(sizes))


def known_from(rounds: Iterable[Round], baseline: Baseline | None, instructions: Instructions | None) -> KnownStates:
    """Return what a model knows from the baseline, the instructions and these rounds."""
    long_ago = baseline.told if baseline else {}
    told = {**long_ago, **(instructions.told if instructions else {})}
    facts = dict(baseline.facts) if baseline else {}
    items: set[str] = set()
    for one in rounds:
        if one.part is not None:
            for entity_id in one.part.told:
                told.pop(entity_id, None)
            told |= one.part.told
            facts |= one.part.facts
            items.update(one.part.items)
    return KnownStates(told, facts, frozenset(items), long_ago)


# What is told with a message.


def _turn_part(inputs: Inputs, known: KnownStates, states: _States, head: TurnPart | None) -> TurnPart:
    """Return the part that rides on a user message. It is never changed once it was sent."""
    facts = {key: value for key, value in inputs.facts.items() if known.facts.get(key, "") != value}
    blocks = inputs.blocks and new_blocks(inputs.blocks, known.items, inputs.blocks_room, inputs.estimate)
    left_out, rendered = states.left_out, states.rendered
    text = render_turn_part(
        time="" if head is not None and f'"time":"{inputs.clock}"' in head.text else inputs.clock,
        facts=facts,
        states=rendered,
        left_out={"states_not_listed": left_out.states, "changes_not_listed": left_out.changes},
        sections={name: (block.heading, [item.data for item in block.items]) for name, block in blocks.items()},
    )
    items = keys_of(blocks) if blocks else ()
    if head is None:
        return TurnPart(text=text, told=states.told, facts=facts, items=items)
    says_more = facts or rendered or blocks or left_out.states or left_out.changes
    return TurnPart(
        text=f"{head.text}{BETWEEN_PARTS}{text}" if says_more else head.text,
        told={**head.told, **states.told},
        facts={**head.facts, **facts},
        items=items,
    )


class _States:
    """The states of one turn part: what is gone, what is listed, what the request is about, and what changed of all that."""

    def __init__(self, inputs: Inputs, known: KnownStates, budget: Budget, *, retells: bool) -> None:
        """Choose them. `retells`: the best of what is asked for is told also where it is as the baseline says."""
        self._inputs = inputs
        self._known = known.entities
        self._long_ago = known.long_ago
        self._again: set[str] = set()
        """What is told although it reads the same: the model knows it from long ago, and the request is about it."""
        self.told: dict[str, KnownState] = {}
        self.lines: dict[str, str] = {}
        """The text of each entity that reads differently from what the model knew, by id."""
        self.left_out = OmittedStates()
        self.due = False
        if inputs.mode is not ContextMode.OFF:
            self.due = not (self._known and inputs.told_recently)
            self._choose(budget, retells=retells)
        rows = inputs.rows
        self.taints = frozenset(
            taint
            for entity_id in self.lines
            if (state := self.told[entity_id].state) is not None and (rows or is_prose(state.state))
            for taint in inputs.taints_of(state, attributes_of(entity_id, rows))
        )
        """Entities of which people outside the home may have written what is told; of what the owner chose, titles may be."""

    @property
    def rendered(self) -> JsonValueType:
        """The states in the profile's context format."""
        inputs = self._inputs
        new = () if inputs.home_map.full else self.lines.keys() - self._known.keys()
        return rendered(self.lines, inputs.home, inputs.context_format, {key: inputs.introduce(key) for key in new})

    def _choose(self, budget: Budget, *, retells: bool) -> None:
        inputs, known, left_out = self._inputs, self._known, self.left_out
        entities, looks_up, baseline = inputs.home.entities, inputs.mode.looks_up, inputs.baseline
        if self.due:
            gone = [key for key, before in known.items() if before.state is not None and key not in entities]
            self.told |= dict.fromkeys(gone, KnownState(GONE, None))
            self.lines |= dict.fromkeys(gone, GONE)
            if baseline is not None:
                left_out.changes = self._add_since(baseline, max(CHANGES_TOKENS, inputs.turn_room - LEAST_TOKENS))
                left_out.states = 0 if not inputs.begins or looks_up else baseline.left_out
                left_out.full_tokens = baseline.full_tokens
            if (selection := inputs.selection) is not None:
                listed = list(inputs.listed.items())
                left_out.attributes = not selection.detailed
                if known and not looks_up:
                    before = [entities[entity_id] for entity_id in known if entity_id in entities]
                    listed += [(one.entity_id, now) for one, now in self._described(before, detailed=False)]
                for entity_id, now in listed:
                    if entity_id not in self.told and (
                        entity_id not in known or known[entity_id].state is not now.state
                    ):
                        self._add(entity_id, now)
                if selection.left_out:
                    left_out.states = 0 if known or looks_up else selection.left_out
                    left_out.full_tokens = selection.full_tokens
        if looks_up or inputs.found:
            room = budget.found_later if known else budget.found
            before_found = len(self.lines)
            left_out.states += self._add_found(room, retells=retells)
            if self.due and baseline is None:
                lines = list(self.lines.items())[before_found:]
                spent = inputs.estimate("".join(f"{text}{key}" for key, text in lines))
                left_out.changes = self._add_changed(max(room - spent, min(room, CHANGES_TOKENS)))

    def _described(
        self, entities: Iterable[HomeEntity], chosen: Attributes | None = None, *, detailed: bool
    ) -> list[tuple[HomeEntity, KnownState]]:
        states, knows = self._inputs.states, self._inputs.knows
        return list(described(states.get, entities, chosen or {}, detailed=detailed, knows=knows))

    def _add(self, entity_id: str, now: KnownState, *, anyway: bool = False) -> None:
        """Take an entity in; it is written down if it reads differently from what the model knew."""
        self.told[entity_id] = now
        before = self._known.get(entity_id)
        if before is None or before.text != now.text or anyway:
            self.lines[entity_id] = now.text

    def _add_since(self, baseline: Baseline, budget: int) -> int:
        """Add what changed: of the baseline only states, of what was told in the conversation the attributes, too.

        If not all fits, the newest changes do. Return how many are left out: the model knows them as they were.
        """
        entities, states = self._inputs.home.entities, self._inputs.states
        briefly: list[HomeEntity] = []
        in_detail: list[HomeEntity] = []
        for entity_id, before in self._known.items():
            if before.state is None or entity_id not in entities or (state := states.get(entity_id)) is None:
                continue
            from_baseline = baseline.told.get(entity_id) is before
            if state is not before.state and (state.state != before.state.state or not from_baseline):
                is_brief = from_baseline or "=" not in before.text
                (briefly if is_brief else in_detail).append(entities[entity_id])
        changed = self._described(briefly, baseline.attributes, detailed=False)
        changed += self._described(in_detail, baseline.attributes, detailed=True)
        sizes = [self._tokens(*item) for item in changed] if len(changed) > ASKED else []
        fitting = len(changed)
        if sum(sizes) > budget:
            by_age = sorted(zip(changed, sizes, strict=True), key=_changed_at, reverse=True)
            changed = [item for item, _ in by_age]
            fitting = sum(spent <= budget for spent in accumulate(size for _, size in by_age))
        for entity, now in changed[:fitting]:
            self._add(entity.entity_id, now)
        return len(changed) - fitting

    def _add_found(self, budget: int, *, retells: bool) -> int:
        """Add what the request is about, changes first; return how many are left out. If not all fits, only the best have attributes."""
        known, long_ago, found = self._known, self._long_ago, self._inputs.found
        self._again.update(
            entity_id
            for entity in (found[:ASKED] if retells else ())
            if (entity_id := entity.entity_id) in long_ago and known.get(entity_id) is long_ago[entity_id]
        )
        new = self._new(found, detailed=True)
        new.sort(key=lambda item: item[0].entity_id not in known)
        # so few always have room
        sizes = [self._tokens(*item) for item in new] if len(new) > ASKED else [0] * len(new)
        if sum(sizes) > budget:
            new[DETAILED:] = self._new([entity for entity, _ in new[DETAILED:]], detailed=False)
            sizes = [self._tokens(*item) for item in new]
        for number, ((entity, now), size) in enumerate(zip(new, sizes, strict=True)):
            budget -= size
            if budget < 0 and entity.entity_id not in known:
                return len(new) - number
            self._add(entity.entity_id, now, anyway=entity.entity_id in self._again)
        return 0

    def _add_changed(self, budget: int) -> int:
        """Add what changed of what the model knows, newest first; return how many are left out."""
        known, entities = self._known, self._inputs.home.entities
        left_out = 0
        newest = [entities[entity_id] for entity_id in reversed(list(known)) if entity_id in entities]
        for entity, now in self._new(newest, detailed=True):
            if now.text != known[entity.entity_id].text:
                budget -= self._tokens(entity, now)
                if budget < 0:
                    left_out += 1
                    continue
            self._add(entity.entity_id, now)
        return left_out

    def _new(self, entities: Iterable[HomeEntity], *, detailed: bool) -> list[tuple[HomeEntity, KnownState]]:
        """Return the entities whose state the model does not know, with the attributes that the owner chose."""
        known, states, rows = self._known, self._inputs.states, self._inputs.rows
        new = [
            entity
            for entity in entities
            if (entity_id := entity.entity_id) not in self.told
            and (
                (before := known.get(entity_id)) is None
                or before.state is not states.get(entity_id)
                or entity_id in self._again
            )
        ]
        chosen = {one.entity_id: attributes_of(one.entity_id, rows) for one in (new if rows else ())}
        return self._described(new, chosen, detailed=detailed)

    def _tokens(self, entity: HomeEntity, now: KnownState) -> int:
        entity_id = entity.entity_id
        introduced = not self._inputs.home_map.full and entity_id not in self._known
        note = self._inputs.introduce(entity_id) if introduced else ""
        return self._inputs.estimate(f'"{entity_id}":"{now.text} ({note})",')


def _changed_at(item: tuple[tuple[HomeEntity, KnownState], int]) -> float:
    state = item[0][1].state
    return state.last_changed_timestamp if state is not None else 0.0


def described(
    state_of: Callable[[str], State | None],
    entities: Iterable[HomeEntity],
    attributes: Attributes,
    *,
    detailed: bool,
    knows: Callable[[str], bool] | None,
) -> Iterator[tuple[HomeEntity, KnownState]]:
    """Yield the entities that have a state, each as the model knows it afterwards."""
    for entity in entities:
        if (state := state_of(entity.entity_id)) is not None:
            text = describe(state, attributes.get(entity.entity_id, ()), detailed=detailed, knows=knows)
            yield entity, KnownState(text, state)


def attributes_of(entity_id: str, rows: Rows) -> tuple[str, ...]:
    """Return the attributes that the owner chose for an entity: those of the last pattern that matches."""
    return next((names for pattern, names in reversed(rows) if fnmatchcase(entity_id, pattern)), ())


def rendered(
    lines: Mapping[str, str], home: HomeSnapshot, context_format: str, notes: Mapping[str, str]
) -> JsonValueType:
    """Return lines in a profile's context format: JSON with notes, sentences, or JSON with names and areas (`hybrid`)."""
    if context_format == "json":
        return {key: f"{text} ({note})" if (note := notes.get(key)) else text for key, text in lines.items()}
    sentences: list[JsonValueType] = []
    by_id: dict[str, JsonValueType] = {}
    for entity_id, text in lines.items():
        entity = home.entities.get(entity_id)
        name = entity.names[0] if entity else entity_id
        area = home.areas.get(entity.area_id) if entity and entity.area_id else None
        if context_format == "hybrid":
            by_id[entity_id] = f"{text} ({name}, {area.names[0]})" if area else f"{text} ({name})"
        else:
            where = f" in {area.names[0]}" if area else ""
            what = text.replace(" ", ", ", 1) if "=" in text else text
            sentences.append(f"{name}{where} ({entity_id}) is {what}.")
    return by_id if context_format == "hybrid" else sentences
