"""What the templates of an automation ask for, as far as it decides whether it runs and for how long."""

from collections.abc import Iterator, Mapping
import re
from typing import Any

from homeassistant.helpers.template import Template

from .draft import AutomationDraft
from .rendering import templates_in

_SAID = frozenset({"data", "data_template", "event_data", "event_data_template", "metadata", "target"})
"""Fields of an action that say what it does, not for how long it runs."""


_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def templates_by_path(draft: AutomationDraft) -> Iterator[tuple[str, str]]:
    """Yield the texts of templates, each with where it is written; not those that only say what actions do."""
    for key in ("trigger_variables", "variables"):
        for template in templates_in(draft.normalized.get(key)):
            yield key, template.template
    for key, listed in (("triggers", draft.triggers), ("conditions", draft.conditions), ("actions", draft.actions)):
        for number, config in enumerate(listed):
            for template in templates_in(decisive(config) if key == "actions" else config):
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


def answers_by_path(draft: AutomationDraft) -> Iterator[tuple[str, str]]:
    """Yield the paths of actions that go on by what another one has answered, each with the reason."""
    names: set[str] = set()
    for number, config in enumerate(draft.actions):
        names |= {*_answers_in(config)}
        for template in templates_in(decisive(config)):
            if found := sorted(names & {*_WORD.findall(template.template)}):
                yield f"actions[{number}]", f"what it was answered ({found[0]}) is not known"


def _answers_in(value: Any) -> Iterator[str]:
    match value:
        case Mapping():
            if isinstance(name := value.get("response_variable"), str):
                yield name
            for item in value.values():
                yield from _answers_in(item)
        case list() | tuple():
            for item in value:
                yield from _answers_in(item)


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


def decisive(value: Any) -> Any:
    """Return a configuration without what only says what actions do."""
    match value:
        case Mapping():
            return {key: decisive(item) for key, item in value.items() if key not in _SAID}
        case list() | tuple():
            return [decisive(item) for item in value]
    return value
