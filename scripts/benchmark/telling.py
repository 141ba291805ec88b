"""What Home Agent tells a model in each mode, and what its index of the home and its memory take: of Home Agent alone.

Imported once Home Agent is set up, so that it is the code of the measured installation.
"""

import gc
from itertools import islice, product
from statistics import median, quantiles
from time import perf_counter_ns, process_time_ns
import tracemalloc
from typing import Any

from homeassistant.core import CoreState, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.storage import Store
from homeassistant.util import dt as dt_util

from custom_components.home_agent.agent.runtime import HomeAgentConfigEntry
from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.memory.record import Draft, MemorySource, Scope
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.kept import kept_of, kept_things

from .requests import Laid, estimate_tokens, steps

MODES = ("auto", "direct", "retrieved", "both", "off")
WITH_MEMORIES = ("direct", "retrieved")
# What is said in a conversation of ten turns: questions about the house, as people ask them one after the other.
QUESTIONS = (
    "Is it cold in the bedroom?", "Turn on the ceiling light in the kitchen", "And in the living room?", "Which lights are on?",
    "What is the humidity in the kitchen?", "Close the blind in the bathroom", "Is the window in the bedroom open?",
    "How much power does the socket in the kitchen use?", "Turn everything off", "Thank you, good night",
)  # fmt: skip
NEW_NAME = "Zeppelin hangar lamp"
MEGABYTE = 1_000_000


async def choose(hass: HomeAssistant, entry: HomeAgentConfigEntry, mode: str | None) -> None:
    """Let the assistant tell states in this mode and remember all that is said; None: as it is set up."""
    subentry = next(item for item in entry.subentries.values() if item.subentry_type == "profile")
    settings = {"history_max_messages": 50, "history_max_tokens": 20_000, "context_mode": mode} if mode else {}
    hass.config_entries.async_update_subentry(entry, subentry, data=settings)
    await hass.async_block_till_done()


def told(requests: list[Laid]) -> dict[str, Any]:
    """Return the figures of a conversation with one request per turn."""
    changes = steps(requests)
    return {
        "first_tokens": estimate_tokens(requests[0].text),
        "stable_tokens": estimate_tokens(requests[0].text[: requests[0].stable]),
        "tokens": [estimate_tokens(request.text) for request in requests],
        "new_tokens": [step.new_tokens for step in changes],
        "share": min(step.share for step in changes),
    }


NAMES = ("Anna", "Leo", "Mia", "Otto", "Rosa", "Ilse", "Bruno", "Tom", "Emma", "Karl")
THINGS = ("violin", "bicycle", "passport", "tent", "ladder", "camera", "sledge", "helmet", "raincoat", "toolbox")
ROOMS = ("bedroom", "kitchen", "living room", "bathroom", "hall")
KEPT = (
    "{name} likes the {room} at {number} degrees at night", "The {thing} of {name} stands in the {room} beside shelf {number}",
    "{name} plays with the {thing} club on day {number} of each month", "{name} reads in the {room} with the light at {number} percent",
    "The {thing} that {name} bought costs {number} euros a year to insure", "{name} keeps the blind in the {room} half open until {number} o'clock",
)  # fmt: skip
TOLD_MEMORIES = 500
MANY_MEMORIES = 10_000
STARTS = 5


def kept(count: int) -> list[str]:
    """Return as many sentences of a family, no two alike; a third of them are about rooms of the house."""
    every = product(range(1, 1000), KEPT, NAMES, THINGS, ROOMS)
    step = len(KEPT) * len(NAMES) * len(THINGS) * len(ROOMS) // 1999 + 1
    lines = (
        line.format(name=name, thing=thing, room=room, number=number)
        for number, line, name, thing, room in islice(every, 0, None, step)
    )
    return list(islice(dict.fromkeys(lines), count))


async def remember(hass: HomeAssistant, entry: HomeAgentConfigEntry, count: int) -> None:
    """Let the house remember as many sentences, and nothing else."""
    await _start_ms(hass, entry, _stored(count))
    await kept_of(hass, Memories).async_load()
    await hass.async_block_till_done(wait_background_tasks=True)


