"""What is behind a group counts, whoever asks for the group: a model, a sentence, a tool of somebody else."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from ..exposure import is_shared
from ..safety.tool import ToolRefusal
from .capabilities import members


class ClosedGroup(ToolRefusal):
    """A group reaches what is not exposed."""

    def __init__(self, entity_id: str) -> None:
        """Keep which one, for the model and for people."""
        super().__init__(f"{entity_id} cannot be controlled as a whole: not everything in it is exposed.")
        self.translation_key = "group_not_exposed"
        self.translation_placeholders = {"target": entity_id}


def reached_members(hass: HomeAssistant, entity_id: str) -> tuple[str, ...]:
    """Return the members of a group that are targets besides it; of what the group hides it stands for them.

    Raises `ClosedGroup` when it reaches anything else that is not exposed.
    """
    reached: list[str] = []
    for member in members(hass, entity_id):
        if is_shared(hass, member):
            reached.append(member)
        elif not _is_hidden_by_group(hass, member):
            raise ClosedGroup(entity_id)
    return tuple(reached)


def is_open(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether everything that an entity reaches may be reached; whoever means many leaves out the others."""
    try:
        reached_members(hass, entity_id)
    except ClosedGroup:
        return False
    return True


def open_members(hass: HomeAssistant, entity_id: str) -> tuple[str, ...]:
    """Return the members of a group for which it does not stand, exposed or not: what is named along with it."""
    return tuple(member for member in members(hass, entity_id) if not _is_hidden_by_group(hass, member))


def _is_hidden_by_group(hass: HomeAssistant, entity_id: str) -> bool:
    entry = er.async_get(hass).async_get(entity_id)
    return entry is not None and entry.hidden_by is er.RegistryEntryHider.INTEGRATION
