"""Settings of an agent as YAML in its form: copied, changed, taken from elsewhere."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import area_registry as ar, label_registry as lr
import pytest

from custom_components.home_agent.flows.profile import CONF_YAML
from tests.flows.forms import Result, change, more, resend, send, shown, whole
from tests.house import say, set_up, subentry
from tests.llm_server import LLMServer, text

TECHNICIAN = """
name: Technician
profile_id: technician
slash_commands: [/Tech]
processing_config:
  llm: Scripted
  prompt_additions: |
    Explain
    everything.
tools_config:
  tool_timeout: 60
  custom_tools: []
  always_ask: [lock, cover.*]
"""
STORED = {
    "profile_id": "technician", "slash_commands": ["tech"], "llm": "llm-1",
    "prompt_additions": "Explain\neverything.\n", "tool_timeout": 60, "custom_tools": [],
    "always_ask": ["cover.*", "lock"],
}  # fmt: skip


async def test_an_agent_is_shown_as_yaml_and_stays_as_it_is(hass: HomeAssistant, llm_server: LLMServer) -> None:
    own = {"llm": "llm-1", "tool_timeout": 7, "of_a_newer_version": 1}
    entry = await set_up(hass, llm_server, profile=own, model_first=False)
    form = await more(hass, await change(hass, entry), CONF_YAML)
    assert (form["step_id"], form["errors"]) == (CONF_YAML, {})
    assert shown(form)[CONF_YAML] == (
        "name: Home Agent\nprocessing_config:\n  llm: Scripted\ntools_config:\n  tool_timeout: 7\n"
    )
    form = await resend(hass, form)
    assert (form["step_id"], shown(form)["llm"]) == ("reconfigure", "llm-1")
    result = await resend(hass, form, max_iterations=0)
    assert result["reason"] == "reconfigure_successful"
    assert dict(entry.subentries["profile-1"].data) == own


async def test_what_is_pasted_is_shown_in_the_form_and_stored_by_it(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"speech": "never", "of_a_newer_version": 1}, model_first=False)
    form = await more(hass, await change(hass, entry), CONF_YAML)
    form = await resend(hass, form, **{CONF_YAML: TECHNICIAN})
    assert (form["step_id"], form["errors"]) == ("reconfigure", {})
    values = await whole(hass, form)
    assert (values["name"], values["tool_timeout"], values["llm"]) == ("Technician", 60, "llm-1")
    assert values["speech"] == "auto"  # not in the text: follows
    assert values["custom_tools"] == ["none"]
    assert dict(entry.subentries["profile-1"].data) == {"speech": "never", "of_a_newer_version": 1}  # nothing yet
    await send(hass, form, next_step_id="save")
    assert dict(entry.subentries["profile-1"].data) == STORED | {"of_a_newer_version": 1}
    assert entry.subentries["profile-1"].title == "Technician"
    form = await more(hass, await change(hass, entry), CONF_YAML)
    again = await resend(hass, form)  # what is written is read
    await resend(hass, again)
    assert dict(entry.subentries["profile-1"].data) == STORED | {"of_a_newer_version": 1}


async def test_changes_of_the_form_go_along(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False)
    menu = await more(hass, await change(hass, entry), name="Butler")
    tools = await send(hass, menu, next_step_id="tools")
    form = await send(hass, await resend(hass, tools, tool_timeout=9), next_step_id=CONF_YAML)
    assert shown(form)[CONF_YAML] == "name: Butler\ntools_config:\n  tool_timeout: 9\n"


async def test_everything_that_is_wrong_is_said_with_its_key_and_nothing_is_taken(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False)
    form = await more(hass, await change(hass, entry), CONF_YAML)
    text = """
processing_config:
  llm: Tiny
  timezone: Neverland/
  prompt_additions: "{{ one"
  tool_timeout: 5
  context_entities: [nothing]
