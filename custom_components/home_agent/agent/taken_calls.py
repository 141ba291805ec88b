"""Whether a call that a model wrote as text is taken: only where it fits an offered tool and stands nowhere else.

What stands in a tool's result, in a part of the prompt or in what the user says is a quotation, and what an explanation shows
is none either (docs/decisions/0054-calls-written-as-text.md). A call that is taken goes the way of all others.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import islice
import re
import sys
from typing import Any
import unicodedata
from urllib.parse import unquote

from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util.ulid import ulid_now
import probatio

from ..client.held_text import MAX_SHOWN, HeldText
from ..client.messages import ChatRequest, Message, ModelReply, ToolSpec
from ..client.stream import TOO_LONG, Delta
from ..client.written_calls import Written, WrittenToolCall, read, without_frame
from ..languages.shown_calls import asks_to_see_calls, tells_of_calls
from ..support.errors import LLMError

UNREAD = "call_unread"
"""Why an answer ends without its last part (`ModelReply.finish_reason`)."""
_ESCAPED = re.compile(
    r"\\+(?:(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2}))|([nrtbf])|(?=.))"
)
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_BLANKS = re.compile(r"\s{2,}")
_NO_LETTERS = re.compile(r"[\W_]+")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
_LOOKALIKES = str.maketrans("авекмнорстухіјѕԁԛԝһӏνοαικρτυχɑɡı", "abekmhopctyxijsdqwhlvoaikptuxagi")
_ROUNDS = 3  # of escapes within escapes
_BETWEEN = re.compile(r"[^\w.]+")
_CODE = re.compile(r"[{}<]|\b(?:json|xml|yaml|python|code)\b", re.IGNORECASE)
"""What a user says who wants to see code."""
_OF_CALLS = re.compile(r"tool|function|invoke|python_|action|commentary|plugin", re.IGNORECASE)
_OPENING = 60  # characters of a text in which its mark stands
_NAMES_A_TOOL = re.compile(r"""["'](?:name|tool_name|tool|tool_calls?|function|function_call|action)["']\s{0,5}:""")
_RESPONSE = re.compile(r"\A(?:Here) is my thought process:.*Here is my response:", re.DOTALL)
"""What Granite thinks, in front of an answer."""
_NEAR = (
    200  # characters around a name in which the rest of a call is looked for, besides four times the length of the rest
)
_MAX_PARTS = 64
_SHORTEST = 2  # characters of a value that tells anything
_MAX_TOLD = 1_000_000  # characters of tool results; a call beside more of them is not taken


@dataclass(slots=True)
class TakenCalls:
    """The calls in one answer."""

    tools: Sequence[llm.Tool]
    request: ChatRequest
    reply: ModelReply
    said: str  # by the user in this turn
    unread: bool = field(default=False, init=False)
    """Whether the answer ended with a call that was not taken; its text was left out."""
    is_quoted: bool = field(default=False, init=False)  # it stands in what the model was told
    _specs: Mapping[str, ToolSpec] = field(default_factory=dict, init=False)

    async def async_deltas(self, stream: AsyncGenerator[Delta]) -> AsyncGenerator[Delta]:
        """Pass deltas on, written calls as `tool_calls`; from where a call may begin, text waits for the end of the answer."""
        reads = bool(self.request.tools) and self.request.response_format is None
        self._specs = {spec["function"]["name"]: spec for spec in self.request.tools} if reads else {}
        text, made = HeldText(sorted(self._specs, key=len, reverse=True)), False
        try:
            async for delta in stream:
                made = made or bool(delta.get("tool_calls"))
                if reads and (content := delta.get("content")):
                    if not (shown := text.feed(content)) and len(delta) == 1:
                        continue
                    delta = {**delta, "content": shown}
                yield delta
        except LLMError:
            if text.held and not text.is_holding:
                yield {"content": text.held}
            raise
        if text.held:
            if text.is_holding:  # the words of all languages are read from files, once
                await asyncio.get_running_loop().run_in_executor(None, asks_to_see_calls, self.said)
            for delta in self._end(text, made=made):
                yield delta

    def _end(self, text: HeldText, *, made: bool) -> Iterator[Delta]:
        """Yield what was held, or the calls in it; none of them besides calls that the server has read (`made`)."""
        complete, may_call = self.reply.finish_reason != TOO_LONG, self.request.may_call_tools
        written = None if text.overflowed else read(text.held, self._specs, complete=complete)
        calls = list[llm.ToolInput]()
        if written is None or self._is_told(written, text.shown):
            rest = text.held
        elif not made and may_call and not self.reply.is_thought and (calls := self._taken(written)):
            rest = written.before.rstrip()
        elif self._is_call(written, text.shown):
            rest = written.before.rstrip()
            if not made and may_call:
                self.unread, self.reply.finish_reason = True, UNREAD
        else:
            rest = text.held
        if rest := without_frame(rest):
            yield {"content": rest}
        if calls:
            yield {"tool_calls": calls}

    def _is_told(self, written: Written, shown: str) -> bool:
        """Return whether a text tells of calls rather than making them."""
        before, after = _RESPONSE.split(f"{shown}{written.before}")[-1], written.after.strip()
        line = before.rpartition("\n")[2].strip()
        if line.startswith((">", "|", "#")) or before.count("```") % 2:  # a comment stands in the same fence
            return True
        if tells_of_calls(before, after) or asks_to_see_calls(self.said):
            return True
        if written.marked:
            return bool(after) and (bool(line) or before.rstrip().endswith(":"))
        if (before.strip() and after) or len(before) >= MAX_SHOWN:
            return True
        is_fenced = "```" in written.raw
        if (
            after and not is_fenced and not written.after.lstrip(" \t").startswith("\n")
        ):  # "ha_query(...) reads a state"
            return True
        names_one = any("_" in name and name in self.said for name in self._specs)
        return bool(_CODE.search(self.said)) or (names_one and bool(before.strip() or after))

    def _taken(self, written: Written) -> list[llm.ToolInput]:
        """Return the calls to make: all of a text, or none."""
        calls = [call for place, call in enumerate(written.calls) if call not in written.calls[:place]]
        if not calls or not all(map(self._fits, calls)):
            return []
        if self._are_quoted(calls):
            self.is_quoted = True
            return []
        return [llm.ToolInput(id=ulid_now(), tool_name=call.name, tool_args={**call.arguments}) for call in calls]

    def _are_quoted(self, calls: Sequence[WrittenToolCall]) -> bool:
        """Return whether one of the calls stands in what the model was told: instructions, the user's words or tool results."""
        results = list[str]()
        for message in self.request.messages:
            role = message["role"]
            for text in _texts(message):
                if role == "tool":
                    results.append(text)
                readings = _readings(text)
                if any(_stands_in(call, reading) for call in calls for reading in readings):
                    return True
                if role == "user" and any(_is_named(call, readings) for call in calls):
                    return True
        if sum(map(len, results)) > _MAX_TOLD:
            return True
        readings = _readings("\n".join(results))  # a call can be spread over several of them
        return any(_is_named(call, readings, _choices(self._specs[call.name])) for call in calls)

    def _fits(self, call: WrittenToolCall) -> bool:
        """Return whether an offered tool takes a call."""
        tool = next((tool for tool in self.tools if tool.name == call.name), None)
        if tool is None or call.name not in self._specs:
            return False
        required = (self._specs[call.name]["function"].get("parameters") or {}).get("required") or ()
        if any(call.arguments.get(key) == "" for key in required):
            return False
        try:
            tool.parameters({**call.arguments})
        except probatio.Invalid, HomeAssistantError, ValueError, TypeError:
            return False
        return True

    def _is_call(self, written: Written, shown: str) -> bool:
        """Return whether a text that was not taken is plainly a call."""
        if self.is_quoted and (shown.strip() or written.before.strip()):
            return False
        if written.marked or written.raw.startswith("```tool"):
            return bool(written.calls) or bool(_OF_CALLS.search(written.raw[:_OPENING]))
        if any(call.name in self._specs for call in written.calls):
            return True
        begins = written.raw.lstrip("`jsontlc_ \r\n")[:1]
        if begins not in ("{", "["):
            return False
        return bool(written.calls) or bool(_NAMES_A_TOOL.search(written.raw[:_OPENING])) or self._is_bare(written.raw)

    def _is_bare(self, raw: str) -> bool:
        """Return whether JSON has the arguments of an offered tool, without its name."""
        keys = set(re.findall(r'"(\w{1,64})"\s{0,5}:', raw))
        for spec in self._specs.values():
            parameters = spec["function"].get("parameters") or {}
            required = set(parameters.get("required") or ())
            if required and required <= keys <= set(parameters.get("properties") or ()):
                return True
        return False


def _texts(message: Message) -> Iterator[str]:
    """Yield the texts of a message."""
    match message.get("content"):
        case str(text):
            yield text
        case list(parts):
            yield from (part["text"] for part in parts if part.get("type") == "text")


def _readings(text: str) -> list[str]:
    """Return a text in the ways in which a model may read it."""
    # the letter behind a backslash may be one of a word
    return list(dict.fromkeys((_plainly(text), _plainly(text, letters=True), _plainly(text.replace("\\", "")))))


def _plainly(text: str, *, letters: bool = False) -> str:
    """Return a text as a model reads it: without escapes, entities and what cannot be seen, in lower case.

    `letters`: what stands behind a backslash is a letter, not a line break or a tab.
    """

    def sign(found: re.Match[str]) -> str:
        if code := found[1] or found[2] or found[3] or found[4]:
            return chr(int(code, 16)) if int(code, 16) <= sys.maxunicode else ""
        return "" if not found[5] else found[5] if letters else " "

    for _ in range(_ROUNDS):
        before, text = text, _ESCAPED.sub(sign, unquote(unescape(text)))
        if text == before:
            break
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))).casefold()
    return _BLANKS.sub(" ", text)


