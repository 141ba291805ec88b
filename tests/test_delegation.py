"""One agent hands a request to another: who may, what travels, who is asked, and what comes back."""

import json
from typing import Any

from homeassistant.components import conversation
from homeassistant.components.conversation import ChatLog
from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import chat_session
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.home_agent.policy.channels import CONFIRM
from custom_components.home_agent.settings.profile import profile_ids
from custom_components.home_agent.tools import delegation
from custom_components.home_agent.turn import events
from tests.house import act, person, say, set_up, speech, state_of, subentry
from tests.llm_server import LLMServer, Reply, server_error, silence, text, tool_call
from tests.policy.confirmation.test_phones import PHONE, add_phone, press

pytestmark = pytest.mark.usefixtures("demo_house")

DOOR = "lock.front_door"
UNLOCK = {"action": "unlock", "entity_id": DOOR}
LIGHT = {"action": "turn_on", "entity_id": "light.bed_light"}
QUESTION = "Front Door is locked. Unlock it?"


def profile(number: int, title: str, **data: Any) -> ConfigSubentryDataWithId:
    return subentry("profile", title, f"profile-{number}", {"local_first": False, **data})


def model(server: LLMServer, number: int) -> ConfigSubentryDataWithId:
    data = {
        "preset": "custom", "base_url": server.base_url, "model": f"model-{number}", "keep_ready": False,
        "context_window": 16384,
    }  # fmt: skip
    return subentry("llm", f"Model {number}", f"llm-{number}", data)


async def two(
    hass: HomeAssistant,
    server: LLMServer,
    level: str | None = "unrestricted",
    *,
    first: dict[str, Any] | None = None,
    second: dict[str, Any] | None = None,
    more: tuple[ConfigSubentryDataWithId, ...] = (),
    options: dict[str, Any] | None = None,
) -> MockConfigEntry:
    """Set up the first agent, which may ask the second, whose model is another."""
    leveled = {"delegation_level": level} if level is not None else {}
    told = {"prompt_additions": "You are the expert.", "description": "Knows  doors\nand locks."}
    expert = {"llm": "llm-2", **told, **leveled, **(second or {})}
    return await set_up(
        hass,
        server,
        profile={"delegate_to": ["profile-2"], **(first or {})},
        more=[profile(2, "Expert", **expert), model(server, 2), *more],
        options=options,
    )


def ask(request: str = "Is the door locked?", target: str = "expert", **more: Any) -> Reply:
    return tool_call("delegate_to_service", {"target_service_id": target, "user_request": request, **more}, usage=True)


def offered(server: LLMServer, number: int) -> dict[str, dict[str, Any]]:
    return {tool["function"]["name"]: tool["function"] for tool in server.requests[number].body.get("tools", ())}


def envelope(server: LLMServer) -> dict[str, Any]:
    """Return the newest tool result that a model was sent."""
    results = [item["content"] for item in server.request.body["messages"] if item["role"] == "tool"]
    found: dict[str, Any] = json.loads(results[-1].partition("\n")[0])
    return found


def models(server: LLMServer) -> list[str]:
    """Return which models were asked, in order."""
    return [request.body["model"] for request in server.requests]


