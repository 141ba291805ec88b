"""What takes back what is done for a while: the opposite of switching, opening and locking; of a value, what it was before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from homeassistant.components.media_player import ATTR_MEDIA_VOLUME_MUTED
from homeassistant.const import SERVICE_VOLUME_MUTE, STATE_OFF, STATE_ON
from homeassistant.core import HomeAssistant, State

from ..home.actions import expectation
from ..home.states import restoring_calls, snapshot
from ..home.tolerance import STATE
from ..policy.confirmation import Call
from ..policy.effects import KINDS
from ..turn.plan import ServiceCall
from ..wishes.wish import Step, Wish, WishKind, WishStatus
from .planning import services_of

_PAIRS = (
    ("turn_on", "turn_off"), ("open_cover", "close_cover"), ("open_cover_tilt", "close_cover_tilt"), ("open_valve", "close_valve"),
    ("lock", "unlock"), ("media_play", "media_pause"), ("start", "return_to_base"),
)  # fmt: skip
_STATES = {"turn_on": STATE_ON, "turn_off": STATE_OFF}
_OPPOSITES: Mapping[str, str] = {
    **dict(_PAIRS),
    **{other: one for one, other in _PAIRS if one != "start"},
    "start_mowing": "dock", "alarm_arm_home": "alarm_disarm", "alarm_arm_away": "alarm_disarm", "alarm_arm_night": "alarm_disarm",
}  # fmt: skip
_VALUES = ("temperature", "humidity")
"""Slots of intents whose handlers do not say what they call, which the called services take as they are."""


def steps_back(hass: HomeAssistant, calls: Iterable[Call]) -> tuple[Step, ...]:
    """Return what takes back calls that are about to be made, the last one first; nothing where one of them has no way back."""
    steps: list[Step] = []
    for call in calls:
        effects = _service_calls(call)
        if len(effects) < len(call.plan.effects):
            return ()
        values = {slot: call.arguments[slot] for slot in _VALUES if slot in call.arguments}
        effects = effects or [replace(one, data=values) for one in call.plan.handled if values]
        back = [each for effect in effects for item in effect.entity_ids for each in _back(hass, effect, item)]
        if not effects or {item for one in back for item in one.entity_ids} != {*call.plan.targets}:
            return ()
        steps.insert(0, Step(effects=tuple(one.as_dict() for one in _together(back)), targets=call.plan.targets))
    return tuple(steps)


def are_so(hass: HomeAssistant, calls: Iterable[Call]) -> bool:
    """Return whether what calls would turn on or off is so already: "leave the lamp on" of one that is on."""
    found = [(one, item) for call in calls for one in _service_calls(call) for item in one.entity_ids]
    return bool(found) and all(
        not one.data
        and one.service in _STATES
        and (state := hass.states.get(item)) is not None
        and state.state == _STATES[one.service]
        for one, item in found
    )


def replaced_ends(waiting: Sequence[Wish], end: Wish) -> list[Wish]:
    """Return the wishes of which another end takes the place: they end the same, and their beginning is done."""
    steps = services_of(end.steps)
    begun = {(wish.conversation_id, wish.message, wish.targets) for wish in waiting if not wish.ends}
    return [
        wish
        for wish in waiting
        if wish.ends
        and services_of(wish.steps) == steps
        and (wish.conversation_id, wish.message, wish.targets) not in begun
    ]


def said_again(waiting: Sequence[Wish], wishes: Sequence[Wish]) -> list[Wish]:
    """Return the wishes that are wished again: the same at the same time, with what ends them, which may be at another time now.

    Timers are as many as were said. What lasts is not wished again by what only begins.
    """
    ended = any(wish.ends for wish in wishes)
    found: dict[str, Wish] = {}
    for wish in wishes:
        if wish.ends or wish.kind is WishKind.TIMER:
            continue
        for one in waiting:
            if one.ends or one.status is not WishStatus.WAITING or not one.is_same(wish):
                continue
            place = one.conversation_id, one.message, one.targets
            ends = [
                each for each in waiting if each.ends and (each.conversation_id, each.message, each.targets) == place
            ]
            if ended or not ends:
                found |= {each.id: each for each in (one, *ends)}
    return [*found.values()]


def is_torn(calls: Sequence[Call]) -> bool:
    """Return whether calls do something and its opposite to one entity: the words for them say two moments, of which one was not seen."""
    effects = [one for call in calls for one in _service_calls(call)]
    done = {(one.service, item) for one in effects for item in one.entity_ids}
    return any((_OPPOSITES.get(service, ""), item) in done for service, item in done)


def _service_calls(call: Call) -> list[ServiceCall]:
    """Return the effects of a call whose outcome states show: those are calls of services."""
    return [cast(ServiceCall, effect) for effect in call.plan.effects if KINDS[effect.kind].changes_states]


def _back(hass: HomeAssistant, effect: ServiceCall, entity_id: str) -> Sequence[ServiceCall]:
    """Return what takes back a call on one entity; nothing where that is not known."""
    opposite = _OPPOSITES.get(effect.service)
    plain = [ServiceCall(domain=effect.domain, service=opposite, entity_ids=(entity_id,))] if opposite else []
    before = hass.states.get(entity_id)
    if before is None or not effect.data:
        return plain
    if effect.service == SERVICE_VOLUME_MUTE:
        data = {ATTR_MEDIA_VOLUME_MUTED: not effect.data.get(ATTR_MEDIA_VOLUME_MUTED)}
        return [replace(effect, entity_ids=(entity_id,), data=data)]
    expected = expectation(before, effect)
    if expected is None:
        return plain
    goal = next(iter(expected.goal.one_of), before.state) if expected.goal is not None else before.state
    left = {name: value for name, value in before.attributes.items() if name not in expected.attributes}
    aspects = frozenset({*expected.attributes, STATE})
    return restoring_calls(snapshot(before), State(entity_id, goal, left), aspects) or plain


def _together(calls: Sequence[ServiceCall]) -> Sequence[ServiceCall]:
    """Return calls with the entities together for which the same is to be done."""
    found: dict[tuple[str, str, str], ServiceCall] = {}
    for call in calls:
        key = call.domain, call.service, repr(sorted(call.data.items()))
        known = found.get(key)
        found[key] = replace(call, entity_ids=(*known.entity_ids, *call.entity_ids)) if known is not None else call
    return [*found.values()]
