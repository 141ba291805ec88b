"""The house is asked what became of a write; it is waited for as long as needed and not longer."""

import asyncio
from collections.abc import Callable
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.policy.write import Verification, WriteRecord, Writes
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.turn.plan import ActionClass, Plan, ServiceCall
from custom_components.home_agent.turn.turn import Outcome, Turn
from tests.policy.recorder import Recorder
from tests.prompt.conftest import AddEntity

type MakeTurn = Callable[..., Turn]


def calls(service: str, *entity_ids: str, **data: Any) -> tuple[ServiceCall, ...]:
    domain = entity_ids[0].partition(".")[0]
    return (ServiceCall(domain=domain, service=service, entity_ids=entity_ids, data=data),)


async def test_what_is_already_so_is_not_waited_for(hass: HomeAssistant, add_entity: AddEntity) -> None:
    verification = Verification(hass, calls("turn_on", add_entity("light.a", "on")))
    async with asyncio.timeout(10):
        await verification.async_settle(60)
    assert verification.outcomes(waited=True) == {"light.a": Outcome.REACHED}


async def test_all_of_them_are_waited_for(hass: HomeAssistant, add_entity: AddEntity) -> None:
    verification = Verification(hass, calls("turn_on", add_entity("light.a", "off"), add_entity("light.b", "off")))
    loop = asyncio.get_running_loop()
    loop.call_later(0.01, hass.states.async_set, "light.a", "on")
    loop.call_later(0.02, hass.states.async_set, "light.b", "off", {"noise": 1})
    loop.call_later(0.03, hass.states.async_set, "light.b", "on")
    async with asyncio.timeout(10):
        await verification.async_settle(60)
    assert set(verification.outcomes(waited=True).values()) == {Outcome.REACHED}


async def test_one_that_does_not_follow_is_unchanged(hass: HomeAssistant, add_entity: AddEntity) -> None:
    verification = Verification(hass, calls("turn_on", add_entity("light.a", "off")))
    await verification.async_settle(0.01)
    assert verification.outcomes(waited=True) == {"light.a": Outcome.UNCHANGED}
    assert verification.outcomes(waited=False) == {"light.a": Outcome.DONE}


async def test_a_fading_light_is_on_its_way_before_it_shows(hass: HomeAssistant, add_entity: AddEntity) -> None:
    light = add_entity("light.a", "on", brightness=255)
    verification = Verification(hass, calls("turn_on", light, brightness_pct=20, transition=10))
    await verification.async_settle(0.01)
    assert verification.outcomes(waited=True) == {"light.a": Outcome.CHANGED}


async def test_an_unseen_one_is_never_called_unchanged(hass: HomeAssistant, add_entity: AddEntity) -> None:
    verification = Verification(hass, calls("close_cover", add_entity("cover.a", "open", assumed_state=True)))
    await verification.async_settle(0.01)
    assert verification.outcomes(waited=True) == {"cover.a": Outcome.DONE}


async def test_one_under_way_is_not_waited_for(hass: HomeAssistant, add_entity: AddEntity) -> None:
    verification = Verification(hass, calls("close_cover", add_entity("cover.a", "open", current_position=100)))
    hass.states.async_set("cover.a", "closing", {"current_position": 90})
    async with asyncio.timeout(10):
        await verification.async_settle(60)
    assert verification.outcomes(waited=True) == {"cover.a": Outcome.CHANGED}


async def test_one_that_comes_to_something_else_has_changed(hass: HomeAssistant, add_entity: AddEntity) -> None:
    verification = Verification(hass, calls("turn_on", add_entity("light.a", "on", brightness=10), brightness=200))
    hass.states.async_set("light.a", "on", {"brightness": 60})
    await verification.async_settle(0.01)
    assert verification.outcomes(waited=True) == {"light.a": Outcome.CHANGED}