async def test_each_agent_has_model_prompt_tools(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    defaults = {"default_profile_settings": {"processing_config": {"memory": "off"}}}
    await two(hass, llm_server, first={"native_tools": False}, options=defaults)
    llm_server.plan(ask("Is the door locked?"), text("It is locked."), text("The expert says: it is locked."))
    assert speech(await say(hass, "ask somebody; marzipan", context=alice)) == "The expert says: it is locked."
    assert models(llm_server) == ["scripted", "model-2", "scripted"]
    first, second, last = llm_server.requests
    assert [*offered(llm_server, 0)] == [*offered(llm_server, 2)] == ["delegate_to_service"]
    assert {*offered(llm_server, 1)} == {"change_wish", "ha_control", "ha_query", "ha_undo", "make_wish"}
    assert "You are the expert." in second.body["messages"][0]["content"]
    assert "You are the expert." not in first.body["messages"][0]["content"]
    assert [item["role"] for item in second.body["messages"]] == ["system", "user"]  # nothing of the first conversation
    assert second.last_user.endswith("Is the door locked?")
    assert "marzipan" not in second.raw.decode()
    assert envelope(llm_server) == {"success": True, "result": "It is locked.", "error": None}
    assert "You are the expert." not in last.raw.decode()


async def test_it_is_offered_with_whom_it_reaches(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """The text stands in the prefix of every request: sorted, and the same each time."""
    cook = profile(3, "Cook", profile_id="a_cook", delegation_level="confirm", description="Recipes.")
    shut = profile(4, "Vault", delegation_level="blocked", description="Secrets.")
    names = ["profile-4", "profile-2", "profile-3", "profile-1", "gone"]
    await two(hass, llm_server, first={"delegate_to": names}, more=(cook, shut))
    llm_server.plan(text("Hello."), text("Hello again."))
    for _ in range(2):
        await say(hass, "hello")
    tool = offered(llm_server, 0)["delegate_to_service"]
    assert tool == offered(llm_server, 1)["delegate_to_service"]
    assert tool["description"] == f"{delegation.WHAT}\n- a_cook: Recipes.\n- expert: Knows doors and locks."
    assert tool["parameters"]["properties"]["target_service_id"]["enum"] == ["a_cook", "expert"]
    assert tool["parameters"]["required"] == ["target_service_id", "user_request"]


@pytest.mark.parametrize("names", [[], ["profile-1"], ["gone"], ["profile-2"], ["none"]])
async def test_nobody_to_ask(hass: HomeAssistant, llm_server: LLMServer, alice: Context, names: list[str]) -> None:
    await two(hass, llm_server, "blocked", first={"delegate_to": names})
    llm_server.plan(text("Hello."))
    await say(hass, "hello", context=alice)
    assert "delegate_to_service" not in offered(llm_server, 0)


async def test_a_blocked_agent_is_not_asked(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    cook = profile(3, "Cook", delegation_level="unrestricted")
    await two(hass, llm_server, "blocked", first={"delegate_to": ["profile-2", "profile-3"]}, more=(cook,))
    llm_server.plan(ask(confirm_delegation=True), ask(target="nobody"), text("I cannot."))
    assert speech(await say(hass, "ask the expert", context=alice)) == "I cannot."
    results = [json.loads(item["content"]) for item in llm_server.request.body["messages"] if item["role"] == "tool"]
    assert results[0]["error"] == delegation.REFUSED["blocked"].format(name="expert")
    assert results[1]["error"] == "Unknown agent 'nobody'. You may ask: cook."
    assert models(llm_server) == ["scripted"] * 3


@pytest.mark.parametrize("more", [{}, {"confirm_delegation": False}, {"confirm_delegation": "no"}, {"confirmed": True}])
@pytest.mark.parametrize("level", ["confirm", None], ids=["set", "default"])
async def test_the_user_is_asked_whatever_the_model_says(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, more: dict[str, Any], level: str | None
) -> None:
    await two(hass, llm_server, level, options={"never_confirm": ["delegate_to_service", "*"]})
    llm_server.plan(ask("Is the door locked?", **more))
    result = await say(hass, "ask the expert", context=alice)
    assert speech(result) == "Let Expert do this: “Is the door locked”?"
    assert result.continue_conversation
    assert models(llm_server) == ["scripted"]
    llm_server.plan(text("It is locked."))
    assert speech(await say(hass, "yes", result.conversation_id, context=alice)) == "It is locked."
    assert models(llm_server) == ["scripted", "model-2"]


async def test_the_level_is_inherited(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    defaults = {"processing_config": {"delegation_level": "unrestricted"}}
    await two(hass, llm_server, None, options={"default_profile_settings": defaults})
    llm_server.plan(ask(), text("It is locked."), text("Locked."))
    assert speech(await say(hass, "ask the expert", context=alice)) == "Locked."


async def test_a_model_may_ask_for_more_care(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await two(hass, llm_server)
    llm_server.plan(ask(confirm_delegation=True))
    result = await say(hass, "ask the expert", context=alice)
    assert speech(result).startswith("Let Expert do this")
    assert speech(await say(hass, "no", result.conversation_id, context=alice)) == "OK, nothing was done."
    assert models(llm_server) == ["scripted"]


@pytest.mark.parametrize("who", ["bob", "nobody", "device"])
async def test_somebody_elses_yes(hass: HomeAssistant, llm_server: LLMServer, alice: Context, who: str) -> None:
    await two(hass, llm_server, "confirm")
    llm_server.plan(ask())
    result = await say(hass, "ask the expert", context=alice)
    speakers: dict[str, dict[str, Any]] = {"bob": {"context": person(hass, "Bob")}, "device": {"device_id": "d"}}
    await say(hass, "yes", result.conversation_id, **speakers.get(who, {}))
    assert models(llm_server) == ["scripted"]
    llm_server.plan(text("It is locked."))
    assert speech(await say(hass, "yes", result.conversation_id, context=alice)) == "It is locked."


async def test_its_question_is_the_answer(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    requested = async_capture_events(hass, events.CONFIRMATION_REQUESTED)
    await two(hass, llm_server, first={"native_tools": False})
    llm_server.plan(ask("Unlock the door."), tool_call("ha_control", UNLOCK))
    result = await say(hass, "let me in", context=alice)
    assert speech(result) == QUESTION
    assert models(llm_server) == ["scripted", "model-2"]  # nobody is asked what a person has to say
    assert [item.data["conversation_id"] for item in requested] == [result.conversation_id]
    assert state_of(hass, DOOR) == "locked"
    await say(hass, "yes", result.conversation_id, context=person(hass, "Bob"))
    assert state_of(hass, DOOR) == "locked"
    assert "unlocked" in speech(await say(hass, "yes", result.conversation_id, context=alice))
    assert state_of(hass, DOOR) == "unlocked"


async def test_a_no_to_a_question_that_arises_there(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await two(hass, llm_server)
    llm_server.plan(ask("Unlock the door."), tool_call("ha_control", UNLOCK))
    result = await say(hass, "let me in", context=alice)
    await say(hass, "no", result.conversation_id, context=alice)
    await say(hass, "yes", result.conversation_id, context=alice)
    assert state_of(hass, DOOR) == "locked"
    llm_server.plan(text("It is locked."))
    await say(hass, "what is the matter with the door", result.conversation_id, context=alice)
    call, answer = [item for item in llm_server.request.body["messages"] if item["role"] in ("assistant", "tool")][:2]
    assert call["tool_calls"][0]["function"]["name"] == "delegate_to_service"
    assert "needs the user's confirmation" in json.loads(answer["content"].partition("\n")[0])["error"]


async def test_two_questions_one_after_the_other(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await two(hass, llm_server, "confirm", options={"pins": {"unlock": "2468"}})
    llm_server.plan(ask("Unlock the door."))
    result = await say(hass, "let me in", context=alice)
    assert speech(result) == "Let Expert do this: “Unlock the door.”?"
    llm_server.plan(tool_call("ha_control", UNLOCK))
    result = await say(hass, "yes", result.conversation_id, context=alice)
    assert speech(result).startswith(QUESTION)
    await say(hass, "yes", result.conversation_id, context=alice)
    assert state_of(hass, DOOR) == "locked"  # its PIN holds here as well
    await say(hass, "yes 2468", result.conversation_id, context=alice)
    assert state_of(hass, DOOR) == "unlocked"
    assert llm_server.request.body["model"] == "model-2"


async def test_what_was_done_there_is_undone_here(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT["entity_id"]}, blocking=True)
    await two(hass, llm_server, first={"native_tools": False})
    llm_server.plan(
        ask("Turn on the bed light."), tool_call("ha_control", LIGHT), text("It is on."), text("Bed Light is on.")
    )
    result = await say(hass, "turn on the bed light", context=alice)
    assert speech(result) == "Bed Light is on."  # and nobody says that nothing was done
    state = hass.states.get(LIGHT["entity_id"])
    assert state is not None
    assert (state.state, state.context.user_id) == ("on", alice.user_id)
    await say(hass, "undo that", result.conversation_id, context=alice)
    assert state_of(hass, LIGHT["entity_id"]) == "off"


async def test_without_a_known_user_it_is_undone_here(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT["entity_id"]}, blocking=True)
    entry = await two(hass, llm_server)
    llm_server.plan(ask("Turn on the bed light."), tool_call("ha_control", LIGHT), text("It is on."), text("Done."))
    result = await say(hass, "turn on the bed light")
    await say(hass, "undo that", result.conversation_id)
    assert state_of(hass, LIGHT["entity_id"]) == "off"
    actions = entry.runtime_data.journal.newest_first(lambda action: True)
    assert {action.conversation_id for action in actions} == {result.conversation_id}
    assert {action.words for action in actions if action.tool == "ha_control"} == {"turn on the bed light"}
    assert {action.profile for action in actions if action.tool == "ha_control"} == {"Expert"}


@pytest.mark.parametrize("depth", [1, 2])
async def test_a_waiting_one_is_skipped(hass: HomeAssistant, llm_server: LLMServer, alice: Context, depth: int) -> None:
    """A to B to A, and not further than the owner lets it."""
    cook = profile(3, "Cook", delegation_level="unrestricted", delegate_to=["profile-1"])
    await two(
        hass,
        llm_server,
        first={"delegation_level": "unrestricted"},
        second={"delegate_to": ["profile-1", "profile-3"]},
        more=(cook,),
        options={"delegation_depth": depth},
    )
    seen: list[str] = []

    def respond(body: dict[str, Any]) -> Reply:
        [tool] = [item["function"] for item in body["tools"] if item["function"]["name"] == "delegate_to_service"]
        names = tool["parameters"]["properties"]["target_service_id"]["enum"]  # which tells who it is
        results = [item["content"] for item in body["messages"] if item["role"] == "tool"]
        seen.extend(str(json.loads(item.partition("\n")[0])["error"]) for item in results[-1:])
        others = {"expert": ["expert"], "home_agent": ["home_agent"]}.get(names[-1], []) if len(names) == 1 else []
        others = others or ["home_agent", "cook"]
        return ask("And you?", others[len(results)]) if len(results) < len(others) else text("Well.")

    llm_server.respond(respond)
    assert speech(await say(hass, "ask the expert", context=alice)) == "Well."
    again = delegation.REFUSED["again"].format(name="home_agent")
    assert seen == [again, *((delegation.REFUSED["deep"],) if depth == 1 else (again, "None")), "None"]


async def test_calls_there_count_here(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await two(hass, llm_server, first={"max_calls_per_turn": 2})
    look = tool_call("ha_query", {"entity_id": DOOR})
    llm_server.plan(ask(), look, look, text("Locked."), text("It is locked."))
    await say(hass, "ask the expert", context=alice)
    results = [item["content"] for item in llm_server.requests[3].body["messages"] if item["role"] == "tool"]
    assert [json.loads(item.partition("\n")[0])["success"] for item in results] == [True, False]
    assert "The limit of 2 tool calls" in results[1]


async def test_the_throttle_holds(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await two(hass, llm_server, options={"throttle_turns": 1})
    llm_server.plan(text("Hello."))
    await say(hass, "hello", agent_id="conversation.expert")
    llm_server.plan(ask(), text("Not now."))
    assert speech(await say(hass, "ask the expert")) == "Not now."
    assert envelope(llm_server)["error"].startswith("The agent 'expert' failed: ")
    assert models(llm_server) == ["model-2", "scripted", "scripted"]


async def test_who_is_slow_is_given_up(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await two(hass, llm_server, first={"tool_timeout": 1})
    llm_server.plan(ask(), silence(), text("The expert is slow."))
    assert speech(await say(hass, "ask the expert", context=alice)) == "The expert is slow."
    assert envelope(llm_server)["error"] == delegation.DelegateToService.timed_out.format(seconds=1)
    llm_server.plan(text("I am here."))
    assert speech(await say(hass, "and you?", context=alice, agent_id="conversation.expert")) == "I am here."


async def test_neither_history_is_mixed(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await two(hass, llm_server, second={"continue_conversation": "user"})
    llm_server.plan(text("I note: nougat."))
    await say(hass, "remember nougat", context=alice, agent_id="conversation.expert")
    llm_server.plan(ask("What about the door?"), text("It is locked."), text("Locked."))
    result = await say(hass, "marzipan", context=alice)
    assert "nougat" not in llm_server.requests[2].raw.decode()
    llm_server.plan(text("Fine."), text("Fine."))
    await say(hass, "and now?", context=alice, agent_id="conversation.expert")  # goes on where the user left off
    assert "nougat" in llm_server.request.raw.decode()
    assert "What about the door?" not in llm_server.request.raw.decode()
    await say(hass, "and here?", result.conversation_id, context=alice)
    assert "marzipan" in llm_server.request.raw.decode()
    assert "You are the expert." not in llm_server.request.raw.decode()


async def test_who_fails_is_told_and_its_tokens_count(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = async_capture_events(hass, events.CONVERSATION_FINISHED)
    await two(hass, llm_server)
    llm_server.plan(
        ask("Write a poem about the door"), server_error(), server_error(), text("The expert is down.", usage=True)
    )
    assert speech(await say(hass, "ask the expert", context=alice)) == "The expert is down."
    failed = envelope(llm_server)
    assert (failed["success"], failed["result"]) == (False, None)
    assert failed["error"].startswith("The agent 'expert' failed: ")
    there, here = finished
    assert there.data["parent_conversation_id"] == here.data["conversation_id"]


async def test_tokens_add_up(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    names = (events.CONVERSATION_STARTED, events.CONVERSATION_FINISHED, events.TOOL_PROGRESS, events.TOOL_EXECUTED)
    heard = {name: async_capture_events(hass, name) for name in names}
    await two(hass, llm_server)
    numbers = {"prompt_tokens": 1000, "completion_tokens": 100}
    look = tool_call("ha_query", {"entity_id": DOOR}, usage=numbers)
    llm_server.plan(ask(), look, text("Locked.", usage=numbers), text("It is locked.", usage=numbers))
    result = await say(hass, "ask the expert", context=alice)
    there, here = heard[events.CONVERSATION_FINISHED]
    assert (there.data["profile"], here.data["profile"]) == ("Expert", "Home Agent")
    assert there.data["tokens_used"]["prompt"] == 2000
    assert here.data["tokens_used"]["prompt"] > 3000
    assert here.data["tool_breakdown"] == {"delegate_to_service": 1}
    for found in heard.values():
        parents = {item.data["profile"]: item.data.get("parent_conversation_id") for item in found}
        assert parents == {"Expert": result.conversation_id, "Home Agent": None}
    progress = [(item.data["profile"], item.data["tool_name"]) for item in heard[events.TOOL_PROGRESS]]
    outer, inner = ("Home Agent", "delegate_to_service"), ("Expert", "ha_query")
    assert progress == [outer, inner, inner, outer]


async def test_its_words_stream_as_thoughts(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await two(hass, llm_server)
    llm_server.plan(ask(), text("It is locked."), text("The door is locked."))
    deltas: list[dict[str, Any]] = []

    def listen(_log: ChatLog, delta: dict[str, Any]) -> None:
        deltas.append(delta)

    whose: dict[str, Any] = {"context": alice} if delegation._OWNED else {}
    with (
        chat_session.async_get_chat_session(hass, None, **whose) as session,
        conversation.async_get_chat_log(hass, session, chat_log_delta_listener=listen),
    ):
        await say(hass, "ask the expert", session.conversation_id, context=alice)
    assert "".join(item.get("thinking_content") or "" for item in deltas) == "It is locked."
    assert "".join(item.get("content") or "" for item in deltas if item.get("role") != "tool_result") == (
        "The door is locked."
    )


@pytest.mark.parametrize(
    "limits", [{"never_offer": ["lock.*"]}, {"may_change": ["light"]}, {"exposed_entities": ["light"]}]
)
async def test_the_first_agents_limits_hold(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, limits: dict[str, Any]
) -> None:
    """A restricted agent that asks for the lock through another gets no more than its own rights."""
    await two(hass, llm_server, first=limits, second={"never_ask": ["lock"], "always_ask": ["light"]})
    llm_server.plan(ask("Unlock."), tool_call("ha_control", UNLOCK), text("I may not."), text("No."))
    assert speech(await say(hass, "let me in", context=alice)) == "No."
    assert state_of(hass, DOOR) == "locked"
    refused = json.loads(llm_server.requests[2].body["messages"][-1]["content"].partition("\n")[0])
    assert refused["success"] is False
    llm_server.plan(ask("Light."), tool_call("ha_control", LIGHT))
    assert speech(await say(hass, "light please", context=alice)).endswith("?")


async def test_the_first_agents_questions(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await two(hass, llm_server, second={"never_ask": ["lock"]})
    llm_server.plan(ask("Unlock."), tool_call("ha_control", UNLOCK))
    result = await say(hass, "let me in", context=alice)
    assert speech(result) == QUESTION
    await say(hass, "yes", result.conversation_id, context=alice)
    assert state_of(hass, DOOR) == "unlocked"


async def test_the_user_may_do_no_more_there(hass: HomeAssistant, llm_server: LLMServer) -> None:
    guest = person(hass, "Guest", {"entities": {"entity_ids": {LIGHT["entity_id"]: True}}})
    await two(hass, llm_server, second={"never_ask": ["lock"]}, first={"never_ask": ["lock"]})
    llm_server.plan(ask("Unlock."), tool_call("ha_control", UNLOCK), text("I may not."), text("No."))
    await say(hass, "let me in", context=guest)
    assert state_of(hass, DOOR) == "locked"


async def test_text_from_outside_travels_both_ways(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    never = {"never_ask": ["lock"]}
    await two(hass, llm_server, first=never, second=never)
    web = {"collection": "home", "text": "The code word is nougat.", "title": "Words", "outside": True}
    await hass.services.async_call("home_agent", "add_document", web, blocking=True, return_response=True)
    llm_server.plan(ask("Unlock."), tool_call("ha_control", UNLOCK))
    assert speech(await say(hass, "what is the code word", context=alice)).endswith(QUESTION)
    llm_server.plan(ask("What is the code word?"), text("Nougat."), tool_call("ha_control", UNLOCK))
    assert speech(await say(hass, "how are you", context=alice)).endswith(QUESTION)
    assert state_of(hass, DOOR) == "locked"
    llm_server.plan(tool_call("ha_control", UNLOCK), text("It is open."))
    await say(hass, "how are you", context=alice)  # a conversation that has read nothing of it
    assert state_of(hass, DOOR) == "unlocked"


async def test_from_an_automation(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """Nobody can be asked: what needs a yes is refused, there as here."""
    await two(hass, llm_server)
    llm_server.plan(ask("Unlock."), tool_call("ha_control", UNLOCK), text("Nobody can say yes."), text("No."))
    assert speech(await say(hass, "let me in")) == "No."
    assert state_of(hass, DOOR) == "locked"
    refused = json.loads(llm_server.requests[2].body["messages"][-1]["content"].partition("\n")[0])
    assert "no one here can confirm" in refused["error"]


async def test_an_automation_reaches_nobody_who_asks_first(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await two(hass, llm_server, "confirm")
    llm_server.plan(ask(), text("I cannot."))
    await say(hass, "ask the expert")
    assert "delegate_to_service" not in offered(llm_server, 0)
    assert models(llm_server) == ["scripted"] * 2


@pytest.mark.parametrize("level", ["confirm", "unrestricted"])
async def test_a_phone_is_asked(hass: HomeAssistant, llm_server: LLMServer, alice: Context, level: str) -> None:
    """The owner of a phone answers an automation: a request before it is handed on, or what the other agent wants to do."""
    await two(hass, llm_server, level)
    _, sent = add_phone(hass, alice)
    llm_server.plan(ask("Unlock."))
    if level == "unrestricted":
        llm_server.plan(tool_call("ha_control", UNLOCK))
    answer = await act(hass, "process", text="let me in", confirm_via=[PHONE])
    assert sent[0].data["message"] == (QUESTION if level == "unrestricted" else "Let Expert do this: “Unlock.”?")
    if level == "confirm":  # nobody is there for one more question
        llm_server.plan(tool_call("ha_control", UNLOCK), text("Nobody let me."))
    await press(hass, CONFIRM, str(answer["confirmation"]), alice)
    assert state_of(hass, DOOR) == ("unlocked" if level == "unrestricted" else "locked")
    if level == "confirm":
        assert sent[-1].data == {"message": "Nobody let me."}


async def test_an_answer_to_home_agent_confirm(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await two(hass, llm_server, "confirm")
    requested = async_capture_events(hass, events.CONFIRMATION_REQUESTED)
    llm_server.plan(ask())
    await say(hass, "ask the expert", context=alice)
    llm_server.plan(text("It is locked."))
    answer = await act(hass, "confirm", alice, request_id=requested[0].data["request_id"])
    assert answer["answer"] == "It is locked."


OTHER = "conversation.home_assistant"


async def with_another(hass: HomeAssistant, server: LLMServer, **options: Any) -> MockConfigEntry:
    return await set_up(
        hass, server, profile={"delegate_to": [OTHER]}, options={"delegation_agents": [OTHER], **options}
    )


async def test_a_foreign_agent_the_owner_added(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server, profile={"delegate_to": [OTHER]})
    llm_server.plan(text("Hello."))
    await say(hass, "hello", context=alice)
    assert "delegate_to_service" not in offered(llm_server, 0)


async def test_an_agent_of_others(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT["entity_id"]}, blocking=True)
    entry = await with_another(hass, llm_server)
    llm_server.plan(ask("turn on Bed Light", OTHER, confirm_delegation=False))
    result = await say(hass, "ask the other one", context=alice)
    assert "turn on Bed Light" in speech(result)
    assert state_of(hass, LIGHT["entity_id"]) == "off"
    assert speech(await say(hass, "yes", result.conversation_id, context=alice)) == "Turned on the light"
    assert state_of(hass, LIGHT["entity_id"]) == "on"
    found = entry.runtime_data.transcripts
    assert result.conversation_id is not None
    with found.turn(result.conversation_id, "profile-1") as transcript:
        assert "delegate_to_service" in transcript.taints


async def test_a_foreign_agent_without_questions(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await with_another(hass, llm_server, never_confirm=[OTHER])
    llm_server.plan(ask("turn on Bed Light", OTHER), text("It is on."))
    result = await say(hass, "ask the other one", context=alice)
    assert envelope(llm_server)["result"] == "Turned on the light"
    llm_server.plan(ask("turn off Bed Light", OTHER))  # it has spoken: from now on its words may be anybody's
    assert speech(await say(hass, "and off again", result.conversation_id, context=alice)).endswith("?")
    assert state_of(hass, LIGHT["entity_id"]) == "on"


async def test_a_foreign_agent_that_fails(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await with_another(hass, llm_server, never_confirm=[OTHER])
    llm_server.plan(ask("sing a song about nougat", OTHER), text("It did not understand."))
    await say(hass, "ask the other one", context=alice)
    assert envelope(llm_server)["error"].startswith(f"The agent '{OTHER}' failed: ")


async def test_our_own_agents_are_not_foreign(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    ours = "conversation.expert"
    options = {"delegation_agents": [ours]}
    await two(hass, llm_server, "blocked", first={"delegate_to": [ours]}, options=options)
    llm_server.plan(text("Hello."))
    await say(hass, "hello", context=alice)
    assert "delegate_to_service" not in offered(llm_server, 0)


async def test_without_memory_or_documents_here_none_there(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, hass_config_dir: str
) -> None:
    entry = await two(hass, llm_server, first={"memory": "off", "documents_for": "nobody"})
    data = {"collection": "home", "text": "The code word is nougat.", "title": "Words"}
    await hass.services.async_call("home_agent", "add_document", data, blocking=True, return_response=True)
    llm_server.plan(ask("What is the code word?"), text("I do not know."), text("No idea."))
    await say(hass, "what is the code word", context=alice)
    assert "nougat" not in llm_server.requests[1].raw.decode()
    llm_server.plan(text("It is nougat."))
    await say(hass, "what is the code word", context=alice, agent_id="conversation.expert")
    assert "nougat" in llm_server.request.raw.decode()
    assert entry.runtime_data.memories is not None


def test_ids_follow_from_names_and_are_unique() -> None:
    named = [("", "Küche"), ("", "Kuche"), ("my_id", "Küche"), ("", "My ID"), ("kuche_2", "x")]
    assert profile_ids(named) == ["kuche", "kuche_3", "my_id", "my_id_2", "kuche_2"]
