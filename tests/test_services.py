"""The actions: what they return, whom they refuse."""

from functools import partial
from typing import Any

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant, SupportsResponse
from homeassistant.exceptions import ServiceValidationError, Unauthorized
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
import probatio
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.home_agent.languages.digits import MASK
from custom_components.home_agent.services.agents import MAX_CONTEXT_ENTITIES
from custom_components.home_agent.settings.profile import SETTINGS
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn.events import CONVERSATION_FINISHED
from tests.house import act as call, say, set_up, speech, state_of, subentry
from tests.llm_server import LLMServer, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

TURN_ON = {"action": "turn_on", "entity_id": "light.bed_light"}


async def test_process_returns_the_answer_and_what_it_took(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", TURN_ON, usage=True), text("On.", usage=True))
    answer = await call(hass, "process", text="bed light on")
    assert (answer["answer"], answer["success"], answer["answered_by"]) == ("On.", True, "model")
    assert [(item["tool_name"], item["success"]) for item in answer["tool_calls"]] == [("ha_control", True)]
    assert answer["tokens"]["prompt"] > 0
    assert answer["tokens"]["completion"] > 0
    assert answer["duration_ms"] >= 0
    assert answer["conversation_id"]


async def test_process_tells_first_word_and_cache(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"local_first": True})
    heard = async_capture_events(hass, CONVERSATION_FINISHED)
    first = {"cache_n": 20, "prompt_n": 80, "prompt_ms": 40.4}
    second = {"cache_n": 95, "prompt_n": 5, "prompt_ms": 2.0}
    llm_server.plan(
        tool_call("ha_control", TURN_ON, usage={"prompt_tokens": 100}, timings=first, delay=0.2),
        text("On.", usage={"prompt_tokens": 100}, timings=second, delay=0.2),
        text("Two.", usage={"prompt_tokens": 100}),
    )
    answer = await call(hass, "process", text="somebody here is afraid of the dark")
    assert answer["tokens"]["cached"] == 115
    assert (answer["cached_share"], answer["prompt_ms"]) == (58, 42)
    assert 200 <= answer["first_token_ms"] < answer["duration_ms"] - 150
    silent = await call(hass, "process", text="what do you think of that")
    assert (silent["cached_share"], silent["prompt_ms"]) == (None, None)
    assert silent["first_token_ms"] >= 0
    local = await call(hass, "process", text="turn off the bed light")
    assert local["answered_by"] == "local"
    assert (local["first_token_ms"], local["cached_share"], local["prompt_ms"]) == (None, None, None)
    for answered, event in zip((answer, silent, local), heard, strict=True):
        for name in ("first_token_ms", "cached_share", "prompt_ms"):
            assert event.data[name] == answered[name]


