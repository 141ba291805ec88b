"""The way of one sentence through the code stays short."""

import json
from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[1]
MOST = {"files": 43, "functions": 276, "pairs": 75}
"""What one warm turn with one tool call may pass through: what more a reader would have to open."""


@pytest.mark.one_release
def test_one_sentence_passes_through_few_places(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    command = [
        sys.executable, "-m", "scripts._trace", "--model-first", "turn on the kitchen lights", "--json", str(file),
    ]  # fmt: skip
    ran = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=200)
    traced = json.loads(file.read_text())
    counts = traced["counts"]
    assert traced["calls"] == {"ha_control": {"action": "turn_on", "entity_id": "light.kitchen_ceiling_light"}}
    assert traced["requests"] == 2
    assert traced["files"][-1]["functions"]
    assert f"{counts['files']} files" in ran.stdout
    assert {key: counts[key] for key in MOST if counts[key] > MOST[key]} == {}
