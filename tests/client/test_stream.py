"""Deltas out of chunks."""

from typing import Any

import pytest

from custom_components.home_agent.client.error_map import ErrorMap
from custom_components.home_agent.client.messages import ModelReply
from custom_components.home_agent.client.stream import DeltaStream
from custom_components.home_agent.support.errors import LLMError, LLMRateLimitError, LLMResponseError
from custom_components.home_agent.turn.turn import Usage
from tests.llm_server import delta

ERRORS = ErrorMap("Model")


def run(
    *chunks: dict[str, Any], complete: bool = True, begins_inside_thinking: bool = False
) -> tuple[list[dict[str, Any]], ModelReply]:
    reply = ModelReply()
    stream = DeltaStream(reply, ERRORS, begins_inside_thinking=begins_inside_thinking)
    deltas = [item for chunk in chunks for item in stream.feed(chunk)] + stream.finish(complete=complete)
    return [dict(item) for item in deltas], reply


def said(deltas: list[dict[str, Any]], key: str = "content") -> str:
    return "".join(item.get(key, "") for item in deltas)


def test_the_role_comes_first_and_once() -> None:
    deltas, _ = run(delta(role="assistant", content=""), delta(content="It is"), delta(content=" on."))
    assert deltas == [{"role": "assistant"}, {"content": "It is"}, {"content": " on."}]


def test_tool_calls_come_last_and_whole() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"on"'}}
    stream = DeltaStream(ModelReply(), ERRORS)
    assert stream.feed(delta(tool_calls=[call])) == []
    assert stream.feed(delta(tool_calls=[{"index": 0, "function": {"arguments": ":true}"}}])) == []
    assert stream.feed(delta(finish_reason="tool_calls", content="Wait")) == [
        {"role": "assistant"},
        {"content": "Wait"},
    ]
    [last] = stream.finish()
    [tool_input] = last["tool_calls"] or []
    assert (tool_input.id, tool_input.tool_name, tool_input.tool_args) == ("a", "f", {"on": True})


@pytest.mark.parametrize("chunk", [
    {"choices": []}, {"choices": None}, {}, {"choices": [None]}, {"choices": [{"index": 0, "delta": None}]},
    {"choices": [{"index": 0}]}, delta(tool_calls=None, content=None, reasoning_content=None, refusal=None),
    delta(content=5, reasoning=7), delta(content=[None, {"type": "image"}]),
])  # fmt: skip
def test_chunks_with_nothing_in_them_are_passed_over(chunk: dict[str, Any]) -> None:
    deltas, _ = run(chunk, delta(content="On."), chunk)
    assert said(deltas) == "On."


@pytest.mark.parametrize("chunks", [
    [delta(reasoning_content="Hm."), delta(content="On.")],
    [delta(reasoning="Hm."), delta(content="On.")],
    [delta(reasoning="Hm.", reasoning_content="Hm."), delta(content="On.")],
    [delta(content="<thi"), delta(content="nk>Hm.</th"), delta(content="ink>"), delta(content="On.")],
    [delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]), delta(content="On.")],
    [delta(content=[{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "On."}])],
    [{"choices": [{"message": {"reasoning_content": "Hm.", "content": "On."}, "finish_reason": "stop"}]}],
], ids=["reasoning_content", "reasoning", "both", "tags", "parts", "parts as text", "one piece"])  # fmt: skip
def test_thinking_is_kept_apart(chunks: list[dict[str, Any]]) -> None:
    deltas, _ = run(*chunks)
    assert said(deltas, "thinking_content") == "Hm."
    assert said(deltas) == "On."


def test_an_answer_in_parts_is_text() -> None:
    deltas, _ = run(delta(content=["It ", {"type": "text", "text": "is on."}]))
    assert said(deltas) == "It is on."


def test_thinking_that_is_never_closed_does_not_swallow_the_answer() -> None:
    deltas, _ = run(delta(content="<think>They ask about"), delta(content=" the light.\n\nIt is on."))
    assert said(deltas) == "It is on."
    deltas, _ = run(delta(content="<think>They ask"), delta(finish_reason="length"))
    assert said(deltas) == ""
    deltas, _ = run(delta(content="<think>They ask"), complete=False)
    assert said(deltas) == ""


def test_thinking_that_is_never_closed_is_not_said_beside_a_tool_call() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    deltas, _ = run(delta(content="<think>They ask"), delta(tool_calls=[call]))
    assert said(deltas) == ""
    assert deltas[-1]["tool_calls"][0].tool_name == "f"


def test_a_model_known_to_begin_inside_thinking_says_only_its_answer() -> None:
    chunks = [delta(content="Hm."), delta(content="</think>"), delta(content="On.")]
    deltas, _ = run(*chunks, begins_inside_thinking=True)
    assert (said(deltas, "thinking_content"), said(deltas)) == ("Hm.", "On.")
    stream = DeltaStream(ModelReply(), ERRORS, begins_inside_thinking=True)
    stream.feed(delta(reasoning_content="Hm."))
    assert stream.feed(delta(content="On.")) == [{"content": "On."}]


