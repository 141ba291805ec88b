"""One entry of the journal, and its form on the disk."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from homeassistant.core import State
from homeassistant.helpers.json import json_bytes
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType, json_loads

from ..safety.plan import ServiceCall
from ..turn import Effect
from .kept import KEPT


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An entity as it was: its state and what can be restored of its attributes."""

    state: str
    attributes: Mapping[str, JsonValueType]

    @classmethod
    def of(cls, state: State) -> Snapshot:
        """Return what is kept of a state; values as they come back from the disk."""
        kept = {name: state.attributes[name] for name in KEPT.get(state.domain, ()) if name in state.attributes}
        return cls(state.state, cast(JsonObjectType, json_loads(json_bytes(kept))))

    def as_state(self, entity_id: str) -> State:
        """Return it as a state."""
        return State(entity_id, self.state, dict(self.attributes), validate_entity_id=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One write: who, when, what, from which words, through which assistant, and what became of it."""

    id: str
    when: datetime
    user_id: str | None
    device_id: str | None
    conversation_id: str
    turn_id: str
    """Shared by the actions of one request: they are undone together."""
    profile: str
    """Name of the assistant."""
    tool: str
    subject: str | None
    """What it touched when it was not entities."""
    words: str
    calls: tuple[ServiceCall, ...]
    before: Mapping[str, Snapshot]
    after: Mapping[str, Snapshot]
    effects: Mapping[str, Effect]
    success: bool
    left_out: int = 0
    """Entities beyond those that are kept."""
    undone: datetime | None = None

    def undone_at(self, when: datetime) -> Action:
        """Return the entry as taken back."""
        return replace(self, undone=when)

    def as_dict(self) -> JsonObjectType:
        """Return its form on the disk."""
        return {
            "id": self.id,
            "when": self.when.isoformat(),
            "user_id": self.user_id,
            "device_id": self.device_id,
            "conversation_id": self.conversation_id,
            "turn_id": self.turn_id,
            "profile": self.profile,
            "tool": self.tool,
            "subject": self.subject,
            "words": self.words,
            "calls": [_call_as_dict(call) for call in self.calls],
            "before": _snapshots_as_dict(self.before),
            "after": _snapshots_as_dict(self.after),
            "effects": {entity_id: effect.value for entity_id, effect in self.effects.items()},
            "success": self.success,
            "left_out": self.left_out,
            "undone": self.undone.isoformat() if self.undone else None,
        }

    def as_told(self) -> JsonObjectType:
        """Return what `home_agent.list_actions` says of it."""
        return {
            "action_id": self.id,
            "when": self.when.isoformat(),
            "user_id": self.user_id,
            "profile": self.profile,
            "conversation_id": self.conversation_id,
            "words": self.words,
            "tool_name": self.tool,
            "subject": self.subject,
            "calls": [
                {
                    "action": f"{call.domain}.{call.service}",
                    "entity_id": list(call.entity_ids),
                    "data": cast(JsonObjectType, dict(call.data)),
                }
                for call in self.calls
            ],
            "outcome": {entity_id: effect.value for entity_id, effect in self.effects.items()},
            "success": self.success,
            "undone": self.undone.isoformat() if self.undone else None,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Action:
        """Return the entry. Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` when it is not one."""
        return cls(
            id=str(data["id"]),
            when=_moment(data["when"]),
            user_id=data["user_id"],
            device_id=data["device_id"],
            conversation_id=str(data["conversation_id"]),
            turn_id=str(data["turn_id"]),
            profile=str(data["profile"]),
            tool=str(data["tool"]),
            subject=data["subject"],
            words=str(data["words"]),
            calls=tuple(_call_from_dict(item) for item in data["calls"]),
            before=_snapshots_from_dict(data["before"]),
            after=_snapshots_from_dict(data["after"]),
            effects={entity_id: Effect(value) for entity_id, value in data["effects"].items()},
            success=bool(data["success"]),
            left_out=int(data["left_out"]),
            undone=_moment(data["undone"]) if data["undone"] else None,
        )


def _moment(text: str) -> datetime:
    if (found := dt_util.parse_datetime(text)) is None or found.tzinfo is None:
        raise ValueError(text)
    return found


def _call_as_dict(call: ServiceCall) -> JsonObjectType:
    return {
        "domain": call.domain,
        "service": call.service,
        "entity_ids": list(call.entity_ids),
        "data": cast(JsonObjectType, dict(call.data)),
    }


def _call_from_dict(data: Mapping[str, Any]) -> ServiceCall:
    return ServiceCall(
        domain=str(data["domain"]),
        service=str(data["service"]),
        entity_ids=tuple(str(entity_id) for entity_id in data["entity_ids"]),
        data=dict(data["data"]),
    )


def _snapshots_as_dict(snapshots: Mapping[str, Snapshot]) -> JsonObjectType:
    return {
        entity_id: {"state": item.state, "attributes": dict(item.attributes)} for entity_id, item in snapshots.items()
    }


def _snapshots_from_dict(data: Mapping[str, Any]) -> dict[str, Snapshot]:
    return {entity_id: Snapshot(str(item["state"]), dict(item["attributes"])) for entity_id, item in data.items()}
