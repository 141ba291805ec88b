"""Wishes and the entity registry: entities keep their wishes when they are renamed, and lose them when they are removed."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from .when import Watch
from .wish import Wish


def as_registered(hass: HomeAssistant, wish: Wish) -> Wish:
    """Return a wish with the present entity ids of the entities that it was made for, and the registry ids that it lacks."""
    registry = er.async_get(hass)
    entries = {old: registry.entities.get_entry(registry_id) for old, registry_id in wish.registered.items()}
    wish = renamed(wish, {old: entry.entity_id for old, entry in entries.items() if entry is not None})
    lacking = (item for item in wish.named_ids if item not in wish.registered)
    found = {item: entry.id for item in lacking if (entry := registry.async_get(item)) is not None}
    return replace(wish, registered={**wish.registered, **found}) if found else wish


def renamed(wish: Wish, new_ids: Mapping[str, str]) -> Wish:
    """Return a wish with other entity ids, by those of before; two entities may have changed theirs for each other's."""
    changed = {old: new for old, new in new_ids.items() if old != new}
    for number, old in enumerate(changed):
        wish = wish.renamed(old, f"\0{number}")
    for number, new in enumerate(changed.values()):
        wish = wish.renamed(f"\0{number}", new)
    return wish


def removed(hass: HomeAssistant, wish: Wish) -> tuple[str, ...]:
    """Return the entities without which a wish cannot be done, if they were removed for good; empty if there is something left.

    That is so if its event or a condition cannot become so any more, or if nothing is left that it is for. Another entity that has
    got the id of one that was removed is not the one that was meant.
    """
    gone = _gone(hass, wish)
    for watch in wish.when.watches:
        if _is_lost(watch, gone):
            return tuple(item for item in watch.entity_ids if item in gone)
    return wish.targets if wish.targets and gone.issuperset(wish.targets) else ()


def without_removed(hass: HomeAssistant, wish: Wish) -> Wish:
    """Return a wish for what is left of the entities that it was made for; the same one if nothing is."""
    gone = _gone(hass, wish)
    return wish.without(gone) if gone and not removed(hass, wish) else wish


def _gone(hass: HomeAssistant, wish: Wish) -> set[str]:
    entities = er.async_get(hass).entities
    return {item for item, registry_id in wish.registered.items() if entities.get_entry(registry_id) is None}


def _is_lost(watch: Watch, gone: Collection[str]) -> bool:
    lost = [item in gone for item in watch.entity_ids]
    return any(lost) if watch.every else all(lost)
