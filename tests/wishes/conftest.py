"""A home with nothing but wishes in it, which notes what is handed over. What does them for real is tested in tests/agent."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
import json
from pathlib import Path
import time
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed

from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.kept import kept_things
from custom_components.home_agent.turn.plan import ServiceCall
from custom_components.home_agent.wishes.due import Due, Stays
from custom_components.home_agent.wishes.waiting import Waiting
from custom_components.home_agent.wishes.when import Watch, When
from custom_components.home_agent.wishes.wish import Step, Wish, WishKind
from custom_components.home_agent.wishes.wishes import Wishes, wishes_of
from tests.stored import hass_storage

__all__ = ["hass_storage"]

NOW = datetime(2026, 11, 24, 18, 0, tzinfo=dt_util.UTC)
LAMP = "light.lamp"


@dataclass(slots=True)
class World:
    """The wishes of a home and what becomes of them."""

    hass: HomeAssistant
    freezer: FrozenDateTimeFactory
    agents: set[str] = field(default_factory=lambda: {"agent"})
    done: list[tuple[Wish, Due]] = field(default_factory=list)
    asks: set[str] = field(default_factory=set)
    """Ids of wishes whose user is asked when they are due."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """Closed: what is begun does not end."""
    held: set[asyncio.Task[Any] | None] = field(default_factory=set)
    """Tasks that wait at the gate."""
    entry: MockConfigEntry | None = None
    waiting: Waiting | None = None
    fires_all: bool = False
    """Whether timers fire as if their time had come: the clock was set back, and they go by another one."""
    before: Callable[[Wish], None] = lambda _wish: None
    """Called when a wish is handed over."""

    @property
    def wishes(self) -> Wishes:
        return wishes_of(self.hass)

    @property
    def path(self) -> Path:
        return Path(self.hass.config.path(".storage", "home_agent.wishes"))

    @property
    def ids(self) -> list[str]:
        """Ids of what was handed over, in its order."""
        return [wish.id for wish, _ in self.done]

    @property
    def reasons(self) -> dict[str, str]:
        return {wish.id: due.reason.value for wish, due in self.done}

    def due(self, wish_id: str) -> Due:
        [found] = [due for wish, due in self.done if wish.id == wish_id]
        return found

    async def start(self) -> None:
        """Set up, as the entry does."""
        self.path.parent.mkdir(exist_ok=True)
        self.entry = MockConfigEntry(domain=DOMAIN)
        self.entry.add_to_hass(self.hass)
        await self.wishes.async_open(self.entry.entry_id, lambda *_: None)
        self.entry.async_on_unload(self.wishes.async_close)
        self.waiting = Waiting(self.hass, self.wishes, self.run, self.agents)
        self.waiting.async_start(self.entry)
        await self.hass.async_block_till_done()

    async def stop(self) -> None:
        """Unload, as the entry does."""
        assert self.entry is not None
        await self.entry._async_process_on_unload(self.hass)
        self.entry = None

    async def restart(self, *, after: timedelta = timedelta()) -> None:
        """Start again with nothing but the file, so much later."""
        await self.stop()
        kept_things(self.hass).forget()
        self.freezer.tick(after)
        await self.start()

    async def kill(self) -> None:
        """End as after a power cut: what is in the file now is all that is left."""
        content = self.path.read_bytes() if self.path.exists() else None
        await self.stop()
        if content is not None:
            self.path.write_bytes(content)
        kept_things(self.hass).forget()

    async def run(self, wish: Wish, due: Due) -> Stays | None:
        self.before(wish)
        self.done.append((wish, due))
        task = asyncio.current_task()
        self.held.add(task)
        try:
            await self.gate.wait()
        finally:
            self.held.discard(task)
        return Stays() if wish.id in self.asks and due.reason != "asked" else None

    async def pass_time(self, seconds: float) -> None:
        self.freezer.tick(seconds)
        await self.settle()

    async def go_to(self, moment: datetime) -> None:
        self.freezer.move_to(moment)
        await self.settle()

    async def settle(self) -> None:
        """Let what is due be done."""
        for _ in range(3):
            async_fire_time_changed(self.hass, fire_all=self.fires_all)
            if self.gate.is_set():
                await self.hass.async_block_till_done()
            else:
                await self._until_held()

    async def _until_held(self) -> None:
        """Wait until nothing goes on any more but what is held at the gate. The loop's clock stands still meanwhile."""
        for _ in range(3000):
            for _ in range(10):  # what was cancelled just now is over then
                await asyncio.sleep(0)
            if not {task for task in self.hass._tasks if not task.done()} - self.held - {asyncio.current_task()}:
                return
            await asyncio.to_thread(time.sleep, 0.01)
        pytest.fail("Something never ends")

    def put(self, wish_id: str, when: When | None = None, **fields: Any) -> Wish:
        wish = self.wish(wish_id, when or self.after(60), **fields)
        self.wishes.put(wish)
        return wish

    def wish(self, wish_id: str, when: When, **fields: Any) -> Wish:
        common: dict[str, Any] = {
            "kind": WishKind.TELL, "words": "tell me", "text": wish_id, "made": dt_util.utcnow(), "agent_id": "agent",
            "language": "en",
        }  # fmt: skip
        return Wish(id=wish_id, when=when, **common | fields)

    @staticmethod
    def after(seconds: float) -> When:
        return When(at=dt_util.utcnow() + timedelta(seconds=seconds))

    @staticmethod
    def step(*targets: str) -> Step:
        effect = ServiceCall(domain="light", service="turn_off", entity_ids=targets, data={})
        return Step(effects=(effect.as_dict(),), targets=targets)

    def stored(self) -> dict[str, dict[str, Any]]:
        """Return the rows of the file by id."""
        return {row["id"]: row for row in json.loads(self.path.read_text())["data"]["items"]}

    def write(self, *rows: Mapping[str, Any]) -> None:
        self.path.parent.mkdir(exist_ok=True)
        content = {"version": 1, "minor_version": 1, "key": self.path.name, "data": {"items": [*rows]}}
        self.path.write_text(json.dumps(content))

    def now_with(self, wish_id: str, **fields: Any) -> None:
        """Change a wish."""
        wish = self.wishes.get(wish_id)
        assert wish is not None
        self.wishes.put(replace(wish, **fields))


def becomes(entity_id: str, *states: str, **fields: Any) -> When:
    """Return the event of an entity that gets one of these states."""
    delay, until, conditions = (
        fields.pop(name, default) for name, default in (("delay", 0), ("until", None), ("conditions", ()))
    )
    watch = Watch(entity_ids=(entity_id, *fields.pop("more", ())), states=states, **fields)
    return When(event=watch, delay=delay, until=until, conditions=conditions)


@pytest.fixture
async def world(hass: HomeAssistant, house: None, freezer: FrozenDateTimeFactory) -> AsyncGenerator[World]:
    freezer.move_to(NOW)
    world = World(hass, freezer)
    world.gate.set()
    await world.start()
    yield world
    world.gate.set()
    if world.entry is not None:
        await world.stop()
