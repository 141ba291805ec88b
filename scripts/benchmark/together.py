"""What a turn takes in which several agents take part: a router with two extensions, and a delegated request.

Of Home Agent alone. Imported once it is set up, so that it is the code of the measured installation.
"""

import asyncio
from collections.abc import Mapping, Sequence
import json
from types import MappingProxyType
from typing import Any, override

from homeassistant.config_entries import ConfigSubentry
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er, llm
from homeassistant.util.json import JsonObjectType
import probatio

from custom_components.home_agent.agent.segments import ROUTE
from custom_components.home_agent.tools.extensions.extensions import RegisteredExtension, async_register_extension

NAMES = ("ChefByte", "CoachByte")
SPLIT = {ROUTE.partition("\n")[0]: json.dumps([{"extension": name, "intent": "Look after it."} for name in NAMES])}
"""What the model answers to a router, by how its request begins."""
ASK = {"delegate_to_service": {"target_service_id": "second", "user_request": "Is everything all right at home?"}}


class Look(llm.Tool):
    """A tool that nobody calls."""

    integration = "test"
    parameters = probatio.Schema({})
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)

    def __init__(self, name: str) -> None:
        """Belong to an extension."""
        self.name = f"{name.upper()}_GET_ALL"
        self.description = "Returns all there is.\nWhat is there?\nIn no order."

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> JsonObjectType:
        """Return nothing."""
        return {}


async def add_agents(hass: HomeAssistant) -> dict[str, str]:
    """Add the agents; return their conversation entities by kind of turn."""
    [entry] = hass.config_entries.async_loaded_entries("home_agent")
    for name in NAMES:
        prompt = f"{name} looks after one thing.\nIt is careful."
        async_register_extension(hass, RegisteredExtension(name=name, prompt=prompt, tools=[Look(name)]))
    second = _profile("Second", delegation_level="unrestricted")
    routed = _profile("Routed", routing="router", extensions=list(NAMES))
    first = _profile("First", delegate_to=[second.subentry_id], native_tools=False)
    for subentry in (second, routed, first):
        hass.config_entries.async_add_subentry(entry, subentry)
    await hass.async_block_till_done()
    found: dict[str, str] = {}
    for kind, subentry in (("routed", routed), ("delegated", first)):
        for _ in range(100):
            entity_id = er.async_get(hass).async_get_entity_id("conversation", entry.domain, subentry.subentry_id)
            if entity_id and hass.states.get(entity_id):
                found[kind] = entity_id
                break
            await asyncio.sleep(0.1)
    if len(found) < 2:
        raise RuntimeError("the agents were not set up")
    return found


def _profile(title: str, **data: Any) -> ConfigSubentry:
    settings = MappingProxyType({"local_first": False, **data})
    return ConfigSubentry(data=settings, subentry_type="profile", title=title, unique_id=None)


def waited(records: Sequence[Mapping[str, Any]]) -> int:
    """Return the nanoseconds in which the model had any request: some are answered side by side."""
    total = until = 0
    for begin, end in sorted((record["arrived"], record["done"]) for record in records):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total
