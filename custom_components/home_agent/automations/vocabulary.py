"""The triggers, conditions and actions that this release offers, with their fields and an example of each.

They come from where Home Assistant's own editor has them. What a home may not tell takes no part: neither its entities nor what they add.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from homeassistant.components.device_automation import DeviceAutomationType, async_get_device_automations
from homeassistant.components.websocket_api.automation import (
    async_get_conditions_for_target,
    async_get_services_for_target,
    async_get_triggers_for_target,
)
from homeassistant.const import ATTR_AREA_ID, ATTR_DEVICE_ID, ATTR_ENTITY_ID, ATTR_FLOOR_ID, ATTR_LABEL_ID, CONF_TARGET
from homeassistant.core import HomeAssistant, State
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import condition, entity_registry as er, service, trigger
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.util.json import JsonObjectType, JsonValueType

from ..home.states import Knows
from ..languages.data import ENGLISH
from ..support.encoding import dump, plain_text
from ..support.errors import ToolRefusal
from ..support.localize import async_own_text
from ..support.nearness import likeness
from .fields import FieldDescription, example_value, field_in_short, flat_fields, suits
from .phrases import listed
from .raw_forms import async_meanings, of_entity, states_of, usual

KINDS = ("triggers", "conditions", "actions")
MAX_CHARACTERS = 6000  # of one answer
MAX_ENTITIES = 3  # of a target whose raw forms and states are told
MAX_DEVICE_TRIGGERS = 20
MAX_NAMES = 60  # names of one domain
MAX_EXAMPLE_FIELDS = 3
SUGGESTIONS = 5
_USUAL = (
    "message",
    "brightness_pct",
    "temperature",
    "position",
    "percentage",
    "option",
    "value",
    "volume_level",
    "item",
    "duration",
)
"""Fields that an example has where none is required."""
_LIKE = 0.4
_WORDS: Mapping[str, str] = {"triggers": "trigger", "conditions": "condition", "actions": "action"}
_TARGETS = (ATTR_ENTITY_ID, ATTR_DEVICE_ID, ATTR_AREA_ID, ATTR_FLOOR_ID, ATTR_LABEL_ID)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a question is about."""

    hass: HomeAssistant
    knows: Knows
    target: Mapping[str, Any]
    """With lists of ids; empty: the whole home."""
    entity_ids: Sequence[str]
    """The entities in it that may be known."""

    @property
    def states(self) -> list[State]:
        """The states of these entities."""
        return [state for entity_id in self.entity_ids if (state := self.hass.states.get(entity_id)) is not None]


async def async_vocabulary(
    hass: HomeAssistant, target: Mapping[str, Any], *, kinds: Sequence[str] = KINDS, name: str = "", knows: Knows
) -> JsonObjectType:
    """Return what can be written about a target, purpose-specific forms first; without one the names by domain.

    With `name` one of them in full. Raises `ToolRefusal` for a target or a name that does not exist.
    """
    wanted = _wanted(hass, target, knows)
    if name:
        return await _async_one(wanted, name.strip().casefold(), kinds)
    if not wanted.target:
        return await _async_names(wanted, kinds)
    return await _async_for_target(wanted, kinds)


def _wanted(hass: HomeAssistant, target: Mapping[str, Any], knows: Knows) -> _Wanted:
    """Return what a target comes to. Raises `ToolRefusal` if nothing in it may be known."""
    given = {key: [str(one) for one in listed(target.get(key))] for key in _TARGETS if target.get(key)}
    if not given:
        return _Wanted(hass, knows, {}, ())
    selected = async_extract_referenced_entity_ids(hass, TargetSelection(given), expand_group=False)
    found = sorted(selected.referenced | selected.indirectly_referenced)
    known = [one for one in found if knows(one) and hass.states.get(one) is not None]
    if not known:
        ids = ", ".join(one for values in given.values() for one in values)
        raise ToolRefusal(
            f"Nothing exposed is in the target '{plain_text(ids)[:200]}'. Name entities, areas, floors or labels."
        )
    return _Wanted(hass, knows, given, known)


