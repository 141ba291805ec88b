"""Chat log content and tools as they go over the wire."""

from datetime import UTC, datetime
import gc
import json
from typing import Any, ClassVar, override

from homeassistant.components.conversation import (
    AssistantContent,
    Content,
    SystemContent,
    ToolResultContent,
    UserContent,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm, selector
import probatio
import pytest

from custom_components.home_agent.client import messages
from custom_components.home_agent.client.messages import BrokenArguments, messages_from_content, offered_tools
from custom_components.home_agent.support.encoding import dump


def assistant(text: str | None = None, *calls: llm.ToolInput, thinking: str | None = None) -> AssistantContent:
    return AssistantContent(agent_id="a", content=text, thinking_content=thinking, tool_calls=list(calls) or None)


def call(call_id: str, **arguments: Any) -> llm.ToolInput:
    return llm.ToolInput(id=call_id, tool_name="f", tool_args=arguments)


def result(call_id: str, **data: Any) -> ToolResultContent:
    return ToolResultContent(agent_id="a", tool_call_id=call_id, tool_name="f", result=llm.ToolResult(data=data))


def wire_call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": arguments}}


def test_a_conversation_becomes_messages() -> None:
    content: list[Content] = [
        SystemContent(content="You are a house."),
        UserContent(content="Schalte das Licht in der Küche an"),
        assistant("Moment.", call("1", name="Küche", on=True), thinking="They want light."),
        result("1", success=True, at=datetime(2026, 11, 21, tzinfo=UTC), names={"Küche"}),
        assistant("Ist an."),
    ]
    assert messages_from_content(content) == [
        {"role": "system", "content": "You are a house."},
        {"role": "user", "content": "Schalte das Licht in der Küche an"},
        {"role": "assistant", "content": "Moment.", "tool_calls": [wire_call("1", '{"name":"Küche","on":true}')]},
        {
            "role": "tool",
            "tool_call_id": "1",
            "content": '{"success":true,"at":"2026-11-21T00:00:00+00:00","names":["Küche"]}',
        },
        {"role": "assistant", "content": "Ist an."},
    ]


def test_the_same_content_gives_the_same_bytes() -> None:
    content: list[Content] = [UserContent(content="Hi"), assistant(None, call("1", b=1, a=2)), result("1", z=1, y=2)]
    assert dump(messages_from_content(content)) == dump(messages_from_content(list(content)))


def test_a_turn_part_stands_before_the_text_it_belongs_to() -> None:
    first, second = UserContent(content="Is it on?"), UserContent(content="Is it on?")
    sent = messages_from_content([first, second], {1: "It is 8:00."})
    assert [message["content"] for message in sent] == ["Is it on?", "It is 8:00.\n\nIs it on?"]


def test_a_note_is_a_message_of_its_own_behind_words_and_part_of_the_last_result_behind_calls() -> None:
    words, calls = assistant("Done."), assistant(None, call("1"), call("2"))
    content: list[Content] = [
        UserContent(content="on"), words, UserContent(content="off"), calls, result("1"), result("2"),
    ]  # fmt: skip
    sent = messages_from_content(content, notes={1: "Not true.", 3: "Answer now."})
    assert sent[2] == {"role": "user", "content": "Not true."}
    assert [message["content"] for message in sent[-2:]] == ["{}", "{}\nAnswer now."]


def test_files_follow_the_text() -> None:
    user = UserContent(content="What is this?")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    [message] = messages_from_content([user], {0: "Now."}, {0: [picture]})
    assert message["content"] == [{"type": "text", "text": "Now.\n\nWhat is this?"}, picture]


def test_every_call_has_exactly_one_result_in_the_order_of_the_calls() -> None:
    content: list[Content] = [
        result("0", orphan=True), assistant(None, call("1"), call("2"), call("3")), result("3", n=3),
        result("9", orphan=True), result("1", n=1), result("1", n="again"), assistant("Well."), result("2", late=True),
    ]  # fmt: skip
    sent = messages_from_content(content)
    assert [message["role"] for message in sent] == ["assistant", "tool", "tool", "tool", "assistant"]
    assert sent[0]["content"] is None
    assert [message["tool_call_id"] for message in sent[1:4]] == ["1", "2", "3"]
    first, missing, third = (json.loads(message["content"]) for message in sent[1:4])
    assert (first, third) == ({"n": 1}, {"n": 3})
    assert missing["success"] is False
    assert "interrupted" in missing["error"]


def test_ids_that_a_server_uses_again_are_matched_within_their_message() -> None:
    content: list[Content] = [
        assistant(None, call("0")), result("0", n=1), assistant(None, call("0")), result("0", n=2),
    ]  # fmt: skip
    sent = messages_from_content(content)
    assert [message["content"] for message in sent if message["role"] == "tool"] == ['{"n":1}', '{"n":2}']


def test_calls_that_a_provider_ran_itself_are_not_sent() -> None:
    search = llm.ToolInput(id="1", tool_name="web_search", tool_args={}, external=True)
    content: list[Content] = [
        assistant("Rain.", search), result("1", found=True), assistant(None, search), result("1", found=True),
    ]  # fmt: skip
    assert messages_from_content(content) == [{"role": "assistant", "content": "Rain."}]


@pytest.mark.parametrize("empty", [assistant(None), assistant(""), assistant(None, thinking="Hm."), SystemContent("")])
def test_empty_messages_are_dropped(empty: Content) -> None:
    assert messages_from_content([empty]) == []


def test_broken_arguments_are_sent_as_none() -> None:
    broken = llm.ToolInput(id="1", tool_name="f", tool_args=BrokenArguments('{"on": tru'))
    [message, _] = messages_from_content([assistant(None, broken)])
    assert message["tool_calls"] == [wire_call("1")]


class Tool(llm.Tool):
    """A tool with a selector in its schema."""

    integration = "home_agent"

    def __init__(self, name: str, description: str | None = None) -> None:
        self.name = name
        self.description = description
        self.parameters = probatio.Schema({probatio.Required("on"): bool, "color": selector.TextSelector()})

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        return llm.ToolResult(data={})


class VerbatimTool(Tool):
    """A tool that brings its JSON schema along."""

    wire_parameters: ClassVar[dict[str, Any]] = {"type": "object", "properties": {"x": {"type": "integer"}}}


def test_tools_are_sorted_by_name_and_have_a_schema() -> None:
    tools = offered_tools([Tool("b"), VerbatimTool("c"), Tool("a", "Does a.")]).specs
    assert [tool["function"]["name"] for tool in tools] == ["a", "b", "c"]
    assert tools[0] == {
        "type": "function",
        "function": {
            "name": "a",
            "description": "Does a.",
            "parameters": {
                "type": "object", "properties": {"on": {"type": "boolean"}, "color": {"type": "string"}},
                "required": ["on"], "additionalProperties": False,
            },
        },
    }  # fmt: skip
    assert "description" not in tools[1]["function"]
    assert tools[2]["function"]["parameters"] == VerbatimTool.wire_parameters


def test_a_schema_is_made_once_per_tool_and_forgotten_with_it() -> None:
    tool, other = Tool("a"), Tool("a")
    asked: list[object] = []

    def serializer(value: Any) -> Any:
        asked.append(value)
        return llm.selector_serializer(value)

    first = offered_tools([tool], serializer).specs
    seen = len(asked)
    assert seen
    assert offered_tools([tool], serializer).specs[0] is first[0]
    assert len(asked) == seen
    offered_tools([other], serializer)
    assert len(asked) == 2 * seen
    known = len(messages._SPECS)
    del tool, other
    gc.collect()
    assert len(messages._SPECS) == known - 2
