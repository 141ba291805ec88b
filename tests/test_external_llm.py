"""The second model: what it is told, what its answer costs, what happens when it is gone."""

import json
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_capture_events

from custom_components.home_agent.client import chat_completions
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn import events
from tests.house import expert_llm, say, set_up, speech
from tests.llm_server import LLMServer, Reply, error, rate_limited, server_error, silence, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

ASK = {"prompt": "Is 20 °C cold?", "context": {"sensor.living_room": "20 °C"}}


async def set_up_both(hass: HomeAssistant, server: LLMServer, expert: LLMServer, **profile: Any) -> MockConfigEntry:
    return await set_up(hass, server, profile={"external_llm": "llm-2", **profile}, more=[expert_llm(expert)])


async def test_only_prompt_and_context_travel(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    await set_up_both(hass, llm_server, expert)
    finished = async_capture_events(hass, events.CONVERSATION_FINISHED)
    llm_server.plan(tool_call("query_external_llm", ASK, usage=True), text("It is fine.", usage=True))
    expert.plan(text("20 °C is comfortable.", usage={"prompt_tokens": 1000, "completion_tokens": 100}))
    assert speech(await say(hass, "is it cold? my secret is marzipan")) == "It is fine."
    body = expert.request.body
    assert body["messages"] == [
        {"role": "user", "content": 'Is 20 °C cold?\n\nContext:\n{"sensor.living_room":"20 °C"}'}
    ]
    assert "tools" not in body
    answer = json.loads(llm_server.request.body["messages"][-1]["content"])
    assert answer == {"success": True, "result": "20 °C is comfortable.", "error": None}
    data = finished[0].data
    assert data["used_external_llm"] is True
    assert data["tokens_used"]["prompt"] > 1000
    assert data["tool_breakdown"] == {"query_external_llm": 1}


async def test_a_key_name_has_no_personal_data(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    await set_up_both(hass, llm_server, expert, mask_personal_data="always")
    context = {"guests": {"anna@example.org": "comes at 8", "sensor.door": "closed"}}
    llm_server.plan(tool_call("query_external_llm", {"prompt": "Who comes?", "context": context}), text("Anna."))
    expert.plan(text("Somebody."))
    await say(hass, "who comes?")
    [message] = expert.request.body["messages"]
    assert message["content"].endswith('{"guests":{"[email]":"comes at 8","sensor.door":"closed"}}')


async def test_what_was_read_goes_to_the_expert(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    await set_up_both(hass, llm_server, expert)

    def first_model(body: dict[str, Any]) -> Reply:
        results = [json.loads(item["content"])["result"] for item in body["messages"] if item["role"] == "tool"]
        match results:
            case []:
                return tool_call("ha_query", {"entity_id": "light.bed_light"}, call_id="1")
            case [state]:
                return tool_call(
                    "query_external_llm", {"prompt": "Too bright?", "context": {"light": state}}, call_id="2"
                )
        return text(results[-1])

    llm_server.respond(first_model)
    expert.plan(text("It is off, so it is not."))
    assert speech(await say(hass, "is the bed light too bright?")) == "It is off, so it is not."
    asked = expert.request.body["messages"][0]["content"]
    assert asked.startswith("Too bright?\n\nContext:\n")
    assert '"state":"off"' in asked


async def test_it_is_offered_as_specified(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    await set_up_both(hass, llm_server, expert)
    llm_server.plan(text("Hello."))
    await say(hass, "hello")
    offered = {tool["function"]["name"]: tool["function"] for tool in llm_server.request.body["tools"]}
    tool = offered["query_external_llm"]
    assert tool["description"] == (
        "Query a more capable external LLM for complex analysis, detailed explanations, or comprehensive answers. "
        "Use this when you need help with complex analysis, detailed explanations, or comprehensive recommendations "
        "beyond simple home control."
    )
    assert tool["parameters"] == {
        "type": "object",
        "properties": {
            "prompt": {"type": "string", "description": "The question or prompt to send to the external LLM"},
            "context": {
                "type": "object",
                "description": "Additional explicit context to provide (e.g., sensor data, previous tool results). "
                "Note: Full conversation history is NOT automatically included.",
            },
        },
        "required": ["prompt"],
    }


@pytest.mark.parametrize("replies", [(server_error(), server_error()), (text(""),)], ids=["down", "silent"])
async def test_failure_is_told(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer, replies: Any) -> None:
    await set_up_both(hass, llm_server, expert)
    llm_server.plan(tool_call("query_external_llm", ASK), text("I could not ask."))
    expert.plan(*replies)
    assert speech(await say(hass, "is it cold?")) == "I could not ask."
    answer = json.loads(llm_server.request.body["messages"][-1]["content"])
    assert (answer["success"], answer["result"]) == (False, None)
    assert answer["error"].startswith("Failed to query external LLM: ")
    assert "sk-expert" not in answer["error"]


async def test_time_out_is_named(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    await set_up_both(hass, llm_server, expert, tool_timeout=1)
    llm_server.plan(tool_call("query_external_llm", ASK), text("I could not ask."))
    expert.plan(silence())
    await say(hass, "is it cold?")
    answer = json.loads(llm_server.request.body["messages"][-1]["content"])
    assert answer["error"] == "Failed to query external LLM: Connection timeout after 1s"


async def test_a_loading_expert_is_no_outage(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    await set_up_both(hass, llm_server, expert, tool_timeout=2)
    expert.loading = -1
    for _ in range(3):
        llm_server.plan(tool_call("query_external_llm", ASK), text("I could not ask."))
        await say(hass, "is it cold?")
        answer = json.loads(llm_server.request.body["messages"][-1]["content"])
        assert answer["error"].startswith("Failed to query external LLM: ")
        assert "still loading its model" in answer["error"]
    assert not [issue_id for domain, issue_id in ir.async_get(hass).issues if domain == DOMAIN]
    expert.loading = 1
    llm_server.plan(tool_call("query_external_llm", ASK), text("It is fine."))
    expert.plan(text("20 °C is comfortable."))
    await say(hass, "is it cold?")
    assert json.loads(llm_server.request.body["messages"][-1]["content"])["success"] is True


@pytest.mark.parametrize(("failure", "key"), [
    (server_error(), "endpoint_failing"),
    (silence(), "endpoint_silent"),
    (error(402, "Insufficient credits"), "endpoint_no_credit"),
    (rate_limited(), "endpoint_rate_limit"),
], ids=["500", "time-out", "402", "429"])  # fmt: skip
async def test_three_failures_in_a_row_raise_an_issue(
    hass: HomeAssistant,
    llm_server: LLMServer,
    expert: LLMServer,
    monkeypatch: pytest.MonkeyPatch,
    failure: Reply,
    key: str,
) -> None:
    monkeypatch.setattr(chat_completions, "RETRY_DELAY", 0)
    await set_up_both(hass, llm_server, expert, tool_timeout=1)

    async def ask(reply: Reply) -> list[str]:
        expert.respond(lambda body: reply)
        llm_server.plan(tool_call("query_external_llm", ASK), text("Well."))
        await say(hass, "is it cold?")
        return [issue_id for domain, issue_id in ir.async_get(hass).issues if domain == DOMAIN]

    assert [await ask(failure) for _ in range(3)] == [[], [], [f"{key}_llm-2"]]
    assert not await ask(text("It is fine."))


async def test_its_requests_share_a_connection(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    """Its window is asked beside the first question."""
    await set_up_both(hass, llm_server, expert, max_calls_per_turn=1)
    for _ in range(5):
        llm_server.plan(tool_call("query_external_llm", ASK), text("Fine."))
        expert.plan(text("Yes."))
        await say(hass, "is it cold?")
    assert len({request.peer for request in expert.requests}) <= 2


@pytest.mark.parametrize(("language", "question"), [
    ("en", "Run Request to another model for Expert (prompt: “Is 20 °C cold”"),
    ("de", "Anfrage an ein anderes Modell für Expert ausführen (prompt: “Is 20 °C cold”"),
])  # fmt: skip
async def test_a_question_names_it_in_the_language_of_the_conversation(
    hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer, language: str, question: str
) -> None:
    user = MockUser(is_owner=True).add_to_hass(hass)
    await set_up_both(hass, llm_server, expert, always_ask=["query_external_llm"])
    llm_server.plan(tool_call("query_external_llm", ASK))
    answer = await say(hass, "cold?", language=language, context=Context(user_id=user.id))
    assert speech(answer).startswith(question)
    assert expert.requests == []


async def test_it_counts_toward_the_limit(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    await set_up_both(hass, llm_server, expert, max_calls_per_turn=1)
    llm_server.plan(tool_call("query_external_llm", ASK), text("Enough."))
    expert.plan(text("Yes."))
    await say(hass, "is it cold?")
    assert "tools" not in llm_server.request.body


@pytest.mark.parametrize(
    ("profile", "offered"),
    [({"external_llm": "none"}, False), ({"external_llm": "gone"}, False), ({}, True)],
    ids=["off", "removed", "on"],
)
async def test_offered_only_where_a_profile_names_it(
    hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer, profile: dict[str, Any], offered: bool
) -> None:
    await set_up_both(hass, llm_server, expert, **profile)
    llm_server.plan(text("Hello."))
    await say(hass, "hello")
    body = llm_server.request.body
    names = {tool["function"]["name"] for tool in body["tools"]}
    assert ("query_external_llm" in names) is offered
    assert ("query_external_llm" in body["messages"][0]["content"]) is offered


async def test_owner_words_the_description(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    await set_up_both(hass, llm_server, expert, external_llm_description="Use this for poems.")
    llm_server.plan(text("Hello."))
    await say(hass, "hello")
    tool = next(item for item in llm_server.request.body["tools"] if item["function"]["name"] == "query_external_llm")
    assert tool["function"]["description"].endswith("Use this for poems.")
    assert tool["function"]["parameters"]["required"] == ["prompt"]
