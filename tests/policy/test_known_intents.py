"""Home Assistant's intents: of each it is known what it does. One that a release brings is asked about until it stands here."""

from importlib import import_module
from pathlib import Path

from homeassistant import components
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.policy.intents import is_known

TELL_THEIR_CALLS = {
    "HassTurnOn", "HassTurnOff", "HassToggle", "HassSetPosition", "HassStopMoving",  # of many domains
    "HassOpenCover", "HassCloseCover", "HassFanSetSpeed", "HassLightSet",
    "HassLawnMowerStartMowing", "HassLawnMowerDock", "HassVacuumStart", "HassVacuumReturnToBase",
    "HassMediaNext", "HassMediaPause", "HassMediaPlayerMute", "HassMediaPlayerUnmute", "HassMediaPrevious",
    "HassMediaUnpause", "HassSetVolume",
}  # fmt: skip
"""Their handlers say which services they call: these are judged."""
CALL_WHAT_IS_LISTED = {
    "HassBroadcast", "HassClimateSetFanMode", "HassClimateSetTemperature", "HassHumidifierMode", "HassHumidifierSetpoint",
    "HassListAddItem", "HassListCompleteItem", "HassListRemoveItem", "HassMediaSearchAndPlay", "HassSetVolumeRelative",
    "HassShoppingListAddItem", "HassShoppingListCompleteItem", "HassVacuumCleanArea",
}  # fmt: skip
"""What their handlers call is listed in the policy."""
ONLY_TELL = {
    "HassClimateGetTemperature", "HassGetCurrentDate", "HassGetCurrentTime", "HassGetState", "HassGetWeather",
    "HassNevermind", "HassRespond", "HassShoppingListLastItems", "HassTimerStatus",
}  # fmt: skip
ABOUT_TIMERS = {
    "HassCancelAllTimers", "HassCancelTimer", "HassDecreaseTimer", "HassIncreaseTimer", "HassPauseTimer", "HassStartTimer",
    "HassUnpauseTimer",
}  # fmt: skip
"""A command that waits for the end of a timer is judged by itself."""


@pytest.fixture
async def handlers(hass: HomeAssistant) -> dict[str, intent.IntentHandler]:
    """All handlers that Home Assistant's integrations have."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "intent", {})
    for path in await hass.async_add_executor_job(lambda: sorted(Path(components.__path__[0]).glob("*/intent.py"))):
        module = await hass.async_add_import_executor_job(
            import_module, f"homeassistant.components.{path.parent.name}.intent"
        )
        if hasattr(module, "async_setup_intents"):
            await module.async_setup_intents(hass)
    return {handler.intent_type: handler for handler in intent.async_get(hass)}


async def test_each_is_known(handlers: dict[str, intent.IntentHandler]) -> None:
    listed = TELL_THEIR_CALLS | CALL_WHAT_IS_LISTED | ONLY_TELL | ABOUT_TIMERS
    assert set(handlers) == listed, "look at what it calls, and at policy/intents.py"
    assert [name for name, handler in handlers.items() if not is_known(handler)] == []


async def test_those_that_tell_their_calls(handlers: dict[str, intent.IntentHandler]) -> None:
    tell = {name for name, item in handlers.items() if isinstance(item, intent.DynamicServiceIntentHandler)}
    assert tell == TELL_THEIR_CALLS


async def test_a_new_one_is_not_known() -> None:
    class New(intent.IntentHandler):
        intent_type = "HassOpenEverything"

    New.__module__ = "homeassistant.components.lock.intent"
    assert not is_known(New())


async def test_one_of_another_integration_under_a_known_name() -> None:
    class Mine(intent.IntentHandler):
        intent_type = "HassListAddItem"

    assert not is_known(Mine())


async def test_one_of_the_owner_s_under_a_known_name(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "intent_script", {"intent_script": {"HassTurnOn": {"action": []}}})
    [handler] = intent.async_get(hass)
    assert not is_known(handler)
