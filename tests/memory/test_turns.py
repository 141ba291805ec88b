"""What a model is told of what is remembered: looked at where its endpoint receives it."""

from homeassistant.core import HomeAssistant

from custom_components.home_agent.memory.memories import memories_of
from tests.house import part_of, say, set_up
from tests.llm_replies import text
from tests.llm_server import LLMServer

from .conftest import said

TEA = "Grandma Ilse drinks only peppermint tea"
ASKED = "Which tea does grandma drink?"


async def test_a_memory_is_told_once_in_a_conversation(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    await memories_of(hass).async_add([said(TEA), said("The spare key hangs behind the boiler")])
    llm_server.plan(text("Peppermint."), text("Only that."), text("Peppermint."))
    first = await say(hass, ASKED)
    await say(hass, ASKED, first.conversation_id)
    await say(hass, ASKED)
    parts = [part_of(request.body["messages"][-1]) for request in llm_server.requests]
    assert [part.get("memories") for part in parts] == [[TEA], None, [TEA]]


async def test_an_agent_without_memory_is_told_nothing(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"memory": "off"})
    await memories_of(hass).async_add([said(TEA)])
    llm_server.plan(text("I do not know."))
    await say(hass, ASKED)
    assert TEA not in str(llm_server.requests[-1].body)
