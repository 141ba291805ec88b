"""What a form shows of settings with a default, where each value comes from, and what is stored of its input."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.flows.fields import FIRST, TOPICS, inherited, selectable_apis
from custom_components.home_agent.flows.forms import lifted
from custom_components.home_agent.flows.inheritance import Layers
from custom_components.home_agent.flows.options import ADVANCED_TOPICS, DEFAULTS_PAGES
from custom_components.home_agent.settings.profile import SETTINGS, Part
from tests import house
from tests.flows.forms import Result, change, more, page, resend, resend_page, send, shown, whole

HOME = {"prompt_additions": "Be brief.", "context_entities": [{"entity_id": "light.*"}]}


def stored(own: dict[str, Any], entered: dict[str, Any]) -> dict[str, Any]:
    """Return what is stored after a form in which some values were entered; None stands for an emptied field."""
    in_place = {"timezone": "UTC", "custom_prompt": "Help."}  # what a form shows where these are empty
    inherits, holds = inherited(HOME), inherited(HOME, own)
    layers = Layers(
        own=own,
        below=HOME,
        inherits=inherits,
        defaults=inherits | {key: inherits[key] or value for key, value in in_place.items()},
        shown=holds | {key: holds[key] or value for key, value in in_place.items()},
    )
    return layers.overrides({key: layers.shown[key] for key in ("custom_prompt", "timezone", "speech")} | entered)


@pytest.mark.parametrize(("own", "entered", "result"), [
    pytest.param({}, {}, {}, id="untouched: unset"),
    pytest.param({}, {"history_max_messages": 3}, {"history_max_messages": 3}, id="changed: its own"),
    pytest.param({"history_max_messages": 10}, {"history_max_messages": 10}, {"history_max_messages": 10}, id="own stays"),
    pytest.param({"history_max_messages": 3}, {"history_max_messages": 10}, {"history_max_messages": 10}, id="own again"),
    pytest.param({"history_max_messages": 3}, {"history_max_messages": None}, {}, id="emptied: follows"),
    pytest.param({}, {"history_max_messages": None}, {}, id="a default is emptied: follows"),
    pytest.param({}, {"local_first": False}, {"local_first": False}, id="a switch is turned"),
    pytest.param({"local_first": False}, {"local_first": None}, {}, id="a switch is emptied"),
    pytest.param({"speech": "never"}, {"speech": None}, {}, id="a choice is emptied"),
    pytest.param({}, {"prompt_additions": None}, {}, id="an inherited text is emptied: follows"),
    pytest.param({"prompt_additions": "Rhyme."}, {"prompt_additions": None}, {}, id="an own text is emptied: follows"),
    pytest.param({"prompt_additions": ""}, {"prompt_additions": ""}, {"prompt_additions": ""}, id="none on purpose stays"),
    pytest.param({}, {"context_entities": None}, {}, id="an inherited list is emptied: follows"),
    pytest.param({}, {"custom_tools": []}, {"custom_tools": []}, id="none on purpose"),
    pytest.param({"custom_tools": []}, {"custom_tools": None}, {}, id="none on purpose is emptied: follows"),
    pytest.param({"timezone": ""}, {}, {"timezone": ""}, id="shown in the place of nothing"),
    pytest.param({"description": "X"}, {"description": None}, {}, id="no default to follow: emptied"),
    pytest.param({"tool_timeout": 5}, {}, {"tool_timeout": 5}, id="not in this form: stays"),
    pytest.param({"of_a_newer_version": 1}, {}, {"of_a_newer_version": 1}, id="unknown: stays"),
    pytest.param({"tool_timeout": None}, {}, {}, id="null: unset"),
    pytest.param(
        {}, {"use_default_prompt": False}, {"use_default_prompt": False, "custom_prompt": "Help."},
        id="without the default instructions, those that are shown are kept",
    ),
])  # fmt: skip
def test_stored(own: dict[str, Any], entered: dict[str, Any], result: dict[str, Any]) -> None:
    assert stored(own, entered) == result


@pytest.mark.parametrize(("own", "sent", "result"), [
    pytest.param({}, {"a": "1", "b": "2"}, {}, id="untouched"),
    pytest.param({}, {"a": "1", "b": "3"}, {"b": "3"}, id="a name is changed: that alone"),
    pytest.param({}, {"a": "1", "b": "2", "c": "4"}, {"c": "4"}, id="a name is added"),
    pytest.param({"b": "3"}, {"a": "1", "b": "3", "c": "4"}, {"b": "3", "c": "4"}, id="another besides"),
    pytest.param({"b": "3"}, {"a": "1", "b": "2"}, {"b": "2"}, id="an own name as the default is"),
    pytest.param({"b": "3"}, None, {}, id="emptied: follows"),
    pytest.param({"c": "4"}, {"a": "1", "b": "2"}, {}, id="the last own name is taken away"),
])  # fmt: skip
def test_values_stored_by_name(own: dict[str, str], sent: dict[str, str] | None, result: dict[str, str]) -> None:
    home = {"prompts": {"a": "1", "b": "2"}}
    mine = {"prompts": own} if own else {}
    inherits = inherited(home)
    layers = Layers(own=mine, below=home, inherits=inherits, defaults=inherits, shown=inherited(home, mine))
    assert layers.overrides({"prompts": sent}) == ({"prompts": result} if result else {})


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


def told(form: Result) -> dict[str, str]:
    """Return where the value of each field comes from."""
    given = form["description_placeholders"].items()
    return {name.removesuffix("_from"): text for name, text in given if name.endswith("_from")}


async def topic(hass: HomeAssistant, entry: MockConfigEntry, name: str) -> Result:
    """Return a form behind *More settings*."""
    return await more(hass, await change(hass, entry), name)


async def test_each_field_says_where_its_value_comes_from(hass: HomeAssistant) -> None:
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
    first, history = await change(hass, entry), await topic(hass, entry, "history")
    tools, safety = await topic(hass, entry, "tools"), await topic(hass, entry, "safety")
    assert told(first)["native_tools"] == "Built in"
    assert told(first)["local_first"] == "Own value. Clear it to reset it to the default: On"
    assert told(first)["prompt_additions"] == "Own value. Clear it to reset it to the default: Be brief."
    assert told(first)["speech"].endswith(": Voice for voice devices, otherwise text")
    assert told(first)["always_ask"] == ""  # there is none
    assert (told(history)["history_max_messages"], shown(history)["history_max_messages"]) == (
        "Default of all agents", 4,
    )  # fmt: skip
    assert told(history)["history_max_tokens"] == "Built in"
    assert told(tools)["tool_timeout"] == "Own value. Clear it to reset it to the default: 30 s"
    assert told(tools)["max_calls_per_turn"] == "Default of all agents"
    assert told(tools)["llm_apis"].endswith(f": {selectable_apis(hass)['assist']}")
    assert told(tools)["custom_tools"] == "Built in"
    assert told(safety)["never_offer"] == "Default of all agents"
    entry = await set_up(hass, profile={"never_offer": ["x"]}, options=dict(entry.options))
    safety = await topic(hass, entry, "safety")
    assert told(safety)["never_offer"].endswith(": a, b, c and 2 more")


async def test_each_setting_with_a_default_says_so_and_no_other(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    forms = [await change(hass, entry), *[await topic(hass, entry, name) for name in TOPICS]]
    listed = [key for form in forms for key in told(form)]
    assert sorted(listed) == sorted(key for key in SETTINGS if SETTINGS[key].part is not Part.OWN)
    assert sum(len(fields) for fields in (FIRST, *TOPICS.values())) >= len(SETTINGS)


@pytest.mark.parametrize("key", [
    "local_first", "native_tools", "context_mode", "llm", "speech", "history_max_messages", "timezone", "custom_tools",
    "prompt_additions", "max_answer_tokens", "language", "prompts", "exposed_areas", "icon", "description", "always_ask",
])  # fmt: skip
async def test_any_kind_of_field_is_reset_by_clearing_it(hass: HomeAssistant, key: str) -> None:
    values: dict[str, Any] = {
        "local_first": False, "native_tools": False, "context_mode": "off", "llm": "none", "speech": "never",
        "history_max_messages": 3, "timezone": "Asia/Tokyo", "custom_tools": ["weather"], "prompt_additions": "Rhyme.",
        "max_answer_tokens": 99, "language": "de", "prompts": {"a": "b"}, "exposed_areas": ["kitchen"],
        "icon": "mdi:owl", "description": "Knows.", "always_ask": ["light.bed"],
    }  # fmt: skip
    hass.states.async_set("light.bed", "on")
    entry = await set_up(hass, model_first=False)
    before = await whole(hass, await change(hass, entry))
    await resend(hass, await change(hass, entry), **{key: values[key]})
    assert own(entry) == {key: values[key]}
    assert (await whole(hass, await change(hass, entry)))[key] == values[key]
    name = next((name for name, fields in TOPICS.items() if key in fields), None)
    form = await topic(hass, entry, name) if name else await change(hass, entry)
    left = {field: value for field, value in shown(form).items() if field != key}
    result = await send(hass, form, **left)
    if name:
        await send(hass, result, next_step_id="save")
    assert own(entry) == {}
    assert (await whole(hass, await change(hass, entry))).get(key) == before.get(key)


async def test_a_changed_field_is_its_own(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False)
    await resend(hass, await change(hass, entry), local_first=False, max_calls_per_turn=9)
    assert own(entry) == {"local_first": False, "max_calls_per_turn": 9}
    await resend(hass, await change(hass, entry), local_first=True)  # back to what the default is, and still its own
    assert own(entry) == {"local_first": True, "max_calls_per_turn": 9}


async def test_what_follows_changes_with_the_default(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False, profile={"history_max_messages": 10})
    await resend_page(hass, await page(hass, entry, "history"), history_max_messages=4, history_max_tokens=2000)
    profile = entry.runtime_data.profiles["profile-1"]
    assert (profile.history_max_messages, profile.history_max_tokens) == (10, 2000)
    form = await topic(hass, entry, "history")
    assert told(form)["history_max_messages"] == "Own value. Clear it to reset it to the default: 4"
    await resend(hass, await change(hass, entry), history_max_messages=None)
    assert own(entry) == {}
    assert entry.runtime_data.profiles["profile-1"].history_max_messages == 4


async def test_a_list_can_be_none_whatever_the_defaults_name(hass: HomeAssistant) -> None:
    defaults = {"tools_config": {"custom_tools": ["weather"], "delegate_to": ["profile-2"]}}
    other = house.subentry("profile", "Other", "profile-2", {})
    entry = await set_up(hass, model_first=False, options={"default_profile_settings": defaults}, more=[other])
    await resend(hass, await change(hass, entry), custom_tools=["rain", "none"], delegate_to=["none"])
    assert own(entry) == {"custom_tools": ["rain"], "delegate_to": []}  # something is not none
    await resend(hass, await change(hass, entry), custom_tools=["all", "none"])
    assert own(entry) == {"custom_tools": [], "delegate_to": []}
    profile = entry.runtime_data.profiles["profile-1"]
    assert (profile.custom_tools, profile.delegate_to) == ((), ())
    form = await topic(hass, entry, "tools")
    assert (shown(form)["custom_tools"], shown(await topic(hass, entry, "agents"))["delegate_to"]) == (
        ["none"], ["none"],
    )  # fmt: skip
    assert told(form)["custom_tools"] == "Own value. Clear it to reset it to the default: weather"
    await resend(hass, await change(hass, entry))  # untouched
    assert own(entry) == {"custom_tools": [], "delegate_to": []}
    await resend(hass, await change(hass, entry), custom_tools=[])
    assert own(entry) == {"delegate_to": []}


async def test_emptied_in_yaml_stays_empty(hass: HomeAssistant) -> None:
    defaults = {"processing_config": {"prompt_additions": "Be brief.", "exposed_areas": ["kitchen"]}}
    mine: dict[str, Any] = {"prompt_additions": "", "exposed_areas": []}
    entry = await set_up(hass, model_first=False, profile=mine, options={"default_profile_settings": defaults})
    await whole(hass, await change(hass, entry))
    await resend(hass, await change(hass, entry), tool_timeout=9)
    assert own(entry) == mine | {"tool_timeout": 9}


async def test_what_was_entered_outlives_an_error(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False, profile={"tool_timeout": 7})
    form = await resend(hass, await change(hass, entry), prompt_additions="{{", speech="never", local_first=None)
    assert form["errors"] == {"base": "prompt_additions_invalid"}
    assert (shown(form)["prompt_additions"], shown(form)["speech"]) == ("{{", "never")
    await resend(hass, form, prompt_additions="Hi.")
    assert own(entry) == {"prompt_additions": "Hi.", "speech": "never", "tool_timeout": 7}


async def test_nothing_is_stored_before_it_is_saved(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False)
    form = await topic(hass, entry, "history")
    menu = await send(hass, form, **(shown(form) | {"history_max_messages": 3}))
    assert (menu["type"], menu["step_id"], own(entry)) == ("menu", "more", {})
    await send(hass, menu, next_step_id="save")
    assert own(entry) == {"history_max_messages": 3}


async def test_a_page_of_the_default_settings(hass: HomeAssistant) -> None:
    entry = await set_up(hass, model_first=False)
    form = await page(hass, entry, "history")
    assert told(form)["history_max_messages"] == "Built in"
    await resend_page(hass, form, history_max_messages=6)
    assert entry.options["default_profile_settings"] == {"processing_config": {"history_max_messages": 6}}
    form = await page(hass, entry, "history")
    assert told(form)["history_max_messages"] == "Own value. Clear it to reset it to the default: 10"
    assert entry.runtime_data.profiles["profile-1"].history_max_messages == 6
    await resend_page(hass, form, history_max_messages=None)
    assert entry.options["default_profile_settings"] == {}
    for name in DEFAULTS_PAGES:
        menu = await resend_page(hass, await page(hass, entry, name))
        assert (menu["type"], menu["step_id"]) == ("menu", "advanced" if name in ADVANCED_TOPICS else "init")
    assert entry.options["default_profile_settings"] == {}


async def test_a_page_that_was_wrong_keeps_what_was_entered(hass: HomeAssistant) -> None:
    options = {"default_profile_settings": {"processing_config": {"prompt_additions": "Be brief."}}}
    entry = await set_up(hass, model_first=False, options=options)
    form = await resend_page(hass, await page(hass, entry, "assistant"), prompt_additions="{{", language="de")
    assert form["errors"] == {"base": "prompt_additions_invalid"}
    menu = await resend_page(hass, form, prompt_additions="Hi.", language=None)
    assert menu["type"] == "menu"
    assert entry.options["default_profile_settings"] == {"processing_config": {"prompt_additions": "Hi."}}


async def test_instructions_of_the_defaults_do_not_become_an_agents_own(hass: HomeAssistant) -> None:
    prompts = {"use_default_prompt": False, "custom_prompt": "Rhyme."}
    options = {"default_profile_settings": {"processing_config": prompts}}
    entry = await set_up(hass, model_first=False, options=options)
    await whole(hass, await change(hass, entry))
    await resend(hass, await change(hass, entry), tool_timeout=9)
    assert own(entry) == {"tool_timeout": 9}
