"""Repairs issues that can be answered: an open confirmation. Home Assistant lets only administrators fix issues."""

from typing import Any

from homeassistant.components.repairs import RepairsFlow, RepairsFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.helpers.selector import TextSelector, TextSelectorConfig, TextSelectorType
import probatio

from .confirming.channels import async_answer
from .const import DOMAIN
from .runtime import HomeAgentConfigEntry, RuntimeData
from .safety.confirmation import Request

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
            description_placeholders={"question": found[1].question},
        )

    async def async_step_confirm(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Run it; with a PIN, ask for that first."""
        if (found := self._open()) is None:
            return self.async_abort(reason="over")
        runtime, request = found
        needs_pin = bool(runtime.policy.confirmations.pin_for(request))
        if needs_pin and not (user_input and user_input.get(_PIN)):
            return self._pin_form(request, {})
        pin = str((user_input or {}).get(_PIN, ""))
        settled = await async_answer(self.hass, runtime, request, None, yes=True, pin=pin)
        if settled is None:
            return self._pin_form(request, {_PIN: "pin_wrong"}) if self._open() else self.async_abort(reason="over")
        if not settled.done:
            return self.async_abort(reason="failed", description_placeholders={"answer": settled.text})
        return self.async_create_entry(data={})

    async def async_step_reject(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Drop it."""
        if (found := self._open()) is None:
            return self.async_abort(reason="over")
        await async_answer(self.hass, *found, None, yes=False)
        return self.async_create_entry(data={})

    def _pin_form(self, request: Request, errors: dict[str, str]) -> RepairsFlowResult:
        return self.async_show_form(
            step_id="confirm",
            data_schema=probatio.Schema({probatio.Required(_PIN): _PASSWORD}),
            errors=errors,
            description_placeholders={"question": request.question},
        )

    def _open(self) -> tuple[RuntimeData, Request] | None:
        """Return the question while it is open."""
        entries: list[HomeAgentConfigEntry] = self.hass.config_entries.async_loaded_entries(DOMAIN)
        if not entries:
            return None
        runtime = entries[0].runtime_data
        request = runtime.policy.confirmations.get(self._request_id)
        return (runtime, request) if request else None


async def async_create_fix_flow(
    hass: HomeAssistant, issue_id: str, data: dict[str, str | int | float | None] | None
) -> RepairsFlow:
    """Return the flow of an issue."""
    return ConfirmationFlow(str((data or {})["request_id"]))
