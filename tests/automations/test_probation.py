"""An automation on probation runs in the real engine, acts on nothing, and what it would do is noted until an administrator decides."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.recorder.db_schema import RecorderRuns
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.recorder import get_instance, session_scope
from homeassistant.util import dt as dt_util
from homeassistant.util.yaml import dump, parse_yaml
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.automations.probation import async_record
from custom_components.home_agent.automations.records import AutomationRecord, records_of
from custom_components.home_agent.automations.store import automation_store
from custom_components.home_agent.policy.effects.automation_change import ENABLE, AutomationChange, AutomationChangeKind
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.errors import ToolError
from custom_components.home_agent.turn.proposal import ProposalStatus
from tests.house import set_up
from tests.llm_server import LLMServer

from .home import NIGHT, Talk, results, with_files

LIGHT = "light.bed_light"
SWITCH = "switch.decorative_lights"
FOLLOWS: dict[str, Any] = {
    "name": "Light follows",
    "triggers": [{"trigger": "state", "entity_id": SWITCH, "to": "on"}],
    "actions": [{"action": "light.turn_on", "target": {"entity_id": LIGHT}}],
    "probation_days": 2,
}
TRIED = "automations_tried"
LATE = {"condition": "time", "after": "21:00:00"}


@pytest.fixture
async def file(recorder_mock: None, hass: HomeAssistant, demo_house: None) -> AsyncGenerator[Path]:
    yield await with_files(hass)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


@pytest.fixture
async def talk(hass: HomeAssistant, file: Path, llm_server: LLMServer, admin: Context) -> Talk:
    await set_up(hass, llm_server, profile={"automation_tools": True})
    for domain, entity_id in (("light", LIGHT), ("switch", SWITCH)):
        await hass.services.async_call(domain, "turn_off", {"entity_id": entity_id}, blocking=True)
    talk = Talk(hass, llm_server, admin)
    await talk.ask(("create_automation", FOLLOWS))
    await talk.say("yes")
    return talk


def record(hass: HomeAssistant) -> AutomationRecord:
    entry = er.async_get(hass).async_get("automation.light_follows")
    assert entry is not None
    found = records_of(hass).get(entry.unique_id)
    assert found is not None
    return found


async def trigger(hass: HomeAssistant) -> None:
    """Let the automation run once."""
    for service in ("turn_off", "turn_on"):
        await hass.services.async_call("switch", service, {"entity_id": SWITCH}, blocking=True)
        await hass.async_block_till_done(wait_background_tasks=True)


async def test_a_run_is_noted_and_nothing_is_done(hass: HomeAssistant, talk: Talk) -> None:
    await trigger(hass)
    [run] = record(hass).noted
    assert run["calls"] == [{"action": "light.turn_on", "entity_id": [LIGHT]}]
    assert hass.states.is_state(LIGHT, "off")


async def test_what_does_not_trigger_it_is_not_noted(hass: HomeAssistant, talk: Talk) -> None:
    await hass.services.async_call("switch", "turn_off", {"entity_id": SWITCH}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert record(hass).noted == ()


async def past_its_end(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    await async_wait_recording_done(hass)
    freezer.tick(timedelta(days=2, minutes=10))
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)


async def waiting(hass: HomeAssistant) -> dict[str, Any]:
    [entry] = hass.config_entries.async_entries(DOMAIN)
    found: dict[str, Any] = await entry.runtime_data.proposals.async_waiting(TRIED)
    return found


async def decide(hass: HomeAssistant, *, approve: bool) -> None:
    [entry] = hass.config_entries.async_entries(DOMAIN)
    rows = [row for row, _ in (await waiting(hass)).values()]
    decided, fault = await entry.runtime_data.proposals.async_decide(
        TRIED, rows if approve else [], [] if approve else rows
    )
    assert (decided, fault) == (1, None)


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        (0, "on probation there was nothing it would have done."),
        (1, "on probation it would have acted once, and nobody did the opposite within ten minutes."),
        (2, "on probation it would have acted 2 times; after 0 of these, somebody did the opposite"),
    ],
)
async def test_at_its_end_an_administrator_is_told_how_often_it_would_have_acted(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory, runs: int, told: str
) -> None:
    for _ in range(runs):
        await trigger(hass)
    await past_its_end(hass, freezer)
    assert record(hass).status is ProposalStatus.TRIED
    [(_, text)] = (await waiting(hass)).values()
    assert told in text


async def test_the_opposite_done_by_hand_counts_against_it(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    await hass.services.async_call("light", "turn_on", {"entity_id": LIGHT}, blocking=True)
    await trigger(hass)
    freezer.tick(timedelta(minutes=3))
    await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
    await trigger(hass)
    await past_its_end(hass, freezer)
    first, second = record(hass).noted
    assert first["against"] == [LIGHT]
    assert "against" not in second
    [(_, text)] = (await waiting(hass)).values()
    assert "2 times; after 1 of these" in text


@pytest.mark.parametrize("before", ["unavailable", "unknown", None, "off", "another run"])
async def test_a_state_that_a_restart_writes_again_does_not_count_against_it(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory, before: str | None
) -> None:
    hass.states.async_set(LIGHT, "off" if before == "off" else "on")
    await trigger(hass)
    freezer.tick(timedelta(minutes=3))
    match before:
        case "another run":
            await async_wait_recording_done(hass)
            await get_instance(hass).async_add_executor_job(started_again, hass)
        case "unavailable" | "unknown":
            hass.states.async_set(LIGHT, before)
        case _:
            hass.states.async_remove(LIGHT)
    freezer.tick(timedelta(minutes=1))
    hass.states.async_set(LIGHT, "off")
    await past_its_end(hass, freezer)
    [run] = record(hass).noted
    assert "against" not in run


def started_again(hass: HomeAssistant) -> None:
    """Write down that Home Assistant started now."""
    now = dt_util.utcnow()
    with session_scope(hass=hass) as session:
        session.add(RecorderRuns(start=now, created=now))


async def test_a_switch_on_the_wall_after_a_restart_counts_against_it(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    await trigger(hass)
    await async_wait_recording_done(hass)
    await get_instance(hass).async_add_executor_job(started_again, hass)
    for state in ("unavailable", "on", "off"):
        freezer.tick(timedelta(minutes=1))
        hass.states.async_set(LIGHT, state)
    await past_its_end(hass, freezer)
    [run] = record(hass).noted
    assert run["against"] == [LIGHT]


async def test_the_opposite_of_its_only_run_is_told(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    await trigger(hass)
    await hass.services.async_call("light", "turn_on", {"entity_id": LIGHT}, blocking=True)
    freezer.tick(timedelta(minutes=3))
    await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
    await past_its_end(hass, freezer)
    [(_, text)] = (await waiting(hass)).values()
    assert "once, and somebody did the opposite" in text


async def test_once_approved_it_acts(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    await past_its_end(hass, freezer)
    await decide(hass, approve=True)
    assert "enabled: false" not in file.read_text()
    await trigger(hass)
    assert hass.states.is_state(LIGHT, "on")
    assert not record(hass).is_on_probation


async def test_once_declined_it_is_gone(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    await past_its_end(hass, freezer)
    await decide(hass, approve=False)
    assert "Light follows" not in file.read_text()
    assert records_of(hass).made_here() == []


async def test_it_can_be_let_act_before_its_end(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    asked = await talk.ask(("enable_automation", {"id": "Light follows"}))
    assert asked.endswith("?")
    await talk.say("yes")
    await trigger(hass)
    assert hass.states.is_state(LIGHT, "on")
    await talk.say("undo that")
    await talk.say("yes")
    assert "enabled: false" in file.read_text()
    assert record(hass).is_on_probation


async def test_a_longer_night_is_rewritten_on_probation(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    """An update of one on probation changes what it will do, and it still does nothing."""
    await talk.ask(("get_automation", {"id": "Light follows"}))
    entry = er.async_get(hass).async_get("automation.light_follows")
    assert entry is not None
    item = await automation_store(hass).async_item(entry.unique_id)
    assert item is not None
    await talk.ask(
        ("update_automation", {"id": entry.unique_id, "hash": item.fingerprint, "conditions": NIGHT["conditions"]})
    )
    await talk.say("yes")
    assert "21:00:00" in file.read_text()
    assert "enabled: false" in file.read_text()
    assert record(hass).is_on_probation


def now(file: Path) -> dict[str, Any]:
    """Return how the automation is written."""
    listed: Any = parse_yaml(file.read_text())
    return next(dict(one) for one in listed if one["alias"] == "Light follows")


async def rewrite(hass: HomeAssistant, file: Path, **parts: Any) -> str:
    """Write other parts of the automation, as Home Assistant's editor does; return its hash."""
    listed: Any = parse_yaml(file.read_text())
    item = next(one for one in listed if one["alias"] == "Light follows")
    item |= parts
    file.write_text(dump(listed))
    await hass.services.async_call("automation", "reload", {"id": item["id"]}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    found = await automation_store(hass).async_item(item["id"])
    assert found is not None
    return found.fingerprint


async def test_what_a_person_wrote_meanwhile_is_told_and_acts(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    await rewrite(hass, file, conditions=[LATE])
    await past_its_end(hass, freezer)
    [(_, text)] = (await waiting(hass)).values()
    assert "after 21:00" in text
    await decide(hass, approve=True)
    assert now(file)["conditions"] == [LATE]
    assert "enabled" not in now(file)["actions"][0]


async def test_what_a_person_wrote_before_the_yes_of_an_administrator_is_not_overwritten(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    await past_its_end(hass, freezer)
    [entry] = hass.config_entries.async_entries(DOMAIN)
    rows = [row for row, _ in (await waiting(hass)).values()]
    await rewrite(hass, file, conditions=[LATE])
    _, fault = await entry.runtime_data.proposals.async_decide(TRIED, rows, [])
    assert "meanwhile" in fault
    assert now(file)["conditions"] == [LATE]
    assert record(hass).is_on_probation


async def test_what_a_person_wrote_meanwhile_stays_when_it_is_let_act_by_talking(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    [action] = now(file)["actions"]
    await rewrite(hass, file, conditions=[LATE], actions=[action | {"data": {"brightness_pct": 20}}])
    assert "21:00" in await talk.ask(("enable_automation", {"id": "Light follows"}))
    await talk.say("yes")
    assert now(file)["conditions"] == [LATE]
    assert now(file)["actions"] == [FOLLOWS["actions"][0] | {"data": {"brightness_pct": 20}}]


async def test_what_a_person_wrote_after_the_question_is_asked_about_again(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    await talk.ask(("enable_automation", {"id": "Light follows"}))
    await rewrite(hass, file, conditions=[LATE])
    await talk.say("yes")
    assert record(hass).is_on_probation
    assert now(file)["conditions"] == [LATE]


async def test_what_a_person_wrote_after_the_yes_does_not_act_unasked(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    """The text is another one between the look behind the yes and the writing."""
    kind, known = AutomationChangeKind(), record(hass)
    effect = AutomationChange(service=ENABLE, data={"id": known.id, "alias": known.alias})
    judged = await kind.async_read(hass, effect)
    await rewrite(hass, file, conditions=[LATE])
    with pytest.raises(ToolError):
        await kind.async_execute(hass, judged, judged.subjects[0], talk.context)
    assert now(file)["actions"][0]["enabled"] is False
    assert record(hass).is_on_probation


async def test_what_a_person_wrote_meanwhile_stays_when_another_part_is_changed(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    key = await rewrite(hass, file, conditions=[LATE])
    await talk.ask(("get_automation", {"id": "Light follows"}))
    assert "21:00:00" in results(talk.server)[-1]
    await talk.ask(("update_automation", {"id": record(hass).id, "hash": key, "description": "New"}))
    await talk.say("yes")
    assert now(file)["description"] == "New"
    assert now(file)["conditions"] == [LATE]
    assert now(file)["actions"][0]["enabled"] is False
    assert record(hass).is_on_probation


async def test_a_change_begins_the_same_number_of_days_anew(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    for _ in range(2):
        freezer.tick(timedelta(hours=6))
        item = await automation_store(hass).async_item(record(hass).id)
        assert item is not None
        change = {"id": item.id, "hash": item.fingerprint, "description": f"New at {freezer()}"}
        assert "For 2 days" in await talk.ask(("update_automation", change))
        await talk.say("yes")
        until = record(hass).until
        assert until is not None
        assert until - dt_util.utcnow() == timedelta(days=2)


async def test_what_a_person_wrote_meanwhile_is_what_is_noted(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await rewrite(hass, file, actions=[{"action": "light.turn_off", "target": {"entity_id": LIGHT}, "enabled": False}])
    await trigger(hass)
    [run] = record(hass).noted
    assert run["calls"] == [{"action": "light.turn_off", "entity_id": [LIGHT]}]


async def test_one_that_a_person_let_act_in_the_editor_is_not_on_probation(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    bright = {"action": "light.turn_on", "target": {"entity_id": LIGHT}, "data": {"brightness_pct": 20}}
    await rewrite(hass, file, actions=[bright])
    assert not record(hass).is_on_probation
    await trigger(hass)
    assert hass.states.is_state(LIGHT, "on")
    assert record(hass).noted == ()
    await past_its_end(hass, freezer)
    assert await waiting(hass) == {}
    assert now(file)["actions"] == [bright]


async def test_at_its_end_one_that_a_person_let_act_is_not_asked_about_any_more(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    await past_its_end(hass, freezer)
    assert await waiting(hass)
    await rewrite(hass, file, actions=FOLLOWS["actions"])
    assert await waiting(hass) == {}
    assert record(hass).status is ProposalStatus.APPROVED


async def test_let_act_and_put_back_it_is_still_on_probation(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    """It is looked at while it is written, and Home Assistant cannot load what was written."""

    async def fail(call: ServiceCall) -> None:
        await async_record(hass, record(hass).id)
        raise HomeAssistantError("no")

    await talk.ask(("enable_automation", {"id": "Light follows"}))
    hass.services.async_register("automation", "reload", fail)
    await talk.say("yes")
    assert now(file)["actions"][0]["enabled"] is False
    assert record(hass).is_on_probation


async def test_a_step_that_a_person_adds_acts_and_the_rest_is_still_on_probation(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    wait = {"delay": 1}
    await rewrite(hass, file, actions=[*now(file)["actions"], wait])
    assert record(hass).is_on_probation
    await talk.ask(("enable_automation", {"id": "Light follows"}))
    await talk.say("yes")
    assert now(file)["actions"] == [*FOLLOWS["actions"], wait]


async def test_a_step_that_was_switched_off_before_stays_off_when_a_person_rewrites_it(
    hass: HomeAssistant, file: Path, llm_server: LLMServer, admin: Context
) -> None:
    await set_up(hass, llm_server, profile={"automation_tools": True})
    talk, only = Talk(hass, llm_server, admin), {"condition": "state", "entity_id": SWITCH, "state": "on"}
    off = {"action": "light.turn_off", "target": {"entity_id": LIGHT}, "enabled": False}
    await talk.ask(("create_automation", FOLLOWS | {"actions": [only, *FOLLOWS["actions"], off]}))
    await talk.say("yes")
    assert [step["enabled"] for step in now(file)["actions"]] == [False, False, False]
    await rewrite(hass, file, conditions=[LATE])
    await talk.ask(("enable_automation", {"id": "Light follows"}))
    await talk.say("yes")
    assert now(file)["actions"] == [only, *FOLLOWS["actions"], off]
    assert now(file)["conditions"] == [LATE]


async def test_switched_off_and_undone_it_is_still_on_probation(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await talk.ask(("disable_automation", {"id": "Light follows"}))
    await talk.say("yes")
    assert hass.states.is_state("automation.light_follows", "off")
    assert (await talk.say("undo that")).endswith("?")
    assert "as it was" in await talk.say("yes")
    assert hass.states.is_state("automation.light_follows", "on")
    await trigger(hass)
    assert hass.states.is_state(LIGHT, "off")
    assert record(hass).is_on_probation
    assert len(record(hass).noted) == 1


async def test_what_was_noted_meanwhile_stays_when_it_is_undone(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    """A person switches it on for a run, and off again."""
    await talk.ask(("disable_automation", {"id": "Light follows"}))
    await talk.say("yes")
    automation = {"entity_id": "automation.light_follows"}
    await hass.services.async_call("automation", "turn_on", automation, blocking=True)
    await trigger(hass)
    await hass.services.async_call("automation", "turn_off", automation, blocking=True)
    assert (await talk.say("undo that")).endswith("?")
    await talk.say("yes")
    assert hass.states.is_state("automation.light_follows", "on")
    assert len(record(hass).noted) == 1


async def test_switched_off_and_on_by_a_person_nothing_is_undone(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await talk.ask(("disable_automation", {"id": "Light follows"}))
    await talk.say("yes")
    await hass.services.async_call("automation", "turn_on", {"entity_id": "automation.light_follows"}, blocking=True)
    assert "already back" in await talk.say("undo that")
    assert "enabled: false" in file.read_text()


async def test_let_act_and_switched_off_by_a_person_it_is_not_put_back_unasked(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    await talk.ask(("enable_automation", {"id": "Light follows"}))
    await talk.say("yes")
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.light_follows"}, blocking=True)
    assert not (await talk.say("undo that")).endswith("?")
    assert "enabled: false" not in file.read_text()
    assert hass.states.is_state("automation.light_follows", "off")


async def test_at_its_end_all_runs_are_counted(hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory) -> None:
    for number in range(250):
        idle = {"idle": True} if number % 5 == 0 else {}
        records_of(hass).note(record(hass).id, {"at": "2026-01-01T00:00:00+00:00", "calls": [], **idle})
    await talk.ask(("get_automation", {"id": "Light follows"}))
    assert '"would_have_acted":200' in results(talk.server)[-1].replace(" ", "")
    await past_its_end(hass, freezer)
    [(_, text)] = (await waiting(hass)).values()
    assert "200 times; after 0 of the last 160 times" in text


async def test_a_run_of_which_nothing_is_known_is_no_idle_one(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    file.write_text(file.read_text() + "- [\n")
    await trigger(hass)
    [run] = record(hass).noted
    assert run["calls"] == []
    assert "idle" not in run


@pytest.mark.parametrize(
    ("step", "is_idle"),
    [
        ({"condition": "state", "entity_id": SWITCH, "state": "off"}, True),
        ({"if": [{"condition": "state", "entity_id": SWITCH, "state": "off"}], "then": FOLLOWS["actions"]}, True),
        ({"stop": "Enough"}, True),
        ({"action": "light.turn_on", "target": {"entity_id": LIGHT}, "enabled": False}, True),
        ({"action": "light.turn_on", "target": {"entity_id": LIGHT}, "enabled": True}, False),
        ({"event": "visit"}, False),
    ],
)
async def test_a_run_that_does_nothing_is_no_time_that_it_would_have_acted(
    hass: HomeAssistant,
    file: Path,
    llm_server: LLMServer,
    admin: Context,
    freezer: FrozenDateTimeFactory,
    step: dict[str, Any],
    is_idle: bool,
) -> None:
    await set_up(hass, llm_server, profile={"automation_tools": True})
    talk = Talk(hass, llm_server, admin)
    await hass.services.async_call("switch", "turn_off", {"entity_id": SWITCH}, blocking=True)
    ends = "condition" in step or "stop" in step
    await talk.ask(("create_automation", FOLLOWS | {"actions": [step, *(FOLLOWS["actions"] if ends else ())]}))
    await talk.say("yes")
    await trigger(hass)
    [run] = record(hass).noted
    assert bool(run.get("idle")) is is_idle
    await past_its_end(hass, freezer)
    [(_, text)] = (await waiting(hass)).values()
    assert ("there was nothing it would have done" if is_idle else "would have acted once") in text
