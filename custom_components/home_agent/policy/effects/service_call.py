"""A call of an action of Home Assistant: run for each entity, verified by its state, undone from the state before.

What has not come true when the call returns is waited for; what is under way is not.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, override

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.components.light.const import DOMAIN as LIGHT_DOMAIN
from homeassistant.components.todo.const import TodoServices
from homeassistant.const import (
    ATTR_ASSUMED_STATE,
    ATTR_ENTITY_ID,
    SERVICE_TURN_OFF,
    SERVICE_TURN_ON,
    STATE_UNAVAILABLE,
    STATE_UNKNOWN,
)
from homeassistant.core import (
    CALLBACK_TYPE,
    DOMAIN as HOMEASSISTANT_DOMAIN,
    Context,
    Event,
    EventStateChangedData,
    HomeAssistant,
    State,
    callback,
)
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.util.json import JsonObjectType

from ...home.actions import Expectation, expectation, is_so, reached_members
from ...home.calls_in_words import async_call_in_words, listed_item, run_of, starting, told_data, verb_of
from ...home.contents import TOGGLE, UNFORESEEN
from ...home.domain import Run, Snapshot
from ...home.domains import RUNNERS
from ...home.domains.light import COLOURS
from ...home.exposure import is_exposed, may_tell
from ...home.judgement import GENERIC, Judgement, judge
from ...home.states import restoring_calls, result_of, snapshot
from ...home.tolerance import STATE
from ...home.wording import (
    NoWordsError,
    async_word,
    capitalised,
    name_of,
    value_in_words,
)
from ...support.localize import async_own_text, async_text
from ...turn.plan import ServiceCall
from ...turn.turn import Outcome
from ..following import is_running
from .effect import EffectKind, EffectWatch, Fate, Moment, SubjectChange, Undoing, WayBack

_COLOUR = frozenset({*COLOURS, "color_mode"})
_IT = {
    "turn_on": "confirm_turn_on_it",
    "turn_off": "confirm_turn_off_it",
    "toggle": "confirm_toggle_it",
    "lock": "confirm_lock_it",
    "unlock": "confirm_unlock_it",
    "open": "confirm_open_it",
    "close": "confirm_close_it",
    "disarm": "confirm_disarm_it",
}
"""Of those that are also said of the one thing that was just named."""


@dataclass(eq=False)
class StateWatch(EffectWatch[ServiceCall]):
    """Entities as they were before some calls, and what has become of them."""

    def __post_init__(self) -> None:
        """Remember the states, and what the calls should make of them."""
        self._before = {entity_id: self.hass.states.get(entity_id) for entity_id in self.subjects}
        self._expected = {
            entity_id: _expected(self._before[entity_id], calls) for entity_id, calls in self.subjects.items()
        }

    @override
    def listen(self, subjects: Sequence[str], look: Callable[[str], None]) -> CALLBACK_TYPE:
        @callback
        def changed(event: Event[EventStateChangedData]) -> None:
            look(event.data["entity_id"])

        return async_track_state_change_event(self.hass, list(subjects), changed)

    @override
    def is_settled(self, subject: str) -> bool:
        before, now, expected = self._before[subject], self.hass.states.get(subject), self._expected[subject]
        if expected is None or before is None or before.state == STATE_UNAVAILABLE:
            return True
        if now is None or now.state == STATE_UNAVAILABLE:  # it may come back
            return False
        return expected.reached(before, now) is not False or expected.under_way(now)

    @override
    def outcome(self, subject: str, *, waited: bool) -> Outcome:
        before, now, expected = self._before[subject], self.hass.states.get(subject), self._expected[subject]
        if now is None or now.state == STATE_UNAVAILABLE:
            return Outcome.UNAVAILABLE
        if before is None or expected is None or (reached := expected.reached(before, now)) is None:
            return Outcome.DONE
        if reached:
            return Outcome.REACHED
        if expected.under_way(now) or expected.moved(before, now) or expected.takes > 0:
            return Outcome.CHANGED
        if now.attributes.get(ATTR_ASSUMED_STATE) or not waited:  # its state does not show whether it follows
            return Outcome.DONE
        return Outcome.UNCHANGED

    @override
    def is_back(self, subject: str, outcome: Outcome) -> bool:
        if outcome is not Outcome.CHANGED:
            return super().is_back(subject, outcome)
        expected, now = self._expected[subject], self.hass.states.get(subject)
        return expected is not None and now is not None and expected.under_way(now)


def _expected(before: State | None, calls: Iterable[ServiceCall]) -> Expectation | None:
    """Return what calls, one after the other, should make of an entity."""
    if before is None:
        return None
    expected: Expectation | None = None
    for call in calls:
        found = expectation(before, call)
        expected = expected.and_then(found) if expected and found else found or expected
    return expected


class ServiceCallKind(EffectKind[ServiceCall]):
    """Calls of actions of Home Assistant on entities."""

    effect = ServiceCall
    changes_states = True

    @override
    def judge(self, hass: HomeAssistant, effect: ServiceCall) -> Judgement:
        return judge(hass, effect)

    @override
    async def async_execute(self, hass: HomeAssistant, effect: ServiceCall, subject: str, context: Context) -> None:
        """Call the service for one entity. A call that returns when all it runs is over returns as soon as that has begun."""
        calling = partial(
            hass.services.async_call,
            effect.domain,
            effect.service,
            dict(effect.data),
            True,
            context,
            target={ATTR_ENTITY_ID: subject},
        )
        if (run := run_of(effect)) is None:
            await calling()
        else:
            await _async_start(hass, effect, subject, run, context, calling)

    @override
    def is_so(self, hass: HomeAssistant, effect: ServiceCall, subject: str) -> bool:
        states = [hass.states.get(item) for item in (subject, *reached_members(hass, subject))]
        return all(state is not None and is_so(hass, state, effect) for state in states)

    @override
    def way_back(self, asked: Undoing, subject: str, done: Sequence[SubjectChange]) -> WayBack | None:
        """Return how an entity is restored; None for a group whose members are, and for a runner whose changes are."""
        hass, user, now = asked.hass, asked.user, asked.hass.states.get(subject)
        calls: list[Any] = [call for one in done for call in one.effects]
        only_ran = bool(calls) and all(run_of(call) is not None for call in calls)
        if subject.partition(".")[0] in RUNNERS or only_ran:
            is_left = is_running(now) or any(one.sets_off for one in done)
            return None if is_left else WayBack(fate=Fate.IMPOSSIBLE, label=subject)
        members = now.attributes.get(ATTR_ENTITY_ID) if now is not None else None
        if isinstance(members, (list, tuple, set)) and any(member in asked.subjects for member in members):
            return None
        if not any(one.named for one in done) and not is_exposed(hass, subject, user):
            return WayBack(fate=Fate.HIDDEN, label=subject)
        trace, back = _Trace.of(subject, done), None
        before, may = trace.before.state, user is None or user.permissions.check_entity(subject, POLICY_CONTROL)
        is_known = before not in (STATE_UNAVAILABLE, STATE_UNKNOWN) and is_exposed(hass, subject)
        if now is not None and now.state != STATE_UNAVAILABLE and may and is_known and trace.concerned:
            back = restoring_calls(trace.before, now, trace.concerned)
        if may and (trace.was_so or back == []):
            fate = Fate.ALREADY
        elif back is None or now is None:
            fate = Fate.IMPOSSIBLE
        else:
            fate = Fate.CHANGED if not asked.force and trace.was_changed_since(now) else Fate.BACK
        return WayBack(fate=fate, effects=back or () if fate is Fate.BACK else (), label=subject)

    @override
    def watch(self, hass: HomeAssistant, subjects: Mapping[str, Sequence[ServiceCall]]) -> StateWatch:
        return StateWatch(hass, self, subjects)

    @override
    def is_proven(
        self,
        hass: HomeAssistant,
        effect: ServiceCall,
        subject: str,
        outcome: Outcome | None,
        before: Snapshot | None,
        since: datetime,
    ) -> bool:
        now = hass.states.get(subject)
        if now is None or before is None:
            return False
        if outcome is Outcome.CHANGED:
            expected = expectation(before.as_state(subject), effect)
            return expected is not None and expected.under_way(now)
        if outcome is Outcome.DONE and (subject.partition(".")[0] in RUNNERS or run_of(effect) is not None):
            return now.last_updated >= since  # all that it shows is when it ran last
        return outcome is Outcome.REACHED

    @override
    def repeats(self, effect: ServiceCall) -> bool:
        """Return False for a toggle: what it does depends on the state before."""
        return effect.service != TOGGLE

    @override
    def suits_all(self, effect: ServiceCall) -> bool:
        return (
            not effect.data and effect.domain == LIGHT_DOMAIN and effect.service in (SERVICE_TURN_ON, SERVICE_TURN_OFF)
        )

    @override
    def names(self, effect: ServiceCall) -> tuple[str, ...]:
        """Return its own name; of turning on, off and over also those of the entities' domains and of all domains."""
        if effect.service not in GENERIC:
            return (effect.action,)
        domains = dict.fromkeys((effect.domain, *(item.partition(".")[0] for item in effect.entity_ids)))
        return tuple(f"{domain}.{effect.service}" for domain in dict.fromkeys((*domains, HOMEASSISTANT_DOMAIN)))

    @override
    def started(self, effect: ServiceCall) -> Sequence[str]:
        itself = (effect.action,) if effect.domain in RUNNERS else ()
        return (*itself, *effect.entity_ids) if run_of(effect) is not None else itself

    @override
    def row(
        self, hass: HomeAssistant, effects: Sequence[ServiceCall], subject: str, outcome: Outcome
    ) -> JsonObjectType:
        if (state := hass.states.get(subject)) is None:
            return {"entity_id": subject, "new_state": None, "outcome": outcome.value, "note": "It no longer exists."}
        keys = sorted({key for effect in effects for key in effect.data})
        shown = result_of(state, keys, partial(may_tell, hass))
        return {
            "entity_id": shown.pop("entity_id"),
            "new_state": shown.pop("new_state"),
            "outcome": outcome.value,
            **shown,
        }

    @override
    def shown(self, effect: ServiceCall) -> Sequence[str]:
        return effect.entity_ids if run_of(effect) is None else ()

    @override
    async def async_describe(
        self, hass: HomeAssistant, language: str, effect: ServiceCall, moment: Moment, *, names: str = ""
    ) -> str:
        """Return a call in words, with `names` for entities that are not named; after it the states say what became of it."""
        if moment not in (Moment.ASKED, Moment.PAST):
            return ""
        return await async_call_in_words(hass, language, effect, is_done=moment is Moment.PAST, names=names)

    @override
    async def async_describe_inside(
        self, hass: HomeAssistant, language: str, effect: ServiceCall, user: User | None
    ) -> str:
        if effect.service == UNFORESEEN:
            return await async_text(hass, language, "confirm_unforeseen")
        known = tuple(entity_id for entity_id in effect.entity_ids if is_exposed(hass, entity_id, user))
        said: list[str] = []
        if known or not effect.entity_ids:
            said.append(await self.async_describe(hass, language, replace(effect, entity_ids=known), Moment.ASKED))
        if len(known) < len(effect.entity_ids):
            names, nameless = await async_text(hass, language, "confirm_hidden"), replace(effect, entity_ids=())
            said.append(await self.async_describe(hass, language, nameless, Moment.ASKED, names=names))
        return ", ".join(said)

    @override
    async def async_describe_it(self, hass: HomeAssistant, language: str, effect: ServiceCall) -> str:
        verb = verb_of(effect.action)
        if verb not in _IT or effect.data or starting(effect):
            return ""
        return await async_text(hass, language, _IT[verb])

    @override
    async def async_describe_plainly(self, hass: HomeAssistant, language: str, effect: ServiceCall) -> str:
        """Return a call with its entities and parameters, in the words of device automations, which exist in more languages."""
        domains = {entity_id.partition(".")[0] for entity_id in effect.entity_ids} or {effect.domain}
        if len(domains) > 1:
            raise NoWordsError
        [domain] = domains
        names = ", ".join(name_of(state) for item in effect.entity_ids if (state := hass.states.get(item)) is not None)
        kind = effect.service.replace(f"_{domain}", "").removeprefix("alarm_")  # open_cover, alarm_disarm
        path = f"device_automation.action_type.{kind}"
        action = await async_own_text(hass, language, "device_automation", domain, path, translated=True)
        if action is None or not names:
            action = await async_word(hass, language, "services", domain, f"services.{effect.service}.name")
            action += ": {entity_name}" if names else ""
        details = []
        for key, value in told_data(effect).items():
            path = f"services.{effect.service}.fields.{key}.name"
            field = await async_word(hass, language, "services", domain, path)
            details.append(f"{field}: {value_in_words(key, value)}")
        said = action.replace("{entity_name}", names) + (f" ({', '.join(details)})" if details else "")
        return capitalised(said)

    @override
    async def async_already(
        self, hass: HomeAssistant, language: str, effect: ServiceCall, states: Sequence[State]
    ) -> Sequence[str] | None:
        if not (item := listed_item(effect, TodoServices.REMOVE_ITEM)):
            return None
        return [await async_text(hass, language, "confirm_not_listed", item=item, name=name_of(one)) for one in states]


