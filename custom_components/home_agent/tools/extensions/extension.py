"""An extension: a domain with a prompt and tools, which are aliases of others, and the Light Schema of several.

Plan, permission, confirmation, verification and undo of an alias are those of the tool beneath; the owner's lists hold by either name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
import re
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.util import slugify
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ...policy.tool import HomeAgentTool, PendingResult
from ...support.errors import ExtensionError, ToolRefusal
from ...turn.plan import Plan
from ...turn.turn import Turn
from ..sanitize import MAX_NAME, cleaned

MAX_EXTENSION_NAME = 40  # characters
MAX_PROMPT = 16_000
MAX_SUMMARY = 200
"""Characters of each line of the Light Schema, which a router reads for each message."""
MAX_NOTES = 2000
MAX_TOOLS = 30  # of one extension
_WORDS = frozenset({"ALL", "NONE"})  # words with a meaning in lists of extensions
VERBS = ("GET", "UPDATE", "ACTION")

_EXTENSION_NAME = re.compile(r"[^\W_](?:[\w .&'-]*[\w.])?")
_TOOL_NAME = re.compile(rf"(?:{'|'.join(VERBS)})_[A-Z0-9]+(?:_[A-Z0-9]+)*")
OUTSIDE = "{tool} is for {domains} alone. Nothing was done."


def line_of(text: str) -> str:
    """Return a text as one line without control characters."""
    return cleaned(" ".join(text.split()), MAX_PROMPT)


def summary_of(prompt: str) -> str:
    """Return the first line of a prompt that is not empty, "" without one."""
    return next((line for text in prompt.splitlines() if (line := line_of(text))), "")


def domain_of(name: str) -> str:
    """Return the prefix of an extension's tools: `CHEFBYTE` for `ChefByte`; "" without letters and digits."""
    return slugify(name, separator="").upper() if any(sign.isalnum() for sign in name) else ""


def check_names(name: str, prompt: str, tools: Iterable[str], *, most: int | None = MAX_TOOLS) -> None:
    """Raise `ExtensionError` for an invalid name, prompt or name of a tool, and for more than `most` tools."""
    domain = domain_of(name)
    fits = len(name) <= MAX_EXTENSION_NAME and _EXTENSION_NAME.fullmatch(name) is not None
    if not fits or not domain[:1].isalpha() or domain in _WORDS:
        raise ExtensionError("extension_name", name=line_of(name)[:MAX_EXTENSION_NAME], length=str(MAX_EXTENSION_NAME))
    if not (summary := summary_of(prompt)):
        raise ExtensionError("extension_summary", name=name)
    if len(summary) > MAX_SUMMARY:
        raise ExtensionError("extension_long", what=summary[:MAX_SUMMARY], length=str(MAX_SUMMARY))
    if len(prompt) > MAX_PROMPT:
        raise ExtensionError("extension_long", what=summary, length=str(MAX_PROMPT))
    seen: set[str] = set()
    for tool in tools:
        rest = tool.removeprefix(f"{domain}_")
        if rest == tool or len(tool) > MAX_NAME or not _TOOL_NAME.fullmatch(rest):
            raise ExtensionError("extension_tool_name", tool=line_of(tool)[:MAX_NAME], domain=domain)
        if tool in seen:
            raise ExtensionError("extension_tool_twice", tool=tool)
        seen.add(tool)
    if not seen:
        raise ExtensionError("extension_no_tools", name=name)
    if most is not None and len(seen) > most:
        raise ExtensionError("extension_many_tools", name=name, most=str(most))


def check_lines(tool: str, summary: str, example: str, notes: str) -> None:
    """Raise `ExtensionError` for a tool whose summary or example is missing, or whose texts are too long."""
    if not line_of(summary):
        raise ExtensionError("extension_tool_summary", tool=tool)
    if not line_of(example):
        raise ExtensionError("extension_tool_example", tool=tool)
    for text, limit in ((summary, MAX_SUMMARY), (example, MAX_SUMMARY), (notes, MAX_NOTES)):
        if len(text) > limit:
            raise ExtensionError("extension_long", what=f"{tool}: {line_of(text)[:MAX_NAME]}", length=str(limit))


class _Fixed(probatio.Schema):
    """Arguments of a tool, some of them fixed."""

    def __init__(self, schema: probatio.Schema, fixed: Mapping[str, Any]) -> None:
        """Take the schema of all arguments, and the fixed ones."""
        super().__init__({}, extra=probatio.ALLOW_EXTRA)
        self._whole = schema
        self._fixed = fixed

    @override
    def __call__(self, data: Any, **kwargs: Any) -> Any:
        """Return the validated arguments; fixed ones replace the model's."""
        return self._whole({**data, **self._fixed} if isinstance(data, Mapping) else data, **kwargs)


