"""Turns the bytes of an answer into chat log deltas; pure.

`ChunkParser` makes chunks of bytes, `DeltaStream` deltas of chunks; it separates thinking (`ThinkingSplitter`) and assembles
tool calls (`ToolCallAssembler`). An answer that is not streamed is one big chunk.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import re
from typing import Any

from homeassistant.components.conversation import AssistantContentDeltaDict
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType
from homeassistant.util.ulid import ulid_now
import orjson

from ..turn.turn import Usage
from .error_map import ErrorMap
from .messages import BrokenArguments, CameWith, ModelReply

MAX_TEXT = 400_000  # characters of an answer with its thinking; twenty times more than a user listens to
MAX_ARGUMENTS = 100_000  # characters of all its tool calls
MAX_ARGUMENTS_DEPTH = 32  # of lists and objects in those of one call
MAX_CALLS = 64
MAX_CHUNKS = 150_000
MAX_NUMBER = 100_000_000  # tokens or milliseconds of one request; larger numbers are ignored

type Delta = AssistantContentDeltaDict


@dataclass(slots=True)
class ChunkParser:
    """Splits bytes into chunks: `data:` lines, bare JSON lines and llama.cpp's `error:` lines, each of which may come in pieces."""

    rest: bytearray = field(default_factory=bytearray)
    done: bool = False

    def feed(self, data: bytes) -> list[JsonObjectType]:
        """Return the chunks that `data` completes; a line break alone completes the last line."""
        self.rest += data
        if b"\n" not in data:  # many small pieces of a line must not be searched again and again
            return []
        *lines, self.rest = self.rest.split(b"\n")
        chunks: list[JsonObjectType] = []
        for line in lines:
            if line.startswith(b"{"):
                payload = line
            elif line.startswith((b"data:", b"error:")):
                payload = line.partition(b":")[2].strip()
                self.done = self.done or payload == b"[DONE]"
            else:
                continue
            if self.done or not payload.startswith(b"{"):
                continue
            try:
                chunk: JsonObjectType = orjson.loads(payload)
            except orjson.JSONDecodeError:
                continue
            chunks.append({"error": chunk} if line.startswith(b"error:") and "error" not in chunk else chunk)
        return chunks


_OPEN, _CLOSE = "<think>", "</think>"
_TAG, _CLOSING = re.compile(f"{_OPEN}|{_CLOSE}"), re.compile(_CLOSE)


@dataclass(slots=True)
class ThinkingSplitter:
    """Separates thinking from the answer by `<think>` and `</think>`; the opening tag may be in the prompt instead."""

    undecided: bool = False  # whether text is held until a tag tells if it began with thinking
    answering: bool = False  # whether text without `<` belongs to the answer unchanged
    stray_close: bool = False  # whether a closing tag came without an opening one
    pending: str = ""  # the end of the text, if it may be the start of a tag
    held: list[str] = field(default_factory=list)
    thinking: bool = False
    answered: bool = False  # whether a part of the answer was returned; leading blanks are dropped until then
    _unclosed: list[str] = field(default_factory=list)

    @property
    def unclosed(self) -> str:
        """Return thinking that was never closed; empty if it was."""
        return "".join(self._unclosed) if self.thinking else ""

    def begins_outside(self) -> None:
        """Hold nothing back: the server itself separates thinking."""
        if self.undecided:
            self.undecided = False
            self.pending = "".join([*self.held, self.pending])
            self.held.clear()

    def feed(self, text: str) -> list[Delta]:
        """Return the deltas that are certain with this text."""
        deltas: list[Delta] = []
        text, begin = self.pending + text, 0
        while tag := (_CLOSING if self.thinking else _TAG).search(text, begin):
            opens = tag[0] == _OPEN
            if not opens and not self.thinking:
                self.stray_close = True
                self.thinking = not self.answered
            deltas += self._decided(text[begin : tag.start()])
            begin = tag.end()
            self.thinking = opens
            if opens:
                self._unclosed.clear()
        text = text[begin:]
        tail = text[text.rfind("<") :] if "<" in text else ""
        begun = bool(tail) and (_CLOSE.startswith(tail) or (not self.thinking and _OPEN.startswith(tail)))
        self.pending = tail if begun else ""
        text = text.removesuffix(self.pending)
        if self.undecided:
            self.held.append(text)
        else:
            deltas += self._decided(text)
            self.answering = self.answered and not self.thinking and not self.pending
        return deltas

    def finish(self) -> list[Delta]:
        """Return the held text at the end of the answer."""
        text, self.pending = self.pending, ""
        return self._decided(text)

    def _decided(self, text: str) -> list[Delta]:
        """Return the held text and this one as thinking or answer."""
        text = "".join([*self.held, text])
        self.held.clear()
        self.undecided = False
        if self.thinking:
            self._unclosed.append(text)
            return [{"thinking_content": text}] if text else []
        if not self.answered:
            text = text.lstrip()
            self.answered = bool(text)
        return [{"content": text}] if text else []


