"""Parts that all forms share: selectors, fields with their stored values, and what the forms of subentries have in common."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from homeassistant.config_entries import SOURCE_RECONFIGURE, ConfigSubentry, ConfigSubentryFlow, SubentryFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import section
from homeassistant.helpers.selector import (
    BooleanSelector,
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    SelectOptionDict,
    Selector,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TemplateSelector,
    TextSelector,
    TextSelectorType,
)
import probatio

type Fields = dict[str, Selector[Any] | Callable[[HomeAssistant], Selector[Any]]]
"""Selectors by key; a function makes one when the form is shown."""

type FormError = tuple[str, dict[str, str]]
"""An error key and the placeholders of its sentence."""

SWITCH = BooleanSelector()
TEXT = TextSelector()
LONG_TEXT = TextSelector({"multiline": True})
ADDRESS = TextSelector({"type": TextSelectorType.URL})
SECRET = TextSelector({"type": TextSelectorType.PASSWORD, "autocomplete": "off"})
STORED = "•" * 8  # shown in place of a stored secret, and sent back if its field was not touched


class PromptSelector(TemplateSelector):
    """A template editor that accepts any text: the form reports errors itself, with their line."""

    def __call__(self, data: Any) -> str:
        """Return the text."""
        return str(data)


def number(minimum: float, maximum: float, *, unit: str | None = None, step: float = 1) -> NumberSelector:
    """Return a box for a number."""
    config: NumberSelectorConfig = {"min": minimum, "max": maximum, "step": step, "mode": NumberSelectorMode.BOX}
    return NumberSelector({**config, "unit_of_measurement": unit} if unit else config)


def select(
    options: Sequence[str] | Mapping[str, str],
    translation_key: str | None = None,
    *,
    multiple: bool = False,
    typed: bool = False,
    mode: SelectSelectorMode = SelectSelectorMode.DROPDOWN,
) -> SelectSelector:
    """Return a choice of values, or of labels by value; `typed` also accepts other values."""
    config: SelectSelectorConfig = {"options": [], "multiple": multiple, "custom_value": typed, "mode": mode}
    if isinstance(options, Mapping):
        config["options"] = [SelectOptionDict(value=value, label=label) for value, label in options.items()]
    else:
        config["options"] = list(options)
    return SelectSelector({**config, "translation_key": translation_key} if translation_key else config)


def markers(hass: HomeAssistant, fields: Fields, settings: Mapping[str, Any]) -> dict[probatio.Marker, Any]:
    """Return the fields, each with its current value and choices; all may be emptied."""
    return {
        shown(probatio.Optional, key, settings): field if isinstance(field, Selector) else field(hass)
        for key, field in fields.items()
    }


def sectioned(
    hass: HomeAssistant, parts: Mapping[str, Fields], settings: Mapping[str, Any]
) -> dict[probatio.Marker, Any]:
    """Return the fields of a form by section, folded; those under an empty name stand outside of any."""
    schema: dict[probatio.Marker, Any] = {}
    for name, fields in parts.items():
        inside = markers(hass, fields, settings)
        part = section(probatio.Schema(inside), {"collapsed": True}) if name else None
        schema |= {probatio.Optional(name): part} if part else inside
    return schema


def shown(marker: type[probatio.Marker], key: str, settings: Mapping[str, Any]) -> probatio.Marker:
    """Return a field with its value as a suggestion, so that it may be emptied."""
    value = settings.get(key)
    return marker(key, description=None if is_empty(value) else {"suggested_value": value})


class SubentryForms(ConfigSubentryFlow):
    """What the forms of all subentries have in common."""

    @property
    def subentry(self) -> ConfigSubentry | None:
        """Return the subentry that is being changed, None if one is being added."""
        return self._get_reconfigure_subentry() if self.source == SOURCE_RECONFIGURE else None

    @property
    def first_step(self) -> str:
        """Return the id of the step that was started."""
        return "reconfigure" if self.subentry else "user"

    def name_is_taken(self, name: str) -> bool:
        """Return whether another subentry of the type has the name, in any case of letters."""
        own = self.subentry
        return any(
            other.title.casefold() == name.casefold() and (own is None or other.subentry_id != own.subentry_id)
            for other in self._get_entry().get_subentries_of_type(self._subentry_type)
        )

    def store(self, title: str, data: dict[str, Any]) -> SubentryFlowResult:
        """Store what was entered."""
        if own := self.subentry:
            return self.async_update_and_abort(self._get_entry(), own, title=title, data=data)
        return self.async_create_entry(title=title, data=data)


def is_empty(value: Any) -> bool:
    """Return whether a form's field was left empty; zero and off are values."""
    return value is None or value in ("", [], {})


def lifted(user_input: Mapping[str, Any], sections: Collection[str]) -> dict[str, Any]:
    """Return the input with the fields of sections beside the others."""
    outside = {key: value for key, value in user_input.items() if key not in sections}
    return outside | {key: value for name in sections if name in user_input for key, value in user_input[name].items()}


def changed(
    stored: Mapping[str, Any], user_input: Mapping[str, Any], fields: Fields, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what to store after an input of these fields; a switch that was not sent stays."""
    data = dict(stored)
    for key in fields:
        value = user_input.get(key)
        value = value.strip() if isinstance(value, str) else value
        if not is_empty(value):
            data[key] = type(defaults[key])(value)
        elif not isinstance(defaults[key], bool):
            data.pop(key, None)
    return {key: value for key, value in data.items() if key not in defaults or value != defaults[key]}
