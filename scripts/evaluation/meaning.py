"""What vectors find for requests that name nothing of the home ("I am freezing"), and for those that mean nothing in it.

For each least cosine: how often one of the entities that would help is told, beside how many that would not. What words find is
counted in both, so the row without vectors says what the model adds.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
import json
from pathlib import Path
from statistics import mean

from custom_components.home_agent.home.domains import NAMED
from custom_components.home_agent.languages.vocabulary import Language, Languages
from custom_components.home_agent.search.entity_documents import async_entity_documents
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.search.ranking import Ranker, relevant
from custom_components.home_agent.settings.search import RetrievalSettings

from .dataset import AS_IT_IS, Dataset
from .embedding import Nearest
from .house import async_living_in
from .measure import LIMIT

REQUESTS = Path(__file__).with_name("meaning.json")
"""Requests by language, with the domains of which any entity would help; none: a request that means nothing in a home."""
THRESHOLDS = (0.2, 0.25, 0.3, 0.7, 0.82)
NEAREST = RetrievalSettings().top_k
EVERY = 12  # one home of so many, beside one of each language
LEAST = 15  # entities of a home


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What became of one request at one least cosine."""

    threshold: float | None
    """None: without vectors."""
    means_something: bool
    helpful: int
    """Entities told that would help."""
    others: int


async def async_measure(data: Dataset, url: str, model: str) -> AsyncIterator[Asked]:
    """Yield what becomes of every request in some of the homes."""
    nearest = Nearest(url, model, -1.0)
    requests = json.loads(REQUESTS.read_text(encoding="utf-8"))
    languages: dict[str, Language] = {}
    homes = sorted({case.home for case in data.assist_cases()})[::EVERY]
    for name in (*homes, *(f"intents-{code}" for code in requests[0]["said"] if code != "en")):
        async with async_living_in(data.home(name, AS_IT_IS)) as (hass, snapshot, _):
            documents = await async_entity_documents(hass, snapshot)
            if len(documents) < LEAST:
                continue
            ranker = Ranker(documents.values())
            near = await nearest.async_cosines(hass, documents.values())
            for request in requests:
                wanted = {key for key, item in documents.items() if item.domain in request["wanted"]}
                if request["wanted"] and not wanted:
                    continue
                for code, texts in request["said"].items():
                    if code not in languages:
                        languages[code] = await Languages(hass, NAMED).async_get(code)
                    for text in texts:
                        cosines = await near(text)
                        for threshold in (None, *THRESHOLDS):
                            ids = [key for key, how in cosines if threshold is not None and how >= threshold][:NEAREST]
                            query = Query(text=text, language=code, area_id=None, limit=LIMIT)
                            told = {item.entity_id for item in relevant(ranker.rank(query, languages[code], ids))}
                            yield Asked(
                                threshold=threshold,
                                means_something=bool(wanted),
                                helpful=len(told & wanted),
                                others=len(told - wanted),
                            )


def render(answers: Iterable[Asked]) -> str:
    """Return the table."""
    rows = list(answers)
    lines = [
        "| least cosine | helped, percent | others told | nothing meant: told something, percent | lines |",
        "| --- | --- | --- | --- | --- |",
    ]
    for threshold in (None, *THRESHOLDS):
        meant = [row for row in rows if row.threshold == threshold and row.means_something]
        idle = [row for row in rows if row.threshold == threshold and not row.means_something]
        name = "words alone" if threshold is None else f"{threshold:g}"
        lines.append(
            f"| {name} | {_percent([row.helpful > 0 for row in meant])} | {mean(row.others for row in meant):.1f}"
            f" | {_percent([row.others > 0 for row in idle])} | {mean(row.others for row in idle):.1f} |"
        )
    return "\n".join(lines)


def _percent(those: Sequence[bool]) -> str:
    return f"{100 * sum(those) / max(1, len(those)):.1f}"