async def test_one_that_comes_back_is_waited_for(hass: HomeAssistant, add_entity: AddEntity) -> None:
    verification = Verification(hass, calls("turn_on", add_entity("light.a", "off")))
    hass.states.async_set("light.a", "unavailable")
    asyncio.get_running_loop().call_later(0.01, hass.states.async_set, "light.a", "on")
    await verification.async_settle(1)
    assert verification.outcomes(waited=True) == {"light.a": Outcome.REACHED}


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "unavailable"])
async def test_one_that_cannot_be_reached(hass: HomeAssistant, add_entity: AddEntity, gone: bool) -> None:
    verification = Verification(hass, calls("turn_on", add_entity("light.a", "unavailable"), "light.ghost"))
    if gone:
        hass.states.async_remove("light.a")
    async with asyncio.timeout(10):
        await verification.async_settle(60)
    assert set(verification.outcomes(waited=True).values()) == {Outcome.UNAVAILABLE}


async def test_calls_one_after_the_other_add_up(hass: HomeAssistant, add_entity: AddEntity) -> None:
    player = add_entity("media_player.tv", "off", source=None)
    verification = Verification(hass, (*calls("turn_on", player), *calls("select_source", player, source="HDMI")))
    hass.states.async_set(player, "on", {"source": "TV"})
    assert verification.outcomes(waited=True) == {player: Outcome.CHANGED}
    hass.states.async_set(player, "on", {"source": "HDMI"})
    assert verification.outcomes(waited=True) == {player: Outcome.REACHED}


class Notes:
    """A journal that only collects."""

    def __init__(self) -> None:
        self.written: list[WriteRecord] = []

    def async_add(self, written: WriteRecord) -> None:
        self.written.append(written)


class Quiet(Recorder):
    """Says that it is done, and nothing happens."""

    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> Any:
        await super().run(hass, args, plan, turn)
        return args.get("result")


async def run(hass: HomeAssistant, writes: Writes, turn: Turn, tool: Recorder, args: dict[str, Any]) -> Any:
    return await writes.async_run(hass, turn, tool, args, await tool.plan(hass, args, turn))


async def test_any_tool_tells_the_outcome(hass: HomeAssistant, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    turn, args = make_turn(), {"entity_id": add_entity("light.a", "off")}
    writes = Writes(seconds=0.01)
    assert await run(hass, writes, turn, Recorder(), args) == {"outcome": {"light.a": "unchanged"}, "done": True}
    assert await run(hass, writes, turn, Quiet(), args) == {"outcome": {"light.a": "unchanged"}}
    assert await run(hass, writes, turn, Quiet(), args | {"result": "words"}) == "words"
    assert not turn.record.acted
    hass.states.async_set("light.a", "on")
    await run(hass, writes, turn, Quiet(), args)
    assert turn.record.acted
    assert turn.record.outcomes == {"light.a": Outcome.REACHED}


async def test_nobody_looks_when_that_is_off(hass: HomeAssistant, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    turn, args = make_turn(), {"entity_id": add_entity("light.a", "off")}
    async with asyncio.timeout(10):
        await run(hass, Writes(seconds=0), turn, Quiet(), args)
    assert turn.record.outcomes == {"light.a": Outcome.DONE}
    assert turn.record.acted


async def test_reading_is_not_acting(hass: HomeAssistant, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    turn, notes, args = make_turn(), Notes(), {"entity_id": add_entity("light.a", "off")}
    assert await run(hass, Writes(note=notes.async_add), turn, Recorder(ActionClass.READ), args) == {"done": True}
    assert not turn.record.acted
    assert not notes.written


@pytest.mark.parametrize("state", ["off", "on"])
async def test_failures_are_noted(hass: HomeAssistant, add_entity: AddEntity, make_turn: MakeTurn, state: str) -> None:
    turn, notes, args = make_turn(), Notes(), {"entity_id": add_entity("light.a", "off")}

    class Half(Recorder):
        async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> Any:
            hass.states.async_set("light.a", state)
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await run(hass, Writes(note=notes.async_add), turn, Half(), args)
    [written] = notes.written
    assert (written.success, written.before["light.a"].state) == (False, "off")
    assert written.outcomes == {"light.a": Outcome.REACHED if state == "on" else Outcome.FAILED}


async def test_waiting_ends_before_the_tool(hass: HomeAssistant, add_entity: AddEntity, make_turn: MakeTurn) -> None:
    turn = make_turn(profile=Profile(name="A", tool_timeout=1))
    async with asyncio.timeout(1):
        await run(hass, Writes(seconds=60), turn, Quiet(), {"entity_id": add_entity("light.a", "off")})
    assert turn.record.outcomes == {"light.a": Outcome.UNCHANGED}
