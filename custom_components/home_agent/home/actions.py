"""What an entity can do now, the service calls that an action comes to, and what they should lead to.

The source of truth is the records in domains/, the entity's features and attributes, and the registered services. Tools and
error texts ask here, so that nothing is offered that is refused later.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from homeassistant.components.alarm_control_panel import AlarmControlPanelState
from homeassistant.const import ATTR_ASSUMED_STATE, ATTR_ENTITY_ID, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant, State, split_entity_id
from homeassistant.helpers import entity_registry as er
import probatio

from ..support.errors import ToolRefusal
from ..turn.plan import ServiceCall
from .domain import Action, Domain, Goal, ServiceStep, Subject
from .domains import DOMAINS, UNKNOWN
from .exposure import is_shared
from .tolerance import STATE, Check, Tolerance, number_of, other_than

ACTIONS = ("turn_on", "turn_off", "toggle", "set_value")
"""The actions that the tool's schema names; the services themselves are understood as well."""

GROUP = "group"
_STATE_WORDS = {
    **dict.fromkeys(("on", "open", "opened", "locked", "true"), "turn_on"),
    **dict.fromkeys(("off", "close", "closed", "unlocked", "false"), "turn_off"),
}

TARGET_KEYS = frozenset(
    {
        "entity_id", "entity_ids", "entity", "device_id", "device_ids", "device_target", "area_id", "area_ids", "floor_id",
        "floor_ids", "label_id", "label_ids", "target", "targets", "exclude", "group_members", "snapshot_entities",
    }
)  # fmt: skip
"""Keys that would move a service call to other targets than the checked ones."""


@cache
def known_actions() -> frozenset[str]:
    """Return every action name that some domain understands, besides `set_` and a parameter's name."""
    return frozenset({*ACTIONS, *(name for record in DOMAINS.values() for name in (*record.words, *record.actions))})


def is_controllable(entity_id: str) -> bool:
    """Return whether the entity's domain can be controlled at all."""
    domain = split_entity_id(entity_id)[0]
    return domain == GROUP or bool(DOMAINS.get(domain, UNKNOWN).actions)


def abilities(hass: HomeAssistant, entity_id: str) -> list[str]:
    """Return what the entity can do now: `turn_on`, `set_value (brightness_pct, ...)`, `command (stop, ...)`."""
    state = hass.states.get(entity_id)
    if state is None or not (record := DOMAINS.get(state.domain, UNKNOWN)).actions:
        return []
    subject = Subject(hass, state)
    switches = {action: _switch(subject, record, action) for action in ACTIONS[:3]}
    result = [action for action, name in switches.items() if name is not None and action != "toggle"]
    if len(result) == 2 if record.is_on is not None else switches["toggle"] is not None:
        result.append("toggle")
    settings: dict[str, None] = {}
    for name in record.values:
        if _is_possible(record.actions[name], subject):
            settings |= dict.fromkeys(record.actions[name].open_fields(subject))
    if settings:
        result.append(f"set_value ({', '.join(settings)})")
    covered = {*ACTIONS, *record.values, *switches.values()}
    if commands := [
        name for name, item in record.actions.items() if name not in covered and _is_possible(item, subject)
    ]:
        result.append(f"command ({', '.join(commands)})")
    return result


def service_calls(
    hass: HomeAssistant, action: str, entity_id: str, parameters: Mapping[str, object]
) -> list[ServiceCall]:
    """Return the service calls for an action on one entity, in order; for a group those of its members.

    Raises `ToolRefusal` with what the entity can do if it cannot do this.
    """
    if parameters:
        refuse_targets(parameters)
    domain = split_entity_id(entity_id)[0]
    if domain == GROUP:
        return _group_calls(hass, action, entity_id, parameters)
    state = hass.states.get(entity_id)
    if state is None or state.state == STATE_UNAVAILABLE:
        raise ToolRefusal(f"{entity_id} is unavailable right now.")
    record = DOMAINS.get(domain, UNKNOWN)
    if not record.actions:
        raise ToolRefusal(f"{entity_id} can only be read; a {domain} cannot be controlled.")
    subject = Subject(hass, state)
    action, given = _understood(subject, record, action, parameters)
    steps = record.build(subject, action, given) if record.build is not None else None
    calls: list[ServiceCall] = []
    for step in _steps(subject, record, action, given) if steps is None else steps:
        service = hass.services.async_services_for_domain(domain).get(step.service)
        if service is None:
            raise _cannot(subject, step.service)
        if service.schema is not None:
            try:
                service.schema({**step.data, ATTR_ENTITY_ID: [entity_id]})
            except probatio.Invalid as err:
                raise ToolRefusal(f"{step.service} of {entity_id}: {err}") from err
        calls.append(ServiceCall(domain=domain, service=step.service, entity_ids=(entity_id,), data=dict(step.data)))
    return calls


