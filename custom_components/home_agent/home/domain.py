"""The record of an entity domain: everything that Home Agent knows about it.

Each file in domains/ has one record or a few related ones. All other modules read the records and know no domain by name.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import HomeAssistant, State
from homeassistant.util.json import JsonObjectType, JsonValueType

from ..support.errors import ToolRefusal
from .tolerance import Leads, Tolerance


@dataclass(frozen=True, slots=True)
class Subject:
    """The entity that is to do something, as it is now."""

    hass: HomeAssistant
    state: State

    @property
    def features(self) -> int:
        """The bits of its supported features."""
        value = self.state.attributes.get(ATTR_SUPPORTED_FEATURES)
        return int(value) if isinstance(value, int) else 0

    def attribute(self, name: str) -> Any:
        """Return an attribute, or None if it is missing."""
        return self.state.attributes.get(name)

    def options(self, name: str) -> list[str]:
        """Return an attribute that lists choices, as text; empty if it is missing."""
        value = self.attribute(name)
        return [str(option) for option in value] if isinstance(value, (list, tuple, set, frozenset)) else []


type ReadValue = Callable[[object, Subject], JsonValueType]
"""Converts a value from a model to the service's own; raises `ToolRefusal` if it is invalid."""

type Test = Callable[[Subject], bool]

type Rewrite = Callable[[Subject, dict[str, object]], dict[str, object]]
"""Renames parameters by their values."""

type Build = Callable[[Subject, str, dict[str, object]], Sequence[ServiceStep] | None]
"""Plans an action (second argument) that no table describes; None leaves it to the table."""

type Sensitive = Callable[[State | None, str, Mapping[str, Any]], str | None]
"""Returns why a service with its data needs confirmation (turn/plan.py), or None."""

type ComesTo = Callable[[State | None, str, Mapping[str, Any]], Iterable[str]]
"""Returns the services that a service with its data is another name of: a position opens or closes."""

type Restore = Callable[[Snapshot, State, set[str]], list[ServiceStep] | None]
"""Returns the steps that restore an entity, from its snapshot, its state and the aspects that differ; None if impossible."""


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter of a service that a model may set."""

    read: ReadValue
    when: Test | None = None
    """Whether an entity has it; None if all do."""
    key: str | None = None
    """Its name in the service's data, if models use another."""
    shows: tuple[str, Tolerance] | None = None
    """The attribute (or `state`) that shows it, and its tolerance."""
    back: Callable[[Any], JsonValueType] | None = None
    """Converts the attribute to the service's value, if they differ."""


@dataclass(frozen=True, slots=True)
class Action:
    """One service as this integration calls it."""

    service: str
    feature: int = 0
    """Bits of supported features that it needs, all of them."""
    fields: Mapping[str, Field] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    when: Test | None = None
    """A further condition."""
    data: Callable[[Subject], Mapping[str, JsonValueType]] | None = None
    """Data that is always sent."""
    together: frozenset[str] = frozenset()
    """Fields that are only sent together."""

    def open_fields(self, subject: Subject) -> list[str]:
        """Return the parameters that an entity has."""
        return [name for name, item in self.fields.items() if item.when is None or item.when(subject)]


@dataclass(frozen=True, slots=True)
class ServiceStep:
    """One service call on one entity, before it is validated."""

    service: str
    data: Mapping[str, JsonValueType] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An earlier state of an entity, with the attributes that can be restored."""

    state: str
    attributes: Mapping[str, JsonValueType]

    def as_state(self, entity_id: str) -> State:
        """Return it as a state."""
        return State(entity_id, self.state, dict(self.attributes), validate_entity_id=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The states that a service leads to."""

    one_of: frozenset[str] = frozenset()
    none_of: frozenset[str] = frozenset()
    under_way: frozenset[str] = frozenset()
    """States on the way there: a shutter is not waited for."""
    says_enough: bool = True
    """False if an attribute is needed, too."""


@dataclass(frozen=True, slots=True)
class Details:
    """An action that reads more than the state has."""

    service: str
    rows: str
    """The key in its response."""
    data: Callable[[State, Collection[str]], Mapping[str, Any] | None]
    """Its data, from the state and the attributes that were asked for; None if there is nothing to read."""


@dataclass(frozen=True, slots=True)
class Run:
    """A service that runs something the owner wrote, such as an automation."""

    refused: Callable[[State, Mapping[str, Any]], ToolRefusal | None]
    """Why it may not run now, from its state and the service's data, or None."""
    held_back: Callable[[State], ToolRefusal]
    """Why nothing ran although it was called, from its state before."""


