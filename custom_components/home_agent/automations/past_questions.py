"""What the templates of an automation ask for, as far as it decides whether it runs and for how long."""

from collections.abc import Iterator, Mapping
from typing import Any

from homeassistant.helpers.template import Template

from .draft import AutomationDraft
from .rendering import templates_in

_SAID = frozenset({"data", "data_template", "event_data", "event_data_template", "metadata", "target"})
"""Fields of an action that say what it does, not for how long it runs."""


def templates_by_path(draft: AutomationDraft) -> Iterator[tuple[str, str]]:
    """Yield the texts of templates, each with where it is written; not those that only say what actions do."""
    for key in ("trigger_variables", "variables"):
        for template in templates_in(draft.normalized.get(key)):
            yield key, template.template
    for key, listed in (("triggers", draft.triggers), ("conditions", draft.conditions), ("actions", draft.actions)):
        for number, config in enumerate(listed):
            for template in templates_in(_decisive(config) if key == "actions" else config):
                yield f"{key}[{number}]", template.template


def contexts_by_path(draft: AutomationDraft) -> Iterator[str]:
    """Yield the paths of triggers and actions that wait for events of some people."""
    for key, listed in (("triggers", draft.triggers), ("actions", draft.actions)):
        for number, config in enumerate(listed):
            if _names_context(config):
                yield f"{key}[{number}]"


def _names_context(value: Any) -> bool:
    match value:
        case Mapping():
            return ("event_type" in value and bool(value.get("context"))) or any(map(_names_context, value.values()))
        case list() | tuple():
            return any(map(_names_context, value))
    return False


def calls_in(value: Any) -> bool:
    """Return whether actions call scripts or automations, or what only a template says."""
    match value:
        case Mapping():
            called = value.get("action")
            is_call = isinstance(called, Template) or str(called).partition(".")[0] in ("script", "automation")
            return is_call or any(map(calls_in, value.values()))
        case list() | tuple():
            return any(map(calls_in, value))
    return False


def _decisive(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _decisive(item) for key, item in value.items() if key not in _SAID}
        case list() | tuple():
            return [_decisive(item) for item in value]
    return value
