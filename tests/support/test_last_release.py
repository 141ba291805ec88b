"""Files that the release before kept things wrote (`stored/`): each is read as it is, and loses nothing."""

import json
from pathlib import Path
import shutil
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.agent.assembly import KEPT
from custom_components.home_agent.home.taught_names import taught_names_of
from custom_components.home_agent.local.learned import learned_phrases_of
from custom_components.home_agent.search.knowledge import FOLDER
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.kept import Kept, kept_of, kept_things
from custom_components.home_agent.support.storage import Trouble
from tests.house import set_up
from tests.stored import hass_storage  # noqa: F401

STORED = Path(__file__).parent / "stored"
KINDS = [{kind.file: kind for kind in KEPT}[path.stem] for path in sorted(STORED.glob("*.json"))]
WRITTEN_ON = "2026-11-24T08:00:00+00:00"


@pytest.fixture
async def entry(hass: HomeAssistant, house: None, freezer: FrozenDateTimeFactory) -> MockConfigEntry:
    """Return an entry that was loaded with the files of the last release, a while after they were written."""
    freezer.move_to(WRITTEN_ON)
    entry = await set_up(hass)
    await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    for kind in KINDS:
        shutil.copy(STORED / f"{kind.file}.json", path_of(hass, entry, kind))
    document = Path(hass.config.path(*FOLDER, "pump.md"))  # an action said more of it
    document.parent.mkdir(parents=True)
    document.write_text("The pump runs for four hours.")
    await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    return entry


def path_of(hass: HomeAssistant, entry: MockConfigEntry, kind: type[Kept[Any]]) -> Path:
    name = f"{kind.file}.{entry.entry_id}" if kind.of_entry else kind.file
    path = Path(hass.config.path(".storage", f"{DOMAIN}.{name}"))
    path.parent.mkdir(exist_ok=True)
    return path


def without_new_keys(after: Any, before: Any) -> Any:
    """Return what is written now without the keys that the release before did not write, such as the kind of an effect."""
    if isinstance(before, dict):
        return {key: without_new_keys(value, before[key]) for key, value in after.items() if key in before}
    if isinstance(before, list):
        return [without_new_keys(*pair) for pair in zip(after, before, strict=True)]
    return after


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.file)
async def test_all_of_a_file_is_kept(hass: HomeAssistant, entry: MockConfigEntry, kind: type[Kept[Any]]) -> None:
    before = json.loads((STORED / f"{kind.file}.json").read_text())["data"]
    await kept_of(hass, kind).async_write()
    after = json.loads(path_of(hass, entry, kind).read_text())["data"]
    assert without_new_keys(after, before) == before


async def test_no_file_is_reported(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    told = {issue.translation_key for issue in ir.async_get(hass).issues.values()}
    assert told.isdisjoint([trouble.value for trouble in Trouble])


async def test_statuses_of_names_are_read(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    assert {row.name: row.status.value for row in taught_names_of(hass).rows()} == {
        "moon lamp": "approved", "sky": "proposed", "cookhouse": "declined", "tree": "proposed",
    }  # fmt: skip


async def test_statuses_of_phrases_are_read(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    assert {row.text: row.status.value for row in learned_phrases_of(hass).rows()} == {
        "film evening": "proposed", "pyjama party": "declined", "reading corner": "seen",
        "film night in the kitchen": "seen", "make it cosy": "approved", "early bird": "doubted",
    }  # fmt: skip


@pytest.mark.parametrize(("issue", "count"), [("names_proposed", 2), ("phrases_proposed", 1), ("phrases_doubted", 1)])
async def test_proposals_wait_in_repairs(hass: HomeAssistant, entry: MockConfigEntry, issue: str, count: int) -> None:
    found = ir.async_get(hass).async_get_issue(DOMAIN, f"{issue}_home")
    assert found is not None
    assert found.translation_placeholders == {"count": str(count)}
