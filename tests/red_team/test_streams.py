"""A model's server that never comes to an end: nobody waits for ever, and nothing happens by it."""

from typing import Any

from homeassistant.core import Context, HomeAssistant
import pytest

from tests.house import say, speech
from tests.llm_server import Piece, delta, endless, text, tool_call

from .conftest import SetUp
from .world import HIDDEN_LIGHT, UNLOCK, Witness, answers, rest

LONG = "All right, all right. " * 300


def part(**function: Any) -> Piece:
    return delta(tool_calls=[{"index": 0, "function": function}])


STREAMS: dict[str, tuple[Piece, ...]] = {
    "text": (delta(content=LONG),),
    "text without a pause": (delta(content="x" * 5_000),),
    "reasoning": (delta(reasoning_content=LONG),),
    "reasoning in text": (delta(content="<think>"), delta(content=LONG)),
    "arguments": (part(name="ha_control", arguments='{"action": "'), *[part(arguments=LONG)] * 40),
    "a call that is whole, then arguments": (*tool_call("ha_control", UNLOCK).pieces, *[part(arguments=LONG)] * 40),
    "the same call": tuple(tool_call("ha_control", UNLOCK).pieces),
    "calls of hidden things": tuple(tool_call("ha_control", {"action": "turn_on", "entity_id": HIDDEN_LIGHT}).pieces),
    "calls without a name": (delta(tool_calls=[{"index": 0, "id": "x" * 1000, "function": {}}]),),
    "keep-alives": (b": still here\n\n" * 10_000,),
    "a line": (b"data: " + b"x" * 100_000,),
    "empty chunks": (b'data: {"choices": [{"delta": {}}]}\n\n' * 5_000,),
}


@pytest.mark.parametrize("spoken", [False, True], ids=["read", "spoken"])
@pytest.mark.parametrize("pieces", STREAMS.values(), ids=STREAMS.keys())
async def test_a_stream_without_an_end(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, pieces: tuple[Piece, ...], spoken: bool
) -> None:
    await start(profile={"speech": "always" if spoken else "never"})
    witness.server.respond(lambda body: text("It was a long answer."))
    witness.server.plan(endless(*pieces))
    result = await say(hass, "how are you", context=alice)
    assert 0 < len(speech(result)) < 500_000
    result = await say(hass, "and now?", result.conversation_id, context=alice)  # the house goes on
    assert speech(result) == "It was a long answer."
    assert max(len(request.raw) for request in witness.server.requests) < 200_000


@pytest.mark.parametrize("levels", [100, 500, 3000])
@pytest.mark.parametrize("tool", ["ha_control", "ask", "nothing"])
async def test_arguments_without_a_bottom(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, levels: int, tool: str
) -> None:
    await start(yaml=rest(witness))
    arguments = '{"a": "x", "b": ' + '{"x": [' * levels + "1" + "]}" * levels + "}"
    witness.server.plan(tool_call(tool, arguments), text("That didn't work."))
    result = await say(hass, "ask", context=alice)
    assert speech(result) == "That didn't work."
    assert answers(witness.server)[0]["success"] is False
