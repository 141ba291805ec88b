"""Repairs issues that can be answered: an open confirmation, a proposed name, learned phrases, a voice assistant that answers before its agent.

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

from .agent.pipelines import PIPELINE_ID, async_hear_everything
from .agent.runtime import HomeAgentConfigEntry
from .home.taught_names import taught_names_of
from .local.learned import Status as LearnedStatus, async_phrase_text, learned_phrases_of
from .policy.confirmation import Confirmation
from .policy.confirmed import async_answer_elsewhere
from .policy.policy import Policy
from .policy.teaching import async_approve, async_proposal_text, decline
from .support.const import DOMAIN
from .support.encoding import as_markdown
from .support.errors import ToolError
from .support.localize import async_error_text

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
        entries: list[HomeAgentConfigEntry] = self.hass.config_entries.async_loaded_entries(DOMAIN)
        if not entries:
            return None
        policy = entries[0].runtime_data.policy
        confirmation = policy.confirmations.get(self._request_id)
        return (policy, confirmation) if confirmation else None


class NameFlow(RepairsFlow):
    """Shows a name that was proposed, and takes a yes or a no."""

    def __init__(self, taught_name_id: str) -> None:
        """Answer one proposal."""
        self._taught_name_id = taught_name_id

    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Show what would be called what."""
        if (row := taught_names_of(self.hass).by_id(self._taught_name_id)) is None:
            return self.async_abort(reason="over")
        question = await async_proposal_text(self.hass, row)
        return self.async_show_menu(
            step_id="init",
            menu_options=["confirm", "reject"],
            description_placeholders={"question": as_markdown(question)},
        )

    async def async_step_confirm(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Give the name."""
        row = taught_names_of(self.hass).by_id(self._taught_name_id)
        entries: list[HomeAgentConfigEntry] = self.hass.config_entries.async_loaded_entries(DOMAIN)
        if row is None or not entries:
            return self.async_abort(reason="over")
        runtime = entries[0].runtime_data
        profile = runtime.registry.default
        if reason := await async_approve(self.hass, runtime.policy, runtime.means.names.tool, profile, row):
            return self.async_abort(reason="failed", description_placeholders={"answer": as_markdown(reason)})
        return self.async_create_entry(data={})

    async def async_step_reject(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Note that it is not wanted."""
        if (row := taught_names_of(self.hass).by_id(self._taught_name_id)) is None:
            return self.async_abort(reason="over")
        decline(self.hass, row)
        return self.async_create_entry(data={})


class PhrasesFlow(RepairsFlow):
    """Shows the phrases that wait for an administrator: all of them are decided at once, or some of them one by one."""

    def __init__(self, status: LearnedStatus) -> None:
        """Decide on those with a status: `proposed`, or `doubted`, which were taken out of use."""
        self._status = status

    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Show what would be done for which words."""
        if not (rows := await self._async_rows()):
            return self.async_abort(reason="over")
        listed = "\n".join(f"- {as_markdown(text)}" for text in rows.values())
        return self.async_show_menu(
            step_id="init",
            menu_options=["approve_all", "choose", "reject_all"],
            description_placeholders={"phrases": listed, "count": str(len(rows))},
        )

    async def async_step_approve_all(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Have all of them done without a model."""
        return await self._async_decide(approve=await self._async_rows(), reject=())

    async def async_step_reject_all(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Have none of them proposed again."""
        return await self._async_decide(approve=(), reject=await self._async_rows())

    async def async_step_choose(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Ask which are approved and which are rejected; the others wait on."""
        chosen, errors = user_input or {}, dict[str, str]()
        approve, reject = chosen.get(_APPROVE, []), chosen.get(_REJECT, [])
        if user_input is not None:
            if {*approve}.isdisjoint(reject):
                return await self._async_decide(approve=approve, reject=reject)
            errors[_REJECT] = "phrase_both"
        if not (rows := await self._async_rows()):
            return self.async_abort(reason="over")
        choices = [SelectOptionDict(value=row_id, label=text) for row_id, text in rows.items()]
        several = SelectSelector(SelectSelectorConfig(options=choices, multiple=True, mode=SelectSelectorMode.LIST))
        left = {key: [item for item in listed if item in rows] for key, listed in chosen.items()}
        schema = probatio.Schema(
            {probatio.Optional(key, default=left.get(key, [])): several for key in (_APPROVE, _REJECT)}
        )
        return self.async_show_form(step_id="choose", data_schema=schema, errors=errors)

    async def _async_decide(self, approve: Collection[str], reject: Collection[str]) -> RepairsFlowResult:
        """Store it, and end; an issue that ends well is deleted, so it stays where some still wait."""
        phrases = learned_phrases_of(self.hass)
        known = {row.id for row in phrases.rows(self._status)}
        try:
            phrases.async_decide(known & {*approve}, LearnedStatus.LEARNED)
        except ToolError as err:
            reason = await async_error_text(self.hass, self.hass.config.language, err)
            return self.async_abort(reason="failed", description_placeholders={"answer": as_markdown(reason)})
        phrases.async_decide(known & {*reject}, LearnedStatus.REJECTED)
        if left := len(phrases.rows(self._status)):
            return self.async_abort(reason="left", description_placeholders={"count": str(left)})
        return self.async_create_entry(data={})

    async def _async_rows(self) -> dict[str, str]:
        """Return what waits as it is told, by id; nothing while no entry is loaded, or nothing is learned."""
        phrases = learned_phrases_of(self.hass)
        if not self.hass.config_entries.async_loaded_entries(DOMAIN) or not phrases.after:
            return {}
        return {row.id: await async_phrase_text(self.hass, row) for row in phrases.rows(self._status)}


class PipelineFlow(ConfirmRepairFlow):
    """Turns off that Home Assistant answers before the agent of a voice assistant."""

    def __init__(self, pipeline_id: str) -> None:
        """Mend one voice assistant."""
        self._pipeline_id = pipeline_id

    @override
    async def async_step_confirm(self, user_input: dict[str, str] | None = None) -> RepairsFlowResult:
        """Say what will be, and do it; who watches voice assistants takes the issue back."""
        if user_input is not None:
            await async_hear_everything(self.hass, self._pipeline_id)
        return await super().async_step_confirm(user_input)


async def async_create_fix_flow(
    hass: HomeAssistant, issue_id: str, data: dict[str, str | int | float | None] | None
) -> RepairsFlow:
    """Return the flow of an issue."""
    if PIPELINE_ID in (data := data or {}):
        return PipelineFlow(str(data[PIPELINE_ID]))
    if "phrases" in data:
        return PhrasesFlow(LearnedStatus(str(data["phrases"])))
    if "taught_name_id" in data:
        return NameFlow(str(data["taught_name_id"]))
    return ConfirmationFlow(str(data["request_id"]))
