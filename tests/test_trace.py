"""The way of one sentence through the code stays short."""

import json
from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[1]
MOST = {
    "turn on the kitchen lights": (0, {"files": 62, "functions": 304, "pairs": 112}),
    "I would love to have the living room ceiling light on , as it is getting late": (
        2, {"files": 100, "functions": 585, "pairs": 220},
    ),
}  # fmt: skip
"""Sentences with the requests to the model that they take, and what one warm turn may pass through, hardly more than now: what a reader would have to open.

The journal is on the disk before the answer, so its write is a part of the way; and it is looked whether a sentence is about wishes that wait, or is
for later."""


@pytest.mark.one_release
@pytest.mark.parametrize("sentence", MOST)
def test_one_sentence_passes_through_few_places(tmp_path: Path, sentence: str) -> None:
    file, (requests, most) = tmp_path / "trace.json", MOST[sentence]
    command = [sys.executable, "-m", "scripts._trace", sentence, "--json", str(file)]
    ran = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=200)
    traced = json.loads(file.read_text())
    counts = traced["counts"]
    assert traced["requests"] == requests
    assert traced["files"][-1]["functions"]
    assert f"{counts['files']} files" in ran.stdout
    assert {key: counts[key] for key in most if counts[key] > most[key]} == {}
