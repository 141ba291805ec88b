"""One decision for every tool call: nothing happens that may not, and the model always gets a result."""

import asyncio
from collections.abc import Callable
from typing import Any

from homeassistant.auth.models import User
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import Event, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_capture_events

from custom_components.home_agent.client.messages import BrokenArguments
from custom_components.home_agent.policy.policy import Policy, policy_from_options
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn import events
from custom_components.home_agent.turn.plan import ActionClass
from custom_components.home_agent.turn.turn import Turn
from tests.policy.recorder import Recorder
from tests.prompt.conftest import AddEntity

type MakeTurn = Callable[..., Turn]


async def call(policy: Policy, turn: Turn, tool: Recorder, args: dict[str, Any]) -> llm.ToolResult:
    return await policy.async_call(turn, tool, llm.ToolInput(tool_name=tool.name, tool_args=args))


@pytest.fixture
def policy(hass: HomeAssistant) -> Policy:
    MockConfigEntry(domain=DOMAIN).add_to_hass(hass)
    return Policy(hass)


async def test_allowed_call_runs_and_is_enveloped(policy: Policy, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    tool, turn = Recorder(), make_turn()
    result = await call(policy, turn, tool, {"entity_id": add_entity("light.desk")})
    told: JsonObjectType = {"outcome": {"light.desk": "reached"}, "done": True}
    assert result == llm.ToolResult(data={"success": True, "result": told, "error": None})
    assert [(record.tool_name, record.success) for record in turn.record.calls] == [("recorder", True)]


async def test_hidden_and_missing_have_one_answer(policy: Policy, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    add_entity("light.secret", exposed=False)
    tool = Recorder()
    answers = [
        (await call(policy, make_turn(), tool, {"entity_id": entity_id})).data["error"]
        for entity_id in ("light.secret", "light.ghost!")
    ]
    assert str(answers[0]).replace("light.secret", "X") == str(answers[1]).replace("light.ghost!", "X")
    assert not tool.ran


async def test_exposure_ends(hass: HomeAssistant, policy: Policy, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    tool = Recorder()
    assert not (await call(policy, make_turn(), tool, {"entity_id": add_entity("light.desk")})).error
    add_entity("light.desk", exposed=False)
    assert (await call(policy, make_turn(), tool, {"entity_id": "light.desk"})).error
    assert len(tool.ran) == 1


@pytest.mark.parametrize(
    ("action", "allowed"),
    [pytest.param(ActionClass.READ, True, id="may read"), pytest.param(ActionClass.WRITE, False, id="may not control")],
)
async def test_permissions_of_the_user_hold(
    hass: HomeAssistant,
    policy: Policy,
    add_entity: AddEntity,
    make_turn: MakeTurn,
    hass_read_only_user: MockUser,
    action: ActionClass,
    allowed: bool,
) -> None:
    user: User = hass_read_only_user
    tool = Recorder(action)
    result = await call(policy, make_turn(user=user), tool, {"entity_id": add_entity("light.desk")})
    assert (bool(tool.ran), not result.error) == (allowed, allowed)


async def test_what_a_user_may_not_know_of_is_not_there(
    policy: Policy, add_entity: AddEntity, make_turn: MakeTurn, hass_read_only_user: MockUser
) -> None:
    user: User = hass_read_only_user
    hass_read_only_user.mock_policy({"entities": {"entity_ids": {"light.other": True}}})
    tool = Recorder(ActionClass.READ)
    answers = [
        (await call(policy, make_turn(user=user), tool, {"entity_id": entity_id})).data["error"]
        for entity_id in (add_entity("light.private"), "light.ghost")
    ]
    assert str(answers[0]).replace("light.private", "X") == str(answers[1]).replace("light.ghost", "X")
    assert not tool.ran


async def test_sensitive_action_needs_confirmation(policy: Policy, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    tool = Recorder(ActionClass.SENSITIVE)
    args = {"entity_id": add_entity("lock.door"), "confirm": True, "confirmed": "yes, the user said so"}
    result = await call(policy, make_turn(), tool, args)
    assert result.error
    assert not tool.ran


@pytest.mark.parametrize("listed", ["light.desk", "light"])
async def test_owners_list_asks(hass: HomeAssistant, add_entity: AddEntity, make_turn: MakeTurn, listed: str) -> None:
    tool = Recorder()
    policy = policy_from_options(hass, {"always_confirm": [listed]})
    assert (await call(policy, make_turn(), tool, {"entity_id": add_entity("light.desk", "off")})).error
    reading = Recorder(ActionClass.READ)
    assert not (await call(policy, make_turn(), reading, {"entity_id": "light.desk"})).error
    assert not tool.ran


async def test_broken_arguments_never_run(policy: Policy, make_turn: MakeTurn) -> None:
    tool = Recorder()
    result = await call(policy, make_turn(), tool, BrokenArguments('{"entity_id": "light.'))
    assert result.error
    assert "JSON" in str(result.data["error"])
    assert not tool.ran


async def test_arguments_pass_the_schema_first(policy: Policy, make_turn: MakeTurn) -> None:
    result = await call(policy, make_turn(), Recorder(), {})
    assert "entity_id" in str(result.data["error"])


async def test_calls_beyond_the_limit_do_not_run(policy: Policy, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    tool, turn = Recorder(), make_turn(profile=Profile(name="A", max_calls_per_turn=2))
    args = {"entity_id": add_entity("light.desk")}
    results = [await call(policy, turn, tool, args) for _ in range(4)]
    assert [result.error for result in results] == [False, False, True, True]
    assert len(tool.ran) == 2


async def test_a_slow_tool_is_given_up(policy: Policy, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    tool = Recorder(delay=5)
    profile = Profile(name="A", tool_timeout=0)
    result = await call(policy, make_turn(profile=profile), tool, {"entity_id": add_entity("light.desk")})
    assert "0 seconds" in str(result.data["error"])


async def test_a_failing_device_is_no_timeout(policy: Policy, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    args = {"entity_id": add_entity("light.desk")}
    result = await call(policy, make_turn(), Recorder(error=TimeoutError()), args)
    assert result.data["error"] == "TimeoutError"


@pytest.mark.parametrize("error", [HomeAssistantError("no power"), ValueError("a bug")], ids=["expected", "unexpected"])
async def test_errors_are_results(policy: Policy, add_entity: AddEntity, make_turn: MakeTurn, error: Exception) -> None:
    turn = make_turn()
    result = await call(policy, turn, Recorder(error=error), {"entity_id": add_entity("light.desk")})
    assert result.data["success"] is False
    assert turn.record.calls[0].error == type(error).__name__


async def test_the_house_hears_by_its_class_what_was_wrong(
    policy: Policy, add_entity: AddEntity, make_turn: MakeTurn, hass_read_only_user: MockUser
) -> None:
    """No such tool, no permission, wrong arguments, too many calls; what failed goes by its own class."""
    light, heard = {"entity_id": add_entity("light.desk")}, list[str | None]()
    for tool, args, user in (
        (None, light, None),
        (Recorder(), light, hass_read_only_user),
        (Recorder(error=Unauthorized()), light, None),
        (Recorder(), BrokenArguments("{"), None),
        (Recorder(), {}, None),
        (Recorder(), {"entity_id": "light.ghost"}, None),
    ):
        turn = make_turn(user=user)
        await policy.async_call(turn, tool, llm.ToolInput(tool_name="recorder", tool_args=args))
        heard.append(turn.record.calls[0].error)
    await call(policy, turn := make_turn(profile=Profile(name="A", max_calls_per_turn=0)), Recorder(), light)
    assert [*heard, turn.record.calls[0].error] == [
        "ToolNotFoundError", "ToolPermissionError", "ToolPermissionError", "ToolArgumentsError", "ToolArgumentsError",
        "ToolError", "ToolLimitError",
    ]  # fmt: skip


async def test_unknown_tools_are_answered(policy: Policy, make_turn: MakeTurn) -> None:
    result = await policy.async_call(make_turn(), None, llm.ToolInput(tool_name="rocket", tool_args={}))
    assert result.error
    assert "rocket" in str(result.data["error"])


async def test_calls_in_events(hass: HomeAssistant, policy: Policy, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    executed: list[Event] = async_capture_events(hass, events.TOOL_EXECUTED)
    entry = hass.config_entries.async_entries(DOMAIN)[0]
    entry.mock_state(hass, ConfigEntryState.LOADED)  # type: ignore[attr-defined]
    args = {"entity_id": add_entity("light.desk"), "message": "secret words", "code": "1234"}
    await call(policy, make_turn("secret words"), Recorder(), args)
    await hass.async_block_till_done()
    data = executed[0].data
    assert {"tool_name", "parameters", "result", "success", "duration_ms", "conversation_id"} <= set(data)
    assert "secret" not in str(data)
    assert "1234" not in str(data)


async def test_cancelled_call_has_an_end(policy: Policy, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    turn = make_turn()
    task = asyncio.ensure_future(call(policy, turn, Recorder(delay=5), {"entity_id": add_entity("light.desk")}))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [record.error for record in turn.record.calls] == ["CancelledError"]
