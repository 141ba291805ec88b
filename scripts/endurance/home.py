"""A home in this process with an agent of each sort, what is said to them, and what is counted.

Imported once the clock can be moved on (scripts/benchmark/clock.py), so that sessions end without anybody waiting for them.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
import gc
import json
import os
from pathlib import Path
from typing import Any

from homeassistant.auth.const import GROUP_ID_ADMIN
from homeassistant.components import conversation
from homeassistant.components.intent import TimerEventType, TimerInfo, async_register_timer_handler
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers import chat_session, device_registry as dr, entity_registry as er, issue_registry as ir

from scripts.benchmark import clock
from scripts.benchmark.house import House
from scripts.benchmark.instance import boot, set_up
from tests.e2e.process import http_settings
from tests.embedding_server import EmbeddingServer
from tests.llm_replies import JSON
from tests.llm_server import LLMServer, Reply, text, tool_call
from tests.ports import free_port

from .counts import SIZE, Counts

OURS = "home_agent"
OVER = 2.2 * chat_session.CONVERSATION_TIMEOUT.total_seconds()
"""Seconds until a session is over: it is looked for every five minutes, and let go when it is that old."""
LONGEST_LIMIT = 960.0
"""Seconds after which no time limit of a turn is due any more: a cancelled timer stays until it is."""
STEP = 60.0
PAUSE = 0.03  # seconds between two words of an answer
LOOKUPS: tuple[dict[str, Any], ...] = (
    {"retrieval": {"embedding_model": "one"}},
    {"retrieval": {"embedding_model": "two", "collection": "other_entities"}},
    {"retrieval": {"embedding_model": "two", "top_k": 9}, "memory": {"collection": "other_memories"}},
    {"memory": {"enabled": False}},
    {"memory": {"extraction": True, "cleanup_interval": 2}},
)
"""Settings of search and memory that take turns; where there is a model, it is that of the home."""
QUESTION = "Is everything all right at home?"


class Home:
    """The home, its agents and its model."""

    def __init__(
        self,
        hass: HomeAssistant,
        house: House,
        server: LLMServer,
        agents: dict[str, str],
        user_id: str,
        embeddings: EmbeddingServer,
    ) -> None:
        """Keep the parts; `agents` are conversation entities by kind of turn."""
        self.hass = hass
        self.house = house
        self.kinds = [*agents, "waiting for a yes", "delayed"]
        self._server = server
        self._embeddings = embeddings
        self._agents = agents
        self._user_id = user_id
        self._number = 0
        self._device_id = self._satellite()

    def _satellite(self) -> str:
        """Return a device with timers, to which commands for later are said."""
        [entry] = self.hass.config_entries.async_entries(OURS)
        device = dr.async_get(self.hass).async_get_or_create(
            config_entry_id=entry.entry_id, identifiers={("endurance", "satellite")}, name="Satellite"
        )

        @callback
        def handle(_kind: TimerEventType, _timer: TimerInfo) -> None:
            """Show nothing."""

        async_register_timer_handler(self.hass, device.id, handle)
        return device.id

    async def say(self, kind: str) -> str:
        """Say something of a kind in a conversation of its own, and return what was answered."""
        self._number += 1
        name, _ = self.house.dark_lamp(self._number)
        agent, said, device_id = self._agents.get(kind, self._agents["local"]), QUESTION, None
        if kind == "local":
            said = f"turn on the {name}"
        elif kind == "waiting for a yes":
            said = f"turn on the {self.house.still_fan(self._number)}"
        elif kind == "delayed":
            said, device_id = f"turn on the {name} in 5 minutes", self._device_id
        result = await conversation.async_converse(
            self.hass, said, None, Context(user_id=self._user_id), language="en", agent_id=agent, device_id=device_id
        )
        self._server.requests.clear()  # it keeps all that it was asked, which is much more than what is looked for
        return str(result.response.speech.get("plain", {}).get("speech", ""))

    def change_settings(self, number: int) -> None:
        """Set search and memory to the next of `LOOKUPS`."""
        [entry] = self.hass.config_entries.async_entries(OURS)
        chosen, model = LOOKUPS[number % len(LOOKUPS)], {"embedding": "endpoint", "embedding_preset": "custom"}
        others = {key: value for key, value in entry.options.items() if key not in ("retrieval", "memory")}
        if "retrieval" in chosen:
            model["embedding_url"] = self._embeddings.base_url
            chosen = {**chosen, "retrieval": {**model, **chosen["retrieval"]}}
        self._embeddings.requests.clear()
        self._embeddings.headers.clear()
        self.hass.config_entries.async_update_entry(entry, options={**others, **chosen})

    def trouble(self) -> str | None:
        """Return the first issue of ours that Repairs shows."""
        return next((issue_id for domain, issue_id in ir.async_get(self.hass).issues if domain == OURS), None)

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, with all that happens in it."""
        while seconds > 0:
            clock.pass_time(min(STEP, seconds))
            seconds -= STEP
            await asyncio.sleep(0.02)
            await self.hass.async_block_till_done()

    async def counts(self) -> Counts:
        """Return what there is once all sessions are over and no time limit is due."""
        await self.pass_time(OVER + LONGEST_LIMIT)
        await self.hass.async_block_till_done(wait_background_tasks=True)
        gc.collect()
        loop = asyncio.get_running_loop()
        timers = [timer for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]  # noqa: SLF001
        return Counts(
            listeners=sum(self.hass.bus.async_listeners().values()),
            timers=len(timers),
            tasks=len(asyncio.all_tasks()),
            resident=await self.hass.async_add_executor_job(_resident),
            objects=Counter(filter(None, map(_own_class, gc.get_objects()))),
        )


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _own_class(item: object) -> str | None:
    """Return the class of an object of ours, after its module."""
    kind, prefix = type(item), f"custom_components.{OURS}."
    module = kind.__module__
    return f"{module.removeprefix(prefix)}.{kind.__qualname__}" if str(module).startswith(prefix) else None