TOO_LONG, REPEATS = "length", "repeats"
"""Why the client ended an answer (`ModelReply.finish_reason`); the first is the servers' own word."""
LOOK_EVERY = 200  # characters between two checks of an answer
NEARLY = 0.05  # share of the limit that is left when the answer ends with the next sentence
NEARLY_TOKENS = 40  # the same in tokens, at least; of a very short limit a third
REPEATED = 8  # times in a row
REPEATED_LENGTH = 400  # characters of all repetitions together
REPEATED_MARKS = 1_200  # the same without letters: good answers repeat lines and blanks as well
LONGEST_REPEATED = 400  # characters of what is repeated
_TAIL = REPEATED * LONGEST_REPEATED
_SENTENCE_END = re.compile(r"""[.!?…]["'”’»)\]*_]{0,3}(?=\s)|[。！？]|\n""")


@dataclass(slots=True)
class Ending:
    """Ends an answer that is too long, or that repeats itself, as small models do."""

    most: int | None
    estimate: Callable[[str], int]
    said: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    unseen: int = 0
    step: int = LOOK_EVERY
    reason: str | None = None

    def look(self, delta: Delta) -> Delta:
        """Return the newest delta, cut if the answer ends within it; `reason` tells whether it ends."""
        self.unseen = 0
        piece = delta.get("content")
        pieces = self.said if piece else self.thought
        text = "".join(pieces)
        pieces[:] = [text]
        if repeats_itself(text[-_TAIL:]):
            self.reason = REPEATS
        elif (
            piece
            and (most := self.most) is not None
            and (tokens := self.estimate(text)) >= most - max(NEARLY * most, min(NEARLY_TOKENS, most / 3))
        ):
            self.step = 1
            begin, room = len(text) - len(piece), min(len(text), int(len(text) * most / tokens))
            near = max(0, begin - 4)  # the blank that proves the end of a sentence may come in a later piece
            ends = [end for match in _SENTENCE_END.finditer(text, near, room) if (end := match.end()) >= begin]
            if ends:
                self.reason = TOO_LONG
                return {"content": text[begin : ends[-1]]}
            if tokens >= most:
                self.reason = TOO_LONG
                blank = text.rfind(" ", begin, room)
                return {"content": f"{text[begin : max(begin, blank)].rstrip()}…"}
        return delta


def repeats_itself(text: str) -> bool:
    """Return whether a text ends with many repetitions of the same words; takes linear time."""
    backwards = text[::-1]
    borders = [0] * len(backwards)  # the prefix function of Knuth, Morris and Pratt
    border = 0
    for place in range(1, len(backwards)):
        while border and backwards[place] != backwards[border]:
            border = borders[border - 1]
        border += backwards[place] == backwards[border]
        borders[place] = border
        period, length = place + 1 - border, place + 1
        if length >= max(REPEATED * period, REPEATED_LENGTH) and (
            length >= REPEATED_MARKS or any(map(str.isalnum, backwards[:period]))
        ):
            return period <= LONGEST_REPEATED
    return False


