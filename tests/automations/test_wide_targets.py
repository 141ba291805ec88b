"""Targets that reach a whole area, and triggers and conditions that are for some kinds of things only."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, label_registry as lr
import pytest

from tests.automations.a_home import HIDDEN, build_home, sentences

DOOR, SHUT = "binary_sensor.cellar_door", "binary_sensor.cellar_smoke"
CELLAR = {"area_id": "cellar"}


@pytest.fixture(autouse=True)
async def home(hass: HomeAssistant) -> None:
    """A cellar with a door, a smoke alarm and a switch that may not be known."""
    await build_home(hass)
    area = ar.async_get(hass).async_create("Cellar")
    lr.async_get(hass).async_create("Night")
    registry = er.async_get(hass)
    for entity_id, kind in ((DOOR, "door"), (SHUT, "smoke"), (HIDDEN, None)):
        domain, object_id = entity_id.split(".")
        entry = registry.async_get(entity_id) or registry.async_get_or_create(
            domain, "test", object_id, suggested_object_id=object_id, original_device_class=kind
        )
        assert entry.entity_id == entity_id
        registry.async_update_entity(entry.entity_id, name=object_id, area_id=area.id, labels={"night"})
        hass.states.async_set(entity_id, "off", {"device_class": kind} if kind else {})


def opened(**target: Any) -> dict[str, Any]:
    return {"trigger": "door.opened", "target": target}


async def test_trigger_of_an_area_whose_things_of_that_kind_are_known(hass: HomeAssistant) -> None:
    assert await sentences(hass, trigger=opened(**CELLAR)) == ""


async def test_condition_of_an_area_whose_things_of_that_kind_are_known(hass: HomeAssistant) -> None:
    assert await sentences(hass, conditions=[{"condition": "door.is_open", "target": CELLAR}]) == ""


async def test_trigger_is_for_another_kind(hass: HomeAssistant) -> None:
    told = await sentences(hass, trigger=opened(entity_id=SHUT))
    assert told == (
        f"triggers[0].target.entity_id: door.opened is for binary_sensor of device class door, cover of device class door, not for {SHUT}. "
        f"Near to it: {DOOR}. Or use a state trigger."
    )


async def test_condition_is_for_another_kind(hass: HomeAssistant) -> None:
    told = await sentences(hass, conditions=[{"condition": "light.is_on", "target": {"entity_id": DOOR}}])
    assert told.startswith(f"conditions[0].target.entity_id: light.is_on is for light, not for {DOOR}.")


@pytest.mark.parametrize("is_there", [True, False], ids=["hidden", "missing"])
@pytest.mark.parametrize("target", [CELLAR, {"label_id": "night"}], ids=["area", "label"])
async def test_nothing_that_is_known_is_told_alike(
    hass: HomeAssistant, target: dict[str, str], *, is_there: bool
) -> None:
    if not is_there:
        er.async_get(hass).async_remove(HIDDEN)
        hass.states.async_remove(HIDDEN)
    told = await sentences(hass, {"action": "switch.turn_on", "target": target})
    assert told.endswith("Nothing that can be used in this target suits switch.turn_on. Name entities by entity_id.")


async def test_part_of_an_area_is_known(hass: HomeAssistant) -> None:
    entry = er.async_get(hass).async_get_or_create("switch", "test", "pump", suggested_object_id="pump")
    er.async_get(hass).async_update_entity(entry.entity_id, area_id="cellar")
    hass.states.async_set("switch.pump", "off")
    for action in ("switch.turn_on", "homeassistant.turn_off"):
        told = await sentences(hass, {"action": action, "target": CELLAR})
        assert told == (
            "actions[0].target.area_id: It is not sure that only known things are in this target. Name them by entity_id: switch.pump."
        )


async def test_threshold_between_the_same_numbers(hass: HomeAssistant) -> None:
    number = {"number": 5, "unit_of_measurement": "°C"}
    threshold = {"type": "between", "value_min": number, "value_max": number}
    trigger = {
        "trigger": "temperature.crossed_threshold",
        "target": {"entity_id": "sensor.attic"},
        "options": {"threshold": threshold},
    }
    assert "Nothing is between 5 and 5." in await sentences(hass, trigger=trigger)


async def test_threshold_of_what_has_no_number(hass: HomeAssistant) -> None:
    hass.states.async_set("sensor.word", "warm", {"device_class": "temperature"})
    threshold = {"type": "above", "value": {"entity": "sensor.word"}}
    trigger = {
        "trigger": "temperature.crossed_threshold",
        "target": {"entity_id": "sensor.attic"},
        "options": {"threshold": threshold},
    }
    assert "sensor.word is no number that fits here." in await sentences(hass, trigger=trigger)
