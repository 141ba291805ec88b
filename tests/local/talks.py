"""Talks about wishes with the house, and what waits after them."""

from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util

from custom_components.home_agent.wishes.wish import Wish
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, speech

_SPEAKER = "test_speaker"


async def answers_to(hass: HomeAssistant, language: str, *said: str) -> list[str]:
    """Say some sentences in one conversation, in a test always as the same person; return the answers."""
    user, place, heard = hass.data.setdefault(_SPEAKER, person(hass).user_id), None, list[str]()
    for text in said:
        result = await say(hass, text, place, language=language, context=Context(user_id=user))
        place = result.conversation_id
        heard.append(speech(result))
    return heard


async def talk(hass: HomeAssistant, language: str, *said: str) -> str:
    """Say some sentences in one conversation; return the last answer."""
    return (await answers_to(hass, language, *said))[-1]


def due_times(hass: HomeAssistant) -> list[str]:
    """Return when wishes are due, as the clock of the home shows it, in the order in which they were made."""
    return [f"{dt_util.as_local(wish.when.at):%dT%H:%M}" for wish in wishes_of(hass).all() if wish.when.at is not None]


def words_waiting(hass: HomeAssistant) -> list[str]:
    """Return the words in which wishes that wait were said, in the order in which they were made."""
    return [wish.words for wish in wishes_of(hass).all()]


def only_wish(hass: HomeAssistant) -> Wish:
    """Return the one wish that waits."""
    [wish] = wishes_of(hass).all()
    return wish


def services_of(wish: Wish) -> list[tuple[str, tuple[str, ...]]]:
    """Return the services that a wish calls, and for which entities."""
    effects = [effect for step in wish.steps for effect in step.effects]
    return [(str(effect["service"]), tuple(map(str, effect["entity_ids"]))) for effect in effects]  # type: ignore[arg-type]
