"""What triggers an automation, as people say it: "when Garage Door opens", "30 minutes before sunset"."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from homeassistant.const import (
    ATTR_DEVICE_CLASS,
    ATTR_ENTITY_ID,
    CONF_FOR,
    CONF_PLATFORM,
    CONF_TARGET,
    STATE_UNAVAILABLE,
    STATE_UNKNOWN,
)
from homeassistant.core import split_entity_id

from ..languages.digits import MASK
from ..support.localize import async_own_text
from ..support.masking import SECRET
from .phrases import (
    HIDDEN,
    HOME,
    UNIT_KEYS,
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

_OPENINGS = frozenset({"door", "garage_door", "opening", "window"})
"""Device classes of binary sensors that are on while something is open."""
_WORDS: Mapping[str, str] = {
    "turned_on": "automation_word_turns_on",
    "turned_off": "automation_word_turns_off",
    "opened": "automation_word_opens",
    "closed": "automation_word_closes",
    "locked": "automation_word_locks",
    "unlocked": "automation_word_unlocks",
    "home": "automation_word_comes_home",
    "not_home": "automation_word_leaves_home",
}
_BY_STATE: Mapping[str, Mapping[str, str]] = {
    "cover": {"open": "opened", "closed": "closed"},
    "valve": {"open": "opened", "closed": "closed"},
    "lock": {"locked": "locked", "unlocked": "unlocked"},
    "person": {"home": "home", "not_home": "not_home"},
    "device_tracker": {"home": "home", "not_home": "not_home"},
    **{
        domain: {"on": "turned_on", "off": "turned_off"}
        for domain in ("automation", "fan", "humidifier", "input_boolean", "light", "remote", "siren", "switch")
    },
}
_SUN: Mapping[tuple[str, str], str] = {
    ("sunset", ""): "automation_word_at_sunset",
    ("sunset", "before"): "automation_word_before_sunset",
    ("sunset", "after"): "automation_word_after_sunset",
    ("sunrise", ""): "automation_word_at_sunrise",
    ("sunrise", "before"): "automation_word_before_sunrise",
    ("sunrise", "after"): "automation_word_after_sunrise",
}
MAX_MOMENTS = 8
_COMMON = frozenset({
    "alias", "condition", "continue_on_error", "enabled", "id", "metadata", "options", "platform", "target", "trigger", "variables",
})  # fmt: skip
"""Keys that every trigger, condition or action may have, which say nothing or are told for all of them."""
_OF_DEVICES = frozenset({"device_id", "discovery_id", "domain", "entity_id", "for", "subtype", "type"})
_TOLD: Mapping[str, frozenset[str]] = {
    "calendar": frozenset({"entity_id", "event", "offset"}),
    "conversation": frozenset({"command"}),
    "event": frozenset({"event_data", "event_type"}),
    "homeassistant": frozenset({"event"}),
    "mqtt": frozenset({"topic"}),
    "numeric_state": frozenset({"above", "attribute", "below", "entity_id", "for", "value_template"}),
    "state": frozenset({"attribute", "entity_id", "for", "from", "not_from", "not_to", "to"}),
    "sun": frozenset({"event", "offset"}),
    "sun.sunrise": frozenset({"offset", "offset_type"}),
    "sun.sunset": frozenset({"offset", "offset_type"}),
    "tag": frozenset({"tag_id"}),
    "template": frozenset({"for", "value_template"}),
    "time": frozenset({"at", "weekday"}),
    "time_pattern": frozenset({"hours", "minutes", "seconds"}),
    "webhook": frozenset({"local_only", "webhook_id"}),
    "zone": frozenset({"entity_id", "event", "zone"}),
}
"""By the kind of a trigger, what its reader tells; all else that stands in one is told by its name."""
_USUAL: Mapping[str, Mapping[str, Any]] = {"mqtt": {"encoding": "utf-8", "qos": 0}}
"""By the kind of a trigger, what Home Assistant fills in."""
_COUNTED = ("hours", "minutes", "seconds")
_A_WHOLE: Mapping[str, int] = {"hours": 24, "minutes": 60, "seconds": 60}
"""How many of a unit there are before it begins again: what does not divide that comes at uneven times."""
_NO_STATES = (STATE_UNAVAILABLE, STATE_UNKNOWN)


async def async_trigger(phrases: Narrator, trigger: AutomationPart) -> str:
    """Return one trigger in words."""
    kind = str(trigger.get(CONF_PLATFORM) or trigger.get("trigger") or "")
    reader = _READERS.get(kind)
    if reader is None:
        told = await _async_named(phrases, kind, trigger)
    else:
        part = options_of(trigger)
        left = {key: value for key, value in part.items() if value != _USUAL.get(kind, {}).get(key)}
        told = await reader(phrases, part)
        told = await phrases.whole_of(told, left, _COMMON | _TOLD[kind]) if kind in _TOLD else told
    return await phrases.switched(told, trigger)


async def _async_stays(phrases: Narrator, told: str, part: AutomationPart, *, has_verb: bool = True) -> str:
    """Add how long it has to stay so."""
    if (length := part.get(CONF_FOR)) in (None, "") or seconds_of(length) == 0:
        return told
    key = "automation_word_stays" if has_verb else "automation_word_stays_named"
    return await phrases.text(key, what=told, duration=await phrases.length(length))


async def async_names(phrases: Narrator, part: AutomationPart, *, any_of: bool = True) -> str:
    """Return the names of the entities of a trigger or a condition, with the attribute that it is about."""
    names = await phrases.names(part.get(ATTR_ENTITY_ID), any_of=any_of) or HIDDEN
    if attribute := part.get("attribute"):
        ids = listed(part.get(ATTR_ENTITY_ID))
        domain = split_entity_id(str(ids[0]))[0] if ids and "." in str(ids[0]) else ""
        path = f"entity_component._.state_attributes.{attribute}.name"
        found = (
            await async_own_text(phrases.hass, phrases.language, "entity_component", domain, path) if domain else None
        )
        told = phrases.cut(found or str(attribute).replace("_", " "))
        return await phrases.text("automation_word_attribute", attribute=told, names=names)
    return names


async def async_measured(phrases: Narrator, part: AutomationPart, *, any_of: bool = True) -> str:
    """Return what is compared with a number: entities, an attribute of them, or what a template makes of them."""
    names = await async_names(phrases, part, any_of=any_of)
    if not part.get("value_template"):
        return names
    template = phrases.quoted(part["value_template"])
    return await phrases.text("automation_word_computed", template=template, names=names)


def _verb(phrases: Narrator, entity_ids: list[Any], state: object) -> str:
    """Return the key of what people say of entities that get into a state; "" if they have no word for all of them."""
    found: set[str] = set()
    for entity_id in map(str, entity_ids):
        verbs = _BY_STATE.get(entity_id.partition(".")[0], {})
        known = phrases.state_of(entity_id)
        if entity_id.startswith("binary_sensor.") and known is not None:
            is_opening = known.attributes.get(ATTR_DEVICE_CLASS) in _OPENINGS
            verbs = {"on": "opened", "off": "closed"} if is_opening else {}
        found.add(verbs.get(str(state), ""))
    return _WORDS.get(found.pop(), "") if len(found) == 1 else ""


async def _async_state(phrases: Narrator, part: AutomationPart) -> str:
    names, ids = await async_names(phrases, part), listed(part.get(ATTR_ENTITY_ID))
    to, before = listed(part.get("to")), listed(part.get("from"))
    others = [state for state in listed(part.get("not_to")) if state not in (*before, *_NO_STATES)]
    about = [] if part.get("attribute") else ids
    if ids == [HOME] and to == ["0"] and not part.get("attribute"):
        told = await phrases.text("automation_word_nobody_left")
    elif len(to) == 1 and not before and not part.get("attribute") and (key := _verb(phrases, ids, to[0])):
        told = await phrases.text(key, names=names)
    elif to and before:
        told = await phrases.text(
            "automation_word_goes",
            names=names,
            before=await phrases.states(about, before),
            state=await phrases.states(about, to),
        )
    elif to:
        told = await phrases.text("automation_word_becomes", names=names, state=await phrases.states(about, to))
    elif before or part.get("not_to"):
        was = await phrases.states(about, before or others or part.get("not_to"))
        told = await phrases.text(
            "automation_word_no_longer" if before else "automation_word_becomes_other", names=names, state=was
        )
    else:
        told = await phrases.text("automation_word_changes", names=names)
    # People take what is so already, or is no state, for no change
    if earlier := [state for state in listed(part.get("not_from")) if state not in (*to, *_NO_STATES)]:
        state = await phrases.states(about, earlier)
        told = await phrases.text("automation_word_not_from", what=told, state=state)
    if before and others:
        told = await phrases.text("automation_word_not_to", what=told, state=await phrases.states(about, others))
    return await _async_stays(phrases, told, part)


async def _async_numeric(phrases: Narrator, part: AutomationPart) -> str:
    ids, above, below = listed(part.get(ATTR_ENTITY_ID)), part.get("above"), part.get("below")
    names, has_unit = await async_measured(phrases, part), not part.get("attribute") and not part.get("value_template")
    low, high = (phrases.measured(value, ids, has_unit=has_unit) for value in (above, below))
    is_home = ids == [HOME] and has_unit
    if is_home and below is None and above in (0, 0.0):
        told = await phrases.text("automation_word_somebody_comes")
    elif is_home and above is None and below in (1, 1.0):
        told = await phrases.text("automation_word_nobody_left")
    elif above is not None and below is not None:
        told = await phrases.text("automation_word_comes_between", names=names, low=low, high=high)
    elif above is not None:
        told = await phrases.text("automation_word_rises", names=names, value=low)
    else:
        told = await phrases.text("automation_word_falls", names=names, value=high)
    return await _async_stays(phrases, told, part, has_verb=False)


async def async_moved(phrases: Narrator, told: str, offset: object) -> str:
    """Add by how much something is earlier or later than what it is told by."""
    seconds = seconds_of(offset)
    if seconds == 0 or offset is None:
        return told
    key = "automation_word_earlier" if seconds is not None and seconds < 0 else "automation_word_later"
    return await phrases.text(key, what=told, duration=await phrases.length(offset))


async def _async_time(phrases: Narrator, part: AutomationPart) -> str:
    said: list[str] = []
    for at in listed(part.get("at")):
        entity = at.get(ATTR_ENTITY_ID) if isinstance(at, Mapping) else at if "." in str(plain(at)) else None
        if entity is None:
            told = await phrases.text("automation_word_at", time=phrases.clock(at))
        else:
            told = await phrases.text("automation_word_at_time_of", names=phrases.name(entity))
            told = await async_moved(phrases, told, at.get("offset") if isinstance(at, Mapping) else None)
        said.append(told)
    told = await phrases.joined(said, any_of=True)
    if not part.get("weekday"):
        return told
    return f"{in_round_brackets(told)} {await async_days(phrases, part['weekday'])}"


_DAYS: Mapping[str, str] = {
    "mon": "automation_word_mondays",
    "tue": "automation_word_tuesdays",
    "wed": "automation_word_wednesdays",
    "thu": "automation_word_thursdays",
    "fri": "automation_word_fridays",
    "sat": "automation_word_saturdays",
    "sun": "automation_word_sundays",
}
_WEEK = (*_DAYS,)


async def async_days(phrases: Narrator, days: object) -> str:
    """Return days of the week: "on weekdays", "on Mondays and on Fridays"."""
    given = [day for day in _WEEK if day in listed(days)]
    if given == [*_WEEK]:
        return await phrases.text("automation_word_every_day")
    if given == [*_WEEK[:5]]:
        return await phrases.text("automation_word_weekdays")
    if given == [*_WEEK[5:]]:
        return await phrases.text("automation_word_weekends")
    told = await phrases.joined([await phrases.text(_DAYS[day]) for day in given], most=7)
    return Opened(told) if len(given) > 1 else told


async def async_sun_moment(phrases: Narrator, event: str, offset: object) -> str:
    """Return a moment of the sun: "at sunset", "30 minutes before sunset"."""
    seconds = seconds_of(offset)
    side = "" if not seconds else "before" if seconds < 0 else "after"
    duration = await phrases.length(offset) if side else ""
    return await phrases.text(_SUN.get((event, side), "automation_word_at_sunset"), duration=duration)


async def _async_sun(phrases: Narrator, part: AutomationPart) -> str:
    return await async_sun_moment(phrases, str(part.get("event")), part.get("offset"))


async def _async_sun_event(phrases: Narrator, part: AutomationPart) -> str:
    """Return a sunset or sunrise of the purpose-specific form, whose offset has a side of its own."""
    return await async_sun_moment(phrases, str(part.get(CONF_PLATFORM)).partition(".")[2], _signed(part))


def _signed(part: AutomationPart) -> float:
    """Return the offset of a purpose-specific trigger in seconds, below 0 if it is before; newer releases write its sign."""
    seconds = seconds_of(part.get("offset")) or 0
    return -seconds if part.get("offset_type") == "before" else seconds


async def _async_pattern(phrases: Narrator, part: AutomationPart) -> str:
    given = {unit: str(part[unit]) for unit in _COUNTED if part.get(unit) is not None}
    [first, *rest] = given or {"seconds": ""}
    value = given.get(first, "")
    steps = {"hours": 3600, "minutes": 60, "seconds": 1}[first]
    every = 1 if value == "*" else int(value[1:]) if value.startswith("/") and value[1:].isdecimal() else 0
    has_rest = any(given[unit].strip("0") for unit in rest)
    if every and not has_rest and not _A_WHOLE[first] % every:
        if every == 1 and first != "seconds":
            return await phrases.text(
                "automation_word_every_hour" if first == "hours" else "automation_word_every_minute"
            )
        return await phrases.text("automation_word_every", duration=await phrases.length(every * steps))
    if first == "minutes" and value.isdecimal() and not has_rest:
        return await phrases.text("automation_word_hourly", minute=str(int(value)))
    units = [*_COUNTED[_COUNTED.index(first) :]]
    while len(units) > 1 and not given.get(units[-1], "0").strip("0"):  # smaller units are 0 unless they are given
        del units[-1]
    said = [
        f"{(await phrases.text(UNIT_KEYS[unit])).split('|')[-1]} {await _async_moments(phrases, unit, given.get(unit, '0'))}"
        for unit in units
        if unit != first or value != "*"
    ]
    return await phrases.text("automation_word_pattern", pattern=await phrases.joined(said))


async def _async_moments(phrases: Narrator, unit: str, value: str) -> str:
    """Return at which minutes of an hour, or the like, something comes: "0, 15, 30 or 45"."""
    if value == "*":
        return f"0–{_A_WHOLE[unit] - 1}"
    if value.startswith("/") and value[1:].isdecimal() and (step := int(value[1:])):
        moments = [str(one) for one in range(0, _A_WHOLE[unit], step)]
        return await phrases.joined(moments, any_of=True, most=MAX_MOMENTS)
    return str(int(value)) if value.isdecimal() else phrases.cut(value)


async def _async_template_trigger(phrases: Narrator, part: AutomationPart) -> str:
    text = str(plain(part.get("value_template")))
    if (found := friendly(text)) is not None and found.get("condition") == "state":
        return await _async_state(
            phrases, {ATTR_ENTITY_ID: found[ATTR_ENTITY_ID], "to": found["state"], CONF_FOR: part.get(CONF_FOR)}
        )
    if found is not None and found.get("condition") == "numeric_state":
        return await _async_numeric(phrases, {**found, CONF_FOR: part.get(CONF_FOR)})
    told = await phrases.text("automation_word_becomes_true", template=phrases.template(text))
    return await _async_stays(phrases, told, part, has_verb=False)


async def _async_event(phrases: Narrator, part: AutomationPart) -> str:
    kinds = [phrases.quoted(one) for one in listed(part.get("event_type"))]
    data = part.get("event_data")
    details = [
        f"{phrases.cut(key, 30)}: {MASK if SECRET.search(str(key)) else phrases.cut(phrases.meaning(str(plain(value))), 40)}"
        for key, value in (data.items() if isinstance(data, Mapping) else ())
    ]
    told = await phrases.text("automation_word_event", event=await phrases.joined(kinds, any_of=True))
    return told + await phrases.in_brackets(details)


async def _async_webhook(phrases: Narrator, part: AutomationPart) -> str:
    """Return a webhook without its id, which is a secret."""
    is_local = part.get("local_only", True) is not False
    return await phrases.text("automation_word_webhook" if is_local else "automation_word_webhook_from_anywhere")


async def _async_mqtt(phrases: Narrator, part: AutomationPart) -> str:
    return await phrases.text("automation_word_mqtt", topic=phrases.quoted(part.get("topic")))


async def _async_said(phrases: Narrator, part: AutomationPart) -> str:
    said = [phrases.quoted(one) for one in listed(part.get("command"))]
    return await phrases.text("automation_word_said", texts=await phrases.joined(said, any_of=True))


async def _async_home_assistant(phrases: Narrator, part: AutomationPart) -> str:
    async def tell(event: object) -> str:
        return await phrases.text("automation_word_ha_starts" if event == "start" else "automation_word_ha_stops")

    return await phrases.each(listed(part.get("event")), tell, any_of=True)


async def _async_calendar(phrases: Narrator, part: AutomationPart) -> str:
    key = "automation_word_calendar_ends" if part.get("event") == "end" else "automation_word_calendar_starts"
    told = await phrases.text(key, names=await phrases.names(part.get(ATTR_ENTITY_ID), any_of=True))
    return await async_moved(phrases, told, part.get("offset"))


async def _async_zone(phrases: Narrator, part: AutomationPart) -> str:
    key = "automation_word_leaves" if part.get("event") == "leave" else "automation_word_enters"
    return await phrases.text(key, names=await async_names(phrases, part), zone=await phrases.names(part.get("zone")))


async def _async_tag(phrases: Narrator, part: AutomationPart) -> str:
    return await phrases.text(
        "automation_word_tag",
        tag=await phrases.joined([phrases.quoted(one) for one in listed(part.get("tag_id"))], any_of=True),
    )


async def async_device_part(phrases: Narrator, part: AutomationPart, category: str) -> str:
    """Return a trigger, a condition or an action of a device, in the words of the integration that offers it."""
    kind, domain = str(part.get("type") or ""), str(part.get("domain") or "")
    entity = part.get(ATTR_ENTITY_ID)
    name = phrases.name(entity) if entity else phrases.place("device_id", part.get("device_id"))
    path = f"device_automation.{category}.{kind}"
    if (
        domain
        and kind
        and (found := await async_own_text(phrases.hass, phrases.language, "device_automation", domain, path))
    ):
        subtype = str(part.get("subtype") or "")
        sub = await async_own_text(
            phrases.hass, phrases.language, "device_automation", domain, f"device_automation.trigger_subtype.{subtype}"
        )
        told = found.replace("{entity_name}", name).replace("{subtype}", phrases.cut(sub or subtype))
        told = told if entity else f"{name}: {told}"
    else:
        told = f"{name}: {phrases.quoted(' '.join(filter(None, (kind, str(part.get('subtype') or '')))).replace('_', ' '))}"
    return told + await phrases.rest(part, _COMMON | _OF_DEVICES)


async def _async_device(phrases: Narrator, part: AutomationPart) -> str:
    return await _async_stays(phrases, await async_device_part(phrases, part, "trigger_type"), part, has_verb=False)


async def async_kind(phrases: Narrator, kind: str, category: str) -> str:
    """Return the name of a purpose-specific trigger or condition in Home Assistant's words; "" if it has none."""
    domain, _, name = kind.partition(".")
    return (
        await async_own_text(phrases.hass, phrases.language, category, domain, f"{category}.{name or '_'}.name") or ""
    )


