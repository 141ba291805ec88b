"""What an entity can do now, and the service calls that an action of the tools comes to.

The one source of truth: the table in domains/, the entity's supported features and attributes, and the services that are
registered. Tools, error texts and whoever wants to know go through here, so that nothing is offered that is refused later
(lesson 12).
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from homeassistant.const import ATTR_ENTITY_ID, STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, split_entity_id
import probatio

from ..safety.plan import ServiceCall
from ..safety.tool import ToolRefusal
from .domains import DOMAINS
from .parameters import refuse_targets
from .spec import Action, Domain, Step, Subject

ACTIONS = ("turn_on", "turn_off", "toggle", "set_value")
"""The actions that the tool's schema names; the services themselves are understood as well."""

GROUP = "group"
_NOT_MEMBERS = frozenset({"scene", "script", "automation"})  # their `entity_id` is what the owner chose to touch
_STATE_WORDS = {
    **dict.fromkeys(("on", "open", "opened", "locked", "true"), "turn_on"),
    **dict.fromkeys(("off", "close", "closed", "unlocked", "false"), "turn_off"),
}


@cache
def known_actions() -> frozenset[str]:
    """Return every action name that some domain understands, besides `set_` and a parameter's name."""
    names = {name for domain in DOMAINS.values() for name in (*domain.words, *(action.id for action in domain.actions))}
    return frozenset(names | set(ACTIONS))


def is_controllable(entity_id: str) -> bool:
    """Return whether the entity's domain can be controlled at all."""
    domain = split_entity_id(entity_id)[0]
    return domain == GROUP or domain in DOMAINS


def members(hass: HomeAssistant, entity_id: str) -> tuple[str, ...]:
    """Return the entities behind a group, of whatever kind, nested groups resolved; empty for anything else."""
    found: dict[str, None] = {}
    queue = list(_direct_members(hass, entity_id))
    while queue:
        member = queue.pop(0)
        if member not in found and member != entity_id:
            found[member] = None
            queue.extend(_direct_members(hass, member))
    return tuple(found)


def abilities(hass: HomeAssistant, entity_id: str) -> list[str]:
    """Return what the entity can do now: `turn_on`, `set_value (brightness_pct, ...)`, `command (stop, ...)`."""
    state = hass.states.get(entity_id)
    if state is None or (table := DOMAINS.get(state.domain)) is None:
        return []
    subject = Subject(hass, state)
    result = [action for action in ACTIONS[:3] if _can_switch(subject, table, action)]
    if settings := _settings(subject, table):
        result.append(f"set_value ({', '.join(settings)})")
    switches = [_switch(subject, table, action) for action in ACTIONS[:3]]
    covered = {*ACTIONS, *table.values, *(item.id for item in switches if item is not None)}
    if commands := [item.id for item in table.actions if item.id not in covered and item.possible(subject)]:
        result.append(f"command ({', '.join(commands)})")
    return result


def service_calls(
    hass: HomeAssistant, action: str, entity_id: str, parameters: Mapping[str, object]
) -> list[ServiceCall]:
    """Return the service calls that do `action` on one entity, in their order; a group comes to those of its members.

    Raises `ToolRefusal` that says what the entity can do, when it cannot do this.
    """
    refuse_targets(parameters)
    domain = split_entity_id(entity_id)[0]
    if domain == GROUP:
        return _group_calls(hass, action, entity_id, parameters)
    state = hass.states.get(entity_id)
    if state is None or state.state == STATE_UNAVAILABLE:
        raise ToolRefusal(f"{entity_id} is unavailable right now.")
    if (table := DOMAINS.get(domain)) is None:
        raise ToolRefusal(f"{entity_id} can only be read; a {domain} cannot be controlled.")
    subject = Subject(hass, state)
    return [_service_call(subject, step) for step in _steps(subject, table, action, parameters)]


