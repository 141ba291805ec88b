"""Which other automations undo what a draft does: at the same trigger, or as soon as they hear of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.core import HomeAssistant

from ..home.actions import members
from ..home.contents import contents_of, sequence_calls
from ..home.fired_events import triggers_in
from ..home.states import Knows
from .draft import AutomationDraft
from .watched_states import texts

MAX_CONFLICTS = 20
_PAIRS = (
    ("turn_on", "turn_off"), ("open_cover", "close_cover"), ("open_valve", "close_valve"), ("lock", "unlock"),
    ("lock", "open"), ("media_play", "media_pause"), ("media_play", "media_stop"), ("start", "return_to_base"),
)  # fmt: skip
_CONTRARY = frozenset({*_PAIRS, *((other, one) for one, other in _PAIRS)})
_LEADS = {
    "turn_on": "on", "turn_off": "off", "open_cover": "open", "close_cover": "closed", "open_valve": "open", "close_valve": "closed",
    "lock": "locked", "unlock": "unlocked",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Conflict:
    """Another automation that undoes something."""

    automation: str
    """Its entity id."""
    entity_id: str
    """What both change."""
    service: str
    """What the other one does to it."""


async def async_conflicts(hass: HomeAssistant, draft: AutomationDraft, *, knows: Knows) -> list[Conflict]:
    """Return the automations that are on and undo what a draft does, as far as they and what they change may be known."""
    done: dict[str, set[str]] = {}
    for call in sequence_calls(hass, draft.actions, frozenset(), members, members, {}):
        for entity_id in call.entity_ids:
            done.setdefault(entity_id, set()).add(call.service)
    heard = {key for trigger in draft.triggers for key in _heard(trigger)}
    found: dict[Conflict, None] = {}
    for entity in getattr(hass.data.get(AUTOMATION), "entities", ()):
        is_own = draft.id is not None and entity.unique_id == draft.id
        if not is_own and getattr(entity, "is_on", False) and knows(entity.entity_id):
            found |= dict.fromkeys(_undone(hass, entity, done, heard, knows))
    return [*found][:MAX_CONFLICTS]


def _undone(
    hass: HomeAssistant, entity: Any, done: Mapping[str, set[str]], heard: set[tuple[str, ...]], knows: Knows
) -> Iterator[Conflict]:
    theirs = {key for trigger in triggers_in(entity.raw_config) for key in _heard(trigger)}
    for call in contents_of(hass, entity.entity_id).calls:
        for entity_id in call.entity_ids:
            for service in done.get(entity_id, ()) if knows(entity_id) else ():
                hears_it = bool({(entity_id, _LEADS.get(service, "")), (entity_id, "")} & theirs)
                if (service, call.service) in _CONTRARY and (hears_it or heard & theirs):
                    yield Conflict(entity.entity_id, entity_id, call.service)


def _heard(trigger: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield what a trigger waits for: an entity and its state, "" for any; a time, an event."""
    kind = trigger.get("platform", trigger.get("trigger"))
    if trigger.get("attribute") is not None:
        return
    if kind == "state":
        for entity_id in texts(trigger.get("entity_id")):
            for state in texts(trigger.get("to")) or ("",):
                yield entity_id, state
    elif kind in ("time", "sun", "event"):
        given = {**trigger, **(trigger.get("options") or {})}
        for key in ("at", "event", "event_type"):
            for one in given[key] if isinstance(given.get(key), list) else [given.get(key)]:
                if one is not None:
                    yield str(kind), getattr(one, "template", None) or str(one), str(given.get("offset") or "")
