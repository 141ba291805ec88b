"""An endpoint: its settings, the presets of the set-up, and what is known of models in advance."""

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
    base_url: str  # suggested address, or empty
    example: str = "http://192.168.1.20:8000/v1"  # an address as people enter it
    needs_key: bool = False
    service: str = ""  # name of a service that needs a key
    keys_at: str = ""  # page where its keys are created
    embeds: bool = True  # whether it has embedding models
    remote: bool = False  # whether data leaves the home, by default
    context_window: int = 16384  # tokens of prompt and answer together
    key_check: str | None = None  # path that refuses a wrong key, if the list of models is public


def _cloud(
    key: str, service: str, base_url: str, keys_at: str, window: int = 128_000, *, example: str = "", **details: Any
) -> EndpointPreset:
    """Return a service on the internet that is paid for with a key; addresses without `https://`."""
    return EndpointPreset(
        key=key,
        service=service,
        base_url=f"https://{base_url}" if base_url else "",
        example=example or f"https://{base_url}",
        keys_at=f"https://{keys_at}",
        context_window=window,
        needs_key=True,
        remote=True,
        **details,
    )


def _local(key: str, port: int, path: str = "", **details: Any) -> EndpointPreset:
    """Return a server on a computer at home."""
    example = f"http://192.168.1.20:{port}{path}"
    return EndpointPreset(key=key, base_url=f"http://localhost:{port}/v1", example=example, **details)


PRESETS = {
    preset.key: preset
    for preset in (
        _cloud("openai", "OpenAI", "api.openai.com/v1", "platform.openai.com/api-keys"),
        _cloud(
            "anthropic",
            "Anthropic",
            "api.anthropic.com/v1",
            "console.anthropic.com/settings/keys",
            200_000,
            embeds=False,
        ),
        _cloud(
            "gemini", "Google Gemini", "generativelanguage.googleapis.com/v1beta/openai", "aistudio.google.com/apikey"
        ),
        _cloud("mistral", "Mistral", "api.mistral.ai/v1", "console.mistral.ai/api-keys", 32_000),
        _cloud("groq", "Groq", "api.groq.com/openai/v1", "console.groq.com/keys", embeds=False),
        _cloud("deepseek", "DeepSeek", "api.deepseek.com/v1", "platform.deepseek.com/api_keys", 64_000, embeds=False),
        _cloud("openrouter", "OpenRouter", "openrouter.ai/api/v1", "openrouter.ai/settings/keys", key_check="/key"),
        _cloud("azure", "Azure OpenAI", "", "portal.azure.com", example="https://my-home.openai.azure.com"),
        _local("ollama", 11434),
        _local("lm_studio", 1234),
        _local("localai", 8080),
        _local("llama_cpp", 8080, key_check="/props"),
        _local("vllm", 8000),
        EndpointPreset(key="custom", base_url=""),
    )
}
DEFAULT_API_VERSION = "2024-10-21"
"""The newest version of Azure OpenAI that is not a preview and has tool calls and streamed usage."""


def preset_for(key: str) -> EndpointPreset:
    """Return a preset; for an unknown key (of a newer version), that of a custom endpoint."""
    return PRESETS.get(key, PRESETS["custom"])


def normalize_base_url(url: str, preset: str = "custom") -> str:
    """Return the address before `/chat/completions`, also of a host alone (`/v1`), or any address of Azure's."""
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
"""A model that is named by its file (llama.cpp)."""
_EXTENSION = re.compile(r"(?:-\d{5}-of-\d{5})?\.(?:gguf|ggml|bin|safetensors)$", re.IGNORECASE)


def model_name(model: str) -> str:
    """Return a model's name for people: `foo Q4` for `/models/foo-Q4.gguf`. Requests use the server's name."""
    if not _FILE.search(model):
        return model.removeprefix("models/")  # Gemini
    file = _EXTENSION.sub("", re.split(r"[\\/]", model.rstrip("\\/"))[-1])
    return file.replace("-", " ").strip() or model


