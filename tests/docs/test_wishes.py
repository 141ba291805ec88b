"""The conversations of docs/WISHES.md are held: each message, each answer, and what is told when it is time."""

from collections.abc import Iterator
from datetime import datetime
import re

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.persistent_notification import _async_get_or_create_notifications
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from tests import house
from tests.house import build_house, say, set_up, speech

from .pages import DOCS, FENCE, read

LINE = re.compile(r"(\d\d:\d\d) (You|Home Agent|Told|Home): (.+)")
CONVERSATIONS = [match[2] for match in FENCE.finditer(read(DOCS / "WISHES.md")) if match[1] == "text"]
DEVICES = {
    "binary_sensor.washer": ("on", {"device_class": "running", "friendly_name": "Washer"}),
    "person.anna": ("not_home", {"friendly_name": "Anna"}),
}


def lines(conversation: str) -> Iterator[tuple[datetime, str, str]]:
    """Yield when, by whom and what was said; all on one day."""
    for line in conversation.splitlines():
        found = LINE.fullmatch(line)
        assert found is not None, line
        hour, minute = map(int, found[1].split(":"))
        yield datetime(2026, 11, 24, hour, minute, tzinfo=dt_util.get_default_time_zone()), found[2], found[3]


def notifications(hass: HomeAssistant) -> list[str]:
    return [str(item["message"]) for item in _async_get_or_create_notifications(hass).values()]


def test_there_are_twelve() -> None:
    assert len(CONVERSATIONS) == 12


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda text: text.splitlines()[0])
async def test_a_conversation_goes_as_written(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory, house: None, conversation: str
) -> None:
    first, _, _ = next(lines(conversation))
    freezer.move_to(first)
    await build_house(hass)
    for entity_id, (state, attributes) in DEVICES.items():
        hass.states.async_set(entity_id, state, attributes)
        async_expose_entity(hass, "conversation", entity_id, True)
    await set_up(hass)
    person, conversation_id, answer = speaker(hass), None, ""
    for when, who, what in lines(conversation):
        if when > dt_util.now():
            freezer.move_to(when)
            async_fire_time_changed(hass, when, fire_all=True)
            await hass.async_block_till_done(wait_background_tasks=True)
        match who:
            case "You":
                result = await say(hass, what, conversation_id, context=person)
                conversation_id, answer = result.conversation_id, speech(result)
            case "Home Agent":
                assert answer == what
            case "Home":
                entity_id, state = what.split(" is ")
                hass.states.async_set(entity_id, state, DEVICES[entity_id][1])
                await hass.async_block_till_done(wait_background_tasks=True)
                async_fire_time_changed(hass, when, fire_all=True)  # what is due now is begun with the next tick
                await hass.async_block_till_done(wait_background_tasks=True)
            case "Told":
                assert what in notifications(hass)


def speaker(hass: HomeAssistant) -> Context:
    return house.person(hass, "Ben")
