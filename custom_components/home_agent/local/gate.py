"""The policy in front of Home Assistant's intents."""

from collections.abc import Mapping
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent

from ..errors import ToolError
from ..safety.confirmation import Call, NobodyConfirms
from ..safety.plan import ActionClass, Plan
from ..safety.policy import Policy
from ..safety.write import Write
from ..texts import async_text
from ..turn import Effect, Turn
from .actions import COMMAND, QUESTIONS, Mismatch, Recognised, plan_of
from .confirmed import ConfirmedIntent

_NOTHING_DONE = QUESTIONS | {
    intent.INTENT_NEVERMIND, intent.INTENT_RESPOND, intent.INTENT_GET_CURRENT_DATE, intent.INTENT_GET_CURRENT_TIME,
    intent.INTENT_TIMER_STATUS,
}  # fmt: skip
"""Intents that change nothing."""
UNKNOWN = "entity_not_found"
"""The refusal of what is not there, or not for this user."""
_DENIED = frozenset({Effect.UNCHANGED, Effect.UNAVAILABLE})


class Gate:
    """Decides on each intent right before it is handled, and remembers what became of the last one."""

    def __init__(self, hass: HomeAssistant, turn: Turn, policy: Policy) -> None:
        """Decide for one turn."""
        self._hass = hass
        self._turn = turn
        self._policy = policy
        self.recognised: Recognised | None = None
        self.refusal: ToolError | None = None
        self.mismatch: Mismatch | None = None
        self.later: str | None = None
        """A command that came up for later, and has to be cleared first."""
        self._cleared: str | None = None
        self._write: Write | None = None

    def opens(self, name: str, slots: Mapping[str, Any]) -> bool:
        """Return whether the intent may be handled; nothing may be awaited until then."""
        self.recognised = Recognised(name=name, slots=slots)
        self.refusal = self.mismatch = self._write = None
        try:
            plan = plan_of(self._hass, self._turn, self.recognised)
            if (command := slots.get(COMMAND)) and command != self._cleared:
                self.later = str(command)
                return False
            if isinstance(plan, Mismatch):
                self.mismatch = plan
                return not plan.certain
            self._policy.authorize(self._turn, plan, self._call(plan))
            if name not in _NOTHING_DONE:
                self._write = self._policy.writes.begin(self._hass, self._turn, name, plan)
        except ToolError as err:
            self.refusal = err
        return self.refusal is None

    @property
    def meets_unknown(self) -> bool:
        """Whether the refusal is about something of which the user may know nothing: then it is not there for them."""
        return self.refusal is not None and self.refusal.translation_key == UNKNOWN

    def clears(self, command: str, later: Recognised | None) -> bool:
        """Return whether a command may be left for later; not what needs a yes, for nobody can be asked then.

        What none of Home Assistant's sentences fits (None) is left to who answers then.
        """
        self.refusal = self.later = None
        try:
            if later is not None and isinstance(plan := plan_of(self._hass, self._turn, later), Plan):
                self._policy.authorize(self._turn, plan)
        except NobodyConfirms as err:
            target = (err.translation_placeholders or {}).get("target", "")
            self.refusal = ToolError("confirmation_later", target=target)
        except ToolError as err:
            self.refusal = err
        else:
            self._cleared = command
        return self.refusal is None

    def wait_along(self, name: str, slots: Mapping[str, Any]) -> None:
        """Let an intent that needs no yes wait for the one that another part of its sentence needs."""
        if self.opens(name, slots):
            plan = plan_of(self._hass, self._turn, Recognised(name=name, slots=slots))
            if isinstance(plan, Plan):
                self._policy.confirmations.add(self._turn, self._call(plan))

    def _call(self, plan: Plan) -> Call:
        assert self.recognised is not None
        return Call(tool=ConfirmedIntent(self.recognised), arguments=dict(self.recognised.slots), plan=plan)

    async def async_finish(self, response: intent.IntentResponse) -> None:
        """Look what became of the intent; an answer that the house denies is replaced by what is true."""
        if (write := self._write) is None:
            return
        self._write = None
        if response.error_code is not None:
            write.fail()
            return
        effects = await write.async_effects()
        if effects and _DENIED.issuperset(effects.values()):
            names = ", ".join(state.name for item in effects if (state := self._hass.states.get(item)))
            speech = await async_text(self._hass, self._turn.language, "local_not_followed", target=names)
            response.async_set_speech(speech)

    def check_answer(self, response: intent.IntentResponse) -> None:
        """Refuse an answer about entities that the user may not read."""
        if self.recognised is None or self.recognised.name not in QUESTIONS:
            return
        read = tuple(state.entity_id for state in (*response.matched_states, *response.unmatched_states))
        try:
            self._policy.authorize(self._turn, Plan(action=ActionClass.READ, targets=read))
        except ToolError as err:
            self.refusal = err
