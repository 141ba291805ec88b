"""An automation on probation runs in the real engine, acts on nothing, and what it would do is noted until an administrator decides."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.automations.records import AutomationRecord, records_of
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn.proposal import ProposalStatus
from tests.house import set_up
from tests.llm_server import LLMServer

from .home import NIGHT, Talk, with_files

LIGHT = "light.bed_light"
SWITCH = "switch.decorative_lights"
FOLLOWS: dict[str, Any] = {
    "name": "Light follows",
    "triggers": [{"trigger": "state", "entity_id": SWITCH, "to": "on"}],
    "actions": [{"action": "light.turn_on", "target": {"entity_id": LIGHT}}],
    "probation_days": 2,
}
TRIED = "automations_tried"


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


async def test_at_its_end_an_administrator_is_told_how_often_it_would_have_acted(
    hass: HomeAssistant, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    await trigger(hass)
    await trigger(hass)
    await past_its_end(hass, freezer)
    assert record(hass).status is ProposalStatus.TRIED
    [(_, text)] = (await waiting(hass)).values()
    assert "2 times" in text


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
    from custom_components.home_agent.automations.store import automation_store

    item = await automation_store(hass).async_item(entry.unique_id)
    assert item is not None
    await talk.ask(
        ("update_automation", {"id": entry.unique_id, "hash": item.fingerprint, "conditions": NIGHT["conditions"]})
    )
    await talk.say("yes")
    assert "21:00:00" in file.read_text()
    assert "enabled: false" in file.read_text()
    assert record(hass).is_on_probation
