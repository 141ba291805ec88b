"""A message that touches several extensions: who is asked, what each is told, what comes of faults, yes and no."""

import asyncio
from collections.abc import Generator
from dataclasses import dataclass, replace
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any, override

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.conversation import ChatLog, ConversationResult, chat_log as ha_chat_log
from homeassistant.config_entries import ConfigEntry, ConfigEntryState, ConfigSubentry
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import chat_session, llm
from homeassistant.util.json import JsonObjectType
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockModule,
    MockUser,
    async_capture_events,
    mock_integration,
)

from custom_components.home_agent.agent.router import AT_ONCE
from custom_components.home_agent.agent.segments import MOST, Segment, segments_of
from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.policy.channels import CONFIRM
from custom_components.home_agent.support.kept import kept_of
from custom_components.home_agent.tools import delegation
from custom_components.home_agent.tools.extensions.extensions import RegisteredExtension, async_register_extension
from custom_components.home_agent.turn import events
from tests.extensions import LIGHT_SCHEMA, GetWorkoutToday, Kitchen, UpdateItem, chefbyte, coachbyte
from tests.house import act, build_house, person, say, set_up, speech, state_of, until
from tests.llm_server import LLMServer, Reply, chunks, cut, delta, server_error, silence, text, tool_call
from tests.memory.conftest import said
from tests.policy.confirmation.test_phones import PHONE, add_phone, press
from tests.routing import CHEF, COACH, ITSELF, ROUTER, SYNTHESIZER, Parts, segments
from tests.test_delegation import model, profile
from tests.transcript.conftest import end_sessions

WISH = "add milk to my inventory and return my workout plan for today"
MILK, PLAN = "add milk to inventory", "return workout plan for today"
BOTH = {"ChefByte": MILK, "CoachByte": PLAN}
ADD = tool_call("CHEFBYTE_UPDATE_ITEM", {"item": "milk", "quantity": "1 gallon"}, usage=True)
READ = tool_call("COACHBYTE_GET_WORKOUT_TODAY", {}, usage=True)
ANSWER = "Milk is in your inventory. Today: a 5 km run and squats."
NAMES = ["ChefByte", "CoachByte"]


@dataclass
class World:
    """A home with two extensions and an agent that routes to them."""

    hass: HomeAssistant
    parts: Parts
    kitchen: Kitchen
    alice: Context
    entry: MockConfigEntry

    async def say(self, wish: str = WISH, conversation_id: str | None = None, **fields: Any) -> ConversationResult:
        return await say(self.hass, wish, conversation_id, **{"context": self.alice, **fields})

    def plan_both(self) -> None:
        """Plan a turn in which all goes well, up to the synthesizer."""
        self.parts.plan(ROUTER, segments(**BOTH))
        self.parts.plan(CHEF, ADD, text("Milk: 1 gallon.", usage=True))
        self.parts.plan(COACH, READ, text("5 km run, 3 x 10 squats.", usage=True))

    def returns(self) -> list[dict[str, Any]]:
        """Return what the newest request of the synthesizer was told."""
        said: str = self.parts.of(SYNTHESIZER)[-1]["messages"][-1]["content"]
        told = said.rpartition("<house>")[2].removesuffix("</house>")
        found: list[dict[str, Any]] = json.loads(told)["returns"]
        return found


@pytest.fixture
def parts(llm_server: LLMServer) -> Generator[Parts]:
    """The model in all its parts."""
    found = Parts(llm_server)
    yield found
    found.assert_done()


@pytest.fixture
def settings() -> dict[str, Any]:
    """What the profile is set to besides."""
    return {}


@pytest.fixture
def destructive() -> bool:
    """Whether it needs a yes to change what is in the kitchen."""
    return False


@pytest.fixture
async def world(hass: HomeAssistant, house: None, parts: Parts, settings: dict[str, Any], destructive: bool) -> World:
    await build_house(hass)
    kitchen = Kitchen()
    async_register_extension(hass, coachbyte())
    async_register_extension(hass, chefbyte(kitchen, destructive=destructive))
    profile = {"routing": "router", "extensions": NAMES, "prompt_additions": "You are the butler.", **settings}
    entry = await set_up(hass, parts.server, profile=profile)
    return World(hass, parts, kitchen, person(hass, "Alice"), entry)


