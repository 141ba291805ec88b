"""Automations that talk in a loop are stopped, people are not."""

from collections.abc import Callable
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events, async_fire_time_changed

from custom_components.home_agent.policy.policy import Throttle
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.errors import HomeAgentError
from custom_components.home_agent.turn.turn import Turn
from tests.house import build_house, say, set_up, speech

type MakeTurn = Callable[..., Turn]
type Told = list[tuple[str, bool]]


@pytest.fixture
def told() -> Told:
    """Return what the owner was told."""
    return []


@pytest.fixture
def throttle(hass: HomeAssistant, told: Told) -> Throttle:
    """Return a throttle that lets two turns a minute pass."""
    return Throttle(hass, lambda _hass, profile, loops: told.append((profile.name, loops)), 2)


def admitted(throttle: Throttle, turn: Turn) -> bool:
    try:
        throttle.admit(turn)
    except HomeAgentError as err:
        return err.translation_key != "automation_loop"
    return True


def test_more_than_the_limit_is_refused_per_assistant(throttle: Throttle, make_turn: MakeTurn) -> None:
    other = make_turn(profile=Profile(subentry_id="q", name="Bert"))
    assert [admitted(throttle, make_turn()) for _ in range(4)] == [True, True, False, False]
    assert admitted(throttle, other)
    throttle.stop()


@pytest.mark.parametrize(
    "who",
    [{"user_id": "u"}, {"device_id": "d"}, {"satellite_id": "assist_satellite.s"}],
    ids=["user", "device", "satellite"],
)
def test_single_requests_pass(throttle: Throttle, told: Told, make_turn: MakeTurn, who: dict[str, Any]) -> None:
    def turn_of(**who: Any) -> Turn:
        context = Context(user_id=who.pop("user_id", None))
        return make_turn(context=context, **who)

    assert all(admitted(throttle, turn_of(**who)) for _ in range(10))
    assert not told


@pytest.mark.parametrize("who", ["user", "device", "satellite"])
def test_nobody_says_more_than_a_person_can(
    throttle: Throttle, told: Told, make_turn: MakeTurn, who: str, freezer: FrozenDateTimeFactory
) -> None:
    other = Profile(subentry_id="q", name="Bert")

    def said(name: str, profile: Profile | None = None) -> bool:
        fields: dict[str, Any] = {"profile": profile} if profile else {}
        context = Context(user_id=name if who == "user" else None)
        if who != "user":
            fields[f"{who}_id"] = name
        try:
            throttle.admit(make_turn(context=context, **fields))
        except HomeAgentError as err:
            return (err.translation_key, err.translation_placeholders) != ("too_many_messages", {"limit": "12"})
        return True

    assert [said("a") for _ in range(6)] + [said("a", other) for _ in range(7)] == [True] * 12 + [False]
    assert said("b")  # it is not others who are refused
    assert not told
    freezer.tick(61)
    assert said("a")


async def test_a_program_with_a_token_of_a_person_is_told_so(hass: HomeAssistant) -> None:
    await build_house(hass)
    await set_up(hass, options={"throttle_turns": 1})
    user = await hass.auth.async_create_user("Anna", group_ids=["system-admin"])
    said = [await say(hass, "turn on the bed light", context=Context(user_id=user.id)) for _ in range(7)]
    assert [item.response.error_code is None for item in said] == [True] * 6 + [False]
    assert speech(said[-1]) == "That is more than 6 messages in a minute. Try again in a minute."
    assert ir.async_get(hass).async_get_issue(DOMAIN, "automation_loop_profile-1") is None


async def test_a_script_that_a_person_started_is_no_person(hass: HomeAssistant) -> None:
    await build_house(hass)
    await set_up(hass, options={"throttle_turns": 2})
    talk = {"action": f"{DOMAIN}.process", "data": {"text": "turn on the bed light"}}
    loop = {"sequence": [{"repeat": {"count": 5, "sequence": [talk]}}]}
    assert await async_setup_component(hass, "script", {"script": {"loop": loop}})
    user = await hass.auth.async_create_user("Anna", group_ids=["system-admin"])
    calls = async_capture_events(hass, EVENT_CALL_SERVICE)
    await hass.services.async_call("script", "loop", blocking=True, context=Context(user_id=user.id))
    assert sum(call.data["domain"] == "light" for call in calls) == 2
    assert ir.async_get(hass).async_get_issue(DOMAIN, "automation_loop_profile-1") is not None
    said = await say(hass, "turn on the bed light", context=Context(user_id=user.id))
    assert said.response.error_code is None


async def test_the_owner_is_told_once_and_again_when_it_is_quiet(
    hass: HomeAssistant,
    throttle: Throttle,
    told: Told,
    make_turn: MakeTurn,
    freezer: FrozenDateTimeFactory,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def pass_time(seconds: int) -> None:
        freezer.tick(seconds)
        async_fire_time_changed(hass)

    for _ in range(5):
        admitted(throttle, make_turn())
    assert told == [("Anna", True)]
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1
    pass_time(50)
    assert not admitted(throttle, make_turn())
    pass_time(11)
    assert told == [("Anna", True)]  # the last refusal is 11 seconds ago
    assert admitted(throttle, make_turn())
    pass_time(50)
    assert told == [("Anna", True), ("Anna", False)]


async def test_whole_turns_of_a_loop(hass: HomeAssistant) -> None:
    await build_house(hass)
    await set_up(hass, options={"throttle_turns": 2})
    answers = [speech(await say(hass, "turn on the bed light")) for _ in range(3)]
    assert answers[0] == answers[1] != answers[2]
    assert "at most 2 per minute" in answers[2]
    issue = ir.async_get(hass).async_get_issue(DOMAIN, "automation_loop_profile-1")
    assert issue is not None
    assert issue.translation_placeholders == {"profile": "Home Agent"}
    user = await hass.auth.async_create_user("Anna")
    assert speech(await say(hass, "turn on the bed light", context=Context(user_id=user.id))) == answers[0]
