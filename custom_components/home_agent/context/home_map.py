"""The home map: the catalogue of the home in the stable part of the prompt. Names, areas and ids; no state, no clock.

One line of JSON per area, so that a name can never end its line and read as an instruction. When the catalogue would pass
its share of the budget, it becomes areas with counts per domain; the entities are then found with ha_query.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from homeassistant.util import slugify
from homeassistant.util.json import JsonObjectType

from ..client.wire import dump
from ..home import HomeArea, HomeEntity, HomeSnapshot
from ..slices import in_slices

NAME_SEPARATOR = " | "
MIN_ENTITY_TOKENS = 4  # an entity id alone is longer than this in every tokenizer seen


async def async_home_map(snapshot: HomeSnapshot, budget: int, estimate: Callable[[str], int]) -> str:
    """Return the map, one line per area; at most `budget` tokens, as `estimate` counts them."""
    by_area: dict[str | None, list[HomeEntity]] = {area_id: [] for area_id in snapshot.areas}
    async for entity in in_slices(snapshot.entities.values()):
        by_area.setdefault(entity.area_id if entity.area_id in snapshot.areas else None, []).append(entity)
    if len(snapshot.entities) * MIN_ENTITY_TOKENS <= budget and (
        full := await _async_lines(snapshot, by_area, _entities, budget, estimate)
    ):
        return full
    counts = await _async_lines(snapshot, by_area, _counts, budget, estimate)
    return counts or dump(_counts(snapshot.entities.values())).decode()


async def _async_lines(
    snapshot: HomeSnapshot,
    by_area: Mapping[str | None, list[HomeEntity]],
    content: Callable[[Iterable[HomeEntity]], JsonObjectType],
    budget: int,
    estimate: Callable[[str], int],
) -> str | None:
    """Return the lines, or None as soon as they pass the budget."""
    lines: list[str] = []
    spent = 0
    async for area_id, entities in in_slices(by_area.items()):
        if not entities:
            continue
        line = dump(_heading(snapshot.areas.get(area_id) if area_id else None) | content(entities)).decode()
        spent += estimate(line)
        if spent > budget:
            return None
        lines.append(line)
    return "\n".join(lines)


def _heading(area: HomeArea | None) -> JsonObjectType:
    if area is None:
        return {"area": None}
    heading: JsonObjectType = {"area": NAME_SEPARATOR.join(area.names)}
    if area.floor_names:
        heading["floor"] = NAME_SEPARATOR.join(area.floor_names)
    return heading


def _entities(entities: Iterable[HomeEntity]) -> JsonObjectType:
    return {"entities": [_entity(entity) for entity in entities]}


def _entity(entity: HomeEntity) -> str:
    """Return `entity_id`, or `entity_id = name | alias` where the id does not already say the name."""
    if len(entity.names) == 1 and slugify(entity.names[0]) == entity.entity_id.partition(".")[2]:
        return entity.entity_id
    return f"{entity.entity_id} = {NAME_SEPARATOR.join(entity.names)}"


def _counts(entities: Iterable[HomeEntity]) -> JsonObjectType:
    return {"count": dict(sorted(Counter(entity.domain for entity in entities).items()))}