def tools(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", ())]


def system(body: dict[str, Any]) -> str:
    content: str = body["messages"][0]["content"]
    return content


async def test_a_message_is_split_done_and_answered_as_one(hass: HomeAssistant, world: World) -> None:
    finished = async_capture_events(hass, events.CONVERSATION_FINISHED)
    world.plan_both()
    world.parts.plan(SYNTHESIZER, text(ANSWER, usage=True))
    result = await world.say()
    assert speech(result) == ANSWER
    assert world.kitchen.items["milk"] == "1 gallon"
    assert [asked.context for asked in world.kitchen.asked_by] == [world.alice]

    asked = world.parts.asked
    assert (asked[0], asked[-1], sorted(asked[1:-1])) == (ROUTER, SYNTHESIZER, [CHEF, CHEF, COACH, COACH])

    [router] = world.parts.of(ROUTER)
    assert "tools" not in router
    assert not router["stream"]
    assert system(router).endswith(f"## Agents\n\n{LIGHT_SCHEMA}")
    assert router["messages"][-1]["content"].endswith(WISH)
    assert [item["role"] for item in router["messages"]] == ["system", "user"]
    for hidden in ("Use precise units", "Idempotent", "butler", "light.bed_light", "parameters"):
        assert hidden not in json.dumps(router)

    chef, chef_again = world.parts.of(CHEF)
    assert tools(chef) == ["CHEFBYTE_GET_INVENTORY", "CHEFBYTE_UPDATE_ITEM"]
    described = {tool["function"]["name"]: tool["function"]["description"] for tool in chef["tools"]}
    assert described["CHEFBYTE_UPDATE_ITEM"].endswith("Idempotent; validates unit compatibility.")
    assert system(chef).startswith("Manage kitchen inventory and meal planning for the user.\nUse precise units;")
    said = chef["messages"][-1]["content"]
    assert WISH in said
    assert f'{{"task":"{MILK}"}}' in said
    assert PLAN not in said
    assert "butler" not in system(chef)
    assert "Plan and track" not in json.dumps(chef)
    assert chef_again["messages"][: len(chef["messages"])] == chef["messages"]
    [coach, _] = world.parts.of(COACH)
    assert tools(coach) == ["COACHBYTE_GET_WORKOUT_TODAY"]

    [synthesizer] = world.parts.of(SYNTHESIZER)
    assert "tools" not in synthesizer
    assert synthesizer["stream"]
    assert system(synthesizer).endswith("You are the butler.")
    assert world.returns() == [
        {"agent": "ChefByte", "task": MILK, "result": "Milk: 1 gallon."},
        {"agent": "CoachByte", "task": PLAN, "result": "5 km run, 3 x 10 squats."},
    ]
    for hidden in ("CHEFBYTE_", "Use precise units"):
        assert hidden not in json.dumps(synthesizer)

    [event] = finished
    data = event.data
    assert data["model_requests"] == len(asked) == 1 + 2 + 2 + 1
    routing = data["routing"]
    assert [routing["router"]["requests"], routing["synthesizer"]["requests"]] == [1, 1]
    assert {name: share["requests"] for name, share in routing["domains"].items()} == {"ChefByte": 2, "CoachByte": 2}
    shares = [routing["router"], routing["synthesizer"], *routing["domains"].values()]
    assert all(share["prompt"] > 0 and share["completion"] > 0 for share in shares)
    assert sum(share["prompt"] for share in shares) == data["tokens_used"]["prompt"]
    assert sum(share["completion"] for share in shares) == data["tokens_used"]["completion"]
    assert data["tool_breakdown"] == {"CHEFBYTE_UPDATE_ITEM": 1, "COACHBYTE_GET_WORKOUT_TODAY": 1}


@pytest.mark.parametrize("settings", [{"history_max_messages": 4, "history_summary": True}])
async def test_what_is_dropped_in_split_turns_is_summed_up(hass: HomeAssistant, world: World) -> None:
    """Not only what is dropped where the profile answers by itself; each part of the turn is told the summary."""
    conversation_id = None
    for number in range(5):
        world.parts.plan(ROUTER, segments(ChefByte=f"wish {number}"))
        world.parts.plan(CHEF, text(f"Part {number}."))
        world.parts.plan(SYNTHESIZER, text(f"Answer {number}."))
        if number == 3:
            world.parts.plan(ITSELF, text("They asked for wishes."))
        result = await world.say(f"say {number}", conversation_id)
        conversation_id = result.conversation_id
        await hass.async_block_till_done(wait_background_tasks=True)
    [summary] = world.parts.of(ITSELF)
    assert [json.loads(line) for line in summary["messages"][1]["content"].splitlines()] == [
        {"person": "say 0"}, {"assistant": "Answer 0."}, {"person": "say 1"}, {"assistant": "Answer 1."},
    ]  # fmt: skip
    for part in (ROUTER, CHEF, SYNTHESIZER):
        before, after = world.parts.of(part)[-2:]
        assert "They asked for wishes." not in json.dumps(before)
        assert "They asked for wishes." in json.dumps(after)
        assert "say 0" not in json.dumps(after)
    world.parts.plan(ROUTER, text("[]"))
    world.parts.plan(ITSELF, text("Good morning."), text("They asked for more."))
    await world.say("good morning", conversation_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    itself, _ = (json.dumps(body) for body in world.parts.of(ITSELF)[-2:])
    assert "say 0" not in itself
    assert "They asked for wishes." in itself


@pytest.mark.parametrize("slow", [CHEF, COACH])
async def test_the_order_is_that_of_the_message_whoever_is_first(world: World, slow: str) -> None:
    world.parts.plan(ROUTER, segments(**BOTH))
    for part in (CHEF, COACH):
        world.parts.plan(part, text(f"{part} is done.", pause=0.1 if part == slow else 0.0))
    world.parts.plan(SYNTHESIZER, text("All done there."))
    await world.say()
    assert [one["agent"] for one in world.returns()] == NAMES


async def test_parts_are_done_side_by_side(world: World) -> None:
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, text("Milk.", delay=0.6))
    world.parts.plan(COACH, text("A run.", delay=0.6))
    world.parts.plan(SYNTHESIZER, text("All done there."))
    await world.say()
    first, second = [request.arrived for request in world.parts.server.requests][1:3]
    assert abs(second - first) < 0.5


async def test_more_parts_wait_for_each_other(hass: HomeAssistant, world: World) -> None:
    """A model of the home answers few at once; what is said and counted is in the order of the message all the same."""
    names = [f"Room{number}" for number in range(AT_ONCE + 1)]
    for name in names:
        tool = GetWorkoutToday()
        tool.name = f"{name.upper()}_GET_PLAN"
        async_register_extension(hass, RegisteredExtension(name=name, prompt=f"Knows {name}.", tools=[tool]))
    [own, *_] = world.entry.subentries.values()
    hass.config_entries.async_update_subentry(world.entry, own, data={**own.data, "extensions": names})
    await hass.async_block_till_done()
    finished = async_capture_events(hass, events.CONVERSATION_FINISHED)
    world.parts.plan(ROUTER, segments(**dict.fromkeys(reversed(names), "say the plan")))
    world.parts.plan(ITSELF, *(text("A run.", delay=0.3 - 0.05 * number) for number in range(len(names))))
    world.parts.plan(SYNTHESIZER, text("They all run."))
    await world.say()
    first, *_, last = [one.arrived for one in world.parts.server.requests][1:-1]
    assert last - first >= 0.15  # one of the others has come back by then
    assert [one["agent"] for one in world.returns()] == names[::-1]
    assert [*finished[0].data["routing"]["domains"]] == names[::-1]
    assert finished[0].data["model_requests"] == 1 + len(names) + 1


async def test_the_words_of_the_synthesizer_stream(hass: HomeAssistant, world: World) -> None:
    heard: list[dict[str, Any]] = []
    world.plan_both()
    world.parts.plan(SYNTHESIZER, text(ANSWER))

    def listen(_log: ChatLog, delta: dict[str, Any]) -> None:
        heard.append(delta)

    whose: dict[str, Any] = {"context": world.alice} if delegation._OWNED else {}
    with (
        chat_session.async_get_chat_session(hass, None, **whose) as session,
        ha_chat_log.async_get_chat_log(hass, session, chat_log_delta_listener=listen),
    ):
        await world.say(conversation_id=session.conversation_id)
    words = [delta["content"] for delta in heard if delta.get("content")]
    assert len(words) > 3
    assert "".join(words) == ANSWER
    thoughts = "".join(delta.get("thinking_content") or "" for delta in heard)
    assert "Milk: 1 gallon." in thoughts  # what the parts say is no part of the answer


async def test_smalltalk_is_answered_by_the_profile(world: World) -> None:
    world.parts.plan(ROUTER, text("[]"))
    world.parts.plan(ITSELF, text("Good morning."))
    assert speech(await world.say("good morning")) == "Good morning."
    assert world.parts.asked == [ROUTER, ITSELF]
    assert "ha_control" in tools(world.parts.of(ITSELF)[0])


@pytest.mark.parametrize(("settings", "reply"), [
    ({}, text('[{"extension": "ChefByte", "intent": ')),
    ({}, text("I would say that is something for the kitchen.")),
    ({}, text('[{"extension": "Nobody", "intent": "add milk"}]')),
    ({}, text("")),
    ({}, server_error()),
    ({"routing_timeout": 1}, silence()),
    ({}, tool_call("CHEFBYTE_UPDATE_ITEM", {"item": "milk", "quantity": "9"})),
], ids=["bad JSON", "prose", "unknown name", "empty", "500", "timeout", "tool call"])  # fmt: skip
async def test_a_router_that_is_of_no_use(world: World, reply: Reply) -> None:
    world.parts.plan(ROUTER, reply)
    world.parts.plan(ITSELF, text("I do it myself."))
    assert speech(await world.say()) == "I do it myself."
    assert world.parts.asked == [ROUTER, ITSELF]  # asked once, never again
    assert "milk" not in world.kitchen.items


async def test_without_routing_nobody_is_asked_to_split(hass: HomeAssistant, parts: Parts) -> None:
    await build_house(hass)
    async_register_extension(hass, coachbyte())
    await set_up(hass, parts.server)
    finished = async_capture_events(hass, events.CONVERSATION_FINISHED)
    parts.plan(ITSELF, text("I have no plan."))
    await say(hass, WISH)
    assert parts.asked == [ITSELF]
    assert (finished[0].data["routing"], finished[0].data["model_requests"]) == (None, 1)


@pytest.mark.parametrize("settings", [{"extensions": []}])
async def test_without_extensions_nobody_is_asked_to_split(world: World) -> None:
    world.parts.plan(ITSELF, text("I have no plan."))
    assert speech(await world.say()) == "I have no plan."
    assert world.parts.asked == [ITSELF]


# Faults of the parts


@pytest.mark.parametrize("settings", [{"routing_timeout": 2}])
@pytest.mark.parametrize(("replies", "begins"), [
    ([server_error(), server_error()], "ChefByte couldn't do its part: add milk to inventory."),
    ([silence()], "ChefByte didn't answer in time: add milk to inventory."),
    ([text("")], "ChefByte couldn't do its part: add milk to inventory."),
    ([cut(text("Milk is"))], "ChefByte couldn't do its part: add milk to inventory."),
], ids=["500", "timeout", "empty", "cut"])  # fmt: skip
async def test_who_fails_is_named_in_the_one_answer(world: World, replies: list[Reply], begins: str) -> None:
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, *replies)
    world.parts.plan(COACH, READ, text("5 km run."))
    world.parts.plan(SYNTHESIZER, text("Today: a 5 km run."))
    told = speech(await world.say())
    assert told.startswith("Today: a 5 km run.\n\n")
    assert told.partition("\n\n")[2].startswith(begins)
    assert "failed" in world.returns()[0]
    assert world.returns()[1]["result"] == "5 km run."


