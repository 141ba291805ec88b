"""Durations as people write them."""

import pytest

from custom_components.home_agent.home.parameters import read_duration
from custom_components.home_agent.support.errors import ToolRefusal


@pytest.mark.parametrize(("text", "seconds"), [
    ("30m", 1800), ("1h", 3600), ("24h", 86400), ("7d", 604800), ("2w", 1209600), ("90 min", 5400),
    ("1h30m", 5400), ("1 hour and 30 minutes", 5400), ("last 7 days", 604800), ("the past hour", 3600), ("1.5h", 5400),
    ("1,5 h", 5400), ("00:05:00", 300), ("1:30", 5400), ("45", 45), (45, 45), (0.5, 0.5), ("1 month", 2592000),
    ("2 HRS", 7200),
])  # fmt: skip
def test_read(text: object, seconds: float) -> None:
    assert read_duration(text).total_seconds() == seconds


@pytest.mark.parametrize(
    "text",
    ["", "soon", "0", "0h", "-5m", -5, True, "1x", "5 light years", "1h foo", None, "9" * 400, 1e300, float("nan")],
)
def test_refused(text: object) -> None:
    with pytest.raises(ToolRefusal, match="is not a duration"):
        read_duration(text)
