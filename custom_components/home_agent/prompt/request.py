"""Builds the requests of one turn: the system message, the rounds that are still sent, and what is told with the new one."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
import math
from zoneinfo import ZoneInfo

from homeassistant.components.conversation import (
    AssistantContent,
    ChatLog,
    Content,
    SystemContent,
    ToolResultContent,
    UserContent,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
from homeassistant.util import dt as dt_util
from homeassistant.util.async_ import create_eager_task
from homeassistant.util.json import JsonValueType

from ..client.endpoint import Endpoint, mask_for
from ..client.messages import Message, messages_from_content, offered_tools, raw_estimate
from ..home.snapshot import Home, HomeEntity, HomeSnapshot
from ..home.volatility import Volatility
from ..policy.tool import HomeAgentTool
from ..policy.write import HAPPENED
from ..search.model import Query
from ..search.user_documents import UserDocuments
from ..settings.profile import AUTO, AUTO_TOKENS, ContextMode, Profile
from ..support import issues
from ..support.const import LOGGER
from ..support.masking import Mask, masked_values
from ..transcript.transcript import (
    BETWEEN_PARTS,
    Baseline,
    Instructions,
    KnownStates,
    Limits,
    Sent,
    Transcript,
    TurnPart,
    fit_results,
    masked_part,
    render_note,
    render_states,
    render_turn_part,
)
from ..turn import events
from ..turn.turn import Owner, Turn, async_zone
from .budget import Budget
from .home_map import HomeMap
from .providers import Block, ContextRequest, Providers, keys_of
from .states import DATE, Lookup, OmittedStates, StateContext, View, Views
from .system_prompt import ANSWER_NOW, NOT_SO, NOTHING_DONE, SystemPrompts

HOME_HEADING = "## Home"
STATES_IN_MAP_HEADING = '## States\n\nThose in "Home" are of some time ago; what <house> says in a message is newer.'
STATES_HEADING = "## States\n\nSome time ago; what <house> says in a message is newer."
EARLIER = "earlier"
READY_FOR = 60.0  # seconds; who begins to speak has said it by then
_NO_BLOCKS: Mapping[str, Block] = {}
STATE_TOKENS = 12  # of an entity that is not told, about
SPOKEN_OF = 5  # entities that were found for a request and count as what the conversation is about


DEFAULT_ANSWER_TOKENS = 1024
DOCUMENTS_SHARE = 3  # of the window, documents in the instructions get one share
FIXED_STEP = 200  # tokens; instructions and tools are counted in such steps, so that shares do not move with a word
NEARLY = 2 * FIXED_STEP  # by how much the room may differ for which states were written down
DEFAULT_PROMPT_TOKENS = 550
SPARE_TOKENS = 200  # the question, time and place, what a chat template adds
MIN_PROMPT_TOKENS = 512

# What each part is sure of, whatever the others would take.
_STATES_SHARE = 0.25
_HISTORY_SHARE = 0.15
_BLOCKS_SHARE = 0.1

# What is looked up costs little, however large the window is: that is its purpose.
SMALL_MAP_TOKENS = 1000
TOKENS_PER_ENTITY = 26  # an entity that is told for the first time, with its name; later turns bring half as many
LEAST_TOKENS = 120  # for a few entities with long names and all that is to be said of them
MAX_BLOCKS_TOKENS = 800


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What a model was told with a message before it was said."""

    part: TurnPart
    conversation_id: str | None
    """None: the message begins a conversation."""
    rounds: int
    """Of the conversation, with this one."""
    language: str
    baseline: Baseline | None
    taints: frozenset[str]
    """What makes the conversation careful that is told this."""
    at: float
    """Loop time."""


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
    """The newest turn of each profile, by its subentry id."""
    ready: dict[Owner, Ready] = field(default_factory=dict)
    """By who is about to speak."""
    quiet: bool = False
    """No event tells what is told: it is for a part of a turn."""