async def test_who_breaks_off_after_something_was_done_is_not_said_to_have_done_nothing(world: World) -> None:
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, ADD, server_error(), server_error())
    world.parts.plan(COACH, READ, text("5 km run."))
    world.parts.plan(SYNTHESIZER, text("Today: a 5 km run. ChefByte could not add the milk."))
    assert speech(await world.say()).endswith(
        "ChefByte didn't finish its part: add milk to inventory. What it had begun may have happened."
    )
    assert world.kitchen.items["milk"] == "1 gallon"
    assert world.returns()[0]["failed"].endswith("What it had begun may have happened.")


async def test_who_is_named_by_the_synthesizer_is_not_named_again(world: World) -> None:
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, text(""))
    world.parts.plan(COACH, text("5 km run."))
    world.parts.plan(SYNTHESIZER, text("A 5 km run. ChefByte could not add the milk."))
    assert speech(await world.say()) == "A 5 km run. ChefByte could not add the milk."


async def test_a_name_alone_does_not_tell_of_a_failure(world: World) -> None:
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, text(""))
    world.parts.plan(COACH, text("5 km run."))
    world.parts.plan(SYNTHESIZER, text("ChefByte has the milk. A 5 km run is planned."))
    assert speech(await world.say()).endswith("ChefByte couldn't do its part: add milk to inventory.")


async def test_both_fail(world: World) -> None:
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, server_error(), server_error())
    world.parts.plan(COACH, server_error(), server_error())
    result = await world.say()
    assert speech(result) == (
        "ChefByte couldn't do its part: add milk to inventory. "
        "CoachByte couldn't do its part: return workout plan for today."
    )
    assert result.response.error_code is not None
    assert SYNTHESIZER not in world.parts.asked  # nothing is there to be put together


@pytest.mark.parametrize("reply", [server_error(), text(""), text("", thinking="Hm.")], ids=["500", "empty", "thinks"])
async def test_without_a_synthesizer_the_returns_are_told(world: World, reply: Reply) -> None:
    world.plan_both()
    world.parts.plan(SYNTHESIZER, reply)
    assert speech(await world.say()) == "ChefByte says: Milk: 1 gallon.\n\nCoachByte says: 5 km run, 3 x 10 squats."
    assert world.parts.asked.count(SYNTHESIZER) == 1


async def test_a_synthesizer_that_breaks_off(world: World) -> None:
    world.plan_both()
    world.parts.plan(SYNTHESIZER, cut(text("Milk is")))
    told = speech(await world.say())
    assert told.startswith("Milk is")
    assert told.endswith("ChefByte says: Milk: 1 gallon.\n\nCoachByte says: 5 km run, 3 x 10 squats.")


async def test_what_the_synthesizer_claims_is_judged(hass: HomeAssistant, world: World) -> None:
    """It says that a light is on which nobody has touched."""
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    world.parts.plan(ROUTER, segments(ChefByte="turn on the bed light"))
    world.parts.plan(CHEF, text("That is not mine."))
    world.parts.plan(SYNTHESIZER, text("I turned on the bed light."))
    told = speech(await world.say("turn on the bed light"))
    assert told.startswith("I turned on the bed light.\n\n")
    assert told.endswith("Actually, I haven't done anything.")
    assert world.parts.asked == [ROUTER, CHEF, SYNTHESIZER]


@pytest.mark.parametrize("settings", [{"language": "de"}, {"language": "de", "routing_skips": True}])
async def test_an_agent_with_a_language_speaks_it_in_all_its_parts(world: World, settings: dict[str, Any]) -> None:
    """Whatever language it is asked in: what fails and what is told without a model is said in its own."""
    both = "routing_skips" not in settings
    world.parts.plan(ROUTER, segments(**(BOTH if both else {"ChefByte": MILK})))
    world.parts.plan(CHEF, text(""))
    if both:
        world.parts.plan(COACH, text("5 km Lauf."))
        world.parts.plan(SYNTHESIZER, server_error())
    told = speech(await world.say())
    if both:
        assert told.endswith("ChefByte konnte den eigenen Teil nicht erledigen: add milk to inventory.")
    assert told.startswith("CoachByte meldet: 5 km Lauf." if both else "Das Modell hat eine leere Antwort gesendet.")
    for part in (CHEF, SYNTHESIZER) if both else (CHEF,):
        assert "Always answer in the language `de`" in system(world.parts.of(part)[0])


async def test_its_language_is_that_of_an_agent_behind_it(world: World) -> None:
    await lamps(world)
    [own, *_] = world.entry.subentries.values()
    data = {**own.data, "language": "de", "routing_skips": True}
    world.hass.config_entries.async_update_subentry(world.entry, own, data=data)
    await world.hass.async_block_till_done()
    world.parts.plan(ROUTER, segments(Lamps="turn on the bed light"))
    world.parts.plan(ITSELF, LIT, text("Das Licht ist an."))
    await world.say("turn on the bed light")
    assert "Always answer in the language `de`" in system(world.parts.of(ITSELF)[0])


