"""Results of tools that are longer than the model's window takes: cut when they are sent, and sent so from then on.

A server that is sent too much either refuses it or, worse, silently leaves out the beginning: the instructions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from homeassistant.components.conversation import AssistantContent, Content, ToolResultContent, UserContent

from ..client.wire import dump

LEAST_SHARE = 8  # of a window: as much is left for results however long everything else is
LEAST = 64  # tokens of one result
MARK = "…"
TOO_LONG = "The result was too long and is cut here. Ask for less."

type Estimate = Callable[[str], int]


@dataclass(slots=True)
class SentResults:
    """How results were sent in a conversation."""

    _sent: list[tuple[ToolResultContent, ToolResultContent]] = field(default_factory=list)

    def forget_gone(self, kept: set[int]) -> None:
        """Drop what hangs on messages that Home Assistant did not keep; `kept` are the `id()`s of those it did."""
        self._sent = [pair for pair in self._sent if id(pair[0]) in kept]

    def fitting(
        self, content: Sequence[Content], room: int, estimate: Estimate, *, shorter: bool = False
    ) -> list[Content]:
        """Return the content with its results as they are sent: those that were not sent before cut where it is too long.

        `room` is in tokens, for all but the system message. With `shorter` those behind the last question are cut to at
        most half of what they were sent with: the model said that it was too much.
        """
        known = {id(item): sent for item, sent in self._sent}
        last = max((place for place, item in enumerate(content) if isinstance(item, UserContent)), default=0)
        due = [
            item
            for place, item in enumerate(content)
            if isinstance(item, ToolResultContent) and (id(item) not in known or (shorter and place > last))
        ]
        if due:
            others = _tokens((known.get(id(item), item) for item in content), {id(item) for item in due}, estimate)
            room = max(room - others, room // LEAST_SHARE)
            if shorter:
                room = min(room, sum(estimate(_text(known.get(id(item), item))) for item in due) // 2)
            self._sent = [pair for pair in self._sent if all(pair[0] is not item for item in due)]
            self._sent += _cut_to_fit(due, room, estimate)
            known = {id(item): sent for item, sent in self._sent}
        return [known.get(id(item), item) for item in content]


def _tokens(content: Iterable[Content], without: set[int], estimate: Estimate) -> int:
    tokens = 0
    for item in content:
        match item:
            case ToolResultContent() if id(item) not in without:
                tokens += estimate(_text(item))
            case UserContent(content=text):
                tokens += estimate(text)
            case AssistantContent():
                tokens += estimate(item.content or "") + sum(estimate(str(call)) for call in item.tool_calls or ())
    return tokens


def _cut_to_fit(
    results: Sequence[ToolResultContent], room: int, estimate: Estimate
) -> list[tuple[ToolResultContent, ToolResultContent]]:
    """Return each result with how it is sent; what short ones leave of the room is for the long ones."""
    sizes = {id(item): estimate(_text(item)) for item in results}
    cut: list[tuple[ToolResultContent, ToolResultContent]] = []
    for number, item in enumerate(sorted(results, key=lambda item: sizes[id(item)])):
        size, share = sizes[id(item)], max(LEAST, room // (len(results) - number))
        cut.append((item, item if size <= share else _cut(item, share / size)))
        room -= min(size, share)
    return cut


def _cut(item: ToolResultContent, share: float) -> ToolResultContent:
    text = _text(item)
    data = item.result.data
    success = data.get("success", not item.result.error) if isinstance(data, Mapping) else not item.result.error
    part = text[: int(len(text) * share)] + MARK
    return replace(item, result=replace(item.result, data={"success": success, "result": part, "cut": TOO_LONG}))


def _text(item: Content) -> str:
    return dump(item.result.data).decode() if isinstance(item, ToolResultContent) else ""
