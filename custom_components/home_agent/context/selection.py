"""Which entities are told, and how much of each: all with attributes, else all without, else the most useful ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.core import HomeAssistant, State

from ..home import HomeEntity, HomeSnapshot
from ..slices import in_slices
from ..turn import Turn
from .describe import describe

SHORT_LINE = 25  # characters; most ids and states are longer
MAX_CHARS_PER_TOKEN = 5  # more than any tokenizer gets out of ids and states

type Choice = dict[str, tuple[str, ...]]
"""The owner's choice of attributes per entity id."""


@dataclass(frozen=True, slots=True)
class Told:
    """An entity as the model knows it."""

    text: str
    state: State | None
    """The state object the text was made from; None once the model was told that the entity is gone."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The entities to tell; chosen once and kept until the home changes."""

    entities: Sequence[HomeEntity]
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    detailed: bool = True
    left_out: int = 0


class Selections:
    """Chooses, and remembers choices and descriptions while the home stays the same.

    A new conversation tells the same states again; only what changed in between has to be described anew.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self._snapshot: HomeSnapshot | None = None
        self._chosen: dict[tuple[object, ...], Selection] = {}
        self._described: dict[tuple[str, bool], Told] = {}

    async def async_choose(
        self, hass: HomeAssistant, turn: Turn, snapshot: HomeSnapshot, budget: int, estimate: Callable[[str], int]
    ) -> Selection:
        """Return what this turn may tell; `budget` is in tokens."""
        if self._snapshot is not snapshot:
            self._snapshot, self._chosen, self._described = snapshot, {}, {}
        if turn.context_entities is not None:
            return await self._async_select(hass, turn, snapshot, budget, estimate)
        reader = turn.user.id if turn.user and not turn.user.permissions.access_all_entities(POLICY_READ) else None
        key = (turn.profile.subentry_id, turn.area_id, reader, budget)
        if (selection := self._chosen.get(key)) is None:
            selection = self._chosen[key] = await self._async_select(hass, turn, snapshot, budget, estimate)
        return selection

    def describe(self, state: State, selection: Selection) -> Told:
        """Return an entity as it is told; the same object while its state is the same."""
        if attributes := selection.attributes.get(state.entity_id):
            return Told(describe(state, attributes, detailed=selection.detailed), state)
        key = (state.entity_id, selection.detailed)
        if (told := self._described.get(key)) is None or told.state is not state:
            told = self._described[key] = Told(describe(state, detailed=selection.detailed), state)
        return told

    async def _async_select(
        self, hass: HomeAssistant, turn: Turn, snapshot: HomeSnapshot, budget: int, estimate: Callable[[str], int]
    ) -> Selection:
        entities, attributes = await _async_candidates(turn, snapshot)
        everything = Selection(entities, attributes)
        if len(entities) * SHORT_LINE <= budget * MAX_CHARS_PER_TOKEN:
            lines = await self._async_lines(hass, everything, budget)
            if estimate(",".join(lines.values())) <= budget:
                return everything
        short = Selection(entities, attributes, detailed=False)
        lines = await self._async_lines(hass, short, budget)
        tokens = estimate(",".join(lines.values()))
        fitting = len(lines) if tokens <= budget else len(lines) * budget // tokens
        selected = [snapshot.entities[entity_id] for entity_id in list(lines)[:fitting]]
        return Selection(selected, attributes, detailed=False, left_out=len(entities) - len(selected))

    async def _async_lines(self, hass: HomeAssistant, selection: Selection, budget: int) -> dict[str, str]:
        """Return the lines by entity id, until they are longer than the budget can be."""
        lines: dict[str, str] = {}
        room = budget * MAX_CHARS_PER_TOKEN
        async for entity in in_slices(selection.entities):
            if (state := hass.states.get(entity.entity_id)) is None:
                continue
            line = lines[entity.entity_id] = f'"{entity.entity_id}":"{self.describe(state, selection).text}"'
            room -= len(line)
            if room < 0:
                break
        return lines


async def _async_candidates(turn: Turn, snapshot: HomeSnapshot) -> tuple[list[HomeEntity], Choice]:
    """Return the entities in the order of their use, and the attributes that the owner chose."""
    rows = [(row.pattern, row.attributes) for row in turn.profile.context_entities]
    if turn.context_entities is not None:
        rows = [(pattern, ()) for pattern in turn.context_entities]
    may_read = None
    if turn.user and not turn.user.permissions.access_all_entities(POLICY_READ):
        may_read = turn.user.permissions.check_entity
    if not rows and may_read is None:
        return _nearest_first(list(snapshot.entities.values()), turn.area_id), {}
    entities: list[HomeEntity] = []
    attributes: Choice = {}
    async for entity in in_slices(snapshot.entities.values()):
        if may_read is not None and not may_read(entity.entity_id, POLICY_READ):
            continue
        matching = [names for pattern, names in rows if fnmatchcase(entity.entity_id, pattern)]
        if matching or not rows:
            entities.append(entity)
        if matching:
            attributes[entity.entity_id] = matching[-1]
    return _nearest_first(entities, turn.area_id), attributes


def _nearest_first(entities: list[HomeEntity], area_id: str | None) -> list[HomeEntity]:
    """Put the area of the asking device first: where not everything fits, it is what matters."""
    return sorted(entities, key=lambda entity: entity.area_id != area_id) if area_id else entities
