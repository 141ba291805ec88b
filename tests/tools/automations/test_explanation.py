"""`why_did_it_not_run` and `get_automation_stats`: what became of an automation, from its traces and a replay."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.recorder import Recorder
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.automations.records import AutomationRecord, records_of
from custom_components.home_agent.home.states import local_time
from custom_components.home_agent.support.errors import ToolError, ToolRefusal
from custom_components.home_agent.tools.automations.explanation import GetAutomationStats, WhyDidItNotRun, moment_of
from custom_components.home_agent.turn.proposal import ProposalStatus
from custom_components.home_agent.turn.turn import Turn
from tests.entities import Put

from .conftest import turn_of

DOOR = "binary_sensor.door"
CONFIG: Mapping[str, Any] = {
    "id": "night", "alias": "Night",
    "triggers": [{"trigger": "state", "entity_id": DOOR, "to": "on"}],
    "conditions": [{"condition": "state", "entity_id": "light.a", "state": "on"}],
    "actions": [{"event": "acted"}],
}  # fmt: skip


@pytest.fixture(autouse=True)
async def entities(recorder_mock: Recorder, hass: HomeAssistant, turn: Turn, put: Put) -> None:
    await put(DOOR, "off")
    await put("light.a", "off")
    for domain in ("trace",):
        assert await async_setup_component(hass, domain, {})


async def automation(hass: HomeAssistant, **changed: Any) -> None:
    assert await async_setup_component(hass, "automation", {"automation": [{**CONFIG, **changed}]})
    await hass.async_block_till_done()


async def opened(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    for state in ("on", "off"):
        freezer.tick(timedelta(minutes=1))
        hass.states.async_set(DOOR, state)
        await hass.async_block_till_done()
    await async_wait_recording_done(hass)


async def why(hass: HomeAssistant, turn: Turn, **args: Any) -> list[str]:
    tool = WhyDidItNotRun()
    checked = tool.parameters({"automation_id": "night", **args})
    found: Any = await tool.run(hass, checked, await tool.plan(hass, checked, turn), turn)
    return list(found["findings"])


async def stats(hass: HomeAssistant, turn: Turn) -> Any:
    tool = GetAutomationStats()
    checked = tool.parameters({"id": "night"})
    return await tool.run(hass, checked, await tool.plan(hass, checked, turn), turn)


async def test_a_condition_held_it_back(hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory) -> None:
    await automation(hass)
    await opened(hass, freezer)
    told = await why(hass, turn)
    assert "it was triggered, but a condition was false (condition 0" in told[0]
    assert any("conditions[0] held it back: light.a was 'off', not 'on'." in one for one in told)


async def test_it_is_off(hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory) -> None:
    await automation(hass)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.night"}, blocking=True)
    await opened(hass, freezer)
    assert (await why(hass, turn))[0].startswith("It is off now, since ")


async def test_it_was_off_then(hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory) -> None:
    await automation(hass)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.night"}, blocking=True)
    await opened(hass, freezer)
    then = dt_util.now()
    freezer.tick(timedelta(hours=1))
    await hass.services.async_call("automation", "turn_on", {"entity_id": "automation.night"}, blocking=True)
    await async_wait_recording_done(hass)
    assert (await why(hass, turn, when=then.isoformat()))[0].startswith("It was off then, since ")


async def test_an_action_failed(hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory) -> None:
    await automation(hass, conditions=[], actions=[{"action": "nothing.here"}])
    await opened(hass, freezer)
    assert "an action failed at action/0: Action nothing.here not found" in (await why(hass, turn))[0]


async def test_home_assistant_could_not_load_it(hass: HomeAssistant, turn: Turn) -> None:
    await automation(hass, triggers=[{"trigger": "nothing"}])
    assert (await why(hass, turn))[0].startswith("Home Assistant could not load it: ")


async def test_its_trigger_never_came(hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory) -> None:
    await automation(hass, triggers=[{"trigger": "state", "entity_id": DOOR, "to": "open"}])
    await opened(hass, freezer)
    told = await why(hass, turn)
    assert told[0].startswith("None of its triggers came from ")
    assert told[1] == f"triggers[0]: {DOOR} went 'off' → 'on'; it asks for to: 'open'."


async def test_hidden_entities_are_not_told(hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory) -> None:
    hass.states.async_set("lock.hidden", "locked")
    await automation(hass, conditions=[{"condition": "state", "entity_id": "lock.hidden", "state": "unlocked"}])
    await opened(hass, freezer)
    assert "lock.hidden" not in str(await why(hass, turn))


async def test_secrets_are_not_told(hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory) -> None:
    Path(hass.config.config_dir, "secrets.yaml").write_text("door: hunter-2345\n", encoding="utf-8")

    async def fail(call: ServiceCall) -> None:
        raise HomeAssistantError("hunter-2345 is wrong")

    hass.services.async_register("test", "fail", fail)
    await automation(hass, conditions=[], actions=[{"action": "test.fail"}])
    await opened(hass, freezer)
    told = (await why(hass, turn))[0]
    assert "is wrong" in told
    assert "hunter" not in told
    assert "hunter" not in (await stats(hass, turn))["last_error"]


async def test_only_administrators_ask(hass: HomeAssistant) -> None:
    await automation(hass)
    with pytest.raises(ToolError):
        await why(hass, turn_of(MockUser(name="Guest").add_to_hass(hass)))


async def test_how_often_it_ran(hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory) -> None:
    await automation(hass, conditions=[])
    await opened(hass, freezer)
    await opened(hass, freezer)
    found = await stats(hass, turn)
    assert found["runs"] == {"last_7_days": 2, "last_30_days": 2}
    assert found["traces"] == {"finished": 2}
    assert found["by_replay_of_7_days"]["would_have_run"] == 2


async def test_how_often_it_was_held_back(hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory) -> None:
    await automation(hass)
    await opened(hass, freezer)
    found = await stats(hass, turn)
    assert found["runs"]["last_7_days"] == 0
    told = found["by_replay_of_7_days"]
    assert (told["would_have_run"], told["held_back"]) == (0, 1)
    assert told["because"] == ["light.a was 'off', not 'on'"]
    assert found["traces"] == {"failed_conditions": 1}


def made(hass: HomeAssistant, **kept: Any) -> AutomationRecord:
    """Keep that the automation was made now."""
    record = AutomationRecord(
        id="night",
        status=ProposalStatus.APPROVED,
        user_id=None,
        alias="Night",
        agent_id="",
        said="",
        made=dt_util.utcnow(),
        config=CONFIG,
        **kept,
    )
    records_of(hass).put(record)
    return record


@pytest.mark.parametrize(("days", "told"), [(2, "It is on probation until "), (-1, "Its probation ended at ")])
async def test_on_probation_its_actions_are_only_noted(
    hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory, days: int, told: str
) -> None:
    await automation(hass, conditions=[], actions=[{"event": "acted", "enabled": False}])
    made(hass, until=dt_util.utcnow() + timedelta(days=days), noted=({"at": dt_util.utcnow().isoformat()},))
    await opened(hass, freezer)
    first, *others = await why(hass, turn)
    assert first.startswith(told)
    assert first.endswith("its actions are only noted, not done.")
    assert any(one.endswith("it was triggered, and its actions were only noted.") for one in others)
    assert any("its actions were to be noted" in one for one in others)
    assert not any(" ran " in one or "did run" in one or "should have run" in one for one in others)
    found = await stats(hass, turn)
    assert found["probation"] == first
    assert found["would_have_acted"] == 1


async def test_before_it_was_made_it_should_not_have_run(
    hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory
) -> None:
    await opened(hass, freezer)
    before = dt_util.now()
    freezer.tick(timedelta(minutes=1))  # few: the registry may not know of the time that is moved
    await automation(hass, conditions=[])
    record = made(hass)
    told = f"It was made at {dt_util.now():%Y-%m-%d %H:%M:%S}: before that it could not run."
    freezer.tick(timedelta(hours=1))
    assert (await why(hass, turn, when=before.isoformat()))[0] == told
    for found in (await why(hass, turn), await why(hass, turn, when=before.isoformat())):
        assert told in found
        assert not any("should have run" in one for one in found)
    counted = await stats(hass, turn)
    assert counted["by_replay_of_7_days"] == {
        "would_have_run": 0, "held_back": 0, "because": [], "since": local_time(record.made),
    }  # fmt: skip
    assert told in counted["note"]
    await opened(hass, freezer)
    assert any("should have run" in one for one in await why(hass, turn))
    assert (await stats(hass, turn))["by_replay_of_7_days"]["would_have_run"] == 1


async def test_one_that_was_only_rewritten_here_was_there_before(
    hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory
) -> None:
    await automation(hass, conditions=[])
    await opened(hass, freezer)
    freezer.tick(timedelta(hours=1))
    made(hass)
    found = await why(hass, turn)
    assert any("should have run" in one for one in found)
    assert not any("It was made" in one for one in found)


async def test_of_a_time_without_history_nothing_is_said(
    hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory
) -> None:
    await automation(hass, conditions=[])
    await opened(hass, freezer)
    for hours in (2, 0.25):
        told = await why(hass, turn, when=(dt_util.now() - timedelta(hours=hours)).isoformat())
        assert told[0].startswith("There is a history that can be replayed since ")
        assert not any("None of its triggers" in one for one in told)
    found = await why(hass, turn)
    assert any("There is a history" in one for one in found)


async def test_of_a_time_before_what_it_looks_at_was_there_nothing_is_said(
    hass: HomeAssistant, turn: Turn, freezer: FrozenDateTimeFactory
) -> None:
    await automation(hass, triggers=[{"trigger": "state", "entity_id": "binary_sensor.new"}], conditions=[])
    await opened(hass, freezer)
    then = dt_util.now()
    freezer.tick(timedelta(hours=2))
    hass.states.async_set("binary_sensor.new", "off")
    async_expose_entity(hass, "conversation", "binary_sensor.new", True)
    since = f"{dt_util.now():%Y-%m-%d %H:%M:%S}"
    await opened(hass, freezer)
    told = await why(hass, turn, when=then.isoformat())
    assert told[0] == f"There is a history that can be replayed since {since} only: what came before is not known."
    assert not any("None of its triggers" in one for one in told)


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("yesterday 22:00", timedelta(hours=14)),
        ("22:00", timedelta(hours=14)),
        ("today 7:30", timedelta(hours=4, minutes=30)),
        ("2 hours ago", timedelta(hours=2)),
        ("2026-05-04T10:00:00", timedelta(days=1, hours=2)),
    ],
)
async def test_moments(hass: HomeAssistant, freezer: FrozenDateTimeFactory, text: str, ago: timedelta) -> None:
    freezer.move_to("2026-05-05T19:00:00+00:00")  # noon
    assert dt_util.utcnow() - moment_of(text) == ago


async def test_what_is_no_moment_is_refused(hass: HomeAssistant) -> None:
    with pytest.raises(ToolRefusal, match="is no moment"):
        moment_of("soon")
