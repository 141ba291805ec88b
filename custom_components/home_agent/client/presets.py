"""The kinds of endpoint that the set-up offers."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit

from yarl import URL

CHAT_PATH = "/chat/completions"

_HOME_DOMAINS = (".local", ".lan", ".home", ".home.arpa", ".internal", ".localdomain", ".fritz.box")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """What the set-up fills in for a kind of endpoint."""

    key: str
    base_url: str
    """Suggested address; empty: there is none to suggest."""
    needs_key: bool = False
    remote: bool = False
    """Whether what is sent leaves the house, unless the owner says otherwise."""
    context_window: int = 16384
    """Suggested tokens of prompt and answer together."""
    key_check: str | None = None
    """Path that refuses a wrong key, where the list of models is public."""


PRESETS = {
    preset.key: preset
    for preset in (
        Preset(key="openai", base_url="https://api.openai.com/v1", needs_key=True, remote=True, context_window=128_000),
        Preset(key="ollama", base_url="http://localhost:11434/v1"),
        Preset(key="lm_studio", base_url="http://localhost:1234/v1"),
        Preset(key="localai", base_url="http://localhost:8080/v1"),
        Preset(key="llama_cpp", base_url="http://localhost:8080/v1"),
        Preset(key="vllm", base_url="http://localhost:8000/v1"),
        Preset(
            key="openrouter",
            base_url="https://openrouter.ai/api/v1",
            needs_key=True,
            remote=True,
            context_window=128_000,
            key_check="/key",
        ),
        Preset(key="azure", base_url="", needs_key=True, remote=True, context_window=128_000),
        Preset(key="custom", base_url=""),
    )
}
DEFAULT_PRESET = PRESETS["custom"]
DEFAULT_API_VERSION = "2024-10-21"
"""The newest version of Azure OpenAI that is not a preview and has tool calls and streamed usage."""


def preset_for(key: str) -> Preset:
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
    """Return whether an address looks like one outside the house."""
    host = URL(url).host or ""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_HOME_DOMAINS)
