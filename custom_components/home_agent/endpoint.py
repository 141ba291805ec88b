"""One endpoint at run time: its client, what it was seen to do, and who has to know when it fails."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.util import dt as dt_util

from . import issues
from .client.base import ChatClient, EndpointConfig, Reply, Usage
from .client.exact import load_counter
from .client.window import assumed_window
from .const import LOGGER
from .errors import LLMAuthError, LLMConnectionError, LLMError, LLMModelNotFoundError
from .learned import Learned

FAILURES_UNTIL_ISSUE = 3
WINDOW_HOLDS = timedelta(days=1)
"""How long what was learned of a window counts: whoever runs the server may start it with another one."""
SHORT_REQUEST = 1024  # tokens; no window is smaller, so one that was refused says nothing about it


@dataclass(slots=True)
class EndpointStats:
    """What an endpoint was seen to do since the entry was loaded."""

    usage: Usage = field(default_factory=Usage)
    requests: int = 0
    failures_in_a_row: int = 0
    first_delta_ms: int | None = None
    """Of the newest request."""
    duration_ms: int | None = None
    """Of the newest request."""
    last_success: datetime | None = None


class Endpoint:
    """A model and how it is doing; owned by the config entry."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any], client: ChatClient, learned: Learned) -> None:
        """Start as if all were well: a sleeping computer must not keep Home Assistant from starting."""
        self._hass = hass
        self._entry = entry
        self.client = client
        self.stats = EndpointStats()
        self._listeners: list[CALLBACK_TYPE] = []
        self._learned = learned
        self._key = f"{client.config.subentry_id}/{client.config.model}"
        self._asks_window_at: datetime | None = None
        """When its window is asked for again; None: with the next answer."""
        self._refused: int | None = None
        """Tokens that were too many for it, whatever anybody says about its window."""
        self._refused_until = dt_util.utcnow()
        client.estimator.factor = learned.of(self._key).factor

    @property
    def config(self) -> EndpointConfig:
        """The settings of the endpoint."""
        return self.client.config

    @property
    def window(self) -> int:
        """Tokens of prompt and answer together, as far as they are known by now."""
        known = assumed_window(self.config, self._learned.of(self._key).window)
        return min(known, self._too_many or known)

    @property
    def _too_many(self) -> int | None:
        """Return what was refused not long ago. Later it is tried again: at worst one more request is refused."""
        return self._refused if dt_util.utcnow() < self._refused_until else None

    @callback
    def async_listen(self, listener: CALLBACK_TYPE) -> Callable[[], None]:
        """Call `listener` after each turn; return how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @callback
    def async_succeeded(self, reply: Reply, duration_ms: int) -> None:
        """Take note of a request that was answered."""
        stats = self.stats
        if stats.failures_in_a_row:
            LOGGER.info("%s answers again", self.config.title)
            issues.async_endpoint_recovered(self._hass, self.config)
        stats.failures_in_a_row = 0
        stats.requests += 1
        stats.first_delta_ms, stats.duration_ms = reply.first_delta_ms, duration_ms
        stats.last_success = dt_util.utcnow()
        if reply.usage is not None:
            stats.usage += reply.usage
            self._learned.note(self._key, factor=self.client.estimator.factor)
        if self._window_is_due(stats.last_success):
            self._asks_window_at = stats.last_success + WINDOW_HOLDS
            # the server is awake, and nobody waits for it now
            self.async_work(self._async_ask_window(), "context window")

    @callback
    def async_failed(self, error: LLMError) -> None:
        """Take note of a request that failed; log the first of a row, raise what needs the owner."""
        stats = self.stats
        stats.requests += 1
        stats.failures_in_a_row += 1
        if stats.failures_in_a_row == 1:  # without the server's words: some repeat what they were sent
            LOGGER.warning("%s: %s (%s)", self.config.title, type(error).__name__, error.translation_key)
        match error:
            case LLMAuthError():
                self._entry.async_start_reauth(self._hass, data={"subentry_id": self.config.subentry_id})
            case LLMModelNotFoundError():
                issues.async_model_missing(self._hass, self.config)
            case LLMConnectionError() if stats.failures_in_a_row >= FAILURES_UNTIL_ISSUE:
                issues.async_endpoint_failed(self._hass, self.config, error)

    @callback
    def async_start(self) -> None:
        """Look for a tokenizer of the model, in the background."""
        self.async_work(self._async_count_exactly(), "tokenizer")

    async def _async_count_exactly(self) -> None:
        self.client.estimator.exact = await self._hass.async_add_executor_job(load_counter, self.config.model)

    def _window_is_due(self, now: datetime) -> bool:
        return self.config.context_window is None and (self._asks_window_at is None or now >= self._asks_window_at)

    async def _async_ask_window(self) -> None:
        if (window := await self.client.async_context_window()) is None:
            return
        if window != (self._learned.of(self._key).window or window):
            self._refused = None  # by another window, or by another model under the same name
        self._learned.note(self._key, window=window)

    @callback
    def async_work(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start work in the background that ends with the entry."""
        return self._entry.async_create_background_task(self._hass, work, f"home_agent {name}")

    @callback
    def async_was_too_long(self, limit: int | None, estimated: int | None) -> None:
        """Take note that a request was too long: the model runs with another window than anybody said.

        `limit` is what it said with its refusal, `estimated` how long the request was (`Reply.estimated_tokens`).
        """
        self._asks_window_at = None
        refused = limit or round((estimated or 0) * self.client.estimator.factor)
        if refused >= (1 if limit else SHORT_REQUEST):
            self._refused = min(refused, self._too_many or refused)
            self._refused_until = dt_util.utcnow() + WINDOW_HOLDS

    @callback
    def async_publish(self) -> None:
        """Tell the listeners, once per turn: a turn with tools makes several requests."""
        for listener in tuple(self._listeners):
            listener()
