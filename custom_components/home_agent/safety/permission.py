"""Who may touch what: exposure of the entity and permission of the user, both as they are at this moment."""

from collections.abc import Iterable

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL, POLICY_READ
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.core import HomeAssistant

from ..const import ASSISTANT
from ..errors import ToolError
from .plan import ActionClass, Plan


def is_exposed(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether an entity exists and the owner exposed it; both have to hold, and only both are told."""
    return hass.states.get(entity_id) is not None and async_should_expose(hass, ASSISTANT, entity_id)


def check_permission(hass: HomeAssistant, user: User | None, plan: Plan) -> None:
    """Raise `ToolError` unless every target is exposed and the user may read or control it.

    An entity that is not exposed gives the same answer as one that does not exist.
    """
    for entity_id in _targets(plan):
        if not is_exposed(hass, entity_id):
            raise ToolError("entity_not_found", target=entity_id)
        needed = POLICY_READ if plan.action is ActionClass.READ else POLICY_CONTROL
        if user is not None and not user.permissions.check_entity(entity_id, needed):
            raise ToolError("not_allowed", target=entity_id)


def _targets(plan: Plan) -> Iterable[str]:
    return dict.fromkeys((*plan.targets, *(entity_id for call in plan.calls for entity_id in call.entity_ids)))
