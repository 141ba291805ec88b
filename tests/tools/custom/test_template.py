"""Templates as tools: they compute, and lead nobody to what is not exposed."""

import asyncio
import time
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import build_house
from tests.prompt.conftest import AddEntity
from tests.tools.custom.conftest import Run, WriteYaml


def tool(template: str) -> str:
    return f"""
home_agent:
  secrets: {{key: sk-very-secret}}
  custom_tools:
    - name: compute
      description: Computes.
      parameters:
        properties:
          a: {{}}
          n: {{type: number, default: 2}}
      handler:
        type: template
        template: >-
          {template}
"""


@pytest.mark.parametrize(("template", "parameters", "expected"), [
    pytest.param("{{ n * 2 }}", {"n": 21}, 42, id="number"),
    pytest.param("{{ n * 2 }}", {}, 4, id="default"),
    pytest.param("{{ [n, a] }}", {"n": 1, "a": {"x": None}}, [1, {"x": None}], id="list"),
    pytest.param("{{ [10 ** 30, -(2 ** 63), 2 ** 62] }}", {}, [1e30, -(2.0**63), 2**62], id="more than 64 bits"),
    pytest.param("{{ {'n': 10 ** 400} }}", {}, {"n": None}, id="more than any number"),
    pytest.param("It is {{ n }}{{ ' or ' ~ a if a is defined }}.", {"n": 3}, "It is 3.", id="text"),
    pytest.param("{{ a }}", {"a": "[1, 2]"}, "[1, 2]", id="a text stays a text"),
    pytest.param("{{ a }}", {"a": "{{ key }}"}, "{{ key }}", id="an argument is no template"),
    pytest.param("{{ {'k': key, 's': secrets.key} }}", {}, {"k": "**masked**", "s": "**masked**"}, id="secrets"),
    pytest.param("{{ today_at('08:00').hour }}", {}, 8, id="what templates know"),
    pytest.param("{{ nothing is defined }}{{ a }}", {"a": 1}, None, id="unknown name"),
    pytest.param("{{ a | float }}", {"a": "x"}, None, id="fails"),
    pytest.param("x{{ 'x' * 300000 }}", {}, None, id="too long"),
    pytest.param("{{ 1 / 0 }}", {}, None, id="divides"),
])  # fmt: skip
async def test_results(
    hass: HomeAssistant, write_yaml: WriteYaml, run: Run, template: str, parameters: dict[str, Any], expected: Any
) -> None:
    await write_yaml(tool(template))
    if "nothing" in template:
        assert "compute" not in hass.config_entries.async_entries("home_agent")[0].runtime_data.custom_tools.names
        return
    result = await run("compute", **parameters)
    assert result["result"] == expected
    assert result["success"] is (expected is not None)


@pytest.mark.parametrize("template", [
    "{{ states(a) }}", "{{ states[a.split('.')[0]][a.split('.')[1]].state }}", "{{ state_attr(a, 'friendly_name') }}",
    "{{ is_state(a, 'on') }}", "{{ states('light.' ~ a.split('.')[1]) }}", "{{ states(a) | float }}",
    "{{ expand(a) | map(attribute='state') | list }}", "{{ [a] | map('states') | list }}",
    "{{ [a] | select('is_state', 'on') | list }}",
])  # fmt: skip
async def test_only_the_exposed_is_read(add_entity: AddEntity, write_yaml: WriteYaml, run: Run, template: str) -> None:
    add_entity("light.desk", "1")
    add_entity("light.hidden", "1", exposed=False)
    await write_yaml(tool(template))
    assert (await run("compute", a="light.desk"))["success"]
    answers = [(await run("compute", a=f"light.{name}"))["error"].replace(name, "X") for name in ("hidden", "ghost")]
    assert answers[0] == answers[1]


