"""What shows that Home Agent holds still runs: a few kills, a few reloads, a few turns; and it sees what is left behind."""

from collections import Counter
from pathlib import Path
import subprocess
import sys

import pytest

from scripts.endurance.counts import KEPT, Counts, left_behind

ROOT = Path(__file__).parents[1]
STAGES = 11

pytestmark = pytest.mark.one_release


def endure(*arguments: str) -> str:
    """Run a part of it, and return what it printed."""
    command = [sys.executable, "-m", "scripts.endurance", *arguments]
    ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=400)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return ran.stdout


def test_kills() -> None:
    *kinds, total = endure("kills", "--kills", "2", "--homes", "1").splitlines()
    assert total.startswith("2 kills, ")
    assert total.endswith(" 0 lost")
    assert len(kinds) >= 5


def test_reloads() -> None:
    assert endure("reloads", "--reloads", "7").splitlines()[-1] == "left behind: nothing"


def test_turns() -> None:
    assert endure("soak", "--turns", "50").splitlines()[-1] == "left behind: nothing"


def counts(*, timers: int = 25, megabytes: float = 300, **objects: int) -> Counts:
    """Return what there is at one stage; `objects` by class."""
    resident = int(megabytes * 2**20)
    return Counts(listeners=110, timers=timers, tasks=1, resident=resident, objects=Counter(objects))


def test_what_stays_as_it_was_is_not_left_behind() -> None:
    assert not left_behind([counts(Turn=3)] * STAGES)


def test_a_cache_that_fills_in_the_first_half_is_not_left_behind() -> None:
    full = [min(200, 50 * stage) for stage in range(STAGES)]
    assert not left_behind([counts(Word=words, megabytes=300 + words / 5) for words in full])


def test_what_each_turn_adds_is_left_behind() -> None:
    assert left_behind([counts(Turn=71 * stage) for stage in range(STAGES)]) == {"Turn": 355}


def test_what_each_reload_adds_is_left_behind() -> None:
    assert left_behind([counts(timers=25 + 20 * stage) for stage in range(STAGES)]) == {"timers": 200}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_may_grow_up_to_its_limit(name: str) -> None:
    assert not left_behind([counts(**{name: KEPT[name] * stage // 10}) for stage in range(STAGES)])


def test_what_is_kept_beyond_its_limit_is_left_behind() -> None:
    name, most = "local.reading.Said", KEPT["local.reading.Said"]
    assert left_behind([counts(**{name: most + 80})] * STAGES) == {name: 80}


def test_memory_that_grows_all_the_time_is_left_behind() -> None:
    assert left_behind([counts(megabytes=300 + 4 * stage) for stage in range(STAGES)]) == {"megabytes": 20.0}
