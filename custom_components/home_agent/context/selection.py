"""Which entities are told without being asked for, and how much of each: all with attributes, else all without, else some."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from homeassistant.core import HomeAssistant, State
from homeassistant.util import slugify

from ..home import HomeEntity, HomeSnapshot
from ..slices import in_slices
from ..turn import Turn
from .describe import describe
from .home_map import NAME_SEPARATOR, says_its_name

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
    tokens: int = 0
    """Of the lines, when it was chosen."""

    @property
    def full_tokens(self) -> int:
        """What everything would take, with what is left out; about."""
        return self.tokens * (len(self.entities) + self.left_out) // max(1, len(self.entities))


class Descriptions:
    """Entities as they are told; a new conversation tells the same states again, described only once."""

    def __init__(self) -> None:
        """Start with none."""
        self._described: dict[tuple[str, bool], Told] = {}

    def of(self, state: State, attributes: tuple[str, ...] = (), *, detailed: bool = True) -> Told:
        """Return an entity as it is told; the same object while its state is the same."""
        if attributes:
            return Told(describe(state, attributes, detailed=detailed), state)
        key = (state.entity_id, detailed)
        if (told := self._described.get(key)) is None or told.state is not state:
            told = self._described[key] = Told(describe(state, detailed=detailed), state)
        return told


async def async_select(
    hass: HomeAssistant,
    turn: Turn,
    snapshot: HomeSnapshot,
    descriptions: Descriptions,
    budget: int,
    estimate: Callable[[str], int],
    *,
    names: bool = False,
) -> Selection:
    """Return what a turn tells of the home; `budget` is in tokens. `names`: each entity is introduced, which takes room."""
    entities, attributes = await _async_candidates(turn, snapshot)
    full = 0
    if len(entities) * SHORT_LINE <= budget * MAX_CHARS_PER_TOKEN:
        everything = Selection(entities, attributes)
        lines = await _async_lines(hass, snapshot, descriptions, everything, budget, names=names)
        full = estimate(",".join(lines.values()))
        if full <= budget:
            return Selection(entities, attributes, tokens=full)
    short = Selection(entities, attributes, detailed=False)
    lines = await _async_lines(hass, snapshot, descriptions, short, budget, names=names)
    tokens = estimate(",".join(lines.values()))
    fitting = len(lines) if tokens <= budget else len(lines) * budget // tokens
    selected = [snapshot.entities[entity_id] for entity_id in list(lines)[:fitting]]
    spent = tokens * fitting // max(1, len(lines))
    return Selection(selected, attributes, detailed=False, left_out=len(entities) - len(selected), tokens=spent)


def rows_of(turn: Turn) -> list[tuple[str, tuple[str, ...]]]:
    """Return the owner's list, or that of this request instead: patterns with attributes. Empty: everything."""
    if turn.context_entities is not None:
        return [(pattern, ()) for pattern in turn.context_entities]
    return [(row.pattern, row.attributes) for row in turn.profile.context_entities]


def attributes_of(turn: Turn, entity_id: str) -> tuple[str, ...]:
    """Return the attributes that the owner wants told of an entity; empty: those that matter for its domain."""
    return next((names for pattern, names in reversed(rows_of(turn)) if fnmatchcase(entity_id, pattern)), ())


def what_the_id_does_not_say(entity: HomeEntity, area: str | None) -> str:
    """Return name, other names and area of an entity, as far as its id does not contain them."""
    object_id = entity.entity_id.partition(".")[2]
    words = [] if says_its_name(entity) else [NAME_SEPARATOR.join(entity.names)]
    if area and slugify(area) not in object_id:
        words.append(area)
    return ", ".join(words)


def area_of(snapshot: HomeSnapshot, entity: HomeEntity) -> str | None:
    """Return the name of an entity's area."""
    area = snapshot.areas.get(entity.area_id) if entity.area_id else None
    return area.names[0] if area else None


async def _async_lines(
    hass: HomeAssistant,
    snapshot: HomeSnapshot,
    descriptions: Descriptions,
    selection: Selection,
    budget: int,
    *,
    names: bool,
) -> dict[str, str]:
    """Return the lines by entity id, until they are longer than the budget can be."""
    lines: dict[str, str] = {}
    room = budget * MAX_CHARS_PER_TOKEN
    async for entity in in_slices(selection.entities):
        entity_id = entity.entity_id
        if (state := hass.states.get(entity_id)) is None:
            continue
        told = descriptions.of(state, selection.attributes.get(entity_id, ()), detailed=selection.detailed)
        note = what_the_id_does_not_say(entity, area_of(snapshot, entity)) if names else ""
        line = lines[entity_id] = f'"{entity_id}":"{told.text} ({note})"' if note else f'"{entity_id}":"{told.text}"'
        room -= len(line)
        if room < 0:
            break
    return lines


async def _async_candidates(turn: Turn, snapshot: HomeSnapshot) -> tuple[list[HomeEntity], Choice]:
    """Return the entities in the order of their use, and the attributes that the owner chose."""
    rows = rows_of(turn)
    if not rows:
        return _nearest_first(list(snapshot.entities.values()), turn.area_id), {}
    entities: list[HomeEntity] = []
    attributes: Choice = {}
    async for entity in in_slices(snapshot.entities.values()):
        matching = [names for pattern, names in rows if fnmatchcase(entity.entity_id, pattern)]
        if matching:
            entities.append(entity)
            attributes[entity.entity_id] = matching[-1]
    return _nearest_first(entities, turn.area_id), attributes


def _nearest_first(entities: list[HomeEntity], area_id: str | None) -> list[HomeEntity]:
    """Put the area of the asking device first: where not everything fits, it is what matters."""
    return sorted(entities, key=lambda entity: entity.area_id != area_id) if area_id else entities
