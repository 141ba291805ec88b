"""Several people in one conversation, with several assistants: Home Assistant 2026.10 lets everybody in, 2026.11 nobody."""

from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import chat_session
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from tests.house import act, say, set_up, speech, subentry
from tests.llm_server import LLMServer, text

from .conftest import say_all, words

SECOND = subentry("profile", "Second", "profile-2", {})
BUILT_IN = "conversation.home_assistant"
IS_OPEN = not hasattr(chat_session.ChatSession("a"), "user_id")
OPEN = pytest.mark.skipif(not IS_OPEN, reason="this Home Assistant lets nobody else in")

pytestmark = pytest.mark.usefixtures("demo_house")


@pytest.fixture
def anna(hass_admin_user: MockUser) -> Context:
    return Context(user_id=hass_admin_user.id)


@pytest.fixture
def bert(hass_read_only_user: MockUser) -> Context:
    return Context(user_id=hass_read_only_user.id)


async def clear(hass: HomeAssistant, context: Context) -> dict[str, Any]:
    """Clear the conversation; return how many there were."""
    return await act(hass, "clear_history", context, conversation_id="a")


@OPEN
@pytest.mark.parametrize("agent", ["conversation.second", BUILT_IN])
async def test_nobody_is_sent_what_another_said_to_another_assistant(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context, bert: Context, agent: str
) -> None:
    await set_up(hass, llm_server, more=[SECOND])
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "turn on the bed light", "a", context=anna, agent_id=agent)
    await say(hass, "what did she say?", "a", context=bert)
    assert words(llm_server) == ["user: what did she say?"]
    await say(hass, "and I?", "a", context=anna, agent_id="conversation.second")
    assert "user: what did she say?" not in words(llm_server)


@pytest.mark.parametrize("who", ["bert", "a satellite"])
@pytest.mark.parametrize("agent", ["conversation.home_agent", "conversation.second"])
async def test_another_speaker_in_the_conversation(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context, bert: Context, agent: str, who: str
) -> None:
    """They learn nothing of it, on 2026.11 not even by an answer; whoever began it goes on as if they had not been there."""
    await set_up(hass, llm_server, more=[SECOND])
    llm_server.respond(lambda _body: text("ok"))
    first = await say(hass, "my name is Anna", context=anna)
    other: dict[str, Any] = {"context": bert} if who == "bert" else {"device_id": "kitchen"}
    said = await say(hass, "what is her name?", first.conversation_id, agent_id=agent, **other)
    if IS_OPEN:
        assert words(llm_server) == ["user: what is her name?"]
    else:
        assert (speech(said), len(llm_server.requests)) == ("Unauthorized", 1)
    await say(hass, "and now?", first.conversation_id, context=anna)
    assert words(llm_server) == ["user: my name is Anna", "assistant: ok", "user: and now?"]


@pytest.mark.parametrize("agent", ["conversation.second", BUILT_IN])
async def test_own_words_elsewhere(hass: HomeAssistant, llm_server: LLMServer, anna: Context, agent: str) -> None:
    await set_up(hass, llm_server, more=[SECOND])
    llm_server.respond(lambda _body: text("ok"))
    first = await say(hass, "turn on the bed light", context=anna, agent_id=agent)
    await say(hass, "and now?", first.conversation_id, context=anna)
    assert words(llm_server)[0] == "user: turn on the bed light"


@OPEN
async def test_own_words_are_cleared(hass: HomeAssistant, llm_server: LLMServer, anna: Context, bert: Context) -> None:
    await set_up(hass, llm_server)
    carl = Context(user_id="carl")
    await say_all(hass, llm_server, "a", "carl one", context=carl)
    await say_all(hass, llm_server, "a", "bert one", context=bert)
    await say_all(hass, llm_server, "a", "carl two", context=carl)
    assert await clear(hass, bert) == {"cleared": 1, "stored": 1}
    await say_all(hass, llm_server, "a", "carl three", context=carl)
    assert [item for item in words(llm_server) if item.startswith("user")][:2] == ["user: carl one", "user: carl two"]
    await say_all(hass, llm_server, "a", "bert two", context=bert)
    assert words(llm_server) == ["user: bert two"]
    assert await clear(hass, anna) == {"cleared": 1, "stored": 2}
    await say_all(hass, llm_server, "a", "carl four", context=carl)
    assert words(llm_server) == ["user: carl four"]


async def test_others_words_stay(hass: HomeAssistant, llm_server: LLMServer, anna: Context, bert: Context) -> None:
    await set_up(hass, llm_server)
    await say_all(hass, llm_server, "a", "one", context=anna)
    assert await clear(hass, bert) == {"cleared": 0, "stored": 0}
    await say_all(hass, llm_server, "a", "two", context=anna)
    assert words(llm_server) == ["user: one", "assistant: ok", "user: two"]
