"""Repairs issues that can be answered: an open confirmation, proposals, a voice assistant that answers before its agent.

Home Assistant lets only administrators fix issues.
"""

from collections.abc import Collection
from typing import Any, override

from homeassistant.components.repairs import ConfirmRepairFlow, RepairsFlow, RepairsFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.helpers.selector import (
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
)
import probatio

from .agent.pipelines import PIPELINE_ID, async_hand_over
from .agent.runtime import HomeAgentConfigEntry
from .policy.confirmation import Confirmation
from .policy.confirmed import async_answer_elsewhere
from .policy.policy import Policy
from .policy.proposals import Proposals
from .support.const import DOMAIN
from .support.encoding import as_markdown
from .turn.proposal import Proposal

_PIN = "pin"
_APPROVE, _REJECT = "approve", "reject"
_PASSWORD = TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD))


class ConfirmationFlow(RepairsFlow):
    """Shows what would be done, and takes a yes or a no."""

    def __init__(self, request_id: str) -> None:
        """Answer one question."""
        self._request_id = request_id

    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Show the question."""
        if (found := self._open()) is None:
            return self.async_abort(reason="over")
        return self.async_show_menu(
            step_id="init",
            menu_options=["confirm", "reject"],
            description_placeholders={"question": as_markdown(found[1].question)},
        )

    async def async_step_confirm(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Run it; with a PIN, ask for that first."""
        if (found := self._open()) is None:
            return self.async_abort(reason="over")
        policy, confirmation = found
        needs_pin = bool(policy.confirmations.pin_for(confirmation))
        if needs_pin and not (user_input and user_input.get(_PIN)):
            return self._pin_form(confirmation, {})
        pin = str((user_input or {}).get(_PIN, ""))
        answer = await async_answer_elsewhere(self.hass, policy, confirmation, None, yes=True, pin=pin)
        if answer is None:
            return (
                self._pin_form(confirmation, {_PIN: "pin_wrong"}) if self._open() else self.async_abort(reason="over")
            )
        if not answer.done:
            return self.async_abort(reason="failed", description_placeholders={"answer": as_markdown(answer.text)})
        return self.async_create_entry(data={})

    async def async_step_reject(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Drop it."""
        if (found := self._open()) is None:
            return self.async_abort(reason="over")
        await async_answer_elsewhere(self.hass, *found, None, yes=False)
        return self.async_create_entry(data={})

    def _pin_form(self, confirmation: Confirmation, errors: dict[str, str]) -> RepairsFlowResult:
        return self.async_show_form(
            step_id="confirm",
            data_schema=probatio.Schema({probatio.Required(_PIN): _PASSWORD}),
            errors=errors,
            description_placeholders={"question": as_markdown(confirmation.question)},
        )

    def _open(self) -> tuple[Policy, Confirmation] | None:
        """Return the question while it is open."""
        for entry in self.hass.config_entries.async_loaded_entries(DOMAIN):
            policy: Policy = entry.runtime_data.policy
            if (confirmation := policy.confirmations.get(self._request_id)) is not None:
                return policy, confirmation
        return None


class ProposalsFlow(RepairsFlow):
    """Shows the proposals of a kind that wait: an administrator decides on all of them at once, or on some of them."""

    def __init__(self, key: str) -> None:
        """Decide on the kind of a key."""
        self._key, self._shown = key, dict[str, Proposal]()

    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Show what is proposed."""
        if not (waiting := await self._async_waiting()):
            return self.async_abort(reason="over")
        listed = "\n".join(f"- {as_markdown(text)}" for _, text in waiting.values())
        return self.async_show_menu(
            step_id="init",
            menu_options=["approve_all", "choose", "reject_all"],
            description_placeholders={"proposals": listed, "count": str(len(waiting))},
        )

    async def async_step_approve_all(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Approve all."""
        return await self._async_decide(approve=self._shown.values(), reject=())

    async def async_step_reject_all(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Decline all."""
        return await self._async_decide(approve=(), reject=self._shown.values())

    async def async_step_choose(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Ask which are approved and which are rejected; the others wait on."""
        chosen, errors = user_input or {}, dict[str, str]()
        approve, reject = chosen.get(_APPROVE, []), chosen.get(_REJECT, [])
        if user_input is not None:
            if {*approve}.isdisjoint(reject):
                shown = self._shown
                return await self._async_decide([shown[item] for item in approve], [shown[item] for item in reject])
            errors[_REJECT] = "both"
        if not (waiting := await self._async_waiting()):
            return self.async_abort(reason="over")
        choices = [SelectOptionDict(value=row_id, label=text) for row_id, (_, text) in waiting.items()]
        several = SelectSelector(SelectSelectorConfig(options=choices, multiple=True, mode=SelectSelectorMode.LIST))
        left = {key: [item for item in listed if item in waiting] for key, listed in chosen.items()}
        schema = probatio.Schema(
            {probatio.Optional(key, default=left.get(key, [])): several for key in (_APPROVE, _REJECT)}
        )
        return self.async_show_form(step_id="choose", data_schema=schema, errors=errors)

    async def _async_decide(self, approve: Collection[Proposal], reject: Collection[Proposal]) -> RepairsFlowResult:
        """Decide, and end; an issue that ends well is deleted, so it stays where some still wait."""
        if (proposals := self._proposals()) is None:
            return self.async_abort(reason="over")
        decided, reason = await proposals.async_decide(self._key, approve, reject)
        if reason is not None:
            return self.async_abort(reason="failed", description_placeholders={"answer": as_markdown(reason)})
        if not decided and (approve or reject):  # it was decided elsewhere, or says something else by now
            return self.async_abort(reason="over")
        if left := len(await self._async_waiting()):
            return self.async_abort(reason="left", description_placeholders={"count": str(left)})
        return self.async_create_entry(data={})

    async def _async_waiting(self) -> dict[str, tuple[Proposal, str]]:
        """Return what waits and its text, by id: only that is decided on, as it is shown. Nothing while no entry is loaded."""
        proposals = self._proposals()
        waiting = await proposals.async_waiting(self._key) if proposals else {}
        self._shown = {row_id: row for row_id, (row, _) in waiting.items()}
        return waiting

    def _proposals(self) -> Proposals | None:
        entries: list[HomeAgentConfigEntry] = self.hass.config_entries.async_loaded_entries(DOMAIN)
        return entries[0].runtime_data.proposals if entries else None


class PipelineFlow(ConfirmRepairFlow):
    """Turns off that Home Assistant answers before the agent of a voice assistant."""

    def __init__(self, pipeline_id: str) -> None:
        """Mend one voice assistant."""
        self._pipeline_id = pipeline_id

    @override
    async def async_step_confirm(self, user_input: dict[str, str] | None = None) -> RepairsFlowResult:
        """Say what will be, and do it; who watches voice assistants takes the issue back."""
        if user_input is not None:
            await async_hand_over(self.hass, self._pipeline_id)
        return await super().async_step_confirm(user_input)


async def async_create_fix_flow(
    hass: HomeAssistant, issue_id: str, data: dict[str, str | int | float | None] | None
) -> RepairsFlow:
    """Return the flow of an issue."""
    if PIPELINE_ID in (data := data or {}):
        return PipelineFlow(str(data[PIPELINE_ID]))
    if "proposals" in data:
        return ProposalsFlow(str(data["proposals"]))
    return ConfirmationFlow(str(data["request_id"]))
