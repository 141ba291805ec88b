"""Measures what memory makes of sentences: which are worth it, which say the same, which make others untrue, and which are found.

The sentences stand in files beside this one: `seen.json` was worked with while the rules were made, `unseen.json` was written by
somebody else who knew nothing of them. `asked.json` has questions to the memories of `seen.json`, and was worked with as well;
`family.json` is the memory of two families with questions in other words, by somebody else.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
import json
from pathlib import Path
import tempfile
from typing import Any
from unittest.mock import patch

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_test_home_assistant

from custom_components.home_agent.home.domains import NAMED
from custom_components.home_agent.languages.data import async_load
from custom_components.home_agent.languages.vocabulary import Languages
from custom_components.home_agent.memory.filters import rejected_because
from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.memory.recall import MemoryMeans
from custom_components.home_agent.memory.record import Draft, MemorySource, MemoryType, Scope
from custom_components.home_agent.memory.replacing import replaces
from custom_components.home_agent.search.vectors import Vectors
from custom_components.home_agent.settings.memory import MemorySettings
from custom_components.home_agent.settings.search import ENDPOINT, RetrievalSettings
from custom_components.home_agent.support import issues

HERE = Path(__file__).parent
PARTS = ("seen", "unseen")
ASKED = {"seen": "asked", "unseen": "family"}
"""Files with questions, by part."""
NOTHING_SUPERSEDED = patch("custom_components.home_agent.memory.memories.supersedes", return_value=False)
"""While this is entered, what says the same and what is found are judged apart from what makes an older memory untrue."""
KINDS = {"worth": "keep", "same": "same", "replaces": "replaces"}
"""What is asked of a case, and the key of the right answer."""
LEAST = 95.0  # percent
FIRST = 5
HOUSE = Scope(owners=frozenset({None}), owner=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A case and what was made of it."""

    kind: str
    part: str
    language: str
    right: bool
    found: bool
    case: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of some cases, in percent. For `worth`, what is counted is what is kept."""

    cases: int
    precision: float
    recall: float
    left_out: float
    """Of those where the right answer is no, how many got it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """A question to a family's memory."""

    part: str
    language: str
    answers: int
    """How many memories answer it; 0: none does."""
    first: bool
    """Whether one that answers it is among those that a model is told: the first five, or fewer where more are equally near."""
    told: int
    """How many memories were found."""


def cases(part: str) -> list[dict[str, Any]]:
    """Return the cases of a part. Reads a file."""
    return list(json.loads((HERE / f"{part}.json").read_text("utf-8")))


@asynccontextmanager
async def async_remembering(retrieval: RetrievalSettings) -> AsyncIterator[tuple[HomeAssistant, Memories]]:
    """Return a Home Assistant with nothing in its memory."""
    with tempfile.TemporaryDirectory() as folder:
        async with async_test_home_assistant(config_dir=folder) as hass:
            await async_setup_component(hass, "homeassistant", {})
            entry = MockConfigEntry(domain="evaluation")
            entry.add_to_hass(hass)
            await async_load(hass, "en", "de", "ru")
            vectors = Vectors.from_settings(hass, retrieval, issues.RetrievalIssues(hass))
            memories = Memories(hass)
            settings = MemorySettings(max_memories=100_000)
            languages = Languages(hass, NAMED)
            await memories.async_open(entry.entry_id, lambda _trouble, _name, _holds: None)
            memories.async_use(MemoryMeans(settings=settings, vectors=vectors, languages=languages, entry=entry))
            try:
                yield hass, memories
            finally:
                await memories.async_close()
                await vectors.async_close()
                await hass.async_stop(force=True)


def _draft(text: str, language: str, **fields: Any) -> Draft:
    return Draft(content=text, source=MemorySource.EXTRACTED, language=language, **fields)


async def async_judge(retrieval: RetrievalSettings) -> list[Judged]:
    """Return what is made of each case of both parts."""
    judged: list[Judged] = []
    async with async_remembering(retrieval) as (hass, memories):
        for part in PARTS:
            for case in cases(part):
                found = await _async_found(hass, memories, case)
                kind = case["kind"]
                judged.append(
                    Judged(
                        kind=kind,
                        part=part,
                        language=case["language"],
                        right=case[KINDS[kind]],
                        found=found,
                        case=case,
                    )
                )
    return judged


async def _async_found(hass: HomeAssistant, memories: Memories, case: Mapping[str, Any]) -> bool:
    language = case["language"]
    match case["kind"]:
        case "worth":
            draft = _draft(case["text"], language, type=MemoryType(case["type"]), importance=case["importance"])
            return rejected_because(draft, MemorySettings(), language) is None
        case "same":
            await memories.async_clear(None)
            await memories.async_add([_draft(case["a"], language)])
            await hass.async_block_till_done(wait_background_tasks=True)
            with NOTHING_SUPERSEDED:
                [added] = await memories.async_add([_draft(case["b"], language)])
            return added.outcome == "merged"
    return replaces(case["new"], case["old"], language)