# Yes and no


@pytest.mark.parametrize("destructive", [True])
async def test_a_yes_that_is_needed_is_what_the_answer_asks(world: World) -> None:
    requested = async_capture_events(world.hass, events.CONFIRMATION_REQUESTED)
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, ADD)
    world.parts.plan(COACH, text("5 km run."))
    world.parts.plan(SYNTHESIZER, text("Today: a 5 km run."))
    result = await world.say()
    told, _, question = speech(result).partition("\n\n")
    assert told == "Today: a 5 km run."
    assert question.endswith("?")
    assert result.continue_conversation
    assert world.returns()[0]["waits"]
    assert "milk" not in world.kitchen.items
    assert [item.data["conversation_id"] for item in requested] == [result.conversation_id]

    await world.say("yes", result.conversation_id, context=person(world.hass, "Bob"))
    assert "milk" not in world.kitchen.items
    await world.say("yes", result.conversation_id)
    assert world.kitchen.items["milk"] == "1 gallon"
    [asked] = world.kitchen.asked_by
    assert asked.context is not None
    assert asked.context.user_id == world.alice.user_id
    assert world.parts.asked.count(ROUTER) == 1  # a yes goes to nobody's model


@pytest.mark.parametrize("destructive", [True])
async def test_two_that_need_a_yes_are_one_question_in_the_order_of_the_message(world: World) -> None:
    await lamps(world, always_ask=[LIGHT])
    world.parts.plan(ROUTER, segments(Lamps="turn on the bed light", ChefByte=MILK))
    world.parts.plan(ITSELF, replace(LIT, delay=0.2))  # it asks last, and stands first
    world.parts.plan(CHEF, ADD)
    result = await world.say("turn on the bed light and add milk")
    assert speech(result) == (
        "Bed Light is off. Turn on Bed Light and run CHEFBYTE_UPDATE_ITEM (item: “milk”, quantity: “1 gallon”)?"
    )
    assert (state_of(world.hass, LIGHT), "milk" in world.kitchen.items) == ("off", False)
    await world.say("yes", result.conversation_id)
    assert (state_of(world.hass, LIGHT), world.kitchen.items["milk"]) == ("on", "1 gallon")


@pytest.mark.parametrize("destructive", [True])
async def test_a_phone_is_asked_once_for_all_parts(world: World) -> None:
    _, sent = add_phone(world.hass, world.alice)
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, ADD)
    world.parts.plan(COACH, text("5 km run."))
    world.parts.plan(SYNTHESIZER, text("Today: a 5 km run."))
    answer = await act(world.hass, "process", text=WISH, confirm_via=[PHONE])
    assert [item.data["message"] for item in sent] == ["Run CHEFBYTE_UPDATE_ITEM (item: “milk”, quantity: “1 gallon”)?"]
    assert "milk" not in world.kitchen.items
    await press(world.hass, CONFIRM, str(answer["confirmation"]), world.alice)
    assert world.kitchen.items["milk"] == "1 gallon"


async def test_what_is_said_after_a_yes_names_what_became_of_it(world: World) -> None:
    """Also where a tool has the name of a domain."""
    await kept_of(world.hass, Memories).async_add([said("Alice drinks oat milk.", owner=world.alice.user_id)])
    await lamps(world, always_ask=["forget_memory"])
    world.parts.plan(ROUTER, segments(Lamps="forget the oat milk"))
    world.parts.plan(ITSELF, tool_call("LAMPS_UPDATE_FORGET_MEMORY", {"query": "oat milk"}))
    result = await world.say("forget the oat milk")
    assert "Alice drinks oat milk" in speech(result)
    assert speech(await world.say("yes", result.conversation_id)) == "Done. I've forgotten “Alice drinks oat milk.”."


class UpdatePantry(UpdateItem):
    """Changes the pantry, under the name of another domain."""

    name = "PANTRY_UPDATE_ITEM"


async def test_an_extension_goes_with_the_integration_that_offers_it(world: World) -> None:
    """What it has asked by then is not done any more: its code may be gone."""
    hass, kitchen = world.hass, Kitchen()

    async def unload_entry(_hass: HomeAssistant, _entry: ConfigEntry) -> Any:
        return None if delegation._OWNED else True  # from Home Assistant 2026.11 on it returns nothing

    mock_integration(hass, MockModule("pantry", async_unload_entry=unload_entry))
    [own, *_] = world.entry.subentries.values()
    hass.config_entries.async_update_subentry(world.entry, own, data={**own.data, "extensions": ["Pantry"]})
    other = MockConfigEntry(domain="pantry", state=ConfigEntryState.LOADED)
    other.add_to_hass(hass)
    pantry_tools = (UpdatePantry(kitchen, destructive=True),)
    pantry = RegisteredExtension(name="Pantry", prompt="Keeps the pantry.", tools=pantry_tools)
    other.async_on_unload(async_register_extension(hass, pantry))
    await hass.async_block_till_done(wait_background_tasks=True)

    world.parts.plan(ROUTER, segments(Pantry=MILK))
    world.parts.plan(ITSELF, tool_call("PANTRY_UPDATE_ITEM", {"item": "milk", "quantity": "1 gallon"}))
    result = await world.say("add milk")
    assert speech(result).endswith("?")
    assert await hass.config_entries.async_unload(other.entry_id)
    assert "nothing was done" in speech(await world.say("yes", result.conversation_id))
    assert "milk" not in kitchen.items
    world.parts.plan(ITSELF, text("I have no pantry."))
    await world.say("add milk", result.conversation_id)
    assert world.parts.asked == [ROUTER, ITSELF, ITSELF]  # nothing is there to split among
    assert "PANTRY_UPDATE_ITEM" not in tools(world.parts.of(ITSELF)[1])


@pytest.mark.parametrize("destructive", [True])
@pytest.mark.parametrize("words", ["no", "what a nice day"])
async def test_no_and_other_words(world: World, words: str) -> None:
    world.parts.plan(ROUTER, segments(ChefByte=MILK))
    world.parts.plan(CHEF, ADD)
    result = await world.say()
    assert speech(result).endswith("?")
    assert world.parts.asked == [ROUTER, CHEF]  # nothing is there to be put together
    if words != "no":
        world.parts.plan(ROUTER, text("[]"))
        world.parts.plan(ITSELF, text("It is."))
    await world.say(words, result.conversation_id)
    if words == "no":
        await world.say("yes", result.conversation_id)
    assert "milk" not in world.kitchen.items


@pytest.mark.parametrize("destructive", [True])
async def test_where_nobody_can_be_asked_it_does_not_happen(world: World) -> None:
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, text("I have no tool for that."))
    world.parts.plan(COACH, text("5 km run."))
    world.parts.plan(SYNTHESIZER, text("A 5 km run; the milk was not added."))
    await world.say(context=Context())
    assert tools(world.parts.of(CHEF)[0]) == ["CHEFBYTE_GET_INVENTORY"]


