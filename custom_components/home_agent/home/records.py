"""How the records in domains/ are written: actions, tests of an entity, goals, and what is alike in several records."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from homeassistant.const import ATTR_SUPPORTED_FEATURES, STATE_UNKNOWN

from .domain import Action, Domain, Field, Goal, ReadValue, Subject, Test
from .tolerance import Tolerance

DOORS = ("lock", "cover", ".door", ".garage_door", ".window", ".lock", ".opening")
"""How the kinds of things begin that a lock or a cover may be called by."""


def plain(*services: str) -> dict[str, Action]:
    """Return the actions of services without parameters."""
    return {service: Action(service) for service in services}


def setting(service: str, name: str, item: Field, feature: int = 0) -> dict[str, Action]:
    """Return the action of a service that takes one parameter, and needs it."""
    return {service: Action(service, feature, {name: item}, (name,))}


def shown(service: str, name: str, read: ReadValue, tolerance: Tolerance, feature: int = 0) -> dict[str, Action]:
    """Return the action of a service whose only parameter is shown by the attribute of the same name."""
    return setting(service, name, Field(read, shows=(name, tolerance)), feature)


def exchanged(given: Mapping[str, object], name: str, new: str, value: object) -> dict[str, object]:
    """Return parameters with `name` replaced by another one."""
    return {**{key: item for key, item in given.items() if key != name}, new: value}


def has(feature: int) -> Test:
    """Return a test for all of these features."""
    return lambda subject: subject.features & feature == feature


def offers(attribute: str, *options: str) -> Test:
    """Return a test for an attribute that lists one of these options, or any option if none is given."""

    def test(subject: Subject) -> bool:
        offered = subject.options(attribute)
        return bool(offered) if not options else any(option in offered for option in options)

    return test


def is_in(*states: str, unless: Collection[str] = ()) -> Callable[[Subject], bool | None]:
    """Return a test for one of these states, or for none of `unless`; it returns None if the state is unknown."""

    def is_on(subject: Subject) -> bool | None:
        state = subject.state.state
        if state == STATE_UNKNOWN:
            return None
        return state in states if states else state not in unless

    return is_on


def either(on: Collection[str], off: Collection[str]) -> Callable[[Subject], bool | None]:
    """Return a test that is true for the first states, false for the second and None for others."""

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
    """Return a function that yields the words of the features that an entity has."""

    def found(attributes: Mapping[str, Any]) -> Iterable[str]:
        features = attributes.get(ATTR_SUPPORTED_FEATURES)
        return [word for flags, word in words if features & flags] if isinstance(features, int) else []

    return found


ON_OFF = frozenset({"on", "off"})
OPEN_CLOSED = frozenset({"open", "closed"})
LOCKED_UNLOCKED = frozenset({"locked", "unlocked"})
"""Opposites, for `Domain.told_as`."""
SWITCHED: Mapping[str, Goal] = {"turn_on": at("on"), "turn_off": at("off")}
SWITCHABLE = Domain(
    actions=plain("turn_on", "turn_off", "toggle"),
    on=("turn_on",),
    off=("turn_off",),
    toggle=("toggle",),
    goals=SWITCHED,
    back={"on": "turn_on", "off": "turn_off"},
    told_as=ON_OFF,
)
"""The record of a domain that is turned on and off and does nothing else."""
