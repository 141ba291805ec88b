"""What is asked before something is done, and what is said instead of a question, without a model."""

from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components import persistent_notification
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import (
    MockUser,
    async_capture_events,
    async_fire_time_changed,
)

from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn import events
from tests.house import add_shopping_list, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

PIN = {"pins": {"unlock": "4711", "open_door": "4711"}}
SHOPPING = "todo.shopping_list"


@pytest.fixture
def alice(hass_admin_user: MockUser) -> Context:
    return Context(user_id=hass_admin_user.id)


async def unlock(hass: HomeAssistant) -> None:
    await hass.services.async_call("lock", "unlock", {"entity_id": "lock.front_door"}, blocking=True)
    await hass.async_block_till_done()
    assert state_of(hass, "lock.front_door") == "unlocked"


@pytest.mark.parametrize("options", [{}, PIN], ids=["without PIN", "with PIN"])
@pytest.mark.parametrize(("entity_id", "state", "language", "said", "answer"), [
    ("lock.front_door", "unlocked", "en", "unlock the front door", "Front Door is already unlocked."),
    ("lock.front_door", "unlocked", "de", "Entriegle Front Door", "Front Door ist bereits entriegelt."),
    ("cover.garage_door", "open", "en", "open the garage door", "Garage Door is already open."),
    ("cover.garage_door", "opening", "en", "open the garage door", "Garage Door is already opening."),
    ("cover.garage_door", "open", "de", "Öffne Garage Door", "Garage Door ist bereits geöffnet."),
    (
        "lock.front_door", "unlocked", "fr", "Déverrouille Front Door",
        "Front Door\N{NO-BREAK SPACE}: déjà déverrouillé.",
    ),
    ("lock.front_door", "unlocked", "sv", "Lås upp Front Door", "Front Door: Olåst."),
])  # fmt: skip
async def test_what_is_already_so_is_said_and_not_asked(
    hass: HomeAssistant,
    alice: Context,
    options: dict[str, Any],
    entity_id: str,
    state: str,
    language: str,
    said: str,
    answer: str,
) -> None:
    await set_up(hass, options=options)
    old = hass.states.get(entity_id)
    assert old is not None
    hass.states.async_set(entity_id, state, old.attributes)
    asked = async_capture_events(hass, events.CONFIRMATION_REQUESTED)
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    result = await say(hass, said, context=alice, language=language)
    assert (speech(result), result.response.error_code) == (answer, None)
    assert [target.id for target in result.response.success_results] == [entity_id]
    assert not asked
    assert not called
    assert not result.continue_conversation


