"""Automations are made, rewritten, deleted and switched by talking, after a yes of an administrator."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
import json
from pathlib import Path
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er, issue_registry as ir
from homeassistant.util.yaml import dump, parse_yaml
import pytest

from custom_components.home_agent.automations.records import records_of
from custom_components.home_agent.automations.store import AutomationStore
from custom_components.home_agent.policy.effects import automation_change
from custom_components.home_agent.policy.effects.automation_change import AutomationChangeKind
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from custom_components.home_agent.turn.proposal import ProposalStatus
from tests.house import person, set_up, subentry
from tests.llm_server import LLMServer, text, tool_call

from .home import FILE, NIGHT, Talk, results, with_files

pytestmark = pytest.mark.usefixtures("demo_house")


@pytest.fixture
async def file(hass: HomeAssistant, demo_house: None) -> AsyncGenerator[Path]:
    yield await with_files(hass)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


@pytest.fixture
async def talk(hass: HomeAssistant, file: Path, llm_server: LLMServer, admin: Context) -> Talk:
    await set_up(hass, llm_server, profile={"automation_tools": True, "max_calls_per_turn": 20})
    return Talk(hass, llm_server, admin)


def made(hass: HomeAssistant) -> str:
    """Return the id of the automation that was made."""
    entry = er.async_get(hass).async_get("automation.door_at_night")
    assert entry is not None
    return entry.unique_id


async def make(talk: Talk, **more: Any) -> str:
    """Make the automation; return the answer to the yes."""
    await talk.ask(("create_automation", NIGHT | more))
    return await talk.say("yes")


async def test_the_question_tells_what_it_does_and_whether_it_could_run_now(talk: Talk) -> None:
    asked = await talk.ask(("create_automation", NIGHT))
    assert "When Front Door is unlocked" in asked
    assert "turn on Bed Light" in asked
    assert asked.endswith("Make the automation “Door at night”?")


async def test_nothing_is_there_before_the_yes(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await talk.ask(("create_automation", NIGHT))
    assert file.read_text() == FILE
    assert hass.states.get("automation.door_at_night") is None
    await talk.say("no")
    assert file.read_text() == FILE


async def test_a_yes_makes_it_and_leaves_the_others_as_they_were(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    answer = await make(talk)
    assert "on" in answer
    assert f"/config/automation/edit/{made(hass)}" in answer
    assert file.read_text().startswith(FILE.removesuffix("# end\n"))
    state = hass.states.get("automation.door_at_night")
    assert state is not None
    assert state.state == "on"


async def test_what_was_made_in_the_turn_may_be_told(
    hass: HomeAssistant, file: Path, llm_server: LLMServer, admin: Context
) -> None:
    settings = {"automation_tools": True, "max_calls_per_turn": 20}
    await set_up(hass, llm_server, profile=settings, options={"never_confirm": ["create_automation"]})
    told = "The bed light is on, and I've created the automation."
    lamp = tool_call("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"})
    llm_server.plan(lamp, tool_call("create_automation", NIGHT), text(told))
    said = await Talk(hass, llm_server, admin).say("turn on the bed light and create an automation for the night")
    assert hass.states.get("automation.door_at_night") is not None
    assert said == told


async def test_what_another_agent_made_in_the_turn_may_be_told(
    hass: HomeAssistant, file: Path, llm_server: LLMServer, admin: Context
) -> None:
    maker = subentry("profile", "Maker", "profile-2", {"automation_tools": True, "delegation_level": "unrestricted"})
    lamp = tool_call("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"})
    ask = tool_call("delegate_to_service", {"target_service_id": "maker", "user_request": "Light at night, please."})
    told = "The bed light is on, and I've created the automation."
    options = {"never_confirm": ["create_automation"]}
    await set_up(hass, llm_server, profile={"delegate_to": ["profile-2"]}, options=options, more=[maker])
    llm_server.plan(lamp, ask, tool_call("create_automation", NIGHT), text("It is made."), text(told))
    said = await Talk(hass, llm_server, admin).say("turn on the bed light and create an automation for the night")
    assert hass.states.get("automation.door_at_night") is not None
    assert said == told


async def test_the_sentence_is_kept(hass: HomeAssistant, talk: Talk) -> None:
    await talk.ask(("create_automation", NIGHT), words="Light at night when the door opens")
    await talk.say("yes")
    record = records_of(hass).get(made(hass))
    assert record is not None
    assert record.said == "Light at night when the door opens"
    assert record.status is ProposalStatus.APPROVED


async def test_undo_takes_it_back(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await make(talk)
    assert "Door at night" in await talk.say("undo that")
    await talk.say("yes")
    assert file.read_text() == FILE
    assert hass.states.get("automation.door_at_night") is None


async def test_the_same_name_is_refused(talk: Talk) -> None:
    await talk.ask(("create_automation", NIGHT | {"name": "hall LAMP"}))
    assert "called 'hall LAMP' already" in results(talk.server)[0]


async def test_the_same_name_is_taken_once_where_two_ask_for_it(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    """Two conversations take one name for different things; both were asked before one of them was made."""
    talks = [Talk(hass, talk.server, talk.context) for _ in range(2)]
    for one, mode in zip(talks, ("single", "restart"), strict=True):
        assert (await one.ask(("create_automation", NIGHT | {"mode": mode}))).endswith("?")
    answers = await asyncio.gather(*(one.say("yes") for one in talks))
    assert [answer.startswith("Done") for answer in answers].count(True) == 1
    assert file.read_text().count("alias: Door at night") == 1


async def test_a_name_that_was_taken_meanwhile_is_not_given(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    """Another automation gets the name in the editor, between the question and the yes."""
    one = await read(talk, "Hall lamp")
    asked = await talk.ask(("update_automation", {"id": one["id"], "hash": one["hash"], "name": "Basement"}))
    assert asked.endswith("?")
    file.write_text(FILE.replace("alias: Cellar", "alias: basement"))
    await hass.services.async_call("automation", "reload", blocking=True)
    await talk.say("yes")
    assert "alias: Basement" not in file.read_text()


async def test_an_update_needs_the_hash_of_what_was_read(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await make(talk)
    before = file.read_text()
    await talk.ask(("update_automation", {"id": made(hass), "hash": "0" * 64, "mode": "restart"}))
    assert "another one by now" in results(talk.server)[-1]
    assert file.read_text() == before


async def read(talk: Talk, name: str) -> dict[str, Any]:
    """Return what the model is told of an automation."""
    await talk.ask(("get_automation", {"id": name}))
    found: dict[str, Any] = json.loads(results(talk.server)[-1])["result"]
    return found


async def test_the_yes_to_an_update_shows_the_difference(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await make(talk)
    known = await read(talk, "Door at night")
    asked = await talk.ask(
        ("update_automation", {"id": known["id"], "hash": known["hash"], "conditions": [], "mode": "restart"})
    )
    assert "No longer" in asked or "no longer" in asked
    assert asked.endswith("Change the automation “Door at night” like this?")
    await talk.say("yes")
    assert "21:00" not in file.read_text()
    assert "mode: restart" in file.read_text()


async def test_one_that_is_off_is_not_said_to_be_on(hass: HomeAssistant, talk: Talk) -> None:
    await make(talk)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.door_at_night"}, blocking=True)
    known = await read(talk, "Door at night")
    await talk.ask(("update_automation", {"id": known["id"], "hash": known["hash"], "mode": "restart"}))
    assert "“Door at night” is changed." in (answer := await talk.say("yes"))
    assert "is on" not in answer
    await talk.ask(("delete_automation", {"id": "Door at night"}))
    await talk.say("yes")
    await talk.say("undo that")
    assert "is on" not in await talk.say("yes")
    state = hass.states.get("automation.door_at_night")
    assert state is not None
    assert state.state == "off"


async def test_undo_puts_an_update_back_byte_by_byte(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await make(talk)
    before = file.read_text()
    known = await read(talk, "Door at night")
    await talk.ask(("update_automation", {"id": known["id"], "hash": known["hash"], "mode": "restart"}))
    await talk.say("yes")
    assert file.read_text() != before
    await talk.say("undo that")
    await talk.say("yes")
    assert file.read_text() == before


async def test_an_undone_update_leaves_nothing_of_one_that_a_person_wrote(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    known = await read(talk, "Hall lamp")
    await talk.ask(("update_automation", {"id": "hall", "hash": known["hash"], "mode": "restart"}))
    await talk.say("yes")
    assert records_of(hass).get("hall") is not None
    await talk.say("undo that")
    await talk.say("yes")
    assert file.read_text() == FILE
    assert records_of(hass).get("hall") is None


async def test_a_deleted_one_comes_back_with_its_comments(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await talk.ask(("delete_automation", {"id": "Hall lamp"}))
    await talk.say("yes")
    assert "since spring" not in file.read_text()
    assert hass.states.get("automation.hall_lamp") is None
    await talk.say("undo that")
    await talk.say("yes")
    assert file.read_text() == FILE
    assert hass.states.is_state("automation.hall_lamp", "on")


async def test_a_deleted_one_comes_back_to_the_byte_among_notes(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    written = FILE.replace("- id: cellar", "  # of the hall, perhaps\n\n# of nothing\n\n- id: cellar").replace(
        "light.bed_light}\n\n", "light.bed_light}\n"
    )
    file.write_text(written)
    await hass.services.async_call("automation", "reload", blocking=True)
    for automation_id in ("hall", "cellar"):
        await talk.ask(("delete_automation", {"id": automation_id}))
        await talk.say("yes")
        assert file.read_text() != written
        await talk.say("undo that")
        await talk.say("yes")
        assert file.read_text() == written


async def test_switching_off_and_on(hass: HomeAssistant, talk: Talk) -> None:
    await talk.ask(("disable_automation", {"id": "hall"}))
    assert "is off" in await talk.say("yes")
    assert hass.states.is_state("automation.hall_lamp", "off")
    await talk.ask(("enable_automation", {"id": "hall"}))
    await talk.say("yes")
    assert hass.states.is_state("automation.hall_lamp", "on")


async def test_a_hidden_entity_is_not_told(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    known = await read(talk, "Hall lamp")
    assert "light.bed_light" in json.dumps(known["config"])
    async_expose_entity(hass, ASSISTANT, "light.bed_light", False)
    known = await read(talk, "Hall lamp")
    assert "bed_light" not in json.dumps(known["config"])
    await talk.ask(("update_automation", {"id": "hall", "hash": known["hash"], "mode": "restart"}))
    assert "not exposed" in results(talk.server)[-1]


async def test_what_opens_is_asked_about_and_told_again(hass: HomeAssistant, talk: Talk) -> None:
    unlocks = NIGHT | {
        "triggers": [{"trigger": "time", "at": "08:00:00"}],
        "conditions": [],
        "actions": [{"if": [], "then": [{"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}]}],
    }
    asked = await talk.ask(("create_automation", unlocks))
    assert "unlock" in asked
    assert "without being asked" in await talk.say("yes")


async def test_a_member_proposes_and_an_administrator_makes_it(
    hass: HomeAssistant, talk: Talk, file: Path, llm_server: LLMServer
) -> None:
    member = person(hass, "Anna")
    other = Talk(hass, llm_server, member)
    await other.ask(("create_automation", NIGHT))
    assert file.read_text() == FILE
    [row] = records_of(hass).rows(ProposalStatus.PROPOSED)
    assert row.user_id == member.user_id
    assert ir.async_get(hass).async_get_issue(DOMAIN, "automations_proposed_home") is not None
    [entry] = hass.config_entries.async_entries(DOMAIN)
    waiting = await entry.runtime_data.proposals.async_waiting("automations_proposed")
    assert "Anna" in next(iter(waiting.values()))[1]
    decided, fault = await entry.runtime_data.proposals.async_decide(
        "automations_proposed", [found for found, _ in waiting.values()], []
    )
    assert (decided, fault) == (1, None)
    assert "Door at night" in file.read_text()
    assert records_of(hass).rows(ProposalStatus.PROPOSED) == []


async def test_a_proposal_keeps_the_days_of_its_probation(
    hass: HomeAssistant, talk: Talk, file: Path, llm_server: LLMServer
) -> None:
    other = Talk(hass, llm_server, person(hass, "Anna"))
    await other.ask(("create_automation", NIGHT | {"probation_days": 2}))
    [entry] = hass.config_entries.async_entries(DOMAIN)
    proposals = entry.runtime_data.proposals
    [(row, text)] = (await proposals.async_waiting("automations_proposed")).values()
    assert "For 2 days what it would do is only noted" in text
    assert await proposals.async_decide("automations_proposed", [row], []) == (1, None)
    [made] = records_of(hass).made_here()
    assert made.until is not None
    assert round((made.until - made.made) / timedelta(days=1), 3) == 2
    assert "enabled: false" in file.read_text()


async def test_a_member_may_not_change_what_there_is(hass: HomeAssistant, talk: Talk, llm_server: LLMServer) -> None:
    member = person(hass, "Anna")
    other = Talk(hass, llm_server, member)
    for tool in ("delete_automation", "disable_automation", "enable_automation", "get_automation"):
        await other.ask((tool, {"id": "hall"}))
        assert "administrators" in results(llm_server)[-1].casefold()


async def test_an_automation_makes_no_automations(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    nobody = Talk(hass, talk.server, Context())
    await nobody.ask(("create_automation", NIGHT))
    assert file.read_text() == FILE
    assert records_of(hass).rows(ProposalStatus.PROPOSED) == []


async def test_on_probation_its_actions_are_switched_off(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    answer = await make(talk, probation_days=3)
    assert "on probation for 3 days" in answer
    assert "enabled: false" in file.read_text()
    record = records_of(hass).get(made(hass))
    assert record is not None
    assert record.is_on_probation
    await talk.ask(("enable_automation", {"id": made(hass)}))
    await talk.say("yes")
    assert "enabled: false" not in file.read_text()


async def test_on_probation_for_one_day_it_says_one_day(talk: Talk) -> None:
    asked = await talk.ask(("create_automation", NIGHT | {"probation_days": 1}))
    assert "For one day what it would do is only noted" in asked
    assert "on probation for one day: what" in await talk.say("yes")
    await talk.ask(words="What did you make")
    assert "On probation for 1 day: its" in "\n".join(results(talk.server))


async def test_what_must_never_be_is_a_condition(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    never = [{"condition": "state", "entity_id": "switch.decorative_lights", "state": "on"}]
    await make(talk, never=never)
    assert "condition: not" in file.read_text()
    record = records_of(hass).get(made(hass))
    assert record is not None
    assert [*record.never] == never


NEVER = [{"condition": "state", "entity_id": "switch.decorative_lights", "state": "on"}]
GUARD = {"condition": "not", "conditions": NEVER}


async def update(talk: Talk, **parts: Any) -> str:
    """Replace parts of the automation, as an administrator says yes to; return the question."""
    known = await read(talk, "Door at night")
    asked = await talk.ask(("update_automation", {"id": known["id"], "hash": known["hash"], **parts}))
    await talk.say("yes")
    return asked


def conditions(file: Path) -> Any:
    listed: Any = parse_yaml(file.read_text())
    return next(one for one in listed if one["alias"] == "Door at night")["conditions"]


def never(hass: HomeAssistant) -> list[Any]:
    record = records_of(hass).get(made(hass))
    assert record is not None
    return [*record.never]


@pytest.mark.parametrize("parts", [{}, NIGHT, {"conditions": [*NIGHT["conditions"], GUARD]}])
async def test_what_must_never_be_is_given_up(
    hass: HomeAssistant, talk: Talk, file: Path, parts: dict[str, Any]
) -> None:
    await make(talk, never=NEVER)
    asked = await update(talk, never=[], **{key: parts[key] for key in ("conditions",) if key in parts})
    assert "No longer a condition: except if Decorative Lights is on" in asked
    assert conditions(file) == NIGHT["conditions"]
    assert never(hass) == []
    await update(talk, description="New")
    assert conditions(file) == NIGHT["conditions"]
    await talk.say("undo that")
    await talk.say("yes")
    await talk.say("undo that")
    await talk.say("yes")
    assert conditions(file) == [*NIGHT["conditions"], GUARD]
    assert never(hass) == NEVER


async def test_one_of_two_that_must_never_be_is_given_up(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    other = {"condition": "state", "entity_id": "light.ceiling_lights", "state": "on"}
    await make(talk, never=[*NEVER, other])
    await update(talk, conditions=[{"not": [*NEVER, other]}])
    assert conditions(file) == [{"not": [*NEVER, other]}]
    await update(talk, never=[other])
    assert conditions(file) == [{"not": [other]}]
    assert never(hass) == [other]


async def test_what_must_never_be_is_given_up_after_a_person_took_its_condition_away(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    await make(talk, never=NEVER)
    listed: Any = parse_yaml(file.read_text())
    next(one for one in listed if one["alias"] == "Door at night")["conditions"] = []
    file.write_text(dump(listed))
    await hass.services.async_call("automation", "reload", blocking=True)
    asked = await update(talk, never=[])
    assert "no longer held back: if Decorative Lights is on" in asked
    assert never(hass) == []
    await update(talk, description="New")
    assert conditions(file) == []


async def test_what_must_never_be_stays_where_nothing_is_said_of_it(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    await make(talk, never=NEVER)
    off = {**GUARD, "enabled": False}
    await update(talk, conditions=[off])
    assert conditions(file) == [off, GUARD]
    assert never(hass) == NEVER


async def test_on_probation_it_is_kept_on_the_disk_before_it_is_in_the_file(
    hass: HomeAssistant, talk: Talk, file: Path, hass_storage: dict[str, Any]
) -> None:
    """The power may go in between: one that nothing is kept of would be on probation for ever."""
    seen: list[bool] = []

    async def fail(_call: ServiceCall) -> None:
        assert "Door at night" in file.read_text()
        seen.append("Door at night" in json.dumps(hass_storage.get("home_agent.automations")))
        raise HomeAssistantError("No")

    hass.services.async_register("automation", "reload", fail)
    await talk.ask(("create_automation", NIGHT | {"probation_days": 3}))
    assert records_of(hass).rows() == []
    await talk.say("yes")
    assert seen[0]
    assert file.read_text() == FILE
    assert records_of(hass).made_here() == []


@pytest.mark.parametrize("place", ["async_depends", "async_put"])
async def test_cancelled_it_is_in_the_file_and_kept_or_neither(
    hass: HomeAssistant, talk: Talk, file: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Wherever a turn ends: one in the file that nothing is kept of would be on probation for ever."""
    owner: Any = automation_change if place == "async_depends" else AutomationStore
    reached, whole = asyncio.Event(), getattr(owner, place)

    async def ended(*args: Any, **more: Any) -> Any:
        found = await whole(*args, **more)
        reached.set()
        await asyncio.sleep(60)
        return found

    await talk.ask(("create_automation", NIGHT | {"probation_days": 3}))
    monkeypatch.setattr(owner, place, ended)
    task = hass.async_create_task(talk.say("yes"))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    monkeypatch.undo()
    await hass.async_block_till_done(wait_background_tasks=True)
    is_there = "Door at night" in file.read_text()
    assert is_there == (place == "async_put")
    assert is_there == bool(records_of(hass).made_here())