async def test_what_the_owner_names_is_his_choice(add_entity: AddEntity, write_yaml: WriteYaml, run: Run) -> None:
    add_entity("light.hidden", "on", exposed=False)
    await write_yaml(tool("{{ states('light.hidden') }} {{ states.light | list | length }}"))
    assert (await run("compute"))["result"] == "on 1"


async def test_a_domain_argument_is_not_listed(add_entity: AddEntity, write_yaml: WriteYaml, run: Run) -> None:
    add_entity("light.hidden", exposed=False)
    await write_yaml(tool("{{ states[a] | map(attribute='entity_id') | list }}"))
    assert "may not list" in (await run("compute", a="light"))["error"]


@pytest.mark.parametrize("template", [
    "{{ states | map(attribute='entity_id') | list }}",
    "{{ states | selectattr('state', 'eq', a) | map(attribute='entity_id') | list }}",
    "{% for state in states %}{{ state.entity_id }} {% endfor %}",
    "{{ expand(states) | map(attribute='entity_id') | list }}",
    "{{ states | groupby('domain') | string }}",
    "{{ (states | list | random).entity_id }}{{ states | list }}",
])  # fmt: skip
async def test_all_states_exposed_only(add_entity: AddEntity, write_yaml: WriteYaml, run: Run, template: str) -> None:
    add_entity("light.desk", "secret")
    add_entity("light.hidden", "secret", exposed=False)
    await write_yaml(tool(template))
    told = str(await run("compute", a="secret"))
    assert "light.desk" in told
    assert "hidden" not in told


async def test_exposed_states_are_counted(add_entity: AddEntity, write_yaml: WriteYaml, run: Run) -> None:
    add_entity("light.desk", "on")
    add_entity("light.hidden", "on", exposed=False)
    add_entity("light.written", "on", exposed=False)
    template = "{{ states | count }} {{ states | list | count }} {{ states.light | list | count }}"
    await write_yaml(tool(template))
    assert (await run("compute"))["result"] == "1 1 1"
    template = (
        "{{ states | map(attribute='entity_id') | reject('eq', 'light.written') | list }} {{ states.light.desk.state }}"
    )
    await write_yaml(tool(template))
    assert "hidden" not in str(await run("compute"))


@pytest.mark.parametrize("template", [
    "{{ expand(a) | map(attribute='state') | list }}",
    "{{ [a] | map('expand') | list | string }}",
    "{{ states('light.' ~ a) }}",
])  # fmt: skip
async def test_a_refusal_names_nothing_hidden(
    hass: HomeAssistant, add_entity: AddEntity, write_yaml: WriteYaml, run: Run, template: str
) -> None:
    add_entity("light.desk", "on")
    add_entity("light.zorp", "on", exposed=False)
    add_entity("group.both", "on")
    members = {"entity_id": ["light.desk", "light.zorp"]}
    hass.states.async_set("group.both", "on", members)
    await write_yaml(tool(template))
    for given in ("group.both", "zorp"):
        assert "light.zorp" not in str(await run("compute", a=given))
    if "expand" in template:
        assert not (await run("compute", a="group.both"))["success"]
        assert (await run("compute", a="light.desk"))["success"]


LOOKUPS = """
home_agent:
  custom_tools:
    - name: lookup
      description: Looks something up
      parameters: {properties: {about: {type: string}}}
      handler: {type: template, template: "{{ TEMPLATE }}"}
"""


@pytest.mark.parametrize(
    "template",
    ["entity_name(about)", "about | area_name", "device_id(about)", "labels(about)", "[about] | map('area_id') | list"],
)
async def test_registries_hide_the_hidden(hass: HomeAssistant, write_yaml: WriteYaml, run: Run, template: str) -> None:
    await build_house(hass)
    await write_yaml(LOOKUPS.replace("TEMPLATE", template))
    hidden, missing = [await run("lookup", about=name) for name in ("lock.kitchen_door", "lock.zorp")]
    assert str(hidden).replace("kitchen_door", "_") == str(missing).replace("zorp", "_")
    assert not hidden["success"]
    assert (await run("lookup", about="light.bed_light"))["success"]


