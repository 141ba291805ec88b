"""The owner's PINs: which yes takes one, and which digits of other words are taken out before anybody hears them.

A mask that appears only for a PIN would tell which one it is to whoever tries numbers, so only a few are compared. While
there are more, every number as long as a PIN is masked, whichever it is.
"""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
import hmac
from itertools import islice, permutations
from secrets import token_bytes

from homeassistant.util import dt as dt_util

from ..languages.phrases import MASK, Digits, digit_runs

COMPARED = 5
"""Numbers that are no PIN, of which it is shown that they are none, within `WINDOW`."""
MOST = 100
"""Numbers as long as a PIN in one run of digits: a longer run is masked whatever is in it."""
WINDOW = timedelta(minutes=10)
WRONG = 9
"""PINs that one person may get wrong within `LOCKED`: each question allows a few, and there is no end of questions."""
LOCKED = timedelta(hours=1)


class Pins:
    """The PINs of the home."""

    def __init__(self, by_reason: Mapping[str, str] | None = None) -> None:
        """Take PINs by what they guard (`unlock`, `open_door`, ...)."""
        self._by_reason = dict(by_reason or {})
        single = tuple(dict.fromkeys(self._by_reason.values()))
        said = ("".join(several) for size in range(1, len(single) + 1) for several in permutations(single, size))
        secrets = frozenset(said)  # a yes to several things has several
        self.are_set = bool(secrets)
        self._lengths = frozenset(map(len, secrets))
        self._compared: deque[datetime] = deque()
        self._wrong: defaultdict[Hashable, deque[datetime]] = defaultdict(lambda: deque(maxlen=WRONG))
        self._key = token_bytes(16)
        self._secrets = frozenset(map(self._digest, secrets))

    def needed(self, reasons: Iterable[str]) -> str:
        """Return what has to be said with a yes: the PINs of all reasons, one after the other, each once; "" for none."""
        return "".join(dict.fromkeys(self._by_reason[reason] for reason in reasons if reason in self._by_reason))

    def accepts(self, who: Hashable, needed: str, given: str) -> bool:
        """Return whether somebody gave what was needed; nothing is right from whoever is locked out."""
        if self.locks_out(who):
            return False
        if hmac.compare_digest(self._digest(needed), self._digest(given)):
            return True
        self._wrong[who].append(dt_util.utcnow())
        return False

    def locks_out(self, who: Hashable) -> bool:
        """Return whether somebody got too many wrong lately."""
        wrong = self._wrong.get(who)
        return wrong is not None and len(wrong) == WRONG and wrong[0] > dt_util.utcnow() - LOCKED

    def _digest(self, pin: str) -> bytes:
        """Return something of one length for every PIN: the time of a comparison shall not tell how long it is."""
        return hmac.digest(self._key, pin.encode(), "sha256")

    def conceal(self, text: str, language: str) -> str:
        """Return a text without what is a PIN, written or spoken."""
        if not self._secrets:
            return text
        runs = [(run, numbers) for run in digit_runs(text, language) if (numbers := self._numbers(run))]
        hidden, others = set[int](), set[str]()
        for index, (_, numbers) in enumerate(runs):
            if len(numbers) > MOST or self._has_secret(numbers):
                hidden.add(index)
            else:
                others.update(numbers)
            if len(others) > COMPARED:
                break  # all of them are masked
        if not self._may_tell(len(others)):
            hidden = set(range(len(runs)))
        pieces, end = [], 0
        for index in sorted(hidden):
            run = runs[index][0]
            pieces += [text[end : run[0].begin], MASK]
            end = run[-1].end
        return "".join([*pieces, text[end:]])

    def _numbers(self, run: Sequence[Digits]) -> list[str]:
        """Return what of a run is as long as a PIN, one more than `MOST` of them."""
        parts = _parts(run, max(self._lengths))
        return list(islice((number for number in parts if len(number) in self._lengths), MOST + 1))

    def _has_secret(self, numbers: Iterable[str]) -> bool:
        """Return whether there are PINs among numbers; it takes as long whichever they are."""
        return not self._secrets.isdisjoint({self._digest(number) for number in numbers})

    def _may_tell(self, count: int) -> bool:
        """Return whether so many more numbers may be shown to be no PIN now."""
        now = dt_util.utcnow()
        while self._compared and self._compared[0] <= now - WINDOW:
            self._compared.popleft()
        self._compared.extend([now] * min(count, COMPARED + 1))
        return count == 0 or len(self._compared) <= COMPARED


def _parts(run: Sequence[Digits], longest: int) -> Iterator[str]:
    """Yield what neighbouring groups of a run are together: "47 11" is 47, 11 and 4711."""
    for first in range(len(run)):
        number = ""
        for group in run[first : first + longest]:  # each has a digit at least
            number += group.value
            if len(number) > longest:
                break
            yield number
