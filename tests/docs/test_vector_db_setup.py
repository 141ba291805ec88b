"""The page about vectors and Chroma: its settings can be stored, its sentences are those that are said."""

import json
import re
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_get_translations
import pytest

from custom_components.home_agent.flows.retrieval import (
    DEFAULTS,
    STEPS,
    async_check,
    retrieval_schema,
    step_after,
    taken,
)
from custom_components.home_agent.search import embedded_store, embeddings
from custom_components.home_agent.search.embeddings import MAX_IN_FILE
from custom_components.home_agent.search.vectors import QUERY_TIMEOUT
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.outages import PAUSE

from .pages import DOCS, Example, examples, read, rows, section

PAGE = "VECTOR_DB_SETUP.md"
STORED = [example for example in examples("json") if example.page == f"docs/{PAGE}"]


@pytest.mark.parametrize("example", STORED, ids=str)
async def test_examples_can_be_entered(hass: HomeAssistant, example: Example) -> None:
    entered = json.loads(example.code)
    assert entered.keys() <= DEFAULTS.keys()
    stored, step = dict[str, Any](), next(iter(STEPS), None)
    while step:
        asked = {key: value for key, value in entered.items() if key in STEPS[step]}
        sent = retrieval_schema(hass, step, stored, may_skip_check=False)(asked)
        stored = taken(step, stored, sent)
        assert await async_check(hass, step, stored, memories="home_agent_memories", connect=False) is None
        step = step_after(step, stored)
    assert stored == {key: value for key, value in entered.items() if value != DEFAULTS[key]}
    assert RetrievalSettings.from_options({"retrieval": stored}).store == entered.get("store", "embedded")


def test_there_are_examples() -> None:
    assert len(STORED) == 3


async def test_sentences_are_those_that_are_said(hass: HomeAssistant) -> None:
    translations = await async_get_translations(hass, "en", "exceptions", [DOMAIN])
    said = {re.sub(r"{\w+}", "…", sentence) for sentence in translations.values()}
    told = [sentence for sentence, _ in rows(section(PAGE, "When something fails"), columns=2)]
    assert told
    assert not set(told) - said


def test_figures_are_those_of_the_code() -> None:
    page = " ".join(read(DOCS / PAGE).split())
    assert f"up to {MAX_IN_FILE:,} of them" in page
    assert f"no vector after {QUERY_TIMEOUT} seconds" in page
    assert f"For {PAUSE:.0f} seconds after a failure" in page


def test_files_are_those_of_the_code(hass: HomeAssistant) -> None:
    for database in (embedded_store.file_of(hass), embeddings.database_of(hass)):
        assert f"`{database.path.name}`" in section(PAGE, "The file")
