"""A template that could stop Home Assistant is refused before it is compiled; what people write is not."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers.template import Template
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.automations.template_costs import check_costs
from custom_components.home_agent.automations.told import _async_is_true as async_is_true
from custom_components.home_agent.support.errors import ToolRefusal

TOO_MUCH = [
    "{{ 'x' * 10**9 }}",
    "{{ 10**9 * 'x' }}",
    "{{ 'x' * 1000000000 }}",
    "{{ ('x' * 9999) * 99999 }}",
    "{% set a = 'x' * 10000 %}{% set b = a * 10000 %}{% set c = b * 10000 %}{{ c }}",
    "{% set n = 1000000000 %}{{ 'x' * n }}",
    "{{ [1] * 10**8 * 10 }}",
    "{{ 9 ** 9 ** 9 }}",
    "{{ 2 ** states('sensor.a') | int }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% endfor %}",
    "{% for i in range(500) %}{% for j in range(500) %}{% for k in range(500) %}{% endfor %}{% endfor %}{% endfor %}",
    "{% for i in x recursive %}{{ loop(x) }}{% endfor %}",
    "{{ '%999999999d' | format(1) }}",
    "{{ '{:>999999999}'.format(1) }}",
    "{{ 'x' | center(999999999) }}",
    "{{ 'x'.ljust(999999999) }}",
]
FINE = [
    "{{ states('sensor.a') | float(0) * 1.8 + 32 }}",
    "{{ (states('sensor.a') | float(0)) * 60 * 60 * 24 * 7 }}",
    "{{ as_timestamp(now()) > 1700000000 }}",
    "{{ '-' * 20 }}",
    "{{ states('sensor.a') | float(0) ** 2 }}",
    "{{ 2 ** 10 }}",
    "{% for one in trigger.to_state.attributes.list %}{{ one }}{% endfor %}",
    "{% for i in range(100) %}{% for j in range(100) %}{{ i * j }}{% endfor %}{% endfor %}",
    "{{ '%.1f' | format(states('sensor.a') | float(0)) }}",
    "{{ '{:02d}:{:02d}'.format(7, 5) }}",
    "{{ states('sensor.a') | float(0) * states('sensor.b') | float(0) }}",
    "{{ states('sensor.watt') | float(0) / 1000 * 0.32 }}",
    "no template",
    "{% broken",
]


@pytest.mark.parametrize("template", TOO_MUCH)
def test_what_may_take_too_much_is_refused(template: str) -> None:
    with pytest.raises(ToolRefusal, match="more time and memory"):
        check_costs({"actions": [{"data": {"message": template}}]})


@pytest.mark.parametrize("template", FINE)
def test_what_people_write_is_taken(template: str) -> None:
    check_costs({"conditions": [template]})


async def test_it_is_refused_before_home_assistant_compiles_it(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "automation", {})
    config = {"alias": "A", "triggers": [{"trigger": "template", "value_template": "{{ 'x' * 10**9 }}"}], "actions": []}
    with pytest.raises(ToolRefusal, match="more time and memory"):
        await async_draft(hass, config)


GROWS = {
    "a base in a row": "{{ 'aaaaaaaaaa'" + " | base64_encode" * 56 + " | length }}",
    "replaced in a row": "{{ 'aaaaaaaaaa'" + " | replace('a', 'aaaaaaaaaa')" * 7 + " | length }}",
    "replaced by a method": "{{ 'aaaaaaaaaa'" + ".replace('a', 'aaaaaaaaaa')" * 7 + " }}",
    "replaced by a pattern": "{{ 'aaaaaaaaaa'" + " | regex_replace('a', 'aaaaaaaaaa')" * 7 + " }}",
    "replaced by map": "{{ ['aaaaaaaaaa']" + " | map('replace', 'a', 'aaaaaaaaaa')" * 7 + " | list }}",
    "joined in a row": "{{ 'aaaaaaaaaa'" + " | list | join('aaaaaaaaaa')" * 7 + " }}",
    "joined by a method": "{{ 'aaaaaaaaaa'.join('aaaaaaaaaa'" + ".join('aaaaaaaaaa'" * 7 + ")" * 8 + " }}",
    "indented in a row": "{{ '\n\n\n'" + " | indent(999, true, true)" * 4 + " }}",
    "written as JSON in a row": "{{ '\"\"'" + " | to_json" * 30 + " }}",
    "lists in texts": "{{ " + "[" * 30 + "'\\\\'" + "] | string" * 30 + " }}",
    "doubled sets": "{% set a = 'xxxxxxxxxx' %}" + "{% set a = a ~ a %}" * 40,
    "doubled lists": "{% set a = [1] %}" + "{% set a = a + a %}" * 40,
    "doubled blocks": "{% set a %}xxxxxxxxxx{% endset %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 40,
    "a filter around a text": "{% filter replace('a', 'aaaaaaaaaa') %}" * 7 + "a" + "{% endfilter %}" * 7,
    "squared numbers": "{% set a = 1000 %}" + "{% set a = a * a %}" * 40,
    "doubled in a loop": "{% set ns = namespace(a='x') %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}",
    "doubled under another name": "{% set ns = namespace(a='x') %}{% set b = ns %}{% for i in range(60) %}{% set b.a = b['a'] ~ ns.a %}{% endfor %}",
    "repeated by names": "{% set n = 999999 %}{% set t = 'x' %}{{ t * n * n }}",
    "many digits": "{{ 1.5 | round(999999999) }}",
    "a list that is read": "{{ '[1]' | from_json * 99999999 }}",
    "a list of a light": "{{ state_attr('light.a', 'effect_list') * 99999999 }}",
    "a list of a light by steps": "{{ state_attr('light.a', 'effect_list') * 9999 * 9999 }}",
    "a format that is worked out": "{{ ('%9' ~ '99999999d') % 1 }}",
    "a width that is given": "{{ '%*d' | format(999999999, 1) }}",
    "a width inside": "{{ '{:{}}'.format(1, 999999999) }}",
    "a format of bytes": "{{ 1 | pack('999999999xB') }}",
    "bytes of a number": "{{ (1).to_bytes(999999999, 'big') }}",
    "tabs": "{{ '\t'.expandtabs(999999999) }}",
    "words": "{{ lipsum(100000) }}",
    "a macro that calls itself": "{% macro a(n) %}{% if n > 0 %}{{ a(n - 1) }}{{ a(n - 1) }}{% endif %}{% endmacro %}{{ a(25) }}",
    "a macro that is given itself": "{% macro a(f, n) %}{% if n > 0 %}{{ f(f, n - 1) }}{{ f(f, n - 1) }}{% endif %}{% endmacro %}{{ a(a, 25) }}",
    "macros in macros": "{% macro a0() %}x{% endmacro %}"
    + "".join(f"{{% macro a{n + 1}() %}}{{{{ a{n}() }}}}{{{{ a{n}() }}}}{{% endmacro %}}" for n in range(30))
    + "{{ a30() }}",
    "loops one after another": "{% for a in range(900) %}{% for b in range(900) %}{% endfor %}{% endfor %}" * 5,
    "sorted in a loop": "{% for a in range(30) %}{{ range(99999) | shuffle | sort | length }}{% endfor %}",
    "brackets in brackets": "{{ " + "[" * 900 + "]" * 900 + " }}",
    "a long sum": "{{ " + " + ".join(["1"] * 3000) + " }}",
    "a long text": "{{ 1 }}" * 4000,
}
PATTERNS = {
    "repeated in what is repeated": "{{ 'aaaaaaaaaaaaaaaaaaaaaaaa!' is match('(a+)+$') }}",
    "a choice in what is repeated": "{{ 'aaaaaaaaaaaaaaaaaaaaaaaa!' is search('(a|aa)+$') }}",
    "many choices": "{{ 'aaaaaaaaaaaaaaaaaaaaaaaa!' is match('" + "(|a)" * 24 + "b') }}",
    "many that may be missing": "{{ 'aaaaaaaaaaaaaaaaaaaaaaaa!' | regex_match('" + "a?" * 30 + "b') }}",
    "many repeats": "{{ states('sensor.a') is search('a*a*a*a*b') }}",
    "a long text": "{{ ('a' * 9000) is search('a*a*b') }}",
    "a reference back": r"{{ 'aaaa' is match('(a*)\\1b') }}",
    "a long pattern": "{{ 'a' | regex_replace('" + "a" * 101 + "', '') }}",
    "of a state": "{{ 'aaaa' is match(states('sensor.a')) }}",
    "worked out": "{% set a = 'a' * 3 %}{{ 'aaaa' is match(a) }}",
    "joined": "{{ 'aaaaaaaaaaaaaaaaaaaaaaaa!' is match('(a' ~ '+)+$') }}",
    "by another argument": "{{ 'aaaaaaaaaaaaaaaaaaaaaaaa!' | regex_findall(find='(a+)+$') }}",
    "an index": "{{ 'aaaaaaaaaaaaaaaaaaaaaaaa!' | regex_findall_index('(a+)+$') }}",
    "selected": "{{ ['aaaaaaaaaaaaaaaaaaaaaaaa!'] | select('match', '(a+)+$') | list }}",
    "selected by an attribute": "{{ x | rejectattr('name', 'search', '(a+)+$') | list }}",
    "mapped": "{{ ['aaaaaaaaaaaaaaaaaaaaaaaa!'] | map('regex_replace', '(a+)+$', '') | list }}",
    "by a name that is worked out": "{{ ['aaaaaaaaaaaaaaaaaaaaaaaa!'] | select('mat' ~ 'ch', '(a+)+$') | list }}",
    "in a macro": "{% macro a(p) %}{{ 'aaaa' is match(p) }}{% endmacro %}{{ a('(a+)+$') }}",
}
EVERYDAY = [
    "{{ x | regex_match('^Living') }}",
    "{{ trigger.to_state.state is match('on|off') }}",
    "{{ states('sensor.a') is search('^(light|switch).*(on|off)$') }}",
    "{{ states('sensor.a') is search('.*(on|off).*') }}",
    "{{ x | selectattr('entity_id', 'search', '^light.(a|b)') | list | count }}",
    "{% set pattern = '^a.*b$' %}{{ states('sensor.a') is search(pattern) }}",
    "{{ states('sensor.a') | regex_findall_index('([0-9]+)') | int }}",
    "{{ states('sensor.a') | regex_replace('[^0-9.]', '') | float(0) }}",
    r"{{ ['a', 'b'] | map('regex_replace', '^(.*)$', 'x\\1') | join(', ') }}",
    "{% set ns = namespace(n=0) %}{% for one in trigger.a.b %}{% set ns.n = ns.n + one.size | int %}{% endfor %}{{ ns.n }}",
    "{% set ns = namespace(t='') %}{% for one in x %}{% set ns.t = ns.t ~ one ~ ', ' %}{% endfor %}{{ ns.t[:-2] }}",
    "{% set ns = namespace(l=[]) %}{% for one in x %}{% set ns.l = ns.l + [one.name] %}{% endfor %}{{ ns.l | join(', ') }}",
    "{% macro degrees(value) %}{{ value | round(1) }} °C{% endmacro %}{{ degrees(states('sensor.a') | float(0)) }}",
    "{% for i in range(24) %}{{ states('sensor.p_' ~ i) }}{% endfor %}",
    "{% for i in range(states('sensor.a') | int) %}{{ i }}: {{ state_attr('sensor.b', 'list')[i] }}\n{% endfor %}",
    "{{ now().strftime('%d.%m.%Y') }}, {{ as_timestamp(now()) | timestamp_custom('%H:%M') }}",
    "{{ '%02d:%02d' % (hours, minutes) }}",
    "{{ trigger.event.data | to_json }}",
    "{{ state_attr('sensor.a', 'watts') * 60 * 60 }}, {{ trigger.to_state.attributes.a * 0.01 }}",
    "{{ (state_attr('light.a', 'brightness') / 255 * 100) | round(0) }} %",
    "{{ states('sensor.a') | replace('_', ' ') | title | trim | urlencode }}",
]


@pytest.mark.parametrize("template", GROWS.values(), ids=GROWS)
def test_what_grows_with_each_step_is_refused(template: str) -> None:
    with pytest.raises(ToolRefusal, match=r"more time and memory|too long"):
        check_costs({"variables": {"a": template}})


@pytest.mark.parametrize("template", PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_that_may_take_long_is_refused(template: str) -> None:
    with pytest.raises(ToolRefusal, match="regular expression"):
        check_costs([template])


@pytest.mark.parametrize("template", EVERYDAY)
def test_everyday_templates_are_taken(template: str) -> None:
    check_costs({"conditions": [template]})


def test_loops_in_loops_are_not_looked_at_to_the_end() -> None:
    """Each of them makes the look four times as long, however short they are."""
    with pytest.raises(ToolRefusal, match="too many steps"):
        check_costs({"conditions": ["{% for a in [1] %}" * 9 + "{% endfor %}" * 9]})


def test_many_templates_count_together() -> None:
    loop = "{% for a in range(300) %}{% for b in range(300) %}{{ a }}{% endfor %}{% endfor %}"
    check_costs({"conditions": [loop]})
    with pytest.raises(ToolRefusal, match="together"):
        check_costs({"conditions": [loop] * 9})


def test_very_many_short_templates_are_refused() -> None:
    """Each takes no time, and compiling all of them does."""
    check_costs({"conditions": ["{{ 1 }}"] * 300})
    with pytest.raises(ToolRefusal, match="together"):
        check_costs({"conditions": ["{{ 1 }}"] * 480})


async def test_what_takes_a_while_is_not_rendered_for_a_question(hass: HomeAssistant) -> None:
    slow = "{% for a in range(300) %}{% for b in range(300) %}{{ a }}{% endfor %}{% endfor %}"
    assert (
        await async_is_true(hass, {"condition": "template", "value_template": Template("{{ 1 == 1 }}", hass)}) is True
    )
    assert await async_is_true(hass, {"condition": "template", "value_template": Template(slow, hass)}) is None
    always = {"condition": "state", "entity_id": "light.a", "state": "on", "enabled": Template(slow, hass)}
    assert await async_is_true(hass, always) is None
