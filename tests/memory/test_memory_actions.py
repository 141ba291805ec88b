"""The actions on memories: what they return, and whom they refuse."""

from typing import Any

from homeassistant.auth.permissions.const import SUBCAT_ALL
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import ServiceValidationError
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.memory.record import Memory, MemorySource, MemoryType
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.support.errors import MemoriesError
from custom_components.home_agent.support.kept import kept_of
from tests.house import act, build_house, say, set_up
from tests.llm_server import LLMServer, text, tool_call

from .conftest import extracted, said

COFFEE = "Anna takes her coffee without sugar"
KEY = "The spare key hangs behind the freezer"
NUTS = "Ben is allergic to nuts"
PER_USER = {"memory": {"scope": "user"}}
OFF = {"memory": {"enabled": False}}


def contents(response: dict[str, Any]) -> list[str]:
    return [row["content"] for row in response["memories"]]


def add_person(hass: HomeAssistant, name: str) -> Context:
    user = MockUser(name=name).add_to_hass(hass)
    user.mock_policy({"entities": {SUBCAT_ALL: True}})
    return Context(user_id=user.id)


@pytest.fixture
def anna(hass: HomeAssistant) -> Context:
    return add_person(hass, "Anna")


@pytest.fixture
def ben(hass: HomeAssistant) -> Context:
    return add_person(hass, "Ben")


async def fill(hass: HomeAssistant, anna: Context, ben: Context) -> tuple[Memory, Memory, Memory]:
    """Store one memory of the house, one of Anna and one of Ben."""
    added = await kept_of(hass, Memories).async_add(
        [said(KEY), said(COFFEE, owner=anna.user_id, type=MemoryType.PREFERENCE), said(NUTS, owner=ben.user_id)]
    )
    house, of_anna, of_ben = (item.memory for item in added)
    assert house
    assert of_anna
    assert of_ben
    return house, of_anna, of_ben


async def test_a_list_is_a_table(hass: HomeAssistant, anna: Context, ben: Context) -> None:
    await set_up(hass)
    _, memory, _ = await fill(hass, anna, ben)
    listed = await act(hass, "list_memories", type="preference")
    assert listed == {
        "count": 1,
        "memories": [
            {
                "memory_id": memory.id, "content": COFFEE, "type": "preference", "owner": anna.user_id,
                "owner_name": "Anna", "source": "said", "importance": 0.5,
                "extracted_at": memory.extracted_at.isoformat(), "last_accessed": memory.extracted_at.isoformat(),
                "accesses": 0, "expires_at": None, "language": "en", "tainted": "", "replaced_by": None,
            }
        ],
    }  # fmt: skip
    assert all(not isinstance(value, (dict, list)) for value in listed["memories"][0].values())
    everything = await act(hass, "list_memories", limit=2)
    assert everything["count"] == 3
    assert contents(everything) == [NUTS, COFFEE]
    assert contents(await act(hass, "list_memories", owner="home")) == [KEY]


async def test_what_was_replaced_is_history(hass: HomeAssistant) -> None:
    await set_up(hass)
    memories = kept_of(hass, Memories)
    [old] = await memories.async_add([said("Our bed stands in the bedroom downstairs")])
    assert old.memory is not None
    await memories.async_add([said("Our bed stands in the attic", replaces=frozenset({old.memory.id}))])
    assert contents(await act(hass, "list_memories")) == ["Our bed stands in the attic"]
    with_history = await act(hass, "list_memories", history=True)
    assert contents(with_history) == ["Our bed stands in the attic", "Our bed stands in the bedroom downstairs"]
    newest, oldest = with_history["memories"]
    assert oldest["replaced_by"] == newest["memory_id"]


async def test_searched_best_first(hass: HomeAssistant, anna: Context, ben: Context) -> None:
    await set_up(hass)
    await fill(hass, anna, ben)
    found = await act(hass, "search_memories", query="where is the spare key")
    assert contents(found) == [KEY]
    assert 0 < found["memories"][0]["score"] <= 1
    assert contents(await act(hass, "search_memories", query="spare key", owner=anna.user_id)) == []
    assert contents(await act(hass, "search_memories", query="spare key", min_importance=0.9)) == []


async def test_what_has_expired_already_is_not_added(hass: HomeAssistant) -> None:
    await set_up(hass)
    with pytest.raises(ServiceValidationError) as error:
        await act(hass, "add_memory", content=KEY, expires_at="2001-01-01 18:00:00")
    assert error.value.translation_key == "memory_expired"
    assert kept_of(hass, Memories).of(None, with_history=True) == []


