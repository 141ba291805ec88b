"""The record of an entity domain: all that Home Agent knows of it, and the words it is written in.

Each file in domains/ fills one record or a family of them; planning (actions.py), rendering and undoing
(states.py) read them and know no domain by its name.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from homeassistant.const import ATTR_SUPPORTED_FEATURES, STATE_UNKNOWN
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
        """Return one attribute, None when it is missing."""
        return self.state.attributes.get(name)

    def options(self, name: str) -> list[str]:
        """Return an attribute that lists choices, as text; empty when there is none."""
        value = self.attribute(name)
        return [str(option) for option in value] if isinstance(value, (list, tuple, set, frozenset)) else []


type Reader = Callable[[object, Subject], JsonValueType]
"""Turns what a model wrote into what the service takes; raises `ToolRefusal` when it cannot."""

type Test = Callable[[Subject], bool]

type Rewrite = Callable[[Subject, dict[str, object]], dict[str, object]]
"""Renames parameters by what stands in them."""

type Build = Callable[[Subject, str, dict[str, object]], Sequence[Step] | None]
"""Plans an action (second argument) of an entity that fits no table; None: the table plans it."""

type Sensitive = Callable[[State | None, str, Mapping[str, Any]], str | None]
"""Returns why a service with its data needs the user's yes now (turn/plan.py), None when it does not."""

type Restore = Callable[[Snapshot, State, set[str]], list[Step] | None]
"""Returns the steps that bring an entity back, from what it was, what it is and the aspects that differ; None: no way."""


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter of a service that a model may set."""

    read: Reader
    when: Test | None = None
    """Whether this entity has it; None: every one of the domain has."""
    key: str | None = None
    """Its name in the service's data, when it differs from the name that models use."""
    shows: tuple[str, Tolerance] | None = None
    """The attribute (or `state`) that shows it, and how near it has to come."""
    back: Callable[[Any], JsonValueType] | None = None
    """Turns what the attribute shows into what the service takes, where that is not the same."""


@dataclass(frozen=True, slots=True)
class Action:
    """One service as this integration calls it."""

    service: str
    feature: int = 0
    """Bits of supported features that it takes, all of them."""
    fields: Mapping[str, Field] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    when: Test | None = None
    """What else it takes."""
    data: Callable[[Subject], Mapping[str, JsonValueType]] | None = None
    """What is always sent along."""
    together: frozenset[str] = frozenset()
    """Fields that go along with each other."""

    def open_fields(self, subject: Subject) -> list[str]:
        """Return the parameters that this entity has."""
        return [name for name, item in self.fields.items() if item.when is None or item.when(subject)]


@dataclass(frozen=True, slots=True)
class Step:
    """One service call on one entity, before it is validated."""

    service: str
    data: Mapping[str, JsonValueType] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An entity as it was: its state and what can be restored of its attributes."""

    state: str
    attributes: Mapping[str, JsonValueType]

    def as_state(self, entity_id: str) -> State:
        """Return it as a state."""
        return State(entity_id, self.state, dict(self.attributes), validate_entity_id=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """States in which an entity is where it was sent."""

    one_of: frozenset[str] = frozenset()
    none_of: frozenset[str] = frozenset()
    under_way: frozenset[str] = frozenset()
    """States in which it is going there: nobody waits for a shutter."""
    says_enough: bool = True
    """False: it takes an attribute as well to know."""


@dataclass(frozen=True, slots=True)
class Details:
    """An action that reads more of an entity than its state has."""

    service: str
    rows: str
    """Where they stand in its response."""
    data: Callable[[State, Collection[str]], Mapping[str, Any] | None]
    """What it is sent, from the state and the attributes that were asked for; None: there is nothing to read."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of a service that runs what somebody wrote."""

    refused: Callable[[State, Mapping[str, Any]], ToolRefusal | None]
    """Why it may not run now, from its state and the service's data; None: it may."""
    held_back: Callable[[State], ToolRefusal]
    """Why nothing ran though it was called, from its state before."""


