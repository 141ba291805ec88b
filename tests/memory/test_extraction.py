"""After an answer a model is asked what to remember: who is asked, when, with what, and what becomes of its answer."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
import json
import logging
from typing import Any

from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import Context, Event, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_capture_events

from custom_components.home_agent.agent.runtime import RuntimeData
from custom_components.home_agent.memory import extraction
from custom_components.home_agent.memory.extraction import Extractor
from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.kept import kept_of
from custom_components.home_agent.turn import events
from tests.house import part_of, say, set_up, speech, subentry
from tests.llm_server import LLMServer, Reply, server_error, silence, text, tool_call

from .conftest import extracted, said

pytestmark = pytest.mark.usefixtures("demo_house")

ON = {"memory": {"extraction": True}}
SAID = "Grandma only drinks peppermint tea, by the way"
TEA = {"type": "preference", "content": "Grandma only drinks peppermint tea", "importance": 0.8}
EIGHT: Sequence[Mapping[str, Any]] = (
    TEA,
    {"type": "fact", "content": "The kitchen lights are on", "importance": 0.8},
    {"type": "event", "content": "Grandma's birthday is on May 4", "importance": 0.9},
    {"type": "context", "content": "The user asked about tea", "importance": 0.7},
    {"type": "fact", "content": "There is no coffee machine in the house", "importance": 0.6},
    {"type": "routine", "content": "The bins go out every Tuesday before seven", "importance": 0.6},
    {"type": "fact", "content": "Grandma has a green teapot from Bath", "importance": 0.2},
    {"type": "fact", "content": "Who will buy the tea for Sunday?", "importance": 0.6},
)
GOOD = {EIGHT[0]["content"], EIGHT[2]["content"], EIGHT[5]["content"]}


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("QUIET", 0.3), ("APART", 0.4), ("AGAIN", 0.05)):
        monkeypatch.setattr(extraction, name, seconds)


@pytest.fixture
def speaker(hass: HomeAssistant) -> Context:
    """Return who speaks."""
    user = MockUser(name="Ada", is_owner=True)
    user.add_to_hass(hass)
    return Context(user_id=user.id)


def found(*items: Mapping[str, Any]) -> Reply:
    """Return what a model says that wants these remembered."""
    return text(f"```json\n{json.dumps({'memories': list(items)})}\n```")


async def rest(hass: HomeAssistant) -> None:
    """Let nobody speak for a while, until nothing is waited for any more."""
    await hass.async_block_till_done()
    extractor: Extractor = hass.config_entries.async_loaded_entries(DOMAIN)[0].runtime_data.extractor
    async with asyncio.timeout(15):
        while extractor._waiting or (extractor._task and not extractor._task.done()):
            await asyncio.sleep(0.02)
    await hass.async_block_till_done(wait_background_tasks=True)


async def asked(server: LLMServer, count: int) -> None:
    """Wait until so many requests have arrived."""
    async with asyncio.timeout(15):
        while len(server.requests) < count:
            await asyncio.sleep(0.01)


def contents(hass: HomeAssistant) -> set[str]:
    return {memory.content for memory in kept_of(hass, Memories).of(None)}


def data_of(heard: Sequence[Event[Any]]) -> dict[str, Any]:
    """Return what the only event says."""
    assert len(heard) == 1
    return dict(heard[0].data)


async def test_of_eight_candidates_the_good_ones_are_stored_and_told_in_the_next_conversation(
    hass: HomeAssistant, llm_server: LLMServer, speaker: Context
) -> None:
    heard = async_capture_events(hass, events.MEMORY_EXTRACTED)
    await set_up(hass, llm_server, options=ON)
    llm_server.plan(text("Good to know."), found(*EIGHT), text("Peppermint."))
    first = await say(hass, SAID, context=speaker)
    await rest(hass)
    assert contents(hass) == GOOD
    kept = kept_of(hass, Memories).of(None)
    assert {(memory.source.value, memory.owner, memory.source_conversation_id) for memory in kept} == {
        ("extracted", None, first.conversation_id)
    }
    told = data_of(heard)
    assert told["success"] is True
    assert told["candidates"] == 8
    assert set(told["stored"]) == {memory.id for memory in kept}
    assert sum(told["rejected"].values()) == 5
    assert "Grandma" not in str(told)
    await say(hass, "Which tea does grandma drink?", context=speaker)
    assert TEA["content"] in part_of(llm_server.request.body["messages"][-1])["memories"]


async def test_the_request_begins_like_the_turn(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    await set_up(hass, llm_server, options=ON, llm={"preset": "llama_cpp"})
    llm_server.plan(
        tool_call("ha_control", {"action": "turn_on", "entity_id": "light.kitchen_lights"}),
        text("Noted, and it is on."),
        found(TEA),
        text("Peppermint."),
    )
    first = await say(hass, f"{SAID}. And please switch on the light in the kitchen", context=speaker)
    await rest(hass)
    await say(hass, "Which tea?", first.conversation_id, context=speaker)
    asked, extraction, again = (request.body for request in llm_server.requests[1:])
    messages = extraction["messages"]
    assert messages[: len(asked["messages"])] == asked["messages"]
    assert messages[len(asked["messages"])]["content"] == "Noted, and it is on."
    assert again["messages"][: len(messages) - 1] == messages[:-1]
    assert extraction["tools"] == asked["tools"]
    assert extraction["tool_choice"] == "none"
    assert messages[-1]["role"] == "user"
    assert "JSON" in messages[-1]["content"]


@pytest.mark.parametrize(("options", "profile"), [
    pytest.param({}, {}, id="by default"),
    pytest.param({"memory": {"extraction": False}}, {}, id="extraction is off"),
    pytest.param({"memory": {"extraction": True, "enabled": False}}, {}, id="memory is off"),
    pytest.param(ON, {"memory": "off"}, id="the agent has no memory"),
    pytest.param({"memory": {"extraction": True, "extraction_llm": "gone"}}, {}, id="the model was removed"),
    pytest.param({"memory": {"extraction": True, "extraction_llm": "external"}}, {}, id="there is no external model"),
])  # fmt: skip
async def test_where_it_is_off_nobody_is_asked(
    hass: HomeAssistant, llm_server: LLMServer, speaker: Context, options: dict[str, Any], profile: dict[str, Any]
) -> None:
    await set_up(hass, llm_server, options=options, profile=profile)
    llm_server.plan(text("Good to know."))
    await say(hass, SAID, context=speaker)
    await rest(hass)
    assert len(llm_server.requests) == 1
    assert contents(hass) == set()


@pytest.mark.parametrize(("words", "replies", "context"), [
    pytest.param(SAID, [text("Good to know.")], Context(), id="nobody knows who said it"),
    pytest.param("Turn on the kitchen light", [text("It is on.")], None, id="a command alone"),
    pytest.param(SAID, [server_error(), server_error()], None, id="an answer that failed"),
])  # fmt: skip
async def test_what_is_nothing_to_remember_from(
    hass: HomeAssistant,
    llm_server: LLMServer,
    speaker: Context,
    words: str,
    replies: Sequence[Reply],
    context: Context | None,
) -> None:
    await set_up(hass, llm_server, options=ON)
    llm_server.plan(*replies)
    await say(hass, words, context=context or speaker)
    await rest(hass)
    assert len(llm_server.requests) == len(replies)


async def test_a_confirmation_is_not_remembered(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    await set_up(hass, llm_server, options=ON)
    llm_server.plan(tool_call("ha_control", {"action": "unlock", "entity_id": "lock.front_door"}))
    first = await say(hass, "Please unlock the front door for my aunt who visits us", context=speaker)
    await rest(hass)
    await say(hass, "yes", first.conversation_id, context=speaker)
    await rest(hass)
    assert len(llm_server.requests) == 1


async def test_messages_in_a_row_go_together(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    await set_up(hass, llm_server, options=ON)
    llm_server.plan(text("Good to know."), text("Ginger."), found(TEA))
    first = await say(hass, SAID, context=speaker)
    await say(hass, "And grandpa drinks ginger tea in the morning", first.conversation_id, context=speaker)
    assert len(llm_server.requests) == 2
    await rest(hass)
    assert len(llm_server.requests) == 3
    assert "last 2 messages" in llm_server.request.last_user
    assert contents(hass) == {TEA["content"]}


async def test_extraction_waits_for_the_answers(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    await set_up(hass, llm_server, options=ON)
    llm_server.plan(text("Good to know."), replace(text("Ginger."), delay=1.5), found(TEA))
    first = await say(hass, SAID, context=speaker)
    slow = hass.async_create_task(say(hass, "What does grandpa drink?", first.conversation_id, context=speaker))
    await asked(llm_server, 2)
    await asyncio.sleep(1)
    assert len(llm_server.requests) == 2
    await slow
    await rest(hass)
    assert contents(hass) == {TEA["content"]}


async def test_a_question_comes_first(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    await set_up(hass, llm_server, options=ON)
    llm_server.plan(text("Good to know."), silence(), text("Ginger."), found(TEA))
    first = await say(hass, SAID, context=speaker)
    await asked(llm_server, 2)
    await say(hass, "And grandpa drinks ginger tea in the morning", first.conversation_id, context=speaker)
    await rest(hass)
    assert len(llm_server.requests) == 4
    assert "last 2 messages" in llm_server.request.last_user
    assert contents(hass) == {TEA["content"]}


async def test_one_at_a_time_and_apart(
    hass: HomeAssistant, llm_server: LLMServer, speaker: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "APART", 1.0)
    await set_up(hass, llm_server, options=ON)
    llm_server.plan(text("Good to know."), text("Fine."), found(TEA), found())
    await say(hass, SAID, context=speaker)
    await say(hass, "My sister lives in Bath with two cats", context=speaker)
    await rest(hass)
    arrived = [request.arrived for request in llm_server.requests]
    assert len(arrived) == 4
    assert arrived[3] - arrived[2] >= 0.9


@pytest.mark.parametrize("reply", [server_error(), text("I would rather not."), text('{"memories": [{"content": ')])
async def test_what_fails_is_told_by_an_event_alone(
    hass: HomeAssistant, llm_server: LLMServer, speaker: Context, caplog: pytest.LogCaptureFixture, reply: Reply
) -> None:
    heard = async_capture_events(hass, events.MEMORY_EXTRACTED)
    await set_up(hass, llm_server, options=ON)
    llm_server.plan(text("Good to know."))
    llm_server.respond(lambda _body: reply)
    await say(hass, SAID, context=speaker)
    caplog.clear()
    await rest(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    told = data_of(heard)
    assert told["stored"] == []
    assert told["success"] is (told["error_type"] is None)
    assert not [
        record for record in caplog.records if record.levelno >= logging.WARNING and "home_agent" in record.name
    ]


async def test_a_model_that_is_away_is_not_asked(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    entry = await set_up(hass, llm_server, options=ON)
    llm_server.plan(text("Good to know."))
    await say(hass, SAID, context=speaker)
    runtime: RuntimeData = entry.runtime_data
    runtime.endpoints["llm-1"].stats.failures_in_a_row = 1
    await rest(hass)
    await rest(hass)
    assert len(llm_server.requests) == 1


async def test_it_ends_with_the_entry(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    entry = await set_up(hass, llm_server, options=ON)
    llm_server.plan(text("Good to know."), silence())
    await say(hass, SAID, context=speaker)
    await asked(llm_server, 2)
    assert await hass.config_entries.async_unload(entry.entry_id)
    await asyncio.sleep(1)
    assert len(llm_server.requests) == 2


def other(server: LLMServer, **data: Any) -> ConfigSubentryDataWithId:
    """Return a second model."""
    known = {"preset": "custom", "base_url": server.base_url, "model": "other", "keep_ready": False}
    return subentry("llm", "Other", "llm-2", {**known, "context_window": 16384, **data})


@pytest.mark.parametrize(
    ("chosen", "profile"), [("external", {"external_llm": "llm-2"}), ("llm-2", {})], ids=["external", "chosen"]
)
async def test_another_model_gets_the_words_alone_and_no_personal_data(
    hass: HomeAssistant, llm_server: LLMServer, speaker: Context, chosen: str, profile: dict[str, Any]
) -> None:
    options = {"memory": {"extraction": True, "extraction_llm": chosen}}
    await set_up(hass, llm_server, options=options, profile=profile, more=[other(llm_server, remote=True)])
    await kept_of(hass, Memories).async_add([said("Grandma can be reached under ada@example.org about her tea")])
    phone = {"type": "fact", "content": "Grandma answers the phone [phone] in the evening", "importance": 0.9}
    llm_server.plan(text("Good to know."), found(TEA, phone))
    await say(hass, f"{SAID}, her number is +49 171 2345678", context=speaker)
    await rest(hass)
    asked = llm_server.request.body
    assert asked["model"] == "other"
    assert "tools" not in asked
    assert len(asked["messages"]) == 2
    assert "2345678" not in str(asked)
    assert "ada@example.org" not in str(asked)
    assert "[email]" in asked["messages"][0]["content"]
    assert TEA["content"] in contents(hass)
    assert phone["content"] not in contents(hass)


@pytest.mark.parametrize("chosen", ["profile", "llm-2"])
async def test_two_speakers_apart(hass: HomeAssistant, llm_server: LLMServer, speaker: Context, chosen: str) -> None:
    """Neither model request has the words of both, and each memory is that of who said it."""
    options = {"memory": {"extraction": True, "extraction_llm": chosen, "scope": "user"}}
    await set_up(hass, llm_server, options=options, more=[other(llm_server)])
    ben = Context(user_id=MockUser(name="Ben").add_to_hass(hass).id)
    diary = "Bob meets a lawyer about the house on Fridays"

    def remembers(body: dict[str, Any]) -> Reply:
        if "worth remembering" not in str(body["messages"]):
            return text("Good to know.")
        mine = diary in str(body["messages"])
        return found({"type": "fact", "content": diary, "importance": 0.9} if mine else TEA)

    llm_server.respond(remembers)
    first = await say(hass, SAID, context=speaker)
    second = await say(hass, f"You should know: {diary}", first.conversation_id, context=ben)
    if speech(second) == "Unauthorized":  # so Home Assistant 2026.11
        return
    await rest(hass)
    extractions = [request for request in llm_server.requests if b"worth remembering" in request.raw]
    assert len(extractions) == 2
    for request in extractions:
        assert (diary.encode() in request.raw) is not (SAID.encode() in request.raw)
    assert {(memory.content, memory.owner) for memory in kept_of(hass, Memories).of(None)} == {
        (TEA["content"], speaker.user_id),
        (diary, ben.user_id),
    }


async def test_what_came_from_outside_is_marked(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    await set_up(hass, llm_server, profile={"external_llm": "llm-2"}, options=ON, more=[other(llm_server)])
    llm_server.plan(
        tool_call("query_external_llm", {"prompt": "What is good tea?"}), text("Peppermint."), text("So."), found(TEA)
    )
    await say(hass, f"{SAID}, what does the other model say to that?", context=speaker)
    await rest(hass)
    kept = kept_of(hass, Memories).of(None)
    assert [memory.tainted for memory in kept] == [["query_external_llm"]]


async def test_the_model_sees_what_is_known(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    heard = async_capture_events(hass, events.MEMORY_EXTRACTED)
    await set_up(hass, llm_server, options=ON)
    memories = kept_of(hass, Memories)
    old, apart = (
        added.memory
        for added in await memories.async_add([extracted("Grandma takes coffee"), said("The roof leaks in autumn")])
    )
    assert old is not None
    assert apart is not None
    llm_server.plan(text("Good to know."), found({**TEA, "replaces": ["m1", "m7"]}))
    await say(hass, SAID, context=speaker)
    told = [memory.accesses for memory in memories.of(None)]
    await rest(hass)
    assert '{"m1":"Grandma takes coffee"}' in llm_server.request.last_user
    assert contents(hass) == {TEA["content"], "The roof leaks in autumn"}
    history = next(item for item in memories.of(None, with_history=True) if item.id == old.id)
    assert history is not None
    assert [history.accesses, 0] == told  # who is asked what to remember uses nothing
    assert data_of(heard)["replaced"] == [old.id]


async def test_known_and_overflow_are_counted(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    """In a language without words for it: the state of an entity goes, and beyond the limit the less important candidate."""
    heard = async_capture_events(hass, events.MEMORY_EXTRACTED)
    await set_up(hass, llm_server, options={"memory": {"extraction": True, "max_memories": 1}})
    await kept_of(hass, Memories).async_add([said("Mamie boit du thé à la menthe")])
    hass.states.async_set("light.kitchen_lights", "on", {"friendly_name": "Kitchen Lights"})
    shown = {"content": "Kitchen Lights est allumé", "importance": 0.9}
    kept = {"content": "Le chien dort dans le garage", "importance": 0.9}
    llm_server.plan(text("Très bien."), found(shown, kept))
    await say(hass, "Le chien dort dans le garage", language="fr", context=speaker)
    await rest(hass)
    told = data_of(heard)
    assert (told["candidates"], told["stored"]) == (2, [])
    assert told["rejected"] == {"shown_by_home": 1, "full": 1}
    assert contents(hass) == {"Mamie boit du thé à la menthe"}


async def test_a_model_naming_all_replaces_none(hass: HomeAssistant, llm_server: LLMServer, speaker: Context) -> None:
    """Small models copy the keys that they see: an allergy does not go because of a piano."""
    await set_up(hass, llm_server, options=ON)
    allergy, key = "Grandma is allergic to nuts", "Grandma has the other key of the cellar"
    await kept_of(hass, Memories).async_add([said(allergy), extracted(key)])
    piano = {"type": "fact", "content": "Grandma plays the piano on Mondays", "importance": 0.8}
    llm_server.plan(text("How nice."), found({**piano, "replaces": ["m1", "m2"]}))
    await say(hass, "Grandma plays the piano on Mondays, you know", context=speaker)
    await rest(hass)
    assert '"m2":' in llm_server.request.last_user
    assert contents(hass) == {allergy, key, piano["content"]}


async def test_of_a_user_who_was_deleted_nothing_is_kept(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """Neither what a model is being asked about nor what waits for that."""
    await set_up(hass, llm_server, options={"memory": {"extraction": True, "scope": "user"}})
    anna, ben = (MockUser(name=name).add_to_hass(hass) for name in ("Anna", "Ben"))
    llm_server.plan(text("Good to know."), replace(found(TEA), delay=0.5), text("Fine."))
    await say(hass, SAID, context=Context(user_id=anna.id))
    await asked(llm_server, 2)
    await hass.auth.async_remove_user(anna)
    await rest(hass)
    await say(hass, "My sister lives in Bath with two cats", context=Context(user_id=ben.id))
    await hass.auth.async_remove_user(ben)
    await rest(hass)
    assert len(llm_server.requests) == 3
    assert contents(hass) == set()


async def test_each_rejection_is_logged_with_its_reason(
    hass: HomeAssistant, llm_server: LLMServer, speaker: Context, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "custom_components.home_agent")
    await set_up(hass, llm_server, options=ON)
    llm_server.plan(text("Good to know."), found(*EIGHT))
    await say(hass, SAID, context=speaker)
    caplog.clear()
    await rest(hass)
    lines = [record for record in caplog.records if "Not worth remembering" in record.getMessage()]
    assert [record.levelno for record in lines] == [logging.DEBUG] * 5
    reasons = {record.getMessage().partition("(")[2].partition(")")[0] for record in lines}
    assert reasons == {"transient_state", "meta_information", "low_value_prefix", "importance", "question"}
    assert all("characters, conversation" in record.getMessage() for record in lines)
    words = {word for item in EIGHT for word in item["content"].split() if len(word) > 4}
    logged = {word for record in lines for word in record.getMessage().split()} - {"characters,", "conversation"}
    assert not words & logged, "a log has no texts"


async def test_a_stored_entry_without_settings_extracts_nothing(
    hass: HomeAssistant, llm_server: LLMServer, speaker: Context
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("Good to know."))
    await say(hass, SAID, context=speaker)
    await rest(hass)
    assert len(llm_server.requests) == 1


async def test_extraction_is_turned_on_and_off_while_it_runs(
    hass: HomeAssistant, llm_server: LLMServer, speaker: Context
) -> None:
    entry: MockConfigEntry = await set_up(hass, llm_server)
    runtime = entry.runtime_data
    for options, requests in ((ON, 2), ({"memory": {"extraction": True, "enabled": False}}, 1), (ON, 2), ({}, 1)):
        hass.config_entries.async_update_entry(entry, options=options)
        await hass.async_block_till_done()
        llm_server.requests.clear()
        llm_server.plan(text("Good to know."), *([found()] if requests == 2 else ()))
        await say(hass, SAID, context=speaker)
        await rest(hass)
        assert len(llm_server.requests) == requests
    assert entry.runtime_data is runtime


async def test_what_is_being_extracted_is_broken_off_when_it_is_turned_off(
    hass: HomeAssistant, llm_server: LLMServer, speaker: Context
) -> None:
    entry = await set_up(hass, llm_server, options=ON)
    llm_server.plan(text("Good to know."), replace(found(TEA), delay=0.5))
    await say(hass, SAID, context=speaker)
    await asked(llm_server, 2)
    hass.config_entries.async_update_entry(entry, options={})
    await asyncio.sleep(0.7)
    await rest(hass)
    assert contents(hass) == set()
