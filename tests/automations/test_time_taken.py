"""What a model asks for does not hold Home Assistant up, whoever speaks: no yes is given and no rights are needed."""

import asyncio
from collections.abc import Awaitable
import time
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from tests.automations.home import Talk, results
from tests.automations.test_changes import file, talk  # noqa: F401
from tests.house import person
from tests.llm_server import LLMServer

pytestmark = pytest.mark.usefixtures("demo_house")
MOST_SECONDS = 0.3
LIGHT = {"action": "light.turn_on", "target": {"entity_id": "light.bed_light"}}
TIME = {"trigger": "time", "at": "07:00:00"}
STATE = {"condition": "state", "entity_id": "light.bed_light", "state": "on"}
SUM = " + ".join(["a"] * 55)
SLOW = "{% for a in range(999) %}{% for b in range(999) %}{{ a * b }}{% endfor %}{% endfor %}"
PATTERN = "{{ 'aaaaaaaaaaaaaaaaaaaaaaaa!' is search('(a|aa)+$') }}"


def automation(**parts: Any) -> dict[str, Any]:
    return {"name": "Test", "triggers": [TIME], "actions": [LIGHT], **parts}


def template(text: str) -> dict[str, Any]:
    return automation(actions=[{"action": "persistent_notification.create", "data": {"message": text}}])


def condition(text: str) -> dict[str, Any]:
    return automation(conditions=[text])


HUGE: dict[str, dict[str, Any]] = {
    "many template conditions": automation(conditions=[f"{{{{ is_state('light.bed_light', 'on') and {n} }}}}" for n in range(480)]),
    "many sums": automation(conditions=[f"{{{{ {SUM} > {n} }}}}" for n in range(100)]),
    "many state conditions": automation(conditions=[STATE] * 480),
    "a long template": template("{{ 1 }}" * 7000),
    "a long expression": template("{{ " + " + ".join(["1"] * 12_000) + " }}"),
    "a long text": template("{{ " + " ~ ".join(["'a'"] * 8000) + " }}"),
    "brackets in brackets": template("{{ " + "[" * 900 + "]" * 900 + " }}"),
    "a pattern": condition(PATTERN),
    "a pattern in what enables a trigger": automation(triggers=[{**TIME, "enabled": PATTERN}]),
    "a pattern in a target": automation(actions=[{"action": "light.turn_on", "target": {"entity_id": PATTERN}}]),
    "a pattern in variables": automation(variables={"x": PATTERN}),
    "a pattern in variables of triggers": automation(trigger_variables={"x": PATTERN}),
    "a pattern on a state": condition("{{ (states('light.bed_light') ~ 'aaaaaaaaaaaaaaaaaaaaaaaa!') is search('(a+)+$') }}"),
    "loops in a condition": condition(SLOW),
    "loops in what enables a condition": automation(conditions=[{**STATE, "enabled": SLOW}]),
    "YAML": {"config": "name: Test\ntriggers: []\nactions:\n" + "- delay: 1\n" * 4000},
    "YAML with many keys": {"config": "".join(f"k{number}: 1\n" for number in range(5000))},
    "YAML of brackets": {"config": "[" * 20_000},
    "YAML of braces": {"config": "{a: " * 8_000},
    "YAML of signs": {"config": '"' + "\\x41" * 12_000},
    "YAML in a part": {"name": "Test", "triggers": [TIME], "actions": "[" * 20_000},
    "a base in a row": template("{{ 'aaaaaaaaaa'" + " | base64_encode" * 56 + " | length }}"),
}  # fmt: skip


async def longest_gap(doing: Awaitable[Any]) -> tuple[float, Any]:
    """Return for how long nothing else was done at once, in seconds of the processor, and the result."""
    longest, is_over = 0.0, False

    async def beat() -> None:
        nonlocal longest
        last = time.thread_time()
        while not is_over:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest = max(longest, now - last)
            last = now

    beating = asyncio.ensure_future(beat())
    await asyncio.sleep(0)
    try:
        result = await asyncio.wait_for(asyncio.ensure_future(doing), 60)
    finally:
        is_over = True
        await beating
    return longest, result


@pytest.mark.parametrize("wanted", HUGE.values(), ids=HUGE)
@pytest.mark.usefixtures("no_collection")
async def test_home_assistant_goes_on_meanwhile(talk: Talk, wanted: dict[str, Any]) -> None:  # noqa: F811
    await talk.ask(("create_automation", automation(name="Warm")))
    await talk.say("no")
    talk.conversation_id = None
    longest, _ = await longest_gap(talk.ask(("create_automation", wanted), words="Make one of these"))
    assert longest < MOST_SECONDS


@pytest.mark.parametrize("tool", ["create_automation", "test_event_listener", "execute_script"])
@pytest.mark.usefixtures("no_collection")
async def test_a_member_does_not_hold_it_up(
    hass: HomeAssistant,
    talk: Talk,  # noqa: F811
    llm_server: LLMServer,
    tool: str,
) -> None:
    anna = Talk(hass, llm_server, person(hass, "Anna"))
    longest, _ = await longest_gap(anna.ask((tool, HUGE["a pattern"]), words="Make one of these"))
    assert longest < MOST_SECONDS
    told = results(llm_server)[-1]
    assert "regular expression" in told
