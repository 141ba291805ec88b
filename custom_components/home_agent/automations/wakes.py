"""Automations that ask one of our agents: whether the agent exists, and is told what it needs to know."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers.template import Template

from ..settings.profile import profile_ids
from ..support.const import DOMAIN, SUBENTRY_PROFILE
from ..support.quoting import one_line
from .problems import DraftProblem
from .references import DraftStep, StepPart

_PROCESS = f"{DOMAIN}.process"
_FEWEST_WORDS = 3
_TOLD = ("trigger", "states", "state_attr", "now(")
"""What a template says of the moment."""


def wake_problems(hass: HomeAssistant, steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    """Yield what is wrong with the questions of an automation to our agents.

    An agent that is woken knows nothing of what happened but the text. Where several things can have happened, a text that is always the
    same does not say which.
    """
    heard = [step for step in steps if step.part is StepPart.TRIGGER]
    is_one = len(heard) == 1 and len(_listed(heard[0].config.get("entity_id"))) <= 1
    known = _agents(hass)
    for step in steps:
        if step.part is not StepPart.ACTION or step.config.get("action") != _PROCESS:
            continue
        data = step.config.get("data")
        given: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        text, profile = given.get("text"), given.get("profile")
        written = text.template if isinstance(text, Template) else str(text or "")
        if len(written.split()) < _FEWEST_WORDS:
            sentence = "The agent knows nothing but this text: say what happened and what it is to decide."
            yield DraftProblem(f"{step.path}.data.text", sentence)
        elif not is_one and not any(part in written for part in _TOLD):
            sentence = "Several things can start this, and the text does not say which: put {{ trigger.to_state.name }} or the states that matter into it."
            yield DraftProblem(f"{step.path}.data.text", sentence)
        if isinstance(profile, str) and profile.casefold() not in known:
            listed = ", ".join(sorted(known)[:10])
            sentence = f"There is no agent '{one_line(profile, 60)}'. There are: {listed}."
            yield DraftProblem(f"{step.path}.data.profile", sentence)


def _agents(hass: HomeAssistant) -> set[str]:
    """Return the ids and names of our agents, in small letters."""
    found: set[str] = set()
    for entry in hass.config_entries.async_entries(DOMAIN):
        agents = [item for item in entry.subentries.values() if item.subentry_type == SUBENTRY_PROFILE]
        ids = profile_ids((str(item.data.get("profile_id") or ""), item.title) for item in agents)
        found |= {*(one.casefold() for one in ids), *(item.title.casefold() for item in agents)}
    return found


def _listed(value: object) -> Sequence[object]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)