# One extension alone


@pytest.mark.parametrize("settings", [{}, {"routing_skips": True}], ids=["put together", "as it is"])
async def test_one_extension_alone(world: World, settings: dict[str, Any]) -> None:
    world.parts.plan(ROUTER, segments(ChefByte=MILK))
    world.parts.plan(CHEF, ADD, text("Milk: 1 gallon."))
    if not settings:
        world.parts.plan(SYNTHESIZER, text("You have a gallon of milk now."))
    told = speech(await world.say("add milk"))
    assert told == ("Milk: 1 gallon." if settings else "You have a gallon of milk now.")
    assert world.kitchen.items["milk"] == "1 gallon"
    assert world.parts.asked == [ROUTER, CHEF, CHEF, *([] if settings else [SYNTHESIZER])]


@pytest.mark.parametrize("settings", [{"routing_skips": True, "routing_timeout": 2}])
@pytest.mark.parametrize(("replies", "told"), [
    ([text("")], "The model sent an empty answer. Please rephrase the question."),
    ([silence()], "ChefByte didn't answer in time: add milk to inventory. What it had begun may have happened."),
    ([server_error(), server_error()], "ChefByte couldn't do its part: add milk to inventory."),
    ([ADD, server_error(), server_error()], "Scripted reported an error: The server had an error"),
    (
        [cut(text("Milk is"))],
        "Milk is\n\nThe connection was lost in the middle of the answer. Please ask again for the rest.",
    ),
    (
        [chunks(delta(content="Milk is"), 60.0)],
        "Milk is\n\nChefByte didn't answer in time: add milk to inventory. What it had begun may have happened.",
    ),
], ids=["empty", "timeout", "500", "500 after a call", "cut", "slow"])  # fmt: skip
async def test_one_extension_alone_that_fails(world: World, replies: list[Reply], told: str) -> None:
    world.parts.plan(ROUTER, segments(ChefByte=MILK))
    world.parts.plan(CHEF, *replies)
    result = await world.say("add milk")
    assert speech(result) == told
    assert result.response.error_code is not None


@pytest.mark.parametrize("settings", [{"routing_skips": True}])
@pytest.mark.parametrize("destructive", [True])
async def test_one_extension_alone_that_asks(world: World) -> None:
    world.parts.plan(ROUTER, segments(ChefByte=MILK))
    world.parts.plan(CHEF, ADD)
    result = await world.say("add milk")
    assert speech(result).endswith("?")
    assert speech(result).count("?") == 1
    await world.say("yes", result.conversation_id)
    assert world.kitchen.items["milk"] == "1 gallon"


# What is told later


async def test_a_follow_up_knows_what_was_said_and_done(world: World) -> None:
    world.plan_both()
    world.parts.plan(SYNTHESIZER, text(ANSWER))
    result = await world.say()
    world.parts.plan(ROUTER, segments(ChefByte="make it two gallons of milk"))
    world.parts.plan(CHEF, text("Two gallons."))
    world.parts.plan(SYNTHESIZER, text("Two gallons it is."))
    await world.say("make it two", result.conversation_id)
    for part in (ROUTER, SYNTHESIZER):
        first, second = world.parts.of(part)
        roles = [item["role"] for item in second["messages"]]
        assert roles == ["system", "user", "assistant", "user"]
        assert second["messages"][2]["content"] == ANSWER
        assert second["messages"][0] == first["messages"][0]
        assert "tool_calls" not in json.dumps(second)
        asked_before = second["messages"][1]["content"]
        assert "returns" not in asked_before
        assert first["messages"][1]["content"].startswith(asked_before)
    assert world.parts.of(ROUTER)[1]["messages"][:2] == world.parts.of(ROUTER)[0]["messages"]
    first, _, third = world.parts.of(CHEF)
    assert third["messages"][:2] == first["messages"][:2]
    assert third["tools"] == first["tools"]
    sent = third["messages"]
    assert [item["role"] for item in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert sent[2]["tool_calls"][0]["function"]["name"] == "CHEFBYTE_UPDATE_ITEM"
    assert "COACHBYTE" not in json.dumps(third)
    assert sent[4]["content"] == ANSWER


async def test_who_joins_later_is_told_what_was_said(world: World) -> None:
    world.parts.plan(ROUTER, segments(ChefByte=MILK), segments(CoachByte="plan a run for that"))
    world.parts.plan(CHEF, text("Milk: 1 gallon."))
    world.parts.plan(SYNTHESIZER, text("Milk is there."), text("A run is planned."))
    world.parts.plan(COACH, text("Planned."))
    result = await world.say("add milk")
    await world.say("and a run for that", result.conversation_id)
    [coach] = world.parts.of(COACH)
    assert [item["role"] for item in coach["messages"]] == ["system", "user", "assistant", "user"]
    assert coach["messages"][1]["content"].endswith("add milk")


async def test_it_is_kept_as_one_round_and_told_again_later(world: World, freezer: FrozenDateTimeFactory) -> None:
    """Home Assistant has forgotten the conversation: what a part did is told to that part, and to nobody else."""
    world.plan_both()
    world.parts.plan(SYNTHESIZER, text(ANSWER))
    result = await world.say()
    [kept] = world.entry.runtime_data.conversations.content()["conversations"]
    said = [(message["role"], [call["name"] for call in message.get("tool_calls", ())]) for message in kept["messages"]]
    assert said == [
        ("user", []), ("assistant", ["CHEFBYTE_UPDATE_ITEM", "COACHBYTE_GET_WORKOUT_TODAY"]), ("assistant", []),
    ]  # fmt: skip
    assert kept["messages"][-1]["content"] == ANSWER

    await end_sessions(world.hass, freezer)
    world.parts.plan(ROUTER, segments(ChefByte="make it two gallons of milk"))
    world.parts.plan(CHEF, text("Two gallons."))
    world.parts.plan(SYNTHESIZER, text("Two gallons it is."))
    await world.say("make it two", result.conversation_id)
    router, chef = world.parts.of(ROUTER)[-1], world.parts.of(CHEF)[-1]
    assert [item["role"] for item in router["messages"]] == ["system", "user", "assistant", "user"]
    assert router["messages"][2]["content"] == ANSWER
    assert [item["role"] for item in chef["messages"]] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert "COACHBYTE" not in json.dumps(chef)


# Cancelled and stopped


async def test_cancelled_with_all_its_parts(world: World) -> None:
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, text("a b c d e f g h", pause=0.2))
    world.parts.plan(COACH, silence())
    turn = asyncio.create_task(world.say())
    await until(lambda: len(world.parts.asked) >= 3, 10)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await until(lambda: world.parts.server.disconnects >= 2, 5)
    await world.hass.async_block_till_done()
    assert SYNTHESIZER not in world.parts.asked


