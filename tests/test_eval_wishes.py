"""What is said for later is judged by what waits; and one run with a home of a room, of wishes and of the time guard."""

from collections.abc import Mapping, Sequence
from datetime import datetime
import json
import os
from pathlib import Path
import subprocess
from typing import Any

from homeassistant.core import State
import pytest

from custom_components.home_agent.wishes.when import SunEvent, Watch, When
from custom_components.home_agent.wishes.wish import Step, Wish, WishKind
from scripts.evaluation.wishes import Outcome, judge, judge_guard, judge_plan
from scripts.evaluation.wishes.judge import Scene, Turn
from scripts.evaluation.wishes.run import LATITUDE, LONGITUDE, NOW, ZONE

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv" / "bin" / "python"
"""What scripts/eval runs with, whichever release the tests run on."""
STATES = {
    "light.mirror": "on", "switch.pump": "off", "binary_sensor.oven": "on", "binary_sensor.hatch": "on", "sensor.attic": "19",
    "person.tom": "home", "person.ida": "not_home",
}  # fmt: skip
SCENE = Scene(
    states={key: State(key, value) for key, value in STATES.items()},
    now=NOW,
    zone=ZONE,
    latitude=LATITUDE,
    longitude=LONGITUDE,
)
BOTH = ("person.tom", "person.ida")
OFF = {"kind": "action", "targets": ["light.mirror"], "service": "turn_off"}


def at(local: str, **fields: Any) -> When:
    return When(at=datetime.fromisoformat(local).replace(tzinfo=ZONE), **fields)


def becomes(*entity_ids: str, delay: int = 0, conditions: tuple[Watch, ...] = (), **watch: Any) -> When:
    return When(event=Watch(entity_ids=entity_ids, **watch), delay=delay, conditions=conditions)


def wish(when: When, kind: WishKind = WishKind.ACTION, service: str = "turn_off", **fields: Any) -> Wish:
    target = fields.pop("target", "light.mirror")
    step = Step(effects=({"service": service, "data": {}},), targets=(target,))
    steps = (step,) if kind is WishKind.ACTION else ()
    return Wish(id="1", kind=kind, words="", steps=steps, when=when, made=NOW, agent_id="a", language="en", **fields)


