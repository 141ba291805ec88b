"""Tokens without a tokenizer."""

import sys
from types import FrameType
from typing import Any

import pytest

from custom_components.home_agent.client.messages import TokenEstimator

PROSE = "The light in the kitchen has been on since this morning, and nobody is at home. "
ROW = '{"entity_id":"light.kitchen","name":"Kitchen","state":"on","brightness":128},'


@pytest.mark.parametrize(("text", "per_token"), [
    (PROSE, (3.6, 4.6)), (ROW, (2.5, 3.6)),
    ("Das Licht in der Küche ist seit heute früh an, und niemand ist zu Hause. ", (3.0, 4.4)),
    ("Свет на кухне горит с утра, и дома никого нет. ", (2.0, 3.2)), ("厨房的灯从早上就一直开着，家里没有人。", (0.9, 1.5)),
    ("부엌 조명이 아침부터 켜져 있고 집에 아무도 없습니다. ", (0.9, 1.8)), ("😀🎉", (0.4, 1.0)),
], ids=["English", "JSON", "German", "Russian", "Chinese", "Korean", "emoji"])  # fmt: skip
def test_each_script_has_its_own_weight(text: str, per_token: tuple[float, float]) -> None:
    low, high = per_token
    assert low < len(text * 20) / TokenEstimator().estimate(text * 20) < high


def test_nothing_is_nothing_and_something_at_least_one() -> None:
    assert TokenEstimator().estimate("") == 0
    assert TokenEstimator().estimate("a") == 1
    assert TokenEstimator().estimate("\ud83d") == 1


@pytest.mark.parametrize("row", [ROW, ROW + "Küche Кухня 厨房"])
def test_a_long_text_is_not_gone_through_character_by_character(row: str) -> None:
    text = row * (60_000 // len(row))
    lines = 0

    def count(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal lines
        lines += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        TokenEstimator().estimate(text)
    finally:
        sys.settrace(before)
    assert 0 < lines < 100


def test_the_estimate_moves_towards_what_the_endpoint_counted() -> None:
    estimator = TokenEstimator()
    for _ in range(20):
        estimator.calibrate(1000, 1400)
    assert estimator.factor == pytest.approx(1.4, abs=0.01)
    assert estimator.estimate(PROSE * 10) == pytest.approx(1.4 * TokenEstimator().estimate(PROSE * 10), rel=0.02)


def test_odd_numbers_do_not_carry_the_estimate_away() -> None:
    estimator = TokenEstimator()
    estimator.calibrate(10, 1000)
    estimator.calibrate(1000, 10)
    assert estimator.factor == 1.0
    for _ in range(50):
        estimator.calibrate(1000, 2400)
    assert estimator.factor == 2.0
    for _ in range(50):
        estimator.calibrate(1000, 410)
    assert estimator.factor == 0.5


@pytest.mark.parametrize("counted", [60, 390, 2600, 10**9], ids=["only what is new", "less", "more", "far more"])
def test_a_server_that_counts_something_else_is_not_believed(counted: int) -> None:
    estimator = TokenEstimator()
    for _ in range(10):
        estimator.calibrate(1000, counted)
    assert estimator.factor == 1.0
