"""Run the test suites, units beside whole Home Assistants, and add them up. See scripts/test."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
import os
from pathlib import Path
import re
import subprocess
import sys
from threading import Lock
import time
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / ".cache" / "reports"
NO_TESTS = 5
"""What pytest ends with when the options leave no test; another suite may have had some."""
CURRENT, NEXT = ".venv", ".venv-next"
SAMPLED = "--sampled"
"""What the second release is asked of tests with many cases (tests/next_plugin.py)."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests that run in one environment."""

    name: str
    venv: str
    folder: str
    options: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether it waits for processes more than it computes: such suites run beside those that compute."""
        return self.folder != "tests"


SUITES = (
    Suite("unit, 2026.10", CURRENT, "tests"),
    Suite("unit, 2026.11", NEXT, "tests", ("-p", "tests.next_plugin", "-m", "not one_release", SAMPLED)),
    Suite("end to end, 2026.10", CURRENT, "tests/e2e", ("--dist=loadfile",)),
    Suite("end to end, 2026.11", NEXT, "tests/e2e", ("--dist=loadfile",)),
    Suite("browser, 2026.10", CURRENT, "tests/browser"),
    Suite("browser, 2026.11", NEXT, "tests/browser", ("-p", "tests.next_plugin", "-m", "not one_release")),
)
COVERED = 95  # percent of the lines and branches
_PROGRESS = re.compile(r"[.sxXFE]*( +\[ *\d+%\])?\n?")
TOLD = 25
"""Lines of a failure that stand at the end of everything once more."""
FEW = 3
"""Failed tests that are tried once more by themselves: one that then passes is not steady, which is worth knowing."""


_PRINTING = Lock()
"""Of suites that run side by side, each prints as a whole."""


@dataclass(slots=True)
class Outcome:
    """What became of a suite."""

    suite: Suite
    code: int
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unsteady: int = 0
    """Of the failed ones those that passed when they were alone. They fail the run all the same: find what they wait for."""
    failures: str = ""
    """What failed, and how."""

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


def run_all(suites: Sequence[tuple[Suite, list[str]]], options: Sequence[str]) -> list[Outcome]:
    """Run the suites, at most two at a time: one that computes and one that waits; return what became of each, in order."""
    lanes = [[pair for pair in suites if pair[0].waits is waits] for waits in (False, True)]
    beside = all(lanes) and not _watched(options)

    def run_lane(lane: Sequence[tuple[Suite, list[str]]]) -> list[Outcome]:
        return [run(suite, paths, options, beside=beside) for suite, paths in lane]

    with ThreadPoolExecutor(len(lanes) if beside else 1) as pool:
        return [outcome for lane in pool.map(run_lane, lanes) for outcome in lane]


def run(suite: Suite, paths: Sequence[str], options: Sequence[str], *, beside: bool = False) -> Outcome:
    """Run one suite; a few tests that failed run once more alone, to tell which of them are unsteady.

    With another one `beside` it, it leaves room for that, and prints what it has to say when it is through.
    """
    # Unit tests wait for servers now and then, so there is work for more of them than there are processors
    processors = os.process_cpu_count() or 1
    count = min(6, processors if suite.waits else processors + 1 if beside else 2 * processors)
    workers = () if _watched(options) else (f"-n{count}",)
    print(f"\n[test] {suite.name}: {' '.join(paths)}", flush=True)
    outcome = _pytest(suite, [*workers, *options, *paths], at_once=not beside)
    if _watched(options) or not 0 < outcome.failed <= FEW:
        return outcome
    print(f"\n[test] {suite.name}: once more, what failed", flush=True)
    unmeasured = replace(suite, options=_without("--cov", suite.options))
    alone = ["-n0", "--last-failed", "--last-failed-no-failures=none", *_without("--cov", options), *paths]
    again = _pytest(unmeasured, alone, at_once=not beside)
    outcome.seconds += again.seconds
    outcome.unsteady = again.passed
    return outcome


def _measured(suite: Suite) -> Suite:
    return replace(suite, options=(*suite.options, "--cov", "--cov-report="))


def _without(beginning: str, options: Sequence[str]) -> tuple[str, ...]:
    return tuple(option for option in options if not option.startswith(beginning))


def _watched(options: Sequence[str]) -> bool:
    return bool({"--pdb", "-s"} & set(options))


def _pytest(suite: Suite, arguments: Sequence[str], *, at_once: bool) -> Outcome:
    report = REPORTS / f"{suite.name.replace(', ', '-').replace(' ', '-')}.xml"
    report.unlink(missing_ok=True)
    command = [str(ROOT / suite.venv / "bin" / "python"), "-m", "pytest", *suite.options, f"--junitxml={report}"]
    began = time.monotonic()
    code = _show([*command, *arguments], at_once=at_once)
    outcome = Outcome(suite, code, time.monotonic() - began)
    if not report.exists():
        return outcome
    tree = ET.parse(report)
    for counts in tree.iter("testsuite"):
        outcome.failed += int(counts.get("failures", 0)) + int(counts.get("errors", 0))
        outcome.skipped += int(counts.get("skipped", 0))
        outcome.passed += int(counts.get("tests", 0))
    outcome.passed -= outcome.failed + outcome.skipped
    for case in tree.iter("testcase"):
        for failure in (*case.iter("failure"), *case.iter("error")):
            lines = (failure.text or "").splitlines()
            outcome.failures += "\n".join(
                (f"\n{suite.name}: {case.get('classname')}::{case.get('name')}", *lines[-TOLD:], "")
            )
    return outcome


def _show(command: Sequence[str], *, at_once: bool) -> int:
    """Run something and show what it prints, at once or when it is through.

    Where nobody watches, without the lines that only tell how far it is.
    """
    # Home Assistant is started many times, by several processes; each would compile all of the code and the tests anew
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    if at_once and sys.stdout.isatty():
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    kept = []
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            if line == "\n" or not _PROGRESS.fullmatch(line):
                if at_once:
                    print(line, end="", flush=True)
                else:
                    kept.append(line)
    with _PRINTING:
        print("".join(kept), end="", flush=True)
    return process.returncode


def is_covered() -> bool:
    """Say whether the tests went through enough of the code, and print where they did not if it is too little."""
    coverage = [str(ROOT / CURRENT / "bin" / "python"), "-m", "coverage", "report", f"--fail-under={COVERED}"]
    report = subprocess.run(coverage, cwd=ROOT, check=False, capture_output=True, text=True)
    lines = report.stdout.splitlines()
    print("\n".join(lines[-1:] if report.returncode == 0 else lines), flush=True)
    return report.returncode == 0


def main() -> int:
    """Run what was asked for; return 0 when all of it passed and there was something to run."""
    measured = "--coverage" in sys.argv
    whole = "--whole" in sys.argv
    suites, options = chosen([argument for argument in sys.argv[1:] if argument not in ("--coverage", "--whole")])
    REPORTS.mkdir(parents=True, exist_ok=True)
    if whole:
        suites = [(replace(suite, options=_without(SAMPLED, suite.options)), paths) for suite, paths in suites]
    if measured:
        suites = [(_measured(suite) if suite.name == SUITES[0].name else suite, paths) for suite, paths in suites]
    outcomes = run_all(suites, options)
    covered = not measured or is_covered()
    for item in outcomes:
        print(item.failures, end="")
    columns = ("passed", "failed", "skipped", "unsteady")
    print(f"\n{'suite':<24}{''.join(f'{column:>10}' for column in columns)}{'seconds':>9}")
    for item in outcomes:
        counts = "".join(f"{getattr(item, column):>10}" for column in columns)
        print(f"{item.suite.name:<24}{counts}{item.seconds:>9.0f}{'' if item.good else f'   exit code {item.code}'}")
    sums = [sum(getattr(item, column) for item in outcomes) for column in columns]
    print(", ".join(f"{number} {column}" for number, column in zip(sums, columns, strict=True)), flush=True)
    return 0 if covered and sums[0] and all(item.good for item in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
