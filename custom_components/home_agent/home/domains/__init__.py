"""The record of each entity domain. The modules of this folder are found by themselves: a new domain is a new file."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules

from ..domain import Domain, Logged

DOMAINS: Mapping[str, Domain] = {
    name: record
    for module in iter_modules(__path__)
    for name, record in import_module(f"{__name__}.{module.name}").DOMAINS.items()
}
"""A domain that is not listed, or has no actions, is read-only."""

UNKNOWN = Domain()
"""The record of all other domains."""


def domains_where(test: Callable[[Domain], object]) -> frozenset[str]:
    """Return the domains whose record passes a test."""
    return frozenset(name for name, record in DOMAINS.items() if test(record))


RUNNERS = domains_where(lambda record: record.is_runner)
"""Domains that change other entities and not themselves."""
SWITCHED = domains_where(lambda record: "turn_on" in record.on and not record.is_runner and not record.runs)
IN_A_ROOM = domains_where(lambda record: record.in_a_room)
READ_ONLY = domains_where(lambda record: not record.actions)
LIGHTS = domains_where(lambda record: record.is_light)
NAMED = domains_where(lambda record: record.is_named)


def domains_logged(kind: Logged) -> tuple[str, ...]:
    """Return the domains whose changes are events of the home, what people control most first."""
    found = [name for name, record in DOMAINS.items() if record.logged is kind]
    return tuple(sorted(found, key=lambda name: DOMAINS[name].rank))
