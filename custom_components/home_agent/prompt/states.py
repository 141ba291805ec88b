"""The home as one reader may see it: which of its states are listed, how they stand in the system message, and what is found.

States stand in the system message as they were when they were written down, the same in every conversation; a turn carries
what is different since, and what its message is about (`layout`), so it costs a few dozen tokens however large the home is.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta, tzinfo
from fnmatch import fnmatchcase
from typing import Any

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util, slugify

from ..home.exposure import is_within, may_tell
from ..home.foreign import taints_of_outsiders
from ..home.snapshot import HomeEntity, HomeSnapshot
from ..home.states import describe
from ..home.volatility import Holds, Volatility
from ..search.model import FoundEntity, Query
from ..search.ranking import relevant
from ..settings.profile import AUTO, AUTO_TOKENS, ContextEntity, ContextMode, Narrowing, Profile
from ..support.bounds import in_slices
from ..support.masking import Mask
from ..support.outages import Outages
from ..transcript.turn_part import Baseline, Estimate, KnownState, render_states
from ..turn.turn import Turn
from .budget import FIXED_STEP, Budget
from .home_map import NAME_SEPARATOR, HomeMap, async_home_map, async_with_states, says_its_name
from .layout import Attributes, Inputs, Selection, described, rendered

SHORT_LINE = 25  # characters; most ids and states are longer
MAX_CHARS_PER_TOKEN = 5  # more than any tokenizer gets out of ids and states
NEARLY = 2 * FIXED_STEP  # tokens by which the room may differ for which states were written down
LOOKUP_TIMEOUT = 3.0  # seconds; an embedding endpoint may be asked on the way
MAX_READ = 2_000  # characters of a message that are looked up: a pasted book would keep the index busy
DATE = "%A %Y-%m-%d"

type ToldAs = tuple[str, str, tuple[ContextEntity, ...], str]
"""What decides how states are told to an agent: its subentry id, and its settings."""

# The home as one reader may see it, and what was made of it: kept as long as the home stays as it is.


@dataclass(slots=True, kw_only=True)
class View:
    """What a reader may see."""

    hass: HomeAssistant
    snapshot: HomeSnapshot
    base: HomeSnapshot
    permissions: object = None
    maps: dict[int, HomeMap] = field(default_factory=dict)
    selections: dict[tuple[ToldAs, int, bool], Selection] = field(default_factory=dict)
    introductions: dict[str, str] = field(default_factory=dict)
    baselines: dict[tuple[ToldAs, int, bool], Baseline] = field(default_factory=dict)
    modes: dict[tuple[ToldAs, int, int], ContextMode] = field(default_factory=dict)

    async def async_map(self, budget: int, estimate: Estimate) -> HomeMap:
        """Return the home map; the same one for the same budget."""
        if (kept := self.maps.get(budget)) is None:
            kept = self.maps[budget] = await async_home_map(self.snapshot, budget, estimate)
        return kept

    async def async_selection(
        self, turn: Turn, budget: int, estimate: Estimate, *, map_is_full: bool = True
    ) -> Selection:
        """Return what is sent without being asked, within `budget` tokens; remembered while the home stays the same."""
        names = not map_is_full or turn.profile.context_format != "json"
        key = (told_as(turn.profile), budget, names)
        if turn.context_entities is not None:
            return await self._async_select(turn, budget, estimate, names=names)
        if (kept := self.selections.get(key)) is None:
            kept = self.selections[key] = await self._async_select(turn, budget, estimate, names=names)
        return kept

    async def async_mode(self, turn: Turn, budget: Budget, estimate: Estimate) -> ContextMode:
        """Return the profile's mode; `auto`: everything if names and states fit their shares, else what is looked up."""
        profile = turn.profile
        key = (told_as(profile), budget.home_map, budget.states)
        if profile.context_mode != AUTO:
            return ContextMode(profile.context_mode)
        if (kept := self.modes.get(key)) is not None:
            return kept
        mode = ContextMode.RETRIEVED
        home_map = await self.async_map(budget.home_map, estimate)
        if home_map.full or profile.context_entities:
            states = max(0, budget.prompt - home_map.tokens - budget.kept)
            selection = await self.async_selection(turn, states, estimate)
            whole = selection.detailed and not selection.left_out
            if whole and home_map.full and home_map.tokens + selection.tokens <= AUTO_TOKENS:
                mode = ContextMode.DIRECT
            elif whole and profile.context_entities:
                mode = ContextMode.BOTH
        self.modes[key] = mode
        return mode

    async def async_kept_baseline(
        self, turn: Turn, inputs: Inputs, volatility: Volatility, *, home_map: HomeMap, zone: tzinfo | None = None
    ) -> Baseline:
        """Return the baseline of a conversation while it holds, else the one for its budget; made now if there is none."""
        seen, known, budget = self.snapshot, inputs.baseline, inputs.budget
        if (
            known is not None
            and (known.home is seen or known.told.keys() <= seen.entities.keys())
            and (home_map.full or not known.home_map)
        ):
            return known
        room = budget.prompt - home_map.tokens - budget.kept - budget.found_later
        key = (told_as(turn.profile), room, home_map.full)
        if (kept := self.baselines.get(key)) is not None:
            return kept
        for (own, other, whole), kept in self.baselines.items():  # where a device is offered another tool, it stays
            if (own, whole) == (key[0], home_map.full) and abs(other - room) <= NEARLY and kept.tokens <= room:
                return kept
        states = max(0, min(budget.states, room))
        selection = await self.async_selection(turn, states, inputs.estimate, map_is_full=home_map.full)
        made = await self._async_baseline(turn, inputs.estimate, volatility, selection, home_map=home_map, zone=zone)
        self.baselines[key] = made
        return made

    async def _async_baseline(
        self,
        turn: Turn,
        estimate: Estimate,
        volatility: Volatility,
        selection: Selection,
        *,
        home_map: HomeMap,
        zone: tzinfo | None,
    ) -> Baseline:
        """Return the states of the stable part as they are now: in the home map if it is full and they are JSON."""
        today = dt_util.now(zone)
        midnight = (today + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        facts = {"date": today.strftime(DATE), "language": self.hass.config.language}
        now = today.timestamp()
        found = self.describe(selection.entities, selection.attributes, detailed=selection.detailed)
        told = {entity.entity_id: known async for entity, known in in_slices(found)}
        for entity_id, known in list(told.items()):
            holds = volatility.holds(known.state, now) if known.state is not None else Holds.NOTHING
            if known.state is not None and taints_of_outsiders(known.state, selection.attributes.get(entity_id, ())):
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
            notes = {} if home_map.full else {entity_id: self.introduction(entity_id) for entity_id in lines}
            text += "\n" + render_states(rendered(lines, self.snapshot, turn.profile.context_format, notes))
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

    def changed_since(self, baseline: Baseline) -> dict[str, str]:
        """Return what is told in each conversation because it changed since, by entity id."""
        entities, states = self.snapshot.entities, self.hass.states
        return {
            entity_id: f'"{entity_id}":"{describe(state, detailed=False)}",'
            for entity_id, known in baseline.told.items()
            if entity_id in entities
            and (state := states.get(entity_id)) is not None
            and known.state is not None
            and state is not known.state
            and state.state != known.state.state
        }

    def describe(
        self, entities: Iterable[HomeEntity], attributes: Attributes, *, detailed: bool
    ) -> Iterator[tuple[HomeEntity, KnownState]]:
        """Return the entities that have a state, each as the model knows it afterwards."""
        return described(self.hass.states.get, entities, attributes, detailed=detailed, knows=self.knows)

    def knows(self, entity_id: str) -> bool:
        """Return whether the reader may be told of an entity; true for what is none."""
        return entity_id in self.snapshot.entities or (
            entity_id not in self.base.entities and may_tell(self.hass, entity_id)
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

    async def _async_select(self, turn: Turn, budget: int, estimate: Estimate, *, names: bool) -> Selection:
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
            lines = await self._async_lines(everything, budget, names=names)
            if (tokens := estimate(",".join(lines.values()))) <= budget:
                return Selection(entities, attributes, tokens=tokens)
        lines = await self._async_lines(Selection(entities, attributes, detailed=False), budget, names=names)
        tokens = estimate(",".join(lines.values()))
        fitting = len(lines) if tokens <= budget else len(lines) * budget // tokens
        selected = [self.snapshot.entities[entity_id] for entity_id in list(lines)[:fitting]]
        spent = tokens * fitting // max(1, len(lines))
        return Selection(selected, attributes, detailed=False, left_out=len(entities) - fitting, tokens=spent)

    async def _async_lines(self, selection: Selection, budget: int, *, names: bool) -> dict[str, str]:
        """Return the lines by entity id, until they are longer than the budget can be."""
        lines: dict[str, str] = {}
        room = budget * MAX_CHARS_PER_TOKEN
        found = self.describe(selection.entities, selection.attributes, detailed=selection.detailed)
        async for entity, now in in_slices(found):
            entity_id = entity.entity_id
            note = self.introduction(entity_id) if names else ""
            line = lines[entity_id] = f'"{entity_id}":"{now.text} ({note})"' if note else f'"{entity_id}":"{now.text}"'
            room -= len(line)
            if room < 0:
                break
        return lines


def told_as(profile: Profile) -> ToldAs:
    """Return what decides how states are told to an agent: with other settings nothing of before holds."""
    return profile.subentry_id, profile.context_format, profile.context_entities, profile.timezone


class Views:
    """One view for all who may read everything, and one for each other user; the same for each part of the home."""

    def __init__(self) -> None:
        """Start with none."""
        self._views: dict[tuple[str | None, tuple[Narrowing, ...]], View] = {}

    @callback
    def async_forget(self, profile_ids: Collection[str]) -> None:
        """Forget what was written down for agents that were changed or removed, by subentry id."""
        for view in self._views.values():
            made: tuple[dict[Any, Any], ...] = (view.selections, view.baselines, view.modes)
            for kept in made:
                for key in [key for key in kept if key[0][0] in profile_ids]:
                    del kept[key]

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
            view = self._views[key, within] = View(hass=hass, snapshot=seen, base=snapshot, permissions=permissions)
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
    habits: Callable[[], Mapping[str, float]] = dict
    _outages: Outages = field(default_factory=Outages)

    def query(
        self, turn: Turn, snapshot: HomeSnapshot, mode: ContextMode, *, spoken_of: Sequence[str], previous: str
    ) -> Query:
        """Return what is looked for in the reader's view: on the owner's list if there is one, unless that is sent anyway."""
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
        """Return the entities that a request is about, best first; without an index those spoken of and in the user's area."""
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