async def _async_start(
    hass: HomeAssistant, call: ServiceCall, entity_id: str, run: Run, context: Context, calling: Callable[[], Any]
) -> None:
    """Make a call that may take hours, and return as soon as what it runs has begun. Raises why nothing ran; errors propagate."""
    before, known = hass.states.get(entity_id), asyncio.Event()
    if before is not None and (refusal := run.refused(before, call.data)) is not None:
        raise refusal
    runs = False

    @callback
    def look(event: Event[EventStateChangedData]) -> None:
        nonlocal runs
        if event.context.parent_id == context.id:
            runs = True
            known.set()

    @callback
    def end(made: asyncio.Task[object]) -> None:
        if not made.cancelled():
            made.exception()  # seen: nothing waits for it any more
        known.set()

    stop = async_track_state_change_event(hass, [entity_id], look)
    try:
        made = hass.async_create_task(calling(), eager_start=True)
        made.add_done_callback(end)
        await known.wait()
    finally:
        stop()
    if made.done() and not made.cancelled():
        made.result()
    if not runs and before is not None:
        raise run.held_back(before)


@dataclass(frozen=True, slots=True)
class _Trace:
    """What some actions did with one entity."""

    before: Snapshot
    after: Snapshot | None
    expected: Expectation | None
    concerned: frozenset[str]  # aspects that the actions were about, or that moved with them
    was_so: bool  # it was in the requested state before, so that nothing has to be undone

    @classmethod
    def of(cls, entity_id: str, done: Sequence[SubjectChange]) -> _Trace:
        """Return the trace of actions, newest first."""
        before, after = done[-1].before, done[0].after
        assert before is not None  # of an entity the journal always keeps the state
        expected: Expectation | None = None
        for one in reversed(done):
            calls: list[Any] = [*one.effects]
            start = one.before.as_state(entity_id) if one.before is not None else None
            found = _expected(start, calls)
            expected = expected.and_then(found) if expected and found else found or expected
        moved = _differences(before, after) if after else frozenset()
        reached = all(one.outcome in (Outcome.REACHED, Outcome.FAILED) for one in done)
        return cls(before, after, expected, moved | _covered(expected), was_so=reached and not moved)

    def was_changed_since(self, now: State) -> bool:
        """Return whether the entity is neither as the actions left it nor as requested, such as a late shutter."""
        if self.after is None:
            return False
        different = {
            name
            for name in _differences(self.after, snapshot(now)) & self.concerned
            if name == STATE or (now.attributes.get(name) is not None and self.after.attributes.get(name) is not None)
        }
        if not different or self.expected is None:
            return bool(different)
        start = self.before.as_state(now.entity_id)
        if self.expected.reached(start, now) is not True and not self.expected.under_way(now):
            return True
        return not different <= _covered(self.expected)


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


SERVICE_CALLS = ServiceCallKind()
