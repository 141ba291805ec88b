"""Clauses about who is at home: "Anna arrives", "Anna leaves", "all have left", "I leave"."""

from collections.abc import Iterator, Sequence

from ..wishes.when import Watch
from .clause_reading import ClauseReading

_PERSON = frozenset({"person"})
_HOME = ("home",)
"""A person who is elsewhere may be in a zone: away is all but this."""


def presence(reading: ClauseReading) -> Iterator[tuple[int, Watch]]:
    """Yield who has to be at home, or away, in the ways in which it may be meant; each with how many words say so."""
    people = _People(reading)
    if not people.numbers and not reading.context.counted:
        return
    for key, spots in reading.phrases(reading.vocabulary.states):
        speaker, _, place = key.rpartition("_")
        if place in ("home", "away"):
            rest = set(reading.rest(spots))
            found = people.of_whom(place, spots, rest) if not speaker else None
            if speaker and not rest:
                found = people.of_all(speaker, place) if speaker == "none" else people.of_speaker(speaker, place)
            if found is not None:
                yield len(spots), found


class _People:
    def __init__(self, reading: ClauseReading) -> None:
        self._reading = reading
        self.numbers = sorted(reading.things.in_domains(_PERSON))
        self._are_all = reading.context.people.issubset(map(reading.entity_id, self.numbers))

    def of_whom(self, place: str, used: set[int], rest: set[int]) -> Watch | None:
        """Return it of those that the words that are left name."""
        reading = self._reading
        negations = reading.negations(used) & rest
        phrases = ((len(spots), key, spots) for key, spots in reading.phrases(reading.vocabulary.who))
        for _, key, spots in sorted((row for row in phrases if used.isdisjoint(row[2])), key=lambda row: -row[0]):
            left = rest - spots
            if key == "none":
                left -= reading.spots_of(reading.vocabulary.doubled)
            if key in ("me", "we") and left - reading.doubtful <= negations:
                return self.of_speaker(key, place, negated=not negations.isdisjoint(left))
            if not left:
                return self.of_all(key, place)
        return self._of_named(place, rest - negations, negated=bool(negations))

    def _of_named(self, place: str, rest: set[int], *, negated: bool) -> Watch | None:
        """Return it of one person who is named, or of two: "Anna and Ben", "Anna or Ben"."""
        reading = self._reading
        by_spot = {at: reading.things.named(word) & {*self.numbers} for at, word in enumerate(reading.words)}
        joins = {at: key for key, words in reading.vocabulary.joins for at in reading.spots_of([words])}
        joined = {at: key for at, key in joins.items() if by_spot.get(at - 1) and by_spot.get(at + 1)}
        each_of = [by_spot[at] for at in sorted(rest - joined.keys())] or [self._referred_to()]
        if not all(each_of) or len({*joined.values()}) > 1:
            return None
        if not joined:
            found = sorted(set.intersection(*each_of))
            return self._watch(found, negated=(place == "home") is negated) if len(found) == 1 else None
        found = sorted(set[int]().union(*each_of))
        if negated or len(found) != len(each_of):
            return None
        if "all" in joined.values():
            return self._watch(found, every=place == "home", negated=place == "away")
        return self._any(found, place)

    def _referred_to(self) -> set[int]:
        """Return the one person whom the rest of the sentence names: "let Mia in when she is back"."""
        reading = self._reading
        if not reading.may_refer:
            return set()
        said = set[int]().union(*map(reading.things.named, reading.beyond.words)) & {*self.numbers}
        return said if len(said) == 1 else set()

    def of_all(self, key: str, place: str) -> Watch | None:
        """Return it of all people: counted at home where that says it; None where some of them are not known of."""
        if (counted := self._counted(key, place)) is not None:
            return counted
        if not self._are_all or not self.numbers:
            return None
        match key, place:
            case ("none", "home") | ("everybody" | "last", "away"):
                return self._watch(self.numbers, negated=True)
            case ("everybody" | "last", "home") | ("none", "away"):
                return self._watch(self.numbers, every=True)
            case "first", "home":
                return self._watch(self.numbers)
        return self._any(self.numbers, place)

    def _counted(self, key: str, place: str) -> Watch | None:
        """Return it of how many people are at home, None where that does not say it: who comes while others are there."""
        home, is_event = self._reading.context.counted, self._reading.context.is_event
        match key, place:
            case _ if not home:
                return None
            case ("none", "home") | ("everybody" | "last", "away"):
                return Watch(entity_ids=(home,), below=1)
            case ("first", "home") | ("any", "home") if key == "first" or not is_event:
                return Watch(entity_ids=(home,), above=0)
        return None

    def _any(self, numbers: Sequence[int], place: str) -> Watch:
        """Return it of one of some people: as an event each who comes or goes counts, also while others are there."""
        is_event, is_away = self._reading.context.is_event, place == "away"
        return self._watch(numbers, every=is_away and not is_event, negated=is_away, each=is_event)

    def of_speaker(self, speaker: str, place: str, *, negated: bool = False) -> Watch | None:
        """Return it of the user who speaks; "we leave" is all of them, "we come home" is the user at least."""
        reading, is_home = self._reading, (place == "home") is not negated
        if speaker == "we" and not is_home:
            return self.of_all("everybody", "away")
        user = reading.context.user_id
        states = {number: reading.state(number) for number in self.numbers if user}
        own = [n for n, state in states.items() if state is not None and state.attributes.get("user_id") == user]
        return self._watch(own, negated=not is_home) if len(own) == 1 else None

    def _watch(
        self, numbers: Sequence[int], *, every: bool = False, negated: bool = False, each: bool = False
    ) -> Watch:
        ids = tuple(map(self._reading.entity_id, numbers))
        return Watch(entity_ids=ids, states=_HOME, every=every, negated=negated, each=each)
