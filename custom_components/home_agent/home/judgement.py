"""Why an action needs the user's yes, and what it reaches: what is reached decides, by whichever name it is called.

A service call of a tool or a sentence and the actions in a script, a scene, an automation or an intent of the owner's are judged alike.
A service that is not known here counts as one that opens what it touches.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from homeassistant.const import ATTR_DEVICE_CLASS, CONF_ENTITY_ID, STATE_OFF, STATE_ON, STATE_UNKNOWN
from homeassistant.core import DOMAIN as HOMEASSISTANT_DOMAIN, HomeAssistant, State, split_entity_id
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.helpers.template import Template

from ..turn.plan import DESTRUCTIVE, Reach, ServiceCall
from .actions import members
from .contents import (
    AUTOMATION,
    GUARDED,
    SCRIPT,
    SCRIPT_SERVICES,
    SWITCH_AS_X,
    TOGGLE,
    UNFORESEEN,
    entities_in,
    inner_calls,
    is_foreign,
    sequence_calls,
)
from .domain import Domain, Subject
from .domains import DOMAINS, UNKNOWN
from .heard_changes import Listeners
from .telling_names import is_safer, is_sensitive_service, only_tells, reason_of_name, speaks
from .tolerance import number_of

GENERIC = frozenset({"turn_on", "turn_off", TOGGLE})
"""Services that Home Assistant also has for all domains at once: sentences call those, a tool calls the domain's."""
_PLAIN_BUTTONS = frozenset({"identify", "restart", "update"})
"""Device classes of buttons that do nothing to the thing that the device is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Why a call needs the user's yes, and what it reaches that it does not name."""

    reasons: tuple[str, ...] = ()
    reach: Reach = field(default_factory=Reach)

    def __add__(self, other: Judgement) -> Judgement:
        """Return the judgement on both."""
        reasons = tuple(dict.fromkeys((*self.reasons, *other.reasons)))
        return Judgement(reasons=reasons, reach=self.reach + other.reach)


def judge(hass: HomeAssistant, call: ServiceCall) -> Judgement:
    """Return what a call comes to; a group is as sensitive as each of its members, a script as all that it may do."""
    hidden = _hidden(hass, call)
    whole = replace(call, entity_ids=(*call.entity_ids, *hidden))
    behind = (item for named in whole.entity_ids for item in _behind(hass, named))
    reach = Reach(
        reached=tuple(dict.fromkeys((*hidden, *behind))),
        also=tuple(dict.fromkeys(_other_names(hass, whole))),
        wary=_is_wary(hass, call),
    )
    own = Judgement(reasons=tuple(dict.fromkeys(_reasons(hass, whole))), reach=reach)
    read: dict[str, str] = {}
    listeners = Listeners(hass)
    found = own + _judge_inner(hass, inner_calls(hass, call, members, _behind, read), read, listeners)
    return found + _judge_heard(hass, [whole], listeners)


def judge_sequence(
    hass: HomeAssistant, sequence: Sequence[Mapping[str, Any]], given: Collection[str] = ()
) -> Judgement:
    """Return what a sequence of actions comes to, as Home Assistant has validated it.

    `given` are variables whose values are judged where they are known (`judge_named`): targets that are these are left out.
    """
    read: dict[str, str] = {}
    calls = sequence_calls(hass, sequence, frozenset(given), members, _behind, read)
    return _judge_inner(hass, calls, read, Listeners(hass))


