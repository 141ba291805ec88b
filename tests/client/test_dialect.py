"""Parameters as each endpoint takes them, and what is learned from refusals."""

from typing import Any

import pytest

from custom_components.home_agent.client.model import ChatRequest
from custom_components.home_agent.settings.endpoint import traits_for
from custom_components.home_agent.support.errors import LLMResponseError
from tests.llm_server import LLMServer, Reply, error, text, unsupported

from .conftest import REQUEST, TOOLS, MakeClient, ask, said

EVERYTHING = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 300, "keep_alive": "5m"}
RICH = ChatRequest(messages=REQUEST.messages, tools=TOOLS, response_format={"type": "json_object"}, cache_key="agent")


def pydantic_refusal(name: str) -> Reply:
    """Return the refusal of a strict server written with FastAPI."""
    detail = [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]
    return Reply(status=422, body=str(detail).replace("'", '"').encode(), content_type="application/json")


@pytest.mark.parametrize(
    ("refusal", "gone"),
    [
        (unsupported("temperature"), "temperature"),
        (
            error(
                400,
                "Unsupported value: 'temperature' does not support 0.5. Only the default (1) is.",
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
    ],
)
async def test_a_refused_parameter_is_left_out_from_then_on(
    llm_server: LLMServer, make_client: MakeClient, refusal: Reply, gone: str
) -> None:
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


async def test_several_parameters_may_be_refused_one_after_the_other(
    llm_server: LLMServer, make_client: MakeClient
) -> None:
    llm_server.plan(unsupported("temperature"), unsupported("top_p"), unsupported("max_tokens"), text("On."))
    assert said(await ask(make_client(**EVERYTHING))) == "On."


@pytest.mark.parametrize(
    "refusal",
    [error(400, "top_p and temperature look fine"), error(400, "messages: invalid"), error(400, "unsupported")],
)
async def test_a_refusal_that_names_no_parameter_is_final(
    llm_server: LLMServer, make_client: MakeClient, refusal: Reply
) -> None:
    llm_server.plan(refusal)
    with pytest.raises(LLMResponseError):
        await ask(make_client(**EVERYTHING))


async def test_tools_stay_in_the_request_where_tool_choice_none_is_known(
    llm_server: LLMServer, make_client: MakeClient
) -> None:
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
async def test_keep_alive_is_sent_as_ollama_takes_it(
    llm_server: LLMServer, make_client: MakeClient, stored: str | None, sent: Any
) -> None:
    llm_server.plan(text("On."), text("On."))
    await ask(make_client(preset="ollama", keep_alive=stored))
    assert llm_server.request.body.get("keep_alive") == sent
    await ask(make_client(preset="openai", keep_alive=stored))
    assert "keep_alive" not in llm_server.request.body


@pytest.mark.parametrize(
    ("preset", "name"), [("openai", "prompt_cache_key"), ("azure", "user"), ("openrouter", "user"), ("custom", None)]
)
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


@pytest.mark.parametrize(
    ("preset", "model", "reasoning"),
    [
        ("openai", "gpt-4o", False),
        ("openai", "o3-mini", True),
        ("openai", "gpt-5-nano", True),
        ("openai", "gpt-5-chat-latest", False),
        ("openrouter", "openai/o4-mini", True),
        ("openrouter", "deepseek/deepseek-r1", False),
        ("ollama", "gpt-5", False),
    ],
)
def test_reasoning_models_are_known(preset: str, model: str, reasoning: bool) -> None:
    traits = traits_for(preset, model)
    assert traits.max_tokens == ("max_completion_tokens" if reasoning else "max_tokens")
    assert traits.sampling is not reasoning


@pytest.mark.parametrize(
    ("model", "inside"), [("deepseek-r1:8b", True), ("qwq", True), ("qwen3-30b-thinking", True), ("qwen3:8b", False)]
)
def test_models_that_begin_inside_thinking_are_known(model: str, inside: bool) -> None:
    assert traits_for("ollama", model).begins_inside_thinking is inside


def bodies(server: LLMServer) -> list[dict[str, Any]]:
    return [request.body for request in server.requests]
