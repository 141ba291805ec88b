"""Wishes over kills of a real Home Assistant, in small: each happens once, or it is told why not."""

import pytest

from scripts.endurance.wishes import kill_wishes


@pytest.mark.timeout(400)
async def test_each_wish_happens_once_over_kills() -> None:
    verdict = await kill_wishes(wishes=20, kills=4, seed=3)
    assert verdict.is_good, verdict.show()
    done = sum(count for outcome, count in verdict.outcomes.items() if outcome.startswith("done once"))
    assert done >= 10, verdict.show()
