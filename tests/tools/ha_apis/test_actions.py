"""Home Assistant's administration API, where there is one: any action by name, on targets that are known beforehand."""

from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er, llm
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_mock_service

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import build_house, say, set_up
from tests.llm_server import LLMServer, text, tool_call
from tests.tools.ha_apis.conftest import results, state

CALL = "homeassistant__call_action"
ADMIN_API = getattr(llm, "LLM_API_HOME_ASSISTANT", None)
PROFILE = {"llm_apis": [ADMIN_API], "native_tools": False, "max_calls_per_turn": 20}

pytestmark = pytest.mark.skipif(ADMIN_API is None, reason="releases before 2026.11 have no such API")


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test, not the demo entities of the folder."""
    await build_house(hass)


def put_into_office(hass: HomeAssistant, entity_id: str) -> None:
    office = ar.async_get(hass).async_get_or_create("Office")
    entry = er.async_get(hass).async_get(entity_id)
    assert entry is not None
    assert entry.device_id is not None
    dr.async_get(hass).async_update_device(entry.device_id, area_id=office.id)


async def test_only_administrators_are_offered_it(
    hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser, hass_read_only_user: MockUser
) -> None:
    await set_up(hass, llm_server, profile=PROFILE)
    offered = []
    for user_id in (hass_admin_user.id, hass_read_only_user.id, None):
        llm_server.plan(text("Hello."))
        await say(hass, "hello", context=Context(user_id=user_id))
        names = {tool["function"]["name"] for tool in llm_server.request.body.get("tools", ())}
        offered.append(CALL in names)
    assert offered == [True, False, False]


async def test_every_action_is_asked(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    await set_up(hass, llm_server, profile=PROFILE)
    context = Context(user_id=hass_admin_user.id)
    before = state(hass, "light.bed_light")
    llm_server.plan(tool_call(CALL, {"action": "light.turn_on", "target": {"entity_id": ["light.bed_light"]}}))
    first = await say(hass, "bed light on", context=context)
    assert state(hass, "light.bed_light") == before
    assert "Bed Light" in first.response.speech["plain"]["speech"]
    await say(hass, "yes", first.conversation_id, context=context)
    assert state(hass, "light.bed_light") == "on"


@pytest.mark.parametrize("args", [
    pytest.param({"target": {"entity_id": "light.office_rgbw_lights"}}, id="not exposed"),
    pytest.param({"target": {"entity_id": "light.ghost"}}, id="not there"),
    pytest.param({"target": {"entity_id": "all"}}, id="all"),
    pytest.param({"target": {"entity_id": ["ALL "]}}, id="ALL"),
    pytest.param({"data": {"entity_id": ["light.office_rgbw_lights"]}}, id="target in the data"),
    pytest.param({"data": {"x": {"light.office_rgbw_lights": "on"}}}, id="somewhere in the data"),
    pytest.param({"target": {"entity_id": "{{ 'light.office_rgbw_lights' }}"}}, id="template in the target"),
    pytest.param({"data": {"entity_id": "{{ 'light.office_rgbw_lights' }}"}}, id="template in the data"),
    pytest.param({"target": {"area_id": "office"}}, id="area with something that is not exposed"),
    pytest.param({"action": "home_agent.process", "data": {"text": "yes"}}, id="ourselves"),
])  # fmt: skip
async def test_targets_that_must_not_be_reached(
    hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser, args: dict[str, Any]
) -> None:
    async_expose_entity(hass, ASSISTANT, "light.office_rgbw_lights", False)
    await set_up(hass, llm_server, profile=PROFILE | {"never_ask": [CALL]})
    called = async_mock_service(hass, "light", "turn_on")
    if "area_id" in args.get("target", {}):
        put_into_office(hass, "light.office_rgbw_lights")
    llm_server.plan(tool_call(CALL, {"action": "light.turn_on", **args}), text("I cannot."))
    await say(hass, "on", context=Context(user_id=hass_admin_user.id))
    assert results(llm_server)[-1]["success"] is False
    assert not called


async def test_without_entities(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    await set_up(hass, llm_server, profile=PROFILE | {"never_ask": ["automation.reload"]})
    called = async_mock_service(hass, "automation", "reload")
    llm_server.plan(tool_call(CALL, {"action": "automation.reload"}), text("That is all."))
    await say(hass, "reload", context=Context(user_id=hass_admin_user.id))
    assert results(llm_server)[-1] == {"success": True, "result": {"success": True}, "error": None}
    assert len(called) == 1


async def test_whole_home_templates(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    hidden = "light.office_rgbw_lights"
    await set_up(hass, llm_server, profile=PROFILE)
    calls = {
        "homeassistant__render_template": {"template": f"{{{{ states('{hidden}') }}}}"},
        "search__search": {"query": "office"},
    }
    llm_server.plan(*(tool_call(name, arguments) for name, arguments in calls.items()), text("I cannot."))
    await say(hass, "is it on", context=Context(user_id=hass_admin_user.id))
    offered = {tool["function"]["name"] for tool in llm_server.request.body["tools"]}
    assert CALL in offered
    assert offered.isdisjoint(calls)
    assert [result["success"] for result in results(llm_server)] == [False, False]
