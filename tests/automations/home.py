"""A demo house whose automations stand in files, with an agent that makes more of them by a scripted model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homeassistant.config import async_hass_config_yaml
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component

from tests.house import say, speech
from tests.llm_server import LLMServer

from .model import calls

__all__ = ["FILE", "NIGHT", "Talk", "calls", "results", "with_files"]

FILE = """\
# The lamps of the house
- id: hall
  alias: Hall lamp  # since spring
  triggers:
    - trigger: time
      at: "07:00:00"
  actions:
    - action: light.turn_on
      target: {entity_id: light.bed_light}

- id: cellar
  alias: Cellar
  triggers: []
  actions: []
# end
"""
NIGHT: dict[str, Any] = {
    "name": "Door at night",
    "triggers": [{"trigger": "state", "entity_id": "lock.front_door", "to": "unlocked"}],
    "conditions": [{"condition": "time", "after": "21:00:00", "before": "06:00:00"}],
    "actions": [{"action": "light.turn_on", "target": {"entity_id": "light.bed_light"}}],
}


async def with_files(hass: HomeAssistant, **files: str) -> Path:
    """Set automations up from the files of the configuration folder; return the one of automations."""
    folder = Path(hass.config.config_dir)
    written = {"configuration.yaml": "automation: !include automations.yaml\n", "automations.yaml": FILE}
    for name, content in (written | {f"{name}.yaml": content for name, content in files.items()}).items():
        (folder / name).write_text(content)
    config = await async_hass_config_yaml(hass)
    for domain in ("script", "automation"):
        assert await async_setup_component(hass, domain, {domain: [] if domain == "automation" else {}, **config})
    await hass.async_block_till_done()
    return folder / "automations.yaml"


def results(server: LLMServer) -> list[str]:
    """Return the results of tools that the model was told last."""
    return [message["content"] for message in server.requests[-1].body["messages"] if message["role"] == "tool"]


class Talk:
    """One conversation of a user with the agent."""

    def __init__(self, hass: HomeAssistant, server: LLMServer, context: Context) -> None:
        """Take who speaks."""
        self.hass, self.server, self.context = hass, server, context
        self.conversation_id: str | None = None

    async def ask(self, *wanted: tuple[str, Mapping[str, Any]], words: str = "Please do") -> str:
        """Say something that the model answers with these calls; return the answer."""
        self.server.respond(calls(*wanted))
        return await self.say(words)

    async def say(self, words: str) -> str:
        """Say something; return the answer."""
        result = await say(self.hass, words, self.conversation_id, context=Context(user_id=self.context.user_id))
        self.conversation_id = result.conversation_id
        return speech(result)
