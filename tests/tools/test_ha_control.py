"""Something is changed in a real house, and the result says what came of it."""

import asyncio
import time
from typing import Any

from homeassistant.core import Context, Event, HomeAssistant, ServiceCall, callback
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events, async_mock_service

from custom_components.home_agent.policy.write import MAX_RESULTS, async_execute
from custom_components.home_agent.support.errors import ToolRefusal
from custom_components.home_agent.turn.plan import ActionClass, ServiceCall as PlannedCall
from custom_components.home_agent.turn.turn import Turn
from tests.entities import Put

from .conftest import Ask, MakePlan

DIMMABLE = {"supported_color_modes": ["brightness"]}


@pytest.mark.usefixtures("demo_house")
async def test_half_brightness_is_128_and_on(hass: HomeAssistant, control: Ask) -> None:
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    result = await control("turn_on", "light.bed_light", {"brightness_pct": 50})
    assert (result["entity_id"], result["new_state"], result["brightness"]) == ("light.bed_light", "on", 128)
    state = hass.states.get("light.bed_light")
    assert state is not None
    assert (state.state, state.attributes["brightness"]) == ("on", 128)


@pytest.mark.usefixtures("demo_house")
@pytest.mark.parametrize(("action", "entity_id", "parameters", "new_state", "attribute", "value"), [
    ("turn_off", "Kitchen Lights", {}, "off", None, None),
    ("turn_on", "light.bed_light", {"color_name": "red"}, "on", "rgb_color", [255, 0, 0]),
    ("set_value", "climate.heatpump", {"temperature": "23 °C"}, "heat", "temperature", 23),
    ("set_value", "climate.hvac", {"hvac_mode": "OFF"}, "off", None, None),
    ("set_value", "media_player.walkman", {"volume": 30}, "playing", "volume_level", 0.3),
    ("set_value", "media_player.walkman", {"command": "pause"}, "paused", None, None),
    ("turn_on", "fan.living_room_fan", {"percentage": 66}, "on", "percentage", 66),
    ("toggle", "switch.ac", {}, "on", None, None),
    ("lock", "lock.kitchen_door", {}, "locked", None, None),
])  # fmt: skip
async def test_what_is_done_is_told(
    hass: HomeAssistant,
    control: Ask,
    action: str,
    entity_id: str,
    parameters: dict[str, Any],
    new_state: str,
    attribute: str | None,
    value: object,
) -> None:
    await hass.services.async_call("switch", "turn_off", {"entity_id": "switch.ac"}, blocking=True)
    result = await control(action, entity_id, parameters)
    assert result["new_state"] == new_state
    assert attribute is None or result[attribute] == value


@pytest.mark.usefixtures("demo_house")
async def test_every_call_carries_the_context_of_the_turn(hass: HomeAssistant, control: Ask, turn: Turn) -> None:
    calls: list[Event[Any]] = async_capture_events(hass, "call_service")
    await control("turn_off", "light.*")
    assert len(calls) > 3
    assert all(call.context is turn.context for call in calls)
    state = hass.states.get("light.ceiling_lights")
    assert state is not None
    assert state.context is turn.context


@pytest.mark.usefixtures("demo_house")
async def test_several_entities_are_one_call(hass: HomeAssistant, control: Ask, planned: MakePlan) -> None:
    plan = await planned("turn_off", "light.bed_light, light.kitchen_lights")
    assert [(call.service, call.entity_ids) for call in plan.effects] == [
        ("turn_off", ("light.bed_light", "light.kitchen_lights"))
    ]
    assert plan.targets == ("light.bed_light", "light.kitchen_lights")
    assert plan.action is ActionClass.WRITE
    result = await control("turn_off", "light.bed_light, light.kitchen_lights")
    assert result["count"] == 2
    assert [row["new_state"] for row in result["entities"]] == ["off", "off"]


@pytest.mark.parametrize(("entity_id", "state", "attributes", "action", "reason"), [
    ("lock.a", "locked", {}, "turn_off", "unlock"),
    ("cover.a", "closed", {"device_class": "garage", "supported_features": 3}, "turn_on", "open_door"),
    ("cover.a", "closed", {"device_class": "garage", "supported_features": 3}, "toggle", "open_door"),
    ("valve.a", "closed", {"supported_features": 3}, "turn_on", "open_valve"),
    ("alarm_control_panel.a", "armed_away", {}, "turn_off", "disarm"),
])  # fmt: skip
async def test_sensitive_plans_say_why(
    planned: MakePlan, put: Put, entity_id: str, state: str, attributes: dict[str, Any], action: str, reason: str
) -> None:
    await put(entity_id, state, **attributes)
    plan = await planned(action, entity_id)
    assert (plan.action, next(iter(plan.reasons), None)) == (ActionClass.SENSITIVE, reason)


