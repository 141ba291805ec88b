"""A kind of effect that the package knows nothing of goes through question, yes, run, verification, journal, restart and undo."""

from typing import Any

from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.policy.effects import KINDS
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn.events import ACTION_EXECUTED
from tests.house import say, set_up, speech, state_of
from tests.llm_server import LLMServer, text, tool_call
from tests.stored import restart

from .notes import NoteKind

pytestmark = pytest.mark.usefixtures("demo_house", "kind")

BED = "light.bed_light"
QUICK = {"verify_seconds": 0.3}


async def write(hass: HomeAssistant, server: LLMServer, context: Context, words: str, **arguments: Any) -> str:
    server.plan(tool_call("write_note", arguments), text("I wrote that."))
    return speech(await say(hass, "Please note something", "c1", context=context))


async def actions(hass: HomeAssistant) -> list[dict[str, Any]]:
    """Return what the journal tells."""
    found: Any = await hass.services.async_call(DOMAIN, "list_actions", {}, blocking=True, return_response=True)
    return list(found["actions"])


async def test_it_is_asked_run_verified_kept_over_a_restart_and_undone(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, notes: dict[str, str], hass_storage: dict[str, Any]
) -> None:
    notes["diary"] = "Monday was fine"
    entry = await set_up(hass, llm_server)
    events = async_capture_events(hass, ACTION_EXECUTED)
    llm_server.plan(tool_call("write_note", {"note": "diary", "text": "Tuesday too"}))
    asked = await say(hass, "Please note something", "c1", context=admin)
    assert speech(asked) == "Write “Tuesday too” into the diary?"
    assert notes == {"diary": "Monday was fine"}
    done = await say(hass, "yes", "c1", context=admin)
    assert speech(done) == "Done. The diary says “Tuesday too”."
    assert notes == {"diary": "Tuesday too"}
    assert events[0].data["actions"] == ["notes.write"]

    await restart(hass, entry)
    [stored] = hass_storage[f"{DOMAIN}.journal.{entry.entry_id}"]["data"]["actions"]
    assert [call["kind"] for call in stored["calls"]] == ["note"]
    assert stored["captured"] == {"note": {"note:diary": {"text": "Monday was fine"}}}
    [action] = await actions(hass)
    assert (action["outcome"], action["undone"]) == ({"note:diary": "reached"}, None)
    told = speech(await say(hass, "what did you do?", "c2", context=admin))
    assert "wrote “Tuesday too” into the diary" in told

    assert speech(await say(hass, "undo", "c2", context=admin)) == "Write “Monday was fine” into the diary?"
    assert speech(await say(hass, "yes", "c2", context=admin)) == "Done. The diary says “Monday was fine”."
    assert notes == {"diary": "Monday was fine"}
    assert [action["undone"] is not None for action in await actions(hass)] == [False, True]
    assert speech(await say(hass, "undo", "c2", context=admin)) == "There is nothing to undo."


@pytest.mark.usefixtures("notes")
async def test_why_it_is_asked_comes_from_the_kind(hass: HomeAssistant, llm_server: LLMServer, admin: Context) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("write_note", {"note": "diary", "text": "Hello"}))
    asked = speech(await say(hass, "Please note something", "c1", context=admin))
    why = speech(await say(hass, "why?", "c1", context=admin))
    assert why.startswith("I ask because your settings say so.")
    assert why.endswith(asked)


async def test_already_so(hass: HomeAssistant, llm_server: LLMServer, admin: Context, notes: dict[str, str]) -> None:
    notes["diary"] = "Hello"
    await set_up(hass, llm_server)
    assert await write(hass, llm_server, admin, "", note="diary", text="Hello") == "I wrote that."
    [result] = [message for message in llm_server.request.body["messages"] if message["role"] == "tool"]
    assert "Already in the requested state; no action taken." in result["content"]
    assert await actions(hass) == []


async def test_undo_result(hass: HomeAssistant, llm_server: LLMServer, admin: Context, notes: dict[str, str]) -> None:
    await set_up(hass, llm_server)
    await write(hass, llm_server, admin, "", note="list", text="eggs")
    assert speech(await say(hass, "undo", "c1", context=admin)) == "The list is gone."
    assert notes == {}


async def test_undo_row(hass: HomeAssistant, llm_server: LLMServer, admin: Context, notes: dict[str, str]) -> None:
    notes["list"] = "milk"
    await set_up(hass, llm_server)
    await write(hass, llm_server, admin, "", note="list", text="eggs")
    done: Any = await hass.services.async_call(
        DOMAIN, "undo", {}, blocking=True, return_response=True, context=Context(user_id=admin.user_id)
    )
    assert done == {"restored": [], "undone": [{"action": "notes.write", "note": "list", "text": "milk"}]}
    assert notes == {"list": "milk"}


