"""What a wish waits for and looks at, as triggers and conditions of Home Assistant's automations."""

from collections.abc import Mapping
from typing import Any

from homeassistant.components.zone import ENTITY_ID_HOME
from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN

from ..wishes.when import Watch

type Row = dict[str, Any]

_NOWHERE = (STATE_UNAVAILABLE, STATE_UNKNOWN)
"""States from which nothing becomes so: after a restart everything is what it was."""


def triggers_of(watch: Watch, seconds: int = 0) -> tuple[list[Row], list[Row]] | None:
    """Return the triggers for what becomes so, and stays so for some seconds, with the conditions that this needs.

    None for what no trigger says exactly.
    """
    lasting: Row = {"for": {"seconds": seconds}} if seconds else {}
    if watch.after is not None:
        if len(watch.entity_ids) > 1 or watch.negated or seconds:
            return None
        return _happens(watch)
    if watch.above is not None or watch.below is not None:
        bounds = _bounds(watch)
        if bounds is None or (watch.every and len(watch.entity_ids) > 1):
            return None
        return [{"trigger": "numeric_state", "entity_id": _one(watch.entity_ids), **bounds, **lasting}], []
    if watch.attribute or not watch.states:
        return None
    if seconds and (watch.negated or len(watch.states) > 1):
        # Home Assistant waits while the state stays the same one, so each of them, or of the others, begins the time anew
        to: Row = {"not_to": [*watch.states, *_NOWHERE]} if watch.negated else {"to": [*watch.states]}
        change: Row = {**to, "not_from": [*_NOWHERE]}
    elif watch.negated:
        change = {"from": _one(watch.states), "not_to": [*watch.states, *_NOWHERE]}
    else:
        change = {"to": _one(watch.states), "not_from": [*watch.states, *_NOWHERE]}
    triggers = [{"trigger": "state", "entity_id": _one(watch.entity_ids), **change, **lasting}]
    if len(watch.entity_ids) == 1 or watch.each:
        return triggers, []
    if watch.every is watch.negated:  # one is enough: others may be so already
        return None if watch.every or _are_people(watch) else (triggers, [])
    conditions = conditions_of(watch)
    return (triggers, conditions) if conditions is not None else None


def _happens(watch: Watch) -> tuple[list[Row], list[Row]]:
    """Return the trigger of an entity whose state is the moment of its last event: a bell."""
    [entity_id] = watch.entity_ids
    trigger = {"trigger": "state", "entity_id": entity_id, "not_from": [STATE_UNAVAILABLE], "not_to": [*_NOWHERE]}
    of_type = {"condition": "state", "entity_id": entity_id, "attribute": watch.attribute, "state": _one(watch.states)}
    return [trigger], [of_type] if watch.states else []


def conditions_of(watch: Watch) -> list[Row] | None:
    """Return the conditions under which it is so; None for what no condition says exactly."""
    if watch.after is not None:
        return None
    several = len(watch.entity_ids) > 1
    if watch.above is not None or watch.below is not None:
        bounds = _bounds(watch)
        if bounds is None or (several and watch.negated):
            return None
        rows: list[Row] = [{"condition": "numeric_state", "entity_id": item, **bounds} for item in watch.entity_ids]
        return rows if watch.every or not several else [{"condition": "or", "conditions": rows}]
    if not watch.states:
        return None
    of: Row = {"attribute": watch.attribute} if watch.attribute else {}
    if not watch.negated:
        match: Row = {"match": "any"} if several and not watch.every else {}
        return [
            {
                "condition": "state",
                "entity_id": _one(watch.entity_ids),
                **of,
                **match,
                "state": _one(watch.states),
            }
        ]
    if several and watch.every:
        return None
    states = [*watch.states] if watch.attribute else [*watch.states, *_NOWHERE]
    listed: list[Row] = [{"condition": "state", "entity_id": item, **of, "state": states} for item in watch.entity_ids]
    return [{"condition": "not", "conditions": listed}]


def _bounds(watch: Watch) -> Mapping[str, Any] | None:
    """Return the range of a number; what is not above a number is below it."""
    above, below = (watch.below, watch.above) if watch.negated else (watch.above, watch.below)
    if watch.negated and watch.entity_ids == (ENTITY_ID_HOME,):  # people are counted: not more than 0 is fewer than 1
        above, below = (None, 1) if above is None else (0, None)
    if watch.negated and above is not None and below is not None:
        return None
    found: Row = {"attribute": watch.attribute} if watch.attribute else {}
    found |= {key: value for key, value in (("above", above), ("below", below)) if value is not None}
    return found


def _are_people(watch: Watch) -> bool:
    """Return whether it is the first of some people who comes, which a trigger does not tell from the second."""
    return any(item.startswith("person.") for item in watch.entity_ids)


def _one[T](items: tuple[T, ...]) -> T | list[T]:
    return items[0] if len(items) == 1 else [*items]
