"""The store of open questions: whose they are, how long they stand, how they end."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, override

from freezegun.api import FrozenDateTimeFactory
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import Context, HomeAssistant
from homeassistant.util.json import JsonValueType
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockUser,
    async_capture_events,
    async_fire_time_changed,
)

from custom_components.home_agent.policy.confirmation import (
    MAX_OPEN,
    Call,
    Confirmation,
    Confirmations,
    NeedsConfirmation,
    NobodyConfirms,
    Resolution,
)
from custom_components.home_agent.policy.tool import HomeAgentTool
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn import events
from custom_components.home_agent.turn.plan import ActionClass, Plan
from custom_components.home_agent.turn.turn import Turn

type MakeTurn = Callable[..., Turn]


class Opener(HomeAgentTool):
    """A tool whose plans are made by the tests."""

    name = "opener"

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        raise AssertionError

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        raise AssertionError


def call(*reasons: str, target: str = "lock.front", place: int = 1) -> Call:
    plan = Plan(action=ActionClass.SENSITIVE, targets=(target,), reasons=reasons)
    return Call(tool=Opener(), arguments={}, plan=plan, place=place)


def put(confirmations: Confirmations, turn: Turn, *calls: Call) -> Confirmation:
    for item in calls or (call("unlock"),):
        with pytest.raises(NeedsConfirmation):
            confirmations.require(turn, item)
    request = confirmations.of(turn)
    assert request is not None
    confirmations.put(request, "Sure?")
    return request


@pytest.fixture
def confirmations(hass: HomeAssistant) -> Confirmations:
    """A store that may announce what happens."""
    entry = MockConfigEntry(domain=DOMAIN)
    entry.add_to_hass(hass)
    entry.mock_state(hass, ConfigEntryState.LOADED)
    return Confirmations(hass, pins={"unlock": "1111", "disarm": "2222", "open_door": "1111"})


def test_a_question_nobody_was_asked_cannot_be_answered(confirmations: Confirmations, make_turn: MakeTurn) -> None:
    turn = make_turn(direct=True, device_id="hall")
    with pytest.raises(NeedsConfirmation):
        confirmations.require(turn, call("unlock"))
    request = confirmations.of(turn)
    assert request is not None
    assert confirmations.get(request.id) is None
    assert confirmations.at(request.place) is None
    confirmations.drop(turn)
    assert confirmations.of(turn) is None
    assert turn.record.request_id is None


@pytest.mark.parametrize(("fields", "answerable"), [
    ({"direct": True}, False),
    ({"direct": True, "device_id": "hall"}, True),
    ({"direct": True, "satellite_id": "assist_satellite.hall"}, True),
    ({"device_id": "hall"}, False),  # said by a script that another turn started
    ({"confirm_via": ("repairs",)}, True),
])  # fmt: skip
def test_askable(confirmations: Confirmations, make_turn: MakeTurn, fields: dict[str, Any], answerable: bool) -> None:
    with pytest.raises(NeedsConfirmation if answerable else NobodyConfirms):
        confirmations.require(make_turn(**fields), call("unlock"))


@pytest.mark.parametrize(("asked", "answering", "is_theirs"), [
    ({"user": "a"}, {"user": "a"}, True),
    ({"user": "a"}, {"user": "a", "device_id": "phone"}, True),
    ({"user": "a"}, {"user": "b"}, False),
    ({"user": "a"}, {}, False),
    ({"user": "a", "device_id": "hall"}, {"device_id": "hall"}, False),
    ({"device_id": "hall"}, {"device_id": "hall"}, True),
    ({"device_id": "hall"}, {"device_id": "hall", "user": "a"}, False),
    ({"device_id": "hall"}, {"device_id": "garden"}, False),
    ({"device_id": "hall", "satellite_id": "x"}, {"device_id": "hall"}, False),
    ({"device_id": "hall"}, {}, False),
    ({}, {}, False),
    ({"user": "a"}, {"user": "a", "direct": False}, False),
])  # fmt: skip
def test_whose_words_count(
    make_turn: MakeTurn, asked: dict[str, Any], answering: dict[str, Any], is_theirs: bool
) -> None:
    def turn(fields: dict[str, Any]) -> Turn:
        fields = {"direct": True} | fields
        return make_turn(context=Context(user_id=fields.pop("user", None)), **fields)

    assert Confirmation(id="1", turn=turn(asked)).is_of(turn(answering)) is is_theirs


@pytest.mark.parametrize(
    ("who", "decides"), [("asker", True), ("admin", True), ("named", True), ("other", False), ("gone", False)]
)
def test_who_decides_from_elsewhere(make_turn: MakeTurn, hass_admin_user: MockUser, who: str, decides: bool) -> None:
    users = {"admin": hass_admin_user} | {
        name: MockUser(id=name, is_active=name != "gone") for name in ("asker", "named", "other", "gone")
    }
    asked_by = "gone" if who == "gone" else "asker"
    turn = make_turn(context=Context(user_id=asked_by))
    request = Confirmation(id="1", turn=turn, deciders=frozenset({"named"}))
    assert request.is_decided_by(users[who]) is decides


async def test_it_lapses_by_itself(
    hass: HomeAssistant, confirmations: Confirmations, make_turn: MakeTurn, freezer: FrozenDateTimeFactory
) -> None:
    resolved = async_capture_events(hass, events.CONFIRMATION_RESOLVED)
    ended: list[Resolution] = []
    confirmations.async_listen(lambda _request, outcome: ended.append(outcome))
    request = put(confirmations, make_turn(direct=True, device_id="hall"))
    freezer.tick(timedelta(seconds=121))
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert [event.data["outcome"] for event in resolved] == ended == [Resolution.EXPIRED]
    assert confirmations.get(request.id) is None

    def replied(text: str) -> bool:
        _, reply = confirmations.read(make_turn(direct=True, device_id="hall", text=text))
        return reply is not None and reply.expired

    assert replied("yes")
    assert not replied("yes")
    assert replied("4711")  # a PIN may still come
    bare = put(confirmations, make_turn(direct=True, device_id="hall"), call())
    confirmations.end(bare, Resolution.EXPIRED)
    assert replied("yes")
    assert not replied("4711")


async def test_lateness_is_forgotten(
    hass: HomeAssistant, confirmations: Confirmations, make_turn: MakeTurn, freezer: FrozenDateTimeFactory
) -> None:
    request = put(confirmations, make_turn(direct=True, device_id="hall"))
    freezer.tick(timedelta(seconds=121))
    assert confirmations.at(request.place) is None
    freezer.tick(timedelta(minutes=11))
    assert confirmations.read(make_turn(direct=True, device_id="hall", text="yes"))[1] is None


async def test_it_ends_once(confirmations: Confirmations, make_turn: MakeTurn) -> None:
    request = put(confirmations, make_turn(direct=True, device_id="hall"))
    assert [confirmations.end(request, Resolution.CONFIRMED) for _ in range(3)] == [True, False, False]


async def test_there_are_never_too_many(confirmations: Confirmations, make_turn: MakeTurn) -> None:
    turns = [make_turn(conversation_id=str(number), direct=True, device_id="hall") for number in range(MAX_OPEN + 3)]
    requests = [put(confirmations, turn) for turn in turns]
    assert [confirmations.get(request.id) is None for request in requests[:4]] == [True, True, True, False]
    assert confirmations.get(requests[-1].id) is requests[-1]
    confirmations.async_end_all()
    assert not any(confirmations.get(request.id) for request in requests)


async def test_calls_keep_their_order_without_duplicates(confirmations: Confirmations, make_turn: MakeTurn) -> None:
    waiting = [call("unlock", target=target, place=place) for target, place in (("lock.b", 2), ("lock.a", 1))]
    again = call("unlock", target="lock.b", place=3)
    request = put(confirmations, make_turn(direct=True, device_id="hall"), *waiting, again)
    assert [item.plan.targets for item in request.calls] == [("lock.a",), ("lock.b",)]
    confirmations.async_end_all()


@pytest.mark.parametrize(("calls", "pin"), [
    ([call("unlock")], "1111"),
    ([call("unlock", "disarm")], "11112222"),
    ([call("unlock"), call("open_door", target="cover.garage", place=2)], "1111"),  # the same PIN is said once
    ([call("disarm"), call("unlock", target="lock.b", place=2)], "22221111"),
    ([call("open_valve")], ""),
    ([call()], ""),
])  # fmt: skip
async def test_the_pin_needed(confirmations: Confirmations, make_turn: MakeTurn, calls: list[Call], pin: str) -> None:
    request = put(confirmations, make_turn(direct=True, device_id="hall"), *calls)
    assert confirmations.pin_for(request) == pin
    assert confirmations.accepts_pin(request, pin)
    confirmations.async_end_all()


async def test_wrong_pins_end_it(confirmations: Confirmations, make_turn: MakeTurn) -> None:
    request = put(confirmations, make_turn(direct=True, device_id="hall"))
    assert [confirmations.accepts_pin(request, wrong) for wrong in ("", "111", "111é")] == [False] * 3
    assert confirmations.get(request.id) is None


async def test_nobodys_many_questions_push_out_those_of_others(hass: HomeAssistant) -> None:
    confirmations = Confirmations(hass)

    def put(user_id: str | None, number: int) -> str:
        turn = Turn(
            profile=Profile(subentry_id="p"),
            conversation_id=f"{user_id} {number}",
            text="",
            language="en",
            context=Context(user_id=user_id),
            confirm_via=("repairs",),
        )
        confirmations.add(turn, Call(tool=Opener(), arguments={}, plan=Plan(action=ActionClass.SENSITIVE)))
        confirmation = confirmations.of(turn)
        assert confirmation is not None
        confirmations.put(confirmation, "Really?")
        return confirmation.id

    annas = put("anna", 0)
    automations = [put(None, number) for number in range(MAX_OPEN + 10)]
    assert annas in confirmations.waiting
    assert len(confirmations.waiting) == MAX_OPEN
    assert automations[-1] in confirmations.waiting
    assert automations[0] not in confirmations.waiting
    confirmations.async_end_all()
