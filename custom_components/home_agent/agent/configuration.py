"""What the owner has set, read from the entry at one time, and how two of these differ."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from homeassistant.config_entries import ConfigEntry

from ..policy.confirmation import TIMEOUT
from ..policy.policy import THROTTLE_TURNS, Rules, rules_from_options
from ..policy.write import DEFAULT_SECONDS
from ..settings.endpoint import EndpointConfig, endpoint_from_data
from ..settings.memory import MemorySettings
from ..settings.profile import Profile, default_settings, profile_from_data, profile_ids
from ..settings.search import RetrievalSettings
from ..support.const import (
    CONF_ALLOWED_ENTITIES,
    CONF_AUDIT_LOG,
    CONF_CONFIRM_TIMEOUT,
    CONF_DEBUG_LOGGING,
    CONF_DELEGATION_AGENTS,
    CONF_DELEGATION_DEPTH,
    CONF_EXTENSIONS_OFF,
    CONF_PINS,
    CONF_THROTTLE_TURNS,
    CONF_VERIFY_SECONDS,
    SUBENTRY_CUSTOM_TOOL,
    SUBENTRY_LLM,
    SUBENTRY_MCP_SERVER,
    SUBENTRY_PROFILE,
)
from ..support.http import EgressPolicy
from ..tools.delegation import DEPTH

type TitledData = tuple[str, Mapping[str, Any]]
"""Title and data of a subentry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The owner's settings. Mappings are by subentry id, in the order in which the owner added them."""

    profiles: Mapping[str, Profile]
    models: Mapping[str, EndpointConfig]
    custom_tools: Mapping[str, TitledData]
    servers: Mapping[str, TitledData]
    options: Mapping[str, Any]
    retrieval: RetrievalSettings
    memory: MemorySettings
    rules: Rules
    pins: Mapping[str, str]  # by what they guard
    confirm_seconds: int  # until a question expires
    verify_seconds: float
    egress: EgressPolicy
    delegation_agents: tuple[str, ...]
    """Entity ids of agents of other integrations that may be asked."""
    delegation_depth: int
    extensions_off: tuple[str, ...]
    allowed_entities: tuple[str, ...]
    throttle: int  # turns per minute
    debug_log: bool
    audit_log: bool

    @classmethod
    def of(cls, entry: ConfigEntry[Any], before: Self | None = None) -> Self:
        """Return the settings of an entry; profiles equal to those of `before` are the same objects. Raises for invalid data."""
        options = entry.options
        return cls(
            profiles=_profiles(entry, before.profiles if before is not None else {}),
            models={
                subentry.subentry_id: endpoint_from_data(subentry.subentry_id, subentry.title, subentry.data)
                for subentry in entry.get_subentries_of_type(SUBENTRY_LLM)
            },
            custom_tools=_written(entry, SUBENTRY_CUSTOM_TOOL),
            servers=_written(entry, SUBENTRY_MCP_SERVER),
            options=options,
            retrieval=RetrievalSettings.from_options(options),
            memory=MemorySettings.from_options(options),
            rules=rules_from_options(options),
            pins=dict(options.get(CONF_PINS) or {}),
            confirm_seconds=int(options.get(CONF_CONFIRM_TIMEOUT, TIMEOUT)),
            verify_seconds=float(options.get(CONF_VERIFY_SECONDS, DEFAULT_SECONDS)),
            egress=EgressPolicy.from_options(options),
            delegation_agents=tuple(options.get(CONF_DELEGATION_AGENTS, ())),
            delegation_depth=int(options.get(CONF_DELEGATION_DEPTH, DEPTH)),
            extensions_off=tuple(options.get(CONF_EXTENSIONS_OFF, ())),
            allowed_entities=tuple(options.get(CONF_ALLOWED_ENTITIES, ())),
            throttle=int(options.get(CONF_THROTTLE_TURNS, THROTTLE_TURNS)),
            debug_log=bool(options.get(CONF_DEBUG_LOGGING)),
            audit_log=bool(options.get(CONF_AUDIT_LOG)),
        )

    @property
    def lookup(self) -> tuple[RetrievalSettings, MemorySettings]:
        """What search and memory depend on."""
        return self.retrieval, self.memory

    def since(self, before: Configuration) -> Difference:
        """Return what differs from `before`."""
        return Difference(
            **{
                item.name: frozenset(_changed(getattr(before, item.name), getattr(self, item.name)))
                for item in fields(Difference)
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Subentry ids of what was added, changed or removed."""

    profiles: frozenset[str]
    models: frozenset[str]
    custom_tools: frozenset[str]
    servers: frozenset[str]


def _changed(before: Mapping[str, object], now: Mapping[str, object]) -> set[str]:
    return {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}


def _written(entry: ConfigEntry[Any], kind: str) -> dict[str, TitledData]:
    return {item.subentry_id: (item.title, item.data) for item in entry.get_subentries_of_type(kind)}


def _profiles(entry: ConfigEntry[Any], before: Mapping[str, Profile]) -> dict[str, Profile]:
    """Return the profiles by subentry id; each knows its id, whether its owner chose one or not."""
    defaults = default_settings(entry.options)
    profiles = [
        profile_from_data(subentry.subentry_id, subentry.title, defaults, subentry.data)
        for subentry in entry.get_subentries_of_type(SUBENTRY_PROFILE)
    ]
    ids = profile_ids((profile.profile_id, profile.name) for profile in profiles)
    made = {profile.subentry_id: replace(profile, profile_id=id_) for profile, id_ in zip(profiles, ids, strict=True)}
    return {key: known if (known := before.get(key)) == profile else profile for key, profile in made.items()}
