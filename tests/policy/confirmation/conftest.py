"""A house with a locked door, and people who may open it."""

from collections.abc import Callable
from typing import Any

from homeassistant.auth.permissions.const import SUBCAT_ALL
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, Event, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import act, build_house, say, speech, state_of as state_in
from tests.llm_server import LLMServer, tool_call

type Add = Callable[[str], Context]

UNLOCK = {"action": "turn_off", "entity_id": "lock.front_door"}
QUESTION = "Front Door is locked. Unlock it?"


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test; a second lock can be reached as well."""
    await build_house(hass)
    async_expose_entity(hass, ASSISTANT, "lock.kitchen_door", True)


@pytest.fixture
def person(hass: HomeAssistant) -> Add:
    """Return a function that adds a person who may do everything in the house but is no administrator."""

    def add(name: str) -> Context:
        user = MockUser(name=name).add_to_hass(hass)
        user.mock_policy({"entities": {SUBCAT_ALL: True}})
        return Context(user_id=user.id)

    return add


@pytest.fixture
def alice(person: Add) -> Context:
    return person("Alice")


@pytest.fixture
def unlocked(hass: HomeAssistant) -> list[Event]:
    """Every action called from now on."""
    return async_capture_events(hass, EVENT_CALL_SERVICE)


def state_of(hass: HomeAssistant, entity_id: str = "lock.front_door") -> str:
    return state_in(hass, entity_id)


def services_of(events: list[Event]) -> list[str]:
    return [f"{event.data['domain']}.{event.data['service']}" for event in events]


async def process(
    hass: HomeAssistant, server: LLMServer, *confirm_via: str, context: Context | None = None
) -> dict[str, Any]:
    """Have the model unlock the front door in an automation; return the response."""
    server.plan(tool_call("ha_control", UNLOCK))
    return await act(hass, "process", context, text="somebody rings", confirm_via=list(confirm_via))


async def ask(hass: HomeAssistant, server: LLMServer, context: Context, **fields: Any) -> str:
    """Have the model unlock the front door; return the conversation in which that is asked about."""
    server.plan(tool_call("ha_control", UNLOCK))
    result = await say(hass, "let me in", context=context, **fields)
    assert (speech(result), result.continue_conversation) == (QUESTION, True)
    assert state_of(hass) == "locked"
    return str(result.conversation_id)
