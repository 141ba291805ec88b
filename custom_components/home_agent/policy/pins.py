"""The owner's PINs: which yes takes one, and which digits are masked in other words. Also, how many codes tool calls may try.

A mask that appears only for a PIN would reveal it by trying numbers, so only a few are compared. Above that, every
number as long as a PIN is masked.
"""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
import hmac
from itertools import permutations
from secrets import token_bytes

from homeassistant.util import dt as dt_util

from ..languages.digits import MASK, Digits, digit_runs
from ..support.masking import CODE

COMPARED = 10
"""Different numbers that are no PIN, of which it is shown that they are none, within `WINDOW`; all of the home together."""
MOST = 100
"""Numbers as long as a PIN in one run of digits: a longer run is masked in any case."""
WINDOW = timedelta(days=1)
WRONG = 9
"""PINs that one person may get wrong within `LOCKED`: each question allows a few, and there is no end of questions."""
LOCKED = timedelta(hours=1)
WRONG_IN_ALL = 27
"""PINs that all users together may get wrong within `LOCKED_IN_ALL`."""
LOCKED_IN_ALL = timedelta(days=1)


CODES = 5
"""Different codes that tool calls may hand to locks, alarms and other actions within `CODES_WINDOW`."""
CODES_WINDOW = timedelta(days=1)
_MAX_DEPTH = 6


class CodeTries:
    """Codes that tool calls have handed on, for any user, right or wrong: an alarm need not say which it was."""

    def __init__(self) -> None:
        """Start with none."""
        self._key = token_bytes(16)
        self._tried: dict[bytes, datetime] = {}

    def allow(self, codes: Iterable[str], *, note: bool = False) -> bool:
        """Return whether these may be tried now; with `note` they are, and count from now on. One that was tried counts once."""
        now = dt_util.utcnow()
        self._tried = {code: when for code, when in self._tried.items() if when > now - CODES_WINDOW}
        new = {hmac.digest(self._key, code.encode(errors="replace"), "sha256") for code in codes} - self._tried.keys()
        if len(self._tried) + len(new) > CODES:
            return False
        if note:
            self._tried |= dict.fromkeys(new, now)
        return True


def codes_in(value: object, name: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the codes among arguments, however deep; `name` is that of the argument."""
    match value:
        case Mapping() if depth < _MAX_DEPTH:
            for key, item in value.items():
                yield from codes_in(item, name if CODE.fullmatch(name) else str(key).strip(), depth + 1)
        case list() | tuple() if depth < _MAX_DEPTH:
            for item in value:
                yield from codes_in(item, name, depth + 1)
        case None | bool():
            return
        case _ if CODE.fullmatch(name) and (text := str(value).strip()):
            yield text


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
        self._shown: dict[bytes, datetime] = {}
        self._all_wrong: deque[datetime] = deque(maxlen=WRONG_IN_ALL)
        self._wrong: defaultdict[Hashable, deque[datetime]] = defaultdict(lambda: deque(maxlen=WRONG))
        self._key = token_bytes(16)
        self._secrets = frozenset(map(self._digest, secrets))

    def needed(self, reasons: Iterable[str]) -> str:
        """Return what has to be said with a yes: the PINs of all reasons, one after the other, each once; "" for none."""
        return "".join(dict.fromkeys(self._by_reason[reason] for reason in reasons if reason in self._by_reason))

    def accepts(self, who: Hashable, needed: str, given: str) -> bool:
        """Return whether the user gave the right PIN; False while the user is locked out."""
        if self.locks_out(who):
            return False
        if hmac.compare_digest(self._digest(needed), self._digest(given)):
            return True
        self._wrong[who].append(dt_util.utcnow())
        self._all_wrong.append(dt_util.utcnow())
        return False

    def locks_out(self, who: Hashable) -> bool:
        """Return whether the user, or all users together, got too many wrong lately."""
        now, wrong = dt_util.utcnow(), self._wrong.get(who)
        if len(self._all_wrong) == WRONG_IN_ALL and self._all_wrong[0] > now - LOCKED_IN_ALL:
            return True
        return wrong is not None and len(wrong) == WRONG and wrong[0] > now - LOCKED

    def _digest(self, pin: str) -> bytes:
        """Return something of one length for every PIN: the time of a comparison shall not tell how long it is."""
        return hmac.digest(self._key, pin.encode(), "sha256")

    def conceal(self, text: str, language: str) -> str:
        """Return a text without what is a PIN, written or spoken."""
        if not self._secrets:
            return text
        runs = [(run, numbers) for run in digit_runs(text, language) if (numbers := self._read(run))]
        hidden, others = set[int](), set[str]()
        for index, (_, numbers) in enumerate(runs):
            # a set of all digests: it takes as long whether there is a PIN among them or not
            if len(numbers) > MOST or not self._secrets.isdisjoint({self._digest(number) for number in numbers}):
                hidden.add(index)
            else:
                others.update(numbers)
            if len(others) > COMPARED:
                break  # all of them are masked
        if not self._may_tell(others):
            hidden = set(range(len(runs)))
        pieces, end = [], 0
        for index in sorted(hidden):
            run = runs[index][0]
            pieces += [text[end : run[0].begin], MASK]
            end = run[-1].end
        return "".join([*pieces, text[end:]])

    def _read(self, run: Sequence[Digits]) -> list[str]:
        """Return the numbers of a run as long as a PIN, with and without the digits that may be articles."""
        numbers, certain = self._numbers(run), [group for group in run if not group.may_be_article]
        return numbers + self._numbers(certain) if 0 < len(certain) < len(run) else numbers

    def _numbers(self, run: Sequence[Digits]) -> list[str]:
        """Return what neighbouring groups of a run are together, if as long as a PIN, at most `MOST` + 1: "47 11" is 4711, too."""
        longest, numbers = max(self._lengths), list[str]()
        for first in range(len(run)):
            number = ""
            for group in run[first : first + longest]:  # each has a digit at least
                number += group.value
                if len(number) > longest or len(numbers) > MOST:
                    break
                if len(number) in self._lengths:
                    numbers.append(number)
        return numbers

    def _may_tell(self, numbers: Iterable[str]) -> bool:
        """Return whether these numbers may be shown to be no PIN now; one that was shown tells nothing new."""
        now = dt_util.utcnow()
        self._shown = {number: when for number, when in self._shown.items() if when > now - WINDOW}
        new = {self._digest(number) for number in numbers} - self._shown.keys()
        if new and len(self._shown) + len(new) > COMPARED:
            return False
        self._shown |= dict.fromkeys(new, now)
        return True