_REASONING = re.compile(r"(^|/)(o[1-9](-|$)|gpt-5(?!.*chat))", re.IGNORECASE)
"""OpenAI's reasoning models: `max_completion_tokens`, and only the default temperature."""
_BEGINS_INSIDE = re.compile(r"deepseek-r1|qwq|[-:_]thinking|-reasoner?\b", re.IGNORECASE)
"""Models whose chat template often ends with `<think>`: their answer begins inside the thinking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What is known in advance of an endpoint with a model; `Dialect` (client/chat_completions.py) learns the rest."""

    max_tokens: str = "max_tokens"  # name of the parameter that limits the answer
    sampling: bool = True  # accepts `temperature` and `top_p`
    keep_alive: bool = False
    tool_choice_none: bool = False  # obeys `tool_choice: none`
    stream_options: bool = True
    response_format: bool = True
    """Obeys a JSON schema in `response_format`; otherwise the prompt describes it."""
    thinking_back: bool = False  # needs the thinking of an answer with tool calls sent back
    signed_calls: bool = False
    """Signs its tool calls (`extra_content`) and refuses them without the signature."""
    strict_order: bool = False
    """Refuses a user message after a tool result, and ids of calls that are not its own."""
    cache_key: str | None = None
    """Name of the parameter that groups requests with a common beginning for the cache."""
    begins_inside_thinking: bool = False


_NO_TOOL_CHOICE_NONE = {"ollama", "localai", "custom"}
_CACHE_KEYS = {"openai": "prompt_cache_key", "mistral": "prompt_cache_key", "azure": "user", "openrouter": "user"}


def traits_for(preset: str, model: str) -> Traits:
    """Return what is known about a preset's endpoint with this model."""
    reasoning = preset in {"openai", "azure", "openrouter", "custom"} and _REASONING.search(model) is not None
    return Traits(
        max_tokens="max_completion_tokens" if reasoning else "max_tokens",
        sampling=not reasoning,
        keep_alive=preset in {"ollama", "custom"},
        tool_choice_none=preset in PRESETS.keys() - _NO_TOOL_CHOICE_NONE,
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
    (r"gpt-4\.1|gemini", 1_000_000),
    (r"gpt-5", 272_000),
    (r"gpt-4o|gpt-4-turbo|chatgpt-4o|grok|command-(a|r)|sonar", 128_000),
    (r"gpt-4-32k", 32_768),
    (r"gpt-4(-\d{4})?$", 8192),
    (r"gpt-3\.5", 16_385),
    (r"(^|/)o1-mini", 128_000),
    (r"(^|/)o[1-9]|claude", 200_000),
    (r"deepseek-(chat|reasoner)", 64_000),
    (r"(mistral|ministral|codestral|devstral|magistral)-(large|medium|small|latest|\d)", 32_000),
)
"""Context windows of hosted models, by name. Where versions differ, the smallest: one too large fails a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointConfig:
    """An OpenAI-compatible endpoint with one model, as its subentry stores it."""

    subentry_id: str
    title: str
    base_url: str
    api_key: str = field(default="", repr=False)
    model: str
    preset: str = "custom"
    api_version: str | None = None  # Azure OpenAI only
    verify_ssl: bool = True
    temperature: float | None = None  # None: not sent
    top_p: float | None = None
    max_tokens: int | None = None  # tokens of one answer; None: not sent
    keep_alive: str | None = None
    """How long Ollama keeps the model loaded (`5m`, `-1`); None: not sent."""
    tool_calling: bool = True
    context_window: int | None = None
    """Tokens of prompt and answer together; None: the server is asked."""
    idle_timeout: float = 120.0  # seconds of silence after which a stream is aborted
    remote: bool = False  # whether requests leave the home
    keep_ready: bool = True  # whether a model in the home reads the prompt in advance

    @property
    def keeps_ready(self) -> bool:
        """Whether the prompt is sent in advance; never outside the home, where it may cost money."""
        return self.keep_ready and not self.remote

    def assumed_window(self, told: int | None) -> int:
        """Return the context window in tokens: as set, else as the server `told`, else by name, else that of the preset."""
        if window := self.context_window or told:
            return window
        if self.preset in _HOSTED:
            for name, window in _KNOWN_WINDOWS:
                if re.search(name, self.model, re.IGNORECASE):
                    return window
        return preset_for(self.preset).context_window


def endpoint_from_data(subentry_id: str, title: str, data: Mapping[str, Any]) -> EndpointConfig:
    """Return the endpoint of a subentry; its keys are the fields of `EndpointConfig`."""
    given = {item.name: value for item in fields(EndpointConfig) if (value := data.get(item.name)) is not None}
    for key in ("max_tokens", "context_window"):  # number selectors return floats
        given[key] = int(given.get(key) or 0) or None
    return EndpointConfig(**given | {"subentry_id": subentry_id, "title": title})
