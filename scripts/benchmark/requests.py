"""What a model has to read of a request, in the order in which a server's chat template lays it out. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
import json
import math
import re
from typing import Any

_PIECES = re.compile(r"[^\w\s]?[^\W\d_]+|_[^\W\d_]*|\d{1,3}| ?[^\w\s]+\n*|\s+")


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text is: the same ruler for all, within 10 % of o200k_base on these requests.

    Cut as byte pair tokenizers cut before they merge: words with the mark before them, digits by three, runs of marks,
    blanks. A word of up to 7 characters counts one and each further 5 one more, 4 marks count one, and a single blank
    belongs to what stands behind it.
    """
    count = 0
    for piece in _PIECES.findall(text):
        if piece.isspace():
            count += piece != " "
        elif piece[-1].isalpha():
            count += 1 + max(0, math.ceil((len(piece) - 7) / 5))
        else:
            count += 1 if piece[0].isdigit() else math.ceil(len(piece) / 4)
    return count


def _tool_text(tool: dict[str, Any]) -> str:
    return json.dumps(tool, ensure_ascii=False, separators=(",", ":")) + "\n"


def _message_text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "".join(part.get("text", "") for part in content)
    lines = [f"<|{message['role']}|>\n{content}"]
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = function["arguments"]
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        lines.append(f"<|call|>{function['name']} {arguments}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Laid:
    """A request as one text: tools, system message, then the conversation."""

    text: str
    stable: int
    """Length of what does not belong to the conversation: tools and system message."""
    messages: int
    """Messages of the conversation."""


def lay_out(body: dict[str, Any]) -> Laid:
    """Return a request as the text a model reads. Ids of tool calls are left out, as most chat templates do."""
    messages = body["messages"]
    system = list(takewhile(lambda message: message["role"] in ("system", "developer"), messages))
    rest = messages[len(system) :]
    stable = "".join(map(_tool_text, body.get("tools") or ())) + "".join(map(_message_text, system))
    return Laid(text=stable + "".join(map(_message_text, rest)), stable=len(stable), messages=len(rest))


@dataclass(frozen=True, slots=True)
class Step:
    """From one request to the next."""

    share: float
    """Of the earlier request, how much stands unchanged at the start of the later one (0 to 1)."""
    stable: bool
    """Whether tools and system message stand unchanged."""
    new_tokens: int
    """Tokens of the later request behind what they share."""
    trimmed: bool
    """Whether the history was cut: the later request has no more messages than the earlier one."""


def _common(one: str, other: str) -> int:
    """Return how many characters two texts share at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def step(before: Laid, after: Laid) -> Step:
    """Compare two requests that follow each other."""
    common = _common(before.text, after.text)
    return Step(
        share=common / len(before.text),
        stable=common >= before.stable,
        new_tokens=estimate_tokens(after.text[common:]),
        trimmed=after.messages <= before.messages,
    )


def steps(requests: Sequence[Laid]) -> list[Step]:
    """Compare each request with the one before it."""
    return [step(before, after) for before, after in pairwise(requests)]