@pytest.mark.parametrize(("expected", "when", "outcome"), [
    pytest.param({"at": "2026-11-24T19:00"}, at("2026-11-24T19:00"), Outcome.UNDERSTOOD, id="the minute"),
    pytest.param({"at": "2026-11-24T19:00"}, at("2026-11-24T19:01"), Outcome.WRONG_TIME, id="another minute"),
    pytest.param({"at": "2026-11-24T19:00"}, at("2026-11-25T07:00"), Outcome.WRONG_TIME, id="another half of the day"),
    pytest.param(
        {"sun": "sunrise", "offset": -1800}, at("2026-11-25T07:15:19", sun=SunEvent.SUNRISE, offset=-1800),
        Outcome.UNDERSTOOD, id="before the sun",
    ),
    pytest.param(
        {"sun": "sunset", "offset": 0, "day": "2026-11-26"}, at("2026-11-25T15:58", sun=SunEvent.SUNSET),
        Outcome.WRONG_TIME, id="the sun of another day",
    ),
    pytest.param(
        {"event": ["binary_sensor.oven"], "to": "off"}, becomes("binary_sensor.oven", states=("on",), negated=True),
        Outcome.UNDERSTOOD, id="not on is off",
    ),
    pytest.param(
        {"event": ["binary_sensor.oven"], "to": "off"}, becomes("binary_sensor.hatch", states=("off",)),
        Outcome.WRONG_TIME, id="the event of another",
    ),
    pytest.param(
        {"event": ["binary_sensor.oven"], "to": "off", "delay": 600}, becomes("binary_sensor.oven", states=("off",)),
        Outcome.WRONG_TIME, id="at once instead of later",
    ),
    pytest.param(
        {"event": ["sensor.attic"], "above": 25}, becomes("sensor.attic", above=25.0), Outcome.UNDERSTOOD, id="a bound",
    ),
    pytest.param(
        {"event": ["sensor.attic"], "above": 25}, becomes("sensor.attic", above=24.0), Outcome.WRONG_TIME,
        id="another bound",
    ),
    pytest.param(
        {"event": [*BOTH], "to": "not_home", "if": [[one, "not_home"] for one in BOTH]},
        becomes(*BOTH, states=("home",), negated=True), Outcome.UNDERSTOOD, id="the last one leaves",
    ),
    pytest.param(
        {"event": [*BOTH], "to": "home"}, becomes(*BOTH, states=("home",), each=True), Outcome.UNDERSTOOD,
        id="anyone comes home",
    ),
    pytest.param(
        {"event": [*BOTH], "to": "home"}, becomes(*BOTH, states=("home",)), Outcome.WRONG_TIME,
        id="anyone, but not while another one is there",
    ),
    pytest.param(
        {"event": [*BOTH], "to": "home"}, becomes(*BOTH, states=("home",), every=True), Outcome.PARTLY,
        id="all of them instead of any",
    ),
    pytest.param(
        {"at": "2026-11-24T18:20", "if": [["binary_sensor.hatch", "on"]]},
        at("2026-11-24T18:20", conditions=(Watch(entity_ids=("binary_sensor.hatch",), states=("on",)),)),
        Outcome.UNDERSTOOD, id="a condition",
    ),
    pytest.param(
        {"event": ["binary_sensor.hatch"], "to": "on", "delay": 600},
        at("2026-11-24T18:20", conditions=(Watch(entity_ids=("binary_sensor.hatch",), states=("on",)),)),
        Outcome.UNDERSTOOD, id="still so then",
    ),
    pytest.param(
        {"at": "2026-11-24T22:00", "if": [["sensor.attic", "<18"]]}, at("2026-11-24T22:00"), Outcome.WRONG_TIME,
        id="a condition that was lost",
    ),
])  # fmt: skip
def test_when_is_compared_by_what_it_comes_to(expected: Mapping[str, Any], when: When, outcome: Outcome) -> None:
    assert judge({**OFF, "when": expected}, [wish(when)], {}, SCENE).outcome is outcome


WHEN = {"at": "2026-11-24T19:00"}
THEN = at("2026-11-24T19:00")


@pytest.mark.parametrize(("expected", "wishes", "done", "outcome"), [
    pytest.param(OFF, [], {}, Outcome.NOT_UNDERSTOOD, id="nothing waits"),
    pytest.param(OFF, [wish(THEN)], {"light.mirror": ["turn_off"]}, Outcome.ACTED, id="it waits and was done at once"),
    pytest.param(OFF, [wish(THEN, target="switch.pump")], {}, Outcome.WRONG_TARGET, id="another target"),
    pytest.param(OFF, [wish(THEN, service="turn_on")], {}, Outcome.WRONG_TARGET, id="the contrary"),
    pytest.param(OFF, [wish(THEN), wish(THEN, target="switch.pump")], {}, Outcome.WRONG_TARGET, id="one more"),
    pytest.param(OFF, [wish(THEN, WishKind.REMINDER)], {}, Outcome.WRONG_KIND, id="only a reminder"),
    pytest.param(OFF, [wish(THEN), wish(THEN, WishKind.REMINDER)], {}, Outcome.PARTLY, id="a reminder besides"),
    pytest.param({"kind": "wake"}, [wish(THEN, WishKind.REMINDER)], {}, Outcome.PARTLY, id="told in another way"),
    pytest.param({"kind": "question"}, [wish(THEN, WishKind.TELL)], {}, Outcome.WRONG_KIND, id="told, not asked"),
    pytest.param(
        {**OFF, "now": ["switch.pump"], "targets": ["switch.pump"]}, [wish(THEN, target="switch.pump")],
        {"switch.pump": ["turn_on"]}, Outcome.UNDERSTOOD, id="on now, off then",
    ),
    pytest.param(
        {**OFF, "now": ["switch.pump"], "targets": ["switch.pump"]}, [wish(THEN, target="switch.pump")], {},
        Outcome.WRONG_TARGET, id="not on now",
    ),
    pytest.param(
        {**OFF, "now": ["light.mirror"]}, [wish(THEN)], {}, Outcome.UNDERSTOOD, id="on already",
    ),
    pytest.param(
        {**OFF, "now": ["switch.pump"], "targets": ["switch.pump"]}, [], {"switch.pump": ["turn_on"]},
        Outcome.WRONG_TIME, id="on now, and no end",
    ),
])  # fmt: skip
def test_kind_targets_and_what_was_done_are_compared(
    expected: Mapping[str, Any], wishes: Sequence[Wish], done: Mapping[str, Sequence[str]], outcome: Outcome
) -> None:
    assert judge({**expected, "when": WHEN}, wishes, done, SCENE).outcome is outcome


