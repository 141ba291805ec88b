"""What the loaded entry owns: put together, then started.

`async_assemble` builds the parts and reads what they keep on disk; `async_start` sets them going. Whatever either of them
begins hangs on the entry and ends with it.
"""

from collections.abc import Sequence
from functools import partial

from homeassistant.core import CoreState, HomeAssistant, callback
from homeassistant.helpers.start import async_at_started

from ..client.chat_completions import ChatCompletionsClient
from ..client.endpoint import Endpoint, ModelStatistics
from ..home.domains import DOMAINS, UNKNOWN
from ..home.exposure import async_narrow
from ..home.snapshot import Home, HomeSnapshot
from ..home.taught_names import taught_names_of
from ..home.volatility import Volatility
from ..languages.data import EVENT_LANGUAGES, async_load
from ..languages.vocabulary import Languages
from ..local.sentences import Means
from ..memory.extraction import Extractor
from ..memory.memories import memories_of
from ..policy import channels
from ..policy.journal import Habits, journal_of
from ..policy.policy import THROTTLE_TURNS, Throttle, policy_from_options, rules_from_options
from ..policy.teaching import NameTools
from ..policy.tool import HomeAgentTool
from ..policy.undo import UndoTools
from ..prompt.providers import CalendarContext, KnowledgeProvider, MemoryProvider, Providers
from ..prompt.request import Sources
from ..prompt.states import Lookup
from ..prompt.system_prompt import SystemPrompts
from ..search.index import HomeIndex
from ..search.knowledge import Knowledge
from ..search.user_documents import UserDocuments
from ..search.vectors import Vectors
from ..settings.endpoint import endpoint_from_data
from ..settings.memory import MemorySettings
from ..settings.profile import Profile, profile_from_data
from ..settings.search import RetrievalSettings
from ..support import issues
from ..support.const import (
    CONF_ALLOWED_ENTITIES,
    CONF_DELEGATION_AGENTS,
    CONF_DELEGATION_DEPTH,
    CONF_PROFILE_DEFAULTS,
    CONF_THROTTLE_TURNS,
    LLM_DEFAULT,
    LLM_NONE,
    SUBENTRY_LLM,
    SUBENTRY_PROFILE,
)
from ..tools.custom.provider import CustomTools
from ..tools.delegation import DEPTH, Delegation
from ..tools.documentation import Documentation
from ..tools.external import ExternalModels
from ..tools.ha_apis import ApiTools
from ..tools.mcp.provider import McpTools
from ..tools.memory import MemoryTools
from ..tools.registry import NativeTools, Tools, llm_context_of
from ..transcript.conversations import conversations_of
from ..transcript.transcript import TRANSCRIPTS, Transcripts
from ..turn.turn import Turn, async_zone
from .commands import Commands
from .offered import async_offer
from .runtime import HomeAgentConfigEntry, RuntimeData


