"""Lets pytest-homeassistant-custom-component run on the Home Assistant after the one it was made for.

Loaded with `-p tests.next_plugin`, before the package itself, which scripts/test does in .venv-next. To be removed, or
filled with what moves next, when there is a package for that release.
"""

from zlib import crc32

# Before pytest's package: Home Assistant puts httpx2 in the place of httpx, which the package would import before.
import homeassistant  # noqa: F401
from homeassistant.components import logger
from homeassistant.components.logger import helpers
import pytest

_MOVED = ("_clear_logger_overwrites",)
for _name in _MOVED:
    if not hasattr(logger, _name):
        setattr(logger, _name, getattr(helpers, _name))

FEW, ONE_IN = 4, 5  # of five or more in a row, one is always a fifth


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option with which scripts/test calls."""
    parser.addoption(
        "--sampled",
        action="store_true",
        help=f"of tests with more than {FEW} cases one in {ONE_IN}: the first release has all",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most cases of a test that has many; which ones stay follows from the test's name."""
    if not config.getoption("--sampled"):
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = {
        item
        for name, group in cases.items()
        if len(group) > FEW
        for number, item in enumerate(group, crc32(name.encode()))
        if number % ONE_IN
    }
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]
