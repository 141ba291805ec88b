"""Which entities a rendered service call reaches: all of them by name, none by `all`, each of them exposed.

Areas, floors, devices and labels are resolved here and now, so that what is checked is what is called.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.const import (
    ATTR_AREA_ID,
    ATTR_DEVICE_ID,
    ATTR_ENTITY_ID,
    ATTR_FLOOR_ID,
    ATTR_LABEL_ID,
    ENTITY_MATCH_ALL,
    ENTITY_MATCH_NONE,
)
from homeassistant.core import HomeAssistant, split_entity_id, valid_entity_id
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids

from ..errors import ToolError
from ..safety.permission import is_exposed
from ..safety.tool import ToolRefusal
from ..tools.groups import is_open, reached_members
from ..tools.mentioned import entity_ids_in, variables_name
from ..tools.parameters import TARGET_KEYS

PLACES = (ATTR_AREA_ID, ATTR_DEVICE_ID, ATTR_FLOOR_ID, ATTR_LABEL_ID)
KEYS = frozenset({ATTR_ENTITY_ID, *PLACES})
"""What names the targets of a service, in `target` and at the top of `data`."""

_EVERYTHING = frozenset({ENTITY_MATCH_ALL, ENTITY_MATCH_NONE, "*"})
_ANY_DOMAIN = frozenset({"homeassistant"})
"""Domains whose services take entities of every kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The entities of a call."""

    called: tuple[str, ...] = ()
    """On which the service is called."""
    behind: tuple[str, ...] = ()
    """Members of groups among them."""
    named: tuple[str, ...] = ()
    """Named anywhere else in the data."""


def reached(
    hass: HomeAssistant, user: User | None, domain: str, wanted: Mapping[str, Any], data: Mapping[str, Any]
) -> Reached:
    """Return what a call reaches. `wanted` are the target keys, `data` is the rest.

    Raises `ToolError` for what is not there or not exposed; single entities are left to the policy, which gives the same
    answer.
    """
    _check_inside(data)
    if domain == "script" and ENTITY_MATCH_ALL in variables_name(hass, data):
        raise ToolRefusal("Targets have to be named one by one.")
    called = dict.fromkeys(_entity_ids(wanted.get(ATTR_ENTITY_ID)))
    places = {key: _texts(wanted[key]) for key in PLACES if wanted.get(key) is not None}
    if places:
        called |= dict.fromkeys(_inside(hass, user, domain, places))
    return Reached(
        called=tuple(called),
        behind=tuple(member for entity_id in called for member in reached_members(hass, entity_id)),
        named=tuple(dict.fromkeys(entity_ids_in(hass, data))),
    )


def _entity_ids(value: object) -> Iterator[str]:
    for text in _texts(value):
        if not valid_entity_id(entity_id := text.casefold()):
            raise ToolError("entity_not_found", target=text)
        yield entity_id


def _texts(value: object) -> list[str]:
    """Return the ids in a text with commas or a list. Raises `ToolRefusal` for `all`."""
    parts = value.split(",") if isinstance(value, str) else [] if value is None else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ToolRefusal("A target is not text.")
    found = [part.strip() for part in parts if part.strip()]
    if any(text.casefold() in _EVERYTHING for text in found):
        raise ToolRefusal("Targets have to be named one by one.")
    return found


def _inside(hass: HomeAssistant, user: User | None, domain: str, places: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the entities in areas, floors, devices and labels that are exposed and fit the service."""
    selected = async_extract_referenced_entity_ids(hass, TargetSelection(dict(places)), expand_group=False)
    found = [
        entity_id
        for entity_id in sorted(selected.indirectly_referenced)
        if domain in (*_ANY_DOMAIN, split_entity_id(entity_id)[0])
        and is_exposed(hass, entity_id)
        and is_open(hass, entity_id)
        and (user is None or user.permissions.check_entity(entity_id, POLICY_CONTROL))
    ]
    if not found:
        raise ToolError("entity_not_found", target=", ".join(text for texts in places.values() for text in texts))
    return found


def _check_inside(value: object, key: str = "") -> None:
    """Raise `ToolRefusal` when data has targets inside that are not entities one by one."""
    match value:
        case str() if key in TARGET_KEYS and value.strip().casefold() in _EVERYTHING:
            raise ToolRefusal("Targets have to be named one by one.")
        case Mapping():
            for name, item in value.items():
                if str(name).casefold() in PLACES:
                    raise ToolRefusal(f"{name} is not allowed inside of data.")
                _check_inside(item, str(name).casefold())
        case list():
            for item in value:
                _check_inside(item, key)
