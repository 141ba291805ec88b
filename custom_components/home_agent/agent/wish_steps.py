"""The steps of a wish that is due, each as a call under the policy of now."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, override

from homeassistant.components.conversation import ChatLog, ConversationInput
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
import probatio

from ..local.intent_policy import ConfirmedIntent
from ..local.sentences import Stage, async_answer
from ..policy.effects import effect_from_dict
from ..policy.effects.wish_change import WishChange
from ..policy.intents import Recognised
from ..policy.tool import HomeAgentTool
from ..policy.write import EffectTool, already_so, async_plan_of, with_variables
from ..settings.profile import Narrowing
from ..support.errors import ToolError, ToolRefusal
from ..tools.delegation import own_conversation
from ..turn.plan import ActionClass, Effect, Plan
from ..turn.turn import Turn, running
from ..wishes.wish import Step, Wish
from .runtime import RuntimeData

DUE = "due_wish"
"""What lists of the owner and the journal call the tool that does the effects of a wish."""


class DueEffects(EffectTool):
    """Does what a step of a wish keeps as effects."""

    name = DUE
    title_key = "tool_due_wish"
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    judges_calls = True
    stands_alone = True
    parameters = probatio.Schema({}, extra=probatio.REMOVE_EXTRA)

    def __init__(self, effects: Sequence[Effect]) -> None:
        """Take the effects."""
        self._effects = effects

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what the effects come to now."""
        return with_variables(hass, await async_plan_of(hass, self._effects))


@dataclass(slots=True, kw_only=True)
class StepsDone:
    """What became of the steps of a wish."""

    effects: list[Effect] = field(default_factory=list)  # of the steps that were done and that keep them
    done: int = 0
    said: list[str] = field(default_factory=list)
    """What commands and tools answer that were done."""
    is_more: bool = False  # more was done than the effects tell
    error: HomeAssistantError | None = None  # why the next step was not done; the others after it were not tried
    failed: str = ""
    """The same in the words of the answer to a command."""

    @property
    def is_whole(self) -> bool:
        """Whether all that was tried worked."""
        return self.error is None and not self.failed


def effects_of(wish: Wish) -> list[Effect]:
    """Return the effects that the steps of a wish keep. Raises `ToolError` if one of them is not known any more."""
    try:
        effects = [effect_from_dict(item) for step in wish.steps for item in step.effects]
    except (KeyError, TypeError, ValueError) as err:
        raise ToolError("wish_gone") from err
    if any(effect.kind == WishChange.kind for effect in effects):
        raise ToolError("wish_by_wish")
    return effects


def is_so(hass: HomeAssistant, wish: Wish) -> bool:
    """Return whether all that a wish wants is so already, as far as that shows."""
    with suppress(ToolError):
        effects = effects_of(wish)
        if effects and all(step.effects for step in wish.steps) and all(effect.subjects for effect in effects):
            found = already_so(hass, Plan(action=ActionClass.WRITE, effects=tuple(effects)))
            return set(found) >= {subject for effect in effects for subject in effect.subjects}
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class WishSteps:
    """The steps of a wish in the turn in which they are done."""

    hass: HomeAssistant
    runtime: RuntimeData
    turn: Turn
    wish: Wish

    async def async_need_yes(self) -> bool:
        """Return whether a step needs a yes now, as far as that is known before the first one is done."""
        for step in self.wish.steps:
            if step.command:
                continue
            with suppress(HomeAssistantError, probatio.Invalid), running(self.turn):
                tool, arguments = await self._async_tool(step)
                if (await self.runtime.policy.async_judge(self.turn, tool, arguments)).why:
                    return True
        return False

    async def async_run(self) -> StepsDone:
        """Do the steps in their order until one is refused or fails; what needs a yes is noted for the question."""
        steps = StepsDone()
        for step in self.wish.steps:
            with running(self.turn):
                if step.command:
                    await self._async_command(step, steps)
                else:
                    await self._async_call(step, steps)
            if not steps.is_whole:
                break
        return steps

    async def _async_call(self, step: Step, steps: StepsDone) -> None:
        policy, turn = self.runtime.policy, self.turn
        try:
            tool, arguments = await self._async_tool(step)
            call = await policy.async_judge(
                turn, tool, arguments
            )  # what a person is told of a refusal; the call decides
        except probatio.Invalid as err:
            steps.error = ToolRefusal(str(err))
            return
        except HomeAssistantError as err:
            steps.error = err
            return
        turn.record.did_not_run = None
        result = await policy.async_call(
            turn, tool, llm.ToolInput(tool_name=tool.name, tool_args=arguments, external=True)
        )
        if not result.error:
            steps.done += 1
            steps.effects += call.plan.effects
            steps.said += filter(None, (tool.answer(result.data["result"]),))
            steps.is_more = steps.is_more or not call.plan.effects
        elif call.why and turn.record.request_id is not None:
            return  # it waits for the yes, as do the others of the same question
        else:
            steps.error = turn.record.did_not_run or ToolError("wish_step_failed")

    async def _async_tool(self, step: Step) -> tuple[HomeAgentTool, dict[str, Any]]:
        """Return the tool of a step and its arguments. Raises `ToolError` for one that the agent does not have any more."""
        if step.effects:
            return DueEffects(effects_of(replace(self.wish, steps=(step,)))), {}
        if step.intent:
            slots = dict(step.arguments)
            return ConfirmedIntent(self.hass, Recognised(name=step.intent, slots=slots)), slots
        for tool in await self.runtime.policy.offered(self.turn):
            if tool.name == step.tool:
                return tool, dict(step.arguments)
        raise ToolError("wish_gone")

    async def _async_command(self, step: Step, steps: StepsDone) -> None:
        """Let the home read the words of a step again, for the entities of the step alone; no model hears them."""
        made = len(self.turn.record.calls)
        only = Narrowing(frozenset(), frozenset(), step.targets)
        with own_conversation(self.hass, self.turn, _unheard) as chat_log:
            turn = replace(self.turn, text=step.command, within=(*self.turn.within, only))
            said = ConversationInput(
                text=step.command,
                context=turn.context,
                conversation_id=chat_log.conversation_id,
                device_id=turn.device_id,
                satellite_id=turn.satellite_id,
                language=turn.language,
                agent_id=turn.agent_id,
            )
            with running(turn):
                answer = await async_answer(self.hass, turn, said, chat_log, self.runtime.means, Stage.NO_MODEL)
        assert answer is not None  # without a model there always is one
        if answer.needs_confirmation:
            return
        is_error = answer.response is not None and answer.response.error_code is not None
        if not answer.done or is_error or len(self.turn.record.calls) == made:
            steps.failed = answer.text
        else:
            steps.done += 1
            steps.said.append(answer.text)
            steps.is_more = True


def _unheard(_log: ChatLog, _delta: Mapping[str, Any]) -> None:
    """Hear nothing: no one waits for the words."""
