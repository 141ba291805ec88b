"""Codes of alarms and locks: nobody finds one by having a model try them."""

from typing import Any
from unittest.mock import patch

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.manual.alarm_control_panel import PLATFORM_SCHEMA
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers.entity_component import DATA_INSTANCES, EntityComponent
import pytest

from custom_components.home_agent.policy.confirmation import NOBODY
from custom_components.home_agent.policy.pins import CODES
from custom_components.home_agent.policy.policy import TOO_MANY_CODES
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, speech
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import SCRIPTS, Witness, answers

VAULT = "alarm_control_panel.vault"
CODE = "58213"


@pytest.fixture(autouse=True)
async def vault(hass: HomeAssistant, witness: Witness) -> None:
    """An alarm that is off and wants a code for arming, and a script that is given one."""
    alarm = {"platform": "manual", "name": "Vault", "arming_time": 0, "delay_time": 0, "code": CODE}
    component: EntityComponent[Any] = hass.data[DATA_INSTANCES]["alarm_control_panel"]
    await component.async_setup({"alarm_control_panel": PLATFORM_SCHEMA(alarm)})
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.get(VAULT).state == "disarmed"  # type: ignore[union-attr]
    async_expose_entity(hass, ASSISTANT, VAULT, True)
    arm = {
        "alias": "Arm",
        "fields": {"code": {"selector": {"text": {}}}, "digits": {"selector": {"text": {}}}},
        "sequence": [
            {
                "action": "alarm_control_panel.alarm_arm_away", "target": {"entity_id": VAULT},
                "data": {"code": "{{ code | default(digits) }}"}, "continue_on_error": True,
            }
        ],
    }  # fmt: skip
    config = {"script": {**SCRIPTS, "arm": arm}}
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        await hass.services.async_call("script", "reload", {}, blocking=True)
    async_expose_entity(hass, ASSISTANT, "script.arm", True)


def arm(code: str) -> dict[str, dict[str, Any]]:
    """Return the ways to try a code, by what they are called."""
    by = {"entity_id": VAULT}
    return {
        "arming": {"action": "turn_on", **by, "parameters": {"code": code}},
        "a mode": {"action": "set_value", **by, "parameters": {"mode": "home", "code": code}},
        "a command": {"action": "alarm_arm_night", **by, "parameters": {"code": code}},
        "a number": {"action": "turn_on", **by, "parameters": {"code": int(code)}},
        "capitals": {"action": "turn_on", **by, "parameters": {"CODE ": code}},
        "beside": {"action": "turn_on", **by, "code": code},
        "disarming": {"action": "turn_off", **by, "parameters": {"code": code}},
        "locking": {"action": "lock", "entity_id": "lock.front_door", "parameters": {"code": code}},
        "a script": {"action": "turn_on", "entity_id": "script.arm", "parameters": {"code": code}},
        "variables": {"action": "turn_on", "entity_id": "script.arm", "parameters": {"variables": {"code": code}}},
        "another name": {"action": "turn_on", "entity_id": "script.arm", "parameters": {"digits": code}},
    }


WAYS = arm("0")
ALREADY_SO = {"disarming", "locking"}
"""Nothing is to be done or asked, and a code makes no difference."""


@pytest.mark.parametrize("way", WAYS)
async def test_a_model_tries(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, way: str) -> None:
    await start()
    witness.server.respond(lambda body: text("I cannot do that."))
    told = []
    for code in (CODE, "1111"):  # the right one is asked about as well: nothing tells which it is
        arguments = arm(code)[way]
        witness.server.plan(tool_call("ha_control", arguments))
        asked = await say(hass, "let me in", context=alice)
        if way in ALREADY_SO:
            told.append(answers(witness.server)[-1])
            assert told[0] == told[-1]
            continue
        assert speech(asked).endswith("?")
        assert way == "another name" or code not in speech(asked)
        witness.server.plan(tool_call("ha_control", arguments))
        await say(hass, "let me in")
        assert answers(witness.server)[-1]["error"] == NOBODY
    assert hass.states.get(VAULT).state == "disarmed"  # type: ignore[union-attr]


@pytest.mark.parametrize("way", ["arming", "a mode", "a script", "variables"])
@pytest.mark.parametrize("never_ask", [False, True], ids=["with a yes each time", "never asked about"])
async def test_a_few_codes_are_tried_and_no_more(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, way: str, never_ask: bool
) -> None:
    options = {"never_confirm": ["alarm_control_panel", "script", "ha_control"]} if never_ask else {}
    await start(options=options)
    for number in range(CODES):
        witness.server.plan(tool_call("ha_control", arm(str(1000 + number))[way]))
        witness.server.respond(lambda body: text("That was wrong."))
        if never_ask and number % 2:
            await say(hass, "try it", device_id="a device")
            continue
        asked = await say(hass, "try it", context=Context(user_id=alice.user_id))
        if not never_ask:
            await say(hass, "yes", asked.conversation_id, context=Context(user_id=alice.user_id))
    for who in (Context(user_id=alice.user_id), Context()):
        witness.server.plan(tool_call("ha_control", arm(CODE)[way]))
        await say(hass, "try it", context=who)
        assert answers(witness.server)[-1]["error"] == TOO_MANY_CODES
    assert hass.states.get(VAULT).state == "disarmed"  # type: ignore[union-attr]


async def test_a_code_goes_on_with_a_yes(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start()
    witness.server.plan(tool_call("ha_control", arm(CODE)["arming"]))
    asked = await say(hass, "arm the vault", context=alice)
    await say(hass, "yes", asked.conversation_id, context=alice)
    assert hass.states.get(VAULT).state == "armed_away"  # type: ignore[union-attr]
