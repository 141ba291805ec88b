"""What a person was told is done is on the disk by then, or the answer says that it is not."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
import json
from pathlib import Path
import threading
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.util import file as file_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed

from custom_components.home_agent.home.taught_names import LOOK, aliases_of, taught_names_of
from custom_components.home_agent.local.learned import learned_phrases_of
from custom_components.home_agent.support import storage
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.kept import kept_things
from custom_components.home_agent.support.storage import StoredFile
from custom_components.home_agent.turn.proposal import ProposalStatus
from tests.house import act, build_house, say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call
from tests.stored import hass_storage  # noqa: F401

BED = "light.bed_light"
TEACH = "The bed light is called moon lamp."
NOT_STORED = "This is not stored yet: the disk cannot be written, see Repairs. Until that works, a restart undoes it."

type FullDisk = Callable[[], AbstractContextManager[None]]


@pytest.fixture
async def entry(hass: HomeAssistant, house: None, llm_server: LLMServer) -> MockConfigEntry:
    Path(hass.config.path(".storage")).mkdir(exist_ok=True)
    await build_house(hass)
    entry = await set_up(hass, llm_server, model_first=False, options={"memory": {"learning_after": 1}})
    await hass.async_block_till_done(wait_background_tasks=True)
    return entry


def stored(hass: HomeAssistant, name: str) -> str:
    """Return what is on the disk at this moment, as a kill would leave it."""
    [path] = Path(hass.config.path(".storage")).glob(f"{DOMAIN}.{name}*")
    return path.read_text()


async def killed(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Let nothing of memory survive but what the disk has; Home Assistant's registries, which were not saved, are the caller's."""
    assert await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()


