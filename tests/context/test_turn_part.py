"""What is told, and when: everything once, then what is new, never beyond the budget."""

from collections.abc import Callable
import json
from typing import Any

from homeassistant.components.conversation import UserContent
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.context.selection import Selections
from custom_components.home_agent.context.session import Session, TurnPart
from custom_components.home_agent.context.turn_part import async_turn_part
from custom_components.home_agent.home import Home
from custom_components.home_agent.profiles.profile import ContextEntity, Profile
from custom_components.home_agent.turn import Turn

from .conftest import AddEntity

type MakeTurn = Callable[..., Turn]


class Conversation:
    """Tells one session turn by turn."""

    def __init__(self, hass: HomeAssistant, make_turn: MakeTurn) -> None:
        self.hass, self.make_turn = hass, make_turn
        self.session = Session()
        self.selections = Selections()
        entry = MockConfigEntry(domain=DOMAIN)
        entry.add_to_hass(hass)
        self.home = Home(hass, entry)

    async def tell(self, *, budget: int = 10_000, forget: bool = False, **fields: Any) -> dict[str, Any]:
        """Return the data of the next turn part."""
        self.home.async_invalidate()
        snapshot = await self.home.async_get()
        self.home._stop_timer()
        told = self.session.told_since([] if forget else [part.content for part in self.session.parts])
        part: TurnPart = await async_turn_part(
            self.hass,
            self.make_turn(**fields),
            self.session,
            snapshot,
            self.selections,
            UserContent("hello"),
            told,
            budget,
            lambda text: len(text) // 4,
        )
        self.session.parts.append(part)
        return dict(json.loads(part.text.removeprefix("<house>").removesuffix("</house>")))


@pytest.fixture
def conversation(hass: HomeAssistant, make_turn: MakeTurn) -> Conversation:
    return Conversation(hass, make_turn)


async def test_first_everything_then_what_changed(
    hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity
) -> None:
    add_entity("light.desk", "on", brightness=128)
    add_entity("switch.fan", "off")
    first = await conversation.tell()
    assert first["states"] == {"light.desk": "on brightness=50%", "switch.fan": "off"}
    assert {"time", "date", "language"} <= set(first)
    assert set(await conversation.tell()) == {"time"}
    hass.states.async_set("switch.fan", "on")
    assert (await conversation.tell())["states"] == {"switch.fan": "on"}


async def test_change_that_says_the_same_is_not_told(
    hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity
) -> None:
    add_entity("light.desk", "on", brightness=128)
    await conversation.tell()
    hass.states.async_set("light.desk", "on", {"brightness": 128, "icon": "mdi:lamp"})
    assert "states" not in await conversation.tell()


async def test_what_is_forgotten_is_told_again(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    first = await conversation.tell()
    assert (await conversation.tell(forget=True))["states"] == first["states"]


async def test_new_and_gone_entities(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    await conversation.tell()
    add_entity("light.new")
    hass.states.async_remove("light.desk")
    assert (await conversation.tell())["states"] == {"light.new": "on", "light.desk": "gone"}
    assert "states" not in await conversation.tell()


async def test_hidden_in_mid_conversation_is_not_told_any_more(
    hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity
) -> None:
    add_entity("light.desk")
    await conversation.tell()
    add_entity("light.desk", "off", exposed=False)
    assert (await conversation.tell())["states"] == {"light.desk": "gone"}


async def test_place_user_and_language_are_told_once(
    hass: HomeAssistant, conversation: Conversation, hass_admin_user: MockUser
) -> None:
    kitchen = ar.async_get(hass).async_create("Kitchen").id
    hall = ar.async_get(hass).async_create("Hall").id
    first = await conversation.tell(area_id=kitchen, user=hass_admin_user, language="de")
    assert (first["area"], first["user"], first["language"]) == ("Kitchen", "Mock User", "de")
    second = await conversation.tell(area_id=hall, user=hass_admin_user, language="de")
    assert set(second) == {"time", "area"}


async def test_budget_takes_attributes_first_then_entities(conversation: Conversation, add_entity: AddEntity) -> None:
    for number in range(20):
        add_entity(f"light.l{number:02}", "on", brightness=128)
    add_entity("sensor.s", "1")
    short = await conversation.tell(budget=130)
    assert set(short["states"].values()) == {"on", "1"}
    few = await conversation.tell(budget=40, forget=True)
    assert few["states_not_listed"] == 21 - len(few["states"])
    assert "sensor.s" not in few["states"]


async def test_owners_list_with_wildcards_and_attributes(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("climate.living", "heat", temperature=21, swing_mode="off")
    add_entity("light.desk")
    add_entity("light.secret", exposed=False)
    rows = (
        ContextEntity(pattern="climate.*", attributes=("swing_mode",)),
        ContextEntity(pattern="light.secret"),
        ContextEntity(pattern="light.nowhere"),
    )
    told = await conversation.tell(profile=Profile(name="A", context_entities=rows))
    assert told["states"] == {"climate.living": "heat swing_mode=off"}


async def test_entities_of_one_request(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    add_entity("switch.fan")
    assert (await conversation.tell(context_entities=["switch.*"]))["states"] == {"switch.fan": "on"}


async def test_user_is_told_only_what_they_may_read(
    hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity
) -> None:
    add_entity("light.desk")
    add_entity("light.safe")
    user = MockUser().add_to_hass(hass)
    user.mock_policy({"entities": {"entity_ids": {"light.desk": {"read": True}}}})
    assert (await conversation.tell(user=user))["states"] == {"light.desk": "on"}


async def test_update_interval_holds_states_back(
    hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity
) -> None:
    add_entity("light.desk")
    profile = Profile(name="A", context_update_interval=3600)
    await conversation.tell(profile=profile)
    hass.states.async_set("light.desk", "off")
    assert "states" not in await conversation.tell(profile=profile)


async def test_mode_off_tells_time_and_place_only(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    assert "states" not in await conversation.tell(profile=Profile(name="A", context_mode="off"))


async def test_what_the_user_names_is_told_beyond_the_budget(
    hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity
) -> None:
    for number in range(50):
        add_entity(f"light.l{number:02}", "on", name=f"Lamp {number}")
    add_entity("sensor.z", "7", name="Wine cellar")
    add_entity("sensor.secret", "8", name="Wine secret", exposed=False)
    told = await conversation.tell(budget=40, text="How warm is the wine cellar? And the Wine secret?")
    assert told["states"]["sensor.z"] == "7"
    assert "sensor.secret" not in told["states"]
    hass.states.async_set("sensor.z", "9", {"friendly_name": "Wine cellar"})
    assert (await conversation.tell(budget=40, text="And now?"))["states"] == {"sensor.z": "9"}
    assert "states" not in await conversation.tell(budget=40, text="The WINE CELLAR?")


async def test_areas_that_are_named_or_near_are_told_beyond_the_budget(
    hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity
) -> None:
    for number in range(50):
        add_entity(f"light.l{number:02}", "on", name=f"Lamp {number}")
    add_entity("sensor.attic_t", "7", name="Temperature", area="Attic")
    add_entity("sensor.cellar_t", "8", name="Temperature", area="Wine Cellar")
    cellar = ar.async_get(hass).async_get_area_by_name("Wine Cellar").id  # type: ignore[union-attr]
    told = await conversation.tell(budget=40, text="Is it warm in the attic?", area_id=cellar)
    assert (told["states"]["sensor.attic_t"], told["states"]["sensor.cellar_t"]) == ("7", "8")
