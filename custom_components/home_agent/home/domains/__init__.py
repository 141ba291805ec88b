"""What is known of each entity domain: one record per domain, found in the modules of this folder."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from ..domain import Domain, Logged

DOMAINS: Mapping[str, Domain] = {
    name: record
    for module in iter_modules(__path__)
    for name, record in import_module(f"{__name__}.{module.name}").DOMAINS.items()
}
"""A domain that is not listed, or has no actions, is read-only."""

RUNNERS = frozenset(name for name, record in DOMAINS.items() if record.is_runner)
"""Domains of what changes others and not itself."""

UNKNOWN = Domain()
"""What is known of the entities of any other domain."""


def domains_logged(kind: Logged) -> tuple[str, ...]:
    """Return the domains whose changes are events of the home, what people control most first."""
    found = [name for name, record in DOMAINS.items() if record.logged is kind]
    return tuple(sorted(found, key=lambda name: DOMAINS[name].rank))
