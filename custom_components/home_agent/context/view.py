"""The home as one reader may see it, and what was made of it: kept as long as the home stays as it is."""

from collections.abc import Callable
from dataclasses import dataclass, field

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_READ

from ..home import HomeSnapshot
from ..slices import in_slices
from .home_map import HomeMap, async_home_map
from .selection import Descriptions, Selection


@dataclass(slots=True, kw_only=True)
class View:
    """What a reader may see."""

    snapshot: HomeSnapshot
    base: HomeSnapshot
    """The whole home it was taken from."""
    permissions: object = None
    """Those it was made with; None: everything may be read."""
    maps: dict[int, HomeMap] = field(default_factory=dict)
    """By budget."""
    selections: dict[tuple[object, ...], Selection] = field(default_factory=dict)
    descriptions: Descriptions = field(default_factory=Descriptions)
    notes: dict[str, str] = field(default_factory=dict)
    """What introduces an entity, by its id."""

    async def async_map(self, budget: int, estimate: Callable[[str], int]) -> HomeMap:
        """Return the home map; the same one for the same budget."""
        if (kept := self.maps.get(budget)) is None:
            kept = self.maps[budget] = await async_home_map(self.snapshot, budget, estimate)
        return kept


class Views:
    """One view for all who may read everything, and one for each other user."""

    def __init__(self) -> None:
        """Start with none."""
        self._views: dict[str | None, View] = {}

    async def async_of(self, snapshot: HomeSnapshot, user: User | None) -> View:
        """Return what somebody may see of the home; `user` is None where nobody is known and exposure alone decides."""
        restricted = user if user and not user.permissions.access_all_entities(POLICY_READ) else None
        key, permissions = (restricted.id, restricted.permissions) if restricted else (None, None)
        view = self._views.get(key)
        if view is None or view.base is not snapshot or view.permissions is not permissions:
            seen = await _async_readable(snapshot, restricted) if restricted else snapshot
            view = self._views[key] = View(snapshot=seen, base=snapshot, permissions=permissions)
        return view


async def _async_readable(snapshot: HomeSnapshot, user: User) -> HomeSnapshot:
    may_read = user.permissions.check_entity
    entities = {
        entity_id: entity
        async for entity_id, entity in in_slices(snapshot.entities.items())
        if may_read(entity_id, POLICY_READ)
    }
    return HomeSnapshot(entities, snapshot.areas)