tools_config:
  tool_timeout: 900
  never_ask: [the door]
  colour: red
  streaming: true
slash_commands: [a b]
"""
    form = await resend(hass, form, **{CONF_YAML: text})
    assert (form["step_id"], form["errors"]) == (CONF_YAML, {CONF_YAML: "yaml_problems"})
    assert shown(form)[CONF_YAML] == text  # to be mended
    said = form["description_placeholders"]["problems"].splitlines()
    assert sorted(line.partition(".")[0] for line in said) == sorted(
        [
            "- llm names Tiny, which this home does not have", "- tool_timeout belongs in tools_config",
            "- tool_timeout must be a whole number from 1 to 300", "- colour is not a setting",
            "- streaming belongs in processing_config", "- timezone: Neverland/ is not a time zone",
            (
                "- prompt_additions: The additional instructions have an error in line 1: unexpected end of template, "
                "expected 'end of print statement'"
            ),
            "- context_entities: nothing is neither an entity ID nor a pattern",
            "- never_ask: the door is not valid here", "- slash_commands: a b cannot be a command",
        ]
    )  # fmt: skip
    assert dict(entry.subentries["profile-1"].data) == {}
    form = await resend(hass, form, **{CONF_YAML: "name: ["})
    assert form["description_placeholders"]["problems"].startswith("- The YAML cannot be read in line 1")
    form = await resend(hass, form, **{CONF_YAML: "processing_config: {timezone: Asia/Tokyo}"})
    values = await whole(hass, form)
    assert (form["step_id"], values["timezone"], values["name"]) == ("reconfigure", "Asia/Tokyo", "Home Agent")


async def test_areas_and_labels_are_read_by_name_or_by_id(hass: HomeAssistant) -> None:
    kitchen, office = (ar.async_get(hass).async_create(name) for name in ("Kitchen", "My office"))
    quiet = lr.async_get(hass).async_create("Quiet things")
    hass.states.async_set("light.desk", "on")
    entry = await set_up(hass, model_first=False)
    form = await more(hass, await change(hass, entry), CONF_YAML)
    text = f"""
processing_config:
  language: de-AT
  exposed_areas: [kitchen, My Office, {office.id}]
  exposed_labels: [quiet things]
  exposed_entities: [light.desk, sensor, "*.door"]
"""
    form = await resend(hass, form, **{CONF_YAML: text})
    assert (form["step_id"], form["errors"]) == ("reconfigure", {})
    await resend(hass, form)
    stored = {
        "language": "de-AT", "exposed_areas": [kitchen.id, office.id], "exposed_labels": [quiet.label_id],
        "exposed_entities": ["*.door", "light.desk", "sensor"],
    }  # fmt: skip
    assert dict(entry.subentries["profile-1"].data) == stored
    form = await more(hass, await change(hass, entry), CONF_YAML)
    await resend(hass, await resend(hass, form))  # what is written is read
    assert dict(entry.subentries["profile-1"].data) == stored


async def test_what_this_home_does_not_have_is_said(hass: HomeAssistant) -> None:
    ar.async_get(hass).async_create("Kitchen")
    entry = await set_up(hass, model_first=False)
    form = await more(hass, await change(hass, entry), CONF_YAML)
    text = """
processing_config:
  exposed_areas: [Kitchen, Nowhere]
  exposed_labels: [no such]
  exposed_entities: [nothing, light.nowhere, light]
  timezone: Mars
  language: klingon
