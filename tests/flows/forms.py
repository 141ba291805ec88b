"""Reading a form as the browser gets it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from homeassistant.config_entries import SOURCE_RECONFIGURE, SOURCE_USER, ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv
import probatio

from custom_components.home_agent.flows.fields import TOPICS
from custom_components.home_agent.flows.options import ADVANCED_TOPICS
from custom_components.home_agent.flows.profile import MORE

type Result = Mapping[str, Any]
"""What a step of any flow returns."""
type Send = Callable[[str, dict[str, Any]], Awaitable[Result]]
"""Sends the form of a flow."""


async def page(hass: HomeAssistant, entry: ConfigEntry, step: str) -> Result:
    """Return a page of the default settings."""
    flows = hass.config_entries.options
    menu = await flows.async_init(entry.entry_id)
    if step in ADVANCED_TOPICS:
        menu = await flows.async_configure(menu["flow_id"], {"next_step_id": "advanced"})
    return await flows.async_configure(menu["flow_id"], {"next_step_id": step})


async def send_page(hass: HomeAssistant, form: Result, **data: Any) -> Result:
    """Send a page; return what comes next."""
    result = await hass.config_entries.options.async_configure(form["flow_id"], in_words(form, data))
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
    result = await hass.config_entries.subentries.async_configure(form["flow_id"], in_words(form, data))
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


def is_switch(field: Mapping[str, Any]) -> bool:
    """Return whether a field is a switch that can be emptied: a choice of on and off."""
    choice = field.get("selector", {}).get("select") or {}
    return bool(choice.get("translation_key") == "switch")


def in_words(form: Result, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input with on and off for True and False where a form has a choice of them."""
    asked = fields(form) if form["type"] == "form" else {}
    words = {True: "on", False: "off"}
    return {
        name: words[value] if isinstance(value, bool) and is_switch(asked.get(name, {})) else value
        for name, value in data.items()
    }


def shown(result: Result) -> dict[str, Any]:
    """Return the values of the fields that have one, True and False for a choice of on and off."""
    values = {
        name: field["description"]["suggested_value"]
        for name, field in fields(result).items()
        if "suggested_value" in (field.get("description") or {})
    }
    return {name: value == "on" if is_switch(fields(result)[name]) else value for name, value in values.items()}


def options(result: Result, field: str) -> list[str]:
    listed = fields(result)[field]["selector"]["select"]["options"]
    return [option["value"] if isinstance(option, dict) else option for option in listed]


def arranged(result: Result, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of a form: those of the values that it asks for, in its sections."""
    listed: Any = probatio.to_field_list(result["data_schema"], custom_serializer=cv.custom_serializer)
    sent: dict[str, Any] = {}
    values = in_words(result, values)
    for field in listed:
        if field.get("type") == "expandable":
            sent[field["name"]] = {
                part["name"]: values[part["name"]] for part in field["schema"] if part["name"] in values
            }
        elif field["name"] in values:
            sent[field["name"]] = values[field["name"]]
    return sent


def filled(form: Result, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of a form as it is shown, but for some fields; None stands for one that was emptied."""
    return arranged(form, {name: value for name, value in {**shown(form), **changes}.items() if value is not None})


async def resend(hass: HomeAssistant, form: Result, **changes: Any) -> Result:
    """Send a form of a subentry as it is shown, but for some fields; what the first form of an agent lacks, by its topic."""
    later = {name: value for name, value in changes.items() if name not in fields(form)}
    topics = [topic for topic, asked in TOPICS.items() if asked.keys() & later.keys()]
    if not topics:
        return await send(hass, form, **filled(form, changes))
    result = await more(hass, form, **{name: value for name, value in changes.items() if name not in later})
    for topic in topics:
        if result["type"] != "menu":
            return result
        form = await send(hass, result, next_step_id=topic)
        asked = {name: later.pop(name) for name in list(later) if name in fields(form)}
        result = await send(hass, form, **filled(form, asked))
    assert not later, f"no form asks for {later}"
    return await send(hass, result, next_step_id="save") if result["type"] == "menu" else result


async def more(hass: HomeAssistant, form: Result, topic: str | None = None, **changes: Any) -> Result:
    """Send the first form of an agent as it is shown, but for some fields, and return the menu or the form of a topic."""
    menu = await send(hass, form, **filled(form, changes | {MORE: True}))
    return await send(hass, menu, next_step_id=topic) if topic and menu["type"] == "menu" else menu


async def whole(hass: HomeAssistant, form: Result) -> dict[str, Any]:
    """Return what all forms of an agent show."""
    values, menu = shown(form), await more(hass, form)
    for topic in TOPICS:
        form = await send(hass, menu, next_step_id=topic)
        values |= shown(form)
        menu = await send(hass, form, **filled(form, {}))
    return values


async def resend_page(hass: HomeAssistant, form: Result, **changes: Any) -> Result:
    """Send a page as it is shown, but for some fields."""
    return await send_page(hass, form, **filled(form, changes))


async def send_search(hass: HomeAssistant, form: Result, **data: Any) -> Result:
    """Send the forms about search, each with what it asks for and the rest as it is shown; return what comes next."""
    while True:
        step = form["step_id"]
        form = await send_page(hass, form, **filled(form, {name: data[name] for name in data if name in fields(form)}))
        if form["type"] != "form" or form["step_id"] == step or form["errors"]:
            return form


async def go_through(send: Send, form: Result, values: Mapping[str, Any]) -> Result:
    """Send values to the form that asks for them and to those that follow, as long as there are any; return what comes next."""
    left = dict(values)
    while True:
        asked = fields(form)
        sent = {name: left.pop(name) for name in list(left) if name in asked}
        form = await send(form["flow_id"], arranged(form, sent))
        if form["type"] != "form" or form["errors"] or not any(name in fields(form) for name in left):
            return form
