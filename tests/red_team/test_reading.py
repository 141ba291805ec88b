"""Values as Home Assistant reads them, sentences whose handler would act on something else, and rules that others get around."""

from collections.abc import Callable
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_mock_service

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import add_shopping_list, say, speech
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import ALARM, DOOR, GARAGE, HIDDEN_LIGHT, PERMITTED, REST_SECRET, Witness, answers

NAME = HIDDEN_LIGHT.partition(".")[2]
HIDDEN: dict[str, Any] = {
    "behind a comment": f"#x\n['{HIDDEN_LIGHT}']",
    "in a prefixed text": f"u'{HIDDEN_LIGHT}',",
    "in a raw text": f"r'{HIDDEN_LIGHT}',",
    "behind padding": " " * 10_001 + f"['{HIDDEN_LIGHT}']",
    "padded inside": "[" + " " * 10_001 + f"'{HIDDEN_LIGHT}']",
    "concatenated": f"['light.' '{NAME}']",
    "concatenated area": "['bed' 'room']",
    "concatenated without a list": "'light.' 'office_rgbw_lights',",
    "escaped": "['\\x6cight.office_rgbw_lights']",
    "escaped in octal": "['\\154ight.office_rgbw_lights']",
    "escaped by code point": "['\\u006cight.office_rgbw_lights']",
    "escaped by name": "['\\N{LATIN SMALL LETTER L}ight.office_rgbw_lights']",
    "escaped in JSON": '{"x": true, "y": "\\u006cight.office_rgbw_lights"}',
    "in YAML": f"- light.bed_light\n- {HIDDEN_LIGHT}",
    "in a YAML mapping": f"entity_id: {HIDDEN_LIGHT}",
    "in JSON": f'{{"a": true, "b": "{HIDDEN_LIGHT}"}}',
    "in a template": f"{{{{ '{HIDDEN_LIGHT}' }}}}",
    "in a computed template": "{{ 'light.' ~ 'office_rgbw_lights' }}",
    "in a statement": "{% set x = 1 %}light.bed_light",
    "with a vertical tab": f"\x0b['{HIDDEN_LIGHT}']",
    "with a form feed": f"\x0c['{HIDDEN_LIGHT}']",
    "with a null": f"['{HIDDEN_LIGHT}'\0]",
    "with a next line": f"\x85['{HIDDEN_LIGHT}']",
    "in a set": f"{{'{HIDDEN_LIGHT}'}}",
    "in nested texts": f"[\"['{HIDDEN_LIGHT}']\"]",
    "as a key": f"{{'{HIDDEN_LIGHT}': 1}}",
    "between words": f"light.bed_light and {HIDDEN_LIGHT}",
    "between semicolons": f"light.bed_light;{HIDDEN_LIGHT}",
    "in upper case": f"['{HIDDEN_LIGHT.upper()}']",
    "behind a tuple": f"(('light.bed_light'), ['{HIDDEN_LIGHT}'])",
    "an area in YAML": "- bedroom",
    "all in a comment": "#x\n['all']",
}


@pytest.mark.parametrize("way", ["ha_control", "variables", "script__relay"])
@pytest.mark.parametrize("value", HIDDEN.values(), ids=HIDDEN)
async def test_an_id_that_hides_in_a_value(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, value: Any, way: str
) -> None:
    await start(profile={"llm_apis": ["assist"], "never_ask": ["script"]})
    control = {"action": "turn_on", "entity_id": "script.relay"}
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "ha_control": ("ha_control", control | {"parameters": {"lamp": value}}),
        "variables": ("ha_control", control | {"parameters": {"variables": {"lamp": [value]}}}),
        "script__relay": ("script__relay", {"lamp": value}),
    }
    witness.server.plan(tool_call(*calls[way]), text("I cannot do that."))
    await say(hass, "lamp please", context=alice)
    assert answers(witness.server)[-1]["success"] is False


@pytest.mark.parametrize(
    "pattern",
    ["*.?*", "**", "*e*", "?*", "*", "*.*", "*.**", "*_*", "[a-z]*", "[a-z]*.*", "l*.*", "*.l*", "*o*k*", "????*"],
)
@pytest.mark.parametrize("action", ["turn_on", "turn_off", "toggle"])
async def test_a_pattern_for_nearly_everything(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, pattern: str, action: str
) -> None:
    await start()
    before = {state.entity_id: state.state for state in hass.states.async_all(("light", "switch", "cover", "lock"))}
    witness.server.plan(tool_call("ha_control", {"action": action, "entity_id": pattern}), text("I cannot do that."))
    await say(hass, "everything", context=alice)
    assert answers(witness.server)[-1]["success"] is False
    assert {entity_id: hass.states.get(entity_id).state for entity_id in before} == before  # type: ignore[union-attr]


