"""The scripted endpoint itself: the rest of the tests stand on it."""

import json

import aiohttp
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.core import HomeAssistant
import pytest

from tests.llm_server import LLMServer, error, html, scripted, text, tool_call

BODY = {"model": "m", "messages": [{"role": "user", "content": "Turn it on"}]}


async def test_a_reply_is_a_stream_or_one_answer_as_asked(llm_server: LLMServer) -> None:
    llm_server.plan(text("It is on.", pieces=2), text("It is on."))
    async with aiohttp.ClientSession() as session:
        url = f"{llm_server.base_url}/chat/completions"
        async with session.post(url, json=BODY | {"stream": True}) as response:
            lines = [line for line in (await response.text()).split("\n\n") if line]
        async with session.post(url, json=BODY) as response:
            answer = await response.json()
    assert [json.loads(line[6:])["choices"][0]["delta"] for line in lines[:2]] == [
        {"content": "It is"},
        {"content": " on."},
    ]
    assert lines[-1] == "data: [DONE]"
    assert answer["choices"][0]["message"]["content"] == "It is on."
    assert llm_server.request.last_user == "Turn it on"


async def test_an_unplanned_request_fails_the_test(socket_enabled: None) -> None:
    server = LLMServer()
    await server.start()
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.base_url}/chat/completions", json=BODY) as response,
    ):
        assert response.status == 500
    await server.stop()
    with pytest.raises(AssertionError, match="unplanned request"):
        server.assert_done()


def test_an_unused_reply_fails_the_test() -> None:
    server = LLMServer()
    server.plan(html(), error(500, "no"))
    with pytest.raises(AssertionError, match="2 planned replies"):
        server.assert_done()


def test_a_script_answers_by_rule() -> None:
    respond = scripted([{"when": "turn", "tool": "ha_control", "arguments": {"action": "turn_on"}, "text": "On."}])
    asked = respond(BODY)
    answered = respond({"messages": [*BODY["messages"], {"role": "tool", "content": "{}"}]})
    assert asked.message == tool_call("ha_control", {"action": "turn_on"}).message
    assert answered.message == text("On.").message


async def test_hass_knows_about_exposure(hass: HomeAssistant) -> None:
    assert not async_should_expose(hass, "conversation", "lock.door")
