"""What undo and the model are told when a device hangs, or its integration gives up."""

import asyncio
from typing import Any

from homeassistant.components.demo.light import DemoLight
from homeassistant.core import Context, HomeAssistant
import pytest

from tests.house import say, set_up, speech, state_of
from tests.llm_server import LLMServer, text, tool_call

BED, CEILING, KITCHEN = "light.bed_light", "light.ceiling_lights", "light.kitchen_lights"


@pytest.mark.usefixtures("demo_house")
async def test_undo_takes_back_what_a_call_did_that_ran_out_of_time(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    await set_up(hass, llm_server, profile={"tool_timeout": 1}, options={"verify_seconds": 0.3})
    for lamp in (BED, CEILING, KITCHEN):
        await hass.services.async_call("light", "turn_off", {"entity_id": lamp}, blocking=True)

    async def ask(words: str) -> None:
        await say(hass, words, "c1", context=Context(user_id=admin.user_id))

    llm_server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": [KITCHEN]}), text("Done."))
    await ask("Kitchen, please")
    turn_on = DemoLight.async_turn_on

    async def slow(self: DemoLight, **data: Any) -> None:
        await (asyncio.sleep(60) if self.entity_id == CEILING else turn_on(self, **data))

    monkeypatch.setattr(DemoLight, "async_turn_on", slow)
    llm_server.plan(
        tool_call("ha_control", {"action": "turn_on", "entity_id": [BED, CEILING]}), text("It took too long.")
    )
    await ask("Bedroom, please")
    assert state_of(hass, BED) == "on"
    await ask("undo")
    assert (state_of(hass, BED), state_of(hass, KITCHEN)) == ("off", "on")


@pytest.mark.usefixtures("demo_house")
@pytest.mark.parametrize("lamps", [[CEILING], [BED, CEILING]])
async def test_it_has_failed_like_any_other_device(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, monkeypatch: pytest.MonkeyPatch, lamps: list[str]
) -> None:
    await set_up(hass, llm_server, options={"verify_seconds": 0.3})
    for lamp in (BED, CEILING):
        await hass.services.async_call("light", "turn_off", {"entity_id": lamp}, blocking=True)
    turn_on = DemoLight.async_turn_on

    async def cancelled(self: DemoLight, **data: Any) -> None:
        if self.entity_id == CEILING:
            raise asyncio.CancelledError
        await turn_on(self, **data)

    monkeypatch.setattr(DemoLight, "async_turn_on", cancelled)
    llm_server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": lamps}), text("It did not work."))
    assert speech(await say(hass, "Light, please", "c1", context=admin)) == "It did not work."
    [result] = [message["content"] for message in llm_server.request.body["messages"] if message["role"] == "tool"]
    assert "CancelledError" in result or "failed" in result
