"""Putting tool calls together from their fragments; pure.

Servers agree on little here: the index may be missing or the same for all calls, id and name may be null, repeated or
come late, arguments may be an object instead of text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.helpers import llm
from homeassistant.util.ulid import ulid_now
import orjson

from .base import BrokenArguments


@dataclass(slots=True)
class _Call:
    """A call while it arrives."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def complete(self) -> bool:
        """Whether the arguments are a whole JSON object, to which nothing can be added."""
        return bool(self.arguments) and not isinstance(arguments_from_text(self.arguments), BrokenArguments)


class ToolCallAssembler:
    """The tool calls of one answer."""

    def __init__(self) -> None:
        """Start without a call."""
        self._calls: list[_Call] = []
        self.length = 0
        """Characters of everything that has arrived."""

    def __len__(self) -> int:
        """Return how many calls have begun."""
        return len(self._calls)

    def feed(self, fragments: object) -> None:
        """Take the `tool_calls` of a delta, whatever it is."""
        for fragment in fragments if isinstance(fragments, list) else ():
            if isinstance(fragment, Mapping):
                self._add(fragment)

    def finish(self, *, complete: bool = True) -> list[llm.ToolInput]:
        """Return the calls; `complete` false: only those whose arguments have arrived whole."""
        calls = [call for call in self._calls if call.name and (complete or call.complete)]
        seen: set[str] = set()
        for call in calls:
            if not call.id or call.id in seen:
                call.id = ulid_now()
            seen.add(call.id)
        return [
            llm.ToolInput(id=call.id, tool_name=call.name, tool_args=arguments_from_text(call.arguments))
            for call in calls
        ]

    def _add(self, fragment: Mapping[str, Any]) -> None:
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        index, call_id, name = fragment.get("index"), fragment.get("id"), function.get("name")
        index = index if isinstance(index, int) else None
        call_id = call_id if isinstance(call_id, str) else ""
        name = name if isinstance(name, str) else ""
        arguments = _text(function.get("arguments"))
        call = self._find(index, call_id)
        if call is None or _starts_another(call, call_id, name, arguments):
            call = _Call(index)
            self._calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        call.arguments += arguments
        self.length += len(arguments) + len(name) + len(call_id)

    def _find(self, index: int | None, call_id: str) -> _Call | None:
        """Return the call that a fragment may belong to: the newest of its index, else of its id, else the newest."""
        if index is not None:
            return next((call for call in reversed(self._calls) if call.index == index), None)
        if call_id:
            if known := next((call for call in self._calls if call.id == call_id), None):
                return known
        return self._calls[-1] if self._calls else None


def _starts_another(call: _Call, call_id: str, name: str, arguments: str) -> bool:
    """Return whether a fragment begins a call of its own instead of continuing `call`.

    Only a fragment with a name can: others merely repeat an id. It does when nothing can be added to `call` any more,
    or when `call` has no arguments and the fragment is of another id or, where an id is missing, of another tool.
    """
    if not name or not call.name:
        return False
    if call.arguments:
        return (bool(arguments) or name != call.name) and call.complete
    if call_id and call.id:
        return call_id != call.id
    return name != call.name


def _text(arguments: object) -> str:
    """Return arguments as JSON text; some servers send them as an object."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()


def arguments_from_text(text: str) -> dict[str, Any]:
    """Return the arguments of a call: no text means none; what is not a JSON object is `BrokenArguments`."""
    if not text.strip():
        return {}
    try:
        arguments = orjson.loads(text)
    except orjson.JSONDecodeError:
        return BrokenArguments(text)
    return arguments if isinstance(arguments, dict) else BrokenArguments(text)
