"""The words in which a domain is described."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import HomeAssistant, State
from homeassistant.util.json import JsonValueType


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


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter of a service that a model may set."""

    read: Reader
    when: Test | None = None
    """Whether this entity has it; None: every one of the domain has."""
    key: str | None = None
    """Its name in the service's data, when it differs from the name that models use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One service as this integration calls it."""

    service: str
    name: str = ""
    """How tables and models call it; the service's own name when empty."""
    fields: Mapping[str, Field] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    feature: int = 0
    """Bits of supported features that it takes, all of them."""
    when: Test | None = None
    """What else it takes."""
    data: Callable[[Subject], Mapping[str, JsonValueType]] | None = None
    """What is always sent along."""

    @property
    def id(self) -> str:
        """Its name in the tables."""
        return self.name or self.service

    def possible(self, subject: Subject) -> bool:
        """Return whether the entity can do it now: the service is there and the entity has what it takes."""
        return (
            subject.features & self.feature == self.feature
            and (self.when is None or self.when(subject))
            and subject.hass.services.has_service(subject.state.domain, self.service)
        )

    def open_fields(self, subject: Subject) -> list[str]:
        """Return the parameters that this entity has."""
        return [name for name, item in self.fields.items() if item.when is None or item.when(subject)]


@dataclass(frozen=True, slots=True)
class Step:
    """One service call on one entity, before it is validated."""

    service: str
    data: Mapping[str, JsonValueType] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What the entities of a domain can do."""

    actions: tuple[Action, ...] = ()
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

    def action(self, name: str) -> Action | None:
        """Return an action by its name or one of its other names."""
        name = self.words.get(name, name)
        return next((action for action in self.actions if action.id == name), None)


def has(feature: int) -> Test:
    """Return whether an entity supports all of these features."""
    return lambda subject: subject.features & feature == feature


def offers(attribute: str, *options: str) -> Test:
    """Return whether an attribute lists one of these options, or any at all when none is named."""

    def test(subject: Subject) -> bool:
        offered = subject.options(attribute)
        return bool(offered) if not options else any(option in offered for option in options)

    return test
