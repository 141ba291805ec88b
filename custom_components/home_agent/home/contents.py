"""What scenes, scripts and automations do when they are started: read from what Home Assistant keeps of them, as service calls.

So are the actions of an owner's intents, and entities whose owner wrote what switching them does: templates, commands of a media player.
Home Assistant has validated it and filled in blueprints. What a template decides when it runs counts as everything that it may
decide. A scene that an integration keeps to itself may do anything with the entities of the same hub.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
import re
from typing import Any

from homeassistant.const import (
    ATTR_AREA_ID,
    ATTR_DEVICE_ID,
    ATTR_ENTITY_ID,
    ATTR_FLOOR_ID,
    ATTR_LABEL_ID,
    ENTITY_MATCH_ALL,
    ENTITY_MATCH_NONE,
)
from homeassistant.core import DOMAIN as HOMEASSISTANT_DOMAIN, HomeAssistant, State, split_entity_id, valid_entity_id
from homeassistant.helpers import config_validation as cv, entity_registry as er
from homeassistant.helpers.entity import Entity, entity_sources
from homeassistant.helpers.script import Script
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import Template
from homeassistant.helpers.update_coordinator import DataUpdateCoordinator
from homeassistant.loader import DATA_CUSTOM_COMPONENTS, IntegrationNotLoaded, async_get_loaded_integration
from homeassistant.util.hass_dict import HassKey

from ..support.const import DOMAIN
from ..turn.plan import ServiceCall
from .domains import DOMAINS, RUNNERS, UNKNOWN, domains_where
from .fingerprint import fingerprint
from .fired_events import started_by_event
from .telling_names import only_tells

SCENE, SCRIPT, AUTOMATION, GROUP = "scene", "script", "automation", "group"
SWITCH_AS_X = "switch_as_x"
CONTAINERS = RUNNERS | {AUTOMATION}
"""Domains that contain written actions."""
WRITERS = frozenset(
    {"generic_hygrostat", "generic_thermostat", "panasonic_viera", "template", "universal", "wake_on_lan"}
)
"""Home Assistant's integrations whose entities run written actions or switch another entity."""
CONVERSATION = "conversation"
"""The kind of trigger that is a sentence."""
SCRIPT_SERVICES = frozenset({"turn_on", "turn_off", "toggle", "reload"})
"""Services of `script` that are not scripts."""
UNFORESEEN = "unforeseen"
"""The service of a call of which nothing is known before it is made."""
TOGGLE = "toggle"
"""Stands for any service: it may do all that can be done to an entity."""
MAX_STARTED = 500
"""Scenes, scripts and automations that one call may start; more than that are not looked into."""
MAX_CALLS = 20_000

_STARTING = frozenset({"turn_on", "trigger", TOGGLE})
_SWITCHED = ("heater_entity_id", "_switch_entity_id")
"""Where an entity keeps which one it switches, as it sees fit."""
_SWITCHING = frozenset({"turn_on", "turn_off", TOGGLE, UNFORESEEN})
_OF_GROUPS = frozenset({"reload", "remove"})
_SHORT = {"on": "turn_on", "off": "turn_off"}
_SEVERAL = frozenset({"turn_on", "set_percentage", TOGGLE})
"""Services for which an entity takes one of several actions: a brightness sets, a speed of nothing turns off."""
_TARGETS = (ATTR_ENTITY_ID, ATTR_DEVICE_ID, ATTR_AREA_ID, ATTR_FLOOR_ID, ATTR_LABEL_ID)
_VARIABLE = re.compile(r"\s*\{\{-?\s*([a-z_]\w*)\s*-?\}\}\s*")
_LITERAL_DOMAIN = re.compile(r"\s*([a-z_]\w*)\.")
_ANY_DOMAIN = frozenset({"", HOMEASSISTANT_DOMAIN})
_NAMES_TARGETS = re.compile(r"(?<![^_])(?:alarm|area|cover|device|door|entity|floor|gate|label|lock|target|valve)")
"""Parts of keys under which an integration is told what its action is for."""
MAX_DEPTH = 20  # of the data of a call
MAX_IDS = 10_000  # characters of one text in it that are read as ids
_KNOWN = frozenset(
    {
        cv.SCRIPT_ACTION_CHOOSE, cv.SCRIPT_ACTION_IF, cv.SCRIPT_ACTION_PARALLEL, cv.SCRIPT_ACTION_REPEAT,
        cv.SCRIPT_ACTION_SEQUENCE,
        cv.SCRIPT_ACTION_CHECK_CONDITION, cv.SCRIPT_ACTION_DELAY,
        cv.SCRIPT_ACTION_SET_CONVERSATION_RESPONSE, cv.SCRIPT_ACTION_STOP, cv.SCRIPT_ACTION_VARIABLES,
        cv.SCRIPT_ACTION_WAIT_FOR_TRIGGER, cv.SCRIPT_ACTION_WAIT_TEMPLATE,
    }
)  # fmt: skip
"""Steps that call nothing by themselves."""
_OF_DEVICES = {
    "cover": {
        "open": "open_cover", "close": "close_cover", "stop": "stop_cover", "open_tilt": "open_cover_tilt",
        "close_tilt": "close_cover_tilt", "set_position": "set_cover_position", "set_tilt_position": "set_cover_tilt_position",
    },
    "alarm_control_panel": {
        "disarm": "alarm_disarm", "trigger": "alarm_trigger", "arm_away": "alarm_arm_away", "arm_home": "alarm_arm_home",
        "arm_night": "alarm_arm_night", "arm_vacation": "alarm_arm_vacation",
    },
    "mobile_app": {"notify": "send_message"},
}  # fmt: skip
"""What the types of device actions are called as services; the others have the service's name."""
_POSITIONS = {
    "current_position": {"cover": ("set_cover_position", "position"), "valve": ("set_valve_position", "position")},
    "current_tilt_position": {"cover": ("set_cover_tilt_position", "tilt_position")},
}

