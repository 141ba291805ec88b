"""A trial of a model in its form: time to the first word, speed, and whether it calls tools."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
import time

from homeassistant.core import HomeAssistant

from ..settings.endpoint import EndpointConfig
from ..support.errors import LLMError, LLMTimeoutError
from .chat_completions import ChatCompletionsClient
from .messages import BrokenArguments, ChatRequest, ModelReply, ToolSpec
from .written_calls import read

PATIENCE = 90.0  # seconds for both questions; the administrator waits for it
SLOW_START = 3.0  # seconds until the first word
SLOW_SPEED = 8.0  # tokens a second: about as fast as people speak
_FEW = 3  # pieces of an answer; fewer are too imprecise for a speed

_TOOL: ToolSpec = {
    "type": "function",
    "function": {
        "name": "turn_on",
        "description": "Turns on a device of the home.",
        "parameters": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Name of the device"}},
            "required": ["name"],
        },
    },
}
_SPEAK = ChatRequest(
    messages=[{"role": "user", "content": "Tell me in one short sentence what a lamp is."}], max_text=100
)
_CALL = ChatRequest(
    messages=[
        {"role": "system", "content": "You control a home with tools."},
        {"role": "user", "content": "Turn on the desk lamp."},
    ],
    tools=[_TOOL],
    max_text=100,
)


@dataclass(slots=True)
class Trial:
    """The result of a trial."""

    error: LLMError | None = None
    first_word: float | None = None  # seconds until the first word of the answer, after thinking
    speed: float | None = None
    """Tokens a second from the first piece on, with thinking; None if the answer was too short."""
    calls_tools: bool | None = None
    writes_calls: bool = False  # they are text that Home Agent reads, because the server does not

    @property
    def outcome(self) -> str:
        """Return what matters most: `failed`, `no_tools`, `written` (calls as text), `slow` or `well`."""
        if self.error is not None:
            return "failed"
        if self.calls_tools is False:
            return "no_tools"
        if self.writes_calls:
            return "written"
        is_slow = self.first_word is None or self.first_word > SLOW_START
        return "slow" if is_slow or (self.speed is not None and self.speed < SLOW_SPEED) else "well"


async def async_try_model(hass: HomeAssistant, config: EndpointConfig) -> Trial:
    """Ask a model for a sentence, then for a tool call, which is not run. Never raises `LLMError`."""
    client, trial = ChatCompletionsClient(hass, config), Trial()
    try:
        async with asyncio.timeout(PATIENCE):
            reply, text, pieces = ModelReply(), "", 0
            started = began = time.perf_counter()
            async with aclosing(client.stream(_SPEAK, reply)) as deltas:
                async for delta in deltas:
                    content = delta.get("content")
                    if content and content.strip() and trial.first_word is None:
                        trial.first_word = time.perf_counter() - began
                    if piece := content or delta.get("thinking_content"):
                        started = started if pieces else time.perf_counter()
                        pieces, text = pieces + 1, text + piece
            took = time.perf_counter() - started
            if pieces >= _FEW and took > 0:
                tokens = reply.usage.output_tokens if reply.usage else client.estimator.estimate(text)
                trial.speed = tokens / took
            if config.tool_calling:
                trial.calls_tools, trial.writes_calls = await _calls(client)
    except LLMError as err:
        trial.error = err
    except TimeoutError:
        trial.error = LLMTimeoutError(endpoint=config.title, detail="")
    return trial


async def _calls(client: ChatCompletionsClient) -> tuple[bool, bool]:
    """Return whether the model calls the offered tool with valid arguments, and whether it does so in text."""
    name, text = _TOOL["function"]["name"], ""
    async with aclosing(client.stream(_CALL, ModelReply())) as deltas:
        async for delta in deltas:
            text += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                if call.tool_name == name and not isinstance(call.tool_args, BrokenArguments):
                    return True, False
    found = read(text, {name: _TOOL})
    written = found is not None and any(call.name == name and "name" in call.arguments for call in found.calls)
    return written, written
