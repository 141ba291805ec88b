"""The form of our own tools: arguments become a plan, the policy decides, the tool runs the plan."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType

from ..support.const import DOMAIN
from ..support.errors import DidNotRun
from ..support.kept import Kept
from ..support.localize import async_text
from ..turn.plan import Effect, Plan
from ..turn.turn import Outcome, Turn

ON_DISK = "on_disk"
NOT_STORED = "not_stored"
"""The sentence for people that a change is not on the disk."""


def noted(result: JsonObjectType, kept: Kept[Any]) -> JsonObjectType:
    """Return the result of a change of what is kept, with a note if it is not on the disk."""
    note = "A restart would undo this: writing to disk fails, and is tried again. Tell the user."
    return result if kept.is_stored else result | {ON_DISK: False, "note": f"{result.get('note', '')} {note}".strip()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingResult:
    """What a tool may return instead of its result: the effects were executed, the result waits for their outcomes."""

    render: Callable[[Mapping[str, Outcome]], JsonValueType]
    """Called once, with the outcome of each entity; returns the result."""
    failed: Collection[str] = ()  # entities whose effect raised
    did_not_run: DidNotRun | None = None  # what the first automation among them says that was held back
    fails_in_own_words: bool = False  # none of them raised what a device or a server says


class HomeAgentTool(llm.Tool):
    """A tool whose effects are known before it runs: the policy checks everything in its plan first.

    `plan` and `run` raise nothing but `HomeAssistantError`; `ToolError` carries the sentence for the model.
    """

    integration = DOMAIN
    title_key = ""
    """The translation of its title, for a tool of ours; others bring a title along."""
    examples: Sequence[str] = ()
    """Sentences of users that a call of it answers; what is said like one of them may run it without a model (local/routes.py)."""
    guide: str | None = None
    """What a model has to know to use it, besides its description; tools of the same origin share one, which is sent once."""
    guide_is_default = False
    """Whether the guide is a part of the default instructions, which the owner's own prompt replaces."""
    judges_calls = False
    """Its plans tell sensitive calls from ordinary ones; otherwise what its annotations say holds for every call."""
    stands_for: str = ""
    """The tool that it is another name of; a list of the owner may name either, and actions are kept under that one."""
    example: str = ""
    entity_id: str | None = None  # its entity, if it stands for one; a list of the owner may name either
    wire_parameters: JsonObjectType
    """The JSON schema that models are shown; `parameters` validates, and forgives what small models get wrong."""
    stands_alone = False
    """Made for one sentence or action; otherwise it has to be among the tools of the profile still, when a yes comes."""
    is_its_effects = False
    """It does what its plan lists and no more: a wish may keep the effects instead of the call."""
    is_of_person = False
    """It works only in a turn of a person's own, not in one that was handed to an agent."""
    intent: str = ""
    """The intent of Home Assistant's that it stands for, with the arguments as slots."""
    asks_key: str = ""
    """The phrase of a question for what it does with the texts of its plan (`Plan.texts`), and whom it is about (`Plan.subject`)."""
    takes_back: Sequence[Effect] = ()
    """What was done that a call would take back, where the question names that."""
    fails_in_own_words = False
    """What a write of it raises is said by our code, not by a device or a server: it is no text from outside."""
    source: str = ""
    """What people call where its results come from; empty: it has no name that they know."""
    is_named_elsewhere = False
    """A server of others chose its title, which a question has in quotation marks."""
    answers = False
    """Its result is an answer of a model: it is spoken after a yes."""
    is_elsewhere = False
    """What it does belongs to another conversation: it takes as long as an answer takes, and the call is not kept in this one."""
    timed_out: str = ""
    """What the model is told when the time is up, with `{seconds}`; empty: that it is unknown whether it happened."""

    @property
    def always_asks(self) -> bool:
        """Whether every call of it needs a yes."""
        return self.annotations.destructive and not self.annotations.read_only and not self.judges_calls

    async def async_title(self, hass: HomeAssistant, language: str) -> str:
        """Return its title in a language, or its name if it has no title."""
        return await async_text(hass, language, self.title_key) if self.title_key else self.title or self.name

    def shown(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what it is called with as people may be told of it: a question is read aloud, pushed and kept."""
        return values

    def done_with(self, plan: Plan, result: JsonObjectType) -> Mapping[str, Sequence[str]]:
        """Return what is said after a yes of texts that it kept or dropped: the texts by the key of their sentence."""
        return {}

    def answer(self, result: JsonValueType) -> str:
        """Return what is said after a yes instead of "Done."; empty if the result has no words of its own."""
        return str(result) if self.answers else ""

    def asked_as(self, plan: Plan) -> HomeAgentTool:
        """Return the tool that a yes to a plan runs: another one where its arguments come to something else by then."""
        return self

    @abstractmethod
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what the call comes to; `args` have passed the tool's schema. No side effects."""

    @abstractmethod
    async def run(
        self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn
    ) -> JsonValueType | PendingResult:
        """Do it and return the `result` of the envelope: JSON, bounded in size; pending, when it tells the outcomes."""

    def already(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the result of a plan of which nothing has to be done; None for the one that others have. Nothing is run then."""
        return None

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        """Refuse: calls come through the policy only."""
        raise HomeAssistantError(f"{self.name} runs only inside a turn")
