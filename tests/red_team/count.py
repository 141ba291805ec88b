"""How many attempts there were and how many got through, printed at the end of every run that has some.

These hooks are imported by tests/conftest.py: the process that reports a parallel run of all tests reads no other.
"""

import pytest

AT_LEAST = 120
_ROOM = "tests/red_team/"
_tried: dict[str, bool] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--front", choices=("delegating", "routing"), help="who stands before the agent under attack")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count attempts, and those that got through."""
    if not report.nodeid.startswith(_ROOM):
        return
    if report.when == "call" or report.failed:
        _tried[report.nodeid] = _tried.get(report.nodeid, False) or report.failed or hasattr(report, "wasxfail")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _tried:
        through = sum(_tried.values())
        terminalreporter.write_line(f"red team: {len(_tried)} tried, {through} got through")


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Refuse a suite that has lost its cases, where all of it was asked for."""
    mine = [item for item in items if item.nodeid.startswith(_ROOM)]
    files = {item.path.name for item in mine}
    if files >= {path.name for path in session.config.rootpath.joinpath(_ROOM).glob("test_*.py")}:
        assert len(mine) >= AT_LEAST, f"only {len(mine)} attempts are left"