SLOW = text("a b c d e f g h", pause=0.2)
CHEF_ALONE = segments(ChefByte=MILK)
CANCELLED = {
    "router": ({}, {ROUTER: [silence()]}),
    "part": ({}, {ROUTER: [segments(**BOTH)], CHEF: [ADD, silence()], COACH: [silence()]}),
    "synthesizer": ({}, {ROUTER: [CHEF_ALONE], CHEF: [ADD, text("Milk.", usage=True)], SYNTHESIZER: [SLOW]}),
    "part that speaks": ({"routing_skips": True}, {ROUTER: [CHEF_ALONE], CHEF: [ADD, SLOW]}),
}


@pytest.mark.parametrize(("settings", "replies"), CANCELLED.values(), ids=CANCELLED.keys())
async def test_what_was_done_before_it_was_cancelled_is_counted(world: World, replies: dict[str, list[Reply]]) -> None:
    """Nobody is asked after that, and the next message begins anew."""
    finished = async_capture_events(world.hass, events.CONVERSATION_FINISHED)
    for part, planned in replies.items():
        world.parts.plan(part, *planned)
    count = sum(map(len, replies.values()))
    turn = asyncio.create_task(world.say(conversation_id="kitchen"))
    await until(lambda: len(world.parts.asked) >= count, 10)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await until(lambda: world.parts.server.disconnects, 5)
    await world.hass.async_block_till_done()

    assert len(world.parts.asked) == count
    [event] = finished
    data, routing = event.data, event.data["routing"]
    assert data["tool_breakdown"] == ({"CHEFBYTE_UPDATE_ITEM": 1} if CHEF in replies else {})
    shares = [routing["router"], routing["synthesizer"], *routing["domains"].values()]
    assert data["model_requests"] == sum(share["requests"] for share in shares) == count
    assert data["tokens_used"]["prompt"] == sum(share["prompt"] for share in shares)
    assert (data["tokens_used"]["prompt"] > 0) is (CHEF in replies)

    world.parts.plan(ROUTER, text("[]"))
    world.parts.plan(ITSELF, text("Good morning."))
    assert speech(await world.say("good morning", "kitchen")) == "Good morning."
    assert [item["role"] for item in world.parts.of(ITSELF)[0]["messages"]] == ["system", "user"]


@pytest.mark.parametrize("settings", [{"routing_skips": True}])
@pytest.mark.parametrize("place", ["kitchen", "gym"], ids=["one conversation", "two"])
async def test_two_messages_at_once(world: World, place: str) -> None:
    world.parts.plan(ROUTER, segments(ChefByte=MILK))
    world.parts.plan(CHEF, ADD, text("Milk: 1 gallon.", delay=0.3))
    first = asyncio.create_task(world.say("add milk", "kitchen"))
    await until(lambda: world.parts.asked.count(CHEF) >= 2, 10)
    if place == "gym":
        world.parts.plan(ROUTER, segments(CoachByte=PLAN))
        world.parts.plan(COACH, text("5 km run."))
    second = speech(await world.say("what is my plan?", place))
    busy = (
        "I'm still answering your last question.",
        "This conversation is busy",
    )  # the latter is Home Assistant's own
    assert second.startswith("5 km run." if place == "gym" else busy)
    assert speech(await first) == "Milk: 1 gallon."
    assert world.kitchen.items["milk"] == "1 gallon"
    world.parts.plan(ROUTER, segments(ChefByte="say how much milk there is"))
    world.parts.plan(CHEF, text("1 gallon."))
    await world.say("how much milk is there?", "kitchen")
    assert "plan" not in json.dumps(world.parts.of(CHEF)[-1]["messages"][1:])  # what was refused was not said


async def test_it_ends_with_the_entry(world: World) -> None:
    world.parts.plan(ROUTER, segments(**BOTH))
    world.parts.plan(CHEF, silence())
    world.parts.plan(COACH, silence())
    turn = asyncio.create_task(world.say())
    await until(lambda: len(world.parts.asked) >= 3, 10)
    await world.hass.config_entries.async_unload(world.entry.entry_id)
    result = await turn
    assert result.response.error_code is not None
    assert speech(result) == "Home Agent was reloaded or stopped before I had an answer. Please ask again."
    assert world.parts.server.disconnects == 2
    assert SYNTHESIZER not in world.parts.asked


async def test_a_reload_in_the_middle_does_not_hide_what_was_done(world: World) -> None:
    """Any change of the settings reloads the entry."""
    world.plan_both()
    world.parts.plan(SYNTHESIZER, silence())
    turn = asyncio.create_task(world.say())
    await until(lambda: SYNTHESIZER in world.parts.asked, 10)
    assert await world.hass.config_entries.async_reload(world.entry.entry_id)
    result = await turn
    assert speech(result) == (
        "Home Agent was reloaded or stopped before I had an answer. What I had begun may have happened."
    )
    assert result.response.error_code is not None
    assert world.kitchen.items["milk"] == "1 gallon"


# Rules


@pytest.mark.parametrize("settings", [{"never_offer": ["CHEFBYTE_UPDATE_ITEM"]}])
async def test_what_the_profile_never_offers_no_part_has(world: World) -> None:
    world.parts.plan(ROUTER, segments(ChefByte=MILK))
    world.parts.plan(CHEF, ADD, text("I could not."))
    world.parts.plan(SYNTHESIZER, text("The milk was not added."))
    await world.say()
    assert tools(world.parts.of(CHEF)[0]) == ["CHEFBYTE_GET_INVENTORY"]
    assert "milk" not in world.kitchen.items


@pytest.mark.parametrize("settings", [{"max_calls_per_turn": 1}])
async def test_each_part_has_its_calls(world: World) -> None:
    world.plan_both()
    world.parts.plan(SYNTHESIZER, text(ANSWER))
    assert speech(await world.say()) == ANSWER
    assert world.kitchen.items["milk"] == "1 gallon"
    for part in (CHEF, COACH):
        assert '"success":true' in world.parts.of(part)[1]["messages"][-1]["content"]


# An extension that is an agent of its own

LIGHT = "light.bed_light"
LIT = tool_call("LAMPS_UPDATE_CONTROL", {"action": "turn_on", "entity_id": LIGHT})


async def lamps(world: World, **settings: Any) -> None:
    """Add an agent that is a domain, with a model of its own."""
    [own, *_] = world.entry.subentries.values()
    data = {"extension_name": "Lamps", "description": "Takes care of lamps.", "prompt_additions": "You are Edison."}
    lamps = profile(2, "Lamps of the house", **{"llm": "llm-2", **data, **settings})
    added: list[Any] = [model(world.parts.server, 2), lamps]
    for given in added:
        subentry = ConfigSubentry(**given | {"data": MappingProxyType(dict(given["data"]))})
        world.hass.config_entries.async_add_subentry(world.entry, subentry)
    extensions = {**own.data, "extensions": [*NAMES, "Lamps"]}
    world.hass.config_entries.async_update_subentry(world.entry, own, data=extensions)
    await world.hass.async_block_till_done()
    await world.hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)