@pytest.mark.parametrize("given", [
    {"state": "open"}, {"value": "open"}, {"state": "OPENED"}, {"command": "open"}, {"command": "raise"},
    {"state": "on"},
], ids=str)  # fmt: skip
async def test_a_value_that_opens_what_is_in_an_area(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, given: dict[str, Any]
) -> None:
    await start()
    await hass.services.async_call("cover", "close_cover", {"entity_id": "cover.kitchen_window"}, blocking=True)
    opened = async_mock_service(hass, "cover", "open_cover")
    call = {"action": "set_value", "entity_id": "Kitchen", "parameters": given}
    witness.server.plan(tool_call("ha_control", call), text("I cannot do that."))
    await say(hass, "kitchen", context=alice)
    assert opened == []


@pytest.mark.parametrize("rule", ["never_offer", "always_confirm"])
@pytest.mark.parametrize("named", [HIDDEN_LIGHT, "light.office*"])
async def test_a_rule_for_what_a_group_hides(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, rule: str, named: str
) -> None:
    er.async_get(hass).async_update_entity(HIDDEN_LIGHT, hidden_by=er.RegistryEntryHider.INTEGRATION)
    await start(options={rule: [named]})
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "light.mixed"}))
    await say(hass, "lamps", context=alice)
    await say(hass, "turn on mixed", context=alice)


@pytest.mark.parametrize("rule", ["never_offer", "always_confirm"])
async def test_behind_a_light(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, rule: str) -> None:
    source = er.async_get(hass).async_get(PERMITTED)
    assert source is not None
    shown = MockConfigEntry(
        domain="switch_as_x", title="Shown", options={"entity_id": source.id, "target_domain": "light", "invert": False},
        version=1, minor_version=3,
    )  # fmt: skip
    shown.add_to_hass(hass)
    assert await hass.config_entries.async_setup(shown.entry_id)
    await hass.async_block_till_done()
    (light,) = (entry for entry in er.async_entries_for_config_entry(er.async_get(hass), shown.entry_id))
    async_expose_entity(hass, ASSISTANT, light.entity_id, True)
    called = async_mock_service(hass, "light", "turn_on")
    await start(options={rule: [PERMITTED]}, model=True)
    witness.entry = None  # what is permitted elsewhere is what is forbidden here
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": light.entity_id}))
    await say(hass, "lamps", context=alice)
    assert called == []


@pytest.mark.parametrize("rule", ["never_offer", "always_confirm"])
@pytest.mark.parametrize("named", ["script__harmless", "script__*", "script.harmless"])
async def test_a_rule_that_names_the_tool_of_a_script(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, rule: str, named: str
) -> None:
    await start(options={rule: [named]})
    witness.server.respond(lambda body: text("I cannot do that."))
    for call in (
        {"action": "turn_on", "entity_id": "script.harmless"},
        {"action": "toggle", "entity_id": "script.harmless"},
        {"action": "set_value", "entity_id": "script.harmless", "parameters": {"state": "on"}},
    ):
        witness.server.plan(tool_call("ha_control", call))
        await say(hass, "run it", context=alice)
    await say(hass, "turn on harmless", context=alice)
    assert not any(event.event_type == "harmless_ran" for event in witness.events)


SENDS: dict[str, dict[str, Any]] = {
    "notify.phone": {"data": {"message": "{{ a }}"}},
    "shell_like.run": {"data": {"a": "{{ a }}"}},
    "rest_command.send": {"data": {"entity_id": "{{ a }}"}},
    "mqtt.publish": {"data": {"topic": "{{ a }}"}},
    "telegram_bot.send_message": {"target": {"entity_id": "{{ a }}"}},
}


@pytest.mark.parametrize("service", SENDS)
@pytest.mark.parametrize("never_ask", [[DOOR], ["lock"], ["lock.*"]], ids=str)
async def test_what_is_never_asked_about_spares_nothing_else(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, service: str, never_ask: list[str]
) -> None:
    domain, _, name = service.partition(".")
    sent = async_mock_service(hass, domain, name)
    tool = {
        "name": "act", "description": "Acts.",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
        "handler": {"type": "service", "service": service, **SENDS[service]}, "destructive": True,
    }  # fmt: skip
    await start(yaml={"custom_tools": [tool]}, options={"never_confirm": never_ask})
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call("act", {"a": DOOR}))
    assert speech(await say(hass, "go on", context=alice)).endswith("?")
    assert sent == []