def _judge_inner(
    hass: HomeAssistant, calls: Iterable[ServiceCall], read: Mapping[str, str], listeners: Listeners
) -> Judgement:
    """Return what calls come to; `read` has the fingerprints of what they stand in, by then."""
    changes: list[ServiceCall] = []
    reasons: dict[str, None] = {}
    reached: dict[str, None] = {}
    also: dict[str, None] = {}
    inside: dict[tuple[str, str], dict[str, None]] = {}
    wary = False
    for call in calls:
        inner = replace(call, entity_ids=(*call.entity_ids, *_hidden(hass, call)))
        reached[inner.action] = None
        changes.append(inner)
        also |= dict.fromkeys(_other_names(hass, inner, blind=True))
        wary = wary or (_is_templated(inner.data) and _is_wary(hass, inner))
        for entity_id in inner.entity_ids:
            reached |= dict.fromkeys((entity_id, *_behind(hass, entity_id)))
        if why := [*_reasons(hass, inner, blind=True)]:
            reasons |= dict.fromkeys(why)
            sensitive = (one for one in inner.entity_ids if [*_reasons_of(hass, one, inner, blind=True)])
            inside.setdefault((inner.domain, inner.service), {}).update(dict.fromkeys(sensitive))
    started = (
        ServiceCall(domain=domain, service=service, entity_ids=tuple(found))
        for (domain, service), found in inside.items()
    )
    written = tuple(f"{name} {found}" for name, found in sorted(read.items()))
    reach = Reach(inside=tuple(started), reached=tuple(reached), also=tuple(also), written=written, wary=wary)
    return Judgement(reasons=tuple(reasons), reach=reach) + _judge_heard(hass, changes, listeners)


def _judge_heard(hass: HomeAssistant, changes: Iterable[ServiceCall], listeners: Listeners) -> Judgement:
    """Return what automations open or disarm that wait for the helpers which calls change, and those that wait for what they change.

    What else they do, such as lights and messages, is the owner's: it is neither asked about nor reached.
    """
    found = Judgement()
    for change in changes:
        for automation in listeners.started_by(change):
            read: dict[str, str] = {}
            domain = split_entity_id(automation)[0]
            service = "trigger" if domain == AUTOMATION else "turn_on"
            trigger = ServiceCall(domain=domain, service=service, entity_ids=(automation,))
            inner = _judge_inner(hass, inner_calls(hass, trigger, members, _behind, read), read, listeners)
            if reasons := tuple(reason for reason in inner.reasons if reason != DESTRUCTIVE):
                also = tuple(call.action for call in inner.reach.inside)
                reach = Reach(inside=inner.reach.inside, also=also, written=inner.reach.written)
                found += Judgement(reasons=reasons, reach=reach)
    return found + Judgement(reasons=(DESTRUCTIVE,)) if listeners.is_cut else found


def judge_named(hass: HomeAssistant, entity_ids: Iterable[str]) -> Judgement:
    """Return what may become of entities that stand in the arguments of something else: the most that a toggle may do."""
    call = ServiceCall(domain=HOMEASSISTANT_DOMAIN, service=TOGGLE, entity_ids=tuple(entity_ids))
    found = judge(hass, call)
    return replace(found, reasons=tuple(dict.fromkeys((*_reasons(hass, call, blind=True), *found.reasons))))


def opens(hass: HomeAssistant, call: ServiceCall) -> bool:
    """Return whether a call opens, unlocks or disarms something in any state of the home."""
    return any(reason != DESTRUCTIVE for reason in _reasons(hass, call, blind=True))


def _reasons(hass: HomeAssistant, call: ServiceCall, *, blind: bool = False) -> Iterator[str]:
    """Yield the reasons of a call itself. `blind`: what is so now need not be so any more when it is made."""
    is_unforeseen = (call.domain, call.service) == (HOMEASSISTANT_DOMAIN, UNFORESEEN)
    if is_unforeseen or is_sensitive_service(call.domain, call.service):
        yield DESTRUCTIVE
    for entity_id in call.entity_ids:
        yield from _reasons_of(hass, entity_id, call, blind=blind)


