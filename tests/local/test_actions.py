"""What a recognised sentence would do, as the policy sees it."""

from collections.abc import Callable
import sys
from typing import Any

from homeassistant.components.climate import ClimateEntityFeature
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, intent
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.local.refusals import wording_of
from custom_components.home_agent.policy.intents import Mismatch, Recognised, plan_of
from custom_components.home_agent.policy.policy import Rules, Verdict
from custom_components.home_agent.support.errors import ToolError
from custom_components.home_agent.turn.plan import OPEN_DOOR, OPEN_VALVE, UNLOCK, ActionClass, Plan
from custom_components.home_agent.turn.turn import Turn
from tests.prompt.conftest import AddEntity

type MakeTurn = Callable[..., Turn]

COMPONENTS = ("conversation", "intent", "climate", "cover", "light", "lock", "media_player", "todo", "vacuum", "valve")


@pytest.fixture(autouse=True)
async def intents(hass: HomeAssistant, house: None, add_entity: AddEntity) -> None:
    """Register the intents of some domains, and a few entities."""
    for component in COMPONENTS:
        assert await async_setup_component(hass, component, {})
    await hass.async_block_till_done()
    add_entity("light.lamp", "off", name="Lamp", area="Kitchen")
    add_entity("lock.door", "locked", name="Door", area="Hall")
    add_entity("cover.garage", "closed", name="Garage", device_class="garage", supported_features=7)
    add_entity("cover.blind", "closed", name="Blind", area="Kitchen", device_class="blind", supported_features=7)
    add_entity("valve.water", "closed", name="Water", supported_features=3)
    warmth = {"supported_features": ClimateEntityFeature.TARGET_TEMPERATURE}
    add_entity("climate.kitchen", "heat", name="Stove", area="Kitchen", **warmth)
    add_entity("climate.hall", "heat", name="Heater", area="Hall", **warmth)
    add_entity("todo.errands", "0", name="Errands")
    add_entity("vacuum.robi", "docked", name="Robi", area="Hall")
    add_entity("light.hidden", "off", name="Hidden", area="Cellar", exposed=False)


def plan(hass: HomeAssistant, turn: Turn, name: str, /, **slots: Any) -> Plan:
    """Return the plan of an intent that finds something."""
    result = plan_of(hass, turn, Recognised(name=name, slots=slots))
    assert isinstance(result, Plan)
    return result


@pytest.mark.parametrize(("name", "slots", "call", "reason"), [
    ("HassTurnOn", {"name": "Lamp"}, ("homeassistant", "turn_on", ("light.lamp",), {}), None),
    ("HassTurnOn", {"name": "light.lamp"}, ("homeassistant", "turn_on", ("light.lamp",), {}), None),
    ("HassTurnOn", {"name": "Door"}, ("lock", "lock", ("lock.door",), {}), None),
    ("HassTurnOff", {"name": "Door"}, ("lock", "unlock", ("lock.door",), {}), UNLOCK),
    ("HassToggle", {"name": "Door"}, ("homeassistant", "toggle", ("lock.door",), {}), UNLOCK),
    ("HassTurnOn", {"name": "Garage"}, ("cover", "open_cover", ("cover.garage",), {}), OPEN_DOOR),
    ("HassTurnOff", {"name": "Garage"}, ("cover", "close_cover", ("cover.garage",), {}), None),
    ("HassOpenCover", {"name": "Garage"}, ("cover", "open_cover", ("cover.garage",), {}), OPEN_DOOR),
    ("HassTurnOn", {"device_class": "garage"}, ("cover", "open_cover", ("cover.garage",), {}), OPEN_DOOR),
    ("HassToggle", {"name": "Garage"}, ("homeassistant", "toggle", ("cover.garage",), {}), OPEN_DOOR),
    (
        "HassSetPosition", {"name": "Garage", "position": 50},
        ("cover", "set_cover_position", ("cover.garage",), {"position": 50}), OPEN_DOOR,
    ),
    (
        "HassSetPosition", {"name": "Garage", "position": 0},
        ("cover", "set_cover_position", ("cover.garage",), {"position": 0}), None,
    ),
    ("HassTurnOn", {"name": "Blind"}, ("cover", "open_cover", ("cover.blind",), {}), None),
    ("HassTurnOn", {"name": "Water"}, ("valve", "open_valve", ("valve.water",), {}), OPEN_VALVE),
    (
        "HassLightSet", {"name": "Lamp", "brightness": 40},
        ("light", "turn_on", ("light.lamp",), {"brightness_pct": 40}), None,
    ),
])  # fmt: skip
async def test_service_call_of_an_intent(
    hass: HomeAssistant,
    make_turn: MakeTurn,
    name: str,
    slots: dict[str, Any],
    call: tuple[str, str, tuple[str, ...], dict[str, Any]],
    reason: str | None,
) -> None:
    result = plan(hass, make_turn(), name, **slots)
    assert [(item.domain, item.service, item.entity_ids, item.data) for item in result.effects] == [call]
    assert result.targets == call[2]
    assert next(iter(result.reasons), None) == reason
    assert result.action is (ActionClass.SENSITIVE if reason else ActionClass.WRITE)


