"""Asking an endpoint which models it offers, for the set-up and for Repairs."""

import asyncio
from collections.abc import Mapping
import re

from homeassistant.core import HomeAssistant

from ..errors import LLMAuthError, LLMError, LLMTimeoutError
from .base import EndpointConfig
from .connection import Connection
from .error_map import ErrorMap
from .presets import normalize_base_url, preset_for

TIMEOUT = 10.0  # seconds for everything
_NO_CHAT = re.compile(r"embed|rerank|whisper|tts|dall-e|moderation|transcribe", re.IGNORECASE)


async def async_list_models(
    hass: HomeAssistant,
    base_url: str,
    api_key: str = "",
    verify_ssl: bool = True,
    preset: str = "custom",
    api_version: str | None = None,
) -> list[str]:
    """Return the models an endpoint offers, those that cannot chat last; empty when it offers none.

    Raises `LLMAuthError` (the key), `LLMCertificateError`, `LLMConnectionError` (not reachable, or silent: its subclass
    `LLMTimeoutError`), `LLMResponseError` (something answers that is no OpenAI-compatible server, or one that does not
    tell its models), and `LLMError` when the server itself fails.
    """
    title = normalize_base_url(base_url, preset)
    errors = ErrorMap(title, api_key)
    config = EndpointConfig(
        subentry_id="",
        title=title,
        base_url=base_url,
        api_key=api_key,
        model="",
        preset=preset,
        api_version=api_version,
        verify_ssl=verify_ssl,
        idle_timeout=TIMEOUT,
    )
    connection = Connection(hass, config, errors)
    try:
        async with asyncio.timeout(TIMEOUT):
            if path := preset_for(preset).key_check:
                await _check_key(connection, path)
            answer = await connection.get("/models")
    except TimeoutError as err:
        raise LLMTimeoutError(endpoint=title, detail="") from err
    models = _models(answer)
    if models is None:
        raise errors.response_error("/models")
    return sorted(models, key=lambda name: (_NO_CHAT.search(name) is not None, name.casefold()))


async def _check_key(connection: Connection, path: str) -> None:
    """Raise `LLMAuthError` for a wrong key; whatever else goes wrong shows at the list of models."""
    try:
        await connection.get(path)
    except LLMAuthError:
        raise
    except LLMError:
        return


def _models(answer: object) -> list[str] | None:
    """Return the ids in a list of models, None when it is none."""
    rows = answer
    if isinstance(answer, Mapping):
        if "data" not in answer:
            return None
        rows = answer["data"] or []  # Ollama without a model sends null
    if not isinstance(rows, list):
        return None
    names = {row.get("id") for row in rows if isinstance(row, Mapping)}
    return [name for name in names if isinstance(name, str)]
