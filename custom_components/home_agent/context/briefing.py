"""Brings the stable part, the history that is still sent and the turn part together: the messages of a request."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from homeassistant.components.conversation import AssistantContent, ChatLog, Content, SystemContent, UserContent
from homeassistant.core import HomeAssistant
from homeassistant.util.async_ import create_eager_task

from .. import events
from ..client.base import Message
from ..client.messages import messages_from_content
from ..client.tokens import TokenEstimator
from ..const import LOGGER
from ..conversations.base import Owner
from ..home import Home, HomeEntity, HomeSnapshot
from ..prompt.default import ANSWER_NOW, NOTHING_DONE
from ..prompt.parts import masked_part, render_note
from ..retrieval.base import Query
from ..turn import Turn
from .base import Asked, Block
from .budget import Budget
from .hiding import async_hide
from .history import Limits, Round, Sent, sent_rounds
from .home_map import HomeMap
from .mode import AUTO, AUTO_TOKENS, Mode
from .providers import Providers
from .retrieved import Lookup, query_for
from .selection import Told
from .session import Known, Note, Session, TurnPart
from .stable_part import stable_text
from .turn_part import LeftOut, Telling, async_selection, async_states, async_turn_part
from .view import View, Views

UNLIMITED = Limits(words=10**9, tokens=10**9)
"""Within a turn nothing is trimmed any more."""
STATE_TOKENS = 12  # of an entity that is not told, about
SPOKEN_OF = 5  # entities that were found for a request and count as what the conversation is about


@dataclass(slots=True, kw_only=True)
class Sources:
    """What turns are told from; owned by the entry."""

    lookup: Lookup = field(default_factory=Lookup)
    providers: Providers = field(default_factory=Providers)
    views: Views = field(default_factory=Views)


class Briefing:
    """What one turn tells the model."""

    def __init__(
        self,
        hass: HomeAssistant,
        turn: Turn,
        session: Session,
        chat_log: ChatLog,
        home: Home,
        sources: Sources,
        shares: Callable[[], Budget],
        estimator: TokenEstimator,
    ) -> None:
        """Belong to one turn; `async_open` and `async_prepare` come first. `shares` are those of the window as it is known."""
        self._home = home
        self._hass = hass
        self._turn = turn
        self._session = session
        self._chat_log = chat_log
        self._sources = sources
        self._shares = shares
        self._budget = shares()
        self._estimate = estimator.estimate
        self._question = next(item for item in reversed(chat_log.content) if isinstance(item, UserContent))
        self._past: Sequence[Content] = ()
        self._view = View(snapshot=HomeSnapshot(), base=HomeSnapshot())
        self._mode = Mode.DIRECT
        self._words = ""
        self._map = HomeMap("")
        self._found: Sequence[HomeEntity] = ()
        self._looked_up = False

    def restore(self, tools: Collection[str]) -> None:
        """Begin with what was said before this session; `tools` are the names of those that are offered."""
        limit = self._turn.profile.history_max_messages
        self._past = self._session.past.restore(limit, self._budget.history, self._estimate, tools)
        for item in self._past:
            if isinstance(item, UserContent):
                self._session.speakers.heard(item, Owner.of(self._turn))

    async def async_open(self) -> Mode:
        """Return how this conversation tells states: decided with its first turn, so that what was sent stays as it is."""
        self._view = await self._async_view()
        self._mode = self._session.mode = self._session.mode or await self._async_mode()
        return self._mode

    async def async_prepare(self, words: str) -> None:
        """Write the system message into the chat log and the turn part into the session."""
        self._words = words
        self._session.said.append((self._question, self._turn.endpoint_id))
        await self._async_write_stable_part()
        await self._async_add_part(self._budget)

    async def async_messages(self, shorter: bool) -> list[Message]:
        """Return the messages as they go over the wire; `shorter` after the model said they were too many."""
        if shorter:
            before = sum(self._estimate(text) for text in self._told())
            budget = self._budget.tightened(self._map.tokens, before).within(self._shares())
            self._session.parts.pop()
            self._session.map_limit = budget.home_map
            if self._session.entity_context:
                budget = await self._async_shorten_words(budget)
            await self._async_write_stable_part()
            await self._async_add_part(budget)
        parts, notes = self._session.texts(), self._session.note_texts()
        sent = self._sent()
        told = sum(self._estimate(parts.get(id(item), "") + notes.get(id(item), "")) for item in sent)
        room = self._shares().prompt - self._map.tokens - told
        sent = self._session.results.fitting(sent, room, self._estimate, shorter=shorter)
        content: Sequence[Content] = [self._chat_log.content[0], *sent]
        if self._turn.mask is not None:
            said = self._session.said_to(self._turn.endpoint_id)
            content, parts, notes = await async_hide(self._hass, (content, parts, notes), self._turn.mask, said)
        return messages_from_content(content, parts, notes=notes)

    def note_what_was_done(self) -> None:
        """Tell the model, behind the last answer, what became of its turn. It stays there: a request begins as the last."""
        text = render_note(NOTHING_DONE, self._turn.effects)
        self._session.notes.append(Note(self._chat_log.content[-1], text))

    def note_last_request(self) -> None:
        """Tell the model, behind the newest tool results, that it has to answer now. That stays there as well."""
        calls = next(item for item in reversed(self._chat_log.content) if isinstance(item, AssistantContent))
        if id(calls) not in self._session.note_texts():
            self._session.notes.append(Note(calls, render_note(ANSWER_NOW, {})))

    @property
    def budget(self) -> Budget:
        """Tokens per room of the prompt."""
        return self._budget

    async def async_entity_context(self) -> str:
        """Return the states that the first turn part would tell, for instructions that have a place for them.

        From now on they count as told.
        """
        text, self._session.told = await self._async_states(self._budget)
        self._session.entity_context = text
        return text

    async def _async_shorten_words(self, budget: Budget) -> Budget:
        """Take states out of instructions that were too long; return what is left for the turn part."""
        session, mask = self._session, self._turn.mask
        text, session.told = await self._async_states(budget)
        before, after = (masked_part(part, mask) if mask else part for part in (session.entity_context, text))
        self._words = self._words.replace(before, after, 1)
        session.instructions, session.entity_context = self._words, text
        return replace(budget, states=0, found=0, found_later=0)

    async def _async_states(self, budget: Budget) -> tuple[str, dict[str, Told]]:
        await self._async_write_stable_part()  # whether the home map names everything decides how states are told
        query = self._query("")
        await self._async_find(query)
        await self._async_see_again()
        return await async_states(self._telling(Known(), budget, {}))

    async def _async_view(self) -> View:
        return await self._sources.views.async_of(await self._home.async_get(), self._turn.user)

    async def _async_see_again(self) -> None:
        """Take the home as it is by now: looking things up takes its time, and what was hidden meanwhile is told to nobody."""
        if (view := await self._async_view()) is self._view:
            return
        self._view = view
        entities = view.snapshot.entities
        self._found = [entities[item.entity_id] for item in self._found if item.entity_id in entities]
        await self._async_write_stable_part()

    async def _async_mode(self) -> Mode:
        """Return the profile's mode; `auto`: everything while names and states fit their shares, else what is looked up.

        A list of the owner's that fits is told in any case.
        """
        profile = self._turn.profile
        if profile.context_mode != AUTO:
            return Mode(profile.context_mode)
        home_map = await self._view.async_map(self._budget.home_map, self._estimate)
        if not home_map.full and not profile.context_entities:
            return Mode.RETRIEVED
        selection = await async_selection(self._hass, self._turn, self._view, self._budget.states, self._estimate)
        whole = selection.detailed and not selection.left_out
        if whole and home_map.full and home_map.tokens + selection.tokens <= AUTO_TOKENS:
            return Mode.DIRECT
        return Mode.BOTH if whole and profile.context_entities else Mode.RETRIEVED

    async def _async_write_stable_part(self) -> None:
        text = None
        if self._mode is not Mode.OFF and self._view.snapshot.entities:
            tokens = self._budget.small_map if self._mode is Mode.RETRIEVED else self._budget.home_map
            if self._session.map_limit is not None:
                tokens = min(tokens, self._session.map_limit)
            self._map = await self._view.async_map(tokens, self._estimate)
            text = self._map.text
        system = stable_text(self._words, text, self._chat_log.extra_system_prompt)
        self._chat_log.content[0] = SystemContent(content=system)

    async def _async_add_part(self, budget: Budget) -> None:
        """Decide which rounds are sent, and tell what the model does not know from them."""
        sent = sent_rounds(self._all(), self._session, self._turn.profile, budget.limits, self._estimate)
        if self._turn.profile.history_summary:
            live = {id(item) for item in self._chat_log.content}  # what was kept is told to nobody but whoever said it
            self._session.dropped += [item for one in sent.dropped for item in one if id(item) in live]
        left_out = LeftOut()
        try:
            part, left_out = await self._async_part(budget, sent.rounds)
        except Exception:  # noqa: BLE001 - a state that cannot be told must not cost the answer
            LOGGER.exception("The states of the house could not be told")
            part = TurnPart(content=self._question, text="")
        self._session.parts.append(part)
        self._report(part, left_out, sent)

    async def _async_part(self, budget: Budget, rounds: Sequence[Round]) -> tuple[TurnPart, LeftOut]:
        known = self._session.known_from([item for one in rounds for item in one])
        asked = [item.content for one in rounds[:-1] for item in one if isinstance(item, UserContent)]
        blocks = await self._async_look_up(self._query(asked[-1] if asked else ""), budget, known)
        await self._async_see_again()
        return await async_turn_part(self._telling(known, budget, blocks))

    def _query(self, previous: str) -> Query:
        """Return what is looked for; `previous` is what was said before."""
        return query_for(
            self._turn,
            self._view.snapshot,
            self._mode,
            spoken_of=self._session.spoken_of,
            previous=previous,
            habits=self._sources.lookup.habits(),
        )

    def _telling(self, known: Known, budget: Budget, blocks: Mapping[str, Block]) -> Telling:
        return Telling(
            hass=self._hass,
            turn=self._turn,
            session=self._session,
            view=self._view,
            mode=self._mode,
            content=self._question,
            known=known,
            budget=budget,
            estimate=self._estimate,
            map_is_full=self._map.full,
            found=self._found,
            blocks=blocks,
        )

    async def _async_look_up(self, query: Query, budget: Budget, known: Known) -> Mapping[str, Block]:
        """Find entities, and at the same time what the providers have; entities are asked for first, and told first."""
        asked = Asked(turn=self._turn, query=query, tokens=budget.blocks)
        asking = self._sources.providers.async_blocks(asked, known.items, self._estimate)
        if not self._mode.looks_up:
            return await asking
        _, blocks = await asyncio.gather(create_eager_task(self._async_find(query)), create_eager_task(asking))
        return blocks

    async def _async_find(self, query: Query) -> None:
        """Keep what the request is about; it is looked for once, also where a shorter request is made."""
        if not self._mode.looks_up or self._looked_up:
            return
        self._looked_up = True
        self._found = await self._sources.lookup.async_entities(query, self._view.snapshot)
        self._session.spoke_of([entity.entity_id for entity in self._found[:SPOKEN_OF]])

    def _report(self, part: TurnPart, left_out: LeftOut, sent: Sent) -> None:
        """Say what the model is told, and what of all there is it is not."""
        tokens = self._estimate(part.text)
        counts = dict(Counter(key.partition(":")[0] for key in part.items))
        events.async_context_injected(self._hass, self._turn, self._mode.value, list(part.told), tokens, counts)
        states = 0
        if self._mode is Mode.RETRIEVED and not sent.rounds[1:]:
            states = max(0, len(self._view.snapshot.entities) - len(part.told)) * STATE_TOKENS
        cut = left_out.states + left_out.changes
        optimized = events.Optimized(
            original_tokens=self._map.full_tokens + max(tokens + states, left_out.full_tokens) + sent.dropped_tokens,
            optimized_tokens=self._map.tokens + tokens,
            was_truncated=bool(cut or left_out.attributes or sent.dropped or self._session.map_limit is not None),
            rounds_dropped=len(sent.dropped),
            entities_left_out=cut,
            attributes_left_out=left_out.attributes,
            home_map_reduced=not self._map.full,
        )
        events.async_context_optimized(self._hass, self._turn, optimized)

    def _sent(self) -> list[Content]:
        """Return the chat log from the oldest round that is sent, without rounds that failed."""
        sent = sent_rounds(self._all(), self._session, self._turn.profile, UNLIMITED, self._estimate)
        return [item for one in sent.rounds for item in one]

    def _told(self) -> list[str]:
        """Return what was told of the house in the request that was too long."""
        sent = {id(item) for item in self._sent()}
        return [self._session.entity_context, *(part.text for part in self._session.parts if id(part.content) in sent)]

    def _all(self) -> list[Content]:
        """Return what was said before this session and in it."""
        return [*self._past, *self._chat_log.content]
