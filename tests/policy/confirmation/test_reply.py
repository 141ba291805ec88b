"""A question in the conversation and its answer: in words, by whom, and what then runs."""

from datetime import timedelta
import json

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.conversation import ChatLog
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.core import Context, Event, HomeAssistant
from homeassistant.helpers import device_registry as dr
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events, async_fire_time_changed

from custom_components.home_agent.turn import events
from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call

from .conftest import QUESTION, UNLOCK, Add, ask, services_of, state_of


async def test_the_turn_ends_with_the_question_and_yes_runs_it_once(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]
) -> None:
    await set_up(hass, llm_server)
    resolved = async_capture_events(hass, events.CONFIRMATION_RESOLVED)
    conversation_id = await ask(hass, llm_server, alice)
    result = await say(hass, "Yes, please!", conversation_id, context=alice)
    assert speech(result) == "Done. Front Door is unlocked."
    assert not result.continue_conversation
    assert result.response.error_code is None
    assert services_of(unlocked) == ["lock.unlock"]
    assert [call.context.user_id for call in unlocked] == [alice.user_id]
    assert [event.data["outcome"] for event in resolved] == ["confirmed"]
    assert len(llm_server.requests) == 1  # the model asked for it, and was not asked about it

    llm_server.plan(text("You are welcome."))
    await say(hass, "yes", conversation_id, context=alice)  # nothing is open any more: new words
    assert services_of(unlocked) == ["lock.unlock"]


@pytest.mark.parametrize(
    ("language", "intro"), [("en", "Your answer counts only for this: "), ("de", "Deine Antwort gilt nur hierfür: ")]
)
@pytest.mark.parametrize("streaming", [True, False])
async def test_what_a_model_asks_before_is_told_apart_from_the_question(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, language: str, intro: str, streaming: bool
) -> None:
    await set_up(hass, llm_server, profile={"streaming": streaming})
    llm_server.plan(tool_call("ha_control", UNLOCK, content="Shall I turn on the radio?"))
    asked = await say(hass, "music", context=alice, language=language)
    assert speech(asked).startswith(intro)
    assert asked.continue_conversation
    await say(hass, "yes" if language == "en" else "ja", asked.conversation_id, context=alice, language=language)
    assert state_of(hass) == "unlocked"

    llm_server.plan(
        text("Hello."), tool_call("ha_control", UNLOCK, content=" \n")
    )  # what was said in an earlier turn is over
    await hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    before = await say(hass, "hello", context=alice, language=language)
    asked = await say(hass, "open", before.conversation_id, context=alice, language=language)
    assert intro not in speech(asked)


async def test_the_model_knows_of_the_run_later(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, alice)
    await say(hass, "yes", conversation_id, context=alice)
    llm_server.plan(text("I unlocked it."))
    await say(hass, "tell me about the door", conversation_id, context=alice)
    first, asked, refused, question, yes, run, done, words, _ = llm_server.request.body["messages"][1:]
    assert [first["role"], yes["role"]] == ["user", "user"]
    assert (question["content"], yes["content"]) == (QUESTION, "yes")
    assert json.loads(refused["content"])["success"] is False
    assert "request" not in refused["content"]
    assert run["tool_calls"][0]["function"] == asked["tool_calls"][0]["function"]
    assert run["tool_calls"][0]["id"] == done["tool_call_id"] != asked["tool_calls"][0]["id"]
    assert json.loads(done["content"])["success"] is True
    assert words == {"role": "assistant", "content": "Done. Front Door is unlocked."}


async def test_chat_log_holds_an_external_call(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, alice)
    await say(hass, "yes", conversation_id, context=alice)
    log: ChatLog = hass.data[DATA_CHAT_LOGS][conversation_id]
    call, result, words = log.content[-3:]
    assert [item.role for item in (call, result, words)] == ["assistant", "tool_result", "assistant"]
    assert all(item.external for item in call.tool_calls)  # type: ignore[union-attr]


