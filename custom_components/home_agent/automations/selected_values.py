"""What the description of a service says of its parameters: it decides where the service itself takes anything."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from .problems import near_words, nearest, quoted

MAX_OPTIONS = 20
_PROBE = "\x00 nothing that is meant"
"""What no parameter takes that looks at its value."""


def lax_faults(
    schema: Any, data: Mapping[str, Any], fields: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Yield the parameters that are missing or do not fit, each with the end of a sentence; only where the schema takes anything."""
    for name, field in fields.items():
        if name not in data:
            if field.get("required") and field.get("default") is None and schema_takes(schema, {**data}):
                yield name, f"needs {quoted(name)}."
        elif (sentence := value_fault(name, data[name], field)) is not None and schema_takes(
            schema, {**data, name: _PROBE}
        ):
            yield name, sentence
    if schema is None and fields:
        for name in data.keys() - fields.keys():
            listed = ", ".join(nearest(name, fields) or [*fields][:MAX_OPTIONS])
            yield name, f"has no parameter {quoted(name)}. Its parameters: {listed}."


def schema_takes(schema: Any, data: dict[str, Any]) -> bool:
    """Return whether a schema takes these parameters, for any target."""
    if schema is None:
        return True
    for target in ({}, {"entity_id": "all"}):
        with suppress(Exception):  # a schema of anybody's
            schema({**data, **target})
            return True
    return False


def selector_of(field: Mapping[str, Any] | None) -> tuple[str, Mapping[str, Any]]:
    """Return the kind of a field's selector and how it is set; an empty kind if it has none."""
    selector = (field or {}).get("selector")
    if not isinstance(selector, Mapping) or not selector:
        return "", {}
    kind = next(iter(selector))
    return str(kind), selector[kind] if isinstance(selector[kind], Mapping) else {}


def options_of(setting: Mapping[str, Any]) -> list[str]:
    """Return the values of a selector with options."""
    options = setting.get("options")
    return [
        str(one.get("value")) if isinstance(one, Mapping) else str(one)
        for one in (options if isinstance(options, list | tuple) else ())
    ]


def selector_words(field: Mapping[str, Any] | None) -> str:
    """Return in words what a parameter takes; empty if its description does not tell."""
    match selector_of(field):
        case "number", setting:
            limits = [f"{word} {setting[key]:g}" for key, word in (("min", "from"), ("max", "to")) if key in setting]
            return " ".join(["a number", *limits])
        case "boolean", _:
            return "true or false"
        case "select", setting:
            return ", ".join(options_of(setting)[:MAX_OPTIONS])
    return ""


def value_fault(name: str, value: object, field: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a value by its description, as the end of a sentence."""
    kind, setting = selector_of(field)
    if kind == "number" and not _is_in(value, setting):
        return f"takes {selector_words(field)} as {quoted(name)}, not {quoted(value)}."
    if (
        kind == "boolean"
        and not isinstance(value, bool)
        and str(value).casefold() not in ("on", "off", "yes", "no", "true", "false")
    ):
        return f"takes true or false as {quoted(name)}, not {quoted(value)}."
    if kind == "select" and not setting.get("custom_value") and (options := options_of(setting)):
        wrong = [one for one in (value if isinstance(value, list) else [value]) if str(one) not in options]
        if wrong:
            near = near_words(nearest(str(wrong[0]), options))
            return f"does not take {quoted(wrong[0])} as {quoted(name)}.{near} It takes: {selector_words(field)}."
    return None


def _is_in(value: object, setting: Mapping[str, Any]) -> bool:
    try:
        number = float(value)  # type: ignore[arg-type]
    except TypeError, ValueError:
        return False
    low, high = setting.get("min"), setting.get("max")
    return (low is None or number >= low) and (high is None or number <= high)