async def test_no_memory_is_changed_to_have_expired_already(hass: HomeAssistant) -> None:
    await set_up(hass)
    added = await act(hass, "add_memory", content=KEY)
    with pytest.raises(ServiceValidationError) as error:
        await act(hass, "update_memory", memory_id=added["memory_id"], expires_at="2001-01-01 18:00:00")
    assert error.value.translation_key == "memory_expired"
    assert [memory.expires_at for memory in kept_of(hass, Memories).of(None)] == [None]


async def test_added_changed_deleted(hass: HomeAssistant) -> None:
    await set_up(hass)
    added = await act(hass, "add_memory", content=KEY, importance=0.9, expires_at="2099-12-31 18:00:00")
    assert (added["outcome"], added["replaced"], added["dropped"]) == ("added", [], [])
    [memory] = kept_of(hass, Memories).of(None)
    assert (memory.source, memory.importance, memory.owner) == (MemorySource.SERVICE, 0.9, None)
    assert memory.expires_at == dt_util.as_utc(dt_util.parse_datetime("2099-12-31 18:00:00"))  # type: ignore[arg-type]
    merged = await act(hass, "add_memory", content=f"{KEY} in the cellar")
    assert (merged["outcome"], merged["memory_id"]) == ("merged", memory.id)
    changed = await act(
        hass, "update_memory", memory_id=memory.id, content=NUTS, type="event", importance=0.4, expires_at=None
    )
    assert changed["content"] == NUTS
    [memory] = kept_of(hass, Memories).of(None)
    assert (memory.content, memory.type, memory.importance) == (NUTS, MemoryType.EVENT, 0.4)
    assert memory.expires_at is None
    with pytest.raises(MemoriesError) as error:
        await act(hass, "update_memory", memory_id=memory.id, content=" \t ")
    assert error.value.translation_key == "memory_content"
    assert kept_of(hass, Memories).of(None) == [memory]
    assert await act(hass, "delete_memory", memory_id=[memory.id]) == {"deleted": 1}
    assert kept_of(hass, Memories).of(None, with_history=True) == []


async def test_a_wish_of_few_words_is_added(hass: HomeAssistant) -> None:
    await set_up(hass, options={"memory": {"min_words": 10}})
    assert (await act(hass, "add_memory", content="I am vegan"))["outcome"] == "added"


@pytest.mark.parametrize(("data", "options", "key"), [
    pytest.param({"content": "   "}, {}, "memory_content", id="nothing"),
    pytest.param({"content": KEY, "owner": "nobody"}, {}, "memory_owner", id="of nobody"),
    pytest.param({"content": KEY, "language": "no language"}, {}, "language_invalid", id="no language"),
    pytest.param({"content": KEY}, {"memory": {"max_memories": 1}}, "memory_full", id="full"),
    pytest.param({"content": KEY}, OFF, "memory_off", id="off"),
])  # fmt: skip
async def test_not_added_is_said(hass: HomeAssistant, data: dict[str, Any], options: dict[str, Any], key: str) -> None:
    await set_up(hass, options=options)
    if key == "memory_full":
        await act(hass, "add_memory", content=COFFEE)
    with pytest.raises(ServiceValidationError) as error:
        await act(hass, "add_memory", **data)
    assert error.value.translation_key == key
    assert KEY not in [memory.content for memory in kept_of(hass, Memories).of(None)]


@pytest.mark.parametrize(
    "data", [{"content": "x" * 1001}, {"content": KEY, "type": "song"}, {"content": KEY, "importance": 2}], ids=str
)
async def test_what_no_schema_takes(hass: HomeAssistant, data: dict[str, Any]) -> None:
    await set_up(hass)
    with pytest.raises(probatio.Invalid):
        await act(hass, "add_memory", **data)


