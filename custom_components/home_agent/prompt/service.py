"""The prompt context service: an owner's prompt in, the prompt that the model gets out, and what became of it (S4).

A prompt with an error in it never costs the turn: it goes out as it was written, and the error is logged.
"""

from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
import time

from homeassistant.core import HomeAssistant

from ..client.tokens import TokenEstimator
from ..const import LOGGER
from ..errors import PromptTemplateError
from .history_text import Estimate, HistoryOptions, HistoryText, format_history, history_key
from .placeholders import (
    NAMES,
    SAMPLE_VALUES,
    USER_MISSING,
    VARIABLES,
    PromptTask,
    has_history,
    says_who_speaks,
    used,
    values_for,
)
from .template import RENDER_TIMEOUT, UNUSABLE, Filled, async_is_slow, fill, names_in, template_error
from .words import words_for

MEMO = 32  # formatted histories
UNPROCESSED = "the prompt was not processed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMetadata:
    """What became of a prompt: names and counts, nothing that was said."""

    history_messages_count: int = 0
    history_truncated: bool = False
    placeholders_replaced: tuple[str, ...] = ()
    """As they are spelled in the prompt, in alphabetical order."""
    estimated_tokens: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceMetrics:
    """What a prompt cost."""

    prompt_processing_time: float = 0.0
    """Milliseconds, like the other two."""
    history_formatting_time: float = 0.0
    placeholder_replacement_time: float = 0.0
    total_tokens: int = 0
    history_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedPrompt:
    """A prompt that can be sent."""

    prompt: str
    metadata: PromptMetadata = field(default_factory=PromptMetadata)
    performance: PerformanceMetrics = field(default_factory=PerformanceMetrics)
    error: PromptTemplateError | None = None
    """Why the prompt is as it was written."""


