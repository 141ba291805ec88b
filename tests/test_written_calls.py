"""Tool calls that a model writes as text: they are made if they fit, and never read aloud."""

from collections.abc import Mapping
import json
from pathlib import Path
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest

from custom_components.home_agent.support.const import DOMAIN
from tests.house import say, set_up, speech, state_of
from tests.llm_server import LLMServer, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

ROWS: list[dict[str, str]] = json.loads((Path(__file__).parent / "client" / "written_calls.json").read_text())
"""Answers of models whose server does not read calls, in the forms of their chat templates."""
LIGHT = "light.bed_light"
CALL = '{"name": "ha_control", "arguments": {"action": "turn_on", "entity_id": "light.bed_light"}}'
QUERY = '{"name": "ha_query", "arguments": {"entity_id": "light.bed_light"}}'
UNREAD = "The model tried to use a tool in a way that cannot be read"
ISSUE = (DOMAIN, "calls_unread_llm-1")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['family']}: {row['form']}")
async def test_each_form_is_a_call(hass: HomeAssistant, llm_server: LLMServer, row: Mapping[str, str]) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(row["text"]), text("The bed light is on."))
    result = await say(hass, "bed light on")
    assert state_of(hass, LIGHT) == "on"
    assert speech(result) == "The bed light is on."
    asked = llm_server.request.body["messages"]
    called, answered = asked[-2:]
    assert [call["function"]["name"] for call in called["tool_calls"]] == ["ha_control"]
    assert answered["tool_call_id"] == called["tool_calls"][0]["id"]
    assert json.loads(answered["content"])["success"] is True
    assert "ha_control" not in (called["content"] or "")


PLAIN = '"entity_id": "light.bed_light"}'
DIMMED = '"entity_id": "light.bed_light", "parameters": {"brightness_pct": 30}}'


@pytest.mark.parametrize(
    "row", [row for row in ROWS if PLAIN in row["text"]], ids=lambda row: f"{row['family']}: {row['form']}"
)
async def test_an_argument_that_is_called_parameters(
    hass: HomeAssistant, llm_server: LLMServer, row: Mapping[str, str]
) -> None:
    """Also the name of what some models put all arguments into."""
    await set_up(hass, llm_server)
    llm_server.plan(text(row["text"].replace(PLAIN, DIMMED)), text("It is dimmed."))
    await say(hass, "bed light to 30 percent")
    light = hass.states.get(LIGHT)
    assert light is not None
    assert light.attributes["brightness"] == 76


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("pieces", [1, 7, 1000])
async def test_however_it_arrives(hass: HomeAssistant, llm_server: LLMServer, pieces: int, streaming: bool) -> None:
    await set_up(hass, llm_server, profile={"streaming": streaming})
    llm_server.plan(text(f"On my way.\n<tool_call>\n{CALL}\n</tool_call>", pieces=pieces), text("Done."))
    await say(hass, "bed light on")
    assert state_of(hass, LIGHT) == "on"
    called = llm_server.request.body["messages"][-2]
    assert called["content"].strip() == "On my way."


async def test_two_calls_are_both_made(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(f"<tool_call>{CALL}</tool_call>\n<tool_call>{QUERY}</tool_call>"), text("It is on."))
    await say(hass, "bed light on, and is it?")
    results = [item for item in llm_server.request.body["messages"] if item["role"] == "tool"]
    assert [json.loads(item["content"])["success"] for item in results] == [True, True]


