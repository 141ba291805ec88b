"""The state context: which entity states stand in the stable part of the prompt, and which a turn sends.

Which entities: those the profile lists, those a request seems to be about, and whatever changed of what the model knows.
How much of each: all with attributes, else all without, else some. What is listed stands in the stable part as it was when
it was written down, the same in every conversation; a turn carries what is different since, and what its request is about,
so it costs a few dozen tokens however large the home is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta, tzinfo
from fnmatch import fnmatchcase
from functools import partial
import time

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util, slugify
from homeassistant.util.json import JsonValueType

from ..home.exposure import is_within, may_tell
from ..home.snapshot import HomeEntity, HomeSnapshot
from ..home.states import PROSE, describe, may_be_of_others
from ..home.volatility import Holds, Volatility
from ..search.model import FoundEntity, Query
from ..search.ranking import relevant
from ..settings.profile import ContextMode, Narrowing
from ..support.bounds import SLICE, in_slices
from ..support.masking import Mask
from ..support.outages import Outages
from ..transcript.transcript import Baseline, KnownState, KnownStates, Transcript, render_states
from ..turn.turn import Turn
from .budget import Budget
from .home_map import NAME_SEPARATOR, HomeMap, async_home_map, async_with_states, says_its_name

SHORT_LINE = 25  # characters; most ids and states are longer
MAX_CHARS_PER_TOKEN = 5  # more than any tokenizer gets out of ids and states
DETAILED = 6  # entities; a request is rarely about more, and where it is, it is about what they are and not how
CHANGES_TOKENS = 60  # for what changed of what the model knows, where what a request is about takes all the room
LOOKUP_TIMEOUT = 3.0  # seconds; an embedding endpoint may be asked on the way
MAX_READ = 2_000
"""Characters of a message that are looked up: nobody asks in more, and a pasted book would keep the index busy."""
GONE = "gone"
TAINT = "states"
"""What a confirmation names when states that others wrote make the conversation careful."""
DATE = "%A %Y-%m-%d"
ASKED = 4  # entities that a request is about and that are told again although nothing of them is different

type Attributes = Mapping[str, tuple[str, ...]]
"""The attributes that the owner chose, by entity id; without an entry those that matter for the domain."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The entities that are sent without being asked for; chosen once and kept until the home changes."""

    entities: Sequence[HomeEntity]
    attributes: Attributes = field(default_factory=dict)
    detailed: bool = True
    left_out: int = 0
    tokens: int = 0
    """Of the lines, when it was chosen."""

    @property
    def full_tokens(self) -> int:
        """What everything would take, with what is left out; about."""
        return self.tokens * (len(self.entities) + self.left_out) // max(1, len(self.entities))


# The home as one reader may see it, and what was made of it: kept as long as the home stays as it is.


