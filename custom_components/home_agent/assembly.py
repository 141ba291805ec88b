"""What the loaded entry owns: put together, then started.

`async_assemble` builds the parts and reads what they keep on disk; `async_start` sets them going. Whatever either of them
begins hangs on the entry and ends with it.
"""

from functools import partial

from homeassistant.core import HomeAssistant

from . import issues as issue_registry
from .client.chat_completions import ChatCompletionsClient
from .client.endpoint_config import endpoint_from_data
from .confirming import channels
from .const import (
    CONF_ALLOWED_ENTITIES,
    CONF_PROFILE_DEFAULTS,
    CONF_THROTTLE_TURNS,
    SUBENTRY_LLM,
    SUBENTRY_PROFILE,
)
from .context.briefing import Sources
from .context.happenings import Happenings
from .context.instructing import Instructing
from .context.knowledge import KnowledgeProvider
from .context.providers import Providers
from .context.retrieved import Lookup
from .context.session import SESSIONS, Sessions
from .conversations.store import conversations_of
from .custom.provider import CustomTools
from .endpoint import Endpoint
from .exposure import async_narrow
from .foreign.provider import ForeignTools
from .home import Home
from .journal.habits import Habits
from .journal.store import journal_of
from .journal.undo import UndoTools
from .knowledge.library import Knowledge
from .learned import Learned
from .mcp_client.provider import McpTools
from .offered import async_offer
from .profiles.profile import Profile, profile_from_data
from .retrieval.factory import make_embedder, make_store
from .retrieval.index import HomeIndex
from .retrieval.language import Languages
from .retrieval.settings import RetrievalSettings
from .retrieval.vectors import Vectors
from .runtime import HomeAgentConfigEntry, RuntimeData
from .safety.policy import policy_from_options
from .safety.throttle import THROTTLE_TURNS, Throttle
from .tools.external_llm import ExternalModels
from .tools.registry import NativeTools, Tools


async def async_assemble(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> RuntimeData:
    """Return everything that turns need, with what it keeps on disk read. Asks no endpoint and no server."""
    issue_registry.async_clear(hass)
    entry.async_on_unload(async_narrow(hass, entry.options.get(CONF_ALLOWED_ENTITIES, ())))
    report = partial(issue_registry.async_file_trouble, hass)
    journal = journal_of(hass, entry.entry_id, report)
    learned = Learned(hass, entry.entry_id, report)
    for kept in (journal, learned):
        await kept.async_load()
        entry.async_on_unload(kept.async_close)
    home, profiles, endpoints = Home(hass, entry), _profiles(entry), _endpoints(hass, entry, learned)
    custom_tools = CustomTools(hass, entry)
    mcp_tools = McpTools(hass, entry, lambda: custom_tools.names)
    policy = policy_from_options(hass, entry.options, journal)
    own_tools = (NativeTools(home), UndoTools(journal), custom_tools)
    others_tools = (mcp_tools, ExternalModels(endpoints), ForeignTools(hass, issue_registry.async_llm_apis_missing))
    settings, languages = RetrievalSettings.from_options(entry.options), Languages(hass)
    vectors = _vectors(hass, settings)
    finder = HomeIndex(hass, entry, home, vectors, settings, languages)
    knowledge = Knowledge(hass, entry, vectors, settings, languages, report)
    happenings = Happenings(hass)
    return RuntimeData(
        endpoints=endpoints,
        profiles=profiles,
        home=home,
        policy=policy,
        tools=Tools(*own_tools, *others_tools, offers=policy.rules.offers),
        own_tools=Tools(*own_tools, offers=policy.rules.offers),
        throttle=_throttle(hass, entry),
        custom_tools=custom_tools,
        mcp_tools=mcp_tools,
        journal=journal,
        vectors=vectors,
        finder=finder,
        knowledge=knowledge,
        sessions=hass.data.setdefault(SESSIONS, Sessions()),
        conversations=conversations_of(hass, entry.entry_id),
        sources=Sources(
            lookup=Lookup(finder=finder, habits=Habits(journal)),
            providers=Providers(happenings, KnowledgeProvider(knowledge)),
        ),
        instructing=Instructing(hass, happenings),
    )


async def async_start(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Set going what `entry.runtime_data` holds; it stops when the entry is unloaded."""
    runtime = entry.runtime_data
    for stop in (runtime.vectors.async_close, runtime.throttle.stop, partial(issue_registry.async_clear, hass)):
        entry.async_on_unload(stop)
    for endpoint in runtime.endpoints.values():
        endpoint.async_start()
    runtime.home.async_start()
    runtime.finder.async_start()
    runtime.knowledge.async_start()
    runtime.sessions.async_renew_instructions()
    channels.async_start(hass, entry)
    issue_registry.async_check_profiles(hass, runtime.profiles.values(), runtime.endpoints)
    report = partial(issue_registry.async_file_trouble, hass)
    entry.async_on_unload(await runtime.conversations.async_open(runtime.profiles, report))
    entry.async_on_unload(runtime.conversations.async_close)
    await runtime.custom_tools.async_load()
    entry.async_on_unload(runtime.custom_tools.async_close)
    async_offer(hass, entry, runtime.profiles.values(), runtime.own_tools, runtime.policy)
    runtime.mcp_tools.async_start()
    entry.async_on_unload(runtime.mcp_tools.async_close)


def _endpoints(hass: HomeAssistant, entry: HomeAgentConfigEntry, learned: Learned) -> dict[str, Endpoint]:
    endpoints: dict[str, Endpoint] = {}
    for subentry in entry.get_subentries_of_type(SUBENTRY_LLM):
        config = endpoint_from_data(subentry.subentry_id, subentry.title, subentry.data)
        endpoints[subentry.subentry_id] = Endpoint(hass, entry, ChatCompletionsClient(hass, config), learned)
    return endpoints


def _vectors(hass: HomeAssistant, settings: RetrievalSettings) -> Vectors:
    reporter = issue_registry.RetrievalIssues(hass)
    return Vectors(make_store(hass, settings, reporter), make_embedder(hass, settings, reporter))


def _profiles(entry: HomeAgentConfigEntry) -> dict[str, Profile]:
    defaults = entry.options.get(CONF_PROFILE_DEFAULTS, {})
    return {
        subentry.subentry_id: profile_from_data(subentry.subentry_id, subentry.title, defaults, subentry.data)
        for subentry in entry.get_subentries_of_type(SUBENTRY_PROFILE)
    }


def _throttle(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> Throttle:
    turns = int(entry.options.get(CONF_THROTTLE_TURNS, THROTTLE_TURNS))
    return Throttle(hass, issue_registry.async_automation_loop, turns)
