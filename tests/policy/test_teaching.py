"""Names that people teach: asked about or proposed, kept as an alias in Home Assistant's registry, found, taken back, listed."""

from http import HTTPStatus
from string import ascii_lowercase
from typing import Any

from homeassistant.components.conversation import ConversationResult
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr, issue_registry as ir
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.home.taught_names import MAX_DECLINED, taught_names_of
from custom_components.home_agent.policy.proposals import MAX_WAITING_OF_USER
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from custom_components.home_agent.support.kept import kept_things
from custom_components.home_agent.turn.proposal import ProposalStatus
from tests.house import act, say as say_as, set_up, speech, state_of, subentry
from tests.llm_server import LLMServer, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

BED = "light.bed_light"
FILE = "home_agent.taught_names"
ISSUE = "names_proposed_home"
TEACH = "The bed light is called moon lamp."


async def say(
    hass: HomeAssistant, words: str, conversation_id: str, *, context: Context, **fields: Any
) -> ConversationResult:
    """Say something in the name of somebody; each message has a context of its own, as in a frontend."""
    return await say_as(hass, words, conversation_id, context=Context(user_id=context.user_id), **fields)


def aliases(hass: HomeAssistant, entity_id: str = BED) -> list[Any]:
    """Return the aliases as the registry holds them, the placeholder for the own name included."""
    entry = er.async_get(hass).async_get(entity_id)
    assert entry is not None
    return list(entry.aliases)


def proposals(hass: HomeAssistant) -> int:
    """Return how many names wait, as the issue about them says; 0 without an issue."""
    issue = ir.async_get(hass).async_get_issue(DOMAIN, ISSUE)
    return int((issue.translation_placeholders or {})["count"]) if issue else 0


async def fix(hass: HomeAssistant, new_client: ClientSessionGenerator, step: str) -> dict[str, Any]:
    """Answer the issue over the API as the page of Repairs does; return how it ended, with what was asked."""
    assert await async_setup_component(hass, "repairs", {})
    client = await new_client()
    started = await client.post("/api/repairs/issues/fix", json={"handler": DOMAIN, "issue_id": ISSUE})
    assert started.status == HTTPStatus.OK
    form = await started.json()
    assert (form["type"], form["menu_options"]) == ("menu", ["approve_all", "choose", "reject_all"])
    ended = await client.post(f"/api/repairs/issues/fix/{form['flow_id']}", json={"next_step_id": step})
    return {**await ended.json(), "question": form["description_placeholders"]["proposals"]}


async def test_an_administrator_teaches_a_name(hass: HomeAssistant, llm_server: LLMServer, admin: Context) -> None:
    entry = await set_up(hass, llm_server, model_first=False)
    before = aliases(hass)
    asked = await say(hass, TEACH, "c1", context=admin)
    assert speech(asked) == "Call Bed Light “moon lamp” as well?"
    assert aliases(hass) == before
    answered = await say(hass, "yes", "c1", context=admin)
    assert speech(answered) == "Done. Bed Light is now also called “moon lamp”."
    assert aliases(hass) == [*before, "moon lamp"]
    assert llm_server.requests == []
    # the home's own sentences
    await hass.services.async_call("light", "turn_off", {"entity_id": BED}, blocking=True)
    await say(hass, "turn on the moon lamp", "c2", context=admin)
    assert state_of(hass, BED) == "on"
    assert llm_server.requests == []
    # search, and the model: its map of the home
    found = await act(hass, "index_entity", admin, entity_id=BED)
    assert "moon lamp" in found["text"]
    await entry.runtime_data.home.async_get()
    llm_server.plan(text("Bright."))
    await say(hass, "How bright should a moon lamp be for reading?", "c3", context=admin)
    assert f"{BED} = Bed Light | moon lamp" in llm_server.request.body["messages"][0]["content"]


