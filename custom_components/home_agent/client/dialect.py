"""The body of a request as one endpoint takes it.

Starts from what is known (traits.py) and learns: a parameter that is refused is left out, or sent under its other name,
for as long as the client lives.
"""

import re
from typing import Any

import openai

from ..const import LOGGER
from .base import ChatRequest, EndpointConfig
from .error_map import error_fields
from .traits import traits_for

_OPTIONAL = (
    "max_completion_tokens", "max_tokens", "stream_options", "response_format", "tool_choice", "top_p", "temperature",
    "keep_alive", "user",
)  # fmt: skip
_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_REFUSED = re.compile(
    r"unsupported|not supported|(not|n't) support|un(known|recognized|expected)|extra[_ ](forbidden|inputs|fields)"
    r"|not (permitted|allowed|implemented)|invalid|deprecated|only the default|cannot both",
    re.IGNORECASE,
)


class Dialect:
    """What an endpoint with its model takes."""

    def __init__(self, config: EndpointConfig) -> None:
        """Start from what is known about the preset and the model."""
        self._config = config
        self._traits = traits_for(config.preset, config.model)
        self._refused: set[str] = set()
        self._max_tokens = self._traits.max_tokens

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Return a request's body: what stays the same from turn to turn first, then the messages, then the rest."""
        body = {"model": self._config.model, "stream": request.stream, **self._options(request)}
        tools = request.tools if self._config.tool_calling else ()
        silenced = bool(tools) and not request.may_call_tools
        if silenced and not self._knows_tool_choice:
            tools, silenced = (), False
        if tools:
            body["tools"] = tools
        body["messages"] = request.messages
        if silenced:
            body["tool_choice"] = "none"
        if self._traits.user and request.conversation_id and "user" not in self._refused:
            body["user"] = request.conversation_id
        return body

    def adapt(self, body: dict[str, Any], err: openai.APIStatusError) -> bool:
        """Learn from a refusal; return whether the request should be made anew."""
        if err.status_code not in {400, 422}:
            return False
        name = _refused_parameter(body, err)
        if name is None:
            return False
        LOGGER.info("Endpoint %s refuses the parameter %s, which is left out from now on", self._config.title, name)
        self._refused.add(name)
        self._max_tokens = _OTHER_NAME.get(name, self._max_tokens)
        return True

    @property
    def _knows_tool_choice(self) -> bool:
        return self._traits.tool_choice_none and "tool_choice" not in self._refused

    def _options(self, request: ChatRequest) -> dict[str, Any]:
        config, traits = self._config, self._traits
        options = {
            "stream_options": {"include_usage": True} if request.stream and traits.stream_options else None,
            "temperature": config.temperature if traits.sampling else None,
            "top_p": config.top_p if traits.sampling else None,
            self._max_tokens: config.max_tokens,
            "keep_alive": keep_alive_of(config.keep_alive) if traits.keep_alive else None,
            "response_format": request.response_format,
        }
        return {name: value for name, value in options.items() if value is not None and name not in self._refused}


def _refused_parameter(body: dict[str, Any], err: openai.APIStatusError) -> str | None:
    """Return the parameter of `body` that a refusal names."""
    sent = [name for name in _OPTIONAL if name in body]
    param = error_fields(err.body).get("param")
    if isinstance(param, str) and (named := next((name for name in sent if param.split(".")[0] == name), None)):
        return named
    said = str(err.body)
    if not _REFUSED.search(said):
        return None
    return next((name for name in sent if re.search(rf"\b{name}\b", said)), None)


def keep_alive_of(value: str | None) -> str | int | None:
    """Return a duration (`5m`) as text and seconds as a number: Ollama refuses `"-1"`."""
    try:
        return int(value) if value else None
    except ValueError:
        return value
