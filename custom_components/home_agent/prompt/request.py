"""Gathers what a prompt is made of, has it laid out, remembers what was told, and makes the messages of each request.

What is read from the home, rendered or looked up is gathered here; what stands where is decided by `layout`.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
import math
from zoneinfo import ZoneInfo

from homeassistant.components.conversation import AssistantContent, ChatLog, Content, SystemContent
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
from homeassistant.util import dt as dt_util
from homeassistant.util.async_ import create_eager_task

from ..client.endpoint import Endpoint
from ..client.messages import Message, OfferedTools, ToolSpec, messages_from_content, offered_tools
from ..home.foreign import async_reader, note_read
from ..home.snapshot import Home
from ..home.volatility import Volatility
from ..languages.data import mentions_automation
from ..policy.tool import HomeAgentTool
from ..policy.write import HAPPENED
from ..search.model import Query
from ..search.user_documents import SystemDocuments, UserDocuments
from ..settings.profile import ContextMode, Profile
from ..support.bounds import in_slices
from ..support.const import LOGGER
from ..support.masking import Mask
from ..transcript.transcript import Fixed, Instructions, Round, Transcript, fit_results
from ..transcript.turn_part import Baseline, KnownState, TurnPart, render_note
from ..turn import events
from ..turn.turn import Owner, Turn, async_zone
from ..wishes.told import waiting
from .budget import FIXED_STEP, LEAST_TOKENS, SPARE_TOKENS, Budget
from .hiding import Messages, async_hide
from .home_map import HomeMap
from .layout import Inputs, Layout, first_rounds, instructions_tokens, layout, states_in_instructions
from .providers import ContextRequest, Providers
from .states import DATE, Lookup, View, Views, rows_of
from .system_prompt import ANSWER_NOW, NO_AUTOMATION, NOT_SO, NOTHING_DONE, SystemPrompts

EARLIER = "earlier"
READY_FOR = 60.0  # seconds; who begins to speak has said it by then
STATE_TOKENS = 12  # of an entity that is not told, about
SPOKEN_OF = 5  # entities that were found for a request and count as what the conversation is about

DEFAULT_ANSWER_TOKENS = 1024
MIN_PROMPT_TOKENS = 512
DOCUMENTS_SHARE = 3  # of the window, documents in the instructions get one share

# What each part is sure of, however much the others would take.
_STATES_SHARE = 0.25
_HISTORY_SHARE = 0.15
_BLOCKS_SHARE = 0.1

# What is looked up costs little, however large the window is: that is its purpose.
SMALL_MAP_TOKENS = 1000
TOKENS_PER_ENTITY = 26  # an entity that is told for the first time, with its name; later turns bring half as many
MAX_BLOCKS_TOKENS = 800


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What a model was told with a message before it was said."""

    part: TurnPart
    conversation_id: str | None
    rounds: int
    language: str
    baseline: Baseline | None
    taints: frozenset[str]
    at: float

    def is_for(self, turn: Turn, rounds: int, baseline: Baseline | None, now: float) -> bool:
        """Return whether a turn is the one that was rehearsed, a moment ago; `now` is loop time."""
        return (
            self.baseline is baseline
            and self.rounds == rounds
            and self.conversation_id in (None, turn.conversation_id)
            and self.language == turn.language
            and now - self.at < READY_FOR
        )


@dataclass(slots=True, kw_only=True)
class Sources:
    """What turns are told from; owned by the entry."""

    home: Home
    system_prompts: SystemPrompts
    lookup: Lookup
    volatility: Volatility
    documents: UserDocuments
    providers: Providers = field(default_factory=Providers)
    views: Views = field(default_factory=Views)
    asked: dict[str, Turn] = field(default_factory=dict)
    ready: dict[Owner, Ready] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What is told to a model that does a share of a turn: it splits it, answers a part, or puts the answer together."""

    instructions: str | None = None
    """Instead of the profile's; then nothing is told of the home, and no event tells of it. None: as the profile says."""
    additions: bool = False
    providers: Providers = field(default_factory=Providers)
    """Asked instead of all others where the instructions are given."""
    sums_up: bool = False
    reserved: int = 0  # tokens of what it is told behind the message