async def test_undo_takes_the_name_away_again_and_nothing_else(hass: HomeAssistant, admin: Context) -> None:
    await set_up(hass)
    er.async_get(hass).async_update_entity(BED, aliases=["reading light", er.COMPUTED_NAME])
    await say(hass, TEACH, "c1", context=admin)
    await say(hass, "yes", "c1", context=admin)
    assert aliases(hass) == ["reading light", er.COMPUTED_NAME, "moon lamp"]
    done = await say(hass, "what did you do?", "c1", context=admin)
    assert "called Bed Light “moon lamp” as well" in speech(done)
    undone = await say(hass, "undo", "c1", context=admin)
    assert speech(undone) == "Bed Light is no longer called “moon lamp”."
    assert aliases(hass) == ["reading light", er.COMPUTED_NAME]
    assert taught_names_of(hass).rows() == []
    assert speech(await say(hass, "undo", "c1", context=admin)) == "There is nothing to undo."


async def test_undo_finds_a_name_that_somebody_has_removed_since(hass: HomeAssistant, admin: Context) -> None:
    await set_up(hass)
    await say(hass, TEACH, "c1", context=admin)
    await say(hass, "yes", "c1", context=admin)
    er.async_get(hass).async_update_entity(BED, aliases=[er.COMPUTED_NAME, "night light"])
    undone = await say(hass, "undo", "c1", context=admin)
    assert speech(undone) == "“moon lamp” is already back."
    assert aliases(hass) == [er.COMPUTED_NAME, "night light"]


async def test_a_name_that_is_there_before_is_not_taught_and_not_undone(hass: HomeAssistant, admin: Context) -> None:
    await set_up(hass)
    er.async_get(hass).async_update_entity(BED, aliases=[er.COMPUTED_NAME, "Moon Lamp"])
    assert speech(await say(hass, TEACH, "c1", context=admin)) == "Bed Light is already called “moon lamp”."
    assert speech(await say(hass, "undo", "c1", context=admin)) == "There is nothing to undo."
    assert aliases(hass) == [er.COMPUTED_NAME, "Moon Lamp"]


async def test_a_no_changes_nothing(hass: HomeAssistant, admin: Context) -> None:
    await set_up(hass)
    before = aliases(hass)
    await say(hass, TEACH, "c1", context=admin)
    await say(hass, "no", "c1", context=admin)
    assert aliases(hass) == before
    assert taught_names_of(hass).rows() == []


@pytest.mark.parametrize(("language", "sentence", "question"), [
    ("en", "When I say cookhouse, I mean the kitchen", "Call Kitchen “cookhouse” as well?"),
    ("en", "The ground floor is also called downstairs", "Call Ground floor “downstairs” as well?"),
    ("en", "Another name for the ceiling lights is “sky”", "Call Ceiling Lights “sky” as well?"),
    ("de", "Wenn ich Kombüse sage, meine ich Kitchen.", "Kitchen auch “Kombüse” nennen?"),
    ("de", "Bed Light heißt jetzt auch Mondlampe", "Bed Light auch “Mondlampe” nennen?"),
    ("de", "Mit Erdgeschoss meine ich Ground floor", "Ground floor auch “Erdgeschoss” nennen?"),
])  # fmt: skip
async def test_sentences_about_things_and_places(
    hass: HomeAssistant, admin: Context, language: str, sentence: str, question: str
) -> None:
    fr.async_get(hass).async_create("Ground floor")
    await set_up(hass)
    asked = await say(hass, sentence, "c1", context=admin, language=language)
    assert speech(asked) == question


@pytest.mark.parametrize("sentence", [
    "Is the bed light called moon lamp?", "The garden gnome is called Peter", "The bed light is not called moon lamp",
    "The bed light that I bought is called moon lamp",
])  # fmt: skip
async def test_another_meaning(hass: HomeAssistant, llm_server: LLMServer, admin: Context, sentence: str) -> None:
    await set_up(hass, llm_server, model_first=False)
    llm_server.plan(text("I see."))
    assert speech(await say(hass, sentence, "c1", context=admin)) == "I see."


