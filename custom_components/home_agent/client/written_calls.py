"""Tool calls that a model writes as text, in the forms of its chat template, because the server does not read them; pure.

`read` finds them in what was held of an answer (held_text.py). Whether they are taken is decided in agent/taken_calls.py.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import re
from typing import Any
import warnings

import orjson

from .held_text import FENCE, MAX_HELD, NAME, beginnings
from .messages import ToolSpec

MAX_CALLS = 16  # in one answer
MAX_PLACES = 20  # of one text, at which a call is looked for
MAX_DEPTH = 32  # of lists and objects
_MAX_NAME = 64

_MARK = re.compile(
    r"<[|｜]/?[^<>|｜\n]{1,40}[|｜]>|<[|｜]/?tool_calls?>|</?tool_calls?[|｜]>"
    r"|</?(?:\w{1,20}:)?(?:\w{1,20}_)?(?:tool_?calls?|tool_(?:use|sep|code)|tools?|function_calls?|functioncall|function|invoke)>"
    r"|✿[A-Z]{1,12}✿:?|\[/?(?:END_)?TOOL_(?:CALLS?|REQUEST)\]|\[ARGS\]|\[CALL_ID\][\w-]{0,64}|</s>",
    re.IGNORECASE,
)
_OPENS = re.compile(r"""<(?:function|invoke|tool|tool_call)(?:=|\s+name\s*=\s*)["']?([^"'<>\s]{1,64})["']?\s*>""")
_VALUE = re.compile(
    r"""<parameter(?:=|\s+name\s*=\s*)["']?([^"'<>\s]{1,64})["']?[^<>]{0,40}>(.*?)(?:</parameter>|(?=<parameter\b|</function>|</invoke>|</tool_call>)|\Z)"""
    r"|<arg_key>([^<]{1,64})</arg_key>\s{0,20}<arg_value>(.*?)(?:</arg_value>|(?=<arg_key>|</tool_call>)|\Z)",
    re.DOTALL,
)
_NOISE = re.compile(
    r"(?:Action Input|Action|Tool|Arguments|Parameters|Input|Args)\s*:|(?:assistant|commentary|analysis|final|function|functools|json|tool_calls?)\b(?![.\w(])"
    r"|</?code>|[\s,;*]+|call:|to=|[a-z_]\w{0,30}\s{0,3}=\s{0,3}(?=[\w.]{1,64}\()",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"(?:>>>|functions?\.|default_api\.|tools\.)+")
_NUMBERED = re.compile(r":\d{1,4}(?![\w{])")
_CLOSERS = {"{": "}", "[": "]", "(": ")"}
_TOKEN = re.compile(
    r""""(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?|[A-Za-z_][\w.-]*+|,(?=\s*+[}\]])|[^"'A-Za-z_,]++|.""", re.DOTALL
)
_LITERALS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_NAMES = ("name", "tool_name", "tool", "function_name", "action", "function", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "params", "action_input", "tool_input", "input", "kwargs")
_WRAPPERS = ("tool_calls", "tool_call", "function_call", "function", "calls", "tools", "tool_uses", "action")
_ANALYSIS = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>analysis<\|message\|>.*?(?:<\|end\|>|(?=<\|start\|>)|\Z)"
    r"|<\|START_THINKING\|>.*?(?:<\|END_THINKING\|>|\Z)",
    re.DOTALL,
)
_FRAME = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>\w{1,20}<\|message\|>|<\|(?:end|return|eot_id|im_end|eom_id|start_of_role|end_of_text)\|>|\A>>>all\r?\n"
)


@dataclass(frozen=True, slots=True)
class WrittenToolCall:
    """One call."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A text with calls."""

    before: str
    calls: Sequence[WrittenToolCall]  # empty: it begins like a call and is none that can be read
    raw: str  # the calls as they were written
    after: str
    marked: bool  # in what only chat templates write; else plain JSON or code


