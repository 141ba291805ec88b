"""Whether a sensitive action has the owner's yes.

The step is part of every call. Until there is a way to ask, no sensitive action has been confirmed, and nothing that
a model says or passes as an argument can change that.
"""

from typing import Protocol

from ..errors import ToolError
from ..turn import Turn
from .plan import Plan


class Confirmation(Protocol):
    """Decides about sensitive plans."""

    def check(self, turn: Turn, plan: Plan) -> None:
        """Return when the plan is confirmed for this user and conversation; raise `ToolError` when it is not."""
        ...


class RefuseSensitive:
    """Nothing sensitive happens: the answer is that it needs confirmation."""

    def check(self, turn: Turn, plan: Plan) -> None:
        """Raise `ToolError` with what is needed for the plan."""
        raise ToolError("needs_confirmation", target=", ".join(plan.targets))
