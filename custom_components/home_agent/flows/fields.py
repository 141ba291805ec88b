"""The settings of an assistant as form fields; a profile's form and the house's defaults show the same ones."""

from collections.abc import Callable, Mapping
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
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
)

from ..const import (
    CONF_ALWAYS_ASK,
    CONF_CONTEXT_ENTITIES,
    CONF_CONTEXT_FORMAT,
    CONF_CONTEXT_MAX_ENTITIES,
    CONF_CONTEXT_MODE,
    CONF_CONTEXT_UPDATE_INTERVAL,
    CONF_CONTINUE_CONVERSATION,
    CONF_CONTINUE_MINUTES,
    CONF_CUSTOM_PROMPT,
    CONF_CUSTOM_TOOLS,
    CONF_EXTERNAL_LLM,
    CONF_EXTERNAL_LLM_DESCRIPTION,
    CONF_HISTORY_ENABLED,
    CONF_HISTORY_MAX_AGE_HOURS,
    CONF_HISTORY_MAX_MESSAGES,
    CONF_HISTORY_MAX_TOKENS,
    CONF_HISTORY_PERSIST,
    CONF_HISTORY_SUMMARY,
    CONF_LLM,
    CONF_LLM_APIS,
    CONF_LOCAL_FIRST,
    CONF_MASK_PERSONAL_DATA,
    CONF_MAX_CALLS_PER_TURN,
    CONF_MCP_SERVERS,
    CONF_NATIVE_TOOLS,
    CONF_NEVER_ASK,
    CONF_NEVER_OFFER,
    CONF_OFFER_TOOLS,
    CONF_PROMPT_ADDITIONS,
    CONF_PROMPT_HISTORY_LENGTH,
    CONF_PROMPT_HISTORY_MESSAGES,
    CONF_PROMPT_HISTORY_SYSTEM,
    CONF_PROMPT_HISTORY_TOKENS,
    CONF_SPEECH,
    CONF_STREAMING,
    CONF_TELL_EVENTS,
    CONF_TIMEZONE,
    CONF_TOOL_TIMEOUT,
    CONF_USE_DEFAULT_PROMPT,
    CONF_USE_PROMPT_CONTEXT_SERVICE,
    LLM_DEFAULT,
    LLM_NONE,
    SUBENTRY_LLM,
)
from .choices import api_choice, name_choice, second_model_choice, server_choice, tool_choice

type Fields = dict[str, Selector[Any] | Callable[[HomeAssistant], Selector[Any]]]
"""Selectors by key; one whose choices depend on the house is made when the form is shown."""


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


def choice(*options: str, translation_key: str) -> SelectSelector:
    """Return a list to choose one of a few words from."""
    return SelectSelector(
        SelectSelectorConfig(options=list(options), translation_key=translation_key, mode=SelectSelectorMode.DROPDOWN)
    )


def endpoint_choice(entry: ConfigEntry) -> SelectSelector:
    """Return a list of the house's endpoints, besides the first one, whichever that is, and none."""
    options = [SelectOptionDict(value=value, label=value) for value in (LLM_DEFAULT, LLM_NONE)]
    options += [
        SelectOptionDict(value=subentry.subentry_id, label=subentry.title)
        for subentry in entry.get_subentries_of_type(SUBENTRY_LLM)
    ]
    return SelectSelector(
        SelectSelectorConfig(options=options, translation_key="llm", mode=SelectSelectorMode.DROPDOWN)
    )


def selectors(hass: HomeAssistant, fields: Fields) -> Mapping[str, Selector[Any]]:
    """Return the fields with the choices that the house has now."""
    return {key: item if isinstance(item, Selector) else item(hass) for key, item in fields.items()}


def assistant(entry: ConfigEntry) -> Fields:
    """Return who answers."""
    return {CONF_LLM: endpoint_choice(entry), CONF_LOCAL_FIRST: BooleanSelector()}


PROMPT_ADDITIONS: Fields = {CONF_PROMPT_ADDITIONS: PromptSelector()}
PROMPT: Fields = {
    CONF_USE_DEFAULT_PROMPT: BooleanSelector(),
    CONF_CUSTOM_PROMPT: PromptSelector(),
    CONF_USE_PROMPT_CONTEXT_SERVICE: BooleanSelector(),
    CONF_PROMPT_HISTORY_LENGTH: number(100, 20_000),
    CONF_PROMPT_HISTORY_MESSAGES: number(1, 50),
    CONF_PROMPT_HISTORY_TOKENS: number(50, 10_000),
    CONF_PROMPT_HISTORY_SYSTEM: BooleanSelector(),
    CONF_TIMEZONE: TextSelector(TextSelectorConfig()),
}
CONTEXT: Fields = {
    CONF_CONTEXT_MODE: choice("auto", "direct", "retrieved", "both", "off", translation_key="context_mode"),
    CONF_CONTEXT_FORMAT: choice("json", "natural_language", "hybrid", translation_key="context_format"),
    CONF_CONTEXT_ENTITIES: ObjectSelector(
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
    CONF_CONTEXT_MAX_ENTITIES: number(1, 200),
    CONF_CONTEXT_UPDATE_INTERVAL: number(0, 3600, unit="s"),
    CONF_TELL_EVENTS: BooleanSelector(),
    CONF_MASK_PERSONAL_DATA: choice("auto", "always", "never", translation_key="mask_personal_data"),
}
HISTORY: Fields = {
    CONF_HISTORY_ENABLED: BooleanSelector(),
    CONF_HISTORY_MAX_MESSAGES: number(1, 50),
    CONF_HISTORY_MAX_TOKENS: number(100, 100_000),
    CONF_HISTORY_MAX_AGE_HOURS: number(1, 168, unit="h"),
    CONF_HISTORY_PERSIST: BooleanSelector(),
    CONF_CONTINUE_CONVERSATION: choice("off", "user", "device", translation_key="continue_conversation"),
    CONF_CONTINUE_MINUTES: number(1, 10_080, unit="min"),
    CONF_HISTORY_SUMMARY: BooleanSelector(),
}
TOOLS: Fields = {
    CONF_NATIVE_TOOLS: BooleanSelector(),
    CONF_CUSTOM_TOOLS: tool_choice,
    CONF_LLM_APIS: api_choice,
    CONF_MCP_SERVERS: server_choice,
    CONF_EXTERNAL_LLM: second_model_choice,
    CONF_EXTERNAL_LLM_DESCRIPTION: TextSelector(TextSelectorConfig(multiline=True)),
    CONF_MAX_CALLS_PER_TURN: number(1, 50),
    CONF_TOOL_TIMEOUT: number(1, 300, unit="s"),
    CONF_OFFER_TOOLS: BooleanSelector(),
}
SAFETY: Fields = {CONF_ALWAYS_ASK: name_choice, CONF_NEVER_ASK: name_choice, CONF_NEVER_OFFER: name_choice}
STREAMING: Fields = {CONF_STREAMING: BooleanSelector()}
SPEECH: Fields = {CONF_SPEECH: choice("auto", "always", "never", translation_key="speech")}

NAME = TextSelector(TextSelectorConfig())
