"""What can be written in an automation, from the sources of Home Assistant's own editor."""

from collections.abc import Mapping
import json
from typing import Any
from unittest.mock import Mock

from homeassistant.components.automation.config import async_validate_config_item
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockModule,
    mock_integration,
    mock_platform,
)

from custom_components.home_agent.automations.vocabulary import MAX_CHARACTERS, async_vocabulary
from custom_components.home_agent.support.errors import ToolRefusal

HIDDEN = "lock.front_door"

pytestmark = pytest.mark.usefixtures("demo_house")


def knows(entity_id: str) -> bool:
    """Everything may be known but the front door's lock."""
    return entity_id != HIDDEN


@pytest.fixture(autouse=True)
async def automations(hass: HomeAssistant) -> None:
    for domain in ("automation", "input_select", "input_boolean", "select"):
        assert await async_setup_component(hass, domain, {})


async def vocabulary(hass: HomeAssistant, target: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return the vocabulary as JSON, as a model gets it."""
    told = await async_vocabulary(hass, target or {}, **{"knows": knows, **more})
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    assert len(text) <= MAX_CHARACTERS + 200
    return dict(json.loads(text))


def row(rows: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    """Return the one of a name."""
    return next(one for one in rows if one[kind] == name)


LIGHT = {"entity_id": ["light.kitchen_lights"]}


async def test_a_light_has_its_triggers_with_fields_and_an_example(hass: HomeAssistant) -> None:
    told = await vocabulary(hass, LIGHT)
    assert row(told["triggers"], "trigger", "light.turned_on") == {
        "trigger": "light.turned_on",
        "name": "Light turned on",
        "fields": {"behavior": "each or first or all; default each", "for": 'duration, e.g. {"minutes":5}'},
        "example": {"trigger": "light.turned_on", "target": LIGHT | {"entity_id": "light.kitchen_lights"}, "options": {"behavior": "each"}},
    }  # fmt: skip


async def test_a_light_has_its_conditions(hass: HomeAssistant) -> None:
    found = row((await vocabulary(hass, LIGHT))["conditions"], "condition", "light.is_on")
    assert found["fields"]["behavior"] == "any or all; default any"
    assert found["example"]["options"] == {"behavior": "any"}


async def test_a_light_has_its_actions_before_those_of_all_domains(hass: HomeAssistant) -> None:
    actions = [one["action"] for one in (await vocabulary(hass, LIGHT, kinds=["actions"]))["actions"]]
    assert actions == [
        "light.toggle", "light.turn_off", "light.turn_on", "homeassistant.toggle", "homeassistant.turn_off", "homeassistant.turn_on",
    ]  # fmt: skip


async def test_fields_have_ranges_and_units(hass: HomeAssistant) -> None:
    fields = row((await vocabulary(hass, LIGHT, kinds=["actions"]))["actions"], "action", "light.turn_on")["fields"]
    assert fields["brightness_pct"] == "number 0 to 100 %"
    assert fields["color_name"].endswith(" more")


async def test_fields_that_the_entity_cannot_use_are_left_out(hass: HomeAssistant) -> None:
    hass.states.async_set("light.kitchen_lights", "on", {"supported_color_modes": ["onoff"], "supported_features": 32})
    fields = row((await vocabulary(hass, LIGHT, kinds=["actions"]))["actions"], "action", "light.turn_on")["fields"]
    assert "transition" in fields
    assert "brightness_pct" not in fields


@pytest.mark.parametrize(
    "name", ["light.turned_on", "light.brightness_changed", "light.brightness_crossed_threshold", "light.turned_off"]
)
async def test_home_assistant_accepts_the_examples_of_triggers(hass: HomeAssistant, name: str) -> None:
    example = row((await vocabulary(hass, LIGHT))["triggers"], "trigger", name)["example"]
    config = {"id": "x", "alias": "x", "triggers": [example], "conditions": [], "actions": []}
    assert await async_validate_config_item(hass, "x", config) is not None


@pytest.mark.parametrize("name", ["light.is_on", "light.is_brightness"])
async def test_home_assistant_accepts_the_examples_of_conditions(hass: HomeAssistant, name: str) -> None:
    example = row((await vocabulary(hass, LIGHT))["conditions"], "condition", name)["example"]
    config = {"id": "x", "alias": "x", "triggers": [], "conditions": [example], "actions": []}
    assert await async_validate_config_item(hass, "x", config) is not None


async def test_home_assistant_accepts_the_raw_forms(hass: HomeAssistant) -> None:
    told = await vocabulary(hass)
    triggers = [one for name, one in told["raw_triggers"].items() if name != "mqtt"]
    conditions = [one for one in told["raw_conditions"].values() if "…" not in str(one)]
    actions = [one for one in told["raw_actions"].values() if "…" not in str(one)]
    assert len(triggers) > 10
    config = {"id": "x", "alias": "x", "triggers": triggers, "conditions": conditions, "actions": actions}
    found = await async_validate_config_item(hass, "x", config)
    assert found is not None
    assert found.validation_status == "ok"


async def test_an_area_is_the_target_of_its_examples(hass: HomeAssistant) -> None:
    area = ar.async_get(hass).async_get_area_by_name("Kitchen")
    assert area is not None
    told = await vocabulary(hass, {"area_id": [area.id]})
    assert told["entities"] == 2
    assert row(told["actions"], "action", "cover.open_cover")["example"]["target"] == {"area_id": area.id}


async def test_raw_forms_have_the_states_of_the_entity(hass: HomeAssistant) -> None:
    hass.states.async_set("binary_sensor.door", "off", {"device_class": "door"})
    told = await vocabulary(hass, {"entity_id": ["binary_sensor.door"]})
    assert told["states"] == {"binary_sensor.door": {"on": "Open", "off": "Closed"}}
    assert told["raw_triggers"] == [{"trigger": "state", "entity_id": "binary_sensor.door", "to": "on"}]


async def test_the_states_of_a_choice_are_its_options(hass: HomeAssistant) -> None:
    hass.states.async_set("input_select.mode", "Day", {"options": ["Day", "Night"]})
    told = await vocabulary(hass, {"entity_id": ["input_select.mode"]})
    assert told["states"] == {"input_select.mode": ["Day", "Night"]}


async def test_a_number_has_a_raw_trigger_of_its_own(hass: HomeAssistant) -> None:
    hass.states.async_set("sensor.outside", "20")
    told = await vocabulary(hass, {"entity_id": ["sensor.outside"]})
    assert [one["trigger"] for one in told["raw_triggers"]] == ["state", "numeric_state"]
    assert told["raw_triggers"][1]["entity_id"] == "sensor.outside"


async def test_triggers_that_only_the_device_has_are_told(hass: HomeAssistant) -> None:
    entry = MockConfigEntry(domain="test")
    entry.add_to_hass(hass)
    device = dr.async_get(hass).async_get_or_create(config_entry_id=entry.entry_id, identifiers={("test", "1")})
    remote = er.async_get(hass).async_get_or_create("sensor", "test", "remote", device_id=device.id, config_entry=entry)
    hass.states.async_set(remote.entity_id, "1")

    async def triggers(_hass: HomeAssistant, device_id: str) -> list[dict[str, Any]]:
        form = {"platform": "device", "domain": "test", "device_id": device_id}
        return [
            {**form, "type": "pressed", "subtype": "button_1", "metadata": {}},
            {**form, "type": "battery", "entity_id": remote.id, "metadata": {}},
        ]

    mock_integration(hass, MockModule("test"))
    mock_platform(hass, "test.device_trigger", Mock(async_get_triggers=triggers))
    told = await vocabulary(hass, {"device_id": [device.id]}, kinds=["triggers"])
    assert told["raw_triggers"][2:] == [
        {"trigger": "device", "device_id": device.id, "domain": "test", "type": "pressed", "subtype": "button_1"}
    ]


async def test_what_is_hidden_is_as_unknown(hass: HomeAssistant) -> None:
    said = []
    for entity_id in (HIDDEN, "lock.nowhere"):
        with pytest.raises(ToolRefusal) as refused:
            await vocabulary(hass, {"entity_id": [entity_id]})
        said.append(str(refused.value).replace(entity_id, "it"))
    assert said[0] == said[1]


async def test_a_hidden_entity_adds_nothing_to_its_area(hass: HomeAssistant) -> None:
    area = ar.async_get(hass).async_get_area_by_name("Kitchen")
    assert area is not None
    told = await vocabulary(hass, {"area_id": [area.id]}, knows=lambda entity_id: entity_id != "cover.kitchen_window")
    assert told["entities"] == 1
    assert "cover" not in json.dumps(told)


async def test_without_a_target_the_names_are_told(hass: HomeAssistant) -> None:
    told = await vocabulary(hass)
    assert "turned_on" in told["triggers"]["light"]
    assert "is_on" in told["conditions"]["light"]
    assert told["raw_triggers"]["time"] == {"trigger": "time", "at": "07:00:00"}


async def test_a_home_with_many_actions_still_fits(hass: HomeAssistant) -> None:
    async def nothing(_call: ServiceCall) -> None:
        return

    for number in range(400):
        hass.services.async_register(f"test_{number % 20}", f"do_something_rather_long_{number}", nothing)
    told = await vocabulary(hass)
    assert told["actions"]["light"].isdecimal()
    assert "turned_on" in told["triggers"]["light"]


async def test_a_hidden_script_is_no_action(hass: HomeAssistant) -> None:
    assert await async_setup_component(
        hass, "script", {"script": {"secret": {"sequence": []}, "open": {"sequence": []}}}
    )
    told = await vocabulary(hass, kinds=["actions"], knows=lambda entity_id: entity_id != "script.secret")
    assert "open" in told["actions"]["script"]
    assert "secret" not in told["actions"]["script"]


async def test_a_name_is_told_in_full(hass: HomeAssistant) -> None:
    told = await vocabulary(hass, name="light.brightness_crossed_threshold")
    found = told["triggers"]
    assert found["description"] == "Triggers when the brightness of one or more lights crosses a threshold."
    assert found["fields"]["threshold"].startswith('required; {"type":"above","value":{"number":50}} (0 to 100 %)')
    assert found["target_domains"] == "light"


async def test_a_name_with_a_target_has_it_in_its_example(hass: HomeAssistant) -> None:
    told = await vocabulary(hass, LIGHT, name="light.turned_off")
    assert told["triggers"]["example"]["target"] == {"entity_id": "light.kitchen_lights"}


async def test_a_domain_lists_its_names(hass: HomeAssistant) -> None:
    told = await vocabulary(hass, name="lock", kinds=["triggers"])
    assert sorted(told["triggers"]) == ["lock.jammed", "lock.locked", "lock.opened", "lock.unlocked"]


async def test_a_raw_form_is_told_by_its_name(hass: HomeAssistant) -> None:
    told = await vocabulary(hass, name="numeric_state")
    assert told["triggers"]["example"]["above"] == 26
    assert told["conditions"]["example"]["condition"] == "numeric_state"


async def test_an_unknown_name_is_refused_with_near_ones(hass: HomeAssistant) -> None:
    with pytest.raises(
        ToolRefusal, match=r"no trigger, condition or action 'light.turnd_on'. Did you mean light\.turned_on"
    ):
        await vocabulary(hass, name="light.turnd_on")


async def test_a_hidden_script_is_no_name(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "script", {"script": {"secret": {"sequence": []}}})
    with pytest.raises(ToolRefusal, match="There is no trigger"):
        await vocabulary(hass, name="script.secret", knows=lambda entity_id: entity_id != "script.secret")
