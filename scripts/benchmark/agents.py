"""The agents that are compared, each set up as its own config flow would."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from homeassistant.config_entries import ConfigEntry

from .server import MODEL

OURS = "home_agent"
KEY = "sk-bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent: the integration's domain, and what its config entry holds."""

    domain: str
    data: Callable[[str], dict[str, Any]]
    """Data of the entry, for the URL of the model."""
    subentries: Callable[[str], list[dict[str, Any]]]
    version: int = 1
    minor_version: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    requires: str = "openai"
    """A module that has to be installed."""

    @property
    def installed(self) -> bool:
        """Whether this environment can run it."""
        return find_spec(self.requires) is not None

    def entry(self, url: str) -> ConfigEntry:
        """Return the config entry that talks to the model at this URL."""
        subentries: list[Any] = [{"unique_id": None, **subentry} for subentry in self.subentries(url)]
        return ConfigEntry(
            data=self.data(url),
            discovery_keys=MappingProxyType({}),
            domain=self.domain,
            minor_version=self.minor_version,
            options=self.options,
            source="user",
            subentries_data=subentries,
            title=self.domain,
            unique_id=None,
            version=self.version,
        )


def _conversation(data: Mapping[str, Any]) -> Callable[[str], list[dict[str, Any]]]:
    subentry = {"subentry_type": "conversation", "title": "Bench", "data": {"llm_hass_api": ["assist"], **data}}
    return lambda url: [subentry]


def _home_agent(url: str) -> list[dict[str, Any]]:
    known = {"base_url": f"{url}/v1", "api_key": KEY, "model": MODEL, "preset": "custom"}
    # as usual, but nobody asks for the window meanwhile, and a slow machine may take its time
    endpoint: dict[str, Any] = {"context_window": 16_384, "idle_timeout": 900, **known}
    return [
        {"subentry_type": "llm", "title": "Model", "data": endpoint},
        # what is measured is the turn with a model
        {"subentry_type": "profile", "title": "Bench", "data": {"local_first": False}},
    ]


AGENTS = {
    agent.domain: agent
    for agent in (
        # nobody speaks as fast as is measured here, and more than one a second from one person is refused
        Agent(domain=OURS, data=lambda url: {}, subentries=_home_agent, options={"throttle_turns": 1000}),
        Agent(
            domain="ollama",
            data=lambda url: {"url": url},
            subentries=_conversation({"model": MODEL, "max_history": 20}),
            version=3,
            minor_version=3,
            requires="ollama",
        ),
        Agent(
            domain="llama_cpp",
            data=lambda url: {"base_url": f"{url}/v1", "api_key": KEY, "streaming": True},
            subentries=_conversation({"chat_model": MODEL, "recommended": True}),
        ),
        Agent(
            domain="open_router",
            data=lambda url: {"api_key": KEY},
            subentries=_conversation({"model": MODEL}),
            minor_version=3,
            requires="python_open_router",
        ),
    )
}


def point_open_router_at(url: str) -> None:
    """Send OpenRouter's integration, whose address is fixed, to the model at this URL."""
    module: Any = import_module("homeassistant.components.open_router")
    remote = module.AsyncOpenAI

    def local(**arguments: Any) -> Any:
        return remote(**{**arguments, "base_url": f"{url}/v1"})

    module.AsyncOpenAI = local
