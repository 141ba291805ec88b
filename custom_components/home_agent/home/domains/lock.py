"""Locks."""

from homeassistant.components.lock.const import LockEntityFeature, LockState

from ...turn.plan import UNLOCK
from ..domain import Action, Domain, Field, Logged, at, either
from ..parameters import text

_CODE = {"code": Field(text)}
# The generic services come from other paths than our tools: Home Assistant's own sentences call them.
_UNLOCKING = frozenset({"unlock", "open", "turn_off", "toggle"})

DOMAINS = {
    "lock": Domain(
        actions={
            "lock": Action("lock", fields=_CODE),
            "unlock": Action("unlock", fields=_CODE),
            "open": Action("open", LockEntityFeature.OPEN, _CODE),
        },
        on=("lock",),
        off=("unlock",),
        is_on=either(
            (LockState.LOCKED, LockState.LOCKING),
            (LockState.UNLOCKED, LockState.UNLOCKING, LockState.OPEN, LockState.OPENING),
        ),
        words={"close": "lock", "unlatch": "open"},
        states={**dict.fromkeys(("open", "opened"), "unlock"), **dict.fromkeys(("close", "closed"), "lock")},
        own={"turn_on": "lock", "turn_off": "unlock"},
        rank=4,
        logged=Logged.ALWAYS,
        goals={
            "lock": at("locked", under_way=("locking",)),
            "unlock": at("unlocked", "open", under_way=("unlocking", "opening")),
            "open": at("open", "unlocked", under_way=("unlocking", "opening")),
        },
        back={"locked": "lock", "unlocked": "unlock"},
        sensitive=lambda _state, service, _data: UNLOCK if service in _UNLOCKING else None,
    )
}
