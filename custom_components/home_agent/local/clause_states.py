"""Which states of an entity a word for what becomes of it means: "open" of a door's sensor, "done" of a washing machine."""

from collections.abc import Collection
from dataclasses import dataclass

from homeassistant.core import State

from ..home.agreement import OPENINGS
from ..home.domains import DOMAINS, UNKNOWN

DETECTED = frozenset({
    "motion", "occupancy", "moving", "presence", "smoke", "gas", "carbon_monoxide", "moisture", "sound", "vibration", "tamper",
})  # fmt: skip
"""Classes of binary sensors that are on where there is what they are called by: "motion in the garden"."""
DANGERS = frozenset({"smoke", "gas", "carbon_monoxide", "moisture"})
"""Those that matter wherever they are."""

DOORBELL = "doorbell"
"""The class of event entities that are bells."""
_RING = "ring"
_SCREENS = ("tv", "projector", "receiver")
_ON, _OFF = ("on",), ("off",)
_RAINY = ("rainy", "pouring", "lightning-rainy", "snowy-rainy")
_PLAIN = (None, "running", "power", "light", "moving", "plug", "sound")
"""Classes of binary sensors that are on while the thing is."""
_FINISHED = (
    "finished", "done", "complete", "completed", "end", "ended", "finish", "program_ended", "program_finished", "cycle_complete",
)  # fmt: skip
_RESTING = ("idle", "off", "standby", "stop", "stopped", "inactive", "not_running", "power_off", "ready")
_UNDER_WAY = (
    "running", "run", "in_use", "active", "in_progress", "on", "program_running", "washing", "drying", "rinsing", "spinning",
    "wash", "rinse", "spin",
)  # fmt: skip
_EVENT, _PROGRAM, _REST, _PLUG, _POWER = -1, 2, 3, 4, 9
"""Ranks: what only tells events, a state that is the end, a state of rest, what is switched off, what is drawn."""
_LITTLE = 5.0  # watts: what a machine draws that does nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The states of one entity that a word means, or the number that its state is below."""

    states: tuple[str, ...] = ()
    below: float | None = None
    negated: bool = False
    """Whether all but these are meant."""
    rank: int = 0
    """The smaller, the better it tells: what a machine draws says less than its own program."""
    is_new: bool = False
    """Whether its state is the moment of the last event, and a new one is meant: those in `states`, or any."""
    is_vague: bool = False
    """Whether it is only sure of a thing whose whole name was said: a sensor without a class may be about a part of it."""


def states_meant(state: State, key: str, said: Collection[str] = ()) -> Meant | None:
    """Return the states that a key of the language's `clauses.states` means for an entity, None if it does not tell that.

    `said` are words for the key in the language of the home: states of a sensor may be called so.
    """
    domain = state.domain
    if domain == "binary_sensor":
        return _of_binary(key, state.attributes.get("device_class"))
    if domain == "event":
        return _of_event(state) if key == "rings" else None
    if domain == "sensor" or domain.endswith("select"):
        return _of_stated(state, key, said)
    record = DOMAINS.get(domain, UNKNOWN)
    if domain == "media_player" and key in ("running", "playing") and state.attributes.get("device_class") in _SCREENS:
        key = "on"  # a film that is paused runs as well
    if (known := record.becomes.get(key)) is not None:
        return Meant(states=known)
    if domain == "weather" and key in ("rain", "dry"):
        return Meant(states=_RAINY, negated=key == "dry")
    switched = key if record.is_never_done else {"running": "on", "done": "off", "stopped": "off"}.get(key, key)
    if switched not in ("on", "off") or switched not in record.told_as:
        return None
    return Meant(states=(switched,), rank=_PLUG if switched != key else 0)


def _of_event(state: State) -> Meant | None:
    """Return what it means that an event entity rings; what has other events besides rings with its own one."""
    if state.attributes.get("device_class") not in (None, DOORBELL):
        return None
    types = state.attributes.get("event_types") or ()
    return Meant(states=(_RING,) if _RING in types else (), is_new=True, rank=_EVENT)


def _of_binary(key: str, class_: object) -> Meant | None:
    """Return what a key means for a binary sensor; one without a class is on while what it is called by is so."""
    is_vague = class_ is None
    on, off = (Meant(states=states, rank=int(is_vague), is_vague=is_vague) for states in (_ON, _OFF))

    def is_class(classes: Collection[object]) -> bool:
        return class_ is None or class_ in classes

    match key:
        case "open" | "closed" if is_class(OPENINGS):
            return on if key == "open" else off
        case "locked" | "unlocked" if class_ == "lock":
            return on if key == "unlocked" else off
        case "on" | "running" if class_ in _PLAIN:
            return on
        case "off" | "done" | "stopped" if class_ in _PLAIN:
            return off
        case "detected" | "rings" | "arrived" if is_class(DETECTED | OPENINGS):
            return on
        case "rain" | "dry" if is_class({"moisture"}):
            return on if key == "rain" else off
    return None


def _of_stated(state: State, key: str, said: Collection[str]) -> Meant | None:
    """Return what a key means for an entity whose state is one of several words, or the power that a machine draws."""
    class_, unit = state.attributes.get("device_class"), state.attributes.get("unit_of_measurement")
    if class_ == "power" and key in ("done", "stopped") and unit == "W":
        return Meant(below=_LITTLE, rank=_POWER)
    if unit is not None or class_ not in (None, "enum") or key not in ("done", "stopped", "running"):
        return None
    wanted = (_UNDER_WAY,) if key == "running" else (_FINISHED, _RESTING)
    options = state.attributes.get("options")
    if isinstance(options, (list, tuple)):
        by_word = {str(option).casefold().replace(" ", "_"): str(option) for option in options}
        for rank, known in zip((_PROGRAM, _REST), wanted, strict=False):
            if found := tuple(by_word[one] for one in (*said, *known) if one in by_word):
                return Meant(states=found, rank=rank)
        return None
    if state.state.replace(".", "", 1).isdigit():
        return None
    words = dict.fromkeys((*(one for known in wanted for one in known), *said))
    return Meant(states=tuple(dict.fromkeys(form for word in words for form in (word, word.capitalize()))), rank=_REST)
