"""Run the test suites one after another and add them up. See scripts/test."""

from collections.abc import Sequence
from dataclasses import dataclass
import os
from pathlib import Path
import subprocess
import sys
import time
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / ".cache" / "reports"
NO_TESTS = 5
"""What pytest ends with when the options leave no test; another suite may have had some."""
CURRENT, NEXT = ".venv", ".venv-next"


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests that run in one environment."""

    name: str
    venv: str
    folder: str
    options: tuple[str, ...] = ()


SUITES = (
    Suite("unit, 2026.10", CURRENT, "tests"),
    Suite("unit, 2026.11", NEXT, "tests", ("-p", "tests.next_plugin")),
    Suite("end to end, 2026.10", CURRENT, "tests/e2e", ("--dist=loadfile",)),
    Suite("end to end, 2026.11", NEXT, "tests/e2e", ("--dist=loadfile",)),
    Suite("browser, 2026.10", CURRENT, "tests/browser", ("-n0",)),
    Suite("browser, 2026.11", NEXT, "tests/browser", ("-n0",)),
)
COVERAGE = ("--cov", "--cov-report=term", "--cov-fail-under=95")


@dataclass(slots=True)
class Outcome:
    """What became of a suite."""

    suite: Suite
    code: int
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def good(self) -> bool:
        """Whether everything that ran passed."""
        return self.code in (0, NO_TESTS)


def chosen(arguments: Sequence[str]) -> tuple[list[tuple[Suite, list[str]]], list[str]]:
    """Return the suites with their paths, and the options for all of them."""
    paths = [argument for argument in arguments if argument.startswith(("tests/", "./tests/")) or argument == "tests"]
    options = [argument for argument in arguments if argument not in paths]
    if not paths or paths == ["tests"]:
        return [(suite, [suite.folder]) for suite in SUITES], options
    picked = [(suite, [path for path in paths if _folder_of(path) == suite.folder]) for suite in SUITES]
    return [(suite, own) for suite, own in picked if own], options


def _folder_of(path: str) -> str:
    inner = path.removeprefix("./")
    return next((suite.folder for suite in reversed(SUITES) if inner.startswith(suite.folder)), "tests")


def run(suite: Suite, paths: Sequence[str], options: Sequence[str]) -> Outcome:
    """Run one suite in the foreground."""
    report = REPORTS / f"{suite.name.replace(', ', '-').replace(' ', '-')}.xml"
    report.unlink(missing_ok=True)
    # Unit tests wait for servers more than they compute; a whole Home Assistant has enough to do
    per_processor = 2 if suite.folder == "tests" else 1
    count = min(6, per_processor * (os.process_cpu_count() or 1))
    workers = () if {"--pdb", "-s"} & set(options) else (f"-n{count}",)
    command = [str(ROOT / suite.venv / "bin" / "python"), "-m", "pytest", *workers, *suite.options]
    print(f"\n[test] {suite.name}: {' '.join(paths)}", flush=True)
    began = time.monotonic()
    code = subprocess.run([*command, f"--junitxml={report}", *options, *paths], cwd=ROOT, check=False).returncode
    outcome = Outcome(suite, code, time.monotonic() - began)
    for counts in ET.parse(report).iter("testsuite") if report.exists() else ():
        outcome.failed += int(counts.get("failures", 0)) + int(counts.get("errors", 0))
        outcome.skipped += int(counts.get("skipped", 0))
        outcome.passed += int(counts.get("tests", 0))
    outcome.passed -= outcome.failed + outcome.skipped
    return outcome


def main() -> int:
    """Run what was asked for; return 0 when all of it passed and there was something to run."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--coverage"]
    suites, options = chosen(arguments)
    REPORTS.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for suite, paths in suites:
        extra = COVERAGE if "--coverage" in sys.argv and suite is SUITES[0] else ()
        outcomes.append(run(suite, paths, [*extra, *options]))
    print(f"\n{'suite':<24}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for item in outcomes:
        counts = f"{item.passed:>8}{item.failed:>8}{item.skipped:>9}{item.seconds:>9.0f}"
        print(f"{item.suite.name:<24}{counts}{'' if item.good else f'   exit code {item.code}'}")
    passed, failed, skipped = (sum(getattr(item, key) for item in outcomes) for key in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 0 if passed and all(item.good for item in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
