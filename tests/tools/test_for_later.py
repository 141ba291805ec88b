"""What a model keeps for later: wishes are made, listed, changed and cancelled by its calls, under the checks of the policy."""

from collections.abc import Sequence
from datetime import timedelta
import json
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.client.messages import raw_estimate
from custom_components.home_agent.support.encoding import dump
from custom_components.home_agent.wishes.wish import Wish, WishKind
from custom_components.home_agent.wishes.wishes import wishes_of
from tests import house
from tests.house import act, build_house, part_of, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text, tool_call
from tests.policy.confirmation.test_phones import add_phone

OFF = {"actions": [{"action": "turn_off", "entity_id": "light.ceiling_lights"}]}
NOW = "2026-11-24T18:00:00-08:00"  # the home's zone is US/Pacific


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test, not the demo entities of the folder."""
    await build_house(hass)


@pytest.fixture
def anna(hass: HomeAssistant) -> Context:
    return house.person(hass, "Anna")


async def ask(hass: HomeAssistant, server: LLMServer, name: str, arguments: dict[str, Any], **fields: Any) -> Any:
    """Have the model call one tool; return the envelope that it is sent back."""
    server.plan(tool_call(name, arguments), text("Good."))
    await say(hass, fields.pop("words", "well"), fields.pop("conversation_id", None), **fields)
    return json.loads(server.request.body["messages"][-1]["content"].partition("\n")[0])


def kept(hass: HomeAssistant) -> Sequence[Wish]:
    return wishes_of(hass).all()


def only(hass: HomeAssistant) -> Wish:
    [wish] = kept(hass)
    return wish


@pytest.mark.parametrize(
    ("when", "at"),
    [
        ({"in_minutes": 20}, "2026-11-24T18:20:00"),
        ({"in_minutes": "90"}, "2026-11-24T19:30:00"),
        ({"in_minutes": 0.5}, "2026-11-24T18:00:30"),
        ({"in_hours": 1, "in_minutes": 15}, "2026-11-24T19:15:00"),
        ({"in_seconds": 45}, "2026-11-24T18:00:45"),
        ({"at": "21:14"}, "2026-11-24T21:14:00"),
        ({"at": "07:00"}, "2026-11-25T07:00:00"),
        ({"at": "18:00"}, "2026-11-25T18:00:00"),
        ({"at": "2026-12-24T18:00"}, "2026-12-24T18:00:00"),
        ({"at": "2026-12-24 18:00:30"}, "2026-12-24T18:00:30"),
        ({"at": "2026-11-25T08:00:00+01:00"}, "2026-11-24T23:00:00"),
        ({"at": "in 20 minutes"}, "2026-11-24T18:20:00"),
        ({"at": "in 5 min"}, "2026-11-24T18:05:00"),
        ({"at": "2h"}, "2026-11-24T20:00:00"),
        ({"at": "tomorrow at seven"}, "2026-11-25T07:00:00"),
    ],
)
async def test_a_time_is_the_one_on_the_clock_of_the_home(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, when: dict[str, Any], at: str
) -> None:
    freezer.move_to(NOW)
    await set_up(hass, llm_server)
    answer = await ask(hass, llm_server, "make_wish", {**OFF, **when}, context=house.person(hass))
    assert answer["success"], answer
    wish = only(hass)
    assert wish.when.at is not None
    assert dt_util.as_local(wish.when.at).replace(tzinfo=None).isoformat(timespec="seconds") == at
    assert answer["result"]["at"].startswith(at)
    assert (wish.kind, wish.words, wish.targets) == (
        WishKind.ACTION,
        "turn off Ceiling Lights",
        ("light.ceiling_lights",),
    )
    assert state_of(hass, "light.ceiling_lights") == "on"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no time": ({}, "exactly one of in_minutes, at, sun and event"),
    "two times": ({"in_minutes": 5, "at": "21:00"}, "exactly one of"),
    "zero": ({"in_minutes": 0}, "more than 0"),
    "negative": ({"in_minutes": -5}, "more than 0"),
    "too far": ({"in_minutes": 60 * 24 * 400}, "at most 366 days"),
    "past": ({"at": "2026-11-24T07:00"}, "is past: it is 2026-11-24T18:00 now"),
    "a year too late": ({"at": "2028-01-01T07:00"}, "366 days at most"),
    "a day alone": ({"at": "2026-11-25"}, "Say the time of day"),
    "no clock time": ({"at": "25:70"}, "is no time"),
    "the first hours of the calendar": ({"at": "0001-01-01T00:00"}, "is "),
    "no finite number": ({"in_minutes": "nan"}, "number"),
    "no number": ({"in_minutes": "soon"}, "expected a number"),
    "no event of the sun": ({"sun": "noon"}, "sunset or sunrise"),
    "no event": ({"event": "the washer"}, "entity_id = state"),
    "an unknown entity in words": ({"event": "sensor.nothing = on"}, "No exposed entity matches"),
    "unknown entity": ({"event": {"entity_id": "sensor.nothing", "to": "on"}}, "No exposed entity matches"),
    "unexposed entity": ({"event": {"entity_id": "cover.garage_door", "to": "open"}}, "No exposed entity matches"),
    "a state that it never has": ({"event": {"entity_id": "lock.front_door", "to": "green"}}, "is never 'green'"),
    "a bound of what has no number": ({"event": {"entity_id": "lock.front_door", "above": 5}}, "has no number"),
    "an event without a state": ({"event": {"entity_id": "lock.front_door"}}, "name the state (to), or a bound"),
    "a negative delay": (
        {"event": {"entity_id": "lock.front_door", "to": "unlocked"}, "delay_minutes": -1}, "at least 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_no_time_is_refused_with_what_is_missing(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, anna: Context, case: str
) -> None:
    freezer.move_to(NOW)
    when, says = REFUSED[case]
    await set_up(hass, llm_server)
    answer = await ask(hass, llm_server, "make_wish", {**OFF, **when}, context=anna)
    assert not answer["success"]
    assert says in answer["error"]
    assert not kept(hass)


WHAT_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "exactly one of actions, say and question"),
    "two things": ({**OFF, "say": "cake"}, "exactly one of actions, say and question"),
    "unknown": ({"actions": [{"action": "turn_off", "entity_id": "light.nothing"}]}, "No exposed entity matches"),
    "unexposed": ({"actions": [{"action": "open_cover", "entity_id": "cover.garage_door"}]}, "No exposed entity matches"),
    "unknown action": ({"actions": [{"action": "explode", "entity_id": "light.bed_light"}]}, "unknown action"),
    "no action": ({"actions": [{"entity_id": "light.bed_light"}]}, "required"),
    "unknown tool": ({"actions": [{"tool": "burn", "arguments": {}}]}, "There is no tool 'burn' for wishes"),
    "another wish": ({"actions": [{"tool": "make_wish", "arguments": {}}]}, "There is no tool 'make_wish' for wishes"),
    "a tool that reads": (
        {"actions": [{"tool": "ha_query", "arguments": {"entity_id": "light.bed_light"}}]}, "only reads",
    ),
    "a long text": ({"say": "x" * 501}, "at most 500 characters"),
    "eleven actions": ({"actions": OFF["actions"] * 11}, "at most 10 actions"),
}  # fmt: skip


@pytest.mark.parametrize("case", WHAT_REFUSED)
async def test_what_cannot_be_done_is_refused_when_it_is_wished(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context, case: str
) -> None:
    what, says = WHAT_REFUSED[case]
    await set_up(hass, llm_server)
    answer = await ask(hass, llm_server, "make_wish", {**what, "in_minutes": 5}, context=anna)
    assert not answer["success"]
    assert says in answer["error"]
    assert not kept(hass)


async def test_a_reminder_is_a_text(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server)
    answer = await ask(hass, llm_server, "make_wish", {"say": "Take the cake out", "in_minutes": 40}, context=anna)
    assert answer["success"]
    wish = only(hass)
    assert (wish.kind, wish.text, wish.words) == (WishKind.REMINDER, "Take the cake out", "Take the cake out")
    assert wish.user_id == anna.user_id


async def test_a_question_is_asked_then(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server)
    await ask(hass, llm_server, "make_wish", {"say": "How warm is it outside?", "at": "06:00"}, context=anna)
    wish = only(hass)
    assert (wish.kind, wish.text, wish.steps) == (WishKind.QUESTION, "How warm is it outside?", ())


async def test_an_event_and_a_condition_look_at_entities(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context
) -> None:
    await set_up(hass, llm_server)
    arguments = {
        **OFF,
        "event": {"entity_id": "Front Door", "to": "Locked"},
        "delay_minutes": 2,
        "if": {"entity_id": "cover.kitchen_window", "is": "not open"},
    }
    answer = await ask(hass, llm_server, "make_wish", arguments, context=anna)
    assert answer["success"], answer
    when = only(hass).when
    assert when.event is not None
    assert (when.event.entity_ids, when.event.states, when.delay) == (("lock.front_door",), ("locked",), 120)
    [condition] = when.conditions
    assert (condition.entity_ids, condition.states, condition.negated) == (("cover.kitchen_window",), ("open",), True)
    assert when.said == "Front Door: Locked + 2 min, Kitchen Window: ≠ Open"
    assert answer["result"]["when"] == when.said


WRITTEN = {
    "lock.front_door = locked": (("lock.front_door",), ("locked",), False),
    "lock.front_door is Locked": (("lock.front_door",), ("locked",), False),
    "Front Door != unlocked": (("lock.front_door",), ("unlocked",), True),
    "cover.kitchen_window to open": (("cover.kitchen_window",), ("open",), False),
    "light.kitchen_lights, light.bed_light = on": (("light.kitchen_lights", "light.bed_light"), ("on",), False),
}


@pytest.mark.parametrize("event", WRITTEN)
async def test_an_event_is_written_in_one_line(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context, event: str
) -> None:
    await set_up(hass, llm_server)
    answer = await ask(hass, llm_server, "make_wish", {"say": "Look", "event": event, "in_minutes": 2}, context=anna)
    assert answer["success"], answer
    watch, delay = only(hass).when.event, only(hass).when.delay
    assert watch is not None
    assert (watch.entity_ids, watch.states, watch.negated, delay) == (*WRITTEN[event], 120)


async def test_a_bound_is_written_in_one_line(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    hass.states.async_set("sensor.attic", "21.5", {"unit_of_measurement": "°C", "friendly_name": "Attic"})
    async_expose_entity(hass, "conversation", "sensor.attic", True)
    await set_up(hass, llm_server)
    arguments = {"say": "Hot", "event": "sensor.attic > 26.5", "if": "sensor.attic < 40"}
    await ask(hass, llm_server, "make_wish", arguments, context=anna)
    when = only(hass).when
    assert when.event is not None
    assert (when.event.above, when.conditions[0].below, when.said) == (26.5, 40, "Attic: > 26.5, Attic: < 40")


async def test_a_window_that_is_open_is_on(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    hass.states.async_set("binary_sensor.attic", "off", {"device_class": "window", "friendly_name": "Attic"})
    async_expose_entity(hass, "conversation", "binary_sensor.attic", True)
    await set_up(hass, llm_server)
    event = {"entity_id": "binary_sensor.attic", "to": "open"}
    await ask(hass, llm_server, "make_wish", {"say": "Close it", "event": event}, context=anna)
    watch = only(hass).when.event
    assert watch is not None
    assert watch.states == ("on",)


async def test_the_sun_moves_the_time(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, anna: Context
) -> None:
    freezer.move_to(NOW)
    await set_up(hass, llm_server)
    await ask(hass, llm_server, "make_wish", {**OFF, "at": "sunrise-30"}, context=anna)
    when = only(hass).when
    assert (when.sun, when.offset) == ("sunrise", -1800)
    assert when.at is not None
    assert timedelta(0) < when.at - dt_util.utcnow() < timedelta(days=1)


UNLOCK = {"actions": [{"action": "unlock", "entity_id": "lock.front_door"}], "in_minutes": 5}


async def test_what_opens_is_asked_about_then(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    add_phone(hass, anna)
    await set_up(hass, llm_server)
    assert (await ask(hass, llm_server, "make_wish", UNLOCK, context=anna))["success"]
    assert only(hass).asks
    assert state_of(hass, "lock.front_door") == "locked"


async def test_what_opens_is_refused_where_nothing_can_ask_then(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context
) -> None:
    await set_up(hass, llm_server)
    assert not (await ask(hass, llm_server, "make_wish", UNLOCK, context=anna))["success"]
    assert not kept(hass)


async def test_what_opens_is_refused_by_an_agent_that_takes_no_such_wishes(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context
) -> None:
    add_phone(hass, anna)
    await set_up(hass, llm_server, profile={"wishes_sensitive": "refuse"})
    assert not (await ask(hass, llm_server, "make_wish", UNLOCK, context=anna))["success"]
    assert not kept(hass)


async def test_an_automation_wishes_nothing(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("make_wish", {**OFF, "in_minutes": 5}), text("Good."))
    await act(hass, "process", Context(), text="Turn off the ceiling lights")
    answer = json.loads(llm_server.request.body["messages"][-1]["content"].partition("\n")[0])
    assert "Only people" in answer["error"]
    assert not kept(hass)


async def test_a_user_wishes_only_what_they_may_do_now(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    guest = house.person(hass, "Guest", {"entities": {"entity_ids": {"light.ceiling_lights": {"read": True}}}})
    answer = await ask(hass, llm_server, "make_wish", {**OFF, "in_minutes": 5}, context=guest)
    assert not answer["success"]
    assert not kept(hass)


async def test_what_waits_is_listed_with_its_time(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, anna: Context
) -> None:
    freezer.move_to(NOW)
    await set_up(hass, llm_server)
    await ask(hass, llm_server, "make_wish", {"say": "Cake", "in_minutes": 40}, context=anna)
    answer = await ask(hass, llm_server, "change_wish", {}, context=anna)
    [row] = answer["result"]["wishes"]
    assert row == {
        "id": only(hass).id[-8:].lower(), "kind": "reminder", "wish": "Cake", "at": "2026-11-24T18:40:00-08:00",
    }  # fmt: skip


async def test_nobody_hears_of_the_wishes_of_others(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server)
    await ask(hass, llm_server, "make_wish", {"say": "Buy a ring for Ben", "in_minutes": 40}, context=anna)
    ben = house.person(hass, "Ben")
    assert (await ask(hass, llm_server, "change_wish", {}, context=ben))["result"] == {"wishes": []}
    assert "ring for" not in json.dumps(llm_server.request.body)
    for more in ({"cancel": True}, {"at": "09:00"}):
        answer = await ask(hass, llm_server, "change_wish", {"id": only(hass).id, **more}, context=ben)
        assert "No wish has the id" in answer["error"]
    assert only(hass).text == "Buy a ring for Ben"


async def test_a_wish_is_cancelled_by_its_short_id(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server)
    await ask(hass, llm_server, "make_wish", {"say": "Cake", "in_minutes": 40}, context=anna)
    answer = await ask(hass, llm_server, "change_wish", {"id": only(hass).id[-8:], "at": "cancel"}, context=anna)
    assert answer["success"], answer
    assert not kept(hass)


async def test_a_wish_gets_another_time(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, anna: Context
) -> None:
    freezer.move_to(NOW)
    await set_up(hass, llm_server)
    await ask(hass, llm_server, "make_wish", {"say": "Cake", "in_minutes": 40}, context=anna)
    answer = await ask(hass, llm_server, "change_wish", {"id": only(hass).id[-8:], "at": "21:00"}, context=anna)
    assert answer["success"], answer
    wish = only(hass)
    assert wish.when.at is not None
    assert dt_util.as_local(wish.when.at).isoformat() == "2026-11-24T21:00:00-08:00"
    assert wish.text == "Cake"


async def test_a_yes_keeps_the_time_that_was_asked_about(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, anna: Context
) -> None:
    freezer.move_to(NOW)
    await set_up(hass, llm_server, options={"always_confirm": ["make_wish"]})
    llm_server.plan(tool_call("make_wish", {"say": "Cake", "in_minutes": 40}))
    asked = await say(hass, "Remind me of the cake in 40 minutes", context=anna)
    assert "“Cake”" in speech(asked)
    assert not kept(hass)
    freezer.tick(60)
    await say(hass, "yes", asked.conversation_id, context=anna)
    wish = only(hass)
    assert wish.when.at is not None
    assert dt_util.as_local(wish.when.at).isoformat() == "2026-11-24T18:40:00-08:00"


async def test_an_agent_that_takes_no_wishes_has_no_tools_for_them(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context
) -> None:
    await set_up(hass, llm_server, profile={"wishes": False})
    answer = await ask(hass, llm_server, "make_wish", {"say": "Cake", "in_minutes": 40}, context=anna)
    assert "There is no tool 'make_wish'" in answer["error"]
    names = {tool["function"]["name"] for tool in llm_server.request.body["tools"]}
    assert not names & {"make_wish", "change_wish"}


async def test_a_model_is_told_what_waits_while_something_does(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, anna: Context
) -> None:
    freezer.move_to(NOW)
    await set_up(hass, llm_server)
    llm_server.plan(text("Good."))
    conversation_id = (await say(hass, "well", context=anna)).conversation_id
    before = llm_server.request.body["messages"]
    assert "wishes" not in part_of(before[1])
    await ask(
        hass, llm_server, "make_wish", {"say": "Cake", "in_minutes": 40}, conversation_id=conversation_id, context=anna
    )
    llm_server.plan(text("Good."))
    await say(hass, "and now?", conversation_id, context=anna)
    told = llm_server.request.body["messages"]
    short = only(hass).id[-8:].lower()
    assert part_of(told[-1])["wishes"] == f"{short}: Cake (2026-11-24 18:40)"
    assert told[: len(before)] == before
    await ask(
        hass,
        llm_server,
        "change_wish",
        {"id": [short], "cancel": "true"},
        conversation_id=conversation_id,
        context=anna,
    )
    llm_server.plan(text("Good."), text("Good."))
    await say(hass, "and now?", conversation_id, context=anna)
    assert part_of(llm_server.request.body["messages"][-1])["wishes"] == ""
    await say(hass, "and now?", conversation_id, context=anna)
    assert "wishes" not in part_of(llm_server.request.body["messages"][-1])


async def test_a_model_is_told_ten_wishes_and_how_many_more(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context
) -> None:
    await set_up(hass, llm_server, options={"throttle_turns": 100})
    for number in range(12):
        await ask(hass, llm_server, "make_wish", {"say": f"Cake {number}", "in_minutes": 40 + number}, context=anna)
    llm_server.plan(text("Good."))
    await say(hass, "well", context=anna)
    told = part_of(llm_server.request.body["messages"][1])["wishes"]
    assert told.endswith("; 2 more")
    assert "Cake 9" in told
    assert "Cake 10" not in told


async def test_the_tools_take_few_tokens(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    """What every request pays for them is bounded."""
    await set_up(hass, llm_server)
    llm_server.plan(text("Good."))
    await say(hass, "well", context=anna)
    tools = [tool for tool in llm_server.request.body["tools"] if tool["function"]["name"].endswith("_wish")]
    assert len(tools) == 2
    assert raw_estimate(dump(tools)) <= 200
