"""The evaluations: of retrieval the counting and one run with a home of two rooms, of claims the whole."""

from collections.abc import Mapping
import json
import os
from pathlib import Path
import subprocess
from typing import Any

import pytest

from scripts.evaluation import claims, memory
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


@pytest.mark.parametrize(
    ("rank", "wanted", "counts"),
    [
        pytest.param(4, ("a",), True, id="the fifth is among the first five"),
        pytest.param(5, ("a",), False, id="the sixth is not"),
        pytest.param(6, tuple("abcdefg"), True, id="seven that are the first seven"),
        pytest.param(7, tuple("abcdefg"), False, id="seven with another in between"),
        pytest.param(NOWHERE, ("a",), False, id="not found"),
    ],
)
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
        entity("light.one", "Ceiling", "k"),
        entity("light.two", "Counter", "k"),
        entity("light.three", "Mirror", "b"),
        entity("lock.door", "Back door", "k"),
    ],
}


def test_groups_are_made_of_what_a_place_has_several_of() -> None:
    places = [item for item in group_cases("tiny", HOME, "a") if item.ref == "light in a place"]
    assert {item.wanted for item in places} == {("light.one", "light.two")}
    assert all("Kitchen" in item.text for item in places)


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
    worth = found["tables"]["worth"]
    assert (worth["seen"]["precision"], worth["seen"]["recall"]) >= (memory.LEAST, memory.LEAST)
    assert worth["unseen"]["recall"] >= memory.LEAST
    assert found["tables"]["replaces"]["seen"]["precision"] >= memory.LEAST
    assert {"de", "en"} <= found["search"].keys()
