"""A wish in a Home Assistant that really runs: made by talking, listed, kept over a restart, done and told."""

import asyncio

from .harness import Hass
from .house import add_home_agent

CEILING = "light.ceiling_lights"


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
