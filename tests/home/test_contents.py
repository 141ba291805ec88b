"""What scenes, scripts and automations do is read from their configuration, and judged like the actions themselves."""

import time
from typing import Any
from unittest.mock import patch

from homeassistant.components.scene import Scene
from homeassistant.components.switch import SwitchEntity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, entity_registry as er
from homeassistant.helpers.entity_component import DATA_INSTANCES
from homeassistant.helpers.script import Script
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockEntityPlatform

from custom_components.home_agent.home.contents import contents_of
from custom_components.home_agent.home.judgement import Judgement, judge
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
    config = {name: {"sequence": sequence} for name, sequence in sequences.items()}
    assert await async_setup_component(hass, "script", {"script": config})


def started(hass: HomeAssistant, entity_id: str, **data: Any) -> Judgement:
    """Return what turning it on comes to."""
    domain = entity_id.partition(".")[0]
    return judge(hass, ServiceCall(domain=domain, service="turn_on", entity_ids=(entity_id,), data=data))


@pytest.mark.parametrize(("step", "reasons"), [
    ({"action": "light.turn_on", "target": {"entity_id": "{{ any }}"}}, ()),
    ({"action": "light.{{ any }}", "target": {"entity_id": "light.a"}}, ()),
    ({"action": "light.turn_on", "target": {"entity_id": "all"}}, ()),
    ({"action": "lock.lock", "target": {"entity_id": "lock.a"}}, ()),
    ({"action": "cover.close_cover", "target": {"entity_id": "{{ any }}"}}, ()),
    ({**UNLOCKING, "enabled": False}, ()),
    ({"event": "anything"}, ()),
    ({"action": "lock.lock", "target": {"entity_id": "lock.a"}, "data": {"code": "1234"}}, ()),
    ({"action": "lock.lock", "target": {"entity_id": "lock.a"}, "data": {"code": "{{ code }}"}}, (UNLOCK,)),
    ({"delay": 1}, ()),
    ({"action": "script.unknown"}, ()),
    ({"action": "scene.turn_on", "target": {"entity_id": "scene.unknown"}}, ()),
    ({"action": "scene.create", "data": {"scene_id": "x", "snapshot_entities": ["light.a"]}}, ()),
    ({"action": "scene.create", "data": {"scene_id": "x", "snapshot_entities": ["lock.a"]}}, (UNLOCK,)),
    ({"action": "notify.phone", "data": {"message": "x"}}, (DESTRUCTIVE,)),
    ({"action": "notify.{{ who }}", "data": {"message": "x"}}, (DESTRUCTIVE,)),
    ({"action": "homeassistant.turn_on", "target": {"entity_id": "{{ any }}"}}, (DISARM, OPEN_DOOR)),
    ({"action": "{{ any }}"}, (DESTRUCTIVE, UNLOCK, DISARM, OPEN_DOOR)),
])  # fmt: skip
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
    assert found.reach.inside == (ServiceCall(domain="lock", service="unlock", entity_ids=("lock.a",)),)
    assert {"lock.a", "lock.unlock", "script.b"} <= {*found.reach.reached}


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


@pytest.mark.usefixtures("no_collection")
async def test_a_thousand_steps_take_milliseconds(hass: HomeAssistant) -> None:
    steps = [{"action": "light.turn_on", "target": {"entity_id": f"light.a{number}"}} for number in range(1000)]
    await scripts(hass, a=[*steps, UNLOCKING])
    assert started(hass, "script.a").reasons == (UNLOCK,)
    began = time.thread_time()
    started(hass, "script.a")
    assert time.thread_time() - began < 0.1


async def test_a_chain_that_is_too_long_counts_as_anything(hass: HomeAssistant) -> None:
    chain = {f"s{number}": [{"action": f"script.s{number + 1}"}] for number in range(600)}
    await scripts(hass, **chain, s600=[{"event": "x"}])
    assert started(hass, "script.s500").reasons == ()
    assert UNLOCK in started(hass, "script.s0").reasons


@pytest.mark.parametrize("domain", ["light", "lock"])
async def test_a_scene_of_a_hub_may_do_what_the_hub_does(hass: HomeAssistant, put: Put, domain: str) -> None:
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


UNLOCKS = [UNLOCKING]
LOCKS = [{"action": "lock.lock", "target": {"entity_id": "lock.a"}}]
HARMLESS = [{"event": "x"}]


async def templates(hass: HomeAssistant, **entities: list[dict[str, Any]]) -> None:
    """Set entities of templates up, by their domain."""
    assert await async_setup_component(hass, "template", {"template": entities})
    await hass.async_block_till_done()


