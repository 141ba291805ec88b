"""A list of the owner's makes what assistants know smaller than what Home Assistant exposes."""

from collections.abc import Sequence
import json
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import STATE_OFF, STATE_ON
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    label_registry as lr,
)
from homeassistant.helpers.intent import IntentResponseType
import pytest

from custom_components.home_agent.home.exposure import is_shared
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import EXPOSED, build_house, part_of, say, set_up, speech, subentry
from tests.llm_server import LLMServer, text, tool_call
from tests.prompt.test_modes import baseline_of

LISTED = ["light.bed_light", "cover"]


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    await build_house(hass)


@pytest.mark.parametrize(("names", "shared"), [
    ([], EXPOSED),
    (["light.bed_light"], ["light.bed_light"]),
    (["cover", "lock"], ["cover.kitchen_window", "lock.front_door"]),
    (["light.*_l*"], ["light.kitchen_lights", "light.bed_light", "light.ceiling_lights"]),
    (["cover.hall_window", "light.nowhere"], []),
], ids=["nothing is listed", "an entity", "kinds", "a pattern", "not exposed"])  # fmt: skip
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


@pytest.mark.parametrize(("tool", "arguments"), [
    ("ha_control", {"action": "turn_off", "entity_id": "light.kitchen_lights"}),
    ("ha_control", {"action": "turn_off", "entity_id": "Kitchen Lights"}),
    ("ha_query", {"entity_id": "light.kitchen_lights"}),
], ids=["by its id", "by its name", "read"])  # fmt: skip
async def test_not_listed(hass: HomeAssistant, llm_server: LLMServer, tool: str, arguments: dict[str, Any]) -> None:
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


# What one agent knows of what is shared.

PARTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "nothing is set": ({}, set(EXPOSED)),
    "an area": ({"exposed_areas": ["kitchen"]}, {"light.kitchen_lights", "cover.kitchen_window"}),
    "an area of its own": ({"exposed_areas": ["hall"]}, {"switch.decorative_lights"}),
    "a label": ({"exposed_labels": ["toys"]}, {"switch.decorative_lights"}),
    "a label of the device": ({"exposed_labels": ["soft"]}, {"light.bed_light"}),
    "a label of the area": ({"exposed_labels": ["cosy"]}, {"light.bed_light", "light.ceiling_lights"}),
    "an entity": ({"exposed_entities": ["light.bed_light"]}, {"light.bed_light"}),
    "kinds and patterns": ({"exposed_entities": ["lock", "*.kitchen_*"]}, {"lock.front_door", "light.kitchen_lights", "cover.kitchen_window"}),
    "all of these": (
        {"exposed_areas": ["hall"], "exposed_labels": ["soft"], "exposed_entities": ["lock"]},
        {"switch.decorative_lights", "light.bed_light", "lock.front_door"},
    ),
    "what is gone": ({"exposed_areas": ["attic"]}, set()),
    "what is not exposed": ({"exposed_entities": ["light.office_rgbw_lights"]}, set()),
}  # fmt: skip


@pytest.mark.parametrize(("part", "known"), PARTS.values(), ids=PARTS.keys())
async def test_partial_agent(hass: HomeAssistant, llm_server: LLMServer, part: dict[str, Any], known: set[str]) -> None:
    _furnish(hass)
    await set_up(hass, llm_server, profile=part)
    llm_server.plan(tool_call("ha_query", {"entity_id": "*"}), text("That is all."))
    await say(hass, "what is there?")
    asked, answered = llm_server.requests
    told = baseline_of(asked.body) if known else {}
    answer = answered.body["messages"][-1]["content"]
    read = {item for item in hass.states.async_entity_ids() if f'"{item}"' in answer}
    assert (set(told), read) == (known, known)
    assert not any(item in asked.raw.decode() for item in set(EXPOSED) - known)


async def test_what_changes_counts_at_once(hass: HomeAssistant, llm_server: LLMServer) -> None:
    _furnish(hass)
    await set_up(hass, llm_server, profile={"exposed_labels": ["toys"]})
    call = tool_call("ha_control", {"action": "turn_on", "entity_id": "switch.decorative_lights"})
    answers = []
    for labels in ({"toys"}, set(), {"toys"}):
        er.async_get(hass).async_update_entity("switch.decorative_lights", labels=labels)
        llm_server.plan(call, text("Well."))
        await say(hass, "decorations please")
        answers.append(json.loads(llm_server.request.body["messages"][-1]["content"])["success"])
    assert answers == [True, False, True]


async def test_agents_know_different_parts(hass: HomeAssistant, llm_server: LLMServer) -> None:
    second = subentry("profile", "Cook", "profile-2", {"local_first": False, "exposed_areas": ["kitchen"]})
    await set_up(hass, llm_server, more=[second])
    llm_server.respond(lambda _body: text("Hello."))
    told = []
    for agent in ("home_agent", "cook", "home_agent"):
        await say(hass, "hello", agent_id=f"conversation.{agent}")
        told.append(set(baseline_of(llm_server.request.body)))
    assert told == [set(EXPOSED), {"light.kitchen_lights", "cover.kitchen_window"}, set(EXPOSED)]


async def test_a_group_reaching_out_of_the_part_is_not_controlled(hass: HomeAssistant, llm_server: LLMServer) -> None:
    for name, members in (("inside", ["light.bed_light"]), ("across", ["light.bed_light", "light.kitchen_lights"])):
        hass.states.async_set(f"group.{name}", "off", {"entity_id": members, "friendly_name": name})
        async_expose_entity(hass, ASSISTANT, f"group.{name}", True)
    await set_up(hass, llm_server, profile={"exposed_areas": ["bedroom"], "exposed_entities": ["group"]})
    errors = []
    for name in ("inside", "across"):
        llm_server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": f"group.{name}"}), text("Well."))
        await say(hass, "the group")
        errors.append(json.loads(llm_server.request.body["messages"][-1]["content"])["error"])
    assert "cannot be controlled as a whole" not in str(errors[0])
    assert "cannot be controlled as a whole" in str(errors[1])


def _furnish(hass: HomeAssistant) -> None:
    """Give things labels and areas of their own."""
    areas, registry, devices, labels = ar.async_get(hass), er.async_get(hass), dr.async_get(hass), lr.async_get(hass)
    for name in ("Toys", "Soft", "Cosy"):
        labels.async_create(name)
    hall = areas.async_create("Hall")
    registry.async_update_entity("switch.decorative_lights", name="Fairy Lights")
    registry.async_update_entity("switch.decorative_lights", area_id=hall.id, labels={"toys"})
    lamp = registry.async_get("light.bed_light")
    assert lamp is not None
    assert lamp.device_id is not None
    devices.async_update_device(lamp.device_id, labels={"soft"})
    areas.async_update("bedroom", labels={"cosy"})