@dataclass(slots=True)
class PromptMetrics:
    """Sums over all prompts since the hub was loaded, for diagnostics."""

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
        metadata, performance = processed.metadata, processed.performance
        self.prompts += 1
        self.errors += processed.error is not None
        self.warnings += len(metadata.warnings)
        self.truncated += metadata.history_truncated
        self.placeholders += len(metadata.placeholders_replaced)
        self.milliseconds += performance.prompt_processing_time
        self.prompt_tokens += performance.total_tokens
        self.history_tokens += performance.history_tokens
        if history is not None:
            self.with_history += 1
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
    """Fills prompts in; one for all assistants."""

    def __init__(self, hass: HomeAssistant, estimate: Estimate | None = None) -> None:
        """Start with nothing remembered. `estimate` returns the tokens of a text."""
        self._hass = hass
        self._estimate = estimate or TokenEstimator().estimate
        self._memo: OrderedDict[bytes, HistoryText] = OrderedDict()
        self._slow: dict[str, bool] = {}
        """Which prompts were tried, and take too long."""
        self.metrics = PromptMetrics()

    def estimate_tokens(self, text: str) -> int:
        """Return how many tokens a text is, about."""
        return self._estimate(text)

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
        """Return what the prompts ask for, in snake_case; what is not in it need not be gathered (S4-59)."""
        wanted: frozenset[str] = frozenset()
        for prompt in prompts:
            with suppress(*UNUSABLE):  # told when it is processed
                wanted |= used(names_in(prompt, NAMES))
        return wanted

    def process_prompt(self, template: str, task: PromptTask, options: HistoryOptions | None = None) -> ProcessedPrompt:
        """Return the prompt with its placeholders filled in. Never raises for what stands in a prompt."""
        started = time.perf_counter()
        history: HistoryText | None = None
        try:
            names = names_in(template, NAMES)
            if has_history(used(names)):
                history = self.format_message_history(task, options or HistoryOptions())
            formatted = time.perf_counter()
            filled = self._filled(template, task, names, history.text if history else "")
        except UNUSABLE as err:
            processed = self._unprocessed(template, task, err, started)
        else:
            warnings = _warnings(task, used(names), filled)
            processed = self._processed(filled.text, tuple(sorted(names)), warnings, history, started, formatted)
        self.metrics.add(processed, history)
        self._log(task, processed)
        return processed

    def format_message_history(self, task: PromptTask, options: HistoryOptions) -> HistoryText:
        """Return the history of a task as text; for the same messages the same object (S4-58)."""
        key = history_key(task.history, options, task.language, task.mask is not None)
        if (known := self._memo.get(key)) is not None:
            self._memo.move_to_end(key)
            return known
        history = format_history(task.history, options, words_for(task.language), self._estimate, task.mask)
        if not history.messages:
            LOGGER.info("Message history is empty")
        elif history.truncated:
            LOGGER.info("Message history truncated from %d to %d messages", history.of, history.messages)
        self._memo[key] = history
        if len(self._memo) > MEMO:
            self._memo.popitem(last=False)
        return history

    def _filled(self, template: str, task: PromptTask, names: frozenset[str], history: str) -> Filled:
        values = values_for(task, history)
        if VARIABLES in used(names):
            block = fill(self._hass, words_for(task.language).context_variables, values).text
            values = values_for(task, history, block)
        return fill(self._hass, template, values)

    def _processed(
        self,
        prompt: str,
        replaced: tuple[str, ...],
        warnings: tuple[str, ...],
        history: HistoryText | None,
        started: float,
        formatted: float,
    ) -> ProcessedPrompt:
        ended = time.perf_counter()
        tokens = self._estimate(prompt)
        return ProcessedPrompt(
            prompt=prompt,
            metadata=PromptMetadata(
                history_messages_count=history.messages if history else 0,
                history_truncated=history.truncated if history else False,
                placeholders_replaced=replaced,
                estimated_tokens=tokens,
                warnings=warnings,
            ),
            performance=PerformanceMetrics(
                prompt_processing_time=(ended - started) * 1000,
                history_formatting_time=(formatted - started) * 1000,
                placeholder_replacement_time=(ended - formatted) * 1000,
                total_tokens=tokens,
                history_tokens=history.tokens if history else 0,
            ),
        )

    def _unprocessed(self, template: str, task: PromptTask, error: Exception, started: float) -> ProcessedPrompt:
        """Return the prompt as it was written (S4-48)."""
        LOGGER.error("The prompt of %s could not be processed: %s", task.agent_name, type(error).__name__)
        tokens = self._estimate(template)
        return ProcessedPrompt(
            prompt=template.strip(),
            metadata=PromptMetadata(estimated_tokens=tokens, warnings=(UNPROCESSED,)),
            performance=PerformanceMetrics(
                prompt_processing_time=(time.perf_counter() - started) * 1000, total_tokens=tokens
            ),
            error=template_error(task.agent_name, error),
        )

    @staticmethod
    def _log(task: PromptTask, processed: ProcessedPrompt) -> None:
        """Say what was done, in names and counts: nothing of what was said (S4-64)."""
        metadata = processed.metadata
        LOGGER.info(
            "Prompt processed: agent %s, task %s, history messages %d, history truncated %s, estimated tokens %d, %.1f ms",
            task.agent_name,
            task.task_id,
            metadata.history_messages_count,
            metadata.history_truncated,
            metadata.estimated_tokens,
            processed.performance.prompt_processing_time,
        )
        LOGGER.debug(
            "Prompt processing metadata: placeholders %s, warnings %s",
            ", ".join(metadata.placeholders_replaced) or "none",
            ", ".join(metadata.warnings) or "none",
        )


def _warnings(task: PromptTask, wanted: frozenset[str], filled: Filled) -> tuple[str, ...]:
    unknown = tuple(f"unknown placeholder: {name}" for name in filled.unknown)
    if not says_who_speaks(wanted) or task.user_id:
        return unknown
    LOGGER.warning("%s in context, using default value", USER_MISSING)
    return (*unknown, USER_MISSING)
