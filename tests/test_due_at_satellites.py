"""Wishes that are due at a voice satellite of Home Assistant's own kind: it says them, asks, listens, and hears the yes."""

from typing import Any

from homeassistant.components.assist_pipeline import PipelineEvent
from homeassistant.components.assist_pipeline.pipeline import async_update_pipeline
from homeassistant.components.assist_satellite import (
    AssistSatelliteAnnouncement,
    AssistSatelliteConfiguration,
    AssistSatelliteEntity,
    AssistSatelliteEntityFeature,
)
from homeassistant.config_entries import ConfigEntry, ConfigFlow
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockModule,
    mock_config_flow,
    mock_integration,
    mock_platform,
    setup_test_component_platform,
)

from custom_components.home_agent.wishes.wish import Wish, WishKind
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import say, set_up, speech, state_of, voice
from tests.test_due import DOOR, UNLOCK, run
from tests.wish_rows import wish_of

pytestmark = pytest.mark.usefixtures("demo_house")
HALL = "assist_satellite.hall"


class Satellite(AssistSatelliteEntity):
    """It speaks to no one, and remembers what it said."""

    _attr_name = "Hall"
    _attr_unique_id = "hall"
    _attr_supported_features = AssistSatelliteEntityFeature.ANNOUNCE | AssistSatelliteEntityFeature.START_CONVERSATION

    def __init__(self) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self.is_broken = False

    @property
    def heard_in(self) -> str | None:
        """Return the conversation that it would go on with."""
        return self._conversation_id

    @property
    def prompt(self) -> str | None:
        """Return what a model would be told of the question."""
        return self._extra_system_prompt

    def async_get_configuration(self) -> AssistSatelliteConfiguration:
        return AssistSatelliteConfiguration([], [], 0)

    async def async_set_configuration(self, config: AssistSatelliteConfiguration) -> None:
        """Keep none."""

    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Show nothing."""

    async def async_announce(self, announcement: AssistSatelliteAnnouncement) -> None:
        if self.is_broken:
            raise RuntimeError
        self.said.append(announcement.message)

    async def async_start_conversation(self, start_announcement: AssistSatelliteAnnouncement) -> None:
        if self.is_broken:
            raise RuntimeError
        self.asked.append(start_announcement.message)

    async def _resolve_announcement_media_id(
        self, message: str, media_id: str | None, preannounce_media_id: str | None = None
    ) -> AssistSatelliteAnnouncement:
        return AssistSatelliteAnnouncement(message, "", "", None, "tts")


@pytest.fixture
async def satellite(hass: HomeAssistant, demo_house: None) -> Satellite:
    pipeline = await voice(hass)
    assert await async_setup_component(hass, "assist_satellite", {})
    satellite = Satellite()

    async def set_up_entry(hass: HomeAssistant, entry: ConfigEntry[Any]) -> bool:
        await hass.config_entries.async_forward_entry_setups(entry, ["assist_satellite"])
        return True

    mock_integration(hass, MockModule("test", async_setup_entry=set_up_entry))
    mock_platform(hass, "test.config_flow")
    setup_test_component_platform(hass, "assist_satellite", [satellite], from_config_entry=True)
    entry = MockConfigEntry(domain="test")
    entry.add_to_hass(hass)
    with mock_config_flow("test", ConfigFlow):
        assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    await async_update_pipeline(hass, pipeline, conversation_engine="conversation.home_agent")
    return satellite


def at_hall(*steps: Any, **fields: Any) -> Wish:
    return wish_of(None, *steps, satellite_id=HALL, **fields)


async def test_it_is_said(hass: HomeAssistant, satellite: Satellite) -> None:
    entry = await set_up(hass)
    await run(hass, entry, at_hall(kind=WishKind.REMINDER, text="take the cake out"))
    assert satellite.said == ["Reminder: take the cake out"]
    assert state_of(hass, HALL) == "idle"


async def test_it_asks_and_hears_the_yes(hass: HomeAssistant, satellite: Satellite) -> None:
    entry = await set_up(hass)
    wish = at_hall(UNLOCK, asks=True)
    await run(hass, entry, wish)
    assert satellite.asked == ["You planned this. Front Door is locked. Unlock it?"]
    assert not satellite.prompt
    answer = await say(hass, "yes", satellite.heard_in, satellite_id=HALL)
    assert speech(answer) == "Done. Front Door is unlocked."
    assert state_of(hass, DOOR) == "unlocked"
    assert wishes_of(hass).get(wish.id) is None


async def test_it_asks_and_hears_a_no(hass: HomeAssistant, satellite: Satellite) -> None:
    entry = await set_up(hass)
    wish = at_hall(UNLOCK, asks=True)
    await run(hass, entry, wish)
    await say(hass, "no", satellite.heard_in, satellite_id=HALL)
    await hass.async_block_till_done()
    assert state_of(hass, DOOR) == "locked"
    assert wishes_of(hass).get(wish.id) is None


async def test_one_that_is_broken_asks_no_one(hass: HomeAssistant, satellite: Satellite) -> None:
    entry = await set_up(hass)
    satellite.is_broken = True
    await run(hass, entry, at_hall(UNLOCK, asks=True))
    assert entry.runtime_data.policy.confirmations.open() == []
    satellite.is_broken = False
    assert await run(hass, entry, at_hall(kind=WishKind.REMINDER, text="dinner")) is None
    assert satellite.said == ["Reminder: dinner"]


async def test_one_whose_assistant_is_another_one_asks_no_one(hass: HomeAssistant, satellite: Satellite) -> None:
    """Home Assistant's own agent holds no conversations: the question would be answered by no one."""
    pipeline = await voice(hass)
    await async_update_pipeline(hass, pipeline, conversation_engine="conversation.home_assistant")
    entry = await set_up(hass)
    await run(hass, entry, at_hall(UNLOCK, asks=True))
    assert satellite.asked == []
    assert entry.runtime_data.policy.confirmations.open() == []
