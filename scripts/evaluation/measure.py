"""Asks the index of the integration about every case of a home, and notes where the targets came."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
import time

from homeassistant.core import HomeAssistant

from custom_components.home_agent.client.messages import raw_estimate
from custom_components.home_agent.home.domains import NAMED
from custom_components.home_agent.home.snapshot import HomeSnapshot
from custom_components.home_agent.home.states import describe
from custom_components.home_agent.languages.vocabulary import Language, Languages
from custom_components.home_agent.search.entity_documents import async_entity_documents
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.search.ranking import Ranker, relevant

from .dataset import Case, Home
from .embedding import Near, Nearest
from .house import async_living_in

LIMIT = 40  # entities that are asked for
NOWHERE = 100_000  # the rank of what was not found


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one case."""

    case: Case
    rank: int
    """Of the worst placed target, from 0; `NOWHERE` where one was not found."""
    found: int
    told: bool
    """Whether all targets are among what a model would be told: what fits far worse than the best is not."""
    tokens: int
    """Of what would be told, as lines with state."""
    seconds: float
    """Of computing: what else the machine does is not counted."""


@dataclass(slots=True)
class Knowledge:
    """What is loaded once for all homes."""

    languages: dict[str, Language]
    nearest: Nearest | None


async def async_ask(home: Home, cases: Iterable[Case], knowledge: Knowledge) -> AsyncIterator[Answer]:
    """Yield what becomes of every case whose targets this home has."""
    async with async_living_in(home) as (hass, snapshot, areas):
        documents = await async_entity_documents(hass, snapshot)
        ranker = Ranker(documents.values())
        near = await knowledge.nearest.async_index(hass, documents.values()) if knowledge.nearest else None
        for case in cases:
            if set(case.wanted) <= documents.keys():
                language = await _async_language(hass, case.language, knowledge.languages)
                query = Query(text=case.text, language=case.language, area_id=areas.get(case.area or ""), limit=LIMIT)
                yield await _async_answer(hass, ranker, case, query, language, snapshot, near)


async def _async_language(hass: HomeAssistant, code: str, known: dict[str, Language]) -> Language:
    if code not in known:
        known[code] = await Languages(hass, NAMED).async_get(code)
    return known[code]


async def _async_answer(
    hass: HomeAssistant,
    ranker: Ranker,
    case: Case,
    query: Query,
    language: Language,
    snapshot: HomeSnapshot,
    near: Near | None,
) -> Answer:
    nearest: Sequence[str] = await near(query.text, query.limit) if near else ()
    began = time.thread_time()
    found = ranker.rank(query, language, nearest)
    seconds = time.thread_time() - began
    ranks = {item.entity_id: rank for rank, item in enumerate(found)}
    told = [item.entity_id for item in relevant(found)]
    return Answer(
        case=case,
        rank=max(ranks.get(entity_id, NOWHERE) for entity_id in case.wanted),
        found=len(found),
        told=set(case.wanted) <= set(told),
        tokens=sum(_tokens(hass, snapshot, entity_id) for entity_id in told),
        seconds=seconds,
    )


def _tokens(hass: HomeAssistant, snapshot: HomeSnapshot, entity_id: str) -> int:
    """Return the tokens of a line with id, state and name of an entity."""
    entity, state = snapshot.entities[entity_id], hass.states.get(entity_id)
    area = snapshot.areas.get(entity.area_id or "")
    line = f'"{entity_id}":"{describe(state) if state else ""} ({entity.names[0]}, {area.names[0] if area else ""})",'
    return int(raw_estimate(line.encode()))


def shares(answers: Sequence[Answer], firsts: Sequence[int]) -> Mapping[int, float]:
    """Return for each number how many percent of the cases have all targets among so many first entities.

    A case with more targets than that counts when all of them come before everything else.
    """
    return {
        first: 100 * sum(answer.rank < max(first, len(answer.case.wanted)) for answer in answers) / max(1, len(answers))
        for first in firsts
    }