class Logged(StrEnum):
    """Which changes of an entity are events of the home."""

    ALWAYS = "always"
    """All changes, also those of an unknown user."""
    BY_USER = "by_user"
    """Changes made by a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What is known of the entities of a domain."""

    # What they can do.
    actions: Mapping[str, Action] = field(default_factory=dict)
    """By the name that tables and models use; without any the domain is read-only."""
    on: tuple[str, ...] = ()
    """Names of the actions that `turn_on` may mean; the first possible one is taken."""
    off: tuple[str, ...] = ()
    toggle: tuple[str, ...] = ()
    is_on: Callable[[Subject], bool | None] | None = None
    """Resolves `toggle` to on or off while planning, so that the checked action is the one that runs; None if unknown."""
    values: tuple[str, ...] = ()
    """Names of the actions that set something, in the order in which they are called."""
    value: Callable[[Subject], str] | str | None = None
    """The parameter that a bare `value` means."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of parameters."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Other names of actions."""
    states: Mapping[str, str] = field(default_factory=dict)
    """Actions that lead to a state, where on and off are not what the state's name says elsewhere."""
    rewrite: Rewrite | None = None
    build: Build | None = None
    own: Mapping[str, str] = field(default_factory=dict)
    """The services that Home Assistant's sentences use for `turn_on` and `turn_off`."""
    has_members: bool = True
    """False if its `entity_id` attribute lists what it changes rather than its members."""
    is_runner: bool = False
    """It changes other entities: these are verified and restored instead."""
    runs: Mapping[str, Run] = field(default_factory=dict)
    """Services that run something the owner wrote and leave the entity itself as it is; not of runners."""

    # What is told of them.
    line: tuple[str, ...] = ()
    """Attributes on their line in the prompt."""
    attributes: tuple[str, ...] = ()
    """Attributes that matter in the result of a tool."""
    details: Details | None = None
    computed: Callable[[State], JsonObjectType] | None = None
    """What is computed from a state when it is asked for."""
    search_words: Callable[[Mapping[str, Any]], Iterable[str]] | None = None
    """English search words for what an entity with these attributes can do."""
    rank: int = 99
    """Its place among the domains: the most used come first."""
    holds_text: bool = False
    """Its state, items or events are texts of people."""
    holds_times: bool = False
    """What is set is a day or a time, or has one: its actions may have any words as values."""
    others_write: bool = False
    """People outside the home may have written its items, events and attributes."""
    others_attributes: tuple[str, ...] = ()
    """Attributes that people outside the home may have written: titles, notes of a release."""
    logged: Logged | None = None

    # What a call leads to.
    goals: Mapping[str, Goal] = field(default_factory=dict)
    """By service."""
    off_at_zero: tuple[str, ...] = ()
    """Keys whose zero turns it off, as Home Assistant has it."""
    leads: Leads | None = None
    """The effect of services without a value: steps, end positions."""
    alternates: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    """Services that do one of two others: a state, the service in that state, the service in all others."""

    is_done: Callable[[HomeAssistant, State, str, Mapping[str, Any]], bool] | None = None
    """Whether a service with this data would change nothing, if the state does not show it."""

    # How they are brought back.
    kept: tuple[str, ...] = ()
    """Attributes that the journal keeps because they can be restored."""
    back: Mapping[str, str] = field(default_factory=dict)
    """The service that leads to a state, without data."""
    sets_state: tuple[str, str] | None = None
    """Service and key that set the state as a value."""
    is_number: bool = False
    """Its state is sent as a number."""
    wakes: str = ""
    """The service that has to be called first while it is off."""
    stop: str = ""
    """The service that stops its movement."""
    restore: Restore | None = None

    # What needs the user's yes.
    sensitive: Sensitive | None = None
    known: frozenset[str] = frozenset()
    """Further services of which it is known what they do."""
    guards: bool = False
    """It keeps people, water or danger out: a service that is not known here counts as one that opens it."""
    wary: Callable[[State | None, str, Mapping[str, Any]], bool] | None = None
    """Whether a service with its data needs confirmation once text from outside has entered the conversation."""
    comes_to: ComesTo | None = None
    destructive: frozenset[str] = frozenset()
    """Services that need confirmation although their names do not suggest it."""
    harmless: frozenset[str] = frozenset()
    """Services that need none although their names suggest it."""

    # What people mean and say.
    in_a_room: bool = False
    """“Everything in the kitchen” includes it. Never what locks, opens, arms, moves or heats."""
    is_light: bool = False
    """“Turn off the kitchen” means these, if there are any."""
    keeps_out: bool = False
    """“Lock the doors” means those of the whole home, not only of the room."""
    told_as: frozenset[str] = frozenset()
    """Words for its states: `on`, `off`, `open`, `closed`, `locked`, `unlocked`, `playing`."""
    becomes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By what is said to become of it ("open", "done", "playing"), its states then; others are those of `told_as`."""
    is_never_done: bool = False
    """Switched off, it is off: what is done is a machine."""
    not_told_as: frozenset[str] = frozenset()
    """Words for what it can be although its state does not show it: a lock may be open."""
    asked_last: bool = False
    """A question is about it if its words mean nothing else: a remote control has the name of its television."""
    alike: tuple[str, ...] = ()
    """Device classes that people use interchangeably."""
    state_is_told: bool = True
    """False if its state means nothing to people: the time of the last press, a number of items."""
    acts_unseen: bool = False
    """Its effects on other entities are unknown."""
    is_setting: bool = False
    """Most of them are settings or diagnostics of a device."""
    is_verb: bool = False
    """Its name is more often a verb: "switch"."""
    is_named: bool = True
    """False if its name is an everyday word that rarely means it: "time", "counter"."""
    called_like: tuple[str, ...] = ()
    """How the kinds of things begin that a guarded one may be called by; empty: it may have any name of its own."""
    says_little: bool = False
    """Words for it say too little of what a thing is: "number"."""
    stands_for: bool = False
    """It is called like the thing behind it: a plug is "the lamp"."""

    def action(self, name: str) -> Action | None:
        """Return an action by its name or one of its other names."""
        return self.actions.get(self.words.get(name, name))

    @property
    def services(self) -> frozenset[str]:
        """The services of which it is known what they do."""
        named = (action.service for action in self.actions.values())
        return frozenset((*named, *self.goals, *self.back.values(), *self.alternates, *self.harmless, *self.known))

    @property
    def switches_at_once(self) -> bool:
        """Whether on and off are its states and are reached without delay."""
        return all(self.goals.get(f"turn_{state}") == Goal(one_of=frozenset({state})) for state in ("on", "off"))