def is_switching(action: str, parameters: Mapping[str, object]) -> bool:
    """Return whether `set_value` comes to turning on or off, opening or closing: `{"state": "open"}`, `{"command": "open"}`."""
    if action != "set_value":
        return True
    named = (value for name, value in parameters.items() if name.strip().casefold() in ("state", "value", "command"))
    words = [str(value).strip().casefold().replace(" ", "_") for value in named]
    return any(word in _STATE_WORDS or word in _switching_words() for word in words)


@cache
def _switching_words() -> frozenset[str]:
    """Return every word that a domain understands as turning on, off or the other way round."""
    return frozenset(
        word
        for record in DOMAINS.values()
        for word in (*ACTIONS[:3], *record.states, *record.words, *record.actions)
        if record.words.get(word, word) in (*ACTIONS[:3], *record.on, *record.off, *record.toggle)
        or word in record.states
    )


def refuse_targets(parameters: Iterable[str]) -> None:
    """Refuse parameters that name targets: `entity_id` of the call is the only place for them."""
    if found := sorted(key for key in parameters if key.casefold() in TARGET_KEYS):
        raise ToolRefusal(f"{', '.join(found)} is not allowed inside parameters. Name targets in entity_id only.")


def _understood(
    subject: Subject, record: Domain, action: str, parameters: Mapping[str, object]
) -> tuple[str, dict[str, object]]:
    given: dict[str, object] = {}
    for name, value in parameters.items():
        if value is not None:
            key = name.strip().casefold()
            given[record.aliases.get(key, key)] = value
    if given and record.rewrite is not None:
        given = record.rewrite(subject, given)
    if action.startswith("set_") and action not in ACTIONS and record.action(action) is None:
        setting = action.removeprefix("set_")
        action, given = "set_value", _value_as(given, record.aliases.get(setting, setting))
    if action == "set_value" and len(given) == 1 and record.on:  # {"state": "off"} is turn_off
        ((name, value),) = given.items()
        word = str(value).strip().casefold()
        if name in ("state", "value") and (switched := record.states.get(word) or _STATE_WORDS.get(word)):
            action, given = switched, {}
    if "value" in given and record.value is not None:
        given = _value_as(given, record.value if isinstance(record.value, str) else record.value(subject))
        given = record.rewrite(subject, given) if record.rewrite is not None else given
    if "command" not in given or any("command" in item.fields for item in record.actions.values()):
        return action, given
    if action not in ACTIONS and record.action(action) is None:
        return action, given  # unknown anyway
    if action not in ("set_value", "turn_on"):  # {"command": "stop"} is the action it names
        raise ToolRefusal(f"{action} does not go together with a command.")
    command = str(given.pop("command")).strip().casefold().replace(" ", "_")
    return command, given


def _value_as(given: dict[str, object], name: str) -> dict[str, object]:
    return {name if key == "value" else key: value for key, value in given.items()}


def _steps(subject: Subject, record: Domain, action: str, given: dict[str, object]) -> list[ServiceStep]:
    """Return the steps of an action: the main one, then those that set the remaining parameters."""
    primary = _primary(subject, record, action, given)
    chosen = [primary] if primary else []
    if primary is None or action == "turn_on":
        chosen += [name for name in record.values if name != primary]
    steps: list[ServiceStep] = []
    for name in chosen:
        item = record.actions[name]
        own = {field: given.pop(field) for field in item.fields if field in given}
        if own or name == primary:
            steps.append(_step(subject, record, name, own))
    if given or not steps:
        raise _misfit(subject, record, action, given)
    return steps


def _primary(subject: Subject, record: Domain, action: str, given: Mapping[str, object]) -> str | None:
    match action:
        case "set_value":
            return None
        case "turn_on" | "turn_off" | "toggle":
            found = _switch(subject, record, action)
            if found is None and not (action == "turn_on" and given):
                raise _cannot(subject, action)
            return found
    name = record.words.get(action, action)
    if name not in record.actions:
        raise _cannot(subject, action)
    if name in record.values:
        if not given:
            raise ToolRefusal(f"{action} needs parameters: {', '.join(record.actions[name].open_fields(subject))}.")
        return None
    return name


def _switch(subject: Subject, record: Domain, action: str) -> str | None:
    """Return the name of what turns on, turns off or toggles this entity now, or None."""
    names = {"turn_on": record.on, "turn_off": record.off, "toggle": record.toggle}[action]
    if action == "toggle" and record.is_on is not None and (is_on := record.is_on(subject)) is not None:
        names = record.off if is_on else record.on
    for name in names:
        if _is_possible(record.actions[name], subject):
            return name
    return None