@pytest.mark.parametrize("said", ["¿Bed Light?", "¿Bed Light"])
async def test_a_question_does_nothing(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    await say(hass, said, language="es")
    assert state_of(hass, "light.bed_light") == "off"


async def test_what_only_seems_so_is_asked(hass: HomeAssistant, alice: Context) -> None:
    await set_up(hass)
    old = hass.states.get("lock.front_door")
    assert old is not None
    hass.states.async_set("lock.front_door", "unlocked", {**old.attributes, "assumed_state": True})
    result = await say(hass, "unlock the front door", context=alice)
    assert speech(result) == "Front Door is unlocked. Unlock it?"


@pytest.mark.parametrize("options", [{}, PIN], ids=["without PIN", "with PIN"])
async def test_a_model_is_told_that_it_is_so_already(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, options: dict[str, Any]
) -> None:
    async_expose_entity(hass, ASSISTANT, "lock.kitchen_door", True)
    await set_up(hass, llm_server, options=options)
    await hass.services.async_call("lock", "lock", {"entity_id": "lock.kitchen_door"}, blocking=True)
    await unlock(hass)
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    llm_server.plan(
        tool_call("ha_control", {"action": "unlock", "entity_id": "lock.front_door"}),
        text("The front door is already unlocked."),
    )
    result = await say(hass, "let me in", context=alice)
    assert speech(result) == "The front door is already unlocked."
    assert '"outcome":"reached"' in str(llm_server.requests[-1].body["messages"][-1]["content"]).replace(" ", "")
    assert "no action taken" in str(llm_server.requests[-1].body["messages"][-1]["content"])
    assert not called

    both = {"action": "unlock", "entity_id": ["lock.front_door", "lock.kitchen_door"]}
    llm_server.plan(tool_call("ha_control", both))
    asked = await say(hass, "open all", context=alice)
    question = "Front Door is already unlocked. Kitchen Door is locked. Unlock Kitchen Door?"
    assert speech(asked).startswith(question)
    await hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    await hass.async_block_till_done()
    answer = await say(hass, "yes 4711" if options else "yes", asked.conversation_id, context=alice)
    assert speech(answer).startswith("Something has changed since I asked")  # nobody said yes to the front door
    assert state_of(hass, "lock.kitchen_door") == state_of(hass, "lock.front_door") == "locked"

    llm_server.plan(tool_call("ha_control", {"action": "unlock", "entity_id": "lock.front_door"}))
    asked = await say(hass, "let me in", context=alice)
    await unlock(hass)
    called.clear()
    answer = await say(hass, "yes 4711" if options else "yes", asked.conversation_id, context=alice)
    assert speech(answer) == "Done. Front Door is unlocked."
    assert not called  # somebody else did it meanwhile


@pytest.fixture
async def shopping_list(hass: HomeAssistant, demo_house: None) -> None:
    """The shopping list of Home Assistant with milk and bread on it."""
    await add_shopping_list(hass, "Milk", "Bread", "Milch")


async def items(hass: HomeAssistant) -> dict[str, str]:
    data = {"entity_id": SHOPPING}
    found: Any = await hass.services.async_call("todo", "get_items", data, blocking=True, return_response=True)
    return {row["summary"]: row["status"] for row in found[SHOPPING]["items"]}


@pytest.mark.usefixtures("shopping_list")
@pytest.mark.parametrize(("language", "said", "question", "yes", "item", "done"), [
    ("en", "remove milk from the Shopping list", "Remove Milk from Shopping list?", "yes", "Milk", "Done."),
    ("en", "delete milk from my shopping list", "Remove Milk from Shopping list?", "yes", "Milk", "Done."),
    ("de", "Entferne Milch von der Einkaufsliste", "Milch von Shopping list entfernen?", "ja", "Milch", "Erledigt."),
    (
        "de", "Lösche Milch von der Shopping list Liste", "Milch von Shopping list entfernen?", "ja", "Milch",
        "Erledigt.",
    ),
])  # fmt: skip
async def test_removing_removes_and_is_asked_in_a_sentence(
    hass: HomeAssistant, alice: Context, language: str, said: str, question: str, yes: str, item: str, done: str
) -> None:
    await set_up(hass)
    asked = await say(hass, said, context=alice, language=language)
    assert speech(asked) == question
    assert item in await items(hass)
    answer = await say(hass, yes, asked.conversation_id, context=alice, language=language)
    assert speech(answer) == done
    assert item not in await items(hass)
    assert (await items(hass))["Bread"] == "needs_action"


@pytest.mark.usefixtures("shopping_list")
async def test_removing_removes_also_where_nobody_is_asked(hass: HomeAssistant, alice: Context) -> None:
    await set_up(hass, options={"never_confirm": ["todo"]})
    result = await say(hass, "Entferne Milch von der Einkaufsliste", context=alice, language="de")
    assert (speech(result), result.response.error_code) == ("Erledigt.", None)
    assert "Milch" not in await items(hass)


@pytest.mark.usefixtures("shopping_list")
async def test_ticking_off_ticks_off(hass: HomeAssistant, alice: Context) -> None:
    await set_up(hass)
    assert (
        speech(await say(hass, "Streiche Milch von der Einkaufsliste", context=alice, language="de"))
        == "Milch abgehakt"
    )
    assert (await items(hass))["Milch"] == "completed"


@pytest.mark.usefixtures("shopping_list")
@pytest.mark.parametrize(("language", "said", "answer"), [
    ("en", "remove honey from the Shopping list", "honey is not on Shopping list."),
    ("de", "Entferne Honig von der Einkaufsliste", "Honig steht nicht auf Shopping list."),
])  # fmt: skip
async def test_not_on_the_list(hass: HomeAssistant, alice: Context, language: str, said: str, answer: str) -> None:
    await set_up(hass)
    result = await say(hass, said, context=alice, language=language)
    assert (speech(result), result.response.error_code) == (answer, None)


@pytest.mark.parametrize(("language", "said", "back", "why", "question", "dropped", "yes", "nothing"), [
    (
        "en",
        "unlock the front door",
        ("what?", "Why?"),
        "I ask because this opens, unlocks or disarms something that protects your home. Nothing has been done yet.",
        "Front Door is locked. Unlock it?",
        "I got neither a yes nor a no, so I dropped the question. Nothing was done.",
        "yes",
        "There is nothing to confirm.",
    ),
    (
        "de",
        "Entriegle Front Door",
        ("Was?", "warum"),
        "Ich frage, weil das etwas öffnet, entriegelt oder unscharf schaltet, das dein Zuhause schützt. Es ist noch nichts geschehen.",
        "Front Door ist verriegelt. Entriegeln?",
        "Das war weder ja noch nein, deshalb lasse ich die Frage fallen. Es ist nichts geschehen.",
        "ja",
        "Es gibt nichts zu bestätigen.",
    ),
])  # fmt: skip
@pytest.mark.parametrize("with_model", [False, True])
async def test_who_asks_back_is_told_why_and_asked_once_more(
    hass: HomeAssistant,
    llm_server: LLMServer,
    alice: Context,
    with_model: bool,
    language: str,
    said: str,
    back: tuple[str, str],
    why: str,
    question: str,
    dropped: str,
    yes: str,
    nothing: str,
) -> None:
    await set_up(hass, llm_server if with_model else None, profile={"local_first": True})
    resolved = async_capture_events(hass, events.CONFIRMATION_RESOLVED)
    asked = await say(hass, said, context=alice, language=language)
    assert speech(asked) == question
    told = await say(hass, back[0], asked.conversation_id, context=alice, language=language)
    assert (speech(told), told.continue_conversation) == (f"{why} {question}", True)
    assert not resolved
    told = await say(hass, back[1], asked.conversation_id, context=alice, language=language)
    assert (speech(told), told.continue_conversation) == (dropped, False)
    assert [event.data["outcome"] for event in resolved] == ["cancelled"]
    told = await say(hass, yes, asked.conversation_id, context=alice, language=language)
    assert speech(told) == nothing
    assert state_of(hass, "lock.front_door") == "locked"
    assert not llm_server.requests


async def test_after_an_explanation_yes_counts(hass: HomeAssistant, alice: Context) -> None:
    await set_up(hass)
    asked = await say(hass, "unlock the front door", context=alice)
    await say(hass, "what?", asked.conversation_id, context=alice)
    assert speech(await say(hass, "yes", asked.conversation_id, context=alice)) == "Done. Front Door is unlocked."


async def test_another_user_ends_nothing(hass: HomeAssistant, alice: Context, hass_read_only_user: MockUser) -> None:
    entry = await set_up(hass)
    asked = await say(hass, "unlock the front door", context=alice)
    await say(hass, "what?", None, context=Context(user_id=hass_read_only_user.id))
    confirmations = entry.runtime_data.policy.confirmations
    assert [item.explained for item in confirmations.waiting.values()] == [False]
    assert speech(await say(hass, "yes", asked.conversation_id, context=alice)) == "Done. Front Door is unlocked."


@pytest.mark.parametrize(("language", "said", "answer"), [
    ("en", "yes", "There is nothing to confirm."), ("de", "Ja", "Es gibt nichts zu bestätigen."),
    ("en", "Nevermind", "OK, never mind."), ("de", "Vergiss es", "In Ordnung, vergessen wir das."),
])  # fmt: skip
async def test_unasked_words(hass: HomeAssistant, alice: Context, language: str, said: str, answer: str) -> None:
    await set_up(hass)
    assert speech(await say(hass, said, context=alice, language=language)) == answer


@pytest.mark.parametrize(
    ("language", "said", "answer"),
    [("en", "Nevermind", "OK, nothing was done."), ("de", "Vergiss es", "In Ordnung, es ist nichts geschehen.")],
)
async def test_never_mind_refuses(hass: HomeAssistant, alice: Context, language: str, said: str, answer: str) -> None:
    await set_up(hass)
    asked = await say(hass, "unlock the front door", context=alice)
    assert speech(await say(hass, said, asked.conversation_id, context=alice, language=language)) == answer
    assert state_of(hass, "lock.front_door") == "locked"


async def test_a_wish_that_was_understood_here_is_done_without_the_model(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    await set_up(hass, llm_server, profile={"local_first": True})
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    said = await say(hass, "turn on the bed light in 5 minutes", context=alice)
    assert said.response.error_code is None
    freezer.tick(301)
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert state_of(hass, "light.bed_light") == "on"
    assert not llm_server.requests


@pytest.mark.parametrize(("options", "reason"), [
    ({"always_confirm": ["light"]}, "needs your confirmation"),
    ({"never_offer": ["light.bed_light"]}, "not allowed to do that with Bed Light"),
])  # fmt: skip
async def test_what_cannot_be_done_when_it_is_time_is_told(
    hass: HomeAssistant, alice: Context, freezer: FrozenDateTimeFactory, options: dict[str, Any], reason: str
) -> None:
    entry = await set_up(hass)
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    await say(hass, "turn on the bed light in 5 minutes", context=alice)
    hass.config_entries.async_update_entry(entry, options=options)
    await hass.config_entries.async_reload(entry.entry_id)
    freezer.tick(301)
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert state_of(hass, "light.bed_light") == "off"
    [told] = hass.data[persistent_notification.DOMAIN].values()
    assert reason in told["message"]
