"""What is kept of a sentence: the intent's name, words of the house, ids. Nothing of what was said."""

import time

from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import intent

from ..safety.audit import MASK, async_record
from ..turn import ToolCallRecord, Turn
from .actions import TIMERS, Recognised

TRIGGER = "trigger_sentence"

_HOUSE_WORDS = frozenset({"name", "area", "floor", "domain", "device_class", "state"})
"""Slots that hold words of the house; others may hold words of the user."""


@callback
def async_report(
    hass: HomeAssistant,
    turn: Turn,
    recognised: Recognised,
    outcome: intent.IntentResponse | HomeAssistantError,
    started: float,
) -> None:
    """Record what was done or refused; `started` is a reading of `time.perf_counter`."""
    turn.calls_started += 1
    error: str | None = None
    targets: list[str] = []
    if isinstance(outcome, HomeAssistantError):
        error = type(outcome).__name__
    elif outcome.error_code is not None:
        error = outcome.error_code.value
    else:
        targets = [target.id for target in outcome.success_results if target.id]
    record = ToolCallRecord(
        tool_name=recognised.name,
        parameters={name: _kept(recognised.name, name, value) for name, value in recognised.slots.items()},
        success=error is None,
        duration_ms=round((time.perf_counter() - started) * 1000),
        error=error,
    )
    async_record(hass, turn, record, {"targets": targets} if error is None else error)


@callback
def async_report_trigger(hass: HomeAssistant, turn: Turn, started: float) -> None:
    """Record that an automation of the owner answered; what it did has its own trace."""
    turn.calls_started += 1
    duration_ms = round((time.perf_counter() - started) * 1000)
    async_record(
        hass, turn, ToolCallRecord(tool_name=TRIGGER, parameters={}, success=True, duration_ms=duration_ms), None
    )


def _kept(intent_name: str, slot: str, value: object) -> object:
    if isinstance(value, (int, float)) or (slot in _HOUSE_WORDS and intent_name not in TIMERS):
        return value
    return MASK