type _Waiting = tuple[str, str, Mapping[str, Any], frozenset[str]]
"""A scene, script or automation that was started, by which service with which data, and the variables that it was given."""

type ReachOf = Callable[[HomeAssistant, str], Iterable[str]]
"""Returns the members of a group, or all entities that move with an entity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCall:
    """One call as it is written, before its targets are known."""

    domain: str
    """Empty: a template decides."""
    service: str
    entity_ids: tuple[str, ...] = ()
    places: Mapping[str, list[str]] = field(default_factory=dict)
    """Areas, floors, devices and labels, by the key that names them."""
    variables: frozenset[str] = frozenset()
    """Variables whose values are its targets."""
    any_target: bool = False
    """A template decides on what it is called, or it is called on all."""
    hub: str = ""
    """The config entry or the platform of a scene that cannot be read."""
    data: Mapping[str, Any] = field(default_factory=dict)
    event: str = ""
    """The type of the event that is fired with the data; nothing is called then but what waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What one scene, script or automation does, or an entity with written actions."""

    calls: tuple[WrittenCall, ...] = ()
    assigned: frozenset[str] = frozenset()
    """Variables that it sets itself: what it was given under these names does not count."""
    actions: Mapping[str, tuple[WrittenCall, ...]] = field(default_factory=dict)
    """Of an entity: what it does by the name of a service, as far as a name says it."""
    is_exact: bool = False
    """A service without an action of its name runs nothing."""
    written: str = ""
    """The fingerprint of its configuration."""

    def done_by(self, service: str, data: Mapping[str, Any]) -> Iterator[WrittenCall]:
        """Yield what is done when a service is called, or may be where that cannot be told."""
        yield from self.calls
        own = self.actions.get(service.removeprefix("alarm_"))
        plain = not data and {*self.actions} <= {*_SHORT.values()} and service != TOGGLE
        if service != TOGGLE and (self.is_exact or (own is not None and (plain or service not in _SEVERAL))):
            yield from own or ()
            return
        for calls in self.actions.values():
            yield from calls


_DATA_READ: HassKey[dict[str, tuple[object, Contents]]] = HassKey(f"{DOMAIN}_contents")
"""By entity id what was read, another object after a change, and what it does."""
_JUDGED = domains_where(lambda record: record.sensitive is not None) - CONTAINERS
"""Domains whose entities may need a yes by themselves."""
GUARDED = domains_where(lambda record: record.guards)
"""Domains whose entities keep people, water or danger out."""
_NOTHING = Contents()
_ANYTHING = WrittenCall(domain="", service=UNFORESEEN, any_target=True)


@lru_cache(maxsize=1024)
def is_foreign(domain: str, service: str) -> bool:
    """Return whether a service may do anything to an entity that it is called for: it is none of those that are known here."""
    if domain in _ANY_DOMAIN or domain in CONTAINERS or (domain == GROUP and service in _OF_GROUPS):
        return False
    record = DOMAINS.get(domain)
    return record is None or (service not in record.services and service not in _SWITCHING)


def may_guard(hass: HomeAssistant, domain: str) -> bool:
    """Return whether an integration may have locks, alarms, covers or valves; one that is not loaded may."""
    try:
        return bool(async_get_loaded_integration(hass, domain).platforms_exists(sorted(GUARDED)))
    except IntegrationNotLoaded:
        return True


def is_written(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether an entity may run written actions: one of an integration for that, or of a custom one."""
    if (source := entity_sources(hass).get(entity_id)) is None:
        return False
    custom = hass.data.get(DATA_CUSTOM_COMPONENTS)
    return source["domain"] in WRITERS or (isinstance(custom, dict) and source["domain"] in custom)


