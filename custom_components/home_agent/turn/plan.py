"""What a tool call comes to: its effects on final targets, before anything is done.

A tool turns arguments into a plan without side effects; the policy decides on the plan, and only then the tool runs it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Self, cast

from homeassistant.util.json import JsonObjectType


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
"""Why a call is sensitive that gives a thing a name: it counts for all users, and stays."""
AUTOMATING = "automating"
"""Why a call is sensitive that changes an automation: from then on it acts, or no longer acts, by itself."""
DELEGATED = "delegated"
"""Why a call is asked about that hands a request to another agent."""
EARLIER = "earlier"
"""Why taking back is asked about: the last command did nothing, and what was done before it may not be meant."""
TAINTED = "tainted"
"""Why a call has to be asked about besides: text from outside the home has entered the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing that a plan does. How it is judged, executed, verified, described and undone is in policy/effects/, by its kind."""

    kind: ClassVar[str] = ""  # written to the disk with the effect
    domain: str
    service: str
    entity_ids: tuple[str, ...] = ()  # entities whose states it changes
    data: Mapping[str, Any] = field(default_factory=dict)  # everything else it says, as JSON

    @property
    def action(self) -> str:
        """The name by which lists of the owner, events and the journal call it: `light.turn_on`."""
        return f"{self.domain}.{self.service}"

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it is about: entity ids, or `<kind>:<id>` such as `name:light.bed:moon lamp`."""
        return self.entity_ids

    def without(self, subjects: Collection[str]) -> Self | None:
        """Return the effect for its other subjects; None if there are none."""
        if self.subjects and all(subject in subjects for subject in self.subjects):
            return None
        return replace(self, entity_ids=tuple(item for item in self.entity_ids if item not in subjects))

    def as_dict(self) -> JsonObjectType:
        """Return its form on the disk."""
        return {
            "kind": self.kind,
            "domain": self.domain,
            "service": self.service,
            "entity_ids": list(self.entity_ids),
            "data": cast(JsonObjectType, dict(self.data)),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read it from the disk. Raises `KeyError`, `TypeError` or `ValueError` if the data is invalid."""
        return cls(
            domain=str(data["domain"]),
            service=str(data["service"]),
            entity_ids=tuple(str(entity_id) for entity_id in data["entity_ids"]),
            data=dict(data["data"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall(Effect):
    """One action of Home Assistant on resolved targets; its data has no target key."""

    kind: ClassVar[str] = "service_call"
    returns_response: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a plan comes to without naming it, in groups and in what it starts."""

    inside: tuple[ServiceCall, ...] = ()
    """What scenes, scripts and automations do that it starts, as far as that is sensitive: for the question."""
    reached: tuple[str, ...] = ()
    """Entities and actions: the rules hold for them, exposure does not."""
    also: tuple[str, ...] = field(default=(), compare=False)
    """Other names of its actions as they would run now: the lists of what is refused and asked about hold for them."""
    written: tuple[str, ...] = ()
    """What it starts, each with the fingerprint of how it is written: a yes is for just that."""
    wary: bool = False
    """It is asked about once text from outside has entered the conversation."""

    def __add__(self, other: Reach) -> Reach:
        """Return the reach of both."""
        return Reach(
            inside=(*self.inside, *(call for call in other.inside if call not in self.inside)),
            reached=tuple(dict.fromkeys((*self.reached, *other.reached))),
            also=tuple(dict.fromkeys((*self.also, *other.also))),
            written=tuple(dict.fromkeys((*self.written, *other.written))),
            wary=self.wary or other.wary,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything one tool call is about to touch."""

    action: ActionClass
    targets: tuple[str, ...] = ()
    """Entity ids that are read or changed; each is checked for exposure and permission."""
    effects: tuple[Effect, ...] = ()
    handled: tuple[ServiceCall, ...] = ()
    """Actions that Home Assistant's handler of an intent takes by itself: the rules hold for them, nothing is verified or undone."""
    reasons: tuple[str, ...] = ()
    """Why it is sensitive (`unlock`, `open_door`, ...), for the question; each may have a PIN. Empty: `destructive`."""
    sensitive: tuple[str, ...] = ()
    """Those of the entities because of which it is sensitive; empty: all of it is."""
    reach: Reach = field(default_factory=Reach)
    subject: str | None = None
    """What is touched when it is not entities: the title of a tool, the host of a request."""
    texts: tuple[str, ...] = ()
    """What is touched when it is texts that are kept or handed on: they are named in the question, and nowhere else."""
    version: str = ""
    """What the tool was when it planned, if it can be changed elsewhere: a yes is for this version only."""
    already: tuple[str, ...] = field(default=(), compare=False)
    """Of what needs a yes: entities that are already what it would make of them. They are not asked about."""
    insists: bool = False  # it needs the user's yes even if the lists of the owner spare it
    outside: bool = False
    """The result is text from outside the home: from then on the conversation is tainted."""

    @property
    def inside(self) -> tuple[ServiceCall, ...]:
        """What it starts, as far as that is sensitive."""
        return self.reach.inside

    @property
    def is_done(self) -> bool:
        """Whether the requested state is there already. An effect without a subject, such as a message, is never done before."""
        already = {*self.already}
        return (
            bool(self.effects)
            and self.inside == ()
            and all(effect.subjects and already.issuperset(effect.subjects) for effect in self.effects)
        )
