"""What becomes of an automation after the yes: what it uses is rewritten, it is taken back, others approve it."""

from collections.abc import AsyncGenerator, Mapping
import copy
from pathlib import Path
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.home_agent.automations.records import records_of
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.proposal import ProposalStatus
from tests.automations.home import Talk
from tests.house import person

from .automating import LIGHT, automation, made, rewrite, told, with_files
from .conftest import SetUp
from .world import AUTOMATIONS, DOOR, SCENES, SCRIPTS, Witness

OPEN = {"action": "lock.unlock", "target": {"entity_id": DOOR}}
PROPOSED = "automations_proposed"
TEST = "automation.test"


@pytest.fixture
async def file(hass: HomeAssistant, witness: Witness) -> AsyncGenerator[Path]:
    yield await with_files(hass)
    for entity_id in hass.states.async_entity_ids("automation"):
        await hass.services.async_call("automation", "turn_off", {"entity_id": entity_id}, blocking=True)


@pytest.fixture
async def talk(hass: HomeAssistant, file: Path, witness: Witness, start: SetUp, admin: Context) -> Talk:
    await start(profile={"automation_tools": True, "max_calls_per_turn": 20})
    return Talk(hass, witness.server, admin)


async def make(talk: Talk, *actions: Mapping[str, Any], **more: Any) -> None:
    await talk.ask(("create_automation", automation(*actions, **more)))
    await talk.say("yes")


def opened(name: str = "harmless") -> dict[str, Any]:
    """Return the scripts of the house, of which one opens the door now."""
    scripts = copy.deepcopy(SCRIPTS)
    scripts[name]["sequence"] = [OPEN]
    return scripts