@dataclass(slots=True, kw_only=True)
class View:
    """What a reader may see."""

    snapshot: HomeSnapshot
    base: HomeSnapshot
    """The whole home it was taken from."""
    permissions: object = None
    """Those it was made with; None: everything may be read."""
    maps: dict[int, HomeMap] = field(default_factory=dict)
    """By budget."""
    selections: dict[tuple[object, ...], Selection] = field(default_factory=dict)
    described: dict[tuple[str, tuple[str, ...], bool], KnownState] = field(default_factory=dict)
    """By entity id, attributes and detail: a new conversation sends the same states again, described only once."""
    introductions: dict[str, str] = field(default_factory=dict)
    """By entity id."""
    baselines: dict[tuple[str, int, bool], Baseline] = field(default_factory=dict)
    """By profile, budget and home map."""
    modes: dict[tuple[object, ...], ContextMode] = field(default_factory=dict)
    """By profile and budget: what `auto` comes to."""

    async def async_map(self, budget: int, estimate: Callable[[str], int]) -> HomeMap:
        """Return the home map; the same one for the same budget."""
        if (kept := self.maps.get(budget)) is None:
            kept = self.maps[budget] = await async_home_map(self.snapshot, budget, estimate)
        return kept

    async def async_selection(
        self,
        hass: HomeAssistant,
        turn: Turn,
        budget: int,
        estimate: Callable[[str], int],
        *,
        map_is_full: bool = True,
    ) -> Selection:
        """Return what is sent without being asked; remembered while the home stays the same.

        `budget` is in tokens. Names are counted where the home map or the format has none besides.
        """
        names = not map_is_full or turn.profile.context_format != "json"
        key = (turn.profile.subentry_id, budget, names)
        if turn.context_entities is not None:
            return await self._async_select(hass, turn, budget, estimate, names=names)
        if (kept := self.selections.get(key)) is None:
            kept = self.selections[key] = await self._async_select(hass, turn, budget, estimate, names=names)
        return kept

    async def async_baseline(
        self,
        hass: HomeAssistant,
        turn: Turn,
        budget: int,
        estimate: Callable[[str], int],
        volatility: Volatility,
        *,
        home_map: HomeMap,
        zone: tzinfo | None = None,
    ) -> Baseline:
        """Return the states of the stable part as they are now, with the date in `zone` and the language of the home.

        As JSON they stand in the home map, where it names each entity. Without what changes all the time: that is told when a request is about it.
        """
        selection = await self.async_selection(hass, turn, budget, estimate, map_is_full=home_map.full)
        told: dict[str, KnownState] = {}
        today = dt_util.now(zone)
        midnight = (today + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        facts = {"date": today.strftime(DATE), "language": hass.config.language}
        now = today.timestamp()
        entities = {entity.entity_id: entity for entity in selection.entities}
        async for entity, state in in_slices(
            self.describe(hass, selection.entities, selection.attributes, detailed=selection.detailed)
        ):
            told[entity.entity_id] = KnownState(state.text, state.state)
        for entity_id, known in list(told.items()):
            holds = volatility.holds(known.state, now) if known.state is not None else Holds.NOTHING
            if known.state is not None and may_be_of_others(known.state, selection.attributes.get(entity_id, ())):
                holds = Holds.NOTHING  # what strangers write is told to whom it concerns
            if holds is Holds.NOTHING:
                del told[entity_id]
            elif holds is Holds.STATE and known.state is not None:
                told[entity_id] = KnownState(describe(known.state, detailed=False), known.state)
        lines = {entity_id: known.text for entity_id, known in told.items()}
        text, named = render_states(dict(facts)), ""
        if home_map.full and turn.profile.context_format == "json":
            named = await async_with_states(self.snapshot, lines)
        else:
            introduced = () if home_map.full else entities
            text += "\n" + render_states(self.rendered(lines, turn.profile.context_format, introduced))
        return Baseline(
            home=self.snapshot,
            told=told,
            text=text,
            home_map=named,
            tokens=estimate(text) + (max(0, estimate(named) - home_map.tokens) if named else 0),
            left_out=selection.left_out,
            full_tokens=selection.full_tokens if selection.left_out else 0,
            attributes=selection.attributes,
            facts=facts,
            holds_until=midnight.timestamp(),
        )

    async def async_home_map(self, baseline: Baseline, mask: Mask | None) -> str:
        """Return the home map as it is now with the states of a baseline, personal data in them hidden by `mask`."""
        lines = {entity_id: mask(known.text) if mask else known.text for entity_id, known in baseline.told.items()}
        return await async_with_states(self.snapshot, lines)

    def changed_since(self, hass: HomeAssistant, baseline: Baseline) -> dict[str, str]:
        """Return what is told in each conversation because it changed since, by entity id."""
        entities, states = self.snapshot.entities, hass.states
        return {
            entity_id: f'"{entity_id}":"{describe(state, detailed=False)}",'
            for entity_id, known in baseline.told.items()
            if entity_id in entities
            and (state := states.get(entity_id)) is not None
            and known.state is not None
            and state is not known.state
            and state.state != known.state.state
        }

    def rendered(self, lines: Mapping[str, str], context_format: str, introduced: Collection[str]) -> JsonValueType:
        """Return lines in a profile's context format; what is `introduced` has its name and area with it."""
        if context_format != "json":
            return states_in_words(lines, self.snapshot, as_sentences=context_format != "hybrid")
        notes = {entity_id: self.introduction(entity_id) for entity_id in lines if entity_id in introduced}
        return {
            entity_id: f"{text} ({note})" if (note := notes.get(entity_id)) else text
            for entity_id, text in lines.items()
        }

    def describe(
        self, hass: HomeAssistant, entities: Iterable[HomeEntity], attributes: Attributes, *, detailed: bool
    ) -> Iterator[tuple[HomeEntity, KnownState]]:
        """Yield the entities that have a state, each as the model knows it afterwards; the same object for the same state."""
        get, described = hass.states.get, self.described
        for entity in entities:
            entity_id = entity.entity_id
            if (state := get(entity_id)) is None:
                continue
            chosen = attributes.get(entity_id, ())
            key = (entity_id, chosen, detailed)
            if (now := described.get(key)) is None or now.state is not state:
                text = describe(state, chosen, detailed=detailed, knows=partial(self.knows, hass))
                now = described[key] = KnownState(text, state)
            yield entity, now

    def knows(self, hass: HomeAssistant, entity_id: str) -> bool:
        """Return whether the reader may be told of an entity; true for what is none."""
        return entity_id in self.snapshot.entities or (
            entity_id not in self.base.entities and may_tell(hass, entity_id)
        )

    def introduction(self, entity_id: str) -> str:
        """Return name, other names and area of an entity, as far as its id does not contain them."""
        if (text := self.introductions.get(entity_id)) is None:
            entity = self.snapshot.entities[entity_id]
            words = [] if says_its_name(entity) else [NAME_SEPARATOR.join(entity.names)]
            area = self.snapshot.areas.get(entity.area_id) if entity.area_id else None
            if area and slugify(area.names[0]) not in entity_id.partition(".")[2]:
                words.append(area.names[0])
            text = self.introductions[entity_id] = ", ".join(words)
        return text

    async def _async_select(
        self, hass: HomeAssistant, turn: Turn, budget: int, estimate: Callable[[str], int], *, names: bool
    ) -> Selection:
        attributes: dict[str, tuple[str, ...]] = {}
        entities = list(self.snapshot.entities.values())
        if rows := rows_of(turn):
            async for entity in in_slices(entities):
                matching = [chosen for pattern, chosen in rows if fnmatchcase(entity.entity_id, pattern)]
                if matching:
                    attributes[entity.entity_id] = matching[-1]
            entities = [self.snapshot.entities[entity_id] for entity_id in attributes]
        if len(entities) * SHORT_LINE <= budget * MAX_CHARS_PER_TOKEN:
            everything = Selection(entities, attributes)
            lines = await self._async_lines(hass, everything, budget, names=names)
            if (tokens := estimate(",".join(lines.values()))) <= budget:
                return Selection(entities, attributes, tokens=tokens)
        lines = await self._async_lines(hass, Selection(entities, attributes, detailed=False), budget, names=names)
        tokens = estimate(",".join(lines.values()))
        fitting = len(lines) if tokens <= budget else len(lines) * budget // tokens
        selected = [self.snapshot.entities[entity_id] for entity_id in list(lines)[:fitting]]
        spent = tokens * fitting // max(1, len(lines))
        return Selection(selected, attributes, detailed=False, left_out=len(entities) - fitting, tokens=spent)

    async def _async_lines(
        self, hass: HomeAssistant, selection: Selection, budget: int, *, names: bool
    ) -> dict[str, str]:
        """Return the lines by entity id, until they are longer than the budget can be."""
        lines: dict[str, str] = {}
        room = budget * MAX_CHARS_PER_TOKEN
        described = self.describe(hass, selection.entities, selection.attributes, detailed=selection.detailed)
        async for entity, now in in_slices(described):
            entity_id = entity.entity_id
            note = self.introduction(entity_id) if names else ""
            line = lines[entity_id] = f'"{entity_id}":"{now.text} ({note})"' if note else f'"{entity_id}":"{now.text}"'
            room -= len(line)
            if room < 0:
                break
        return lines


class Views:
    """One view for all who may read everything, and one for each other user; the same for each part of the home."""

    def __init__(self) -> None:
        """Start with none."""
        self._views: dict[tuple[str | None, tuple[Narrowing, ...]], View] = {}

    async def async_of(self, hass: HomeAssistant, snapshot: HomeSnapshot, turn: Turn) -> View:
        """Return what may be told of the home in a turn; where no user is known, exposure alone decides."""
        user, within = turn.user, turn.within
        restricted = user if user and not user.permissions.access_all_entities(POLICY_READ) else None
        key, permissions = (restricted.id, restricted.permissions) if restricted else (None, None)
        view = self._views.get((key, within))
        if view is None or view.base is not snapshot or view.permissions is not permissions:
            seen = snapshot
            if restricted or within:
                may_read = restricted.permissions.check_entity if restricted else None
                readable = {
                    entity_id: entity
                    async for entity_id, entity in in_slices(snapshot.entities.items())
                    if (may_read is None or may_read(entity_id, POLICY_READ)) and is_within(hass, entity_id, within)
                }
                seen = HomeSnapshot(readable, snapshot.areas, snapshot.names)
            if view is not None and view.snapshot.entities == seen.entities and view.snapshot.areas == seen.areas:
                view.base, view.permissions = snapshot, permissions  # what changed is nothing that this reader sees
                return view
            view = self._views[key, within] = View(snapshot=seen, base=snapshot, permissions=permissions)
        return view


def rows_of(turn: Turn) -> list[tuple[str, tuple[str, ...]]]:
    """Return the owner's list, or that of this request instead: patterns with attributes. Empty: everything."""
    if turn.context_entities is not None:
        return [(row.pattern, row.attributes) for row in turn.context_entities]
    return [(row.pattern, row.attributes) for row in turn.profile.context_entities]


# What a request seems to be about: found in the index, and only what this reader may see now.


@dataclass(slots=True, kw_only=True)
class Lookup:
    """Finds entities; owned by the entry."""

    find: Callable[[Query], Awaitable[list[FoundEntity]]]
    """Returns the best entities first."""
    habits: Callable[[], Mapping[str, float]] = dict
    """How often the household acts on an entity, 0 to 1."""
    _outages: Outages = field(default_factory=Outages)

    def query(
        self, turn: Turn, snapshot: HomeSnapshot, mode: ContextMode, *, spoken_of: Sequence[str], previous: str
    ) -> Query:
        """Return what is looked for, and what is known about the user; `previous` is what was said before.

        An entity may be found when it is in the reader's view of the home, and on the owner's list if there is one. In the
        mode `both` that list is sent anyway, so it does not limit what is found.
        """
        entities = snapshot.entities
        rows = rows_of(turn)

        def is_listed(entity_id: str) -> bool:
            return entity_id in entities and any(fnmatchcase(entity_id, pattern) for pattern, _ in rows)

        limited = rows and (mode is not ContextMode.BOTH or turn.context_entities is not None)
        return Query(
            text=turn.text[:MAX_READ],
            language=turn.language,
            area_id=turn.area_id,
            spoken_of=tuple(entity_id for entity_id in spoken_of if entity_id in entities),
            previous=previous[:MAX_READ],
            habits=self.habits() if mode.looks_up else {},
            allowed=is_listed if limited else entities.__contains__,
            limit=turn.profile.context_max_entities,
        )

    async def async_entities(self, query: Query, snapshot: HomeSnapshot) -> list[HomeEntity]:
        """Return the entities that a request is about, best first.

        Without an index: what was spoken of, then what is in the area of the asking device.
        """
        entities = snapshot.entities
        found = await self._outages.async_answer("What a request is about", LOOKUP_TIMEOUT, self.find(query))
        if found is not None:
            near, limit = [item.entity_id for item in relevant(found)], None  # beyond the limit: the rest of a group
        else:
            here = [item.entity_id for item in entities.values() if query.area_id and item.area_id == query.area_id]
            near, limit = list(dict.fromkeys((*query.spoken_of, *here))), query.limit
        allowed = query.allowed
        return [
            entities[entity_id]
            for entity_id in near
            if entity_id in entities and (allowed is None or allowed(entity_id))
        ][:limit]


# What one turn sends.


@dataclass(slots=True)
class OmittedStates:
    """What there was no room for."""

    states: int = 0
    changes: int = 0
    attributes: bool = False
    full_tokens: int = 0
    """What the states would have taken, about; 0: nothing was left out."""


@dataclass(slots=True, kw_only=True)
class StateContext:
    """The states of one turn part; made for one use."""

    hass: HomeAssistant
    turn: Turn
    transcript: Transcript
    view: View
    mode: ContextMode
    known: KnownStates
    """What the model still knows."""
    budget: Budget
    estimate: Callable[[str], int]
    map_is_full: bool = True
    """Whether the home map names every entity; otherwise what is sent for the first time is introduced."""
    found: Sequence[HomeEntity] = ()
    """What the request seems to be about, best first."""
    states: dict[str, KnownState] = field(default_factory=dict)
    """What the model knows from this part."""
    lines: dict[str, str] = field(default_factory=dict)
    """The text of each entity that reads differently from what the model knew, by id."""
    retells: bool = True
    """Whether the best of what the request is about is told also where it is as the baseline says."""
    again: set[str] = field(default_factory=set)
    """What is told although it reads the same: the model knows it from long ago, and the request is about it."""

    async def async_states(self) -> tuple[JsonValueType, OmittedStates]:
        """Return the states in the profile's context format, and what is not among them; `states` is then known.

        What is gone, what is listed, what the request is about, and what changed of all that.
        """
        left_out = OmittedStates()
        if self.mode is ContextMode.OFF:
            return {}, left_out
        known, entities, looks_up = self.known.entities, self.view.snapshot.entities, self.mode.looks_up
        interval, sent_at = self.turn.profile.context_update_interval, self.transcript.states_told_at
        # States that nobody asked for: the owner may want them less often.
        due = not (known and interval and sent_at is not None and self.hass.loop.time() - sent_at < interval)
        if due:
            gone = [key for key, before in known.items() if before.state is not None and key not in entities]
            self.states |= dict.fromkeys(gone, KnownState(GONE, None))
            self.lines |= dict.fromkeys(gone, GONE)
        if due and self.transcript.baseline is not None:
            self._add_since(self.transcript.baseline)
            left_out.states = 0 if self.transcript.rounds[1:] or looks_up else self.transcript.baseline.left_out
            left_out.full_tokens = self.transcript.baseline.full_tokens
        if due and ((self.transcript.baseline is None and self.mode.lists) or self.turn.context_entities is not None):
            selection = await self.view.async_selection(
                self.hass, self.turn, self.budget.states, self.estimate, map_is_full=self.map_is_full
            )
            await self._async_add(selection)
            left_out.attributes = not selection.detailed
            if known and not looks_up:
                before = [entities[entity_id] for entity_id in known if entity_id in entities]
                await self._async_add(Selection(before, detailed=False))
            if selection.left_out:
                left_out.states = 0 if known or looks_up else selection.left_out
                left_out.full_tokens = selection.full_tokens
        if looks_up or self.found:
            budget = self.budget.found_later if known else self.budget.found
            before_found = len(self.lines)
            left_out.states += self._add_found(budget)
            if due and self.transcript.baseline is None:
                spent = self.estimate("".join(f"{text}{key}" for key, text in list(self.lines.items())[before_found:]))
                left_out.changes = self._add_changed(max(budget - spent, min(budget, CHANGES_TOKENS)))
        if due:
            self.transcript.states_told_at = self.hass.loop.time()
        self._note_others()
        introduced = () if self.map_is_full else self.lines.keys() - known.keys()
        return self.view.rendered(self.lines, self.turn.profile.context_format, introduced), left_out

    def _note_others(self) -> None:
        """Make the conversation careful where people outside the home may have written what is told."""
        turn = self.turn
        has_rows = turn.context_entities is not None or bool(turn.profile.context_entities)
        rows = rows_of(turn) if has_rows else []  # of what the owner chose, titles may be told
        for entity_id in self.lines:
            if (state := self.states[entity_id].state) is None or not (rows or len(state.state) > PROSE):
                continue
            chosen = next((names for pattern, names in reversed(rows) if fnmatchcase(entity_id, pattern)), ())
            if may_be_of_others(state, chosen):
                turn.record.taints.add(TAINT)
                break

    async def _async_add(self, selection: Selection) -> None:
        """Add everything that was chosen and is new or has changed."""
        known, states, lines = self.known.entities, self.states, self.lines
        described = self.view.describe(self.hass, selection.entities, selection.attributes, detailed=selection.detailed)
        deadline = time.perf_counter() + SLICE
        for entity, now in described:
            if time.perf_counter() > deadline:
                await asyncio.sleep(0)
                deadline = time.perf_counter() + SLICE
            entity_id = entity.entity_id
            before = known.get(entity_id)
            if entity_id in states or (before is not None and before.state is now.state):
                continue
            states[entity_id] = now
            if before is None or before.text != now.text:
                lines[entity_id] = now.text

    def _add_since(self, baseline: Baseline) -> None:
        """Add what changed of what the model knows: of the baseline the states, of what it was told since all of it.

        How far a lamp is dimmed is worth no word where nobody asks; what was told of it in the conversation stays true.
        """
        entities, known, get = self.view.snapshot.entities, self.known.entities, self.hass.states.get
        changed = [
            entities[entity_id]
            for entity_id, before in known.items()
            if before.state is not None
            and entity_id in entities
            and (state := get(entity_id)) is not None
            and state is not before.state
            and (state.state != before.state.state or baseline.told.get(entity_id) is not before)
        ]
        # nobody asked: how bright a lamp is matters where it was told, else whether it is on
        briefly = {
            entity.entity_id
            for entity in changed
            if baseline.told.get(entity.entity_id) is known[entity.entity_id] or "=" not in known[entity.entity_id].text
        }
        described = (
            item
            for detailed in (False, True)
            for item in self.view.describe(
                self.hass,
                [entity for entity in changed if (entity.entity_id not in briefly) is detailed],
                baseline.attributes,
                detailed=detailed,
            )
        )
        for entity, now in described:
            self.states[entity.entity_id] = now
            if now.text != known[entity.entity_id].text:
                self.lines[entity.entity_id] = now.text

    def _add_found(self, budget: int) -> int:
        """Add what the request is about; return how many are left out.

        What the model knows and is no longer true comes first, whatever it takes; then what is new to it. Where not all of
        it fits, only the best have attributes. The best are told again where the model knows them from the baseline alone.
        """
        known = self.known.entities
        long_ago = self.known.long_ago
        self.again.update(
            entity_id
            for entity in (self.found[:ASKED] if self.retells else ())
            if (entity_id := entity.entity_id) in long_ago and known.get(entity_id) is long_ago[entity_id]
        )
        new = self._new(self.found, detailed=True)
        new.sort(key=lambda item: item[0].entity_id not in known)
        # so few always have room
        sizes = [self._tokens(*item) for item in new] if len(new) > ASKED else [0] * len(new)
        if sum(sizes) > budget:
            new[DETAILED:] = self._new([entity for entity, _ in new[DETAILED:]], detailed=False)
            sizes = [self._tokens(*item) for item in new]
        for number, ((entity, now), size) in enumerate(zip(new, sizes, strict=True)):
            budget -= size
            before = known.get(entity.entity_id)
            if budget < 0 and before is None:
                return len(new) - number
            self.states[entity.entity_id] = now
            if before is None or before.text != now.text or entity.entity_id in self.again:
                self.lines[entity.entity_id] = now.text
        return 0

    def _add_changed(self, budget: int) -> int:
        """Add what changed of what the model knows, newest first; return how many are left out."""
        known, entities = self.known.entities, self.view.snapshot.entities
        left_out = 0
        newest = [entities[entity_id] for entity_id in reversed(list(known)) if entity_id in entities]
        for entity, now in self._new(newest, detailed=True):
            if now.text != known[entity.entity_id].text:
                budget -= self._tokens(entity, now)
                if budget < 0:
                    left_out += 1
                    continue
                self.lines[entity.entity_id] = now.text
            self.states[entity.entity_id] = now
        return left_out

    def _new(self, entities: Iterable[HomeEntity], *, detailed: bool) -> list[tuple[HomeEntity, KnownState]]:
        """Return the entities whose state the model does not know, with the attributes that the owner chose."""
        known, states, rows, get = self.known.entities, self.states, rows_of(self.turn), self.hass.states.get
        new = [
            entity
            for entity in entities
            if (entity_id := entity.entity_id) not in states
            and (
                (before := known.get(entity_id)) is None
                or before.state is not get(entity_id)
                or entity_id in self.again
            )
        ]
        chosen = {
            entity.entity_id: next(
                (names for pattern, names in reversed(rows) if fnmatchcase(entity.entity_id, pattern)), ()
            )
            for entity in (new if rows else ())
        }
        return list(self.view.describe(self.hass, new, chosen, detailed=detailed))

    def _tokens(self, entity: HomeEntity, now: KnownState) -> int:
        introduced = not self.map_is_full and entity.entity_id not in self.known.entities
        note = self.view.introduction(entity.entity_id) if introduced else ""
        return self.estimate(f'"{entity.entity_id}":"{now.text} ({note})",')


def states_in_words(lines: Mapping[str, str], snapshot: HomeSnapshot, *, as_sentences: bool) -> JsonValueType:
    """Return each state with name and area, as sentences or by entity id: `on (Desk lamp, Office)`."""
    sentences: list[JsonValueType] = []
    by_id: dict[str, JsonValueType] = {}
    for entity_id, text in lines.items():
        entity = snapshot.entities.get(entity_id)
        name = entity.names[0] if entity else entity_id
        area = snapshot.areas.get(entity.area_id) if entity and entity.area_id else None
        if as_sentences:
            where = f" in {area.names[0]}" if area else ""
            what = text.replace(" ", ", ", 1) if "=" in text else text
            sentences.append(f"{name}{where} ({entity_id}) is {what}.")
        else:
            by_id[entity_id] = f"{text} ({name}, {area.names[0]})" if area else f"{text} ({name})"
    return sentences if as_sentences else by_id
