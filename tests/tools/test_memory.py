"""What a model may do with memories on the user's wish: keep, look up, forget; and who sees which."""

from collections.abc import Callable
from functools import partial
import json
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_capture_events

from custom_components.home_agent.client.messages import raw_estimate
from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.memory.record import Draft, Memory, MemorySource, MemoryType
from custom_components.home_agent.support.encoding import dump
from custom_components.home_agent.support.kept import kept_of
from custom_components.home_agent.turn.events import ACTION_EXECUTED, TOOL_EXECUTED
from tests import house
from tests.house import build_house, say, set_up, speech, until
from tests.llm_server import LLMServer, text, tool_call

TOOLS = {"store_memory", "recall_memory", "forget_memory"}
COFFEE = "Anna takes her coffee without sugar"
KEY = "The spare key hangs behind the freezer"
type Person = Callable[..., Context]


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test, not the demo entities of the folder."""
    await build_house(hass)


@pytest.fixture
def person(hass: HomeAssistant) -> Person:
    """Return a function that adds a person who is no administrator."""
    return partial(house.person, hass)


def known(hass: HomeAssistant, *, with_history: bool = False) -> list[Memory]:
    return kept_of(hass, Memories).of(None, with_history=with_history)


def contents(hass: HomeAssistant) -> set[str]:
    return {memory.content for memory in known(hass)}


async def keep(hass: HomeAssistant, content: str, owner: str | None = None, **fields: Any) -> Memory:
    draft = Draft(content=content, owner=owner, source=fields.pop("source", MemorySource.SAID), **fields)
    [added] = await kept_of(hass, Memories).async_add([draft])
    assert added.memory is not None
    return added.memory


async def ask(
    hass: HomeAssistant, server: LLMServer, name: str, arguments: dict[str, Any], words: str = "well", **fields: Any
) -> Any:
    """Have the model call one tool; return the envelope that it is sent back."""
    server.plan(tool_call(name, arguments), text("Good."))
    conversation_id = (await say(hass, words, fields.pop("conversation_id", None), **fields)).conversation_id
    answer = json.loads(server.request.body["messages"][-1]["content"].partition("\n")[0])
    return {**answer, "conversation_id": conversation_id}


def offered(server: LLMServer) -> set[str]:
    return {tool["function"]["name"] for tool in server.request.body["tools"]}


# To keep


async def test_storing_tells_the_outcome(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    await set_up(hass, llm_server)
    answer = await ask(
        hass, llm_server, "store_memory", {"content": COFFEE, "type": "preference"}, context=person("Anna")
    )
    assert answer["success"]
    [memory] = known(hass)
    assert answer["result"] == {"outcome": "stored", "id": memory.id[:8]}
    assert (memory.content, memory.type, memory.source) == (COFFEE, MemoryType.PREFERENCE, MemorySource.SAID)
    assert (memory.owner, memory.language, memory.metadata) == (None, "en", {})
    assert memory.source_conversation_id == answer["conversation_id"]
    again = await ask(hass, llm_server, "store_memory", {"content": f"{COFFEE} and with milk"})
    assert again["result"]["outcome"] == "merged"
    assert contents(hass) == {f"{COFFEE} and with milk"}


async def test_what_makes_something_untrue_says_what_it_replaced(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    old = "Anna eats meat twice a week"
    await keep(hass, old)
    answer = await ask(hass, llm_server, "store_memory", {"content": "Anna no longer eats meat"})
    assert (answer["result"]["outcome"], answer["result"]["replaced"]) == ("replaced", [old])
    assert contents(hass) == {"Anna no longer eats meat"}


async def test_a_short_wish_is_kept(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, options={"memory": {"min_words": 10}})
    answer = await ask(hass, llm_server, "store_memory", {"content": "I am vegan"})
    assert answer["success"]
    assert contents(hass) == {"I am vegan"}


async def test_what_holds_for_a_while_says_until_when(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    arguments = {"content": "Grandma stays with us", "type": "context"}
    answer = await ask(hass, llm_server, "store_memory", arguments)
    [memory] = known(hass)
    assert memory.expires_at is not None
    assert answer["result"]["until"] == memory.expires_at.date().isoformat()


async def test_a_memory_that_is_full_refuses_and_drops_nothing(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, options={"memory": {"max_memories": 1}})
    await keep(hass, KEY)
    answer = await ask(hass, llm_server, "store_memory", {"content": COFFEE})
    assert not answer["success"]
    assert "memory is full" in answer["error"]
    assert contents(hass) == {KEY}
    later = await ask(
        hass, llm_server, "forget_memory", {"query": "spare key"}, conversation_id=answer["conversation_id"]
    )
    assert later["success"], "the conversation has read no text from outside"


async def test_what_goes_for_want_of_room_is_told(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, options={"memory": {"max_memories": 1}})
    await keep(hass, KEY, source=MemorySource.EXTRACTED)
    answer = await ask(hass, llm_server, "store_memory", {"content": COFFEE})
    assert answer["result"]["dropped"] == [KEY]
    assert contents(hass) == {COFFEE}


async def test_a_value_that_was_hidden_is_not_stored(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    answer = await ask(hass, llm_server, "store_memory", {"content": "Call Ben at [phone]"})
    assert not answer["success"]
    assert "[phone]" in answer["error"]
    assert not known(hass)


@pytest.mark.parametrize(
    "arguments", [{}, {"content": "  "}, {"content": "x" * 1001}], ids=["nothing", "blanks", "too long"]
)
async def test_an_invalid_memory(hass: HomeAssistant, llm_server: LLMServer, arguments: dict[str, Any]) -> None:
    await set_up(hass, llm_server)
    assert not (await ask(hass, llm_server, "store_memory", arguments))["success"]
    assert not known(hass)


async def test_a_deleted_users_draft_is_not_kept(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    """Their memories have gone with them: one that comes later would stay for ever."""
    await set_up(hass, llm_server, options={"memory": {"scope": "user"}})
    anna = person("Anna")
    user = await hass.auth.async_get_user(str(anna.user_id))
    assert user is not None
    llm_server.plan(tool_call("store_memory", {"content": COFFEE}, delay=0.3), text("I could not."))
    turn = hass.async_create_task(say(hass, "remember that", context=anna))
    await until(lambda: llm_server.requests, 10)
    await hass.auth.async_remove_user(user)
    await turn
    assert not json.loads(llm_server.request.body["messages"][-1]["content"])["success"]
    assert not known(hass)


async def test_no_event_has_what_was_said(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    heard = [async_capture_events(hass, name) for name in (TOOL_EXECUTED, ACTION_EXECUTED)]
    await ask(hass, llm_server, "store_memory", {"content": COFFEE})
    await ask(hass, llm_server, "store_memory", {"content": f"{COFFEE} and with milk"})
    await ask(hass, llm_server, "recall_memory", {})
    await ask(hass, llm_server, "forget_memory", {"query": "coffee"})
    await hass.async_block_till_done()
    assert all(heard)
    assert "coffee" not in str([event.data for events in heard for event in events])


# To look up


async def test_recalled_by_what_it_is_about(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    await set_up(hass, llm_server)
    coffee = await keep(hass, COFFEE, type=MemoryType.PREFERENCE)
    await keep(hass, KEY)
    answer = await ask(hass, llm_server, "recall_memory", {"query": "coffee"}, context=person("Anna"))
    assert answer["result"]["memories"] == [
        {
            "id": coffee.id[:8], "content": COFFEE, "type": "preference",
            "since": coffee.extracted_at.date().isoformat(), "of": "home",
        }
    ]  # fmt: skip
    assert [memory.accesses for memory in known(hass)] == [1, 0]
    nothing = await ask(hass, llm_server, "recall_memory", {"query": "bicycle"})
    assert nothing["result"] == {"memories": []}


async def test_what_do_you_know_about_me(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    names = ("Anna", "Ben", "Carla", "David", "Emil", "Frieda", "Gustav", "Hanna", "Ida", "Jonas", "Klara", "Linus")
    places = ("Kiel", "Rome", "Oslo")
    stored = [
        await keep(hass, f"{name} once lived in {place}", importance=0.5)
        for name in names
        for place in (places if name != "Linus" else places[:1])
    ]
    most = await keep(hass, KEY, importance=1.0)
    answer = await ask(hass, llm_server, "recall_memory", {})
    told = [row["content"] for row in answer["result"]["memories"]]
    assert told == [most.content, *(memory.content for memory in reversed(stored))][:20]
    assert answer["result"]["more"] == len(stored) + 1 - 20


async def test_long_memories_are_cut_off_as_a_list(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    for topic in ("garden", "cellar", "attic", "garage", "kitchen", "office", "balcony", "terrace"):
        await keep(hass, " ".join([topic] * 120))
    answer = await ask(hass, llm_server, "recall_memory", {})
    assert len(json.dumps(answer["result"])) < 7_000
    assert len(answer["result"]["memories"]) + answer["result"]["more"] == 8


# To forget


async def test_one_is_forgotten_at_once(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    coffee = await keep(hass, COFFEE)
    await keep(hass, KEY)
    answer = await ask(hass, llm_server, "forget_memory", {"ids": [coffee.id[:8]]})
    assert answer["result"] == {"forgotten": [COFFEE]}
    assert contents(hass) == {KEY}
    answer = await ask(hass, llm_server, "forget_memory", {"query": (await keep(hass, "Ben cooks")).id[:8]})
    assert answer["result"] == {"forgotten": ["Ben cooks"]}
    answer = await ask(hass, llm_server, "forget_memory", {"query": "where is the spare key"})
    assert answer["result"] == {"forgotten": [KEY]}
    assert not known(hass, with_history=True)


async def test_what_was_forgotten_is_not_used_more_than_before(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """Which memories are meant is looked up before anything may happen; that is no use of them."""
    await set_up(hass, llm_server, options={"always_confirm": ["forget_memory"]})
    await keep(hass, COFFEE)
    llm_server.plan(tool_call("forget_memory", {"query": "coffee"}))
    await say(hass, "forget it", context=Context(user_id=MockUser().add_to_hass(hass).id))
    [memory] = known(hass)
    assert memory.accesses == 0


async def test_several_are_listed_and_asked_about(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    await set_up(hass, llm_server)
    anna = person("Anna")
    for content in (COFFEE, "Ben drinks his coffee black", KEY):
        await keep(hass, content)
    llm_server.plan(tool_call("forget_memory", {"query": "coffee"}))
    asked = await say(hass, "forget about the coffee", context=anna)
    assert speech(asked) == f"Forget “{COFFEE}”, “Ben drinks his coffee black”?"
    assert len(known(hass)) == 3
    done = await say(hass, "yes", asked.conversation_id, context=anna)
    assert speech(done) == f"Done. I've forgotten “{COFFEE}”, “Ben drinks his coffee black”."
    assert contents(hass) == {KEY}


async def test_a_similar_memory_is_asked_about(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    """A birthday is a time, and so is an evening: what was meant by it is for the person to say."""
    await set_up(hass, llm_server)
    anna, jazz = person("Anna"), "Ben likes jazz in the evening"
    await keep(hass, jazz)
    llm_server.plan(tool_call("forget_memory", {"query": "birthday"}))
    asked = await say(hass, "forget the birthday", context=anna)
    assert speech(asked) == f"Forget “{jazz}”?"
    await say(hass, "no", asked.conversation_id, context=anna)
    assert contents(hass) == {jazz}
    answer = await ask(hass, llm_server, "forget_memory", {"query": "the jazz of Ben"}, context=anna)
    assert answer["result"] == {"forgotten": [jazz]}


async def test_a_no_forgets_nothing(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    await set_up(hass, llm_server)
    anna = person("Anna")
    await keep(hass, COFFEE)
    await keep(hass, KEY)
    llm_server.plan(tool_call("forget_memory", {"query": "*"}))
    asked = await say(hass, "forget everything", context=anna)
    assert KEY in speech(asked)
    await say(hass, "no", asked.conversation_id, context=anna)
    assert contents(hass) == {COFFEE, KEY}


async def test_many_are_counted_in_the_question(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    await set_up(hass, llm_server)
    anna = person("Anna")
    names = ("Anna", "Ben", "Carla", "David", "Emil", "Frieda", "Gustav", "Hanna", "Ida", "Jonas", "Klara", "Linus")
    for name in names:
        await keep(hass, f"The bicycle of {name} stands in the cellar")
    llm_server.plan(tool_call("forget_memory", {"query": "*"}))
    asked = await say(hass, "forget everything", context=anna)
    assert speech(asked).count("bicycle") == 10
    assert speech(asked).endswith(", 2 more?")
    done = await say(hass, "yes", asked.conversation_id, context=anna)
    assert speech(done).count("bicycle") == 10
    assert speech(done).endswith(", 2 more.")
    assert not known(hass)


@pytest.mark.parametrize(("language", "yes", "said", "replaces", "old", "new"), [
    (
        *("en", "yes", "Done. I'll remember “{}”.", " It replaces “{}”."),
        *("Tom's guitar lesson is on Monday", "Tom's guitar lesson has moved to Thursday"),
    ),
    (
        *("de", "ja", "Erledigt. Ich merke mir “{}”.", " Das ersetzt “{}”."),
        *("Das Bett steht im Schlafzimmer", "Das Bett steht jetzt auf dem Dachboden"),
    ),
])  # fmt: skip
async def test_after_a_yes_it_is_said_what_is_remembered(
    hass: HomeAssistant,
    llm_server: LLMServer,
    person: Person,
    language: str,
    yes: str,
    said: str,
    replaces: str,
    old: str,
    new: str,
) -> None:
    await set_up(hass, llm_server, options={"always_confirm": ["store_memory"]})
    anna = person("Anna")

    async def kept(content: str) -> str:
        llm_server.plan(tool_call("store_memory", {"content": content}))
        asked = await say(hass, "remember this", context=anna, language=language)
        done = await say(hass, yes, asked.conversation_id, context=anna, language=language)
        return speech(done)

    assert await kept(old) == said.format(old)
    assert await kept(new) == said.format(new) + replaces.format(old)
    # as in the question: cut, and nothing that quotes or asks
    assert await kept(f"Lisa says “hello?” {'x' * 200}") == said.format(f"Lisa says hello {'x' * 104}… (+96)")


async def test_after_a_yes_the_dropped_is_told(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    await set_up(hass, llm_server, options={"always_confirm": ["store_memory"], "memory": {"max_memories": 1}})
    anna = person("Anna")
    await keep(hass, COFFEE, source=MemorySource.EXTRACTED)
    llm_server.plan(tool_call("store_memory", {"content": KEY}))
    asked = await say(hass, "remember this", context=anna)
    done = await say(hass, "yes", asked.conversation_id, context=anna)
    assert speech(done) == f"Done. I'll remember “{KEY}”. To make room, I've forgotten “{COFFEE}”."
    assert contents(hass) == {KEY}


async def test_what_came_after_the_question_stays(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    await set_up(hass, llm_server)
    anna = person("Anna")
    await keep(hass, COFFEE)
    await keep(hass, KEY)
    llm_server.plan(tool_call("forget_memory", {"query": "*"}))
    asked = await say(hass, "forget everything", context=anna)
    await keep(hass, "Ben is allergic to nuts")
    changed = await say(hass, "yes", asked.conversation_id, context=anna)
    assert speech(changed) == "Something has changed since I asked, so nothing was done. Please ask again."
    assert len(known(hass)) == 3


async def test_forget_that(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    await set_up(hass, llm_server)
    anna, ben = person("Anna"), person("Ben")
    await keep(hass, KEY)
    stored = await ask(hass, llm_server, "store_memory", {"content": COFFEE}, context=anna)
    elsewhere = await ask(hass, llm_server, "forget_memory", {}, context=ben)
    assert "Nothing was stored or recalled in this conversation" in elsewhere["error"]
    same = {"context": anna, "conversation_id": stored["conversation_id"]}
    answer = await ask(hass, llm_server, "forget_memory", {}, "forget that", **same)
    assert answer["result"] == {"forgotten": [COFFEE]}
    again = await ask(hass, llm_server, "forget_memory", {}, "forget that", **same)
    assert not again["success"]
    assert contents(hass) == {KEY}
    await ask(hass, llm_server, "recall_memory", {"query": "spare key"}, **same)
    await ask(hass, llm_server, "forget_memory", {}, "forget that", **same)
    assert not known(hass)


@pytest.mark.parametrize("arguments", [{"ids": ["00000000"]}, {"ids": ["x"]}, {"ids": [""]}, {"query": "bicycle"}])
async def test_the_unknown_stays(hass: HomeAssistant, llm_server: LLMServer, arguments: dict[str, Any]) -> None:
    await set_up(hass, llm_server)
    await keep(hass, KEY)
    assert not (await ask(hass, llm_server, "forget_memory", arguments))["success"]
    assert contents(hass) == {KEY}


async def test_undo_says_that_it_cannot(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    """Nothing of a memory is a state: it is taken back by forgetting it, and what is forgotten stays gone."""
    await set_up(hass, llm_server)
    anna = person("Anna")
    await ask(hass, llm_server, "store_memory", {"content": COFFEE}, "remember this", context=anna)
    undone = await say(hass, "undo that", context=anna)
    assert "remember this" in speech(undone)
    assert contents(hass) == {COFFEE}


# Who has which


async def test_offered_where_memory_is_on(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """What looks up and forgets comes with the first memory and goes with the last, in the next request, after a restart as well."""
    entry = await set_up(hass, llm_server)
    llm_server.respond(lambda _body: text("Hello."))

    async def are_offered() -> set[str]:
        await say(hass, "hello")
        return offered(llm_server) & TOOLS

    assert await are_offered() == {"store_memory"}
    [one, other] = [await keep(hass, content) for content in (COFFEE, KEY)]
    assert await are_offered() == TOOLS
    await kept_of(hass, Memories).async_delete([one.id])
    await hass.config_entries.async_reload(entry.entry_id)
    assert await are_offered() == TOOLS
    await kept_of(hass, Memories).async_delete([other.id])
    assert await are_offered() == {"store_memory"}
    await hass.config_entries.async_reload(entry.entry_id)
    assert await are_offered() == {"store_memory"}


async def test_the_tools_are_short(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.respond(lambda _body: text("Hello."))

    async def tokens_of(*names: str) -> float:
        await say(hass, "hello")
        specs = [tool for tool in llm_server.request.body["tools"] if tool["function"]["name"] in names]
        assert len(specs) == len(names)
        return sum(raw_estimate(dump(spec)) for spec in specs)

    assert await tokens_of("store_memory", "teach_name") < 170
    await keep(hass, KEY)
    assert await tokens_of(*TOOLS, "teach_name") < 290


@pytest.mark.parametrize("fields", [
    pytest.param({"options": {"memory": {"enabled": False}}}, id="off for all"),
    pytest.param({"profile": {"memory": "off"}}, id="off for this agent"),
])  # fmt: skip
async def test_nothing_while_it_is_off(
    hass: HomeAssistant, llm_server: LLMServer, fields: dict[str, Any], person: Person
) -> None:
    entry = await set_up(hass, llm_server)
    await keep(hass, KEY)
    llm_server.plan(text("Behind the freezer."))
    await say(hass, "where is the spare key?")
    assert KEY in llm_server.request.raw.decode()
    llm_server.requests.clear()
    if "options" in fields:
        hass.config_entries.async_update_entry(entry, options=fields["options"])
    else:
        profile = entry.subentries["profile-1"]
        hass.config_entries.async_update_subentry(entry, profile, data=dict(profile.data) | fields["profile"])
    await hass.async_block_till_done()
    assert KEY in contents(hass)
    for name, arguments in (
        ("store_memory", {"content": COFFEE}), ("recall_memory", {}), ("recall_memory", {"query": "spare key"}),
        ("forget_memory", {"query": "*"}),
    ):  # fmt: skip
        answer = await ask(hass, llm_server, name, arguments, "where is the spare key?", context=person("Anna"))
        assert not answer["success"]
        assert not offered(llm_server) & TOOLS
    sent = b"".join(request.raw for request in llm_server.requests)
    assert KEY.encode() not in sent
    assert COFFEE not in contents(hass)


async def test_an_owner_may_leave_a_tool_out(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"never_offer": ["forget_memory"]})
    await keep(hass, KEY)
    llm_server.plan(text("Hello."))
    await say(hass, "hello")
    assert offered(llm_server) & TOOLS == {"store_memory", "recall_memory"}


async def test_a_task_has_no_memory(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    """Nobody talks: whoever starts a task says what the model is told."""
    await set_up(hass, llm_server)
    anna = person("Anna")
    await keep(hass, COFFEE, anna.user_id)
    await keep(hass, KEY)
    llm_server.plan(text("I don't know."))
    [task] = hass.states.async_entity_ids("ai_task")
    asked = {"task_name": "Keys", "instructions": "Where is the spare key, and how does Anna take her coffee?"}
    await hass.services.async_call(
        "ai_task", "generate_data", {**asked, "entity_id": task}, blocking=True, return_response=True, context=anna
    )
    assert "tools" not in llm_server.request.body
    assert KEY not in llm_server.request.raw.decode()
    assert COFFEE not in llm_server.request.raw.decode()


async def test_memories_of_a_user_are_for_that_user(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    await set_up(hass, llm_server, options={"memory": {"scope": "user"}})
    anna, ben = person("Anna"), person("Ben")
    await ask(hass, llm_server, "store_memory", {"content": COFFEE}, context=anna)
    [memory] = known(hass)
    assert memory.owner == anna.user_id
    since = len(llm_server.requests)
    for name, arguments in (
        ("recall_memory", {}), ("recall_memory", {"query": "Anna's coffee"}), ("forget_memory", {"ids": [memory.id]}),
        ("forget_memory", {"query": memory.id}), ("forget_memory", {"query": "Anna's coffee"}),
        ("forget_memory", {"query": "*"}),
    ):  # fmt: skip
        for who in ({"context": ben}, {"device_id": "a speaker"}):
            answer = await ask(hass, llm_server, name, arguments, "what about the coffee?", **who)
            assert answer["result"] == ({"memories": []} if name == "recall_memory" else None)
    assert COFFEE.encode() not in b"".join(request.raw for request in llm_server.requests[since:])
    assert known(hass) == [memory]
    own = await ask(hass, llm_server, "recall_memory", {}, context=anna)
    assert [row["of"] for row in own["result"]["memories"]] == ["user"]


async def test_one_users_memory_goes_to_no_other(hass: HomeAssistant, llm_server: LLMServer, person: Person) -> None:
    """Neither what stood beside a question nor what was recalled, in one conversation of two people."""
    await set_up(hass, llm_server, options={"memory": {"scope": "user"}})
    anna, ben = person("Anna"), person("Ben")
    await keep(hass, COFFEE, anna.user_id)
    words = "how does Anna take her coffee?"
    answer = await ask(hass, llm_server, "recall_memory", {}, words, context=anna, conversation_id="kitchen")
    assert answer["result"]["memories"][0]["content"] == COFFEE
    assert COFFEE in llm_server.request.last_user
    since = len(llm_server.requests)
    llm_server.respond(lambda body: text("I don't know."))
    heard = [await say(hass, words, place, context=ben) for place in (answer["conversation_id"], "kitchen")]
    refused = [result for result in heard if speech(result) == "Unauthorized"]  # so Home Assistant 2026.11
    assert len(llm_server.requests) - since == len(heard) - len(refused)
    assert COFFEE.encode() not in b"".join(request.raw for request in llm_server.requests[since:])


async def test_a_model_outside_the_home_reads_no_personal_data(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"mask_personal_data": "always"})
    await keep(hass, "The plumber is called on +49 30 901820")
    answer = await ask(hass, llm_server, "recall_memory", {"query": "plumber"}, "whom do I call?")
    assert answer["result"]["memories"][0]["content"] == "The plumber is called on [phone]"
    assert b"901820" not in b"".join(request.raw for request in llm_server.requests)


async def test_other_programs_are_not_lent_them(hass: HomeAssistant) -> None:
    entry: MockConfigEntry = await set_up(hass)
    runtime = entry.runtime_data
    [profile] = runtime.profiles.values()
    names = {tool.name for tool in await runtime.own_tools.async_tools(profile, None)}
    assert names
    assert not names & TOOLS


async def test_the_number_of_memories_is_a_sensor(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    registry = er.async_get(hass)
    entity_id = registry.async_get_entity_id("sensor", "home_agent", f"{entry.entry_id}_memories")
    assert entity_id is not None
    assert hass.states.get(entity_id) is None, "it is off until somebody wants it"
    registry.async_update_entity(entity_id, disabled_by=None)
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()
    state = hass.states.get(entity_id)
    assert state is not None
    assert state.state == "0"
    await keep(hass, KEY)
    coffee = await keep(hass, COFFEE, type=MemoryType.PREFERENCE)
    state = hass.states.get(entity_id)
    assert state is not None
    assert (state.state, state.attributes["fact"], state.attributes["preference"]) == ("2", 1, 1)
    assert "coffee" not in str(state.attributes)
    await kept_of(hass, Memories).async_delete([coffee.id])
    state = hass.states.get(entity_id)
    assert state is not None
    assert (state.state, state.attributes["preference"]) == ("1", 0)
    hass.config_entries.async_update_entry(entry, options={"memory": {"enabled": False}})
    await hass.async_block_till_done()
    state = hass.states.get(entity_id)
    assert state is not None
    assert state.state == "unavailable"
    assert not {"fact", "preference", "context", "event"} & set(state.attributes)
