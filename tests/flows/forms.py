"""Reading a form as the browser gets it."""

from collections.abc import Mapping
from typing import Any

from homeassistant.helpers import config_validation as cv
import probatio

from custom_components.home_agent.flows.search import REMOVE, SECTIONS

type Result = Mapping[str, Any]
"""What a step of any flow returns."""


def fields(result: Result) -> dict[str, dict[str, Any]]:
    """Return the fields of a form by name, those of its sections among them."""
    schema = result["data_schema"]
    listed: Any = probatio.to_field_list(schema, custom_serializer=cv.custom_serializer)
    flat: dict[str, dict[str, Any]] = {}
    for field in listed:
        if field.get("type") == "expandable":
            flat |= {inner["name"]: inner for inner in field["schema"]}
        else:
            flat[field["name"]] = field
    return flat


def shown(result: Result) -> dict[str, Any]:
    """Return the values that a form shows."""
    return {
        name: field["description"]["suggested_value"]
        for name, field in fields(result).items()
        if "suggested_value" in (field.get("description") or {})
    }


def options(result: Result, field: str) -> list[str]:
    """Return what can be chosen in a field."""
    listed = fields(result)[field]["selector"]["select"]["options"]
    return [option["value"] if isinstance(option, dict) else option for option in listed]


def in_sections(data: dict[str, Any]) -> dict[str, Any]:
    """Return the input of the form, its fields in their sections."""
    parts = {name: {*section, *(REMOVE.get(key) for key in section)} for name, section in SECTIONS.items()}
    inside = {name: {key: value for key, value in data.items() if key in part} for name, part in parts.items()}
    outside = {key: value for key, value in data.items() if not any(key in part for part in parts.values())}
    return outside | {name: values for name, values in inside.items() if values}
