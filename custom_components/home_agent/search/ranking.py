"""Which entities a request is about: words, places, kinds and what is known about who asks, in one order."""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from ..languages.vocabulary import NO_LANGUAGE, Language
from .entity_documents import EntityDocument
from .lexical import Flags, Floats, IndexedEntity, Lexicon, Table
from .model import FoundEntity, Query
from .request import Request, Spoken, request_of

CLOSE = 0.7  # share of the best score from which on an entity fits about as well as the best one: all of these are told
FEW = 6  # so many are told even when they fit less well: what was meant may have been said badly
LEAST = 0.35  # share of the best score below which nothing is told
MAX_GROUP = 120  # entities of a group that the request names come along even beyond the limit

# How much a word says.
_NOUN = 0.9  # what being of the named kind counts, against having the word in the name
_VERB = 0.6  # "dim" points to lights
_AREA = 0.9
_FLOOR = 0.85
_KIND_WEIGHT = 1.6  # of a word that no name has, but that says a kind; names have 0.7 (in each) to 9 (one of thousands)
_MATCH = 0.75  # likeness from which on a word counts as found
_NAMING = 0.9  # the weight from which on a word can name an entity
_ENOUGH = 1.0  # weight of words below which a request says little, however well it fits
_SAID = 0.7  # likeness from which on a word of a place counts as said

# What each part of a score counts, against 1 for every word of the request being found.
_NAME = 0.35  # the whole name was said
_PLACE = 0.25  # in the place that was named
_KIND = 0.25  # of the kind that was named
_POINTS = 0.5  # of it, for words that point to the kind without naming it
_GROUP = 10.0  # a member of the group that was named comes before everything else
_MEMBER = 0.3  # what that adds to its score
_HERE = 0.1  # such a member in the area of the asking device
_ASKER = 0.06  # anything else there
_PLACE_BEFORE = 0.12  # in the place of the sentence before, where this one names none ("and the humidity there?")
_SPOKEN_OF = 0.08  # the entity that was spoken of last
_MEANT = 0.6  # the same when the request names nothing itself ("turn it off")
_HABIT = 0.06
_SECONDARY = -0.15  # a setting or diagnosis of its device
_READ_ONLY = -0.15  # can be asked but not told
_SETTING = -0.06  # numbers, selects, buttons, as long as they are not named
_VECTOR = 0.25  # the nearest by vector, where words say nothing
_BETWEEN_EQUALS = 0.1  # share of that where words say everything

_LEAST = 0.1  # what fits less has nothing to do with the request
_RANK = 20  # of the reciprocal rank: the nearest by vector count _VECTOR, the 20th half of it
_FADE = 0.7  # from one entity that was spoken of to the one before
_BEFORE = 0.7  # a word of the sentence before, against one of this
_NAMED = 0.8  # of the certainty of the best kind: these are what the noun named


def relevant(found: Sequence[FoundEntity]) -> list[FoundEntity]:
    """Return what is worth telling a model, best first: whole groups, all that fit about as well, and a few more."""
    best = max((item.score for item in found), default=0.0)
    return [item for rank, item in enumerate(found) if item.score >= best * (CLOSE if rank >= FEW else LEAST)]


class Ranker:
    """All entities, and the order in which a request may mean them."""

    def __init__(self, documents: Iterable[EntityDocument] = ()) -> None:
        """Start with some entities."""
        self.lexicon = Lexicon()
        self._entries: dict[str, IndexedEntity] = {}
        self.change((), documents)

    def change(self, gone: Iterable[str], new: Iterable[EntityDocument]) -> None:
        """Forget entities, add or replace others, and make the arrays for `rank`: 30 ms for 5,000 entities."""
        for entity_id in gone:
            self._entries.pop(entity_id, None)
        self._entries |= {document.entity_id: IndexedEntity.of(document, self.lexicon) for document in new}
        self.table = Table(list(self._entries.values()), self.lexicon)

    def rank(
        self, query: Query, language: Language = NO_LANGUAGE, vector_ranks: Sequence[str] = ()
    ) -> list[FoundEntity]:
        """Return the best entities first; `vector_ranks` are the ids of the nearest by vector, nearest first.

        At most `query.limit`, and further members of a group that the request names; unrelated entities are left out. Takes up to
        10 ms for 5,000 entities.
        """
        table = self.table
        if not table.size:
            return []
        scoring = Scoring(table, _with_previous(query, language, table))
        score = scoring.fit()
        scoring.add_asker(score, query)
        if query.previous and not scoring.places and not scoring.names:
            before = Scoring(table, request_of(query.previous, language, table.lexicon))
            if before.places:
                score += np.float32(_PLACE_BEFORE) * before.at_place
        if vector_ranks:  # they decide where words say nothing, and between equals where words say everything
            weight = _VECTOR * max(_BETWEEN_EQUALS, 1.0 - min(1.0, float(scoring.said.max())))
            for place, entity_id in enumerate(vector_ranks):
                if (row := table.row_of.get(entity_id)) is not None:
                    score[row] += weight * _RANK / (_RANK + place)
        group = scoring.group(query.area_id)
        score += np.float32(_MEMBER) * group
        wanted = query.limit
        if scoring.request.everything or scoring.places:
            wanted = max(wanted, min(int(group.sum()), MAX_GROUP))
        found: list[FoundEntity] = []
        for row in np.argsort(-score - np.float32(_GROUP) * group, kind="stable"):
            entity_id = table.documents[row].entity_id
            if score[row] >= _LEAST and (query.allowed is None or query.allowed(entity_id)):
                found.append(FoundEntity(entity_id=entity_id, score=float(score[row]), member=bool(group[row])))
                if len(found) >= wanted:
                    break
        return found


