"""The settings of a profile as form fields; the form of an agent and the default settings show the same ones."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.config_entries import (
    SOURCE_RECONFIGURE,
    ConfigEntry,
    ConfigSubentry,
    ConfigSubentryFlow,
    SubentryFlowResult,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.selector import (
    BooleanSelector,
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    ObjectSelector,
    ObjectSelectorConfig,
    ObjectSelectorField,
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

from ..agent.runtime import RuntimeData
from ..settings.profile import DEFAULTS, SETTINGS, Section, Setting, merge
from ..support.const import ASSISTANT, DOMAIN, LLM_DEFAULT, LLM_NONE, SUBENTRY_LLM, SUBENTRY_MCP_SERVER

MAX_ENTITIES = 1000
"""Entities offered to choose from; any other may be typed."""

type Fields = dict[str, Selector[Any] | Callable[[HomeAssistant], Selector[Any]]]
"""Selectors by key; one whose choices depend on the home is made when the form is shown."""

SWITCH = BooleanSelector()
TEXT = TextSelector(TextSelectorConfig())
LONG_TEXT = TextSelector(TextSelectorConfig(multiline=True))
ADDRESS = TextSelector(TextSelectorConfig(type=TextSelectorType.URL))
SECRET = TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD, autocomplete="off"))


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


def _subentries(hass: HomeAssistant, kind: str) -> dict[str, str]:
    """Return the titles of what was added, by id."""
    return {
        subentry.subentry_id: subentry.title
        for entry in hass.config_entries.async_entries(DOMAIN)
        for subentry in entry.get_subentries_of_type(kind)
    }


def selectable_apis(hass: HomeAssistant) -> dict[str, str]:
    """Return the names of Home Assistant's LLM APIs by id; ours would be themselves again."""
    return {api.id: api.name for api in llm.async_get_apis(hass) if not api.id.startswith(DOMAIN)}


def _apis(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of LLM APIs; one that is gone stays chosen, for its server may only sleep."""
    return dropdown(selectable_apis(hass), multiple=True, typed=True)


def _model(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of a model: the default one, whichever that is, none, or one by name."""
    return dropdown({LLM_DEFAULT: LLM_DEFAULT, LLM_NONE: LLM_NONE} | _subentries(hass, SUBENTRY_LLM), "llm")


def _second_model(hass: HomeAssistant) -> SelectSelector:
    return dropdown({LLM_NONE: LLM_NONE} | _subentries(hass, SUBENTRY_LLM), "external_llm")


def _mcp_servers(hass: HomeAssistant) -> SelectSelector:
    return dropdown(_subentries(hass, SUBENTRY_MCP_SERVER), multiple=True)


def _custom_tools(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of custom tools; one that is gone may stay named, and `none` stands for none of them."""
    runtimes: list[RuntimeData] = [entry.runtime_data for entry in hass.config_entries.async_loaded_entries(DOMAIN)]
    names = [name for runtime in runtimes for name in runtime.custom_tools.names]
    return dropdown([*names, LLM_NONE], multiple=True, typed=True)


def name_choice(hass: HomeAssistant) -> SelectSelector:
    """Return a list of domains and exposed entities in which anything else may be typed: actions, tools, patterns."""
    names = {domain: domain for domain in sorted(hass.services.async_services())}
    exposed = (state for state in hass.states.async_all() if async_should_expose(hass, ASSISTANT, state.entity_id))
    entities = sorted((state.name, state.entity_id) for state in exposed)[:MAX_ENTITIES]
    names |= {entity_id: f"{name} ({entity_id})" for name, entity_id in entities}
    return dropdown(names, multiple=True, typed=True)


_FIELDS: Fields = {
    "endpoint": _model,
    "second_model": _second_model,
    "custom_tools": _custom_tools,
    "llm_apis": _apis,
    "mcp_servers": _mcp_servers,
    "names": name_choice,
    "context_entities": ObjectSelector(
        ObjectSelectorConfig(
            fields={
                "entity_id": ObjectSelectorField(required=True, selector={"text": {}}),
                "attributes": ObjectSelectorField(selector={"text": {"multiple": True}}),
            },
            multiple=True,
            label_field="entity_id",
            translation_key="context_entities",
        )
    ),
    "switch": SWITCH,
    "template": PromptSelector(),
    "text": TEXT,
    "lines": LONG_TEXT,
}
"""By kind of a setting; those of the home are made when the form is shown."""


def fields_of(*keys: str) -> Fields:
    """Return the fields of settings."""
    fields: Fields = {}
    for key in keys:
        match SETTINGS[key]:
            case Setting(kind="number", least=least, most=most, unit=unit):
                fields[key] = number(least, most, unit=unit)
            case Setting(kind="choice", options=options):
                fields[key] = dropdown(options, key)
            case Setting(kind=kind):
                fields[key] = _FIELDS[kind]
    return fields


def _section(section: Section) -> Fields:
    return fields_of(*(key for key, setting in SETTINGS.items() if setting.section is section))


BASICS = _section(Section.BASICS)
SECTIONS: dict[str, Fields] = {section.value: _section(section) for section in Section if section}
"""The fields of a profile by section of its form."""


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


# From stored overrides to a filled-in form and back, so that what was never set stays unset (D-1).


def inherited(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every setting of a profile as forms write it: built-in defaults, then the layers."""
    built_in = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(DEFAULTS).items()}
    return merge({key: value for key, value in built_in.items() if key in SETTINGS}, *layers)


def known(entry: ConfigEntry, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings without what was removed since and its field would refuse to show: models, servers."""
    there = {LLM_DEFAULT, LLM_NONE, *entry.subentries}
    settings = {key: value for key, value in data.items() if key not in ("llm", "external_llm") or value in there}
    if "mcp_servers" in settings:
        settings["mcp_servers"] = [server for server in settings["mcp_servers"] if server in there]
    return settings


def overrides(
    own: Mapping[str, Any], inherits: Mapping[str, Any], submitted: Mapping[str, Any], keys: Iterable[str]
) -> dict[str, Any]:
    """Return what a layer stores after a form with these `keys` was sent; other keys of `own` stay.

    An emptied field goes back to what is inherited. A field that shows an inherited value does not become an override by
    being sent. A switch cannot be emptied: put back to the inherited value, it inherits again.
    """
    kept = dict(own)
    for key in keys:
        value = submitted.get(key)
        shows_inherited = value == inherits[key] and (key not in own or isinstance(value, bool))
        if is_empty(value) or shows_inherited:
            kept.pop(key, None)
        else:
            kept[key] = value
    return kept


def is_empty(value: Any) -> bool:
    """Return whether a form's field was left empty; zero and off are values."""
    return value is None or value in ("", [])


def lifted(user_input: Mapping[str, Any], sections: Collection[str]) -> dict[str, Any]:
    """Return the input with the fields of sections beside the others."""
    lifted_input: dict[str, Any] = {}
    for key, value in user_input.items():
        lifted_input.update(value if key in sections else {key: value})
    return lifted_input
