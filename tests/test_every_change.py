"""No setting needs the entry to be loaded anew: each is changed while it is loaded, and all that is there stays."""

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

from homeassistant.config_entries import ConfigEntryState
from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.home_agent.settings.endpoint import EndpointConfig
from custom_components.home_agent.settings.memory import MemorySettings
from custom_components.home_agent.settings.profile import SETTINGS, Profile, Setting
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support import const
from custom_components.home_agent.support.const import DOMAIN
from tests.house import say, speech
from tests.llm_server import LLMServer, text
from tests.test_changes import GUEST, UNLOCK, Change, changed, home, is_away, set_to

pytestmark = pytest.mark.usefixtures("demo_house")

SEARCH = {
    "store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": 9, "embedding": "endpoint", "embedding_preset": "custom",
    "embedding_url": "http://127.0.0.1:9/v1", "additional_collections": ["recipes"],
}  # fmt: skip
HERE = {
    "chroma_host": "127.0.0.2",
    "embedding_url": "http://127.0.0.2:9/v1",
    "store": "embedded",
    "embedding": "lexical",
}
MEMORY = {"extraction_llm": "llm-2", "scope": "user", "collection": "other_memories"}
MODEL = {
    "base_url": "http://127.0.0.1:9/v1", "preset": "ollama", "api_version": "2024-10-21", "temperature": 0.4, "top_p": 0.4,
    "max_tokens": 90, "model": "other", "keep_alive": "9m", "context_window": 9000,
}  # fmt: skip
AGENT: Mapping[str, Any] = {
    "llm": "llm-2", "local_first": True, "prompts": {"rules": "Other."}, "context_entities": [{"entity_id": "lock.front_door"}], "icon": "mdi:owl",
    "timezone": "Asia/Tokyo", "language": "de", "slash_commands": ["/chef"], "mcp_servers": ["mcp-1"],
}  # fmt: skip
OPTIONS: Mapping[str, Any] = {
    const.CONF_DEFAULT_PROFILE_SETTINGS: {"processing_config": {"history_max_messages": 9}},
    const.CONF_ALLOWED_ENTITIES: ["light", "lock"],
    const.CONF_ALWAYS_CONFIRM: ["switch"],
    const.CONF_NEVER_CONFIRM: ["switch"],
    const.CONF_NEVER_OFFER: ["weather"],
    const.CONF_THROTTLE_TURNS: 20,
    const.CONF_CONFIRM_TIMEOUT: 500,
    const.CONF_DEFAULT_PROFILE: "cook",
    const.CONF_AGENT_RULES: [{"agent": "cook", "after": "00:00"}],
    const.CONF_CHOOSE_IN_CONVERSATIONS: True,
    const.CONF_DELEGATION_AGENTS: ["conversation.other"],
    const.CONF_DELEGATION_DEPTH: 1,
    const.CONF_EXTENSIONS_OFF: ["light"],
    const.CONF_PINS: {"disarm": "2468"},
    const.CONF_VERIFY_SECONDS: 1.5,
    const.CONF_ALLOWED_HOSTS: ["example.com"],
    const.CONF_ALLOW_PRIVATE_HOSTS: True,
    const.CONF_EMIT_EVENTS: False,
    const.CONF_DEBUG_LOGGING: True,
    const.CONF_AUDIT_LOG: True,
}


def other(value: Any) -> Any:
    """Return another value of the same kind."""
    match value:
        case bool():
            return not value
        case float():
            return value / 2 + 0.1
        case int():
            return value + 1
        case str():
            return f"{value}2"
    return ["other"]


def one_of(item: Field[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return another value of a field."""
    return {item.name: given[item.name] if item.name in given else other(item.default)}


def parts(key: str, settings: type[Any], given: Mapping[str, Any], **always: Any) -> dict[str, Change]:
    """Return a change of each field of the settings below a key."""
    return {item.name: set_to(**{key: {**always, **one_of(item, given)}}) for item in fields(settings)}


def of_agent(key: str, setting: Setting) -> Any:
    """Return another value of a setting of an agent."""
    usual = getattr(Profile(), key)
    choices = [choice for choice in setting.options if choice != usual]
    return AGENT.get(key, choices[0] if choices else other(usual))


GROUPS: dict[str, dict[str, Change]] = {
    "search": parts("retrieval", RetrievalSettings, SEARCH, chroma_host="127.0.0.1"),
    "memory": parts("memory", MemorySettings, MEMORY),
    "search with a server and a model": {
        key: change
        for key, change in parts("retrieval", RetrievalSettings, HERE, **SEARCH).items()
        if key != "chroma_host"  # tests reach one host
    },
    "the home": {key: set_to(**{key: value}) for key, value in OPTIONS.items()},
    "an agent": {key: changed("profile-3", **{key: of_agent(key, setting)}) for key, setting in SETTINGS.items()},
    "a model": {
        item.name: changed("llm-2", **one_of(item, MODEL))
        for item in fields(EndpointConfig)
        if item.name not in ("subentry_id", "title", "remote")  # the last follows from the address
    },
    "a tool": {
        "description": changed("tool-1", description="Rain or shine."),
        "handler": changed("tool-1", handler={"type": "template", "template": "Sun"}),
        "name": changed("tool-1", name="sky"),
    },
    "a server": {
        "url": changed("mcp-1", url="http://127.0.0.1:9/other"),
        "token": changed("mcp-1", token="t"),
        "allowed_tools": changed("mcp-1", allowed_tools=["read"]),
    },
}


def test_no_option_is_forgotten() -> None:
    named = {value for name, value in vars(const).items() if name.startswith("CONF_")}
    elsewhere = {"verify_ssl", "custom_tools"}  # of models and of agents
    assert set(OPTIONS) == named - elsewhere - {"retrieval", "memory"}


@pytest.mark.parametrize("group", GROUPS)
async def test_nothing_needs_a_reload(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    entry: MockConfigEntry = await home(hass, llm_server)
    runtime, options = entry.runtime_data, dict(entry.options)
    llm_server.plan(text("Hello."), UNLOCK)
    talk = await say(hass, "hello", "talk", context=admin)
    asked = await say(hass, "let me in", agent_id=GUEST, context=admin)
    events = async_capture_events(hass, EVENT_STATE_CHANGED)
    for name, change in GROUPS[group].items():
        before = runtime.configuration
        change(hass, entry)
        await hass.async_block_till_done()
        assert entry.runtime_data is runtime, name
        assert entry.state is ConfigEntryState.LOADED, name
        assert not ir.async_get(hass).async_get_issue(DOMAIN, f"changes_failed_{entry.entry_id}"), name
        assert runtime.configuration != before, name
        assert not [event for event in events if is_away(event)], name
    assert not [record for record in caplog.records if record.name.startswith(const.LOGGER.name) and record.exc_info]
    hass.config_entries.async_update_entry(entry, options=options)
    await hass.async_block_till_done()
    assert entry.runtime_data is runtime
    answer = await say(hass, "yes", asked.conversation_id, agent_id=GUEST, context=admin)
    assert speech(answer) == "Done. Front Door is unlocked."
    llm_server.plan(text("Again."))
    assert speech(await say(hass, "hello again", talk.conversation_id, context=admin)) == "Again."
    assert "Hello." in str(llm_server.request.body["messages"]), "the conversation goes on"