_SAME = (
    *("title", "annotations", "guide_is_default", "entity_id", "stands_alone", "asks_key", "fails_in_own_words"),
    *("answers", "timed_out"),
)
"""Attributes that an alias has from the tool beneath."""


class ExtensionTool(HomeAgentTool):
    """An alias of another tool."""

    def __init__(
        self,
        tool: HomeAgentTool,
        *,
        name: str,
        summary: str,
        example: str,
        notes: str = "",
        arguments: Mapping[str, Any] | None = None,
        domains: Iterable[str] = (),
        guide: str | None = None,
    ) -> None:
        """Wrap `tool` with fixed `arguments`, for entities of `domains` if given. Raises `ExtensionError`."""
        fixed = dict(arguments or {})
        self.tool = tool  # the tool beneath
        self.name = name
        self.summary = line_of(summary)
        self.example = line_of(example)
        self.notes = notes.strip()
        self.domains = tuple(domains)
        self.stands_for = tool.name if tool.name != name else ""
        self.description = "\n".join(filter(None, (self.summary, self.example, self.notes)))
        for attribute in _SAME:
            setattr(self, attribute, getattr(tool, attribute))
        self.wire_parameters = _without(tool.wire_parameters, fixed, name)
        self.parameters = _Fixed(tool.parameters, fixed) if fixed else tool.parameters
        self.guide = guide

    @property
    @override
    def always_asks(self) -> bool:
        """Return whether each call of the tool beneath needs a yes."""
        return self.tool.always_asks

    @override
    async def async_title(self, hass: HomeAssistant, language: str) -> str:
        return await self.tool.async_title(hass, language)

    @override
    def shown(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.tool.shown(values)

    @override
    def done_with(self, plan: Plan, result: JsonObjectType) -> Mapping[str, Sequence[str]]:
        return self.tool.done_with(plan, result)

    @override
    def answer(self, result: JsonValueType) -> str:
        return self.tool.answer(result)

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the plan of the tool beneath. Raises `ToolRefusal` if it reaches other domains."""
        plan = await self.tool.plan(hass, args, turn)
        if self.domains:
            called = (entity_id for effect in plan.effects for entity_id in effect.entity_ids)
            if any(entity_id.partition(".")[0] not in self.domains for entity_id in (*plan.targets, *called)):
                raise ToolRefusal(OUTSIDE.format(tool=self.name, domains=", ".join(self.domains)))
        return plan

    @override
    async def run(
        self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn
    ) -> JsonValueType | PendingResult:
        return await self.tool.run(hass, args, plan, turn)


def _without(schema: JsonObjectType, fixed: Mapping[str, Any], name: str) -> JsonObjectType:
    """Return a schema without the fixed arguments."""
    if not fixed:
        return schema
    properties, required = schema.get("properties"), schema.get("required")
    assert isinstance(properties, dict)
    for key in fixed:
        if key not in properties:
            raise ExtensionError("extension_argument", tool=name, argument=key, arguments=", ".join(properties) or "-")
    left: JsonObjectType = {**schema, "properties": {key: properties[key] for key in properties if key not in fixed}}
    needed = [key for key in required if key not in fixed] if isinstance(required, list) else []
    left.pop("required", None)
    return {**left, "required": needed} if needed else left


class ExtensionSource(StrEnum):
    """Origin of an extension."""

    FOLDER = "folder"
    PROFILE = "profile"
    INTEGRATION = "integration"
    SHIPPED = "shipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """A domain that requests are sent to; without tools while its entities are not exposed, or the tools are unavailable."""

    name: str  # in the Light Schema and for a router
    prompt: str  # the first line that is not empty is its summary; the rest is for its own agent
    tools: tuple[ExtensionTool, ...]  # in the order of the Light Schema
    source: ExtensionSource = ExtensionSource.FOLDER
    profile_id: str = ""
    """Subentry id of the profile that answers, with its own model and instructions; "": the routing one."""

    @property
    def summary(self) -> str:
        """Return its line in the Light Schema."""
        return summary_of(self.prompt)


def light_schema(extensions: Iterable[Extension]) -> str:
    """Return the Light Schema: name, summary and tools of each extension, with a blank line between them."""
    blocks: list[str] = []
    for extension in extensions:
        lines = [f"{extension.name} — {extension.summary}"]
        for tool in extension.tools:
            example = f' EX: "{tool.example.replace('"', "'")}"' if tool.example else ""
            lines.append(f"- {tool.name}: {tool.summary}{example}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
