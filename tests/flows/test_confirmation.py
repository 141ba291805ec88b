"""The form about confirmations: PINs are stored, never shown, and can be taken away again."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
import pytest

from custom_components.home_agent.flows.options import GUARDED, confirmation_options, field_of
from tests.flows.forms import fields, page, shown
from tests.house import set_up


async def test_that_a_pin_is_stored_is_shown_and_not_the_pin(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options={"pins": {"unlock": "4711"}, "confirm_timeout": 30})
    form = await page(hass, entry, "confirmation")
    assert shown(form) == {"confirm_timeout": 30, "pin_unlock": "••••••••"}
    assert "4711" not in str(form) + str(fields(form))
    assert set(fields(form)) == {"confirm_timeout", *map(field_of, GUARDED)}
    form = await page(hass, await set_up(hass), "confirmation")
    assert shown(form) == {"confirm_timeout": 120}


async def test_what_is_left_as_it_is_stays_and_a_cleared_field_removes_a_pin(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options={"pins": {"unlock": "4711", "disarm": "0815"}})
    form = await page(hass, entry, "confirmation")
    sent = {**shown(form), "confirm_timeout": 60, "pin_open_door": "123456"}
    assert sent.pop("pin_disarm")
    result = await hass.config_entries.options.async_configure(form["flow_id"], sent)
    await hass.async_block_till_done()
    assert result["type"] is FlowResultType.MENU
    assert dict(entry.options) == {"confirm_timeout": 60, "pins": {"unlock": "4711", "open_door": "123456"}}


@pytest.mark.parametrize("pin", ["123", "12a4", "1234567890123", "one two three four", "١٢٣٤", "••••••••"])
async def test_a_pin_is_of_digits(hass: HomeAssistant, pin: str) -> None:
    entry = await set_up(hass)
    form = await page(hass, entry, "confirmation")
    sent: dict[str, Any] = {"confirm_timeout": 60, "pin_unlock": pin}
    form = await hass.config_entries.options.async_configure(form["flow_id"], sent)
    assert form["errors"] == {"pin_unlock": "pin_format"}
    assert pin not in str(shown(form))
    assert not entry.options


def test_defaults_of_the_form() -> None:
    assert confirmation_options({}, {}) == ({"confirm_timeout": 120, "pins": {}}, set())
