"""Sentences that wait for a yes, when their handler does not tell which actions it calls."""

from collections.abc import Callable
from typing import override

from homeassistant.components.conversation import ChatLog
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, intent
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.local.intent_policy import judge_intent
from custom_components.home_agent.local.sentences import Refused, Stage, async_hear
from custom_components.home_agent.policy.confirmation import Confirmation, Confirmations, NeedsConfirmation
from custom_components.home_agent.policy.confirmed import async_answer_elsewhere
from custom_components.home_agent.policy.intents import Recognised
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.turn import Answer, Turn
from tests.house import set_up
from tests.local.conftest import said_in

type MakeTurn = Callable[..., Turn]

LAMP = "light.bed_light"


class Dim(intent.IntentHandler):
    """A handler of another integration."""

    intent_type = "TestDim"
    platforms = {LAMP.partition(".")[0]}  # noqa: RUF012 - as Home Assistant has it
    slot_schema = {"name": cv.string}  # noqa: RUF012

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.handled: list[intent.Intent] = []

    @override
    async def async_handle(self, intent_obj: intent.Intent) -> intent.IntentResponse:
        self.handled.append(intent_obj)
        response = intent_obj.create_response()
        if self.fails:
            response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, "no power")
        else:
            intent_obj.hass.states.async_set(LAMP, "on", {"friendly_name": "Bed Light"})
            target = intent.IntentResponseTarget(name="Bed Light", type=intent.IntentResponseTargetType.ENTITY, id=LAMP)
            response.async_set_results([target])
        return response


@pytest.fixture
async def entry(hass: HomeAssistant, demo_house: None) -> MockConfigEntry:
    """Set Home Agent up so that lights are always asked about."""
    return await set_up(hass, options={"always_confirm": ["light"]})


async def ask(hass: HomeAssistant, entry: MockConfigEntry, turn: Turn) -> Confirmation:
    """Recognise the sentence, and put the question whether it may be done."""
    said = said_in(turn)
    log = ChatLog(hass, turn.conversation_id)
    sentence = await async_hear(hass, turn, said, log, entry.runtime_data.means, Stage.NO_MODEL)
    ruling = judge_intent(sentence, Recognised(name="TestDim", slots={"name": "Bed Light"}), is_covered=True)
    assert isinstance(ruling, Refused)
    assert isinstance(ruling.error, NeedsConfirmation)
    confirmations: Confirmations = entry.runtime_data.policy.confirmations
    request = confirmations.of(turn)
    assert request is not None
    confirmations.put(request, "Dim?")
    return request


async def confirm(hass: HomeAssistant, entry: MockConfigEntry, turn: Turn) -> Answer:
    request = await ask(hass, entry, turn)
    answer = await async_answer_elsewhere(hass, entry.runtime_data.policy, request, None, yes=True)
    assert answer is not None
    return answer


@pytest.mark.usefixtures("hass_admin_user")
async def test_its_handler_handles_it(hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn) -> None:
    intent.async_register(hass, handler := Dim())
    settled = await confirm(hass, entry, make_turn(direct=True, device_id="hall", agent_id="conversation.home_agent"))
    assert settled == Answer(text="Done. Bed Light is on.")
    assert [(item.slots, item.device_id) for item in handler.handled] == [({"name": {"value": "Bed Light"}}, "hall")]


async def test_its_handler_fails(hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn) -> None:
    intent.async_register(hass, Dim(fails=True))
    settled = await confirm(hass, entry, make_turn(direct=True, device_id="hall"))
    assert settled == Answer(text="That didn't work. Bed Light is off.", done=False)


async def test_it_fits_no_more(hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn) -> None:
    intent.async_register(hass, handler := Dim())
    policy, turn = entry.runtime_data.policy, make_turn(direct=True, device_id="hall")
    request = await ask(hass, entry, turn)
    async_expose_entity(hass, ASSISTANT, LAMP, False)
    settled = await async_answer_elsewhere(hass, policy, request, None, yes=True)
    assert settled is not None
    assert settled.text.startswith("Something has changed since I asked")
    assert not handler.handled
