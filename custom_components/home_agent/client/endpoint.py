"""One endpoint at run time: its client, what it was seen to do, and who has to know when it fails.

What is learned about models, how their tokens are counted and how large their window is, is kept in one small file.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, override

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..settings.endpoint import EndpointConfig, model_name
from ..support import issues
from ..support.const import LOGGER
from ..support.errors import (
    LLMAuthError,
    LLMCertificateError,
    LLMConnectionError,
    LLMError,
    LLMLoadingError,
    LLMModelNotFoundError,
    LLMRateLimitError,
    LLMTimeoutError,
    where_of,
)
from ..support.kept import Kept
from ..support.masking import Mask, mask
from ..support.outages import CircuitBreaker
from ..support.storage import Content, StoredFile
from ..turn.turn import TurnRecord, Usage
from .chat_completions import ChatCompletionsClient
from .error_map import is_window
from .model import ModelReply

WINDOW_HOLDS = timedelta(days=1)
"""How long what was learned of a window counts: whoever runs the server may start it with another one."""
LOADING_TAKES = timedelta(minutes=10)
"""How long the largest model takes to be loaded; until then that is no failure of its server's."""
SAVE_DELAY = 300  # seconds; what is lost is learned again
MAX_MODELS = 200
NOTEWORTHY = 0.03  # change of the factor that is worth a write to a memory card
SHORT_REQUEST = 1024  # tokens; no window is smaller, so one that was refused says nothing about it


@dataclass(slots=True)
class ModelFacts:
    """One model on one server."""

    factor: float = 1.0
    """What the server counted as tokens, compared with our estimate."""
    window: int | None = None
    """Tokens of prompt and answer together; None: it did not tell."""


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
    for key, item in content.items():
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
    """What an endpoint was seen to do since the entry was loaded."""

    usage: Usage = field(default_factory=Usage)
    newest: Usage = field(default_factory=Usage)
    """Of the newest turn."""
    requests: int = 0
    failures_in_a_row: int = 0
    first_delta_ms: int | None = None
    """Of the first request of the newest turn: the one that somebody waited for."""
    duration_ms: int | None = None
    """Of the newest request of a turn."""
    last_success: datetime | None = None