def started(
    hass: HomeAssistant, call: ServiceCall, members: ReachOf, behind: ReachOf
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the scenes, scripts and automations that a call starts, and entities with written actions.

    Each with the service and the data that reach it: what stands before a switch turns it whichever way it likes.
    """
    if call.domain == SCRIPT and call.service not in SCRIPT_SERVICES:
        yield f"{SCRIPT}.{call.service}", "turn_on", {}
        return
    sources = entity_sources(hass)
    starts = call.service if call.service in _STARTING else ""
    if not starts and is_foreign(call.domain, call.service) and not only_tells(call.domain, call.service):
        starts = TOGGLE
    for entity_id in call.entity_ids:
        for one in (entity_id, *members(hass, entity_id)):
            if split_entity_id(one)[0] in CONTAINERS:
                if starts:
                    yield one, starts, {}
            elif one in sources and is_written(hass, one):
                yield one, call.service, call.data
            elif one in sources and sources[one]["domain"] == SWITCH_AS_X:
                for other in behind(hass, one):
                    if is_written(hass, other):
                        yield other, TOGGLE, {}


def inner_calls(
    hass: HomeAssistant, call: ServiceCall, members: ReachOf, behind: ReachOf, read: dict[str, str]
) -> Iterator[ServiceCall]:
    """Yield all that is called by what a call starts, by what that starts, and so on; each of them once.

    Targets that are variables which the call itself gives are left out: their values are judged where the call is made.
    `read` is filled with the fingerprints of what is started, by entity id.
    """
    passed = _given(call.domain, call.service, call.data)
    waiting = [(*found, passed) for found in started(hass, call, members, behind)]
    yield from _followed(hass, waiting, members, behind, read)


def sequence_calls(
    hass: HomeAssistant,
    sequence: Sequence[Mapping[str, Any]],
    given: frozenset[str],
    members: ReachOf,
    behind: ReachOf,
    read: dict[str, str],
) -> Iterator[ServiceCall]:
    """Yield all that is called by a sequence of actions, by what they start, and so on.

    Targets that are `given` variables are left out: their values are judged where they are known. `read` is filled with the
    fingerprints of what is started, by entity id, and of the sequence itself.
    """
    read["sequence"] = fingerprint(sequence)
    contents, waiting = _of_sequence(sequence), list[_Waiting]()
    for written in contents.calls:
        yield from _calls_of(hass, written, given - contents.assigned, waiting, members, behind)
    yield from _followed(hass, waiting, members, behind, read)


def _followed(
    hass: HomeAssistant, waiting: list[_Waiting], members: ReachOf, behind: ReachOf, read: dict[str, str]
) -> Iterator[ServiceCall]:
    """Yield what is called by scenes, scripts and automations that were started, each with the variables that it was given."""
    seen: set[tuple[str, frozenset[str], str, bool]] = set()
    yielded = 0
    while waiting:
        entity_id, service, data, given = waiting.pop()
        if (entity_id, given, service, bool(data)) in seen:
            continue
        seen.add((entity_id, given, service, bool(data)))
        contents = contents_of(hass, entity_id)
        read[entity_id] = contents.written
        for written in contents.done_by(service, data):
            yielded += 1
            if yielded > MAX_CALLS or len(seen) > MAX_STARTED:
                yield from _resolved(hass, _ANYTHING, frozenset())
                return
            yield from _calls_of(hass, written, given - contents.assigned, waiting, members, behind)


def _calls_of(
    hass: HomeAssistant,
    written: WrittenCall,
    known: frozenset[str],
    waiting: list[_Waiting],
    members: ReachOf,
    behind: ReachOf,
) -> Iterator[ServiceCall]:
    """Yield a call on its targets; what it starts waits, also that which an event starts."""
    if written.event:
        is_whole = not written.any_target
        found = started_by_event(hass, written.event, written.data, is_whole=is_whole)
        waiting += [(entity_id, _started_with(entity_id), {}, frozenset()) for entity_id in found]
        return
    passed = _given(written.domain, written.service, written.data, known)
    for call in _resolved(hass, written, known):
        yield call
        waiting += [(*found, passed) for found in started(hass, call, members, behind)]


def _started_with(entity_id: str) -> str:
    return "trigger" if split_entity_id(entity_id)[0] == AUTOMATION else "turn_on"


def _given(domain: str, service: str, data: Mapping[str, Any], known: frozenset[str] | None = None) -> frozenset[str]:
    """Return the variables that a call gives a script; with `known`, only those whose values are known there."""
    if domain != SCRIPT:
        return frozenset()
    variables = data if service not in SCRIPT_SERVICES else data.get("variables")
    if not isinstance(variables, Mapping):
        return frozenset()
    return frozenset(str(name) for name, value in variables.items() if known is None or _variables_in(value) <= known)


def _variables_in(value: object) -> frozenset[str]:
    """Return the variables that stand for a value; one that no script has where a template is more than that."""
    match value:
        case Template():
            found = _VARIABLE.fullmatch(value.template)
            return frozenset({found[1] if found else ""})
        case Mapping():
            return frozenset().union(*(_variables_in(item) for item in (*value, *value.values())))
        case list() | tuple():
            return frozenset().union(*map(_variables_in, value))
    return frozenset()


def _resolved(hass: HomeAssistant, written: WrittenCall, known: frozenset[str]) -> Iterator[ServiceCall]:
    entity_ids = dict.fromkeys(filter(None, (_entity_id(hass, item) for item in written.entity_ids)))
    domains: Collection[str] = {written.domain}
    if written.domain in _ANY_DOMAIN:
        domains = _JUDGED | CONTAINERS
    elif is_foreign(written.domain, written.service):
        domains = {written.domain, *(GUARDED if may_guard(hass, written.domain) else ())}
    if written.places:
        selected = async_extract_referenced_entity_ids(hass, TargetSelection(dict(written.places)), expand_group=False)
        entity_ids |= dict.fromkeys(
            item
            for item in sorted(selected.indirectly_referenced)
            if written.domain in _ANY_DOMAIN or split_entity_id(item)[0] in domains
        )
    if written.hub:  # its scenes are what is asked about
        entity_ids |= dict.fromkeys(
            entry.entity_id
            for entry in er.async_get(hass).entities.values()
            if written.hub in (entry.config_entry_id, entry.platform) and entry.domain in _JUDGED
        )
    if written.any_target or not written.variables <= known:
        entity_ids |= dict.fromkeys(hass.states.async_entity_ids(sorted(domains)))
    data = {
        key: value.template if isinstance(value, Template) else value
        for key, value in written.data.items()
        if key != "code" or isinstance(value, Template)  # one that is written there is no try
    }
    found = tuple(entity_ids)
    if written.service == UNFORESEEN:
        if not written.hub:
            yield ServiceCall(domain=written.domain or HOMEASSISTANT_DOMAIN, service=UNFORESEEN, entity_ids=())
        yield ServiceCall(domain=HOMEASSISTANT_DOMAIN, service=TOGGLE, entity_ids=found)
        return
    yield ServiceCall(domain=written.domain, service=written.service, entity_ids=found, data=data)


def _entity_id(hass: HomeAssistant, text: str) -> str | None:
    return text if valid_entity_id(text) else er.async_resolve_entity_id(er.async_get(hass), text)


def contents_of(hass: HomeAssistant, entity_id: str) -> Contents:
    """Return what a scene, a script, an automation or a written entity does; what was read is kept until it changes."""
    domain = split_entity_id(entity_id)[0]
    component = hass.data.get(domain) if domain in CONTAINERS or is_written(hass, entity_id) else None
    entity = component.get_entity(entity_id) if component is not None and hasattr(component, "get_entity") else None
    if entity is None:
        return _NOTHING  # there is nothing that a call could start
    runner = getattr(entity, "script" if domain == SCRIPT else "action_script", None) if domain in CONTAINERS else None
    configured = getattr(entity, "scene_config", None) if domain == SCENE else None
    source: object = runner.sequence if runner is not None else configured.states if configured is not None else entity
    kept = hass.data.setdefault(_DATA_READ, {})
    if (read := kept.get(entity_id)) is not None and read[0] is source:
        return read[1]
    contents = _NOTHING  # of an automation with a broken configuration: it does not run
    if runner is not None:
        raw = getattr(entity, "raw_config", None) or {}
        given = (runner.variables, raw.get("variables"), raw.get("trigger_variables"))
        contents = replace(_of_sequence(runner.sequence), written=fingerprint((runner.sequence, given)))
    elif configured is not None:
        states = configured.states
        contents = Contents(calls=tuple(_of_states(states.values())), written=fingerprint(states))
    elif domain == SCENE:
        entry = er.async_get(hass).async_get(entity_id)
        hub = (entry.config_entry_id or entry.platform) if entry is not None else _platform_of(entity)
        contents = Contents(calls=(replace(_ANYTHING, any_target=not hub, hub=hub),))
    elif domain not in CONTAINERS:
        contents = _of_entity(hass, entity)
        contents = replace(contents, written=fingerprint((contents.calls, contents.actions)))
    kept[entity_id] = source, contents
    return contents


def waiting_for(hass: HomeAssistant, sentences: Collection[str]) -> list[str]:
    """Return the automations and scripts that wait for one of these sentences, to begin or to go on."""
    return [
        entity.entity_id
        for domain in (AUTOMATION, SCRIPT)
        for entity in getattr(hass.data.get(domain), "entities", ())
        if not set(sentences).isdisjoint(_sentences_in(getattr(entity, "raw_config", None)))
    ]


def _sentences_in(config: object) -> Iterator[str]:
    """Yield the sentences of all triggers in a configuration as it was written."""
    match config:
        case Mapping():
            if CONVERSATION in (config.get("trigger"), config.get("platform")):
                said = config.get("command") or ()
                yield from [said] if isinstance(said, str) else map(str, said)
            for item in config.values():
                yield from _sentences_in(item)
        case list() | tuple():
            for item in config:
                yield from _sentences_in(item)


def _platform_of(entity: Any) -> str:
    return getattr(getattr(entity, "platform", None), "platform_name", None) or ""


def _of_entity(hass: HomeAssistant, entity: Entity) -> Contents:
    """Return the written actions of an entity: its scripts, service calls, and the entity that it switches.

    All of them stand in its attributes, or in those of an object of its integration.
    """
    own = type(entity).__module__.rpartition(".")[0]
    actions: dict[str, tuple[WrittenCall, ...]] = {}
    switched: list[WrittenCall] = []
    queue = [vars(entity)]
    for place in queue:
        for name, value in place.items():
            if name in _SWITCHED and isinstance(value, str) and (entity_id := _entity_id(hass, value)) is not None:
                switched.append(WrittenCall(domain=HOMEASSISTANT_DOMAIN, service=TOGGLE, entity_ids=(entity_id,)))
            for key, item in ((name, value), *(value.items() if isinstance(value, Mapping) else ())):
                if (calls := _of_action(item)) is not None:
                    short = str(key).strip("_").removesuffix("_script").removesuffix("_action")
                    service = _SHORT.get(short, short)
                    actions[service] = (*actions.get(service, ()), *calls)
            made_for = not isinstance(value, (Entity, DataUpdateCoordinator, type)) and hasattr(value, "__dict__")
            if place is queue[0] and made_for and own and type(value).__module__.startswith(own):
                queue.append(vars(value))
    exact = _platform_of(entity) in WRITERS and split_entity_id(entity.entity_id)[0] in ("media_player", "switch")
    return Contents(calls=tuple(switched), actions=actions, is_exact=exact)


def _of_action(value: object) -> tuple[WrittenCall, ...] | None:
    """Return the calls of a script or of one written call; None for what is neither."""
    if isinstance(value, Script):
        return _of_sequence(value.sequence).calls
    if isinstance(value, Mapping):
        named = next((value[key] for key in ("action", "service", "service_template") if key in value), None)
        if isinstance(named, Template) or (isinstance(named, str) and "." in named):
            return tuple(_of_service(value))
    return None


def _of_states(states: Iterable[State]) -> Iterator[WrittenCall]:
    """Yield the calls that bring entities into states; what is not known to lead there counts as a toggle."""
    for state in states:
        domain, record = state.domain, DOMAINS.get(state.domain, UNKNOWN)
        switched = f"turn_{state.state}" if state.state in ("on", "off") else TOGGLE
        service = record.back.get(state.state, switched)
        yield WrittenCall(domain=domain, service=service, entity_ids=(state.entity_id,))
        for attribute, services in _POSITIONS.items():
            if attribute in state.attributes and domain in services:
                service, key = services[domain]
                data = {key: state.attributes[attribute]}
                yield WrittenCall(domain=domain, service=service, entity_ids=(state.entity_id,), data=data)


def _of_sequence(sequence: Sequence[Mapping[str, Any]]) -> Contents:
    calls: list[WrittenCall] = []
    assigned: set[str] = set()
    waiting: list[Sequence[Mapping[str, Any]]] = [sequence]
    while waiting:
        for step in waiting.pop():
            if step.get("enabled") is False:
                continue
            try:
                kind = cv.determine_script_action(dict(step))
            except ValueError:
                kind = ""
            waiting += _branches(step, kind)
            match kind:
                case cv.SCRIPT_ACTION_CALL_SERVICE:
                    calls += _of_service(step)
                case cv.SCRIPT_ACTION_ACTIVATE_SCENE:
                    calls.append(WrittenCall(domain=SCENE, service="turn_on", entity_ids=(step["scene"],)))
                case cv.SCRIPT_ACTION_DEVICE_AUTOMATION:
                    calls.append(_of_device(step))
                case cv.SCRIPT_ACTION_FIRE_EVENT:
                    calls.append(_of_event(step))
                case cv.SCRIPT_ACTION_VARIABLES:  # Home Assistant wraps them
                    names = getattr(step["variables"], "variables", step["variables"])
                    assigned.update(map(str, names if isinstance(names, Mapping) else ()))
                case _ if kind not in _KNOWN:
                    calls.append(_ANYTHING)
            if (variable := step.get("response_variable")) is not None:
                assigned.add(str(variable))
    return Contents(calls=tuple(calls), assigned=frozenset(assigned))


def _branches(step: Mapping[str, Any], kind: str) -> list[Sequence[Mapping[str, Any]]]:
    match kind:
        case cv.SCRIPT_ACTION_CHOOSE:
            return [*(choice["sequence"] for choice in step["choose"]), step.get("default") or ()]
        case cv.SCRIPT_ACTION_IF:
            return [step["then"], step.get("else") or ()]
        case cv.SCRIPT_ACTION_REPEAT:
            return [step["repeat"]["sequence"]]
        case cv.SCRIPT_ACTION_PARALLEL:
            return [branch["sequence"] for branch in step["parallel"]]
        case cv.SCRIPT_ACTION_SEQUENCE:
            return [step["sequence"]]
    return []


def _of_event(step: Mapping[str, Any]) -> WrittenCall:
    given = [step[key] for key in ("event_data", "event_data_template") if key in step]
    data = {str(key): value for part in given if isinstance(part, Mapping) for key, value in part.items()}
    return WrittenCall(
        domain="",
        service="",
        event=str(step["event"]),
        data=data,
        any_target=any(
            not isinstance(part, Mapping) or any(isinstance(key, Template) for key in part) for part in given
        ),
    )


def _of_device(step: Mapping[str, Any]) -> WrittenCall:
    domain, kind = str(step.get("domain", "")), str(step.get("type", UNFORESEEN))
    entity_id = step.get(ATTR_ENTITY_ID)
    return WrittenCall(
        domain=domain,
        service=_OF_DEVICES.get(domain, {}).get(kind, kind),
        entity_ids=(entity_id,) if isinstance(entity_id, str) else (),
        places={} if isinstance(entity_id, str) else {ATTR_DEVICE_ID: [str(step[ATTR_DEVICE_ID])]},
        data={"position": step["position"], "tilt_position": step["position"]} if "position" in step else {},
    )


def _of_service(step: Mapping[str, Any]) -> Iterator[WrittenCall]:
    action = next(step[key] for key in ("action", "service", "service_template") if key in step)
    if isinstance(action, Template):
        literal = _LITERAL_DOMAIN.match(action.template)
        domain, service = literal[1] if literal else "", UNFORESEEN
    else:
        domain, _, service = str(action).partition(".")
    given = [step[key] for key in ("data", "data_template") if key in step]
    data = {str(key): value for part in given if isinstance(part, Mapping) for key, value in part.items()}
    targets = [data, step.get("target") or {}, {ATTR_ENTITY_ID: step.get(ATTR_ENTITY_ID)}]
    any_target = any(isinstance(part, Template) for part in (*given, step.get("target")))
    any_target = any_target or any(
        isinstance(key, Template) for part in given if isinstance(part, Mapping) for key in part
    )
    if is_foreign(domain, service) and not only_tells(domain, service):
        beside = (value for key, value in data.items() if key not in _TARGETS and _NAMES_TARGETS.search(key.casefold()))
        any_target = any_target or any(isinstance(item, Template) for value in beside for item in _items(value))
    if domain == SCENE and service in ("apply", "create", "delete"):
        yield from _of_scene_made(data, any_target=any_target)
        return
    texts: dict[str, list[str]] = {}
    variables: set[str] = set()
    for named in targets:
        if not isinstance(named, Mapping):
            continue
        for key in _TARGETS:
            for item in _items(named.get(key)):
                if isinstance(item, Template):
                    variables |= _variables_in(item)
                elif item.casefold() == ENTITY_MATCH_ALL:
                    any_target = True
                elif item.casefold() != ENTITY_MATCH_NONE:
                    texts.setdefault(key, []).append(item)
    yield WrittenCall(
        domain=domain,
        service=service,
        entity_ids=tuple(item.lower() for item in texts.pop(ATTR_ENTITY_ID, ())),
        places=texts,
        variables=frozenset(variables),
        any_target=any_target or (domain in (SCRIPT, "") and service == UNFORESEEN),
        data={key: value for key, value in data.items() if key not in _TARGETS},
    )
    if domain in (SCRIPT, "") and (passed := tuple(item for item in entities_in(data) if "." in item)):
        yield WrittenCall(domain=HOMEASSISTANT_DOMAIN, service=TOGGLE, entity_ids=passed)


def _of_scene_made(data: Mapping[str, Any], *, any_target: bool) -> Iterator[WrittenCall]:
    """Yield what a scene does that is written into a step, or made there of what is so at that moment."""
    entities = data.get("entities")
    plain: list[State] = []
    named = list(_items(data.get("snapshot_entities")))
    if isinstance(entities, Mapping):
        for entity_id, wanted in entities.items():
            attributes = dict(wanted) if isinstance(wanted, Mapping) else {"state": wanted}
            state = attributes.pop("state", None)
            state = {True: "on", False: "off"}.get(state, state) if isinstance(state, bool) else state
            if isinstance(state, str) and isinstance(entity_id, str) and valid_entity_id(entity_id.lower()):
                plain.append(State(entity_id.lower(), state[:255], attributes))
            else:
                named.append(entity_id)
    elif entities is not None:
        any_target = True
    yield from _of_states(plain)
    any_target = any_target or any(isinstance(item, Template) for item in named)
    ids = tuple(item.lower() for item in named if isinstance(item, str))
    if ids or any_target:
        yield WrittenCall(domain=HOMEASSISTANT_DOMAIN, service=TOGGLE, entity_ids=ids, any_target=any_target)


def _items(value: object) -> Iterator[str | Template]:
    """Yield the texts and templates of a target: one, several in a text, a list."""
    match value:
        case Template():
            yield value
        case str():
            yield from filter(None, (part.strip() for part in value.split(",")))
        case list() | tuple() | set():
            for item in value:
                yield from _items(item)


def entities_in(value: object, depth: int = MAX_DEPTH) -> Iterator[str]:
    """Yield the entity ids in the data of a call, and other words that may be ids of a registry, in lower case."""
    match value:
        case str():
            for part in value.split(",") if len(value) <= MAX_IDS else ():
                if valid_entity_id(word := part.strip().lower()) or word.isalnum():
                    yield word
        case Mapping() if depth:
            for item in value.values():
                yield from entities_in(item, depth - 1)
        case list() | tuple() | set() if depth:
            for item in value:
                yield from entities_in(item, depth - 1)
