"""What a model is told of what is remembered: looked at where its endpoint receives it."""

from dataclasses import replace
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.memory.record import MemoryType
from custom_components.home_agent.support.kept import kept_of
from tests.house import part_of, say, set_up, speech, state_of, until
from tests.llm_server import LLMServer, text, tool_call

from .conftest import asked, extracted, said

TEA = "Grandma Ilse drinks only peppermint tea"
ASKED = "Which tea does grandma drink?"


def told(server: LLMServer) -> list[Any]:
    """Return the memories in the newest message of each request."""
    return [part_of(request.body["messages"][-1]).get("memories") for request in server.requests]


async def test_a_memory_is_told_once_in_a_conversation(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    await kept_of(hass, Memories).async_add([said(TEA), said("The spare key hangs behind the boiler")])
    llm_server.plan(text("Peppermint."), text("Only that."), text("Peppermint."))
    first = await say(hass, ASKED)
    await say(hass, ASKED, first.conversation_id)
    await say(hass, ASKED)
    assert told(llm_server) == [[TEA], None, [TEA]]


async def test_what_was_changed_is_told_again(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    [added] = await kept_of(hass, Memories).async_add([said(TEA)])
    llm_server.plan(text("Peppermint."), text("Cocoa."))
    first = await say(hass, ASKED)
    assert added.memory is not None
    await kept_of(hass, Memories).async_update(
        added.memory.id, content="Grandma Ilse drinks only peppermint tea and cocoa"
    )
    await say(hass, ASKED, first.conversation_id)
    assert told(llm_server) == [[TEA], ["Grandma Ilse drinks only peppermint tea and cocoa"]]


async def test_with_its_day_where_that_may_matter(hass: HomeAssistant, llm_server: LLMServer, freezer: Any) -> None:
    freezer.move_to("2026-03-05 12:00:00+00:00")
    await set_up(hass, llm_server)
    await kept_of(hass, Memories).async_add([extracted("Ilse sees the dentist tomorrow", type=MemoryType.EVENT)])
    llm_server.plan(text("Tomorrow."))
    await say(hass, "When does Ilse see the dentist?")
    assert told(llm_server) == [["Ilse sees the dentist tomorrow (2026-03-05)"]]


async def test_an_agent_without_memory_is_told_nothing(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"memory": "off"})
    await kept_of(hass, Memories).async_add([said(TEA)])
    llm_server.plan(text("I do not know."))
    await say(hass, ASKED)
    assert "peppermint" not in llm_server.request.raw.decode()
    assert kept_of(hass, Memories).of(None)[0].accesses == 0


@pytest.mark.parametrize("scope", ["home", "user"])
async def test_an_agent_of_the_home_alone(hass: HomeAssistant, llm_server: LLMServer, scope: str) -> None:
    """It is told of nobody's own memories, and what it keeps is the home's, whoever says it."""
    await set_up(hass, llm_server, profile={"memory": "home"}, options={"memory": {"scope": scope}})
    user = MockUser(name="Anna").add_to_hass(hass)
    await kept_of(hass, Memories).async_add([said(TEA), said("Anna drinks only oolong tea", owner=user.id)])
    store = tool_call("store_memory", {"content": "The tea pot is in the attic"})
    llm_server.plan(text("Peppermint."), store, text("Kept."))
    await say(hass, "Which tea is there?", context=Context(user_id=user.id))
    await say(hass, "Remember where the tea pot is", context=Context(user_id=user.id))
    assert part_of(llm_server.requests[0].body["messages"][-1])["memories"] == [TEA]
    assert "oolong" not in llm_server.request.raw.decode()
    assert {memory.content: memory.owner for memory in kept_of(hass, Memories).of(None)}[
        "The tea pot is in the attic"
    ] is None


async def test_nothing_while_off(hass: HomeAssistant, llm_server: LLMServer, hass_storage: dict[str, Any]) -> None:
    entry = await set_up(hass, llm_server)
    memories = kept_of(hass, Memories)
    await memories.async_add([said(TEA)])
    hass.config_entries.async_update_entry(entry, options={"memory": {"enabled": False}})
    await hass.async_block_till_done()
    [refused] = await memories.async_add([said("The spare key hangs behind the boiler")])
    assert (refused.outcome, refused.reason) == ("refused", "off")
    llm_server.plan(text("I do not know."))
    await say(hass, ASKED)
    assert "peppermint" not in llm_server.request.raw.decode()
    [stored] = hass_storage["home_agent.memories"]["data"]["memories"]
    assert (stored["content"], stored["accesses"]) == (TEA, 0)


@pytest.mark.parametrize("scope", ["home", "user"])
async def test_memories_of_one_user_reach_nobody_else(hass: HomeAssistant, llm_server: LLMServer, scope: str) -> None:
    await set_up(hass, llm_server, options={"memory": {"scope": scope}})
    anna, leo = (MockUser(name=name).add_to_hass(hass) for name in ("Anna", "Leo"))
    await kept_of(hass, Memories).async_add([said("Anna hides the piano present in the attic", owner=anna.id)])
    llm_server.respond(lambda _body: text("Well."))
    reached: set[str] = set()
    askers: dict[str, dict[str, Any]] = {
        "Anna": {"context": Context(user_id=anna.id)}, "Leo": {"context": Context(user_id=leo.id)},
        "device": {"device_id": "1"}, "nobody": {},
    }  # fmt: skip
    for name, who in askers.items():
        await say(hass, "Where is the piano present in the attic?", **who)
        if "hides" in llm_server.request.raw.decode():
            reached.add(name)
    assert reached == {"Anna"}


async def test_whose_becomes_what_is_said(hass: HomeAssistant, llm_server: LLMServer) -> None:
    seen: list[Any] = []
    entry = await set_up(hass, llm_server, options={"memory": {"scope": "user"}})
    anna = MockUser(name="Anna").add_to_hass(hass)
    llm_server.respond(lambda _body: text("Well."))
    for fields in ({"context": Context(user_id=anna.id)}, {"device_id": "1"}):
        await say(hass, "hello", **fields)
        scope = kept_of(hass, Memories).scope_of(entry.runtime_data.sources.asked["profile-1"])
        assert scope is not None
        seen.append((scope.owner, scope.owners, scope.is_known))
    assert seen == [(anna.id, {None, anna.id}, True), (None, {None}, False)]


async def test_personal_data_is_hidden_where_it_leaves_the_house(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, llm={"remote": True})
    await kept_of(hass, Memories).async_add([said("The plumber Brandt has the number 0172 1111111")])
    llm_server.plan(text("I have it."))
    await say(hass, "What number does the plumber Brandt have?")
    assert told(llm_server) == [["The plumber Brandt has the number [phone]"]]


async def test_a_memory_from_outside_makes_the_conversation_careful(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    await kept_of(hass, Memories).async_add([extracted(TEA, metadata={"tainted": ["get_mail"]})])
    llm_server.plan(text("Peppermint."), text("Fine."))
    await say(hass, ASKED)
    assert entry.runtime_data.sources.asked["profile-1"].record.taints == {"get_mail"}
    await say(hass, "How are you?")
    assert entry.runtime_data.sources.asked["profile-1"].record.taints == set()


async def test_no_more_are_told_than_the_setting_says(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, options={"memory": {"top_k": 2}})
    people = ("Otto", "Mia", "Leo", "Rosa")
    await kept_of(hass, Memories).async_add([said(f"{name} is allergic to hazelnuts") for name in people])
    llm_server.plan(text("All."))
    await say(hass, "Who is allergic to hazelnuts?")
    assert [len(found) for found in told(llm_server)] == [2]


async def test_fewer_are_told_of_more_than_a_question_tells_apart(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    people = ("Otto", "Mia", "Leo", "Rosa", "Bruno", "Emma")
    await kept_of(hass, Memories).async_add([said(f"{name} is allergic to hazelnuts") for name in people[:5]])
    llm_server.plan(*(text("All.") for _ in range(3)))
    await say(hass, "Who is allergic to hazelnuts?")
    await kept_of(hass, Memories).async_add([said(f"{people[5]} is allergic to hazelnuts")])
    await say(hass, "Who is allergic to hazelnuts?")
    await say(hass, "Is Emma allergic to hazelnuts?")
    every, some, named = told(llm_server)
    assert (len(every), len(some)) == (5, 3)
    assert named[0] == "Emma is allergic to hazelnuts"


async def test_without_memories_nobody_is_asked(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    assert "memories" not in asked(entry)
    [added] = await kept_of(hass, Memories).async_add([said(TEA)])
    assert "memories" in asked(entry)
    assert added.memory is not None
    await kept_of(hass, Memories).async_delete([added.memory.id])
    assert "memories" not in asked(entry)


async def test_memory_is_turned_off_and_on_in_mid_conversation(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    await kept_of(hass, Memories).async_add([said(TEA)])
    runtime, seen = entry.runtime_data, []
    choices: tuple[dict[str, Any], ...] = ({}, {"memory": {"enabled": False}}, {"memory": {"top_k": 3}})
    for number, options in enumerate(choices):
        hass.config_entries.async_update_entry(entry, options=options)
        await hass.async_block_till_done()
        llm_server.plan(text("Peppermint."))
        await say(hass, ASKED, f"talk {number}")
        tools = {tool["function"]["name"] for tool in llm_server.request.body["tools"]}
        seen.append((bool(told(llm_server)[-1]), tools >= {"store_memory", "recall_memory", "teach_name"}))
        assert bool(tools & {"store_memory", "teach_name"}) is seen[-1][1]
    assert seen == [(True, True), (False, False), (True, True)]
    assert entry.runtime_data is runtime


async def test_what_is_stored_when_memory_is_turned_off_is_refused(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(replace(tool_call("store_memory", {"content": TEA}), delay=0.3), text("It is off."))
    turn = hass.async_create_task(say(hass, "keep in mind what grandma drinks"))
    await until(lambda: llm_server.requests)
    hass.config_entries.async_update_entry(entry, options={"memory": {"enabled": False}})
    assert speech(await turn) == "It is off."
    assert not kept_of(hass, Memories).of(None)


async def test_the_number_of_memories_is_away_while_memory_is_off(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    await kept_of(hass, Memories).async_add([said(TEA)])
    er.async_get(hass).async_update_entity("sensor.home_agent_memories", disabled_by=None)
    await hass.config_entries.async_reload(entry.entry_id)
    choices: tuple[tuple[dict[str, Any], str], ...] = (({"memory": {"enabled": False}}, "unavailable"), ({}, "1"))
    for options, state in choices:
        hass.config_entries.async_update_entry(entry, options=options)
        await hass.async_block_till_done()
        assert state_of(hass, "sensor.home_agent_memories") == state
