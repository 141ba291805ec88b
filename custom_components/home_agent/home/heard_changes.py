"""Which of the owner's automations and scripts wait for a helper to change, and may be started or go on by a call that changes it.

Only helpers: who turns a light on does not mean what an automation somewhere makes of that, but a helper is there for automations.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
import re

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, split_entity_id, valid_entity_id
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids

from ..turn.plan import ServiceCall
from .fired_events import heard_by
from .tolerance import number_of

HELPERS = frozenset(
    {"button", "counter", "input_boolean", "input_button", "input_number", "input_select", "input_text", "timer"}
)
"""Domains whose entities do nothing by themselves: automations do."""
_IN_TEMPLATE = re.compile(rf"(?<![\w.])(?:{'|'.join(sorted(HELPERS))})\.\w{{1,255}}")
MAX_FOLLOWED = 100
"""Automations that one judgement follows, one after the other."""
_ANY = ""
"""Stands for every helper."""
_STATES = {
    "turn_on": {"on"}, "turn_off": {"off"}, "start": {"active", "idle"}, "cancel": {"idle"}, "finish": {"idle"}, "pause": {"paused"},
}  # fmt: skip
"""What a helper becomes by a service, one after the other."""
_OF_TIMERS = {
    "start": {"started", "restarted", "finished", "remaining_time_reached"},
    "finish": {"finished"},
    "cancel": {"cancelled"},
    "pause": {"paused"},
}
"""What is heard of a timer by a service."""

type _Heard = tuple[str, Mapping[str, object]]


class Listeners:
    """The automations that are on and the scripts, by the helpers that they wait for; read once, for one judgement."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Take the home; nothing is read before a helper is called."""
        self._hass = hass
        self._waiting: dict[str, list[_Heard]] | None = None
        self._followed: set[str] = set()
        self.is_cut = False
        """Whether more automations wait than are followed: what they do is not known."""

    def started_by(self, call: ServiceCall) -> Iterator[str]:
        """Yield the automations and scripts that a call may start, or let go on, by changing a helper; each once, however often it would be started."""
        for entity_id in call.entity_ids:
            if split_entity_id(entity_id)[0] not in HELPERS:
                continue
            if self._waiting is None:
                self._waiting = self._read()
            for automation, trigger in (*self._waiting.get(entity_id, ()), *self._waiting.get(_ANY, ())):
                if automation in self._followed or not _may_start(trigger, call, entity_id):
                    continue
                if len(self._followed) >= MAX_FOLLOWED:
                    self.is_cut = True
                    return
                self._followed.add(automation)
                yield automation

    def _read(self) -> dict[str, list[_Heard]]:
        found = defaultdict[str, list[_Heard]](list)
        for entity_id, triggers in heard_by(self._hass):
            for trigger in triggers:
                for watched in _watched(self._hass, trigger):
                    found[watched].append((entity_id, trigger))
        return found


def _watched(hass: HomeAssistant, trigger: Mapping[str, object]) -> Iterator[str]:
    """Yield the entities that a trigger names, or that stand for what it names."""
    kind, named = _kind(trigger), trigger.get(ATTR_ENTITY_ID)
    if kind == "event":
        data = trigger.get("event_data")
        of_one = data.get(ATTR_ENTITY_ID) if isinstance(data, Mapping) else None
        if _heard_of_timers(trigger) or "state_changed" in _texts(trigger.get("event_type")):
            yield of_one if isinstance(of_one, str) and valid_entity_id(of_one) else _ANY
    elif kind == "template":
        yield from _IN_TEMPLATE.findall(str(trigger.get("value_template", "")))
    elif "." in kind and isinstance(target := trigger.get("target"), Mapping):
        selected = async_extract_referenced_entity_ids(hass, TargetSelection(dict(target)))
        yield from selected.referenced | selected.indirectly_referenced
    else:
        registry = er.async_get(hass)
        for text in _texts(named):
            for part in text.split(","):
                word = part.strip()
                if (
                    entity_id := word.lower() if "." in word else er.async_resolve_entity_id(registry, word)
                ) is not None:
                    yield entity_id


def _kind(trigger: Mapping[str, object]) -> str:
    return str(trigger.get("trigger", trigger.get("platform", "")))


def _texts(value: object) -> list[str]:
    return [value] if isinstance(value, str) else [str(item) for item in value] if isinstance(value, list) else []


def _heard_of_timers(trigger: Mapping[str, object]) -> set[str]:
    """Return what a trigger for events hears of timers."""
    return {text.removeprefix("timer.") for text in _texts(trigger.get("event_type")) if text.startswith("timer.")}


def _may_start(trigger: Mapping[str, object], call: ServiceCall, entity_id: str) -> bool:
    """Return whether a trigger that watches a helper may fit what a call makes of it; conditions are not looked at."""
    kind, becomes = _kind(trigger), _becomes(call, entity_id)
    told = _OF_TIMERS.get(call.service)
    if kind == "event" and (heard := _heard_of_timers(trigger)):
        return split_entity_id(entity_id)[0] == "timer" and (told is None or not heard.isdisjoint(told))
    if kind.startswith("timer."):
        return told is None or kind.removeprefix("timer.") in told
    if becomes is None or trigger.get("attribute") is not None:
        return True
    match kind:
        case "state":
            wanted, unwanted = _texts(trigger.get("to")), _texts(trigger.get("not_to"))
            is_fitting = not wanted or any(_is_one_of(state, wanted) for state in becomes)
            return is_fitting and not (unwanted and all(_is_one_of(state, unwanted) for state in becomes))
        case "device":
            way = str(trigger.get("type", ""))
            return way not in ("turned_on", "turned_off") or way.removeprefix("turned_") in becomes
        case "numeric_state" if trigger.get("value_template") is None:
            return any(_is_between(number_of(state), trigger) for state in becomes)
    return True


def _becomes(call: ServiceCall, entity_id: str) -> Collection[str] | None:
    """Return the states that a helper gets by a call; None if that is not known."""
    if call.domain not in (split_entity_id(entity_id)[0], "homeassistant"):
        return None
    if call.service in ("select_option", "set_value"):
        value = call.data.get("option", call.data.get("value"))
        return None if value is None or "{" in str(value) else {str(value)}
    return _STATES.get(call.service)


def _is_one_of(state: str, texts: Collection[str]) -> bool:
    number = number_of(state)
    return any(state == text or "{" in text or (number is not None and number == number_of(text)) for text in texts)


def _is_between(value: float | None, trigger: Mapping[str, object]) -> bool:
    """Return whether a number is within limits; a limit that is another entity fits any."""
    above, below = number_of(trigger.get("above")), number_of(trigger.get("below"))
    if value is None:
        return True
    return (above is None or value > above) and (below is None or value < below)
