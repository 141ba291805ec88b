"""Whether what was said is a command, by Home Assistant's own sentences: in each of its languages, and without doing it."""

from collections.abc import Sequence
from dataclasses import dataclass

from hassil.recognize import RecognizeResult
from homeassistant.components.conversation import ConversationInput
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent

from ..policy.intents import CHANGES_NOTHING, Mismatch, Recognised, plan_of
from ..policy.write import Verification
from ..support.errors import ToolError
from ..turn.turn import Outcome, Turn

MAX_PARTS = 8
"""Parts of a text that are tried; each takes some milliseconds in the executor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenCommand:
    """A part of what was said that Home Assistant would do something for."""

    intent: str
    fulfilled: bool  # the home is already as it was asked to be: nothing is left to do


async def async_command(hass: HomeAssistant, turn: Turn, parts: Sequence[str]) -> SpokenCommand | None:
    """Return the first command among parts of a text, unfulfilled ones first; None without any. The first part is the whole text or ""."""
    agent = get_agent_manager(hass).default_agent
    if agent is None:
        return None
    done: SpokenCommand | None = None
    for part in filter(None, parts[:MAX_PARTS]):
        said = ConversationInput(
            text=part,
            context=turn.context,
            conversation_id=None,
            device_id=turn.device_id,
            satellite_id=turn.satellite_id,
            language=turn.language,
            agent_id=turn.agent_id,
        )
        result = await agent.async_recognize_intent(said, strict_intents_only=True)
        if result is None or result.unmatched_entities or result.intent.name in CHANGES_NOTHING:
            continue
        if part != parts[0] and _is_name(part, result):
            continue
        slots = {entity.name: entity.value for entity in result.entities_list}
        recognised = Recognised(name=result.intent.name, slots=slots)
        command = SpokenCommand(intent=result.intent.name, fulfilled=_is_fulfilled(hass, turn, recognised))
        if not command.fulfilled:
            return command
        done = command
    return done


def _is_name(part: str, result: RecognizeResult) -> bool:
    """Return whether a part is a name and an article at most: by itself that turns on, within a sentence it says nothing."""
    named = next((entity.text for entity in result.entities_list if entity.name == "name"), "")
    return bool(named) and len(part.split()) <= len(named.split()) + 1 and " " in part.strip()


def _is_fulfilled(hass: HomeAssistant, turn: Turn, recognised: Recognised) -> bool:
    try:
        plan = plan_of(hass, turn, recognised)
    except ToolError, intent.IntentError:
        return False
    if isinstance(plan, Mismatch) or not plan.effects:
        return False
    outcomes = Verification(hass, plan.effects).outcomes(waited=True)
    return bool(outcomes) and all(outcome is Outcome.REACHED for outcome in outcomes.values())
