"""The turn part as text. Everything in it is data: JSON in one line, inside a tag that no value can close."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from homeassistant.util.json import JsonObjectType, JsonValueType, json_loads

from ..client.wire import dump
from .masking import Mask, masked_values

TAG = "house"
_NO_SECTIONS: Mapping[str, tuple[str, Sequence[JsonValueType]]] = {}


@dataclass(frozen=True, slots=True)
class StateLine:
    """An entity and its state, ready to be told."""

    entity_id: str
    text: str
    name: str
    area: str | None
    note: str = ""
    """What introduces it to the model, where nothing else names it."""


def render_turn_part(
    *,
    time: str,
    facts: Mapping[str, str],
    lines: Iterable[StateLine],
    left_out: Mapping[str, int],
    style: str,
    sections: Mapping[str, tuple[str, Sequence[JsonValueType]]] = _NO_SECTIONS,
) -> str:
    """Return `<house>{"time": ..., "states": {...}}</house>`; `style` is the profile's context format.

    `left_out` counts by key what there was no room for. `sections` are further lists, each with its heading: one without
    stands beside the states, one with stands below them, the heading in a line of its own.
    """
    data: JsonObjectType = {"time": time, **facts}
    if states := _states(lines, style):
        data["states"] = states
    data |= {key: count for key, count in left_out.items() if count}
    data |= {name: list(items) for name, (heading, items) in sections.items() if not heading}
    below = [f"\n{heading}\n{_escaped(list(items))}" for heading, items in sections.values() if heading]
    return f"<{TAG}>{_escaped(data)}{''.join(below)}</{TAG}>"


def render_states(lines: Iterable[StateLine], style: str) -> str:
    """Return states by themselves: sentences one below the other, else JSON; nothing without any."""
    states = _states(lines, style)
    if isinstance(states, list):
        return "\n".join(" ".join(str(line).split()) for line in states)
    return _escaped(states) if states else ""


def render_note(note: str, effects: Mapping[str, str]) -> str:
    """Return `<house>{"note": ..., "outcome": {...}}</house>`: facts that stand behind an answer."""
    data: JsonObjectType = {"note": note}
    if effects:
        data["outcome"] = dict(effects)
    return f"<{TAG}>{_escaped(data)}</{TAG}>"


@lru_cache(maxsize=64)
def masked_part(text: str, hide: Mask) -> str:
    """Return a turn part, a note or states with their values masked; it stays data that cannot leave its tag."""
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


def _states(lines: Iterable[StateLine], style: str) -> JsonValueType:
    match style:
        case "natural_language":
            return [_sentence(line) for line in lines]
        case "hybrid":
            return {line.entity_id: f"{line.text} ({_place(line)})" for line in lines}
        case _:
            return {line.entity_id: f"{line.text} ({line.note})" if line.note else line.text for line in lines}


def _sentence(line: StateLine) -> str:
    where = f" in {line.area}" if line.area else ""
    return f"{line.name}{where} ({line.entity_id}) is {line.text.replace(' ', ', ', 1) if '=' in line.text else line.text}."


def _place(line: StateLine) -> str:
    return f"{line.name}, {line.area}" if line.area else line.name


def _escaped(data: JsonValueType) -> str:
    """Return JSON that cannot close the tag around it, whatever a name or a state says."""
    return dump(data).decode().replace("<", "\\u003c").replace(">", "\\u003e")
