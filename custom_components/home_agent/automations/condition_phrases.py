"""Conditions of an automation, as people say them: "after 21:00", "on weekdays", "if a person is home"."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from homeassistant.const import ATTR_ENTITY_ID, CONF_FOR, CONF_TARGET
from homeassistant.core import valid_entity_id

from ..support.localize import async_own_text
from .phrases import (
    HIDDEN,
    HOME,
    AllOf,
    AnyOf,
    AutomationPart,
    Narrator,
    Opened,
    in_round_brackets,
    listed,
    options_of,
    plain,
    seconds_of,
)
from .template_phrases import friendly
from .trigger_phrases import (
    async_days,
    async_device_part,
    async_fields,
    async_kind,
    async_measured,
    async_names,
    async_sun_moment,
    async_trigger,
)

MAX_DEPTH = 4
MAX_CONDITIONS = 8
_STATE_OF: Mapping[str, str] = {
    "is_on": "on", "is_off": "off", "is_open": "open", "is_closed": "closed", "is_locked": "locked", "is_unlocked": "unlocked",
}  # fmt: skip
_BINARY: Mapping[str, str] = {"open": "on", "closed": "off"}


async def async_condition(phrases: Narrator, condition: object, depth: int = 0) -> str:
    """Return one condition in words."""
    if not isinstance(condition, Mapping):
        return await _async_template(phrases, {"value_template": condition})
    if depth > MAX_DEPTH:
        return HIDDEN
    kind = str(condition.get("condition") or "")
    if kind in _GROUPS:
        told = await _async_group(phrases, condition, kind, depth)
    elif reader := _READERS.get(kind):
        part = options_of(condition)
        told = await reader(phrases, part)
        told = await phrases.whole_of(told, part, _COMMON | _TOLD[kind]) if kind in _TOLD else told
    else:
        told = await _async_named(phrases, kind, condition)
    return await phrases.switched(told, condition)


async def async_conditions(phrases: Narrator, conditions: object, depth: int = 0, *, any_of: bool = False) -> str:
    """Return conditions in a row, that all have to be met or one of them."""
    return await phrases.each(
        listed(conditions), lambda one: async_condition(phrases, one, depth), any_of=any_of, most=MAX_CONDITIONS
    )


_COMMON = frozenset({"alias", "condition", "enabled", "options"})
_TOLD: Mapping[str, frozenset[str]] = {
    "numeric_state": frozenset({"above", "attribute", "below", "entity_id", "value_template"}),
    "state": frozenset({"attribute", "entity_id", "for", "match", "state"}),
    "sun": frozenset({"after", "after_offset", "before", "before_offset"}),
    "template": frozenset({"value_template"}),
    "time": frozenset({"after", "before", "weekday"}),
    "trigger": frozenset({"id"}),
    "zone": frozenset({"entity_id", "zone"}),
}
"""By the kind of a condition, what its reader tells; all else that stands in one is told by its name."""
_GROUPS = frozenset({"and", "or", "not"})
_NOT: Mapping[type[str], str] = {AnyOf: "automation_word_not_one_of", AllOf: "automation_word_not_together"}
"""What is said of several that must not be so: each, or all of them together."""


async def _async_group(phrases: Narrator, condition: AutomationPart, kind: str, depth: int) -> str:
    inner = condition.get("conditions")
    told = await async_conditions(phrases, inner, depth + 1, any_of=kind != "and")
    if kind != "not":
        return told
    key = _NOT.get(type(told), "automation_word_not")
    what = told if key != "automation_word_not" else in_round_brackets(told)
    return Opened(await phrases.text(key, what=what))


async def _async_for(phrases: Narrator, told: str, part: AutomationPart) -> str:
    length = part.get(CONF_FOR)
    if length in (None, "") or seconds_of(length) == 0:
        return told
    return await phrases.text("automation_word_since", what=told, duration=await phrases.length(length))


async def _async_is(
    phrases: Narrator, entity_ids: Sequence[Any], states: object, part: AutomationPart, *, any_of: bool
) -> str:
    """Return that entities are in a state, each with how long it has to be so already."""
    attribute = {"attribute": part["attribute"]} if part.get("attribute") else {}

    async def tell(entity_id: object) -> str:
        state = await phrases.states([] if attribute else [entity_id], states)
        name = await async_names(phrases, {ATTR_ENTITY_ID: entity_id, **attribute})
        return await _async_for(phrases, await phrases.text("automation_word_if_state", name=name, state=state), part)

    return await phrases.each(entity_ids, tell, any_of=any_of)


async def _async_state(phrases: Narrator, part: AutomationPart) -> str:
    ids, states, is_any = listed(part.get(ATTR_ENTITY_ID)), listed(part.get("state")), part.get("match") == "any"
    if ids == [HOME] and list(map(str, states)) == ["0"] and not part.get("attribute"):
        return await _async_for(phrases, await phrases.text("automation_word_if_nobody_home"), part)
    return await _async_is(phrases, ids, states, part, any_of=is_any)


async def _async_numeric(phrases: Narrator, part: AutomationPart) -> str:
    ids, above, below = listed(part.get(ATTR_ENTITY_ID)), part.get("above"), part.get("below")
    if ids == [HOME] and not part.get("attribute") and not part.get("value_template"):
        if above in (0, 0.0) and below is None:
            return await phrases.text("automation_word_if_somebody_home")
        if below in (1, 1.0) and above is None:
            return await phrases.text("automation_word_if_nobody_home")
    has_unit = not part.get("attribute") and not part.get("value_template")
    names = await async_measured(phrases, part, any_of=False)
    low, high = (phrases.measured(value, ids, has_unit=has_unit) for value in (above, below))
    if above is not None and below is not None:
        return await phrases.text("automation_word_if_between", names=names, low=low, high=high)
    if above is not None:
        return await phrases.text("automation_word_if_above", names=names, value=low)
    return await phrases.text("automation_word_if_below", names=names, value=high)


async def _async_time(phrases: Narrator, part: AutomationPart) -> str:
    said: list[str] = []
    given = {side: part[side] for side in ("after", "before") if part.get(side) is not None}
    told = {side: phrases.name(at) if _is_entity(at) else phrases.clock(at) for side, at in given.items()}
    has_entity = any(map(_is_entity, given.values()))
    if len(told) > 1:
        key = "automation_word_between_moments" if has_entity else "automation_word_between_times"
        said.append(await phrases.text(key, begin=told["after"], end=told["before"]))
    elif "after" in told:
        key = "automation_word_after_moment" if has_entity else "automation_word_after_time"
        said.append(await phrases.text(key, time=told["after"]))
    elif told:
        key = "automation_word_before_moment" if has_entity else "automation_word_before_time"
        said.append(await phrases.text(key, time=told["before"]))
    if part.get("weekday"):
        said.append(await async_days(phrases, part["weekday"]))
    row = " ".join(said)
    return Opened(row) if said and isinstance(said[-1], Opened) else row


def _is_entity(value: object) -> bool:
    return valid_entity_id(str(plain(value)))


_SUN: Mapping[tuple[str, str], str] = {
    ("after", "sunset"): "automation_word_if_after_sunset",
    ("before", "sunset"): "automation_word_if_before_sunset",
    ("after", "sunrise"): "automation_word_if_after_sunrise",
    ("before", "sunrise"): "automation_word_if_before_sunrise",
}


async def _async_sun(phrases: Narrator, part: AutomationPart) -> str:
    said: list[str] = []
    for side in ("after", "before"):
        if (event := part.get(side)) is None:
            continue
        offset = part.get(f"{side}_offset")
        if not seconds_of(offset):
            said.append(await phrases.text(_SUN.get((side, str(event)), "automation_word_if_after_sunset")))
            continue
        moment = await async_sun_moment(phrases, str(event), offset)
        key = "automation_word_from_moment" if side == "after" else "automation_word_until_moment"
        said.append(await phrases.text(key, moment=moment))
    return await phrases.joined(said)


async def _async_zone(phrases: Narrator, part: AutomationPart) -> str:
    zone, names = await phrases.names(part.get("zone"), any_of=True), await async_names(phrases, part, any_of=False)
    return await phrases.text("automation_word_if_in_zone", names=names, zone=zone)


async def _async_template(phrases: Narrator, part: AutomationPart) -> str:
    text = str(plain(part.get("value_template")))
    if (found := friendly(text)) is not None:
        return await async_condition(phrases, found, 1)
    return await phrases.text("automation_word_if_template", template=phrases.template(text))


async def _async_trigger(phrases: Narrator, part: AutomationPart) -> str:
    ids = [str(one) for one in listed(part.get("id"))]
    known = [trigger for one in ids for trigger in phrases.triggers.get(one, [one])]

    async def tell(trigger: AutomationPart | str) -> str:
        return phrases.quoted(trigger) if isinstance(trigger, str) else await async_trigger(phrases, trigger)

    what = await phrases.each(known, tell, any_of=True)
    told = await phrases.text("automation_word_if_trigger", what=what)
    return Opened(told) if isinstance(what, AnyOf) else told


async def _async_device(phrases: Narrator, part: AutomationPart) -> str:
    return await _async_for(phrases, await async_device_part(phrases, part, "condition_type"), part)


def _state_of(name: str, entity_id: object) -> str:
    """Return the state that a purpose-specific condition means for an entity: a door that is a sensor is on while it is open."""
    state = _STATE_OF[name]
    return _BINARY.get(state, state) if str(plain(entity_id)).startswith("binary_sensor.") else state


async def _async_named(phrases: Narrator, kind: str, condition: AutomationPart) -> str:
    """Return a purpose-specific condition: by the state that it asks for, else by Home Assistant's name."""
    options, target = condition.get("options"), condition.get(CONF_TARGET)
    part: AutomationPart = options if isinstance(options, Mapping) else {}
    domain, _, name = kind.partition(".")
    ids = (
        listed(target.get(ATTR_ENTITY_ID)) if isinstance(target, Mapping) and target.keys() == {ATTR_ENTITY_ID} else []
    )
    is_any = part.get("behavior") != "all"
    if ids and name in _STATE_OF:

        async def tell(entity_id: object) -> str:
            return await _async_is(phrases, [entity_id], _state_of(name, entity_id), part, any_of=True)

        told = await phrases.each(ids, tell, any_of=is_any)
        details = await phrases.in_brackets(await async_fields(phrases, part, ids))
        return f"{in_round_brackets(told)}{details}" if details else told
    known = await async_kind(phrases, kind, "conditions")
    known = known or await async_own_text(phrases.hass, phrases.language, "title", domain, "title") or ""
    said = [await phrases.target(target, any_of=is_any), *await async_fields(phrases, part, ids)]
    details = ", ".join(one for one in said if one)
    told = f"{known or phrases.quoted(kind)} ({details})" if details else known or phrases.quoted(kind)
    if not is_any and len(ids) != 1:
        told = await phrases.text("automation_word_every_one", what=told)
    return await _async_for(phrases, await phrases.text("automation_word_if_named", what=told), part)


_READERS: Mapping[str, Callable[[Narrator, AutomationPart], Awaitable[str]]] = {
    "device": _async_device,
    "numeric_state": _async_numeric,
    "state": _async_state,
    "sun": _async_sun,
    "template": _async_template,
    "time": _async_time,
    "trigger": _async_trigger,
    "zone": _async_zone,
}