def _direct_members(hass: HomeAssistant, entity_id: str) -> Iterable[str]:
    state = hass.states.get(entity_id)
    if state is None or state.domain in _NOT_MEMBERS or not is_controllable(entity_id):
        return ()
    value = state.attributes.get(ATTR_ENTITY_ID)
    return [str(member) for member in value] if isinstance(value, (list, tuple, set)) else ()


def _group_calls(
    hass: HomeAssistant, action: str, entity_id: str, parameters: Mapping[str, object]
) -> list[ServiceCall]:
    calls: list[ServiceCall] = []
    refused: ToolRefusal | None = None
    for member in members(hass, entity_id):
        if split_entity_id(member)[0] == GROUP:  # its members follow by themselves
            continue
        try:
            calls += service_calls(hass, action, member, parameters)
        except ToolRefusal as err:
            refused = refused or err
    if not calls:
        raise refused or ToolRefusal(f"{entity_id} has no members that can be controlled.")
    return calls


def _steps(subject: Subject, table: Domain, action: str, parameters: Mapping[str, object]) -> Iterable[Step]:
    action, given = _understood(subject, table, action, parameters)
    if table.build is not None and (built := table.build(subject, action, given)) is not None:
        return built
    primary = _primary(subject, table, action, given)
    steps: list[Step] = []
    chosen = [primary] if primary else []
    if primary is None or action == "turn_on":  # what turning on does not take itself is set after it
        chosen += [item for name in table.values if (item := table.action(name)) is not None and item is not primary]
    for item in chosen:
        own = {name: given.pop(name) for name in item.fields if name in given}
        if own or item is primary:
            steps.append(_step(subject, table, item, own))
    if given or not steps:
        raise _misfit(subject, table, action, given)
    return steps


def _understood(
    subject: Subject, table: Domain, action: str, parameters: Mapping[str, object]
) -> tuple[str, dict[str, object]]:
    """Return action and parameters under the names that the table uses."""
    given: dict[str, object] = {}
    for name, value in parameters.items():
        if value is not None:
            key = name.strip().casefold()
            given[table.aliases.get(key, key)] = value
    if table.rewrite is not None:
        given = table.rewrite(subject, given)
    if action.startswith("set_") and action not in ACTIONS and table.action(action) is None:
        setting = action.removeprefix("set_")
        action, given = "set_value", _value_as(given, table.aliases.get(setting, setting))
    if action == "set_value":
        action, given = _switching(table, given)
    if "value" in given and table.value is not None:
        given = _value_as(given, table.value if isinstance(table.value, str) else table.value(subject))
        given = table.rewrite(subject, given) if table.rewrite is not None else given
    return _commanded(table, action, given)


def _value_as(given: dict[str, object], name: str) -> dict[str, object]:
    return {name if key == "value" else key: value for key, value in given.items()}


def _switching(table: Domain, given: dict[str, object]) -> tuple[str, dict[str, object]]:
    """Read `{"state": "off"}` as turn_off, where the domain can be switched."""
    if len(given) == 1 and table.on:
        ((name, value),) = given.items()
        word = str(value).strip().casefold()
        if name in ("state", "value") and (action := table.states.get(word) or _STATE_WORDS.get(word)):
            return action, {}
    return "set_value", given


def _commanded(table: Domain, action: str, given: dict[str, object]) -> tuple[str, dict[str, object]]:
    """Read `{"command": "stop"}` as the action it names, unless the domain has a parameter of that name."""
    if "command" not in given or any("command" in item.fields for item in table.actions):
        return action, given
    if action not in ACTIONS and table.action(action) is None:
        return action, given  # unknown anyway
    if action not in ("set_value", "turn_on"):
        raise ToolRefusal(f"{action} does not go together with a command.")
    command = str(given.pop("command")).strip().casefold().replace(" ", "_")
    return command, given


