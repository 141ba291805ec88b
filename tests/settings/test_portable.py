"""A profile as YAML: written for another home, and read with everything that is wrong."""

from types import MappingProxyType
from typing import Any

from homeassistant.config_entries import ConfigSubentry
from hypothesis import given, strategies as st
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
import yaml  # type: ignore[import-untyped]

from custom_components.home_agent.settings.portable import MAX_YAML, from_yaml, named, to_yaml
from custom_components.home_agent.settings.profile import BUILT_IN, REMOVED, SETTINGS, Profile, profile_from_data

SECRET = "sk-very-secret"
OTHERS_AGENT = "conversation.home_assistant"


def entry_with(prefix: str) -> MockConfigEntry:
    """Return a home with a model, a server and two agents whose ids begin with `prefix`."""
    added = {
        "model": ("llm", "Large model", {"api_key": SECRET, "base_url": f"http://{prefix}.example"}),
        "server": ("mcp_server", "Library", {"token": SECRET, "url": f"http://{prefix}.example"}),
        "agent": ("profile", "Home Agent", {}),
        "guest": ("profile", "For guests", {"profile_id": "visitor"}),
    }
    entry = MockConfigEntry(domain="home_agent", options={"delegation_agents": [OTHERS_AGENT]})
    entry.subentries = MappingProxyType(
        {
            f"{prefix}-{name}": ConfigSubentry(
                subentry_id=f"{prefix}-{name}",
                subentry_type=kind,
                title=title,
                data=MappingProxyType(data),
                unique_id=None,
            )
            for name, (kind, title, data) in added.items()
        }
    )
    return entry


HERE, THERE = entry_with("here"), entry_with("there")
OWN: dict[str, Any] = {
    "llm": "here-model", "external_llm": "none",
    "custom_prompt": "You are:\n  - brief: {{ now() }}\nÄ “quoted” 'text' # no comment\n", "profile_id": "technician",
    "slash_commands": ["tech"], "mcp_servers": ["here-server", "removed"], "delegate_to": ["here-guest", OTHERS_AGENT],
    "custom_tools": [], "tool_timeout": 60, "streaming": False,
    "context_entities": [{"entity_id": "climate.*", "attributes": ["hvac_action"]}, {"entity_id": "light.desk"}],
    "never_ask": None, "of_a_newer_version": 1,
}  # fmt: skip


def test_it_says_only_what_is_set_by_name_and_without_secrets() -> None:
    text = to_yaml(HERE, "Technician", OWN, {})
    assert yaml.safe_load(text) == {
        "name": "Technician",
        "profile_id": "technician",
        "slash_commands": ["tech"],
        "processing_config": {
            "llm": "Large model", "custom_prompt": OWN["custom_prompt"], "context_entities": OWN["context_entities"],
            "streaming": False,
        },
        "tools_config": {
            "custom_tools": [], "mcp_servers": ["Library"], "external_llm": "none", "tool_timeout": 60,
            "delegate_to": ["For guests", OTHERS_AGENT],
        },
    }  # fmt: skip
    assert list(yaml.safe_load(text)) == ["name", "profile_id", "slash_commands", "processing_config", "tools_config"]
    assert "  custom_prompt: |" in text  # to be read by people
    assert SECRET not in text
    assert "example" not in text
    assert "here-" not in text


def test_another_home_reads_it_with_its_own_ids() -> None:
    name, settings, problems = from_yaml(THERE, to_yaml(HERE, "Technician", OWN, {}))
    assert (name, problems) == ("Technician", [])
    expected = {key: value for key, value in OWN.items() if key in SETTINGS and value is not None}
    expected |= {"llm": "there-model", "mcp_servers": ["there-server"], "delegate_to": ["there-guest", OTHERS_AGENT]}
    assert settings == expected


def test_an_agent_that_sets_nothing_is_a_name() -> None:
    assert to_yaml(HERE, "Butler", {}, {}) == "name: Butler\n"
    assert from_yaml(HERE, "name: Butler") == ("Butler", {}, [])


def test_a_model_that_was_removed_is_not_named() -> None:
    assert to_yaml(HERE, "A", {"llm": "removed", "mcp_servers": ["removed"]}, {}) == (
        "name: A\ntools_config:\n  mcp_servers: []\n"
    )
    assert named(HERE, {"llm": "removed"}, {}) == {"llm": None}


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=30)


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3))
def test_texts_survive(name: str, prompt: str, tools: list[str]) -> None:
    own: dict[str, Any] = {"prompt_additions": prompt, "custom_tools": tools}
    assert from_yaml(THERE, to_yaml(HERE, name, own, {})) == (name.strip(), own, [])


SETS = st.fixed_dictionaries({}, optional={key: st.just(BUILT_IN[key]) for key in SETTINGS})


@given(SETS)
def test_whatever_an_agent_sets_is_read_again(own: dict[str, Any]) -> None:
    assert from_yaml(THERE, to_yaml(HERE, "A", own, {})) == ("A", own, [])


