"""What the loaded entry owns: put together, then started.

`async_assemble` builds the parts and reads what they keep on disk; `async_start` sets them going, until the entry is unloaded.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from homeassistant.core import CoreState, HomeAssistant, callback
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.start import async_at_started

from ..automations.health import AutomationHealth
from ..automations.probation import Probation
from ..automations.records import AutomationRecords
from ..client.chat_completions import ChatCompletionsClient
from ..client.endpoint import Endpoint, ModelStatistics
from ..entity import CHANGED
from ..home.domains import DOMAINS, NAMED, UNKNOWN
from ..home.foreign import ForeignTexts
from ..home.snapshot import Home, HomeSnapshot
from ..home.taught_names import TaughtNames
from ..home.volatility import Volatility
from ..languages import personal_data
from ..languages.data import EVENT_LANGUAGES, async_load
from ..languages.vocabulary import Languages
from ..local.brain import Brain
from ..local.learned import LearnedPhrases, proposed_phrases
from ..local.readers import READERS
from ..local.routes import SEMANTIC, RouteRegistry
from ..local.sentences import Means
from ..memory.extraction import Extractor
from ..memory.memories import Memories
from ..policy import channels
from ..policy.automation_proposals import automation_proposals
from ..policy.journal import ActionJournal, Habits
from ..policy.policy import Policy, Throttle, policy_from_options
from ..policy.proposals import ProposalKind, Proposals
from ..policy.teaching import NameTools, proposed_names
from ..policy.tool import HomeAgentTool
from ..policy.undo import HaUndo
from ..prompt.providers import CalendarContext, KnowledgeProvider, MemoryProvider, Providers
from ..prompt.request import Sources
from ..prompt.states import Lookup
from ..prompt.system_prompt import SystemPrompts
from ..search.knowledge import AddedDocuments
from ..search.user_documents import UserDocuments
from ..settings.endpoint import EndpointConfig
from ..settings.profile import Profile
from ..support import issues
from ..support.const import LLM_DEFAULT, LLM_NONE
from ..support.kept import KeptThings, kept_things
from ..tools.automations.automation_tools import AutomationTools
from ..tools.custom.provider import CustomTools
from ..tools.delegation import Delegation
from ..tools.documentation import Documentation
from ..tools.extensions.extensions import Extensions, Originals
from ..tools.external import ExternalModels
from ..tools.for_later import WishTools
from ..tools.ha_apis import ApiTools
from ..tools.mcp.provider import McpTools
from ..tools.memory import MemoryTools
from ..tools.registry import NativeTools, Tools, llm_context_of
from ..transcript.conversations import Conversations
from ..transcript.transcript import TRANSCRIPTS, Transcripts
from ..turn.turn import Turn, async_zone
from ..wishes.waiting import Waiting
from ..wishes.wishes import Wishes, wishes_of
from . import due
from .commands import Commands
from .configuration import Configuration
from .library import Library
from .offered import async_offer
from .registry import Registry
from .router import agents_as_routes
from .runtime import HomeAgentConfigEntry, RuntimeData

KEPT = (
    ModelStatistics, ActionJournal, Conversations, TaughtNames, LearnedPhrases, ForeignTexts, Memories, AddedDocuments,
    Wishes, AutomationRecords,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What all other parts are built on."""

    hass: HomeAssistant
    entry: HomeAgentConfigEntry
    configuration: Configuration
    kept: KeptThings
    home: Home
    languages: Languages
    documents: UserDocuments
    profiles: dict[str, Profile]
    endpoints: dict[str, Endpoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offered:
    """What models can call."""

    tools: Tools
    own: Tools
    names: NameTools
    custom: CustomTools
    mcp: McpTools
    delegation: Delegation
    models: ExternalModels
    extensions: Extensions

    async def async_own(self, turn: Turn) -> Sequence[HomeAgentTool]:
        """Return what the profile's own model is offered."""
        return await self.tools.async_tools(turn.profile, llm_context_of(turn))

    async def async_all(self, turn: Turn) -> Sequence[HomeAgentTool]:
        """Return what can be called when a yes comes: by the profile, or by an agent of a domain."""
        return [*await self.async_own(turn), *await self.extensions.async_tools(turn.profile, llm_context_of(turn))]


async def async_assemble(hass: HomeAssistant, entry: HomeAgentConfigEntry, configuration: Configuration) -> RuntimeData:
    """Return everything that turns need, with the kept things read. Asks no endpoint and no server."""
    issues.async_clear(hass)
    ground = await _async_ground(hass, entry, configuration)
    kept, home, profiles = ground.kept, ground.home, ground.profiles
    journal, transcripts = kept.of(ActionJournal), hass.data.setdefault(TRANSCRIPTS, Transcripts())
    library = Library.of(hass, entry, kept, home, ground.languages, configuration)
    offered = _offered(ground)
    policy = policy_from_options(
        hass, entry.options, journal.async_add, configuration.rules, offered.async_all, journal.async_flush
    )
    registry = Registry(hass, profiles.values(), configuration.options)
    return RuntimeData(
        configuration=configuration,
        endpoints=ground.endpoints,
        profiles=profiles,
        registry=registry,
        home=home,
        policy=policy,
        proposals=Proposals(hass),
        commands=Commands(registry),
        means=_means(ground, library, offered, policy),
        tools=offered.tools,
        own_tools=offered.own,
        throttle=Throttle(hass, _async_loops, configuration.throttle),
        delegation=offered.delegation,
        external_models=offered.models,
        extensions=offered.extensions,
        custom_tools=offered.custom,
        mcp_tools=offered.mcp,
        journal=journal,
        library=library,
        finder=library.finder,
        knowledge=library.knowledge,
        memories=library.memories,
        extractor=Extractor(
            hass=hass,
            entry=entry,
            memories=library.memories,
            endpoints=ground.endpoints,
            transcripts=transcripts,
            home=home,
        ),
        transcripts=transcripts,
        conversations=kept.of(Conversations),
        sources=_sources(ground, library),
    )


async def _async_ground(hass: HomeAssistant, entry: HomeAgentConfigEntry, configuration: Configuration) -> _Ground:
    """Return what all else is built on, with the words of languages, the kept things and the documents of prompts read."""
    await async_load(hass, hass.config.language, *EVENT_LANGUAGES)
    await hass.async_add_executor_job(personal_data.patterns)
    kept, profiles, documents = kept_things(hass), dict(configuration.profiles), UserDocuments(hass)
    await kept.async_open(entry, await issues.async_file_report(hass))
    await kept.of(Conversations).async_take_up(profiles)
    await documents.async_load(profiles.values())
    statistics = kept.of(ModelStatistics)
    return _Ground(
        hass=hass,
        entry=entry,
        configuration=configuration,
        kept=kept,
        home=Home(hass, entry),
        languages=Languages(hass, NAMED),
        documents=documents,
        profiles=profiles,
        endpoints={
            key: endpoint_of_config(hass, entry, config, statistics) for key, config in configuration.models.items()
        },
    )


def _means(ground: _Ground, library: Library, offered: _Offered, policy: Policy) -> Means:
    """Return what the home answers with by itself."""
    hass, custom = ground.hass, offered.custom
    routes = RouteRegistry(hass, ground.entry, policy, library.vectors, offered.async_own, lambda: custom.has_examples)
    routes.async_offer(agents_as_routes)
    return Means(
        policy=policy,
        home=ground.home,
        languages=ground.languages,
        journal=ground.kept.of(ActionJournal),
        names=offered.names,
        brain=Brain(hass),
        routes=routes,
        phrases=library.phrases,
        readers=READERS,
    )


def _sources(ground: _Ground, library: Library) -> Sources:
    """Return what turns are told from."""
    hass = ground.hass
    calendar, habits = CalendarContext(hass), Habits(ground.kept.of(ActionJournal))
    return Sources(
        home=ground.home,
        volatility=Volatility(hass),
        system_prompts=SystemPrompts(hass, calendar),
        lookup=Lookup(find=library.finder.async_find, habits=habits),
        providers=Providers(calendar, KnowledgeProvider(library.knowledge), MemoryProvider(hass, library.memories)),
        documents=ground.documents,
    )


def endpoint_of_config(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, config: EndpointConfig, statistics: ModelStatistics
) -> Endpoint:
    """Return the endpoint of a configuration."""
    return Endpoint(hass, entry, ChatCompletionsClient(hass, config), statistics)


def _offered(ground: _Ground) -> _Offered:
    """Return the tools of this home, and the extensions, which give them other names."""
    hass, entry, kept, home, profiles = ground.hass, ground.entry, ground.kept, ground.home, ground.profiles
    configuration, rules = ground.configuration, ground.configuration.rules
    custom, apis, models = CustomTools(hass, entry), ApiTools(hass), ExternalModels(ground.endpoints)
    mcp = McpTools(hass, entry, lambda: {*custom.names, *extensions.tool_names})
    delegation = Delegation(hass, profiles, configuration.delegation_agents, configuration.delegation_depth)
    names, memories = NameTools(home, ground.languages, configuration.memory), kept.of(Memories)
    memory_tools = MemoryTools(memories)
    entry.async_on_unload(memories.async_listen(lambda _: memory_tools.look()))
    own = (NativeTools(home, HaUndo(kept.of(ActionJournal))), Documentation(ground.documents), custom)
    wishes = WishTools(home, lambda: entry.runtime_data.policy)
    here = (*own, names, memory_tools, wishes, AutomationTools(home), delegation, models)
    tools = Tools(*here, apis, mcp, offers=rules.offers)  # what is here keeps its names
    extensions = Extensions(
        hass,
        profiles=profiles,
        tools=tools,
        originals=Originals(
            hass=hass, home=home, tools=Tools(*here, offers=lambda _profile, _tool: True), apis=apis, mcp=mcp
        ),
        custom_tools=custom,
        home=home,
        offers=rules.offers,
        off=configuration.extensions_off,
    )
    own_tools = Tools(*own, offers=rules.offers)
    return _Offered(
        tools=tools,
        own=own_tools,
        names=names,
        custom=custom,
        mcp=mcp,
        delegation=delegation,
        models=models,
        extensions=extensions,
    )


async def async_start(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Set going what `entry.runtime_data` holds; it stops when the entry is unloaded."""
    runtime = entry.runtime_data
    for profile in runtime.profiles.values():
        await async_zone(hass, profile.timezone, profile.name)  # a tool that is lent needs it without a turn before
    for stop in (runtime.throttle.stop, partial(issues.async_clear, hass)):
        entry.async_on_unload(stop)
    runtime.home.async_start()
    _watch_exposure(hass, entry)
    kept_things(hass).of(TaughtNames).async_start(entry)
    entry.async_on_unload(runtime.journal.async_listen_undone(runtime.means.phrases.async_note_undone))
    await runtime.library.async_start()
    runtime.extractor.async_start()
    runtime.transcripts.async_renew_instructions()
    channels.async_start(hass, entry, runtime.policy)
    due.async_start(hass, entry)
    waiting = Waiting(hass, wishes_of(hass), partial(due.async_run_wish, hass, runtime), runtime.profiles)
    waiting.async_start(entry)
    Probation(hass, entry).async_start()
    AutomationHealth(hass, entry).async_start()
    entry.async_on_unload(async_dispatcher_connect(hass, CHANGED, waiting.async_look_at_agents))
    async_tell_what_is_missing(hass, entry)
    runtime.conversations.async_start(entry)
    await runtime.custom_tools.async_load()
    await runtime.extensions.async_load()
    runtime.extensions.async_start(entry)
    entry.async_on_unload(runtime.custom_tools.async_close)
    runtime.mcp_tools.async_start()
    entry.async_on_unload(runtime.home.async_listen(lambda _home: async_warm_routes(hass, entry)))
    entry.async_on_unload(runtime.mcp_tools.async_close)


@callback
def async_tell_what_is_missing(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Keep the Repairs issues about agents and models that settings name and that do not exist."""
    runtime = entry.runtime_data
    for profile in runtime.profiles.values():
        lost = profile.llm not in (LLM_DEFAULT, LLM_NONE, *runtime.endpoints)  # it answers without a model
        issues.async_set(hass, issues.WITHOUT_ENDPOINT, profile.subentry_id, lost, profile=profile.name)
    registry = runtime.registry
    lost = registry.wanted not in registry.by_id
    key, wanted = issues.DEFAULT_PROFILE_MISSING, registry.wanted
    issues.async_set(hass, key, entry.entry_id, lost, wanted=wanted, profile=registry.default.name)
    gone = ", ".join(registry.lost)
    issues.async_set(hass, issues.RULES_WITHOUT_AGENT, entry.entry_id, bool(gone), agents=gone)


@callback
def async_offer_outside(hass: HomeAssistant, runtime: RuntimeData, until: ExitStack) -> None:
    """Offer the agents' tools to other programs and ask administrators what is proposed, until the stack is closed."""
    names = proposed_names(hass, runtime.policy, runtime.means.names.tool, runtime.registry.default)
    kinds: list[ProposalKind[Any]] = [names, *(proposed_phrases(hass) if runtime.means.phrases.after else ())]
    kinds += automation_proposals(hass, runtime.policy, runtime.registry.default)
    for kind in kinds:
        until.callback(runtime.proposals.async_add(kind))
    for stop in async_offer(hass, runtime.profiles.values(), runtime.own_tools, runtime.policy):
        until.callback(stop)


@callback
def async_warm_routes(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Read the routes in the background and make their vectors, before the next message."""
    runtime = entry.runtime_data
    profiles = [
        profile for profile in runtime.profiles.values() if profile.routing in SEMANTIC or profile.llm == LLM_NONE
    ]

    async def warm() -> None:
        language, home = await runtime.means.languages.async_get(hass.config.language), await runtime.home.async_get()
        for profile in profiles:
            await runtime.means.routes.async_warm(profile, language, home)

    if profiles:
        entry.async_create_background_task(hass, warm(), "home_agent routes")


@callback
def _watch_exposure(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Keep the Repairs issue about a home with something to control of which nothing is exposed."""
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


@callback
def _async_loops(hass: HomeAssistant, profile: Profile, loops: bool) -> None:
    """Say that automations ask an agent all the time, or take that back."""
    issues.async_set(hass, issues.AUTOMATION_LOOP, profile.subentry_id, loops, profile=profile.name)
