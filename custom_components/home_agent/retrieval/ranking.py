"""Which entities a request is about: words, places, kinds and what is known about who asks, in one order."""

from collections.abc import Iterable, Sequence

import numpy as np

from .base import Found, Query
from .documents import EntityDocument
from .evidence import Evidence
from .language import NO_LANGUAGE, Language
from .lexical import Flags, Floats, LexicalIndex, Table
from .request import Request, request_of

MAX_GROUP = 120  # entities of a group that the request names come along even beyond the limit

# What each piece of evidence counts, against 1 for every word of the request being found.
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
_SETTING = -0.06  # numbers, selects, buttons, as long as nobody names them
_VECTOR = 0.25  # the nearest by vector, where words say nothing
_BETWEEN_EQUALS = 0.1  # share of that where words say everything

_LEAST = 0.1  # what fits less has nothing to do with the request
_RANK = 20  # of the reciprocal rank: the nearest by vector count _VECTOR, the 20th half of it
_FADE = 0.7  # from one entity that was spoken of to the one before
_BEFORE = 0.7  # a word of the sentence before, against one of this
_NAMED = 0.8  # of the certainty of the best kind: these are what the noun named


class Ranker:
    """All entities, and the order in which a request may mean them."""

    def __init__(self, documents: Iterable[EntityDocument] = ()) -> None:
        """Start with some entities."""
        self._index = LexicalIndex()
        for document in documents:
            self.add(document)

    def __len__(self) -> int:
        """Return the number of entities."""
        return len(self._index)

    def add(self, document: EntityDocument) -> None:
        """Add an entity, or replace it."""
        self._index.add(document)

    def remove(self, entity_id: str) -> None:
        """Forget an entity; nothing happens when it is not there."""
        self._index.remove(entity_id)

    def prepare(self) -> None:
        """Do now what the next `rank` would otherwise do first, after a change: 30 ms for 5,000 entities."""
        _ = self._index.table

    def rank(self, query: Query, language: Language = NO_LANGUAGE, vector_ranks: Sequence[str] = ()) -> list[Found]:
        """Return the best entities first; `vector_ranks` are the ids of the nearest by vector, nearest first.

        At most `query.limit`, more only for the rest of a group that the request names, and nothing that has nothing
        to do with it: a joke that is asked for finds no entity. Takes up to 10 ms for 5,000
        entities and is safe to call in the event loop or in the executor.
        """
        table = self._index.table
        if not table.size:
            return []
        request = _with_previous(query, language, table)
        evidence = Evidence(table, request)
        score = _fit(evidence)
        _know_the_asker(score, evidence, query)
        if query.previous and not evidence.places and not evidence.names:
            before = Evidence(table, request_of(query.previous, language, table.lexicon))
            if before.places:
                score += np.float32(_PLACE_BEFORE) * before.at_place
        _add_vectors(score, evidence, vector_ranks)
        group = _group(evidence, query)
        score += np.float32(_MEMBER) * group
        wanted = query.limit
        if request.everything or evidence.places:
            wanted = max(wanted, min(int(group.sum()), MAX_GROUP))
        return _best(table, score, group, query, wanted)


def _best(table: Table, score: Floats, group: Floats, query: Query, wanted: int) -> list[Found]:
    found: list[Found] = []
    for row in np.argsort(-score - np.float32(_GROUP) * group, kind="stable"):
        entity_id = table.documents[row].entity_id
        if score[row] >= _LEAST and (query.allowed is None or query.allowed(entity_id)):
            found.append(Found(entity_id=entity_id, score=float(score[row]), member=bool(group[row])))
            if len(found) >= wanted:
                break
    return found


def _with_previous(query: Query, language: Language, table: Table) -> Request:
    """Return the request; one that names nothing itself is read together with what was said before."""
    request = request_of(query.text, language, table.lexicon)
    if not query.previous or request.names_kind or request.everything:
        return request
    evidence = Evidence(table, request)
    if evidence.names:
        return request
    before = request_of(query.previous, language, table.lexicon)
    if _contradicts(request, before):
        return request
    places = Evidence(table, before).place_words if evidence.places else frozenset()
    known = {spoken.word for spoken in request.spoken}
    for spoken in before.spoken:
        if spoken.word not in known | places:
            spoken.factor *= _BEFORE
            request.spoken.append(spoken)
    return request


