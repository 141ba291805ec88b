"""What the owner's templates read of the home: exposed entities only, and those that the owner wrote into the template.

A template that names an entity has it by its owner's choice. All else that it goes through (all states, a domain, an area, a
label, a device, an integration, Repairs) has only exposed entities in it, and a single one that arguments lead to is noted, so that the
call is refused for one that is not exposed.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
import re
from typing import Any, cast

from homeassistant.core import HomeAssistant, valid_entity_id
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
)
from homeassistant.helpers.template import TemplateEnvironment
from homeassistant.helpers.template.render_info import render_info_cv

from ...home.exposure import is_exposed
from ...turn.turn import current_turn

ABOUT_ENTITIES = ("config_entry_id", "entity_name", "is_hidden_entity")
"""Functions that read a registry for one entity."""
ABOUT_DEVICES = ("device_attr", "device_id", "device_name", "is_device_attr")
"""Functions that read a registry for an entity or a device, by its id or name."""
ABOUT_PLACES = ("area_id", "area_name", "floor_id", "floor_name", "labels")
"""Functions that read a registry for an area, an entity or a device."""
LISTING_ENTITIES = ("area_entities", "device_entities", "floor_entities", "integration_entities", "label_entities")
LISTING_DEVICES = ("area_devices", "label_devices")
ABOUT_ENTRIES = ("config_entry_attr",)
"""Functions that read a config entry by its id."""
ABOUT_ISSUES = ("issue", "issues")
NOTED_BY_HOME_ASSISTANT = (
    "closest", "distance", "expand", "has_value", "is_state", "is_state_attr", "state_attr", "state_attr_translated",
    "state_translated", "states",
)  # fmt: skip
"""Functions that read states by their ids, which Home Assistant itself notes."""

_ID = re.compile(r"\b[a-z]\w{0,60}\.\w{1,200}")

type TemplateFunction = Callable[..., Any]
type IsWritten = Callable[[str], bool]
"""Returns whether the owner wrote a text into the template that is being rendered."""


def _note(entity_ids: Iterable[str]) -> None:
    """Count entities as read, as Home Assistant's functions for states do."""
    if (info := render_info_cv.get()) is not None:
        cast(set[str], info.entities).update(entity_ids)


class Permitted:
    """Decides what templates may read, for the user of the running turn."""

    def __init__(self, hass: HomeAssistant, is_written: IsWritten) -> None:
        """Take what the owner's own words are."""
        self._hass = hass
        self.is_written = is_written

    def entity(self, entity_id: str) -> bool:
        """Return whether an entity is told: it is exposed and the user may know of it, or the owner named it."""
        turn = current_turn.get(None)
        user = turn.user if turn is not None else None
        return self.is_written(entity_id) or is_exposed(self._hass, entity_id, user)

    def any_of(self, entries: Iterable[er.RegistryEntry]) -> bool:
        """Return whether one of these entities is told."""
        return any(self.entity(entry.entity_id) for entry in entries)

    def device(self, device: dr.BaseDeviceEntry) -> bool:
        """Return whether a device is told: one of its entities is, or the owner named it."""
        if any(map(self.is_written, filter(None, (device.id, device.name_by_user, device.name)))):
            return True
        return self.any_of(er.async_entries_for_device(er.async_get(self._hass), device.id))

    def place(self, text: str) -> bool:
        """Return whether a text is that of an area or a floor, or no device that is not told."""
        areas, floors = ar.async_get(self._hass), fr.async_get(self._hass)
        known = (areas.async_get_area(text), areas.async_get_area_by_name(text), areas.async_get_areas_by_alias(text))
        return any((*known, floors.async_get_floor(text), floors.async_get_floor_by_name(text))) or self.about(text)

    def about(self, text: str) -> bool:
        """Return whether a text is no id or name of a device that is not told."""
        devices = dr.async_get(self._hass)
        found = devices.async_get(text)
        if found is not None:
            return self.device(found)
        named = [
            device
            for device in (*devices.devices, *devices.child_devices)
            if text in (device.name_by_user, device.name)
        ]
        return not named or any(map(self.device, named))

    def entry(self, entry_id: str) -> bool:
        """Return whether a config entry is told: one of its entities is, or the owner named it."""
        entries = er.async_entries_for_config_entry(er.async_get(self._hass), entry_id)
        return self.is_written(entry_id) or self.any_of(entries)

    def text(self, text: str) -> bool:
        """Return whether a text has no id of an entity in it that exists and is not told."""
        return all(self._hass.states.get(found) is None or self.entity(found) for found in _ID.findall(text))


