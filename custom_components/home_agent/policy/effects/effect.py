"""What the policy asks of every kind of effect. A kind is an `EffectKind` in `KINDS`, and what most kinds share is done here."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Self, override

from homeassistant.auth.models import User
from homeassistant.core import CALLBACK_TYPE, Context, HomeAssistant, State
from homeassistant.helpers.json import json_bytes
from homeassistant.util.json import JsonObjectType, json_loads_object

from ...home.domain import Snapshot
from ...home.judgement import Judgement
from ...home.wording import NoWordsError
from ...support.errors import ToolError
from ...turn.plan import DESTRUCTIVE, Effect
from ...turn.turn import Outcome, Turn
from ..audit import masked

type Before = JsonObjectType
"""What a kind captured of a subject, as the journal keeps it on the disk."""


class Moment(StrEnum):
    """When an effect is described."""

    ASKED = "asked"
    """In a question, or in a list of what will be done: "turn on Bed Light"."""
    PAST = "past"
    """In a list of what was done: "turned on Bed Light"."""
    DONE = "done"
    """After a yes, as a sentence."""
    UNDONE = "undone"
    """As the effect that has undone another one, as a sentence."""


class Fate(StrEnum):
    """What undo makes of a subject."""

    BACK = "back"
    ALREADY = "already"
    """It is as it was."""
    CHANGED = "changed"
    """It was changed since by someone else, and is left alone."""
    IMPOSSIBLE = "impossible"
    HIDDEN = "hidden"
    """It may not be named to the user; it is only counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoing:
    """What is asked of undo, for the subjects of one kind."""

    hass: HomeAssistant
    user: User | None
    force: bool  # whether what was changed since is undone, too
    subjects: Collection[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    """How one subject is undone, or why not."""

    fate: Fate
    effects: Sequence[Effect] = ()
    label: str = ""  # what it is called in the result of undo; empty: by the words of who did it


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectChange:
    """What one action of the journal did with one subject."""

    effects: Sequence[Effect]
    success: bool
    outcome: Outcome | None = None
    captured: Before | None = None  # what the kind captured before
    left: Before | None = None  # the same, captured afterwards
    before: Snapshot | None = None
    after: Snapshot | None = None
    named: bool = True  # whether the action was about it; False if a scene or a script changed it
    sets_off: bool = False  # whether the action changed other entities by a scene, a script or an automation


@dataclass(eq=False)
class EffectWatch[E: Effect]:
    """The subjects of some effects of one kind, since just before they were executed."""

    hass: HomeAssistant
    kind: EffectKind[E]
    subjects: Mapping[str, Sequence[E]]  # the effects on each subject, in their order

    def listen(self, subjects: Sequence[str], look: Callable[[str], None]) -> CALLBACK_TYPE | None:
        """Call `look` with each subject that changes; None if changes cannot be followed, so that waiting is useless."""
        return None

    def is_settled(self, subject: str) -> bool:
        """Return whether there is nothing to wait for."""
        return self.outcome(subject, waited=True) is not Outcome.UNCHANGED

    def outcome(self, subject: str, *, waited: bool) -> Outcome:
        """Return what is true now. Before anyone has waited nothing counts as unchanged, as it may only be late."""
        found = [self.kind.is_so(self.hass, effect, subject) for effect in self.subjects[subject]]
        if found[-1]:
            return Outcome.REACHED
        return Outcome.UNCHANGED if waited and None not in found else Outcome.DONE

    def is_back(self, subject: str, outcome: Outcome) -> bool:
        """Return whether a subject with this outcome is as requested, or on its way there."""
        return outcome in (Outcome.REACHED, Outcome.DONE)


class EffectKind[E: Effect](ABC):
    """One kind of effect."""

    effect: ClassVar[type[Any]]
    changes_states: ClassVar[bool] = False  # whether the states of the plan's targets tell what became of it
    changes_home: ClassVar[bool] = True
    """Whether an agent has to be allowed to change something for it (`may_change`); what a wish does is looked at by itself."""
    why: ClassVar[Mapping[str, str]] = {}
    """By reason of `judge`, the translation key of the sentence that explains why a yes is needed."""
    insists_on: ClassVar[frozenset[str]] = frozenset()
    """Reasons for which no list of the owner spares the question."""
    activity: ClassVar[Mapping[str, str]] = {}
    """By action, the translation key of its name in Activity; Home Assistant's own name if there is none."""

    @abstractmethod
    def judge(self, hass: HomeAssistant, effect: E) -> Judgement:
        """Return why the effect needs the user's yes now, and what else it reaches."""

    async def async_read(self, hass: HomeAssistant, effect: E) -> E:
        """Return the effect with all that `judge` looks at, which one from the disk may lack. Raises `ToolError`."""
        return effect

    @abstractmethod
    async def async_execute(self, hass: HomeAssistant, effect: E, subject: str, context: Context) -> None:
        """Execute the effect for one of its subjects. Errors propagate."""

    @abstractmethod
    async def async_describe(self, hass: HomeAssistant, language: str, effect: E, moment: Moment) -> str:
        """Return the effect in words; "" if there is nothing to say at that moment."""

    def is_so(self, hass: HomeAssistant, effect: E, subject: str) -> bool | None:
        """Return whether the subject is already in the requested state; None if that cannot be told."""
        return None

    def capture(self, hass: HomeAssistant, effect: E, subject: str) -> Before | None:
        """Return what `reverse` needs to know of the subject as it is now; None if nothing can be captured."""
        return None

    def reverse(self, hass: HomeAssistant, effect: E, before: Before | None) -> Sequence[Effect] | None:
        """Return the effects that undo an effect, from what was captured before it; None if it cannot be undone."""
        return None

    def way_back(self, asked: Undoing, subject: str, done: Sequence[SubjectChange]) -> WayBack | None:
        """Return how a subject is undone, from what actions did with it, newest first; None if nothing has to be said."""
        newest, oldest = done[0], done[-1]
        effect: Any = oldest.effects[0]
        now, back = captured(self, asked.hass, effect, subject), self.reverse(asked.hass, effect, oldest.captured)
        fate = Fate.IMPOSSIBLE if back is None else Fate.BACK if back else Fate.ALREADY
        if now is not None and now == oldest.captured:
            fate = Fate.ALREADY
        elif now is not None and newest.left is not None and not asked.force:
            last: Any = newest.effects[0]
            fate = fate if self.is_as_left(last, newest.left, now) else Fate.CHANGED
        return WayBack(fate=fate, effects=back or () if fate is Fate.BACK else (), label=self.label(effect, subject))

    def is_as_left(self, effect: E, left: Before, now: Before) -> bool:
        """Return whether a subject is still as an effect left it, by what was captured right behind it and what would be now."""
        return left == now

    def watch(self, hass: HomeAssistant, subjects: Mapping[str, Sequence[E]]) -> EffectWatch[E]:
        """Return the means to find out what becomes of subjects, each with its effects; to be called before they are executed."""
        return EffectWatch(hass, self, subjects)

    def is_proven(
        self,
        hass: HomeAssistant,
        effect: E,
        subject: str,
        outcome: Outcome | None,
        before: Snapshot | None,
        since: datetime,
    ) -> bool:
        """Return whether the home shows that the subject is, or is about to be, as requested since a point in time."""
        return outcome is Outcome.REACHED

    def acts_now(self, effect: E) -> bool:
        """Return whether something is done at once by the effect, which words such as "at ten" may put off."""
        return True

    def repeats(self, effect: E) -> bool:
        """Return whether the same words may do the same again without a model."""
        return False

    def suits_all(self, effect: E) -> bool:
        """Return whether every entity of the domain can do it."""
        return False

    def names(self, effect: E) -> tuple[str, ...]:
        """Return the names by which lists of the owner may call the effect."""
        return (effect.action,)

    def started(self, effect: E) -> Sequence[str]:
        """Return the scripts and automations that the effect starts."""
        return ()

    def kept(self, effect: E, entity_ids: Collection[str]) -> E:
        """Return what the journal keeps of an effect: only these entities, without codes and texts."""
        data = json_loads_object(json_bytes(masked(effect.data))) if effect.data else {}
        return replace(effect, entity_ids=tuple(item for item in effect.entity_ids if item in entity_ids), data=data)

    def label(self, effect: E, subject: str) -> str:
        """Return what a subject is called in results."""
        return subject

    def told(self, hass: HomeAssistant, effect: E) -> JsonObjectType:
        """Return how a model is told of an effect that was executed."""
        return {"action": effect.action, **json_loads_object(json_bytes(dict(effect.data)))}

    def row(self, hass: HomeAssistant, effects: Sequence[E], subject: str, outcome: Outcome) -> JsonObjectType:
        """Return the row of a subject in the result of a tool."""
        return {"subject": self.label(effects[-1], subject), **self.told(hass, effects[-1]), "outcome": outcome.value}

    def shown(self, effect: E) -> Sequence[str]:
        """Return the entities whose states are said in a question and after it."""
        return ()

    async def async_before(self, hass: HomeAssistant, turn: Turn, language: str, effect: E) -> Sequence[str]:
        """Return sentences that are told before the question, for who is asked in a turn."""
        return ()

    async def async_after(self, hass: HomeAssistant, turn: Turn, language: str, effect: E) -> Sequence[str]:
        """Return sentences that are told once it is done, behind what was done."""
        return ()

    async def async_describe_inside(self, hass: HomeAssistant, language: str, effect: E, user: User | None) -> str:
        """Return what is done inside something else, without names that the user may not know."""
        return await self.async_describe(hass, language, effect, Moment.ASKED)

    async def async_describe_it(self, hass: HomeAssistant, language: str, effect: E) -> str:
        """Return the effect for the one thing that was just named: "unlock it"; "" if the thing has to be named again."""
        return ""

    async def async_describe_plainly(self, hass: HomeAssistant, language: str, effect: E) -> str:
        """Return the effect in Home Assistant's own words. Raises `NoWordsError` if it has none."""
        raise NoWordsError

    async def async_already(
        self, hass: HomeAssistant, language: str, effect: E, states: Sequence[State]
    ) -> Sequence[str] | None:
        """Return what is said when nothing has to be done; None if the states of its entities say it."""
        return None


def captured(kind: EffectKind[Any], hass: HomeAssistant, effect: Effect, subject: str) -> Before | None:
    """Return what a kind captures of a subject, as it would come back from the disk."""
    found = kind.capture(hass, effect, subject)
    return None if found is None else json_loads_object(json_bytes(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEffect(Effect):
    """An effect of a kind that this release does not know: kept as it was read, listed, never executed or undone."""

    kind: ClassVar[str] = "unknown"
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    @override
    def subjects(self) -> tuple[str, ...]:
        return (f"{self.raw.get('kind')}:{self.action}",)  # so that it is left when the rest of its action is undone

    @classmethod
    @override
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(domain=str(data["domain"]), service=str(data["service"]), raw=dict(data))

    @override
    def as_dict(self) -> JsonObjectType:
        return dict(self.raw)


class UnknownKind(EffectKind[UnknownEffect]):
    """Stands for the kinds of newer releases."""

    effect = UnknownEffect

    @override
    def label(self, effect: UnknownEffect, subject: str) -> str:
        return ""  # the words of its action are told instead

    @override
    def judge(self, hass: HomeAssistant, effect: UnknownEffect) -> Judgement:
        return Judgement(reasons=(DESTRUCTIVE,))

    @override
    async def async_execute(self, hass: HomeAssistant, effect: UnknownEffect, subject: str, context: Context) -> None:
        raise ToolError("undo_refused")

    @override
    async def async_describe(self, hass: HomeAssistant, language: str, effect: UnknownEffect, moment: Moment) -> str:
        return effect.service.replace("_", " ") if moment is Moment.ASKED else ""
