"""What an agent says of itself, without a model: what it can do, and what it did last."""

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import EXPOSED, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text, tool_call
from tests.local.conftest import MakeContext

pytestmark = pytest.mark.usefixtures("demo_house")


@pytest.mark.parametrize(("language", "sentence", "kinds", "example"), [
    ("en", "What can you do?", "Light (3), Cover (2), Switch (1), Lock (1)", "Turn on Bed Light"),
    ("en", "help", "Light (3), Cover (2), Switch (1), Lock (1)", "Turn on Bed Light"),
    ("de", "Was kannst du?", "Leuchte (3), Abdeckung (2), Schalter (1), Schloss (1)", "Bed Light einschalten"),
    ("fr", "Que sais-tu faire ?", "Lumière (3), Ouverture (2), Interrupteur (1), Verrou (1)", "Allumer Bed Light"),
    ("sv", "Vad kan du göra?", "Light (3)", "Slå på Bed Light"),
    ("pl", "Co potrafisz?", "Światło (3), Osłona (2), Przełącznik (1), Zamek (1)", "Włącz Bed Light"),
])  # fmt: skip
async def test_what_it_can_do_is_what_is_exposed(
    hass: HomeAssistant, language: str, sentence: str, kinds: str, example: str
) -> None:
    await set_up(hass)
    result = await say(hass, sentence, language=language)
    assert result.response.error_code is None
    named = [part for part in kinds.split(", ") if part not in speech(result)]
    assert not named
    assert example in speech(result)


async def test_the_example_it_gives_is_understood(hass: HomeAssistant) -> None:
    await set_up(hass)
    await hass.services.async_call("light", "turn_off", {"entity_id": "all"}, blocking=True)
    example = speech(await say(hass, "what can you do")).rpartition("For example: ")[2].rstrip(".")
    assert (await say(hass, example)).response.error_code is None
    assert state_of(hass, "light.bed_light") == "on"


async def test_it_counts_only_what_the_user_may_know(hass: HomeAssistant, limited: MakeContext) -> None:
    await set_up(hass)
    said = speech(await say(hass, "what can you do", context=limited("light.bed_light", read=False)))
    assert "Light (1)" in said
    assert "Lock" not in said


async def test_nothing_exposed(hass: HomeAssistant) -> None:
    for entity_id in (*EXPOSED, "cover.garage_door"):
        async_expose_entity(hass, ASSISTANT, entity_id, False)
    await set_up(hass)
    assert speech(await say(hass, "help")).startswith("Nothing is exposed to me yet.")


async def test_what_it_did_last_is_told_to_who_asked_for_it(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    other = Context(user_id=MockUser(is_owner=True).add_to_hass(hass).id)
    nothing = "I haven't done anything for you lately."
    assert speech(await say(hass, "What did you just do?", context=Context(user_id=hass_admin_user.id))) == nothing
    await say(hass, "turn off the bed light", context=Context(user_id=hass_admin_user.id))
    await say(hass, "turn on the kitchen lights", context=Context(user_id=hass_admin_user.id))
    told = speech(await say(hass, "What did you just do?", context=Context(user_id=hass_admin_user.id)))
    assert told.startswith("The last thing I did, at ")
    assert told.endswith(": I turned on Kitchen Lights.")
    told = speech(
        await say(hass, "Was hast du gerade getan?", language="de", context=Context(user_id=hass_admin_user.id))
    )
    assert told.endswith(": Ich habe Kitchen Lights eingeschaltet.")
    await say(hass, "undo that", context=Context(user_id=hass_admin_user.id))
    assert speech(await say(hass, "what did you do", context=other)) == nothing


async def test_of_what_is_not_exposed_any_more_only_the_words_are_told(hass: HomeAssistant) -> None:
    await set_up(hass)
    done = await say(hass, "turn off the bed light")
    async_expose_entity(hass, ASSISTANT, "light.bed_light", False)
    told = speech(await say(hass, "what did you just do", done.conversation_id))
    assert told.endswith(": “turn off the bed light”.")


async def test_with_a_model_the_home_answers_the_phrase_alone(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    call = tool_call("ha_control", {"action": "turn_off", "entity_id": "light.bed_light"})
    llm_server.plan(call, text("It is off."))
    done = await say(hass, "make it dark at the bed")
    told = speech(await say(hass, "What did you just do?", done.conversation_id))
    assert told.endswith("Bed Light.")
    assert "Light (3)" in speech(await say(hass, "What can you do?"))
    assert len(llm_server.requests) == 2
    llm_server.plan(text("A lot."), text("Because."))
    assert speech(await say(hass, "What can you do about the heat in here?")) == "A lot."
    assert speech(await say(hass, "Why did you just do that?")) == "Because."


@pytest.mark.parametrize(("limits", "kinds", "missing"), [
    ({"may_change": ["light"]}, ("Light (3)", "Turn on Bed Light"), ("Lock", "Cover", "Switch")),
    ({"may_change": ["cover", "light.ceiling_lights"]}, ("Light (1)", "Cover (2)", "Turn on Ceiling Lights"), ("Lock", "Switch")),
    ({"may_change": ["lock.lock"]}, ("Lock (1)",), ("Light", "Cover")),
    ({"never_offer": ["lock", "switch.*"]}, ("Light (3)", "Cover (2)"), ("Lock", "Switch")),
])  # fmt: skip
async def test_it_lists_only_what_the_agent_may_change(
    hass: HomeAssistant, limits: dict[str, list[str]], kinds: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    await set_up(hass, profile=limits)
    said = speech(await say(hass, "What can you do?"))
    assert not [kind for kind in kinds if kind not in said]
    assert not [kind for kind in missing if f"{kind} (" in said]


async def test_an_agent_that_may_change_nothing_lists_what_it_knows(hass: HomeAssistant) -> None:
    await set_up(hass, profile={"never_offer": ["*"]})
    assert "Light (3)" in speech(await say(hass, "What can you do?"))


async def test_what_the_user_may_only_read_is_not_listed_as_usable(hass: HomeAssistant, limited: MakeContext) -> None:
    await set_up(hass)
    said = speech(await say(hass, "what can you do", context=limited("light.bed_light")))
    assert "Light (1)" in said
    assert "Lock" not in said


async def test_an_agent_without_tools_and_commands_leaves_the_question_to_its_model(
    hass: HomeAssistant, llm_server: LLMServer
) -> None:
    await set_up(hass, llm_server, profile={"native_tools": False, "local_first": False})
    llm_server.plan(text("I tell stories."))
    assert speech(await say(hass, "What can you do?")) == "I tell stories."