async def test_users_have_own_and_shared_ones(hass: HomeAssistant, anna: Context, ben: Context, admin: Context) -> None:
    await set_up(hass, options=PER_USER)
    house, of_anna, of_ben = await fill(hass, anna, ben)
    assert contents(await act(hass, "list_memories", anna)) == [COFFEE, KEY]
    assert contents(await act(hass, "search_memories", anna, query="who is allergic to nuts")) == []
    exported = await act(hass, "export_memories", anna)
    assert [row["id"] for row in exported["memories"]] == [house.id, of_anna.id]
    for action, data in (
        ("list_memories", {"owner": ben.user_id}),
        ("search_memories", {"query": "nuts", "owner": ben.user_id}),
        ("export_memories", {"owner": ben.user_id}),
        ("add_memory", {"content": "Ben likes peas", "owner": ben.user_id}),
        ("update_memory", {"memory_id": of_anna.id, "owner": ben.user_id}),
        ("clear_memories", {"confirm": True, "owner": ben.user_id}),
    ):
        with pytest.raises(ServiceValidationError) as error:
            await act(hass, action, anna, **data)
        assert error.value.translation_key == "memory_of_others", action
    unknown: tuple[tuple[str, dict[str, Any]], ...] = (
        ("update_memory", {"memory_id": of_ben.id, "content": "Ben eats nuts"}),
        ("delete_memory", {"memory_id": [of_anna.id, of_ben.id]}),
        ("delete_memory", {"memory_id": "missing"}),
    )
    for action, data in unknown:
        with pytest.raises(ServiceValidationError) as error:
            await act(hass, action, anna, **data)
        assert error.value.translation_key == "memory_unknown", action
    assert {memory.content for memory in kept_of(hass, Memories).of(None)} == {KEY, COFFEE, NUTS}
    for everybody in (admin, Context()):
        assert contents(await act(hass, "list_memories", everybody)) == [NUTS, COFFEE, KEY]
        assert contents(await act(hass, "search_memories", everybody, query="nuts")) == [NUTS]
        assert (await act(hass, "export_memories", everybody, owner=ben.user_id))["count"] == 1
    added = await act(hass, "add_memory", anna, content="Anna sings in a choir")
    assert added["owner"] == anna.user_id
    assert await act(hass, "delete_memory", anna, memory_id=house.id) == {"deleted": 1}


async def test_an_export_has_everything(hass: HomeAssistant, anna: Context, ben: Context) -> None:
    await set_up(hass)
    _, memory, _ = await fill(hass, anna, ben)
    exported = await act(hass, "export_memories", anna, owner=anna.user_id)
    assert exported["memories"] == [memory.as_dict()]
    assert [Memory.from_dict(row) for row in exported["memories"]] == [memory]
    assert exported["count"] == 1


async def test_clearing_needs_a_confirmation(hass: HomeAssistant, anna: Context, ben: Context, admin: Context) -> None:
    await set_up(hass)
    await fill(hass, anna, ben)
    with pytest.raises(probatio.Invalid):
        await act(hass, "clear_memories", admin)
    with pytest.raises(ServiceValidationError) as error:
        await act(hass, "clear_memories", admin, confirm=False)
    assert error.value.translation_key == "memory_confirm"
    assert len(kept_of(hass, Memories).of(None)) == 3
    assert await act(hass, "clear_memories", anna, confirm=True) == {"deleted": 1}
    assert {memory.content for memory in kept_of(hass, Memories).of(None)} == {KEY, NUTS}
    assert await act(hass, "clear_memories", anna, confirm=True, owner="home") == {"deleted": 1}
    assert await act(hass, "clear_memories", admin, confirm=True) == {"deleted": 1}
    assert kept_of(hass, Memories).of(None, with_history=True) == []


async def test_what_a_user_left_can_be_deleted(hass: HomeAssistant, admin: Context) -> None:
    await set_up(hass)
    await kept_of(hass, Memories).async_add([said(COFFEE, owner="a user who is gone")])
    assert contents(await act(hass, "list_memories", admin, owner="a user who is gone")) == [COFFEE]
    cleared = await act(hass, "clear_memories", admin, confirm=True, owner="a user who is gone")
    assert cleared == {"deleted": 1}


@pytest.mark.parametrize("options", [{}, OFF], ids=["on", "off"])
async def test_memories_go_with_their_user(
    hass: HomeAssistant, anna: Context, ben: Context, hass_storage: dict[str, Any], options: dict[str, Any]
) -> None:
    entry = await set_up(hass)
    await fill(hass, anna, ben)
    hass.config_entries.async_update_entry(entry, options=options)
    await hass.async_block_till_done()
    user = await hass.auth.async_get_user(str(ben.user_id))
    assert user is not None
    await hass.auth.async_remove_user(user)
    await hass.async_block_till_done()
    stored = hass_storage["home_agent.memories"]["data"]["memories"]
    assert {memory["content"] for memory in stored} == {KEY, COFFEE}
    assert kept_of(hass, Memories).of(None, owner=ben.user_id, with_history=True) == []


