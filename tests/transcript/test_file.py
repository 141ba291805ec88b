"""The file of the conversations, and what becomes of one that is damaged, newer, locked, or on a full disk."""

from dataclasses import replace
import errno
import json
from pathlib import Path
import time
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.storage import Trouble
from custom_components.home_agent.transcript import conversations as store
from custom_components.home_agent.transcript.conversations import (
    MAX_CONVERSATIONS,
    MAX_OF_OWNER,
    Conversations,
    Role,
    StoredCall,
    StoredMessage,
)
from custom_components.home_agent.turn.turn import Turn
from tests.house import set_up
from tests.llm_server import LLMServer
from tests.stored import hass_storage  # noqa: F401

from .conftest import restart, say_all, words

PROFILE = Profile(subentry_id="p", name="Anna")
type Told = list[tuple[Trouble, str, bool]]


@pytest.fixture
def storage(hass_config_dir: str) -> Path:
    """Return the folder of the files."""
    folder = Path(hass_config_dir, ".storage")
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def told() -> Told:
    """What was reported."""
    return []


async def opened(hass: HomeAssistant, told: Told, *profiles: Profile) -> Conversations:
    """Return the conversations of an entry as they are after a start."""
    known = {profile.subentry_id: profile for profile in (PROFILE, *profiles)}
    conversations = Conversations(hass)
    await conversations.async_open("e", lambda *trouble: told.append(trouble))
    await conversations.async_take_up(known)
    return conversations


def turn(**fields: Any) -> Turn:
    asked: dict[str, Any] = {"conversation_id": "a", "context": Context(user_id="u"), "direct": True}
    return Turn(profile=PROFILE, text="", language="en", **asked | fields)


def a_round(text: str = "hello") -> list[StoredMessage]:
    now = dt_util.utcnow()
    return [StoredMessage(id="1", role=role, text=text, at=now) for role in Role]


async def write(hass: HomeAssistant, told: Told, text: str = "hello") -> None:
    """Keep a round, and write it down."""
    conversations = await opened(hass, told)
    conversations.add(turn(), "a", a_round(text), ("search",))
    await conversations.async_close()


async def test_a_conversation_comes_back_as_it_was(hass: HomeAssistant, storage: Path, told: Told) -> None:
    await write(hass, told)
    found = (await opened(hass, told)).find(turn(), "a")
    assert found is not None
    assert [(item.role, item.text) for item in found.messages] == [("user", "hello"), ("assistant", "hello")]
    assert found.taints == {"search"}
    assert told == []


async def test_delayed_write(hass: HomeAssistant, storage: Path, told: Told, freezer: FrozenDateTimeFactory) -> None:
    conversations = await opened(hass, told)
    conversations.add(turn(), "a", a_round("before the power cut"), ())
    freezer.tick(1)
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert "before the power cut" in (storage / f"{DOMAIN}.conversations.e").read_text()
    await conversations.async_close()


async def test_what_was_cleared_leaves_the_disk(hass: HomeAssistant, storage: Path, told: Told) -> None:
    await write(hass, told)
    conversations = await opened(hass, told)
    assert await conversations.async_clear("a") == 1
    assert "hello" not in (storage / f"{DOMAIN}.conversations.e").read_text()


async def test_one_assistant_may_leave_nothing(hass: HomeAssistant, storage: Path, told: Told) -> None:
    forgetful = Profile(subentry_id="f", name="Ben", history_persist=False)
    conversations = await opened(hass, told, forgetful)
    conversations.add(turn(), "a", a_round(), ())
    conversations.add(replace(turn(), profile=forgetful), "a", a_round("marzipan"), ())
    await conversations.async_close()
    content = (storage / f"{DOMAIN}.conversations.e").read_text()
    assert "hello" in content
    assert "marzipan" not in content


