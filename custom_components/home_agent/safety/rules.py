"""What may happen without asking, what needs the owner's yes, and what never happens: one decision for every tool call.

In this order: what the owner never offers is refused; what the owner always wants to be asked about is asked; in a
conversation that has read text from outside, whatever is sensitive is asked; what the owner never wants to be asked about is
allowed; the rest goes by its class.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from ..const import CONF_ALWAYS_CONFIRM, CONF_NEVER_CONFIRM, CONF_NEVER_OFFER
from ..names import Names
from ..profiles.profile import Profile
from ..turn import Turn
from .plan import ActionClass, Plan
from .tool import HomeAgentTool

DESTRUCTIVE = "destructive"
"""A tool says of itself that it can do harm."""
LISTED = "always_ask"
"""The owner's list says so."""
TAINTED = "tainted"
"""Text from outside the house has entered the conversation."""


class Verdict(StrEnum):
    """What becomes of a call."""

    ALLOW = "allow"
    ASK = "ask"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and its reasons, most telling first: what is done (`Plan.reason`), `always_ask`, `tainted`."""

    action: Verdict
    why: tuple[str, ...] = ()
    subject: str = ""
    """What the owner's list of refusals names: an entity, a service, a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """What an owner has named: entity ids, domains, services and tools; `*` stands for anything."""

    always_ask: tuple[str, ...] = ()
    never_ask: tuple[str, ...] = ()
    never_offer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """The lists of the house; a profile adds its own. What the house always asks about, no profile can take back."""

    house: Lists = field(default_factory=Lists)

    def offers(self, profile: Profile, tool: HomeAgentTool) -> bool:
        """Return whether a model is told of a tool at all."""
        return _names(self.house.never_offer, profile.never_offer).first(_names_of(tool)) is None

    def asks_for(self, profile: Profile, tool: HomeAgentTool) -> bool:
        """Return whether every call of a tool has to be asked about, whatever is said in the conversation."""
        if tool.name in _names(self.house.always_ask, profile.always_ask):
            return True
        spared = _names(self.house.never_ask, profile.never_ask).first(_names_of(tool)) is not None
        return tool.always_asks and not spared

    def decide(self, turn: Turn, tool: HomeAgentTool | None, plan: Plan) -> Decision:
        """Return what becomes of a plan. `tool` is None for a sentence that Home Assistant itself understood."""
        profile = turn.profile
        touched = (*((tool.name,) if tool else ()), *(_touched(plan) if plan.action is not ActionClass.READ else ()))
        if (refused := _names(self.house.never_offer, profile.never_offer).first(touched)) is not None:
            return Decision(Verdict.REFUSE, subject=refused)
        sensitive = plan.action is ActionClass.SENSITIVE
        listed = _names(self.house.always_ask, profile.always_ask).first(touched) is not None
        tainted = sensitive and bool(turn.taints)
        spared = _names(self.house.never_ask, profile.never_ask)
        if listed or tainted or (sensitive and not _is_spared(spared, tool, plan)):
            why = (
                *((plan.reasons or (plan.reason or DESTRUCTIVE,)) if sensitive else ()),
                *((LISTED,) if listed else ()),
                *((TAINTED,) if tainted else ()),
            )
            return Decision(Verdict.ASK, why)
        return Decision(Verdict.ALLOW)


def rules_from_options(options: Mapping[str, object]) -> Rules:
    """Return the rules of an entry's options."""

    def listed(key: str) -> tuple[str, ...]:
        value = options.get(key)
        return tuple(str(item) for item in value) if isinstance(value, list) else ()

    return Rules(
        Lists(
            always_ask=listed(CONF_ALWAYS_CONFIRM),
            never_ask=listed(CONF_NEVER_CONFIRM),
            never_offer=listed(CONF_NEVER_OFFER),
        )
    )


def _names_of(tool: HomeAgentTool) -> tuple[str, ...]:
    return (tool.name, tool.entity_id) if tool.entity_id else (tool.name,)


def _touched(plan: Plan) -> Iterator[str]:
    """Yield what a plan changes and with which services."""
    yield from plan.targets
    for call in plan.calls:
        yield f"{call.domain}.{call.service}"
        yield from call.entity_ids


def _is_spared(spared: Names, tool: HomeAgentTool | None, plan: Plan) -> bool:
    """Return whether the owner never wants to be asked about everything in a plan that is sensitive."""
    if tool is not None and tool.name in spared:
        return True
    concerned: Iterable[str] = (
        plan.sensitive or plan.targets or (f"{call.domain}.{call.service}" for call in plan.calls)
    )
    return spared.cover(concerned)


@lru_cache(maxsize=256)
def _names(house: tuple[str, ...], profile: tuple[str, ...]) -> Names:
    return Names((*house, *profile))
