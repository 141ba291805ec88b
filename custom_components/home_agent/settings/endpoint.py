"""An endpoint: its settings, the kinds that the set-up offers, and what is known beforehand of models."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from yarl import URL

CHAT_PATH = "/chat/completions"

_HOME_DOMAINS = (".local", ".lan", ".home", ".home.arpa", ".internal", ".localdomain", ".fritz.box")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPreset:
    """What the set-up fills in for a kind of endpoint."""

    key: str
    base_url: str
    """Suggested address; empty: there is none to suggest."""
    example: str = "http://192.168.1.20:8000/v1"
    """An address as people enter it, shown where it is asked for."""
    needs_key: bool = False
    """It answers nobody without a key."""
    service: str = ""
    """Its own name, of a service that needs a key."""
    keys_at: str = ""
    """Where its keys are made; empty: in the account of whoever runs it."""
    embeds: bool = True
    """Whether it has embedding models."""
    remote: bool = False
    """Whether what is sent leaves the home, unless the owner says otherwise."""
    context_window: int = 16384
    """Suggested tokens of prompt and answer together."""
    key_check: str | None = None
    """Path that refuses a wrong key, where the list of models is public; what else it answers does not matter."""


def _cloud(key: str, service: str, base_url: str, *, example: str = "", **details: Any) -> EndpointPreset:
    """Return a service on the internet that is paid for with a key."""
    return EndpointPreset(
        key=key, service=service, base_url=base_url, example=example or base_url, needs_key=True, remote=True, **details
    )


PRESETS = {
    preset.key: preset
    for preset in (
        _cloud(
            "openai",
            "OpenAI",
            "https://api.openai.com/v1",
            keys_at="https://platform.openai.com/api-keys",
            context_window=128_000,
        ),
        _cloud(
            "anthropic",
            "Anthropic",
            "https://api.anthropic.com/v1",
            keys_at="https://console.anthropic.com/settings/keys",
            context_window=200_000,
            embeds=False,
        ),
        _cloud(
            "gemini",
            "Google Gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            keys_at="https://aistudio.google.com/apikey",
            context_window=128_000,
        ),
        _cloud(
            "mistral",
            "Mistral",
            "https://api.mistral.ai/v1",
            keys_at="https://console.mistral.ai/api-keys",
            context_window=32_000,
        ),
        _cloud(
            "groq",
            "Groq",
            "https://api.groq.com/openai/v1",
            keys_at="https://console.groq.com/keys",
            context_window=128_000,
            embeds=False,
        ),
        _cloud(
            "deepseek",
            "DeepSeek",
            "https://api.deepseek.com/v1",
            keys_at="https://platform.deepseek.com/api_keys",
            context_window=64_000,
            embeds=False,
        ),
        _cloud(
            "openrouter",
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            keys_at="https://openrouter.ai/settings/keys",
            context_window=128_000,
            key_check="/key",
        ),
        _cloud(
            "azure",
            "Azure OpenAI",
            "",
            example="https://my-home.openai.azure.com",
            keys_at="https://portal.azure.com",
            context_window=128_000,
        ),
        EndpointPreset(key="ollama", base_url="http://localhost:11434/v1", example="http://192.168.1.20:11434"),
        EndpointPreset(key="lm_studio", base_url="http://localhost:1234/v1", example="http://192.168.1.20:1234"),
        EndpointPreset(key="localai", base_url="http://localhost:8080/v1", example="http://192.168.1.20:8080"),
        EndpointPreset(
            key="llama_cpp", base_url="http://localhost:8080/v1", example="http://192.168.1.20:8080", key_check="/props"
        ),
        EndpointPreset(key="vllm", base_url="http://localhost:8000/v1", example="http://192.168.1.20:8000"),
        EndpointPreset(key="custom", base_url=""),
    )
}
DEFAULT_PRESET = PRESETS["custom"]
DEFAULT_API_VERSION = "2024-10-21"
"""The newest version of Azure OpenAI that is not a preview and has tool calls and streamed usage."""


def preset_for(key: str) -> EndpointPreset:
    """Return a preset; an unknown one (of a newer version) is a custom endpoint."""
    return PRESETS.get(key, DEFAULT_PRESET)


def normalize_base_url(url: str, preset: str = "custom") -> str:
    """Return the address that `/chat/completions` is appended to.

    Takes what people paste: without a scheme (then `http`), with slashes at the end, the address of the chat completions
    themselves, only a host (then `/v1` is meant), and for Azure any address of the resource.
    """
    url = url.strip()
    parts = urlsplit(url if "://" in url else f"http://{url}")
    path = parts.path.rstrip("/")
    explicit = path.endswith((CHAT_PATH, "/models"))
    path = path.removesuffix(CHAT_PATH).removesuffix("/models").rstrip("/")
    if preset == "azure":
        path = "/openai/v1" if path.startswith("/openai/v1") else ""
    elif not path and not explicit:
        path = "/v1"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def is_public(url: str) -> bool:
    """Return whether an address looks like one outside the home."""
    host = URL(url).host or ""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_HOME_DOMAINS)


_FILE = re.compile(r"^(?:/|[A-Za-z]:[\\/]|\./)|\.(?:gguf|ggml|bin|safetensors)$", re.IGNORECASE)
"""A model that a server names by the file it was loaded from (llama.cpp)."""
_EXTENSION = re.compile(r"(?:-\d{5}-of-\d{5})?\.(?:gguf|ggml|bin|safetensors)$", re.IGNORECASE)


def model_name(model: str) -> str:
    """Return what a model is called where people read it: `foo Q4` for `/models/foo-Q4.gguf`; what is no file stays.

    On the wire it keeps the name that its server gave it.
    """
    if not _FILE.search(model):
        return model.removeprefix("models/")  # Gemini
    file = _EXTENSION.sub("", re.split(r"[\\/]", model.rstrip("\\/"))[-1])
    return file.replace("-", " ").strip() or model


_REASONING = re.compile(r"(^|/)(o[1-9](-|$)|gpt-5(?!.*chat))", re.IGNORECASE)
"""OpenAI's reasoning models: `max_completion_tokens`, and only the default temperature."""
_BEGINS_INSIDE = re.compile(r"deepseek-r1|qwq|[-:_]thinking|-reasoner?\b", re.IGNORECASE)
"""Models whose chat template often ends with `<think>`, so that the answer begins inside the thinking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How an endpoint with a model wants to be asked, as far as it is known beforehand.

    A wrong guess costs one refused request: what an endpoint refuses is learned (`Dialect` in client/chat_completions.py).
    """

    max_tokens: str = "max_tokens"
    """Name of the parameter that limits the answer."""
    sampling: bool = True
    """Takes `temperature` and `top_p`."""
    keep_alive: bool = False
    tool_choice_none: bool = False
    """Knows `tool_choice: none`, and obeys it."""
    stream_options: bool = True
    response_format: bool = True
    """Obeys a JSON schema in `response_format`; else it is told in words."""
    thinking_back: bool = False
    """Wants the thinking of an answer that called tools back with it."""
    signed_calls: bool = False
    """Signs its tool calls (`extra_content`) and takes none back without a signature."""
    strict_order: bool = False
    """Takes no user message behind a tool result, and ids of calls only in a form of its own."""
    cache_key: str | None = None
    """Name of the parameter that brings requests that begin alike to one cache."""
    begins_inside_thinking: bool = False


