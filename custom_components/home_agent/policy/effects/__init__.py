"""Kinds of effects: everything that an action of Home Agent can change, and how."""

from collections.abc import Mapping
from typing import Any

from ...turn.plan import Effect, ServiceCall
from .automation_change import AUTOMATION_CHANGES, AutomationChange
from .effect import EffectKind, UnknownKind
from .message import MESSAGES, MessageSent
from .name_change import NAME_CHANGES, NameChange
from .service_call import SERVICE_CALLS
from .wish_change import WISH_CHANGES, WishChange


class _Kinds(dict[str, EffectKind[Any]]):
    """Kinds by `Effect.kind`, as it is written to the disk."""

    unknown = UnknownKind()

    def __missing__(self, key: str) -> EffectKind[Any]:
        """Return the kind that stands for those of newer releases."""
        return self.unknown


KINDS = _Kinds(
    {
        ServiceCall.kind: SERVICE_CALLS,
        NameChange.kind: NAME_CHANGES,
        WishChange.kind: WISH_CHANGES,
        AutomationChange.kind: AUTOMATION_CHANGES,
        MessageSent.kind: MESSAGES,
    }
)
"""A new kind is one more entry."""


def effect_from_dict(data: Mapping[str, Any]) -> Effect:
    """Read an effect from the disk. Raises `KeyError`, `TypeError` or `ValueError` if the data is invalid.

    Releases before kinds were written down stored service calls and changes of names, told apart by their action.
    """
    is_name = f"{data['domain']}.{data['service']}" in NAME_CHANGES.activity
    kind = KINDS[str(data.get("kind", NameChange.kind if is_name else ServiceCall.kind))]
    effect: Effect = kind.effect.from_dict(data)
    return effect