@pytest.mark.parametrize("key", sorted(REMOVED))
def test_a_setting_of_an_earlier_version_is_read_without_effect(key: str) -> None:
    written = f"name: A\nprocessing_config: {{{key}: 5, timezone: UTC}}"
    assert from_yaml(HERE, written) == ("A", {"timezone": "UTC"}, [])
    assert profile_from_data("a", "A", {key: 7}, {key: 5}) == Profile(subentry_id="a", name="A")


@pytest.mark.parametrize(("text", "problems"), [
    pytest.param("tool_timeout: 5", {"import_misplaced": ["tool_timeout", "tools_config"]}, id="outside"),
    pytest.param(
        "tools_config: {llm: none}", {"import_misplaced": ["llm", "processing_config"]}, id="in the wrong part",
    ),
    pytest.param(
        "tools_config: {description: x}", {"import_misplaced_top": ["description", ""]}, id="belongs at the top",
    ),
    pytest.param("tools_config: {colour: red}", {"import_unknown": ["colour"]}, id="unknown"),
    pytest.param("yes: 1", {"import_unknown": ["True"]}, id="a key that YAML takes for something else"),
    pytest.param("tools_config: 5", {"import_no_part": ["tools_config"]}, id="no part"),
    pytest.param("name: [A]", {"import_text": ["name"]}, id="no name"),
    pytest.param("tools_config: {tool_timeout: 900}", {"import_number": ["tool_timeout", "1", "300"]}, id="too large"),
    pytest.param("tools_config: {tool_timeout: '5'}", {"import_number": ["tool_timeout", "1", "300"]}, id="text"),
    pytest.param("tools_config: {tool_timeout: 5.5}", {"import_number": ["tool_timeout", "1", "300"]}, id="half"),
    pytest.param("tools_config: {tool_timeout: .nan}", {"import_number": ["tool_timeout", "1", "300"]}, id="NaN"),
    pytest.param("tools_config: {tool_timeout: true}", {"import_number": ["tool_timeout", "1", "300"]}, id="yes"),
    pytest.param("processing_config: {streaming: maybe}", {"import_switch": ["streaming"]}, id="switch"),
    pytest.param(
        "processing_config: {speech: loud}", {"import_choice": ["speech", "auto, always, never"]}, id="choice",
    ),
    pytest.param("processing_config: {timezone: 5}", {"import_text": ["timezone"]}, id="no text"),
    pytest.param(
        "processing_config: {prompts: {system_prompt: [a]}}", {"import_text": ["prompts.system_prompt"]}, id="no prompt",
    ),
    pytest.param("processing_config: {prompts: {a: b, c: 5}}", {"import_text": ["prompts.c"]}, id="a number as prompt"),
    pytest.param("tools_config: {custom_tools: weather}", {"import_list": ["custom_tools"]}, id="no list"),
    pytest.param("tools_config: {never_ask: [1]}", {"import_list": ["never_ask"]}, id="a list of numbers"),
    pytest.param(
        "processing_config: {context_entities: [{pattern: x}]}", {"import_rows": ["context_entities"]}, id="row",
    ),
    pytest.param("processing_config: {language: klingon}", {"import_value": ["language"]}, id="no language"),
    pytest.param("processing_config: {llm: Tiny}", {"import_not_here": ["llm", "Tiny"]}, id="no such model"),
    pytest.param("tools_config: {external_llm: default}", {"import_not_here": ["external_llm", "default"]}, id="2nd"),
    pytest.param("tools_config: {mcp_servers: [A]}", {"import_not_here": ["mcp_servers", "A"]}, id="no server"),
    pytest.param("tools_config: {delegate_to: [A]}", {"import_not_here": ["delegate_to", "A"]}, id="no agent"),
    pytest.param(
        "a: 1\ntools_config: {b: 2, tool_timeout: 0}",
        {"import_unknown": ["a"], "import_unknown 2": ["b"], "import_number": ["tool_timeout", "1", "300"]},
        id="everything that is wrong",
    ),
    pytest.param("- a", {"import_no_settings": []}, id="a list"),
    pytest.param("", {"import_no_settings": []}, id="nothing"),
])  # fmt: skip
def test_what_is_wrong_is_named(text: str, problems: dict[str, list[str]]) -> None:
    _, settings, found = from_yaml(HERE, text)
    assert settings == {}
    assert sorted((key.partition(" ")[0], values) for key, values in problems.items()) == sorted(
        (key, list(values.values())) for key, values in found
    )


@pytest.mark.parametrize(("text", "line"), [
    pytest.param("name: [", "1", id="no YAML"),
    pytest.param("name: A\nname: B", "2", id="a key twice"),
    pytest.param("name: A\nslash_commands: &a [x]\ntools_config: {custom_tools: *a}", "2", id="a reference"),
    pytest.param("? [a]\n: b", "1", id="a key that is no word"),
    pytest.param("[" * 50_000, "1", id="too deep"),
    pytest.param('name: A\ndescription: "\\ud800"', "2", id="half a character"),
    pytest.param('name: "A\\0B"', "1", id="no text"),
    pytest.param('name: A\nprompts: {"a\\e[31m": b}', "2", id="a control character in a key"),
])  # fmt: skip
def test_what_cannot_be_read_is_refused_as_a_whole(text: str, line: str) -> None:
    name, settings, [(key, placeholders)] = from_yaml(HERE, text)
    assert (name, settings, key, placeholders["line"]) == ("", {}, "import_yaml", line)
    assert placeholders["error"]


