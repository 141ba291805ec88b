"""Slash commands, from the words in one agent's conversation to what each agent's model was sent."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from homeassistant.config_entries import SOURCE_RECONFIGURE, ConfigSubentryDataWithId
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import Unauthorized
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_fire_time_changed

from custom_components.home_agent.agent.commands import Commands, SlashCommand
from custom_components.home_agent.agent.registry import Registry
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import ENTRY_VERSION
from tests.flows.forms import resend
from tests.house import act, agent, say, set_up, speech, state_of, subentry
from tests.llm_server import LLMServer, Reply, text, tool_call

LOCK = "lock.front_door"
UNLOCK = tool_call("ha_control", {"action": "unlock", "entity_id": LOCK})


pytestmark = pytest.mark.usefixtures("demo_house")


@pytest.fixture
def anna(hass_admin_user: MockUser) -> Context:
    return Context(user_id=hass_admin_user.id)


KIDS = agent(2, "Kids", slash_commands=["kids"], description="Short answers for children.")
SECURE = agent(3, "Security", slash_commands=["secure", "secure_action"])
LONG = agent(4, "Long", slash_commands=["secure_action_now"])


async def world(
    hass: HomeAssistant, server: LLMServer, *more: ConfigSubentryDataWithId, profile: Mapping[str, Any] | None = None
) -> MockConfigEntry:
    """Set up the first agent and more, with a model that answers with the name of whom it was asked for."""
    entry = await set_up(
        hass,
        server,
        profile={"prompt_additions": "You are First.", **(profile or {})},
        more=more or (KIDS, SECURE, LONG),
    )
    server.respond(lambda body: text(f"{asked(body)} speaking."))
    return entry


def asked(body: Mapping[str, Any]) -> str:
    """Return which agent a request was made for."""
    system = body["messages"][0]["content"]
    return next(name for name in ("First", "Kids", "Security", "Long") if f"You are {name}." in system)


def words(server: LLMServer) -> list[str]:
    """Return what was said in the last request, without what is told beside it."""
    messages = server.request.body["messages"][1:]
    return [str(item["content"]).rpartition("</house>")[2].strip() for item in messages]


def script(server: LLMServer, *replies: Reply) -> None:
    """Let the model answer so, whoever is asked, then with words."""
    left = list(replies)
    server.respond(lambda body: left.pop(0) if left else text(f"{asked(body)} speaking."))


async def test_a_command_takes_the_rest_to_its_agent(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await world(hass, llm_server)
    first = await say(hass, "my name is Anna", context=anna)
    result = await say(hass, "/kids tell me a story", first.conversation_id, context=anna)
    assert speech(result) == "Kids speaking."
    assert result.conversation_id == first.conversation_id
    assert words(llm_server) == ["tell me a story"]
    await say(hass, "  /KIDS\tanother one", first.conversation_id, context=anna)
    assert words(llm_server) == ["tell me a story", "Kids speaking.", "another one"]
    await say(hass, "what did I say?", first.conversation_id, context=anna)
    assert words(llm_server) == ["my name is Anna", "First speaking.", "what did I say?"]
    assert asked(llm_server.request.body) == "First"


@pytest.mark.parametrize(("said", "who", "heard"), [
    ("/secure arm", "Security", "arm"), ("/Secure_Action arm", "Security", "arm"),
    ("/secure_action_now arm", "Long", "arm"), ("/kids /secure unlock", "Kids", "/secure unlock"),

    ("what is /kids for?", "First", "what is /kids for?"), ("/ kids", "First", "/ kids"),

])  # fmt: skip
async def test_command_words(hass: HomeAssistant, llm_server: LLMServer, said: str, who: str, heard: str) -> None:
    await world(hass, llm_server)
    await say(hass, said)
    assert (asked(llm_server.request.body), words(llm_server)) == (who, [heard])


async def test_a_command_reaches_an_agent(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await world(hass, llm_server)
    first = await say(hass, "hello", context=anna, agent_id="conversation.kids")
    await say(hass, "/kids and now?", first.conversation_id, context=anna, agent_id="conversation.kids")
    assert words(llm_server) == ["hello", "Kids speaking.", "and now?"]


@pytest.mark.parametrize(("stored", "description"), [
    ({"command_description": "Short answers."}, "Short answers."),
    ({"command_description": "Short answers.", "description": "For children."}, "For children.\nShort answers."),
    ({"command_description": "For children.", "description": "For children."}, "For children."),
    ({"command_description": ""}, ""),
    ({"description": "For children."}, "For children."),
])  # fmt: skip
async def test_a_stored_explanation_of_commands_becomes_the_description(
    hass: HomeAssistant, llm_server: LLMServer, stored: dict[str, str], description: str
) -> None:
    entry = await world(hass, llm_server, agent(2, "Kids", slash_commands=["kids"], **stored))
    data = entry.subentries["profile-2"].data
    assert data.get("description", "") == description
    assert "command_description" not in data
    assert entry.version == ENTRY_VERSION
    told = speech(await say(hass, "/help"))
    assert " ".join(["- /kids: Kids.", *description.split()]) in told.splitlines()


async def test_help_lists_the_commands(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await world(hass, llm_server)
    assert speech(await say(hass, " /HELP ")).splitlines() == [
        "Begin your message with a command to reach another agent:", "- /kids: Kids. Short answers for children.",
        "- /secure, /secure_action: Security.", "- /secure_action_now: Long.", "- /help: This list.",
    ]  # fmt: skip
    german = speech(await say(hass, "/help", language="de", agent_id="conversation.kids"))
    assert german.splitlines()[0] == "Beginne deine Nachricht mit einem Befehl, um einen anderen Agenten zu erreichen:"
    assert not llm_server.requests


@pytest.mark.parametrize("said", ["/nonsense", "/nonsense turn on the light", " /Nonsense"])
async def test_an_unknown_command_is_answered_with_those_that_there_are(
    hass: HomeAssistant, llm_server: LLMServer, said: str
) -> None:
    await world(hass, llm_server)
    told = speech(await say(hass, said)).splitlines()
    assert told[0].casefold() == "there is no command /nonsense."
    assert "- /kids: Kids. Short answers for children." in told
    assert not llm_server.requests


@pytest.mark.parametrize("said", ["/kidsroom light", "/kids-2 light", "/unknown light"])
async def test_a_command_is_a_whole_word(hass: HomeAssistant, llm_server: LLMServer, said: str) -> None:
    await world(hass, llm_server)
    assert speech(await say(hass, said)).startswith(f"There is no command {said.split(maxsplit=1)[0]}.")
    assert not llm_server.requests


@pytest.mark.parametrize("said", ["/ what is this", "//", "/etc/passwd is a file", "7/8 of it"])
async def test_what_only_looks_like_a_command_goes_to_the_model(
    hass: HomeAssistant, llm_server: LLMServer, said: str
) -> None:
    await world(hass, llm_server)
    llm_server.respond(lambda _: text("I see."))
    assert speech(await say(hass, said)) == "I see."


async def test_a_command_without_text_explains_itself(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await world(hass, llm_server)
    assert speech(await say(hass, "/kids ")) == (
        "/kids hands what you write after it to Kids, for example: /kids how are you? Short answers for children."
    )
    assert not llm_server.requests


async def test_an_agent_that_is_asked_about_hears_nothing_before_a_yes(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context, hass_read_only_user: MockUser
) -> None:
    await world(hass, llm_server, agent(2, "Security", slash_commands=["secure"], command_asks=True))
    result = await say(hass, "/secure who was here?", "a", context=anna)
    assert speech(result) == "Hand over “/secure who was here”?"
    assert result.continue_conversation
    assert not llm_server.requests
    result = await say(hass, "yes", "a", context=anna)
    assert speech(result) == "Security speaking."
    assert words(llm_server) == ["who was here?"]
    await say(hass, "/secure and before?", "a", context=anna)
    await say(hass, "yes", "a", context=anna)
    assert words(llm_server) == ["who was here?", "Security speaking.", "and before?"]


async def test_the_agent_asks_its_own_question(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await world(hass, llm_server, agent(2, "Security", slash_commands=["secure"], command_asks=True))
    script(llm_server, UNLOCK)
    await say(hass, "/secure unlock the front door", "a", context=anna)
    assert speech(await say(hass, "yes", "a", context=anna)).endswith("Unlock it?")
    assert state_of(hass, LOCK) == "locked"
    await say(hass, "yes", "a", context=anna)
    await hass.async_block_till_done()
    assert state_of(hass, LOCK) == "unlocked"


async def test_a_pin_is_said_with_the_yes(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    secure = agent(2, "Security", slash_commands=["secure"], command_asks=True)
    await set_up(hass, llm_server, options={"pins": {"destructive": "2468"}}, more=[secure])
    llm_server.respond(lambda _body: text("Nobody."))
    await say(hass, "/secure who was here?", "a", context=anna)
    await say(hass, "yes", "a", context=anna)
    await say(hass, "yes 1357", "a", context=anna)
    assert not llm_server.requests
    assert speech(await say(hass, "yes 2468", "a", context=anna)) == "Nobody."
    assert "2468" not in str(llm_server.request.body)


@pytest.mark.parametrize("said", ["no", "turn on the bed light"])
async def test_no_yes_no_agent(hass: HomeAssistant, llm_server: LLMServer, anna: Context, said: str) -> None:
    await world(hass, llm_server, agent(2, "Security", slash_commands=["secure"], command_asks=True))
    await say(hass, "/secure who was here?", "a", context=anna)
    await say(hass, said, "a", context=anna)
    await say(hass, "yes", "a", context=anna)
    assert "Security" not in {asked(request.body) for request in llm_server.requests}


async def test_a_late_yes_is_none(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await world(hass, llm_server, agent(2, "Security", slash_commands=["secure"], command_asks=True))
    await say(hass, "/secure who was here?", "a", context=anna)
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(minutes=10))
    await hass.async_block_till_done()
    assert speech(await say(hass, "yes", "a", context=anna)).startswith("The question has expired")
    assert not llm_server.requests


async def test_nobody_else_can_say_the_yes(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context, hass_read_only_user: MockUser
) -> None:
    await world(hass, llm_server, agent(2, "Security", slash_commands=["secure"], command_asks=True))
    await say(hass, "/secure who was here?", "a", context=anna)
    with suppress(Unauthorized):  # a newer Home Assistant lets nobody else into a conversation
        await say(hass, "yes", "a", context=Context(user_id=hass_read_only_user.id))
    assert not llm_server.requests


async def test_nobody_can_be_asked_where_nobody_is_known(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await world(hass, llm_server, agent(2, "Security", slash_commands=["secure"], command_asks=True))
    result = await say(hass, "/secure who was here?", "a")
    assert result.response.error_code is not None
    assert not llm_server.requests


async def test_the_yes_is_said_at_the_command(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await world(hass, llm_server, SECURE)
    script(llm_server, UNLOCK)
    result = await say(hass, "/secure unlock the front door", "a", context=anna)
    assert speech(result).endswith("Unlock it?")
    assert state_of(hass, LOCK) == "locked"
    result = await say(hass, "yes", "a", context=anna)
    await hass.async_block_till_done()
    assert state_of(hass, LOCK) == "unlocked"
    assert result.conversation_id == "a"
    requests = len(llm_server.requests)
    await say(hass, "yes", "a", context=anna)
    assert len(llm_server.requests) == requests + 1
    assert asked(llm_server.request.body) == "First"
    assert words(llm_server) == ["yes"]


@pytest.mark.parametrize("said", ["what time is it?", "/help", "/kids hello"])
async def test_other_words_drop_it(hass: HomeAssistant, llm_server: LLMServer, anna: Context, said: str) -> None:
    await world(hass, llm_server)
    script(llm_server, UNLOCK)
    await say(hass, "/secure unlock the front door", "a", context=anna)
    await say(hass, said, "a", context=anna)
    await say(hass, "yes", "a", context=anna)
    await hass.async_block_till_done()
    assert state_of(hass, LOCK) == "locked"


async def test_a_command_drops_the_question(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await world(hass, llm_server)
    script(llm_server, UNLOCK)
    assert speech(await say(hass, "unlock the front door", "a", context=anna)).endswith("Unlock it?")
    await say(hass, "/kids hello", "a", context=anna)
    await say(hass, "yes", "a", context=anna)
    await hass.async_block_till_done()
    assert state_of(hass, LOCK) == "locked"


async def test_anothers_yes_is_none_to_the_question_of_the_other_agent(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context, hass_read_only_user: MockUser
) -> None:
    await world(hass, llm_server)
    script(llm_server, UNLOCK)
    await say(hass, "/secure unlock the front door", "a", context=anna)
    with suppress(Unauthorized):  # a newer Home Assistant lets nobody else into a conversation
        await say(hass, "yes", "a", context=Context(user_id=hass_read_only_user.id))
    await hass.async_block_till_done()
    assert state_of(hass, LOCK) == "locked"


@pytest.mark.parametrize(("limits", "outcome"), [
    ({}, "unlocked"),
    ({"never_ask": [LOCK]}, "unlocked at once"),
    ({"never_ask": [LOCK], "never_offer": [LOCK]}, "locked"),
    ({"never_ask": [LOCK], "never_offer": ["ha_control"]}, "locked"),
    ({"never_ask": [LOCK], "always_ask": ["lock"]}, "unlocked"),
    ({"never_ask": [LOCK], "may_change": ["light"]}, "locked"),
    ({"never_ask": [LOCK], "exposed_entities": ["light"]}, "locked"),
])  # fmt: skip
async def test_what_protects_the_home_here_holds_there(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context, limits: Mapping[str, Any], outcome: str
) -> None:
    """The other agent needs no yes for the lock; where this one does, or never unlocks it, that holds."""
    await world(hass, llm_server, agent(3, "Security", slash_commands=["secure"], never_ask=[LOCK]), profile=limits)
    script(llm_server, UNLOCK)
    await say(hass, "/secure unlock the front door", "a", context=anna)
    await hass.async_block_till_done()
    assert (state_of(hass, LOCK) == "unlocked") == (outcome == "unlocked at once")
    await say(hass, "yes", "a", context=anna)
    await hass.async_block_till_done()
    assert state_of(hass, LOCK) == outcome.split(maxsplit=1)[0]


async def test_what_is_private_here_stays_so_there(hass: HomeAssistant) -> None:
    guest = Profile(
        subentry_id="g", profile_id="g", documents_for="admins", memory="off", always_ask=("light",),
        never_offer=("lock",),
    )  # fmt: skip
    free = Profile(
        subentry_id="f", profile_id="f", never_ask=("lock", "cover"), always_ask=("fan",), documents_for="household"
    )
    commands = Commands(Registry(hass, [guest, free], {}))
    there = commands.limited(free, guest)
    assert (there.documents_for, there.memory) == ("admins", "off")
    assert (there.always_ask, there.never_ask, there.never_offer) == (("fan", "light"), (), ("lock",))
    assert commands.limited(free, guest) is there  # so that what is kept for it lasts
    back = commands.limited(guest, free)
    assert (back.documents_for, back.memory, back.never_offer) == ("admins", "off", ("lock",))
    assert back.subentry_id == "g"


async def test_of_two_agents_the_first_has_the_command(hass: HomeAssistant, caplog: pytest.LogCaptureFixture) -> None:
    """A form does not let that happen; an entry that was copied may."""
    names = ("kids", "/help", "no such")
    one, two = (Profile(subentry_id=key, name=key, profile_id=key, slash_commands=names) for key in ("a", "b"))
    commands = Commands(Registry(hass, [one, two], {}))
    assert commands.find("/kids hello") == SlashCommand("kids", one, "hello")
    assert commands.find("/help") == SlashCommand("help", None, "")
    assert commands.find("/no such") == SlashCommand("no", None, "", is_known=False)
    assert "/kids of b is that of another agent" in caplog.text


async def test_rights_stay_the_same(hass: HomeAssistant, llm_server: LLMServer, hass_read_only_user: MockUser) -> None:
    await world(hass, llm_server, agent(3, "Security", slash_commands=["secure"], never_ask=[LOCK]))
    script(llm_server, UNLOCK)
    await say(hass, "/secure unlock the front door", "a", context=Context(user_id=hass_read_only_user.id))
    await hass.async_block_till_done()
    assert state_of(hass, LOCK) == "locked"
    assert "not allowed" in str(llm_server.request.body["messages"][-1]["content"])


async def test_a_tool_result_is_plain_text(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    """A model reaches no other agent by a command that it writes itself."""
    data = {"text": "/secure who was here?", "profile": "Kids"}
    handler = {"type": "service", "service": "home_agent.process", "data": data}
    told = {"name": "tell_kids", "description": "Tells the agent for children something.", "handler": handler}
    tool = subentry("custom_tool", "tell_kids", "tool-1", told)
    await world(hass, llm_server, KIDS, SECURE, tool, profile={"never_ask": ["tell_kids"]})
    script(llm_server, tool_call("tell_kids", {}))
    await say(hass, "tell them", "a", context=anna)
    bodies = [request.body for request in llm_server.requests]
    assert [asked(body) for body in bodies] == ["First", "Kids", "First"]
    assert bodies[1]["messages"][-1]["content"].endswith("/secure who was here?")


async def test_an_agent_that_is_switched_off_has_no_command(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await world(hass, llm_server)
    er.async_get(hass).async_update_entity("conversation.kids", disabled_by=er.RegistryEntryDisabler.USER)
    hass.states.async_remove("conversation.kids")
    await say(hass, "/kids hello")
    assert (asked(llm_server.request.body), words(llm_server)) == ("First", ["/kids hello"])


@pytest.mark.parametrize("profile", ["Kids", "kids", "profile-2", "conversation.kids"])
async def test_the_action_has_profile(hass: HomeAssistant, llm_server: LLMServer, anna: Context, profile: str) -> None:
    await world(hass, llm_server)
    answer = await act(hass, "process", anna, text="hello", profile=profile)
    assert (answer["answer"], answer["answered_by"]) == ("Kids speaking.", "model")
    assert (answer["profile"], answer["profile_id"]) == ("Kids", "kids")
    answer = await act(hass, "process", anna, text="/secure arm", profile=profile, conversation_id="a")
    assert (answer["answer"], answer["answered_by"]) == ("Security speaking.", "model")
    assert (answer["profile"], answer["profile_id"], answer["routing"]) == ("Security", "security", None)
    assert answer["conversation_id"] == "a"


async def test_the_action_names_the_speaker(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await world(hass, llm_server, agent(2, "Security", slash_commands=["secure"], command_asks=True))
    found = []
    for said in ("/secure who was here?", "yes"):
        answer = await act(hass, "process", anna, text=said, conversation_id="a")
        found.append((answer["profile_id"], answer["answer"]))
    assert found == [("home_agent", "Hand over “/secure who was here”?"), ("security", "Security speaking.")]


async def test_the_form_keeps_commands_apart(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await world(hass, llm_server)
    flows = hass.config_entries.subentries

    async def enter(*commands: str) -> Any:
        where: Any = {"source": SOURCE_RECONFIGURE, "subentry_id": "profile-2"}
        form = await flows.async_init((entry.entry_id, "profile"), context=where)
        return await resend(hass, form, slash_commands=list(commands))

    for wrong in ("/help", "two words", "/", "-x", "a" * 40):
        assert (await enter(wrong))["errors"] == {"base": "command_invalid"}, wrong
    taken = await enter("/kids", " /SECURE ")
    assert taken["errors"] == {"base": "command_taken"}
    assert taken["description_placeholders"]["item"] == "/secure"
    assert taken["description_placeholders"]["profile"] == "Security"
    assert (await enter(" /Kids ", "Kinder", "kids", "дети"))["type"] == "abort"
    assert entry.subentries["profile-2"].data["slash_commands"] == ["kids", "kinder", "дети"]
    await hass.async_block_till_done()
    await say(hass, "/ДЕТИ hello")
    assert (asked(llm_server.request.body), words(llm_server)) == ("Kids", ["hello"])
