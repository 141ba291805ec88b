"""What came near a trigger and was not what it waits for, and why not."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homeassistant.core import State
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.trigger import async_extract_entities

from .past_answers import quoted
from .past_clock_triggers import PastTrigger
from .past_triggers import kind_of
from .recorded import PastEvent

MAX_NEAR = 20
_MOST_COUNTED = 2_000  # different changes
_MAX_TOLD = 3  # wanted values and fields of one reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """One kind of change."""

    trigger: str
    """Path of the trigger."""
    count: int
    """How often it came."""
    because: str
    """What it was, and what the trigger asks for, for a model."""


class Misses:
    """Counts what triggers saw and did not take."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._watching: dict[str, list[PastTrigger]] = {}
        self._triggers: Sequence[PastTrigger] = ()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._ranges: dict[tuple[str, str], tuple[float, float]] = {}

    def watch(self, triggers: Sequence[PastTrigger]) -> None:
        """Take the triggers, and look up of which entities each waits for changes."""
        self._triggers = triggers
        self._watching = {}
        for trigger in triggers:
            for entity_id in watched_by(trigger):
                self._watching.setdefault(entity_id, []).append(trigger)

    def note(self, entity_id: str, old: State | None, new: State | None, fired: set[str]) -> None:
        """Note a change; `fired` has the triggers that took it."""
        for trigger in self._watching.get(entity_id, ()):
            if trigger.path not in fired:
                self._count(trigger.path, self._reason(trigger, entity_id, old, new))

    def note_event(self, event: PastEvent, fired: set[str]) -> None:
        """Note an event."""
        for trigger in self._triggers:
            if kind_of(trigger.config) == "event" and trigger.path not in fired:
                self._count(trigger.path, _event_reason(trigger.config, event))

    def _count(self, path: str, reason: str) -> None:
        key = (path, reason)
        if reason and (key in self._counts or len(self._counts) < _MOST_COUNTED):
            self._counts[key] += 1

    def _reason(self, trigger: PastTrigger, entity_id: str, old: State | None, new: State | None) -> str:
        config = trigger.config
        attribute = config.get("attribute")
        if old is None:
            return ""  # it appeared
        if attribute and new is not None and attribute not in new.attributes:
            return f"{entity_id} has no attribute '{attribute}'"
        was, became = _value(old, attribute), _value(new, attribute)
        name = f"'{attribute}' of {entity_id}" if attribute else entity_id
        if kind_of(config) == "numeric_state":
            self._widen(trigger.path, name, became)
            return ""
        if was == became:
            return ""
        went = f"{name} went {quoted(was)} → {quoted(became)}"
        if kind_of(config) == "state":
            asked = _asked(config, was, became)
            return f"{went}; it asks for {asked}" if asked else f"{went}, and not for long enough"
        return f"{went}; that is not '{kind_of(config)}'"

    def _widen(self, path: str, name: str, value: object) -> None:
        try:
            number = float(str(value))
        except ValueError:
            self._count(path, f"{name} was {quoted(value)}, which is no number")
            return
        low, high = self._ranges.get((path, name), (number, number))
        self._ranges[path, name] = (min(low, number), max(high, number))

    def result(self) -> tuple[Near, ...]:
        """Return what came most often."""
        asked = {trigger.path: trigger.config for trigger in self._triggers}
        ranges = [
            Near(
                trigger=path,
                count=1,
                because=f"{name} was between {low:g} and {high:g}; it asks to come "
                + " and ".join(f"{key} {asked[path][key]}" for key in ("above", "below") if key in asked[path]),
            )
            for (path, name), (low, high) in self._ranges.items()
            if path in asked
        ]
        counted = [
            Near(trigger=path, count=count, because=reason)
            for (path, reason), count in self._counts.most_common(MAX_NEAR)
        ]
        return (*counted, *ranges)[:MAX_NEAR]

    def unrecorded(self, left_out: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
        """Yield triggers that wait for an attribute that is not recorded, each with the reason."""
        for trigger in self._triggers:
            attribute = trigger.config.get("attribute")
            for entity_id in watched_by(trigger):
                if attribute and attribute in left_out.get(entity_id, ()):
                    yield trigger.path, f"the attribute '{attribute}' of {entity_id} is not recorded"


def watched_by(trigger: PastTrigger) -> set[str]:
    """Return the entities whose changes a trigger waits for."""
    config: dict[str, Any] = {**trigger.config, "platform": kind_of(trigger.config)}
    if (target := config.get("target")) is not None:
        found = async_extract_referenced_entity_ids(trigger.home, TargetSelection(target), expand_group=False)
        return found.referenced | found.indirectly_referenced
    try:
        return {*async_extract_entities(config)}
    except KeyError:
        return set()


def _value(state: State | None, attribute: str | None) -> object:
    if state is None:
        return None
    return state.attributes.get(attribute) if attribute else state.state


def _asked(config: Mapping[str, Any], was: object, became: object) -> str:
    """Return which field of a state trigger does not fit a change."""
    asked = []
    for key, value, is_not in (
        ("to", became, False),
        ("not_to", became, True),
        ("from", was, False),
        ("not_from", was, True),
    ):
        if (wanted := config.get(key)) is None:
            continue
        listed = wanted if isinstance(wanted, list) else [wanted]
        if (value in listed) is is_not:
            asked.append(f"{key}: {' or '.join(map(quoted, listed[:_MAX_TOLD]))}")
    return ", ".join(asked)


def _event_reason(config: Mapping[str, Any], event: PastEvent) -> str:
    types = config.get("event_type") or ()
    listed = [types] if isinstance(types, str) else [getattr(one, "template", one) for one in types]
    if event.event_type not in listed:
        return ""
    for key, value in (config.get("event_data") or {}).items():
        wanted = getattr(value, "template", value)
        if key not in event.data:
            there = ", ".join(sorted(map(str, event.data))[: _MAX_TOLD * 3])
            return f"{event.event_type} had no '{key}'; it had {there or 'nothing'}"
        if event.data[key] != wanted:
            return f"'{key}' of {event.event_type} was {quoted(event.data[key])}, not {quoted(wanted)}"
    return ""
