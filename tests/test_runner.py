"""How scripts/test runs its suites; what stands for pytest here is a program that notes how it was called."""

from pathlib import Path

import pytest

from scripts import _test
from scripts._test import Suite, run_all

PYTEST = """#!/bin/sh
for option; do case $option in --junitxml=*) report=${option#*=} ;; esac; done
echo "$* bytecode=$PYTHONDONTWRITEBYTECODE" >>"$0.calls"
touch "$0.started"
i=0 # the other suite has to start while this one runs
while [ ! -e "OTHER.started" ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done
echo "begin NAME"
echo "..s.  [ 50%]"
echo "end NAME"
echo '<testsuite tests="2" failures="FAILED"><testcase classname="c" name="n"/></testsuite>' >"$report"
exit FAILED
"""


def venv_of(folder: Path, name: str, other: str, *, failed: int = 0) -> str:
    """Make what looks like an environment whose Python waits for that of the other one; return its folder."""
    program = folder / name / "bin" / "python"
    program.parent.mkdir(parents=True)
    text = PYTEST.replace("OTHER", str(folder / other / "bin" / "python"))
    program.write_text(text.replace("NAME", name).replace("FAILED", str(failed)))
    program.chmod(0o755)
    return str(folder / name)


@pytest.fixture(autouse=True)
def reports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_test, "REPORTS", tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def calls(venv: str) -> list[str]:
    return Path(venv, "bin", "python.calls").read_text().splitlines()


def test_units_run_beside_homes_and_print_whole(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    units, homes = venv_of(tmp_path, "units", "homes"), venv_of(tmp_path, "homes", "units", failed=1)
    suites = [
        (_test._measured(Suite("unit", units, "tests")), ["tests"]),
        (Suite("end to end", homes, "tests/e2e", ("--dist=loadfile",)), ["tests/e2e"]),
    ]

    outcomes = run_all(suites, ["-k", "light"])

    assert [(item.suite.name, item.passed, item.failed) for item in outcomes] == [("unit", 2, 0), ("end to end", 1, 1)]
    # What failed is tried once more by itself, and what is through is waited for by nobody
    assert [len(calls(venv)) for venv in (units, homes)] == [1, 2]
    assert "--cov" in calls(units)[0]
    assert "--last-failed" in calls(homes)[1]
    for call in calls(units) + calls(homes):
        assert call.endswith("bytecode=")  # compiled once, for all processes of all suites
        assert "-k light tests" in call
    printed = capfd.readouterr().out
    for name in ("units", "homes"):
        assert f"begin {name}\nend {name}\n" in printed


def test_what_failed_is_tried_again_without_the_coverage_that_was_measured(tmp_path: Path) -> None:
    units = venv_of(tmp_path, "units", "units", failed=1)
    run_all([(_test._measured(Suite("unit", units, "tests")), ["tests"])], [])
    first, again = calls(units)
    assert "--cov" in first
    assert "--cov" not in again


def test_one_suite_has_the_machine_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.process_cpu_count", lambda: 2)
    units, homes = venv_of(tmp_path, "units", "units"), venv_of(tmp_path, "homes", "homes")
    alone = [(Suite("unit", units, "tests"), ["tests"])]
    run_all(alone, [])
    run_all([*alone, (Suite("end to end", homes, "tests/e2e"), ["tests/e2e"])], [])
    workers = [option for call in calls(units) + calls(homes) for option in call.split() if option.startswith("-n")]
    assert workers == ["-n4", "-n3", "-n2"]
