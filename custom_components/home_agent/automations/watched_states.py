"""What is wrong with what triggers and conditions wait for: states that an entity never has, numbers of what has none."""

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import State, valid_entity_id

from ..home.possible_states import async_possible_states, is_number
from ..home.tolerance import number_of
from .problems import DraftProblem, KnownHome, near_words, nearest, quoted
from .references import DraftStep, StepPart

MAX_STATES = 20  # named in a sentence
_KEYS = {StepPart.TRIGGER: ("to", "from", "not_to", "not_from"), StepPart.CONDITION: ("state",)}
_ALWAYS = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN})
_OPEN = frozenset({"device_tracker", "water_heater"})
"""Domains whose entities also have states that nothing lists: places of an app, modes of a device."""
_INPUTS = ("input_select.", "input_text.", "input_number.", "input_boolean.", "input_datetime.")


async def async_state_problems(home: KnownHome, step: DraftStep) -> AsyncIterator[DraftProblem]:
    """Yield what is wrong with what a trigger or a condition waits for."""
    states = [state for one in texts(step.config.get("entity_id")) if (state := _state(home, one)) is not None]
    if step.kind == "state" and step.part in _KEYS and step.config.get("attribute") is None:
        for key in _KEYS[step.part]:
            async for problem in _async_values(home, step, key, states):
                yield problem
    elif step.kind == "numeric_state":
        for problem in _numbers(step, states):
            yield problem


def _state(home: KnownHome, name: str) -> State | None:
    entity_id = home.resolve(name)
    return home.hass.states.get(entity_id) if entity_id is not None else None


def texts(value: object) -> list[str]:
    """Return a text or a list of texts as a list."""
    if isinstance(value, str):
        return [value]
    return [str(one) for one in value] if isinstance(value, list | tuple | set) else []


async def _async_values(
    home: KnownHome, step: DraftStep, key: str, states: Iterable[State]
) -> AsyncIterator[DraftProblem]:
    for value in texts(step.config.get(key)):
        path = f"{step.path}.{key}"
        if step.part is StepPart.CONDITION and value.startswith(_INPUTS) and valid_entity_id(value):
            if home.resolve(value) is None:
                yield DraftProblem(path, await home.async_unknown(value))
            continue
        if "{{" in value or "{%" in value:
            yield DraftProblem(
                path, "A template is not read here: write a state, or use a template trigger or condition."
            )
            continue
        for state in states:
            if (sentence := await async_state_fault(home, state, value)) is not None:
                yield DraftProblem(path, sentence)
                break


async def async_state_fault(home: KnownHome, state: State, value: str) -> str | None:
    """Return the sentence for a state that an entity never has; None for one that it may have."""
    if value in _ALWAYS or value == state.state:
        return None
    possible = await _async_possible(home, state)
    if not possible:
        if is_number(state) and number_of(value) is None:
            return f"The state of {state.entity_id} is a number, never {quoted(value)}. Use numeric_state with above or below."
        return None
    if value in possible:
        return None
    called = await async_possible_states(home.hass, state)
    meant = called.get(value.casefold().strip()) or called.get(value.casefold().strip().replace("_", " "))
    near = [meant] if meant in possible else nearest(value, possible)
    listed = ", ".join(sorted(possible)[:MAX_STATES])
    return f"{state.entity_id} is never {quoted(value)}.{near_words(near)} Its states are: {listed}."


async def _async_possible(home: KnownHome, state: State) -> set[str]:
    if state.domain == "climate" and isinstance(modes := state.attributes.get("hvac_modes"), list | tuple):
        return {str(mode) for mode in modes}
    if is_number(state) or state.domain in _OPEN:
        return set()
    if state.domain == "sensor" and not state.attributes.get("options"):
        return set()
    return {*(await async_possible_states(home.hass, state)).values()}


def _numbers(step: DraftStep, states: Iterable[State]) -> Iterator[DraftProblem]:
    if step.config.get("value_template") is not None:
        return
    attribute = step.config.get("attribute")
    for state in states:
        value: Any = state.state if attribute is None else state.attributes.get(attribute)
        if value is None or value in _ALWAYS or (attribute is None and is_number(state)):
            continue
        if isinstance(value, bool) or number_of(value) is None:
            if attribute is not None:
                yield DraftProblem(f"{step.path}.attribute", f"{quoted(attribute)} of {state.entity_id} is no number.")
                continue
            numbers = [name for name, item in state.attributes.items() if _is_plain_number(item)]
            hint = f" It has numbers in attributes: {', '.join(numbers[:6])}; name one as attribute." if numbers else ""
            yield DraftProblem(
                f"{step.path}.entity_id",
                f"{state.entity_id} has no number: its state is {quoted(state.state)}.{hint} For a state use a state trigger or condition.",
            )


def _is_plain_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