async def test_one_door_among_others_makes_the_whole_sensitive(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    result = plan(hass, make_turn(), "HassTurnOn", domain="cover", name="all")
    assert result.targets == ("cover.garage", "cover.blind")
    assert (result.action, result.sensitive) == (ActionClass.SENSITIVE, ("cover.garage",))


@pytest.mark.parametrize(("name", "slots", "targets"), [
    ("HassListAddItem", {"name": "Errands", "item": "milk"}, ("todo.errands",)),
    ("HassClimateSetTemperature", {"area": "Hall", "temperature": 20}, ("climate.hall",)),
    ("HassClimateSetTemperature", {"temperature": 20}, ("climate.kitchen",)),  # where the question comes from
    ("HassVacuumCleanArea", {"area": "Kitchen"}, ("vacuum.robi",)),
    ("HassStartTimer", {"name": "Lamp", "minutes": 5}, ()), ("HassGetState", {"name": "Lamp"}, ()),
    ("HassNevermind", {}, ()), ("HassShoppingListAddItem", {"item": "milk"}, ()),
    ("HassInventedByTheOwner", {"name": "Lamp"}, ()),
    ("HassSetPosition", {"name": "Lamp", "position": 5}, ("light.lamp",)),
])  # fmt: skip
async def test_targets_of_other_intents(
    hass: HomeAssistant, make_turn: MakeTurn, name: str, slots: dict[str, Any], targets: tuple[str, ...]
) -> None:
    kitchen = ar.async_get(hass).async_get_or_create("Kitchen").id
    result = plan(hass, make_turn(area_id=kitchen), name, **slots)
    assert result.targets == targets
    assert result.effects == ()


async def test_what_is_behind_a_group_is_touched_as_well(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    hass.states.async_set("light.lamp", "on", {"friendly_name": "Lamp", "entity_id": ["cover.blind"]})
    found = plan(hass, make_turn(), "HassTurnOff", name="Lamp")
    assert found.targets == ("light.lamp", "cover.blind")


async def test_a_group_that_reaches_what_is_not_exposed_is_refused(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    hass.states.async_set("light.lamp", "on", {"friendly_name": "Lamp", "entity_id": ["light.hidden"]})
    with pytest.raises(ToolError) as refused:
        plan(hass, make_turn(), "HassTurnOff", name="Lamp")
    assert refused.value.translation_key == "group_reaches_further"
    assert refused.value.translation_placeholders == {"target": "light.lamp"}


async def test_deleting_is_sensitive(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    added = plan(hass, make_turn(), "HassListAddItem", name="Errands", item="milk")
    removed = plan(hass, make_turn(), "HassListRemoveItem", name="Errands", item="milk")
    assert (added.action, removed.action, removed.reasons) == (
        ActionClass.WRITE, ActionClass.SENSITIVE, ("destructive",),
    )  # fmt: skip


async def test_an_intent_of_another_integration_is_asked_about(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    class PlaySong(intent.IntentHandler):
        intent_type = "PlaySong"

    intent.async_register(hass, PlaySong())
    result = plan_of(hass, make_turn(), Recognised(name="PlaySong", slots={"name": "Yesterday"}))
    assert isinstance(result, Plan)
    assert (result.action, result.targets) == (ActionClass.SENSITIVE, ())


@pytest.mark.parametrize(("name", "slots", "wording"), [
    ("HassTurnOn", {"name": "Lamp", "area": "Hall"}, ("no_entity_in_area", {"entity": "Lamp", "area": "Hall"})),
    ("HassTurnOn", {"name": "Nothing"}, ("no_entity", {"entity": "Nothing"})),
    ("HassTurnOn", {"name": "Twin"}, ("duplicate_entities", {"entity": "Twin"})),
    ("HassTurnOn", {"domain": "fan"}, ("no_domain", {"domain": "fan"})),
    ("HassTurnOn", {"domain": "light", "area": "Hall"}, ("no_domain_in_area", {"domain": "light", "area": "Hall"})),
    ("HassTurnOn", {"domain": "light", "area": "Cellar"}, ("no_domain_in_area", {"domain": "light", "area": "Cellar"})),
    ("HassTurnOn", {"domain": "light", "floor": "Roof"}, ("no_domain_in_floor", {"domain": "light", "floor": "Roof"})),
    ("HassTurnOn", {"device_class": "gate"}, ("no_device_class", {"device_class": "gate"})),
    ("HassTurnOn", {"area": "Nowhere"}, ("no_intent", {})),
    ("HassMediaPause", {}, ("entity_wrong_state", {"state": "playing"})),
    ("HassVacuumStart", {"name": "Robi"}, ("feature_not_supported", {})),
    ("HassClimateSetTemperature", {"temperature": 20}, ("duplicate_targets", {})),
])  # fmt: skip
async def test_why_nothing_fits(
    hass: HomeAssistant,
    make_turn: MakeTurn,
    add_entity: AddEntity,
    name: str,
    slots: dict[str, Any],
    wording: tuple[str, dict[str, Any]],
) -> None:
    add_entity("light.twin_1", "on", name="Twin")
    add_entity("light.twin_2", "on", name="Twin")
    add_entity("media_player.radio", "idle", name="Radio")
    result = plan_of(hass, make_turn(), Recognised(name=name, slots=slots))
    assert isinstance(result, Mismatch)
    assert wording_of(result) == wording


async def test_a_named_id_is_not_looked_up(hass: HomeAssistant, make_turn: MakeTurn, add_entity: AddEntity) -> None:
    """The local brain names entities so: how many others there are changes nothing."""
    turn, lamp = make_turn(), Recognised(name="HassTurnOn", slots={"name": "light.lamp"})
    calls: list[int] = []

    def count() -> None:
        before, calls[:] = sys.getprofile(), []
        sys.setprofile(lambda _frame, event, _arg: calls.append(1) if event == "call" else None)
        try:
            found = plan_of(hass, turn, lamp)
        finally:
            sys.setprofile(before)
        assert isinstance(found, Plan)
        assert found.targets == ("light.lamp",)

    count()
    few = len(calls)
    for number in range(100):
        add_entity(f"light.far_{number}", "off", name=f"Far {number}")
    count()  # what is new is noted once
    count()
    assert len(calls) <= few


async def test_delayed_command_of_a_user_with_limits(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    user = MockUser().add_to_hass(hass)
    user.mock_policy({"entities": {"entity_ids": {"light.lamp": True}}})
    later = Recognised(name="HassStartTimer", slots={"minutes": 5, "conversation_command": "lamp on"})
    with pytest.raises(ToolError) as error:
        plan_of(hass, make_turn(user=user), later)
    assert error.value.translation_key == "not_allowed"
    user.mock_policy({"entities": True})
    assert isinstance(plan_of(hass, make_turn(user=user), later), Plan)


def test_what_a_handler_does_by_itself_is_known(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    plan = plan_of(
        hass, make_turn(), Recognised(name="HassClimateSetTemperature", slots={"area": "Hall", "temperature": 20})
    )
    assert isinstance(plan, Plan)
    [call] = plan.handled
    assert (call.domain, call.service, call.entity_ids) == ("climate", "set_temperature", ("climate.hall",))
    decision = Rules(never_offer=("climate.set_temperature",)).decide(make_turn(), None, plan)
    assert decision.action is Verdict.REFUSE