def _reasons_of(hass: HomeAssistant, entity_id: str, call: ServiceCall, *, blind: bool = False) -> Iterator[str]:
    """Yield the reasons for which a call needs a yes because of one of its entities."""
    if only_tells(call.domain, call.service):
        return
    for concerned in (entity_id, *members(hass, entity_id)):
        domain, state = split_entity_id(concerned)[0], hass.states.get(concerned)
        record = DOMAINS.get(domain, UNKNOWN)
        if record.sensitive is not None:
            is_unknown = record.guards and _is_unknown(call, domain)
            service, data = (TOGGLE, {}) if is_unknown else (call.service, call.data)
            if (blind or is_unknown) and state is not None and TOGGLE in service:
                state = State(concerned, STATE_UNKNOWN, state.attributes, validate_entity_id=False)
            if reason := record.sensitive(state, service, data):
                yield reason
        if (reason := reason_of_name(concerned, call.service, call.data, *_called(hass, concerned, state))) is not None:
            yield reason
        for moved in _moved(hass, concerned, state):
            toggle = ServiceCall(domain=HOMEASSISTANT_DOMAIN, service=TOGGLE, entity_ids=(moved,))
            yield from _reasons_of(hass, moved, toggle, blind=True)


def _called(hass: HomeAssistant, entity_id: str, state: State | None) -> Iterator[str]:
    """Yield the name of an entity, and the one that its integration gives it where that is not a part of it."""
    shown = "" if state is None else state.name
    if shown:
        yield shown
    entry = er.async_get(hass).async_get(entity_id)
    if entry is not None and entry.original_name and entry.original_name.casefold() not in shown.casefold():
        yield entry.original_name


def _is_unknown(call: ServiceCall, domain: str) -> bool:
    """Return whether it is not known what a call does to an entity of a domain."""
    if call.domain == domain:
        return call.service not in _known_services(domain)
    return is_foreign(call.domain, call.service) and not is_safer(call.service)


@cache
def _known_services(domain: str) -> frozenset[str]:
    record = DOMAINS.get(domain, UNKNOWN)
    return record.services | GENERIC | {UNFORESEEN}


def _moved(hass: HomeAssistant, entity_id: str, state: State | None) -> Iterator[str]:
    """Yield what an entity moves besides itself: what shows a switch as another thing, what the device of a button is."""
    domain = split_entity_id(entity_id)[0]
    if domain == "switch":
        yield from _wrappers(hass, entity_id)
    elif domain == "button" and (state is None or state.attributes.get(ATTR_DEVICE_CLASS) not in _PLAIN_BUTTONS):
        registry = er.async_get(hass)
        if (entry := registry.async_get(entity_id)) is not None and entry.device_id and entry.entity_category is None:
            for other in er.async_entries_for_device(registry, entry.device_id):
                if other.domain in GUARDED:
                    yield other.entity_id


def _hidden(hass: HomeAssistant, call: ServiceCall) -> tuple[str, ...]:
    """Return the entities that stand in the data of an unknown service under any key, and the guarded ones of devices that do."""
    if not call.data or not is_foreign(call.domain, call.service) or only_tells(call.domain, call.service):
        return ()
    registry, devices = er.async_get(hass), dr.async_get(hass)
    found: dict[str, None] = {}
    for text in entities_in(call.data):
        if hass.states.get(text) is not None:
            found[text] = None
        elif (entry := registry.entities.get_entry(text)) is not None:
            found[entry.entity_id] = None
        elif devices.async_get(text) is not None:
            of_device = er.async_entries_for_device(registry, text)
            found |= dict.fromkeys(one.entity_id for one in of_device if one.domain in GUARDED)
    return tuple(found)


# By which other names lists of the owner may call it.


def _other_names(hass: HomeAssistant, call: ServiceCall, *, blind: bool = False) -> Iterator[str]:
    """Yield the actions that a call comes to under another name: a toggle that turns on, a position that opens, a script's own name."""
    if call.domain == SCRIPT and call.service not in SCRIPT_SERVICES:
        yield from (f"{SCRIPT}.turn_on", f"{HOMEASSISTANT_DOMAIN}.turn_on")
    if not call.entity_ids and (comes_to := DOMAINS.get(call.domain, UNKNOWN).comes_to) is not None:
        yield from (f"{call.domain}.{service}" for service in comes_to(None, call.service, call.data))
    for entity_id in call.entity_ids:
        for one in (entity_id, *_behind(hass, entity_id)):
            domain = split_entity_id(one)[0]
            for service in _services_of(hass, one, call, blind=blind or one != entity_id):
                yield f"{domain}.{service}"
                if service in GENERIC:
                    yield f"{HOMEASSISTANT_DOMAIN}.{service}"