def _contradicts(request: Request, before: Request) -> bool:
    """Return whether what is said now is about another kind of thing: "pause" after "turn on the lights"."""
    now = {kind for spoken in request.spoken for kind, sure in spoken.kinds.items() if sure > 0.6}
    then = {kind for spoken in before.spoken for kind in spoken.kinds}
    return bool(now) and now.isdisjoint(then)


def _fit(evidence: Evidence) -> Floats:
    """Return how well each entity fits what was said."""
    table, asking = evidence.table, evidence.request.asking
    score = evidence.said + np.float32(_NAME) * evidence.covered
    score += np.float32(_PLACE) * evidence.at_place
    score += np.float32(_KIND) * (evidence.noun + evidence.verb * np.float32(_POINTS))
    score += np.float32(_SECONDARY) * ~table.primary
    score += np.float32(_READ_ONLY * min(1.0, max(0.0, 0.3 - asking))) * table.read_only
    score += np.float32(_SETTING) * (table.settings & (evidence.noun < 0.5))
    return score


def _add_vectors(score: Floats, evidence: Evidence, ranks: Sequence[str]) -> None:
    """Add what is near by vector: it decides where words say nothing, and between equals where they say everything."""
    if not ranks:
        return
    unsaid = 1.0 - min(1.0, float(evidence.said.max()))
    weight = _VECTOR * max(_BETWEEN_EQUALS, unsaid)
    for place, entity_id in enumerate(ranks):
        if (row := evidence.table.row_of.get(entity_id)) is not None:
            score[row] += weight * _RANK / (_RANK + place)


def _know_the_asker(score: Floats, evidence: Evidence, query: Query) -> None:
    """Add what the asking device, the conversation and the household say."""
    table = evidence.table
    if query.area_id and not evidence.places:
        score += np.float32(_ASKER) * table.in_area(query.area_id)
    weight = _SPOKEN_OF if evidence.request.names_kind or evidence.names or evidence.places else _MEANT
    for entity_id in query.spoken_of:
        if (row := table.row_of.get(entity_id)) is not None:
            score[row] += weight
        weight *= _FADE
    for entity_id, often in query.habits.items():
        if (row := table.row_of.get(entity_id)) is not None:
            score[row] += _HABIT * often


def _group(evidence: Evidence, query: Query) -> Floats:
    """Return who belongs to what the request names as a whole: "the lights in the kitchen", "everything upstairs".

    1 for a member, a little more for one in the area of the asking device, 0 for everybody when something is named
    more closely ("the ceiling light in the kitchen").
    """
    table, request = evidence.table, evidence.request
    nobody = np.zeros(table.size, dtype=np.float32)
    if evidence.names:
        return nobody
    members = _of_named_kind(evidence)
    if members is None:
        return nobody
    if evidence.places:
        return (members & evidence.at_place).astype(np.float32)
    here = members & table.in_area(query.area_id) if query.area_id else None
    if here is None or not here.any():
        return members.astype(np.float32)
    if request.everything:
        return members + np.float32(_HERE) * here
    return here.astype(np.float32)


def _of_named_kind(evidence: Evidence) -> Flags | None:
    """Return who is of the kind that was named; None when no kind was."""
    table, request = evidence.table, evidence.request
    if request.names_kind and (best := float(evidence.noun.max())) > 0.4:
        members: Flags = evidence.noun >= _NAMED * best
        if request.asking < 0 and not (members & ~table.read_only).any():
            return members
        return members & ~table.read_only if request.asking < 0 else members
    if request.everything and not request.names_kind:  # nobody has what was named: that is not the whole house
        best = float(evidence.verb.max())
        return evidence.verb >= _NAMED * best if best > 0.4 else ~table.read_only & ~table.settings
    return None
