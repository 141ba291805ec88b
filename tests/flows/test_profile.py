"""Assistants: adding and changing them, and what they inherit."""

from functools import partial
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import SOURCE_USER
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType, InvalidData, section
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.flows.fields import FOLLOW_LISTS, SECTIONS, patterns_of
from custom_components.home_agent.settings.profile import SETTINGS, Profile
from custom_components.home_agent.support.const import ASSISTANT
from tests import house
from tests.flows.forms import Result, change, fields, options, resend, send, shown
from tests.llm_server import LLMServer, text as reply

set_up = partial(house.set_up, model_first=False)


async def add(hass: HomeAssistant, entry: MockConfigEntry) -> Result:
    """Return the form of a new assistant that starts from the default settings."""
    flows = hass.config_entries.subentries
    menu = await flows.async_init((entry.entry_id, "profile"), context={"source": SOURCE_USER})
    return await flows.async_configure(menu["flow_id"], {"next_step_id": "blank"})


async def test_form_has_every_setting(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    lists = ("context_entities", "exposed_entities", "always_ask", "never_ask", "never_offer", "may_change")
    patterns = {patterns_of(key) for key in lists}
    assert set(fields(await add(hass, entry))) == SETTINGS.keys() | {"name"} | patterns | FOLLOW_LISTS.keys() | {
        "as_yaml"
    }


@pytest.mark.parametrize("tool", [
    *("ha_control", "ha_query", "ha_undo", "teach_name", "store_memory", "recall_memory", "forget_memory"),
    *("get_user_documentation_content", "delegate_to_service", "query_external_llm"),
])  # fmt: skip
async def test_a_built_in_tool_can_be_chosen_whether_or_not_the_agent_has_it(hass: HomeAssistant, tool: str) -> None:
    form = await add(hass, await set_up(hass))
    for field in ("allowed_tools", "always_ask_patterns", "never_ask_patterns", "never_offer_patterns"):
        assert tool in options(form, field)


async def test_what_matters_stands_first_and_the_rest_in_sections(hass: HomeAssistant) -> None:
    form = await add(hass, await set_up(hass))
    listed = [str(marker) for marker in form["data_schema"].schema]
    assert listed == [
        *("name", "llm", "llm_model", "language", "prompt_additions", "native_tools", "local_first"),
        *("basics_defaults", *SECTIONS),
        "as_yaml",
    ]
    parts = [part for part in form["data_schema"].schema.values() if isinstance(part, section)]
    assert [part.options["collapsed"] for part in parts] == [True] * len(SECTIONS)


async def test_a_field_shows_what_holds_and_sent_back_sets_nothing(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"native_tools": False, "external_llm": "llm-1"})
    form = await change(hass, entry)
    holds = shown(form)
    assert set(fields(form)) - set(holds) == {  # what is empty has no default: nothing is added, named or chosen
        "as_yaml",
        *("prompt_additions", "context_entities", "llm_apis", "mcp_servers", "system_documents"),
        *("llm_model", "language", "prompts", "icon"),
        *("profile_id", "description", "delegate_to", "extension_name"),
        "slash_commands",
        *("exposed_areas", "exposed_labels", "exposed_entities"),
        *("always_ask", "never_ask", "never_offer", "may_change"),
        *map(
            patterns_of,
            ("context_entities", "exposed_entities", "always_ask", "never_ask", "never_offer", "may_change"),
        ),
    }
    assert holds["timezone"] == "US/Pacific"
    assert "complex analysis" in holds["external_llm_description"]
    assert form["description_placeholders"]["default_model"] == entry.subentries["llm-1"].title
    await resend(hass, form)
    assert dict(entry.subentries["profile-1"].data) == {"native_tools": False, "external_llm": "llm-1"}


