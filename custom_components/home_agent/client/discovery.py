"""What a server tells about its models: their names, and the context window of one."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
import re
from typing import Any

from homeassistant.core import HomeAssistant

from ..settings.endpoint import EndpointConfig, normalize_base_url, preset_for
from ..support.const import LOGGER
from ..support.errors import LLMAuthError, LLMError, LLMTimeoutError
from .chat_completions import ChatCompletionsClient, Connection
from .error_map import ErrorMap, is_window

TIMEOUT = 10.0  # seconds for everything
PATIENT_SHARE = 0.8  # of the time, to wait for a model that is being loaded; the rest is left to report it
WINDOW_TIMEOUT = 15.0  # seconds; asked in the background
_NO_CHAT = re.compile(
    r"embed|rerank|\bbge-|\bgte-|\be5-|minilm|colbert"  # vectors and their order
    r"|whisper|parakeet|transcribe|\btts|[-_.]tts|kokoro|piper|playai|orpheus|speech|gpt-audio|audio-preview|realtime|lyria"  # sound
    r"|dall-e|[-_]image|imagen\b|stable-diffusion|sdxl|\bflux|\bsora|\bveo|[-_]ocr\b"  # pictures
    r"|moderation|[-_]guard|shieldgemma"  # judges of what others say
    r"|(^|/|:)(babbage|davinci|curie|ada)(-|$)|text-(davinci|curie|babbage|ada)|gpt-3\.5-turbo-instruct|\baqa$",  # no chat
    re.IGNORECASE,
)
_NO_CHAT_TYPES = frozenset(
    {"embedding", "embeddings", "rerank", "image", "audio", "transcribe", "moderation", "tts", "stt"}
)


async def async_list_models(hass: HomeAssistant, config: EndpointConfig) -> list[str]:
    """Return all models of an endpoint that can chat, in alphabetical order. Raises `LLMError`."""
    title = normalize_base_url(config.base_url, config.preset)
    errors = ErrorMap(title, config.api_key)
    config = replace(config, title=title, model="", idle_timeout=TIMEOUT)
    connection = Connection(hass, config, errors)
    try:
        async with asyncio.timeout(TIMEOUT):
            if path := preset_for(config.preset).key_check:
                try:
                    await connection.get(path)
                except LLMAuthError:
                    raise
                except LLMError:
                    pass  # other failures show at the list of models
            answer = await connection.get("/models", TIMEOUT * PATIENT_SHARE)
    except TimeoutError as err:
        raise LLMTimeoutError(endpoint=title, detail="") from err
    models = _models(answer)
    if models is None:
        raise errors.response_error("/models")
    return sorted(models, key=str.casefold)


def _models(answer: object) -> list[str] | None:
    """Return the ids of the chat models in a list of models; None if the answer is no such list."""
    rows = answer
    if isinstance(answer, Mapping):
        if "data" not in answer:
            return None
        rows = answer["data"] or []  # Ollama without a model sends null
    if not isinstance(rows, list):
        return None
    return list(
        {row["id"] for row in rows if isinstance(row, Mapping) and isinstance(row.get("id"), str) and _chats(row)}
    )


def _chats(row: Mapping[str, Any]) -> bool:
    """Return whether a model can chat: by the server's description, else by its name."""
    match row:
        case {"capabilities": {"completion_chat": bool(chats)}}:  # Mistral
            return chats
        case {"architecture": {"output_modalities": list(modalities)}}:  # OpenRouter
            return "text" in modalities
        case {"type": str(kind)} if kind.casefold() in _NO_CHAT_TYPES:  # LM Studio, Together
            return False
    return _NO_CHAT.search(row["id"]) is None


_FIELDS = (
    "loaded_context_length", "max_model_len", "n_ctx", "context_window", "context_length", "max_context_length",
)  # fmt: skip
"""Names of the window in the row of a model; what is loaded first, then what the model supports."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


async def async_context_window(client: ChatCompletionsClient) -> int | None:
    """Return the model's context window in tokens; None if the server does not tell it. Ask right after an answer."""
    try:
        async with asyncio.timeout(WINDOW_TIMEOUT), aclosing(_answers(client.connection, client.config)) as answers:
            async for name, found in answers:
                if found is not None and is_window(found):
                    LOGGER.debug("%s tells a context window of %d tokens (%s)", client.config.title, found, name)
                    return found
    except TimeoutError:
        pass
    return None


async def _answers(connection: Connection, config: EndpointConfig) -> AsyncGenerator[tuple[str, int | None]]:
    """Yield each address that a server of this kind may have, with the window that it tells."""
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
            answer = await connection.get(path, body=body)
        except LLMError:
            continue
        yield path, read(answer, config)


def _from_models(answer: object, config: EndpointConfig) -> int | None:
    """Read a list of models in OpenAI's form: vLLM, OpenRouter, Groq, Mistral, LM Studio and others add a field."""
    rows = answer.get("data") if isinstance(answer, Mapping) else answer
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping) and row.get("id") == config.model:
            details = row.get("meta")
            told = [*map(row.get, _FIELDS), *(map(details.get, _FIELDS) if isinstance(details, Mapping) else ())]
            return next((found for value in told if (found := _whole(value))), None)
    return None


def _from_props(answer: object, _config: EndpointConfig) -> int | None:
    """Read the properties of llama.cpp's server: the window of one slot."""
    settings = answer.get("default_generation_settings") if isinstance(answer, Mapping) else None
    return _whole(settings.get("n_ctx")) if isinstance(settings, Mapping) else None


def _from_ps(answer: object, config: EndpointConfig) -> int | None:
    """Read the models that Ollama has loaded, each with its window."""
    rows = answer.get("models") if isinstance(answer, Mapping) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping) and config.model in (row.get("name"), row.get("model")):
            return _whole(row.get("context_length"))
    return None


def _from_show(answer: object, config: EndpointConfig) -> int | None:
    """Read Ollama's description of a model: the window set for it, or the model's own if that is smaller than usual."""
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
