"""Results of tools that are longer than the window of a model: cut, and sent so from then on."""

from collections.abc import Sequence
import json
from typing import Any

from homeassistant.components.conversation import AssistantContent, Content, ToolResultContent, UserContent
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers.llm import ToolResult
from homeassistant.util.json import JsonObjectType
import pytest

from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.transcript.transcript import Round, fit_results
from custom_components.home_agent.transcript.turn_part import Estimate
from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, Reply, error, text, tool_call

EVERYTHING = tool_call("ha_query", {"entity_id": "light.*"})


@pytest.fixture
async def large_house(hass: HomeAssistant, house: None) -> None:
    """Show so many lamps that a list of all of them is more than a small window holds."""
    for number in range(300):
        hass.states.async_set(f"light.lamp_{number}", "on", {"friendly_name": f"Lamp on the shelf {number}"})
        async_expose_entity(hass, ASSISTANT, f"light.lamp_{number}", True)


def result(text: str, number: int = 0) -> ToolResultContent:
    data: JsonObjectType = {"success": True, "result": text}
    return ToolResultContent(agent_id="", tool_call_id=str(number), tool_name="x", result=ToolResult(data=data))


def a_round(*answers: Content) -> Round:
    question = UserContent(content="?")
    return Round(question=question, at=question.created, answers=list(answers))


def fitting(one: Round, room: int, estimate: Estimate, *, shorter: bool = False) -> Sequence[Content]:
    """Return the answers of a round as they are sent."""
    fit_results([one], room, estimate, shorter=shorter)
    return one.sent_answers


@pytest.mark.usefixtures("large_house")
@pytest.mark.parametrize("calls", [1, 2, 3])
@pytest.mark.parametrize("message", ["maximum context length is 3600 tokens", "the prompt is too long"])
async def test_a_small_window_answers(hass: HomeAssistant, llm_server: LLMServer, calls: int, message: str) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        if len(json.dumps(body, ensure_ascii=False)) / 3.3 > 3600 - 256:
            return error(400, message)
        results = sum(item["role"] == "tool" for item in body["messages"])
        return EVERYTHING if results < calls else text("There are 300.")

    await set_up(hass, llm_server, llm={"context_window": 4096})
    llm_server.respond(answer)
    assert speech(await say(hass, "List all lamps")) == "There are 300."


@pytest.mark.usefixtures("large_house")
async def test_what_was_cut_stays_as_it_was_sent(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"history_max_tokens": 8000}, llm={"context_window": 4096})
    llm_server.plan(EVERYTHING, EVERYTHING, text("There are 300."))
    await say(hass, "List all lamps")
    first, second, third = (request.body["messages"] for request in llm_server.requests)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    sent = json.loads(third[-1]["content"])
    assert sent["success"] is True
    assert sent["cut"]
    assert len(json.dumps(third)) / 3 < 4096 - 512


def test_short_ones_stay_whole_and_leave_their_room() -> None:
    call = AssistantContent(agent_id="", content=None)
    content: list[Content] = [call, result("short", 1), result("long " * 1000, 2)]
    sent = fitting(a_round(*content), 1000, lambda text: len(text) // 4)
    assert sent[:2] == content[:2]
    assert 3500 < len(str(sent[2].result.data)) < 4200  # type: ignore[union-attr]


def test_what_fits_is_sent_as_it_is() -> None:
    content = result("word " * 100)
    assert fitting(a_round(content), 1000, len) == [content]


def test_each_time_it_is_still_too_long_half_is_left() -> None:
    one = a_round(result("word " * 1000))
    sizes = [len(str(fitting(one, 10_000, len, shorter=number > 0)[0])) for number in range(4)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[3] < sizes[0] / 3
