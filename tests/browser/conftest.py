"""What a person in front of the browser would look at when something went wrong."""

from collections.abc import Generator

import pytest

from tests.e2e.harness import Hass

from .frontend import Frontend

LINES = 40


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell what the pages complained about and how the log ends, with a test that failed."""
    report = yield
    if report.failed:
        for part in item.funcargs.values():
            if isinstance(part, Frontend):
                report.sections.append(("pages", "\n".join([part.page.url, *part.problems])))
            elif isinstance(part, Hass):
                report.sections.append(("log", "\n".join(part.process.log.splitlines()[-LINES:])))
    return report
