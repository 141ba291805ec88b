"""How an entity is brought back to what it was: service calls for what differs, None where there is no way.

Only what an action concerned is restored; whatever else was set since stays.
"""

from collections.abc import Iterable
from typing import Any

from homeassistant.const import ATTR_SUPPORTED_FEATURES, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import State

from ..turn.plan import ServiceCall
from .domain import Action, Domain, Snapshot, Step
from .domains import DOMAINS, UNKNOWN
from .states import snapshot
from .tolerance import STATE, number_of

_RESTING = frozenset({"off", "standby"})
_MOVING = frozenset({"opening", "closing"})
_POSITION, _TILT = "current_position", "current_tilt_position"
_SET_BY_PRESET = frozenset({"temperature", "target_temp_low", "target_temp_high", "percentage"})
"""What a preset brings along."""


def restoring_calls(before: Snapshot, now: State, aspects: frozenset[str]) -> list[ServiceCall] | None:
    """Return the calls, in their order, that bring these aspects of an entity back; None when they cannot be.

    An empty list: it is already as it was.
    """
    record, current = DOMAINS.get(now.domain, UNKNOWN), snapshot(now)
    different = {name for name in aspects if before.attributes.get(name) != current.attributes.get(name)} - {STATE}
    if STATE in aspects and before.state != current.state:
        different.add(STATE)
    if not different:
        return []
    if record.restore is not None:
        steps = record.restore(before, now, different)
    elif record.stop:
        steps = _to_position(record, before, now, different)
    else:
        steps = _to_values(record, before, now, different)
    calls = [
        ServiceCall(domain=now.domain, service=step.service, entity_ids=(now.entity_id,), data=step.data)
        for step in steps or ()
    ]
    return calls or None


def _to_values(record: Domain, before: Snapshot, now: State, different: set[str]) -> list[Step] | None:
    """Return a step to the state and one per setting. A preset brings its own temperature or speed along."""
    steps: list[Step] = []
    if STATE in different:
        if (step := _to_state(record, before, now)) is None:
            return None
        steps.append(step)
        if before.state in _RESTING:
            return steps
    wanted = {name for name in different if before.attributes.get(name) is not None}
    if "preset_mode" in wanted and before.attributes["preset_mode"] != "none":
        wanted -= _SET_BY_PRESET
    elif "percentage" in wanted:
        wanted.discard("preset_mode")
    done = {step.service for step in steps}
    settings = [action for name in record.values if (action := record.actions[name]).service not in done]
    return [*steps, *_settings(settings, before, now, wanted)]


def _to_state(record: Domain, before: Snapshot, now: State) -> Step | None:
    """Return the step that leads back to the state."""
    service = record.back.get(before.state)
    if record.wakes and now.state in _RESTING and before.state not in _RESTING:
        service = record.wakes
    if service:
        return Step(service) if _can(now, record.actions[service]) else None
    if record.sets_state is None or before.state in (STATE_UNKNOWN, STATE_UNAVAILABLE):
        return None
    service, key = record.sets_state
    number = number_of(before.state) if record.is_number else None
    return Step(service, {key: before.state if number is None else number})


def _to_position(record: Domain, before: Snapshot, now: State, different: set[str]) -> list[Step] | None:
    """Return the steps for what opens and closes: to its positions where it has any, else open or closed."""
    features = int(now.attributes.get(ATTR_SUPPORTED_FEATURES) or 0)
    leaves = now.state in _MOVING and STATE in different and _POSITION not in different
    if leaves:  # it moves, but shows its old position still: to be sent there might mean nothing to it
        different = {*different, _POSITION}
    settable = [action for name in record.values if features & (action := record.actions[name]).feature]
    steps = _settings(settable, before, now, {name for name in different if before.attributes.get(name) is not None})
    is_sent = any(
        field.shows is not None and field.shows[0] == _POSITION and before.attributes.get(_POSITION) is not None
        for action in settable
        for field in action.fields.values()
    )
    if different - {_TILT} and not (is_sent and _POSITION in different):
        ends = before.attributes.get(_POSITION) in (None, 0, 100)
        if not ends or (step := _to_state(record, before, now)) is None:
            return None
        return [step, *steps]
    if leaves and record.actions[record.stop].feature & features:
        return [Step(record.stop), *steps]
    return steps


def _settings(actions: Iterable[Action], before: Snapshot, now: State, wanted: set[str]) -> list[Step]:
    """Return a step for each action that sets any of the wanted attributes."""
    steps: list[Step] = []
    for action in actions:
        shown = {name: field for name, field in action.fields.items() if field.shows is not None}
        names = {name for name, field in shown.items() if field.shows is not None and field.shows[0] in wanted}
        if names & action.together:  # neither goes without the other
            whole = all(
                before.attributes.get(shows[0]) is not None for name in action.together if (shows := shown[name].shows)
            )
            names = names | action.together if whole else names - action.together
        if not names or not _can(now, action):
            continue
        data: dict[str, Any] = {}
        for name, field in shown.items():
            if name in names and field.shows is not None:
                value = before.attributes.get(field.shows[0])
                data[field.key or name] = field.back(value) if field.back is not None else value
        steps.append(Step(action.service, data))
    return steps


def _can(now: State, action: Action) -> bool:
    """Return whether an entity supports an action, as far as it tells."""
    features = now.attributes.get(ATTR_SUPPORTED_FEATURES)
    return features is None or int(features) & action.feature == action.feature