@pytest.mark.parametrize(("wishes", "declined", "outcome"), [
    pytest.param([wish(THEN)], False, Outcome.UNDERSTOOD, id="as it should be"),
    pytest.param([wish(at("2026-11-24T20:00"))], False, Outcome.WRONG_TIME, id="another time"),
    pytest.param([wish(at("2026-11-24T20:00"))], True, Outcome.NOT_UNDERSTOOD, id="another time, and that was said"),
    pytest.param([wish(THEN), wish(THEN, WishKind.TIMER)], False, Outcome.LEFT_OVER, id="one more"),
    pytest.param([], False, Outcome.MISSING, id="none"),
])  # fmt: skip
def test_after_several_turns_just_that_waits(wishes: Sequence[Wish], declined: bool, outcome: Outcome) -> None:
    turns = [Turn(answer="All right.", declined=False), Turn(answer="I can't do that.", declined=declined)]
    assert judge_plan({"after": [{**OFF, "when": WHEN}]}, wishes, {}, turns, SCENE).outcome is outcome


@pytest.mark.parametrize(("ended", "outcome"), [
    pytest.param(("light.mirror",), Outcome.UNDERSTOOD, id="for a while"), pytest.param((), Outcome.ACTED, id="at once"),
])  # fmt: skip
def test_in_several_turns_something_may_be_done_for_a_while(ended: Sequence[str], outcome: Outcome) -> None:
    turn = Turn(answer="Turned on the light.", declined=False, ended=ended)
    row = {"after": [{**OFF, "when": WHEN}]}
    assert judge_plan(row, [wish(THEN)], {"light.mirror": ["turn_on"]}, [turn], SCENE).outcome is outcome


def test_a_question_back_may_be_wanted() -> None:
    row = {"after": [], "asks": True}
    turns = [Turn(answer=answer, declined=False) for answer in ("Which one? The lamp, the pump.", "All right.")]
    outcomes = [judge_plan(row, [], {}, [turn], SCENE).outcome for turn in turns]
    assert outcomes == [Outcome.UNDERSTOOD, Outcome.NOT_ASKED]


@pytest.mark.parametrize(("row", "done", "outcome"), [
    pytest.param({}, {}, Outcome.LEFT_ALONE, id="for later, left alone"),
    pytest.param({}, {"switch.pump": ["turn_on"]}, Outcome.ACTED, id="for later, something was done"),
    pytest.param({"now": True}, {"light.mirror": ["turn_off"]}, Outcome.DONE, id="for now, done"),
    pytest.param({"now": True}, {"light.mirror": ["turn_on"]}, Outcome.NOT_DONE, id="for now, the contrary was done"),
])  # fmt: skip
def test_the_guard_is_judged_by_what_was_done(
    row: Mapping[str, Any], done: Mapping[str, Sequence[str]], outcome: Outcome
) -> None:
    call = {"service": "light.turn_off", "entity_id": "light.mirror"}
    assert judge_guard({**row, "call": call}, done).outcome is outcome


