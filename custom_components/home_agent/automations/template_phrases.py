"""Templates in an automation: the common ones as the condition that they are, the others as they are written, cut."""

from collections.abc import Mapping
import re
from typing import Any

_BRACES = re.compile(r"\{\{-?\s*(?P<inner>[^{}]{1,200}?)\s*-?\}\}")
_ENTITY = r"""(?P<quote>['"])(?P<entity>[a-z0-9_]+\.[a-z0-9_]+)(?P=quote)"""
_HOUR = re.compile(r"now\(\)\.hour\s*(?P<sign>>=|<|>|<=)\s*(?P<hour>[0-9]{1,2})")
_IS_STATE = re.compile(
    rf"""(?P<not>not\s+)?is_state\(\s*{_ENTITY}\s*,\s*(?P<around>['"])(?P<state>[^'"]{{1,60}})(?P=around)\s*\)"""
)
_STATES = re.compile(
    rf"""states\(\s*{_ENTITY}\s*\)\s*(?P<sign>==|!=)\s*(?P<around>['"])(?P<state>[^'"]{{1,60}})(?P=around)"""
)
_NUMBER = re.compile(
    rf"""states\(\s*{_ENTITY}\s*\)\s*\|\s*float(?:\(\s*(?P<default>-?[0-9]+(?:\.[0-9]+)?)\s*\))?\s*(?P<sign>>|<)\s*(?P<value>-?[0-9]+(?:\.[0-9]+)?)"""
)


def friendly(text: str) -> Mapping[str, Any] | None:
    """Return the condition that a template comes to, in Home Assistant's form; None if it is not one of the common ones."""
    if (braces := _BRACES.fullmatch(text.strip())) is None:
        return None
    inner = braces["inner"]
    if (hour := _HOUR.fullmatch(inner)) is not None:
        return _of_hour(hour["sign"], int(hour["hour"]))
    if (state := _IS_STATE.fullmatch(inner)) is not None:
        return _of_state(state["entity"], state["state"], is_not=bool(state["not"]))
    if (state := _STATES.fullmatch(inner)) is not None:
        return _of_state(state["entity"], state["state"], is_not=state["sign"] == "!=")
    if (number := _NUMBER.fullmatch(inner)) is not None:
        side, default = "above" if number["sign"] == ">" else "below", number["default"]
        if default and (float(default) - float(number["value"])) * (1 if side == "above" else -1) > 0:
            return None  # true without a number as well
        return {"condition": "numeric_state", "entity_id": [number["entity"]], side: float(number["value"])}
    return None


def _of_hour(sign: str, hour: int) -> Mapping[str, Any] | None:
    hour += sign in (">", "<=")
    if hour > 23:
        return None
    return {"condition": "time", "after" if sign in (">=", ">") else "before": f"{hour:02}:00:00"}


def _of_state(entity_id: str, state: str, *, is_not: bool) -> Mapping[str, Any]:
    found: Mapping[str, Any] = {"condition": "state", "entity_id": [entity_id], "state": state}
    return {"condition": "not", "conditions": [found]} if is_not else found