_TOOL_CHOICE_NONE = frozenset(
    {
        "openai",
        "azure",
        "openrouter",
        "anthropic",
        "gemini",
        "mistral",
        "groq",
        "deepseek",
        "vllm",
        "llama_cpp",
        "lm_studio",
    }
)
_CACHE_KEYS = {"openai": "prompt_cache_key", "mistral": "prompt_cache_key", "azure": "user", "openrouter": "user"}


def traits_for(preset: str, model: str) -> Traits:
    """Return what is known about a preset's endpoint with this model."""
    reasoning = preset in {"openai", "azure", "openrouter", "custom"} and _REASONING.search(model) is not None
    return Traits(
        max_tokens="max_completion_tokens" if reasoning else "max_tokens",
        sampling=not reasoning,
        keep_alive=preset in {"ollama", "custom"},
        tool_choice_none=preset in _TOOL_CHOICE_NONE,
        stream_options=preset != "mistral",  # it refuses them, and tells its usage without being asked
        response_format=preset not in {"anthropic", "deepseek"},  # one ignores it, the other knows no schema
        thinking_back=preset == "deepseek",
        signed_calls=preset == "gemini",
        strict_order=preset == "mistral",
        cache_key=_CACHE_KEYS.get(preset),
        begins_inside_thinking=_BEGINS_INSIDE.search(model) is not None,
    )


_HOSTED = frozenset({"custom", *(preset.key for preset in PRESETS.values() if preset.needs_key)})
_KNOWN_WINDOWS: tuple[tuple[str, int], ...] = (
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


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointConfig:
    """An OpenAI-compatible endpoint with one model; read once from its subentry."""

    subentry_id: str
    title: str
    base_url: str
    api_key: str = field(default="", repr=False)
    model: str
    preset: str = "custom"
    api_version: str | None = None
    """Azure OpenAI only."""
    verify_ssl: bool = True
    temperature: float | None = None
    """None: not sent, the model's own default holds."""
    top_p: float | None = None
    max_tokens: int | None = None
    """Tokens of one answer; None: the endpoint decides."""
    keep_alive: str | None = None
    """How long Ollama keeps the model loaded, as it takes it (`5m`, `-1`); None: not sent."""
    tool_calling: bool = True
    context_window: int | None = None
    """Tokens of prompt and answer together, as the owner set them; None: the server is asked."""
    idle_timeout: float = 120.0
    """Seconds of silence after which a stream counts as dead."""
    remote: bool = False
    """Whether what is sent leaves the home."""
    keep_ready: bool = True
    """Whether a model in the home reads the prompt before somebody waits for its answer."""

    @property
    def keeps_ready(self) -> bool:
        """Whether it is sent anything that nobody asked; never where that leaves the home, or is paid for."""
        return self.keep_ready and not self.remote

    def assumed_window(self, told: int | None) -> int:
        """Return the tokens of prompt and answer together: the owner's word, else the server's, the name's, the usual."""
        if window := self.context_window or told:
            return window
        if self.preset in _HOSTED:
            for name, window in _KNOWN_WINDOWS:
                if re.search(name, self.model, re.IGNORECASE):
                    return window
        return preset_for(self.preset).context_window


def endpoint_from_data(subentry_id: str, title: str, data: Mapping[str, Any]) -> EndpointConfig:
    """Return the endpoint; what is not stored keeps the default of `EndpointConfig`, whose fields are the keys."""
    given = {item.name: value for item in fields(EndpointConfig) if (value := data.get(item.name)) is not None}
    for key in ("max_tokens", "context_window"):  # number selectors return floats
        given[key] = int(given.get(key) or 0) or None
    return EndpointConfig(**given | {"subentry_id": subentry_id, "title": title})