async def test_an_agent_that_is_an_extension_answers_as_itself(world: World) -> None:
    await lamps(world)
    world.parts.plan(ROUTER, segments(Lamps="turn on the bed light", ChefByte=MILK))
    world.parts.plan(ITSELF, LIT, text("Bed Light is on."))
    world.parts.plan(CHEF, text("Milk: 1 gallon."))
    world.parts.plan(SYNTHESIZER, text("The bed light is on, and there is milk."))
    result = await world.say("turn on the bed light and add milk")
    assert speech(result) == "The bed light is on, and there is milk."  # it is so: nothing is set right
    models = {part: {body["model"] for body in world.parts.of(part)} for part in {*world.parts.asked}}
    assert models == {ROUTER: {"scripted"}, CHEF: {"scripted"}, SYNTHESIZER: {"scripted"}, ITSELF: {"model-2"}}
    first = world.parts.of(ITSELF)[0]
    assert "You are Edison." in system(first)
    assert "Takes care of lamps." in system(first)
    assert {name.partition("_")[0] for name in tools(first)} == {"LAMPS"}
    state = world.hass.states.get(LIGHT)
    assert state is not None
    assert (state.state, state.context.user_id) == ("on", world.alice.user_id)
    await world.say("undo that", result.conversation_id)
    assert state_of(world.hass, LIGHT) == "off"


async def test_an_agent_that_is_for_others_is_no_extension(world: World) -> None:
    await lamps(world, people=["0" * 32])
    world.parts.plan(ROUTER, segments(Lamps="turn on the bed light", ChefByte=MILK))
    world.parts.plan(CHEF, text("Milk: 1 gallon."))
    world.parts.plan(SYNTHESIZER, text("There is milk."))
    await world.say("turn on the bed light and add milk")
    assert "Lamps" not in system(world.parts.of(ROUTER)[0])
    assert not world.parts.of(ITSELF)
    assert state_of(world.hass, LIGHT) == "off"


@pytest.mark.parametrize("settings", [
    {"always_ask": [LIGHT]}, {"never_offer": [LIGHT]}, {"may_change": ["switch"]}, {"exposed_areas": ["kitchen"]},
], ids=["asked", "never", "not among what it may", "elsewhere"])  # fmt: skip
async def test_the_rules_of_who_routes_hold_for_all(world: World, settings: dict[str, Any]) -> None:
    await lamps(world)
    world.parts.plan(ROUTER, segments(Lamps="turn on the bed light"))
    asks = "always_ask" in settings
    world.parts.plan(ITSELF, LIT, *([] if asks else [text("I may not.")]))
    if not asks:
        world.parts.plan(SYNTHESIZER, text("That is not allowed."))
    result = await world.say("turn on the bed light")
    assert speech(result).endswith("?") is asks
    assert state_of(world.hass, LIGHT) == "off"
    if asks:
        await world.say("yes", result.conversation_id)
        assert state_of(world.hass, LIGHT) == "on"


async def test_what_an_agent_behind_it_never_offers_it_does_not_have_by_another_name(world: World) -> None:
    await lamps(world, never_offer=["LAMPS_UPDATE_CONTROL"])
    world.parts.plan(ROUTER, segments(Lamps="turn on the bed light"))
    world.parts.plan(ITSELF, LIT, text("I cannot."))
    world.parts.plan(SYNTHESIZER, text("That is not possible."))
    await world.say("turn on the bed light")
    assert "LAMPS_GET_QUERY" in tools(world.parts.of(ITSELF)[0])
    assert "LAMPS_UPDATE_CONTROL" not in tools(world.parts.of(ITSELF)[0])
    assert state_of(world.hass, LIGHT) == "off"


async def test_another_model_that_a_part_asks_is_told(world: World) -> None:
    finished = async_capture_events(world.hass, events.CONVERSATION_FINISHED)
    await lamps(world, external_llm="llm-1")
    world.parts.plan(ROUTER, segments(Lamps="which lamp is best?"))
    world.parts.plan(
        ITSELF, tool_call("LAMPS_GET_QUERY_EXTERNAL_LLM", {"prompt": "Which?"}), text("LED."), text("LED.")
    )
    world.parts.plan(SYNTHESIZER, text("An LED."))
    await world.say("which lamp is best?")
    data = finished[0].data
    assert (data["used_external_llm"], data["tool_breakdown"]) == (True, {"LAMPS_GET_QUERY_EXTERNAL_LLM": 1})


async def test_somebody_who_may_not_may_not_by_a_router(world: World) -> None:
    await lamps(world)
    guest = MockUser(name="Guest").add_to_hass(world.hass)
    guest.mock_policy({"entities": {"all": {"read": True}}})
    world.parts.plan(ROUTER, segments(Lamps="turn on the bed light"))
    world.parts.plan(ITSELF, LIT, text("I may not."))
    world.parts.plan(SYNTHESIZER, text("That is not allowed."))
    await world.say("turn on the bed light", context=Context(user_id=guest.id))
    assert state_of(world.hass, LIGHT) == "off"


# What is told


@pytest.mark.parametrize(
    "settings",
    [{"system_documents": ["knock.md"], "context_mode": "direct", "context_entities": [{"entity_id": "light.*"}]}],
)
async def test_what_the_agent_is_told_of_the_home_no_part_is_told(world: World) -> None:
    """Its documents and its list of entities are for its own answers."""
    folder = Path(world.hass.config.path("home_agent", "docs"))
    folder.mkdir(parents=True)
    (folder / "knock.md").write_text("Knock twice.")
    await world.hass.config_entries.async_reload(world.entry.entry_id)
    world.parts.plan(ROUTER, text("[]"), segments(ChefByte=MILK))
    world.parts.plan(ITSELF, text("Good morning."))
    world.parts.plan(CHEF, text("Milk: 1 gallon."))
    world.parts.plan(SYNTHESIZER, text("There is milk."))
    await world.say("good morning")
    await world.say("add milk")
    for words in ("Knock twice.", "light.bed_light"):
        told = {part for part in {*world.parts.asked} if words in json.dumps(world.parts.of(part))}
        assert told == {ITSELF}, words


async def test_what_a_caller_adds_is_for_who_speaks_to_the_user(world: World) -> None:
    said: dict[str, Any] = {"extra_system_prompt": "Speak like a pirate."}
    world.parts.plan(ROUTER, segments(ChefByte=MILK))
    world.parts.plan(CHEF, text("Milk: 1 gallon."))
    world.parts.plan(SYNTHESIZER, text("Arr, milk."))
    await world.say(**said)
    asked = {part: "pirate" in json.dumps(world.parts.of(part)) for part in {*world.parts.asked}}
    assert asked == {ROUTER: False, CHEF: False, SYNTHESIZER: True}


async def test_what_is_remembered_is_told_to_all(world: World) -> None:
    await kept_of(world.hass, Memories).async_add([said("Alice drinks oat milk.", owner=world.alice.user_id)])
    world.parts.plan(ROUTER, segments(ChefByte="say what milk Alice drinks"))
    world.parts.plan(CHEF, text("Oat milk."))
    world.parts.plan(SYNTHESIZER, text("You drink oat milk."))
    await world.say("what milk do I drink?")
    for part in (ROUTER, CHEF, SYNTHESIZER):
        assert "Alice drinks oat milk." in world.parts.of(part)[0]["messages"][-1]["content"]


