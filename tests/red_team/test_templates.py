"""The owner's templates, led by a model's words through every list and registry of the home."""

from pathlib import Path
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import device_registry as dr, entity_registry as er, issue_registry as ir
from homeassistant.helpers.template import TemplateEnvironment
from homeassistant.setup import async_setup_component
from jinja2.sandbox import ImmutableSandboxedEnvironment
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.tools.custom import visible
from tests.house import say
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import HIDDEN_DOOR, HIDDEN_LIGHT, HIDDEN_STATE, Witness, answers

VAULT = "sensor.vault"
SERIAL = "serial-of-the-vault-77"
HIDDEN = (
    HIDDEN_STATE,
    HIDDEN_LIGHT,
    HIDDEN_DOOR,
    VAULT,
    "sensor.safe",
    SERIAL,
    "Safe of the house",
    "Bank of the house",
)

LISTS: dict[str, str] = {
    "a domain by its state": "states.sensor | selectattr('state', 'search', a) | map(attribute='entity_id') | list",
    "a domain by its name": "states.sensor | selectattr('name', 'search', '(?i)' ~ a) | map(attribute='state') | list",
    "a domain by an index": "states['sensor'] | selectattr('name', 'search', a, ignorecase=true) | map(attribute='state') | list",
    "a domain rejected": "states.sensor | rejectattr('name', 'eq', a) | map(attribute='state') | join(',')",
    "a domain in a loop": "namespace(x=states.sensor | list).x | map(attribute='state') | list",
    "a domain as text": "states.sensor | list | string",
    "a domain grouped": "states.sensor | groupby('state') | string",
    "a domain sorted": "states.sensor | sort(attribute='name') | map(attribute='name') | list",
    "a domain, its last": "(states.sensor | sort(attribute='entity_id') | list)[-1].entity_id ~ (states.sensor | list)",
    "a domain expanded": "expand(states.sensor) | map(attribute='state') | list",
    "a domain expanded with more": "expand(states.sensor, 'sun.sun') | map(attribute='entity_id') | list",
    "a domain unpacked": "[*states.sensor] | map(attribute='state') | list if false else (states.sensor | map(attribute='state') | list)",
    "a domain applied": "states.sensor | map(attribute='entity_id') | map('states') | list",
    "a domain closest": "closest(states.sensor) | string ~ (states.sensor | list)",
    "a domain of locks": "states.lock | map(attribute='entity_id') | list",
    "a domain of lights": "states.light | map(attribute='entity_id') | list",
    "all states": "states | selectattr('name', 'search', '(?i)' ~ a) | map(attribute='state') | list",
    "all states, expanded": "expand(states) | map(attribute='entity_id') | list",
    "an area": "area_entities('bedroom') | map('states') | list ~ area_entities('bedroom')",
    "an area by a filter": "'Bedroom' | area_entities | list",
    "an area, applied": "['bedroom'] | map('area_entities') | list",
    "an area, as a function": "['bedroom'] | map('apply', area_entities) | list",
    "all areas": "areas() | map('area_entities') | sum(start=[])",
    "a floor": "floor_entities('Ground') | list",
    "all floors": "floors() | map('floor_entities') | list",
    "a label": "label_entities('Watched') | list",
    "all labels": "labels() | map('label_entities') | list",
    "an integration": "integration_entities('demo') | list",
    "an integration by its title": "integration_entities('Bank of the house') | list",
    "an integration by the argument": "integration_entities('Bank of the ' ~ 'house') | list",
    "the devices of an area": "area_devices('bedroom') | map('device_entities') | sum(start=[])",
    "the devices of an area by name": "area_devices('cellar') | map('device_name') | list",
    "the devices of a label": "label_devices('guarded') | map('device_attr', 'serial_number') | list",
    "the issues of Repairs": "issues()",
    "the values of issues": "issues().values() | list",
    "one issue": "issue('demo', 'about_the_vault')",
    "one issue by a filter": "'demo' | issue('about_the_vault')",
}
SINGLE: dict[str, str] = {
    "its state": "states(a)", "its state by a filter": "a | states", "its state by an index": "states[a].state",
    "its state by name": "states.sensor[a.split('.')[1]].state", "the whole": "states[a]", "the whole by name": "states.sensor[a.split('.')[1]]",
    "as text": "states[a] | string", "whether it exists": "states[a] is none", "whether it exists by name": "states.sensor[a.split('.')[1]] is none",
    "whether it is defined": "states[a] is defined", "in a list": "[states[a]]", "as JSON": "{'x': states[a] | string} | to_json",
    "a test": "is_state(a, 'x')", "a test by a filter": "[a] | select('is_state', 'x') | list", "an attribute": "state_attr(a, 'friendly_name')",
    "a test of an attribute": "is_state_attr(a, 'friendly_name', 'Vault')", "a value": "has_value(a)", "a value by a test": "a is has_value",
    "translated": "state_translated(a)", "an attribute translated": "state_attr_translated(a, 'friendly_name')",
    "its name": "entity_name(a)", "hidden": "is_hidden_entity(a)", "hidden by a test": "a is is_hidden_entity", "its device": "device_id(a)",
    "its device's name": "device_name(a)", "of its device": "device_attr(a, 'serial_number')", "its area": "area_name(a)",
    "its labels": "labels(a)", "its floor": "floor_id(a)", "its entry": "config_entry_id(a)", "expanded": "expand(a) | list | string",
    "closest": "closest(a)", "the distance": "distance(a)", "applied": "[a] | map('apply', states) | list", "equal": "states[a] == states[a]",
    "as a function": "(states | apply(a)) if false else states(a)",
}  # fmt: skip
DEVICE: dict[str, str] = {
    "its id": "device_id(a)", "by a filter": "a | device_id", "a number": "device_attr(device_id(a), 'serial_number')",
    "a number by name": "device_attr(device_or_entity_id=b, attr_name='serial_number')", "a number tested": "is_device_attr(b, 'serial_number', 'serial-of-the-vault-77')",
    "its name": "device_name(b)", "its area": "area_id(b)", "its area's name": "b | area_name", "its entities": "device_entities(b)",
    "of its entry": "config_entry_attr(c, 'title')", "its entry by a filter": "c | config_entry_attr('title')", "its labels": "labels(b)",
}  # fmt: skip