def _without_accents(text: str) -> str:
    """Return a text with letters in the place of those that look like them; accents are marks of their own behind a letter."""
    return unicodedata.normalize("NFKD", text).translate(_LOOKALIKES)


def _letters(text: str) -> str:
    """Return the letters and digits of a text."""
    return _NO_LETTERS.sub("", _without_accents(text))


def _is_named(call: WrittenToolCall, readings: Sequence[str], choices: Collection[str] = ()) -> bool:
    """Return whether a text names a call's tool as no sentence would, and somewhere has all texts in its arguments but `choices`."""
    words = [_letters(word.casefold()) for word in _WORDS.findall(call.name)]
    apart = re.compile(r"[\W_]*+".join(map(re.escape, "".join(words))))
    said = r"\s".join(map(re.escape, words))
    in_a_sentence, called = re.compile(said), _called(said)
    keys, values = list[str](), list[str]()
    _parts(call.arguments, keys, values)
    named = [_key(key) for key in dict.fromkeys(keys)]
    for text in map(_without_accents, readings):
        if len(words) > 1 and any(not in_a_sentence.fullmatch(found[0]) for found in apart.finditer(text)):
            break
        if called.search(text) and all(key.search(text) for key in named):
            break
    else:
        return False
    told = [_letters(reading) for reading in readings]
    texts = dict.fromkeys(_letters(_plainly(text)) for text in _strings(call.arguments) if text not in choices)
    return all(any(text in reading for reading in told) for text in islice(texts, _MAX_PARTS))


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in arguments."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(item)