def called(hass: HomeAssistant, action: str, entity_id: str, **data: Any) -> Judgement:
    """Return what a service comes to."""
    domain, _, service = action.partition(".")
    return judge(hass, ServiceCall(domain=domain, service=service, entity_ids=(entity_id,), data=data))


@pytest.mark.parametrize(("service", "reasons"), [
    ("switch.turn_on", (UNLOCK,)), ("switch.turn_off", ()), ("switch.toggle", (UNLOCK,)),
    ("homeassistant.turn_on", (UNLOCK,)), ("homeassistant.turn_off", ()), ("homeassistant.toggle", (UNLOCK,)),
])  # fmt: skip
async def test_a_switch_of_a_template(hass: HomeAssistant, service: str, reasons: tuple[str, ...]) -> None:
    await templates(hass, switch=[{"name": "Strike", "turn_on": UNLOCKS, "turn_off": LOCKS}])
    found = called(hass, service, "switch.strike")
    assert found.reasons == reasons
    if reasons:
        assert found.reach.inside == (ServiceCall(domain="lock", service="unlock", entity_ids=("lock.a",)),)
        assert {"lock.a", "lock.unlock"} <= {*found.reach.reached}


@pytest.mark.parametrize(("domain", "config", "asked", "plain"), [
    (
        "light", {"turn_on": HARMLESS, "turn_off": HARMLESS, "set_level": UNLOCKS},
        {"light.turn_on": {"brightness": 5}, "light.toggle": {}}, {"light.turn_off": {}},
    ),
    (
        "light", {"turn_on": HARMLESS, "turn_off": UNLOCKS}, {"light.turn_on": {"brightness": 0}, "light.turn_off": {}},
        {"light.turn_on": {}},
    ),
    (
        "fan", {"turn_on": HARMLESS, "turn_off": UNLOCKS, "set_percentage": HARMLESS, "percentage": 5},
        {"fan.set_percentage": {"percentage": 0}, "fan.turn_off": {}}, {},
    ),
    (
        "cover", {"open_cover": UNLOCKS, "close_cover": HARMLESS, "stop_cover": HARMLESS},
        {"cover.open_cover": {}, "cover.toggle": {}, "homeassistant.turn_on": {}},
        {"cover.close_cover": {}, "cover.stop_cover": {}},
    ),
    (
        "cover", {"set_cover_position": UNLOCKS, "position": "{{ 0 }}"},
        {"cover.open_cover": {}, "cover.close_cover": {}, "cover.set_cover_position": {"position": 1}}, {},
    ),
    ("button", {"press": UNLOCKS}, {"button.press": {}}, {}),
    (
        "select", {"select_option": UNLOCKS, "options": "{{ ['a'] }}", "state": "a"},
        {"select.select_option": {"option": "a"}}, {},
    ),
    ("number", {"set_value": UNLOCKS, "step": 1, "state": "1"}, {"number.set_value": {"value": 1}}, {}),
    (
        "vacuum", {"start": UNLOCKS, "stop": HARMLESS}, {"vacuum.start": {}, "homeassistant.turn_on": {}},
        {"vacuum.stop": {}},
    ),
    ("lock", {"lock": UNLOCKS, "unlock": HARMLESS, "state": "unlocked"}, {"lock.lock": {}}, {}),
    (
        "alarm_control_panel", {"arm_away": UNLOCKS, "arm_home": HARMLESS, "state": "disarmed"},
        {"alarm_control_panel.alarm_arm_away": {}}, {"alarm_control_panel.alarm_arm_home": {}},
    ),
])  # fmt: skip
async def test_an_entity_of_a_template(
    hass: HomeAssistant,
    domain: str,
    config: dict[str, Any],
    asked: dict[str, dict[str, Any]],
    plain: dict[str, dict[str, Any]],
) -> None:
    await templates(hass, **{domain: [{"name": "Made", **config}]})
    assert hass.states.get(f"{domain}.made") is not None
    for service, data in asked.items():
        assert UNLOCK in called(hass, service, f"{domain}.made", **data).reasons, service
    for service, data in plain.items():
        assert called(hass, service, f"{domain}.made", **data).reasons == (), service


async def test_a_template_of_the_ui(hass: HomeAssistant) -> None:
    options = {"template_type": "switch", "name": "Strike", "turn_on": UNLOCKS, "turn_off": LOCKS}
    entry = MockConfigEntry(domain="template", title="Strike", options=options)
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    assert called(hass, "switch.turn_on", "switch.strike").reasons == (UNLOCK,)


