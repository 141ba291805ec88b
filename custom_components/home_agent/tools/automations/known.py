"""The automations of the home that who speaks may know of, and what a model is told of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
import re
from typing import Any

from homeassistant.core import HomeAssistant

from ...automations.known import Known
from ...automations.store import automation_store
from ...home.exposure import is_exposed, is_within, may_tell
from ...support.errors import ToolError, ToolRefusal
from ...support.text import phrase, runs
from ...turn.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """An automation with an id."""

    id: str
    name: str
    config: Mapping[str, Any]


HIDDEN = "…"
_DOTTED = re.compile(r"\b[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+\b", re.IGNORECASE)
"""Names with dots between them, such as entity ids and `states.light.bed.state`."""
MAX_NAMED = 12


async def async_seen_by(hass: HomeAssistant, turn: Turn) -> list[Known]:
    """Return the automations that a turn may know of: all for an administrator, for others those that are exposed."""
    known = await automation_store(hass).async_automations()
    if turn.user is not None and turn.user.is_admin:
        return [one for one in known if not turn.within or is_within(hass, one.entity_id, turn.within)]
    return [one for one in known if is_exposed(hass, one.entity_id, turn.user)]


async def async_find(hass: HomeAssistant, turn: Turn, text: str) -> Known:
    """Return an automation by its id, entity id or name. Raises `ToolRefusal` with near names."""
    known, wanted = await async_seen_by(hass, turn), text.strip()
    for one in known:
        if wanted in (one.id, one.entity_id):
            return one
    found = [one for one in known if phrase(one.name) == phrase(wanted)]
    if len(found) == 1:
        return found[0]
    words = {*runs(wanted)}
    near = found or sorted(known, key=lambda one: -len(words.intersection(runs(one.name))))
    listed = "; ".join(f"{one.name} (id {one.id})" for one in near[:MAX_NAMED] if one.id)
    raise ToolRefusal(
        f"There is no automation '{wanted[:80]}'."
        if not listed
        else f"There is no single automation '{wanted[:80]}'. There are: {listed}."
    )


async def async_identified(hass: HomeAssistant, turn: Turn, text: str) -> Identified:
    """Return an automation that an administrator names. Raises `ToolError` for others, and for one without an id."""
    if turn.user is None or not turn.user.is_admin:
        raise ToolError("automation_administrators")
    known = await async_find(hass, turn, text)
    if known.id is None:
        raise ToolRefusal(
            f"'{known.name}' has no id, so that nothing can find it. Tell the user to give it one in its YAML."
        )
    return Identified(id=known.id, name=known.name, config=known.config)


def hides(hass: HomeAssistant, turn: Turn, config: object) -> bool:
    """Return whether a configuration names entities that who speaks may not know."""
    return bool(shown(hass, turn, config) != config)


def shown(hass: HomeAssistant, turn: Turn, value: Any) -> Any:
    """Return a configuration with dots for entities that who speaks may not know."""
    match value:
        case str():
            return _DOTTED.sub(lambda found: found[0] if _may_tell(hass, turn, found[0]) else HIDDEN, value)
        case Mapping():
            return {shown(hass, turn, key): shown(hass, turn, item) for key, item in value.items()}
        case list() | tuple():
            return [shown(hass, turn, item) for item in value]
    return value


def _may_tell(hass: HomeAssistant, turn: Turn, text: str) -> bool:
    """Return whether each two names with a dot between them are no entity, or one that who speaks may know."""
    named = (".".join(pair) for pair in pairwise(text.lower().split(".")))
    return all(may_tell(hass, one, turn.user) for one in named)
