"""A house without a model, with doors that should stay shut."""

from collections.abc import Callable, Mapping
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.auth.permissions.const import SUBCAT_ALL
from homeassistant.auth.permissions.types import SubCategoryType
from homeassistant.components import conversation
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.turn import Turn
from tests.house import build_house, set_up
from tests.prompt.conftest import add_entity, make_turn

__all__ = ["add_entity", "make_turn"]

type MakeContext = Callable[..., Context]


def log_of(hass: HomeAssistant, result: conversation.ConversationResult) -> list[Any]:
    """Return what the conversation's chat log holds."""
    assert result.conversation_id is not None
    return list(hass.data[DATA_CHAT_LOGS][result.conversation_id].content)


def said_in(turn: Turn) -> conversation.ConversationInput:
    """Return what Home Assistant heard in a turn."""
    return conversation.ConversationInput(
        text=turn.text, context=turn.context, conversation_id=turn.conversation_id, device_id=turn.device_id,
        satellite_id=None, language=turn.language, agent_id=turn.agent_id,
    )  # fmt: skip


@pytest.fixture
async def evening(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    """Let it be ten past six in the evening of a Tuesday in Berlin."""
    await hass.config.async_set_time_zone("Europe/Berlin")
    freezer.move_to("2026-11-24 17:10:00+00:00")


@pytest.fixture
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house and expose its garage door as well."""
    await build_house(hass)
    async_expose_entity(hass, ASSISTANT, "cover.garage_door", True)
    entry = er.async_get(hass).async_get("cover.garage_door")
    assert entry is not None
    assert entry.device_id is not None
    garage = ar.async_get(hass).async_get_or_create("Garage")
    dr.async_get(hass).async_update_device(entry.device_id, area_id=garage.id)
    await hass.services.async_call("cover", "close_cover", {"entity_id": entry.entity_id}, blocking=True)
    closing = hass.states.get(entry.entity_id)
    assert closing is not None
    hass.states.async_set(entry.entity_id, "closed", dict(closing.attributes))


@pytest.fixture
async def home_agent(hass: HomeAssistant, demo_house: None) -> None:
    """Set Home Agent up without a model."""
    await set_up(hass)


@pytest.fixture
def limited(hass: HomeAssistant) -> MakeContext:
    """Return a function that makes the context of a user who may use only some entities."""

    def make(*entity_ids: str, read: bool = True) -> Context:
        user = MockUser().add_to_hass(hass)
        entities: Mapping[str, SubCategoryType] = {
            "entity_ids": dict.fromkeys(entity_ids, True),
            SUBCAT_ALL: {"read": read},
        }
        user.mock_policy({"entities": entities})
        return Context(user_id=user.id)

    return make
