"""How long building and asking the index takes, and how much memory it has, in a large home."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import gc
from statistics import median, quantiles
import time
import tracemalloc

from custom_components.home_agent.home.domains import NAMED
from custom_components.home_agent.languages.vocabulary import Languages
from custom_components.home_agent.search.entity_documents import async_entity_documents
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.search.ranking import Ranker

from .dataset import Case, Home
from .house import async_living_in
from .measure import LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """In milliseconds of computing, if nothing else is said."""

    entities: int
    read: float
    """All documents out of the registries, in slices on the event loop."""
    build: float
    """The index of them, in the executor."""
    change: float
    """One entity that changed, until it can be found."""
    query: float
    """Half of the queries take longer."""
    query_95: float
    """One query in twenty takes longer."""
    language: float
    """The words of a language, once."""
    memory: float
    """Of the index with all documents, in MB."""


async def async_speed(home: Home, cases: Sequence[Case]) -> Speed:
    """Measure with one home and requests for it."""
    async with async_living_in(home) as (hass, snapshot, _):
        gc.freeze()  # the homes of the other measurements: a collection in mid-build would walk all of them
        began = time.process_time()
        language = await Languages(hass, NAMED).async_get("en")
        learned = time.process_time()
        documents = await async_entity_documents(hass, snapshot)
        read = time.process_time()
        ranker = Ranker(documents.values())
        built = time.process_time()
        ranker.change((), [next(iter(documents.values()))])
        changed = time.process_time()
        seconds = []
        for case in cases:
            start = time.process_time()
            ranker.rank(Query(text=case.text, language=case.language, limit=LIMIT), language)
            seconds.append(time.process_time() - start)
        tracemalloc.start()
        again = await async_entity_documents(hass, snapshot)
        _kept = Ranker(again.values())
        memory = tracemalloc.get_traced_memory()[0] / 1e6
        tracemalloc.stop()
        return Speed(
            entities=len(documents),
            read=1000 * (read - learned),
            build=1000 * (built - read),
            change=1000 * (changed - built),
            query=1000 * median(seconds),
            query_95=1000 * quantiles(seconds, n=20)[-1],
            language=1000 * (learned - began),
            memory=memory,
        )


def enlarged(home: Home, size: int) -> Home:
    """Return the home with copies of itself, as further wings of the building, until it has so many entities."""
    entities, areas, devices = list(home["entities"]), list(home["areas"]), list(home["devices"])
    wing = 1
    while len(entities) < size:
        wing += 1
        entities += [_moved(row, wing) for row in home["entities"][: size - len(entities)]]
        areas += [{**row, "id": f"{row['id']}_{wing}", "name": f"Wing {wing} {row['name']}"} for row in home["areas"]]
    return {**home, "entities": entities, "areas": areas, "devices": devices}


def _moved(row: Mapping[str, object], wing: int) -> dict[str, object]:
    return {
        **row,
        "entity_id": f"{row['entity_id']}_wing_{wing}",
        "name": f"Wing {wing} {row['name']}",
        "area": f"{row['area']}_{wing}" if row["area"] else None,
    }
