"""Actions of the house as tools: only on what is exposed, whatever the arguments are."""

from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant, ServiceCall, SupportsResponse
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_mock_service

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import build_house
from tests.prompt.conftest import AddEntity
from tests.tools.custom.conftest import Run, WriteYaml

type Calls = list[ServiceCall]

AUTOMATION = """
home_agent:
  custom_tools:
    - name: trigger_automation
      description: Trigger a Home Assistant automation
      parameters:
        type: object
        properties:
          automation_id:
            type: string
      handler:
        type: service
        service: automation.trigger
        data:
          entity_id: "{{ automation_id }}"
"""


def tool(service: str, handler: str, more: str = "") -> str:
    lines = [f"service: {service}", *handler.strip().splitlines()]
    return f"""
home_agent:
  secrets: {{code: sk-secret-code}}
  custom_tools:
    - name: act
      description: Acts.
      {more}
      parameters:
        type: object
        properties:
          a: {{}}
          b: {{}}
      handler:
        type: service
""" + "".join(f"        {line}\n" for line in lines)


@pytest.fixture
async def automations(hass: HomeAssistant) -> list[str]:
    ran: list[str] = []
    hass.bus.async_listen("ran", lambda event: ran.append(event.data["id"]))
    config = [
        {"id": name, "alias": name, "triggers": [], "actions": [{"event": "ran", "event_data": {"id": name}}]}
        for name in ("morning", "secret")
    ]
    assert await async_setup_component(hass, "automation", {"automation": config})
    async_expose_entity(hass, ASSISTANT, "automation.morning", True)
    async_expose_entity(hass, ASSISTANT, "automation.secret", False)
    return ran


async def test_exposed_automation(hass: HomeAssistant, write_yaml: WriteYaml, run: Run, automations: list[str]) -> None:
    await write_yaml(AUTOMATION)
    assert (await run("trigger_automation", automation_id="automation.morning"))["success"]
    await hass.async_block_till_done()
    assert automations == ["morning"]


@pytest.mark.parametrize("automation_id", [
    "automation.secret", "automation.morning, automation.secret", "automation.ghost", "all", "ALL", " all ",
    "automation.morning,all", "none", "*", "automation.*", "", "secret", "AUTOMATION.SECRET", "['automation.secret']",
])  # fmt: skip
async def test_automations_that_are_not(
    hass: HomeAssistant, write_yaml: WriteYaml, run: Run, automations: list[str], automation_id: str
) -> None:
    await write_yaml(AUTOMATION)
    assert not (await run("trigger_automation", automation_id=automation_id))["success"]
    assert not (await run("trigger_automation"))["success"]
    await hass.async_block_till_done()
    assert automations == []


async def test_hidden_and_missing_have_one_answer(write_yaml: WriteYaml, run: Run, automations: list[str]) -> None:
    await write_yaml(AUTOMATION)
    answers = [
        (await run("trigger_automation", automation_id=f"automation.{name}"))["error"].replace(name, "X")
        for name in ("secret", "ghost")
    ]
    assert answers[0] == answers[1]


@pytest.fixture
def called(hass: HomeAssistant) -> list[ServiceCall]:
    return async_mock_service(hass, "light", "turn_on")


@pytest.mark.parametrize(("handler", "args"), [
    pytest.param('target: {entity_id: "{{ a }}"}', {"a": ["light.desk"]}, id="list"),
    pytest.param("target:\n  entity_id:\n    - light.desk\n    - '{{ a }}'", {"a": "light.desk"}, id="owner and model"),
    pytest.param("target: {area_id: '{{ a }}'}", {"a": "study"}, id="area"),
    pytest.param("data: {area_id: '{{ a }}'}", {"a": "study"}, id="area in data"),
    pytest.param("target: {label_id: '{{ a }}'}", {"a": "mine"}, id="label"),
])  # fmt: skip
async def test_targets_are_resolved_to_what_is_exposed(
    hass: HomeAssistant,
    add_entity: AddEntity,
    write_yaml: WriteYaml,
    run: Run,
    called: Calls,
    handler: str,
    args: dict[str, Any],
) -> None:
    add_entity("light.desk", area="Study")
    add_entity("light.hidden", area="Study", exposed=False)
    add_entity("switch.fan", area="Study")
    for entity_id in ("light.desk", "light.hidden", "switch.fan"):
        er.async_get(hass).async_update_entity(entity_id, labels={"mine"})
    await write_yaml(tool("light.turn_on", handler))
    assert (await run("act", **args))["success"]
    assert [call.data for call in called] == [{"entity_id": "light.desk"}]


