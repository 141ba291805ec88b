"""What things are called: one index of the names and aliases of entities, areas and floors.

It answers which names stand in a text, what is called exactly so, and what is called nearly so, in time that grows with the text and
not with the home. It is made once; from then on only what has other names than before is taken out and put in.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import nlargest
from itertools import chain

from ..support.bounds import in_slices
from ..support.nearness import distance, grams, likeness, overlap
from ..support.text import MAX_TEXT, MAX_WORD, Words, fold, is_unspaced, phrase, runs, spoken_words
from .taught_names import AREA, FLOOR

MAX_WORDS = 24  # of one name; what is behind them is not looked at
MAX_LOOKED_AT = 4000  # characters of a text of which the stems are taken
STEM = 4  # letters by which a word is known in any form; two of a script without spaces
_FORM = 0.8  # likeness from which on two words are forms of one
_ENDING = 2  # letters that a form of a short word may differ by, behind another word of its name
_ALONE = 4  # letters of a word that can have another form by itself
_LEAST_LIKENESS = 0.3  # of 1; below, a suggestion would only confuse
_SAME_DOMAIN = 0.1  # what the domain that was asked for adds
_COMPARED = 100  # entities with the most words in common
_MANY = 500  # entities with a word in common
_SHORTLIST = 12

type Labels = Mapping[str, Sequence[str]]
"""Names by subject: an entity id, `area:<id>` or `floor:<id>`."""
type _Subjects[K] = dict[K, frozenset[str]]


@dataclass(frozen=True, slots=True)
class NameIndex:
    """Names by their words, at one moment; what changes is another index, which shares what stayed."""

    labels: Labels = field(default_factory=dict)
    _called: _Subjects[Words] = field(default_factory=dict)
    """Subjects by the folded words of a name."""
    _begun: _Subjects[Words] = field(default_factory=dict)
    """The same by the first words of a name, however many."""
    _having: _Subjects[str] = field(default_factory=dict)
    """Subjects by a word of a name or the domain; by the longest one with `*` in front, by one of the entity id with a dot."""
    _words: _Subjects[str] = field(default_factory=dict)
    """Words by their trigrams, and by their first letter with `^` in front."""

    def changed(self, labels: Labels) -> NameIndex:
        """Return the index of these names; the time grows with the number of names that differ."""
        return deque(self._steps(labels), maxlen=1).pop()

    async def async_changed(self, labels: Labels) -> NameIndex:
        """Return the same as `changed`, built in slices."""
        index = self
        async for step in in_slices(self._steps(labels)):
            index = step
        return index

    def _steps(self, labels: Labels) -> Iterator[NameIndex]:
        """Yield this index after each short piece of work, and the index of these names at the end."""
        gone, new = _Rows(), _Rows()
        for rows, names, others in ((gone, self.labels, labels), (new, labels, self.labels)):
            for subject, called in names.items():
                if others.get(subject) != called:
                    rows.add(subject, called)
                yield self
        if not gone.having and not new.having:
            yield self
            return
        index = NameIndex(labels, dict(self._called), dict(self._begun), dict(self._having), dict(self._words))
        yield self
        for _ in chain(
            _merge(index._called, gone.called, new.called),
            _merge(index._begun, gone.begun, new.begun),
            _merge(index._having, gone.having, new.having),
        ):
            yield self
        unused, known = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        for grams_of, rows in ((unused, gone), (known, new)):
            for word in (key.lstrip(".*") for key in rows.having):
                if rows is new or not (word in index._having or f".{word}" in index._having):
                    for gram in (*grams(word), f"^{word[:1]}"):
                        grams_of[gram].add(word)
                yield self
        for _ in _merge(index._words, unused, known):
            yield self
        yield index

    def called(self, text: str) -> list[str]:
        """Return the subjects of this name; without an exact match those that differ in accents."""
        said = spoken_words(text) or runs(text)
        found = self._called.get(tuple(map(fold, said)), frozenset())
        exact = [one for one in found if any((spoken_words(name) or runs(name)) == said for name in self.labels[one])]
        return sorted(exact or found)

    def standing_in(
        self, said: Sequence[str], forms: Callable[[str, bool], Iterable[str]]
    ) -> Iterator[tuple[int, Words, str]]:
        """Yield the names that stand among folded words: from which on, the words of the name, and whose it is.

        `forms` returns the words of the home that a said one is a form of; its second argument: another word of the name is before it.
        """
        for start in range(len(said)):
            begun: list[Words] = [()]
            for place in range(start, len(said)):
                follows = place > start
                longer = ((*first, word) for first in begun for word in forms(said[place], follows))
                begun = [words for words in longer if words in self._begun]
                if not begun:
                    break
                for words in begun:
                    for subject in sorted(self._called.get(words, ())):
                        yield start, words, subject

    def beginning_like(self, word: str) -> frozenset[str]:
        """Return the words of names that begin with the same two letters as a folded word."""
        return self._words.get(f"^{word}$"[:3], frozenset())

    def mentioned_in(self, text: str) -> list[str]:
        """Return the entities whose whole name stands in a text, in any form of its words.

        A name inside a longer one does not count: of "the kitchen light" a "light" is not meant.
        """
        known: dict[tuple[str, bool], list[str]] = {}

        def forms(word: str, follows: bool) -> list[str]:
            if (found := known.get((word, follows))) is None:
                likely = self.beginning_like(word)
                found = known[word, follows] = [own for own in likely if _is_form(word, own, follows=follows)]
            return found

        said = [fold(word) for word in spoken_words(text)]
        found = [
            (len(words), sum(map(len, words)), start, subject)
            for start, words, subject in self.standing_in(said, forms)
            if not subject.startswith((AREA, FLOOR))
        ]
        taken: dict[int, int] = {}
        meant: dict[str, None] = {}
        for length, letters, start, subject in sorted(found, key=lambda item: (-item[0], -item[1])):
            places = range(start, start + length)
            if all(taken.get(at, letters) == letters for at in places):
                taken |= dict.fromkeys(places, letters)
                meant[subject] = None
        return list(meant)

    def with_stem(self, stem: str, *, longest: bool = False) -> Iterator[frozenset[str]]:
        """Yield what has a word in a name, or is of a domain, that begins so, as `stems_of` has it; with `longest` the longest one."""
        for word in self.beginning_like(stem):
            if word[:STEM] == stem and (subjects := self._having.get(f"*{word}" if longest else word)):
                yield subjects

    def nearly_said(self, said: Iterable[str]) -> list[tuple[str, Words]]:
        """Return the names of several words, each of which is one of these folded words, or mistyped, and whose they are."""
        counts: Counter[str] = Counter()
        near = {own for word in said for own in self._words.get(f"^{word[:1]}", ()) if is_near(word, own)}
        for word in near:
            counts.update(self._having.get(word, ()))
        return [
            (subject, own)
            for subject, count in counts.items()
            if count > 1
            for own in map(folded_words, self.labels[subject])
            if len(own) > 1 and near.issuperset(own)
        ]

    def near(self, text: str) -> list[str]:
        """Return the few entities whose name or id is most like a text, which may have a domain in front; best first."""
        domain, _, name = text.rpartition(".")
        found: list[set[str]] = []
        for word in stems_of(name, length=None):
            counts = Counter(own for gram in grams(word) for own in self._words.get(gram, ()))
            similar = [
                own for own, count in counts.items() if 2 * count >= min(len(word), len(own))
            ]  # half of the trigrams
            found.append({one for own in similar for key in (own, f".{own}") for one in self._having.get(key, ())})
        shared: dict[str, float] = defaultdict(float)
        for subjects in sorted(filter(None, found), key=len):  # what many have tells only what else is said apart
            for one in subjects if len(subjects) <= _MANY or not shared else shared.keys() & subjects:
                shared[one] += 1 + 1 / len(subjects)
        wanted = grams(fold(phrase(name)))
        scored: list[tuple[float, str]] = []
        for subject in nlargest(_COMPARED, shared, key=lambda one: (shared[one], one)):
            own_domain, _, object_id = subject.partition(".")
            labels = (object_id, *self.labels[subject])
            score = max(overlap(wanted, grams(fold(phrase(label)))) for label in labels)
            if object_id and score >= _LEAST_LIKENESS:
                scored.append((score + _SAME_DOMAIN * (domain == own_domain), subject))
        return [subject for _, subject in nlargest(_SHORTLIST, scored)]


class _Rows:
    def __init__(self) -> None:
        self.called: dict[Words, set[str]] = defaultdict(set)
        self.begun: dict[Words, set[str]] = defaultdict(set)
        self.having: dict[str, set[str]] = defaultdict(set)

    def add(self, subject: str, names: Iterable[str]) -> None:
        """Add a subject with its names."""
        for name in names:
            words = folded_words(name)
            if words:
                self.called[words].add(subject)
            for count in range(1, len(words) + 1):
                self.begun[words[:count]].add(subject)
            parts = stems_of(name, length=None)
            for word in parts.union(words):
                self.having[word].add(subject)
            if parts:
                self.having[f"*{max(sorted(parts), key=len)}"].add(subject)
        domain, _, object_id = subject.partition(".")
        for word in stems_of(object_id, length=None):
            self.having[f".{word}"].add(subject)
        for word in stems_of(domain, length=None) if object_id else ():
            self.having[word].add(subject)


def _merge[K](table: dict[K, frozenset[str]], gone: Mapping[K, set[str]], new: Mapping[K, set[str]]) -> Iterator[None]:
    """Take subjects out of a table and put others in, one key after the other."""
    for key, subjects in gone.items():
        if left := table.pop(key, frozenset()) - subjects:
            table[key] = left
        yield
    for key, subjects in new.items():
        table[key] = table.get(key, frozenset()) | subjects
        yield


def folded_words(name: str) -> Words:
    """Return the folded words of a name as they follow one another; of one that is a picture, the picture."""
    return tuple(map(fold, (spoken_words(name) or runs(name))[:MAX_WORDS]))


def stems_of(text: str, *, length: int | None = STEM) -> set[str]:
    """Return how the folded words of a text begin, and of scripts without spaces all pairs of characters and the last one."""
    found: set[str] = set()
    for begin in range(0, min(len(text), MAX_LOOKED_AT), MAX_TEXT - MAX_WORD):
        for run in runs(text[begin : begin + MAX_TEXT]):
            if is_unspaced(run):
                found.update(fold(run[place : place + 2]) for place in range(len(run)))
            else:
                found.add(fold(run)[:length])
    return found


def _is_form(word: str, own: str, *, follows: bool) -> bool:
    """Return whether a folded word is another in some form; a short one only behind another word of its name."""
    if word == own:
        return True
    if len(own) >= _ALONE and len(word) >= _ALONE:
        return likeness(word, own) >= _FORM
    short = min(len(word), len(own))
    return (
        follows and short > _ENDING and abs(len(word) - len(own)) <= _ENDING and word[: short - 1] == own[: short - 1]
    )


@lru_cache(maxsize=1024)  # a large home has few words, and many things called by them
def is_near(word: str, own: str) -> bool:
    """Return whether a folded word is one of a name, a form of it, or looks like it mistyped: one letter in eight of both."""
    wrong = max(1, (len(word) + len(own)) // 8)
    if word == own or len(own) < _ALONE or word[:1] != own[:1]:
        return word == own
    return likeness(word, own) >= _FORM or (abs(len(word) - len(own)) <= wrong and distance(word, own) <= wrong)