async def async_assemble(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> RuntimeData:
    """Return everything that turns need, with what it keeps on disk read. Asks no endpoint and no server."""
    issues.async_clear(hass)
    await async_load(hass, hass.config.language, *EVENT_LANGUAGES)
    entry.async_on_unload(async_narrow(hass, entry.options.get(CONF_ALLOWED_ENTITIES, ())))
    report = partial(issues.async_file_trouble, hass)
    journal = journal_of(hass, entry.entry_id, report)
    learned = ModelStatistics(hass, entry.entry_id, report)
    for kept in (journal, learned):
        await kept.async_load()
        entry.async_on_unload(kept.async_close)
    taught_names = taught_names_of(hass)
    await taught_names.async_load(report)
    entry.async_on_unload(taught_names.async_close)
    home, profiles, endpoints = Home(hass, entry), _profiles(entry), _endpoints(hass, entry, learned)
    custom_tools = CustomTools(hass, entry)
    mcp_tools = McpTools(hass, entry, lambda: custom_tools.names)
    rules = rules_from_options(entry.options)
    documents = UserDocuments(hass)
    await documents.async_load(profiles.values())
    agents, depth = entry.options.get(CONF_DELEGATION_AGENTS, ()), entry.options.get(CONF_DELEGATION_DEPTH, DEPTH)
    delegation = Delegation(hass, profiles, agents, int(depth))
    others_tools = (delegation, ExternalModels(endpoints), ApiTools(hass), mcp_tools)  # what is here keeps its names
    settings, languages = RetrievalSettings.from_options(entry.options), Languages(hass)
    own_tools = (NativeTools(home), UndoTools(journal), Documentation(documents), custom_tools)
    memories, remembers = memories_of(hass), MemorySettings.from_options(entry.options)
    name_tools = NameTools(home, languages, remembers)
    vectors = Vectors.from_settings(hass, settings, issues.RetrievalIssues(hass))
    finder = HomeIndex(hass, entry, home, vectors, settings, languages)
    knowledge = Knowledge(hass, entry, vectors, settings, languages, report, remembers.collection)
    await memories.async_open(entry, remembers, settings, vectors, languages, report)
    entry.async_on_unload(memories.async_close)
    calendar = CalendarContext(hass)
    tools = Tools(*own_tools, name_tools, MemoryTools(memories), *others_tools, offers=rules.offers)

    async def offered(turn: Turn) -> Sequence[HomeAgentTool]:
        return await tools.async_tools(turn.profile, llm_context_of(turn))

    policy = policy_from_options(hass, entry.options, journal, rules, offered)
    transcripts = hass.data.setdefault(TRANSCRIPTS, Transcripts())
    extractor = None
    if remembers.enabled and remembers.extraction:
        extractor = Extractor(
            hass=hass,
            entry=entry,
            memories=memories,
            settings=remembers,
            endpoints=endpoints,
            transcripts=transcripts,
            home=home,
        )
    return RuntimeData(
        endpoints=endpoints,
        profiles=profiles,
        home=home,
        policy=policy,
        commands=Commands(profiles.values()),
        means=Means(policy=policy, home=home, languages=languages, journal=journal, names=name_tools),
        tools=tools,
        own_tools=Tools(*own_tools, offers=rules.offers),
        throttle=_throttle(hass, entry),
        custom_tools=custom_tools,
        mcp_tools=mcp_tools,
        journal=journal,
        vectors=vectors,
        finder=finder,
        knowledge=knowledge,
        documents=documents,
        memories=memories,
        extractor=extractor,
        transcripts=transcripts,
        conversations=conversations_of(hass, entry.entry_id),
        sources=Sources(
            home=home,
            volatility=Volatility(hass),
            system_prompts=SystemPrompts(hass, calendar),
            lookup=Lookup(find=finder.async_find, habits=Habits(journal)),
            providers=Providers(calendar, KnowledgeProvider(knowledge)),
            documents=documents,
        ),
    )


async def async_start(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Set going what `entry.runtime_data` holds; it stops when the entry is unloaded."""
    runtime = entry.runtime_data
    for profile in runtime.profiles.values():
        await async_zone(hass, profile.timezone)  # a tool that is lent needs it without a turn before
    for stop in (runtime.vectors.async_close, runtime.throttle.stop, partial(issues.async_clear, hass)):
        entry.async_on_unload(stop)
    runtime.home.async_start()
    _watch_exposure(hass, entry)
    taught_names_of(hass).async_start(entry)
    runtime.finder.async_start()
    runtime.knowledge.async_start()
    _offer_memories(entry)
    await runtime.memories.async_start()
    if runtime.extractor is not None:
        runtime.extractor.async_start()
    runtime.transcripts.async_renew_instructions()
    channels.async_start(hass, entry, runtime.policy)
    for profile in runtime.profiles.values():
        lost = profile.llm not in (LLM_DEFAULT, LLM_NONE, *runtime.endpoints)  # it answers without a model
        issues.async_set(hass, issues.WITHOUT_ENDPOINT, profile.subentry_id, lost, profile=profile.name)
    report = partial(issues.async_file_trouble, hass)
    entry.async_on_unload(await runtime.conversations.async_open(runtime.profiles, report))
    entry.async_on_unload(runtime.conversations.async_close)
    await runtime.custom_tools.async_load()
    entry.async_on_unload(runtime.custom_tools.async_close)
    async_offer(hass, entry, runtime.profiles.values(), runtime.own_tools, runtime.policy)
    runtime.mcp_tools.async_start()
    entry.async_on_unload(runtime.mcp_tools.async_close)


@callback
def _offer_memories(entry: HomeAgentConfigEntry) -> None:
    """Let turns be told of memories while there are any."""
    memories, providers = entry.runtime_data.memories, entry.runtime_data.sources.providers
    provider = MemoryProvider(memories)

    @callback
    def offer() -> None:
        providers.offer(provider, not memories.is_empty)

    offer()
    entry.async_on_unload(memories.async_listen(offer))


@callback
def _watch_exposure(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Keep the Repairs issue about a home of which nothing is exposed, although there is something to control.

    While Home Assistant starts, entities are still missing.
    """
    home = entry.runtime_data.home

    @callback
    def look(snapshot: HomeSnapshot) -> None:
        nothing = hass.state is CoreState.running and not snapshot.entities
        domains = {entity_id.partition(".")[0] for entity_id in hass.states.async_entity_ids()} if nothing else ()
        controllable = any(DOMAINS.get(domain, UNKNOWN).actions for domain in domains)
        issues.async_set(hass, issues.NOTHING_EXPOSED, entry.entry_id, controllable)

    @callback
    def look_again(hass: HomeAssistant) -> None:
        entry.async_create_background_task(hass, look_now(), "home_agent look at the home")

    async def look_now() -> None:
        look(await home.async_get())

    entry.async_on_unload(home.async_listen(look))
    if hass.state is not CoreState.running:
        entry.async_on_unload(async_at_started(hass, look_again))


def _endpoints(hass: HomeAssistant, entry: HomeAgentConfigEntry, learned: ModelStatistics) -> dict[str, Endpoint]:
    endpoints: dict[str, Endpoint] = {}
    for subentry in entry.get_subentries_of_type(SUBENTRY_LLM):
        config = endpoint_from_data(subentry.subentry_id, subentry.title, subentry.data)
        endpoints[subentry.subentry_id] = Endpoint(hass, entry, ChatCompletionsClient(hass, config), learned)
    return endpoints


def _profiles(entry: HomeAgentConfigEntry) -> dict[str, Profile]:
    defaults = entry.options.get(CONF_PROFILE_DEFAULTS, {})
    return {
        subentry.subentry_id: profile_from_data(subentry.subentry_id, subentry.title, defaults, subentry.data)
        for subentry in entry.get_subentries_of_type(SUBENTRY_PROFILE)
    }


def _throttle(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> Throttle:
    turns = int(entry.options.get(CONF_THROTTLE_TURNS, THROTTLE_TURNS))
    return Throttle(hass, _async_loops, turns)


@callback
def _async_loops(hass: HomeAssistant, profile: Profile, loops: bool) -> None:
    """Say that automations ask an agent all the time, or take that back."""
    issues.async_set(hass, issues.AUTOMATION_LOOP, profile.subentry_id, loops, profile=profile.name)
