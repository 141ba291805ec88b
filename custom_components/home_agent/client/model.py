"""What the loop hands to a client and what it gets back, and how its tokens are counted.

The only types that cross from the loop (agent/loop.py) to a client. Nothing here knows of HTTP or of a vendor.

Tokens are estimated without a tokenizer: characters are counted by kind, at the speed of `bytes.translate`, and the result
is corrected by what the endpoint reports. The weights are rules of thumb for prose and compact JSON; a model whose
tokenizer differs is met after a few answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..turn.turn import Usage

_SYMBOLS = b"\"'{}[]():,.;=<>_/-\n0123456789"
_ASCII = bytes(range(0x80))
# First bytes of characters in UTF-8
_TWO_BYTES = bytes(range(0xC2, 0xE0))
_CYRILLIC = bytes(range(0xD0, 0xD4))
_THREE_BYTES = bytes(range(0xE0, 0xF0))
_FOUR_BYTES = bytes(range(0xF0, 0xF5))

# Tokens per character
_LETTER = 0.235
_SYMBOL = 0.45
_TWO_BYTE_LETTER = 0.6  # umlauts and accents, Greek, Hebrew, Arabic
_CYRILLIC_LETTER = 0.4
_IDEOGRAPH = 0.95  # Chinese, Japanese, Korean; also Thai and the scripts of India
_EMOJI = 2.0

_FACTOR_MIN, _FACTOR_MAX = 0.5, 2.0
_LEAST, _MOST = 0.4, 2.5
"""No tokenizer is so far from the estimate: a server that says so counts something else, only what was not in its cache for one."""
_LEARNING = 0.3  # share of a new measurement
_MIN_MEASURE = 50  # tokens below which a measurement says nothing

PATIENCE = 30.0  # seconds; whoever talks does not wait longer without a word

type Message = dict[str, Any]
"""One message as it goes over the wire (OpenAI chat completions)."""

type ToolSpec = dict[str, Any]
"""One tool as it goes over the wire: `{"type": "function", "function": {name, description, parameters}}`."""


def raw_estimate(data: bytes) -> float:
    """Return the tokens of UTF-8 text without any correction."""
    total = len(data)
    symbols = total - len(data.translate(None, _SYMBOLS))
    tokens = symbols * _SYMBOL
    if data.isascii():
        return tokens + (total - symbols) * _LETTER
    other = data.translate(None, _ASCII)
    two, cyrillic, three, four = (
        len(other) - len(other.translate(None, kind)) for kind in (_TWO_BYTES, _CYRILLIC, _THREE_BYTES, _FOUR_BYTES)
    )
    tokens += (total - symbols - len(other)) * _LETTER
    tokens += (two - cyrillic) * _TWO_BYTE_LETTER + cyrillic * _CYRILLIC_LETTER
    return tokens + three * _IDEOGRAPH + four * _EMOJI


class TokenEstimator:
    """Estimates for one model."""

    def __init__(self) -> None:
        """Start without a correction."""
        self.factor = 1.0
        """What the endpoint's numbers were, compared with ours."""

    def estimate(self, text: str) -> int:
        """Return the tokens of a text, rounded up."""
        return int(raw_estimate(text.encode("utf-8", "replace")) * self.factor + 0.999)

    def calibrate(self, estimated: int, actual: int) -> None:
        """Learn from a request's `raw_estimate` (`ModelReply.estimated_tokens`) and what the endpoint counted."""
        if estimated < _MIN_MEASURE or actual < _MIN_MEASURE:
            return
        if not _LEAST * estimated <= actual <= _MOST * estimated:
            return
        corrected = self.factor + _LEARNING * (actual / estimated - self.factor)
        self.factor = min(_FACTOR_MAX, max(_FACTOR_MIN, corrected))


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
    cache_key: str = ""
    """The same for all requests that begin alike, those of one agent; empty: they have nothing in common with others."""
    max_tokens: int | None = None
    """Of the answer; None: what is set for the endpoint."""
    max_text: int | None = None
    """Tokens of the answer's text, after which it is ended here; thinking does not count, and the server is told nothing of it."""
    patience: float = PATIENCE
    """Seconds for which a model that is being loaded is waited for."""
    retries: bool = True
    """Whether it is made once more where it failed before its first delta, for a reason that may pass."""


@dataclass(frozen=True, slots=True)
class CameWith:
    """What came with the tool calls of an answer, and some servers want back with them."""

    thinking: str
    extra: Mapping[str, Any] | None
    """`extra_content` of the first call."""


@dataclass(slots=True)
class ModelReply:
    """What is learned about a request besides its deltas; filled while the stream flows."""

    usage: Usage | None = None
    """None: the endpoint did not say."""
    finish_reason: str | None = None
    """`stop`, `tool_calls`, `length`, `content_filter`, `repeats` (ours), or None when the stream ended without one."""
    first_delta_ms: int | None = None
    """Milliseconds from the request to the first delta."""
    started: bool = False
    """Whether a delta left the client: from then on nothing may be sent again."""
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