def entity(entity_id: str, name: str, state: str, device_class: str | None = None) -> Mapping[str, Any]:
    return {
        "entity_id": entity_id, "name": name, "area": None, "floor": None, "domain": entity_id.partition(".")[0],
        "device_class": device_class, "state": state, "attributes": {}, "aliases": [], "device": None,
    }  # fmt: skip


HOME = {
    "floors": [], "areas": [], "devices": [],
    "entities": [
        entity("light.mirror", "Mirror", "on"), entity("switch.pump", "Pump", "off"), entity("person.tom", "Tom", "home"),
    ],
}  # fmt: skip
SAID: Sequence[Mapping[str, Any]] = [
    {"utterance": "Turn off the mirror in ten minutes", "expected": {**OFF, "when": {"at": "2026-11-24T18:20"}}},
    {"utterance": "Turn off the mirror in half an hour", "expected": {**OFF, "when": {"at": "2026-11-24T18:20"}}},
    {
        "utterance": "When I leave, turn on the pump",
        "expected": {
            "kind": "action", "when": {"event": ["person.tom"], "to": "not_home"}, "targets": ["switch.pump"],
            "service": "turn_on",
        },
    },
    {"utterance": "Once the moon is blue, the mirror off", "expected": {**OFF, "when": {"at": "2026-11-24T18:20"}}},
]  # fmt: skip
GUARDED: Sequence[Mapping[str, Any]] = [
    {"utterance": "Turn on the pump in ten minutes"},
    {"utterance": "Turn on the pump", "now": True},
]


def evaluate(folder: Path, what: str, *options: str) -> dict[str, Any]:
    """Run it over the rows of a folder; return its figures."""
    figures = folder / "figures.json"
    done = subprocess.run(
        [
            str(PYTHON), "-m", "scripts.evaluation", what, "--data", str(folder), "--json", str(figures), "--failures",
            str(folder / "failures"), "--processes", "1", *options,
        ],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(figures.read_text()))


def write(folder: Path, name: str, rows: Sequence[Mapping[str, Any]], **fields: Any) -> None:
    (folder / "home-en.json").write_text(json.dumps(HOME))
    lines = (json.dumps({"id": str(number), "lang": "en", **row, **fields}) for number, row in enumerate(rows))
    (folder / name).write_text("\n".join(lines))


@pytest.mark.one_release
def test_wishes_are_said_and_counted(tmp_path: Path) -> None:
    write(tmp_path, "wishes-own.jsonl", SAID)
    found = evaluate(tmp_path, "wishes")
    assert [row["outcome"] for row in found["rows"]] == ["understood", "wrong time", "understood", "not understood"]
    [english, everything] = found["tables"][0]["lines"]
    assert english["counts"] == everything["counts"] == {"understood": 2, "wrong time": 1, "not understood": 1}
    missed = [json.loads(line) for line in (tmp_path / "failures").read_text().splitlines()]
    assert [row["utterance"] for row in missed] == [SAID[1]["utterance"], SAID[3]["utterance"]]
    assert missed[0]["got"][0]["at"] == "2026-11-24T18:40:00"


@pytest.mark.one_release
def test_a_model_that_acts_at_once_is_held_back_and_counted(tmp_path: Path) -> None:
    write(tmp_path, "guard.jsonl", GUARDED, call={"service": "switch.turn_on", "entity_id": "switch.pump"})
    found = evaluate(tmp_path, "guard", "--model")
    outcomes = {(row["agent"], row["id"]): row["outcome"] for row in found["rows"]}
    assert outcomes == {
        (agent, number): outcome
        for agent in ("no model", "model", "after local")
        for number, outcome in (("0", "left alone"), ("1", "done"))
    }
