"""What scenes, scripts and automations do is read from their configuration, and judged like the actions themselves."""

import time
from typing import Any
from unittest.mock import patch

from homeassistant.components.scene import Scene
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.entity_component import DATA_INSTANCES
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockEntityPlatform

from custom_components.home_agent.home.actions import Judgement, judge
from custom_components.home_agent.home.contents import contents_of
from custom_components.home_agent.turn.plan import DESTRUCTIVE, DISARM, OPEN_DOOR, UNLOCK, ServiceCall
from tests.entities import Put

UNLOCKING = {"action": "lock.unlock", "target": {"entity_id": "lock.a"}}


@pytest.fixture(autouse=True)
async def doors(put: Put) -> None:
    """A house with something to open."""
    await put("lock.a", "locked")
    await put("cover.garage", "closed", device_class="garage")
    await put("alarm_control_panel.a", "armed_away")
    await put("light.a", "off")


async def scripts(hass: HomeAssistant, **sequences: list[dict[str, Any]]) -> None:
    """Set scripts up."""
    config = {name: {"sequence": sequence} for name, sequence in sequences.items()}
    assert await async_setup_component(hass, "script", {"script": config})


def started(hass: HomeAssistant, entity_id: str, **data: Any) -> Judgement:
    """Return what turning it on comes to."""
    domain = entity_id.partition(".")[0]
    return judge(hass, ServiceCall(domain=domain, service="turn_on", entity_ids=(entity_id,), data=data))


@pytest.mark.parametrize(
    ("step", "reasons"),
    [
        ({"action": "light.turn_on", "target": {"entity_id": "{{ any }}"}}, ()),
        ({"action": "light.{{ any }}", "target": {"entity_id": "light.a"}}, ()),
        ({"action": "light.turn_on", "target": {"entity_id": "all"}}, ()),
        ({"action": "lock.lock", "target": {"entity_id": "lock.a"}}, ()),
        ({"action": "cover.close_cover", "target": {"entity_id": "{{ any }}"}}, ()),
        ({**UNLOCKING, "enabled": False}, ()),
        ({"event": "anything"}, ()),
        ({"delay": 1}, ()),
        ({"action": "script.unknown"}, ()),
        ({"action": "scene.turn_on", "target": {"entity_id": "scene.unknown"}}, ()),
        (
            {"action": "scene.create", "data": {"scene_id": "x", "snapshot_entities": ["light.a"]}},
            (),
        ),
        ({"action": "scene.create", "data": {"scene_id": "x", "snapshot_entities": ["lock.a"]}}, (UNLOCK,)),
        ({"action": "notify.phone", "data": {"message": "x"}}, (DESTRUCTIVE,)),
        ({"action": "notify.{{ who }}", "data": {"message": "x"}}, (DESTRUCTIVE,)),
        ({"action": "homeassistant.turn_on", "target": {"entity_id": "{{ any }}"}}, (DISARM, OPEN_DOOR)),
        ({"action": "{{ any }}"}, (DESTRUCTIVE, UNLOCK, DISARM, OPEN_DOOR)),
    ],
)
async def test_a_step(hass: HomeAssistant, step: dict[str, Any], reasons: tuple[str, ...]) -> None:
    await scripts(hass, a=[step])
    assert {*started(hass, "script.a").reasons} - {DISARM} == {*reasons} - {DISARM}


async def test_a_variable_that_is_given_is_judged_by_who_gives_it(hass: HomeAssistant) -> None:
    steps = [{"action": "lock.unlock", "target": {"entity_id": "{{ door }}"}}]
    await scripts(hass, a=steps, b=[{"variables": {"door": "lock.a"}}, *steps])
    assert started(hass, "script.a").reasons == (UNLOCK,)
    assert started(hass, "script.a", variables={"door": "lock.x"}).reasons == ()
    assert started(hass, "script.b", variables={"door": "lock.x"}).reasons == (UNLOCK,)