@dataclass(slots=True)
class _Call:
    """A tool call while it arrives."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: Mapping[str, Any] | None = None  # `extra_content`: Gemini's signature

    @property
    def complete(self) -> bool:
        """Return whether the arguments are a whole JSON object."""
        if self.arguments[:100].lstrip()[:1] != "{" or self.arguments[-100:].rstrip()[-1:] != "}":
            return False  # without parsing all of them again for each piece
        return not isinstance(arguments_from_text(self.arguments), BrokenArguments)


@dataclass(slots=True)
class ToolCallAssembler:
    """Assembles the tool calls of one answer from their fragments; servers differ in how they number and repeat them."""

    calls: list[_Call] = field(default_factory=list)
    length: int = 0
    _looked_at: int = 0

    def feed(self, fragments: object) -> None:
        """Take the `tool_calls` of a delta; what is malformed is ignored."""
        for fragment in fragments if isinstance(fragments, list) else ():
            if not isinstance(fragment, Mapping):
                continue
            function = fragment.get("function")
            function = function if isinstance(function, Mapping) else {}
            index, call_id, name = fragment.get("index"), fragment.get("id"), function.get("name")
            index = index if isinstance(index, int) else None
            call_id = call_id if isinstance(call_id, str) else ""
            name = name if isinstance(name, str) else ""
            arguments = function.get("arguments")
            if not isinstance(arguments, str):
                try:
                    arguments = "" if arguments is None else orjson.dumps(arguments).decode()
                except orjson.JSONEncodeError:  # too deep
                    arguments = "[]"
            if (call := self._continued(index, call_id, name, arguments)) is None:
                call = _Call(index)
                self.calls.append(call)
            call.id = call.id or call_id
            if isinstance(extra := fragment.get("extra_content"), Mapping):
                call.extra = call.extra or extra
            call.name = call.name or name
            call.arguments += arguments
            self.length += len(arguments) + len(name) + len(call_id)

    def is_endless(self) -> bool:
        """Return whether the newest call repeats itself; looked at every `LOOK_EVERY` characters."""
        if self.length - self._looked_at < LOOK_EVERY:
            return False
        self._looked_at = self.length
        return repeats_itself(self.calls[-1].arguments[-_TAIL:])

    def finish(self, *, complete: bool = True) -> list[llm.ToolInput]:
        """Return the calls; with `complete` false only those with complete arguments."""
        calls = [call for call in self.calls if call.name and (complete or call.complete)]
        seen: set[str] = set()
        for call in calls:
            if not call.id or call.id in seen:
                call.id = ulid_now()
            seen.add(call.id)
        return [
            llm.ToolInput(id=call.id, tool_name=call.name, tool_args=arguments_from_text(call.arguments))
            for call in calls
        ]

    def _continued(self, index: int | None, call_id: str, name: str, arguments: str) -> _Call | None:
        """Return the call that a fragment continues, the newest of its index, else of its id, else the newest; None: a new one.

        After the first call only a fragment with a name begins one: others may just repeat an id. It does so if the call is
        complete, or if the call has no arguments and the fragment has another id, or another name where an id is missing.
        """
        if index is not None:
            call = next((call for call in reversed(self.calls) if call.index == index), None)
        else:
            newest = self.calls[-1] if self.calls else None
            call = next((call for call in self.calls if call_id and call.id == call_id), newest)
        if call is None or not name or not call.name:
            return call
        if call.arguments:
            begins = (arguments or name != call.name) and call.complete
        else:
            begins = call_id != call.id if call_id and call.id else name != call.name
        return None if begins else call


def arguments_from_text(text: str) -> dict[str, Any]:
    """Return the arguments of a call; empty for empty text, `BrokenArguments` if not a JSON object or nested too deep."""
    if not text.strip():
        return {}
    try:
        arguments = orjson.loads(text)
    except orjson.JSONDecodeError:
        return BrokenArguments(text)
    level, depth = [arguments], 0
    while level and depth <= MAX_ARGUMENTS_DEPTH:
        inner = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))]
        level, depth = [item for items in inner for item in items], depth + 1
    return BrokenArguments(text) if level or not isinstance(arguments, dict) else arguments


class DeltaStream:
    """Turns the chunks of one answer into deltas and fills its `ModelReply`."""

    def __init__(
        self, reply: ModelReply, errors: ErrorMap, ending: Ending | None = None, *, begins_inside_thinking: bool = False
    ) -> None:
        """Start with nothing received; without an `ending` the answer is never cut."""
        self._ending = ending or Ending(None, len)
        self.thinking = ThinkingSplitter(undecided=begins_inside_thinking)
        self._reply = reply
        self._errors = errors
        self._calls = ToolCallAssembler()
        self._length = self._chunks = 0
        self._any_choice = self._any_delta = self._any_content = False
        self.thoughts: list[str] = []
        self._usage: object = None
        self._timings: object = None

    @property
    def length(self) -> int:
        """Return the characters of text, thinking and tool calls so far."""
        return self._length + self._calls.length

    def feed(self, chunk: Mapping[str, Any]) -> list[Delta]:
        """Return the deltas of a chunk.

        Raises the `LLMError` of an error object in the stream, and `LLMEndlessError` above the limits of an answer.
        """
        if chunk.get("error") or chunk.get("object") == "error":
            raise self._errors.from_body(chunk)
        usage, timings = chunk.get("usage"), chunk.get("timings")
        if usage or timings:  # they may come in different chunks
            self._usage, self._timings = usage or self._usage, timings or self._timings
            self._reply.usage = usage_from_body(self._usage, self._timings)
        self._chunks += 1
        deltas: list[Delta] = []
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choice := choices[0], Mapping):
            self._any_choice = True
            if reason := choice.get("finish_reason"):
                self._reply.finish_reason = str(reason)
            if isinstance(delta := choice.get("delta") or choice.get("message"), Mapping):
                deltas = self._read(delta)
        if self._length > MAX_TEXT or self._chunks > MAX_CHUNKS:
            raise self._errors.endless()
        return deltas

    def _read(self, delta: Mapping[str, Any]) -> list[Delta]:
        """Return thinking and text of a delta; keep its tool calls."""
        deltas: list[Delta] = []
        if isinstance(thought := delta.get("reasoning_content") or delta.get("reasoning"), str) and thought:
            deltas.append({"thinking_content": thought})
            self.thoughts.append(thought)
            self.thinking.begins_outside()
        if content := delta.get("content"):
            if not isinstance(content, str):
                deltas += self._parts(content)
            elif self.thinking.answering and "<" not in content:
                deltas.append({"content": content})
            else:
                deltas += self.thinking.feed(content)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            deltas.append({"content": refusal})
        ending = self._ending
        for place, item in enumerate(deltas):
            if text := item.get("content") or item.get("thinking_content"):
                self._length += len(text)
                self._any_content = self._any_content or "content" in item
                (ending.said if "content" in item else ending.thought).append(text)
                ending.unseen += len(text)
                if ending.unseen >= ending.step and not ending.reason:
                    deltas[place] = ending.look(item)
        if fragments := delta.get("tool_calls"):
            self._feed_calls(fragments)
        if deltas and not self._any_delta:
            self._any_delta = True
            deltas.insert(0, {"role": "assistant"})
        return deltas

    def _feed_calls(self, fragments: object) -> None:
        self._calls.feed(fragments)
        if self._calls.is_endless() and not self._ending.reason:
            self._ending.reason = REPEATS
        if self._calls.length > MAX_ARGUMENTS or len(self._calls.calls) > MAX_CALLS:
            raise self._errors.endless()

    def _parts(self, content: object) -> list[Delta]:
        """Return thinking and text of content that is a list of parts, as Mistral sends it."""
        deltas: list[Delta] = []
        for part in content if isinstance(content, list) else ():
            match part:
                case str(text) | {"type": "text", "text": str(text)}:
                    deltas += self.thinking.feed(text)
                case {"type": "thinking", "thinking": str(thought)}:
                    deltas.append({"thinking_content": thought})
                case {"type": "thinking", "thinking": list(parts)}:
                    thoughts = [item.get("text") or "" for item in parts if isinstance(item, Mapping)]
                    deltas.append({"thinking_content": "".join(thoughts)})
        return deltas

    def came_with(self) -> dict[str, CameWith]:
        """Return thinking and signature by the id of the first tool call; empty without calls."""
        calls = [call for call in self._calls.calls if call.name]
        return {calls[0].id: CameWith("".join(self.thoughts), calls[0].extra)} if calls else {}

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """Return the held text, then the tool calls; `complete` false: the connection broke.

        An answer that the client ended keeps only complete tool calls. Raises `LLMResponseError` if the endpoint sent no
        answer, or withheld it.
        """
        if self._ending.reason:
            calls = self._calls.finish(complete=False)
            self._reply.finish_reason = self._ending.reason
            return [{"tool_calls": calls}] if calls else []
        deltas = self.thinking.finish() if self.thinking.pending or self.thinking.held else []
        reason = self._reply.finish_reason
        calls = self._calls.finish(complete=complete or reason is not None) if self._calls.calls else []
        answered = bool(calls) or self._any_content or any("content" in delta for delta in deltas)
        if complete and not answered and reason != "length":
            # The last paragraph of thinking that was never closed is the only answer.
            last = self.thinking.unclosed.rstrip().rpartition("\n\n")[2]
            if answered := bool(last.strip()):
                self._reply.is_thought = True
                deltas.append({"content": last})
        if calls:
            deltas.append({"tool_calls": calls})
        if complete and not answered:
            if not self._any_choice:
                raise self._errors.response_error("no choices")
            if reason == "content_filter":
                raise self._errors.response_error(reason)
        return deltas if self._any_delta or not deltas else [{"role": "assistant"}, *deltas]


def usage_from_body(usage: object, timings: object = None) -> Usage | None:
    """Return the token counts of a response, with llama.cpp's `timings` of its cache; None without usable ones."""
    usage = usage if isinstance(usage, Mapping) else {}
    timings = timings if isinstance(timings, Mapping) else {}
    details = usage.get("prompt_tokens_details")
    found: dict[str, int] = {}
    for name, told in (
        ("sent", usage.get("prompt_tokens")),
        ("answered", usage.get("completion_tokens")),
        ("answered", timings.get("predicted_n")),
        ("cached", details.get("cached_tokens") if isinstance(details, Mapping) else None),
        ("cached", usage.get("prompt_cache_hit_tokens")),  # DeepSeek
        ("cached", usage.get("cache_read_input_tokens")),  # Anthropic's word, as proxies pass it on
        ("cached", timings.get("cache_n")),
        ("read", timings.get("prompt_n")),
        ("prompt_ms", timings.get("prompt_ms")),
    ):
        if isinstance(told, (int, float)) and 0 <= told <= MAX_NUMBER:
            found.setdefault(name, int(told))
    if not (sent := found.get("sent") or found.get("read", 0) + found.get("cached", 0)):
        return None
    if "read" in found:
        found.setdefault("cached", max(0, sent - found["read"]))
    return Usage(
        input_tokens=sent,
        output_tokens=found.get("answered", 0),
        cached_tokens=min(found.get("cached", 0), sent),
        counted_tokens=sent if "cached" in found else 0,
        prompt_ms=found.get("prompt_ms"),
    )
