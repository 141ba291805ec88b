"""What is wrong with a service call of a draft: the service, its parameters, and whether its targets can do that."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from homeassistant.const import ATTR_ENTITY_ID, ENTITY_MATCH_ALL, ENTITY_MATCH_NONE
from homeassistant.core import HomeAssistant, Service, State
from homeassistant.helpers.template import Template
import probatio

from ..support.quoting import one_line
from .fields import LISTED_IN, FieldDescription, flat_fields, is_unusable
from .problems import MAX_NEAR, DraftProblem, KnownHome, near_words, nearest, quoted
from .references import DraftStep
from .selected_values import lax_faults, selector_words
from .targets import domains_of, selectors_of, suits_as_group, wide_fault

TARGETS = ("entity_id", "device_id", "area_id", "floor_id", "label_id")
MAX_OPTIONS = 20
MAX_ENTITIES = 200
"""Entities of one target that are looked at."""
_ALSO: Mapping[str, frozenset[str]] = {"effect": frozenset({"off", "None", "none", "random"})}
_RANGES: Mapping[str, tuple[str, str]] = {
    "humidity": ("min_humidity", "max_humidity"),
    "target_temp_high": ("min_temp", "max_temp"),
    "target_temp_low": ("min_temp", "max_temp"),
    "temperature": ("min_temp", "max_temp"),
    "value": ("min", "max"),
}
"""The attributes of an entity that limit a parameter."""
_HARMLESS = frozenset({"announce", "enqueue", "speed", "title", "transition"})
"""Parameters without which an entity still does what was meant."""
_ANY_DOMAIN = "homeassistant"
_SWITCHING = frozenset({"toggle", "turn_off", "turn_on"})
"""Its services that are those of other domains."""


@dataclass(frozen=True, slots=True)
class Called:
    """A service call as it is written."""

    step: DraftStep
    domain: str
    service: str
    data: Mapping[str, Any]
    """Parameters; no targets."""
    targets: Mapping[str, list[Any]]
    """Ids and templates by kind of target."""
    open_keys: frozenset[str]
    """Parameters that a template decides on."""
    is_open: bool
    """A template decides on all parameters or all targets."""

    @property
    def action(self) -> str:
        """The name of the action."""
        return f"{self.domain}.{self.service}"


def called(step: DraftStep, action: str) -> Called:
    """Return a service call under one of the names that its action may have."""
    given = [step.config.get(key) for key in ("data", "data_template")]
    data: dict[str, Any] = {}
    for part in given:
        if isinstance(part, Mapping):
            data |= {str(key): value for key, value in part.items()}
    target = step.config.get("target")
    is_open = any(isinstance(part, Template) for part in (*given, target))
    targets: dict[str, list[Any]] = {}
    for place in (data, target, {ATTR_ENTITY_ID: step.config.get(ATTR_ENTITY_ID)}):
        if not isinstance(place, Mapping):
            continue
        for key in TARGETS:
            targets.setdefault(key, []).extend(_listed(place.get(key)))
    domain, _, service = action.partition(".")
    parameters = {key: value for key, value in data.items() if key not in TARGETS}
    return Called(
        step=step,
        domain=domain,
        service=service,
        data=parameters,
        targets={key: items for key, items in targets.items() if items},
        open_keys=frozenset(key for key, value in parameters.items() if has_template(value)),
        is_open=is_open,
    )


def _listed(value: object) -> list[Any]:
    match value:
        case None:
            return []
        case str():
            return [part for item in value.split(",") if (part := item.strip())]
        case list() | tuple() | set():
            return [part for item in value for part in _listed(item)]
    return [value]


def has_template(value: object) -> bool:
    """Return whether a part of a value is decided when it is used."""
    match value:
        case Template():
            return True
        case Mapping():
            return any(map(has_template, (*value, *value.values())))
        case list() | tuple():
            return any(map(has_template, value))
    return False


def service_fault(hass: HomeAssistant, action: str) -> str | None:
    """Return the sentence for a service that does not exist; None for one that does."""
    domain, _, service = action.partition(".")
    if hass.services.has_service(domain, service):
        return None
    names = hass.services.async_services_internal() if hasattr(hass.services, "async_services_internal") else {}
    names = names or hass.services.async_services()
    if domain in names:
        own = nearest(service, names[domain]) or sorted(names[domain])[:MAX_NEAR]
        listed = ", ".join(f"{domain}.{name}" for name in own)
        return f"There is no action {quoted(action)}. Actions of {domain}: {listed}."
    near = nearest(action, (f"{one}.{name}" for one, of in names.items() for name in of))
    return f"There is no action {quoted(action)}.{near_words(near)}"


async def async_call_problems(
    home: KnownHome, call: Called, description: Mapping[str, Any]
) -> AsyncIterator[DraftProblem]:
    """Yield what is wrong with a call of a service that exists."""
    path = call.step.path
    service = home.hass.services.async_services_for_domain(call.domain).get(call.service)
    for problem in _of_schema(call, service, description):
        yield problem
    if any(one == ENTITY_MATCH_ALL for one in call.targets.get(ATTR_ENTITY_ID, ())):
        yield DraftProblem(
            f"{path}.target.entity_id", "'all' reaches what is not exposed, too. Name the entities instead."
        )
        return
    fields = flat_fields(description.get("fields"))
    states = _states(home, call)
    selectors = _target_selectors(home.hass, call, description)
    for problem in _of_abilities(call, states, fields):
        yield problem
    named = [home.resolve(one) for one in call.targets.get(ATTR_ENTITY_ID, ()) if isinstance(one, str)]
    for state in states:
        if (fault := _fault_of_target(home.hass, call, state, selectors)) is None:
            for problem in _of_entity(call, state):
                yield problem
        elif state.entity_id in named:
            near = await home.async_near(state.entity_id, domains_of(selectors))
            yield DraftProblem(
                f"{path}.target.entity_id", f"{fault}{near_words(one for one in near if one != state.entity_id)}"
            )
    places = {key: [item for item in items if isinstance(item, str)] for key, items in call.targets.items()}
    wide = selectors or ([{"domain": call.domain}] if call.domain != _ANY_DOMAIN else [])
    if (wrong := wide_fault(home, places, wide, call.action)) is not None:
        yield DraftProblem(f"{path}.target.{wrong[0]}", wrong[1])
    for name, sentence in lax_faults(service.schema if service is not None else None, call.data, fields):
        if name not in call.open_keys and not call.is_open:
            given = f"{path}.data.{name}" if name in call.data else f"{path}.data"
            yield DraftProblem(given, f"{call.action} {sentence}")


# The service's own schema.


def _of_schema(call: Called, service: Service | None, description: Mapping[str, Any]) -> Iterator[DraftProblem]:
    if service is None or service.schema is None or call.is_open:
        return
    data = {key: deepcopy(value) for key, value in call.data.items() if key not in call.open_keys}
    for key, items in call.targets.items():
        if plain := [item for item in items if isinstance(item, str)]:
            data[key] = ENTITY_MATCH_NONE if ENTITY_MATCH_NONE in plain else plain
        else:
            data[key] = [f"{call.domain}.any" if key == ATTR_ENTITY_ID else "any"]
    try:
        service.schema(data)
    except probatio.MultipleInvalid as err:
        errors: Iterable[probatio.Invalid] = err.errors
    except probatio.Invalid as err:
        errors = (err,)
    except Exception as err:  # noqa: BLE001  a schema of anybody's
        errors = (probatio.Invalid(type(err).__name__),) if not call.open_keys else ()
    else:
        return
    fields = flat_fields(description.get("fields"))
    for error in errors:
        key = str(error.path[0]) if error.path else ""
        if key in call.open_keys or (call.open_keys and not key):
            continue
        yield DraftProblem(_path_of(call, key), _sentence(call, error, key, fields))


def _path_of(call: Called, key: str) -> str:
    path = call.step.path
    if key in TARGETS:
        return f"{path}.target.{key}"
    return f"{path}.data.{key}" if key else f"{path}.data"


def _sentence(call: Called, error: probatio.Invalid, key: str, fields: Mapping[str, Mapping[str, Any]]) -> str:
    said = one_line(str(getattr(error, "msg", "") or error), 160)
    if "extra keys" in said or "not a valid option" in said:
        near = nearest(key, fields) or [*fields][:MAX_OPTIONS]
        listed = f" Its parameters: {', '.join(near)}." if near else " It has no parameters."
        return f"{call.action} has no parameter {quoted(key)}.{listed}"
    if "required key" in said:
        return f"{call.action} needs {quoted(key)}."
    if ATTR_ENTITY_ID in said and "at least one of" in said:
        return f"{call.action} needs a target: name entity_id under target."
    value = call.data.get(key)
    given = f" {quoted(value)} as" if isinstance(value, str | int | float) else ""
    takes = f" It takes {words}." if (words := selector_words(fields.get(key))) else ""
    return f"{call.action} does not take{given or ' this as'} {quoted(key) if key else 'parameters'}: {said}.{takes}"


# Its targets.


def _states(home: KnownHome, call: Called) -> list[State]:
    """Return the states of the entities that a call names or reaches, as far as they may be known."""
    found = [home.resolve(one) for one in call.targets.get(ATTR_ENTITY_ID, ()) if isinstance(one, str)]
    states = (home.hass.states.get(entity_id) for entity_id in dict.fromkeys(filter(None, found)))
    return [state for state in states if state is not None][:MAX_ENTITIES]


def _fault_of_target(
    hass: HomeAssistant, call: Called, state: State, selectors: Sequence[Mapping[str, Any]]
) -> str | None:
    """Return why an entity is no target of a call; a group is one if one of its members is."""
    if suits_as_group(hass, state, selectors):
        return None
    domains = sorted(domains_of(selectors))
    if domains and state.domain not in domains:
        return f"{call.action} works on {' or '.join(domains)} only, not on {state.entity_id}."
    return f"{state.entity_id} cannot do {call.action}."


def _target_selectors(hass: HomeAssistant, call: Called, description: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what a call works on: as it is described; of all domains those that have the service themselves."""
    if call.domain != _ANY_DOMAIN:
        return selectors_of(description)
    own = hass.services.async_services_for_domain
    domains = sorted({one.domain for one in hass.states.async_all() if call.service in own(one.domain)})
    return [{"domain": domains}] if domains and call.service in _SWITCHING else []