async def back(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()


async def taught(hass: HomeAssistant, admin: Context) -> str:
    await say(hass, TEACH, "c1", context=admin)
    return speech(await say(hass, "yes", "c1", context=admin))


async def learned(hass: HomeAssistant, server: LLMServer, alice: Context) -> None:
    server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": BED, "parameters": {"brightness_pct": 30}}))
    server.plan(text("As you like."))
    await say(hass, "Make it cosy, please!", context=alice)
    await hass.async_block_till_done(wait_background_tasks=True)


async def test_an_action(hass: HomeAssistant, entry: MockConfigEntry, admin: Context) -> None:
    await say(hass, "turn on the bed light", context=admin)
    assert "turn on the bed light" in stored(hass, "journal")


async def test_what_was_undone(hass: HomeAssistant, entry: MockConfigEntry, admin: Context) -> None:
    await say(hass, "turn on the bed light", "c1", context=admin)
    await say(hass, "undo that", "c1", context=admin)
    actions = json.loads(stored(hass, "journal"))["data"]["actions"]
    assert next(one for one in actions if one["words"] == "turn on the bed light")["undone"]


@pytest.mark.parametrize("half", ["\ud83d", "\udc00 "])
async def test_an_action_after_half_a_character(
    hass: HomeAssistant, entry: MockConfigEntry, admin: Context, half: str
) -> None:
    await say(hass, "turn on the bed light", f"doorbell{half}", context=admin)
    await say(hass, "turn on the kitchen lights", "c1", context=admin)
    actions = json.loads(stored(hass, "journal"))["data"]["actions"]
    assert [one["words"] for one in actions] == ["turn on the bed light", "turn on the kitchen lights"]


async def test_an_action_of_a_model(
    hass: HomeAssistant, entry: MockConfigEntry, admin: Context, llm_server: LLMServer
) -> None:
    def reply(body: dict[str, Any]) -> Any:
        if body["messages"][-1]["role"] != "tool":
            return tool_call("ha_control", {"action": "turn_on", "entity_id": BED})
        assert "a little light for reading" in stored(hass, "journal")  # before the model can say that it is done
        return text("Enjoy.")

    llm_server.respond(reply)
    assert speech(await say(hass, "a little light for reading", context=admin)) == "Enjoy."


async def test_a_taught_name(hass: HomeAssistant, entry: MockConfigEntry, admin: Context) -> None:
    assert await taught(hass, admin) == "Done. Bed Light is now also called “moon lamp”."
    assert [row["status"] for row in json.loads(stored(hass, "taught_names"))["data"]["names"]] == ["taught"]


async def test_a_taught_name_whose_registry_was_not_saved(
    hass: HomeAssistant, entry: MockConfigEntry, admin: Context
) -> None:
    await taught(hass, admin)
    await killed(hass, entry)
    er.async_get(hass).async_update_entity(BED, aliases=[er.COMPUTED_NAME])
    await back(hass, entry)
    assert aliases_of(hass, BED) == ["moon lamp"]
    assert speech(await say(hass, "turn on the moon lamp", context=admin)).startswith("Turned on")


async def test_a_taught_name_of_an_area(hass: HomeAssistant, entry: MockConfigEntry, admin: Context) -> None:
    await say(hass, "The kitchen is called galley.", "c1", context=admin)
    await say(hass, "yes", "c1", context=admin)
    await killed(hass, entry)
    area = ar.async_get(hass).async_get_area_by_name("Kitchen")
    assert area is not None
    ar.async_get(hass).async_update(area.id, aliases=set())
    await back(hass, entry)
    assert aliases_of(hass, f"area:{area.id}") == ["galley"]


async def test_a_forgotten_name_whose_registry_was_not_saved(
    hass: HomeAssistant, entry: MockConfigEntry, admin: Context
) -> None:
    await taught(hass, admin)
    await act(hass, "forget_taught_name", admin, name="moon lamp")
    await killed(hass, entry)
    er.async_get(hass).async_update_entity(BED, aliases=[er.COMPUTED_NAME, "moon lamp"])
    await back(hass, entry)
    assert aliases_of(hass, BED) == []
    assert taught_names_of(hass).rows() == []


async def test_a_name_that_another_hand_removed_stays_removed(
    hass: HomeAssistant, entry: MockConfigEntry, admin: Context
) -> None:
    await taught(hass, admin)
    er.async_get(hass).async_update_entity(BED, aliases=[er.COMPUTED_NAME])
    await killed(hass, entry)
    await back(hass, entry)
    assert aliases_of(hass, BED) == []


async def test_what_a_registry_has_saved_is_mended_no_more(
    hass: HomeAssistant, entry: MockConfigEntry, admin: Context, freezer: FrozenDateTimeFactory
) -> None:
    freezer.move_to(datetime(2026, 11, 24, tzinfo=UTC))
    await taught(hass, admin)
    assert len(json.loads(stored(hass, "taught_names"))["data"]["unsaved"]) == 1
    Path(hass.config.path(".storage"), er.STORAGE_KEY).write_text(
        "{}"
    )  # its time is that of this machine, which is later
    freezer.tick(LOOK)
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    await killed(hass, entry)
    assert json.loads(stored(hass, "taught_names"))["data"]["unsaved"] == []
    er.async_get(hass).async_update_entity(BED, aliases=[er.COMPUTED_NAME])
    await back(hass, entry)
    assert aliases_of(hass, BED) == []


async def test_a_name_follows_its_entity_to_another_id(
    hass: HomeAssistant, entry: MockConfigEntry, admin: Context
) -> None:
    await taught(hass, admin)
    er.async_get(hass).async_update_entity(BED, new_entity_id="light.bed")
    await killed(hass, entry)
    er.async_get(hass).async_update_entity("light.bed", aliases=[er.COMPUTED_NAME])
    await back(hass, entry)
    assert aliases_of(hass, "light.bed") == ["moon lamp"]


@pytest.mark.parametrize("status", ["learned", "rejected"])
async def test_a_phrase_that_was_decided_on(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context, llm_server: LLMServer, status: str
) -> None:
    await learned(hass, llm_server, alice)
    [row] = learned_phrases_of(hass).rows(ProposalStatus.PROPOSED)
    decided = ([row], []) if status == "learned" else ([], [row])
    assert await entry.runtime_data.proposals.async_decide("phrases_proposed", *decided) == (1, None)
    assert [one["status"] for one in json.loads(stored(hass, "learned_phrases"))["data"]["phrases"]] == [status]


async def test_a_phrase_that_was_forgotten(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context, llm_server: LLMServer
) -> None:
    await learned(hass, llm_server, alice)
    await learned_phrases_of(hass).async_write()
    await act(hass, "forget_learned_phrase", alice, phrase="make it cosy")
    assert json.loads(stored(hass, "learned_phrases"))["data"]["phrases"] == []


async def test_a_proposed_name_that_was_declined(hass: HomeAssistant, entry: MockConfigEntry, alice: Context) -> None:
    await say(hass, TEACH, context=alice)
    assert '"proposed"' in stored(hass, "taught_names")
    [row] = taught_names_of(hass).rows()
    await entry.runtime_data.proposals.async_decide("names_proposed", [], [row])
    assert '"declined"' in stored(hass, "taught_names")


async def test_many_at_once_are_on_the_disk(hass: HomeAssistant, entry: MockConfigEntry, admin: Context) -> None:
    adding = [act(hass, "add_memory", admin, content=f"Shelf {number} holds box {number}") for number in range(100)]
    added = await asyncio.gather(*adding)
    content = stored(hass, "memories")
    assert all(row["memory_id"] in content for row in added)


async def test_who_asks_while_a_write_runs_shares_the_next(hass: HomeAssistant, house: None) -> None:
    Path(hass.config.path(".storage")).mkdir(exist_ok=True)
    rows: list[int] = []
    written: list[int] = []

    def content() -> dict[str, Any]:
        written.append(len(rows))
        return {"rows": [*rows]}

    async def add(number: int) -> bool:
        rows.append(number)
        return await file.async_write()

    file = StoredFile(hass, "test", content, lambda *_: None)
    first = hass.async_create_task(add(0))
    await asyncio.sleep(0)  # it waits for the disk now
    assert await asyncio.gather(*(add(number) for number in range(1, 101))) == [True] * 100
    assert await first
    assert len(written) <= 2
    assert json.loads(stored(hass, "test"))["data"] == {"rows": [*range(101)]}
    await file.async_close()


def memory(hass: HomeAssistant, admin: Context) -> Awaitable[dict[str, Any]]:
    return act(hass, "add_memory", admin, content="The key hangs behind the boiler")


def document(hass: HomeAssistant, admin: Context) -> Awaitable[dict[str, Any]]:
    return act(hass, "add_document", admin, title="Pump", text="The pump runs for four hours.")


@pytest.mark.parametrize("action", [memory, document])
async def test_an_action_says_that_the_disk_is_full(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    admin: Context,
    full_disk: FullDisk,
    action: Callable[[HomeAssistant, Context], Awaitable[dict[str, Any]]],
) -> None:
    with full_disk():
        answer = await action(hass, admin)
    assert (answer["on_disk"], answer["note"]) == (False, NOT_STORED)


@pytest.mark.parametrize(
    ("action", "data"),
    [("clear_history", {"conversation_id": "c9"}), ("clear_memories", {"confirm": True, "owner": "home"})],
)
async def test_an_action_that_changed_nothing_has_nothing_to_store(
    hass: HomeAssistant, entry: MockConfigEntry, admin: Context, full_disk: FullDisk, action: str, data: dict[str, Any]
) -> None:
    """What another action could not store does not concern it."""
    with full_disk():
        await say(hass, "turn on the bed light", "c1", context=admin)
        await act(hass, "clear_history", admin, conversation_id="c1")
        await memory(hass, admin)
        await act(hass, "clear_memories", admin, confirm=True)
        answer = await act(hass, action, admin, **data)
    assert "note" not in answer


async def test_an_action_without_a_response_raises_it(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    full_disk: FullDisk,
) -> None:
    data = {"content": "The key hangs behind the boiler"}
    with full_disk(), pytest.raises(HomeAssistantError) as raised:
        await hass.services.async_call(DOMAIN, "add_memory", data, blocking=True)
    assert raised.value.translation_key == "not_stored"


async def test_a_sentence_says_that_the_disk_is_full(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    admin: Context,
    full_disk: FullDisk,
) -> None:
    with full_disk():
        answer = await taught(hass, admin)
    assert answer == f"Done. Bed Light is now also called “moon lamp”. {NOT_STORED}"


async def test_a_proposal_says_that_the_disk_is_full(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    alice: Context,
    full_disk: FullDisk,
) -> None:
    with full_disk():
        answer = speech(await say(hass, TEACH, context=alice))
    assert answer.endswith(NOT_STORED)


async def test_a_decision_says_that_the_disk_is_full(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    alice: Context,
    full_disk: FullDisk,
) -> None:
    await say(hass, TEACH, context=alice)
    [row] = taught_names_of(hass).rows()
    with full_disk():
        decided = await entry.runtime_data.proposals.async_decide("names_proposed", [], [row])
    assert decided == (1, NOT_STORED)


async def test_a_model_is_told_that_the_disk_is_full(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    admin: Context,
    llm_server: LLMServer,
    full_disk: FullDisk,
) -> None:
    llm_server.plan(tool_call("store_memory", {"content": "The key hangs behind the boiler"}), text("Noted."))
    with full_disk():
        await say(hass, "keep in mind where the key hangs, behind the boiler", context=admin)
    result = json.loads(llm_server.request.body["messages"][-1]["content"])["result"]
    assert "A restart would undo this" in result["note"]


async def test_an_action_is_done_on_a_full_disk_without_a_word(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    admin: Context,
    full_disk: FullDisk,
) -> None:
    with full_disk():
        answer = speech(await say(hass, "turn on the bed light", context=admin))
    assert NOT_STORED not in answer


async def test_the_next_change_writes_what_found_no_room(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    admin: Context,
    full_disk: FullDisk,
) -> None:
    with full_disk():
        await memory(hass, admin)
    answer = await act(hass, "add_memory", admin, content="Bin day is Tuesday")
    assert "note" not in answer
    assert "boiler" in stored(hass, "memories")


async def test_a_change_that_nobody_waits_for_is_tried_soon_when_there_is_room(
    hass: HomeAssistant,
    house: None,
    full_disk: FullDisk,
    freezer: FrozenDateTimeFactory,
) -> None:
    Path(hass.config.path(".storage")).mkdir(exist_ok=True)
    file = StoredFile(hass, "test", lambda: {"a": 1}, lambda *_: None, delay=1)
    with full_disk():
        await file.async_write()
    file.async_changed()
    freezer.tick(1.1)  # not the half minute of a failed write
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert json.loads(stored(hass, "test"))["data"] == {"a": 1}
    await file.async_close()


async def test_an_answer_does_not_wait_for_a_disk_that_hangs(
    hass: HomeAssistant, entry: MockConfigEntry, admin: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, write = threading.Event(), file_util.AtomicWriter

    def slow(*arguments: Any, **options: Any) -> Any:
        goes_on.wait(10)
        return write(*arguments, **options)

    monkeypatch.setattr(storage, "PATIENCE", 0.1)
    monkeypatch.setattr(file_util, "AtomicWriter", slow)
    first = await memory(hass, admin)
    second = await act(hass, "add_memory", admin, content="Bin day is Tuesday")
    goes_on.set()
    await hass.async_block_till_done(wait_background_tasks=True)
    assert [first["on_disk"], second["on_disk"]] == [False, False]
    assert "boiler" in stored(hass, "memories")
    third = await act(hass, "add_memory", admin, content="The plumber is called Bob")
    assert "note" not in third
    assert "Tuesday" in stored(hass, "memories")
