"""What is known about one user input, from its arrival to the answer.

Handed down by `conversation.py`; tools and the policy find the turn they belong to through `current_turn`, because
Home Assistant keeps the tool objects of a conversation's first turn (its prompt freeze) while the turn changes.
"""

from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
import time

from homeassistant.auth.models import User
from homeassistant.components.conversation import ConversationInput
from homeassistant.core import Context

from .client.base import Usage
from .profiles.profile import Profile

current_turn: ContextVar[Turn] = ContextVar("home_agent_turn")
"""The turn whose tools are running; tasks that the chat log starts inherit it."""


class Origin(StrEnum):
    """Where an answer came from."""

    MODEL = "model"
    LOCAL = "local"
    NOTICE = "notice"
    """A sentence of our own: an error, or what would help."""


class Effect(StrEnum):
    """What became of an entity that was written to (safety/verify.py)."""

    REACHED = "reached"
    """It is what was asked for."""
    CHANGED = "changed"
    """It is on its way, or came to something else."""
    UNCHANGED = "unchanged"
    """Nothing of it is different from before."""
    UNAVAILABLE = "unavailable"
    """It cannot be reached, or is gone."""
    DONE = "done"
    """The call returned; a state cannot show more, or nobody looked."""
    FAILED = "failed"
    """The call raised."""


@dataclass(slots=True, kw_only=True)
class ToolCallRecord:
    """One tool call of the turn, for the response of `home_agent.process` and for events. No results, no texts."""

    tool_name: str
    parameters: dict[str, object]
    """Masked."""
    success: bool
    duration_ms: int
    error: str | None = None
    """The error class, when it failed."""


@dataclass(slots=True, kw_only=True)
class Turn:
    """One user input and its answer."""

    profile: Profile
    conversation_id: str
    text: str
    language: str
    context: Context
    """Who asked; every service call carries it."""
    user: User | None = None
    """None: nobody is known (a satellite, an automation); exposure alone decides then."""
    device_id: str | None = None
    satellite_id: str | None = None
    area_id: str | None = None
    """Area of the asking device."""
    agent_id: str = ""
    """Entity id of the profile's conversation entity."""
    spoken: bool = False
    """The answer goes to a loudspeaker."""
    extra_system_prompt: str | None = None
    endpoint_id: str = ""
    """Subentry id of the model that is asked; empty as long as none is."""
    mask: Callable[[str], str] | None = field(default=None, repr=False)
    """Hides personal data on the way to that model; None: nothing is hidden."""
    events_in_prompt: bool = False
    """The instructions of this conversation were just made, and hold the events that were asked for."""
    context_entities: list[str] | None = None
    """Entities that `home_agent.process` named instead of the profile's own list."""
    direct: bool = False
    """Somebody said this; it does not come from a tool, script or automation that another turn started."""
    confirm_via: tuple[str, ...] = ()
    """Where else a confirmation may be asked for: `repairs`, `mobile_app`, notify actions."""
    request_id: str | None = None
    """The confirmation that this turn has to ask for (safety/confirmation.py)."""

    started: float = field(default_factory=time.perf_counter)
    origin: Origin = Origin.MODEL
    requests: int = 0
    """How often the model was asked."""
    calls_started: int = 0
    """Tool calls so far, the refused ones included."""
    calls: list[ToolCallRecord] = field(default_factory=list)
    acted: bool = False
    """Something was done; not when the house shows that nothing became of it."""
    effects: dict[str, Effect] = field(default_factory=dict)
    """By entity id, of all writes so far."""
    usage: Usage = field(default_factory=Usage)
    used_external_llm: bool = False
    taints: set[str] = field(default_factory=set)
    """Tools whose results brought text from outside into this conversation; the session's own set."""

    @property
    def duration_ms(self) -> int:
        """Milliseconds since the input arrived."""
        return round((time.perf_counter() - self.started) * 1000)

    @property
    def answerable(self) -> bool:
        """Whether anybody can be asked for a confirmation."""
        speaks = self.user is not None or self.device_id is not None or self.satellite_id is not None
        return bool(self.confirm_via) or (self.direct and speaks)

    @property
    def tool_breakdown(self) -> dict[str, int]:
        """Calls per tool name."""
        return dict(Counter(call.tool_name for call in self.calls))

    @property
    def calls_left(self) -> int:
        """How many tool calls the turn may still start."""
        return self.profile.max_calls_per_turn - self.calls_started

    @classmethod
    def from_input(cls, user_input: ConversationInput, profile: Profile, conversation_id: str) -> Turn:
        """Return the turn of an input; user and area are filled in by the caller."""
        return cls(
            profile=profile,
            conversation_id=conversation_id,
            text=user_input.text,
            language=user_input.language,
            context=user_input.context,
            device_id=user_input.device_id,
            satellite_id=user_input.satellite_id,
            agent_id=user_input.agent_id,
            extra_system_prompt=user_input.extra_system_prompt,
        )
