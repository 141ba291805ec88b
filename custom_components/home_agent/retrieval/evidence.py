"""How well every entity fits a request: its words, its place and its kind, each as a number per entity."""

from functools import cached_property

import numpy as np

from .lexical import Flags, Floats, Postings, Table
from .request import Request, Spoken

_NOUN = 0.9  # what being of the named kind counts, against having the word in the name
_VERB = 0.6  # "dim" points to lights
_AREA = 0.9
_FLOOR = 0.85
_KIND_WEIGHT = (
    1.6  # of a word that no name has, but that says a kind; names have 0.7 (in each) to 9 (in one of thousands)
)
_MATCH = 0.75  # likeness from which on a word counts as found
_NAMING = 0.9  # the weight from which on a word can name an entity
_ENOUGH = 1.0  # weight of words below which a request says little, however well it fits
_SAID = 0.7  # likeness from which on a word of a place counts as said


class Evidence:
    """What a request says about every entity of a table."""

    def __init__(self, table: Table, request: Request) -> None:
        """Look up every word of the request."""
        self.table = table
        self.request = request
        self._rooms = {name for name, text in enumerate(table.place_texts) if text in request.rooms}
        for spoken in request.spoken:
            self._leave_other_rooms(spoken)
        self.places = self._places()
        self._look()

    def _look(self) -> None:
        table = self.table
        total = 0.0
        said = np.zeros(table.size, dtype=np.float32)
        self.verb = np.zeros(table.size, dtype=np.float32)
        self.noun = np.zeros(table.size, dtype=np.float32)
        self.names = False
        for spoken in self.request.spoken:
            weight = self.weight(spoken)
            if not weight:
                continue
            kind = self._kind(spoken)
            words = self._words(spoken)
            strength = _NOUN if spoken.is_noun else _VERB
            said += np.float32(weight) * np.maximum(words, kind * np.float32(strength))
            total += weight
            self.names = self.names or self._is_name(spoken, weight)
            into = self.noun if spoken.is_noun else self.verb
            np.maximum(into, kind, out=into)
        self.said = said / np.float32(max(total, _ENOUGH))
        self.total = total

    def _leave_other_rooms(self, spoken: Spoken) -> None:
        """Let "Küche" not stand for a "Waschküche" where the house has a kitchen, by whatever name."""
        if any(number in self.table.place_texts[name] for name in self._rooms for number in spoken.alike):
            word, folded = spoken.folded, self.table.lexicon.folded
            spoken.alike = {
                number: how
                for number, how in spoken.alike.items()
                if folded(number) == word or not folded(number).endswith(word)
            }

    def weight(self, spoken: Spoken) -> float:
        """Return how much a word says: the rarer among the names, the more; nothing when nobody has it."""
        best = max((how for how in spoken.alike.values()), default=0.0)
        weight = 0.0
        if best >= 0.5:
            known = [n for n, how in spoken.alike.items() if how > 0.9 * best and n < self.table.count]
            weight = float(self.table.weights[known].min()) * best if known else 0.0
        if spoken.kinds:
            sure = max(spoken.kinds.values())
            weight = max(
                weight if spoken.is_noun else weight * best, _KIND_WEIGHT * sure * (1.0 if spoken.is_noun else 0.6)
            )
        return weight * spoken.factor

    def _is_name(self, spoken: Spoken, weight: float) -> bool:
        """Return whether a word names an entity, and not a place or a kind."""
        if (
            spoken.is_noun
            or spoken.is_common
            or spoken.factor < 1
            or weight < _NAMING
            or spoken.word in self.place_words
        ):
            return False
        sure = [number for number, how in spoken.alike.items() if how >= _MATCH]
        return any(self.table.in_names[number] for number in sure if number < self.table.count)

    def _kind(self, spoken: Spoken) -> Floats:
        table = self.table
        weights = np.zeros(len(table.kinds) + 1, dtype=np.float32)
        for kind, sure in spoken.kinds.items():
            if (number := table.kinds.get(kind)) is not None:
                weights[number] = sure
            elif (
                "." in kind
                and (number := table.kinds.get(kind.partition(".")[0])) is not None
                and not kind.startswith(".")
            ):
                weights[number] = max(weights[number], 0.5 * sure)
        best: Floats = weights[table.sorts].max(axis=1)[table.sort_of]
        return best

    def _words(self, spoken: Spoken) -> Floats:
        table = self.table
        found = table.other_words.best(spoken.alike)
        np.maximum.at(found, table.name_rows, table.name_words.best(spoken.alike))
        places = np.zeros(table.place_count, dtype=np.float32)
        np.maximum.at(places, table.place_of, table.place_words.best(spoken.alike))
        np.maximum(found, places[table.areas] * np.float32(_AREA), out=found)
        np.maximum(found, places[table.floors] * np.float32(_FLOOR), out=found)
        return found

    @cached_property
    def covered(self) -> Floats:
        """Return how much of its best fitting name was said, per entity."""
        table = self.table
        sums = self._sums(table.name_words) / np.maximum(table.name_totals, np.float32(0.001))
        covered = np.zeros(table.size, dtype=np.float32)
        np.maximum.at(covered, table.name_rows, sums)
        return covered

    def _sums(self, postings: Postings) -> Floats:
        """Add up, per name, the weights of its words times how alike the best spoken word is."""
        best: dict[int, float] = {}
        for spoken in self.request.spoken:
            for number, how in spoken.alike.items():
                if how > best.get(number, 0.0):
                    best[number] = how
        sums = np.zeros(postings.size, dtype=np.float32)
        count = self.table.count
        postings.add(sums, {n: how * float(self.table.weights[n]) for n, how in best.items() if n < count})
        return sums

    def _places(self) -> list[int]:
        """Return the places that were named in full, and keep their words; "master bedroom" is not "bedroom"."""
        table = self.table
        named = np.flatnonzero(self._said_words(table.place_words) >= np.maximum(table.place_lengths, 1))
        self.place_words: frozenset[str] = frozenset()
        tokens = {name: self._tokens_of(name) for name in {*map(int, named), *self._rooms}}
        kept = [name for name, mine in tokens.items() if not any(mine < other for other in tokens.values())]
        self.place_words = frozenset[str]().union(*(tokens[name] for name in kept))
        return sorted({int(table.place_of[name]) for name in kept} - {0})

    def _said_words(self, postings: Postings) -> Floats:
        """Count, per name, the words that were said."""
        count = self.table.count
        said = {n for spoken in self.request.spoken for n, how in spoken.alike.items() if how >= _SAID and n < count}
        sums = np.zeros(postings.size, dtype=np.float32)
        postings.add(sums, dict.fromkeys(said, 1.0))
        return sums

    def _tokens_of(self, name: int) -> frozenset[str]:
        mine = set(self.table.place_texts[name])
        return frozenset(
            spoken.word
            for spoken in self.request.spoken
            if any(n in mine and how >= _SAID for n, how in spoken.alike.items())
        )

    @cached_property
    def at_place(self) -> Flags:
        """Return who is in one of the named places, by its area or, without one, by its name."""
        table = self.table
        places = np.array(self.places, dtype=np.int32)
        there: Flags = np.isin(table.areas, places) | np.isin(table.floors, places)
        if self.places and (table.areas == 0).any():
            named = np.ones(table.size, dtype=np.bool_)
            for spoken in self.request.spoken:
                if spoken.word in self.place_words:
                    named &= self._words(spoken) >= _SAID
            there |= named & (table.areas == 0)
        return there