def _is_possible(action: Action, subject: Subject) -> bool:
    """Return whether the entity can do it now: the service is there and the entity has what it takes."""
    return (
        (not action.feature or subject.features & action.feature == action.feature)
        and (action.when is None or action.when(subject))
        and subject.hass.services.has_service(subject.state.domain, action.service)
    )


def _step(subject: Subject, record: Domain, name: str, given: Mapping[str, object]) -> ServiceStep:
    """Return one validated step; `given` has only fields of the action."""
    action = record.actions[name]
    if not _is_possible(action, subject):
        raise _cannot(subject, name)
    data: dict[str, Any] = dict(action.data(subject)) if action.data else {}
    if given and (closed := [field for field in given if field not in action.open_fields(subject)]):
        raise _misfit(subject, record, name, closed)
    if missing := [field for field in action.required if field not in given]:
        raise ToolRefusal(f"{name} of {subject.state.entity_id} needs {', '.join(missing)}.")
    for key, value in given.items():
        field = action.fields[key]
        try:
            data[field.key or key] = field.read(value, subject)
        except ToolRefusal as err:
            raise ToolRefusal(f"{key} of {subject.state.entity_id}: {err}") from err
    return ServiceStep(action.service, data)


def _cannot(subject: Subject, action: str) -> ToolRefusal:
    return ToolRefusal(f"{subject.state.entity_id} cannot {action} now. {_what_it_can(subject)}")


def _misfit(subject: Subject, record: Domain, action: str, given: Iterable[str]) -> ToolRefusal:
    unknown = ", ".join(sorted(given))
    if not unknown:
        return ToolRefusal(f"{action} of {subject.state.entity_id} needs parameters. {_what_it_can(subject)}")
    named = record.action(action) if action not in ("set_value", "turn_on") else None
    if named is not None and record.words.get(action, action) not in record.values:
        allowed = f"It takes {', '.join(named.open_fields(subject)) or 'none'}."
    else:
        allowed = _what_it_can(subject)
    return ToolRefusal(f"{subject.state.entity_id} does not take {unknown} with {action}. {allowed}")


def _what_it_can(subject: Subject) -> str:
    can = abilities(subject.hass, subject.state.entity_id)
    return f"It can: {', '.join(can)}." if can else "It can do nothing now."


# Groups stand for their members, also in sentences and in tools of other integrations.


def _group_calls(
    hass: HomeAssistant, action: str, entity_id: str, parameters: Mapping[str, object]
) -> list[ServiceCall]:
    calls: list[ServiceCall] = []
    refused: ToolRefusal | None = None
    for member in members(hass, entity_id):
        if split_entity_id(member)[0] != GROUP:  # members of a nested group are in the list themselves
            try:
                calls += service_calls(hass, action, member, parameters)
            except ToolRefusal as err:
                refused = refused or err
    if not calls:
        raise refused or ToolRefusal(f"{entity_id} has no members that can be controlled.")
    return calls


class ClosedGroup(ToolRefusal):
    """A group reaches what is not exposed, or not known in the running turn."""

    def __init__(self, entity_id: str) -> None:
        """Keep which one, for the model and for people."""
        super().__init__(f"{entity_id} cannot be controlled as a whole: it reaches something that is not exposed here.")
        self.translation_key = "group_reaches_further"
        self.translation_placeholders = {"target": entity_id}


def members(hass: HomeAssistant, entity_id: str) -> tuple[str, ...]:
    """Return the members of a group of any domain, nested groups resolved; empty for other entities."""
    found: dict[str, None] = {}
    queue = [entity_id]
    for group in queue:
        state = hass.states.get(group)
        value = state.attributes.get(ATTR_ENTITY_ID) if state is not None else None
        if state is None or not isinstance(value, (list, tuple, set)):
            continue
        record = DOMAINS.get(state.domain, UNKNOWN)
        if state.domain == GROUP or (record.actions and record.has_members):
            new = [member for item in value if (member := str(item)) not in found and member != entity_id]
            found |= dict.fromkeys(new)
            queue += new
    return tuple(found)


def reached_members(hass: HomeAssistant, entity_id: str) -> tuple[str, ...]:
    """Return the members of a group that are targets besides it: those that it does not hide.

    Raises `ClosedGroup` if any of these is not exposed.
    """
    if not is_open(hass, entity_id):
        raise ClosedGroup(entity_id)
    return tuple(member for member in members(hass, entity_id) if is_shared(hass, member))