def tool(source: str) -> dict[str, Any]:
    """Return our part of the configuration with one template."""
    handler = {"type": "template", "template": "{{ " + source + " }}"}
    parameters = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}}}
    return {"custom_tools": [{"name": "look", "description": "Looks.", "parameters": parameters, "handler": handler}]}


@pytest.fixture
def safe(hass: HomeAssistant) -> dict[str, str]:
    """Add a device that is not exposed, with its own integration and an issue; return what leads to it."""
    entry = MockConfigEntry(domain="demo", title="Bank of the house")
    entry.add_to_hass(hass)
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=entry.entry_id, identifiers={("demo", "safe")}, name="Safe of the house", serial_number=SERIAL
    )
    dr.async_get(hass).async_update_device(device.id, labels={"guarded"})
    entity = er.async_get(hass).async_get_or_create(
        "sensor", "demo", "safe", device_id=device.id, config_entry=entry, suggested_object_id="safe"
    )
    hass.states.async_set(entity.entity_id, HIDDEN_STATE)
    placeholders = {"entity_id": VAULT}
    ir.async_create_issue(
        hass, "demo", "about_the_vault", is_fixable=False, is_persistent=True, severity=ir.IssueSeverity.WARNING,
        translation_key="x", translation_placeholders=placeholders,
    )  # fmt: skip
    return {"a": "Safe of the house", "b": device.id, "c": entry.entry_id}


async def asked(hass: HomeAssistant, witness: Witness, alice: Context, arguments: dict[str, str]) -> dict[str, Any]:
    witness.server.plan(tool_call("look", arguments), text("I cannot do that."))
    await say(hass, "look please", context=alice)
    return dict(answers(witness.server)[-1])


@pytest.mark.parametrize("source", LISTS.values(), ids=LISTS)
async def test_a_list_has_nothing_hidden(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, safe: dict[str, str], source: str
) -> None:
    await start(yaml=tool(source))
    told = await asked(hass, witness, alice, {"a": "vault"})
    assert told["success"] or "may not" not in str(told)
    for mark in HIDDEN:
        assert mark not in str(told)


@pytest.mark.parametrize("source", SINGLE.values(), ids=SINGLE)
async def test_a_single_one_is_as_one_that_does_not_exist(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, source: str
) -> None:
    await start(yaml=tool(source))
    hidden, missing = [await asked(hass, witness, alice, {"a": f"sensor.{name}"}) for name in ("vault", "zorp")]
    assert str(hidden).replace("vault", "_") == str(missing).replace("zorp", "_")


@pytest.mark.parametrize("source", DEVICE.values(), ids=DEVICE)
async def test_a_device_is_as_one_that_does_not_exist(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, safe: dict[str, str], source: str
) -> None:
    await start(yaml=tool(source))
    hidden = await asked(hass, witness, alice, safe)
    missing = await asked(hass, witness, alice, dict.fromkeys(safe, "zorp"))
    assert (hidden["success"], hidden["result"]) == (missing["success"], missing["result"])


