"""Parameters as each endpoint takes them, and what is learned from refusals."""

from typing import Any

import pytest

from custom_components.home_agent.client.messages import ChatRequest
from custom_components.home_agent.settings.endpoint import traits_for
from custom_components.home_agent.support.errors import LLMAuthError, LLMResponseError
from tests.llm_server import LLMServer, Reply, chunks, delta, error, text, unsupported

from .conftest import REQUEST, TOOLS, MakeClient, ask, said

EVERYTHING = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 300, "keep_alive": "5m"}
RICH = ChatRequest(messages=REQUEST.messages, tools=TOOLS, response_format={"type": "json_object"}, cache_key="agent")


def pydantic_refusal(name: str) -> Reply:
    """Return the refusal of a strict server written with FastAPI."""
    detail = [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]
    return Reply(status=422, body=str(detail).replace("'", '"').encode(), content_type="application/json")


@pytest.mark.parametrize(("refusal", "gone"), [
    (unsupported("temperature"), "temperature"),
    (
        error(
            400, "Unsupported value: 'temperature' does not support 0.5. Only the default (1) is.",
            code="unsupported_value",
        ),
        "temperature",
    ),
    (error(400, "`temperature` and `top_p` cannot both be specified for this model."), "top_p"),
    (unsupported("top_p"), "top_p"),
    (error(400, "Unknown field: stream_options"), "stream_options"),
    (unsupported("stream_options.include_usage", "nope"), "stream_options"),
    (error(400, "response_format is not supported"), "response_format"),
    (pydantic_refusal("keep_alive"), "keep_alive"),
])  # fmt: skip
async def test_a_refused_one_is_gone(llm_server: LLMServer, make_client: MakeClient, refusal: Reply, gone: str) -> None:
    llm_server.plan(refusal, text("On."), text("Off."))
    client = make_client(**EVERYTHING)
    assert said(await ask(client, RICH)) == "On."
    assert said(await ask(client, RICH)) == "Off."
    first, second, third = (set(request.body) for request in llm_server.requests)
    assert first - second == {gone}
    assert third == second
    assert llm_server.requests[1].arrived - llm_server.requests[0].arrived < 0.5


@pytest.mark.parametrize(
    ("model", "sent", "renamed"),
    [("scripted", "max_tokens", "max_completion_tokens"), ("gpt-5-mini", "max_completion_tokens", "max_tokens")],
)
async def test_the_limit_of_the_answer_has_two_names(
    llm_server: LLMServer, make_client: MakeClient, model: str, sent: str, renamed: str
) -> None:
    llm_server.plan(unsupported(sent, f"Unsupported parameter: '{sent}'. Use '{renamed}' instead."), text("On."))
    llm_server.plan(unsupported(renamed), text("On."))
    client = make_client(max_tokens=300, model=model)
    await ask(client)
    await ask(client)
    limits = [{key: body[key] for key in body if key.startswith("max_")} for body in bodies(llm_server)]
    assert limits == [{sent: 300}, {renamed: 300}, {renamed: 300}, {}]