def read(text: str, tools: Mapping[str, ToolSpec], *, complete: bool = True) -> Written | None:
    """Return the calls in a text of at most `MAX_HELD` characters, None if nothing in it begins like one.

    `complete` is false for a text that was cut: in it, nothing that is missing at the end is added.
    """
    text = _ANALYSIS.sub("", text[:MAX_HELD]).replace("｜DSML｜", "").replace("<escape>", '"').replace('<|"|>', '"')
    names = sorted(tools, key=len, reverse=True)
    first: Written | None = None
    for count, place in enumerate(beginnings(text, names)):
        if count >= MAX_PLACES or not place.certain:
            break
        reader = _Reader(text, place.start, tools, complete)
        reader.run()
        end = reader.place if reader.calls else len(text)
        found = Written(
            before=text[: place.start],
            calls=tuple(reader.calls),
            raw=text[place.start : end],
            after=text[end:],
            marked=reader.marked,
        )
        if found.calls:
            return found
        first = first or found
    return first


def without_frame(text: str) -> str:
    """Return a text without what a chat template writes around an answer, and without thinking that it holds."""
    return _FRAME.sub("", _ANALYSIS.sub("", text)) if "<|" in text or text.startswith(">>>") else text


@dataclass(slots=True)
class _Reader:
    """Reads calls from one place on: names, arguments, and the marks between them, in any order."""

    text: str
    place: int
    tools: Mapping[str, ToolSpec]
    complete: bool
    calls: list[WrittenToolCall] = field(default_factory=list)
    marked: bool = False
    name: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        """Read until something is no part of a call; `place` is where."""
        while self.place < len(self.text) and len(self.calls) < MAX_CALLS:
            if not (self._mark() or self._noise() or self._fence() or self._value() or self._python() or self._named()):
                break
        self._flush()
        if self.calls:
            rest = self.text[self.place :].lstrip("}])` \t")
            self.place = len(self.text[: len(self.text) - len(rest)].rstrip())

    def _mark(self) -> bool:
        if opened := _OPENS.match(self.text, self.place):
            self._flush()
            self.name, self.marked, self.place = _plain_name(opened[1]), True, opened.end()
            return True
        if value := _VALUE.match(self.text, self.place):
            key, content = (value[1], value[2]) if value[1] else (value[3], value[4])
            self.values[key.strip()] = self._typed(key.strip(), content.strip("\r\n") if content.strip() else "")
            self.marked, self.place = True, value.end()
            return True
        if mark := _MARK.match(self.text, self.place):
            closes = mark[0].startswith(("</function", "</invoke", "</tool_call", "</tool>")) or "call_end" in mark[0]
            if closes or mark[0].casefold() == "[tool_calls]":
                self._flush()
            self.marked, self.place = True, mark.end()
            return True
        return False

    def _noise(self) -> bool:
        if found := _NOISE.match(self.text, self.place):
            self.place = found.end()
            return True
        return False

    def _fence(self) -> bool:
        if found := FENCE.match(self.text, self.place):
            self.place = found.end()
            return True
        if self.calls and self.text[self.place] in "}])`":  # one closing mark too many
            self.place += 1
            return True
        return False

    def _value(self) -> bool:
        """Read JSON: whole calls, or the arguments of the name before it."""
        if self.text[self.place] not in "{[" or (end := self._end()) is None:
            return False
        value = _from_json(self.text[self.place : end], self.complete)
        if isinstance(value, str):  # no JSON
            return False
        if self.name and isinstance(value, dict):
            inner = value.get("arguments", value.get("parameters"))
            # a tool may have an argument of that name itself, beside others
            wraps = value.keys() <= {"name", "arguments", "parameters"} and value.get("name", self.name) == self.name
            self.values |= inner if wraps and isinstance(inner, dict) else value
            self._flush(whole=True)
        else:
            self.name = ""
            calls = _calls_in(value, self.tools)
            if calls is None:
                return False
            self.calls += calls[: MAX_CALLS - len(self.calls)]
        self.place = end
        return True

    def _end(self) -> int | None:
        """Return the end of the brackets that open here; the end of the text if they are not closed."""
        closers, quote, place, text = list[str](), "", self.place, self.text
        before = ""
        while place < len(text):
            char = text[place]
            if quote:
                if char == "\\":
                    place += 1
                elif char == quote:
                    quote = ""
            elif char == '"' or (char == "'" and before in "{[(,:="):
                quote = char
            elif char in _CLOSERS:
                closers.append(_CLOSERS[char])
                if len(closers) > MAX_DEPTH:
                    return None
            elif closers and char == closers[-1]:
                closers.pop()
                if not closers:
                    return place + 1
            elif self.complete and ((char == "<" and _MARK.match(text, place)) or text.startswith("```", place)):
                return place  # without its last brackets
            before = before if char.isspace() else char
            place += 1
        return None if quote or not self.complete else len(text)

    def _python(self) -> bool:
        """Read calls in Python: `name(a="b")`, one or a list of them."""
        if self.text[self.place] == "[":
            start = self.place + 1
            head = NAME.match(self.text, start)
        else:
            start = self.place
            head = NAME.match(self.text, start)
        if head is None or self.text[head.end() : head.end() + 1] != "(":
            return False
        if self.text[self.place] != "[":
            self.place = head.end()
            end = self._end()
            self.place = start
        else:
            end = self._end()
        if end is None:
            return False
        calls = _from_python(self.text[self.place : end], self.tools)
        if not calls:
            return False
        self.calls += calls[: MAX_CALLS - len(self.calls)]
        self.name, self.place = "", end
        return True

    def _named(self) -> bool:
        """Read the name of a tool; other words only behind a mark."""
        start = self.place
        if prefix := _PREFIX.match(self.text, start):
            start = prefix.end()
        found = next(
            (name for name in sorted(self.tools, key=len, reverse=True) if self.text.startswith(name, start)), ""
        )
        if not found and (word := NAME.match(self.text, start)) and (self.marked or prefix):
            found = word[0]
            if self.text[start + len(found) :][:20].lstrip(" :0123456789")[:1] not in tuple("{<[(`\n"):  # a sentence
                return False
        if not found:
            return False
        self._flush()
        self.name, self.place = found, start + len(found)
        if number := _NUMBERED.match(self.text, self.place):
            self.place = number.end()
        if self.text.startswith(":", self.place):
            self.place += 1
        return True

    def _flush(self, *, whole: bool = False) -> None:
        """End the call whose name was read; without arguments only if they are `whole`, or behind a mark."""
        if self.name and len(self.calls) < MAX_CALLS and (self.values or self.marked or whole):
            self.calls.append(WrittenToolCall(self.name, self.values))
        self.name, self.values = "", {}

    def _typed(self, key: str, content: str) -> Any:
        """Return a value of a tag: text where the tool takes text, else what it says as JSON."""
        declared = _properties(self.tools.get(self.name)).get(key)
        kind = declared.get("type") if isinstance(declared, Mapping) else None
        if kind == "string":
            return content
        value = _from_json(content.strip(), complete=False) if content.strip() else content
        return content if isinstance(value, str) else value