async def test_while_off_only_deleting_works(hass: HomeAssistant, anna: Context, ben: Context, admin: Context) -> None:
    entry = await set_up(hass)
    house, *_ = await fill(hass, anna, ben)
    hass.config_entries.async_update_entry(entry, options=OFF)
    await hass.config_entries.async_reload(entry.entry_id)
    for action, data in (
        ("list_memories", {}),
        ("search_memories", {"query": "key"}),
        ("add_memory", {"content": KEY}),
        ("update_memory", {"memory_id": house.id, "content": NUTS}),
        ("export_memories", {}),
    ):
        with pytest.raises(ServiceValidationError) as error:
            await act(hass, action, admin, **data)
        assert error.value.translation_key == "memory_off", action
    assert await act(hass, "delete_memory", anna, memory_id=house.id) == {"deleted": 1}
    assert await act(hass, "clear_memories", admin, confirm=True) == {"deleted": 2}


async def test_a_script_has_its_user(hass: HomeAssistant, llm_server: LLMServer, anna: Context, ben: Context) -> None:
    """An automation without a user sees everything; a model that starts one for somebody does not."""
    await build_house(hass)
    await set_up(hass, llm_server, options={**PER_USER, "never_confirm": ["script.tell"]})
    await fill(hass, anna, ben)
    steps = [
        {"action": "home_agent.list_memories", "response_variable": "known"},
        {"event": "told", "event_data": {"known": "{{ known }}"}},
    ]
    assert await async_setup_component(hass, "script", {"script": {"tell": {"sequence": steps}}})
    async_expose_entity(hass, ASSISTANT, "script.tell", True)
    told = []
    hass.bus.async_listen("told", lambda event: told.append(str(event.data)))
    for who in ({"context": anna}, {"device_id": "a speaker"}):
        run = {"action": "turn_on", "entity_id": "script.tell"}
        llm_server.plan(tool_call("ha_control", run), text("Told."))
        await say(hass, "tell", **who)
        await hass.async_block_till_done()
    of_anna, of_the_house = told
    assert COFFEE in of_anna
    assert NUTS not in of_anna
    assert KEY in of_the_house
    assert COFFEE not in of_the_house


async def test_no_memory_no_reading(hass: HomeAssistant, llm_server: LLMServer, anna: Context, ben: Context) -> None:
    """Nor does it store or delete any; what a voice device clears is the home's."""
    await build_house(hass)
    entry = await set_up(hass, llm_server, profile={"memory": "off"}, options={"never_confirm": ["script.do"]})
    await fill(hass, anna, ben)
    steps = [
        {"action": "home_agent.list_memories", "response_variable": "known", "continue_on_error": True},
        {"action": "home_agent.add_memory", "data": {"content": "A lie"}, "continue_on_error": True},
        {"action": "home_agent.clear_memories", "data": {"confirm": True}, "continue_on_error": True},
        {"event": "told", "event_data": {"known": "{{ known | default('nothing') }}"}},
    ]
    assert await async_setup_component(hass, "script", {"script": {"do": {"sequence": steps}}})
    async_expose_entity(hass, ASSISTANT, "script.do", True)
    told: list[str] = []
    hass.bus.async_listen("told", lambda event: told.append(event.data["known"]))

    async def run(**who: Any) -> set[str]:
        llm_server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "script.do"}), text("Done."))
        await say(hass, "do it", **who)
        await hass.async_block_till_done()
        return {memory.content for memory in kept_of(hass, Memories).of(None)}

    assert await run(context=anna) == {KEY, COFFEE, NUTS}
    assert told == ["nothing"]
    profile = entry.subentries["profile-1"]
    hass.config_entries.async_update_subentry(entry, profile, data=dict(profile.data) | {"memory": "on"})
    await hass.async_block_till_done()
    assert await run(device_id="a speaker") == {COFFEE, NUTS}


async def test_what_was_extracted_is_listed_as_such(hass: HomeAssistant) -> None:
    await set_up(hass)
    await kept_of(hass, Memories).async_add([extracted(KEY, metadata={"tainted": ["web"]})])
    [row] = (await act(hass, "list_memories"))["memories"]
    assert (row["source"], row["tainted"]) == ("extracted", "web")
