"""Wishes in a loaded entry: what waits is done for real, and follows what the owner changes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    async_capture_events,
    async_fire_time_changed,
)

from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.support.kept import kept_things
from custom_components.home_agent.turn import events
from custom_components.home_agent.wishes.when import Watch, When
from custom_components.home_agent.wishes.wish import Wish
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import set_up, state_of, subentry
from tests.stored import (
    hass_storage,  # noqa: F401
)
from tests.wish_rows import effect, wish_of

pytestmark = pytest.mark.usefixtures("demo_house")
LIGHT, KITCHEN = "light.ceiling_lights", "light.kitchen_lights"
OFF = effect("light.turn_off", LIGHT)


@pytest.fixture
async def entry(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> MockConfigEntry:
    freezer.move_to(datetime(2026, 11, 24, 18, 0, tzinfo=dt_util.UTC))
    return await set_up(hass, more=[subentry("profile", "Second", "profile-2", {})])


def later(seconds: float) -> When:
    return When(at=dt_util.utcnow() + timedelta(seconds=seconds), words="later")


async def pass_time(hass: HomeAssistant, freezer: FrozenDateTimeFactory, seconds: float) -> None:
    freezer.tick(seconds)
    for _ in range(4):
        async_fire_time_changed(hass)
        await hass.async_block_till_done()


def keep(hass: HomeAssistant, context: Context, *steps: Any, **fields: Any) -> Wish:
    wish = wish_of(context, *steps, **{"when": later(60), **fields})
    wishes_of(hass).put(wish)
    return wish


def ends(found: Sequence[Any]) -> list[tuple[str, str]]:
    return [(event.event_type, event.data["reason"]) for event in found]


async def test_it_is_done(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    done = async_capture_events(hass, events.WISH_DONE)
    keep(hass, alice, OFF)
    await pass_time(hass, freezer, 59)
    assert state_of(hass, LIGHT) == "on"
    await pass_time(hass, freezer, 2)
    assert state_of(hass, LIGHT) == "off"
    assert ends(done) == [(events.WISH_DONE, "time")]
    assert wishes_of(hass).all() == []


async def test_it_is_done_when_something_happens_in_the_home(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    keep(hass, alice, OFF, when=When(event=Watch(entity_ids=(KITCHEN,), states=("off",)), words="then"))
    await hass.services.async_call("light", "turn_off", {"entity_id": KITCHEN}, blocking=True)
    await pass_time(hass, freezer, 1)
    assert state_of(hass, LIGHT) == "off"


async def test_it_is_done_after_a_restart_for_what_is_called_otherwise_now(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    keep(hass, alice, OFF)
    assert await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    er.async_get(hass).async_update_entity(LIGHT, new_entity_id="light.night")
    await pass_time(hass, freezer, 30)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await pass_time(hass, freezer, 31)
    assert state_of(hass, "light.night") == "off"


async def test_what_is_hidden_by_then_is_not_touched(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    failed = async_capture_events(hass, events.WISH_FAILED)
    keep(hass, alice, OFF)
    async_expose_entity(hass, ASSISTANT, LIGHT, False)
    await pass_time(hass, freezer, 61)
    assert state_of(hass, LIGHT) == "on"
    assert len(failed) == 1


async def test_a_removed_entity_ends_it_at_once(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    failed = async_capture_events(hass, events.WISH_FAILED)
    keep(hass, alice, OFF)
    er.async_get(hass).async_remove(LIGHT)
    await pass_time(hass, freezer, 1)
    assert ends(failed) == [(events.WISH_FAILED, "gone")]
    assert wishes_of(hass).all() == []


async def test_the_wishes_of_an_agent_go_with_it(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    failed = async_capture_events(hass, events.WISH_FAILED)
    keep(hass, alice, OFF, agent_id="profile-2")
    stays = keep(hass, alice, effect("light.turn_on", LIGHT))
    hass.config_entries.async_remove_subentry(entry, "profile-2")
    await pass_time(hass, freezer, 1)
    assert ends(failed) == [(events.WISH_FAILED, "agent")]
    assert wishes_of(hass).all() == [wishes_of(hass).get(stays.id)]
    await pass_time(hass, freezer, 60)
    assert state_of(hass, LIGHT) == "on"
    assert wishes_of(hass).all() == []


async def test_a_user_who_may_not_speak_any_more(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    assert alice.user_id is not None
    user = await hass.auth.async_get_user(alice.user_id)
    assert user is not None
    keep(hass, alice, OFF)
    await hass.auth.async_update_user(user, is_active=False)
    await pass_time(hass, freezer, 61)
    assert state_of(hass, LIGHT) == "on"
    assert wishes_of(hass).all() == []


async def test_those_of_a_deleted_user_go_with_them(
    hass: HomeAssistant, entry: MockConfigEntry, freezer: FrozenDateTimeFactory
) -> None:
    await hass.auth.async_create_user("Owner")
    user = await hass.auth.async_create_user("Ben", group_ids=["system-admin"])
    keep(hass, Context(user_id=user.id), OFF)
    await hass.auth.async_remove_user(user)
    await pass_time(hass, freezer, 61)
    assert state_of(hass, LIGHT) == "on"
    assert wishes_of(hass).all() == []


async def test_diagnostics_count_them_and_tell_nothing(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context
) -> None:
    keep(hass, alice, OFF, words="turn off the secret lamp", text="a secret")
    found = await async_get_config_entry_diagnostics(hass, entry)
    assert found["kept"]["wishes"]["rows"] == 1
    assert "secret" not in str(found)


async def test_what_is_left_of_several_is_done(
    hass: HomeAssistant, entry: MockConfigEntry, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    done = async_capture_events(hass, events.WISH_DONE)
    keep(hass, alice, effect("light.turn_off", LIGHT, KITCHEN))
    er.async_get(hass).async_remove(KITCHEN)
    await pass_time(hass, freezer, 61)
    assert state_of(hass, LIGHT) == "off"
    assert ends(done) == [(events.WISH_DONE, "time")]
