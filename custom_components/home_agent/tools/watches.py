"""What a model says that is to become so, or has to be so, in the home: an entity with a state, or with a bound of its number."""

from collections.abc import Mapping
import math
import re
from typing import Any

from homeassistant.core import HomeAssistant, State
import probatio

from ..home.possible_states import async_possible_states, async_state_texts, away_words, is_number
from ..home.snapshot import Home
from ..home.targets import Targets
from ..support.errors import ToolRefusal
from ..turn.turn import Turn
from ..wishes.when import Watch
from .arguments import entity_ids, json_object

MAX_STATES = 20  # told where a state is unknown
MAX_ENTITIES = 50  # of one watch
MAX_NAMED = 3  # entities in the words for one
_MAX_STATE = 255  # characters
_NEGATIONS = ("not ", "!")

_SIGN = re.compile(r"[<>=!]=?|\s(?:to|is)\s")


def _number(value: object) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise probatio.Invalid("expected a number")
    try:
        number = float(str(value).strip().rstrip("%°CF "))
    except ValueError as err:
        raise probatio.Invalid("expected a number") from err
    if not math.isfinite(number):
        raise probatio.Invalid("expected a number")
    return number


def _state(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    text = str(value if value is not None else "").strip()
    if len(text) > _MAX_STATE:
        raise probatio.Invalid("the state is too long")
    return text


_FIELDS = probatio.Schema(
    {
        probatio.Required("entity_id"): entity_ids,
        probatio.Optional("to", default=""): _state,
        probatio.Optional("above", default=None): _number,
        probatio.Optional("below", default=None): _number,
    },
    extra=probatio.REMOVE_EXTRA,
)


def watch_fields(value: object) -> dict[str, Any] | None:
    """Read an event or a condition as a model writes it: "lock.door = locked", "sensor.attic > 26", or as an object.

    `is` and `state` are `to`. None for nothing.

    Raises `probatio.Invalid` for one without an entity, or with neither a state nor a bound.
    """
    if value in (None, "", {}, []):
        return None
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        found = _SIGN.search(value)
        if found is None or not value[: found.start()].strip() or not value[found.end() :].strip():
            raise probatio.Invalid("write: entity_id = state, entity_id > number or entity_id < number")
        sign, said = found[0].strip(), value[found.end() :].strip()
        key = "above" if sign.startswith(">") else "below" if sign.startswith("<") else "to"
        value = {"entity_id": value[: found.start()].strip(), key: f"not {said}" if sign == "!=" else said}
    given = json_object(value)
    for other in ("is", "state"):
        if other in given:
            given.setdefault("to", given[other])
    fields: dict[str, Any] = _FIELDS(given)
    if not fields["to"] and fields["above"] is None and fields["below"] is None:
        raise probatio.Invalid("name the state (to), or a bound (above, below)")
    if fields["to"] and not (fields["above"] is None and fields["below"] is None):
        raise probatio.Invalid("name either a state (to) or a bound (above, below)")
    return fields


async def async_watch(hass: HomeAssistant, home: Home, turn: Turn, fields: Mapping[str, Any]) -> Watch:
    """Return what is looked at. Raises `ToolRefusal` for unknown entities, and for states that they do not have."""
    targets = Targets(hass=hass, home=home, area_id=turn.area_id, user=turn.user)
    found: dict[str, None] = {}
    for text in fields["entity_id"]:
        async for entity_id in (await targets.async_find(text)).each():
            found[entity_id] = None
            if len(found) > MAX_ENTITIES:
                raise ToolRefusal(f"'{text}' stands for more than {MAX_ENTITIES} entities. Name fewer.")
    states = [state for entity_id in found if (state := hass.states.get(entity_id)) is not None]
    if (wanted := fields["to"]) == "":
        if strange := [state.entity_id for state in states if not is_number(state)]:
            raise ToolRefusal(f"{strange[0]} has no number: name its state (to) instead of a bound.")
        return Watch(entity_ids=tuple(found), above=fields["above"], below=fields["below"])
    negated = False
    for negation in _NEGATIONS:
        if wanted.casefold().startswith(negation) and wanted.casefold() not in away_words():
            negated, wanted = True, wanted[len(negation) :].strip()
    meant = dict.fromkeys([await _async_meant(hass, state, wanted) for state in states])
    return Watch(entity_ids=tuple(found), states=tuple(meant), negated=negated)


async def _async_meant(hass: HomeAssistant, state: State, wanted: str) -> str:
    """Return the state of an entity that a model means: by its value, or by what people call it: "open"."""
    if is_number(state):
        raise ToolRefusal(f"The state of {state.entity_id} is a number: use above or below.")
    text = wanted.casefold().strip()
    known = await async_possible_states(hass, state)
    if found := known.get(text) or known.get(text.replace(" ", "_")):
        return found
    if not known:
        return wanted
    listed = ", ".join(sorted({*known.values()})[:MAX_STATES])
    raise ToolRefusal(f"{state.entity_id} is never '{wanted}'. Its states are: {listed}.")


async def async_words(hass: HomeAssistant, language: str, watch: Watch) -> str:
    """Return what is looked at in words of a language: "Washer: Off", "Attic: > 26"."""
    named = [state for entity_id in watch.entity_ids if (state := hass.states.get(entity_id)) is not None]
    names = ", ".join(state.name for state in named[:MAX_NAMED]) + (", …" if len(named) > MAX_NAMED else "")
    if not watch.states:
        bounds = ((">", watch.above), ("<", watch.below))
        return f"{names}: {', '.join(f'{sign} {bound:g}' for sign, bound in bounds if bound is not None)}"
    texts = await async_state_texts(hass, language, named[0]) if named else {}
    labels = [texts.get(value, value) for value in watch.states]
    return f"{names}: {'≠ ' if watch.negated else ''}{', '.join(labels)}"
