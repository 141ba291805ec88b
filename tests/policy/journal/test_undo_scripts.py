"""Taking back scenes, scripts and automations that were run: what they changed is found out, waited for or named, and brought back."""

from collections.abc import Callable
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.policy import following, undo
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import act, build_house, say, set_up, speech

from .steps import QUICK, control, do, exposed, look, newest, ticks

BED, SWITCH, DOOR = "light.bed_light", "switch.decorative_lights", "lock.front_door"
MOVIE = {"name": "Movie", "entities": {BED: {"state": "on", "brightness": 40}, SWITCH: "off"}}


def step(action: str, entity_id: str, **data: Any) -> dict[str, Any]:
    """Return one step of a script."""
    return {"action": action, "target": {"entity_id": entity_id}, "data": data}


EVENING = [step("lock.unlock", DOOR), {"delay": 0.3}, step("light.turn_on", BED)]
SCRIPTS = {
    "evening": {"alias": "Evening", "sequence": EVENING},
    "outer": {"alias": "Outer", "sequence": [step("script.turn_on", "script.evening")]},
    "called": {"alias": "Called", "sequence": [{"action": "script.evening"}]},
    "long": {"alias": "Long", "sequence": [step("light.turn_on", BED), {"delay": 3600}, step("lock.unlock", DOOR)]},
    "slow": {"alias": "Slow", "sequence": [step("light.turn_on", BED), {"delay": 1}, step("switch.turn_off", SWITCH)]},
    "window": {
        "alias": "Window",
        "sequence": [step("cover.set_cover_position", "cover.living_room_window", position=20)],
    },
    "nothing": {"alias": "Nothing", "sequence": [step("light.turn_on", BED), step("light.turn_off", BED)]},
}
AUTOMATION = {
    "alias": "Follows",
    "triggers": [{"trigger": "state", "entity_id": BED, "to": "on"}],
    "actions": [step("switch.turn_off", SWITCH)],
}


@pytest.fixture
async def evening(hass: HomeAssistant, house: None) -> None:
    """Build a house with scripts and a scene; the door is locked, the light is off."""
    await build_house(hass)
    await exposed(hass, "script", SCRIPTS)
    await exposed(hass, "scene", [MOVIE])
    await set_up(hass, options={**QUICK, "never_confirm": ["lock", "script", "scene", "automation"]})
    await do(hass, "light.turn_off", BED)
    await do(hass, "switch.turn_on", SWITCH)
    await do(hass, "lock.lock", DOOR)


pytestmark = pytest.mark.usefixtures("evening")


async def undo_of(hass: HomeAssistant, user: MockUser) -> dict[str, Any]:
    """Take back what a user did last."""
    return await act(hass, "undo", Context(user_id=user.id))


def restored(result: dict[str, Any]) -> list[str]:
    """Return what was restored."""
    return sorted(row["entity_id"] for row in result["restored"])


@pytest.mark.parametrize("way", ["tool", "sentence"])
async def test_what_a_scene_changed_is_restored(hass: HomeAssistant, hass_admin_user: MockUser, way: str) -> None:
    await do(hass, "light.turn_on", BED, brightness=200)
    if way == "tool":
        await control(hass, hass_admin_user, "turn_on", "scene.movie")
    else:
        await say(hass, "activate movie", context=Context(user_id=hass_admin_user.id))
    assert look(hass, BED, "brightness") == ["on", 40]
    assert sorted((await newest(hass))["changed"]) == [BED, SWITCH]
    answer = speech(await say(hass, "undo that", context=Context(user_id=hass_admin_user.id)))
    assert {*answer.removeprefix("I've put ").removesuffix(" back.").split(", ")} == {"Bed Light", "Decorative Lights"}
    assert look(hass, BED, "brightness") == ["on", 200]
    assert look(hass, SWITCH) == ["on"]
    assert (await newest(hass))["undone"]


@pytest.mark.parametrize("name", ["evening", "outer", "called"])
async def test_script_that_still_runs_is_waited_for(hass: HomeAssistant, hass_admin_user: MockUser, name: str) -> None:
    await control(hass, hass_admin_user, "turn_on", f"script.{name}")
    assert look(hass, BED) == ["off"]  # it has not come to that yet
    assert restored(await undo_of(hass, hass_admin_user)) == [BED, DOOR]
    await hass.async_block_till_done(wait_background_tasks=True)
    assert (look(hass, BED), look(hass, DOOR)) == (["off"], ["locked"])
    assert (await newest(hass))["undone"]


