"""Guards: the conditions of an automation that keep what must never be."""

from collections.abc import Mapping, Sequence
from typing import Any

from .draft import ordered

_SHORT = "not"


def has_guard(config: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Return whether an automation does nothing while something is so that must never be."""
    return any(dict(item) in _kept_out(condition) for condition in _conditions(config))


def with_never(config: Mapping[str, Any], never: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a configuration with a condition for all that must never be so, unless it has it already."""
    missing = [dict(item) for item in never if not has_guard(config, item)]
    if not missing or "use_blueprint" in config:
        return dict(config)
    guards = [{"condition": "not", "conditions": [item]} for item in missing]
    return ordered({**config, "conditions": [*_conditions(config), *guards]})


def without_never(config: Mapping[str, Any], given_up: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a configuration without the conditions for what may be from now on."""
    if not any(has_guard(config, item) for item in given_up):
        return dict(config)
    left = [_without(condition, [dict(item) for item in given_up]) for condition in _conditions(config)]
    return {**config, "conditions": [condition for condition in left if condition is not None]}


def _conditions(config: Mapping[str, Any]) -> Sequence[Any]:
    conditions = config.get("conditions") or []
    return conditions if isinstance(conditions, list) else [conditions]


def _key(condition: object) -> str | None:
    """Return where a condition has what must not be; None for another one, or one that is switched off."""
    if not isinstance(condition, Mapping) or condition.get("enabled", True) is not True:
        return None
    return "conditions" if condition.get("condition") == _SHORT else _SHORT if _SHORT in condition else None


def _kept_out(condition: Any) -> Sequence[Any]:
    """Return all that must not be so for a condition to be met."""
    if (key := _key(condition)) is None:
        return ()
    inner = condition.get(key) or []
    return inner if isinstance(inner, list) else [inner]


def _without(condition: Any, given_up: Sequence[Mapping[str, Any]]) -> Any | None:
    """Return a condition that keeps out the rest; None if nothing is left of it."""
    kept_out = _kept_out(condition)
    left = [item for item in kept_out if item not in given_up]
    if len(left) == len(kept_out):
        return condition
    return {**condition, _key(condition): left} if left else None
