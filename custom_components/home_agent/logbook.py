"""Actions of agents in Activity: one line each, under the agent's name."""

from collections.abc import Callable, Mapping
from typing import Any

from homeassistant.components.logbook.const import LOGBOOK_ENTRY_ENTITY_ID, LOGBOOK_ENTRY_MESSAGE, LOGBOOK_ENTRY_NAME
from homeassistant.core import DOMAIN as HOMEASSISTANT_DOMAIN, Event, HomeAssistant, callback
from homeassistant.helpers.translation import LOCALE_EN, async_get_cached_translations

from .home.calls_in_words import WORDS, verb_of
from .home.wording import name_of
from .policy.effects import KINDS
from .support.const import DOMAIN
from .turn.events import ACTION_EXECUTED

type Describe = Callable[[Event[Mapping[str, Any]]], dict[str, str]]

MAX_NAMES = 4


@callback
def async_describe_events(hass: HomeAssistant, async_describe_event: Callable[[str, str, Describe], None]) -> None:
    """Register the actions of agents with Activity."""

    @callback
    def describe(event: Event[Mapping[str, Any]]) -> dict[str, str]:
        """Return the agent and what it did with which entities, in Home Assistant's language."""
        data, succeeded = event.data, bool(event.data.get("success"))
        states = [hass.states.get(str(item)) for item in data.get("entity_ids", ())]
        named = [name_of(state) for state in states if state is not None]
        names = ", ".join(named[:MAX_NAMES]) + (", …" if len(named) > MAX_NAMES else "")
        domain = next(iter(data.get("entity_ids", ())), "").partition(".")[0]
        done = dict.fromkeys(str(action) for action in data.get("actions", ()))
        verbs = {verb_of(action) for action in done}
        if names and len(verbs) == 1 and (verb := verbs.pop()):  # as people say it: "turned on Bed Light"
            actions = _sentence(hass, WORDS[verb][int(succeeded)], names=names)
            message = _sentence(hass, "activity_done" if succeeded else "activity_not_done", actions=actions)
        else:
            called = dict.fromkeys(_name_of(hass, action, domain) for action in done)
            actions = ", ".join(called) or str(data.get("tool"))
            key = ("activity_on" if names else "activity_run") if succeeded else "activity_failed"
            message = _sentence(hass, key, actions=actions, names=names)
        described = {LOGBOOK_ENTRY_NAME: str(data.get("profile", "")), LOGBOOK_ENTRY_MESSAGE: message}
        if agent := data.get("entity_id"):
            described[LOGBOOK_ENTRY_ENTITY_ID] = str(agent)
        return described

    async_describe_event(DOMAIN, ACTION_EXECUTED, describe)


def _sentence(hass: HomeAssistant, key: str, **placeholders: str) -> str:
    return _text(hass, "exceptions", DOMAIN, f"exceptions.{key}.message").format_map(placeholders)


def _name_of(hass: HomeAssistant, action: str, of: str) -> str:
    """Return Home Assistant's name of an action (in the domain `of` for `homeassistant`), or `domain.action`."""
    domain, _, service = action.partition(".")
    domain = of if domain == HOMEASSISTANT_DOMAIN and of else domain
    for kind in KINDS.values():
        if action in kind.activity:
            return _sentence(hass, kind.activity[action])
    path = f"services.{service}.name"
    name = _text(hass, "services", domain, path)
    return action if name.endswith(path) else name


def _text(hass: HomeAssistant, category: str, domain: str, path: str) -> str:
    """Return a text from the cache of loaded integrations, or its path."""
    path = f"component.{domain}.{path}"
    own = async_get_cached_translations(hass, hass.config.language, category, domain)
    return own.get(path) or async_get_cached_translations(hass, LOCALE_EN, category, domain).get(path, path)