@dataclass(slots=True, kw_only=True)
class Gathering:
    """Gathers the inputs of one turn's prompt: what has to be read, rendered, looked up or asked."""

    hass: HomeAssistant
    turn: Turn
    transcript: Transcript
    endpoint: Endpoint
    sources: Sources
    tools: Sequence[HomeAgentTool] = ()
    mask: Mask | None = None  # hides personal data; None: nothing is hidden
    share: Share | None = None
    rehearsed: Round | None = None
    """Stands for the next message of the conversation, in which nothing is remembered of it."""

    inputs: Inputs = field(init=False)
    offered: OfferedTools = field(init=False)
    view: View = field(init=False)
    fixed: Fixed = field(init=False)
    window: int = field(init=False)
    map_limit: int | None = field(init=False)
    given: str | None = field(init=False)
    _lists_baseline: bool = field(default=False, init=False)
    _documents_room: float = field(default=math.inf, init=False)
    _looked_up: bool = field(default=False, init=False)

    async def async_gather(self) -> None:
        """Gather everything up to the rounds: how states are told, the instructions, and the home map."""
        turn, transcript, profile = self.turn, self.transcript, self.turn.profile
        self.fixed, self.map_limit = transcript.fixed, transcript.map_limit
        self.offered = offered_tools(self.tools)
        self.given = self.share.instructions if self.share is not None else None
        self.view = await self._async_view()
        expected, budget = self._shares()
        estimate = self.endpoint.client.estimator.estimate
        mode = ContextMode.OFF
        if self.given is None:
            mode = self.fixed.mode or await self.view.async_mode(turn, budget, estimate)
        turn.record.context_mode = mode.value
        events.async_announce(self.hass, turn)
        known = self.fixed.instructions
        begins = known is None and turn.context_entities is None
        self._lists_baseline = mode.lists and (begins or self.fixed.baseline is not None)
        self.inputs = Inputs(
            budget=budget,
            estimate=estimate,
            expected=expected,
            mode=mode,
            instructions=known,
            added=transcript.added.get(turn.owner, ""),
            mask=self.mask,
            home=self.view.snapshot,
            baseline=self.fixed.baseline if self._lists_baseline else None,
            begins=not (transcript.rounds[1:] if self.rehearsed is None else transcript.rounds),
            history_messages=profile.history_max_messages,
            is_order=turn.record.is_order,
            rows=rows_of(turn),
            context_format=profile.context_format,
            knows=self.view.knows,
            introduce=self.view.introduction,
            taints_of=(await async_reader(self.hass, turn.user)).taints_of,
        )
        if self.share is not None and self.given is not None and not self.share.additions:
            self.inputs = replace(self.inputs, instructions=Instructions(owner=turn.owner, text=self.given))
        elif known is None or (known.personal and known.owner != turn.owner):
            await self._async_write_instructions()
        zone = await _async_own_zone(self.hass, profile)
        await self._async_add_home()
        earlier = max(0, min(self.inputs.budget.history, self.inputs.room - self.inputs.budget.kept))
        names = {tool.name for tool in self.tools}
        transcript.history.restore(turn.owner, profile.history_max_messages, earlier, estimate, names, zone)
        rounds = transcript.sendable(history=profile.history_enabled)
        if self.rehearsed is not None:  # results that were not sent yet are cut for the turn that follows
            rounds = [*(replace(one, results=dict(one.results)) for one in rounds), self.rehearsed]
        self.inputs = replace(self.inputs, rounds=rounds)

    async def async_look_up(self) -> None:
        """Add what belongs to the message: what it is about, what the providers have for it, and what was rehearsed."""
        inputs, turn = self.inputs, self.turn
        ready = None
        if not turn.rehearsal and self.share is None:
            ready = self.sources.ready.pop(turn.owner, None)
            now, rounds = self.hass.loop.time(), len(self.transcript.rounds)
            if ready is not None and not ready.is_for(turn, rounds, inputs.baseline, now):
                ready = None
            if ready is not None:
                turn.record.taints |= ready.taints
        sent = first_rounds(inputs)
        query = self._query(sent[-2].question.content if sent[1:] else "")
        providers = (
            self.share.providers if self.share is not None and self.given is not None else self.sources.providers
        )
        asking = providers.async_blocks(ContextRequest(turn=turn, query=query, tokens=inputs.blocks_room))
        if turn.rehearsal:
            self._looked_up = True
        elif inputs.baseline is not None and not inputs.mode.looks_up:
            entities, allowed = self.view.snapshot.entities, query.allowed
            named = self.view.snapshot.named_in(query.text)
            found = [entities[one] for one in named if allowed is None or allowed(one)]
            self.inputs = replace(self.inputs, found=found)
        if not self.inputs.found and (inputs.mode.looks_up or inputs.baseline is not None):
            # entities are asked for first, and told first
            finding = create_eager_task(self._async_find(query))
            _, blocks = await asyncio.gather(finding, create_eager_task(asking))
        else:
            blocks = await asking
        await self.async_see_again()
        holds = ready is not None and self.inputs.baseline is inputs.baseline
        self.inputs = replace(self.inputs, blocks=blocks, head=ready.part if ready is not None and holds else None)

    async def async_see_again(self) -> None:
        """Take the home as it is by now: looking things up takes its time, and what was hidden meanwhile is not told."""
        view = await self._async_view()
        if view is self.view:
            return
        self.view, entities = view, view.snapshot.entities
        found = [entities[item.entity_id] for item in self.inputs.found if item.entity_id in entities]
        self.inputs = replace(
            self.inputs,
            home=view.snapshot,
            found=found,
            knows=view.knows,
            introduce=view.introduction,
        )
        await self._async_add_home()

    async def async_complete(self) -> None:
        """Add the states and facts of this moment."""
        hass, turn, transcript = self.hass, self.turn, self.transcript
        told_at, summary = transcript.states_told_at, transcript.history.summary
        self.inputs = await async_with_now(hass, turn, self.view, self.inputs, told_at, summary)

    async def async_shorten(self, told: int) -> None:
        """Gather anew with less: the model refused a request as too long, in which `told` tokens were turn parts."""
        inputs = self.inputs
        states_stand_there = inputs.instructions is not None and bool(inputs.instructions.states)
        told += inputs.estimate(inputs.instructions.states) if inputs.instructions is not None else 0
        told += inputs.baseline.tokens if inputs.baseline is not None else 0
        expected, most = self._shares()
        budget = replace(inputs.budget.tightened(inputs.home_map.tokens, told).within(most), prompt=most.prompt)
        self.map_limit, self._lists_baseline = budget.home_map, False
        self.inputs = replace(
            inputs, budget=budget, expected=expected, baseline=None, home_text="", rounds=(), head=None, blocks={}
        )
        if self.given is None and (states_stand_there or self._documents_room < math.inf):
            self._documents_room /= 2
            await self._async_write_instructions()
            if states_stand_there:
                budget = replace(budget, states=0, found=0, found_later=0)
        await self._async_add_home()
        rounds = self.transcript.sendable(history=self.turn.profile.history_enabled)
        self.inputs = replace(self.inputs, budget=budget, rounds=rounds)

    def _shares(self) -> tuple[float, Budget]:
        """Return the tokens of the instructions and the shares of the window as far as it is known by now."""
        known, before, profile = self.endpoint.window, self.fixed.window, self.turn.profile
        self.window = window = min(known, before or known)  # the first one, unless a smaller one becomes known
        if self.share is not None and self.share.reserved:
            self.window = window = known - self.share.reserved
        additions = self.share is None or self.share.additions or self.given is None
        expected = instructions_tokens(profile, self.given, additions=additions)
        if documents := self._documents():
            self._documents_room = min(self._documents_room, window // DOCUMENTS_SHARE)
            expected += min(documents.tokens, self._documents_room)
        answer = self.endpoint.config.max_tokens or min(DEFAULT_ANSWER_TOKENS, window // 4)
        return expected, shares(profile, room=window - answer, fixed=self.offered.raw_tokens + expected)

    def _documents(self) -> SystemDocuments | None:
        return self.sources.documents.of_profile.get(self.turn.profile.subentry_id) if self.given is None else None

    async def _async_view(self) -> View:
        return await self.sources.views.async_of(self.hass, await self.sources.home.async_get(), self.turn)

    async def _async_write_instructions(self) -> None:
        """Write the instructions for the conversation."""
        turn, sources, inputs = self.turn, self.sources, self.inputs
        self.inputs = replace(inputs, instructions=None)
        text, personal = await sources.system_prompts.async_write(
            turn,
            self.transcript,
            self.tools,
            inputs.budget,
            self._async_entity_context,
            own=self.given,
            mask=self.mask,
            looks_up=inputs.mode.looks_up,
        )
        documents = self._documents()
        parts = (text, documents.within(self._documents_room) if documents else "")
        begun = self.inputs.instructions or Instructions(owner=turn.owner)  # has the states, if they stand in it
        instructions = replace(begun, text="\n\n".join(filter(None, parts)), personal=personal)
        self.inputs = replace(self.inputs, instructions=instructions)

    async def _async_entity_context(self) -> str:
        """Return the states for a place in the instructions; from now on they count as told."""
        self._lists_baseline = False  # they stand here, and nowhere else
        self.inputs = replace(self.inputs, baseline=None)
        await self._async_add_home()  # whether the home map names everything decides how states are told
        await self._async_find(self._query(""))
        await self.async_see_again()
        await self.async_complete()
        text, told, taints = states_in_instructions(self.inputs)
        self.turn.record.taints |= taints
        note_read(self.hass, self.turn, text)
        if self.rehearsed is None:
            self.transcript.states_told_at = self.hass.loop.time()
        instructions = Instructions(owner=self.turn.owner, states=text, told=told)
        self.inputs = replace(self.inputs, instructions=instructions)
        return text

    async def _async_add_home(self) -> None:
        """Add the home map as far as it has room, and the states that stand in it."""
        inputs, view, budget = self.inputs, self.view, self.inputs.budget
        if inputs.mode is ContextMode.OFF:
            return
        if not view.snapshot.entities:  # hidden meanwhile: nothing of them is told any more
            self.inputs = replace(inputs, home=view.snapshot, home_map=HomeMap(""), home_text="")
            return
        tokens = budget.small_map if inputs.mode is ContextMode.RETRIEVED else budget.home_map
        tokens = tokens if self.map_limit is None else min(tokens, self.map_limit)
        home_map = await view.async_map(tokens, inputs.estimate)
        baseline, text = None, ""
        if self._lists_baseline:
            zone = await _async_own_zone(self.hass, self.turn.profile)
            volatility = self.sources.volatility
            baseline = await view.async_kept_baseline(self.turn, inputs, volatility, home_map=home_map, zone=zone)
            if baseline.home_map:
                lasting = baseline.home is view.snapshot and self.mask is None
                text = baseline.home_map if lasting else await view.async_home_map(baseline, self.mask)
        self.inputs = replace(inputs, home=view.snapshot, home_map=home_map, baseline=baseline, home_text=text)

    def _query(self, previous: str) -> Query:
        """Return what is looked for; `previous` is what was said before."""
        spoken_of, mode = self.transcript.spoken_of, self.inputs.mode
        return self.sources.lookup.query(self.turn, self.view.snapshot, mode, spoken_of=spoken_of, previous=previous)

    async def _async_find(self, query: Query) -> None:
        """Add what the request is about; it is looked for once, also where a shorter request is made."""
        if self._looked_up or not (self.inputs.mode.looks_up or self._lists_baseline):
            return
        self._looked_up = True
        found = await self.sources.lookup.async_entities(query, self.view.snapshot)
        self.inputs = replace(self.inputs, found=found)
        self.transcript.spoke_of([entity.entity_id for entity in found[:SPOKEN_OF]])


@dataclass(slots=True)
class RequestBuilder:
    """Builds the requests of one turn, once it is open."""

    _gathering: Gathering
    _chat_log: ChatLog
    layout: Layout = field(init=False)

    @property
    def offered(self) -> Sequence[ToolSpec]:
        """The tools of the turn, as they are sent."""
        offers = self._gathering.turn.record.offers
        specs = self._gathering.offered.specs
        return [spec for spec in specs if offers is None or spec["function"]["name"] in offers]

    async def async_open(self) -> None:
        """Write the system message into the chat log, and what is told with the new message into its round."""
        await self._gathering.async_gather()
        self._gathering.inputs.rounds[-1].endpoint_id = self._gathering.endpoint.config.subentry_id
        await self._async_lay_out(self._gathering.async_look_up())

    async def async_messages(self, shorter: bool) -> list[Message]:
        """Return the messages as they go over the wire; `shorter` after the model said they were too many."""
        gathering = self._gathering
        if gathering.rehearsed is None:
            self._gathering.transcript.follow(self._chat_log.content)
        if shorter:
            rounds = self.layout.rounds
            estimate = self.layout.inputs.estimate
            told = sum(estimate(one.part.text) for one in rounds if one.part is not None)
            rounds[-1].part = None
            await gathering.async_shorten(told)
            await self._async_lay_out(gathering.async_see_again())
        rounds, inputs = self.layout.rounds, self.layout.inputs
        fit_results(rounds, inputs.room, inputs.estimate, shorter=shorter)
        content: list[Content] = [self._chat_log.content[0]]
        parts_at: dict[int, str] = {}
        notes_at: dict[int, str] = {}
        said: set[int] = set()
        for one in rounds:
            place = len(content)
            if one.part is not None and one.part.text:
                parts_at[place] = one.part.text
            if one.endpoint_id == gathering.endpoint.config.subentry_id:
                said.add(place)
            notes_at |= {place + 1 + behind: text for behind, text in one.notes.items()}
            content += (one.question, *one.sent_answers)
        told_with: Messages = content, parts_at, notes_at
        if gathering.mask is not None:
            told_with = await async_hide(gathering.hass, told_with, gathering.mask, said)
        return messages_from_content(told_with[0], told_with[1], notes=told_with[2])

    def note_what_is_true(self, states: Mapping[str, str], *, no_automation: bool = False) -> None:
        """Tell the model, behind its last answer, that nothing (or nothing of an automation) was done, or the states that it does not fit."""
        newest = self._gathering.transcript.follow(self._chat_log.content)
        note = NO_AUTOMATION if no_automation else NOT_SO if states else NOTHING_DONE
        newest.notes[len(newest.answers) - 1] = render_note(note, self._gathering.turn.record.outcomes, states)

    def may_name_others(self, answer: str) -> bool:
        """Return whether an answer may be about more than what its turn has done."""
        turn = self._gathering.turn
        if mentions_automation(answer, turn.speaks):  # no state shows that one was made
            return True
        happened = [key for key, outcome in turn.record.outcomes.items() if outcome in HAPPENED]
        return self._gathering.view.snapshot.may_name_others(answer, happened)

    def note_last_request(self) -> None:
        """Tell the model, behind the newest tool results, that it has to answer now. That stays there as well."""
        newest = self._gathering.transcript.follow(self._chat_log.content)
        calls = max(place for place, item in enumerate(newest.answers) if isinstance(item, AssistantContent))
        newest.notes.setdefault(calls, render_note(ANSWER_NOW, {}))

    async def _async_lay_out(self, gathering: Awaitable[None]) -> None:
        """Gather what is left, lay the prompt out, and remember what is told with it."""
        gathered = self._gathering
        try:
            await gathering
            await gathered.async_complete()
            made = layout(gathered.inputs)
        except Exception:  # noqa: BLE001 - a state that cannot be told must not cost the answer
            LOGGER.exception("The states of the home could not be told")
            made = replace(layout(replace(gathered.inputs, mode=ContextMode.OFF, blocks={})), part=TurnPart(text=""))
        self.layout = made
        self._chat_log.content[0] = SystemContent(content=made.system)
        made.rounds[-1].part = made.part
        gathered.turn.record.taints |= made.taints
        note_read(gathered.hass, gathered.turn, made.part.text)
        if gathered.rehearsed is None:
            self._remember(made)
        self._report(made)

    def _remember(self, made: Layout) -> None:
        """Keep what was told: the one place where a prompt changes the transcript."""
        gathered, transcript, inputs = self._gathering, self._gathering.transcript, self._gathering.inputs
        if transcript.fixed is gathered.fixed:  # else the owner has changed the settings meanwhile
            gathered.fixed = transcript.fixed = Fixed(
                mode=inputs.mode, window=gathered.window, instructions=inputs.instructions, baseline=inputs.baseline
            )
        transcript.map_limit = gathered.map_limit
        if made.states_told:
            transcript.states_told_at = gathered.hass.loop.time()
        sums_up = gathered.share.sums_up if gathered.share is not None else self._gathering.turn.profile.history_summary
        transcript.drop_before(made.rounds[0], made.dropped if sums_up else ())

    def _report(self, made: Layout) -> None:
        """Announce what the model is told, and what was left out."""
        gathered, hass = self._gathering, self._gathering.hass
        if gathered.given is not None:
            return
        home_map, mode, baseline = gathered.inputs.home_map, gathered.inputs.mode, gathered.inputs.baseline
        tokens, told, left_out, later = made.part_tokens, list(made.part.told), made.left_out, bool(made.rounds[1:])
        if baseline is not None and not later:
            told, tokens = list(dict.fromkeys((*told, *baseline.told))), tokens + baseline.tokens
        counts = dict(Counter(key.partition(":")[0] for key in made.part.items))
        events.async_context_injected(hass, self._gathering.turn, mode.value, told, tokens, counts)
        states = 0
        if mode is ContextMode.RETRIEVED and not later:
            states = max(0, len(gathered.view.snapshot.entities) - len(told)) * STATE_TOKENS
        cut = left_out.states + left_out.changes
        optimized = events.Optimized(
            original_tokens=home_map.full_tokens + max(tokens + states, left_out.full_tokens) + made.dropped_tokens,
            optimized_tokens=home_map.tokens + tokens,
            was_truncated=bool(cut or left_out.attributes or made.dropped or gathered.map_limit is not None),
            rounds_dropped=len(made.dropped),
            entities_left_out=cut,
            attributes_left_out=left_out.attributes,
            home_map_reduced=not home_map.full,
        )
        events.async_context_optimized(hass, self._gathering.turn, optimized)


def shares(profile: Profile, *, room: int, fixed: float) -> Budget:
    """Return how `room` tokens are shared out, of which `fixed` are sent in every home."""
    prompt = max(MIN_PROMPT_TOKENS, room - math.ceil(fixed / FIXED_STEP) * FIXED_STEP - SPARE_TOKENS)
    history = profile.history_max_tokens if profile.history_enabled else 0
    blocks = min(MAX_BLOCKS_TOKENS, round(prompt * _BLOCKS_SHARE))
    kept = max(blocks, min(history, round(prompt * _HISTORY_SHARE)) + LEAST_TOKENS)
    states = prompt - kept
    home_map = states - round(prompt * _STATES_SHARE)
    found = max(LEAST_TOKENS, profile.context_max_entities * TOKENS_PER_ENTITY)
    return Budget(
        prompt=prompt,
        home_map=home_map,
        small_map=min(home_map, SMALL_MAP_TOKENS),
        states=states,
        kept=kept,
        found=min(states, found),
        found_later=min(states, max(LEAST_TOKENS, found // 2)),
        history=history,
        blocks=blocks,
    )


async def async_with_now(
    hass: HomeAssistant, turn: Turn, view: View, inputs: Inputs, told_at: float | None = None, summary: str = ""
) -> Inputs:
    """Return the inputs with states and facts as they are now; `told_at` is the loop time of the newest states told."""
    selection, listed = None, dict[str, KnownState]()
    if (inputs.baseline is None and inputs.mode.lists) or turn.context_entities is not None:
        room, full = inputs.states_room, inputs.home_map.full
        selection = await view.async_selection(turn, room, inputs.estimate, map_is_full=full)
        described = view.describe(selection.entities, selection.attributes, detailed=selection.detailed)
        listed = {entity.entity_id: now async for entity, now in in_slices(described)}
    told = [one.part.told for one in inputs.rounds if one.part is not None]
    told += [known.told for known in (inputs.baseline, inputs.instructions, inputs.head) if known is not None]
    ids = {entity.entity_id for entity in inputs.found}.union(*told)
    now = dt_util.now(await _async_own_zone(hass, turn.profile))
    facts = {"date": now.strftime(DATE), "language": turn.speaks}
    if turn.user and turn.user.name:
        facts["user"] = turn.user.name
    if turn.area_id and (area := ar.async_get(hass).async_get_area(turn.area_id)):
        facts["area"] = area.name
    if summary:
        facts[EARLIER] = summary
    if turn.profile.wishes:
        facts["wishes"] = waiting(hass, turn)
    return replace(
        inputs,
        selection=selection,
        listed=listed,
        states={entity_id: state for entity_id in ids if (state := hass.states.get(entity_id)) is not None},
        told_recently=told_at is not None and hass.loop.time() - told_at < turn.profile.context_update_interval,
        clock=now.strftime("%H:%M"),
        facts=facts,
    )


async def _async_own_zone(hass: HomeAssistant, profile: Profile) -> ZoneInfo | None:
    """Return the zone that a profile has of its own, None where it has the home's."""
    wanted = profile.timezone.strip()
    return await async_zone(hass, wanted) if wanted else None