def _primary(subject: Subject, table: Domain, action: str, given: Mapping[str, object]) -> Action | None:
    """Return what the action itself comes to; None: it only sets something."""
    match action:
        case "set_value":
            return None
        case "turn_on" | "turn_off" | "toggle":
            found = _switch(subject, table, action)
            if found is None and not (action == "turn_on" and given):
                raise _cannot(subject, action)
            return found
    if (named := table.action(action)) is None:
        raise _cannot(subject, action)
    if named.id in table.values:
        if not given:
            raise ToolRefusal(f"{action} needs parameters: {', '.join(named.open_fields(subject))}.")
        return None
    return named


def _switch(subject: Subject, table: Domain, action: str) -> Action | None:
    """Return the action that turns on, turns off or toggles this entity now; None when there is none."""
    names = {"turn_on": table.on, "turn_off": table.off, "toggle": table.toggle}[action]
    if action == "toggle" and table.is_on is not None and (is_on := table.is_on(subject)) is not None:
        names = table.off if is_on else table.on
    found = (table.action(name) for name in names)
    return next((item for item in found if item is not None and item.possible(subject)), None)


def _can_switch(subject: Subject, table: Domain, action: str) -> bool:
    if action == "toggle" and table.is_on is not None:
        return _switch(subject, table, "turn_on") is not None and _switch(subject, table, "turn_off") is not None
    return _switch(subject, table, action) is not None


def _step(subject: Subject, table: Domain, action: Action, given: Mapping[str, object]) -> Step:
    """Return one validated step; `given` has only fields of the action."""
    if not action.possible(subject):
        raise _cannot(subject, action.id)
    if closed := [name for name in given if name not in action.open_fields(subject)]:
        raise _misfit(subject, table, action.id, closed)
    if missing := [name for name in action.required if name not in given]:
        raise ToolRefusal(f"{action.id} of {subject.state.entity_id} needs {', '.join(missing)}.")
    data: dict[str, Any] = dict(action.data(subject)) if action.data else {}
    for name, value in given.items():
        field = action.fields[name]
        try:
            data[field.key or name] = field.read(value, subject)
        except ToolRefusal as err:
            raise ToolRefusal(f"{name} of {subject.state.entity_id}: {err}") from err
    return Step(action.service, data)


def _service_call(subject: Subject, step: Step) -> ServiceCall:
    """Return the call, after the service's own schema has had its say."""
    entity_id, domain = subject.state.entity_id, subject.state.domain
    service = subject.hass.services.async_services_for_domain(domain).get(step.service)
    if service is None:
        raise _cannot(subject, step.service)
    if service.schema is not None:
        try:
            service.schema({**step.data, ATTR_ENTITY_ID: [entity_id]})
        except probatio.Invalid as err:
            raise ToolRefusal(f"{step.service} of {entity_id}: {err}") from err
    return ServiceCall(domain=domain, service=step.service, entity_ids=(entity_id,), data=dict(step.data))


def _settings(subject: Subject, table: Domain) -> list[str]:
    found: dict[str, None] = {}
    for name in table.values:
        if (action := table.action(name)) is not None and action.possible(subject):
            found |= dict.fromkeys(action.open_fields(subject))
    return list(found)


def _cannot(subject: Subject, action: str) -> ToolRefusal:
    return ToolRefusal(f"{subject.state.entity_id} cannot {action} now. {_what_it_can(subject)}")


def _misfit(subject: Subject, table: Domain, action: str, given: Iterable[str]) -> ToolRefusal:
    unknown = ", ".join(sorted(given))
    if not unknown:
        return ToolRefusal(f"{action} of {subject.state.entity_id} needs parameters. {_what_it_can(subject)}")
    named = table.action(action) if action not in ("set_value", "turn_on") else None
    if named is not None and named.id not in table.values:
        allowed = f"It takes {', '.join(named.open_fields(subject)) or 'none'}."
    else:
        allowed = _what_it_can(subject)
    return ToolRefusal(f"{subject.state.entity_id} does not take {unknown} with {action}. {allowed}")


def _what_it_can(subject: Subject) -> str:
    can = abilities(subject.hass, subject.state.entity_id)
    return f"It can: {', '.join(can)}." if can else "It can do nothing now."
