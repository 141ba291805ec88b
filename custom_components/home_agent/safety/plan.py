"""What a tool call comes to: the final service calls on final targets, before anything is done.

A tool turns arguments into a plan without side effects; the policy decides on the plan, and only then the tool runs it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class ActionClass(StrEnum):
    """How much an action can do."""

    READ = "read"
    WRITE = "write"
    SENSITIVE = "sensitive"
    """Needs the owner's yes: unlock, disarm, open a door or a valve, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall:
    """One action of Home Assistant on resolved targets."""

    domain: str
    service: str
    entity_ids: tuple[str, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    """Whitelisted, without any target key."""
    returns_response: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything one tool call is about to touch."""

    action: ActionClass
    targets: tuple[str, ...] = ()
    """Entity ids that are read or changed; each is checked for exposure and permission."""
    calls: tuple[ServiceCall, ...] = ()
    reason: str | None = None
    """Why it is sensitive (`unlock`, `open_door`, `destructive`, ...), for the question and the audit line."""
    reasons: tuple[str, ...] = ()
    """All of them, when there is more than one: each may have a PIN."""
    sensitive: tuple[str, ...] = ()
    """Those of the entities because of which it is sensitive; empty: all of it is."""
    subject: str | None = None
    """What is touched when it is not entities: the title of a tool, the host of a request."""
    version: str = ""
    """What the tool was when it planned, where somebody else can change it: a yes is for that, and for nothing else."""
    outside: bool = False
    """The result is text from outside the house: from then on the conversation is tainted."""