def _plain_name(name: str) -> str:
    return _PREFIX.sub("", name.strip())


def _properties(tool: ToolSpec | None) -> Mapping[str, Any]:
    parameters = tool["function"].get("parameters") if tool else None
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _from_json(text: str, complete: bool) -> Any:
    """Return JSON as models write it, also with single quotes, bare keys, or closing brackets that are missing; else the text."""
    try:
        value: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            value = orjson.loads(_tidied(text, complete))
        except orjson.JSONDecodeError:
            return text
    return text if isinstance(value, str) or _too_deep(value) else value


def _too_deep(value: object) -> bool:
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        inner = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))]
        level, depth = [item for items in inner for item in items], depth + 1
    return bool(level)


def _tidied(text: str, complete: bool) -> str:
    """Return what resembles JSON as JSON."""
    parts, closers = list[str](), list[str]()
    for found in _TOKEN.finditer(text):
        part = found[0]
        if part[0] == "'" and len(part) > 1:
            part = orjson.dumps(part[1:-1].replace("\\'", "'")).decode()
        elif part[0] == '"':
            part = part.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
        elif part[0].isalpha() or part[0] == "_":
            part = _LITERALS.get(part) or f'"{part}"'
        elif part == ",":
            part = "" if text[found.end() :][:20].lstrip()[:1] in ("}", "]") else part
        else:
            for char in part:
                if char in "{[":
                    closers.append(_CLOSERS[char])
                elif closers and char == closers[-1]:
                    closers.pop()
        parts.append(part)
    return "".join([*parts, *reversed(closers)] if complete else parts)


