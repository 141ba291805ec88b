"""A wish in a Home Assistant that really runs: made by talking, listed, kept over a restart, done and told."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from pytest_asyncio import fixture as async_fixture

from .harness import Hass
from .house import add_home_agent
from .process import ROOT

CEILING = "light.ceiling_lights"
DOOR = "lock.front_door"
SATELLITE = "assist_satellite.test_satellite"


async def waiting(hass: Hass) -> list[str]:
    """Return the words of what waits, as the action lists it."""
    listed = await hass.call_for_response("home_agent.list_wishes")
    return [row["wish"].casefold() for row in listed["wishes"]]


async def test_a_wish_outlives_a_restart_and_is_done(own_hass: Hass) -> None:
    agent = await add_home_agent(own_hass)
    await own_hass.call("light.turn_on", CEILING)
    for seconds in ("25 seconds", "2 hours"):
        answer = await own_hass.say(f"turn off the ceiling lights in {seconds}", agent=agent)
        assert "Ceiling Lights" in answer.speech
    assert await own_hass.state(CEILING) == "on"
    assert await waiting(own_hass) == ["turn off the ceiling lights"] * 2
    await own_hass.restart()
    await own_hass.wait_for_agents(1)
    async with asyncio.timeout(60):
        while len(await waiting(own_hass)) > 1:
            await asyncio.sleep(0.5)
    assert await waiting(own_hass) == ["turn off the ceiling lights"]
    notifications = await own_hass.command("persistent_notification/get")
    told = [str(item["message"]) for item in notifications]
    assert any("Ceiling Lights" in message for message in told), told

    [later] = (await own_hass.call_for_response("home_agent.list_wishes"))["wishes"]
    await own_hass.call_for_response("home_agent.cancel_wish", id=later["id"])
    assert await waiting(own_hass) == []


@async_fixture
async def hass_with_satellite(tmp_path: Path) -> AsyncGenerator[Hass]:
    """A Home Assistant with a satellite that talks to Home Agent, and a locked door."""
    parts = tmp_path / "custom_components"
    parts.mkdir()
    (parts / "home_agent").symlink_to(ROOT / "custom_components" / "home_agent")
    (parts / "test_satellite").symlink_to(Path(__file__).parent / "satellite")
    async with Hass(tmp_path).running() as hass:
        hass.allow_log("test_satellite")
        await hass.config_flow("test_satellite")
        agent = await add_home_agent(hass)
        ear = {"stt_engine": "stt.test_satellite", "stt_language": "en"}
        await hass.create_pipeline(agent, preferred=True, **ear)
        await hass.expose(DOOR)
        await hass.call("lock.lock", DOOR)
        await hass.wait_for(DOOR, "locked")
        yield hass
        hass.assert_clean_log()


async def say_to_satellite(hass: Hass, text: str) -> None:
    await hass.call("test_satellite.listen")
    await hass.call("test_satellite.hear", text=text)


async def spoken(hass: Hass, what: str, count: int = 1) -> str:
    """Return what the satellite `said` or `asked` by itself last, once that is so many things."""
    async with asyncio.timeout(60):
        while True:
            found: list[str] = (await hass.get(f"/api/states/{SATELLITE}"))["attributes"][what]
            if len(found) >= count:
                return found[-1]
            await asyncio.sleep(0.2)


async def test_what_opens_later_is_asked_about_at_the_satellite(hass_with_satellite: Hass) -> None:
    """The question is asked where the wish was said; the yes is heard there, and what was done is told there."""
    hass = hass_with_satellite
    await say_to_satellite(hass, "unlock the front door in five seconds")
    assert await spoken(hass, "asked") == "You planned this. Front Door is locked. Unlock it?"
    assert await hass.state(DOOR) == "locked"
    await hass.call("test_satellite.hear", text="yes")
    await hass.wait_for(DOOR, "unlocked")


async def test_a_no_at_the_satellite_leaves_the_door_locked(hass_with_satellite: Hass) -> None:
    hass = hass_with_satellite
    await say_to_satellite(hass, "unlock the front door in five seconds")
    await spoken(hass, "asked")
    await hass.call("test_satellite.hear", text="no")
    async with asyncio.timeout(30):
        while (await hass.call_for_response("home_agent.list_wishes"))["wishes"]:
            await asyncio.sleep(0.2)
    assert await hass.state(DOOR) == "locked"


async def test_a_reminder_is_told_at_the_satellite(hass_with_satellite: Hass) -> None:
    hass = hass_with_satellite
    await say_to_satellite(hass, "remind me in five seconds to feed the cat")
    assert await spoken(hass, "said") == "Reminder: feed the cat"