"""
    form = await resend(hass, form, **{CONF_YAML: text})
    said = form["description_placeholders"]["problems"].splitlines()
    assert sorted(said) == sorted(
        [
            "- exposed_areas names Nowhere, which this home does not have.",
            "- exposed_labels names no such, which this home does not have.",
            "- exposed_entities names nothing, which this home does not have.",
            "- exposed_entities names light.nowhere, which this home does not have.",
            (
                "- timezone: Mars is not a time zone. Example: Europe/Berlin. "
                "Leave the field empty for Home Assistant's time zone."
            ),
            "- language has a value that this field does not take.",
        ]
    )
    assert dict(entry.subentries["profile-1"].data) == {}


@pytest.mark.parametrize("zone", ["Mars", "Europe", "Europe/Nowhere"])
async def test_the_form_takes_only_time_zones_that_there_are(hass: HomeAssistant, zone: str) -> None:
    entry = await set_up(hass, model_first=False)
    form = await resend(hass, await change(hass, entry), timezone=zone)
    assert form["errors"] == {"base": "timezone_invalid"}
    result = await send(hass, await resend(hass, form, timezone="Asia/Tokyo"), next_step_id="save")
    assert result["reason"] == "reconfigure_successful"


async def test_what_is_between_agents_is_checked(hass: HomeAssistant) -> None:
    other = subentry("profile", "Other", "profile-2", {"profile_id": "technician", "slash_commands": ["tech"]})
    entry = await set_up(hass, model_first=False, more=[other])
    form = await more(hass, await change(hass, entry), CONF_YAML)
    text = "name: Other\nprofile_id: technician\nslash_commands: [tech]\nprocessing_config: {custom_prompt: Rhyme.}"
    form = await resend(hass, form, **{CONF_YAML: text})
    assert form["description_placeholders"]["problems"].splitlines() == [
        "- slash_commands: /tech is a command of Other.",
        "- profile_id: Another agent has this ID.",
        (
            "- custom_prompt: You changed the instructions, but the default ones are used. "
            "Turn off “Use default instructions” to use yours."
        ),
    ]
    form = await resend(hass, await resend(hass, form, **{CONF_YAML: "name: Other"}))
    assert form["errors"] == {"name": "name_taken"}


async def test_problems_are_told_in_the_language_of_the_home(hass: HomeAssistant) -> None:
    hass.config.language = "de"
    entry = await set_up(hass, model_first=False)
    form = await more(hass, await change(hass, entry), CONF_YAML)
    form = await resend(hass, form, **{CONF_YAML: "farbe: rot\nprocessing_config: {timezone: Nirgends/}"})
    assert form["description_placeholders"]["problems"].splitlines() == [
        "- farbe ist keine Einstellung.",
        (
            "- timezone: Nirgends/ ist keine Zeitzone. Beispiel: Europe/Berlin. "
            "Lass das Feld für die Zeitzone von Home Assistant leer."
        ),
    ]


async def test_an_agent_is_added_from_yaml(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, model_first=False)
    user: Any = {"source": "user"}
    flows = hass.config_entries.subentries
    menu: Result = await flows.async_init((entry.entry_id, "profile"), context=user)
    form: Result = await flows.async_configure(menu["flow_id"], {"next_step_id": CONF_YAML})
    assert (form["step_id"], shown(form)) == (CONF_YAML, {})
    form = await resend(hass, form, **{CONF_YAML: TECHNICIAN})
    assert (form["step_id"], shown(form)["name"]) == ("user", "Technician")
    result = await resend(hass, form)
    assert (result["type"], result["title"]) == (FlowResultType.CREATE_ENTRY, "Technician")
    assert dict(list(entry.subentries.values())[-1].data) == STORED
    assert hass.states.get("conversation.technician")


async def test_a_system_prompt_is_what_the_model_gets(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    form = await more(hass, await change(hass, entry), CONF_YAML)
    prompt = (
        "processing_config: {prompts: {system_prompt: 'You are focused. It is {current_time}.'}, local_first: false}"
    )
    await resend(hass, await resend(hass, form, **{CONF_YAML: prompt}))
    llm_server.plan(text("Yes."))
    await say(hass, "tell me a story")
    system = llm_server.request.body["messages"][0]["content"]
    assert "You are focused. It is 2" in system
    assert "{current_time}" not in system
    assert "You are a helpful home assistant" not in system
