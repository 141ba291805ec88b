"""What the variables of an automation stand for, where a person is told a template that names them."""

from collections.abc import Mapping, Sequence
from functools import cached_property
import re

from homeassistant.core import HomeAssistant
from homeassistant.helpers.template import Template
from jinja2 import TemplateError, meta

from ..support.masking import SECRET
from .check import scope_of
from .draft import AutomationDraft
from .references import steps_of
from .templates import TemplateScope, texts_of

MAX_LENGTH = 2_000
"""Characters of a template that is looked into; one that is longer is told as it is written."""
_MAX_FOLLOWED = 4  # variables in variables
_WHOLE = re.compile(r"\{\{-?\s*(\w+)\s*-?\}\}")
_OF_THE_RUN = frozenset({"repeat", "this", "trigger", "wait"})
"""What a run gives: a text beside it is not all that a template may come to."""


class Meanings:
    """The variables of one automation; one that by its name is a secret stands for nothing."""

    def __init__(self, hass: HomeAssistant, draft: AutomationDraft) -> None:
        """Take the automation; its variables are looked for once a template is told."""
        self._hass = hass
        self._draft = draft

    @cached_property
    def scope(self) -> TemplateScope:
        """What its templates find."""
        return scope_of(self._hass, self._draft, [*steps_of(self._draft)])

    def all_of(self, text: str) -> list[str] | None:
        """Return the texts of a list, or of one text, that a template names by its variable; None for any other template."""
        if (name := _WHOLE.fullmatch(text.strip())) is None:
            return None
        values = self.scope.variables.get(name[1], ())
        if len(values) != 1 or SECRET.search(name[1]):
            return None
        items = [*values[0]] if isinstance(values[0], list | tuple) else [values[0]]
        plain = [item.template if isinstance(item, Template) else item for item in items]
        is_plain = all(isinstance(item, str | int | float) and "{" not in str(item) for item in plain)
        return [str(item) for item in plain] if is_plain else None

    def any_of(self, text: str) -> Sequence[str] | None:
        """Return the texts one of which a template comes to by its variables; None if more than they decide that."""
        return self.texts(text) if self._is_looked_into(text) and self._variables_in(text) else None

    def texts(self, text: str) -> Sequence[str] | None:
        """Return all texts that a template may come to, by its variables or not; None if they are not known."""
        if not self._is_looked_into(text) or self._names(text) & _OF_THE_RUN:
            return None
        if any(map(SECRET.search, self._variables_in(text))):
            return None
        texts = texts_of(text, self.scope)
        return texts if texts and not any("{" in one for one in texts) else None

    def values_in(self, text: str) -> Mapping[str, list[object]]:
        """Return the values that are written for the variables which a template names, also by other variables."""
        named = self._variables_in(text) if self._is_looked_into(text) else ()
        found = {name: [value for value in self.scope.variables[name] if value is not None] for name in named}
        return {name: values for name, values in found.items() if values}

    def _variables_in(self, text: str) -> list[str]:
        return sorted(self._names(text) & self.scope.variables.keys())

    def _names(self, text: str, depth: int = _MAX_FOLLOWED) -> set[str]:
        """Return the names in a template and in the variables that it names."""
        try:
            found = meta.find_undeclared_variables(self.scope.environment.parse(text))
        except TemplateError, RecursionError:
            return set()
        for name in [*found] if depth else ():
            for value in self.scope.variables.get(name, ()):
                for item in value if isinstance(value, list | tuple) else [value]:
                    if isinstance(item, Template):
                        found |= self._names(item.template, depth - 1)
        return found

    @staticmethod
    def _is_looked_into(text: str) -> bool:
        return "{" in text and len(text) <= MAX_LENGTH
