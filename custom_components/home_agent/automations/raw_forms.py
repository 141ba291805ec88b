"""The forms of triggers, conditions and actions that every home has, and what a model writes for them."""

from collections.abc import Mapping, Sequence

from homeassistant.components.climate.const import DOMAIN as CLIMATE_DOMAIN
from homeassistant.const import ATTR_DEVICE_CLASS
from homeassistant.core import HomeAssistant, State
from homeassistant.util.json import JsonObjectType

from ..home.tolerance import number_of
from ..languages.data import ENGLISH
from ..support.encoding import plain_text
from ..support.localize import async_own_text

type RawForms = Mapping[str, JsonObjectType]

MAX_STATES = 20

TRIGGERS: RawForms = {
    "state": {"trigger": "state", "entity_id": "binary_sensor.x", "to": "on", "for": {"minutes": 5}},
    "numeric_state": {"trigger": "numeric_state", "entity_id": "sensor.x", "above": 26, "for": {"minutes": 10}},
    "time": {"trigger": "time", "at": "07:00:00"},
    "time_pattern": {"trigger": "time_pattern", "minutes": "/5"},
    "sun": {"trigger": "sun", "event": "sunset", "offset": "-00:30:00"},
    "zone": {"trigger": "zone", "entity_id": "person.x", "zone": "zone.home", "event": "enter"},
    "template": {"trigger": "template", "value_template": "{{ states('sensor.x') | float(0) > 5 }}"},
    "event": {"trigger": "event", "event_type": "my_event", "event_data": {"key": "value"}},
    "calendar": {"trigger": "calendar", "entity_id": "calendar.x", "event": "start", "offset": "-00:15:00"},
    "conversation": {"trigger": "conversation", "command": ["good night"]},
    "homeassistant": {"trigger": "homeassistant", "event": "start"},
    "mqtt": {"trigger": "mqtt", "topic": "home/doorbell"},
    "tag": {"trigger": "tag", "tag_id": "id of the tag"},
    "webhook": {"trigger": "webhook", "webhook_id": "long-random-text", "local_only": True},
}
CONDITIONS: RawForms = {
    "state": {"condition": "state", "entity_id": "light.x", "state": "on", "for": {"minutes": 5}},
    "numeric_state": {"condition": "numeric_state", "entity_id": "sensor.x", "below": 20},
    "time": {
        "condition": "time",
        "after": "21:00:00",
        "before": "06:00:00",
        "weekday": ["mon", "tue", "wed", "thu", "fri"],
    },
    "sun": {"condition": "sun", "after": "sunset", "after_offset": "-01:00:00"},
    "zone": {"condition": "zone", "entity_id": "person.x", "zone": "zone.home"},
    "template": {"condition": "template", "value_template": "{{ is_state('sun.sun', 'below_horizon') }}"},
    "trigger": {"condition": "trigger", "id": "id of a trigger"},
    "and": {"condition": "and", "conditions": ["…"]},
    "or": {"condition": "or", "conditions": ["…"]},
    "not": {"condition": "not", "conditions": ["…"]},
    "anyone_home": {"condition": "numeric_state", "entity_id": "zone.home", "above": 0},
}
ACTIONS: RawForms = {
    "delay": {"delay": {"minutes": 5}},
    "wait_for_trigger": {
        "wait_for_trigger": [{"trigger": "state", "entity_id": "binary_sensor.x", "to": "off"}],
        "timeout": {"minutes": 5},
    },
    "wait_template": {"wait_template": "{{ is_state('light.x', 'off') }}", "timeout": {"minutes": 5}},
    "if": {"if": [{"condition": "state", "entity_id": "light.x", "state": "on"}], "then": ["…"], "else": ["…"]},
    "choose": {"choose": [{"conditions": ["…"], "sequence": ["…"]}], "default": ["…"]},
    "repeat": {"repeat": {"count": 3, "sequence": ["…"]}},
    "parallel": {"parallel": ["…"]},
    "condition": {"condition": "state", "entity_id": "light.x", "state": "on"},
    "event": {"event": "my_event", "event_data": {"key": "value"}},
    "stop": {"stop": "why"},
    "variables": {"variables": {"name": "value"}},
}
_MOVES = frozenset({"person", "device_tracker"})
_KNOWN_STATES: Mapping[str, tuple[str, ...]] = {
    "person": ("home", "not_home"),
    "device_tracker": ("home", "not_home"),
    "lock": ("locked", "unlocked", "locking", "unlocking", "jammed", "open", "opening"),
    "cover": ("open", "closed", "opening", "closing"),
    "valve": ("open", "closed", "opening", "closing"),
    "media_player": ("off", "on", "idle", "playing", "paused", "standby", "buffering"),
    "vacuum": ("cleaning", "docked", "idle", "paused", "returning", "error"),
    "lawn_mower": ("mowing", "docked", "paused", "returning", "error"),
    "timer": ("idle", "active", "paused"),
    "sun": ("above_horizon", "below_horizon"),
    "alarm_control_panel": (
        "disarmed", "armed_home", "armed_away", "armed_night", "armed_vacation", "arming", "pending", "triggered",
    ),
    **dict.fromkeys(
        (
            "automation", "binary_sensor", "calendar", "fan", "humidifier", "input_boolean", "light", "remote", "schedule", "script",
            "siren", "switch", "update",
        ),
        ("on", "off"),
    ),
}  # fmt: skip


def usual(kind: str, hass: HomeAssistant) -> dict[str, JsonObjectType]:
    """Return the forms of a kind that this home has, those about an entity among them."""
    forms = {"triggers": TRIGGERS, "conditions": CONDITIONS, "actions": ACTIONS}[kind]
    return {name: form for name, form in forms.items() if name != "mqtt" or "mqtt" in hass.config.components}


def of_entity(kind: str, state: State) -> dict[str, JsonObjectType]:
    """Return the raw forms of a trigger or a condition about an entity, with its id in them."""
    if kind == "actions":
        return {}
    forms = TRIGGERS if kind == "triggers" else CONDITIONS
    names = ["state"]
    if number_of(state.state) is not None:
        names.append("numeric_state")
    if state.domain in _MOVES:
        names.append("zone")
    if state.domain == "calendar" and kind == "triggers":
        names.append("calendar")
    found = {name: {**forms[name], "entity_id": state.entity_id} for name in names}
    known = states_of(state)
    for key in ("to", "state"):
        if key in found["state"]:
            found["state"][key] = known[0] if known else plain_text(state.state)[:40]
    found["state"].pop("for", None)
    return found


def states_of(state: State) -> list[str]:
    """Return the states that an entity can have, as far as it tells them."""
    options = state.attributes.get("hvac_modes" if state.domain == CLIMATE_DOMAIN else "options")
    if isinstance(options, list | tuple):
        return [plain_text(str(option))[:40] for option in options[:MAX_STATES]]
    return [*_KNOWN_STATES.get(state.domain, ())]


async def async_meanings(hass: HomeAssistant, state: State, states: Sequence[str]) -> dict[str, str]:
    """Return what the states of an entity are called, where that says more than the state: a door that is on is open."""
    found: dict[str, str] = {}
    device_class = state.attributes.get(ATTR_DEVICE_CLASS)
    for one in states if device_class else ():
        path = f"entity_component.{device_class}.state.{one}"
        word = await async_own_text(hass, ENGLISH, "entity_component", state.domain, path)
        if word and word.casefold().replace(" ", "_") != one:
            found[one] = word
    return found
