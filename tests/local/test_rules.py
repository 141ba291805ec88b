"""The owner's lists hold for sentences as for tools, by whatever name an action goes."""

from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from tests.house import say, set_up, speech, state_of

pytestmark = pytest.mark.usefixtures("demo_house")


@pytest.mark.parametrize(("sentence", "listed", "entity_id"), [
    ("turn on the bed light", "light.turn_on", "light.bed_light"),
    ("turn on the bed light", "homeassistant.turn_on", "light.bed_light"),
    ("turn off the kitchen lights", "light.turn_off", "light.kitchen_lights"),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["never_offer", "always_ask"])
async def test_an_action_is_listed(
    hass: HomeAssistant, hass_admin_user: MockUser, kind: str, sentence: str, listed: str, entity_id: str
) -> None:
    await set_up(hass, profile={kind: [listed]})
    before = hass.states.get(entity_id)
    said = speech(await say(hass, sentence, context=Context(user_id=hass_admin_user.id)))
    assert hass.states.get(entity_id) == before
    assert said.endswith("?") if kind == "always_ask" else said.startswith("You are not allowed to do that with")
    assert listed not in said, "people do not know actions by name"


@pytest.mark.parametrize(("may_change", "state", "answer"), [
    (["light"], "on", "Turned on"), (["light.*"], "on", "Turned on"), (["light.turn_on"], "on", "Turned on"),
    (["light.bed_light"], "on", "Turned on"), (["light.bed_light", "light.turn_on"], "on", "Turned on"),
    *(([listed], "off", "Bed Light") for listed in ("light.kitchen_lights", "light.turn_off", "switch", "ha_query")),
])  # fmt: skip
async def test_only_what_may_be_changed_is_changed(
    hass: HomeAssistant, may_change: list[str], state: str, answer: str
) -> None:
    await set_up(hass, profile={"may_change": may_change})
    assert answer in speech(await say(hass, "turn on the bed light"))
    assert state_of(hass, "light.bed_light") == state
