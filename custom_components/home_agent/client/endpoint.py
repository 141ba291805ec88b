"""One endpoint at run time: its client, its figures, and its failures in Repairs.

The token factor and the context window of each model are kept in one small file.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, override

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..languages.personal_data import mask
from ..settings.endpoint import EndpointConfig, model_name
from ..support import errors, issues
from ..support.const import LOGGER
from ..support.kept import Kept
from ..support.masking import Mask
from ..support.outages import CircuitBreaker
from ..support.storage import Content, StoredFile
from ..turn.turn import TurnRecord, Usage
from .chat_completions import ChatCompletionsClient
from .discovery import async_context_window
from .error_map import is_window
from .messages import ModelReply

WINDOW_HOLDS = timedelta(days=1)  # how long a learned window counts: the server may be started with another one
LOADING_TAKES = timedelta(minutes=10)  # the largest model is loaded by then
SAVE_DELAY = 300  # seconds; what is lost is learned again
MAX_MODELS = 200
NOTEWORTHY = 0.03  # change of the factor that is worth a write to a memory card
SHORT_REQUEST = 1024  # tokens; no window is smaller, so one that was refused says nothing about it


@dataclass(slots=True)
class ModelFacts:
    """One model on one server."""

    factor: float = 1.0
    window: int | None = None  # tokens of prompt and answer together; None: it did not tell


type NamedFacts = tuple[str, ModelFacts]


class ModelStatistics(Kept[NamedFacts]):
    """The facts by model."""

    file = "models"
    of_entry = True
    delay = SAVE_DELAY
    most = MAX_MODELS

    @override
    def key(self, row: NamedFacts) -> str:
        return row[0]

    @override
    async def async_read(self, file: StoredFile) -> Iterable[NamedFacts]:
        return (await file.async_load(_read) or {}).items()

    @override
    def content(self) -> Content:
        return {key: asdict(facts) for key, facts in list(self._rows.values())}

    @callback
    def of(self, key: str) -> ModelFacts:
        """Return what is known of a model."""
        return self._rows.get(key, (key, ModelFacts()))[1]

    @callback
    def note(self, key: str, facts: ModelFacts) -> None:
        """Keep what was learned; what hardly differs is not written."""
        before = self.of(key)
        if facts.window != before.window or abs(facts.factor - before.factor) >= NOTEWORTHY:
            self.put((key, ModelFacts(round(facts.factor, 3), facts.window)))


def _read(content: Content) -> dict[str, ModelFacts]:
    """Return the facts in the file; what is no fact is left out. Raises `ValueError` if none is one."""
    found: dict[str, ModelFacts] = {}
    for key, item in islice(content.items(), max(0, len(content) - MAX_MODELS), None):
        match item:
            case {"factor": float(factor), "window": None} if 0.1 < factor < 10:
                found[key] = ModelFacts(factor)
            case {"factor": float(factor), "window": int(window)} if 0.1 < factor < 10 and is_window(window):
                found[key] = ModelFacts(factor, window)
    if content and not found:
        raise ValueError("no facts of models")
    return found


@dataclass(slots=True)
class EndpointStats:
    """Figures of an endpoint since the entry was loaded."""

    usage: Usage = field(default_factory=Usage)
    newest: Usage = field(default_factory=Usage)
    requests: int = 0
    failures_in_a_row: int = 0
    first_delta_ms: int | None = None
    duration_ms: int | None = None
    last_success: datetime | None = None


class Endpoint:
    """A model with its figures and failures; owned by the config entry."""

    def __init__(
        self, hass: HomeAssistant, entry: ConfigEntry[Any], client: ChatCompletionsClient, statistics: ModelStatistics
    ) -> None:
        """Start without asking the server: the computer of a local model is often off."""
        self._hass = hass
        self._entry = entry
        self.client = client
        self.config = client.config
        self.stats = EndpointStats()
        self.reading: asyncio.Task[None] | None = None
        """Lets the model read a prompt ahead of the question; a question cancels it."""
        self.asked_at = 0.0
        """Time of the last question, in seconds since 1970."""
        self._breaker = CircuitBreaker(self.config.title)
        self._listeners: list[CALLBACK_TYPE] = []
        self._newest_turn = 0.0
        self._statistics = statistics
        self._key = f"{self.config.subentry_id}/{self.config.model}"
        known = statistics.of(self._key)
        client.estimator.factor = known.factor
        self._told = known.window
        self._assumed = self.config.assumed_window(self._told)
        self._asks_window_at: datetime | None = None
        """When to ask for its window again; None: with the next answer."""
        self._refused: int | None = None
        """Tokens of a request that it refused as too long; wins over the window."""
        self._refused_until = dt_util.utcnow()
        self._calls_unread = False
        self._loading_since: datetime | None = None
        """Since when each answer says that the model is being loaded."""

    @callback
    def with_model(self, model: str) -> Endpoint:
        """Return the same server with another model, which shares figures and sensors; learned facts are per model."""
        return self.with_config(replace(self.config, model=model))

    @callback
    def with_config(self, config: EndpointConfig) -> Endpoint:
        """Return the endpoint with another configuration; it shares figures and sensors, also with turns of this one."""
        other = Endpoint(self._hass, self._entry, ChatCompletionsClient(self._hass, config), self._statistics)
        other.stats, other._listeners, other.asked_at = self.stats, self._listeners, self.asked_at
        return other

    @property
    def window(self) -> int:
        """Return the tokens of prompt and answer together, as far as known."""
        if self._refused is not None and dt_util.utcnow() >= self._refused_until:
            self._refused = None
        return self._assumed if self._refused is None else min(self._assumed, self._refused)

    @callback
    def async_listen(self, listener: CALLBACK_TYPE) -> Callable[[], None]:
        """Call `listener` after each turn; return a function that stops it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @callback
    def async_succeeded(self, reply: ModelReply, duration_ms: int, record: TurnRecord | None = None) -> None:
        """Count a request that was answered; `record` is its turn's. Without a turn, only its tokens count."""
        stats = self.stats
        if stats.failures_in_a_row:
            self._breaker.succeeded()
            async_recovered(self._hass, self.config)
        stats.failures_in_a_row, self._loading_since = 0, None
        stats.requests += 1
        if record is not None:
            stats.duration_ms = duration_ms
            if record.started != self._newest_turn:
                self._newest_turn = record.started
                stats.first_delta_ms, stats.newest = reply.first_delta_ms, Usage()
        stats.last_success = now = dt_util.utcnow()
        if reply.usage is not None:
            for total in (stats.usage, stats.newest, record.usage) if record is not None else (stats.usage,):
                total += reply.usage
            self._statistics.note(self._key, ModelFacts(self.client.estimator.factor, self._told))
        if self.config.context_window is None and (self._asks_window_at is None or now >= self._asks_window_at):
            self._asks_window_at = now + WINDOW_HOLDS
            # the server is awake, and the answer is there
            self.async_work(self._async_ask_window(), "context window")

    @callback
    def async_failed(self, error: errors.LLMError) -> None:
        """Count a request that failed; raise an issue or start reauthentication if the administrator must act."""
        self.stats.requests += 1
        if isinstance(error, errors.LLMTooLateError):  # the requests of others may have been the reason
            return
        if isinstance(error, errors.LLMLoadingError):
            self._loading_since = self._loading_since or dt_util.utcnow()
            if dt_util.utcnow() - self._loading_since < LOADING_TAKES:
                return
        else:
            self._loading_since = None
        # without the server's words: some repeat what they were sent
        is_outage = self._breaker.failed(f"{type(error).__name__} ({error.translation_key})")
        self.stats.failures_in_a_row = self._breaker.failures
        match error:
            case errors.LLMAuthError():
                self._entry.async_start_reauth(self._hass, data={"subentry_id": self.config.subentry_id})
            case errors.LLMModelNotFoundError():
                async_model_missing(self._hass, self.config)
            case _ if is_outage:
                async_keeps_failing(self._hass, self.config, error)

    @callback
    def async_called(self, *, well: bool, unread: bool) -> None:
        """Note whether an answer called tools: an issue is raised for calls that could not be read, until some are."""
        if (well or unread) and self._calls_unread is not unread:
            self._calls_unread = unread
            model = model_name(self.config.model)
            issues.async_set(
                self._hass,
                issues.CALLS_UNREAD,
                self.config.subentry_id,
                unread,
                endpoint=self.config.title,
                model=model,
            )

    @callback
    def async_asked(self) -> None:
        """Note that a question goes to the model; it reads nothing ahead of another one meanwhile."""
        self.asked_at = dt_util.utcnow().timestamp()
        self.async_leave_off_reading()

    @callback
    def async_leave_off_reading(self) -> None:
        """Stop reading ahead of a question."""
        if self.reading is not None:
            self.reading.cancel()

    @property
    def is_reading(self) -> bool:
        """Return whether the model reads a prompt ahead of its question."""
        return self.reading is not None and not self.reading.done()

    async def _async_ask_window(self) -> None:
        if (window := await async_context_window(self.client)) is None:
            return
        if window != (self._told or window):
            self._refused = None  # by another window, or by another model under the same name
        self._told = window
        self._assumed = self.config.assumed_window(window)
        self._statistics.note(self._key, ModelFacts(self.client.estimator.factor, window))

    @callback
    def async_work(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start background work that is cancelled with the entry."""
        return self._entry.async_create_background_task(self._hass, work, f"home_agent {name}")

    @callback
    def async_was_too_long(self, limit: int | None, estimated: int | None) -> None:
        """Learn from a request of `estimated` tokens that the model runs with a smaller window; `limit` is the server's."""
        self._asks_window_at = None
        refused = limit or round((estimated or 0) * self.client.estimator.factor)
        if refused >= (1 if limit else SHORT_REQUEST):
            now = dt_util.utcnow()
            self._refused = min(refused, self._refused or refused) if now < self._refused_until else refused
            self._refused_until = now + WINDOW_HOLDS

    @callback
    def async_publish(self) -> None:
        """Call the listeners, once per turn; their errors are logged."""
        for listener in tuple(self._listeners):
            try:
                listener()
            except Exception as err:  # noqa: BLE001 - a sensor's error must not cost the answer
                LOGGER.error("A sensor of %s failed unexpectedly: %s", self.config.title, errors.where_of(err))


@callback
def async_keeps_failing(hass: HomeAssistant, config: EndpointConfig, error: errors.LLMError) -> None:
    """Raise the issue of an endpoint that keeps failing, by its kind of error."""
    match error:
        case errors.LLMCertificateError():
            key = issues.CERTIFICATE
        case errors.LLMLoadingError():
            key = issues.LOADING
        case errors.LLMTimeoutError():
            key = issues.SILENT
        case errors.LLMConnectionError():
            key = issues.UNREACHABLE
        case errors.LLMRateLimitError(translation_key="llm_no_credit"):
            key = issues.NO_CREDIT
        case errors.LLMRateLimitError():
            key = issues.RATE_LIMIT
        case _:
            key = issues.FAILING
    issues.async_set(hass, key, config.subentry_id, endpoint=config.title, url=config.base_url)


@callback
def async_model_missing(hass: HomeAssistant, config: EndpointConfig) -> None:
    """Raise the issue of an endpoint that does not know its model."""
    issues.async_set(
        hass, issues.MODEL_MISSING, config.subentry_id, endpoint=config.title, model=model_name(config.model)
    )


@callback
def async_recovered(hass: HomeAssistant, config: EndpointConfig) -> None:
    """Delete the issues of an endpoint."""
    for key in issues.OF_ENDPOINT:
        issues.async_set(hass, key, config.subentry_id, False)


def mask_for(choice: str, *, remote: bool) -> Mask | None:
    """Return the mask of personal data for a profile's choice (`auto`, `always`, `never`); None without masking."""
    return mask if choice == "always" or (choice == "auto" and remote) else None
