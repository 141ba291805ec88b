"""A journal of a release that wrote no kinds is read as it is, and undone."""

import json
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from custom_components.home_agent.support.kept import kept_things
from tests.house import say, set_up, speech, state_of

BED = "light.bed_light"
STORED = Path(__file__).with_name("earlier_journal.json")


@pytest.fixture
async def earlier(
    hass: HomeAssistant, demo_house: None, admin: Context, hass_storage: dict[str, Any], freezer: FrozenDateTimeFactory
) -> None:
    """Start with a file in which a user gave a lamp a name and turned it off, an hour later."""
    freezer.move_to("2026-11-20 19:00:00+00:00")
    entry = await set_up(hass)
    assert await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    key = f"{DOMAIN}.journal.{entry.entry_id}"
    stored = json.loads(STORED.read_text(encoding="utf-8").replace("USER", str(admin.user_id)))
    hass_storage[key] = stored | {"key": key}
    er.async_get(hass).async_update_entity(BED, aliases=[er.COMPUTED_NAME, "moon lamp"])
    await hass.services.async_call("light", "turn_off", {"entity_id": BED}, blocking=True)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()


@pytest.mark.usefixtures("earlier")
async def test_it_is_undone_newest_first(hass: HomeAssistant, admin: Context) -> None:
    undone = await say(hass, "undo", "c1", context=Context(user_id=admin.user_id))
    assert speech(undone) == "I've put Bed Light back."
    lamp = hass.states.get(BED)
    assert lamp is not None
    assert (lamp.state, lamp.attributes["brightness"]) == ("on", 50)
    undone = await say(hass, "undo", "c1", context=Context(user_id=admin.user_id))
    assert speech(undone) == "Bed Light is no longer called “moon lamp”."
    entry = er.async_get(hass).async_get(BED)
    assert entry is not None
    assert entry.aliases == [er.COMPUTED_NAME]


@pytest.mark.usefixtures("earlier")
async def test_kinds_are_written_afterwards(hass: HomeAssistant, admin: Context, hass_storage: dict[str, Any]) -> None:
    await say(hass, "undo", "c1", context=Context(user_id=admin.user_id))
    [entry] = hass.config_entries.async_entries(DOMAIN)
    assert await hass.config_entries.async_unload(entry.entry_id)
    stored = hass_storage[f"{DOMAIN}.journal.{entry.entry_id}"]["data"]["actions"]
    assert [[call["kind"] for call in action["calls"]] for action in stored] == [
        ["name_change"],
        ["service_call"],
        ["service_call"],
    ]


@pytest.mark.usefixtures("earlier")
async def test_an_entity_that_is_not_exposed_any_more_stays(hass: HomeAssistant, admin: Context) -> None:
    async_expose_entity(hass, ASSISTANT, BED, False)
    undone = await say(hass, "undo", "c1", context=Context(user_id=admin.user_id))
    assert speech(undone) == "I can't undo this: Bed Light."
    assert state_of(hass, BED) == "off"
