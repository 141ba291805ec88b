"""Fields of triggers, conditions and actions in short for a model: type, range, options, default."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from homeassistant.core import State
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, JsonObjectType, JsonValueType, json_loads

from ..support.encoding import dump, plain_text

MAX_OPTIONS = 12
MAX_TEXT = 240  # characters of one field
_BEHAVIORS: Mapping[str, tuple[str, ...]] = {"trigger": ("each", "first", "all"), "condition": ("any", "all")}
_ZERO = ("00:00:00", {"days": 0, "hours": 0, "minutes": 0, "seconds": 0})
LISTED_IN: Mapping[str, str] = {
    "effect": "effect_list", "fan_mode": "fan_modes", "fan_speed": "fan_speed_list", "hvac_mode": "hvac_modes",
    "mode": "available_modes", "operation_mode": "operation_list", "option": "options", "preset_mode": "preset_modes",
    "sound_mode": "sound_mode_list", "source": "source_list", "swing_horizontal_mode": "swing_horizontal_modes",
    "swing_mode": "swing_modes", "tone": "available_tones",
}  # fmt: skip
"""Where an entity lists what a field of this name can be."""

type FieldDescription = Mapping[str, Any]


def flat_fields(fields: object) -> dict[str, FieldDescription]:
    """Return the fields of a description by name, those of its sections among them."""
    found: dict[str, FieldDescription] = {}
    if isinstance(fields, Mapping):
        for name, field in fields.items():
            if isinstance(field, Mapping) and isinstance(field.get("fields"), Mapping):
                found |= flat_fields(field["fields"])
            else:
                found[str(name)] = field if isinstance(field, Mapping) else {}
    return found


def suits(field: FieldDescription, states: Sequence[State]) -> bool:
    """Return whether one of the entities can use a field of an action; without entities every field counts."""
    wanted = field.get("filter")
    return not states or not isinstance(wanted, Mapping) or any(_fits(wanted, state) for state in states)


def is_unusable(field: FieldDescription, states: Sequence[State]) -> bool:
    """Return whether each of the entities says that it cannot use a field of an action."""
    wanted = field.get("filter")
    if not states or not isinstance(wanted, Mapping):
        return False
    return all(_tells(wanted, state) and not _fits(wanted, state) for state in states)


def _tells(wanted: Mapping[str, Any], state: State) -> bool:
    """Return whether an entity has all attributes that a filter asks for."""
    asked = (*(("supported_features",) if wanted.get("supported_features") else ()), *(wanted.get("attribute") or {}))
    return all(state.attributes.get(name) is not None for name in asked)


def _fits(wanted: Mapping[str, Any], state: State) -> bool:
    features = state.attributes.get("supported_features")
    for mask in wanted.get("supported_features", ()):
        if isinstance(features, int) and isinstance(mask, int) and features & mask == mask:
            return True
    for name, values in (wanted.get("attribute") or {}).items():
        has = state.attributes.get(name)
        if any(value in values for value in (has if isinstance(has, list | tuple | set) else (has,))):
            return True
    return False


def field_in_short(name: str, field: FieldDescription, states: Sequence[State] = ()) -> str:
    """Return what a field takes: "required; each, first or all; default each"."""
    parts = ["required"] if field.get("required") and field.get("default") is None else []
    parts.append(_type_of(name, field, states))
    if (default := field.get("default")) is not None and default not in _ZERO:
        parts.append(f"default {default if isinstance(default, str) else dump(default).decode()}")
    return plain_text("; ".join(parts))[:MAX_TEXT]


def _selector(field: FieldDescription) -> tuple[str, Mapping[str, Any]]:
    selector = field.get("selector")
    if not isinstance(selector, Mapping) or not selector:
        return "", {}
    [kind, *_] = selector
    config = selector[kind]
    return str(kind), config if isinstance(config, Mapping) else {}


def _type_of(name: str, field: FieldDescription, states: Sequence[State]) -> str:
    kind, config = _selector(field)
    match kind:
        case "automation_behavior":
            return " or ".join(_BEHAVIORS.get(str(config.get("mode")), _BEHAVIORS["trigger"]))
        case "boolean":
            return "true or false"
        case "color_rgb":
            return "[red, green, blue], each 0 to 255"
        case "color_temp":
            return f"number {config.get('min', 2000)} to {config.get('max', 6500)} {config.get('unit', 'kelvin')}"
        case "duration":
            form = dump(_length(config)).decode()
            return f"duration{', negative: before' if _is_signed(config) else ''}, e.g. {form}"
        case "entity":
            domains = _domains(config)
            return f"entity id{' of ' + ' or '.join(domains) if domains else ''}{_listed(config)}"
        case "number":
            return _number(config)
        case "numeric_threshold":
            return _threshold(config)
        case "select":
            return _options([_value(option) for option in config.get("options", ())], config)
        case "state" | "attribute":
            return _options(_known_options(name, config, states), config) if states else f"text{_listed(config)}"
        case "":
            return "any"
    return kind.replace("_", " ")


def _is_signed(config: Mapping[str, Any]) -> bool:
    return config.get("mode") in ("offset", "signed") or bool(config.get("allow_negative"))


def _length(config: Mapping[str, Any]) -> JsonObjectType:
    return {"minutes": -30 if _is_signed(config) else 5}


def _domains(config: Mapping[str, Any]) -> list[str]:
    given = [config, *_mappings(config.get("filter"))]
    found = [one.get("domain") for one in given]
    return sorted({str(item) for one in found if one for item in (one if isinstance(one, list) else [one])})


def _mappings(value: object) -> Iterable[Mapping[str, Any]]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Mapping)]


def _listed(config: Mapping[str, Any]) -> str:
    return ", or a list of them" if config.get("multiple") else ""


def _number(config: Mapping[str, Any]) -> str:
    low, high, unit = config.get("min"), config.get("max"), config.get("unit_of_measurement")
    span = f" {low:g} to {high:g}" if low is not None and high is not None else ""
    return f"number{span}{f' {unit}' if unit else ''}"


def _threshold(config: Mapping[str, Any]) -> str:
    number = config.get("number") or {}
    units = config.get("unit_of_measurement") or [number.get("unit_of_measurement", "")]
    span = _number({**number, "unit_of_measurement": " or ".join(map(str, units))}).removeprefix("number").strip()
    form = dump(_threshold_example(config)).decode()
    return f"{form}{f' ({span})' if span else ''}, or type below, between, outside (value_min, value_max)"


def _threshold_example(config: Mapping[str, Any]) -> JsonObjectType:
    half, units = (config.get("number") or {}).get("max", 40) / 2, config.get("unit_of_measurement")
    value: JsonObjectType = {"number": int(half) if float(half).is_integer() else half}
    return {"type": "above", "value": value | ({"unit_of_measurement": units[0]} if units else {})}


def _value(option: object) -> str:
    return str(option.get("value")) if isinstance(option, Mapping) else str(option)


def _known_options(name: str, config: Mapping[str, Any], states: Sequence[State]) -> list[str]:
    """Return what the entities can be, as they list it themselves."""
    found: dict[str, None] = {}
    for state in states:
        listed = state.attributes.get(LISTED_IN.get(str(config.get("attribute") or name), ""))
        found |= dict.fromkeys(map(str, listed)) if isinstance(listed, list | tuple) else {}
    return [*found]


def _options(options: Sequence[str], config: Mapping[str, Any]) -> str:
    if not options:
        return f"text{_listed(config)}"
    more = f" and {len(options) - MAX_OPTIONS} more" if len(options) > MAX_OPTIONS else ""
    return f"{', '.join(options[:MAX_OPTIONS])}{more}{' (a list)' if config.get('multiple') else ''}"


def _written(example: object) -> JsonValueType:
    """Return the example of a description, which may be JSON as a text."""
    text = str(example)
    try:
        return json_loads(text) if text[:1] in "[{" else text
    except JSON_DECODE_EXCEPTIONS:
        return text


def example_value(name: str, field: FieldDescription, states: Sequence[State]) -> JsonValueType:
    """Return a value that a field could have in an example."""
    if field.get("example") is not None and not isinstance(field["example"], Mapping):
        return _written(field["example"])
    kind, config = _selector(field)
    match kind:
        case "automation_behavior":
            return _BEHAVIORS.get(str(config.get("mode")), _BEHAVIORS["trigger"])[0]
        case "boolean":
            return True
        case "duration":
            return _length(config)
        case "number":
            low, high = config.get("min", 0), config.get("max", 100)
            middle = (low + high) / 2
            return int(middle) if float(middle).is_integer() else middle
        case "numeric_threshold":
            return _threshold_example(config)
        case "select":
            options = [_value(option) for option in config.get("options", ())]
            return options[0] if options else "…"
        case "state" | "attribute":
            known = _known_options(name, config, states)
            return known[0] if known else "…"
        case "entity":
            domains = _domains(config)
            return "zone.home" if "zone" in domains else f"{domains[0] if domains else 'sensor'}.…"
    return "…"
