"""What conversations leave behind when their sessions are over: nothing of ours but what is kept for later turns."""

import asyncio
from collections import Counter
from datetime import timedelta
import gc
import heapq

from homeassistant.core import HomeAssistant
from homeassistant.helpers import chat_session
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.local import sentences
from tests.house import build_house, say, set_up
from tests.llm_server import LLMServer, text, tool_call
from tests.stored import hass_storage  # noqa: F401

TURN_ON = {"action": "turn_on", "entity_id": "light.bed_light"}
CONVERSATIONS = 5
PACKAGE = "custom_components.home_agent."
KEPT = {
    "home.domain.Snapshot", "policy.journal.JournalEntry", "transcript.conversations.Conversation",
    "transcript.conversations.StoredCall", "transcript.conversations.StoredMessage", "turn.plan.ServiceCall", "turn.turn.Owner",
}  # fmt: skip
"""What the journal and the stored history are made of; both are bounded."""


def alive() -> Counter[str]:
    """Return how many objects of our classes there are, by class."""
    timers = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
    timers[:] = [
        timer for timer in timers if not timer.cancelled()
    ]  # asyncio keeps them, with their turn, until they are due
    heapq.heapify(timers)
    gc.collect()
    kinds = (type(item) for item in gc.get_objects())
    return Counter(
        f"{kind.__module__.removeprefix(PACKAGE)}.{kind.__qualname__}"
        for kind in kinds
        if kind.__module__.startswith(PACKAGE)
    )


async def talk(hass: HomeAssistant, server: LLMServer, hours: int) -> None:
    """Hold some conversations, and let their sessions end."""
    for _ in range(CONVERSATIONS):
        server.plan(tool_call("ha_control", TURN_ON), text("The bed light is on."))
        await say(hass, "bed light on")
    await hass.async_block_till_done()
    later = dt_util.utcnow() + timedelta(hours=hours) + 2 * chat_session.CONVERSATION_TIMEOUT
    async_fire_time_changed(hass, later)
    await hass.async_block_till_done()


async def test_an_ended_session_leaves_nothing(hass: HomeAssistant, house: None, llm_server: LLMServer) -> None:
    await build_house(hass)
    await set_up(hass, llm_server)
    await talk(hass, llm_server, 1)
    before = alive()
    await talk(hass, llm_server, 2)
    assert {kind for kind, count in alive().items() if count - before[kind] >= CONVERSATIONS} == KEPT


async def test_what_was_said_last_is_kept_of_so_many_conversations(
    hass: HomeAssistant, house: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentences, "MAX_REMEMBERED", 4)
    await build_house(hass)
    await set_up(hass, model_first=False)
    for state in ("on", "off") * 5:
        await say(hass, f"turn {state} the bed light")
    assert alive()["local.reading.Said"] == 4