async def async_search(retrieval: RetrievalSettings) -> list[Searched]:
    """Return what each question finds in the memory of its family."""
    searched: list[Searched] = []
    families = [
        (part, language, family)
        for part, name in ASKED.items()
        for language, family in json.loads((HERE / f"{name}.json").read_text("utf-8")).items()
    ]
    for part, language, family in families:
        async with async_remembering(retrieval) as (hass, memories):
            ids: dict[str, str] = {}
            for item in family["memories"]:
                never = MemorySettings(dedup_threshold=1.1)
                memories.settings = never
                draft = _draft(item["text"], language, importance=0.6)
                with NOTHING_SUPERSEDED:
                    [added] = await memories.async_add([draft])
                if added.memory is not None:
                    ids[added.memory.id] = item["id"]
            await hass.async_block_till_done(wait_background_tasks=True)
            asked = [(item["text"], set(item["answer"])) for item in family["questions"]]
            asked += [(text, set[str]()) for text in family["none"]]
            for text, answers in asked:
                found = await memories.async_find(
                    text, HOUSE, limit=FIRST, language=language, counts_as_used=False, is_sparing=True
                )
                first = any(ids.get(item.memory.id) in answers for item in found)
                searched.append(
                    Searched(part=part, language=language, answers=len(answers), first=first, told=len(found))
                )
    return searched


def figures(judged: Sequence[Judged]) -> Figures:
    """Return precision and recall of some cases."""
    both = sum(item.right and item.found for item in judged)
    right, found = sum(item.right for item in judged), sum(item.found for item in judged)
    wrong = [item for item in judged if not item.right]
    return Figures(
        cases=len(judged),
        precision=_percent(both, found),
        recall=_percent(both, right),
        left_out=_percent(sum(not item.found for item in wrong), len(wrong)),
    )


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 100.0


def tables(judged: Iterable[Judged]) -> dict[str, dict[str, Figures]]:
    """Return the figures by kind, and by part and language."""
    listed = list(judged)
    languages = sorted({item.language for item in listed})
    return {
        kind: {
            f"{part} {language}".strip(): figures(chosen)
            for part in PARTS
            for language in ("", *languages)
            if (chosen := [i for i in listed if (i.kind, i.part) == (kind, part) and language in ("", i.language)])
        }
        for kind in KINDS
    }


def search_figures(searched: Sequence[Searched]) -> dict[str, dict[str, float]]:
    """Return by part and language how often the right memory is among the first five, and how often nothing is told where none answers."""
    found: dict[str, dict[str, float]] = {}
    for part, language in sorted({(item.part, item.language) for item in searched}):
        asked = [item for item in searched if (item.part, item.language) == (part, language)]
        answered = [item for item in asked if item.answers]
        none = [item for item in asked if not item.answers]
        found[f"{part} {language}"] = {
            "questions": len(answered),
            "first_five": _percent(sum(item.first for item in answered), len(answered)),
            "without_answer": len(none),
            "nothing_told": _percent(sum(not item.told for item in none), len(none)),
        }
    return found


def render(judged: Sequence[Judged], searched: Sequence[Searched]) -> str:
    """Return the tables as Markdown."""
    lines: list[str] = []
    for kind, rows in tables(judged).items():
        lines += [f"**{kind}**", "", "| | cases | precision | recall | left out |", "| --- | --: | --: | --: | --: |"]
        lines += [
            f"| {name} | {row.cases} | {row.precision} | {row.recall} | {row.left_out} |" for name, row in rows.items()
        ]
        whole = [row for name, row in rows.items() if name in PARTS]
        met = all(row.precision >= LEAST and row.recall >= LEAST for row in whole)
        lines += ["", f"Aim: precision and recall at least {LEAST:g} %: {'met' if met else 'not met'}.", ""]
    lines += ["**Questions to a family's memory**", "", "| | questions | first 5 | none answers | nothing told |"]
    lines += ["| --- | --: | --: | --: | --: |"]
    lines += [
        f"| {name} | {row['questions']:g} | {row['first_five']} | {row['without_answer']:g} | {row['nothing_told']} |"
        for name, row in search_figures(searched).items()
    ]
    return "\n".join(lines)


def as_json(judged: Sequence[Judged], searched: Sequence[Searched]) -> dict[str, Any]:
    """Return everything as data; cases that were judged wrongly only of the part that was worked with."""
    return {
        "tables": {kind: {name: asdict(row) for name, row in rows.items()} for kind, rows in tables(judged).items()},
        "search": search_figures(searched),
        "misjudged": [dict(item.case) for item in judged if item.right is not item.found and item.part == "seen"],
    }


def retrieval_of(url: str | None, model: str, threshold: float) -> RetrievalSettings:
    """Return the settings that embed with an endpoint, or the embedded default."""
    if not url:
        return RetrievalSettings()
    return RetrievalSettings(
        embedding=ENDPOINT,
        embedding_preset="custom",
        embedding_url=url,
        embedding_model=model,
        embedding_batch=16,
        similarity_threshold=threshold,
    )