class ToldStates:
    """The `states` of templates, or those of a domain: to go through them, or to count them, yields what is told."""

    unsafe_callable = alters_data = False
    """What Jinja asks of all that is called; else these would be domains."""

    def __init__(self, told: Permitted, states: Any, domain: str = "") -> None:
        """Wrap Home Assistant's own object."""
        self._told = told
        self._states = states
        self._domain = domain

    def __iter__(self) -> Iterator[Any]:
        """Yield the states."""
        return (state for state in self._states if self._told.entity(state.entity_id))

    def __len__(self) -> int:
        """Return the number of states."""
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Any:
        """Return a state, or the states of a domain."""
        entity_id = f"{self._domain}.{name}" if self._domain else name
        if "." not in entity_id:
            return ToldStates(self._told, found, name) if (found := self._states[name]) is not None else None
        _note((entity_id.casefold(),))  # also one that is printed as a whole, or only compared with nothing
        return self._states[name]

    __getattr__ = __getitem__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value of a state."""
        return self._states(*args, **kwargs)


def guard(hass: HomeAssistant, environment: TemplateEnvironment, is_written: IsWritten) -> None:
    """Let the functions of templates tell of what is exposed, besides what the owner wrote into the template."""
    told = Permitted(hass, is_written)
    environment.globals["states"] = ToldStates(told, environment.globals["states"])
    guards: tuple[tuple[tuple[str, ...], Callable[[TemplateFunction], TemplateFunction]], ...] = (
        (ABOUT_ENTITIES, _noting),
        ((*ABOUT_DEVICES, *ABOUT_PLACES), _noting),
        (ABOUT_DEVICES, partial(_asking, told.about)),
        (ABOUT_PLACES, partial(_asking, told.place)),
        (LISTING_ENTITIES, partial(_listing, told.entity)),
        (LISTING_DEVICES, partial(_listing, told.about)),
        (ABOUT_ENTRIES, partial(_asking, told.entry)),
        (ABOUT_ISSUES, partial(_telling, told.text)),
    )
    for table in (environment.globals, environment.filters, environment.tests):
        for names, guarded in guards:
            for name in names:
                if callable(function := table.get(name)):
                    table[name] = guarded(function)


def _noting(function: TemplateFunction) -> TemplateFunction:
    """Return a function that counts the entities in its arguments as read."""

    @wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        ids = (text.strip().casefold() for text in _texts(args, kwargs))
        _note(entity_id for entity_id in ids if valid_entity_id(entity_id))
        return function(*args, **kwargs)

    return noted


def _asking(is_told: Callable[[str], bool], function: TemplateFunction) -> TemplateFunction:
    """Return a function that answers as for something unknown where a text names what is not told."""

    @wraps(function)
    def answered(*args: Any, **kwargs: Any) -> Any:
        if all(map(is_told, _texts(args, kwargs))):
            return function(*args, **kwargs)
        return function(*("" if isinstance(item, str) else item for item in args), **dict.fromkeys(kwargs, ""))

    return answered


def _listing(is_told: Callable[[str], bool], function: TemplateFunction) -> TemplateFunction:
    """Return a function whose list has only what is told."""

    @wraps(function)
    def listed(*args: Any, **kwargs: Any) -> Any:
        return [found for found in function(*args, **kwargs) if is_told(found)]

    return listed


def _telling(is_told: Callable[[str], bool], function: TemplateFunction) -> TemplateFunction:
    """Return a function for one issue of Repairs, or for all by key, without those that name what is not told."""

    @wraps(function)
    def open_issues(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        if isinstance(found, dict) and all(isinstance(key, tuple) for key in found):
            return {key: issue for key, issue in found.items() if is_told(str(issue))}
        return found if is_told(str(found)) else None

    return open_issues


def _texts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    return [item for item in (*args, *kwargs.values()) if isinstance(item, str)]
