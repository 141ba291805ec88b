"""The turn part: what is new since the model was last told. Time, place, and the states that matter.

It rides on the user message and is never changed once sent. The first one of a conversation carries everything, a later
one only what is different, so a turn costs a few dozen tokens however large the house is.
"""

from collections.abc import Callable, Iterable, Mapping

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.conversation import UserContent
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
from homeassistant.util import dt as dt_util

from ..home import HomeEntity, HomeSnapshot
from ..prompt.parts import StateLine, render_turn_part
from ..slices import in_slices
from ..turn import Turn
from .selection import Selection, Selections, Told
from .session import Session, TurnPart

GONE = "gone"
MAX_MENTIONED = 40


async def async_turn_part(
    hass: HomeAssistant,
    turn: Turn,
    session: Session,
    snapshot: HomeSnapshot,
    selections: Selections,
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
        selection = await selections.async_choose(hass, turn, snapshot, budget, estimate)
        entities: Iterable[HomeEntity] = selection.entities
        if selection.left_out:
            left_out = 0 if known else selection.left_out
            entities = (*entities, *_known_before(known, snapshot), *_mentioned(turn, snapshot))
        part.told, lines = await _async_news(hass, snapshot, selections, selection, entities, known)
        session.states_told_at = hass.loop.time()
    part.text = render_turn_part(
        time=dt_util.now().strftime("%H:%M"),
        facts=facts,
        lines=lines,
        left_out=left_out,
        style=turn.profile.context_format,
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


def _known_before(known: Mapping[str, Told], snapshot: HomeSnapshot) -> list[HomeEntity]:
    """Return what the model was told in passing: it stays current like everything else."""
    return [snapshot.entities[entity_id] for entity_id in known if entity_id in snapshot.entities]


def _mentioned(turn: Turn, snapshot: HomeSnapshot) -> list[HomeEntity]:
    """Return what the user named, by entity or by area: told even where not everything fits."""
    may_read = turn.user.permissions.check_entity if turn.user else None
    named = [item for item in snapshot.mentioned(turn.text) if not may_read or may_read(item.entity_id, POLICY_READ)]
    return named[:MAX_MENTIONED]


async def _async_news(
    hass: HomeAssistant,
    snapshot: HomeSnapshot,
    selections: Selections,
    selection: Selection,
    entities: Iterable[HomeEntity],
    known: Mapping[str, Told],
) -> tuple[dict[str, Told], list[StateLine]]:
    """Return what the model knows after this part and did not before, and a line for each that reads differently."""
    told: dict[str, Told] = {}
    lines: list[StateLine] = []
    async for entity in in_slices(entities):
        entity_id = entity.entity_id
        before = known.get(entity_id)
        state = hass.states.get(entity_id)
        if state is None or (before is not None and before.state is state) or entity_id in told:
            continue
        now = told[entity_id] = selections.describe(state, selection)
        if before is None or before.text != now.text:
            area = snapshot.areas.get(entity.area_id) if entity.area_id else None
            lines.append(StateLine(entity_id, now.text, entity.names[0], area.names[0] if area else None))
    for entity_id, before in known.items():
        if before.state is not None and entity_id not in snapshot.entities:
            told[entity_id] = Told(GONE, None)
            lines.append(StateLine(entity_id, GONE, entity_id, None))
    return told, lines
