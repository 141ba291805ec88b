"""Automations that were made here are looked after: broken, silent, unlike their proof, or with a script that was rewritten."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant, State
from homeassistant.helpers import (
    area_registry as ar,
    entity_registry as er,
    floor_registry as fr,
    issue_registry as ir,
    label_registry as lr,
)
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.automations.check import async_depends
from custom_components.home_agent.automations.probation import async_record
from custom_components.home_agent.automations.recorded import PastChange
from custom_components.home_agent.automations.records import AutomationRecord, records_of
from custom_components.home_agent.automations.timeline import Timeline
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn.proposal import ProposalStatus
from tests.house import set_up
from tests.llm_server import LLMServer

from .home import Talk, with_files
from .test_changes import read

LIGHT = "light.bed_light"
SWITCH = "switch.decorative_lights"
AUTOMATION = "automation.light_follows"
SCRIPTS = """\
evening:
  alias: Evening
  sequence:
    - action: light.turn_on
      target: {entity_id: light.bed_light}
"""
OPENS = SCRIPTS.replace("light.turn_on", "lock.unlock").replace("light.bed_light", "lock.front_door")
CONFIGURATION = "automation: !include automations.yaml\nscript: !include scripts.yaml\n"
NEVER = [{"condition": "state", "entity_id": "lock.front_door", "state": "unlocked"}]


def follows(**more: Any) -> dict[str, Any]:
    return {
        "name": "Light follows",
        "triggers": [{"trigger": "state", "entity_id": SWITCH, "to": "on"}],
        "actions": [{"action": "light.turn_on", "target": {"entity_id": LIGHT}}],
        **more,
    }


@pytest.fixture
async def file(recorder_mock: None, hass: HomeAssistant, demo_house: None) -> AsyncGenerator[Path]:
    yield await with_files(hass, configuration=CONFIGURATION, scripts=SCRIPTS)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


@pytest.fixture
async def talk(hass: HomeAssistant, file: Path, llm_server: LLMServer, admin: Context) -> Talk:
    async_expose_entity(hass, "conversation", "script.evening", True)
    await set_up(hass, llm_server, profile={"automation_tools": True})
    return Talk(hass, llm_server, admin)


async def make(talk: Talk, **more: Any) -> AutomationRecord:
    await talk.ask(("create_automation", follows(**more)))
    await talk.say("yes")
    await looked(talk.hass)
    return record(talk.hass)


def record(hass: HomeAssistant) -> AutomationRecord:
    [found] = records_of(hass).made_here()
    return found


async def looked(hass: HomeAssistant) -> None:
    """Let the look at automations that is due happen."""
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)


def issue(hass: HomeAssistant, key: str) -> ir.IssueEntry | None:
    return ir.async_get(hass).async_get_issue(DOMAIN, key)


async def soon(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    freezer.tick(timedelta(seconds=10))
    await looked(hass)


async def test_one_that_works_has_no_issue(hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory) -> None:
    found = await make(talk)
    await soon(hass, freezer)
    assert [key for _, key in ir.async_get(hass).issues if key.startswith("automation_")] == []
    assert found.status is ProposalStatus.APPROVED


async def test_a_renamed_entity_is_told_until_it_is_back(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    found = await make(talk)
    registry = er.async_get(hass)
    registry.async_update_entity(SWITCH, new_entity_id="switch.other")
    await hass.async_block_till_done()
    await soon(hass, freezer)
    assert issue(hass, f"automation_broken_{found.id}") is not None
    registry.async_update_entity("switch.other", new_entity_id=SWITCH)
    await hass.async_block_till_done()
    await soon(hass, freezer)
    assert issue(hass, f"automation_broken_{found.id}") is None


async def test_a_rewritten_script_switches_it_off_and_an_administrator_is_asked(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    await make(talk, actions=[{"action": "script.evening"}])
    assert "script.evening" in record(hass).depends
    (file.parent / "scripts.yaml").write_text(OPENS)
    await hass.services.async_call("script", "reload", blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.is_state("automation.light_follows", "off")
    assert record(hass).status is ProposalStatus.DOUBTED
    assert issue(hass, "automations_changed_home") is not None
    [entry] = hass.config_entries.async_entries(DOMAIN)
    waiting = await entry.runtime_data.proposals.async_waiting("automations_changed")
    decided, fault = await entry.runtime_data.proposals.async_decide(
        "automations_changed", [row for row, _ in waiting.values()], []
    )
    assert (decided, fault) == (1, None)
    assert hass.states.is_state("automation.light_follows", "on")
    assert record(hass).status is ProposalStatus.APPROVED
    await soon(hass, freezer)
    assert hass.states.is_state("automation.light_follows", "on")


async def test_many_new_entities_are_one_look(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An integration adds hundreds at once; each is looked at, and not each by itself."""
    await make(talk)
    await soon(hass, freezer)
    looks = 0

    async def counted(*given: Any) -> dict[str, str]:
        nonlocal looks
        looks += 1
        return await async_depends(*given)

    monkeypatch.setattr("custom_components.home_agent.automations.health.async_depends", counted)
    for number in range(200):
        er.async_get(hass).async_get_or_create("light", "t", f"new {number}")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert 0 < looks <= 3


