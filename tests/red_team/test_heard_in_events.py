"""Words of a user that a model puts into names of things and of arguments: events, which the recorder keeps, do not tell them."""

import json
from typing import Any

from homeassistant.core import Context, Event, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from tests.house import say
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import Witness

SAID = "my_pin_is_four"
INVENTED: dict[str, tuple[str, dict[str, Any]]] = {
    "an id": ("ha_control", {"action": "turn_on", "entity_id": f"light.{SAID}"}),
    "ids": ("ha_control", {"action": "turn_on", "entity_id": ["light.bed_light", f"light.{SAID}"]}),
    "ids in a text": ("ha_control", {"action": "turn_on", "entity_id": f"light.bed_light, switch.{SAID}"}),
    "a pattern": ("ha_query", {"entity_id": f"light.{SAID}*"}),
    "a pattern with a domain": ("ha_query", {"entity_id": f"*.{SAID}"}),
    "an action": ("ha_control", {"action": SAID, "entity_id": "light.bed_light"}),
    "an action of a domain": ("ha_control", {"action": f"light.{SAID}", "entity_id": "light.bed_light"}),
    "a key": ("ha_control", {"action": "turn_on", "entity_id": "light.bed_light", SAID: 1}),
    "a key of parameters": ("ha_control", {"action": "turn_on", "entity_id": "light.bed_light", "parameters": {SAID: 1}}),
    "a key deeper": ("ha_control", {"action": "turn_on", "entity_id": "light.bed_light", "parameters": {"variables": {SAID: 1}}}),
    "a key of a list": ("ha_query", {"entity_id": "light.bed_light", "history": [{SAID: 1}]}),
    "an attribute": ("ha_query", {"entity_id": "light.bed_light", "attributes": [SAID]}),
    "a device class": ("ha_query", {"device_class": SAID}),
    "a domain": ("ha_query", {"domain": SAID}),
    "a service": ("ha_query", {"service": f"light.{SAID}"}),
    "the key of an unknown tool": ("sing", {SAID: 1}),
    "an id for an unknown tool": ("sing", {"entity_id": f"lock.{SAID}"}),
    "an aggregate": ("ha_query", {"entity_id": "light.bed_light", "history": {"aggregate": SAID}}),
}  # fmt: skip


def executed(events: list[Event[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [dict(event.data["parameters"]) for event in events]


@pytest.mark.parametrize(("name", "arguments"), INVENTED.values(), ids=INVENTED)
async def test_what_a_model_made_up_is_not_told(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str, arguments: dict[str, Any]
) -> None:
    await start()
    events = async_capture_events(hass, "home_agent.tool.executed")
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call(name, arguments), text("I cannot do that."))
    await say(hass, "turn on the bed light, my pin is four", context=alice)
    assert len(events) == 1
    assert SAID not in json.dumps(executed(events))


@pytest.mark.parametrize(("name", "arguments"), [
    ("ha_control", {"action": "turn_on", "entity_id": "light.bed_light", "parameters": {"brightness_pct": 40}}),
    ("ha_control", {"action": "turn_off", "entity_id": ["light.bed_light", "light.ceiling_lights"]}),
    ("ha_query", {"entity_id": "light.*", "attributes": ["brightness"]}),
    ("ha_query", {"entity_id": "*.bed_light"}),
])  # fmt: skip
async def test_what_the_home_has_is_told(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str, arguments: dict[str, Any]
) -> None:
    await start()
    events = async_capture_events(hass, "home_agent.tool.executed")
    witness.server.plan(tool_call(name, arguments), text("Here you are."))
    await say(hass, "the bed light please", context=alice)
    assert executed(events) == [arguments]