async def test_a_long_script(hass: HomeAssistant, hass_admin_user: MockUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "PATIENCE", 0.1)
    await control(hass, hass_admin_user, "turn_on", "script.long")
    answer = await say(hass, "undo that", context=Context(user_id=hass_admin_user.id))
    assert speech(answer) == (
        "I've put Bed Light back. Still running, so what it does from now on is not undone: Long. "
        "You can ask me to undo the rest later."
    )
    assert answer.response.error_code is not None
    assert (look(hass, BED), look(hass, DOOR)) == (["off"], ["locked"])
    assert (await newest(hass))["undone"] is None
    await do(hass, "script.turn_off", "script.long")
    await do(hass, "lock.unlock", DOOR)  # not by the script


async def test_after_watching(hass: HomeAssistant, hass_admin_user: MockUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "SECONDS", 0.05)
    monkeypatch.setattr(following, "MOST", 0.1)
    await control(hass, hass_admin_user, "turn_on", "script.slow")
    await following.async_still(hass, ["script.slow"], 5)
    await hass.async_block_till_done(wait_background_tasks=True)
    result = await undo_of(hass, hass_admin_user)
    assert restored(result) == [BED]
    assert result["not_watched"] == ["script.slow"]
    action = await newest(hass)
    assert (action["undone"], action["not_watched"]) == (None, True)


