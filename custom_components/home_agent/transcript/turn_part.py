"""The turn part: what a model is told with a message besides what was said, as values and as text.

As text, everything in it is data: JSON in one line, inside a tag that no value can close.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from homeassistant.core import State
from homeassistant.util.json import JsonObjectType, JsonValueType, json_loads

from ..home.snapshot import HomeSnapshot
from ..support.encoding import dump
from ..support.masking import Mask, masked_values

TAG = "house"
BETWEEN_PARTS = "\n\n"
"""Stands between what was told before a message was said and what belongs to its words; nothing inside of them has it."""
_NOTHING: Mapping[str, int] = {}
_NO_SECTIONS: Mapping[str, tuple[str, Sequence[JsonValueType]]] = {}
_NO_STATES: Mapping[str, str] = {}

type Estimate = Callable[[str], int]
"""Returns how many tokens a text is, about."""


@dataclass(frozen=True, slots=True)
class KnownState:
    """An entity as the model knows it."""

    text: str
    state: State | None
    """The state object the text was made from; None once the model was told that the entity is gone."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """States that stand behind the home map: how things were when it was written, the same in every conversation since."""

    home: HomeSnapshot
    """What the user may see, of which it was made."""
    told: Mapping[str, KnownState] = field(default_factory=dict)
    """By entity id."""
    text: str = ""
    home_map: str = ""
    """The home map with the states in it; empty: they stand in the text."""
    tokens: int = 0
    """Of the text, and of what the states add to the home map; about."""
    left_out: int = 0
    """Entities that it had no room for."""
    full_tokens: int = 0
    """What the states take together with what was left out, about; 0: nothing was."""
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those that the owner chose, by entity id."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Date and language of most messages: with one to which they apply they are not said again."""
    holds_until: float = 0.0
    """When its date is over, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class TurnPart:
    """What a model was told with one user message."""

    text: str
    told: Mapping[str, KnownState] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    """Date, area, user and language as they were told, and what was said in rounds that are not sent any more."""
    items: Sequence[str] = ()
    """Keys of the passages, memories and events in it."""


@dataclass(frozen=True, slots=True)
class KnownStates:
    """What the model knows from the parts that are still sent."""

    entities: Mapping[str, KnownState] = field(default_factory=dict)
    """In the order in which they were told last."""
    facts: Mapping[str, str] = field(default_factory=dict)
    items: frozenset[str] = frozenset()
    long_ago: Mapping[str, KnownState] = field(default_factory=dict)
    """Those of the baseline. Where `entities` has the same object, the model knows the entity from there alone."""


def render_turn_part(
    *,
    time: str,
    facts: Mapping[str, str],
    states: JsonValueType = None,
    left_out: Mapping[str, int] = _NOTHING,
    sections: Mapping[str, tuple[str, Sequence[JsonValueType]]] = _NO_SECTIONS,
) -> str:
    """Return `<house>{"time": ..., "states": {...}}</house>`, without a time where none is given.

    `left_out` counts by key what there was no room for. `sections` are further lists, each with its heading: one without
    stands beside the states, one with stands below them, the heading in a line of its own.
    """
    data: JsonObjectType = {"time": time, **facts} if time else {**facts}
    if states:
        data["states"] = states
    data |= {key: count for key, count in left_out.items() if count}
    data |= {name: list(items) for name, (heading, items) in sections.items() if not heading}
    below = [f"\n{heading}\n{_escaped(list(items))}" for heading, items in sections.values() if heading]
    return f"<{TAG}>{_escaped(data)}{''.join(below)}</{TAG}>"


def render_states(states: JsonValueType) -> str:
    """Return states by themselves: sentences one below the other, else JSON; nothing without any."""
    if isinstance(states, list):
        return "\n".join(" ".join(str(line).split()) for line in states)
    return _escaped(states) if states else ""


def render_note(note: str, outcomes: Mapping[str, str], states: Mapping[str, str] = _NO_STATES) -> str:
    """Return `<house>{"note": ..., "outcome": {...}, "states": {...}}</house>`: facts that stand behind an answer."""
    data: JsonObjectType = {"note": note}
    if outcomes:
        data["outcome"] = dict(outcomes)
    if states:
        data["states"] = dict(states)
    return f"<{TAG}>{_escaped(data)}</{TAG}>"


@lru_cache(maxsize=64)
def masked_part(text: str, hide: Mask) -> str:
    """Return a turn part, a note or states with their values masked; it stays data that cannot leave its tag."""
    if BETWEEN_PARTS in text:
        return BETWEEN_PARTS.join(masked_part(part, hide) for part in text.split(BETWEEN_PARTS))
    tagged = text.startswith(f"<{TAG}>") and text.endswith(f"</{TAG}>")
    inside = text.removeprefix(f"<{TAG}>").removesuffix(f"</{TAG}>") if tagged else text
    hidden = "\n".join(_masked_line(line, hide) for line in inside.split("\n"))
    return f"<{TAG}>{hidden}</{TAG}>" if tagged else hidden


def _masked_line(line: str, hide: Mask) -> str:
    """Return a line of JSON with its values masked; in JSON itself a line end is a letter, which hides where a number begins."""
    if line.startswith(("{", "[")):
        with suppress(ValueError):
            return _escaped(masked_values(json_loads(line), hide))
    return hide(line)


def _escaped(data: JsonValueType) -> str:
    """Return JSON that cannot close the tag around it, even where a name or a state has that tag in it."""
    return dump(data).decode().replace("<", "\\u003c").replace(">", "\\u003e")
