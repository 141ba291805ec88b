"""Kinds of effects: everything that an action of Home Agent can change, and how."""

from collections.abc import Iterable, Mapping
from typing import Any

from homeassistant.core import HomeAssistant

from ...turn.plan import Effect
from .effect import Before, EffectKind, UnknownKind, captured
from .name_change import NAME_CHANGES
from .service_call import SERVICE_CALLS

KINDS: dict[str, EffectKind[Any]] = {kind.name: kind for kind in (SERVICE_CALLS, NAME_CHANGES)}
"""By the name that is written to the disk. A new kind is one more entry."""
UNKNOWN_KIND = UnknownKind()


def kind_of(effect: Effect) -> EffectKind[Any]:
    """Return the kind of an effect."""
    return KINDS.get(effect.kind, UNKNOWN_KIND)


def captured_of(hass: HomeAssistant, effects: Iterable[Effect]) -> dict[str, dict[str, Before]]:
    """Return what kinds capture now of the subjects of effects, by kind and subject."""
    found: dict[str, dict[str, Before]] = {}
    for effect in effects:
        for subject in effect.subjects:
            if (before := captured(kind_of(effect), hass, effect, subject)) is not None:
                found.setdefault(effect.kind, {}).setdefault(subject, before)
    return found


def effect_from_dict(data: Mapping[str, Any]) -> Effect:
    """Read an effect from the disk. Raises `KeyError`, `TypeError` or `ValueError` if the data is invalid.

    Releases before kinds were written down stored service calls and changes of names, told apart by their action.
    """
    is_name = f"{data['domain']}.{data['service']}" in NAME_CHANGES.activity
    name = data.get("kind", NAME_CHANGES.name if is_name else SERVICE_CALLS.name)
    effect: Effect = KINDS.get(str(name), UNKNOWN_KIND).read(data)
    return effect
