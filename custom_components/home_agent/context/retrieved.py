"""What a request seems to be about: asks the finder, and lets only through what this reader may be told now."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ..home import HomeEntity, HomeSnapshot
from ..retrieval.base import Finder, Query
from ..retrieval.relevance import relevant
from ..turn import Turn
from .mode import Mode
from .outages import Outages
from .selection import rows_of

TIMEOUT = 3.0  # seconds; an embedding endpoint may be asked on the way
THE_FINDER = "What a request is about"
MAX_READ = 2_000
"""Characters of a message that are looked up: nobody asks in more, and a pasted book would keep the index busy."""


def _no_habits() -> Mapping[str, float]:
    return {}


@dataclass(slots=True, kw_only=True)
class Lookup:
    """Finds entities; owned by the entry."""

    finder: Finder | None = None
    habits: Callable[[], Mapping[str, float]] = _no_habits
    """How often the household acts on an entity, 0 to 1."""
    _outages: Outages = field(default_factory=Outages)

    async def async_entities(self, query: Query, snapshot: HomeSnapshot) -> list[HomeEntity]:
        """Return the entities that a request is about, best first; those near the asking device when nobody can tell."""
        found = None
        if self.finder is not None:
            found = await self._outages.async_answer(THE_FINDER, TIMEOUT, self.finder.async_find(query))
        if found is None:
            return _near(query, snapshot)
        allowed = query.allowed
        return [
            snapshot.entities[item.entity_id]
            for item in relevant(found)  # more than the limit only for the rest of a group
            if item.entity_id in snapshot.entities and (allowed is None or allowed(item.entity_id))
        ]


def query_for(
    turn: Turn,
    snapshot: HomeSnapshot,
    mode: Mode,
    *,
    spoken_of: Sequence[str],
    previous: str,
    habits: Mapping[str, float],
) -> Query:
    """Return what is looked for, and what is known about who asks."""
    return Query(
        text=turn.text[:MAX_READ],
        language=turn.language,
        area_id=turn.area_id,
        spoken_of=tuple(entity_id for entity_id in spoken_of if entity_id in snapshot.entities),
        previous=previous[:MAX_READ],
        habits=habits,
        allowed=_allowed(turn, snapshot, mode),
        limit=turn.profile.context_max_entities,
    )


def _allowed(turn: Turn, snapshot: HomeSnapshot, mode: Mode) -> Callable[[str], bool]:
    """Return whether an entity may be found: it is in the reader's view of the home, and on the list if there is one.

    In the mode `both` the owner's list is what is told anyway, so it does not limit what is found.
    """
    entities = snapshot.entities
    rows = rows_of(turn)
    if not rows or (mode is Mode.BOTH and turn.context_entities is None):
        return entities.__contains__
    patterns = [pattern for pattern, _ in rows]

    def is_listed(entity_id: str) -> bool:
        return entity_id in entities and any(fnmatchcase(entity_id, pattern) for pattern in patterns)

    return is_listed


def _near(query: Query, snapshot: HomeSnapshot) -> list[HomeEntity]:
    """Return what was spoken of, then what is in the area of the asking device."""
    spoken_of = [snapshot.entities[entity_id] for entity_id in query.spoken_of if entity_id in snapshot.entities]
    here = [entity for entity in snapshot.entities.values() if query.area_id and entity.area_id == query.area_id]
    near = {entity.entity_id: entity for entity in (*spoken_of, *here)}
    return [entity for entity_id, entity in near.items() if query.allowed is None or query.allowed(entity_id)][
        : query.limit
    ]
