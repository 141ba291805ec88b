"""The prompt context service: fills an owner's prompt in, and says what became of it.

A prompt with an error in it never costs the turn: it goes out as it was written, and the error is logged.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
import re
import time
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import TemplateError
from homeassistant.helpers.template import Template
from jinja2 import Environment, TemplateSyntaxError, meta

from ..client.messages import TokenEstimator
from ..languages.data import prompt_words
from ..support.const import LOGGER
from ..support.errors import PromptTemplateError
from ..transcript.turn_part import Estimate, masked_part
from ..turn.turn import Turn
from .history_text import HistoryMessage, HistoryOptions, HistoryText, format_history, history_key

# What can stand in a prompt, and what it is filled in with.

ANONYMOUS = "anonymous"
NO_HOUSEHOLD = "none"
USER_MISSING = "userId not found"

HISTORY = ("message_history", "conversation_history")
EVENTS = "event_context"
ENTITIES = "entity_context"
VARIABLES = "context_variables"
_USER = ("user_id", "user_name")
_NAMES = (
    *_USER, *HISTORY, "household_id", "household_name", "current_time", "local_time", "timezone", "language", "profile_name",
    "ha_name", "area_id", "device_id", ENTITIES, EVENTS, VARIABLES,
)  # fmt: skip
_CANONICAL = {
    spelling: name for name in _NAMES for spelling in (name, re.sub(r"_(\w)", lambda match: match[1].upper(), name))
} | {"timeZone": "timezone"}
"""The name in snake_case by each spelling: `current_time`, `currentTime`."""
_OF_VARIABLES = frozenset({"user_id", "household_id", "current_time", "timezone", "message_history"})
NAMES = frozenset(_CANONICAL)


class Missing(str):
    """What a prompt says for something that is not known; to a template's `if` and `or` it is nothing."""

    __slots__ = ()

    def __bool__(self) -> bool:
        """Return that there is nothing."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTask:
    """What a prompt is filled in with. Everything in it is text that is never rendered."""

    agent_name: str = ""
    task_id: str = ""
    language: str = "en"
    user_id: str | None = None
    user_name: str | None = None
    household_id: str | None = None
    current_time: datetime | None = None
    """None: now. In the zone of the profile, or of the home."""
    timezone: str | None = None
    area_id: str | None = None
    device_id: str | None = None
    history: Sequence[HistoryMessage] = ()
    entity_context: str = ""
    event_context: str | None = None
    mask: Callable[[str], str] | None = field(default=None, repr=False)


def used(names: frozenset[str]) -> frozenset[str]:
    """Return what has to be known for these names, in snake_case."""
    wanted = frozenset(_CANONICAL[name] for name in names)
    return wanted | _OF_VARIABLES if VARIABLES in wanted else wanted


def values_for(task: PromptTask, history: str, variables: str = "") -> dict[str, object]:
    """Return what stands for every name, in both spellings."""
    words = prompt_words(task.language)
    moment = task.current_time or datetime.now(UTC)
    events = words.events_not_asked if task.event_context is None else task.event_context
    if task.mask and task.event_context is not None:
        events = task.mask(events)
    known: Mapping[str, object] = {
        "user_id": task.user_id or ANONYMOUS,
        "user_name": task.user_name or Missing(words.unknown_user),
        "household_id": task.household_id or NO_HOUSEHOLD,
        "household_name": task.household_id or Missing(words.unknown_household),
        "ha_name": task.household_id,
        "current_time": moment.isoformat(timespec="seconds"),
        "local_time": words.written(moment),
        "timezone": task.timezone or "UTC",
        "language": task.language,
        "profile_name": task.agent_name,
        "area_id": task.area_id,
        "device_id": task.device_id,
        ENTITIES: masked_part(task.entity_context, task.mask) if task.mask else task.entity_context,
        EVENTS: events,
        VARIABLES: variables,
        **dict.fromkeys(HISTORY, history),
    }
    return {spelling: known[name] for spelling, name in _CANONICAL.items()}


SAMPLE_VALUES = values_for(
    PromptTask(agent_name="Home Agent", user_id="0", user_name="User", household_id="Home", event_context=""),
    "User: Hello",
)


# Filling in, in one pass: `{{ snake_case }}`, `{{ camelCase }}` and `{name}`. A known name in single braces becomes an expression
# of the owner's template before that is rendered, so what a value says, braces included, stays as it is.

RENDER_TIMEOUT = 2.0  # seconds; loops over all states of a large home take a tenth of it
_IN_BRACES = re.compile(r"\{([A-Za-z]\w*)\}")
_MAY_HOLD_NAMES = re.compile(r"\{[{%]|\{[A-Za-z]\w*\}")
_UNDEFINED = re.compile(r"'(\w+)' is undefined")


class _AnyName(dict[str, Any]):
    """Filters and tests of any name: which there are depends on the home, and does not matter for reading a template."""

    @override
    def get(self, key: str, default: Any = None) -> Any:
        """Return something that can be called."""
        return super().get(key, str)


# Reads templates as Home Assistant's own environment does; nothing is rendered with it.
_GRAMMAR = Environment(extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"], autoescape=False)  # noqa: S701
_GRAMMAR.filters, _GRAMMAR.tests = _AnyName(), _AnyName()
UNUSABLE = (TemplateError, TemplateSyntaxError, RecursionError, ValueError)


@lru_cache(maxsize=64)
def one_spelling(text: str, names: frozenset[str]) -> str:
    """Return a template with known names in single braces as expressions. Raises one of `UNUSABLE`."""
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
    """Return which of the names a prompt uses, in either spelling. Raises one of `UNUSABLE`."""
    if not _MAY_HOLD_NAMES.search(text):
        return frozenset()
    return names & meta.find_undeclared_variables(_GRAMMAR.parse(one_spelling(text, names)))


_NAMED = re.compile(r"\{\{-?\s*prompts\.(\w+)\s*-?\}\}")


def with_named(text: str, prompts: Mapping[str, str]) -> str:
    """Return a template with the named texts that it takes in as `{{ prompts.NAME }}`, once each; unknown names stay."""

    def taken_in(found: re.Match[str], left: Mapping[str, str]) -> str:
        if not isinstance(named := left.get(found[1]), str):  # imported YAML once took lists as well
            return found[0]
        others = {name: prompt for name, prompt in left.items() if name != found[1]}
        return _NAMED.sub(lambda inner: taken_in(inner, others), named)

    return _NAMED.sub(lambda found: taken_in(found, prompts), text)


def fill(hass: HomeAssistant, text: str, values: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
    """Return the prompt with its values, and the names that stand for nothing. Raises one of `UNUSABLE`."""
    template = Template(one_spelling(text, frozenset(values)), hass)
    if template.is_static:
        return text.strip(), ()
    missing: dict[str, None] = {}
    rendered = template.async_render(values, parse_result=False, log_fn=lambda _level, said: missing.setdefault(said))
    unknown = tuple(match[1] if (match := _UNDEFINED.match(said)) else said for said in missing)
    return str(rendered).strip(), unknown


async def async_is_slow(hass: HomeAssistant, text: str, values: Mapping[str, object]) -> bool:
    """Return whether a prompt takes too long to render on the event loop; false for one that does not render."""
    with suppress(*UNUSABLE):
        template = Template(one_spelling(text, frozenset(values)), hass)
        return await template.async_render_will_timeout(RENDER_TIMEOUT, values)
    return False


def render_prompt(hass: HomeAssistant, text: str, turn: Turn) -> str:
    """Return the owner's prompt as a plain template, without the service's placeholders. Raises `PromptTemplateError`."""
    if not text.strip():
        return ""
    try:
        rendered = Template(text, hass).async_render(
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
        raise PromptTemplateError(profile=turn.profile.name, detail=str(err)) from err
    return str(rendered).strip()


# The service: a prompt in, the prompt that the model gets out, with what became of it.

MEMO = 32  # formatted histories
UNPROCESSED = "the prompt was not processed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMetadata:
    """What became of a prompt: names and counts, nothing that was said."""

    history_messages_count: int = 0
    history_truncated: bool = False
    placeholders_replaced: tuple[str, ...] = ()
    estimated_tokens: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedPrompt:
    """A prompt that can be sent."""

    prompt: str
    metadata: PromptMetadata = field(default_factory=PromptMetadata)
    milliseconds: float = 0.0
    error: PromptTemplateError | None = None


@dataclass(slots=True)
class PromptMetrics:
    """Sums over all prompts since the entry was loaded, for diagnostics."""

    prompts: int = 0
    errors: int = 0
    warnings: int = 0
    with_history: int = 0
    truncated: int = 0
    placeholders: int = 0
    milliseconds: float = 0.0
    prompt_tokens: int = 0
    history_tokens: int = 0
    tokens_saved: int = 0

    def add(self, processed: ProcessedPrompt, history: HistoryText | None) -> None:
        """Count a prompt."""
        metadata = processed.metadata
        self.prompts += 1
        self.errors += processed.error is not None
        self.warnings += len(metadata.warnings)
        self.truncated += metadata.history_truncated
        self.placeholders += len(metadata.placeholders_replaced)
        self.milliseconds += processed.milliseconds
        self.prompt_tokens += metadata.estimated_tokens
        if history is not None:
            self.with_history += 1
            self.history_tokens += history.tokens
            self.tokens_saved += history.tokens_saved

    def as_dict(self) -> dict[str, int | float]:
        """Return means and shares: of all prompts, of history those that have one."""
        prompts, histories = self.prompts or 1, self.with_history or 1
        return {
            "prompts": self.prompts,
            "mean_processing_ms": round(self.milliseconds / prompts, 2),
            "placeholders_replaced": self.placeholders,
            "truncation_rate": round(self.truncated / histories, 3),
            "success_rate": round((self.prompts - self.errors) / prompts, 3),
            "warnings": self.warnings,
            "errors": self.errors,
            "mean_history_tokens": round(self.history_tokens / histories, 1),
            "mean_prompt_tokens": round(self.prompt_tokens / prompts, 1),
            "tokens_saved": self.tokens_saved,
        }


class PromptContextService:
    """Fills prompts in; one for all agents."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start with nothing remembered."""
        self._hass = hass
        self.estimate: Estimate = TokenEstimator().estimate
        self._memo: OrderedDict[bytes, HistoryText] = OrderedDict()
        self._slow: dict[str, bool] = {}
        self.metrics = PromptMetrics()

    async def async_is_slow(self, prompt: str) -> bool:
        """Return whether a prompt takes too long to be rendered; each is tried once."""
        if prompt not in self._slow:
            self._slow[prompt] = await async_is_slow(self._hass, prompt, SAMPLE_VALUES)
        return self._slow[prompt]

    def unprocessed(self, prompt: str, profile: str) -> ProcessedPrompt:
        """Return a prompt that takes too long, as it was written."""
        LOGGER.error("The prompt of %s takes too long and is not processed", profile)
        error = PromptTemplateError(profile=profile, detail=f"> {RENDER_TIMEOUT:g} s")
        processed = ProcessedPrompt(
            prompt=prompt.strip(), metadata=PromptMetadata(warnings=(UNPROCESSED,)), error=error
        )
        self.metrics.add(processed, None)
        return processed

    @staticmethod
    def needs(*prompts: str) -> frozenset[str]:
        """Return what the prompts ask for, in snake_case; what is not in it need not be gathered."""
        wanted: frozenset[str] = frozenset()
        for prompt in prompts:
            with suppress(*UNUSABLE):  # told when it is processed
                wanted |= used(names_in(prompt, NAMES))
        return wanted

    def process_prompt(self, template: str, task: PromptTask, options: HistoryOptions | None = None) -> ProcessedPrompt:
        """Return the prompt with its placeholders filled in. Never raises for what stands in a prompt."""
        started = time.perf_counter()
        history: HistoryText | None = None
        error: PromptTemplateError | None = None
        names: frozenset[str] = frozenset()
        try:
            names = names_in(template, NAMES)
            wanted = used(names)
            if not wanted.isdisjoint(HISTORY):
                history = self.format_message_history(task, options or HistoryOptions())
            values = values_for(task, history.text if history else "")
            if VARIABLES in wanted:
                block = fill(self._hass, "\n".join(prompt_words(task.language).context_lines), values)[0]
                values = values_for(task, history.text if history else "", block)
            text, unknown = fill(self._hass, template, values)
            warnings = tuple(f"unknown placeholder: {name}" for name in unknown)
            if not wanted.isdisjoint(_USER) and not task.user_id:
                LOGGER.warning("%s in context, using default value", USER_MISSING)
                warnings = (*warnings, USER_MISSING)
        except UNUSABLE as err:  # it goes out as it was written
            LOGGER.error("The prompt of %s could not be processed: %s", task.agent_name, type(err).__name__)
            error = PromptTemplateError(profile=task.agent_name, detail=str(err))
            text, history, names, warnings = template.strip(), None, frozenset(), (UNPROCESSED,)
        milliseconds = (time.perf_counter() - started) * 1000
        processed = ProcessedPrompt(
            prompt=text,
            metadata=PromptMetadata(
                history_messages_count=history.messages if history else 0,
                history_truncated=history.truncated if history else False,
                placeholders_replaced=tuple(sorted(names)),
                estimated_tokens=self.estimate(text),
                warnings=warnings,
            ),
            milliseconds=milliseconds,
            error=error,
        )
        self.metrics.add(processed, history)
        LOGGER.info(
            "Prompt processed: agent %s, task %s, history messages %d, history truncated %s, estimated tokens %d, %.1f ms",
            task.agent_name,
            task.task_id,
            processed.metadata.history_messages_count,
            processed.metadata.history_truncated,
            processed.metadata.estimated_tokens,
            milliseconds,
        )
        placeholders = ", ".join(processed.metadata.placeholders_replaced) or "none"
        LOGGER.debug(
            "Prompt processing metadata: placeholders %s, warnings %s", placeholders, ", ".join(warnings) or "none"
        )
        return processed

    def format_message_history(self, task: PromptTask, options: HistoryOptions) -> HistoryText:
        """Return the history of a task as text; for the same messages the same object."""
        key = history_key(task.history, options, task.language, task.mask is not None)
        if (known := self._memo.get(key)) is not None:
            self._memo.move_to_end(key)
            return known
        history = format_history(task.history, options, prompt_words(task.language), self.estimate, task.mask)
        if not history.messages:
            LOGGER.info("Message history is empty")
        elif history.truncated:
            LOGGER.info("Message history truncated from %d to %d messages", history.of, history.messages)
        self._memo[key] = history
        if len(self._memo) > MEMO:
            self._memo.popitem(last=False)
        return history
