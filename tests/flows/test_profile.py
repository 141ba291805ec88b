"""Assistants: adding and changing them, and what they inherit."""

import asyncio
from functools import partial
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import SOURCE_USER
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType, InvalidData
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.flows.fields import (
    FIRST,
    TOPICS,
    async_check_settings,
    async_with_exposed,
    inherited,
    patterns_of,
)
from custom_components.home_agent.settings.profile import SETTINGS, Profile
from custom_components.home_agent.support import bounds
from custom_components.home_agent.support.const import ASSISTANT
from tests import house
from tests.flows.forms import Result, change, fields, more, options, resend, send, shown, whole
from tests.llm_server import LLMServer, text as reply

set_up = partial(house.set_up, model_first=False)


async def add(hass: HomeAssistant, entry: MockConfigEntry) -> Result:
    """Return the form of a new assistant that starts from the default settings."""
    flows = hass.config_entries.subentries
    menu = await flows.async_init((entry.entry_id, "profile"), context={"source": SOURCE_USER})
    return await flows.async_configure(menu["flow_id"], {"next_step_id": "blank"})


async def topic(hass: HomeAssistant, entry: MockConfigEntry, name: str) -> Result:
    """Return a form of the agent behind *More settings*."""
    return await more(hass, await change(hass, entry), name)


async def test_the_forms_have_every_setting_once(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    lists = ("context_entities", "exposed_entities", "always_ask", "never_ask", "never_offer", "may_change")
    first = await add(hass, entry)
    asked = list(fields(first))
    assert asked == ["name", *FIRST, "more"]
    menu = await more(hass, first, name="Other")
    assert menu["menu_options"] == [*TOPICS, "yaml", "save"]
    for name in TOPICS:
        form = await send(hass, menu, next_step_id=name)
        assert form["step_id"] == name
        asked += fields(form)
        menu = await resend(hass, form)
    assert sorted(asked) == sorted([*SETTINGS, "name", "more", *map(patterns_of, lists)])


@pytest.mark.parametrize("tool", [
    *("ha_control", "ha_query", "ha_undo", "teach_name", "store_memory", "recall_memory", "forget_memory"),
    *("get_user_documentation_content", "delegate_to_service", "query_external_llm"),
])  # fmt: skip
async def test_a_built_in_tool_can_be_chosen_whether_or_not_the_agent_has_it(hass: HomeAssistant, tool: str) -> None:
    entry = await set_up(hass)
    tools, safety = await topic(hass, entry, "tools"), await topic(hass, entry, "safety")
    assert tool in options(tools, "allowed_tools")
    for field in ("always_ask_patterns", "never_ask_patterns", "never_offer_patterns"):
        assert tool in options(safety, field)


async def test_a_field_shows_what_holds_and_sent_back_sets_nothing(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"native_tools": False, "external_llm": "llm-1"})
    form = await change(hass, entry)
    holds = await whole(hass, form)
    everything = {*SETTINGS, *(name for fields in TOPICS.values() for name in fields)}
    assert everything - set(holds) == {  # what is empty has no default: nothing is added, named or chosen
        *("prompt_additions", "context_entities", "llm_apis", "mcp_servers", "system_documents"),
        *("llm_model", "language", "prompts", "icon"),
        *("profile_id", "description", "delegate_to", "extension_name"),
        *("slash_commands", "people"),
        *("exposed_areas", "exposed_labels", "exposed_entities"),
        *("always_ask", "never_ask", "never_offer", "may_change"),
        *map(
            patterns_of,
            ("context_entities", "exposed_entities", "always_ask", "never_ask", "never_offer", "may_change"),
        ),
    }
    assert holds["timezone"] == "US/Pacific"
    assert holds["external_llm_description"].startswith("For complex analysis")
    assert form["description_placeholders"]["default_model"] == entry.subentries["llm-1"].title
    await resend(hass, await change(hass, entry))
    assert dict(entry.subentries["profile-1"].data) == {"native_tools": False, "external_llm": "llm-1"}