async def test_it_is_private_and_in_the_form_of_openai(hass: HomeAssistant, storage: Path, told: Told) -> None:
    await write(hass, told)
    file = storage / f"{DOMAIN}.conversations.e"
    assert file.stat().st_mode & 0o777 == 0o600
    [conversation] = json.loads(file.read_text())["data"]["conversations"]
    messages = [{key: item[key] for key in ("role", "content")} for item in conversation["messages"]]
    assert messages == [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hello"}]


@pytest.mark.parametrize("content", [
    "", "{", '{"version": 1, "data": {"conversations": [{"id"', "\x00\x00\x00",
], ids=["empty", "a brace", "cut off", "zeros"])  # fmt: skip
async def test_broken_json_is_set_aside(hass: HomeAssistant, storage: Path, told: Told, content: str) -> None:
    file = storage / f"{DOMAIN}.conversations.e"
    file.write_text(content)
    assert (await opened(hass, told)).counts["conversations"] == 0
    assert [item.read_text() for item in storage.glob("*.corrupt.*")] == [content]
    issues = ir.async_get(hass).issues.values()
    assert [issue.translation_key for issue in issues] == ["storage_corruption"]  # Home Assistant's own
    await write(hass, told)
    assert (await opened(hass, told)).counts["messages"] == 2


@pytest.mark.parametrize("content", ["[]", "3", '{"data": {}}', '{"version": 1, "minor_version": 1, "data": [1]}'])
async def test_other_json_is_set_aside(hass: HomeAssistant, storage: Path, told: Told, content: str) -> None:
    (storage / f"{DOMAIN}.conversations.e").write_text(content)
    await write(hass, told)
    [(trouble, name, _)] = told
    assert trouble is Trouble.BROKEN
    assert (storage / name).read_text() == content
    assert (await opened(hass, told)).counts["messages"] == 2


async def test_file_of_a_newer_version_is_left_as_it_is(hass: HomeAssistant, storage: Path, told: Told) -> None:
    file = storage / f"{DOMAIN}.conversations.e"
    content = json.dumps({"version": 9, "minor_version": 1, "key": "k", "data": {"threads": ["hello"]}})
    file.write_text(content)
    await write(hass, told)
    assert file.read_text() == content
    assert told == [(Trouble.NEWER, file.name, True)]


async def test_an_unreadable_file_is_left(hass: HomeAssistant, storage: Path, told: Told) -> None:
    folder = storage / f"{DOMAIN}.conversations.e"
    folder.mkdir()
    await write(hass, told)
    assert folder.is_dir()
    assert told == [(Trouble.UNREADABLE, folder.name, True)]


@pytest.mark.parametrize(
    "broken", [{}, {"id": 1}, "words", None, {"messages": 3}, {"profile_id": "p", "messages": [{}]}]
)
async def test_an_unreadable_row_costs_itself(hass: HomeAssistant, storage: Path, told: Told, broken: object) -> None:
    await write(hass, told)
    file = storage / f"{DOMAIN}.conversations.e"
    data = json.loads(file.read_text())
    data["data"]["conversations"].insert(0, broken)
    file.write_text(json.dumps(data))
    assert (await opened(hass, told)).counts["conversations"] == 1


@pytest.mark.parametrize("key", ["user_id", "owner_device_id", "device_id"])
@pytest.mark.parametrize("value", [["u"], {}, 3], ids=["list", "object", "number"])
async def test_an_invalid_owner(hass: HomeAssistant, storage: Path, told: Told, key: str, value: object) -> None:
    await write(hass, told)
    file = storage / f"{DOMAIN}.conversations.e"
    data = json.loads(file.read_text())
    [conversation] = data["data"]["conversations"]
    data["data"]["conversations"].append({**conversation, "id": "other", key: value})
    file.write_text(json.dumps(data))
    assert (await opened(hass, told)).counts["conversations"] == 1


async def test_times_that_are_none_and_times_to_come(hass: HomeAssistant, storage: Path, told: Told) -> None:
    await write(hass, told)
    file = storage / f"{DOMAIN}.conversations.e"
    data = json.loads(file.read_text())
    [conversation] = data["data"]["conversations"]
    for name, at in (("naive", "2026-11-20T10:00:00"), ("none", "yesterday"), ("later", "2999-01-01T00:00:00+00:00")):
        messages = [{**message, "at": at} for message in conversation["messages"]]
        data["data"]["conversations"].append({**conversation, "id": name, "messages": messages})
    file.write_text(json.dumps(data))
    conversations = await opened(hass, told)
    assert conversations.counts["conversations"] == 2
    later = conversations.find(turn(), "later")
    assert later is not None
    assert later.last_at <= dt_util.utcnow()


async def test_full_disk_costs_neither_the_old_file_nor_what_is_in_memory(
    hass: HomeAssistant, storage: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(hass, told, "old")
    conversations = await opened(hass, told)
    conversations.add(turn(), "a", a_round("new"), ())

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:  # the one failure that no test can make happen
        patched.setattr("homeassistant.util.file.AtomicWriter", full)
        await conversations.async_close()
    assert "new" not in (storage / f"{DOMAIN}.conversations.e").read_text()
    assert (await opened(hass, told)).counts["messages"] == 2
    assert conversations.counts["messages"] == 4
    assert told == [(Trouble.UNWRITABLE, f"{DOMAIN}.conversations.e", True)]
    conversations.add(turn(), "a", a_round("newer"), ())
    await conversations.async_close()
    assert told[1:] == [(Trouble.UNWRITABLE, f"{DOMAIN}.conversations.e", False)]
    assert (await opened(hass, told)).counts["messages"] == 6


@pytest.mark.parametrize("name", ["half \ud83d", "x" * 1000], ids=["half a character", "long"])
async def test_an_unwritable_row_blocks_no_other(hass: HomeAssistant, storage: Path, told: Told, name: str) -> None:
    conversations = await opened(hass, told)
    conversations.add(turn(), "a", a_round(), ())
    assert conversations.add(turn(conversation_id=name), name, a_round(), ()) is None
    deep: Any = {}
    for _ in range(500):
        deep = {"a": deep}
    call = StoredCall(name="t", arguments=deep, success=True)
    assert conversations.add(turn(), "a", [replace(message, calls=(call,)) for message in a_round()], ()) is None
    await conversations.async_close()
    assert (await opened(hass, told)).counts["messages"] == 2


async def test_thousands_of_conversations(hass: HomeAssistant, storage: Path, told: Told) -> None:
    conversations = await opened(hass, told)
    for number in range(3 * MAX_CONVERSATIONS):
        user = Context(user_id=f"user {number // (MAX_OF_OWNER + 50)}")
        conversations.add(turn(context=user, conversation_id=str(number)), str(number), a_round(), ())
    assert conversations.counts["conversations"] == MAX_CONVERSATIONS
    await conversations.async_close()
    again = await opened(hass, told)
    assert again.counts == conversations.counts
    assert again.find(turn(context=user, conversation_id=str(number)), str(number)) is not None
    begin = time.perf_counter()
    again.add(turn(context=user, conversation_id="another"), "another", a_round(), ())
    assert time.perf_counter() - begin < 20  # far from what a turn would notice; a broken bound takes minutes
    await again.async_close()


async def test_the_oldest_goes(hass: HomeAssistant, storage: Path, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_SIZE", 100)
    conversations = await opened(hass, told)
    for text in ("short", "s" * 20, "l" * 25):
        conversations.add(turn(conversation_id=text[0]), text[0], a_round(text), ())
        conversations.add(turn(conversation_id="again"), "again", a_round("x"), ())
    assert conversations.counts == {"conversations": 2, "messages": 8, "characters": 56}
    assert await conversations.async_clear() == 2
    assert conversations.counts == {"conversations": 0, "messages": 0, "characters": 0}
    conversations.add(turn(), "a", a_round("y" * 200), ())
    assert conversations.counts["conversations"] == 1  # however long it is: somebody has just said it
    await conversations.async_close()


async def test_a_newer_file_is_told(hass: HomeAssistant, house: None, storage: Path, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    file = storage / f"{DOMAIN}.conversations.{entry.entry_id}"
    file.write_text(json.dumps({"version": 9, "minor_version": 1, "key": "k", "data": {}}))
    await restart(hass, entry)
    [issue] = [item for item in ir.async_get(hass).issues.values() if item.translation_key == Trouble.NEWER]
    assert issue.translation_placeholders == {"file": file.name, "content": "stored conversations"}
    await say_all(hass, llm_server, "a", "one", "two")  # the assistant works all the same
    assert words(llm_server) == ["user: one", "assistant: ok", "user: two"]
    await hass.config_entries.async_unload(entry.entry_id)
    assert '"version": 9' in file.read_text()