async def test_one_that_switches_itself_off_is_not_doubted_once_it_was_rewritten(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    await make(talk)
    itself = {"action": "automation.turn_off", "target": {"entity_id": "automation.door_at_night"}}
    async_expose_entity(hass, ASSISTANT, "automation.door_at_night", True)
    for name in ("one", "two"):
        await update(talk, actions=[*NIGHT["actions"], itself], description=name)
        assert f"description: {name}" in file.read_text()
        await hass.services.async_call("automation", "reload", blocking=True)
        await hass.async_block_till_done(wait_background_tasks=True)
        record = records_of(hass).get(made(hass))
        assert record is not None
        assert record.status is ProposalStatus.APPROVED
        assert hass.states.is_state("automation.door_at_night", "on")


async def test_yaml_is_taken_as_well(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    written = """
alias: Door at night
trigger:
  - platform: state
    entity_id: lock.front_door
    to: unlocked
action:
  - service: light.turn_on
    target: {entity_id: light.bed_light}
"""
    await talk.ask(("create_automation", {"config": written}))
    await talk.say("yes")
    assert made(hass)


@pytest.mark.parametrize(
    "config",
    [
        "alias: &a x\ntriggers: [*a, *a]\nactions: []",
        "{" * 100,
        "alias: !secret x\ntriggers: []\nactions: []",
        "- 1\n- 2",
    ],
)
async def test_what_is_no_plain_automation_is_refused(talk: Talk, file: Path, config: str) -> None:
    await talk.ask(("create_automation", {"config": config, "name": "X"}))
    assert '"success":false' in results(talk.server)[-1].replace(" ", "")
    assert file.read_text() == FILE


@pytest.mark.parametrize("config", ["[" + "a, " * 13_000 + "]", "[" * 30 + "a" + "]" * 30], ids=["many", "deep"])
async def test_a_text_of_very_many_values_or_levels_is_not_read(talk: Talk, config: str) -> None:
    await talk.ask(("create_automation", {"config": config, "name": "X"}))
    assert "is too long or nested too deeply" in results(talk.server)[-1]


async def test_what_is_back_already_is_told_by_undo_and_not_tried_again(
    hass: HomeAssistant, talk: Talk, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await talk.ask(("disable_automation", {"id": "hall"}))
    await talk.say("yes")
    await talk.ask(("disable_automation", {"id": "cellar"}))
    await talk.say("yes")
    with monkeypatch.context() as patched:
        patched.setattr(AutomationChangeKind, "is_so", lambda *_: True)
        assert await talk.say("undo that") == "“Cellar” is already back."
    assert "Hall lamp" in await talk.say("undo that")


@pytest.mark.parametrize("enabled", [False, "{{ false }}", True])
async def test_what_must_never_be_is_not_switched_off(
    hass: HomeAssistant, talk: Talk, file: Path, llm_server: LLMServer, enabled: object
) -> None:
    """Neither when it is made nor when it is proposed, at no depth."""
    light = {"condition": "state", "entity_id": "light.bed_light", "state": "on", "enabled": enabled}
    for one in (light, {"or": [light]}):
        for by in (talk, Talk(hass, llm_server, person(hass, "Anna"))):
            assert not (await by.ask(("create_automation", NIGHT | {"never": [one]}))).endswith("?")
            assert "`enabled` has no place" in results(llm_server)[-1]
    assert file.read_text() == FILE


async def test_a_condition_that_is_switched_off_is_told(talk: Talk) -> None:
    off = {"condition": "state", "entity_id": "light.bed_light", "state": "on", "enabled": False}
    asked = await talk.ask(("create_automation", NIGHT | {"conditions": [off]}))
    assert "if Bed Light is on (disabled): turn on Bed Light" in asked
    assert "Its conditions are met right now." not in asked
    assert "Right now this would hold it back" not in asked


async def test_a_condition_that_takes_a_while_is_not_said_to_be_met(talk: Talk) -> None:
    slow = "{% for a in range(300) if is_state('light.bed_light', 'on') %}{{ a }}{% endfor %}"
    asked = await talk.ask(("create_automation", NIGHT | {"conditions": [slow]}))
    assert asked.endswith("?")
    assert "right now" not in asked
