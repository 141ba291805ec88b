"""What taking back some actions comes to: what can be restored, what cannot, and what somebody else has changed since."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.const import ATTR_ENTITY_ID, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant, State

from ..safety.expectations import Expectation, expectation
from ..safety.permission import is_exposed
from ..safety.plan import ServiceCall
from ..turn import Effect
from .action import Action, Snapshot
from .kept import COLOURS
from .restore import STATE, restoring_calls

_NOT_REACHED = (STATE_UNAVAILABLE, STATE_UNKNOWN)
_COLOUR = frozenset({*COLOURS, "color_mode"})


@dataclass(slots=True, kw_only=True)
class Reversal:
    """The way back."""

    actions: Sequence[Action]
    calls: list[ServiceCall] = field(default_factory=list)
    already: list[str] = field(default_factory=list)
    """Entities that are as they were."""
    changed: list[str] = field(default_factory=list)
    """Entities that were changed since, not by the action: they are left alone."""
    impossible: list[str] = field(default_factory=list)
    """Entities that cannot be restored, and the words of actions that touched none."""

    @property
    def restored(self) -> list[str]:
        """The entities that the calls bring back."""
        return list(dict.fromkeys(entity_id for call in self.calls for entity_id in call.entity_ids))


@dataclass(frozen=True, slots=True)
class _Trace:
    """What some actions, newest first, did with one entity."""

    before: Snapshot
    after: Snapshot | None
    expected: Expectation | None
    concerned: frozenset[str]
    """Aspects that the actions were about, or that moved with them."""
    was_so: bool
    """It was so already: nothing was done, and nothing is to be undone."""


def reversal_of(
    hass: HomeAssistant, actions: Sequence[Action], user: User | None = None, *, force: bool = False
) -> Reversal:
    """Return the way back from some actions, newest first. With `force`, what was changed since is restored as well.

    What the user may control no more cannot be restored; the rest can.
    """
    way = Reversal(actions=actions)
    for action in actions:
        if action.success and not action.before:
            way.impossible.append(action.subject or action.words or action.tool)
    for entity_id in dict.fromkeys(entity_id for action in reversed(actions) for entity_id in action.before):
        state = hass.states.get(entity_id)
        if not _is_group_of(state, actions):
            if user is None or user.permissions.check_entity(entity_id, POLICY_CONTROL):
                _add(hass, way, entity_id, state, _trace(entity_id, actions), force=force)
            else:
                way.impossible.append(entity_id)
    return way


def _add(hass: HomeAssistant, way: Reversal, entity_id: str, now: State | None, trace: _Trace, *, force: bool) -> None:
    if trace.was_so:
        way.already.append(entity_id)
        return
    if not is_exposed(hass, entity_id):  # it may have been, when it was done
        way.impossible.append(entity_id)
        return
    if now is None or now.state == STATE_UNAVAILABLE or trace.before.state in _NOT_REACHED or not trace.concerned:
        way.impossible.append(entity_id)
        return
    calls = restoring_calls(trace.before, now, trace.concerned)
    if calls is None:
        way.impossible.append(entity_id)
    elif not calls:
        way.already.append(entity_id)
    elif not force and _changed_since(trace, now):
        way.changed.append(entity_id)
    else:
        way.calls += calls


def _trace(entity_id: str, actions: Iterable[Action]) -> _Trace:
    about = [action for action in actions if entity_id in action.before]
    before = about[-1].before[entity_id]
    after = about[0].after.get(entity_id)
    expected: Expectation | None = None
    for action in reversed(about):
        start = action.before[entity_id].as_state(entity_id)
        for call in action.calls:
            if entity_id in call.entity_ids and (found := expectation(start, call)) is not None:
                expected = expected.and_then(found) if expected else found
    moved = _differences(before, after) if after else frozenset()
    reached = all(action.effects.get(entity_id) in (Effect.REACHED, Effect.FAILED) for action in about)
    return _Trace(before, after, expected, moved | _covered(expected), was_so=reached and not moved)


def _differences(one: Snapshot, other: Snapshot) -> frozenset[str]:
    names = {*one.attributes, *other.attributes}
    different = {name for name in names if one.attributes.get(name) != other.attributes.get(name)}
    return frozenset(different | ({STATE} if one.state != other.state else set()))


def _covered(expected: Expectation | None) -> frozenset[str]:
    """Return the aspects that were asked for; one form of a colour moves the others along."""
    if expected is None:
        return frozenset()
    names = set(expected.attributes)
    if names & _COLOUR:
        names |= _COLOUR
    if expected.goal is not None or expected.value is not None:
        names.add(STATE)
    return frozenset(names)


def _changed_since(trace: _Trace, now: State) -> bool:
    """Return whether the entity is neither as the action left it nor as the action wanted it.

    A shutter that has arrived meanwhile, or a light that was slow, is as it was wanted.
    """
    if trace.after is None:
        return False
    different = {
        name
        for name in _differences(trace.after, Snapshot.of(now)) & trace.concerned
        if name == STATE or (now.attributes.get(name) is not None and trace.after.attributes.get(name) is not None)
    }
    if not different or trace.expected is None:
        return bool(different)
    start = trace.before.as_state(now.entity_id)
    if trace.expected.reached(start, now) is not True and not trace.expected.under_way(now):
        return True
    return not different <= _covered(trace.expected)


def _is_group_of(state: State | None, actions: Iterable[Action]) -> bool:
    """Return whether an entity stands for others that are restored themselves."""
    members = state.attributes.get(ATTR_ENTITY_ID) if state else None
    if not isinstance(members, (list, tuple, set)) or (state and state.domain == "scene"):
        return False
    return any(member in action.before for action in actions for member in members)