class GetNews(llm.Tool):
    name = "NEWSBYTE_GET_NEWS"
    description = "Returns the news.\nWhat is new?"
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=True)
    integration = "newsbyte"

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> JsonObjectType:
        return {"news": "none"}


async def test_what_one_has_read_from_outside_makes_the_conversation_careful(world: World) -> None:
    news = RegisteredExtension(name="NewsByte", prompt="Read the news.", tools=[GetNews()])
    async_register_extension(world.hass, news)
    [own, *_] = world.entry.subentries.values()
    world.hass.config_entries.async_update_subentry(world.entry, own, data={**own.data, "extensions": ["NewsByte"]})
    await world.hass.async_block_till_done()
    world.parts.plan(ROUTER, segments(NewsByte="read the news"))
    world.parts.plan(ITSELF, tool_call("NEWSBYTE_GET_NEWS", {}), text("Nothing new."))
    world.parts.plan(SYNTHESIZER, text("No news."))
    result = await world.say("any news?")
    transcripts = world.entry.runtime_data.transcripts
    found = transcripts._transcripts[(result.conversation_id, "profile-1")]
    assert found.taints == {"NEWSBYTE_GET_NEWS"}


async def test_what_was_read_before_makes_every_part_careful(world: World) -> None:
    """Nothing that stands in a page unlocks a door by way of the next message."""
    news = RegisteredExtension(name="NewsByte", prompt="Read the news.", tools=[GetNews()])
    async_register_extension(world.hass, news)
    await lamps(world, never_ask=["lock.front_door"])
    [own, *_] = world.entry.subentries.values()
    settings = {**own.data, "extensions": ["NewsByte", "Lamps"], "never_ask": ["lock.front_door"]}
    world.hass.config_entries.async_update_subentry(world.entry, own, data=settings)
    await world.hass.async_block_till_done()
    unlock = tool_call("LAMPS_UPDATE_CONTROL", {"action": "unlock", "entity_id": "lock.front_door"})

    async def lets_in(conversation_id: str) -> str:
        world.parts.plan(ROUTER, segments(Lamps="unlock the front door"))
        world.parts.plan(ITSELF, unlock, text("It is unlocked."))
        world.parts.plan(SYNTHESIZER, text("The front door is unlocked."))
        said = speech(await world.say("unlock the front door", conversation_id))
        world.parts.forget()
        await world.hass.async_block_till_done()
        return said

    world.parts.plan(ROUTER, segments(NewsByte="read the news"))
    world.parts.plan(ITSELF, tool_call("NEWSBYTE_GET_NEWS", {}), text("Nothing new."))
    world.parts.plan(SYNTHESIZER, text("No news."))
    await world.say("any news?", "with news")
    assert (await lets_in("with news")).endswith("?")
    assert state_of(world.hass, "lock.front_door") == "locked"
    assert await lets_in("without") == "The front door is unlocked."
    assert state_of(world.hass, "lock.front_door") == "unlocked"


async def test_history_that_is_cleared_is_told_to_nobody(world: World) -> None:
    world.plan_both()
    world.parts.plan(SYNTHESIZER, text(ANSWER))
    result = await world.say()
    world.entry.runtime_data.transcripts.async_clear(result.conversation_id)
    await world.entry.runtime_data.conversations.async_clear(result.conversation_id)
    world.parts.plan(ROUTER, segments(ChefByte="add bread"))
    world.parts.plan(CHEF, text("Bread."))
    world.parts.plan(SYNTHESIZER, text("Bread is there."))
    await world.say("add bread", result.conversation_id)
    for part in (ROUTER, CHEF, SYNTHESIZER):
        assert [item["role"] for item in world.parts.of(part)[-1]["messages"]] == ["system", "user"]


async def test_a_local_model_has_read_the_start(hass: HomeAssistant, parts: Parts, hass_owner_user: MockUser) -> None:
    await build_house(hass)
    async_register_extension(hass, coachbyte())
    parts.server.sees_reading = True
    read: list[dict[str, Any]] = []

    def reads(body: dict[str, Any]) -> Reply:
        read.append(body)
        return text("Read.")

    parts.server.respond(reads)
    await set_up(hass, parts.server, profile={"routing": "router", "extensions": NAMES}, llm={"keep_ready": True})
    await hass.async_block_till_done(wait_background_tasks=True)
    [body] = read
    assert (body["max_tokens"], system(body).startswith("You split the newest message")) == (1, True)
    assert "CoachByte — Plan and track workouts" in system(body)


# What a router answers


@pytest.mark.parametrize(("said", "found"), [
    ('[{"extension": "ChefByte", "intent": "add milk"}]', [("ChefByte", "add milk")]),
    ('```json\n[{"extension": "chefbyte", "intent": "add milk"}]\n```', [("ChefByte", "add milk")]),
    (
        'Sure [1]! {"segments": [{"extension": "CoachByte", "intent": "a"}, {"extension": "ChefByte", "intent": "b"}]} ok',
        [("CoachByte", "a"), ("ChefByte", "b")],
    ),
    ('{"extension": "ChefByte", "intent": "add milk", "why": 1}', [("ChefByte", "add milk")]),
    (
        "`ChefByte (add milk to inventory)`, `CoachByte (return workout plan)`",
        [("ChefByte", "add milk to inventory"), ("CoachByte", "return workout plan")],
    ),
    (
        "Here:\n- **CoachByte** (plan (short) for today)\n- Nobody (x)\n- ChefByte(milk)",
        [("CoachByte", "plan (short) for today"), ("ChefByte", "milk")],
    ),
    (
        (
            '[{"extension": "ChefByte", "intent": "a"}, {"extension": "CoachByte", "intent": "b"}, '
            '{"extension": "ChefByte", "intent": "c"}, {"extension": "ChefByte", "intent": "a"}]'
        ),
        [("ChefByte", "a; c"), ("CoachByte", "b")],
    ),
    ('[{"extension": "ChefByte", "intent": "  "}, {"extension": "ChefByte", "intent": 3}, 7, null]', []),
    ('[{"extension": "ChefByte", "intent": "a\\nb\\u0007c"}]', [("ChefByte", "a bc")]),
    ("[]", []),
    ("", []),
    ("[" * 30_000, []),
    ("ChefByte (" * 5_000, []),
])  # fmt: skip
def test_parts_of_a_message(said: str, found: list[tuple[str, str]]) -> None:
    assert segments_of(said, NAMES) == [Segment(*one) for one in found]


def test_more_parts_than_anybody_asks_for() -> None:
    names = [f"Agent {number}" for number in range(20)]
    said = json.dumps([{"extension": name, "intent": "go"} for name in names])
    assert [one.extension for one in segments_of(said, names)] == names[:MOST]