async def test_places_are_found_by_their_new_name_and_lose_it_again(hass: HomeAssistant, admin: Context) -> None:
    floor = fr.async_get(hass).async_create("Ground floor", aliases={"bottom"})
    kitchen = ar.async_get(hass).async_get_area_by_name("Kitchen")
    assert kitchen is not None
    ar.async_get(hass).async_update(kitchen.id, aliases={"galley"})
    await set_up(hass)
    for sentence in ("when I say cookhouse I mean the kitchen", "the ground floor is called downstairs"):
        await say(hass, sentence, "c1", context=admin)
        await say(hass, "yes", "c1", context=admin)
    area, level = ar.async_get(hass).async_get_area(kitchen.id), fr.async_get(hass).async_get_floor(floor.floor_id)
    assert area is not None
    assert level is not None
    assert (area.aliases, level.aliases) == ({"galley", "cookhouse"}, {"bottom", "downstairs"})
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.kitchen_lights"}, blocking=True)
    await say(hass, "turn on the lights in the cookhouse", "c2", context=admin)
    assert state_of(hass, "light.kitchen_lights") == "on"
    await say(hass, "undo", "c1", context=admin)
    assert speech(await say(hass, "undo", "c1", context=admin)).endswith(
        "Ground floor is no longer called “downstairs”."
    )
    assert speech(await say(hass, "undo", "c1", context=admin)) == "Kitchen is no longer called “cookhouse”."
    area, level = ar.async_get(hass).async_get_area(kitchen.id), fr.async_get(hass).async_get_floor(floor.floor_id)
    assert area is not None
    assert level is not None
    assert (area.aliases, level.aliases) == ({"galley"}, {"bottom"})


@pytest.mark.usefixtures("socket_enabled")
async def test_others_propose_and_an_administrator_approves_after_a_restart(
    hass: HomeAssistant, hass_storage: dict[str, Any], alice: Context, hass_client: ClientSessionGenerator
) -> None:
    entry = await set_up(hass)
    before = aliases(hass)
    proposed = await say(hass, TEACH, "c1", context=alice)
    assert speech(proposed).startswith("I've proposed to call Bed Light “moon lamp” as well.")
    assert aliases(hass) == before
    assert proposals(hass) == 1
    assert "moon" not in str(ir.async_get(hass).async_get_issue(DOMAIN, ISSUE))  # everybody may list issues
    again = await say(hass, TEACH, "c1", context=alice)
    assert "has not decided yet" in speech(again)
    # a restart: nothing of it is left in memory
    assert await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done()
    assert [row["status"] for row in hass_storage[FILE]["data"]["names"]] == ["proposed"]
    kept_things(hass).forget()
    ir.async_delete_issue(hass, DOMAIN, ISSUE)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    assert proposals(hass) == 1
    ended = await fix(hass, hass_client, "approve_all")
    assert ended["type"] == "create_entry"
    assert ended["question"] == f"- Call Bed Light ({BED}) “moon lamp” as well, as Alice proposes?"
    assert aliases(hass) == [*before, "moon lamp"]
    assert proposals(hass) == 0
    [row] = taught_names_of(hass).rows()
    assert (row.status, row.user_id) == (ProposalStatus.APPROVED, alice.user_id)
    # it is undone as what Alice did
    assert speech(await say(hass, "undo", "c2", context=alice)) == "Bed Light is no longer called “moon lamp”."
    assert aliases(hass) == before


async def test_what_was_declined_does_not_come_again_until_an_administrator_says_it(
    hass: HomeAssistant, alice: Context, admin: Context, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass)
    before = aliases(hass)
    await say(hass, TEACH, "c1", context=alice)
    assert proposals(hass) == 1
    assert (await fix(hass, hass_client, "reject_all"))["type"] == "create_entry"
    assert proposals(hass) == 0
    refused = await say(hass, "The bed light is called Moon Lamp", "c1", context=alice)
    assert speech(refused) == "An administrator has decided not to call Bed Light “Moon Lamp”."
    assert proposals(hass) == 0
    assert aliases(hass) == before
    await say(hass, TEACH, "c2", context=admin)
    await say(hass, "yes", "c2", context=admin)
    assert aliases(hass) == [*before, "moon lamp"]


