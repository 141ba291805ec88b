"""The forms about search and documents. Server and model are tried before they are stored; keys are never shown."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from homeassistant.core import HomeAssistant
import probatio

from ..search.chroma_store import ChromaStore
from ..search.embeddings import EmbeddingsApi
from ..search.model import async_load_numpy
from ..settings.endpoint import PRESETS, preset_for
from ..settings.search import (
    CHROMA,
    CONF_RETRIEVAL,
    EMBEDDED,
    ENDPOINT,
    LEXICAL,
    OLLAMA,
    RetrievalSettings,
    collection_names,
    is_collection_name,
)
from ..support.errors import EmbeddingError, RetrievalError
from ..support.issues import RetrievalIssues
from ..support.localize import async_error_text
from .forms import ADDRESS, SECRET, SWITCH, TEXT, Fields, FormError, changed, markers, number, select
from .model_server import CONF_USE_ANYWAY, KEEP_ALIVE, same_server, usable_url
from .reader import async_reader_language

FAILED = "retrieval_failed"
TEST_TIMEOUT = 20.0  # seconds for one text; a model may have to be loaded first

STEPS: dict[str, Fields] = {
    "retrieval": {
        "store": select((EMBEDDED, CHROMA), "vector_store"),
        "embedding": select((LEXICAL, ENDPOINT), "embedding"),
        "additional_collections": TEXT,
        "additional_top_k": number(1, 50),
        "additional_l2_threshold": number(0, 1_000_000, step=0.1),
    },
    "chroma": {
        "chroma_host": TEXT,
        "chroma_port": number(1, 65535),
        "chroma_tls": SWITCH,
        "chroma_verify_ssl": SWITCH,
        "chroma_token": SECRET,
        "chroma_tenant": TEXT,
        "chroma_database": TEXT,
        "collection": TEXT,
    },
    "embedding": {
        "embedding_preset": select(tuple(key for key, preset in PRESETS.items() if preset.embeds), "preset"),
        "embedding_url": ADDRESS,
        "embedding_key": SECRET,
        "embedding_verify_ssl": SWITCH,
        "embedding_model": TEXT,
        "embedding_keep_alive": TEXT,
        "top_k": number(1, 50),
        "similarity_threshold": number(0, 1, step=0.01),
        "embedding_batch": number(1, 2048),
    },
}
"""Fields by form: the first one, then those that its choices need."""
REMOVE = {"chroma_token": "remove_chroma_token", "embedding_key": "remove_embedding_key"}
"""Switches that delete a stored secret, by its field."""
SECRETS = tuple(REMOVE)
DEFAULTS: dict[str, Any] = {**asdict(RetrievalSettings()), "additional_collections": ""}


def step_after(step: str, stored: Mapping[str, Any]) -> str | None:
    """Return the form that follows, None after the last one."""
    chosen = {**DEFAULTS, **stored}
    needed = {"chroma": chosen["store"] == CHROMA, "embedding": chosen["embedding"] == ENDPOINT}
    return next((name for name in [*STEPS][[*STEPS].index(step) + 1 :] if needed[name]), None)


def retrieval_schema(
    hass: HomeAssistant, step: str, stored: Mapping[str, Any], *, may_skip_check: bool
) -> probatio.Schema:
    """Return a form, with a switch below a stored secret."""
    shown = {key: value for key, value in {**DEFAULTS, **stored}.items() if key not in SECRETS}
    fields: Fields = {}
    for key, selector in STEPS[step].items():
        fields[key] = selector
        if stored.get(key) and key in REMOVE:
            fields[REMOVE[key]] = SWITCH
    schema = markers(hass, fields, shown)
    if may_skip_check:
        schema[probatio.Optional(CONF_USE_ANYWAY)] = SWITCH
    return probatio.Schema(schema)


def taken(step: str, stored: Mapping[str, Any], submitted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to store. A former preset's usual address becomes the new one's; a secret stays for its server."""
    before = {**DEFAULTS, **stored}
    after = DEFAULTS | changed(stored, submitted, STEPS[step], DEFAULTS)
    usual = preset_for(before["embedding_preset"]).base_url
    if usual and before["embedding_preset"] != after["embedding_preset"] and after["embedding_url"] == usual:
        after["embedding_url"] = preset_for(after["embedding_preset"]).base_url or usual
    addresses = [usable_url(item["embedding_url"], item["embedding_preset"]) for item in (before, after)]
    stays = {
        "chroma_token": all(before[name] == after[name] for name in ("chroma_host", "chroma_port")),
        "embedding_key": None not in addresses and same_server(str(addresses[0]), str(addresses[1])),
    }
    for key in SECRETS:
        if not submitted.get(key):
            after[key] = before[key] if stays[key] and not submitted.get(REMOVE[key]) else ""
    return {key: value for key, value in after.items() if key not in DEFAULTS or value != DEFAULTS[key]}


async def async_check(
    hass: HomeAssistant, step: str, stored: Mapping[str, Any], *, memories: str, connect: bool
) -> FormError | None:
    """Return an error of what a form asks for, `FAILED` if its server or model cannot be used.

    `memories` is the collection of the memory, which must not be one of documents: more people may read those.
    """
    settings = RetrievalSettings.from_options({CONF_RETRIEVAL: stored})
    listed = stored.get("additional_collections", "")
    names = {
        "retrieval": collection_names(listed) if isinstance(listed, str) else tuple(listed),
        "chroma": (settings.collection,),
    }.get(step, ())
    if wrong := next((name for name in names if not is_collection_name(name)), None):
        return "collection_name", {"name": wrong[:80]}
    if memories in names:
        return "collection_taken", {"name": memories[:80]}
    if step == "embedding":
        if usable_url(settings.embedding_url, settings.embedding_preset) is None:
            return "invalid_url", {}
        if settings.embedding_preset == OLLAMA and not KEEP_ALIVE.fullmatch(settings.embedding_keep_alive):
            return "keep_alive_format", {}
    if connect:
        try:
            await _async_connect(hass, step, settings)
        except RetrievalError as err:
            return FAILED, {"reason": await async_error_text(hass, await async_reader_language(hass), err)}
    return None


async def _async_connect(hass: HomeAssistant, step: str, settings: RetrievalSettings) -> None:
    """Ask the server for its collection, or the model for a vector; raise `RetrievalError` if it fails."""
    if step == "chroma":
        store = ChromaStore(hass, settings, RetrievalIssues(None), logs=False)
        await store.async_open()
        await store.async_check(settings.collection)
    if step == "embedding":
        await async_load_numpy(hass)
        api = EmbeddingsApi(hass, settings)
        try:
            async with asyncio.timeout(TEST_TIMEOUT):
                await api.async_embed(["Kitchen light"], patient=False)
        except TimeoutError as err:
            raise EmbeddingError("embedding_timeout", endpoint=api.title, detail=f"{TEST_TIMEOUT:g}") from err