async def test_a_call_that_needs_a_yes_asks_for_it(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    call = {"name": "ha_control", "arguments": {"action": "turn_off", "entity_id": "lock.front_door"}}
    llm_server.plan(text(json.dumps(call)))
    result = await say(hass, "unlock the front door", context=alice)
    assert state_of(hass, "lock.front_door") == "locked"
    assert "?" in speech(result)
    await say(hass, "yes", result.conversation_id, context=alice)
    assert state_of(hass, "lock.front_door") == "unlocked"


UNUSABLE = {
    "another tool": '<tool_call>{"name": "play_music", "arguments": {"genre": "jazz"}}</tool_call>',
    "an argument is missing": '{"name": "ha_control", "arguments": {"entity_id": "light.bed_light"}}',
    "no name": '{"action": "turn_on", "entity_id": "light.bed_light"}',
    "one of two fits": f'[{CALL}, {{"name": "play_music", "arguments": {{"genre": "jazz"}}}}]',
    "broken": '<tool_call>\n{"name": "ha_control", "arguments": {"action": turn on the}\n</tool_call>',
    "code": "<|python_tag|>lights.on(bed)",
    "harmony": '<|channel|>commentary to=browser.search <|constrain|>json<|message|>{"query": "jazz"}<|call|>',
    "tags": "<tool_call>ha_control\n<arg_key>action</arg_key>\n<arg_value>turn_on</arg_value>\n</tool_call>",
}


@pytest.mark.parametrize("written", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_what_cannot_be_taken_is_not_read_aloud(hass: HomeAssistant, llm_server: LLMServer, written: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(written))
    result = await say(hass, "bed light on")
    assert speech(result).startswith(UNREAD)
    assert state_of(hass, LIGHT) == "off"
    assert ir.async_get(hass).async_get_issue(*ISSUE) is not None
    llm_server.plan(text(CALL), text("It is on."))
    await say(hass, "bed light on")
    assert ir.async_get(hass).async_get_issue(*ISSUE) is None


async def test_it_is_said_in_the_language_of_the_person(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("Gerne.\n" + UNUSABLE["no name"]))
    answer = speech(await say(hass, "Bettlicht an", language="de"))
    assert [line[:22] for line in answer.split("\n") if line] == ["Gerne.", "Das Modell wollte ein "]
    assert "{" not in answer


TOLD = {
    "in a sentence": f"You could call `{CALL}` for that.",
    "in running text": f"It makes me emit <|tool_call|>[{CALL}] behind the scenes.",
    "between paragraphs": f"Models write:\n\n```json\n{CALL}\n```\n\nThe program around them reads it.",
    "a quotation": f"The note says:\n\n> {CALL}",
    "the subject of a sentence": f"{CALL} would turn the light on.",
    "another language": "```yaml\naction: light.turn_on\n```",
    "marks and an explanation": f"Hermes models write:\n<tool_call>{CALL}</tool_call>\nand wait for the result.",
}


@pytest.mark.parametrize("answer", TOLD.values(), ids=TOLD.keys())
async def test_an_explanation_is_no_call(hass: HomeAssistant, llm_server: LLMServer, answer: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(answer))
    assert speech(await say(hass, "how do you do that?")) == answer
    assert state_of(hass, LIGHT) == "off"


MARKED = f"<tool_call>{CALL}</tool_call>"
FENCED = f"```json\n{CALL}\n```"
SHOWN = {
    "without doing it": f"Here is how it would look, without doing it:\n\n{MARKED}",
    "an example": f"Sure. For example:\n{FENCED}",
    "the form": f"The format is this:\n{CALL}",
    "a template": f"A template for such a request:\n\nAction: {FENCED}",
    "a condition": f"If you say go, I do this:\n{MARKED}",
    "an offer": f"{MARKED}\n\nShall I do that?",
    "not done": f"I have not executed this one:\n{MARKED}",
    "cancelled": f"Cancelled, nothing was sent.\n{MARKED}",
    "in the past": f"Yesterday I sent this:\n{MARKED}",
    "of an automation": f"At seven the automation will do the following.\n{MARKED}",
    "said behind it": f"{MARKED}\nThat is only an example.",
    "not said to be done, behind it": f"{MARKED}\n\nI did not run it.",
    "a comment in the fence": f"```xml\n<!-- from the manual -->\n{MARKED}\n```",
    "hypothetical": f"Hypothetically, I would write:\n{MARKED}",
    "German, how it would look": f"So würde das aussehen:\n{MARKED}",
    "German, an example": f"Zum Beispiel so:\n{FENCED}",
    "German, not done": f"Ausgeführt habe ich das nicht gemacht, nur gezeigt:\n{MARKED}",
    "German, an offer": f"{MARKED}\nSoll ich das machen?",
    "French, how it would look": f"Cela ressemblerait à ceci :\n{MARKED}",
    "French, not done": f"{MARKED}\nJe n'ai rien exécuté.",
    "Spanish, how it would look": f"Así se vería, sin hacerlo:\n{MARKED}",
    "Spanish, an offer": f"{MARKED}\n¿Quieres que lo haga?",
    "Italian, an example": f"Ecco un esempio:\n{FENCED}",
    "Italian, not done": f"{MARKED}\nNon l'ho eseguito.",
    "Dutch, how it would look": f"Zo zou dat eruitzien:\n{MARKED}",
    "Dutch, not done": f"{MARKED}\nIk heb dit niet uitgevoerd.",
    "Polish, how it would look": f"Tak by to wyglądało:\n{MARKED}",
    "Polish, an example": f"Na przykład:\n{FENCED}",
}


@pytest.mark.parametrize("answer", SHOWN.values(), ids=SHOWN.keys())
async def test_a_call_that_is_only_shown_is_not_made(hass: HomeAssistant, llm_server: LLMServer, answer: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(answer))
    await say(hass, "and the bed light?")
    assert state_of(hass, LIGHT) == "off"
    assert len(llm_server.requests) == 1


@pytest.mark.parametrize(
    "said",
    [
        "how would you turn on the bed light?",
        "show me the call for the bed light, without doing it",
        "what do you send when I want light? just show it, don't do it",
        "explain how you turn on a light",
        "wie würdest du das Bettlicht einschalten?",
        "zeig mir, wie du das Bettlicht einschaltest, aber mach es nicht",
        "comment ferais-tu pour allumer ?",
        "muéstrame la llamada sin ejecutarla",
        "come faresti ad accendere la luce?",
        "hoe zou je het bedlampje aandoen?",
        "jak byś włączył lampkę?",
    ],
)
async def test_who_wants_to_see_a_call_sees_it(hass: HomeAssistant, llm_server: LLMServer, said: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(f"Sure.\n{MARKED}"))
    await say(hass, said)
    assert state_of(hass, LIGHT) == "off"
    assert len(llm_server.requests) == 1


INTRODUCED = [
    "Sure, I'll turn it on.",
    "I will turn on the bed light now.",
    "Let me do that for you:",
    "Turning it on.",
    "I don't see it in the list, so I use its id.",
    "That did not work. Let me try again.",
    "Here is the function call:",
    "To turn on the bed light I use ha_control:",
    "I'd be happy to turn it on!",
    "No problem. One moment...",
    "Let me check if it is on and turn it on.",
    "Ich schalte das Bettlicht ein.",
    "Einen Moment, bitte:",
    "Kein Problem, das mache ich.",
    "Das ist nicht an, ich schalte es ein.",
    "J'allume la lampe du lit.",
    "Un instant, je m'en occupe :",
    "Enciendo la luz ahora mismo.",
    "Claro, ahora mismo.",
    "Accendo subito la luce.",
    "Ik doe het lampje aan.",
    "Nu zal ik het lampje aandoen.",
    "Już włączam lampkę.",
]


@pytest.mark.parametrize("introduction", INTRODUCED)
async def test_a_call_behind_what_the_model_says_it_does_is_made(
    hass: HomeAssistant, llm_server: LLMServer, introduction: str
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(f"{introduction}\n{MARKED}"), text("It is on."))
    await say(hass, "bed light on")
    assert state_of(hass, LIGHT) == "on"


async def test_a_call_in_thinking_that_never_ends_is_not_made(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(f"<think>\n{MARKED}"))
    assert "{" not in speech(await say(hass, "bed light on"))
    assert state_of(hass, LIGHT) == "off"


async def test_a_call_with_an_empty_argument_is_not_made(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(MARKED.replace(LIGHT, "")))
    assert speech(await say(hass, "bed light on")).startswith(UNREAD)


async def test_what_a_query_looks_for_may_be_called_an_area(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_query", {"name": "Bed Light"}), text("It is off."))
    await say(hass, "is the bed light on?")
    result = json.loads(llm_server.request.body["messages"][-1]["content"].partition("\n")[0])
    assert result["result"]["entity_id"] == LIGHT


@pytest.mark.parametrize("said", ["show me the JSON of such a call", "what do you write? {...}"])
async def test_who_asks_for_json_gets_json(hass: HomeAssistant, llm_server: LLMServer, said: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(CALL))
    assert speech(await say(hass, said)) == CALL
    assert state_of(hass, LIGHT) == "off"


async def test_a_call_beside_one_that_the_server_has_read_is_left_out(
    hass: HomeAssistant, llm_server: LLMServer
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(
        tool_call("ha_query", {"entity_id": LIGHT}, content=f"<tool_call>{CALL}</tool_call>"), text("It is off.")
    )
    assert speech(await say(hass, "is it on?")) == "It is off."
    assert state_of(hass, LIGHT) == "off"


async def test_a_last_request_without_tools_makes_none(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"max_calls_per_turn": 1})
    llm_server.plan(tool_call("ha_query", {"entity_id": LIGHT}), text(CALL))
    answer = speech(await say(hass, "bed light on"))
    assert "{" not in answer
    assert state_of(hass, LIGHT) == "off"


async def test_a_call_that_breaks_off_is_neither_made_nor_said(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(CALL[:-2], finish_reason="length"))
    assert speech(await say(hass, "bed light on")).startswith(UNREAD)
    assert state_of(hass, LIGHT) == "off"


async def test_the_same_prompt_as_ever(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """A call that was written stands in the next request as one that the server has read would."""
    await set_up(hass, llm_server)
    sent: list[list[dict[str, Any]]] = []
    for answer in (text(CALL), tool_call("ha_control", {"action": "turn_on", "entity_id": LIGHT})):
        llm_server.plan(answer, text("It is on."))
        await say(hass, "bed light on")
        sent.append([{**item} for item in llm_server.request.body["messages"][-2:]])
        await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
    for written, read in zip(*sent, strict=True):
        assert written.keys() == read.keys()
    assert sent[0][0]["tool_calls"][0]["function"] == sent[1][0]["tool_calls"][0]["function"]