@pytest.mark.parametrize("is_loaded", [True, False], ids=["loaded", "not loaded"])
async def test_names_that_a_deleted_user_taught_stay_as_names_of_the_home(
    hass: HomeAssistant, alice: Context, admin: Context, is_loaded: bool
) -> None:
    entry = await set_up(hass)
    names = taught_names_of(hass)
    names.async_note(BED, "moon lamp", ProposalStatus.APPROVED, alice.user_id)
    names.async_note(BED, "star lamp", ProposalStatus.PROPOSED, alice.user_id)
    names.async_note(BED, "sun lamp", ProposalStatus.PROPOSED, admin.user_id)
    if not is_loaded:
        await hass.config_entries.async_unload(entry.entry_id)
        kept_things(hass).forget()
    user = await hass.auth.async_get_user(str(alice.user_id))
    assert user is not None
    await hass.auth.async_remove_user(user)
    if not is_loaded:
        await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    rows = [(row.name, row.user_id) for row in taught_names_of(hass).rows()]
    assert rows == [("moon lamp", None), ("sun lamp", admin.user_id)]
    assert proposals(hass) == 1


async def test_a_proposal_is_withdrawn_by_undo(hass: HomeAssistant, alice: Context) -> None:
    await set_up(hass)
    await say(hass, TEACH, "c1", context=alice)
    assert proposals(hass) == 1
    undone = await say(hass, "undo", "c1", context=alice)
    assert speech(undone) == "I no longer propose to call Bed Light “moon lamp”."
    assert proposals(hass) == 0
    assert taught_names_of(hass).rows() == []


async def test_a_voice_device_proposes(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, TEACH, "c1", context=Context(), device_id="satellite")
    [row] = taught_names_of(hass).rows(ProposalStatus.PROPOSED)
    assert (row.target, row.name, row.user_id) == (BED, "moon lamp", None)


async def test_proposals_are_bounded(hass: HomeAssistant, alice: Context) -> None:
    await set_up(hass)
    for letter in ascii_lowercase[:MAX_WAITING_OF_USER]:
        await say(hass, f"the bed light is called lamp {letter}{letter}", "c1", context=alice)
    assert proposals(hass) == MAX_WAITING_OF_USER
    refused = await say(hass, "the bed light is called lamp zz", "c1", context=alice)
    assert "Too many proposed names" in speech(refused)
    assert proposals(hass) == MAX_WAITING_OF_USER


async def test_of_what_was_declined_the_oldest_is_forgotten(hass: HomeAssistant) -> None:
    await set_up(hass)
    names = taught_names_of(hass)
    for number in range(MAX_DECLINED + 2):
        names.async_note(BED, f"lamp number {number}", ProposalStatus.DECLINED, None)
    assert len(names.rows(ProposalStatus.DECLINED)) == MAX_DECLINED
    assert names.get(BED, "lamp number 1") is None


@pytest.mark.parametrize(("name", "answer"), [
    ("ceiling lights", "The name “ceiling lights” is already taken by Ceiling Lights."),
    ("kitchen", "The name “kitchen” is already taken by Kitchen."),
    ("all", "Nothing can be called “all”: it means something else in a command."),
    ("all lights", "Nothing can be called “all lights”: it means something else in a command."),
    ("forty two", "Nothing can be called “forty two”: it means something else in a command."),
    ("42", "Nothing can be called “42”: it means something else in a command."),
    ("turn on", "Nothing can be called “turn on”: it means something else in a command."),
    ("stop", "Nothing can be called “stop”: it means something else in a command."),
    ("<b>moon</b>", "A name can only have letters, numbers and spaces in it."),
    ("{{ states }}", "A name can only have letters, numbers and spaces in it."),
    ("[moon](http://example.com)", "A name can only have letters, numbers and spaces in it."),
    ("moon " * 12, "A name has 1 to 50 characters, and no more than 6 words."),
])  # fmt: skip
async def test_names_are_checked(hass: HomeAssistant, admin: Context, name: str, answer: str) -> None:
    await set_up(hass)
    before = aliases(hass)
    assert speech(await say(hass, f"When I say {name} I mean the bed light", "c1", context=admin)) == answer
    assert speech(await say(hass, "yes", "c1", context=admin)) != "Done."
    assert aliases(hass) == before


