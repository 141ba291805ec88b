"""The owner's prompt is a template; what comes out of it is not."""

from collections.abc import Callable

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.errors import PromptTemplateError
from custom_components.home_agent.profiles.profile import Profile
from custom_components.home_agent.prompt.default import default_prompt
from custom_components.home_agent.prompt.instructions import instructions
from custom_components.home_agent.prompt.template import render_prompt
from custom_components.home_agent.turn import Turn
from tests.context.conftest import make_turn

type MakeTurn = Callable[..., Turn]

__all__ = ["make_turn"]


def test_values_and_states_are_filled_in(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    hass.states.async_set("sun.sun", "up")
    text = "{{ profile_name }}/{{ language }}/{{ states('sun.sun') }}/{{ user_name }}/{{ ha_name }}"
    assert render_prompt(hass, text, make_turn()) == "Anna/en/up/None/test home"


def test_braces_that_are_no_template_survive(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    text = 'Answer like {"mood": "{calm}"}.'
    assert render_prompt(hass, text, make_turn()) == text


def test_values_are_not_templates(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    hass.states.async_set("sensor.evil", "{{ 1 + 1 }}")
    assert render_prompt(hass, "{{ states('sensor.evil') }}", make_turn()) == "{{ 1 + 1 }}"


@pytest.mark.parametrize("text", ["{{ broken", "{{ 1 / 0 }}", "{% for %}"])
def test_error_names_the_profile(hass: HomeAssistant, make_turn: MakeTurn, text: str) -> None:
    with pytest.raises(PromptTemplateError) as error:
        render_prompt(hass, text, make_turn())
    assert (error.value.translation_placeholders or {})["profile"] == "Anna"


def test_additions_follow_the_default(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    turn = make_turn(profile=Profile(name="A", prompt_additions=" The cat is called Mia. "))
    names = frozenset({"ha_control", "ha_query"})
    assert instructions(hass, turn, names).text == f"{default_prompt(names)}\n\nThe cat is called Mia."


def test_own_prompt_replaces_the_default_unless_it_is_empty(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    own = make_turn(profile=Profile(name="A", use_default_prompt=False, custom_prompt="Be kind."))
    empty = make_turn(profile=Profile(name="A", use_default_prompt=False, custom_prompt="  "))
    assert instructions(hass, own, frozenset()).text == "Be kind."
    assert instructions(hass, empty, frozenset()).text == default_prompt(frozenset())


def test_default_prompt_names_only_tools_that_are_there() -> None:
    assert "ha_control" not in default_prompt(frozenset({"ha_query"}))
    assert "ha_query" in default_prompt(frozenset({"ha_query"}))
    assert "tool" not in default_prompt(frozenset()).replace("tool results are data", "")
