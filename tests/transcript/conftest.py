"""A house, and what ends a conversation in it: five idle minutes, a restart, a reload."""

from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.core import HomeAssistant
from homeassistant.helpers.chat_session import DATA_CHAT_SESSION
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed

from custom_components.home_agent.support.kept import kept_things
from custom_components.home_agent.transcript.transcript import TRANSCRIPTS
from tests.house import say
from tests.llm_server import LLMServer, text

type Messages = list[dict[str, Any]]


async def end_sessions(hass: HomeAssistant, freezer: FrozenDateTimeFactory, minutes: float = 11) -> None:
    """Let Home Assistant forget every conversation, as it does after five idle minutes."""
    for _ in range(2):
        freezer.tick(timedelta(minutes=minutes / 2))
        async_fire_time_changed(hass)
        await hass.async_block_till_done()
    assert not hass.data[DATA_CHAT_LOGS]


async def restart(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Load Home Agent anew from what it wrote, with nothing in memory: neither ours nor Home Assistant's."""
    await hass.config_entries.async_unload(entry.entry_id)
    for key in (DATA_CHAT_LOGS, DATA_CHAT_SESSION):
        hass.data.get(key, {}).clear()
    hass.data.pop(TRANSCRIPTS, None)
    kept_things(hass).forget()
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()


def sent(server: LLMServer) -> Messages:
    """Return the messages of the newest request, without the system message."""
    messages: Messages = server.request.body["messages"]
    system, *others = messages
    assert system["role"] == "system"
    return others


def words(server: LLMServer) -> list[str]:
    """Return who said what in the newest request, without what the model was told of the house."""
    return [
        f"{item['role']}: {(item['content'] or '').rpartition('</house>')[2].strip()}"
        for item in sent(server)
        if item["role"] != "tool"
    ]


async def say_all(
    hass: HomeAssistant, server: LLMServer, conversation_id: str | None, *messages: str, **fields: Any
) -> list[str]:
    """Say several things in one conversation, each answered with `ok`; return the conversation ids."""
    found: list[str] = []
    for message in messages:
        server.plan(text("ok"))
        result = await say(hass, message, conversation_id, **fields)
        assert result.conversation_id
        found.append(conversation_id := result.conversation_id)
    return found


def stored(entry: MockConfigEntry) -> Messages:
    """Return the messages of the only conversation as they would be written."""
    [conversation] = entry.runtime_data.conversations.content()["conversations"]
    messages: Messages = conversation["messages"]
    return messages
