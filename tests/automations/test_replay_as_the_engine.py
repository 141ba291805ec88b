"""The replay says when the engine runs an automation: both are given the same days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant
from homeassistant.helpers.sun import get_astral_event_next
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.automations.replay import async_replay
from tests.automations.engine import BEGIN, END, Script, is_same, run_times, scripted

DOOR = "binary_sensor.door"
LIGHT = "light.kitchen"
HEAT = "sensor.heat"
LIMIT = "input_number.limit"
ANNA = "person.anna"
ALARM = "input_datetime.alarm"
ZONE = ("zoning", {"latitude": 52.0, "longitude": 13.0, "radius": 100, "friendly_name": "Work"})
UNKNOWN: Sequence[tuple[str, Mapping[str, Any]]] = (("unavailable", {}), ("unknown", {}))


def clock(hour: int, minute: int) -> tuple[str, Mapping[str, Any]]:
    return (
        f"{hour:02}:{minute:02}:00",
        {"has_date": False, "has_time": True, "hour": hour, "minute": minute, "second": 0},
    )


ENTITIES: Mapping[str, Sequence[tuple[str | None, Mapping[str, Any]]]] = {
    DOOR: (("off", {}), ("on", {}), ("off", {}), ("on", {"battery": 50}), *UNKNOWN),
    LIGHT: (("off", {}), ("on", {"brightness": 20}), ("on", {"brightness": 200}), ("unavailable", {})),
    HEAT: [
        *((str(value), {"unit_of_measurement": "°C", "humidity": value * 2}) for value in range(15, 31)),
        ("unknown", {}),
    ],
    LIMIT: (("22", {}), ("25", {})),
    ANNA: (
        ("not_home", {"latitude": 53.0, "longitude": 14.0, "in_zones": []}),
        ("Work", {"latitude": 52.0, "longitude": 13.0, "in_zones": ["zone.work"]}),
        ("unknown", {}),
    ),
    ALARM: (clock(6, 30), clock(7, 0), clock(22, 30)),
}
ACTION = [{"event": "acted"}]
SCRIPTS: Mapping[str, Mapping[str, Any]] = {
    "slow": {"sequence": [{"delay": "01:30:00"}], "mode": "parallel"},
    "for_a_while": {
        "variables": {"count": "{{ hours | int }}"},
        "sequence": [{"delay": {"hours": "{{ count }}"}}],
        "mode": "parallel",
    },
    "around": {
        "sequence": [
            {"if": [{"condition": "state", "entity_id": LIGHT, "state": "on"}], "then": [{"action": "script.slow"}]},
            {"delay": "00:30:00"},
        ]
    },
    "alone": {"sequence": [{"delay": "02:00:00"}], "mode": "single", "max_exceeded": "silent"},
    "anew": {"sequence": [{"delay": "02:00:00"}], "mode": "restart"},
    "in_turns": {"sequence": [{"delay": "02:00:00"}], "mode": "queued", "max": 3},
    "waiting": {
        "sequence": [{"wait_for_trigger": [{"trigger": "state", "entity_id": LIGHT}], "timeout": "02:00:00"}],
        "mode": "parallel",
    },
    "fails": {
        "sequence": [{"delay": "00:30:00"}, {"variables": {"none": "{{ 1 / 0 }}"}}, {"delay": 5}],
        "mode": "parallel",
    },
    "no_time": {"sequence": [{"delay": "00:30:00"}, {"delay": "{{ 1 / 0 }}"}, {"delay": 500}], "mode": "parallel"},
    "no_list": {
        "sequence": [{"delay": "00:30:00"}, {"repeat": {"for_each": "{{ 5 }}", "sequence": []}}, {"delay": "02:00:00"}]
    },
    "stops": {
        "sequence": [
            {"delay": "00:30:00"},
            {"if": [{"condition": "state", "entity_id": LIGHT, "state": "on"}], "then": [{"stop": "enough"}]},
            {"condition": "state", "entity_id": DOOR, "state": "on"},
            {"delay": "00:30:00"},
        ],
        "mode": "parallel",
    },
    "ends_it": {"sequence": [{"action": "automation.turn_off", "target": {"entity_id": "automation.test"}}]},
}


@dataclass(frozen=True, slots=True)
class Case:
    """One automation."""

    config: Mapping[str, Any]
    dues: Sequence[timedelta] = field(default_factory=list)
    every: timedelta = timedelta(minutes=30)
    events: Sequence[tuple[int, str, Mapping[str, Any]]] = field(default_factory=list)
    """Seconds from the beginning, type and data."""
    never: bool = False
    """The engine never runs it."""


def minutes(*counts: float) -> list[timedelta]:
    return [timedelta(minutes=count) for count in counts]


def state(entity_id: Any = DOOR, **fields: Any) -> dict[str, Any]:
    return {"trigger": "state", "entity_id": entity_id, **fields}


def number(**fields: Any) -> dict[str, Any]:
    return {"trigger": "numeric_state", "entity_id": HEAT, **fields}


CASES: dict[str, Case] = {
    "any change": Case({"triggers": [state()]}),
    "any change of the state alone": Case({"triggers": [state(to=None)]}),
    "opened": Case({"triggers": [state(to="on")]}),
    "opened from closed": Case({"triggers": [state(**{"from": "off", "to": "on"})]}),
    "one of several": Case({"triggers": [state([DOOR, LIGHT], to=["on", "unavailable"])]}),
    "not from unavailable": Case({"triggers": [state(not_from=["unavailable", "unknown"], to="on")]}),
    "not to unavailable": Case({"triggers": [state(not_to=["unavailable", "unknown"])]}),
    "an attribute": Case({"triggers": [state(LIGHT, attribute="brightness")]}),
    "an attribute becomes": Case({"triggers": [state(LIGHT, attribute="brightness", to=200)]}),
    "open for a while": Case({"triggers": [state(to="on", **{"for": "00:45:00"})]}, minutes(45)),
    "no longer closed for a while": Case({"triggers": [state(**{"from": "off", "for": {"minutes": 20}})]}, minutes(20)),
    "for as long as a helper says": Case(
        {"triggers": [state(to="on", **{"for": "00:{{ states('input_number.limit') | int }}:00"})]}, minutes(22, 25)
    ),
    "a switched off trigger": Case({"triggers": [state(to="on", enabled=False), state(LIGHT, to="on")]}),
    "triggers with ids": Case(
        {
            "triggers": [state(to="on", id="opened"), state(to="off", id="closed")],
            "conditions": [{"condition": "trigger", "id": "closed"}],
        }
    ),
    "above": Case({"triggers": [number(above=25)]}),
    "below": Case({"triggers": [number(below=20)]}),
    "between": Case({"triggers": [number(above=18, below=24)]}),
    "above another entity": Case({"triggers": [number(above=LIMIT)]}),
    "above for a while": Case({"triggers": [number(above=20, **{"for": "00:30:00"})]}, minutes(30)),
    "an attribute above": Case({"triggers": [number(attribute="humidity", above=50)]}),
    "a value from a template": Case(
        {"triggers": [number(value_template="{{ state.state | float(0) * 2 }}", above=45)]}
    ),
    "at a time": Case({"triggers": [{"trigger": "time", "at": "07:00:00"}]}),
    "at a time that is left out when clocks change": Case({"triggers": [{"trigger": "time", "at": "02:30:00"}]}),
    "at several times on some days": Case(
        {"triggers": [{"trigger": "time", "at": ["06:30:00", "21:00"], "weekday": ["sat", "sun"]}]}
    ),
    "at the time of a helper": Case({"triggers": [{"trigger": "time", "at": ALARM}]}),
    "before the time of a helper": Case(
        {"triggers": [{"trigger": "time", "at": {"entity_id": ALARM, "offset": "-00:30:00"}}]}
    ),
    "every ten minutes": Case(
        {"triggers": [{"trigger": "time_pattern", "minutes": "/10"}]}, every=timedelta(minutes=5)
    ),
    "each third hour": Case({"triggers": [{"trigger": "time_pattern", "hours": "/3"}]}),
    "at sunset": Case({"triggers": [{"trigger": "sun", "event": "sunset"}]}),
    "before sunrise": Case({"triggers": [{"trigger": "sun", "event": "sunrise", "offset": "-00:45:00"}]}),
    "somebody arrives": Case(
        {"triggers": [{"trigger": "zone", "entity_id": ANNA, "zone": "zone.work", "event": "enter"}]}
    ),
    "somebody leaves": Case(
        {"triggers": [{"trigger": "zone", "entity_id": ANNA, "zone": "zone.work", "event": "leave"}]}
    ),
    "a template becomes true": Case(
        {
            "triggers": [
                {
                    "trigger": "template",
                    "value_template": "{{ is_state('light.kitchen', 'on') and states('sensor.heat') | float(0) > 20 }}",
                }
            ]
        }
    ),
    "a template is true for a while": Case(
        {
            "triggers": [
                {"trigger": "template", "value_template": "{{ is_state('light.kitchen', 'on') }}", "for": "00:15:00"}
            ]
        },
        minutes(15),
    ),
    "a template of the clock": Case(
        {"triggers": [{"trigger": "template", "value_template": "{{ now().hour == 8 and now().minute >= 30 }}"}]}
    ),
    "an event": Case(
        {"triggers": [{"trigger": "event", "event_type": "button", "event_data": {"press": "long"}}]},
        events=[
            (5_000, "button", {"press": "short"}),
            (9_000, "button", {"press": "long", "by": 1}),
            (20_000, "button", {}),
        ],
    ),
    "when a state has lasted": Case(
        {
            "triggers": [state(LIGHT)],
            "conditions": [{"condition": "state", "entity_id": DOOR, "state": "on", "for": "01:00:00"}],
        }
    ),
    "when one of two states is so": Case(
        {
            "triggers": [state(LIGHT)],
            "conditions": [{"condition": "state", "entity_id": [DOOR, LIGHT], "state": "on", "match": "any"}],
        }
    ),
    "when an attribute is so": Case(
        {
            "triggers": [state(DOOR)],
            "conditions": [{"condition": "state", "entity_id": LIGHT, "attribute": "brightness", "state": 20}],
        }
    ),
    "when it is warm": Case(
        {"triggers": [state()], "conditions": [{"condition": "numeric_state", "entity_id": HEAT, "above": LIMIT}]}
    ),
    "in the night": Case(
        {"triggers": [state(to="on")], "conditions": [{"condition": "time", "after": "21:00", "before": "06:00"}]}
    ),
    "on working days": Case(
        {"triggers": [state()], "conditions": [{"condition": "time", "weekday": ["mon", "thu", "fri"], "after": ALARM}]}
    ),
    "when it is dark": Case(
        {"triggers": [state()], "conditions": [{"condition": "sun", "after": "sunset", "before": "sunrise"}]}
    ),
    "in the day": Case(
        {
            "triggers": [state()],
            "conditions": [{"condition": "sun", "after": "sunrise", "after_offset": "-01:00:00", "before": "sunset"}],
        }
    ),
    "when somebody is there": Case(
        {"triggers": [state()], "conditions": [{"condition": "zone", "entity_id": ANNA, "zone": "zone.work"}]}
    ),
    "when a template says so": Case(
        {
            "triggers": [state()],
            "conditions": ["{{ trigger.to_state is not none and trigger.to_state.state == 'on' and now().hour < 12 }}"],
        }
    ),
    "and, or, not": Case(
        {
            "triggers": [state(), state(LIGHT)],
            "conditions": [
                {
                    "or": [
                        {"and": [{"condition": "state", "entity_id": DOOR, "state": "on"}, "{{ now().hour > 8 }}"]},
                        {"not": [{"condition": "numeric_state", "entity_id": HEAT, "below": 25}]},
                    ]
                }
            ],
        }
    ),
    "one of two conditions is switched off": Case(
        {
            "triggers": [state()],
            "conditions": [
                {
                    "or": [
                        {"condition": "state", "entity_id": LIGHT, "state": "on", "enabled": False},
                        {"condition": "state", "entity_id": DOOR, "state": "on"},
                    ]
                }
            ],
        }
    ),
    "all conditions in not are switched off": Case(
        {
            "triggers": [state()],
            "conditions": [{"not": [{"condition": "state", "entity_id": LIGHT, "state": "on", "enabled": False}]}],
        }
    ),
    "all conditions in or are switched off": Case(
        {
            "triggers": [state()],
            "conditions": [
                {"or": [{"condition": "state", "entity_id": LIGHT, "state": "on", "enabled": "{{ false }}"}]}
            ],
        },
        never=True,
    ),
    "or with all switched off in not": Case(
        {
            "triggers": [state()],
            "conditions": [
                {"not": [{"or": [{"condition": "state", "entity_id": LIGHT, "state": "on", "enabled": False}]}]}
            ],
        }
    ),
    "not again for three hours": Case(
        {
            "triggers": [state()],
            "conditions": [
                "{{ now() - (this.attributes.last_triggered or (now() - timedelta(days=1))) > timedelta(hours=3) }}"
            ],
        }
    ),
    "not again for three hours, by its state": Case(
        {
            "triggers": [state()],
            "conditions": [
                "{{ as_timestamp(now()) - as_timestamp(state_attr(this.entity_id, 'last_triggered'), 0) > 10800 }}"
            ],
        }
    ),
    "not again for three hours, by a variable": Case(
        {
            "triggers": [state()],
            "variables": {"last": "{{ this.attributes.last_triggered | default(none, true) }}"},
            "conditions": ["{{ last is none or now() - as_datetime(last) > timedelta(hours=3) }}"],
        }
    ),
    "it is on and does not run": Case(
        {
            "triggers": [state(), state(LIGHT)],
            "conditions": ["{{ this.state == 'on' and this.attributes.current == 0 }}"],
            "actions": [{"delay": "01:00:00"}, *ACTION],
            "mode": "parallel",
        },
        minutes(60),
    ),
    "it runs once already": Case(
        {
            "triggers": [state(), state(LIGHT)],
            "conditions": ["{{ state_attr(this.entity_id, 'current') < this.attributes.max - 1 }}"],
            "actions": [{"delay": "03:00:00"}, *ACTION],
            "mode": "queued",
            "max": 3,
        },
        [timedelta(hours=3 * count) for count in range(1, 6)],
    ),
    "by its own name": Case(
        {"triggers": [state()], "conditions": ["{{ this.attributes.friendly_name == 'Test' }}"]},
    ),
    "by its own entity": Case({"triggers": [state()], "conditions": ["{{ this.entity_id == 'automation.test' }}"]}),
    "it is on, by a condition": Case(
        {
            "triggers": [state()],
            "conditions": [{"condition": "state", "entity_id": "automation.test", "state": "on", "for": "06:00:00"}],
        }
    ),
    "it triggers once it has ended": Case(
        {
            "triggers": [
                state(),
                {"trigger": "numeric_state", "entity_id": "automation.test", "attribute": "current", "below": 1},
            ],
            "actions": [{"delay": "01:30:00"}, *ACTION],
            "conditions": ["{{ states('sensor.heat') | int(0) > 19 }}"],
        },
        [timedelta(minutes=90 * count) for count in range(1, 20)],
    ),
    "when its template says that it has not run for long": Case(
        {
            "triggers": [
                {
                    "trigger": "template",
                    "value_template": "{{ is_state('binary_sensor.door', 'on') and now() - "
                    "(state_attr('automation.test', 'last_triggered') or as_datetime(0)) > timedelta(hours=5) }}",
                }
            ]
        },
        every=timedelta(minutes=1),
    ),
    "a variable for triggers of itself": Case(
        {
            "trigger_variables": {"own": "{{ this.entity_id }}"},
            "triggers": [state()],
            "conditions": ["{{ own == 'automation.test' }}"],
        }
    ),
    "variables": Case(
        {
            "trigger_variables": {"wanted": "on"},
            "variables": {"hot": "{{ states('sensor.heat') | float(0) > 22 }}"},
            "triggers": [state(to="on", variables={"place": "door"})],
            "conditions": ["{{ hot and place == 'door' and wanted == 'on' }}"],
        }
    ),
    "it is still running": Case(
        {"triggers": [state()], "actions": [{"delay": "01:30:00"}, *ACTION], "mode": "single"}, minutes(90)
    ),
    "it is started again": Case(
        {"triggers": [state()], "actions": [{"delay": {"hours": 3}}, *ACTION], "mode": "restart"}, minutes(180)
    ),
    "at most two at once": Case(
        {"triggers": [state()], "actions": [{"delay": {"hours": 4}}, *ACTION], "mode": "parallel", "max": 2},
        minutes(240),
    ),
    "one after the other": Case(
        {"triggers": [state()], "actions": [{"delay": {"hours": 3}}, *ACTION], "mode": "queued", "max": 2},
        [timedelta(hours=3 * count) for count in range(1, 5)],
    ),
    "a delay that depends": Case(
        {
            "triggers": [state()],
            "actions": [
                {
                    "choose": [
                        {
                            "conditions": [{"condition": "state", "entity_id": LIGHT, "state": "on"}],
                            "sequence": [{"delay": "02:00:00"}],
                        }
                    ],
                    "default": [{"delay": "00:10:00"}],
                }
            ],
        },
        minutes(10, 120),
    ),
    "it waits for a trigger": Case(
        {
            "triggers": [state(to="on")],
            "actions": [{"wait_for_trigger": [state(to="off")], "timeout": "01:00:00"}, *ACTION],
        },
        minutes(60),
    ),
    "it waits for a trigger without an end": Case(
        {"triggers": [state(LIGHT)], "actions": [{"wait_for_trigger": [state(to="off")]}, *ACTION]}
    ),
    "it waits for a while of a state": Case(
        {
            "triggers": [state(LIGHT)],
            "actions": [{"wait_for_trigger": [state(to="on", **{"for": "00:20:00"})]}, {"delay": "00:40:00"}, *ACTION],
        },
        minutes(20, 40, 60),
    ),
    "it waits for a time or a door": Case(
        {
            "triggers": [state(LIGHT)],
            "actions": [{"wait_for_trigger": [{"trigger": "time", "at": "07:00:00"}, state(to="on")]}, *ACTION],
        }
    ),
    "it waits for the next ten minutes": Case(
        {
            "triggers": [state()],
            "actions": [{"wait_for_trigger": [{"trigger": "time_pattern", "minutes": "/10"}]}, {"delay": "01:00:00"}],
        },
        minutes(60),
        every=timedelta(minutes=5),
    ),
    "it waits for an event": Case(
        {
            "triggers": [state()],
            "actions": [{"wait_for_trigger": [{"trigger": "event", "event_type": "button"}]}, *ACTION],
        },
        events=[(count * 9_000, "button", {"press": "long"}) for count in range(1, 30)],
    ),
    "it waits until a template is true": Case(
        {
            "triggers": [state(LIGHT)],
            "actions": [
                {"wait_template": "{{ is_state('binary_sensor.door', 'on') }}", "timeout": "02:30:00"},
                {"delay": "00:30:00"},
                *ACTION,
            ],
        },
        minutes(30, 150, 180),
    ),
    "it ends when time runs out": Case(
        {
            "triggers": [state()],
            "actions": [
                {"wait_for_trigger": [state(LIGHT, to="on")], "timeout": "00:30:00", "continue_on_timeout": False},
                {"delay": "04:00:00"},
                *ACTION,
            ],
        },
        minutes(30, 240),
    ),
    "it goes on by what it waited for": Case(
        {
            "triggers": [state()],
            "actions": [
                {"wait_for_trigger": [state(LIGHT, id="lamp")], "timeout": "01:00:00"},
                {"if": ["{{ wait.completed and wait.trigger.id == 'lamp' }}"], "then": [{"delay": "03:00:00"}]},
                *ACTION,
            ],
        },
        minutes(60, 180),
    ),
    "it is started again while it waits": Case(
        {
            "triggers": [state(to="on")],
            "actions": [{"wait_for_trigger": [state(LIGHT)]}, {"delay": "05:00:00"}, *ACTION],
            "mode": "restart",
        },
        minutes(300),
    ),
    "one after the other waits": Case(
        {
            "triggers": [state()],
            "actions": [{"wait_for_trigger": [state(LIGHT)], "timeout": "03:00:00"}, *ACTION],
            "mode": "queued",
            "max": 3,
        },
        [timedelta(hours=3 * count) for count in range(1, 5)],
    ),
    "at most three wait at once": Case(
        {
            "triggers": [state()],
            "actions": [{"wait_template": "{{ is_state('light.kitchen', 'on') }}"}, {"delay": "02:00:00"}, *ACTION],
            "mode": "parallel",
            "max": 3,
        },
        minutes(120),
    ),
    "it repeats with delays": Case(
        {
            "triggers": [state()],
            "actions": [{"repeat": {"count": 4, "sequence": [{"delay": "00:25:00"}, *ACTION]}}],
        },
        minutes(25, 50, 75, 100),
    ),
    "it repeats while it is on": Case(
        {
            "triggers": [state()],
            "actions": [
                {
                    "repeat": {
                        "while": [{"condition": "state", "entity_id": LIGHT, "state": "on"}],
                        "sequence": [{"delay": "00:30:00"}],
                    }
                }
            ],
        },
        [timedelta(minutes=30 * count) for count in range(1, 40)],
    ),
    "it repeats until it has counted": Case(
        {
            "triggers": [state()],
            "actions": [
                {"variables": {"rounds": 0}},
                {
                    "repeat": {
                        "until": ["{{ rounds >= 3 }}"],
                        "sequence": [{"delay": "00:30:00"}, {"variables": {"rounds": "{{ rounds + 1 }}"}}],
                    }
                },
            ],
        },
        minutes(30, 60, 90),
    ),
    "a condition ends the sequence it stands in": Case(
        {
            "triggers": [state()],
            "actions": [
                {"sequence": [{"condition": "state", "entity_id": LIGHT, "state": "on"}, {"delay": "01:00:00"}]},
                {"delay": "00:30:00"},
            ],
        },
        minutes(30, 60, 90),
    ),
    "several wait at once in a run": Case(
        {
            "triggers": [state()],
            "actions": [
                {"parallel": [{"delay": "01:10:00"}, {"wait_for_trigger": [state(LIGHT)], "timeout": "03:00:00"}]},
                *ACTION,
            ],
        },
        minutes(70, 180),
    ),
    "a script takes its time": Case(
        {"triggers": [state()], "actions": [{"action": "script.slow"}, *ACTION]},
        minutes(90),
    ),
    "a script takes its time in a queue": Case(
        {"triggers": [state()], "actions": [{"action": "script.slow"}, *ACTION], "mode": "queued", "max": 2},
        [timedelta(minutes=90 * count) for count in range(1, 6)],
    ),
    "a script takes the time that it is told": Case(
        {
            "triggers": [state()],
            "actions": [
                {"action": "script.for_a_while", "data": {"hours": "{{ 3 if is_state('light.kitchen', 'on') else 1 }}"}}
            ],
        },
        minutes(60, 180),
    ),
    "a script in a script": Case(
        {"triggers": [state()], "actions": [{"action": "script.around"}, {"delay": "00:10:00"}]},
        minutes(90, 120, 130),
    ),
    "a script that runs already is not waited for": Case(
        {
            "triggers": [state(), state(LIGHT)],
            "actions": [{"action": "script.alone"}, {"delay": "00:20:00"}],
            "mode": "parallel",
            "max": 2,
        },
        minutes(20, 120, 140),
    ),
    "a script that is begun anew": Case(
        {
            "triggers": [state(), state(LIGHT)],
            "actions": [{"action": "script.anew"}, {"delay": "02:00:00"}],
            "mode": "parallel",
            "max": 2,
        },
        minutes(120, 240),
    ),
    "a script in turns": Case(
        {
            "triggers": [state(), state(LIGHT)],
            "actions": [{"action": "script.in_turns"}, {"delay": "00:30:00"}],
            "mode": "parallel",
            "max": 3,
        },
        [timedelta(minutes=30 * count) for count in range(1, 16)],
    ),
    "a script that waits for a trigger": Case(
        {"triggers": [state()], "actions": [{"action": "script.waiting"}, {"delay": "00:30:00"}]},
        minutes(30, 120, 150),
    ),
    "a script that is only started": Case(
        {
            "triggers": [state()],
            "actions": [
                {"action": "script.turn_on", "target": {"entity_id": "script.slow"}},
                {"delay": "00:30:00"},
            ],
        },
        minutes(30, 90),
    ),
    "a script that is stopped by another run": Case(
        {
            "triggers": [state(id="door"), state(LIGHT, id="light")],
            "actions": [
                {
                    "if": [{"condition": "trigger", "id": "light"}],
                    "then": [{"action": "script.turn_off", "target": {"entity_id": "script.slow"}}],
                    "else": [{"action": "script.slow"}, {"delay": "01:00:00"}],
                }
            ],
            "mode": "parallel",
            "max": 2,
        },
        minutes(60, 90, 150),
    ),
    "a script that fails": Case(
        {"triggers": [state()], "actions": [{"action": "script.fails"}, {"delay": "02:00:00"}]},
        minutes(30, 150),
    ),
    "a script that fails, and not even then it goes on": Case(
        {
            "triggers": [state()],
            "actions": [{"action": "script.fails", "continue_on_error": True}, {"delay": "02:00:00"}],
        },
        minutes(30, 150),
    ),
    "a script with a delay that is none": Case(
        {"triggers": [state()], "actions": [{"action": "script.no_time"}, {"delay": "02:00:00"}]},
        minutes(30, 150),
    ),
    "a script that repeats for what is no list": Case(
        {"triggers": [state()], "actions": [{"action": "script.no_list"}, {"delay": "01:00:00"}]},
        minutes(30, 90, 150),
    ),
    "it repeats for what is no list": Case(
        {
            "triggers": [state()],
            "actions": [{"repeat": {"for_each": "{{ 5 }}", "sequence": []}}, {"delay": "02:00:00"}],
        },
        minutes(120),
    ),
    "a script that stops itself": Case(
        {"triggers": [state()], "actions": [{"action": "script.stops"}, {"delay": "01:00:00"}]},
        minutes(30, 60, 90),
    ),
    "started again while a script goes on": Case(
        {
            "triggers": [state(), state(LIGHT)],
            "actions": [
                {"action": "script.alone"},
                {"delay": "02:00:00"},
            ],
            "mode": "restart",
        },
        minutes(120, 240),
    ),
    "it turns itself off": Case(
        {
            "triggers": [state()],
            "actions": [{"action": "automation.turn_off", "target": {"entity_id": "{{ this.entity_id }}"}}],
        }
    ),
    "it turns itself off once it is warm": Case(
        {
            "triggers": [state()],
            "actions": [
                {"delay": "00:20:00"},
                {"condition": "numeric_state", "entity_id": HEAT, "above": 27},
                {"action": "homeassistant.turn_off", "target": {"entity_id": "automation.test"}},
            ],
        },
        minutes(20),
    ),
    "it toggles itself": Case(
        {
            "triggers": [state(to="on", **{"for": "00:20:00"})],
            "actions": [{"delay": "01:00:00"}, {"action": "automation.toggle", "entity_id": "automation.test"}],
            "mode": "parallel",
        },
        minutes(20, 80),
    ),
    "a script turns it off": Case({"triggers": [state()], "actions": [{"action": "script.ends_it"}, *ACTION]}),
    "it turns off all": Case(
        {"triggers": [state()], "actions": [{"action": "automation.turn_off", "data": {"entity_id": "all"}}]}
    ),
    "it is off and goes on": Case(
        {
            "triggers": [state()],
            "actions": [
                {
                    "action": "automation.turn_off",
                    "target": {"entity_id": "automation.test"},
                    "data": {"stop_actions": False},
                },
                {"delay": "01:00:00"},
            ],
        },
        minutes(60),
    ),
    "for a purpose: turned on": Case({"triggers": [{"trigger": "light.turned_on", "target": {"entity_id": LIGHT}}]}),
    "for a purpose: opened for a while": Case(
        {
            "triggers": [
                {"trigger": "light.turned_on", "target": {"entity_id": LIGHT}, "options": {"for": {"minutes": 30}}}
            ]
        },
        minutes(30),
    ),
    "for a purpose: a condition": Case(
        {
            "triggers": [state()],
            "conditions": [
                {"condition": "light.is_on", "target": {"entity_id": LIGHT}, "options": {"behavior": "any"}}
            ],
        }
    ),
    "for a purpose: a condition that has lasted": Case(
        {
            "triggers": [state()],
            "conditions": [
                {
                    "condition": "light.is_off",
                    "target": {"entity_id": LIGHT},
                    "options": {"behavior": "all", "for": {"hours": 1}},
                }
            ],
        }
    ),
    "for a purpose: the sun": Case(
        {"triggers": [{"trigger": "sun.dusk", "options": {"offset": "00:10:00", "offset_type": "before"}}]},
    ),
    "for a purpose: the sun is up": Case({"triggers": [state()], "conditions": [{"condition": "sun.is_up"}]}),
    "for a purpose: it is night": Case({"triggers": [state()], "conditions": [{"condition": "sun.is_night"}]}),
}


@pytest.fixture
def expected_lingering_timers() -> bool:
    """Let the sun and the platforms of entities keep their timers."""
    return True


@pytest.fixture(autouse=True)
async def in_berlin(hass: HomeAssistant) -> None:
    hass.loop.slow_callback_duration = END.timestamp()  # the clock is turned
    await hass.config.async_set_time_zone("Europe/Berlin")
    hass.config.latitude, hass.config.longitude = 52.5, 13.4
    for domain in ("sun", "light", "zone", "person"):
        assert await async_setup_component(hass, domain, {})


def sun_times(hass: HomeAssistant) -> list[datetime]:
    """Return when something with the sun is due."""
    found = []
    for event in ("sunrise", "sunset", "dusk"):
        for offset in minutes(0, -10, -45):
            at = BEGIN
            while (at := get_astral_event_next(hass, event, at, offset)) < END:
                found.append(at)
    return found


def script_of(case: Case, seed: int) -> Script:
    script = scripted(seed, ENTITIES, 120)
    return Script(
        initial={**script.initial, "zone.work": ZONE},
        changes=script.changes,
        events=[(BEGIN + timedelta(seconds=seconds), kind, data) for seconds, kind, data in case.events],
    )


@pytest.mark.parametrize("name", CASES)
async def test_replay_runs_when_the_engine_does(hass: HomeAssistant, freezer: FrozenDateTimeFactory, name: str) -> None:
    case = CASES[name]
    script = script_of(case, seed=sum(map(ord, name)))
    config = {"alias": "Test", "actions": ACTION, **case.config}
    freezer.move_to(BEGIN)
    assert await async_setup_component(hass, "script", {"script": SCRIPTS})
    draft = await async_draft(hass, config)
    replayed = await async_replay(hass, draft, script.timeline())
    told = [run.at.replace(microsecond=0) for run in replayed.runs]

    also = sun_times(hass) if "sun" in name else ()
    found = await run_times(hass, freezer, config, script, dues=case.dues, every=case.every, also=also)

    assert is_same(told, found), sorted(set(told) ^ set(found))
    assert replayed.not_replayed == ()
    assert bool(found) is not case.never
    assert replayed.until == END
