"""A wish: what is to be done or told, when, for whom. Rows are never changed, only replaced."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType
from homeassistant.util.ulid import ulid_now

from ..settings.profile import Narrowing
from ..support.rows import as_row, from_row
from ..turn.turn import Turn
from .when import YEARS, When

_DEEPEST = 30
"""Levels of lists and mappings in what a wish does; deeper ones were not written by us."""


class WishKind(StrEnum):
    """What comes of a wish when it is due."""

    ACTION = "action"
    """Its steps are done, and it is told that they were."""
    REMINDER = "reminder"
    """Its text is told: "take the cake out"."""
    WAKE = "wake"
    """The user is woken: like a reminder, and told again until the user says that it was heard."""
    TELL = "tell"
    """It is told that what was waited for has happened."""
    QUESTION = "question"
    """Its text is asked of the agent, and the answer is told."""
    TIMER = "timer"
    """It is told that the time is up; its text is the name of the timer, or empty."""


class WishStatus(StrEnum):
    """How far a wish is."""

    WAITING = "waiting"
    RUNNING = "running"
    """It was begun. Found after a restart, it is not known how far it came: it is not done again, and told so."""
    ASKED = "asked"
    """Its user was asked whether it is to be done, and has not answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that a wish does: effects, or an intent, or a call of a tool, or a command that is read again."""

    effects: tuple[JsonObjectType, ...] = ()
    """As the plan had them when the wish was made (`Effect.as_dict`)."""
    intent: str = ""
    """An intent of Home Assistant's whose handler does not say what it calls; `arguments` are its slots."""
    tool: str = ""
    """The name of a tool of the agent; `arguments` are those of the call."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    """Words that are read again at that time, as what they come to depends on the states: "make it brighter". They reach no other
    entities than `targets`."""
    targets: tuple[str, ...] = ()
    """Entities that it is for."""

    def renamed(self, old: str, new: str) -> Self:
        """Return it with another id of an entity."""

        def other(value: Any) -> Any:
            match value:
                case str():
                    return new if value == old else value
                case list() | tuple():
                    return [other(item) for item in value]
                case Mapping():
                    return {key: other(item) for key, item in value.items()}
            return value

        return replace(
            self,
            effects=tuple(other(effect) for effect in self.effects),
            arguments=other(self.arguments),
            targets=tuple(new if item == old else item for item in self.targets),
        )

    def without(self, gone: Collection[str]) -> Self | None:
        """Return it without some entities that it is for; None if nothing is left of it."""
        targets = tuple(item for item in self.targets if item not in gone)
        if self.targets and not targets:
            return None
        left = []
        for effect in self.effects:
            ids = effect.get("entity_ids")
            kept = [item for item in ids if item not in gone] if isinstance(ids, list) else []
            if kept or not ids:
                left.append({**effect, "entity_ids": kept} if kept else effect)
        return replace(self, targets=targets, effects=tuple(left)) if left or not self.effects else None

    def as_dict(self) -> JsonObjectType:
        """Return its form in the file."""
        return as_row(self) | {"effects": list(self.effects)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read it from the file. Raises `KeyError`, `TypeError` or `ValueError` for invalid data."""
        step = from_row(cls, data, effects=tuple(map(dict, data["effects"])))
        if sum(map(bool, (step.effects, step.intent, step.tool, step.command))) != 1:
            raise ValueError("step")
        if not (_is_flat([*step.effects], _DEEPEST) and _is_flat(step.arguments, _DEEPEST)):
            raise ValueError("deep")
        return step


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One wish."""

    id: str
    kind: WishKind
    words: str
    """What was wished, without the time and as it was said: "turn off the heater"."""
    text: str = ""
    """What is told, or what is asked; empty for an action."""
    steps: tuple[Step, ...] = ()
    when: When
    made: datetime
    asks: bool = False
    """Whether its user is asked when it is due, as what it does needs a yes: it opens, unlocks, disarms, or a list says so."""
    ends: bool = False
    """Whether it ends what was done for a while: "for ten minutes". It is done however late."""
    status: WishStatus = WishStatus.WAITING
    user_id: str | None = None
    device_id: str | None = None
    satellite_id: str | None = None
    area_id: str | None = None
    agent_id: str
    """Subentry id of the agent."""
    language: str
    conversation_id: str = ""
    message: int = 0
    """Which message of the conversation made it, from 1."""
    within: tuple[Narrowing, ...] = ()
    """Parts of the home that all entities have to be in, of the turn that made it."""
    registered: Mapping[str, str] = field(default_factory=dict)
    """By entity id, the id in the entity registry: it stays when the entity is renamed."""

    @classmethod
    def of(cls, turn: Turn, kind: WishKind, when: When, words: str, text: str = "", **details: Any) -> Self:
        """Return a new wish of who speaks in a turn, where they speak; `details` are fields besides."""
        return cls(
            id=ulid_now(),
            kind=kind,
            words=words,
            text=text,
            when=when,
            made=dt_util.utcnow(),
            user_id=turn.context.user_id,
            device_id=turn.device_id,
            satellite_id=turn.satellite_id,
            area_id=turn.area_id,
            agent_id=turn.profile.subentry_id,
            language=turn.language,
            conversation_id=turn.conversation_id,
            within=turn.within,
            **details,
        )

    @property
    def targets(self) -> tuple[str, ...]:
        """Entities that it is for."""
        return tuple(dict.fromkeys(item for step in self.steps for item in step.targets))

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """All entities that it names or looks at."""
        return tuple(dict.fromkeys((*self.targets, *self.when.entity_ids)))

    @property
    def named_ids(self) -> tuple[str, ...]:
        """All entities that it names, looks at, or tells by."""
        return (*self.entity_ids, *((self.satellite_id,) if self.satellite_id else ()))

    def as_event(self) -> JsonObjectType:
        """Return what events tell of it: ids and times, nothing that was said."""
        at = self.when.at
        return {
            "wish_id": self.id,
            "kind": self.kind.value,
            "agent_id": self.agent_id,
            "user_id": self.user_id,
            "entity_ids": [*self.entity_ids],
            "made": self.made.isoformat(),
            "at": at.isoformat() if at is not None else None,
        }

    @property
    def tells_event(self) -> bool:
        """Whether it tells that what it waits for has happened, and nothing else."""
        is_told = self.kind is WishKind.TELL or (self.kind is WishKind.REMINDER and self.text in self.when.said)
        return self.when.event is not None and is_told

    @property
    def tells_itself(self) -> bool:
        """Whether nothing is told but that what it waits for, or looks at, is so."""
        return self.kind in (WishKind.TELL, WishKind.REMINDER) and bool(self.text) and self.text in self.when.said

    def is_same(self, other: Wish) -> bool:
        """Return whether another one wishes the same, at the same time."""
        what = (self.kind, self.text, self.steps, self.user_id)
        return what == (other.kind, other.text, other.steps, other.user_id) and self.when.is_same(other.when)

    def is_known_to(self, turn: Turn) -> bool:
        """Return whether the speaker of a turn may hear of it, cancel and change it.

        A user knows their own ones; without a user, as at a satellite, those that were made without one. Administrators know both.
        An agent that knows a part of the home only has those that it made itself.
        """
        if turn.within and self.agent_id != turn.profile.subentry_id:
            return False
        if turn.user is None:
            return self.user_id is None
        return self.user_id == turn.user.id or (turn.user.is_admin and self.user_id is None)

    def renamed(self, old: str, new: str) -> Self:
        """Return it with another id of an entity."""
        return replace(
            self,
            when=self.when.renamed(old, new),
            steps=tuple(step.renamed(old, new) for step in self.steps),
            satellite_id=new if self.satellite_id == old else self.satellite_id,
            registered={new if key == old else key: value for key, value in self.registered.items()},
        )

    def without(self, gone: Collection[str]) -> Self:
        """Return it without some entities: without what it does to them, and what it looks at of them while there are others."""
        return replace(
            self,
            when=self.when.without(gone),
            steps=tuple(left for step in self.steps if (left := step.without(gone)) is not None),
            satellite_id=None if self.satellite_id in gone else self.satellite_id,
            registered={key: value for key, value in self.registered.items() if key not in gone},
        )

    def as_dict(self) -> JsonObjectType:
        """Return its form in the file."""
        within: list[JsonObjectType] = [
            {"areas": [*sorted(part.areas)], "labels": [*sorted(part.labels)], "entities": [*part.entities]}
            for part in self.within
        ]
        return as_row(replace(self, within=())) | {"within": [*within]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read it from the file. Raises `KeyError`, `TypeError` or `ValueError` for invalid data."""
        wish = from_row(
            cls,
            data,
            when=When.from_dict(data["when"]),
            steps=tuple(map(Step.from_dict, data["steps"])),
            within=tuple(
                Narrowing(frozenset(part["areas"]), frozenset(part["labels"]), tuple(part["entities"]))
                for part in data["within"]
            ),
        )
        if wish.made.year not in YEARS:
            raise ValueError("year")
        if not all(isinstance(value, str) for value in wish.registered.values()):
            raise TypeError("registered")
        return wish


def _is_flat(value: Any, levels: int) -> bool:
    """Return whether lists and mappings are not nested deeper than so many levels."""
    if isinstance(value, (list, dict)):
        items = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_flat(item, levels - 1) for item in items)
    return True
