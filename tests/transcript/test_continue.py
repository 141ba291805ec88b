"""A new conversation that goes on where this person or this device left off."""

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from tests.house import set_up
from tests.llm_server import LLMServer

from .conftest import end_sessions, restart, say_all, words

pytestmark = pytest.mark.usefixtures("demo_house")

KITCHEN = {"device_id": "kitchen", "satellite_id": "assist_satellite.kitchen"}
BATH = {"device_id": "bath", "satellite_id": "assist_satellite.bath"}
GOES_ON = ["user: one", "assistant: ok", "user: two"]
BEGINS = ["user: two"]


async def test_off_begins_anew(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    entry = await set_up(hass, llm_server)
    me = Context(user_id=hass_admin_user.id)
    await say_all(hass, llm_server, None, "one", context=me)
    await restart(hass, entry)
    await say_all(hass, llm_server, None, "two", context=me)
    assert words(llm_server) == BEGINS


@pytest.mark.parametrize(("wanted", "where", "expected"), [
    ("user", {}, GOES_ON), ("user", BATH, GOES_ON), ("device", KITCHEN, GOES_ON), ("device", BATH, BEGINS),
    ("device", {}, BEGINS),
])  # fmt: skip
async def test_the_same_person(
    hass: HomeAssistant,
    llm_server: LLMServer,
    hass_admin_user: MockUser,
    wanted: str,
    where: dict[str, str],
    expected: list[str],
) -> None:
    entry = await set_up(hass, llm_server, profile={"continue_conversation": wanted})
    me = Context(user_id=hass_admin_user.id)
    await say_all(hass, llm_server, None, "one", context=me, **KITCHEN)
    await restart(hass, entry)
    await say_all(hass, llm_server, None, "two", context=me, **where)
    assert words(llm_server) == expected


@pytest.mark.parametrize("wanted", ["user", "device"])
async def test_satellites_go_by_the_device(hass: HomeAssistant, llm_server: LLMServer, wanted: str) -> None:
    entry = await set_up(hass, llm_server, profile={"continue_conversation": wanted})
    await say_all(hass, llm_server, None, "one", **KITCHEN)
    await restart(hass, entry)
    await say_all(hass, llm_server, None, "two", **BATH)
    assert words(llm_server) == BEGINS
    await say_all(hass, llm_server, None, "two", **KITCHEN)
    assert words(llm_server) == GOES_ON


@pytest.mark.parametrize("wanted", ["user", "device"])
async def test_never_what_another_person_said(
    hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser, hass_read_only_user: MockUser, wanted: str
) -> None:
    entry = await set_up(hass, llm_server, profile={"continue_conversation": wanted})
    await say_all(hass, llm_server, None, "one", context=Context(user_id=hass_admin_user.id), **KITCHEN)
    await restart(hass, entry)
    await say_all(hass, llm_server, None, "two", context=Context(user_id=hass_read_only_user.id), **KITCHEN)
    assert words(llm_server) == BEGINS
    await say_all(hass, llm_server, None, "two", **KITCHEN)  # nobody is known
    assert words(llm_server) == BEGINS


async def test_automations_begin_anew(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"continue_conversation": "user"})
    await say_all(hass, llm_server, None, "one")
    await restart(hass, entry)
    await say_all(hass, llm_server, None, "two")
    assert words(llm_server) == BEGINS


async def test_a_new_name_begins_anew(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    entry = await set_up(hass, llm_server, profile={"continue_conversation": "user"})
    me = Context(user_id=hass_admin_user.id)
    await say_all(hass, llm_server, None, "one", context=me)
    await restart(hass, entry)
    await say_all(hass, llm_server, "shopping", "two", context=me)
    assert words(llm_server) == BEGINS


@pytest.mark.parametrize(("minutes", "expected"), [(25, GOES_ON), (35, BEGINS)])
async def test_not_after_too_long(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, minutes: int, expected: list[str]
) -> None:
    await set_up(hass, llm_server, profile={"continue_conversation": "device", "continue_minutes": 30})
    await say_all(hass, llm_server, None, "one", **KITCHEN)
    await end_sessions(hass, freezer, minutes=minutes)
    await say_all(hass, llm_server, None, "two", **KITCHEN)
    assert words(llm_server) == expected


async def test_it_goes_on_and_on(hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory) -> None:
    entry = await set_up(hass, llm_server, profile={"continue_conversation": "device"})
    for message in ("one", "two", "three"):
        await say_all(hass, llm_server, None, message, **KITCHEN)
        await end_sessions(hass, freezer)
    assert words(llm_server) == ["user: one", "assistant: ok", "user: two", "assistant: ok", "user: three"]
    assert entry.runtime_data.conversations.counts["conversations"] == 1


async def test_what_was_forgotten_does_not_go_on(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"continue_conversation": "device"})
    await say_all(hass, llm_server, None, "older", **KITCHEN)
    [conversation_id] = await say_all(hass, llm_server, "named", "one", **KITCHEN)
    await hass.services.async_call("home_agent", "clear_history", {"conversation_id": conversation_id}, blocking=True)
    await say_all(hass, llm_server, conversation_id, "two", **KITCHEN)
    assert words(llm_server) == BEGINS