def _choices(spec: ToolSpec) -> set[str]:
    """Return the texts between which the parameters of a tool choose."""
    properties = (spec["function"].get("parameters") or {}).get("properties")
    found = properties.values() if isinstance(properties, Mapping) else ()
    lists = [item.get("enum") for item in found if isinstance(item, Mapping)]
    return {text for texts in lists if isinstance(texts, list) for text in texts if isinstance(text, str)}


def _called(name: str) -> re.Pattern[str]:
    """Return what finds a name, given as a pattern, where it is called rather than said in a sentence."""
    return re.compile(rf"""(?:["'=>:/\]]\s?|\.){name}(?![\w.])|(?<![\w.]){name}["'\s]{{0,3}}[({{<\[:"'=]""")


def _key(key: str) -> re.Pattern[str]:
    """Return what finds a key in front of its value."""
    return re.compile(rf"""(?<![\w.]){re.escape(key)}["'\s]{{0,3}}[:=<>]""")


def _stands_in(call: WrittenToolCall, text: str) -> bool:
    """Return whether a text holds a call, in any form: its name where no sentence has it, and its arguments near to that."""
    name = call.name.casefold()
    if name not in text:
        return False
    keys, values = list[str](), list[str]()
    _parts(call.arguments, keys, values)
    near = _NEAR + 4 * sum(map(len, (*keys, *values)))
    called_there = _called(re.escape(name))
    if not values:
        return called_there.search(text) is not None
    named = [_key(key) for key in dict.fromkeys(keys)]
    for start in range(0, len(text), near):
        window = text[start : start + 2 * near]
        if name in window and called_there.search(window) and all(key.search(window) for key in named):
            words = _BETWEEN.sub("", window)
            if all(value in words for value in values):
                return True
    return False


def _parts(value: Any, keys: list[str], values: list[str]) -> None:
    """Collect the keys and the values in arguments, as they stand in a text without spaces and marks."""
    if len(keys) + len(values) > _MAX_PARTS:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            keys.append(_plainly(str(key)))
            _parts(item, keys, values)
    elif isinstance(value, list):
        for item in value:
            _parts(item, keys, values)
    elif not isinstance(value, bool) and len(word := _BETWEEN.sub("", _plainly(str(value)))) >= _SHORTEST:
        values.append(word)
