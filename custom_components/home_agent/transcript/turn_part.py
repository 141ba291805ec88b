"""The turn part: what a model is told with a message besides what was said, as values and as text.

As text, everything in it is data: JSON in one line, inside a tag that no value can close.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from homeassistant.core import State
from homeassistant.util.json import JsonObjectType, JsonValueType, json_loads

from ..home.snapshot import HomeSnapshot
from ..support.encoding import inert, inert_json
from ..support.masking import Mask, masked_values

TAG = "house"
BETWEEN_PARTS = "\n\n"
"""Stands between what was told before a message was said and what belongs to its words; nothing inside of them has it."""

type Estimate = Callable[[str], int]
"""Returns how many tokens a text is, about."""


@dataclass(frozen=True, slots=True)
class KnownState:
    """An entity as the model knows it."""

    text: str
    state: State | None  # the state object the text was made from; None once the model was told that the entity is gone


@dataclass(frozen=True, slots=True)
class Baseline:
    """States behind the home map, as they were when it was written; the same in all conversations since."""

    home: HomeSnapshot  # what the user may see, of which it was made
    told: Mapping[str, KnownState] = field(default_factory=dict)  # by entity id
    text: str = ""
    home_map: str = ""  # the home map with the states in it; empty if they are in the text
    tokens: int = 0  # estimate for the text, and for what the states add to the home map
    left_out: int = 0  # number of entities without room
    full_tokens: int = 0  # estimate with the entities that were left out; 0 if there are none
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # chosen by the owner, by entity id
    facts: Mapping[str, str] = field(default_factory=dict)
    """Date and language of most messages, which are not repeated with those messages."""
    holds_until: float = 0.0  # end of its date, in seconds since 1970


@dataclass(frozen=True, slots=True)
class TurnPart:
    """What a model was told with one user message."""

    text: str
    told: Mapping[str, KnownState] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    """Date, area, user and language as they were told, and what was said in rounds that are not sent any more."""
    items: Sequence[str] = ()  # keys of the passages, memories and events in it


@dataclass(frozen=True, slots=True)
class KnownStates:
    """What the model knows from the parts that are still sent."""

    entities: Mapping[str, KnownState] = field(default_factory=dict)  # in the order in which they were told last
    facts: Mapping[str, str] = field(default_factory=dict)
    items: frozenset[str] = frozenset()
    long_ago: Mapping[str, KnownState] = field(default_factory=dict)
    """Those of the baseline. Where `entities` has the same object, the model knows the entity from there alone."""


def render_turn_part(
    *,
    time: str,
    facts: Mapping[str, str],
    states: JsonValueType = None,
    left_out: Mapping[str, int] = MappingProxyType({}),
    sections: Mapping[str, tuple[str, Sequence[JsonValueType]]] = MappingProxyType({}),
) -> str:
    """Return `<house>{"time": ..., "states": {...}}</house>`; without an empty time.

    `left_out` are numbers of omitted items by key. `sections` are further lists with their headings: those without one stand
    beside the states, the others below them, the heading in a line of its own.
    """
    data: JsonObjectType = {"time": time, **facts} if time else {**facts}
    if states:
        data["states"] = states
    data |= {key: count for key, count in left_out.items() if count}
    data |= {name: list(items) for name, (heading, items) in sections.items() if not heading}
    below = [f"\n{heading}\n{inert_json(list(items))}" for heading, items in sections.values() if heading]
    return f"<{TAG}>{inert_json(data)}{''.join(below)}</{TAG}>"


def render_states(states: JsonValueType) -> str:
    """Return states by themselves: sentences one below the other, else JSON; nothing without any."""
    if isinstance(states, list):
        return "\n".join(inert(" ".join(str(line).split())) for line in states)
    return inert_json(states) if states else ""


def render_note(note: str, outcomes: Mapping[str, str], states: Mapping[str, str] | None = None) -> str:
    """Return `<house>{"note": ..., "outcome": {...}, "states": {...}}</house>`: facts that stand behind an answer."""
    data: JsonObjectType = {"note": note}
    data |= {name: dict(said) for name, said in (("outcome", outcomes), ("states", states)) if said}
    return f"<{TAG}>{inert_json(data)}</{TAG}>"


@lru_cache(maxsize=64)
def masked_part(text: str, hide: Mask) -> str:
    """Return a turn part, a note or states with their values masked; it stays data that cannot leave its tag."""
    if BETWEEN_PARTS in text:
        return BETWEEN_PARTS.join(masked_part(part, hide) for part in text.split(BETWEEN_PARTS))
    tagged = text.startswith(f"<{TAG}>") and text.endswith(f"</{TAG}>")
    inside = text.removeprefix(f"<{TAG}>").removesuffix(f"</{TAG}>") if tagged else text
    lines = inside.split("\n")
    for place, line in enumerate(lines):
        try:  # values, as in JSON a line end is a letter, which hides where a number begins
            masked = inert_json(masked_values(json_loads(line), hide)) if line.startswith(("{", "[")) else hide(line)
        except ValueError:
            masked = hide(line)
        lines[place] = masked
    hidden = "\n".join(lines)
    return f"<{TAG}>{hidden}</{TAG}>" if tagged else hidden
