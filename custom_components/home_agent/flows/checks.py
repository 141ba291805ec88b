"""What a form checks before it stores anything; a finding is an error key and the placeholders of its sentence."""

from collections.abc import Mapping
import re
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import TemplateError
from homeassistant.helpers.template import Template
from jinja2 import TemplateSyntaxError

from ..prompt.template import RENDER_TIMEOUT, SAMPLE_VALUES, UNUSABLE, async_is_slow, fill
from ..settings.profile import LISTS

type Finding = tuple[str, dict[str, str]]

_LISTED = re.compile(r"[\w*?-]+(\.[\w*?-]+)?")
"""What a list may name: a domain or a tool, an entity or an action, any of them with wildcards."""
_ENTITY_PATTERN = re.compile(r"[a-z0-9_*]+\.[a-z0-9_*]+|\*")
_TIME_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
_SAMPLE = {
    "ha_name": "Home",
    "user_name": "User",
    "language": "en",
    "area_id": None,
    "device_id": None,
    "profile_name": "Home Agent",
}
"""Values of what a prompt is rendered with as a plain template (prompt/template.py)."""
_TEMPLATE_FILES = ("<template>", "<unknown>")
"""What Jinja calls the code of a template in a traceback; the line numbers there are the template's."""


def tidy(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the input of a form in the types that are stored: whole numbers, rows and lists without blanks."""
    tidied: dict[str, Any] = {key: int(value) if isinstance(value, float) else value for key, value in settings.items()}
    if rows := tidied.get("context_entities"):
        tidied["context_entities"] = [_context_entity(row) for row in ([rows] if isinstance(rows, dict) else rows)]
    for key in LISTS:
        if key in tidied:
            tidied[key] = sorted({stripped for name in tidied[key] if (stripped := name.strip())})
    return tidied


def _context_entity(row: Mapping[str, Any]) -> dict[str, Any]:
    attributes = [name for attribute in row.get("attributes") or () if (name := attribute.strip())]
    return {"entity_id": row["entity_id"].strip().lower(), **({"attributes": attributes} if attributes else {})}


async def async_check_settings(hass: HomeAssistant, settings: Mapping[str, Any]) -> Finding | None:
    """Return what is wrong with a profile's settings; a prompt that would make Home Assistant stand still is tried beside it."""
    for key in ("custom_prompt", "prompt_additions"):
        if await async_is_slow(hass, settings[key], _SAMPLE | SAMPLE_VALUES):
            return f"{key}_slow", {"seconds": f"{RENDER_TIMEOUT:g}"}
    return check_settings(hass, settings)


def check_settings(hass: HomeAssistant, settings: Mapping[str, Any]) -> Finding | None:
    """Return what is wrong with a profile's settings as they would apply."""
    for row in settings.get("context_entities") or ():
        if not _ENTITY_PATTERN.fullmatch(row["entity_id"]):
            return "entity_pattern", {"pattern": row["entity_id"]}
    if finding := check_lists(settings):
        return finding
    if not settings["use_default_prompt"] and not settings["custom_prompt"].strip():
        return "custom_prompt_empty", {}
    if (zone := settings["timezone"].strip()) and not _TIME_ZONE.fullmatch(zone):
        return "timezone_invalid", {"zone": zone}
    for key in ("custom_prompt", "prompt_additions"):
        if problem := check_template(hass, settings[key], plain=not settings["use_prompt_context_service"]):
            return f"{key}_invalid", problem
    return None


def check_lists(settings: Mapping[str, Any]) -> Finding | None:
    """Return which item of the lists can name nothing."""
    for name in (name for key in LISTS for name in settings.get(key) or ()):
        if not _LISTED.fullmatch(name):
            return "list_item", {"item": name}
    return None


def check_template(hass: HomeAssistant, text: str, *, plain: bool = False) -> dict[str, str] | None:
    """Return line and message of what keeps a prompt from rendering; `plain`: without the names of the prompt context service."""
    try:
        if plain:
            Template(text, hass).async_render(_SAMPLE, parse_result=False)
        else:
            fill(hass, text, SAMPLE_VALUES)
    except UNUSABLE as err:
        cause = err.__cause__ if isinstance(err, TemplateError) else err
        return {"line": _line(cause), "error": str(cause or err)}
    return None


def _line(error: BaseException | None) -> str:
    """Return the line of a template in which an error arose, `?` where Jinja does not say."""
    if isinstance(error, TemplateSyntaxError):
        return str(error.lineno)
    line = "?"
    traceback = error.__traceback__ if error else None
    while traceback:
        if traceback.tb_frame.f_code.co_filename in _TEMPLATE_FILES:
            line = str(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line
