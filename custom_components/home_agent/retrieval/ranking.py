"""Which entities a request is about: words, places, kinds and what is known about who asks, in one order."""

from collections.abc import Iterable, Sequence

import numpy as np

from .base import Found, Query
from .documents import EntityDocument
from .evidence import Evidence
from .language import NO_LANGUAGE, Language
from .lexical import Floats, LexicalIndex, Table
from .request import request_of

_NAME = 0.35  # what it counts that the whole name was said, against all words of the request being found
_PLACE = 0.25
_KIND = 0.25
_SECONDARY = 0.15
_READ_ONLY = 0.15
_SETTING = 0.06
_VECTOR = 0.25
_RANK = 20


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

        At most `query.limit`, more only for the rest of a group that the request names. Takes up to 10 ms for 5,000
        entities and is safe to call in the event loop or in the executor.
        """
        table = self._index.table
        if not table.size:
            return []
        evidence = Evidence(table, request_of(query.text, language, table.lexicon))
        score = self._score(evidence, query)
        if vector_ranks:
            self._fuse(score, table, vector_ranks)
        order = np.argsort(-score, kind="stable")
        found = []
        for row in order[: 4 * query.limit]:
            document = table.documents[row]
            if query.allowed is None or query.allowed(document.entity_id):
                found.append(Found(entity_id=document.entity_id, score=float(score[row])))
            if len(found) == query.limit:
                break
        return found

    def _score(self, evidence: Evidence, query: Query) -> Floats:
        table = evidence.table
        score = evidence.said + np.float32(_NAME) * evidence.covered
        if evidence.places:
            score += np.float32(_PLACE) * evidence.at_place
        score += np.float32(_KIND) * np.maximum(evidence.noun, evidence.kind * np.float32(0.6))
        score -= np.float32(_SECONDARY) * ~table.primary
        score -= np.float32(_READ_ONLY * max(0.0, 0.3 - evidence.request.asking)) * table.read_only
        score -= np.float32(_SETTING) * table.settings * (evidence.noun < 0.5)
        return score

    def _fuse(self, score: Floats, table: Table, vector_ranks: Sequence[str]) -> None:
        for place, entity_id in enumerate(vector_ranks):
            if (row := table.row_of.get(entity_id)) is not None:
                score[row] += _VECTOR * _RANK / (_RANK + place)