def _with_previous(query: Query, language: Language, table: Table) -> Request:
    """Return the request; one that names nothing itself is read together with what was said before."""
    request = request_of(query.text, language, table.lexicon)
    if not query.previous or request.names_kind or request.everything:
        return request
    scoring = Scoring(table, request)
    if scoring.names:
        return request
    before = request_of(query.previous, language, table.lexicon)
    now = {kind for spoken in request.spoken for kind, sure in spoken.kinds.items() if sure > 0.6}
    if now and now.isdisjoint(kind for spoken in before.spoken for kind in spoken.kinds):
        return request  # about another kind of thing: "pause" after "turn on the lights"
    places = Scoring(table, before).place_words if scoring.places else frozenset()
    known = {spoken.word for spoken in request.spoken}
    for spoken in before.spoken:
        if spoken.word not in known | places:
            spoken.factor *= _BEFORE
            request.spoken.append(spoken)
    return request


class Scoring:
    """What a request says about every entity of a table: its words, its place and its kind, each as a number per entity."""

    def __init__(self, table: Table, request: Request) -> None:
        """Look up every word of the request."""
        self.table = table
        self.request = request
        self._rooms = {name for name, text in enumerate(table.place_texts) if text in request.rooms}
        in_rooms = {number for name in self._rooms for number in table.place_texts[name]}
        folded = table.lexicon.folded
        for spoken in request.spoken:  # "Küche" does not mean a "Waschküche" if the home has a kitchen under any name
            if not in_rooms.isdisjoint(spoken.alike):
                spoken.alike = {
                    number: how
                    for number, how in spoken.alike.items()
                    if folded(number) == spoken.folded or not folded(number).endswith(spoken.folded)
                }
        self.place_words: frozenset[str] = frozenset()  # words of the places that were named
        self.places = self._places()  # numbers of these places
        self.names = False  # whether an entity is named, and not only a place or a kind
        self.verb, self.noun, said = (np.zeros(table.size, dtype=np.float32) for _ in range(3))
        total = 0.0
        for spoken in request.spoken:
            if not (weight := self._weight(spoken)):
                continue
            kind = self._kind(spoken)
            strength = _NOUN if spoken.is_noun else _VERB
            said += np.float32(weight) * np.maximum(self._words(spoken), kind * np.float32(strength))
            total += weight
            self.names = self.names or self._is_name(spoken, weight)
            into = self.noun if spoken.is_noun else self.verb
            np.maximum(into, kind, out=into)
        self.said = said / np.float32(max(total, _ENOUGH))

    def _places(self) -> list[int]:
        """Return the places that were named in full, and keep their words; "master bedroom" is not "bedroom"."""
        table, spoken = self.table, self.request.spoken
        near = [(item.word, {n for n, how in item.alike.items() if how >= _SAID}) for item in spoken]
        said = np.zeros(table.place_words.size, dtype=np.float32)
        table.place_words.add(said, {n: 1.0 for _, numbers in near for n in numbers if n < table.count})
        named = {*map(int, np.flatnonzero(said >= np.maximum(table.place_lengths, 1))), *self._rooms}
        words = {
            name: frozenset(word for word, numbers in near if not numbers.isdisjoint(table.place_texts[name]))
            for name in named
        }
        kept = [name for name, mine in words.items() if not any(mine < other for other in words.values())]
        self.place_words = frozenset[str]().union(*(words[name] for name in kept))
        return sorted({int(table.place_of[name]) for name in kept} - {0})

    def _weight(self, spoken: Spoken) -> float:
        """Return how much a word says: the rarer among the names, the more; nothing when no entity has it."""
        best = max(spoken.alike.values(), default=0.0)
        weight = 0.0
        if best >= 0.5:
            known = [n for n, how in spoken.alike.items() if how > 0.9 * best and n < self.table.count]
            weight = float(self.table.weights[known].min()) * best if known else 0.0
        if spoken.kinds:
            of_kind = _KIND_WEIGHT * max(spoken.kinds.values()) * (1.0 if spoken.is_noun else 0.6)
            weight = max(weight if spoken.is_noun else weight * best, of_kind)
        return weight * spoken.factor

    def _is_name(self, spoken: Spoken, weight: float) -> bool:
        if spoken.is_noun or spoken.is_common or spoken.factor < 1 or weight < _NAMING:
            return False
        table = self.table
        return spoken.word not in self.place_words and any(
            how >= _MATCH and number < table.count and table.in_names[number] for number, how in spoken.alike.items()
        )

    def _kind(self, spoken: Spoken) -> Floats:
        """Return how surely each entity is of a kind that the word stands for; half for a class that no entity has."""
        kinds = self.table.kinds
        weights = np.zeros(len(kinds) + 1, dtype=np.float32)
        for kind, sure in spoken.kinds.items():
            domain, _, class_ = kind.partition(".")
            if (number := kinds.get(kind)) is not None:
                weights[number] = sure
            elif domain and class_ and (number := kinds.get(domain)) is not None:
                weights[number] = max(weights[number], 0.5 * sure)
        best: Floats = weights[self.table.sorts].max(axis=1)[self.table.sort_of]
        return best

    def _words(self, spoken: Spoken) -> Floats:
        """Return how well the word is found in each entity: its names, its other words, its area and floor."""
        table = self.table
        found = table.other_words.best(spoken.alike)
        np.maximum.at(found, table.name_rows, table.name_words.best(spoken.alike))
        places = np.zeros(table.place_count, dtype=np.float32)
        np.maximum.at(places, table.place_of, table.place_words.best(spoken.alike))
        np.maximum(found, places[table.areas] * np.float32(_AREA), out=found)
        np.maximum(found, places[table.floors] * np.float32(_FLOOR), out=found)
        return found

    @cached_property
    def at_place(self) -> Flags:
        """Return which entities are in one of the named places, by area or, without one, by name."""
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

    def fit(self) -> Floats:
        """Return how well each entity fits what was said."""
        table, asking = self.table, self.request.asking
        best: dict[int, float] = {}  # number of a word: how alike the best spoken one is
        for spoken in self.request.spoken:
            for number, how in spoken.alike.items():
                best[number] = max(how, best.get(number, 0.0))
        sums = np.zeros(table.name_words.size, dtype=np.float32)
        table.name_words.add(sums, {n: how * float(table.weights[n]) for n, how in best.items() if n < table.count})
        covered = np.zeros(table.size, dtype=np.float32)  # how much of the best fitting name was said
        np.maximum.at(covered, table.name_rows, sums / np.maximum(table.name_totals, np.float32(0.001)))
        score = self.said + np.float32(_NAME) * covered
        score += np.float32(_PLACE) * self.at_place
        score += np.float32(_KIND) * (self.noun + self.verb * np.float32(_POINTS))
        score += np.float32(_SECONDARY) * ~table.primary
        score += np.float32(_READ_ONLY * min(1.0, max(0.0, 0.3 - asking))) * table.read_only
        score += np.float32(_SETTING) * (table.settings & (self.noun < 0.5))
        return score

    def add_asker(self, score: Floats, query: Query) -> None:
        """Add what the asking device, the conversation and the household say."""
        table = self.table
        if query.area_id and not self.places:
            score += np.float32(_ASKER) * table.in_area(query.area_id)
        weight = _SPOKEN_OF if self.request.names_kind or self.names or self.places else _MEANT
        for entity_id in query.spoken_of:
            if (row := table.row_of.get(entity_id)) is not None:
                score[row] += weight
            weight *= _FADE
        for entity_id, often in query.habits.items():
            if (row := table.row_of.get(entity_id)) is not None:
                score[row] += _HABIT * often

    def group(self, area_id: str | None) -> Floats:
        """Return the members of a group that the request names: "the lights in the kitchen", "everything upstairs".

        1 for a member, more in the area of the asking device; 0 for all if a single entity is named.
        """
        members = None if self.names else self._of_named_kind()
        if members is None:
            return np.zeros(self.table.size, dtype=np.float32)
        if self.places:
            return (members & self.at_place).astype(np.float32)
        here = members & self.table.in_area(area_id) if area_id else None
        if here is None or not here.any():
            return members.astype(np.float32)
        return members + np.float32(_HERE) * here if self.request.everything else here.astype(np.float32)

    def _of_named_kind(self) -> Flags | None:
        """Return which entities are of the kind that was named; None when no kind was."""
        table, request = self.table, self.request
        if request.names_kind and (best := float(self.noun.max())) > 0.4:
            members: Flags = self.noun >= _NAMED * best
            can_act = members & ~table.read_only
            return can_act if request.asking < 0 and can_act.any() else members
        if request.everything and not request.names_kind:  # no entity has what was named: that is not the whole home
            best = float(self.verb.max())
            return self.verb >= _NAMED * best if best > 0.4 else ~table.read_only & ~table.settings
        return None