@pytest.mark.parametrize(("handler", "args"), [
    pytest.param("target: {area_id: '{{ a }}'}", {"a": "attic"}, id="area of hidden things only"),
    pytest.param("target: {area_id: '{{ a }}'}", {"a": "nowhere"}, id="no such area"),
    pytest.param("target: {area_id: '{{ a }}'}", {"a": "all"}, id="all areas"),
    pytest.param("target: {device_id: '{{ a }}'}", {"a": "x"}, id="no such device"),
    pytest.param("target: {entity_id: '{{ a }}'}", {"a": 5}, id="number"),
    pytest.param("target: {entity_id: '{{ a }}'}", {"a": {"entity_id": "light.desk"}}, id="object"),
    pytest.param("target: {entity_id: light.desk}\ndata: {x: '{{ a }}'}", {"a": "light.hidden"}, id="in data"),
    pytest.param("target: {entity_id: light.desk}\ndata: {x: '{{ a }}'}", {"a": {"light.hidden": "on"}}, id="as key"),
    pytest.param(
        "target: {entity_id: light.desk}\ndata: {x: '{{ a }}'}", {"a": {"area_id": "study"}}, id="area inside",
    ),
    pytest.param("target: {entity_id: light.desk}\ndata: {x: '{{ a }}'}", {"a": {"entity_id": "all"}}, id="all inside"),
    pytest.param("target: {entity_id: light.hidden}", {}, id="the owner's, but not exposed"),
    pytest.param("target: {entity_id: light.both}", {}, id="a group that reaches further"),
    pytest.param("target: {entity_id: '{{ a }}'}", {}, id="nothing"),
])  # fmt: skip
async def test_targets_that_must_not_be(
    hass: HomeAssistant,
    add_entity: AddEntity,
    write_yaml: WriteYaml,
    run: Run,
    called: Calls,
    handler: str,
    args: dict[str, Any],
) -> None:
    add_entity("light.desk", area="Study")
    add_entity("light.hidden", area="Attic", exposed=False)
    add_entity("light.both")
    hass.states.async_set("light.both", "on", {"entity_id": ["light.desk", "light.hidden"]})
    ar.async_get(hass).async_get_or_create("Empty")
    await write_yaml(tool("light.turn_on", handler))
    assert not (await run("act", **args))["success"]
    assert not called


async def test_ids_of_the_registry_count_as_what_they_stand_for(
    hass: HomeAssistant, add_entity: AddEntity, write_yaml: WriteYaml, run: Run, called: list[ServiceCall]
) -> None:
    add_entity("light.desk")
    add_entity("light.hidden", exposed=False)
    ids = {name: er.async_get(hass).async_get(name).id for name in ("light.desk", "light.hidden")}  # type: ignore[union-attr]
    await write_yaml(tool("light.turn_on", "target: {entity_id: light.desk}\ndata: {x: '{{ a }}', y: '{{ b }}'}"))
    assert not (await run("act", a={"deep": [ids["light.hidden"]]}))["success"]
    assert not (await run("act", a=ids["light.desk"], b=ids["light.hidden"]))["success"]
    assert not called
    assert (await run("act", a=ids["light.desk"]))["success"]


async def test_data_keeps_its_types_and_secrets_reach_it(
    add_entity: AddEntity, write_yaml: WriteYaml, run: Run, called: list[ServiceCall]
) -> None:
    add_entity("light.desk")
    handler = (
        "target: {entity_id: light.desk}\ndata: {brightness: '{{ a }}', rgb: '{{ b }}', code: '{{ code }}', slow: true}"
    )
    await write_yaml(tool("light.turn_on", handler))
    assert (await run("act", a=128, b=[1, 2, 3]))["success"]
    [call] = called
    assert call.data == {
        "entity_id": "light.desk", "brightness": 128, "rgb": [1, 2, 3], "code": "sk-secret-code", "slow": True,
    }  # fmt: skip


async def test_users_without_permission(
    hass: HomeAssistant,
    add_entity: AddEntity,
    write_yaml: WriteYaml,
    called: Calls,
    hass_read_only_user: MockUser,
    make_turn: Any,
) -> None:
    add_entity("light.desk", area="Study")
    await write_yaml(tool("light.turn_on", "target: {area_id: '{{ a }}', entity_id: '{{ b }}'}"))
    runtime = hass.config_entries.async_entries("home_agent")[0].runtime_data
    turn = make_turn(user=hass_read_only_user)
    [act] = await runtime.custom_tools.async_tools(turn.profile, None)
    with pytest.raises(HomeAssistantError):
        await act.plan(hass, {"a": "study"}, turn)
    plan = await act.plan(hass, {"b": "light.desk"}, turn)
    with pytest.raises(HomeAssistantError):
        runtime.policy.authorize(turn, plan)
    assert not called