async def test_a_plan_tells_which_of_its_entities_are_sensitive(planned: MakePlan, put: Put) -> None:
    await put("lock.door", "locked")
    await put("light.hall", "on", supported_color_modes=["onoff"])
    plan = await planned("turn_off", ["light.hall", "lock.door"])
    assert (plan.action, plan.sensitive) == (ActionClass.SENSITIVE, ("lock.door",))
    assert (await planned("turn_off", "light.hall")).sensitive == ()


async def test_of_a_wildcard_only_what_can_do_it(planned: MakePlan, put: Put) -> None:
    await put("light.a", "on", **DIMMABLE)
    await put("light.b", "on", supported_color_modes=["onoff"])
    await put("light.c", "unavailable", **DIMMABLE)
    await put("light.d", "on", exposed=False, **DIMMABLE)
    plan = await planned("set_value", "light.*", {"brightness_pct": 10})
    assert plan.targets == ("light.a",)


@pytest.mark.parametrize("user", [["light.mine"]], indirect=True)
async def test_of_a_wildcard_only_what_the_user_may_see(planned: MakePlan, put: Put) -> None:
    for name in ("light.mine", "light.other"):
        await put(name)
    assert (await planned("turn_on", "light.*")).targets == ("light.mine",)


async def test_a_wildcard_of_which_nothing_can_do_it_says_why(planned: MakePlan, put: Put) -> None:
    await put("light.b", "on", supported_color_modes=["onoff"])
    with pytest.raises(ToolRefusal, match=r"light\.b does not take brightness_pct"):
        await planned("set_value", "light.*", {"brightness_pct": 10})
    await put("sensor.a", "1")
    with pytest.raises(ToolRefusal, match=r"Nothing that matches 'sensor\.\*' can be controlled"):
        await planned("turn_on", "sensor.*")


async def test_of_two_with_one_name_the_one_that_can(planned: MakePlan, put: Put) -> None:
    await put("sensor.a", "1", friendly_name="Heater")
    await put("switch.a", "on", friendly_name="Heater")
    assert (await planned("turn_off", "heater")).targets == ("switch.a",)


async def test_one_unknown_target_and_nothing_is_planned(planned: MakePlan, put: Put) -> None:
    await put("light.a")
    with pytest.raises(ToolRefusal, match=r"No exposed entity matches 'light\.ghost'"):
        await planned("turn_on", "light.a, light.ghost")


@pytest.mark.parametrize("key", ["entity_id", "device_id", "area_id", "target"])
async def test_parameters_cannot_move_the_call_elsewhere(planned: MakePlan, put: Put, key: str) -> None:
    await put("light.a")
    await put("light.secret", exposed=False)
    with pytest.raises(ToolRefusal, match="not allowed inside parameters"):
        await planned("turn_on", "light.a", {key: "light.secret"})


def broken(hass: HomeAssistant, *entity_ids: str, error: Exception) -> list[ServiceCall]:
    calls: list[ServiceCall] = []

    async def turn_on(call: ServiceCall) -> None:
        calls.append(call)
        if call.data["entity_id"] in entity_ids:
            raise error
        hass.states.async_set(call.data["entity_id"], "on", {"new": len(calls)})

    hass.services.async_register("light", "turn_on", turn_on)
    return calls


async def test_one_that_fails_does_not_hide_the_others(hass: HomeAssistant, control: Ask, put: Put) -> None:
    for name in "abc":
        await put(f"light.{name}", "off")
    calls = broken(hass, "light.b", error=ServiceValidationError("The bulb is broken"))
    result = await control("turn_on", "light.*")
    assert len(calls) == 3
    assert [row["entity_id"] for row in result["entities"]] == ["light.a", "light.c"]
    assert result["failed"] == [{"entity_id": "light.b", "error": "The bulb is broken"}]


