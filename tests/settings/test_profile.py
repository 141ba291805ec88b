"""Profiles inherit: built-in defaults, then the house's, then their own."""

from custom_components.home_agent.settings.profile import ContextEntity, Profile, profile_from_data


def test_profile_that_sets_nothing_has_the_defaults() -> None:
    profile = profile_from_data("id", "Anna", {}, {})
    assert (profile.history_max_messages, profile.max_calls_per_turn, profile.native_tools) == (10, 5, True)
    assert profile.name == "Anna"


def test_defaults_are_those_of_the_specification() -> None:
    profile = Profile()
    assert (profile.native_tools, profile.max_calls_per_turn, profile.tool_timeout) == (True, 5, 30)
    assert (profile.external_llm, profile.external_llm_description) == ("none", "")
    assert (profile.history_enabled, profile.history_persist, profile.history_max_age_hours) == (True, True, 24)
    assert (profile.history_max_messages, profile.history_max_tokens) == (10, 4000)
    assert (profile.context_mode, profile.context_format, profile.context_entities) == ("auto", "json", ())
    assert (profile.use_default_prompt, profile.use_prompt_context_service) == (True, True)
    assert (profile.streaming, profile.mask_personal_data) == (True, "auto")


def test_profile_inherits_what_the_house_sets_and_overrides_what_it_sets() -> None:
    house = {"history_max_messages": 4, "tool_timeout": 10, "native_tools": False}
    profile = profile_from_data("id", "Anna", house, {"history_max_messages": 6})
    assert (profile.history_max_messages, profile.tool_timeout, profile.native_tools) == (6, 10, False)


def test_keys_of_a_newer_version_are_left_alone() -> None:
    assert profile_from_data("id", "Anna", {}, {"from_the_future": 1}).llm == Profile().llm


def test_numbers_of_a_form_become_whole() -> None:
    profile = profile_from_data("id", "Anna", {}, {"max_calls_per_turn": 7.0, "context_update_interval": 30.0})
    assert (profile.max_calls_per_turn, profile.context_update_interval) == (7, 30)
    assert isinstance(profile.max_calls_per_turn, int)


def test_context_rows_are_read() -> None:
    rows = [{"entity_id": "climate.*", "attributes": ["temperature"]}, {"entity_id": "light.desk"}]
    profile = profile_from_data("id", "Anna", {}, {"context_entities": rows})
    assert profile.context_entities == (
        ContextEntity(pattern="climate.*", attributes=("temperature",)),
        ContextEntity(pattern="light.desk"),
    )