@pytest.mark.parametrize(("text", "tag", "line"), [
    ("name: !secret key", "!secret", "1"),
    ("name: A\ntools_config: !include tools.yaml", "!include", "2"),
    ("name: A\ntools_config:\n  custom_tools: !include_dir_list tools", "!include_dir_list", "3"),
    ("!include agent.yaml", "!include", "1"),
])  # fmt: skip
def test_tags_of_home_assistants_own_files(text: str, tag: str, line: str) -> None:
    assert from_yaml(HERE, text) == ("", {}, [("import_tag", {"line": line, "tag": tag})])


def test_on_and_off_are_words_where_a_choice_has_them() -> None:
    text = (
        "processing_config: {memory: off, context_mode: off, speech: off, local_first: off}\ntools_config: {memory: on}"
    )
    _, settings, problems = from_yaml(HERE, text)
    assert settings == {"memory": "off", "context_mode": "off", "local_first": False}
    assert [key for key, _ in problems] == ["import_choice", "import_misplaced"]


def test_a_text_that_is_too_long() -> None:
    assert from_yaml(HERE, "#" * (MAX_YAML + 1)) == ("", {}, [("import_too_long", {"count": "100000"})])


def test_null_inherits_and_short_forms_are_read() -> None:
    text = "name: A\nprocessing_config: {llm: LARGE MODEL, speech: null, context_entities: [light.a]}\ntools_config:"
    _, settings, problems = from_yaml(HERE, text)
    assert (settings, problems) == ({"llm": "here-model", "context_entities": [{"entity_id": "light.a"}]}, [])
    _, settings, _ = from_yaml(HERE, "tools_config: {delegate_to: [visitor, home_agent]}")
    assert settings == {"delegate_to": ["here-guest", "here-agent"]}


FAMILY = """
id: focused_assistant
description: Assistant with a specific system prompt and fewer tools.
processing_config:
  prompts:
    system_prompt: "You are a focused assistant. Current time is {current_time}."
  max_history_messages: 3
  delegation_security_level: unrestricted
  include_system_docs: [USER_GUIDE.md]
tools_config:
  enable_mcp_server_ids: [Library]
  confirm_tools: [modify_calendar_event]
slash_commands: [/focus]
"""


def test_a_profile_of_the_family_assistant_is_read_with_its_meaning() -> None:
    _, own, problems = from_yaml(HERE, FAMILY)
    assert problems == []
    assert own == {
        "profile_id": "focused_assistant",
        "description": "Assistant with a specific system prompt and fewer tools.",
        "prompts": {"system_prompt": "You are a focused assistant. Current time is {current_time}."},
        "use_default_prompt": False,
        "custom_prompt": "{{ prompts.system_prompt }}",
        "history_max_messages": 3,
        "delegation_level": "unrestricted",
        "system_documents": ["USER_GUIDE.md"],
        "mcp_servers": ["here-server"],
        "always_ask": ["modify_calendar_event"],
        "slash_commands": ["/focus"],
    }
    assert from_yaml(HERE, to_yaml(HERE, "Focused", own, {}))[1:] == (own, [])


@pytest.mark.parametrize(("text", "problem"), [
    ("tools_config: {enable_local_tools: [add_or_update_note]}", ("import_enable_local_tools", "enable_local_tools")),
    ("processing_config: {calendar_config: {a: b}}", ("import_calendar_config", "calendar_config")),
    ("tools_config: {enable_mcp_server_ids: [time_server_1]}", ("import_not_here", "mcp_servers")),
    ("processing_config: {max_history_messages: 900}", ("import_number", "history_max_messages")),
])  # fmt: skip
def test_what_the_family_assistant_has_alone_is_said(text: str, problem: tuple[str, str]) -> None:
    _, own, problems = from_yaml(HERE, text)
    assert own == {}
    assert [(key, placeholders["setting"]) for key, placeholders in problems] == [problem]


@pytest.mark.parametrize("text", [
    "processing_config: {history_max_messages: 7, max_history_messages: 3}",
    "processing_config: {max_history_messages: 3, history_max_messages: 7}",
])  # fmt: skip
def test_our_own_name_of_a_setting_counts_before_another(text: str) -> None:
    assert from_yaml(HERE, text) == ("", {"history_max_messages": 7}, [])


@pytest.mark.parametrize("own", ["custom_prompt: Rhyme.", "use_default_prompt: true"])
def test_a_system_prompt_beside_instructions_is_a_named_text_only(own: str) -> None:
    _, read, _ = from_yaml(HERE, f"processing_config:\n  prompts: {{system_prompt: Be brief.}}\n  {own}")
    key, _, value = own.partition(": ")
    assert read == {"prompts": {"system_prompt": "Be brief."}, key: yaml.safe_load(value)}