@pytest.mark.parametrize("error", [ValueError("secret of the device"), TimeoutError()], ids=repr)
async def test_whatever_a_device_raises_the_others_are_told(
    hass: HomeAssistant, control: Ask, put: Put, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    for name in "abc":
        await put(f"light.{name}", "off")
    broken(hass, "light.b", error=error)
    result = await control("turn_on", "light.*")
    assert [row["entity_id"] for row in result["entities"]] == ["light.a", "light.c"]
    assert result["failed"] == [{"entity_id": "light.b", "error": type(error).__name__}]
    assert "light.turn_on of light.b failed unexpectedly" in caplog.text


async def test_many_failures_are_cut(hass: HomeAssistant, control: Ask, put: Put) -> None:
    names = [f"light.l{number}" for number in range(MAX_RESULTS + 5)]
    for name in (*names, "light.works"):
        await put(name, "off")
    broken(hass, *names, error=HomeAssistantError("No power"))
    result = await control("turn_on", "light.*")
    assert (len(result["failed"]), result["failed_count"]) == (MAX_RESULTS, MAX_RESULTS + 5)
    with pytest.raises(ToolRefusal, match=r"; 5 more failed$"):
        await control("turn_on", "light.l*")


async def test_thousands_of_calls_leave_the_loop_its_turn(hass: HomeAssistant, put: Put) -> None:
    await put("light.a", "off")
    begun: list[str] = []
    seen: list[int] = []

    async def turn_on(call: ServiceCall) -> None:
        begun.append(call.data["entity_id"])
        time.sleep(0.001)  # work on the event loop, as that of an integration is
        await asyncio.sleep(0)

    async def look() -> None:
        while len(begun) < 100:
            seen.append(len(begun))
            await asyncio.sleep(0)

    hass.services.async_register("light", "turn_on", turn_on)
    looking = asyncio.create_task(look())
    call = PlannedCall(domain="light", service="turn_on", entity_ids=tuple(f"light.l{item}" for item in range(100)))
    assert not (await async_execute(hass, [call], Context())).failed
    await looking
    assert len(seen) > 10


async def test_calls_that_are_cancelled_end(hass: HomeAssistant, put: Put) -> None:
    await put("light.a", "off")
    ended: list[str] = []

    async def turn_on(call: ServiceCall) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(call.data["entity_id"])

    hass.services.async_register("light", "turn_on", turn_on)
    call = PlannedCall(domain="light", service="turn_on", entity_ids=("light.a", "light.b"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await async_execute(hass, [call], Context())
    assert sorted(ended) == ["light.a", "light.b"]


async def test_when_everything_fails_it_is_an_error(hass: HomeAssistant, control: Ask, put: Put) -> None:
    await put("light.a", "off")
    broken(hass, "light.a", error=HomeAssistantError("No power"))
    with pytest.raises(ToolRefusal, match=r"light\.a: No power"):
        await control("turn_on", "light.a")


async def test_what_was_done_before_a_failure_is_told(hass: HomeAssistant, control: Ask, put: Put) -> None:
    await put("media_player.a", "off", supported_features=128 + 2048, source_list=["TV"])
    async_mock_service(hass, "media_player", "turn_on")
    async_mock_service(hass, "media_player", "select_source", raise_exception=HomeAssistantError())
    with pytest.raises(ToolRefusal, match=r"HomeAssistantError \(turn_on was done before\)"):
        await control("turn_on", "media_player.a", {"source": "TV"})


async def test_a_state_that_comes_later_is_waited_for(hass: HomeAssistant, control: Ask, put: Put) -> None:
    await put("switch.slow", "off")
    hass.services.async_register("switch", "turn_on", lambda _call: None)
    asyncio.get_running_loop().call_later(0.05, hass.states.async_set, "switch.slow", "on")
    result = await control("turn_on", "switch.slow")
    assert (result["new_state"], result["outcome"]) == ("on", "reached")


async def test_a_state_that_never_comes_is_told_as_it_is(hass: HomeAssistant, control: Ask, put: Put) -> None:
    await put("switch.dead", "off")
    hass.services.async_register("switch", "turn_on", lambda _call: None)
    result = await control("turn_on", "switch.dead")
    assert (result["new_state"], result["outcome"]) == ("off", "unchanged")


async def test_an_entity_that_vanishes_while_it_is_switched(hass: HomeAssistant, control: Ask, put: Put) -> None:
    await put("switch.a", "off")

    def remove(_call: ServiceCall) -> None:
        hass.states.async_remove("switch.a")

    hass.services.async_register("switch", "turn_on", callback(remove))
    gone = {"entity_id": "switch.a", "new_state": None, "outcome": "unavailable", "note": "It no longer exists."}
    assert await control("turn_on", "switch.a") == gone


async def test_long_results_are_cut(hass: HomeAssistant, control: Ask, put: Put) -> None:
    for number in range(MAX_RESULTS + 5):
        await put(f"light.l{number}", "off")
    broken(hass, error=HomeAssistantError())
    result = await control("turn_on", "light.*")
    assert (result["count"], len(result["entities"])) == (MAX_RESULTS + 5, MAX_RESULTS)
    assert result["note"].startswith("5 more")
