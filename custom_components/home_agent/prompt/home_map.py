"""The home map: the catalogue of the home in the stable part of the prompt. Names, areas and ids, with or without states.

One line of JSON per area, so that a name can never end its line and read as an instruction. If the catalogue would pass
its share of the budget, it says less: per area how many entities of which kind, then the names of the areas by floor, then
floors, then the home.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from homeassistant.util import slugify
from homeassistant.util.json import JsonObjectType, JsonValueType

from ..home.snapshot import HomeArea, HomeEntity, HomeSnapshot
from ..support.bounds import in_slices
from ..support.encoding import inert_json
from ..transcript.turn_part import render_states

NAME_SEPARATOR = " | "
_NO_STATES: Mapping[str, str] = {}

type ByArea = Mapping[str | None, list[HomeEntity]]
type Line = tuple[JsonObjectType, int]
"""What a line says, and of how many entities."""


@dataclass(frozen=True, slots=True)
class HomeMap:
    """The map as it is sent."""

    text: str
    full: bool = True  # whether each entity is named in it
    tokens: int = 0
    full_tokens: int = 0  # what naming each entity takes, or would take (then about)


async def async_home_map(snapshot: HomeSnapshot, budget: int, estimate: Callable[[str], int]) -> HomeMap:
    """Return the map with as much detail as fits `budget` tokens; the least of it is sent in any case."""
    by_area = await _async_by_area(snapshot)
    text, tokens, named = await _async_lines(_areas(snapshot, by_area, names=True), budget, estimate)
    if text is not None:
        return HomeMap(text, tokens=tokens, full_tokens=tokens)
    full_tokens = tokens * len(snapshot.entities) // max(1, named)
    for lines in (
        _areas(snapshot, by_area, names=False),
        _floors(snapshot, by_area, names=True),
        _floors(snapshot, by_area),
    ):
        text, tokens, _ = await _async_lines(lines, budget, estimate)
        if text is not None:
            return HomeMap(text, False, tokens, full_tokens)
    text = inert_json(_count(snapshot.entities.values()))
    return HomeMap(text, False, estimate(text), full_tokens)


async def async_with_states(snapshot: HomeSnapshot, states: Mapping[str, str]) -> str:
    """Return the map that names each entity, with the states that are given by entity id."""
    lines = _areas(snapshot, await _async_by_area(snapshot), names=True, states=states)
    return "\n".join([render_states(line) async for line, _ in lines])


async def _async_by_area(snapshot: HomeSnapshot) -> ByArea:
    by_area: dict[str | None, list[HomeEntity]] = {area_id: [] for area_id in snapshot.areas}
    async for entity in in_slices(snapshot.entities.values()):
        by_area.setdefault(entity.area_id if entity.area_id in snapshot.areas else None, []).append(entity)
    return by_area


async def _async_lines(
    lines: AsyncGenerator[Line], budget: int, estimate: Callable[[str], int]
) -> tuple[str | None, int, int]:
    """Return the lines as text, None as soon as they pass the budget; with their tokens and the number of entities."""
    texts: list[str] = []
    spent = entities = 0
    async with aclosing(lines):
        async for data, count in lines:
            text = inert_json(data)
            spent += estimate(text)
            entities += count
            texts.append(text)
            if spent > budget:
                return None, spent, entities
    return "\n".join(texts), spent, entities


async def _areas(
    snapshot: HomeSnapshot, by_area: ByArea, *, names: bool, states: Mapping[str, str] = _NO_STATES
) -> AsyncGenerator[Line]:
    """Yield a line per area that names its entities (`entity_id = name | alias`) with their states, or counts them."""
    async for area_id, entities in in_slices(by_area.items()):
        if not entities:
            continue
        line: JsonObjectType = {"area": None}
        if area_id is not None:
            area = snapshot.areas[area_id]
            line = {"area": NAME_SEPARATOR.join(area.names)}
            if area.floor_names:
                line["floor"] = NAME_SEPARATOR.join(area.floor_names)
        if names:
            named = {
                item.entity_id: item.entity_id
                if says_its_name(item)
                else f"{item.entity_id} = {NAME_SEPARATOR.join(item.names)}"
                for item in entities
            }
            if told := {name: states[entity_id] for entity_id, name in named.items() if entity_id in states}:
                line["states"] = dict[str, JsonValueType](told)
            if len(told) < len(named):
                line["entities"] = [name for entity_id, name in named.items() if entity_id not in states]
        yield line if names else line | _count(entities), len(entities)


async def _floors(snapshot: HomeSnapshot, by_area: ByArea, *, names: bool = False) -> AsyncGenerator[Line]:
    """Yield a line per floor with its areas, by name or counted, and one for what is in no area."""
    floors: dict[tuple[str, ...], list[HomeArea]] = {}
    for area_id in by_area:
        if area_id and by_area[area_id]:
            area = snapshot.areas[area_id]
            floors.setdefault(area.floor_names, []).append(area)
    async for floor_names, areas in in_slices(floors.items()):
        line: JsonObjectType = {"floor": NAME_SEPARATOR.join(floor_names)} if floor_names else {}
        line["areas"] = [area.names[0] for area in areas] if names else len(areas)
        members = [entity for area in areas for entity in by_area[area.area_id]]
        yield line | _count(members), len(members)
    if elsewhere := by_area.get(None):
        yield {"area": None} | _count(elsewhere), len(elsewhere)


def says_its_name(entity: HomeEntity) -> bool:
    """Return whether the id of an entity is its only name."""
    return len(entity.names) == 1 and slugify(entity.names[0]) == entity.entity_id.partition(".")[2]


def _count(entities: Iterable[HomeEntity]) -> JsonObjectType:
    return {"count": dict(sorted(Counter(entity.domain for entity in entities).items()))}
