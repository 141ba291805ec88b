"""The evaluations: of retrieval and of local answers the counting and one run with a home of two rooms, of claims the whole."""

from collections.abc import Mapping
import json
import os
from pathlib import Path
import subprocess
from typing import Any

from homeassistant.core import State
from homeassistant.helpers import intent
import pytest

from scripts.evaluation import claims, local, memory
from scripts.evaluation.dataset import Case
from scripts.evaluation.groups import group_cases
from scripts.evaluation.measure import NOWHERE, Answer, shares

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv" / "bin" / "python"
"""What scripts/eval runs with, whichever release the tests run on."""


def case(*wanted: str) -> Case:
    return Case(home="h", language="en", text="t", wanted=wanted, ref="name", explicit=True, part="a")


def answer(rank: int, *wanted: str) -> Answer:
    return Answer(case=case(*wanted), rank=rank, found=40, told=True, tokens=100, seconds=0.001)


@pytest.mark.parametrize(("rank", "wanted", "counts"), [
    pytest.param(4, ("a",), True, id="the fifth is among the first five"),
    pytest.param(5, ("a",), False, id="the sixth is not"),
    pytest.param(6, tuple("abcdefg"), True, id="seven that are the first seven"),
    pytest.param(7, tuple("abcdefg"), False, id="seven with another in between"),
    pytest.param(NOWHERE, ("a",), False, id="not found"),
])  # fmt: skip
def test_all_targets_have_to_be_among_the_first(rank: int, wanted: tuple[str, ...], counts: bool) -> None:
    assert shares([answer(rank, *wanted)], [5]) == {5: 100.0 if counts else 0.0}


def entity(entity_id: str, name: str, area: str) -> Mapping[str, Any]:
    return {
        "entity_id": entity_id, "name": name, "area": area, "floor": None, "domain": entity_id.partition(".")[0],
        "device_class": None, "state": "off", "attributes": {}, "aliases": [], "device": None,
    }  # fmt: skip


HOME = {
    "id": "tiny",
    "floors": [],
    "areas": [{"id": "k", "name": "Kitchen", "floor": None}, {"id": "b", "name": "Bath", "floor": None}],
    "devices": [],
    "entities": [
        entity("light.one", "Ceiling", "k"), entity("light.two", "Counter", "k"), entity("light.three", "Mirror", "b"),
        entity("lock.door", "Back door", "k"),
    ],
}  # fmt: skip


def test_groups_are_made_of_what_a_place_has_several_of() -> None:
    places = [item for item in group_cases("tiny", HOME, "a") if item.ref == "light in a place"]
    assert {item.wanted for item in places} == {("light.one", "light.two")}
    assert all("Kitchen" in item.text for item in places)