def is_open(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether every member that an entity reaches is exposed."""
    return all(is_shared(hass, member) for member in open_members(hass, entity_id))


def open_members(hass: HomeAssistant, entity_id: str) -> tuple[str, ...]:
    """Return the members that a group does not hide, exposed or not."""
    registry, hidden = er.async_get(hass), er.RegistryEntryHider.INTEGRATION
    found = ((member, registry.async_get(member)) for member in members(hass, entity_id))
    return tuple(member for member, entry in found if entry is None or entry.hidden_by is not hidden)


# What a call should lead to, as far as the state of an entity can show it.


_RESTING = frozenset({"off", "closed", "standby"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What an entity should come to: a state, a value as its state, attributes, or several of these."""

    goal: Goal | None = None
    value: Check | None = None
    attributes: Mapping[str, Check] = field(default_factory=dict)
    takes: float = 0
    """Seconds that it was asked to take: a light that fades may show nothing of it before its end."""

    def reached(self, before: State, now: State) -> bool | None:
        """Return whether it is reached; None if the state does not show it."""
        if now.state == STATE_UNKNOWN and before.state == STATE_UNKNOWN:
            return None
        shown = [
            check(now.attributes.get(name))
            for name, check in self.attributes.items()
            if name in now.attributes or before.attributes.get(name) is not None
        ]
        goal = self.goal
        if goal is not None and (goal.says_enough or shown):
            shown.append(now.state in goal.one_of if goal.one_of else now.state not in goal.none_of)
        if self.value is not None:
            shown.append(self.value(now.state))
        return all(shown) if shown else None

    def under_way(self, now: State) -> bool:
        """Return whether the entity is on its way."""
        return self.goal is not None and now.state in self.goal.under_way

    def moved(self, before: State, now: State) -> bool:
        """Return whether anything of it is different from before."""
        return now.state != before.state or any(
            now.attributes.get(name) != before.attributes.get(name) for name in self.attributes
        )

    def and_then(self, later: Expectation) -> Expectation:
        """Return what is expected after a second call on the same entity."""
        return Expectation(
            goal=later.goal or self.goal,
            value=later.value or self.value,
            attributes={**self.attributes, **later.attributes},
            takes=max(self.takes, later.takes),
        )


def expectation(before: State, call: ServiceCall) -> Expectation | None:
    """Return what a call should make of an entity; None if a state cannot show it, as of a button, a scene or the next track.

    Generic services (`homeassistant.turn_on`) count as those of the entity's domain.
    """
    record, service, data = DOMAINS.get(before.domain, UNKNOWN), call.service, call.data
    if service == "toggle" and before.state not in ("opening", "closing"):  # then it may stop or turn round
        on, off = (record.on[0], record.off[0]) if record.toggle else ("turn_on", "turn_off")
        service = on if before.state in _RESTING else off
    elif service in record.alternates:
        state, then, otherwise = record.alternates[service]
        service = then if before.state == state else otherwise
    checks: dict[str, Check] = {}
    at_zero = service in ("turn_on", "set_percentage") and any(
        number_of(data[key]) == 0 for key in record.off_at_zero if key in data
    )
    if service == "turn_off" or at_zero:
        goal = record.goals.get("turn_off")
    else:
        goal = record.goals.get(service)
        if data:
            for key, (aspect, tolerance) in _shown(before.domain).items():
                if (asked := data.get(key)) is not None:
                    shown = before.state if aspect == STATE else before.attributes.get(aspect)
                    checks[aspect] = tolerance(asked, shown, before)
        if record.leads is not None:
            checks |= record.leads(before, service)
        if service == "toggle":
            checks.setdefault(STATE, other_than(before.state))
    value = checks.pop(STATE, None)
    if goal is None and value is None and not checks:
        return None
    takes = number_of(data["transition"]) or 0 if "transition" in data else 0
    return Expectation(goal=goal, value=value, attributes=checks, takes=takes)


def is_so(hass: HomeAssistant, state: State, call: ServiceCall) -> bool:
    """Return whether an entity is already in the requested state, or on its way there.

    False if the state is assumed, or shows only a part of what the call asks for. A code asks for nothing by itself.
    """
    if (is_done := DOMAINS.get(state.domain, UNKNOWN).is_done) is not None:
        return is_done(hass, state, call.service, call.data)
    expected, asked = expectation(state, call), call.data.keys() - {"code"}
    if expected is None or state.attributes.get(ATTR_ASSUMED_STATE) or asked - _shown(state.domain).keys():
        return False
    # an alarm that is pending may be about to go off: who arms it then may stop it
    is_coming = expected.under_way(state) and state.state != AlarmControlPanelState.PENDING
    return bool(expected.reached(state, state)) or (not asked and is_coming)


@cache
def _shown(domain: str) -> Mapping[str, tuple[str, Tolerance]]:
    """Return by key of the data what shows it and how near it has to come."""
    return {
        field.key or name: field.shows
        for action in DOMAINS.get(domain, UNKNOWN).actions.values()
        for name, field in action.fields.items()
        if field.shows is not None
    }
