"""What is wrong with the triggers and conditions that Home Assistant's integrations describe: their targets and their thresholds."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import State
from homeassistant.helpers import condition, trigger

from ..home.possible_states import is_number
from .problems import DraftProblem, KnownHome, near_words
from .references import DraftStep, StepPart
from .targets import asked_for, domains_of, filters, selectors_of, suits, wide_fault, words

_THRESHOLD = "numeric_threshold"
_MOMENTARY = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN})


async def async_purpose_problems(home: KnownHome, steps: Sequence[DraftStep]) -> AsyncIterator[DraftProblem]:
    """Yield what is wrong with the targets and thresholds of triggers and conditions."""
    described = {
        StepPart.TRIGGER: await trigger.async_get_all_descriptions(home.hass),
        StepPart.CONDITION: await condition.async_get_all_descriptions(home.hass),
    }
    for step in steps:
        if step.part is StepPart.ACTION:
            continue
        description: Mapping[str, Any] = described[step.part].get(step.kind) or {}
        selectors = selectors_of(description)
        async for problem in _async_of_target(home, step, selectors):
            yield problem
        for name, field in (description.get("fields") or {}).items():
            selector = field.get("selector") if isinstance(field, Mapping) else None
            if isinstance(selector, Mapping) and _THRESHOLD in selector:
                for problem in _of_threshold(home, step, name, selector[_THRESHOLD] or {}):
                    yield problem


async def _async_of_target(
    home: KnownHome, step: DraftStep, selectors: Sequence[Mapping[str, Any]]
) -> AsyncIterator[DraftProblem]:
    target = step.config.get("target")
    if not isinstance(target, Mapping):
        return
    for name in words(target.get("entity_id")):
        entity_id = home.resolve(name)
        state = home.hass.states.get(entity_id) if entity_id is not None else None
        if state is None or suits(home.hass, state, selectors, can=False):
            continue
        others = await home.async_near(state.entity_id, domains_of(selectors))
        near = near_words(
            one for one in others if (other := home.hass.states.get(one)) and suits(home.hass, other, selectors)
        )
        word = "state trigger" if step.part is StepPart.TRIGGER else "state condition"
        yield DraftProblem(
            f"{step.path}.target.entity_id",
            f"{step.kind} is for {asked_for(selectors)}, not for {state.entity_id}.{near} Or use a {word}.",
        )
    if (fault := wide_fault(home, target, selectors, step.kind, can=False)) is not None:
        yield DraftProblem(f"{step.path}.target.{fault[0]}", fault[1])


def _of_threshold(home: KnownHome, step: DraftStep, name: str, selector: Mapping[str, Any]) -> Iterator[DraftProblem]:
    threshold = step.config.get(name)
    if not isinstance(threshold, Mapping):
        return
    path = f"{step.path}.options.{name}"
    low, high = ((threshold.get(key) or {}).get("number") for key in ("value_min", "value_max"))
    if threshold.get("type") == "between" and low is not None and low == high:
        yield DraftProblem(path, f"Nothing is between {low:g} and {high:g}. Write two different numbers.")
    for key in ("value", "value_min", "value_max"):
        entry = threshold.get(key)
        named = entry.get("entity") if isinstance(entry, Mapping) else None
        entity_id = home.resolve(named) if isinstance(named, str) else None
        state = home.hass.states.get(entity_id) if entity_id is not None else None
        if state is not None and not _may_be_threshold(home, state, filters(selector.get("entity"))):
            yield DraftProblem(
                f"{path}.{key}.entity", f"{state.entity_id} is no number that fits here. Write a number instead."
            )


def _may_be_threshold(home: KnownHome, state: State, selectors: Sequence[Mapping[str, Any]]) -> bool:
    if state.state in _MOMENTARY:
        return not selectors or state.domain in domains_of(selectors)
    return is_number(state) and (not selectors or state.domain in domains_of(selectors))