async def test_what_has_no_unique_id_cannot_be_taught(hass: HomeAssistant, admin: Context) -> None:
    await set_up(hass)
    hass.states.async_set("scene.evening", "scening", {"friendly_name": "Evening scene"})
    async_expose_entity(hass, ASSISTANT, "scene.evening", True)
    await hass.async_block_till_done()
    said = await say(hass, "when I say movie time I mean the evening scene", "c1", context=admin)
    assert speech(said).startswith("Evening scene can't get a name this way because it has no unique ID.")


async def test_a_scene_with_a_unique_id_is_started_by_its_new_name(hass: HomeAssistant, admin: Context) -> None:
    scene = {"id": "evening", "name": "Evening scene", "entities": {BED: "off"}}
    assert await async_setup_component(hass, "scene", {"scene": [scene]})
    async_expose_entity(hass, ASSISTANT, "scene.evening_scene", True)
    await set_up(hass)
    await say(hass, "when I say movie time I mean the evening scene", "c1", context=admin)
    await say(hass, "yes", "c1", context=admin)
    await hass.services.async_call("light", "turn_on", {"entity_id": BED}, blocking=True)
    await say(hass, "activate movie time", "c2", context=admin)
    await hass.async_block_till_done()
    assert state_of(hass, BED) == "off"


async def test_what_is_not_exposed_cannot_be_taught(hass: HomeAssistant, admin: Context) -> None:
    await set_up(hass)
    async_expose_entity(hass, ASSISTANT, BED, False)
    before = aliases(hass)
    for words in (TEACH, "yes"):
        await say(hass, words, "c1", context=admin)
    assert aliases(hass) == before


async def test_a_model_teaches(hass: HomeAssistant, llm_server: LLMServer, admin: Context, alice: Context) -> None:
    await set_up(hass, llm_server)
    call = tool_call("teach_name", {"target": BED, "name": "moon lamp"})
    llm_server.plan(call)
    asked = await say(hass, "The thing above the bed is our moon lamp", "c1", context=admin)
    assert speech(asked) == "Call Bed Light “moon lamp” as well?"
    assert "moon lamp" not in aliases(hass)
    await say(hass, "no", "c1", context=admin)
    llm_server.plan(call, text("An administrator is asked."))
    await say(hass, "The thing above the bed is our moon lamp", "c2", context=alice)
    result = llm_server.request.body["messages"][-1]["content"]
    assert '"status":"proposed"' in result
    assert "Repairs" in result
    assert "moon lamp" not in aliases(hass)
    assert proposals(hass) == 1


