"""Home Assistant's own sentences, of the data that is installed with it, work as with its own agent.

Some sentences of each language, always the same ones; `scripts/eval local --sentences` says one of every intent.
"""

from random import Random

from home_assistant_intents import get_languages
from homeassistant.core import HomeAssistant
import pytest

from scripts.evaluation.sentences import SAME, async_walk, render
from tests.local import said

LANGUAGES = sorted(get_languages())
SHARES = 4  # walked through side by side
PART = 0.08  # of the intents of a language


@pytest.mark.parametrize("share", range(SHARES))
async def test_they_do_the_same_in_every_language(hass: HomeAssistant, share: int) -> None:
    languages = LANGUAGES[share::SHARES]
    async for house in said.async_living(hass, "en", coloured=True):  # no light is refused what it cannot be
        walked = [item for language in languages for item in await async_walk(house, language, Random(14), part=PART)]
    assert len({item.language for item in walked}) >= len(languages) - 4  # of some, what was drawn fits nothing here
    assert len({item.intent for item in walked}) >= 10
    others = [item for item in walked if item.outcome != SAME]
    assert not others, render(walked)
