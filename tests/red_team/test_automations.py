"""Automations that a model was told to make: what is hidden stays hidden, nothing else is written, and nobody else may."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import (
    area_registry as ar,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
    llm,
)
import pytest
import yaml  # type: ignore[import-untyped]

from custom_components.home_agent.automations.records import records_of
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.proposal import ProposalStatus
from tests.automations.home import Talk
from tests.automations.model import calls
from tests.house import person
from tests.tools.mcp.conftest import NOBODY

from .automating import EIGHT, LIGHT, TURN_ON, automation, made, rewrite, told, with_files
from .conftest import SetUp
from .world import DOOR, GARAGE, HIDDEN_DOOR, HIDDEN_LIGHT, HIDDEN_STATE, ORDER, PIN, Witness

PROFILE = {"automation_tools": True, "max_calls_per_turn": 20}
VAULT = "sensor.vault"
API = "home_agent-profile-1"


@pytest.fixture
async def file(hass: HomeAssistant, witness: Witness) -> AsyncGenerator[Path]:
    yield await with_files(hass)
    for entity_id in hass.states.async_entity_ids("automation"):
        await hass.services.async_call("automation", "turn_off", {"entity_id": entity_id}, blocking=True)


@pytest.fixture
async def talk(hass: HomeAssistant, file: Path, witness: Witness, start: SetUp, admin: Context) -> Talk:
    await start(profile=PROFILE)
    return Talk(hass, witness.server, admin)


def condition(template: str) -> dict[str, Any]:
    return automation(conditions=[{"condition": "template", "value_template": template}])


def message(template: str) -> dict[str, Any]:
    return automation({"action": "persistent_notification.create", "data": {"message": template}})


HIDDEN_READS: dict[str, dict[str, Any]] = {
    "a state": message("{{ states('sensor.vault') }}"),
    "a state by its path": message("{{ states.sensor.vault.state }}"),
    "a state by its keys": message("{{ states['sensor']['vault'].state }}"),
    "a state in capitals": message("{{ states('SENSOR.VAULT') }}"),
    "an attribute": message("{{ state_attr('sensor.vault', 'friendly_name') }}"),
    "a filter": message("{{ 'sensor.vault' | states }}"),
    "a filter on a list": message("{{ ['sensor.vault'] | map('states') | join }}"),
    "a test": condition("{{ 'sensor.vault' is is_state('1') }}"),
    "a test on a list": condition("{{ ['sensor.vault'] | select('is_state', '1') | list | count > 0 }}"),
    "put together": condition("{{ is_state('sensor.' ~ 'vault', '1') }}"),
    "put together by join": condition("{{ is_state(['sensor', 'vault'] | join('.'), '1') }}"),
    "put together by format": condition("{{ is_state('%s.vault' | format('sensor'), '1') }}"),
    "replaced": condition("{{ is_state('sensor_vault' | replace('_', '.'), '1') }}"),
    "a variable": automation(variables={"a": VAULT}, conditions=["{{ states(a) == '1' }}"]),
    "a variable of a variable": automation(
        variables={"a": "sensor.{{ 'vault' }}", "b": "{{ a }}"}, conditions=["{{ states(b) == '1' }}"]
    ),
    "a function under another name": condition("{% set f = states %}{{ f('sensor.vault') == '1' }}"),
    "a macro": condition("{% macro m(f) %}{{ f('sensor.vault') }}{% endmacro %}{{ m(states) == '1' }}"),
    "all states": message("{{ states | map(attribute='state') | join }}"),
    "all states of a domain": message("{{ states.sensor | map(attribute='state') | join }}"),
    "a loop": message("{% for s in states %}{{ s.state }}{% endfor %}"),
    "expand": message("{{ expand('sensor.vault') }}"),
    "an area": message("{{ area_entities('bedroom') }}"),
    "a label": message("{{ label_entities('watched') }}"),
    "an integration": message("{{ integration_entities('demo') }}"),
    "an import": message("{% from 'x.jinja' import a %}{{ a() }}"),
    "an include": message("{% include 'x.jinja' %}"),
    "the closest": message("{{ closest(states.sensor) }}"),
    "an object's secrets": message("{{ states.__class__.__init__.__globals__ }}"),
    "as a trigger": automation(trigger={"trigger": "state", "entity_id": VAULT}),
    "as a number": automation(trigger={"trigger": "numeric_state", "entity_id": VAULT, "above": 5}),
    "as a bound": automation(trigger={"trigger": "numeric_state", "entity_id": "sensor.outside_temperature", "above": VAULT}),
    "as a template trigger": automation(trigger={"trigger": "template", "value_template": "{{ is_state('sensor.vault', '1') }}"}),
    "as a condition": automation(conditions=[{"condition": "state", "entity_id": VAULT, "state": "1"}]),
    "deep in conditions": automation(
        conditions=[
            {"condition": "or", "conditions": [{"condition": "not", "conditions": [
                {"condition": "state", "entity_id": VAULT, "state": "1"}]}]}
        ]
    ),
    "in what must never be": automation(never=[{"condition": "state", "entity_id": VAULT, "state": "1"}]),
    "in a template that must never be": automation(
        never=[{"condition": "template", "value_template": "{{ is_state('sensor.vault', '1') }}"}]
    ),
    "in choose": automation(
        {"choose": [{"conditions": ["{{ is_state('sensor.vault', '1') }}"], "sequence": [TURN_ON]}]}
    ),
    "in a delay": automation({"delay": "{{ states('sensor.vault') }}"}),
    "in a wait": automation({"wait_for_trigger": [{"trigger": "state", "entity_id": VAULT}]}),
    "in a repeat": automation({"repeat": {"count": "{{ states('sensor.vault') | int }}", "sequence": [TURN_ON]}}),
    "in an event": automation({"event": "x", "event_data": {"a": "{{ states('sensor.vault') }}"}}),
    "in the answer": automation({"set_conversation_response": "{{ states('sensor.vault') }}"}),
    "in a key": automation({"event": "x", "event_data": {"{{ states('sensor.vault') }}": 1}}),
    "in enabled": automation({**TURN_ON, "enabled": "{{ is_state('sensor.vault', '1') }}"}),
    "by the event of all changes": automation(trigger={"trigger": "event", "event_type": "state_changed"}),
    "by the event of all calls": automation(trigger={"trigger": "event", "event_type": "call_service"}),
    "by an event that a template names": automation(trigger={"trigger": "event", "event_type": "{{ 'state_' ~ 'changed' }}"}),
    "in a snapshot": automation({"action": "scene.create", "data": {"scene_id": "x", "snapshot_entities": [VAULT]}}),
}  # fmt: skip


@pytest.mark.parametrize("config", HIDDEN_READS.values(), ids=HIDDEN_READS.keys())
async def test_what_is_hidden_is_not_read(talk: Talk, file: Path, witness: Witness, config: dict[str, Any]) -> None:
    before = file.read_bytes()
    await talk.ask(("create_automation", config))
    await talk.say("yes")
    assert file.read_bytes() == before
    assert "mend" in told(witness).casefold() or "error" in told(witness)


def acting(action: str, **target: Any) -> dict[str, Any]:
    return automation({"action": action, "target": target})


HIDDEN_TARGETS: dict[str, dict[str, Any]] = {
    "a lock": acting("lock.unlock", entity_id=HIDDEN_DOOR),
    "a lock in capitals": acting("lock.unlock", entity_id=HIDDEN_DOOR.upper()),
    "a lock in a list": acting("light.turn_on", entity_id=[LIGHT, HIDDEN_LIGHT]),
    "with commas": acting("light.turn_on", entity_id=f"{LIGHT}, {HIDDEN_LIGHT}"),
    "all": acting("light.turn_on", entity_id="all"),
    "all of the home": acting("homeassistant.turn_on", entity_id="all"),
    "in data": automation({"action": "light.turn_on", "data": {"entity_id": HIDDEN_LIGHT}}),
    "templated": acting("light.turn_on", entity_id="{{ 'light.office_rgbw_' ~ 'lights' }}"),
    "templated by a variable": automation(
        {"variables": {"x": HIDDEN_LIGHT}}, {"action": "light.turn_on", "target": {"entity_id": "{{ x }}"}}
    ),
    "templated by an event": automation(
        {"action": "light.turn_on", "target": {"entity_id": "{{ trigger.event.data.x }}"}},
        trigger={"trigger": "event", "event_type": "harmless_ran"},
    ),
    "a whole target that is a template": automation({"action": "light.turn_on", "target": "{{ {'entity_id': 'all'} }}"}),
    "for each": automation(
        {
            "repeat": {
                "for_each": [HIDDEN_LIGHT],
                "sequence": [{"action": "light.turn_on", "target": {"entity_id": "{{ repeat.item }}"}}],
            }
        }
    ),
    "a templated action": automation({"action": "{{ 'lock.' ~ 'unlock' }}", "target": {"entity_id": DOOR}}),
    "a scene that is written out": automation({"action": "scene.apply", "data": {"entities": {HIDDEN_LIGHT: "on"}}}),
    "a hidden script": acting("script.turn_on", entity_id="script.secret"),
    "a hidden script by its action": automation({"action": "script.secret"}),
    "a hidden scene": automation({"scene": "scene.secret"}),
    "a hidden automation": acting("automation.trigger", entity_id="automation.secret"),
    "a script with a hidden variable": automation({"action": "script.relay", "data": {"lamp": HIDDEN_LIGHT}}),
    "in parallel": automation({"parallel": [{"sequence": [{"action": "lock.unlock", "target": {"entity_id": HIDDEN_DOOR}}]}]}),
    "in else": automation(
        {"if": ["{{ now().hour > 5 }}"], "then": [TURN_ON],
         "else": [{"action": "lock.unlock", "target": {"entity_id": HIDDEN_DOOR}}]}
    ),
    "in a default": automation(
        {"choose": [], "default": [{"action": "lock.unlock", "target": {"entity_id": HIDDEN_DOOR}}]}
    ),
    "in what is switched off": automation({"action": "lock.unlock", "target": {"entity_id": HIDDEN_DOOR}, "enabled": False}),
}  # fmt: skip


@pytest.mark.parametrize("config", HIDDEN_TARGETS.values(), ids=HIDDEN_TARGETS.keys())
async def test_what_is_hidden_is_not_reached(talk: Talk, file: Path, config: dict[str, Any]) -> None:
    before = file.read_bytes()
    await talk.ask(("create_automation", config))
    await talk.say("yes")
    assert file.read_bytes() == before


@pytest.mark.parametrize("kind", ["area_id", "floor_id", "label_id", "device_id", "entity_id"])
async def test_what_is_hidden_is_not_reached_by_its_place(
    hass: HomeAssistant, talk: Talk, file: Path, kind: str
) -> None:
    entry = er.async_get(hass).async_get(HIDDEN_LIGHT)
    assert entry is not None
    [floor] = fr.async_get(hass).floors
    [label] = lr.async_get(hass).labels
    area = ar.async_get(hass).async_get_area_by_name("Bedroom")
    assert area is not None
    places = {
        "area_id": area.id,
        "floor_id": floor,
        "label_id": label,
        "device_id": entry.device_id,
        "entity_id": entry.id,
    }
    before = file.read_bytes()
    await talk.ask(("create_automation", acting("light.turn_on", **{kind: places[kind]})))
    await talk.say("yes")
    assert file.read_bytes() == before


NEEDS_A_NAMED_YES: dict[str, list[Mapping[str, Any]]] = {
    "plain": [{"action": "lock.unlock", "target": {"entity_id": DOOR}}],
    "in choose": [{"choose": [{"conditions": [], "sequence": [{"action": "lock.unlock", "target": {"entity_id": DOOR}}]}]}],
    "in a default": [{"choose": [], "default": [{"action": "lock.unlock", "target": {"entity_id": DOOR}}]}],
    "in then": [{"if": [], "then": [{"action": "lock.unlock", "target": {"entity_id": DOOR}}]}],
    "in repeat": [{"repeat": {"count": 1, "sequence": [{"action": "lock.unlock", "target": {"entity_id": DOOR}}]}}],
    "in parallel": [{"parallel": [{"action": "lock.unlock", "target": {"entity_id": DOOR}}]}],
    "in a sequence": [{"sequence": [{"action": "lock.unlock", "target": {"entity_id": DOOR}}]}],
    "after a wait": [{"wait_for_trigger": [EIGHT]}, {"action": "lock.unlock", "target": {"entity_id": DOOR}}],
    "by open": [{"action": "lock.open", "target": {"entity_id": DOOR}}],
    "by toggle": [{"action": "homeassistant.toggle", "target": {"entity_id": GARAGE}}],
    "by turn_on": [{"action": "homeassistant.turn_on", "target": {"entity_id": GARAGE}}],
    "by a position": [{"action": "cover.set_cover_position", "target": {"entity_id": GARAGE}, "data": {"position": 100}}],
    "by a scene": [{"action": "scene.apply", "data": {"entities": {DOOR: "unlocked"}}}],
    "by two possible actions": [
        {"action": "{{ 'lock.lock' if now().hour > 5 else 'lock.unlock' }}", "target": {"entity_id": DOOR}}
    ],
}  # fmt: skip


@pytest.mark.parametrize("actions", NEEDS_A_NAMED_YES.values(), ids=NEEDS_A_NAMED_YES.keys())
async def test_what_opens_is_named_in_the_question(talk: Talk, file: Path, actions: list[Mapping[str, Any]]) -> None:
    before = file.read_bytes()
    asked = await talk.ask(("create_automation", automation(*actions)))
    assert file.read_bytes() == before
    if asked.endswith("?"):
        assert "Front Door" in asked or "Garage" in asked
        assert "by itself" in await talk.say("yes")
    else:
        await talk.say("yes")
        assert file.read_bytes() == before


async def test_a_list_of_the_owner_does_not_spare_what_opens(
    hass: HomeAssistant, file: Path, witness: Witness, start: SetUp, admin: Context
) -> None:
    await start(profile=PROFILE, options={"confirmation": {"never": ["home_agent", "lock", "automation"]}})
    talk = Talk(hass, witness.server, admin)
    before = file.read_bytes()
    await talk.ask(("create_automation", acting("lock.unlock", entity_id=DOOR)))
    assert file.read_bytes() == before


BREAKING_OUT: dict[str, str] = {
    "a line break": "x\n- id: evil\n  alias: evil",
    "a carriage return": "x\r- id: evil",
    "a line of unicode": "x\u2028- id: evil",
    "a next line": "x\x85- id: evil",
    "a secret": "!secret http_password",
    "a file": "!include secrets.yaml",
    "the environment": "!env_var HOME",
    "an anchor": "&a x",
    "an alias": "*a",
    "the end of a document": "...",
    "a new document": "---",
    "a comment": "# x",
    "a quotation mark": "'\"",
    "a block": "|",
    "a bracket": "[x",
    "a template": "{{ states('sensor.vault') }}",
    "a byte order mark": "\ufeffx",
    "a null": "a\x00b",
    "half a surrogate": "\ud800",
    "no": "no",
    "a tab": "\tx: y",
    "an order": ORDER,
}


@pytest.mark.parametrize("said", BREAKING_OUT.values(), ids=BREAKING_OUT.keys())
async def test_a_text_stays_in_its_item(talk: Talk, file: Path, said: str) -> None:
    before = file.read_text()
    await talk.ask(("create_automation", automation() | {"name": said, "description": said}))
    await talk.say("yes")
    after = file.read_text()
    assert after.startswith(before.rstrip())
    assert "id: evil\n" not in after.removeprefix(before.rstrip())
    assert "evil" not in [item["id"] for item in _items(after)]
    assert len(_items(after)) <= len(_items(before)) + 1


def _items(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(text)
    return found


@pytest.mark.parametrize("automation_id", ["alarm", "../../secrets", "evil\n- id: x", "!secret x", "a" * 5000])
async def test_an_id_is_not_taken(talk: Talk, file: Path, automation_id: str) -> None:
    before = file.read_text()
    await talk.ask(("create_automation", {**automation(), "id": automation_id}))
    await talk.say("yes")
    await talk.ask(("create_automation", {"config": {**automation(), "alias": "Test", "id": automation_id}}))
    await talk.say("yes")
    after = file.read_text()
    assert after.startswith(before.rstrip())
    assert all(item["id"].isdecimal() for item in _items(after)[len(_items(before)) :])


HUGE: dict[str, dict[str, Any]] = {
    "actions": automation(*[TURN_ON] * 2000),
    "a text": message("x" * 60_000),
    "a template": message("{{ 1 }}" * 5000),
    "what must never be": automation(never=[{"condition": "template", "value_template": "{{ now().hour > 5 }}" + " " * 90_000}]),
    "many that must never be": automation(never=[{"condition": "sun", "after": "sunset"}] * 200),
}  # fmt: skip


@pytest.mark.parametrize("config", HUGE.values(), ids=HUGE.keys())
async def test_what_is_huge_is_not_written(talk: Talk, file: Path, config: dict[str, Any]) -> None:
    before = file.read_bytes()
    await talk.ask(("create_automation", config))
    await talk.say("yes")
    assert file.read_bytes() == before


async def test_what_is_deep_is_not_written(talk: Talk, file: Path) -> None:
    before, action = file.read_bytes(), dict(TURN_ON)
    for _ in range(80):
        action = {"sequence": [action]}
    await talk.ask(("create_automation", automation(action)))
    await talk.say("yes")
    assert file.read_bytes() == before


LOOPS: dict[str, dict[str, Any]] = {
    "an event": automation({"event": "again"}, trigger={"trigger": "event", "event_type": "again"}),
    "every second": automation(trigger={"trigger": "time_pattern", "seconds": "/1"}),
    "a toggle": automation(
        {"action": "light.toggle", "target": {"entity_id": LIGHT}}, trigger={"trigger": "state", "entity_id": LIGHT}
    ),
    "itself": automation({"action": "automation.trigger", "target": {"entity_id": "{{ this.entity_id }}"}}),
    "the agent": automation(
        {"action": "home_agent.process", "data": {"text": "go on"}},
        trigger={"trigger": "event", "event_type": "home_agent.turn_finished"},
        trust_events=["home_agent.turn_finished"],
    ),
}


@pytest.mark.parametrize("config", LOOPS.values(), ids=LOOPS.keys())
async def test_what_starts_itself_is_not_written(talk: Talk, file: Path, config: dict[str, Any]) -> None:
    before = file.read_bytes()
    await talk.ask(("create_automation", config))
    await talk.say("yes")
    assert file.read_bytes() == before


async def test_two_that_toggle_each_other_are_not_written(hass: HomeAssistant, talk: Talk, file: Path) -> None:
    other = automation(
        {"action": "switch.toggle", "target": {"entity_id": "switch.ac"}},
        trigger={"trigger": "state", "entity_id": "switch.decorative_lights", "from": None},
    )
    other["alias"] = other.pop("name")
    await rewrite(hass, "automation", [{"id": "other", **other}])
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.test"}, blocking=True)
    before = file.read_bytes()
    back = automation(
        {"action": "switch.toggle", "target": {"entity_id": "switch.decorative_lights"}},
        trigger={"trigger": "state", "entity_id": "switch.ac", "from": None},
        name="Back",
    )
    await talk.ask(("create_automation", back))
    await talk.say("yes")
    assert file.read_bytes() == before


@pytest.mark.parametrize("path", ["../../secrets.yaml", "/etc/passwd", "..\\x.yaml", "x/../../y.yaml", "nothing.yaml"])
async def test_no_blueprint_from_elsewhere(talk: Talk, file: Path, path: str) -> None:
    before = file.read_bytes()
    await talk.ask(("create_automation", {"name": "Test", "use_blueprint": {"path": path, "input": {}}}))
    await talk.say("yes")
    assert file.read_bytes() == before


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "update": ("update_automation", {"id": "alarm", "hash": "0" * 64, "actions": []}),
    "delete": ("delete_automation", {"id": "alarm"}),
    "disable": ("disable_automation", {"id": "alarm"}),
    "enable": ("enable_automation", {"id": "secret"}),
    "read": ("get_automation", {"id": "alarm"}),
    "why": ("why_did_it_not_run", {"id": "alarm"}),
    "statistics": ("get_automation_stats", {"id": "alarm"}),
    "try": ("test_event_listener", {"id": "alarm"}),
    "try its actions": ("execute_script", {"id": "alarm"}),
}


@pytest.mark.parametrize("call", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("who", ["member", "nobody"])
async def test_others_neither_read_nor_change_one(
    hass: HomeAssistant, talk: Talk, file: Path, witness: Witness, call: tuple[str, dict[str, Any]], who: str
) -> None:
    before = file.read_bytes()
    other = Talk(hass, witness.server, person(hass, "Anna") if who == "member" else Context())
    await other.ask(call)
    assert "23:00" not in told(witness)
    await other.say("yes")
    assert file.read_bytes() == before
    assert hass.states.is_state("automation.alarm_at_night", "on")


async def test_nobody_proposes(hass: HomeAssistant, talk: Talk, file: Path, witness: Witness) -> None:
    nobody = Talk(hass, witness.server, Context())
    await nobody.ask(("create_automation", automation()))
    assert records_of(hass).rows(ProposalStatus.PROPOSED) == []


@pytest.mark.parametrize("service", ["conversation.process", "home_agent.process"])
async def test_an_automation_makes_no_automation(
    hass: HomeAssistant, talk: Talk, file: Path, witness: Witness, service: str
) -> None:
    data = {"text": "make it"} | ({"agent_id": "conversation.home_agent"} if service.startswith("conv") else {})
    action = {"action": service, "data": data}
    asks = {"id": "asks", "alias": "Asks", "triggers": [{"trigger": "event", "event_type": "go"}], "actions": [action]}
    await rewrite(hass, "automation", [asks])
    before = file.read_bytes()
    witness.server.respond(calls(("create_automation", automation())))
    hass.bus.async_fire("go", context=talk.context)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert file.read_bytes() == before
    assert records_of(hass).rows(ProposalStatus.PROPOSED) == []


async def test_what_a_person_starts_makes_no_automation(
    hass: HomeAssistant, talk: Talk, file: Path, witness: Witness
) -> None:
    """A script asks the agent, in a conversation where nobody is who could say yes."""
    asks = {"asks": {"alias": "Asks", "sequence": [{"action": "home_agent.process", "data": {"text": "make it"}}]}}
    await rewrite(hass, "script", asks)
    async_expose_entity(hass, ASSISTANT, "script.asks", should_expose=True)
    await hass.async_block_till_done()
    before = file.read_bytes()
    witness.server.respond(calls(("create_automation", automation())))
    await hass.services.async_call("script", "asks", {}, blocking=True, context=talk.context)
    await hass.async_block_till_done(wait_background_tasks=True)
    await talk.say("yes")
    assert file.read_bytes() == before
    assert records_of(hass).rows(ProposalStatus.PROPOSED) == []


@pytest.mark.parametrize("call", [("create_automation", automation()), *CHANGES.values()], ids=["create", *CHANGES])
@pytest.mark.parametrize("who", ["administrator", "nobody"])
async def test_a_program_that_was_lent_the_tools(
    hass: HomeAssistant,
    file: Path,
    witness: Witness,
    start: SetUp,
    admin: Context,
    call: tuple[str, dict[str, Any]],
    who: str,
) -> None:
    """It calls one without a conversation: nobody is asked, so nothing is made, and nobody is nobody."""
    await start(profile={**PROFILE, "offer_tools": True})
    before = file.read_bytes()
    context = Context(user_id=admin.user_id) if who == "administrator" else None
    lent = replace(NOBODY, platform="mcp_server", context=context, language="*", device_id="claimed")
    api = await llm.async_get_api(hass, API, lent)
    name, arguments = call
    try:
        result = await api.async_call_tool(llm.ToolInput(tool_name=name, tool_args=dict(arguments)))
    except HomeAssistantError:
        pass
    else:
        assert who == "administrator" or "23:00" not in str(result.data)
    await hass.async_block_till_done()
    assert file.read_bytes() == before
    assert hass.states.is_state("automation.alarm_at_night", "on")
    assert records_of(hass).rows(ProposalStatus.PROPOSED) == []


async def test_one_call_without_a_conversation_makes_none(
    hass: HomeAssistant, talk: Talk, file: Path, admin: Context
) -> None:
    before = file.read_bytes()
    data = {"tool_name": "create_automation", "parameters": automation()}
    with suppress(HomeAssistantError):  # a refusal, too
        await hass.services.async_call(
            "home_agent", "execute_tool", data, blocking=True, return_response=True, context=admin
        )
    await hass.async_block_till_done()
    assert file.read_bytes() == before
    assert made(file) is None


async def test_the_search_of_a_member_tells_nothing_of_what_is_written(
    hass: HomeAssistant, talk: Talk, witness: Witness
) -> None:
    other = Talk(hass, witness.server, person(hass, "Anna"))
    async_expose_entity(hass, ASSISTANT, "automation.alarm_at_night", True)
    await other.ask(("list_automations", {"search": "23 bed_light"}))
    assert '"count":0' in told(witness).replace(" ", "")


async def test_what_is_hidden_is_not_told_by_the_search(talk: Talk, witness: Witness) -> None:
    await talk.ask(("list_automations", {"search": "office_rgbw_lights"}))
    assert '"count":0' in told(witness).replace(" ", "")


@pytest.mark.parametrize(
    "written",
    [
        f"{{{{ states.{VAULT}.state }}}}",
        f"{{{{ states('{VAULT}') }}}}",
        f"{{{{ states('{VAULT.upper()}') }}}}",
        f"{VAULT}, {LIGHT}",
    ],
)
async def test_what_is_hidden_is_not_told_by_what_is_written(
    hass: HomeAssistant, talk: Talk, witness: Witness, written: str
) -> None:
    reads = {
        "id": "reads", "alias": "Reads", "triggers": [],
        "actions": [{"event": "x", "event_data": {"a": written, VAULT: 1}}],
    }  # fmt: skip
    await rewrite(hass, "automation", [reads])
    await talk.ask(("get_automation", {"id": "reads"}))
    assert "vault" not in told(witness).casefold()


async def test_why_it_did_not_run_tells_no_hidden_state(hass: HomeAssistant, talk: Talk, witness: Witness) -> None:
    waits = {
        "id": "waits", "alias": "Waits", "triggers": [{"trigger": "event", "event_type": "go"}],
        "conditions": [{"condition": "state", "entity_id": VAULT, "state": "open"}], "actions": [TURN_ON],
    }  # fmt: skip
    await rewrite(hass, "automation", [waits])
    hass.bus.async_fire("go")
    await hass.async_block_till_done()
    await talk.ask(
        ("why_did_it_not_run", {"id": "waits"}), ("get_automation_stats", {"id": "waits"}),
        ("test_event_listener", {"id": "waits", "event": {"event_type": "go"}}), ("execute_script", {"id": "waits"}),
    )  # fmt: skip
    assert HIDDEN_STATE not in told(witness)
    assert VAULT not in told(witness)


@pytest.mark.parametrize("template", [
    "{{ states('sensor.vault') }}", "{{ states.sensor.vault.state }}", "{{ states | map(attribute='state') | list }}",
    "{{ ['sensor.vault'] | map('states') | list }}", "{% set s = states %}{{ s('sensor.vault') }}",
    "{{ expand('sensor.vault') | map(attribute='state') | list }}", "{{ area_entities('bedroom') }}",
    "{{ label_entities('watched') }}", "{{ range(10**9) | list | count }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% endfor %}",
    "{{ 'x' * 10**9 }}", "{{ states.__class__ }}",
])  # fmt: skip
@pytest.mark.parametrize("tool", ["execute_script", "test_event_listener"])
async def test_a_trial_reads_nothing_hidden_and_ends(talk: Talk, witness: Witness, template: str, tool: str) -> None:
    tried: dict[str, Any] = {"actions": [{"event": "x", "event_data": {"a": template}}]}
    if tool == "test_event_listener":
        tried = {
            "triggers": [{"trigger": "event", "event_type": "go"}], "event": {"event_type": "go"},
            "conditions": [{"condition": "template", "value_template": template}],
        }  # fmt: skip
    await talk.ask((tool, tried))
    assert HIDDEN_STATE not in told(witness)
    assert HIDDEN_LIGHT not in told(witness)


WITH_CODE = f"""\
- id: opens
  alias: Opens at eight
  triggers:
    - trigger: time
      at: "08:00:00"
  actions:
    - action: lock.unlock
      target: {{entity_id: {DOOR}}}
      data: {{code: "{PIN}"}}