async def _async_descriptions(hass: HomeAssistant, kind: str) -> dict[str, Mapping[str, Any]]:
    """Return the descriptions of a kind by their full names; those that are not described are raw forms."""
    match kind:
        case "triggers":
            found: Mapping[str, Any] = await trigger.async_get_all_descriptions(hass)
        case "conditions":
            found = await condition.async_get_all_descriptions(hass)
        case _:
            services = await service.async_get_all_descriptions(hass)
            found = {f"{domain}.{name}": what for domain, of in services.items() for name, what in of.items()}
    return {name: what for name, what in found.items() if isinstance(what, Mapping)}


async def _async_fitting(wanted: _Wanted, kind: str) -> set[str]:
    """Return the names that fit the target, by its entities that may be known alone."""
    ask = {
        "triggers": async_get_triggers_for_target,
        "conditions": async_get_conditions_for_target,
        "actions": async_get_services_for_target,
    }[kind]
    known = await ask(wanted.hass, {ATTR_ENTITY_ID: [*wanted.entity_ids]}, True)
    if wanted.target.keys() == {ATTR_ENTITY_ID}:
        return known
    return known & await ask(wanted.hass, dict(wanted.target), True)  # what suits no secondary entity is left out there


def _order(name: str, states: Sequence[State]) -> tuple[int, str]:
    """Sort what belongs to the domain of an entity before what belongs to none, so that actions of all domains are last."""
    domain = name.partition(".")[0]
    return (0 if domain in {state.domain for state in states} else 2 if domain == "homeassistant" else 1, name)


async def _async_title(hass: HomeAssistant, kind: str, name: str, what: str = "name") -> str:
    domain, _, short = name.partition(".")
    category = "services" if kind == "actions" else kind
    return await async_own_text(hass, ENGLISH, category, domain, f"{category}.{short or '_'}.{what}") or ""


def _fields(description: Mapping[str, Any], states: Sequence[State]) -> dict[str, FieldDescription]:
    fields = flat_fields(description.get("fields"))
    return {name: field for name, field in fields.items() if suits(field, states)}


def _example(wanted: _Wanted, kind: str, name: str, description: Mapping[str, Any]) -> JsonObjectType:
    """Return one as a model would write it in an automation."""
    word, states = _WORDS[kind], wanted.states
    example: JsonObjectType = {word: name}
    if CONF_TARGET in description:
        [domain, *_] = _domains(description) or [name.partition(".")[0]]
        own = [state.entity_id for state in states if state.domain in _domains(description)] or [
            one.entity_id for one in states
        ]
        is_place = wanted.target and ATTR_ENTITY_ID not in wanted.target
        target = (
            {key: values[0] for key, values in wanted.target.items()}
            if is_place
            else {ATTR_ENTITY_ID: own[0] if own else f"{domain}.x"}
        )
        example["target"] = cast(JsonValueType, target)
    fields = _fields(description, states)
    chosen = [one for one, field in fields.items() if field.get("required")]
    if kind == "actions" and not chosen:
        chosen = [one for one in _USUAL if one in fields][:1]
    values: JsonObjectType = {one: example_value(one, fields[one], states) for one in chosen[:MAX_EXAMPLE_FIELDS]}
    if kind != "actions":
        values = {one: value for one, value in values.items() if one != "for"}
    if values:
        example["data" if kind == "actions" else "options"] = values
    return example


def _domains(description: Mapping[str, Any]) -> list[str]:
    target = description.get(CONF_TARGET)
    entities = target.get("entity") if isinstance(target, Mapping) else None
    return [domain for one in listed(entities) if isinstance(one, Mapping) for domain in listed(one.get("domain"))]


async def _async_row(wanted: _Wanted, kind: str, name: str, description: Mapping[str, Any]) -> JsonObjectType:
    """Return one of those that fit, with its fields in short and an example."""
    row: JsonObjectType = {_WORDS[kind]: name}
    if title := await _async_title(wanted.hass, kind, name):
        row["name"] = title
    if fields := _fields(description, wanted.states):
        row["fields"] = {one: field_in_short(one, field, wanted.states) for one, field in fields.items()}
    return row | {"example": _example(wanted, kind, name, description)}


