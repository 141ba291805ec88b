"""A real Home Assistant with a house and one agent, which obeys the lines of its standard input."""

import json
import os
from pathlib import Path
import sys
from typing import Any

from homeassistant import runner
from homeassistant.auth.const import GROUP_ID_ADMIN
from homeassistant.bootstrap import async_setup_hass
from homeassistant.const import __version__ as HA_VERSION
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from .agents import AGENTS, point_open_router_at
from .control import Control
from .house import House
from .measure import Measure


async def boot(folder: Path) -> HomeAssistant:
    """Start Home Assistant with what a new installation has, and nothing of the house."""
    config = runner.RuntimeConfig(config_dir=str(folder), skip_pip=True, log_file=str(folder / "home-assistant.log"))
    hass = await async_setup_hass(config)
    if hass is None:
        raise RuntimeError("Home Assistant did not start")
    await hass.async_start()
    await hass.async_block_till_done()
    return hass


async def set_up(hass: HomeAssistant, name: str, port: int) -> str:
    """Add the agent; return the entity id of its conversation entity."""
    url = f"http://127.0.0.1:{port}"
    if name == "open_router":
        await hass.async_add_executor_job(point_open_router_at, url)
    entry = AGENTS[name].entry(url)
    await hass.config_entries.async_add(entry)
    await hass.async_block_till_done()
    entities = er.async_entries_for_config_entry(er.async_get(hass), entry.entry_id)
    ids = [entity.entity_id for entity in entities if entity.domain == "conversation"]
    if not ids:
        raise RuntimeError(f"{name} was not set up: {entry.state} {entry.reason}")
    return ids[0]


async def serve(name: str, size: int, port: int, folder: Path) -> None:
    """Boot, then obey."""
    hass = await boot(folder)
    house = House(hass, size)
    house.build()
    await hass.async_block_till_done()
    user = await hass.auth.async_create_user("Bench", group_ids=[GROUP_ID_ADMIN])
    agent_id = await set_up(hass, name, port)
    measure = Measure(hass, house, Control(port), agent_id, user.id)
    answer: Any = {"ready": name, "version": HA_VERSION}
    while True:
        print(json.dumps(answer), flush=True)
        line = await hass.async_add_executor_job(sys.stdin.readline)
        if not line:
            os._exit(0)  # nothing here is worth an orderly end
        command = json.loads(line)
        answer = await getattr(measure, command.pop("do"))(**command)