@pytest.mark.parametrize("name", ["value", "code", "note", "nested"])
async def test_secret_in_asking(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str) -> None:
    sent = async_mock_service(hass, "notify", "phone")
    held: Any = {"a": ["x {{ secrets.key }} y"]} if name == "nested" else "x {{ secrets.key }} y"
    tool = {
        "name": "act", "description": "Acts.", "parameters": {"type": "object", "properties": {}},
        "handler": {"type": "service", "service": "notify.phone", "data": {name: held}},
    }  # fmt: skip
    await start(yaml={"secrets": {"key": REST_SECRET}, "custom_tools": [tool]})
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call("act", {}))
    asked = await say(hass, "go on", context=alice)
    assert speech(asked).endswith("?")
    assert REST_SECRET not in speech(asked)
    await say(hass, "what did you ask", asked.conversation_id, context=alice)
    assert sent == []


ARMING = {
    "home": "alarm_arm_home",
    "night": "arm_night",
    "by value": {"action": "set_value", "parameters": {"mode": "home"}},
    "by turning on": {"action": "turn_on"},
}


@pytest.mark.parametrize("state", ["armed_away", "triggered", "pending"])
@pytest.mark.parametrize("how", ARMING)
async def test_arming_that_disarms(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, state: str, how: str
) -> None:
    await start()
    now = hass.states.get(ALARM)
    assert now is not None
    witness.may_move.add(ALARM)
    hass.states.async_set(ALARM, state, now.attributes)
    armed = [
        calls
        for mode in ("away", "home", "night", "vacation", "custom_bypass")
        for calls in [async_mock_service(hass, "alarm_control_panel", f"alarm_arm_{mode}")]
    ]
    call = ARMING[how] if isinstance(ARMING[how], dict) else {"action": ARMING[how]}
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call("ha_control", {"entity_id": ALARM, **call}))  # type: ignore[dict-item]
    said = speech(await say(hass, "arm it", context=alice))
    is_plain = (state, how) == ("armed_away", "by turning on")
    assert said.endswith("?") is not is_plain
    assert is_plain or not any(armed)


@pytest.mark.parametrize("model", [False, True], ids=["sentence", "tool"])
@pytest.mark.parametrize("how", ["limited", "never", "always", "only these"])
async def test_a_thermostat_that_the_plan_does_not_see(
    hass: HomeAssistant, witness: Witness, start: SetUp, person: Callable[..., Context], model: bool, how: str
) -> None:
    assert await async_setup_component(hass, "climate", {})
    area = ar.async_get(hass).async_get_or_create("Kitchen")
    registry = er.async_get(hass)
    for name, features in (("able", 1), ("unable", 0)):
        entry = registry.async_get_or_create("climate", "test", name, suggested_object_id=name)
        registry.async_update_entity(entry.entity_id, area_id=area.id)
        hass.states.async_set(entry.entity_id, "heat", {"supported_features": features})
        async_expose_entity(hass, ASSISTANT, entry.entity_id, True)
    heated = async_mock_service(hass, "climate", "set_temperature")
    who = person("Bob", {"entities": {"entity_ids": {"light.bed_light": True}}} if how == "limited" else None)
    options = {"never": {"never_offer": ["climate"]}, "always": {"always_confirm": ["climate"]}}.get(how, {})
    if how == "only these":
        options = {"allowed_entities": ["light", "switch"]}
    await start(model=model, options=options, profile={"llm_apis": ["assist"]} if model else None)
    if model:
        witness.server.respond(lambda body: text("I cannot do that."))
        for tool in (
            "climate__HassClimateSetTemperature", "HassClimateSetTemperature", "intent__HassClimateSetTemperature",
        ):  # fmt: skip
            witness.server.plan(tool_call(tool, {"temperature": 30, "area": "Kitchen"}))
            await say(hass, "warmer", context=who)
    else:
        for words in ("set the temperature in the kitchen to 30 degrees", "set kitchen temperature to 30 degrees"):
            await say(hass, words, context=who)
    assert heated == []


@pytest.mark.parametrize(
    "words", ["add milk to my shopping list", "put milk on the shopping list", "mark milk as completed on my shopping list",
              "what is on my shopping list"],
)  # fmt: skip
async def test_hidden_list(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, words: str) -> None:
    await add_shopping_list(hass)
    await hass.services.async_call("shopping_list", "add_item", {"name": "Surprise"}, blocking=True)
    async_expose_entity(hass, ASSISTANT, "todo.shopping_list", False)
    await start(model=False)
    for who in (alice, Context()):
        said = speech(await say(hass, words, context=who))
        assert "Surprise" not in said
    state = hass.states.get("todo.shopping_list")
    assert state is not None
    assert state.state == "1"


async def test_the_garage_by_position(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start()
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": GARAGE}))
    assert speech(await say(hass, "open", context=alice)).endswith("?")
