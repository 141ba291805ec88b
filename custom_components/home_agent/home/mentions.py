"""Which entities a sentence names, in whatever form its words are said."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from ..support.bounds import in_slices
from ..support.text import fold, is_unspaced, likeness, phrase, runs
from .snapshot import Home, HomeSnapshot

_FORM = 0.8  # likeness from which on two words are forms of one
_ENDING = 2  # letters that a form of a short word may differ by, behind another word of its name
_LONG = 4  # letters of a word that can have another form by itself

type _Name = tuple[Sequence[str], str]
"""The folded words of a name, and its entity."""


@dataclass(slots=True)
class _Index:
    """The names of one snapshot."""

    home: HomeSnapshot
    by_start: dict[str, list[_Name]] = field(default_factory=dict)
    """By the first two letters."""


_INDEXES: WeakKeyDictionary[Home, _Index] = WeakKeyDictionary()  # kept as long as its snapshot is the newest


async def async_mentioned(home: Home, text: str) -> list[str]:
    """Return the entities whose whole name stands in a sentence.

    A name inside a longer one does not count: of "the kitchen light" a "light" is not meant.
    """
    index = await _async_index(home)
    said = [fold(run) for run in runs(text)]
    found: list[tuple[int, int, int, str]] = []  # words, letters, place, entity
    for place, word in enumerate(said):
        starts = {word[:2]}
        if is_unspaced(word):
            starts = {word[begin : begin + size] for begin in range(len(word)) for size in (1, 2)}
        for start in starts:
            for name, entity_id in index.by_start.get(start, ()):
                if length := _said_at(said, place, name):
                    found.append((length, sum(map(len, name)), place, entity_id))
    taken: dict[int, int] = {}
    meant: dict[str, None] = {}
    for length, letters, place, entity_id in sorted(found, key=lambda item: (-item[0], -item[1])):
        places = range(place, place + length)
        if is_unspaced(said[place]):
            meant[entity_id] = None
        elif all(taken.get(at, letters) == letters for at in places):
            taken |= dict.fromkeys(places, letters)
            meant[entity_id] = None
    return list(meant)


async def _async_index(home: Home) -> _Index:
    """Return the names of the home as it is now, read in slices."""
    snapshot = await home.async_get()
    index = _INDEXES.get(home)
    if index is None or index.home is not snapshot:
        index = _Index(snapshot)
        async for entity in in_slices(snapshot.entities.values()):
            for name in {phrase(name) for name in entity.names} - {""}:
                words = [fold(word) for word in name.split()]
                index.by_start.setdefault(words[0][:2], []).append((words, entity.entity_id))
        _INDEXES[home] = index
    return index


def _said_at(said: Sequence[str], place: int, name: Sequence[str]) -> int:
    """Return how many words from a place on are a name, 0 for none."""
    if is_unspaced(name[0]):
        return 1 if "".join(name) in "".join(said[place : place + len(name)]) else 0
    words = said[place : place + len(name)]
    if len(words) == len(name) and all(
        _is_form(word, own, follows=number > 0) for number, (word, own) in enumerate(zip(words, name, strict=True))
    ):
        return len(name)
    return 0


def _is_form(word: str, own: str, *, follows: bool) -> bool:
    if word == own:
        return True
    if len(own) >= _LONG and len(word) >= _LONG:
        return likeness(word, own) >= _FORM
    short = min(len(word), len(own))
    return (
        follows and short > _ENDING and abs(len(word) - len(own)) <= _ENDING and word[: short - 1] == own[: short - 1]
    )
