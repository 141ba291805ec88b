"""The house with its automations in files, and who asks for others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant
import yaml  # type: ignore[import-untyped]

from tests.automations.home import results

from .world import AUTOMATIONS, SCENES, SCRIPTS, Witness

LIGHT = "light.bed_light"
OWN = """\
# by hand; nobody touches this
- id: alarm
  alias: Alarm at night
  triggers:
    - trigger: time
      at: "23:00:00"
  actions:
    - action: light.turn_off
      target: {entity_id: light.bed_light}
# the end
"""
TURN_ON: Mapping[str, Any] = {"action": "light.turn_on", "target": {"entity_id": LIGHT}}
EIGHT: Mapping[str, Any] = {"trigger": "time", "at": "08:00:00"}


async def with_files(hass: HomeAssistant, own: str = OWN) -> Path:
    """Let automations, scripts and scenes stand in files; return the one of automations."""
    folder = Path(hass.config.config_dir)
    lines = "".join(f"{name}: !include {name}s.yaml\n" for name in ("automation", "script", "scene"))
    (folder / "configuration.yaml").write_text(lines)
    file = folder / "automations.yaml"
    file.write_text(f"{own}{yaml.safe_dump(AUTOMATIONS)}")
    (folder / "scripts.yaml").write_text(yaml.safe_dump(SCRIPTS))
    (folder / "scenes.yaml").write_text(yaml.safe_dump(SCENES))
    await hass.services.async_call("automation", "reload", blocking=True)
    await hass.async_block_till_done()
    assert hass.states.get("automation.alarm_at_night") is not None
    return file


async def rewrite(hass: HomeAssistant, kind: str, content: Any) -> None:
    """Rewrite the scripts, scenes or automations, and reload them."""
    folder = Path(hass.config.config_dir)
    written = content if isinstance(content, str) else yaml.safe_dump(content)
    (folder / f"{kind}s.yaml").write_text(written)
    await hass.services.async_call(kind, "reload", blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)


def automation(*actions: Mapping[str, Any], trigger: Any = EIGHT, **more: Any) -> dict[str, Any]:
    """Return an automation as a model asks for it."""
    triggers = [trigger] if isinstance(trigger, Mapping) else trigger
    return {"name": "Test", "triggers": triggers, "actions": [*(actions or (TURN_ON,))], **more}


def made(file: Path, alias: str = "Test") -> dict[str, Any] | None:
    """Return the automation in the file that has a name, None if there is none."""
    found = yaml.safe_load(file.read_text()) or []
    return next((item for item in found if item.get("alias") == alias), None)


def told(witness: Witness) -> str:
    """Return all results that the model was told last."""
    return "\n".join(results(witness.server))
