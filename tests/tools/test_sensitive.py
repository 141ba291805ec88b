"""What needs the owner's yes."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.safety.plan import ServiceCall
from custom_components.home_agent.tools.sensitive import DISARM, OPEN_DOOR, OPEN_VALVE, UNLOCK, sensitivities

from .conftest import Put

GARAGE = {"device_class": "garage"}


@pytest.mark.parametrize(
    ("entity_id", "state", "attributes", "service", "data", "reason"),
    [
        ("lock.a", "locked", {}, "unlock", {}, UNLOCK),
        ("lock.a", "locked", {}, "open", {}, UNLOCK),
        ("lock.a", "locked", {}, "toggle", {}, UNLOCK),
        ("lock.a", "unlocked", {}, "turn_off", {}, UNLOCK),
        ("lock.a", "unlocked", {}, "lock", {}, None),
        ("alarm_control_panel.a", "armed_away", {}, "alarm_disarm", {}, DISARM),
        ("alarm_control_panel.a", "disarmed", {}, "alarm_arm_away", {}, None),
        ("cover.a", "closed", GARAGE, "open_cover", {}, OPEN_DOOR),
        ("cover.a", "closed", {"device_class": "gate"}, "open_cover_tilt", {}, OPEN_DOOR),
        ("cover.a", "closed", {"device_class": "door"}, "turn_on", {}, OPEN_DOOR),
        ("cover.a", "closed", GARAGE, "toggle", {}, OPEN_DOOR),
        ("cover.a", "unknown", GARAGE, "toggle", {}, OPEN_DOOR),
        ("cover.a", "open", GARAGE, "toggle", {}, None),
        ("cover.a", "open", GARAGE, "close_cover", {}, None),
        ("cover.a", "open", GARAGE, "set_cover_position", {"position": 0}, None),
        ("cover.a", "open", GARAGE, "set_cover_position", {"position": 1}, OPEN_DOOR),
        ("cover.a", "open", GARAGE, "set_cover_position", {}, OPEN_DOOR),
        ("cover.a", "closed", {"device_class": "shutter"}, "open_cover", {}, None),
        ("valve.a", "closed", {}, "open_valve", {}, OPEN_VALVE),
        ("valve.a", "closed", {}, "toggle", {}, OPEN_VALVE),
        ("valve.a", "closed", {}, "set_valve_position", {"position": 5}, OPEN_VALVE),
        ("valve.a", "open", {}, "close_valve", {}, None),
        ("light.a", "on", {}, "turn_off", {}, None),
    ],
)
async def test_judged_by_what_it_would_do_now(
    hass: HomeAssistant,
    put: Put,
    entity_id: str,
    state: str,
    attributes: dict[str, Any],
    service: str,
    data: dict[str, Any],
    reason: str | None,
) -> None:
    await put(entity_id, state, **attributes)
    call = ServiceCall(domain=entity_id.partition(".")[0], service=service, entity_ids=(entity_id,), data=data)
    assert next(sensitivities(hass, call), None) == reason


async def test_a_group_is_as_sensitive_as_its_members(hass: HomeAssistant, put: Put) -> None:
    await put("cover.garage", "closed", device_class="garage")
    await put("cover.all", "closed", entity_id=["cover.blind", "cover.garage"])
    call = ServiceCall(domain="cover", service="open_cover", entity_ids=("cover.all",))
    assert next(sensitivities(hass, call), None) == OPEN_DOOR


async def test_an_entity_without_a_state_counts_as_closed(hass: HomeAssistant) -> None:
    call = ServiceCall(domain="valve", service="toggle", entity_ids=("valve.ghost",))
    assert next(sensitivities(hass, call), None) == OPEN_VALVE