def _services_of(hass: HomeAssistant, entity_id: str, call: ServiceCall, *, blind: bool) -> Iterator[str]:
    """Yield the services of its domain that a call may come to for an entity."""
    domain, state = split_entity_id(entity_id)[0], None if blind else hass.states.get(entity_id)
    record, service = DOMAINS.get(domain, UNKNOWN), call.service
    both = [record.actions[name].service for name in (*record.on, *record.off)]
    if _is_unknown(call, domain):
        if not only_tells(call.domain, service):
            yield from both
        return
    service = record.own.get(service, service)
    yield service
    if service == TOGGLE:
        is_on = _is_on(hass, record, state)
        names = (*(() if is_on else record.on[:1]), *(() if is_on is False else record.off[:1]))
        yield from (record.actions[name].service for name in names)
    elif service in record.alternates:
        shown, then, otherwise = record.alternates[service]
        yield from (then, otherwise) if state is None else (then if state.state == shown else otherwise,)
    elif any(number_of(call.data[key]) == 0 for key in record.off_at_zero if key in call.data):
        yield "turn_off"
    elif record.comes_to is not None:
        yield from record.comes_to(state, service, call.data)


def _is_on(hass: HomeAssistant, record: Domain, state: State | None) -> bool | None:
    """Return whether a toggle would turn it off; None if that is not known."""
    if state is None:
        return None
    if record.is_on is not None:
        return record.is_on(Subject(hass, state))
    return state.state == STATE_ON if state.state in (STATE_ON, STATE_OFF) else None


# What is asked about once text from outside has entered the conversation.


def _is_wary(hass: HomeAssistant, call: ServiceCall) -> bool:
    """Return whether a call is asked about once text from outside has entered the conversation: it sends codes, or may say "yes"."""
    if speaks(call.domain):
        return True
    for entity_id in call.entity_ids or (f"{call.domain}.",):
        wary = DOMAINS.get(entity_id.partition(".")[0], UNKNOWN).wary
        if wary is not None and wary(hass.states.get(entity_id), call.service, call.data):
            return True
    return False


def _is_templated(value: object) -> bool:
    """Return whether a part of a value is decided when it is used: by what a script is given, for example."""
    match value:
        case Template():
            return True
        case str():
            return "{" in value
        case Mapping():
            return any(map(_is_templated, value.values()))
        case list() | tuple():
            return any(map(_is_templated, value))
    return False


# What moves with an entity.


def _behind(hass: HomeAssistant, entity_id: str) -> Iterator[str]:
    """Yield what moves with an entity: members of a group, the switch behind another kind of thing, and the other way round."""
    yield from members(hass, entity_id)
    registry = er.async_get(hass)
    if (entry := registry.async_get(entity_id)) is None:
        return
    if entry.platform == SWITCH_AS_X and entry.config_entry_id:
        config = hass.config_entries.async_get_entry(entry.config_entry_id)
        if config is not None and (behind := er.async_resolve_entity_id(registry, str(config.options[CONF_ENTITY_ID]))):
            yield behind
    elif entry.domain == "switch":
        yield from _wrappers(hass, entity_id)


def _wrappers(hass: HomeAssistant, entity_id: str) -> Iterator[str]:
    """Yield the entities that show a switch as another kind of thing."""
    registry = er.async_get(hass)
    for config in hass.config_entries.async_entries(SWITCH_AS_X):
        if er.async_resolve_entity_id(registry, str(config.options.get(CONF_ENTITY_ID))) == entity_id:
            for entry in er.async_entries_for_config_entry(registry, config.entry_id):
                yield entry.entity_id