USED: dict[str, tuple[Mapping[str, Any], str, Any]] = {
    "a script": ({"action": "script.harmless"}, "script", opened()),
    "a script that is turned on": (
        {"action": "script.turn_on", "target": {"entity_id": "script.harmless"}}, "script", opened(),
    ),
    "a scene": ({"scene": "scene.cosy"}, "scene", [{"name": "Cosy", "entities": {DOOR: "unlocked"}}, *SCENES[1:]]),
    "an automation": (
        {"action": "automation.trigger", "target": {"entity_id": "automation.morning"}}, "automation", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("action", "kind", "content"), USED.values(), ids=USED.keys())
async def test_what_is_rewritten_later_does_not_run(
    hass: HomeAssistant, talk: Talk, file: Path, action: Mapping[str, Any], kind: str, content: Any
) -> None:
    await make(talk, action)
    assert hass.states.is_state(TEST, "on")
    if content is None:
        content = file.read_text().replace("event: harmless_ran", f"action: lock.unlock\n    entity_id: {DOOR}", 1)
    await rewrite(hass, kind, content)
    assert hass.states.is_state(TEST, "off")
    assert len(records_of(hass).rows(ProposalStatus.DOUBTED)) == 1


async def test_what_is_rewritten_later_does_not_run_although_it_is_broken(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    await make(talk, {"action": "script.harmless"}, {"action": "light.turn_on", "target": {"entity_id": LIGHT}})
    async_expose_entity(hass, ASSISTANT, LIGHT, False)
    await rewrite(hass, "script", opened())
    assert hass.states.is_state(TEST, "off")


async def test_another_text_of_the_owner_is_no_yes_to_a_rewritten_script(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    await make(talk, {"action": "script.harmless"})
    await rewrite(hass, "automation", file.read_text().replace("alias: Test", "alias: Test\n  description: New"))
    assert hass.states.is_state(TEST, "on")
    await rewrite(hass, "script", opened())
    assert hass.states.is_state(TEST, "off")


async def test_a_group_with_a_new_member_is_asked_about(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    data = {"object_id": "things", "name": "Things", "entities": [LIGHT]}
    await hass.services.async_call("group", "set", data, blocking=True)
    async_expose_entity(hass, ASSISTANT, "group.things", True)
    await make(talk, {"action": "homeassistant.toggle", "target": {"entity_id": "group.things"}})
    assert hass.states.is_state(TEST, "on")
    await hass.services.async_call("group", "set", {**data, "entities": [LIGHT, DOOR]}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.is_state(TEST, "off")


async def test_a_script_that_was_rewritten_before_the_yes_is_asked_about_again(
    hass: HomeAssistant, talk: Talk, file: Path
) -> None:
    await talk.ask(("create_automation", automation({"action": "script.harmless"})))
    await rewrite(hass, "script", opened())
    await talk.say("yes")
    assert made(file) is None


async def test_an_entity_that_was_hidden_before_the_yes(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await talk.ask(("create_automation", automation()))
    async_expose_entity(hass, ASSISTANT, LIGHT, False)
    await talk.say("yes")
    assert made(file) is None


async def test_a_file_that_was_changed_before_the_yes(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await talk.ask(("delete_automation", {"id": "alarm"}))
    await rewrite(hass, "automation", file.read_text().replace("23:00:00", "22:00:00"))
    await talk.say("yes")
    assert "22:00:00" in file.read_text()


async def test_switching_on_what_was_rewritten_before_the_yes(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.alarm_at_night"}, blocking=True)
    await talk.ask(("enable_automation", {"id": "alarm"}))
    await rewrite(hass, "automation", file.read_text().replace("23:00:00", "03:00:00"))
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.alarm_at_night"}, blocking=True)
    await talk.say("yes")
    assert hass.states.is_state("automation.alarm_at_night", "off")


async def test_two_yes_make_one(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await make(talk)
    await talk.say("yes")
    assert file.read_text().count("alias: Test") == 1


async def opens_by_hand(hass: HomeAssistant, file: Path) -> None:
    lines = f"- id: opens\n  alias: Opens\n  triggers: []\n  actions:\n    - action: lock.unlock\n      target: {{entity_id: {DOOR}}}\n"
    await rewrite(hass, "automation", lines + file.read_text())


@pytest.mark.parametrize("done", ["delete_automation", "disable_automation"])
async def test_taking_back_says_that_it_opens(hass: HomeAssistant, talk: Talk, file: Path, done: str) -> None:
    await opens_by_hand(hass, file)
    await talk.ask((done, {"id": "opens"}))
    await talk.say("yes")
    assert "Front Door" in await talk.say("undo that")


@pytest.mark.parametrize("done", ["delete_automation", "disable_automation"])
async def test_no_list_of_the_owner_spares_taking_back_what_opens(
    hass: HomeAssistant, file: Path, witness: Witness, start: SetUp, admin: Context, done: str
) -> None:
    await start(profile={"automation_tools": True}, options={"confirmation": {"never": ["home_agent", "lock"]}})
    talk = Talk(hass, witness.server, admin)
    await opens_by_hand(hass, file)
    await talk.ask((done, {"id": "opens"}))
    await talk.say("yes")
    await talk.say("undo that")
    assert not hass.states.is_state("automation.opens", "on")


async def test_who_is_no_administrator_any_more_takes_nothing_back(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await talk.ask(("delete_automation", {"id": "alarm"}))
    await talk.say("yes")
    before = file.read_bytes()
    assert talk.context.user_id is not None
    user = await hass.auth.async_get_user(talk.context.user_id)
    assert user is not None
    user.groups = []
    user.is_owner = False
    user.invalidate_cache()
    await talk.say("undo that")
    await talk.say("yes")
    assert file.read_bytes() == before


# What others propose.


async def propose(hass: HomeAssistant, witness: Witness, *actions: Mapping[str, Any], **more: Any) -> Talk:
    other = Talk(hass, witness.server, person(hass, "Anna", **more))
    await other.ask(("create_automation", automation(*actions)))
    return other


async def shown(witness: Witness) -> dict[str, Any]:
    assert witness.entry is not None
    found: dict[str, Any] = await witness.entry.runtime_data.proposals.async_waiting(PROPOSED)
    return found


async def approve(witness: Witness, waiting: dict[str, Any]) -> str | None:
    assert witness.entry is not None
    rows = [row for row, _ in waiting.values()]
    _, fault = await witness.entry.runtime_data.proposals.async_decide(PROPOSED, rows, [])
    said: str | None = fault
    return said


async def test_an_administrator_is_shown_what_a_script_opens(
    hass: HomeAssistant, talk: Talk, file: Path, witness: Witness
) -> None:
    await rewrite(hass, "script", opened())
    await propose(hass, witness, {"action": "script.harmless"})
    [(_, text)] = (await shown(witness)).values()
    assert "Front Door" in text
    assert "by itself" in text


async def test_a_script_that_was_rewritten_before_an_administrator_agreed(
    hass: HomeAssistant, talk: Talk, file: Path, witness: Witness
) -> None:
    await propose(hass, witness, {"action": "script.harmless"})
    waiting = await shown(witness)
    await rewrite(hass, "script", opened())
    assert await approve(witness, waiting)
    assert made(file) is None


async def test_who_may_not_control_it_does_not_propose_it(
    hass: HomeAssistant, talk: Talk, file: Path, witness: Witness
) -> None:
    await propose(hass, witness, OPEN, policy={"entities": {"all": {"read": True}}})
    assert await shown(witness) == {}


async def test_a_proposal_goes_with_its_user(hass: HomeAssistant, talk: Talk, file: Path, witness: Witness) -> None:
    other = await propose(hass, witness)
    waiting = await shown(witness)
    assert other.context.user_id is not None
    user = await hass.auth.async_get_user(other.context.user_id)
    assert user is not None
    await hass.auth.async_remove_user(user)
    await hass.async_block_till_done()
    await approve(witness, waiting)
    assert made(file) is None


async def test_proposals_have_a_limit(hass: HomeAssistant, talk: Talk, file: Path, witness: Witness) -> None:
    other = Talk(hass, witness.server, person(hass, "Anna"))
    for number in range(25):
        await other.ask(("create_automation", automation(name=f"Test {number}") | {"name": f"Test {number}"}))
    assert len(records_of(hass).rows(ProposalStatus.PROPOSED)) <= 20


async def test_on_probation_nothing_opens(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    await make(talk, {"parallel": [OPEN, {"sequence": [OPEN]}]}, probation_days=3)
    assert hass.states.is_state(TEST, "on")
    data = {"entity_id": TEST, "skip_condition": True}
    await hass.services.async_call("automation", "trigger", data, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    entry = er.async_get(hass).async_get(TEST)
    assert entry is not None
    record = records_of(hass).get(entry.unique_id)
    assert record is not None
    assert record.is_on_probation


async def test_on_probation_a_blueprint_is_not_taken(
    hass: HomeAssistant, talk: Talk, file: Path, witness: Witness
) -> None:
    await make(talk, probation_days=3)
    before = file.read_bytes()
    entry = er.async_get(hass).async_get(TEST)
    assert entry is not None
    await talk.ask(("get_automation", {"id": entry.unique_id}))
    mark = (
        told(witness).split('"hash": "')[-1].split('"')[0]
        if '"hash": "' in told(witness)
        else told(witness).split('"hash":"')[-1].split('"')[0]
    )
    blueprint = {"use_blueprint": {"path": "motion_light.yaml", "input": {}}}
    await talk.ask(("update_automation", {"id": entry.unique_id, "hash": mark, **blueprint}))
    await talk.say("yes")
    assert file.read_bytes() == before
    assert AUTOMATIONS
