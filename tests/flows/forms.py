"""Reading a form as the browser gets it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from homeassistant.config_entries import SOURCE_RECONFIGURE, SOURCE_USER, ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv
import probatio

from custom_components.home_agent.flows.retrieval import REMOVE, SECTIONS

type Result = Mapping[str, Any]
"""What a step of any flow returns."""
type Send = Callable[[str, dict[str, Any]], Awaitable[Result]]
"""Sends the form of a flow."""


async def page(hass: HomeAssistant, entry: ConfigEntry, step: str) -> Result:
    """Return a page of the default settings."""
    menu = await hass.config_entries.options.async_init(entry.entry_id)
    return await hass.config_entries.options.async_configure(menu["flow_id"], {"next_step_id": step})


async def send_page(hass: HomeAssistant, form: Result, **data: Any) -> Result:
    """Send a page; return what comes next."""
    result = await hass.config_entries.options.async_configure(form["flow_id"], data)
    await hass.async_block_till_done()
    return result


async def add(hass: HomeAssistant, entry: ConfigEntry, kind: str) -> Result:
    """Return the first form of a new subentry."""
    return await hass.config_entries.subentries.async_init((entry.entry_id, kind), context={"source": SOURCE_USER})


async def change(
    hass: HomeAssistant, entry: ConfigEntry, kind: str = "profile", subentry_id: str = "profile-1"
) -> Result:
    """Return the first form of a stored subentry."""
    where: Any = {"source": SOURCE_RECONFIGURE, "subentry_id": subentry_id}
    return await hass.config_entries.subentries.async_init((entry.entry_id, kind), context=where)


async def send(hass: HomeAssistant, form: Result, **data: Any) -> Result:
    """Send a form of a subentry; return what comes next."""
    result = await hass.config_entries.subentries.async_configure(form["flow_id"], data)
    await hass.async_block_till_done()
    return result


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
    return {
        name: field["description"]["suggested_value"]
        for name, field in fields(result).items()
        if "suggested_value" in (field.get("description") or {})
    }


def options(result: Result, field: str) -> list[str]:
    listed = fields(result)[field]["selector"]["select"]["options"]
    return [option["value"] if isinstance(option, dict) else option for option in listed]


def arranged(result: Result, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of a form: those of the values that it asks for, in its sections."""
    listed: Any = probatio.to_field_list(result["data_schema"], custom_serializer=cv.custom_serializer)
    sent: dict[str, Any] = {}
    for field in listed:
        if field.get("type") == "expandable":
            sent[field["name"]] = {
                part["name"]: values[part["name"]] for part in field["schema"] if part["name"] in values
            }
        elif field["name"] in values:
            sent[field["name"]] = values[field["name"]]
    return sent


async def resend(hass: HomeAssistant, form: Result, **changes: Any) -> Result:
    """Send a form of a subentry as it is shown, but for some fields."""
    return await send(hass, form, **arranged(form, shown(form) | changes))


async def resend_page(hass: HomeAssistant, form: Result, **changes: Any) -> Result:
    """Send a page as it is shown, but for some fields."""
    return await send_page(hass, form, **arranged(form, shown(form) | changes))


async def go_through(send: Send, form: Result, values: Mapping[str, Any]) -> Result:
    """Send values to the form that asks for them and to those that follow, as long as there are any; return what comes next."""
    left = dict(values)
    while True:
        asked = fields(form)
        sent = {name: left.pop(name) for name in list(left) if name in asked}
        form = await send(form["flow_id"], arranged(form, sent))
        if form["type"] != "form" or form["errors"] or not any(name in fields(form) for name in left):
            return form


def in_sections(data: dict[str, Any]) -> dict[str, Any]:
    """Return the input of the form, its fields in their sections."""
    parts = {name: {*section, *(REMOVE.get(key) for key in section)} for name, section in SECTIONS.items()}
    inside = {name: {key: value for key, value in data.items() if key in part} for name, part in parts.items()}
    outside = {key: value for key, value in data.items() if not any(key in part for part in parts.values())}
    return outside | {name: values for name, values in inside.items() if values}
