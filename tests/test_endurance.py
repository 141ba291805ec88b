"""What shows that Home Agent holds still runs: a few kills, a few reloads, a few turns."""

from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.one_release


def endure(*arguments: str) -> str:
    """Run a part of it, and return what it printed."""
    command = [sys.executable, "-m", "scripts.endurance", *arguments]
    ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=400)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return ran.stdout


def test_kills() -> None:
    *kinds, total = endure("kills", "--kills", "2", "--homes", "1").splitlines()
    assert total.startswith("2 kills, ")
    assert total.endswith(" 0 lost")
    assert len(kinds) >= 5


def test_reloads() -> None:
    assert endure("reloads", "--reloads", "7").splitlines()[-1] == "left behind: nothing"


def test_turns() -> None:
    assert endure("soak", "--turns", "50").splitlines()[-1] == "left behind: nothing"
