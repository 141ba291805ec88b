"""What all forms are made of: selectors, fields that show what is stored, and what the forms of subentries do alike."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from homeassistant.config_entries import SOURCE_RECONFIGURE, ConfigSubentry, ConfigSubentryFlow, SubentryFlowResult
from homeassistant.core import HomeAssistant
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
    TextSelectorConfig,
    TextSelectorType,
)
import probatio

type Fields = dict[str, Selector[Any] | Callable[[HomeAssistant], Selector[Any]]]
"""Selectors by key; one whose choices depend on the home is made when the form is shown."""

type FormError = tuple[str, dict[str, str]]
"""What is wrong with an input: an error key and the placeholders of its sentence."""

SWITCH = BooleanSelector()
TEXT = TextSelector(TextSelectorConfig())
LONG_TEXT = TextSelector(TextSelectorConfig(multiline=True))
ADDRESS = TextSelector(TextSelectorConfig(type=TextSelectorType.URL))
SECRET = TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD, autocomplete="off"))
STORED = "•" * 8
"""What the field of a secret shows in place of the one that is stored, and sends when nobody touched it."""


class PromptSelector(TemplateSelector):
    """A template editor that takes any text: the form itself says what is wrong with it and in which line."""

    def __call__(self, data: Any) -> str:
        """Return the text."""
        return str(data)


def number(minimum: float, maximum: float, *, unit: str | None = None, step: float = 1) -> NumberSelector:
    """Return a box for a number."""
    config = NumberSelectorConfig(min=minimum, max=maximum, step=step, mode=NumberSelectorMode.BOX)
    if unit:
        config["unit_of_measurement"] = unit
    return NumberSelector(config)


def dropdown(
    options: Sequence[str] | Mapping[str, str],
    translation_key: str | None = None,
    *,
    multiple: bool = False,
    typed: bool = False,
) -> SelectSelector:
    """Return a list to choose from, of values or of labels by value; `typed`: anything else may be entered."""
    listed = (
        [SelectOptionDict(value=value, label=label) for value, label in options.items()]
        if isinstance(options, Mapping)
        else list(options)
    )
    config = SelectSelectorConfig(
        options=listed, multiple=multiple, custom_value=typed, mode=SelectSelectorMode.DROPDOWN
    )
    if translation_key:
        config["translation_key"] = translation_key
    return SelectSelector(config)


def markers(hass: HomeAssistant, fields: Fields, settings: Mapping[str, Any]) -> dict[probatio.Marker, Any]:
    """Return the fields, each with the value that applies and the choices that the home has now; all may be emptied."""
    return {
        shown(probatio.Optional, key, settings): field if isinstance(field, Selector) else field(hass)
        for key, field in fields.items()
    }


def shown(marker: type[probatio.Marker], key: str, settings: Mapping[str, Any]) -> probatio.Marker:
    """Return a field that shows its value; it may be emptied, which a default would not allow."""
    value = settings.get(key)
    return marker(key, description=None if is_empty(value) else {"suggested_value": value})


class SubentryForms(ConfigSubentryFlow):
    """What the forms of all subentries do alike."""

    @property
    def subentry(self) -> ConfigSubentry | None:
        """Return what is being changed, None while something is added."""
        return self._get_reconfigure_subentry() if self.source == SOURCE_RECONFIGURE else None

    def name_is_taken(self, name: str) -> bool:
        """Return whether another subentry of the type goes by the name, however it is written."""
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
    lifted_input: dict[str, Any] = {}
    for key, value in user_input.items():
        lifted_input.update(value if key in sections else {key: value})
    return lifted_input