async def test_a_list_of_an_argument_is_exposed_only(hass: HomeAssistant, write_yaml: WriteYaml, run: Run) -> None:
    await build_house(hass)
    async_expose_entity(hass, ASSISTANT, "light.ceiling_lights", False)
    both = ["light.bed_light", "light.ceiling_lights"]
    await write_yaml(LOOKUPS.replace("TEMPLATE", "area_entities(about) | sort"))
    assert (await run("lookup", about="bedroom"))["result"] == both[:1]
    await write_yaml(LOOKUPS.replace("TEMPLATE", "about | area_entities | select('is_state', 'on') | list"))
    assert (await run("lookup", about="bedroom"))["success"]
    await write_yaml(LOOKUPS.replace("TEMPLATE", "area_entities('bedroom') | sort"))
    assert (await run("lookup"))["result"] == both[:1]
    written = "area_entities('bedroom') | select('in', ['light.bed_light', 'light.ceiling_lights']) | sort"
    await write_yaml(LOOKUPS.replace("TEMPLATE", written))  # the owner's own words
    assert (await run("lookup"))["result"] == both


HUGE = 10**9


@pytest.mark.parametrize(("template", "parameters"), [
    ("{{ a * n }}", {"a": "x", "n": HUGE}),
    ("{{ n * [a] }}", {"a": "x", "n": HUGE}),
    ("{{ a ** (n | int) }}", {"a": 99999, "n": HUGE}),
    ("{{ '%*d' % (n | int, 1) }}", {"n": HUGE}),
    ("{{ a % 1 }}", {"a": f"%{HUGE}d"}),
    ("{{ a | center(n | int) }}", {"a": "x", "n": HUGE}),
    ("{{ a | round(n | int) }}", {"a": 1.5, "n": HUGE}),
    ("{{ a.ljust(n | int) }}", {"a": "x", "n": HUGE}),
    ("{{ a.format(1) }}", {"a": f"{{:{HUGE}}}"}),
    ("{{ a | format(1) }}", {"a": f"%{HUGE}d"}),
    ("{{ a | replace('', a) | length }}", {"a": "x" * 40_000}),
    ("{{ a.replace('x', a) | length }}", {"a": "x" * 40_000}),
    ("{{ a | list | join(a) | length }}", {"a": "x" * 40_000}),
    ("{{ [a, a] | map('list') | first | join(a) | length }}", {"a": "x" * 40_000}),
    ("{{ a.join(a) | length }}", {"a": "x" * 40_000}),
    ("{{ [{'b': a}] * 200 | int }}{{ [{'b': a}] * 200 | map(attribute='b') | join('') }}", {"a": "x" * 40_000}),
    ("{{ a.translate({120: a}) | length }}", {"a": "x" * 40_000}),
    ("{{ a | indent(a) | length }}", {"a": "x\n" * 20_000}),
    ("{{ a | regex_replace('x', a) | length }}", {"a": "x" * 8_000}),
    (
        "{% set n = namespace(x=a) %}{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x | length }}",
        {"a": "x" * 100},
    ),
    (
        "{% set n = namespace(x=a) %}{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x | length }}",
        {"a": "x" * 100},
    ),
    ("{% set x %}{% for i in range(90000) %}{{ a }}{% endfor %}{% endset %}{{ x | length }}", {"a": "x" * 9_000}),
    ("{% for i in range(90000) %}{{ a }}{% endfor %}", {"a": "x" * 9_000}),
])  # fmt: skip
async def test_a_number_of_a_model_makes_nothing_huge(
    hass: HomeAssistant, write_yaml: WriteYaml, run: Run, template: str, parameters: dict[str, Any]
) -> None:
    await write_yaml(tool(template))
    async with asyncio.timeout(20):
        result = await run("compute", **parameters)
    assert result["error"] == "The values make the tool's template compute too much."


