"""What was said before, in the owner's prompt: there, and nowhere else."""

from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from tests.house import say, set_up
from tests.llm_server import LLMServer, text

from .conftest import restart, say_all, words

pytestmark = pytest.mark.usefixtures("demo_house")

PROMPT = {"prompt_additions": "Before:\n{{ message_history }}"}
TOLD = "Before:\nUser: marzipan\nAssistant: ok"
NOTHING = "Before:\nThe conversation history is empty"


def system(server: LLMServer) -> str:
    """Return the system message of the newest request."""
    content: str = server.request.body["messages"][0]["content"]
    return content


async def test_it_is_told_once_and_stays(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile=PROMPT)
    [first] = await say_all(hass, llm_server, None, "marzipan")
    assert NOTHING in system(llm_server)
    await restart(hass, entry)
    [second] = await say_all(hass, llm_server, first, "one")
    assert TOLD in system(llm_server)
    assert words(llm_server) == ["user: one"]
    before = llm_server.request.body["messages"]
    await say_all(hass, llm_server, second, "two")
    assert llm_server.request.body["messages"][: len(before)] == before
    assert words(llm_server) == ["user: one", "assistant: ok", "user: two"]


async def test_a_later_prompt_repeats_nothing_sent(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    [first] = await say_all(hass, llm_server, None, "marzipan")
    await restart(hass, entry)
    [second] = await say_all(hass, llm_server, first, "one")
    hass.config_entries.async_update_entry(entry, options={"default_profile_settings": {"processing_config": PROMPT}})
    await hass.async_block_till_done()  # it is loaded anew; Home Assistant still knows the conversation
    await say_all(hass, llm_server, second, "two")
    assert NOTHING in system(llm_server)
    assert words(llm_server)[0] == "user: marzipan"


async def test_another_person_in_the_conversation_is_not_told(
    hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser, hass_read_only_user: MockUser
) -> None:
    """Home Assistant 2026.10 lets everybody into a conversation, 2026.11 nobody."""
    entry = await set_up(hass, llm_server, profile=PROMPT)
    mine, theirs = Context(user_id=hass_admin_user.id), Context(user_id=hass_read_only_user.id)
    await say_all(hass, llm_server, "a", "marzipan", context=mine)
    await restart(hass, entry)
    await say_all(hass, llm_server, "a", "one", context=mine)
    assert TOLD in system(llm_server)
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "two", "a", context=theirs)
    for request in llm_server.requests:
        assert ("marzipan" in request.raw.decode()) is not request.last_user.endswith("two")
