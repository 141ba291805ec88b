"""What this household does often, from its journal."""

from collections import Counter
from collections.abc import Mapping

from .store import ActionJournal


class Habits:
    """Counts anew when something was done."""

    def __init__(self, journal: ActionJournal) -> None:
        """Read from a journal."""
        self._journal = journal
        self._revision = -1
        self._shares: Mapping[str, float] = {}

    def __call__(self) -> Mapping[str, float]:
        """Return how often each entity was acted on in the days of the journal, 0 to 1, where 1 is the most frequent."""
        if self._revision != self._journal.revision:
            self._revision = self._journal.revision
            actions = self._journal.newest_first(lambda action: action.success and action.undone is None)
            counts = Counter(entity_id for action in actions for entity_id in action.after)
            most = max(counts.values(), default=1)
            self._shares = {entity_id: count / most for entity_id, count in counts.items()}
        return self._shares