@pytest.mark.one_release
def test_the_command_reports_and_writes_figures(tmp_path: Path) -> None:
    (tmp_path / "homes").mkdir()
    (tmp_path / "homes" / "tiny.json").write_text(json.dumps(HOME))
    row = {"home": "tiny", "lang": "en", "utterance": "Mirror light on", "expected": [{"entity_id": "light.three"}]}
    (tmp_path / "assist_cases.jsonl").write_text(json.dumps(row))
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [str(PYTHON), "-m", "scripts.evaluation", "retrieval", "--data", str(tmp_path), "--json", str(figures)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "| assist | 1 | 100.0 |" in done.stdout
    tables = json.loads(figures.read_text())["tables"]
    assert tables["Groups, made from the homes"][0]["first"]["5"] == 100.0


@pytest.mark.one_release
def test_false_answers_are_noticed_and_true_ones_left_alone(tmp_path: Path) -> None:
    chosen = claims.cases()
    assert len(chosen) >= 300
    assert len({item.language for item in chosen}) >= 12
    unseen, seen = (sum(item.part == part for item in chosen) for part in ("unseen", "seen"))
    assert 2 * unseen >= seen
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [str(PYTHON), "-m", "scripts.evaluation", "claims", "--json", str(figures)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(figures.read_text())
    whole = found["tables"]["All turns"]["both"]
    assert whole["turns"] == len(chosen)
    assert whole["caught"] >= claims.LEAST_CAUGHT, found["misjudged"]
    assert whole["doubted"] <= claims.MOST_DOUBTED, found["misjudged"]


@pytest.mark.one_release
def test_what_memory_makes_of_sentences_is_measured(tmp_path: Path) -> None:
    chosen = [case for part in memory.PARTS for case in memory.cases(part)]
    assert len(chosen) >= 300
    assert {case["language"] for case in chosen} == {"en", "de", "ru"}
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [str(PYTHON), "-m", "scripts.evaluation", "memory", "--json", str(figures)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(figures.read_text())
    tables = found["tables"]
    for kind, part, figure, least in (
        ("worth", "seen", "precision", memory.LEAST), ("worth", "seen", "recall", memory.LEAST),
        ("worth", "unseen", "precision", 80), ("worth", "unseen", "recall", memory.LEAST),
        ("same", "seen", "left_out", 100), ("same", "unseen", "left_out", 90),
        ("replaces", "seen", "precision", memory.LEAST), ("replaces", "seen", "recall", 85),
        ("replaces", "unseen", "precision", 85), ("replaces", "unseen", "recall", 65),
    ):  # fmt: skip
        assert tables[kind][part][figure] >= least, (kind, part, figure)
    for name, least in (("seen de", 80), ("seen en", 80), ("seen ru", 80), ("unseen de", 30), ("unseen en", 30)):
        assert found["search"][name]["first_five"] >= least, name


def reply(
    text: str = "", *, failed: bool = False, intents: tuple[str, ...] = (), about: tuple[str, ...] = ()
) -> local.Reply:
    response = intent.IntentResponse(language="en")
    response.async_set_speech(text)
    kind = intent.IntentResponseTargetType.ENTITY
    response.async_set_results([intent.IntentResponseTarget(name=item, type=kind, id=item) for item in about])
    if failed:
        response.async_set_error(intent.IntentResponseErrorCode.NO_INTENT_MATCH, text)
    return local.Reply(response, 0.0, 0.0, None, list(intents))


LIGHT = {"entity_id": "light.one", "state": "on", "attributes": {"brightness": {"any": [128], "tol": 2}}}
COMMAND = {"kind": "control", "expected": [LIGHT]}
OFF = {"light.one": State("light.one", "off"), "light.two": State("light.two", "off")}


@pytest.mark.parametrize(
    ("row", "after", "called", "answer", "outcome"),
    [
        pytest.param(COMMAND, {"light.one": ("on", 127)}, ["light.one"], reply("Done"), local.RIGHT, id="as wanted"),
        pytest.param(COMMAND, {"light.one": ("on", 255)}, ["light.one"], reply("Done"), local.WRONG_VALUE, id="value"),
        pytest.param(COMMAND, {"light.two": ("on", 127)}, ["light.two"], reply("Done"), local.WRONG_TARGET, id="target"),
        pytest.param(
            COMMAND, {"light.one": ("on", 127)}, ["light.one", "light.two"], reply("Done"), local.WRONG_TARGET, id="more"
        ),
        pytest.param(COMMAND, {}, [], reply("What?", failed=True), local.HANDED_ON, id="an error is handed on"),
        pytest.param(COMMAND, {}, [], reply("Done"), local.ANSWERED, id="nothing but words"),
        pytest.param(COMMAND, {}, [], reply("Which one?"), local.ASKED, id="asked back"),
        pytest.param(COMMAND, {}, ["light.one"], reply("No", failed=True), local.HANDED_ON, id="a call that was refused"),
        pytest.param({"kind": "none"}, {}, [], reply("Done"), local.LEFT_ALONE, id="no command, left alone"),
        pytest.param({"kind": "none"}, {}, ["light.two"], reply(), local.ACTED, id="no command, acted upon"),
        pytest.param(
            {"kind": "query", "answer_any": ["22°"], "expected": []}, {}, [], reply("It is 22 °C"), local.WRONG_ANSWER,
            id="part of a word",
        ),
        pytest.param(
            {"kind": "query", "answer_any": ["22"], "expected": []}, {}, [], reply("It is 22 °C"), local.RIGHT, id="answer"
        ),
        pytest.param(
            {"kind": "control", "intent": "HassTurnOn", "expected_entity_ids": ["light.one"]},
            {"light.one": ("on", None)}, [], reply("Done", intents=("HassTurnOn",)), local.RIGHT, id="intent",
        ),
        pytest.param(
            {"kind": "control", "intent": "HassTurnOn", "expected_entity_ids": ["light.one"]},
            {}, [], reply("Done", intents=("HassTurnOff",)), local.WRONG_INTENT, id="another intent",
        ),
        pytest.param(
            {"kind": "control", "intent": "HassTurnOn", "expected_entity_ids": ["light.one"]},
            {}, [], reply("It is already on.", about=("light.one",)), local.RIGHT, id="intent, already so",
        ),
        pytest.param(
            {"kind": "control", "intent": "HassTurnOn", "expected_entity_ids": ["light.one"]},
            {}, [], reply("It is already on.", about=("light.two",)), local.ANSWERED, id="another is already so",
        ),
        pytest.param(
            {"kind": "control", "intent": "HassRespond", "expected_entity_ids": []},
            {}, [], reply("I can do this."), local.RIGHT, id="small talk in other words",
        ),
    ],
)  # fmt: skip
def test_a_request_is_judged_by_what_became_of_the_home(
    row: Mapping[str, Any],
    after: Mapping[str, tuple[str, int | None]],
    called: list[str],
    answer: local.Reply,
    outcome: str,
) -> None:
    now = OFF | {key: State(key, state, {"brightness": value}) for key, (state, value) in after.items()}
    assert local.judge(row, OFF, now, called, answer) == outcome


def test_the_home_is_asked_and_the_built_in_agent_beside_it(tmp_path: Path) -> None:
    (tmp_path / "homes").mkdir()
    (tmp_path / "homes" / "tiny.json").write_text(json.dumps(HOME))
    common = {"home": "tiny", "lang": "en"}
    turn_on = {
        **common, "id": "1", "utterance": "turn on the mirror", "kind": "control", "category": "light", "ref": "name",
        "expected": [{"entity_id": "light.three", "state": "on"}], "setup": {"light.three": {"state": "off"}},
    }  # fmt: skip
    open_up = {
        **common, "id": "2", "utterance": "unlock the back door", "kind": "control", "category": "lock", "ref": "name",
        "expected": [{"entity_id": "lock.door", "state": "unlocked"}], "setup": {"lock.door": {"state": "locked"}},
    }  # fmt: skip
    absent = {**common, "id": "3", "utterance": "turn on the sauna", "kind": "none", "category": "absent"}
    (tmp_path / "assist_cases.jsonl").write_text("\n".join(map(json.dumps, [turn_on, open_up])))
    (tmp_path / "negative_cases.jsonl").write_text(json.dumps(absent))
    figures, missed = tmp_path / "figures.json", tmp_path / "failures.jsonl"
    done = subprocess.run(
        [
            str(PYTHON), "-m", "scripts.evaluation", "local", "--data", str(tmp_path), "--json", str(figures),
            "--failures", str(missed), "--processes", "1",
        ],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(figures.read_text())
    by_agent = {row["agent"]: row for row in found["tables"]["Requests by language, homes as they are"]}
    assert {agent: row["right"] for agent, row in by_agent.items()} == dict.fromkeys(local.AGENTS, 100.0)
    assert by_agent[local.OURS]["confirmed"] == 50.0
    assert found["ratios"].keys() == {local.STRICT, local.FULL}
    assert missed.read_text() == ""
