"""Exposure: entities that are exposed to assistants, and of these only those on the owner's list, if it has entries.

Home Assistant has one exposure for all assistants. The list makes ours smaller, never larger, and so do an agent's settings:
while one of its turns is running, the home is the part that the agent knows.
"""

from collections.abc import Iterable, Iterator
import fnmatch
from functools import lru_cache
import re

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL, POLICY_READ
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.util.hass_dict import HassKey

from ..settings.profile import Narrowing
from ..support.bounds import in_slices
from ..support.const import ASSISTANT, DOMAIN
from ..support.errors import ToolError, ToolPermissionError
from ..turn.plan import ActionClass, Plan
from ..turn.turn import current_turn

FEW = 20  # targets that are checked at once
_WILD = re.compile(r"[*?]")
_SCRIPT_TOOL = "script__"
"""Prefix of a script's tool, which stands for the script itself."""


class Names:
    """A user's list of names: entity ids, domains, services, tools, and patterns with `*` and `?`."""

    def __init__(self, items: Iterable[str]) -> None:
        """Take the items; case and blanks around them are ignored."""
        written = {item.strip().casefold() for item in items} - {""}
        written |= {item.replace(_SCRIPT_TOOL, "script.", 1) for item in written if item.startswith(_SCRIPT_TOOL)}
        wild = sorted(item for item in written if _WILD.search(item))
        self._plain = written.difference(wild)
        self._wild = re.compile("|".join(fnmatch.translate(item) for item in wild)).match if wild else None

    def __contains__(self, name: str) -> bool:
        """Return whether the list has the name, its domain, or a pattern that matches."""
        name = name.casefold()
        if name in self._plain or name.partition(".")[0] in self._plain:
            return True
        return self._wild is not None and self._wild(name) is not None

    def first(self, names: Iterable[str]) -> str | None:
        """Return the first name that is on the list, or None."""
        if not self._plain and self._wild is None:
            return None
        return next((name for name in names if name in self), None)

    def cover(self, names: Iterable[str]) -> bool:
        """Return whether there are names, and all are on the list."""
        candidates = tuple(names)
        return bool(candidates) and all(name in self for name in candidates)


DATA_ALLOWED: HassKey[Names] = HassKey(f"{DOMAIN}_allowed_entities")
"""The owner's list while the entry is loaded; missing if it is empty."""


@callback
def async_narrow(hass: HomeAssistant, names: Iterable[str]) -> CALLBACK_TYPE:
    """Share only entities on this list (ids, domains, patterns) unless it is empty; return a function that undoes it."""
    if names := tuple(names):
        hass.data[DATA_ALLOWED] = Names(names)

    @callback
    def widen() -> None:
        hass.data.pop(DATA_ALLOWED, None)

    return widen


def is_narrowed(hass: HomeAssistant) -> bool:
    """Return whether less is shared than Home Assistant exposes, in general or in the running turn."""
    turn = current_turn.get(None)
    return DATA_ALLOWED in hass.data or (turn is not None and bool(turn.within))


def is_shared_at_all(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether an entity, existing or not, is exposed and on the owner's list, without regard to the running turn."""
    allowed = hass.data.get(DATA_ALLOWED)
    return (allowed is None or entity_id in allowed) and async_should_expose(hass, ASSISTANT, entity_id)


def is_shared(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether an entity, existing or not, is exposed, on the owner's list, and known in the running turn."""
    turn = current_turn.get(None)
    if turn is not None and turn.within and not is_within(hass, entity_id, turn.within):
        return False
    return is_shared_at_all(hass, entity_id)


def is_within(hass: HomeAssistant, entity_id: str, within: Iterable[Narrowing]) -> bool:
    """Return whether an entity is in all of these parts of the home."""
    area_id: str | None = None
    labels: set[str] = set()
    if (entry := er.async_get(hass).async_get(entity_id)) is not None:
        area_id = er.async_get_effective_area_id(hass, entry)
        device = dr.async_get(hass).async_get(entry.device_id) if entry.device_id else None
        area = ar.async_get(hass).async_get_area(area_id) if area_id else None
        labels.update(entry.labels, device.labels if device else (), area.labels if area else ())
    return all(
        (area_id is not None and area_id in part.areas)
        or not part.labels.isdisjoint(labels)
        or entity_id in _listed(part.entities)
        for part in within
    )


@lru_cache(maxsize=256)
def _listed(entities: tuple[str, ...]) -> Names:
    return Names(entities)


def may_tell(hass: HomeAssistant, entity_id: str, user: User | None = None) -> bool:
    """Return whether an id may be named to a user: no entity has it, or the user may know of the entity."""
    exists = hass.states.get(entity_id) is not None or er.async_get(hass).async_get(entity_id) is not None
    return not exists or (is_shared(hass, entity_id) and may_know(hass, user, entity_id))


# Access: exposure of the entity and permission of the user, at the moment of the call.


def is_exposed(hass: HomeAssistant, entity_id: str, user: User | None = None) -> bool:
    """Return whether an entity exists, is shared, and the user may know of it."""
    if hass.states.get(entity_id) is None or not is_shared(hass, entity_id):
        return False
    return user is None or may_know(hass, user, entity_id)


def checks(hass: HomeAssistant, user: User | None, plan: Plan) -> Iterator[None]:
    """Check exposure and permission, one target per step: a plan can have thousands. Raises `ToolError`.

    Entities that are not exposed or hidden from the user give the same error as unknown ones.
    """
    needed = POLICY_READ if plan.action is ActionClass.READ else POLICY_CONTROL
    for entity_id in dict.fromkeys((*plan.targets, *(item for effect in plan.effects for item in effect.entity_ids))):
        if not is_exposed(hass, entity_id, user):
            raise ToolError("entity_not_found", target=entity_id)
        if user is not None and not user.permissions.check_entity(entity_id, needed):
            raise ToolPermissionError(target=entity_id)
        yield


def may_know(hass: HomeAssistant, user: User | None, entity_id: str) -> bool:
    """Return whether a user may see or control a shared entity in the running turn; either one discloses its name."""
    turn = current_turn.get(None)
    if turn is not None and turn.within and not is_within(hass, entity_id, turn.within):
        return False
    return user is None or any(user.permissions.check_entity(entity_id, kind) for kind in (POLICY_READ, POLICY_CONTROL))


def check_permission(hass: HomeAssistant, user: User | None, plan: Plan) -> None:
    """Check every target at once. Raises `ToolError`."""
    for _ in checks(hass, user, plan):
        pass


async def async_check_permission(hass: HomeAssistant, user: User | None, plan: Plan) -> None:
    """Check every target, in slices. Raises `ToolError`."""
    if len(plan.targets) + sum(len(effect.entity_ids) for effect in plan.effects) <= FEW:
        check_permission(hass, user, plan)
        return
    async for _ in in_slices(checks(hass, user, plan)):
        pass
