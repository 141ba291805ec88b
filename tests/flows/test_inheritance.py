"""Which fields of a form follow the defaults, as they are shown and as they are stored."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.flows.fields import BASICS, FOLLOW_LISTS, SECTIONS, inherited, selectable_apis
from custom_components.home_agent.flows.forms import lifted
from custom_components.home_agent.flows.inheritance import FOLLOWS_BUILT_IN, Layers, follow_field
from custom_components.home_agent.flows.options import PAGES
from custom_components.home_agent.settings.profile import SETTINGS, Part
from tests import house
from tests.flows.forms import Result, change, fields, page, resend, resend_page, shown

KEYS_OF_FORM = (
    *(
        "history_max_messages", "local_first", "prompt_additions", "context_entities", "speech", "timezone",
        "description",
    ),
    *("custom_prompt", "use_default_prompt"),
)  # fmt: skip
HOME = {"prompt_additions": "Be brief.", "context_entities": [{"entity_id": "light.*"}]}
FOLLOWING = {"history_max_messages", "local_first", "prompt_additions", "context_entities", "speech", "timezone"}
FOLLOWING |= {"custom_prompt", "use_default_prompt"}


def stored(own: dict[str, Any], sent: dict[str, Any], follows: set[str]) -> dict[str, Any]:
    """Return what is stored after a form of `KEYS_OF_FORM` that was sent as it was shown, but for what is in `sent`."""
    in_place = {"timezone": "UTC", "custom_prompt": "Help."}  # what a form shows where these are empty
    inherits, holds = inherited(HOME), inherited(HOME, own)
    layers = Layers(
        own=own,
        inherits=inherits,
        defaults=inherits | {key: inherits[key] or value for key, value in in_place.items()},
        shown=holds | {key: holds[key] or value for key, value in in_place.items()},
    )
    submitted = {key: layers.shown[key] for key in KEYS_OF_FORM} | sent
    return layers.overrides(submitted, KEYS_OF_FORM, follows)


@pytest.mark.parametrize(("own", "sent", "untick", "tick", "result"), [
    pytest.param({}, {}, "", "", {}, id="untouched: unset"),
    pytest.param({}, {"history_max_messages": 3}, "", "", {"history_max_messages": 3}, id="changed: its own"),
    pytest.param({}, {}, "history_max_messages", "", {"history_max_messages": 10}, id="unticked: the same value"),
    pytest.param(
        {"history_max_messages": 10}, {}, "history_max_messages", "", {"history_max_messages": 10}, id="own stays",
    ),
    pytest.param({"history_max_messages": 3}, {}, "", "history_max_messages", {}, id="ticked: follows again"),
    pytest.param(
        {"history_max_messages": 3}, {"history_max_messages": 4}, "", "history_max_messages", {}, id="a tick decides",
    ),
    pytest.param(
        {"history_max_messages": 3}, {"history_max_messages": None}, "history_max_messages", "", {},
        id="no number: follows",
    ),
    pytest.param({}, {"local_first": False}, "", "", {"local_first": False}, id="a switch is turned"),
    pytest.param({}, {}, "local_first", "", {"local_first": True}, id="a switch as it is, but its own"),
    pytest.param(
        {"local_first": False}, {"local_first": True}, "local_first", "", {"local_first": True}, id="and turned back",
    ),
    pytest.param({"local_first": False}, {}, "", "local_first", {}, id="a switch follows again"),
    pytest.param({}, {}, "speech", "", {"speech": "auto"}, id="a choice as it is, but its own"),
    pytest.param({"speech": "never"}, {"speech": None}, "speech", "", {}, id="no choice: follows"),
    pytest.param({}, {"prompt_additions": None}, "", "", {"prompt_additions": ""}, id="a text is emptied: none"),
    pytest.param(
        {"prompt_additions": "Rhyme."}, {"prompt_additions": None}, "prompt_additions", "", {"prompt_additions": ""},
        id="an own text is emptied: none",
    ),
    pytest.param({"prompt_additions": "Rhyme."}, {}, "", "prompt_additions", {}, id="a text follows again"),
    pytest.param({}, {"context_entities": []}, "", "", {"context_entities": []}, id="a list is emptied: none"),
    pytest.param({}, {"context_entities": None}, "", "", {}, id="a list is not sent: as it was"),
    pytest.param({"context_entities": []}, {}, "", "context_entities", {}, id="a list follows again"),
    pytest.param({}, {"timezone": None}, "", "", {}, id="what is empty anyway is emptied"),
    pytest.param({}, {}, "timezone", "", {"timezone": "UTC"}, id="what holds in the place of nothing, made its own"),
    pytest.param({"timezone": ""}, {}, "timezone", "", {"timezone": ""}, id="shown in the place of nothing"),
    pytest.param({"description": "X"}, {"description": None}, "", "", {}, id="no default to follow: emptied"),
    pytest.param({"tool_timeout": 5}, {}, "", "", {"tool_timeout": 5}, id="not in this form: stays"),
    pytest.param({"of_a_newer_version": 1}, {}, "", "", {"of_a_newer_version": 1}, id="unknown: stays"),
    pytest.param({"tool_timeout": None}, {}, "", "", {}, id="null: unset"),
    pytest.param(
        {}, {"use_default_prompt": False}, "", "", {"use_default_prompt": False, "custom_prompt": "Help."},
        id="without the default instructions, those that are shown are kept",
    ),
])  # fmt: skip
def test_stored(own: dict[str, Any], sent: dict[str, Any], untick: str, tick: str, result: dict[str, Any]) -> None:
    follows = (FOLLOWING - own.keys() - {untick}) | ({tick} if tick else set())
    assert stored(own, sent, follows) == result


@pytest.mark.parametrize(("own", "sent", "follow", "result"), [
    pytest.param({}, {"a": "1", "b": "2"}, True, {}, id="untouched"),
    pytest.param({}, {"a": "1", "b": "3"}, True, {"b": "3"}, id="a name is changed: that alone"),
    pytest.param({}, {"a": "1", "b": "2", "c": "4"}, True, {"c": "4"}, id="a name is added"),
    pytest.param({}, {"a": "1", "b": "2"}, False, {"a": "1", "b": "2"}, id="unticked: all that is shown"),
    pytest.param({"b": "3"}, {"a": "1", "b": "3", "c": "4"}, False, {"b": "3", "c": "4"}, id="another besides"),
    pytest.param({"b": "3"}, {"a": "1", "b": "2"}, False, {"b": "2"}, id="an own name as the default is"),
    pytest.param({"b": "3"}, {"a": "1", "b": "3"}, True, {}, id="ticked: follows again"),
    pytest.param({"c": "4"}, {"a": "1", "b": "2"}, False, {}, id="the last own name is taken away"),
])  # fmt: skip
def test_values_stored_by_name(own: dict[str, str], sent: dict[str, str], follow: bool, result: dict[str, str]) -> None:
    home = {"prompts": {"a": "1", "b": "2"}}
    mine = {"prompts": own} if own else {}
    inherits = inherited(home)
    layers = Layers(own=mine, inherits=inherits, defaults=inherits, shown=inherited(home, mine))
    kept = layers.overrides({"prompts": sent}, ["prompts"], {"prompts"} if follow else set())
    assert kept == ({"prompts": result} if result else {})


def test_every_setting_has_an_inherited_value() -> None:
    assert inherited().keys() == SETTINGS.keys()
    assert inherited()["context_entities"] == []
    assert inherited(HOME)["prompt_additions"] == "Be brief."


def test_fields_of_sections_are_lifted() -> None:
    assert lifted({"name": "A", "history": {"x": 1}}, {"history"}) == {"name": "A", "x": 1}


# The forms, as a browser gets them

set_up = house.set_up


def own(entry: MockConfigEntry) -> dict[str, Any]:
    """Return what the agent stores."""
    return dict(entry.subentries["profile-1"].data)


def labels(form: Result, name: str) -> dict[str, str]:
    return {option["value"]: option["label"] for option in fields(form)[name]["selector"]["select"]["options"]}


def test_each_setting_with_a_default_stands_in_one_list() -> None:
    listed = [key for keys in FOLLOW_LISTS.values() for key in keys if key in SETTINGS and SETTINGS[key].part]
    assert sorted(listed) == sorted(key for key in SETTINGS if SETTINGS[key].part is not Part.OWN)
    assert FOLLOW_LISTS.keys() == {
        "basics_defaults", "prompt_defaults", "context_defaults", "exposure_defaults", "history_defaults",
        "tools_defaults", "agents_defaults", "routing_defaults", "safety_defaults", "voice_defaults",
    }  # fmt: skip
    assert all(
        follow_field(name) in section for name, section in {"": BASICS, **SECTIONS}.items() if name != "commands"
    )


async def test_each_field_is_shown_with_what_holds_and_where_it_comes_from(hass: HomeAssistant) -> None:
    entry = await set_up(
        hass,
        profile={"tool_timeout": 7, "prompt_additions": "Rhyme.\nAlways.", "speech": "never", "llm_apis": []},
        options={
            "default_profile_settings": {
                "processing_config": {"history_max_messages": 4, "prompt_additions": "Be brief.", "speech": "auto"},
                "tools_config": {
                    "max_calls_per_turn": 9, "llm_apis": ["assist"], "never_offer": ["a", "b", "c", "d", "e"],
                },
            }
        },
    )  # fmt: skip
    form = await change(hass, entry)
    history, tools, basics = (labels(form, f"{name}_defaults") for name in ("history", "tools", "basics"))
    assert history["history_max_messages"] == "Messages: 4 (default settings)"
    assert history["history_max_tokens"] == "Tokens: 4000 (built in)"
    assert history["history_max_age_hours"] == "Maximum age of messages: 24 h (built in)"
    assert history["history_summary"] == "Summarize older messages: off (built in)"
    assert history["continue_conversation"].startswith("Continue the last conversation: ")
    assert history["continue_conversation"] != "Continue the last conversation: off (built in)"  # as it is called
    assert tools["tool_timeout"] == "Tool timeout: 7 s (this agent; default: 30 s, built in)"
    assert tools["max_calls_per_turn"] == "Tool calls per question: 9 (default settings)"
    assist = selectable_apis(hass)["assist"]  # its name changes from release to release
    assert tools["llm_apis"] == f"Home Assistant tools: none (this agent; default: {assist}, default settings)"
    assert tools["custom_tools"] == "Custom tools: All (built in)"
    assert basics["prompt_additions"] == (
        "Additional instructions: Rhyme.… (this agent; default: Be brief., default settings)"
    )
    assert labels(form, "safety_defaults")["never_offer"] == "Never allow: a, b, c and 2 more (default settings)"
    assert labels(form, "prompt_defaults")["timezone"] == "Time zone: US/Pacific (built in)"
    ticked = shown(form)
    assert "tool_timeout" not in ticked["tools_defaults"]
    assert {"max_calls_per_turn", "custom_tools"} <= {*ticked["tools_defaults"]}
    assert ticked["basics_defaults"] == ["language", "llm", "llm_model", "native_tools"]


async def test_the_same_value_can_be_the_agents_own_and_can_follow_again(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False)
    form = await change(hass, entry)
    follows = shown(form)["history_defaults"]
    await resend(hass, form, history_defaults=[key for key in follows if key != "history_max_messages"])
    assert own(entry) == {"history_max_messages": 10}
    await resend_page(hass, await page(hass, entry, "history"), history_max_messages=4, history_max_tokens=2000)
    profile = entry.runtime_data.profiles["profile-1"]
    assert (profile.history_max_messages, profile.history_max_tokens) == (10, 2000)  # its own stays, the other follows
    form = await change(hass, entry)
    assert labels(form, "history_defaults")["history_max_messages"] == (
        "Messages: 10 (this agent; default: 4, default settings)"
    )
    await resend(hass, form, history_defaults=follows)
    assert own(entry) == {}
    assert entry.runtime_data.profiles["profile-1"].history_max_messages == 4


@pytest.mark.parametrize("key", ["local_first", "native_tools", "context_mode", "llm", "never_offer", "timezone"])
async def test_any_kind_of_field_can_be_its_own_with_the_same_value(hass: HomeAssistant, key: str) -> None:
    entry = await set_up(hass, model_first=False)
    form = await change(hass, entry)
    [name] = [name for name, keys in FOLLOW_LISTS.items() if key in keys]
    follows = shown(form)[name]
    await resend(hass, form, **{name: [item for item in follows if item != key]})
    before = shown(form).get(key, [])
    assert own(entry) == {key: before}
    form = await change(hass, entry)
    assert key not in shown(form)[name]
    await resend(hass, form)  # untouched
    assert own(entry) == {key: before}
    await resend(hass, await change(hass, entry), **{name: follows})
    assert own(entry) == {}


async def test_a_changed_field_is_its_own_without_a_tick_taken_away(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False)
    await resend(hass, await change(hass, entry), local_first=False, max_calls_per_turn=9)
    assert own(entry) == {"local_first": False, "max_calls_per_turn": 9}
    await resend(hass, await change(hass, entry), local_first=True)  # back to what the default is, and still its own
    assert own(entry) == {"local_first": True, "max_calls_per_turn": 9}


async def test_an_emptied_list_is_none_whatever_the_defaults_name(hass: HomeAssistant) -> None:
    defaults = {"tools_config": {"custom_tools": ["weather"], "delegate_to": ["profile-2"]}}
    other = house.subentry("profile", "Other", "profile-2", {})
    entry = await set_up(hass, model_first=False, options={"default_profile_settings": defaults}, more=[other])
    form = await change(hass, entry)
    assert labels(form, "agents_defaults")["delegate_to"] == "Delegate to: Other (default settings)"
    await resend(hass, form, custom_tools=[], delegate_to=[])
    assert own(entry) == {"custom_tools": [], "delegate_to": []}
    profile = entry.runtime_data.profiles["profile-1"]
    assert (profile.custom_tools, profile.delegate_to) == ((), ())
    await resend(hass, await change(hass, entry), custom_tools=["all"])
    assert own(entry) == {"custom_tools": ["all"], "delegate_to": []}


async def test_what_was_chosen_outlives_an_error(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False, profile={"tool_timeout": 7})
    form = await change(hass, entry)
    everything = sorted({*shown(form)["tools_defaults"], "tool_timeout"})
    form = await resend(hass, form, tools_defaults=everything, history_max_messages=3, prompt_additions="{{")
    assert form["errors"] == {"base": "prompt_additions_invalid"}
    assert (shown(form)["tool_timeout"], shown(form)["history_max_messages"]) == (30, 3)
    assert "tool_timeout" in shown(form)["tools_defaults"]
    assert "history_max_messages" not in shown(form)["history_defaults"]
    follows = sorted({*shown(form)["history_defaults"], "history_max_messages"})  # and now not, after all
    await resend(hass, form, history_defaults=follows, prompt_additions="Hi.")
    assert own(entry) == {"prompt_additions": "Hi."}


async def test_a_page_of_the_default_settings_has_a_list_too(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False)
    form = await page(hass, entry, "history")
    assert labels(form, "built_in_defaults")["history_max_messages"] == "Messages: 10 (built in)"
    follows = shown(form)[FOLLOWS_BUILT_IN]
    await resend_page(hass, form, **{FOLLOWS_BUILT_IN: [key for key in follows if key != "history_max_messages"]})
    assert entry.options["default_profile_settings"] == {"processing_config": {"history_max_messages": 10}}
    form = await page(hass, entry, "history")
    assert labels(form, FOLLOWS_BUILT_IN)["history_max_messages"] == (
        "Messages: 10 (default settings; default: 10, built in)"
    )
    await resend_page(hass, form, history_max_messages=6)
    assert entry.runtime_data.profiles["profile-1"].history_max_messages == 6
    await resend_page(hass, await page(hass, entry, "history"), **{FOLLOWS_BUILT_IN: follows})
    assert entry.options["default_profile_settings"] == {}
    pages = [name for name in PAGES if FOLLOWS_BUILT_IN in fields(await page(hass, entry, name))]
    assert pages == ["assistant", "prompt", "context", "history", "tools", "routing", "debug"]


async def test_a_page_that_was_wrong_keeps_what_was_chosen(hass: HomeAssistant) -> None:
    options = {"default_profile_settings": {"processing_config": {"prompt_additions": "Be brief."}}}
    entry = await set_up(hass, model_first=False, options=options)
    form = await resend_page(hass, await page(hass, entry, "prompt"), prompt_additions="{{", timezone="Asia/Tokyo")
    assert form["errors"] == {"base": "prompt_additions_invalid"}
    follows = [*shown(form)[FOLLOWS_BUILT_IN], "timezone"]
    menu = await resend_page(hass, form, prompt_additions="Hi.", **{FOLLOWS_BUILT_IN: follows})
    assert menu["type"] == "menu"
    assert entry.options["default_profile_settings"] == {"processing_config": {"prompt_additions": "Hi."}}


async def test_instructions_of_the_defaults_do_not_become_an_agents_own(hass: HomeAssistant) -> None:
    prompts = {"use_default_prompt": False, "custom_prompt": "Rhyme."}
    options = {"default_profile_settings": {"processing_config": prompts}}
    entry = await set_up(hass, model_first=False, options=options)
    await resend(hass, await change(hass, entry))
    assert own(entry) == {}