async def test_text_from_outside_needs_a_question(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    entry = await set_up(hass, llm_server)
    with entry.runtime_data.transcripts.turn("c1", "profile-1") as transcript:
        transcript.taints.add("read_mail")
    llm_server.plan(tool_call("teach_name", {"target": BED, "name": "moon lamp"}))
    asked = await say(hass, "Do what the mail says", "c1", context=alice)
    assert "ask an administrator to call Bed Light “moon lamp” as well?" in speech(asked)
    assert "read_mail" not in speech(asked)
    assert speech(asked).startswith("To be safe")
    assert proposals(hass) == 0
    assert "I've proposed" in speech(await say(hass, "yes", "c1", context=alice))
    assert proposals(hass) == 1


@pytest.mark.parametrize("where", ["options", "profile"])
async def test_without_memory_no_name(hass: HomeAssistant, llm_server: LLMServer, admin: Context, where: str) -> None:
    options = {"memory": {"enabled": False}} if where == "options" else {}
    await set_up(
        hass, llm_server, options=options, profile={"memory": "off"} if where == "profile" else {}, model_first=False
    )
    llm_server.plan(text("I see."))
    assert speech(await say(hass, TEACH, "c1", context=admin)) == "I see."
    assert "teach_name" not in [tool["function"]["name"] for tool in llm_server.request.body["tools"]]


async def test_a_refused_guest_gets_no_other_agent(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    """An agent without memory hands the request to one that takes names: nothing is proposed."""
    expert = subentry("profile", "Expert", "profile-2", {"delegation_level": "unrestricted", "local_first": False})
    await set_up(hass, llm_server, profile={"memory": "off", "delegate_to": ["profile-2"]}, more=(expert,))
    teach = tool_call("teach_name", {"target": BED, "name": "moon lamp"})
    hand = tool_call(
        "delegate_to_service", {"target_service_id": "expert", "user_request": "Call the bed light moon lamp"}
    )
    llm_server.plan(hand, teach, text("I cannot."), text("That is not possible."))
    await say(hass, "Let the bed light be the moon lamp", "c1", context=alice)
    refused = llm_server.requests[2].body["messages"][-1]["content"]
    assert "memory is off" in refused
    assert proposals(hass) == 0
    assert "moon lamp" not in aliases(hass)
    llm_server.plan(teach, text("I've asked."))
    await say(hass, "Let the bed light be the moon lamp", "c2", context=alice, agent_id="conversation.expert")
    assert proposals(hass) == 1


async def test_list_and_forget(hass: HomeAssistant, admin: Context, alice: Context) -> None:
    await set_up(hass)
    before = aliases(hass)
    await say(hass, TEACH, "c1", context=admin)
    await say(hass, "yes", "c1", context=admin)
    await say(hass, "The ceiling lights are called sky", "c2", context=Context(), device_id="satellite")
    rows = (await act(hass, "list_taught_names", admin))["names"]
    told = [
        {key: row[key] for key in ("target", "target_name", "name", "status", "user_id", "present")} for row in rows
    ]
    assert told == [
        {
            "target": "light.ceiling_lights", "target_name": "Ceiling Lights", "name": "sky", "status": "proposed",
            "user_id": None, "present": False,
        },
        {
            "target": BED, "target_name": "Bed Light", "name": "moon lamp", "status": "taught",
            "user_id": admin.user_id, "present": True,
        },
    ]  # fmt: skip
    others = (await act(hass, "list_taught_names", alice))["names"]
    assert [row["name"] for row in others] == ["moon lamp"]  # what somebody else proposed is none of hers
    forgotten = await act(hass, "forget_taught_name", admin, name="Moon Lamp")
    assert [(row["target"], row["present"]) for row in forgotten["forgotten"]] == [(BED, False)]
    assert aliases(hass) == before
    await act(hass, "forget_taught_name", admin, name="sky")
    assert proposals(hass) == 0
    assert (await act(hass, "list_taught_names", admin))["names"] == []
    restored = await act(hass, "undo", admin)
    assert restored["question"] == "Call Bed Light “moon lamp” as well?"
    await act(hass, "confirm", admin, request_id=restored["confirmation"])
    assert aliases(hass) == [*before, "moon lamp"]


async def test_an_entity_that_gets_another_id_keeps_what_was_proposed(
    hass: HomeAssistant, alice: Context, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass)
    await say(hass, TEACH, "c1", context=alice)
    er.async_get(hass).async_update_entity(BED, new_entity_id="light.sleeping")
    await hass.async_block_till_done()
    async_expose_entity(hass, ASSISTANT, "light.sleeping", True)
    assert proposals(hass) == 1
    assert (await fix(hass, hass_client, "approve_all"))["type"] == "create_entry"
    assert "moon lamp" in aliases(hass, "light.sleeping")


async def test_an_approval_that_cannot_be_any_more_says_why(
    hass: HomeAssistant, alice: Context, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass)
    await say(hass, TEACH, "c1", context=alice)
    ar.async_get(hass).async_create("Moon lamp")
    await hass.async_block_till_done()
    assert proposals(hass) == 1
    ended = await fix(hass, hass_client, "approve_all")
    assert (ended["type"], ended["reason"]) == ("abort", "failed")
    answer = "The name “moon lamp” is already taken by Moon lamp."
    assert ended["description_placeholders"] == {"answer": answer}
    assert "moon lamp" not in aliases(hass)


@pytest.mark.usefixtures("socket_enabled")
async def test_repairs_is_for_administrators(
    hass: HomeAssistant, alice: Context, hass_client: ClientSessionGenerator, hass_read_only_access_token: str
) -> None:
    await set_up(hass)
    await say(hass, TEACH, "c1", context=alice)
    assert await async_setup_component(hass, "repairs", {})
    client = await hass_client(hass_read_only_access_token)
    assert proposals(hass) == 1
    started = await client.post("/api/repairs/issues/fix", json={"handler": DOMAIN, "issue_id": ISSUE})
    assert started.status == HTTPStatus.UNAUTHORIZED


async def test_removal_leaves_names(hass: HomeAssistant, hass_storage: dict[str, Any], admin: Context) -> None:
    entry = await set_up(hass)
    await say(hass, TEACH, "c1", context=admin)
    await say(hass, "yes", "c1", context=admin)
    assert await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done()
    assert FILE in hass_storage
    await hass.config_entries.async_remove(entry.entry_id)
    await hass.async_block_till_done()
    assert "moon lamp" in aliases(hass)
    assert FILE not in hass_storage


@pytest.mark.parametrize(("spared", "asks"), [("light", True), (BED, True), ("teach_name", False)])
async def test_never_ask_has_to_name_the_tool(hass: HomeAssistant, admin: Context, spared: str, asks: bool) -> None:
    await set_up(hass, options={"never_confirm": [spared]})
    answer = speech(await say(hass, TEACH, "c1", context=admin))
    assert answer.endswith("?") is asks
    assert ("moon lamp" in aliases(hass)) is not asks


async def test_never_allow_holds_for_a_proposal_that_is_approved(
    hass: HomeAssistant, alice: Context, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    entry = await set_up(hass)
    await say(hass, TEACH, "c1", context=alice)
    hass.config_entries.async_update_entry(entry, options={"never_offer": [BED]})
    await hass.async_block_till_done()
    assert proposals(hass) == 1
    ended = await fix(hass, hass_client, "approve_all")
    assert (ended["type"], ended["reason"]) == ("abort", "failed")
    assert "moon lamp" not in aliases(hass)


async def test_undo_works_after_a_restart(hass: HomeAssistant, hass_storage: dict[str, Any], admin: Context) -> None:
    entry = await set_up(hass)
    before = aliases(hass)
    await say(hass, TEACH, "c1", context=admin)
    await say(hass, "yes", "c1", context=admin)
    assert await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done()
    kept_things(hass).forget()
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    [action] = (await act(hass, "list_actions", admin))["actions"]
    assert [call["action"] for call in action["calls"]] == ["home_agent.add_name"]
    assert speech(await say(hass, "undo", "c2", context=admin)) == "Bed Light is no longer called “moon lamp”."
    assert aliases(hass) == before


async def test_a_proposal_of_a_deactivated_user_is_not_approved(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    user = MockUser(name="Guest").add_to_hass(hass)
    user.mock_policy({"entities": {"entity_ids": {"light.ceiling_lights": True}}})
    names = taught_names_of(hass)
    names.async_note(BED, "moon lamp", ProposalStatus.PROPOSED, user.id)
    await hass.auth.async_update_user(user, is_active=False)
    decided, why = await entry.runtime_data.proposals.async_decide("names_proposed", names.rows(), ())
    assert (decided, str(why).startswith("“moon lamp” was proposed by a user who is no longer active.")) == (1, True)
    assert [row.status for row in names.rows()] == [ProposalStatus.PROPOSED]
