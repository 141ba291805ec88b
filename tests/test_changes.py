"""What the owner changes while Home Agent runs: only what depends on it is set up anew, all else goes on."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
import gc
import json
from types import MappingProxyType
from typing import Any

from homeassistant.config_entries import ConfigEntryState, ConfigSubentry
from homeassistant.const import EVENT_STATE_CHANGED, STATE_UNAVAILABLE
from homeassistant.core import Context, Event, HomeAssistant, State
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import (
    chat_session,
    device_registry as dr,
    entity_registry as er,
    issue_registry as ir,
    llm,
    restore_state,
)
from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    async_capture_events,
)

from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn.events import CONFIRMATION_RESOLVED
from tests.house import act, agent, expert_llm, say, set_up, speech, state_of, subentry, until
from tests.llm_server import LLMServer, error, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

GUEST, COOK = "conversation.guest", "conversation.cook"
DOOR = "lock.front_door"
UNLOCK = tool_call("ha_control", {"action": "unlock", "entity_id": DOOR})
STORY = "once upon a time there was a house that went on talking"
WEATHER = {"name": "weather", "description": "Weather.", "handler": {"type": "template", "template": "Rain"}}
ENDED = (
    "That question has ended, because Home Agent was loaded again or its settings were changed. Nothing was done. "
    "Please ask again."
)
NOWHERE = {"url": "http://127.0.0.1:9/mcp"}
AWAY = {
    "store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": 9,
    "embedding": "endpoint", "embedding_preset": "custom", "embedding_url": "http://127.0.0.1:9/v1",
}  # fmt: skip

type Change = Callable[[HomeAssistant, MockConfigEntry], object]


async def home(hass: HomeAssistant, server: LLMServer, **options: Any) -> MockConfigEntry:
    """Set up three agents, two models, a custom tool and an MCP server that is away."""
    more = [
        agent(2, "Guest"), agent(3, "Cook"), expert_llm(server),
        subentry("custom_tool", "weather", "tool-1", WEATHER), subentry("mcp_server", "Away", "mcp-1", NOWHERE),
    ]  # fmt: skip
    return await set_up(hass, server, more=more, **options)


def added(kind: str, title: str, data: Mapping[str, Any]) -> Change:
    def change(hass: HomeAssistant, entry: MockConfigEntry) -> object:
        new = ConfigSubentry(
            data=MappingProxyType({**data}), subentry_type=kind, title=title, unique_id=None, subentry_id="new-1"
        )
        return hass.config_entries.async_add_subentry(entry, new)

    return change


def changed(subentry_id: str, title: str = "", **data: Any) -> Change:
    def change(hass: HomeAssistant, entry: MockConfigEntry) -> object:
        known = entry.subentries[subentry_id]
        return hass.config_entries.async_update_subentry(
            entry, known, title=title or known.title, data={**known.data, **data}
        )

    return change


def removed(subentry_id: str) -> Change:
    return lambda hass, entry: hass.config_entries.async_remove_subentry(entry, subentry_id)


def set_to(**options: Any) -> Change:
    return lambda hass, entry: hass.config_entries.async_update_entry(entry, options={**entry.options, **options})


def defaults(**settings: Any) -> Change:
    return set_to(default_profile_settings={"processing_config": settings})


LLM = {"preset": "custom", "base_url": "http://127.0.0.1:9/v1", "model": "third", "keep_ready": False}

CHANGES = [
    pytest.param(added("profile", "New", {}), {"new-1"}, id="an agent is added"),
    pytest.param(changed("profile-3", prompt_additions="Be kind."), set(), id="an agent is changed"),
    pytest.param(changed("profile-3", "Chef"), {"profile-3"}, id="an agent is renamed"),
    pytest.param(changed("profile-3", icon="mdi:chef-hat"), {"profile-3"}, id="an agent has another icon"),
    pytest.param(removed("profile-3"), {"profile-3"}, id="an agent is removed"),
    pytest.param(added("llm", "Third", LLM), {"new-1"}, id="a model is added"),
    pytest.param(changed("llm-2", model="other"), set(), id="a model is changed"),
    pytest.param(changed("llm-2", "Sage"), {"llm-2"}, id="a model is renamed"),
    pytest.param(removed("llm-2"), {"llm-2"}, id="a model is removed"),
    pytest.param(added("custom_tool", "time", {**WEATHER, "name": "time_of_day"}), set(), id="a custom tool is added"),
    pytest.param(changed("tool-1", description="The weather."), set(), id="a custom tool is changed"),
    pytest.param(removed("tool-1"), set(), id="a custom tool is removed"),
    pytest.param(added("mcp_server", "Library", NOWHERE), set(), id="a server is added"),
    pytest.param(changed("mcp-1", url="http://127.0.0.1:9/other"), set(), id="a server is changed"),
    pytest.param(removed("mcp-1"), set(), id="a server is removed"),
    pytest.param(defaults(history_max_messages=20), set(), id="a default of all agents"),
    pytest.param(set_to(always_confirm=["switch"]), set(), id="a rule of the home"),
    pytest.param(set_to(default_service_profile_id="cook"), set(), id="the default agent"),
    pytest.param(set_to(confirm_timeout=500), set(), id="the time for an answer"),
    pytest.param(set_to(allowed_entities=["light", "lock"]), set(), id="what is shared"),
    pytest.param(set_to(allowed_hosts=["example.com"]), set(), id="the hosts that tools reach"),
    pytest.param(set_to(debug_logging=True, audit_log=True), set(), id="the log"),
    pytest.param(set_to(retrieval={"top_k": 9, "similarity_threshold": 0.4}), set(), id="limits of the search"),
    pytest.param(set_to(retrieval={"additional_collections": ["recipes"]}), set(), id="collections of others"),
    pytest.param(set_to(retrieval={"collection": "my_house"}), set(), id="another collection"),
    pytest.param(set_to(retrieval=AWAY), set(), id="another store and a model, both away"),
    pytest.param(set_to(memory={"top_k": 9, "cleanup_interval": 1}), set(), id="limits of the memory"),
    pytest.param(set_to(memory={"extraction": True, "learning": False}), set(), id="what is learned"),
    pytest.param(set_to(memory={"collection": "other_memories"}), set(), id="another collection of memories"),
    pytest.param(set_to(memory={"enabled": False}), set(), id="no memory"),
]


def of_subentry(hass: HomeAssistant, entity_id: str) -> str | None:
    found = er.async_get(hass).async_get(entity_id)
    return found.config_subentry_id if found is not None else None


def ours(hass: HomeAssistant) -> dict[str, str | None]:
    """Return the subentry of each of our entities."""
    entries = er.async_get(hass).entities.values()
    return {one.entity_id: one.config_subentry_id for one in entries if one.platform == DOMAIN}


@asynccontextmanager
async def talking(hass: HomeAssistant, server: LLMServer, **fields: Any) -> AsyncGenerator[None]:
    """Have an answer written while something else happens; it comes to its end then, word by word."""
    server.plan(text(STORY, pause=0.05))
    before = len(server.requests)
    task = asyncio.create_task(say(hass, "tell me a story", **fields))
    await until(lambda: len(server.requests) > before)
    yield
    assert not task.done(), "the change took longer than the answer"
    assert speech(await task) == STORY


@pytest.mark.parametrize(("change", "touched"), CHANGES)
async def test_only_what_is_changed_is_set_up_anew(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, change: Change, touched: set[str]
) -> None:
    entry = await home(hass, llm_server)
    runtime, before = entry.runtime_data, ours(hass)
    llm_server.plan(UNLOCK)
    asked = await say(hass, "let me in", agent_id=GUEST, context=admin)
    assert speech(asked) == "Front Door is locked. Unlock it?"
    events = async_capture_events(hass, EVENT_STATE_CHANGED)
    async with talking(hass, llm_server):
        await hass.async_block_till_done()
        said = [event for event in events if event.data["entity_id"] == "conversation.home_agent"]
        events.clear()
        change(hass, entry)
        await hass.async_block_till_done()
        all_of_ours = {**before, **ours(hass)}
        seen = {all_of_ours[event.data["entity_id"]] for event in events if event.data["entity_id"] in all_of_ours}
        assert seen == touched
        assert not [event for event in events if is_away(event)]
    assert len(said) == 1, "the message itself is seen"
    assert entry.state is ConfigEntryState.LOADED
    assert entry.runtime_data is runtime
    assert not ir.async_get(hass).async_get_issue(DOMAIN, f"changes_failed_{entry.entry_id}")
    answer = await say(hass, "yes", asked.conversation_id, agent_id=GUEST, context=admin)
    assert speech(answer) == "Done. Front Door is unlocked."


def is_away(event: Event[Any]) -> bool:
    new = event.data["new_state"]
    return new is not None and new.state == STATE_UNAVAILABLE


async def test_an_added_agent_answers(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await home(hass, llm_server)
    added("profile", "New", {"local_first": False, "prompt_additions": "You are new."})(hass, entry)
    await hass.async_block_till_done()
    llm_server.plan(text("I am here."))
    assert speech(await say(hass, "hello", agent_id="conversation.new")) == "I am here."
    assert "You are new." in llm_server.request.body["messages"][0]["content"]


async def test_an_agent_with_a_new_model_asks_it(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    entry = await home(hass, llm_server)
    llm_server.plan(text("one"))
    await say(hass, "hello", "a")
    added("llm", "Third", {**LLM, "base_url": expert.base_url})(hass, entry)
    changed("profile-1", llm="new-1")(hass, entry)
    await hass.async_block_till_done()
    expert.plan(text("two"))
    assert speech(await say(hass, "again", "a")) == "two"
    assert [item["content"].rpartition("</house>")[2].strip() for item in expert.request.body["messages"][1:]] == [
        "hello", "one", "again",
    ]  # fmt: skip
    device = dr.async_get(hass).async_get_device_by_identifier((DOMAIN, "profile-1"), entry.entry_id)
    assert device is not None
    assert device.model == "third"


async def test_a_renamed_agent_stays_the_same_entity(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await home(hass, llm_server)
    changed("profile-3", "Chef", icon="mdi:chef-hat")(hass, entry)
    await hass.async_block_till_done()
    state = hass.states.get(COOK)
    assert state is not None
    assert (state.name, state.attributes["icon"]) == ("Chef", "mdi:chef-hat")
    changed("profile-3", icon="")(hass, entry)
    await hass.async_block_till_done()
    assert "icon" not in hass.states.get(COOK).attributes  # type: ignore[union-attr]


async def test_figures_go_on(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    entry = await home(hass, llm_server)

    def tokens() -> str:
        return state_of(hass, "sensor.scripted_input_tokens")

    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    llm_server.plan(text("ok", usage=usage))
    await say(hass, "hello")
    assert tokens() == "100"
    added("profile", "New", {})(hass, entry)
    await hass.async_block_till_done()
    assert tokens() == "100"
    changed("llm-1", base_url=expert.base_url)(hass, entry)
    await hass.async_block_till_done()
    assert tokens() == "100"
    expert.plan(text("ok", usage=usage))
    await say(hass, "hello")
    assert tokens() == "200"
    duration = state_of(hass, "sensor.scripted_request_duration")
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()
    assert tokens() == "200"
    assert state_of(hass, "sensor.scripted_request_duration") == duration
    expert.plan(text("ok", usage=usage))
    await say(hass, "hello")
    assert tokens() == "300"


async def test_counts_go_on_after_a_restart(
    hass: HomeAssistant, llm_server: LLMServer, hass_storage: dict[str, Any]
) -> None:
    now = dt_util.utcnow().isoformat()
    stored = [
        {
            "state": State(f"sensor.scripted_{key}", str(value)).as_dict(),
            "extra_data": {"native_value": value, "native_unit_of_measurement": "tokens"},
            "last_seen": now,
        }
        for key, value in (("input_tokens", 150), ("output_tokens", "?"))
    ]
    hass_storage[restore_state.STORAGE_KEY] = {
        "version": restore_state.STORAGE_VERSION, "key": restore_state.STORAGE_KEY, "data": json.loads(json_dumps(stored)),
    }  # fmt: skip
    await restore_state.async_get(hass).async_load()
    await home(hass, llm_server)
    assert state_of(hass, "sensor.scripted_input_tokens") == "150"
    assert state_of(hass, "sensor.scripted_output_tokens") == "0"
    llm_server.plan(text("ok", usage={"prompt_tokens": 100, "completion_tokens": 7}))
    await say(hass, "hello")
    assert state_of(hass, "sensor.scripted_input_tokens") == "250"
    assert state_of(hass, "sensor.scripted_output_tokens") == "7"


async def test_a_turn_ends_with_what_it_began_with(hass: HomeAssistant, llm_server: LLMServer, admin: Context) -> None:
    """Between two requests of a turn, its agent gets other instructions, no tools and another model."""
    entry = await home(hass, llm_server)
    llm_server.plan(
        tool_call("ha_control", {"action": "turn_on", "entity_id": "light.kitchen_lights"}, delay=0.3),
        text("It is on."),
    )
    task = asyncio.create_task(say(hass, "light", "a", context=admin))
    await until(lambda: llm_server.requests)
    changed("profile-1", prompt_additions="Be brief.", native_tools=False, llm="llm-2")(hass, entry)
    await hass.async_block_till_done()
    assert not task.done()
    assert speech(await task) == "It is on."
    first, second = (request.body for request in llm_server.requests)
    assert [first[key] for key in ("model", "tools")] == [second[key] for key in ("model", "tools")]
    assert first["messages"] == second["messages"][: len(first["messages"])]
    llm_server.plan(text("Brief."))
    assert speech(await say(hass, "and now?", "a", context=admin)) == "Brief."
    body = llm_server.request.body
    assert body["model"] == "expert"
    assert "Be brief." in body["messages"][0]["content"]
    assert "It is on." in str(body["messages"])
    assert not [tool for tool in body.get("tools", ()) if tool["function"]["name"] == "ha_control"]


async def test_others_are_sent_the_same_words(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """A conversation whose agent is as it was goes on with the bytes that its model has read."""
    entry = await home(hass, llm_server)
    llm_server.plan(text("one"), text("two"))
    await say(hass, "hello", "a", agent_id=GUEST)
    changed("profile-1", prompt_additions="Other.")(hass, entry)
    added("profile", "New", {})(hass, entry)
    await hass.async_block_till_done()
    await say(hass, "again", "a", agent_id=GUEST)
    first, second = (request.body["messages"] for request in llm_server.requests)
    assert second[: len(first)] == first


async def test_an_agent_is_removed_while_it_answers(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await home(hass, llm_server)
    async with talking(hass, llm_server, agent_id=COOK, conversation_id="a"):
        removed("profile-3")(hass, entry)
        await hass.async_block_till_done()
        assert hass.states.get(COOK) is None
    assert not entry.runtime_data.conversations.counts["conversations"], "nothing is kept of an agent that is gone"
    llm_server.plan(text("ok"))
    assert speech(await say(hass, "hello", agent_id=GUEST)) == "ok"


async def test_a_question_ends_with_its_agent(hass: HomeAssistant, llm_server: LLMServer, admin: Context) -> None:
    entry = await home(hass, llm_server)
    ended = async_capture_events(hass, CONFIRMATION_RESOLVED)
    llm_server.plan(UNLOCK)
    await say(hass, "let me in", agent_id=COOK, context=admin)
    removed("profile-3")(hass, entry)
    await hass.async_block_till_done()
    assert [event.data["outcome"] for event in ended] == ["cancelled"]
    with pytest.raises(ServiceValidationError, match="That question has ended"):
        await act(hass, "confirm", admin)


@pytest.mark.parametrize("reloads", [1, 2])
async def test_a_reload_ends_questions_and_says_so(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, reloads: int
) -> None:
    entry = await home(hass, llm_server)
    ended = async_capture_events(hass, CONFIRMATION_RESOLVED)
    llm_server.plan(UNLOCK)
    asked = await say(hass, "let me in", agent_id=GUEST, context=admin)
    for _ in range(reloads):
        await hass.config_entries.async_reload(entry.entry_id)
    assert [event.data["outcome"] for event in ended] == ["cancelled"]
    request_id = ended[0].data["request_id"]
    for given in ({}, {"request_id": request_id}):
        with pytest.raises(ServiceValidationError, match="That question has ended"):
            await act(hass, "confirm", admin, **given)
    assert speech(await say(hass, "yes", asked.conversation_id, agent_id=GUEST, context=admin)) == ENDED
    assert state_of(hass, DOOR) == "locked"
    llm_server.plan(text("What do you mean?"))
    again = await say(hass, "yes", asked.conversation_id, agent_id=GUEST, context=admin)
    assert speech(again) == "What do you mean?", "it is said once"


async def test_others_words_after_a_reload_are_a_message(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context
) -> None:
    entry = await home(hass, llm_server)
    llm_server.plan(UNLOCK)
    asked = await say(hass, "let me in", agent_id=GUEST, context=admin)
    await hass.config_entries.async_reload(entry.entry_id)
    llm_server.plan(text("Sunny."))
    told = await say(hass, "how is the weather?", asked.conversation_id, agent_id=GUEST, context=admin)
    assert speech(told) == "Sunny."


async def test_what_a_turn_asks_after_its_entry_was_unloaded(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context
) -> None:
    entry = await home(hass, llm_server)
    llm_server.plan(replace(UNLOCK, delay=0.4))
    turn = hass.async_create_task(say(hass, "let me in", "a", agent_id=GUEST, context=admin))
    await until(lambda: llm_server.requests)
    await hass.config_entries.async_reload(entry.entry_id)
    assert not turn.done()
    answer = await turn
    assert speech(answer) == ENDED, "no question that nothing can answer"
    assert not answer.continue_conversation


PIN = {"pins": {"unlock": "2468"}}
MIDDLE = [
    pytest.param(set_to(retrieval={"collection": "my_house"}), True, id="search"),
    pytest.param(set_to(memory={"enabled": False}), True, id="memory"),
    pytest.param(changed("profile-2", prompt_additions="Other."), True, id="its agent"),
    pytest.param(set_to(pins={"unlock": "9753"}), False, id="its PIN"),
]


@pytest.mark.parametrize(("change", "holds"), MIDDLE)
async def test_a_change_in_the_middle_of_a_question_for_a_pin(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, change: Change, holds: bool
) -> None:
    entry = await home(hass, llm_server, options=PIN)
    llm_server.plan(UNLOCK)
    said = await say(hass, "let me in", agent_id=GUEST, context=admin)

    async def answer(words: str) -> str:
        return speech(await say(hass, words, said.conversation_id, agent_id=GUEST, context=admin))

    assert "PIN" in speech(said)
    await answer("1111")
    change(hass, entry)
    await hass.async_block_till_done()
    await answer("2468")
    assert (state_of(hass, DOOR) == "unlocked") is holds
    if not holds:
        await answer("9753")
        assert state_of(hass, DOOR) == "unlocked"
    assert "2468" not in str(llm_server.requests[-1].body)


async def test_a_pin_after_a_reload_reaches_no_model(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context
) -> None:
    entry = await home(hass, llm_server, options=PIN)
    llm_server.plan(UNLOCK)
    asked = await say(hass, "let me in", agent_id=GUEST, context=admin)
    await hass.config_entries.async_reload(entry.entry_id)
    assert speech(await say(hass, "2468", asked.conversation_id, agent_id=GUEST, context=admin)) == ENDED
    await say(hass, "two four six eight", asked.conversation_id, agent_id=GUEST, context=admin)
    sent = str([request.body for request in llm_server.requests])
    assert not any(words in sent for words in ("2468", "two four", "six eight"))
    assert state_of(hass, DOOR) == "locked"


async def test_the_entry_is_removed_and_added_again_while_a_turn_runs(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context
) -> None:
    first = await home(hass, llm_server)
    llm_server.plan(replace(UNLOCK, delay=0.4))
    turn = hass.async_create_task(say(hass, "let me in", "a", agent_id=GUEST, context=admin))
    await until(lambda: llm_server.requests)
    await hass.config_entries.async_remove(first.entry_id)
    second = await home(hass, llm_server)
    await turn
    assert state_of(hass, DOOR) == "locked"
    assert second.runtime_data.conversations.counts["conversations"] == 0, "what was said to the one before is gone"
    llm_server.plan(UNLOCK)
    asked = await say(hass, "let me in", "b", agent_id=GUEST, context=admin)
    changed("profile-3", "Chef")(hass, second)
    await hass.async_block_till_done()
    assert speech(await say(hass, "yes", asked.conversation_id, agent_id=GUEST, context=admin)).startswith("Done.")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(changed("profile-2", never_offer=["lock.unlock"]), id="of the agent"),
        pytest.param(set_to(never_offer=["lock.unlock"]), id="of the home"),
        pytest.param(changed("profile-2", native_tools=False), id="its tool"),
        pytest.param(set_to(allowed_entities=["light"]), id="what is shared"),
    ],
)
async def test_a_yes_is_judged_by_the_rules_of_now(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, change: Change
) -> None:
    entry = await home(hass, llm_server)
    for answer_elsewhere in (True, False):
        llm_server.plan(UNLOCK)
        asked = await say(hass, "let me in", agent_id=GUEST, context=admin)
        [waiting] = entry.runtime_data.policy.confirmations.open()
        change(hass, entry)
        await hass.async_block_till_done()
        if answer_elsewhere:
            await hass.services.async_call(
                DOMAIN, "confirm", {"request_id": waiting.id}, blocking=True, context=admin,
                return_response=True,
            )  # fmt: skip
            hass.config_entries.async_update_entry(entry, options={})
            changed("profile-2", never_offer=[], native_tools=True)(hass, entry)
            await hass.async_block_till_done()
        else:
            await say(hass, "yes", asked.conversation_id, agent_id=GUEST, context=admin)
        assert state_of(hass, DOOR) == "locked"


async def test_a_changed_agent_still_has_its_question(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context
) -> None:
    entry = await home(hass, llm_server)
    llm_server.plan(UNLOCK)
    asked = await say(hass, "let me in", agent_id=GUEST, context=admin)
    changed("profile-2", "Visitor", prompt_additions="Other.")(hass, entry)
    await hass.async_block_till_done()
    done = await say(hass, "yes", asked.conversation_id, agent_id=GUEST, context=admin)
    assert speech(done) == "Done. Front Door is unlocked."


async def test_a_conversation_stays_tainted(hass: HomeAssistant, llm_server: LLMServer, admin: Context) -> None:
    entry = await home(hass, llm_server, profile={"never_ask": ["lock"]})
    llm_server.plan(text("hello"))
    said = await say(hass, "hello", context=admin)
    [transcript] = entry.runtime_data.transcripts._transcripts.values()
    transcript.taints.add("web")
    changed("profile-1", prompt_additions="Other.")(hass, entry)
    added("custom_tool", "time", {**WEATHER, "name": "time_of_day"})(hass, entry)
    await hass.async_block_till_done()
    llm_server.plan(UNLOCK)
    asked = await say(hass, "let me in", said.conversation_id, context=admin)
    assert asked.continue_conversation
    assert state_of(hass, DOOR) == "locked"


async def test_a_custom_tool_is_offered_from_the_next_message_on(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await home(hass, llm_server, profile={"custom_tools": ["all"]})

    async def offered() -> set[str]:
        llm_server.plan(text("ok"))
        await say(hass, "hello", "a")
        return {tool["function"]["name"] for tool in llm_server.request.body["tools"]} & {"weather", "time_of_day"}

    assert await offered() == {"weather"}
    added("custom_tool", "time", {**WEATHER, "name": "time_of_day"})(hass, entry)
    await hass.async_block_till_done()
    assert await offered() == {"weather", "time_of_day"}
    removed("tool-1")(hass, entry)
    await hass.async_block_till_done()
    assert await offered() == {"time_of_day"}
    set_to(never_offer=["time_of_day"])(hass, entry)
    await hass.async_block_till_done()
    assert await offered() == set()


async def test_servers_that_stay_are_the_same(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await home(hass, llm_server)
    servers = entry.runtime_data.mcp_tools
    before = servers.servers["mcp-1"]
    added("mcp_server", "Library", NOWHERE)(hass, entry)
    changed("mcp-1", "Far", allowed_tools=["write"])(hass, entry)
    await hass.async_block_till_done()
    assert [*servers.servers] == ["mcp-1", "new-1"]
    assert servers.servers["mcp-1"] is before
    assert (before.config.title, before.config.allowed) == ("Far", {"write"})
    changed("mcp-1", url="http://127.0.0.1:9/other")(hass, entry)
    await hass.async_block_till_done()
    assert servers.servers["mcp-1"] is not before


async def test_several_changes_at_once_are_one(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await home(hass, llm_server)
    for number in range(10):
        changed("profile-3", f"Cook {number}")(hass, entry)
    added("profile", "New", {})(hass, entry)
    removed("new-1")(hass, entry)
    removed("profile-2")(hass, entry)
    await hass.async_block_till_done()
    assert [*entry.runtime_data.profiles] == ["profile-1", "profile-3"]
    assert {of_subentry(hass, one) for one in hass.states.async_entity_ids("conversation")} - {None} == {
        "profile-1", "profile-3",
    }  # fmt: skip
    assert hass.states.get(COOK).name == "Cook 9"  # type: ignore[union-attr]


async def test_a_change_while_another_is_taken_up(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await home(hass, llm_server)
    for number in range(8):
        changed("profile-3", prompt_additions=f"Say {number}.")(hass, entry)
        added("profile", f"New {number}", {})(hass, entry)
        for _ in range(number):
            await asyncio.sleep(0)
        removed("new-1")(hass, entry)
    await hass.async_block_till_done()
    assert [*entry.runtime_data.profiles] == ["profile-1", "profile-2", "profile-3"]
    assert entry.runtime_data.profiles["profile-3"].prompt_additions == "Say 7."
    assert len(hass.states.async_entity_ids("conversation")) == 4  # ours, and Home Assistant's own


@pytest.mark.parametrize("waits", range(0, 12, 3))
async def test_a_change_while_it_is_unloaded(hass: HomeAssistant, llm_server: LLMServer, waits: int) -> None:
    entry = await home(hass, llm_server)
    added("profile", "New", {})(hass, entry)
    for _ in range(waits):
        await asyncio.sleep(0)
    unloading = hass.async_create_task(hass.config_entries.async_unload(entry.entry_id))
    changed("profile-3", "Chef")(hass, entry)
    assert await unloading
    await hass.async_block_till_done()
    assert entry.state is ConfigEntryState.NOT_LOADED
    assert state_of(hass, GUEST) == STATE_UNAVAILABLE
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    assert state_of(hass, "conversation.new") != STATE_UNAVAILABLE
    assert hass.states.get(COOK).name == "Chef"  # type: ignore[union-attr]


async def test_an_error_leaves_what_was(
    hass: HomeAssistant, llm_server: LLMServer, caplog: pytest.LogCaptureFixture
) -> None:
    entry = await home(hass, llm_server)
    events = async_capture_events(hass, EVENT_STATE_CHANGED)
    hass.config_entries.async_update_entry(entry, options={"throttle_turns": "many"})
    await hass.async_block_till_done()
    issue = ir.async_get(hass).async_get_issue(DOMAIN, f"changes_failed_{entry.entry_id}")
    assert issue is not None
    assert issue.translation_placeholders == {"error": "ValueError"}
    assert caplog.text.count("Changed settings could not be taken up") == 1
    assert not events
    llm_server.plan(text("ok"))
    assert speech(await say(hass, "hello")) == "ok"
    hass.config_entries.async_update_entry(entry, options={"throttle_turns": 3})
    await hass.async_block_till_done()
    assert ir.async_get(hass).async_get_issue(DOMAIN, f"changes_failed_{entry.entry_id}") is None
    assert entry.runtime_data.throttle.limit == 3


async def test_a_search_that_cannot_be_prepared_leaves_what_was(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await home(hass, llm_server)
    vectors = entry.runtime_data.library.vectors
    set_to(retrieval={"embedding": "endpoint", "embedding_url": "http://["}, throttle_turns=3)(hass, entry)
    await hass.async_block_till_done()
    issue = ir.async_get(hass).async_get_issue(DOMAIN, f"changes_failed_{entry.entry_id}")
    assert issue is not None
    assert issue.translation_placeholders == {"error": "ValueError"}
    assert entry.runtime_data.library.vectors is vectors
    assert entry.runtime_data.throttle.limit != 3, "all of it is left"
    await act(hass, "add_document", text="The pump runs for four hours.", collection="garden")
    assert await entry.runtime_data.knowledge.async_find("how long does the pump run")
    set_to(retrieval={}, throttle_turns=3)(hass, entry)
    await hass.async_block_till_done()
    assert ir.async_get(hass).async_get_issue(DOMAIN, f"changes_failed_{entry.entry_id}") is None
    assert entry.runtime_data.throttle.limit == 3


async def test_tools_for_others_follow(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await home(hass, llm_server, profile={"offer_tools": True})

    def offered() -> list[str]:
        return sorted(api.name for api in llm.async_get_apis(hass) if api.id.startswith(DOMAIN))

    assert offered() == ["Home Agent"]
    changed("profile-3", "Chef", offer_tools=True)(hass, entry)
    await hass.async_block_till_done()
    assert offered() == ["Chef (Home Agent)", "Home Agent"]
    removed("profile-3")(hass, entry)
    changed("profile-1", offer_tools=False)(hass, entry)
    await hass.async_block_till_done()
    assert offered() == []


async def test_a_repaired_model_is_not_asked_about(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """Another key ends the request for one, and the issues of the model."""
    entry = await home(hass, llm_server)
    llm_server.plan(error(401, "no"))
    await say(hass, "hello")
    await hass.async_block_till_done()
    assert [*entry.async_get_active_flows(hass, {"reauth"})]
    changed("llm-1", api_key="sk-other")(hass, entry)
    await hass.async_block_till_done()
    assert not [*entry.async_get_active_flows(hass, {"reauth"})]
    llm_server.plan(text("ok"))
    assert speech(await say(hass, "hello")) == "ok"
    assert llm_server.request.headers["Authorization"] == "Bearer sk-other"


def counts(hass: HomeAssistant) -> Counter[str]:
    """Return what there is that a change could leave behind: our objects by their class, listeners, timers, tasks."""
    gc.collect()
    kinds = map(type, gc.get_objects())
    found = Counter(kind.__name__ for kind in kinds if kind.__module__.startswith("custom_components.home_agent"))
    found["listeners"] = sum(len(list(many)) for many in hass.bus._listeners.values())
    found["tasks"] = len(asyncio.all_tasks())
    found["timers"] = sum(not handle.cancelled() for handle in hass.loop._scheduled)  # type: ignore[attr-defined]
    found["sessions"] = len(hass.data[chat_session.DATA_CHAT_SESSION])
    return found


async def test_two_hundred_changes_leave_nothing_behind(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await home(hass, llm_server)
    kinds: list[Change] = [
        added("profile", "New", {}), changed("new-1", "Newer"), removed("new-1"),
        added("llm", "Third", LLM), changed("new-1", model="fourth"), removed("new-1"),
        added("custom_tool", "time", {**WEATHER, "name": "time_of_day"}), removed("new-1"),
        added("mcp_server", "Library", NOWHERE), changed("new-1", url="http://127.0.0.1:9/b"), removed("new-1"),
        defaults(history_max_messages=20), defaults(), changed("llm-1", model="other"), changed("llm-1", model="scripted"),
    ]  # fmt: skip
    llm_server.respond(lambda _body: text("ok then"))

    async def change_all(rounds: int) -> None:
        for number in range(rounds * len(kinds)):
            turn = asyncio.create_task(say(hass, "hello", agent_id=GUEST if number % 2 else COOK))
            kinds[number % len(kinds)](hass, entry)
            changed("profile-3", llm_model=f"model {number}")(hass, entry)
            await hass.async_block_till_done()
            await turn
        await hass.async_block_till_done(wait_background_tasks=False)
        sessions = hass.data[chat_session.DATA_CHAT_SESSION]
        for session in [*sessions.values()]:
            session.async_cleanup()
        sessions.clear()
        await hass.async_block_till_done()
        await until(lambda: not entry.runtime_data.mcp_tools._left)

    await change_all(3)
    before = counts(hass)
    await change_all(11)
    after = counts(hass)
    grown = after - before
    tasks, timers = grown.pop("tasks", 0), grown.pop("timers", 0)
    read = {
        "HomeSnapshot",
        "HomeEntity",
        "HomeArea",
        "EntityDocument",
    }  # anew, and the ones of before are let go of later
    kept = {"Conversation", "StoredMessage", "Owner", "_VersionedStore"}
    left = {kind: count for kind, count in grown.items() if kind not in read | kept}
    assert max(left.values(), default=0) < 3, (
        "a server that is away is being asked; eleven of each would be left behind"
    )
    assert max(grown.values(), default=0) < 30
    assert tasks < 3, "a server that is away is asked again and again"
    assert timers < 20, "Home Assistant writes its files later"


async def test_a_question_that_was_handed_on(hass: HomeAssistant, llm_server: LLMServer, admin: Context) -> None:
    """It stays while both agents stay as they are, and ends when the one that was asked is changed."""
    entry = await home(hass, llm_server, profile={"delegate_to": ["profile-2"]})
    changed("profile-2", delegation_level="unrestricted", description="Knows the doors.")(hass, entry)
    await hass.async_block_till_done()

    async def ask() -> str:
        handed_on = {"target_service_id": "guest", "user_request": "Unlock the front door."}
        llm_server.plan(tool_call("delegate_to_service", handed_on), UNLOCK)
        asked = await say(hass, "let me in", context=admin)
        assert speech(asked) == "Front Door is locked. Unlock it?"
        return asked.conversation_id or ""

    said = await ask()
    changed("profile-3", prompt_additions="Other.")(hass, entry)
    added("profile", "New", {})(hass, entry)
    await hass.async_block_till_done()
    await say(hass, "yes", said, context=admin)
    assert state_of(hass, DOOR) == "unlocked"
    await hass.services.async_call("lock", "lock", {"entity_id": DOOR}, blocking=True)
    said = await ask()
    changed("profile-2", prompt_additions="Other.")(hass, entry)
    await hass.async_block_till_done()
    assert speech(await say(hass, "yes", said, context=admin)) == ENDED
    assert state_of(hass, DOOR) == "locked"


async def test_a_disabled_agent_may_be_changed(
    hass: HomeAssistant, llm_server: LLMServer, caplog: pytest.LogCaptureFixture
) -> None:
    entry = await home(hass, llm_server)
    er.async_get(hass).async_update_entity(COOK, disabled_by=er.RegistryEntryDisabler.USER)
    await hass.async_block_till_done()
    changed("profile-3", "Chef", icon="mdi:chef-hat")(hass, entry)
    await hass.async_block_till_done()
    assert hass.states.get(COOK) is None
    assert "Traceback" not in caplog.text
    assert not ir.async_get(hass).async_get_issue(DOMAIN, f"changes_failed_{entry.entry_id}")


async def test_half_a_change_is_followed_by_the_rest(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """Another integration fails in the middle: then all is loaded anew, with the settings of now."""
    entry = await home(hass, llm_server)
    before = entry.runtime_data
    hass.data["assist_pipeline"] = object()
    entry.async_on_state_change(lambda: hass.data.pop("assist_pipeline", None))
    changed("profile-3", "Chef")(hass, entry)
    added("profile", "New", {})(hass, entry)
    await hass.async_block_till_done()
    assert entry.runtime_data is not before
    assert entry.state is ConfigEntryState.LOADED
    assert hass.states.get(COOK).name == "Chef"  # type: ignore[union-attr]
    assert state_of(hass, "conversation.new") != STATE_UNAVAILABLE
