"""Chunks of an answer to chat log deltas; pure.

An answer in one piece takes the same way: it is one big chunk.
"""

from collections.abc import Mapping
import math
from typing import Any

from homeassistant.components.conversation import AssistantContentDeltaDict

from .base import Reply, Usage
from .error_map import ErrorMap
from .thinking import Span, ThinkingSplitter
from .tool_calls import ToolCallAssembler

MAX_TEXT = 400_000  # characters of an answer with its thinking; nobody listens to a twentieth of it
MAX_ARGUMENTS = 100_000  # characters of all its tool calls
MAX_CALLS = 64
MAX_CHUNKS = 150_000


class DeltaStream:
    """Turns one answer into deltas and fills its `Reply`."""

    def __init__(self, reply: Reply, errors: ErrorMap, *, begins_inside_thinking: bool = False) -> None:
        """Start with nothing received."""
        self.thinking = ThinkingSplitter(begins_inside=begins_inside_thinking)
        self._reply = reply
        self._errors = errors
        self._calls = ToolCallAssembler()
        self._length = self._chunks = 0
        self._any_choice = False
        self._any_delta = False
        self._any_content = False

    def feed(self, chunk: Mapping[str, Any]) -> list[AssistantContentDeltaDict]:
        """Return the deltas of a chunk.

        Raises the `LLMError` of an error object in the stream, and `LLMEndlessError` when there is more than any answer has.
        """
        self._chunks += 1
        deltas = self._deltas_of(chunk)
        if self._is_endless():
            raise self._errors.endless()
        return deltas

    def _deltas_of(self, chunk: Mapping[str, Any]) -> list[AssistantContentDeltaDict]:
        if chunk.get("error") or chunk.get("object") == "error":
            raise self._errors.from_body(chunk)
        if usage := usage_from_body(chunk.get("usage")):
            self._reply.usage = usage
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return []
        self._any_choice = True
        choice = choices[0]
        if reason := choice.get("finish_reason"):
            self._reply.finish_reason = str(reason)
        delta = choice.get("delta") or choice.get("message")
        return self._deltas(self._spans(delta)) if isinstance(delta, Mapping) else []

    def _is_endless(self) -> bool:
        return (
            self._length > MAX_TEXT
            or self._chunks > MAX_CHUNKS
            or self._calls.length > MAX_ARGUMENTS
            or len(self._calls) > MAX_CALLS
        )

    def finish(self, *, complete: bool = True) -> list[AssistantContentDeltaDict]:
        """Return what was held back, the tool calls last; `complete` false: the connection broke.

        Raises `LLMResponseError` when the endpoint sent no answer, or withheld it.
        """
        spans = self.thinking.finish()
        calls = self._calls.finish(complete=complete or self._reply.finish_reason is not None)
        reason = self._reply.finish_reason
        if complete and not calls and not self._any_content and reason != "length":
            if not any(not span.thinking for span in spans):
                spans += self._forgotten_answer()
        deltas = self._deltas(spans)
        if calls:
            deltas += self._begin([{"tool_calls": calls}])
        if complete and not self._any_content and not calls:
            if not self._any_choice:
                raise self._errors.response_error("no choices")
            if reason == "content_filter":
                raise self._errors.response_error(reason)
        return deltas

    def _forgotten_answer(self) -> list[Span]:
        """Return the last paragraph of thinking that was never closed: there is no other answer."""
        last = self.thinking.unclosed.rstrip().rpartition("\n\n")[2]
        return [Span(last, thinking=False)] if last.strip() else []

    def _spans(self, delta: Mapping[str, Any]) -> list[Span]:
        """Return thinking and text of a delta and note its tool calls."""
        spans: list[Span] = []
        if isinstance(thought := delta.get("reasoning_content") or delta.get("reasoning"), str) and thought:
            spans.append(Span(thought, thinking=True))
            self.thinking.begins_outside()
        content = delta.get("content")
        if isinstance(content, str):
            if content:
                spans += self.thinking.feed(content)
        elif isinstance(content, list):
            for part in content:
                spans += self._part(part)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            spans.append(Span(refusal, thinking=False))
        if fragments := delta.get("tool_calls"):
            self._calls.feed(fragments)
        return spans

    def _part(self, part: object) -> list[Span]:
        """Return the spans of one part of a content list; Mistral sends thinking this way."""
        match part:
            case str(text) | {"type": "text", "text": str(text)}:
                return self.thinking.feed(text)
            case {"type": "thinking", "thinking": str(thought)}:
                return [Span(thought, thinking=True)]
            case {"type": "thinking", "thinking": list(parts)}:
                texts = [item.get("text") or "" for item in parts if isinstance(item, Mapping)]
                return [Span("".join(texts), thinking=True)]
            case _:
                return []

    def _deltas(self, spans: list[Span]) -> list[AssistantContentDeltaDict]:
        deltas: list[AssistantContentDeltaDict] = []
        for span in spans:
            self._length += len(span.text)
            if span.thinking:
                deltas.append({"thinking_content": span.text})
            else:
                self._any_content = True
                deltas.append({"content": span.text})
        return self._begin(deltas)

    def _begin(self, deltas: list[AssistantContentDeltaDict]) -> list[AssistantContentDeltaDict]:
        """Put the role in front of the first delta."""
        if deltas and not self._any_delta:
            self._any_delta = True
            return [{"role": "assistant"}, *deltas]
        return deltas


def usage_from_body(usage: object) -> Usage | None:
    """Return the token numbers of a response, None when it has none; what is not a number counts as none."""
    if not isinstance(usage, Mapping) or not (prompt := _number(usage.get("prompt_tokens"))):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else usage.get("prompt_cache_hit_tokens")
    return Usage(
        input_tokens=prompt, output_tokens=_number(usage.get("completion_tokens")), cached_tokens=_number(cached)
    )


def _number(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else 0