def _stored(count: int) -> dict[str, Any]:
    """Return what stands in the file of as many memories."""
    now, drafts = dt_util.utcnow(), (Draft(content=line, source=MemorySource.SAID) for line in kept(count))
    memories = [draft.as_memory(now, days=0) for draft in drafts]
    return {"memories": [memory.as_dict() for memory in memories]}


async def _start_ms(hass: HomeAssistant, entry: HomeAgentConfigEntry, content: dict[str, Any]) -> float:
    """Load the entry with this file as Home Assistant starts; return how many milliseconds of computing that took."""
    await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    await Store[dict[str, Any]](hass, Memories.version, f"{DOMAIN}.{Memories.file}").async_save(content)
    hass.set_state(CoreState.not_running)
    gc.collect()
    start = process_time_ns()
    await hass.config_entries.async_setup(entry.entry_id)
    took = process_time_ns() - start
    hass.set_state(CoreState.running)
    return took / 1e6


async def memories(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> dict[str, Any]:
    """Return what a search in many memories takes, what they take in memory, and what they add to a start."""
    await remember(hass, entry, 0)
    gc.collect()
    tracemalloc.start()
    await remember(hass, entry, MANY_MEMORIES)
    gc.collect()
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    scope = Scope(owners=frozenset({None}), owner=None)
    searches: list[float] = []
    for _ in range(5):
        for question in (*QUESTIONS, *kept(10)):
            start = perf_counter_ns()
            await kept_of(hass, Memories).async_find(question, scope, counts_as_used=False)
            searches.append((perf_counter_ns() - start) / 1e6)
    count = len(kept_of(hass, Memories).of(None))
    await remember(hass, entry, 0)
    none, many = _stored(0), _stored(MANY_MEMORIES)
    starts = [(await _start_ms(hass, entry, none), await _start_ms(hass, entry, many)) for _ in range(STARTS)]
    await remember(hass, entry, 0)
    return {
        "memories": count,
        "query_ms": median(searches),
        "query_95_ms": quantiles(searches, n=20)[-1],
        "memory_mb": memory / MEGABYTE,
        "start_ms": median(filled - empty for empty, filled in starts),
    }


async def index(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> dict[str, Any]:
    """Return what building the index takes, what it keeps in memory, a search, and one change until it is found."""
    finder = entry.runtime_data.finder
    await finder.async_reindex(anew=True)
    built = finder.report.build_ms
    gc.collect()
    tracemalloc.start()
    await finder.async_reindex(anew=True)
    gc.collect()
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    searches: list[float] = []
    for _ in range(5):
        for question in QUESTIONS:
            start = perf_counter_ns()
            await finder.async_find(Query(text=question))
            searches.append((perf_counter_ns() - start) / 1e6)
    return {
        "entities": finder.report.entities,
        "build_ms": built,
        "memory_mb": memory / MEGABYTE,
        "query_ms": median(searches),
        "query_95_ms": quantiles(searches, n=20)[-1],
        "change_ms": await _change_ms(hass, entry),
        "names_ms": await _names_ms(entry),
    }


async def _names_ms(entry: HomeAgentConfigEntry) -> float:
    """Return how long the names of the home are looked for in a text."""
    names = (await entry.runtime_data.home.async_get()).names
    took: list[float] = []
    for _ in range(5):
        for question in QUESTIONS:
            start = perf_counter_ns()
            names.mentioned_in(question)
            took.append((perf_counter_ns() - start) / 1e6)
    return median(took)


async def _change_ms(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> float:
    """Return how long after a change of a name the entity is found by it."""
    finder = entry.runtime_data.finder
    registry = er.async_get(hass)
    entity_id = next(iter((await entry.runtime_data.home.async_get()).entities))
    start = perf_counter_ns()
    registry.async_update_entity(entity_id, name=NEW_NAME)
    while True:
        found = await finder.async_find(Query(text=NEW_NAME))
        if found and found[0].entity_id == entity_id:
            took = (perf_counter_ns() - start) / 1e6
            registry.async_update_entity(entity_id, name=None)
            return took
