"""Which kinds of triggers, conditions and actions are known, and what is wrong with one that is not."""

from collections.abc import AsyncIterator, Collection

from homeassistant.core import HomeAssistant
from homeassistant.helpers import condition, trigger

from .problems import DraftProblem, near_words, nearest, quoted
from .references import ACTION_KINDS, CONDITION_KINDS, TRIGGER_KINDS, DraftStep, StepPart

TRIGGER_PLATFORMS = frozenset({"knx", "lg_netcast", "litejet", "samsungtv", "webostv", "zwave_js"})
"""Integrations of Home Assistant with triggers that no description tells of: they look at devices and entities that they name."""


async def async_unknown_kinds(hass: HomeAssistant, steps: Collection[DraftStep]) -> AsyncIterator[DraftProblem]:
    """Yield the steps of a kind of which it is not known what it does."""
    triggers = {*TRIGGER_KINDS, *await trigger.async_get_all_descriptions(hass)}
    conditions = {*CONDITION_KINDS, *await condition.async_get_all_descriptions(hass)}
    for step in steps:
        match step.part:
            case StepPart.TRIGGER if step.kind not in triggers and step.kind.partition(".")[0] not in TRIGGER_PLATFORMS:
                yield _unknown(step, "trigger", triggers)
            case StepPart.CONDITION if step.kind not in conditions:
                yield _unknown(step, "condition", conditions)
            case StepPart.ACTION if step.kind not in ACTION_KINDS:
                yield _unknown(step, "action", ACTION_KINDS)


def _unknown(step: DraftStep, word: str, known: Collection[str]) -> DraftProblem:
    near = near_words(nearest(step.kind, known))
    return DraftProblem(
        step.path, f"What the {word} {quoted(step.kind)} does is not known here, so it cannot be used.{near}"
    )
