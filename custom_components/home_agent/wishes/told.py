"""What a model is told of wishes that wait: their ids, words and times."""

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonObjectType

from ..turn.turn import Turn, zone_of_turn
from .wish import Wish
from .wishes import wishes_of

SHORT_ID = 8  # last characters of an id, which are enough among the wishes of a person
MOST_TOLD = 10  # wishes in the turn part
_MAX_WORDS = 80  # characters of one of them


def short_id(wish: Wish) -> str:
    """Return the id under which a model knows a wish."""
    return wish.id[-SHORT_ID:].lower()


def row_of(wish: Wish) -> JsonObjectType:
    """Return a wish as the tools tell it, with its time on the clock of the running turn."""
    row: JsonObjectType = {"id": short_id(wish), "kind": wish.kind.value, "wish": wish.words}
    if wish.when.at is not None:
        row["at"] = wish.when.at.astimezone(zone_of_turn()).isoformat(timespec="seconds")
    if wish.when.event is not None or wish.when.conditions:
        row["when"] = wish.when.said
    if wish.asks:
        row["asks"] = True
    return row


def waiting(hass: HomeAssistant, turn: Turn) -> str:
    """Return the wishes of a turn's speaker in one line, the next one first; empty without any."""
    known, zone = wishes_of(hass).known_to(turn), zone_of_turn()
    told: list[str] = []
    for wish in known[:MOST_TOLD]:
        words = wish.words if len(wish.words) <= _MAX_WORDS else f"{wish.words[: _MAX_WORDS - 1]}…"
        when = f"{wish.when.at.astimezone(zone):%Y-%m-%d %H:%M}" if wish.when.at is not None else wish.when.said
        told.append(f"{short_id(wish)}: {words} ({when})")
    if len(known) > MOST_TOLD:
        told.append(f"{len(known) - MOST_TOLD} more")
    return "; ".join(told)
