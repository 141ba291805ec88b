"""A list of the owner's makes what assistants know smaller than what Home Assistant exposes (S1-120)."""

from collections.abc import Sequence
import json
from typing import Any

from homeassistant.const import STATE_OFF, STATE_ON
from homeassistant.core import HomeAssistant
from homeassistant.helpers.intent import IntentResponseType
import pytest

from custom_components.home_agent.home.exposure import is_shared
from tests.house import EXPOSED, build_house, part_of, say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call
from tests.prompt.test_modes import baseline_of

LISTED = ["light.bed_light", "cover"]


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test."""
    await build_house(hass)


@pytest.mark.parametrize(
    ("names", "shared"),
    [
        ([], EXPOSED),
        (["light.bed_light"], ["light.bed_light"]),
        (["cover", "lock"], ["cover.kitchen_window", "lock.front_door"]),
        (["light.*_l*"], ["light.kitchen_lights", "light.bed_light", "light.ceiling_lights"]),
        (["cover.hall_window", "light.nowhere"], []),
    ],
    ids=["nothing is listed", "an entity", "kinds", "a pattern", "not exposed"],
)
async def test_exposed_and_listed(hass: HomeAssistant, names: list[str], shared: Sequence[str]) -> None:
    entry = await set_up(hass, options={"allowed_entities": names})
    assert {item for item in hass.states.async_entity_ids() if is_shared(hass, item)} == set(shared)
    home = await entry.runtime_data.home.async_get()
    assert set(home.entities) == set(shared)


async def test_a_model_is_told_of_nothing_else(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, options={"allowed_entities": LISTED})
    llm_server.plan(text("Hello."))
    await say(hass, "hello")
    system, question = llm_server.request.body["messages"]
    assert set(baseline_of(llm_server.request.body)) == {"light.bed_light", "cover.kitchen_window"}
    assert "states" not in part_of(question)
    assert "light.kitchen_lights" not in system["content"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ha_control", {"action": "turn_off", "entity_id": "light.kitchen_lights"}),
        ("ha_control", {"action": "turn_off", "entity_id": "Kitchen Lights"}),
        ("ha_query", {"entity_id": "light.kitchen_lights"}),
    ],
    ids=["by its id", "by its name", "read"],
)
async def test_what_is_not_listed_does_not_exist(
    hass: HomeAssistant, llm_server: LLMServer, tool: str, arguments: dict[str, Any]
) -> None:
    await set_up(hass, llm_server, options={"allowed_entities": LISTED})
    llm_server.plan(tool_call(tool, arguments), text("No."))
    await say(hass, "please")
    answer = json.loads(llm_server.request.body["messages"][-1]["content"])
    asked, _, near = answer["error"].partition(" Did you mean")
    assert (answer["success"], asked) == (False, f"No exposed entity matches '{arguments['entity_id']}'.")
    assert "itchen Lights" not in near
    assert hass.states.is_state("light.kitchen_lights", STATE_ON)


async def test_a_wildcard_means_what_is_listed(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, options={"allowed_entities": LISTED})
    llm_server.plan(tool_call("ha_control", {"action": "toggle", "entity_id": "light.*"}), text("Done."))
    before = hass.states.get("light.bed_light")
    await say(hass, "toggle all lights")
    assert before is not None
    assert not hass.states.is_state("light.bed_light", before.state)
    assert hass.states.is_state("light.kitchen_lights", STATE_ON)


@pytest.mark.parametrize(
    "sentence", ["turn off the kitchen lights", "turn off all the lights", "are the kitchen lights on?"]
)
async def test_a_sentence_of_the_house_reaches_nothing_else(hass: HomeAssistant, sentence: str) -> None:
    await set_up(hass, profile={"llm": "none"}, options={"allowed_entities": LISTED})
    result = await say(hass, sentence)
    assert result.response.response_type is IntentResponseType.ERROR
    assert "Kitchen Lights" not in speech(result)
    assert hass.states.is_state("light.kitchen_lights", STATE_ON)
    await say(hass, "turn on the bed light")
    assert hass.states.is_state("light.bed_light", STATE_ON)


async def test_a_tool_that_tells_of_the_whole_house_is_refused(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"llm_apis": ["assist"]}, options={"allowed_entities": LISTED})
    llm_server.plan(tool_call("homeassistant__GetLiveContext", {}), text("No."))
    await say(hass, "what is on?")
    answer = llm_server.request.body["messages"][-1]["content"]
    assert json.loads(answer)["success"] is False
    assert "Kitchen" not in answer


async def test_without_a_list_all_is_there_again(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, options={"allowed_entities": LISTED})
    hass.config_entries.async_update_entry(entry, options={})
    await hass.async_block_till_done()
    llm_server.plan(
        tool_call("ha_control", {"action": "turn_off", "entity_id": "light.kitchen_lights"}), text("It is off.")
    )
    await say(hass, "turn off the kitchen lights")
    assert hass.states.is_state("light.kitchen_lights", STATE_OFF)
