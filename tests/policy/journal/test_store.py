"""The journal on the disk: what is kept, for how long, and what becomes of a file that is broken."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_fire_time_changed

from custom_components.home_agent.home.domain import Snapshot
from custom_components.home_agent.policy.journal import (
    MAX_ACTIONS,
    MAX_ENTITIES,
    MAX_WORDS,
    ActionJournal,
    JournalEntry,
)
from custom_components.home_agent.policy.write import WriteRecord
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.storage import SAVE_DELAY
from custom_components.home_agent.turn.plan import ActionClass, Plan, ServiceCall
from custom_components.home_agent.turn.turn import Outcome, Turn
from tests.house import act, build_house, say, set_up
from tests.llm_server import LLMServer, text, tool_call


def nobody(*_: object) -> None:
    """Be told of a file that cannot be used, which these tests have none of."""
    pytest.fail("the file of a test is usable")


async def opened(hass: HomeAssistant) -> ActionJournal:
    """Return a journal with what is in its file."""
    journal = ActionJournal(hass)
    await journal.async_open("e", nobody)
    return journal


def written(*entity_ids: str, hass: HomeAssistant, **fields: Any) -> WriteRecord:
    """Return a write on some entities, which are given a state."""
    before = {}
    for entity_id in entity_ids:
        hass.states.async_set(entity_id, "off", {"brightness": None, "noise": "x" * 1000})
        state = hass.states.get(entity_id)
        assert state is not None
        before[entity_id] = state
        hass.states.async_set(entity_id, "on", {"brightness": 120, "hs_color": (1.0, 2.0)})
    call = ServiceCall(
        domain="light", service="turn_on", entity_ids=entity_ids, data={"code": "1234", "brightness": 120}
    )
    turn = Turn(
        profile=Profile(name="Anna"),
        conversation_id="c",
        text=fields.pop("words", "light on"),
        language="en",
        context=Context(user_id="u"),
    )
    return WriteRecord(
        turn=turn,
        tool_name="ha_control",
        plan=Plan(action=ActionClass.WRITE, targets=entity_ids, effects=(call,)),
        before=before,
        outcomes=dict.fromkeys(entity_ids, Outcome.REACHED),
        success=True,
    )


def everything(action: JournalEntry) -> bool:
    return True


async def test_an_action_comes_back_from_the_disk_as_it_was(hass: HomeAssistant) -> None:
    journal = await opened(hass)
    journal.async_add(written("light.a", hass=hass))
    for action in journal.newest_first(everything):
        journal.async_mark_tried(action, action.before, complete=True)
    await journal.async_close()
    again = await opened(hass)
    assert again.newest_first(everything) == journal.newest_first(everything)
    [action] = again.newest_first(everything)
    assert action.undone is not None
    assert action.before == {"light.a": Snapshot("off", {"brightness": None})}
    assert action.after["light.a"].attributes == {"brightness": 120, "hs_color": [1.0, 2.0]}


async def test_codes_are_not_kept(hass: HomeAssistant, hass_storage: dict[str, Any]) -> None:
    journal = await opened(hass)
    journal.async_add(written("lock.a", hass=hass))
    await journal.async_close()
    assert "1234" not in str(hass_storage[f"{DOMAIN}.journal.e"])
    assert "light on" in str(hass_storage[f"{DOMAIN}.journal.e"])


@pytest.mark.parametrize(("code", "words", "kept"), [
    ("1234", "unlock it, the code is 12 34", "unlock it, the code is ••••"),
    ("1234", "unlock it with one two three four", "unlock it with ••••"),
    ("Sesame", "unlock it: sesame!", "unlock it: ••••!"),
    ("1234", "unlock door 5", "unlock door 5"),
])  # fmt: skip
async def test_codes_are_not_kept_in_words_either(hass: HomeAssistant, code: str, words: str, kept: str) -> None:
    journal = await opened(hass)
    call = ServiceCall(domain="lock", service="unlock", entity_ids=("lock.a",), data={"code": code})
    entry = written("lock.a", hass=hass)
    plan = replace(entry.plan, effects=(call,))
    journal.async_add(replace(entry, plan=plan, turn=replace(entry.turn, text=words)))
    assert [action.words for action in journal.newest_first(everything)] == [kept]


async def test_delayed_write(hass: HomeAssistant, hass_storage: dict[str, Any], freezer: FrozenDateTimeFactory) -> None:
    journal = await opened(hass)
    journal.async_add(written("light.a", hass=hass))
    assert f"{DOMAIN}.journal.e" not in hass_storage
    freezer.tick(SAVE_DELAY + 0.1)
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert len(hass_storage[f"{DOMAIN}.journal.e"]["data"]["actions"]) == 1


async def test_it_is_bounded(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    journal = await opened(hass)
    journal.async_add(written(*(f"light.l{n}" for n in range(MAX_ENTITIES + 3)), hass=hass, words="w" * 2 * MAX_WORDS))
    [action] = journal.newest_first(everything)
    assert (len(action.before), action.left_out, len(action.words)) == (MAX_ENTITIES, 3, MAX_WORDS)
    assert len(action.effects[0].entity_ids) == MAX_ENTITIES
    for _ in range(MAX_ACTIONS + 5):
        journal.async_add(written("light.a", hass=hass))
    assert len(journal.newest_first(everything)) == MAX_ACTIONS
    freezer.tick(timedelta(days=7, seconds=1))
    assert journal.newest_first(everything) == []
    await journal.async_close()


@pytest.mark.parametrize("broken", [{}, {"id": 1}, "words", None, {"calls": 3}])
async def test_an_invalid_entry_is_left_out(hass: HomeAssistant, hass_storage: dict[str, Any], broken: object) -> None:
    journal = await opened(hass)
    journal.async_add(written("light.a", hass=hass))
    await journal.async_close()
    hass_storage[f"{DOMAIN}.journal.e"]["data"]["actions"].insert(0, broken)
    again = await opened(hass)
    assert len(again.newest_first(everything)) == 1


@pytest.mark.parametrize("data", [True, "x", ["x"], None])
async def test_call_without_data_is_left_out(hass: HomeAssistant, hass_storage: dict[str, Any], data: object) -> None:
    journal = await opened(hass)
    journal.async_add(written("light.a", hass=hass))
    journal.async_add(written("light.b", hass=hass))
    await journal.async_close()
    [*_, newest] = hass_storage[f"{DOMAIN}.journal.e"]["data"]["actions"]
    newest["calls"] = [{"domain": "light", "service": "turn_on", "entity_ids": ["light.b"], "data": data}]
    again = await opened(hass)
    assert len([action.as_told() for action in again.newest_first(everything)]) == 1


async def test_it_goes_with_the_entry(hass: HomeAssistant, house: None, hass_storage: dict[str, Any]) -> None:
    await build_house(hass)
    entry = await set_up(hass)
    await say(hass, "turn on bed light")
    journal = entry.runtime_data.journal
    await hass.config_entries.async_unload(entry.entry_id)
    assert f"{DOMAIN}.journal.{entry.entry_id}" in hass_storage
    await hass.config_entries.async_remove(entry.entry_id)
    journal.async_add(written("light.late", hass=hass))  # by a turn that still runs
    await journal.async_close()
    assert f"{DOMAIN}.journal.{entry.entry_id}" not in hass_storage


async def listed(hass: HomeAssistant, context: Context | None = None, **data: Any) -> list[dict[str, Any]]:
    return list((await act(hass, "list_actions", context, **data))["actions"])


async def test_list_tells_who_when_what_and_from_which_words(
    hass: HomeAssistant, house: None, llm_server: LLMServer, hass_admin_user: MockUser
) -> None:
    await build_house(hass)
    await set_up(hass, llm_server)
    turn_on = {"action": "turn_on", "entity_id": "light.bed_light", "parameters": {"brightness_pct": 40}}
    llm_server.plan(tool_call("ha_control", turn_on), text("On."))
    result = await say(hass, "some light, please", context=Context(user_id=hass_admin_user.id))
    [action] = await listed(hass)
    assert action.pop("action_id")
    assert action.pop("when")
    assert action == {
        "user_id": hass_admin_user.id, "profile": "Home Agent", "conversation_id": result.conversation_id,
        "words": "some light, please", "tool_name": "ha_control", "subject": None,
        "calls": [{"action": "light.turn_on", "entity_id": ["light.bed_light"], "data": {"brightness_pct": 40}}],
        "outcome": {"light.bed_light": "reached"}, "success": True, "undone": None,
    }  # fmt: skip


async def test_list_is_filtered(hass: HomeAssistant, house: None, freezer: FrozenDateTimeFactory) -> None:
    await build_house(hass)
    await set_up(hass)
    first = (await say(hass, "turn on bed light")).conversation_id
    freezer.tick(7200)
    await say(hass, "turn off kitchen lights")
    words = ["turn off kitchen lights", "turn on bed light"]
    assert [action["words"] for action in await listed(hass)] == words
    assert [action["words"] for action in await listed(hass, limit=1)] == words[:1]
    assert [action["words"] for action in await listed(hass, hours=1)] == words[:1]
    assert [action["words"] for action in await listed(hass, conversation_id=first)] == words[1:]
    assert [action["words"] for action in await listed(hass, entity_id="light.bed_light")] == words[1:]


async def test_reading_and_refusals_are_no_actions(hass: HomeAssistant, house: None, llm_server: LLMServer) -> None:
    await build_house(hass)
    await set_up(hass, llm_server)
    llm_server.plan(
        tool_call("ha_query", {"entity_id": "light.bed_light"}),
        tool_call("ha_control", {"action": "turn_on", "entity_id": "light.ghost"}),
        text("No."),
    )
    await say(hass, "hello")
    assert await listed(hass) == []


async def test_everybody_sees_their_own(
    hass: HomeAssistant, house: None, hass_admin_user: MockUser, hass_read_only_user: MockUser
) -> None:
    await build_house(hass)
    await set_up(hass)
    await say(hass, "turn on bed light", context=Context(user_id=hass_admin_user.id))
    assert len(await listed(hass, Context(user_id=hass_admin_user.id))) == 1
    assert await listed(hass, Context(user_id=hass_read_only_user.id)) == []


async def test_nothing_to_undo_for_an_automation(hass: HomeAssistant, house: None, hass_admin_user: MockUser) -> None:
    await build_house(hass)
    await set_up(hass)
    await say(hass, "turn on bed light", context=Context(user_id=hass_admin_user.id))
    with pytest.raises(HomeAssistantError):
        await hass.services.async_call(DOMAIN, "undo", {}, blocking=True, return_response=True)


async def test_nobodys_many_actions_push_out_those_of_others(hass: HomeAssistant) -> None:
    journal = await opened(hass)
    journal.async_add(written("light.anna", hass=hass))
    of_nobody = written("light.a", hass=hass)
    of_nobody = replace(of_nobody, turn=replace(of_nobody.turn, context=Context()))
    for _ in range(MAX_ACTIONS + 1):
        journal.async_add(of_nobody)
    kept = journal.newest_first(everything)
    assert len(kept) == MAX_ACTIONS
    assert [action for action in kept if action.user_id == "u"] == [kept[-1]]
    await journal.async_close()


async def test_entities_of_all_actions_are_bounded(hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custom_components.home_agent.policy.journal.MAX_KEPT", 10)
    journal = await opened(hass)
    many = written(*(f"light.l{number}" for number in range(4)), hass=hass)
    journal.async_add(written("light.anna", hass=hass))
    for _ in range(5):
        journal.async_add(replace(many, turn=replace(many.turn, context=Context())))
    kept = journal.newest_first(everything)
    assert [len(action.before) for action in kept] == [4, 4, 1]
    await journal.async_close()
