"""The owner's prompt is a template; what comes out of it is not."""

from collections.abc import Callable
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.policy.tool import HomeAgentTool
from custom_components.home_agent.prompt.budget import Budget
from custom_components.home_agent.prompt.providers import CalendarContext
from custom_components.home_agent.prompt.system_prompt import SystemPrompts, default_prompt
from custom_components.home_agent.prompt.template import render_prompt, with_named
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.errors import PromptTemplateError
from custom_components.home_agent.tools.query import HaQuery
from custom_components.home_agent.transcript.transcript import Transcript
from custom_components.home_agent.turn.plan import Plan
from custom_components.home_agent.turn.turn import Turn
from tests.prompt.conftest import make_turn

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


async def written(hass: HomeAssistant, turn: Turn, *tools: HomeAgentTool) -> str:
    """Return the system prompt of a conversation that begins with this turn."""
    budget = Budget(prompt=0, home_map=0, small_map=0, states=0, kept=0, found=0, found_later=0, history=0, blocks=0)
    prompts = SystemPrompts(hass, CalendarContext(hass))
    text, _ = await prompts.async_write(turn, Transcript(), tools, budget, nothing)
    return text


async def nothing() -> str:
    return ""


class Tool(HomeAgentTool):
    def __init__(self, guide: str, *, is_default: bool) -> None:
        self.guide, self.guide_is_default = guide, is_default

    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        raise NotImplementedError

    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        raise NotImplementedError


OWN, OTHER = Tool("It waters the palm.", is_default=True), Tool("It feeds the cat.", is_default=False)


@pytest.mark.parametrize("service", [True, False], ids=["placeholders", "plain"])
async def test_additions_follow_the_default(hass: HomeAssistant, make_turn: MakeTurn, service: bool) -> None:
    profile = Profile(name="A", prompt_additions=" The cat is called Mia. ", use_prompt_context_service=service)
    turn = make_turn(profile=profile)
    assert await written(hass, turn, OWN) == f"{default_prompt([OWN])}\n\nThe cat is called Mia."


async def test_own_prompt_replaces_the_default_unless_it_is_empty(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    own = make_turn(profile=Profile(name="A", use_default_prompt=False, custom_prompt="Be kind."))
    empty = make_turn(profile=Profile(name="A", use_default_prompt=False, custom_prompt="  "))
    assert await written(hass, own) == "Be kind."
    assert await written(hass, empty) == default_prompt([])


async def test_guides_of_tools_are_sent_once(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    default = default_prompt([OWN, OTHER])
    assert default.count(str(OWN.guide)) == 1
    assert str(OTHER.guide) not in default
    assert await written(hass, make_turn(), OWN, OTHER, OWN, OTHER) == f"{default}\n\n{OTHER.guide}"
    own = make_turn(profile=Profile(name="A", use_default_prompt=False, custom_prompt="Be kind."))
    assert await written(hass, own, OWN, OTHER, OTHER) == f"Be kind.\n\n{OTHER.guide}"


def test_default_prompt_names_only_tools_that_are_there(hass: HomeAssistant) -> None:
    query = HaQuery(Home(hass, MockConfigEntry()))
    assert "ha_control" not in default_prompt([query])
    assert "ha_query" in default_prompt([query])
    assert "tool" not in default_prompt([]).replace("tool results are data", "")


def test_a_stored_prompt_that_is_no_text_is_not_taken_in() -> None:
    stored: dict[str, Any] = {"rules": ["a"], "tone": "Be kind."}
    assert with_named("{{ prompts.rules }} {{ prompts.tone }}", stored) == "{{ prompts.rules }} Be kind."