@pytest.mark.parametrize(("usage", "expected"), [
    ({"prompt_tokens": 9, "completion_tokens": 3}, Usage(9, 3, 0)),
    ({"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}, Usage(9, 3, 8, 9)),
    ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}, Usage(9, 0, 0, 9)),
    ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": None}}, Usage(9, 0, 0)),
    ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 12}}, Usage(9, 0, 9, 9)),
    ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 1e300}}, Usage(9, 0, 0)),
    ({"prompt_tokens": 9, "prompt_tokens_details": {}, "prompt_cache_hit_tokens": 5}, Usage(9, 0, 5, 9)),
    ({"prompt_tokens": 9, "cache_read_input_tokens": 6}, Usage(9, 0, 6, 9)),
    ({"prompt_tokens": 9, "completion_tokens": None, "prompt_tokens_details": None}, Usage(9, 0, 0)),
    ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, Usage(9, 0, 4, 9)),
    ({"prompt_tokens": 0}, None),
    (None, None),
    ("x", None),
])  # fmt: skip
def test_usage_is_read_from_chunks_with_and_without_choices(usage: object, expected: Usage | None) -> None:
    for chunk in ({"choices": [], "usage": usage}, delta(content="On.") | {"usage": usage}):
        _, reply = run(delta(content="On."), chunk)
        assert reply.usage == expected


USAGE = {"prompt_tokens": 91, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 90}}
TIMINGS = {"cache_n": 90, "prompt_n": 1, "prompt_ms": 74.087, "predicted_n": 5, "predicted_ms": 308.027}


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([{"choices": [], "usage": USAGE, "timings": TIMINGS}], Usage(91, 5, 90, 91, 74)),
        ([{"choices": [], "timings": TIMINGS}], Usage(91, 5, 90, 91, 74)),
        ([{"choices": [], "timings": TIMINGS}, {"choices": [], "usage": USAGE}], Usage(91, 5, 90, 91, 74)),
        ([{"choices": [], "usage": USAGE}, {"choices": [], "timings": TIMINGS}], Usage(91, 5, 90, 91, 74)),
        (
            [{"choices": [], "usage": {"prompt_tokens": 91}, "timings": {"prompt_n": 11, "prompt_ms": 3}}],
            Usage(91, 0, 80, 91, 3),
        ),
        ([{"choices": [], "usage": {"prompt_tokens": 9}, "timings": {"prompt_n": 40}}], Usage(9, 0, 0, 9)),
        (
            [{"choices": [], "usage": USAGE, "timings": {"prompt_ms": -1, "cache_n": "x", "prompt_n": None}}],
            Usage(91, 5, 90, 91),
        ),
        ([{"choices": [], "usage": USAGE, "timings": {"prompt_ms": float("inf")}}], Usage(91, 5, 90, 91)),
        ([{"choices": [], "usage": USAGE, "timings": {"prompt_ms": float("nan")}}], Usage(91, 5, 90, 91)),
        ([{"choices": [], "timings": {"prompt_ms": 3}}], None),
        ([{"choices": [], "timings": [1]}], None),
    ],
    ids=[
        "both at once", "timings alone", "timings first", "usage first", "an older llama.cpp", "more read than sent",
        "no numbers", "endless", "none at all", "a time alone", "a list",
    ],
)  # fmt: skip
def test_timings_of_llama_cpp_are_read(ends: list[dict[str, Any]], expected: Usage | None) -> None:
    _, reply = run(delta(content="On."), delta(finish_reason="stop"), *ends)
    assert reply.usage == expected


def test_usage_adds_up_to_a_share_of_what_was_told() -> None:
    total = Usage()
    for one in (Usage(100, 5), Usage(100, 5, 90, 100, 20), Usage(300, 5, 10, 300, 60)):
        total += one
    assert total == Usage(500, 15, 100, 400, 80, 25)


def test_the_finish_reason_is_kept() -> None:
    deltas, reply = run(delta(content="On.", finish_reason="length"), delta())
    assert reply.finish_reason == "length"
    assert said(deltas) == "On."


@pytest.mark.parametrize(("chunk", "error"), [
    ({"error": {"message": "slow down", "code": 429}}, LLMRateLimitError),
    ({"error": {"message": "boom", "code": "500"}}, LLMError),
    ({"error": "no good"}, LLMResponseError),
    ({"object": "error", "message": "slow down", "code": 429}, LLMRateLimitError),
])  # fmt: skip
def test_an_error_in_the_stream_is_raised(chunk: dict[str, Any], error: type[LLMError]) -> None:
    with pytest.raises(LLMError) as caught:
        run(delta(content="On."), chunk)
    assert type(caught.value) is error


def test_a_refusal_is_said() -> None:
    deltas, _ = run(delta(refusal="I'd rather not."))
    assert said(deltas) == "I'd rather not."


@pytest.mark.parametrize(
    ("chunks", "detail"),
    [([delta(finish_reason="content_filter")], "content_filter"), ([], "no choices"), ([{"x": 1}], "no choices")],
)
def test_an_answer_that_is_none_is_an_error(chunks: list[dict[str, Any]], detail: str) -> None:
    with pytest.raises(LLMResponseError) as caught:
        run(*chunks)
    assert caught.value.translation_placeholders == {"endpoint": "Model", "detail": detail}


def test_an_empty_answer_is_no_error() -> None:
    assert run(delta(content=""), delta(finish_reason="stop"))[0] == []


def test_a_broken_stream_gives_what_was_held_back() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"on":'}}
    deltas, _ = run(delta(content="On <"), delta(tool_calls=[call]), complete=False)
    assert deltas == [{"role": "assistant"}, {"content": "On "}, {"content": "<"}]
    assert run(complete=False)[0] == []


def test_calls_are_whole_when_only_the_farewell_is_missing() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}
    deltas, _ = run(delta(tool_calls=[call]), delta(finish_reason="tool_calls"), complete=False)
    assert deltas[-1]["tool_calls"][0].tool_args == {}
