"""Through Home Assistant's own voice pipeline, from text to the end of the turn: what a satellite gets to hear."""

from inspect import signature
from typing import Any

from homeassistant.components.assist_pipeline import (
    PipelineEvent,
    PipelineEventType,
    PipelineInput,
    PipelineRun,
    PipelineStage,
)
from homeassistant.components.assist_pipeline.pipeline import async_get_pipeline, async_update_pipeline
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import chat_session
from homeassistant.setup import async_setup_component
import pytest

from tests.house import set_up
from tests.llm_server import LLMServer, text, tool_call

from .conftest import QUESTION, UNLOCK, state_of

OWNED = "context" in signature(chat_session.async_get_chat_session).parameters
"""Newer Home Assistants keep the conversations of users apart."""


@pytest.fixture
async def pipeline(hass: HomeAssistant, demo_house: None) -> None:
    assert await async_setup_component(hass, "assist_pipeline", {})
    await hass.async_block_till_done()


async def run(
    hass: HomeAssistant, words: str, conversation_id: str | None = None, **fields: Any
) -> tuple[dict[str, Any], str]:
    """Run a pipeline from its words on; return the result of its intent stage, and what was streamed."""
    heard: list[PipelineEvent] = []
    found = async_get_pipeline(hass)
    await async_update_pipeline(hass, found, conversation_engine="conversation.home_agent", prefer_local_intents=False)
    context = fields.pop("context", Context())
    with chat_session.async_get_chat_session(
        hass, conversation_id, **({"context": context} if OWNED else {})
    ) as session:
        whole = PipelineInput(
            session=session,
            intent_input=words,
            device_id=fields.pop("device_id", None),
            run=PipelineRun(
                hass,
                context=context,
                pipeline=async_get_pipeline(hass),
                start_stage=PipelineStage.INTENT,
                end_stage=PipelineStage.INTENT,
                event_callback=heard.append,
            ),
            **fields,
        )
        await whole.validate()
        await whole.execute()
    end = next(event for event in heard if event.type is PipelineEventType.INTENT_END)
    assert end.data is not None
    streamed = "".join(
        event.data["chat_log_delta"].get("content") or ""
        for event in heard
        if event.type is PipelineEventType.INTENT_PROGRESS and event.data and "chat_log_delta" in event.data
    )
    return end.data["intent_output"], streamed


async def test_the_microphone_follows_the_question(hass: HomeAssistant, llm_server: LLMServer, pipeline: None) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", UNLOCK, content="Just a moment."))
    asked, streamed = await run(hass, "let me in", device_id="satellite")
    assert asked["continue_conversation"] is True
    assert asked["response"]["speech"]["plain"]["speech"] == f"Your answer counts only for this: {QUESTION}"
    assert streamed.endswith(QUESTION)
    assert state_of(hass) == "locked"
    done, _ = await run(hass, "yes please", asked["conversation_id"], device_id="satellite")
    assert done["continue_conversation"] is False
    assert done["response"]["speech"]["plain"]["speech"] == "Done. Front Door is unlocked."
    assert done["response"]["response_type"] == "action_done"
    assert state_of(hass) == "unlocked"


async def test_the_microphone_stays_open(hass: HomeAssistant, llm_server: LLMServer, pipeline: None) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": "4711"}})
    llm_server.plan(tool_call("ha_control", UNLOCK))
    asked, _ = await run(hass, "let me in", device_id="satellite")
    assert asked["continue_conversation"] is True
    wrong, _ = await run(hass, "yes, four seven one two", asked["conversation_id"], device_id="satellite")
    assert wrong["continue_conversation"] is True
    done, _ = await run(hass, "four seven one one", asked["conversation_id"], device_id="satellite")
    assert done["continue_conversation"] is False
    assert state_of(hass) == "unlocked"


async def test_another_satellite_is_not_heard(hass: HomeAssistant, llm_server: LLMServer, pipeline: None) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", UNLOCK))
    asked, _ = await run(hass, "let me in", device_id="satellite")
    answer, _ = await run(hass, "yes", asked["conversation_id"], device_id="another")
    assert answer["response"]["response_type"] == "error"
    assert state_of(hass) == "locked"


async def test_a_sentence_of_the_house_in_a_pipeline(hass: HomeAssistant, pipeline: None) -> None:
    await set_up(hass)
    asked, _ = await run(hass, "unlock the front door", device_id="satellite")
    assert (asked["response"]["speech"]["plain"]["speech"], asked["continue_conversation"]) == (QUESTION, True)
    await run(hass, "yes", asked["conversation_id"], device_id="satellite")
    assert state_of(hass) == "unlocked"


async def test_other_words_go_on_with_the_model(hass: HomeAssistant, llm_server: LLMServer, pipeline: None) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", UNLOCK), text("It is noon."))
    asked, _ = await run(hass, "let me in", device_id="satellite")
    answer, _ = await run(hass, "what time is it", asked["conversation_id"], device_id="satellite")
    assert answer["response"]["speech"]["plain"]["speech"] == "It is noon."
    assert state_of(hass) == "locked"
