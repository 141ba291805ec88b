"""What Home Agent tells a model in each mode, and what its index of the home takes: of Home Agent alone.

Imported once Home Agent is set up, so that it is the code of the measured installation.
"""

import gc
from statistics import median, quantiles
from time import perf_counter_ns
import tracemalloc
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from custom_components.home_agent.agent.runtime import HomeAgentConfigEntry
from custom_components.home_agent.search.model import Query

from .requests import Laid, estimate_tokens, steps

MODES = ("auto", "direct", "retrieved", "both", "off")
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
    }


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
