"""What may happen without asking, what needs the owner's yes, and what never happens: one decision for every tool call.

In this order: what the owner never offers is refused; what the owner always wants to be asked about is asked; in a
conversation that has read text from outside, whatever is sensitive is asked; what the owner never wants to be asked about is allowed;
the rest goes by its class.
"""

from dataclasses import dataclass
from enum import StrEnum

from ..turn import Turn
from .plan import ActionClass, Plan
from .tool import HomeAgentTool

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


class Rules:
    """The owner's lists of the house, and what is sensitive by nature; a profile has lists of its own."""

    def decide(self, turn: Turn, tool: HomeAgentTool | None, plan: Plan) -> Decision:
        """Return what becomes of a plan. `tool` is None for a sentence that Home Assistant itself understood."""
        if plan.action is ActionClass.SENSITIVE:
            return Decision(Verdict.ASK, (plan.reason or "destructive",))
        return Decision(Verdict.ALLOW)