"""


@pytest.mark.parametrize("asks", [
    [("get_automation", {"id": "opens"})], [("list_automations", {"search": PIN[:5]})], [("execute_script", {"id": "opens"})],
    [("test_event_listener", {"id": "opens", "event": {"event_type": "x"}})], [("why_did_it_not_run", {"id": "opens"})],
    [("get_automation_stats", {"id": "opens"})], [("disable_automation", {"id": "opens"}), ("enable_automation", {"id": "opens"})],
    [("delete_automation", {"id": "opens"})],
])  # fmt: skip
async def test_a_code_stays_in_the_file(
    hass: HomeAssistant, talk: Talk, witness: Witness, hass_storage: dict[str, Any], asks: list[Any]
) -> None:
    await rewrite(hass, "automation", WITH_CODE)
    for call in asks:
        asked = await talk.ask(call)
        assert PIN not in asked
        assert PIN not in await talk.say("yes")
    assert witness.entry is not None
    await hass.config_entries.async_unload(witness.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert PIN not in str(hass_storage)
    assert await hass.config_entries.async_setup(witness.entry.entry_id)


async def test_what_was_masked_is_not_written_back(talk: Talk, file: Path) -> None:
    before = file.read_bytes()
    config = automation({"action": "lock.lock", "target": {"entity_id": DOOR}, "data": {"code": "**masked**"}})
    await talk.ask(("create_automation", config))
    await talk.say("yes")
    assert file.read_bytes() == before


async def test_a_proposal_keeps_no_code(hass: HomeAssistant, talk: Talk, witness: Witness) -> None:
    witness.secrets.discard(PIN)  # the model itself says it
    other = Talk(hass, witness.server, person(hass, "Anna"))
    config = automation({"action": "lock.lock", "target": {"entity_id": DOOR}, "data": {"code": PIN}})
    await other.ask(("create_automation", config))
    assert records_of(hass).rows(ProposalStatus.PROPOSED) == []


ANSWER = "mobile_app_notification_action"
ASKED = [{"wait_for_trigger": [{"trigger": "event", "event_type": ANSWER, "event_data": {"action": "OPEN"}}]}]
UNLOCK = {"action": "lock.unlock", "target": {"entity_id": DOOR}}
WAITS: dict[str, list[dict[str, Any]]] = {
    "a wait": [*ASKED, UNLOCK],
    "a wait in a branch": [{"if": ["{{ trigger.id }}"], "then": ASKED}, UNLOCK],
    "a wait at the same time": [{"parallel": [{"sequence": ASKED}]}, UNLOCK],
}


@pytest.mark.parametrize("kind", ["automation", "script"])
@pytest.mark.parametrize("actions", WAITS.values(), ids=WAITS)
async def test_an_event_that_answers_what_an_owner_is_asked_needs_a_yes(
    hass: HomeAssistant, talk: Talk, file: Path, kind: str, actions: list[dict[str, Any]]
) -> None:
    """The owner's automation asks a phone whether to unlock; another one would give the answer by itself."""
    if kind == "automation":
        bell = {"id": "bell", "alias": "Bell", "triggers": [EIGHT], "actions": actions}
        await rewrite(hass, kind, file.read_text() + yaml.safe_dump([bell]))
    else:
        await rewrite(hass, kind, {"bell": {"alias": "Bell", "sequence": actions}})
    asked = await talk.ask(("create_automation", automation({"event": ANSWER, "event_data": {"action": "OPEN"}})))
    assert asked.endswith("?")
    assert "nlock" in asked
    talk.conversation_id = None
    asked = await talk.ask(("create_automation", automation({"event": ANSWER, "event_data": {"action": "CLOSE"}})))
    assert "nlock" not in asked
