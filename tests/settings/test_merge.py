"""How layers of settings become one: built-in defaults, the home's for all agents, and what an agent sets itself."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.home_agent.settings.profile import (
    BUILT_IN,
    SETTINGS,
    Part,
    Profile,
    SettingOrigin,
    default_settings,
    in_parts,
    merged,
    migrated_options,
    origins,
    profile_from_data,
    settings_of,
)

type Settings = Mapping[str, Any]

PROMPTS = {"system_prompt": "You are helpful.", "greeting": "Hello."}
CALENDAR = {"calendar": {"names": ["Family"], "days": 7}}
TABLE = [
    pytest.param({}, {}, {}, id="nothing is nothing"),
    pytest.param({"timezone": "UTC"}, {}, {"timezone": "UTC"}, id="a missing key inherits"),
    pytest.param({"timezone": "UTC"}, {"timezone": None}, {"timezone": "UTC"}, id="null inherits"),
    pytest.param({}, {"timezone": None}, {}, id="null is nothing where there is nothing to inherit"),
    pytest.param({"timezone": "UTC"}, {"timezone": "Asia/Tokyo"}, {"timezone": "Asia/Tokyo"}, id="a scalar replaces"),
    pytest.param({"history": 5}, {"history": 0}, {"history": 0}, id="zero is a value"),
    pytest.param({"streaming": True}, {"streaming": False}, {"streaming": False}, id="off is a value"),
    pytest.param({"additions": "Rhyme."}, {"additions": ""}, {"additions": ""}, id="an empty text is a value"),
    pytest.param({"history": 5}, {"history": 5}, {"history": 5}, id="the same value"),
    pytest.param({"tools": ["a", "b"]}, {"tools": ["c"]}, {"tools": ["c"]}, id="a list replaces, it does not add"),
    pytest.param({"tools": ["a", "b"]}, {"tools": []}, {"tools": []}, id="an empty list means none"),
    pytest.param({"tools": ["a", "b"]}, {"tools": None}, {"tools": ["a", "b"]}, id="a list that is null inherits"),
    pytest.param(
        {"confirm_tools": ["lock"], "timeout": 3}, {"timeout": 9}, {"confirm_tools": ["lock"], "timeout": 9},
        id="who sets one setting of the tools keeps the others",
    ),
    pytest.param(
        {"prompts": PROMPTS}, {"prompts": {"system_prompt": "Rhyme."}},
        {"prompts": {"system_prompt": "Rhyme.", "greeting": "Hello."}}, id="a mapping merges: its key overwrites",
    ),
    pytest.param(
        {"prompts": PROMPTS}, {"prompts": {"farewell": "Bye."}}, {"prompts": PROMPTS | {"farewell": "Bye."}},
        id="a mapping merges: a new key is added",
    ),
    pytest.param({"prompts": PROMPTS}, {"prompts": {}}, {"prompts": PROMPTS}, id="an empty mapping changes nothing"),
    pytest.param(
        {"prompts": PROMPTS}, {"prompts": {"greeting": None}}, {"prompts": PROMPTS},
        id="null inherits in a mapping too",
    ),
    pytest.param(
        CALENDAR, {"calendar": {"names": ["Work"]}}, {"calendar": {"names": ["Work"], "days": 7}},
        id="a list in a mapping replaces, what stands beside it stays",
    ),
    pytest.param(
        {"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 3}, "e": 4}}, {"a": {"b": {"c": 3, "d": 2}, "e": 4}},
        id="mappings merge at every depth",
    ),
    pytest.param({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}, id="a mapping in the place of a scalar"),
    pytest.param({"a": {"b": 2}}, {"a": 1}, {"a": 1}, id="a scalar in the place of a mapping"),
]  # fmt: skip


@pytest.mark.parametrize(("defaults", "own", "result"), TABLE)
def test_an_agent_over_the_defaults(defaults: Settings, own: Settings, result: Settings) -> None:
    before = deepcopy((defaults, own))
    assert merged(defaults, own) == result
    assert (defaults, own) == before


def test_what_comes_back_is_a_copy_at_every_depth() -> None:
    defaults = {"prompts": {"names": ["a"]}, "tools": ["b"]}
    result = merged(defaults)
    result["prompts"]["names"].append("c")
    result["tools"].append("d")
    assert defaults == {"prompts": {"names": ["a"]}, "tools": ["b"]}


# Properties, for layers of any shape

LEAVES = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2) | st.lists(st.integers(0, 2), max_size=2)
)
KEYS = st.sampled_from("abcd")
VALUES = st.recursive(LEAVES, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=8)
LAYERS = st.dictionaries(KEYS, VALUES, max_size=4)


def leaves(layer: Settings, *path: str) -> dict[tuple[str, ...], Any]:
    """Return every value that is set, by its path; a mapping without any is itself one."""
    found: dict[tuple[str, ...], Any] = {}
    for key, value in layer.items():
        if isinstance(value, Mapping) and leaves(value):
            found |= leaves(value, *path, key)
        elif value is not None and not isinstance(value, Mapping):
            found[*path, key] = value
    return found


def covers(path: tuple[str, ...], others: Mapping[tuple[str, ...], Any]) -> bool:
    """Return whether something is set at a path, above it or below it."""
    return any(path[: len(other)] == other or other[: len(path)] == path for other in others)


@given(LAYERS, LAYERS)
def test_merging_is_idempotent(below: Settings, own: Settings) -> None:
    once = merged(below, own)
    assert merged(below, own, own) == once
    assert merged(once) == once
    assert merged(once, once) == once
    assert merged(below, once) == once


@given(LAYERS, LAYERS)
def test_what_is_set_holds(below: Settings, own: Settings) -> None:
    assert leaves(own).items() <= leaves(merged(below, own)).items()


@given(LAYERS, LAYERS)
def test_nothing_inherited_is_dropped_and_nothing_invented(below: Settings, own: Settings) -> None:
    holds, inherited, sets = leaves(merged(below, own)), leaves(below), leaves(own)
    for path, value in inherited.items():
        if not covers(path, sets):
            assert holds[path] == value
    for path, value in holds.items():
        assert value == (sets[path] if path in sets else inherited[path])


@given(LAYERS, LAYERS, LAYERS)
def test_what_is_unset_always_follows_the_default(before: Settings, after: Settings, own: Settings) -> None:
    followed, sets = leaves(merged(after, own)), leaves(own)
    for path, value in leaves(after).items():
        if not covers(path, sets):
            assert followed[path] == value
    for path in leaves(before).keys() - leaves(after).keys():
        if not covers(path, sets):
            assert path not in followed  # gone from the defaults, gone from the agent


@given(LAYERS, LAYERS, LAYERS)
def test_layers_can_be_merged_in_any_grouping(first: Settings, second: Settings, third: Settings) -> None:
    assert leaves(merged(merged(first, second), third)) == leaves(merged(first, second, third))


# The settings of agents

SET = st.fixed_dictionaries(
    {},
    optional={
        key: st.none() | (st.just([]) if isinstance(BUILT_IN[key], list) else st.just(BUILT_IN[key]))
        for key in SETTINGS
    },
)


@given(SET, SET)
def test_every_setting_of_an_agent_is_of_whoever_set_it_last(defaults: Settings, own: Settings) -> None:
    holds, came = merged(BUILT_IN, defaults, own), origins(defaults, own)
    assert came.keys() == SETTINGS.keys()
    for key, origin in came.items():
        if isinstance(origin, dict):  # of each of its keys: `test_origins_of_a_mapping_are_those_of_its_keys`
            continue
        layer = {SettingOrigin.BUILT_IN: BUILT_IN, SettingOrigin.DEFAULTS: defaults, SettingOrigin.PROFILE: own}[origin]
        assert layer[key] is not None
        assert holds[key] == layer[key]
        assert (own.get(key) is not None) == (origin is SettingOrigin.PROFILE)


@given(SET)
def test_parts_hold_what_was_put_into_them(settings: Settings) -> None:
    stored = in_parts(settings)
    assert settings_of(stored) == merged(settings)
    assert {*stored} <= {Part.PROCESSING, Part.TOOLS, *(key for key in SETTINGS if not SETTINGS[key].part)}


@given(SET, SET)
def test_an_agent_that_sets_nothing_of_the_tools_has_those_of_the_defaults(defaults: Settings, own: Settings) -> None:
    tools = {key for key, setting in SETTINGS.items() if setting.part is Part.TOOLS}
    without = {key: value for key, value in own.items() if key not in tools}
    agent, home = profile_from_data("id", "A", defaults, without), profile_from_data("id", "A", defaults, {})
    assert all(getattr(agent, key) == getattr(home, key) for key in tools)


def test_origins_of_a_mapping_are_those_of_its_keys() -> None:
    settings = {"prompts": {"a": "1", "b": "2"}}
    marked = origins(settings | {"tool_timeout": 9}, {"prompts": {"b": "3"}, "speech": "never", "streaming": None})
    assert marked["prompts"] == {"a": SettingOrigin.DEFAULTS, "b": SettingOrigin.PROFILE}
    assert (marked["tool_timeout"], marked["speech"], marked["streaming"]) == (
        SettingOrigin.DEFAULTS, SettingOrigin.PROFILE, SettingOrigin.BUILT_IN,
    )  # fmt: skip


def test_missing_tools_are_inherited_and_an_empty_list_is_none() -> None:
    defaults = default_settings(
        {"default_profile_settings": {"tools_config": {"custom_tools": ["weather"], "llm_apis": ["assist"]}}}
    )
    assert profile_from_data("id", "A", defaults, {}).custom_tools == ("weather",)
    assert profile_from_data("id", "A", defaults, {"custom_tools": None}).custom_tools == ("weather",)
    profile = profile_from_data("id", "A", defaults, {"tools_config": {"custom_tools": []}})
    assert (profile.custom_tools, profile.llm_apis) == ((), ("assist",))
    assert profile_from_data("id", "A", {}, {}).custom_tools == Profile().custom_tools == ("all",)


def test_there_are_no_defaults_for_what_is_of_one_agent() -> None:
    stored = {"description": "x", "profile_id": "y", "slash_commands": ["z"], "tools_config": {"tool_timeout": 4}}
    assert default_settings({"default_profile_settings": stored}) == {"tool_timeout": 4}
    assert default_settings({}) == default_settings({"default_profile_settings": None}) == {}


def test_defaults_that_were_stored_without_parts_get_them() -> None:
    before = {"emit_events": False, "profile_defaults": {"tool_timeout": 7, "llm": "none", "of_a_newer_version": 1}}
    after = migrated_options(before)
    assert after == {
        "emit_events": False,
        "default_profile_settings": {
            "processing_config": {"llm": "none"}, "tools_config": {"tool_timeout": 7}, "of_a_newer_version": 1,
        },
    }  # fmt: skip
    assert default_settings(after) == before["profile_defaults"]
    assert migrated_options(after) == after