async def test_process_keeps_the_conversation_of_a_caller(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."), text("Two."))
    for words in ("first", "second"):
        assert (await call(hass, "process", text=words, conversation_id="doorbell"))["conversation_id"] == "doorbell"
    assert len(llm_server.request.body["messages"]) == 4


async def test_process_with_other_entities(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."))
    await call(hass, "process", text="hello", context_entities=["switch.*", "light.office_rgbw_lights"])
    message = llm_server.request.body["messages"][1]["content"]
    assert "switch.decorative_lights" in message
    assert "light.bed_light" not in message
    assert "office" not in message  # not exposed, whoever names it


async def test_process_with_attributes_of_entities(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."))
    wanted = [{"entity_id": "light.bed_light", "attributes": ["supported_color_modes"]}, "switch.decorative_lights"]
    await call(hass, "process", text="hello", context_entities=wanted)
    message = llm_server.request.body["messages"][1]["content"]
    assert "supported_color_modes=" in message
    assert "switch.decorative_lights" in message
    assert "lock.front_door" not in message


@pytest.mark.parametrize("wanted", [[{"attributes": ["x"]}], [{"entity_id": "a.b", "more": 1}]])
async def test_process_refuses_what_names_no_entity(hass: HomeAssistant, llm_server: LLMServer, wanted: Any) -> None:
    await set_up(hass, llm_server)
    with pytest.raises(probatio.Invalid):
        await call(hass, "process", text="hello", context_entities=wanted)


@pytest.mark.parametrize(
    ("parameters", "works"),
    [('{"entity_id": "light.bed_light"}', True), ("[1]", False), ("{broken", False), ("text", False)],
)
async def test_parameters_as_json(hass: HomeAssistant, llm_server: LLMServer, parameters: str, works: bool) -> None:
    await set_up(hass, llm_server)
    if not works:
        with pytest.raises(probatio.Invalid):
            await call(hass, "execute_tool", tool_name="ha_query", parameters=parameters)
        return
    assert (await call(hass, "execute_tool", tool_name="ha_query", parameters=parameters))["success"]


@pytest.mark.parametrize("profile", ["Home Agent", "home agent", "profile-1", "conversation.home_agent"])
async def test_profile_by_name_id_or_entity(hass: HomeAssistant, llm_server: LLMServer, profile: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."))
    assert (await call(hass, "process", text="hello", profile=profile))["answer"] == "One."


async def test_unknown_profile_is_refused_with_the_names(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    with pytest.raises(ServiceValidationError) as error:
        await call(hass, "process", text="hello", profile="Jeeves")
    assert error.value.translation_placeholders == {"profile": "Jeeves", "profiles": "Home Agent"}


async def test_not_loaded_is_refused(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    await hass.config_entries.async_unload(entry.entry_id)
    with pytest.raises(ServiceValidationError):
        await call(hass, "process", text="hello")


async def test_clear_history_starts_anew(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."), text("Two."), text("Three."))
    await call(hass, "process", text="first", conversation_id="a")
    await call(hass, "process", text="first", conversation_id="b")
    assert await call(hass, "clear_history", conversation_id="a") == {"cleared": 1, "stored": 1}
    await call(hass, "process", text="second", conversation_id="a")
    assert len(llm_server.request.body["messages"]) == 2
    assert await call(hass, "clear_history") == {"cleared": 2, "stored": 2}


async def test_execute_tool_obeys_the_policy(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: Any) -> None:
    await set_up(hass, llm_server)
    context = Context(user_id=hass_admin_user.id)

    async def execute(**parameters: Any) -> dict[str, Any]:
        return await call(hass, "execute_tool", context, tool_name="ha_control", parameters=parameters)

    assert (await execute(**TURN_ON))["success"] is True
    assert hass.states.get("light.bed_light").state == "on"  # type: ignore[union-attr]
    assert (await execute(action="turn_on", entity_id="light.office_rgbw_lights"))["success"] is False
    asked = await execute(action="turn_off", entity_id="lock.front_door")
    assert (asked["success"], asked["question"]) == (False, "Front Door is locked. Unlock it?")
    assert hass.states.get("lock.front_door").state == "locked"  # type: ignore[union-attr]
    with pytest.raises(ServiceValidationError):  # nobody's answer
        await call(hass, "confirm", request_id=asked["confirmation"])
    data = {"request_id": asked["confirmation"]}
    await hass.services.async_call(DOMAIN, "confirm", data, blocking=True, context=Context(user_id=hass_admin_user.id))
    assert hass.states.get("lock.front_door").state == "unlocked"  # type: ignore[union-attr]


async def test_execute_tool_is_for_admins(hass: HomeAssistant, hass_read_only_user: Any) -> None:
    await set_up(hass)
    context = Context(user_id=hass_read_only_user.id)
    with pytest.raises(Unauthorized):
        await call(hass, "execute_tool", context, tool_name="ha_control", parameters=TURN_ON)


async def test_get_profile_tells_values_and_their_origin(hass: HomeAssistant, llm_server: LLMServer) -> None:
    defaults = {"processing_config": {"history_max_messages": 4}, "tools_config": {"tool_timeout": 20}}
    own = {"llm": "llm-1", "tool_timeout": 60, "prompt_additions": "Rhyme.", "of_a_newer_version": 1}
    await set_up(hass, llm_server, profile=own, options={"default_profile_settings": defaults}, model_first=False)
    told = await call(hass, "get_profile", profile="conversation.home_agent")
    assert (told["name"], told["profile_id"]) == ("Home Agent", "home_agent")
    assert told["settings"].keys() == told["origins"].keys() == SETTINGS.keys()
    seen = {
        key: (told["settings"][key], told["origins"][key])
        for key in ("llm", "tool_timeout", "history_max_messages", "streaming", "never_ask")
    }
    assert seen == {
        "llm": ("Scripted", "profile"), "tool_timeout": (60, "profile"), "history_max_messages": (4, "defaults"),
        "streaming": (True, "built_in"), "never_ask": ([], "built_in"),
    }  # fmt: skip
    assert told["yaml"] == (
        "name: Home Agent\nprocessing_config:\n  llm: Scripted\n  prompt_additions: Rhyme.\n"
        "tools_config:\n  tool_timeout: 60\n"
    )
    assert "sk-house-key" not in str(told)
    assert await call(hass, "get_profile") == told  # the first one
    with pytest.raises(ServiceValidationError):
        await call(hass, "get_profile", profile="nobody")


async def test_get_profile_is_for_admins(hass: HomeAssistant, hass_read_only_user: Any, hass_admin_user: Any) -> None:
    await set_up(hass)
    with pytest.raises(Unauthorized):
        await call(hass, "get_profile", Context(user_id=hass_read_only_user.id))
    assert (await call(hass, "get_profile", Context(user_id=hass_admin_user.id)))["name"] == "Home Agent"


async def test_execute_tool_names_the_tools_there_are(hass: HomeAssistant) -> None:
    await set_up(hass)
    with pytest.raises(ServiceValidationError) as error:
        await call(hass, "execute_tool", tool_name="rm")
    tools = "change_wish, ha_control, ha_query, ha_undo, make_wish, store_memory, teach_name"
    assert (error.value.translation_placeholders or {})["tools"] == tools


EVERYBODYS = {
    *(
        "process", "confirm", "reject", "undo", "list_actions", "list_taught_names", "list_learned_phrases",
        "forget_learned_phrase", "clear_history",
    ),
    *("list_memories", "search_memories", "add_memory", "update_memory", "delete_memory", "clear_memories"),
    "export_memories", *("list_wishes", "make_wish", "change_wish", "cancel_wish"),
}  # fmt: skip
"""Each looks who calls: own conversations, own questions, own actions, what this user may control."""
FOR_ADMINISTRATORS: dict[str, dict[str, Any]] = {
    "get_profile": {}, "reload_context": {}, "reload": {},
    "execute_tool": {"tool_name": "ha_query", "parameters": {"entity_id": "*"}}, "reindex_entities": {},
    "index_entity": {"entity_id": "light.bed_light"}, "add_document": {"text": "x"},
    "remove_document": {"document": "x"}, "forget_taught_name": {"name": "x"}, "list_extensions": {},
}  # fmt: skip


async def test_what_concerns_everybody_is_for_administrators(hass: HomeAssistant, hass_read_only_user: Any) -> None:
    await set_up(hass)
    assert set(hass.services.async_services_for_domain(DOMAIN)) == {*EVERYBODYS, *FOR_ADMINISTRATORS}
    run = partial(hass.services.async_call, DOMAIN, blocking=True, context=Context(user_id=hass_read_only_user.id))
    for action, data in FOR_ADMINISTRATORS.items():
        answers = hass.services.supports_response(DOMAIN, action) is SupportsResponse.ONLY
        with pytest.raises(Unauthorized):
            await run(action, data, return_response=answers)


async def test_reload_context_reads_the_house_again(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    before = await entry.runtime_data.home.async_get()
    await hass.services.async_call(DOMAIN, "reload_context", {}, blocking=True)
    assert await entry.runtime_data.home.async_get() is not before


@pytest.mark.parametrize("hours", [1e30, 10**400, float("nan"), float("inf")])
async def test_hours_beyond_any_number_are_refused_with_a_sentence(hass: HomeAssistant, hours: float) -> None:
    await set_up(hass)
    for _ in range(60):  # a schema is compiled when it has been used fifty times
        with pytest.raises((ServiceValidationError, probatio.Invalid)):
            await call(hass, "list_actions", hours=hours)
    assert await call(hass, "list_actions", hours=100_000) == {"actions": []}


@pytest.mark.parametrize("language", ["e\0n", "../en", "e" * 99, "en/../de"])
async def test_what_is_no_language_is_refused_with_a_sentence(hass: HomeAssistant, language: str) -> None:
    await set_up(hass)
    with pytest.raises(ServiceValidationError):
        await call(hass, "process", text="turn on bed light", language=language)
    assert state_of(hass, "light.bed_light") == "off"
    await say(hass, "turn on bed light", language=language)  # by Home Assistant's own action
    assert state_of(hass, "light.bed_light") == "on"


async def test_nothing_to_undo_is_refused_with_a_sentence(hass: HomeAssistant) -> None:
    await set_up(hass)
    with pytest.raises(ServiceValidationError, match="nothing to undo"):
        await call(hass, "undo")
    with pytest.raises(ServiceValidationError, match="nothing to undo"):
        await call(hass, "undo", action_id="none")


async def test_a_disabled_agent_hides_no_other(hass: HomeAssistant, llm_server: LLMServer) -> None:
    second = subentry("profile", "Second", "profile-2", {"llm": "none"})
    await set_up(hass, llm_server, more=[second])
    disabled = er.RegistryEntryDisabler.USER
    er.async_get(hass).async_update_entity("conversation.home_agent", disabled_by=disabled)
    await hass.async_block_till_done()
    assert (await call(hass, "get_profile", profile="Second"))["name"] == "Second"
    assert (await call(hass, "process", text="turn on the bed light", profile="Second"))["success"]
    with pytest.raises(ServiceValidationError) as error:
        await call(hass, "process", text="hello", profile="Home Agent")
    assert error.value.translation_placeholders == {"profile": "Home Agent", "profiles": "Second"}


@pytest.mark.parametrize(
    ("action", "data"),
    [
        ("process", {"text": "hello", "context_entities": ["light.*"] * (MAX_CONTEXT_ENTITIES + 1)}),
        ("add_memory", {"content": "The guests leave late", "expires_at": "9999-12-31T23:59:59-12:00"}),
        ("add_memory", {"content": "The guests leave early", "expires_at": "0001-01-01T00:00:00+14:00"}),
        ("update_memory", {"memory_id": "x", "expires_at": "9999-12-31T23:59:59-12:00"}),
        ("list_actions", {"entity_id": 3}),
        ("list_actions", {"entity_id": None}),
    ],
    ids=["entities", "late", "early", "changed", "number", "nothing"],
)
async def test_what_no_field_takes_is_invalid(hass: HomeAssistant, action: str, data: dict[str, Any]) -> None:
    await set_up(hass)
    with pytest.raises(probatio.Invalid):
        await call(hass, action, **data)


async def test_a_pin_is_masked_while_no_agent_is_there(hass: HomeAssistant) -> None:
    """The recorder keeps the event, also of a message that no agent hears."""
    entry = await set_up(hass, options={"pins": {"unlock": "4711"}})
    assert await hass.config_entries.async_unload(entry.entry_id)
    calls = async_capture_events(hass, EVENT_CALL_SERVICE)
    with pytest.raises(ServiceValidationError):
        await call(hass, "process", text="yes, four seven one one, 4711")
    [event] = calls
    assert event.data["service_data"] == {"text": MASK}


@pytest.mark.parametrize("half", ["\ud83d", "\udc00 "])
async def test_half_a_character_in_a_sentence_and_a_conversation(
    hass: HomeAssistant, hass_ws_client: WebSocketGenerator, admin: Context, half: str
) -> None:
    """Journal, events and answers over the WebSocket hold it as question marks."""
    await set_up(hass, model_first=False)
    assert await async_setup_component(hass, "websocket_api", {})
    ended = async_capture_events(hass, CONVERSATION_FINISHED)
    told = speech(await say(hass, f"turn on the bed light{half}", f"bell{half}", context=admin))
    assert state_of(hass, "light.bed_light") == "on", told
    listed = await call(hass, "list_actions", conversation_id=f"bell{half}")
    assert [action["words"] for action in listed["actions"]] == [f"turn on the bed light{half}".replace(half[0], "?")]
    client = await hass_ws_client(hass)
    service = {"domain": "home_agent", "service": "list_actions", "service_data": {}, "return_response": True}
    await client.send_json_auto_id({"type": "call_service", **service})
    answer = await client.receive_json()
    assert answer["result"]["response"]["actions"][0]["conversation_id"] == f"bell{half}".replace(half[0], "?")
    assert [event.data["conversation_id"] for event in ended] == [f"bell{half}".replace(half[0], "?")]


async def test_an_error_does_not_repeat_a_long_value(hass: HomeAssistant) -> None:
    await set_up(hass)
    with pytest.raises(ServiceValidationError) as error:
        await call(hass, "get_profile", profile="x" * 1_000_000)
    assert error.value.translation_placeholders is not None
    assert len(error.value.translation_placeholders["profile"]) <= 2_001


async def test_half_a_character_in_a_document(hass: HomeAssistant) -> None:
    await set_up(hass)
    metadata = {"half \ud83d": "a \ud83d"}
    await call(hass, "add_document", title="Pump", text="The pump runs for four hours.", metadata=metadata)
    [entry] = hass.config_entries.async_loaded_entries(DOMAIN)
    assert entry.runtime_data.knowledge.added.entries["text:knowledge/Pump"].metadata == {"half ?": "a ?"}
