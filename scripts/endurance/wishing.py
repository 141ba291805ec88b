"""A home of lamps that obeys the lines of its standard input, until it is killed: it makes wishes, and changes what they wait for.

What happens to a lamp is written to a file outside of Home Assistant, and is on the disk before the lamp is on.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
import json
import os
from pathlib import Path
import random
import sys
import time
from types import MappingProxyType
from typing import Any

from homeassistant import runner
from homeassistant.auth.const import GROUP_ID_ADMIN
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import Context, Event, HomeAssistant, ServiceCall as CalledService, callback
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util

from custom_components.home_agent.policy.wishing import CancelWishes, ChangeWish, MakeWish
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN, LLM_NONE
from custom_components.home_agent.turn.events import WISH_DONE, WISH_FAILED
from custom_components.home_agent.turn.plan import ServiceCall
from custom_components.home_agent.turn.turn import Turn
from custom_components.home_agent.wishes.when import Watch, When
from custom_components.home_agent.wishes.wish import Step, Wish, WishKind
from custom_components.home_agent.wishes.wishes import wishes_of
from scripts.benchmark.instance import boot
from tests.e2e.process import http_settings
from tests.ports import free_port

from .witness import STATES, WITNESS, lamp, sensor

CONFIGURATION = "homeassistant:\n  name: Wishes\nlogger:\n  default: warning\n"
SLOW = 0.5  # seconds
CODE = Path(__file__).resolve().parents[2] / "custom_components"


class Wished:
    """The home, while it lasts."""

    def __init__(self, hass: HomeAssistant, folder: Path, entry: ConfigEntry[Any], user_id: str) -> None:
        """Take a Home Assistant that has started."""
        self.hass = hass
        self.entry = entry
        self._user_id = user_id
        self._file = os.open(folder / WITNESS, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._states: dict[str, str] = json.loads((folder / STATES).read_text())
        for event in (WISH_DONE, WISH_FAILED):
            hass.bus.async_listen(event, self._note_end)

    @callback
    def furnish(self) -> None:
        """Add the lamps and what wishes wait for; only now there is something to be done."""
        for service in ("turn_on", "turn_off"):
            self.hass.services.async_register("light", service, self._switch)
        for entity_id in self._states:
            async_expose_entity(self.hass, ASSISTANT, entity_id, True)
        for entity_id, state in self._states.items():
            self.hass.states.async_set(entity_id, state)

    async def _switch(self, call: CalledService) -> None:
        """Switch lamps as devices do that take their time, before and after."""
        await asyncio.sleep(random.uniform(0, SLOW))
        named = call.data["entity_id"]
        for entity_id in [named] if isinstance(named, str) else named:
            self._write("effect", entity_id)
            self.hass.states.async_set(entity_id, call.service.removeprefix("turn_"), context=call.context)
        await asyncio.sleep(random.uniform(0, SLOW))

    @callback
    def _note_end(self, event: Event[Mapping[str, Any]]) -> None:
        self._write(str(event.event_type).rpartition(".")[2], event.data["wish_id"], event.data["reason"])

    def _write(self, *words: str) -> None:
        """Write one line, and have it on the disk."""
        os.write(self._file, f"{' '.join((*words, f'{time.time():.3f}'))}\n".encode())
        os.fsync(self._file)

    async def obey(self, command: dict[str, Any]) -> Any:
        """Do what a line says; what comes back is what is acknowledged."""
        match command:
            case {"do": "flip", "entity_id": entity_id}:
                self.hass.states.async_set(entity_id, "on")
                return True
            case {"do": "left"}:
                return [wish.id for wish in wishes_of(self.hass).all()]
            case {"do": "make", "number": int(number)}:
                wish = self._wish(number, command)
                return await self._call(MakeWish(wish)) and wish.when.at and wish.when.at.timestamp()
            case {"do": verb, "number": number}:
                if (known := wishes_of(self.hass).get(f"wish-{number}")) is None:
                    return False
                if verb == "cancel":
                    return await self._call(CancelWishes([known]))
                at = dt_util.utcnow() + timedelta(seconds=command["seconds"])
                changed = Wish.from_dict({**known.as_dict(), "when": replace(known.when, at=at).as_dict()})
                return await self._call(ChangeWish(changed)) and at.timestamp()
        raise ValueError(command)

    def _wish(self, number: int, asked: Mapping[str, Any]) -> Wish:
        call = ServiceCall(domain="light", service="turn_on", entity_ids=(lamp(number),), data={})
        conditions: tuple[Watch, ...] = ()
        if asked.get("condition"):
            conditions = (Watch(entity_ids=(asked["condition"],), states=("on",)),)
        now, seconds = dt_util.utcnow(), timedelta(seconds=asked["seconds"])
        if asked["event"]:
            event, until = Watch(entity_ids=(sensor(number),), states=("on",)), asked.get("until")
            when = When(
                event=event,
                delay=int(asked["seconds"]),
                until=datetime.fromtimestamp(until, dt_util.UTC) if until else None,
                conditions=conditions,
            )
        else:
            when = When(at=now + seconds, conditions=conditions)
        [profile] = self.entry.runtime_data.profiles.values()
        return Wish(
            id=f"wish-{number}",
            kind=WishKind.ACTION,
            words=f"turn on lamp {number}",
            steps=(Step(effects=(call.as_dict(),), targets=call.entity_ids),),
            when=when,
            made=now,
            user_id=self._user_id,
            agent_id=profile.subentry_id,
            language="en",
        )

    async def _call(self, tool: MakeWish | CancelWishes | ChangeWish) -> bool:
        """Return whether the policy let it be done."""
        runtime = self.entry.runtime_data
        [profile] = runtime.profiles.values()
        user = await self.hass.auth.async_get_user(self._user_id)
        turn = Turn(
            profile=profile,
            conversation_id="endurance",
            text="",
            language="en",
            context=Context(user_id=self._user_id),
            user=user,
            direct=True,
        )
        result = await runtime.policy.async_call(
            turn, tool, llm.ToolInput(tool_name=tool.name, tool_args={}, external=True)
        )
        if result.error:
            print(f"refused: {result.data}", file=sys.stderr, flush=True)
        return not result.error


async def _set_up(hass: HomeAssistant) -> None:
    """Add a user and the agent, and end in order."""
    await hass.auth.async_create_user("Owner", group_ids=[GROUP_ID_ADMIN])
    subentries: list[Any] = [
        {"subentry_type": "profile", "title": "Local", "data": {"llm": LLM_NONE}, "unique_id": None}
    ]
    entry: ConfigEntry[Any] = ConfigEntry(
        data={},
        discovery_keys=MappingProxyType({}),
        domain=DOMAIN,
        minor_version=1,
        options={"throttle_turns": 100_000},
        source="user",
        subentries_data=subentries,
        title="Home Agent",
        unique_id=None,
        version=2,
    )
    await hass.config_entries.async_add(entry)
    await hass.async_block_till_done()
    await hass.async_stop(force=True)


async def main(folder: Path, *, first: bool) -> None:
    """Start, say so, and obey."""
    if first:
        (folder / "configuration.yaml").write_text(CONFIGURATION)
        (folder / "custom_components").symlink_to(CODE)
        (folder / ".storage").mkdir()
    (folder / ".storage" / "http").write_text(json.dumps(http_settings("127.0.0.1", free_port())))
    hass = await boot(folder)
    if first:
        await _set_up(hass)
        return
    [entry] = hass.config_entries.async_entries(DOMAIN)
    [user] = [user for user in await hass.auth.async_get_users() if user.name == "Owner"]
    home = Wished(hass, folder, entry, user.id)
    home.furnish()
    answer: Any = "ready"
    while True:
        print(json.dumps({"answer": answer}), flush=True)
        if not (line := await hass.async_add_executor_job(sys.stdin.readline)):
            os._exit(0)
        answer = await home.obey(json.loads(line))


if __name__ == "__main__":
    loop = runner.create_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(main(Path(sys.argv[1]), first=sys.argv[2:] == ["first"]))