async def test_an_automation_that_follows_belongs_to_it(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await exposed(hass, "automation", [AUTOMATION])
    await control(hass, hass_admin_user, "turn_on", "script.evening")
    await following.async_still(hass, ["script.evening"], 5)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert look(hass, SWITCH) == ["off"]
    assert restored(await undo_of(hass, hass_admin_user)) == [BED, DOOR, SWITCH]
    assert look(hass, SWITCH) == ["on"]


RUN = [
    {"alias": "Leave", "triggers": [], "actions": EVENING},
    {
        "alias": "Air",
        "triggers": [],
        "actions": [step("light.turn_on", BED), {"delay": 3600}, step("lock.unlock", DOOR)],
    },
    {
        "alias": "Held", "triggers": [], "conditions": [{"condition": "state", "entity_id": BED, "state": "on"}],
        "actions": [step("switch.turn_off", SWITCH)],
    },
]  # fmt: skip


async def test_an_automation_that_is_run_is_watched_and_taken_back_as_a_script_is(
    hass: HomeAssistant, hass_admin_user: MockUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    await exposed(hass, "automation", RUN)
    row = await control(hass, hass_admin_user, "trigger", "automation.leave")
    assert (row["outcome"], row["new_state"]) == ("done", "on")
    assert look(hass, BED) == ["off"]  # it is at work still, and nobody waits for its end
    assert restored(await undo_of(hass, hass_admin_user)) == [BED, DOOR]
    await hass.async_block_till_done(wait_background_tasks=True)
    assert (look(hass, BED), look(hass, DOOR), look(hass, "automation.leave")) == (["off"], ["locked"], ["on"])
    assert (await newest(hass))["undone"]

    monkeypatch.setattr(undo, "PATIENCE", 0.1)
    await control(hass, hass_admin_user, "trigger", "automation.air")
    answer = await say(hass, "undo that", context=Context(user_id=hass_admin_user.id))
    assert speech(answer) == (
        "I've put Bed Light back. Still running, so what it does from now on is not undone: Air. "
        "You can ask me to undo the rest later."
    )
    await do(hass, "automation.turn_off", "automation.air")  # ends it
    await do(hass, "automation.turn_on", "automation.air")


async def test_an_automation_held_back_leaves_nothing_to_undo(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await exposed(hass, "automation", RUN)
    data = {"action": "trigger", "entity_id": "automation.held"}
    me = Context(user_id=hass_admin_user.id)
    result = await act(hass, "execute_tool", me, tool_name="ha_control", parameters=data)
    assert (result["success"], result["error"]) == (
        False,
        "automation.held: It did not run, because its conditions are not met.",
    )
    action = await newest(hass)
    assert (action["success"], action["outcome"]) == (False, {"automation.held": "failed"})
    with pytest.raises(HomeAssistantError, match="There is nothing"):
        await undo_of(hass, hass_admin_user)

    both = {"action": "trigger", "entity_id": ["automation.held", "automation.leave"]}
    result = await act(hass, "execute_tool", me, tool_name="ha_control", parameters=both)
    assert result["success"]
    [failed] = result["result"]["failed"]
    assert failed == {"entity_id": "automation.held", "error": "It did not run, because its conditions are not met."}
    await following.async_still(hass, ["automation.leave"], 5)

    # what it runs and what becomes of itself are two things
    await control(hass, hass_admin_user, "trigger", "automation.leave")
    await following.async_still(hass, ["automation.leave"], 5)
    row = await control(hass, hass_admin_user, "toggle", "automation.held")
    assert row["new_state"] == "off"
    await undo_of(hass, hass_admin_user)
    assert look(hass, "automation.held") == ["on"]


async def test_moving_shutter(hass: HomeAssistant, hass_admin_user: MockUser, freezer: FrozenDateTimeFactory) -> None:
    before = look(hass, "cover.living_room_window", "current_position")
    await control(hass, hass_admin_user, "turn_on", "script.window")
    await ticks(hass, freezer, 7)
    assert look(hass, "cover.living_room_window", "current_position") == ["open", 20]
    assert restored(await undo_of(hass, hass_admin_user)) == ["cover.living_room_window"]
    await ticks(hass, freezer, 7)
    assert look(hass, "cover.living_room_window", "current_position") == before


async def test_a_script_without_effect_cannot_be_undone(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await control(hass, hass_admin_user, "turn_on", "script.nothing")
    await following.async_still(hass, ["script.nothing"], 5)
    assert await undo_of(hass, hass_admin_user) == {"restored": [], "not_possible": ["script.nothing"]}


async def test_a_change_after_a_scene_is_left_alone(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await control(hass, hass_admin_user, "turn_on", "scene.movie")
    await do(hass, "light.turn_on", BED, brightness=120)
    result = await undo_of(hass, hass_admin_user)
    assert (restored(result), result["changed_since"]) == ([SWITCH], [BED])
    assert look(hass, BED, "brightness") == ["on", 120]
    assert (await newest(hass))["undone"] is None


@pytest.mark.usefixtures("hass_storage")
async def test_what_is_not_exposed_is_counted_and_never_named(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    async_expose_entity(hass, ASSISTANT, SWITCH, False)
    await control(hass, hass_admin_user, "turn_on", "scene.movie")
    action = await newest(hass)
    assert (action["changed"], action["not_exposed"]) == ([BED], 1)
    answer = speech(await say(hass, "undo that", context=Context(user_id=hass_admin_user.id)))
    assert answer == "I've put Bed Light back. Not undone because I have no access: 1 more."
    assert look(hass, SWITCH) == ["off"]
    assert (await newest(hass))["undone"] is None


async def test_hidden_ones_are_counted_not_named(hass: HomeAssistant, another_user: Callable[..., MockUser]) -> None:
    user = another_user("scene.movie", BED, SWITCH)
    await say(hass, "activate movie", context=Context(user_id=user.id))
    user.mock_policy({"entities": {"entity_ids": {"scene.movie": True, BED: True}}})
    [action] = (await act(hass, "list_actions", Context(user_id=user.id)))["actions"]
    assert action["changed"] == [BED]
    mine = Context(user_id=user.id)
    assert (await act(hass, "list_actions", mine, entity_id=SWITCH))["actions"] == []
    result = await undo_of(hass, user)
    assert (restored(result), result["not_exposed"]) == ([BED], 1)
    assert SWITCH not in str(result)


async def test_undoing_a_script_asks_before_it_unlocks(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    entry = hass.config_entries.async_entries("home_agent")[0]
    hass.config_entries.async_update_entry(entry, options={**QUICK, "never_confirm": ["script"]})
    await hass.async_block_till_done()
    await do(hass, "lock.unlock", DOOR)
    await hass.services.async_call("script", "turn_off", {"entity_id": "all"}, blocking=True)
    await exposed(hass, "scene", [])
    await hass.services.async_call(
        "scene", "create", {"scene_id": "night", "entities": {DOOR: "locked"}}, blocking=True
    )
    async_expose_entity(hass, ASSISTANT, "scene.night", True)
    await control(hass, hass_admin_user, "turn_on", "scene.night")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert look(hass, DOOR) == ["locked"]
    asked = await undo_of(hass, hass_admin_user)
    assert asked["question"] == "Front Door is locked. Unlock it?"
    assert look(hass, DOOR) == ["locked"]


async def test_what_was_set_off_survives_a_restart(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    [entry] = hass.config_entries.async_entries("home_agent")
    await control(hass, hass_admin_user, "turn_on", "scene.movie")
    assert await hass.config_entries.async_reload(entry.entry_id)
    assert restored(await undo_of(hass, hass_admin_user)) == [BED, SWITCH]


async def test_nothing_is_watched_when_nothing_came_of_it(hass: HomeAssistant) -> None:
    await say(hass, "activate a scene that is not there")
    listeners = hass.bus.async_listeners()["state_changed"]
    await say(hass, "activate a scene that is not there")
    with pytest.raises(HomeAssistantError):
        await act(hass, "undo")
    assert hass.bus.async_listeners()["state_changed"] == listeners
