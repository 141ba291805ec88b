"""What the targets of a draft have to be, which of them are not, and whether all that a wide target reaches may be known."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids

from ..home.actions import members
from .problems import KnownHome

MAX_NAMED = 20
"""Entities that a sentence names."""
PLACES = ("device_id", "area_id", "floor_id", "label_id")
_SILENT = frozenset({"off", "standby", "idle", "unavailable", "unknown"})
"""States in which a media player does not tell all that it can do."""


def selectors_of(description: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what the entities of a target have to be, one of these; empty if anything is possible."""
    target = description.get("target")
    return filters(target.get("entity") if isinstance(target, Mapping) else None)


def filters(entity: object) -> list[Mapping[str, Any]]:
    """Return the filters of a selector of entities."""
    return [one for one in (entity if isinstance(entity, list) else [entity]) if isinstance(one, Mapping) and one]


def domains_of(selectors: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the domains of which entities have to be; empty if any may be."""
    found: set[str] = set()
    for selector in selectors:
        if not (domains := words(selector.get("domain"))):
            return set()
        found |= {*domains}
    return found


def words(value: object) -> list[str]:
    """Return one text or several as a list."""
    return [str(one) for one in value] if isinstance(value, list | tuple | set) else [str(value)] if value else []


def suits(hass: HomeAssistant, state: State, selectors: Collection[Mapping[str, Any]], *, can: bool = True) -> bool:
    """Return whether an entity is what one of the filters asks for; without `can`, abilities do not count."""
    return not selectors or any(_suits(hass, state, one, can=can) for one in selectors)


def _suits(hass: HomeAssistant, state: State, selector: Mapping[str, Any], *, can: bool) -> bool:
    if (domains := words(selector.get("domain"))) and state.domain not in domains:
        return False
    entry = er.async_get(hass).async_get(state.entity_id)
    if (integration := selector.get("integration")) and (entry is None or entry.platform != integration):
        return False
    if classes := words(selector.get("device_class")):
        own = state.attributes.get("device_class")
        if own is None and entry is not None:
            own = entry.device_class or entry.original_device_class
        if own not in classes:
            return False
    features = state.attributes.get("supported_features")
    masks = selector.get("supported_features")
    is_silent = state.domain == "media_player" and state.state in _SILENT
    if not can or not masks or is_silent or not isinstance(features, int):
        return True
    return any(isinstance(mask, int) and features & mask == mask for mask in masks)


def suits_as_group(hass: HomeAssistant, state: State, selectors: Collection[Mapping[str, Any]]) -> bool:
    """Return whether an entity, or one of the members of a group, is what a filter asks for."""
    inner = (hass.states.get(one) for one in members(hass, state.entity_id)) if state.domain == "group" else ()
    return any(suits(hass, one, selectors) for one in (state, *inner) if one is not None)


def asked_for(selectors: Sequence[Mapping[str, Any]]) -> str:
    """Return in words what entities have to be."""
    said: dict[str, None] = {}
    for one in selectors:
        domain = " or ".join(words(one.get("domain"))) or "entity"
        classes = " or ".join(words(one.get("device_class")))
        said[f"{domain} of device class {classes}" if classes else domain] = None
    return ", ".join(said)


def wide_fault(
    home: KnownHome,
    target: Mapping[str, Any],
    selectors: Collection[Mapping[str, Any]],
    doing: str,
    *,
    can: bool = True,
) -> tuple[str, str] | None:
    """Return what is wrong with the areas, floors, labels and devices of a target, and under which of these keys.

    Nothing in it that may be known suits, or not all that it reaches may be known: neither tells whether there is more.
    """
    places = {key: [one for one in words(target.get(key)) if one] for key in PLACES}
    if not any(places.values()):
        return None
    found = async_extract_referenced_entity_ids(home.hass, TargetSelection(places), expand_group=False)
    if found.missing_areas or found.missing_devices or found.missing_floors or found.missing_labels:
        return None  # those are told of by themselves
    states = (home.hass.states.get(one) for one in sorted(found.indirectly_referenced))
    suitable = [one.entity_id for one in states if one is not None and suits(home.hass, one, selectors, can=can)]
    known = [one for one in suitable if home.knows(one)]
    key = next(key for key, items in places.items() if items)
    if not known:
        return key, f"Nothing that can be used in this target suits {doing}. Name entities by entity_id."
    if len(known) < len(suitable):
        listed = ", ".join(known[:MAX_NAMED])
        return key, f"It is not sure that only known things are in this target. Name them by entity_id: {listed}."
    return None
