"""What is hidden on the way out of the house, and what stays as it was said."""

import threading

from homeassistant.components.conversation import (
    AssistantContent,
    Content,
    SystemContent,
    ToolResultContent,
    UserContent,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm

from custom_components.home_agent.client.messages import messages_from_content
from custom_components.home_agent.languages.personal_data import mask
from custom_components.home_agent.prompt.hiding import async_hide

PHONE = "0171 2345678"


def a_round(number: str) -> list[Content]:
    """Return what was said and done with a phone number in all of it."""
    call = llm.ToolInput(tool_name="t", tool_args={"to": [PHONE], "code": 4111111111111111}, id=number)
    return [
        UserContent(content=f"call {PHONE}"),
        AssistantContent(agent_id="a", content=f"calling {PHONE}", tool_calls=[call]),
        ToolResultContent(
            agent_id="a", tool_call_id=number, tool_name="t", result=llm.ToolResult(data={"number": PHONE, "n": 5})
        ),
        AssistantContent(agent_id="a", content="done"),
    ]


async def test_results_are_read_beside_the_event_loop(hass: HomeAssistant) -> None:
    threads: set[int] = set()

    def hide(text: str) -> str:
        threads.add(threading.get_ident())
        return mask(text)

    await async_hide(hass, (a_round("1"), {}, {}), hide, ())
    assert threads
    assert threading.get_ident() not in threads


async def test_only_what_was_said_to_this_model_stays(hass: HomeAssistant) -> None:
    before, now = a_round("1"), a_round("2")
    system = SystemContent(content=f"My number is {PHONE}.")
    parts = dict.fromkeys((1, 5), f'<house>{{"caller":"{PHONE}"}}</house>')
    notes = {4: f'<house>{{"note":"{PHONE}"}}</house>'}
    content, hidden, noted = await async_hide(hass, ([system, *before, *now], parts, notes), mask, {5})
    messages = messages_from_content(content, hidden, notes=noted)
    texts = [message["content"] for message in messages]
    house = '<house>{"caller":"[phone]"}</house>'
    assert texts == [
        f"My number is {PHONE}.", f"{house}\n\ncall [phone]", "calling [phone]", '{"number":"[phone]","n":5}', "done",
        '<house>{"note":"[phone]"}</house>', f"{house}\n\ncall {PHONE}", f"calling {PHONE}",
        '{"number":"[phone]","n":5}', "done",
    ]  # fmt: skip
    calls = [message["tool_calls"][0]["function"]["arguments"] for message in messages if "tool_calls" in message]
    assert calls == ['{"to":["[phone]"],"code":4111111111111111}', f'{{"to":["{PHONE}"],"code":4111111111111111}}']
    assert before[0].content == f"call {PHONE}"  # type: ignore[union-attr]