async def test_the_default_instructions_are_what_the_model_gets(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    form = await change(hass, entry)
    text = shown(form)["custom_prompt"]
    llm_server.respond(lambda _body: reply("Hello."))
    await house.say(hass, "Tell me a story")
    assert text in llm_server.request.body["messages"][0]["content"]
    await resend(hass, form, use_default_prompt=False)  # and the text as it is: theirs from now on
    assert dict(entry.subentries["profile-1"].data) == {"use_default_prompt": False, "custom_prompt": text}


async def test_instructions_that_would_not_be_used_are_not_stored(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await change(hass, entry)
    form = await resend(hass, form, custom_prompt="Rhyme.")
    assert (form["errors"], shown(form)["custom_prompt"]) == ({"base": "custom_prompt_unused"}, "Rhyme.")
    await resend(hass, form, use_default_prompt=False)
    assert dict(entry.subentries["profile-1"].data) == {"use_default_prompt": False, "custom_prompt": "Rhyme."}


async def test_assistant_with_nothing_but_a_name_inherits_everything(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    result = await send(hass, await add(hass, entry), name=" Butler ")
    assert (result["type"], result["title"]) == (FlowResultType.CREATE_ENTRY, "Butler")
    assert dict(list(entry.subentries.values())[-1].data) == {}
    assert hass.states.get("conversation.butler")


async def test_form_sent_back_untouched_sets_nothing(hass: HomeAssistant) -> None:
    options_of_house = {
        "default_profile_settings": {"processing_config": {"history_max_messages": 4, "prompt_additions": "Be brief."}}
    }
    entry = await set_up(hass, options=options_of_house, profile={"tool_timeout": 7})
    form = await change(hass, entry)
    assert shown(form)["name"] == "Home Agent"
    assert shown(form)["history_max_messages"] == 4
    assert shown(form)["tool_timeout"] == 7
    assert shown(form)["max_calls_per_turn"] == Profile().max_calls_per_turn
    result = await resend(hass, form)
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "reconfigure_successful")
    assert dict(entry.subentries["profile-1"].data) == {"tool_timeout": 7}


async def test_changes_apply_and_emptied_fields_inherit_again(hass: HomeAssistant) -> None:
    entry = await set_up(hass, profile={"tool_timeout": 7, "max_calls_per_turn": 9, "speech": "never"})
    form = await change(hass, entry)
    patterns = [{"entity_id": "climate.*", "attributes": ["current_temperature"]}]
    context, tools = {"context_entities_patterns": patterns}, {"max_calls_per_turn": 12.0}
    await send(hass, form, name="Home Agent", local_first=False, tools=tools, context=context)
    assert dict(entry.subentries["profile-1"].data) == {
        "speech": "never",  # its section was not sent
        "local_first": False,
        "max_calls_per_turn": 12,
        "context_entities": [{"entity_id": "climate.*", "attributes": ["current_temperature"]}],
    }
    profile = entry.runtime_data.profiles["profile-1"]
    assert (profile.tool_timeout, profile.local_first) == (Profile().tool_timeout, False)
    assert profile.context_entities[0].pattern == "climate.*"


async def test_endpoint_is_chosen_and_a_removed_one_is_not_shown(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"llm": "removed"})
    form = await change(hass, entry)
    assert options(form, "llm") == ["default", "none", "llm-1"]
    assert shown(form)["llm"] == "default"
    await resend(hass, form)
    assert dict(entry.subentries["profile-1"].data) == {}
    await send(hass, await change(hass, entry), name="Home Agent", llm="llm-1")
    assert dict(entry.subentries["profile-1"].data) == {"llm": "llm-1"}


@pytest.mark.parametrize(("sent", "errors"), [
    pytest.param({"name": "home agent"}, {"name": "name_taken"}, id="name taken"),
    pytest.param({"name": "  "}, {"name": "name_missing"}, id="no name"),
    pytest.param(
        {"name": "B", "prompt_additions": "one\n{{ two"}, {"base": "prompt_additions_invalid"}, id="additions",
    ),
    pytest.param(
        {"name": "B", "prompt": {"custom_prompt": "{% if %}"}}, {"base": "custom_prompt_invalid"}, id="prompt",
    ),
    pytest.param(
        {"name": "B", "prompt": {"use_default_prompt": False}}, {"base": "custom_prompt_empty"}, id="no prompt",
    ),
    pytest.param(
        {"name": "B", "context": {"context_entities_patterns": [{"entity_id": "no"}]}}, {"base": "entity_pattern"},
        id="row",
    ),
])  # fmt: skip
async def test_wrong_input_is_shown_again(hass: HomeAssistant, sent: dict[str, Any], errors: dict[str, str]) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry), **sent, history={"history_max_messages": 3})
    assert (form["step_id"], form["errors"]) == ("user", errors)
    assert shown(form)["history_max_messages"] == 3
    assert len(entry.subentries) == 1