# What an entity says of itself.


def _of_abilities(
    call: Called, states: Sequence[State], fields: Mapping[str, FieldDescription]
) -> Iterator[DraftProblem]:
    """Yield the parameters that no entity of a call can use, which Home Assistant leaves out in silence or fails on."""
    if set(call.targets) - {ATTR_ENTITY_ID}:  # one of a room may be able to
        return
    for name in call.data:
        if name not in _HARMLESS and is_unusable(fields.get(name, {}), states):
            named = ", ".join(one.entity_id for one in states[:MAX_NEAR])
            usable = [one for one, field in fields.items() if one not in call.data and not is_unusable(field, states)]
            listed = f" It can take: {', '.join(usable[:MAX_OPTIONS])}." if usable else ""
            yield DraftProblem(f"{call.step.path}.data.{name}", f"{named} cannot use {quoted(name)}.{listed}")


def _of_entity(call: Called, state: State) -> Iterator[DraftProblem]:
    for name, value in call.data.items():
        if name in call.open_keys:
            continue
        path = f"{call.step.path}.data.{name}"
        listed = state.attributes.get(LISTED_IN.get(name, ""))
        if isinstance(listed, list | tuple) and listed and isinstance(value, str):
            allowed = [str(one) for one in listed]
            if value not in allowed and value not in _ALSO.get(name, ()) and call.domain == state.domain:
                options = ", ".join(allowed[:MAX_OPTIONS])
                yield DraftProblem(path, f"{state.entity_id} has no {name} {quoted(value)}. It can be: {options}.")
        elif name in _RANGES and isinstance(value, int | float) and not isinstance(value, bool):
            low, high = (state.attributes.get(one) for one in _RANGES[name])
            if isinstance(low, int | float) and isinstance(high, int | float) and not low <= value <= high:
                yield DraftProblem(
                    path, f"{name} of {state.entity_id} has to be from {low:g} to {high:g}, not {value:g}."
                )
