"""How many tokens a model can take: what the server says it runs with, else what is known of the model."""

from collections.abc import AsyncGenerator, Callable, Mapping
import re
from typing import Any

from ..const import LOGGER
from ..errors import LLMError
from .base import EndpointConfig
from .connection import Connection
from .presets import normalize_base_url, preset_for

_SMALLEST, _LARGEST = 256, 100_000_000  # tokens; anything else is no window
_FIELDS = (
    "loaded_context_length", "max_model_len", "n_ctx", "context_window", "context_length", "max_context_length",
)  # fmt: skip
"""What servers call it in the row of a model; first what runs, then what the model could."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)

_HOSTED = frozenset({"openai", "azure", "openrouter", "custom"})
_KNOWN: tuple[tuple[str, int], ...] = (
    (r"gpt-4\.1", 1_000_000),
    (r"gpt-5", 272_000),
    (r"gpt-4o|gpt-4-turbo|chatgpt-4o", 128_000),
    (r"gpt-4-32k", 32_768),
    (r"gpt-4(-\d{4})?$", 8192),
    (r"gpt-3\.5", 16_385),
    (r"(^|/)o1-mini", 128_000),
    (r"(^|/)o[1-9]", 200_000),
    (r"claude", 200_000),
    (r"gemini", 1_000_000),
    (r"deepseek-(chat|reasoner)", 64_000),
    (r"(mistral|ministral|codestral|devstral|magistral)-(large|medium|small|latest|\d)", 32_000),
    (r"grok", 128_000),
    (r"command-(a|r)", 128_000),
    (r"sonar", 128_000),
)
"""By name, of models that their makers host. Careful where makers changed their minds: too small costs a little, too large
a failed request. A model on a computer of one's own runs with whatever its server was started with."""


def known_window(config: EndpointConfig) -> int | None:
    """Return what is known of a hosted model by its name."""
    if config.preset not in _HOSTED:
        return None
    return next((window for name, window in _KNOWN if re.search(name, config.model, re.IGNORECASE)), None)


def assumed_window(config: EndpointConfig, learned: int | None) -> int:
    """Return the tokens of prompt and answer together: the owner's word, else the server's, else the name's, else the usual."""
    usual = preset_for(config.preset).context_window
    return config.context_window or learned or known_window(config) or usual


async def async_context_window(connection: Connection, config: EndpointConfig) -> int | None:
    """Return what a server tells of the model's context window, None when it tells nothing.

    Ask it when it has just answered: some tell only of a model that is loaded. Never raises `LLMError`.
    """
    async for name, found in _answers(connection, config):
        if found is not None and _SMALLEST <= found <= _LARGEST:
            LOGGER.debug("%s tells a context window of %d tokens (%s)", config.title, found, name)
            return found
    return None


async def _answers(connection: Connection, config: EndpointConfig) -> AsyncGenerator[tuple[str, int | None]]:
    """Yield what each address says that a server of this kind may have."""
    root = normalize_base_url(config.base_url, config.preset).removesuffix("/v1")
    asked: dict[str, tuple[Mapping[str, Any] | None, Callable[[object, EndpointConfig], int | None]]] = {
        "/models": (None, _from_models),
        f"{root}/api/v0/models": (None, _from_models),
        f"{root}/props": (None, _from_props),
        f"{root}/api/ps": (None, _from_ps),
        f"{root}/api/show": ({"model": config.model}, _from_show),
    }
    paths = {
        "openai": (),
        "azure": (),
        "ollama": (f"{root}/api/ps", f"{root}/api/show"),
        "lm_studio": (f"{root}/api/v0/models", "/models"),
        "llama_cpp": (f"{root}/props", "/models"),
        "custom": tuple(asked),
    }.get(config.preset, ("/models",))
    for path in paths:
        body, read = asked[path]
        try:
            answer = await (connection.get(path) if body is None else connection.ask(path, body))
        except LLMError:
            continue
        yield path, read(answer, config)


def _from_models(answer: object, config: EndpointConfig) -> int | None:
    """Read a list of models in OpenAI's form: vLLM, OpenRouter, Groq, Mistral, LM Studio and others add a field."""
    rows = answer.get("data") if isinstance(answer, Mapping) else answer
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping) and row.get("id") == config.model:
            details = row.get("meta")
            return _first(row) or _first(details if isinstance(details, Mapping) else {})
    return None


def _first(row: Mapping[str, Any]) -> int | None:
    return next((found for name in _FIELDS if (found := _whole(row.get(name))) is not None), None)


def _from_props(answer: object, _config: EndpointConfig) -> int | None:
    """Read the properties of llama.cpp's server: the window of one slot."""
    settings = answer.get("default_generation_settings") if isinstance(answer, Mapping) else None
    return _whole(settings.get("n_ctx")) if isinstance(settings, Mapping) else None


def _from_ps(answer: object, config: EndpointConfig) -> int | None:
    """Read what Ollama has loaded, with the window it was loaded with."""
    rows = answer.get("models") if isinstance(answer, Mapping) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping) and config.model in (row.get("name"), row.get("model")):
            return _whole(row.get("context_length"))
    return None


def _from_show(answer: object, config: EndpointConfig) -> int | None:
    """Read what Ollama knows of a model: the window set for it, or the model's own where that is smaller than usual."""
    if not isinstance(answer, Mapping):
        return None
    if match := _NUM_CTX.search(str(answer.get("parameters") or "")):
        return int(match[1])
    details = answer.get("model_info")
    for name, value in details.items() if isinstance(details, Mapping) else ():
        if str(name).endswith(".context_length") and (window := _whole(value)) is not None:
            return window if window < preset_for(config.preset).context_window else None
    return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
