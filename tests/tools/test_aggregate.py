"""Arithmetic with known numbers."""

import pytest

from custom_components.home_agent.tools.history import (
    Point,
    average,
    changes,
    growth,
    is_numeric,
    thinned,
    time_in_states,
    values,
)


def points(*states: tuple[float, str]) -> list[Point]:
    return [Point(at, state) for at, state in states]


def test_average_weighs_by_time() -> None:
    # 20 for 90 s, then 30 for 10 s: 21, where the plain mean says 25
    assert average(points((0, "20"), (90, "30")), 100) == 21


def test_average_skips_gaps() -> None:
    assert average(points((0, "20"), (10, ""), (90, "30")), 100) == 25


@pytest.mark.parametrize("states", [[], [(0, "")], [(0, "on")], [(100, "5")]], ids=["none", "gap", "text", "no time"])
def test_average_of_nothing(states: list[tuple[float, str]]) -> None:
    assert average(points(*states), 100) is None


def test_changes_skip_gaps_and_repeats() -> None:
    assert changes(points((0, "on"), (1, "on"), (2, ""), (3, "on"), (4, "off"), (5, "on"))) == 2


@pytest.mark.parametrize(("numbers", "resets", "expected"), [
    (["10", "12", "15"], True, 5), (["10", "15", "2", "4"], True, 9), (["10", "15", "14.9"], True, 4.9),
    (["10", "15", "2"], False, -8), (["", "10"], True, 0), ([""], True, None),
], ids=["rising", "reset", "jitter", "net", "one", "none"])  # fmt: skip
def test_growth_of_a_meter(numbers: list[str], resets: bool, expected: float | None) -> None:
    assert growth(points(*enumerate(numbers)), resets=resets) == pytest.approx(expected)


def test_time_in_states_longest_first() -> None:
    found = time_in_states(points((0, "off"), (10, "on"), (70, ""), (80, "off")), 100)
    assert list(found.items()) == [("on", 60), ("off", 30)]


def test_thinned_keeps_the_last_of_each_stretch() -> None:
    many = points(*((float(at), str(at)) for at in range(100)))
    assert [point.state for point in thinned(many, 4)] == ["24", "49", "74", "99"]
    assert thinned(many[:3], 4) == many[:3]
    assert len(thinned(points((0, "a"), (0, "b"), (0, "c")), 2)) == 1


def test_what_counts_as_a_number() -> None:
    assert is_numeric(points((0, ""), (1, "2.5")))
    assert not is_numeric(points((0, "1"), (1, "on")))
    assert not is_numeric(points((0, "")))
    assert values(points((0, "nan"), (1, "inf"), (2, "2"))) == [2]