@pytest.mark.parametrize(("template", "expected"), [
    ("{{ '-' * 3 ~ 2 ** 10 ~ 7 % 4 }}", "---10243"),
    ("{{ '%s costs %05.1f' | format('100000 apples', 300000) }}", "100000 apples costs 300000.0"),
    ("{{ '{:>4}|{}'.format('a', 300000) ~ 'b'.ljust(3) ~ '%d' % 300000 }}", "   a|300000b  300000"),
    ("{{ 300000.456 | round(1) }}", 300000.5),
    ("{{ 'a' | center(5) ~ [1, 2, 3] | batch(2) | list }}", "  a  [[1, 2], [3]]"),
    ("{{ states('sensor.nothing') ~ '!' }}", "unknown!"),
    ("{{ 'a-b' | replace('-', '') ~ 'a.b.c'.replace('.', ' ', 1) ~ 'x'.join(['1', '2']) }}", "aba b.c1x2"),
    ("{{ [{'a': 1}, {'a': 2}] | map(attribute='a') | join(', ') ~ [{'a': 3}] | join('', attribute='a') }}", "1, 23"),
    ("{{ [1] + [2] }}", [1, 2]),
    ("{{ 'a1b22' | regex_replace('[0-9]+', '#') ~ ('a1' is match('[a-z]')) }}", "a#b#True"),
    ("{{ 'a1b22' | regex_findall('[0-9]+') }}", ["1", "22"]),
])  # fmt: skip
@pytest.mark.usefixtures("hass")
async def test_ordinary_calculations(write_yaml: WriteYaml, run: Run, template: str, expected: object) -> None:
    await write_yaml(tool(template))
    assert (await run("compute"))["result"] == expected


@pytest.mark.parametrize(("template", "value"), [
    ("{{ a | regex_match('^(a+)+$') }}", "a" * 40 + "!"),
    ("{{ a | regex_search('(x+x+)+y') }}", "x" * 40),
    ("{{ a is search('(.*)=(.*);(.*)$') }}", "=" * 10_000),
    ("{{ a is match('^([a-z]+ ?)*$') }}", "a" * 40 + "!"),
    ("{{ a | regex_findall('<title>(.*?)</title>') }}", "<title>" * 20_000),
    ("{{ [a] | select('search', '([a-z]+)@') | list }}", "a" * 100_000),
    ("{{ a | regex_replace(find='(a|a)*b', replace='') }}", "a" * 40),
    ("{{ a | regex_findall_index('(a*)*b') }}", "a" * 40),
])  # fmt: skip
async def test_a_slow_pattern_is_not_compared(write_yaml: WriteYaml, run: Run, template: str, value: str) -> None:
    await write_yaml(tool(template))
    began = time.perf_counter()
    result = await run("compute", a=value)
    assert time.perf_counter() - began < 2
    assert "too long for its pattern" in result["error"]


PATTERNS = """
home_agent:
  custom_tools:
    - name: compute
      description: Computes.
      parameters:
        $defs: {id: {type: string, pattern: "^[a-z]+@[a-z]+$"}}
        properties:
          a: {type: string, pattern: "(.*)=(.*);(.*)$"}
          b: {type: array, items: {type: string, pattern: "[a-z]+@"}}
          c: {$ref: "#/$defs/id"}
          d: {type: string}
      handler: {type: template, template: "fine"}
"""


@pytest.mark.parametrize("given", [{"a": "=" * 100_000}, {"b": ["x", "a" * 100_000]}, {"c": "a" * 100_000}])
async def test_a_slow_parameter_pattern_is_not_compared(write_yaml: WriteYaml, run: Run, given: dict[str, Any]) -> None:
    await write_yaml(PATTERNS)
    began = time.perf_counter()
    result = await run("compute", **given)
    assert time.perf_counter() - began < 2
    assert "too long for its pattern" in result["error"]
    assert (await run("compute", a="x=y;z", b=["a@"], c="a@b"))["success"]
