"""Fills a prompt in, in one pass: `{{ snake_case }}`, `{{ camelCase }}` and `{name}` (C-11).

An owner's prompt is a Home Assistant template. A known name in single braces becomes an expression of that template before it is
rendered, so there is one rendering and no second look: what a value says, braces included, stays as it is.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
import re
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import TemplateError
from homeassistant.helpers.template import Template
from jinja2 import Environment, TemplateSyntaxError, meta

from ..errors import PromptTemplateError
from ..turn import Turn

RENDER_TIMEOUT = 2.0  # seconds; loops over all states of a large house take a tenth of it
_IN_BRACES = re.compile(r"\{([A-Za-z]\w*)\}")
_MAY_HOLD_NAMES = re.compile(r"\{[{%]|\{[A-Za-z]\w*\}")
_UNDEFINED = re.compile(r"'(\w+)' is undefined")


class _AnyName(dict[str, Any]):
    """Filters and tests of whatever name: what there is depends on the house, and does not matter for reading a template."""

    @override
    def get(self, key: str, default: Any = None) -> Any:
        """Return something that can be called."""
        return super().get(key, str)


def _grammar() -> Environment:
    """Return what reads templates as Home Assistant's own environment does; nothing is rendered with it."""
    grammar = Environment(extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"], autoescape=False)  # noqa: S701
    grammar.filters, grammar.tests = _AnyName(), _AnyName()
    return grammar


_GRAMMAR = _grammar()
UNUSABLE = (TemplateError, TemplateSyntaxError, RecursionError, ValueError)
"""What is raised for a prompt that cannot be filled in."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A prompt with its values."""

    text: str
    unknown: tuple[str, ...]
    """Names that stand for nothing and became empty, or what else was missing."""


def camel_case(name: str) -> str:
    """Return `current_time` as `currentTime`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@lru_cache(maxsize=64)
def one_spelling(text: str, names: frozenset[str]) -> str:
    """Return a template in which known names in single braces are expressions; other braces stay as they are.

    Raises one of `UNUSABLE`.
    """
    if not _IN_BRACES.search(text):
        return text

    def expression(match: re.Match[str]) -> str:
        return f"{{{{ {match[1]} }}}}" if match[1] in names else match[0]

    raw = False
    pieces: list[str] = []
    for _line, kind, piece in _GRAMMAR.lex(text):
        raw = kind == "raw_begin" or (raw and kind != "raw_end")
        pieces.append(_IN_BRACES.sub(expression, piece) if kind == "data" and not raw else piece)
    return "".join(pieces)


@lru_cache(maxsize=64)
def names_in(text: str, names: frozenset[str]) -> frozenset[str]:
    """Return which of the names a prompt uses, in whatever spelling. A prompt without braces costs one search.

    Raises one of `UNUSABLE`.
    """
    if not _MAY_HOLD_NAMES.search(text):
        return frozenset()
    return names & meta.find_undeclared_variables(_GRAMMAR.parse(one_spelling(text, names)))


def fill(hass: HomeAssistant, text: str, values: Mapping[str, object]) -> Filled:
    """Return the prompt with its values. Raises one of `UNUSABLE`."""
    template = Template(one_spelling(text, frozenset(values)), hass)
    if template.is_static:
        return Filled(text.strip(), ())
    missing: dict[str, None] = {}
    rendered = template.async_render(values, parse_result=False, log_fn=lambda _level, said: missing.setdefault(said))
    return Filled(
        str(rendered).strip(), tuple(match[1] if (match := _UNDEFINED.match(said)) else said for said in missing)
    )


async def async_is_slow(hass: HomeAssistant, text: str, values: Mapping[str, object]) -> bool:
    """Return whether a prompt takes longer to render than the event loop can stand still; it is tried beside it.

    One that does not render at all is not slow: whoever renders it learns why.
    """
    with suppress(*UNUSABLE):
        template = Template(one_spelling(text, frozenset(values)), hass)
        return await template.async_render_will_timeout(RENDER_TIMEOUT, values)
    return False


def render_prompt(hass: HomeAssistant, text: str, turn: Turn) -> str:
    """Return the owner's prompt as a plain template, without the placeholders of the prompt context service.

    Variables: ha_name, user_name, language, area_id, device_id, profile_name, besides everything that Home Assistant's templates know.
    Raises `PromptTemplateError`, which names the profile and what is wrong.
    """
    if not text.strip():
        return ""
    template = Template(text, hass)
    if template.is_static:
        return text.strip()
    try:
        rendered = template.async_render(
            {
                "ha_name": hass.config.location_name,
                "user_name": turn.user.name if turn.user else None,
                "language": turn.language,
                "area_id": turn.area_id,
                "device_id": turn.device_id,
                "profile_name": turn.profile.name,
            },
            parse_result=False,
        )
    except TemplateError as err:
        raise template_error(turn.profile.name, err) from err
    return str(rendered).strip()


def template_error(profile: str, error: Exception) -> PromptTemplateError:
    """Return what a template's own error means for an assistant."""
    return PromptTemplateError(profile=profile, detail=str(error))
