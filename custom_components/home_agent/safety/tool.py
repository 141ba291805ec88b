"""The form of our own tools: arguments become a plan, the policy decides, the tool runs the plan."""

from abc import abstractmethod
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType

from ..const import DOMAIN
from ..errors import ToolError
from ..turn import Turn
from .plan import Plan
from .write import Made


class ToolRefusal(ToolError):
    """A tool cannot do what it was asked; the sentence tells the model what would work instead."""

    def __init__(self, sentence: str) -> None:
        """Keep the sentence; it is also the placeholder `detail` of the translated error."""
        super().__init__("tool_refused", detail=sentence)
        self.sentence = sentence

    @override
    def __str__(self) -> str:
        """Return the sentence itself: a model is not a user whose language is known to translations."""
        return self.sentence


class ToolNotFoundError(ToolRefusal):
    """Nobody has a tool of that name."""


class ToolArgumentsError(ToolRefusal):
    """The arguments are none, or not those that the tool takes."""


class ToolLimitError(ToolRefusal):
    """More calls than one request may make."""


class HomeAgentTool(llm.Tool):
    """A tool whose effects are known before it runs.

    The policy (safety/policy.py) calls `plan`, checks exposure, permission and confirmation of everything in it, and
    then `run`. Neither may raise anything but `HomeAssistantError`; `ToolError` carries the sentence for the model.
    """

    integration = DOMAIN
    guide: str | None = None
    """What a model has to know to use it, besides its description; tools of the same origin share one, which is told once."""
    judges_calls = False
    """Its plans tell sensitive calls from ordinary ones; otherwise what its annotations say holds for every call."""
    entity_id: str | None = None
    """The entity that it is, where it is one: a list of the owner may name either."""
    wire_parameters: JsonObjectType
    """The JSON schema that models are shown; `parameters` validates, and forgives what small models get wrong."""

    stands_alone = False
    """Made for one sentence or action; otherwise it has to be among the tools of the profile still, when a yes comes."""

    @property
    def always_asks(self) -> bool:
        """Whether every call of it needs a yes."""
        return self.annotations.destructive and not self.annotations.read_only and not self.judges_calls

    timed_out: str = ""
    """What the model is told when the time is up, with `{seconds}`; empty: that nobody knows whether it happened."""

    @abstractmethod
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what the call comes to; `args` have passed the tool's schema. No side effects."""

    @abstractmethod
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType | Made:
        """Do it and return the `result` of the envelope: JSON, bounded in size; or `Made`, when it tells the effects."""

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        """Refuse: a call that does not come through the policy is nobody's."""
        raise HomeAssistantError(f"{self.name} runs only inside a turn")


def envelope(*, result: JsonValueType = None, error: str | None = None) -> JsonObjectType:
    """Return the shape of every tool result (S1-39, C-7): success, result, error."""
    return {"success": error is None, "result": result, "error": error}