async def test_the_doubt_stays_when_a_person_ends_its_probation(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    found = await make(talk, actions=[{"action": "script.evening"}], probation_days=2)
    (file.parent / "scripts.yaml").write_text(OPENS)
    await hass.services.async_call("script", "reload", blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert record(hass).status is ProposalStatus.DOUBTED
    file.write_text(file.read_text().replace("    enabled: false\n", ""))
    known = await async_record(hass, found.id)
    assert known is not None
    assert not known.is_on_probation
    assert known.status is ProposalStatus.DOUBTED


async def test_each_change_is_seen_at_once(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await make(talk, actions=[{"action": "script.evening"}])
    er.async_get(hass).async_get_or_create("light", "t", "new")
    await hass.async_block_till_done(wait_background_tasks=True)
    (file.parent / "scripts.yaml").write_text(OPENS)
    await hass.services.async_call("script", "reload", blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.is_state("automation.light_follows", "off")


async def test_one_that_cannot_be_read_does_not_hide_the_next(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    """The first one stands in the file twice."""
    begin = len(file.read_text().removesuffix("# end\n"))
    await make(talk)
    again = file.read_text().removesuffix("# end\n")[begin:]
    await talk.ask(("create_automation", follows(name="Second", actions=[{"action": "script.evening"}])))
    await talk.say("yes")
    file.write_text(file.read_text().removesuffix("# end\n") + again)
    (file.parent / "scripts.yaml").write_text(OPENS)
    await hass.services.async_call("script", "reload", blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.is_state("automation.second", "off")


async def test_what_is_rewritten_during_a_look_is_seen_at_once(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make(talk, actions=[{"action": "script.evening"}])
    await soon(hass, freezer)
    is_first = True

    async def meanwhile(*given: Any) -> dict[str, str]:
        nonlocal is_first
        found = await async_depends(*given)
        if is_first:
            is_first = False
            (file.parent / "scripts.yaml").write_text(OPENS)
            await hass.services.async_call("script", "reload", blocking=True)
        return found

    monkeypatch.setattr("custom_components.home_agent.automations.health.async_depends", meanwhile)
    er.async_get(hass).async_get_or_create("light", "t", "new")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.is_state("automation.light_follows", "off")


async def test_a_reload_that_changes_nothing_leaves_it_on(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    await make(talk, actions=[{"action": "script.evening"}])
    for domain in ("script", "automation"):
        await hass.services.async_call(domain, "reload", blocking=True)
    await soon(hass, freezer)
    assert hass.states.is_state("automation.light_follows", "on")


async def test_what_was_deleted_in_the_editor_is_forgotten(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    await make(talk)
    file.write_text("[]\n")
    await hass.services.async_call("automation", "reload", blocking=True)
    er.async_get(hass).async_remove("automation.light_follows")
    await soon(hass, freezer)
    assert records_of(hass).made_here() == []


async def test_the_condition_for_what_must_never_be_is_missed(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    found = await make(talk, never=NEVER)
    text = file.read_text()
    begin = text.index("  conditions:\n  - condition: not")
    end = text.index("  actions:", begin)
    file.write_text(text[:begin] + text[end:])
    await hass.services.async_call("automation", "reload", blocking=True)
    await soon(hass, freezer)
    told = issue(hass, f"automation_unsafe_{found.id}")
    assert told is not None
    assert told.translation_placeholders is not None
    assert "never" in told.translation_placeholders["reason"]


async def test_it_is_proved_with_what_was_recorded(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    for service in ("turn_off", "turn_on", "turn_off"):
        await hass.services.async_call("switch", service, {"entity_id": SWITCH}, blocking=True)
        freezer.tick(timedelta(minutes=5))
    await async_wait_recording_done(hass)
    await make(talk)
    await soon(hass, freezer)
    assert {example["runs"] for example in record(hass).examples} == {True}


async def test_a_sensor_that_bounces_makes_it_no_other_than_it_was_proved(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    """What is held back 0.9 s after a run is not that run."""
    for entity_id, state, passed in (
        (LIGHT, "off", 60), (SWITCH, "off", 60), (SWITCH, "on", 0.3), (LIGHT, "on", 0.3), (SWITCH, "off", 0.3),
        (SWITCH, "on", 300),
    ):  # fmt: skip
        domain, _, _ = entity_id.partition(".")
        await hass.services.async_call(domain, f"turn_{state}", {"entity_id": entity_id}, blocking=True)
        freezer.tick(passed)
    await async_wait_recording_done(hass)
    found = await make(talk, conditions=[{"condition": "state", "entity_id": LIGHT, "state": "off"}])
    await soon(hass, freezer)
    assert [example["runs"] for example in record(hass).examples] == [True, False]
    await hass.services.async_call("automation", "reload", blocking=True)
    await soon(hass, freezer)
    assert issue(hass, f"automation_unsafe_{found.id}") is None


async def test_what_held_it_back_is_missed_beside_a_run(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    at = dt_util.utcnow()
    timeline = Timeline(
        since=at - timedelta(minutes=5),
        until=at + timedelta(minutes=1),
        entity_ids=frozenset({SWITCH}),
        start={SWITCH: State(SWITCH, "off")},
        changes=tuple(
            PastChange(at=at + timedelta(seconds=after), entity_id=SWITCH, state=State(SWITCH, state))
            for after, state in ((0, "on"), (0.5, "off"), (0.9, "on"))
        ),
    ).as_dict()
    found = await make(talk)
    examples = tuple(
        {"at": (at + timedelta(seconds=after)).isoformat(), "runs": runs, "timeline": timeline}
        for after, runs in ((0, True), (0.9, False))
    )
    records_of(hass).put(replace(found, examples=examples))
    await hass.services.async_call("automation", "reload", blocking=True)
    await soon(hass, freezer)
    told = issue(hass, f"automation_unsafe_{found.id}")
    assert told is not None
    assert told.translation_placeholders is not None
    assert "held back" in told.translation_placeholders["reason"]


async def test_it_is_undone_after_it_was_looked_at(
    hass: HomeAssistant, talk: Talk, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    """What is learned of an automation later is no change by somebody."""
    before = file.read_bytes()
    for service in ("turn_off", "turn_on", "turn_off"):
        await hass.services.async_call("switch", service, {"entity_id": SWITCH}, blocking=True)
        freezer.tick(timedelta(minutes=5))
    await async_wait_recording_done(hass)
    await make(talk)
    await soon(hass, freezer)
    assert record(hass).examples
    made = file.read_bytes()
    known = await read(talk, "Light follows")
    await talk.ask(("update_automation", {"id": "Light follows", "hash": known["hash"], "mode": "restart"}))
    await talk.say("yes")
    await soon(hass, freezer)
    assert file.read_bytes() != made
    await talk.say("undo that")
    assert "Light follows" in await talk.say("yes")
    assert file.read_bytes() == made
    await soon(hass, freezer)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.light_follows"}, blocking=True)
    await talk.say("undo that")
    await talk.say("yes")
    assert file.read_bytes() == before


async def test_one_that_should_have_run_and_did_not_is_told(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    found = await make(talk)
    freezer.tick(timedelta(days=8))
    async_fire_time_changed(hass)
    hass.states.async_set("automation.light_follows", "on", {"id": found.id, "last_triggered": None})
    for service in ("turn_off", "turn_on"):
        hass.states.async_set(SWITCH, service.removeprefix("turn_"))
        freezer.tick(timedelta(minutes=1))
    hass.states.async_set("automation.light_follows", "on", {"id": found.id, "last_triggered": None, "again": 1})
    await async_wait_recording_done(hass)
    freezer.tick(timedelta(hours=7))
    await looked(hass)
    assert issue(hass, f"automation_silent_{found.id}") is not None


def thing(hass: HomeAssistant, domain: str, name: str, **where: Any) -> None:
    """Add a thing that is in the registry, at a place, and exposed."""
    registry = er.async_get(hass)
    found = registry.async_get_or_create(domain, "test", name, suggested_object_id=name, original_name=name)
    registry.async_update_entity(found.entity_id, **where)
    hass.states.async_set(found.entity_id, "locked" if domain == "lock" else "off", {"friendly_name": name})
    async_expose_entity(hass, "conversation", found.entity_id, True)


@pytest.mark.parametrize("how", ["floor of an area", "label of an area", "label of an entity", "floor that is gone"])
async def test_a_lock_that_came_to_a_place_later_switches_it_off(
    hass: HomeAssistant, talk: Talk, file: Path, how: str
) -> None:
    areas = ar.async_get(hass)
    floor, label = fr.async_get(hass).async_create("Up").floor_id, lr.async_get(hass).async_create("Evening").label_id
    den, gate = areas.async_get_or_create("Den").id, areas.async_get_or_create("Gate").id
    areas.async_update(den, floor_id=floor, labels={label})
    thing(hass, "light", "one", area_id=den)
    thing(hass, "lock", "side", area_id=gate)
    if how == "floor that is gone":
        areas.async_update(gate, floor_id=floor)
    target = {"label_id": label} if how.startswith("label") else {"floor_id": floor}
    await make(talk, actions=[{"action": "homeassistant.turn_off", "target": target}])
    assert hass.states.is_state(AUTOMATION, "on")
    match how:
        case "floor of an area":
            areas.async_update(gate, floor_id=floor)
        case "label of an area":
            areas.async_update(gate, labels={label})
        case "label of an entity":
            er.async_get(hass).async_update_entity("lock.side", labels={label})
        case _:
            fr.async_get(hass).async_delete(floor)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.is_state(AUTOMATION, "off")


async def test_a_place_that_is_called_otherwise_changes_nothing(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    areas = ar.async_get(hass)
    den = areas.async_get_or_create("Den").id
    thing(hass, "light", "one", area_id=den)
    await make(talk, actions=[{"action": "homeassistant.turn_off", "target": {"area_id": den}}])
    areas.async_update(den, name="Study")
    areas.async_get_or_create("Attic")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.is_state(AUTOMATION, "on")