@pytest.mark.parametrize(("source", "expected"), [
    ("states.light | selectattr('entity_id', 'eq', 'light.bed_light') | map(attribute='name') | list", ["Bed Light"]),
    ("area_entities('bedroom') | sort", ["light.bed_light", "light.ceiling_lights"]),
    ("device_name('light.bed_light')", "Bed Light"),
    ("device_attr(device_id('light.bed_light'), 'name')", "Bed Light"),
    ("area_id('Bedroom')", "bedroom"),
    ("areas() | length > 1", True),
    (f"states('{HIDDEN_LIGHT}')", "off"),
    (f"states.light | map(attribute='entity_id') | select('eq', '{HIDDEN_LIGHT}') | list", [HIDDEN_LIGHT]),
    ("'safe' in (device_name(device_id('Safe of the house')) | lower)", True),
])  # fmt: skip
async def test_what_is_exposed_or_written_is_told(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    alice: Context,
    safe: dict[str, str],
    source: str,
    expected: Any,
) -> None:
    await start(yaml=tool(source))
    assert (await asked(hass, witness, alice, {}))["result"] == expected


PLACES = {
    "areas", "floor_areas", "floors", "label_areas", "label_description", "label_id", "label_name",
}  # fmt: skip
"""Functions that tell of areas, floors and labels themselves."""
PURE = {
    "acos", "add", "apply", "as_datetime", "as_function", "as_local", "as_timedelta", "as_timestamp", "asin", "atan", "atan2",
    "average", "base64_decode", "base64_encode", "bitwise_and", "bitwise_or", "bitwise_xor", "bool", "clamp", "combine", "contains",
    "cos", "datetime", "difference", "e", "flatten", "float", "from_hex", "from_json", "iif", "int", "intersect", "is_defined",  # codespell:ignore iif
    "is_number", "list", "log", "match", "max", "md5", "median", "merge_response", "min", "multiply", "now", "ord", "ordinal",
    "pack", "pi", "random", "regex_findall", "regex_findall_index", "regex_match", "regex_replace", "regex_search", "relative_time", "remap", "round",
    "search", "set", "sha1", "sha256", "sha512", "shuffle", "sin", "slugify", "sqrt", "statistical_mode", "string_like", "strptime",
    "symmetric_difference", "tan", "tau", "time_since", "time_until", "timedelta", "timedelta_string", "timestamp_custom",
    "timestamp_local", "timestamp_utc", "to_json", "today_at", "tuple", "typeof", "union", "unpack", "urlencode", "utcnow",
    "version", "wrap", "zip",
}  # fmt: skip
"""Functions that read nothing of the home."""


async def test_every_function_of_templates_is_known(hass: HomeAssistant) -> None:
    ours, jinjas = TemplateEnvironment(hass, limited=False, strict=False, log_fn=None), ImmutableSandboxedEnvironment()
    named = {
        name
        for kind in ("globals", "filters", "tests")
        for name, function in getattr(ours, kind).items()
        if getattr(jinjas, kind).get(name) is not function
    } - set(jinjas.globals)
    reading = {
        name
        for names in (
            visible.ABOUT_ENTITIES, visible.ABOUT_DEVICES, visible.ABOUT_PLACES, visible.LISTING_ENTITIES,
            visible.LISTING_DEVICES, visible.ABOUT_ENTRIES, visible.ABOUT_ISSUES, visible.NOTED_BY_HOME_ASSISTANT,
        )
        for name in names
    }  # fmt: skip
    assert named == reading | PLACES | PURE


async def test_a_macro_of_the_home_tells_nothing_hidden(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, tmp_path: Path
) -> None:
    macro = "{% macro all(a) %}{{ states.sensor | selectattr('name', 'search', a) | map(attribute='state') | list }}{% endmacro %}"
    (tmp_path / "custom_templates").mkdir()
    (tmp_path / "custom_templates" / "home.jinja").write_text(macro)
    hass.config.config_dir = str(tmp_path)
    assert await async_setup_component(hass, "homeassistant", {})
    await hass.services.async_call("homeassistant", "reload_custom_templates", blocking=True)
    await start(yaml=tool("'sensor' }}{% from 'home.jinja' import all %}{{ all(a)"))
    told = await asked(hass, witness, alice, {"a": ""})
    assert told["success"]
    assert HIDDEN_STATE not in str(told)
