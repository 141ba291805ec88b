"""A week is played through Home Assistant's engine and judged to the second; and one run of each kind, with a home of a room."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scripts.evaluation.automations.clock import Clock, ClockLoop, RanAwayError, frozen
from scripts.evaluation.automations.judge import compare
from scripts.evaluation.automations.rows import names
from scripts.evaluation.automations.week import Call, moment_of

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv" / "bin" / "python"
"""What scripts/eval runs with, whichever release the tests run on."""
BEGIN = datetime(2026, 11, 30, tzinfo=UTC)
AT = "2026-11-30T07:05:00"
ON = {"at": AT, "action": "light.turn_on", "entity_id": ["light.hall", "light.attic"]}


def call(at: str = AT, action: str = "light.turn_on", *entity_ids: str) -> Call:
    return Call(at=moment_of(at) + timedelta(milliseconds=300), action=action, entity_ids=entity_ids)


BOTH = call(AT, "light.turn_on", "light.attic", "light.hall")


@pytest.mark.parametrize(("expected", "calls", "missing", "extra"), [
    pytest.param([ON], [BOTH], 0, 0, id="the same second"),
    pytest.param([ON], [call("2026-11-30T07:05:01", "light.turn_on", "light.attic", "light.hall")], 1, 1, id="a second later"),
    pytest.param([ON], [call(AT, "light.turn_off", "light.attic", "light.hall")], 1, 1, id="the contrary"),
    pytest.param([ON], [call(AT, "light.turn_on", "light.hall")], 1, 1, id="one entity less"),
    pytest.param([ON], [], 1, 0, id="nothing"),
    pytest.param([ON], [BOTH, BOTH], 0, 1, id="twice"),
    pytest.param([{**ON, "at": "2026-11-30T07:09:00", "about": True}], [BOTH], 0, 0, id="about"),
    pytest.param([{**ON, "at": "2026-11-30T07:11:00", "about": True}], [BOTH], 1, 1, id="not even about"),
    pytest.param(
        [{**ON, "action": "homeassistant.turn_on", "entity_id": ["light.hall", "switch.pump"]}],
        [
            call(AT, "homeassistant.turn_on", "light.hall", "switch.pump"), call(AT, "light.turn_on", "light.hall"),
            call(AT, "switch.turn_on", "switch.pump"),
        ], 0, 0, id="of all domains",
    ),
])  # fmt: skip
def test_actions_are_compared_to_the_second(
    expected: Sequence[Mapping[str, Any]], calls: Sequence[Call], missing: int, extra: int
) -> None:
    found = compare(expected, calls)
    assert (len(found.missing), len(found.extra)) == (missing, extra)


@pytest.mark.parametrize(("sentence", "wrong", "found"), [
    pytest.param("actions[0]: there is no 'light.hal'. Near: light.hall.", "light.hal", True, id="an id"),
    pytest.param('Unknown filter "rond".', "{{ 1 | rond }}", False, id="another phrase"),
    pytest.param('brightness_pct: 300 is more than 100', 300, True, id="a number"),
    pytest.param("states(\\'sensor.x\\')  is unknown", 'states("sensor.x")', True, id="any quotes"),
    pytest.param("The state ' Opened ' is none of it", "opened", True, id="capitals do not count"),
])  # fmt: skip
def test_a_sentence_names_what_is_wrong(sentence: str, wrong: object, found: bool) -> None:
    assert names(sentence, wrong) is found


async def _a_week(day: Any, loop: ClockLoop) -> list[datetime]:
    noted: list[datetime] = []
    clock = Clock(day, loop)

    def note() -> None:
        noted.append(clock.now.replace(microsecond=0))
        if len(noted) < 3:
            loop.call_later(86_400, note)

    loop.call_later(3_600, note)
    await clock.async_until(BEGIN + timedelta(days=7))
    noted.append(clock.now.replace(microsecond=0))
    clock.release()
    return noted


def test_each_timer_has_its_own_moment_and_a_week_takes_none() -> None:
    with frozen(BEGIN) as day, asyncio.Runner(loop_factory=ClockLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, ClockLoop)
        noted = runner.run(_a_week(day, loop))
    hours = [round((moment - BEGIN).total_seconds() / 3_600) for moment in noted]
    assert hours == [1, 25, 49, 168]


async def _endless(day: Any, loop: ClockLoop) -> None:
    def again() -> None:
        loop.call_soon(again)

    clock = Clock(day, loop)
    loop.call_soon(again)
    try:
        await clock.async_until(BEGIN + timedelta(days=7))
    finally:
        clock.release()


def test_what_never_comes_to_rest_is_noticed() -> None:
    with frozen(BEGIN) as day, asyncio.Runner(loop_factory=ClockLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, ClockLoop)
        with pytest.raises(RanAwayError):
            runner.run(_endless(day, loop))
