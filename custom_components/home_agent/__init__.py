"""Home Agent: talk to the house, and let the house answer."""

from functools import partial
import logging

from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers.typing import ConfigType

from . import issues as issue_registry
from .client.chat_completions import ChatCompletionsClient
from .client.endpoint_config import endpoint_from_data
from .confirming import channels
from .const import (
    CONF_DEBUG_LOGGING,
    CONF_PROFILE_DEFAULTS,
    CONF_THROTTLE_TURNS,
    LOGGER,
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
from .conversations.file import store_of as conversation_file_of
from .conversations.store import Conversations
from .custom import configuration
from .custom.provider import CustomTools
from .endpoint import Endpoint
from .foreign.provider import ForeignTools
from .home import Home
from .journal.habits import Habits
from .journal.store import ActionJournal, store_of
from .journal.undo import UndoTools
from .knowledge.library import Knowledge, storage_of as knowledge_storage_of
from .learned import Learned, store_of as learned_file_of
from .mcp_client.provider import McpTools
from .offered import async_offer
from .pipelines import async_watch_pipelines
from .profiles.profile import Profile, profile_from_data
from .retrieval import embedded_store, embedding_cache
from .retrieval.factory import make_embedder, make_store
from .retrieval.index import HomeIndex
from .retrieval.language import Languages
from .retrieval.settings import RetrievalSettings
from .retrieval.vectors import Vectors
from .runtime import HomeAgentConfigEntry, RuntimeData
from .safety.policy import policy_from_options
from .safety.throttle import THROTTLE_TURNS, Throttle
from .services import async_register_services
from .tools.external_llm import ExternalModels
from .tools.registry import NativeTools, Tools

PLATFORMS = (Platform.AI_TASK, Platform.CONVERSATION, Platform.SENSOR)
CONFIG_SCHEMA = configuration.CONFIG_SCHEMA


async def async_setup(hass: HomeAssistant, config: ConfigType) -> bool:
    """Register the actions, which exist whether an entry is loaded or not, and keep what stands in YAML."""
    configuration.keep(hass, config)
    async_register_services(hass)
    return True


async def async_setup_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Build what the entry owns. Asks no endpoint: the computer of a local model is often asleep."""
    entry.async_on_unload(entry.add_update_listener(_async_reload))  # first: settings may change while this runs
    LOGGER.setLevel(logging.DEBUG if entry.options.get(CONF_DEBUG_LOGGING) else logging.NOTSET)
    home, custom_tools = Home(hass, entry), CustomTools(hass, entry)
    mcp_tools = McpTools(hass, entry, lambda: custom_tools.names)
    journal = ActionJournal(hass, entry.entry_id)
    await journal.async_load()
    entry.async_on_unload(journal.async_close)
    policy = policy_from_options(hass, entry.options, journal)
    throttle = Throttle(
        hass, issue_registry.async_automation_loop, int(entry.options.get(CONF_THROTTLE_TURNS, THROTTLE_TURNS))
    )
    learned = Learned(hass, entry.entry_id)
    await learned.async_load()
    entry.async_on_unload(learned.async_close)
    endpoints, profiles = _endpoints(hass, entry, learned), _profiles(entry)
    own_tools = (NativeTools(home), UndoTools(journal), custom_tools)
    conversations = Conversations(hass, entry.entry_id, profiles, partial(issue_registry.async_file_unusable, hass))
    settings = RetrievalSettings.from_options(entry.options)
    vectors = _vectors(hass, settings)
    entry.async_on_unload(vectors.async_close)
    happenings = Happenings(hass)
    languages = Languages(hass)
    finder = HomeIndex(hass, entry, home, vectors, settings, languages)
    knowledge = Knowledge(hass, entry, vectors, settings, languages)
    entry.runtime_data = RuntimeData(
        endpoints=endpoints,
        profiles=profiles,
        home=home,
        sessions=hass.data.setdefault(SESSIONS, Sessions()),
        conversations=conversations,
        policy=policy,
        custom_tools=custom_tools,
        mcp_tools=mcp_tools,
        journal=journal,
        vectors=vectors,
        finder=finder,
        knowledge=knowledge,
        tools=Tools(
            *own_tools,
            mcp_tools,
            ExternalModels(endpoints),
            ForeignTools(hass, issue_registry.async_llm_apis_missing),
            offers=policy.rules.offers,
        ),
        throttle=throttle,
        sources=Sources(
            lookup=Lookup(finder=finder, habits=Habits(journal)),
            providers=Providers(happenings, KnowledgeProvider(knowledge)),
        ),
        instructing=Instructing(hass, happenings),
    )
    entry.runtime_data.home.async_start()
    entry.runtime_data.finder.async_start()
    entry.runtime_data.knowledge.async_start()
    entry.runtime_data.sessions.async_renew_instructions()
    channels.async_start(hass, entry)
    issue_registry.async_check_profiles(hass, entry.runtime_data.profiles.values(), entry.runtime_data.endpoints)
    entry.async_on_unload(partial(issue_registry.async_clear, hass))
    entry.async_on_unload(await conversations.async_load())
    entry.async_on_unload(conversations.async_close)
    entry.async_on_unload(throttle.stop)
    await custom_tools.async_load()
    entry.async_on_unload(custom_tools.async_close)
    async_offer(hass, entry, profiles.values(), Tools(*own_tools, offers=policy.rules.offers), policy)
    mcp_tools.async_start()
    entry.async_on_unload(mcp_tools.async_close)
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    async_watch_pipelines(hass, entry, entry.runtime_data.profiles)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Take the entities down; everything else hangs on the entry and ends with it."""
    return await hass.config_entries.async_unload_platforms(entry, PLATFORMS)


async def async_remove_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Delete the journal, what was said, the documents that were added, and the index; the owner's folder stays."""
    await store_of(hass, entry.entry_id).async_remove()
    await conversation_file_of(hass, entry.entry_id).async_remove()
    await learned_file_of(hass, entry.entry_id).async_remove()
    await knowledge_storage_of(hass).async_remove()
    for delete_file in (embedded_store.delete_file, embedding_cache.delete_file):
        await hass.async_add_executor_job(delete_file, hass)


async def _async_reload(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    hass.config_entries.async_schedule_reload(entry.entry_id)


def _endpoints(hass: HomeAssistant, entry: HomeAgentConfigEntry, learned: Learned) -> dict[str, Endpoint]:
    endpoints: dict[str, Endpoint] = {}
    for subentry in entry.get_subentries_of_type(SUBENTRY_LLM):
        config = endpoint_from_data(subentry.subentry_id, subentry.title, subentry.data)
        endpoint = endpoints[subentry.subentry_id] = Endpoint(hass, entry, ChatCompletionsClient(hass, config), learned)
        endpoint.async_start()
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
