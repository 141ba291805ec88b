"""The turn part: what is new since the model was last told. Time, place, and the states that matter.

It rides on the user message and is never changed once sent. The first one of a conversation carries everything, a later
one only what is different, so a turn costs a few dozen tokens however large the house is.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.conversation import UserContent
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
from homeassistant.util import dt as dt_util

from ..prompt.parts import StateLine, render_turn_part
from ..slices import in_slices
from ..turn import Turn
from .describe import describe
from .home import HomeEntity, HomeSnapshot
from .session import Selection, Session, Told, TurnPart

GONE = "gone"
MAX_MENTIONED = 40
LINE_OVERHEAD = 6  # characters of JSON around an id and its state


async def async_turn_part(
    hass: HomeAssistant,
    turn: Turn,
    session: Session,
    snapshot: HomeSnapshot,
    content: UserContent,
    told: tuple[dict[str, Told], dict[str, str]],
    budget: int,
    estimate: Callable[[str], int],
) -> TurnPart:
    """Return the part for this user message. `told` is what the model still knows; `budget` is in tokens."""
    known, known_facts = told
    facts = {key: value for key, value in _facts(hass, turn).items() if known_facts.get(key) != value}
    part = TurnPart(content=content, text="", facts=facts)
    lines: list[StateLine] = []
    left_out = 0
    if turn.profile.context_mode != "off" and _states_due(hass, turn, session, known):
        selection = session.selection
        if turn.context_entities is not None:
            selection = await _async_select(hass, turn, snapshot, budget, estimate)
        elif selection is None or selection.snapshot is not snapshot or not known:
            session.selection = selection = await _async_select(hass, turn, snapshot, budget, estimate)
        if selection.left_out:
            told_before = [snapshot.entities[entity_id] for entity_id in known if entity_id in snapshot.entities]
            selection = replace(selection, entities=[*selection.entities, *told_before, *_mentioned(turn, snapshot)])
        lines = await _async_lines(hass, turn, snapshot, selection, known, part.told)
        left_out = selection.left_out if not known else 0
        session.states_told_at = hass.loop.time()
    now = dt_util.now()
    part.text = render_turn_part(
        time=now.strftime("%H:%M"), facts=facts, lines=lines, left_out=left_out, style=turn.profile.context_format
    )
    return part


def _facts(hass: HomeAssistant, turn: Turn) -> dict[str, str]:
    facts = {"date": dt_util.now().strftime("%A %Y-%m-%d"), "language": turn.language}
    if turn.user and turn.user.name:
        facts["user"] = turn.user.name
    if turn.area_id and (area := ar.async_get(hass).async_get_area(turn.area_id)):
        facts["area"] = area.name
    return facts


def _states_due(hass: HomeAssistant, turn: Turn, session: Session, known: Mapping[str, Told]) -> bool:
    interval = turn.profile.context_update_interval
    if not known or not interval or session.states_told_at is None:
        return True
    return hass.loop.time() - session.states_told_at >= interval


async def _async_select(
    hass: HomeAssistant, turn: Turn, snapshot: HomeSnapshot, budget: int, estimate: Callable[[str], int]
) -> Selection:
    """Choose what fits: all with attributes, else all without, else the most useful ones."""
    entities, attributes = await _async_candidates(turn, snapshot)
    short = detailed = kept = 0
    async for entity in in_slices(entities):
        if (state := hass.states.get(entity.entity_id)) is not None:
            head = (len(entity.entity_id) + LINE_OVERHEAD) // 4
            short += estimate(describe(state, detailed=False)) + head
            detailed += estimate(describe(state, attributes.get(entity.entity_id, ()))) + head
        if short > budget:
            return Selection(snapshot, entities[:kept], attributes, detailed=False, left_out=len(entities) - kept)
        kept += 1
    return Selection(snapshot, entities, attributes, detailed=detailed <= budget)


async def _async_candidates(turn: Turn, snapshot: HomeSnapshot) -> tuple[list[HomeEntity], dict[str, tuple[str, ...]]]:
    """Return the entities in the order of their use, and the attributes that the owner chose."""
    rows = [(row.pattern, row.attributes) for row in turn.profile.context_entities]
    if turn.context_entities is not None:
        rows = [(pattern, ()) for pattern in turn.context_entities]
    may_read = None
    if turn.user and not turn.user.permissions.access_all_entities(POLICY_READ):
        may_read = turn.user.permissions.check_entity
    if not rows and may_read is None:
        return _nearest_first(list(snapshot.entities.values()), turn.area_id), {}
    entities: list[HomeEntity] = []
    attributes: dict[str, tuple[str, ...]] = {}
    async for entity in in_slices(snapshot.entities.values()):
        if may_read is not None and not may_read(entity.entity_id, POLICY_READ):
            continue
        matching = [names for pattern, names in rows if fnmatchcase(entity.entity_id, pattern)]
        if matching or not rows:
            entities.append(entity)
        if matching:
            attributes[entity.entity_id] = matching[-1]
    return _nearest_first(entities, turn.area_id), attributes


def _nearest_first(entities: list[HomeEntity], area_id: str | None) -> list[HomeEntity]:
    """Put the area of the asking device first: where not everything fits, it is what matters."""
    return sorted(entities, key=lambda entity: entity.area_id != area_id) if area_id else entities


def _mentioned(turn: Turn, snapshot: HomeSnapshot) -> list[HomeEntity]:
    """Return what the user named, by entity or by area: told even where not everything fits."""
    may_read = turn.user.permissions.check_entity if turn.user else None
    named = [item for item in snapshot.mentioned(turn.text) if not may_read or may_read(item.entity_id, POLICY_READ)]
    return named[:MAX_MENTIONED]


async def _async_lines(
    hass: HomeAssistant,
    turn: Turn,
    snapshot: HomeSnapshot,
    selection: Selection,
    known: Mapping[str, Told],
    told: dict[str, Told],
) -> list[StateLine]:
    """Return a line per entity that is new or different, and fill `told`."""
    lines: list[StateLine] = []
    listed: set[str] = set()
    async for entity in in_slices(selection.entities):
        entity_id = entity.entity_id
        if entity_id in listed:
            continue
        listed.add(entity_id)
        before = known.get(entity_id)
        state = hass.states.get(entity_id)
        if state is None or (before is not None and before.state is state):
            continue
        text = describe(state, selection.attributes.get(entity_id, ()), detailed=selection.detailed)
        told[entity_id] = Told(text, state)
        if before is None or before.text != text:
            area = snapshot.areas.get(entity.area_id) if entity.area_id else None
            lines.append(StateLine(entity_id, text, entity.names[0], area.names[0] if area else None))
    for entity_id, before in known.items():
        if entity_id not in listed and before.state is not None and entity_id not in snapshot.entities:
            told[entity_id] = Told(GONE, None)
            lines.append(StateLine(entity_id, GONE, entity_id, None))
    return lines
