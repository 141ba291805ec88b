"""Who may touch what: exposure of the entity and permission of the user, both as they are at this moment."""

from collections.abc import Iterator

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL, POLICY_READ
from homeassistant.core import HomeAssistant

from ..errors import ToolError, ToolPermissionError
from ..exposure import is_shared
from ..slices import in_slices
from .plan import ActionClass, Plan


def is_exposed(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether an entity exists and the owner exposed it; both have to hold, and only both are told."""
    return hass.states.get(entity_id) is not None and is_shared(hass, entity_id)


def checks(hass: HomeAssistant, user: User | None, plan: Plan) -> Iterator[None]:
    """Check one target per step: exposed, and the user may read or control it. Raises `ToolError`.

    An entity that is not exposed, or of which the user may know nothing, gives the same answer as one that does not
    exist. In steps, because a plan can have thousands of targets.
    """
    needed = POLICY_READ if plan.action is ActionClass.READ else POLICY_CONTROL
    for entity_id in dict.fromkeys((*plan.targets, *(item for call in plan.calls for item in call.entity_ids))):
        if not is_exposed(hass, entity_id) or not may_know(user, entity_id):
            raise ToolError("entity_not_found", target=entity_id)
        if user is not None and not user.permissions.check_entity(entity_id, needed):
            raise ToolPermissionError(target=entity_id)
        yield


def may_know(user: User | None, entity_id: str) -> bool:
    """Return whether a user may see or control an entity; with either, its name is no secret."""
    return user is None or any(user.permissions.check_entity(entity_id, kind) for kind in (POLICY_READ, POLICY_CONTROL))


def check_permission(hass: HomeAssistant, user: User | None, plan: Plan) -> None:
    """Check every target at once. Raises `ToolError`."""
    for _ in checks(hass, user, plan):
        pass


async def async_check_permission(hass: HomeAssistant, user: User | None, plan: Plan) -> None:
    """Check every target, giving the event loop its turn in between. Raises `ToolError`."""
    async for _ in in_slices(checks(hass, user, plan)):
        pass