async def test_changed_since(hass: HomeAssistant, llm_server: LLMServer, admin: Context, notes: dict[str, str]) -> None:
    await set_up(hass, llm_server)
    await write(hass, llm_server, admin, "", note="list", text="eggs")
    notes["list"] = "eggs and milk"
    assert speech(await say(hass, "undo", "c1", context=admin)) == "Changed since, so I left it as it is: note:list."
    assert notes == {"list": "eggs and milk"}


async def test_back_already(hass: HomeAssistant, llm_server: LLMServer, admin: Context, notes: dict[str, str]) -> None:
    await set_up(hass, llm_server)
    await write(hass, llm_server, admin, "", note="list", text="eggs")
    del notes["list"]
    assert speech(await say(hass, "undo", "c1", context=admin)) == "note:list is already back."


async def test_two_writes_of_one_request_are_undone_to_the_first(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, notes: dict[str, str]
) -> None:
    notes["list"] = "milk"
    await set_up(hass, llm_server)
    llm_server.plan(
        tool_call("write_note", {"note": "list", "text": "eggs"}),
        tool_call("write_note", {"note": "list", "text": "ham"}),
        text("I wrote that."),
    )
    await say(hass, "Please note something", "c1", context=admin)
    assert notes == {"list": "ham"}
    assert speech(await say(hass, "undo", "c1", context=admin)) == "The list says “milk” again."
    assert notes == {"list": "milk"}


async def test_it_goes_together_with_an_action(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, notes: dict[str, str]
) -> None:
    await set_up(hass, llm_server)
    await hass.services.async_call("light", "turn_off", {"entity_id": BED}, blocking=True)
    await write(hass, llm_server, admin, "", note="list", text="eggs", lamp=BED)
    [action] = await actions(hass)
    assert action["outcome"] == {"note:list": "reached", BED: "reached"}
    assert (notes, state_of(hass, BED)) == ({"list": "eggs"}, "on")
    assert speech(await say(hass, "undo", "c1", context=admin)) == "The list is gone. I've put Bed Light back."
    assert (notes, state_of(hass, BED)) == ({}, "off")


@pytest.mark.usefixtures("notes")
async def test_a_failure_belongs_to_its_subject(hass: HomeAssistant, llm_server: LLMServer, admin: Context) -> None:
    await set_up(hass, llm_server)
    await hass.services.async_call("light", "turn_off", {"entity_id": BED}, blocking=True)
    await write(hass, llm_server, admin, "", note="list", text="???", lamp=BED)
    [action] = await actions(hass)
    assert action["outcome"] == {"note:list": "failed", BED: "reached"}
    [result] = [message for message in llm_server.request.body["messages"] if message["role"] == "tool"]
    assert "No such words" in result["content"]


async def test_what_did_not_come_true_is_told(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, notes: dict[str, str], kind: NoteKind
) -> None:
    kind.lost = True
    await set_up(hass, llm_server, options=QUICK)
    await write(hass, llm_server, admin, "", note="list", text="eggs")
    [action] = await actions(hass)
    assert action["outcome"] == {"note:list": "unchanged"}
    [result] = [message for message in llm_server.request.body["messages"] if message["role"] == "tool"]
    assert "unchanged" in result["content"]


async def test_what_comes_true_a_little_later_is_waited_for(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, notes: dict[str, str], kind: NoteKind
) -> None:
    kind.delay = 0.1
    await set_up(hass, llm_server, options={"verify_seconds": 5})
    await write(hass, llm_server, admin, "", note="list", text="eggs")
    [action] = await actions(hass)
    assert action["outcome"] == {"note:list": "reached"}


async def test_a_release_that_does_not_know_it_keeps_it_and_all_the_rest(
    hass: HomeAssistant,
    llm_server: LLMServer,
    admin: Context,
    notes: dict[str, str],
    kind: NoteKind,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = await set_up(hass, llm_server)
    await hass.services.async_call("light", "turn_off", {"entity_id": BED}, blocking=True)
    llm_server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": BED}), text("It is on."))
    await say(hass, "Bed light, please", "c1", context=Context(user_id=admin.user_id))
    await write(hass, llm_server, Context(user_id=admin.user_id), "", note="list", text="eggs")
    monkeypatch.delitem(KINDS, kind.effect.kind)
    await restart(hass, entry)
    assert [[call["action"] for call in action["calls"]] for action in await actions(hass)] == [
        ["notes.write"],
        ["light.turn_on"],
    ]
    answer = speech(await say(hass, "undo", "c1", context=Context(user_id=admin.user_id)))
    assert answer == "I can't undo this: Please note something."
    answer = speech(await say(hass, "undo", "c1", context=Context(user_id=admin.user_id)))
    assert (answer, state_of(hass, BED)) == ("I've put Bed Light back.", "off")
    monkeypatch.setitem(KINDS, kind.effect.kind, kind)
    await restart(hass, entry)
    assert speech(await say(hass, "undo", "c1", context=Context(user_id=admin.user_id))) == "The list is gone."
    assert notes == {}