class Endpoint:
    """A model and how it is doing; owned by the config entry."""

    def __init__(
        self, hass: HomeAssistant, entry: ConfigEntry[Any], client: ChatCompletionsClient, statistics: ModelStatistics
    ) -> None:
        """Start as if all were well: a sleeping computer must not keep Home Assistant from starting."""
        self._hass = hass
        self._entry = entry
        self.client = client
        self.config = client.config
        self.stats = EndpointStats()
        self.reading: asyncio.Task[None] | None = None
        """Lets the model read what nobody has asked yet; a question cancels it."""
        self.asked_at = 0.0
        """When somebody asked it last, in seconds since 1970."""
        self._breaker = CircuitBreaker(self.config.title)
        self._listeners: list[CALLBACK_TYPE] = []
        self._newest_turn = 0.0
        """When the newest turn began; only to know it again."""
        self._statistics = statistics
        self._key = f"{self.config.subentry_id}/{self.config.model}"
        known = statistics.of(self._key)
        client.estimator.factor = known.factor
        self._told = known.window
        """The window that the server told, in tokens."""
        self._assumed = self.config.assumed_window(self._told)
        self._asks_window_at: datetime | None = None
        """When its window is asked for again; None: with the next answer."""
        self._refused: int | None = None
        """Tokens that were too many for it, whatever anybody says about its window."""
        self._refused_until = dt_util.utcnow()
        """Later it is tried again: at worst one more request is refused."""
        self._loading_since: datetime | None = None
        """When it was first said that the model is being loaded, and nothing else since."""

    @callback
    def with_model(self, model: str) -> Endpoint:
        """Return the same server with another model; what is learned of that is its own, figures and sensors are common."""
        client = ChatCompletionsClient(self._hass, replace(self.config, model=model))
        other = Endpoint(self._hass, self._entry, client, self._statistics)
        other.stats, other._listeners = self.stats, self._listeners
        return other

    @property
    def window(self) -> int:
        """Tokens of prompt and answer together, as far as they are known by now."""
        if self._refused is not None and dt_util.utcnow() >= self._refused_until:
            self._refused = None
        return self._assumed if self._refused is None else min(self._assumed, self._refused)

    @callback
    def async_listen(self, listener: CALLBACK_TYPE) -> Callable[[], None]:
        """Call `listener` after each turn; return how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @callback
    def async_succeeded(self, reply: ModelReply, duration_ms: int, record: TurnRecord | None = None) -> None:
        """Take note of a request that was answered; `record` is of the turn that it was made in.

        None: of no turn. Its tokens count, but nobody waited for it.
        """
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
            # the server is awake, and nobody waits for it now
            self.async_work(self._async_ask_window(), "context window")

    @callback
    def async_failed(self, error: LLMError) -> None:
        """Take note of a request that failed, however; raise what needs the owner.

        A model that is being loaded is a failure only when that does not come to an end.
        """
        self.stats.requests += 1
        if isinstance(error, LLMLoadingError):
            self._loading_since = self._loading_since or dt_util.utcnow()
            if dt_util.utcnow() - self._loading_since < LOADING_TAKES:
                return
        else:
            self._loading_since = None
        # without the server's words: some repeat what they were sent
        is_outage = self._breaker.failed(f"{type(error).__name__} ({error.translation_key})")
        self.stats.failures_in_a_row = self._breaker.failures
        match error:
            case LLMAuthError():
                self._entry.async_start_reauth(self._hass, data={"subentry_id": self.config.subentry_id})
            case LLMModelNotFoundError():
                async_model_missing(self._hass, self.config)
            case _ if is_outage:
                async_keeps_failing(self._hass, self.config, error)

    async def _async_ask_window(self) -> None:
        if (window := await self.client.async_context_window()) is None or not is_window(window):
            return
        if window != (self._told or window):
            self._refused = None  # by another window, or by another model under the same name
        self._told = window
        self._assumed = self.config.assumed_window(window)
        self._statistics.note(self._key, ModelFacts(self.client.estimator.factor, window))

    @callback
    def async_work(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start work in the background that ends with the entry."""
        return self._entry.async_create_background_task(self._hass, work, f"home_agent {name}")

    @callback
    def async_was_too_long(self, limit: int | None, estimated: int | None) -> None:
        """Take note that a request was too long: the model runs with another window than anybody said.

        `limit` is what it said with its refusal, `estimated` how long the request was (`ModelReply.estimated_tokens`).
        """
        self._asks_window_at = None
        refused = limit or round((estimated or 0) * self.client.estimator.factor)
        if refused >= (1 if limit else SHORT_REQUEST):
            now = dt_util.utcnow()
            self._refused = min(refused, self._refused or refused) if now < self._refused_until else refused
            self._refused_until = now + WINDOW_HOLDS

    @callback
    def async_publish(self) -> None:
        """Tell the listeners, once per turn: a turn with tools makes several requests. What they raise costs no answer."""
        for listener in tuple(self._listeners):
            try:
                listener()
            except Exception as err:  # noqa: BLE001 - the answer is there, whatever becomes of a number about it
                LOGGER.error("A sensor of %s failed unexpectedly: %s", self.config.title, where_of(err))


@callback
def async_keeps_failing(hass: HomeAssistant, config: EndpointConfig, error: LLMError) -> None:
    """Say in Repairs that an endpoint keeps failing, and what to look at."""
    match error:
        case LLMCertificateError():
            key = issues.CERTIFICATE
        case LLMLoadingError():
            key = issues.LOADING
        case LLMTimeoutError():
            key = issues.SILENT
        case LLMConnectionError():
            key = issues.UNREACHABLE
        case LLMRateLimitError(translation_key="llm_no_credit"):
            key = issues.NO_CREDIT
        case LLMRateLimitError():
            key = issues.RATE_LIMIT
        case _:
            key = issues.FAILING
    issues.async_set(hass, key, config.subentry_id, endpoint=config.title, url=config.base_url)


@callback
def async_model_missing(hass: HomeAssistant, config: EndpointConfig) -> None:
    """Say in Repairs that an endpoint does not know its model any more."""
    issues.async_set(
        hass, issues.MODEL_MISSING, config.subentry_id, endpoint=config.title, model=model_name(config.model)
    )


@callback
def async_recovered(hass: HomeAssistant, config: EndpointConfig) -> None:
    """Take back whatever was said of an endpoint."""
    for key in issues.OF_ENDPOINT:
        issues.async_set(hass, key, config.subentry_id, False)


def mask_for(choice: str, *, remote: bool) -> Mask | None:
    """Return what hides personal data on the way to an endpoint; None when nothing is to be hidden.

    `choice` is the profile's: `auto` (only where what is sent leaves the home), `always`, `never`.
    """
    return mask if choice == "always" or (choice == "auto" and remote) else None
