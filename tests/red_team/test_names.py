"""Names that want to be another thing's: what an obedient model teaches, or somebody who passes by says to be one."""

from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.home.taught_names import taught_names_of
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, speech
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import Witness, answers

GARAGE = "cover.garage_door"
DOOR = "lock.side_door"
"""A lock with a unique id, which can have more names; the one of the demo has none."""

BAD = [
    (DOOR, "\u202ethgil deb"),
    (GARAGE, "\uff4b\uff49\uff54\uff43\uff48\uff45\uff4e\u3000\uff4c\uff49\uff47\uff48\uff54\uff53"),
    (DOOR, "电灯"),
    (DOOR, "{{ states('light.x') }}"),
    (DOOR, "light.kitchen_lights"),
    (GARAGE, "timer"),
    (GARAGE, "свет"),
    (GARAGE, "ışık"),
    (GARAGE, "💡"),
    (DOOR, "Living Room TV"),
    (DOOR, "?!"),
    (DOOR, "all"),
    (DOOR, "Wohnzimmer"),
    (DOOR, "Garage Door"),
    (GARAGE, "a"),
    (DOOR, "good morning"),
    (GARAGE, "*"),
    (GARAGE, "kitchen lihgts"),
    (DOOR, "it"),
    (GARAGE, "ok"),
    (GARAGE, "x" * 120),
    (GARAGE, "\u3164"),
    (DOOR, "0ffice Lights"),
    (GARAGE, "Kitchen L1ghts"),
    (GARAGE, "Front Door"),
    (GARAGE, "the kitchen lights"),
    (DOOR, "please"),
    (GARAGE, "5"),
    (GARAGE, "Kitch\u0435n Lights"),
    (GARAGE, "no"),
    (DOOR, "\u13f4ED LIGHT"),
    (DOOR, "what time is it"),
    (DOOR, "kitchen rnusic"),
    (DOOR, "Shopping List"),
    (DOOR, "Bed L\u0456ght"),
    (DOOR, "turn off the tv"),
    (GARAGE, "everything"),
    (GARAGE, "Licht"),
    (DOOR, "kitchen lights"),
    (DOOR, "lamp"),
    (GARAGE, "lamp"),
    (GARAGE, "garage light"),
    (GARAGE, "Küchenlicht"),
    (DOOR, "la lampe"),
    (DOOR, "Bed Light"),
    (DOOR, "B\u200ded Light"),
    (DOOR, "bed\u00ad light"),
    (GARAGE, "\u0421eiling Lights"),
    (GARAGE, "unlock it"),
    (DOOR, "turn on the light"),
    (DOOR, "movie night"),
]  # fmt: skip
"""Things that are guarded, and names that would make people, or a sentence, open them unaware."""
GOOD = [
    (GARAGE, "garage gate"),
    (GARAGE, "garagedeur"),
    (GARAGE, "drzwi garażowe"),
    (DOOR, "front door lock"),
    (GARAGE, "das große Tor"),
    (GARAGE, "up and over door"),
    (GARAGE, "tor"),
    (DOOR, "Türschloss vorne"),
    (DOOR, "玄関のドア"),
    (DOOR, "porte d'entrée"),
    (DOOR, "main entrance door"),
    (DOOR, "the red door"),
    (GARAGE, "гаражные ворота"),
    (DOOR, "Haustür"),
    (DOOR, "Grandpa's door"),
]  # fmt: skip
"""Names that say what the thing is, in any language."""


@pytest.fixture
def doors(hass: HomeAssistant, witness: Witness) -> None:
    """Have both exposed."""
    er.async_get(hass).async_get_or_create("lock", "demo", "side", suggested_object_id="side_door")
    hass.states.async_set(DOOR, "locked", {"friendly_name": "Side Door"})
    for entity_id in (DOOR, GARAGE):
        async_expose_entity(hass, ASSISTANT, entity_id, True)


def own_names(hass: HomeAssistant, entity_id: str) -> list[Any]:
    entry = er.async_get(hass).async_get(entity_id)
    assert entry is not None
    return list(entry.aliases)


@pytest.mark.usefixtures("doors")
@pytest.mark.parametrize("who", ["an administrator", "a user", "a voice device"])
@pytest.mark.parametrize(("target", "name"), BAD)
async def test_a_name_that_is_not_its_own(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    alice: Context,
    hass_admin_user: MockUser,
    target: str,
    name: str,
    who: str,
) -> None:
    """Neither asked about nor proposed: the model is told why not."""
    await start()
    before = own_names(hass, target)
    admin = Context(user_id=hass_admin_user.id)
    context = {"an administrator": admin, "a user": alice, "a voice device": Context()}[who]
    fields = {"device_id": "kitchen"} if who == "a voice device" else {}
    witness.server.plan(tool_call("teach_name", {"target": target, "name": name}), text("That is no name for it."))
    said = await say(hass, "that is its name", context=context, **fields)
    assert speech(said) == "That is no name for it."
    [answer] = answers(witness.server)
    assert not answer["success"]
    assert own_names(hass, target) == before
    assert taught_names_of(hass).rows() == []


@pytest.mark.usefixtures("doors")
@pytest.mark.parametrize(("target", "name"), GOOD)
async def test_a_name_that_says_what_it_is(
    hass: HomeAssistant, witness: Witness, start: SetUp, hass_admin_user: MockUser, target: str, name: str
) -> None:
    await start()
    admin = Context(user_id=hass_admin_user.id)
    witness.server.plan(tool_call("teach_name", {"target": target, "name": name}))
    asked = await say(hass, "that is its name", context=admin)
    assert f"“{name}”" in speech(asked)
    await say(hass, "yes", asked.conversation_id, context=Context(user_id=hass_admin_user.id))
    assert name in own_names(hass, target)