async def test_what_a_template_decides_counts_as_all_that_it_may_be(hass: HomeAssistant) -> None:
    steps = [{"action": "lock.unlock", "target": {"entity_id": "{{ this.attributes.door }}"}}]
    await templates(
        hass,
        switch=[
            {"name": "One", "turn_on": steps, "turn_off": []},
            {"name": "Two", "turn_on": [{"action": "{{ this.state }}"}], "turn_off": []},
        ],
    )
    assert called(hass, "switch.turn_on", "switch.one").reasons == (UNLOCK,)
    assert DESTRUCTIVE in called(hass, "switch.turn_on", "switch.two").reasons


async def test_what_is_behind_an_entity_of_a_template(hass: HomeAssistant) -> None:
    await templates(hass, switch=[{"name": "Strike", "turn_on": UNLOCKS, "turn_off": LOCKS, "unique_id": "strike"}])
    await scripts(hass, a=[{"action": "switch.turn_on", "target": {"entity_id": "switch.strike"}}])
    lights = MockConfigEntry(
        domain="switch_as_x",
        options={"entity_id": "switch.strike", "target_domain": "light", "invert": False},
        title="Shown",
        minor_version=3,
    )
    lights.add_to_hass(hass)
    assert await hass.config_entries.async_setup(lights.entry_id)
    await hass.async_block_till_done()
    options = {"group_type": "light", "name": "All", "entities": ["light.strike"], "hide_members": False}
    group = MockConfigEntry(domain="group", title="All", options=options)
    group.add_to_hass(hass)
    assert await hass.config_entries.async_setup(group.entry_id)
    await hass.async_block_till_done()
    assert started(hass, "script.a").reasons == (UNLOCK,)
    assert called(hass, "light.turn_on", "light.strike").reasons == (UNLOCK,)
    assert called(hass, "light.turn_on", "light.all").reasons == (UNLOCK,)


async def test_commands_of_a_media_player(hass: HomeAssistant) -> None:
    player = {
        "platform": "universal",
        "name": "Hall",
        "commands": {"turn_on": UNLOCKS[0], "volume_up": {"action": "test.up"}},
    }
    assert await async_setup_component(hass, "media_player", {"media_player": player})
    await hass.async_block_till_done()
    assert called(hass, "media_player.turn_on", "media_player.hall").reasons == (UNLOCK,)
    assert called(hass, "media_player.toggle", "media_player.hall").reasons == (UNLOCK,)
    assert called(hass, "media_player.turn_off", "media_player.hall").reasons == ()
    assert called(hass, "media_player.volume_up", "media_player.hall").reasons == ()


class Waking(SwitchEntity):
    """A switch that keeps its script as that of wake_on_lan does, and in an object of its own what turns it on."""

    def __init__(self, hass: HomeAssistant, turn_off: list[dict[str, Any]], turn_on: list[dict[str, Any]]) -> None:
        self._attr_name = "Computer"
        self._off_script = Script(hass, cv.SCRIPT_SCHEMA(turn_off), "Computer", "switch")
        self._remote = Remote(Script(hass, cv.SCRIPT_SCHEMA(turn_on), "Computer", "switch"))


class Remote:
    """Keeps a script as that of panasonic_viera does."""

    def __init__(self, on_action: Script) -> None:
        self._on_action = on_action


@pytest.mark.parametrize("platform_name", ["wake_on_lan", "home_agent"], ids=["known", "custom"])
@pytest.mark.parametrize("opens", ["turn_on", "turn_off"])
async def test_a_script_that_an_entity_keeps(hass: HomeAssistant, opens: str, platform_name: str) -> None:
    actions = {"turn_on": LOCKS, "turn_off": LOCKS} | {opens: UNLOCKS}
    entity = Waking(hass, **actions)
    assert await async_setup_component(hass, "switch", {})
    platform = MockEntityPlatform(hass, domain="switch", platform_name=platform_name)
    await platform.async_add_entities([entity])
    hass.data[DATA_INSTANCES]["switch"]._entities[entity.entity_id] = entity
    for service in ("turn_on", "turn_off"):
        found = called(hass, f"switch.{service}", entity.entity_id)
        assert found.reasons == ((UNLOCK,) if service == opens else ())
    assert called(hass, "switch.toggle", entity.entity_id).reasons == (UNLOCK,)


async def test_what_a_thermostat_switches(hass: HomeAssistant, put: Put) -> None:
    await templates(hass, switch=[{"name": "Strike", "turn_on": UNLOCKS, "turn_off": LOCKS}])
    await put("sensor.cold", "5", unit_of_measurement="°C")
    config = {
        "platform": "generic_thermostat", "name": "Hall", "heater": "switch.strike", "target_sensor": "sensor.cold",
    }  # fmt: skip
    assert await async_setup_component(hass, "climate", {"climate": config})
    await hass.async_block_till_done()
    assert called(hass, "climate.set_temperature", "climate.hall", temperature=30).reasons == (UNLOCK,)