async def test_error_in_a_template_names_the_line(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await send(hass, await change(hass, entry), name="Home Agent", prompt_additions="one\n{{ two")
    assert form["step_id"] == "reconfigure"
    assert form["description_placeholders"]["line"] == "2"
    assert shown(form)["prompt_additions"] == "one\n{{ two"


async def test_own_name_may_stay(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    result = await send(hass, await change(hass, entry), name="HOME AGENT")
    assert result["reason"] == "reconfigure_successful"
    assert entry.subentries["profile-1"].title == "HOME AGENT"


@pytest.mark.parametrize("section", [
    pytest.param({"history": {"history_max_messages": 51}}, id="too many messages"),
    pytest.param({"tools": {"max_calls_per_turn": 0}}, id="no calls"),
    pytest.param({"context": {"context_format": "xml"}}, id="unknown format"),
    pytest.param({"context": {"context_entities_patterns": [{"attributes": []}]}}, id="row without entity"),
])  # fmt: skip
async def test_values_outside_the_form_are_refused(hass: HomeAssistant, section: dict[str, Any]) -> None:
    entry = await set_up(hass)
    form = await add(hass, entry)
    with pytest.raises(InvalidData):
        await send(hass, form, name="B", **section)


async def test_collection_of_tools_that_is_gone_stays_chosen(hass: HomeAssistant) -> None:
    entry = await set_up(hass, profile={"llm_apis": ["mcp-asleep"]})
    form = await change(hass, entry)
    assert shown(form)["llm_apis"] == ["mcp-asleep"]
    assert "assist" in options(form, "llm_apis")
    await resend(hass, form)
    assert dict(entry.subentries["profile-1"].data) == {"llm_apis": ["mcp-asleep"]}


async def test_lists_of_an_assistant(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await change(hass, entry)
    lists = {"always_ask": ["cover.* ", "cover.*"], "never_ask": ["lock.shed"], "never_offer": ["ha_control"]}
    await send(hass, form, name="Home Agent", safety={patterns_of(key): value for key, value in lists.items()})
    assert dict(entry.subentries["profile-1"].data) == lists | {"always_ask": ["cover.*"]}
    profile = entry.runtime_data.profiles["profile-1"]
    assert (profile.always_ask, profile.never_ask, profile.never_offer) == (
        ("cover.*",), ("lock.shed",), ("ha_control",),
    )  # fmt: skip


async def test_entities_of_a_list_are_picked_and_everything_else_is_typed(hass: HomeAssistant) -> None:
    for entity_id, exposed in (("light.bed", True), ("lock.shed", True), ("light.secret", False)):
        async_expose_entity(hass, ASSISTANT, entity_id, exposed)
        hass.states.async_set(entity_id, "on", {"friendly_name": entity_id})
    stored: dict[str, Any] = {
        "always_ask": ["cover.*", "light.bed", "light.gone", "light.secret", "lock.unlock"],
        "context_entities": [
            {"entity_id": "light.bed"},
            {"entity_id": "lock.shed", "attributes": ["code_format"]},
            {"entity_id": "climate.*"},
        ],
    }
    entry = await set_up(hass, profile=stored)
    form = await change(hass, entry)
    assert sorted(fields(form)["always_ask"]["selector"]["entity"]["include_entities"]) == ["light.bed", "lock.shed"]
    assert shown(form)["always_ask"] == ["light.bed"]
    assert shown(form)["always_ask_patterns"] == ["cover.*", "light.gone", "light.secret", "lock.unlock"]
    assert shown(form)["context_entities"] == ["light.bed"]
    assert shown(form)["context_entities_patterns"] == stored["context_entities"][1:]
    await resend(hass, form)
    assert dict(entry.subentries["profile-1"].data) == stored
    lists: dict[str, Any] = {"always_ask": ["lock.shed"], "never_ask": ["light.bed"]}
    lists |= {"context_entities": ["lock.shed"], "context_entities_patterns": []}
    await resend(hass, await change(hass, entry), **lists)
    assert dict(entry.subentries["profile-1"].data) == {
        "always_ask": ["cover.*", "light.gone", "light.secret", "lock.shed", "lock.unlock"],
        "never_ask": ["light.bed"],
        "context_entities": [{"entity_id": "lock.shed"}],
    }


async def test_entities_of_the_default_settings_that_are_sent_back_are_nobodys_own(hass: HomeAssistant) -> None:
    async_expose_entity(hass, ASSISTANT, "light.bed", True)
    hass.states.async_set("light.bed", "on")
    rows = [{"entity_id": "climate.*"}, {"entity_id": "light.bed"}]  # not in the order of the fields
    entry = await set_up(hass, options={"default_profile_settings": {"processing_config": {"context_entities": rows}}})
    form = await change(hass, entry)
    assert shown(form)["context_entities"] == ["light.bed"]
    await resend(hass, form)
    assert dict(entry.subentries["profile-1"].data) == {}


async def test_list_with_something_that_names_nothing_is_shown_again(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await send(hass, await change(hass, entry), name="Home Agent", safety={"never_offer_patterns": ["the door"]})
    assert (form["errors"], form["description_placeholders"]["item"]) == ({"base": "list_item"}, "the door")


async def test_servers_that_were_removed_are_left_out(hass: HomeAssistant, socket_enabled: None) -> None:
    server = house.subentry("mcp_server", "Library", "mcp-1", {"url": "http://127.0.0.1:9/mcp"})
    entry = await set_up(hass, profile={"mcp_servers": ["mcp-1", "gone"]}, more=[server])
    form = await change(hass, entry)
    assert shown(form)["mcp_servers"] == ["mcp-1"]
    assert options(form, "mcp_servers") == ["mcp-1"]
    result = await resend(hass, form)
    assert result["reason"] == "reconfigure_successful"
    assert dict(entry.subentries["profile-1"].data) == {"mcp_servers": ["mcp-1"]}
    assert hass.config_entries.async_remove_subentry(entry, "mcp-1")
    await hass.async_block_till_done()
    form = await change(hass, entry)
    assert shown(form).get("mcp_servers", []) == []
    await resend(hass, form)
    assert dict(entry.subentries["profile-1"].data).get("mcp_servers", []) == []


GUEST = {"profile_id": "guest", "delegation_level": "unrestricted"}
OTHER = house.subentry("profile", "For guests", "profile-2", GUEST)


@pytest.mark.parametrize(("wanted", "error"), [("guest", "taken"), ("Guest", "invalid"), ("a b", "invalid")])
async def test_an_id_is_a_slug_and_nobody_elses(hass: HomeAssistant, wanted: str, error: str) -> None:
    entry = await set_up(hass, more=[OTHER])
    form = await send(hass, await change(hass, entry), name="Home Agent", agents={"profile_id": wanted})
    assert form["errors"] == {"base": f"profile_id_{error}"}
    await send(hass, form, name="Home Agent", agents={"profile_id": "porter", "description": " Knows doors. "})
    assert dict(entry.subentries["profile-1"].data) == {"profile_id": "porter", "description": "Knows doors."}


async def test_an_id_that_others_know_outlives_a_new_name(hass: HomeAssistant) -> None:
    entry = await set_up(hass, more=[OTHER])
    await send(hass, await change(hass, entry), name="HOME agent")
    assert dict(entry.subentries["profile-1"].data) == {}  # the same id follows from it
    await send(hass, await change(hass, entry), name="Butler")
    assert dict(entry.subentries["profile-1"].data) == {"profile_id": "home_agent"}
    form = await change(hass, entry)
    assert shown(form)["profile_id"] == "home_agent"


async def test_agents_that_were_removed_are_left_out(hass: HomeAssistant) -> None:
    names = ["profile-2", "conversation.home_assistant", "gone"]
    allowed = {"delegation_agents": ["conversation.home_assistant"]}
    entry = await set_up(hass, profile={"delegate_to": names}, options=allowed, more=[OTHER])
    form = await change(hass, entry)
    assert shown(form)["delegate_to"] == names[:2]
    assert options(form, "delegate_to") == ["profile-1", *names[:2]]
    hass.config_entries.async_update_entry(entry, options={})
    hass.config_entries.async_remove_subentry(entry, "profile-2")
    await hass.async_block_till_done()
    form = await change(hass, entry)
    assert shown(form).get("delegate_to", []) == []
    assert options(form, "delegate_to") == ["profile-1"]