@pytest.mark.parametrize(("service", "handler", "parameters"), [
    pytest.param("lock.unlock", "target: {entity_id: '{{ a }}'}", {"a": "lock.front_door"}, id="unlock"),
    pytest.param("homeassistant.turn_off", "target: {entity_id: '{{ a }}'}", {"a": "lock.front_door"}, id="generic"),
    pytest.param("scene.apply", "data: {entities: '{{ a }}'}", {"a": {"lock.front_door": "unlocked"}}, id="scene"),
    pytest.param("notify.send_message", "data: {message: '{{ a }}'}", {"a": "hello"}, id="message"),
    pytest.param("homeassistant.restart", "", {}, id="restart"),
])  # fmt: skip
async def test_sensitive_calls_ask(
    hass: HomeAssistant, write_yaml: WriteYaml, run: Run, service: str, handler: str, parameters: dict[str, Any]
) -> None:
    await build_house(hass)
    for domain in ("scene", "notify"):
        assert await async_setup_component(hass, domain, {})
    restarts = async_mock_service(hass, "homeassistant", "restart")
    await write_yaml(tool(service, handler, more="read_only: true"))
    assert not (await run("act", **parameters))["success"]
    state = hass.states.get("lock.front_door")
    assert state
    assert state.state == "locked"
    assert not restarts


async def test_owner_says_that_messages_need_no_yes(hass: HomeAssistant, write_yaml: WriteYaml, run: Run) -> None:
    sent = async_mock_service(hass, "notify", "phone")
    await write_yaml(tool("notify.phone", "data: {message: '{{ a }}'}", more="destructive: false"))
    result = await run("act", a="Dinner!")
    assert result["result"] == {"done": "notify.phone"}
    assert sent[0].data == {"message": "Dinner!"}


async def test_scripts_called_by_name_have_to_be_exposed(hass: HomeAssistant, write_yaml: WriteYaml, run: Run) -> None:
    steps = {"sequence": [{"event": "ran", "event_data": {"id": "{{ word }}"}}]}
    assert await async_setup_component(hass, "script", {"script": {"greet": steps}})
    ran: list[str] = []
    hass.bus.async_listen("ran", lambda event: ran.append(event.data["id"]))
    await write_yaml(tool("script.greet", "data: {word: '{{ a }}'}"))
    async_expose_entity(hass, ASSISTANT, "script.greet", False)
    assert not (await run("act", a="hello"))["success"]
    async_expose_entity(hass, ASSISTANT, "script.greet", True)
    assert (await run("act", a="hello"))["success"]
    area = ar.async_get(hass).async_get_or_create("Vault").id
    assert "may stand for many entities" in (await run("act", a=area))["error"]
    await hass.async_block_till_done()
    assert ran == ["hello"]


@pytest.mark.parametrize(("supports", "handler", "expected"), [
    pytest.param(SupportsResponse.ONLY, "", {"days": [{"t": 3}], "code": "**masked**"}, id="only"),
    pytest.param(
        SupportsResponse.OPTIONAL, "return_response: true", {"days": [{"t": 3}], "code": "**masked**"}, id="wanted",
    ),
    pytest.param(SupportsResponse.OPTIONAL, "", {"done": "weather.tell"}, id="not wanted"),
    pytest.param(SupportsResponse.OPTIONAL, "response_path: days[0].t", 3, id="path"),
    pytest.param(SupportsResponse.ONLY, 'response: "{{ response.days | length }} day"', "1 day", id="template"),
])  # fmt: skip
async def test_responses(
    hass: HomeAssistant, write_yaml: WriteYaml, run: Run, supports: SupportsResponse, handler: str, expected: Any
) -> None:
    response: dict[str, Any] = {"days": [{"t": 3}], "code": "sk-secret-code"}
    hass.services.async_register("weather", "tell", lambda _: response, supports_response=supports)
    await write_yaml(tool("weather.tell", handler))
    assert (await run("act"))["result"] == expected


async def test_errors_of_a_service_without_secrets(hass: HomeAssistant, write_yaml: WriteYaml, run: Run) -> None:
    async def fail(call: ServiceCall) -> None:
        raise HomeAssistantError(f"wrong code {call.data['code']}")

    hass.services.async_register("meter", "fail", fail)
    await write_yaml(tool("meter.fail", "data: {code: '{{ code }}'}"))
    assert (await run("act"))["error"] == "wrong code **masked**"


async def test_a_service_that_is_not_there(write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(tool("no.such", ""))
    assert "no.such does not exist" in (await run("act"))["error"]
