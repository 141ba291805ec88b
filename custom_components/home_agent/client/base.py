"""What the loop hands to a client and what it gets back.

The only types that cross from `agent.py` to a client. Nothing here knows of HTTP or of a vendor.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from homeassistant.components.conversation import AssistantContentDeltaDict

from .tokens import TokenEstimator

type Message = dict[str, Any]
"""One message as it goes over the wire (OpenAI chat completions)."""

type ToolSpec = dict[str, Any]
"""One tool as it goes over the wire: `{"type": "function", "function": {name, description, parameters}}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointConfig:
    """An OpenAI-compatible endpoint with one model; read once from its subentry."""

    subentry_id: str
    title: str
    base_url: str
    api_key: str = field(repr=False)
    model: str
    preset: str = "custom"
    api_version: str | None = None
    """Azure OpenAI only."""
    verify_ssl: bool = True
    temperature: float | None = None
    """None: not sent, the model's own default holds."""
    top_p: float | None = None
    max_tokens: int | None = None
    """Tokens of one answer; None: the endpoint decides."""
    keep_alive: str | None = None
    """How long Ollama keeps the model loaded, as it takes it (`5m`, `-1`); None: not sent."""
    tool_calling: bool = True
    context_window: int | None = None
    """Tokens of prompt and answer together, as the owner set them; None: the server is asked."""
    idle_timeout: float = 120.0
    """Seconds of silence after which a stream counts as dead."""
    remote: bool = False
    """Whether what is sent leaves the house."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request to a model."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    may_call_tools: bool = True
    """False: the model has to answer in words now. The tools stay in the request where the endpoint knows
    `tool_choice: none`, so that its prompt cache holds."""
    response_format: Mapping[str, Any] | None = None
    stream: bool = True
    conversation_id: str | None = None


@dataclass(slots=True)
class Usage:
    """Tokens that the endpoint reported for a request."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def __iadd__(self, other: Usage) -> Self:
        """Add up several requests."""
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cached_tokens += other.cached_tokens
        return self


@dataclass(slots=True)
class Reply:
    """What is learned about a request besides its deltas; filled while the stream flows."""

    usage: Usage | None = None
    """None: the endpoint did not say."""
    finish_reason: str | None = None
    """`stop`, `tool_calls`, `length`, `content_filter`, or None when the stream ended without one."""
    first_delta_ms: int | None = None
    """Milliseconds from the request to the first delta."""
    started: bool = False
    """Whether a delta left the client: from then on nothing may be sent again (D-9)."""
    estimated_tokens: int | None = None
    """What the request was estimated at before it was sent, without correction; None: it has files."""


class BrokenArguments(dict[str, Any]):
    """Arguments of a tool call that were not a JSON object: empty, so that nothing can run by accident.

    The policy recognises the type and answers the call with an error result.
    """

    def __init__(self, raw: str) -> None:
        """Keep what the model wrote, for the error result."""
        super().__init__()
        self.raw = raw


class ChatClient(Protocol):
    """An endpoint that turns a request into chat log deltas."""

    config: EndpointConfig
    estimator: TokenEstimator
    """Calibrates itself with each answer."""

    async def async_context_window(self) -> int | None:
        """Return what the server tells of the model's context window, in tokens; None when it tells nothing."""
        ...

    def stream(self, request: ChatRequest, reply: Reply) -> AsyncGenerator[AssistantContentDeltaDict]:
        """Yield deltas: `{"role": "assistant"}` first, then `content`, `thinking_content` and `tool_calls`.

        Each tool call is yielded once, whole, as `llm.ToolInput`; arguments that do not parse are `BrokenArguments`.
        With `request.stream` false the same deltas come from one answer. Fills `reply`.
        Raises a subclass of `LLMError`; after `reply.started` the caller keeps what it has got.
        """
        ...
