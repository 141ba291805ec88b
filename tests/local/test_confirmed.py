"""Sentences that wait for a yes, when their handler does not tell which actions it calls."""

from collections.abc import Callable
from typing import override

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, intent
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.languages.vocabulary import NO_LANGUAGE
from custom_components.home_agent.local.coverage import Coverage
from custom_components.home_agent.local.intent_policy import IntentPolicy
from custom_components.home_agent.policy.confirmation import NeedsConfirmation
from custom_components.home_agent.policy.confirmed import async_run_elsewhere
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.turn import Answer, Turn
from tests.house import set_up

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


async def permission_of(hass: HomeAssistant, entry: MockConfigEntry, turn: Turn) -> IntentPolicy:
    """Return who decides on the intents of a turn."""
    home = await entry.runtime_data.home.async_get()
    coverage = Coverage(hass=hass, turn=turn, home=home, language=NO_LANGUAGE)
    return IntentPolicy(hass, turn, entry.runtime_data.policy, coverage)


async def confirm(hass: HomeAssistant, entry: MockConfigEntry, turn: Turn) -> Answer:
    """Recognise the sentence, ask, and hear a yes."""
    policy = entry.runtime_data.policy
    permission = await permission_of(hass, entry, turn)
    assert not permission.permits("TestDim", {"name": "Bed Light"})
    assert isinstance(permission.refusal, NeedsConfirmation)
    request = policy.confirmations.of(turn)
    assert request is not None
    policy.confirmations.put(request, "Dim?")
    return await async_run_elsewhere(hass, policy, request, None)


async def test_its_handler_handles_it(
    hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn, hass_admin_user: MockUser
) -> None:
    intent.async_register(hass, handler := Dim())
    settled = await confirm(hass, entry, make_turn(direct=True, device_id="hall", agent_id="conversation.home_agent"))
    assert settled == Answer(text="Done. Bed Light is on.")
    assert [(item.slots, item.device_id) for item in handler.handled] == [({"name": {"value": "Bed Light"}}, "hall")]


async def test_its_handler_fails(hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn) -> None:
    intent.async_register(hass, Dim(fails=True))
    settled = await confirm(hass, entry, make_turn(direct=True, device_id="hall"))
    assert settled == Answer(text="That didn't work. Bed Light is off.", done=False)


async def test_it_fits_no_more(
    hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    intent.async_register(hass, handler := Dim())
    policy, turn = entry.runtime_data.policy, make_turn(direct=True, device_id="hall")
    assert not (await permission_of(hass, entry, turn)).permits("TestDim", {"name": "Bed Light"})
    request = policy.confirmations.of(turn)
    assert request is not None
    policy.confirmations.put(request, "Dim?")
    async_expose_entity(hass, ASSISTANT, LAMP, False)
    settled = await async_run_elsewhere(hass, policy, request, None)
    assert settled.text.startswith("Something has changed since I asked")
    assert not handler.handled