async def _async_for_target(wanted: _Wanted, kinds: Sequence[str]) -> JsonObjectType:
    result: JsonObjectType = {"entities": len(wanted.entity_ids)}
    if states := await _async_states(wanted):
        result["states"] = states
    rows: dict[str, list[JsonObjectType]] = {}
    raw: dict[str, list[JsonObjectType]] = {}
    for kind in kinds:
        descriptions = await _async_descriptions(wanted.hass, kind)
        names = sorted(await _async_fitting(wanted, kind), key=lambda name: _order(name, wanted.states))
        rows[kind] = [
            await _async_row(wanted, kind, name, descriptions[name]) for name in names if name in descriptions
        ]
        raw[kind] = [form for state in wanted.states[:MAX_ENTITIES] for form in of_entity(kind, state).values()]
    if "triggers" in kinds:
        raw["triggers"] += await _async_device_triggers(wanted)
    return _bounded(result, rows, raw)


async def _async_states(wanted: _Wanted) -> JsonObjectType:
    """Return the states that the first entities can have, for raw triggers and conditions."""
    found: JsonObjectType = {}
    for state in wanted.states[:MAX_ENTITIES]:
        if states := states_of(state):
            meanings = await async_meanings(wanted.hass, state, states)
            found[state.entity_id] = cast(
                JsonValueType, {one: meanings.get(one, one) for one in states} if meanings else states
            )
        else:
            found[state.entity_id] = f"now {plain_text(state.state)[:60]}"
    return found


async def _async_device_triggers(wanted: _Wanted) -> list[JsonObjectType]:
    """Return triggers that only devices have, such as the buttons of a remote control."""
    entities = er.async_get(wanted.hass)
    entries = [
        entry for one in wanted.entity_ids[: MAX_ENTITIES * 10] if (entry := entities.async_get(one)) is not None
    ]
    devices = {entry.device_id for entry in entries if entry.device_id is not None}
    if not devices:
        return []
    try:
        found = await async_get_device_automations(wanted.hass, DeviceAutomationType.TRIGGER, devices)
    except HomeAssistantError:
        return []
    own = [one for of in found.values() for one in of if ATTR_ENTITY_ID not in one]
    kept = ("device_id", "domain", "type", "subtype")
    return [
        {"trigger": "device", **{key: str(one[key]) for key in kept if key in one}} for one in own[:MAX_DEVICE_TRIGGERS]
    ]


def _bounded(
    result: JsonObjectType, rows: Mapping[str, Sequence[JsonObjectType]], raw: Mapping[str, Sequence[JsonObjectType]]
) -> JsonObjectType:
    """Return as much as fits: everything, without examples, with names alone, names that fit."""
    other = "Also time, sun, template, event and others: ask without a target."

    def assembled(make: Callable[[JsonObjectType], JsonValueType], note: str) -> JsonObjectType:
        parts = {kind: cast(JsonValueType, [make(row) for row in of]) for kind, of in rows.items()}
        raws = {f"raw_{kind}": cast(JsonValueType, [*of]) for kind, of in raw.items() if of}
        return result | parts | raws | {"note": f"{note} {other}".strip()}

    def brief(row: JsonObjectType) -> JsonValueType:
        return {key: value for key, value in row.items() if key != "example"}

    for make, note in (
        (lambda row: cast(JsonValueType, row), ""),
        (brief, "Give name for an example."),
        (_name_of, "Give name for the fields and an example."),
    ):
        if len(dump(found := assembled(make, note))) <= MAX_CHARACTERS:
            return found
    left, fitting = MAX_CHARACTERS * 3 // 4, dict[str, JsonValueType]()
    for kind, of in rows.items():
        names = [str(_name_of(row)) for row in of]
        room = left // max(1, len(rows) - len(fitting))
        kept = _that_fit(names, room)
        left -= sum(map(len, kept))
        fitting[kind] = cast(
            JsonValueType, [*kept, *([f"{len(names) - len(kept)} more"] if len(kept) < len(names) else [])]
        )
    return (
        {"entities": result["entities"]}
        | fitting
        | {"note": f"Give name for the fields and an example; name fewer entities. {other}"}
    )


