"""What is asked before an automation is made: everything sensitive by name, in few words; and what is told after the yes."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import timedelta
import json
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.policy.effects.automation_change import CREATE, PROPOSE, AutomationChange, link_to
from custom_components.home_agent.policy.write import async_plan_of
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.wishes.spoken import async_past_moment
from tests.house import set_up
from tests.llm_server import LLMServer

from .home import NIGHT, Talk, results, with_files

pytestmark = pytest.mark.usefixtures("demo_house")

NIGHT_ALARM = """\
- id: alarm
  alias: Night alarm
  triggers:
    - trigger: event
      event_type: visit
  actions:
    - action: lock.unlock
      target: {entity_id: lock.front_door}
"""
LIGHTS = ("light.bed_light", "light.ceiling_lights", "light.kitchen_lights")
UNLOCK: Mapping[str, Any] = {"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}


@pytest.fixture
async def talk(hass: HomeAssistant, demo_house: None, llm_server: LLMServer, admin: Context) -> AsyncGenerator[Talk]:
    await with_files(hass)
    await set_up(hass, llm_server, profile={"automation_tools": True, "max_calls_per_turn": 20})
    yield Talk(hass, llm_server, admin)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


def many(*last: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return thirty actions, and some behind them."""
    lit = [
        {"action": "light.turn_on", "target": {"entity_id": LIGHTS[number % 3]}, "data": {"brightness_pct": number + 1}}
        for number in range(30)
    ]
    return [*lit, *last]


async def test_what_unlocks_is_named_behind_thirty_others(talk: Talk) -> None:
    asked = await talk.ask(("create_automation", NIGHT | {"actions": many(UNLOCK)}))
    assert "(and with it: unlock Front Door)" in asked
    assert len(asked) <= 950


async def test_what_was_told_is_not_named_again(hass: HomeAssistant, talk: Talk) -> None:
    hass.services.async_register("notify", "phone", lambda _: None)
    tells = {"action": "notify.phone", "data": {"message": "The door!"}}
    asked = await talk.ask(("create_automation", NIGHT | {"actions": [tells]}))
    assert "The door!" in asked
    assert "and with it" not in asked
    await talk.say("no")
    asked = await talk.ask(("create_automation", NIGHT | {"actions": many(tells)}), words="Another one")
    assert "(and with it: phone)" in asked


async def test_what_is_deleted_is_told(talk: Talk) -> None:
    asked = await talk.ask(("delete_automation", {"id": "hall"}))
    assert asked == "At 07:00: turn on Bed Light. Delete the automation “Hall lamp”?"


async def test_a_voice_asks_in_few_words(hass: HomeAssistant, talk: Talk, llm_server: LLMServer) -> None:
    for entry in hass.config_entries.async_entries("home_agent"):
        for subentry in entry.subentries.values():
            hass.config_entries.async_update_subentry(entry, subentry, data={**subentry.data, "speech": "always"})
    await hass.async_block_till_done()
    asked = await talk.ask(("create_automation", NIGHT | {"actions": many(UNLOCK)}))
    assert "unlock Front Door" in asked
    assert len(asked.split()) <= 65
    answer = await talk.say("yes")
    assert "is on" in answer
    assert "/config/" not in answer
    assert "ID" not in answer


async def test_an_administrator_is_told_what_an_event_sets_off(
    hass: HomeAssistant, demo_house: None, talk: Talk
) -> None:
    folder = Path(hass.config.config_dir)
    await hass.async_add_executor_job((folder / "automations.yaml").write_text, NIGHT_ALARM)
    await hass.services.async_call("automation", "reload", {}, blocking=True)
    async_expose_entity(hass, ASSISTANT, "lock.front_door", False)
    fires = NIGHT | {
        "triggers": [{"trigger": "time", "at": "08:00:00"}],
        "conditions": [],
        "actions": [{"event": "visit"}],
    }
    asked = await talk.ask(("create_automation", fires))
    assert "unlock Front Door – through the automation Night alarm" in asked
    assert "not exposed" not in asked


async def test_who_proposes_is_told_the_same(hass: HomeAssistant, talk: Talk) -> None:
    config = {"alias": "x", **{key: NIGHT[key] for key in ("triggers", "conditions")}, "actions": [UNLOCK]}
    draft = await async_draft(hass, config)
    plans = [
        await async_plan_of(hass, (AutomationChange(service=service, data={"id": "1"}, draft=draft),))
        for service in (CREATE, PROPOSE)
    ]
    assert plans[0].inside == plans[1].inside
    assert [(call.action, call.entity_ids) for call in plans[1].inside] == [("lock.unlock", ("lock.front_door",))]
    assert plans[1].reasons == ()


async def test_a_template_is_no_name_of_an_action(talk: Talk) -> None:
    decided = {
        "action": "{{ 'light.turn_on' if is_state('lock.front_door', 'locked') else 'light.turn_off' }}",
        "target": {"entity_id": "light.bed_light"},
    }
    asked = await talk.ask(("create_automation", NIGHT | {"actions": [decided]}))
    assert "turn on Bed Light or turn off Bed Light" in asked
    assert "{{" not in asked


async def test_the_link_leads_to_the_address_of_the_home(hass: HomeAssistant, talk: Talk) -> None:
    hass.config.internal_url = "http://home.example:8123"
    await talk.ask(("create_automation", NIGHT))
    answer = await talk.say("yes")
    entry = er.async_get(hass).async_get("automation.door_at_night")
    assert entry is not None
    assert f"(http://home.example:8123/config/automation/edit/{entry.unique_id})" in answer
    assert f"ID {entry.unique_id}" in answer


def test_without_an_address_the_link_is_a_path(hass: HomeAssistant) -> None:
    hass.config.internal_url = hass.config.external_url = None
    hass.config.api = None
    assert link_to(hass, "7") == "/config/automation/edit/7"


async def test_the_model_sees_what_became_of_it(hass: HomeAssistant, talk: Talk) -> None:
    await talk.ask(("create_automation", NIGHT | {"probation_days": 2}))
    await talk.say("yes")
    await talk.ask(words="What did you make")
    entry = er.async_get(hass).async_get("automation.door_at_night")
    assert entry is not None
    told = "\n".join(results(talk.server))
    for part in (entry.unique_id, "automation.door_at_night", "/config/automation/edit/", "On probation for 2 days"):
        assert part in told
    assert '"state":"on"' in json.dumps(told).replace("\\", "").replace(" ", "")


@pytest.mark.parametrize(
    ("days", "said"),
    [(0, "at 18:05"), (1, "on Friday at 18:05"), (6, "on Sunday at 18:05"), (7, "on November 21 at 18:05")],
)
async def test_a_moment_that_has_passed(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory, days: int, said: str
) -> None:
    await hass.config.async_set_time_zone("Europe/Berlin")
    freezer.move_to("2026-11-28 20:00:00+01:00")
    at = dt_util.now().replace(hour=18, minute=5) - timedelta(days=days)
    assert await async_past_moment(hass, "en", at) == said
