"""What was said before the session: as messages, or in the owner's prompt, never both."""

from homeassistant.components.conversation import AssistantContent, Content, ToolResultContent, UserContent
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.transcript.conversations import (
    MAX_ANSWERS,
    MAX_ARGUMENTS,
    Role,
    StoredMessage,
    kept_messages,
)
from custom_components.home_agent.transcript.transcript import History


def past(*texts: str) -> History:
    """Return a past of alternating messages."""
    now = dt_util.utcnow()
    roles = (Role.USER, Role.ASSISTANT) * len(texts)
    said = [StoredMessage(id="1", role=role, text=text, at=now) for role, text in zip(roles, texts, strict=False)]
    return History(conversation_id="c", messages=tuple(said))


def restored(one: History, limit: int = 10, budget: int = 1000) -> list[str | None]:
    """Return the words of what goes before the chat log; a word is a token."""
    rounds = one.restore(None, limit, budget, lambda text: len(text.split()), ())
    content = [item for each in rounds for item in (each.question, *each.answers)]
    return [item.content for item in content if isinstance(item, (UserContent, AssistantContent))]


def test_told_in_the_prompt_it_is_not_sent_as_messages() -> None:
    one = past("hello", "hi")
    assert [message.text for message in one.tell()] == ["hello", "hi"]
    assert restored(one) == []
    assert [message.text for message in one.tell()] == ["hello", "hi"]  # the prompt is made anew after a change


def test_sent_as_messages_it_is_not_told_in_the_prompt() -> None:
    one = past("hello", "hi")
    assert restored(one) == ["hello", "hi"]
    assert one.tell() == ()
    assert restored(one) == ["hello", "hi"]


@pytest.mark.parametrize(
    ("limit", "budget", "expected"), [(10, 100, 4), (3, 100, 2), (2, 100, 2), (1, 100, 0), (10, 4, 2), (10, 1, 0)]
)
def test_whole_rounds_within_the_limits(limit: int, budget: int, expected: int) -> None:
    one = past("one two", "three four", "five", "six seven")
    assert len(restored(one, limit, budget)) == expected


def called(arguments: dict[str, object], *, external: bool = False) -> list[Content]:
    """Return a round with one call in it."""
    call = llm.ToolInput(tool_name="t", tool_args=arguments, id="1", external=external)
    return [
        UserContent(content="do it"),
        AssistantContent(agent_id="a", tool_calls=[call]),
        ToolResultContent(agent_id="a", tool_call_id="1", tool_name="t", result=llm.ToolResult(data={"secret": 1})),
        AssistantContent(agent_id="a", content="Done."),
    ]


@pytest.mark.parametrize(("arguments", "kept"), [
    ({"entity_id": "light.a"}, True), ({"number": 2**80}, True), ({"code": "1234"}, False),
    ({"parameters": [{"api_key": "x"}]}, False), ({"text": "x" * MAX_ARGUMENTS}, False), ({"text": "\ud83d"}, False),
], ids=["plain", "large number", "code", "key inside", "long", "half a character"])  # fmt: skip
def test_calls_that_are_kept(arguments: dict[str, object], kept: bool) -> None:
    messages = kept_messages(called(arguments))
    assert bool([call for message in messages for call in message.calls]) is kept
    assert [message.text for message in messages if message.text] == ["do it", "Done."]
    assert "secret" not in str(messages)


def test_calls_of_home_assistants_own_sentences_are_not_kept() -> None:
    assert [len(message.calls) for message in kept_messages(called({}, external=True))] == [0, 0]


def test_call_without_a_result_is_not_kept() -> None:
    question, call, _, answer = called({})
    assert [len(message.calls) for message in kept_messages([question, call, answer])] == [0, 0]


def test_round_without_an_answer_is_not_kept() -> None:
    assert kept_messages(called({})[:-1]) == []
    assert kept_messages([UserContent(content="hello")]) == []
    assert kept_messages([AssistantContent(agent_id="a", content="hello")]) == []


def test_round_with_very_many_calls_is_shortened() -> None:
    question, call, result, answer = called({})
    messages = kept_messages([question, *[call, result] * 40, answer])
    assert len(messages) == MAX_ANSWERS + 1
    assert (messages[0].text, messages[-1].text) == ("do it", "Done.")
