"""Repairs issues that can be answered: an open confirmation, a proposed name, a voice assistant that answers before its agent.

Home Assistant lets only administrators fix issues.
"""

from typing import Any, override

from homeassistant.components.repairs import ConfirmRepairFlow, RepairsFlow, RepairsFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.helpers.selector import TextSelector, TextSelectorConfig, TextSelectorType
import probatio

from .agent.pipelines import PIPELINE_ID, async_hear_everything
from .agent.runtime import HomeAgentConfigEntry
from .home.taught_names import taught_names_of
from .policy.confirmation import Confirmation
from .policy.confirmed import async_answer_elsewhere
from .policy.policy import Policy
from .policy.teaching import async_approve, async_proposal_text, decline
from .settings.profile import Profile
from .support.const import DOMAIN
from .support.encoding import shown

_PIN = "pin"
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
            description_placeholders={"question": shown(found[1].question)},
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
            return self.async_abort(reason="failed", description_placeholders={"answer": shown(answer.text)})
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
            description_placeholders={"question": shown(confirmation.question)},
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
            description_placeholders={"question": shown(question)},
        )

    async def async_step_confirm(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Give the name."""
        row = taught_names_of(self.hass).by_id(self._taught_name_id)
        entries: list[HomeAgentConfigEntry] = self.hass.config_entries.async_loaded_entries(DOMAIN)
        if row is None or not entries:
            return self.async_abort(reason="over")
        runtime = entries[0].runtime_data
        profile = next(iter(runtime.profiles.values()), Profile())
        if reason := await async_approve(self.hass, runtime.policy, runtime.means.names.tool, profile, row):
            return self.async_abort(reason="failed", description_placeholders={"answer": shown(reason)})
        return self.async_create_entry(data={})

    async def async_step_reject(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Note that it is not wanted."""
        if (row := taught_names_of(self.hass).by_id(self._taught_name_id)) is None:
            return self.async_abort(reason="over")
        decline(self.hass, row)
        return self.async_create_entry(data={})


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
    if "taught_name_id" in data:
        return NameFlow(str(data["taught_name_id"]))
    return ConfirmationFlow(str(data["request_id"]))