class RequestBuilder:
    """Builds the requests of one turn, once it is open."""

    def __init__(
        self,
        hass: HomeAssistant,
        turn: Turn,
        transcript: Transcript,
        chat_log: ChatLog,
        endpoint: Endpoint,
        sources: Sources,
        tools: Sequence[HomeAgentTool],
    ) -> None:
        """Belong to one turn and the model that is asked in it."""
        self._hass = hass
        self._turn = turn
        self._transcript = transcript
        self._chat_log = chat_log
        self._endpoint = endpoint
        self._sources = sources
        self._tools = tools
        serializer = chat_log.llm_api.custom_serializer if chat_log.llm_api else None
        self.offered = offered_tools(tools, serializer)
        self._estimate = endpoint.client.estimator.estimate
        hides, remote = turn.profile.mask_personal_data, endpoint.config.remote
        self._mask: Mask | None = mask_for(hides, remote=remote) if remote or hides != AUTO else None
        self._expected = 0.0
        """Tokens of the instructions before their placeholders are filled in."""
        self._documents_room = math.inf
        """Tokens for documents in the instructions."""
        self._budget = self._shares()
        self._prompt = self._budget.prompt
        self._view = View(snapshot=HomeSnapshot(), base=HomeSnapshot())
        self._mode = ContextMode.DIRECT
        self._map = HomeMap("")
        self._room = self._prompt
        """Tokens for rounds and turn parts: what instructions and home map leave."""
        self._instructions = Instructions(owner=turn.owner)
        self._has_baseline = False
        self._found: Sequence[HomeEntity] = ()
        self._looked_up = False
        self._sent = Sent()

    async def async_open(self) -> None:
        """Write the system message into the chat log, and what is told with the new message into its round.

        How states are told is decided with the first turn of a conversation, and so are the instructions: what was sent
        stays as it is.
        """
        transcript, owner = self._transcript, self._turn.owner
        self._view = await self._sources.views.async_of(self._hass, await self._sources.home.async_get(), self._turn)
        key = (self._turn.profile.subentry_id, self._budget.home_map, self._budget.states)
        mode = transcript.mode or self._view.modes.get(key)
        if mode is None:
            mode = self._view.modes[key] = await self._async_mode()
        self._mode = transcript.mode = mode
        self._turn.record.context_mode = self._mode.value
        events.async_announce(self._hass, self._turn)
        prompt = transcript.instructions
        begins = prompt is None and self._turn.context_entities is None
        self._has_baseline = self._mode.lists and (begins or transcript.baseline is not None)
        if prompt is None or prompt.text is None or (prompt.personal and prompt.owner != owner):
            await self._async_write_instructions()
        else:
            self._instructions = prompt
        limit, tools = self._turn.profile.history_max_messages, {tool.name for tool in self._tools}
        zone = await _async_own_zone(self._hass, self._turn.profile)
        await self._async_write_system_message()
        earlier = max(0, min(self._budget.history, self._room - self._budget.kept))
        transcript.history.restore(owner, limit, earlier, self._estimate, tools, zone)
        transcript.rounds[-1].endpoint_id = self._endpoint.config.subentry_id
        await self._async_add_part(self._budget)

    async def async_messages(self, shorter: bool) -> list[Message]:
        """Return the messages as they go over the wire; `shorter` after the model said they were too many."""
        transcript = self._transcript
        newest = transcript.follow(self._chat_log.content)
        if shorter:
            parts = [one.part.text for one in self._sent.rounds if one.part is not None]
            before = sum(self._estimate(text) for text in (self._instructions.states, *parts))
            before += transcript.baseline.tokens if transcript.baseline else 0
            shares = self._shares()
            self._prompt = shares.prompt
            self._budget = budget = self._budget.tightened(self._map.tokens, before).within(shares)
            newest.part = None
            transcript.map_limit = budget.home_map
            transcript.baseline, self._has_baseline = None, False
            states_stand_there = bool(self._instructions.states)
            if states_stand_there or self._documents_room < math.inf:
                self._documents_room /= 2
                await self._async_write_instructions()
                if states_stand_there:
                    budget = replace(budget, states=0, found=0, found_later=0)
            await self._async_write_system_message()
            await self._async_add_part(budget)
        rounds = self._sent.rounds
        fit_results(rounds, self._room, self._estimate, shorter=shorter)
        content: list[Content] = [self._chat_log.content[0]]
        parts_at: dict[int, str] = {}
        notes_at: dict[int, str] = {}
        said: set[int] = set()
        for one in rounds:
            place = len(content)
            if one.part is not None and one.part.text:
                parts_at[place] = one.part.text
            if one.endpoint_id == self._endpoint.config.subentry_id:
                said.add(place)
            notes_at |= {place + 1 + behind: text for behind, text in one.notes.items()}
            content += (one.question, *one.sent_answers)
        told: tuple[Sequence[Content], Mapping[int, str], Mapping[int, str]] = content, parts_at, notes_at
        if self._mask is not None:
            told = await async_hide(self._hass, told, self._mask, said)
        return messages_from_content(told[0], told[1], notes=told[2])

    def note_what_is_true(self, states: Mapping[str, str]) -> None:
        """Tell the model, behind the last answer, what became of its turn. It stays there: a request begins as the last.

        `states` has what things really are of which the answer says something else; without any, it says that something was
        done.
        """
        newest = self._transcript.follow(self._chat_log.content)
        note = NOT_SO if states else NOTHING_DONE
        newest.notes[len(newest.answers) - 1] = render_note(note, self._turn.record.outcomes, states)

    def may_name_others(self, answer: str) -> bool:
        """Return whether an answer may be about more than what its turn has done."""
        happened = [key for key, outcome in self._turn.record.outcomes.items() if outcome in HAPPENED]
        return self._view.snapshot.may_name_others(answer, happened)

    def note_last_request(self) -> None:
        """Tell the model, behind the newest tool results, that it has to answer now. That stays there as well."""
        newest = self._transcript.follow(self._chat_log.content)
        calls = max(place for place, item in enumerate(newest.answers) if isinstance(item, AssistantContent))
        newest.notes.setdefault(calls, render_note(ANSWER_NOW, {}))

    async def _async_entity_context(self) -> str:
        """Return the states that the first turn part would tell, for instructions that have a place for them.

        From now on they count as told.
        """
        self._transcript.baseline, self._has_baseline = None, False  # they stand here, and nowhere else
        await self._async_write_system_message()  # whether the home map names everything decides how states are told
        await self._async_find(self._query(""))
        await self._async_see_again()
        budget = replace(self._budget, states=max(0, min(self._budget.states, self._room - self._budget.kept)))
        context = self._state_context(KnownStates(), budget)
        states, _ = await context.async_states()
        self._instructions.states, self._instructions.told = render_states(states), context.states
        return self._instructions.states

    def _shares(self) -> Budget:
        """Return the shares of the window as far as it is known by now, less what answer, instructions and tools need."""
        known, before = self._endpoint.window, self._transcript.window
        window = min(known, before or known)  # the first one, unless a smaller one becomes known
        self._transcript.window = window
        config, profile = self._endpoint.config, self._turn.profile
        own = (
            profile.prompt_additions if profile.use_default_prompt else profile.custom_prompt + profile.prompt_additions
        )
        self._expected = raw_estimate(own.encode("utf-8", "replace"))
        self._expected += DEFAULT_PROMPT_TOKENS if profile.use_default_prompt else 0
        if documents := self._sources.documents.of_profile.get(profile.subentry_id):
            self._documents_room = min(self._documents_room, window // DOCUMENTS_SHARE)
            self._expected += min(documents.tokens, self._documents_room)
        fixed = self.offered.raw_tokens + self._expected
        fixed = math.ceil(fixed / FIXED_STEP) * FIXED_STEP + SPARE_TOKENS  # sent whatever the home is like
        answer = config.max_tokens or min(DEFAULT_ANSWER_TOKENS, window // 4)
        prompt = max(MIN_PROMPT_TOKENS, window - answer - fixed)
        history = profile.history_max_tokens if profile.history_enabled else 0
        blocks = min(MAX_BLOCKS_TOKENS, round(prompt * _BLOCKS_SHARE))
        kept = max(blocks, min(history, round(prompt * _HISTORY_SHARE)) + LEAST_TOKENS)
        states = prompt - kept
        home_map = states - round(prompt * _STATES_SHARE)
        found = max(LEAST_TOKENS, profile.context_max_entities * TOKENS_PER_ENTITY)
        later = max(LEAST_TOKENS, found // 2)
        return Budget(
            prompt=prompt,
            home_map=home_map,
            small_map=min(home_map, SMALL_MAP_TOKENS),
            states=states,
            kept=kept,
            found=min(states, found),
            found_later=min(states, later),
            history=history,
            blocks=blocks,
        )

    async def _async_write_instructions(self) -> None:
        """Write the instructions for the conversation; an error in them becomes a Repairs issue."""
        turn, transcript = self._turn, self._transcript
        self._instructions = transcript.instructions = Instructions(owner=turn.owner)
        written = await self._sources.system_prompts.async_write(
            turn,
            transcript,
            self._tools,
            self._budget,
            self._async_entity_context,
            mask=self._mask,
            looks_up=self._mode.looks_up,
        )
        documents = self._sources.documents.of_profile.get(turn.profile.subentry_id)
        parts = (written.text, documents.within(self._documents_room) if documents else "")
        self._instructions.text = "\n\n".join(part for part in parts if part)
        sound, profile_id = self._sources.system_prompts.sound, turn.profile.subentry_id
        if written.error:
            sound.discard(profile_id)
            detail = (written.error.translation_placeholders or {}).get("detail", "")
            issues.async_set(self._hass, issues.PROMPT_TEMPLATE, profile_id, profile=turn.profile.name, error=detail)
        elif profile_id not in sound:
            sound.add(profile_id)
            issues.async_set(self._hass, issues.PROMPT_TEMPLATE, profile_id, False)

    async def _async_see_again(self) -> None:
        """Take the home as it is by now: looking things up takes its time, and what was hidden meanwhile is told to nobody."""
        view = await self._sources.views.async_of(self._hass, await self._sources.home.async_get(), self._turn)
        if view is self._view:
            return
        self._view = view
        entities = view.snapshot.entities
        self._found = [entities[item.entity_id] for item in self._found if item.entity_id in entities]
        await self._async_write_system_message()

    async def _async_mode(self) -> ContextMode:
        """Return the profile's mode; `auto`: everything while names and states fit their shares, else what is looked up.

        A list of the owner's that fits is told in any case.
        """
        profile = self._turn.profile
        if profile.context_mode != AUTO:
            return ContextMode(profile.context_mode)
        home_map = await self._view.async_map(self._budget.home_map, self._estimate)
        if not home_map.full and not profile.context_entities:
            return ContextMode.RETRIEVED
        states = max(0, self._prompt - home_map.tokens - self._budget.kept)
        selection = await self._view.async_selection(self._hass, self._turn, states, self._estimate)
        whole = selection.detailed and not selection.left_out
        if whole and home_map.full and home_map.tokens + selection.tokens <= AUTO_TOKENS:
            return ContextMode.DIRECT
        return ContextMode.BOTH if whole and profile.context_entities else ContextMode.RETRIEVED

    async def _async_write_system_message(self) -> None:
        """Put instructions, home map and what the caller of Assist added into the chat log.

        The same bytes every turn, and from conversation to conversation.
        """
        parts = [self._instructions.text or ""]
        if self._mode is not ContextMode.OFF and self._view.snapshot.entities:
            tokens = self._budget.small_map if self._mode is ContextMode.RETRIEVED else self._budget.home_map
            if self._transcript.map_limit is not None:
                tokens = min(tokens, self._transcript.map_limit)
            self._map = await self._view.async_map(tokens, self._estimate)
            home, states = self._map.text, ""
            if self._has_baseline:
                baseline, seen = self._transcript.baseline, self._view.snapshot
                if (
                    baseline is None
                    or not (baseline.home is seen or baseline.told.keys() <= seen.entities.keys())
                    or (baseline.home_map and not self._map.full)
                ):
                    room = self._prompt - self._map.tokens - self._budget.kept - self._budget.found_later
                    key = (self._turn.profile.subentry_id, room, self._map.full)
                    baseline = self._view.baselines.get(key) or self._nearly(key)
                if baseline is None:
                    self._view.baselines[key] = baseline = await self._view.async_baseline(
                        self._hass,
                        self._turn,
                        max(0, min(self._budget.states, room)),
                        self._estimate,
                        self._sources.volatility,
                        home_map=self._map,
                        zone=await _async_own_zone(self._hass, self._turn.profile),
                    )
                self._transcript.baseline = baseline
                if states := baseline.text:
                    states = masked_part(states, self._mask) if self._mask is not None else states
                    states = f"{STATES_IN_MAP_HEADING if baseline.home_map else STATES_HEADING}\n\n{states}"
                if home_map := baseline.home_map:
                    lasting = baseline.home is seen and self._mask is None
                    home = home_map if lasting else await self._view.async_home_map(baseline, self._mask)
            parts += [f"{HOME_HEADING}\n\n{home}", *filter(None, (states,))]
        if self._chat_log.extra_system_prompt:
            parts.append(self._chat_log.extra_system_prompt)
        self._chat_log.content[0] = SystemContent(content="\n\n".join(parts))
        said = self._estimate(f"{self._instructions.text or ''}{self._chat_log.extra_system_prompt or ''}")
        filled_in = max(0, math.ceil((said - self._expected - SPARE_TOKENS) / FIXED_STEP)) * FIXED_STEP
        told = self._transcript.baseline.tokens if self._has_baseline and self._transcript.baseline else 0
        self._room = self._prompt - self._map.tokens - told - filled_in

    def _nearly(self, key: tuple[str, int, bool]) -> Baseline | None:
        """Return a baseline that was made for nearly as much room and fits: where a device is offered another tool, it stays."""
        profile_id, room, full = key
        for (own, other, whole), baseline in self._view.baselines.items():
            if (own, whole) == (profile_id, full) and abs(other - room) <= NEARLY and baseline.tokens <= room:
                return baseline
        return None

    async def _async_add_part(self, budget: Budget, sure: int = 0) -> None:
        """Decide which rounds are sent, and tell what the model does not know from them.

        The new part is `sure` of so many tokens; where it turns out to need more, rounds go, and it is made anew.
        """
        transcript, estimate = self._transcript, self._estimate
        room = self._room - max(0, estimate(self._turn.text) - SPARE_TOKENS)
        sure = sure or (budget.found_later if self._mode is ContextMode.RETRIEVED else LEAST_TOKENS)
        earlier = max(0, room - sure) if budget.history else 0
        limits = Limits(words=min(budget.history, earlier), tokens=earlier)
        self._sent = sent = transcript.send(self._turn.profile, limits, estimate)
        before = sum(one.size(estimate).tokens for one in sent.rounds[:-1])
        states, blocks = max(0, min(budget.states, room - budget.kept)), max(0, min(budget.blocks, room))
        found, later = min(budget.found, states), max(0, min(budget.found_later, room - before))
        rooms = replace(budget, states=states, blocks=blocks, found=found, found_later=later)
        left_out = OmittedStates()
        try:
            known = transcript.known_from(sent.rounds)
            ready = None if self._turn.rehearsal else self._sources.ready.pop(self._turn.owner, None)
            if ready is not None and not self._goes_on_from(ready, budget):
                ready = None
            if ready is not None:
                self._turn.record.taints |= ready.taints
                known = replace(
                    known, entities={**known.entities, **ready.part.told}, facts={**known.facts, **ready.part.facts}
                )
            previous = sent.rounds[-2].question.content if sent.rounds[1:] else ""
            query = self._query(previous)
            request = ContextRequest(turn=self._turn, query=query, tokens=blocks)
            asking = self._sources.providers.async_blocks(request, known.items, estimate)
            if self._turn.rehearsal:
                self._looked_up = True
            elif transcript.baseline is not None and not self._mode.looks_up:
                named = self._view.snapshot.named_in(query.text)
                entities, allowed = self._view.snapshot.entities, query.allowed
                self._found = [entities[one] for one in named if allowed is None or allowed(one)]
            if not self._found and (self._mode.looks_up or transcript.baseline is not None):
                # entities are asked for first, and told first
                finding = create_eager_task(self._async_find(query))
                _, told = await asyncio.gather(finding, create_eager_task(asking))
            else:
                told = await asking
            baseline = transcript.baseline
            await self._async_see_again()
            if transcript.baseline is not baseline:
                known, ready = transcript.known_from(sent.rounds), None
            head, context = ready.part if ready is not None else None, self._state_context(known, rooms)
            # else the model was told a moment ago how things are, or is not asked how they are
            context.retells = head is None and not self._turn.record.is_order
            part, left_out = await async_turn_part(context, told, head)
        except Exception:  # noqa: BLE001 - a state that cannot be told must not cost the answer
            LOGGER.exception("The states of the home could not be told")
            part = TurnPart(text="")
        needs = estimate(part.text)
        if before and needs > max(sure, room - before):  # what was said before goes first
            await self._async_add_part(budget, needs if needs < earlier else room)
            return
        transcript.rounds[-1].part = part
        self._report(part, left_out)

    def _goes_on_from(self, ready: Ready, budget: Budget) -> bool:
        """Return whether the turn is the one that a rehearsal was for, a moment ago and within the same budget."""
        return (
            budget is self._budget
            and ready.baseline is self._transcript.baseline
            and ready.rounds == len(self._transcript.rounds)
            and ready.conversation_id in (None, self._turn.conversation_id)
            and ready.language == self._turn.language
            and self._hass.loop.time() - ready.at < READY_FOR
        )

    def _query(self, previous: str) -> Query:
        """Return what is looked for; `previous` is what was said before."""
        return self._sources.lookup.query(
            self._turn, self._view.snapshot, self._mode, spoken_of=self._transcript.spoken_of, previous=previous
        )

    def _state_context(self, known: KnownStates, budget: Budget) -> StateContext:
        return StateContext(
            hass=self._hass,
            turn=self._turn,
            transcript=self._transcript,
            view=self._view,
            mode=self._mode,
            known=known,
            budget=budget,
            estimate=self._estimate,
            map_is_full=self._map.full,
            found=self._found,
        )

    async def _async_find(self, query: Query) -> None:
        """Keep what the request is about; it is looked for once, also where a shorter request is made."""
        if self._looked_up or not (self._mode.looks_up or self._has_baseline):
            return
        self._looked_up = True
        self._found = await self._sources.lookup.async_entities(query, self._view.snapshot)
        self._transcript.spoke_of([entity.entity_id for entity in self._found[:SPOKEN_OF]])

    def _report(self, part: TurnPart, left_out: OmittedStates) -> None:
        """Say what the model is told, and what of all there is it is not."""
        if self._sources.quiet:
            return
        tokens, sent, told = self._estimate(part.text), self._sent, list(part.told)
        if (baseline := self._transcript.baseline) is not None and not sent.rounds[1:]:
            told, tokens = list(dict.fromkeys((*told, *baseline.told))), tokens + baseline.tokens
        counts = dict(Counter(key.partition(":")[0] for key in part.items))
        events.async_context_injected(self._hass, self._turn, self._mode.value, told, tokens, counts)
        states = 0
        if self._mode is ContextMode.RETRIEVED and not sent.rounds[1:]:
            states = max(0, len(self._view.snapshot.entities) - len(told)) * STATE_TOKENS
        cut = left_out.states + left_out.changes
        optimized = events.Optimized(
            original_tokens=self._map.full_tokens + max(tokens + states, left_out.full_tokens) + sent.dropped_tokens,
            optimized_tokens=self._map.tokens + tokens,
            was_truncated=bool(cut or left_out.attributes or sent.dropped or self._transcript.map_limit is not None),
            rounds_dropped=len(sent.dropped),
            entities_left_out=cut,
            attributes_left_out=left_out.attributes,
            home_map_reduced=not self._map.full,
        )
        events.async_context_optimized(self._hass, self._turn, optimized)


async def async_turn_part(
    context: StateContext, blocks: Mapping[str, Block] = _NO_BLOCKS, head: TurnPart | None = None
) -> tuple[TurnPart, OmittedStates]:
    """Return the part that rides on a user message, and what is not in it. It is never changed once it was sent.

    `head` is what the model has read already: it stays as it is, and only what is new is said after it.
    """
    turn = context.turn
    now = dt_util.now(await _async_own_zone(context.hass, turn.profile))
    facts = {"date": now.strftime(DATE), "language": turn.speaks}
    if turn.user and turn.user.name:
        facts["user"] = turn.user.name
    if turn.area_id and (area := ar.async_get(context.hass).async_get_area(turn.area_id)):
        facts["area"] = area.name
    if summary := context.transcript.history.summary:
        facts[EARLIER] = summary
    facts = {key: value for key, value in facts.items() if context.known.facts.get(key) != value}
    states, left_out = await context.async_states()
    clock = now.strftime("%H:%M")
    text = render_turn_part(
        time="" if head is not None and f'"time":"{clock}"' in head.text else clock,
        facts=facts,
        states=states,
        left_out={"states_not_listed": left_out.states, "changes_not_listed": left_out.changes},
        sections={name: (block.heading, [item.data for item in block.items]) for name, block in blocks.items()},
    )
    items = keys_of(blocks) if blocks else ()
    if head is None:
        return TurnPart(text=text, told=context.states, facts=facts, items=items), left_out
    says_more = facts or states or blocks or left_out.states or left_out.changes
    return TurnPart(
        text=f"{head.text}{BETWEEN_PARTS}{text}" if says_more else head.text,
        told={**head.told, **context.states},
        facts={**head.facts, **facts},
        items=items,
    ), left_out


# What the home knows and remembers is hidden on its way out (D-4), not what was said to this model: a message that was sent as it
# was said stays so, or the model would have to read everything after it again.

type Messages = tuple[Sequence[Content], Mapping[int, str], Mapping[int, str]]
"""Content with its turn parts and notes, both by the place of what they belong to."""

LONG = 5_000  # characters; more is read beside the event loop


async def async_hide(hass: HomeAssistant, messages: Messages, mask: Mask, said: Collection[int]) -> Messages:
    """Return the messages without personal data. `said` are the places of what people said to this model themselves.

    The system message stays as it is: what was filled into it was hidden then.
    """
    content, parts, _ = messages
    if sum(map(len, parts.values())) + sum(map(_size, content)) <= LONG:
        return _hide(messages, mask, said)
    return await hass.async_add_executor_job(_hide, messages, mask, said)


def _size(item: Content) -> int:
    """Return how long the text of a message is; the length of a tool result is not known before it is read."""
    return LONG + 1 if isinstance(item, ToolResultContent) else len(item.content or "")


def _hide(messages: Messages, mask: Mask, said: Collection[int]) -> Messages:
    content, parts, notes = messages
    hidden: list[Content] = []
    plain = False
    for place, item in enumerate(content):
        if isinstance(item, UserContent):
            plain = place in said
        hidden.append(_hidden(item, mask, plain=plain))
    hidden_parts = {place: masked_part(text, mask) for place, text in parts.items()}
    return hidden, hidden_parts, {place: masked_part(text, mask) for place, text in notes.items()}


def _hidden(item: Content, mask: Mask, *, plain: bool) -> Content:
    """Return a message as it may be sent; results of tools are what the home knows, whatever asked for them."""
    match item:
        case ToolResultContent():
            return replace(item, result=replace(item.result, data=_arguments(item.result.data, mask)))
        case UserContent() if not plain:
            return replace(item, content=mask(item.content))
        case AssistantContent() if not plain:
            calls = [replace(call, tool_args=_arguments(call.tool_args, mask)) for call in item.tool_calls or ()]
            return replace(item, content=mask(item.content) if item.content else item.content, tool_calls=calls or None)
    return item


def _arguments(arguments: Mapping[str, JsonValueType], mask: Mask) -> dict[str, JsonValueType]:
    return {key: masked_values(value, mask) for key, value in arguments.items()}


async def _async_own_zone(hass: HomeAssistant, profile: Profile) -> ZoneInfo | None:
    """Return the zone that a profile has of its own, None where it has the home's."""
    wanted = profile.timezone.strip()
    return await async_zone(hass, wanted) if wanted else None
