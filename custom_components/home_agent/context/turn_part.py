"""The turn part: what is new since the model was last told. Time, place, states, and what else belongs to the request.

It rides on the user message and is never changed once sent. The first one of a conversation carries what there is to
tell, a later one only what is different, so a turn costs a few dozen tokens however large the house is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from homeassistant.components.conversation import UserContent
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
from homeassistant.util import dt as dt_util

from ..home import HomeEntity
from ..prompt.parts import render_states, render_turn_part
from ..turn import Turn
from .base import Block
from .budget import Budget
from .mode import Mode
from .news import News
from .providers import keys_of
from .selection import Selection, Told, async_select
from .session import Known, Session, TurnPart
from .view import View

EARLIER = "earlier"
CHANGES_TOKENS = 60  # for what changed of what was told before, where what a request is about takes all the room


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What one turn part is made of."""

    hass: HomeAssistant
    turn: Turn
    session: Session
    view: View
    mode: Mode
    content: UserContent
    known: Known
    """What the model still knows."""
    budget: Budget
    estimate: Callable[[str], int]
    map_is_full: bool = True
    """Whether the home map names every entity."""
    found: Sequence[HomeEntity] = ()
    """What the request seems to be about, best first."""
    blocks: Mapping[str, Block] = field(default_factory=dict)


@dataclass(slots=True)
class LeftOut:
    """What there was no room for."""

    states: int = 0
    changes: int = 0
    attributes: bool = False
    full_tokens: int = 0
    """What the states would have taken, about; 0: nothing was left out."""


async def async_turn_part(telling: Telling) -> tuple[TurnPart, LeftOut]:
    """Return the part for this user message, and what is not in it."""
    known = telling.known
    facts = {key: value for key, value in _facts(telling).items() if known.facts.get(key) != value}
    news, left_out = await _async_news(telling)
    text = render_turn_part(
        time=dt_util.now().strftime("%H:%M"),
        facts=facts,
        lines=news.lines,
        left_out={"states_not_listed": left_out.states, "changes_not_listed": left_out.changes},
        style=telling.turn.profile.context_format,
        sections={name: (block.heading, [item.data for item in block.items]) for name, block in telling.blocks.items()},
    )
    part = TurnPart(content=telling.content, text=text, told=news.told, facts=facts, items=keys_of(telling.blocks))
    return part, left_out


async def async_states(telling: Telling) -> tuple[str, dict[str, Told]]:
    """Return the states alone, as text for instructions, and what the model knows from it."""
    news, _ = await _async_news(telling)
    return render_states(news.lines, telling.turn.profile.context_format), news.told


async def _async_news(telling: Telling) -> tuple[News, LeftOut]:
    news = News(
        hass=telling.hass,
        turn=telling.turn,
        view=telling.view,
        known=telling.known.entities,
        estimate=telling.estimate,
        names=not telling.map_is_full,
    )
    left_out = LeftOut()
    if telling.mode is not Mode.OFF:
        await _async_tell_states(telling, news, left_out)
    return news, left_out


async def _async_tell_states(telling: Telling, news: News, left_out: LeftOut) -> None:
    """Tell what is gone, what is listed, what the request is about, and what changed of all that."""
    first = not telling.known.entities
    due = _states_due(telling)
    if due:
        news.add_gone()
    if (telling.mode.lists or telling.turn.context_entities is not None) and due:
        selection = await async_selection(
            telling.hass,
            telling.turn,
            telling.view,
            telling.budget.states,
            telling.estimate,
            map_is_full=telling.map_is_full,
        )
        await news.async_add_selection(selection)
        left_out.attributes = not selection.detailed
        if not telling.mode.looks_up:
            await news.async_add_known()
        if selection.left_out:
            left_out.states = selection.left_out if first and not telling.mode.looks_up else 0
            left_out.full_tokens = selection.full_tokens
    if telling.mode.looks_up:
        budget = telling.budget.found if first else telling.budget.found_later
        before = len(news.lines)
        left_out.states += news.add_found(telling.found, budget)
        spent = telling.estimate("".join(line.text + line.entity_id for line in news.lines[before:]))
        if due:
            left_out.changes = news.add_changed(max(budget - spent, min(budget, CHANGES_TOKENS)))
    if due:
        telling.session.states_told_at = telling.hass.loop.time()


async def async_selection(
    hass: HomeAssistant,
    turn: Turn,
    view: View,
    budget: int,
    estimate: Callable[[str], int],
    *,
    map_is_full: bool = True,
) -> Selection:
    """Return what a turn tells without being asked; remembered while the home stays the same.

    Where the home map or the format has no names besides, they are counted.
    """
    names = not map_is_full or turn.profile.context_format != "json"
    key = (turn.profile.subentry_id, turn.area_id, budget, names)
    selection = view.selections.get(key) if turn.context_entities is None else None
    if selection is None:
        selection = await async_select(hass, turn, view.snapshot, view.descriptions, budget, estimate, names=names)
        if turn.context_entities is None:
            view.selections[key] = selection
    return selection


def _facts(telling: Telling) -> dict[str, str]:
    turn = telling.turn
    facts = {"date": dt_util.now().strftime("%A %Y-%m-%d"), "language": turn.language}
    if turn.user and turn.user.name:
        facts["user"] = turn.user.name
    if turn.area_id and (area := ar.async_get(telling.hass).async_get_area(turn.area_id)):
        facts["area"] = area.name
    if telling.session.summary:
        facts[EARLIER] = telling.session.summary
    return facts


def _states_due(telling: Telling) -> bool:
    """Return whether states are told that nobody asked for; the owner may want them less often."""
    interval, told_at = telling.turn.profile.context_update_interval, telling.session.states_told_at
    if not telling.known.entities or not interval or told_at is None:
        return True
    return telling.hass.loop.time() - told_at >= interval
