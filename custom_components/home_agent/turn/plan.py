"""What a tool call comes to: its effects on final targets, before anything is done.

A tool turns arguments into a plan without side effects; the policy decides on the plan, and only then the tool runs it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self, cast

from homeassistant.util.json import JsonObjectType

from ..support.const import DOMAIN


class ActionClass(StrEnum):
    """How much an action can do."""

    READ = "read"
    WRITE = "write"
    SENSITIVE = "sensitive"
    """Needs the user's yes: unlock, disarm, open a door or a valve, ..."""


UNLOCK = "unlock"
DISARM = "disarm"
OPEN_DOOR = "open_door"
OPEN_VALVE = "open_valve"
DESTRUCTIVE = "destructive"
"""Why a call is sensitive; the last one: it stops, deletes, spends, reaches people, or its tool says it can do harm."""
NAMING = "naming"
"""Why a call is sensitive that gives a thing a name: it counts for everybody in the home, and stays."""
DELEGATED = "delegated"
"""Why a call is asked about that hands a request to another agent."""
TAINTED = "tainted"
"""Why a call has to be asked about besides: text from outside the home has entered the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall:
    """One action of Home Assistant on resolved targets."""

    domain: str
    service: str
    entity_ids: tuple[str, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    """Whitelisted, without any target key."""
    returns_response: bool = False

    def as_dict(self) -> JsonObjectType:
        """Return its form on the disk."""
        return {
            "domain": self.domain,
            "service": self.service,
            "entity_ids": list(self.entity_ids),
            "data": cast(JsonObjectType, dict(self.data)),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return it from the disk. Raises `KeyError`, `TypeError` or `ValueError` when it is none."""
        return cls(
            domain=str(data["domain"]),
            service=str(data["service"]),
            entity_ids=tuple(str(entity_id) for entity_id in data["entity_ids"]),
            data=dict(data["data"]),
        )


ADD_NAME = "add_name"
REMOVE_NAME = "remove_name"
PROPOSE_NAME = "propose_name"
WITHDRAW_NAME = "withdraw_name"
NAME_SERVICES = frozenset({ADD_NAME, REMOVE_NAME, PROPOSE_NAME, WITHDRAW_NAME})


@dataclass(frozen=True, slots=True, kw_only=True)
class NameChange:
    """A name of an entity, an area or a floor that is added, removed, proposed to an administrator or withdrawn."""

    service: str
    """`add_name`, `remove_name`, `propose_name`, `withdraw_name`."""
    data: Mapping[str, Any]
    """`target` (an entity id, `area:<id>` or `floor:<id>`) and `name`."""
    domain: str = DOMAIN
    entity_ids: tuple[str, ...] = ()
    """None: no state changes by it. That the entity is exposed is checked by the plan's targets."""

    @property
    def target(self) -> str:
        """The thing whose name it is."""
        return str(self.data["target"])

    @property
    def name(self) -> str:
        """The name."""
        return str(self.data["name"])

    @property
    def about(self) -> str:
        """What it is about, as people read it."""
        return f"“{self.name}”"

    def as_dict(self) -> JsonObjectType:
        """Return its form on the disk."""
        return {
            "domain": self.domain,
            "service": self.service,
            "entity_ids": [],
            "data": {"target": self.target, "name": self.name},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return it from the disk. Raises `KeyError` or `TypeError` when it is none."""
        given = data["data"]
        return cls(service=str(data["service"]), data={"target": str(given["target"]), "name": str(given["name"])})


type Effect = ServiceCall | NameChange
"""One thing that a plan does: the union of all kinds. A new kind has the same face (`domain`, `service`, `entity_ids`, `data`, its form
on the disk), and an entry in the table of policy/write.py."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything one tool call is about to touch."""

    action: ActionClass
    targets: tuple[str, ...] = ()
    """Entity ids that are read or changed; each is checked for exposure and permission."""
    effects: tuple[Effect, ...] = ()
    handled: tuple[ServiceCall, ...] = ()
    """Actions that Home Assistant's handler of an intent takes by itself: the rules hold for them, nothing is verified or undone."""
    reason: str | None = None
    """Why it is sensitive (`unlock`, `open_door`, `destructive`, ...), for the question and the audit line."""
    reasons: tuple[str, ...] = ()
    """All of them, when there is more than one: each may have a PIN."""
    sensitive: tuple[str, ...] = ()
    """Those of the entities because of which it is sensitive; empty: all of it is."""
    inside: tuple[ServiceCall, ...] = ()
    """What scenes, scripts and automations do that it starts, as far as that is sensitive: for the question."""
    reached: tuple[str, ...] = ()
    """Entities and actions that it comes to without naming them, in groups and in what it starts: the rules hold for them,
    exposure does not."""
    subject: str | None = None
    """What is touched when it is not entities: the title of a tool, the host of a request."""
    texts: tuple[str, ...] = ()
    """What is touched when it is texts that are kept or handed on: they are named in the question, and nowhere else."""
    version: str = ""
    """What the tool was when it planned, where somebody else can change it: a yes is for that, and for nothing else."""
    already: tuple[str, ...] = field(default=(), compare=False)
    """Of what needs a yes: entities that are already what it would make of them. They are not asked about."""
    insists: bool = False
    """It needs the user's yes whatever the lists of the owner spare."""
    outside: bool = False
    """The result is text from outside the home: from then on the conversation is tainted."""

    @property
    def is_done(self) -> bool:
        """Whether all of it is so already, and nothing is left to be done or asked.

        What an effect without entities would make of anything, a message or a request, is never so already.
        """
        already = {*self.already}
        return (
            bool(self.effects)
            and self.inside == ()
            and all(effect.entity_ids and already.issuperset(effect.entity_ids) for effect in self.effects)
        )
