"""A beginning and its end, each as an order of its own, are one wish; what names anything else is none."""

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, state_of
from tests.local.talks import only_wish, services_of

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


@pytest.mark.parametrize(("language", "said", "at"), [
    ("en", "Decorative Lights on and off again after forty minutes", "24T18:50"), ("en", "turn Decorative Lights on, and at nine back off", "24T21:00"),
    ("en", "Decorative Lights on, but only until half past eight", "24T20:30"), ("en", "turn on Decorative Lights and kill it in an hour", "24T19:10"),
    ("de", "Decorative Lights an und nach vierzig Minuten wieder aus", "24T18:50"), ("de", "Decorative Lights an, aber nur bis halb neun", "24T20:30"),
    ("nl", "Decorative Lights aan en na veertig minuten weer uit", "24T18:50"), ("nl", "Decorative Lights aan, maar alleen tot half negen", "24T20:30"),
    ("fr", "Allume Decorative Lights et éteins-le dans quarante minutes", "24T18:50"),
    ("it", "Accendi Decorative Lights e spegnilo tra quaranta minuti", "24T18:50"),
])  # fmt: skip
async def test_it_begins_now_and_ends_then(hass: HomeAssistant, language: str, said: str, at: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert state_of(hass, "switch.decorative_lights") == "on"
    assert services_of(wish) == [("turn_off", ("switch.decorative_lights",))]
    assert wish.when.at is not None
    assert wish.ends
    assert f"{dt_util.as_local(wish.when.at):%dT%H:%M}" == at


@pytest.mark.parametrize(("language", "said"), [
    ("en", "Decorative Lights on and everything off at nine"), ("en", "turn Decorative Lights on at nine, then turn Bed Light off"),
    ("en", "turn off Decorative Lights in an hour and three"), ("de", "Decorative Lights an und um neun Bed Light aus"),
    ("nl", "Decorative Lights aan en om negen uur Bed Light uit"),
])  # fmt: skip
async def test_what_is_not_its_end_is_not_done(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    before = [(state.entity_id, state.state) for state in hass.states.async_all(["light", "switch"])]
    await say(hass, said, language=language, context=person(hass))
    assert not wishes_of(hass).all()
    assert [(state.entity_id, state.state) for state in hass.states.async_all(["light", "switch"])] == before