def _name_of(row: JsonObjectType) -> JsonValueType:
    return next(iter(row.values()))


def _that_fit(names: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for name in names:
        room -= len(name) + 3
        if room < 0:
            break
        kept.append(name)
    return kept


async def _async_names(wanted: _Wanted, kinds: Sequence[str]) -> JsonObjectType:
    """Return the names by domain, and the raw forms; numbers of names where the names do not fit, of actions first."""
    names: dict[str, dict[str, list[str]]] = {}
    raw: JsonObjectType = {}
    for kind in kinds:
        names[kind] = {}
        for name in sorted(await _async_descriptions(wanted.hass, kind)):
            domain, _, short = name.partition(".")
            if short and _may_name(wanted, name):
                names[kind].setdefault(domain, []).append(short)
        raw[f"raw_{kind}"] = {name: cast(JsonValueType, form) for name, form in usual(kind, wanted.hass).items()}
    note = "Names are <domain>.<name>. Give name for one or for a domain, or a target for what fits it."
    numbers: set[str] = set()
    for brief in (None, *reversed(kinds)):
        numbers |= {brief} if brief else set()
        listing: dict[str, JsonValueType] = {
            kind: {
                domain: str(len(of)) if kind in numbers else ", ".join(of[:MAX_NAMES])
                for domain, of in by_domain.items()
            }
            for kind, by_domain in names.items()
        }
        if len(dump(found := {**listing, **raw, "note": note})) <= MAX_CHARACTERS:
            return found
    return {kind: cast(JsonValueType, _that_fit([*by], MAX_CHARACTERS // len(kinds))) for kind, by in names.items()} | {
        "note": note
    }


def _may_name(wanted: _Wanted, name: str) -> bool:
    """Return whether a name may be told: a script is an action by its own name."""
    return not name.startswith("script.") or wanted.hass.states.get(name) is None or wanted.knows(name)


async def _async_one(wanted: _Wanted, name: str, kinds: Sequence[str]) -> JsonObjectType:
    """Return everything of one name, or of one domain. Raises `ToolRefusal` with near names if it does not exist."""
    result: JsonObjectType = {}
    known: list[str] = []
    for kind in kinds:
        descriptions = {
            key: what for key, what in (await _async_descriptions(wanted.hass, kind)).items() if _may_name(wanted, key)
        }
        forms = usual(kind, wanted.hass)
        known += [*descriptions, *forms]
        if (description := descriptions.get(name)) is not None and not (kind != "actions" and name in forms):
            row = await _async_row(wanted, kind, name, description)
            if text := await _async_title(wanted.hass, kind, name, "description"):
                row["description"] = text
            if domains := _domains(description):
                row["target_domains"] = ", ".join(dict.fromkeys(domains))
            result[kind] = row
        elif name in forms:
            result[kind] = {"example": forms[name]}
        elif "." not in name and (names := [one for one in descriptions if one.startswith(f"{name}.")]):
            result[kind] = cast(JsonValueType, _that_fit(names, MAX_CHARACTERS // len(kinds)))
    if result:
        return _shortened(result)
    near = sorted(set(known), key=lambda one: -likeness(one, name))[:SUGGESTIONS]
    near = [one for one in near if likeness(one, name) >= _LIKE]
    hint = f" Did you mean {', '.join(near)}?" if near else " Ask without a name for a list."
    raise ToolRefusal(f"There is no trigger, condition or action '{plain_text(name)[:80]}'.{hint}")


def _shortened(result: JsonObjectType) -> JsonObjectType:
    """Return the answer with the fields that fit."""
    for row in result.values():
        while (
            isinstance(row, dict)
            and isinstance(fields := row.get("fields"), dict)
            and len(dump(result)) > MAX_CHARACTERS
            and fields
        ):
            fields.popitem()
            row["note"] = "Not all fields are listed."
    return result
