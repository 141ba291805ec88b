"""Wishes that a person says, from the sentence to what waits."""

from homeassistant.core import Context, HomeAssistant
import pytest

from custom_components.home_agent.wishes.wishes import wishes_of
from tests import house
from tests.house import add_shopping_list, build_house, say, set_up, speech


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test."""
    await build_house(hass)


@pytest.fixture
def anna(hass: HomeAssistant) -> Context:
    return house.person(hass, "Anna")


@pytest.mark.parametrize(
    "sentence",
    [
        "Add bread to the shopping list in ten minutes",
        "Add pins to the shopping list in ten minutes",
        "Make the bed light pink in ten minutes",
    ],
)
async def test_words_that_sound_like_a_code_wait(hass: HomeAssistant, anna: Context, sentence: str) -> None:
    await add_shopping_list(hass)
    await set_up(hass)
    answer = speech(await say(hass, sentence, context=anna))
    assert [wish.kind for wish in wishes_of(hass).all()] == ["action"], answer