def answer(agents: Callable[[], dict[str, str]]) -> Callable[[JSON], Reply]:
    """Return what the model answers: it calls the one tool that an agent of its sort has for this, then speaks."""

    def reply(body: JSON) -> Reply:
        messages, tools = body["messages"], {tool["function"]["name"] for tool in body.get("tools", ())}
        from scripts.benchmark.together import ASK, SPLIT

        begins = str(messages[0]["content"])
        if (split := next((said for start, said in SPLIT.items() if begins.startswith(start)), None)) is not None:
            return text(split)
        if messages[-1]["role"] != "tool":
            if slow := next((name for name in sorted(tools) if "wait_" in name), None):
                return tool_call(slow, {})
            if name := next(iter(ASK.keys() & tools), None):
                return tool_call(name, ASK[name])
        return text("All is well, and nobody is at the door.", pause=PAUSE)

    return reply


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Home]:
    """Start the home with its agents, in a folder with the code."""
    server, embeddings = LLMServer(), EmbeddingServer()
    await server.start()
    await embeddings.start()
    stored = folder / ".storage" / "http"
    stored.parent.mkdir()
    stored.write_text(json.dumps(http_settings("127.0.0.1", free_port())))  # several may run at once
    hass = await boot(folder)
    house = House(hass, SIZE)
    house.build()
    user = await hass.auth.async_create_user("Owner", group_ids=[GROUP_ID_ADMIN])
    first = await set_up(hass, OURS, int(server.base_url.rpartition(":")[2].partition("/")[0]))
    agents = {"streaming": first}
    server.respond(answer(lambda: agents))
    agents |= await _more_agents(hass)
    [entry] = hass.config_entries.async_entries(OURS)
    hass.config_entries.async_update_entry(entry, options={**entry.options, "always_confirm": ["fan"]})
    await hass.async_block_till_done()
    try:
        yield Home(hass, house, server, agents, user.id, embeddings)
    finally:
        await hass.async_stop(force=True)
        await server.stop()
        await embeddings.stop()


async def _more_agents(hass: HomeAssistant) -> dict[str, str]:
    """Add the agents of other sorts; return their conversation entities by kind of turn."""
    from scripts.benchmark import together, tools

    agents: dict[str, str] = {"tool": await tools.add_patient_profile(hass), **await together.add_agents(hass)}
    [entry] = hass.config_entries.async_entries(OURS)
    local: Any = together._profile("Local", local_first=True)  # noqa: SLF001 - an agent as the others are
    hass.config_entries.async_add_subentry(entry, local)
    await hass.async_block_till_done()
    for _ in range(100):
        found = er.async_get(hass).async_get_entity_id("conversation", OURS, local.subentry_id)
        if found and hass.states.get(found):
            return {"local": found, **agents}
        await asyncio.sleep(0.1)
    raise RuntimeError("the agents were not set up")