async def test_what_is_inside_is_told_once_for_each_action(hass: HomeAssistant) -> None:
    await scripts(hass, a=[UNLOCKING, UNLOCKING, {"action": "script.b"}], b=[UNLOCKING, {"action": "script.a"}])
    found = started(hass, "script.a")
    assert found.inside == (ServiceCall(domain="lock", service="unlock", entity_ids=("lock.a",)),)
    assert {"lock.a", "lock.unlock", "script.b"} <= {*found.reached}


async def test_what_was_read_is_kept_until_it_changes(hass: HomeAssistant) -> None:
    await scripts(hass, a=[UNLOCKING])
    read = contents_of(hass, "script.a")
    assert contents_of(hass, "script.a") is read
    config = {"script": {"a": {"sequence": [{"event": "x"}]}}}
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        await hass.services.async_call("script", "reload", {}, blocking=True)
    assert started(hass, "script.a").reasons == ()


async def test_a_blueprint_is_read_with_its_inputs(hass: HomeAssistant) -> None:
    blueprint = {
        "blueprint": {"name": "Let in", "domain": "script", "input": {"door": None}},
        "sequence": [{"action": "lock.unlock", "target": {"entity_id": "!input door"}}],
    }
    from homeassistant.components.blueprint import BLUEPRINT_SCHEMA, Blueprint
    from homeassistant.util.yaml import Input

    blueprint["sequence"] = [{"action": "lock.unlock", "target": {"entity_id": Input("door")}}]
    made = Blueprint(blueprint, expected_domain="script", path="x.yaml", schema=BLUEPRINT_SCHEMA)
    with patch("homeassistant.components.blueprint.models.DomainBlueprints.async_get_blueprint", return_value=made):
        config = {"a": {"use_blueprint": {"path": "x.yaml", "input": {"door": "lock.a"}}}}
        assert await async_setup_component(hass, "script", {"script": config})
    assert started(hass, "script.a").reasons == (UNLOCK,)


async def test_a_broken_script_does_nothing(hass: HomeAssistant) -> None:
    await scripts(hass, a=[{"nonsense": 1}])
    assert started(hass, "script.a").reasons == ()


async def test_a_thousand_steps_take_milliseconds(hass: HomeAssistant) -> None:
    steps = [{"action": "light.turn_on", "target": {"entity_id": f"light.a{number}"}} for number in range(1000)]
    await scripts(hass, a=[*steps, UNLOCKING])
    assert started(hass, "script.a").reasons == (UNLOCK,)
    began = time.perf_counter()
    started(hass, "script.a")
    assert time.perf_counter() - began < 0.1


async def test_a_chain_that_is_too_long_counts_as_anything(hass: HomeAssistant) -> None:
    chain = {f"s{number}": [{"action": f"script.s{number + 1}"}] for number in range(600)}
    await scripts(hass, **chain, s600=[{"event": "x"}])
    assert started(hass, "script.s500").reasons == ()
    assert UNLOCK in started(hass, "script.s0").reasons


@pytest.mark.parametrize("domain", ["light", "lock"])
async def test_a_scene_of_a_hub_may_do_what_can_be_done_with_the_hub(
    hass: HomeAssistant, put: Put, domain: str
) -> None:
    class OfHub(Scene):
        """A scene that says nothing of what it does."""

        _attr_unique_id = "evening"
        _attr_name = "Evening"

    assert await async_setup_component(hass, "scene", {})
    await hass.async_block_till_done()
    config = MockConfigEntry(domain="hub")
    config.add_to_hass(hass)
    platform = MockEntityPlatform(hass, domain="scene", platform_name="hub")
    platform.config_entry = config
    await platform.async_add_entities([OfHub()])
    component = hass.data[DATA_INSTANCES]["scene"]
    component._entities["scene.evening"] = platform.entities["scene.evening"]
    mine = er.async_get(hass).async_get_or_create(domain, "hub", "1", config_entry=config)
    await put(mine.entity_id, "locked")
    assert started(hass, "scene.evening").reasons == ((UNLOCK,) if domain == "lock" else ())