@pytest.mark.parametrize(("words", "language", "answer"), [
    ("no", "en", "OK, nothing was done."),
    ("yes... no wait", "en", "OK, nothing was done."),
    ("nein danke", "de", "In Ordnung, es ist nichts geschehen."),
])  # fmt: skip
async def test_no_drops_it(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, words: str, language: str, answer: str
) -> None:
    await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, alice)
    assert speech(await say(hass, words, conversation_id, context=alice, language=language)) == answer
    assert speech(await say(hass, "yes", conversation_id, context=alice)) == "There is nothing to confirm."
    llm_server.plan(text("What?"))
    assert speech(await say(hass, "yes", conversation_id, context=alice)) == "What?"
    assert state_of(hass) == "locked"


async def test_other_words_cancel_and_are_a_request(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    resolved = async_capture_events(hass, events.CONFIRMATION_RESOLVED)
    conversation_id = await ask(hass, llm_server, alice)
    llm_server.plan(text("It is sunny."), text("What?"))
    assert speech(await say(hass, "yes and how is the weather?", conversation_id, context=alice)) == "It is sunny."
    assert [event.data["outcome"] for event in resolved] == ["cancelled"]
    await say(hass, "yes", conversation_id, context=alice)
    assert state_of(hass) == "locked"


async def test_a_late_yes_is_told_so(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    await set_up(hass, llm_server, options={"confirm_timeout": 30})
    resolved = async_capture_events(hass, events.CONFIRMATION_RESOLVED)
    conversation_id = await ask(hass, llm_server, alice)
    freezer.tick(timedelta(seconds=31))
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert [event.data["outcome"] for event in resolved] == ["expired"]
    result = await say(hass, "yes", conversation_id, context=alice)
    assert speech(result) == "The question has expired, and nothing was done. Please ask again."
    assert result.response.error_code is not None
    assert state_of(hass) == "locked"


async def test_a_yes_before_the_timer_but_after_the_time_is_late(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, alice)
    freezer.tick(timedelta(seconds=121))
    assert "expired" in speech(await say(hass, "yes", conversation_id, context=alice))
    assert state_of(hass) == "locked"


async def test_a_yes_in_another_chat_is_none(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    await ask(hass, llm_server, alice)
    llm_server.plan(text("Yes what?"))
    assert speech(await say(hass, "yes", "elsewhere", context=alice)) == "Yes what?"
    assert state_of(hass) == "locked"


@pytest.fixture
def satellites(hass: HomeAssistant) -> tuple[str, str]:
    """Two voice devices."""
    entry = MockConfigEntry(domain="satellites")
    entry.add_to_hass(hass)
    registry = dr.async_get(hass)
    first, second = (
        registry.async_get_or_create(config_entry_id=entry.entry_id, identifiers={("satellites", name)}).id
        for name in ("hall", "garden")
    )
    return first, second


async def test_a_userless_voice_device(hass: HomeAssistant, llm_server: LLMServer, satellites: tuple[str, str]) -> None:
    await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, Context(), device_id=satellites[0])
    assert speech(await say(hass, "yes", conversation_id, device_id=satellites[0])) == "Done. Front Door is unlocked."
    assert state_of(hass) == "unlocked"


async def test_another_device_in_the_same_conversation_confirms_nothing(
    hass: HomeAssistant, llm_server: LLMServer, satellites: tuple[str, str], alice: Context
) -> None:
    await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, Context(), device_id=satellites[0])
    assert speech(await say(hass, "yes", conversation_id, device_id=satellites[1])).startswith(
        "Only the user who asked"
    )
    assert speech(await say(hass, "yes", conversation_id)).startswith("Only the user who asked")  # nobody at all
    assert state_of(hass) == "locked"


async def test_another_user_in_the_same_conversation_confirms_nothing(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, person: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, alice)
    bob = person("Bob")
    try:
        answer = speech(await say(hass, "yes", conversation_id, context=bob))
    except Exception as err:  # noqa: BLE001 - newer Home Assistants keep Bob out of Alice's conversation themselves
        answer = type(err).__name__
    assert answer.startswith(("Only the user who asked", "Unauthorized"))
    assert state_of(hass) == "locked"
    assert speech(await say(hass, "yes", conversation_id, context=alice)) == "Done. Front Door is unlocked."