def _calls_in(value: object, tools: Mapping[str, ToolSpec], depth: int = 0) -> list[WrittenToolCall] | None:
    """Return the calls that JSON says; None if it says anything else."""
    if depth > 4:
        return None
    if isinstance(value, list):
        found = [_calls_in(item, tools, depth + 1) for item in value]
        return [call for calls in found if calls for call in calls] if found and all(found) else None
    if not isinstance(value, dict) or not value:
        return None
    names = [key for key in _NAMES if isinstance(value.get(key), str)]
    for key in names:
        name = _plain_name(value[key])
        own = {*_properties(tools.get(name))} - {key}
        beside = own & value.keys()  # then one that is called "parameters" is one of them
        arguments = next((value[other] for other in _ARGUMENTS if other in value and not (beside - {other})), None)
        if arguments is None and name not in tools:
            continue
        if isinstance(arguments, str):
            arguments = _from_json(arguments, complete=False) if arguments.strip() else {}
        if arguments is None:
            arguments = {other: item for other, item in value.items() if other not in (key, "type", "id")}
        if isinstance(arguments, dict) and 0 < len(name) <= _MAX_NAME:
            return [WrittenToolCall(name, arguments)]
    for key in _WRAPPERS:
        if isinstance(value.get(key), (dict, list)) and (calls := _calls_in(value[key], tools, depth + 1)):
            return calls
    if all(key in tools and isinstance(item, dict) for key, item in value.items()):
        return [WrittenToolCall(key, item) for key, item in value.items()]
    return None


def _from_python(text: str, tools: Mapping[str, ToolSpec]) -> list[WrittenToolCall]:
    """Return the calls in Python code; arguments without a name are in the order of the tool's parameters."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
        nodes = tree.elts if isinstance(tree, (ast.List, ast.Tuple)) else [tree]
        return [_call_of(node, tools) for node in nodes]
    except SyntaxError, ValueError, TypeError, MemoryError, RecursionError:
        return []


def _call_of(node: ast.expr, tools: Mapping[str, ToolSpec]) -> WrittenToolCall:
    if not isinstance(node, ast.Call):
        raise TypeError("no call")
    name = _plain_name(ast.unparse(node.func)).removesuffix(".call")  # as Llama calls its built-in tools
    if name == "print" and len(node.args) == 1:
        return _call_of(node.args[0], tools)
    keys = list(_properties(tools.get(name)))
    if len(node.args) > len(keys):
        raise ValueError("too many arguments")
    named = dict(zip(keys, node.args, strict=False)) | {word.arg: word.value for word in node.keywords if word.arg}
    return WrittenToolCall(name, {key: ast.literal_eval(_JsonWords().visit(value)) for key, value in named.items()})


class _JsonWords(ast.NodeTransformer):
    """Makes `true`, `false` and `null` of an expression what Python says."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the constant, or the name itself."""
        said = {"true": True, "false": False, "null": None}
        return ast.Constant(said[node.id]) if node.id in said else node