class Logged(StrEnum):
    """Which changes of an entity are events of the home."""

    ALWAYS = "always"
    """Also when nobody knows who asks."""
    BY_USER = "by_user"
    """Those that a user made: to such an entity a user does something."""


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
    """With it `toggle` becomes on or off here and now, so that what was checked is what is done; None: not known."""
    values: tuple[str, ...] = ()
    """Names of the actions that set something, in the order in which they are called."""
    value: Callable[[Subject], str] | str | None = None
    """The parameter that a bare `value` means."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names that models give to parameters."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Other names that models give to actions."""
    states: Mapping[str, str] = field(default_factory=dict)
    """Actions that lead to a state, where on and off are not what the state's name says elsewhere."""
    rewrite: Rewrite | None = None
    build: Build | None = None
    own: Mapping[str, str] = field(default_factory=dict)
    """What Home Assistant's own sentences make of `turn_on` and `turn_off`."""
    has_members: bool = True
    """False: its `entity_id` is what the owner chose to touch, not who belongs to it."""
    is_runner: bool = False
    """What it does happens to others: they are watched, and brought back instead of it."""
    runs: Mapping[str, Run] = field(default_factory=dict)
    """Of what is no runner: services that do what somebody wrote into it and leave itself as it is."""

    # What is told of them.
    line: tuple[str, ...] = ()
    """Attributes on their line in the prompt."""
    attributes: tuple[str, ...] = ()
    """Attributes that matter in the result of a tool."""
    details: Details | None = None
    computed: Callable[[State], JsonObjectType] | None = None
    """What is worked out from a state at the moment of asking."""
    search_words: Callable[[Mapping[str, Any]], Iterable[str]] | None = None
    """What one with these attributes can do beyond what its domain says, in English words that somebody may look for."""
    rank: int = 99
    """Its place among the others: what people control most comes first."""
    holds_text: bool = False
    """Its state, items or events are what somebody wrote or said."""
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
    """What its services lead to that have no key for it: steps, ends of a way."""
    alternates: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    """Services that do one of two others: the state, what is called in it, what in any other."""

    is_done: Callable[[HomeAssistant, State, str, Mapping[str, Any]], bool] | None = None
    """Whether an entity is already what a service with this data makes of it, where that is not seen in its state."""

    # How they are brought back.
    kept: tuple[str, ...] = ()
    """Attributes that the journal keeps: those that can be restored."""
    back: Mapping[str, str] = field(default_factory=dict)
    """The service that leads to a state, without data."""
    sets_state: tuple[str, str] | None = None
    """Service and key that set the state as a value."""
    is_number: bool = False
    """Its state is sent as a number."""
    wakes: str = ""
    """The service that comes before any other while it is off."""
    stop: str = ""
    """The service that stops it on its way, for what has a position."""
    restore: Restore | None = None

    # What needs the user's yes.
    sensitive: Sensitive | None = None
    destructive: frozenset[str] = frozenset()
    """Services that need a yes though their names do not say so."""
    harmless: frozenset[str] = frozenset()
    """Services that need none though their names say so."""

    # What people mean and say.
    in_a_room: bool = False
    """“Everything in the kitchen” includes it. Never what locks, opens, arms, moves or heats."""
    is_light: bool = False
    """“Turn off the kitchen” means these, if there are any."""
    keeps_out: bool = False
    """“Lock the doors” means those of the whole home, not only of the room."""
    told_as: frozenset[str] = frozenset()
    """Words for its states: `on`, `off`, `open`, `closed`, `locked`, `unlocked`, `playing`."""
    not_told_as: frozenset[str] = frozenset()
    """Words for what it can be although its state does not show it: a lock may be open."""
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

    def action(self, name: str) -> Action | None:
        """Return an action by its name or one of its other names."""
        return self.actions.get(self.words.get(name, name))

    @property
    def turns_on(self) -> bool:
        """Whether `turn_on` is one of its actions."""
        return "turn_on" in self.on

    @property
    def switches_at_once(self) -> bool:
        """Whether on and off are its states and are reached without delay."""
        return self.goals.get("turn_on") == SWITCHED["turn_on"] and self.goals.get("turn_off") == SWITCHED["turn_off"]


def plain(*services: str) -> dict[str, Action]:
    """Return the actions of services without parameters."""
    return {service: Action(service) for service in services}


def setting(service: str, name: str, item: Field, feature: int = 0) -> dict[str, Action]:
    """Return the action of a service that takes one parameter, and needs it."""
    return {service: Action(service, feature, {name: item}, (name,))}


def exchanged(given: Mapping[str, object], name: str, new: str, value: object) -> dict[str, object]:
    """Return parameters with another one in the place of `name`."""
    return {**{key: item for key, item in given.items() if key != name}, new: value}


def has(feature: int) -> Test:
    """Return whether an entity supports all of these features."""
    return lambda subject: subject.features & feature == feature


def offers(attribute: str, *options: str) -> Test:
    """Return whether an attribute lists one of these options, or any at all when none is named."""

    def test(subject: Subject) -> bool:
        offered = subject.options(attribute)
        return bool(offered) if not options else any(option in offered for option in options)

    return test


def is_in(*states: str, unless: Collection[str] = ()) -> Callable[[Subject], bool | None]:
    """Return whether the state is one of these, or none of `unless`; None where it is unknown."""

    def is_on(subject: Subject) -> bool | None:
        state = subject.state.state
        if state == STATE_UNKNOWN:
            return None
        return state in states if states else state not in unless

    return is_on


def either(on: Collection[str], off: Collection[str]) -> Callable[[Subject], bool | None]:
    """Return whether the state is one of the first or one of the second; None where it is neither."""

    def is_on(subject: Subject) -> bool | None:
        state = subject.state.state
        return True if state in on else False if state in off else None

    return is_on


def at(*states: str, under_way: Collection[str] = ()) -> Goal:
    """Return the goal to be in one of these states."""
    return Goal(one_of=frozenset(states), under_way=frozenset(under_way))


def away_from(*states: str) -> Goal:
    """Return the goal to be in none of these states."""
    return Goal(none_of=frozenset(states))


def features_as_words(*words: tuple[int, str]) -> Callable[[Mapping[str, Any]], Iterable[str]]:
    """Return the words of those features of which an entity has at least one bit."""

    def found(attributes: Mapping[str, Any]) -> Iterable[str]:
        features = attributes.get(ATTR_SUPPORTED_FEATURES)
        return [word for flags, word in words if features & flags] if isinstance(features, int) else []

    return found


ON_OFF = frozenset({"on", "off"})
OPEN_CLOSED = frozenset({"open", "closed"})
LOCKED_UNLOCKED = frozenset({"locked", "unlocked"})
"""Opposites, for `Domain.told_as`."""
SWITCHED: Mapping[str, Goal] = {"turn_on": at("on"), "turn_off": at("off")}
SWITCHED_BACK: Mapping[str, str] = {"on": "turn_on", "off": "turn_off"}