async def test_several_parameters_may_be_refused(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(unsupported("temperature"), unsupported("top_p"), unsupported("max_tokens"), text("On."))
    assert said(await ask(make_client(**EVERYTHING))) == "On."


@pytest.mark.parametrize(
    "refusal",
    [error(400, "top_p and temperature look fine"), error(400, "messages: invalid"), error(400, "unsupported")],
)
async def test_a_nameless_refusal_is_final(llm_server: LLMServer, make_client: MakeClient, refusal: Reply) -> None:
    llm_server.plan(refusal)
    with pytest.raises(LLMResponseError):
        await ask(make_client(**EVERYTHING))


async def test_tools_stay_where_tool_choice_none_is_known(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(*[text("On.")] * 5, unsupported("tool_choice"), text("On."))
    words = ChatRequest(messages=REQUEST.messages, tools=TOOLS, may_call_tools=False)
    calls = ChatRequest(messages=REQUEST.messages, tools=TOOLS)
    await ask(make_client(preset="llama_cpp"), words)
    assert (llm_server.request.body["tools"], llm_server.request.body["tool_choice"]) == (TOOLS, "none")
    await ask(make_client(preset="llama_cpp"), calls)
    assert "tool_choice" not in llm_server.request.body
    await ask(make_client(preset="ollama"), words)
    assert not {"tools", "tool_choice"} & set(llm_server.request.body)
    await ask(make_client(preset="llama_cpp"), ChatRequest(messages=REQUEST.messages, may_call_tools=False))
    assert not {"tools", "tool_choice"} & set(llm_server.request.body)
    await ask(make_client(preset="vllm", tool_calling=False), calls)
    assert not {"tools", "tool_choice"} & set(llm_server.request.body)
    await ask(make_client(preset="vllm"), words)
    assert not {"tools", "tool_choice"} & set(llm_server.request.body)


@pytest.mark.parametrize(("stored", "sent"), [("5m", "5m"), ("-1", -1), ("300", 300), ("", None), (None, None)])
async def test_keep_alive_format(llm_server: LLMServer, make_client: MakeClient, stored: str | None, sent: Any) -> None:
    llm_server.plan(text("On."), text("On."))
    await ask(make_client(preset="ollama", keep_alive=stored))
    assert llm_server.request.body.get("keep_alive") == sent
    await ask(make_client(preset="openai", keep_alive=stored))
    assert "keep_alive" not in llm_server.request.body


@pytest.mark.parametrize(("preset", "name"), [
    ("openai", "prompt_cache_key"), ("azure", "user"), ("openrouter", "user"), ("mistral", "prompt_cache_key"),
    ("custom", None),
])  # fmt: skip
async def test_what_requests_have_in_common_is_told_to_those_who_take_it(
    llm_server: LLMServer, make_client: MakeClient, preset: str, name: str | None
) -> None:
    llm_server.plan(text("On."), text("On."))
    client = make_client(preset=preset)
    await ask(client, RICH)
    keys = {"prompt_cache_key", "user"}
    assert {key: llm_server.request.body[key] for key in keys & set(llm_server.request.body)} == (
        {name: "agent"} if name else {}
    )
    await ask(client)
    assert not keys & set(llm_server.request.body)


async def test_a_refused_cache_key_is_left_out(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(unsupported("prompt_cache_key"), text("On."), text("On."))
    client = make_client(preset="openai")
    for _ in range(2):
        await ask(client, RICH)
        assert "prompt_cache_key" not in llm_server.request.body


@pytest.mark.parametrize(("preset", "model", "reasoning"), [
    ("openai", "gpt-4o", False), ("openai", "o3-mini", True), ("openai", "gpt-5-nano", True),
    ("openai", "gpt-5-chat-latest", False), ("openrouter", "openai/o4-mini", True),
    ("openrouter", "deepseek/deepseek-r1", False), ("ollama", "gpt-5", False),
])  # fmt: skip
def test_reasoning_models_are_known(preset: str, model: str, reasoning: bool) -> None:
    traits = traits_for(preset, model)
    assert traits.max_tokens == ("max_completion_tokens" if reasoning else "max_tokens")
    assert traits.sampling is not reasoning


@pytest.mark.parametrize(
    ("model", "inside"), [("deepseek-r1:8b", True), ("qwq", True), ("qwen3-30b-thinking", True), ("qwen3:8b", False)]
)
def test_models_that_begin_inside_thinking_are_known(model: str, inside: bool) -> None:
    assert traits_for("ollama", model).begins_inside_thinking is inside


CALLED: list[dict[str, Any]] = [
    {"role": "user", "content": "Turn it on"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_0_f", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "call_1_f", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "call_0_f", "content": "{}"},
    {"role": "tool", "tool_call_id": "call_1_f", "content": "{}"},
]
AFTER = ChatRequest(messages=[*CALLED, {"role": "user", "content": "And now?"}], tools=TOOLS)


def signed(signature: str | None) -> Reply:
    """Return two tool calls as Gemini makes them: the first one signed."""
    first: dict[str, Any] = {"index": 0, "id": "call_0_f", "function": {"name": "f", "arguments": "{}"}}
    if signature:
        first["extra_content"] = {"google": {"thought_signature": signature}}
    second = {"index": 1, "id": "call_1_f", "function": {"name": "f", "arguments": "{}"}}
    return chunks(delta(tool_calls=[first]), delta(tool_calls=[second]), ending=True, finish_reason="tool_calls")


async def test_gemini_gets_the_signatures_of_its_calls_back(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(signed("abc"), text("On."), text("On."))
    client = make_client(preset="gemini", model="models/gemini-3-flash")
    await ask(client, ChatRequest(messages=CALLED[:1], tools=TOOLS))
    await ask(client, AFTER)
    first, second = llm_server.request.body["messages"][1]["tool_calls"]
    assert first["extra_content"] == {"google": {"thought_signature": "abc"}}
    assert "extra_content" not in second
    await ask(make_client(preset="gemini"), AFTER)  # calls of another model, or of before a restart
    first, _ = llm_server.request.body["messages"][1]["tool_calls"]
    assert first["extra_content"] == {"google": {"thought_signature": "skip_thought_signature_validator"}}


async def test_deepseek_gets_its_thinking_back_with_its_calls(llm_server: LLMServer, make_client: MakeClient) -> None:
    call = {"index": 0, "id": "call_0_f", "function": {"name": "f", "arguments": "{}"}}
    thought = [delta(reasoning_content="A lamp, "), delta(reasoning_content="then.")]
    llm_server.plan(
        chunks(*thought, delta(tool_calls=[call]), ending=True, finish_reason="tool_calls"), text("On."), text("On.")
    )
    client = make_client(preset="deepseek", model="deepseek-chat")
    await ask(client, ChatRequest(messages=CALLED[:1], tools=TOOLS))
    await ask(client, AFTER)
    assert llm_server.request.body["messages"][1]["reasoning_content"] == "A lamp, then."
    assert "reasoning_content" not in llm_server.request.body["messages"][0]
    await ask(make_client(preset="deepseek"), AFTER)
    assert llm_server.request.body["messages"][1]["reasoning_content"] == ""


async def test_mistral_gets_an_order_and_ids_that_it_takes(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("On."), text("On."))
    await ask(make_client(preset="mistral", **EVERYTHING), AFTER)
    body = llm_server.request.body
    assert [message["role"] for message in body["messages"]] == [
        "user", "assistant", "tool", "tool", "assistant", "user",
    ]  # fmt: skip
    ids = [call["id"] for call in body["messages"][1]["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in body["messages"][2:4]]
    assert len(set(ids)) == 2
    assert all(len(one) == 9 and one.isalnum() for one in ids)
    assert not {"stream_options", "keep_alive", "max_completion_tokens"} & set(body)
    own = [{**CALLED[1]["tool_calls"][0], "id": "dnEN4JsJy"}]
    result = {"role": "tool", "tool_call_id": "dnEN4JsJy", "content": "{}"}
    await ask(
        make_client(preset="mistral"), ChatRequest(messages=[CALLED[0], {**CALLED[1], "tool_calls": own}, result])
    )
    assert llm_server.request.body["messages"][1]["tool_calls"][0]["id"] == "dnEN4JsJy"


@pytest.mark.parametrize("preset", ["openai", "groq", "anthropic", "ollama", "custom"])
async def test_others_get_messages_as_they_are(llm_server: LLMServer, make_client: MakeClient, preset: str) -> None:
    llm_server.plan(text("On."))
    await ask(make_client(preset=preset), AFTER)
    assert llm_server.request.body["messages"] == AFTER.messages


@pytest.mark.parametrize(
    ("preset", "in_words"), [("anthropic", True), ("deepseek", True), ("gemini", False), ("groq", False)]
)
async def test_schema_in_words(llm_server: LLMServer, make_client: MakeClient, preset: str, in_words: bool) -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "title": "Room"}}}
    llm_server.plan(text("{}"))
    await ask(make_client(preset=preset), ChatRequest(messages=REQUEST.messages, response_format=schema))
    assert ("response_format" in llm_server.request.body) is not in_words
    assert ("Room" in str(llm_server.request.body["messages"])) is in_words


async def test_a_key_that_gemini_refuses_is_told_from_its_list(llm_server: LLMServer, make_client: MakeClient) -> None:
    body = b'[{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]'
    llm_server.plan(Reply(status=400, body=body, content_type="application/json"))
    with pytest.raises(LLMAuthError):
        await ask(make_client(preset="gemini"))


def bodies(server: LLMServer) -> list[dict[str, Any]]:
    return [request.body for request in server.requests]