async def test_the_default_instructions_are_what_the_model_gets(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    text = shown(await topic(hass, entry, "prompt"))["custom_prompt"]
    llm_server.respond(lambda _body: reply("Hello."))
    await house.say(hass, "Tell me a story")
    assert text in llm_server.request.body["messages"][0]["content"]
    await resend(hass, await change(hass, entry), use_default_prompt=False)  # and the text as it is: theirs from now on
    assert dict(entry.subentries["profile-1"].data) == {"use_default_prompt": False, "custom_prompt": text}


async def test_instructions_that_would_not_be_used_are_not_stored(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await change(hass, entry)
    form = await resend(hass, form, custom_prompt="Rhyme.")
    assert (form["errors"], shown(form)["custom_prompt"]) == ({"base": "custom_prompt_unused"}, "Rhyme.")
    menu = await resend(hass, form, use_default_prompt=False)
    await send(hass, menu, next_step_id="save")
    assert dict(entry.subentries["profile-1"].data) == {"use_default_prompt": False, "custom_prompt": "Rhyme."}


async def test_assistant_with_nothing_but_a_name_inherits_everything(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    result = await send(hass, await add(hass, entry), name=" Butler ")
    assert (result["type"], result["title"]) == (FlowResultType.CREATE_ENTRY, "Butler")
    assert dict(list(entry.subentries.values())[-1].data) == {}
    assert hass.states.get("conversation.butler")


async def test_forms_sent_back_untouched_set_nothing(hass: HomeAssistant) -> None:
    options_of_house = {
        "default_profile_settings": {"processing_config": {"history_max_messages": 4, "prompt_additions": "Be brief."}}
    }
    entry = await set_up(hass, options=options_of_house, profile={"tool_timeout": 7})
    values = await whole(hass, await change(hass, entry))
    assert values["name"] == "Home Agent"
    assert values["history_max_messages"] == 4
    assert values["tool_timeout"] == 7
    assert values["max_calls_per_turn"] == Profile().max_calls_per_turn
    result = await resend(hass, await change(hass, entry), max_calls_per_turn=Profile().max_calls_per_turn)
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "reconfigure_successful")
    assert dict(entry.subentries["profile-1"].data) == {"tool_timeout": 7}


async def test_changes_apply_and_emptied_fields_inherit_again(hass: HomeAssistant) -> None:
    entry = await set_up(hass, profile={"tool_timeout": 7, "max_calls_per_turn": 9, "speech": "never"})
    patterns = [{"entity_id": "climate.*", "attributes": ["current_temperature"]}]
    await resend(
        hass,
        await change(hass, entry),
        local_first=False,
        context_entities_patterns=patterns,
        max_calls_per_turn=12.0,
        tool_timeout=None,
    )
    assert dict(entry.subentries["profile-1"].data) == {
        "speech": "never",
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
])  # fmt: skip
async def test_wrong_input_is_shown_again(hass: HomeAssistant, sent: dict[str, Any], errors: dict[str, str]) -> None:
    entry = await set_up(hass)
    form = await send(hass, await add(hass, entry), **sent, speech="never")
    assert (form["step_id"], form["errors"]) == ("user", errors)
    assert shown(form)["speech"] == "never"
    assert len(entry.subentries) == 1


@pytest.mark.parametrize(("name", "sent", "error"), [
    pytest.param("prompt", {"custom_prompt": "{% if %}"}, "custom_prompt_unused", id="prompt"),
    pytest.param("prompt", {"custom_prompt": "{% if %}", "use_default_prompt": False}, "custom_prompt_invalid", id="template"),
    pytest.param("prompt", {"use_default_prompt": False}, "custom_prompt_empty", id="no prompt"),
    pytest.param("context", {"context_entities_patterns": [{"entity_id": "no"}]}, "entity_pattern", id="row"),
])  # fmt: skip
async def test_a_topic_that_is_wrong_is_shown_again(
    hass: HomeAssistant, name: str, sent: dict[str, Any], error: str
) -> None:
    entry = await set_up(hass)
    form = await send(hass, await topic(hass, entry, name), **sent)
    assert (form["step_id"], form["errors"]) == (name, {"base": error})
    assert shown(form).items() >= sent.items()
    assert dict(entry.subentries["profile-1"].data) == {}


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


@pytest.mark.parametrize(("name", "sent"), [
    pytest.param("history", {"history_max_messages": 51}, id="too many messages"),
    pytest.param("tools", {"max_calls_per_turn": 0}, id="no calls"),
    pytest.param("context", {"context_format": "xml"}, id="unknown format"),
    pytest.param("context", {"context_entities_patterns": [{"attributes": []}]}, id="row without entity"),
])  # fmt: skip
async def test_values_outside_the_form_are_refused(hass: HomeAssistant, name: str, sent: dict[str, Any]) -> None:
    entry = await set_up(hass)
    form = await topic(hass, entry, name)
    with pytest.raises(InvalidData):
        await send(hass, form, **sent)


async def test_collection_of_tools_that_is_gone_stays_chosen(hass: HomeAssistant) -> None:
    entry = await set_up(hass, profile={"llm_apis": ["mcp-asleep"]})
    form = await topic(hass, entry, "tools")
    assert shown(form)["llm_apis"] == ["mcp-asleep"]
    assert "assist" in options(form, "llm_apis")
    await send(hass, await resend(hass, form), next_step_id="save")
    assert dict(entry.subentries["profile-1"].data) == {"llm_apis": ["mcp-asleep"]}


async def test_lists_of_an_assistant(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    lists = {"always_ask": ["cover.* ", "cover.*"], "never_ask": ["lock.shed"], "never_offer": ["ha_control"]}
    await resend(hass, await change(hass, entry), **{patterns_of(key): value for key, value in lists.items()})
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
    values = await whole(hass, form)
    assert values["always_ask_patterns"] == ["cover.*", "light.gone", "light.secret", "lock.unlock"]
    assert values["context_entities"] == ["light.bed"]
    assert values["context_entities_patterns"] == stored["context_entities"][1:]
    await resend(hass, await change(hass, entry), never_offer=[])
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
    form = await topic(hass, entry, "context")
    assert shown(form)["context_entities"] == ["light.bed"]
    await send(hass, await resend(hass, form), next_step_id="save")
    assert dict(entry.subentries["profile-1"].data) == {}


async def test_list_with_something_that_names_nothing_is_shown_again(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await resend(hass, await topic(hass, entry, "safety"), never_offer_patterns=["the door"])
    assert (form["errors"], form["description_placeholders"]["item"]) == ({"base": "list_item"}, "the door")


async def test_servers_that_were_removed_are_left_out(hass: HomeAssistant, socket_enabled: None) -> None:
    server = house.subentry("mcp_server", "Library", "mcp-1", {"url": "http://127.0.0.1:9/mcp"})
    entry = await set_up(hass, profile={"mcp_servers": ["mcp-1", "gone"]}, more=[server])
    form = await topic(hass, entry, "tools")
    assert shown(form)["mcp_servers"] == ["mcp-1"]
    assert options(form, "mcp_servers") == ["none", "mcp-1"]
    result = await send(hass, await resend(hass, form), next_step_id="save")
    assert result["reason"] == "reconfigure_successful"
    assert dict(entry.subentries["profile-1"].data) == {"mcp_servers": ["mcp-1"]}
    assert hass.config_entries.async_remove_subentry(entry, "mcp-1")
    await hass.async_block_till_done()
    form = await topic(hass, entry, "tools")
    assert shown(form).get("mcp_servers", []) == []
    await send(hass, await resend(hass, form), next_step_id="save")
    assert dict(entry.subentries["profile-1"].data).get("mcp_servers", []) == []


GUEST = {"profile_id": "guest", "delegation_level": "unrestricted"}
OTHER = house.subentry("profile", "For guests", "profile-2", GUEST)


@pytest.mark.parametrize(("wanted", "error"), [("guest", "taken"), ("Guest", "invalid"), ("a b", "invalid")])
async def test_an_id_is_a_slug_and_nobody_elses(hass: HomeAssistant, wanted: str, error: str) -> None:
    entry = await set_up(hass, more=[OTHER])
    form = await resend(hass, await topic(hass, entry, "agents"), profile_id=wanted)
    assert form["errors"] == {"base": f"profile_id_{error}"}
    menu = await resend(hass, form, profile_id="porter", description=" Knows doors. ")
    await send(hass, menu, next_step_id="save")
    assert dict(entry.subentries["profile-1"].data) == {"profile_id": "porter", "description": "Knows doors."}


async def test_an_id_that_others_know_outlives_a_new_name(hass: HomeAssistant) -> None:
    entry = await set_up(hass, more=[OTHER])
    await send(hass, await change(hass, entry), name="HOME agent")
    assert dict(entry.subentries["profile-1"].data) == {}  # the same id follows from it
    await send(hass, await change(hass, entry), name="Butler")
    assert dict(entry.subentries["profile-1"].data) == {"profile_id": "home_agent"}
    assert shown(await topic(hass, entry, "agents"))["profile_id"] == "home_agent"


async def test_agents_that_were_removed_are_left_out(hass: HomeAssistant) -> None:
    names = ["profile-2", "conversation.home_assistant", "gone"]
    allowed = {"delegation_agents": ["conversation.home_assistant"]}
    entry = await set_up(hass, profile={"delegate_to": names}, options=allowed, more=[OTHER])
    form = await topic(hass, entry, "agents")
    assert shown(form)["delegate_to"] == names[:2]
    assert options(form, "delegate_to") == ["none", "profile-1", *names[:2]]
    hass.config_entries.async_update_entry(entry, options={})
    hass.config_entries.async_remove_subentry(entry, "profile-2")
    await hass.async_block_till_done()
    form = await topic(hass, entry, "agents")
    assert shown(form).get("delegate_to", []) == []
    assert options(form, "delegate_to") == ["none", "profile-1"]


async def test_the_default_of_the_second_model_is_in_the_language_of_the_home(hass: HomeAssistant) -> None:
    hass.config.language = "de"
    entry = await set_up(hass)
    form = await topic(hass, entry, "tools")
    assert shown(form)["external_llm_description"].startswith("Für schwierige Fragen")
    await send(hass, await resend(hass, form), next_step_id="save")
    assert dict(entry.subentries["profile-1"].data) == {}


async def test_exposed_entities_are_looked_up_once_and_in_slices(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something else runs meanwhile, however many there are."""
    monkeypatch.setattr(bounds, "SLICE", 0)
    for number in range(300):
        hass.states.async_set(f"light.lamp_{number}", "on")
    entry = await set_up(hass)
    passed = 0

    async def tick() -> None:
        nonlocal passed
        while True:
            await asyncio.sleep(0)
            passed += 1

    ticking = asyncio.create_task(tick())
    found = await async_with_exposed(hass, TOPICS["safety"])
    ticking.cancel()
    assert passed >= 300
    pickers = [field for name, field in found.items() if not name.endswith("_patterns")]
    assert len({id(field) for field in pickers}) == 1  # one list for all
    assert len(fields(await topic(hass, entry, "safety"))["never_ask"]["selector"]["entity"]["include_entities"]) == 300


@pytest.mark.parametrize("prompt", [["a"], 5, {"b": "c"}])
async def test_a_named_prompt_that_is_no_text_is_refused(hass: HomeAssistant, prompt: Any) -> None:
    settings = inherited({"prompts": {"rules": prompt}, "prompt_additions": "{{ prompts.rules }}"})
    assert await async_check_settings(hass, settings) == ("prompt_name", {"item": "rules"})


async def test_an_agent_is_described_before_it_has_an_id(hass: HomeAssistant) -> None:
    assert [*fields(await topic(hass, await set_up(hass), "agents"))][:2] == ["description", "profile_id"]