async def async_fields(phrases: Narrator, part: AutomationPart, entity_ids: object) -> list[str]:
    """Return what the other options of a purpose-specific trigger or condition say."""
    said = [await phrases.threshold(part.get("threshold"), entity_ids)]
    for key, value in part.items():
        if key in ("threshold", "behavior", CONF_FOR, "offset", "offset_type") or value in (None, "", [], {}):
            continue
        values = [
            phrases.name(one) if "." in one and not one.replace(".", "").isdecimal() else phrases.cut(one)
            for one in map(str, listed(plain(value)))
        ]
        said.append(await phrases.joined(values, any_of=True))
    return [one for one in said if one]


async def _async_named(phrases: Narrator, kind: str, trigger: AutomationPart) -> str:
    """Return a purpose-specific trigger: by the verb that people have for it, else by Home Assistant's name."""
    options, target = trigger.get("options"), trigger.get(CONF_TARGET)
    part: AutomationPart = options if isinstance(options, Mapping) else {}
    domain, _, name = kind.partition(".")
    ids = (
        listed(target.get(ATTR_ENTITY_ID)) if isinstance(target, Mapping) and target.keys() == {ATTR_ENTITY_ID} else []
    )
    has_verb = bool(ids) and name in _WORDS
    if has_verb:
        told = await phrases.text(_WORDS[name], names=await phrases.names(ids, any_of=True))
        told += await phrases.in_brackets(await async_fields(phrases, part, ids))
    else:
        known = await async_kind(phrases, kind, "triggers")
        if not known and not isinstance(target, Mapping):
            known_kind = await async_own_text(phrases.hass, phrases.language, "title", domain, "title")
            told = await phrases.text("automation_word_other_trigger", kind=phrases.quoted(known_kind or kind))
            return told + await phrases.rest(trigger, _COMMON)
        said = [await phrases.target(target, any_of=True), *await async_fields(phrases, part, ids)]
        details = ", ".join(one for one in said if one)
        told = f"{known or phrases.quoted(kind)} ({details})" if details else known or phrases.quoted(kind)
    behavior = {"first": "automation_word_first", "all": "automation_word_last"}.get(str(part.get("behavior")))
    if behavior and not (isinstance(target, Mapping) and len(ids) == 1):
        told = await phrases.text(behavior, what=told)
    if seconds := _signed(part):
        told = await async_moved(phrases, told, seconds)
    return await _async_stays(phrases, told, part, has_verb=has_verb)


_READERS: Mapping[str, Callable[[Narrator, AutomationPart], Awaitable[str]]] = {
    "calendar": _async_calendar,
    "conversation": _async_said,
    "device": _async_device,
    "event": _async_event,
    "homeassistant": _async_home_assistant,
    "mqtt": _async_mqtt,
    "numeric_state": _async_numeric,
    "state": _async_state,
    "sun": _async_sun,
    "sun.sunrise": _async_sun_event,
    "sun.sunset": _async_sun_event,
    "tag": _async_tag,
    "template": _async_template_trigger,
    "time": _async_time,
    "time_pattern": _async_pattern,
    "webhook": _async_webhook,
    "zone": _async_zone,
}
